//! A decoder as its config describes it.

use candle_core::{D, Result as CandleResult, Tensor};

use crate::candle::rotary::Rotary;

/// Everything that shapes a decoder, beside the tensors that the start has or lacks (biases, norms of queries and keys).
#[derive(Debug, Clone)]
pub(crate) struct Architecture {
    pub style: BlockStyle,
    pub vocabulary: usize,
    pub width: usize,
    pub inner: usize,
    pub layers: usize,
    pub heads: usize,
    /// Heads of keys and values.
    pub shared_heads: usize,
    pub head_size: usize,
    pub epsilon: f64,
    /// Whether the head is the table of tokens.
    pub is_tied: bool,
    pub norm: NormFormula,
    pub activation: ActivationFormula,
    pub score_factor: f64,
    pub score_limit: Option<f64>,
    pub logit_limit: Option<f64>,
    pub embedding_factor: Option<f64>,
    /// Tokens that each layer sees, its own included; all where there is none.
    pub windows: Vec<Option<usize>>,
    pub rotary: Option<Rotary>,
    /// Of layers with a window, where it is another.
    pub window_rotary: Option<Rotary>,
    pub experts: Option<ExpertPlan>,
}

/// How blocks are put together, and what their tensors are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockStyle {
    Llama(NormSites),
    /// Weights of `Conv1D` are stored as inputs by outputs.
    Gpt2 {
        is_transposed: bool,
    },
    Nanochat(&'static NanochatNames),
}

/// Where the norms of a block stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormSites {
    Before,
    After,
    Both,
}

/// The tensors of nanochat, as its own program or transformers calls them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NanochatNames {
    pub table: &'static str,
    pub block: &'static str,
    pub vectors: [&'static str; 3],
    pub output: &'static str,
    pub network: [&'static str; 2],
}

/// How rows are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormFormula {
    /// `x / rms(x) * w`.
    Rms,
    /// `x / rms(x) * (1 + w)`.
    RmsPlusOne,
    /// `x / rms(x)`.
    RmsPlain,
    /// `(x - mean) / deviation * w`, plus a bias where there is one.
    Layer,
}

/// The function of a network's inner rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActivationFormula {
    Silu,
    Gelu,
    GeluTanh,
    Relu,
    ReluSquared,
}

/// The experts of sparse blocks.
#[derive(Debug, Clone)]
pub(crate) struct ExpertPlan {
    pub count: usize,
    pub per_token: usize,
    pub is_sigmoid: bool,
    /// Whether the gates of a token are divided by their sum.
    pub is_normalized: bool,
    pub has_shared: bool,
    /// Layers at the start without experts.
    pub dense_layers: usize,
    pub balance: BalanceRule,
    /// Weight of the mean square of the routers' log-partition functions.
    pub z_loss: f64,
}

/// The method that balances the load of experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BalanceRule {
    None,
    /// A loss of each layer by itself, with this weight.
    Layer(f64),
    /// One loss over all layers, with this weight.
    Joint(f64),
    /// A bias of the scores that choose, moved by this much after each step.
    Bias(f64),
}

impl Architecture {
    /// The experts of a layer.
    pub fn experts_of(&self, layer: usize) -> Option<&ExpertPlan> {
        self.experts.as_ref().filter(|experts| layer >= experts.dense_layers)
    }

    /// The window of a layer.
    pub fn window_of(&self, layer: usize) -> Option<usize> {
        self.windows.get(layer).copied().flatten()
    }
}

impl NormFormula {
    /// Normalises the last dimension, with a weight and a bias where the formula has them.
    pub fn apply(
        self,
        x: &Tensor,
        epsilon: f64,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
    ) -> CandleResult<Tensor> {
        let x = match self {
            Self::Layer => x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?,
            Self::Rms | Self::RmsPlusOne | Self::RmsPlain => x.clone(),
        };
        let size = (x.sqr()?.mean_keepdim(D::Minus1)? + epsilon)?.sqrt()?;
        let y = x.broadcast_div(&size)?;
        let y = match (self, weight) {
            (Self::RmsPlain, _) | (_, None) => y,
            (Self::RmsPlusOne, Some(weight)) => y.broadcast_mul(&(weight + 1.0)?)?,
            (Self::Rms | Self::Layer, Some(weight)) => y.broadcast_mul(weight)?,
        };
        match bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl ActivationFormula {
    /// The function of each number. candle's own `gelu` has a derivative with constants of six digits, so both forms
    /// are written out.
    pub fn apply(self, x: &Tensor) -> CandleResult<Tensor> {
        match self {
            Self::Silu => candle_nn::ops::silu(x),
            Self::Gelu => (x * 0.5)?.mul(&((x / std::f64::consts::SQRT_2)?.erf()? + 1.0)?),
            Self::GeluTanh => {
                let cube = (x.sqr()?.mul(x)? * 0.044_715)?;
                let bent = ((x + cube)? * (2.0 / std::f64::consts::PI).sqrt())?.tanh()?;
                (x * 0.5)?.mul(&(bent + 1.0)?)
            }
            Self::Relu => x.relu(),
            Self::ReluSquared => x.relu()?.sqr(),
        }
    }
}

/// `limit tanh(x / limit)`, where there is a limit (Gemma Team, 2024).
pub(crate) fn limited(x: Tensor, limit: Option<f64>) -> CandleResult<Tensor> {
    match limit {
        Some(limit) => (x / limit)?.tanh()? * limit,
        None => Ok(x),
    }
}
