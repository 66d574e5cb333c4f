//! Orders between runs of which only mean ± spread is printed: what holds whatever ± means.
//!
//! A publication often prints "1.58 ± 0.02 over three seeds" and neither the runs nor what the number
//! behind ± is. Each reading of it gives a test, each with a range of p, because the digits are rounded.

use repro_claim::syntax::RelationOperator;
use repro_core::decimal::Interval;
use repro_core::source::{Error, codes};
use repro_report::outcome::{Impact, Measured, Outcome};
use repro_stats::spread::{ErrorBarMeaning, Estimate, Spread, Tested};
use repro_stats::{Refused, holm};

use crate::evaluate::Frame;
use crate::evaluate::noise::{ONE_RUN, WITHIN_NOISE, WRONG_WAY, digits, untested};
use crate::run_design::ALPHA;
use crate::value::{Evaluated, PrintedRuns, Quantity};

codes! {
    SPREADS_DISAGREE = "order::ambiguous-error-bars", "the comparison depends on what ± means, or on unprinted digits", "state what ± is, or publish the runs";
}

/// One side of an order: runs by their printed mean, or a number to hold them against.
#[derive(Debug, Clone)]
pub enum OrderSide {
    /// Runs.
    Runs(Box<PrintedRuns>),
    /// A number.
    Number(Box<Quantity>),
}

/// An order of which one side at least is known by mean ± spread only.
#[derive(Debug, Clone)]
pub struct StatedOrder {
    /// The operator between the two sides.
    pub operator: RelationOperator,
    /// The two.
    pub sides: [OrderSide; 2],
}

/// The result of the test under one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Holds,
    Opposite,
    Noise,
    Rounding,
}

impl OrderSide {
    /// The side that a value is.
    pub fn of<'a>(frame: Frame<'_, 'a>, value: Evaluated<'a>) -> Result<Self, Error> {
        Ok(match frame.settle(value)? {
            Evaluated::Stated(runs) => Self::Runs(runs),
            other => Self::Number(Box::new(frame.number_of(other)?)),
        })
    }

    fn shown(&self) -> String {
        match self {
            Self::Runs(runs) => runs.shown(),
            Self::Number(number) => number.derivation.clone(),
        }
    }
}

impl StatedOrder {
    /// As it is printed: "1.5788 ± 0.0020 < 1.6545 ± 0.0012".
    pub fn shown(&self) -> String {
        let [a, b] = &self.sides;
        format!("{} {} {}", a.shown(), self.operator.sign(), b.shown())
    }

    /// The outcome under every reading of ±, each p adjusted by Holm over the family.
    pub fn judge(&self, family: &[Self]) -> Outcome {
        self.judged(family).unwrap_or_else(|why| untested(&why))
    }

    fn judged(&self, family: &[Self]) -> Result<Outcome, Refused> {
        let mut answers = Vec::new();
        for reading in ErrorBarMeaning::ALL {
            let (Some(own), Some(other)) = (self.p(reading, false)?, self.p(reading, true)?) else {
                return Ok(Outcome::inconclusive(
                    &WITHIN_NOISE,
                    "neither side has a standard deviation",
                ));
            };
            let others = family.iter().map(|order| order.p(reading, false));
            let others: Vec<_> =
                others.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            let (own, other) = (adjusted(own, &others), adjusted(other, &others));
            answers.push((reading, answer(own, other), own));
        }
        let all = |wanted| answers.iter().all(|(_, answer, _)| *answer == wanted);
        let p = answers.iter().map(|(_, _, p)| *p);
        let p = p.reduce(|[low, high], [least, most]| [low.min(least), high.max(most)]);
        let shown = format!(
            "{}, p {} over {} readings of ±",
            self.shown(),
            range(p.unwrap_or([0.0, 1.0])),
            answers.len()
        );
        let outcome = if all(Answer::Holds) && self.has_one_run() {
            Outcome::inconclusive(&ONE_RUN, "one run per arm, seed noise unknown")
        } else if all(Answer::Holds) {
            Outcome::verified()
        } else if all(Answer::Opposite) {
            Outcome::refuted(
                &WRONG_WAY,
                "the runs differ in the opposite direction, whatever ± means",
            )
        } else if all(Answer::Noise) {
            let reason = format!("within noise, whatever ± means: {shown}");
            Outcome::inconclusive(&WITHIN_NOISE, reason)
        } else {
            Outcome::inconclusive(&SPREADS_DISAGREE, divided(&answers))
        };
        let holm = match family.len() {
            0 => String::new(),
            others => format!(", Holm over {}", others + 1),
        };
        let tolerance = format!("two-sided, alpha {ALPHA}, every reading of ±{holm}");
        let measured = answers.iter().map(|(reading, _, p)| Measured {
            of: reading.word(),
            interval: Some(*p),
            allowed: Some([0.0, ALPHA]),
            ..Measured::default()
        });
        let outcome = outcome.giving(shown).within("test", tolerance).measuring(measured);
        Ok(outcome.with_impact(Impact::Decision))
    }

    /// Whether a side is a measured number, whose own noise nobody knows.
    fn has_one_run(&self) -> bool {
        let noisy = |side: &OrderSide| matches!(side, OrderSide::Number(number) if !number.is_without_noise());
        self.sides.iter().any(noisy)
    }

    /// The range of the two-sided p of this order, or of its opposite, where one side has a spread.
    fn p(&self, reading: ErrorBarMeaning, opposite: bool) -> Result<Option<[f64; 2]>, Refused> {
        let Some(tested) = self.tested(reading).transpose()? else { return Ok(None) };
        let below = match self.operator {
            RelationOperator::Less | RelationOperator::LessOrEqual => !opposite,
            RelationOperator::Greater | RelationOperator::GreaterOrEqual => opposite,
            // Noise never shows that two means are equal; that they differ speaks against it.
            RelationOperator::Equal if !opposite => return Ok(Some([1.0, 1.0])),
            RelationOperator::NotEqual if opposite => return Ok(Some([1.0, 1.0])),
            RelationOperator::Equal | RelationOperator::NotEqual => {
                return tested.p_differs().map(Some);
            }
        };
        let tested = if below { tested.reversed() } else { tested };
        Ok(Some(tested.p_above()?.map(|p| (2.0 * p).min(1.0))))
    }

    /// The test of the first side less the second: Welch's between two arms, and the t of the mean where
    /// a gap of pairs is held against a number.
    fn tested(&self, reading: ErrorBarMeaning) -> Option<Result<Tested, Refused>> {
        match &self.sides {
            [OrderSide::Runs(a), OrderSide::Runs(b)] => {
                Some(Tested::welch(&estimate(a, None)?, &estimate(b, None)?, [reading; 2]))
            }
            [OrderSide::Runs(gap), OrderSide::Number(from)] => {
                Some(Tested::paired(&estimate(gap, Some(from))?, reading))
            }
            [OrderSide::Number(from), OrderSide::Runs(gap)] => {
                Some(Tested::paired(&estimate(gap, Some(from))?, reading).map(Tested::reversed))
            }
            [OrderSide::Number(_), OrderSide::Number(_)] => None,
        }
    }
}

/// Mean and spread within their digits, the mean less a number.
fn estimate(runs: &PrintedRuns, less: Option<&Quantity>) -> Option<Estimate> {
    let zero = Interval::integer(0);
    let mean = &runs.mean.interval - less.map_or(&zero, |number| &number.interval);
    Some(Estimate { mean, spread: Spread::new(&runs.spread.interval, runs.runs)? })
}

/// One p after Holm's adjustment with others. The adjusted p grows with each of them, so that the two
/// ends of their ranges give the two ends.
fn adjusted(own: [f64; 2], others: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|end: usize| {
        let all: Vec<f64> =
            std::iter::once(&own).chain(others).filter_map(|p| p.get(end).copied()).collect();
        holm(&all).first().copied().unwrap_or(1.0)
    })
}

fn answer([low, high]: [f64; 2], [other_low, other_high]: [f64; 2]) -> Answer {
    if high < ALPHA {
        Answer::Holds
    } else if other_high < ALPHA {
        Answer::Opposite
    } else if low >= ALPHA && other_low >= ALPHA {
        Answer::Noise
    } else {
        Answer::Rounding
    }
}

/// Which readings say what: "it holds for sd (p 0.01 to 0.02), noise for se (p 0.09)".
fn divided(answers: &[(ErrorBarMeaning, Answer, [f64; 2])]) -> String {
    let sides = [
        (Answer::Holds, "true if ± is"),
        (Answer::Opposite, "the opposite is true if ± is"),
        (Answer::Noise, "within noise if ± is"),
        (Answer::Rounding, "digits too coarse if ± is"),
    ];
    let part = |(wanted, words): &(Answer, &str)| {
        let fitting = answers.iter().filter(|(_, answer, _)| answer == wanted);
        let names: Vec<_> = fitting
            .map(|(reading, _, p)| format!("{} (p {})", reading.word(), range(*p)))
            .collect();
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    };
    sides.iter().filter_map(part).collect::<Vec<_>>().join("; ")
}

fn range([low, high]: [f64; 2]) -> String {
    let [low, high] = [low, high].map(digits);
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use repro_claim::syntax::RelationOperator;
    use repro_core::decimal::Printed;
    use repro_report::outcome::Outcome;

    use super::{OrderSide, StatedOrder};
    use crate::value::{LeafKind, PrintedRuns, Quantity};

    fn printed(text: &str) -> Quantity {
        Quantity::stated(&Printed::parse(text).unwrap(), LeafKind::Printed)
    }

    fn runs(mean: &str, spread: &str) -> OrderSide {
        let (mean, spread) = (printed(mean), printed(spread));
        OrderSide::Runs(Box::new(PrintedRuns { mean, spread, runs: 3 }))
    }

    fn less(a: OrderSide, b: OrderSide) -> StatedOrder {
        StatedOrder { operator: RelationOperator::Less, sides: [a, b] }
    }

    fn code(outcome: &Outcome) -> &'static str {
        outcome.code.map_or("verified", |code| code.id)
    }

    #[test]
    fn an_order_holds_in_every_reading_of_its_spread_or_is_open() {
        let same = || runs("1.0", "0.1");
        assert_eq!(code(&less(same(), same()).judge(&[])), "order::within-noise");
        // As standard deviations these differ, as standard errors they do not.
        let divided = "order::ambiguous-error-bars";
        assert_eq!(code(&less(same(), runs("1.3", "0.1")).judge(&[])), divided);
        let limit = OrderSide::Number(Box::new(printed("1.3")));
        assert_eq!(code(&less(same(), limit).judge(&[])), divided);
        // Alone it is significant; as one of many that were tried no longer.
        let order = || less(runs("1.00", "0.01"), runs("1.10", "0.01"));
        assert_eq!(code(&order().judge(&[])), "verified");
        let noise = less(runs("2.0", "1.0"), runs("2.1", "1.0"));
        assert_eq!(code(&order().judge(&vec![noise; 40])), divided);
    }
}
