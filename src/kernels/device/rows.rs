//! Operations on rows of numbers: norms, gated activations, surprises.

use super::handle::{Device, int, long};
use super::table::{DeviceTable, TablePart};
use super::text::ITEMS;
use super::update::Narrowing;
use crate::portable::cross_entropy::Regularization;
use crate::portable::rounding::Rounding;
use crate::portable::{Activation, norm};

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
    /// Where the rows lie, if not one after the other.
    pub spread: Option<NormSpread>,
}

/// Rows that are parts of longer ones.
#[derive(Debug, Clone, Copy)]
pub struct NormSpread {
    /// Where the first begins.
    pub from: usize,
    /// So many follow each other.
    pub parts: usize,
    /// From these to the next ones.
    pub apart: usize,
}

impl NormRows<'_> {
    /// How many there are, and where they lie.
    fn layout(&self) -> (usize, NormSpread) {
        let whole = NormSpread { from: 0, parts: 1, apart: self.width };
        let spread = self.spread.unwrap_or(whole);
        (self.x.len() / spread.apart.max(1) * spread.parts, spread)
    }
}

/// Rows that an activation is between.
#[derive(Debug, Clone, Copy)]
pub struct ActivatedRows<'a> {
    /// The rows; with a gate, of a and then b.
    pub x: &'a DeviceTable<f32>,
    /// Numbers of a row of what it makes.
    pub width: usize,
    pub gated: bool,
    pub function: Activation,
}

impl ActivatedRows<'_> {
    fn number(&self) -> i32 {
        match self.function {
            Activation::Silu => 0,
            Activation::Gelu => 1,
            Activation::GeluTanh => 2,
            Activation::Relu => 3,
            Activation::ReluSquared => 4,
        }
    }
}

/// The functions that kernels have of single numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFunction {
    Exponential,
    Logarithm,
    HyperbolicTangent,
    ErrorFunction,
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
    /// A function of each number.
    pub fn functions(
        &self,
        x: &DeviceTable<f32>,
        y: &mut DeviceTable<f32>,
        function: NumberFunction,
    ) {
        let count = x.len();
        self.launch_each(
            "functions",
            count,
            &[x.into(), y.into(), int(count).into(), (function as i32).into()],
        );
    }

    /// The norm of rows ([`norm::forward`]).
    pub fn norm(&self, of: NormRows<'_>, y: &mut DeviceTable<f32>) {
        let (rows, spread) = of.layout();
        self.launch_rows(
            "norm_forward",
            rows,
            &[
                of.x.from(spread.from).into(),
                of.weight.into(),
                y.from(spread.from).into(),
                long(rows).into(),
                int(of.width).into(),
                int(spread.parts).into(),
                long(spread.apart).into(),
                of.epsilon.into(),
            ],
        );
    }

    /// The gradients of rows, plus a residual, and of the weight, from a place of its table on ([`norm::backward`],
    /// [`norm::combine`]). Answers what each row is multiplied by.
    pub fn norm_back(
        &self,
        of: NormRows<'_>,
        g: &DeviceTable<f32>,
        residual: Option<&DeviceTable<f32>>,
        gx: &mut DeviceTable<f32>,
        gw: Option<(&mut DeviceTable<f32>, usize)>,
    ) -> DeviceTable<f32> {
        let ((rows, spread), width) = (of.layout(), of.width);
        let (nothing, mut factors) = (self.table(0), self.table::<f32>(rows));
        let (from, layout) = (spread.from, [int(width), int(spread.parts)]);
        self.launch_rows(
            "norm_backward",
            rows,
            &[
                of.x.from(from).into(),
                of.weight.into(),
                g.from(from).into(),
                residual.map_or(nothing.from(0), |residual| residual.from(from)).into(),
                i32::from(residual.is_some()).into(),
                gx.from(from).into(),
                (&mut factors).into(),
                long(rows).into(),
                layout[0].into(),
                layout[1].into(),
                long(spread.apart).into(),
                of.epsilon.into(),
            ],
        );
        let Some((gw, place)) = gw else { return factors };
        let count = rows.div_ceil(norm::ROWS);
        let mut sums = self.table::<f32>(count * width);
        self.launch(
            "norm_parts",
            [count, width.div_ceil(ITEMS), 1],
            &[
                of.x.from(from).into(),
                g.from(from).into(),
                (&factors).into(),
                (&mut sums).into(),
                long(rows).into(),
                layout[0].into(),
                layout[1].into(),
                long(spread.apart).into(),
            ],
        );
        self.sum_rows(&sums, (gw, place), width);
        factors
    }

    /// Sums of columns in the order of rows, from +0 ([`crate::portable::layer_norm::add_back`]), from a place of a table on.
    pub fn sum_rows(
        &self,
        x: &DeviceTable<f32>,
        (into, place): (&mut DeviceTable<f32>, usize),
        width: usize,
    ) {
        let rows = x.len() / width.max(1);
        self.launch_each(
            "sum_rows",
            width,
            &[x.into(), into.from(place).into(), int(rows).into(), int(width).into()],
        );
    }

    /// The gradients of the weight and of the bias of a norm around the mean, whose rows less it these are, as sums that are
    /// rounded after each row, from the factors that [`Self::norm_back`] answers. The bias' is behind the weight's, where
    /// there is one.
    pub fn norm_sums(
        &self,
        of: NormRows<'_>,
        [g, factors]: [&DeviceTable<f32>; 2],
        gw: &mut DeviceTable<f32>,
        rounding: Rounding,
    ) {
        let (rows, width) = (of.x.len() / of.width, of.width);
        let Narrowing { dropped, at_random, seed } = Narrowing::of(rounding);
        for place in (0..gw.len()).step_by(width.max(1)) {
            self.launch_each(
                "sum_rows_narrowed",
                width,
                &[
                    of.x.into(),
                    g.into(),
                    factors.into(),
                    i32::from(place == 0).into(),
                    gw.from(place).into(),
                    int(rows).into(),
                    int(width).into(),
                    dropped.into(),
                    at_random.into(),
                    seed.into(),
                ],
            );
        }
    }

    /// Takes the mean off each row.
    pub fn centre(&self, x: &mut DeviceTable<f32>, width: usize) {
        let nothing = self.table(0);
        self.centre_by(x, &nothing, [0, 0], width);
    }

    /// Takes the mean off the gradient of each row, and adds a residual.
    pub fn centre_back(
        &self,
        gx: &mut DeviceTable<f32>,
        residual: Option<&DeviceTable<f32>>,
        width: usize,
    ) {
        let nothing = self.table(0);
        let has_residual = i32::from(residual.is_some());
        self.centre_by(gx, residual.unwrap_or(&nothing), [has_residual, 1], width);
    }

    fn centre_by(
        &self,
        x: &mut DeviceTable<f32>,
        residual: &DeviceTable<f32>,
        [has_residual, is_gradient]: [i32; 2],
        width: usize,
    ) {
        let rows = x.len() / width.max(1);
        self.launch_rows(
            "centre",
            rows,
            &[
                x.into(),
                residual.into(),
                has_residual.into(),
                is_gradient.into(),
                long(rows).into(),
                int(width).into(),
            ],
        );
    }

    /// Adds the same row to each ([`crate::portable::layer_norm::add`]).
    pub fn add_row(&self, into: &mut DeviceTable<f32>, row: TablePart<'_, f32>, width: usize) {
        let count = into.len();
        self.launch_each(
            "add_row",
            count,
            &[row.into(), into.into(), long(count).into(), int(width).into()],
        );
    }

    /// The function of each number, or of the gates ([`crate::portable::activation::forward`],
    /// [`crate::portable::activation::gated`]).
    pub fn activate(&self, of: ActivatedRows<'_>, y: &mut DeviceTable<f32>) {
        self.launch_each(
            "activate",
            y.len(),
            &[
                of.x.into(),
                y.into(),
                long(y.len() / of.width.max(1)).into(),
                int(of.width).into(),
                i32::from(of.gated).into(),
                of.number().into(),
            ],
        );
    }

    /// The gradients of their numbers ([`crate::portable::activation::backward`],
    /// [`crate::portable::activation::gated_back`]).
    pub fn activate_back(
        &self,
        of: ActivatedRows<'_>,
        g: &DeviceTable<f32>,
        gx: &mut DeviceTable<f32>,
    ) {
        self.launch_each(
            "activate_back",
            g.len(),
            &[
                of.x.into(),
                g.into(),
                gx.into(),
                long(g.len() / of.width.max(1)).into(),
                int(of.width).into(),
                i32::from(of.gated).into(),
                of.number().into(),
            ],
        );
    }

    /// The inner rows of a gated network ([`crate::portable::swiglu::forward`]).
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

    /// The inner rows again, the gradients of their products, and of the gates ([`crate::portable::swiglu::backward`]).
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

    /// Logits become the gradient of the mean of `count` surprises ([`crate::portable::cross_entropy::forward`]).
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

    /// The same of smoothed targets and with the loss of large logits ([`crate::portable::cross_entropy::regularized`]).
    pub fn regularized(
        &self,
        extra: Regularization<f32>,
        logits: &mut DeviceTable<f32>,
        targets: TablePart<'_, u32>,
        [nats, squares]: [&mut DeviceTable<f32>; 2],
        count: usize,
    ) {
        let Regularization { smoothing, z } = extra;
        let rows = nats.len();
        let columns = logits.len() / rows.max(1);
        self.launch_rows(
            "regularized",
            rows,
            &[
                logits.into(),
                targets.into(),
                nats.into(),
                squares.into(),
                int(rows).into(),
                int(columns).into(),
                (1.0 / count as f32).into(),
                (1.0 - smoothing).into(),
                (smoothing / columns as f32).into(),
                (z + z).into(),
            ],
        );
    }

    /// The surprise of each target, and whether it was the likeliest ([`crate::portable::cross_entropy::score`]).
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
