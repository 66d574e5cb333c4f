//! `repro stats TABLE --baselines FILE`: CORE.

use std::path::{Path, PathBuf};

use num_rational::BigRational;
use serde_json::{Value as Json, json};

use super::args;
use super::core_bootstrap;
use super::output::Output;
use super::{Answer, BAD_USAGE};
use repro_core::decimal::{Interval, format_significant, nearest_f64};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Source};
use repro_model::tasks::bootstrap::{Settings, TaskBootstrap};
use repro_model::tasks::{
    Baselines, Followed, Measure, Scale, ScoredTask, TableReading, TableScores, TaskSet, TaskTable,
};
use repro_report::outcome::ExitStatus;
use repro_report::visible;
use repro_report::{Columns, paragraph};

/// The schema of all that this command prints as JSON.
const SCHEMA: &str = "repro.core/1";
/// The significant digits of computed numbers.
const DIGITS: usize = 10;

/// Runs the command.
pub fn run(own: &args::StatsArgs, output: &Output) -> Answer {
    let json = output.wants_json();
    let baselines = baselines(&own.baselines)?;
    let declared = own.unit.map(|unit| match unit {
        args::ScoreUnit::Fraction => Scale::Fraction,
        args::ScoreUnit::Percent => Scale::Percent,
    });
    let document = load(&table(own).map_err(one)?).map_err(one)?;
    let table = TaskTable::read(document.root()).map_err(one)?;
    let reading = TableReading::of(&table, declared, &baselines).map_err(one)?;
    let settings = core_bootstrap::settings(own).map_err(one)?;
    let mut score = Score::of(&document, &reading, declared.is_some(), settings);
    if let Some(path) = &own.against {
        let document = load(path).map_err(one)?;
        let table = TaskTable::read(document.root()).map_err(one)?;
        // Both under one version: what differs is then the accuracies.
        let version = std::slice::from_ref(score.scores.baselines);
        let other = TableReading::of(&table, declared, version).map_err(one)?;
        score.against = Some(Against::of(&score, &document, &other, settings).map_err(one)?);
    }
    if json {
        output.print_json(&score.json());
    } else {
        output.print(&score.text(output.width()));
    }
    Ok(ExitStatus::Verified)
}

/// The one table.
fn table(own: &args::StatsArgs) -> Result<PathBuf, Error> {
    match own.file.as_slice() {
        [table] => Ok(PathBuf::from(table)),
        several => {
            let found = format!("{} arguments", several.len());
            Err(BAD_USAGE.at(Location::file("--baselines"), "one table", found))
        }
    }
}

/// The difference to another table.
struct Against {
    file: String,
    core: BigRational,
    difference: TaskBootstrap,
}

impl Against {
    fn of(
        score: &Score,
        document: &Document,
        other: &TableReading,
        settings: Settings,
    ) -> Result<Self, Error> {
        let file = document.source.name().to_owned();
        let other = &other.versions[0];
        let pairs = TaskBootstrap::paired(score.scores, other, score.set, settings);
        let difference = pairs.map_err(|only| {
            let found = format!("only one has {}", only.join(", "));
            BAD_USAGE.at(Location::file(file.clone()), "the same tasks in both tables", found)
        })?;
        Ok(Self { core: other.core(score.set).middle(), difference, file })
    }
}

fn one(error: Error) -> Vec<Error> {
    vec![error]
}

fn load(path: &Path) -> Result<Document, Error> {
    Document::parse(Source::load(path, path.display().to_string())?)
}

/// Every version in every file; a name is given once.
fn baselines(paths: &[std::path::PathBuf]) -> Result<Vec<Baselines>, Vec<Error>> {
    let mut versions: Vec<Baselines> = Vec::new();
    for path in paths {
        for mut version in load(path).and_then(|file| Baselines::read(&file)).map_err(one)? {
            if versions.iter().any(|known| known.name == version.name) {
                version.name = path.display().to_string();
            }
            if versions.iter().any(|known| known.name == version.name) {
                let found = format!("`{}` twice", version.name);
                let place = Location::file("--baselines");
                return Err(one(BAD_USAGE.at(place, "each file once", found)));
            }
            versions.push(version);
        }
    }
    Ok(versions)
}

/// A table's score and everything that is said about it.
struct Score<'a> {
    document: &'a Document,
    reading: &'a TableReading<'a>,
    declared: bool,
    set: TaskSet<'static>,
    scores: &'a TableScores<'a>,
    bootstrap: TaskBootstrap,
    against: Option<Against>,
}

impl<'a> Score<'a> {
    fn of(
        document: &'a Document,
        reading: &'a TableReading<'a>,
        declared: bool,
        settings: Settings,
    ) -> Self {
        let set = reading.table.core_set();
        let scores = &reading.versions[reading.best()];
        let bootstrap = TaskBootstrap::of(scores, set, settings);
        Self { document, reading, declared, set, scores, bootstrap, against: None }
    }

    /// How the version of the baselines was chosen.
    fn chosen(&self) -> String {
        match self.reading.versions.len() {
            1 => "the only file given".to_owned(),
            tried => format!("{}, 1 of {tried} tried", self.why()),
        }
    }

    fn why(&self) -> &'static str {
        let best = self.reading.best();
        let fits = |followed: &Followed| followed.follows() == [best];
        let column = self.reading.column.as_ref();
        if self.reading.stated_core().is_some_and(fits)
            || column.is_some_and(|column| column.follows() == [best])
        {
            "inferred"
        } else {
            "not inferred; the first of the best fits"
        }
    }

    fn json(&self) -> Json {
        let reading = self.reading;
        let task = |task: &ScoredTask| {
            json!({"task": task.row.task, "accuracy": number(&task.accuracy.middle()),
                   "baseline": number(&task.baseline), "centered": number(&task.centered.middle())})
        };
        let core = self.scores.core(self.set);
        let listed = |counts: bool| -> Vec<Json> {
            self.scores.tasks.iter().filter(|t| t.is_in(self.set) == counts).map(task).collect()
        };
        let version = |(at, scores): (usize, &TableScores)| {
            let agreeing = reading.column.as_ref().and_then(|column| column.agreeing.get(at));
            json!({"name": scores.baselines.name, "sha256": scores.baselines.sha256.to_string(),
                   "core": number(&scores.core(self.set).middle()),
                   "centered_cells_that_agree": agreeing})
        };
        let troubles: Vec<_> = reading
            .troubles()
            .into_iter()
            .map(|(what, message)| json!({"what": what.word(), "message": message}))
            .collect();
        json!({
            "schema": SCHEMA,
            "table": self.document.source.name(),
            "table_sha256": Digest::of(self.document.source.text().as_bytes()).to_string(),
            "shape": reading.table.kind.word(),
            "unit": reading.scale.word(),
            "unit_from": if self.declared { "declared" } else { "range of the table" },
            "core": number(&core.middle()),
            "core_range": [number(core.low()), number(core.high())],
            "ci": core_bootstrap::percentile(&self.bootstrap),
            "bootstrap": core_bootstrap::json(&self.bootstrap),
            "against": self.against.as_ref().map(|against| json!({
                "table": against.file,
                "core": number(&against.core),
                "difference": core_bootstrap::json(&against.difference),
            })),
            "over": if self.set == TaskSet::Core { "core22" } else { "tasks given" },
            "lacks": reading.table.lacks(),
            "baselines_name": self.scores.baselines.name,
            "baselines_sha256": self.scores.baselines.sha256.to_string(),
            "baselines_how": self.chosen(),
            "tasks": listed(true),
            "other_tasks": listed(false),
            "passed_over": self.scores.passed_over,
            "versions": reading.versions.iter().enumerate().map(version).collect::<Vec<_>>(),
            "centered_column": self.column(),
            "stated": reading.stated.iter().map(|s| self.stated(s)).collect::<Vec<_>>(),
            "findings": troubles,
        })
    }

    fn column(&self) -> Json {
        let Some(column) = &self.reading.column else { return Json::Null };
        json!({"cells": column.cells, "unit": column.scale.word(),
               "follows": self.list(&column.follows()),
               "stray": column.stray.iter().map(|row| row.task).collect::<Vec<_>>()})
    }

    fn stated(&self, followed: &Followed) -> Json {
        json!({"name": followed.stated.name, "value": followed.stated.cell.printed.text(),
               "follows": self.list(&followed.follows()),
               "too_coarse": followed.is_undecided(),
               "mean_of_own_column": followed.own_column})
    }

    fn list(&self, versions: &[usize]) -> Vec<&str> {
        let name = |at: &usize| Some(self.reading.versions.get(*at)?.baselines.name.as_str());
        versions.iter().filter_map(name).collect()
    }

    fn text(&self, width: usize) -> String {
        let reading = self.reading;
        let mut text = format!("{}\n", visible(self.document.source.name()));
        let unit = if self.declared { "declared" } else { "inferred from the range" };
        let counted = self.scores.of_set(self.set).count();
        let over = match self.set {
            TaskSet::Core => "the 22 tasks of CORE".to_owned(),
            _ => format!("the {counted} tasks in the table, which are not CORE's 22"),
        };
        let mut say = |word: &str, words: String| text.push_str(&paragraph(word, &words, width));
        say("", format!("{}s ({unit}); {}", reading.scale.word(), reading.table.kind.word()));
        say("score", format!("{} over {over}", shown(&self.scores.core(self.set))));
        say("under", format!("{} ({})", self.scores.baselines.name, self.chosen()));
        say("interval", core_bootstrap::text(&self.bootstrap));
        if let Some(against) = &self.against {
            let core = format_significant(&against.core, DIGITS);
            say("against", format!("{core}, {}", against.file));
            let difference = &against.difference;
            say(
                "",
                format!(
                    "difference {}, {}",
                    difference.estimate_text(),
                    core_bootstrap::text(difference)
                ),
            );
            if difference.excludes_zero() == Some(false) {
                say(
                    "",
                    "the interval contains zero: these tasks do not separate the two models"
                        .to_owned(),
                );
            }
        }
        let lacks = reading.table.lacks();
        if !lacks.is_empty() {
            say("lacks", lacks.join(", "));
        }
        text.push('\n');
        text.push_str(&self.table(width));
        text.push('\n');
        text.push_str(&self.parts(width));
        let troubles = reading.troubles();
        if !troubles.is_empty() {
            text.push('\n');
        }
        for (_, message) in troubles {
            text.push_str(&paragraph("finding", &message, width));
        }
        text
    }

    /// One line for each task that counts.
    fn table(&self, width: usize) -> String {
        let has_column = self.reading.column.is_some();
        let mut headings = vec!["accuracy", "baseline", "centered"];
        if has_column {
            headings.push("stated");
        }
        let mut table = Columns::new(headings.into_iter().map(str::to_owned).collect());
        for task in self.scores.of_set(self.set) {
            let mut cells = vec![
                short(&task.accuracy.middle()),
                short(&task.baseline),
                short(&task.centered.middle()),
            ];
            if has_column {
                let stated = task.row.centered.as_ref();
                cells.push(stated.map_or("", |cell| cell.printed.text()).to_owned());
            }
            table.row(task.row.task, cells);
        }
        table.render("task", width, false)
    }

    /// The baselines that each stated part matches, and the result of each version.
    fn parts(&self, width: usize) -> String {
        let reading = self.reading;
        let mut table = Columns::new(vec!["stated".to_owned(), "follows".to_owned()]);
        let names = |versions: &[usize]| match versions.len() {
            0 => "none of these baselines".to_owned(),
            all if all == reading.versions.len() && all > 1 => "any of these baselines".to_owned(),
            _ => reading.names(versions),
        };
        if let Some(column) = &reading.column {
            let follows = column.follows();
            table.row("centered column", vec![format!("{} cells", column.cells), names(&follows)]);
        }
        for followed in &reading.stated {
            let mean = match followed.stated.measure {
                Measure::Accuracy => {
                    reading.versions.first().map_or_else(String::new, |_| "accuracies".to_owned())
                }
                Measure::Centered if followed.is_undecided() => "too few digits printed".to_owned(),
                Measure::Centered => names(&followed.follows()),
            };
            let follows = match (followed.stated.measure, followed.follows().is_empty()) {
                (Measure::Accuracy, true) => names(&[]),
                _ => mean,
            };
            let value = followed.stated.cell.printed.text().to_owned();
            table.row(&followed.stated.name, vec![value, follows]);
        }
        for (name, words) in &reading.table.not_stated {
            table.row(name, vec![(*words).to_owned(), String::new()]);
        }
        let mut text = String::new();
        if reading.column.is_some() || !reading.table.stated.is_empty() {
            text.push_str(&table.render("the table says", width, false));
            text.push('\n');
        }
        let mut versions = Columns::new(vec!["score".to_owned(), "sha256".to_owned()]);
        for scores in &reading.versions {
            let digest: String = scores.baselines.sha256.to_string().chars().take(16).collect();
            let cells = vec![shown(&scores.core(self.set)), digest + "…"];
            versions.row(&scores.baselines.name, cells);
        }
        text + &versions.render("baselines", width, false)
    }
}

fn shown(value: &Interval) -> String {
    format_significant(&value.middle(), DIGITS)
}

/// Six decimals, so that a column of them is one.
fn short(value: &BigRational) -> String {
    let text = format!("{:.6}", nearest_f64(value));
    if text == "-0.000000" { "0.000000".to_owned() } else { text }
}

/// A computed number of at most ten digits.
fn number(value: &BigRational) -> f64 {
    format_significant(value, DIGITS).parse().unwrap_or_else(|_| nearest_f64(value))
}
