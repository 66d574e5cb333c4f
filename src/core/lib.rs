#![doc = include_str!("README.md")]
#![deny(unsafe_code)]

#[cfg(not(unix))]
compile_error!(
    "bundles are read through directory handles, so that no link inside one is followed; that is written for Unix alone. \
     On Windows, build and run `repro` under WSL."
);

pub mod columns;
pub mod decimal;
pub mod digest;
pub mod disk;
pub mod kept;
pub mod parallel;
pub mod sha256;
pub mod similar;
pub mod source;
pub mod verdict;
pub mod yaml;

pub use verdict::Verdict;

/// The source files that read documents and hashes. Cached results of reads are invalid once they change.
pub const READERS: &[&str] = &[
    include_str!("source/mod.rs"),
    include_str!("source/json.rs"),
    include_str!("source/toml.rs"),
    include_str!("source/csv.rs"),
    include_str!("digest/mod.rs"),
    include_str!("digest/stream.rs"),
    include_str!("sha256.rs"),
];
