//! Whether the steps train: each tensor has a gradient, and moves further than weight decay takes it.

use super::course::Walker;
use super::report::Trained;
use super::step::{Layout, Step};
use crate::source::Refusal;
use crate::train::learner::Values;

/// What rounding may move an element in a step, relative to it.
const ROUNDING: f64 = 1.0 / 4_194_304.0;

/// What the steps have shown so far.
#[derive(Debug, Default)]
pub struct Watch {
    /// Whether each tensor had a gradient.
    gradients: Vec<bool>,
    /// Of each layer that routes, whether each expert had a token.
    routed: Vec<Vec<bool>>,
    rates: Vec<f32>,
}

impl Watch {
    /// Takes in a step that was made at this rate.
    pub fn step(&mut self, step: &Step, rate: f32) {
        self.rates.push(rate);
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

    /// What they show of a walk that is over; names are those of `layout`.
    pub fn end(
        &self,
        walker: &Walker<'_>,
        layout: &Layout,
        from: u64,
        decay: f64,
    ) -> Result<Trained, Refusal> {
        let idle = self.idle(layout);
        let at_rest = (from + 1..).zip(&self.rates).filter(|(_, rate)| **rate == 0.0);
        let mut trained =
            Trained { at_rest: at_rest.map(|(step, _)| step).collect(), ..Trained::default() };
        let after = walker.learner.values()?;
        for (at, (before, after)) in std::iter::zip(walker.begun(), &after).enumerate() {
            let named = walker.learner.tensors().iter().find(|named| named.name == after.name);
            let Some(named) = named else { continue };
            trained.tensors += 1;
            let shown = layout.names.get(at).unwrap_or(&after.name);
            if idle.iter().any(|prefix| after.name.starts_with(prefix)) {
                trained.idle.push(shown.clone());
                continue;
            }
            if self.gradients.get(at) == Some(&false) {
                trained.without_gradient.push(shown.clone());
            }
            let decay = if named.decays { decay } else { 0.0 };
            if self.moves() && !self.moved(before, after, decay) {
                trained.unmoved.push(shown.clone());
            }
        }
        Ok(trained)
    }

    /// Whether any step was made at a rate that moves something.
    fn moves(&self) -> bool {
        self.rates.iter().any(|rate| *rate > 0.0)
    }

    fn moved(&self, before: &Values, after: &Values, decay: f64) -> bool {
        let kept =
            self.rates.iter().fold(1.0, |kept, rate| kept * (1.0 - f64::from(*rate) * decay));
        let sum =
            std::iter::zip(&before.values, &after.values).fold(0.0, |sum, (before, after)| {
                let moved = f64::from(*after) - f64::from(*before) * kept;
                sum + moved * moved
            });
        sum.sqrt() > self.rates.len() as f64 * ROUNDING * before.size()
    }

    /// What the names of tensors begin with whose expert no token was sent to.
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
