//! A folder of a model: config, weights by their headers, and the card. Parameters as computed, as stored and as said, side by side.

mod card;
mod weights;

use repro_exact::decimal::grouped;
use repro_params::{
    Convention, ModelCounts, UNKNOWN_FAMILY, UNKNOWN_SHAPE_FIELD, UNSUPPORTED, load,
};
use repro_receipt::source::{Document, Error, Source};

use self::card::CountedWays;
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
    [CONFIG, CARD].contains(&name)
}

/// A config alone may be that of anything: it is one of a model where it names its kind.
fn is(folder: &FolderListing) -> bool {
    folder.names.iter().any(|name| weights::is(name)) || folder.has(CONFIG) && names_a_model(folder)
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
    if folder.has(CARD) && !model.ways.is_empty() {
        match Source::load_plain(&folder.file(CARD), folder.told(CARD)) {
            Ok(card) => model.row.add("count", card::said(&card, &model.ways)),
            Err(error) => answer.failures.push(error),
        }
    }
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
        if self.described.is_none() {
            self.ways.add("stored", counts.total, counts.active);
        }
    }

    /// An index says this of all shards together.
    fn has_index(&mut self, mut index: StatedRow) {
        if let Some(total) = index.number("total_parameters") {
            self.add_described(&mut index, total as u64);
        }
        self.row.add("index", [index]);
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

/// One way of counting, as it is told.
fn line(label: &str, total: Option<u64>, active: Option<u64>, note: &str) -> StatedRow {
    let shown = |count: Option<u64>| {
        count.map_or_else(|| "unknown".to_owned(), |count| grouped(&count.to_string()))
    };
    let mut row = StatedRow::new(label);
    row.compute_text("total", &shown(total), "");
    row.compute_text("active", &shown(active), "");
    row.compute_text("note", note, "");
    row
}

relations! {
    INDEX_TOTAL = "model::index-total", "the index says another number of parameters than the config describes", doubt;
        "index" => "total_parameters = described.total", from "both count the same model, with layers for multi-token prediction or without";
    STORED = "model::stored", "the weights hold another number of parameters than the config describes", doubt;
        "weights" => "stored.total = described.total", from "both count the same model: the config by the architecture, the headers by shapes";
}
