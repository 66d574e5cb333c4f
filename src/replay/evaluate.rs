//! Held-out text under a model: sums of nats, tokens and bytes, nats in blocks of text, router loads.
//!
//! The documents stand one after the other, a start token before the first. Rows of the model's length
//! follow each other without overlap, the last one as long as what is left, so each token of each
//! document is predicted once. Cross-entropy only: what training adds to the loss for its routers is no
//! part of it. Sums are of float64, in the order of the text.

use std::f64::consts::LN_2;

use serde_json::{Map, Value as Json, json};

use super::data::{HeldOutDocument, Tokenizer};
use super::load::{self, RouterLoad};
use super::scorer::Scorer;
use repro_core::source::Error;

/// The bytes of text in a block: 16 kB, as powers of two count. A token belongs to the block in which its first byte stands.
pub const BLOCK_BYTES: u64 = 16_384;

/// A text to evaluate on: documents one after the other.
#[derive(Debug, Clone)]
pub struct HeldOut {
    tokens: Vec<u32>,
    /// How many bytes of text each token stands for.
    bytes: Vec<usize>,
    /// The token before the first one.
    start: u32,
}

impl HeldOut {
    /// Tokens behind a first one, of which no bytes are known.
    pub fn of_tokens(start: u32, tokens: Vec<u32>) -> Self {
        let bytes = vec![0; tokens.len()];
        Self { tokens, bytes, start }
    }

    /// The text of held-out documents.
    pub fn of(documents: &[HeldOutDocument], tokenizer: &Tokenizer) -> Result<Self, Error> {
        let tokens = documents.iter().flat_map(|document| &document.tokens).copied().collect();
        let bytes = documents.iter().flat_map(|document| tokenizer.lengths(&document.tokens));
        Ok(Self { tokens, bytes: bytes.collect(), start: tokenizer.start()? })
    }
}

/// The cost of a text under a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The sum of nats.
    pub nats: f64,
    /// How many tokens were predicted.
    pub predicted_tokens: u64,
    /// How many bytes of text they stand for.
    pub bytes: u64,
    /// The nats of each block of [`BLOCK_BYTES`], the last one shorter.
    pub blocks: Vec<f64>,
    /// For each layer that routes: the tokens that went to each of its experts.
    pub loads: Vec<Vec<u64>>,
}

/// Evaluates a text.
pub fn evaluate<S: Scorer>(scorer: &mut S, text: &HeldOut) -> Result<Evaluation, S::Failure> {
    let length = scorer.length().max(1);
    let together = (scorer.batch() / length).max(1) * length;
    let mut sums = Evaluation {
        nats: 0.0,
        predicted_tokens: 0,
        bytes: 0,
        blocks: Vec::new(),
        loads: Vec::new(),
    };
    let (whole, rest) = text.tokens.split_at(text.tokens.len() / length * length);
    let (mut before, mut bytes) = (text.start, text.bytes.iter());
    for targets in whole.chunks(together).chain(std::iter::once(rest)) {
        let Some(last) = targets.last() else { continue };
        let shifted = targets.iter().take(targets.len() - 1).copied();
        let inputs: Vec<u32> = std::iter::once(before).chain(shifted).collect();
        let rows = scorer.rows(&inputs, targets, targets.len().div_ceil(length))?;
        for (nats, bytes) in rows.nats.iter().zip(&mut bytes) {
            sums.add(f64::from(*nats), *bytes as u64);
        }
        load::add(&mut sums.loads, &rows.loads);
        before = *last;
    }
    Ok(sums)
}

impl Evaluation {
    fn add(&mut self, nats: f64, bytes: u64) {
        let block = usize::try_from(self.bytes / BLOCK_BYTES).unwrap_or(usize::MAX);
        while self.blocks.len() <= block {
            self.blocks.push(0.0);
        }
        if let Some(sum) = self.blocks.last_mut() {
            *sum += nats;
        }
        self.nats += nats;
        self.predicted_tokens += 1;
        self.bytes += bytes;
    }

    /// The mean cross-entropy in nats per token.
    pub fn loss(&self) -> f64 {
        self.nats / self.predicted_tokens as f64
    }

    /// The bits that each byte of the text costs.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / (LN_2 * self.bytes as f64)
    }

    /// The record of the checkpoint at `step`. Where a sum is not finite, a word stands for what would
    /// be made of it.
    pub fn record(&self, step: u64, tokens_seen: u64) -> Map<String, Json> {
        let mut record = Map::new();
        let mut put = |key: &str, value: Json| record.insert(key.to_owned(), value);
        put("step", step.into());
        put("tokens_seen", tokens_seen.into());
        put("predicted_tokens", self.predicted_tokens.into());
        put("bytes", self.bytes.into());
        put("block_bytes", BLOCK_BYTES.into());
        let finite = self.nats.is_finite() && self.predicted_tokens > 0 && self.bytes > 0;
        if finite {
            put("nats", self.nats.into());
            put("loss", self.loss().into());
            put("bpb", self.bits_per_byte().into());
            put("blocks", json!(self.blocks));
        } else {
            let word = if self.nats.is_infinite() { "inf" } else { "nan" };
            put("nonfinite", word.into());
        }
        if !self.loads.is_empty() {
            let layer = |counts: &Vec<u64>| RouterLoad::of(counts).map(|load| load.json());
            let layers: Vec<_> = self.loads.iter().map(layer).collect();
            put("router", json!({ "layers": layers }));
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::tests::{Bigrams, Counting};
    use proptest::prelude::*;

    fn held(tokens: Vec<u32>, bytes: &[usize], start: u32) -> HeldOut {
        HeldOut { tokens, bytes: bytes.to_vec(), start }
    }

    #[test]
    fn an_exact_source_costs_what_its_probabilities_say() {
        let text = "the cat sat on the mat\nthe rat ate the oat\n".repeat(900);
        let mut source = Bigrams::of(&text, 48);
        let tokens = |text: &str| text.bytes().map(u32::from).collect();
        let (first, rest) = text.split_at(text.find('\n').unwrap() + 1);
        let document = |text: &str| HeldOutDocument { text: text.to_owned(), tokens: tokens(text) };
        let held = HeldOut::of(&[first, rest].map(document), &Tokenizer::bytes()).unwrap();
        let found = evaluate(&mut source, &held).unwrap();
        let before = std::iter::once(b'\n').chain(text.bytes());
        let nats: Vec<f64> = before
            .zip(text.bytes())
            .map(|(a, b)| f64::from(-source.probability(a, b).ln() as f32))
            .collect();
        assert_eq!(found.nats, nats.iter().sum::<f64>());
        assert_eq!((found.bytes, found.predicted_tokens), (text.len() as u64, text.len() as u64));
        let blocks: Vec<f64> = nats.chunks(16_384).map(|block| block.iter().sum()).collect();
        assert_eq!((found.blocks.len(), &found.blocks), (3, &blocks));
        assert_eq!(found.loads, [[text.len() as u64, 0]]);
        let record = found.record(30, 4096);
        assert_eq!(record["bpb"], json!(found.nats / (text.len() as f64 * LN_2)));
        let layer = json!({ "entropy": 0.0, "cv": 1.0, "max_load": 1.0, "dead": 1 });
        assert_eq!(record["router"], json!({ "layers": [layer] }));
    }

    #[test]
    fn tokens_count_in_the_block_of_their_first_byte() {
        let held = held(vec![1, 2, 3, 4], &[16_383, 2, 40_000, 1], 0);
        let found = evaluate(&mut Counting::new(2, 4), &held).unwrap();
        let nats = |seen, last| f64::from(Counting::nats(seen, last, last + 1));
        let expected = [nats(0, 0) + nats(1, 1), nats(0, 2), 0.0, nats(1, 3)];
        assert_eq!((found.blocks.as_slice(), found.bytes), (&expected[..], 56_386));
    }

    #[test]
    fn what_is_not_finite_is_a_word() {
        let nothing = held(Vec::new(), &[], 0);
        let mut sums = evaluate(&mut Counting::new(4, 4), &nothing).unwrap();
        assert_eq!(sums.record(1, 2)["nonfinite"], "nan");
        sums.add(f64::INFINITY, 1);
        let record = sums.record(1, 2);
        assert_eq!((&record["nonfinite"], record.get("nats")), (&json!("inf"), None));
        assert!(repro_core::digest::canonical(&Json::Object(record)).is_ok());
    }

    proptest! {
        /// Every token is predicted once, in rows no longer than they may be, from the token before it,
        /// whatever goes in together.
        #[test]
        fn rows_follow_each_other(size in 0_u32..300, length in 1_usize..40, batch in 1_usize..300) {
            let tokens: Vec<u32> = (1..=size).map(|token| token * 7 % 50).collect();
            let held = held(tokens.clone(), &vec![2; tokens.len()], 3);
            let found = evaluate(&mut Counting::new(length, batch), &held).unwrap();
            let last = |at: usize| if at == 0 { 3 } else { tokens[at - 1] };
            let nats = |at: usize| f64::from(Counting::nats(at % length, last(at), tokens[at]));
            prop_assert_eq!(found.nats, (0..tokens.len()).map(nats).sum::<f64>());
            prop_assert_eq!((found.predicted_tokens, found.bytes), (size.into(), 2 * u64::from(size)));
        }
    }
}
