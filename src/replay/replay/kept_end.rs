//! The checkpoint that a bundle keeps where a slice ends, against the tensors to which its steps lead here.
//!
//! A log of another program has lengths: how far each tensor moved, and not where to. The weights that were evaluated may then be
//! others that are as far away. Where they are kept at the end of the steps, they have to be near the tensors that came out.

use super::machine::ReplayedRun;
use super::start::from_checkpoint;
use crate::learner::Values;
use repro_model::replay::{Divergence, TensorReport};

/// How far a kept tensor may be from the one that came out, as a part of the way that the steps moved it. Rounding is far below
/// it, with few bits too; another tensor that is as far from the start is further away, by about the root of two.
const OF_ITS_WAY: f64 = 1.0;
/// Only tensors are compared whose way is known better than this.
const KNOWN: f64 = 0.25;

/// The first tensor of the checkpoint after `end` steps that is not where the steps of a replay lead; none where no checkpoint is
/// kept there, or all are near. `made` are the tensors that came out, and `tensors` what was found of each.
pub fn elsewhere(
    subject: &ReplayedRun<'_>,
    end: u64,
    made: &[Values],
    tensors: &[TensorReport],
) -> Option<Divergence> {
    let kept = from_checkpoint(subject.bundle, end, &subject.arithmetic).ok()?;
    for (values, tensor) in std::iter::zip(made, tensors) {
        let is_known = tensor.tolerance.is_some_and(|allowed| allowed < KNOWN);
        let Some(numbers) = kept.tensors.tensors.get(&values.name).filter(|_| is_known) else {
            continue;
        };
        let numbers = numbers.as_floats().filter(|numbers| numbers.len() == values.values.len());
        let Some(numbers) = numbers else { continue };
        let (name, shape) = (values.name.clone(), values.shape.clone());
        let apart = values.distance(&Values { name, shape, values: numbers });
        if apart > OF_ITS_WAY * tensor.replayed {
            return Some(Divergence {
                step: end,
                what: "kept checkpoint",
                tensor: Some(tensor.name.clone()),
                logged: format!("{apart:.6} away from the result of these steps"),
                replayed: format!("moved by {:.6}", tensor.replayed),
                difference: None,
                inputs_matched: Some(true),
                hint: "the checkpoint belongs to a different run or to different steps".to_owned(),
            });
        }
    }
    None
}
