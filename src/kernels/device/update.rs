//! Numbers one by one, and the update of weights.

use std::ops::Range;

use super::handle::{Device, int, long};
use super::runtime::KernelArgument;
use super::table::{DeviceTable, TablePart};
use super::text::ITEMS;
use crate::portable::adamw::{CHUNK, Update};
use crate::portable::rounding::Rounding;
use crate::portable::rules::Momentum;

/// A rounding as kernels take it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Narrowing {
    pub dropped: i32,
    pub at_random: i32,
    pub seed: i64,
}

impl Narrowing {
    pub fn of(Rounding { kept, seed }: Rounding) -> Self {
        Self {
            dropped: 23 - kept.min(22).cast_signed(),
            at_random: i32::from(seed.is_some()),
            seed: seed.unwrap_or(0).cast_signed(),
        }
    }
}

impl Device {
    /// A table of zeros.
    pub fn zeros(&self, length: usize) -> DeviceTable<f32> {
        let mut table = self.table(length);
        self.fill(&mut table, 0..length, 0.0);
        table
    }

    /// Sets the numbers of a range.
    pub fn fill(&self, into: &mut DeviceTable<f32>, range: Range<usize>, value: f32) {
        let place = into.from(range.start).into();
        self.launch_each("fill", range.len(), &[place, value.into(), long(range.len()).into()]);
    }

    /// The same numbers.
    pub fn copied(&self, of: &DeviceTable<f32>) -> DeviceTable<f32> {
        let mut copy = self.table(of.len());
        self.copy(of, &mut copy);
        copy
    }

    /// Copies all numbers.
    pub fn copy(&self, of: &DeviceTable<f32>, into: &mut DeviceTable<f32>) {
        self.launch_each("copy", of.len(), &[of.into(), into.into(), long(of.len()).into()]);
    }

    /// Multiplies all numbers.
    pub fn scale(&self, into: &mut DeviceTable<f32>, by: f32) {
        let count = long(into.len());
        self.launch_each("scale", into.len(), &[into.into(), by.into(), count.into()]);
    }

    /// Fused multiplications and additions, eight chains of so many rounds for each number of the table, for timing: chain
    /// `c` starts from `i % 256 + c` and becomes `x * by + more` in each round; number `i` is the sum of its chains.
    pub fn fuse(&self, into: &mut DeviceTable<f32>, by: f32, more: f32, rounds: usize) {
        let groups = into.len() / ITEMS;
        let arguments = [into.into(), by.into(), more.into(), int(rounds).into()];
        self.launch("fuse", [groups, 1, 1], &arguments);
    }

    /// Adds number by number.
    pub fn add(&self, into: &mut DeviceTable<f32>, of: &DeviceTable<f32>) {
        self.launch_each("add", of.len(), &[of.into(), into.into(), long(of.len()).into()]);
    }

    /// Adds number by number times a factor.
    pub fn add_scaled(&self, into: &mut DeviceTable<f32>, of: &DeviceTable<f32>, by: f32) {
        let count = long(of.len());
        self.launch_each(
            "add_scaled",
            of.len(),
            &[of.into(), into.into(), by.into(), count.into()],
        );
    }

    /// Rounds all numbers ([`crate::portable::rounding::narrow`]), those of each `period` by themselves.
    pub fn narrow(&self, into: &mut DeviceTable<f32>, rounding: Rounding, period: usize) {
        let (count, Narrowing { dropped, at_random, seed }) = (into.len(), Narrowing::of(rounding));
        self.launch_each(
            "narrow",
            count,
            &[
                into.into(),
                long(count).into(),
                dropped.into(),
                at_random.into(),
                seed.into(),
                long(period.max(1)).into(),
            ],
        );
    }

    /// Limits all numbers softly ([`crate::portable::activation::cap`]).
    pub fn cap(&self, into: &mut DeviceTable<f32>, cap: f32) {
        let count = long(into.len());
        self.launch_each("cap", into.len(), &[into.into(), cap.into(), count.into()]);
    }

    /// Multiplies gradients of limited numbers by the slope there ([`crate::portable::activation::cap_back`]).
    pub fn cap_back(&self, capped: &DeviceTable<f32>, cap: f32, g: &mut DeviceTable<f32>) {
        let count = long(g.len());
        self.launch_each("cap_back", g.len(), &[capped.into(), g.into(), cap.into(), count.into()]);
    }

    /// One step of AdamW for the weights of a range, whose gradients lie in the same range
    /// ([`crate::portable::adamw::step`]).
    pub fn adamw(
        &self,
        (w, g): (&mut DeviceTable<f32>, &DeviceTable<f32>),
        range: Range<usize>,
        [m, v]: [&mut DeviceTable<f32>; 2],
        update: Update<f32>,
    ) {
        let tables = [w.from(range.start).into(), g.from(range.start).into(), m.into(), v.into()];
        let numbers = numbers(update).map(KernelArgument::from);
        let count = [long(range.len()).into()];
        self.launch_each("adamw", range.len(), &[&tables[..], &count[..], &numbers[..]].concat());
    }

    /// One step of Adam with so much of a weight in its gradient; with a third moment, of AMSGrad
    /// ([`crate::portable::rules::adam`]).
    pub fn adam(
        &self,
        (w, g): (&mut DeviceTable<f32>, &DeviceTable<f32>),
        range: Range<usize>,
        [m, v, greatest]: [&mut DeviceTable<f32>; 3],
        update: Update<f32>,
        coupled: f32,
    ) {
        let has_greatest = i32::from(!greatest.is_empty()).into();
        let (w, g) = (w.from(range.start).into(), g.from(range.start).into());
        let tables = [w, g, m.into(), v.into(), greatest.into(), has_greatest];
        let numbers = numbers(update).map(KernelArgument::from);
        self.launch_each(
            "adam",
            range.len(),
            &[&tables[..], &[long(range.len()).into()], &numbers[..], &[coupled.into()]].concat(),
        );
    }

    /// One step by momentum ([`crate::portable::rules::momentum`]), or by its sign ([`crate::portable::rules::lion`]).
    pub fn momentum(
        &self,
        (w, g): (&mut DeviceTable<f32>, &DeviceTable<f32>),
        range: Range<usize>,
        m: &mut DeviceTable<f32>,
        update: Momentum<f32>,
        is_sign: bool,
    ) {
        let Momentum { clip, rate, decay, coupled, mean, step } = update;
        let tables = [w.from(range.start).into(), g.from(range.start).into(), m.into()];
        let counts = [long(range.len()).into(), i32::from(is_sign).into()];
        let numbers = [clip, rate, decay, coupled, mean[0], mean[1], step[0], step[1]];
        let numbers = numbers.map(KernelArgument::from);
        self.launch_each(
            "momentum",
            range.len(),
            &[&tables[..], &counts[..], &numbers[..]].concat(),
        );
    }

    /// The sum of squares of each part, in float64 ([`crate::portable::adamw::squares`]); this waits for the device.
    pub fn squares(&self, parts: &[(&DeviceTable<f32>, Range<usize>)]) -> Vec<f64> {
        let counts: Vec<usize> =
            parts.iter().map(|(_, range)| range.len().div_ceil(CHUNK)).collect();
        let sums = self.table::<f64>(counts.iter().sum());
        let mut at = 0;
        for ((table, range), count) in std::iter::zip(parts, &counts) {
            self.chunks_of_squares(table.from(range.start), range.len(), sums.from(at));
            at += count;
        }
        let sums = sums.read_all();
        let mut rest = &sums[..];
        let of = |count: &usize| {
            let (own, others) = rest.split_at(*count);
            rest = others;
            own.iter().fold(0.0, |sum, chunk| sum + chunk)
        };
        counts.iter().map(of).collect()
    }

    /// Writes the sums of squares of so many numbers, chunk by chunk.
    pub(super) fn chunks_of_squares(
        &self,
        of: TablePart<'_, f32>,
        count: usize,
        into: TablePart<'_, f64>,
    ) {
        let arguments = [of.into(), into.into(), long(count).into()];
        self.launch_rows("squares", count.div_ceil(CHUNK), &arguments);
    }
}

/// The numbers of a step in the order of the kernels.
fn numbers(update: Update<f32>) -> [f32; 10] {
    let Update { clip, rate, decay, beta1, beta2, c1, c2, epsilon } = update;
    [clip, rate, decay, beta1[0], beta1[1], beta2[0], beta2[1], c1, c2, epsilon]
}
