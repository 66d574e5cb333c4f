//! Operations by kernels.

use super::super::{BackwardNumbers, ForwardNumbers};
use super::{Gpu, GpuKept};
use crate::ops::{Activate, Attention, Batch, Embedding, Gated, Linear, Positions, StepKind};
use repro_kernels::device::{
    ActivatedRows, Added, AttentionHeads, AttentionTables, DeviceTable, GatedRows, Product,
    ProductPlace, TableMatrix,
};

pub(super) type ForwardTables<'a> = ForwardNumbers<'a, DeviceTable<f32>>;
pub(super) type BackwardTables<'a> = BackwardNumbers<'a, DeviceTable<f32>>;

/// The inputs of attention's backward pass.
#[derive(Debug)]
pub struct AttentionKept {
    rotated: DeviceTable<f32>,
    /// By which queries and keys were rotated, if they were.
    angles: Option<AttentionTables>,
    documents: Option<DeviceTable<u32>>,
}

/// Whether there are kernels for an operation: for all of them, as long as attention rounds nothing inside and nothing of it
/// is off on purpose.
pub fn is_native(step: &StepKind<f32>) -> bool {
    match step {
        StepKind::Attention(attention) => attention.heads.is_exact(),
        StepKind::Activate(_)
        | StepKind::Embedding(_)
        | StepKind::FeedForward(_)
        | StepKind::Linear(_)
        | StepKind::Mixture(..)
        | StepKind::Norm(_)
        | StepKind::Positions(_)
        | StepKind::VectorNorms(_) => true,
    }
}

/// The operands of an operation with an input and weights.
fn read<'a>(
    x: Option<&'a DeviceTable<f32>>,
    w: Option<&'a DeviceTable<f32>>,
) -> Option<[&'a DeviceTable<f32>; 2]> {
    x.zip(w).map(|(x, w)| [x, w])
}

impl Gpu {
    pub(super) fn forward_here(
        &self,
        step: &StepKind<f32>,
        before: GpuKept,
        batch: Batch<'_>,
        pass: ForwardTables<'_>,
    ) -> GpuKept {
        match step {
            StepKind::Activate(activate) => self.activate(*activate, pass),
            StepKind::Attention(attention) => return self.attend(attention, before, batch, pass),
            StepKind::Embedding(embedding) => self.embed(*embedding, batch, pass),
            StepKind::FeedForward(network) => {
                let Some([x, w]) = read(pass.x, pass.w) else { return GpuKept::Nothing };
                let added = pass.residual.map_or(Added::Nothing, Added::Table);
                return GpuKept::Gated(self.gated(network.shape, x, (w, 0), (pass.y, added)));
            }
            StepKind::Linear(linear) => self.linear(*linear, pass),
            StepKind::Mixture(_, mixture) => return self.mix(mixture, pass),
            StepKind::Norm(norm) => return self.norm(norm, pass),
            StepKind::Positions(positions) => {
                let names: Vec<i32> = places(batch).iter().map(|at| at.cast_signed()).collect();
                self.rows_of_table(&names, positions.width, None, pass);
            }
            StepKind::VectorNorms(norms) => self.vector_norms(*norms, pass),
        }
        GpuKept::Nothing
    }

    pub(super) fn backward_here(
        &self,
        step: &StepKind<f32>,
        kept: &GpuKept,
        batch: Batch<'_>,
        pass: BackwardTables<'_>,
    ) {
        match (step, kept) {
            (StepKind::Activate(activate), _) => self.activate_back(*activate, pass),
            (StepKind::Attention(attention), GpuKept::Attention(own)) => {
                self.attend_back(attention, own, batch, pass);
            }
            (StepKind::Embedding(embedding), _) => {
                let Embedding { width, tied, scale } = *embedding;
                let by = scale.map_or(1.0, |scale| scale as f32);
                self.rows_of_table_back(batch.tokens, (width, tied, by), pass);
            }
            (StepKind::FeedForward(network), GpuKept::Gated(products)) => {
                let BackwardNumbers { x, w, g, before, gx, gw, .. } = pass;
                if let (Some([x, w]), Some(gx), Some(gw)) = (read(x, w), gx, gw) {
                    let of = GatedPass { shape: network.shape, x, products, g };
                    self.gated_back(of, (w, gw, 0), (gx, Added::Nothing));
                    self.add_some(gx, before);
                }
            }
            (StepKind::Linear(linear), _) => self.linear_back(*linear, pass),
            (StepKind::Mixture(_, mixture), GpuKept::Mixture(own)) => {
                self.mix_back(mixture, own, pass);
            }
            (StepKind::Norm(norm), _) => self.norm_back(norm, kept, pass),
            (StepKind::Positions(positions), _) => {
                self.rows_of_table_back(&places(batch), (positions.width, false, 1.0), pass);
            }
            (StepKind::VectorNorms(norms), _) => self.vector_norms_back(*norms, pass),
            // What these need of a forward pass is kept by each of theirs.
            (StepKind::Attention(_) | StepKind::FeedForward(_) | StepKind::Mixture(..), _) => {}
        }
    }

    fn activate(&self, activate: Activate, pass: ForwardTables<'_>) {
        let Some(x) = pass.x else { return };
        self.device.activate(activated(activate, x), pass.y);
        self.add_some(pass.y, pass.residual);
    }

    fn activate_back(&self, activate: Activate, pass: BackwardTables<'_>) {
        let (Some(x), Some(gx)) = (pass.x, pass.gx) else { return };
        self.device.activate_back(activated(activate, x), pass.g, gx);
        self.add_some(gx, pass.before);
    }

    fn embed(&self, embedding: Embedding, batch: Batch<'_>, pass: ForwardTables<'_>) {
        let names: Vec<i32> = batch.tokens.iter().map(|token| token.cast_signed()).collect();
        self.rows_of_table(&names, embedding.width, embedding.scale, pass);
    }

    /// The rows of a table that are named, times a factor where there is one.
    fn rows_of_table(
        &self,
        names: &[i32],
        width: usize,
        scale: Option<f64>,
        pass: ForwardTables<'_>,
    ) {
        let Some(w) = pass.w else { return };
        self.device.gather(w.from(0), &self.device.upload(names), pass.y, width);
        if let Some(scale) = scale {
            self.device.scale(pass.y, scale as f32);
        }
        self.add_some(pass.y, pass.residual);
    }

    /// Writes the gradient of a table whose rows were named, times a factor; where it is tied, adds it to what lies there.
    fn rows_of_table_back(
        &self,
        names: &[u32],
        (width, tied, by): (usize, bool, f32),
        pass: BackwardTables<'_>,
    ) {
        let Some(gw) = pass.gw else { return };
        if !tied {
            self.device.fill(gw, 0..gw.len(), 0.0);
        }
        let places = self.device.token_places(names);
        self.device.embed_back(&places, (pass.g, by), gw, width, pass.sums);
    }

    fn attend(
        &self,
        attention: &Attention<f32>,
        before: GpuKept,
        batch: Batch<'_>,
        pass: ForwardTables<'_>,
    ) -> GpuKept {
        let Some(x) = pass.x else { return GpuKept::Nothing };
        let some = |all: &[u32]| (!all.is_empty()).then(|| self.device.upload(all));
        let (positions, documents) = (batch.places.positions, some(batch.places.documents));
        let heads = heads(attention, batch, documents.as_ref());
        let known = match before {
            GpuKept::Attention(before) => before.angles,
            _ => None,
        };
        let angles = attention.heads.rope().map(|rope| {
            // They are those of all positions, and go up once.
            let [cosines, sines] = match known {
                Some(known) => [known.cosines, known.sines],
                None => rope.tables().map(|table| self.device.upload(table)),
            };
            AttentionTables { cosines, sines, positions: some(positions) }
        });
        let mut rotated = self.device.copied(x);
        if let Some(angles) = &angles {
            self.device.rotate(heads, angles, &mut rotated, 1.0);
        }
        self.device.attention(heads, &rotated, pass.y);
        self.add_some(pass.y, pass.residual);
        GpuKept::Attention(Box::new(AttentionKept { rotated, angles, documents }))
    }

    fn attend_back(
        &self,
        attention: &Attention<f32>,
        kept: &AttentionKept,
        batch: Batch<'_>,
        pass: BackwardTables<'_>,
    ) {
        let Some(gx) = pass.gx else { return };
        let heads = heads(attention, batch, kept.documents.as_ref());
        self.device.attention_back(heads, &kept.rotated, pass.g, gx);
        if let Some(angles) = &kept.angles {
            self.device.rotate(heads, angles, gx, -1.0);
        }
        self.add_some(gx, pass.before);
    }

    fn linear(&self, linear: Linear, pass: ForwardTables<'_>) {
        let Some([x, w]) = read(pass.x, pass.w) else { return };
        let x = TableMatrix::new(x, 0, x.len() / linear.input, linear.input);
        let added = pass.residual.map_or(Added::Nothing, Added::Table);
        let product = Product::new(x, matrix(linear, w).transposed());
        self.device.product(pass.y, Product { added, ..product });
        if linear.biased {
            self.device.add_row(pass.y, w.from(linear.input * linear.output), linear.output);
        }
    }

    fn linear_back(&self, linear: Linear, pass: BackwardTables<'_>) {
        let BackwardNumbers { x, w, g, before, gx, gw, .. } = pass;
        let (Some([x, w]), Some(gx), Some(gw)) = (read(x, w), gx, gw) else { return };
        let rows = x.len() / linear.input;
        let x = TableMatrix::new(x, 0, rows, linear.input);
        let own = TableMatrix::new(g, 0, rows, linear.output);
        let added = before.map_or(Added::Nothing, Added::Table);
        self.device.product(gx, Product { added, ..Product::new(own, matrix(linear, w)) });
        let of_matrix = match linear.turned {
            false => Product::new(own.transposed(), x),
            true => Product::new(x.transposed(), own),
        };
        self.device.product(gw, of_matrix);
        if linear.biased {
            self.device.sum_rows(g, (gw, linear.input * linear.output), linear.output);
        }
    }

    /// Writes what a gated network makes of rows, whose weights begin at a place of a variable; answers its first products.
    pub(super) fn gated(
        &self,
        shape: Gated,
        x: &DeviceTable<f32>,
        (w, from): (&DeviceTable<f32>, usize),
        (y, added): (&mut DeviceTable<f32>, Added<'_>),
    ) -> DeviceTable<f32> {
        let Gated { width, inner } = shape;
        let rows = x.len() / width;
        let mut products = self.device.table(rows * 2 * inner);
        let gate_up = TableMatrix::new(w, from, 2 * inner, width).transposed();
        let product = Product::new(TableMatrix::new(x, 0, rows, width), gate_up);
        self.device.product(&mut products, product);
        let mut s = self.device.table(rows * inner);
        self.device.swiglu(GatedRows { a_b: &products, gates: None, inner }, &mut s);
        let down = TableMatrix::new(w, from + 2 * inner * width, width, inner).transposed();
        let product = Product::new(TableMatrix::new(&s, 0, rows, inner), down);
        self.device.product(y, Product { added, ..product });
        products
    }

    /// Writes the gradients of a gated network's rows and weights.
    pub(super) fn gated_back(
        &self,
        of: GatedPass<'_>,
        (w, gw, from): (&DeviceTable<f32>, &mut DeviceTable<f32>, usize),
        (gx, added): (&mut DeviceTable<f32>, Added<'_>),
    ) {
        let GatedPass { shape: Gated { width, inner }, x, products, g } = of;
        let rows = x.len() / width;
        let down_from = from + 2 * inner * width;
        let (gate_up, down) = (
            TableMatrix::new(w, from, 2 * inner, width),
            TableMatrix::new(w, down_from, width, inner),
        );
        let (x, g) = (TableMatrix::new(x, 0, rows, width), TableMatrix::new(g, 0, rows, width));
        let mut gs = self.device.table(rows * inner);
        self.device.product(&mut gs, Product::new(g, down));
        let (mut s, mut g_products) =
            (self.device.table(rows * inner), self.device.table(products.len()));
        let gated = GatedRows { a_b: products, gates: None, inner };
        self.device.swiglu_back(gated, &gs, [&mut s, &mut g_products], None);
        let g_products = TableMatrix::new(&g_products, 0, rows, 2 * inner);
        self.device.product(gx, Product { added, ..Product::new(g_products, gate_up) });
        let s = TableMatrix::new(&s, 0, rows, inner);
        for (from, apart, left, right) in [(from, width, g_products, x), (down_from, inner, g, s)] {
            let into = ProductPlace { table: gw, from, apart, batch: [0; 2] };
            self.device.product_into(into, Product::new(left.transposed(), right));
        }
    }
}

/// The inputs of a gated network's backward pass, besides its weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct GatedPass<'a> {
    pub shape: Gated,
    pub x: &'a DeviceTable<f32>,
    pub products: &'a DeviceTable<f32>,
    /// The gradient of the output.
    pub g: &'a DeviceTable<f32>,
}

fn heads<'a>(
    attention: &Attention<f32>,
    batch: Batch<'_>,
    documents: Option<&'a DeviceTable<u32>>,
) -> AttentionHeads<'a> {
    AttentionHeads { documents, ..AttentionHeads::of(&attention.heads, batch.length) }
}

fn activated(activate: Activate, x: &DeviceTable<f32>) -> ActivatedRows<'_> {
    let Activate { function, width, gated } = activate;
    ActivatedRows { x, width, gated, function }
}

/// The position of each token, of which there is a row.
fn places(batch: Batch<'_>) -> Vec<u32> {
    Positions::of(batch).map(|at| u32::try_from(at).unwrap_or(u32::MAX)).collect()
}

/// The matrix as it lies there, output by input.
fn matrix(linear: Linear, w: &DeviceTable<f32>) -> TableMatrix<'_> {
    match linear.turned {
        false => TableMatrix::new(w, 0, linear.output, linear.input),
        true => TableMatrix::new(w, 0, linear.input, linear.output).transposed(),
    }
}
