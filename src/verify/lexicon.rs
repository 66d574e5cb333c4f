//! The words that readings and lints know: `lexicon.toml`, read once.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memchr_iter;
use repro_claim::words::WordLists;
use repro_report::meaning::Reading;
use serde::{Deserialize, Deserializer};

/// The lexicon as it is in the source tree.
const FILE: &str = include_str!("lexicon.toml");

/// The words of the program.
#[derive(Debug, Default, Deserialize)]
pub struct Vocabulary {
    /// Tokens next to a number, by the reading that they give it.
    #[serde(rename = "reading")]
    pub readings: Vec<ReadingTokens>,
    /// Quantities, by the words and the fields that stand for them.
    #[serde(rename = "quantity")]
    pub quantities: Vec<LexiconTerm>,
    /// Units of losses.
    #[serde(rename = "unit")]
    pub units: Vec<LexiconTerm>,
    /// Statistics, by their words and functions.
    #[serde(rename = "statistic")]
    pub statistics: Vec<LexiconTerm>,
    /// Names of tests.
    #[serde(rename = "test")]
    pub tests: Vec<LexiconTerm>,
    /// Kinds of intervals.
    #[serde(rename = "interval")]
    pub intervals: Vec<LexiconTerm>,
    /// Lists of words by name, from everything that is not a list of tables.
    #[serde(flatten)]
    lists: WordLists,
}

/// Tokens that give the number next to them a reading.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingTokens {
    /// The reading.
    pub reading: Reading,
    /// Tokens directly before the number.
    #[serde(rename = "pre", default)]
    pub before: Vec<String>,
    /// Tokens directly behind it.
    #[serde(rename = "post", default)]
    pub behind: Vec<String>,
    #[serde(default)]
    guard: Vec<String>,
}

/// A name of the lexicon with its words and what gives it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LexiconTerm {
    /// The name.
    pub name: String,
    /// The words for it, in lower case.
    #[serde(deserialize_with = "in_lower_case")]
    pub words: Vec<String>,
    /// The fields or functions that give it; a function ends with `()` among fields.
    #[serde(alias = "fields", alias = "functions", default)]
    pub given_by: Vec<String>,
    /// Names of wider terms whose words it may have.
    #[serde(default)]
    pub of: Vec<String>,
    /// Words that tell it from the other parts of a wider term.
    #[serde(default)]
    pub shares: Vec<String>,
    /// Whether higher values are better; none if neither side is.
    #[serde(rename = "better", deserialize_with = "is_higher", default)]
    pub higher_is_better: Option<bool>,
    /// Whether it is a spread, as a number behind ± is.
    #[serde(rename = "spread", default)]
    pub is_spread: bool,
    /// Whether it is one of several values.
    #[serde(default)]
    pub selects: bool,
    /// Of a test: whether it pairs runs.
    #[serde(rename = "paired")]
    pub is_paired: Option<bool>,
}

fn in_lower_case<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    Ok(words.into_iter().map(|word| word.to_lowercase()).collect())
}

fn is_higher<'d, D: Deserializer<'d>>(from: D) -> Result<Option<bool>, D::Error> {
    Ok(Some(String::deserialize(from)? == "higher"))
}

/// The lexicon.
pub fn lexicon() -> &'static Vocabulary {
    static LEXICON: OnceLock<Vocabulary> = OnceLock::new();
    // A test of this module reads the file, so that no build ships one that cannot be read.
    LEXICON.get_or_init(|| toml_edit::de::from_str(FILE).unwrap_or_default())
}

impl Vocabulary {
    /// The words of a list, `direction.up`.
    pub fn words(&self, list: &str) -> &[String] {
        self.lists.list(list)
    }

    /// Whether a word is one of a list.
    pub fn is_in(&self, list: &str, word: &str) -> bool {
        self.lists.is_in(list, word)
    }

    /// The lists of a table.
    pub fn lists(&self, table: &str) -> impl Iterator<Item = &[String]> {
        self.lists.lists(table).map(|(_, words)| words)
    }

    /// The lists of a table with their names.
    pub fn named_lists(&self, table: &str) -> impl Iterator<Item = (&str, &[String])> {
        self.lists.lists(table)
    }

    /// The first word of a list that is in a text, and its place. The text is in lower case.
    pub fn find(&self, list: &str, text: &str) -> Option<(&str, Range<usize>)> {
        let placed =
            self.words(list).iter().filter_map(|word| Some((word.as_str(), place_of(text, word)?)));
        placed.min_by_key(|(word, place)| (place.start, std::cmp::Reverse(word.len())))
    }

    /// Whether a text in lower case has a word of a list.
    pub fn has(&self, list: &str, text: &str) -> bool {
        self.words(list).iter().any(|word| place_of(text, word).is_some())
    }

    /// Whether a text in lower case has a word of one of several lists.
    pub fn has_any(&self, lists: &[impl AsRef<str>], text: &str) -> bool {
        lists.iter().any(|list| self.has(list.as_ref(), text))
    }

    /// The limit that a number behind a text in lower case is, by the longest word for one that the text ends with.
    pub fn limit_behind(&self, text: &str) -> Option<(Reading, &str)> {
        let limits = self.readings.iter().filter(|one| one.reading.is_limit());
        let words = limits.flat_map(|one| one.before.iter().map(|word| (one.reading, &**word)));
        let is_last = |word: &str| places_of(text, word).any(|place| place.end == text.len());
        words.filter(|(_, word)| is_last(word)).max_by_key(|(_, word)| word.len())
    }

    /// The quantity that a field, or a function with `()` behind it, gives.
    pub fn quantity_of_field(&self, field: &str) -> Option<&LexiconTerm> {
        self.quantities.iter().find(|term| term.given_by.iter().any(|own| own == field))
    }

    /// The statistic that a function gives.
    pub fn statistic_of_function(&self, function: &str) -> Option<&LexiconTerm> {
        self.statistics.iter().find(|term| term.given_by.iter().any(|own| own == function))
    }
}

impl LexiconTerm {
    /// Where a word for it is in a text in lower case: the first and longest.
    pub fn place_in(&self, text: &str) -> Option<Range<usize>> {
        let places = self.words.iter().filter_map(|word| place_of(text, word));
        places.min_by_key(|place| (place.start, std::cmp::Reverse(place.len())))
    }

    /// Whether its words may be used where the other one is meant.
    pub fn covers(&self, other: &Self) -> bool {
        self.name == other.name || other.of.contains(&self.name) || self.of.contains(&other.name)
    }
}

impl ReadingTokens {
    /// Whether something keeps a number from this reading: settings (`limit`), numbers of seeds and the like (`span`), a metric whose
    /// lower values are better (`better`).
    pub fn guards(&self, what: &str) -> bool {
        self.guard.iter().any(|guard| guard == what)
    }
}

/// The words of a text without signs.
pub fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Where a word or phrase stands first in a text, as words of their own. Both are in lower case.
pub fn place_of(text: &str, word: &str) -> Option<Range<usize>> {
    places_of(text, word).next()
}

/// Every place of a word or phrase in a text, as words of their own. Both are in lower case.
pub fn places_of<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let opens = word.starts_with(is_part);
    let closes = word.ends_with(is_part);
    // Most words are in none of the short texts: a look for the first byte costs less than the start of a search.
    let starts = word.as_bytes().first().map(|first| memchr_iter(*first, text.as_bytes()));
    let found = starts.into_iter().flatten().map(|at| at..at + word.len());
    let found = found.filter(|place| text.as_bytes().get(place.clone()) == Some(word.as_bytes()));
    found.filter(move |place| {
        let continues_before = opens && text[..place.start].ends_with(is_part);
        let continues_behind = closes && text[place.end..].starts_with(is_part);
        !continues_before && !continues_behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let lexicon = toml_edit::de::from_str::<Vocabulary>(FILE).unwrap();
        assert!(lexicon.readings.len() >= 7 && lexicon.quantities.len() > 20);
        for list in [
            "guard.span",
            "nominal.words",
            "binary.fields",
            "direction.up",
            "direction.denies",
            "split.training",
            "step.last",
            "selection.words",
            "arm.dense",
            "count.every",
            "significance.words",
            "degree.words",
        ] {
            assert!(!lexicon.words(list).is_empty(), "{list}");
        }
    }

    #[test]
    fn words_are_found_as_words_of_their_own() {
        assert_eq!(place_of("the loss is lower", "loss"), Some(4..8));
        assert_eq!(place_of("lossless", "loss"), None);
        assert_eq!(place_of("at ≥ 5", "≥"), Some(3..6));
    }
}
