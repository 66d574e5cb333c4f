//! The evaluations of a run at its checkpoints: the held-out text, and tasks if the study has some.
//!
//! `[evaluation]` says the split. `[tasks]` is one of: `list`, a task list in the DCLM layout, with
//! `baselines` and the `seed` of its few-shot draws; `cloze = { items, seed }`, made of the validation
//! text; `language = { items }`, questions about the embedded language of the data.

use crate::backend::Backend;
use crate::data::{Corpus, DataFolder};
use crate::evaluate::{BLOCK_BYTES, Evaluation, HeldOut, evaluate};
use crate::language::Language;
use crate::learner::Learner;
use crate::record::{NamedText, Record};
use crate::tasks::{Suite, Task};
use crate::{BAD_RECIPE, cloze};
use repro_core::digest::{Digest, NotCanonical};
use repro_core::source::{Error, Location, Node};

/// The results of a checkpoint's evaluations.
pub struct Examined {
    /// Names and texts of files.
    pub files: Vec<NamedText>,
    /// The name of the record among them.
    pub record: String,
    /// The loss on held-out text, in nats per token.
    pub loss: f64,
    /// The same in bits per byte.
    pub bits_per_byte: f64,
}

/// The tasks that a run's config asks for, whose files are in a folder.
pub fn suite(
    config: Node<'_>,
    corpus: &Corpus,
    folder: &DataFolder,
) -> Result<Option<Suite>, Error> {
    let Some(tasks) = config.get("tasks") else { return Ok(None) };
    let path = |node: Node<'_>| folder.file(node);
    let suite = if let Some(list) = tasks.get("list") {
        tasks.only(&["list", "baselines", "seed"])?;
        let baselines = tasks.get("baselines").map(path).transpose()?;
        Suite::load(&path(list)?, baselines.as_deref(), tasks.required("seed")?.integer()?)?
    } else if let Some(cloze) = tasks.get("cloze") {
        tasks.only(&["cloze"])?;
        cloze.only(&["items", "seed"])?;
        let seed = cloze.required("seed")?.integer()?;
        Suite::of(vec![cloze::task(&corpus.validation, items(cloze)?, seed)?], seed)
    } else {
        tasks.only(&["language"])?;
        let own = tasks.required("language")?;
        own.only(&["items"])?;
        Suite::of(of_language(config, own)?, 0)
    };
    Ok(Some(suite))
}

fn items(table: Node<'_>) -> Result<usize, Error> {
    let node = table.required("items")?;
    match usize::try_from(node.integer()?) {
        Ok(items) if (1..=1 << 20).contains(&items) => Ok(items),
        _ => Err(BAD_RECIPE.at(node.place(), "from 1 to 1048576 items", node.printed()?)),
    }
}

/// Questions about the language that the data are of.
fn of_language(config: Node<'_>, own: Node<'_>) -> Result<Vec<Task>, Error> {
    let data = config.required("data")?;
    let source = data.required("source")?;
    if source.text()? != "language" {
        let found = format!("`{}`", source.text()?);
        return Err(BAD_RECIPE.at(own.place(), "data from the source `language`", found));
    }
    let language = Language::new(data.required("seed")?.integer()?);
    Ok(language.tasks(items(own)?).into_iter().map(Task::from).collect())
}

/// The checkpoint that is examined.
#[derive(Debug, Clone, Copy)]
pub struct ExaminedPoint {
    /// The steps before it.
    pub step: u64,
    /// The tokens that training had seen by then.
    pub tokens_seen: u64,
    /// The digest of its tensors, which the record repeats.
    pub tensors_sha256: Option<Digest>,
    /// Whether it is the last one: then outcomes of single items are kept.
    pub is_last: bool,
}

/// Examines a learner at a checkpoint.
pub fn examine<B: Backend<Number = f32>>(
    learner: &mut Learner<B>,
    config: Node<'_>,
    corpus: &Corpus,
    suite: Option<&Suite>,
    point: ExaminedPoint,
) -> Result<Examined, Error> {
    let text = held_out(learner, config, corpus)?;
    let suite = suite.filter(|_| config.get("tasks").is_some());
    let tasks = suite.map(|suite| suite.evaluate(learner, &corpus.tokenizer)).transpose()?;
    let (loss, bits_per_byte) = (text.loss(), text.bits_per_byte());
    let ExaminedPoint { step, tokens_seen, tensors_sha256, is_last } = point;
    let record = Record { step, tokens_seen, tensors_sha256, text, tasks };
    let files = record.files(is_last).map_err(unwritable)?;
    Ok(Examined { files, record: Record::name(step), loss, bits_per_byte })
}

fn held_out<B: Backend<Number = f32>>(
    learner: &mut Learner<B>,
    config: Node<'_>,
    corpus: &Corpus,
) -> Result<Evaluation, Error> {
    let asked = config.required("evaluation")?;
    asked.only(&["split", "block_bytes"])?;
    if let Some(block) = asked.get("block_bytes")
        && block.integer()? != BLOCK_BYTES
    {
        return Err(BAD_RECIPE.at(block.place(), BLOCK_BYTES.to_string(), block.printed()?));
    }
    let split = asked.required("split")?;
    let documents = match split.text()? {
        "validation" => &corpus.validation,
        "development" => &corpus.development,
        other => {
            let found = format!("`{other}`");
            return Err(BAD_RECIPE.at(split.place(), "`validation` or `development`", found));
        }
    };
    evaluate(learner, &HeldOut::of(documents, &corpus.tokenizer)?)
}

fn unwritable(error: NotCanonical) -> Error {
    let place = Location::file("data/evaluation");
    repro_bundle::bundle::UNWRITABLE.at(
        place,
        "an evaluation that canonical JSON allows",
        error.to_string(),
    )
}
