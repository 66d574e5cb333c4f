//! What becomes of the claims of a post when one printed digit of its text is another.
//!
//! A claim that is verified whatever its number says checks nothing. Each number that a claim binds is
//! changed in the text, nothing else is, and the claim is judged again.

use repro_claim::quote;
use repro_receipt::source::Error;
use repro_report::outcome::{ClaimReport, Method, Verdict};
use serde::Serialize;

use crate::context::PostContext;
use crate::evidence::Library;
use crate::mutation::Digit;
use crate::page::{PostPage, PostStatement, Sentence, StatementKind, Table};
use crate::statement;
use crate::texts::TextsAtHand;

/// A number of the text with one digit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedNumber {
    /// The claim that binds it.
    pub claim: String,
    /// The number, before and after.
    pub texts: (String, String),
    /// What the claim came to before.
    pub verdict: Verdict,
    /// How it was judged.
    pub method: Option<Method>,
    /// Whether the verdict is another one now.
    pub is_noticed: bool,
}

/// Changes `digit` of every number that the statements of `page` bind, one after the other.
pub fn changed(
    page: &PostPage,
    library: &Library,
    texts: &TextsAtHand,
    digit: Digit,
) -> Result<Vec<ChangedNumber>, Error> {
    // Whether the changed words stand in the text is another question, and the answer is no.
    let none = TextsAtHand::new();
    let context = PostContext::new(page, library, &none);
    let mut all = Vec::new();
    for one in &page.statements {
        let text = texts.get(&one.text).map_or("", |text| text.text());
        for part in parts(one, text) {
            let before = statement::judge(&context, &part)?;
            for (from, other) in variants(&part, digit) {
                let after = statement::judge(&context, &other)?;
                let differs =
                    |(before, after): &(&ClaimReport, ClaimReport)| before.claimed != after.claimed;
                let pair = std::iter::zip(&before, after).find(differs);
                let Some((before, after)) = pair else { continue };
                all.push(ChangedNumber {
                    claim: before.id.clone(),
                    texts: (from, after.claimed),
                    verdict: before.outcome.verdict,
                    method: before.outcome.method,
                    is_noticed: before.outcome.verdict != after.outcome.verdict,
                });
            }
        }
    }
    Ok(all)
}

/// A statement as pieces that each hold one quote: a sentence, or one cell of a table.
fn parts(statement: &PostStatement, text: &str) -> Vec<PostStatement> {
    let with = |kind| PostStatement { kind, ..statement.clone() };
    match &statement.kind {
        StatementKind::Sentence(sentence) => {
            let numbers = Sentence { says: Vec::new(), may_mean: Vec::new(), ..sentence.clone() };
            vec![with(StatementKind::Sentence(numbers))]
        }
        StatementKind::Table(table) => {
            let Ok(printed) = table.lines(text) else { return Vec::new() };
            let cell = |row: &_, column: &_| Table {
                printed: Some(printed.clone().into_owned()),
                head: table.head.clone(),
                rows: vec![Clone::clone(row)],
                columns: vec![Clone::clone(column)],
                heads: Vec::new(),
            };
            let rows = table.rows.iter();
            rows.flat_map(|row| table.columns.iter().map(move |column| (row, column)))
                .map(|(row, column)| with(StatementKind::Table(cell(row, column))))
                .collect()
        }
    }
}

/// The piece with each of its numbers changed in turn, and the number as it was.
fn variants(part: &PostStatement, digit: Digit) -> Vec<(String, PostStatement)> {
    let with = |kind| PostStatement { kind, ..part.clone() };
    match &part.kind {
        StatementKind::Sentence(sentence) => changes(&sentence.quote, digit)
            .into_iter()
            .map(|(from, quote)| {
                (from, with(StatementKind::Sentence(Sentence { quote, ..sentence.clone() })))
            })
            .collect(),
        StatementKind::Table(table) => {
            let Some((row, column)) = statement::only_cell(table) else { return Vec::new() };
            let Some(printed) = &table.printed else { return Vec::new() };
            let other = |(from, text): (String, String)| {
                let mut printed = printed.clone();
                printed.rows[row][column].text = text;
                let table = Table { printed: Some(printed), ..table.clone() };
                (from, with(StatementKind::Table(table)))
            };
            changes(&printed.rows[row][column].text, digit).into_iter().map(other).collect()
        }
    }
}

/// A text with each of its numbers changed in turn.
fn changes(text: &str, digit: Digit) -> Vec<(String, String)> {
    let change = |item: quote::QuoteItem| {
        let from = item.text(text).to_owned();
        let to = digit.change(&from);
        let (before, after) = (&text[..item.span.start], &text[item.span.end..]);
        (to != from).then(|| (from, format!("{before}{to}{after}")))
    };
    quote::items(text).into_iter().filter_map(change).collect()
}
