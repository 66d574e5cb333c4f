//! What Levanter counts for a model config: parameters (`total_trainable_params`) and FLOPs of a token
//! (`lm_flops_per_token`), as its configs for Llama, Qwen3, Mixtral and the speedruns' own transformers define them.
//!
//! These are definitions of printed numbers, not of models: norms of queries and keys count for OLMo-2 alone, and attention sinks for
//! none.

use crate::check::stated::StatedRow;

/// The vocabulary of the tokenizer that all runs use (Llama 3's, with its special tokens),
pub const VOCABULARY: f64 = 128_256.0;
/// and without them, as it was counted before 14 April 2025.
const WITHOUT_SPECIAL_TOKENS: f64 = 128_000.0;

/// The shape of a model, by the letters of the definitions.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Width.
    h: f64,
    /// Inner width of the feed-forward, or of one expert.
    i: f64,
    layers: f64,
    heads: f64,
    keys: f64,
    head_dim: f64,
    sequence: f64,
    /// Routed experts, those of a token, and shared ones; one, one and none in a dense model.
    experts: f64,
    chosen: f64,
    shared: f64,
    /// Layers with a gated DeltaNet instead of attention, and the kernel of its convolution.
    deltanet: f64,
    kernel: f64,
    /// Output gates of attention in one layer, as columns of a matrix.
    gates: f64,
    hybrid_norm: bool,
    embedding_norm: bool,
    /// Whether queries and keys have norms that the definition counts.
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
            // No block has less than one layer, whatever a config says.
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
            // The one class of Levanter's that calls its switch for biases so.
            query_norms: row.truth("model_config.attention_bias").is_some(),
            tied: flag("tie_word_embeddings"),
            vocabulary: VOCABULARY,
        })
    }

    /// The parameters without the last norm, as they were counted before 18 May 2025.
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

    /// The FLOPs of a token, forward: attention over the whole sequence, heads of the width by their number.
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

/// Computes what Levanter counts for the model of a run, under its own definition and under those that a printed number may follow
/// instead.
pub fn count(row: &mut StatedRow) {
    let Some(shape) = Shape::of(row) else { return };
    let whole = shape.parameters();
    let has_hybrid_norm = row.truth("model_config.hybrid_norm").is_some();
    let mut is = |name: &str, number: f64, how: &str| row.compute_number(name, number, how);
    is("counted.parameters", whole, "as the config has it, with a vocabulary of 128,256");
    is("counted.without_last_norm", shape.without_last_norm(), "the same without the last norm");
    // A class without the setting was never counted with another one.
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
        "with the experts of one token",
    );
    let dense = Shape { experts: 1.0, shared: 0.0, ..shape };
    is("counted.dense", dense.parameters(), "with one expert in each layer");
    let table = shape.vocabulary * shape.h;
    is("counted.one_table", whole - table, "without one matrix of embeddings");
    is("counted.no_table", whole - 2.0 * table, "without embeddings and head");
    is("counted.flops_per_token", shape.flops_per_token(), "forward, by `lm_flops_per_token`");
    let all = Shape { chosen: shape.experts, ..shape };
    is("counted.flops_of_all_experts", all.flops_per_token(), "with all experts");
    let one = Shape { chosen: 1.0, shared: 0.0, experts: 1.0, ..shape };
    is("counted.flops_of_one_expert", one.flops_per_token(), "with one expert in each layer");
}
