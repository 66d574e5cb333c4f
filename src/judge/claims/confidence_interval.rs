//! A printed confidence interval follows from the runs, and may be used for what is read off it.

use super::arms::{ArmRuns, number, percent};
use super::comparison::{
    Computed, PAIRED, PAIRED_BEFORE, Pair, Pairing, SAME_DATA_ORDER, Statistic, Test, difference,
};
use super::significance::{DecisionRule, LEVEL, ROUNDING, TOO_FEW, Wrong};
use super::statement::{Candidate, Numbers, TextShape, printed, worst};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::{Printed, nearest_f64};
use repro_receipt::source::{Error, Kind as Value, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::bootstrap::{BootstrapInterval, RESAMPLES, Resampled};

repro_receipt::source::codes! {
    OTHER_INTERVAL = "confidence_interval::other-interval", "the printed interval does not follow from the runs", "correct it, or name the method that it was computed by";
    OTHER_DECISION = "confidence_interval::other-decision", "the interval does not leave out what it is said to leave out", "correct the interval or the statement";
    FEW_RESAMPLED = "confidence_interval::few-resampled", "an inference from a bootstrap of fewer than eight values", "use a t interval, or publish more runs";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_INTERVAL, decision: &OTHER_DECISION };
/// The fewest values from which a bootstrap infers anything.
const LEAST_RESAMPLED: usize = 8;
/// The resamples of a publication that does not say how many it drew.
const DEFAULT_RESAMPLES: usize = 10_000;
/// The seeds by which the error of resampling is estimated.
const SEEDS: u64 = 8;
/// The standard deviations that a drawn end may be off by.
const REACH: f64 = 5.0;

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "confidence_interval",
    summary: "a printed confidence interval follows from the runs",
    explain: "Recomputes the interval of a mean (`a`) or of a difference of means (`a` less `b`): \
         `t`, mean ± t·s/√n, or Welch's, or over pairs as for `gap`; `percentile`, the quantiles \
         of the means of resamples; `bca`, those quantiles corrected for bias and acceleration. \
         Up to ten values all resamples are enumerated; beyond, they are drawn, and each end may \
         be off by five standard deviations of that end over several seeds. An enumerated end may \
         be off by as much as drawing would change it. An undeclared method is searched among the \
         three. `excludes` is an inference: a value that the interval is said to exclude; from a \
         bootstrap of fewer than eight values it is inconclusive, because such an interval covers \
         far less than its level: with three values the 95% interval is never wider than the \
         range of the values, which contains the population mean at most 75% of the time.\n\
         How it can mislead: an interval over seeds says nothing about other data, sizes or \
         budgets; two intervals that overlap may still belong to a significant difference.\n\
         Reference: Efron 1987, Better Bootstrap Confidence Intervals; Student 1908.",
    fields: &[
        FieldSpec::required("a", "the group: `values`, or `mean`, `spread`, `n` and `reading`"),
        FieldSpec::optional("b", "the group that is subtracted"),
        FieldSpec::optional("method", "`t`, `percentile` or `bca`; searched if absent"),
        LEVEL,
        FieldSpec::optional("resamples", "how many resamples were drawn, 10,000 if absent"),
        FieldSpec::optional(
            "excludes",
            "a number, or a term, that the interval is said to exclude",
        ),
        PAIRED,
        PAIRED_BEFORE,
        SAME_DATA_ORDER,
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let rule = DecisionRule::of(claim, evidence)?;
    let sample = Sample::read(node, evidence, rule.level)?;
    let declared = node.get("method").map(Way::of).transpose()?;
    let ways = declared.map_or_else(|| Way::ALL.to_vec(), |way| vec![way]);
    let found: Vec<_> = ways.into_iter().filter_map(|way| Some((way, sample.ends(way)?))).collect();
    let excludes = node.get("excludes").map(|value| exact(value, evidence)).transpose()?;
    let (_, text) = super::claimed(claim)?;
    let stated = Numbers::read(text)?;
    let candidates: Vec<_> =
        found.iter().map(|(way, ends)| ends.candidate(*way, &stated, &sample)).collect();
    let against = (&rule, excludes.unwrap_or(0.0), WRONG);
    let mut parts = vec![printed(&stated, &candidates, declared.is_none(), against)];
    if let Some(value) = excludes {
        // The method that is declared, or else the first that fits, says which interval is meant.
        let fits = candidates.iter().position(|candidate| candidate.fits(&stated));
        parts.push(match found.get(fits.unwrap_or(0)) {
            Some((way, ends)) => infer(*way, ends, value, sample.least()),
            None => Outcome::inconclusive(&TOO_FEW, sample.lacks()),
        });
    }
    let shown = found.iter().map(|(way, ends)| ends.text(*way, rule.level));
    let mean = format!("mean {}", sample.estimate.text());
    let given: Vec<_> = std::iter::once(mean).chain(shown).collect();
    let outcome = match found.is_empty() {
        true => Outcome::inconclusive(&TOO_FEW, sample.lacks()),
        false => worst(parts),
    };
    let outcome = match outcome.rule {
        "" => outcome.within("interval", format!("at {}", percent(rule.level))),
        _ => outcome,
    };
    Ok(outcome.giving(given.join("; ")).by(Method::Recomputed))
}

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    T,
    Percentile,
    Bca,
}

impl Way {
    const ALL: [Way; 3] = [Way::T, Way::Percentile, Way::Bca];

    fn of(node: Node) -> Result<Self, Error> {
        let text = node.text()?;
        let way = Self::ALL.into_iter().find(|way| way.word() == text);
        way.ok_or_else(|| {
            BAD_CHOICE.at(node.place(), "`t`, `percentile` or `bca`", format!("`{text}`"))
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::T => "t",
            Self::Percentile => "percentile",
            Self::Bca => "bca",
        }
    }
}

/// What the interval is of.
struct Sample {
    a: ArmRuns,
    b: Option<ArmRuns>,
    /// The pairs' differences, where pairs decide.
    pairs: Option<ArmRuns>,
    estimate: Computed,
    tests: Result<Vec<Test>, String>,
    level: f64,
    resamples: usize,
}

impl Sample {
    fn read(node: Node, evidence: &Evidence, level: f64) -> Result<Self, Error> {
        let a = ArmRuns::read(node.required("a")?, evidence)?;
        let b = node.get("b").map(|b| ArmRuns::read(b, evidence)).transpose()?;
        let pairing = Pairing::of(node)?;
        let resamples = node.get("resamples").map(resamples).transpose()?;
        let resamples = resamples.unwrap_or(DEFAULT_RESAMPLES);
        let sample = match b {
            None => {
                let estimate = Computed::exact(a.mean(), a.is_recorded());
                let tests = Test::one_sample("t", &a, 0.0).map(|test| vec![test]);
                Self { a, b: None, pairs: None, estimate, tests, level, resamples }
            }
            Some(b) => {
                let pair = Pair::of(&a, &b, pairing, node)?;
                let pairs = if pairing.established { Some(a.minus(&b, node)?) } else { None };
                let recorded = a.is_recorded() && b.is_recorded();
                let estimate = Computed::exact(difference(&a, &b), recorded);
                Self { a, b: Some(b), pairs, estimate, tests: pair.tests, level, resamples }
            }
        };
        Ok(sample)
    }

    /// The number of values in the shorter list.
    fn least(&self) -> usize {
        self.b.as_ref().map_or(self.a.n(), |b| b.n().min(self.a.n()))
    }

    /// Why there is no interval by any method that is meant.
    fn lacks(&self) -> String {
        let resampled =
            "only values can be resampled, and they are not published run by run, or do not vary";
        self.tests.as_ref().err().cloned().unwrap_or_else(|| resampled.to_owned())
    }

    /// The ends by one method; none where there are no raw values, one run, or no spread.
    fn ends(&self, way: Way) -> Option<Ends> {
        if way == Way::T {
            let test = self.tests.as_ref().ok()?.first()?;
            return Some(Ends {
                low: test.statistic(Statistic::End(self.level, false))?,
                high: test.statistic(Statistic::End(self.level, true))?,
                half: test.statistic(Statistic::HalfWidth(self.level))?,
            });
        }
        let interval = |of: &Resampled, level: f64| match way {
            Way::Bca => of.bca(level).ok(),
            _ => of.percentile(level).ok(),
        };
        let first = self.resampled(0)?;
        let drawn = if first.support().is_some() {
            self.enumerated(way, &|level| interval(&first, level))?
        } else {
            let rest = (1..SEEDS).map(|seed| interval(&self.resampled(seed)?, self.level));
            let all: Option<Vec<_>> =
                std::iter::once(interval(&first, self.level)).chain(rest).collect();
            Drawn::over_seeds(&all?)
        };
        drawn.ends(self.rounding())
    }

    fn resampled(&self, seed: u64) -> Option<Resampled> {
        match (&self.pairs, &self.b) {
            (Some(pairs), _) => Resampled::of(&pairs.values()?, self.resamples, seed),
            (None, Some(b)) => {
                Resampled::of_two(&self.a.values()?, &b.values()?, self.resamples, seed)
            }
            (None, None) => Resampled::of(&self.a.values()?, self.resamples, seed),
        }
        .ok()
    }

    /// By how much unprinted digits may move a mean of resamples.
    fn rounding(&self) -> f64 {
        self.a.rounding() + self.b.as_ref().map_or(0.0, ArmRuns::rounding)
    }

    /// The enumerated interval, and where a publication that drew its resamples would put its ends.
    fn enumerated(
        &self,
        way: Way,
        interval: &dyn Fn(f64) -> Option<BootstrapInterval>,
    ) -> Option<Drawn> {
        let BootstrapInterval { low, high } = interval(self.level)?;
        let tail = (1.0 - self.level) / 2.0;
        let draws = self.resamples as f64;
        // A share p of the draws has the standard deviation √(p(1 - p)/draws). The bias correction of
        // BCa is itself drawn, at a half, and enters twice: about four times that of a tail of 2.5%.
        let share = match way {
            Way::Bca => 2.0 * (tail * (1.0 - tail)).sqrt(),
            _ => (tail * (1.0 - tail)).sqrt(),
        };
        let off = (REACH * share / draws.sqrt()).min(tail * 0.9);
        let wide = interval(1.0 - 2.0 * (tail - off))?;
        let narrow = interval(1.0 - 2.0 * (tail + off))?;
        Some(Drawn {
            low: (low, [wide.low.min(low), narrow.low.max(low)]),
            high: (high, [narrow.high.min(high), wide.high.max(high)]),
        })
    }
}

fn resamples(node: Node) -> Result<usize, Error> {
    let count = usize::try_from(node.integer()?).unwrap_or(usize::MAX);
    if RESAMPLES.contains(&count) {
        return Ok(count);
    }
    let expected = format!("{} to {} resamples", RESAMPLES.start(), RESAMPLES.end());
    Err(BAD_CHOICE.at(node.place(), expected, count.to_string()))
}

/// An exact number, written here or in the evidence.
fn exact(node: Node, evidence: &Evidence) -> Result<f64, Error> {
    match &node.value().kind {
        Value::Number(text) | Value::Text(text) => Printed::parse(text)
            .map(|printed| printed.as_f64())
            .map_err(|error| BAD_CHOICE.at(node.place(), "a number", error.to_string())),
        _ => Ok(nearest_f64(&evidence.quantity(node)?.value())),
    }
}

/// The two ends of a resampled interval, each with where other resamples would put it.
struct Drawn {
    low: (f64, [f64; 2]),
    high: (f64, [f64; 2]),
}

impl Drawn {
    /// The mean of each end over seeds, with five of its standard deviations to either side.
    fn over_seeds(intervals: &[BootstrapInterval]) -> Self {
        let end = |ends: Vec<f64>| {
            let n = ends.len() as f64;
            let mean = ends.iter().sum::<f64>() / n;
            let squares: f64 = ends.iter().map(|end| (end - mean) * (end - mean)).sum();
            // The printed end has the error of one drawing, the mean of these that of several.
            let reach = REACH * (squares / (n - 1.0) * (1.0 + 1.0 / n)).sqrt();
            (mean, [mean - reach, mean + reach])
        };
        Self {
            low: end(intervals.iter().map(|interval| interval.low).collect()),
            high: end(intervals.iter().map(|interval| interval.high).collect()),
        }
    }

    fn ends(&self, rounding: f64) -> Option<Ends> {
        let Self { low: (low, lows), high: (high, highs) } = self;
        let halves = [(highs[0] - lows[1]) / 2.0, (highs[1] - lows[0]) / 2.0];
        Some(Ends {
            low: Computed::resampled(*low, *lows, rounding)?,
            high: Computed::resampled(*high, *highs, rounding)?,
            half: Computed::resampled((high - low) / 2.0, halves, rounding)?,
        })
    }
}

/// A recomputed interval.
struct Ends {
    low: Computed,
    high: Computed,
    half: Computed,
}

impl Ends {
    fn candidate(&self, way: Way, stated: &Numbers, sample: &Sample) -> Candidate {
        let level = sample.level;
        let half = || (Statistic::HalfWidth(level), self.half.clone());
        let values = match stated.shape {
            TextShape::Ends => vec![
                (Statistic::End(level, false), self.low.clone()),
                (Statistic::End(level, true), self.high.clone()),
            ],
            TextShape::WithSpread => vec![(Statistic::Estimate, sample.estimate.clone()), half()],
            TextShape::One => vec![half()],
        };
        Candidate { name: way.word().to_owned(), values, df: None }
    }

    /// "t 95% [0.0211, 0.0383]".
    fn text(&self, way: Way, level: f64) -> String {
        let (low, high) = (self.low.text(), self.high.text());
        format!("{} {} [{low}, {high}]", way.word(), percent(level))
    }
}

/// Whether the interval leaves a value out.
fn infer(way: Way, ends: &Ends, value: f64, n: usize) -> Outcome {
    let at = number(value, 10);
    let [low, high] = [&ends.low, &ends.high].map(|end| nearest_f64(&end.point));
    let text = format!("the {} interval [{}, {}]", way.word(), number(low, 5), number(high, 5));
    if way != Way::T && n < LEAST_RESAMPLED {
        let reason = format!("{text} is a bootstrap of {n} values: it covers less than its level");
        return Outcome::inconclusive(&FEW_RESAMPLED, reason);
    }
    if ends.low.is_near(value) || ends.high.is_near(value) {
        return Outcome::inconclusive(&ROUNDING, format!("{text}: resampling decides about {at}"));
    }
    if value < low || value > high {
        return Outcome::verified().within("interval", format!("{at} outside"));
    }
    Outcome::refuted(&OTHER_DECISION, format!("{text} holds {at}")).with_impact(Impact::Decision)
}
