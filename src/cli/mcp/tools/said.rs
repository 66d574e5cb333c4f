//! The answer of a call: its status, text for people, and the same as data.

use serde_json::{Map, Value as Json, json};

use repro_core::source::Error;
use repro_report::outcome::ExitStatus;
use repro_report::{ReportOptions, clipped, render_failure};

/// The most characters of an answer as text, and bytes of one as data: a model reads all of it.
const LONGEST_TEXT: usize = 60_000;
const LONGEST_REPORT: usize = 400_000;

/// The answer of a tool.
#[derive(Debug)]
pub struct ToolAnswer {
    /// That of the command; none if nothing was judged.
    pub status: Option<ExitStatus>,
    /// The limits of the answer.
    pub scope: &'static str,
    /// For people.
    pub text: String,
    /// The members of the answer as data.
    pub members: Map<String, Json>,
}

impl ToolAnswer {
    pub fn new(status: Option<ExitStatus>, scope: &'static str, text: String) -> Self {
        Self { status, scope, text, members: Map::new() }
    }

    /// The answer where inputs could not be used.
    pub fn refused(scope: &'static str, errors: &[Error]) -> Self {
        let options = ReportOptions::default();
        let texts: Vec<_> = errors.iter().map(|error| render_failure(error, &options)).collect();
        let mut answer = Self::new(Some(ExitStatus::Refused), scope, texts.join("\n"));
        let told = |error: &Error| {
            json!({
                "code": error.code.id,
                "place": error.place,
                "expected": error.expected,
                "found": error.found,
                "help": error.help,
            })
        };
        answer.members.insert("errors".into(), errors.iter().map(told).collect());
        answer
    }

    /// The same with another member.
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The same with a report, and with what was left out of it. One that is too long for a model is left out as a whole.
    pub fn with_report(self, report: Json, left_out: Map<String, Json>) -> Self {
        let length = report.to_string().len();
        if length <= LONGEST_REPORT {
            return self.with("report", report).with("left_out", left_out);
        }
        let why =
            format!("{length} bytes exceed the limit of {LONGEST_REPORT}: request less per call");
        self.with("left_out", json!({"report": why}))
    }

    /// The result of the call, as every revision of the protocol has it.
    pub fn result(self) -> Json {
        let status = word(self.status);
        let mut text = format!("status: {status}\n\n{}", self.text.trim());
        let length = text.chars().count();
        if length > LONGEST_TEXT {
            text = clipped(&text, LONGEST_TEXT);
            text.push_str(&format!(
                "\n({} more characters: request less per call)",
                length - LONGEST_TEXT
            ));
        }
        text.push_str(&format!("\n\n{}", self.scope));
        let mut structured = Map::new();
        structured.insert("status".into(), status.into());
        structured.insert("scope".into(), self.scope.into());
        structured.extend(self.members);
        json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": structured,
            "isError": self.status == Some(ExitStatus::Refused),
        })
    }
}

/// Takes everything out of a list; answers how much that was.
pub fn emptied(list: &mut Json) -> usize {
    list.as_array_mut().map(std::mem::take).map_or(0, |taken| taken.len())
}

/// All words of a status.
pub const STATUSES: [&str; 6] =
    ["verified", "refuted", "undecided", "refused", "not run", "no verdict"];

fn word(status: Option<ExitStatus>) -> &'static str {
    let [verified, refuted, undecided, refused, not_run, no_verdict] = STATUSES;
    match status {
        Some(ExitStatus::Verified) => verified,
        Some(ExitStatus::Refuted) => refuted,
        Some(ExitStatus::Undecided) => undecided,
        Some(ExitStatus::Refused) => refused,
        Some(ExitStatus::NotRun) => not_run,
        None => no_verdict,
    }
}
