//! The requests of a run, and the instance statistics that follow from them.

use std::collections::BTreeMap;

use repro_core::source::{Document, Node};

use super::words::Matches;
use super::{RunFiles, stats};
use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// Adapter methods with one request per instance and trial.
const ONE_EACH: &[&str] = &["generation", "multiple_choice_joint"];

/// An instance in a trial.
type InstanceKey<'n> = (&'n str, u64);

/// Adds a row for each request that is the only one of its instance and trial.
pub fn read(row: &mut StatedRow, files: &RunFiles) {
    let Some(state) = files.state.as_ref().map(Document::root) else { return };
    let method = state.get("adapter_spec").and_then(|spec| scores::text(spec, "method"));
    let requests: Vec<_> =
        scores::elements(state.get("request_states"), "/request_states").collect();
    let is_one_each = method.is_some_and(|method| ONE_EACH.contains(&method));
    if is_one_each {
        row.compute_number("requests", requests.len() as f64, "the length of `/request_states`");
    }
    let mut times: BTreeMap<InstanceKey<'_>, usize> = BTreeMap::new();
    for (request, _) in &requests {
        *times.entry(key_of(*request)).or_default() += 1;
    }
    let instances = statistics(files);
    let mut rows = Vec::new();
    for (request, pointer) in &requests {
        let key = key_of(*request);
        let mut of_request = StatedRow::new(key.0);
        asked(&mut of_request, *request, pointer, state);
        if is_one_each && times.get(&key) == Some(&1) {
            for (entry, pointer) in instances.get(&key).into_iter().flatten() {
                stats::of_instance(&mut of_request, *entry, pointer);
            }
            answered(&mut of_request, *request, state);
        }
        rows.push(of_request);
    }
    row.add("request", rows);
}

/// The instance and trial of a request; none for perturbed instances, which have several requests.
fn key_of(request: Node<'_>) -> InstanceKey<'_> {
    let instance = request.get("instance");
    let plain = instance.filter(|instance| instance.get("perturbation").is_none());
    let id = plain.and_then(|instance| instance.get("id")?.printed().ok());
    (id.unwrap_or_default(), scores::number(request, "train_trial_index").unwrap_or(0.0).to_bits())
}

/// The statistics of each instance and trial, which may be spread over several lists.
fn statistics(files: &RunFiles) -> BTreeMap<InstanceKey<'_>, Vec<(Node<'_>, String)>> {
    let mut all: BTreeMap<InstanceKey<'_>, Vec<(Node<'_>, String)>> = BTreeMap::new();
    let instances = files.instances.as_ref().map(Document::root);
    for (entry, pointer) in scores::elements(instances, "") {
        let is_plain = entry.get("perturbation").is_none();
        let id = entry.get("instance_id").and_then(|id| id.printed().ok()).filter(|_| is_plain);
        let trial = scores::number(entry, "train_trial_index").unwrap_or(0.0).to_bits();
        if let Some(id) = id {
            all.entry((id, trial)).or_default().push((entry, pointer));
        }
    }
    all
}

/// The settings of the request, and the settings that the run specifies.
fn asked(row: &mut StatedRow, request: Node<'_>, pointer: &str, state: Node<'_>) {
    scores::state_some(row, request, pointer, &["num_train_instances"]);
    let names = ["model", "model_deployment", "temperature", "max_tokens"];
    if let Some(own) = request.get("request") {
        scores::state_some(row, own, &format!("{pointer}/request"), &names);
    }
    let Some(spec) = state.get("adapter_spec") else { return };
    for name in names {
        if let Some(value) = spec.get(name) {
            row.state(format!("spec.{name}"), value, format!("/adapter_spec/{name}"), Digits::Full);
        }
    }
}

/// Values computed from the answer.
fn answered(row: &mut StatedRow, request: Node<'_>, state: Node<'_>) {
    let references = request.get("instance").and_then(|instance| instance.get("references"));
    let count = scores::elements(references, "").count();
    row.compute_number("references", count as f64, "the number of references of the instance");
    if let Some(cut) = request.get("prompt_truncated").and_then(|cut| cut.truth().ok()) {
        row.compute_number("truncated", f64::from(u8::from(cut)), "`prompt_truncated`");
    }
    let Some(result) = request.get("result") else { return };
    if let Some(seconds) =
        scores::number(result, "request_time").filter(|_| result.get("batch_size").is_none())
    {
        row.compute_number("seconds", seconds, "`request_time`");
    }
    let completions: Vec<_> = scores::elements(result.get("completions"), "").collect();
    let tokens = |completion: Node<'_>| scores::elements(completion.get("tokens"), "").count();
    let all: usize = completions.iter().map(|(completion, _)| tokens(*completion)).sum();
    row.compute_number("tokens", all as f64, "the number of tokens in all completions");
    let [(completion, _)] = completions.as_slice() else { return };
    probabilities(row, request, *completion);
    matches(row, request, *completion, state);
}

/// Sums over the tokens of the answer.
fn probabilities(row: &mut StatedRow, request: Node<'_>, completion: Node<'_>) {
    let skipped = scores::number(request, "num_conditioning_tokens").unwrap_or(0.0);
    let is_echoed = request.get("request").and_then(|own| own.get("echo_prompt")?.truth().ok());
    if skipped != 0.0 || is_echoed == Some(true) {
        return;
    }
    let (mut sum, mut bytes, mut count) = (0.0, 0, 0);
    for (token, _) in scores::elements(completion.get("tokens"), "") {
        let text = scores::text(token, "text").unwrap_or_default();
        let Some(logprob) = scores::number(token, "logprob") else { return };
        sum += logprob;
        count += 1;
        bytes += match text.starts_with("bytes:") {
            true => text.matches("\\x").count(),
            false => text.len(),
        };
    }
    row.compute_number("logprob", sum, "the sum over the answer's tokens");
    row.compute_number("perplexity_tokens", f64::from(count), "the number of tokens in the answer");
    row.compute_number("bytes", bytes as f64, "the bytes of the answer's tokens");
}

/// Whether the answer is correct.
fn matches(row: &mut StatedRow, request: Node<'_>, completion: Node<'_>, state: Node<'_>) {
    let has_pattern =
        state.get("adapter_spec").is_some_and(|spec| spec.get("output_mapping_pattern").is_some());
    let references = request.get("instance").and_then(|instance| instance.get("references"));
    let is_right = |reference: &Node<'_>| {
        scores::elements(reference.get("tags"), "").any(|(tag, _)| tag.text() == Ok("correct"))
    };
    let right: Vec<&str> = scores::elements(references, "")
        .map(|(reference, _)| reference)
        .filter(is_right)
        .filter_map(|reference| scores::text(reference.get("output")?, "text"))
        .collect();
    let (Some(answer), false, false) =
        (scores::text(completion, "text"), right.is_empty(), has_pattern)
    else {
        return;
    };
    let answer = answer.trim();
    let answer = match request.get("output_mapping") {
        Some(mapping) => scores::text(mapping, answer),
        None => Some(answer),
    };
    // Python may handle case and spaces of other characters differently.
    if !answer.unwrap_or_default().is_ascii() || !right.iter().all(|one| one.is_ascii()) {
        return;
    }
    let Matches { exact, quasi, prefix, quasi_prefix } = Matches::of(answer, &right);
    for (name, fits) in
        [("exact", exact), ("quasi", quasi), ("prefix", prefix), ("quasi_prefix", quasi_prefix)]
    {
        let how = "the answer compared with the correct references";
        row.compute_number(format!("matches.{name}"), f64::from(u8::from(fits)), how);
    }
}
