//! Reads complete tables of SQLite databases, without writing.
//!
//! A crate with all of SQLite contains a C library with nine megabytes of source code; reading a table only requires a
//! walk over its tree. Pages, records and the schema follow file format 3. Changes still in a journal are not visible,
//! so a database with an unfinished journal is rejected.

mod pages;
mod record;
mod schema;

use std::collections::HashMap;
use std::path::Path;

use super::BAD_DATABASE;
use super::log::{Identity, Tally, open, unreadable};
use pages::Pages;
pub use record::SqlCell;
use repro_core::source::{Error, Location};
use schema::SqlTable;

/// The maximum size of a database.
const BYTES_CAP: u64 = 4 << 30;
/// The maximum number of rows read from one database.
const ROWS_CAP: usize = 32 << 20;

/// The fault of a database, as text.
pub type NoDatabase = String;

/// A database with known tables.
pub struct Database {
    pages: Pages,
    tables: HashMap<String, SqlTable>,
}

/// One row: its cells by column name.
pub struct DatabaseRow<'a> {
    columns: &'a [String],
    cells: Vec<SqlCell>,
    /// The key of the row. An integer primary key is an alias for it, and its own cell is empty.
    pub key: i64,
}

impl DatabaseRow<'_> {
    /// The cell of a column; none if the table has no such column.
    pub fn get(&self, column: &str) -> SqlCell {
        let at = self.columns.iter().position(|name| name == column);
        // A column that was added later has no cell in earlier rows.
        at.and_then(|at| self.cells.get(at)).cloned().unwrap_or(SqlCell::Null)
    }
}

impl Database {
    /// Reads the database at `path`.
    pub fn open(path: &Path, name: &str, hashed: bool) -> Result<(Self, Identity), Error> {
        let refused = |found: NoDatabase| {
            BAD_DATABASE.at(Location::file(name), "a complete and closed SQLite database", found)
        };
        for journal in ["-wal", "-journal"] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(journal);
            if std::fs::metadata(&beside).is_ok_and(|about| about.len() > 0) {
                return Err(refused(format!("`{name}{journal}` with pending changes")));
            }
        }
        let file = open(path, name)?;
        if file.metadata().map_err(|error| unreadable(name, &error))?.len() > BYTES_CAP {
            return Err(refused(format!("more than {BYTES_CAP} bytes")));
        }
        let (mut bytes, mut tally) = (Vec::new(), Tally::new(file, hashed));
        while tally.fill(&mut bytes, 1 << 20).map_err(|error| unreadable(name, &error))? > 0 {}
        let identity = tally.finish().map_err(|error| unreadable(name, &error))?;
        Self::of(bytes).map(|database| (database, identity)).map_err(refused)
    }

    /// Parses `bytes` as a database.
    pub fn of(bytes: Vec<u8>) -> Result<Self, NoDatabase> {
        let pages = Pages::of(bytes)?;
        let mut tables = HashMap::new();
        let schema = ["type", "name", "tbl_name", "rootpage", "sql"].map(str::to_owned);
        each_row(&pages, 1, &schema, &mut |row| {
            let (SqlCell::Text(kind), SqlCell::Text(name)) = (row.get("type"), row.get("name"))
            else {
                return;
            };
            let (SqlCell::Integer(root), SqlCell::Text(sql)) =
                (row.get("rootpage"), row.get("sql"))
            else {
                return;
            };
            if kind == "table"
                && let Some(table) =
                    u32::try_from(root).ok().and_then(|root| SqlTable::of(&sql, root))
            {
                tables.insert(name, table);
            }
        })?;
        Ok(Self { pages, tables })
    }

    /// Whether there is a table of this name with these columns.
    pub fn has(&self, table: &str, columns: &[&str]) -> bool {
        let found = self.tables.get(table);
        found.is_some_and(|table| {
            columns.iter().all(|name| table.columns.iter().any(|column| column == name))
        })
    }

    /// Calls `see` with each row of a table, in key order.
    pub fn rows(
        &self,
        table: &str,
        mut see: impl FnMut(&DatabaseRow<'_>),
    ) -> Result<(), NoDatabase> {
        let Some(table) = self.tables.get(table) else { return Err(format!("no table `{table}`")) };
        each_row(&self.pages, table.root, &table.columns, &mut see)
    }
}

fn each_row(
    pages: &Pages,
    root: u32,
    columns: &[String],
    see: &mut dyn FnMut(&DatabaseRow<'_>),
) -> Result<(), NoDatabase> {
    let mut rows = 0;
    pages.each_cell(root, &mut |key, payload| {
        rows += 1;
        if rows > ROWS_CAP {
            return Err(format!("more than {ROWS_CAP} rows"));
        }
        let cells = record::cells(payload).ok_or("a row that is not a record")?;
        see(&DatabaseRow { columns, cells, key });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables with pages of 512 bytes: a tree with inner pages, rows on overflow pages, columns added later.
    const FILE: &[u8] = include_bytes!("../../../../tests/corpus/import/mixed/mlflow.db");

    fn rows(bytes: &[u8], table: &str, column: &str) -> Result<Vec<SqlCell>, NoDatabase> {
        let database = Database::of(bytes.to_vec())?;
        let mut cells = Vec::new();
        database.rows(table, |row| cells.push(row.get(column)))?;
        Ok(cells)
    }

    #[test]
    fn rows_are_read_whole_and_in_order() {
        let steps = rows(FILE, "metrics", "step").unwrap();
        let wanted = (0..12).chain([0]).map(SqlCell::Integer);
        assert_eq!(steps, wanted.clone().chain(wanted).collect::<Vec<_>>());
        let values = rows(FILE, "metrics", "value").unwrap();
        assert_eq!(values[1], SqlCell::Real(0.5 + 1.0 / 32.0 + 1.0 / 1024.0));
        let notes = rows(FILE, "params", "value").unwrap();
        assert_eq!(notes, [SqlCell::Text("long ".repeat(200)), SqlCell::Text("long ".repeat(200))]);
        assert_eq!(rows(FILE, "params", "none").unwrap(), [SqlCell::Null, SqlCell::Null]);
        assert!(rows(FILE, "none", "x").is_err());
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_refused() {
        for length in (0..200).chain((200..FILE.len()).step_by(61)) {
            assert!(Database::of(FILE[..length].to_vec()).is_err(), "{length}");
        }
    }

    proptest::proptest! {
        /// Whatever bytes change, reading ends in rows or an error.
        #[test]
        fn any_database_is_read_or_refused(changes in proptest::collection::vec((0..FILE.len(), 0..=255_u8), 1..20)) {
            let mut bytes = FILE.to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            for (table, column) in [("metrics", "step"), ("params", "value"), ("runs", "name")] {
                let _ = rows(&bytes, table, column);
            }
        }
    }
}
