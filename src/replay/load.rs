//! How evenly a router uses its experts: what metrics and evaluations report of each layer.

use serde_json::{Value as Json, json};

/// The load of one layer's experts, counted over the tokens that they were chosen for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RouterLoad {
    /// The entropy of the shares of slots, in nats: from the logarithm of the experts each token uses
    /// to that of all experts.
    pub entropy: f64,
    /// The coefficient of variation over the population of experts, as a fraction of the mean.
    pub cv: f64,
    /// The share of all slots that the busiest expert has.
    pub max_load: f64,
    /// How many experts were never chosen.
    pub dead: u64,
}

impl RouterLoad {
    /// The load behind these counts of tokens for each expert; nothing where nothing was routed.
    pub fn of(counts: &[u64]) -> Option<Self> {
        let slots: u64 = counts.iter().sum();
        let most = counts.iter().max().filter(|most| **most > 0)?;
        let shares = || counts.iter().map(|count| *count as f64 / slots as f64);
        let information = |share: f64| if share > 0.0 { -share * libm::log(share) } else { 0.0 };
        let mean = 1.0 / counts.len() as f64;
        let squares: f64 = shares().map(|share| (share - mean) * (share - mean)).sum();
        Some(Self {
            entropy: shares().map(information).sum(),
            cv: (squares * mean).sqrt() / mean,
            max_load: *most as f64 / slots as f64,
            dead: counts.iter().filter(|count| **count == 0).count() as u64,
        })
    }

    /// As records have it.
    pub fn json(&self) -> Json {
        json!({ "entropy": self.entropy, "cv": self.cv, "max_load": self.max_load, "dead": self.dead })
    }
}

/// Adds the counts of one batch, layer by layer, to those of the batches before.
pub fn add(sum: &mut Vec<Vec<u64>>, batch: &[Vec<u64>]) {
    sum.resize_with(sum.len().max(batch.len()), Vec::new);
    for (sum, layer) in sum.iter_mut().zip(batch) {
        sum.resize(sum.len().max(layer.len()), 0);
        for (sum, count) in sum.iter_mut().zip(layer) {
            *sum += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loads_at_their_ends() {
        let even = RouterLoad::of(&[5, 5, 5, 5]).unwrap();
        assert!((even.entropy - 4_f64.ln()).abs() < 1e-15 && even.cv.abs() < 1e-15);
        assert_eq!((even.max_load, even.dead), (0.25, 0));
        // Two of four experts for each token, always the same.
        let fixed = RouterLoad::of(&[7, 0, 7, 0]).unwrap();
        assert!((fixed.entropy - 2_f64.ln()).abs() < 1e-15 && (fixed.cv - 1.0).abs() < 1e-15);
        assert_eq!((fixed.max_load, fixed.dead), (0.5, 2));
        assert_eq!(RouterLoad::of(&[0, 0]), None);
        assert_eq!(RouterLoad::of(&[]), None);
    }

    #[test]
    fn batches_add_up() {
        let mut sum = Vec::new();
        add(&mut sum, &[vec![1, 2], vec![0, 3]]);
        add(&mut sum, &[vec![4, 0], vec![1, 1]]);
        add(&mut sum, &[]);
        assert_eq!(sum, [[5, 2], [1, 4]]);
    }

    proptest! {
        /// What `bounds` allows for top-2 of six experts holds for every counting of such choices.
        #[test]
        fn loads_lie_in_their_bounds(choices in proptest::collection::vec((0_usize..6, 1_usize..6), 1..200)) {
            let mut counts = [0_u64; 6];
            for (first, step) in choices {
                counts[first] += 1;
                counts[(first + step) % 6] += 1;
            }
            let load = RouterLoad::of(&counts).unwrap();
            prop_assert!(load.entropy >= 2_f64.ln() - 1e-12 && load.entropy <= 6_f64.ln() + 1e-12);
            prop_assert!(load.max_load >= 1.0 / 6.0 - 1e-12 && load.max_load <= 0.5 + 1e-12);
            prop_assert!(load.cv <= 2_f64.sqrt() + 1e-12);
            prop_assert!((1.0 + load.cv * load.cv) / 6.0 <= load.max_load + 1e-12);
        }
    }
}
