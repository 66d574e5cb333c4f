//! What the columns of other people's tables mean, and how their rows become those of a run.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::log::Identity;
use super::run::{LogNumber, LogRow, LoggedRun, Metric};
use super::{
    BAD_MAP, NO_STEP, NO_VALUES, NOT_A_NUMBER, STEPS_GO_BACK, TOLD_TWICE, TOO_MANY_LINES,
    TOO_MANY_NUMBERS, UNKNOWN_NAME, UNMAPPED,
};
use repro_receipt::digest::Hasher;
use repro_receipt::source::{Error, Kind, Location, Node};

/// The name of the column that counts steps.
const STEP: &str = "step";
/// The most names that a message lists.
const LISTED: usize = 12;

/// Names under which others log what we know: our name, and theirs with `_` between words.
const ALIASES: &[(&str, &[&str])] = &[
    (
        "step",
        &[
            "iter",
            "iteration",
            "global_step",
            "trainer_global_step",
            "steps",
            "it",
            "update",
            "batch",
        ],
    ),
    (
        "tokens",
        &["tokens_seen", "num_tokens", "total_tokens", "consumed_tokens", "num_input_tokens_seen"],
    ),
    ("loss", &["train_loss", "training_loss", "loss_train", "lm_loss"]),
    (
        "val_loss",
        &["valid_loss", "validation_loss", "eval_loss", "test_loss", "loss_val", "loss_eval"],
    ),
    ("grad_norm", &["gradnorm", "gradient_norm", "grad_norm_total", "train_grad_norm", "norm"]),
    ("lr", &["learning_rate", "train_lr", "lr_0"]),
    ("seconds", &["time", "elapsed", "wall_time", "runtime", "train_time", "elapsed_seconds"]),
];

/// Which of their columns is which of ours, as a person said; a column of our own name needs no word.
#[derive(Debug, Clone, Default)]
pub struct Mapping(Vec<(String, String)>);

impl Mapping {
    /// Reads `loss=val_loss,step=iter`: our name, then theirs.
    pub fn parse(texts: &[String]) -> Result<Self, Error> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in texts.iter().flat_map(|text| text.split(',')) {
            let place = || Location::file("--map");
            let Some((ours, theirs)) =
                pair.split_once('=').filter(|(_, theirs)| !theirs.is_empty())
            else {
                return Err(BAD_MAP.at(place(), "our name, `=` and theirs", format!("`{pair}`")));
            };
            let ours = match ours {
                "time" => "seconds",
                // Who calls their validation loss the loss means the loss of the run.
                "loss" if likely(theirs) == Some("val_loss") => "val_loss",
                other => other,
            };
            if ours != STEP && known(ours).is_none() {
                let near = nearest(ours, our_names());
                let help = near.map_or("use one of these names".to_owned(), |name| {
                    format!("perhaps `{name}={theirs}`")
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

    /// A mapping that the program knows, from pairs of our name and theirs.
    pub(super) fn fixed(pairs: &[(&str, &str)]) -> Self {
        Self(
            pairs.iter().map(|(ours, theirs)| ((*ours).to_owned(), (*theirs).to_owned())).collect(),
        )
    }

    /// Our name for one of their columns.
    fn ours(&self, theirs: &str) -> Option<&str> {
        let said = self.0.iter().find(|(_, name)| name == theirs).map(|(ours, _)| ours.as_str());
        let taken = |name: &&str| !self.0.iter().any(|(ours, _)| ours == name);
        said.or_else(|| our_names().find(|name| *name == theirs).filter(taken))
    }
}

fn known(name: &str) -> Option<Metric> {
    Metric::KNOWN.into_iter().find(|metric| metric.name() == name)
}

fn our_names() -> impl Iterator<Item = &'static str> {
    [
        STEP,
        "tokens",
        "loss",
        "grad_norm",
        "lr",
        "val_loss",
        "train_time_ms",
        "step_avg_ms",
        "seconds",
    ]
    .into_iter()
}

/// The name that differs least from `name`, if it differs little.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |other: &&str| distance(&plain(name), &plain(other));
    names.min_by_key(far).filter(|other| far(other) <= 1 + name.chars().count() / 4)
}

/// How many characters must change to make one text the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.chars().take(64).enumerate() {
        let mut before = at;
        let mut last = at + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(&other) {
            let change = before + usize::from(left != *right);
            before = *cell;
            last = change.min(last + 1).min(*cell + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// `train/Loss` as `train_loss`.
fn plain(name: &str) -> String {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    lower.replace(['/', '.', '-', ' '], "_")
}

/// What a column is likely to be, from its name.
fn likely(theirs: &str) -> Option<&'static str> {
    let plain = plain(theirs);
    let own = our_names().find(|name| *name == plain);
    own.or_else(|| {
        ALIASES.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(ours, _)| *ours)
    })
}

/// A table on its way to a run.
#[derive(Default)]
pub struct LogTable {
    training: Vec<LogRow>,
    evaluations: Vec<LogRow>,
    /// Their names, in alphabetical order.
    names: BTreeSet<String>,
    hasher: Hasher,
    /// How many rows there were, and numbers in them.
    rows: usize,
    numbers: usize,
}

/// The most rows of a log: what is read is held until it is written.
const ROWS_CAP: usize = 1 << 20;
/// The most numbers of a log.
const NUMBERS_CAP: usize = 8 << 20;

impl LogTable {
    /// Takes one row, a table of cells by name.
    pub fn row(&mut self, node: Node<'_>, mapping: &Mapping) -> Result<(), Error> {
        self.rows += 1;
        self.numbers += node.members()?.count();
        if self.rows > ROWS_CAP {
            return Err(TOO_MANY_LINES.at(
                node.place(),
                format!("at most {ROWS_CAP} lines"),
                "more",
            ));
        }
        if self.numbers > NUMBERS_CAP {
            let expected = format!("at most {NUMBERS_CAP} numbers");
            return Err(TOO_MANY_NUMBERS.at(node.place(), expected, "more"));
        }
        let mut step = None;
        let (mut training, mut evaluation) = (Vec::new(), Vec::new());
        let (mut shared, mut others) = (Vec::new(), Vec::new());
        for (theirs, cell) in node.members()? {
            if !self.names.contains(theirs) {
                self.names.insert(theirs.to_owned());
            }
            let ours = mapping.ours(theirs);
            let Some(number) = number(cell, ours.is_some())? else { continue };
            match ours.map(|name| (name, known(name))) {
                Some((STEP, _)) => step = Some(whole(cell, &number)?),
                Some((_, Some(Metric::ValidationLoss))) => {
                    evaluation.push((Metric::ValidationLoss, number))
                }
                Some((_, Some(Metric::Tokens))) => {
                    whole(cell, &number)?;
                    shared.push((Metric::Tokens, number));
                }
                Some((_, Some(metric))) if metric.is_time() => others.push((metric, number)),
                Some((_, Some(metric))) => training.push((metric, number)),
                _ => others.push((Metric::Other(Cow::Owned(theirs.to_owned())), number)),
            }
        }
        if training.is_empty() && evaluation.is_empty() && others.is_empty() && shared.is_empty() {
            return Ok(());
        }
        let Some(step) = step else { return Err(self.no_step(node, mapping)) };
        let evaluates = training.is_empty() && !evaluation.is_empty();
        if evaluates {
            evaluation.extend(others);
        } else {
            training.extend(others);
            training.extend(shared.iter().cloned());
        }
        if !evaluation.is_empty() {
            evaluation.extend(shared);
        }
        for (rows, cells) in [(&mut self.training, training), (&mut self.evaluations, evaluation)] {
            if !cells.is_empty() {
                add(rows, LogRow { step, cells }, &mut self.hasher, node)?;
            }
        }
        Ok(())
    }

    fn no_step(&self, node: Node<'_>, mapping: &Mapping) -> Error {
        let said = mapping
            .0
            .iter()
            .find(|(ours, _)| ours == STEP)
            .map_or(STEP, |(_, theirs)| theirs.as_str());
        let error = NO_STEP.at(
            node.place(),
            format!("a number in `{said}`"),
            format!("a row with {}", listed(&self.names)),
        );
        match self.names.iter().find(|name| likely(name) == Some(STEP) && *name != said) {
            Some(name) => error.help(format!("perhaps `--map {STEP}={name}`")),
            None => error,
        }
    }

    /// The run that the rows are; `file` is its log.
    pub fn into_run(
        self,
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
                Some(name) => error.help(format!("perhaps `--map {ours}={name}`")),
                None => error,
            });
        }
        let mut rows = self.training.iter().chain(&self.evaluations);
        if !rows.any(|row| row.cells.iter().any(|(metric, _)| !matches!(metric, Metric::Other(_))))
        {
            let error = NO_VALUES.at(place(), "known or mapped columns", listed(&self.names));
            let maps: Vec<_> = self
                .names
                .iter()
                .filter_map(|name| Some(format!("{}={name}", likely(name)?)))
                .collect();
            return Err(if maps.is_empty() {
                error
            } else {
                error.help(format!("perhaps `--map {}`", maps.join(",")))
            });
        }
        let mut run = LoggedRun::new(file, identity, self.hasher.finish());
        run.training = self.training;
        run.evaluations = self.evaluations;
        Ok(run)
    }

    /// The part of a mapping whose names the table has.
    pub fn only_named(&self, mapping: Mapping) -> Mapping {
        Mapping(mapping.0.into_iter().filter(|(_, theirs)| self.names.contains(theirs)).collect())
    }

    /// Their columns that nobody knows, each with what it may be.
    pub fn unmapped(&self, file: &str, mapping: &Mapping) -> Option<Error> {
        let names: Vec<_> = self.names.iter().filter(|name| mapping.ours(name).is_none()).collect();
        let with_guess = |name: &&String| match likely(name) {
            Some(ours) => format!("`{name}` (perhaps `--map {ours}={name}`)"),
            None => format!("`{name}`"),
        };
        let mut shown: Vec<_> = names.iter().take(LISTED).map(with_guess).collect();
        if names.len() > LISTED {
            shown.push(format!("{} more", names.len() - LISTED));
        }
        let found = shown.join(", ");
        (!names.is_empty())
            .then(|| UNMAPPED.at(Location::file(file), "known or mapped columns", found))
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    let shown: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    if shown.is_empty() { "no columns".to_owned() } else { format!("{}{more}", shown.join(", ")) }
}

/// The number in a cell; nothing where it is empty, or where nobody asked for it and it is none.
fn number(cell: Node<'_>, wanted: bool) -> Result<Option<LogNumber>, Error> {
    let text = match &cell.value().kind {
        Kind::Null => return Ok(None),
        Kind::Text(text) if text.trim().is_empty() => return Ok(None),
        Kind::Text(text) | Kind::Number(text) => text,
        _ if !wanted => return Ok(None),
        other => return Err(NOT_A_NUMBER.at(cell.place(), "a number", other.word())),
    };
    let number = LogNumber::parse(text.as_bytes());
    if number.is_none() && wanted {
        let found: String = text.chars().take(60).collect();
        return Err(NOT_A_NUMBER.at(cell.place(), "a number", format!("`{found}`")));
    }
    Ok(number)
}

/// A whole number; tables that were floats print `100.0`.
fn whole(cell: Node<'_>, number: &LogNumber) -> Result<u64, Error> {
    let text = number.text().strip_suffix(".0").unwrap_or(number.text());
    let fits = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits).ok_or_else(|| {
        let found = format!("`{}`", number.text());
        NOT_A_NUMBER.at(cell.place(), "a non-negative integer", found)
    })
}

/// Adds a row behind the others, or to the last one where both are about one step.
fn add(
    rows: &mut Vec<LogRow>,
    row: LogRow,
    hasher: &mut Hasher,
    node: Node<'_>,
) -> Result<(), Error> {
    hasher.update(row.step.to_string().as_bytes());
    for (metric, number) in &row.cells {
        hasher.update(format!(" {}={}", metric.name(), number.text()).as_bytes());
    }
    hasher.update(b"\n");
    match rows.last_mut() {
        Some(last) if row.step < last.step => {
            let expected = format!("a step of at least {}", last.step);
            Err(STEPS_GO_BACK.at(node.place(), expected, row.step.to_string()))
        }
        Some(last) if row.step == last.step => {
            let repeats = |(metric, number): &&(Metric, LogNumber)| {
                last.get(metric).is_some_and(|told| told != number)
            };
            if let Some((metric, number)) = row.cells.iter().find(repeats) {
                let told = last.get(metric).map_or("", LogNumber::text);
                let expected =
                    format!("`{}` = {told}, as before, for step {}", metric.name(), row.step);
                return Err(TOLD_TWICE.at(node.place(), expected, number.text()));
            }
            let new: Vec<_> =
                row.cells.into_iter().filter(|(metric, _)| last.get(metric).is_none()).collect();
            last.cells.extend(new);
            Ok(())
        }
        _ => {
            rows.push(row);
            Ok(())
        }
    }
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
            ("loss", "import::bad-map", "our name first"),
            ("loss=", "import::bad-map", "our name first"),
            ("", "import::bad-map", "our name first"),
            ("loss=a,loss=b", "import::bad-map", "our name first"),
            ("loss=a,val_loss=a", "import::bad-map", "our name first"),
            ("vall_oss=x", "import::unknown-name", "perhaps `val_loss=x`"),
            ("perplexity=x", "import::unknown-name", "use one of these names"),
        ] {
            let error = Mapping::parse(&texts(&[text])).unwrap_err();
            assert_eq!(error.code.id, code, "{text}");
            assert!(error.help.contains(help), "{text}: {}", error.help);
        }
    }

    #[test]
    fn distances_count_changes() {
        for (one, other, wanted) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("loss", "los", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
        }
    }

    #[test]
    fn every_known_column_has_a_name() {
        let names: Vec<_> = our_names().collect();
        for metric in Metric::KNOWN {
            assert!(names.contains(&metric.name()), "{metric:?}");
            assert_eq!(known(metric.name()), Some(metric));
        }
        assert!(ALIASES.iter().all(|(ours, _)| names.contains(ours)));
    }
}
