//! CSV and, where the trainer is built, YAML.

use repro_core::source::{Document, Kind, Source, Value};

use super::{refused, tree};

/// What is read has places; a table that is written again with every cell in quotes reads the same.
pub fn check(bytes: &[u8]) {
    match Source::new("fuzz.csv", bytes.to_vec()).and_then(Document::parse_csv) {
        Ok(document) => table(&document),
        Err(error) => refused(&error, Some(bytes)),
    }
    #[cfg(feature = "train")]
    match Source::new("fuzz.yaml", bytes.to_vec()).and_then(repro_core::yaml::parse) {
        Ok(document) => tree::check(&document),
        Err(error) => refused(&error, Some(bytes)),
    }
}

fn table(document: &Document) {
    tree::check(document);
    let Kind::Array(rows) = &document.root.kind else { panic!("a table is a list of rows") };
    let cells: Vec<_> = rows.iter().map(cells).collect();
    let Some(first) = cells.first() else { return };
    let names: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
    let mut text = quoted(&names);
    for row in &cells {
        assert!(row.iter().map(|(name, _)| *name).eq(names.iter().copied()), "rows of one shape");
        text += &quoted(&row.iter().map(|(_, cell)| *cell).collect::<Vec<_>>());
    }
    let source = Source::new("again.csv", text.into_bytes()).expect("UTF-8");
    let again = Document::parse_csv(source).expect("a table that is written again");
    let Kind::Array(rows_again) = &again.root.kind else { panic!("a table is a list of rows") };
    assert!(rows_again.iter().map(self::cells).eq(cells));
}

/// Names and texts of a row.
fn cells(row: &Value) -> Vec<(&str, &str)> {
    let Kind::Object(members) = &row.kind else { panic!("a row is a table") };
    members
        .iter()
        .map(|member| match &member.value.kind {
            Kind::Text(text) => (&*member.key, &**text),
            other => panic!("a cell is {}", other.word()),
        })
        .collect()
}

fn quoted(cells: &[&str]) -> String {
    let cells: Vec<_> =
        cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
    cells.join(",") + "\n"
}
