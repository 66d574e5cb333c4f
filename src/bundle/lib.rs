#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]

pub mod bundle;
pub mod checkpoint;
pub mod signature;
pub mod storage;
