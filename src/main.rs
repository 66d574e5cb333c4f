//! The command line program.

#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

/// Training asks for the same buffers in every step: their pages are kept.
#[cfg(feature = "train")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
