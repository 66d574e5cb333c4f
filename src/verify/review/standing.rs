//! Which records stand for which claims of a post, and what follows: who read it, who disputes it, what changed since.

use std::collections::{BTreeMap, BTreeSet};

use repro_core::source::{Code, Error, Location, codes};
use repro_report::outcome::{ClaimReport, Finding, PostReport, ReadBy, ReviewStatus, Severity};

use super::config::ReviewPolicy;
use super::key::{MeaningParts, lint_kinds, values};
use super::record::{ReviewRecord, ReviewVerdict, SessionCounts};
use super::store::Reviews;

codes! {
    DISPUTED = "review::disputed", "a reviewer disputes that the wording matches the fact", "settle it with the reviewer, who can approve later with `repro review POST`";
    UNANSWERED_LINT = "review::unanswered-lint", "the wording does not match the fact, and the lint is unresolved", "correct the binding, or resolve the lint with `reading = \"why\"` in the statement";
    FORGED = "review::forged", "the signature of a review record does not match the record", "remove the record, and review the claim again";
    BROKEN = "review::unusable-record", "a review record cannot be used", "restore `repro/ID.reviews.toml` from version control, or remove the record";
    VOID = "review::outdated", "the claim changed after it was reviewed", "review it again with `repro review POST`";
}

/// The most records that are looked at for one claim.
const MOST_PER_CLAIM: usize = 64;

/// The records of a post, and whose count.
struct PostRecords<'r> {
    post: &'r str,
    policy: &'r ReviewPolicy,
    records: &'r [ReviewRecord],
}

/// The standing of a record.
enum Worth {
    /// It counts, by this name.
    Counts(String),
    /// It does not, for this reason.
    Noted(&'static str),
    /// Its signature is of something else.
    Forged,
}

/// The combined records of one claim.
#[derive(Default)]
struct Found<'r> {
    status: ReviewStatus,
    answers: BTreeMap<String, String>,
    forged: Vec<&'r ReviewRecord>,
    /// The records that are of it, by their places in the list.
    own: Vec<usize>,
}

/// Applies the records of a post to its claims, and adds the findings that follow.
pub fn apply(post: &mut PostReport, reviews: &Reviews, policy: &ReviewPolicy) {
    let id = post.id.clone();
    let index = PostRecords { post: &id, policy, records: &reviews.records };
    post.findings.extend(reviews.problems.iter().map(|error| broken(error, &id)));
    let all: Vec<Found<'_>> = post.claims.iter().map(|claim| index.found(claim)).collect();
    let standing: BTreeSet<_> = all.iter().flat_map(|found| found.own.iter().copied()).collect();
    for (claim, mut found) in std::iter::zip(&mut post.claims, all) {
        if claim.meaning.read_by.is_none() {
            continue;
        }
        if found.status.approved_by.is_empty() && found.status.void_since.is_none() {
            found.status.void_since = index.changed(claim, &standing);
        }
        post.findings.extend(found.forged.iter().map(|record| {
            let who = record.reviewer().shown();
            let message = format!("the signature on a record by {who} does not match the record");
            finding(claim, &FORGED, message)
        }));
        for lint in &mut claim.meaning.lints {
            if lint.answer.is_none() {
                lint.answer = found.answers.get(lint.kind.word()).cloned();
            }
        }
        if !found.status.approved_by.is_empty() && found.status.disputed_by.is_empty() {
            claim.meaning.read_by = Some(ReadBy::Reviewed);
        }
        claim.meaning.review = found.status;
        post.findings.extend(findings_of(claim));
    }
    post.findings.sort_by(|a, b| {
        let key = |one: &Finding| (one.severity, one.place.line, one.place.column, one.code.id);
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
}

impl<'r> PostRecords<'r> {
    /// The records that are of something, with their places in the list.
    fn which(
        &self,
        is_it: impl Fn(&ReviewRecord) -> bool,
    ) -> impl Iterator<Item = (usize, &'r ReviewRecord)> {
        let fitting = self.records.iter().enumerate().filter(move |(_, record)| is_it(record));
        fitting.take(MOST_PER_CLAIM)
    }

    fn found(&self, claim: &ClaimReport) -> Found<'r> {
        let (parts, lints, now) = (MeaningParts::of(claim), lint_kinds(claim), values(claim));
        let mut found = Found::default();
        if claim.meaning.read_by.is_none() {
            return found;
        }
        let mut is_old = true;
        let status = &mut found.status;
        let is_about = |record: &ReviewRecord| {
            record.parts.binding == parts.binding && record.parts.quote == parts.quote
        };
        for (at, record) in self.which(is_about) {
            if parts.seen_by(&record.parts).key(&record.lints) != record.key {
                continue;
            }
            found.own.push(at);
            let fresh: Vec<_> = lints.iter().filter(|kind| !record.lints.contains(kind)).collect();
            let is_whole = fresh.is_empty();
            match (self.worth(record), record.verdict) {
                (_, ReviewVerdict::Exempt) if is_whole => status.is_exempted = true,
                (Worth::Forged, _) => found.forged.push(record),
                (Worth::Noted(why), ReviewVerdict::Dispute) if record.model.is_some() => {
                    status.noted.push(noted(record, why));
                }
                // Doubt needs no key.
                (_, ReviewVerdict::Dispute) => {
                    let reason = record.reason.as_deref().unwrap_or_default();
                    status.disputed_by.push(format!("{}: {reason}", record.reviewer().shown()));
                }
                _ if !is_whole => {
                    status.void_since.get_or_insert_with(|| new_lints(record, &fresh));
                }
                (Worth::Noted(why), _) => status.noted.push(noted(record, why)),
                (Worth::Counts(name), _) => {
                    is_old &= record.values != now;
                    for (kind, answer) in &record.answers {
                        found.answers.insert(kind.clone(), format!("{name}: {answer}"));
                    }
                    let session = record.session.unwrap_or_default();
                    status.approved_by.push(name + &decoys(session));
                }
            }
        }
        let is_approved = !status.approved_by.is_empty();
        status.evidence_changed = is_approved && is_old;
        if is_approved {
            status.void_since = None;
        }
        found
    }

    /// The changes since the latest record on a claim with this id, if that record no longer applies to any claim.
    fn changed(&self, claim: &ClaimReport, standing: &BTreeSet<usize>) -> Option<String> {
        let parts = MeaningParts::of(claim);
        let of_id = self.which(|record| record.claim == claim.id);
        let changes = of_id.filter(|(at, _)| !standing.contains(at)).filter_map(|(_, record)| {
            let changes = parts.seen_by(&record.parts).changes(&record.parts);
            (!changes.is_empty()).then_some((changes, record))
        });
        let (changes, record) = changes.min_by(|(a, one), (b, other)| {
            a.len().cmp(&b.len()).then_with(|| other.date.cmp(&one.date))
        })?;
        Some(format!("{} changed since {}", listed(&changes), judged(record)))
    }

    fn worth(&self, record: &ReviewRecord) -> Worth {
        if record.signature.is_none() {
            return Worth::Noted("not signed");
        }
        let reviewer = record.reviewer();
        let Some(key) = reviewer.public_key else { return Worth::Forged };
        if self.policy.authors.contains(&key) {
            return Worth::Noted("signed by an author's key");
        }
        let Some(listed) = self.policy.reviewer(key) else {
            return Worth::Noted("signed by a key that repro/config.toml does not list");
        };
        if !record.is_signed_by(self.post, &listed.key) {
            return Worth::Forged;
        }
        if record.model.is_some() && !self.policy.counts_models {
            return Worth::Noted("by a model, which repro/config.toml does not accept");
        }
        Worth::Counts(reviewer.shown_as(&listed.name))
    }
}

/// Why an approval no longer stands where there are new lints.
fn new_lints(record: &ReviewRecord, fresh: &[&String]) -> String {
    let noun = if fresh.len() == 1 { "a new lint" } else { "new lints" };
    let kinds: Vec<_> = fresh.iter().map(|kind| kind.as_str()).collect();
    format!("{noun} ({}) since {}", kinds.join(", "), judged(record))
}

/// `Ada approved it on 2026-11-26`.
fn judged(record: &ReviewRecord) -> String {
    let word = record.verdict.word();
    let verb = if word.ends_with('e') { format!("{word}d") } else { format!("{word}ed") };
    format!("{} {verb} it on {}", record.reviewer().shown(), record.date)
}

/// "the quote and the fact".
fn listed(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn noted(record: &ReviewRecord, why: &str) -> String {
    format!("{} by {}: {why}", record.verdict.word(), record.reviewer().shown())
}

/// " (caught 1 of 2 decoys)", where there were any.
fn decoys(session: SessionCounts) -> String {
    let SessionCounts { decoys, caught, .. } = session;
    let plural = if decoys == 1 { "" } else { "s" };
    match decoys {
        0 => String::new(),
        _ => format!(" (caught {caught} of {decoys} decoy{plural})"),
    }
}

fn finding(claim: &ClaimReport, code: &'static Code, message: String) -> Finding {
    Finding {
        code,
        severity: Severity::Warning,
        message,
        place: claim.place.clone(),
        claim: Some(claim.id.clone()),
    }
}

/// The findings for a claim: disputes, unanswered lints, approvals that no longer apply.
fn findings_of(claim: &ClaimReport) -> Vec<Finding> {
    let meaning = &claim.meaning;
    let disputes = meaning.review.disputed_by.iter();
    let disputes = disputes.map(|words| finding(claim, &DISPUTED, format!("disputed by {words}")));
    let lints = meaning.unanswered().map(|lint| {
        finding(claim, &UNANSWERED_LINT, format!("{}: {}", lint.kind.word(), lint.message))
    });
    let mut all: Vec<_> = disputes.chain(lints).collect();
    if let Some(since) = &meaning.review.void_since {
        let note = finding(claim, &VOID, since.clone());
        all.push(Finding { severity: Severity::Note, ..note });
    }
    all
}

/// The finding of a record that cannot be used.
fn broken(error: &Error, post: &str) -> Finding {
    let place = if error.place.file.is_empty() {
        Location::file(super::store::file(post))
    } else {
        error.place.clone()
    };
    Finding {
        code: &BROKEN,
        severity: Severity::Warning,
        message: format!(
            "{}: expected {}, found {}",
            error.code.meaning, error.expected, error.found
        ),
        place,
        claim: None,
    }
}

#[cfg(test)]
mod tests {
    use repro_bundle::signature::PrivateKey;
    use repro_report::outcome::{
        Fact, Impact, Lint, LintKind, Meaning, Outcome, Reading, TokenReading,
    };

    use super::super::config::ListedReviewer;
    use super::super::record::Reviewer;
    use super::super::session::{self, ReviewSession};
    use super::*;

    fn claim() -> ClaimReport {
        let fact = Fact {
            sentence: "mean loss of moe, 6 runs: 1.7016 nats/token".to_owned(),
            shape: "mean loss of moe, 6 runs: # nats/token".to_owned(),
            rows: Vec::new(),
        };
        let reading = TokenReading {
            token: "1.70".to_owned(),
            reading: Reading::Rounded,
            because: "kind of value".to_owned(),
        };
        ClaimReport {
            id: "loss".to_owned(),
            kind: "number",
            claimed: "1.70".to_owned(),
            said: "mean(moe.loss)".to_owned(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: String::new(),
            quote: "a loss of 1.70".to_owned(),
            at: None,
            note: String::new(),
            meaning: Meaning {
                fact: Some(fact),
                readings: vec![reading],
                read_by: Some(ReadBy::Author),
                expanded: "mean(`moe-s{1..6}`.\"loss\")".to_owned(),
                context: "The paragraph has a loss of 1.70.".to_owned(),
                ..Meaning::default()
            },
            place: Location::default(),
            origin: None,
            impact: Impact::Digit,
            outcome: Outcome::verified(),
            evidence: Vec::new(),
        }
    }

    fn lint(kind: LintKind) -> Lint {
        Lint { kind, message: "the text says grows; the fact falls".to_owned(), answer: None }
    }

    /// A project with one reviewer, and what she recorded of a claim.
    struct Reviewed {
        policy: ReviewPolicy,
        reviews: Reviews,
    }

    impl Reviewed {
        fn of(claim: &ClaimReport, verdict: ReviewVerdict) -> Self {
            let key = PrivateKey::generate().unwrap();
            let listed = ListedReviewer { name: "Ada".to_owned(), key: key.public().clone() };
            let policy = ReviewPolicy { reviewers: vec![listed], ..ReviewPolicy::default() };
            let reviewer = Reviewer {
                name: "A.".to_owned(),
                public_key: Some(key.public().id()),
                model: None,
            };
            let counts = SessionCounts { shown: 24, decoys: 2, caught: 1 };
            let session = ReviewSession { reviewer: &reviewer, date: "2026-11-26", counts };
            let answered = claim.meaning.lints.iter();
            let answers = answered.map(|lint| (lint.kind, "as meant".to_owned())).collect();
            let mut record = session.record(claim, verdict, "another run", &answers);
            record.sign("p", &key);
            let mut reviews = Reviews::default();
            reviews.add(record);
            Self { policy, reviews }
        }

        /// The claim, and the codes of the post's findings.
        fn applied(&self, claim: ClaimReport) -> (ClaimReport, Vec<&'static str>) {
            let mut post = PostReport {
                id: "p".to_owned(),
                file: "repro/p.toml".to_owned(),
                claims: vec![claim],
                ..PostReport::default()
            };
            apply(&mut post, &self.reviews, &self.policy);
            let codes = post.findings.iter().map(|finding| finding.code.id).collect();
            (post.claims.remove(0), codes)
        }
    }

    #[test]
    fn an_approval_stands_while_only_values_change() {
        let reviewed = Reviewed::of(&claim(), ReviewVerdict::Approve);
        let (same, codes) = reviewed.applied(claim());
        assert_eq!(same.meaning.read_by, Some(ReadBy::Reviewed));
        assert_eq!(same.meaning.review.approved_by, ["Ada (caught 1 of 2 decoys)"]);
        assert!(!same.meaning.review.evidence_changed && codes.is_empty(), "{codes:?}");
        let mut other = claim();
        other.meaning.fact.as_mut().unwrap().sentence += "!";
        let (other, _) = reviewed.applied(other);
        assert_eq!(other.meaning.read_by, Some(ReadBy::Reviewed));
        assert!(other.meaning.review.evidence_changed);
    }

    #[test]
    fn another_fact_reading_or_paragraph_voids_it() {
        let reviewed = Reviewed::of(&claim(), ReviewVerdict::Approve);
        let changed = |change: fn(&mut ClaimReport)| {
            let mut other = claim();
            change(&mut other);
            let (claim, codes) = reviewed.applied(other);
            assert_eq!(claim.meaning.read_by, Some(ReadBy::Author));
            assert_eq!(codes, ["review::outdated"]);
            claim.meaning.review.void_since.unwrap()
        };
        let fact = changed(|claim| claim.meaning.fact.as_mut().unwrap().shape += ", held-out");
        assert_eq!(fact, "the fact changed since A. approved it on 2026-11-26");
        let reading = changed(|claim| claim.meaning.readings[0].reading = Reading::About);
        assert!(reading.starts_with("the reading of its numbers changed"), "{reading}");
        let both = changed(|claim| {
            claim.meaning.context.push('!');
            claim.meaning.premise = "the same data".to_owned();
        });
        assert!(both.starts_with("its paragraph or row and the premise changed"), "{both}");
        // A text that is not available is not looked up at all.
        let mut away = claim();
        away.meaning.context.clear();
        assert_eq!(reviewed.applied(away).0.meaning.read_by, Some(ReadBy::Reviewed));
    }

    #[test]
    fn a_new_kind_of_lint_reopens_it() {
        let mut linted = claim();
        linted.meaning.lints = vec![lint(LintKind::Direction)];
        let reviewed = Reviewed::of(&linted, ReviewVerdict::Approve);
        let (same, codes) = reviewed.applied(linted.clone());
        assert_eq!(same.meaning.read_by, Some(ReadBy::Reviewed));
        assert_eq!(same.meaning.lints[0].answer.as_deref(), Some("Ada: as meant"));
        assert!(codes.is_empty(), "{codes:?}");
        // One that is gone voids nothing.
        assert_eq!(reviewed.applied(claim()).0.meaning.read_by, Some(ReadBy::Reviewed));
        linted.meaning.lints.push(lint(LintKind::Step));
        let (other, codes) = reviewed.applied(linted);
        assert_eq!(other.meaning.read_by, Some(ReadBy::Author));
        let since = other.meaning.review.void_since.clone().unwrap();
        assert_eq!(since, "a new lint (step) since A. approved it on 2026-11-26");
        assert!(codes.contains(&"review::unanswered-lint"), "{codes:?}");
        let post_claims = [other];
        assert!(post_claims[0].is_questioned());
    }

    #[test]
    fn a_dispute_needs_no_key_and_an_altered_record_is_forged() {
        let disputed = Reviewed::of(&claim(), ReviewVerdict::Dispute);
        let (claim_now, codes) = disputed.applied(claim());
        assert!(claim_now.is_disputed() && codes == ["review::disputed"], "{codes:?}");
        let mut forged = Reviewed::of(&claim(), ReviewVerdict::Approve);
        forged.reviews.records[0].session.as_mut().unwrap().caught = 2;
        let (claim_now, codes) = forged.applied(claim());
        assert_eq!(claim_now.meaning.read_by, Some(ReadBy::Author));
        assert_eq!(codes, ["review::forged"]);
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let mut linted = claim();
        linted.id = "loss \u{7f} \"x\"\n".to_owned();
        linted.meaning.lints = vec![lint(LintKind::Direction)];
        let reviewed = Reviewed::of(&linted, ReviewVerdict::Dispute);
        let text = reviewed.reviews.render("p");
        let source = repro_core::source::Source::new("repro/p.reviews.toml", text.into());
        let document = repro_core::source::Document::parse_toml(source.unwrap()).unwrap();
        let read = Reviews::parse(&document, "p").unwrap();
        assert_eq!(read.records, reviewed.reviews.records);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
    }

    #[test]
    fn what_is_open_says_why() {
        let mut post_claim = claim();
        post_claim.meaning.lints = vec![lint(LintKind::Direction)];
        let reviewed = Reviewed::of(&claim(), ReviewVerdict::Exempt);
        let (exempted, _) = reviewed.applied(claim());
        assert!(exempted.meaning.review.is_exempted);
        let (linted, _) = reviewed.applied(post_claim);
        assert!(!linted.meaning.review.is_exempted, "a lint that nobody saw is exempted by nobody");
        assert_eq!(session::fact_of(&linted), "mean loss of moe, 6 runs: 1.7016 nats/token");
    }
}
