//! The rows of a bundle that relations are about, and what stands beside each in other files.

use std::borrow::Cow;
use std::collections::HashMap;

use repro_bundle::bundle::{
    BatchTokens, Bundle, CONFIG, METRICS, PassedTensors, RECEIPT, RouterRecord, STATES,
    TrainingRecord, TrainingRecords, evaluation_digest,
};
use repro_core::digest::Digest;
use repro_core::source::{Kind, Node};

use super::column::RelationColumn;
use super::printed::{self, PrintedRow};
use super::{LoggedPlace, LoggedTerm};

/// Times of records.
const TIMING: &str = "data/timing.jsonl";
const EVALUATIONS: &str = "data/evaluation/";
/// An evaluation has at most so many files.
const EVALUATION_FILES: usize = 8;

/// What the rows are of which a relation is said.
struct RowKind {
    /// In words, of several.
    words: &'static str,
    /// The name of the list of its numbers, where there is one: `evaluations.step`.
    list: Option<&'static str>,
    /// Those in a bundle that are not lines of its training log.
    listed: for<'a> fn(&Rows<'a>) -> Vec<Row<'a>>,
    /// What of the training log they are too.
    log: for<'a> fn(Option<&'a TrainingRecords>) -> Log<'a>,
}

impl RowKind {
    const fn new(
        words: &'static str,
        list: Option<&'static str>,
        listed: for<'a> fn(&Rows<'a>) -> Vec<Row<'a>>,
    ) -> Self {
        Self { words, list, listed, log: |_| Log::None }
    }
}

static KINDS: [RowKind; 15] = [
    RowKind::new("runs", None, |_| vec![Row::new(RECEIPT, At::Predicate, Fields::None)]),
    RowKind::new("evaluations", Some("evaluations"), |rows| rows.evaluations()),
    RowKind {
        log: |records| records.map_or(Log::None, Log::Lines),
        ..RowKind::new("training records", Some("records"), |_| Vec::new())
    },
    // The layers with experts, in each evaluation and in each line of the training log.
    RowKind {
        log: |records| Log::Layers(records),
        ..RowKind::new("routers", None, |rows| rows.evaluated_routers())
    },
    RowKind::new("checkpoints", Some("checkpoints"), |rows| {
        Row::twins(rows.listed("checkpoints"), "tensors_sha256")
    }),
    RowKind::new("files of weights", Some("weights"), |rows| rows.weights()),
    RowKind::new("slices", Some("slices"), |rows| rows.slices()),
    RowKind::new("steps of slices", None, |rows| rows.steps()),
    RowKind::new("routers in steps of slices", None, |rows| {
        rows.steps().into_iter().flat_map(|row| rows.layers(row)).collect()
    }),
    RowKind::new("tensors of slices", None, |rows| rows.moved_tensors()),
    RowKind::new("tasks", None, |rows| rows.tables(".tasks.csv", Fields::Cells).collect()),
    RowKind::new("outcomes of tasks", None, |rows| rows.outcomes()),
    RowKind::new("committed states", Some("states"), |rows| rows.states()),
    RowKind::new("times", Some("timing"), |rows| rows.lines(TIMING, Fields::Json)),
    RowKind::new("printed evaluations", None, |rows| rows.printed_evaluations()),
];

/// A kind of rows, by its place in the list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Over(usize);

impl Over {
    fn find(fits: impl Fn(&RowKind) -> bool) -> Option<Self> {
        KINDS.iter().position(fits).map(Self)
    }

    /// In words, of several.
    pub fn words(self) -> &'static str {
        KINDS[self.0].words
    }

    /// The kind that has this name in words.
    pub fn named(words: &str) -> Option<Self> {
        Self::find(|kind| kind.words == words)
    }

    /// The kind whose numbers a list of this name has.
    pub fn of_list(name: &str) -> Option<Self> {
        Self::find(|kind| kind.list == Some(name))
    }
}

/// Where the numbers of a row are.
#[derive(Debug, Clone, Copy)]
enum Fields<'a> {
    None,
    Json(Node<'a>),
    /// A line of a table, or all of them: cells are texts.
    Cells(Node<'a>),
    Printed(PrintedRow<'a>),
    Record(&'a TrainingRecord, &'a TrainingRecords),
    Router(&'a RouterRecord),
    /// A step of a slice, and its number in the slice.
    Step {
        slice: &'a PassedTensors,
        at: usize,
        step: f64,
    },
    /// How many tokens went to each expert.
    Counts(&'a [f64]),
    /// A file of weights.
    Weights(&'a PassedTensors),
    /// The digest of some files.
    Digest(Digest),
    /// What the steps of a slice say of the tensor of a line beside it, and how many lines there are.
    Moved {
        slice: &'a PassedTensors,
        line: usize,
        lines: usize,
    },
}

impl<'a> Fields<'a> {
    fn term(self, path: &str) -> Option<LoggedTerm<'a>> {
        match self {
            Self::None => None,
            Self::Json(node) => term_at(node, path),
            Self::Cells(node) => match term_at(node, path)? {
                LoggedTerm::Text(text) => {
                    Some(text.parse().map_or(LoggedTerm::Text(text), LoggedTerm::Number))
                }
                other => Some(other),
            },
            Self::Printed(row) => row.term(path),
            Self::Record(record, _) => record.number(path).map(LoggedTerm::Number),
            Self::Router(router) => router.number(path).map(LoggedTerm::Number),
            Self::Step { step, .. } if path == "step" => Some(LoggedTerm::Number(step)),
            Self::Step { slice, .. } if path == "steps" && !slice.batches.is_empty() => {
                Some(LoggedTerm::Number(slice.batches.len() as f64))
            }
            Self::Step { slice, at, .. } if path.starts_with("batch.") => {
                batch_term(slice.batches.get(at)?, path)
            }
            Self::Step { slice, at, .. } => {
                let logged = slice.logged.get(path)?;
                let numbers = logged.of_step(at)?;
                Some(match (logged.shape.len(), numbers) {
                    (1, [number]) => LoggedTerm::Number(*number),
                    _ => LoggedTerm::List(Cow::Borrowed(numbers)),
                })
            }
            Self::Counts(counts) => {
                (path == "counts").then_some(LoggedTerm::List(Cow::Borrowed(counts)))
            }
            Self::Weights(passed) if path == "tensors" => {
                Some(LoggedTerm::Number(passed.holdings.tensors as f64))
            }
            Self::Moved { lines, .. } if path == "lines" => Some(LoggedTerm::Number(lines as f64)),
            Self::Moved { slice, line, .. } => moved_term(slice, line, path),
            Self::Digest(digest) => {
                (path == "sha256").then(|| LoggedTerm::Text(digest.to_string().into()))
            }
            Self::Weights(passed) => {
                let text = passed.metadata.get(path.strip_prefix("metadata.")?)?;
                Some(LoggedTerm::Text(Cow::Borrowed(text)))
            }
        }
    }
}

/// What a path means of the batch of a step.
fn batch_term(batch: &BatchTokens, path: &str) -> Option<LoggedTerm<'static>> {
    Some(match path.strip_prefix("batch.")? {
        "rows" => LoggedTerm::Number(batch.rows as f64),
        "length" => LoggedTerm::Number(batch.length as f64),
        "distinct" => LoggedTerm::Number(batch.distinct as f64),
        "largest" => LoggedTerm::Number(batch.largest.into()),
        "likeness" => LoggedTerm::Text(format!("{:016x}", batch.likeness).into()),
        _ => return None,
    })
}

/// What a path means of the tensor of a line, in the steps of a slice.
fn moved_term(slice: &PassedTensors, line: usize, path: &str) -> Option<LoggedTerm<'static>> {
    let each = |name: &str| slice.logged.get(name).filter(|logged| logged.shape.len() == 2);
    let last = |name: &str| {
        let logged = each(name)?;
        logged.of_step(usize::try_from(*logged.shape.first()?).ok()?.checked_sub(1)?)
    };
    let moves = || {
        let logged = each("tensor_update_norm")?;
        let steps = 0..usize::try_from(*logged.shape.first()?).ok()?;
        steps.map(|step| logged.of_step(step)?.get(line).copied()).collect::<Option<Vec<_>>>()
    };
    Some(match path {
        "tensors" => LoggedTerm::Number(last("tensor_grad_norm")?.len() as f64),
        "grad_norm" => LoggedTerm::Number(*last("tensor_grad_norm")?.get(line)?),
        "begins" => {
            let begins = *last("tensor_sha256")?.get(line)? as u32;
            LoggedTerm::Text(format!("{begins:08x}").into())
        }
        "moves" => LoggedTerm::List(moves()?.into()),
        _ => return None,
    })
}

/// Where a row begins in its file.
#[derive(Debug, Clone, Copy)]
enum At {
    Whole,
    Predicate,
    Line(usize),
    /// An item of a list of the receipt.
    Listed(&'static str, usize),
    /// A step of a slice, and a layer of it.
    Step(usize, Option<usize>),
    /// A layer of a line.
    Layer(usize, usize),
    /// A layer of an evaluation.
    Evaluated(usize),
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Predicate => f.write_str("/predicate"),
            Self::Line(line) => write!(f, "/{line}"),
            Self::Listed(list, at) => write!(f, "/predicate/{list}/{at}"),
            Self::Step(at, None) => write!(f, "/{at}"),
            Self::Step(at, Some(layer)) => write!(f, "/{at}/{layer}"),
            Self::Evaluated(layer) => write!(f, "/router/layers/{layer}"),
            Self::Layer(line, layer) => write!(f, "/{line}/router/layers/{layer}"),
        }
    }
}

/// Numbers of a file, and where they begin in it.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    fields: Fields<'a>,
    file: &'a str,
    at: At,
}

/// So many parts of other files stand beside a row.
const BESIDE: usize = 5;

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    own: Part<'a>,
    /// The step in the name of its file.
    label: Option<f64>,
    /// What belongs to it in other files, by the names that relations have for it.
    beside: [Option<(&'static str, Part<'a>)>; BESIDE],
}

impl<'a> Row<'a> {
    fn new(file: &'a str, at: At, fields: Fields<'a>) -> Self {
        Self { own: Part { fields, file, at }, label: label(file), beside: [None; BESIDE] }
    }

    /// The row at a place in the log.
    fn logged(at: At, fields: Fields<'a>) -> Self {
        Self { label: None, ..Self::new(METRICS, at, fields) }
    }

    fn with(mut self, beside: impl IntoIterator<Item = Option<(&'static str, Part<'a>)>>) -> Self {
        let free = self.beside.iter_mut().filter(|place| place.is_none());
        std::iter::zip(free, beside.into_iter().flatten())
            .for_each(|(place, one)| *place = Some(one));
        self
    }

    /// The first of some rows that has the same in a field, beside this one.
    fn with_equal(self, name: &'static str, rows: &RowIndex<'a>) -> Self {
        self.with([rows.equal(&self).map(|part| (name, part))])
    }

    /// Some rows, and beside each, as its `twin`, the first one that has the same in a field: itself, if it is alone.
    fn twins(rows: Vec<Self>, field: &'static str) -> Vec<Self> {
        let index = RowIndex::of(&rows, field);
        rows.into_iter().map(|row| row.with_equal("twin", &index)).collect()
    }

    /// Its file.
    pub fn file(&self) -> &'a str {
        self.own.file
    }

    /// Its file, and where it begins there.
    pub fn words(&self) -> String {
        let pointer = self.own.at.to_string();
        let between = if pointer.is_empty() { "" } else { " " };
        format!("{}{between}{pointer}", self.own.file)
    }

    /// What of a part beside it a path means: its name is the first part of the path.
    fn beside<'p>(&self, path: &'p str) -> Option<(Part<'a>, &'p str)> {
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        let (_, part) = self.beside.iter().flatten().find(|(name, _)| *name == head)?;
        Some((*part, rest))
    }

    /// What a path of names stands for in it.
    pub fn field(&self, path: &str) -> Option<LoggedTerm<'a>> {
        match self.beside(path) {
            _ if path == "label" => self.label.map(LoggedTerm::Number),
            // The name of the file itself.
            Some((part, "")) => Some(LoggedTerm::Text(Cow::Borrowed(part.file))),
            Some((part, rest)) => part.fields.term(rest),
            None => self.own.fields.term(path),
        }
    }

    /// The file and the pointer where a path of names stands.
    pub fn place(&self, path: &str) -> LoggedPlace {
        let (Part { file, at, fields }, path) = match self.beside(path) {
            Some(found) => found,
            None if path == "label" => (Part { at: At::Whole, ..self.own }, ""),
            None => (self.own, path),
        };
        // A log may call a metric by another name.
        let path = if matches!(fields, Fields::Printed(..)) { "" } else { path };
        LoggedPlace::new(file, format!("{at}{}", pointer(path)))
    }
}

/// Rows by what they have in a field: there may be many, and each is looked up for many others.
struct RowIndex<'a> {
    field: &'static str,
    first: HashMap<String, Part<'a>>,
}

impl<'a> RowIndex<'a> {
    fn of(rows: &[Row<'a>], field: &'static str) -> Self {
        let mut first = HashMap::new();
        for row in rows {
            if let Some(own) = row.field(field) {
                first.entry(key(&own)).or_insert(row.own);
            }
        }
        Self { field, first }
    }

    /// The first row that has the same in the field as another.
    fn equal(&self, row: &Row<'a>) -> Option<Part<'a>> {
        self.named(&row.field(self.field)?)
    }

    /// The first row that has this in the field.
    fn named(&self, term: &LoggedTerm<'_>) -> Option<Part<'a>> {
        self.first.get(&key(term)).copied()
    }
}

/// The text that a term is looked up by. Messages cut long texts; this does not.
fn key(term: &LoggedTerm<'_>) -> String {
    match term {
        LoggedTerm::Text(text) => format!("`{text}`"),
        other => other.to_string(),
    }
}

/// The JSON pointer of a path of names.
pub fn pointer(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("/{}", path.replace('.', "/")) }
}

/// The step in the name of a file: `step-001209.json`, `slice-000967.safetensors`.
fn label(file: &str) -> Option<f64> {
    let name = file.rsplit('/').next()?;
    let digits = name.strip_prefix("step-").or_else(|| name.strip_prefix("slice-"))?;
    digits.split('.').next()?.parse().ok()
}

/// What stands behind a path of fields; of a list, that of each of its items.
pub fn term_at<'a>(node: Node<'a>, path: &str) -> Option<LoggedTerm<'a>> {
    let (field, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
    if matches!(node.value().kind, Kind::Array(_)) {
        let items = node.items().ok()?.map(|item| term_at(item, path)).collect::<Option<_>>()?;
        return list_of(items);
    }
    let inner = node.get(field)?;
    match rest {
        Some(rest) => term_at(inner, rest),
        None => term_of(inner),
    }
}

/// Terms as a list, if all of them are numbers; texts are told one after the other.
fn list_of(terms: Vec<LoggedTerm<'_>>) -> Option<LoggedTerm<'_>> {
    let number = |term: &LoggedTerm<'_>| match term {
        LoggedTerm::Number(number) => Some(*number),
        LoggedTerm::Text(text) => text.parse().ok(),
        _ => None,
    };
    if let Some(numbers) = terms.iter().map(number).collect() {
        return Some(LoggedTerm::List(numbers));
    }
    let text = |term: LoggedTerm<'_>| match term {
        LoggedTerm::Text(text) => Some(text.into_owned()),
        _ => None,
    };
    let texts: Vec<_> = terms.into_iter().map(text).collect::<Option<_>>()?;
    Some(LoggedTerm::Text(Cow::Owned(texts.join(", "))))
}

fn term_of(node: Node<'_>) -> Option<LoggedTerm<'_>> {
    match &node.value().kind {
        Kind::Number(_) => node.float().ok().map(LoggedTerm::Number),
        Kind::Text(text) => Some(LoggedTerm::Text(Cow::Borrowed(text))),
        Kind::Bool(truth) => Some(LoggedTerm::Truth(*truth)),
        Kind::Array(_) => list_of(node.items().ok()?.map(term_of).collect::<Option<_>>()?),
        // A table whose members are all numbers, or all texts.
        Kind::Object(_) => {
            list_of(node.members().ok()?.map(|(_, one)| term_of(one)).collect::<Option<_>>()?)
        }
        Kind::Null => None,
    }
}

/// Rows of one kind: those that are listed, then those of a log, which may be many.
#[derive(Debug)]
struct RowSet<'a> {
    listed: Vec<Row<'a>>,
    log: Log<'a>,
}

/// What of a log are rows.
#[derive(Debug, Clone, Copy)]
enum Log<'a> {
    None,
    Lines(&'a TrainingRecords),
    /// The layers with experts of each line, where there is a log.
    Layers(Option<&'a TrainingRecords>),
}

/// A bundle, seen as rows.
#[derive(Debug)]
pub struct Rows<'a> {
    bundle: &'a Bundle,
    /// The configuration of its run.
    pub config: Option<Node<'a>>,
    /// Its receipt.
    pub receipt: Option<Node<'a>>,
    known: [Option<RowSet<'a>>; KINDS.len()],
}

impl<'a> Rows<'a> {
    pub fn of(bundle: &'a Bundle) -> Self {
        let config = bundle.files().contains_key(CONFIG).then(|| bundle.document(CONFIG).ok());
        let receipt = bundle.receipt_document().root().get("predicate");
        let known = std::array::from_fn(|_| None);
        Self { bundle, config: config.flatten().map(|document| document.root()), receipt, known }
    }

    /// Finds the rows of a kind, where that was not done yet, and answers how many there are.
    pub fn find(&mut self, over: Over) -> usize {
        if self.known[over.0].is_none() {
            let RowKind { listed, log, .. } = &KINDS[over.0];
            self.known[over.0] =
                Some(RowSet { listed: listed(self), log: log(self.bundle.records()) });
        }
        self.count(over)
    }

    /// How many rows of a kind were found.
    pub fn count(&self, over: Over) -> usize {
        let Some(RowSet { listed, log }) = &self.known[over.0] else { return 0 };
        let logged = match log {
            Log::None => 0,
            Log::Lines(records) => records.kept.len(),
            Log::Layers(records) => records.map_or(0, |records| records.layers().len()),
        };
        listed.len() + logged
    }

    /// What a path stands for in all rows of a kind. A log says it in numbers.
    pub fn column(&self, over: Over, path: &str) -> RelationColumn<'a> {
        let or_none = |number: Option<f64>| number.unwrap_or(f64::NAN);
        let Some(RowSet { listed, log }) = &self.known[over.0] else {
            return RelationColumn::Numbers(Vec::new());
        };
        let logged: Vec<f64> = match log {
            Log::None => {
                return RelationColumn::of(listed.iter().map(|row| row.field(path)).collect());
            }
            Log::Lines(records) if path.starts_with("printed.") => {
                self.printed_column(records, path.trim_start_matches("printed."))
            }
            Log::Lines(records) => {
                let number = |record: &TrainingRecord| match path {
                    "nonfinite" => f64::from(u8::from(record.is_nonfinite)),
                    "routers" => records.routers(record).len() as f64,
                    _ => or_none(record.number(path)),
                };
                records.kept.iter().map(number).collect()
            }
            Log::Layers(records) => {
                let logged = records.iter().flat_map(|records| records.layers());
                logged.map(|router| or_none(router.number(path))).collect()
            }
        };
        let listed = listed.iter().map(|row| match row.field(path) {
            Some(LoggedTerm::Number(number)) => number,
            _ => f64::NAN,
        });
        RelationColumn::Numbers(listed.chain(logged).collect())
    }

    /// Whether no row of a kind was left out for its size.
    pub fn is_whole(&self, over: Over) -> bool {
        match &self.known[over.0] {
            Some(RowSet { log: Log::Lines(records), .. }) => records.is_whole(),
            _ => true,
        }
    }

    /// One of the rows that were found.
    pub fn row(&self, over: Over, at: usize) -> Option<Row<'a>> {
        let RowSet { listed, log } = self.known[over.0].as_ref()?;
        let Some(at) = at.checked_sub(listed.len()) else { return listed.get(at).copied() };
        match *log {
            Log::None => None,
            Log::Lines(records) => {
                let fields = Fields::Record(records.kept.get(at)?, records);
                Some(Row::logged(At::Line(at), fields))
            }
            Log::Layers(records) => {
                let (line, layer, router) = records?.layer(at)?;
                Some(Row::logged(At::Layer(line, layer), Fields::Router(router)))
            }
        }
    }

    fn evaluations(&self) -> Vec<Row<'a>> {
        let printed = RowIndex::of(&self.printed_lines(), "step");
        let points = RowIndex::of(&self.listed("checkpoints"), "evaluation");
        let read = |file: &'a str| {
            let root = self.bundle.document(file).ok()?.root();
            let point = points.named(&LoggedTerm::Text(file.into()));
            let point = point.map(|point| ("checkpoint", point));
            let stem = file.strip_suffix(".json")?;
            let with = |name, ending: &str, fields: fn(Node<'a>) -> Fields<'a>| {
                let file = format!("{stem}.{ending}");
                let (file, _) = self.bundle.files().get_key_value(&file)?;
                let fields = fields(self.bundle.document(file).ok()?.root());
                Some((name, Part { fields, file, at: At::Whole }))
            };
            let table = with("table", "tasks.csv", Fields::Cells);
            let outcomes = with("outcomes", "outcomes.jsonl", Fields::Json);
            let row = Row::new(file, At::Whole, Fields::Json(root)).with([point, table, outcomes]);
            Some(row.with_equal("printed", &printed))
        };
        Row::twins(self.evaluation_files(".json").filter_map(read).collect(), "nats")
    }

    fn evaluated_routers(&self) -> Vec<Row<'a>> {
        let layers = |file: &'a str| {
            let root = self.bundle.document(file).ok().map(|document| document.root());
            let layers = root.and_then(|root| root.get("router")?.get("layers")?.items().ok());
            let whole = root.map(|root| Part { fields: Fields::Json(root), file, at: At::Whole });
            let row = move |(layer, node)| {
                let row = Row::new(file, At::Evaluated(layer), Fields::Json(node));
                row.with([whole.map(|whole| ("evaluation", whole))])
            };
            layers.into_iter().flatten().enumerate().map(row)
        };
        self.evaluation_files(".json").flat_map(layers).collect()
    }

    fn evaluation_files(&self, ending: &'static str) -> impl Iterator<Item = &'a str> + use<'a> {
        let files = self.bundle.files().keys().map(String::as_str);
        files.filter(move |name| name.starts_with(EVALUATIONS) && name.ends_with(ending))
    }

    /// The items of a list of the receipt.
    fn listed(&self, field: &'static str) -> Vec<Row<'a>> {
        let items = self.receipt.and_then(|receipt| receipt.get(field)?.items().ok());
        let row = |(at, node): (usize, Node<'a>)| {
            let named = |name: &&str| node.get(name).is_some_and(|node| node.text().is_ok());
            let name = ["weights", "evaluation", "file"].into_iter().find(|name| named(name));
            let name = name.and_then(|name| node.get(name)?.text().ok());
            let row = Row::new(RECEIPT, At::Listed(field, at), Fields::Json(node));
            Row { label: name.and_then(label), ..row }
        };
        items.into_iter().flatten().enumerate().map(row).collect()
    }

    fn slices(&self) -> Vec<Row<'a>> {
        let planned = self.config.and_then(|config| config.get("slices")?.items().ok());
        let planned = planned.into_iter().flatten().enumerate();
        let plan = |(at, plan)| Row::new(CONFIG, At::Listed("slices", at), Fields::Json(plan));
        let planned = RowIndex::of(&planned.map(plan).collect::<Vec<_>>(), "from_step");
        let begun =
            self.listed("slices").into_iter().filter(|row| row.field("from_step").is_some());
        begun.map(|row| row.with_equal("planned", &planned)).collect()
    }

    /// The slices of the receipt: their files, what is kept of them, and the steps before them.
    fn slice_files(&self) -> Vec<(Row<'a>, &'a str, &'a PassedTensors, f64)> {
        let file = |row: Row<'a>| {
            let (Some(LoggedTerm::Text(name)), Some(LoggedTerm::Number(from))) =
                (row.field("file"), row.field("from_step"))
            else {
                return None;
            };
            let (name, _) = self.bundle.files().get_key_value(&*name)?;
            Some((row, name.as_str(), self.bundle.passed_tensors(name)?, from))
        };
        self.listed("slices").into_iter().filter_map(file).collect()
    }

    fn steps(&self) -> Vec<Row<'a>> {
        let records = self.bundle.records();
        let by_step: HashMap<u64, usize> = records
            .iter()
            .flat_map(|records| records.kept.iter().enumerate())
            .filter_map(|(at, record)| Some((record.step?.to_bits(), at)))
            .collect();
        let mut rows = Vec::new();
        for (listed, file, slice, from) in self.slice_files() {
            let steps = slice.logged.values().filter_map(|logged| logged.shape.first()).max();
            for at in 0..usize::try_from(steps.copied().unwrap_or_default()).unwrap_or_default() {
                let step = from + at as f64 + 1.0;
                let record = by_step.get(&step.to_bits()).and_then(|line| {
                    let fields = Fields::Record(records?.kept.get(*line)?, records?);
                    Some(("record", Part { fields, file: METRICS, at: At::Line(*line) }))
                });
                let fields = Fields::Step { slice, at, step };
                let row = Row::new(file, At::Step(at, None), fields);
                rows.push(row.with([record, Some(("slice", listed.own))]));
            }
        }
        Row::twins(rows, "batch.likeness")
    }

    /// How far each tensor of a slice moved: the lines beside it, in the order of the tensors of its steps.
    fn moved_tensors(&self) -> Vec<Row<'a>> {
        let mut rows = Vec::new();
        for (listed, file, slice, _) in self.slice_files() {
            let Some(stem) = file.strip_suffix(".safetensors") else { continue };
            let rows_of = self.lines(&format!("{stem}.tensors.jsonl"), Fields::Json);
            let lines = rows_of.len();
            rows.extend(rows_of.into_iter().enumerate().map(|(line, row)| {
                let fields = Fields::Moved { slice, line, lines };
                let logged = Part { fields, file, at: At::Step(line, None) };
                row.with([Some(("slice", listed.own)), Some(("logged", logged))])
            }));
        }
        rows
    }

    /// The layers with experts of a step of a slice.
    fn layers(&self, step: Row<'a>) -> Vec<Row<'a>> {
        let Fields::Step { slice, at, .. } = step.own.fields else { return Vec::new() };
        let routed = slice.logged.get("routed").filter(|routed| routed.shape.len() == 3);
        let counts = routed.and_then(|routed| {
            let experts = usize::try_from(*routed.shape.last()?).ok()?;
            Some(routed.of_step(at)?.chunks(experts.max(1)))
        });
        let recorded = step.beside("record").and_then(|(beside, _)| match beside.fields {
            Fields::Record(record, records) => Some((records.routers(record), beside.at)),
            _ => None,
        });
        let row = |(layer, counts): (usize, &'a [f64])| {
            let own = recorded.and_then(|(routers, at)| {
                let At::Line(line) = at else { return None };
                let fields = Fields::Router(routers.get(layer)?);
                Some(("record", Part { fields, file: METRICS, at: At::Layer(line, layer) }))
            });
            let place = At::Step(at, Some(layer));
            Row::new(step.own.file, place, Fields::Counts(counts)).with([own])
        };
        counts.into_iter().flatten().enumerate().map(row).collect()
    }

    /// The checkpoints that are in the bundle.
    fn weights(&self) -> Vec<Row<'a>> {
        let row = |point: Row<'a>| {
            let Some(LoggedTerm::Text(name)) = point.field("weights") else { return None };
            let (file, _) = self.bundle.files().get_key_value(&*name)?;
            let fields = Fields::Weights(self.bundle.passed_tensors(file)?);
            Some(Row::new(file, At::Whole, fields).with([Some(("checkpoint", point.own))]))
        };
        self.listed("checkpoints").into_iter().filter_map(row).collect()
    }

    fn states(&self) -> Vec<Row<'a>> {
        let points = RowIndex::of(&self.listed("checkpoints"), "step");
        let states = self.lines(STATES, Fields::Json).into_iter();
        let states = states.map(|row| row.with_equal("checkpoint", &points));
        let states = states.map(|row| row.with([self.evaluated(&row)])).collect();
        Row::twins(states, "tensors_sha256")
    }

    /// The files of the evaluation of a committed state.
    fn evaluated(&self, state: &Row<'a>) -> Option<(&'static str, Part<'a>)> {
        let Some(LoggedTerm::Text(name)) = state.field("checkpoint.evaluation") else {
            return None;
        };
        let files = self.bundle.files();
        let (file, _) = files.get_key_value(&*name)?;
        let stem = file.strip_suffix("json")?;
        let own = files.range(stem.to_owned()..).take_while(|(name, _)| name.starts_with(stem));
        let own = own.take(EVALUATION_FILES);
        let digest = evaluation_digest(own.map(|(name, file)| (name.as_str(), file.digest)));
        Some(("evaluated", Part { fields: Fields::Digest(digest), file, at: At::Whole }))
    }

    /// The lines of a file, where it is there.
    fn lines(&self, file: &str, fields: fn(Node<'a>) -> Fields<'a>) -> Vec<Row<'a>> {
        let Some((file, _)) = self.bundle.files().get_key_value(file) else { return Vec::new() };
        let Ok(document) = self.bundle.document(file) else { return Vec::new() };
        let items = document.root().items().into_iter().flatten().enumerate();
        items.map(|(at, node)| Row::new(file, At::Line(at), fields(node))).collect()
    }

    /// The lines of the tables of printed evaluations, each with the document of its step.
    fn printed_evaluations(&self) -> Vec<Row<'a>> {
        let documents = self.evaluation_files(".json").filter_map(|file| {
            let root = self.bundle.document(file).ok()?.root();
            Some(Row::new(file, At::Whole, Fields::Printed(PrintedRow::new(root))))
        });
        let documents = RowIndex::of(&documents.collect::<Vec<_>>(), "step");
        let with_document = |row: Row<'a>| match (row.own.fields, documents.equal(&row)) {
            (Fields::Printed(line), Some(part @ Part { fields: Fields::Printed(stated), .. })) => {
                let own = Part { fields: Fields::Printed(line.beside(stated)), ..row.own };
                let stated = Part { fields: Fields::Printed(stated.beside(line)), ..part };
                Row { own, ..row }.with([Some(("evaluation", stated))])
            }
            _ => row,
        };
        self.printed_lines().into_iter().map(with_document).collect()
    }

    fn printed_lines(&self) -> Vec<Row<'a>> {
        let lines = printed::tables(self.bundle, printed::VALIDATION).flat_map(|(file, lines)| {
            lines.map(move |(at, line)| Row::new(file, At::Line(at), Fields::Printed(line)))
        });
        lines.collect()
    }

    /// The printed numbers of a metric at the steps of a training log.
    fn printed_column(&self, records: &TrainingRecords, metric: &str) -> Vec<f64> {
        let mut by_step = HashMap::new();
        for (_, lines) in printed::tables(self.bundle, printed::TRAINING) {
            let mut heading = None;
            for (_, line) in lines {
                let heading = *heading.get_or_insert_with(|| line.heading(metric));
                let number = heading.and_then(|name| line.number(name));
                if let (Some(step), Some(number)) = (line.number("step"), number) {
                    by_step.entry(step.to_bits()).or_insert(number);
                }
            }
        }
        let at_step = |record: &TrainingRecord| by_step.get(&record.step?.to_bits()).copied();
        records.kept.iter().map(|record| at_step(record).unwrap_or(f64::NAN)).collect()
    }

    fn tables(
        &self,
        ending: &'static str,
        fields: fn(Node<'a>) -> Fields<'a>,
    ) -> impl Iterator<Item = Row<'a>> {
        self.evaluation_files(ending).flat_map(move |file| self.lines(file, fields))
    }

    fn outcomes(&self) -> Vec<Row<'a>> {
        let stem = |file: &str| file.split('.').next().unwrap_or_default().to_owned();
        let task_of = |row: &Row<'a>| Some((stem(row.own.file), key(&row.field("task")?)));
        let mut tables = HashMap::new();
        for task in self.tables(".tasks.csv", Fields::Cells) {
            if let Some(own) = task_of(&task) {
                tables.entry(own).or_insert(task.own);
            }
        }
        let with_task = |row: Row<'a>| {
            let task = task_of(&row).and_then(|own| tables.get(&own));
            row.with([task.map(|task| ("task", *task))])
        };
        self.tables(".outcomes.jsonl", Fields::Json).map(with_task).collect()
    }
}
