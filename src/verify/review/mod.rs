//! Reviews: whether somebody other than the author says that the words of a claim mean its fact.
//!
//! Owns the key of a record, the records of a post, whose records count, which of them stand, and what a session shows. How a
//! session talks to a person is left to the command line.

pub mod config;
pub mod decoy;
pub mod key;
pub mod record;
pub mod session;
pub mod standing;
pub mod store;

pub use config::ReviewPolicy;
pub use standing::apply;
pub use store::Reviews;
