//! The only random number generator: ChaCha with 8 rounds, the same bits on every machine.
//!
//! A stream has a name: its key is the SHA-256 of `repro chacha8/1`, a line feed, the seed as 8 bytes (least significant
//! first) and the name; its nonce and first block number are 0. 64-bit words are taken in order, lower half first. Streams
//! of one seed are independent, so a new use of randomness never shifts an old one.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use sha2::{Digest, Sha256};

/// The prefix of seed and name in the key of a stream.
const DOMAIN: &[u8] = b"repro chacha8/1\n";
/// Several small draws are taken from one word while the product of their bounds is below this:
/// one word in sixteen is thrown away at most.
const WORD_CAP: u64 = 1 << 60;

/// A stream of random numbers.
#[derive(Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream of this seed and name.
    ///
    /// ```
    /// use repro_stats::rng::Rng;
    ///
    /// let word = |name| Rng::new(7, name).word();
    /// assert_eq!(word("data"), word("data"));
    /// assert_ne!(word("data"), word("weights"), "streams of different names are independent");
    /// ```
    pub fn new(seed: u64, name: &str) -> Self {
        let key = Sha256::new().chain_update(DOMAIN).chain_update(seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key.chain_update(name).finalize().into()))
    }

    /// The next 64 bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 up to, not including, 1: a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `bound`, each equally likely (D. Lemire, 2019); 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let Some(left_over) = left_over(bound) else { return 0 };
        loop {
            let (number, rest) = widening(self.word(), bound);
            if rest >= left_over {
                return number;
            }
        }
    }

    /// A permutation of the numbers below `count`, each equally likely.
    pub fn permutation(&mut self, count: usize) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..count).map(|number| number as u32).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.below(last as u64 + 1) as usize);
        }
        numbers
    }
}

/// Many draws below one small bound: as many from each word as are unbiased (N. Brackett-Rozinsky and D. Lemire, 2024).
#[derive(Debug, Clone)]
pub struct Draws {
    bound: u64,
    /// Draws from each word, and the rests below which the word is thrown away.
    words: Vec<(usize, u64)>,
}

impl Draws {
    /// `count` draws at a time below `bound`, spread evenly over as few words as they fit into.
    pub fn new(bound: u32, count: usize) -> Self {
        let bound = u64::from(bound.max(1));
        let mut most = 1;
        let mut product = bound;
        while most < count && product < WORD_CAP / bound {
            product *= bound;
            most += 1;
        }
        let words = count.div_ceil(most);
        let size = |at: usize| count / words + usize::from(at < count % words);
        let word = |at: usize| {
            // Below the cap by construction.
            let product = (0..size(at)).fold(1_u64, |product, _| product.wrapping_mul(bound));
            (size(at), left_over(product).unwrap_or(0))
        };
        Self { bound, words: (0..words).map(word).collect() }
    }

    /// The sum of `value` over all drawn numbers: first over each word, then over the words.
    #[inline]
    pub fn sum(&self, rng: &mut Rng, value: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        for &(size, left_over) in &self.words {
            sum += loop {
                let (mut rest, mut of_word) = (rng.word(), 0.0);
                for _ in 0..size {
                    let (number, low) = widening(rest, self.bound);
                    rest = low;
                    of_word += value(number as usize);
                }
                if rest >= left_over {
                    break of_word;
                }
            };
        }
        sum
    }

    /// Appends `value` of each drawn number to `into`, in the order of the draws.
    pub fn collect(&self, rng: &mut Rng, into: &mut Vec<f64>, value: impl Fn(usize) -> f64) {
        for &(size, left_over) in &self.words {
            let before = into.len();
            loop {
                into.truncate(before);
                let mut rest = rng.word();
                for _ in 0..size {
                    let (number, low) = widening(rest, self.bound);
                    rest = low;
                    into.push(value(number as usize));
                }
                if rest >= left_over {
                    break;
                }
            }
        }
    }
}

/// Upper and lower half of a product.
#[inline]
fn widening(word: u64, bound: u64) -> (u64, u64) {
    let product = u128::from(word) * u128::from(bound);
    ((product >> 64) as u64, product as u64)
}

/// 2^64 modulo `bound`: the number of words that would make some numbers more likely.
fn left_over(bound: u64) -> Option<u64> {
    bound.wrapping_neg().checked_rem(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_the_same_for_ever() {
        // Computed by a second implementation of SHA-256, ChaCha8 and Lemire's rule, in Python.
        let mut rng = Rng::new(1, "golden");
        assert_eq!(
            [rng.word(), rng.word(), rng.word()],
            [13287812682164510165, 4217705873121792478, 13067068139141845421]
        );
        assert_eq!(rng.unit(), 0.7983168696462483);
        let mut rng = Rng::new(20_260_313, "bootstrap");
        let numbers: Vec<_> = (0..8).map(|_| rng.below(22)).collect();
        assert_eq!(numbers, [1, 6, 4, 17, 10, 6, 12, 5]);
        assert_ne!(Rng::new(1, "a").word(), Rng::new(1, "b").word());
        assert_ne!(Rng::new(1, "a").word(), Rng::new(2, "a").word());
    }

    #[test]
    fn draws_are_those_of_the_definition() {
        // Computed by plain arithmetic on the words of the same stream.
        let mut words = Rng::new(3, "draws");
        let draws = Draws::new(22, 5);
        assert_eq!(draws.words, [(5, (1_u128 << 64).rem_euclid(22_u128.pow(5)) as u64)]);
        let word = words.word();
        let mut rest = u128::from(word);
        let expected: Vec<_> = (0..5)
            .map(|_| {
                rest *= 22;
                let number = (rest >> 64) as f64;
                rest &= u128::from(u64::MAX);
                number
            })
            .collect();
        let mut seen = Vec::new();
        draws.collect(&mut Rng::new(3, "draws"), &mut seen, |number| number as f64);
        assert_eq!(seen, expected);
        let sum = draws.sum(&mut Rng::new(3, "draws"), |number| number as f64);
        assert_eq!(sum, seen.iter().sum::<f64>());
    }

    #[test]
    fn every_number_is_equally_likely() {
        let mut rng = Rng::new(7, "uniform");
        let mut counts = [0_u32; 22];
        let draws = Draws::new(22, 22);
        assert_eq!(draws.words.iter().map(|(size, _)| *size).collect::<Vec<_>>(), [11, 11]);
        let mut drawn = Vec::new();
        for _ in 0..10_000 {
            draws.collect(&mut rng, &mut drawn, |number| number as f64);
        }
        for number in drawn {
            counts[number as usize] += 1;
        }
        // 22 counts of mean 10 000: chi-squared with 21 degrees of freedom is below 46.8 in 99.9%.
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 46.8, "{chi}");
        let mut counts = [0_u32; 3];
        for _ in 0..30_000 {
            counts[rng.below(3) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (f64::from(n) - 1e4).abs() < 330.0), "{counts:?}");
        let mean = (0..10_000).map(|_| rng.unit()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.012, "{mean}");
    }

    #[test]
    fn bounds_at_the_edges() {
        let mut rng = Rng::new(1, "edges");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        assert!(rng.below(u64::MAX) < u64::MAX);
        for (bound, count) in [(0, 3), (1, 5), (u32::MAX, 3), (2, 200), (7, 0)] {
            let draws = Draws::new(bound, count);
            assert_eq!(draws.words.iter().map(|(size, _)| size).sum::<usize>(), count);
            let mut drawn = Vec::new();
            draws.collect(&mut rng, &mut drawn, |number| number as f64);
            assert_eq!(drawn.len(), count);
            assert!(drawn.iter().all(|number| *number < f64::from(bound.max(1))));
        }
    }

    #[test]
    fn permutations_are_equally_likely() {
        let mut rng = Rng::new(5, "permutations");
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            *counts.entry(rng.permutation(4)).or_insert(0_u32) += 1;
        }
        // 24 counts of mean 1000: chi-squared with 23 degrees of freedom is below 49.7 in 99.9%.
        assert_eq!(counts.len(), 24);
        let chi: f64 = counts.values().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
        assert!(chi < 49.7, "{chi}");
    }
}
