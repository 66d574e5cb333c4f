//! The layout of a run's rows in the tables of its bundle, each within the document size limit.

use std::collections::BTreeSet;
use std::ops::Range;

use super::TOO_MANY_NUMBERS;
use super::run::{LogRow, LoggedRun, Metric};
use repro_core::source::{DOCUMENT_CAP, Error, Location, VALUE_CAP};

/// The table of numbers about the whole run.
pub const SUMMARY: &str = "data/printed/summary.csv";
/// The columns of that table.
pub const SUMMARY_KEY: &str = "metric";
pub const SUMMARY_VALUE: &str = "value";
/// The maximum length of a piece in bytes, with room for the column names.
const PIECE_BYTES: usize = DOCUMENT_CAP / 2;

/// The rows of a run that a table contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// Training rows.
    Training,
    /// Evaluation rows.
    Validation,
}

impl RowKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Training, Self::Validation];

    /// The rows of a run.
    pub fn rows(self, run: &LoggedRun) -> &[LogRow] {
        match self {
            Self::Training => &run.training,
            Self::Validation => &run.evaluations,
        }
    }

    /// The file of a piece, counted from 1.
    pub fn file(self, piece: usize) -> String {
        let stem = match self {
            Self::Training => "training",
            Self::Validation => "validation",
        };
        match piece {
            1 => format!("data/printed/{stem}.csv"),
            _ => format!("data/printed/{stem}-{piece}.csv"),
        }
    }
}

/// Splits rows into pieces within the limit for values per document.
pub fn pieces(rows: &[LogRow]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut columns, mut bytes) = (0, BTreeSet::new(), 0_usize);
    for (at, row) in rows.iter().enumerate() {
        let new = row.cells.iter().filter(|(metric, _)| !columns.contains(metric)).count();
        let width = columns.len() + new + 2;
        let longer =
            row.cells.iter().map(|(_, number)| number.text().len()).sum::<usize>() + width + 20;
        let fits =
            (at - start + 2).saturating_mul(width) <= VALUE_CAP && bytes + longer <= PIECE_BYTES;
        if !fits && at > start {
            pieces.push(start..at);
            (start, bytes) = (at, 0);
            columns.clear();
        }
        bytes += longer;
        columns.extend(row.cells.iter().map(|(metric, _)| metric));
    }
    if start < rows.len() {
        pieces.push(start..rows.len());
    }
    pieces
}

/// The piece that contains a row, counted from one.
pub fn piece_of(pieces: &[Range<usize>], row: usize) -> Option<usize> {
    pieces.iter().position(|piece| piece.contains(&row)).map(|piece| piece + 1)
}

/// The tables of a run, with their names.
pub fn all(run: &LoggedRun) -> Result<Vec<(String, String)>, Error> {
    let mut tables = Vec::new();
    for kind in RowKind::ALL {
        let rows = kind.rows(run);
        for (piece, range) in (1..).zip(pieces(rows)) {
            let name = kind.file(piece);
            let text = table(&name, rows.get(range).unwrap_or_default(), run)?;
            tables.push((name, text));
        }
    }
    if !run.summary.is_empty() {
        tables.push((SUMMARY.to_owned(), summary(run)));
    }
    Ok(tables)
}

/// Numbers about the whole run; if a name repeats, the last value is written.
fn summary(run: &LoggedRun) -> String {
    let mut text = format!("{SUMMARY_KEY},{SUMMARY_VALUE}\n");
    for (at, (name, number)) in run.summary.iter().enumerate() {
        let again = run.summary.iter().skip(at + 1).any(|(later, _)| later == name);
        if !again {
            text.push_str(&format!("{},{}\n", quoted(name), number.text()));
        }
    }
    text
}

/// Writes rows as the table `name` of printed numbers. A table over the document size limit is rejected before anything
/// is written.
fn table(name: &str, rows: &[LogRow], run: &LoggedRun) -> Result<String, Error> {
    let told: BTreeSet<&Metric> =
        rows.iter().flat_map(|row| row.cells.iter().map(|(metric, _)| metric)).collect();
    let columns: std::collections::HashMap<&Metric, usize> =
        told.iter().copied().zip(0..).collect();
    let mut text = String::from("step");
    for metric in &told {
        text.push(',');
        text.push_str(&quoted(&heading(metric, run)));
    }
    text.push('\n');
    for row in rows {
        let mut cells = vec![""; told.len()];
        // If a row has a metric twice, the first value is written.
        for (metric, number) in row.cells.iter().rev() {
            if let Some(cell) = columns.get(metric).and_then(|at| cells.get_mut(*at)) {
                *cell = number.text();
            }
        }
        text.push_str(&row.step.to_string());
        for cell in cells {
            text.push(',');
            text.push_str(cell);
        }
        text.push('\n');
        if text.len() > DOCUMENT_CAP {
            let expected = format!("at most {DOCUMENT_CAP} bytes of printed numbers");
            let found = format!("{} bytes or more", text.len());
            return Err(TOO_MANY_NUMBERS.at(Location::file(name), expected, found));
        }
    }
    Ok(text)
}

/// The name of a column: the log's name, unless it could be mistaken for a repro name.
pub fn heading(metric: &Metric, run: &LoggedRun) -> String {
    if let Some(theirs) = run.theirs.get(metric) {
        return theirs.to_string();
    }
    match metric {
        Metric::Other(name) => {
            let ours = name.is_empty()
                || &**name == "step"
                || Metric::KNOWN.iter().any(|known| known.name() == &**name);
            if ours { format!("their {name}") } else { name.to_string() }
        }
        known => known.name().to_owned(),
    }
}

/// A table cell, quoted if necessary.
fn quoted(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::super::log::Identity;
    use super::super::run::LogNumber;
    use super::*;
    use repro_core::digest::Digest;
    use repro_core::source::{Document, Source};

    fn other(name: &str) -> Metric {
        Metric::Other(name.into())
    }

    fn row(step: u64, cells: Vec<(Metric, &str)>) -> LogRow {
        let number = |text: &str| LogNumber::parse(text.as_bytes()).unwrap();
        let cells = cells.into_iter().map(|(metric, text)| (metric, number(text))).collect();
        LogRow { step, cells }
    }

    fn run(training: Vec<LogRow>) -> LoggedRun {
        let identity = Identity { sha256: None, bytes: 0 };
        LoggedRun { training, ..LoggedRun::new("f", identity, Digest::of(b"")) }
    }

    #[test]
    fn tables_keep_what_is_printed() {
        let run = run(vec![
            row(0, vec![(Metric::ValidationLoss, "3.2790"), (other("a,b"), "1")]),
            row(5, vec![(other("loss"), "nan"), (other(""), "2.0")]),
        ]);
        let wanted = "step,val_loss,their ,\"a,b\",their loss\n0,3.2790,,1,\n5,,2.0,,nan\n";
        assert_eq!(
            all(&run).unwrap(),
            [("data/printed/training.csv".to_owned(), wanted.to_owned())]
        );
    }

    #[test]
    fn long_tables_are_cut_into_documents() {
        let rows: Vec<_> = (0..100_000).map(|step| row(step, vec![(other("a"), "1.5")])).collect();
        let run = run(rows);
        let tables = all(&run).unwrap();
        assert_eq!(tables.len(), 2);
        let mut rows = 0;
        for (name, text) in &tables {
            let source = Source::new(name.as_str(), text.clone().into_bytes()).unwrap();
            rows += Document::parse_csv(source).unwrap().root().items().unwrap().len();
        }
        assert_eq!((rows, tables[1].0.as_str()), (100_000, "data/printed/training-2.csv"));
        let pieces = pieces(&run.training);
        let found = [0, 99_999, 100_000].map(|row| piece_of(&pieces, row));
        assert_eq!(found, [Some(1), Some(2), None]);
    }
}
