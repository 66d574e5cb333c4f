//! The best of a run's own evaluations, with the step at which it stood.

use num_rational::BigRational;
use repro_bundle::bundle::{Bundle, Origin};
use repro_core::decimal::Printed;
use repro_core::source::{Error, Kind, Node};

use crate::evaluate::reference::{as_recorded, pointer};
use crate::evaluate::{Call, Frame, READING, WRONG_KIND};
use crate::lexicon::lexicon;
use crate::value::{BestOf, Evaluated, EvidencePath, Quantity, RunSample};

/// The words of `by`.
const BY: [&str; 2] = ["min", "max"];

pub fn best<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let metric = call.argument(0)?;
    let reference = match metric.evaluate()? {
        Evaluated::Reference(reference) if !reference.path.is_empty() => reference,
        other => return Err(no_metric(metric, other.word())),
    };
    if reference.step.is_some() {
        let expected = "a metric without a step: the best is selected from all evaluations";
        return Err(call.wrong_arguments(expected, &format!("`{}`", metric.part)));
    }
    // That a run has no such metric is told before that nothing is known of it.
    let is_highest = is_highest(call, reference.path.last().map_or("", String::as_str));
    let mut numbers = Vec::new();
    for bundle in &reference.bundles {
        let all = match &reference.file {
            Some(file) => in_records(metric, bundle, file, &reference.path)?,
            None => in_evaluations(metric, bundle, &reference.path)?,
        };
        let one = EvidencePath { bundles: vec![*bundle], is_group: false, ..reference.clone() };
        numbers.push(best_of(metric, one, all, is_highest.clone())?);
    }
    Ok(RunSample { runs: reference.runs(), numbers }.into_value(reference.is_group))
}

fn no_metric(metric: Frame<'_, '_>, found: &str) -> Error {
    let expected = "a metric with several evaluations per run, such as `run.loss`";
    metric.wrong(&WRONG_KIND, expected, found)
}

/// Whether the highest of a metric is the best: as the call says, else by the words of its name.
fn is_highest(call: Call<'_, '_>, metric: &str) -> Result<bool, Error> {
    let by = call.word("by", |word| BY.contains(&word).then(|| word == "max"), BY)?;
    by.or_else(|| polarity(metric)).ok_or_else(|| {
        let expected = "a metric that is known to be better when higher or lower";
        let error = call.wrong_arguments(expected, &format!("`{metric}`"));
        error.help(format!("write `{}(..., by = 'min')` or `by = 'max'`", call.name))
    })
}

/// Whether the highest of a metric is the best, by the words of its name; none if they do not tell.
fn polarity(metric: &str) -> Option<bool> {
    let lower = metric.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has =
        |list: &str| lexicon().words(list).iter().any(|known| words.contains(&known.as_str()));
    match (has("metric.lowest"), has("metric.highest"), has("metric.turning")) {
        (true, false, false) => Some(false),
        (false, true, false) => Some(true),
        _ => None,
    }
}

/// A record of a run, by what leads to it.
struct Candidate {
    value: BigRational,
    step: Option<u64>,
    path: Vec<String>,
}

/// The best record of a run as evidence that knows of which it was chosen.
fn best_of<'a>(
    metric: Frame<'_, 'a>,
    run: EvidencePath<'a>,
    all: Vec<Candidate>,
    is_highest: Result<bool, Error>,
) -> Result<Quantity, Error> {
    let records = all.len();
    let mut all = all.into_iter();
    let Some(mut best) = all.next() else {
        // What is in place of a number, or that nothing does, is told as of any field.
        let found = metric.settle(Evaluated::Reference(run))?;
        return Err(no_metric(metric, found.word()));
    };
    let chosen = BestOf { is_highest: is_highest?, records };
    // Of equal ones the first: it was reached before.
    for other in all {
        let [less, more] = if chosen.is_highest { [&best, &other] } else { [&other, &best] };
        if less.value < more.value {
            best = other;
        }
    }
    let Candidate { path, step, .. } = best;
    let value = EvidencePath { path, step, best: Some(chosen), ..run };
    let number = metric.number_of(Evaluated::Reference(value))?;
    let at = step.map_or_else(String::new, |step| format!(" at step {step}"));
    let derivation = format!("{}{at}, {}", number.derivation, chosen.words());
    Ok(Quantity { derivation, leaf: None, ..number })
}

/// The metric in each evaluation of a run that has it as a number.
fn in_evaluations<'a>(
    metric: Frame<'_, 'a>,
    bundle: &'a Bundle,
    path: &[String],
) -> Result<Vec<Candidate>, Error> {
    let is_of_run = !["config", "receipt"].contains(&path[0].as_str());
    if bundle.origin() != Origin::Emitted || !is_of_run {
        return Err(no_metric(metric, "a value without evaluations"));
    }
    let checkpoints = &bundle.receipt().checkpoints;
    metric.takes(checkpoints.len().saturating_mul(READING))?;
    let renamed = as_recorded(path);
    let mut found = Vec::new();
    for saved in checkpoints {
        let Some(file) = &saved.evaluation else { continue };
        if let Some(value) = value_at(metric.document(bundle, file)?.root(), &renamed) {
            found.push(Candidate { value, step: Some(saved.step), path: path.to_vec() });
        }
    }
    found.sort_by_key(|one| one.step);
    Ok(found)
}

/// The metric in each record of a table or a log that has it as a number.
fn in_records<'a>(
    metric: Frame<'_, 'a>,
    bundle: &'a Bundle,
    file: &str,
    path: &[String],
) -> Result<Vec<Candidate>, Error> {
    let root = metric.document(bundle, file)?.root();
    let Kind::Array(_) = root.value().kind else {
        return Err(no_metric(metric, "a file that is not a list of records"));
    };
    let records: Vec<_> = root.items()?.collect();
    metric.takes(records.len().saturating_mul(READING))?;
    let mut found = Vec::new();
    for (index, record) in records.into_iter().enumerate() {
        let Some(value) = value_at(record, path) else { continue };
        // A table in CSV has its steps as text.
        let step = record.get("step").and_then(|step| step.printed().ok()?.parse().ok());
        let path = std::iter::once(index.to_string()).chain(path.iter().cloned()).collect();
        found.push(Candidate { value, step, path });
    }
    Ok(found)
}

/// The number at a way into a record; none if there is none, as of what was not finite.
fn value_at(record: Node<'_>, path: &[String]) -> Option<BigRational> {
    let text = record.at(&pointer(path)).ok()?.printed().ok()?;
    let printed = Printed::parse(text).ok().filter(|printed| printed.bound().is_none())?;
    Some(printed.in_ones())
}

#[cfg(test)]
mod tests {
    use super::polarity;

    #[test]
    fn names_of_metrics_say_which_end_is_the_best() {
        for (name, is_highest) in [
            ("loss", Some(false)),
            ("eval/loss", Some(false)),
            ("val_bpb", Some(false)),
            ("Perplexity", Some(false)),
            ("metrics/mAP50(B)", Some(true)),
            ("top-1-accuracy", Some(true)),
            ("core", Some(true)),
            ("grad_norm", None),
            ("loss_gap", None),
            ("accuracy_loss", None),
            ("losses", None),
            ("", None),
        ] {
            assert_eq!(polarity(name), is_highest, "{name}");
        }
    }
}
