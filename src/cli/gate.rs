//! `repro gate`.

use super::args::GateArgs;
use super::output::Output;
use super::{Answer, git, threads};
use repro_core::source::Error;
use repro_formats::check::CheckOptions;
use repro_formats::gate::{self as gate, GateOptions, GateRule};
use repro_report::outcome::Report;
use repro_report::{self as report, Format};
use std::path::{Path, PathBuf};

/// Runs the command; bundles of the project at `root` may be named without their folder.
pub fn run(root: Option<PathBuf>, own: &GateArgs, output: &Output) -> Answer {
    let rule = own.rule.as_deref().map(GateRule::load).transpose();
    let rule = rule.map_err(|error: Error| vec![error])?.unwrap_or_default();
    let options = GateOptions {
        baseline: own.baseline.clone(),
        candidate: own.candidate.clone(),
        rule: GateRule { tries: own.tries, ..rule },
        metric: own.metric.clone(),
        root,
        threads: own.threads.unwrap_or_else(threads::cores),
        contradiction: Some(contradiction),
    };
    let decided = gate::gate(&options)?;
    output.spares(decided.files())?;
    let as_claims = || Report { base: git::below_top(Path::new(".")), ..decided.as_report() };
    let draw = |format, options: &_| match format {
        Format::Text => gate::text(&decided, options),
        Format::Json => gate::json(&decided),
        Format::Badge => gate::badge(&decided).svg(),
        Format::Shields => gate::badge(&decided).shields(),
        other => report::render(&as_claims(), other, options),
    };
    output.drawn(&draw, &|| report::github_summary(&as_claims()))?;
    Ok(decided.decision.status())
}

/// A contradiction that `repro check` finds for a number in a document.
fn contradiction(file: &str, printed: &str) -> Option<Error> {
    let options = CheckOptions { paths: vec![PathBuf::from(file)], is_change: false, threads: 1 };
    repro_formats::check::check(&options).contradiction_of(printed)
}
