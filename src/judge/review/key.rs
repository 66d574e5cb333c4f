//! The key of a record: the digest of everything that carries meaning, and of nothing else.
//!
//! Values are left out, so that new evidence leaves an approval standing; each part has a digest of its own, so that a record
//! that no longer stands can say why.

use std::collections::BTreeSet;

use repro_receipt::digest::{Digest, canonical};
use repro_report::outcome::{ClaimReport, LintKind};
use serde_json::{Value as Json, json};

/// What carries meaning, each part by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningParts {
    /// The words of the text.
    pub quote: Digest,
    /// The paragraph around them, or the head and the row of their table; none where the text was not at hand.
    pub context: Option<Digest>,
    /// The printed numbers with their readings.
    pub readings: Digest,
    /// The expression, with names and formulas expanded.
    pub binding: Digest,
    /// The premise.
    pub premise: Digest,
    /// The fact without its values.
    pub fact: Digest,
}

impl MeaningParts {
    /// Those of a claim.
    pub fn of(claim: &ClaimReport) -> Self {
        let meaning = &claim.meaning;
        let shape = meaning.fact.as_ref().map_or("", |fact| fact.shape.as_str());
        let readings = meaning.readings.iter();
        let mut readings: Vec<Json> =
            readings.map(|token| json!([token.token, token.reading.word()])).collect();
        if readings.is_empty() {
            readings.push(json!([claim.claimed]));
        }
        let context = (!meaning.context.is_empty()).then(|| digest(&json!(meaning.context)));
        Self {
            quote: digest(&json!(claim.quote)),
            context,
            readings: digest(&json!(readings)),
            binding: digest(&json!(meaning.expanded)),
            premise: digest(&json!(meaning.premise)),
            fact: digest(&json!(shape)),
        }
    }

    /// The key of a claim with these kinds of lints.
    pub fn key(&self, lints: &BTreeSet<LintKind>) -> Digest {
        digest(&json!({
            "quote": self.quote.to_string(),
            "context": self.context.map(|context| context.to_string()),
            "readings": self.readings.to_string(),
            "expression": self.binding.to_string(),
            "premise": self.premise.to_string(),
            "lints": lints,
            "fact": self.fact.to_string(),
        }))
    }

    /// The same where the context is not at hand: then it is taken to be the one that a record saw.
    pub fn seen_by(&self, record: &Self) -> Self {
        Self { context: self.context.or(record.context), ..self.clone() }
    }

    /// What differs, in words for people.
    pub fn changes(&self, since: &Self) -> Vec<&'static str> {
        let parts = [
            ("the quote", self.quote == since.quote),
            ("its paragraph or row", self.context == since.context),
            ("the reading of its numbers", self.readings == since.readings),
            ("what it is bound to", self.binding == since.binding),
            ("the premise", self.premise == since.premise),
            ("the fact", self.fact == since.fact),
        ];
        parts.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }
}

/// The kinds of lints of a claim.
pub fn lint_kinds(claim: &ClaimReport) -> BTreeSet<LintKind> {
    claim.meaning.lints.iter().map(|lint| lint.kind).collect()
}

/// The digest of what the evidence gives: when it changes, an approval stands, and the report says that the evidence is another.
pub fn values(claim: &ClaimReport) -> Digest {
    match &claim.meaning.fact {
        Some(fact) => digest(&json!(fact.sentence)),
        None => digest(&json!(claim.outcome.recomputed)),
    }
}

/// The digest of canonical JSON.
pub fn digest(of: &Json) -> Digest {
    // Texts and lists of them always have a canonical form.
    Digest::of(canonical(of).unwrap_or_default().as_bytes())
}
