//! The key of a record: the digest of everything that carries meaning, and of nothing else.
//!
//! Values are left out, so that new evidence leaves an approval standing; each part has a digest of its own, so that a record
//! that no longer stands can say why.

use std::collections::BTreeSet;

use repro_bundle::bundle::record::{RecordValue, record};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::{Error, Node};
use repro_report::outcome::ClaimReport;
use serde_json::{Value as Json, json};

use crate::post::BAD_DIGEST;

/// A digest as records write it: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WrittenDigest(pub Digest);

impl RecordValue for WrittenDigest {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        let text = node.text()?;
        Digest::parse_prefixed(text).map(Self).ok_or_else(|| {
            BAD_DIGEST.at(node.place(), "`sha256:` and 64 hexadecimal digits", format!("`{text}`"))
        })
    }

    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some(self.0.prefixed().into()))
    }
}

record! {
    /// The parts that carry meaning, each by its digest.
    #[derive(Eq)]
    MeaningParts {
        /// The words of the text.
        quote: WrittenDigest,
        /// The paragraph around them, or the head and the row of their table; none if the text was not available.
        context: Option<WrittenDigest>,
        /// The printed numbers with their readings.
        readings: WrittenDigest,
        /// The expression, with names and formulas expanded.
        binding: WrittenDigest,
        /// The premise.
        premise: WrittenDigest,
        /// The fact without its values.
        fact: WrittenDigest,
    }
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
    pub fn key(&self, lints: &[String]) -> WrittenDigest {
        digest(&json!({
            "quote": self.quote.0,
            "context": self.context.map(|context| context.0),
            "readings": self.readings.0,
            "expression": self.binding.0,
            "premise": self.premise.0,
            "lints": lints,
            "fact": self.fact.0,
        }))
    }

    /// The same where the context is not available: then it is taken to be the one that a record saw.
    pub fn seen_by(&self, record: &Self) -> Self {
        Self { context: self.context.or(record.context), ..self.clone() }
    }

    /// The differences, in words.
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

/// The kinds of lints of a claim, each once, as words.
pub fn lint_kinds(claim: &ClaimReport) -> Vec<String> {
    let kinds: BTreeSet<_> = claim.meaning.lints.iter().map(|lint| lint.kind).collect();
    kinds.into_iter().map(|kind| kind.word().to_owned()).collect()
}

/// The digest of what the evidence gives: when it changes, an approval stands, and the report says that the evidence is another.
pub fn values(claim: &ClaimReport) -> WrittenDigest {
    match &claim.meaning.fact {
        Some(fact) => digest(&json!(fact.sentence)),
        None => digest(&json!(claim.outcome.recomputed)),
    }
}

/// The digest of canonical JSON.
pub fn digest(of: &Json) -> WrittenDigest {
    // Texts and lists of them always have a canonical form.
    WrittenDigest(Digest::of(canonical(of).unwrap_or_default().as_bytes()))
}
