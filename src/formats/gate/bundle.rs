//! Reads the run of a receipt bundle in the form that log readers produce.
//!
//! A trainer's bundle contains evaluations and training records. A bundle from `repro import` contains the log's tables
//! as printed, under the log's names, and its losses as evaluations.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::import::{COUNTER, Identity, LogNumber, LogRow, LoggedRun, Metric};
use repro_bundle::bundle::{Bundle, CONFIG, METRICS, Origin};
use repro_core::source::{Error, Kind, Location, Node};
use repro_model::independence::RunTrace;

use crate::gate::NOT_A_RUN;
use crate::gate::course::traced;

/// The folder with the tables of an imported log.
const PRINTED: &str = "data/printed/";
/// The folder with the evaluations.
const EVALUATIONS: &str = "data/evaluation/";
/// Members of evaluations and records that are not metrics.
const NO_METRICS: [&str; 10] = [
    "step",
    "chain",
    "tokens",
    "tokens_seen",
    "predicted_tokens",
    "bytes",
    "block_bytes",
    "router",
    "nonfinite",
    NOT_FINITE,
];
/// The member that lists non-finite metrics by name: `{"val/loss": "nan"}`.
const NOT_FINITE: &str = "not_finite";
/// Maximum nesting depth of metrics: `core.value`, `tasks.centered`.
const DEPTH: usize = 2;

/// A bundle's run and what identifies it.
#[derive(Debug)]
pub struct BundledRun {
    /// The run.
    pub logged: LoggedRun,
    /// Facts that the bundle states about the validation text, by name.
    pub stated: BTreeMap<&'static str, String>,
    /// The fingerprint that distinguishes it from other runs.
    pub trace: RunTrace,
}

/// Loads the bundle in the folder `path`; messages use `shown`.
pub fn load(path: &Path, shown: &str, threads: usize) -> Result<BundledRun, Error> {
    let bundle = Bundle::load_folder(path, shown, None, threads)?;
    if bundle.origin() == Origin::Transcribed {
        let found = "values transcribed from a publication";
        return Err(NOT_A_RUN.at(Location::file(shown), "a bundle with a run", found));
    }
    let bytes = bundle.files().values().map(|file| file.bytes).sum();
    let identity = Identity { sha256: Some(bundle.digest()), bytes };
    let mut logged = LoggedRun::new(shown, identity, bundle.digest());
    logged.name = bundle.name().to_owned();
    let run = bundle.receipt().run.as_ref();
    logged.group = run.and_then(|run| run.arm.clone());
    logged.ended = run.and_then(|run| run.finished);
    let seeds = bundle.receipt().seeds.as_ref();
    // Runs that start from the same weights but read the data in a different order are independent.
    logged.seed = seeds.and_then(|seeds| match (&seeds.init, &seeds.data) {
        (Some(init), Some(data)) if init != data => Some(format!("{init}, data {data}")),
        (init, data) => init.clone().or_else(|| data.clone()),
    });
    // Settings are only compared for equality between runs.
    let config = bundle.files().get(CONFIG).map(|file| file.digest.to_string());
    logged.config.extend(config.map(|digest| ("sha256".to_owned(), digest.into())));
    let counter = bundle.receipt().extra.get(COUNTER).and_then(|name| name.as_str());
    logged.counter = counter.map(str::to_owned);
    let is_imported = bundle.files().keys().any(|name| name.starts_with(PRINTED));
    evaluations(&bundle, is_imported, &mut logged)?;
    if is_imported {
        printed(&bundle, &mut logged)?;
    } else if let Ok(records) = bundle.document(METRICS) {
        // A log that exceeds the document size limit is verified but not read.
        logged.training = records.root().items()?.filter_map(record).collect();
    }
    logged.evaluations.sort_by_key(|row| row.step);
    logged.training.sort_by_key(|row| row.step);
    let stated = stated(&bundle)?;
    let trace = traced(&logged, RunTrace::of(&bundle));
    Ok(BundledRun { logged, stated, trace })
}

/// The validation text as the bundle states it.
fn stated(bundle: &Bundle) -> Result<BTreeMap<&'static str, String>, Error> {
    let mut stated = BTreeMap::new();
    let data = bundle.receipt().data.as_ref();
    stated.extend(
        data.and_then(|data| Some((crate::gate::TEXT, data.validation_sha256?.to_string()))),
    );
    stated.extend(data.and_then(|data| Some((crate::gate::TOKENIZER, data.tokenizer.clone()?))));
    let last = bundle.receipt().checkpoints.iter().max_by_key(|checkpoint| checkpoint.step);
    if let Some(file) = last.and_then(|checkpoint| checkpoint.evaluation.as_deref()) {
        let evaluation = bundle.document(file)?;
        for (key, name) in
            [("bytes", crate::gate::BYTES), ("predicted_tokens", crate::gate::PREDICTED)]
        {
            if let Some(count) = evaluation.root().get(key) {
                stated.insert(name, count.printed()?.to_owned());
            }
        }
    }
    Ok(stated)
}

/// One row per evaluation. For imported logs only the loss, because the tables contain the rest.
fn evaluations(bundle: &Bundle, is_imported: bool, run: &mut LoggedRun) -> Result<(), Error> {
    let is_one = |name: &&String| name.starts_with(EVALUATIONS) && name.ends_with(".json");
    for name in bundle.files().keys().filter(is_one) {
        let root = bundle.document(name)?.root();
        let Some(step) = root.get("step").and_then(|step| step.integer().ok()) else { continue };
        let mut cells = Vec::new();
        if let Some(tokens) = root.get("tokens_seen").and_then(number) {
            cells.push((Metric::Tokens, tokens));
        }
        let word = root.get("nonfinite").and_then(|word| word.text().ok());
        let loss = root.get("loss").and_then(number);
        let loss = loss.or_else(|| LogNumber::parse(word?.as_bytes()));
        cells.extend(loss.map(|loss| (Metric::ValidationLoss, loss)));
        if !is_imported {
            named(root, "", DEPTH, &mut cells);
            cells.extend(not_finite(root).map(|(name, word)| (Metric::Other(name.into()), word)));
            run.theirs.insert(Metric::ValidationLoss, "loss".into());
        }
        run.evaluations.push(LogRow { step, cells });
    }
    Ok(())
}

/// The numbers of an object, by name.
fn named(node: Node<'_>, before: &str, depth: usize, cells: &mut Vec<(Metric, LogNumber)>) {
    for (key, member) in node.members().into_iter().flatten() {
        let name = format!("{before}{key}");
        if NO_METRICS.contains(&key) || name == "loss" {
            continue;
        }
        match number(member) {
            Some(number) => cells.push((Metric::Other(name.into()), number)),
            None if depth > 1 => named(member, &format!("{name}."), depth - 1, cells),
            None => {}
        }
    }
}

/// A number in a document or a table cell.
fn number(node: Node<'_>) -> Option<LogNumber> {
    match &node.value().kind {
        Kind::Number(text) | Kind::Text(text) => LogNumber::parse(text.as_bytes()),
        _ => None,
    }
}

/// Converts a training record to a row.
fn record(line: Node<'_>) -> Option<LogRow> {
    let step = line.get("step")?.integer().ok()?;
    let mut cells = Vec::new();
    for (key, member) in line.members().ok()? {
        let is_metric = key == "tokens" || !NO_METRICS.contains(&key);
        let number = if is_metric { number(member) } else { None };
        cells.extend(number.map(|number| (Metric::of_name(key), number)));
    }
    cells.extend(not_finite(line).map(|(name, word)| (Metric::of_name(name), word)));
    Some(LogRow { step, cells })
}

/// The non-finite metrics of an evaluation or a record, with the word for each value.
fn not_finite(node: Node<'_>) -> impl Iterator<Item = (&str, LogNumber)> {
    let members = node.get(NOT_FINITE).into_iter().flat_map(|all| all.members()).flatten();
    members.filter_map(|(name, word)| Some((name, number(word)?)))
}

/// The tables of an imported log.
fn printed(bundle: &Bundle, run: &mut LoggedRun) -> Result<(), Error> {
    for name in bundle.files().keys().filter(|name| name.starts_with(PRINTED)) {
        let table = bundle.document(name)?;
        let stem = name.strip_prefix(PRINTED).unwrap_or(name);
        for row in table.root().items()? {
            if stem.starts_with("summary") {
                let told = row.get("metric").zip(row.get("value").and_then(number));
                let told = told.and_then(|(name, number)| Some((name.text().ok()?, number)));
                run.summary.extend(told.map(|(name, number)| (Arc::from(name), number)));
                continue;
            }
            let step = row.get("step").and_then(|step| step.text().ok()?.parse().ok());
            let Some(step) = step else { continue };
            let cells = row.members()?.filter(|(key, _)| *key != "step");
            let cells = cells.filter_map(|(key, cell)| Some((Metric::of_name(key), number(cell)?)));
            let row = LogRow { step, cells: cells.collect() };
            let is_evaluation = stem.starts_with("validation");
            let rows = if is_evaluation { &mut run.evaluations } else { &mut run.training };
            rows.push(row);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    #[test]
    fn what_is_not_finite_keeps_its_name() {
        let line =
            r#"{"step":100,"nonfinite":"nan","not_finite":{"val/loss":"nan"},"val/acc":0.5}"#;
        let source = Source::new("metrics.jsonl", line.as_bytes().to_vec()).unwrap();
        let document = Document::parse_json(source).unwrap();
        let row = record(document.root()).unwrap();
        let names: Vec<_> =
            row.cells.iter().map(|(metric, n)| (metric.name(), n.nonfinite())).collect();
        assert_eq!(names, [("val/acc", None), ("val/loss", Some("nan"))]);
    }
}
