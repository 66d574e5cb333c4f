//! Recipes that compute with fewer bits: where their programs round numbers, and to what. They are executed here in float32
//! with these roundings at their operations; how much that differs from the program itself, rounding at random shows.

use crate::ops::StepKind;
use crate::recipe::Precision;
use repro_kernels::portable::rounding::{BF16, Rounding, TF32};

/// The roundings of a walk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Roundings {
    pub precision: Precision,
    /// Numbers are rounded at random, by this seed.
    pub seed: Option<u64>,
}

/// The rounded parts of an operation. Gradients are rounded if the values that they belong to are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounded {
    /// Its input.
    pub x: bool,
    /// Its weights.
    pub w: bool,
    /// Its output.
    pub y: bool,
    /// The rows that it was added to.
    pub sum: bool,
}

/// The main function of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationWork {
    /// Products with its weights.
    Products,
    /// Functions of what products made: attention, and what comes between two matrices.
    Functions,
    /// Norms, rows of tables.
    Rest,
}

impl OperationWork {
    fn of<T>(kind: &StepKind<T>) -> Self {
        match kind {
            StepKind::FeedForward(_) | StepKind::Linear(_) | StepKind::Mixture(..) => {
                Self::Products
            }
            StepKind::Activate(_) | StepKind::Attention(_) => Self::Functions,
            StepKind::Embedding(_)
            | StepKind::Norm(_)
            | StepKind::Positions(_)
            | StepKind::VectorNorms(_) => Self::Rest,
        }
    }
}

const FACTORS: Rounded = Rounded { x: true, w: true, y: false, sum: false };
const PRODUCT: Rounded = Rounded { x: true, w: true, y: true, sum: false };

impl Roundings {
    /// Whether numbers have all their bits.
    pub fn is_nothing(self) -> bool {
        self.precision == Precision::Full
    }

    /// The rounded parts of an operation.
    pub fn of<T>(self, kind: &StepKind<T>) -> Rounded {
        match (self.precision, OperationWork::of(kind)) {
            (Precision::Full, _) => Rounded::default(),
            (Precision::Bfloat16, _) => Rounded { sum: true, ..PRODUCT },
            (Precision::Tf32, OperationWork::Products) => FACTORS,
            (Precision::Autocast, OperationWork::Products) => PRODUCT,
            (Precision::Autocast, OperationWork::Functions) => {
                Rounded { x: true, y: true, ..Rounded::default() }
            }
            (Precision::Autocast | Precision::Tf32, _) => Rounded::default(),
        }
    }

    /// The rounded parts of the head; its output are the logits.
    pub fn of_head(self) -> Rounded {
        match self.precision {
            Precision::Full => Rounded::default(),
            Precision::Autocast | Precision::Bfloat16 => PRODUCT,
            Precision::Tf32 => FACTORS,
        }
    }

    /// How numbers of this place are rounded; each has random bits of its own.
    pub fn at(self, place: u64) -> Rounding {
        let kept = if self.precision == Precision::Tf32 { TF32 } else { BF16 };
        let seed = self.seed.map(|seed| seed.wrapping_mul(0x1_0001).wrapping_add(place << 32));
        Rounding { kept, seed }
    }

    /// How what attention keeps inside is rounded in walks that round at random. Programs keep it where they like, and most
    /// in as many bits as the output.
    pub fn of_scores(self, place: u64) -> Option<Rounding> {
        let is_narrow = matches!(self.precision, Precision::Autocast | Precision::Bfloat16);
        (is_narrow && self.seed.is_some()).then(|| self.at(place))
    }

    /// How sums over tokens are rounded after each, where programs may do so: nobody says that they have wider sums. By odd
    /// seeds that is to the nearest, which loses what is small beside its sum.
    pub fn of_sums(self, place: u64) -> Option<Rounding> {
        let seed = self.seed.filter(|_| self.precision == Precision::Bfloat16)?;
        let rounding = self.at(place);
        Some(if seed % 2 == 1 { Rounding { seed: None, ..rounding } } else { rounding })
    }
}
