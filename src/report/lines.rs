//! `repro.report-lines/1`: a report as JSON lines, written while it is made. One line for each post and each bundle, with its part
//! of `repro.report/2`, and a last line with the totals: a file without it is incomplete.

use serde::Serialize;

use super::json::{FailureJson, PostJson, failure, post};
use super::visible::escaped_json;
use crate::outcome::{LockDifference, PostReport, Report, VerdictCounts};
use crate::part::{PartSubject, ReportPart};
use repro_core::source::Error;

/// The schema of each line.
const SCHEMA: &str = "repro.report-lines/1";

#[derive(Serialize)]
struct JudgedLine<'a> {
    schema: &'static str,
    event: &'static str,
    kind: &'static str,
    name: &'a str,
    post: Option<PostJson<'a>>,
    failures: Vec<FailureJson<'a>>,
    below_minimum: &'a [String],
}

#[derive(Serialize)]
struct EndLine<'a> {
    schema: &'static str,
    event: &'static str,
    /// How many lines stand before this one.
    lines: usize,
    failures: usize,
    locked: Option<&'a [LockDifference]>,
    below_minimum: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_scope: Option<String>,
    summary: VerdictCounts,
    exit_code: u8,
}

/// Whether a text begins as such lines do.
pub fn begin(text: &str) -> bool {
    text.starts_with(&format!("{{\"schema\":\"{SCHEMA}\""))
}

/// The line of one part.
pub fn part_line(part: &ReportPart) -> String {
    judged_line(&part.subject, part.post.as_ref(), &part.failures, &part.below_minimum)
}

/// The last line of a report whose parts were told in so many `lines`.
pub fn end_line(report: &Report, lines: usize) -> String {
    line(&EndLine {
        schema: SCHEMA,
        event: "ended",
        lines,
        failures: report.count_failures(),
        locked: report.locked.as_deref(),
        below_minimum: report.count_below_minimum(),
        replay_scope: super::replay_scope(report),
        summary: report.summary(),
        exit_code: report.exit_status().code(),
    })
}

/// A report that holds all of it. What could not be used stands in a line of its own: whose it was is no longer known.
pub(super) fn render(report: &Report) -> String {
    let of_post = |post: &PostReport| {
        let subject = match post.is_of_a_bundle() {
            true => PartSubject::Bundle(post.file.clone()),
            false => PartSubject::Post(post.id.clone()),
        };
        let prefix = format!("{}/", post.id);
        let below = report.below_minimum.iter().filter(|claim| claim.starts_with(&prefix));
        let below: Vec<_> = below.cloned().collect();
        judged_line(&subject, Some(post), &[], &below)
    };
    let mut lines: Vec<String> = report.posts.iter().map(of_post).collect();
    if !report.failures.is_empty() {
        lines.push(judged_line(&PartSubject::Run, None, &report.failures, &[]));
    }
    lines.push(end_line(report, lines.len()));
    lines.concat()
}

fn judged_line(
    subject: &PartSubject,
    judged: Option<&PostReport>,
    failures: &[Error],
    below_minimum: &[String],
) -> String {
    let (kind, name) = match subject {
        PartSubject::Post(id) => ("post", id.as_str()),
        PartSubject::Bundle(path) => ("bundle", path.as_str()),
        PartSubject::Run => ("run", ""),
    };
    line(&JudgedLine {
        schema: SCHEMA,
        event: "judged",
        kind,
        name,
        post: judged.map(post),
        failures: failures.iter().map(failure).collect(),
        below_minimum,
    })
}

fn line(document: &impl Serialize) -> String {
    // Only strings, numbers and lists: nothing here can fail to serialise.
    escaped_json(serde_json::to_string(document).unwrap_or_default()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Location, UNREADABLE};

    #[test]
    fn a_line_is_one_line_and_the_last_one_counts_them() {
        let error = UNREADABLE.at(Location::file("a\nb"), "a file", "\u{2028}\u{202e}");
        let report = Report { failures: vec![error], ..Report::default() };
        let text = render(&report);
        let lines: Vec<_> = text.split_terminator('\n').collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines.iter().all(|line| begin(line)), "{text}");
        assert!(!text.contains('\u{2028}') && !text.contains('\u{202e}'), "{text}");
        let last: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!((&last["lines"], &last["failures"]), (&1.into(), &1.into()));
        assert_eq!((&last["event"], &last["exit_code"]), (&"ended".into(), &2.into()));
    }
}
