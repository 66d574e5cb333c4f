//! Planted faults: what a stretch of steps would show, tried on the stretch itself.
//!
//! A fault is planted in a course, the course is walked, and what comes out is compared as a log would
//! be. What does not show here cannot refute a run, and the report says so.

use std::collections::BTreeMap;

use serde_json::json;

use super::course::{Course, RowsRead};
use super::step::{Layout, Step};
use crate::checkpoint::MOMENTS;
use crate::{Precision, TensorData};
use repro_receipt::source::Error;

/// The least change of a float32, relative to it.
const UNIT: f64 = 1.0 / 8_388_608.0;
/// The change of a coefficient that is rounded before it is used.
const MILLIONTH: f64 = 1e-6;
/// The change of a setting that people make by mistake.
const PERCENT: f64 = 0.01;
/// The share by which 1 - β₂ is made smaller: 0.95 becomes 0.96.
const FIFTH: f64 = 0.2;

/// A fault in a course.
pub struct Planted {
    /// What was planted.
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
    /// What can be planted.
    pub planted: Result<Vec<Planted>, String>,
}

/// Every fault of a course with these tensors. With `fine` the smallest sizes are tried first, which only
/// a comparison of bits can see.
pub fn all(
    course: &Course,
    layout: &Layout,
    logged: &[Step],
    fine: bool,
) -> Result<Vec<Fault>, Error> {
    let garden = Garden { course, layout, logged, fine };
    let fault = |id, planted| Fault { id, planted };
    Ok(vec![
        fault("learning-rate", garden.rate()),
        fault("schedule-off-by-one", garden.schedule()),
        fault("swapped-batch", garden.swapped()),
        fault("changed-token", garden.token()),
        fault("dropped-gradient-matrix", garden.dropped(".self_attn.q_proj.weight", "matrix")),
        fault("dropped-gradient-norm", garden.dropped(".input_layernorm.weight", "norm")),
        fault("dropped-gradient-router", garden.dropped(".mlp.gate.weight", "router")),
        fault("clipping-skipped", garden.unclipped()),
        fault("clipping-limit", garden.limit()),
        fault("moments-reset", garden.moments("")),
        fault("moments-reset-matrix", garden.moments(".self_attn.q_proj.weight")),
        fault("optimizer-step", garden.counted()),
        fault("no-weight-decay", garden.decay()),
        fault("beta2", garden.beta2()),
        fault("balance-coefficient", garden.balance()),
        fault("other-seed", garden.seed()?),
    ])
}

/// The error of a learning rate that every tolerance is held against: one percent, or ten where numbers have fewer bits than
/// those of float32.
pub fn decisive(precision: Precision) -> f64 {
    match precision {
        Precision::Full => PERCENT,
        _ => 10.0 * PERCENT,
    }
}

/// A course with such a learning rate.
pub fn with_other_rate(course: &Course) -> Course {
    Course { factor: 1.0 + decisive(course.regime.precision), ..course.clone() }
}

/// The faults that have to show where numbers have fewer bits: their names begin like this.
pub const DECISIVE: [&str; 3] = ["learning-rate", "swapped-batch", "dropped-gradient-matrix"];

struct Garden<'a> {
    course: &'a Course,
    layout: &'a Layout,
    logged: &'a [Step],
    fine: bool,
}

type Plants = Result<Vec<Planted>, String>;

impl Garden<'_> {
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
        self.sized(UNIT, decisive(self.course.regime.precision), |size, course| {
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
            RowsRead::Kept(rows) if rows.len() < 2 => Err("there is one batch".to_owned()),
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

    /// Without the gradient of the first tensor, in the order of execution, whose name ends like this.
    fn dropped(&self, ending: &str, word: &str) -> Plants {
        let names = self.layout.forward.iter().filter_map(|at| self.layout.names.get(*at));
        let found = names.map(|name| super::names::ours(name)).find(|name| name.ends_with(ending));
        let Some(name) = found else { return Err(format!("the model has no {word}")) };
        self.one(format!("no gradient for `{name}`"), |course| course.frozen = Some(name.clone()))
    }

    /// Why no clipping can be seen, where gradients are never longer than the limit.
    fn is_clipped(&self) -> Result<(), String> {
        let limit = self.course.regime.optimizer.clip;
        if limit == 0.0 {
            return Err("gradients are not clipped".to_owned());
        }
        let is_short = |step: &Step| step.norm.is_some_and(|norm| norm <= limit);
        match !self.logged.is_empty() && self.logged.iter().all(is_short) {
            true => Err("no gradient is longer than the limit".to_owned()),
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
            format!("the limit of gradients times 1 + {size:.1e}")
        })
    }

    /// The moments of all tensors, or of the first whose name ends like this, start at zero.
    fn moments(&self, ending: &str) -> Plants {
        if self.course.start.step == 0 {
            return Err("the moments are zero before the first step".to_owned());
        }
        let names = self.layout.forward.iter().filter_map(|at| self.layout.names.get(*at));
        let first = names.map(|name| super::names::ours(name)).find(|name| name.ends_with(ending));
        let Some(first) = first else { return Err(format!("the model has no `{ending}`")) };
        let is_all = ending.is_empty();
        let what = match is_all {
            true => "the optimizer moments start at zero".to_owned(),
            false => format!("the moments of `{first}` start at zero"),
        };
        self.one(what, |course| {
            for (name, data) in &mut course.start.tensors.tensors {
                let of = MOMENTS.iter().find_map(|prefix| name.strip_prefix(prefix));
                if of.is_some_and(|of| is_all || of == first) {
                    let zeros = vec![0.0; data.shape().iter().product()];
                    *data = TensorData::floats(data.shape(), &zeros);
                }
            }
        })
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
            course.regime.optimizer.groups.iter_mut().for_each(|group| group.decay = 0.0);
        })
    }

    fn beta2(&self) -> Plants {
        if !self.course.regime.optimizer.groups.iter().any(|group| group.method.keeps()[1]) {
            return Err("no rule has a second moment".to_owned());
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
        if self.course.start.step > 0 {
            return Ok(Err("the weights come from a checkpoint".to_owned()));
        }
        let own = self.course.config.get("seed_init").and_then(serde_json::Value::as_u64);
        let other = self.course.weights_of(own.map_or(1, |own| own.wrapping_add(1)))?;
        let mut weights: BTreeMap<_, _> = other.into_iter().map(|v| (v.name.clone(), v)).collect();
        Ok(self.one("weights from another seed", |course| {
            for (name, data) in &mut course.start.tensors.tensors {
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
