//! Small result documents: the golden values of Megatron's tests, the losses of torchtitan's tests, and the results of
//! Marin's leaderboard.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::files::text;
use super::settings::{collect, kept};
use crate::import::jsonl::parse_python;
use crate::import::log::Identity;
use crate::import::points::{Points, Reading};
use crate::import::run::{LogNumber, LoggedRun};
use crate::import::torn::RowEnds;
use crate::import::{BAD_RECORD, NO_METRICS, TORN_LINE};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Kind, Location, Node};

/// Whether a document contains golden values.
pub fn is_golden(document: &Document) -> bool {
    let Ok(mut members) = document.root().members() else { return false };
    members.next().is_some_and(|(_, metric)| {
        metric.get("values").is_some() && metric.get("step_interval").is_some()
    })
}

/// Reads golden values: for each metric its step interval, and a list of values or an object by step.
pub fn parse_golden(path: &Path, every: u64) -> Result<LoggedRun, Error> {
    let (source, identity) = text(path)?;
    let name = source.name().to_owned();
    let document = parse_python(source)?;
    let mut points = Points::new(every);
    for (metric, about) in document.root().members()? {
        let values = about.required("values")?;
        let mut add = |step: Option<u64>, node: Node<'_>| {
            let number = node.printed().ok().and_then(|text| LogNumber::parse(text.as_bytes()));
            match (step, number) {
                (Some(step), Some(number)) => {
                    points.add_named(metric, step, Reading::Printed(number));
                    Ok(())
                }
                _ => Err(BAD_RECORD.at(node.place(), "a step and a number", "a different value")),
            }
        };
        if matches!(values.value().kind, Kind::Array(_)) {
            let first = about.required("start_step")?.integer()?;
            let interval = about.required("step_interval")?.integer()?;
            for (at, value) in (0_u64..).zip(values.items()?) {
                add(at.checked_mul(interval).and_then(|steps| steps.checked_add(first)), value)?;
            }
        } else {
            for (step, value) in values.members()? {
                add(step.parse().ok(), value)?;
            }
        }
    }
    points.into_run(&name, identity)
}

/// A step and a loss on each line.
pub fn step_and_loss(line: &str) -> Option<(u64, LogNumber)> {
    let mut words = line.split_ascii_whitespace();
    let step = words.next()?.parse().ok()?;
    let loss = LogNumber::parse(words.next()?.as_bytes())?;
    words.next().is_none().then_some((step, loss))
}

/// Reads lines with a step and a loss.
pub fn parse_step_loss(path: &Path, every: u64) -> Result<LoggedRun, Error> {
    let (source, identity) = text(path)?;
    let name = source.name().to_owned();
    let mut points = Points::new(every);
    let mut torn = None;
    let lines: Vec<&str> = source.text().lines().collect();
    let is_open = !source.text().ends_with('\n');
    let mut ends = RowEnds::default();
    for (line, number) in lines.iter().zip(1..) {
        let end = line.split_ascii_whitespace().last().unwrap_or_default();
        let is_cut = is_open && number == lines.len() && ends.may_be_cut(end);
        ends.see(end);
        let place = Location { line: number, column: 1, ..Location::file(name.as_str()) };
        match step_and_loss(line).filter(|_| !is_cut) {
            Some((step, loss)) => points.add_named("loss", step, Reading::Printed(loss)),
            None if line.trim().is_empty() => {}
            None if number == lines.len() && is_open => torn = Some(place),
            None => return Err(BAD_RECORD.at(place, "a step and a loss", format!("`{line}`"))),
        }
    }
    let mut run = points.into_run(&name, identity)?;
    torn.into_iter().for_each(|place| {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"))
    });
    Ok(run)
}

/// Members of a run in Marin's leaderboard beside its numbers.
const MARIN: [&str; 2] = ["run_info", "run_related_info"];

/// Whether a document contains results of Marin's leaderboard.
pub fn is_marin(document: &Document) -> bool {
    let runs = document.root().get("runs").and_then(|runs| runs.items().ok());
    let first = runs.and_then(|mut runs| runs.next());
    first.is_some_and(|run| {
        run.get("run_stats").is_some() || MARIN.iter().any(|key| run.get(key).is_some())
    }) || document.root().get("run_stats").is_some()
}

/// Reads the results of Marin's leaderboard: each run has numbers about the whole run, without steps.
pub fn parse_marin(path: &Path) -> Result<Vec<LoggedRun>, Error> {
    let (source, identity) = text(path)?;
    let name = source.name().to_owned();
    let document = parse_python(source)?;
    let runs: Vec<Node<'_>> = match document.root().get("runs") {
        Some(runs) => runs.items()?.collect(),
        None => vec![document.root()],
    };
    let many = runs.len() > 1;
    let told = runs.into_iter().zip(1..).map(|(run, number)| {
        let told = marin(run, &name, identity)?;
        Ok(LoggedRun { name: if many { number.to_string() } else { String::new() }, ..told })
    });
    told.collect()
}

/// One run: top-level numbers are results, nested ones are settings.
fn marin(run: Node<'_>, name: &str, identity: Identity) -> Result<LoggedRun, Error> {
    let (mut numbers, mut settings) = (Vec::new(), Map::new());
    for (key, part) in run.members()? {
        let Ok(members) = part.members() else {
            collect(key, "/", part, &mut numbers);
            continue;
        };
        for (key, value) in members {
            match &value.value().kind {
                Kind::Object(_) | Kind::Array(_) => {
                    drop(settings.insert(key.to_owned(), json(value)))
                }
                Kind::Number(_) => collect(key, "/", value, &mut numbers),
                Kind::Text(text) => drop(settings.insert(key.to_owned(), (&**text).into())),
                _ => {}
            }
        }
    }
    if numbers.is_empty() {
        return Err(NO_METRICS.at(run.place(), "numbers about the run", "none"));
    }
    let listed: String =
        numbers.iter().map(|(name, number)| format!("{name}={}\n", number.text())).collect();
    let mut told = LoggedRun::new(name, identity, Digest::of(listed.as_bytes()));
    told.summary = numbers.into_iter().map(|(name, number)| (name.into(), number)).collect();
    told.config = kept(settings);
    Ok(told)
}

/// A node as JSON.
fn json(node: Node<'_>) -> Json {
    match &node.value().kind {
        Kind::Null => Json::Null,
        Kind::Bool(truth) => (*truth).into(),
        Kind::Number(text) => super::settings::setting(text),
        Kind::Text(text) => (&**text).into(),
        Kind::Array(_) => node.items().into_iter().flatten().map(json).collect(),
        Kind::Object(_) => node
            .members()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.to_owned(), json(value)))
            .collect(),
    }
}
