//! Checkpoints: a model's tensors by their own names, the optimizer's moments beside them.
//!
//! `optimizer.m.<name>` is the mean of a tensor's gradients and `optimizer.v.<name>` that of their
//! squares. The metadata say the step, the arithmetic, and where randomness stands: the order of the
//! data follows from its seed and the step, so that there is nothing else to keep.

use serde_json::{Map, Value as Json};

use super::backend::Backend;
use super::data::Order;
use super::learner::{Learner, Values};
use super::optimizer::Moments;
use super::{BAD_TENSORS, TensorData, TensorFile};
use repro_bundle::bundle::ARITHMETIC;
use repro_core::source::{Error, Location};
use repro_kernels::portable::Real;

/// Where the metadata say which order the data have.
const CURSOR: &str = "rng";
/// The prefixes of the moments' names: of the means, of the means of squares, and of the greatest of these.
pub const MOMENTS: [&str; 3] = ["optimizer.m.", "optimizer.v.", "optimizer.x."];

/// The line by which a run commits itself to its state after `step` steps, in which it read so many tokens: the digest
/// of weights and moments, and where the order of the data stands.
pub fn committed_state(tensors: &TensorFile, step: u64, tokens: u64) -> Map<String, Json> {
    let cursor = tensors.metadata.get(CURSOR).cloned().unwrap_or_default();
    let digest = tensors.tensors_digest().to_string();
    let fields: [(&str, Json); 4] = [
        ("cursor", cursor.into()),
        ("step", step.into()),
        ("tensors_sha256", digest.into()),
        ("tokens", tokens.into()),
    ];
    fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
}

impl<B: Backend<Number = f32>> Learner<B> {
    /// The tensors after `step` steps of a run whose data are ordered by `seed`.
    pub fn checkpoint(&self, step: u64, seed: u64) -> Result<TensorFile, Error> {
        let mut file = TensorFile::default();
        for Values { name, shape, values } in self.values()? {
            file.tensors.insert(name, TensorData::floats(&shape, &values));
        }
        for (named, moments) in self.tensors().iter().zip(self.moments()) {
            let parts = MOMENTS.iter().zip(moments.parts());
            for (prefix, values) in parts.filter(|(_, values)| !values.is_empty()) {
                let data = TensorData::floats(&named.shape, values);
                file.tensors.insert(format!("{prefix}{}", named.name), data);
            }
        }
        let rng = format!("{} seed {seed}", Order::NAME);
        for (key, value) in
            [("arithmetic", ARITHMETIC.to_owned()), (CURSOR, rng), ("step", step.to_string())]
        {
            file.metadata.insert(key.to_owned(), value);
        }
        self.sound()?;
        Ok(file)
    }
}

impl<B: Backend> Learner<B> {
    /// Sets weights and optimizer to those of a checkpoint after `step` steps, which has exactly the
    /// tensors that this model has; `name` is what messages call it.
    pub fn restore(&mut self, step: u64, file: &TensorFile, name: &str) -> Result<(), Error> {
        let place = || Location::file(name);
        let mut left: std::collections::BTreeSet<&str> =
            file.tensors.keys().map(String::as_str).collect();
        let mut take = |tensor: &str, shape: &[usize]| -> Result<Vec<B::Number>, Error> {
            left.remove(tensor);
            let data = file.tensors.get(tensor);
            match data.filter(|data| data.shape() == shape).and_then(TensorData::as_floats) {
                Some(values) => {
                    Ok(values.into_iter().map(|value| B::Number::from_f64(value.into())).collect())
                }
                None => {
                    let expected = format!("`{tensor}`, F32 of shape {shape:?}");
                    let found =
                        data.map_or("none".to_owned(), |d| format!("shape {:?}", d.shape()));
                    Err(BAD_TENSORS.at(place(), expected, found))
                }
            }
        };
        let (mut weights, mut moments) = (Vec::new(), Vec::new());
        for (name, shape) in self.shapes() {
            let values = take(&name, &shape)?;
            weights.push((name, values));
        }
        for (at, named) in self.tensors().iter().enumerate() {
            let mut parts = [const { Vec::new() }; 3];
            let kept = self.kept_moments(at);
            for ((part, prefix), _) in
                parts.iter_mut().zip(MOMENTS).zip(kept).filter(|(_, is_kept)| *is_kept)
            {
                *part = take(&format!("{prefix}{}", named.name), &named.shape)?;
            }
            moments.push(Moments::of(parts));
        }
        if let Some(surplus) = left.first() {
            let found = format!("`{surplus}`");
            return Err(BAD_TENSORS.at(place(), "only tensors of this model", found));
        }
        for (tensor, values) in weights {
            self.write(&tensor, &values)?;
        }
        self.restore_optimizer(step, moments);
        Ok(())
    }
}
