//! Words and signs that texts are read by: lists by name, as they stand in a file of TOML.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The words of this crate as they stand in the source tree.
const FILE: &str = include_str!("vocabulary.toml");

/// Lists of words, and words that stand for others, by the name of their table and their own: `html.blocks`.
#[derive(Debug, Default)]
pub struct WordLists {
    lists: BTreeMap<String, Vec<String>>,
    pairs: BTreeMap<String, String>,
}

/// The words of this crate.
pub(crate) fn words() -> &'static WordLists {
    static WORDS: OnceLock<WordLists> = OnceLock::new();
    // A test of this module reads the file, so that no build ships one that cannot be read.
    WORDS.get_or_init(|| WordLists::parse(FILE).unwrap_or_default())
}

impl WordLists {
    /// Reads the tables of a file; of a table, what is neither a word nor a list of words is left out. None where the
    /// file is no TOML.
    pub fn parse(text: &str) -> Option<Self> {
        let document = toml_edit::Document::parse(text).ok()?;
        let mut words = Self::default();
        for (table, members) in document.as_table() {
            let members = members.as_table().into_iter().flatten();
            for (name, value) in members {
                let name = format!("{table}.{name}");
                if let Some(word) = value.as_str() {
                    words.pairs.insert(name, word.to_owned());
                } else if let Some(list) = value.as_array() {
                    let list = list.iter().filter_map(|word| word.as_str().map(str::to_owned));
                    words.lists.insert(name, list.collect());
                }
            }
        }
        Some(words)
    }

    /// The words of a list.
    pub fn list(&self, name: &str) -> &[String] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a word is one of a list.
    pub fn is_in(&self, list: &str, word: &str) -> bool {
        self.position(list, word).is_some()
    }

    /// The place of a word in a list.
    pub fn position(&self, list: &str, word: &str) -> Option<usize> {
        self.list(list).iter().position(|known| known == word)
    }

    /// The lists of a table by their names.
    pub fn lists(&self, table: &str) -> impl Iterator<Item = (&str, &[String])> {
        of_table(&self.lists, table).map(|(name, list)| (name, list.as_slice()))
    }

    /// The words of a table, and what they stand for.
    pub fn pairs(&self, table: &str) -> impl Iterator<Item = (&str, &str)> {
        of_table(&self.pairs, table).map(|(word, other)| (word, other.as_str()))
    }

    /// What a word of a table stands for.
    pub fn pair(&self, table: &str, word: &str) -> Option<&str> {
        self.pairs.get(&format!("{table}.{word}")).map(String::as_str)
    }

    /// The word of a list that a text begins with.
    pub(crate) fn start_of(&self, list: &str, text: &str) -> Option<&str> {
        let start = self.list(list).iter().find(|word| text.starts_with(word.as_str()));
        start.map(String::as_str)
    }

    /// What stands behind the word of a list that a text begins with.
    pub(crate) fn behind<'t>(&self, list: &str, text: &'t str) -> Option<&'t str> {
        self.list(list).iter().find_map(|word| text.strip_prefix(word.as_str()))
    }

    /// The word of a list that a text ends with.
    pub(crate) fn end_of(&self, list: &str, text: &str) -> Option<&str> {
        let end = self.list(list).iter().find(|word| text.ends_with(word.as_str()));
        end.map(String::as_str)
    }
}

/// What a table holds, by the names behind the dot.
fn of_table<'m, T>(
    map: &'m BTreeMap<String, T>,
    table: &str,
) -> impl Iterator<Item = (&'m str, &'m T)> {
    let before = format!("{table}.");
    let behind = map.range(before.clone()..);
    behind.map_while(move |(name, value)| Some((name.strip_prefix(&before)?, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let document = toml_edit::Document::parse(FILE).unwrap();
        let tables = document.as_table().iter().map(|(_, table)| table.as_table().unwrap());
        let members: usize = tables.map(toml_edit::Table::len).sum();
        let words = words();
        assert_eq!(words.lists.len() + words.pairs.len(), members);
        assert!(words.lists.values().all(|list| !list.is_empty()));
        assert_eq!(words.pair("entity", "minus"), Some("−"));
        assert_eq!(words.lists("suffix").count(), 13);
    }
}
