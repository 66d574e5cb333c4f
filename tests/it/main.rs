//! The integration tests, in one binary.

mod bundle;
mod cli;
mod corpus;
mod diff;
mod layers;
mod mutation;
mod new_kind;
mod params;
mod posts;
mod readme;
mod report;
mod shared;
mod statistics;
mod stats;
