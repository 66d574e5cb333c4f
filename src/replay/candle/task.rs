//! A slice of training as plain data: what an engine gets, in terms that name no other engine's types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use crate::candle::ComputePrecision;

/// A slice to execute.
#[derive(Debug, Clone)]
pub struct SliceTask {
    /// The `config.json` of the run.
    pub config: Map<String, Json>,
    /// In how many bits the model computes.
    pub precision: ComputePrecision,
    /// Sequences of a batch.
    pub batch_size: usize,
    /// Tokens of a sequence.
    pub seq_len: usize,
    /// Weights by name, and the optimizer's moments as `optimizer.m.NAME` (mean), `optimizer.v.NAME` (mean of squares)
    /// and `optimizer.x.NAME` (greatest mean of squares).
    pub tensors: BTreeMap<String, StartTensor>,
    /// Updates that the optimizer made before the slice.
    pub updates_before: u64,
    /// Micro-batches of equal size in a batch.
    pub micro_batches: usize,
    /// Whether a micro-batch weighs as many targets as it counts, and not as much as every other.
    pub weighs_by_targets: bool,
    /// Whether each micro-batch adds its whole balance loss, and not its share of it.
    pub has_whole_balance_loss: bool,
    /// The share of a target that is spread over the vocabulary.
    pub label_smoothing: f64,
    /// The weight of the mean square of the log-partition function.
    pub z_loss: f64,
    /// The largest gradient norm; 0 clips nothing.
    pub clip: f64,
    /// The groups of the optimizer. Tensors in none of them are not trained.
    pub groups: Vec<TaskGroup>,
    /// The steps.
    pub steps: Vec<TaskStep>,
}

/// A tensor at the start of a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct StartTensor {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its elements, row by row.
    pub values: Vec<f32>,
}

/// Tensors that are updated by one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskGroup {
    /// Their names.
    pub tensors: BTreeSet<String>,
    /// The rule.
    pub rule: UpdateRule,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStep {
    /// Rows of `seq_len + 1` tokens, one after the other.
    pub tokens: Vec<u32>,
    /// Which targets count; empty where all do.
    pub counted: Vec<bool>,
    /// The document of each input token; empty where a row is one document.
    pub documents: Vec<u32>,
    /// The position of each input token; empty where they are 0, 1, ...
    pub positions: Vec<u32>,
    /// The factor of the loss before the backward pass.
    pub loss_scale: f64,
    /// The norm that decides how far gradients are scaled down, where it is not their own.
    pub clip_by: Option<f64>,
    /// The numbers of each group.
    pub groups: Vec<GroupNumbersAt>,
}

/// The numbers of a group in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupNumbersAt {
    /// Learning rate.
    pub rate: f64,
    /// Weight decay, per unit of learning rate.
    pub decay: f64,
    /// Of the first moment, or the momentum.
    pub beta1: f64,
    /// Of the second moment.
    pub beta2: f64,
}

/// How a tensor is updated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpdateRule {
    /// AdamW: decoupled weight decay (I. Loshchilov and F. Hutter, 2019), with AMSGrad where asked for.
    AdamW {
        /// Added to the root of the second moment.
        epsilon: f64,
        /// Whether the greatest second moment so far is divided by.
        amsgrad: bool,
    },
    /// Adam with L2 regularisation (D. Kingma and J. Ba, 2015).
    Adam {
        /// As above.
        epsilon: f64,
        /// As above.
        amsgrad: bool,
    },
    /// Stochastic gradient descent with momentum `beta1`.
    Sgd {
        /// The share of a gradient that does not enter the momentum.
        dampening: f64,
        /// Whether the step looks ahead.
        nesterov: bool,
    },
    /// Lion (X. Chen et al., 2023).
    Lion,
    /// Muon (K. Jordan and others, 2024).
    Muon(MuonRule),
}

/// How Muon orthogonalises a matrix, with momentum `beta1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MuonRule {
    /// Whether the step looks ahead.
    pub nesterov: bool,
    /// Newton-Schulz iterations.
    pub iterations: u32,
    /// Their coefficients a, b, c.
    pub coefficients: [f64; 3],
    /// Whether they run in bfloat16.
    pub is_bfloat16: bool,
    /// Keeps the norm from being zero.
    pub epsilon: f64,
    /// The factor of a matrix's step.
    pub scale: ScaleRule,
    /// Whether sums round together with their products and the norm is clamped at epsilon, as in `torch.optim.Muon`;
    /// else each operation rounds and epsilon is added, as in `muon.py`.
    pub is_torch: bool,
}

/// The factor of a matrix's step, beside the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleRule {
    /// `sqrt(max(1, rows / columns))`.
    Original,
    /// `0.2 sqrt(max(rows, columns))`.
    MatchRmsAdamw,
    /// `sqrt(rows / columns)`.
    SpectralUnclamped,
    /// 1.
    One,
}

/// The rows of one part of a model, for the first sequence of a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenState {
    /// `embedding`, `attention of layer K`, `network of layer K`, or `head`.
    pub part: String,
    /// The residual stream behind it: tokens by width. For the head the nats of each target.
    pub rows: Vec<f32>,
}
