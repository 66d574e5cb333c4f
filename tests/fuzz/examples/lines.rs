//! Counts the lines that a profile of the `replay` example reached: `lines PROFILE PROGRAM FILE...` prints,
//! for each file of the project, its lines with code and those that ran.

use std::path::PathBuf;
use std::process::ExitCode;

use llvm_profparser::{CoverageMapping, CoverageResult, parse};

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [profile, program, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: lines PROFILE PROGRAM FILE...");
        return ExitCode::FAILURE;
    };
    let profile = parse(profile).expect("a profile");
    let objects = [program.clone()];
    let report = CoverageMapping::new(&objects, &profile, true).and_then(|map| map.generate_report());
    let report = report.expect("a program that counts its lines");
    for file in files {
        let known = report.files.iter().find(|(path, _)| path.ends_with(file));
        let (ran, lines) = known.map_or((0, 0), |(_, result)| count(result));
        println!("{} {ran} {lines}", file.display());
    }
    ExitCode::SUCCESS
}

/// How many lines ran, of how many that have code. A line counts by the code that begins on it, and else by
/// the innermost that goes on over it.
fn count(result: &CoverageResult) -> (usize, usize) {
    let last = result.hits.keys().map(|region| region.line_end).max().unwrap_or_default();
    let (mut ran, mut lines) = (0, 0);
    for line in 1..=last {
        let over = || {
            let regions = result.hits.iter();
            regions.filter(move |(region, _)| region.line_start <= line && line <= region.line_end)
        };
        let begins = over().filter(|(region, _)| region.line_start == line).map(|(_, hits)| *hits).max();
        let innermost = || over().max_by_key(|(region, _)| (region.line_start, region.column_start));
        if let Some(hits) = begins.or_else(|| innermost().map(|(_, hits)| *hits)) {
            lines += 1;
            ran += usize::from(hits > 0);
        }
    }
    (ran, lines)
}
