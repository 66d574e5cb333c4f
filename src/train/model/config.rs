//! The shape of a model, from the `config.json` of a run.

use crate::ops::Vectors;
use repro_portable::router::Gate;
use repro_receipt::source::{Error, Node, codes};

codes! {
    UNSUPPORTED = "model::unsupported", "the trainer does not support what a model's config asks for", "change the named field";
    IMPOSSIBLE = "model::impossible", "a model's config contradicts itself", "change one of the named fields";
}

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
    /// What is done to queries, keys and values before they are rotated.
    pub vectors: Vectors,
    /// What the norms add to the mean square.
    pub norm_eps: f64,
    /// Base of the rotary angles.
    pub rope_theta: f64,
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
    /// What keeps the load even.
    pub balancing: Balancing,
    /// Weight of the loss of large logits.
    pub z_coefficient: f64,
}

/// What keeps the load of experts even.
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

impl Config {
    /// Reads the fields that shape a model of ours; others are left alone.
    pub(super) fn ours(node: Node<'_>) -> Result<Self, Error> {
        let fields = Fields(node);
        let sparse =
            fields.word("model_type", &[("repro-llama", false), ("repro-llama-moe", true)])?;
        let num_attention_heads = fields.size("num_attention_heads")?;
        let hidden_size = fields.size("hidden_size")?;
        let num_hidden_layers = fields.size("num_hidden_layers")?;
        let mixture = sparse.then(|| fields.mixture(num_hidden_layers)).transpose()?;
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
            vectors: Vectors::default(),
            norm_eps: fields.positive("norm_eps")?,
            rope_theta: fields.positive("rope_theta")?,
            seq_len: fields.size("seq_len")?,
            mixture,
        };
        config.check(fields)?;
        Ok(config)
    }

    pub(super) fn check(&self, fields: Fields<'_>) -> Result<(), Error> {
        let Self { num_attention_heads: heads, num_key_value_heads: shared, head_dim, .. } = *self;
        if !heads.is_multiple_of(shared) {
            let expected = format!("a divisor of `num_attention_heads`, {heads}");
            return Err(fields.refuse(&IMPOSSIBLE, "num_key_value_heads", expected));
        }
        if head_dim == 0 || !head_dim.is_multiple_of(2) {
            let given = fields.0.get("head_dim").is_some();
            let at = if given { "head_dim" } else { "hidden_size" };
            let expected = "an even width of each head, whose halves are rotated";
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

/// The table that a config is read from.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub Node<'a>);

impl Fields<'_> {
    fn mixture(self, layers: usize) -> Result<MixtureConfig, Error> {
        let num_experts = self.size("num_experts")?;
        let gates = [("softmax", Gate::Softmax), ("sigmoid", Gate::Sigmoid)];
        let mixture = MixtureConfig {
            num_experts,
            num_experts_per_tok: self.size("num_experts_per_tok")?,
            moe_intermediate_size: self.size("moe_intermediate_size")?,
            num_shared_experts: self.count_or("num_shared_experts", 0)?,
            num_dense_layers: self.count_or("num_dense_layers", 0)?,
            gate: self.word("gate", &gates)?,
            norm_topk_prob: self.0.required("norm_topk_prob")?.truth()?,
            balancing: self.balancing()?,
            z_coefficient: self.coefficient_or("router_z_loss", 0.0)?,
        };
        if mixture.num_experts_per_tok > num_experts {
            let expected = format!("at most `num_experts`, {num_experts}");
            return Err(self.refuse(&IMPOSSIBLE, "num_experts_per_tok", expected));
        }
        if mixture.num_dense_layers >= layers {
            let expected = format!("fewer than `num_hidden_layers`, {layers}");
            return Err(self.refuse(&IMPOSSIBLE, "num_dense_layers", expected));
        }
        Ok(mixture)
    }

    fn balancing(self) -> Result<Balancing, Error> {
        type Way<'a> = fn(Fields<'a>) -> Result<Balancing, Error>;
        let ways: [(&str, Way<'_>); 3] = [
            ("loss", |fields| fields.positive("aux_loss_alpha").map(Balancing::Loss)),
            ("bias", |fields| fields.positive("router_bias_update_rate").map(Balancing::Bias)),
            ("none", |_| Ok(Balancing::None)),
        ];
        self.word("balancing", &ways)?(self)
    }

    /// A whole number from 1 up.
    pub fn size(self, key: &str) -> Result<usize, Error> {
        self.at_least_one(key, self.0.required(key)?)
    }

    pub fn size_or(self, key: &str, otherwise: usize) -> Result<usize, Error> {
        self.0.get(key).map_or(Ok(otherwise), |node| self.at_least_one(key, node))
    }

    fn at_least_one(self, key: &str, node: Node<'_>) -> Result<usize, Error> {
        match self.bounded(key, node)? {
            0 => Err(self.refuse(&UNSUPPORTED, key, "a positive integer")),
            size => Ok(size),
        }
    }

    pub fn count_or(self, key: &str, otherwise: usize) -> Result<usize, Error> {
        self.0.get(key).map_or(Ok(otherwise), |node| self.bounded(key, node))
    }

    /// No dimension of a model that a processor trains comes near the bound, and products of three of
    /// them stay far from the ends of the type.
    fn bounded(self, key: &str, node: Node<'_>) -> Result<usize, Error> {
        const MOST: u64 = 1 << 20;
        match node.integer()? {
            size if size <= MOST => Ok(size as usize),
            _ => Err(self.refuse(&UNSUPPORTED, key, format!("at most {MOST}"))),
        }
    }

    pub fn flag_or(self, key: &str, otherwise: bool) -> Result<bool, Error> {
        self.0.get(key).map_or(Ok(otherwise), Node::truth)
    }

    pub fn positive(self, key: &str) -> Result<f64, Error> {
        let value = self.0.required(key)?.float()?;
        if value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(self.refuse(&UNSUPPORTED, key, "a finite number above 0"))
    }

    pub fn coefficient_or(self, key: &str, otherwise: f64) -> Result<f64, Error> {
        let Some(node) = self.0.get(key) else { return Ok(otherwise) };
        let value = node.float()?;
        if value >= 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(self.refuse(&UNSUPPORTED, key, "a finite number of at least 0"))
    }

    /// What a word stands for.
    pub fn word<V: Copy>(self, key: &str, words: &[(&str, V)]) -> Result<V, Error> {
        let word = self.0.required(key)?.text()?;
        match words.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => Ok(*value),
            None => {
                let names: Vec<_> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
                Err(self.refuse(&UNSUPPORTED, key, names.join(" or ")))
            }
        }
    }

    pub fn refuse(
        self,
        code: &'static repro_receipt::source::Code,
        key: &str,
        expected: impl Into<String>,
    ) -> Error {
        let node = self.0.get(key).unwrap_or(self.0);
        let found = match node.printed() {
            Ok(text) => format!("`{key}` is `{text}`"),
            Err(_) => format!("`{key}`"),
        };
        code.at(node.place(), expected, found)
    }
}
