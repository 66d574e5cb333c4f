//! Operations by kernels.

use super::super::{BackwardNumbers, ForwardNumbers};
use super::{Gpu, GpuKept};
use crate::ops::{Attention, Batch, Embedding, Gated, Linear, Norm, NormKind, StepKind};
use repro_device::{
    Added, AttentionHeads, AttentionTables, DeviceTable, GatedRows, NormRows, Product,
    ProductPlace, TableMatrix,
};

type Forward<'a> = ForwardNumbers<'a, DeviceTable<f32>>;
type Backward<'a> = BackwardNumbers<'a, DeviceTable<f32>>;

/// Whether there are kernels for an operation on such a batch.
pub fn is_native(step: &StepKind<f32>, batch: Batch<'_>) -> bool {
    match step {
        StepKind::Attention(attention) => {
            let places = batch.places;
            attention.heads.is_plain() && places.documents.is_empty() && places.positions.is_empty()
        }
        StepKind::Embedding(embedding) => embedding.scale.is_none(),
        StepKind::FeedForward(_) | StepKind::Mixture(..) => true,
        StepKind::Linear(linear) => !linear.biased,
        StepKind::Norm(norm) => norm.kind == NormKind::Rms,
        StepKind::Activate(_) | StepKind::Positions(_) | StepKind::VectorNorms(_) => false,
    }
}

/// What an operation with an input and weights reads.
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
        batch: Batch<'_>,
        pass: Forward<'_>,
    ) -> GpuKept {
        match step {
            StepKind::Attention(attention) => return self.attend(attention, batch, pass),
            StepKind::Embedding(embedding) => self.embed(*embedding, batch, pass),
            StepKind::FeedForward(network) => {
                let Some([x, w]) = read(pass.x, pass.w) else { return GpuKept::Nothing };
                let added = pass.residual.map_or(Added::Nothing, Added::Table);
                return GpuKept::Gated(self.gated(network.shape, x, (w, 0), (pass.y, added)));
            }
            StepKind::Linear(linear) => self.linear(*linear, pass),
            StepKind::Mixture(_, mixture) => return self.mix(mixture, pass),
            StepKind::Norm(norm) => {
                let Some([x, w]) = read(pass.x, pass.w) else { return GpuKept::Nothing };
                self.device.norm(norm_rows(norm, x, w), pass.y);
                self.add_some(pass.y, pass.residual);
            }
            StepKind::Activate(_) | StepKind::Positions(_) | StepKind::VectorNorms(_) => {}
        }
        GpuKept::Nothing
    }

    pub(super) fn backward_here(
        &self,
        step: &StepKind<f32>,
        kept: &GpuKept,
        batch: Batch<'_>,
        pass: Backward<'_>,
    ) {
        match (step, kept) {
            (StepKind::Attention(attention), GpuKept::Attention(own)) => {
                let heads = heads(attention, batch);
                let (rotated, angles) = &**own;
                if let Some(gx) = pass.gx {
                    self.device.attention_back(heads, rotated, pass.g, gx);
                    self.device.rotate(heads, angles, gx, -1.0);
                    self.add_some(gx, pass.before);
                }
            }
            (StepKind::Embedding(embedding), _) => self.embed_back(*embedding, batch, pass),
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
            (StepKind::Norm(norm), _) => {
                let BackwardNumbers { x, w, g, before, gx, gw, .. } = pass;
                if let (Some([x, w]), Some(gx), Some(gw)) = (read(x, w), gx, gw) {
                    self.device.norm_back(norm_rows(norm, x, w), g, before, [gx, gw]);
                }
            }
            _ => {}
        }
    }

    fn embed(&self, embedding: Embedding, batch: Batch<'_>, pass: Forward<'_>) {
        let Some(w) = pass.w else { return };
        let names: Vec<i32> = batch.tokens.iter().map(|token| token.cast_signed()).collect();
        let names = self.device.upload(&names);
        self.device.gather(w.from(0), &names, pass.y, embedding.width);
        self.add_some(pass.y, pass.residual);
    }

    fn embed_back(&self, embedding: Embedding, batch: Batch<'_>, pass: Backward<'_>) {
        let Some(gw) = pass.gw else { return };
        if !embedding.tied {
            self.device.fill(gw, 0..gw.len(), 0.0);
        }
        let places = self.device.token_places(batch.tokens);
        self.device.embed_back(&places, pass.g, gw, embedding.width);
    }

    fn attend(&self, attention: &Attention<f32>, batch: Batch<'_>, pass: Forward<'_>) -> GpuKept {
        let (Some(x), Some(rope)) = (pass.x, attention.heads.rope()) else {
            return GpuKept::Nothing;
        };
        let heads = heads(attention, batch);
        let [cosines, sines] = rope.tables().map(|table| {
            let used = table.get(..heads.length * heads.head_dim / 2).unwrap_or(table);
            self.device.upload(used)
        });
        let (mut rotated, angles) = (self.device.copied(x), AttentionTables { cosines, sines });
        self.device.rotate(heads, &angles, &mut rotated, 1.0);
        self.device.attention(heads, &rotated, pass.y);
        self.add_some(pass.y, pass.residual);
        GpuKept::Attention(Box::new((rotated, angles)))
    }

    fn linear(&self, linear: Linear, pass: Forward<'_>) {
        let Some([x, w]) = read(pass.x, pass.w) else { return };
        let x = TableMatrix::new(x, 0, x.len() / linear.input, linear.input);
        let added = pass.residual.map_or(Added::Nothing, Added::Table);
        let product = Product::new(x, matrix(linear, w).transposed());
        self.device.product(pass.y, Product { added, ..product });
    }

    fn linear_back(&self, linear: Linear, pass: Backward<'_>) {
        let BackwardNumbers { x, w, g, before, gx, gw, .. } = pass;
        let (Some([x, w]), Some(gx), Some(gw)) = (read(x, w), gx, gw) else { return };
        let rows = x.len() / linear.input;
        let x = TableMatrix::new(x, 0, rows, linear.input);
        let g = TableMatrix::new(g, 0, rows, linear.output);
        let added = before.map_or(Added::Nothing, Added::Table);
        self.device.product(gx, Product { added, ..Product::new(g, matrix(linear, w)) });
        let of_matrix = match linear.turned {
            false => Product::new(g.transposed(), x),
            true => Product::new(x.transposed(), g),
        };
        self.device.product(gw, of_matrix);
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

/// What the backward pass of a gated network reads, beside its weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct GatedPass<'a> {
    pub shape: Gated,
    pub x: &'a DeviceTable<f32>,
    pub products: &'a DeviceTable<f32>,
    /// The gradient of the output.
    pub g: &'a DeviceTable<f32>,
}

fn heads(attention: &Attention<f32>, batch: Batch<'_>) -> AttentionHeads {
    let [heads, key_value_heads, head_dim] = attention.heads.heads();
    let scale = attention.heads.scale();
    AttentionHeads { heads, key_value_heads, head_dim, scale, length: batch.length }
}

fn norm_rows<'a>(
    norm: &Norm<f32>,
    x: &'a DeviceTable<f32>,
    w: &'a DeviceTable<f32>,
) -> NormRows<'a> {
    NormRows { x, weight: w.from(0), width: norm.width, epsilon: norm.epsilon as f32 }
}

/// The matrix as it lies there, output by input.
fn matrix(linear: Linear, w: &DeviceTable<f32>) -> TableMatrix<'_> {
    match linear.turned {
        false => TableMatrix::new(w, 0, linear.output, linear.input),
        true => TableMatrix::new(w, 0, linear.input, linear.output).transposed(),
    }
}
