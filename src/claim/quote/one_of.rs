//! The number of which "one" is taken: "one item in four", "one seed of six", "one right answer out of four".
//!
//! "One" is no number by itself, so what the evidence gives may be the share, or the one, as well as the number.

use super::words::said;
use super::{Hedge, before, clauses::without_marks};

/// The most words between "one" and what it is taken out of: "one right answer out of four".
const MOST_WORDS: usize = 3;
/// Words between "of" and the number: "one of the six", "one item in every four".
const ARTICLES: &[&str] = &["all", "every", "our", "the", "these", "those"];
/// Words before a "one" that is a pronoun: "the last one trained in four hours".
const LEADS_A_PRONOUN: &[&str] = &[
    "a", "an", "another", "any", "each", "every", "first", "last", "next", "other", "that", "the",
    "this", "which",
];

/// How one is taken out of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is one of so many, which may also be what it consists of: "one seed of six", "one run of 1209 steps".
    OneOf,
    /// It is a share: "one item in four".
    Share,
}

/// Whether the words before a number take one out of it.
pub(super) fn taken(text: &str, at: usize) -> Option<Taken> {
    let near = without_marks(before(text, at));
    let mut words = Words { rest: near };
    let mut joint = words.back()?.to_ascii_lowercase();
    if ARTICLES.contains(&joint.as_str()) {
        joint = words.back()?.to_ascii_lowercase();
    }
    let is_share = match joint.as_str() {
        "in" => true,
        "of" => words.takes("out"),
        _ => return None,
    };
    for _ in 0..=MOST_WORDS {
        let word = words.back()?;
        if matches!(word.to_ascii_lowercase().as_str(), "one" | "1") {
            let is_plain = matches!(said(words.rest, ""), (None | Some(Hedge::About), None));
            let taken = if is_share && is_plain { Taken::Share } else { Taken::OneOf };
            return (!words.lead_a_pronoun()).then_some(taken);
        }
        if word.ends_with(|c: char| !c.is_alphanumeric()) {
            return None;
        }
    }
    None
}

/// The words of a text from its end.
struct Words<'t> {
    rest: &'t str,
}

impl<'t> Words<'t> {
    fn back(&mut self) -> Option<&'t str> {
        let text = self.rest.trim_end();
        let start = text
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + text[space..].chars().next().map_or(0, char::len_utf8));
        self.rest = &text[..start];
        let word = text[start..].trim_start_matches(|c: char| !c.is_alphanumeric());
        (!word.is_empty()).then_some(word)
    }

    /// Goes on before a word, if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        let mut ahead = Words { rest: self.rest };
        let is_it = ahead.back().is_some_and(|found| found.eq_ignore_ascii_case(word));
        if is_it {
            self.rest = ahead.rest;
        }
        is_it
    }

    /// Whether "one" behind these words stands for a thing: "this one", "the sparse one".
    fn lead_a_pronoun(&self) -> bool {
        let mut ahead = Words { rest: self.rest };
        let mut word = || ahead.back().unwrap_or_default().to_ascii_lowercase();
        LEADS_A_PRONOUN.contains(&word().as_str()) || matches!(word().as_str(), "the" | "this")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Doubt, ItemKind, items};

    #[test]
    fn one_is_taken_out_of_the_number_behind_it() {
        for (text, share) in [
            ("One item in four is right", true),
            ("Chance gives one right answer out of four.", true),
            ("about one token in every 5", true),
            ("At least one item in four is right", false),
            ("One seed of six is worse", false),
            ("one of the six seeds", false),
            ("One epoch of 1,209 steps", false),
        ] {
            let item = &items(text)[0];
            assert_eq!(item.doubt, Some(Doubt::OneOf), "{text}");
            assert_eq!(item.other.is_some(), share, "{text}");
            let ItemKind::Number(number) = &item.kind else { panic!("{item:?}") };
            assert!(number.is_integer_text(), "{text}");
        }
    }

    #[test]
    fn another_one_takes_nothing() {
        for text in [
            "The last one trained in four hours",
            "the sparse one stops in 4 days",
            "This is one. Runs of 6 seeds",
            "Someone sees the loss of 6 seeds",
            "one mean loss on the validation slice of 6 files",
            "two of six seeds",
        ] {
            let items = items(text);
            assert_ne!(items.last().unwrap().doubt, Some(Doubt::OneOf), "{text}");
        }
    }
}
