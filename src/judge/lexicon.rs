//! The words that readings and lints know: `lexicon.toml`, read once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use repro_receipt::source::{Document, Error, Node, Source};
use repro_report::meaning::Reading;

/// The lexicon as it stands in the source tree.
const FILE: &str = include_str!("lexicon.toml");

/// The words of the program.
#[derive(Debug, Default)]
pub struct Vocabulary {
    /// Tokens beside a number, by the reading that they give it.
    pub readings: Vec<ReadingTokens>,
    /// Quantities, by the words and the fields that stand for them.
    pub quantities: Vec<LexiconTerm>,
    /// Units of losses.
    pub units: Vec<LexiconTerm>,
    /// Statistics, by their words and functions.
    pub statistics: Vec<LexiconTerm>,
    /// Names of tests.
    pub tests: Vec<LexiconTerm>,
    lists: HashMap<String, Vec<String>>,
}

/// Tokens that give the number beside them a reading.
#[derive(Debug)]
pub struct ReadingTokens {
    /// The reading.
    pub reading: Reading,
    /// Tokens directly before the number.
    pub before: Vec<String>,
    /// Tokens directly behind it.
    pub behind: Vec<String>,
    /// Whether settings and constants keep a reading of their own.
    pub guards_settings: bool,
    /// Whether the better side of the metric decides between at least and at most.
    pub goes_by_polarity: bool,
    /// Whether a number of seeds, steps and the like keeps a reading of its own.
    pub guards_spans: bool,
}

/// A name of the lexicon with its words and what gives it.
#[derive(Debug)]
pub struct LexiconTerm {
    /// The name.
    pub name: String,
    /// The words for it.
    pub words: Vec<String>,
    /// The fields or functions that give it; a function ends with `()` among fields.
    pub given_by: Vec<String>,
    /// Names of wider terms whose words it may have.
    pub of: Vec<String>,
    /// Words that tell it from the other parts of a wider term.
    pub shares: Vec<String>,
    /// Whether higher values are better; none where neither side is.
    pub higher_is_better: Option<bool>,
    /// Whether it is a spread, as a number behind ± is.
    pub is_spread: bool,
    /// Whether it is one of several values.
    pub selects: bool,
    /// Of a test: whether it pairs runs.
    pub is_paired: Option<bool>,
}

/// The lexicon.
pub fn lexicon() -> &'static Vocabulary {
    static LEXICON: OnceLock<Vocabulary> = OnceLock::new();
    // A test of this module reads the file, so that no build ships one that cannot be read.
    LEXICON.get_or_init(|| Vocabulary::parse(FILE).unwrap_or_default())
}

impl Vocabulary {
    fn parse(text: &str) -> Result<Self, Error> {
        let document =
            Document::parse_toml(Source::new("lexicon.toml", text.as_bytes().to_vec())?)?;
        let root = document.root();
        let mut lexicon = Self {
            readings: each(root, "reading")?.map(ReadingTokens::read).collect::<Result<_, _>>()?,
            quantities: terms(root, "quantity", "fields")?,
            units: terms(root, "unit", "fields")?,
            statistics: terms(root, "statistic", "functions")?,
            tests: terms(root, "test", "functions")?,
            lists: HashMap::new(),
        };
        for (table, node) in root.members()? {
            // What is no list of tables holds lists of words by name.
            let Ok(members) = node.members() else { continue };
            for (name, words) in members {
                lexicon.lists.insert(format!("{table}.{name}"), words_of(words)?);
            }
        }
        Ok(lexicon)
    }

    /// The words of a list, `direction.up`.
    pub fn words(&self, list: &str) -> &[String] {
        self.lists.get(list).map_or(&[], Vec::as_slice)
    }

    /// Whether a word is one of a list.
    pub fn is_in(&self, list: &str, word: &str) -> bool {
        self.words(list).iter().any(|one| one == word)
    }

    /// The first word of a list that stands in a text, and its place. The text is in lower case.
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

    /// Whether a text in lower case ends with a word that makes a number behind it a limit.
    pub fn opens_limit(&self, text: &str) -> bool {
        let limits = self.readings.iter().filter(|one| one.reading.is_limit());
        limits.flat_map(|one| &one.before).any(|word| text.ends_with(word.as_str()))
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
    /// Where a word for it stands in a text in lower case: the first and longest.
    pub fn place_in(&self, text: &str) -> Option<Range<usize>> {
        let places = self.words.iter().filter_map(|word| place_of(text, &word.to_lowercase()));
        places.min_by_key(|place| (place.start, std::cmp::Reverse(place.len())))
    }

    /// Whether its words may be used where the other one is meant.
    pub fn covers(&self, other: &Self) -> bool {
        self.name == other.name || other.of.contains(&self.name) || self.of.contains(&other.name)
    }
}

impl ReadingTokens {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.only(&["reading", "pre", "post", "guard"])?;
        let word = node.required("reading")?.text()?;
        let reading = Reading::of_word(word).unwrap_or(Reading::Rounded);
        let guards = optional_words(node, "guard")?;
        Ok(Self {
            reading,
            before: optional_words(node, "pre")?,
            behind: optional_words(node, "post")?,
            guards_settings: guards.iter().any(|guard| guard == "limit"),
            goes_by_polarity: guards.iter().any(|guard| guard == "better"),
            guards_spans: guards.iter().any(|guard| guard == "span"),
        })
    }
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
    let found = text.match_indices(word).map(|(at, _)| at..at + word.len());
    found.filter(move |place| {
        let continues_before = opens && text[..place.start].ends_with(is_part);
        let continues_behind = closes && text[place.end..].starts_with(is_part);
        !continues_before && !continues_behind
    })
}

fn each<'a>(root: Node<'a>, key: &str) -> Result<impl Iterator<Item = Node<'a>> + use<'a>, Error> {
    Ok(root.get(key).map(Node::items).transpose()?.into_iter().flatten())
}

fn terms(root: Node<'_>, key: &str, given_by: &str) -> Result<Vec<LexiconTerm>, Error> {
    let term = |node: Node<'_>| {
        node.only(&[
            "name", "words", given_by, "of", "shares", "better", "spread", "selects", "paired",
        ])?;
        let truth = |key: &str| node.get(key).map(Node::truth).transpose();
        let better = node.get("better").map(Node::text).transpose()?;
        Ok(LexiconTerm {
            name: node.required("name")?.text()?.to_owned(),
            words: words_of(node.required("words")?)?,
            given_by: optional_words(node, given_by)?,
            of: optional_words(node, "of")?,
            shares: optional_words(node, "shares")?,
            higher_is_better: better.map(|side| side == "higher"),
            is_spread: truth("spread")?.unwrap_or(false),
            selects: truth("selects")?.unwrap_or(false),
            is_paired: truth("paired")?,
        })
    };
    each(root, key)?.map(term).collect()
}

fn optional_words(node: Node<'_>, key: &str) -> Result<Vec<String>, Error> {
    node.get(key).map_or(Ok(Vec::new()), words_of)
}

fn words_of(node: Node<'_>) -> Result<Vec<String>, Error> {
    node.items()?.map(|word| Ok(word.text()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let lexicon = Vocabulary::parse(FILE).unwrap();
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
    fn every_reading_of_the_file_is_one_that_posts_can_declare() {
        let document = Source::new("lexicon.toml", FILE.as_bytes().to_vec()).unwrap();
        let document = Document::parse_toml(document).unwrap();
        for node in document.root().at("/reading").unwrap().items().unwrap() {
            let word = node.get("reading").unwrap().text().unwrap();
            assert!(Reading::of_word(word).is_some(), "{word}");
        }
    }

    #[test]
    fn words_are_found_as_words_of_their_own() {
        assert_eq!(place_of("the loss is lower", "loss"), Some(4..8));
        assert_eq!(place_of("lossless", "loss"), None);
        assert_eq!(place_of("at ≥ 5", "≥"), Some(3..6));
    }
}
