//! The meaning of columns in external tables, and the conversion of their rows to a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::log::Identity;
use super::names::{STEP, known, known_as, likely, nearest, our_names, step_among};
use super::points::NUMBERS_CAP;
use super::resumed::{Resumed, not_shown, told_again};
use super::run::{LogNumber, LogRow, LoggedRun, Metric};
use super::{
    BAD_MAP, NO_STEP, NO_VALUES, NOT_A_NUMBER, REPEATED, STEP_COLUMN, STEPS_GO_BACK, TOLD_AGAIN,
    TOLD_TWICE, TOO_MANY_LINES, TOO_MANY_NUMBERS, TORN_LINE, TORN_VALUE, UNKNOWN_NAME, counted,
};
use repro_core::digest::Hasher;
use repro_core::source::{Error, Kind, Location, Node};

/// The maximum number of names in a message.
const LISTED: usize = 12;

/// A user's mapping of external columns to repro names; columns that already have repro names need no entry.
#[derive(Debug, Clone, Default)]
pub struct Mapping(Vec<(String, String)>);

impl Mapping {
    /// Parses `loss=val_loss,step=iter`: the repro name first, then the column.
    pub fn parse(texts: &[String]) -> Result<Self, Error> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in texts.iter().flat_map(|text| text.split(',')) {
            let place = || Location::file("--map");
            let Some((ours, theirs)) =
                pair.split_once('=').filter(|(_, theirs)| !theirs.is_empty())
            else {
                return Err(BAD_MAP.at(
                    place(),
                    "a repro name, `=` and a column name",
                    format!("`{pair}`"),
                ));
            };
            let ours = match ours {
                "time" => "seconds",
                // If the validation loss is mapped to `loss`, it is still the validation loss of the run.
                "loss" if likely(theirs) == Some("val_loss") => "val_loss",
                other => other,
            };
            if ours != STEP && known(ours).is_none() {
                let near = nearest(ours, our_names());
                let help = near.map_or("use one of these names".to_owned(), |name| {
                    format!("did you mean `{name}={theirs}`?")
                });
                let names: Vec<_> = our_names().map(|name| format!("`{name}`")).collect();
                let expected = format!("one of {}", names.join(", "));
                return Err(UNKNOWN_NAME.at(place(), expected, format!("`{ours}`")).help(help));
            }
            if let Some((taken, _)) =
                pairs.iter().find(|(one, other)| one == ours || other == theirs)
            {
                let expected = "each name once";
                return Err(BAD_MAP.at(place(), expected, format!("`{pair}` and `{taken}`")));
            }
            pairs.push((ours.to_owned(), theirs.to_owned()));
        }
        Ok(Self(pairs))
    }

    /// A built-in mapping, from pairs of repro name and column name.
    pub(super) fn fixed(pairs: &[(&str, &str)]) -> Self {
        Self(
            pairs.iter().map(|(ours, theirs)| ((*ours).to_owned(), (*theirs).to_owned())).collect(),
        )
    }

    /// Whether it maps the step column.
    fn says_steps(&self) -> bool {
        self.0.iter().any(|(ours, _)| ours == STEP)
    }

    /// The repro name for a column.
    fn ours(&self, theirs: &str) -> Option<&str> {
        let said = self.0.iter().find(|(_, name)| name == theirs).map(|(ours, _)| ours.as_str());
        let taken = |name: &&str| !self.0.iter().any(|(ours, _)| ours == name);
        said.or_else(|| our_names().find(|name| *name == theirs).filter(taken))
    }
}

impl TornCell {
    fn of(theirs: &str, cell: Node<'_>, line: usize) -> Self {
        let text = cell.text().unwrap_or_default().to_owned();
        let place = Location { line, pointer: String::new(), ..cell.place() };
        Self { theirs: theirs.to_owned(), place, text, step: None }
    }

    /// Notes that the cell at the end of the file was not read.
    fn tell(self, mapping: &Mapping, run: &mut LoggedRun) {
        let Some(step) = self.step else {
            let found = format!("`{}`, which may be truncated", self.text);
            return run.note(TORN_LINE.at(self.place, "a complete last line", found));
        };
        let by_name = mapping.ours(&self.theirs).and_then(known);
        let adopted = run.theirs.iter().find(|(_, theirs)| ***theirs == *self.theirs);
        let metric = by_name.or_else(|| adopted.map(|(metric, _)| metric.clone()));
        run.torn = Some(metric.unwrap_or_else(|| Metric::Other(self.theirs.as_str().into())));
        run.reached = Some(step);
        let expected = format!("`{}` with as many digits as in the other rows", self.theirs);
        let found = format!("`{}` at step {step}, at the end of the file", self.text);
        run.note(TORN_VALUE.at(self.place, expected, found));
    }
}

/// A table during conversion to a run.
#[derive(Default)]
pub struct LogTable {
    training: Vec<LogRow>,
    evaluations: Vec<LogRow>,
    /// The resume points, and the lines of all rows.
    resumed: Resumed,
    /// The column names, in alphabetical order.
    names: BTreeSet<String>,
    /// The step column, if its name is not one of the usual ones.
    counter: Option<String>,
    hasher: Hasher,
    /// The number of rows, and of numbers in them.
    rows: usize,
    numbers: usize,
    /// Values replaced by a later row for the same step: how many, and the first.
    repeated: Option<(usize, String)>,
    /// Whether the last cell of the next row, which is the last row, may be truncated and is not read.
    pub last_cell_may_be_cut: bool,
    torn: Option<TornCell>,
    /// The last step whose row has empty cells and no number.
    emptied: Option<u64>,
}

/// The cell at the end of a file that may be truncated.
#[derive(Debug)]
struct TornCell {
    /// The name of its column.
    theirs: String,
    place: Location,
    text: String,
    /// The step of its row; none if it is the step itself, so nothing in the row is read.
    step: Option<u64>,
}

/// The maximum number of rows in a log; rows stay in memory until the bundle is written.
const ROWS_CAP: usize = 1 << 20;

/// The numbers of one row, by destination.
#[derive(Default)]
struct Cells {
    step: Option<u64>,
    /// Whether the row has an empty cell.
    has_empty: bool,
    training: Vec<(Metric, LogNumber)>,
    evaluation: Vec<(Metric, LogNumber)>,
    /// Numbers that belong to the evaluation in a row with nothing else, and to training otherwise.
    either: Vec<(Metric, LogNumber)>,
    /// Numbers that belong to both.
    shared: Vec<(Metric, LogNumber)>,
}

impl Cells {
    fn take(&mut self, metric: Metric, number: LogNumber) {
        let of_training = matches!(metric, Metric::Loss | Metric::GradNorm | Metric::LearningRate);
        let cells = match metric {
            Metric::Tokens => &mut self.shared,
            _ if metric.is_evaluated() => &mut self.evaluation,
            _ if of_training || metric.is_of_training() => &mut self.training,
            _ => &mut self.either,
        };
        cells.push((metric, number));
    }

    fn is_empty(&self) -> bool {
        [&self.training, &self.evaluation, &self.either, &self.shared].iter().all(|c| c.is_empty())
    }

    /// The training numbers and the evaluation numbers.
    fn parted(mut self) -> [Vec<(Metric, LogNumber)>; 2] {
        if self.training.is_empty() && !self.evaluation.is_empty() {
            self.evaluation.append(&mut self.either);
        } else {
            self.training.append(&mut self.either);
            self.training.extend(self.shared.iter().cloned());
        }
        if !self.evaluation.is_empty() {
            self.evaluation.append(&mut self.shared);
        }
        [self.training, self.evaluation]
    }
}

impl LogTable {
    /// Adds one row, an object of cells by name, that starts at a line of the log; 0 if lines do not correspond to
    /// rows.
    pub fn row(&mut self, node: Node<'_>, line: usize, mapping: &Mapping) -> Result<(), Error> {
        self.rows += 1;
        self.numbers += node.members()?.count();
        if self.rows > ROWS_CAP {
            let expected = format!("at most {ROWS_CAP} lines");
            return Err(TOO_MANY_LINES.at(node.place(), expected, "more"));
        }
        if self.numbers > NUMBERS_CAP {
            let expected = format!("at most {NUMBERS_CAP} numbers");
            return Err(TOO_MANY_NUMBERS.at(node.place(), expected, "more"));
        }
        let cells = self.cells(node, line, mapping)?;
        if let Some(torn) = &mut self.torn {
            torn.step = cells.step;
            if cells.step.is_none() {
                return Ok(());
            }
        }
        if cells.is_empty() {
            self.emptied = self.emptied.max(cells.step.filter(|_| cells.has_empty));
            return Ok(());
        }
        let Some(step) = cells.step else { return Err(self.no_step(node, mapping)) };
        let [training, evaluation] = cells.parted();
        let mut shown = None;
        for (is_training, cells) in [(true, training), (false, evaluation)] {
            if !cells.is_empty() {
                let equal = self.add(is_training, LogRow { step, cells }, node, line)?;
                shown = equal.map(|equal| equal + shown.unwrap_or(0)).or(shown);
            }
        }
        if let Some(equal) = shown {
            let tables = [&self.training, &self.evaluations];
            let refusal = self.resumed.way_out(tables, not_shown(step, node));
            self.resumed.shows(equal, || refusal);
        }
        Ok(())
    }

    /// The numbers of a row.
    fn cells(&mut self, node: Node<'_>, line: usize, mapping: &Mapping) -> Result<Cells, Error> {
        let names = || node.members().into_iter().flatten().map(|(name, _)| name.trim());
        if self.counter.is_none() && !mapping.says_steps() {
            let names: Vec<&str> = names().collect();
            let counter = step_among(names.iter().copied());
            self.counter = counter.map(str::to_owned);
        }
        let mut cells = Cells::default();
        let last = node.members()?.count();
        for ((theirs, cell), at) in node.members()?.zip(1..) {
            let theirs = theirs.trim();
            if !self.names.contains(theirs) {
                self.names.insert(theirs.to_owned());
            }
            if at == last && self.last_cell_may_be_cut {
                self.torn = Some(TornCell::of(theirs, cell, line));
                continue;
            }
            if mapping.ours(theirs) == Some(STEP) || self.counter.as_deref() == Some(theirs) {
                let number = number(cell, true)?;
                cells.step = number.map(|number| whole(cell, &number)).transpose()?;
                continue;
            }
            let metric = mapping.ours(theirs).and_then(known);
            let Some(number) = number(cell, metric.is_some())? else {
                cells.has_empty |= is_empty(cell);
                continue;
            };
            if metric == Some(Metric::Tokens) {
                whole(cell, &number)?;
            }
            cells.take(metric.unwrap_or_else(|| Metric::Other(theirs.into())), number);
        }
        Ok(cells)
    }

    fn no_step(&self, node: Node<'_>, mapping: &Mapping) -> Error {
        let said =
            mapping.0.iter().find(|(ours, _)| ours == STEP).map(|(_, theirs)| theirs.as_str());
        let said = said.or(self.counter.as_deref()).unwrap_or(STEP);
        let found = format!("a row with {}", listed(&self.names));
        NO_STEP.at(node.place(), format!("a number in `{said}`"), found)
    }

    /// Converts the rows to a run; `file` is its log.
    pub fn into_run(
        mut self,
        file: &str,
        identity: Identity,
        mapping: &Mapping,
    ) -> Result<LoggedRun, Error> {
        let place = || Location::file(file);
        if let Some((ours, theirs)) =
            mapping.0.iter().find(|(_, theirs)| !self.names.contains(theirs))
        {
            let expected = format!("a column among {}", listed(&self.names));
            let error = UNKNOWN_NAME.at(place(), expected, format!("`{theirs}` for `{ours}`"));
            return Err(match nearest(theirs, self.names.iter().map(String::as_str)) {
                Some(name) => error.help(format!("did you mean `--map {ours}={name}`?")),
                None => error,
            });
        }
        if self.training.is_empty() && self.evaluations.is_empty() {
            return Err(NO_VALUES.at(place(), "numeric columns", listed(&self.names)));
        }
        if let Some(error) = self.resumed.unshown() {
            return Err(error);
        }
        let theirs = self.adopt(mapping);
        let mut run = LoggedRun::new(file, identity, self.hasher.finish());
        (run.training, run.evaluations) = (self.training, self.evaluations);
        run.emptied = self.emptied;
        run.theirs.extend(theirs);
        let said =
            mapping.0.iter().find(|(ours, _)| ours == STEP).map(|(_, theirs)| theirs.clone());
        run.counter = said.or_else(|| self.counter.clone());
        if let Some(counter) = self.counter.filter(|counter| counter != STEP) {
            let found = format!("`{counter}`");
            run.note(STEP_COLUMN.at(place(), "a column `step`", found));
        }
        if let Some((count, first)) = self.repeated.take() {
            let found = format!("{}, the first {first}", counted(count, "other value"));
            run.note(REPEATED.at(place(), "one value per step and metric", found));
        }
        if let Some((place, count)) = self.resumed.told_again(file) {
            let found = format!("{}, with equal values", counted(count, "row"));
            run.note(TOLD_AGAIN.at(place, "each step only once", found));
        }
        if let Some(torn) = self.torn {
            torn.tell(mapping, &mut run);
        }
        Ok(run)
    }

    /// Assigns meanings to metrics that only their names reveal; returns the names in the log.
    fn adopt(&mut self, mapping: &Mapping) -> Vec<(Metric, Arc<str>)> {
        let names: Vec<Arc<str>> = self.names.iter().map(|name| name.as_str().into()).collect();
        let mut known = known_as(&names);
        known.retain(|(metric, theirs)| {
            let said =
                mapping.0.iter().any(|(ours, name)| ours == metric.name() || **name == ***theirs);
            // A column with our very name has the meaning already; a second spelling keeps its own.
            let is_taken = self.names.contains(metric.name())
                && mapping.ours(metric.name()) == Some(metric.name());
            !said && !is_taken
        });
        let known: Vec<_> =
            known.into_iter().map(|(metric, name)| (metric, name.clone())).collect();
        for row in self.training.iter_mut().chain(&mut self.evaluations) {
            for (metric, _) in &mut row.cells {
                let Metric::Other(name) = &*metric else { continue };
                if let Some((ours, _)) = known.iter().find(|(_, theirs)| theirs == name) {
                    *metric = ours.clone();
                }
            }
        }
        known
    }

    /// Adds a row at the end, or merges it with the row for the same step; if it repeats that row, returns the number
    /// of equal losses and evaluations.
    fn add(
        &mut self,
        is_training: bool,
        row: LogRow,
        node: Node<'_>,
        line: usize,
    ) -> Result<Option<usize>, Error> {
        let (known, equal) = self.known(is_training, &row, node, line)?;
        let rows = if is_training { &mut self.training } else { &mut self.evaluations };
        match known.and_then(|at| rows.get_mut(at)) {
            Some(known) => join(known, row, &mut self.repeated, node)?,
            None => {
                rows.push(row);
                self.resumed.goes_on(is_training, line);
            }
        }
        Ok(equal)
    }

    /// The row for the same step, and the number of equal results if it is repeated. A stopped and resumed run repeats
    /// steps: with equal values it is one course, with different values it is rejected.
    fn known(
        &mut self,
        is_training: bool,
        row: &LogRow,
        node: Node<'_>,
        line: usize,
    ) -> Result<(Option<usize>, Option<usize>), Error> {
        let rows = if is_training { &self.training } else { &self.evaluations };
        let last = rows.last().map_or(0, |last| last.step);
        let known = rows.binary_search_by_key(&row.step, |known| known.step).ok();
        if row.step < last {
            self.resumed.at(row.step, line);
        } else {
            hash(&mut self.hasher, row);
        }
        if !self.resumed.is_open() {
            return Ok((known, None));
        }
        let same = match known.and_then(|at| rows.get(at)) {
            Some(told) => {
                told_again(told, row, self.resumed.line_of(is_training, known), node).map(Some)
            }
            None if row.step < last => {
                let expected = format!("a step of at least {last}");
                Err(STEPS_GO_BACK.at(node.place(), expected, row.step.to_string()))
            }
            None => Ok(None),
        };
        let tables = [&self.training, &self.evaluations];
        same.map(|equal| (known, equal)).map_err(|error| self.resumed.way_out(tables, error))
    }

    /// The part of a mapping whose columns exist in the table.
    pub fn only_named(&self, mapping: Mapping) -> Mapping {
        Mapping(mapping.0.into_iter().filter(|(_, theirs)| self.names.contains(theirs)).collect())
    }
}

fn hash(hasher: &mut Hasher, row: &LogRow) {
    hasher.update(row.step.to_string().as_bytes());
    for (metric, number) in &row.cells {
        hasher.update(format!(" {}={}", metric.name(), number.text()).as_bytes());
    }
    hasher.update(b"\n");
}

/// Merges two rows for one step. Different losses are rejected; for other metrics the last value is kept.
fn join(
    last: &mut LogRow,
    row: LogRow,
    repeated: &mut Option<(usize, String)>,
    node: Node<'_>,
) -> Result<(), Error> {
    for (metric, number) in row.cells {
        let Some((_, told)) = last.cells.iter_mut().find(|(other, _)| *other == metric) else {
            last.cells.push((metric, number));
            continue;
        };
        if told.is_same(&number) {
            continue;
        }
        if metric.is_loss() {
            let (name, told) = (metric.name(), told.text());
            let expected =
                format!("`{name}` = {told} for step {}, as in the earlier row", row.step);
            return Err(TOLD_TWICE.at(node.place(), expected, number.text()));
        }
        let first = || format!("`{}` at step {}", metric.name(), row.step);
        let (count, first) = repeated.take().unwrap_or_else(|| (0, first()));
        *repeated = Some((count + 1, first));
        *told = number;
    }
    Ok(())
}

fn listed(names: &BTreeSet<String>) -> String {
    let shown: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    if shown.is_empty() { "no columns".to_owned() } else { format!("{}{more}", shown.join(", ")) }
}

/// The number in a cell; none if the cell is empty, or if it is not a number and was not mapped.
fn number(cell: Node<'_>, wanted: bool) -> Result<Option<LogNumber>, Error> {
    let text = match &cell.value().kind {
        _ if is_empty(cell) => return Ok(None),
        Kind::Text(text) | Kind::Number(text) => text,
        _ if !wanted => return Ok(None),
        other => return Err(NOT_A_NUMBER.at(cell.place(), "a number", other.word())),
    };
    let text = text.trim();
    let number = LogNumber::parse(text.as_bytes());
    if number.is_none() && wanted {
        let found: String = text.chars().take(60).collect();
        return Err(NOT_A_NUMBER.at(cell.place(), "a number", format!("`{found}`")));
    }
    Ok(number)
}

/// Whether a cell marks a missing number, in one of the usual spellings.
fn is_empty(cell: Node<'_>) -> bool {
    let is_word = |text: &str| {
        ["", "none", "null", "na", "n/a", "<na>"].iter().any(|word| word.eq_ignore_ascii_case(text))
    };
    match &cell.value().kind {
        Kind::Null => true,
        Kind::Text(text) => is_word(text.trim()),
        _ => false,
    }
}

/// A whole number; tables of floats print `100.0`.
fn whole(cell: Node<'_>, number: &LogNumber) -> Result<u64, Error> {
    let text = number.text().strip_suffix(".0").unwrap_or(number.text());
    let fits = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits).ok_or_else(|| {
        let found = format!("`{}`", number.text());
        NOT_A_NUMBER.at(cell.place(), "a non-negative integer", found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn names_are_mapped_ours_first() {
        let mapping = Mapping::parse(&texts(&["loss=train/loss,step=iter", "time=t"])).unwrap();
        for (theirs, ours) in [
            ("train/loss", Some("loss")),
            ("iter", Some("step")),
            ("t", Some("seconds")),
            ("val_loss", Some("val_loss")),
            ("loss", None),
            ("step", None),
            ("epoch", None),
        ] {
            assert_eq!(mapping.ours(theirs), ours, "{theirs}");
        }
    }

    #[test]
    fn a_loss_that_is_a_validation_loss_by_its_name_is_one() {
        for theirs in ["val_loss", "eval/loss", "valid_loss"] {
            let mapping = Mapping::parse(&texts(&[&format!("loss={theirs}")])).unwrap();
            assert_eq!(mapping.ours(theirs), Some("val_loss"), "{theirs}");
        }
    }

    #[test]
    fn bad_mappings_are_refused_with_a_guess() {
        for (text, code, help) in [
            ("loss", "import::bad-map", "repro name first"),
            ("loss=", "import::bad-map", "repro name first"),
            ("", "import::bad-map", "repro name first"),
            ("loss=a,loss=b", "import::bad-map", "repro name first"),
            ("loss=a,val_loss=a", "import::bad-map", "repro name first"),
            ("vall_oss=x", "import::unknown-name", "did you mean `val_loss=x`?"),
            ("perplexity=x", "import::unknown-name", "use one of these names"),
        ] {
            let error = Mapping::parse(&texts(&[text])).unwrap_err();
            assert_eq!(error.code.id, code, "{text}");
            assert!(error.help.contains(help), "{text}: {}", error.help);
        }
    }
}
