//! Alternatives and their probabilities, as whole numbers, so that draws and logarithms are the same
//! on every machine.

use super::words::Word;
use repro_stats::rng::Rng;

/// The weight that shares of one choice are cut from.
const WHOLE: u32 = 1 << 20;

/// Words to choose from, each with its weight; a word stands in it once.
#[derive(Debug)]
pub(super) struct WeightedWords {
    /// Rising.
    words: Vec<Word>,
    /// The sum of the weights up to and with each word.
    ends: Vec<u64>,
    nats: Vec<f64>,
}

impl WeightedWords {
    /// The alternatives with these weights; those of equal words are added up.
    pub fn new(alternatives: impl IntoIterator<Item = (Word, u32)>) -> Self {
        let mut sorted: Vec<_> =
            alternatives.into_iter().filter(|(_, weight)| *weight > 0).collect();
        sorted.sort_unstable();
        let (mut words, mut ends) = (Vec::<Word>::new(), Vec::new());
        let mut end = 0;
        for (word, weight) in sorted {
            if words.last() == Some(&word) {
                ends.pop();
            } else {
                words.push(word);
            }
            end += u64::from(weight);
            ends.push(end);
        }
        let mut table = Self { words, ends, nats: Vec::new() };
        table.nats = (0..table.words.len()).map(|at| nats(table.weight(at), end)).collect();
        table
    }

    /// Every word alike.
    pub fn even(words: impl IntoIterator<Item = Word>) -> Self {
        Self::new(words.into_iter().map(|word| (word, 1)))
    }

    /// The words by Zipf's law: the weight of rank r is one (r + `flat`)th, the first rank being 1.
    pub fn zipf(words: impl IntoIterator<Item = Word>, flat: u32) -> Self {
        Self::new(words.into_iter().zip(1..).map(|(word, rank)| (word, WHOLE / (rank + flat))))
    }

    /// The words.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Where a word stands.
    pub fn place(&self, word: Word) -> Option<usize> {
        self.words.binary_search(&word).ok()
    }

    /// The weight of the word at a place.
    pub fn weight(&self, at: usize) -> u64 {
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        self.ends.get(at).copied().unwrap_or(0) - before.copied().unwrap_or(0)
    }

    /// The sum of the weights without those of `except`.
    fn total(&self, except: &[Word]) -> u64 {
        let left_out = except.iter().filter_map(|word| self.place(*word));
        let total = self.ends.last().copied().unwrap_or(0);
        total - left_out.map(|at| self.weight(at)).sum::<u64>()
    }

    /// One of the words that are not in `except`, which must leave some.
    pub fn draw(&self, rng: &mut Rng, except: &[Word]) -> Word {
        loop {
            let below = rng.below(self.ends.last().copied().unwrap_or(0));
            let at = self.ends.partition_point(|end| *end <= below);
            let word = self.words.get(at).copied().unwrap_or(super::words::fixed::NOTHING);
            if !except.contains(&word) {
                return word;
            }
        }
    }

    /// Minus the logarithm of the probability of the word at a place, where those of `except` are not
    /// to be had.
    pub fn nats(&self, at: usize, except: &[Word]) -> f64 {
        if except.is_empty() {
            self.nats.get(at).copied().unwrap_or(f64::INFINITY)
        } else {
            nats(self.weight(at), self.total(except))
        }
    }
}

/// The words that were used last are the likeliest to be used again: the weight of each, the latest
/// first.
const RECENT: [u32; 6] = [8, 6, 3, 2, 1, 1];

/// How many words are remembered.
pub(super) const REMEMBERED: usize = RECENT.len();

/// Draws a place among the last `count` words; 0 is the latest.
pub(super) fn draw_recent(rng: &mut Rng, count: usize) -> usize {
    let mut below = rng.below(recent(count));
    let passed = |weight: &&u32| match below.checked_sub(u64::from(**weight)) {
        Some(rest) => {
            below = rest;
            true
        }
        None => false,
    };
    RECENT.iter().take_while(passed).count()
}

/// Minus the logarithm of the probability of a place among the last `count` words.
pub(super) fn recent_nats(at: usize, count: usize) -> f64 {
    nats(u64::from(RECENT.get(at).copied().unwrap_or(0)), recent(count))
}

fn recent(count: usize) -> u64 {
    RECENT.iter().take(count).copied().map(u64::from).sum()
}

/// ln(total / weight), from a certain alternative's exact 0 upwards.
fn nats(weight: u64, total: u64) -> f64 {
    if weight == total { 0.0 } else { libm::log(total as f64) - libm::log(weight as f64) }
}
