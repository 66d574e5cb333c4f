//! Logs that are tables whose first row contains the column names, as written by Lightning, Ultralytics and Keras.
//!
//! A table may exceed the document size limit, so it is read in chunks, each with the column names on top.

use std::io::Read;

use super::columns::{LogTable, Mapping};
use super::log::Log;
use super::run::LoggedRun;
use super::torn::RowEnds;
use super::{LONG_LINE, TORN_LINE};
use repro_core::source::{Document, Error, Location, Source};

/// The maximum number of bytes and values per chunk.
const PIECE_BYTES: usize = 4 << 20;
const PIECE_VALUES: usize = 200_000;

/// Reads one table.
pub fn parse<R: Read>(mut log: Log<R>, mapping: &Mapping) -> Result<LoggedRun, Error> {
    let name = log.name().to_owned();
    let mut table = LogTable::default();
    let mut ends = RowEnds::default();
    let mut torn = None;
    if let Some(header) = header(&mut log)? {
        let mut piece = Piece::below(&header);
        while let Some(row) = next_row(&mut log)? {
            // A resumed run may repeat its column names.
            if row.is_blank() || row.ended && row.text == header.text {
                continue;
            }
            if row.ended {
                ends.see(row.last_cell());
                piece.push(&row);
                if piece.is_full() {
                    piece.read(&name, &mut table, mapping)?;
                    piece.clear();
                }
                continue;
            }
            // The last row of a killed run may lack cells.
            piece.read(&name, &mut table, mapping)?;
            piece.clear();
            piece.push(&row);
            table.last_cell_may_be_cut = ends.may_be_cut(row.last_cell());
            if let Err(error) = piece.document(&name) {
                torn = Some(piece.shifted(error).place.clone());
                piece.clear();
            }
        }
        piece.read(&name, &mut table, mapping)?;
    }
    let identity = log.finish()?;
    let mut run = table.into_run(&name, identity, mapping)?;
    if let Some(place) = torn {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"));
    }
    Ok(run)
}

/// A row, which may span several lines because of a quoted cell.
struct Row {
    text: Vec<u8>,
    line: usize,
    ended: bool,
}

impl Row {
    /// The text of its last cell, without quotes.
    fn last_cell(&self) -> &str {
        let start = memchr::memrchr(b',', &self.text).map_or(0, |at| at + 1);
        let text = std::str::from_utf8(self.text.get(start..).unwrap_or_default());
        text.unwrap_or_default().trim().trim_matches('"').trim()
    }

    fn is_blank(&self) -> bool {
        self.text.iter().all(u8::is_ascii_whitespace)
    }

    fn is_comment(&self) -> bool {
        self.text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.text).starts_with(b"#")
    }

    /// Keeps one line feed of `\r\r\n`, which Python writes on Windows.
    fn trim_end(&mut self) {
        if self.ended {
            let end = self.text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
            self.text.truncate(end.map_or(0, |at| at + 1));
            self.text.push(b'\n');
        }
    }
}

/// The row with the column names, after comments.
fn header<R: Read>(log: &mut Log<R>) -> Result<Option<Row>, Error> {
    while let Some(row) = next_row(log)? {
        if !row.is_blank() && !row.is_comment() {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn next_row<R: Read>(log: &mut Log<R>) -> Result<Option<Row>, Error> {
    let name = log.name().to_owned();
    let mut row: Option<Row> = None;
    while let Some(line) = log.next_line()? {
        if line.cut {
            return Err(LONG_LINE.at(line.place(&name), "a line of at most 64 KiB", "more"));
        }
        let (number, ended) = (line.number, line.ended);
        let row = row.get_or_insert_with(|| Row { text: Vec::new(), line: number, ended });
        row.text.extend_from_slice(line.bytes);
        row.text.extend(ended.then_some(b'\n'));
        row.ended = ended;
        let quotes = row.text.iter().filter(|byte| **byte == b'"').count();
        if quotes % 2 == 0 || row.text.len() > PIECE_BYTES {
            break;
        }
    }
    row.iter_mut().for_each(Row::trim_end);
    Ok(row)
}

/// Rows below the column names.
struct Piece {
    header: Vec<u8>,
    text: Vec<u8>,
    values: usize,
    /// The lines of the log at which the rows start, and the number of header lines.
    lines: Vec<usize>,
    header_lines: usize,
}

impl Piece {
    fn below(header: &Row) -> Self {
        let text = header.text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&header.text);
        let mut text = text.to_vec();
        // Tables exported by dataframe libraries have an unnamed index column.
        if text.first() == Some(&b',') {
            text.splice(..0, *b"row");
        }
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        let header_lines = memchr::memchr_iter(b'\n', &text).count();
        Self { text: text.clone(), header: text, values: 0, lines: Vec::new(), header_lines }
    }

    fn push(&mut self, row: &Row) {
        self.lines.push(row.line);
        self.values += memchr::memchr_iter(b',', &row.text).count() + 2;
        self.text.extend_from_slice(&row.text);
    }

    fn is_full(&self) -> bool {
        self.values > PIECE_VALUES || self.text.len() > PIECE_BYTES
    }

    fn clear(&mut self) {
        (self.text, self.values) = (self.header.clone(), 0);
        self.lines.clear();
    }

    fn document(&self, name: &str) -> Result<Document, Error> {
        Document::parse_csv(Source::new(name, self.text.clone())?)
    }

    fn read(&self, name: &str, table: &mut LogTable, mapping: &Mapping) -> Result<(), Error> {
        let shift = |error| self.shifted(error);
        let document = self.document(name).map_err(shift)?;
        for (row, line) in document.root().items()?.zip(&self.lines) {
            table.row(row, *line, mapping).map_err(shift)?;
        }
        Ok(())
    }

    /// Moves an error to its location in the log.
    fn shifted(&self, error: Error) -> Error {
        let place = error.place.clone();
        match self.lines.first() {
            Some(first) if place.line > self.header_lines => {
                let line = first + (place.line - self.header_lines) - 1;
                error.moved(Location { line, ..place })
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::run::Metric;

    fn read(text: &str, map: &str) -> Result<LoggedRun, Error> {
        let map: Vec<_> = (!map.is_empty()).then(|| map.to_owned()).into_iter().collect();
        parse(Log::new(text.as_bytes(), "l.csv", true), &Mapping::parse(&map).unwrap())
    }

    #[test]
    fn empty_cells_are_absent() {
        let text = "step,train/loss,val_loss,tokens\r\n0,,10.80,0\r\n10.0,4.50,,5120\r\n20,4.25,3.50,10240\r\n";
        let run = read(text, "loss=train/loss").unwrap();
        let cells = |rows: &[super::super::LogRow], row: usize| -> Vec<String> {
            rows[row]
                .cells
                .iter()
                .map(|(metric, number)| format!("{}={}", metric.name(), number.text()))
                .collect()
        };
        assert_eq!(cells(&run.training, 0), ["loss=4.50", "tokens=5120"]);
        assert_eq!(cells(&run.evaluations, 1), ["val_loss=3.50", "tokens=10240"]);
        assert_eq!((run.training.len(), run.evaluations.len()), (2, 2));
        assert_eq!(run.evaluations[0].get(&Metric::ValidationLoss).unwrap().text(), "10.80");
        assert!(run.findings.is_empty());
    }

    #[test]
    fn what_programs_write_around_rows_changes_nothing() {
        let plain = read("step,val_loss\n1,3.5\n2,3.25\n", "").unwrap();
        for text in [
            "step,val_loss\n1,3.5\n2,3.25\n\n",
            "step,val_loss\r\r\n1,3.5\r\r\n2,3.25\r\r\n",
            "step,val_loss\n1,3.5\nstep,val_loss\n2,3.25\n",
            "# of seed 3, by hand\n\nstep,val_loss\n1,3.5\n2,3.25\n",
            "step,val_loss\n1,3.5\n2,None\n2,3.25\n3,N/A\n",
        ] {
            let run = read(text, "").unwrap();
            assert_eq!(run.evaluations, plain.evaluations, "{text:?}");
            assert!(run.findings.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_resumed_table_is_one_course_whatever_other_columns_it_has() {
        for (columns, cells) in [
            ("step,lr,val_loss", ["1,0.1,3.5", "2,0.1,3.25", "2,0.2,3.250", "3,0.1,3.125"]),
            ("step,val_loss,grad_norm", ["1,3.5,2", "2,3.25,1.99", "2,3.25,1.98", "3,3.125,1.9"]),
            ("step,lr,val_loss", ["1,0.1,", "2,0.1,3.25", "1,0.1,", "2,0.1,3.25"]),
        ] {
            let text =
                format!("{columns}\n{}\n{}\n{}\n{}\n", cells[0], cells[1], cells[2], cells[3]);
            let back = text.replacen(cells[2], &format!("{}\n{}", cells[0], cells[2]), 1);
            let run = read(&back, "").unwrap();
            assert!(
                run.findings.iter().any(|f| f.error.code.id == "import::repeated-steps"),
                "{back}"
            );
        }
        let nothing = read("step,lr,val_loss\n1,0.1,\n2,0.1,\n3,0.1,3.5\n1,0.1,\n2,0.1,\n", "");
        assert_eq!(nothing.unwrap_err().code.id, "import::decreasing-step");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, code, line, column) in [
            ("step,loss\n0,1\n,2\n", "import::no-step", 3, 1),
            ("step,loss\n0,1,2\n", "source::syntax", 2, 1),
            ("step,loss\n0,high\n", "import::not-a-number", 2, 3),
            ("step,loss\n5,1\n4,1\n", "import::decreasing-step", 3, 1),
            ("a,b\n1,2\n", "import::no-step", 2, 1),
            ("step,loss\n", "import::unknown-columns", 0, 0),
        ] {
            let error = read(text, "").unwrap_err();
            let place = (error.place.line, error.place.column);
            assert_eq!((error.code.id, place), (code, (line, column)), "{text}: {error}");
        }
    }

    #[test]
    fn a_last_number_that_may_be_cut_is_not_read() {
        let text = "step,lr,val_loss\n10,0.1,4.5012\n20,0.1,4.2512\n30,0.1,";
        let codes = |run: &LoggedRun| -> Vec<_> {
            run.findings.iter().map(|f| (f.error.code.id, f.error.place.line)).collect()
        };
        for cut in ["3.99", "3.", "3", ""] {
            let run = read(&format!("{text}{cut}"), "").unwrap();
            assert_eq!(codes(&run), [("import::truncated-value", 4)], "{cut}");
            assert_eq!(
                (run.torn.clone(), run.last_step()),
                (Some(Metric::ValidationLoss), Some(30))
            );
            assert_eq!((run.training.len(), run.evaluations.len()), (3, 2));
        }
        for whole in ["3.9912", "nan", "3.9\n", "3.9\r\n"] {
            let run = read(&format!("{text}{whole}"), "").unwrap();
            assert_eq!((codes(&run), run.evaluations.len()), (vec![], 3), "{whole}");
        }
        // Under its own name, and if the step may be truncated.
        let run = read("step,eval/wer\n10,0.25\n20,0.21\n30,0.1", "").unwrap();
        assert_eq!(run.torn, Some(Metric::Other("eval/wer".into())));
        let run = read("val_loss,step\n4.5,1000\n4.2,2000\n4.1,30", "").unwrap();
        assert_eq!((codes(&run), run.evaluations.len()), (vec![("import::truncated-line", 4)], 2));
    }

    #[test]
    fn a_resumed_run_is_one_course_where_it_tells_the_same() {
        let start = "step,loss,tok_per_sec,val_loss\n10,4.5,0.1,\n20,4.2,0.1,4.4\n30,4.1,0.1,\n";
        let run =
            read(&format!("{start}20,4.2,0.1,4.4\n30,4.1,0.2,\n40,4.0,0.1,4.0\n"), "").unwrap();
        let steps: Vec<_> = run.training.iter().map(|row| row.step).collect();
        assert_eq!((steps, run.evaluations.len()), (vec![10, 20, 30, 40], 2));
        let codes: Vec<_> = run.findings.iter().map(|f| f.error.code.id).collect();
        assert_eq!(codes, ["import::repeated-values", "import::repeated-steps"]);
        for (rest, code, lines) in [
            ("20,4.3,0.1,4.4\n", "import::conflicting-values", "`sed '3,4d'`"),
            ("20,4.2,0.1,4.5\n", "import::conflicting-values", "`sed '3,4d'`"),
            ("20,4.2,0.1,4.4\n30,4.0,0.1,\n", "import::conflicting-values", "`sed '3,4d'`"),
            ("25,4.2,0.1,\n", "import::decreasing-step", "line 4, for example with `sed '4d'`"),
            ("20,,0.1,\n", "import::decreasing-step", "`sed '3,4d'`"),
        ] {
            let error = read(&format!("{start}{rest}"), "").unwrap_err();
            assert_eq!(error.code.id, code, "{rest}");
            assert!(error.help.contains(lines), "{rest}: {}", error.help);
        }
    }

    #[test]
    fn a_course_is_the_same_in_all_but_times() {
        let read = |acc: &str| {
            read(&format!("step,loss,acc,sec\n10,4.5,0.1,1\n20,4.2,0.2,2\n10,4.5,{acc},3\n"), "")
        };
        assert_eq!(read("0.1").unwrap().training.len(), 2);
        assert_eq!(read("0.3").unwrap_err().code.id, "import::conflicting-values");
    }

    proptest::proptest! {
        /// Any input ends in a run or an error.
        #[test]
        fn any_table_is_read_or_refused(text in "(step|loss|val_loss|[0-9.,\"\n\ra-z]){0,30}") {
            let _ = read(&text, "");
        }
    }
}
