//! How much of the held-out text stands in the training text as well.
//!
//! A shingle is a run of 64 bytes, or of 13 words, within one document; words are runs of letters and
//! digits, in lower case, so that line ends and marks do not hide a copy. The share of held-out shingles
//! that training has is counted at each of their places. Only hashes of the held-out side are kept, and
//! of a long one a sample by hash, so memory does not grow with the training text.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// The length of a shingle of bytes and of one of words.
const BYTES: usize = 64;
const WORDS: usize = 13;
/// About how many shingles are kept at most.
const KEPT_CAP: usize = 1 << 22;
/// How many copied documents a record names.
const NAMED: usize = 20;
/// Hashes are polynomials in this base modulo the prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0e3d_9c1b_57a2_f468;

/// Shingles of held-out text, and how many of them training has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShingleOverlap {
    /// Those that training has.
    pub seen: u64,
    /// All that were looked at.
    pub of: u64,
}

impl ShingleOverlap {
    /// The share, 0 where there are no shingles.
    pub fn value(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.seen as f64 / self.of as f64 }
    }
}

/// The overlap of a held-out part with the training text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// Shingles of 64 bytes.
    pub bytes: ShingleOverlap,
    /// Shingles of 13 words.
    pub words: ShingleOverlap,
    /// The held-out documents, by number, that training has as a whole.
    pub duplicates: Vec<usize>,
}

impl Overlap {
    /// The overlap of the documents `held_out` with the documents `train`.
    pub fn of(held_out: &[&str], train: &[&str]) -> Self {
        let known: HashSet<&str> = train.iter().copied().collect();
        let copied =
            |(number, document): (usize, &&str)| known.contains(*document).then_some(number);
        Self {
            bytes: share(held_out, train, BYTES, |document| document.bytes().map(u64::from)),
            words: share(held_out, train, WORDS, words),
            duplicates: held_out.iter().enumerate().filter_map(copied).collect(),
        }
    }

    /// The form in receipts.
    pub fn record(&self) -> Value {
        let share = |share: ShingleOverlap| json!({"seen": share.seen, "of": share.of});
        json!({
            "shingles_of_64_bytes": share(self.bytes),
            "shingles_of_13_words": share(self.words),
            "duplicate_documents": {
                "count": self.duplicates.len(),
                "first": self.duplicates.iter().take(NAMED).collect::<Vec<_>>(),
            },
        })
    }
}

/// The share of the held-out shingles of `width` items that training has.
fn share<'a, I: Iterator<Item = u64>>(
    held_out: &[&'a str],
    train: &[&'a str],
    width: usize,
    items: impl Fn(&'a str) -> I,
) -> ShingleOverlap {
    let bytes: usize = held_out.iter().map(|document| document.len()).sum();
    let one_in = bytes.div_ceil(KEPT_CAP).next_power_of_two() as u64;
    // The top bits of a polynomial's residue are even enough to sample by.
    let sampled = |hash: &u64| (hash.wrapping_mul(BASE) >> 32).is_multiple_of(one_in);
    let mut kept: HashMap<u64, (u64, bool)> = HashMap::new();
    for document in held_out {
        for hash in shingles(items(document), width).filter(sampled) {
            kept.entry(hash).or_default().0 += 1;
        }
    }
    for document in train {
        for hash in shingles(items(document), width).filter(sampled) {
            if let Some((_, seen)) = kept.get_mut(&hash) {
                *seen = true;
            }
        }
    }
    kept.values().fold(ShingleOverlap::default(), |share, &(count, seen)| ShingleOverlap {
        seen: share.seen + if seen { count } else { 0 },
        of: share.of + count,
    })
}

/// The hash of each run of `width` items.
fn shingles(items: impl Iterator<Item = u64>, width: usize) -> impl Iterator<Item = u64> {
    let leaving = (0..width).fold(1, |power, _| times(power, BASE));
    let (mut ring, mut next, mut hash) = (vec![0; width], 0, 0);
    let mut filled = 0;
    items.filter_map(move |item| {
        // Items count from 1, so that a run of zeros differs from a shorter one.
        let entering = (item + 1) % PRIME;
        let oldest = std::mem::replace(ring.get_mut(next)?, entering);
        next = (next + 1) % width;
        filled = (filled + 1).min(width);
        hash = (times(hash, BASE) + entering + PRIME - times(oldest, leaving)) % PRIME;
        (filled == width).then_some(hash)
    })
}

/// The hash of each word.
fn words(document: &str) -> impl Iterator<Item = u64> {
    let runs = document.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    runs.map(|word| {
        let letters = word.chars().flat_map(char::to_lowercase).map(u64::from);
        letters.fold(0, |hash, letter| (times(hash, BASE) + letter + 1) % PRIME)
    })
}

/// A product modulo the prime.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    // 2^61 is 1 modulo the prime: the upper bits count as the lower ones.
    let folded = (product as u64 & PRIME) + (product >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERSE: &str = "From fairest creatures we desire increase, that thereby beauty's rose might never die, \
        but as the riper should by time decease.";

    #[test]
    fn a_copy_is_found_by_bytes_words_and_whole() {
        let other = VERSE.replace("the", "a").replace("we", "they");
        let found = Overlap::of(&[VERSE, "short"], &[&other, VERSE]);
        let places = VERSE.len() as u64 - 63;
        assert_eq!(found.bytes, ShingleOverlap { seen: places, of: places });
        assert_eq!(found.bytes.value(), 1.0);
        assert_eq!(found.duplicates, [0]);
        assert_eq!(found.words.seen, found.words.of);
    }

    #[test]
    fn marks_and_line_ends_do_not_hide_words() {
        let changed = VERSE.to_uppercase().replace(' ', "\n").replace(',', ";");
        let found = Overlap::of(&[VERSE], &[&changed]);
        assert_eq!((found.bytes.seen, found.duplicates.len()), (0, 0));
        // 22 words, the one with an apostrophe counted as two.
        assert_eq!(found.words, ShingleOverlap { seen: 10, of: 10 });
    }

    #[test]
    fn nothing_in_common_is_nothing() {
        let found = Overlap::of(&[VERSE], &["The quick brown fox jumps over the lazy dog."]);
        assert_eq!((found.bytes.seen, found.words.seen), (0, 0));
        assert_eq!(Overlap::of(&["a"], &[VERSE]).bytes.value(), 0.0);
    }

    #[test]
    fn products_are_those_of_whole_numbers() {
        for (a, b) in [(PRIME - 1, PRIME - 1), (BASE, BASE), (0, 5), (PRIME - 1, 2), (1 << 60, 4)] {
            let expected = u128::from(a) * u128::from(b) % u128::from(PRIME);
            assert_eq!(u128::from(times(a, b)), expected);
        }
    }

    proptest! {
        #[test]
        fn hashes_count_as_comparing_would(held_out in "[ab]{0,120}", train in "[ab]{0,200}") {
            let width = 5;
            let runs = |text: &str| text.as_bytes().windows(width).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let known: HashSet<_> = runs(&train).into_iter().collect();
            let all = runs(&held_out);
            let seen = all.iter().filter(|run| known.contains(*run)).count() as u64;
            let found = share(&[&held_out], &[&train], width, |text| text.bytes().map(u64::from));
            prop_assert_eq!(found, ShingleOverlap { seen, of: all.len() as u64 });
        }
    }
}
