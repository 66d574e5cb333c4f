//! The program and git, run in a folder.

use std::path::Path;
use std::process::{Command, Output};

/// What the program does in a folder.
pub fn repro(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_repro")).current_dir(folder).args(arguments).output().unwrap()
}

/// A command of git that has to succeed, by somebody.
pub fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let git = Command::new("git").current_dir(folder).args(identity).args(arguments).output();
    let git = git.unwrap();
    assert!(git.status.success(), "{git:?}");
}
