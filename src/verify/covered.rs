//! Which numbers of a text the statements of a post bind, which they excuse, and which nobody mentions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use num_traits::One;
use repro_claim::place::PlacedTable;
use repro_claim::quote::{self, QuoteItem};
use repro_claim::table;
use repro_core::decimal::Printed;
use repro_core::source::{Error, Source};
use serde::Serialize;

use crate::json_text::{QuotePlaces, ReadText};
use crate::lexicon::lexicon;
use crate::page::{
    Binding, HEAD, PlacedExpression, PostPage, PostStatement, Sentence, StatementKind, Table,
    TextSource, cell_id, quoted_numbers, stated_numbers,
};
use crate::post::is_short_text;
use crate::work::{BYTES_REPEATED, Work};

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
    /// Its digits as they are there.
    pub text: String,
    /// Line from 1.
    pub line: usize,
    /// Column in characters from 1.
    pub column: usize,
    /// The claims that bind it.
    pub bound_by: Vec<String>,
    /// Why nothing is claimed, where the post says so.
    pub reason: Option<String>,
    /// Where it stands, in bytes.
    #[serde(skip)]
    pub span: Range<usize>,
    /// How the names of the claims about it begin.
    #[serde(skip)]
    pub claims: Vec<String>,
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
struct Mark<'p> {
    span: Range<usize>,
    by: &'p str,
    /// How the names of its claims begin.
    claims: Cow<'p, str>,
    /// Why nothing is claimed there.
    reason: Option<&'p str>,
    /// Whether it is a number in words inside a quote that binds its other numbers.
    is_open: bool,
}

impl<'p> Mark<'p> {
    fn new(span: Range<usize>, by: &'p str, reason: Option<&'p str>) -> Self {
        Self { span, by, claims: by.into(), reason, is_open: false }
    }

    /// Of the cell of a table.
    fn of_cell(span: Range<usize>, by: &'p str, cell: [&str; 2], reason: Option<&'p str>) -> Self {
        let claims = cell_id(&[by, cell[0], cell[1]]).into();
        Self { claims, ..Self::new(span, by, reason) }
    }
}

/// Marks in the order of the text.
struct Marks<'p> {
    marks: Vec<Mark<'p>>,
    /// For each mark the farthest end of it and all before it.
    reach: Vec<usize>,
}

impl<'p> Marks<'p> {
    fn new(mut marks: Vec<Mark<'p>>) -> Self {
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
    fn at(&self, at: usize) -> Vec<&Mark<'p>> {
        let begun = self.marks.partition_point(|mark| mark.span.start <= at);
        let near = (0..begun).rev().take_while(|index| self.reach[*index] > at);
        let mut here: Vec<_> =
            near.map(|index| &self.marks[index]).filter(|mark| at < mark.span.end).collect();
        here.reverse();
        here
    }
}

/// The numbers of one text of a post, those in words too.
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
    let mut sentences = Vec::new();
    for statement in page.statements.iter().filter(|one| one.text == text.id) {
        let is_there = match &statement.kind {
            StatementKind::Sentence(sentence) => {
                let at = &statement.place_in_text;
                let places = read.places_of_quote(at, &sentence.quote);
                let is_there = !places.is_empty();
                sentences.push(PlacedSentence { statement, sentence, places });
                is_there
            }
            StatementKind::Table(table) => {
                let found = table_marks(statement, table, read, work);
                let is_there = !found.is_empty();
                marks.extend(found);
                is_there
            }
        };
        if !is_there {
            misplaced.push(format!("`{}`", statement.id));
        }
    }
    marks.extend(marks_of_excuses(page, text, read, &mut misplaced));
    marks.extend(marks_of_sentences(sentences, &marks, source.text(), work));
    Coverage {
        post: page.id.clone(),
        source: text.id.clone(),
        file: source.name().to_owned(),
        numbers: numbers(source, &Marks::new(marks), work),
        misplaced,
    }
}

/// The bytes covered by a post's excuses. Each byte belongs to the first excuse with its words there, so that thousands of
/// excuses of words that stand everywhere take no more marks than the text has bytes.
fn marks_of_excuses<'p>(
    page: &'p PostPage,
    text: &TextSource,
    read: &ReadText,
    misplaced: &mut Vec<String>,
) -> Vec<Mark<'p>> {
    let mut sought = BTreeSet::new();
    let mut covers: Vec<Option<usize>> = vec![None; read.source().text().len()];
    for (index, excuse) in page.excused.iter().enumerate().filter(|(_, one)| one.text == text.id) {
        if !sought.insert(&excuse.quote) {
            continue;
        }
        let places = read.places_of_quote("", &excuse.quote);
        if places.is_empty() {
            misplaced.push(format!("excused \"{}\"", excuse.quote));
        }
        for place in places.iter() {
            for byte in covers.get_mut(place.clone()).unwrap_or_default() {
                byte.get_or_insert(index);
            }
        }
    }
    let mut marks = Vec::new();
    let mut start = 0;
    for run in covers.chunk_by(|a, b| a == b) {
        let span = start..start + run.len();
        start = span.end;
        let excuse = run.first().copied().flatten().and_then(|index| page.excused.get(index));
        marks.extend(excuse.map(|excuse| Mark::new(span, "", Some(&excuse.reason))));
    }
    marks
}

/// A sentence with every place where its words stand.
struct PlacedSentence<'p> {
    statement: &'p PostStatement,
    sentence: &'p Sentence,
    places: QuotePlaces,
}

/// The numbers of the sentences. One sentence is about one place: where its words stand at several, it is the first
/// that nothing else is about, and a post says of each other what it claims, by a list of places.
fn marks_of_sentences<'p>(
    mut sentences: Vec<PlacedSentence<'p>>,
    others: &[Mark],
    text: &str,
    work: &Work,
) -> Vec<Mark<'p>> {
    let mut is_taken = vec![false; text.len()];
    others.iter().for_each(|mark| is_taken[mark.span.clone()].fill(true));
    // What stands once has no choice.
    sentences.sort_by_key(|sentence| sentence.places.len());
    let mut marks = Vec::new();
    // What is taken stays so: sentences with the same words go on where the last one found a place.
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    for sentence in sentences {
        work.takes(1);
        let key = (sentence.sentence.quote.as_str(), sentence.statement.place_in_text.as_str());
        let next = seen.entry(key).or_default();
        let rest = sentence.places.get(*next..).unwrap_or_default();
        let is_free = |place: &Range<usize>| !is_taken[place.clone()].contains(&true);
        *next += rest.iter().position(is_free).unwrap_or(rest.len());
        let first = sentence.places.get(*next).or(sentence.places.first());
        let Some(place) = first.cloned().filter(|_| !work.is_spent()) else { continue };
        is_taken[place.clone()].fill(true);
        marks.extend(quote_marks(sentence.statement, sentence.sentence, text, place));
    }
    marks
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
        let reason = around.iter().find_map(|mark| mark.reason);
        // A report repeats the reason for each number.
        work.takes(around.len() / 8 + reason.map_or(0, str::len) / BYTES_REPEATED);
        let (line, column) = source.line_column(item.span.start);
        let bound: Vec<_> = around.iter().filter(|mark| mark.reason.is_none()).collect();
        let is_open = around.iter().any(|mark| mark.is_open);
        let bound = if is_open { Vec::new() } else { bound };
        numbers.push(Number {
            text: item.text(text).to_owned(),
            line,
            column,
            bound_by: bound.iter().map(|mark| format!("claim {}", mark.by)).collect(),
            reason: reason.map(str::to_owned),
            claims: bound.iter().map(|mark| mark.claims.to_string()).collect(),
            span: item.span,
        });
    }
    numbers
}

/// The marks that together hold a stretch of the text; none if a part of it is marked by nothing. What
/// a page runs together may belong to two cells.
fn around<'m, 'p>(marks: &'m Marks<'p>, span: &Range<usize>) -> Vec<&'m Mark<'p>> {
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

/// The numbers of a quote at a place of the text, each where it stands.
fn quote_marks<'p>(
    statement: &'p PostStatement,
    sentence: &'p Sentence,
    text: &str,
    span: Range<usize>,
) -> Vec<Mark<'p>> {
    // Words and what they are bound to are in one order; where the text runs numbers together
    // the whole quote is marked.
    let here = text.get(span.clone()).unwrap_or_default();
    let mut items = quote::items(here);
    let by = statement.id.as_str();
    let mut marks = Vec::new();
    if items.len() > sentence.is.len() {
        let unsaid = unsaid_words(&items, here, sentence);
        for item in items.iter().filter(|item| !item.is_in_digits(here)) {
            let is_open = unsaid.iter().any(|other| other.span == item.span);
            let by = if is_open { "" } else { by };
            marks.push(Mark { is_open, ..Mark::new(within(&span, item), by, None) });
        }
        items.retain(|item| item.is_in_digits(here));
    }
    if items.len() != sentence.is.len() {
        marks.push(Mark::new(span, by, common_reason(&sentence.is)));
        return marks;
    }
    let each = std::iter::zip(items, &sentence.is);
    marks.extend(each.map(|(item, one)| Mark::new(within(&span, &item), by, one.reason())));
    marks
}

/// The numbers in words of a quote that no relation takes from it or states itself: "six seeds" by
/// `count(moe) = 6`, "half" by `a < b / 2`, "all three" by a list of three.
fn unsaid_words(items: &[QuoteItem], quote: &str, sentence: &Sentence) -> Vec<QuoteItem> {
    if sentence.missing.is_some() {
        return Vec::new();
    }
    let taken: BTreeSet<usize> = sentence.relations().flat_map(quoted_numbers).collect();
    let stated = stated_numbers(sentence.relations());
    // "Half" is stated by a division by two.
    let is_stated = |own: &Printed| {
        let own = own.in_ones();
        stated.iter().any(|other| *other == own || (other * &own).is_one())
    };
    let is_unsaid = |(number, item): &(usize, &QuoteItem)| {
        let is_open = item.printed().is_some_and(|printed| !is_stated(printed));
        is_open && !item.is_in_digits(quote) && !taken.contains(number)
    };
    (1..).zip(items).filter(is_unsaid).map(|(_, item)| item.clone()).collect()
}

/// Where an item of a quote is in the text.
fn within(quote: &Range<usize>, item: &QuoteItem) -> Range<usize> {
    quote.start + item.span.start..quote.start + item.span.end
}

/// Why nothing is claimed where all of some bindings say so: the first reason.
fn common_reason(bindings: &[Binding]) -> Option<&str> {
    let first = bindings.first().and_then(Binding::reason);
    first.filter(|_| bindings.iter().all(|one| one.reason().is_some()))
}

/// The cells that a table binds, each where it is in the text, and the names of its rows.
fn table_marks<'p>(
    statement: &'p PostStatement,
    table: &'p Table,
    read: &ReadText,
    work: &Work,
) -> Vec<Mark<'p>> {
    let found = match table.pointer {
        Some(_) => table.found(read),
        None => table.lines(Some(read)),
    };
    let Ok(found) = found else { return Vec::new() };
    let placed = match &table.printed {
        Some(printed) if table.pointer.is_none() => read.of_table(printed),
        _ => Some(PlacedTable::itself(&found)),
    };
    let Some(PlacedTable { head, rows }) = placed else { return Vec::new() };
    let text = read.source().text();
    let column = |label: &str| table::column(&found.head, label);
    let mark = |row: &str, cells: &[Range<usize>], label: &str, reason: Option<&'p str>| {
        let at = column(label)?;
        let (head, span) = (found.head.get(at)?, cells.get(at)?.clone());
        Some(Mark::of_cell(span, &statement.id, [row, &head.text], reason))
    };
    let marked = |row: &str, cells: &[Range<usize>], bound: &'p [(String, Vec<Binding>)]| {
        let one = |(label, list): &'p (String, Vec<Binding>)| {
            mark(row, cells, label, common_reason(list))
        };
        bound.iter().filter_map(one).collect::<Vec<_>>()
    };
    let mut marks = marked(HEAD, &head, &table.heads);
    for (label, variables) in &table.rows {
        work.takes(1 + table.columns.len());
        if work.is_spent() {
            break;
        }
        let row = found.row(label).and_then(|row| rows.get(row)?.as_ref());
        let Some(cells) = row else { continue };
        marks.extend(marked(label, cells, &table.columns));
        marks.extend(table.says.iter().filter_map(|(said, _)| mark(label, cells, said, None)));
        let names = std::iter::zip(&found.head, cells).take(label.split('|').count());
        marks.extend(names.flat_map(|(head, cell)| name_marks(text, &head.text, cell, variables)));
    }
    marks
}

/// The numbers of a row's name that only name it: a counter, or what the expressions of the row's variables name
/// too. All others say something about the row that nobody holds against evidence.
fn name_marks(
    text: &str,
    head: &str,
    cell: &Range<usize>,
    variables: &BTreeMap<String, PlacedExpression>,
) -> Vec<Mark<'static>> {
    let name = &text[cell.clone()];
    let is_counter = lexicon().is_in("row.counters", &head.to_lowercase());
    let expressions: Vec<_> = variables.values().map(|one| one.tree.to_string()).collect();
    let marked = |item: QuoteItem| {
        let is_whole = name.trim_matches(['*', '_', '`']) == item.text(name);
        let number = item.text(name).replace(',', "");
        let named = expressions.iter().any(|one| names(one, &number, is_whole));
        let reason = Some("the name of a row");
        (named || is_counter && is_whole).then(|| Mark::new(within(cell, &item), "", reason))
    };
    quote::items(name).into_iter().filter_map(marked).collect()
}

/// Whether an expression has a number as a word of its own, or, where the number is a whole name, behind letters:
/// `d12` for the row 12.
fn names(expression: &str, number: &str, behind_letters: bool) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    expression.match_indices(number).any(|(at, _)| {
        let before =
            expression[..at].trim_end_matches(|c: char| behind_letters && c.is_alphabetic());
        let after = &expression[at + number.len()..];
        !before.ends_with(is_part)
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    })
}
