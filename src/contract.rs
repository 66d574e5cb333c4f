//! Contracts: how models are made comparable, and how long each trains.
//!
//! Owns horizons in tokens and steps, and the phases of a learning-rate schedule. Which of them a
//! post holds fixed is its claim; counting parameters is left to `params`.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::decimal::Interval;
use crate::source::{Document, Refusal};

/// A token horizon: `fraction x coefficient x params` tokens, in steps of `tokens_per_step`.
#[derive(Debug, Clone)]
pub struct Horizon {
    /// Which part of the whole horizon.
    pub fraction: Interval,
    /// Tokens per parameter.
    pub coefficient: Interval,
    /// Parameters: P_total for `total_dn`, P_active for `active_dn`.
    pub params: Interval,
    /// Tokens per optimizer step.
    pub tokens_per_step: Interval,
}

impl Horizon {
    /// The horizon in tokens, before rounding.
    pub fn tokens(&self) -> Interval {
        &(&self.fraction * &self.coefficient) * &self.params
    }

    /// The horizon in steps, before rounding; `None` where a step may have no tokens.
    pub fn steps(&self) -> Option<Interval> {
        self.tokens().div(&self.tokens_per_step)
    }
}

/// How a horizon becomes a whole number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRounding {
    /// Cut off.
    Down,
    /// To the nearest, halves up.
    Nearest,
    /// The next whole step.
    Up,
}

impl StepRounding {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Down, Self::Nearest, Self::Up];

    /// The word in post files and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Nearest => "nearest",
            Self::Up => "up",
        }
    }

    /// Rounds a number of steps.
    pub fn round(self, steps: &BigRational) -> BigInt {
        match self {
            Self::Down => steps.floor().to_integer(),
            Self::Nearest => (steps + BigRational::new(1.into(), 2.into())).floor().to_integer(),
            Self::Up => steps.ceil().to_integer(),
        }
    }
}

/// A warmup, hold, decay schedule in steps; the warmup lies inside the hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    warmup: f64,
    hold: f64,
    decay: f64,
}

/// Where in its schedule a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// Before the peak.
    Warmup,
    /// At the peak.
    Hold,
    /// This fraction of the decay is done.
    Decay(f64),
    /// The schedule is over.
    After,
}

impl Schedule {
    /// Reads the schedule of an nmoe config: `warmup_steps`, and `hold_tokens` and `decay_tokens` in
    /// tokens, of `batch_size x seq_len` a step.
    pub fn of_config(config: &Document) -> Result<Self, Refusal> {
        let root = config.root();
        let number = |field: &str| root.required(field)?.float();
        let per_step = number("batch_size")? * number("seq_len")?;
        let steps = |tokens: f64| if per_step > 0.0 { tokens / per_step } else { f64::INFINITY };
        Ok(Self {
            warmup: number("warmup_steps")?,
            hold: steps(number("hold_tokens")?),
            decay: steps(number("decay_tokens")?),
        })
    }

    /// The phase at a step.
    pub fn phase(self, step: u64) -> Phase {
        let step = step as f64;
        if step < self.warmup {
            Phase::Warmup
        } else if step <= self.hold {
            Phase::Hold
        } else if step < self.hold + self.decay {
            Phase::Decay((step - self.hold) / self.decay)
        } else {
            Phase::After
        }
    }
}

impl Phase {
    /// The name of the phase.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warmup => "in the warmup",
            Self::Hold => "at the peak rate",
            Self::Decay(_) => "in the decay",
            Self::After => "at the end of the schedule",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Decay(done) => write!(f, "{:.0}% into the decay", done * 100.0),
            other => f.write_str(other.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    #[test]
    fn steps_are_rounded_by_the_named_rule() {
        let steps = ratio(75628, 10);
        let rounded = StepRounding::ALL.map(|rule| rule.round(&steps));
        assert_eq!(rounded, [7562.into(), 7563.into(), 7563.into()]);
        assert_eq!(StepRounding::Nearest.round(&ratio(5, 2)), 3.into());
    }

    #[test]
    fn a_horizon_is_tokens_per_parameter() {
        let point = |n: i64| Interval::integer(n);
        let horizon = Horizon {
            fraction: Interval::point(ratio(1, 5)),
            coefficient: point(8),
            params: point(1000),
            tokens_per_step: point(16),
        };
        assert_eq!(horizon.steps(), Some(point(100)));
        assert_eq!(Horizon { tokens_per_step: point(0), ..horizon }.steps(), None);
    }

    #[test]
    fn phases_follow_the_config() {
        let text = "batch_size = 2\nseq_len = 5\nwarmup_steps = 10\nhold_tokens = 800\ndecay_tokens = 200\n";
        let config = Document::parse_toml(Source::new("c.toml", text.into()).unwrap()).unwrap();
        let schedule = Schedule::of_config(&config).unwrap();
        assert_eq!(schedule.phase(5), Phase::Warmup);
        assert_eq!(schedule.phase(80), Phase::Hold);
        assert_eq!(schedule.phase(90), Phase::Decay(0.5));
        assert_eq!(schedule.phase(100), Phase::After);
    }
}
