//! Task lists as DCLM publishes them (`icl_tasks`), in YAML, JSON or TOML, and the suite of tasks that
//! a list and a file of baselines make.
//!
//! Items lie where the list says, from the folder of the list, or of the folder `eval_data` in it, as
//! the public CORE bundle has them. What a list says beyond the fields read here would change what is
//! asked, so it is refused.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use num_rational::BigRational;

use super::{
    ChoiceRule, DELIMITER, ItemForm, NO_DATA, NO_TASK_LIST, REPEATED_LABEL, SEPARATOR,
    TOO_FEW_ITEMS, Task, UNSUPPORTED, items,
};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Document, Error, Kind, Location, Node, Source};
use repro_model::tasks::{Baselines, NO_BASELINE, NO_BASELINES, TASK_CAP};

/// The fields of a task that are read, and those that change nothing here.
const FIELDS: &[&str] = &[
    "label",
    "dataset_uri",
    "icl_task_type",
    "num_fewshot",
    "continuation_delimiter",
    "example_delimiter",
    "prompt_string",
    "has_categories",
    "metric_names",
    "batch_size",
];
/// The folder of items beside a list.
const DATA: &str = "eval_data";
/// The most examples of a prompt.
const SHOT_CAP: u64 = 64;

/// The tasks of a run, and what guessing scores in each.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The tasks, in the order of their list.
    pub tasks: Vec<Task>,
    /// The seed for drawing the examples of prompts.
    pub seed: u64,
    baselines: Option<Baselines>,
}

impl Suite {
    /// Tasks of which guessing is known by their own choices.
    pub fn of(tasks: Vec<Task>, seed: u64) -> Self {
        Self { tasks, seed, baselines: None }
    }

    /// Reads the task list at `list`, all items that it names, and a file of baselines that knows each of
    /// its tasks; without one, guessing is known by the choices of each task.
    pub fn load(list: &Path, baselines: Option<&Path>, seed: u64) -> Result<Self, Error> {
        let source = Source::load(list, list.display().to_string())?;
        let document = match list.extension().and_then(|ending| ending.to_str()) {
            Some("yaml" | "yml") => repro_core::yaml::parse(source)?,
            _ => Document::parse(source)?,
        };
        let baselines = baselines.map(one_version).transpose()?;
        let root = document.root();
        let entries = match &root.value().kind {
            Kind::Object(_) => root.get("icl_tasks").ok_or_else(|| no_list(root))?,
            _ => root,
        };
        let (mut tasks, mut seen) = (Vec::new(), HashSet::new());
        for entry in entries.items().map_err(|_| no_list(entries))? {
            let label = entry.required("label")?;
            let name = label.text()?;
            if !seen.insert(name) {
                let found = format!("`{name}` again");
                return Err(REPEATED_LABEL.at(label.place(), "each task once", found));
            }
            let known = |file: &Baselines| file.of_task(name).is_some();
            if let Some(file) = baselines.as_ref().filter(|file| !known(file)) {
                let expected = format!("a task of `{}`", file.name);
                return Err(NO_BASELINE.at(label.place(), expected, format!("`{name}`")));
            }
            tasks.push(task(entry, list.parent().unwrap_or(Path::new("")))?);
        }
        if tasks.is_empty() || tasks.len() > TASK_CAP {
            return Err(no_list(entries));
        }
        Ok(Self { tasks, seed, baselines })
    }

    /// The file of baselines, where one was given.
    pub fn baselines(&self) -> Option<&Baselines> {
        self.baselines.as_ref()
    }

    /// The identity of all questions: the SHA-256 of the seed (8 bytes, least significant first) and,
    /// of each task, its name, kind, number of examples, preamble, delimiter and separator, and of each of
    /// its items the position of the right passage and the passages, context and continuation. Numbers
    /// are written out; every text stands after its length in 8 such bytes.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.update(&self.seed.to_le_bytes());
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for task in &self.tasks {
            let Task { name, form, shots, preamble, delimiter, separator, .. } = task;
            let shots = shots.to_string();
            let parts = [name, form.word(), &shots, preamble, delimiter, separator];
            parts.into_iter().for_each(&mut add);
            for item in &task.items {
                add(&item.gold.to_string());
                for passage in &item.passages {
                    add(&passage.context);
                    add(&passage.continuation);
                }
            }
        }
        hasher.finish()
    }

    /// The score of guessing in a task, as a fraction.
    pub fn baseline(&self, task: &Task) -> BigRational {
        let of_file = self.baselines.as_ref().and_then(|file| file.of_task(&task.name));
        of_file.cloned().unwrap_or_else(|| task.chance())
    }
}

/// The one version of the baselines in a file.
fn one_version(path: &Path) -> Result<Baselines, Error> {
    let name = path.display().to_string();
    let mut versions = Baselines::read(&Document::parse(Source::load(path, name.clone())?)?)?;
    match (versions.pop(), versions.len()) {
        (Some(version), 0) => Ok(version),
        (_, more) => {
            let found = format!("{} versions", more + 1);
            Err(NO_BASELINES.at(Location::file(name), "one version of the baselines", found))
        }
    }
}

fn no_list(node: Node) -> Error {
    let found = format!("{} without a task list", node.value().kind.word());
    NO_TASK_LIST.at(node.place(), "`icl_tasks`, a list of at least one task", found)
}

fn task(entry: Node, folder: &Path) -> Result<Task, Error> {
    entry.only(FIELDS)?;
    let text = |key: &str, otherwise: &str| -> Result<String, Error> {
        Ok(entry.get(key).map(Node::text).transpose()?.unwrap_or(otherwise).to_owned())
    };
    let kind = entry.required("icl_task_type")?;
    let word = kind.text()?;
    let form = ItemForm::ALL.into_iter().find(|form| form.word() == word).ok_or_else(|| {
        let words = ItemForm::ALL.map(|form| format!("`{}`", form.word())).join(", ");
        UNSUPPORTED.at(kind.place(), format!("one of {words}"), format!("`{word}`"))
    })?;
    let shots = shots(entry)?;
    let uri = entry.required("dataset_uri")?;
    let path = data(uri, folder)?;
    let items = items::load(&path, &path.display().to_string(), form)?;
    if items.len() <= shots {
        let expected = format!("more than {shots} items");
        return Err(TOO_FEW_ITEMS.at(uri.place(), expected, items.len().to_string()));
    }
    Ok(Task {
        name: entry.required("label")?.text()?.to_owned(),
        form,
        rule: ChoiceRule::PerToken,
        shots,
        preamble: text("prompt_string", "")?,
        delimiter: text("continuation_delimiter", DELIMITER)?,
        separator: text("example_delimiter", SEPARATOR)?,
        items,
    })
}

/// The number of examples: a number, or a list of one.
fn shots(entry: Node) -> Result<usize, Error> {
    let Some(field) = entry.get("num_fewshot") else { return Ok(0) };
    let only = match &field.value().kind {
        Kind::Array(list) if list.len() == 1 => field.at("/0")?,
        Kind::Array(list) => {
            let found = format!("a list of {}", list.len());
            return Err(UNSUPPORTED.at(field.place(), "a single number of examples", found));
        }
        _ => field,
    };
    match only.integer()? {
        shots if shots <= SHOT_CAP => Ok(shots as usize),
        shots => {
            let expected = format!("at most {SHOT_CAP} examples");
            Err(UNSUPPORTED.at(only.place(), expected, shots.to_string()))
        }
    }
}

/// The file of items that `uri` names.
fn data(uri: Node, folder: &Path) -> Result<PathBuf, Error> {
    let name = uri.text()?;
    let candidates = [folder.join(name), folder.join(DATA).join(name)];
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let expected = format!("a file at this path or in `{DATA}`, relative to the list's folder");
        NO_DATA.at(uri.place(), expected, format!("no `{name}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "epoch: 1\ntokenizer:\nicl_tasks:\n-\n  label: copa\n  dataset_uri: a/copa.jsonl\n  \
                        num_fewshot: [0]\n  icl_task_type: multiple_choice\n-\n  label: jeopardy\n  \
                        dataset_uri: jeopardy.jsonl\n  num_fewshot: [1]\n  icl_task_type: \
                        language_modeling\n  continuation_delimiter: \"\\nAnswer: \" # asks\n  \
                        has_categories: true\n";
    const BASELINES: &str = "Eval Task,Random baseline\ncopa,50\njeopardy,0\nboolq,62\n";

    fn load(list: &str, baselines: Option<&str>) -> Result<Suite, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("eval_data/a")).unwrap();
        let copa = "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":1}\n";
        std::fs::write(path("eval_data/a/copa.jsonl"), copa).unwrap();
        let jeopardy = "{\"context\":\"c\",\"continuation\":\"d\"}\n".repeat(2);
        std::fs::write(path("jeopardy.jsonl"), jeopardy).unwrap();
        std::fs::write(path("core.yaml"), list).unwrap();
        std::fs::write(path("b.csv"), baselines.unwrap_or_default()).unwrap();
        let baselines = baselines.map(|_| path("b.csv"));
        Suite::load(&path("core.yaml"), baselines.as_deref(), 0)
    }

    #[test]
    fn a_public_list_is_read() {
        let suite = load(LIST, Some(BASELINES)).unwrap();
        let [copa, jeopardy] = suite.tasks.as_slice() else { panic!("{:?}", suite.tasks) };
        assert_eq!(
            (copa.name.as_str(), copa.form, copa.shots),
            ("copa", ItemForm::MultipleChoice, 0)
        );
        assert_eq!((copa.delimiter.as_str(), copa.separator.as_str()), (" ", "\n\n"));
        assert_eq!((jeopardy.delimiter.as_str(), jeopardy.shots), ("\nAnswer: ", 1));
        assert_eq!((copa.items.len(), jeopardy.items.len()), (1, 2));
        let half = BigRational::new(1.into(), 2.into());
        assert_eq!(
            (suite.baseline(copa), suite.baseline(jeopardy)),
            (half.clone(), BigRational::default())
        );
        assert_eq!(load(LIST, None).unwrap().baseline(copa), half);
        assert_eq!(load(LIST, None).unwrap().digest(), suite.digest());
        let other = load(&LIST.replace("Answer: ", "Answer:"), None).unwrap();
        assert_ne!(other.digest(), suite.digest());
    }

    #[test]
    fn what_cannot_be_asked_as_written_is_refused_with_its_place() {
        for (from, to, code, line) in [
            ("a/copa.jsonl", "a/none.jsonl", "task-list::no-data", 6),
            ("multiple_choice", "question_answering", "task-list::unsupported", 8),
            ("[0]", "[0, 5]", "task-list::unsupported", 7),
            ("[0]", "[1]", "task-list::too-few-items", 6),
            ("[0]", "[65]", "task-list::unsupported", 7),
            ("[0]", "many", "source::wrong-type", 7),
            ("label: jeopardy", "label: copa", "task-list::repeated-label", 10),
            ("label: jeopardy", "label: squad", "tasks::no-baseline", 10),
            ("has_categories", "do_normalization", "source::unknown-field", 15),
            ("icl_tasks", "tasks", "task-list::no-list", 1),
            ("  label: copa\n", "", "source::missing-field", 5),
        ] {
            let error = load(&LIST.replacen(from, to, 1), Some(BASELINES)).unwrap_err();
            assert_eq!((error.code.id, error.place.line), (code, line), "{error}");
        }
        let nothing = load("icl_tasks: []\n", None).unwrap_err();
        assert_eq!(nothing.code.id, "task-list::no-list");
        let versions = "Eval Task,baseline_v1,baseline_v2\ncopa,50,50\n";
        assert_eq!(load(LIST, Some(versions)).unwrap_err().code.id, "tasks::no-baselines");
    }
}
