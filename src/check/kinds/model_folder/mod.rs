//! A folder of a model: config, weights by their headers, and the card. Parameters as computed, as stored and as said, side by side.

mod card;
mod scores;
mod tables;
mod weights;

use std::sync::Arc;

use repro_exact::decimal::grouped;
use repro_params::{
    Convention, ModelCounts, UNKNOWN_FAMILY, UNKNOWN_SHAPE_FIELD, UNSUPPORTED, load,
};
use repro_receipt::source::{Document, Error, Source};

use self::card::{CountedWays, ModelCard};
use self::scores::{EVAL_RESULTS, FolderScores, TRAINER_RESULTS};
use crate::kind::{DocumentKind, FolderAnswer, FolderListing, FoldersBelow, Reads, relations};
use crate::stated::StatedRow;

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "model-folder",
    what: "folder of a model",
    reads: Reads::Folder {
        is,
        takes: |name| weights::is(name) || is_text(name),
        below: FoldersBelow::None,
        read,
    },
    relations: RELATIONS,
    twins: None,
};

const CONFIG: &str = "config.json";
const CARD: &str = "README.md";

fn is_text(name: &str) -> bool {
    [CONFIG, CARD].contains(&name) || TRAINER_RESULTS.contains(&name)
}

/// A config alone may be that of anything: it is one of a model where it names its kind. So is a card where its metadata state results.
fn is(folder: &FolderListing) -> bool {
    folder.names.iter().any(|name| weights::is(name))
        || folder.has(CONFIG) && names_a_model(folder)
        || folder.path.join(EVAL_RESULTS).is_dir()
        || folder.has(CARD) && card_states_results(folder)
}

fn card_states_results(folder: &FolderListing) -> bool {
    let card = Source::load_plain(&folder.file(CARD), folder.told(CARD));
    card.is_ok_and(|card| scores::states_results(card.text()))
}

fn names_a_model(folder: &FolderListing) -> bool {
    let source = Source::load_plain(&folder.file(CONFIG), folder.told(CONFIG));
    let document = source.and_then(Document::parse_loose_json);
    document.is_ok_and(|document| {
        let root = document.root();
        ["model_type", "architectures"].iter().any(|key| root.get(key).is_some())
    })
}

fn read(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let mut answer = FolderAnswer::default();
    let mut model = FoundModel::default();
    if folder.has(CONFIG) {
        match load(&folder.file(CONFIG), &folder.told(CONFIG)) {
            Ok(counts) => model.is_described(counts),
            Err(error) if is_uncountable(&error) => model.is_unknown(&error),
            Err(error) => answer.failures.push(error),
        }
    }
    let index = weights::index(folder).transpose().unwrap_or_else(|error| {
        answer.failures.push(error);
        None
    });
    if let Some(index) = &index {
        model.has_index(weights::said_of_all(index));
    }
    for (name, stored) in weights::load_all(folder, index.as_ref()) {
        match stored {
            Ok(counts) => model.is_stored(&name, &counts),
            Err(error) => answer.failures.push(error),
        }
    }
    let mut scores = FolderScores::default();
    answer.failures.extend(scores.read_hub(folder));
    if folder.has(CARD) {
        match Source::load_plain(&folder.file(CARD), folder.told(CARD)) {
            Ok(card) => {
                answer.failures.extend(model.has_card(folder, &Arc::new(card), &mut scores))
            }
            Err(error) => answer.failures.push(error),
        }
    }
    model.has_scores(&scores);
    answer.row = model.row;
    Ok(answer)
}

/// Whether a config is fine and of a model that cannot be counted here.
fn is_uncountable(error: &Error) -> bool {
    let codes = [&UNKNOWN_FAMILY, &UNSUPPORTED, &UNKNOWN_SHAPE_FIELD];
    codes.iter().any(|code| code.id == error.code.id)
}

/// What is found out about the model of a folder.
#[derive(Debug, Default)]
struct FoundModel {
    row: StatedRow,
    ways: CountedWays,
    /// What its config describes.
    described: Option<ModelCounts>,
}

impl FoundModel {
    /// Its config describes this.
    fn is_described(&mut self, model: ModelCounts) {
        for (at, (convention, both)) in
            model.counts.iter().flat_map(|c| c.conventions()).enumerate()
        {
            let name = convention.name().replace('_', " ");
            let family = model.counts.as_ref().map_or("", |counts| counts.family);
            let (label, note) = match at {
                0 => ("computed", format!("{CONFIG}, {family}")),
                _ => (name.as_str(), String::new()),
            };
            self.row.add("count", [line(label, Some(both.total), Some(both.active), &note)]);
            self.ways.add(&name, both.total, Some(both.active));
        }
        self.described = Some(model);
    }

    /// Its config is of a model that cannot be counted here.
    fn is_unknown(&mut self, error: &Error) {
        let note =
            format!("{CONFIG}: {} is not known, so that headers alone are counted", error.found);
        self.row.add("count", [line("computed", None, None, &note)]);
    }

    /// One form of its weights has headers of this content.
    fn is_stored(&mut self, name: &str, counts: &ModelCounts) {
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
            format!("by the headers of {name}"),
        );
        self.add_described(&mut own, counts.total);
        self.row.add("weights", [own]);
        self.ways.add(card::STORED, counts.total, counts.active);
    }

    /// An index says this of all shards together.
    fn has_index(&mut self, mut index: StatedRow) {
        if let Some(total) = index.number("total_parameters") {
            self.add_described(&mut index, total as u64);
        }
        self.row.add("index", [index]);
    }

    /// It has a card, whose metadata state more scores. Answers what cannot be read.
    fn has_card(
        &mut self,
        folder: &FolderListing,
        card: &Arc<Source>,
        scores: &mut FolderScores,
    ) -> Vec<Error> {
        if let Err(error) = scores.read_card(card) {
            // A card is for people first, and its metadata may be any YAML.
            let note = format!("{CARD}:{} cannot be read: {}", error.place.line, error.found);
            self.row.add("count", [note_line("metadata", &note)]);
        }
        let own = folder.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let models: Vec<_> =
            scores.models().iter().cloned().chain(own).map(|model| tables::name(&model)).collect();
        let all = tables::tables(card.text());
        if !self.ways.is_empty() {
            let card = ModelCard { source: card, tables: &all, models: &models };
            self.row.add("count", card.said(&self.ways));
            self.row.add("own_size", card.sizes_of_own(&self.ways));
        }
        self.row.add("in_tables", scores.in_tables(card, &all, &models));
        self.row.add("in_list", scores.in_list(card));
        let (of_trainer, failures) = scores::of_trainer(folder, card);
        self.row.add("of_trainer", of_trainer);
        failures
    }

    /// Its folder states these scores for programs.
    fn has_scores(&mut self, scores: &FolderScores) {
        if let Some(words) = scores.in_words() {
            self.row.add("count", [note_line("scores", &words)]);
        }
        self.row.add("again", scores.again());
        self.row.add("on_hub", scores.on_hub());
    }

    /// Adds what the config describes beside what is `stored`: layers for multi-token prediction are counted where
    /// weights hold them, as most are published both ways.
    fn add_described(&self, row: &mut StatedRow, stored: u64) {
        let Some(model) = &self.described else { return };
        let counts = model.counts.as_ref();
        let way = counts.and_then(|counts| counts.stored_as(stored));
        let (total, how) = match way.filter(|way| *way != Convention::Default) {
            Some(way) => (stored, format!(", {}", way.name().replace('_', " "))),
            None => (model.total, String::new()),
        };
        row.compute_number("described.total", total as f64, format!("from {CONFIG}{how}"));
    }
}

/// What is told without a count.
fn note_line(label: &str, note: &str) -> StatedRow {
    let mut row = StatedRow::new(label);
    row.compute_text("note", note, "");
    row
}

/// One way of counting, as it is told.
fn line(label: &str, total: Option<u64>, active: Option<u64>, note: &str) -> StatedRow {
    let shown = |count: Option<u64>| {
        count.map_or_else(|| "unknown".to_owned(), |count| grouped(&count.to_string()))
    };
    let mut row = note_line(label, note);
    row.compute_text("total", &shown(total), "");
    row.compute_text("active", &shown(active), "");
    row
}

relations! {
    INDEX_TOTAL = "model::index-total", "the index says another number of parameters than the config describes", doubt;
        "index" => "total_parameters = described.total", from "both count the same model, with layers for multi-token prediction or without";
    CARD_SIZE = "model::card-size", "no way of counting gives the size that the card's table has for this model", doubt;
        "own_size" => "said = counted", from "config and headers, each way of counting that is known; rounded or cut off";
    SCORE_AGAIN = "model::score-again", "two scores of one data set, split and metric differ", doubt;
        "again" => "value * scale = first", from "model-index and .eval_results: entries that are alike in everything but the value";
    SCORE_HUB = "model::score-hub", "a score in .eval_results is another one than in model-index", doubt;
        "on_hub" => "value * scale = in_metadata", from "both state the one score of this data set";
    SCORE_TABLE = "model::score-table", "a score in model-index is another one than in the card's table", doubt;
        "in_tables" => "on_card = value * scale", from "the one cell of the card's tables in this model's row or column and that of the data set";
    SCORE_LIST = "model::score-list", "a score in model-index is another one than in the card's list of results", doubt;
        "in_list" => "on_card = value * scale", from "Trainer writes both from one evaluation (transformers, modelcard.py)";
    SCORE_TRAINER = "model::score-trainer", "a file of results has another score than the card's list of results", doubt;
        "of_trainer" => "on_card = value * scale", from "Trainer's last evaluation (transformers, modelcard.py; save_metrics)";
    STORED = "model::stored", "the weights hold another number of parameters than the config describes", doubt;
        "weights" => "stored.total = described.total", from "both count the same model: the config by the architecture, the headers by shapes";
}
