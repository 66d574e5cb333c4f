//! The learning rate of each step: warmup, then warmup-stable-decay or cosine.
//!
//! Steps are counted from 0: the rate of step `s` is that of the update which is made after `s` others.
//! Everything is computed in float64 and rounded to float32 once. The warmup lies inside the hold, as
//! [`repro_model::contract::Schedule`] reads the same fields.

use std::f64::consts::PI;

use super::BAD_RECIPE;
use repro_core::source::{Error, Node};

/// The learning rate as a function of the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningRateSchedule {
    peak: f64,
    warmup: f64,
    /// The rate at the end, as a share of the peak.
    floor: f64,
    shape: Shape,
}

/// The schedule after the warmup.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// The peak up to a step, then a straight line down to the floor over so many steps.
    Stable { hold: f64, decay: f64 },
    /// Half a wave from the end of the warmup down to the floor at a step.
    Cosine { steps: f64 },
}

impl LearningRateSchedule {
    /// Reads `schedule`, `lr`, `warmup_steps`, `decay_floor`, and `hold_tokens` and `decay_tokens`
    /// (`wsd`) or `schedule_steps` (`cosine`) of a run's config, whose steps take `tokens_per_step`.
    pub fn read(config: Node<'_>, tokens_per_step: u64) -> Result<Self, Error> {
        let positive = |node: Node<'_>, value: f64| {
            if value > 0.0 {
                return Ok(value);
            }
            Err(BAD_RECIPE.at(node.place(), "a number above 0", node.printed()?))
        };
        let rate = config.required("lr")?;
        let peak = positive(rate, rate.float()?)?;
        let warmup = config.required("warmup_steps")?.integer()? as f64;
        let floor = config.required("decay_floor")?;
        if !(0.0..=1.0).contains(&floor.float()?) {
            return Err(BAD_RECIPE.at(floor.place(), "a fraction from 0 to 1", floor.printed()?));
        }
        let floor = floor.float()?;
        let kind = config.required("schedule")?;
        let steps = |field: &str| -> Result<f64, Error> {
            Ok(config.required(field)?.integer()? as f64 / tokens_per_step as f64)
        };
        let shape = match kind.text()? {
            "wsd" => Shape::Stable { hold: steps("hold_tokens")?, decay: steps("decay_tokens")? },
            "cosine" => {
                let end = config.required("schedule_steps")?;
                Shape::Cosine { steps: positive(end, end.integer()? as f64)? }
            }
            other => {
                let found = format!("`{}`", other.chars().take(40).collect::<String>());
                return Err(BAD_RECIPE.at(kind.place(), "`wsd` or `cosine`", found));
            }
        };
        Ok(Self { peak, warmup, floor, shape })
    }

    /// The rate of step `step`.
    pub fn rate(&self, step: u64) -> f32 {
        let step = step as f64;
        if step < self.warmup {
            return (self.peak * (step + 1.0) / self.warmup) as f32;
        }
        // How much of the way from the peak down to the floor is done.
        let done = match self.shape {
            Shape::Stable { hold, .. } if step <= hold => 0.0,
            Shape::Stable { hold, decay } if step < hold + decay => (step - hold) / decay,
            Shape::Cosine { steps } if step < steps => {
                0.5 * (1.0 - libm::cos(PI * ((step - self.warmup) / (steps - self.warmup))))
            }
            Shape::Stable { .. } | Shape::Cosine { .. } => 1.0,
        };
        (self.peak * (1.0 - (1.0 - self.floor) * done)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};
    use repro_model::contract::{Phase, Schedule};

    const WSD: &str = "schedule = 'wsd'\nlr = 0.004\nwarmup_steps = 4\nhold_tokens = 800\n\
                       decay_tokens = 200\ndecay_floor = 0.1\nbatch_size = 2\nseq_len = 5\n";

    fn document(text: &str) -> Document {
        Document::parse_toml(Source::new("c.toml", text.into()).unwrap()).unwrap()
    }

    fn schedule(text: &str) -> Result<LearningRateSchedule, Error> {
        LearningRateSchedule::read(document(text).root(), 10)
    }

    #[test]
    fn it_warms_up_holds_and_decays() {
        let schedule = schedule(WSD).unwrap();
        let rates = [0, 3, 4, 80, 90, 99, 100, 5000].map(|step| schedule.rate(step));
        let wanted = [0.001, 0.004, 0.004, 0.004, 0.0022, 0.00058, 0.0004, 0.0004];
        assert_eq!(rates, wanted.map(|rate: f64| rate as f32));
    }

    #[test]
    fn its_phases_are_those_that_claims_read() {
        let (ours, theirs) = (schedule(WSD).unwrap(), Schedule::of_config(&document(WSD)).unwrap());
        for step in 0..120 {
            let peak = ours.rate(step) == 0.004_f32;
            match theirs.phase(step) {
                // The last step of the warmup is at the peak already.
                Phase::Warmup => assert_eq!(peak, step == 3, "{step}"),
                Phase::Hold => assert!(peak, "{step}"),
                Phase::Decay(_) => assert!(!peak && ours.rate(step) > 0.0004, "{step}"),
                Phase::After => assert_eq!(ours.rate(step), 0.0004, "{step}"),
            }
        }
    }

    #[test]
    fn a_cosine_ends_at_its_floor() {
        let text = "schedule = 'cosine'\nlr = 1.0\nwarmup_steps = 10\nschedule_steps = 110\ndecay_floor = 0.2\n";
        let schedule = schedule(text).unwrap();
        let rates = [9, 10, 60, 110, 111].map(|step| schedule.rate(step));
        assert_eq!(rates, [1.0, 1.0, 0.6, 0.2, 0.2]);
        assert!((11..110).all(|step| schedule.rate(step) < schedule.rate(step - 1)));
    }

    #[test]
    fn what_is_no_schedule_is_refused_at_its_field() {
        for (from, to, pointer) in [
            ("'wsd'", "'linear'", "/schedule"),
            ("lr = 0.004", "lr = 0.0", "/lr"),
            ("decay_floor = 0.1", "decay_floor = 1.1", "/decay_floor"),
            ("'wsd'", "'cosine'\nschedule_steps = 0", "/schedule_steps"),
        ] {
            let error = schedule(&WSD.replace(from, to)).unwrap_err();
            assert_eq!((error.code.id, &*error.place.pointer), ("train::bad-recipe", pointer));
        }
        let missing = schedule(&WSD.replace("hold_tokens", "stay_tokens")).unwrap_err();
        assert_eq!(missing.code.id, "source::missing-field");
    }
}
