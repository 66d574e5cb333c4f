#![doc = include_str!("README.md")]

pub mod bundle;
pub mod checkpoint;
pub mod digest;
pub mod disk;
pub mod parallel;
pub mod sha256;
pub mod similar;
pub mod source;
pub mod verdict;

pub use verdict::Verdict;
