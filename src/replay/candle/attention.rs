//! Causal attention, written out: scores, mask, softmax, mean of values.

use std::collections::BTreeMap;

use candle_core::{Device, Result as CandleResult, Tensor};

use crate::candle::ComputePrecision;
use crate::candle::architecture::{Architecture, limited};
use crate::candle::rotary::RotaryTable;
use crate::candle::softmax::softmax;

/// Tokens of a pass: equally long sequences, one after the other.
#[derive(Debug)]
pub(crate) struct TokenRows<'a> {
    pub inputs: Vec<u32>,
    pub targets: Vec<u32>,
    /// Whether each target counts.
    pub counted: Vec<bool>,
    pub rows: usize,
    pub length: usize,
    /// The document of each token, or none.
    pub documents: &'a [u32],
    /// The position of each token, or none.
    pub positions: &'a [u32],
}

/// The inputs of attention besides the vectors: which tokens see which, and by what they are rotated.
pub(crate) struct AttentionContext {
    precision: ComputePrecision,
    rows: usize,
    length: usize,
    /// By window, 0 where there is none: 0 where a token is seen, minus infinity elsewhere.
    masks: BTreeMap<usize, Tensor>,
    rotary: Option<RotaryTable>,
    window_rotary: Option<RotaryTable>,
}

impl TokenRows<'_> {
    /// Positions for tables of one row, or of each row.
    pub fn places(&self) -> Vec<u32> {
        match self.positions {
            [] => (0..self.length as u32).collect(),
            positions => positions.to_vec(),
        }
    }

    /// Whether the token at `from` of a row sees the one at `to`.
    fn sees(&self, row: usize, from: usize, to: usize, window: usize) -> bool {
        let document = |at: usize| self.documents.get(row * self.length + at);
        let is_near = window == 0 || from < to + window;
        to <= from && is_near && document(from) == document(to)
    }

    fn mask(&self, window: usize, device: &Device) -> CandleResult<Tensor> {
        let rows = if self.documents.is_empty() { 1 } else { self.rows };
        let mut mask = Vec::with_capacity(rows * self.length * self.length);
        for row in 0..rows {
            for from in 0..self.length {
                let of =
                    |to| if self.sees(row, from, to, window) { 0.0 } else { f32::NEG_INFINITY };
                mask.extend((0..self.length).map(of));
            }
        }
        Tensor::from_vec(mask, (rows, 1, self.length, self.length), device)
    }
}

impl AttentionContext {
    /// That of a batch.
    pub fn new(
        plan: &Architecture,
        batch: &TokenRows<'_>,
        precision: ComputePrecision,
        device: &Device,
    ) -> CandleResult<Self> {
        let mut masks = BTreeMap::new();
        for layer in 0..plan.layers {
            let window = plan.window_of(layer).unwrap_or(0);
            if let std::collections::btree_map::Entry::Vacant(entry) = masks.entry(window) {
                entry.insert(batch.mask(window, device)?);
            }
        }
        let places = batch.places();
        let table =
            |rotary: &crate::candle::rotary::Rotary| rotary.table(&places, batch.length, device);
        Ok(Self {
            precision,
            rows: batch.rows,
            length: batch.length,
            masks,
            rotary: plan.rotary.as_ref().map(table).transpose()?,
            window_rotary: plan.window_rotary.as_ref().map(table).transpose()?,
        })
    }

    /// Vectors of heads that lie side by side, as `(rows, heads, tokens, size)`.
    pub fn heads(&self, x: &Tensor, heads: usize, size: usize) -> CandleResult<Tensor> {
        x.reshape((self.rows, self.length, heads, size))?.transpose(1, 2)?.contiguous()
    }

    /// Rotates heads in the way of a layer.
    pub fn rotate(&self, plan: &Architecture, layer: usize, x: &Tensor) -> CandleResult<Tensor> {
        let of_window = self.window_rotary.as_ref().filter(|_| plan.window_of(layer).is_some());
        match of_window.or(self.rotary.as_ref()) {
            Some(table) => table.rotate(x),
            None => Ok(x.clone()),
        }
    }

    /// `softmax(limit(q k^T f) + mask) v` of a layer, from heads of queries, keys and values; rows of tokens come out.
    pub fn attend(
        &self,
        plan: &Architecture,
        layer: usize,
        vectors: [&Tensor; 3],
    ) -> CandleResult<Tensor> {
        let [q, k, v] = vectors;
        let (k, v) = (self.spread(plan, k)?, self.spread(plan, v)?);
        let scores = self.precision.product_in_attention(q, &k.t()?)?;
        let scores = (scores * plan.score_factor)?;
        let scores = limited(scores, plan.score_limit)?;
        let window = plan.window_of(layer).unwrap_or(0);
        let scores = match self.masks.get(&window) {
            Some(mask) => scores.broadcast_add(mask)?,
            None => scores,
        };
        let mixed = self.precision.product_in_attention(&softmax(&scores)?, &v)?;
        let width = plan.heads * plan.head_size;
        mixed.transpose(1, 2)?.contiguous()?.reshape((self.rows * self.length, width))
    }

    /// Keys or values, once for each head of queries.
    fn spread(&self, plan: &Architecture, x: &Tensor) -> CandleResult<Tensor> {
        let (shared, size) = (plan.shared_heads, plan.head_size);
        let each = plan.heads / shared;
        if each == 1 {
            return Ok(x.clone());
        }
        let shape = (self.rows, shared, each, self.length, size);
        let x = x.unsqueeze(2)?.broadcast_as(shape)?.contiguous()?;
        x.reshape((self.rows, plan.heads, self.length, size))
    }
}
