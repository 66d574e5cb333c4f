//! A gap is significant, whatever the printed ± means.

use num_rational::BigRational;

use super::plus_minus::StatedMean;
use super::significance::Direction;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, NOT_A_NUMBER};
use crate::post::Claim;
use repro_exact::decimal::{Printed, format_float, nearest_f64};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::holm;
use repro_stats::spread::{ErrorBarMeaning, Tested};

repro_receipt::source::codes! {
    NOT_SIGNIFICANT = "error_bar_meaning::not-significant", "a gap that is said to be significant is not, whatever ± means", "correct the sentence, or publish more runs";
    SIGNIFICANT = "error_bar_meaning::significant", "a gap that is said to be insignificant is significant, whatever ± means", "correct the sentence";
    OTHER_SIDE = "error_bar_meaning::other-side", "the gap is significant in the other direction, whatever ± means", "correct the sentence";
    NOT_SHOWN = "error_bar_meaning::not-shown", "the gap is not significant, whatever ± means; that does not show the contrary either", "publish more runs";
    READINGS_DISAGREE = "error_bar_meaning::readings-disagree", "whether the gap is significant hangs on what ± means", "say what ± is, and of how many values";
    ROUNDING = "error_bar_meaning::rounding", "whether the gap is significant hangs on digits that are not printed", "publish more digits, or the values of each run";
    NO_COUNT = "error_bar_meaning::no-count", "of how many values the means are is not published", "publish the number of runs";
    ONE_VALUE = "error_bar_meaning::one-value", "a single value has no spread", "say what the ± of a single run is";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "error_bar_meaning",
    summary: "a gap is significant under every reading of ±",
    explain: "Tests the gap under each reading of ± (sd, population sd, se, t interval, 1.96 se, \
         half-range): Welch's t = (m₁ - m₂)/√(s₁²/n₁ + s₂²/n₂) from the two arms, and t = \
         gap/(s_d/√n) if the gap has its own ±. Every mean and spread is the whole interval of \
         its digits; the range of p over that box is enclosed outward, and Holm's adjustment over \
         the declared family is made at both its ends. Holds if all readings agree. \"Significant \
         at α\" is arithmetic: it is refuted if the gap is significant under no reading. \
         \"Better\" is not refuted by that. If readings disagree they are named.\n\
         How it can mislead: a handful of runs, chosen after looking, is not a sample; the best \
         of many checkpoints has less spread and a lower mean than the recipe; paired t needs \
         runs that were paired.\n\
         Reference: Nuijten et al. 2016, statcheck: error against decision error; Welch 1947; \
         Holm 1979.",
    fields: &[
        FieldSpec::optional(
            "a",
            "one arm: `label`, and `printed` or `mean` and `spread`, `n`, `reading`",
        ),
        FieldSpec::optional("b", "the other arm"),
        FieldSpec::optional("gap", "their gap with its own ±, in the same form"),
        FieldSpec::optional("direction", "a is less, greater, or differs (default)"),
        FieldSpec::optional(
            "states",
            "what the publication says: better (default), significant, not significant",
        ),
        FieldSpec::optional("alpha", "the level, 0.05 if absent"),
        FieldSpec::optional("sides", "of the test: 2 (default) or 1"),
        FieldSpec::optional(
            "family",
            "the other comparisons: tables of `a`, `b`, `gap`, `direction`, or `p`",
        ),
        FieldSpec::optional("n", "how many values each mean is of, if it is the same for all"),
        FieldSpec::optional(
            "reading",
            "sd, population_sd, se, ci95, 1.96se or half_range, for all",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let rule = Rule::read(claim.node)?;
    let comparison = Comparison::read(claim.node, claim, evidence)?;
    let family = match claim.node.get("family") {
        Some(list) => list
            .items()?
            .map(|node| Member::read(node, claim, evidence))
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let stated = || comparison.stated().chain(family.iter().flat_map(Member::stated));
    let outcome = if let Some(unknown) = stated().find(|stated| stated.n.is_none()) {
        let why = format!("the number of runs is not published: {}", unknown.shown());
        Outcome::unchecked(&NO_COUNT, why)
    } else if let Some(single) = stated().find(|stated| stated.n.is_some_and(|n| n < 2)) {
        let why = format!("a single value has no spread: {}", single.shown());
        Outcome::inconclusive(&ONE_VALUE, why)
    } else {
        rule.judge(&comparison, &family)
    };
    Ok(outcome.within("t over the box", rule.words(family.len())).by(Method::Recomputed))
}

/// Which side of zero a difference is said to be on.
fn direction(node: Node) -> Result<Direction, Error> {
    let Some(direction) = node.get("direction") else { return Ok(Direction::Differs) };
    choice(
        direction,
        &[
            ("less", Direction::Less),
            ("greater", Direction::Greater),
            ("differs", Direction::Differs),
        ],
    )
}

/// What the publication says of the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Better,
    Significant,
    NotSignificant,
}

fn choice<T: Copy>(node: Node, choices: &[(&str, T)]) -> Result<T, Error> {
    let text = node.text()?;
    choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice).ok_or_else(|| {
        let words: Vec<_> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
        BAD_CHOICE.at(node.place(), format!("one of {}", words.join(", ")), format!("`{text}`"))
    })
}

/// A probability strictly between 0 and 1, written as a number or as printed.
fn probability(node: Node) -> Result<f64, Error> {
    let text = node.printed()?;
    let value = Printed::parse(text).ok().map(|p| nearest_f64(&(p.value() / p.unit().per_one())));
    value.filter(|value| *value > 0.0 && *value < 1.0).ok_or_else(|| {
        BAD_CHOICE.at(node.place(), "a probability between 0 and 1", format!("`{text}`"))
    })
}

/// Two arms, or a gap, or both.
struct Comparison {
    arms: Option<[StatedMean; 2]>,
    gap: Option<StatedMean>,
    direction: Direction,
}

/// The two ways to test one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestKind {
    Welch,
    Paired,
}

impl Comparison {
    fn read(node: Node, claim: &Claim, evidence: &Evidence) -> Result<Self, Error> {
        let stated = |field: &str| {
            node.get(field).map(|node| StatedMean::read(node, claim.node, evidence)).transpose()
        };
        let arms = match (stated("a")?, stated("b")?) {
            (Some(a), Some(b)) => Some([a, b]),
            (None, None) if node.get("gap").is_some() => None,
            _ => {
                let expected = "two arms `a` and `b`, or their `gap`";
                return Err(BAD_CHOICE.at(node.place(), expected, "neither"));
            }
        };
        Ok(Self { arms, gap: stated("gap")?, direction: direction(node)? })
    }

    fn stated(&self) -> impl Iterator<Item = &StatedMean> {
        self.arms.iter().flatten().chain(&self.gap)
    }

    /// The tests that are possible: pairs only where all means are of equally many values.
    fn tests(&self) -> Vec<TestKind> {
        let mut sizes = self.stated().map(|stated| stated.n);
        let first = sizes.next();
        let equal = sizes.all(|n| Some(n) == first);
        let welch = self.arms.as_ref().map(|_| TestKind::Welch);
        let paired = self.gap.as_ref().filter(|_| equal).map(|_| TestKind::Paired);
        welch.into_iter().chain(paired).collect()
    }

    /// What a test is made from.
    fn used(&self, test: TestKind) -> Box<dyn Iterator<Item = &StatedMean> + '_> {
        match test {
            TestKind::Welch => Box::new(self.arms.iter().flatten()),
            TestKind::Paired => Box::new(self.gap.iter()),
        }
    }

    /// The statistic of a - b under one reading; `None` where the test is not possible.
    fn tested(&self, test: TestKind, reading: ErrorBarMeaning) -> Option<Tested> {
        let of = |stated: &StatedMean| stated.reading.unwrap_or(reading);
        match test {
            TestKind::Welch => {
                let [a, b] = self.arms.as_ref()?;
                Some(Tested::welch(&a.estimate()?, &b.estimate()?, [of(a), of(b)]))
            }
            TestKind::Paired => {
                let gap = self.gap.as_ref()?;
                let tested = Tested::paired(&gap.estimate()?, of(gap));
                // A gap is printed as a size; its side is that of the means.
                let below = |[a, b]: &[StatedMean; 2]| a.mean.middle() < b.mean.middle();
                let positive = gap.mean.middle() > BigRational::default();
                let turned = self.arms.as_ref().is_some_and(|arms| below(arms) == positive);
                Some(if turned { tested.reversed() } else { tested })
            }
        }
    }
}

/// Another comparison of the family.
enum Member {
    Comparison(Box<Comparison>),
    P([f64; 2]),
}

impl Member {
    fn read(node: Node, claim: &Claim, evidence: &Evidence) -> Result<Self, Error> {
        let Some(p) = node.get("p") else {
            node.only(&["a", "b", "gap", "direction"])?;
            return Ok(Self::Comparison(Box::new(Comparison::read(node, claim, evidence)?)));
        };
        node.only(&["p"])?;
        let p = evidence.quantity(p)?;
        let ends = [p.interval.low(), p.interval.high()].map(nearest_f64);
        // The digits of a p of 0.00 or 1.0 reach beyond what a probability can be; its value may not.
        match nearest_f64(&p.value()) {
            0.0..=1.0 => Ok(Self::P(ends.map(|end| end.clamp(0.0, 1.0)))),
            _ => Err(NOT_A_NUMBER.at(node.place(), "a probability from 0 to 1", p.text)),
        }
    }

    fn stated(&self) -> impl Iterator<Item = &StatedMean> {
        let comparison = match self {
            Self::Comparison(comparison) => Some(comparison),
            Self::P(_) => None,
        };
        comparison.into_iter().flat_map(|comparison| comparison.stated())
    }

    /// The range of its p under the test and reading at hand, or under the one test that it allows.
    fn p(&self, rule: &Rule, test: TestKind, reading: ErrorBarMeaning) -> [f64; 2] {
        match self {
            Self::P(p) => *p,
            Self::Comparison(comparison) => {
                let tested = comparison.tested(test, reading).or_else(|| {
                    let other = comparison.tests().into_iter().next()?;
                    comparison.tested(other, reading)
                });
                tested.map_or([0.0, 1.0], |tested| rule.p(&tested, comparison.direction))
            }
        }
    }
}

/// How one reading answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Significant,
    OtherSide,
    NotSignificant,
    Open,
}

/// One test under one reading.
struct Reply {
    name: String,
    p: [f64; 2],
    answer: Answer,
}

/// What the claim declares about its test.
struct Rule {
    alpha: f64,
    sides: f64,
    says: Says,
}

impl Rule {
    fn read(node: Node) -> Result<Self, Error> {
        let sides = node.get("sides").map(|sides| match sides.integer() {
            Ok(1) => Ok(1.0),
            Ok(2) => Ok(2.0),
            _ => Err(BAD_CHOICE.at(sides.place(), "1 or 2", "something else")),
        });
        let states = node.get("states").map(|states| {
            let choices = [
                ("better", Says::Better),
                ("significant", Says::Significant),
                ("not significant", Says::NotSignificant),
            ];
            choice(states, &choices)
        });
        Ok(Self {
            alpha: node.get("alpha").map(probability).transpose()?.unwrap_or(0.05),
            sides: sides.transpose()?.unwrap_or(2.0),
            says: states.transpose()?.unwrap_or(Says::Better),
        })
    }

    fn words(&self, family: usize) -> String {
        let sides = if self.sides == 1.0 { "one-sided" } else { "two-sided" };
        let holm = if family == 0 { String::new() } else { format!(", Holm over {}", family + 1) };
        format!("{sides} p below {}{holm}", format_float(self.alpha, 2))
    }

    /// The range of p of the stated direction.
    fn p(&self, tested: &Tested, direction: Direction) -> [f64; 2] {
        let above = match direction {
            Direction::Differs => return tested.p_differs(),
            Direction::Greater => *tested,
            Direction::Less => tested.reversed(),
        };
        above.p_above().map(|p| (p * self.sides).min(1.0))
    }

    /// Every possible test under every reading that is left.
    fn judge(&self, comparison: &Comparison, family: &[Member]) -> Outcome {
        let others = || family.iter().flat_map(Member::stated);
        let mut replies = Vec::new();
        for test in comparison.tests() {
            // One reading stands for all where nothing that the test uses is left open.
            let declared =
                comparison.used(test).chain(others()).all(|stated| stated.reading.is_some());
            let readings =
                if declared { &ErrorBarMeaning::ALL[..1] } else { &ErrorBarMeaning::ALL[..] };
            for &reading in readings {
                let Some(tested) = comparison.tested(test, reading) else { continue };
                let p = |direction| {
                    let others = family.iter().map(|member| member.p(self, test, reading));
                    adjusted(self.p(&tested, direction), others.collect())
                };
                let word = if declared { "as declared".to_owned() } else { reading.word() };
                let name = match test {
                    TestKind::Welch => format!("Welch, {word}"),
                    TestKind::Paired => format!("paired, {word}"),
                };
                let direction = comparison.direction;
                replies.push(Reply { name, p: p(direction), answer: self.answer(p, direction) });
            }
        }
        self.decide(&replies)
    }

    /// What the adjusted p of the stated direction, and that of the other, say.
    fn answer(&self, p: impl Fn(Direction) -> [f64; 2], direction: Direction) -> Answer {
        let [low, high] = p(direction);
        let other = match direction {
            Direction::Less => Some(p(Direction::Greater)),
            Direction::Greater => Some(p(Direction::Less)),
            Direction::Differs => None,
        };
        if high < self.alpha {
            Answer::Significant
        } else if other.is_some_and(|[_, high]| high < self.alpha) {
            Answer::OtherSide
        } else if low >= self.alpha && other.is_none_or(|[low, _]| low >= self.alpha) {
            Answer::NotSignificant
        } else {
            Answer::Open
        }
    }

    fn decide(&self, replies: &[Reply]) -> Outcome {
        let tests = match replies.len() {
            1 => "the one test".to_owned(),
            count => format!("all {count} tests"),
        };
        let ends = replies
            .iter()
            .fold([1.0_f64, 0.0], |[low, high], reply| [low.min(reply.p[0]), high.max(reply.p[1])]);
        let found = range(ends);
        let first = replies.first().map(|reply| reply.answer);
        let unanimous = first.filter(|first| replies.iter().all(|reply| reply.answer == *first));
        let outcome = match (unanimous, self.says) {
            (None | Some(Answer::Open), _) => divided(replies),
            (Some(Answer::NotSignificant), Says::NotSignificant)
            | (Some(Answer::Significant), Says::Better | Says::Significant) => Outcome::verified(),
            (Some(Answer::NotSignificant), Says::Better) => {
                let why =
                    format!("not significant in {tests} ({found}): neither shown nor refuted");
                Outcome::inconclusive(&NOT_SHOWN, why)
            }
            (Some(Answer::NotSignificant), Says::Significant) => {
                Outcome::refuted(&NOT_SIGNIFICANT, format!("not significant in {tests}: {found}"))
            }
            (Some(_), Says::NotSignificant) => {
                Outcome::refuted(&SIGNIFICANT, format!("significant in {tests}: {found}"))
            }
            (Some(Answer::OtherSide), _) => {
                Outcome::refuted(&OTHER_SIDE, format!("significant the other way in {tests}"))
            }
        };
        outcome.giving(format!("{found} in {tests}"))
    }
}

/// Readings that disagree, or digits that do not decide.
fn divided(replies: &[Reply]) -> Outcome {
    let sides = [
        (Answer::Significant, "significant"),
        (Answer::OtherSide, "significant the other way"),
        (Answer::NotSignificant, "not significant"),
        (Answer::Open, "open within the printed digits"),
    ];
    let mut parts = Vec::new();
    let mut decided = 0;
    for (answer, words) in sides {
        let some: Vec<_> = replies.iter().filter(|reply| reply.answer == answer).collect();
        if some.is_empty() {
            continue;
        }
        decided += usize::from(answer != Answer::Open);
        let names: Vec<_> =
            some.iter().map(|reply| format!("{} ({})", reply.name, range(reply.p))).collect();
        parts.push(format!("{words}: {}", names.join(", ")));
    }
    let code = if decided > 1 { &READINGS_DISAGREE } else { &ROUNDING };
    Outcome::inconclusive(code, parts.join("; "))
}

/// One p after Holm's adjustment with the others. The adjusted p grows with each of them, so the two
/// ends of the ranges give the two ends.
fn adjusted(own: [f64; 2], others: Vec<[f64; 2]>) -> [f64; 2] {
    [0, 1].map(|end: usize| {
        let all: Vec<f64> =
            std::iter::once(own).chain(others.iter().copied()).map(|p| p[end]).collect();
        holm(&all).first().copied().unwrap_or(1.0)
    })
}

/// "p 0.001 to 0.04".
fn range([low, high]: [f64; 2]) -> String {
    let (low, high) = (format_float(low, 2), format_float(high, 2));
    if low == high { format!("p {low}") } else { format!("p {low} to {high}") }
}
