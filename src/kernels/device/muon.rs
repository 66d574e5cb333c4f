//! The update of a matrix by Muon: its formulas between products of the device.

use std::ops::Range;

use super::handle::{Device, int, long};
use super::product::{Product, TableMatrix};
use super::table::DeviceTable;
use crate::portable::adamw::CHUNK;
use crate::portable::muon::{MuonRounding, MuonUpdate, Operations};
use crate::portable::rounding::{BF16, Rounding};

/// To the nearest bfloat16.
const NEAREST: Rounding = Rounding { kept: BF16, seed: None };

/// The rounded parts of an iteration.
#[derive(Debug, Clone, Copy)]
struct MuonRounded {
    operations: Operations,
    /// Whether anything is.
    any: bool,
}

impl MuonRounded {
    /// Whether to round a part, given whether it is an operation of its own.
    fn where_one(self, is_one: bool) -> bool {
        self.any && is_one
    }
}

impl Device {
    /// Whether there are kernels for a rounding: there are none for those that are disturbed.
    pub fn has_muon(rounding: MuonRounding) -> bool {
        !matches!(rounding, MuonRounding::Disturbed { .. })
    }

    /// One step of Muon for the matrix of a range, with as many rows and columns ([`crate::portable::muon::step`]).
    pub fn muon(
        &self,
        (w, g): (&mut DeviceTable<f32>, &DeviceTable<f32>),
        range: Range<usize>,
        m: &mut DeviceTable<f32>,
        [rows, columns]: [usize; 2],
        update: &MuonUpdate<f32>,
    ) {
        let MuonUpdate { clip, rate, decay, momentum, nesterov, scale, .. } = *update;
        let any = update.rounding == MuonRounding::Bfloat16;
        let (turned, length) = (i32::from(rows > columns).into(), rows * columns);
        let shape = [int(rows).into(), int(columns).into()];
        let mut x = self.table(length);
        self.launch_each(
            "muon_mean",
            length,
            &[
                g.from(range.start).into(),
                m.into(),
                (&mut x).into(),
                shape[0],
                shape[1],
                turned,
                i32::from(nesterov).into(),
                clip.into(),
                momentum[0].into(),
                momentum[1].into(),
            ],
        );
        let x = self.orthogonal(x, rows.min(columns), update, any);
        self.launch_each(
            "muon_move",
            length,
            &[
                w.from(range.start).into(),
                (&x).into(),
                shape[0],
                shape[1],
                turned,
                rate.into(),
                decay.into(),
                scale.into(),
                i32::from(any).into(),
            ],
        );
    }

    /// A matrix of `rows` rows, no more than it has columns, with singular values near 1.
    fn orthogonal(
        &self,
        mut x: DeviceTable<f32>,
        rows: usize,
        update: &MuonUpdate<f32>,
        any: bool,
    ) -> DeviceTable<f32> {
        let (rounded, columns) =
            (MuonRounded { operations: update.operations, any }, x.len() / rows.max(1));
        self.divide_by_norm(&mut x, update.epsilon, rounded);
        let [a, b, c] = update.coefficients;
        let (mut gram, mut square) = (self.table(rows * rows), self.table(rows * rows));
        let mut moved = self.table(x.len());
        let (is_fused, is_compiled) =
            (rounded.operations == Operations::Fused, rounded.operations == Operations::Compiled);
        let is_separate = rounded.operations == Operations::Separate;
        for _ in 0..update.steps {
            let of_x = TableMatrix::new(&x, 0, rows, columns);
            self.product(&mut gram, Product::new(of_x, of_x.transposed()));
            self.round_some(&mut gram, any);
            let of_gram = TableMatrix::new(&gram, 0, rows, rows);
            if is_fused {
                self.product(&mut square, Product::new(of_gram, of_gram));
                self.muon_add(&mut square, &gram, [c, b], [false, false, any]);
            } else {
                let mut times_c = self.copied(&gram);
                self.scale(&mut times_c, c);
                self.round_some(&mut times_c, any);
                let left = TableMatrix::new(&times_c, 0, rows, rows);
                self.product(&mut square, Product::new(left, of_gram));
                let each = [rounded.where_one(!is_compiled), any, any];
                self.muon_add(&mut square, &gram, [1.0, b], each);
            }
            self.product(&mut moved, Product::new(TableMatrix::new(&square, 0, rows, rows), of_x));
            let each = [rounded.where_one(is_separate), rounded.where_one(!is_fused), any];
            self.muon_add(&mut moved, &x, [1.0, a], each);
            std::mem::swap(&mut x, &mut moved);
        }
        x
    }

    /// Divides a matrix by its norm, or nearly so. Nothing waits for the norm.
    fn divide_by_norm(&self, x: &mut DeviceTable<f32>, epsilon: f32, rounded: MuonRounded) {
        let (count, chunks) = (x.len(), x.len().div_ceil(CHUNK));
        let is_one = i32::from(rounded.where_one(rounded.operations != Operations::Compiled));
        self.round_some(x, is_one != 0);
        let (sums, mut divisor) = (self.table::<f64>(chunks), self.table::<f32>(1));
        self.chunks_of_squares(x.from(0), count, sums.from(0));
        self.launch(
            "muon_divisor",
            [1; 3],
            &[
                (&sums).into(),
                (&mut divisor).into(),
                int(chunks).into(),
                epsilon.into(),
                i32::from(rounded.operations == Operations::Fused).into(),
                is_one.into(),
                is_one.into(),
            ],
        );
        self.launch_each(
            "muon_divide",
            count,
            &[x.into(), (&divisor).into(), long(count).into(), i32::from(rounded.any).into()],
        );
    }

    fn round_some(&self, x: &mut DeviceTable<f32>, is_rounded: bool) {
        if is_rounded {
            self.narrow(x, NEAREST, x.len());
        }
    }

    /// `y = y first + x second`, where both products and the sum may be rounded.
    fn muon_add(
        &self,
        y: &mut DeviceTable<f32>,
        x: &DeviceTable<f32>,
        factors: [f32; 2],
        rounded: [bool; 3],
    ) {
        let count = y.len();
        let rounded = rounded.map(i32::from);
        self.launch_each(
            "muon_add",
            count,
            &[
                y.into(),
                x.into(),
                long(count).into(),
                factors[0].into(),
                factors[1].into(),
                rounded[0].into(),
                rounded[1].into(),
                rounded[2].into(),
            ],
        );
    }
}
