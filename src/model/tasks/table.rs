//! Task tables in their usual formats, parsed into rows and stated aggregates.

use std::collections::HashSet;

use super::cell::{Finest, column};
use super::{
    Cell, Measure, NO_ACCURACY, NO_TABLE, REPEATED_TASK, Scale, TASK_CAP, TaskSet, WRONG_COUNT,
};
use num_traits::Signed;
use repro_core::source::{Error, Kind, Node};

/// One task of a table.
#[derive(Debug, Clone)]
pub struct TaskRow<'a> {
    /// Its name.
    pub task: &'a str,
    /// Its accuracy.
    pub accuracy: Cell<'a>,
    /// The centered accuracy that the table states.
    pub centered: Option<Cell<'a>>,
    /// The baseline that the table states.
    pub baseline: Option<Cell<'a>>,
    /// The number of scored items.
    pub items: Option<Cell<'a>>,
    /// The number of correct items.
    pub correct: Option<Cell<'a>>,
}

/// An aggregate that the table itself states.
#[derive(Debug, Clone)]
pub struct StatedAggregate<'a> {
    /// Its name in the table.
    pub name: String,
    /// Which tasks it is over.
    pub set: TaskSet<'a>,
    /// The quantity that it averages.
    pub measure: Measure,
    /// The number.
    pub cell: Cell<'a>,
}

/// Which kind of table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A DCLM evaluation: tasks outside the baseline file do not count.
    Dclm,
    /// Rows of task and accuracy.
    Rows,
    /// A table of task and accuracy, by key.
    Map,
}

impl TableKind {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dclm => "DCLM evaluation",
            Self::Rows => "rows",
            Self::Map => "map",
        }
    }
}

/// A per-task table.
#[derive(Debug)]
pub struct TaskTable<'a> {
    /// Which kind of table it is.
    pub kind: TableKind,
    /// Its tasks, in its order.
    pub rows: Vec<TaskRow<'a>>,
    /// The aggregates that it states.
    pub stated: Vec<StatedAggregate<'a>>,
    /// Aggregates that the table lists without a number, with the text in its place.
    pub not_stated: Vec<(String, &'a str)>,
}

/// Common column names, in lower case.
const TASK: &[&str] = &["task", "eval task", "name"];
const ACCURACY: &[&str] = &["accuracy", "acc", "raw_acc"];
const CENTERED: &[&str] = &["centered", "centred", "centered accuracy", "centered_acc"];
const BASELINE: &[&str] = &["baseline", "random baseline"];
const ITEMS: &[&str] = &["n", "items", "#datapoints"];
const CORRECT: &[&str] = &["correct"];
/// Common names of the last row, or of the field next to the tasks.
const AGGREGATE: &[&str] = &["core", "core metric", "core_metric", "core score", "core_score"];
const MEAN: &[&str] = &["mean", "average", "aggregate"];

/// The aggregates of a DCLM evaluation: name, set, measure.
const DCLM: &[(&str, TaskSet<'static>, Measure)] = &[
    ("aggregated_results", TaskSet::All, Measure::Accuracy),
    ("aggregated_centered_results", TaskSet::All, Measure::Centered),
    ("rw_small", TaskSet::Small, Measure::Accuracy),
    ("rw_small_centered", TaskSet::Small, Measure::Centered),
    ("95%_CI_above", TaskSet::AboveChance95, Measure::Accuracy),
    ("95%_CI_above_centered", TaskSet::AboveChance95, Measure::Centered),
    ("99%_CI_above", TaskSet::AboveChance99, Measure::Accuracy),
    ("99%_CI_above_centered", TaskSet::AboveChance99, Measure::Centered),
    ("low_variance_datasets", TaskSet::Core, Measure::Accuracy),
    ("low_variance_datasets_centered", TaskSet::Core, Measure::Centered),
    ("Core", TaskSet::Core, Measure::Centered),
    ("Core_v1", TaskSet::Core, Measure::Centered),
    ("Core_v2", TaskSet::Core, Measure::Centered),
    ("Extended", TaskSet::All, Measure::Centered),
    ("Extended_v1", TaskSet::All, Measure::Centered),
    ("Extended_v2", TaskSet::All, Measure::Centered),
];

impl<'a> TaskTable<'a> {
    /// Reads the table at `node`, whatever its shape.
    pub fn read(node: Node<'a>) -> Result<Self, Error> {
        let table = match &node.value().kind {
            Kind::Array(_) => Self::rows(node)?,
            Kind::Object(_) if node.get("eval_metrics").is_some() => Self::dclm(node)?,
            Kind::Object(_) => match (node.get("tasks"), node.get("results")) {
                (Some(tasks), _) => Self::rows(tasks)?.beside(node)?,
                (None, Some(results)) => {
                    Self::map(results, node.get("centered_results"))?.beside(node)?
                }
                (None, None) => Self::map(node, None)?,
            },
            other => return Err(no_table(node, other.word())),
        };
        if table.rows.is_empty() {
            return Err(no_table(node, "no task"));
        }
        if table.rows.len() > TASK_CAP {
            return Err(no_table(node, &format!("{} rows", table.rows.len())));
        }
        table.check()?;
        Ok(table)
    }

    fn empty(kind: TableKind) -> Self {
        Self { kind, rows: Vec::new(), stated: Vec::new(), not_stated: Vec::new() }
    }

    fn dclm(node: Node<'a>) -> Result<Self, Error> {
        let icl = node.required("eval_metrics")?.required("icl")?;
        let mut table = Self { kind: TableKind::Dclm, ..Self::map(icl, None)? };
        for (name, set, measure) in DCLM {
            if let Some(field) = node.get(name) {
                table.state(name, *set, *measure, field)?;
            }
        }
        if let Some(categories) = node.get("aggregated_task_categories_centered") {
            for (name, field) in categories.members()? {
                table.state(name, TaskSet::Category(name), Measure::Centered, field)?;
            }
        }
        Ok(table)
    }

    /// Notes an aggregate; "N/A" and the like are words, not numbers.
    fn state(
        &mut self,
        name: &str,
        set: TaskSet<'a>,
        measure: Measure,
        field: Node<'a>,
    ) -> Result<(), Error> {
        match (Cell::read(field), field.text()) {
            (Ok(cell), _) => {
                self.stated.push(StatedAggregate { name: name.to_owned(), set, measure, cell })
            }
            (Err(_), Ok(words)) => self.not_stated.push((name.to_owned(), words)),
            (Err(error), Err(_)) => return Err(error),
        }
        Ok(())
    }

    fn map(node: Node<'a>, centered: Option<Node<'a>>) -> Result<Self, Error> {
        let mut table = Self::empty(TableKind::Map);
        for (task, accuracy) in node.members()? {
            if let Some(set) = aggregate(task) {
                table.state(task, set, Measure::Centered, accuracy)?;
                continue;
            }
            let accuracy = Cell::read(accuracy).map_err(|error| match accuracy.value().kind {
                Kind::Number(_) | Kind::Text(_) => error,
                ref other => no_table(accuracy, &format!("{} under `{task}`", other.word())),
            })?;
            let centered = centered.and_then(|list| list.get(task)).map(Cell::read).transpose()?;
            let (baseline, items, correct) = (None, None, None);
            table.rows.push(TaskRow { task, accuracy, centered, baseline, items, correct });
        }
        Ok(table)
    }

    /// Reads the aggregates next to a list of tasks.
    fn beside(mut self, node: Node<'a>) -> Result<Self, Error> {
        for (key, field) in node.members()? {
            if let Some(set) = aggregate(key)
                && !matches!(field.value().kind, Kind::Object(_) | Kind::Array(_))
            {
                self.state(key, set, Measure::Centered, field)?;
            }
        }
        Ok(self)
    }

    fn rows(list: Node<'a>) -> Result<Self, Error> {
        let mut table = Self::empty(TableKind::Rows);
        for row in list.items()? {
            let name = column(row, TASK)?.ok_or_else(|| no_table(row, "a row without `task`"))?;
            let task = name.text()?.trim();
            let cell = |names| column(row, names)?.map(Cell::read).transpose();
            let accuracy = cell(ACCURACY)?;
            match (aggregate(task), accuracy) {
                (Some(set), accuracy) => {
                    let centered = cell(CENTERED)?;
                    let (alone, named) = (centered.is_none(), task.to_owned());
                    if let Some(cell) = centered {
                        let measure = Measure::Centered;
                        table.stated.push(StatedAggregate {
                            name: named.clone(),
                            set,
                            measure,
                            cell,
                        });
                    }
                    if let Some(cell) = accuracy {
                        let (name, measure) = if alone {
                            (named, Measure::Centered)
                        } else {
                            (format!("{named}, accuracy"), Measure::Accuracy)
                        };
                        table.stated.push(StatedAggregate { name, set, measure, cell });
                    }
                }
                (None, Some(accuracy)) => table.rows.push(TaskRow {
                    task,
                    accuracy,
                    centered: cell(CENTERED)?,
                    baseline: cell(BASELINE)?,
                    items: cell(ITEMS)?,
                    correct: cell(CORRECT)?,
                }),
                (None, None) => {
                    let expected = format!("the accuracy of `{task}`");
                    return Err(NO_ACCURACY.at(name.place(), expected, "nothing"));
                }
            }
        }
        Ok(table)
    }

    /// Each task once; counts that are counts.
    fn check(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for row in &self.rows {
            if !seen.insert(row.task) {
                let found = format!("`{}` again", row.task);
                return Err(REPEATED_TASK.at(row.accuracy.node.place(), "each task once", found));
            }
            for count in row.items.iter().chain(&row.correct) {
                let value = count.printed.value();
                let above = row.items.as_ref().is_some_and(|items| value > items.printed.value());
                if !value.is_integer() || value.is_negative() || above {
                    let found = format!("`{}`", count.printed.text());
                    let expected = "a whole number, at most the number of items";
                    return Err(WRONG_COUNT.at(count.node.place(), expected, found));
                }
            }
        }
        Ok(())
    }

    /// The unit of its accuracies: as `declared`, or else detected from their range. Every accuracy must be a fraction.
    pub fn scale(&self, declared: Option<Scale>, possible: Low) -> Result<Scale, Error> {
        let column = self.rows.iter().map(|row| (&row.accuracy, possible(row.task)));
        let scale = match declared {
            Some(scale) => scale,
            None => Scale::detect(column)?,
        };
        self.rows.iter().try_for_each(|row| scale.check(&row.accuracy))?;
        Ok(scale)
    }

    /// To which place the accuracies are printed.
    pub fn accuracy_place(&self) -> Finest {
        Finest::of(self.rows.iter().map(|row| &row.accuracy))
    }

    /// The tasks of CORE that the table lacks.
    pub fn lacks(&self) -> Vec<&'static str> {
        let has = |task: &str| self.rows.iter().any(|row| row.task == task);
        super::CORE.iter().copied().filter(|task| !has(task)).collect()
    }

    /// The tasks of its score: the 22 of CORE if it has them all, otherwise all it has.
    pub fn core_set(&self) -> TaskSet<'static> {
        if self.lacks().is_empty() { TaskSet::Core } else { TaskSet::All }
    }
}

/// Whether an accuracy below one percent is possible in a task.
pub type Low<'f> = &'f dyn Fn(&str) -> bool;

/// The set whose score a row or field with this name states, if it is a score.
fn aggregate(name: &str) -> Option<TaskSet<'static>> {
    let name = name.trim().to_lowercase();
    if AGGREGATE.contains(&name.as_str()) {
        Some(TaskSet::Core)
    } else {
        MEAN.contains(&name.as_str()).then_some(TaskSet::All)
    }
}
fn no_table(node: Node, found: &str) -> Error {
    NO_TABLE.at(node.place(), "a table of tasks and accuracies", found)
}
