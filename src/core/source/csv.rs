//! Parses CSV (RFC 4180) into the shared tree: a list of rows, each keyed by the header, with strings as cells.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::{
    DUPLICATE_KEY, Error, Kind, Member, SYNTAX, Source, TOO_MANY_VALUES, VALUE_CAP, Value,
};

/// Parses a whole table with a header row.
pub fn parse(source: &Source) -> Result<Value, Error> {
    let mut reader = Reader { source, at: 0, values: 0 };
    let header = reader.row()?.unwrap_or_default();
    let mut seen = HashSet::new();
    for cell in &header {
        if cell.text.is_empty() {
            return Err(refuse(source, &cell.span, "a name for each column", "an empty cell"));
        }
        if !seen.insert(&*cell.text) {
            let place = source.place(cell.span.clone());
            let found = format!("`{}` again", cell.text);
            return Err(DUPLICATE_KEY.at(place, "each column once", found));
        }
    }
    if header.is_empty() {
        return Err(refuse(source, &(0..0), "a header row", "an empty file"));
    }
    let mut rows = Vec::new();
    while let Some(cells) = reader.row()? {
        rows.push(keyed(source, &header, cells)?);
    }
    Ok(Value { kind: Kind::Array(rows), span: 0..source.text().len() })
}

struct Cell {
    text: Arc<str>,
    span: Range<usize>,
}

fn refuse(source: &Source, span: &Range<usize>, expected: &str, found: &str) -> Error {
    SYNTAX.at(source.place(span.clone()), expected, found)
}

/// One row as a table; its span goes from the first cell to the last.
fn keyed(source: &Source, header: &[Cell], cells: Vec<Cell>) -> Result<Value, Error> {
    let start = cells.first().map_or(0, |cell| cell.span.start);
    let span = start..cells.last().map_or(start, |cell| cell.span.end);
    if cells.len() != header.len() {
        let found = cells.len().to_string();
        return Err(refuse(source, &span, &format!("{} cells", header.len()), &found));
    }
    let members = header.iter().zip(cells).map(|(column, cell)| Member {
        key: column.text.clone(),
        key_span: column.span.clone(),
        value: Value { kind: Kind::Text((*cell.text).into()), span: cell.span },
    });
    Ok(Value { kind: Kind::Object(members.collect()), span })
}

struct Reader<'a> {
    source: &'a Source,
    at: usize,
    /// The number of cells and rows so far.
    values: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.source.text().get(self.at..).unwrap_or_default()
    }

    /// The next row, or none at the end of the text.
    fn row(&mut self) -> Result<Option<Vec<Cell>>, Error> {
        if self.rest().is_empty() {
            return Ok(None);
        }
        let mut cells = Vec::new();
        self.count()?;
        loop {
            self.count()?;
            cells.push(if self.rest().starts_with('"') { self.quoted()? } else { self.plain()? });
            let rest = self.rest();
            let (more, width) = match rest.as_bytes() {
                [b',', ..] => (true, 1),
                [b'\n', ..] => (false, 1),
                [b'\r', b'\n', ..] => (false, 2),
                [] => (false, 0),
                _ => {
                    let here = self.at..self.at + 1;
                    return Err(refuse(
                        self.source,
                        &here,
                        "a comma or the end of the line",
                        "more text",
                    ));
                }
            };
            self.at += width;
            if !more {
                return Ok(Some(cells));
            }
        }
    }

    /// Counts one more value.
    fn count(&mut self) -> Result<(), Error> {
        self.values += 1;
        if self.values <= VALUE_CAP {
            return Ok(());
        }
        let place = self.source.place(self.at..self.at + 1);
        Err(TOO_MANY_VALUES.at(place, format!("at most {VALUE_CAP} cells and rows"), "more"))
    }

    fn plain(&mut self) -> Result<Cell, Error> {
        let rest = self.rest();
        let length = rest.find([',', '\n', '\r', '"']).unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default().into();
        let span = self.at..self.at + length;
        self.at = span.end;
        Ok(Cell { text, span })
    }

    /// A quoted cell, in which two quotes represent one.
    fn quoted(&mut self) -> Result<Cell, Error> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(length) = rest.find('"') else {
                return Err(refuse(self.source, &(start..start + 1), "a closing quote", "none"));
            };
            text.push_str(rest.get(..length).unwrap_or_default());
            let doubled = rest.as_bytes().get(length + 1) == Some(&b'"');
            self.at += length + if doubled { 2 } else { 1 };
            if !doubled {
                return Ok(Cell { text: text.into(), span: start..self.at });
            }
            text.push('"');
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::source::{Document, Error, Source, VALUE_CAP};

    fn parse(text: &str) -> Result<Document, Error> {
        Document::parse(Source::new("t.csv", text.into()).unwrap())
    }

    #[test]
    fn rows_are_keyed_by_the_header() {
        let text = "task,accuracy,note\ncopa,0.70,\"a, \"\"b\"\"\nc\"\r\nboolq,,\n";
        let table = parse(text).unwrap();
        let cell = table.root().at("task=copa/accuracy").unwrap();
        assert_eq!(cell.text().unwrap(), "0.70");
        assert_eq!((cell.place().line, cell.place().column), (2, 6));
        assert_eq!(table.root().at("/0/note").unwrap().text().unwrap(), "a, \"b\"\nc");
        let later = table.root().at("task=boolq/task").unwrap();
        assert_eq!((later.place().line, later.place().column), (4, 1));
        assert_eq!(table.root().at("/1/accuracy").unwrap().text().unwrap(), "");
        assert_eq!(parse("a\n1").unwrap().root().items().unwrap().len(), 1);
    }

    #[test]
    fn cells_are_bounded() {
        parse(&"a\n".repeat(VALUE_CAP / 2)).unwrap();
        let error = parse(&"a\n".repeat(VALUE_CAP / 2 + 1)).unwrap_err();
        assert_eq!(error.code.id, "source::too-many-values");
        assert_eq!(error.place.line, VALUE_CAP / 2 + 1);
        let wide = format!("{}\n", ",".repeat(VALUE_CAP));
        assert_eq!(parse(&wide).unwrap_err().code.id, "source::too-many-values");
    }

    #[test]
    fn broken_tables_are_refused() {
        for (text, code, line) in [
            ("", "source::syntax", 1),
            ("a,,b\n", "source::syntax", 1),
            ("a,a\n1,2\n", "source::duplicate-key", 1),
            ("a,b\n1\n", "source::syntax", 2),
            ("a,b\n1,2,3\n", "source::syntax", 2),
            ("a\n\"x\n", "source::syntax", 2),
            ("a\n\"x\"y\n", "source::syntax", 2),
            ("a\nx\"y\"\n", "source::syntax", 2),
            ("a\nb\rc\n", "source::syntax", 2),
            ("a,b\n\n", "source::syntax", 2),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code.id, error.place.line), (code, line), "{text:?}");
        }
    }

    proptest::proptest! {
        /// Whatever cells are written with quotes come back as they were.
        #[test]
        fn quoted_cells_survive(cells in proptest::collection::vec("[a,\"\n\r é]{0,6}", 1..5)) {
            let quoted: Vec<_> = cells.iter().map(|c| format!("\"{}\"", c.replace('"', "\"\""))).collect();
            let names: Vec<_> = (0..cells.len()).map(|i| format!("c{i}")).collect();
            let table = parse(&format!("{}\n{}\n", names.join(","), quoted.join(","))).unwrap();
            for (name, cell) in names.iter().zip(&cells) {
                let read = table.root().at(&format!("/0/{name}")).unwrap();
                proptest::prop_assert_eq!(read.text().unwrap(), cell);
            }
        }
    }
}
