//! Numbers one by one, and the update of weights.

use std::ops::Range;

use super::device::{Device, long};
use super::table::DeviceTable;
use repro_portable::adamw::{CHUNK, Update};

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

    /// One step of AdamW for the weights of a range, whose gradients lie in the same range
    /// ([`repro_portable::adamw::step`]).
    pub fn adamw(
        &self,
        (w, g): (&mut DeviceTable<f32>, &DeviceTable<f32>),
        range: Range<usize>,
        [m, v]: [&mut DeviceTable<f32>; 2],
        update: Update<f32>,
    ) {
        let Update { clip, rate, decay, beta1, beta2, c1, c2, epsilon } = update;
        self.launch_each(
            "adamw",
            range.len(),
            &[
                w.from(range.start).into(),
                g.from(range.start).into(),
                m.into(),
                v.into(),
                long(range.len()).into(),
                clip.into(),
                rate.into(),
                decay.into(),
                beta1[0].into(),
                beta1[1].into(),
                beta2[0].into(),
                beta2[1].into(),
                c1.into(),
                c2.into(),
                epsilon.into(),
            ],
        );
    }

    /// The sum of squares of each part, in float64 ([`repro_portable::adamw::squares`]); this waits for the device.
    pub fn squares(&self, parts: &[(&DeviceTable<f32>, Range<usize>)]) -> Vec<f64> {
        let counts: Vec<usize> =
            parts.iter().map(|(_, range)| range.len().div_ceil(CHUNK)).collect();
        let sums = self.table::<f64>(counts.iter().sum());
        let mut at = 0;
        for ((table, range), count) in std::iter::zip(parts, &counts) {
            let of = table.from(range.start).into();
            let into = sums.from(at).into();
            self.launch_rows("squares", *count, &[of, into, long(range.len()).into()]);
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
}
