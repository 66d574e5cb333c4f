//! A line on a terminal that changes in its place.

use indicatif::{ProgressBar, ProgressStyle};

/// The line.
pub struct TerminalBar(ProgressBar);

impl TerminalBar {
    /// A line behind this label; a program without the trainer has none.
    pub fn new(label: &str) -> Option<Self> {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{prefix}: {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label.to_owned());
        Some(Self(bar))
    }

    /// Shows this behind the label.
    pub fn show(&self, text: &str) {
        self.0.set_message(text.to_owned());
        self.0.tick();
    }

    /// Does something while the line is away.
    pub fn aside(&self, act: impl FnOnce()) {
        self.0.suspend(act);
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}
