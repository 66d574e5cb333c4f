//! Families, and the result of reading a config with one.

use repro_core::source::{Error, Node};

use super::blocks::ExpertCounts;
use super::fields::{ConfigFields, Dims};
use super::{Size, Sums, TensorList};

/// One architecture: how it is recognized and how its config is read.
pub struct Family {
    /// Its name in reports; the first of `model_types` if there are any.
    pub id: &'static str,
    /// Values of `model_type`.
    pub model_types: &'static [&'static str],
    /// Values of `architectures`, all with a language-model head.
    pub architectures: &'static [&'static str],
    /// Fields of only this family that do not affect shapes.
    pub inert: &'static [&'static str],
    /// Recognizes a config without a model type.
    pub looks_like: fn(Node<'_>) -> bool,
    /// Reads the config.
    pub read: fn(&ConfigFields<'_>) -> Result<Blueprint, Error>,
}

/// The routed and shared experts of a model.
#[derive(Debug, Clone, Copy)]
pub struct MixtureShape {
    /// E and K.
    pub experts: ExpertCounts,
    /// Inner width of one expert.
    pub width: Size,
    /// Shared experts (S).
    pub shared: Size,
    /// Inner width of all of them together.
    pub shared_width: Size,
}

/// The result of reading a config: the shape, and the parameters counted in both ways.
pub struct Blueprint {
    /// Its dimensions.
    pub dims: Dims,
    /// Experts, if there are any.
    pub mixture: Option<MixtureShape>,
    /// The named list.
    pub tensors: TensorList,
    /// The closed form.
    pub closed: Sums,
    /// Layers for multi-token prediction, which the reference model leaves out.
    pub mtp: Option<Mtp>,
}

/// Layers for multi-token prediction, counted in both ways.
pub struct Mtp {
    /// The named list.
    pub tensors: TensorList,
    /// The closed form.
    pub closed: Sums,
    /// Elements of the copies of embedding and head that checkpoints store with them.
    pub copies: Size,
}

/// All configs of this family have a model type.
pub fn never(_: Node<'_>) -> bool {
    false
}
