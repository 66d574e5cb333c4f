//! Planted faults: what a stretch of steps would show, tried on the stretch itself.
//!
//! A fault is planted in a course, the course is walked, and what comes out is compared as a log would
//! be. What does not show here cannot refute a run, and the report says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::course::{Course, RowsRead};
use super::step::{Layout, Step};
use crate::checkpoint::MOMENTS;
use crate::{LearningRates, ParameterGroup, Precision, Regime, TensorData, UpdateMethod};
use repro_core::source::Error;

/// The least change of a float32, relative to it.
const UNIT: f64 = 1.0 / 8_388_608.0;
/// The change of a coefficient that is rounded before it is used.
const MILLIONTH: f64 = 1e-6;
/// The change of a setting that people make by mistake.
const PERCENT: f64 = 0.01;
/// The share by which 1 - β₂ is made smaller: 0.95 becomes 0.96.
const FIFTH: f64 = 0.2;

/// The decay of an average of weights.
const AVERAGE: f64 = 0.999;

/// A fault in a course.
pub struct Planted {
    /// The planted fault.
    pub what: String,
    /// Its relative size, where it has sizes.
    pub size: Option<f64>,
    /// The course with the fault.
    pub course: Course,
}

/// A fault, with what can be planted of it, the smallest first; or why it cannot show.
pub struct Fault {
    /// Its name.
    pub id: &'static str,
    /// The faults that can be planted.
    pub planted: Result<Vec<Planted>, String>,
}

/// The error of a learning rate that every tolerance is held against: one percent, or ten where numbers have fewer bits than
/// those of float32, in the model or in an update.
pub fn decisive(regime: &Regime) -> f64 {
    let rounds = regime.optimizer.groups.iter().any(ParameterGroup::rounds);
    let has_all_bits = regime.precision == Precision::Full && !rounds;
    if has_all_bits { PERCENT } else { 10.0 * PERCENT }
}

/// A course with such a learning rate.
pub fn with_other_rate(course: &Course) -> Course {
    Course { factor: 1.0 + decisive(&course.regime), ..course.clone() }
}

/// The faults that have to show where numbers have fewer bits: their names begin like this.
pub const DECISIVE: [&str; 3] = ["learning-rate", "swapped-batch", "dropped-gradient-matrix"];

/// The course in which faults are planted.
pub struct Garden<'a> {
    /// The course.
    pub course: &'a Course,
    /// Its tensors.
    pub layout: &'a Layout,
    /// The logged steps.
    pub logged: &'a [Step],
    /// Rows of the validation text in place of those of the steps; or why there are none.
    pub held_out: &'a Result<Vec<Vec<u32>>, String>,
    /// Whether the smallest sizes are tried first, which only a comparison of bits can see.
    pub fine: bool,
}

/// A kind of tensor, of which the first in the order of the forward pass is taken.
#[derive(Debug, Clone, Copy)]
enum TensorKind {
    /// With rows and columns; not the table of tokens, with which a model begins.
    Matrix,
    /// With one dimension, as the weight of a norm.
    Norm,
    /// A router, which sends tokens to experts.
    Router,
}

impl TensorKind {
    fn word(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Norm => "norm",
            Self::Router => "router",
        }
    }
}

type Plants = Result<Vec<Planted>, String>;

impl Garden<'_> {
    /// Every fault.
    pub fn all(&self) -> Result<Vec<Fault>, Error> {
        use TensorKind::{Matrix, Norm, Router};
        let fault = |id, planted| Fault { id, planted };
        Ok(vec![
            fault("learning-rate", self.rate()),
            fault("schedule-off-by-one", self.schedule()),
            fault("other-group-rate", self.other_rate()),
            fault("swapped-batch", self.swapped()),
            fault("changed-token", self.token()),
            fault("validation-data", self.validation()),
            fault("dropped-gradient-matrix", self.dropped(Matrix)),
            fault("dropped-gradient-norm", self.dropped(Norm)),
            fault("dropped-gradient-router", self.dropped(Router)),
            fault("clipping-skipped", self.unclipped()),
            fault("clipping-limit", self.limit()),
            fault("clipping-limit-below", self.limit_below()),
            fault("moments-reset", self.moments(None)),
            fault("moments-reset-matrix", self.moments(Some(Matrix))),
            fault("moments-stale-matrix", self.stale(Matrix)),
            fault("moments-stale-norm", self.stale(Norm)),
            fault("moments-stale-router", self.stale(Router)),
            fault("optimizer-step", self.counted()),
            fault("no-weight-decay", self.decay()),
            fault("no-weight-decay-group", self.decay_of_group()),
            fault("momentum", self.momentum()),
            fault("beta1", self.beta1()),
            fault("beta2", self.beta2()),
            fault("amsgrad", self.amsgrad()),
            fault("newton-schulz", self.iterations()),
            fault("averaged-weights", self.averaged()),
            fault("balance-coefficient", self.balance()),
            fault("other-seed", self.seed()?),
        ])
    }

    /// The same fault in each of these sizes that this comparison may see.
    fn sized(&self, small: f64, large: f64, plant: impl Fn(f64, &mut Course) -> String) -> Plants {
        let sizes = if self.fine { vec![small, large] } else { vec![large] };
        let planted = |size| {
            let mut course = self.course.clone();
            let what = plant(size, &mut course);
            Planted { what, size: Some(size), course }
        };
        Ok(sizes.into_iter().map(planted).collect())
    }

    fn one(&self, what: impl Into<String>, plant: impl FnOnce(&mut Course)) -> Plants {
        let mut course = self.course.clone();
        plant(&mut course);
        Ok(vec![Planted { what: what.into(), size: None, course }])
    }

    /// The numbers of the steps.
    fn steps(&self) -> impl Iterator<Item = u64> {
        let from = self.course.start.step;
        from..from + self.course.steps
    }

    fn rate(&self) -> Plants {
        if self.steps().all(|step| self.course.rates(step).iter().all(|rate| *rate == 0.0)) {
            return Err("the learning rate is 0 at every step".to_owned());
        }
        self.sized(UNIT, decisive(&self.course.regime), |size, course| {
            course.factor = 1.0 + size;
            format!("the learning rate times 1 + {size:.1e}")
        })
    }

    fn schedule(&self) -> Plants {
        let rate = |step| self.course.rates(step);
        if self.steps().all(|step| rate(step) == rate(step + 1)) {
            return Err("the next step has the same learning rate".to_owned());
        }
        self.one("each step with the learning rate of the next", |course| course.ahead = 1)
    }

    fn swapped(&self) -> Plants {
        match &self.course.rows {
            RowsRead::Kept(rows) if rows.len() < 2 => self.reversed(),
            RowsRead::Kept(rows) if rows.first() != rows.get(1) => {
                self.one("the first two batches swapped", |course| {
                    if let RowsRead::Kept(rows) = &mut course.rows {
                        rows.swap(0, 1);
                    }
                    if course.marks.len() > 1 {
                        course.marks.swap(0, 1);
                    }
                })
            }
            _ => Err("the first two batches are equal".to_owned()),
        }
    }

    /// Another batch where there is one alone: its rows from their ends, which have as many of each token.
    fn reversed(&self) -> Plants {
        let width = self.course.regime.shape.seq_len + 1;
        let mut course = self.course.clone();
        if let RowsRead::Kept(rows) = &mut course.rows {
            let all = rows.iter_mut().flat_map(|rows| rows.chunks_mut(width));
            all.for_each(<[u32]>::reverse);
        }
        match (&course.rows, &self.course.rows) {
            (RowsRead::Kept(turned), RowsRead::Kept(rows)) if turned != rows => {
                let what = "the rows of the batch reversed".to_owned();
                Ok(vec![Planted { what, size: None, course }])
            }
            _ => Err("there is one batch, equal to its reverse".to_owned()),
        }
    }

    fn token(&self) -> Plants {
        let vocabulary = self.course.config.get("vocab_size").and_then(serde_json::Value::as_u64);
        let vocabulary = vocabulary.and_then(|size| u32::try_from(size).ok()).unwrap_or(1);
        if vocabulary < 2 {
            return Err("the vocabulary has one token".to_owned());
        }
        self.one("one token of the first batch changed", |course| {
            if let RowsRead::Kept(rows) = &mut course.rows
                && let Some(first) = rows.first_mut()
            {
                let middle = first.len() / 2;
                if let Some(token) = first.get_mut(middle) {
                    *token = (*token + 1) % vocabulary;
                }
            }
        })
    }

    /// The name, as we call it, of the first tensor of a kind that the optimizer moves.
    fn first(&self, kind: TensorKind) -> Result<String, String> {
        let vocabulary = self.course.config.get("vocab_size").and_then(serde_json::Value::as_u64);
        let begins = self.layout.forward.first();
        let is_of = |at: &usize| match (kind, self.layout.shapes.get(*at).map(Vec::as_slice)) {
            (TensorKind::Matrix, Some([rows, _])) => {
                begins != Some(at) || vocabulary != Some(*rows as u64)
            }
            (TensorKind::Norm, Some([_])) => true,
            (TensorKind::Router, Some(_)) => {
                self.layout.names.get(*at).is_some_and(|name| self.layout.routers.contains(name))
            }
            _ => false,
        };
        let moved = self.layout.forward.iter().filter(|at| !self.layout.rests(**at));
        let first = moved.copied().find(is_of).and_then(|at| self.layout.names.get(at));
        let none = || format!("the optimizer updates no {} of the model", kind.word());
        first.map(|name| super::names::ours(name)).ok_or_else(none)
    }

    /// The group of a tensor.
    fn group_of(&self, tensor: &str, kind: TensorKind) -> Option<&ParameterGroup> {
        let optimizer = &self.course.regime.optimizer;
        let is_matrix = !matches!(kind, TensorKind::Norm);
        optimizer.groups.get(optimizer.group_of(tensor, is_matrix)?)
    }

    /// Without the gradient of a tensor.
    fn dropped(&self, kind: TensorKind) -> Plants {
        let name = self.first(kind)?;
        self.one(format!("no gradient for `{name}`"), |course| course.frozen = Some(name.clone()))
    }

    /// The rows of the validation text in place of those of the steps.
    fn validation(&self) -> Plants {
        let rows = self.held_out.as_ref().map_err(String::clone)?;
        self.one("the validation text in place of the batches", |course| {
            course.rows = RowsRead::Kept(rows.clone());
        })
    }

    /// A group of the optimizer with the rates of another.
    fn other_rate(&self) -> Plants {
        let LearningRates::Stated { groups, .. } = &self.course.regime.rates else {
            return Err("all tensors have one learning rate".to_owned());
        };
        let differs = |first: &Vec<f32>| groups.iter().position(|other| other != first);
        let found = groups.first().and_then(differs);
        let Some(other) = found else {
            return Err("all groups have the same learning rates".to_owned());
        };
        let what =
            format!("optimizer group {} with the learning rates of the first group", other + 1);
        self.one(what, |course| {
            if let LearningRates::Stated { groups, .. } = &mut course.regime.rates
                && let Some(first) = groups.first().cloned()
                && let Some(rates) = groups.get_mut(other)
            {
                *rates = first;
            }
        })
    }

    /// Why no clipping can be seen, where gradients are never longer than the limit.
    fn is_clipped(&self) -> Result<(), String> {
        let limit = self.course.regime.optimizer.clip;
        if limit == 0.0 {
            return Err("gradients are not clipped".to_owned());
        }
        let is_short = |step: &Step| step.norm.is_some_and(|norm| norm <= limit);
        match !self.logged.is_empty() && self.logged.iter().all(is_short) {
            true => Err("no gradient norm exceeds the limit".to_owned()),
            false => Ok(()),
        }
    }

    fn unclipped(&self) -> Plants {
        self.is_clipped()?;
        self.one("no clipping", |course| course.regime.optimizer.clip = 0.0)
    }

    fn limit(&self) -> Plants {
        self.is_clipped()?;
        self.sized(MILLIONTH, PERCENT, |size, course| {
            course.regime.optimizer.clip *= 1.0 + size;
            format!("the clipping limit times 1 + {size:.1e}")
        })
    }

    /// A limit that is smaller, which gradients show that are nearly as long as it, too.
    fn limit_below(&self) -> Plants {
        let limit = self.course.regime.optimizer.clip;
        if limit == 0.0 {
            return Err("gradients are not clipped".to_owned());
        }
        let is_short = |step: &Step| step.norm.is_some_and(|norm| norm <= limit * (1.0 - PERCENT));
        if !self.logged.is_empty() && self.logged.iter().all(is_short) {
            return Err("no gradient norm exceeds 99% of the limit".to_owned());
        }
        self.sized(MILLIONTH, PERCENT, |size, course| {
            course.regime.optimizer.clip *= 1.0 - size;
            format!("the clipping limit times 1 - {size:.1e}")
        })
    }

    /// The moments of all tensors, or of the first of a kind, start at zero.
    fn moments(&self, kind: Option<TensorKind>) -> Plants {
        if self.course.start.step == 0 {
            return Err("the moments are zero before the first step".to_owned());
        }
        let tensor = kind.map(|kind| self.first(kind)).transpose()?;
        let what = match &tensor {
            None => "the optimizer moments start at zero".to_owned(),
            Some(tensor) => format!("the moments of `{tensor}` start at zero"),
        };
        self.one(what, |course| {
            for (name, data) in &mut Arc::make_mut(&mut course.start.tensors).tensors {
                let of = MOMENTS.iter().find_map(|prefix| name.strip_prefix(prefix));
                if of.is_some_and(|of| tensor.as_ref().is_none_or(|tensor| tensor == of)) {
                    let zeros = vec![0.0; data.shape().iter().product()];
                    *data = TensorData::floats(data.shape(), &zeros);
                }
            }
        })
    }

    /// The moments of the first tensor of a kind are those of a step earlier, from the second step on.
    fn stale(&self, kind: TensorKind) -> Plants {
        let tensor = self.first(kind)?;
        if self.course.steps < 2 {
            return Err("there is one step".to_owned());
        }
        if self.group_of(&tensor, kind).is_none_or(|group| group.writes() == [false; 3]) {
            return Err(format!("the update rule of `{tensor}` has no moments"));
        }
        let what = format!("the second step with the moments of `{tensor}` from before the first");
        self.one(what, |course| course.stale = Some(tensor.clone()))
    }

    fn counted(&self) -> Plants {
        let groups = &self.course.regime.optimizer.groups;
        let corrected = groups.iter().filter(|group| group.method.is_corrected());
        let mut betas = corrected.flat_map(|group| [group.beta1, group.beta2]);
        let (from, steps) = (self.course.counted, self.course.steps);
        if betas.all(|beta| corrections(beta, from, steps)) {
            return Err("the bias corrections no longer change from step to step".to_owned());
        }
        self.one("the optimizer's step count is one too high", |course| course.counted += 1)
    }

    fn decay(&self) -> Plants {
        if self.course.regime.optimizer.groups.iter().all(|group| group.decay == 0.0) {
            return Err("there is no weight decay".to_owned());
        }
        self.one("no weight decay", |course| {
            for group in &mut course.regime.optimizer.groups {
                group.decay = 0.0;
                group.drift[0].clear();
            }
        })
    }

    /// The first group that decays does not, where others do.
    fn decay_of_group(&self) -> Plants {
        let groups = &self.course.regime.optimizer.groups;
        let mut decaying = groups.iter().enumerate().filter(|(_, group)| group.decay > 0.0);
        let (Some((first, _)), Some(_)) = (decaying.next(), decaying.next()) else {
            return Err("no two groups have weight decay".to_owned());
        };
        let what = format!("no weight decay in optimizer group {}", first + 1);
        self.one(what, |course| {
            if let Some(group) = course.regime.optimizer.groups.get_mut(first) {
                group.decay = 0.0;
                group.drift[0].clear();
            }
        })
    }

    /// Momentum of rules that have no second moment.
    fn momentum(&self) -> Plants {
        let has = |group: &ParameterGroup| !group.method.keeps()[1] && group.writes()[0];
        let groups = &self.course.regime.optimizer.groups;
        if !groups.iter().any(|group| has(group) && group.beta1 > 0.0) {
            return Err("no update rule uses momentum alone".to_owned());
        }
        self.sized(MILLIONTH, PERCENT, |size, course| {
            for group in course.regime.optimizer.groups.iter_mut().filter(|group| has(group)) {
                group.beta1 *= 1.0 - size;
                group.beta2 *= 1.0 - size;
            }
            format!("the momentum times 1 - {size:.1e}")
        })
    }

    /// One iteration of Newton and Schulz less.
    fn iterations(&self) -> Plants {
        let groups = &self.course.regime.optimizer.groups;
        let iterates = |group: &ParameterGroup| matches!(group.method, UpdateMethod::Muon(muon) if muon.steps > 0);
        if !groups.iter().any(iterates) {
            return Err("no update rule is Muon".to_owned());
        }
        self.one("one Newton-Schulz iteration fewer", |course| {
            for group in &mut course.regime.optimizer.groups {
                if let UpdateMethod::Muon(muon) = &mut group.method {
                    muon.steps = muon.steps.saturating_sub(1);
                }
            }
        })
    }

    fn averaged(&self) -> Plants {
        let what = format!("weights averaged with a decay of {AVERAGE} at the end of each step");
        self.one(what, |course| course.averaged = Some(AVERAGE))
    }

    /// The mean of gradients of rules that have a mean of squares too.
    fn beta1(&self) -> Plants {
        let has = |group: &ParameterGroup| group.method.keeps()[1];
        if !self.course.regime.optimizer.groups.iter().any(has) {
            return Err("no update rule has two moments".to_owned());
        }
        self.sized(MILLIONTH, FIFTH, |size, course| {
            for group in course.regime.optimizer.groups.iter_mut().filter(|group| has(group)) {
                group.beta1 = 1.0 - (1.0 - group.beta1) * (1.0 - size);
            }
            format!("1 - β₁ times 1 - {size:.1e}")
        })
    }

    /// Adam divides by the greatest mean of squares where it should not, or no longer does.
    fn amsgrad(&self) -> Plants {
        let groups = &self.course.regime.optimizer.groups;
        let is_on = groups.iter().any(|group| group.method.keeps()[2]);
        if !is_on {
            return Err("no update rule is AMSGrad".to_owned());
        }
        self.one("Adam in place of AMSGrad", |course| {
            let tensors = &mut Arc::make_mut(&mut course.start.tensors).tensors;
            tensors.retain(|name, _| !name.starts_with(MOMENTS[2]));
            for group in &mut course.regime.optimizer.groups {
                match &mut group.method {
                    UpdateMethod::AdamW { amsgrad } | UpdateMethod::Adam { amsgrad } => {
                        *amsgrad = false;
                    }
                    _ => {}
                }
            }
        })
    }

    fn beta2(&self) -> Plants {
        if !self.course.regime.optimizer.groups.iter().any(|group| group.method.keeps()[1]) {
            return Err("no update rule has a second moment".to_owned());
        }
        self.sized(MILLIONTH, FIFTH, |size, course| {
            for group in &mut course.regime.optimizer.groups {
                group.beta2 = 1.0 - (1.0 - group.beta2) * (1.0 - size);
            }
            format!("1 - β₂ times 1 - {size:.1e}")
        })
    }

    fn balance(&self) -> Plants {
        let field = |name: &str| self.course.config.get(name);
        let by_loss = field("balancing").and_then(|word| word.as_str()) == Some("loss");
        let is_joint = field("output_router_logits").and_then(serde_json::Value::as_bool);
        let name = match (by_loss, is_joint) {
            (true, _) => "aux_loss_alpha",
            (false, Some(true)) => "router_aux_loss_coef",
            _ => return Err("no loss term balances the experts".to_owned()),
        };
        let coefficient = field(name).and_then(serde_json::Value::as_f64);
        let Some(coefficient) = coefficient.filter(|coefficient| *coefficient > 0.0) else {
            return Err("no loss term balances the experts".to_owned());
        };
        self.sized(MILLIONTH, PERCENT, |size, course| {
            let changed = json!(coefficient * (1.0 + size));
            course.config.insert(name.to_owned(), changed);
            format!("the balancing coefficient times 1 + {size:.1e}")
        })
    }

    /// Weights of another seed, at the start of the run.
    fn seed(&self) -> Result<Plants, Error> {
        // The weights of other trainers are those of the bundle at every step.
        if self.course.start.step > 0 || !self.fine {
            return Ok(Err("the weights come from a checkpoint".to_owned()));
        }
        let own = self.course.config.get("seed_init").and_then(serde_json::Value::as_u64);
        let other = self.course.weights_of(own.map_or(1, |own| own.wrapping_add(1)))?;
        let mut weights: BTreeMap<_, _> = other.into_iter().map(|v| (v.name.clone(), v)).collect();
        Ok(self.one("weights from a different seed", |course| {
            for (name, data) in &mut Arc::make_mut(&mut course.start.tensors).tensors {
                if let Some(values) = weights.remove(name) {
                    *data = TensorData::floats(&values.shape, &values.values);
                }
            }
        }))
    }
}

/// Whether the corrections 1 / (1 - βᵗ) of these steps are the same as those of one step later, as float32.
fn corrections(beta: f64, from: u64, steps: u64) -> bool {
    let mut power = 1.0;
    let mut last = None;
    // Powers become zero long before a counter ends.
    for step in 1..=from.saturating_add(steps).saturating_add(1).min(1 << 24) {
        power *= beta;
        let correction = (1.0 / (1.0 - power)) as f32;
        if step > from && last.is_some_and(|last| last != correction) {
            return false;
        }
        last = (step > from).then_some(correction);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::corrections;

    #[test]
    fn corrections_settle() {
        assert!(!corrections(0.95, 0, 3));
        assert!(!corrections(0.999, 967, 3));
        assert!(corrections(0.95, 967, 10) && corrections(0.9, 967, 10));
    }
}
