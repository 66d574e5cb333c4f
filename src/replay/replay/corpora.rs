//! Data that runs have read, where they are at hand: loaded once, however many replays ask.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::data::{Corpus, DataFolder, Order};
use repro_bundle::bundle::Bundle;
use repro_core::digest::canonical;
use repro_core::source::{Error, Node};
use repro_model::study::to_json;

/// The most text that is generated for a replay, in bytes.
const GENERATED: u64 = 64 << 20;

/// The data that replays ask for.
#[derive(Debug)]
pub struct Corpora {
    folder: DataFolder,
    known: Mutex<BTreeMap<String, Found>>,
}

type Found = Result<Arc<Corpus>, String>;

impl Corpora {
    /// Data in a folder that the caller named; without one no file is read.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder: DataFolder::named(folder), known: Mutex::default() }
    }

    /// The folder.
    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// The data of a run and the order of its batches; or why they are not known here.
    pub fn of(&self, bundle: &Bundle, config: Node<'_>) -> Result<(Arc<Corpus>, Order), String> {
        let data = bundle.receipt().data.as_ref();
        let order = data.and_then(|data| data.order.as_deref()).unwrap_or("none");
        if order != Order::NAME {
            return Err(format!("the data order `{order}` cannot be reproduced here"));
        }
        let Some(table) = config.get("data") else {
            return Err("the config has no `data`".to_owned());
        };
        let corpus = self.load(table)?;
        if data.and_then(|data| data.sha256).is_some_and(|stated| stated != corpus.sha256) {
            return Err("the data's digest differs from the run's data".to_owned());
        }
        let order = Order::read(config, &corpus).map_err(|error| short(&error))?;
        Ok((corpus, order))
    }

    fn load(&self, table: Node<'_>) -> Found {
        self.fit(table)?;
        let key = to_json(table).ok().and_then(|table| canonical(&table).ok()).unwrap_or_default();
        // A thread that panicked held only a map of what is known.
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        let found = Corpus::load(table, &self.folder).map(Arc::new).map_err(|error| short(&error));
        known.insert(key, found.clone());
        found
    }
}

impl Corpora {
    /// Refuses what a stranger's config may not make this program do: read files that it does not pin by digest, and
    /// generate texts that take long.
    fn fit(&self, table: Node<'_>) -> Result<(), String> {
        let text = |key: &str| table.get(key).and_then(|node| node.text().ok());
        if text("file").is_some() && text("sha256").is_none() {
            return Err("the config does not pin its data by `sha256`".to_owned());
        }
        if text("source") != Some("language") {
            return Ok(());
        }
        let held_out = ["validation", "development"].map(|key| table.get(key)?.get("bytes"));
        let parts = held_out.into_iter().chain([table.get("train_bytes")]).flatten();
        let bytes = parts.filter_map(|node| node.integer().ok()).fold(0, u64::saturating_add);
        if bytes > GENERATED {
            return Err(format!("a replay does not generate as much as {bytes} bytes of text"));
        }
        Ok(())
    }
}

/// A refusal in one line of a report.
pub fn short(error: &Error) -> String {
    format!("{}: {}", error.code.meaning, error.found)
}
