//! `repro.report/2`: the whole report for programs. Keys have a fixed order; strings are as in the inputs.

use serde::Serialize;

use crate::outcome::{
    BundleReport, ChallengeReport, ClaimReport, Definition, EvidenceOrigin, EvidenceRef,
    ExcusedWords, Finding, Impact, LockDifference, Meaning, Measured, Method, PostReport, Referee,
    Report, Severity, TextReport, Verdict, VerdictCounts,
};
use repro_core::source::{Error, Location};

use super::visible::escaped_json;
use super::wording;

#[derive(Serialize)]
struct ReportJson<'a> {
    schema: &'static str,
    posts: Vec<PostJson<'a>>,
    failures: Vec<FailureJson<'a>>,
    locked: Option<&'a [LockDifference]>,
    below_minimum: &'a [String],
    /// The limits of a replay, if one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_scope: Option<String>,
    summary: VerdictCounts,
    exit_code: u8,
}

/// A post.
#[derive(Serialize)]
pub(super) struct PostJson<'a> {
    id: &'a str,
    title: &'a str,
    file: &'a str,
    claims: Vec<ClaimJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    digest: &'a str,
    texts: Vec<TextJson<'a>>,
    definitions: &'a [Definition],
    excused: &'a [ExcusedWords],
    bundles: &'a [BundleReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge: Option<&'a ChallengeReport>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    central: &'a [String],
    referee: Option<&'a Referee>,
    summary: VerdictCounts,
}

#[derive(Serialize)]
struct TextJson<'a> {
    id: &'a str,
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    is_at_hand: bool,
    digest: Option<&'a str>,
    unbound: &'a [String],
    excused: usize,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    id: &'a str,
    kind: &'a str,
    verdict: Verdict,
    origin: Option<EvidenceOrigin>,
    method: Option<Method>,
    claimed: &'a str,
    recomputed: &'a str,
    tolerance: &'a str,
    rule: &'a str,
    said: &'a str,
    #[serde(skip_serializing_if = "<[Definition]>::is_empty")]
    row: &'a [Definition],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    own_numbers: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    around: &'a str,
    measured: &'a [Measured],
    reason: &'a str,
    code: Option<&'a str>,
    quote: &'a str,
    at: Option<AtJson<'a>>,
    evidence: &'a [EvidenceRef],
    place: &'a Location,
    impact: Impact,
    note: &'a str,
    #[serde(flatten)]
    meaning: &'a Meaning,
}

#[derive(Serialize)]
struct AtJson<'a> {
    source: &'a str,
    place: &'a str,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    code: &'a str,
    severity: Severity,
    message: &'a str,
    place: &'a Location,
    claim: Option<&'a str>,
}

/// An input that could not be used.
#[derive(Serialize)]
pub(super) struct FailureJson<'a> {
    code: &'a str,
    message: &'a str,
    place: &'a Location,
    expected: &'a str,
    found: &'a str,
    help: &'a str,
}

/// The report as pretty-printed JSON.
pub(super) fn render(report: &Report) -> String {
    let document = ReportJson {
        schema: "repro.report/2",
        posts: report.posts.iter().map(post).collect(),
        failures: report.failures.iter().map(failure).collect(),
        locked: report.locked.as_deref(),
        below_minimum: &report.below_minimum,
        replay_scope: super::replay_scope(report),
        summary: report.summary(),
        exit_code: report.exit_status().code(),
    };
    // Only strings, numbers and lists: nothing here can fail to serialise.
    escaped_json(serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

pub(super) fn post(post: &PostReport) -> PostJson<'_> {
    PostJson {
        id: &post.id,
        title: &post.title,
        file: &post.file,
        claims: post.claims.iter().map(claim).collect(),
        findings: wording::sorted(&post.findings).into_iter().map(finding).collect(),
        digest: &post.digest,
        texts: post.texts.iter().map(text).collect(),
        definitions: &post.definitions,
        excused: &post.excused,
        bundles: &post.bundles,
        challenge: post.challenge.as_ref(),
        central: &post.central,
        referee: post.referee.as_ref(),
        summary: VerdictCounts::of(&post.claims),
    }
}

fn text(text: &TextReport) -> TextJson<'_> {
    TextJson {
        id: &text.id,
        what: &text.what,
        file: text.file.as_deref(),
        is_at_hand: text.is_at_hand,
        digest: text.digest.as_deref(),
        unbound: &text.unbound,
        excused: text.excused,
    }
}

fn claim(claim: &ClaimReport) -> ClaimJson<'_> {
    let outcome = &claim.outcome;
    ClaimJson {
        id: &claim.id,
        kind: claim.kind,
        verdict: outcome.verdict,
        origin: claim.origin,
        method: outcome.method,
        claimed: &claim.claimed,
        recomputed: &outcome.recomputed,
        tolerance: &outcome.tolerance,
        rule: outcome.rule,
        said: &claim.said,
        row: &claim.row,
        own_numbers: &claim.own_numbers,
        around: &claim.around,
        measured: &outcome.measured,
        reason: &outcome.reason,
        code: outcome.code.map(|code| code.id),
        quote: &claim.quote,
        at: claim.at.as_ref().map(|(source, place)| AtJson { source, place }),
        evidence: &claim.evidence,
        place: &claim.place,
        impact: claim.impact,
        note: &claim.note,
        meaning: &claim.meaning,
    }
}

fn finding(finding: &Finding) -> FindingJson<'_> {
    FindingJson {
        code: finding.code.id,
        severity: finding.severity,
        message: &finding.message,
        place: &finding.place,
        claim: finding.claim.as_deref(),
    }
}

pub(super) fn failure(error: &Error) -> FailureJson<'_> {
    FailureJson {
        code: error.code.id,
        message: error.code.meaning,
        place: &error.place,
        expected: &error.expected,
        found: &error.found,
        help: &error.help,
    }
}
