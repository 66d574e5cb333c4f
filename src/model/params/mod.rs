//! Parameter counts: the number of parameters that a model stores and that one token uses.
//!
//! A config is counted in two independent ways, by the closed form of its family and by the sum over a named list of
//! tensors, and is rejected if they differ. A checkpoint is counted from its header. Claims judge statements about these
//! numbers.

mod attention;
mod blocks;
mod counts;
mod decoder;
mod families;
mod family;
mod fields;
mod gguf;
mod load;
mod model;
mod recompute;
mod size;
mod tensors;
mod towers;

use repro_core::source::{Error, codes};

use counts::Sums;
pub use counts::{
    Breakdown, Convention, Count, CountScope, ModelShape, MtpCounts, ParameterCount,
    ParameterCounts, Part,
};
pub use load::{load, load_index, load_shards, reads_others, shard_of};
pub use model::{ModelCounts, shown};
pub use recompute::{recompute, recompute_in, tensors};
use size::Size;
use tensors::{LayerSet, Layers};
pub use tensors::{Tensor, TensorList};

codes! {
    UNKNOWN_FAMILY = "params::unknown-family", "the config has an unknown architecture", "set `model_type` to a known family";
    UNKNOWN_SHAPE_FIELD = "params::unknown-shape-field", "a field that looks like a shape is unknown in this family", "remove it if it does not affect shapes, or count this model elsewhere";
    UNSUPPORTED = "params::unsupported", "the config has a layout that cannot be counted here", "count this model elsewhere";
    PART_ONLY = "params::language-model-only", "only the language model can be counted", "count the whole model elsewhere, or state that only the language model is counted";
    IMPOSSIBLE_SHAPE = "params::impossible-shape", "the config describes an impossible model", "correct the field";
    OVERFLOW = "params::overflow", "the model has too many parameters to count", "correct the fields";
    DISAGREE = "params::count-mismatch", "the closed form and the tensor list give different counts, which is a bug in this program", "report the config";
}
