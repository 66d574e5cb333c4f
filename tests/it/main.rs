//! The integration tests, in one binary.

mod bundle;
mod diff;
mod params;
mod report;
