//! Sentences of a post file.

use repro_bundle::bundle::record::field;
use repro_claim::Expression;
use repro_core::source::{Error, Node, codes};

use super::placed::{Binding, PlacedExpression, word_of};
use crate::page_keys;
use crate::post::{self};
use crate::work::MOST_QUOTED;

codes! {
    LONG_QUOTE = "post::long-quote", "the quote is too long", "quote the sentences one by one";
    NOTHING_SAID = "post::unbound-sentence", "a sentence has no binding, or has both a binding and `missing`", "add `is` (one expression per number) or `says` (a relation), or describe the missing evidence in `missing`";
}

/// The kind of a sentence: only a sentence that asserts a fact can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    /// It states a fact.
    #[default]
    Fact,
    /// It says what should be.
    Norm,
    /// It says what a word means.
    Definition,
}

/// A sentence of the text and what it says.
#[derive(Debug, Clone, Default)]
pub struct Sentence {
    /// Its words.
    pub quote: String,
    /// One binding for each number of the quote, in order.
    pub is: Vec<Binding>,
    /// Relations that must all hold.
    pub says: Vec<PlacedExpression>,
    /// Relations of which the sentence may mean any.
    pub may_mean: Vec<PlacedExpression>,
    /// Values that reports show beside those of its claims.
    pub beside: Vec<PlacedExpression>,
    /// The unpublished evidence that would decide it.
    pub missing: Option<String>,
    /// Whether it states a fact.
    pub mood: Mood,
}

impl Sentence {
    /// Words that state a fact, with nothing bound to them.
    pub fn of_words(words: &str) -> Self {
        Self { quote: words.to_owned(), ..Self::default() }
    }

    /// The relations that it states.
    pub fn relations(&self) -> impl Iterator<Item = &Expression> {
        self.says.iter().chain(&self.may_mean).map(|expression| &expression.tree)
    }
}

pub(super) fn read_sentence(node: Node) -> Result<Sentence, Error> {
    page_keys::only("sentence", node)?;
    let expressions = |key: &str| node.get(key).map_or(Ok(Vec::new()), PlacedExpression::read_all);
    let moods = [("fact", Mood::Fact), ("norm", Mood::Norm), ("definition", Mood::Definition)];
    let mood = word_of(node, "asserts", &moods, &post::BAD_MOOD)?;
    let quote = node.required("quote")?;
    let length = quote.text()?.chars().count();
    if length > MOST_QUOTED {
        let expected = format!("at most {MOST_QUOTED} characters");
        return Err(LONG_QUOTE.at(quote.place(), expected, format!("{length} characters")));
    }
    let sentence = Sentence {
        quote: quote.text()?.to_owned(),
        is: node.get("is").map(Binding::read_all).transpose()?.unwrap_or_default(),
        says: expressions("says")?,
        may_mean: expressions("may_mean")?,
        beside: expressions("beside")?,
        missing: field(node, "missing")?,
        mood: mood.unwrap_or_default(),
    };
    let is_said = !sentence.is.is_empty() || sentence.relations().next().is_some();
    if is_said == sentence.missing.is_some() {
        let found = if is_said { "both" } else { "none of them" };
        return Err(NOTHING_SAID.at(
            quote.place(),
            "`is`, `says` or `may_mean`; otherwise `missing`",
            found,
        ));
    }
    Ok(sentence)
}
