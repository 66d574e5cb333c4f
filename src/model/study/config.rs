//! The parts of a study file that are copied into each run's config: data, evaluation, tasks.

use serde_json::{Map, Value as Json, json};

use super::fields::{count, positive, table, word};
use super::{BAD_LENGTH, BAD_VALUE};
use repro_core::source::{Error, Location, Node};

/// The rule for repeating data within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The same unique tokens for every run; the number of epochs follows.
    Strict,
    /// Half as many unique tokens as the run has tokens, each seen twice.
    Relaxed,
    /// Every token is new.
    Fresh,
}

/// The data of the runs, and their evaluation.
#[derive(Debug, Clone)]
pub struct DataPlan {
    form: Form,
    unique_tokens: Option<u64>,
    max_epochs: Option<(Json, f64)>,
    data: Map<String, Json>,
    evaluation: Map<String, Json>,
    tasks: Option<Map<String, Json>>,
    place: Location,
}

impl DataPlan {
    /// Reads `[data]`, `[reuse]`, `[evaluation]` and `[tasks]`.
    pub fn read(root: Node<'_>) -> Result<Self, Error> {
        let reuse = root.required("reuse")?;
        reuse.only(&["form", "unique_tokens", "max_epochs"])?;
        let form = match word(reuse.required("form")?, &["strict", "relaxed", "fresh"])? {
            "strict" => Form::Strict,
            "relaxed" => Form::Relaxed,
            _ => Form::Fresh,
        };
        let unique_tokens = reuse.get("unique_tokens");
        if let Some(stated) = unique_tokens
            && form != Form::Strict
        {
            let expected =
                "no `unique_tokens` unless the form is `strict`, because they follow from the run";
            return Err(BAD_VALUE.at(stated.place(), expected, "one"));
        }
        let max_epochs = reuse.get("max_epochs");
        if let Some(stated) = max_epochs
            && form != Form::Strict
        {
            let expected = "no `max_epochs` unless the form is `strict`, because it is one or two";
            return Err(BAD_VALUE.at(stated.place(), expected, "one"));
        }
        let max_epochs = max_epochs.map(|node| {
            positive(node)?;
            Ok((super::fields::to_json(node)?, node.float()?))
        });
        let evaluation = root.required("evaluation")?;
        if let Some(split) = evaluation.get("split") {
            let expected =
                "no `split`, because tuning runs use `development` and all others `validation`";
            return Err(BAD_VALUE.at(split.place(), expected, "one"));
        }
        Ok(Self {
            form,
            unique_tokens: unique_tokens.map(count).transpose()?,
            max_epochs: max_epochs.transpose()?,
            data: table(root.required("data")?)?,
            evaluation: table(evaluation)?,
            tasks: root.get("tasks").map(table).transpose()?,
            place: reuse.place(),
        })
    }

    /// The fields of a run with this number of tokens; a tuning run has no tasks and uses a different split.
    pub fn fields(&self, tokens: u64, tuning: bool) -> Result<Map<String, Json>, Error> {
        let name = match self.form {
            Form::Strict => "strict",
            Form::Relaxed => "relaxed",
            Form::Fresh => "fresh",
        };
        let mut fields = Map::from_iter([("reuse".to_owned(), json!(name))]);
        if let Some(unique) = self.unique_tokens {
            fields.insert("unique_tokens".to_owned(), json!(unique));
        }
        if let Some((stated, most)) = &self.max_epochs {
            if let Some(unique) = self.unique_tokens
                && tokens as f64 > most * unique as f64
            {
                let expected = format!("at most {most} epochs of {unique} unique tokens");
                let found = format!("{tokens} tokens");
                return Err(BAD_LENGTH.at(self.place.clone(), expected, found));
            }
            fields.insert("max_epochs".to_owned(), stated.clone());
        }
        fields.insert("data".to_owned(), Json::Object(self.data.clone()));
        let mut evaluation = self.evaluation.clone();
        let split = if tuning { "development" } else { "validation" };
        evaluation.insert("split".to_owned(), json!(split));
        fields.insert("evaluation".to_owned(), Json::Object(evaluation));
        if let Some(tasks) = self.tasks.as_ref().filter(|_| !tuning) {
            fields.insert("tasks".to_owned(), Json::Object(tasks.clone()));
        }
        Ok(fields)
    }
}
