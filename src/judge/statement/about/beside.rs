//! The words right beside a number.

use std::ops::Range;

/// So many words behind a number, and before it, may say what it is.
const REACH: usize = 3;
/// Words between a number and the word for what it is.
const LINKS: &[&str] = &[
    "is",
    "was",
    "are",
    "were",
    "of",
    "at",
    "to",
    "a",
    "an",
    "the",
    "about",
    "only",
    "just",
    "roughly",
    "exactly",
    "nearly",
    "almost",
    "around",
    "approximately",
    "equals",
    "=",
    "has",
    "have",
    "by",
];
/// Words behind which something else is said.
const ENDS: &[&str] = &[
    "per", "of", "at", "in", "for", "and", "or", "with", "on", "over", "after", "from", "to", "by",
    "than", "while", "but", "when", "which", "that", "is", "are", "was", "were", "as", "against",
    "each", "every", "before", "until", "within", "under", "vs", "versus", "times",
];

/// Words before a noun that is no subject.
const CONDITIONS: &[&str] =
    &["at", "under", "with", "for", "over", "on", "after", "given", "per", "by", "in", "across"];

/// The words right beside a number, in lower case and the order of the text.
#[derive(Debug)]
pub struct Beside {
    /// Before it, without the words that link them to it.
    pub before: Vec<String>,
    /// The words that link them to it, the nearest first.
    pub links: Vec<String>,
    /// Behind it, up to where something else is said.
    pub behind: Vec<String>,
    /// What it is said to be: "8 are active".
    pub predicate: Option<String>,
}

impl Beside {
    /// The words of the clause around a number of a quote.
    pub fn of(quote: &str, number: &Range<usize>) -> Option<Self> {
        let (before, behind) = (quote.get(..number.start)?, quote.get(number.end..)?);
        let parts = |c: char| ",;()[]|\n".contains(c);
        let before = before.rsplit(parts).next().unwrap_or_default().to_lowercase();
        let behind = behind.split(parts).next().unwrap_or_default().to_lowercase();
        let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        let trim =
            |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '=').to_owned();
        let mut next = behind.split_whitespace();
        let predicate = matches!(next.next(), Some("are" | "is")).then(|| next.next()).flatten();
        let ends = |word: &&str| !has_digit(word) && !is_end(word);
        let own: Vec<_> =
            behind.split_whitespace().take(REACH).take_while(ends).map(trim).collect();
        let mut nearest: Vec<_> =
            before.split_whitespace().rev().take_while(|word| !has_digit(word)).map(trim).collect();
        let is_link = |word: &&String| LINKS.contains(&word.as_str());
        let linked = nearest.iter().take_while(is_link).count();
        let links = nearest.drain(..linked).collect::<Vec<_>>();
        // What stands behind "per" is no more than a unit of it: "experts per token: 2".
        if let Some(at) = nearest.iter().position(|word| word == "per") {
            nearest.drain(..=at);
        }
        // The first words behind another number are what that one counts: "after 242 steps: 2.11".
        if before.contains(|c: char| c.is_ascii_digit()) && nearest.len() <= REACH {
            nearest.clear();
        }
        nearest.reverse();
        Some(Self { before: nearest, links, behind: own, predicate: predicate.map(trim) })
    }

    /// The last words before the number.
    pub fn last(&self, count: usize) -> &[String] {
        &self.before[self.before.len().saturating_sub(count)..]
    }

    /// Whether the last words before it name a condition, and not the number: "at equal steps: 1.70".
    pub fn is_condition(&self) -> bool {
        let ahead = self.last(REACH + 2).split_last().map_or(&[][..], |(_, ahead)| ahead);
        ahead.iter().any(|word| CONDITIONS.contains(&word.as_str()))
    }

    /// The words near it on both sides.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let words = self.last(1).iter().chain(&self.links).chain(&self.behind);
        words.chain(&self.predicate).map(String::as_str)
    }
}

/// Whether a word begins something else than what a number counts.
pub fn is_end(word: &str) -> bool {
    ENDS.contains(&word)
}
