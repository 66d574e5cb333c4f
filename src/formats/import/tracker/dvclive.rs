//! The folder that DVCLive writes: a table per metric below `plots/metrics`, and `metrics.json` with the last values.

use std::path::Path;

use super::files::{one_identity, text};
use super::mlflow::files_below;
use super::settings::{collect, kept, yaml_members};
use crate::import::points::{Points, Reading};
use crate::import::run::{LogNumber, LoggedRun};
use crate::import::torn::RowEnds;
use crate::import::{BAD_RECORD, NO_STEP, TORN_LINE};
use repro_core::source::{Document, Error, Location, Source};

/// The folders of the tables; old versions use `scalars`.
const TABLES: [&str; 2] = ["plots/metrics", "scalars"];

/// Whether a folder is a DVCLive folder.
pub fn is_folder(folder: &Path) -> bool {
    TABLES.iter().any(|tables| {
        files_below(&folder.join(tables)).is_ok_and(|files| files.iter().any(|file| is_table(file)))
    })
}

fn is_table(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "tsv")
}

/// Reads one folder.
pub fn parse(folder: &Path, name: &str, every: u64) -> Result<LoggedRun, Error> {
    let (mut points, mut identities, mut torn) = (Points::new(every), Vec::new(), Vec::new());
    for tables in TABLES.map(|tables| folder.join(tables)) {
        for file in files_below(&tables)?.into_iter().filter(|file| is_table(file)) {
            let (source, identity) = text(&file)?;
            let rest = file.strip_prefix(&tables).unwrap_or(&file).with_extension("");
            let metric: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
            torn.extend(table(&metric.join("/"), &source, &mut points)?);
            identities.push((source.name().to_owned(), identity));
        }
    }
    let mut summary = Vec::new();
    let last = folder.join("metrics.json");
    if last.is_file() {
        let (source, identity) = text(&last)?;
        identities.push((source.name().to_owned(), identity));
        collect("", "/", Document::parse_json(source)?.root(), &mut summary);
    }
    let (identity, parts) = one_identity(identities);
    let mut run = points.into_run(name, identity)?;
    run.parts = parts;
    run.sum_up(summary.into_iter().filter(|(name, _)| name != "step"));
    let params = folder.join("params.yaml");
    if params.is_file() {
        // A run counts without its settings, which may be any kind of YAML.
        match yaml_members(text(&params)?.0) {
            Ok(settings) => run.config = kept(settings),
            Err(error) => run.note(error),
        }
    }
    torn.into_iter().for_each(|place| {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"))
    });
    Ok(run)
}

/// Reads the table of one metric: `step` and the metric, with or without a time.
fn table(metric: &str, source: &Source, points: &mut Points) -> Result<Option<Location>, Error> {
    let mut lines = source.text().lines().zip(1..);
    let place = |line: usize| Location { line, column: 1, ..Location::file(source.name()) };
    let header: Vec<&str> =
        lines.next().map(|(line, _)| line.split('\t').collect()).unwrap_or_default();
    let column = |name: &str| header.iter().position(|column| *column == name);
    let Some(step_at) = column("step") else {
        return Err(NO_STEP.at(place(1), "a column `step`", format!("`{}`", header.join("`, `"))));
    };
    let value_at = header.len().saturating_sub(1);
    let cut = !source.text().ends_with('\n');
    let (mut lines, mut ends) = (lines.peekable(), RowEnds::default());
    while let Some((line, number)) = lines.next() {
        let cells: Vec<&str> = line.split('\t').collect();
        let end = cells.last().copied().unwrap_or_default();
        if cut && lines.peek().is_none() && ends.may_be_cut(end) {
            return Ok(Some(place(number)));
        }
        ends.see(end);
        let step = cells.get(step_at).and_then(|cell| cell.parse::<i64>().ok());
        let value = cells.get(value_at).and_then(|cell| LogNumber::parse(cell.as_bytes()));
        match (step, value) {
            (Some(step), Some(value)) if cells.len() == header.len() => {
                points.add_signed(metric, step, Reading::Printed(value));
            }
            _ if cut && lines.peek().is_none() => return Ok(Some(place(number))),
            _ => {
                return Err(BAD_RECORD.at(
                    place(number),
                    "a step and a number",
                    format!("`{line}`"),
                ));
            }
        }
    }
    Ok(None)
}
