//! What is made of rows of numbers: norms, gated activations, surprises.

use super::device::{Device, int, long};
use super::table::{DeviceTable, TablePart};
use super::text::ITEMS;
use repro_portable::norm;

/// Rows, and what of them is known to a norm's backward pass.
#[derive(Debug, Clone, Copy)]
pub struct NormRows<'a> {
    /// The rows.
    pub x: &'a DeviceTable<f32>,
    /// The weight.
    pub weight: TablePart<'a, f32>,
    /// Numbers of a row.
    pub width: usize,
    pub epsilon: f32,
}

/// The products of a gated network, and the gates of rows where there are any.
#[derive(Debug, Clone, Copy)]
pub struct GatedRows<'a> {
    /// Rows of a and then b.
    pub a_b: &'a DeviceTable<f32>,
    pub gates: Option<&'a DeviceTable<f32>>,
    /// Numbers of an inner row.
    pub inner: usize,
}

impl Device {
    /// `exp x`, or `ln x`, of each number.
    pub fn functions(&self, x: &DeviceTable<f32>, y: &mut DeviceTable<f32>, is_logarithm: bool) {
        let count = x.len();
        self.launch_each(
            "functions",
            count,
            &[x.into(), y.into(), int(count).into(), i32::from(is_logarithm).into()],
        );
    }

    /// The norm of rows ([`norm::forward`]).
    pub fn norm(&self, of: NormRows<'_>, y: &mut DeviceTable<f32>) {
        let rows = of.x.len() / of.width;
        self.launch_rows(
            "norm_forward",
            rows,
            &[
                of.x.into(),
                of.weight.into(),
                y.into(),
                int(rows).into(),
                int(of.width).into(),
                of.epsilon.into(),
            ],
        );
    }

    /// The gradients of rows, plus a residual, and of the weight ([`norm::backward`], [`norm::combine`]).
    pub fn norm_back(
        &self,
        of: NormRows<'_>,
        g: &DeviceTable<f32>,
        residual: Option<&DeviceTable<f32>>,
        [gx, gw]: [&mut DeviceTable<f32>; 2],
    ) {
        let (rows, width) = (of.x.len() / of.width, of.width);
        let (nothing, mut factors) = (self.table(0), self.table::<f32>(rows));
        self.launch_rows(
            "norm_backward",
            rows,
            &[
                of.x.into(),
                of.weight.into(),
                g.into(),
                residual.unwrap_or(&nothing).into(),
                i32::from(residual.is_some()).into(),
                gx.into(),
                (&mut factors).into(),
                int(rows).into(),
                int(width).into(),
                of.epsilon.into(),
            ],
        );
        let count = rows.div_ceil(norm::ROWS);
        let mut parts = self.table::<f32>(count * width);
        self.launch(
            "norm_parts",
            [count, width.div_ceil(ITEMS), 1],
            &[
                of.x.into(),
                g.into(),
                (&factors).into(),
                (&mut parts).into(),
                int(rows).into(),
                int(width).into(),
            ],
        );
        self.launch_each(
            "sum_rows",
            width,
            &[(&parts).into(), gw.into(), int(count).into(), int(width).into()],
        );
    }

    /// The inner rows of a gated network ([`repro_portable::swiglu::forward`]).
    pub fn swiglu(&self, of: GatedRows<'_>, s: &mut DeviceTable<f32>) {
        let nothing = self.table(0);
        self.launch_each(
            "swiglu_forward",
            s.len(),
            &[
                of.a_b.into(),
                of.gates.unwrap_or(&nothing).into(),
                i32::from(of.gates.is_some()).into(),
                s.into(),
                long(s.len() / of.inner.max(1)).into(),
                int(of.inner).into(),
            ],
        );
    }

    /// The inner rows again, the gradients of their products, and of the gates ([`repro_portable::swiglu::backward`]).
    pub fn swiglu_back(
        &self,
        of: GatedRows<'_>,
        gs: &DeviceTable<f32>,
        [s, g_a_b]: [&mut DeviceTable<f32>; 2],
        g_gates: Option<&mut DeviceTable<f32>>,
    ) {
        let (rows, mut nothing) = (gs.len() / of.inner.max(1), self.table(0));
        self.launch_rows(
            "swiglu_backward",
            rows,
            &[
                of.a_b.into(),
                of.gates.unwrap_or(&nothing).into(),
                i32::from(of.gates.is_some()).into(),
                gs.into(),
                s.into(),
                g_a_b.into(),
                g_gates.unwrap_or(&mut nothing).into(),
                int(rows).into(),
                int(of.inner).into(),
            ],
        );
    }

    /// Logits become the gradient of the mean of `count` surprises ([`repro_portable::cross_entropy::forward`]).
    pub fn cross_entropy(
        &self,
        logits: &mut DeviceTable<f32>,
        targets: TablePart<'_, u32>,
        nats: &mut DeviceTable<f32>,
        count: usize,
    ) {
        let rows = nats.len();
        let columns = logits.len() / rows.max(1);
        self.launch_rows(
            "cross_entropy",
            rows,
            &[
                logits.into(),
                targets.into(),
                nats.into(),
                int(rows).into(),
                int(columns).into(),
                (1.0 / count as f32).into(),
            ],
        );
    }

    /// The surprise of each target, and whether it was the likeliest ([`repro_portable::cross_entropy::score`]).
    pub fn score(
        &self,
        logits: &DeviceTable<f32>,
        targets: TablePart<'_, u32>,
        nats: &mut DeviceTable<f32>,
        greedy: &mut DeviceTable<i32>,
    ) {
        let rows = nats.len();
        self.launch_rows(
            "score",
            rows,
            &[
                logits.into(),
                targets.into(),
                nats.into(),
                greedy.into(),
                int(rows).into(),
                int(logits.len() / rows.max(1)).into(),
            ],
        );
    }
}
