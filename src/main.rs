//! The command line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    repro::cli::run()
}
