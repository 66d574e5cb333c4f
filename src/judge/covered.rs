//! Which numbers of a text the statements of a post bind, which they excuse, and which nobody mentions.

use std::ops::Range;

use repro_claim::quote;
use repro_claim::table;
use repro_receipt::source::{Error, Source};
use serde::Serialize;

use crate::json_text::ReadText;
use crate::page::{Binding, PostPage, PostStatement, StatementKind, Table, TextSource};
use crate::post::is_short_text;
use crate::work::Work;

/// The numbers of one text.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// The post.
    pub post: String,
    /// The text, by its id in the post file.
    pub source: String,
    /// The file that was read.
    pub file: String,
    /// Every number, in the order of the text.
    pub numbers: Vec<Number>,
    /// Claims whose quote, or place, the text does not have.
    pub misplaced: Vec<String>,
}

/// A number of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Number {
    /// Its digits as they stand there.
    pub text: String,
    /// Line from 1.
    pub line: usize,
    /// Column in characters from 1.
    pub column: usize,
    /// The claims that bind it.
    pub bound_by: Vec<String>,
    /// Why nothing is claimed, where the post says so.
    pub reason: Option<String>,
}

impl Number {
    /// Whether neither a claim nor a reason stands behind it.
    pub fn is_unbound(&self) -> bool {
        self.bound_by.is_empty() && self.reason.is_none()
    }
}

impl Coverage {
    /// How many numbers have a claim, have a reason, have neither.
    pub fn counts(&self) -> (usize, usize, usize) {
        let bound = self.numbers.iter().filter(|number| !number.bound_by.is_empty()).count();
        let unbound = self.numbers.iter().filter(|number| number.is_unbound()).count();
        (bound, self.numbers.len() - bound - unbound, unbound)
    }
}

/// A stretch of the text that a statement is about.
struct Mark {
    span: Range<usize>,
    by: String,
    /// Why nothing is claimed there.
    reason: Option<String>,
}

/// Marks in the order of the text.
struct Marks {
    marks: Vec<Mark>,
    /// For each mark the farthest end of it and all before it.
    reach: Vec<usize>,
}

impl Marks {
    fn new(mut marks: Vec<Mark>) -> Self {
        // A stable sort: of marks that begin at one place the first statement comes first.
        marks.sort_by_key(|mark| mark.span.start);
        let mut farthest = 0;
        let reach = marks.iter().map(|mark| {
            farthest = farthest.max(mark.span.end);
            farthest
        });
        Self { reach: reach.collect(), marks }
    }

    /// The marks that hold the byte at `at`.
    fn at(&self, at: usize) -> Vec<&Mark> {
        let begun = self.marks.partition_point(|mark| mark.span.start <= at);
        let near = (0..begun).rev().take_while(|index| self.reach[*index] > at);
        let mut here: Vec<_> =
            near.map(|index| &self.marks[index]).filter(|mark| at < mark.span.end).collect();
        here.reverse();
        here
    }
}

/// The numbers of one text of a post. Numbers in words count where they are bound.
pub fn covered(page: &PostPage, text: &TextSource, source: &Source) -> Result<Coverage, Error> {
    is_short_text(source)?;
    let work = Work::of_a_post();
    let found = covered_in(page, text, &ReadText::new(source, &work), &work);
    work.goes_on(&text.place)?;
    Ok(found)
}

/// The same of a text that is read; where the work is spent, not all of them.
pub(crate) fn covered_in(
    page: &PostPage,
    text: &TextSource,
    read: &ReadText,
    work: &Work,
) -> Coverage {
    let source = read.source();
    let mut marks = Vec::new();
    let mut misplaced = Vec::new();
    for statement in page.statements.iter().filter(|one| one.text == text.id) {
        let found = match &statement.kind {
            StatementKind::Sentence(sentence) => {
                sentence_marks(statement, &sentence.quote, &sentence.is, read, work)
            }
            StatementKind::Table(table) => table_marks(statement, table, read, work),
        };
        if found.is_empty() {
            misplaced.push(format!("`{}`", statement.id));
        }
        marks.extend(found);
    }
    for excuse in page.excused.iter().filter(|excuse| excuse.text == text.id) {
        let found = read.places_of_quote("", &excuse.quote);
        if found.is_empty() {
            misplaced.push(format!("excused \"{}\"", excuse.quote));
        }
        let reason = || Some(excuse.reason.clone());
        marks.extend(found.into_iter().map(|span| Mark {
            span,
            by: String::new(),
            reason: reason(),
        }));
    }
    Coverage {
        post: page.id.clone(),
        source: text.id.clone(),
        file: source.name().to_owned(),
        numbers: numbers(source, &Marks::new(marks), work),
        misplaced,
    }
}

/// Every number with what is marked around it.
fn numbers(source: &Source, marks: &Marks, work: &Work) -> Vec<Number> {
    let text = source.text();
    let mut numbers = Vec::new();
    for item in quote::items(text) {
        if work.is_spent() {
            break;
        }
        let around = around(marks, &item.span);
        work.takes(around.len() / 8);
        if !item.is_in_digits(text) && around.is_empty() {
            continue;
        }
        let (line, column) = source.line_column(item.span.start);
        let bound = around.iter().filter(|mark| mark.reason.is_none());
        numbers.push(Number {
            text: item.text(text).to_owned(),
            line,
            column,
            bound_by: bound.map(|mark| format!("claim {}", mark.by)).collect(),
            reason: around.iter().find_map(|mark| mark.reason.clone()),
        });
    }
    numbers
}

/// The marks that together hold a stretch of the text; none where a part of it is marked by nothing. What
/// a page runs together may belong to two cells.
fn around<'m>(marks: &'m Marks, span: &Range<usize>) -> Vec<&'m Mark> {
    let mut found = Vec::new();
    let mut at = span.start;
    while at < span.end {
        let here = marks.at(at);
        let Some(end) = here.iter().map(|mark| mark.span.end).max() else { return Vec::new() };
        found.extend(here);
        at = end;
    }
    found
}

/// The numbers of a quote, each where it stands in the text.
fn sentence_marks(
    statement: &PostStatement,
    words: &str,
    is: &[Binding],
    read: &ReadText,
    work: &Work,
) -> Vec<Mark> {
    let text = read.source().text();
    let whole = |span: Range<usize>| {
        // Words and what they are bound to stand in one order; where the text runs numbers together
        // the whole quote is marked.
        let here = text.get(span.clone()).unwrap_or_default();
        let mut items = quote::items(here);
        let reasons: Vec<_> = is.iter().map(reason).collect();
        if items.len() > reasons.len() {
            items.retain(|item| item.is_in_digits(here));
        }
        if items.len() != reasons.len() {
            let reason =
                reasons.iter().all(Option::is_some).then(|| reasons.first().cloned().flatten());
            let by = statement.id.clone();
            return vec![Mark { span, by, reason: reason.flatten() }];
        }
        let each = std::iter::zip(items, reasons).map(|(item, reason)| Mark {
            span: span.start + item.span.start..span.start + item.span.end,
            by: statement.id.clone(),
            reason,
        });
        // A quote without numbers is found all the same.
        let quote = Mark { span: span.start..span.start, by: String::new(), reason: None };
        std::iter::once(quote).chain(each).collect()
    };
    let found = read.places_of_quote(&statement.place_in_text, words);
    work.takes(found.len() * (4 + words.len()));
    if work.is_spent() {
        return Vec::new();
    }
    found.into_iter().flat_map(whole).collect()
}

fn reason(binding: &Binding) -> Option<String> {
    match binding {
        Binding::Excused(reason) => Some(reason.clone()),
        Binding::Is(_) => None,
    }
}

/// The cells that a table binds, each where it stands in the text, and its labels.
fn table_marks(
    statement: &PostStatement,
    table: &Table,
    read: &ReadText,
    work: &Work,
) -> Vec<Mark> {
    if table.pointer.is_some() {
        return member_marks(statement, table, read);
    }
    let Ok(found) = table.lines(Some(read)) else { return Vec::new() };
    let column = |label: &str| table::column(&found.head, label);
    let mut marks = Vec::new();
    let mut mark = |row: &[table::PrintedCell], labels: usize, bound: &[(String, Vec<Binding>)]| {
        let bound: Vec<_> =
            bound.iter().filter_map(|(label, list)| Some((column(label)?, list))).collect();
        let found = read.searched().cells_of_row(row);
        work.takes(4 * found.len() * row.len());
        if work.is_spent() {
            return;
        }
        for cells in found {
            for (index, span) in cells.into_iter().enumerate() {
                let list = bound.iter().find(|(at, _)| *at == index).map(|(_, list)| *list);
                let excused =
                    list.and_then(|list| list.iter().map(reason).collect::<Option<Vec<_>>>());
                let label =
                    (list.is_none() && index < labels).then(|| "the name of a row".to_owned());
                let reason = excused.and_then(|reasons| reasons.first().cloned()).or(label);
                if list.is_some() || reason.is_some() {
                    marks.push(Mark { span, by: statement.id.clone(), reason });
                }
            }
        }
    };
    mark(&found.head, 0, &table.heads);
    for (label, _) in &table.rows {
        if let Some(row) = found.row(label) {
            mark(&found.rows[row], label.split('|').count(), &table.columns);
        }
    }
    marks
}

/// The members of JSON that a table binds, each where it stands in the text.
fn member_marks(statement: &PostStatement, table: &Table, read: &ReadText) -> Vec<Mark> {
    let Ok(found) = table.found(read) else { return Vec::new() };
    let bound = |label: &str| {
        let list = table.columns.iter().find(|(column, _)| column == label).map(|(_, list)| list);
        let is_said = table.says.iter().any(|(column, _)| column == label);
        (list, is_said)
    };
    let mut marks = Vec::new();
    for row in found.rows {
        for (head, cell) in std::iter::zip(&table.head, row).skip(1) {
            let (list, is_said) = bound(&head.text);
            let reasons = list.map(|list| list.iter().map(reason).collect::<Option<Vec<_>>>());
            let excused = reasons.flatten().and_then(|reasons| reasons.first().cloned());
            if list.is_some() || is_said {
                let (by, reason) = (statement.id.clone(), excused.filter(|_| !is_said));
                marks.push(Mark { span: cell.span, by, reason });
            }
        }
    }
    marks
}
