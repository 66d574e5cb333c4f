//! `report.md` of a nanochat run, and the files of its sections.
//!
//! Definitions: `nanochat/report.py` and the scripts that log to it, karpathy/nanochat, from its first commit (13
//! October 2025) until the report was removed (2 July 2026).

use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_core::source::Source;

use super::model::{self, NanochatModel, VOCABULARIES};
use super::page::{self, PageEntry, PageSection, read_time, state};
use super::tasks::{self, CHAT, CORE, NanochatTask, PrintedScore};
use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "nanochat-report",
    what: "nanochat training report",
    reads: Reads::Text { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// The sections of a report, in order.
const SECTIONS: &[&str] = &[
    "Tokenizer training",
    "Tokenizer evaluation",
    "Base model training",
    "Base model loss",
    "Base model evaluation",
    "Midtraining",
    "Chat SFT",
    "SFT",
    "Chat RL",
];
/// The prefix of the section name for a chat model evaluation.
const CHAT_SECTION: &str = "Chat evaluation ";
/// The hourly GPU price in the report, by a part of the GPU name, and the default.
const RATES: &[(&str, f64)] = &[("H100", 3.0), ("A100", 1.79), ("V100", 0.55)];
const OTHER_RATE: f64 = 2.0;
/// The bfloat16 peak of a GPU, by a part of its name.
const PEAKS: &[(&str, f64)] = &[("H100", 989e12), ("A100", 312e12)];
/// The texts of the tokenizer evaluation by name and size, with their token counts under GPT-2 and GPT-4.
const TEXTS: &[(&str, f64, [f64; 2])] = &[
    ("news", 1819.0, [404.0, 387.0]),
    ("korean", 893.0, [745.0, 364.0]),
    ("code", 1259.0, [576.0, 309.0]),
    ("math", 1834.0, [936.0, 832.0]),
    ("science", 1112.0, [260.0, 249.0]),
    ("fwe-train", 4_208_518.0, [900_364.0, 874_799.0]),
];

fn is(_: &str, text: &str) -> bool {
    let is_known = |line: &str| {
        line.strip_prefix("## ").is_some_and(|name| {
            let name = name.trim();
            SECTIONS.contains(&name) || name.starts_with(CHAT_SECTION)
        })
    };
    let mut lines = text.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        let is_logged = lines.peek().is_some_and(|next| next.starts_with("timestamp: "));
        if line == "# nanochat training report" || is_logged && is_known(line) {
            return true;
        }
    }
    false
}

fn read(source: &Arc<Source>) -> StatedRow {
    let text = source.text();
    let sections = page::sections(text);
    let mut whole = StatedRow::default();
    header(&mut whole, &sections, source);
    let vocabulary = stated_vocabulary(&sections, text);
    let rows: Vec<_> =
        sections.iter().filter_map(|one| section(one, source, &whole, vocabulary)).collect();
    whole.add("summary", summary(&sections, &rows, source));
    whole.add("compared", compared(&sections, source));
    clock(&mut whole, &rows);
    whole.add("section", rows);
    whole
}

/// Entries outside the sections logged by scripts: the machine, the code, and the times of the whole run.
fn header(whole: &mut StatedRow, sections: &[PageSection<'_>], source: &Arc<Source>) {
    let is_outer = |section: &&PageSection<'_>| matches!(section.name, "" | "Environment");
    let outer = sections.iter().filter(is_outer).flat_map(|section| &section.entries);
    outer.for_each(|entry| state(whole, "header.", entry, source));
    let mut all = sections.iter().flat_map(|section| &section.entries);
    if let Some(entry) = all.rfind(|entry| entry.key == "Total wall clock time") {
        state(whole, "", entry, source);
    }
    read_time(whole, "header.generated_at", "header.generated");
    read_time(whole, "header.started_at", "header.run_started");
    let day = whole.text("header.generated").and_then(|text| text.get(..10)).map(str::to_owned);
    if let Some((day, number)) = day.and_then(|day| {
        let digits = day.replace('-', "").parse::<f64>().ok()?;
        Some((day, PrintedRange::of(digits)))
    }) {
        whole.quote("header.generated_day", "header.generated", number, &day);
    }
    gpus(whole);
}

/// Parses `8x NVIDIA H100 80GB HBM3`.
fn gpus(whole: &mut StatedRow) {
    let text = whole.text("header.gpus").unwrap_or_default().to_owned();
    let Some((count, name)) = text.split_once("x ") else { return };
    // The rate belongs to the first of several names, and their order is lost.
    let Some(number) = PrintedRange::printed(count).filter(|_| !name.contains(',')) else { return };
    whole.quote("header.gpu_count", "header.gpus", number, count);
    let known = RATES.iter().find(|(known, _)| name.contains(known));
    let rate = known.map_or(OTHER_RATE, |(_, rate)| *rate);
    whole.compute_number("rate", rate, "dollars per GPU-hour in report.py");
    if let Some((_, peak)) = PEAKS.iter().find(|(known, _)| name.contains(known)) {
        whole.compute_number("peak", *peak, format!("the bfloat16 peak of {name}"));
    }
}

/// The vocabulary size of the tokenizer training.
fn stated_vocabulary(sections: &[PageSection<'_>], text: &str) -> Option<f64> {
    let training = sections.iter().find(|section| section.name == "Tokenizer training")?;
    let stated = training.value(text, "vocab_size")?.replace(',', "");
    stated.parse::<f64>().ok().filter(|size| (1.0..1e8).contains(size))
}

fn section(
    of: &PageSection<'_>,
    source: &Arc<Source>,
    whole: &StatedRow,
    vocabulary: Option<f64>,
) -> Option<StatedRow> {
    if matches!(of.name, "" | "Environment") {
        return None;
    }
    let mut row = StatedRow::new(of.name);
    row.compute_text("section", of.name, "the heading");
    of.entries.iter().for_each(|entry| state(&mut row, "", entry, source));
    read_time(&mut row, "logged_at", "timestamp");
    scores(&mut row, of, source);
    match of.name {
        "Base model training" => base_training(&mut row, vocabulary),
        "Base model evaluation" => {
            let model = row.text("model").unwrap_or_default().to_owned();
            let step = model.split_once("(step ").and_then(|(_, rest)| rest.strip_suffix(')'));
            if let Some((step, number)) = step.zip(step.and_then(PrintedRange::printed)) {
                row.quote("step", "model", number, step);
            }
        }
        _ => {}
    }
    if let Some((hours, minutes)) = since_start(&row, whole) {
        row.compute_text(
            "since_start",
            &format!("{hours}h{minutes}m"),
            format!("from the start of the run to the section `{}`", of.name),
        );
    }
    Some(row)
}

/// Whole hours and minutes from the start of a run to a section.
fn since_start(row: &StatedRow, whole: &StatedRow) -> Option<(i64, i64)> {
    let seconds = row.number("logged_at")? - whole.number("header.started_at")?;
    let seconds = (seconds >= 0.0).then_some(seconds as i64)?;
    Some((seconds / 3600, seconds % 3600 / 60))
}

/// The model, the batch size and the horizon of base training.
fn base_training(row: &mut StatedRow, vocabulary: Option<f64>) {
    let mut vocabularies: Vec<f64> = vocabulary.into_iter().collect();
    vocabularies.extend(VOCABULARIES);
    if let Some(model) = NanochatModel::of(row, vocabularies) {
        model::count(row, &model, "number_of_parameters", "number_of_flops_per_token");
    }
    // Since 5 February 2026 the script may choose the batch size, which is then not printed.
    if row.number("total_batch_size").is_some_and(|size| size > 0.0) {
        row.alias("batch", &["total_batch_size"]);
    } else if let Some((tokens, steps)) =
        row.number("number_of_training_tokens").zip(row.number("calculated_number_of_iterations"))
    {
        row.compute_number("batch", tokens / steps, "the tokens divided by the iterations");
    }
    let is_resumed = row.number("resume_from_step").is_some_and(|step| step >= 0.0);
    let resumed = repro_claim::relation::Term::Truth(is_resumed);
    row.compute("is_resumed", resumed, "whether it resumed from a checkpoint");
    row.alias("horizon_ratio", &["tokens_params_ratio", "tokens_scaling_params_ratio"]);
    let scaling = row.cell("tokens_scaling_params_ratio").is_some();
    let sizes = if scaling { "counted.scaling" } else { "number_of_parameters" };
    row.alias("horizon_parameters", &[sizes]);
}

/// The scores of a section: CORE scores relative to chance, chat scores as accuracies.
fn scores(row: &mut StatedRow, of: &PageSection<'_>, source: &Arc<Source>) {
    let is_chat = of.name.starts_with(CHAT_SECTION);
    let stated = match row.cell("max_problems").map(|cell| cell.printed.as_str()) {
        Some("None") => Some(u32::MAX),
        Some(number) => number.replace(',', "").parse().ok(),
        None => None,
    };
    for (table, known, is_centred) in [("core_task", CORE, true), ("chat_task", CHAT, false)] {
        let found = of.entries.iter().filter_map(|entry| score(entry, known, is_centred, source));
        let (mut rows, scores): (Vec<_>, Vec<_>) = found.unzip();
        if rows.is_empty() {
            continue;
        }
        let possible = match row.cell("total") {
            // The section itself states the number of problems.
            Some(_) => 0,
            None => tasks::state(&mut rows, &scores, stated),
        };
        let share = possible as f64 / rows.len() as f64;
        row.compute_number(
            "possible_share",
            share,
            "the fraction of possible scores for one number of problems",
        );
        row.add(table, rows);
    }
    if is_chat {
        let is_score =
            |entry: &&PageEntry<'_>| entry.key.starts_with(|c: char| c.is_ascii_uppercase());
        let others = of.entries.iter().filter(is_score).filter(|entry| {
            entry.key != "ChatCORE metric" && CHAT.iter().all(|task| task.name != entry.key)
        });
        row.compute_number(
            "unknown_tasks",
            others.count() as f64,
            "the number of tasks that nanochat lacks",
        );
    }
    row.alias("core", &["core_metric", "core"]);
}

fn score(
    entry: &PageEntry<'_>,
    known: &[NanochatTask],
    is_centred: bool,
    source: &Arc<Source>,
) -> Option<(StatedRow, PrintedScore)> {
    let task = *known.iter().find(|task| task.name == entry.key)?;
    let mut row = StatedRow::new(task.name);
    row.print("score", source, entry.span.clone(), Digits::Rounded);
    let score = row.range("score").filter(|score| (-10.0..=1.0).contains(&score.middle()))?;
    row.compute_number("baseline", task.baseline, "the accuracy of guessing");
    row.compute_number("problems", f64::from(task.problems), "the size of the test set");
    Some((row, PrintedScore { task, score, is_centred }))
}

/// The cells of the final table that also appear in a section.
fn summary(
    sections: &[PageSection<'_>],
    rows: &[StatedRow],
    source: &Arc<Source>,
) -> Vec<StatedRow> {
    let Some(summary) = sections.iter().find(|section| section.name == "Summary") else {
        return Vec::new();
    };
    let mut lines = summary.lines.iter().map(|(_, cells)| cells);
    let Some(head) = lines.next() else { return Vec::new() };
    let mut all = Vec::new();
    for line in lines {
        let Some(metric) = line.first().map(|cell| cell.text.as_str()) else { continue };
        for (stage, cell) in std::iter::zip(head, line).skip(1) {
            let mut row = StatedRow::new(format!("{metric}, {}", stage.text));
            row.print("cell", source, cell.span.clone(), Digits::Rounded);
            let section = rows.iter().find(|row| is_stage(&row.label, &stage.text));
            if let Some((section, _)) = section.zip(row.number("cell")) {
                copy_metric(&mut row, section, metric);
                all.push(row);
            }
        }
    }
    all
}

/// Whether a column of the final table belongs to a section.
fn is_stage(section: &str, stage: &str) -> bool {
    match stage {
        "BASE" => section == "Base model evaluation",
        "MID" | "SFT" | "RL" => {
            section.strip_prefix(CHAT_SECTION).is_some_and(|name| name.eq_ignore_ascii_case(stage))
        }
        other => {
            let first = section.split(' ').next().unwrap_or_default();
            first.eq_ignore_ascii_case(other) && section.ends_with("evaluation")
        }
    }
}

fn copy_metric(row: &mut StatedRow, section: &StatedRow, metric: &str) {
    let known = match metric {
        "CORE" | "CORE metric" => "core",
        "ChatCORE" | "ChatCORE metric" => "chatcore_metric",
        task => {
            let task = section.rows("chat_task").iter().find(|row| row.label == task);
            return task.into_iter().for_each(|task| row.copy("stated", task, "score"));
        }
    };
    row.copy("stated", section, known);
}

/// The rows of the tables that compare tokenizers.
fn compared(sections: &[PageSection<'_>], source: &Arc<Source>) -> Vec<StatedRow> {
    let mut all: Vec<StatedRow> = Vec::new();
    let lines = sections.iter().flat_map(|section| &section.lines);
    for (below, cells) in lines {
        let Some(baseline) = below.strip_prefix("Comparison with ") else { continue };
        let Some(text) = cells.first().filter(|_| cells.len() == 7) else { continue };
        let mut row = StatedRow::new(format!("{}, {baseline}", text.text));
        row.compute_text("text", &text.text, "the first cell");
        let names = ["bytes", "tokens", "ratio", "our_tokens", "our_ratio", "difference"];
        for (name, cell) in std::iter::zip(names, cells.iter().skip(1)) {
            let span = page::number_in(source.text(), cell.span.clone());
            row.print(name, source, span, Digits::Rounded);
        }
        let Some(bytes) = row.number("bytes") else { continue };
        let known = TEXTS.iter().find(|(name, size, _)| *name == text.text && *size == bytes);
        let tokens = known.and_then(|(.., [gpt2, gpt4])| match baseline {
            "GPT-2" => Some(gpt2),
            "GPT-4" => Some(gpt4),
            _ => None,
        });
        if let Some(tokens) = tokens {
            row.compute_number(
                "known_tokens",
                *tokens,
                format!("the tokens of this text under {baseline}"),
            );
        }
        let other = all.iter().find(|other| other.text("text") == Some(&text.text));
        if let Some(other) = other {
            row.copy("other_bytes", other, "bytes");
            row.copy("other_tokens", other, "our_tokens");
        }
        all.push(row);
    }
    all
}

/// The duration of the run: until the last section that is not about reinforcement learning.
fn clock(whole: &mut StatedRow, rows: &[StatedRow]) {
    let is_known =
        |row: &&StatedRow| SECTIONS.contains(&&*row.label) || row.label.starts_with(CHAT_SECTION);
    let is_counted = |row: &&StatedRow| is_known(row) && !row.label.to_lowercase().ends_with("rl");
    let logged = rows.iter().filter(|row| row.cell("logged_at").is_some());
    if let Some(last) = logged.clone().rfind(is_counted) {
        whole.copy("until_last", last, "since_start");
        whole.compute_text(
            "last_section",
            &last.label,
            "the last section except reinforcement learning",
        );
    }
    if let Some(last) = logged.clone().next_back() {
        whole.copy("until_end", last, "since_start");
    }
    for row in rows {
        match &*row.label {
            "Base model training" => {
                whole.copy("trained_steps", row, "calculated_number_of_iterations");
            }
            "Base model evaluation" => whole.copy("evaluated_step", row, "step"),
            _ => {}
        }
    }
    let others = rows.iter().filter(|row| row.label != "Summary" && !is_known(row)).count();
    whole.compute_number(
        "own_sections",
        others as f64,
        "the number of sections that nanochat lacks",
    );
}

/// The consistency checks.
static RELATIONS: RelationTable = RelationTable::new("report.toml", include_str!("report.toml"));
