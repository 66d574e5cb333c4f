//! Stretches of a run that are kept while they pass, so that somebody can execute them again.
//!
//! A slice keeps what its steps read and what came out of them, so that an execution that departs can be
//! told where. Its tensors, over `steps` steps:
//!
//! | name | type, shape | what |
//! |---|---|---|
//! | `tokens` | `u32 [steps, batch, length + 1]` | what each step reads |
//! | `logged.loss`, `logged.grad_norm` | `f32 [steps]` | as records have them |
//! | `logged.tensor_grad_norm` | `f32 [steps, tensors]` | the norm of each tensor's gradient; 0 where it is moved by a rule |
//! | `logged.tensor_sha256` | `u32 [steps, tensors]` | the first four bytes (the first is the highest) of the digest of each tensor after the step |
//! | `logged.routed` | `u32 [steps, layers, experts]` | tokens that each expert was chosen for; absent without routers |
//!
//! Tensors are in the order of the lines of the file beside it, which has, of each tensor at the end, the
//! whole digest and how far it has moved.

use std::time::Duration;

use serde_json::json;

use crate::learner::{Stepped, Values};
use crate::{Recipe, Stretch, TensorData, TensorFile};
use repro_bundle::bundle::DeclaredSlice;
use repro_core::digest::canonical;

/// The slices that are open.
#[derive(Default)]
pub struct Slices {
    open: Vec<Open>,
}

struct Open {
    stretch: Stretch,
    tokens: Vec<u32>,
    losses: Vec<f32>,
    norms: Vec<f32>,
    tensor_norms: Vec<f32>,
    tensor_digests: Vec<u32>,
    routed: Vec<u32>,
    /// Layers that route, and their experts.
    routers: [usize; 2],
    before: Vec<Values>,
    time: Duration,
}

/// A slice that has ended: its files, and what the receipt says of it.
pub struct Ended {
    /// Names and bytes of its files.
    pub files: [(String, Vec<u8>); 2],
    /// Its entry in the receipt.
    pub entry: DeclaredSlice,
}

impl Slices {
    /// Opens a slice; `weights` are those that it starts from.
    pub fn open(&mut self, stretch: Stretch, weights: Vec<Values>) {
        self.open.push(Open {
            stretch,
            tokens: Vec::new(),
            losses: Vec::new(),
            norms: Vec::new(),
            tensor_norms: Vec::new(),
            tensor_digests: Vec::new(),
            routed: Vec::new(),
            routers: [0; 2],
            before: weights,
            time: Duration::ZERO,
        });
    }

    /// Whether none is open. What is open is not part of a saved state: a run that is killed inside a
    /// slice goes on from before it.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a step: the rows of tokens that it read, what it gave, the weights after it, and how long it
    /// took.
    pub fn add(&mut self, rows: &[u32], stepped: &Stepped, weights: &[Values], time: Duration) {
        let digests: Vec<_> = weights.iter().map(|values| values.digest().head()).collect();
        for open in &mut self.open {
            open.tokens.extend_from_slice(rows);
            open.losses.push(stepped.loss);
            open.norms.push(stepped.norm);
            let norms = weights.iter().map(|values| stepped.norm_of(&values.name));
            open.tensor_norms.extend(norms);
            open.tensor_digests.extend(&digests);
            // Fewer tokens than 2^32 pass a router in a step.
            open.routed.extend(stepped.routed.iter().flatten().map(|count| *count as u32));
            open.routers = [stepped.routed.len(), stepped.routed.first().map_or(0, Vec::len)];
            open.time += time;
        }
    }

    /// Closes the slices that end after `step` steps, where `weights` gives what they end with.
    pub fn close(
        &mut self,
        step: u64,
        recipe: &Recipe,
        weights: impl Fn() -> Vec<Values>,
    ) -> Vec<Ended> {
        let ends = |open: &Open| open.stretch.from_step + open.stretch.steps == step;
        let (ended, open) = std::mem::take(&mut self.open).into_iter().partition(ends);
        self.open = open;
        ended.into_iter().map(|open: Open| open.ended(recipe, &weights())).collect()
    }
}

impl Open {
    fn ended(self, recipe: &Recipe, after: &[Values]) -> Ended {
        let Stretch { from_step, steps } = self.stretch;
        let count = self.losses.len();
        let mut file = TensorFile::default();
        let shape = [count, recipe.regime.shape.batch_size, recipe.regime.shape.seq_len + 1];
        let mut put = |name: &str, data| file.tensors.insert(name.to_owned(), data);
        put("tokens", TensorData::numbers(&shape, &self.tokens));
        put("logged.loss", TensorData::floats(&[count], &self.losses));
        put("logged.grad_norm", TensorData::floats(&[count], &self.norms));
        let tensors = [count, self.before.len()];
        put("logged.tensor_grad_norm", TensorData::floats(&tensors, &self.tensor_norms));
        put("logged.tensor_sha256", TensorData::numbers(&tensors, &self.tensor_digests));
        let [layers, experts] = self.routers;
        if layers > 0 {
            put("logged.routed", TensorData::numbers(&[count, layers, experts], &self.routed));
        }
        let lines: String = self.before.iter().zip(after).map(|(b, a)| line(b, a)).collect();
        let stem = format!("data/slices/slice-{from_step:06}");
        let name = format!("{stem}.safetensors");
        let entry = DeclaredSlice {
            from_step,
            steps,
            checkpoint_step: (from_step > 0).then_some(from_step),
            file: name.clone(),
            seconds: Some(self.time.as_secs_f64()),
        };
        let files = [(name, file.write()), (format!("{stem}.tensors.jsonl"), lines.into_bytes())];
        Ended { files, entry }
    }
}

/// The line of one tensor. The norm is the root of the sum of the squared differences, in float64 and
/// in the order of the elements.
fn line(before: &Values, after: &Values) -> String {
    let line = json!({
        "name": after.name,
        "sha256_after": after.digest().to_string(),
        "update_norm": after.distance(before),
    });
    // Weights were finite when the step was made, and so is how far they moved.
    canonical(&line).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::tests::config;
    use repro_core::digest::Digest;
    use repro_core::source::{Document, Source};

    fn weights(value: f32) -> Vec<Values> {
        let values = |name: &str, values: &[f32]| Values {
            name: name.into(),
            shape: vec![values.len()],
            values: values.into(),
        };
        vec![values("a", &[value, 0.0]), values("b", &[1.0])]
    }

    #[test]
    fn a_slice_holds_its_own_steps() {
        let text = config().to_string().into_bytes();
        let document = Document::parse_json(Source::new("config.json", text).unwrap()).unwrap();
        let recipe = Recipe::read(document.root()).unwrap();
        let mut slices = Slices::default();
        slices.open(Stretch { from_step: 0, steps: 2 }, weights(0.5));
        let rows = vec![7; recipe.regime.shape.batch_size * (recipe.regime.shape.seq_len + 1)];
        for step in 1..=3 {
            let stepped = Stepped {
                loss: step as f32,
                norm: 0.25,
                norms: vec![("b".into(), 0.125)],
                narrow: None,
                routed: vec![vec![1, 2, 3]; 2],
                undecided: Vec::new(),
                router: None,
            };
            slices.add(&rows, &stepped, &weights(step as f32), Duration::from_millis(500));
            let ended = slices.close(step, &recipe, || weights(2.0));
            assert_eq!((ended.len(), slices.is_empty()), (usize::from(step == 2), step >= 2));
            for ended in ended {
                let [(name, bytes), (lines_name, lines)] = ended.files;
                assert_eq!(name, "data/slices/slice-000000.safetensors");
                assert_eq!(lines_name, "data/slices/slice-000000.tensors.jsonl");
                let file = TensorFile::parse(&name, &bytes).unwrap();
                assert_eq!(file.tensors["tokens"].shape(), [2, 4, 17]);
                assert_eq!(file.tensors["logged.loss"].as_floats().unwrap(), [1.0, 2.0]);
                assert_eq!(file.tensors["logged.grad_norm"].as_floats().unwrap(), [0.25; 2]);
                let norms = file.tensors["logged.tensor_grad_norm"].as_floats().unwrap();
                assert_eq!(norms, [0.0, 0.125, 0.0, 0.125]);
                assert_eq!(file.tensors["logged.tensor_sha256"].shape(), [2, 2]);
                assert_eq!(file.tensors["logged.routed"].shape(), [2, 2, 3]);
                assert_eq!(ended.entry.seconds, Some(1.0));
                assert_eq!((ended.entry.from_step, ended.entry.checkpoint_step), (0, None));
                let digest = Digest::of(&[2.0_f32, 0.0].map(f32::to_le_bytes).concat());
                let first = format!(
                    "{{\"name\":\"a\",\"sha256_after\":\"{digest}\",\"update_norm\":1.5}}\n"
                );
                assert!(String::from_utf8(lines).unwrap().starts_with(&first));
            }
        }
    }
}
