//! The integration tests, in one binary.

mod params;
mod report;
