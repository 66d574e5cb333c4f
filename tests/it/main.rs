//! One integration binary.

mod params;
