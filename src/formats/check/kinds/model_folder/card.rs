//! Compares the model sizes stated in a card with every way of counting.
//!
//! A size in prose that matches none is reported but refutes nothing, because a card also mentions other models, and
//! labels are not counts. A size in a table row for this model is a doubt.

use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber, Term};
use repro_core::source::Source;

use super::CARD;
use super::tables::{self, CardTable, TableCell};
use crate::check::stated::{Digits, StatedRow};
use crate::check::words;

/// The maximum number of reported statements per card.
const SAID: usize = 12;
/// The name of counting by weight file headers.
pub const STORED: &str = "stored";

/// The sizes of a model under every known way of counting, the usual one first.
#[derive(Debug, Default)]
pub struct CountedWays(Vec<CountedWay>);

/// The sizes under one way of counting.
#[derive(Debug)]
struct CountedWay {
    name: String,
    total: u64,
    /// The parameters active for one token, if fewer.
    active: Option<u64>,
}

impl CountedWays {
    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the result of one way of counting.
    pub fn add(&mut self, name: &str, total: u64, active: Option<u64>) {
        let active = active.filter(|active| *active != total);
        // Headers that match the config are not a separate way of counting.
        if self.0.iter().any(|way| way.total == total && (active.is_none() || way.active == active))
            && name == STORED
        {
            return;
        }
        self.0.push(CountedWay { name: name.to_owned(), total, active });
    }

    /// The sizes, each with its way of counting; a size with several ways uses the first.
    fn sizes(&self) -> Vec<(u64, String)> {
        let mut sizes: Vec<(u64, String)> = Vec::new();
        for CountedWay { name, total, active } in &self.0 {
            sizes.push((*total, format!("total ({name})")));
            sizes.extend(active.map(|active| (active, format!("active ({name})"))));
        }
        sizes
    }

    /// The ways of counting that give a size.
    fn of(&self, size: &PrintedRange) -> Vec<String> {
        let [low, high] = size.ends();
        let fits = |count: u64| (low..=high).contains(&(count as f64));
        self.sizes().into_iter().filter(|(count, _)| fits(*count)).map(|(_, how)| how).collect()
    }

    /// The ways of counting that give a size by truncation rather than rounding.
    fn cut_off(&self, size: &PrintedRange) -> Vec<String> {
        let [low, high] = size.ends();
        let cut = PrintedRange::between(f64::midpoint(low, high), high + (high - low) / 2.0);
        self.of(&cut).into_iter().map(|way| format!("{way}, truncated")).collect()
    }

    /// The size under any way of counting that is closest to a number.
    fn nearest(&self, size: &PrintedRange) -> Option<(u64, String)> {
        let distance = |count: u64| (count as f64 - size.middle()).abs();
        self.sizes().into_iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))
    }
}

/// A model card.
#[derive(Debug, Clone, Copy)]
pub struct ModelCard<'c> {
    pub source: &'c Arc<Source>,
    pub tables: &'c [CardTable],
    /// The names of the model, normalized for comparison.
    pub models: &'c [String],
}

impl ModelCard<'_> {
    /// The stated parameter counts, each with the matching ways of counting, and the stated token counts, each with its
    /// tokens per parameter.
    pub fn said(&self, ways: &CountedWays) -> Vec<StatedRow> {
        let mut rows: Vec<StatedRow> = Vec::new();
        let prose = self.source.text().lines().enumerate();
        let prose = prose.flat_map(|(at, text)| in_line(text, at + 1, ways));
        let in_tables = self.sizes().filter_map(|(size, words, of)| {
            let fits = ways.of(&size);
            (!fits.is_empty()).then(|| fitting(&size, &words, of.line, &fits))
        });
        for row in prose.chain(in_tables) {
            let is_new = rows.iter().all(|known| known.label != row.label);
            if rows.len() < SAID && is_new {
                rows.push(row);
            }
        }
        rows
    }

    /// Sizes in table columns about parameters.
    fn sizes(&self) -> impl Iterator<Item = (PrintedRange, String, TableCell<'_>)> {
        let cells = self.tables.iter().flat_map(CardTable::cells);
        let of_sizes = cells.filter(|of| of.column.to_lowercase().contains("param"));
        of_sizes.filter_map(|of| match words::parameters(&of.cell.text).as_slice() {
            [(size, words)] => Some((*size, words.clone(), of)),
            _ => None,
        })
    }

    /// The table sizes for this model, each beside the closest count. Truncated sizes match no rounding and are left
    /// out.
    pub fn sizes_of_own(&self, ways: &CountedWays) -> Vec<StatedRow> {
        let own = self.sizes().filter(|(.., of)| self.models.contains(&tables::name(of.row)));
        let rows = own.filter_map(|(size, words, of)| {
            if ways.of(&size).is_empty() && !ways.cut_off(&size).is_empty() {
                return None;
            }
            let (nearest, how) = ways.nearest(&size)?;
            let mut row = StatedRow::new(format!("{} {}", of.row, of.column));
            row.print("cell", self.source, of.cell.span.clone(), Digits::Rounded);
            row.quote("said", "cell", size, &words);
            row.compute_number("counted", nearest as f64, how);
            Some(row)
        });
        rows.collect()
    }
}

/// Reads the statements of a line about parameters and tokens.
fn in_line(text: &str, line: usize, ways: &CountedWays) -> Vec<StatedRow> {
    let lower = text.to_lowercase();
    if lower.contains("http") && lower.starts_with('[') {
        return Vec::new();
    }
    // Table columns cover many models.
    let is_table = text.trim_start().starts_with('|');
    let rows = words::parameters(text).into_iter().filter_map(|(size, words)| {
        let behind = lower.split_once(&words.to_lowercase()).map_or("", |(_, behind)| behind);
        match are_tokens(behind) {
            true => (!is_table).then(|| tokens(&size, &words, line, ways)).flatten(),
            false if lower.contains("param") => {
                let fits = ways.of(&size);
                let fits = if fits.is_empty() { ways.cut_off(&size) } else { fits };
                let is_other = fits.is_empty() && is_table;
                (!is_other).then(|| fitting(&size, &words, line, &fits))
            }
            false => None,
        }
    });
    rows.collect()
}

/// Whether the words after a number show that it counts tokens, as in "14.8 trillion diverse and high-quality tokens".
fn are_tokens(behind: &str) -> bool {
    let mut words = behind.split_whitespace().take(5);
    let first = words.find(|word| word.starts_with("token") || is_of_a_model(word));
    first.is_some_and(|word| word.starts_with("tokens"))
}

/// Whether a word shows that the number before it describes a model.
fn is_of_a_model(word: &str) -> bool {
    ["param", "activ", "total", "model", "token"].iter().any(|start| word.starts_with(start))
        || word.starts_with(|c: char| c.is_ascii_digit() || c == '|')
}

/// A stated token count with its tokens per parameter; none below this number, as for a context length.
fn tokens(count: &PrintedRange, words: &str, line: usize, ways: &CountedWays) -> Option<StatedRow> {
    let way = ways.0.first().filter(|way| count.middle() >= way.total as f64)?;
    let mut row = StatedRow::new(format!("stated {words} tokens"));
    row.compute("tokens", Term::Number(*count), format!("{CARD}:{line}"));
    let share = |size: u64| format!("{:.1} per", count.middle() / size as f64);
    let of_active = way.active.map(|active| format!(", {} active parameter", share(active)));
    let shares = format!("{} parameter{}", share(way.total), of_active.unwrap_or_default());
    row.compute_text("note", &format!("{CARD}:{line} {shares}"), "");
    Some(row)
}

/// A stated size with the matching ways of counting.
fn fitting(size: &PrintedRange, words: &str, line: usize, ways: &[String]) -> StatedRow {
    let note = match ways {
        [] => "matches no way of counting this model".to_owned(),
        several => format!("matches {}", several.join(", ")),
    };
    let mut row = StatedRow::new(format!("stated {words}"));
    row.compute("size", Term::Number(*size), format!("{CARD}:{line}"));
    row.compute_text("note", &format!("{CARD}:{line} {note}"), "");
    row
}
