//! `repro check`.

use super::Answer;
use super::args::CheckArgs;
use super::git;
use super::output::Output;
use super::threads;
use repro_formats::check::{self as check, CheckOptions};
use repro_report::outcome::Report;
use repro_report::{self as report, Format};
use std::path::Path;

/// Runs the command.
pub fn run(own: &CheckArgs, output: &Output) -> Answer {
    let threads = own.threads.unwrap_or_else(threads::cores);
    let checked =
        check::check(&CheckOptions { paths: own.paths.clone(), is_change: own.changed, threads });
    let as_claims = || Report { base: git::below_top(Path::new(".")), ..checked.as_report() };
    let draw = |format, options: &_| match format {
        Format::Text => check::text(&checked, options),
        Format::Json => check::json(&checked),
        other => report::render(&as_claims(), other, options),
    };
    output.drawn(&draw, &|| report::github_summary(&as_claims()))?;
    Ok(checked.status())
}
