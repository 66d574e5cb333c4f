//! The shape of a model, from the `config.json` of a run.

use super::angles::Angles;
use super::fields::{Fields, IMPOSSIBLE};
use super::variations::Variations;
use crate::recipe::Precision;
use repro_core::source::{Error, Node};
use repro_kernels::portable::router::Gate;

/// Everything that shapes a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Tokens that it knows.
    pub vocab_size: usize,
    /// Width of a row.
    pub hidden_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// Heads of queries.
    pub num_attention_heads: usize,
    /// Heads of keys and values.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Inner width of dense blocks.
    pub intermediate_size: usize,
    /// Whether the head is the embedding.
    pub tie_word_embeddings: bool,
    /// The epsilon that norms add to the mean square.
    pub norm_eps: f64,
    /// The rotary angles; none where vectors are not rotated.
    pub angles: Option<Angles>,
    /// In what it differs from ours.
    pub variations: Variations,
    /// With how many bits it is computed.
    pub precision: Precision,
    /// By which seed numbers are rounded at random, where they are rounded to fewer bits.
    pub rounding_seed: Option<u64>,
    /// Tokens of a sequence.
    pub seq_len: usize,
    /// The experts of sparse blocks, if there are any.
    pub mixture: Option<MixtureConfig>,
}

/// The experts of sparse blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureConfig {
    /// Routed experts.
    pub num_experts: usize,
    /// Routed experts of a token.
    pub num_experts_per_tok: usize,
    /// Inner width of one expert.
    pub moe_intermediate_size: usize,
    /// Experts that see every token, each as wide as a routed one.
    pub num_shared_experts: usize,
    /// Blocks at the start that are dense.
    pub num_dense_layers: usize,
    /// How logits become scores.
    pub gate: Gate,
    /// Whether the gates of a token add up to one.
    pub norm_topk_prob: bool,
    /// The method that balances the load.
    pub balancing: Balancing,
    /// Weight of the loss of large logits.
    pub z_coefficient: f64,
}

/// The method that balances the load of experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Balancing {
    /// A loss, with this weight.
    Loss(f64),
    /// One loss over all sparse blocks together, with this weight.
    Joint(f64),
    /// A bias on the scores that choose, moved by this much after each step.
    Bias(f64),
    /// Nothing.
    None,
}

/// Our own models, without experts and with them.
pub const OWN_MODELS: [&str; 2] = ["repro-llama", "repro-llama-moe"];

impl Config {
    /// Reads the fields that shape a model of ours; others are left alone.
    pub(super) fn ours(node: Node<'_>) -> Result<Self, Error> {
        let fields = Fields(node);
        let [plain, mixed] = OWN_MODELS;
        let sparse = fields.word("model_type", &[(plain, false), (mixed, true)])?;
        let num_attention_heads = fields.size("num_attention_heads")?;
        let hidden_size = fields.size("hidden_size")?;
        let num_hidden_layers = fields.size("num_hidden_layers")?;
        let mixture = sparse.then(|| MixtureConfig::read(fields, num_hidden_layers)).transpose()?;
        let dense = mixture.as_ref().is_none_or(|mixture| mixture.num_dense_layers > 0);
        let config = Self {
            vocab_size: fields.size("vocab_size")?,
            hidden_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads: fields.size_or("num_key_value_heads", num_attention_heads)?,
            head_dim: fields.size_or("head_dim", hidden_size / num_attention_heads)?,
            intermediate_size: if dense { fields.size("intermediate_size")? } else { 0 },
            tie_word_embeddings: fields.flag_or("tie_word_embeddings", false)?,
            norm_eps: fields.positive("norm_eps")?,
            angles: Some(Angles::Exact { theta: fields.positive("rope_theta")? }),
            variations: Variations::default(),
            precision: Precision::default(),
            rounding_seed: None,
            seq_len: fields.size("seq_len")?,
            mixture,
        };
        config.check(fields)?;
        Ok(config)
    }

    /// Rounds what another program may round otherwise as a seed has it: frequencies of angles, and numbers of fewer bits.
    pub fn disturb(&mut self, seed: u64) {
        self.rounding_seed = Some(seed);
        for angles in self.angles.iter_mut().chain(&mut self.variations.window_angles) {
            *angles = angles.disturbed(seed);
        }
    }

    /// Whether it is one of ours, whose bits are those of an arithmetic that is written down.
    pub fn is_ours(&self) -> bool {
        matches!(self.angles, Some(Angles::Exact { .. })) && self.precision == Precision::Full
    }

    pub(super) fn check(&self, fields: Fields<'_>) -> Result<(), Error> {
        let Self { num_attention_heads: heads, num_key_value_heads: shared, head_dim, .. } = *self;
        if !heads.is_multiple_of(shared) {
            let expected = format!("a divisor of `num_attention_heads`, {heads}");
            return Err(fields.refuse(&IMPOSSIBLE, "num_key_value_heads", expected));
        }
        if head_dim == 0 || self.angles.is_some() && !head_dim.is_multiple_of(2) {
            let given = fields.0.get("head_dim").is_some();
            let at = if given { "head_dim" } else { "hidden_size" };
            let expected = "an even head width, because halves are rotated";
            return Err(fields.refuse(&IMPOSSIBLE, at, expected));
        }
        Ok(())
    }

    /// The experts of a block, if it has any.
    pub fn mixture_of(&self, layer: usize) -> Option<&MixtureConfig> {
        self.mixture.as_ref().filter(|mixture| layer >= mixture.num_dense_layers)
    }
}

impl MixtureConfig {
    /// The experts of a config of ours.
    fn read(fields: Fields<'_>, layers: usize) -> Result<MixtureConfig, Error> {
        let num_experts = fields.size("num_experts")?;
        let gates = [("softmax", Gate::Softmax), ("sigmoid", Gate::Sigmoid)];
        let mixture = MixtureConfig {
            num_experts,
            num_experts_per_tok: fields.size("num_experts_per_tok")?,
            moe_intermediate_size: fields.size("moe_intermediate_size")?,
            num_shared_experts: fields.count_or("num_shared_experts", 0)?,
            num_dense_layers: fields.count_or("num_dense_layers", 0)?,
            gate: fields.word("gate", &gates)?,
            norm_topk_prob: fields.0.required("norm_topk_prob")?.truth()?,
            balancing: balancing(fields)?,
            z_coefficient: fields.coefficient_or("router_z_loss", 0.0)?,
        };
        if mixture.num_experts_per_tok > num_experts {
            let expected = format!("at most `num_experts`, {num_experts}");
            return Err(fields.refuse(&IMPOSSIBLE, "num_experts_per_tok", expected));
        }
        if mixture.num_dense_layers >= layers {
            let expected = format!("fewer than `num_hidden_layers`, {layers}");
            return Err(fields.refuse(&IMPOSSIBLE, "num_dense_layers", expected));
        }
        Ok(mixture)
    }

    /// The weights of the router's losses: balance, z.
    pub fn coefficients(&self) -> [f64; 2] {
        match self.balancing {
            Balancing::Loss(coefficient) | Balancing::Joint(coefficient) => {
                [coefficient, self.z_coefficient]
            }
            _ => [0.0, self.z_coefficient],
        }
    }
}

/// The balancing method in a config of our trainer.
fn balancing(fields: Fields<'_>) -> Result<Balancing, Error> {
    type Way<'a> = fn(Fields<'a>) -> Result<Balancing, Error>;
    let ways: [(&str, Way<'_>); 3] = [
        ("loss", |fields| fields.positive("aux_loss_alpha").map(Balancing::Loss)),
        ("bias", |fields| fields.positive("router_bias_update_rate").map(Balancing::Bias)),
        ("none", |_| Ok(Balancing::None)),
    ];
    fields.word("balancing", &ways)?(fields)
}
