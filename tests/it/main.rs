//! The integration tests, in one binary.

mod bundle;
mod corpus;
mod layers;
mod params;
mod posts;
mod report;
mod shared;
