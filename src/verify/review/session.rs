//! The claims in a review session: those that nobody else has approved, and why each is open.

use repro_report::outcome::{ClaimReport, LintKind, PostReport, ReadBy};
use std::collections::BTreeMap;

use super::key::{MeaningParts, WrittenDigest, lint_kinds, values};
use super::record::{ReviewRecord, ReviewVerdict, Reviewer, SessionCounts};
use super::store::Reviews;

/// A claim that waits for a reviewer.
#[derive(Debug, Clone)]
pub struct OpenClaim<'r> {
    /// The claim.
    pub claim: &'r ClaimReport,
    /// Why it is open.
    pub why: String,
    /// Whether a project may wait with it: an exemption or an earlier approval lets it pass.
    pub may_wait: bool,
}

/// The fact of a claim; if it has none, its expression and what that gives.
pub fn fact_of(claim: &ClaimReport) -> String {
    match &claim.meaning.fact {
        Some(fact) => fact.sentence.clone(),
        None if claim.outcome.recomputed.is_empty() => claim.said.clone(),
        None => format!("{}: {}", claim.said, claim.outcome.recomputed),
    }
}

/// The claims of a post that are open, in its order.
pub fn open(post: &PostReport) -> Vec<OpenClaim<'_>> {
    let of_words = post.claims.iter().filter(|claim| claim.meaning.read_by.is_some());
    of_words.filter_map(open_claim).collect()
}

fn open_claim(claim: &ClaimReport) -> Option<OpenClaim<'_>> {
    let meaning = &claim.meaning;
    let review = &meaning.review;
    let (why, may_wait) = if let Some(dispute) = review.disputed_by.first() {
        (format!("disputed by {dispute}"), false)
    } else if meaning.is_questioned() {
        let kinds: Vec<_> = meaning.unanswered().map(|lint| lint.kind.word()).collect();
        let noun = if kinds.len() == 1 { "a lint" } else { "lints" };
        (format!("{noun} without an answer: {}", kinds.join(", ")), false)
    } else if review.evidence_changed {
        ("the evidence changed after approval; the approval remains valid".to_owned(), true)
    } else if meaning.read_by == Some(ReadBy::Reviewed) {
        return None;
    } else if let Some(since) = &review.void_since {
        (since.clone(), review.is_exempted)
    } else if review.is_exempted {
        ("exempted, not reviewed".to_owned(), true)
    } else if let Some(noted) = review.noted.first() {
        (format!("only noted: {noted}"), false)
    } else if meaning.read_by == Some(ReadBy::Drafted) {
        ("drafted, not confirmed".to_owned(), false)
    } else {
        ("new".to_owned(), false)
    };
    Some(OpenClaim { claim, why, may_wait })
}

/// A session of one reviewer.
#[derive(Debug)]
pub struct ReviewSession<'a> {
    /// Who reviews.
    pub reviewer: &'a Reviewer,
    /// The day.
    pub date: &'a str,
    /// The decoy counts so far.
    pub counts: SessionCounts,
}

impl ReviewSession<'_> {
    /// Whether this reviewer has approved a claim before, on the same values. A dispute is asked about again: it may be settled.
    pub fn has_approved(&self, reviews: &Reviews, claim: &ClaimReport) -> bool {
        let now = self.record(claim, ReviewVerdict::Approve, "", &BTreeMap::new());
        let identity = self.reviewer.identity();
        reviews.records.iter().any(|record| {
            record.verdict == now.verdict
                && record.key == now.key
                && record.values == now.values
                && record.reviewer().identity() == identity
        })
    }

    /// The record of a judgement, not signed yet.
    pub fn record(
        &self,
        claim: &ClaimReport,
        verdict: ReviewVerdict,
        reason: &str,
        answers: &BTreeMap<LintKind, String>,
    ) -> ReviewRecord {
        let (parts, lints) = (MeaningParts::of(claim), lint_kinds(claim));
        let answers = answers.iter().map(|(kind, words)| (kind.word().to_owned(), words.clone()));
        let Reviewer { name, public_key, model } = self.reviewer.clone();
        ReviewRecord {
            key: parts.key(&lints),
            claim: claim.id.clone(),
            verdict,
            reviewer: name,
            public_key: public_key.map(WrittenDigest),
            model,
            date: self.date.to_owned(),
            reason: (!reason.is_empty()).then(|| reason.to_owned()),
            lints,
            answers: answers.collect(),
            values: values(claim),
            parts,
            session: (self.counts.shown > 0).then_some(self.counts),
            signature: None,
        }
    }
}
