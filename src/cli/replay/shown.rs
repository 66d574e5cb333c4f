//! How far a replay has come, on standard error; and when it has to stop.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::Output;
use crate::replay::Progress;

/// A bar of steps, on a terminal.
pub struct Bar {
    bar: Option<ProgressBar>,
    deadline: Option<Instant>,
}

impl Bar {
    /// A bar with this label, for work that has to be over at `deadline`.
    pub fn new(output: &Output, label: &str, deadline: Option<Instant>) -> Self {
        let shown = !output.quiet() && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{prefix} {pos:>6}/{len:<6} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar
        });
        Self { bar, deadline }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn step(&self, done: u64, of: u64) -> ControlFlow<()> {
        if let Some(bar) = &self.bar {
            bar.set_length(of);
            bar.set_position(done);
        }
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
