//! `repro import`: what the logs say, group by group, and the bundles that were written.

use std::fmt::Write;

use num_bigint::BigInt;
use num_rational::BigRational;
use serde_json::{Value as Json, json};

use super::args::{self, Logs};
use super::columns::{Columns, paragraph};
use super::output::Output;
use super::{Answer, BAD_USAGE};
use crate::decimal::{Printed, grouped};
use crate::digest::Digest;
use crate::import::{
    Against, Column, Convergence, Figures, Finding, Format, Group, Import, Losses, Mapping, NoFigure,
    Options, Reference, Run, Scaling, Score, Verdict, counted, read, write,
};
use crate::outcome::ExitStatus;
use crate::report::{clipped, visible};
use crate::source::{Place, Refusal};
use crate::stats::T;

/// The schema of the JSON answer.
const SCHEMA: &str = "repro.import/1";
/// The most runs of a group that are listed without being asked for.
const LISTED: usize = 24;
/// The most notes of one code that are listed without being asked for.
const NOTES: usize = 5;
/// The longest name of a run in a table.
const LABEL: usize = 26;
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
behind its own mean. Between two batch sizes m and s are interpolated.

Exit status: 0 where every log was read, 2 where one was refused or the usage was bad.";

/// Runs the command.
pub fn run(own: &args::Import, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let one = |refusal: Refusal| vec![refusal];
    let format = match own.logs {
        Logs::Speedrun => Format::Speedrun,
        Logs::Mlperf => Format::Mlperf,
        Logs::Jsonl => Format::Jsonl,
        Logs::Csv => Format::Csv,
        Logs::HfTrainer => Format::HfTrainer,
    };
    let options = options(format, own).map_err(one)?;
    let import = read(format, &own.paths, &options);
    let mut failures = import.failures.clone();
    let mut digests = None;
    if let Some(out) = own.out.as_ref().filter(|_| !own.dry_run && failures.is_empty()) {
        match write(&import, out, own.keep_source, options.threads) {
            Ok(written) => digests = Some(written),
            Err(refusals) => failures.extend(refusals),
        }
    }
    if json {
        output.print_json(&document(&import, digests.as_deref(), &failures));
    } else {
        output.print(&text(&import, digests.as_deref(), own, output));
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
        value.filter(|value| value.is_finite()).ok_or_else(|| {
            BAD_USAGE.at(Place::file("--target"), "a number", format!("`{text}`"))
        })
    });
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Options {
        group: own.group.clone(),
        target: target.transpose()?,
        mapping: Mapping::parse(&own.map)?,
        reference: own.rcp.as_deref().map(Reference::load).transpose()?,
        scaling: own.scaling.as_deref().map(Scaling::load).transpose()?,
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

/// At most ten significant digits.
fn significant(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// A printed number as the float that JSON carries.
fn float(text: &str) -> Json {
    text.parse::<f64>().map_or(Json::Null, Json::from)
}

fn or_refused<T, E: std::fmt::Display>(value: &Result<T, E>, shown: impl Fn(&T) -> Json) -> Json {
    match value {
        Ok(value) => shown(value),
        Err(why) => json!({"refused": why.to_string()}),
    }
}

fn document(import: &Import, digests: Option<&[Digest]>, failures: &[Refusal]) -> Json {
    let mut digests = digests.into_iter().flatten();
    let groups: Vec<_> = import.groups.iter().map(|group| group_json(group, &mut digests)).collect();
    json!({
        "schema": SCHEMA,
        "format": import.format.word(),
        "groups": groups,
        "skipped": import.skipped.iter().map(refusal_json).collect::<Vec<_>>(),
        "failures": failures.iter().map(refusal_json).collect::<Vec<_>>(),
    })
}

fn group_json<'a>(group: &Group, digests: &mut impl Iterator<Item = &'a Digest>) -> Json {
    let runs: Vec<_> = group.runs.iter().map(|run| run_json(run, digests.next())).collect();
    let (figures, findings) = match &group.figures {
        Figures::Losses(losses) => (losses_json(losses), Vec::new()),
        Figures::Score(score) => (score_json(score), score.findings.iter().map(refusal_json).collect()),
    };
    json!({
        "name": group.name,
        "runs": runs,
        "counted": group.counted(),
        "figures": figures,
        "findings": findings,
    })
}

fn run_json(run: &Run, digest: Option<&Digest>) -> Json {
    let finding = |finding: &Finding| {
        let mut json = refusal_json(&finding.refusal);
        if let Some(members) = json.as_object_mut() {
            members.insert("excludes".to_owned(), finding.excludes.into());
        }
        json
    };
    let mut json = json!({
        "bundle": run.name,
        "digest": digest.map(Digest::prefixed),
        "file": run.file,
        "bytes": run.identity.bytes,
        "sha256": run.identity.sha256.to_string(),
        "counts": run.counts(),
        "last_step": run.last_step(),
        "planned_steps": run.planned,
        "seed": run.seed,
        "training_records": run.training.len(),
        "evaluations": run.evaluations.len(),
        "final_loss": run.final_loss().map(crate::import::Printed::text),
        "findings": run.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    if let (Some(timed), Some(members)) = (&run.timed, json.as_object_mut()) {
        let converged = timed.converged.map(|(measure, amount)| json!({"measure": measure.word(), "amount": amount}));
        members.insert("minutes".to_owned(), timed.milliseconds.map_or(Json::Null, |time| float(&exact(&minutes(time)))));
        members.insert("success".to_owned(), timed.success.into());
        members.insert("converged".to_owned(), converged.into());
    }
    json
}

fn minutes(milliseconds: u64) -> BigRational {
    BigRational::new(milliseconds.into(), 60_000.into())
}

fn refusal_json(refusal: &Refusal) -> Json {
    json!({
        "code": refusal.code.id,
        "message": refusal.code.meaning,
        "expected": refusal.expected,
        "found": refusal.found,
        "way_out": refusal.way_out,
        "place": refusal.place,
    })
}

fn losses_json(losses: &Losses) -> Json {
    let test = |test: &Result<T, NoFigure>| {
        or_refused(test, |test| {
            json!({"t": significant(test.t), "df": test.df, "p_less": significant(test.p_less())})
        })
    };
    json!({
        "n": losses.values.len(),
        "mean": or_refused(&losses.mean, |mean| float(&fixed(*mean))),
        "sd": or_refused(&losses.summary, |summary| float(&fixed(summary.sd))),
        "one_sample_t": losses.test.as_ref().map(test),
    })
}

fn score_json(score: &Score) -> Json {
    let convergence = |found: &Convergence| {
        let (least, population) = (significant(found.least), significant(found.least_population));
        json!({
            "verdict": found.verdict.word(),
            "measure": found.measure.word(),
            "against": against(found.against),
            "submission": {"mean": significant(found.submission), "runs": found.runs},
            "reference": {"mean": significant(found.reference), "sd": significant(found.sd), "runs": found.reference_runs},
            "least_mean": least,
            "least_mean_population_sd": population,
            "factor": significant(found.factor),
        })
    };
    json!({
        "benchmark": score.of.benchmark,
        "organisation": score.of.organisation,
        "system": score.of.platform,
        "global_batch_size": score.of.batch,
        "dropped_each_end": score.dropped,
        "not_converged": score.failed,
        "n": score.kept,
        "olympic_mean_minutes": or_refused(&score.minutes, |minutes| float(&exact(minutes))),
        "scaling_factor": score.scaling.as_ref().map(|scaling| float(&scaling.text)),
        "scaling_file": score.scaling.as_ref().map(|scaling| &scaling.file),
        "score": score.scaled().map(|score| float(&exact(&score))),
        "convergence": score.convergence.as_ref().map(|found| or_refused(found, convergence)),
    })
}

fn against(against: Against) -> String {
    match against {
        Against::Same => "the same batch size".to_owned(),
        Against::Between(low, high) => format!("the line between batch sizes {low} and {high}"),
        Against::Smallest(batch) => format!("the smallest batch size, {batch}"),
    }
}

fn text(import: &Import, digests: Option<&[Digest]>, own: &args::Import, output: &Output) -> String {
    let runs = import.runs().count();
    let word = import.format.word();
    let mut text = format!("{word}  {} in {}\n", counted(runs, "run"), counted(import.groups.len(), "group"));
    for group in &import.groups {
        text.push('\n');
        text.push_str(&group_text(group, output));
    }
    text.push('\n');
    if !import.skipped.is_empty() {
        let shown = if output.verbose() { import.skipped.len() } else { 0 };
        let hint = if output.verbose() { "" } else { "; --verbose lists them" };
        let _ = writeln!(text, "skipped  {}{hint}", counted(import.skipped.len(), "file"));
        for refusal in import.skipped.iter().take(shown) {
            text.push_str(&paragraph("", &format!("{}: {}", refusal.place, refusal.found), output.width()));
        }
    }
    let last = match (digests, &own.out) {
        (Some(written), Some(out)) => format!("written  {} in {}", counted(written.len(), "bundle"), out.display()),
        _ if own.dry_run => "written  nothing, as asked".to_owned(),
        _ => "written  nothing, because of what was refused".to_owned(),
    };
    text.push_str(&visible(&last));
    text.push('\n');
    text
}

fn group_text(group: &Group, output: &Output) -> String {
    let timed = matches!(group.figures, Figures::Score(_));
    let headings: &[&str] = if timed { &["minutes", "to target", "status"] } else { &["steps", "final loss", "time"] };
    let mut table = Columns::new(headings.iter().map(|&heading| heading.to_owned()).collect());
    let all = output.verbose() || group.runs.len() <= LISTED;
    for run in group.runs.iter().filter(|run| all || !run.counts()) {
        let own = run.name.strip_prefix(&group.name).unwrap_or(&run.name).trim_start_matches('-');
        let mark = if run.counts() { "" } else { "~ " };
        table.row(&format!("{mark}{}", clipped(own, LABEL - mark.len())), cells(run, timed));
    }
    let left_out = group.runs.len() - group.counted();
    let mut title = format!("{}  {}", group.name, counted(group.runs.len(), "run"));
    if left_out > 0 {
        let _ = write!(title, ", {left_out} not counted (~)");
    }
    let width = output.width();
    let mut text = String::new();
    let _ = writeln!(text, "{}", visible(&title));
    if !output.quiet() {
        text.push_str(&table.render("", width, false));
        if !all {
            let _ = writeln!(text, "  {} that count, listed by --verbose", counted(group.counted(), "run"));
        }
    }
    match &group.figures {
        Figures::Losses(losses) => losses_text(losses, width, &mut text),
        Figures::Score(score) => score_text(score, width, &mut text),
    }
    notes_text(group, output, &mut text);
    text
}

/// What is odd about the runs; where many share one oddity, how many.
fn notes_text(group: &Group, output: &Output, text: &mut String) {
    let of_runs = group.runs.iter().flat_map(|run| &run.findings).map(|finding| &finding.refusal);
    let of_group = match &group.figures {
        Figures::Score(score) => score.findings.as_slice(),
        Figures::Losses(_) => &[],
    };
    let all: Vec<_> = of_runs.chain(of_group).collect();
    let mut told: Vec<&str> = Vec::new();
    for refusal in &all {
        let code = refusal.code;
        let alike = all.iter().filter(|other| other.code == code).count();
        let many = alike > NOTES && !output.verbose();
        if many && told.contains(&code.id) {
            continue;
        }
        told.push(code.id);
        let more = if many { format!(", and {} more like it; --verbose lists them", alike - 1) } else { String::new() };
        let said = format!("{}: {}: expected {}, found {}{more} [{}]", refusal.place, code.meaning, refusal.expected, refusal.found, code.id);
        text.push_str(&paragraph("  note", &said, output.width()));
    }
}

fn cells(run: &Run, timed: bool) -> Vec<String> {
    if let Some(time) = run.timed.as_ref().filter(|_| timed) {
        return vec![
            time.milliseconds.map_or_else(|| "—".to_owned(), |time| exact(&minutes(time))),
            time.converged.map_or_else(|| "—".to_owned(), |(measure, amount)| format!("{amount} {}", measure.word())),
            if time.success { "success" } else { "no success" }.to_owned(),
        ];
    }
    let steps = match (run.last_step(), run.planned) {
        (Some(last), Some(planned)) if last != planned => {
            format!("{} of {}", grouped(&last.to_string()), grouped(&planned.to_string()))
        }
        (Some(last), _) => grouped(&last.to_string()),
        (None, _) => "—".to_owned(),
    };
    let rows = run.training.iter().chain(&run.evaluations);
    let time = rows.max_by_key(|row| row.step).and_then(|row| {
        let seconds = |column| row.get(column).and_then(crate::import::Printed::value);
        seconds(&Column::TrainTime).map(|time| time / 1000.0).or_else(|| seconds(&Column::Seconds))
    });
    vec![
        steps,
        run.final_loss().map_or("—", crate::import::Printed::text).to_owned(),
        time.map_or_else(String::new, |time| format!("{time:.1} s")),
    ]
}

fn losses_text(losses: &Losses, width: usize, text: &mut String) {
    let n = losses.values.len();
    let told = match (&losses.summary, &losses.mean) {
        (Ok(summary), _) => format!("n {n} · mean {} · sd {}", fixed(summary.mean), fixed(summary.sd)),
        (Err(why), Ok(mean)) => format!("n {n} · mean {} · no spread: {why}", fixed(*mean)),
        (Err(why), Err(_)) => format!("n {n} · no mean: {why}"),
    };
    text.push_str(&paragraph("  all", &told, width));
    match &losses.test {
        Some(Ok(test)) => {
            let told = format!("t {:.4} · df {} · p {} (one-sided: the mean lies below the target)", test.t, test.df, probability(test.p_less()));
            text.push_str(&paragraph("  test", &told, width));
        }
        Some(Err(why)) => text.push_str(&paragraph("  test", &format!("none: {why}"), width)),
        None => {}
    }
}

/// A probability as people read it.
fn probability(p: f64) -> String {
    if p < 1e-4 { format!("{p:.2e}") } else { format!("{p:.6}") }
}

fn score_text(score: &Score, width: usize, text: &mut String) {
    let of = &score.of;
    let told = format!(
        "{} on {} · batch {}",
        of.benchmark,
        of.platform.as_deref().unwrap_or("an unnamed system"),
        of.batch
    );
    text.push_str(&paragraph("  of", &told, width));
    let told = match &score.minutes {
        Ok(minutes) => format!("{} minutes, the mean of {} ({} fastest and slowest dropped)", exact(minutes), counted(score.kept, "run"), score.dropped),
        Err(why) => format!("no mean: {why}"),
    };
    text.push_str(&paragraph("  mean", &told, width));
    if let Some(scaled) = score.scaled() {
        let told = match &score.scaling {
            Some(scaling) => format!("{} = mean x {} ({})", exact(&scaled), scaling.text, scaling.file),
            None => format!("{}, not scaled", exact(&scaled)),
        };
        text.push_str(&paragraph("  score", &told, width));
    }
    match &score.convergence {
        Some(Ok(found)) => text.push_str(&paragraph("  rcp", &convergence_text(found), width)),
        Some(Err(why)) => text.push_str(&paragraph("  rcp", &format!("unchecked: {why}"), width)),
        None => {}
    }
}

fn convergence_text(found: &Convergence) -> String {
    let mut text = format!(
        "{}: {:.3} {} on average over {}; the reference needs {:.3} ({} runs, sd {:.3}, {}), and no mean below {:.3} passes",
        found.verdict.word(), found.submission, found.measure.word(), counted(found.runs, "run"),
        found.reference, found.reference_runs, found.sd, against(found.against), found.least,
    );
    if found.verdict == Verdict::Scaled {
        let _ = write!(text, "; to be scaled by {:.10}", found.factor);
    }
    let passes = found.submission >= found.least;
    if passes != (found.submission >= found.least_population) {
        let _ = write!(text, "; with the population sd of the rules' own checker the limit is {:.3}", found.least_population);
    }
    text
}
