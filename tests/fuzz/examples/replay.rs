//! Runs one target over every file of the folders named, once each: what a build that counts lines is
//! given to see which of them a corpus reaches.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(target) = targets::TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("usage: replay TARGET FOLDER...; there is no target `{name}`");
        return ExitCode::FAILURE;
    };
    let mut files = 0;
    for folder in arguments {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if let Ok(bytes) = std::fs::read(entry.path()) {
                (target.check)(&bytes);
                files += 1;
            }
        }
    }
    println!("{files}");
    ExitCode::SUCCESS
}
