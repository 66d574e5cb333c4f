//! The keys of a post file in the language of claims: which there are, what each holds and what it means.
//!
//! `page_keys.json` lists them. It is what the reader of post files accepts, what the JSON Schema says to editors, and
//! what `docs/reference/formats/post.md` shows.

use std::fmt::Write;
use std::sync::OnceLock;

use repro_core::source::{Error, Node};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The lists as they are in the source tree.
const FILE: &str = include_str!("page_keys.json");

/// The schema id that a post file opens with.
pub const SCHEMA: &str = "repro.post/2";

/// By what a post may pair runs.
pub const PAIRED_BY: &str = "seed";

/// A key of a table of a post file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostKey {
    /// How it is written.
    pub name: String,
    /// Whether it must be there.
    #[serde(default)]
    pub is_required: bool,
    /// The kind of its value, in words.
    pub holds: String,
    /// The meaning of the value.
    pub meaning: String,
    /// The kind of its value, as JSON Schema.
    schema: Map<String, Value>,
}

/// A kind of table of a post file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyTable {
    /// Its name in the schema.
    pub name: String,
    /// How its head is written in a post file.
    pub head: String,
    /// Its keys, in the order of lists.
    pub keys: Vec<PostKey>,
    /// Which of them go together, as JSON Schema.
    any_of: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyLists {
    tables: Vec<KeyTable>,
    definitions: Map<String, Value>,
}

fn lists() -> &'static KeyLists {
    static LISTS: OnceLock<KeyLists> = OnceLock::new();
    // A test of this module reads the file, so that no build ships one that cannot be read.
    LISTS.get_or_init(|| serde_json::from_str(FILE).unwrap_or_default())
}

/// Every kind of table, the whole file first.
pub fn tables() -> &'static [KeyTable] {
    &lists().tables
}

/// Rejects every key that a table of this name does not have.
pub(crate) fn only(table: &str, node: Node) -> Result<(), Error> {
    let keys = tables().iter().filter(|known| known.name == table).flat_map(|table| &table.keys);
    node.only(&keys.map(|key| key.name.as_str()).collect::<Vec<_>>())
}

impl KeyTable {
    /// The keys as a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut lines = String::from("| key | holds | meaning |\n|---|---|---|\n");
        for PostKey { name, is_required, holds, meaning, .. } in &self.keys {
            let needed = if *is_required { ", **required**" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "| `{name}` | {holds}{needed} | {meaning} |");
        }
        lines
    }

    fn schema(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        for key in &self.keys {
            let mut schema = Map::from_iter([("description".to_owned(), json!(key.meaning))]);
            schema.extend(key.schema.clone());
            properties.insert(key.name.clone(), Value::Object(schema));
        }
        let required: Vec<_> =
            self.keys.iter().filter(|key| key.is_required).map(|key| &key.name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema.extend(self.any_of.clone().map(|any_of| ("anyOf".to_owned(), any_of)));
        schema
    }
}

/// The JSON Schema of post files, for editors: what the reader accepts, apart from what expressions mean.
pub fn schema() -> Value {
    let mut document = Map::new();
    document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    document.insert("$id".to_owned(), json!("urn:repro:post"));
    document.insert("title".to_owned(), json!("repro/ID.toml, a post in the language of claims"));
    let mut shared = lists().definitions.clone();
    for (at, table) in tables().iter().enumerate() {
        match at {
            0 => document.extend(table.schema()),
            _ => drop(shared.insert(table.name.clone(), Value::Object(table.schema()))),
        }
    }
    document.insert("$defs".to_owned(), Value::Object(shared));
    Value::Object(document)
}

#[cfg(test)]
mod tests {
    use repro_report::meaning::Reading;

    use super::*;

    #[test]
    fn the_lists_are_those_of_the_program() {
        let lists: KeyLists = serde_json::from_str(FILE).unwrap();
        let readings: Vec<&str> = Reading::ALL.into_iter().map(Reading::word).collect();
        let binding = &lists.definitions["binding"];
        assert_eq!(binding.pointer("/anyOf/1/properties/as/enum"), Some(&json!(readings)));
        let root = &lists.tables[0];
        let schema = |name: &str| &root.keys.iter().find(|key| key.name == name).unwrap().schema;
        assert_eq!(schema("schema")["const"], json!(SCHEMA));
        assert_eq!(schema("paired_by")["enum"], json!([PAIRED_BY]));
    }
}
