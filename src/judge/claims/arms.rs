//! A group of runs as a claim gives it: raw values, one run, or a printed mean with its spread.
//!
//! Owns how such a group is written and which summaries its printed digits allow. Raw values are taken
//! as recorded, because a test of recorded values is a test of those; a printed mean or spread stands
//! for everything that rounds to it. What follows from groups is left to `comparison`.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::plus_minus::{StatedMean, count};
use crate::evidence::{Evidence, EvidenceQuantity, precision_of};
use repro_exact::decimal::{Interval, Unit, format_float, format_significant, nearest_f64};
use repro_exact::formula::Precision;
use repro_receipt::source::{Error, Node, codes};
#[cfg(test)]
use repro_stats::spread::ErrorBarMeaning;
use repro_stats::spread::Spread;
use repro_stats::{self as stats, Summary};

codes! {
    TWO_SHAPES = "arms::two-shapes", "a group of runs is given in two ways", "give `values`, or `mean`, `spread` and `n`, or `printed` and `n`";
    NO_RUNS = "arms::no-runs", "a group of runs holds none", "give at least one run";
    UNPAIRED = "arms::unpaired", "pairing is claimed for groups that do not pair", "give both groups run by run, in the same order";
}

/// "95%".
pub fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0, 6))
}

/// A computed float for people, in so many significant digits.
pub fn number(value: f64, digits: usize) -> String {
    match value.is_finite() {
        true => format_float(value, digits),
        false => if value > 0.0 { "infinite" } else { "-infinite" }.to_owned(),
    }
}

/// A group of runs.
#[derive(Debug)]
pub struct ArmRuns {
    /// The name it goes by.
    pub label: String,
    runs: Runs,
}

#[derive(Debug)]
enum Runs {
    /// What each run came to.
    Values(Vec<EvidenceQuantity>),
    /// The mean of `n` runs, and the statement that prints their spread, where one does.
    Printed { mean: Interval, spread: Option<Box<StatedMean>>, n: usize },
}

impl ArmRuns {
    /// Reads a group: a table of `values`, of `mean`, `spread`, `n` and `reading`, of `printed`, `n` and
    /// `reading`, or a term, which is one run.
    pub fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        let shapes: Vec<_> = ["values", "mean", "printed"]
            .into_iter()
            .filter(|field| node.get(field).is_some())
            .collect();
        let runs = match shapes.as_slice() {
            ["values"] => {
                node.only(&["label", "values", "precision"])?;
                // The values of the very log that was analysed are exact; a table's stand for what
                // rounds to them.
                let precision = precision_of(node)?.unwrap_or(Precision::Auto);
                let values = evidence.quantities_as(node.required("values")?, precision)?;
                Runs::Values(values.into_iter().map(plain).collect())
            }
            ["mean"] if node.get("spread").is_none() => {
                node.only(&["label", "mean", "n"])?;
                let mean = plain(evidence.quantity(node.required("mean")?)?).interval;
                Runs::Printed { mean, spread: None, n: runs(node, evidence)? }
            }
            ["mean" | "printed"] => {
                let stated = StatedMean::read(node, node, evidence)?;
                let (mean, n) = (stated.mean.clone(), runs(node, evidence)?);
                Runs::Printed { mean, spread: Some(Box::new(stated)), n }
            }
            [] => Runs::Values(vec![plain(evidence.quantity(node)?)]),
            many => {
                let found = format!("`{}`", many.join("` and `"));
                return Err(TWO_SHAPES.at(node.place(), "one way of giving the runs", found));
            }
        };
        let label = node.get("label").map(Node::text).transpose()?.unwrap_or_default().to_owned();
        let arm = Self { label, runs };
        match arm.n() {
            0 => Err(NO_RUNS.at(node.place(), "at least one run", "none")),
            _ => Ok(arm),
        }
    }

    /// A group of values that were computed, one for each run.
    pub fn computed(label: impl Into<String>, values: Vec<EvidenceQuantity>) -> Self {
        Self { label: label.into(), runs: Runs::Values(values) }
    }

    /// What each run came to; empty where only a mean is printed.
    pub fn into_values(self) -> Vec<EvidenceQuantity> {
        match self.runs {
            Runs::Values(values) => values,
            Runs::Printed { .. } => Vec::new(),
        }
    }

    /// By how much the unprinted digits of a value may move it, at most.
    pub fn rounding(&self) -> f64 {
        match &self.runs {
            Runs::Values(values) => {
                let width = values.iter().map(|value| value.interval.width()).max();
                width.map_or(0.0, |width| nearest_f64(&width) / 2.0)
            }
            Runs::Printed { .. } => 0.0,
        }
    }

    /// How many runs.
    pub fn n(&self) -> usize {
        match &self.runs {
            Runs::Values(values) => values.len(),
            Runs::Printed { n, .. } => *n,
        }
    }

    /// What each run came to as recorded, where the runs are given.
    pub fn values(&self) -> Option<Vec<f64>> {
        match &self.runs {
            Runs::Values(values) => {
                Some(values.iter().map(|value| nearest_f64(&value.value())).collect())
            }
            Runs::Printed { .. } => None,
        }
    }

    /// The mean of the runs as recorded, exactly, and every mean that the printed digits allow.
    pub fn mean(&self) -> (BigRational, Interval) {
        match &self.runs {
            Runs::Printed { mean, .. } => (mean.middle(), mean.clone()),
            Runs::Values(values) => {
                let share = BigRational::new(1.into(), BigInt::from(values.len().max(1)));
                let zero = (BigRational::zero(), Interval::integer(0));
                let sum = values.iter().fold(zero, |(point, interval), value| {
                    (point + value.value(), &interval + &value.interval)
                });
                (sum.0 * &share, sum.1.scaled(&share))
            }
        }
    }

    /// The group's summary as recorded, then the corners of what its printed digits allow; what is
    /// missing is said in words.
    pub fn summaries(&self) -> Result<Vec<Summary>, String> {
        let n = self.n();
        if n < 2 {
            return Err(format!("{} is one run", self.name()));
        }
        let (point, means) = self.mean();
        let means = [point, means.low().clone(), means.high().clone()].map(|m| nearest_f64(&m));
        let sds = match &self.runs {
            Runs::Values(_) => {
                let recorded = self.values().unwrap_or_default();
                let sd = Summary::of(&recorded).map_err(|refused| self.lacks(&refused))?.sd;
                // Moving each of n values by up to h moves their sd by at most h √(n / (n - 1)).
                let reach = self.rounding() * (n as f64 / (n as f64 - 1.0)).sqrt();
                [sd, (sd - reach).max(0.0), sd + reach]
            }
            Runs::Printed { spread: None, .. } => {
                return Err(format!("no spread is published for {}", self.name()));
            }
            Runs::Printed { spread: Some(stated), .. } => self.sds(stated)?,
        };
        let all = means.iter().flat_map(|mean| sds.iter().map(move |sd| (*mean, *sd)));
        let mut summaries: Vec<Summary> = Vec::new();
        for summary in all.map(|(mean, sd)| Summary { n, mean, sd }) {
            if !summaries.contains(&summary) {
                summaries.push(summary.checked().map_err(|refused| self.lacks(&refused))?);
            }
        }
        Ok(summaries)
    }

    /// The standard deviation for a spread as printed, and the ends of what its digits allow.
    fn sds(&self, stated: &StatedMean) -> Result<[f64; 3], String> {
        let reading = stated.reading;
        let reading =
            reading.ok_or_else(|| format!("what the ± of {} is, is not declared", self.name()))?;
        let n = self.n() as u64;
        let variance = |width: &Interval| Spread::new(width, n).map(|s| s.variance(reading));
        let printed = variance(&Interval::point(stated.width.middle()));
        let ends = printed.zip(variance(&stated.width));
        let (printed, all) = ends.ok_or_else(|| format!("{} is one run", self.name()))?;
        Ok([&printed.middle(), all.low(), all.high()].map(|end| nearest_f64(end).sqrt()))
    }

    /// Whether statistics are of values as recorded, which need no rounding to be allowed for.
    pub fn is_recorded(&self) -> bool {
        matches!(self.runs, Runs::Values(_))
    }

    /// The label, or words for a group without one.
    pub fn name(&self) -> &str {
        if self.label.is_empty() { "the group" } else { &self.label }
    }

    /// "dense 3.2784 (13 runs)".
    pub fn text(&self) -> String {
        let (mean, _) = self.mean();
        let runs = match self.n() {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        format!("{} {} ({runs})", self.name(), format_significant(&mean, 6))
    }

    fn lacks(&self, refused: &stats::Refused) -> String {
        format!("{}: {refused}", self.name())
    }

    /// The differences a - b run by run; groups that do not pair are refused at `asked`.
    pub fn minus(&self, other: &ArmRuns, asked: Node) -> Result<ArmRuns, Error> {
        let (Runs::Values(a), Runs::Values(b)) = (&self.runs, &other.runs) else {
            let found = "a printed mean, in which runs cannot be told apart";
            return Err(UNPAIRED.at(asked.place(), "two groups given run by run", found));
        };
        if a.len() != b.len() {
            let found = format!("{} and {} runs", a.len(), b.len());
            return Err(UNPAIRED.at(
                asked.place(),
                "as many runs in one group as in the other",
                found,
            ));
        }
        let difference = |(a, b): (&EvidenceQuantity, &EvidenceQuantity)| {
            let value = a.value() - b.value();
            EvidenceQuantity {
                label: String::new(),
                interval: &a.interval - &b.interval,
                float: nearest_f64(&value),
                unit: a.unit,
                text: format_significant(&value, 10),
                derivation: format!("{} - {}", a.text, b.text),
                approximate: a.approximate || b.approximate,
            }
        };
        let label = format!("{} - {}", self.name(), other.name());
        Ok(ArmRuns { label, runs: Runs::Values(a.iter().zip(b).map(difference).collect()) })
    }
}

/// The same number as a plain fraction, which is what other evidence in percent comes as.
fn plain(quantity: EvidenceQuantity) -> EvidenceQuantity {
    let per_one = quantity.unit.per_one();
    EvidenceQuantity {
        interval: quantity.interval.scaled(&per_one.recip()),
        float: quantity.float / nearest_f64(&per_one),
        unit: Unit::Plain,
        ..quantity
    }
}

/// The number of runs that a printed mean is of.
fn runs(node: Node, evidence: &Evidence) -> Result<usize, Error> {
    let declared = node.required("n")?;
    let n = count(declared, evidence)?;
    // Floats hold every count up to here; no post has more runs.
    usize::try_from(n).ok().filter(|n| (1..=1 << 40).contains(n)).ok_or_else(|| {
        NO_RUNS.at(declared.place(), "a number of runs of at least 1", n.to_string())
    })
}

#[cfg(test)]
impl ArmRuns {
    /// A group of runs typed in full.
    pub fn typed(label: &str, values: &[&str]) -> Self {
        let value = |text: &&str| {
            let printed = repro_exact::decimal::Printed::parse(text).unwrap();
            EvidenceQuantity {
                label: String::new(),
                interval: printed.interval(),
                float: printed.as_f64(),
                unit: Unit::Plain,
                text: (*text).to_owned(),
                derivation: String::new(),
                approximate: false,
            }
        };
        Self::computed(label, values.iter().map(value).collect())
    }

    /// A group whose mean and spread are printed.
    pub fn summarised(label: &str, text: &str, n: u64, reading: ErrorBarMeaning) -> Self {
        let document = r#"{"at":0}"#.as_bytes().to_vec();
        let source = repro_receipt::source::Source::new("t.json", document).unwrap();
        let document = repro_receipt::source::Document::parse_json(source).unwrap();
        let stated = StatedMean::printed(text, document.root()).unwrap();
        let stated = StatedMean { n: Some(n), reading: Some(reading), ..stated };
        let (mean, n) = (stated.mean.clone(), n as usize);
        Self {
            label: label.to_owned(),
            runs: Runs::Printed { mean, spread: Some(Box::new(stated)), n },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sds(arm: &ArmRuns) -> Vec<f64> {
        arm.summaries().unwrap().iter().map(|summary| summary.sd).collect()
    }

    #[test]
    fn a_mean_is_exact_and_its_box_holds_what_rounds_to_it() {
        let arm = ArmRuns::typed("a", &["0.1", "0.2", "0.4"]);
        let (mean, all) = arm.mean();
        assert_eq!(mean, BigRational::new(7.into(), 30.into()));
        assert_eq!(all.width(), BigRational::new(1.into(), 10.into()));
        assert_eq!((arm.n(), arm.rounding()), (3, 0.05));
        assert_eq!(arm.text(), "a 0.233333 (3 runs)");
    }

    #[test]
    fn one_run_and_unknown_spreads_are_said() {
        assert_eq!(ArmRuns::typed("a", &["1.5"]).summaries().unwrap_err(), "a is one run");
        let bare = ArmRuns {
            label: "b".to_owned(),
            runs: Runs::Printed { mean: Interval::integer(1), spread: None, n: 3 },
        };
        assert_eq!(bare.summaries().unwrap_err(), "no spread is published for b");
        let Runs::Printed { mean, spread, n } =
            ArmRuns::summarised("c", "1.5 ± 0.1", 3, ErrorBarMeaning::Sd).runs
        else {
            panic!()
        };
        let spread = spread.map(|stated| Box::new(StatedMean { reading: None, ..*stated }));
        let undeclared = ArmRuns { label: "c".to_owned(), runs: Runs::Printed { mean, spread, n } };
        assert_eq!(undeclared.summaries().unwrap_err(), "what the ± of c is, is not declared");
    }

    #[test]
    fn readings_of_a_printed_spread() {
        let sd = |reading| sds(&ArmRuns::summarised("a", "1.5 ± 0.3", 4, reading))[0];
        assert_eq!(sd(ErrorBarMeaning::Sd), 0.3);
        assert!((sd(ErrorBarMeaning::PopulationSd) - 0.3 * (4.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(sd(ErrorBarMeaning::StandardError), 0.6);
        // t of three degrees of freedom at 95%: 3.182446305.
        assert!((sd(ErrorBarMeaning::Confidence(950)) - 0.6 / 3.182446305284263).abs() < 1e-9);
        let ends = sds(&ArmRuns::summarised("a", "1.5 ± 0.3", 4, ErrorBarMeaning::Sd));
        assert_eq!(ends[..3], [0.3, 0.25, 0.35]);
    }

    proptest! {
        /// Whatever was cut off the values, mean and spread of the values behind the print lie in the box.
        #[test]
        fn the_box_holds_the_values_behind_the_print(
            values in prop::collection::vec(-999_999i32..999_999, 2..9),
        ) {
            let texts: Vec<_> =
                values.iter().map(|v| format!("{:.2}", f64::from(*v) / 10_000.0)).collect();
            let typed: Vec<_> = texts.iter().map(String::as_str).collect();
            let exact: Vec<_> = values.iter().map(|v| f64::from(*v) / 10_000.0).collect();
            let behind = Summary::of(&exact).unwrap();
            let arm = ArmRuns::typed("a", &typed);
            let mean = BigRational::from_float(behind.mean).unwrap();
            let (_, all) = arm.mean();
            let slack = BigRational::new(1.into(), 1_000_000_000.into());
            prop_assert!(all.distance(&Interval::point(mean)) < slack);
            let sds = sds(&arm);
            let (low, high) = sds.iter().fold((f64::MAX, 0.0_f64), |(l, h), sd| (l.min(*sd), h.max(*sd)));
            prop_assert!(low - 1e-9 <= behind.sd && behind.sd <= high + 1e-9);
        }
    }
}
