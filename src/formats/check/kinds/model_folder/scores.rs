//! Compares machine-readable scores in a folder (`model-index` in the card's metadata, `.eval_results`, Trainer result
//! files) with each other and with the scores printed in the card.
//!
//! Definitions: `modelcard.md` and `eval_results.yaml` of huggingface/hub-docs; the results list in `modelcard.py` of
//! transformers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use repro_bundle::bundle::canonical::to_json;
use repro_claim::relation::PrintedRange;
use repro_core::source::{Document, Error, Node, Source};

use super::tables::{self, CardTable, TableCell};
use crate::check::kind::{EVAL_RESULTS, FolderListing};
use crate::check::kinds::scores::text;
use crate::check::stated::{Digits, StatedRow};

/// The files in which Trainer scripts write their last results.
pub const TRAINER_RESULTS: [&str; 2] = ["eval_results.json", "all_results.json"];
/// The line before the results list in cards written by Trainer.
const LIST: &str = "It achieves the following results on the evaluation set:";
/// The maximum number of results files read.
const FILES: usize = 256;

/// A machine-readable score.
#[derive(Debug)]
struct StatedScore {
    /// The measurement: everything except the value, for equality.
    identity: String,
    dataset: String,
    /// Other names of the dataset.
    names: Vec<String>,
    config: Option<String>,
    split: Option<String>,
    /// The name of the metric, if stated.
    metric: String,
    /// The row with its `value`.
    row: StatedRow,
}

/// All scores of a folder.
#[derive(Debug, Default)]
pub struct FolderScores {
    /// From the card's metadata.
    index: Vec<StatedScore>,
    /// From files in `.eval_results`.
    hub: Vec<StatedScore>,
    /// The names of the model.
    models: Vec<String>,
}

/// Whether a text starts with metadata that states results.
pub fn states_results(card: &str) -> bool {
    metadata(card).is_some_and(|range| {
        card.get(range)
            .is_some_and(|text| text.lines().any(|line| line.starts_with("model-index:")))
    })
}

/// The YAML between the first two `---` lines.
fn metadata(card: &str) -> Option<Range<usize>> {
    let start = ["---\n", "---\r\n"].into_iter().find(|start| card.starts_with(start))?.len();
    let mut at = start;
    for line in card.get(start..)?.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(0..at);
        }
        at += line.len();
    }
    None
}

impl FolderScores {
    /// Reads the metadata of a card.
    pub fn read_card(&mut self, card: &Source) -> Result<(), Error> {
        let Some(range) = metadata(card.text()).filter(|_| states_results(card.text())) else {
            return Ok(());
        };
        let text = card.text().get(range).unwrap_or_default();
        let document =
            repro_core::yaml::parse(Source::new(card.name(), text.as_bytes().to_vec())?)?;
        let Some(models) = document.root().get("model-index") else { return Ok(()) };
        for (m, model) in models.items().into_iter().flatten().enumerate() {
            let name = text_of(model, "name").unwrap_or_default();
            self.models.push(name.clone());
            let results = model.get("results").and_then(|results| results.items().ok());
            for (r, result) in results.into_iter().flatten().enumerate() {
                let metrics = result.get("metrics").and_then(|metrics| metrics.items().ok());
                for (at, metric) in metrics.into_iter().flatten().enumerate() {
                    let pointer = format!("/model-index/{m}/results/{r}/metrics/{at}/value");
                    self.index.extend(of_index(&name, result, metric, pointer));
                }
            }
        }
        Ok(())
    }

    /// Reads the files in a folder's `.eval_results`.
    pub fn read_hub(&mut self, folder: &FolderListing) -> Vec<Error> {
        let mut failures = Vec::new();
        for name in yaml_files(&folder.path.join(EVAL_RESULTS)) {
            let told = folder.told(&format!("{EVAL_RESULTS}/{name}"));
            let path = folder.path.join(EVAL_RESULTS).join(&name);
            match Source::load_plain(&path, told).and_then(repro_core::yaml::parse) {
                Ok(document) => {
                    let entries = document.root().items().into_iter().flatten().enumerate();
                    self.hub.extend(entries.filter_map(|(at, entry)| of_hub(entry, at)));
                }
                Err(error) => failures.push(error),
            }
        }
        failures
    }

    /// The names of the model in the metadata.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// The number of scores by place, as text; none if there are no scores.
    pub fn in_words(&self) -> Option<String> {
        let parts = [("model-index", self.index.len()), (EVAL_RESULTS, self.hub.len())];
        let told: Vec<_> = parts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(place, count)| format!("{count} in {place}"))
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Scores with the same identity, each beside the first of them.
    pub fn again(&self) -> Vec<StatedRow> {
        let mut first: BTreeMap<&str, &StatedRow> = BTreeMap::new();
        let mut rows = Vec::new();
        for score in self.index.iter().chain(&self.hub) {
            match first.get(&*score.identity) {
                Some(known) => rows.push(beside(&score.row, "first", known, "value")),
                None => {
                    first.insert(&score.identity, &score.row);
                }
            }
        }
        rows
    }

    /// Scores in `.eval_results` beside the metadata score for the same data.
    pub fn on_hub(&self) -> Vec<StatedRow> {
        let (index, hub) = (by_dataset(&self.index), by_dataset(&self.hub));
        let rows = hub.iter().filter_map(|(dataset, scores)| {
            let ([score], [of_index]) = (&scores[..], &index.get(dataset)?[..]) else {
                return None;
            };
            let is_same = of_index.is_of_data(score);
            is_same.then(|| beside(&score.row, "in_metadata", &of_index.row, "value"))
        });
        rows.collect()
    }

    /// Metadata scores beside the only table cell for this model and dataset. A table with separate columns for
    /// settings or metrics does not show which one it prints.
    pub fn in_tables(
        &self,
        card: &Arc<Source>,
        all: &[CardTable],
        models: &[String],
    ) -> Vec<StatedRow> {
        let is_model = |text: &str| models.contains(&tables::name(text));
        let mut cells: BTreeMap<String, Vec<TableCell<'_>>> = BTreeMap::new();
        for of in all.iter().filter(|table| !parts_settings(table)).flat_map(CardTable::cells) {
            let other = match (is_model(of.row), is_model(of.column)) {
                (true, false) => of.column,
                (false, true) => of.row,
                _ => continue,
            };
            cells.entry(tables::name(other)).or_default().push(of);
        }
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        for score in &self.index {
            for name in score.names.iter().collect::<BTreeSet<_>>() {
                *named.entry(name).or_default() += 1;
            }
        }
        let rows = self.index.iter().filter_map(|score| {
            // If a dataset has several scores, the table does not show which one it prints.
            if score.names.iter().any(|name| named.get(&**name).is_some_and(|count| *count > 1)) {
                return None;
            }
            let names: BTreeSet<_> = score.names.iter().collect();
            let mut found = names.into_iter().filter_map(|name| cells.get(name)).flatten();
            let cell = found.next().filter(|_| found.next().is_none())?;
            let (_, span) = tables::number(cell.cell)?;
            Some(printed_beside(&score.row, card, span))
        });
        rows.collect()
    }

    /// Metadata scores beside the results list written by Trainer.
    pub fn in_list(&self, card: &Arc<Source>) -> Vec<StatedRow> {
        let list = listed(card.text());
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        self.index.iter().for_each(|score| *named.entry(&score.metric).or_default() += 1);
        let rows = self.index.iter().filter_map(|score| {
            let is_only = named.get(&*score.metric) == Some(&1);
            let span = list.get(&score.metric).filter(|_| is_only)?;
            Some(printed_beside(&score.row, card, span.clone()))
        });
        rows.collect()
    }
}

/// Scores by dataset.
fn by_dataset(scores: &[StatedScore]) -> BTreeMap<&str, Vec<&StatedScore>> {
    let mut all: BTreeMap<&str, Vec<&StatedScore>> = BTreeMap::new();
    scores.iter().for_each(|score| all.entry(&score.dataset).or_default().push(score));
    all
}

/// Whether a table has columns that describe how a score was measured.
fn parts_settings(table: &CardTable) -> bool {
    let names = ["shot", "metric", "setting", "version", "split"];
    let is_setting = |head: &str| names.iter().any(|name| head.to_lowercase().contains(name));
    table.head.iter().any(|cell| is_setting(&cell.text))
}

/// The results in Trainer files beside the card's results list.
pub fn of_trainer(folder: &FolderListing, card: &Arc<Source>) -> (Vec<StatedRow>, Vec<Error>) {
    let list = listed(card.text());
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for name in TRAINER_RESULTS.iter().filter(|name| !list.is_empty() && folder.has(name)) {
        let source = Source::load_plain(&folder.file(name), folder.told(name));
        match source.and_then(Document::parse_loose_json) {
            Err(error) => failures.push(error),
            Ok(document) => {
                for (key, node) in document.root().members().into_iter().flatten() {
                    let metric = key.strip_prefix("eval_").unwrap_or_default().replace('_', " ");
                    if let Some(span) = list.get(&metric) {
                        let mut row = StatedRow::new(key);
                        state(&mut row, "value", node, format!("/{key}"));
                        rows.push(printed_beside(&row, card, span.clone()));
                    }
                }
            }
        }
    }
    (rows, failures)
}

impl StatedScore {
    /// Whether both cover the same data: the same dataset, and the same split if both state it.
    fn is_of_data(&self, other: &Self) -> bool {
        let agree = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        self.dataset == other.dataset
            && agree(&self.config, &other.config)
            && agree(&self.split, &other.split)
    }
}

/// A result in `model-index`.
fn of_index(
    model: &str,
    result: Node<'_>,
    metric: Node<'_>,
    pointer: String,
) -> Option<StatedScore> {
    let dataset = result.get("dataset")?;
    let id = text_of(dataset, "type")?;
    let pretty = text_of(dataset, "name");
    let measured = text_of(metric, "name").or_else(|| text_of(metric, "type")).unwrap_or_default();
    let mut row = StatedRow::new(format!("{} {measured}", pretty.as_deref().unwrap_or(&id)));
    state(&mut row, "value", metric.get("value")?, pointer);
    row.number("value")?;
    let mut identity = to_json(result.value());
    let _ = identity.as_object_mut().map(|all| all.remove("metrics"));
    let mut of_metric = to_json(metric.value());
    for key in ["value", "verified", "verifyToken"] {
        let _ = of_metric.as_object_mut().map(|all| all.remove(key));
    }
    Some(StatedScore {
        identity: format!("{model}{identity}{of_metric}"),
        names: std::iter::once(&id).chain(&pretty).map(|text| tables::name(text)).collect(),
        dataset: id.to_lowercase(),
        config: text_of(dataset, "config"),
        split: text_of(dataset, "split"),
        metric: measured.to_lowercase(),
        row,
    })
}

/// An entry of a file in `.eval_results`; none if it states deviating conditions.
fn of_hub(entry: Node<'_>, at: usize) -> Option<StatedScore> {
    let dataset = entry.get("dataset")?;
    let id = text_of(dataset, "id")?;
    let mut row = StatedRow::new(id.clone());
    state(&mut row, "value", entry.get("value")?, format!("/{at}/value"));
    row.number("value")?;
    if entry.get("notes").is_some() {
        return None;
    }
    let mut identity = to_json(entry.value());
    for key in ["value", "verifyToken"] {
        let _ = identity.as_object_mut().map(|all| all.remove(key));
    }
    Some(StatedScore {
        identity: identity.to_string(),
        names: vec![tables::name(&id)],
        dataset: id.to_lowercase(),
        config: text_of(dataset, "config"),
        split: text_of(dataset, "split"),
        metric: String::new(),
        row,
    })
}

fn text_of(node: Node<'_>, key: &str) -> Option<String> {
    text(node, key).map(str::to_owned)
}

/// The range of a printed score; whole numbers may also be rounded.
fn range(text: &str) -> Option<PrintedRange> {
    let printed = PrintedRange::printed(text)?;
    let [low, high] = printed.ends();
    let is_whole = low == high;
    Some(if is_whole { PrintedRange::between(low - 0.5, high + 0.5) } else { printed })
}

/// Records a score.
fn state(row: &mut StatedRow, name: &str, node: Node<'_>, pointer: String) {
    row.state("text", node, pointer, Digits::Rounded);
    quote(row, name);
}

/// Records the score in `text` under its name, with its full range.
fn quote(row: &mut StatedRow, name: &str) {
    let printed = row.cell("text").map(|cell| cell.printed.clone()).unwrap_or_default();
    if let Some(range) = range(&printed) {
        row.quote(name, "text", range, &printed);
    }
}

/// A score beside a different one.
fn beside(score: &StatedRow, name: &str, other: &StatedRow, known: &str) -> StatedRow {
    let mut row = score.clone();
    row.copy(name, other, known);
    add_scale(&mut row, name);
    row
}

/// A score beside a printed one.
fn printed_beside(score: &StatedRow, card: &Arc<Source>, span: Range<usize>) -> StatedRow {
    let mut row = score.clone();
    row.print("text", card, span, Digits::Rounded);
    quote(&mut row, "on_card");
    // Digits in cards may also be truncated.
    if let Some(cell) = row.cell("on_card")
        && let Some([low, high]) = row.range("on_card").map(PrintedRange::ends)
    {
        let printed = cell.printed.clone();
        let cut = PrintedRange::between(low, high + (high - low) / 2.0);
        row.quote("on_card", "text", cut, &printed);
    }
    add_scale(&mut row, "on_card");
    row
}

/// The scale between two scores: a fraction and a percentage differ by 100.
fn add_scale(row: &mut StatedRow, other: &str) {
    if let (Some(value), Some(other)) = (row.number("value"), row.number(other)) {
        let ratio = other / value;
        let scale = match ratio {
            50.0..200.0 => 100.0,
            0.005..0.02 => 0.01,
            _ => 1.0,
        };
        row.compute_number("scale", scale, "a fraction or a percentage");
    }
}

/// The results in a Trainer card, by lower-case name.
fn listed(card: &str) -> BTreeMap<String, Range<usize>> {
    let mut list = BTreeMap::new();
    let Some(start) = card.find(LIST).map(|at| at + LIST.len()) else { return list };
    let mut at = start;
    for line in card.get(start..).unwrap_or_default().split_inclusive('\n') {
        let place = at;
        at += line.len();
        match line.trim().strip_prefix("- ").and_then(|entry| entry.split_once(": ")) {
            Some((name, value)) => {
                let begin = place + line.len() - line.trim_start().len() + 2 + name.len() + 2;
                list.insert(name.to_lowercase(), begin..begin + value.len());
            }
            None if line.trim().is_empty() && list.is_empty() => {}
            None => break,
        }
    }
    list
}

/// The sorted names of a folder's YAML files.
fn yaml_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| name.ends_with(".yaml") || name.ends_with(".yml")).collect();
    names.sort_unstable();
    names.truncate(FILES);
    names
}
