//! What a reviewer has to see of a claim beside its fact, and what an approval depends on: the paragraph or the cells around the
//! words, the expanded expression, the premise, and who bound the words.

use std::collections::HashMap;

use repro_claim::seen::HIDDEN;
use repro_claim::sentence;
use repro_claim::table::{self, NamedRows, PrintedCell};
use repro_report::outcome::{ClaimReport, ReadBy};

use crate::context::PostContext;
use crate::page::expanded::{Expander, RowVariables};
use crate::page::{HEAD, PostRole, PostStatement, StatementHead, StatementKind, Table};
use crate::statement::place_of_cell;

/// A quote that stands at more places is told by the first ones.
const MOST_PLACES: usize = 4;
/// The most bytes of the cells around one.
const MOST_CELLS: usize = 4_000;

/// Fills in what the claims of one post are taken to mean, as far as no evidence is needed for it.
pub struct MeaningReader<'a> {
    context: &'a PostContext<'a>,
    expander: Expander<'a>,
    heads: Vec<StatementHead>,
}

/// A cell of a table that the post binds.
struct CellContext<'t> {
    variables: &'t RowVariables,
    column: String,
    cells: String,
}

impl<'a> MeaningReader<'a> {
    /// Of the statements of one post.
    pub fn new(context: &'a PostContext<'a>) -> Self {
        let expander = Expander::new(context.page, context.work);
        Self { context, expander, heads: context.page.heads() }
    }

    /// Fills in what the claims of one statement are taken to mean.
    pub fn read(&self, statement: &PostStatement, claims: &mut [ClaimReport]) {
        let before = self.heads.partition_point(|head| head.line <= statement.place.line);
        let head = before.checked_sub(1).and_then(|at| self.heads.get(at));
        let is_drafted = head.is_some_and(|head| head.is_drafted);
        let none = RowVariables::new();
        let (around, cells) = match &statement.kind {
            StatementKind::Sentence(sentence) => {
                (self.around(statement, &sentence.quote), HashMap::new())
            }
            StatementKind::Table(table) => (String::new(), self.cells(statement, table, &none)),
        };
        for claim in claims {
            let place = claim.at.as_ref().map_or("", |(_, place)| place.as_str());
            let cell = cells.get(place);
            let meaning = &mut claim.meaning;
            let variables = cell.map_or(&none, |cell| cell.variables);
            meaning.expanded = self.expander.of_said(&claim.said, variables);
            meaning.premise = statement.premise.clone().unwrap_or_default();
            meaning.is_audit = self.context.page.role == PostRole::Audit;
            meaning.read_by = Some(if is_drafted { ReadBy::Drafted } else { ReadBy::Author });
            meaning.context = cell.map_or_else(|| around.clone(), |cell| cell.cells.clone());
            meaning.column = cell.map(|cell| format!("{} / {}", statement.id, cell.column));
        }
    }

    /// The paragraphs in which a quote stands, as they read: where their lines break says nothing.
    fn around(&self, statement: &PostStatement, quote: &str) -> String {
        let Some(text) = self.context.text(&statement.text) else { return String::new() };
        let whole = text.source().text();
        let places = text.places_of_quote(&statement.place_in_text, quote);
        let mut paragraphs: Vec<String> = Vec::new();
        for place in places.iter().take(MOST_PLACES) {
            let paragraph = &whole[sentence::paragraph(whole, place)];
            self.context.work.looks_through(paragraph);
            let words = as_read(paragraph);
            if !paragraphs.contains(&words) {
                paragraphs.push(words);
            }
        }
        paragraphs.join("\n")
    }

    /// The cells of a table that the post binds, by their places in the text.
    fn cells<'t>(
        &self,
        statement: &PostStatement,
        table: &'t Table,
        none: &'t RowVariables,
    ) -> HashMap<String, CellContext<'t>> {
        let mut all = HashMap::new();
        let Ok(lines) = table.lines(self.context.text(&statement.text)) else { return all };
        let named = NamedRows::of(&lines);
        let head = joined(&lines.head);
        let rows = table.rows.iter().filter_map(|(label, variables)| {
            let row = lines.rows.get(named.row(&lines, label)?)?;
            Some((label.as_str(), variables, format!("{head}\n{}", joined(row))))
        });
        let columns = table.columns.iter().map(|(label, _)| label);
        let columns: Vec<_> = columns.chain(table.says.iter().map(|(label, _)| label)).collect();
        for (label, variables, cells) in rows {
            self.context.work.takes(1 + columns.len());
            for column in &columns {
                let Some(text) = head_of(table, column) else { continue };
                let (column, cells) = (text.to_owned(), cells.clone());
                all.insert(
                    place_of_cell(statement, table, label, text),
                    CellContext { variables, column, cells },
                );
            }
        }
        for (column, _) in &table.heads {
            let Some(text) = head_of(table, column) else { continue };
            let (column, cells) = (text.to_owned(), head.clone());
            let place = place_of_cell(statement, table, HEAD, text);
            all.insert(place, CellContext { variables: none, column, cells });
        }
        all
    }
}

/// The head of a column as it is printed.
fn head_of<'t>(table: &'t Table, column: &str) -> Option<&'t str> {
    let at = table::column(&table.head, column)?;
    table.head.get(at).map(|cell| cell.text.as_str())
}

/// Cells as one line of at most [`MOST_CELLS`] bytes.
fn joined(cells: &[PrintedCell]) -> String {
    let mut line = String::from("|");
    for cell in cells {
        if line.len() > MOST_CELLS {
            return line + " …";
        }
        line = format!("{line} {} |", as_read(&cell.text));
    }
    line
}

/// A text with single spaces between its words; what its marks hide is left out.
fn as_read(text: &str) -> String {
    let text = text.replace(HIDDEN, " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
