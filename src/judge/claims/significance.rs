//! The statistical verdict: what a claim declares, and on which side of a boundary an interval lies.
//!
//! Verified is a claim whose Holm-adjusted interval lies wholly on the claimed side; refuted one whose
//! interval lies wholly on the other side, or whose printed statistic does not follow from its inputs.
//! An interval that holds the boundary decides nothing, either way.

use super::FieldSpec;
use super::arms::{number, percent};
use super::comparison::{PValueTail, Test};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::{Printed, nearest_f64};
use repro_receipt::source::{Code, Error, Kind, Node, codes};
use repro_report::outcome::{Impact, Outcome};
use repro_stats::power::{Goal, Sides};
use repro_stats::{T, holm};

codes! {
    BOUNDARY = "significance::boundary-inside", "the interval holds the boundary: the runs decide neither way", "publish more runs, or state no direction";
    TOO_FEW = "significance::too-few", "there are too few runs, or no spread, to tell a difference from noise", "publish replicate runs";
    ROUNDING = "significance::rounding", "the printed digits allow both decisions", "publish the inputs with more digits";
    INFERRED = "significance::inferred", "what a printed statistic means was found by search", "declare the reading, the test or the method";
}

/// How often a gap of the size that is called detectable is found.
const POWER: f64 = 0.8;

/// See [`DecisionRule::direction`].
pub const DIRECTION: FieldSpec = FieldSpec::optional(
    "direction",
    "the claimed sign of the first minus the second: `less`, `greater` or `differs`",
);
/// See [`DecisionRule::alpha`].
pub const ALPHA: FieldSpec =
    FieldSpec::optional("alpha", "the level of the decision, 0.05 if absent");
/// Whether the decision has one side or two.
pub const SIDES: FieldSpec = FieldSpec::optional("sides", "1 or 2 (default)");
/// The other tests of the family.
pub const FAMILY: FieldSpec = FieldSpec::optional(
    "family",
    "the p values of the other tests of the family, for Holm's adjustment",
);
/// The level of printed intervals.
pub const LEVEL: FieldSpec =
    FieldSpec::optional("level", "the level of printed intervals, \"95%\" if absent");
/// What `claimed` is.
pub const STATISTIC: FieldSpec = FieldSpec::optional(
    "statistic",
    "what `claimed` is: `estimate` (default), `standard_error`, `t`, `df`, `p`, `sd`, `half_width`, `interval` or `detectable_gap`: the smallest gap detected with 80% power, at `alpha` over the tests of the family",
);
/// What stands behind the ± of `claimed`.
pub const READING: FieldSpec = FieldSpec::optional(
    "reading",
    "what the ± in `claimed` is: `sd`, `population_sd`, `se`, `ci95`, `1.96se`; searched if absent",
);
/// A p printed beside the claimed value.
pub const CLAIMED_P: FieldSpec =
    FieldSpec::optional("claimed_p", "the p that the sentence prints, such as \"p < 0.01\"");
/// Whether the sentence says so.
pub const SIGNIFICANT: FieldSpec = FieldSpec::optional(
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
pub struct DecisionRule {
    /// Which side of the boundary is claimed, where a side is.
    pub direction: Option<Direction>,
    /// The share of false decisions that is accepted.
    pub alpha: f64,
    one_sided: bool,
    family: Vec<f64>,
    /// The level of printed intervals.
    pub level: f64,
}

impl DecisionRule {
    /// Reads `direction`, `alpha`, `sides`, `family` and `level`.
    pub fn of(claim: &Claim, evidence: &Evidence) -> Result<Self, Error> {
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
                    let found = format!("`{}`", sides.printed().unwrap_or("no number"));
                    return Err(BAD_CHOICE.at(sides.place(), "1, with a direction, or 2", found));
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
    pub fn tail(&self) -> PValueTail {
        match (self.one_sided, self.direction) {
            (true, Some(Direction::Less)) => PValueTail::Less,
            (true, Some(Direction::Greater)) => PValueTail::Greater,
            _ => PValueTail::Both,
        }
    }

    /// What a test that decides by this rule should find 4 times in 5: a gap at alpha over the number of
    /// tests in the family, where Holm begins.
    pub fn goal(&self, asked: Node) -> Result<Goal, Error> {
        let sides = if self.one_sided { Sides::One } else { Sides::Two };
        let alpha = self.alpha / (self.family.len() + 1) as f64;
        Goal::new(alpha, POWER, sides).map_err(|refused| {
            BAD_CHOICE.at(asked.place(), "a level that a test can have", refused.to_string())
        })
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
                Outcome::refuted(wrong.decision, reason).with_impact(Impact::Decision)
            }
            Side::Both => Outcome::inconclusive(&BOUNDARY, format!("{text} holds {at} ({runs})")),
            Side::Unknown => Outcome::inconclusive(
                &ROUNDING,
                format!("{text} as printed; unprinted digits allow both sides of {at}"),
            ),
        }
    }

    /// Whether "significant at alpha" holds as arithmetic, which says nothing about who wins.
    pub fn significance(&self, test: &Test, stated: bool, wrong: Wrong) -> Outcome {
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
            Outcome::refuted(wrong.decision, reason).with_impact(Impact::Decision)
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
pub fn direction(node: Node) -> Result<Direction, Error> {
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
pub fn share(node: Node, most: f64) -> Result<f64, Error> {
    let text = node.printed()?;
    let share = Printed::parse(text).ok().map(|p| nearest_f64(&(p.value() / p.unit().per_one())));
    share.filter(|share| *share > 0.0 && *share < most).ok_or_else(|| {
        let expected = format!("a share above 0 and below {most}");
        BAD_CHOICE.at(node.place(), expected, format!("`{text}`"))
    })
}

/// A p value: written here, or a term.
fn probability(node: Node, evidence: &Evidence) -> Result<f64, Error> {
    let (text, p) = match &node.value().kind {
        Kind::Number(text) | Kind::Text(text) => {
            (text.to_string(), Printed::parse(text).ok().map(|printed| printed.as_f64()))
        }
        _ => {
            let quantity = evidence.quantity(node)?;
            (quantity.text.clone(), Some(nearest_f64(&quantity.value())))
        }
    };
    p.filter(|p| (0.0..=1.0).contains(p))
        .ok_or_else(|| BAD_CHOICE.at(node.place(), "a p value from 0 to 1", format!("`{text}`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::arms::ArmRuns;
    use proptest::prelude::*;
    use repro_report::outcome::Verdict;

    fn rule(direction: Direction, one_sided: bool, family: &[f64]) -> DecisionRule {
        let family = family.to_vec();
        DecisionRule { direction: Some(direction), alpha: 0.05, one_sided, family, level: 0.95 }
    }

    const WRONG: Wrong = Wrong { digit: &ROUNDING, decision: &INFERRED };

    fn arm(values: &[i32]) -> ArmRuns {
        let texts: Vec<_> =
            values.iter().map(|v| format!("{:.3}", f64::from(*v) / 1000.0)).collect();
        ArmRuns::typed("a", &texts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_boundary_inside_decides_neither_way() {
        let test = Test::welch(&arm(&[100, 104, 102]), &arm(&[101, 103, 100])).unwrap();
        for direction in [Direction::Less, Direction::Greater, Direction::Differs] {
            let outcome = rule(direction, false, &[]).decide(&test, 0.0, WRONG);
            assert_eq!(outcome.verdict, Verdict::Inconclusive, "{direction:?}");
            assert_eq!(outcome.code, Some(&BOUNDARY));
        }
        let not = rule(Direction::Less, false, &[]).significance(&test, false, WRONG);
        assert_eq!(not.verdict, Verdict::Verified, "not significant is arithmetic");
        let is = rule(Direction::Less, false, &[]).significance(&test, true, WRONG);
        assert_eq!((is.verdict, is.impact), (Verdict::Refuted, Some(Impact::Decision)));
    }

    #[test]
    fn a_family_takes_its_share_of_alpha() {
        let rule = |family: &[f64]| rule(Direction::Less, false, family);
        assert_eq!(rule(&[]).adjusted_alpha(0.01), 0.05);
        assert!((rule(&[0.5, 0.6]).adjusted_alpha(0.01) - 0.05 / 3.0).abs() < 1e-15);
        assert!(
            (rule(&[0.001]).adjusted_alpha(0.01) - 0.05).abs() < 1e-15,
            "the smaller went first"
        );
        assert!((rule(&[0.5]).adjusted_alpha(0.0) - 0.025).abs() < 1e-15);
    }

    proptest! {
        /// The adjusted interval leaves the boundary out exactly where the adjusted p is below alpha.
        #[test]
        fn intervals_and_p_values_agree(
            a in prop::collection::vec(0i32..60, 2..7),
            b in prop::collection::vec(20i32..90, 2..7),
            family in prop::collection::vec(0.0..1.0_f64, 0..4),
            one_sided in any::<bool>(),
        ) {
            let Ok(test) = Test::welch(&arm(&a), &arm(&b)) else { return Ok(()) };
            let rule = rule(Direction::Less, one_sided, &family);
            let t = test.as_printed();
            let adjusted = rule.adjusted_p(rule.tail().p(&t));
            prop_assume!((adjusted - rule.alpha).abs() > 1e-9);
            let below = adjusted < rule.alpha && t.t < 0.0;
            prop_assert_eq!(rule.side(&test, 0.0) == Side::Claimed, below);
            // No data are on both sides at once.
            let other = rule.towards(Direction::Greater).side(&test, 0.0);
            prop_assert!(!(below && other == Side::Claimed));
        }

        /// More tests in the family never make a decision easier.
        #[test]
        fn families_only_widen(p in 0.0..1.0_f64, family in prop::collection::vec(0.0..1.0_f64, 0..5)) {
            let alone = rule(Direction::Less, false, &[]).adjusted_alpha(p);
            prop_assert!(rule(Direction::Less, false, &family).adjusted_alpha(p) <= alone + 1e-15);
        }
    }
}
