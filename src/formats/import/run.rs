//! One run as its log tells it: rows of numbers as printed, by step, and what is odd about it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::CHANGED;
use super::format::LogFormat;
use super::log::{Identity, Log};
use super::timed::Timed;
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};

/// A number as it is printed in a log, finite or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNumber(Box<str>);

impl LogNumber {
    /// The longest text that is read as a number.
    const CAP: usize = 40;

    /// Reads decimals (`-1.5`, `3`, `2e-05`) and the three words `nan`, `inf`, `-inf` in any case.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let known = is_decimal(bytes) || nonfinite(bytes).is_some();
        let text = std::str::from_utf8(bytes).ok().filter(|_| known && bytes.len() <= Self::CAP)?;
        Some(Self(text.into()))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The shortest decimal that a binary file's float is the nearest to.
    pub fn of_double(value: f64) -> Self {
        Self(format!("{value:?}").into())
    }

    /// The same of a float of 32 bits.
    pub fn of_single(value: f32) -> Self {
        Self(format!("{value:?}").into())
    }

    /// The nearest float, where it is finite.
    pub fn value(&self) -> Option<f64> {
        self.0.parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// Whether two are one number, however they are printed: `3.8289` and `3.828900`.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0 || self.nonfinite() == other.nonfinite() && self.value() == other.value()
    }

    /// `nan`, `inf` or `-inf`; a decimal beyond every float is infinite too.
    pub fn nonfinite(&self) -> Option<&'static str> {
        nonfinite(self.0.as_bytes()).or_else(|| match self.0.parse::<f64>() {
            Ok(value) if value.is_infinite() => Some(if value > 0.0 { "inf" } else { "-inf" }),
            _ => None,
        })
    }
}

/// Whether `bytes` are an optional minus, digits, an optional fraction and an optional exponent.
fn is_decimal(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut parts = bytes.splitn(2, |byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = (parts.next().unwrap_or_default(), parts.next());
    let mut halves = mantissa.splitn(2, |&byte| byte == b'.');
    let (whole, fraction) = (halves.next().unwrap_or_default(), halves.next());
    let signed = |bytes| {
        digits(
            <[u8]>::strip_prefix(bytes, b"-")
                .or(<[u8]>::strip_prefix(bytes, b"+"))
                .unwrap_or(bytes),
        )
    };
    digits(whole) && fraction.is_none_or(digits) && exponent.is_none_or(signed)
}

fn nonfinite(bytes: &[u8]) -> Option<&'static str> {
    let words = [
        ("nan", "nan"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("infinity", "inf"),
        ("-infinity", "-inf"),
    ];
    words
        .iter()
        .find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(bytes))
        .map(|(_, name)| *name)
}

/// What a number of a row measures.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Tokens seen so far.
    Tokens,
    /// The loss of a training step.
    Loss,
    /// The norm of the gradient.
    GradNorm,
    /// The learning rate.
    LearningRate,
    /// The loss on the validation text.
    ValidationLoss,
    /// Milliseconds of training so far.
    TrainTime,
    /// Milliseconds a step so far.
    StepAverage,
    /// Seconds so far.
    Seconds,
    /// Anything else, under its name in the log: accuracies, rewards, word error rates.
    Other(Arc<str>),
}

impl Metric {
    /// The metrics with a meaning of their own.
    pub const KNOWN: [Self; 8] = [
        Self::Tokens,
        Self::Loss,
        Self::GradNorm,
        Self::LearningRate,
        Self::ValidationLoss,
        Self::TrainTime,
        Self::StepAverage,
        Self::Seconds,
    ];

    /// Whether it is a loss of the run.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Loss | Self::ValidationLoss)
    }

    /// The name that `--map` and the tables of a bundle use.
    pub fn name(&self) -> &str {
        match self {
            Self::Tokens => "tokens",
            Self::Loss => "loss",
            Self::GradNorm => "grad_norm",
            Self::LearningRate => "lr",
            Self::ValidationLoss => "val_loss",
            Self::TrainTime => "train_time_ms",
            Self::StepAverage => "step_avg_ms",
            Self::Seconds => "seconds",
            Self::Other(name) => name,
        }
    }

    /// What a metric means that a log calls `name`, if it is one of ours by that very name.
    pub fn of_name(name: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|metric| metric.name() == name);
        known.unwrap_or_else(|| Self::Other(name.into()))
    }

    /// Whether an evaluation measures it, by its name: `eval_wer`, `val/loss`, `metrics/mAP50(B)`.
    pub fn is_evaluated(&self) -> bool {
        match self {
            Self::ValidationLoss => true,
            Self::Other(name) => has_word(name, &EVALUATED),
            _ => false,
        }
    }

    /// Whether training measures it, by its name: `train_accuracy`.
    pub fn is_of_training(&self) -> bool {
        matches!(self, Self::Other(name) if has_word(name, &["train", "training"]))
    }

    /// Whether it says how long something took.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::TrainTime | Self::StepAverage | Self::Seconds)
    }
}

/// Words of names of metrics that evaluations measure.
const EVALUATED: [&str; 9] =
    ["eval", "evaluation", "val", "valid", "validation", "test", "dev", "heldout", "metrics"];

/// Whether one of the words of a name is among `known`.
fn has_word(name: &str, known: &[&str]) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// The numbers that a log prints for one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// The step.
    pub step: u64,
    /// The numbers, in the order of the log.
    pub cells: Vec<(Metric, LogNumber)>,
}

impl LogRow {
    /// The number of a metric.
    pub fn get(&self, metric: &Metric) -> Option<&LogNumber> {
        self.cells.iter().find(|(name, _)| name == metric).map(|(_, number)| number)
    }
}

/// Something odd about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Oddity {
    /// What, where, and what to do.
    pub error: Error,
    /// Whether the run is left out of the figures of its group.
    pub excludes: bool,
}

/// One of the files that tell a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// Its path, as the run's was named.
    pub file: String,
    /// Its bytes.
    pub identity: Identity,
}

/// So many equal losses are no chance.
const CURVE_FROM: usize = 4;

/// One run of a log.
#[derive(Debug, Clone)]
pub struct LoggedRun {
    /// The name of its bundle.
    pub name: String,
    /// The file that it was read from, as it was named.
    pub file: String,
    /// The bytes of that file, or of all of them.
    pub identity: Identity,
    /// The format that it was read in.
    pub format: LogFormat,
    /// The group that the file itself puts it into, as an experiment of MLflow does.
    pub group: Option<String>,
    /// The files, where a run is told by several.
    pub parts: Vec<LogPart>,
    /// The digest of the metric lines alone, which a renamed or re-wrapped copy shares.
    pub metrics_sha256: Digest,
    /// Training records, by rising step.
    pub training: Vec<LogRow>,
    /// Evaluations, by rising step.
    pub evaluations: Vec<LogRow>,
    /// What the log calls that by which it counts its rows: `step`, `iter`, `epoch`; none where it has no such name.
    pub counter: Option<String>,
    /// The last step that the run was meant to reach.
    pub planned: Option<u64>,
    /// The last step that the log says was reached, beside its rows.
    pub reached: Option<u64>,
    /// The last step of which it has a row with nothing but empty cells, as tables have for what is not a number.
    pub emptied: Option<u64>,
    /// The metric whose last number may be cut, and was not read.
    pub torn: Option<Metric>,
    /// The seed, as printed.
    pub seed: Option<String>,
    /// Whether the seed was read from the path, because the log has none.
    pub seed_from_path: bool,
    /// Whether it came to its regular end, where the log says so.
    pub ended: Option<bool>,
    /// What the log says about how the run was made.
    pub config: Map<String, Json>,
    /// Numbers about the whole run, by name.
    pub summary: Vec<(Arc<str>, LogNumber)>,
    /// What the log calls the metrics that have a meaning of their own.
    pub theirs: BTreeMap<Metric, Arc<str>>,
    /// What an MLPerf log says about its time.
    pub timed: Option<Timed>,
    /// What else the receipt shall say about the run.
    pub extra: Map<String, Json>,
    /// What is odd about it.
    pub findings: Vec<Oddity>,
}

impl LoggedRun {
    /// A run of which nothing is known but its bytes.
    pub fn new(file: &str, identity: Identity, metrics_sha256: Digest) -> Self {
        Self {
            name: String::new(),
            file: file.to_owned(),
            identity,
            format: LogFormat::Csv,
            group: None,
            parts: Vec::new(),
            metrics_sha256,
            training: Vec::new(),
            evaluations: Vec::new(),
            counter: None,
            planned: None,
            reached: None,
            emptied: None,
            torn: None,
            seed: None,
            seed_from_path: false,
            ended: None,
            config: Map::new(),
            summary: Vec::new(),
            theirs: BTreeMap::new(),
            timed: None,
            extra: Map::new(),
            findings: Vec::new(),
        }
    }

    /// Keeps numbers about the whole run, but for those that only repeat the last one of a metric.
    pub fn sum_up(&mut self, numbers: impl IntoIterator<Item = (String, LogNumber)>) {
        let mut lasts: BTreeMap<&str, &LogNumber> = BTreeMap::new();
        for row in self.training.iter().chain(&self.evaluations) {
            for (metric, number) in &row.cells {
                let name = self.theirs.get(metric).map_or(metric.name(), |theirs| theirs);
                lasts.insert(name, number);
            }
        }
        let is_new = |(name, number): &(String, LogNumber)| {
            lasts.get(name.as_str()).is_none_or(|last| last.value() != number.value())
        };
        let numbers: Vec<_> = numbers.into_iter().filter(is_new).collect();
        self.summary = numbers.into_iter().map(|(name, number)| (name.into(), number)).collect();
    }

    /// Every loss as printed, by step; none for so few that they may be equal by chance.
    pub fn curve(&self) -> Option<String> {
        let losses = self.training.iter().chain(&self.evaluations).flat_map(|row| {
            let losses = row.cells.iter().filter(|(metric, _)| metric.is_loss());
            losses.map(|(metric, loss)| (row.step, metric.name(), loss.text()))
        });
        let losses: Vec<_> = losses.collect();
        let texts = losses.iter().map(|(step, name, loss)| format!("{step} {name}={loss}\n"));
        (losses.len() >= CURVE_FROM).then(|| texts.collect())
    }

    /// The digest of the log, which is read again where it was not taken.
    pub fn sha256(&self) -> Result<Digest, Error> {
        let read = || Log::open(Path::new(&self.file), &self.file, true)?.finish();
        let identity = if self.identity.sha256.is_some() { self.identity } else { read()? };
        let changed = || {
            let expected = format!("{} bytes", self.identity.bytes);
            CHANGED.at(
                Location::file(self.file.as_str()),
                expected,
                format!("{} bytes", identity.bytes),
            )
        };
        identity.sha256.filter(|_| identity.bytes == self.identity.bytes).ok_or_else(changed)
    }

    /// The last step of which the log says anything.
    pub fn last_step(&self) -> Option<u64> {
        let last = |rows: &[LogRow]| rows.last().map(|row| row.step);
        last(&self.training).max(last(&self.evaluations)).max(self.reached)
    }

    /// Whether it has a validation loss at any step.
    pub fn validates(&self) -> bool {
        self.evaluations.iter().any(|row| row.get(&Metric::ValidationLoss).is_some())
    }

    /// The validation loss at the last step.
    pub fn final_loss(&self) -> Option<&LogNumber> {
        let last = self.last_step()?;
        self.evaluations
            .iter()
            .rev()
            .take_while(|row| row.step == last)
            .find_map(|row| row.get(&Metric::ValidationLoss))
    }

    /// Whether it ran to its end, where the log says so or a plan is known.
    pub fn finished(&self) -> Option<bool> {
        self.ended.or_else(|| Some(self.last_step()? >= self.planned?))
    }

    /// Whether it counts in the figures of its group.
    pub fn counts(&self) -> bool {
        !self.findings.iter().any(|finding| finding.excludes)
    }

    /// Notes something odd that leaves the run in the figures.
    pub fn note(&mut self, error: Error) {
        self.findings.push(Oddity { error, excludes: false });
    }

    /// Notes something that takes the run out of the figures.
    pub fn exclude(&mut self, error: Error) {
        self.findings.push(Oddity { error, excludes: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_printed() {
        for text in ["3.2790", "-1.5", "0", "2e-05", "1E+3", "nan", "NaN", "-inf", "Infinity"] {
            assert_eq!(LogNumber::parse(text.as_bytes()).unwrap().text(), text);
        }
        let long = "1".repeat(41);
        for text in
            ["", ".", ".5", "1.", "+1", "1e", "0x1", "1_0", "1.2.3", "--1", " 1", "é", &long]
        {
            assert_eq!(LogNumber::parse(text.as_bytes()), None, "{text}");
        }
        let number = |text: &str| LogNumber::parse(text.as_bytes()).unwrap();
        assert_eq!((number("nan").value(), number("nan").nonfinite()), (None, Some("nan")));
        assert_eq!((number("-1e999").value(), number("-1e999").nonfinite()), (None, Some("-inf")));
        assert_eq!((number("3.2790").value(), number("3.2790").nonfinite()), (Some(3.279), None));
    }
}
