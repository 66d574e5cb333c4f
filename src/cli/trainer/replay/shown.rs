//! How far a replay has come, on standard error; and when it has to stop.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::cli::output::Output;
use crate::cli::pace::{ShownPace, WordedPace, time_left};
use repro_replay::replay::{Progress, ReplayPhase};

/// A bar of steps on a terminal, and lines elsewhere; with `--verbose`, what each part of the replay took.
pub struct Bar<'a> {
    shown: ShownPace<'a, StepPace>,
    is_verbose: bool,
    deadline: Option<Instant>,
}

/// How far a replay is, at times that the caller reads off a clock.
#[derive(Debug, Default)]
struct StepPace {
    /// The part that runs, and since when.
    phase: Option<(ReplayPhase, Instant)>,
    /// The steps of this part that are made, and of how many.
    done: u64,
    of: u64,
}

impl StepPace {
    /// Begins another part; the answer is the one before and how long it took.
    fn next(
        &mut self,
        phase: Option<ReplayPhase>,
        now: Instant,
    ) -> Option<(ReplayPhase, Duration)> {
        let before = self.phase.take();
        self.phase = phase.map(|phase| (phase, now));
        (self.done, self.of) = (0, 0);
        before.map(|(phase, since)| (phase, now.saturating_duration_since(since)))
    }
}

impl WordedPace for StepPace {
    /// The part, its steps, and how long the rest of them takes if they go on like this.
    fn text(&self, now: Instant) -> String {
        let Some((phase, since)) = self.phase else { return String::new() };
        if self.of == 0 {
            return phase.word().to_owned();
        }
        let took = now.saturating_duration_since(since);
        let left = time_left(self.done, self.of, took);
        format!("{}, {} of {} steps{left}", phase.word(), self.done, self.of)
    }
}

impl<'a> Bar<'a> {
    /// A bar with this label, for work that has to be over at `deadline`.
    pub fn new(output: &'a Output, label: &str, deadline: Option<Instant>) -> Self {
        let shown = ShownPace::new(output, label.to_owned(), StepPace::default());
        Self { shown, is_verbose: output.verbose(), deadline }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.next(None);
        self.shown.end();
    }

    fn next(&self, phase: Option<ReplayPhase>) {
        let before = self.shown.changed(|pace| pace.next(phase, Instant::now()));
        if let Some((phase, took)) = before.filter(|_| self.is_verbose) {
            self.shown.say(&format!("{}: {:.2} s", phase.word(), took.as_secs_f64()));
        }
        if let Some(phase) = phase {
            self.shown.show(phase.word());
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Progress for Bar<'_> {
    fn begins(&self, phase: ReplayPhase) -> ControlFlow<()> {
        self.next(Some(phase));
        self.flow()
    }

    fn expects(&self, steps: u64) {
        self.shown.moved(|pace| pace.of += steps);
    }

    fn walked(&self, steps: u64) {
        self.shown.moved(|pace| pace.done += steps);
    }

    fn step(&self, done: u64, of: u64) -> ControlFlow<()> {
        self.shown.moved(|pace| (pace.done, pace.of) = (done, of));
        self.flow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_steps_so_far() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut pace = StepPace::default();
        assert_eq!(pace.text(at(1)), "");
        assert_eq!(pace.next(Some(ReplayPhase::Calibrating), at(2)), None);
        assert_eq!(pace.text(at(3)), "calibration");
        pace.of = 38;
        assert_eq!(pace.text(at(4)), "calibration, 0 of 38 steps");
        pace.done = 2;
        assert_eq!(pace.text(at(6)), "calibration, 2 of 38 steps, about 72 s left");
        assert_eq!(pace.text(at(22)), "calibration, 2 of 38 steps, about 6 min left");
        pace.of = 20_002;
        assert_eq!(pace.text(at(6)), "calibration, 2 of 20002 steps, about 11.1 h left");
        // The next part begins with nothing done.
        let before = pace.next(Some(ReplayPhase::Planting), at(8));
        assert_eq!(before, Some((ReplayPhase::Calibrating, Duration::from_secs(6))));
        assert_eq!(pace.text(at(9)), "planted faults");
    }
}
