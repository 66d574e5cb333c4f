//! Two proportions differ by more than chance: z, Fisher or McNemar; Wilson's interval for one.

use super::comparison::{Computed, PValueTail, Statistic};
use super::proportions::{GroupShare, discordant, number_of_items};
use super::significance::{
    ALPHA, BOUNDARY, CLAIMED_P, DIRECTION, DecisionRule, Direction, FAMILY, LEVEL, ROUNDING, SIDES,
    SIGNIFICANT, TOO_FEW, Wrong,
};
use super::statement::{Candidate, Numbers, printed, worst};
use super::{ClaimKind, FieldSpec, choice};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_receipt::source::{Error, MISSING_FIELD, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::proportion::{Proportion, fisher, mcnemar, two_proportions};

repro_receipt::source::codes! {
    OTHER_DIGITS = "proportion_test::other-digits", "a printed statistic does not follow from the counts", "correct it, or publish the counts that it was computed from";
    OTHER_DECISION = "proportion_test::other-decision", "the counts decide otherwise than stated", "correct the statement";
    NO_COUNT = "proportion_test::no-count", "no number of right items gives a printed proportion", "correct the proportion, or the number of items";
    PAIRED_LOST = "proportion_test::pairs-not-used", "both were asked the same items, and the outcomes of single items are not published", "publish outcomes item by item: a paired test sees smaller differences";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &OTHER_DECISION };
/// Below this many items expected in a cell the z test is not to be trusted.
const FEW: f64 = 5.0;

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "proportion_test",
    summary: "two proportions differ by more than chance; Wilson's interval for one",
    explain: "Of two groups of items: z = (p₁ - p₂)/√(p(1-p)(1/n₁ + 1/n₂)) with the pooled share \
         p, or Fisher's exact test, which decides if fewer than five items are expected in a \
         cell. If both were asked the same items, McNemar's test of the items on which they \
         differ: exact (the default), mid-p, or chi-squared. For one group, Wilson's score \
         interval. Counts come from `correct` and `items`, or from a printed `share`: then every \
         count that rounds to it is tried, and a decision stands only if all of them agree. \
         Significant in the claimed direction verifies, significant in the other refutes, not \
         significant is inconclusive. \"Significant\" is arithmetic: p at or above alpha refutes \
         it. A printed p whose test is not named is searched among those that apply.\n\
         How it can mislead: items are not independent if they share a passage; two models on the \
         same items are not two independent groups; this measures the noise of the items, not the \
         noise between training runs.\n\
         Reference: Wilson 1927; McNemar 1947; Fisher 1934; Dror et al. 2018, The Hitchhiker's \
         Guide to Testing Statistical Significance in NLP.",
    fields: &[
        FieldSpec::optional(
            "a",
            "a group: `label`, `items`, and `correct` (a count) or `share` (as printed)",
        ),
        FieldSpec::optional("b", "the other group; absent for an interval of one"),
        FieldSpec::optional(
            "discordant",
            "`a_only` and `b_only`: how many items only one of them got right",
        ),
        FieldSpec::optional(
            "outcomes",
            "`a` and `b`, references to lines of `task`, `n`, `bits`, and `task` if not all count",
        ),
        FieldSpec::optional(
            "test",
            "z, fisher, mcnemar, mid_p or chi_squared; chosen by the inputs if absent",
        ),
        FieldSpec::optional("same_items", "whether both groups are of the same items"),
        FieldSpec::optional(
            "statistic",
            "what `claimed` is: difference (default), p, z, or the interval of one group; a ± is the standard error",
        ),
        DIRECTION,
        ALPHA,
        SIDES,
        FAMILY,
        LEVEL,
        CLAIMED_P,
        SIGNIFICANT,
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let rule = DecisionRule::of(claim, evidence)?;
    let statistic = choice(node, "statistic", &["difference", "p", "z", "interval"])?;
    let groups = Groups::read(node, evidence)?;
    if let Some(share) = groups.impossible() {
        let reason = format!("no number of right items gives {}", share.shown());
        return Ok(Outcome::refuted(&NO_COUNT, reason).by(Method::Recomputed));
    }
    let tests = groups.tests(choice(node, "test", TESTS)?, &rule, node)?;
    let mut parts = Vec::new();
    if let Some(claimed) = claim.claimed {
        let stated = Numbers::read(claimed)?;
        let ends = claimed.text()?.trim_start().starts_with(['[', '(']);
        parts.push(match statistic {
            _ if ends => groups.wilson(&stated, &rule, claimed)?,
            Some("interval") => groups.wilson(&stated, &rule, claimed)?,
            _ if stated.numbers.len() == 2 => groups.with_error(&stated, claimed)?,
            Some("p") => p_values(&stated, &tests, &rule),
            Some("z") => number(&stated, groups.z(), "z"),
            _ => number(&stated, groups.difference(), "the difference"),
        });
    }
    if let Some(p) = node.get("claimed_p") {
        parts.push(p_values(&Numbers::read(p)?, &tests, &rule));
    }
    if let Some(significant) = node.get("significant") {
        parts.push(tests.significant(significant.truth()?, &rule));
    }
    if let Some(direction) = rule.direction {
        parts.push(tests.decide(direction, &rule));
    }
    if parts.is_empty() {
        let expected = "`claimed`, `claimed_p`, `significant` or `direction`";
        return Err(super::NO_CLAIMED.at(claim.place(), expected, "none of them"));
    }
    let mut outcome = worst(parts);
    if outcome.rule.is_empty() {
        outcome = outcome.within("p", rule.text());
    }
    if outcome.recomputed.is_empty() || rule.direction.is_some() {
        outcome = outcome.giving(tests.text(&groups));
    }
    if node.get("same_items").map(Node::truth).transpose()? == Some(true) && !groups.is_paired() {
        let message = "as if the items of the two were different ones: a paired test sees more";
        outcome = outcome.noting(&PAIRED_LOST, message);
    }
    Ok(outcome.by(Method::Recomputed))
}

/// The tests by name.
const TESTS: &[&str] = &["z", "fisher", "mcnemar", "mid_p", "chi_squared"];

/// What is compared.
enum Groups {
    /// One group.
    One(GroupShare),
    /// Two groups of different items, as far as is known.
    Two(GroupShare, GroupShare),
    /// Items on which only the one, or only the other, was right.
    Paired(u64, u64),
}

impl Groups {
    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        if let Some(pairs) = node.get("discordant") {
            pairs.only(&["a_only", "b_only"])?;
            let count = |field: &str| -> Result<u64, Error> {
                Ok(number_of_items(pairs.required(field)?, evidence)?.1)
            };
            return Ok(Self::Paired(count("a_only")?, count("b_only")?));
        }
        if let Some(outcomes) = node.get("outcomes") {
            let (b, c) = discordant(outcomes, evidence)?;
            return Ok(Self::Paired(b, c));
        }
        let share =
            |field: &str| node.get(field).map(|arm| GroupShare::read(arm, evidence)).transpose();
        match (share("a")?, share("b")?) {
            (Some(a), Some(b)) => Ok(Self::Two(a, b)),
            (Some(a), None) => Ok(Self::One(a)),
            (None, _) => {
                let expected = "`a`, `discordant` or `outcomes`";
                Err(MISSING_FIELD.at(node.place(), expected, "none of them"))
            }
        }
    }

    fn is_paired(&self) -> bool {
        matches!(self, Self::Paired(..))
    }

    /// A group whose printed share no count gives.
    fn impossible(&self) -> Option<&GroupShare> {
        let shares = match self {
            Self::One(a) => vec![a],
            Self::Two(a, b) => vec![a, b],
            Self::Paired(..) => vec![],
        };
        shares.into_iter().find(|share| share.possible.is_empty())
    }

    /// Every pair of counts, the published or nearest ones first.
    fn pairs(&self) -> Vec<(&Proportion, &Proportion)> {
        let Self::Two(a, b) = self else { return Vec::new() };
        a.possible
            .iter()
            .flat_map(|left| b.possible.iter().map(move |right| (left, right)))
            .collect()
    }

    fn counted(&self) -> bool {
        match self {
            Self::One(a) => a.counted,
            Self::Two(a, b) => a.counted && b.counted,
            Self::Paired(..) => true,
        }
    }

    fn z(&self) -> Option<Computed> {
        let z = |(a, b): &(&Proportion, &Proportion)| Some(two_proportions(a, b).ok()?.z);
        let values: Option<Vec<f64>> = self.pairs().iter().map(z).collect();
        Computed::of(&values?, self.counted())
    }

    fn difference(&self) -> Option<Computed> {
        let shares = |(a, b): &(&Proportion, &Proportion)| a.share() - b.share();
        let values: Vec<f64> = self.pairs().iter().map(shares).collect();
        Computed::of(&values, self.counted())
    }

    /// Judges a printed interval of one proportion.
    fn wilson(
        &self,
        stated: &Numbers,
        rule: &DecisionRule,
        claimed: Node,
    ) -> Result<Outcome, Error> {
        let (Self::One(share), [low, high]) = (self, stated.numbers.as_slice()) else {
            let expected = "an interval `[low, high]` of the one group `a`";
            return Err(BAD_CHOICE.at(claimed.place(), expected, "another"));
        };
        let ends: Option<Vec<[f64; 2]>> =
            share.possible.iter().map(|counts| counts.wilson(rule.level).ok()).collect();
        let end = |at: usize| {
            let values: Option<Vec<f64>> =
                ends.as_ref().map(|ends| ends.iter().map(|end| end[at]).collect());
            Computed::of(&values?, share.counted)
        };
        let (Some(first), Some(second)) = (end(0), end(1)) else {
            return Ok(Outcome::inconclusive(&TOO_FEW, "there is no interval of nothing"));
        };
        let text = format!("Wilson [{}, {}]", first.text(), second.text());
        let parts = vec![first.follows(low, &OTHER_DIGITS), second.follows(high, &OTHER_DIGITS)];
        Ok(worst(parts).giving(text).with_impact(Impact::Digit))
    }

    /// Judges a printed share with its standard error.
    fn with_error(&self, stated: &Numbers, claimed: Node) -> Result<Outcome, Error> {
        let (Self::One(share), [value, error]) = (self, stated.numbers.as_slice()) else {
            let expected = "a share ± its standard error of the one group `a`";
            return Err(BAD_CHOICE.at(claimed.place(), expected, "another"));
        };
        let computed = |of: &dyn Fn(&Proportion) -> Option<f64>| {
            let values: Option<Vec<f64>> = share.possible.iter().map(of).collect();
            Computed::of(&values?, share.counted)
        };
        let shares = computed(&|counts| Some(counts.share()));
        let errors = computed(&|counts| counts.standard_error().ok());
        let (Some(shares), Some(errors)) = (shares, errors) else {
            return Ok(Outcome::inconclusive(&TOO_FEW, "one item has no standard error"));
        };
        let text = format!("{} ± {}", shares.text(), errors.text());
        let parts =
            vec![shares.follows(value, &OTHER_DIGITS), errors.follows(error, &OTHER_DIGITS)];
        Ok(worst(parts).giving(text).with_impact(Impact::Digit))
    }

    /// The tests that apply, the one that decides first.
    fn tests(&self, named: Option<&str>, rule: &DecisionRule, node: Node) -> Result<Tests, Error> {
        let two_sided = rule.tail() == PValueTail::Both;
        let named_of = |tests: Vec<TestOverCounts>| {
            let chosen = named.and_then(|name| tests.iter().position(|test| test.id == name));
            match (named, chosen) {
                (None, _) => Ok(Tests { all: tests, declared: false }),
                (Some(_), Some(at)) => {
                    let one = tests.into_iter().nth(at).into_iter().collect();
                    Ok(Tests { all: one, declared: true })
                }
                (Some(name), None) => {
                    let place = node.get("test").unwrap_or(node).place();
                    let known: Vec<_> = tests.iter().map(|test| test.id).collect();
                    let expected = format!("a test of these inputs: {}", known.join(", "));
                    Err(BAD_CHOICE.at(place, expected, format!("`{name}`")))
                }
            }
        };
        match self {
            Self::One(_) => Ok(Tests { all: Vec::new(), declared: false }),
            Self::Two(..) => {
                let pairs = self.pairs();
                let mut tests = vec![TestOverCounts::z(&pairs, rule.tail())];
                if two_sided {
                    tests.push(TestOverCounts::fisher(&pairs));
                }
                if two_sided && pairs.iter().any(|(a, b)| a.least_expected(b) < FEW) {
                    tests.reverse();
                }
                named_of(tests)
            }
            Self::Paired(b, c) if two_sided => named_of(TestOverCounts::mcnemar(*b, *c)),
            Self::Paired(..) => {
                let place = node.get("sides").unwrap_or(node).place();
                Err(BAD_CHOICE.at(place, "2 sides for paired items", "1"))
            }
        }
    }
}

/// One test under every count that is possible: p and which side is ahead, the published counts first.
struct TestOverCounts {
    id: &'static str,
    name: &'static str,
    found: Vec<(f64, f64)>,
    counted: bool,
}

impl TestOverCounts {
    fn z(pairs: &[(&Proportion, &Proportion)], tail: PValueTail) -> Self {
        let one = |(a, b): &(&Proportion, &Proportion)| {
            let test = two_proportions(a, b).ok()?;
            let p = match tail {
                PValueTail::Both => test.p_two_sided(),
                PValueTail::Less => test.p_less(),
                PValueTail::Greater => test.p_greater(),
            };
            Some((p, test.difference))
        };
        let found = pairs.iter().filter_map(one).collect();
        Self { id: "z", name: "pooled z", found, counted: pairs.len() == 1 }
    }

    fn fisher(pairs: &[(&Proportion, &Proportion)]) -> Self {
        let found = pairs.iter().map(|(a, b)| (fisher(a, b), a.share() - b.share())).collect();
        Self { id: "fisher", name: "Fisher", found, counted: pairs.len() == 1 }
    }

    fn mcnemar(b: u64, c: u64) -> Vec<Self> {
        let Ok(paired) = mcnemar(b, c) else { return Vec::new() };
        let ahead = b as f64 - c as f64;
        [
            ("mcnemar", "exact McNemar", paired.exact),
            ("mid_p", "mid-p McNemar", paired.mid),
            ("chi_squared", "McNemar chi-squared", paired.chi_squared),
        ]
        .map(|(id, name, p)| Self { id, name, found: vec![(p, ahead)], counted: true })
        .into()
    }

    /// Its p within the family, under each possible count.
    fn adjusted(&self, rule: &DecisionRule) -> Vec<f64> {
        self.found.iter().map(|(p, _)| rule.adjusted_p(*p)).collect()
    }
}

/// The tests of a claim, the one that decides first.
struct Tests {
    all: Vec<TestOverCounts>,
    declared: bool,
}

impl Tests {
    /// The test that decides, where there is one that has a value.
    fn first(&self) -> Option<&TestOverCounts> {
        self.all.first().filter(|test| !test.found.is_empty())
    }

    fn decide(&self, direction: Direction, rule: &DecisionRule) -> Outcome {
        let Some(test) = self.first() else { return untested() };
        let adjusted = test.adjusted(rule);
        let claimed = |ahead: f64| match direction {
            Direction::Less => ahead < 0.0,
            Direction::Greater => ahead > 0.0,
            Direction::Differs => ahead != 0.0,
        };
        // One-sided, the other side shows in a p near one.
        let opposite = |p: f64| rule.tail() != PValueTail::Both && p > 1.0 - rule.alpha;
        let sides: Vec<Option<bool>> = adjusted
            .iter()
            .zip(&test.found)
            .map(|(p, (_, ahead))| match *p < rule.alpha {
                true => Some(claimed(*ahead)),
                false => opposite(*p).then_some(false),
            })
            .collect();
        let p = shown(adjusted.first());
        let text = format!("{} p = {p}", test.name);
        let same = |wanted| sides.iter().all(|side| *side == wanted);
        if same(Some(true)) {
            Outcome::verified()
        } else if same(Some(false)) {
            let reason = format!("{text}, in the other direction");
            Outcome::refuted(&OTHER_DECISION, reason).with_impact(Impact::Decision)
        } else if same(None) {
            let alpha = shown(Some(&rule.alpha));
            Outcome::inconclusive(&BOUNDARY, format!("{text} is not below {alpha}"))
        } else {
            Outcome::inconclusive(&ROUNDING, self.range(test, rule))
        }
    }

    fn significant(&self, stated: bool, rule: &DecisionRule) -> Outcome {
        let Some(test) = self.first() else { return untested() };
        let adjusted = test.adjusted(rule);
        let below = |p: &f64| (*p < rule.alpha) == stated;
        let outcome = if adjusted.iter().all(below) {
            Outcome::verified()
        } else if adjusted.iter().any(below) {
            Outcome::inconclusive(&ROUNDING, self.range(test, rule))
        } else {
            let relation = if stated { "not below" } else { "below" };
            let (p, alpha) = (shown(adjusted.first()), shown(Some(&rule.alpha)));
            let reason = format!("{} p = {p} is {relation} {alpha}", test.name);
            Outcome::refuted(&OTHER_DECISION, reason).with_impact(Impact::Decision)
        };
        outcome.within("p", rule.text())
    }

    /// The p values of all counts that the printed shares allow.
    fn range(&self, test: &TestOverCounts, rule: &DecisionRule) -> String {
        let mut adjusted = test.adjusted(rule);
        adjusted.sort_by(f64::total_cmp);
        format!(
            "the printed shares allow {} p from {} to {}",
            test.name,
            shown(adjusted.first()),
            shown(adjusted.last())
        )
    }

    /// "a 549 of 1,319, b …: pooled z p = 0.012, Fisher p = 0.013".
    fn text(&self, groups: &Groups) -> String {
        let tested: Vec<_> = self
            .all
            .iter()
            .filter_map(|test| {
                Some(format!("{} p = {}", test.name, shown(Some(&test.found.first()?.0))))
            })
            .collect();
        let groups = match groups {
            Groups::One(a) => a.shown(),
            Groups::Two(a, b) => format!("{}, {}", a.shown(), b.shown()),
            Groups::Paired(b, c) => format!("only the first right on {b}, only the second on {c}"),
        };
        if tested.is_empty() { groups } else { format!("{groups}: {}", tested.join(", ")) }
    }
}

/// Nothing to test.
fn untested() -> Outcome {
    let reason = "all items had one outcome, or there is one group only: nothing to test";
    Outcome::inconclusive(&TOO_FEW, reason)
}

/// A printed p against each test that applies.
fn p_values(stated: &Numbers, tests: &Tests, rule: &DecisionRule) -> Outcome {
    let candidate = |test: &TestOverCounts| {
        let values: Vec<f64> = test.found.iter().map(|(p, _)| *p).collect();
        let computed = Computed::of(&values, test.counted)?;
        let values = vec![(Statistic::P(rule.tail()), computed)];
        Some(Candidate { name: test.name.to_owned(), values, df: None })
    };
    let candidates: Vec<_> = tests.all.iter().filter_map(candidate).collect();
    let inferred = !tests.declared && candidates.len() > 1;
    printed(stated, &candidates, inferred, (rule, 0.0, WRONG))
}

/// One printed number against what it should be.
fn number(stated: &Numbers, computed: Option<Computed>, what: &str) -> Outcome {
    let (Some(computed), [printed]) = (computed, stated.numbers.as_slice()) else {
        return Outcome::inconclusive(&TOO_FEW, format!("these inputs do not give {what}"));
    };
    let outcome = computed.follows(printed, &OTHER_DIGITS);
    if outcome.reason.is_empty() {
        return outcome;
    }
    let reason = format!("{what}: {}", outcome.reason);
    Outcome { reason, ..outcome }.with_impact(Impact::Digit)
}

fn shown(value: Option<&f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| super::arms::number(*value, 4))
}
