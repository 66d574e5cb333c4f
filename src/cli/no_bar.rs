//! In the place of `bar` in a program without the trainer: it writes lines on a terminal too.

/// There is none.
pub enum TerminalBar {}

impl TerminalBar {
    /// No line.
    pub fn new(_: &str) -> Option<Self> {
        None
    }

    pub fn show(&self, _: &str) {
        match *self {}
    }

    pub fn end(&self) {
        match *self {}
    }
}
