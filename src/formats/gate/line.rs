//! One line of a rule, and whether it is met.

use repro_core::source::Code;

/// The maximum number of files in one line.
const NAMED: usize = 3;

/// The state of a rule line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    /// Met.
    Met,
    /// Not met, or not shown to be.
    Open,
    /// The opposite is shown.
    Against,
}

/// One requirement of the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleLine {
    /// The requirement.
    pub asks: String,
    /// The finding.
    pub found: String,
    /// Whether it is met.
    pub state: LineState,
    /// The code, if something is wrong.
    pub code: Option<&'static Code>,
}

impl RuleLine {
    /// A line that is met.
    pub fn met(asks: impl Into<String>, found: impl Into<String>) -> Self {
        Self { asks: asks.into(), found: found.into(), state: LineState::Met, code: None }
    }

    /// A line that is not met, or not shown to be.
    pub fn open(asks: impl Into<String>, found: impl Into<String>, code: &'static Code) -> Self {
        let code = Some(code);
        Self { asks: asks.into(), found: found.into(), state: LineState::Open, code }
    }
}

/// Joins the first few words and appends how many more there are.
pub fn some(words: impl Iterator<Item = String>, count: usize) -> String {
    let named: Vec<_> = words.take(NAMED).collect();
    let more = count - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
