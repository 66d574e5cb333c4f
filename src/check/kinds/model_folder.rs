//! A folder of a model: config, weights by their headers, and the card. Parameters as computed, as stored and as said, side by side.
//!
//! What a card says is held against every way of counting. A size that fits none is told and refutes nothing: a card speaks of other
//! models too, and labels are not counts.

use repro_exact::decimal::grouped;
use repro_params::{ModelCounts, ParameterCounts, load};
use repro_receipt::source::{Document, Error, Source};
use repro_relation::{PrintedRange, Term};

use crate::kind::{DocumentKind, FolderAnswer, FolderListing, Reads, relations};
use crate::stated::StatedRow;
use crate::words;

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "model-folder",
    what: "folder of a model",
    reads: Reads::Folder {
        is,
        takes: |name| is_weights(name) || is_text(name),
        is_whole: false,
        read,
    },
    relations: RELATIONS,
    twins: None,
};

const CONFIG: &str = "config.json";
const CARD: &str = "README.md";
const INDEX: &str = "model.safetensors.index.json";
/// So many statements of a card are told.
const SAID: usize = 12;

fn is_weights(name: &str) -> bool {
    name.ends_with(".safetensors") || name == INDEX
}

fn is_text(name: &str) -> bool {
    [CONFIG, CARD].contains(&name)
}

/// A config alone may be that of anything: it is one of a model where it names its kind.
fn is(folder: &FolderListing) -> bool {
    folder.names.iter().any(|name| is_weights(name)) || folder.has(CONFIG) && names_a_model(folder)
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
    let row = &mut answer.row;
    let mut counted = |name: &str| {
        let counts = load(&folder.file(name), &folder.told(name));
        counts.map_err(|error| answer.failures.push(error)).ok()
    };
    let computed = folder.has(CONFIG).then(|| counted(CONFIG)).flatten();
    let weights = match folder.has(INDEX) {
        true => Some(INDEX),
        false => {
            folder.names.iter().find(|name| name.ends_with(".safetensors")).map(String::as_str)
        }
    };
    let stored = weights.and_then(&mut counted);
    if let Some(computed) = &computed {
        let family = computed.counts.as_ref().map_or("", |counts| counts.family);
        row.add("count", [count("computed", computed, format!("{CONFIG}, {family}"))]);
        row.compute_number("computed.total", computed.total as f64, format!("from {CONFIG}"));
    }
    if let (Some(stored), Some(name)) = (&stored, weights) {
        let notes = std::iter::once(name.to_owned()).chain(stored.notes.iter().cloned());
        row.add("count", [count("stored", stored, notes.collect::<Vec<_>>().join("; "))]);
        row.compute_number(
            "stored.total",
            stored.total as f64,
            format!("by the headers of {name}"),
        );
    }
    if let Some(counts) = computed.as_ref().and_then(|computed| computed.counts.as_ref()) {
        for (convention, both) in counts.conventions().skip(1) {
            let name = convention.name().replace('_', " ");
            row.compute_number(
                format!("computed.{}", convention.name()),
                both.total as f64,
                name.clone(),
            );
            row.add("count", [line(&name, both.total, Some(both.active), "")]);
        }
        if folder.has(CARD) {
            match Source::load_plain(&folder.file(CARD), folder.told(CARD)) {
                Ok(card) => row.add("count", said(&card, counts)),
                Err(error) => answer.failures.push(error),
            }
        }
    }
    Ok(answer)
}

fn count(label: &str, counts: &ModelCounts, note: impl Into<String>) -> StatedRow {
    line(label, counts.total, counts.active, &note.into())
}

fn line(label: &str, total: u64, active: Option<u64>, note: &str) -> StatedRow {
    let mut row = StatedRow::new(label);
    row.compute_text("total", &grouped(&total.to_string()), "");
    let active = active.map_or_else(|| "unknown".to_owned(), |active| grouped(&active.to_string()));
    row.compute_text("active", &active, "");
    row.compute_text("note", note, "");
    row
}

/// What a card says of parameters, each with the ways of counting that it fits.
fn said(card: &Source, counts: &ParameterCounts) -> Vec<StatedRow> {
    let mut rows: Vec<StatedRow> = Vec::new();
    for (at, text) in card.text().lines().enumerate() {
        let lower = text.to_lowercase();
        if !lower.contains("param") || lower.contains("http") && lower.starts_with('[') {
            continue;
        }
        for (size, words) in words::parameters(text) {
            let is_known = rows.iter().any(|row| row.label == format!("said {words}"));
            let behind = lower.split_once(&words.to_lowercase()).map_or("", |(_, behind)| behind);
            let is_other = is_known || behind.trim_start().starts_with("token");
            let ways = ways(&size, counts);
            // The columns of a table are of many models.
            if rows.len() < SAID
                && !is_other
                && !(ways.is_empty() && text.trim_start().starts_with('|'))
            {
                rows.push(fitting(&size, &words, at + 1, &ways));
            }
        }
    }
    rows
}

/// The ways of counting that give a size.
fn ways(size: &PrintedRange, counts: &ParameterCounts) -> Vec<String> {
    let [low, high] = size.ends();
    let fits = |count: u64| (low..=high).contains(&(count as f64));
    let mut ways = Vec::new();
    for (convention, both) in counts.conventions() {
        for (kind, count) in [("total", both.total), ("active", both.active)] {
            if fits(count) && (kind == "total" || both.total != both.active) {
                ways.push(format!("{kind} ({})", convention.name().replace('_', " ")));
            }
        }
    }
    ways
}

/// A size that a card says, with the ways of counting that give it.
fn fitting(size: &PrintedRange, words: &str, line: usize, ways: &[String]) -> StatedRow {
    let note = match ways {
        [] => "fits no way of counting this model".to_owned(),
        several => format!("fits {}", several.join(", ")),
    };
    let mut row = StatedRow::new(format!("said {words}"));
    row.compute("size", Term::Number(*size), format!("{CARD}:{line}"));
    row.compute_text("note", &format!("{CARD}:{line} {note}"), "");
    row
}

relations! {
    STORED = "model::stored", "the weights hold another number of parameters than the config describes", doubt;
        "document" => "stored.total = computed.total", from "both count the same model: the config by the architecture, the headers by shapes",
        perhaps "stored.total = computed.with_mtp": "the weights hold layers for multi-token prediction, which the count of the config leaves out",
        perhaps "stored.total = computed.with_mtp_copies": "the weights hold layers for multi-token prediction with copies of embeddings and head";
}
