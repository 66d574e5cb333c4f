//! Causal attention of grouped heads. Scores lie in memory for some heads at a time.

use super::handle::{Device, int, long};
use super::product::{Added, KRange, Product, ProductBatches, ProductPlace, TableMatrix};
use super::table::DeviceTable;
use crate::portable::AttentionShape;

/// Numbers of scores that are held at a time, at most; those of one head are in any case.
const HELD: usize = 1 << 25;
/// Batches that one launch can have.
const BATCHES: usize = 1 << 15;

/// The shape of attention: [`AttentionShape`].
#[derive(Debug, Clone, Copy)]
pub struct AttentionHeads<'a> {
    pub heads: usize,
    pub key_value_heads: usize,
    pub head_dim: usize,
    /// The factor of scores.
    pub scale: f32,
    /// Tokens of a sequence.
    pub length: usize,
    /// The soft limit of scores.
    pub cap: Option<f32>,
    /// So many tokens are seen, the own one and those before it.
    pub window: Option<usize>,
    /// The document of each token, which sees no token of others.
    pub documents: Option<&'a DeviceTable<u32>>,
}

/// Cosines and sines of positions, and which of them tokens have, if not 0, 1, ...
#[derive(Debug)]
pub struct AttentionTables {
    pub cosines: DeviceTable<f32>,
    pub sines: DeviceTable<f32>,
    pub positions: Option<DeviceTable<u32>>,
}

/// Probabilities of some sequences, and the limited scores that they were made of, where there is a limit.
struct Shares {
    shares: DeviceTable<f32>,
    limited: DeviceTable<f32>,
}

impl AttentionHeads<'_> {
    /// Those of a shape, over sequences of so many tokens of one document. What it does inside has to be exact.
    pub fn of(shape: &AttentionShape<f32>, length: usize) -> Self {
        let [heads, key_value_heads, head_dim] = shape.heads();
        Self {
            heads,
            key_value_heads,
            head_dim,
            scale: shape.scale(),
            length,
            cap: shape.cap(),
            window: shape.window(),
            documents: None,
        }
    }

    fn width(self) -> usize {
        (self.heads + 2 * self.key_value_heads) * self.head_dim
    }

    fn share(self) -> usize {
        self.heads / self.key_value_heads
    }

    /// Numbers of a head's scores.
    fn scores(self) -> usize {
        self.length * self.length
    }

    /// Sequences whose scores are held at a time.
    fn at_once(self) -> usize {
        let most = HELD / (self.heads * self.scores()).max(1);
        most.min(BATCHES / self.heads).max(1)
    }

    /// Where the queries (0), keys (1) or values (2) of a sequence's first head begin.
    fn place(self, sequence: usize, part: usize) -> usize {
        let first = [0, self.heads, self.heads + self.key_value_heads][part] * self.head_dim;
        sequence * self.length * self.width() + first
    }

    /// Rows of a sequence: those of queries (0), keys (1) or values (2) of the first head.
    fn part(self, rows: &DeviceTable<f32>, sequence: usize, part: usize) -> TableMatrix<'_> {
        let from = self.place(sequence, part);
        let batch = [self.length * self.width(), self.head_dim];
        TableMatrix::new(rows, from, self.length, self.head_dim).apart(self.width()).batched(batch)
    }

    /// Rows of outputs, or of their gradients.
    fn output(self, rows: &DeviceTable<f32>, sequence: usize) -> TableMatrix<'_> {
        let width = self.heads * self.head_dim;
        TableMatrix::new(rows, sequence * self.length * width, self.length, self.head_dim)
            .apart(width)
            .batched([self.length * width, self.head_dim])
    }

    /// The scores of all heads of some sequences.
    fn square(self, scores: &DeviceTable<f32>) -> TableMatrix<'_> {
        let batch = [self.heads * self.scores(), self.scores()];
        TableMatrix::new(scores, 0, self.length, self.length).batched(batch)
    }

    fn into_square(self, scores: &mut DeviceTable<f32>) -> ProductPlace<'_> {
        let batch = [self.heads * self.scores(), self.scores()];
        ProductPlace { table: scores, from: 0, apart: self.length, batch }
    }

    /// The factor that probabilities are made with: a limit has it before.
    fn softmax_scale(self) -> f32 {
        if self.cap.is_some() { 1.0 } else { self.scale }
    }

    fn batches(self, sequences: usize) -> ProductBatches {
        ProductBatches { counts: [sequences, self.heads], share: self.share() }
    }
}

impl Device {
    /// Rotates queries and keys in place, forward or back.
    pub fn rotate(
        &self,
        heads: AttentionHeads<'_>,
        angles: &AttentionTables,
        rows: &mut DeviceTable<f32>,
        sign: f32,
    ) {
        let nothing = self.table(0);
        let positions = angles.positions.as_ref();
        let (tokens, rotated) = (rows.len() / heads.width(), heads.heads + heads.key_value_heads);
        self.launch_each(
            "rotate",
            tokens * rotated * heads.head_dim / 2,
            &[
                rows.into(),
                (&angles.cosines).into(),
                (&angles.sines).into(),
                positions.unwrap_or(&nothing).into(),
                i32::from(positions.is_some()).into(),
                long(tokens).into(),
                int(heads.length).into(),
                int(heads.width()).into(),
                int(rotated).into(),
                int(heads.head_dim / 2).into(),
                sign.into(),
            ],
        );
    }

    /// The outputs of rows whose queries and keys are rotated ([`crate::portable::AttentionShape::forward`]).
    pub fn attention(
        &self,
        heads: AttentionHeads<'_>,
        rows: &DeviceTable<f32>,
        output: &mut DeviceTable<f32>,
    ) {
        let sequences = rows.len() / heads.width() / heads.length;
        let width = heads.heads * heads.head_dim;
        for from in (0..sequences).step_by(heads.at_once()) {
            let count = heads.at_once().min(sequences - from);
            let Shares { shares, .. } = self.shares(heads, rows, [from, count]);
            let values = heads.part(rows, from, 2);
            let product = Product::new(heads.square(&shares), values);
            let product =
                Product { batches: heads.batches(count), range: KRange::ToTile, ..product };
            let (from, batch) =
                (from * heads.length * width, [heads.length * width, heads.head_dim]);
            self.product_into(ProductPlace { table: output, from, apart: width, batch }, product);
        }
    }

    /// The probabilities of some sequences.
    fn shares(
        &self,
        heads: AttentionHeads<'_>,
        rows: &DeviceTable<f32>,
        [from, count]: [usize; 2],
    ) -> Shares {
        let all = count * heads.heads * heads.scores();
        let mut shares = self.table(all);
        let (queries, keys) = (heads.part(rows, from, 0), heads.part(rows, from, 1));
        let product = Product::new(queries, keys.transposed());
        let (batches, range) = (heads.batches(count), KRange::ColumnsToTile);
        self.product_into(heads.into_square(&mut shares), Product { batches, range, ..product });
        let limited = self.limit_scores(heads, &mut shares, from);
        let lines = all / heads.length;
        self.launch_rows(
            "soften",
            lines,
            &[
                (&mut shares).into(),
                long(lines).into(),
                int(heads.length).into(),
                heads.softmax_scale().into(),
            ],
        );
        Shares { shares, limited }
    }

    /// Limits and hides scores of sequences from number `from` on, where there is something to do; answers the limited ones.
    fn limit_scores(
        &self,
        heads: AttentionHeads<'_>,
        scores: &mut DeviceTable<f32>,
        from: usize,
    ) -> DeviceTable<f32> {
        let AttentionHeads { length, scale, cap, window, documents, .. } = heads;
        let mut limited = self.table(if cap.is_some() { scores.len() } else { 0 });
        if cap.is_none() && window.is_none() && documents.is_none() {
            return limited;
        }
        let nothing = self.table(0);
        let of_documents = documents.map_or(nothing.from(0), |all| all.from(from * length));
        self.launch_each(
            "limit_scores",
            scores.len(),
            &[
                (&mut *scores).into(),
                (&mut limited).into(),
                of_documents.into(),
                i32::from(documents.is_some()).into(),
                long(scores.len() / length).into(),
                int(length).into(),
                int(heads.heads).into(),
                scale.into(),
                i32::from(cap.is_some()).into(),
                cap.unwrap_or(1.0).into(),
                window.map_or(i32::MAX, int).into(),
            ],
        );
        limited
    }

    /// The gradient of rotated queries and keys, and of values ([`crate::portable::AttentionShape::backward`], but for
    /// rotating back).
    pub fn attention_back(
        &self,
        heads: AttentionHeads<'_>,
        rows: &DeviceTable<f32>,
        gradient: &DeviceTable<f32>,
        into: &mut DeviceTable<f32>,
    ) {
        let sequences = rows.len() / heads.width() / heads.length;
        for from in (0..sequences).step_by(heads.at_once()) {
            let count = heads.at_once().min(sequences - from);
            self.attention_back_of(heads, [rows, gradient], into, [from, count]);
        }
    }

    fn attention_back_of(
        &self,
        heads: AttentionHeads<'_>,
        [rows, gradient]: [&DeviceTable<f32>; 2],
        into: &mut DeviceTable<f32>,
        [from, count]: [usize; 2],
    ) {
        let (batches, lines) = (heads.batches(count), count * heads.heads * heads.length);
        let Shares { shares, limited } = self.shares(heads, rows, [from, count]);
        let mut moved = self.table(shares.len());
        let [queries, keys, values] = [0, 1, 2].map(|part| heads.part(rows, from, part));
        let outputs = heads.output(gradient, from);
        let product = Product::new(outputs, values.transposed());
        let range = KRange::ColumnsToTile;
        self.product_into(heads.into_square(&mut moved), Product { batches, range, ..product });
        self.launch_rows(
            "soften_back",
            lines,
            &[
                (&shares).into(),
                (&mut moved).into(),
                long(lines).into(),
                int(heads.length).into(),
                heads.softmax_scale().into(),
            ],
        );
        if let Some(cap) = heads.cap {
            self.launch_each(
                "limit_scores_back",
                moved.len(),
                &[
                    (&limited).into(),
                    (&mut moved).into(),
                    long(lines).into(),
                    int(heads.length).into(),
                    heads.scale.into(),
                    cap.into(),
                ],
            );
        }
        let (width, dim) = (heads.width(), heads.head_dim);
        let place = |part: usize| heads.place(from, part);
        let batch = [heads.length * width, dim];
        let product =
            Product { batches, range: KRange::ToTile, ..Product::new(heads.square(&moved), keys) };
        self.product_into(
            ProductPlace { table: into, from: place(0), apart: width, batch },
            product,
        );
        // Heads of a group follow each other: each adds to what those before it came to.
        for head in 0..heads.share() {
            let added = if head == 0 { Added::Nothing } else { Added::Own };
            let batches = ProductBatches { counts: [count, heads.key_value_heads], share: 1 };
            for (of, by, part) in [(&moved, queries, 1), (&shares, outputs, 2)] {
                let of = heads.square(of).transposed().of_each(heads.share(), head, heads.scores());
                let by = by.of_each(heads.share(), head, dim);
                let product =
                    Product { batches, range: KRange::FromTile, added, ..Product::new(of, by) };
                self.product_into(
                    ProductPlace { table: into, from: place(part), apart: width, batch },
                    product,
                );
            }
        }
    }
}
