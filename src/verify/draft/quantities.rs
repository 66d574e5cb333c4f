//! The words for quantities, for what they are measured on, and for which way they differ.

use crate::lexicon::lexicon;

/// The words of a list of this crate, which the lexicon holds.
pub fn words_of_list(name: &str) -> &'static [String] {
    lexicon().words(&format!("draft.{name}"))
}

/// Whether a list of this crate has a word.
pub fn is_in(list: &str, word: &str) -> bool {
    words_of_list(list).iter().any(|known| known == word)
}

/// A quantity of which a number is one alone, by its words.
struct NamedQuantity {
    words: &'static [String],
    lower_is_better: bool,
}

fn named_quantities() -> impl Iterator<Item = NamedQuantity> {
    let of = |table, lower_is_better| {
        lexicon().lists(table).map(move |words| NamedQuantity { words, lower_is_better })
    };
    of("draft_falling", true).chain(of("draft_rising", false))
}

/// The quantities that words name. A standard error is none.
pub fn quantities(words: &[String]) -> Vec<usize> {
    let is_standard = has_one(words_of_list("standard"), words);
    let words: Vec<String> =
        words.iter().filter(|word| !is_standard || word.as_str() != "error").cloned().collect();
    let all = named_quantities().enumerate();
    all.filter(|(_, one)| has_one(one.words, &words)).map(|(at, _)| at).collect()
}

pub fn has_one(wanted: &[impl AsRef<str>], words: &[String]) -> bool {
    words.iter().any(|word| wanted.iter().any(|known| known.as_ref() == word))
}

/// Whether words say that the arm that is named first has the higher value of a quantity; none if they do not say which one is better.
pub fn is_won_by_the_higher(quantities: &[usize], words: &[String]) -> Option<bool> {
    let lower_is_better = match *quantities {
        [one] => named_quantities().nth(one)?.lower_is_better,
        _ => return None,
    };
    let has = |list: &str| has_one(words_of_list(list), words);
    match (has("wins"), has("worse"), has("turns")) {
        (true, false, false) => Some(!lower_is_better),
        (false, true, false) => Some(lower_is_better),
        _ => None,
    }
}

/// The part of the log that a number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedPart {
    Training,
    Validation,
    Test,
}

impl LoggedPart {
    /// The one that words name; none if they name several.
    pub fn of(words: &[String]) -> Option<Self> {
        let parts = [
            (Self::Training, "draft_part.training"),
            (Self::Validation, "draft_part.validation"),
            (Self::Test, "draft_part.test"),
        ];
        let named = parts.into_iter().filter(|(_, list)| has_one(lexicon().words(list), words));
        let mut named = named.map(|(part, _)| part);
        let first = named.next();
        // A Welch test is no set.
        let is_of_statistics = has_one(words_of_list("of_statistics"), words);
        let first = first.filter(|part| *part != Self::Test || !is_of_statistics);
        first.filter(|_| named.next().is_none())
    }
}
