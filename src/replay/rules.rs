//! How gradients move the tensors of a model: the rules of optimizers, and the groups of tensors that they are for.

use std::collections::BTreeSet;

use super::BAD_RECIPE;
use repro_core::source::{Error, Node};

/// The settings of an optimizer.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimizer {
    /// The largest gradient norm; longer gradients are scaled down to it. 0 clips nothing.
    pub clip: f64,
    /// Its groups. A tensor belongs to the first that has it; one that none has stays as it is.
    pub groups: Vec<ParameterGroup>,
}

/// Tensors that are moved by one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterGroup {
    /// Which they are.
    pub members: Members,
    /// The rule.
    pub method: UpdateMethod,
    /// Weight decay, per unit of learning rate.
    pub decay: f64,
    /// How much of the first moment stays.
    pub beta1: f64,
    /// How much of the second moment stays.
    pub beta2: f64,
    /// The epsilon added to the root of the second moment.
    pub epsilon: f64,
    /// How decay, beta1 and beta2 change from step to step: of each step of a stretch, what it has more than the first; empty
    /// where nothing changes.
    pub drift: [Vec<f64>; 3],
}

/// The tensors of a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Members {
    /// All.
    All,
    /// Matrices.
    Matrices,
    /// These.
    Named(BTreeSet<String>),
}

/// The rule by which tensors are moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpdateMethod {
    /// AdamW: decay apart from the gradient.
    AdamW {
        /// Whether the greatest second moment so far is divided by.
        amsgrad: bool,
    },
    /// Adam: decay is added to the gradient.
    Adam {
        /// Whether the greatest second moment so far is divided by.
        amsgrad: bool,
    },
    /// Gradient descent with momentum `beta1`.
    Sgd {
        /// The fraction of a gradient that does not enter the momentum.
        dampening: f64,
        /// Whether the step looks ahead.
        nesterov: bool,
    },
    /// The sign of a mean.
    Lion,
    /// A mean with momentum `beta1`, made nearly orthogonal: of matrices.
    Muon(Muon),
}

/// How Muon makes a matrix nearly orthogonal, and how long its step is ([`repro_kernels::portable::muon`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Muon {
    /// Whether the step looks ahead.
    pub nesterov: bool,
    /// Iterations of Newton and Schulz.
    pub steps: u32,
    /// Their coefficients.
    pub coefficients: [f64; 3],
    /// Whether they are computed in bfloat16, or in float32.
    pub is_bfloat16: bool,
    /// The factor of the step.
    pub adjust: MuonScale,
    /// Whose program it is.
    pub variant: MuonVariant,
}

/// The factor of a matrix's step, besides the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MuonScale {
    /// The root of rows over columns, at least 1.
    Original,
    /// A fifth of the root of the longer side: as long as a step of AdamW.
    MatchRmsAdamw,
    /// The root of rows over columns.
    SpectralUnclamped,
    /// Nothing.
    None,
}

/// The programs that Muon is known of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MuonVariant {
    /// K. Jordan's `muon.py`: the step is multiplied, each operation rounds.
    Reference,
    /// `torch.optim.Muon`: the rate is multiplied, sums round with their products.
    Torch,
    /// `muon.py`, compiled: sums round with their products.
    Compiled,
}

impl MuonScale {
    /// Of a matrix of so many rows and columns.
    pub fn of(self, [rows, columns]: [usize; 2]) -> f64 {
        let (rows, columns) = (rows as f64, columns as f64);
        match self {
            Self::Original => libm::sqrt((rows / columns).max(1.0)),
            Self::MatchRmsAdamw => 0.2 * libm::sqrt(rows.max(columns)),
            Self::SpectralUnclamped => libm::sqrt(rows / columns),
            Self::None => 1.0,
        }
    }
}

impl UpdateMethod {
    /// Which moments it keeps: a mean of gradients, one of squares, the greatest of those.
    pub fn keeps(self) -> [bool; 3] {
        match self {
            Self::AdamW { amsgrad } | Self::Adam { amsgrad } => [true, true, amsgrad],
            Self::Sgd { .. } | Self::Lion | Self::Muon(_) => [true, false, false],
        }
    }

    /// Whether decay is apart from the gradient.
    pub fn decays_apart(self) -> bool {
        matches!(self, Self::AdamW { .. } | Self::Lion | Self::Muon(_))
    }

    /// Whether a compiler decided which of its results are rounded to bfloat16.
    pub fn is_compiled(self) -> bool {
        matches!(self, Self::Muon(muon) if muon.is_bfloat16 && muon.variant == MuonVariant::Compiled)
    }

    /// Whether it moves all numbers of a tensor about as far, however large their gradients are.
    pub fn moves_all_alike(self) -> bool {
        matches!(self, Self::AdamW { .. } | Self::Adam { .. } | Self::Lion)
    }

    /// Whether its moments are corrected for their beginning with zeros, so that a step counts how many were before it.
    pub fn is_corrected(self) -> bool {
        matches!(self, Self::AdamW { .. } | Self::Adam { .. })
    }
}

impl ParameterGroup {
    /// Which moments a checkpoint has of its tensors, in the order of [`UpdateMethod::keeps`]: without momentum there is
    /// none.
    pub fn writes(&self) -> [bool; 3] {
        match self.method {
            UpdateMethod::Sgd { .. } if self.beta1 == 0.0 => [false; 3],
            method => method.keeps(),
        }
    }

    /// Whether updates are rounded to bfloat16 on their way.
    pub fn rounds(&self) -> bool {
        matches!(self.method, UpdateMethod::Muon(muon) if muon.is_bfloat16)
    }

    /// Decay, beta1 and beta2 of step number `at` of a stretch.
    pub fn numbers_at(&self, at: usize) -> [f64; 3] {
        let first = [self.decay, self.beta1, self.beta2];
        let more = |(first, drift): (f64, &Vec<f64>)| first + drift.get(at).copied().unwrap_or(0.0);
        let mut now = std::iter::zip(first, &self.drift).map(more);
        first.map(|first| now.next().unwrap_or(first))
    }

    /// All tensors by AdamW as PyTorch has it.
    pub const ADAMW: Self = Self {
        members: Members::All,
        method: UpdateMethod::AdamW { amsgrad: false },
        decay: 0.01,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        drift: [const { Vec::new() }; 3],
    };
}

impl Optimizer {
    /// AdamW as the config of a run of ours has it: matrices decay, the weights of norms do not.
    pub fn read(config: Node<'_>) -> Result<Self, Error> {
        let number = |field: &str, fits: fn(f64) -> bool, expected: &str| {
            let node = config.required(field)?;
            match node.float()? {
                value if fits(value) => Ok(value),
                _ => Err(BAD_RECIPE.at(node.place(), expected, node.printed()?)),
            }
        };
        let share = |value: f64| (0.0..1.0).contains(&value);
        let matrices = ParameterGroup {
            members: Members::Matrices,
            decay: number("weight_decay", |value| value >= 0.0, "a number of at least 0")?,
            beta1: number("adam_beta1", share, "a number from 0 to below 1")?,
            beta2: number("adam_beta2", share, "a number from 0 to below 1")?,
            epsilon: number("adam_eps", |value| value > 0.0, "a number above 0")?,
            ..ParameterGroup::ADAMW
        };
        let others = ParameterGroup { members: Members::All, decay: 0.0, ..matrices.clone() };
        Ok(Self {
            clip: number("grad_clip", |value| value >= 0.0, "a number of at least 0")?,
            groups: vec![matrices, others],
        })
    }

    /// The number of the group that a tensor of this name belongs to, which is a matrix or not.
    pub fn group_of(&self, tensor: &str, is_matrix: bool) -> Option<usize> {
        self.groups.iter().position(|group| match &group.members {
            Members::All => true,
            Members::Matrices => is_matrix,
            Members::Named(names) => names.contains(tensor),
        })
    }
}
