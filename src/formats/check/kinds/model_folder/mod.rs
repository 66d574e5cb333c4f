//! Model folders: config, weight headers, and the card. Compares computed, stored and stated parameter counts.

mod card;
mod found;
mod scores;
mod tables;
mod weights;

use std::sync::Arc;

use repro_bundle::checkpoint::read_config;
use repro_core::source::{Document, Error, Node, Source};
use repro_model::params::{ModelCounts, recompute};

use self::found::{FoundModel, is_uncountable};
use self::scores::{FolderScores, TRAINER_RESULTS};
use crate::check::kind::{
    DocumentKind, EVAL_RESULTS, FolderAnswer, FolderListing, FoldersBelow, NO_RELATIONS, Reads,
    RelationTable,
};
use crate::check::stated::StatedRow;

/// A folder.
pub static KIND: DocumentKind = DocumentKind {
    id: "model-folder",
    what: "model folder",
    reads: Reads::Folder {
        is,
        takes: |name| weights::is(name) || is_text(name),
        below: FoldersBelow::None,
        read,
    },
    relations: &RELATIONS,
    twins: None,
};

/// A config under any name, without the rest of the folder.
pub static CONFIG_KIND: DocumentKind = DocumentKind {
    id: "model-config",
    what: "model config",
    reads: Reads::Json { is: is_config, read: state_config },
    relations: &NO_RELATIONS,
    twins: None,
};

/// The config's file name in a model folder.
pub const CONFIG: &str = "config.json";
const CARD: &str = "README.md";

fn is_text(name: &str) -> bool {
    [CONFIG, CARD].contains(&name) || TRAINER_RESULTS.contains(&name)
}

/// Whether a config without other files belongs to a model: it names its model type, or can be counted. A card
/// qualifies if its metadata states results.
fn is(folder: &FolderListing) -> bool {
    folder.names.iter().any(|name| weights::is(name))
        || folder.has(CONFIG) && names_a_model(folder)
        || folder.path.join(EVAL_RESULTS).is_dir()
        || folder.has(CARD) && card_states_results(folder)
}

fn card_states_results(folder: &FolderListing) -> bool {
    let card = Source::load_loose(&folder.file(CARD), folder.told(CARD));
    card.is_ok_and(|card| scores::states_results(card.text()))
}

fn names_a_model(folder: &FolderListing) -> bool {
    let config = read_config(&folder.file(CONFIG), &folder.told(CONFIG));
    config.is_ok_and(|config| names_its_kind(config.root()) || recompute(&config).is_ok())
}

/// Whether its weights are packed, so headers do not contain parameter counts.
fn is_quantized(config: Node<'_>) -> bool {
    ["quantization_config", "compression_config"].iter().any(|key| config.get(key).is_some())
}

/// Whether a config names its model type.
pub fn names_its_kind(config: Node<'_>) -> bool {
    ["model_type", "architectures"].iter().any(|key| config.get(key).is_some())
}

fn is_config(root: Node<'_>) -> bool {
    match recompute(root.document()) {
        Ok(_) => true,
        Err(error) => names_its_kind(root) && is_uncountable(&error),
    }
}

fn state_config(document: &Document) -> StatedRow {
    let file = document.source.name().rsplit('/').next().unwrap_or_default();
    let mut model = FoundModel::default();
    match recompute(document) {
        Ok(counts) => model.is_described(ModelCounts::of(file, counts)),
        Err(error) => model.is_unknown(file, &error),
    }
    model.row
}

fn read(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let mut answer = FolderAnswer::default();
    let mut model = FoundModel::default();
    if folder.has(CONFIG) {
        let config = read_config(&folder.file(CONFIG), &folder.told(CONFIG));
        model.is_quantized = config.as_ref().is_ok_and(|config| is_quantized(config.root()));
        match config.and_then(|config| recompute(&config)) {
            Ok(counts) => model.is_described(ModelCounts::of(CONFIG, counts)),
            Err(error) if is_uncountable(&error) => model.is_unknown(CONFIG, &error),
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
        match Source::load_loose(&folder.file(CARD), folder.told(CARD)) {
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

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));
