//! JUnit XML: one suite per post, one case per claim. No clock and no host name, so equal reports have
//! equal bytes. With `--locked` a case passes when its verdict is as recorded.

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use crate::outcome::{
    ClaimReport, LockDifference, PostReport, Report, Severity, SignatureReport, Verdict,
};
use repro_core::source::Error;

use super::visible::{prose, visible};
use super::wording::{self, Remarks};

/// The report as a JUnit document.
pub(super) fn render(report: &Report) -> String {
    let mut document = Document::new("repro");
    for post in &report.posts {
        document.add_test_suite(suite(report, post));
    }
    if let Some(gone) = gone(report) {
        document.add_test_suite(gone);
    }
    if !report.failures.is_empty() {
        let mut suite = TestSuite::new("inputs");
        suite.add_test_cases(report.failures.iter().map(input));
        document.add_test_suite(suite);
    }
    if report.not_run {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message("some of the requested checks did not run").set_type("not-run");
        let mut suite = TestSuite::new("run");
        suite.add_test_case(TestCase::new("runs to its end", status));
        document.add_test_suite(suite);
    }
    // Writing into memory, and every name is free of what XML refuses: this cannot fail.
    without_total_of_skipped(&document.to_string().unwrap_or_default())
}

/// The schema by which Jenkins reads results has `skipped` on a suite and not on all suites.
fn without_total_of_skipped(text: &str) -> String {
    let Some(start) = text.find("<testsuites ") else { return text.to_owned() };
    let end = text[start..].find('>').map_or(text.len(), |end| start + end);
    let attributes = text[start..end].split(' ').filter(|part| !part.starts_with("skipped="));
    let attributes: Vec<_> = attributes.collect();
    format!("{}{}{}", &text[..start], attributes.join(" "), &text[end..])
}

fn suite(report: &Report, post: &PostReport) -> TestSuite {
    let mut suite = TestSuite::new(visible(&post.id));
    for claim in &post.claims {
        let status = match &report.locked {
            Some(differences) => {
                match differences.iter().find(|d| d.post == post.id && d.claim == claim.id) {
                    Some(difference) => changed(difference),
                    None if report.is_below(post, claim) => weak(claim),
                    None => TestCaseStatus::success(),
                }
            }
            None => judged(claim, &report.base, report.is_below(post, claim)),
        };
        let is_skipped = matches!(&status, TestCaseStatus::Skipped { .. });
        let mut case = TestCase::new(visible(&claim.id), status);
        // Not every viewer shows why a case was skipped; all show what it printed.
        if is_skipped {
            case.set_system_out(wording::verdict(claim) + ": " + &prose(&claim.outcome.reason));
        }
        case.set_classname(format!("{}.{}", visible(&post.id), claim.kind));
        suite.add_test_case(case);
    }
    for bundle in &post.bundles {
        let Some(signature) = &bundle.signature else { continue };
        let mut case = TestCase::new(visible(&bundle.name), vouched(signature));
        case.set_classname(format!("{}.signature", visible(&post.id)));
        suite.add_test_case(case);
    }
    let mut said = wording::disclosures(post);
    let remarks = Remarks::of(post);
    let warnings = remarks.all().iter().filter(|finding| finding.severity != Severity::Note);
    said.extend(warnings.map(|one| format!("{} [{}]", prose(&one.message), one.code.id)));
    said.extend(super::replay_scope(report));
    if !said.is_empty() {
        suite.set_system_out(said.join("\n"));
    }
    suite
}

/// Recorded claims that no post has any more.
fn gone(report: &Report) -> Option<TestSuite> {
    let has = |d: &&LockDifference| {
        report
            .posts
            .iter()
            .any(|post| post.id == d.post && post.claims.iter().any(|claim| claim.id == d.claim))
    };
    let mut suite = TestSuite::new("recorded verdicts");
    for difference in report.locked.iter().flatten().filter(|d| !has(d)) {
        let name = format!("{}/{}", visible(&difference.post), visible(&difference.claim));
        suite.add_test_case(TestCase::new(name, changed(difference)));
    }
    (suite.tests > 0).then_some(suite)
}

fn changed(difference: &LockDifference) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(wording::change(difference)).set_type("locked");
    status
}

fn weak(claim: &ClaimReport) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(format!("below the required minimum: {}", wording::assurance(&[claim])));
    status
}

fn judged(claim: &ClaimReport, base: &str, below_minimum: bool) -> TestCaseStatus {
    let mut status = match claim.outcome.verdict {
        Verdict::Verified if below_minimum => return weak(claim),
        Verdict::Verified if !claim.is_questioned() => return TestCaseStatus::success(),
        Verdict::Refuted if !claim.is_unconfirmed_difference() => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        _ => TestCaseStatus::skipped(),
    };
    let word = claim.outcome.verdict.word();
    let why = match claim.is_questioned() {
        true => wording::questions(claim),
        false => prose(&claim.outcome.reason),
    };
    status.set_message(format!("{}: {why}", wording::verdict(claim)));
    status.set_type(claim.outcome.code.map_or(word, |code| code.id));
    let at = claim.at.as_ref().map_or(String::new(), |(_, place)| prose(place));
    let facts = [
        wording::held_against(claim),
        match claim.quote.is_empty() {
            true => String::new(),
            false => format!("quote: \"{}\"", prose(&claim.quote)),
        },
        at,
        wording::derived(claim),
        wording::tolerance(claim),
        wording::assurance(&[claim]),
        wording::impact(claim.impact).to_owned(),
        prose(&claim.note),
        format!("{}{}", visible(base), visible(&claim.place.to_string())),
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    status.set_description(facts.join("\n"));
    status
}

/// A signature; one whose key nobody pinned is no reason for a gate to stop.
fn vouched(signature: &SignatureReport) -> TestCaseStatus {
    let mut status = match signature.verdict {
        Verdict::Verified => return TestCaseStatus::success(),
        Verdict::Refuted => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Inconclusive | Verdict::Unchecked => TestCaseStatus::skipped(),
    };
    let word = signature.verdict.word();
    status.set_message(format!("{word}: {}", prose(&signature.reason)));
    status.set_type(signature.code.map_or(word, |code| code.id));
    status
}

fn input(error: &Error) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(error.code.meaning).set_type(error.code.id);
    status.set_description(format!(
        "expected {}\nfound {}\n{}",
        prose(&error.expected),
        prose(&error.found),
        prose(&error.help)
    ));
    let mut case = TestCase::new(visible(&error.place.to_string()), status);
    case.set_classname("inputs");
    case
}
