//! The files of one evaluation in a bundle, by their names in `data/evaluation/`.

use serde_json::Value as Json;

use super::evaluate::Evaluation;
use super::tasks::TaskScores;
use repro_core::digest::{Digest, NotCanonical, canonical};

/// Everything that was evaluated at one checkpoint.
#[derive(Debug, Clone)]
pub struct Record {
    /// The step of the checkpoint.
    pub step: u64,
    /// The tokens that training had seen by then.
    pub tokens_seen: u64,
    /// The digest of the checkpoint's tensors, where it is said which they were.
    pub tensors_sha256: Option<Digest>,
    /// The held-out text.
    pub text: Evaluation,
    /// The tasks, where the run has some.
    pub tasks: Option<TaskScores>,
}

/// A payload file: its name and its text.
pub type NamedText = (String, String);

impl Record {
    /// The name of the record of the checkpoint at `step`, which its receipt gives.
    pub fn name(step: u64) -> String {
        format!("data/evaluation/step-{step:06}.json")
    }

    /// The files: the record, and of tasks the table, and the outcomes where `with_outcomes`.
    pub fn files(&self, with_outcomes: bool) -> Result<Vec<NamedText>, NotCanonical> {
        let beside = |ending: &str| format!("data/evaluation/step-{:06}.{ending}", self.step);
        let (table, outcomes) = (beside("tasks.csv"), beside("outcomes.jsonl"));
        let mut record = self.text.record(self.step, self.tokens_seen);
        if let Some(digest) = self.tensors_sha256 {
            record.insert("tensors_sha256".to_owned(), digest.to_string().into());
        }
        let mut files = Vec::new();
        if let Some(tasks) = &self.tasks {
            record.append(&mut tasks.record(&table, with_outcomes.then_some(outcomes.as_str())));
            files.push((table, tasks.table()));
            if with_outcomes {
                files.push((outcomes, tasks.outcomes()?));
            }
        }
        let text = canonical(&Json::Object(record))? + "\n";
        files.insert(0, (Self::name(self.step), text));
        Ok(files)
    }
}
