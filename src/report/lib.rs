//! Drawing a [`Report`]: one file per format, each a plain function of the report and the options.
//!
//! Owns layout, wording, escaping and the order of lists. Judges nothing, prints nothing,
//! and reads neither files nor the environment. Strings from inputs are untrusted in every format.

#![forbid(unsafe_code)]

mod badge;
mod columns;
pub mod compare;
mod crowd;
mod drawing;
mod fact_table;
mod folded;
mod github;
pub mod growing;
mod html;
pub mod intoto;
mod json;
mod junit;
mod layout;
mod lead;
pub mod lines;
mod markdown;
pub mod meaning;
pub mod outcome;
pub mod part;
mod sarif;
mod screen;
mod text;
mod visible;
mod wording;

use crate::outcome::{ClaimReport, Method, Report};
use repro_core::source::{Code, Error};

pub use badge::{Badge, BadgeColour};
pub use columns::{Columns, paragraph};
pub use github::summary as github_summary;
pub use layout::{Page, Piece, columns, common_folder, mark, wrap};
pub use markdown::{COMMENT_LIMIT, MarkdownSheet, code as markdown_code, escaped as markdown_text};
pub use text::scope;
pub use visible::{clipped, escaped_json, inert, visible};

/// The codes of reports.
pub static CODES: &[&[&Code]] = &[sarif::CODES, intoto::CODES];

/// The line that every report for people ends with.
pub const SCOPE: &str = "A pass shows consistency, not honesty: `repro explain scope`.";

/// The limits of a replay: every report that used one ends with this.
pub const REPLAY_SCOPE: &str = "What a replay does not show: evaluations (their text, values and byte counts); the other \
steps, or that a checkpoint comes from the steps before it; the data order outside these steps, or how often data \
repeats; that the training text excludes the validation text; that these are all the runs; that all arms were tuned equally.";

/// The limits of a passed challenge.
pub const CHALLENGE_SCOPE: &str = "What a challenge does not show: the step ranges that were not drawn, beyond the stated probability; \
that the training text excludes the validation text; that these are all the runs; that all arms were tuned equally.";

/// The limits of the executed training; none if nothing was executed. A challenge executes drawn step ranges of a run that has
/// committed to all of them, which shows more than that a slice follows from its checkpoint.
fn replay_scope(report: &Report) -> Option<String> {
    let is_replay = |claim: &ClaimReport| {
        matches!(claim.outcome.method, Some(Method::Replayed | Method::ReplayedByTwo))
    };
    let is_challenged = report.posts.iter().any(|post| post.challenge.is_some());
    let mut others = report.posts.iter().filter(|post| post.challenge.is_none());
    let is_replayed = !is_challenged || others.any(|post| post.claims.iter().any(is_replay));
    let scope = match (is_challenged, is_replayed) {
        (true, true) => format!("{CHALLENGE_SCOPE} {REPLAY_SCOPE}"),
        (true, false) => CHALLENGE_SCOPE.to_owned(),
        (false, _) => REPLAY_SCOPE.to_owned(),
    };
    (report.replayed > 0).then_some(scope)
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// `repro.report/2`.
    Json,
    /// `repro.report-lines/1`, written while the report is made.
    Jsonl,
    /// For CI systems that show tests.
    Junit,
    /// Workflow commands of GitHub Actions.
    Github,
    /// For a comment or an issue.
    Markdown,
    /// A statement about the judged files, which can be signed.
    Intoto,
    /// One page for a browser, which needs nothing else.
    Html,
    /// SARIF 2.1.0, for code scanning and editors.
    Sarif,
    /// A line as a picture, for a page.
    Badge,
    /// The same as shields.io draws it.
    Shields,
}

impl Format {
    /// A report in this format in which a CI system's log finds no commands except those of this format.
    pub fn inert(self, report: String) -> String {
        match self {
            Self::Text => inert(report, "\\u{23}", "\\u{3a}"),
            Self::Html | Self::Markdown | Self::Junit | Self::Badge => {
                inert(report, "&#35;", "&#58;")
            }
            // Commands are meant, each in a line of its own; strings of JSON have no line ends.
            Self::Github
            | Self::Json
            | Self::Jsonl
            | Self::Intoto
            | Self::Sarif
            | Self::Shields => report,
        }
    }

    /// Every format, in the order of the help text.
    pub const ALL: [Format; 11] = [
        Self::Text,
        Self::Json,
        Self::Jsonl,
        Self::Junit,
        Self::Github,
        Self::Markdown,
        Self::Intoto,
        Self::Html,
        Self::Sarif,
        Self::Badge,
        Self::Shields,
    ];

    /// Whether this format needs all posts of a report. For many bundles, text reports show groups, and badges show counts.
    pub fn needs_all_posts(self) -> bool {
        !matches!(self, Self::Text | Self::Jsonl | Self::Badge | Self::Shields)
    }

    /// The format of a name on the command line.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// Its purpose, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Text => "for a terminal",
            Self::Json => "for programs",
            Self::Jsonl => "one line per post or bundle as it is judged, then one with the totals",
            Self::Junit => "for CI systems that show tests",
            Self::Github => "annotations and a job summary for GitHub Actions",
            Self::Markdown => "for a comment or an issue",
            Self::Intoto => {
                "an in-toto statement about the judged files, which `repro bundle sign` signs"
            }
            Self::Html => "one page for a browser",
            Self::Sarif => "SARIF 2.1.0, for code scanning and editors",
            Self::Badge => "one line as a picture (SVG)",
            Self::Shields => "the same for a shields.io endpoint",
        }
    }

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Junit => "junit",
            Self::Github => "github",
            Self::Markdown => "markdown",
            Self::Intoto => "intoto",
            Self::Html => "html",
            Self::Sarif => "sarif",
            Self::Badge => "badge",
            Self::Shields => "shields",
        }
    }
}

/// Facts about the reader that the caller knows; only text and SARIF use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOptions {
    /// Columns of the terminal; kept within what reads well, 40 to 140.
    pub width: usize,
    /// Whether to add terminal colours; they never carry meaning alone.
    pub colour: bool,
    /// Whether to list verified claims, evidence and bundles, and to draw refuted claims at their place; in SARIF, whether to
    /// have alerts for more than errors.
    pub verbose: bool,
    /// Whether to leave out all but what is refuted, failed or differs.
    pub quiet: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { width: 100, colour: false, verbose: false, quiet: false }
    }
}

/// The whole report in `format`, ending in a line feed.
pub fn render(report: &Report, format: Format, options: &ReportOptions) -> String {
    match format {
        Format::Text => text::render(report, None, options),
        Format::Json => json::render(report),
        Format::Jsonl => lines::render(report),
        Format::Junit => junit::render(report),
        Format::Github => github::render(report),
        Format::Markdown => markdown::render(report, markdown::COMMENT_LIMIT),
        Format::Intoto => intoto::render(report),
        Format::Html => html::render(report),
        Format::Sarif => sarif::render(report, options),
        Format::Badge => Badge::of(report).svg(),
        Format::Shields => Badge::of(report).shields(),
    }
}

/// Whether a text is a report that was drawn before, in whatever format: it may be written anew.
pub fn is_report(text: &str) -> bool {
    let text = text.trim();
    let last = text.lines().next_back().unwrap_or_default();
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let json = ["report", "check", "gate", "compare"]
        .map(|kind| format!("{{\n  \"schema\": \"repro.{kind}/"));
    let is_intoto = begins(&["{\n  \"_type\": \"https://in-toto.io/Statement"]);
    text.is_empty()
        || last == SCOPE
        || lines::begin(text)
        || begins(&["::error ", "::warning ", "::notice "])
        || json.iter().any(|start| text.starts_with(start))
        || is_intoto && text.contains(intoto::VERDICT)
        || begins(&[&sarif::start(), badge::START, badge::SHIELDS_START])
        || text.lines().nth(1).is_some_and(|line| line.starts_with("<testsuites name=\"repro\""))
        || begins(&["<!doctype html>"]) && text.contains(html::GENERATOR)
}

/// One refused input as a terminal shows it, for commands that have no report.
pub fn render_failure(error: &Error, options: &ReportOptions) -> String {
    drawing::Drawing::of_refusal(error).render(layout::readable(options.width), options.colour)
}
