//! `report.md` of a nanochat run, and the files of its sections.
//!
//! Definitions: `nanochat/report.py` and the scripts that log to it, karpathy/nanochat, from its first commit (13 October 2025) until
//! the report was removed (2 July 2026).

use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_core::source::Source;

use super::model::{self, NanochatModel, VOCABULARIES};
use super::page::{self, PageEntry, PageSection, read_time, state};
use super::tasks::{self, CHAT, CORE, NanochatTask, PrintedScore};
use crate::check::kind::{DocumentKind, Reads, relations};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "nanochat-report",
    what: "training report of nanochat",
    reads: Reads::Text { is, read },
    relations: RELATIONS,
    twins: None,
};

/// The sections, in the order in which a report has them.
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
/// How the name of the section of a chat model's evaluation begins.
const CHAT_SECTION: &str = "Chat evaluation ";
/// What an hour of a GPU costs by the report, by what its name holds, and otherwise.
const RATES: &[(&str, f64)] = &[("H100", 3.0), ("A100", 1.79), ("V100", 0.55)];
const OTHER_RATE: f64 = 2.0;
/// The peak of a GPU in bfloat16, by what its name holds.
const PEAKS: &[(&str, f64)] = &[("H100", 989e12), ("A100", 312e12)];
/// Texts of the tokenizer's evaluation by name and bytes, with their tokens under GPT-2 and GPT-4.
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

/// What stands outside of the sections that scripts log: the machine, the code, and the times of the whole run.
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

/// `8x NVIDIA H100 80GB HBM3`.
fn gpus(whole: &mut StatedRow) {
    let text = whole.text("header.gpus").unwrap_or_default().to_owned();
    let Some((count, name)) = text.split_once("x ") else { return };
    // The rate is that of the first of several names, whose order is lost.
    let Some(number) = PrintedRange::printed(count).filter(|_| !name.contains(',')) else { return };
    whole.quote("header.gpu_count", "header.gpus", number, count);
    let known = RATES.iter().find(|(known, _)| name.contains(known));
    let rate = known.map_or(OTHER_RATE, |(_, rate)| *rate);
    whole.compute_number("rate", rate, "dollars an hour for a GPU, by report.py");
    if let Some((_, peak)) = PEAKS.iter().find(|(known, _)| name.contains(known)) {
        whole.compute_number("peak", *peak, format!("the bfloat16 peak of {name}"));
    }
}

/// The vocabulary that the tokenizer was trained to.
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

/// The model, the batch and the horizon of base training.
fn base_training(row: &mut StatedRow, vocabulary: Option<f64>) {
    let mut vocabularies: Vec<f64> = vocabulary.into_iter().collect();
    vocabularies.extend(VOCABULARIES);
    if let Some(model) = NanochatModel::of(row, vocabularies) {
        model::count(row, &model, "number_of_parameters", "number_of_flops_per_token");
    }
    // Since 5 February 2026 the batch may be chosen by the script, and is then not printed.
    if row.number("total_batch_size").is_some_and(|size| size > 0.0) {
        row.alias("batch", &["total_batch_size"]);
    } else if let Some((tokens, steps)) =
        row.number("number_of_training_tokens").zip(row.number("calculated_number_of_iterations"))
    {
        row.compute_number("batch", tokens / steps, "the tokens by the iterations");
    }
    let is_resumed = row.number("resume_from_step").is_some_and(|step| step >= 0.0);
    let resumed = repro_claim::relation::Term::Truth(is_resumed);
    row.compute("is_resumed", resumed, "whether it went on from a checkpoint");
    row.alias("horizon_ratio", &["tokens_params_ratio", "tokens_scaling_params_ratio"]);
    let scaling = row.cell("tokens_scaling_params_ratio").is_some();
    let sizes = if scaling { "counted.scaling" } else { "number_of_parameters" };
    row.alias("horizon_parameters", &[sizes]);
}

/// The scores of a section: those of CORE above chance, those of chat models as they are.
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
            // The section says itself of how many problems it is.
            Some(_) => 0,
            None => tasks::state(&mut rows, &scores, stated),
        };
        let share = possible as f64 / rows.len() as f64;
        row.compute_number("possible_share", share, "of the scores, with one number of problems");
        row.add(table, rows);
    }
    if is_chat {
        let is_score =
            |entry: &&PageEntry<'_>| entry.key.starts_with(|c: char| c.is_ascii_uppercase());
        let others = of.entries.iter().filter(is_score).filter(|entry| {
            entry.key != "ChatCORE metric" && CHAT.iter().all(|task| task.name != entry.key)
        });
        row.compute_number("unknown_tasks", others.count() as f64, "tasks that nanochat lacks");
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
    row.compute_number("baseline", task.baseline, "of guesses");
    row.compute_number("problems", f64::from(task.problems), "in the test set");
    Some((row, PrintedScore { task, score, is_centred }))
}

/// The cells of the last table that are printed in a section too.
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

/// Whether a column of the last table is of a section.
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

/// The lines of the tables that compare tokenizers.
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
            row.compute_number("known_tokens", *tokens, format!("of this text under {baseline}"));
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

/// How long the run took: until the last section that is not about reinforcement learning.
fn clock(whole: &mut StatedRow, rows: &[StatedRow]) {
    let is_known =
        |row: &&StatedRow| SECTIONS.contains(&&*row.label) || row.label.starts_with(CHAT_SECTION);
    let is_counted = |row: &&StatedRow| is_known(row) && !row.label.to_lowercase().ends_with("rl");
    let logged = rows.iter().filter(|row| row.cell("logged_at").is_some());
    if let Some(last) = logged.clone().rfind(is_counted) {
        whole.copy("until_last", last, "since_start");
        whole.compute_text("last_section", &last.label, "the last but for reinforcement learning");
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
    whole.compute_number("own_sections", others as f64, "sections that nanochat lacks");
}

relations! {
    TOKENS_APPROX = "nanochat::approximate-tokens", "the tokens of the code are not a fourth of its characters";
        "document" => "header.tokens_approx = floor(header.characters / 4)", from "report.py, `generate_header`";
    HOURLY_RATE = "nanochat::hourly-rate", "the hourly rate is not that of the GPUs", doubt;
        "document" => "header.hourly_rate = header.gpu_count * rate", from "report.py, `estimate_cost`; forks have other prices";
    TOO_EARLY = "nanochat::too-early", "the report is older than nanochat", doubt;
        "document" => "header.generated_day >= 20251013", from "the day of nanochat's first commit";
    STARTED = "nanochat::started", "the run started before its header was written";
        "document" => "header.generated_at <= header.started_at", from "report.py, `reset`, which writes both one after the other";
    WALL_CLOCK = "nanochat::wall-clock", "the total time is not that from the start of the run to its last section";
        "document" if "last_section = 'Chat evaluation sft'" && "own_sections = 0"
        => "total_wall_clock_time = until_last", from "report.py, `generate`: sections about reinforcement learning do not count",
        perhaps "total_wall_clock_time = until_end": "it was measured to the last section, reinforcement learning included";
    CUT_CLOCK = "nanochat::wall-clock-of-cut-report", "the total time is not that from the start of the run to the last section that is there", doubt;
        "document" if "last_section != 'Chat evaluation sft'" && "own_sections = 0"
        => "total_wall_clock_time = until_last", from "report.py, `generate`; a section may have been cut";
    NO_CLOCK = "nanochat::wall-clock-of-nothing", "there is a total time, and no start of the run that it is measured from", doubt;
        "document" if "absent(header.run_started) = 1" => "total_wall_clock_time = 'unknown'",
        from "report.py, `generate`, which then writes `unknown`",
        perhaps "total_wall_clock_time = '3h51m'": "it is that of the example in nanochat's README";
    ORDER = "nanochat::order", "a section was logged before the run started", doubt;
        "section" => "logged_at >= header.started_at", from "report.py, `reset`, which deletes all sections";
    SUMMARY_CHARACTERS = "nanochat::summary-characters", "the summary has other characters than the header";
        "section" if "section = 'Summary'" => "characters = header.characters", from "report.py, `generate`, a copy";
    SUMMARY_LINES = "nanochat::summary-lines", "the summary has other lines of code than the header";
        "section" if "section = 'Summary'" => "lines = header.lines", from "report.py, `generate`, a copy";
    SUMMARY_FILES = "nanochat::summary-files", "the summary has other files than the header";
        "section" if "section = 'Summary'" => "files = header.files", from "report.py, `generate`, a copy";
    SUMMARY_TOKENS = "nanochat::summary-tokens", "the summary has other tokens of code than the header";
        "section" if "section = 'Summary'" => "tokens_approx = header.tokens_approx", from "report.py, `generate`, a copy";
    SUMMARY_DEPENDENCIES = "nanochat::summary-dependencies", "the summary has other dependencies than the header";
        "section" if "section = 'Summary'" => "dependencies_uv_lock_lines = header.dependencies_uv_lock_lines", from "report.py, `generate`, a copy";
    SUMMARY = "nanochat::summary", "the last table has another number than its section";
        "summary" => "cell = stated", from "report.py, `generate`, a copy";

    RATIO = "nanochat::token-ratio", "the ratio is not the bytes of a text by its tokens";
        "compared" => "ratio = bytes / tokens", from "scripts/tok_eval.py";
    OUR_RATIO = "nanochat::own-token-ratio", "the ratio is not the bytes of a text by the tokens of the own tokenizer";
        "compared" => "our_ratio = bytes / our_tokens", from "scripts/tok_eval.py";
    DIFFERENCE = "nanochat::token-difference", "the difference is not that of the tokens, in percent of those of the other tokenizer";
        "compared" => "difference = (tokens - our_tokens) / tokens * 100", from "scripts/tok_eval.py",
        perhaps "difference = (our_tokens - tokens) / tokens * 100": "its sign is turned around",
        perhaps "difference = (tokens - our_tokens) / our_tokens * 100": "it is in percent of the own tokens";
    SAME_BYTES = "nanochat::same-bytes", "one text has two lengths";
        "compared" => "bytes = other_bytes", from "scripts/tok_eval.py: both tables are of the same texts";
    SAME_TOKENS = "nanochat::same-tokens", "one text has two numbers of tokens under the own tokenizer";
        "compared" => "our_tokens = other_tokens", from "scripts/tok_eval.py: both tables are of the same tokenizer";
    KNOWN_TOKENS = "nanochat::known-tokens", "a text of nanochat's has another number of tokens than it has";
        "compared" => "tokens = known_tokens", from "the texts of scripts/tok_eval.py under the published tokenizers";
    TOKEN_BYTES = "nanochat::token-bytes", "the mean length of tokens lies outside of the shortest and the longest";
        "section" => "token_bytes_min <= token_bytes_mean <= token_bytes_max", from "definition of a mean";
    TOKENIZER_TIME = "nanochat::tokenizer-time", "the tokenizer trained longer than the run had lasted", doubt;
        "section" => "train_time <= logged_at - header.started_at + 1", from "one clock";

    PARAMETERS = "nanochat::parameters", "the parameters are not those of the model whose FLOPs are printed";
        "section" if "known.model = true" => "number_of_parameters = counted.parameters",
        from "nanochat/gpt.py, in each version that was in use";
    EXACT_PARAMETERS = "nanochat::exact-parameters", "the parameters are not those of a nanochat of this depth", doubt;
        "section" if "known.model = false" => "number_of_parameters = counted.parameters",
        from "nanochat/gpt.py, in each version that was in use; forks have other models";
    FLOPS_PER_TOKEN = "nanochat::flops-per-token", "the FLOPs of a token are not those of a nanochat of this depth", doubt;
        "section" => "number_of_flops_per_token = counted.flops_per_token",
        from "nanochat/gpt.py, `estimate_flops`, in each version that was in use; forks have other models",
        perhaps "number_of_flops_per_token = 6 * number_of_parameters": "they are 6 N with all parameters";
    ITERATIONS = "nanochat::iterations", "the iterations are not those that were asked for";
        "section" if "num_iterations > 0" => "calculated_number_of_iterations = num_iterations", from "scripts/base_train.py";
    ITERATIONS_OF_FLOPS = "nanochat::iterations-of-flops", "the iterations do not come to the FLOPs that were asked for";
        "section" if "num_iterations <= 0" && "target_flops > 0"
        => "calculated_number_of_iterations = floor(target_flops / (number_of_flops_per_token * batch) + 0.5)", from "scripts/base_train.py";
    ITERATIONS_OF_RATIO = "nanochat::iterations-of-ratio", "the iterations do not come to the tokens for each parameter that were asked for";
        "section" if "num_iterations <= 0" && "target_flops <= 0" && "target_param_data_ratio > 0" && "known.parameters = true"
        => "calculated_number_of_iterations = floor(target_param_data_ratio * horizon_parameters / batch)",
        from "scripts/base_train.py: all parameters, and since 27 January 2026 matrices and head";
    TOKENS = "nanochat::tokens", "the training tokens are not the iterations times the batch";
        "section" if "total_batch_size > 0"
        => "number_of_training_tokens = calculated_number_of_iterations * total_batch_size", from "scripts/base_train.py";
    OWN_BATCH = "nanochat::own-batch", "the batch that the script chose is no power of two";
        "section" if "total_batch_size < 0"
        => "number_of_training_tokens = calculated_number_of_iterations * 2 ^ floor(ln(batch) / ln(2) + 0.5)",
        from "scripts/base_train.py";
    HORIZON_RATIO = "nanochat::tokens-for-each-parameter", "the ratio is not the training tokens by the parameters";
        "section" => "horizon_ratio = number_of_training_tokens / horizon_parameters", from "scripts/base_train.py";
    TOTAL_FLOPS = "nanochat::total-flops", "the training FLOPs are not those of a token times the tokens";
        "section" => "total_training_flops = number_of_flops_per_token * number_of_training_tokens", from "scripts/base_train.py";
    WHOLE_BATCHES = "nanochat::whole-batches", "the batch is no multiple of what the devices take at a time";
        "section" if "total_batch_size > 0"
        => "total_batch_size = floor(total_batch_size / (device_batch_size * max_seq_len * ddp_world_size)) \
            * device_batch_size * max_seq_len * ddp_world_size",
        from "scripts/base_train.py, which stops otherwise";
    BEST_BPB = "nanochat::minimum-bpb", "the smallest bits per byte are more than the last";
        "section" => "minimum_validation_bpb <= final_validation_bpb", from "definition of a minimum";
    SPEED = "nanochat::speed", "the training time is shorter than the peak of the GPUs allows";
        "section" if "absent(fp8) = 1" && "is_resumed = false" && "calculated_number_of_iterations > 11"
        => "total_training_time >= number_of_flops_per_token * batch * (calculated_number_of_iterations - 11) / (60 * ddp_world_size * peak)",
        from "scripts/base_train.py: the first 11 steps are not in the time";
    UTILISATION = "nanochat::utilisation", "the FLOPs by the time are another share of the peak than the one that is printed", doubt;
        "section" if "peak = 989000000000000" && "absent(fp8) = 1" && "is_resumed = false" && "calculated_number_of_iterations > 100" && "mfu > 0"
        => "abs(mfu * 0.6 * total_training_time * ddp_world_size * peak / (number_of_flops_per_token * batch * (calculated_number_of_iterations - 11)) - 1) <= 0.25",
        from "scripts/base_train.py: the last step's, by the peak of an H100; that step may be slower than others";
    TRAINING_TIME = "nanochat::training-time", "base training took longer than the run had lasted", doubt;
        "section" if "logged_at >= header.started_at" && "is_resumed = false" => "total_training_time <= (logged_at - header.started_at + 1) / 60",
        from "one clock; a run that was resumed has older time in it";
    STEP = "nanochat::step", "another step was evaluated than the last one", doubt;
        "document" => "evaluated_step = trained_steps", from "one run; older checkpoints can be evaluated too";

    CORE_METRIC = "nanochat::core", "the CORE metric is not the mean of its 22 tasks";
        "section" if "count(core_task.score) = 22" => "core = mean(core_task.score)", from "scripts/base_eval.py",
        perhaps "core = mean(core_task.score * (1 - core_task.baseline) + core_task.baseline)": "it is the mean of the accuracies, chance not taken off";
    CORE_SCORE = "nanochat::core-score", "no number of solved problems gives this score";
        "core_task" if "possible_share > 0.5" => "score = nearest", from "scripts/base_eval.py: accuracies on all problems of a task, or on one smaller number of them";
    CHATCORE = "nanochat::chatcore", "the ChatCORE metric is not the mean of its tasks, above chance";
        "section" if "unknown_tasks = 0" && "count(chat_task.score) >= 5"
        => "chatcore_metric = mean((chat_task.score - chat_task.baseline) / (1 - chat_task.baseline))", from "scripts/chat_eval.py",
        perhaps "chatcore_metric = mean(chat_task.score)": "chance is not taken off the accuracies",
        perhaps "chatcore_metric = 0.0730": "it is that of the example in nanochat's README",
        perhaps "chatcore_metric = 0.0884": "it is that of the example in nanochat's README";
    CHAT_SCORE = "nanochat::chat-score", "no number of solved problems gives this accuracy";
        "chat_task" => "score = nearest", from "scripts/chat_eval.py: the test sets, or the first `max_problems` of each";
    PASSED = "nanochat::passed", "the accuracy is not what was passed of all";
        "chat_task" => "score = passed / total", from "definition of an accuracy";
    ALL_PROBLEMS = "nanochat::all-problems", "all problems of a test set are said to be taken, and there are others";
        "chat_task" if "max_examples = 'all'" && "split = 'test'" => "total = problems", from "the published test sets";
    BELOW_CHANCE = "nanochat::below-chance", "an accuracy is far below that of guesses", doubt;
        "chat_task" if "baseline = 0.25" && "asked >= 1000" => "score >= 0.15", from "four answers to each question; possible for few problems";
    SOURCE = "nanochat::source", "the section is named after another model than the one evaluated";
        "section" if "unknown_tasks >= 0" => "section = join('Chat evaluation ', source)", from "scripts/chat_eval.py";
    SFT_ITERATIONS = "nanochat::sft-iterations", "the iterations of fine-tuning are not those that were asked for";
        "section" if "section = 'Chat SFT'" && "num_iterations > 0" => "number_of_iterations = num_iterations", from "scripts/chat_sft.py";
    SFT_EPOCHS = "nanochat::sft-epochs", "the iterations of fine-tuning are not those of its rows";
        "section" if "section = 'Chat SFT'" && "num_iterations < 0"
        => "number_of_iterations = floor(training_rows / target_examples_per_step) * num_epochs", from "scripts/chat_sft.py";
    SFT_CAP = "nanochat::sft-cap", "the iterations of fine-tuning are not those of its rows, as they are capped";
        "section" if "section = 'Chat SFT'" && "max_iterations >= 0"
        => "number_of_iterations = min(max_iterations, floor(training_rows / target_examples_per_step) * num_epochs)", from "scripts/chat_sft.py until 20 October 2025";
    SFT_UNCAPPED = "nanochat::sft-uncapped", "the iterations of fine-tuning are not those of its rows";
        "section" if "section = 'Chat SFT'" && "max_iterations < 0"
        => "number_of_iterations = floor(training_rows / target_examples_per_step) * num_epochs", from "scripts/chat_sft.py until 20 October 2025";
    MID_ITERATIONS = "nanochat::mid-iterations", "midtraining took more iterations than were asked for";
        "section" if "section = 'Midtraining'" && "num_iterations > 0" => "number_of_iterations <= num_iterations", from "scripts/mid_train.py";
}
