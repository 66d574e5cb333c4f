//! One run as logged: rows of printed numbers by step, and its oddities.

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

/// A number as printed in a log, finite or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNumber(Box<str>);

impl LogNumber {
    /// The maximum length of a text that is parsed as a number.
    const CAP: usize = 40;

    /// Parses decimals (`-1.5`, `3`, `2e-05`) and the words `nan`, `inf`, `-inf` in any case.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let known = is_decimal(bytes) || nonfinite(bytes).is_some();
        let text = std::str::from_utf8(bytes).ok().filter(|_| known && bytes.len() <= Self::CAP)?;
        Some(Self(text.into()))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The shortest decimal that rounds to a 64-bit float from a binary file.
    pub fn of_double(value: f64) -> Self {
        Self(format!("{value:?}").into())
    }

    /// The shortest decimal that rounds to a 32-bit float.
    pub fn of_single(value: f32) -> Self {
        Self(format!("{value:?}").into())
    }

    /// The nearest float, if finite.
    pub fn value(&self) -> Option<f64> {
        self.0.parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// Whether two numbers are equal, regardless of formatting: `3.8289` and `3.828900`.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0 || self.nonfinite() == other.nonfinite() && self.value() == other.value()
    }

    /// `nan`, `inf` or `-inf`; a decimal too large for a float is also infinite.
    pub fn nonfinite(&self) -> Option<&'static str> {
        nonfinite(self.0.as_bytes()).or_else(|| match self.0.parse::<f64>() {
            Ok(value) if value.is_infinite() => Some(if value > 0.0 { "inf" } else { "-inf" }),
            _ => None,
        })
    }
}

/// Whether `bytes` are an optional minus sign, digits, an optional fraction and an optional exponent.
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

/// The quantity that a number in a row measures.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Tokens seen so far.
    Tokens,
    /// The loss of a training step.
    Loss,
    /// The gradient norm.
    GradNorm,
    /// The learning rate.
    LearningRate,
    /// The loss on the validation text.
    ValidationLoss,
    /// Milliseconds of training so far.
    TrainTime,
    /// Milliseconds per step so far.
    StepAverage,
    /// Seconds so far.
    Seconds,
    /// Any other metric, under its name in the log: accuracies, rewards, word error rates.
    Other(Arc<str>),
}

impl Metric {
    /// The metrics with a known meaning.
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

    /// The name used by `--map` and by the tables of a bundle.
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

    /// The metric that a log calls `name`, if that is its exact repro name.
    pub fn of_name(name: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|metric| metric.name() == name);
        known.unwrap_or_else(|| Self::Other(name.into()))
    }

    /// Whether it is an evaluation metric, judging by its name: `eval_wer`, `val/loss`, `metrics/mAP50(B)`.
    pub fn is_evaluated(&self) -> bool {
        match self {
            Self::ValidationLoss => true,
            Self::Other(name) => has_word(name, &EVALUATED),
            _ => false,
        }
    }

    /// Whether it is a training metric, judging by its name: `train_accuracy`.
    pub fn is_of_training(&self) -> bool {
        matches!(self, Self::Other(name) if has_word(name, &["train", "training"]))
    }

    /// Whether it is a duration.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::TrainTime | Self::StepAverage | Self::Seconds)
    }
}

/// Words in names of evaluation metrics.
const EVALUATED: [&str; 9] =
    ["eval", "evaluation", "val", "valid", "validation", "test", "dev", "heldout", "metrics"];

/// Whether a word of a name is in `known`.
fn has_word(name: &str, known: &[&str]) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// The numbers that a log prints for one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// The step.
    pub step: u64,
    /// The numbers, in log order.
    pub cells: Vec<(Metric, LogNumber)>,
}

impl LogRow {
    /// The number of a metric.
    pub fn get(&self, metric: &Metric) -> Option<&LogNumber> {
        self.cells.iter().find(|(name, _)| name == metric).map(|(_, number)| number)
    }
}

/// An oddity of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Oddity {
    /// The finding, with location and help.
    pub error: Error,
    /// Whether the run is left out of the figures of its group.
    pub excludes: bool,
}

/// One of several files of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// Its path, as the caller passed the run.
    pub file: String,
    /// Its identity.
    pub identity: Identity,
}

/// The number of equal losses that rules out chance.
const CURVE_FROM: usize = 4;

/// One run of a log.
#[derive(Debug, Clone)]
pub struct LoggedRun {
    /// The name of its bundle.
    pub name: String,
    /// Its file, as the caller passed it.
    pub file: String,
    /// The identity of that file, or of all its files.
    pub identity: Identity,
    /// Its format.
    pub format: LogFormat,
    /// The group that the file states, such as an MLflow experiment.
    pub group: Option<String>,
    /// The files, if the run has several.
    pub parts: Vec<LogPart>,
    /// The digest of the metric lines alone, which is the same for renamed or re-wrapped copies.
    pub metrics_sha256: Digest,
    /// Training records, by ascending step.
    pub training: Vec<LogRow>,
    /// Evaluations, by ascending step.
    pub evaluations: Vec<LogRow>,
    /// The log's name for its row counter: `step`, `iter`, `epoch`; none if it has no name.
    pub counter: Option<String>,
    /// The planned last step of the run.
    pub planned: Option<u64>,
    /// The reached last step that the log states apart from its rows.
    pub reached: Option<u64>,
    /// The last step whose row has only empty cells, which tables write for values that are not numbers.
    pub emptied: Option<u64>,
    /// The metric whose last number may be truncated and was not read.
    pub torn: Option<Metric>,
    /// The seed, as printed.
    pub seed: Option<String>,
    /// Whether the seed was read from the path, because the log has none.
    pub seed_from_path: bool,
    /// Whether it ended regularly, if the log states it.
    pub ended: Option<bool>,
    /// The settings in the log.
    pub config: Map<String, Json>,
    /// Numbers about the whole run, by name.
    pub summary: Vec<(Arc<str>, LogNumber)>,
    /// The log's names for metrics with a known meaning.
    pub theirs: BTreeMap<Metric, Arc<str>>,
    /// The timing facts of an MLPerf log.
    pub timed: Option<Timed>,
    /// Further facts for the receipt.
    pub extra: Map<String, Json>,
    /// Its oddities.
    pub findings: Vec<Oddity>,
}

impl LoggedRun {
    /// A run with nothing known but its bytes.
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

    /// Keeps numbers about the whole run, except those that repeat the last value of a metric.
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

    /// Every printed loss by step; none if there are so few that they may match by chance.
    pub fn curve(&self) -> Option<String> {
        let losses = self.training.iter().chain(&self.evaluations).flat_map(|row| {
            let losses = row.cells.iter().filter(|(metric, _)| metric.is_loss());
            losses.map(|(metric, loss)| (row.step, metric.name(), loss.text()))
        });
        let losses: Vec<_> = losses.collect();
        let texts = losses.iter().map(|(step, name, loss)| format!("{step} {name}={loss}\n"));
        (losses.len() >= CURVE_FROM).then(|| texts.collect())
    }

    /// The digest of the log, which is read again if it was not hashed.
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

    /// The last step that the log mentions.
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

    /// Whether it ran to its end, if the log states it or a plan is known.
    pub fn finished(&self) -> Option<bool> {
        self.ended.or_else(|| Some(self.last_step()? >= self.planned?))
    }

    /// Whether it counts in the figures of its group.
    pub fn counts(&self) -> bool {
        !self.findings.iter().any(|finding| finding.excludes)
    }

    /// Notes an oddity; the run stays in the figures.
    pub fn note(&mut self, error: Error) {
        self.findings.push(Oddity { error, excludes: false });
    }

    /// Notes an oddity that excludes the run from the figures.
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
