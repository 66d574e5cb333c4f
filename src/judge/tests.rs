//! Tests that judge whole posts.

mod lints;
