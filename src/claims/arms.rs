//! A group of runs as a claim gives it: raw values, one run, or a printed mean with its spread.
//!
//! Owns how such a group is written and which summaries its printed digits allow. Raw values are taken
//! as recorded, because a test of recorded values is a test of those; a printed mean or spread stands
//! for everything that rounds to it. What follows from groups is left to `comparison`.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use crate::decimal::{Interval, Printed, format_significant, nearest_f64};
use crate::evidence::{BAD_CHOICE, Evidence, NOT_A_NUMBER, Quantity, nature_of, whole};
use crate::formula::Nature;
use crate::source::{Kind, Node, Refusal, codes};
use crate::stats::{self, Summary, distribution};

codes! {
    NO_SPREAD = "arms::no-spread", "a printed mean has no ± behind it", "name the fact that prints `mean ± spread`, or give `mean`, `spread` and `n`";
    TWO_SHAPES = "arms::two-shapes", "a group of runs is given in two ways", "give `values`, or `mean`, `spread` and `n`, or `printed` and `n`";
    NO_RUNS = "arms::no-runs", "a group of runs holds none", "give at least one run";
    HALF_RANGE = "arms::half-range", "a half range gives no standard deviation beyond two runs", "give the runs, or a spread with another reading";
    UNPAIRED = "arms::unpaired", "pairing is claimed for groups that do not pair", "give both groups run by run, in the same order";
}

/// What the number after ± says about the spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// The standard deviation of the runs, divisor n - 1.
    Sd,
    /// The standard deviation of the runs, divisor n.
    PopulationSd,
    /// The standard error of the mean.
    StandardError,
    /// Half the width of the t interval at this level.
    HalfWidth(f64),
    /// 1.96 standard errors.
    Normal,
    /// Half the distance from the least to the greatest run.
    HalfRange,
}

impl Reading {
    /// The standard errors to either side that hold 95% of a normal distribution.
    pub const NORMAL: f64 = 1.959963984540054;
    /// What may be written.
    const WORDS: &'static str =
        "`sd`, `population_sd`, `se`, `ci95` (or another level), `1.96se` or `half_range`";

    /// Reads the word that a claim declares.
    pub fn of(node: Node) -> Result<Self, Refusal> {
        let text = node.text()?;
        let level = || {
            let percent: f64 = text.strip_prefix("ci")?.parse().ok()?;
            (50.0..100.0).contains(&percent).then_some(Self::HalfWidth(percent / 100.0))
        };
        match text {
            "sd" => Some(Self::Sd),
            "population_sd" => Some(Self::PopulationSd),
            "se" => Some(Self::StandardError),
            "1.96se" => Some(Self::Normal),
            "half_range" => Some(Self::HalfRange),
            _ => level(),
        }
        .ok_or_else(|| BAD_CHOICE.at(node.place(), Self::WORDS, format!("`{text}`")))
    }

    /// The word for people.
    pub fn word(self) -> String {
        match self {
            Self::Sd => "standard deviation".to_owned(),
            Self::PopulationSd => "population standard deviation".to_owned(),
            Self::StandardError => "standard error".to_owned(),
            Self::HalfWidth(level) => format!("half width of the {} interval", percent(level)),
            Self::Normal => "1.96 standard errors".to_owned(),
            Self::HalfRange => "half range".to_owned(),
        }
    }

    /// What is printed after ± where `n` runs have this standard deviation; none where it does not follow.
    pub fn spread_of(self, sd: f64, n: usize) -> Option<f64> {
        self.per_sd(n).map(|factor| sd * factor)
    }

    /// The spread, where the standard deviation is 1.
    fn per_sd(self, n: usize) -> Option<f64> {
        let runs = n as f64;
        match self {
            Self::Sd => Some(1.0),
            Self::PopulationSd => Some(((runs - 1.0) / runs).sqrt()),
            Self::StandardError => Some(1.0 / runs.sqrt()),
            Self::Normal => Some(Self::NORMAL / runs.sqrt()),
            Self::HalfWidth(level) => {
                let t = distribution::StudentT::new(runs - 1.0).ok()?;
                let reach = distribution::Symmetric::upper_quantile(&t, (1.0 - level) / 2.0);
                Some(reach / runs.sqrt())
            }
            // Two runs lie half a range to either side of their mean.
            Self::HalfRange => (n == 2).then_some(std::f64::consts::FRAC_1_SQRT_2),
        }
    }
}

/// "95%".
pub fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0, 6))
}

/// A computed float for people, in so many significant digits.
pub fn number(value: f64, digits: usize) -> String {
    match BigRational::from_float(value) {
        Some(exact) => format_significant(&exact, digits),
        None => if value > 0.0 { "infinite" } else { "-infinite" }.to_owned(),
    }
}

/// A group of runs.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The name it goes by.
    pub label: String,
    runs: Runs,
}

#[derive(Debug, Clone)]
enum Runs {
    /// What each run came to.
    Values(Vec<Quantity>),
    /// What is printed of `n` runs.
    Printed { mean: Quantity, spread: Option<(Interval, Reading)>, n: usize },
}

impl Arm {
    /// Reads a group: a table of `values`, of `mean`, `spread`, `n` and `reading`, of `printed`, `n` and
    /// `reading`, or a term, which is one run.
    pub fn read(node: Node, evidence: &Evidence) -> Result<Self, Refusal> {
        let shapes: Vec<_> = ["values", "mean", "printed"]
            .into_iter()
            .filter(|field| node.get(field).is_some())
            .collect();
        let runs = match shapes.as_slice() {
            ["values"] => {
                node.only(&["label", "values", "nature"])?;
                // The values of the very log that was analysed are exact; a table's stand for what
                // rounds to them.
                let nature = nature_of(node)?.unwrap_or(Nature::Auto);
                let values = node.required("values")?.items()?;
                let values = values.map(|value| evidence.quantity_as(value, nature));
                Runs::Values(values.collect::<Result<_, _>>()?)
            }
            ["mean"] => {
                node.only(&["label", "mean", "spread", "n", "reading"])?;
                let mean = evidence.quantity(node.required("mean")?)?;
                let spread = node.get("spread").map(|spread| evidence.quantity(spread));
                Self::printed(node, mean, spread.transpose()?.map(|s| s.interval), evidence)?
            }
            ["printed"] => {
                node.only(&["label", "printed", "n", "reading"])?;
                let printed = node.required("printed")?;
                let mean = evidence.quantity(printed)?;
                let spread = spread_behind(printed, evidence)?;
                Self::printed(node, mean, Some(spread), evidence)?
            }
            [] => Runs::Values(vec![evidence.quantity(node)?]),
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
    pub fn computed(label: impl Into<String>, values: Vec<Quantity>) -> Self {
        Self { label: label.into(), runs: Runs::Values(values) }
    }

    /// What each run came to; empty where only a mean is printed.
    pub fn into_values(self) -> Vec<Quantity> {
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

    fn printed(
        node: Node,
        mean: Quantity,
        spread: Option<Interval>,
        evidence: &Evidence,
    ) -> Result<Runs, Refusal> {
        let n = runs_of(node.required("n")?, evidence)?;
        let Some(spread) = spread else { return Ok(Runs::Printed { mean, spread: None, n }) };
        let declared = node.required("reading")?;
        let reading = Reading::of(declared)?;
        if reading == Reading::HalfRange && n > 2 {
            return Err(HALF_RANGE.at(declared.place(), "two runs", format!("{n} runs")));
        }
        if spread.high().is_negative() {
            let place = node.get("spread").unwrap_or(node).place();
            return Err(NOT_A_NUMBER.at(place, "a spread from 0 up", spread.to_string()));
        }
        Ok(Runs::Printed { mean, spread: Some((spread, reading)), n })
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
            Runs::Printed { mean, .. } => (mean.value(), mean.interval.clone()),
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
            Runs::Printed { spread: Some((spread, reading)), .. } => {
                let factor = reading.per_sd(n).filter(|factor| *factor > 0.0);
                let factor = factor
                    .ok_or_else(|| format!("the spread of {} does not follow", self.name()))?;
                let low = spread.low().clone().max(BigRational::zero());
                [spread.middle(), low, spread.high().clone()].map(|end| nearest_f64(&end) / factor)
            }
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
    pub fn minus(&self, other: &Arm, asked: Node) -> Result<Arm, Refusal> {
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
        let difference = |(a, b): (&Quantity, &Quantity)| {
            let value = a.value() - b.value();
            Quantity {
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
        Ok(Arm { label, runs: Runs::Values(a.iter().zip(b).map(difference).collect()) })
    }
}

/// The number behind the ± of the fact that `reference` leads to.
fn spread_behind(reference: Node, evidence: &Evidence) -> Result<Interval, Refusal> {
    let datum = evidence.datum(reference)?;
    let text = datum.printed()?;
    let printed = Printed::parse(text).ok();
    // Shares are fractions here, as everywhere in evidence.
    let plain = |spread: &Printed| spread.interval().scaled(&spread.unit().per_one().recip());
    let spread = printed.as_ref().and_then(Printed::spread).map(plain);
    spread.ok_or_else(|| NO_SPREAD.at(reference.place(), "`mean ± spread`", format!("`{text}`")))
}

/// A number of runs: a whole number from 1 up, written here or in the evidence.
pub fn runs_of(node: Node, evidence: &Evidence) -> Result<usize, Refusal> {
    let wrong =
        |found: String| NOT_A_NUMBER.at(node.place(), "a whole number of runs from 1 up", found);
    let runs = match &node.value().kind {
        Kind::Number(text) => node.integer().map_err(|_| wrong(text.to_string()))?,
        _ => {
            let quantity = evidence.quantity(node)?;
            let count = whole(&quantity.interval).and_then(|count| count.to_u64());
            count.ok_or_else(|| wrong(quantity.text.clone()))?
        }
    };
    // Floats hold every count up to here; no post has more runs.
    match usize::try_from(runs) {
        Ok(runs) if (1..=1 << 40).contains(&runs) => Ok(runs),
        _ => Err(wrong(runs.to_string())),
    }
}
