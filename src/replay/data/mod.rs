//! The input of a run: a corpus as tokens, split in whole documents, and the order of its batches.
//!
//! Owns texts, their documents, tokenizers, the split, overlap, data reuse and the order. The generator
//! of the embedded language is `crate::language`; what is computed on the tokens is left to the model.
//!
//! A corpus is described by one table, the same in a study file and in a run's `config.json`:
//!
//! ```toml
//! name = "shakespeare"
//! source = "text"                            # or "jsonl" or "language"
//! file = "../../target/corpus/shakespeare.txt"   # from the folder of the study
//! sha256 = "..."                             # of the file; may be left out
//! documents = { separator = "<|document|>" } # and, or instead, `bytes`: cut at blank lines into so many at least
//! split_seed = 1
//! validation = { share = 0.1, bytes = 400_000 }   # whole documents until both are reached; the defaults
//! development = { share = 0.05, bytes = 200_000 } # the same
//! tokenizer = "bytes"                        # or, with the feature `tokenizers`, the path of a `tokenizer.json`
//! ```
//!
//! With `source = "jsonl"` the field named by `field` of each line is a document. With
//! `source = "language"` the fields are `name`, `source`, `tokenizer`, `seed`, `train_bytes`, and
//! `validation = { bytes = 400_000 }` and `development` in the same form: each part is a stream of its
//! own, generated to that size.

mod corpus;
mod documents;
mod folder;
mod order;
mod overlap;
mod reuse;
mod split;
mod tokenizer;
mod tokens;

pub use corpus::{Corpus, CorpusPart, HeldOutDocument};
pub use folder::DataFolder;
pub use order::{Order, Unique};
pub use overlap::Overlap;
pub use reuse::Reuse;
pub use tokenizer::Tokenizer;
pub use tokens::Tokens;

use repro_core::source::codes;

codes! {
    UNKNOWN_VALUE = "data::unknown-value", "a field in the data settings has an unknown value", "write one of the expected values";
    NO_FOLDER = "data::no-folder", "no data folder was given", "pass `--data DIR`: files that a config refers to are read only from this folder";
    NOT_IN_FOLDER = "data::not-in-folder", "a file is missing from the data folder", "put the file into the `--data` folder";
    OTHER_TEXT = "data::different-text", "the text differs from the one that the study pins", "fetch the text again, or correct `sha256`";
    TOO_LARGE = "data::too-large", "a file is too large", "use a smaller file";
    TOO_LITTLE_TEXT = "data::too-little-text", "the text is too short for the three parts of the split", "use a longer text, smaller documents, or smaller splits";
    CONTEXT_TOO_LONG = "data::context-too-long", "the context is longer than the data", "shorten `seq_len`, or use a longer text";
    TOO_FEW_TOKENS = "data::too-few-tokens", "the training text has fewer tokens than the run needs", "use a longer text, a shorter run, or another form of reuse";
    BAD_TOKENIZER = "data::bad-tokenizer", "a tokenizer is invalid", "check that the file is a complete `tokenizer.json`";
    NO_FILES = "data::no-tokenizer-files", "this program was built without support for `tokenizer.json` files", "build it with `--features tokenizers`, or write `bytes`";
    UNKNOWN_BYTES = "data::unknown-bytes", "the byte values of a tokenizer's tokens are unknown", "use a byte-level tokenizer, one with byte fallback, or `bytes`";
    NOT_ROUND_TRIP = "data::not-round-trip", "decoding the tokens of a text does not reproduce the text", "use a lossless tokenizer, or `bytes`";
    VOCABULARY = "data::vocabulary-too-small", "the model's vocabulary is smaller than the tokenizer's", "set `vocab_size` to the tokenizer's vocabulary size";
}
