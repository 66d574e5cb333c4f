//! Candidates in the order of their values: a number is held against those near it, and not against all.

use std::ops::Range;

use crate::draft::candidates::DraftCandidate;
use crate::work::Work;

/// How near a value must be to a number to be told as the nearest, as a share of it.
const NEAR: f64 = 0.1;

/// Candidates, found by what they give.
#[derive(Debug)]
pub struct ValueIndex<'c> {
    work: &'c Work,
    /// By the low ends of their values,
    by_low: Vec<&'c DraftCandidate>,
    /// with the highest end of all up to each,
    highest: Vec<f64>,
    /// and by the middles of their values, with the place of each in the list that they come from.
    by_middle: Vec<(f64, usize, &'c DraftCandidate)>,
}

impl<'c> ValueIndex<'c> {
    /// Of candidates with finite values; each that is looked at is counted.
    pub fn of(candidates: &'c [DraftCandidate], work: &'c Work) -> Self {
        let mut by_low: Vec<&DraftCandidate> = candidates.iter().collect();
        by_low.sort_by(|a, b| a.number.low.total_cmp(&b.number.low));
        let mut highest = Vec::with_capacity(by_low.len());
        for candidate in &by_low {
            let before = highest.last().copied().unwrap_or(f64::NEG_INFINITY);
            highest.push(candidate.number.high.max(before));
        }
        let middles = candidates.iter().enumerate().map(|(at, one)| (middle(one), at, one));
        let mut by_middle: Vec<_> = middles.collect();
        by_middle.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { work, by_low, highest, by_middle }
    }

    /// Those with a value from `low` to `high`.
    pub fn within(&self, [low, high]: [f64; 2]) -> impl Iterator<Item = &'c DraftCandidate> {
        // The ends before the first of these are all below `low`.
        let first = self.highest.partition_point(|end| *end < low);
        let behind = self.by_low.partition_point(|one| one.number.low <= high);
        let found = self.by_low.get(first..behind).unwrap_or_default();
        self.work.takes(2 * found.len());
        found.iter().copied().filter(move |one| one.number.high >= low)
    }

    /// Those whose values are within a tenth of a number, the nearest first, each with its value.
    pub fn near(&self, number: f64) -> impl Iterator<Item = (f64, &'c DraftCandidate)> {
        let around = self.by_middle.get(self.around(number)).unwrap_or_default();
        self.work.takes(2 * around.len());
        let off = |value: f64| ((value - number) / number.abs().max(f64::MIN_POSITIVE)).abs();
        let mut found: Vec<_> = around
            .iter()
            .map(|(value, at, one)| (off(*value), *at, *value, *one))
            .filter(|(off, ..)| *off < NEAR)
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, _, value, one)| (value, one))
    }

    /// Where the values around a number stand, and a few more.
    fn around(&self, number: f64) -> Range<usize> {
        let reach = 2.0 * NEAR * number.abs();
        let first = self.by_middle.partition_point(|(value, ..)| *value < number - reach);
        let behind = self.by_middle.partition_point(|(value, ..)| *value <= number + reach);
        first..behind
    }
}

fn middle(candidate: &DraftCandidate) -> f64 {
    0.5 * (candidate.number.low + candidate.number.high)
}
