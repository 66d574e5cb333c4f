//! Mixtures by kernels. Which tokens an expert has is known on the device alone: nothing waits for it.

use super::super::{BackwardNumbers, ForwardNumbers};
use super::operations::GatedPass;
use super::{Gpu, GpuKept};
use crate::ops::{Gated, Load, Mixture};
use repro_kernels::device::{
    Added, Arranged, Chosen, DeviceTable, GatedRows, Product, ProductPlace, TableMatrix,
};
use repro_kernels::portable::router;

/// The inputs of a mixture's backward pass.
#[derive(Debug)]
pub struct MixtureKept {
    pub chosen: Chosen,
    arranged: Arranged,
    /// The gates in the order of the experts' rows.
    gates: DeviceTable<f32>,
    /// The first products of all experts, and of what all tokens share.
    products: DeviceTable<f32>,
    shared: Option<DeviceTable<f32>>,
    tokens: usize,
}

/// Where the parts of a mixture's weights begin.
#[derive(Debug, Clone, Copy)]
struct MixtureParts {
    expert: Gated,
    shared: Option<Gated>,
    experts: usize,
    /// The first experts' weights.
    from: usize,
    /// The second matrix of the first expert.
    down: usize,
    /// The values that all tokens share.
    shared_from: usize,
}

impl MixtureParts {
    fn of(mixture: &Mixture<f32>) -> Self {
        let (width, experts) = (mixture.widths.width, mixture.router.experts);
        let expert = Gated { width, inner: mixture.widths.inner };
        let shared = Gated { width, inner: mixture.widths.shared };
        let from = experts * width;
        Self {
            expert,
            shared: (shared.inner > 0).then_some(shared),
            experts,
            from,
            down: from + 2 * expert.inner * width,
            shared_from: from + experts * expert.weights(),
        }
    }

    /// From one expert's weights to the next's.
    fn apart(self) -> [usize; 2] {
        [self.expert.weights(), 0]
    }

    /// Both matrices of the experts.
    fn matrices(self, w: &DeviceTable<f32>) -> [TableMatrix<'_>; 2] {
        let Gated { width, inner } = self.expert;
        let gate_up = TableMatrix::new(w, self.from, 2 * inner, width);
        let down = TableMatrix::new(w, self.down, width, inner);
        [gate_up, down].map(|matrix| matrix.batched(self.apart()))
    }
}

/// A table of its own, with rows of this width.
fn rows(table: &mut DeviceTable<f32>, width: usize) -> ProductPlace<'_> {
    ProductPlace { table, from: 0, apart: width, batch: [0; 2] }
}

impl Gpu {
    pub(super) fn mix(
        &self,
        mixture: &Mixture<f32>,
        pass: ForwardNumbers<'_, DeviceTable<f32>>,
    ) -> GpuKept {
        let ForwardNumbers { x: Some(x), w: Some(w), residual, y } = pass else {
            return GpuKept::Nothing;
        };
        let parts = MixtureParts::of(mixture);
        let Gated { width, inner } = parts.expert;
        let tokens = x.len() / width;
        let mut logits = self.device.table(tokens * parts.experts);
        let router = TableMatrix::new(w, 0, parts.experts, width).transposed();
        let product = Product::new(TableMatrix::new(x, 0, tokens, width), router);
        self.device.product(&mut logits, product);
        let shared = parts.shared.map(|shape| {
            let added = residual.map_or(Added::Nothing, Added::Table);
            self.gated(shape, x, (w, parts.shared_from), (y, added))
        });
        match (&shared, residual) {
            (Some(_), _) => {}
            (None, Some(residual)) => self.device.copy(residual, y),
            (None, None) => self.device.fill(y, 0..y.len(), 0.0),
        }
        let chosen = self.device.choose(mixture.router, logits, mixture.bias.as_deref());
        let per_token = mixture.router.per_token;
        let arranged = self.device.arrange(parts.experts, per_token, &chosen.experts);
        let gates = self.device.to_rows(&arranged, &chosen.gates);
        let count = arranged.rows();
        let [gate_up, down] = parts.matrices(w);
        let h = self.device.rows_of_experts(&arranged, x, width);
        let mut products = self.device.table(count * 2 * inner);
        let h = TableMatrix::new(&h, 0, count, width);
        let into = rows(&mut products, 2 * inner);
        self.device.product_of_experts(into, h, gate_up.transposed(), &arranged);
        let mut s = self.device.table(count * inner);
        let gated = GatedRows { a_b: &products, gates: Some(&gates), inner };
        self.device.swiglu(gated, &mut s);
        let mut outputs = self.device.table(count * width);
        let s = TableMatrix::new(&s, 0, count, inner);
        let into = rows(&mut outputs, width);
        self.device.product_of_experts(into, s, down.transposed(), &arranged);
        self.device.add_experts(&arranged, &outputs, y, width);
        GpuKept::Mixture(Box::new(MixtureKept {
            chosen,
            arranged,
            gates,
            products,
            shared,
            tokens,
        }))
    }

    pub(super) fn mix_back(
        &self,
        mixture: &Mixture<f32>,
        kept: &MixtureKept,
        pass: BackwardNumbers<'_, DeviceTable<f32>>,
    ) {
        let BackwardNumbers {
            x: Some(x), w: Some(w), g, before, gx: Some(gx), gw: Some(gw), ..
        } = pass
        else {
            return;
        };
        let parts = MixtureParts::of(mixture);
        let (width, tokens) = (parts.expert.width, kept.tokens);
        let (table, g_gates) = self.experts_back(parts, kept, [x, g, w], gw);
        let mut g_logits = self.device.table(tokens * parts.experts);
        let of = (&kept.chosen, &kept.arranged);
        self.device.choose_back(of, mixture.losses, &g_gates, &mut g_logits);
        let g_logits = TableMatrix::new(&g_logits, 0, tokens, parts.experts);
        let router = TableMatrix::new(w, 0, parts.experts, width);
        self.device.product(gx, Product::new(g_logits, router));
        let product = Product::new(g_logits.transposed(), TableMatrix::new(x, 0, tokens, width));
        self.device.product_into(rows(gw, width), product);
        self.device.add_experts(&kept.arranged, &table, gx, width);
        if let (Some(shape), Some(products)) = (parts.shared, &kept.shared) {
            let of = GatedPass { shape, x, products, g };
            self.gated_back(of, (w, gw, parts.shared_from), (gx, Added::Own));
        }
        self.add_some(gx, before);
    }

    /// Writes the gradients of the experts' weights; answers those of their rows and of the gates.
    fn experts_back(
        &self,
        parts: MixtureParts,
        kept: &MixtureKept,
        [x, g, w]: [&DeviceTable<f32>; 3],
        gw: &mut DeviceTable<f32>,
    ) -> (DeviceTable<f32>, DeviceTable<f32>) {
        let (Gated { width, inner }, arranged) = (parts.expert, &kept.arranged);
        let (count, [gate_up, down]) = (arranged.rows(), parts.matrices(w));
        let [own_x, own_g] = [x, g].map(|of| self.device.rows_of_experts(arranged, of, width));
        let own = |of| TableMatrix::new(of, 0, count, width);
        let mut gs = self.device.table(count * inner);
        self.device.product_of_experts(rows(&mut gs, inner), own(&own_g), down, arranged);
        let (mut s, mut g_products) =
            (self.device.table(count * inner), self.device.table(count * 2 * inner));
        let mut g_gates = self.device.table(count);
        let gated = GatedRows { a_b: &kept.products, gates: Some(&kept.gates), inner };
        self.device.swiglu_back(gated, &gs, [&mut s, &mut g_products], Some(&mut g_gates));
        let mut gx = self.device.table(count * width);
        let left = TableMatrix::new(&g_products, 0, count, 2 * inner);
        self.device.product_of_experts(rows(&mut gx, width), left, gate_up, arranged);
        let inners = TableMatrix::new(&s, 0, count, inner);
        for (from, apart, left, right) in
            [(parts.from, width, left, own(&own_x)), (parts.down, inner, own(&own_g), inners)]
        {
            let into = ProductPlace { table: gw, from, apart, batch: parts.apart() };
            self.device.product_over_experts(into, left, right, arranged);
        }
        (gx, g_gates)
    }

    /// The router's decisions; this waits for the device.
    pub(super) fn load_of(&self, layer: usize, kept: &MixtureKept) -> Load {
        let sums = self.device.chosen_sums(&kept.chosen, &kept.arranged);
        Load {
            layer,
            tokens: kept.tokens as u64,
            undecided: sums.undecided,
            balance: router::balance(&sums.counts, &sums.shares, kept.tokens),
            z: sums.squares / kept.tokens as f64,
            counts: sums.counts,
            shares: sums.shares,
        }
    }
}
