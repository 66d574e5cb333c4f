//! The rows that the modules of a run read and made in its first batch, and what a comparison with them needs.

use std::collections::BTreeMap;

use super::corpora::Corpora;
use super::course::Course;
use super::machine::ReplayedRun;
#[cfg(all(test, feature = "candle"))]
use repro_kernels::portable::Isa;

use super::second::{TIMES, TIMES_IN_FEW_BITS};
use super::session::Session;
use crate::{Precision, TensorData, TensorFile};
use repro_bundle::bundle::Bundle;
use repro_core::source::Error;

/// The file with the rows of the first sequence: `nats` of each target, and by tensor what its module read (`in.NAME`) and
/// made (`out.NAME`).
pub const ROWS: &str = "data/rows.safetensors";

/// The rows of the run's own modules, by name.
pub struct OwnRows(BTreeMap<String, Vec<f64>>);

impl OwnRows {
    /// The rows that the modules of another program would keep whose model is that of a course.
    #[cfg(all(test, feature = "candle"))]
    pub fn of(course: &Course) -> Self {
        use super::second::FirstSequence;
        let found = FirstSequence::of(course, crate::backend::Host::<f32>::new(Isa::best()));
        let FirstSequence { parts, operations } = found.unwrap();
        let mut rows = BTreeMap::from([("nats".to_owned(), parts.last().unwrap().rows.clone())]);
        for operation in operations {
            let weights = operation.tensors.iter().filter(|name| name.ends_with(".weight"));
            let names: Vec<_> = weights.collect();
            let (Some(first), Some(last)) = (names.first(), names.last()) else { continue };
            rows.extend(operation.inputs.map(|inputs| (format!("in.{first}"), inputs)));
            if names.len() == 1 || operation.kind == crate::model::OperationKind::Network {
                rows.insert(format!("out.{last}"), operation.outputs);
            }
        }
        Self(rows)
    }

    /// The same without some of them.
    #[cfg(all(test, feature = "candle"))]
    pub fn without(mut self, is_left_out: fn(&str) -> bool) -> Self {
        self.0.retain(|name, _| !is_left_out(name));
        self
    }

    pub fn load(bundle: &Bundle) -> Result<Self, Error> {
        if !bundle.files().contains_key(ROWS) {
            return Ok(Self(BTreeMap::new()));
        }
        let file = TensorFile::parse(&bundle.place(ROWS).file, &bundle.tensors(ROWS)?)?;
        let wide = |data: &TensorData| {
            Some(data.as_floats()?.into_iter().map(f64::from).collect::<Vec<_>>())
        };
        let rows = file.tensors.iter();
        Ok(Self(rows.filter_map(|(name, data)| Some((name.clone(), wide(data)?))).collect()))
    }

    /// The nats of each target.
    pub fn nats(&self) -> Option<&[f64]> {
        self.0.get("nats").map(Vec::as_slice)
    }

    /// The input of a tensor's module.
    pub fn read(&self, tensor: &str) -> Option<&[f64]> {
        self.0.get(&format!("in.{tensor}")).map(Vec::as_slice)
    }

    /// How many numbers the module of a tensor made.
    pub fn length_of(&self, tensor: &str) -> usize {
        self.0.get(&format!("out.{tensor}")).map_or(0, Vec::len)
    }

    /// The outputs of some tensors' modules, side by side; none if one of them was not seen.
    pub fn made(&self, tensors: &[&String], width_of: impl Fn(&str) -> usize) -> Option<Vec<f64>> {
        let rows: Vec<&Vec<f64>> =
            tensors.iter().map(|name| self.0.get(&format!("out.{name}"))).collect::<Option<_>>()?;
        if let [one] = rows.as_slice() {
            return Some((*one).clone());
        }
        let widths: Vec<usize> = tensors.iter().map(|name| width_of(name)).collect();
        let count = rows.first()?.len().checked_div(*widths.first()?)?;
        let mut side_by_side = Vec::with_capacity(rows.iter().map(|rows| rows.len()).sum());
        for row in 0..count {
            for (rows, width) in rows.iter().zip(&widths) {
                side_by_side.extend_from_slice(rows.get(row * width..(row + 1) * width)?);
            }
        }
        Some(side_by_side)
    }
}

/// Opens the first slice of a run.
pub fn opened<'a>(subject: &'a ReplayedRun<'a>) -> Result<Session<'a>, Error> {
    Session::open(subject, (0, 1), None, &Corpora::new(None))
}

/// How many times what rounding makes of rows they may be apart.
pub fn times(course: &Course) -> f64 {
    if course.regime.precision == Precision::Full { TIMES } else { TIMES_IN_FEW_BITS }
}

/// The course without the roundings to few bits.
pub fn exact(course: &Course) -> Course {
    let mut exact = course.clone();
    exact.regime.precision = Precision::Full;
    exact
}
