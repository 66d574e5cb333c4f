#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]

pub mod check;
pub mod gate;
pub mod import;
