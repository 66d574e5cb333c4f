//! Events in runs, reported to watchers; and the speed.

use std::time::{Duration, Instant};

use repro_core::digest::Digest;
use repro_core::source::Error;

/// One thing that happened in a run.
#[derive(Debug)]
pub enum News<'a> {
    /// Training begins, or goes on, after `step` of `steps` steps.
    Began {
        /// The steps that were done before.
        step: u64,
        /// The steps of the run.
        steps: u64,
    },
    /// A step was made.
    Stepped {
        /// The steps that are done.
        step: u64,
        /// The training loss of this step.
        loss: f32,
        /// Tokens a second since training began here.
        speed: f64,
        /// How long the rest takes at this speed.
        left: Duration,
        /// Whether there is a record of this step.
        logged: bool,
    },
    /// A checkpoint was evaluated.
    Evaluated {
        /// The steps that are done.
        step: u64,
        /// The loss on held-out text, in nats per token.
        loss: f64,
        /// The same in bits per byte.
        bits_per_byte: f64,
    },
    /// Something that a person may want to know.
    Noted(&'a str),
    /// The bundle is there, and was there before where `anew` is false.
    Finished {
        /// Its digest.
        digest: Digest,
        /// Whether this command trained it.
        anew: bool,
    },
    /// The run stopped.
    Stopped(&'a Error),
}

/// Somebody who watches runs, which may train side by side.
pub trait Watcher: Sync {
    /// Takes in what happened in the run called `run`.
    fn tell(&self, run: &str, news: News<'_>);
}

/// The speed of a run: tokens and the time that its steps took, evaluation apart.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    tokens_per_step: u64,
    /// Steps and time since training began in this process.
    steps: u64,
    time: Duration,
    /// Steps and time since the last record.
    recent: (u64, Duration),
    began: Instant,
}

impl Pace {
    /// The pace of a run whose steps take so many tokens.
    pub fn new(tokens_per_step: u64) -> Self {
        let (time, began) = (Duration::ZERO, Instant::now());
        Self { tokens_per_step, steps: 0, time, recent: (0, time), began }
    }

    /// Says that a step begins.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Says that it is over, and answers how long it took.
    pub fn end(&mut self) -> Duration {
        let took = self.began.elapsed();
        self.steps += 1;
        self.time += took;
        self.recent = (self.recent.0 + 1, self.recent.1 + took);
        took
    }

    /// Seconds and tokens a second since this was asked before.
    pub fn since_last(&mut self) -> (f64, f64) {
        let (steps, time) = std::mem::replace(&mut self.recent, (0, Duration::ZERO));
        (time.as_secs_f64(), self.speed_of(steps, time))
    }

    /// Tokens a second.
    pub fn speed(&self) -> f64 {
        self.speed_of(self.steps, self.time)
    }

    /// How long so many more steps take.
    pub fn left(&self, steps: u64) -> Duration {
        match self.steps {
            0 => Duration::ZERO,
            done => self.time.div_f64(done as f64).mul_f64(steps as f64),
        }
    }

    fn speed_of(&self, steps: u64, time: Duration) -> f64 {
        match time.as_secs_f64() {
            seconds if seconds > 0.0 => (steps * self.tokens_per_step) as f64 / seconds,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_of_steps_alone() {
        let mut pace = Pace::new(100);
        assert_eq!((pace.speed(), pace.left(5)), (0.0, Duration::ZERO));
        pace.steps = 4;
        pace.time = Duration::from_secs(2);
        pace.recent = (1, Duration::from_millis(500));
        assert_eq!((pace.speed(), pace.left(6)), (200.0, Duration::from_secs(3)));
        assert_eq!(pace.since_last(), (0.5, 200.0));
        assert_eq!(pace.since_last(), (0.0, 0.0));
        pace.begin();
        let took = pace.end();
        assert_eq!((pace.steps, pace.time), (5, Duration::from_secs(2) + took));
    }
}
