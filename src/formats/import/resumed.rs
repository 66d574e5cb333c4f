//! A log that goes back to earlier steps: a run that was stopped and resumed from a checkpoint, or a second run.

use super::names::likely;
use super::run::{LogRow, Metric};
use super::{STEPS_GO_BACK, TOLD_TWICE};
use repro_core::source::{Error, Location, Node};

/// Where a log goes back, and in which lines its rows stand.
#[derive(Debug, Default)]
pub struct Resumed {
    /// The lines of the rows of training, and of evaluations.
    lines: [Vec<usize>; 2],
    /// The step to which the log went back last, and the line; none where it has gone on since.
    open: Option<(u64, usize)>,
    /// The first line that told a step again, and how many did.
    again: Option<(usize, usize)>,
    /// How many losses and evaluations were told again with equal values,
    shown: usize,
    /// and the refusal of a log that has none of them.
    unshown: Option<Error>,
}

impl Resumed {
    /// Notes a row whose step is smaller than the last one.
    pub fn at(&mut self, step: u64, line: usize) {
        let (_, count) = self.again.unwrap_or_default();
        let first = self.again.map_or(line, |(first, _)| first);
        self.again = Some((first, count + 1));
        self.open.get_or_insert((step, line));
    }

    /// Notes how many losses and evaluations of a row were told before. A row may have none, as one of the learning rate
    /// has: then others have to show that it is one course.
    pub fn shows(&mut self, equal: usize, refusal: impl FnOnce() -> Error) {
        self.shown += equal;
        if equal == 0 && self.unshown.is_none() {
            self.unshown = Some(refusal());
        }
    }

    /// The refusal of a log of which nothing shows that it is one course.
    pub fn unshown(&mut self) -> Option<Error> {
        self.unshown.take().filter(|_| self.shown == 0)
    }

    /// Whether the rows now repeat others.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Notes a row about a step of its own.
    pub fn goes_on(&mut self, is_training: bool, line: usize) {
        let [training, evaluations] = &mut self.lines;
        if is_training { training } else { evaluations }.push(line);
        self.open = None;
    }

    /// The line of a row.
    pub fn line_of(&self, is_training: bool, at: Option<usize>) -> Option<usize> {
        let [training, evaluations] = &self.lines;
        let lines = if is_training { training } else { evaluations };
        lines.get(at?).copied().filter(|line| *line > 0)
    }

    /// Which rows told steps again, all with equal values.
    pub fn told_again(&self, file: &str) -> Option<(Location, usize)> {
        let (line, count) = self.again?;
        let column = usize::from(line > 0);
        Some((Location { line, column, ..Location::file(file) }, count))
    }

    /// The refusal with the lines that a resumed run has left behind.
    pub fn way_out(&self, tables: [&Vec<LogRow>; 2], error: Error) -> Error {
        let Some((step, back)) = self.open.filter(|(_, line)| *line > 0) else { return error };
        let left = tables.into_iter().zip(&self.lines).filter_map(|(rows, lines)| {
            lines.get(rows.partition_point(|row| row.step < step)).copied()
        });
        let Some(first) = left.min().filter(|first| *first < back) else { return error };
        let last = back - 1;
        let (lines, range) = match first == last {
            true => (format!("line {first}"), first.to_string()),
            false => (format!("lines {first} to {last}"), format!("{first},{last}")),
        };
        error.help(format!(
            "where the run was resumed in line {back}, from a checkpoint before step {step}, leave out what it had told of the \
             later steps: {lines}, as `sed '{range}d'` does; where it is a second run, put each into its \
             own file"
        ))
    }
}

/// Holds a row that tells a step again against the first one: what a run is judged by must be equal. The answer says how
/// many losses and evaluations are.
pub fn told_again(
    told: &LogRow,
    row: &LogRow,
    line: Option<usize>,
    node: Node<'_>,
) -> Result<usize, Error> {
    let mut equal = 0;
    for (metric, number) in row.cells.iter().filter(|(metric, _)| !may_differ(metric)) {
        let Some(first) = told.get(metric) else { continue };
        if !first.is_same(number) {
            let (name, first) = (metric.name(), first.text());
            let before = line.map_or_else(|| "before".to_owned(), |line| format!("in line {line}"));
            let expected = format!("`{name}` = {first}, as {before}, for step {}", row.step);
            return Err(TOLD_TWICE.at(node.place(), expected, number.text()));
        }
        equal += usize::from(is_result(metric));
    }
    Ok(equal)
}

/// The refusal of rows that tell steps again without a loss or an evaluation: they may as well be another run.
pub fn not_shown(step: u64, node: Node<'_>) -> Error {
    let expected = "a loss or an evaluation that shows that it is the same course";
    STEPS_GO_BACK.at(node.place(), expected, format!("step {step} again"))
}

/// Whether a metric is what a run is judged by.
fn is_result(metric: &Metric) -> bool {
    let is_loss = |name: &str| matches!(likely(name), Some("loss" | "val_loss"));
    metric.is_loss() || metric.is_evaluated() || is_loss(metric.name())
}

/// Words of names of what a machine does, which differs from one time to the next.
const SPEEDS: [&str; 23] = [
    "time",
    "timestamp",
    "runtime",
    "elapsed",
    "eta",
    "dt",
    "seconds",
    "sec",
    "secs",
    "ms",
    "minutes",
    "hours",
    "speed",
    "throughput",
    "second",
    "s",
    "mfu",
    "hfu",
    "flops",
    "tflops",
    "memory",
    "mem",
    "gpu",
];

/// Whether a metric may have another value where a step is told again: a time, a speed, a learning rate that was warmed up
/// once more, a norm that sums up in another order.
fn may_differ(metric: &Metric) -> bool {
    let is_setting = matches!(likely(metric.name()), Some("lr" | "grad_norm"));
    !is_result(metric) && (metric.is_time() || is_setting || is_speed(metric.name()))
}

/// Whether a name is one of a time or a speed.
pub fn is_speed(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| SPEEDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}
