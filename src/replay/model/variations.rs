//! In what models of others differ from ours: the kinds of their norms, where these stand, what comes between two
//! matrices, biases, soft limits, windows, angles.

use super::angles::Angles;
use crate::ops::{NormKind, Normed};
use repro_kernels::portable::Activation;

/// The differences. The default is ours, and Llama's.
#[derive(Debug, Clone, PartialEq)]
pub struct Variations {
    /// How the model is put together, and what its tensors are called.
    pub structure: Structure,
    /// How rows are normalised.
    pub norm: NormKind,
    /// Where the norms of a block stand.
    pub placed: NormPlace,
    /// How queries and keys are normalised.
    pub normed: Normed,
    /// Which matrices have biases.
    pub biased: Biases,
    /// The function of a feed-forward network's inner rows.
    pub activation: Activation,
    /// The factor of scores, where it is not `1 / sqrt(head_dim)`.
    pub scale: Option<f64>,
    /// The soft limit of scores.
    pub scores_cap: Option<f64>,
    /// The soft limit of logits.
    pub logits_cap: Option<f64>,
    /// The factor of the rows of tokens.
    pub embedding_scale: Option<f64>,
    /// How many tokens each block sees, the own one and those before it; all where the list ends.
    pub windows: Vec<Option<usize>>,
    /// The angles of blocks with a window, where they are others.
    pub window_angles: Option<Angles>,
}

/// How a model is put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Structure {
    /// As Llama: rotated vectors, gated networks.
    #[default]
    Llama,
    /// As GPT-2: learned positions, plain networks; matrices may be kept as their transposes.
    Gpt2 {
        /// Whether they are.
        turned: bool,
        /// Learned positions.
        positions: usize,
    },
    /// As nanochat: norms without weights, one behind the embedding, plain networks; with its own names or those of
    /// `transformers`.
    Nanochat {
        /// Whether the names are its own.
        is_original: bool,
    },
}

/// Where the norms of a block stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NormPlace {
    /// Before attention and before the network.
    #[default]
    Before,
    /// Behind each of them, before it is added to the rows.
    After,
    /// At both places.
    Both,
}

/// Which matrices have biases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Biases {
    /// Those of queries, keys and values.
    pub vectors: bool,
    /// That behind attention.
    pub output: bool,
    /// Those of dense networks.
    pub network: bool,
}

impl Default for Variations {
    fn default() -> Self {
        Self {
            structure: Structure::default(),
            norm: NormKind::default(),
            placed: NormPlace::default(),
            normed: Normed::default(),
            biased: Biases::default(),
            activation: Activation::Silu,
            scale: None,
            scores_cap: None,
            logits_cap: None,
            embedding_scale: None,
            windows: Vec::new(),
            window_angles: None,
        }
    }
}
