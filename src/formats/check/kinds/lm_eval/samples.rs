//! Samples: one line per item and filter.

use std::collections::{BTreeMap, BTreeSet};

use repro_core::digest::Digest;
use repro_core::source::{Document, Kind as NodeKind, Node};

use super::super::python;
use crate::check::kinds::scores;
use crate::check::stated::StatedRow;

/// The samples of a folder that no results have claimed yet.
#[derive(Debug, Default)]
pub struct SampleFiles(Vec<SampleFile>);

/// One samples file.
#[derive(Debug, Default)]
pub struct SampleFile {
    /// Its name without the common parts: the task and the time.
    stem: String,
    row: StatedRow,
    /// The scores by filter and metric, in order.
    scores: BTreeMap<(String, String), Vec<f64>>,
    /// The number of lines per filter.
    lines: BTreeMap<String, usize>,
    /// The hashes of all lines, which the task hash covers; none if a line lacks one.
    hashes: Option<String>,
}

/// Whether a line is a sample.
pub fn is(line: Node<'_>) -> bool {
    let hashed = ["doc_hash", "prompt_hash", "target_hash", "filter"];
    line.get("doc_id").is_some()
        && line.get("resps").is_some()
        && hashed.iter().any(|key| line.get(key).is_some())
}

/// A samples file without results.
pub fn alone(document: &Document) -> StatedRow {
    let mut row = StatedRow::default();
    row.add("samples", [SampleFile::read(String::new(), document).row]);
    row
}

impl SampleFiles {
    /// Adds a file by name.
    pub fn add(&mut self, name: &str, document: &Document) {
        let stem = name.trim_start_matches("samples_").trim_end_matches(".jsonl").to_owned();
        let mut file = SampleFile::read(stem, document);
        file.row.label = name.to_owned();
        self.0.push(file);
    }

    /// Takes the samples of a task that were written with the results in `file`.
    pub fn of(&mut self, task: &str, file: &str) -> Option<SampleFile> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let time = name.strip_prefix("results")?.strip_suffix(".json")?;
        let stem = format!("{task}{time}");
        let at = self.0.iter().position(|file| file.stem == stem)?;
        Some(self.0.remove(at))
    }

    /// The samples that no results claimed.
    pub fn left(self) -> impl Iterator<Item = StatedRow> {
        self.0.into_iter().map(SampleFile::into_row)
    }
}

impl SampleFile {
    fn read(stem: String, document: &Document) -> Self {
        let mut file = Self { stem, hashes: Some(String::new()), ..Self::default() };
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for (line, pointer) in scores::elements(Some(document.root()), "") {
            let filter = scores::text(line, "filter").unwrap_or("none").to_owned();
            let mut row = hashes(line, &pointer);
            if let Some(item) = line.get("doc_id").and_then(|item| item.printed().ok())
                && !seen.insert((filter.clone(), item))
            {
                row.compute_text("again", item, "an earlier line has the same item and filter");
            }
            file.take(line, &filter);
            lines.push(row);
            *file.lines.entry(filter).or_default() += 1;
        }
        file.row.add("sample", lines);
        file
    }

    /// Reads the scores and hashes of a line.
    fn take(&mut self, line: Node<'_>, filter: &str) {
        for (key, value, _) in scores::members(Some(line), "") {
            let score = match &value.value().kind {
                NodeKind::Number(_) => value.float().ok(),
                NodeKind::Bool(truth) => Some(f64::from(u8::from(*truth))),
                _ => None,
            };
            if let Some(score) = score.filter(|_| key != "doc_id") {
                let key = (filter.to_owned(), key.to_owned());
                self.scores.entry(key).or_default().push(score);
            }
        }
        let of = |key: &str| scores::text(line, key);
        let all = ["doc_hash", "prompt_hash", "target_hash"].map(of);
        match (&mut self.hashes, all) {
            (Some(hashes), [Some(doc), Some(prompt), Some(target)]) => {
                *hashes += doc;
                *hashes += prompt;
                *hashes += target;
            }
            _ => self.hashes = None,
        }
    }

    /// Adds the values computed from the lines to a task and its metrics.
    pub fn score(&mut self, task: &mut StatedRow, metrics: &mut [StatedRow]) {
        let lines = self.lines.values().copied().max().unwrap_or(0);
        let how = format!("the lines in {}", self.row.label);
        task.compute_number("lines", lines as f64, how);
        let is_whole = task.number("effective") == Some(lines as f64) && self.lines.len() == 1;
        if let Some(hashes) = self.hashes.as_ref().filter(|_| is_whole) {
            let hash = Digest::of(hashes.as_bytes()).to_string();
            task.compute_text("hash_of_lines", &hash, "SHA-256 of all sample hashes");
        }
        for metric in metrics {
            let filter = match metric.text("filter") {
                None | Some("") => "none",
                Some(filter) => filter,
            };
            let name = metric.text("metric").unwrap_or_default();
            let key = (filter.to_owned(), name.to_owned());
            let Some(scores) = self.scores.get(&key) else { continue };
            // A line without the score belongs to a different metric.
            if self.lines.get(filter) != Some(&scores.len()) {
                continue;
            }
            if scores.iter().any(|score| *score > 0.0 && *score < 1.0)
                && metric.text("sort").is_some_and(|sort| sort != "other")
            {
                metric.compute_text("sort", "fraction", "some samples are neither 0 nor 1");
            }
            let count = scores.len() as f64;
            let sum: f64 = scores.iter().sum();
            let mean = sum / count;
            let squares: f64 = scores.iter().map(|score| (score - mean) * (score - mean)).sum();
            metric.compute_number("sum_of_lines", sum, "the sum over the samples");
            let how = "the sample variance over the samples";
            metric.compute_number("variance_of_lines", squares / (count - 1.0), how);
        }
    }

    /// Its row.
    pub fn into_row(self) -> StatedRow {
        self.row
    }
}

/// The values that a line's hashes cover.
fn hashes(line: Node<'_>, pointer: &str) -> StatedRow {
    let mut row = StatedRow::default();
    scores::state_some(
        &mut row,
        line,
        pointer,
        &["doc_id", "doc_hash", "prompt_hash", "target_hash"],
    );
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    if let Some(target) = scores::text(line, "target") {
        row.compute_text("target_digest", &digest(target), "SHA-256 of the target");
    }
    if let Some(prompt) = prompt(line) {
        row.compute_text("prompt_digest", &digest(prompt), "SHA-256 of the prompt");
    }
    if let Some(doc) = line.get("doc") {
        let stated = row.text("doc_hash").unwrap_or_default().to_owned();
        let readings = python::readings(doc).map(|text| digest(&text));
        let fitting = readings.iter().find(|reading| **reading == stated);
        // Words for non-finite numbers and strings may be mixed.
        if let Some(digest) = fitting.or(readings.first().filter(|_| python::words(doc) < 2)) {
            row.compute_text("doc_digest", digest, "SHA-256 of the item as Python writes it");
        }
    }
    row
}

/// The first argument of the first request.
fn prompt<'n>(line: Node<'n>) -> Option<&'n str> {
    let arguments = line.get("arguments")?;
    let named = arguments.get("gen_args_0").and_then(|first| first.get("arg_0"));
    let listed = || arguments.items().ok()?.next()?.items().ok()?.next();
    named.or_else(listed)?.text().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    #[test]
    fn a_line_is_hashed_by_its_parts() {
        let text = r#"{"doc_id": 0, "doc": {"q": "1+1"}, "target": "2", "resps": [],
            "arguments": [["one and one", " 2"]], "doc_hash": "x"}"#;
        let source = Source::new("t.jsonl", text.replace('\n', " ").into_bytes()).unwrap();
        let document = Document::parse_loose_json_lines(source).unwrap();
        let line = document.root().items().unwrap().next().unwrap();
        assert!(is(line));
        let row = hashes(line, "/0");
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        assert_eq!(row.text("target_digest"), Some(&*digest("2")));
        assert_eq!(row.text("prompt_digest"), Some(&*digest("one and one")));
        assert_eq!(row.text("doc_digest"), Some(&*digest("{\n  \"q\": \"1+1\"\n}")));
    }
}
