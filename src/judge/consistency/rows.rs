//! The rows of a bundle that relations are about, and what their names stand for in each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use repro_receipt::bundle::{Bundle, METRICS, RECEIPT, TrainingRecord};
use repro_receipt::source::Node;

use super::formula::Term;

/// The configuration of a run.
pub const CONFIG: &str = "data/config.json";
/// Times of records.
const TIMING: &str = "data/timing.jsonl";
const EVALUATIONS: &str = "data/evaluation/";

/// What the rows are of which a relation is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Over {
    /// The run: one row.
    Run,
    /// Its evaluations.
    Evaluation,
    /// The lines of its training log.
    Record,
    /// The checkpoints that its receipt lists.
    Checkpoint,
    /// The slices that its receipt lists.
    Slice,
    /// The lines of the tables of its tasks.
    Task,
    /// The lines of the outcomes of its tasks.
    Outcome,
    /// The lines of its times.
    Timing,
}

impl Over {
    /// In words, of several.
    pub fn words(self) -> &'static str {
        match self {
            Self::Run => "runs",
            Self::Evaluation => "evaluations",
            Self::Record => "training records",
            Self::Checkpoint => "checkpoints",
            Self::Slice => "slices",
            Self::Task => "tasks",
            Self::Outcome => "outcomes of tasks",
            Self::Timing => "times",
        }
    }

    /// The kind whose numbers a list of this name has: `evaluations.step`.
    fn of_list(name: &str) -> Option<Self> {
        Some(match name {
            "evaluations" => Self::Evaluation,
            "records" => Self::Record,
            "checkpoints" => Self::Checkpoint,
            "slices" => Self::Slice,
            "timing" => Self::Timing,
            _ => return None,
        })
    }
}

/// Where the numbers of a row are.
#[derive(Debug, Clone, Copy)]
enum Fields<'a> {
    Json(Node<'a>),
    Record(&'a TrainingRecord),
}

/// One row.
#[derive(Debug)]
pub struct Row<'a> {
    pub file: Cow<'a, str>,
    /// Where it begins in the file.
    pub pointer: String,
    fields: Option<Fields<'a>>,
    /// The step in the name of its file.
    label: Option<f64>,
    /// What belongs to it in another file: the checkpoint of an evaluation, the task of outcomes.
    beside: Option<(&'static str, Node<'a>)>,
    /// The lines of the table beside an evaluation.
    table: Vec<Node<'a>>,
}

impl<'a> Row<'a> {
    fn new(file: impl Into<Cow<'a, str>>, pointer: String, node: Node<'a>) -> Self {
        let file = file.into();
        let label = label(&file);
        Self {
            file,
            pointer,
            fields: Some(Fields::Json(node)),
            label,
            beside: None,
            table: Vec::new(),
        }
    }

    fn field(&self, path: &str) -> Option<Term<'a>> {
        if path == "label" {
            return self.label.map(Term::Number);
        }
        if let Some(("table", field)) = path.split_once('.')
            && !self.table.is_empty()
        {
            let cell = |line: &Node<'a>| number(line.get(field)?);
            return self.table.iter().map(cell).collect::<Option<_>>().map(Term::List);
        }
        if let Some((name, node)) = self.beside
            && let Some(rest) = path.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'))
        {
            return term_at(node, rest);
        }
        match self.fields? {
            // The cells of a table are texts.
            Fields::Json(node) if self.file.ends_with(".csv") => match term_at(node, path)? {
                Term::Text(text) => Some(text.parse().map_or(Term::Text(text), Term::Number)),
                other => Some(other),
            },
            Fields::Json(node) => term_at(node, path),
            Fields::Record(record) if path == "nonfinite" => {
                Some(Term::Number(f64::from(u8::from(record.is_nonfinite))))
            }
            Fields::Record(record) => record.number(path).map(Term::Number),
        }
    }
}

/// The step in the name of a file: `step-001209.json`, `slice-000967.safetensors`.
fn label(file: &str) -> Option<f64> {
    let name = file.rsplit('/').next()?;
    let digits = name.strip_prefix("step-").or_else(|| name.strip_prefix("slice-"))?;
    digits.split('.').next()?.parse().ok()
}

/// A number, or the number that a text is: a cell of a table.
fn number(node: Node<'_>) -> Option<f64> {
    node.float().ok().or_else(|| node.text().ok()?.parse().ok()).filter(|x: &f64| x.is_finite())
}

/// What stands behind a path of fields; of a list, that of each of its items.
fn term_at<'a>(node: Node<'a>, path: &str) -> Option<Term<'a>> {
    let (field, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
    if let Ok(items) = node.items() {
        let one = |item: Node<'a>| match term_at(item, path)? {
            Term::Number(number) => Some(number),
            _ => None,
        };
        return items.map(one).collect::<Option<_>>().map(Term::List);
    }
    let inner = node.get(field)?;
    match rest {
        Some(rest) => term_at(inner, rest),
        None => term_of(inner),
    }
}

fn term_of(node: Node<'_>) -> Option<Term<'_>> {
    if let Ok(number) = node.float() {
        return Some(Term::Number(number));
    }
    if let Ok(text) = node.text() {
        return Some(Term::Text(Cow::Borrowed(text)));
    }
    if let Ok(truth) = node.truth() {
        return Some(Term::Truth(truth));
    }
    node.items().ok()?.map(number).collect::<Option<_>>().map(Term::List)
}

/// A bundle, seen as rows.
pub struct Rows<'a> {
    bundle: &'a Bundle,
    config: Option<Node<'a>>,
    receipt: Option<Node<'a>>,
    known: HashMap<Over, OnceLock<Vec<Row<'a>>>>,
}

const ALL: [Over; 8] = [
    Over::Run,
    Over::Evaluation,
    Over::Record,
    Over::Checkpoint,
    Over::Slice,
    Over::Task,
    Over::Outcome,
    Over::Timing,
];

impl<'a> Rows<'a> {
    pub fn of(bundle: &'a Bundle) -> Self {
        let config = bundle.files().contains_key(CONFIG).then(|| bundle.document(CONFIG).ok());
        let receipt = bundle.receipt_document().root().get("predicate");
        let known = ALL.map(|over| (over, OnceLock::new())).into_iter().collect();
        Self { bundle, config: config.flatten().map(|document| document.root()), receipt, known }
    }

    /// All rows of a kind, in their order.
    pub fn all(&self, over: Over) -> &[Row<'a>] {
        let Some(known) = self.known.get(&over) else { return &[] };
        known.get_or_init(|| self.read(over))
    }

    fn read(&self, over: Over) -> Vec<Row<'a>> {
        match over {
            Over::Run => vec![Row {
                file: RECEIPT.into(),
                pointer: "/predicate".into(),
                fields: None,
                label: None,
                beside: None,
                table: Vec::new(),
            }],
            Over::Evaluation => self.evaluations(),
            Over::Record => self.records(),
            Over::Checkpoint => self.listed("checkpoints"),
            Over::Slice => self.listed("slices"),
            Over::Task => self.tables(".tasks.csv").collect(),
            Over::Outcome => self.outcomes(),
            Over::Timing => {
                let file = Some(TIMING).filter(|file| self.bundle.files().contains_key(*file));
                file.map(|file| self.lines(file)).unwrap_or_default()
            }
        }
    }

    fn evaluations(&self) -> Vec<Row<'a>> {
        let files = self.bundle.files().keys();
        let files = files.filter(|name| name.starts_with(EVALUATIONS) && name.ends_with(".json"));
        let points = self.receipt.and_then(|receipt| receipt.get("checkpoints"));
        let points: Vec<Node> =
            points.and_then(|points| points.items().ok()).into_iter().flatten().collect();
        let read = |file: &'a String| {
            let root = self.bundle.document(file).ok()?.root();
            let mut row = Row::new(file.as_str(), String::new(), root);
            let is_own = |point: &&Node<'a>| {
                point.get("evaluation").and_then(|name| name.text().ok()) == Some(file.as_str())
            };
            row.beside = points.iter().find(is_own).map(|point| ("checkpoint", *point));
            let table = file.strip_suffix(".json").map(|stem| format!("{stem}.tasks.csv"));
            let table = table.filter(|table| self.bundle.files().contains_key(table));
            row.table = table
                .and_then(|table| self.bundle.document(&table).ok()?.root().items().ok())
                .into_iter()
                .flatten()
                .collect();
            Some(row)
        };
        files.filter_map(read).collect()
    }

    fn records(&self) -> Vec<Row<'a>> {
        let records = self.bundle.records().map(|records| records.kept.as_slice());
        let row = |(at, record): (usize, &'a TrainingRecord)| Row {
            file: METRICS.into(),
            pointer: format!("/{at}"),
            fields: Some(Fields::Record(record)),
            label: None,
            beside: None,
            table: Vec::new(),
        };
        records.unwrap_or_default().iter().enumerate().map(row).collect()
    }

    /// The items of a list of the receipt.
    fn listed(&self, field: &str) -> Vec<Row<'a>> {
        let items = self.receipt.and_then(|receipt| receipt.get(field)?.items().ok());
        let row = |(at, node): (usize, Node<'a>)| {
            let mut row = Row::new(RECEIPT, format!("/predicate/{field}/{at}"), node);
            let names = ["weights", "evaluation", "file"];
            let named = names.iter().find_map(|name| node.get(name)?.text().ok());
            row.label = named.and_then(label);
            row
        };
        items.into_iter().flatten().enumerate().map(row).collect()
    }

    /// The lines of a file.
    fn lines(&self, file: &'a str) -> Vec<Row<'a>> {
        let Ok(document) = self.bundle.document(file) else { return Vec::new() };
        let items = document.root().items().into_iter().flatten().enumerate();
        items.map(|(at, node)| Row::new(file, format!("/{at}"), node)).collect()
    }

    fn tables(&self, ending: &'a str) -> impl Iterator<Item = Row<'a>> {
        let files = self.bundle.files().keys();
        let files =
            files.filter(move |name| name.starts_with(EVALUATIONS) && name.ends_with(ending));
        files.flat_map(|file| self.lines(file))
    }

    fn outcomes(&self) -> Vec<Row<'a>> {
        let tables = self.all(Over::Task);
        let with_task = |mut row: Row<'a>| {
            let stem = |file: &str| file.split('.').next().unwrap_or_default().to_owned();
            let name = match row.fields? {
                Fields::Json(node) => node.get("task")?.text().ok()?,
                Fields::Record(_) => return None,
            };
            let own = tables.iter().find_map(|task| match task.fields? {
                Fields::Json(node) if stem(&task.file) == stem(&row.file) => {
                    (node.get("task")?.text().ok()? == name).then_some(node)
                }
                _ => None,
            });
            row.beside = own.map(|node| ("task", node));
            Some(row)
        };
        self.tables(".outcomes.jsonl").filter_map(with_task).collect()
    }

    /// What a name stands for in the whole bundle; none where it is one of the row.
    pub fn constant(&self, name: &str) -> Option<Option<Term<'a>>> {
        let (head, rest) = name.split_once('.')?;
        match head {
            "config" => Some(self.config.and_then(|config| term_at(config, rest))),
            "receipt" => Some(self.receipt.and_then(|receipt| term_at(receipt, rest))),
            _ => {
                let rows = self.all(Over::of_list(head)?);
                let numbers = rows.iter().map(|row| match row.field(rest)? {
                    Term::Number(number) => Some(number),
                    _ => None,
                });
                Some(numbers.collect::<Option<Vec<f64>>>().map(Term::List))
            }
        }
    }

    /// What a name stands for in the row `at` of `rows`.
    pub fn named(&self, rows: &[Row<'a>], at: usize, name: &str) -> Option<Term<'a>> {
        match name.split_once('.') {
            Some(("previous", rest)) => rows.get(at.checked_sub(1)?)?.field(rest),
            Some(("first", rest)) => rows.first()?.field(rest),
            _ => rows.get(at)?.field(name),
        }
    }

    /// The file and the pointer where a name of the row `at` stands.
    pub fn place(&self, rows: &[Row<'a>], at: usize, name: &str) -> Option<(String, String)> {
        let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
        let in_row = |row: &Row<'_>, path: &str| {
            (row.file.clone().into_owned(), format!("{}{}", row.pointer, pointer(path)))
        };
        let (head, rest) = name.split_once('.').unwrap_or((name, ""));
        Some(match head {
            "config" => (CONFIG.to_owned(), pointer(rest)),
            "receipt" => (RECEIPT.to_owned(), format!("/predicate{}", pointer(rest))),
            "previous" => in_row(rows.get(at.checked_sub(1)?)?, rest),
            "first" => in_row(rows.first()?, rest),
            "checkpoint" | "task" => return None,
            _ if Over::of_list(head).is_some() => {
                let listed = self.all(Over::of_list(head)?);
                (listed.first()?.file.clone().into_owned(), String::new())
            }
            "label" => (rows.get(at)?.file.clone().into_owned(), String::new()),
            _ => in_row(rows.get(at)?, name),
        })
    }
}
