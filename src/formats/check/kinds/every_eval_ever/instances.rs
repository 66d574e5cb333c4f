//! Instances: one line per sample and result.

use std::collections::BTreeMap;
use std::path::Path;

use repro_core::digest::Digest;
use repro_core::source::{Document, Node, Source};

use crate::check::kinds::scores;
use crate::check::stated::StatedRow;

/// Whether a line is an instance.
pub fn is(line: Node<'_>) -> bool {
    ["evaluation_id", "sample_id", "interaction_type", "evaluation"]
        .iter()
        .all(|key| line.get(key).is_some())
}

/// All lines of a file.
pub fn read(document: &Document) -> StatedRow {
    let mut row = StatedRow::default();
    let all = scores::elements(Some(document.root()), "");
    row.add("instance", all.map(|(line, pointer)| instance(line, &pointer)));
    row
}

fn instance(line: Node<'_>, pointer: &str) -> StatedRow {
    let mut row = StatedRow::new(scores::text(line, "sample_id").unwrap_or_default());
    if let Some(evaluation) = line.get("evaluation") {
        let below = format!("{pointer}/evaluation");
        let names = ["score", "is_correct", "num_turns", "tool_calls_count"];
        scores::state_some(&mut row, evaluation, &below, &names);
        if let Some(score) = scores::number(evaluation, "score") {
            let truth = repro_claim::relation::Term::Truth(score == 1.0);
            row.compute("scored.correct", truth, "whether the score is 1");
        }
    }
    if let Some(usage) = line.get("token_usage") {
        let below = format!("{pointer}/token_usage");
        let names = ["input_tokens", "output_tokens", "total_tokens"];
        scores::state_some(&mut row, usage, &below, &names);
        let (tokens, how) = scores::counted_as_well(usage);
        row.compute_number("counted_as_well", tokens, how);
    }
    if let Some(messages) = line.get("messages").and_then(|messages| messages.items().ok()) {
        row.compute_number("messages", messages.len() as f64, "the length of `messages`");
        let calls =
            messages.filter_map(|message| Some(message.get("tool_calls")?.items().ok()?.len()));
        row.compute_number(
            "calls",
            calls.sum::<usize>() as f64,
            "the number of calls in all `messages`",
        );
    }
    row
}

/// The instances that an evaluation references, if their file is beside it.
#[derive(Debug, Default)]
pub struct InstancesBeside {
    /// The scores by result.
    scores: BTreeMap<String, Vec<f64>>,
}

impl InstancesBeside {
    /// Reads the file beside an evaluation and compares it with the evaluation's statements.
    pub fn read(row: &mut StatedRow, root: Node<'_>, folder: &Path) -> Self {
        let mut details = Self::default();
        let Some(stated) = root.get("detailed_evaluation_results") else { return details };
        let path = scores::text(stated, "file_path").unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let file = folder.join(name);
        if name.is_empty() || !file.is_file() {
            return details;
        }
        let Ok(source) = Source::load_plain(&file, name) else { return details };
        let below = "/detailed_evaluation_results";
        scores::state_some(row, stated, below, &["total_rows"]);
        if scores::text(stated, "hash_algorithm") == Some("sha256") {
            scores::state_some(row, stated, below, &["checksum"]);
            let digest = Digest::of(source.text().as_bytes()).to_string();
            row.compute_text("file.checksum", &digest, format!("SHA-256 of {name}"));
        }
        let Ok(document) = Document::parse_loose_json_lines(source) else { return details };
        let lines = scores::elements(Some(document.root()), "");
        let lines: Vec<Node<'_>> = lines.map(|(line, _)| line).collect();
        row.compute_number(
            "file.rows",
            lines.len() as f64,
            format!("the number of lines in {name}"),
        );
        for line in lines {
            let result = ["evaluation_result_id", "evaluation_name"];
            let result = result.iter().find_map(|key| scores::text(line, key));
            let score = line.get("evaluation").and_then(|all| scores::number(all, "score"));
            if let Some((result, score)) = result.zip(score) {
                details.scores.entry(result.to_owned()).or_default().push(score);
            }
        }
        details
    }

    /// Adds the mean over its instances to a result.
    pub fn score(&self, row: &mut StatedRow) {
        let names = ["evaluation_result_id", "evaluation_name"];
        let known = names.iter().find_map(|name| self.scores.get(row.text(name)?));
        let Some(scores) = known.filter(|scores| !scores.is_empty()) else { return };
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        row.compute_number("instances.mean", mean, "the mean over the instances");
    }
}
