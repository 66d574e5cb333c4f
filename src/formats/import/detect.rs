//! Detects the format of a log by its first bytes, and by its name if several formats are possible.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memmem;

use super::format::LogFormat;
use super::jsonl::parse_python;
use super::log::Log;
use super::names::step_among;
use super::speedrun;
use super::tracker::{nanochat, results, tensorboard, wandb};
use repro_core::source::{DOCUMENT_CAP, Document, Source};

/// The number of bytes examined.
const HEAD: usize = 256 << 10;
/// The number of JSON lines examined.
const LINES: usize = 20;

/// The format of a file in a folder, if its name may belong to a log.
pub fn in_folder(path: &Path) -> Option<LogFormat> {
    const ENDINGS: [&str; 12] = [
        "md", "txt", "log", "out", "jsonl", "ndjson", "csv", "json", "db", "sqlite", "sqlite3",
        "wandb",
    ];
    let name = path.file_name()?.to_str()?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let may_be = ENDINGS.contains(&ending) || ending == "sql" || name.contains("tfevents");
    if may_be { of_file(path) } else { None }
}

/// The format of a file.
pub fn of_file(path: &Path) -> Option<LogFormat> {
    let mut head = Vec::new();
    // A pipe is not opened, because that would block until a writer appears.
    let is_plain = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let file = is_plain.then(|| File::open(path).ok()).flatten()?;
    file.take(HEAD as u64).read_to_end(&mut head).ok()?;
    if wandb::has_header(&head) {
        return Some(LogFormat::Wandb);
    }
    if tensorboard::has_header(&head) {
        return Some(LogFormat::TensorBoard);
    }
    if head.starts_with(b"SQLite format 3\0") {
        let names_runs = memmem::find(&head, b"run_uuid").is_some();
        return names_runs.then_some(LogFormat::Mlflow);
    }
    if memmem::find(&head, b":::MLLOG ").is_some() {
        return Some(LogFormat::Mlperf);
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}');
    let first = text.trim_start().bytes().next();
    let document = || document(path);
    match (first, ending) {
        (_, "md") => nanochat::is_report(text).then_some(LogFormat::Nanochat),
        (Some(b'{'), _) if is_lines(text, ending) => Some(LogFormat::Jsonl),
        (Some(b'{'), "jsonl" | "ndjson") => None,
        (Some(b'{'), _) => document().and_then(|document| of_document(&document)),
        (Some(_), "csv") => is_table(text).then_some(LogFormat::Csv),
        (Some(b'0'..=b'9'), _) if has_steps_and_losses(text) => Some(LogFormat::StepLoss),
        (Some(_), "txt" | "log" | "out" | "") if is_speedrun(path) => Some(LogFormat::Speedrun),
        (Some(_), _) if is_table(text) => Some(LogFormat::Csv),
        _ => None,
    }
}

/// Whether JSON lines are rows with steps.
fn is_lines(text: &str, ending: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    let row = |line: &str| {
        let source = Source::new("line", line.as_bytes().to_vec()).ok()?;
        let document = parse_python(source).ok()?;
        let names: Vec<_> =
            document.root().members().ok()?.map(|(name, _)| name.to_owned()).collect();
        Some(step_among(names.iter().map(String::as_str)).is_some())
    };
    // A document on one line is a row only if its name shows it.
    let Some(is_row) = lines.next().and_then(row) else { return false };
    let named = ["jsonl", "ndjson"].contains(&ending);
    (named || text.trim_end().contains('\n'))
        && (is_row || lines.any(|line| row(line) == Some(true)))
}

/// A JSON document within the size limit.
fn document(path: &Path) -> Option<Document> {
    let length = std::fs::metadata(path).ok()?.len();
    let source = Source::load(path, "log").ok().filter(|_| length <= DOCUMENT_CAP as u64)?;
    parse_python(source).ok()
}

fn of_document(document: &Document) -> Option<LogFormat> {
    if document.root().get("log_history").is_some() {
        Some(LogFormat::HfTrainer)
    } else if results::is_golden(document) {
        Some(LogFormat::Megatron)
    } else {
        results::is_marin(document).then_some(LogFormat::Marin)
    }
}

/// Whether a table has a step column and other columns.
fn is_table(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let names = header.iter().map(|name| name.trim().trim_matches('"'));
    header.len() > 1 && step_among(names).is_some()
}

fn has_steps_and_losses(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(LINES).peekable();
    // The last line may be truncated.
    lines.peek().is_some() && {
        let lines: Vec<_> = lines.collect();
        let (_, whole) = lines.split_last().unwrap_or((&"", &[]));
        !whole.is_empty() && whole.iter().all(|line| results::step_and_loss(line).is_some())
    }
}

fn is_speedrun(path: &Path) -> bool {
    Log::open(path, "log", false).is_ok_and(speedrun::has_metrics)
}
