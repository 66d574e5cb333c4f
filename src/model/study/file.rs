//! The study file: its frame, and the runs that follow from it.

use std::path::Path;

use num_rational::BigRational;

use super::choose::Tuning;
use super::config::DataPlan;
use super::fields::{distinct, identifier, positive};
use super::grid::{Grid, same_runs};
use super::recipe::{Saving, StudyRecipe};
use super::{
    Arm, BAD_VALUE, Budget, ListedRun, NO_SUCH_STUDY, PlannedRun, Rates, RunKind, Tuned,
    WRONG_NAME, WRONG_SCHEMA, WRONG_STUDY, arm,
};
use crate::starts::{StartsFile, StartsLog};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, MISSING_FIELD, Node, Source};

/// The schema id that a study file opens with.
pub const SCHEMA: &str = "repro.study/1";

/// The analysis as declared before any run, for readers and for posts about the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The quantity on which arms are compared.
    pub metric: String,
    /// The level of all tests.
    pub alpha: String,
    /// The tests.
    pub tests: Vec<String>,
    /// The tests that share their error rate.
    pub families: Vec<String>,
    /// Which runs may be left out.
    pub exclusion: String,
}

/// A study.
#[derive(Debug)]
pub struct Study {
    document: Document,
    digest: Digest,
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its questions.
    pub questions: Vec<String>,
    /// The declared analysis.
    pub analysis: Analysis,
    /// Its arms.
    pub arms: Vec<Arm>,
    /// Its budgets.
    pub budgets: Vec<Budget>,
    /// The log of its started runs, if there is one.
    pub starts: Option<StartsFile>,
    tuning: Option<Tuning>,
    /// The learning rate if it is not tuned.
    stated_rate: Option<BigRational>,
    runs: Vec<PlannedRun>,
}

impl Study {
    /// Reads `repro/studies/<id>.toml` below `root`.
    pub fn load(root: &Path, id: &str) -> Result<Self, Error> {
        let name = format!("repro/studies/{id}.toml");
        let path = root.join("repro").join("studies").join(format!("{id}.toml"));
        if id.is_empty() || id.contains(['/', '\\']) || !path.is_file() {
            return Err(NO_SUCH_STUDY.at(Location::file(name), "a study file", "none"));
        }
        Self::parse(Document::parse_toml(Source::load_plain(&path, name)?)?)
    }

    /// The study of a project whose file has this digest.
    pub fn of_digest(root: &Path, digest: &str) -> Option<Self> {
        let files = std::fs::read_dir(root.join("repro").join("studies")).ok()?;
        let ids = files.filter_map(|file| {
            file.ok()?.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned)
        });
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        let mut studies = ids.iter().filter_map(|id| Self::load(root, id).ok());
        studies.find(|study| study.digest().to_string() == digest)
    }

    /// Reads a study file and everything that follows from it.
    pub fn parse(document: Document) -> Result<Self, Error> {
        let root = document.root();
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(WRONG_SCHEMA.at(schema.place(), format!("`{SCHEMA}`"), found));
        }
        root.only(&[
            "schema",
            "id",
            "title",
            "questions",
            "analysis",
            "model",
            "mixture",
            "arm",
            "budget",
            "seeds",
            "recipe",
            "tuning",
            "checkpoints",
            "data",
            "reuse",
            "evaluation",
            "tasks",
            "runs",
            "starts",
        ])?;
        let id = named_like_its_file(root, document.source.name())?;
        let arms = arm::read(root)?;
        let arm_ids: Vec<_> = arms.iter().map(|arm| arm.id.clone()).collect();
        let list = root.required("budget")?;
        let budget_ids = distinct(list, |node| Ok(identifier(node.required("id")?)?.to_owned()))?;
        let budgets: Vec<_> =
            list.items()?.map(|node| Budget::read(node, &arm_ids)).collect::<Result<_, _>>()?;
        let seeds = distinct(root.required("seeds")?, Node::integer)?;
        let tuning = root.get("tuning");
        let tuning = tuning.map(|node| Tuning::read(node, &budget_ids, &seeds)).transpose()?;
        let recipe = root.required("recipe")?;
        let saving = Saving::read(root.required("checkpoints")?, &budget_ids)?;
        let digest = Digest::of(plan_text(document.source.text()).as_bytes());
        let runs = Grid {
            study: id,
            plan: digest,
            arms: &arms,
            budgets: &budgets,
            seeds: &seeds,
            tuning: tuning.as_ref(),
            recipe: &StudyRecipe::read(recipe)?,
            saving: &saving,
            reading: &DataPlan::read(root)?,
        }
        .runs()?;
        let study = Self {
            id: id.to_owned(),
            title: root.required("title")?.text()?.to_owned(),
            questions: lines(root.required("questions")?)?,
            analysis: Analysis::read(root.required("analysis")?)?,
            starts: root.get("starts").map(StartsFile::read).transpose()?,
            stated_rate: stated_rate(recipe, tuning.is_some())?,
            arms,
            budgets,
            tuning,
            runs,
            document: document.clone(),
            digest,
        };
        same_runs(root, &study.listed().collect::<Vec<_>>())?;
        Ok(study)
    }

    /// The parsed file.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The digest of the file, whatever ends of lines a checkout gave it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Rejects, at `place`, a study file whose digest differs from `pinned`.
    pub fn check_pin(&self, pinned: &Digest, place: &Location) -> Result<(), Error> {
        if self.digest() == *pinned {
            return Ok(());
        }
        let found = format!("`{}` with {}", self.id, self.digest().prefixed());
        Err(WRONG_STUDY.at(place.clone(), pinned.prefixed(), found))
    }

    /// The log of its started runs below `root`, if it has one.
    pub fn started(&self, root: &Path) -> Result<Option<StartsLog>, Error> {
        let folder = root.join("repro").join("studies");
        let load = |file: &StartsFile| file.load(&folder, "repro/studies");
        self.starts.as_ref().map(load).transpose()
    }

    /// The names of its arms.
    pub fn arm_ids(&self) -> Vec<String> {
        self.arms.iter().map(|arm| arm.id.clone()).collect()
    }

    /// Every planned run by name, in the order in which they are trained.
    pub fn listed(&self) -> impl Iterator<Item = ListedRun<'_>> {
        self.runs
            .iter()
            .map(|run| ListedRun { id: &run.id, conditional: run.kind == RunKind::Shared })
    }

    /// Every planned run; those that do not tune have no learning rate yet.
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// The runs that tune, with their learning rates.
    pub fn tuning_runs(&self) -> impl Iterator<Item = &PlannedRun> {
        self.runs.iter().filter(|run| run.kind == RunKind::Tuning)
    }

    /// The learning rates that the tuning runs choose, or the stated one.
    pub fn rates(&self, results: &[Tuned<'_>]) -> Result<Rates, Error> {
        match (&self.tuning, &self.stated_rate) {
            (Some(tuning), _) => tuning.choose(&self.arm_ids(), results),
            (None, Some(rate)) => Ok(Rates::stated(&self.arm_ids(), rate)),
            // The parser asks for one of the two.
            (None, None) => {
                let root = self.document.root();
                Err(MISSING_FIELD.at(root.place(), "`[tuning]` or `lr`", "neither"))
            }
        }
    }

    /// The final runs at these rates; an arm whose best rate is the shared one is run once.
    pub fn final_runs(&self, rates: &Rates) -> Vec<PlannedRun> {
        let at_rate = |run: &PlannedRun| {
            let best = rates.best(&run.arm)?;
            match run.kind {
                RunKind::Tuning => None,
                RunKind::Best => Some(run.at(best)),
                RunKind::Shared => (best != rates.shared()).then(|| run.at(rates.shared())),
            }
        };
        self.runs.iter().filter_map(at_rate).collect()
    }
}

impl Analysis {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.only(&["metric", "alpha", "tests", "families", "exclusion"])?;
        Ok(Self {
            metric: node.required("metric")?.text()?.to_owned(),
            alpha: node.required("alpha")?.printed()?.to_owned(),
            tests: lines(node.required("tests")?)?,
            families: lines(node.required("families")?)?,
            exclusion: node.required("exclusion")?.text()?.to_owned(),
        })
    }
}

fn lines(list: Node<'_>) -> Result<Vec<String>, Error> {
    list.items()?.map(|line| line.text().map(str::to_owned)).collect()
}

/// The id of a study, which is also the stem of its file.
fn named_like_its_file<'a>(root: Node<'a>, file: &str) -> Result<&'a str, Error> {
    let id = root.required("id")?;
    let text = identifier(id)?;
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".toml"));
    match stem {
        Some(stem) if stem != text => {
            Err(WRONG_NAME.at(id.place(), format!("`{stem}`"), format!("`{text}`")))
        }
        _ => Ok(text),
    }
}

/// The learning rate of the recipe, which is present if and only if nothing is tuned.
fn stated_rate(recipe: Node<'_>, tuned: bool) -> Result<Option<BigRational>, Error> {
    match (recipe.get("lr"), tuned) {
        (Some(rate), true) => Err(BAD_VALUE.at(
            rate.place(),
            "no `lr` next to `[tuning]`, which determines it",
            "one",
        )),
        (None, true) => Ok(None),
        (Some(rate), false) => positive(rate).map(Some),
        (None, false) => {
            Err(MISSING_FIELD.at(recipe.place(), "`lr` or a table `[tuning]`", "neither"))
        }
    }
}

/// The text of a plan as written, whatever line endings a checkout has.
pub fn plan_text(text: &str) -> String {
    text.replace("\r\n", "\n")
}
