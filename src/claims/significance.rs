//! The statistical verdict: what a claim declares, on which side of a boundary an interval lies, and
//! whether the printed statistics follow.
//!
//! Verified is a claim whose Holm-adjusted interval lies wholly on the claimed side; refuted one whose
//! interval lies wholly on the other side, or whose printed statistic does not follow from its inputs.
//! An interval that holds the boundary decides nothing, either way.

use super::Field;
use super::arms::{Reading, number, percent};
use super::comparison::{Computed, Statistic, Tail, Test};
use super::tolerance;
use crate::decimal::{Bound, Printed, nearest_f64};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::outcome::{Outcome, Verdict, Weight};
use crate::post::Claim;
use crate::source::{Code, Kind, Node, Refusal, codes};
use crate::stats::distribution::{StudentT, Symmetric};
use crate::stats::{T, holm};

codes! {
    BOUNDARY = "significance::boundary-inside", "the interval holds the boundary: the runs decide neither way", "publish more runs, or state no direction";
    TOO_FEW = "significance::too-few", "there are too few runs, or no spread, to tell a difference from noise", "publish replicate runs";
    ROUNDING = "significance::rounding", "the printed digits allow both decisions", "publish the inputs with more digits";
    INFERRED = "significance::inferred", "what a printed statistic means was found by search", "declare the reading, the test or the method";
}

/// See [`Rule::direction`].
pub const DIRECTION: Field = Field::optional(
    "direction",
    "what is said of the first less the second: `less`, `greater` or `differs`",
);
/// See [`Rule::alpha`].
pub const ALPHA: Field = Field::optional("alpha", "the level of the decision, 0.05 where absent");
/// Whether the decision has one side or two.
pub const SIDES: Field = Field::optional("sides", "1 or 2 (where absent)");
/// The other tests of the family.
pub const FAMILY: Field = Field::optional(
    "family",
    "the p values of the other tests of the family, for Holm's adjustment",
);
/// The level of printed intervals.
pub const LEVEL: Field =
    Field::optional("level", "the level of printed intervals, \"95%\" where absent");
/// What `claimed` is.
pub const STATISTIC: Field = Field::optional(
    "statistic",
    "what `claimed` is: `estimate` (where absent), `standard_error`, `t`, `df`, `p`, `sd`, `half_width` or `interval`",
);
/// What stands behind the ± of `claimed`.
pub const READING: Field = Field::optional(
    "reading",
    "what the ± in `claimed` is: `sd`, `population_sd`, `se`, `ci95`, `1.96se`; searched where absent",
);
/// A p printed beside the claimed value.
pub const CLAIMED_P: Field =
    Field::optional("claimed_p", "the p that the sentence prints, such as \"p < 0.01\"");
/// Whether the sentence says so.
pub const SIGNIFICANT: Field = Field::optional(
    "significant",
    "whether the sentence calls the difference significant at `alpha`",
);

/// The codes of a kind for its two ways of being wrong.
#[derive(Debug, Clone, Copy)]
pub struct Wrong {
    /// A printed statistic does not follow; no decision changes.
    pub digit: &'static Code,
    /// Who wins, or whether it is significant, is not as stated.
    pub decision: &'static Code,
}

/// Which side of the boundary is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Below it.
    Less,
    /// Above it.
    Greater,
    /// Off it.
    Differs,
}

/// Where an interval lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Wholly on the claimed side.
    Claimed,
    /// Wholly on the other side.
    Other,
    /// On both.
    Both,
    /// That depends on digits which are not printed.
    Unknown,
}

/// What a claim declares about its decision.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which side of the boundary is claimed, where a side is.
    pub direction: Option<Direction>,
    /// The share of false decisions that is accepted.
    pub alpha: f64,
    one_sided: bool,
    family: Vec<f64>,
    /// The level of printed intervals.
    pub level: f64,
}

impl Rule {
    /// Reads `direction`, `alpha`, `sides`, `family` and `level`.
    pub fn of(claim: &Claim, evidence: &Evidence) -> Result<Self, Refusal> {
        let node = claim.node;
        let direction = node.get("direction").map(direction).transpose()?;
        let alpha = match node.get("alpha") {
            Some(alpha) => share(alpha, 0.5)?,
            None => 0.05,
        };
        let level = match node.get("level") {
            Some(level) => share(level, 1.0)?,
            None => 0.95,
        };
        let one_sided = match node.get("sides") {
            None => false,
            Some(sides) => match sides.integer() {
                Ok(1) if direction != Some(Direction::Differs) => true,
                Ok(2) => false,
                _ => {
                    return Err(BAD_CHOICE.at(
                        sides.place(),
                        "1, with a direction, or 2",
                        "another",
                    ));
                }
            },
        };
        let mut family = Vec::new();
        for p in node.get("family").map(Node::items).transpose()?.into_iter().flatten() {
            family.push(probability(p, evidence)?);
        }
        Ok(Self { direction, alpha, one_sided, family, level })
    }

    /// The same rule in a family with these p values too.
    pub fn among(&self, family: impl IntoIterator<Item = f64>) -> Self {
        let mut rule = self.clone();
        rule.family.extend(family);
        rule
    }

    /// The same rule for another direction.
    pub fn towards(&self, direction: Direction) -> Self {
        Self { direction: Some(direction), ..self.clone() }
    }

    /// The same rule, decided on one side.
    pub fn one_sided(&self) -> Self {
        Self { one_sided: true, ..self.clone() }
    }

    /// The p that this rule decides on.
    pub fn tail(&self) -> Tail {
        match (self.one_sided, self.direction) {
            (true, Some(Direction::Less)) => Tail::Less,
            (true, Some(Direction::Greater)) => Tail::Greater,
            _ => Tail::Both,
        }
    }

    /// The p of a test within its family.
    pub fn adjusted_p(&self, p: f64) -> f64 {
        let all: Vec<f64> = std::iter::once(p).chain(self.family.iter().copied()).collect();
        holm(&all).first().copied().unwrap_or(p)
    }

    /// The same rule with another level for printed intervals.
    pub fn with_level(&self, level: f64) -> Self {
        Self { level, ..self.clone() }
    }

    /// The share of false decisions that is left to a test with this p in its family: the p is below it
    /// exactly where the adjusted p is below alpha.
    pub fn adjusted_alpha(&self, p: f64) -> f64 {
        let adjusted = self.adjusted_p(p);
        let tests = (self.family.len() + 1) as f64;
        self.alpha * if adjusted > 0.0 { p / adjusted } else { 1.0 / tests }
    }

    /// The level of the interval that decides.
    fn deciding_level(&self, p: f64) -> f64 {
        let alpha = self.adjusted_alpha(p);
        1.0 - if self.one_sided { 2.0 * alpha } else { alpha }
    }

    /// Where the deciding interval of a test lies.
    pub fn side(&self, test: &Test, boundary: f64) -> Side {
        let side = |t: &T| {
            let [low, high] = t.interval(self.deciding_level(self.tail().p(t)));
            match self.direction {
                Some(Direction::Less) if high < boundary => Side::Claimed,
                Some(Direction::Less) if low > boundary => Side::Other,
                Some(Direction::Greater) if low > boundary => Side::Claimed,
                Some(Direction::Greater) if high < boundary => Side::Other,
                Some(Direction::Differs) if high < boundary || low > boundary => Side::Claimed,
                _ => Side::Both,
            }
        };
        let mut sides = test.possible().iter().map(side);
        let first = sides.next().unwrap_or(Side::Unknown);
        if sides.all(|other| other == first) { first } else { Side::Unknown }
    }

    /// The deciding interval for people: "98.3% interval [0.021, 0.038] (Holm, 3 tests)".
    pub fn interval_text(&self, test: &Test) -> String {
        let t = test.as_printed();
        let level = self.deciding_level(self.tail().p(&t));
        let [low, high] = t.interval(level);
        let family = match self.family.len() {
            0 => String::new(),
            others => format!(" (Holm, {} tests)", others + 1),
        };
        format!("{} interval [{}, {}]{family}", percent(level), number(low, 5), number(high, 5))
    }

    /// "alpha 0.05, two-sided, 3 tests in the family".
    pub fn text(&self) -> String {
        let sides = if self.one_sided { "one-sided" } else { "two-sided" };
        let family = match self.family.len() {
            0 => "one test",
            _ => "Holm over the family",
        };
        format!("alpha {}, {sides}, {family}", number(self.alpha, 6))
    }

    /// Names the rule that judged a statistical claim; where nothing but digits is claimed, that is
    /// already named.
    pub fn within(&self, outcome: Outcome) -> Outcome {
        if outcome.rule.is_empty() { outcome.within("interval", self.text()) } else { outcome }
    }

    /// What the decision comes to.
    pub fn decide(&self, test: &Test, boundary: f64, wrong: Wrong) -> Outcome {
        self.within(self.decision(test, boundary, wrong))
    }

    fn decision(&self, test: &Test, boundary: f64, wrong: Wrong) -> Outcome {
        let at = number(boundary, 10);
        let text = format!("{}: {}", test.what, self.interval_text(test));
        let runs = runs_text(&test.runs);
        match self.side(test, boundary) {
            Side::Claimed => Outcome::verified(),
            Side::Other => {
                let reason = format!("{text} lies wholly on the other side of {at}");
                Outcome::refuted(wrong.decision, reason).weighing(Weight::Decision)
            }
            Side::Both => Outcome::inconclusive(&BOUNDARY, format!("{text} holds {at} ({runs})")),
            Side::Unknown => Outcome::inconclusive(
                &ROUNDING,
                format!("{text} as printed; unprinted digits allow both sides of {at}"),
            ),
        }
    }

    /// Whether "significant at alpha" holds as arithmetic, which says nothing about who wins.
    fn significance(&self, test: &Test, stated: bool, wrong: Wrong) -> Outcome {
        let adjusted = |t: &T| self.adjusted_p(self.tail().p(t));
        let below: Vec<bool> = test.possible().iter().map(|t| adjusted(t) < self.alpha).collect();
        let p = number(adjusted(&test.as_printed()), 4);
        let alpha = number(self.alpha, 6);
        let outcome = if below.iter().all(|below| *below == stated) {
            Outcome::verified()
        } else if below.contains(&stated) {
            let reason =
                format!("p = {p} as printed; unprinted digits allow both sides of {alpha}");
            Outcome::inconclusive(&ROUNDING, reason)
        } else {
            let relation = if stated { "not below" } else { "below" };
            let reason = format!("{}: p = {p} is {relation} {alpha}", test.name);
            Outcome::refuted(wrong.decision, reason).weighing(Weight::Decision)
        };
        outcome.within("p", self.text())
    }
}

/// "3 and 3 runs".
fn runs_text(runs: &[usize]) -> String {
    match runs {
        [n] => format!("{n} runs"),
        many => {
            let many: Vec<_> = many.iter().map(usize::to_string).collect();
            format!("{} runs", many.join(" and "))
        }
    }
}

/// Reads a direction.
pub fn direction(node: Node) -> Result<Direction, Refusal> {
    match node.text()? {
        "less" => Ok(Direction::Less),
        "greater" => Ok(Direction::Greater),
        "differs" => Ok(Direction::Differs),
        other => {
            let expected = "`less`, `greater` or `differs`";
            Err(BAD_CHOICE.at(node.place(), expected, format!("`{other}`")))
        }
    }
}

/// A share of one such as `0.05`, `"0.05"` or `"5%"`, above 0 and below `most`.
pub fn share(node: Node, most: f64) -> Result<f64, Refusal> {
    let text = node.printed()?;
    let share = Printed::parse(text).ok().map(|p| nearest_f64(&(p.value() / p.unit().per_one())));
    share.filter(|share| *share > 0.0 && *share < most).ok_or_else(|| {
        let expected = format!("a share above 0 and below {most}");
        BAD_CHOICE.at(node.place(), expected, format!("`{text}`"))
    })
}

/// A p value: written here, or a term.
fn probability(node: Node, evidence: &Evidence) -> Result<f64, Refusal> {
    let p = match &node.value().kind {
        Kind::Number(text) | Kind::Text(text) => {
            Printed::parse(text).ok().map(|printed| printed.as_f64())
        }
        _ => Some(nearest_f64(&evidence.quantity(node)?.value())),
    };
    p.filter(|p| (0.0..=1.0).contains(p))
        .ok_or_else(|| BAD_CHOICE.at(node.place(), "a p value from 0 to 1", "something else"))
}

/// The numbers of a claimed text, and the statistics that they can be.
#[derive(Debug)]
pub struct Stated {
    /// In the order of the text.
    pub numbers: Vec<Printed>,
    /// How they are written.
    pub shape: Shape,
}

/// How the numbers of a claimed text are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    One,
    /// `[low, high]`
    Ends,
    /// `estimate ± spread`
    WithSpread,
}

impl Stated {
    /// Reads "0.0297", "p < 0.01", "t = 6.9", "[0.021, 0.038]" or "0.0758 ± 0.0021".
    pub fn read(node: Node) -> Result<Self, Refusal> {
        let text = node.text()?.trim();
        let ends = text.strip_prefix(['[', '(']).and_then(|rest| rest.strip_suffix([']', ')']));
        if let Some((low, high)) = ends.and_then(split_ends) {
            let numbers = [low, high].map(|end| tolerance::printed_as(node, end.trim()));
            let [low, high] = numbers;
            return Ok(Self { numbers: vec![low?, high?], shape: Shape::Ends });
        }
        // "p < 0.01": the name of the statistic is not part of its number.
        let named = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let text = match named.strip_prefix('=') {
            Some(value) => value.trim(),
            None if named.starts_with(['<', '>', '≤', '≥']) => named,
            None => text,
        };
        let printed = tolerance::printed_as(node, text)?;
        match printed.spread().cloned() {
            Some(spread) => Ok(Self { numbers: vec![printed, spread], shape: Shape::WithSpread }),
            None => Ok(Self { numbers: vec![printed], shape: Shape::One }),
        }
    }
}

/// "0.021, 0.038" or "0.021 to 0.038"; a comma that separates thousands has no space behind it.
fn split_ends(text: &str) -> Option<(&str, &str)> {
    [", ", "; ", " to ", " – ", ",", ";"].iter().find_map(|sign| {
        let (low, high) = text.split_once(sign)?;
        (!high.contains(sign)).then_some((low, high))
    })
}

/// One way of reading the numbers of a claimed text: a name, and what each number should be.
#[derive(Debug)]
pub struct Candidate {
    /// Its name for people.
    pub name: String,
    /// What each number should be.
    pub values: Vec<(Statistic, Computed)>,
    /// The degrees of freedom behind a t.
    pub df: Option<f64>,
}

impl Candidate {
    /// What the numbers should be in one test; none where the test does not have them.
    pub fn of(test: &Test, statistics: &[Statistic], what: &str) -> Option<Self> {
        let value = |statistic: &Statistic| Some((*statistic, test.statistic(*statistic)?));
        let values: Option<Vec<_>> = statistics.iter().map(value).collect();
        let df = Some(test.as_printed().df);
        Some(Self { name: format!("{}{what}", test.name), values: values?, df })
    }

    /// Whether all numbers of a claimed text follow.
    pub fn fits(&self, stated: &Stated) -> bool {
        self.follows(stated, &INFERRED).verdict == Verdict::Verified
    }

    /// How the numbers follow.
    fn follows(&self, stated: &Stated, digit: &'static Code) -> Outcome {
        let one = |(printed, (statistic, computed)): (&Printed, &(Statistic, Computed))| {
            let mut outcome = computed.follows(printed, digit);
            if outcome.verdict != Verdict::Verified && !self.name.is_empty() {
                let Self { name, .. } = self;
                outcome.reason = format!("{} by {name}: {}", statistic.word(), outcome.reason);
            }
            outcome
        };
        worst(stated.numbers.iter().zip(&self.values).map(one).collect())
    }

    /// Whether a wrong number turns a decision: another side of the boundary, another side of alpha.
    fn turns(&self, stated: &Stated, rule: &Rule, boundary: f64) -> bool {
        let number = |printed: &Printed| nearest_f64(&(printed.value() / printed.unit().per_one()));
        stated.numbers.iter().zip(&self.values).any(|(printed, (statistic, computed))| {
            let (claimed, found) = (number(printed), nearest_f64(&computed.point));
            let other_side = |at: f64| (claimed > at) != (found > at);
            match statistic {
                Statistic::P(_) => match printed.bound() {
                    Some(Bound::Below | Bound::AtMost) => {
                        claimed <= rule.alpha && found >= rule.alpha
                    }
                    Some(_) => claimed >= rule.alpha && found < rule.alpha,
                    None => (claimed < rule.alpha) != (found < rule.alpha),
                },
                Statistic::Estimate | Statistic::End(..) => other_side(boundary),
                Statistic::T => {
                    let significant = |t: f64| {
                        let law = self.df.and_then(|df| StudentT::new(df).ok());
                        law.map(|law| law.two_sided(t) < rule.alpha)
                    };
                    other_side(0.0) || significant(claimed) != significant(found)
                }
                Statistic::Df | Statistic::Spread(_) => false,
            }
        })
    }
}

/// Whether the numbers that a claim prints follow under a candidate. The first is what is declared, or
/// what decides; where it is `inferred`, or does not fit, what fits is named.
pub fn printed(
    stated: &Stated,
    candidates: &[Candidate],
    inferred: bool,
    (rule, boundary, wrong): (&Rule, f64, Wrong),
) -> Outcome {
    let outcomes: Vec<Outcome> =
        candidates.iter().map(|candidate| candidate.follows(stated, wrong.digit)).collect();
    let fits: Vec<_> = candidates
        .iter()
        .zip(&outcomes)
        .filter(|(_, outcome)| outcome.verdict == Verdict::Verified)
        .collect();
    let tried = candidates.len();
    if let Some((candidate, outcome)) = fits.first() {
        let outcome = (*outcome).clone();
        let declared =
            !inferred && candidates.first().is_some_and(|first| first.name == candidate.name);
        if declared || tried == 1 {
            return outcome;
        }
        let names: Vec<_> = fits.iter().map(|(candidate, _)| candidate.name.as_str()).collect();
        let found = format!("inferred, {} of {tried} tried: {}", fits.len(), names.join(", "));
        return outcome.noting(&INFERRED, found);
    }
    let undecided = outcomes.iter().find(|outcome| outcome.verdict != Verdict::Refuted).cloned();
    let (Some(first), Some(outcome)) = (candidates.first(), outcomes.into_iter().next()) else {
        let reason = "the runs give no such statistic: one run, no spread, or no pairs";
        return Outcome::inconclusive(&TOO_FEW, reason);
    };
    if let Some(undecided) = undecided {
        return undecided;
    }
    let turns = first.turns(stated, rule, boundary);
    let (code, weight) = match turns {
        true => (wrong.decision, Weight::Decision),
        false => (wrong.digit, Weight::Digit),
    };
    let mut reason = outcome.reason.clone();
    if tried > 1 {
        reason = format!("it follows in none of {tried} ways; {reason}");
    }
    if turns {
        reason.push_str("; this changes the decision");
    }
    Outcome { code: Some(code), reason, ..outcome }.weighing(weight)
}

/// The part that decides: a wrong decision before a wrong digit, then what is undecided. Where all
/// parts hold, all that was allowed is said.
pub fn worst(parts: Vec<Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| (outcome.verdict, outcome.weight != Some(Weight::Decision));
    let notes: Vec<_> = parts.iter().flat_map(|part| part.notes.clone()).collect();
    let allowed: Vec<_> = parts.iter().filter(|part| !part.rule.is_empty()).cloned().collect();
    let worst = parts.into_iter().min_by_key(rank);
    let worst = worst.unwrap_or_else(|| Outcome::inconclusive(&TOO_FEW, "nothing is stated"));
    let worst = Outcome { notes, ..worst };
    match allowed.first() {
        Some(first) if worst.verdict == Verdict::Verified => {
            let tolerances: Vec<_> = allowed.iter().map(|part| part.tolerance.as_str()).collect();
            worst.within(first.rule, tolerances.join("; "))
        }
        _ => worst,
    }
}

/// What a claim states about one test and how it comes out.
pub struct Statement<'a> {
    /// What is declared.
    pub rule: &'a Rule,
    /// The tests that may be printed, the one that decides first; where there is none, why.
    pub tests: Result<&'a [Test], &'a str>,
    /// The name of the one that is printed, where the claim says.
    pub printed_test: Option<&'static str>,
    /// The estimate, which needs no test.
    pub estimate: &'a Computed,
    /// The value between the two sides.
    pub boundary: f64,
    /// The kind's codes.
    pub wrong: Wrong,
}

impl Statement<'_> {
    /// Judges `claimed`, `claimed_p`, `significant` and `direction`, whichever are stated.
    pub fn judge(&self, claim: &Claim) -> Result<Outcome, Refusal> {
        let mut parts = self.numbers(claim)?;
        if self.rule.direction.is_some() {
            parts.push(self.decision(|test| self.rule.decide(test, self.boundary, self.wrong)));
        }
        if parts.is_empty() {
            let expected = "`claimed`, `direction`, `significant` or `claimed_p`";
            return Err(super::NO_CLAIMED.at(claim.place(), expected, "none of them"));
        }
        Ok(worst(parts))
    }

    /// Judges what is arithmetic: `claimed`, `claimed_p` and `significant`, whichever are stated.
    pub fn numbers(&self, claim: &Claim) -> Result<Vec<Outcome>, Refusal> {
        let node = claim.node;
        let mut parts = Vec::new();
        if let Some(claimed) = claim.claimed {
            parts.push(self.printed(claim, &Stated::read(claimed)?, node.get("statistic"))?);
        }
        if let Some(p) = node.get("claimed_p") {
            let candidates = self.candidates(&[&[Statistic::P(self.rule.tail())]]);
            parts.push(printed(&Stated::read(p)?, &candidates, false, self.against()));
        }
        if let Some(significant) = node.get("significant") {
            let stated = significant.truth()?;
            parts.push(self.decision(|test| self.rule.significance(test, stated, self.wrong)));
        }
        Ok(parts)
    }

    /// What the deciding test says, where there is one.
    fn decision(&self, decide: impl Fn(&Test) -> Outcome) -> Outcome {
        match self.tests {
            Ok([test, ..]) => decide(test),
            Ok([]) => Outcome::inconclusive(&TOO_FEW, "there is no test"),
            Err(why) => Outcome::inconclusive(&TOO_FEW, why),
        }
    }

    /// Judges the numbers of the claimed text.
    fn printed(
        &self,
        claim: &Claim,
        stated: &Stated,
        statistic: Option<Node>,
    ) -> Result<Outcome, Refusal> {
        let rule = self.rule;
        let reading = claim.node.get("reading").map(Reading::of).transpose()?;
        let readings = match reading {
            Some(reading) => vec![reading],
            None => {
                vec![
                    Reading::StandardError,
                    Reading::HalfWidth(rule.level),
                    Reading::Normal,
                    Reading::Sd,
                    Reading::PopulationSd,
                ]
            }
        };
        let sets: Vec<Vec<Statistic>> = match stated.shape {
            Shape::Ends => {
                vec![vec![Statistic::End(rule.level, false), Statistic::End(rule.level, true)]]
            }
            Shape::WithSpread => readings
                .iter()
                .map(|reading| vec![Statistic::Estimate, Statistic::Spread(*reading)])
                .collect(),
            Shape::One => vec![vec![self.named(statistic)?]],
        };
        if sets == [[Statistic::Estimate]] {
            let name = String::new();
            let values = vec![(Statistic::Estimate, self.estimate.clone())];
            let only = [Candidate { name, values, df: None }];
            return Ok(printed(stated, &only, false, self.against()));
        }
        let sets: Vec<&[Statistic]> = sets.iter().map(Vec::as_slice).collect();
        let inferred = stated.shape == Shape::WithSpread && reading.is_none();
        Ok(printed(stated, &self.candidates(&sets), inferred, self.against()))
    }

    /// What turns a wrong digit into a wrong decision.
    fn against(&self) -> (&Rule, f64, Wrong) {
        (self.rule, self.boundary, self.wrong)
    }

    /// The statistic that a claim names for its one number.
    fn named(&self, node: Option<Node>) -> Result<Statistic, Refusal> {
        let Some(node) = node else { return Ok(Statistic::Estimate) };
        match node.text()? {
            "estimate" => Ok(Statistic::Estimate),
            "t" => Ok(Statistic::T),
            "df" => Ok(Statistic::Df),
            "p" => Ok(Statistic::P(self.rule.tail())),
            "sd" => Ok(Statistic::Spread(Reading::Sd)),
            "standard_error" => Ok(Statistic::Spread(Reading::StandardError)),
            "half_width" => Ok(Statistic::Spread(Reading::HalfWidth(self.rule.level))),
            other => Err(BAD_CHOICE.at(
                node.place(),
                "`estimate`, `t`, `df`, `p`, `sd`, `standard_error` or `half_width`",
                format!("`{other}`"),
            )),
        }
    }

    /// Each test with each set of statistics that it has.
    fn candidates(&self, sets: &[&[Statistic]]) -> Vec<Candidate> {
        let tests = self.tests.unwrap_or_default();
        let tests =
            tests.iter().filter(|test| self.printed_test.is_none_or(|name| name == test.name));
        let pairs = tests.flat_map(|test| sets.iter().map(move |set| (test, *set)));
        pairs
            .filter_map(|(test, set)| {
                let spread = set.iter().find_map(|statistic| match statistic {
                    Statistic::Spread(reading) => Some(format!(", ± as {}", reading.word())),
                    _ => None,
                });
                Candidate::of(test, set, &spread.unwrap_or_default())
            })
            .collect()
    }
}
