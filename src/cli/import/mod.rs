//! `repro import`: what the logs say, group by group, and the bundles that were written.

mod json;
mod text;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::args::{self, Logs};
use super::output::Output;
use super::{Answer, BAD_USAGE};
use crate::decimal::Printed;
use crate::import::{Against, Format, Mapping, Options, Reference, Scaling, read, write};
use crate::outcome::ExitStatus;
use crate::source::{Place, Refusal};

/// The decimals of means, spreads and scores.
const DECIMALS: u32 = 10;

/// What stands under the options.
pub const HELP: &str = "\
Each run becomes a bundle `DIR/<group>-<file>` that `repro verify` accepts. Numbers of a log are kept as
printed in `data/printed/`; a log is in its bundle by its digest, and whole with --keep-source. A bundle
that is already there is refused, and where one log is refused nothing is written.

Copies (equal bytes, equal metric lines, equal seeds), runs that stop early, end without a validation or
diverge are named and do not count in the figures of their group. With --target a group is tested by a
one-sided t test: p is the chance of a mean this far below the target if the true mean were at it.

mlperf: the score is the mean time from run_start to run_stop without the fastest and the slowest run
(four of each for unet3d), in minutes, times the factor of the `scaling.json` beside the logs. Runs that
did not converge count as the slowest. With --rcp the samples to convergence are held against the reference:
at least m - t(0.95; n + N - 2) s sqrt(1/n + 1/N) on average, where m is the reference's olympic mean, n the
runs behind it, s the standard deviation of all its runs (divisor n - 1), and N the runs of the submission
behind its own mean. Points that converge more slowly than the line between their neighbours are dropped, as
are those of smaller batches than the fastest; between two batch sizes m and s are interpolated, above the
largest nothing is decided. The rules' own checker divides by n in s: where that decides otherwise, it is said.

Exit status: 0 where every log was read, 2 where one was refused or the usage was bad.";

/// Runs the command.
pub fn run(own: &args::Import, output: &Output) -> Answer {
    let wants_json = output.wants_json()?;
    let one = |refusal: Refusal| vec![refusal];
    let format = match own.logs {
        Logs::Speedrun => Format::Speedrun,
        Logs::Mlperf => Format::Mlperf,
        Logs::Jsonl => Format::Jsonl,
        Logs::Csv => Format::Csv,
        Logs::HfTrainer => Format::HfTrainer,
    };
    let hashed = wants_json || !own.dry_run;
    let options = Options { hashed, ..options(format, own).map_err(one)? };
    let import = read(format, &own.paths, &options);
    let mut failures = import.failures.clone();
    let mut digests = None;
    if let Some(out) = own.out.as_ref().filter(|_| !own.dry_run && failures.is_empty()) {
        match write(&import, out, own.keep_source, options.threads) {
            Ok(written) => digests = Some(written),
            Err(refusals) => failures.extend(refusals),
        }
    }
    if wants_json {
        output.print_json(&json::document(&import, digests.as_deref(), &failures));
    } else {
        output.print(&text::text(&import, digests.as_deref(), own, output));
    }
    for refusal in &failures {
        output.complain(refusal);
    }
    Ok(if failures.is_empty() { ExitStatus::Verified } else { ExitStatus::Refused })
}

fn options(format: Format, own: &args::Import) -> Result<Options, Refusal> {
    let table = matches!(format, Format::Jsonl | Format::Csv);
    let score = format == Format::Mlperf;
    for (option, given, suits) in [
        ("--map", !own.map.is_empty(), table),
        ("--rcp", own.rcp.is_some(), score),
        ("--scaling", own.scaling.is_some(), score),
        ("--target", own.target.is_some(), !score),
    ] {
        if given && !suits {
            let found = format!("`{}`", format.word());
            return Err(BAD_USAGE.at(Place::file(option), "a format that it is for", found));
        }
    }
    let target = own.target.as_deref().map(|text| {
        let value = Printed::parse(text).ok().map(|printed| printed.as_f64());
        value
            .filter(|value| value.is_finite())
            .ok_or_else(|| BAD_USAGE.at(Place::file("--target"), "a number", format!("`{text}`")))
    });
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Options {
        group: own.group.clone(),
        target: target.transpose()?,
        mapping: Mapping::parse(&own.map)?,
        reference: own.rcp.as_deref().map(Reference::load).transpose()?,
        scaling: own.scaling.as_deref().map(Scaling::load).transpose()?,
        hashed: false,
        threads: own.threads.unwrap_or_else(cores).max(1),
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

/// What a submission is held against, in words.
fn against(against: Against) -> String {
    match against {
        Against::Same => "the same batch size".to_owned(),
        Against::Between(low, high) => format!("the line between batch sizes {low} and {high}"),
        Against::Smallest(batch) => format!("the smallest batch size, {batch}"),
    }
}
