//! Checkpoints: the header of a `.safetensors` or `.gguf` file, checked before anything else reads it.
//!
//! Only the header is read, so a file of 300 GB takes as long as one of 3 kB. Pickles and archives
//! are never opened.

mod file;
mod gguf;
mod header;
mod role;
mod shards;

use repro_core::source::codes;

pub use file::{open, read_config, read_document, read_index};
pub use gguf::{BlockTensor, GgufHeader};
pub use header::{Dtype, HEADER_CAP, Header, Stored};
pub use role::{HeaderSummary, Role};
pub use shards::Shards;

codes! {
    NOT_A_FILE = "checkpoint::not-a-file", "the path is not a regular file", "pass a regular file";
    NOT_FETCHED = "checkpoint::lfs-pointer", "the file is a Git LFS pointer, not the weights", "fetch the file with `git lfs pull`";
    FOREIGN_FORMAT = "checkpoint::foreign-format", "pickles and archives are never opened", "convert the weights to `.safetensors`";
    LENGTH = "checkpoint::wrong-length", "the length of a checkpoint does not match its header", "fetch the file again: it is truncated or was modified";
    LAYOUT = "checkpoint::noncontiguous-tensors", "the tensors of a checkpoint are not contiguous", "write the file again with a safetensors library";
    TENSOR = "checkpoint::bad-tensor", "the description of a tensor in a checkpoint is invalid", "write the file again with a safetensors library";
    SHARDS = "checkpoint::shards-disagree", "an index and its shards disagree", "fetch the shards that belong to this index";
}
