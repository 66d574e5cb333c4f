//! One line of a rule, and how far it is met.

use repro_core::source::Code;

/// So many files are named in one line.
const NAMED: usize = 3;

/// How far a line of the rule is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    /// It is.
    Met,
    /// It is not, or that is not shown.
    Open,
    /// Its opposite is shown.
    Against,
}

/// One thing that the rule asks.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleLine {
    /// What.
    pub asks: String,
    /// What was found.
    pub found: String,
    /// How far that meets it.
    pub state: LineState,
    /// What is wrong, where something is.
    pub code: Option<&'static Code>,
}

impl RuleLine {
    /// A line that is met.
    pub fn met(asks: impl Into<String>, found: impl Into<String>) -> Self {
        Self { asks: asks.into(), found: found.into(), state: LineState::Met, code: None }
    }

    /// A line that is not, or of which that is not shown.
    pub fn open(asks: impl Into<String>, found: impl Into<String>, code: &'static Code) -> Self {
        let code = Some(code);
        Self { asks: asks.into(), found: found.into(), state: LineState::Open, code }
    }
}

/// The first of several words, and how many more there are.
pub fn some(words: impl Iterator<Item = String>, count: usize) -> String {
    let named: Vec<_> = words.take(NAMED).collect();
    let more = count - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
