//! The words and characters that texts are parsed with: named lists from a TOML file.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// The vocabulary of this crate.
const FILE: &str = include_str!("vocabulary.toml");

/// Lists of words, and mappings of words, by table and name: `html.blocks`.
#[derive(Debug, Default, Deserialize)]
pub struct WordLists(BTreeMap<String, BTreeMap<String, Entry>>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    Word(String),
    List(Vec<String>),
}

/// The words of this crate.
pub(crate) fn words() -> &'static WordLists {
    static WORDS: OnceLock<WordLists> = OnceLock::new();
    // A test of this module reads the file, so that no build ships one that cannot be read.
    WORDS.get_or_init(|| toml_edit::de::from_str(FILE).unwrap_or_default())
}

impl WordLists {
    fn table(&self, name: &str) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.get(name).into_iter().flatten().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The words of a list.
    pub fn list(&self, name: &str) -> &[String] {
        let entry = name.split_once('.').and_then(|(table, own)| self.0.get(table)?.get(own));
        entry.and_then(Entry::list).unwrap_or_default()
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
        self.table(table).filter_map(|(name, entry)| Some((name, entry.list()?)))
    }

    /// The words of a table with their mapped values.
    pub fn pairs(&self, table: &str) -> impl Iterator<Item = (&str, &str)> {
        self.table(table).filter_map(|(word, entry)| Some((word, entry.word()?)))
    }

    /// The mapped value of a word in a table.
    pub fn pair(&self, table: &str, word: &str) -> Option<&str> {
        self.0.get(table)?.get(word)?.word()
    }

    /// The word of a list that a text begins with.
    pub(crate) fn start_of(&self, list: &str, text: &str) -> Option<&str> {
        let start = self.list(list).iter().find(|word| text.starts_with(word.as_str()));
        start.map(String::as_str)
    }

    /// The text after the word of a list that it starts with.
    pub(crate) fn behind<'t>(&self, list: &str, text: &'t str) -> Option<&'t str> {
        self.list(list).iter().find_map(|word| text.strip_prefix(word.as_str()))
    }

    /// The word of a list that a text ends with.
    pub(crate) fn end_of(&self, list: &str, text: &str) -> Option<&str> {
        let end = self.list(list).iter().find(|word| text.ends_with(word.as_str()));
        end.map(String::as_str)
    }
}

impl Entry {
    fn list(&self) -> Option<&[String]> {
        match self {
            Self::List(list) => Some(list),
            Self::Word(_) => None,
        }
    }

    fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::List(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let words: WordLists = toml_edit::de::from_str(FILE).unwrap();
        let mut entries = words.0.values().flat_map(BTreeMap::values);
        assert!(entries.all(|entry| entry.list().is_none_or(|list| !list.is_empty())));
        assert_eq!(words.pair("entity", "minus"), Some("−"));
        assert_eq!(words.lists("suffix").count(), 13);
    }
}
