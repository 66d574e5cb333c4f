//! Reads MLflow runs from the folders of a file store or from a SQLite database.
//!
//! A store has a folder per run with a file per metric, whose lines are `timestamp value step`; a database has the same
//! in tables, whose columns differ between versions. If a metric has several values at one step, the latest counts, as
//! in MLflow, and among equal times the largest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::files::{one_identity, text};
use super::settings::{kept, setting, yaml_members};
use crate::import::log::{Identity, unreadable};
use crate::import::points::{Points, Reading};
use crate::import::run::{LogNumber, LoggedRun};
use crate::import::sqlite::{Database, DatabaseRow, NoDatabase, SqlCell};
use crate::import::{BAD_DATABASE, BAD_RECORD, NO_METRICS, TORN_LINE, UNFINISHED};
use repro_core::source::{Error, Location, Source};

/// The tag with the name of a run.
const RUN_NAME: &str = "mlflow.runName";
/// The maximum depth of metric files, whose names may contain slashes.
const DEEPEST: usize = 8;
/// The maximum number of files per run.
const FILES_CAP: usize = 20_000;

/// One value of a metric.
struct Logged {
    step: i64,
    time: i64,
    value: LogNumber,
}

/// The known facts about a run.
#[derive(Default)]
struct Told {
    name: Option<String>,
    experiment: Option<String>,
    status: Option<String>,
    deleted: bool,
    metrics: BTreeMap<String, Vec<Logged>>,
    settings: Map<String, Json>,
}

impl Told {
    fn into_run(mut self, file: &str, identity: Identity, every: u64) -> Result<LoggedRun, Error> {
        let mut points = Points::new(every);
        for (name, mut values) in std::mem::take(&mut self.metrics) {
            let order = |one: &Logged, other: &Logged| {
                let (a, b) = (one.value.value(), other.value.value());
                one.time
                    .cmp(&other.time)
                    .then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal))
            };
            values.sort_by(order);
            for logged in values {
                points.add_signed(&name, logged.step, Reading::Printed(logged.value));
            }
        }
        let mut run = points.into_run(file, identity)?;
        run.name = self.name.unwrap_or_default();
        run.group = self.experiment;
        run.seed = self.settings.get("seed").filter(|seed| seed.is_u64()).map(Json::to_string);
        run.config = kept(self.settings);
        run.ended = self.status.as_deref().map(|status| status == "FINISHED");
        if let Some(status) = self.status {
            if status != "FINISHED" {
                let found = format!("`{status}`");
                run.note(UNFINISHED.at(Location::file(file), "the status `FINISHED`", found));
            }
            run.extra.insert("status".to_owned(), status.into());
        }
        Ok(run)
    }
}

/// Whether a folder is a run.
pub fn is_run_folder(folder: &Path) -> bool {
    folder.join("meta.yaml").is_file() && folder.join("metrics").is_dir()
}

/// Whether a run was deleted; MLflow keeps it on disk but no longer shows it.
pub fn is_deleted(folder: &Path) -> bool {
    let about = text(&folder.join("meta.yaml")).and_then(|(meta, _)| yaml_members(meta));
    about.is_ok_and(|about| about.get("lifecycle_stage").and_then(Json::as_str) == Some("deleted"))
}

/// Reads the folder of a run.
pub fn parse_folder(folder: &Path, name: &str, every: u64) -> Result<LoggedRun, Error> {
    let mut told = Told::default();
    let (mut identities, mut torn) = (Vec::new(), Vec::new());
    let (meta, identity) = text(&folder.join("meta.yaml"))?;
    identities.push((meta.name().to_owned(), identity));
    let about = yaml_members(meta)?;
    let word = |key: &str| about.get(key).and_then(Json::as_str).map(str::to_owned);
    told.name = word("run_name").or_else(|| word("name")).filter(|name| !name.is_empty());
    told.status = about.get("status").map(status_word);
    let experiment = folder.parent().map(|parent| parent.join("meta.yaml"));
    if let Some(Ok((source, _))) = experiment.filter(|path| path.is_file()).map(|path| text(&path))
    {
        let about = yaml_members(source)?;
        told.experiment = about.get("name").and_then(Json::as_str).map(str::to_owned);
    }
    for file in files_below(&folder.join("metrics"))? {
        let (source, identity) = text(&file)?;
        let metric = below(&folder.join("metrics"), &file);
        let (values, cut) = values(&source)?;
        told.metrics.insert(metric, values);
        torn.extend(cut);
        identities.push((source.name().to_owned(), identity));
    }
    for file in files_below(&folder.join("params"))? {
        let (source, _) = text(&file)?;
        told.settings
            .insert(below(&folder.join("params"), &file), setting(source.text().trim_end()));
    }
    if told.name.is_none()
        && let Ok((source, _)) = text(&folder.join("tags").join(RUN_NAME))
    {
        told.name = Some(source.text().trim().to_owned());
    }
    let (identity, parts) = one_identity(identities);
    let mut run = told.into_run(name, identity, every)?;
    run.parts = parts;
    torn.into_iter().for_each(|place| {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"))
    });
    Ok(run)
}

/// The lines of a metric file. A last line without a line feed may be truncated in its step, which is at the end; it
/// counts only if its step is above the previous one.
fn values(source: &Source) -> Result<(Vec<Logged>, Option<Location>), Error> {
    let mut values: Vec<Logged> = Vec::new();
    let mut lines = source.text().lines().zip(1..).peekable();
    let is_open = !source.text().ends_with('\n');
    while let Some((line, number)) = lines.next() {
        let place = Location { line: number, column: 1, ..Location::file(source.name()) };
        let may_be_cut = is_open && lines.peek().is_none() && number > 1;
        let before = values.last().map_or(i64::MIN, |before| before.step);
        match logged(line).filter(|value| !may_be_cut || value.step > before) {
            Some(value) => values.push(value),
            None if may_be_cut => return Ok((values, Some(place))),
            None => {
                return Err(BAD_RECORD.at(place, "`timestamp value step`", format!("`{line}`")));
            }
        }
    }
    Ok((values, None))
}

/// A line of a metric file; old lines have no step.
fn logged(line: &str) -> Option<Logged> {
    let mut words = line.split_ascii_whitespace();
    let time = words.next()?.parse().ok()?;
    let value = LogNumber::parse(words.next()?.as_bytes())?;
    let step = words.next().map_or(Some(0), |step| step.parse().ok())?;
    Some(Logged { step, time, value })
}

/// The status as a word; files contain its number.
fn status_word(status: &Json) -> String {
    const WORDS: [&str; 5] = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"];
    let numbered =
        status.as_u64().and_then(|number| WORDS.get(usize::try_from(number).ok()?.checked_sub(1)?));
    match (numbered, status.as_str()) {
        (Some(word), _) => (*word).to_owned(),
        (None, Some(word)) => word.to_owned(),
        (None, None) => status.to_string(),
    }
}

/// The name of a metric or parameter, which is the relative path of its file.
fn below(folder: &Path, file: &Path) -> String {
    let rest = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The regular files below a folder, by name; none if the folder does not exist.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder.display().to_string(), &error))?;
            let Ok(about) = entry.file_type() else { continue };
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if about.is_dir() && depth < DEEPEST {
                folders.push((entry.path(), depth + 1));
            } else if about.is_file() && !hidden && files.len() < FILES_CAP {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a database belongs to MLflow.
pub fn is_of_mlflow(database: &Database) -> bool {
    database.has("runs", &["run_uuid", "experiment_id"])
        && database.has("metrics", &["key", "value", "timestamp", "run_uuid"])
}

/// Reads every run with metrics in a database.
pub fn parse_database(
    path: &Path,
    name: &str,
    hashed: bool,
    every: u64,
) -> Result<Vec<LoggedRun>, Error> {
    let (database, identity) = Database::open(path, name, hashed)?;
    let place = || Location::file(name);
    if !is_of_mlflow(&database) {
        return Err(BAD_DATABASE.at(place(), "MLflow's tables `runs` and `metrics`", "others"));
    }
    let told =
        tables(&database).map_err(|found| BAD_DATABASE.at(place(), "readable tables", found))?;
    let mut runs = Vec::new();
    for (id, told) in told {
        if told.metrics.is_empty() || told.deleted {
            continue;
        }
        let mut run = told.into_run(name, identity, every)?;
        if run.name.is_empty() {
            run.name = id.clone();
        }
        run.extra.insert("run".to_owned(), id.into());
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(NO_METRICS.at(place(), "a run with metrics", "none"));
    }
    Ok(runs)
}

/// The contents of the tables, by run id.
fn tables(database: &Database) -> Result<BTreeMap<String, Told>, NoDatabase> {
    let mut experiments = BTreeMap::new();
    if database.has("experiments", &["experiment_id", "name"]) {
        database.rows("experiments", |row| {
            let id = if let SqlCell::Integer(id) = row.get("experiment_id") { id } else { row.key };
            experiments.extend(word(row, "name").map(|name| (id, name)));
        })?;
    }
    let mut runs: BTreeMap<String, Told> = BTreeMap::new();
    database.rows("runs", |row| {
        let Some(id) = word(row, "run_uuid") else { return };
        let experiment = match row.get("experiment_id") {
            SqlCell::Integer(id) => experiments.get(&id).cloned(),
            _ => None,
        };
        let deleted = word(row, "lifecycle_stage").as_deref() == Some("deleted");
        let (name, status) =
            (word(row, "name").filter(|name| !name.is_empty()), word(row, "status"));
        runs.insert(id, Told { name, experiment, status, deleted, ..Told::default() });
    })?;
    database.rows("metrics", |row| {
        let told = word(row, "run_uuid").and_then(|id| runs.get_mut(&id));
        let (Some(told), Some(name), Some(logged)) = (told, word(row, "key"), metric(row)) else {
            return;
        };
        told.metrics.entry(name).or_default().push(logged);
    })?;
    for (table, is_tag) in [("params", false), ("tags", true)] {
        if !database.has(table, &["key", "value", "run_uuid"]) {
            continue;
        }
        database.rows(table, |row| {
            let told = word(row, "run_uuid").and_then(|id| runs.get_mut(&id));
            let (Some(told), Some(key), Some(value)) = (told, word(row, "key"), word(row, "value"))
            else {
                return;
            };
            if !is_tag {
                told.settings.insert(key, setting(&value));
            } else if key == RUN_NAME && told.name.is_none() {
                told.name = Some(value);
            }
        })?;
    }
    Ok(runs)
}

fn word(row: &DatabaseRow<'_>, column: &str) -> Option<String> {
    if let SqlCell::Text(text) = row.get(column) { Some(text) } else { None }
}

/// A row of the metrics table.
fn metric(row: &DatabaseRow<'_>) -> Option<Logged> {
    let integer = |column: &str| {
        if let SqlCell::Integer(value) = row.get(column) { Some(value) } else { None }
    };
    let is_nan = matches!(row.get("is_nan"), SqlCell::Integer(1));
    let value = match row.get("value") {
        _ if is_nan => f64::NAN,
        SqlCell::Real(value) => value,
        // A float without a fraction is stored as an integer.
        SqlCell::Integer(value) => value as f64,
        _ => return None,
    };
    Some(Logged {
        step: integer("step").unwrap_or_default(),
        time: integer("timestamp").unwrap_or_default(),
        value: LogNumber::of_double(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_step_that_may_be_cut_is_not_read() {
        let read = |text: &str| {
            let (values, torn) = values(&Source::new("loss", text.into()).unwrap()).unwrap();
            (values.len(), torn.map(|place| place.line))
        };
        let text = "1700000000000 4.5 900\n1700000001000 4.2 1000";
        assert_eq!(read(text), (2, None));
        assert_eq!(read(&format!("{text}\n")), (2, None));
        let last = text.find('\n').unwrap() + 1;
        for end in last + 1..text.len() {
            assert_eq!(read(&text[..end]), (1, Some(2)), "{}", &text[last..end]);
        }
    }
}
