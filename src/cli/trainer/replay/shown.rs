//! How far a replay has come, on standard error; and when it has to stop.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::Output;
use repro_train::replay::{Progress, ReplayPhase};

/// Every how often a line is written where there is no terminal, and after how long the first.
const EVERY: Duration = Duration::from_secs(10);

/// A bar of steps on a terminal, and lines elsewhere; with `--verbose`, what each part of the replay took.
pub struct Bar<'a> {
    output: &'a Output,
    label: String,
    bar: Option<ProgressBar>,
    deadline: Option<Instant>,
    pace: Mutex<Pace>,
}

/// How far a replay is, at times that the caller reads off a clock.
#[derive(Debug)]
struct Pace {
    /// When a line was written last; at first, when the replay began.
    told: Instant,
    /// The part that runs, and since when.
    phase: Option<(ReplayPhase, Instant)>,
    /// The steps of this part that are made, and of how many.
    done: u64,
    of: u64,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { told: now, phase: None, done: 0, of: 0 }
    }

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

    /// The part, its steps, and how long the rest of them takes if they go on like this.
    fn text(&self, now: Instant) -> String {
        let Some((phase, since)) = self.phase else { return String::new() };
        if self.of == 0 {
            return phase.word().to_owned();
        }
        let text = format!("{}, {} of {} steps", phase.word(), self.done, self.of);
        if self.done == 0 {
            return text;
        }
        let each = now.saturating_duration_since(since).as_secs_f64() / self.done as f64;
        format!("{text}, about {} left", rounded(each * self.of.saturating_sub(self.done) as f64))
    }

    /// The same, where a line is due.
    fn line(&mut self, now: Instant) -> Option<String> {
        if now.saturating_duration_since(self.told) < EVERY {
            return None;
        }
        self.told = now;
        Some(self.text(now))
    }
}

/// So many seconds, as an estimate is told.
fn rounded(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

impl<'a> Bar<'a> {
    /// A bar with this label, for work that has to be over at `deadline`.
    pub fn new(output: &'a Output, label: &str, deadline: Option<Instant>) -> Self {
        let shown = !output.quiet() && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{prefix}: {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar
        });
        let pace = Mutex::new(Pace::new(Instant::now()));
        Self { output, label: label.to_owned(), bar, deadline, pace }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.next(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        // Whoever panicked left a whole value.
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, phase: Option<ReplayPhase>) {
        let before = self.pace().next(phase, Instant::now());
        if let Some((phase, took)) = before.filter(|_| self.output.verbose()) {
            let text = format!("{}: {:.2} s", phase.word(), took.as_secs_f64());
            match &self.bar {
                Some(bar) => bar.suspend(|| self.output.say(&text)),
                None => self.output.say(&text),
            }
        }
        if let (Some(bar), Some(phase)) = (&self.bar, phase) {
            bar.set_message(phase.word());
            bar.tick();
        }
    }

    /// Takes in steps, and shows them.
    fn moved(&self, change: impl FnOnce(&mut Pace)) {
        let mut pace = self.pace();
        change(&mut pace);
        match &self.bar {
            Some(bar) => bar.set_message(pace.text(Instant::now())),
            None if self.output.quiet() => {}
            None => {
                if let Some(line) = pace.line(Instant::now()) {
                    self.output.say(&format!("{}: {line}", self.label));
                }
            }
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
        self.moved(|pace| pace.of += steps);
    }

    fn walked(&self, steps: u64) {
        self.moved(|pace| pace.done += steps);
    }

    fn step(&self, done: u64, of: u64) -> ControlFlow<()> {
        self.moved(|pace| (pace.done, pace.of) = (done, of));
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
        let mut pace = Pace::new(began);
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

    #[test]
    fn a_line_is_written_every_ten_seconds_and_none_before() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        let mut pace = Pace::new(began);
        pace.next(Some(ReplayPhase::Executing), at(100));
        (pace.done, pace.of) = (1, 2);
        let told: Vec<_> = (0..=300).filter(|tenth| pace.line(at(tenth * 100)).is_some()).collect();
        assert_eq!(told, [100, 200, 300]);
    }
}
