#![doc = include_str!("README.md")]

#[cfg(not(unix))]
compile_error!(
    "bundles are read through directory handles, so that no link inside one is followed; that is written for Unix alone. \
     On Windows, build and run `repro` under WSL."
);

pub mod bundle;
pub mod checkpoint;
pub mod columns;
pub mod digest;
pub mod disk;
pub mod kept;
pub mod parallel;
pub mod sha256;
pub mod similar;
pub mod source;
pub mod verdict;

pub use verdict::Verdict;
