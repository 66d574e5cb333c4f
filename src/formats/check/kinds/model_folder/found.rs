//! Collects the facts about the model in a folder, piece by piece.

use std::sync::Arc;

use repro_core::decimal::grouped;
use repro_core::source::{Error, Source};
use repro_model::params::{
    Convention, ModelCounts, UNKNOWN_FAMILY, UNKNOWN_SHAPE_FIELD, UNSUPPORTED,
};

use super::card::{self, CountedWays, ModelCard};
use super::scores::{self, FolderScores};
use super::tables;
use crate::check::kind::FolderListing;
use crate::check::stated::StatedRow;

/// Whether a config is valid but its model cannot be counted.
pub fn is_uncountable(error: &Error) -> bool {
    let codes = [&UNKNOWN_FAMILY, &UNSUPPORTED, &UNKNOWN_SHAPE_FIELD];
    codes.iter().any(|code| code.id == error.code.id)
}

/// The facts about the model in a folder.
#[derive(Debug, Default)]
pub struct FoundModel {
    pub row: StatedRow,
    pub ways: CountedWays,
    /// The model that its config describes.
    described: Option<ModelCounts>,
    /// Whether its config states that its weights are quantized.
    pub is_quantized: bool,
}

impl FoundModel {
    /// Adds the model described by its config.
    pub fn is_described(&mut self, model: ModelCounts) {
        // Cards, headers and indexes describe whole models: the count of a part is shown but not compared.
        if model.is_part {
            let note = model.notes.join("; ");
            let line = line("language model", Some(model.total), model.active, &note);
            self.row.add("count", [line]);
            return;
        }
        for (at, (convention, both)) in
            model.counts.iter().flat_map(|c| c.conventions()).enumerate()
        {
            let name = convention.name().replace('_', " ");
            let family = model.counts.as_ref().map_or("", |counts| counts.family);
            let (label, note) = match at {
                0 => ("computed", format!("{}, {family}", model.file)),
                _ => (name.as_str(), String::new()),
            };
            self.row.add("count", [line(label, Some(both.total), Some(both.active), &note)]);
            self.ways.add(&name, both.total, Some(both.active));
        }
        self.described = Some(model);
    }

    /// Notes that its config describes a model that cannot be counted.
    pub fn is_unknown(&mut self, file: &str, error: &Error) {
        let note = format!("{file}: {} is unknown, so only headers are counted", error.found);
        self.row.add("count", [line("computed", None, None, &note)]);
    }

    /// Adds the header contents of one form of its weights.
    pub fn is_stored(&mut self, name: &str, counts: &ModelCounts) {
        let notes = std::iter::once(name.to_owned()).chain(counts.notes.iter().cloned());
        let note = notes.collect::<Vec<_>>().join("; ");
        self.row.add("count", [line("stored", Some(counts.total), counts.active, &note)]);
        if counts.is_part {
            return;
        }
        let mut own = StatedRow::new(name);
        own.compute_number(
            "stored.total",
            counts.total as f64,
            format!("from the headers of {name}"),
        );
        self.add_described(&mut own, counts.total);
        self.row.add("weights", [own]);
        self.ways.add(card::STORED, counts.total, counts.active);
    }

    /// Adds an index's statement about all shards.
    pub fn has_index(&mut self, mut index: StatedRow) {
        if let Some(total) = index.number("total_parameters") {
            self.add_described(&mut index, total as u64);
        }
        self.row.add("index", [index]);
    }

    /// Adds its card, whose metadata can state more scores. Returns errors.
    pub fn has_card(
        &mut self,
        folder: &FolderListing,
        card: &Arc<Source>,
        scores: &mut FolderScores,
    ) -> Vec<Error> {
        let unread = scores.read_card(card).err();
        let own = folder.path.canonicalize().ok();
        let own = own.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let heading = card.text().lines().find_map(|line| line.strip_prefix("# "));
        let named = scores.models().iter().map(String::as_str).chain(own.as_deref()).chain(heading);
        let models: Vec<_> = named.map(tables::name).filter(|name| !name.is_empty()).collect();
        let all = tables::tables(card.text());
        if !self.ways.is_empty() {
            let card = ModelCard { source: card, tables: &all, models: &models };
            self.row.add("count", card.said(&self.ways));
            self.row.add("own_size", card.sizes_of_own(&self.ways));
        }
        self.row.add("in_tables", scores.in_tables(card, &all, &models));
        self.row.add("in_list", scores.in_list(card));
        let (of_trainer, mut failures) = scores::of_trainer(folder, card);
        self.row.add("of_trainer", of_trainer);
        failures.extend(unread);
        failures
    }

    /// Adds the machine-readable scores of its folder.
    pub fn has_scores(&mut self, scores: &FolderScores) {
        if let Some(words) = scores.in_words() {
            self.row.add("count", [note_line("scores", &words)]);
        }
        self.row.add("again", scores.again());
        self.row.add("on_hub", scores.on_hub());
    }

    /// Adds the described parameters beside the `stored` ones. Multi-token prediction layers count if the weights
    /// contain them, because most such models are published both ways.
    fn add_described(&self, row: &mut StatedRow, stored: u64) {
        // For packed weights, neither headers nor an index contain the number of parameters.
        let Some(model) = self.described.as_ref().filter(|_| !self.is_quantized) else { return };
        let counts = model.counts.as_ref();
        let way = counts.and_then(|counts| counts.stored_as(stored));
        let (total, how) = match way.filter(|way| *way != Convention::Default) {
            Some(way) => (stored, format!(", {}", way.name().replace('_', " "))),
            None => (model.total, String::new()),
        };
        row.compute_number("described.total", total as f64, format!("from {}{how}", model.file));
    }
}

/// A line without a count.
fn note_line(label: &str, note: &str) -> StatedRow {
    let mut row = StatedRow::new(label);
    row.compute_text("note", note, "");
    row
}

/// One way of counting, as reported.
fn line(label: &str, total: Option<u64>, active: Option<u64>, note: &str) -> StatedRow {
    let shown = |count: Option<u64>| {
        count.map_or_else(|| "unknown".to_owned(), |count| grouped(&count.to_string()))
    };
    let mut row = note_line(label, note);
    row.compute_text("total", &shown(total), "");
    row.compute_text("active", &shown(active), "");
    row
}
