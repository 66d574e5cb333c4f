//! A run: a config or a receipt bundle, and the step at which its number was read.

use std::path::Path;
use std::sync::Arc;

use num_rational::BigRational;

use super::fields::{BATCH, LENGTH, STEPS, StatedFields, TOKENS_PER_STEP};
use super::{BAD_STEP, NO_ONE_CONFIG, NO_STEP_SIZE, Schedule};
use crate::params::{self as params, ParameterCounts, UNKNOWN_FAMILY};
use repro_bundle::bundle::{Bundle, CONFIG, FACTS, Origin};
use repro_bundle::checkpoint::read_document;
use repro_core::source::{Document, Error, Kind, Location, Node};

/// The source of the compared step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOrigin {
    /// The caller named it.
    Named,
    /// The last one that the config plans.
    Config,
    /// The last checkpoint of the receipt.
    Checkpoint,
}

impl StepOrigin {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Config => "config",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// One run at one step.
#[derive(Debug)]
pub struct RunAtStep {
    /// The file or folder, as the caller named it.
    pub file: String,
    /// The family of the model.
    pub family: &'static str,
    /// P_total.
    pub total: u64,
    /// P_active, if it is known.
    pub active: Option<u64>,
    /// The step at which the number was read.
    pub step: Option<u64>,
    /// The source of the step.
    pub step_origin: Option<StepOrigin>,
    /// The origin of the evidence and its digest, if it is a bundle.
    pub bundle: Option<(Origin, String)>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    pub(super) objects: Option<ParameterCounts>,
    pub(super) fields: StatedFields,
    pub(super) schedule: Option<Schedule>,
    tokens_per_step: Option<BigRational>,
    /// Steps and tokens of the receipt's checkpoints.
    checkpoints: Vec<(u64, Option<u64>)>,
}

impl RunAtStep {
    /// Loads `PATH[@STEP]`: a config, a checkpoint, or the folder of a receipt bundle.
    pub fn load(argument: &str) -> Result<Self, Error> {
        let (file, named) = split(argument)?;
        let path = Path::new(file);
        let mut run = if path.is_dir() {
            Self::of_bundle(&Bundle::load_folder(path, file, None, 1)?, file)?
        } else if file.ends_with(".toml") || (file.ends_with(".json") && !is_index(file)) {
            Self::of_config(file, &read_document(path, file)?)?
        } else {
            let model = params::load(path, file)?;
            Self { notes: model.notes, ..Self::bare(file, model.total, model.active, model.counts) }
        };
        run.settle(named)?;
        Ok(run)
    }

    /// A config that is already read, called `name`.
    pub fn of_document(name: &str, config: &Document) -> Result<Self, Error> {
        let mut run = Self::of_config(name, config)?;
        run.settle(None)?;
        Ok(run)
    }

    /// A model without any information except its parameters.
    fn bare(file: &str, total: u64, active: Option<u64>, objects: Option<ParameterCounts>) -> Self {
        Self {
            file: file.to_owned(),
            family: objects.as_ref().map_or("unknown", |objects| objects.family),
            total,
            active,
            step: None,
            step_origin: None,
            bundle: None,
            notes: Vec::new(),
            objects,
            fields: StatedFields::default(),
            schedule: None,
            tokens_per_step: None,
            checkpoints: Vec::new(),
        }
    }

    fn of_config(file: &str, config: &Document) -> Result<Self, Error> {
        let mut objects = params::recompute(&model(config))?;
        let notes = std::mem::take(&mut objects.notes);
        let mut run = Self::bare(file, objects.total(), Some(objects.active()), Some(objects));
        run.notes = notes;
        run.fields.add_config(config.root())?;
        let scheduled = ["warmup_steps", "hold_tokens", "decay_tokens", "batch_size", "seq_len"];
        if scheduled.iter().all(|field| config.root().get(field).is_some()) {
            run.schedule = Some(Schedule::of_config(config)?);
        }
        Ok(run)
    }

    fn of_bundle(bundle: &Bundle, file: &str) -> Result<Self, Error> {
        let mut run = Self::of_config(file, the_config(bundle)?)?;
        let receipt = bundle.receipt();
        run.bundle = Some((receipt.origin, bundle.digest().prefixed()));
        run.fields.add_receipt(bundle.receipt_document().root().required("predicate")?)?;
        run.checkpoints =
            receipt.checkpoints.iter().map(|saved| (saved.step, saved.tokens_seen)).collect();
        Ok(run)
    }

    /// Settles the step and the size of a step once everything is read.
    fn settle(&mut self, named: Option<u64>) -> Result<(), Error> {
        let product = self.fields.number(BATCH).zip(self.fields.number(LENGTH)).map(|(b, l)| b * l);
        let declared = || self.fields.number(TOKENS_PER_STEP).cloned();
        self.tokens_per_step = product.or_else(declared);
        let zero = BigRational::from_integer(0.into());
        if self.tokens_per_step.as_ref().is_some_and(|tokens| *tokens <= zero) {
            let place = Location::file(self.file.as_str());
            return Err(NO_STEP_SIZE.at(place, "a positive number of tokens per step", "none"));
        }
        let planned =
            self.fields.number(STEPS).and_then(|steps| steps.to_integer().try_into().ok());
        let saved = self.checkpoints.iter().map(|(step, _)| *step).max();
        let choices = [
            (named, StepOrigin::Named),
            (planned, StepOrigin::Config),
            (saved, StepOrigin::Checkpoint),
        ];
        let chosen = choices.into_iter().find_map(|(step, origin)| Some((step?, origin)));
        self.step = chosen.map(|(step, _)| step);
        self.step_origin = chosen.map(|(_, origin)| origin);
        if let (Some(step), Some(planned)) = (self.step, planned)
            && step > planned
        {
            self.notes.push(format!("step {step} is past the {planned} planned steps"));
        }
        Ok(())
    }

    /// Tokens per optimizer step.
    pub fn tokens_per_step(&self) -> Option<&BigRational> {
        self.tokens_per_step.as_ref()
    }

    /// The steps that the config plans.
    pub fn planned_steps(&self) -> Option<&BigRational> {
        self.fields.number(STEPS)
    }

    /// Tokens seen at the compared step: from the receipt's checkpoint, or else from the tokens per step.
    pub(super) fn tokens(&self) -> Option<BigRational> {
        let step = self.step?;
        let saved = self.checkpoints.iter().find(|(saved, _)| *saved == step);
        match saved.and_then(|(_, tokens)| *tokens) {
            Some(tokens) => Some(BigRational::from_integer(tokens.into())),
            None => Some(self.tokens_per_step()? * BigRational::from_integer(step.into())),
        }
    }

    /// The length of its learning-rate schedule, else of its plan.
    pub(super) fn schedule_steps(&self) -> Option<BigRational> {
        let field = |name| self.fields.number(name);
        match (field("hold tokens"), field("decay tokens"), self.tokens_per_step()) {
            (Some(hold), Some(decay), Some(tokens)) => Some((hold + decay) / tokens),
            _ => self.planned_steps().cloned(),
        }
    }
}

fn is_index(file: &str) -> bool {
    file.ends_with(".safetensors.index.json")
}

/// Splits `PATH@STEP`, unless a file with the whole name exists.
fn split(argument: &str) -> Result<(&str, Option<u64>), Error> {
    let Some((path, step)) = argument.rsplit_once('@') else { return Ok((argument, None)) };
    if Path::new(argument).exists() {
        return Ok((argument, None));
    }
    let digits = step.replace([',', '_'], "");
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(step) if whole => Ok((path, Some(step))),
        _ => {
            Err(BAD_STEP.at(Location::file(path), "a whole number after `@`", format!("`{step}`")))
        }
    }
}

/// The part of a config that describes the model: some trainers nest it in a dict.
fn model(config: &Document) -> Document {
    let root = config.root();
    match root.get("model") {
        Some(model) if is_table(model) && root.get("model_type").is_none() => {
            Document { source: config.source.clone(), root: Arc::new(model.value().clone()) }
        }
        _ => config.clone(),
    }
}

fn is_table(node: Node<'_>) -> bool {
    matches!(node.value().kind, Kind::Object(_))
}

/// The config of a bundle: its own, or the only file that describes a model.
fn the_config(bundle: &Bundle) -> Result<&Document, Error> {
    if bundle.files().contains_key(CONFIG) {
        return bundle.document(CONFIG);
    }
    let mut found = Vec::new();
    for name in bundle.documents().filter(|name| *name != FACTS) {
        if name.ends_with(".toml") || name.ends_with(".json") {
            let document = bundle.document(name)?;
            let known = match params::recompute(&model(document)) {
                Ok(_) => true,
                Err(error) => is_table(document.root()) && error.code != &UNKNOWN_FAMILY,
            };
            if known {
                found.push((name, document));
            }
        }
    }
    match found[..] {
        [(_, document)] => Ok(document),
        [] => Err(NO_ONE_CONFIG.at(bundle.place("data"), "one config", "none")),
        _ => {
            let names: Vec<_> = found.iter().map(|(name, _)| format!("`{name}`")).collect();
            let (place, names) = (bundle.place("data"), names.join(", "));
            Err(NO_ONE_CONFIG.at(place, "one config", names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stands_behind_the_last_at_sign() {
        assert_eq!(split("a.toml").unwrap(), ("a.toml", None));
        assert_eq!(split("a@b/c.toml@8_320").unwrap(), ("a@b/c.toml", Some(8320)));
        for wrong in
            ["a.toml@", "a.toml@late", "a.toml@-1", "a.toml@1.5", "a.toml@99999999999999999999"]
        {
            let error = split(wrong).unwrap_err();
            assert_eq!(
                (error.code.id, error.place.file.as_str()),
                ("contract::bad-step", "a.toml")
            );
        }
    }

    #[test]
    fn a_file_may_have_an_at_sign_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run@12");
        std::fs::write(&path, "").unwrap();
        let name = path.to_str().unwrap();
        assert_eq!(split(name).unwrap(), (name, None));
    }
}
