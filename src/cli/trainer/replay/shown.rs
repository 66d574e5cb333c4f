//! How far a replay has come, on standard error; and when it has to stop.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::Output;
use repro_train::replay::{Progress, ReplayPhase};

/// A bar of steps on a terminal; with `--verbose`, what each part of the replay took.
pub struct Bar<'a> {
    output: &'a Output,
    bar: Option<ProgressBar>,
    deadline: Option<Instant>,
    /// The part that runs, and since when.
    phase: Mutex<Option<(ReplayPhase, Instant)>>,
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
        Self { output, bar, deadline, phase: Mutex::default() }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.next(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn next(&self, phase: Option<ReplayPhase>) {
        // Whoever panicked left a whole value.
        let mut known = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *known, phase.map(|phase| (phase, Instant::now())));
        if let Some((phase, since)) = before.filter(|_| self.output.verbose()) {
            let text = format!("{}: {:.2} s", phase.word(), since.elapsed().as_secs_f64());
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

    fn step(&self, done: u64, of: u64) -> ControlFlow<()> {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} {done} of {of}", ReplayPhase::Executing.word()));
        }
        self.flow()
    }
}
