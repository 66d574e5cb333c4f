//! `trainer_state.json`, which the Hugging Face Trainer saves with every checkpoint: a history of training losses
//! (`loss`, `learning_rate`, `grad_norm`) and evaluations (`eval_loss`), with the reached and the planned step.

use std::io::Read;

use serde_json::Value as Json;

use super::columns::{LogTable, Mapping};
use super::jsonl::parse_python;
use super::log::Log;
use super::run::{LogNumber, LoggedRun};
use super::tracker::settings::setting;
use super::{BEST_DIFFERS, STEPS_DIFFER};
use repro_core::source::{Error, Kind, Node};

/// The Trainer's names for known columns.
const NAMES: &[(&str, &str)] =
    &[("val_loss", "eval_loss"), ("lr", "learning_rate"), ("tokens", "num_input_tokens_seen")];
/// Members of the state that describe how the run was made. Paths are left out for privacy.
const CONFIG: &[&str] = &[
    "max_steps",
    "num_train_epochs",
    "train_batch_size",
    "logging_steps",
    "eval_steps",
    "save_steps",
];

/// Reads one state.
pub fn parse<R: Read>(log: Log<R>) -> Result<LoggedRun, Error> {
    let (source, identity) = log.into_source()?;
    let name = source.name().to_owned();
    let document = parse_python(source)?;
    let state = document.root();
    let history = state.required("log_history")?;
    let mapping = Mapping::fixed(NAMES);
    let mut table = LogTable::default();
    for entry in history.items()? {
        table.row(entry, 0, &mapping)?;
    }
    let mapping = table.only_named(mapping);
    let mut run = table.into_run(&name, identity, &mapping)?;
    let reached = state.required("global_step")?;
    let (last, step) = (run.last_step().unwrap_or_default(), reached.integer()?);
    if last > step {
        let found = format!("{step}, with a history up to {last}");
        run.exclude(STEPS_DIFFER.at(reached.place(), format!("{last}"), found));
    }
    run.reached = Some(step);
    run.planned = state.get("max_steps").and_then(planned);
    for key in CONFIG {
        if let Some(number) = state.get(key).and_then(scalar) {
            run.config.insert((*key).to_owned(), number);
        }
    }
    if let Some(best) =
        state.get("best_metric").filter(|best| matches!(best.value().kind, Kind::Number(_)))
    {
        check_best(best, &mut run)?;
    }
    Ok(run)
}

/// The planned number of steps. For endless data, a trainer writes the largest integer or none.
fn planned(node: Node<'_>) -> Option<u64> {
    node.integer().ok().filter(|steps| (1..1 << 53).contains(steps))
}

/// A number of the state, as JSON.
fn scalar(node: Node<'_>) -> Option<Json> {
    match &node.value().kind {
        Kind::Number(text) => Some(setting(text)),
        // An integer beyond 2^53.
        Kind::Text(text) if LogNumber::parse(text.as_bytes()).is_some() => Some(setting(text)),
        _ => None,
    }
}

/// Checks that the best metric was printed by some evaluation.
fn check_best(best: Node<'_>, run: &mut LoggedRun) -> Result<(), Error> {
    let value = best.float()?;
    let mut told = run
        .evaluations
        .iter()
        .flat_map(|row| &row.cells)
        .chain(run.training.iter().flat_map(|row| &row.cells));
    if !told.any(|(_, number)| number.value() == Some(value)) {
        let found = best.printed()?.to_owned();
        run.note(BEST_DIFFERS.at(
            best.place(),
            "the metric of an evaluation in `log_history`",
            found,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::run::Metric;

    fn read(text: &str) -> Result<LoggedRun, Error> {
        parse(Log::new(text.as_bytes(), "trainer_state.json", true))
    }

    fn state(history: &str, more: &str) -> String {
        format!(
            "{{\"best_metric\": 2.5, \"global_step\": 20, \"max_steps\": 20, {more}\"log_history\": [{history}]}}"
        )
    }

    const HISTORY: &str = r#"{"epoch": 0.5, "grad_norm": 1.25, "learning_rate": 5e-05, "loss": 3.0, "step": 10},
        {"epoch": 1.0, "grad_norm": NaN, "learning_rate": 0.0, "loss": 2.75, "step": 20},
        {"epoch": 1.0, "eval_loss": 2.5, "eval_runtime": 1.5, "step": 20},
        {"epoch": 1.0, "step": 20, "total_flos": 8.1e+16, "train_loss": 2.875, "train_runtime": 9.5}"#;

    #[test]
    fn a_history_is_rows_by_step() {
        let run = read(&state(HISTORY, "\"train_batch_size\": 8, ")).unwrap();
        assert_eq!((run.training.len(), run.evaluations.len(), run.planned), (2, 1, Some(20)));
        assert_eq!(run.training[1].get(&Metric::GradNorm).unwrap().nonfinite(), Some("nan"));
        assert_eq!(run.final_loss().unwrap().text(), "2.5");
        assert_eq!(run.config["train_batch_size"], 8);
        assert!(run.findings.is_empty(), "{:?}", run.findings);
    }

    #[test]
    fn data_without_an_end_and_any_metric_are_read() {
        let history = r#"{"eval_wer": 2.5, "eval_accuracy": 0.90, "eval_runtime": 3.5, "step": 20},
            {"eval_wer": 2.5, "eval_accuracy": 0.90, "eval_runtime": 3.25, "step": 20}"#;
        let text = state(history, "\"num_train_epochs\": 9223372036854775807, ");
        let text = text.replace("\"max_steps\": 20", "\"max_steps\": 9223372036854775807");
        let run = read(&text).unwrap();
        let told = |name: &str| run.evaluations[0].get(&Metric::Other(name.into())).unwrap().text();
        assert_eq!((told("eval_wer"), told("eval_runtime"), run.planned), ("2.5", "3.25", None));
        assert_eq!(run.config["num_train_epochs"], "9223372036854775807");
        assert_eq!(run.findings[0].error.code.id, "import::repeated-values");
    }

    #[test]
    fn what_disagrees_is_named() {
        let best = state(HISTORY, "").replace("\"best_metric\": 2.5", "\"best_metric\": 2.4");
        assert_eq!(read(&best).unwrap().findings[0].error.code.id, "import::best-differs");
        let behind = state(HISTORY, "").replace("\"global_step\": 20", "\"global_step\": 10");
        assert_eq!(read(&behind).unwrap().findings[0].error.code.id, "import::steps-differ");
        for (text, code) in [
            ("{}", "source::missing-field"),
            (&*state("", ""), "import::unknown-columns"),
            (&*state("{\"loss\": 1.0}", ""), "import::no-step"),
            (&*state("1", ""), "source::wrong-type"),
            (
                &*state(HISTORY, "").replace("\"global_step\": 20", "\"global_step\": \"x\""),
                "source::wrong-type",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().code.id, code, "{text}");
        }
    }
}
