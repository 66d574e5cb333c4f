//! The head by kernels: logits lie there for some rows at a time.

use super::Gpu;
use crate::ops::{Head, HeadLoss, HeadScores, IGNORED};
use crate::recipe::LossTerms;
use repro_device::{Added, DeviceTable, Product, ProductPlace, TableMatrix};
use repro_portable::product::BLOCK;

/// Logits that are held at a time, at most; those of one block of rows are in any case.
const HELD: usize = 1 << 26;

/// What the gradients need: the gradient of all logits; or, where these are not held, already the gradients themselves.
#[derive(Debug)]
pub enum HeadKept {
    Logits(DeviceTable<f32>),
    Gradients(Box<[DeviceTable<f32>; 2]>),
}

/// Whether there are kernels for the loss of such targets.
pub fn is_native(head: &Head<f32>, targets: &[u32]) -> bool {
    head.cap.is_none()
        && head.terms == LossTerms::default()
        && head.rounding.is_none()
        && head.other_sums.is_none()
        && !targets.contains(&IGNORED)
}

/// Rows whose logits are held at a time: whole blocks, so that sums over rows go on from one to the next.
fn at_once(rows: usize, columns: usize) -> usize {
    let fits = HELD / columns.max(1) / BLOCK * BLOCK;
    fits.max(BLOCK).min(rows.max(1))
}

impl Gpu {
    pub(super) fn loss_here(
        &self,
        head: &Head<f32>,
        targets: &[u32],
        [h, matrix]: [&DeviceTable<f32>; 2],
    ) -> (HeadLoss<f32>, HeadKept) {
        let (count, columns) = (targets.len(), matrix.len() / head.width);
        let (at_once, own_targets) = (at_once(count, columns), self.device.upload(targets));
        let mut kept = None;
        let mut nats: Vec<f32> = Vec::with_capacity(count);
        for from in (0..count).step_by(at_once) {
            let rows = at_once.min(count - from);
            let (mut logits, mut own_nats) =
                (self.logits(head, [h, matrix], [from, rows]), self.device.table(rows));
            self.device.cross_entropy(&mut logits, own_targets.from(from), &mut own_nats, count);
            kept = Some(match kept {
                None if rows == count => HeadKept::Logits(logits),
                kept => {
                    let own = match kept {
                        Some(HeadKept::Gradients(own)) => *own,
                        _ => [h, matrix].map(|of| self.device.table(of.len())),
                    };
                    let own = self.gradients(head, (&logits, [h, matrix]), own, from);
                    HeadKept::Gradients(Box::new(own))
                }
            });
            nats.extend(own_nats.read_all());
        }
        let mean = match count {
            0 => 0.0,
            _ => nats.iter().fold(0.0, |sum, one| sum + f64::from(*one)) / count as f64,
        };
        let kept = kept.unwrap_or_else(|| HeadKept::Logits(self.device.table(0)));
        (HeadLoss { nats: mean as f32, square: 0.0 }, kept)
    }

    /// The logits of some rows.
    fn logits(
        &self,
        head: &Head<f32>,
        [h, matrix]: [&DeviceTable<f32>; 2],
        [from, rows]: [usize; 2],
    ) -> DeviceTable<f32> {
        let (width, columns) = (head.width, matrix.len() / head.width);
        let mut logits = self.device.table(rows * columns);
        let matrix = TableMatrix::new(matrix, 0, columns, width).transposed();
        let product = Product::new(TableMatrix::new(h, from * width, rows, width), matrix);
        self.device.product(&mut logits, product);
        logits
    }

    /// Adds to the gradients of the head those of rows whose logits have these, from number `from` on.
    fn gradients(
        &self,
        head: &Head<f32>,
        (g_logits, [h, matrix]): (&DeviceTable<f32>, [&DeviceTable<f32>; 2]),
        [mut gh, mut g_matrix]: [DeviceTable<f32>; 2],
        from: usize,
    ) -> [DeviceTable<f32>; 2] {
        let (width, columns) = (head.width, matrix.len() / head.width);
        let rows = g_logits.len() / columns;
        let g_logits = TableMatrix::new(g_logits, 0, rows, columns);
        let matrix = TableMatrix::new(matrix, 0, columns, width);
        let place = from * width;
        let into = ProductPlace { table: &mut gh, from: place, apart: width, batch: [0; 2] };
        self.device.product_into(into, Product::new(g_logits, matrix));
        let own = TableMatrix::new(h, place, rows, width);
        let added = if from == 0 { Added::Nothing } else { Added::Blocks };
        let product = Product { added, ..Product::new(g_logits.transposed(), own) };
        self.device.product(&mut g_matrix, product);
        [gh, g_matrix]
    }

    pub(super) fn head_back_here(
        &self,
        head: &Head<f32>,
        kept: &HeadKept,
        [h, matrix]: [&DeviceTable<f32>; 2],
        [gh, g_matrix]: [&mut DeviceTable<f32>; 2],
    ) {
        match kept {
            HeadKept::Gradients(own) => {
                self.device.copy(&own[0], gh);
                self.device.copy(&own[1], g_matrix);
            }
            HeadKept::Logits(g_logits) => {
                let (width, columns) = (head.width, matrix.len() / head.width);
                let rows = h.len() / width;
                let g_logits = TableMatrix::new(g_logits, 0, rows, columns);
                let matrix = TableMatrix::new(matrix, 0, columns, width);
                self.device.product(gh, Product::new(g_logits, matrix));
                let h = TableMatrix::new(h, 0, rows, width);
                self.device.product(g_matrix, Product::new(g_logits.transposed(), h));
            }
        }
    }

    pub(super) fn scores_here(
        &self,
        head: &Head<f32>,
        targets: &[u32],
        of: [&DeviceTable<f32>; 2],
    ) -> HeadScores<f32> {
        let (count, columns) = (targets.len(), of[1].len() / head.width);
        let (at_once, own_targets) = (at_once(count, columns), self.device.upload(targets));
        let mut scores =
            HeadScores { nats: Vec::with_capacity(count), greedy: Vec::with_capacity(count) };
        for from in (0..count).step_by(at_once) {
            let rows = at_once.min(count - from);
            let logits = self.logits(head, of, [from, rows]);
            let (mut nats, mut greedy) = (self.device.table(rows), self.device.table(rows));
            self.device.score(&logits, own_targets.from(from), &mut nats, &mut greedy);
            scores.nats.extend(nats.read_all());
            scores.greedy.extend(greedy.read_all().into_iter().map(|guess| guess != 0));
        }
        scores
    }
}
