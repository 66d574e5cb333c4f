//! Whether the steps train: each tensor has a gradient, and moves further than weight decay takes it.

use super::course::Walker;
use super::step::{Layout, Step};
use crate::backend::Backend;
use crate::learner::Values;
use repro_core::source::Error;
use repro_model::replay::Trained;

/// The change that rounding may cause in an element in a step, relative to it.
const ROUNDING: f64 = 1.0 / 4_194_304.0;

/// The training seen in the steps so far.
#[derive(Debug, Default)]
pub struct Watch {
    /// Whether each tensor had a gradient.
    gradients: Vec<bool>,
    /// Of each layer that routes, whether each expert had a token.
    routed: Vec<Vec<bool>>,
    /// Of each step, those of the groups of tensors.
    rates: Vec<Vec<f32>>,
}

impl Watch {
    /// Takes in a step that was made at these rates.
    pub fn step(&mut self, step: &Step, rates: Vec<f32>) {
        self.rates.push(rates);
        if let Some(gradients) = &step.gradients {
            self.gradients.resize(gradients.len(), false);
            for (seen, gradient) in self.gradients.iter_mut().zip(gradients) {
                *seen |= *gradient > 0.0;
            }
        }
        let layers = step.routed.as_deref().unwrap_or_default();
        self.routed.resize(layers.len(), Vec::new());
        for (seen, counts) in self.routed.iter_mut().zip(layers) {
            seen.resize(counts.len(), false);
            for (seen, count) in seen.iter_mut().zip(counts) {
                *seen |= *count > 0;
            }
        }
    }

    /// The training seen in a walk that is over; names are those of `layout`.
    pub fn end<B: Backend<Number = f32>>(
        &self,
        walker: &Walker<'_, B>,
        layout: &Layout,
        from: u64,
    ) -> Result<Trained, Error> {
        let idle = self.idle(layout);
        let is_rest = |rates: &Vec<f32>| rates.iter().all(|rate| *rate == 0.0);
        let at_rest = (from + 1..).zip(&self.rates).filter(|(_, rates)| is_rest(rates));
        let optimizer = &walker.regime().optimizer;
        let mut trained =
            Trained { at_rest: at_rest.map(|(step, _)| step).collect(), ..Trained::default() };
        let after = walker.learner.values()?;
        for (at, (before, after)) in std::iter::zip(walker.begun(), &after).enumerate() {
            let named = walker.learner.tensors().iter().find(|named| named.name == after.name);
            let Some(named) = named else { continue };
            // What belongs to no group is meant to stay.
            let Some(group) = optimizer.group_of(&named.name, named.decays) else { continue };
            trained.tensors += 1;
            let shown = layout.names.get(at).unwrap_or(&after.name);
            if idle.iter().any(|prefix| after.name.starts_with(prefix)) {
                trained.idle.push(shown.clone());
                continue;
            }
            if walker.learner.is_constant_router(&after.name) {
                trained.constant.push(shown.clone());
                continue;
            }
            // An expert may have had tokens alone after which nothing counts.
            let is_masked = walker.is_masked() && after.name.contains(".experts.");
            if is_masked && self.gradients.get(at) == Some(&false) {
                trained.idle.push(shown.clone());
                continue;
            }
            if self.gradients.get(at) == Some(&false) {
                trained.without_gradient.push(shown.clone());
            }
            let decay = optimizer.groups.get(group).map_or(0.0, |group| group.decay);
            let rates = self.of_group(group);
            if rates.iter().any(|rate| *rate > 0.0) && !moved(before, after, &rates, decay) {
                trained.unmoved.push(shown.clone());
            }
        }
        Ok(trained)
    }

    /// The rates of a group, step by step.
    fn of_group(&self, group: usize) -> Vec<f64> {
        let of = |rates: &Vec<f32>| rates.get(group).or(rates.last()).copied().unwrap_or_default();
        self.rates.iter().map(|rates| of(rates).into()).collect()
    }

    /// The prefixes of tensor names of experts that received no token.
    fn idle(&self, layout: &Layout) -> Vec<String> {
        let of_layer = |(router, seen): (&String, &Vec<bool>)| {
            let router = super::names::ours(router);
            let block = router.strip_suffix("gate.weight").unwrap_or(&router).to_owned();
            let unseen = seen.iter().enumerate().filter(|(_, seen)| !**seen);
            unseen.map(|(expert, _)| format!("{block}experts.{expert}.")).collect::<Vec<_>>()
        };
        layout.routers.iter().zip(&self.routed).flat_map(of_layer).collect()
    }
}

/// Whether a tensor moved otherwise than by its decay.
fn moved(before: &Values, after: &Values, rates: &[f64], decay: f64) -> bool {
    let kept = rates.iter().fold(1.0, |kept, rate| kept * (1.0 - rate * decay));
    let sum = std::iter::zip(&before.values, &after.values).fold(0.0, |sum, (before, after)| {
        let moved = f64::from(*after) - f64::from(*before) * kept;
        sum + moved * moved
    });
    sum.sqrt() > rates.len() as f64 * ROUNDING * before.size()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::backend::Host;
    use crate::golden::{MIXTURE, Rehearsal};
    use crate::replay::course::{Course, RowsRead, StepMeasure};
    use crate::replay::start::Start;
    use repro_kernels::portable::Isa;

    /// Three steps of a small run whose learning rate is multiplied by `factor`.
    fn course(factor: f64) -> Course {
        let mut run = Rehearsal::new(Host::new(Isa::best()), MIXTURE).unwrap();
        let config = serde_json::from_slice(&run.config).unwrap();
        let tensors = run.learner.checkpoint(0, 1).unwrap();
        let (name, shown) = (String::new(), String::new());
        let start = Start { step: 0, tensors: tensors.into(), name, shown };
        let rows = (0..3).map(|_| run.batch().concat()).collect();
        Course {
            config,
            regime: run.recipe.regime,
            start,
            steps: 3,
            rows: RowsRead::Kept(rows),
            counted: 0,
            ahead: 0,
            factor,
            frozen: None,
            clip_by: Vec::new(),
            exact_norms: false,
            marks: Vec::new(),
            other_roundings: None,
            averaged: None,
            stale: None,
            sampled: None,
        }
    }

    fn trained(course: &Course, unseen: Option<usize>) -> Trained {
        let (layout, mut watch) = (course.layout().unwrap(), Watch::default());
        let walker =
            course.walk(Host::<f32>::new(Isa::best()), StepMeasure::Plain, |at, step, _| {
                let mut step = step.clone();
                if let (Some(expert), Some(layers)) = (unseen, &mut step.routed) {
                    layers[1][expert] = 0;
                }
                watch.step(&step, course.rates(at as u64));
                ControlFlow::Continue(())
            });
        watch.end(&walker.unwrap(), &layout, 0).unwrap()
    }

    #[test]
    fn every_tensor_has_a_gradient_and_moves() {
        let found = trained(&course(1.0), None);
        assert_eq!(found, Trained { tensors: found.tensors, ..Trained::default() });
        assert_eq!(found.tensors, course(1.0).layout().unwrap().names.len());
    }

    #[test]
    fn a_tensor_that_only_decays_is_named() {
        for tensor in ["model.layers.1.self_attn.k_proj.weight", "model.norm.weight"] {
            let frozen = Course { frozen: Some(tensor.to_owned()), ..course(1.0) };
            let found = trained(&frozen, None);
            assert_eq!(
                (found.without_gradient, found.unmoved),
                (vec![tensor.to_owned()], vec![tensor.to_owned()])
            );
        }
    }

    #[test]
    fn steps_at_rest_and_experts_without_tokens_are_named_and_not_failed() {
        let found = trained(&course(0.0), None);
        assert_eq!((found.at_rest, found.unmoved.len()), (vec![1, 2, 3], 0));
        let found = trained(&course(1.0), Some(2));
        let matrices =
            ["down", "gate", "up"].map(|m| format!("model.layers.1.mlp.experts.2.{m}_proj.weight"));
        assert_eq!(found.idle, matrices);
        assert!(found.without_gradient.is_empty() && found.unmoved.is_empty());
    }
}
