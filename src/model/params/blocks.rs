//! Parts shared by the family files: heads, experts, and the tensors of common blocks under the names that most checkpoints
//! use.
//!
//! Only names and shapes are shared. Each family has its own closed form, so the two ways of counting stay independent.

use super::{Part, Size, TensorList};

/// Multipliers in Granite's models, which do not affect shapes.
pub const GRANITE_FACTORS: &[&str] =
    &["attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier"];

/// Attention heads.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    /// Heads of queries.
    pub count: Size,
    /// Heads of keys and of values.
    pub key_value: Size,
    /// Width of one head.
    pub size: Size,
}

impl Heads {
    /// Width of all queries.
    pub fn queries(self) -> Size {
        self.count * self.size
    }

    /// Width of all keys, and of all values.
    pub fn keys(self) -> Size {
        self.key_value * self.size
    }
}

/// Routed experts of a layer.
#[derive(Debug, Clone, Copy)]
pub struct ExpertCounts {
    /// The number of experts (E).
    pub count: Size,
    /// The number of experts per token (K).
    pub per_token: Size,
}

impl TensorList {
    /// The embedding, the last norm and, unless tied, the head.
    pub fn ends(&mut self, vocabulary: Size, hidden: Size, tied: bool, norm_bias: bool) {
        self.tensor(Part::Embedding, "model.embed_tokens.weight", &[vocabulary, hidden]);
        self.norm("model.norm", hidden, norm_bias);
        if !tied {
            self.tensor(Part::Head, "lm_head.weight", &[vocabulary, hidden]);
        }
    }

    /// Projections of queries, keys, values and output.
    pub fn attention(&mut self, hidden: Size, heads: Heads, input_bias: bool, output_bias: bool) {
        for (name, width) in [("q", heads.queries()), ("k", heads.keys()), ("v", heads.keys())] {
            let name = format!("model.layers.{{layer}}.self_attn.{name}_proj");
            self.linear(Part::Attention, &name, width, hidden, input_bias);
        }
        let name = "model.layers.{layer}.self_attn.o_proj";
        self.linear(Part::Attention, name, hidden, heads.queries(), output_bias);
    }

    /// Norms of a layer, by name, each as wide as the residual stream.
    pub fn layer_norms(&mut self, hidden: Size, names: &[&str], bias: bool) {
        for name in names {
            self.norm(&format!("model.layers.{{layer}}.{name}"), hidden, bias);
        }
    }

    /// A norm for queries and one for keys.
    pub fn head_norms(&mut self, queries: Size, keys: Size) {
        self.norm("model.layers.{layer}.self_attn.q_norm", queries, false);
        self.norm("model.layers.{layer}.self_attn.k_norm", keys, false);
    }

    /// A gated feed-forward block: three matrices below `mlp`, or below `mlp.NAME`.
    pub fn gated(&mut self, part: Part, below: &str, hidden: Size, width: Size, bias: bool) {
        for name in ["gate_proj", "up_proj"] {
            let name = format!("model.layers.{{layer}}.{below}.{name}");
            self.linear(part, &name, width, hidden, bias);
        }
        let name = format!("model.layers.{{layer}}.{below}.down_proj");
        self.linear(part, &name, hidden, width, bias);
    }

    /// The router `router` and gated experts below `experts`, each with matrices called `names`:
    /// gate, up, down.
    pub fn expert_layer(
        &mut self,
        hidden: Size,
        width: Size,
        experts: ExpertCounts,
        router: &str,
        (below, names): (&str, [&str; 3]),
    ) {
        let layer = "model.layers.{layer}";
        self.linear(Part::Router, &format!("{layer}.{router}"), experts.count, hidden, false);
        let [gate, up, down] = names;
        for (name, shape) in
            [(gate, (width, hidden)), (up, (width, hidden)), (down, (hidden, width))]
        {
            let name = format!("{layer}.{below}.{{copy}}.{name}");
            self.copied_linear(Part::RoutedExperts, &name, experts.count, shape, false);
        }
    }
}

/// Norms before attention and before the feed-forward block.
pub const PRE_NORMS: &[&str] = &["input_layernorm", "post_attention_layernorm"];
/// The names of the experts in most mixtures.
pub const MLP_EXPERTS: (&str, [&str; 3]) = ("mlp.experts", ["gate_proj", "up_proj", "down_proj"]);
