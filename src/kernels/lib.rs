#![doc = include_str!("README.md")]
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod device;
pub mod portable;
