//! What a card says of the size of its model, held against every way of counting.
//!
//! A size that fits none is told and refutes nothing: a card speaks of other models too, and labels are not counts.

use repro_receipt::source::Source;
use repro_relation::{PrintedRange, RelationNumber, Term};

use super::CARD;
use crate::stated::StatedRow;
use crate::words;

/// So many statements of a card are told.
const SAID: usize = 12;

/// The sizes of a model by every way of counting that is known, the usual one first.
#[derive(Debug, Default)]
pub struct CountedWays(Vec<CountedWay>);

/// The sizes by one way of counting.
#[derive(Debug)]
struct CountedWay {
    name: String,
    total: u64,
    /// What one token touches, where that is less.
    active: Option<u64>,
}

impl CountedWays {
    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what one way gives.
    pub fn add(&mut self, name: &str, total: u64, active: Option<u64>) {
        let active = active.filter(|active| *active != total);
        self.0.push(CountedWay { name: name.to_owned(), total, active });
    }

    /// The ways that give a size.
    fn of(&self, size: &PrintedRange) -> Vec<String> {
        let [low, high] = size.ends();
        let fits = |count: &u64| (low..=high).contains(&(*count as f64));
        let fitting = self.0.iter().flat_map(|CountedWay { name, total, active }| {
            let total = fits(total).then(|| format!("total ({name})"));
            let active = active.filter(fits).map(|_| format!("active ({name})"));
            total.into_iter().chain(active)
        });
        fitting.collect()
    }
}

/// What a card says of parameters, each with the ways of counting that it fits, and of tokens, each with how many these are
/// for a parameter.
pub fn said(card: &Source, ways: &CountedWays) -> Vec<StatedRow> {
    let mut rows: Vec<StatedRow> = Vec::new();
    for (at, text) in card.text().lines().enumerate() {
        let lower = text.to_lowercase();
        if lower.contains("http") && lower.starts_with('[') {
            continue;
        }
        for (size, words) in words::parameters(text) {
            let behind = lower.split_once(&words.to_lowercase()).map_or("", |(_, behind)| behind);
            // The columns of a table are of many models.
            let is_table = text.trim_start().starts_with('|');
            let row = match are_tokens(behind) {
                true => (!is_table).then(|| tokens(&size, &words, at + 1, ways)).flatten(),
                false if lower.contains("param") => {
                    let fits = ways.of(&size);
                    let is_other = fits.is_empty() && is_table;
                    (!is_other).then(|| fitting(&size, &words, at + 1, &fits))
                }
                false => None,
            };
            let is_new = |row: &StatedRow| rows.iter().all(|known| known.label != row.label);
            if let Some(row) = row.filter(|row| rows.len() < SAID && is_new(row)) {
                rows.push(row);
            }
        }
    }
    rows
}

/// Whether what stands behind a number says that it counts tokens, as in "14.8 trillion diverse and high-quality tokens".
fn are_tokens(behind: &str) -> bool {
    let mut words = behind.split_whitespace().take(5);
    let first = words.find(|word| word.starts_with("token") || is_of_a_model(word));
    first.is_some_and(|word| word.starts_with("tokens"))
}

/// Whether a word says that a number before it is of a model.
fn is_of_a_model(word: &str) -> bool {
    ["param", "activ", "total", "model", "token"].iter().any(|start| word.starts_with(start))
        || word.starts_with(|c: char| c.is_ascii_digit() || c == '|')
}

/// Tokens that a card says, with how many these are for each parameter; nothing where they are fewer than these, as a context has.
fn tokens(count: &PrintedRange, words: &str, line: usize, ways: &CountedWays) -> Option<StatedRow> {
    let way = ways.0.first().filter(|way| count.middle() >= way.total as f64)?;
    let mut row = StatedRow::new(format!("said {words} tokens"));
    row.compute("tokens", Term::Number(*count), format!("{CARD}:{line}"));
    let share = |size: u64| format!("{:.1} for each", count.middle() / size as f64);
    let of_active = way.active.map(|active| format!(", {} active one", share(active)));
    let shares = format!("{} parameter{}", share(way.total), of_active.unwrap_or_default());
    row.compute_text("note", &format!("{CARD}:{line} {shares}"), "");
    Some(row)
}

/// A size that a card says, with the ways of counting that give it.
fn fitting(size: &PrintedRange, words: &str, line: usize, ways: &[String]) -> StatedRow {
    let note = match ways {
        [] => "fits no way of counting this model".to_owned(),
        several => format!("fits {}", several.join(", ")),
    };
    let mut row = StatedRow::new(format!("said {words}"));
    row.compute("size", Term::Number(*size), format!("{CARD}:{line}"));
    row.compute_text("note", &format!("{CARD}:{line} {note}"), "");
    row
}
