//! Token mixers: attention with grouped heads, latent attention, and linear attention.

use super::blocks::Heads;
use super::fields::ConfigFields;
use super::{Error, Part, Size, TensorList};

/// One kind of mixer, counted in both ways.
pub trait Mixer {
    /// Its tensors.
    fn list(&self, tensors: &mut TensorList, hidden: Size);
    /// The parameters of one layer in closed form, without norms.
    fn projections(&self, hidden: Size) -> Size;
    /// Elements of the norms of one layer in closed form.
    fn norms(&self) -> Size;
}

/// Norms over queries and over keys.
#[derive(Debug, Clone, Copy)]
pub struct HeadNorms {
    /// Their names.
    pub names: [&'static str; 2],
    /// Width of the norm over queries.
    pub queries: Size,
    /// Width of the norm over keys.
    pub keys: Size,
}

impl HeadNorms {
    /// One norm that all heads share.
    pub fn of_a_head(heads: Heads) -> Self {
        Self { names: ["q_norm", "k_norm"], queries: heads.size, keys: heads.size }
    }

    /// Norms over all heads together.
    pub fn of_all_heads(heads: Heads) -> Self {
        Self { queries: heads.queries(), keys: heads.keys(), ..Self::of_a_head(heads) }
    }
}

/// The gate on the output of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputGate {
    /// Nothing.
    None,
    /// A gate for each element, in the matrix of the queries.
    InQueries,
    /// A matrix of its own, of this width.
    Own(Size),
}

/// Attention with grouped heads.
#[derive(Debug, Clone, Copy)]
pub struct Grouped {
    /// The heads.
    pub heads: Heads,
    /// Biases of queries, keys and values.
    pub input_bias: bool,
    /// The bias of the output.
    pub output_bias: bool,
    /// Norms inside.
    pub norms: Option<HeadNorms>,
    /// Whether it has its own keys and values instead of those of an earlier layer.
    pub own_keys: bool,
    /// Whether the values are not the keys.
    pub own_values: bool,
    /// Width of a head of values.
    pub value: Size,
    /// See [`OutputGate`].
    pub gate: OutputGate,
    /// Whether each head has a learned sink.
    pub sinks: bool,
}

impl Grouped {
    /// Without biases, norms, gates and sinks.
    pub fn new(heads: Heads) -> Self {
        let (input_bias, output_bias, sinks) = (false, false, false);
        Self {
            heads,
            input_bias,
            output_bias,
            norms: None,
            own_keys: true,
            own_values: true,
            value: heads.size,
            gate: OutputGate::None,
            sinks,
        }
    }

    /// With the same biases on input and output.
    pub fn biased(self, bias: bool) -> Self {
        Self { input_bias: bias, output_bias: bias, ..self }
    }

    /// With a norm over each head of queries and of keys.
    pub fn normed(self) -> Self {
        Self { norms: Some(HeadNorms::of_a_head(self.heads)), ..self }
    }

    /// The width of the query projection.
    fn queries(&self) -> Size {
        self.heads.queries() * if self.gate == OutputGate::InQueries { 2 } else { 1 }
    }
}

impl Mixer for Grouped {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let layer = "model.layers.{layer}.self_attn";
        let keys = if self.own_keys { self.heads.keys() } else { Size::ZERO };
        let has_values = self.own_keys && self.own_values;
        let values = if has_values { self.heads.key_value * self.value } else { Size::ZERO };
        for (name, width) in [("q", self.queries()), ("k", keys), ("v", values)] {
            if width != Size::ZERO {
                let name = format!("{layer}.{name}_proj");
                tensors.linear(Part::Attention, &name, width, hidden, self.input_bias);
            }
        }
        if let OutputGate::Own(width) = self.gate {
            tensors.linear(Part::Attention, &format!("{layer}.gate_proj"), width, hidden, false);
        }
        let (name, width) = (format!("{layer}.o_proj"), self.heads.count * self.value);
        tensors.linear(Part::Attention, &name, hidden, width, self.output_bias);
        if self.sinks {
            tensors.tensor(Part::Attention, &format!("{layer}.sinks"), &[self.heads.count]);
        }
        if let Some(HeadNorms { names, queries, keys }) = self.norms {
            let norms = names.into_iter().zip([queries, keys]);
            for (name, width) in norms.filter(|(_, width)| *width != Size::ZERO) {
                tensors.norm(&format!("{layer}.{name}"), width, false);
            }
        }
    }

    fn projections(&self, h: Size) -> Size {
        let (q, a) = (self.queries(), self.heads.count * self.value);
        let own_values = self.heads.key_value * self.value * self.own_values;
        let g = (self.heads.keys() + own_values) * self.own_keys;
        let gate = match self.gate {
            OutputGate::Own(width) => h * width,
            OutputGate::None | OutputGate::InQueries => Size::ZERO,
        };
        h * (q + a + g)
            + (q + g) * self.input_bias
            + h * self.output_bias
            + gate
            + self.heads.count * self.sinks
    }

    fn norms(&self) -> Size {
        self.norms.map_or(Size::ZERO, |norms| norms.queries + norms.keys)
    }
}

/// Latent attention: queries through their own rank (if there is one), keys and values through another.
#[derive(Debug, Clone, Copy)]
pub struct Latent {
    /// Heads.
    pub heads: Size,
    /// The rank of the queries; none if they are projected in one step.
    pub query_rank: Option<Size>,
    /// Rank of keys and values.
    pub rank: Size,
    /// The part of a query or key head without positions.
    pub plain: Size,
    /// The part with positions.
    pub rotary: Size,
    /// Width of a value head.
    pub value: Size,
    /// Biases on the way into the ranks and out of attention.
    pub bias: bool,
    /// The module that selects the attended positions; none if all are.
    pub indexer: Option<Indexer>,
}

/// The indexer of sparse attention: its queries come from the rank of the queries, its one key from the residual stream.
#[derive(Debug, Clone, Copy)]
pub struct Indexer {
    /// Heads.
    pub heads: Size,
    /// Width of a head.
    pub size: Size,
}

impl Latent {
    /// The fields that DeepSeek and its successors use; `heads` is the default.
    pub fn read(fields: &ConfigFields<'_>, heads: u64, query_rank: u64) -> Result<Self, Error> {
        let query_rank = fields.count_or_none("q_lora_rank", query_rank)?;
        Ok(Self {
            heads: fields.size("num_attention_heads|n_heads", heads)?,
            query_rank: (query_rank != Size::ZERO).then_some(query_rank),
            rank: fields.size("kv_lora_rank", 512)?,
            plain: fields.size("qk_nope_head_dim", 128)?,
            rotary: fields.size("qk_rope_head_dim", 64)?,
            value: fields.size("v_head_dim", 128)?,
            bias: fields.flag("attention_bias", false)?,
            indexer: None,
        })
    }
}

impl Mixer for Latent {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.self_attn.{name}");
        let queries = self.heads * (self.plain + self.rotary);
        let mut linear = |part: &str, output, input, bias| {
            tensors.linear(Part::Attention, &name(part), output, input, bias);
        };
        match self.query_rank {
            Some(rank) => {
                linear("q_a_proj", rank, hidden, self.bias);
                linear("q_b_proj", queries, rank, false);
            }
            None => linear("q_proj", queries, hidden, false),
        }
        linear("kv_a_proj_with_mqa", self.rank + self.rotary, hidden, self.bias);
        linear("kv_b_proj", self.heads * (self.plain + self.value), self.rank, false);
        linear("o_proj", hidden, self.heads * self.value, self.bias);
        if let Some(rank) = self.query_rank {
            tensors.norm(&name("q_a_layernorm"), rank, false);
        }
        tensors.norm(&name("kv_a_layernorm"), self.rank, false);
        if let Some((Indexer { heads, size }, rank)) = self.indexer.zip(self.query_rank) {
            let mut linear = |part: &str, output, input| {
                tensors.linear(Part::Attention, &name(part), output, input, false);
            };
            linear("indexer.wq_b", heads * size, rank);
            linear("indexer.wk", size, hidden);
            linear("indexer.weights_proj", heads, hidden);
            tensors.norm(&name("indexer.k_norm"), size, true);
        }
    }

    fn projections(&self, h: Size) -> Size {
        let Self { heads: n, rank: c, plain: p, rotary: r, value: u, bias, .. } = *self;
        let picked = match self.indexer.zip(self.query_rank) {
            Some((Indexer { heads, size }, rank)) => size * (heads * rank + h) + heads * h,
            None => Size::ZERO,
        };
        let queries = match self.query_rank {
            Some(q) => h * q + q * bias + q * n * (p + r),
            None => h * n * (p + r),
        };
        queries + (h + bias) * (c + r) + c * n * (p + u) + n * u * h + h * bias + picked
    }

    fn norms(&self) -> Size {
        let picked = self.indexer.map_or(Size::ZERO, |indexer| indexer.size * 2);
        self.rank + self.query_rank.unwrap_or(Size::ZERO) + picked
    }
}

/// A gated delta network: queries, keys, values and a gate in one matrix, a short convolution, decay rates.
#[derive(Debug, Clone, Copy)]
pub struct DeltaNet {
    /// Heads of queries and keys.
    pub key_heads: Size,
    /// Heads of values.
    pub value_heads: Size,
    /// Width of a key head.
    pub key: Size,
    /// Width of a value head.
    pub value: Size,
    /// Positions that the convolution sees.
    pub kernel: Size,
    /// Whether queries with keys and values, the gate, and both rates have matrices of their own.
    pub is_split: bool,
}

impl DeltaNet {
    fn keys(&self) -> Size {
        self.key_heads * self.key
    }

    fn values(&self) -> Size {
        self.value_heads * self.value
    }
}

impl Mixer for DeltaNet {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.linear_attn.{name}");
        let (part, keys, values, heads) =
            (Part::Attention, self.keys(), self.values(), self.value_heads);
        let channels = keys * 2 + values;
        if self.is_split {
            tensors.linear(part, &name("in_proj_qkv"), channels, hidden, false);
            tensors.linear(part, &name("in_proj_z"), values, hidden, false);
            tensors.linear(part, &name("in_proj_b"), heads, hidden, false);
            tensors.linear(part, &name("in_proj_a"), heads, hidden, false);
        } else {
            tensors.linear(part, &name("in_proj_qkvz"), (keys + values) * 2, hidden, false);
            tensors.linear(part, &name("in_proj_ba"), heads * 2, hidden, false);
        }
        tensors.tensor(part, &name("conv1d.weight"), &[channels, 1.into(), self.kernel]);
        tensors.tensor(part, &name("dt_bias"), &[heads]);
        tensors.tensor(part, &name("A_log"), &[heads]);
        tensors.linear(part, &name("out_proj"), hidden, values, false);
        tensors.norm(&name("norm"), self.value, false);
    }

    fn projections(&self, h: Size) -> Size {
        let (k, v, n) = (self.keys(), self.values(), self.value_heads);
        h * (k * 2 + v * 3 + n * 2) + (k * 2 + v) * self.kernel + n * 2
    }

    fn norms(&self) -> Size {
        self.value
    }
}

/// Lightning attention: queries, keys and values in one matrix, a gate and a norm before the output.
#[derive(Debug, Clone, Copy)]
pub struct Lightning {
    /// Width of all heads.
    pub width: Size,
}

impl Mixer for Lightning {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.self_attn.{name}");
        tensors.linear(Part::Attention, &name("qkv_proj"), self.width * 3, hidden, false);
        tensors.linear(Part::Attention, &name("output_gate"), self.width, hidden, false);
        tensors.linear(Part::Attention, &name("out_proj"), hidden, self.width, false);
        tensors.norm(&name("norm"), self.width, false);
    }

    fn projections(&self, h: Size) -> Size {
        h * self.width * 5
    }

    fn norms(&self) -> Size {
        self.width
    }
}

/// A selective state space.
#[derive(Debug, Clone, Copy)]
pub struct Mamba {
    /// Inner width.
    pub inner: Size,
    /// Size of the state.
    pub state: Size,
    /// Positions that the convolution sees.
    pub kernel: Size,
    /// Rank of the step.
    pub rank: Size,
    /// The bias of the convolution.
    pub conv_bias: bool,
    /// Biases of the projections into and out of the block.
    pub bias: bool,
    /// Whether step, input and output have norms with weights.
    pub normed: bool,
}

impl Mixer for Mamba {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.mamba.{name}");
        let Self { inner, state, kernel, rank, conv_bias, bias, normed } = *self;
        let part = Part::Attention;
        tensors.linear(part, &name("in_proj"), inner * 2, hidden, bias);
        tensors.tensor(part, &name("conv1d.weight"), &[inner, 1.into(), kernel]);
        if conv_bias {
            tensors.tensor(part, &name("conv1d.bias"), &[inner]);
        }
        tensors.linear(part, &name("x_proj"), rank + state * 2, inner, false);
        tensors.linear(part, &name("dt_proj"), inner, rank, true);
        tensors.tensor(part, &name("A_log"), &[inner, state]);
        tensors.tensor(part, &name("D"), &[inner]);
        tensors.linear(part, &name("out_proj"), hidden, inner, bias);
        if normed {
            tensors.norm(&name("dt_layernorm"), rank, false);
            tensors.norm(&name("b_layernorm"), state, false);
            tensors.norm(&name("c_layernorm"), state, false);
        }
    }

    fn projections(&self, h: Size) -> Size {
        let Self { inner: d, state: n, kernel, rank: r, conv_bias, bias, .. } = *self;
        d * h * 3 + (d * 2 + h) * bias + d * kernel + d * conv_bias + d * (r * 2 + n * 3) + d * 2
    }

    fn norms(&self) -> Size {
        (self.rank + self.state * 2) * self.normed
    }
}

/// A state space with scalar decay for each head, as of Mamba-2.
#[derive(Debug, Clone, Copy)]
pub struct Mamba2 {
    /// Heads.
    pub heads: Size,
    /// Width of all heads.
    pub inner: Size,
    /// Groups that share input and output of the state.
    pub groups: Size,
    /// Size of the state.
    pub state: Size,
    /// Positions that the convolution sees.
    pub kernel: Size,
    /// The bias of the convolution.
    pub conv_bias: bool,
    /// Biases of the projections into and out of the block.
    pub bias: bool,
    /// Whether the output has a norm.
    pub normed: bool,
}

impl Mamba2 {
    /// Reads the fields that Bamba and its successors use, with their defaults; `inner` is the width, or none if it is
    /// `mamba_expand` times that of the residual stream.
    pub fn read(
        fields: &ConfigFields<'_>,
        hidden: Size,
        inner: Option<Size>,
        normed: bool,
    ) -> Result<Self, Error> {
        let expanded = hidden * fields.size("mamba_expand", 2)?;
        let inner = inner.unwrap_or(expanded);
        let heads = fields.size("mamba_n_heads", 128)?;
        let head = fields.head_size("mamba_n_heads", inner, heads)?;
        if !fields.says("mamba_d_head", "auto")
            && fields.size_or("mamba_d_head", head, head)? != head
        {
            return Err(
                fields.impossible("mamba_d_head", "the width divided by the number of heads")
            );
        }
        Ok(Self {
            heads,
            inner,
            groups: fields.size("mamba_n_groups", 1)?,
            state: fields.size("mamba_d_state", 256)?,
            kernel: fields.size("mamba_d_conv", 4)?,
            conv_bias: fields.flag("mamba_conv_bias", true)?,
            bias: fields.flag("mamba_proj_bias", false)?,
            normed,
        })
    }
}

impl Mixer for Mamba2 {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.mamba.{name}");
        let (part, bias) = (Part::Attention, self.bias);
        let channels = self.inner + self.groups * self.state * 2;
        let width = self.inner + channels + self.heads;
        tensors.linear(part, &name("in_proj"), width, hidden, bias);
        tensors.tensor(part, &name("conv1d.weight"), &[channels, 1.into(), self.kernel]);
        if self.conv_bias {
            tensors.tensor(part, &name("conv1d.bias"), &[channels]);
        }
        for one in ["dt_bias", "A_log", "D"] {
            tensors.tensor(part, &name(one), &[self.heads]);
        }
        if self.normed {
            tensors.norm(&name("norm"), self.inner, false);
        }
        tensors.linear(part, &name("out_proj"), hidden, self.inner, bias);
    }

    fn projections(&self, h: Size) -> Size {
        let Self { heads: n, inner: d, groups, state, kernel, conv_bias, bias, .. } = *self;
        let shared = groups * state * 2;
        h * (d * 3 + shared + n)
            + (d * 2 + shared + n + h) * bias
            + (d + shared) * (kernel + conv_bias)
            + n * 3
    }

    fn norms(&self) -> Size {
        self.inner * self.normed
    }
}

/// A short convolution between two gates, as of LFM2.
#[derive(Debug, Clone, Copy)]
pub struct ShortConv {
    /// Positions that it sees.
    pub kernel: Size,
    /// Biases of it and of the projections.
    pub bias: bool,
}

impl Mixer for ShortConv {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.conv.{name}");
        let part = Part::Attention;
        tensors.linear(part, &name("in_proj"), hidden * 3, hidden, self.bias);
        tensors.tensor(part, &name("conv.weight"), &[hidden, 1.into(), self.kernel]);
        if self.bias {
            tensors.tensor(part, &name("conv.bias"), &[hidden]);
        }
        tensors.linear(part, &name("out_proj"), hidden, hidden, self.bias);
    }

    fn projections(&self, h: Size) -> Size {
        h * (h * 4 + self.kernel) + h * 5 * self.bias
    }

    fn norms(&self) -> Size {
        Size::ZERO
    }
}
