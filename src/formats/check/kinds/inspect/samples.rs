//! The samples of a log, and their reduced scores.

use std::collections::{BTreeMap, BTreeSet};

use repro_core::source::{Kind as NodeKind, Node};

use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// Totals over the samples of a log.
#[derive(Debug, Default)]
pub struct Samples {
    listed: usize,
    /// The samples without an error, and the samples with scores.
    flawless: usize,
    scored: usize,
    /// The values by scorer, each with the sample's id; none if one is not a number.
    values: BTreeMap<String, Option<Vec<(String, f64)>>>,
    /// Scorers with a grade that is neither right nor wrong.
    worded: BTreeSet<String>,
    /// The reduced values by scorer and reducer.
    reduced: BTreeMap<(String, Option<String>), Option<Vec<f64>>>,
    /// The tokens by model.
    tokens: BTreeMap<String, f64>,
}

/// A value as metrics convert it; none if they cannot.
fn value(node: Node<'_>) -> Option<f64> {
    match &node.value().kind {
        NodeKind::Number(_) => node.float().ok(),
        NodeKind::Bool(truth) => Some(f64::from(u8::from(*truth))),
        NodeKind::Text(text) => match &**text {
            "C" => Some(1.0),
            "P" => Some(0.5),
            "I" => Some(0.0),
            // As a word it may be a refusal to answer, or the loose reader's form of NaN.
            _ => None,
        },
        _ => None,
    }
}

/// Adds a row for each sample, and the totals.
pub fn read(row: &mut StatedRow, root: Node<'_>) -> Samples {
    let mut samples = Samples::default();
    let planned = root.get("eval").and_then(|eval| eval.get("dataset")?.get("sample_ids"));
    let ids: BTreeSet<&str> =
        scores::elements(planned, "").filter_map(|(id, _)| id.printed().ok()).collect();
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for (node, pointer) in scores::elements(root.get("samples"), "/samples") {
        samples.listed += 1;
        let id = node.get("id").and_then(|id| id.printed().ok()).unwrap_or_default();
        samples.take(node);
        let mut row = sample(node, &pointer, id, (!ids.is_empty()).then(|| ids.contains(id)));
        if !seen.insert((id, scores::number(node, "epoch").map(f64::to_bits))) {
            row.compute_text("again", id, "an earlier sample has the same id and epoch");
        }
        rows.push(row);
    }
    if samples.listed > 0 {
        let how = "the number of samples in the log";
        row.compute_number("listed", samples.listed as f64, how);
        // Older versions count samples with scores.
        let scored = Some(samples.scored as f64);
        let (count, how) = match row.number("completed_samples") == scored {
            true => (samples.scored, "the number of samples with scores"),
            false => (samples.flawless, "the number of samples without an error"),
        };
        row.compute_number("without_error", count as f64, how);
    }
    row.add("sample", rows);
    for (reduction, _) in scores::elements(root.get("reductions"), "") {
        let scorer = scores::text(reduction, "scorer").unwrap_or_default().to_owned();
        let reducer = scores::text(reduction, "reducer").map(str::to_owned);
        let all = scores::elements(reduction.get("samples"), "");
        let values = all.map(|(sample, _)| value(sample.get("value")?)).collect();
        samples.reduced.insert((scorer, reducer), values);
    }
    samples
}

fn sample(node: Node<'_>, pointer: &str, id: &str, is_planned: Option<bool>) -> StatedRow {
    let mut row = StatedRow::new(format!("sample {id}"));
    let names = ["id", "epoch", "working_time", "total_time"];
    scores::state_some(&mut row, node, pointer, &names);
    if is_planned == Some(false) {
        row.compute_text("unplanned", id, "not in `/eval/dataset/sample_ids`");
    }
    if let Some(choice) = node.get("scores").and_then(|all| all.get("choice")) {
        choose(&mut row, node, choice, &format!("{pointer}/scores/choice"));
    }
    let usage = node.get("model_usage");
    row.add("usage", super::usages(usage, &format!("{pointer}/model_usage")));
    row
}

/// Whether an answer's letters match the target.
fn choose(row: &mut StatedRow, sample: Node<'_>, choice: Node<'_>, pointer: &str) {
    let letters = |text: &str| -> Option<BTreeSet<char>> {
        let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
        let letters: BTreeSet<char> = parts.flat_map(str::chars).collect();
        letters.iter().all(char::is_ascii_uppercase).then_some(letters)
    };
    let target = sample.get("target");
    let listed = scores::elements(target, "").filter_map(|(part, _)| part.text().ok());
    let target = target.and_then(|text| text.text().ok()).map_or(listed.collect(), str::to_owned);
    let answer = scores::text(choice, "answer").and_then(letters);
    let Some((answer, target)) = answer.zip(letters(&target)) else { return };
    let (Some(value), false) = (choice.get("value"), target.is_empty()) else { return };
    row.state("choice", value, format!("{pointer}/value"), Digits::Full);
    let by_letters = if answer == target { "C" } else { "I" };
    row.compute_text("by_letters", by_letters, "whether the answer's letters match the target");
}

/// Reduces the values of several epochs to one, by the reducer's name.
fn reducer(name: &str) -> Option<fn(&mut [f64]) -> f64> {
    Some(match name {
        "mean" => |values| values.iter().sum::<f64>() / values.len() as f64,
        "max" => |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "median" => |values| {
            values.sort_by(f64::total_cmp);
            let middle = values.len() / 2;
            let at = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
            if values.len() % 2 == 1 { at(middle) } else { (at(middle - 1) + at(middle)) / 2.0 }
        },
        _ => return None,
    })
}

impl Samples {
    fn take(&mut self, sample: Node<'_>) {
        self.flawless += usize::from(sample.get("error").is_none());
        let all = sample.get("scores");
        self.scored += usize::from(scores::members(all, "").next().is_some());
        let id = sample.get("id").and_then(|id| id.printed().ok()).unwrap_or_default();
        for (scorer, score, _) in scores::members(all, "") {
            if scores::text(score, "value").is_some_and(|word| word != "C" && word != "I") {
                self.worded.insert(scorer.to_owned());
            }
            let values = self.values.entry(scorer.to_owned()).or_insert_with(|| Some(Vec::new()));
            match (values.as_mut(), score.get("value").and_then(value)) {
                (Some(values), Some(value)) => values.push((id.to_owned(), value)),
                _ => *values = None,
            }
        }
        for (model, usage, _) in scores::members(sample.get("model_usage"), "") {
            let tokens = scores::number(usage, "total_tokens").unwrap_or(0.0);
            *self.tokens.entry(model.to_owned()).or_default() += tokens;
        }
    }

    /// Whether a sample has a grade that metrics may convert in different ways: half right, or no answer.
    pub fn are_worded(&self, scorer: &str) -> bool {
        self.worded.contains(scorer)
    }

    /// Whether each answer of a score is right or wrong, if all are available.
    pub fn are_right_or_wrong(&self, scorer: &str, row: &StatedRow) -> Option<bool> {
        let Some(values) = self.values.get(scorer)? else { return Some(false) };
        let is_either = values.iter().all(|(_, value)| *value == 0.0 || *value == 1.0);
        let is_whole = row.number("answers") == Some(values.len() as f64);
        (is_whole || !is_either).then_some(is_either)
    }

    /// The reduced values over the epochs, if the log states a reducer and contains all samples.
    fn regrouped(&self, name: &str, row: &StatedRow, log: &StatedRow) -> Option<Vec<f64>> {
        if log.number("total_samples") != Some(self.listed as f64) {
            return None;
        }
        let reduce = reducer(row.text("reducer")?)?;
        let mut of_samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (id, value) in self.values.get(name)?.as_ref()? {
            of_samples.entry(id).or_default().push(*value);
        }
        Some(of_samples.values_mut().map(|values| reduce(values)).collect())
    }

    /// Adds values computed from the samples to a score, if all samples are available.
    pub fn score(&self, row: &mut StatedRow, name: &str, log: &StatedRow) {
        let items = row.number("items");
        let is_whole = |values: &&Vec<f64>| Some(values.len() as f64) == items;
        let is_once = log.number("epochs") == Some(1.0)
            && log.number("total_samples") == Some(self.listed as f64);
        let own = self.values.get(name).and_then(Option::as_ref).filter(|_| is_once);
        let own: Option<Vec<f64>> = own.map(|all| all.iter().map(|(_, value)| *value).collect());
        let own = own.as_ref().filter(is_whole);
        let key = (name.to_owned(), row.text("reducer").map(str::to_owned));
        let bare = (name.to_owned(), None);
        let reduced = [&key, &bare].into_iter().find_map(|key| self.reduced.get(key)?.as_ref());
        let reduced = reduced.filter(is_whole);
        let regrouped = self.regrouped(name, row, log);
        let regrouped =
            regrouped.as_ref().filter(is_whole).filter(|_| !is_once && reduced.is_none());
        // Facts about Inspect's own metrics are only likely for others.
        let is_own = row.text("metrics") == Some("own");
        let prefix = |prefix| if is_own { prefix } else { "likely" };
        for (values, prefix, how) in [
            (reduced, prefix("reduced"), "computed over the reduced values"),
            // If both are only likely, the samples decide.
            (own, prefix("samples"), "computed over the samples"),
            (regrouped, "likely", "computed over the samples, reduced over the epochs"),
        ] {
            let Some(values) = values.filter(|values| !values.is_empty()) else { continue };
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
            row.compute_number(format!("{prefix}.mean"), mean, how);
            if count > 1.0 {
                row.compute_number(format!("{prefix}.variance"), squares / (count - 1.0), how);
            }
        }
    }

    /// Adds the samples' tokens to each model's tokens, if all samples are available.
    pub fn add_usage(&self, row: &mut StatedRow) {
        if row.number("total_samples") != Some(self.listed as f64) {
            return;
        }
        let mut rows = Vec::new();
        for usage in row.rows("usage") {
            let Some(tokens) = self.tokens.get(&usage.label) else { continue };
            let mut both = StatedRow::new(usage.label.clone());
            both.copy("total_tokens", usage, "total_tokens");
            both.compute_number("of_samples", *tokens, "the sum over the samples");
            rows.push(both);
        }
        row.add("whole_usage", rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    #[test]
    fn answers_are_compared_by_their_letters() {
        let text = br#"[{"target": "A", "scores": {"choice": {"value": "I", "answer": "A"}}},
            {"target": ["A", "C"], "scores": {"choice": {"value": "C", "answer": "C, A"}}},
            {"target": "42", "scores": {"choice": {"value": "C", "answer": "A"}}}]"#;
        let document = Document::parse_json(Source::new("t.json", text.to_vec()).unwrap()).unwrap();
        let all = document.root().items().unwrap();
        let told = |node| sample(node, "", "1", None).text("by_letters").map(str::to_owned);
        assert_eq!(all.map(told).collect::<Vec<_>>(), [Some("C".into()), Some("C".into()), None]);
    }
}
