//! The report on one file: the counts from a config and from headers.

use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Convention, Count, CountScope, ParameterCounts, Part, recompute};
use repro_bundle::checkpoint::{HeaderSummary, read_config};

/// One entry of `models` in `repro.params/1`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCounts {
    /// The file, by the name the caller gave it.
    pub file: String,
    /// Everything stored, under the default convention.
    pub total: u64,
    /// The active parameters, if they are known; otherwise the notes state the reason.
    pub active: Option<u64>,
    /// The parameter counts of the config, if there is one and the file agrees with it.
    pub counts: Option<ParameterCounts>,
    /// Omissions and limits of the count.
    pub notes: Vec<String>,
    /// Whether it counts only a part of the model: files are missing, or parameters are packed.
    pub is_part: bool,
}

impl ModelCounts {
    /// The report on a config.
    pub fn of(file: &str, mut counts: ParameterCounts) -> Self {
        Self {
            file: file.to_owned(),
            total: counts.total(),
            active: Some(counts.active()),
            notes: std::mem::take(&mut counts.notes),
            is_part: counts.scope != CountScope::Whole,
            counts: Some(counts),
        }
    }
}

impl Serialize for ModelCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = self.counts.as_ref();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &self.file)?;
        map.serialize_entry("family", counts.map_or("unknown", |counts| counts.family))?;
        map.serialize_entry("scope", &counts.map(|counts| counts.scope))?;
        map.serialize_entry("total", &self.total)?;
        map.serialize_entry("active", &self.active)?;
        map.serialize_entry("breakdown", &Parts(counts))?;
        map.serialize_entry("conventions", &Conventions(counts))?;
        map.serialize_entry("tied", &counts.map(|counts| counts.tied))?;
        map.serialize_entry("shape", &counts.map(|counts| counts.shape))?;
        map.serialize_entry("active_ffn_width", &counts.map(|counts| counts.active_ffn_width))?;
        map.serialize_entry("ignored", counts.map_or(&[][..], |counts| &counts.ignored))?;
        map.serialize_entry("notes", &self.notes)?;
        map.end()
    }
}

/// Whether a part is shown: parts outside the language model only if they are not empty.
pub fn shown((part, count): &(Part, Count)) -> bool {
    !part.is_beside_language() || count.total > 0
}

/// Total and active count by part, or an empty dict if only a header was read.
struct Parts<'a>(Option<&'a ParameterCounts>);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.into_iter().flat_map(|counts| counts.breakdown.parts());
        serializer.collect_map(parts.filter(shown).map(|(part, count)| (part.name(), count)))
    }
}

/// The counts under every convention, or an empty table.
struct Conventions<'a>(Option<&'a ParameterCounts>);

impl Serialize for Conventions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = |counts: &ParameterCounts| {
            Convention::ALL.map(|convention| (convention.name(), counts.both(convention)))
        };
        serializer.collect_map(self.0.map(counts).into_iter().flatten())
    }
}

/// The active parameters according to the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveByHeader {
    /// Unknown: shapes do not show the number of experts per token.
    NotSaid,
    /// The number of active parameters.
    Is(u64),
    /// Not enough, for this reason.
    Unknown(String),
}

/// The contents of the headers of a model's weights.
#[derive(Debug, Clone)]
pub struct SeenWeights {
    /// Their tensors.
    pub tensors: HeaderSummary,
    /// Remarks on them.
    pub notes: Vec<String>,
    /// The active parameters.
    pub active: ActiveByHeader,
    /// Whether other files of the model are missing.
    pub is_part: bool,
}

impl SeenWeights {
    /// The report on them, joined with the config next to the file at `path` if there is one.
    pub fn counted(self, path: &Path, name: &str) -> ModelCounts {
        let Self { tensors, mut notes, active, is_part } = self;
        notes.extend(tensors.notes());
        let total = tensors.parameters();
        let config = beside_config(path, name);
        let is_alone = config.is_none();
        let alone = "there is no `config.json` with the experts per token next to the file";
        let config = config.unwrap_or_else(|| Err(alone.into()));
        match config.and_then(|counts| agreed(counts, total, tensors.head())) {
            Ok((counts, total, note)) => {
                let mut model = ModelCounts::of(name, counts);
                model.notes.extend(note.into_iter().chain(notes));
                ModelCounts { total, is_part, ..model }
            }
            Err(why) => {
                let (active, note) = match active {
                    ActiveByHeader::Is(active) => (Some(active), (!is_alone).then_some(why)),
                    ActiveByHeader::NotSaid => (None, Some(unknown(&why))),
                    ActiveByHeader::Unknown(own) => (None, Some(unknown(&own))),
                };
                notes.extend(note);
                let is_part = is_part || tensors.is_packed();
                ModelCounts { file: name.to_owned(), total, active, counts: None, notes, is_part }
            }
        }
    }
}

fn unknown(why: &str) -> String {
    format!("the active count is unknown: {why}")
}

/// The counts of the config next to a file; none if there is none.
fn beside_config(path: &Path, name: &str) -> Option<Result<ParameterCounts, String>> {
    let config = path.with_file_name("config.json");
    let folder = name.rfind('/').map_or("", |at| &name[..=at]);
    config.exists().then(|| {
        read_config(&config, &format!("{folder}config.json"))
            .and_then(|document| recompute(&document))
            .map_err(|error| {
                let (meaning, found) = (error.code.meaning, &error.found);
                format!("the config next to the file cannot be used: {meaning}, {found}")
            })
    })
}

/// The counts of a config that describes `total` stored parameters, of which the head has `head`; with the total to report
/// and a note on it.
fn agreed(
    counts: ParameterCounts,
    total: u64,
    head: u64,
) -> Result<(ParameterCounts, u64, Option<String>), String> {
    let expected = counts.total();
    if counts.scope != CountScope::Whole {
        let why = counts.notes.last().map_or("", String::as_str);
        return Err(format!("the config next to the file cannot be compared with it: {why}"));
    }
    if counts.tied && total.saturating_sub(head) == expected {
        return Ok((counts, expected, None));
    }
    if let Some(convention) = counts.stored_as(total) {
        let is_default = convention == Convention::Default;
        let note = format!(
            "{} parameters belong to multi-token prediction layers, counted as in `{}`; the active count excludes them",
            total - expected,
            convention.name()
        );
        return Ok((counts, total, (!is_default).then_some(note)));
    }
    Err(format!("the config next to the file describes {expected} parameters, not {total}"))
}
