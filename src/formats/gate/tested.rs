//! Runs the test of a rule, or compares the mean if the rule has no test.

use std::collections::BTreeMap;

use crate::import::counted;
use repro_core::decimal::format_float;
use repro_stats::{Decimals, Refused, T, difference, mean, one_sample_of, paired, welch_of};

use crate::gate::inputs::{GateInputs, GateSide};
use crate::gate::line::{LineState, RuleLine, some};
use crate::gate::rule::{GateRule, GateTest};
use crate::gate::{FEW_RUNS, NO_PAIRS, NO_SPREAD, NO_TEST, NOT_SHOWN, WORSE};

/// Significant digits in text reports.
const DIGITS: usize = 6;

/// The gap between the candidate and its reference, with the test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestedGap {
    /// The test.
    pub test: GateTest,
    /// The test's numbers.
    pub t: T,
    /// The candidate's mean minus the baseline's mean or the threshold.
    pub estimate: f64,
    /// The interval at the test's level.
    pub interval: [f64; 2],
    /// The 95% interval.
    pub interval95: [f64; 2],
    /// The level of the first interval.
    pub interval_level: f64,
    /// The p value for the rule.
    pub p: f64,
    /// The number of runs, or pairs, in each arm.
    pub n: Vec<usize>,
}

/// The line of the test, and the test.
pub fn tested(rule: &GateRule, inputs: &GateInputs) -> (Option<RuleLine>, Option<TestedGap>) {
    if rule.test == GateTest::None {
        return (Some(by_mean(rule, inputs)), None);
    }
    let asks = asked_of_test(rule, inputs);
    let level = rule.level();
    let interval_level = if rule.one_sided { 1.0 - 2.0 * level } else { 1.0 - level };
    let intervals =
        |(t, n): (T, Vec<usize>)| Ok((t.interval(interval_level)?, t.interval(0.95)?, t, n));
    let (interval, interval95, t, n) = match test(rule, inputs).and_then(intervals) {
        Ok(tested) => tested,
        Err(NoTest::Refused(why)) => {
            let code = match why {
                Refused::NoSpread => &NO_SPREAD,
                Refused::TooFew { .. } => &FEW_RUNS,
                _ => &NO_TEST,
            };
            return (Some(RuleLine::open(asks, why.to_string(), code)), None);
        }
        Err(NoTest::Pairs(found)) => return (Some(RuleLine::open(asks, found, &NO_PAIRS)), None),
    };
    let lower = inputs.metric.lower_is_better;
    let (good, bad) = if lower { (t.p_less(), t.p_greater()) } else { (t.p_greater(), t.p_less()) };
    let is_good = good <= bad;
    let (p, shown) = match rule.one_sided {
        true => (good, (good < level, bad < level)),
        false => (t.p_two_sided(), (t.p_two_sided() < level && is_good, t.p_two_sided() < level)),
    };
    let short = |value: f64| format_float(value, DIGITS);
    let found = format!("p = {}, t = {}, df = {}", short(p), short(t.t), short(t.df));
    let line = match shown {
        (true, _) => RuleLine::met(asks, found),
        (false, true) => {
            let p = if rule.one_sided {
                format!("; p = {} for the opposite", short(bad))
            } else {
                String::new()
            };
            let found = format!("{found}{p}");
            RuleLine { asks, found, state: LineState::Against, code: Some(&WORSE) }
        }
        (false, false) => RuleLine::open(asks, found, &NOT_SHOWN),
    };
    let bar = rule.bar.unwrap_or_default();
    let gap = TestedGap {
        test: rule.test,
        t,
        estimate: difference(t.estimate, bar),
        interval: interval.map(|end| end - bar),
        interval95: interval95.map(|end| end - bar),
        interval_level,
        p,
        n,
    };
    (Some(line), Some(gap))
}

/// The rule's requirement on the test, as text.
fn asked_of_test(rule: &GateRule, inputs: &GateInputs) -> String {
    let side = if rule.one_sided { "one-sided" } else { "two-sided" };
    let level = format_float(rule.level(), DIGITS);
    let shared = match rule.tries {
        1 => String::new(),
        tries => format!(" ({} divided by {tries} candidates)", format_float(rule.p_below, DIGITS)),
    };
    let direction = if inputs.metric.lower_is_better { "below" } else { "above" };
    let standard = match rule.bar {
        Some(_) => rule.bar_text.as_str(),
        None => "the baseline mean",
    };
    format!("mean {direction} {standard} with {side} p < {level}{shared}, {}", rule.test.name())
}

/// The reason why there is no test.
enum NoTest {
    Refused(Refused),
    Pairs(String),
}

impl From<Refused> for NoTest {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Runs the rule's test on the candidate minus its reference.
fn test(rule: &GateRule, inputs: &GateInputs) -> Result<(T, Vec<usize>), NoTest> {
    let candidate = inputs.candidate.values();
    if let Some(bar) = rule.bar {
        return Ok((one_sample_of(&Decimals::of(&candidate)?, bar)?, vec![candidate.len()]));
    }
    let baseline = inputs.baseline.as_ref();
    if rule.test == GateTest::Paired {
        let [candidate, baseline] = pairs(&inputs.candidate, baseline).map_err(NoTest::Pairs)?;
        return Ok((paired(&candidate, &baseline)?, vec![candidate.len(); 2]));
    }
    let baseline = baseline.map(GateSide::values).unwrap_or_default();
    let t = welch_of(&Decimals::of(&candidate)?, &Decimals::of(&baseline)?)?;
    Ok((t, vec![baseline.len(), candidate.len()]))
}

/// The values of both arms by ascending seed, candidate first; every run needs a partner.
fn pairs(candidate: &GateSide, baseline: Option<&GateSide>) -> Result<[Vec<f64>; 2], String> {
    let by_seed = |side: &GateSide, word: &str| -> Result<BTreeMap<String, f64>, String> {
        let mut values = BTreeMap::new();
        for run in side.counted() {
            let seed = run.seed.clone();
            let seed = seed.ok_or_else(|| format!("{} has no seed", run.shown()))?;
            let value = run.finite().unwrap_or(f64::NAN);
            if values.insert(seed.clone(), value).is_some() {
                return Err(format!("seed {seed} appears twice in the {word}"));
            }
        }
        Ok(values)
    };
    let candidates = by_seed(candidate, "candidate")?;
    let baselines =
        baseline.map_or_else(|| Ok(BTreeMap::new()), |side| by_seed(side, "baseline"))?;
    let listed = |seeds: &BTreeMap<String, f64>| some(seeds.keys().cloned(), seeds.len());
    if !candidates.keys().eq(baselines.keys()) {
        return Err(format!(
            "seeds {} in the baseline, {} in the candidate",
            listed(&baselines),
            listed(&candidates)
        ));
    }
    Ok([candidates, baselines].map(|values| values.into_values().collect()))
}

/// Applies a rule without a test, which compares the mean alone. Missing the threshold does not show that the candidate
/// is worse.
fn by_mean(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let values = inputs.candidate.values();
    let lower = inputs.metric.lower_is_better;
    let direction = if lower { "below" } else { "above" };
    let asks = format!("mean {direction} {}, without a test", rule.bar_text);
    let (Ok(mean), Some(bar)) = (mean(&values), rule.bar) else {
        return RuleLine::open(asks, "no mean", &FEW_RUNS);
    };
    let is_met = if lower { mean < bar } else { mean > bar };
    let where_ = match (is_met, lower) {
        (true, _) => direction,
        (false, true) => "not below",
        (false, false) => "not above",
    };
    let found = format!(
        "the mean of {}, {}, is {where_} the threshold; the rule requires no test",
        counted(values.len(), "run"),
        format_float(mean, DIGITS)
    );
    if is_met { RuleLine::met(asks, found) } else { RuleLine::open(asks, found, &NOT_SHOWN) }
}
