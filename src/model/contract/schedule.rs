//! The learning-rate schedule of a config, and the phase of a step.

use repro_core::source::{Document, Error};

/// A warmup, hold, decay schedule in steps; the warmup lies inside the hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    warmup: f64,
    hold: f64,
    decay: f64,
}

/// The phase of a run in its schedule.
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
    pub fn of_config(config: &Document) -> Result<Self, Error> {
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
    use repro_core::source::Source;

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
