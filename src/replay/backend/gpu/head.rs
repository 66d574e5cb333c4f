//! The head by kernels: logits lie there for some rows at a time.

use super::Gpu;
use crate::ops::{Head, HeadLoss, HeadScores, ROWS, counted};
use crate::recipe::LossTerms;
use repro_kernels::device::{Added, DeviceTable, Product, ProductPlace, TableMatrix, TablePart};
use repro_kernels::portable::cross_entropy::Regularization;
use repro_kernels::portable::product::BLOCK;

/// Logits that are held at a time, at most; those of one block of rows are in any case.
const HELD: usize = 1 << 26;

/// The inputs of the gradients: the gradient of all logits; or, where these are not held, already the gradients themselves.
#[derive(Debug)]
pub enum HeadKept {
    Logits(DeviceTable<f32>),
    Gradients(Box<[DeviceTable<f32>; 2]>),
}

/// The losses of targets, and the squares of what a loss of large logits is of; these are empty where none is trained.
#[derive(Debug, Default)]
struct Losses {
    nats: Vec<f32>,
    squares: Vec<f32>,
}

/// Whether there are kernels for a loss: as long as its sums are not off on purpose.
pub fn is_native(head: &Head<f32>) -> bool {
    head.other_sums.is_none()
}

/// Rows whose logits are held at a time: whole blocks, so that sums over rows go on from one to the next; or as many as on the
/// host, where sums over these are added.
fn at_once(head: &Head<f32>, rows: usize, columns: usize) -> usize {
    if head.held.is_some() {
        return head.at_once(rows, columns);
    }
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
        let counted = counted(targets);
        let (at_once, own_targets) = (at_once(head, count, columns), self.device.upload(targets));
        let (mut kept, mut own, mut losses) = (None, None::<Box<[_; 2]>>, Losses::default());
        for from in (0..count).step_by(at_once) {
            let rows = at_once.min(count - from);
            let mut logits = self.logits(head, [h, matrix], [from, rows]);
            let of = (own_targets.from(from), rows, counted);
            self.losses(head, &mut logits, of, &mut losses);
            if rows == count {
                kept = Some(HeadKept::Logits(logits));
                break;
            }
            let [gh, g_matrix] = &mut **own
                .get_or_insert_with(|| Box::new([h, matrix].map(|of| self.device.zeros(of.len()))));
            let added = match (head.held.is_some(), from) {
                (true, _) => Added::Own,
                (false, 0) => Added::Nothing,
                (false, _) => Added::Blocks,
            };
            self.gradients(head, (&logits, [h, matrix]), [gh, g_matrix], (from, added));
        }
        let mean = |all: &[f32]| match counted {
            0 => 0.0,
            _ => all.iter().fold(0.0, |sum, one| sum + f64::from(*one)) / counted as f64,
        };
        let kept = kept.or(own.map(HeadKept::Gradients));
        let kept = kept.unwrap_or_else(|| HeadKept::Logits(self.device.table(0)));
        (HeadLoss { nats: mean(&losses.nats) as f32, square: mean(&losses.squares) }, kept)
    }

    /// Makes logits of some rows the gradient of the mean of their losses.
    fn losses(
        &self,
        head: &Head<f32>,
        logits: &mut DeviceTable<f32>,
        (targets, rows, counted): (TablePart<'_, u32>, usize, usize),
        into: &mut Losses,
    ) {
        self.round_logits(head, logits, rows);
        let capped = self.cap_logits(head, logits).map(|cap| (cap, self.device.copied(logits)));
        let mut nats = self.device.table(rows);
        let LossTerms { label_smoothing, z_loss } = head.terms;
        if head.terms == LossTerms::default() {
            self.device.cross_entropy(logits, targets, &mut nats, counted);
        } else {
            let extra = Regularization { smoothing: label_smoothing as f32, z: z_loss as f32 };
            let mut squares = self.device.table(rows);
            let of_rows = [&mut nats, &mut squares];
            self.device.regularized(extra, logits, targets, of_rows, counted);
            into.squares.extend(squares.read_all());
        }
        if let Some((cap, capped)) = capped {
            self.device.cap_back(&capped, cap, logits);
        }
        self.round_logits(head, logits, rows);
        into.nats.extend(nats.read_all());
    }

    /// Rounds logits or their gradients where a recipe has them so, by the same random bits as the host.
    fn round_logits(&self, head: &Head<f32>, logits: &mut DeviceTable<f32>, rows: usize) {
        if let Some(rounding) = head.rounding {
            let columns = logits.len() / rows.max(1);
            self.device.narrow(logits, rounding, ROWS * columns);
        }
    }

    /// Limits logits softly, where there is a limit, which it answers.
    fn cap_logits(&self, head: &Head<f32>, logits: &mut DeviceTable<f32>) -> Option<f32> {
        let cap = head.cap.map(|cap| cap as f32)?;
        self.device.cap(logits, cap);
        Some(cap)
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

    /// Writes the gradients of rows from number `from` on, whose logits have these, and adds that of the matrix as is said.
    fn gradients(
        &self,
        head: &Head<f32>,
        (g_logits, [h, matrix]): (&DeviceTable<f32>, [&DeviceTable<f32>; 2]),
        [gh, g_matrix]: [&mut DeviceTable<f32>; 2],
        (from, added): (usize, Added<'_>),
    ) {
        let (width, columns) = (head.width, matrix.len() / head.width);
        let rows = g_logits.len() / columns;
        let g_logits = TableMatrix::new(g_logits, 0, rows, columns);
        let matrix = TableMatrix::new(matrix, 0, columns, width);
        let place = from * width;
        let into = ProductPlace { table: gh, from: place, apart: width, batch: [0; 2] };
        self.device.product_into(into, Product::new(g_logits, matrix));
        let own = TableMatrix::new(h, place, rows, width);
        let product = Product { added, ..Product::new(g_logits.transposed(), own) };
        self.device.product(g_matrix, product);
    }

    pub(super) fn head_back_here(
        &self,
        head: &Head<f32>,
        kept: &HeadKept,
        of: [&DeviceTable<f32>; 2],
        [gh, g_matrix]: [&mut DeviceTable<f32>; 2],
    ) {
        match kept {
            HeadKept::Gradients(own) => {
                self.device.copy(&own[0], gh);
                self.device.copy(&own[1], g_matrix);
            }
            HeadKept::Logits(g_logits) => {
                let all = (0, Added::Nothing);
                self.gradients(head, (g_logits, of), [gh, g_matrix], all);
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
        let (at_once, own_targets) = (at_once(head, count, columns), self.device.upload(targets));
        let mut scores =
            HeadScores { nats: Vec::with_capacity(count), greedy: Vec::with_capacity(count) };
        for from in (0..count).step_by(at_once) {
            let rows = at_once.min(count - from);
            let mut logits = self.logits(head, of, [from, rows]);
            self.cap_logits(head, &mut logits);
            let (mut nats, mut greedy) = (self.device.table(rows), self.device.table(rows));
            self.device.score(&logits, own_targets.from(from), &mut nats, &mut greedy);
            scores.nats.extend(nats.read_all());
            scores.greedy.extend(greedy.read_all().into_iter().map(|guess| guess != 0));
        }
        scores
    }
}
