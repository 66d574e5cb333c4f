//! `repro import`: what the logs say, group by group, and the bundles that were written.

mod json;
mod text;

use std::path::PathBuf;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::args;
use super::output::Output;
use super::{Answer, BAD_USAGE};
use repro_core::decimal::Printed;
use repro_core::similar::did_you_mean;
use repro_core::source::{Error, Location};
use repro_formats::import::scoring::{Against, Reference, Scaling};
use repro_formats::import::{ImportOptions, LogFormat, Mapping, read, write};
use repro_report::outcome::ExitStatus;

pub use text::notes_text;

/// The decimals of means, spreads and scores.
const DECIMALS: u32 = 10;

/// Runs the command.
pub fn run(own: &args::ImportArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json();
    let one = |error: Error| vec![error];
    let (format, paths) = format_and_paths(&own.paths).map_err(one)?;
    let hashed = wants_json || !own.dry_run;
    let options = ImportOptions { hashed, ..options(format, own).map_err(one)? };
    let import = read(format, paths, &options);
    let mut failures = import.failures.clone();
    let mut digests = None;
    let writes = failures.is_empty() || own.keep_going && import.runs().next().is_some();
    if let Some(out) = own.out.as_ref().filter(|_| !own.dry_run && writes) {
        match write(&import, out, own.keep_source, options.threads) {
            Ok(written) => digests = Some(written),
            Err(errors) => failures.extend(errors),
        }
    }
    if wants_json {
        output.print_json(&json::document(&import, digests.as_deref(), &failures));
    } else {
        output.print(&text::text(&import, digests.as_deref(), own, output));
    }
    for error in &failures {
        output.complain(error);
    }
    Ok(if failures.is_empty() { ExitStatus::Verified } else { ExitStatus::Refused })
}

/// The format, if the first word is one, and the paths behind it.
fn format_and_paths(words: &[PathBuf]) -> Result<(Option<LogFormat>, &[PathBuf]), Error> {
    let Some((first, rest)) = words.split_first() else { return Ok((None, words)) };
    let word = first.to_str().unwrap_or_default();
    let format = LogFormat::ALL.into_iter().find(|format| format.word() == word);
    if format.is_none() && word != "auto" {
        return match first.exists() {
            true => Ok((None, words)),
            false => Err(no_format(word)),
        };
    }
    if rest.is_empty() {
        return Err(BAD_USAGE.at(
            Location::file(word),
            "a log, or a folder of logs, after the format",
            "none",
        ));
    }
    Ok((format, rest))
}

/// The refusal of a first word that is neither a format nor a path.
fn no_format(word: &str) -> Error {
    let words: Vec<_> = LogFormat::ALL.iter().map(|format| format.word()).collect();
    let expected = format!("an existing path, `auto`, or one of `{}`", words.join("`, `"));
    let error = BAD_USAGE.at(Location::file(word), expected, format!("`{word}`"));
    match did_you_mean(word, words) {
        Some(hint) => error.help(hint),
        None => error,
    }
}

fn options(format: Option<LogFormat>, own: &args::ImportArgs) -> Result<ImportOptions, Error> {
    let table = format.is_none_or(|format| matches!(format, LogFormat::Jsonl | LogFormat::Csv));
    let score = format.is_none_or(|format| format == LogFormat::Mlperf);
    let loss = format != Some(LogFormat::Mlperf);
    for (option, given, suits) in [
        ("--map", !own.map.is_empty(), table),
        ("--rcp", own.rcp.is_some(), score),
        ("--scaling", own.scaling.is_some(), score),
        ("--target", own.target.is_some(), loss),
    ] {
        if given && !suits {
            let found = format!("`{}`", format.map_or("auto", LogFormat::word));
            return Err(BAD_USAGE.at(
                Location::file(option),
                "a format that supports this option",
                found,
            ));
        }
    }
    let target = own.target.as_deref().map(|text| {
        let value = Printed::parse(text).ok().map(|printed| printed.as_f64());
        value.filter(|value| value.is_finite()).ok_or_else(|| {
            BAD_USAGE.at(Location::file("--target"), "a number", format!("`{text}`"))
        })
    });
    Ok(ImportOptions {
        group: own.group.clone(),
        target: target.transpose()?,
        mapping: Mapping::parse(&own.map)?,
        reference: own.rcp.as_deref().map(Reference::load).transpose()?,
        scaling: own.scaling.as_deref().map(Scaling::load).transpose()?,
        every: own.every,
        hashed: false,
        threads: own.threads.unwrap_or_else(super::threads::cores),
    })
}

/// A float with ten decimals.
fn fixed(value: f64) -> String {
    format!("{value:.0$}", DECIMALS as usize)
}

/// A fraction with ten decimals, rounded half away from zero.
fn exact(value: &BigRational) -> String {
    let scale = BigInt::from(10).pow(DECIMALS);
    let digits = (value * BigRational::from_integer(scale)).round().to_integer().to_string();
    let padded = format!("{digits:0>width$}", width = DECIMALS as usize + 1);
    let (whole, part) = padded.split_at(padded.len() - DECIMALS as usize);
    format!("{whole}.{part}")
}

/// Milliseconds in minutes.
fn minutes(milliseconds: u64) -> BigRational {
    BigRational::new(milliseconds.into(), 60_000.into())
}

/// The reference that a submission is compared with, in words.
fn against(against: Against) -> String {
    match against {
        Against::Same => "the same batch size".to_owned(),
        Against::Between(low, high) => format!("the line between batch sizes {low} and {high}"),
        Against::Smallest(batch) => format!("the smallest batch size, {batch}"),
    }
}
