//! The formulas in the kernels of a device.

use super::Bits;
use super::formulas::{Formulas, NormCase, ProductCase, RouterAnswer, RouterCase};
use super::training::Rehearsal;
use crate::backend::Gpu;
use repro_core::source::Error;
use repro_kernels::device::{
    Added, AttentionHeads, AttentionTables, Device, GatedRows, NormRows, NumberFunction, Product,
    TableMatrix,
};
use repro_kernels::portable::adamw::Update;
use repro_kernels::portable::{AttentionShape, Isa, router};

impl Formulas for Device {
    fn function(&self, x: &[f32], is_logarithm: bool) -> Vec<f32> {
        let mut y = self.table(x.len());
        let function =
            if is_logarithm { NumberFunction::Logarithm } else { NumberFunction::Exponential };
        self.functions(&self.upload(x), &mut y, function);
        y.read_all()
    }

    fn product(&self, case: ProductCase<'_>) -> Vec<f32> {
        let ProductCase { shape: [m, n, k], a, b, turned, add } = case;
        let (a, b, add) = (self.upload(a), self.upload(b), add.map(|add| self.upload(add)));
        let [a, b] = [(&a, m, k), (&b, k, n)].map(|(table, rows, columns)| match turned {
            false => TableMatrix::new(table, 0, rows, columns),
            true => TableMatrix::new(table, 0, columns, rows).transposed(),
        });
        let mut c = self.table(m * n);
        let added = add.as_ref().map_or(Added::Nothing, Added::Table);
        Device::product(self, &mut c, Product { added, ..Product::new(a, b) });
        c.read_all()
    }

    fn norm(&self, rows: NormCase<'_>) -> [Vec<f32>; 3] {
        let NormCase { x, weight, epsilon, g, residual } = rows;
        let [x, own_weight, g, residual] = [x, weight, g, residual].map(|of| self.upload(of));
        let (width, weight) = (weight.len(), own_weight.from(0));
        let of = NormRows { x: &x, weight, width, epsilon, spread: None };
        let [mut y, mut gx, mut gw] = [x.len(), x.len(), width].map(|length| self.table(length));
        Device::norm(self, of, &mut y);
        self.norm_back(of, &g, Some(&residual), &mut gx, Some((&mut gw, 0)));
        [y, gx, gw].map(|table| table.read_all())
    }

    fn attention(
        &self,
        shape: &AttentionShape<f32>,
        length: usize,
        rows: &[f32],
        gradient: &[f32],
    ) -> [Vec<f32>; 3] {
        let heads = AttentionHeads::of(shape, length);
        let tables = shape.rope().map_or([&[][..]; 2], |rope| rope.tables());
        let [cosines, sines] = tables.map(|table| self.upload(table));
        let angles = AttentionTables { cosines, sines, positions: None };
        let (mut rows, gradient) = (self.upload(rows), self.upload(gradient));
        let (mut output, mut into) = (self.table(gradient.len()), self.table(rows.len()));
        self.rotate(heads, &angles, &mut rows, 1.0);
        Device::attention(self, heads, &rows, &mut output);
        self.attention_back(heads, &rows, &gradient, &mut into);
        self.rotate(heads, &angles, &mut into, -1.0);
        [rows, output, into].map(|table| table.read_all())
    }

    fn swiglu(
        &self,
        inner: usize,
        a_b: &[f32],
        gates: Option<&[f32]>,
        gs: &[f32],
    ) -> [Vec<f32>; 4] {
        let (a_b, gs) = (self.upload(a_b), self.upload(gs));
        let gates = gates.map(|gates| self.upload(gates));
        let of = GatedRows { a_b: &a_b, gates: gates.as_ref(), inner };
        let lengths =
            [gs.len(), gs.len(), a_b.len(), gates.as_ref().map_or(0, |gates| gates.len())];
        let [mut s, mut again, mut g, mut g_gates] = lengths.map(|length| self.table(length));
        Device::swiglu(self, of, &mut s);
        let of_gates = gates.is_some().then_some(&mut g_gates);
        self.swiglu_back(of, &gs, [&mut again, &mut g], of_gates);
        [s, again, g, g_gates].map(|table| table.read_all())
    }

    fn route(&self, case: RouterCase<'_>) -> RouterAnswer {
        let RouterCase { router, logits, bias, losses, g_gates } = case;
        let chosen = self.choose(router, self.upload(logits), bias);
        let arranged = self.arrange(router.experts, router.per_token, &chosen.experts);
        let g_rows = self.to_rows(&arranged, &self.upload(g_gates));
        let mut g_logits = self.table(logits.len());
        self.choose_back((&chosen, &arranged), losses, &g_rows, &mut g_logits);
        let (sums, tokens) = (self.chosen_sums(&chosen, &arranged), logits.len() / router.experts);
        let balance = router::balance(&sums.counts, &sums.shares, tokens);
        RouterAnswer {
            gates: chosen.gates.read_all(),
            g_logits: g_logits.read_all(),
            chosen: chosen.experts.read_all(),
            losses: [balance, sums.squares / tokens as f64],
        }
    }

    fn add_experts(
        &self,
        [experts, per_token]: [usize; 2],
        chosen: &[u32],
        width: usize,
        [table, to]: [&[f32]; 2],
    ) -> Vec<f32> {
        let arranged = self.arrange(experts, per_token, &self.upload(chosen));
        let mut to = self.upload(to);
        Device::add_experts(self, &arranged, &self.upload(table), &mut to, width);
        to.read_all()
    }

    fn cross_entropy(&self, logits: &[f32], targets: &[u32]) -> [Vec<f32>; 4] {
        let (mut logits, targets) = (self.upload(logits), self.upload(targets));
        let rows = targets.len();
        let [mut first, mut nats] = [rows; 2].map(|length| self.table(length));
        let mut greedy = self.table(rows);
        self.score(&logits, targets.from(0), &mut first, &mut greedy);
        Device::cross_entropy(self, &mut logits, targets.from(0), &mut nats, rows);
        let greedy = greedy.read_all().into_iter().map(|greedy| greedy as f32).collect();
        [first.read_all(), greedy, nats.read_all(), logits.read_all()]
    }

    fn squares(&self, values: &[f32]) -> f64 {
        let of = self.upload(values);
        Device::squares(self, &[(&of, 0..values.len())]).into_iter().sum()
    }

    fn adamw(&self, state: &mut [Vec<f32>; 3], gradient: &[f32], update: Update<f32>) {
        let [mut w, mut m, mut v] = state.each_ref().map(|of| self.upload(of));
        let of = (&mut w, &self.upload(gradient));
        Device::adamw(self, of, 0..gradient.len(), [&mut m, &mut v], update);
        *state = [w, m, v].map(|table| table.read_all());
    }

    fn train(&self, model: &str, bits: &mut Bits) -> Result<(), Error> {
        Rehearsal::new(Gpu::new(self.clone(), Isa::best()), model)?.perform(bits)
    }
}
