//! Texts in JSON: where a pointer leads, and objects read as tables of their members.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use repro_claim::place::{PlacedTable, SearchedText};
use repro_claim::table::{NamedTable, PrintedCell, PrintedTable};
use repro_core::similar::did_you_mean;
use repro_core::source::{Document, Error, Kind, Node, Source, Value, escape};

use crate::work::Work;

/// The document that the file of this name is; else where it breaks the rules of JSON.
fn parsed(name: &str, text: &str) -> Result<Document, Error> {
    Document::parse_json(Source::new(name, text.as_bytes().to_vec())?)
}

/// Whether a text is JSON.
pub fn is_json(text: &str) -> bool {
    looks_like_json(text) && parsed("text", text).is_ok()
}

/// Whether a text begins as JSON does.
pub fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Where a pointer breaks off and which members there are, for messages.
pub fn breaks_off(document: &Document, pointer: &str) -> String {
    let mut reached = document.root();
    let mut at = String::new();
    for step in pointer.split('/').skip(1) {
        let Ok(next) = reached.at(&format!("/{step}")) else {
            let place = if at.is_empty() { "the root".to_owned() } else { format!("`{at}`") };
            return format!("no member `{step}` at {place}, which is {}", contents(reached, step));
        };
        reached = next;
        at = below(&at, step);
    }
    format!("no member `{pointer}`")
}

/// A short description of a JSON value; of many members, those spelled like `wanted`.
fn contents(node: Node<'_>, wanted: &str) -> String {
    const SHOWN: usize = 12;
    match &node.value().kind {
        Kind::Object(members) => {
            let names = || members.iter().map(|member| &*member.key);
            let listed: Vec<_> =
                names().take(SHOWN).map(|name| format!("`{}`", escape(name))).collect();
            let more = if members.len() > SHOWN { ", …" } else { "" };
            let hint = did_you_mean(wanted, names()).map(|hint| format!("; {hint}"));
            format!("an object with {}{more}{}", listed.join(", "), hint.unwrap_or_default())
        }
        Kind::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Kind::Array(items) => {
            let (count, last) = (items.len(), items.len() - 1);
            format!(
                "an array of {count}: use `0` to `{last}`, or `name=value` for the entry with that member"
            )
        }
        other => other.word().to_owned(),
    }
}

/// A pointer below another; either may be empty.
pub fn below(pointer: &str, relative: &str) -> String {
    if relative.is_empty() { pointer.to_owned() } else { format!("{pointer}/{relative}") }
}

/// Whether one of two pointers leads to the other or into it.
pub fn overlap(a: &str, b: &str) -> bool {
    let into = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    into(a, b) || into(b, a)
}

/// Where a quote stands, in the order of the text: all its places, or those inside one part of the text.
#[derive(Debug, Clone, Default)]
pub struct QuotePlaces {
    all: Arc<[Range<usize>]>,
    here: Range<usize>,
}

impl Deref for QuotePlaces {
    type Target = [Range<usize>];

    fn deref(&self) -> &Self::Target {
        self.all.get(self.here.clone()).unwrap_or_default()
    }
}

/// A text of a post: searched for quotes and lines, and read as JSON where it is JSON.
#[derive(Debug)]
pub struct ReadText<'t> {
    source: &'t Source,
    searched: SearchedText<'t>,
    /// The places of the quotes that were sought: thousands of statements may quote the same words.
    found: Mutex<HashMap<String, Arc<[Range<usize>]>>>,
    /// The tables that were sought, by their heads; else how many have the head: as many statements may be about one.
    tables: Mutex<HashMap<String, Result<Arc<NamedTable>, usize>>>,
    document: OnceLock<Result<Document, Error>>,
    lower: OnceLock<String>,
    work: &'t Work,
}

impl<'t> ReadText<'t> {
    /// A text in which nothing was sought yet; what is sought in it is counted.
    pub fn new(source: &'t Source, work: &'t Work) -> Self {
        let searched = SearchedText::new(source.text());
        let (document, lower) = (OnceLock::new(), OnceLock::new());
        let (found, tables) = Default::default();
        Self { source, searched, found, tables, document, lower, work }
    }

    /// The text.
    pub fn source(&self) -> &'t Source {
        self.source
    }

    /// The text in lower case.
    pub fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.source.text().to_lowercase())
    }

    /// The search for quotes and lines.
    pub fn searched(&self) -> &SearchedText<'t> {
        self.work.looks_through(self.source.text());
        &self.searched
    }

    /// The document that it is; else where it breaks the rules of JSON.
    pub fn document(&self) -> Result<&Document, &Error> {
        let read = || parsed(self.source.name(), self.source.text());
        self.document.get_or_init(read).as_ref()
    }

    /// Every place of a quote; only what stands at the pointer, where the text is JSON and the place of the quote
    /// is one. None once the work is spent.
    pub fn places_of_quote(&self, at: &str, quote: &str) -> QuotePlaces {
        let all = self.all_places(quote);
        let mut here = 0..all.len();
        if at.starts_with('/')
            && !all.is_empty()
            && let Ok(document) = self.document()
        {
            // A pointer is followed through the members before it.
            self.work.looks_through(self.source.text());
            let around = span(document, at).unwrap_or_default();
            // Places are next to each other, so both their ends are in order.
            here = all.partition_point(|place| place.start < around.start)
                ..all.partition_point(|place| place.end <= around.end);
        }
        QuotePlaces { all, here }
    }

    /// Every place of a quote, sought once.
    fn all_places(&self, quote: &str) -> Arc<[Range<usize>]> {
        self.work.takes(1);
        let known = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if self.work.is_spent() {
            return Arc::default();
        }
        if let Some(places) = known().get(quote) {
            return places.clone();
        }
        let places: Arc<[_]> = self.searched.of_parted_quote(quote).into();
        // Two threads may seek the same words: what counts does not depend on that.
        let stored = known().insert(quote.to_owned(), places.clone());
        if stored.is_none() {
            self.work.looks_through(self.source.text());
            self.work.takes(places.len());
        }
        places
    }

    /// The one table below a head; else how many there are.
    pub fn table_below(&self, head: &[PrintedCell]) -> Result<Arc<NamedTable>, usize> {
        let known = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let key: String = head.iter().map(|cell| format!("{}\n", cell.text)).collect();
        if let Some(table) = known().get(&key) {
            return table.clone();
        }
        if self.work.is_spent() {
            return Err(0);
        }
        let table = self.searched.lines().table(head).map(|table| Arc::new(NamedTable::of(table)));
        // Two threads may seek the same table: what counts does not depend on that.
        if known().insert(key, table.clone()).is_none() {
            self.work.looks_through(self.source.text());
            // What is kept of a cell is some hundred bytes.
            self.work.takes(8 * table.iter().flat_map(|table| &table.rows).flatten().count());
        }
        table
    }

    /// Where the lines of a printed table are in the text; none if it has no table with this head.
    pub fn of_table(&self, printed: &PrintedTable) -> Option<PlacedTable> {
        let searched = self.searched();
        if searched.lines().tables(&printed.head).next().is_none() {
            // Each row is sought behind the head.
            printed.rows.iter().for_each(|_| self.work.looks_through(self.source.text()));
        }
        self.work.takes(printed.rows.len());
        if self.work.is_spent() { None } else { searched.of_table(printed) }
    }

    /// The object or list at a pointer as a table: its rows and columns are members, by pointers from there. A
    /// member that a row lacks is an empty cell. Else what could not be found.
    pub fn table(
        &self,
        pointer: &str,
        rows: &[&str],
        head: &[PrintedCell],
    ) -> Result<PrintedTable, String> {
        let document = self.document().map_err(|_| "text that is not JSON")?;
        // Each row is sought among its neighbours.
        let among = document.root().at(pointer).map_or(0, |node| match &node.value().kind {
            Kind::Object(members) => members.len(),
            Kind::Array(items) => items.len(),
            _ => 0,
        });
        self.work.takes(rows.len() * (head.len() + among / 64));
        if self.work.is_spent() {
            Err("too much to read".to_owned())
        } else {
            table(document, pointer, rows, head)
        }
    }
}

/// Where the value that a pointer leads to stands, with its key if it has one.
fn span(document: &Document, pointer: &str) -> Option<Range<usize>> {
    let value = document.root().at(pointer).ok()?.value();
    let (parent, key) = pointer.rsplit_once('/')?;
    let parent = document.root().at(parent).ok()?.value();
    let Kind::Object(members) = &parent.kind else { return Some(value.span.clone()) };
    let member = members.iter().find(|member| escape(&member.key) == key)?;
    Some(member.key_span.start..value.span.end)
}

fn table(
    document: &Document,
    pointer: &str,
    rows: &[&str],
    head: &[PrintedCell],
) -> Result<PrintedTable, String> {
    if document.root().at(pointer).is_err() {
        return Err(breaks_off(document, pointer));
    }
    let mut table = PrintedTable { head: head.to_vec(), rows: Vec::new() };
    let mut is_found = vec![false; head.len()];
    for row in rows {
        let at = below(pointer, row);
        let node = document.root().at(&at).map_err(|_| breaks_off(document, &at))?;
        let mut cells = vec![PrintedCell::alone((*row).to_owned())];
        for (index, column) in head.iter().enumerate().skip(1) {
            let found = node.at(&below("", &column.text)).ok();
            is_found[index] |= found.is_some();
            let text = document.source.text();
            cells.push(found.map_or_else(
                || PrintedCell::alone(String::new()),
                |found| cell(found.value(), text),
            ));
        }
        table.rows.push(cells);
    }
    match std::iter::zip(head, is_found).skip(1).find(|(_, is_found)| !is_found) {
        Some((column, _)) => {
            let first = below(pointer, rows.first().copied().unwrap_or_default());
            Err(breaks_off(document, &below(&first, &column.text)))
        }
        None => Ok(table),
    }
}

/// A value as it is in the text; a string without its quotation marks.
fn cell(value: &Value, text: &str) -> PrintedCell {
    let span = value.span.clone();
    match &value.kind {
        // Its signs are in the text as they are.
        Kind::Text(words) if span.len() == words.len() + 2 => {
            PrintedCell { text: words.to_string(), span: span.start + 1..span.end - 1 }
        }
        Kind::Text(words) => PrintedCell { text: words.to_string(), span },
        _ => PrintedCell { text: text.get(span.clone()).unwrap_or_default().to_owned(), span },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#"{"runs": [{"loss": 3.50, "name": "a b", "done": false}, {"loss": 3.2}], "x/y": 7}"#;

    fn source(text: &str) -> Source {
        Source::new("t.json", text.as_bytes().to_vec()).unwrap()
    }

    fn head(labels: &[&str]) -> Vec<PrintedCell> {
        labels.iter().map(|label| PrintedCell { text: (*label).to_owned(), span: 0..0 }).collect()
    }

    #[test]
    fn an_object_is_a_table_of_its_members() {
        let (source, work) = (source(TEXT), Work::of_a_post());
        let text = ReadText::new(&source, &work);
        let found = text.table("/runs", &["0", "1"], &head(&["", "loss", "name", "done"])).unwrap();
        let texts =
            |row: usize| found.rows[row].iter().map(|c| c.text.as_str()).collect::<Vec<_>>();
        assert_eq!(texts(0), ["0", "3.50", "a b", "false"]);
        assert_eq!(texts(1), ["1", "3.2", "", ""]);
        assert_eq!(&TEXT[found.rows[0][1].span.clone()], "3.50");
        assert_eq!(&TEXT[found.rows[0][2].span.clone()], "a b");
        assert!(text.table("/runs", &["2"], &head(&["", "loss"])).is_err());
        assert!(text.table("/runs", &["0"], &head(&["", "lost"])).is_err());
        let source = self::source("no JSON");
        let text = ReadText::new(&source, &work);
        assert!(text.table("/runs", &["0"], &head(&["", "loss"])).is_err());
    }

    #[test]
    fn a_quote_stands_where_its_pointer_leads() {
        let work = Work::of_a_post();
        let of_text = |text: &str, at: &str, quote: &str| {
            ReadText::new(&source(text), &work).places_of_quote(at, quote).len()
        };
        let of = |at: &str, quote: &str| of_text(TEXT, at, quote);
        assert_eq!(
            (of("/runs/0", "3.50"), of("", "loss"), of("/runs/1/loss", "\"loss\": 3.2")),
            (1, 2, 1)
        );
        assert_eq!((of("/runs/0", "3"), of("", "7")), (0, 1), "a digit of a number is no quote");
        assert_eq!(
            (of("/runs/1", "3.50"), of("/runs/7", "3.50"), of("/x~1y", "\"x/y\": 7")),
            (0, 0, 1)
        );
        assert_eq!(of_text("step 3", "/a", "3"), 1);
    }

    #[test]
    fn pointers_overlap_by_whole_steps() {
        assert!(overlap("/a/b", "/a") && overlap("/a", "/a") && overlap("", "/a"));
        assert!(!overlap("/a/b", "/a/bc") && !overlap("/a/0", "/a/1"));
    }
}
