//! nanochat's leaderboard, `dev/LEADERBOARD.md`: runs with their commands, results and descriptions.
//!
//! Definitions: `scripts/base_train.py` and `nanochat/gpt.py`, karpathy/nanochat, at the commits that the page names.

use std::ops::Range;
use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_core::source::Source;

use super::model::NanochatModel;
use super::prose::ProsePassage;
use crate::check::kind::{DocumentKind, Reads, RelationTable, Twins};
use crate::check::stated::{Digits, StatedRow};
use crate::check::words::spoken;

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "nanochat-leaderboard",
    what: "nanochat leaderboard",
    reads: Reads::Text { is, read },
    relations: &RELATIONS,
    twins: Some(Twins { table: "run", identity: "identity", relations: &TWINS }),
};

/// Names of numbers in results and commands, with the words before each.
const AFTER: &[(&str, &[&str])] = &[
    ("depth", &["--depth="]),
    ("ratio", &["--target-param-data-ratio="]),
    ("stated_batch", &["--total-batch-size="]),
    ("max_seq_len", &["--max-seq-len="]),
    ("core", &["core_metric ", "CORE metric: ", "average CORE was ", "was CORE "]),
    ("step", &["wandb:                 step ", "\nstep ", "\nStep "]),
    ("total_training_flops", &["total_training_flops "]),
    ("seconds", &["total_training_time "]),
    ("last_step", &["\nstep "]),
    ("milliseconds", &["| dt: "]),
    ("tokens_per_second", &["| tok/sec: "]),
    ("minutes_so_far", &["| total time: "]),
    ("minutes", &["Total training time: "]),
    ("minimum_bpb", &["Minimum validation bpb: "]),
    ("last_bpb", &["| Validation bpb: "]),
    ("mean", &["Mean is "]),
    ("spread", &["max-min is "]),
];
/// The same for prose, where numbers are rounded to the last nonzero digit.
const SPOKEN: &[(&str, &[&str])] = &[
    ("previous_hours", &["Previous record was "]),
    ("hours", &["hours, so ", "\"time to GPT-2\" to ", "of them lasted "]),
    ("from_hours", &["taking us from "]),
    ("wait_hours", &["you wait "]),
];
/// The vocabulary size of every run since the leaderboard exists.
const VOCABULARY: f64 = 32_768.0;
/// Default batch sizes, before and after they were chosen by depth.
const BATCHES: [f64; 4] = [262_144.0, 524_288.0, 1_048_576.0, 2_097_152.0];

fn is(_: &str, text: &str) -> bool {
    text.contains("scripts.base_train") && text.contains("\n## Run 1") && text.contains("CORE")
}

fn read(source: &Arc<Source>) -> StatedRow {
    let text = source.text();
    let mut whole = StatedRow::default();
    let all = ProsePassage { text, range: 0..text.len() };
    gpt2(&mut whole, &all, source);
    whole.add("sum", sums(&all, source));
    whole.add("duration", durations(&all, source));
    let mut runs: Vec<StatedRow> = Vec::new();
    let mut example = None;
    for (name, range) in sections(text) {
        let passage = ProsePassage { text, range };
        match name {
            "How to" => example = Some(run(name, &passage, source)),
            name if name.starts_with("Run ") => {
                let mut row = run(name, &passage, source);
                if let Some(before) = runs.last() {
                    row.copy("record", before, "own_hours");
                }
                runs.push(row);
            }
            _ => {}
        }
    }
    if let Some((first, mut example)) = runs.first().zip(example) {
        example.copy("first_step", first, "step");
        whole.add("example", [example]);
    }
    whole.add("run", runs);
    whole
}

/// Second-level headings and the text below each.
fn sections(text: &str) -> Vec<(&str, Range<usize>)> {
    let heads: Vec<usize> = text.match_indices("\n## ").map(|(at, _)| at + 1).collect();
    let ends = heads.iter().skip(1).copied().chain([text.len()]);
    let section = |(start, end): (&usize, usize)| {
        let inside = text.get(*start..end)?;
        let name = inside.lines().next()?.strip_prefix("## ")?;
        Some((name.trim(), start + name.len() + 3..end))
    };
    std::iter::zip(&heads, ends).filter_map(section).collect()
}

/// The cost of GPT-2, and the score to beat.
fn gpt2(whole: &mut StatedRow, page: &ProsePassage<'_>, source: &Arc<Source>) {
    let mut print = |name: &str, span: Option<Range<usize>>| {
        if let Some(span) = span {
            whole.print(name, source, span, Digits::Rounded);
        }
    };
    print("threshold", page.after(&["It achieves "]));
    print("gpt2.chips", page.before(&[" TPU v3 chips"]));
    print("gpt2.hours", page.after(&["chips for "]));
    print("gpt2.rate", page.after(&["with $"]));
    print("gpt2.thousands", page.after(&["total cost of approx. $"]));
    read_spoken(whole, "gpt2.thousands", 0.5);
}

/// Reads a number again as prose: rounded to this many units of its last nonzero digit.
fn read_spoken(row: &mut StatedRow, name: &str, units: f64) {
    let Some(printed) = row.cell(name).map(|cell| cell.printed.clone()) else { return };
    let Some(range) = spoken(&printed.replace(',', "")) else { return };
    let half = range.width() * units;
    let around = PrintedRange::between(range.middle() - half, range.middle() + half);
    row.quote(name.to_owned(), name, around, &printed);
}

/// Sums that are written out in the text.
fn sums(page: &ProsePassage<'_>, source: &Arc<Source>) -> Vec<StatedRow> {
    let row = |sum: super::prose::WrittenSum| {
        let written = source.text().get(sum.sum).unwrap_or_default();
        let mut row = StatedRow::new(written.trim());
        row.print("result", source, sum.result, Digits::Rounded);
        if sum.is_about {
            // Rounded numbers may also be truncated.
            read_spoken(&mut row, "result", 1.0);
        }
        row.compute_number("value", sum.value, "the sum as written");
        row
    };
    page.sums().into_iter().map(row).collect()
}

/// Durations given in two units.
fn durations(page: &ProsePassage<'_>, source: &Arc<Source>) -> Vec<StatedRow> {
    let mut all = Vec::new();
    for (between, unit, hours) in [
        (" hours (", " minutes", 1.0 / 60.0),
        (" hours / ", " minutes", 1.0 / 60.0),
        (" hours (", " days", 24.0),
    ] {
        for (at, _) in page.text.match_indices(between) {
            let ahead = ProsePassage { text: page.text, range: 0..at + between.len() };
            let ahead = ProsePassage {
                range: ahead.range.start.max(at.saturating_sub(20))..at + between.len(),
                ..ahead
            };
            let behind = at + between.len()..page.text.len();
            let first = ahead.before(&[between]);
            let second = ProsePassage { text: page.text, range: behind.clone() }.after(&[""]);
            let Some((first, second)) = first.zip(second) else { continue };
            let is_unit = page.text.get(second.end..).is_some_and(|rest| rest.starts_with(unit));
            if !is_unit || second.start != behind.start {
                continue;
            }
            let mut row = StatedRow::new("");
            row.print("hours", source, first, Digits::Rounded);
            row.print("other", source, second, Digits::Rounded);
            read_spoken(&mut row, "hours", 0.5);
            read_spoken(&mut row, "other", 0.5);
            row.compute_number("unit", hours, format!("hours per unit of{unit}"));
            all.push(row);
        }
    }
    all
}

fn run(name: &str, passage: &ProsePassage<'_>, source: &Arc<Source>) -> StatedRow {
    let mut row = StatedRow::new(name);
    for (name, words) in AFTER {
        if let Some(span) = passage.after(words) {
            row.print(*name, source, span, Digits::Rounded);
        }
    }
    for (name, words) in SPOKEN {
        if let Some(span) = passage.after(words) {
            row.print(*name, source, span, Digits::Rounded);
            read_spoken(&mut row, name, 0.5);
        }
    }
    for (name, words) in [("name", "--run="), ("tag", "--model-tag="), ("commit", "on commit `")] {
        if let Some(span) = passage.word_after(words) {
            row.print(name, source, span, Digits::Rounded);
        }
    }
    step_of_steps(&mut row, passage, source);
    repeats(&mut row, passage, source);
    named(&mut row, passage.says("--fp8"));
    own_time(&mut row);
    counted(&mut row);
    row.alias("score", &["core", "mean"]);
    let day = passage.text.get(passage.range.clone()).and_then(|text| {
        text.split_once(" on commit").map(|(before, _)| before.rsplit("ved ").next().unwrap_or(""))
    });
    if let Some(day) = day.filter(|day| day.len() < 20) {
        row.compute_text(
            "identity",
            &format!("{name}, {}", day.replace(',', "")),
            "the run and its date",
        );
    }
    row
}

/// Parses `step 05567/05568 (99.98%)`.
fn step_of_steps(row: &mut StatedRow, passage: &ProsePassage<'_>, source: &Arc<Source>) {
    let Some(last) = passage.after(&["\nstep "]) else { return };
    let rest = ProsePassage { text: passage.text, range: last.end..passage.range.end };
    let Some(all) = rest.after(&["/"]).filter(|all| all.start == last.end + 1) else { return };
    row.print("steps", source, all.clone(), Digits::Rounded);
    let rest = ProsePassage { text: passage.text, range: all.end..passage.range.end };
    if let Some(percent) = rest.after(&[" ("]).filter(|percent| percent.start <= all.end + 2) {
        row.print("percent", source, percent, Digits::Rounded);
    }
    row.rename("step", "logged_step");
    row.alias("step", &["steps"]);
}

/// The scores of repeated runs, and their stated number.
fn repeats(row: &mut StatedRow, passage: &ProsePassage<'_>, source: &Arc<Source>) {
    let score = |span: Range<usize>| {
        let mut row = StatedRow::default();
        row.print("score", source, span, Digits::Rounded);
        row
    };
    let scores: Vec<_> = passage.bare_numbers().into_iter().map(score).collect();
    if scores.is_empty() {
        return;
    }
    row.compute_number("listed", scores.len() as f64, "the number of listed scores");
    row.add("repeat", scores);
    if let Some(times) = passage.before(&[" individual times"]) {
        row.print("times", source, times, Digits::Rounded);
    }
}

/// Parses the name of a run: `d26-feb2-fp8-ratio8.5`.
fn named(row: &mut StatedRow, is_fp8: bool) {
    row.compute(
        "fp8",
        repro_claim::relation::Term::Truth(is_fp8),
        "whether the command has `--fp8`",
    );
    for of in ["name", "tag"] {
        let Some(name) = row.text(of).map(str::to_owned) else { continue };
        for part in name.split(['-', '_']) {
            let number = |prefix: &str| part.strip_prefix(prefix).and_then(PrintedRange::printed);
            if let Some(depth) = number("d") {
                row.quote(format!("{of}.depth"), of, depth, part);
            }
            if let Some(ratio) = number("ratio") {
                row.quote(format!("{of}.ratio"), of, ratio, part);
            }
        }
    }
}

/// The hours of a run, from its own seconds if stated.
fn own_time(row: &mut StatedRow) {
    for (of, in_hour) in [("seconds", 3600.0), ("minutes", 60.0)] {
        if let Some((time, cell)) = row.range(of).zip(row.cell(of)) {
            let printed = format!("{} {of}", cell.printed);
            return row.quote("own_hours", of, time.scaled(1.0 / in_hour), &printed);
        }
    }
    row.alias("own_hours", &["hours"]);
}

/// The steps and FLOPs of a command, for the code version and batch size that fit best.
fn counted(row: &mut StatedRow) {
    let Some(model) = NanochatModel::of(row, vec![VOCABULARY]) else { return };
    let Some((ratio, step)) = row.number("ratio").zip(row.number("step")) else { return };
    let batches = row.number("stated_batch").map_or(BATCHES.to_vec(), |batch| vec![batch]);
    let flops = row.number("total_training_flops");
    let of = |batch: &f64| {
        let batch = *batch;
        model.counts().into_iter().map(move |count| {
            let steps = (ratio * count.scaling / batch).floor();
            (steps, steps * batch * count.flops_per_token, batch)
        })
    };
    let off = |(steps, total, _): &(f64, f64, f64)| {
        let of_flops = flops.map_or(0.0, |flops| ((flops - total) / flops).abs());
        (steps - step).abs() / step + of_flops.min(1.0) * 1e-3
    };
    let best = batches.iter().flat_map(of).min_by(|a, b| off(a).total_cmp(&off(b)));
    let Some((steps, total, batch)) = best else { return };
    let how = format!("from nanochat's code, with batch size {batch}");
    row.compute_number("counted.steps", steps, how.clone());
    row.compute_number("counted.total_flops", total, how);
    row.compute_number("counted.batch", batch, "the batch size that fits best");
}

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("leaderboard.toml", include_str!("leaderboard.toml"));

/// The checks between two documents about the same run.
static TWINS: RelationTable =
    RelationTable::new("leaderboard_twins.toml", include_str!("leaderboard_twins.toml"));
