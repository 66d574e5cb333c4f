//! Logs that go back to earlier steps: a run that was stopped and resumed from a checkpoint, or a second run.

use super::names::likely;
use super::run::{LogRow, Metric};
use super::{STEPS_GO_BACK, TOLD_TWICE};
use repro_core::source::{Error, Location, Node};

/// The points at which a log goes back, and the lines of its rows.
#[derive(Debug, Default)]
pub struct Resumed {
    /// The lines of the training rows and of the evaluation rows.
    lines: [Vec<usize>; 2],
    /// The step to which the log last went back, with its line; none once it has moved past.
    open: Option<(u64, usize)>,
    /// The first line that repeats a step, and the number of repeating lines.
    again: Option<(usize, usize)>,
    /// The number of losses and evaluations repeated with equal values.
    shown: usize,
    /// The error for a log without any.
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

    /// Notes the number of repeated losses and evaluations in a row. A row may have none, for example if it only has a
    /// learning rate; then other rows must show that the log is one course.
    pub fn shows(&mut self, equal: usize, refusal: impl FnOnce() -> Error) {
        self.shown += equal;
        if equal == 0 && self.unshown.is_none() {
            self.unshown = Some(refusal());
        }
    }

    /// The error for a log in which nothing shows that it is one course.
    pub fn unshown(&mut self) -> Option<Error> {
        self.unshown.take().filter(|_| self.shown == 0)
    }

    /// Whether the current rows repeat earlier ones.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Notes a row for a new step.
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

    /// The rows that repeat steps, all with equal values.
    pub fn told_again(&self, file: &str) -> Option<(Location, usize)> {
        let (line, count) = self.again?;
        let column = usize::from(line > 0);
        Some((Location { line, column, ..Location::file(file) }, count))
    }

    /// An error that lists the lines left behind by a resumed run.
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
            "if the run resumed at line {back} from a checkpoint before step {step}, remove the abandoned {lines}, for \
             example with `sed '{range}d'`; if this is a second run, put each run in its own file"
        ))
    }
}

/// Compares a row that repeats a step with the first one: metrics that judge a run must be equal. Returns the number of
/// equal losses and evaluations.
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
            let before = line
                .map_or_else(|| "in an earlier row".to_owned(), |line| format!("in line {line}"));
            let expected = format!("`{name}` = {first} for step {}, as {before}", row.step);
            return Err(TOLD_TWICE.at(node.place(), expected, number.text()));
        }
        equal += usize::from(is_result(metric));
    }
    Ok(equal)
}

/// The error for rows that repeat steps without a loss or an evaluation, because they may belong to a different run.
pub fn not_shown(step: u64, node: Node<'_>) -> Error {
    let expected = "a loss or an evaluation that shows that it is the same run";
    STEPS_GO_BACK.at(node.place(), expected, format!("a repeated step {step}"))
}

/// Whether a metric judges the run.
fn is_result(metric: &Metric) -> bool {
    let is_loss = |name: &str| matches!(likely(name), Some("loss" | "val_loss"));
    metric.is_loss() || metric.is_evaluated() || is_loss(metric.name())
}

/// Words in names of machine measurements, which differ each time.
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

/// Whether a metric may have a different value if a step is repeated: a time, a speed, a learning rate with repeated
/// warmup, or a norm summed in a different order.
fn may_differ(metric: &Metric) -> bool {
    let is_setting = matches!(likely(metric.name()), Some("lr" | "grad_norm"));
    !is_result(metric) && (metric.is_time() || is_setting || is_speed(metric.name()))
}

/// Whether a name denotes a time or a speed.
pub fn is_speed(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| SPEEDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}
