//! Inspect logs as JSON, complete or header only.
//!
//! Definitions: `log/_log.py`, `_eval/task/results.py`, `scorer/_metric.py` and `scorer/_metrics` of UKGovernmentBEIS/inspect_ai.

mod samples;

use repro_core::source::{Document, Node, escape};

use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "inspect",
    what: "Inspect log",
    reads: Reads::Json { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// Scorers whose grades are only right or wrong.
const ZERO_ONE: &[&str] = &["choice", "includes", "match", "pattern", "answer"];
/// The recomputed metrics.
const METRICS: &[&str] = &["accuracy", "mean", "stderr", "std", "var"];
/// The relative deviation from a whole number allowed for a count of graded items.
const WHOLE: f64 = 1e-6;

fn is(root: Node<'_>) -> bool {
    let eval = root.get("eval");
    let has = |key: &str| eval.is_some_and(|eval| eval.get(key).is_some());
    root.get("status").is_some() && has("task") && has("dataset")
}

fn read(document: &Document) -> StatedRow {
    let root = document.root();
    let mut row = StatedRow::default();
    scores::state_some(&mut row, root, "", &["status"]);
    plan(&mut row, root);
    if let Some(results) = root.get("results") {
        let names = ["total_samples", "completed_samples", "early_stopping"];
        scores::state_some(&mut row, results, "/results", &names);
        if results.get("early_stopping").is_some() {
            row.compute_text("stopped", "early", "`early_stopping` is set");
        }
    }
    times(&mut row, root);
    let usage = root.get("stats").and_then(|stats| stats.get("model_usage"));
    row.add("usage", usages(usage, "/stats/model_usage"));
    let samples = samples::read(&mut row, root);
    row.add("score", results(root, &row, &samples));
    samples.add_usage(&mut row);
    row
}

/// The planned number of samples.
fn plan(row: &mut StatedRow, root: Node<'_>) {
    let Some(eval) = root.get("eval") else { return };
    if let Some(config) = eval.get("config") {
        scores::state_some(row, config, "/eval/config", &["limit", "epochs", "log_samples"]);
    }
    if row.number("epochs").is_none() {
        row.compute_number("epochs", 1.0, "the default, because no number of epochs is set");
    }
    let Some(dataset) = eval.get("dataset") else { return };
    if let Some(samples) = dataset.get("samples") {
        row.state("dataset.samples", samples, "/eval/dataset/samples".to_owned(), Digits::Full);
    }
    if let Some(ids) = dataset.get("sample_ids").and_then(|ids| ids.items().ok()) {
        row.compute_number("ids", ids.len() as f64, "the length of `/eval/dataset/sample_ids`");
    }
}

/// The creation, start and end times, in seconds.
fn times(row: &mut StatedRow, root: Node<'_>) {
    let places = [
        ("created", "eval", "created"),
        ("started", "stats", "started_at"),
        ("completed", "stats", "completed_at"),
    ];
    for (name, part, key) in places {
        let Some(node) = root.get(part).and_then(|part| part.get(key)) else { continue };
        let moment = node.text().ok().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        row.state(format!("{name}.text"), node, format!("/{part}/{key}"), Digits::Full);
        if let Some(moment) = moment {
            let printed = row.text(&format!("{name}.text")).unwrap_or_default().to_owned();
            let seconds = repro_claim::relation::PrintedRange::between(
                moment.as_second() as f64,
                moment.as_second() as f64,
            );
            row.quote(name, &format!("{name}.text"), seconds, &printed);
        }
    }
}

/// The tokens of each model.
fn usages(usage: Option<Node<'_>>, pointer: &str) -> Vec<StatedRow> {
    let of_model = |(model, node, below): (&str, Node<'_>, String)| {
        let mut row = StatedRow::new(model);
        let names = ["input_tokens", "output_tokens", "total_tokens"];
        scores::state_some(&mut row, node, &below, &names);
        let (tokens, how) = scores::counted_as_well(node);
        row.compute_number("counted_as_well", tokens, how);
        row
    };
    scores::members(usage, pointer).map(of_model).collect()
}

/// The scores with their metrics.
fn results(root: Node<'_>, log: &StatedRow, samples: &samples::Samples) -> Vec<StatedRow> {
    let all = root.get("results").and_then(|results| results.get("scores"));
    let digits = all.map_or(Digits::Rounded, scores::digits);
    let score = |(score, pointer): (Node<'_>, String)| {
        let name = scores::text(score, "name").unwrap_or_default();
        let mut row = StatedRow::new(name);
        scores::state_some(
            &mut row,
            score,
            &pointer,
            &["scored_samples", "unscored_samples", "reducer", "scorer"],
        );
        let below = format!("{pointer}/metrics");
        let Some(metrics) = score.get("metrics") else { return row };
        let of = |name: &str| {
            let node = metrics.get(name)?;
            Some((scores::member(node, "value")?, format!("{below}/{}/value", escape(name))))
        };
        for (own, key) in [
            ("accuracy", "accuracy"),
            ("mean", "mean"),
            ("stderr", "stderr"),
            ("deviation", "std"),
            ("variance", "var"),
        ] {
            if let Some((value, pointer)) = of(key) {
                row.measure_or_tell(own, value, pointer, digits);
            }
        }
        let parameters = metrics.get("stderr").and_then(|stderr| stderr.get("params"));
        if parameters.is_some_and(|parameters| parameters.get("cluster").is_some()) {
            row.rename("stderr", "clustered_stderr");
        }
        row.alias("value", &["accuracy", "mean"]);
        if has_own_metrics(root, score) && !samples.are_worded(name) {
            row.compute_text("metrics", "own", "Inspect's own, according to the log");
        }
        items(&mut row, log);
        answers(&mut row, log);
        let is_right_or_wrong = samples.are_right_or_wrong(name, &row);
        sort(&mut row, is_right_or_wrong);
        graded(&mut row);
        samples.score(&mut row, name, log);
        row
    };
    scores::elements(all, "/results/scores").map(score).collect()
}

/// The number of scores behind a scorer's metrics: one per scored sample, regardless of epochs.
fn items(row: &mut StatedRow, log: &StatedRow) {
    if row.number("scored_samples").is_some() {
        return row.alias("items", &["scored_samples"]);
    }
    let (completed, epochs) = (log.number("completed_samples"), log.number("epochs"));
    let Some(each) = completed.zip(epochs).map(|(completed, epochs)| completed / epochs) else {
        return;
    };
    // Logs without a count of scored samples may still leave some out.
    let values = row.number("value").zip(row.number("stderr"));
    let given = values.and_then(|(value, stderr)| scores::items(value, stderr));
    if let Some(given) = given.filter(|given| *given < each) {
        row.compute_number("items", given, "implied by the value and its standard error");
    } else if each.fract() == 0.0 {
        row.compute_number("items", each, "the completed samples divided by the epochs");
    }
}

/// Whether the log identifies the metrics of a score as Inspect's own. A custom metric with the same name, or with its
/// own grade values, may compute something else.
fn has_own_metrics(root: Node<'_>, score: Node<'_>) -> bool {
    let Some(eval) = root.get("eval") else { return false };
    let scorer = scores::text(score, "scorer").or_else(|| scores::text(score, "name"));
    let of_scorer = scores::elements(eval.get("scorers"), "")
        .find(|(known, _)| scores::text(*known, "name") == scorer)
        .and_then(|(known, _)| known.get("metrics"));
    let is_own = |key: &str| {
        let mut listed = scores::elements(eval.get("metrics").or(of_scorer), "");
        listed.any(|(metric, _)| {
            let name =
                scores::text(metric, "name").and_then(|name| name.strip_prefix("inspect_ai/"));
            let options = metric.get("options").and_then(|options| options.get("to_float"));
            name == Some(key) && options.is_none()
        })
    };
    let used = scores::members(score.get("metrics"), "").map(|(key, ..)| key);
    used.filter(|key| METRICS.contains(key)).all(is_own)
}

/// The number of answers behind an accuracy, over all epochs, if none failed in one of them.
fn answers(row: &mut StatedRow, log: &StatedRow) {
    let (Some(items), Some(epochs)) = (row.number("items"), log.number("epochs")) else { return };
    let is_whole = log.number("completed_samples") == log.number("total_samples")
        && row.number("unscored_samples").unwrap_or(0.0) == 0.0;
    if epochs == 1.0 || is_whole {
        row.compute_number("answers", items * epochs, "the scored samples times the epochs");
    }
}

/// The possible values of a scorer. A custom scorer may use the name of an Inspect scorer, so the samples decide.
fn sort(row: &mut StatedRow, is_right_or_wrong: Option<bool>) {
    let scorer = row.text("scorer").unwrap_or(&row.label);
    let scorer = scorer.rsplit('/').next().unwrap_or(scorer).to_owned();
    if row.text("reducer").is_some_and(|reducer| reducer != "mean") {
        return;
    }
    let is_sure = is_right_or_wrong == Some(true) && row.text("metrics") == Some("own");
    if ZERO_ONE.contains(&&*scorer) && is_sure {
        row.compute_text("sort", "proportion", "right or wrong for each sample");
    } else if ZERO_ONE.contains(&&*scorer) && is_right_or_wrong != Some(false) {
        row.compute_text("sort", "likely", "right or wrong for each sample, from its name");
    } else if row.cell("accuracy").is_some() {
        row.compute_text("sort", "graded", "right, half right or wrong, because it is an accuracy");
    }
}

/// The number of half-right samples, derived from an accuracy and its standard error if all others are right or wrong.
fn graded(row: &mut StatedRow) {
    let values = (row.number("accuracy"), row.number("stderr"), row.number("items"));
    let (Some(value), Some(stderr), Some(items)) = values else { return };
    let halves = 2.0 * items * value;
    if (halves - halves.round()).abs() > WHOLE * items || row.text("sort") != Some("graded") {
        return;
    }
    let partial = 4.0 * (items * value * (1.0 - value) - stderr * stderr * items * (items - 1.0));
    let partial = partial.round().max(0.0).min(items);
    row.compute_number("partial", partial, "the closest number of half-right samples");
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    fn log(text: &str) -> StatedRow {
        let document = Document::parse_loose_json(Source::new("t.json", text.into()).unwrap());
        read(&document.unwrap())
    }

    #[test]
    fn totals_of_tokens_are_counted_as_their_provider_does() {
        let row = log(
            r#"{"status": "success", "eval": {"task": "t", "dataset": {}}, "stats": {"model_usage":
            {"a": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 13, "input_tokens_cache_read": 10},
             "b": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 5, "reasoning_tokens": 2},
             "c": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 4}}}}"#,
        );
        let counted: Vec<_> =
            row.rows("usage").iter().map(|row| row.number("counted_as_well")).collect();
        assert_eq!(counted, [Some(10.0), Some(2.0), Some(0.0)]);
    }

    #[test]
    fn half_right_samples_follow_from_the_error() {
        // 5 right, 2 half right, 3 wrong
        let (value, items) = (0.6, 10.0);
        let squares = 5.0 + 2.0 * 0.25;
        let stderr = libm::sqrt((squares - items * value * value) / (items - 1.0) / items);
        let row = log(&format!(
            r#"{{"status": "success", "eval": {{"task": "t", "dataset": {{}}}}, "results": {{"scores": [{{"name": "judge",
            "scorer": "judge", "scored_samples": 10, "metrics": {{"accuracy": {{"value": {value}}}, "stderr": {{"value": {stderr}}}}}}}]}}}}"#
        ));
        assert_eq!(row.rows("score")[0].number("partial"), Some(2.0));
    }
}
