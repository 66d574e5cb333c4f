//! The learning rate: which values are tried, and how the tuning runs choose among them.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

use super::fields::{distinct, known, part, positive, word};
use super::{BAD_VALUE, NO_TUNING_RESULT, RATE_AT_EDGE};
use repro_core::decimal::nearest_f64;
use repro_core::source::{Error, Location, Node};

/// The minimum number of values that are tried: with fewer, at most one lies between the others.
const FEWEST: usize = 4;

/// One learning rate that is tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its text in the study; part of the ids of its runs.
    pub text: String,
    /// Its value.
    pub value: f64,
}

/// How the learning rate of each arm is found.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// The values, rising, each twice the one before.
    pub rates: Vec<Tried>,
    /// The seed of all tuning runs, which no other run has.
    pub seed: u64,
    /// The budget of all tuning runs.
    pub budget: String,
    /// The fraction of that budget that they run, with their own schedule.
    pub fraction: BigRational,
    /// The seeds and budgets that are run once more at the shared rate.
    pub shared: Option<(Vec<u64>, Vec<String>)>,
    place: Location,
}

/// The result of one tuning run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned<'a> {
    /// Its arm.
    pub arm: &'a str,
    /// Its learning rate.
    pub rate: f64,
    /// Its loss on the development split; none if it diverged.
    pub loss: Option<f64>,
}

/// The learning rates of a study's final runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    best: BTreeMap<String, f64>,
    shared: f64,
}

impl Tuning {
    /// Reads the table `[tuning]`.
    pub fn read(node: Node<'_>, budgets: &[String], seeds: &[u64]) -> Result<Self, Error> {
        node.only(&["rates", "seed", "budget", "fraction", "split", "rule", "shared"])?;
        word(node.required("split")?, &["development"])?;
        word(node.required("rule")?, &["best_interior"])?;
        let seed = node.required("seed")?;
        if seeds.contains(&seed.integer()?) {
            let expected = "a seed that no other run uses";
            return Err(BAD_VALUE.at(seed.place(), expected, seed.integer()?.to_string()));
        }
        let fraction = node.get("fraction").map(part).transpose()?;
        let shared = node.get("shared").map(|shared| {
            shared.only(&["rule", "seeds", "budgets"])?;
            word(shared.required("rule")?, &["lowest_mean"])?;
            let of = |node| known(node, budgets).map(str::to_owned);
            let again = distinct(shared.required("seeds")?, Node::integer)?;
            if let Some(other) = again.iter().find(|seed| !seeds.contains(seed)) {
                let place = shared.required("seeds")?.place();
                return Err(BAD_VALUE.at(place, "some of the study's seeds", other.to_string()));
            }
            Ok((again, distinct(shared.required("budgets")?, of)?))
        });
        Ok(Self {
            rates: rates(node.required("rates")?)?,
            seed: seed.integer()?,
            budget: known(node.required("budget")?, budgets)?.to_owned(),
            fraction: fraction.unwrap_or_else(BigRational::one),
            shared: shared.transpose()?,
            place: node.place(),
        })
    }

    /// The rates that `results` choose: each arm's best, which must lie between two others, and the
    /// shared one, whose mean loss over the arms is lowest. Of equal losses the lower rate wins.
    pub fn choose(&self, arms: &[String], results: &[Tuned<'_>]) -> Result<Rates, Error> {
        let mut best = BTreeMap::new();
        let mut means = vec![0.0; self.rates.len()];
        for arm in arms {
            let losses = self.losses(arm, results)?;
            let at = lowest(&losses);
            let loss = losses.get(at).copied().unwrap_or(f64::INFINITY);
            if at == 0 || at + 1 == losses.len() || !loss.is_finite() {
                let tried: Vec<_> = self.rates.iter().map(|rate| rate.text.as_str()).collect();
                let expected = format!(
                    "a best rate for `{arm}` between the lowest and the highest of {}",
                    tried.join(", ")
                );
                let found = match loss.is_finite() {
                    true => format!("{} with loss {loss}", tried.get(at).unwrap_or(&"")),
                    false => "only diverged runs".to_owned(),
                };
                return Err(RATE_AT_EDGE.at(self.place.clone(), expected, found));
            }
            for (mean, loss) in means.iter_mut().zip(&losses) {
                *mean += loss;
            }
            best.insert(arm.clone(), self.value(at));
        }
        Ok(Rates { best, shared: self.value(lowest(&means)) })
    }

    /// The loss of one arm at every rate; a diverged run counts as worse than any.
    fn losses(&self, arm: &str, results: &[Tuned<'_>]) -> Result<Vec<f64>, Error> {
        let one = |rate: &Tried| {
            let of = |result: &&Tuned<'_>| result.arm == arm && result.rate == rate.value;
            let result = results.iter().find(of).ok_or_else(|| {
                let expected = format!("a result of `{arm}` at the rate {}", rate.text);
                NO_TUNING_RESULT.at(self.place.clone(), expected, "none")
            })?;
            Ok(result.loss.filter(|loss| loss.is_finite()).unwrap_or(f64::INFINITY))
        };
        self.rates.iter().map(one).collect()
    }

    fn value(&self, at: usize) -> f64 {
        self.rates.get(at).map_or(f64::NAN, |rate| rate.value)
    }
}

/// The position of the first of the lowest values.
fn lowest(values: &[f64]) -> usize {
    let better = |best: usize, at: usize| match (values.get(at), values.get(best)) {
        (Some(new), Some(old)) if new < old => at,
        _ => best,
    };
    (0..values.len()).fold(0, better)
}

/// Reads the rates: at least four, each twice the one before.
fn rates(list: Node<'_>) -> Result<Vec<Tried>, Error> {
    let mut read: Vec<(Tried, BigRational)> = Vec::new();
    for node in list.items()? {
        let exact = positive(node)?;
        let text = node.printed()?.replace('_', "");
        if let Some((before, value)) = read.last()
            && exact != value * BigRational::from_integer(2.into())
        {
            let expected = format!("twice the previous rate, {}", before.text);
            return Err(BAD_VALUE.at(node.place(), expected, text));
        }
        if text.contains(['+', 'E']) {
            let expected = "a rate such as `0.004` or `4e-3`, because it is part of names";
            return Err(BAD_VALUE.at(node.place(), expected, text));
        }
        read.push((Tried { text, value: nearest_f64(&exact) }, exact));
    }
    if read.len() < FEWEST {
        let found = read.len().to_string();
        return Err(BAD_VALUE.at(list.place(), format!("at least {FEWEST} rates"), found));
    }
    Ok(read.into_iter().map(|(rate, _)| rate).collect())
}

impl Rates {
    /// One stated rate for every arm.
    pub fn stated(arms: &[String], rate: &BigRational) -> Self {
        let rate = rate.to_f64().map_or(f64::NAN, |_| nearest_f64(rate));
        Self { best: arms.iter().map(|arm| (arm.clone(), rate)).collect(), shared: rate }
    }

    /// The best rate of an arm.
    pub fn best(&self, arm: &str) -> Option<f64> {
        self.best.get(arm).copied()
    }

    /// The rate that all arms share.
    pub fn shared(&self) -> f64 {
        self.shared
    }
}
