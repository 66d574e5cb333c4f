//! The order of batches, computed from (seed, step) alone, so that nothing about it needs saving.
//!
//! `chacha8/1`: the training tokens are cut into windows of `length + 1` tokens that begin every
//! `length` tokens (the last token of one window is the first of the next); a rest shorter than a
//! window is not read. Epoch `e` reads the windows in one permutation: from the identity, for `i` from
//! the last place down to 1, places `i` and `below(i + 1)` change their contents, drawn from the
//! stream `data epoch e` of the seed. Batch `s` is the windows `s * batch` up to `(s + 1) * batch` of
//! all epochs in a row; a batch may lie on both sides of the end of an epoch.

use super::{CONTEXT_TOO_LONG, Corpus, Reuse, TOO_FEW_TOKENS, Tokens};
use repro_core::source::{Error, Node};
use repro_stats::rng::Rng;

/// Which windows of the training tokens each step reads.
#[derive(Debug, Clone)]
pub struct Order {
    windows: usize,
    length: usize,
    batch: usize,
    seed: u64,
    /// The permutation of the epoch that was asked for last.
    epoch: Option<(u64, Vec<u32>)>,
}

/// The part of the training text that a run reads at least once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// Tokens that are predicted.
    pub tokens: u64,
    /// The bytes they stand for.
    pub bytes: u64,
}

impl Order {
    /// The name of this order in receipts.
    pub const NAME: &'static str = "chacha8/1";

    /// The order of batches of `batch` windows over the first `tokens` tokens; none where these hold
    /// no window of `length` tokens and the one after it.
    pub fn new(tokens: usize, length: usize, batch: usize, seed: u64) -> Option<Self> {
        let windows = tokens.saturating_sub(1).checked_div(length)?;
        let known = windows > 0 && u32::try_from(windows).is_ok() && batch > 0;
        known.then_some(Self { windows, length, batch, seed, epoch: None })
    }

    /// The order of a run, from its `config.json`: `seq_len`, `batch_size`, `steps`, `seed_data`,
    /// `reuse`, and `unique_tokens` and `max_epochs` where they are given.
    pub fn read(config: Node, corpus: &Corpus) -> Result<Self, Error> {
        let whole = |key: &str| {
            let node = config.required(key)?;
            Ok::<_, Error>(usize::try_from(node.integer()?).unwrap_or(usize::MAX))
        };
        let (length, batch, steps) = (whole("seq_len")?, whole("batch_size")?, whole("steps")?);
        let run = length.saturating_mul(batch).saturating_mul(steps);
        let tokens = Reuse::read(config)?.tokens(config, corpus.train.len(), run, length)?;
        let seed = config.required("seed_data")?.integer()?;
        let Some(order) = Self::new(tokens, length, batch, seed) else {
            return Err(CONTEXT_TOO_LONG.at(
                config.required("seq_len")?.place(),
                "a training text longer than one window, and a batch size of at least 1",
                format!("{tokens} tokens, windows of {length}, batches of {batch}"),
            ));
        };
        let epochs = order.epochs(steps as u64);
        match config.get("max_epochs") {
            Some(most) if epochs > most.float()? => Err(TOO_FEW_TOKENS.at(
                most.place(),
                format!("at most {} epochs", most.printed()?),
                format!("{epochs} epochs of {} tokens", order.windows * length),
            )),
            _ => Ok(order),
        }
    }

    /// How many windows an epoch has.
    pub fn windows(&self) -> usize {
        self.windows
    }

    /// How often `steps` steps read the windows.
    pub fn epochs(&self, steps: u64) -> f64 {
        (steps as f64) * (self.batch as f64) / (self.windows as f64)
    }

    /// The numbers of the windows that step `step` (from 0) reads.
    pub fn batch(&mut self, step: u64) -> Vec<usize> {
        let windows = self.windows as u64;
        let first = step.saturating_mul(self.batch as u64);
        let place = |i: usize| first.saturating_add(i as u64);
        (0..self.batch).map(|i| self.window(place(i) / windows, place(i) % windows)).collect()
    }

    /// The window at `place` of `epoch`.
    fn window(&mut self, epoch: u64, place: u64) -> usize {
        if self.epoch.as_ref().is_none_or(|(known, _)| *known != epoch) {
            let mut rng = Rng::new(self.seed, &format!("data epoch {epoch}"));
            self.epoch = Some((epoch, rng.permutation(self.windows)));
        }
        let permuted = self.epoch.as_ref().and_then(|(_, windows)| windows.get(place as usize));
        permuted.map_or(0, |&window| window as usize)
    }

    /// Puts the inputs and the targets of step `step` into the two vectors, window after window.
    pub fn fill(
        &mut self,
        step: u64,
        train: &Tokens,
        inputs: &mut Vec<u32>,
        targets: &mut Vec<u32>,
    ) {
        inputs.clear();
        targets.clear();
        for window in self.batch(step) {
            let start = window * self.length;
            train.extend(start..start + self.length, inputs);
            train.extend(start + 1..start + 1 + self.length, targets);
        }
    }

    /// The tokens of step `step` as slices hold them: `length + 1` of each window, row after row.
    pub fn rows(&mut self, step: u64, train: &Tokens) -> Vec<u32> {
        let mut rows = Vec::with_capacity(self.batch * (self.length + 1));
        for window in self.batch(step) {
            let start = window * self.length;
            train.extend(start..start + self.length + 1, &mut rows);
        }
        rows
    }

    /// The part that `steps` steps read at least once.
    pub fn unique(&mut self, steps: u64, corpus: &Corpus) -> Unique {
        let seen = steps.saturating_mul(self.batch as u64).min(self.windows as u64);
        let mut bytes = 0;
        for place in 0..seen {
            let start = self.window(0, place) * self.length;
            bytes += corpus.train_bytes(start + 1..start + 1 + self.length);
        }
        Unique { tokens: seen * self.length as u64, bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_epoch_reads_each_window_once() {
        let mut order = Order::new(8 * 25 + 3, 8, 4, 7).unwrap();
        assert_eq!(order.windows(), 25);
        let read: Vec<_> = (0..25).flat_map(|step| order.batch(step)).collect();
        for epoch in read.chunks(25) {
            assert_eq!(epoch.iter().copied().collect::<BTreeSet<_>>().len(), 25);
        }
        assert_ne!(read[..25], read[25..50], "each epoch has its own order");
        assert_eq!(order.epochs(25), 4.0);
    }

    #[test]
    fn a_step_does_not_depend_on_what_was_asked_before() {
        let mut order = Order::new(1001, 10, 3, 1).unwrap();
        let forward: Vec<_> = (0..80).map(|step| order.batch(step)).collect();
        let mut other = Order::new(1001, 10, 3, 1).unwrap();
        for step in (0..80).rev() {
            assert_eq!(other.batch(step), forward[step as usize]);
        }
        assert_ne!(Order::new(1001, 10, 3, 2).unwrap().batch(0), forward[0]);
    }

    #[test]
    fn the_order_is_the_same_for_ever() {
        let mut order = Order::new(1001, 10, 6, 1).unwrap();
        // By a second implementation of the stream and the permutation, in Python.
        assert_eq!(order.batch(0), [43, 36, 90, 48, 80, 76]);
        assert_eq!(order.batch(16), [10, 30, 67, 37, 56, 7]);
    }

    #[test]
    fn targets_are_the_inputs_one_later() {
        let train = Tokens::Wide((0..101).collect());
        let mut order = Order::new(train.len(), 10, 4, 3).unwrap();
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        order.fill(2, &train, &mut inputs, &mut targets);
        assert_eq!(inputs.len(), 40);
        assert!(inputs.iter().zip(&targets).all(|(input, target)| input + 1 == *target));
        let rows = order.rows(2, &train);
        assert_eq!(
            rows.chunks(11).map(|row| row[0]).collect::<Vec<_>>(),
            [inputs[0], inputs[10], inputs[20], inputs[30]]
        );
        assert!(rows.chunks(11).all(|row| row.windows(2).all(|pair| pair[0] + 1 == pair[1])));
    }

    #[test]
    fn a_context_needs_a_window_and_the_token_after_it() {
        assert!(Order::new(10, 10, 1, 1).is_none());
        assert_eq!(Order::new(11, 10, 1, 1).unwrap().windows(), 1);
        assert!(Order::new(11, 0, 1, 1).is_none());
        assert!(Order::new(11, 10, 0, 1).is_none());
    }
}
