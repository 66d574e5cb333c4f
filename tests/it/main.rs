//! The integration tests, in one binary.

mod bundle;
mod cli;
mod core;
mod corpus;
mod diff;
#[cfg(feature = "train")]
mod emitter;
mod equal_resource;
#[cfg(feature = "train")]
mod evaluation;
mod import;
#[cfg(all(feature = "train", unix))]
mod kills;
mod layers;
mod mutation;
mod new_kind;
mod params;
mod posts;
mod readme;
#[cfg(feature = "train")]
mod replay;
mod report;
mod shared;
mod statistics;
mod stats;
#[cfg(feature = "train")]
mod train;
