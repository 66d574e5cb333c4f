//! Hugging Face Trainer's `trainer_state.json`, and the `all_results.json` of its example scripts: logged values by
//! step, evaluations, and the training summary.
//!
//! Definitions: `trainer.py`, `trainer_callback.py` and `speed_metrics` of `trainer_utils.py`, huggingface/transformers.

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_core::source::{Document, Node};

use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "hf-trainer",
    what: "state or results of the Hugging Face Trainer",
    reads: Reads::Json { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// Decimals to which the Trainer rounds a number, by the end of its name; it writes all others in full.
const ROUNDED: &[(&str, i32)] =
    &[("_runtime", 4), ("_per_second", 3), ("epoch", 2), ("perplexity", 4)];
/// The decimals of step losses, which are also rounded means.
const LOSS_DECIMALS: i32 = 4;

/// Words in the names of numbers that a perplexity may belong to.
const LOSSES: &[&str] = &["loss", "nll", "ce", "entropy", "xent", "nats"];
/// The relative difference allowed between a perplexity and the exponential of a rounded loss.
const PERPLEXITY_SLACK: f64 = 0.0002;

fn is(root: Node<'_>) -> bool {
    is_state(root) || is_results(root)
}

/// The Trainer's name for its state file.
pub const STATE: &str = "trainer_state.json";

/// Suggests an alternative to a file with this name that is too large.
pub fn instead_of(name: &str) -> Option<&'static str> {
    let help = "check `all_results.json` beside it, or the state of an earlier checkpoint, whose history is shorter";
    (name == STATE).then_some(help)
}

fn is_state(root: Node<'_>) -> bool {
    root.get("global_step").is_some()
        && root.get("log_history").is_some_and(|history| history.items().is_ok())
}

fn is_results(root: Node<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some();
    has("train_runtime") && has("train_samples_per_second")
        || has("eval_runtime") && has("eval_samples_per_second")
}

fn read(document: &Document) -> StatedRow {
    let root = document.root();
    let mut whole = StatedRow::default();
    if !is_state(root) {
        let mut row = logged(root, "");
        row.label.clear();
        let evaluations = evaluations(&row);
        whole.add("evaluation", evaluations);
        whole.add("logged", [row]);
        return whole;
    }
    whole.state_all(root, "", Digits::Full);
    let history = root.get("log_history").and_then(|history| history.items().ok());
    let rows: Vec<StatedRow> = history
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, entry)| logged(entry, &format!("/log_history/{at}")))
        .collect();
    last(&mut whole, &rows);
    best(&mut whole, &rows);
    mean_loss(&mut whole, &rows);
    whole.add("evaluation", rows.iter().flat_map(evaluations));
    whole.add("logged", rows);
    whole
}

/// One entry of the history.
fn logged(entry: Node<'_>, pointer: &str) -> StatedRow {
    let mut row = StatedRow::default();
    row.state_all(entry, pointer, Digits::Full);
    let names: Vec<String> =
        entry.members().into_iter().flatten().map(|(key, _)| key.to_owned()).collect();
    for name in names {
        let decimals = ROUNDED.iter().find(|(end, _)| name.ends_with(end));
        let decimals = decimals.map(|(_, decimals)| *decimals);
        let decimals = if name == "loss" { Some(LOSS_DECIMALS) } else { decimals };
        if let Some(decimals) = decimals {
            round(&mut row, &name, decimals);
        }
    }
    if let Some(step) = row.number("step") {
        row.label = format!("step {step}");
    }
    row
}

/// A number rounded to this many decimals, printed without trailing zeros.
fn round(row: &mut StatedRow, name: &str, decimals: i32) {
    let Some((value, printed)) =
        row.number(name).zip(row.cell(name).map(|cell| cell.printed.clone()))
    else {
        return;
    };
    let half = 0.5 * libm::pow(10.0, f64::from(-decimals)) + 1e-9;
    row.quote(name, name, PrintedRange::between(value - half, value + half), &printed);
}

/// The evaluations of an entry: one for each prefix that has a runtime.
fn evaluations(row: &StatedRow) -> Vec<StatedRow> {
    let prefix = |name: &str| name.strip_suffix("_runtime").map(str::to_owned);
    let prefixes = row.names().filter_map(prefix).filter(|prefix| prefix != "train");
    let of = |prefix: String| {
        let mut own = StatedRow::new(if row.label.is_empty() {
            prefix.clone()
        } else {
            format!("{}, {prefix}", row.label)
        });
        for name in ["runtime", "samples_per_second", "steps_per_second", "samples"] {
            own.copy(name, row, &format!("{prefix}_{name}"));
        }
        perplexity(&mut own, row, &prefix);
        own
    };
    prefixes.map(of).collect()
}

/// The perplexity of an evaluation and its loss: the only loss, or one that fits.
fn perplexity(own: &mut StatedRow, row: &StatedRow, prefix: &str) {
    let named = format!("{prefix}_perplexity");
    own.copy("perplexity", row, "perplexity");
    own.copy("perplexity", row, &named);
    let Some(perplexity) = own.number("perplexity") else { return };
    let is_loss = |name: &&str| name.split('_').any(|part| LOSSES.contains(&part));
    // Without a prefix it may belong to any of the merged evaluations.
    let is_of_it = |name: &&str| row.cell(&named).is_none() || name.starts_with(prefix);
    let losses = row.names().filter(is_loss).filter(is_of_it);
    let losses: Vec<&str> = losses.filter(|name| row.number(name).is_some()).collect();
    let of_evaluations: Vec<&str> =
        losses.iter().copied().filter(|name| !["loss", "train_loss"].contains(name)).collect();
    let fits = |name: &&&str| {
        row.number(name)
            .is_some_and(|loss| (perplexity / libm::exp(loss) - 1.0).abs() <= PERPLEXITY_SLACK)
    };
    match (losses.iter().find(fits), of_evaluations.as_slice()) {
        (Some(loss), _) | (None, [loss]) => own.copy("loss", row, loss),
        (None, [loss, ..]) => own.copy("likely.loss", row, loss),
        (None, []) => {}
    }
}

/// The end of the history.
fn last(whole: &mut StatedRow, rows: &[StatedRow]) {
    let Some(last) = rows.last() else { return };
    whole.copy("last.step", last, "step");
    whole.copy("last.epoch", last, "epoch");
    // After further training the state belongs to the new run, so only a summary at the end describes this state.
    for name in ["train_runtime", "train_steps_per_second", "train_loss", "total_flos"] {
        if last.cell("train_runtime").is_some() {
            whole.copy(format!("summary.{name}"), last, name);
        }
    }
    if last.cell("train_runtime").is_some() {
        whole.copy("summary.step", last, "step");
    }
}

/// The numbers of an evaluation, whatever they measure.
fn metrics(row: &StatedRow) -> impl Iterator<Item = (&str, f64)> {
    let is_speed = |name: &str| name.ends_with("_runtime") || name.ends_with("_per_second");
    let is_metric = move |name: &&str| name.starts_with("eval_") && !is_speed(name);
    row.names().filter(is_metric).filter_map(|name| Some((name, row.number(name)?)))
}

/// The evaluation whose metric is closest to a number.
fn nearest<'r>(rows: &[&'r StatedRow], to: f64) -> Option<(&'r str, f64)> {
    let all = rows.iter().flat_map(|row| metrics(row));
    all.min_by(|a, b| (a.1 - to).abs().total_cmp(&(b.1 - to).abs()))
}

/// The smallest and the largest value of a metric.
fn ends(rows: &[&StatedRow], name: &str) -> Option<[f64; 2]> {
    let values = || rows.iter().filter_map(|row| row.number(name));
    Some([values().reduce(f64::min)?, values().reduce(f64::max)?])
}

/// Finds the evaluation that the best metric comes from, whether it is the best one, and the value at the best step.
fn best(whole: &mut StatedRow, rows: &[StatedRow]) {
    let Some(best) = whole.number("best_metric") else { return };
    let evaluations: Vec<&StatedRow> =
        rows.iter().filter(|row| metrics(row).next().is_some()).collect();
    let Some((name, value)) = nearest(&evaluations, best) else { return };
    whole.compute_number("best.nearest", value, format!("the closest `{name}`"));
    if value == best {
        best_of_all(whole, &evaluations, best);
    }
    let checkpoint = whole.text("best_model_checkpoint").unwrap_or_default();
    let named = checkpoint.rsplit_once("checkpoint-").map(|(_, step)| step.trim_end_matches('/'));
    let named = named.and_then(|step| step.parse::<f64>().ok());
    if let Some(named) = named {
        whole.compute_number("best.named", named, "the step in the name of the best checkpoint");
    }
    // Since the best step is stored, the best evaluation need not have a checkpoint.
    let Some(step) = whole.number("best_global_step").or(named) else { return };
    let at_step: Vec<&StatedRow> =
        evaluations.iter().copied().filter(|row| row.number("step") == Some(step)).collect();
    if let Some((name, value)) = nearest(&at_step, best) {
        let how = format!("`{name}` at the best step, {step}");
        whole.compute_number("best.at_step", value, how);
    }
}

/// Whether the best metric is the smallest or the largest over all evaluations, or over those with a saved checkpoint.
fn best_of_all(whole: &mut StatedRow, evaluations: &[&StatedRow], best: f64) {
    let every = whole.number("save_steps").filter(|steps| *steps >= 1.0);
    let is_saved = |row: &&&StatedRow| {
        every.zip(row.number("step")).is_some_and(|(every, step)| step % every == 0.0)
    };
    let saved: Vec<&StatedRow> = evaluations.iter().filter(is_saved).copied().collect();
    let names = evaluations.iter().flat_map(|row| metrics(row));
    let names = names.filter(|(_, value)| *value == best).map(|(name, _)| name);
    let of_name = |name| [ends(evaluations, name), ends(&saved, name)];
    let all: Vec<[f64; 2]> = names.flat_map(of_name).flatten().collect();
    let end = match all.iter().any(|ends| ends.contains(&best)) {
        true => Some(best),
        false => {
            all.first().map(|[low, high]| if best - low <= high - best { *low } else { *high })
        }
    };
    if let Some(end) = end {
        whole.compute_number("best.end", end, "the smallest or largest over the evaluations");
    }
}

/// The mean of the logged losses, each weighted by the steps since the previous one.
fn mean_loss(whole: &mut StatedRow, rows: &[StatedRow]) {
    let losses: Vec<(f64, PrintedRange)> =
        rows.iter().filter_map(|row| Some((row.number("step")?, row.range("loss")?))).collect();
    let Some((last, _)) = losses.last() else { return };
    let mut sum = PrintedRange::of(0.0);
    let mut before = 0.0;
    for (step, loss) in &losses {
        if *step <= before {
            return;
        }
        let part = loss.scaled(step - before);
        sum = sum.operate(repro_claim::syntax::ArithmeticOperator::Add, part);
        before = *step;
    }
    let term = repro_claim::relation::Term::Number(sum.scaled(1.0 / last));
    whole.compute("logged.mean_loss", term, "the mean of the logged losses, weighted by steps");
    whole.compute_number("logged.last_step", *last, "the last step with a logged loss");
}

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("hf_trainer.toml", include_str!("hf_trainer.toml"));
