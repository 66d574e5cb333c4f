//! Levanter's counts for a model config: parameters (`total_trainable_params`) and FLOPs per token
//! (`lm_flops_per_token`), as defined by its configs for Llama, Qwen3, Mixtral and the speedruns' own transformers.
//!
//! These definitions describe printed numbers, not models: query and key norms count only for OLMo-2, and attention
//! sinks never count.

use crate::check::stated::StatedRow;

/// The vocabulary size of the tokenizer that all runs use (Llama 3's, with its special tokens).
pub const VOCABULARY: f64 = 128_256.0;
/// The vocabulary size without special tokens, as counted before 14 April 2025.
const WITHOUT_SPECIAL_TOKENS: f64 = 128_000.0;

/// The shape of a model, with the letters of the definitions.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Hidden size.
    h: f64,
    /// Intermediate size of the feed-forward layer, or of one expert.
    i: f64,
    layers: f64,
    heads: f64,
    keys: f64,
    head_dim: f64,
    sequence: f64,
    /// Routed experts, active experts per token, and shared experts; 1, 1 and 0 in a dense model.
    experts: f64,
    chosen: f64,
    shared: f64,
    /// Layers with a gated DeltaNet instead of attention, and the kernel size of its convolution.
    deltanet: f64,
    kernel: f64,
    /// Attention output gates per layer, as columns of a matrix.
    gates: f64,
    hybrid_norm: bool,
    embedding_norm: bool,
    /// Whether the definition counts query and key norms.
    query_norms: bool,
    tied: bool,
    vocabulary: f64,
}

impl Shape {
    fn of(row: &StatedRow) -> Option<Self> {
        let number = |name: &str| row.number(&format!("model_config.{name}"));
        let flag = |name: &str| row.truth(&format!("model_config.{name}")) == Some(true);
        let (h, heads) = (number("hidden_dim")?, number("num_heads")?);
        let head_dim = number("head_dim").unwrap_or(h / heads);
        let layers = number("num_layers")?;
        let gate = row.text("model_config.use_gated_attention").unwrap_or_default();
        let gates = match gate {
            "headwise" => heads,
            "elementwise" => heads * head_dim,
            _ if flag("use_gated_attention") => heads * head_dim,
            _ => 0.0,
        };
        let deltanet = if flag("use_gated_deltanet") {
            let (block, own) = (number("gdn_block_size")?, number("gdn_layers_per_block")?);
            // A block has at least one layer, whatever the config states.
            let block = block.max(1.0);
            let own = own.max(0.0).min(block);
            let (whole, rest) = ((layers / block).floor(), layers % block);
            whole * own + rest.min(own)
        } else {
            0.0
        };
        Some(Self {
            h,
            i: number("intermediate_dim")?,
            layers,
            heads,
            keys: number("num_kv_heads")?,
            head_dim,
            sequence: row.number("seq_len")?,
            experts: number("n_routed_experts").unwrap_or(1.0),
            chosen: number("num_experts_per_tok").unwrap_or(1.0),
            shared: number("n_shared_experts").unwrap_or(0.0),
            deltanet,
            kernel: number("gdn_conv_kernel_size").unwrap_or(0.0),
            gates,
            hybrid_norm: flag("hybrid_norm"),
            embedding_norm: flag("input_embedding_norm"),
            // The only Levanter class that uses this name for its bias switch.
            query_norms: row.truth("model_config.attention_bias").is_some(),
            tied: flag("tie_word_embeddings"),
            vocabulary: VOCABULARY,
        })
    }

    /// The parameters without the last norm, as counted before 18 May 2025.
    fn without_last_norm(&self) -> f64 {
        let Self { h, heads, keys, head_dim, layers, deltanet, .. } = *self;
        let attention = 2.0 * h * head_dim * (heads + keys) + h * self.gates;
        let routed = if self.experts > 1.0 { h * self.experts } else { 0.0 };
        let feed_forward = 3.0 * h * self.i * (self.experts + self.shared) + routed;
        let (k, v) = (keys * head_dim, heads * head_dim);
        let block_norms = if self.hybrid_norm { 4.0 * h } else { 2.0 * h };
        let norms = block_norms + if self.query_norms { k + v } else { 0.0 };
        let gated = h * (2.0 * k + 2.0 * v)
            + 2.0 * h * heads
            + (2.0 * k + v) * self.kernel
            + 2.0 * heads
            + head_dim
            + h * v;
        let mixers = (layers - deltanet) * attention + deltanet * gated;
        let first_norm = if self.embedding_norm { h } else { 0.0 };
        let tables = if self.tied { 1.0 } else { 2.0 };
        mixers + layers * (feed_forward + norms) + first_norm + tables * self.vocabulary * h
    }

    fn parameters(&self) -> f64 {
        self.without_last_norm() + self.h
    }

    /// The forward FLOPs per token: attention over the full sequence, head size as hidden size divided by heads.
    fn flops_per_token(&self) -> f64 {
        let Self { h, heads, keys, layers, deltanet, sequence: s, .. } = *self;
        let router = if self.experts > 1.0 { 2.0 * h * self.experts } else { 0.0 };
        let feed_forward = 6.0 * h * self.i * (self.chosen + self.shared) + router;
        let projections = 2.0 * h * (h + 2.0 * keys * (h / heads)) + 2.0 * h * h;
        let attention = 4.0 * s * h + 3.0 * s * heads;
        let (k, v) = (keys * self.head_dim, heads * self.head_dim);
        let gated = 2.0 * h * (2.0 * k + 2.0 * v)
            + 4.0 * h * heads
            + 2.0 * (2.0 * k + v) * self.kernel
            + 6.0 * heads * self.head_dim * self.head_dim
            + 2.0 * h * v;
        layers * feed_forward
            + (layers - deltanet) * (projections + attention)
            + deltanet * gated
            + 2.0 * h * self.vocabulary
    }
}

/// Computes Levanter's counts for a run's model, under its own definition and under the alternatives that a printed
/// number may follow.
pub fn count(row: &mut StatedRow) {
    let Some(shape) = Shape::of(row) else { return };
    let whole = shape.parameters();
    let has_hybrid_norm = row.truth("model_config.hybrid_norm").is_some();
    let mut is = |name: &str, number: f64, how: &str| row.compute_number(name, number, how);
    is("counted.parameters", whole, "from the config, with a vocabulary of 128,256");
    is(
        "counted.without_last_norm",
        shape.without_last_norm(),
        "from the config, without the last norm",
    );
    // A class without the setting was never counted with a different value.
    if has_hybrid_norm {
        let plain = Shape { hybrid_norm: !shape.hybrid_norm, ..shape };
        is("counted.other_norms", plain.parameters(), "with the other setting of `hybrid_norm`");
    }
    let fewer = Shape { vocabulary: WITHOUT_SPECIAL_TOKENS, ..shape };
    is("counted.fewer_tokens", fewer.without_last_norm(), "with a vocabulary of 128,000");
    let active = Shape { experts: shape.chosen, ..shape };
    let router = if shape.experts > 1.0 { shape.h * (shape.experts - shape.chosen) } else { 0.0 };
    is(
        "counted.active",
        active.parameters() + shape.layers * router,
        "with the active experts only",
    );
    let dense = Shape { experts: 1.0, shared: 0.0, ..shape };
    is("counted.dense", dense.parameters(), "with one expert per layer");
    let table = shape.vocabulary * shape.h;
    is("counted.one_table", whole - table, "without one embedding matrix");
    is("counted.no_table", whole - 2.0 * table, "without embeddings and head");
    is(
        "counted.flops_per_token",
        shape.flops_per_token(),
        "forward pass, from `lm_flops_per_token`",
    );
    let all = Shape { chosen: shape.experts, ..shape };
    is("counted.flops_of_all_experts", all.flops_per_token(), "with all experts");
    let one = Shape { chosen: 1.0, shared: 0.0, experts: 1.0, ..shape };
    is("counted.flops_of_one_expert", one.flops_per_token(), "with one expert per layer");
}
