//! One planned run: its name, its complete config, and the plan's part of its receipt.

use serde_json::{Map, Value as Json, json};

use repro_bundle::bundle::{Contract, DeclaredModel, Open, Run};
use repro_core::digest::{Digest, canonical};
use repro_core::source::{Document, Error, Node, Source};

use super::fields::to_json;

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Tries one learning rate on the development split.
    Tuning,
    /// Trains an arm at its best learning rate.
    Best,
    /// Trains an arm again at the learning rate that all arms share.
    Shared,
}

impl RunKind {
    /// The word in receipts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::Best => "best",
            Self::Shared => "shared",
        }
    }

    /// The name of an arm's run; `which` is the learning rate that it tries or its seed.
    pub fn name(self, study: &str, arm: &str, budget: &str, which: &str) -> String {
        match self {
            Self::Tuning => format!("{study}-{arm}-tune-{which}"),
            Self::Best => format!("{study}-{arm}-{budget}-s{which}"),
            Self::Shared => format!("{study}-{arm}-{budget}-s{which}-shared"),
        }
    }
}

/// One run of a study.
#[derive(Debug, Clone)]
pub struct PlannedRun {
    /// Its name, which is the name of its bundle.
    pub id: String,
    /// Its study.
    pub study: String,
    /// Its arm.
    pub arm: String,
    /// Its budget.
    pub budget: String,
    /// Its seed, of initial weights and of the order of the data.
    pub seed: u64,
    /// Its purpose.
    pub kind: RunKind,
    /// Its learning rate, once it is chosen.
    pub rate: Option<f64>,
    /// Its steps.
    pub steps: u64,
    /// Its configuration: one flat table, with `lr` once it is chosen.
    pub config: Map<String, Json>,
    /// The quantities that are held fixed, for the receipt.
    pub contract: Contract,
    /// The model as the receipt declares it.
    pub model: DeclaredModel,
    /// The arm whose parameters determine its horizon, if it is a different one.
    pub horizon_of: Option<String>,
    /// The digest of the study file.
    pub plan: Digest,
}

impl PlannedRun {
    /// Its name with `*` for the part that distinguishes it from others of its kind, arm and budget.
    pub fn pattern(&self) -> String {
        self.kind.name(&self.study, &self.arm, &self.budget, "*")
    }

    /// The same run with this learning rate.
    pub fn at(&self, rate: f64) -> Self {
        let mut run = self.clone();
        run.rate = Some(rate);
        run.config.insert("lr".to_owned(), json!(rate));
        run
    }

    /// Its configuration as a document, called `config.json` in messages.
    pub fn document(&self) -> Result<Document, Error> {
        let text = Json::Object(self.config.clone()).to_string();
        Document::parse_json(Source::new("config.json", text.into_bytes())?)
    }

    /// The first planned field that is missing or different in a config. A run without a learning rate is compared in all
    /// other fields.
    pub fn differs_from(&self, config: Node<'_>) -> Result<Option<String>, Error> {
        for (field, planned) in &self.config {
            let found = config.get(field).map(to_json).transpose()?;
            let text = |value: &Json| canonical(value).unwrap_or_else(|_| value.to_string());
            let wanted = text(planned);
            match found.as_ref().map(text) {
                Some(found) if found == wanted => {}
                Some(found) => {
                    return Ok(Some(format!("`{field}` is {found}, planned {wanted}")));
                }
                None => return Ok(Some(format!("`{field}` is missing, planned {wanted}"))),
            }
        }
        Ok(None)
    }

    /// The part `run` of its receipt.
    pub fn receipt(&self, plan_commit: Option<String>, finished: bool) -> Run {
        Run {
            id: self.id.clone(),
            study: Some(self.study.clone()),
            arm: Some(self.arm.clone()),
            plan_commit,
            finished: Some(finished),
        }
    }

    /// The part `extra` of its receipt: its place in the plan.
    pub fn extra(&self) -> Open {
        let mut extra = Open::new();
        extra.insert("plan_sha256".to_owned(), json!(self.plan.to_string()));
        extra.insert("budget".to_owned(), json!(self.budget));
        extra.insert("kind".to_owned(), json!(self.kind.word()));
        if let Some(arm) = &self.horizon_of {
            extra.insert("horizon_of".to_owned(), json!(arm));
        }
        extra
    }
}
