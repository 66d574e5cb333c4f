//! The integration tests, in one binary.

mod bundle;
mod params;
mod report;
