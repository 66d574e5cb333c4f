//! The answer of `repro import` for people.

use std::fmt::Write;

use super::super::args;
use super::super::output::Output;
use super::{against, exact, fixed, minutes};
use repro_core::decimal::grouped;
use repro_core::digest::Digest;
use repro_formats::import::scoring::{Convergence, ConvergenceVerdict, MlperfScore};
use repro_formats::import::{
    Figures, Import, LogFormat, LogGroup, LogNumber, LoggedRun, Losses, Metric, counted, places,
};
use repro_report::{Columns, clipped, paragraph, visible};
use repro_stats::Summary;

/// The most runs of a group that are listed without being asked for.
const LISTED: usize = 24;
/// The most notes of one code that are listed without being asked for.
const NOTES: usize = 5;
/// The most metrics of a group that are listed without being asked for.
const METRICS: usize = 12;
/// The longest name of a run in a table.
const LABEL: usize = 26;

/// The whole answer.
pub fn text(
    import: &Import,
    digests: Option<&[Digest]>,
    own: &args::ImportArgs,
    output: &Output,
) -> String {
    let runs = import.runs().count();
    let word = import.format.map_or("auto", LogFormat::word);
    let mut text =
        format!("{word}  {} in {}\n", counted(runs, "run"), counted(import.groups.len(), "group"));
    for group in &import.groups {
        text.push('\n');
        text.push_str(&group_text(group, import.format.is_none(), output));
    }
    text.push('\n');
    if !import.skipped.is_empty() {
        let shown = if output.verbose() { import.skipped.len() } else { 0 };
        let hint = if output.verbose() { "" } else { "; --verbose lists them" };
        let _ = writeln!(text, "skipped  {}{hint}", counted(import.skipped.len(), "file"));
        for error in import.skipped.iter().take(shown) {
            text.push_str(&paragraph(
                "",
                &format!("{}: {}", error.place, error.found),
                output.width(),
            ));
        }
    }
    let last = match (digests, &own.out) {
        (Some(written), Some(out)) => {
            format!("written  {} in {}", counted(written.len(), "bundle"), out.display())
        }
        _ if own.dry_run => "written  nothing (dry run)".to_owned(),
        _ if import.failures.is_empty() || own.keep_going => "written  nothing".to_owned(),
        _ => "written  nothing, because of errors".to_owned(),
    };
    text.push_str(&visible(&last));
    text.push('\n');
    text
}

fn group_text(group: &LogGroup, is_mixed: bool, output: &Output) -> String {
    let timed = matches!(group.figures, Figures::Score(_));
    let headings: &[&str] =
        if timed { &["minutes", "to target", "status"] } else { &["steps", "final loss", "time"] };
    let mut table = Columns::new(headings.iter().map(|&heading| heading.to_owned()).collect());
    let all = output.verbose() || group.runs.len() <= LISTED;
    for run in group.runs.iter().filter(|run| all || !run.counts()) {
        let own = run.name.strip_prefix(&group.name).unwrap_or(&run.name).trim_start_matches('-');
        let mark = if run.counts() { "" } else { "~ " };
        table.row(&format!("{mark}{}", clipped(own, LABEL - mark.len())), cells(run, timed));
    }
    let left_out = group.runs.len() - group.counted();
    let mut title = format!("{}  {}", group.name, counted(group.runs.len(), "run"));
    if is_mixed {
        let _ = write!(title, " of {}", group.format.word());
    }
    if left_out > 0 {
        let _ = write!(title, ", {left_out} not counted (~)");
    }
    let width = output.width();
    let mut text = String::new();
    let _ = writeln!(text, "{}", visible(&title));
    if !output.quiet() {
        text.push_str(&table.render("", width, false));
        if !all {
            let _ = writeln!(
                text,
                "  {} counted runs; --verbose lists them",
                counted(group.counted(), "run")
            );
        }
    }
    match &group.figures {
        // Runs without validation losses are compared by the metrics that they have.
        Figures::Losses(losses) if losses.values.is_empty() && losses.test.is_none() => {}
        Figures::Losses(losses) => losses_text(losses, width, &mut text),
        Figures::Score(score) => score_text(score, width, &mut text),
    }
    if !output.quiet() {
        seeds_text(group, width, &mut text);
        metrics_text(group, output, &mut text);
    }
    notes_text(group, output, &mut text);
    text
}

/// The seeds that the paths of the runs tell.
fn seeds_text(group: &LogGroup, width: usize, text: &mut String) {
    let seeds =
        group.runs.iter().filter(|run| run.seed_from_path).filter_map(|run| run.seed.as_deref());
    let seeds: Vec<_> = seeds.collect();
    if !seeds.is_empty() {
        text.push_str(&paragraph(
            "  seeds",
            &format!("{}, detected from the names", seeds.join(", ")),
            width,
        ));
    }
}

/// The metrics of a group with their last values, and how a post names them.
fn metrics_text(group: &LogGroup, output: &Output, text: &mut String) {
    let places = places(group);
    let listed = if output.verbose() { places.len() } else { METRICS };
    if !places.is_empty() {
        text.push_str("  metrics, for `[names]` in a post:\n");
    }
    for place in places.iter().take(listed) {
        let step =
            place.step.map_or_else(|| "the whole run".to_owned(), |step| format!("step {step}"));
        let told = format!("{} at {step}: {}", place.name, values_text(&place.values));
        let _ = writeln!(text, "    {}", visible(&told));
        let pointer = place
            .pointer
            .as_deref()
            .unwrap_or("a post cannot refer to it: its name contains both kinds of quotes");
        let _ = writeln!(text, "      {}", visible(pointer));
    }
    if places.len() > listed {
        let _ = writeln!(text, "    {} more; --verbose lists them", places.len() - listed);
    }
}

/// One value as printed, or how many there are with their mean and spread.
fn values_text(values: &[LogNumber]) -> String {
    if let [value] = values {
        return value.text().to_owned();
    }
    let numbers: Option<Vec<f64>> = values.iter().map(LogNumber::value).collect();
    let summary = numbers.and_then(|numbers| Summary::of(&numbers).ok());
    match summary {
        Some(summary) => {
            let (mean, sd) = (significant(summary.mean), significant(summary.sd));
            format!("n {} · mean {mean} · sd {sd}", values.len())
        }
        None => values.iter().map(LogNumber::text).collect::<Vec<_>>().join(", "),
    }
}

/// At most ten significant digits, and none that say nothing.
fn significant(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// Oddities of the runs; shared ones are counted.
pub fn notes_text(group: &LogGroup, output: &Output, text: &mut String) {
    let of_runs = group.runs.iter().flat_map(|run| &run.findings).map(|finding| &finding.error);
    let of_group = match &group.figures {
        Figures::Score(score) => score.findings.as_slice(),
        Figures::Losses(_) => &[],
    };
    let all: Vec<_> = of_runs.chain(of_group).collect();
    let mut told: Vec<&str> = Vec::new();
    for error in &all {
        let code = error.code;
        let alike = all.iter().filter(|other| other.code == code).count();
        let many = alike > NOTES && !output.verbose();
        if many && told.contains(&code.id) {
            continue;
        }
        told.push(code.id);
        let more = if many {
            format!(", and {} more like it; --verbose lists them", alike - 1)
        } else {
            String::new()
        };
        let said = format!(
            "{}: {}: expected {}, found {}{more} [{}]",
            error.place, code.meaning, error.expected, error.found, code.id
        );
        text.push_str(&paragraph("  note", &said, output.width()));
    }
}

fn cells(run: &LoggedRun, timed: bool) -> Vec<String> {
    if let Some(time) = run.timed.as_ref().filter(|_| timed) {
        return vec![
            time.milliseconds.map_or_else(|| "—".to_owned(), |time| exact(&minutes(time))),
            time.converged.first().map_or_else(
                || "—".to_owned(),
                |(measure, amount)| format!("{amount} {}", measure.word()),
            ),
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
        let seconds = |metric| row.get(metric).and_then(LogNumber::value);
        seconds(&Metric::TrainTime).map(|time| time / 1000.0).or_else(|| seconds(&Metric::Seconds))
    });
    vec![
        steps,
        run.final_loss().map_or("—", LogNumber::text).to_owned(),
        time.map_or_else(String::new, |time| format!("{time:.1} s")),
    ]
}

fn losses_text(losses: &Losses, width: usize, text: &mut String) {
    let n = losses.values.len();
    let told = match (&losses.summary, &losses.mean) {
        (Ok(summary), _) => {
            format!("n {n} · mean {} · sd {}", fixed(summary.mean), fixed(summary.sd))
        }
        (Err(why), Ok(mean)) => format!("n {n} · mean {} · no sd: {why}", fixed(*mean)),
        (Err(why), Err(_)) => format!("n {n} · no mean: {why}"),
    };
    text.push_str(&paragraph("  all", &told, width));
    match &losses.test {
        Some(Ok(test)) => {
            let told = format!(
                "t {:.4} · df {} · p {} (one-sided: the mean is below the target)",
                test.t,
                test.df,
                probability(test.p_less())
            );
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

fn score_text(score: &MlperfScore, width: usize, text: &mut String) {
    let of = &score.of;
    let told = format!(
        "{} on {} · batch {}",
        of.benchmark,
        of.platform.as_deref().unwrap_or("an unnamed system"),
        of.batch
    );
    text.push_str(&paragraph("  of", &told, width));
    let told = match &score.minutes {
        Ok(minutes) => format!(
            "{} minutes, the mean of {} ({} fastest and slowest dropped)",
            exact(minutes),
            counted(score.kept, "run"),
            score.dropped
        ),
        Err(why) => format!("no mean: {why}"),
    };
    text.push_str(&paragraph("  mean", &told, width));
    if let Some(scaled) = score.scaled() {
        let told = match &score.scaling {
            Some(scaling) => {
                format!("{} = mean x {} ({})", exact(&scaled), scaling.text, scaling.file)
            }
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
        "{}: {:.3} {} on average over {}; the reference needs {:.3} ({} runs, sd {:.3}, {}); means below {:.3} fail",
        found.verdict.word(),
        found.submission,
        found.measure.word(),
        counted(found.runs, "run"),
        found.reference,
        found.reference_runs,
        found.sd,
        against(found.against),
        found.least,
    );
    if found.verdict == ConvergenceVerdict::Scaled {
        let _ = write!(text, "; scale by {:.10}", found.factor);
    }
    let passes = found.submission >= found.least;
    if passes != (found.submission >= found.least_population) {
        let _ = write!(
            text,
            "; with the official checker's population sd, the limit is {:.3}",
            found.least_population
        );
    }
    text
}
