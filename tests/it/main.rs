//! The integration tests, in one binary.

mod bundle;
mod layers;
mod params;
mod report;
