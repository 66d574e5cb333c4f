//! A gap grows or shrinks with training, by its slope on the logarithm of tokens.

use num_rational::BigRational;
use num_traits::Signed;

use super::arms::ArmRuns;
use super::comparison::{Computed, Test};
use super::significance::{
    ALPHA, CLAIMED_P, DIRECTION, DecisionRule, FAMILY, LEVEL, READING, SIDES, SIGNIFICANT,
    STATISTIC, Wrong,
};
use super::statement::TestStatement;
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity, NOT_A_NUMBER};
use crate::post::Claim;
use repro_exact::decimal::{Interval, Unit, format_significant, nearest_f64};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats as stats;

repro_receipt::source::codes! {
    OTHER_DIGITS = "trend::other-digits", "a printed slope or statistic does not follow from the runs", "correct it, or publish what it was computed from";
    OTHER_TREND = "trend::other-trend", "the runs show another trend than stated", "correct the statement";
    NO_PHASE = "trend::no-phase", "the learning-rate phase of the points is not named", "name the phase of each point: a gap read while the rate decays is not one read at its peak";
    MISSING = "trend::missing-points", "points of the trend are not published", "publish the gap, for every seed, at two numbers of tokens or more within one phase";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &OTHER_TREND };

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "trend",
    summary: "a gap grows or shrinks with the logarithm of tokens",
    explain: "For each seed the least-squares slope of its gap on ln(tokens): Σ(x - x̄)y/Σ(x - \
         x̄)². The slopes are tested as one sample: t = mean/(s/√n), n - 1 degrees of freedom. \
         Only points of one learning-rate `phase` count, because a gap read while the rate decays \
         differs from one read at its peak for other reasons than tokens. Without phases, with \
         fewer than two points in the phase, or with an unpublished point the claim is unchecked. \
         A direction is judged as in `gap`; one seed is inconclusive. The logarithm is an \
         enclosure that is the same on every machine.\n\
         How it can mislead: points of one run are not independent, so n counts seeds, not \
         points; a slope says nothing beyond the observed range.\n\
         Reference: Student 1908; Kaplan et al. 2020, on losses as functions of ln(tokens).",
    fields: &[
        FieldSpec::required(
            "points",
            "tables of `tokens` (a term), `phase`, and per seed, in one order, `gaps` or `a` and `b` (terms)",
        ),
        FieldSpec::optional("phase", "the learning-rate phase that the sentence is about"),
        DIRECTION,
        ALPHA,
        SIDES,
        FAMILY,
        STATISTIC,
        READING,
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
    let list = node.required("points")?;
    let points: Vec<Point> =
        list.items()?.map(|point| Point::read(point, evidence)).collect::<Result<_, _>>()?;
    let phase = node.get("phase").map(Node::text).transpose()?;
    let chosen = match choose(&points, phase) {
        Ok(chosen) => chosen,
        Err(outcome) => return Ok((*outcome).within("t", rule.text())),
    };
    let slopes = slopes(&chosen, list)?;
    let estimate = Computed::exact(slopes.mean(), true);
    let test = match slopes.n() {
        1 => Err("one seed: nothing measures the noise between runs".to_owned()),
        _ => Test::one_sample("paired t", &slopes, 0.0),
    };
    let tests: Result<&[Test], &str> = match &test {
        Ok(test) => Ok(std::slice::from_ref(test)),
        Err(why) => Err(why),
    };
    let (boundary, wrong) = (0.0, WRONG);
    let estimate = &estimate;
    let statement =
        TestStatement { rule: &rule, tests, printed_test: None, estimate, boundary, wrong };
    let outcome = rule.within(statement.judge(claim)?);
    let test = test.map(|test| format!(", {}", test.text(rule.level))).unwrap_or_default();
    let seeds = if slopes.n() == 1 { "seed" } else { "seeds" };
    let given = format!("mean slope {} of {} {seeds}{test}", estimate.text(), slopes.n());
    Ok(outcome.giving(given).by(Method::Recomputed))
}

/// The gaps of all seeds after so many tokens.
struct Point<'a> {
    /// ln(tokens).
    x: f64,
    tokens: String,
    phase: Option<&'a str>,
    /// Empty where they are not published.
    gaps: Vec<EvidenceQuantity>,
}

impl<'a> Point<'a> {
    fn read(node: Node<'a>, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["tokens", "phase", "gaps", "a", "b"])?;
        let asked = node.required("tokens")?;
        let tokens = evidence.quantity(asked)?;
        let positive = tokens.value().is_positive();
        let x = Interval::point(tokens.value()).ln().filter(|_| positive).ok_or_else(|| {
            NOT_A_NUMBER.at(asked.place(), "a number of tokens above 0", tokens.text.clone())
        })?;
        let gaps = match (node.get("gaps"), node.get("a"), node.get("b")) {
            (Some(gaps), None, None) => evidence.quantities(gaps)?,
            (None, Some(a), Some(b)) => {
                let arm = |label: &str, list: Node| {
                    Ok::<_, Error>(ArmRuns::computed(label, evidence.quantities(list)?))
                };
                arm("a", a)?.minus(&arm("b", b)?, node)?.into_values()
            }
            (None, None, None) => Vec::new(),
            _ => {
                let expected = "`gaps`, or `a` and `b`, or none of them";
                return Err(BAD_CHOICE.at(node.place(), expected, "another set"));
            }
        };
        let phase = node.get("phase").map(Node::text).transpose()?;
        Ok(Self { x: nearest_f64(&x.middle()), tokens: tokens.text, phase, gaps })
    }
}

/// The points of the phase that is meant, or why there is no trend to judge.
fn choose<'p, 'a>(
    points: &'p [Point<'a>],
    phase: Option<&str>,
) -> Result<Vec<&'p Point<'a>>, Box<Outcome>> {
    if points.is_empty() {
        let reason = "no point of the trend is published";
        return Err(Box::new(Outcome::unchecked(&MISSING, reason)));
    }
    if let Some(point) = points.iter().find(|point| point.phase.is_none()) {
        let reason = format!("the learning-rate phase at {} tokens is not named", point.tokens);
        return Err(Box::new(Outcome::unchecked(&NO_PHASE, reason)));
    }
    let mut phases: Vec<_> = points.iter().filter_map(|point| point.phase).collect();
    phases.sort_unstable();
    phases.dedup();
    let meant = match (phase, phases.as_slice()) {
        (Some(phase), _) => phase,
        (None, [only]) => only,
        (None, many) => {
            let reason = format!("points of several phases and none is named: {}", many.join(", "));
            return Err(Box::new(Outcome::unchecked(&NO_PHASE, reason)));
        }
    };
    let chosen: Vec<_> = points.iter().filter(|point| point.phase == Some(meant)).collect();
    if let Some(point) = chosen.iter().find(|point| point.gaps.is_empty()) {
        let reason = format!("the gaps at {} tokens are not published", point.tokens);
        return Err(Box::new(Outcome::unchecked(&MISSING, reason)));
    }
    if chosen.len() < 2 {
        let reason =
            format!("{} of the points lie in the phase {meant}: a slope needs two", chosen.len());
        return Err(Box::new(Outcome::unchecked(&MISSING, reason)));
    }
    Ok(chosen)
}

/// The slope of each seed, with what unprinted digits of its gaps may do to it.
fn slopes(points: &[&Point], list: Node) -> Result<ArmRuns, Error> {
    let seeds = points.first().map_or(0, |point| point.gaps.len());
    let odd = points.iter().find(|point| point.gaps.len() != seeds);
    if let Some(odd) = odd {
        let found = format!("{} at {} tokens", odd.gaps.len(), odd.tokens);
        return Err(BAD_CHOICE.at(list.place(), format!("{seeds} seeds at every point"), found));
    }
    let x: Vec<f64> = points.iter().map(|point| point.x).collect();
    let one = |seed: usize| {
        let gaps: Vec<&EvidenceQuantity> =
            points.iter().filter_map(|point| point.gaps.get(seed)).collect();
        let y: Vec<f64> = gaps.iter().map(|gap| nearest_f64(&gap.value())).collect();
        let slope = stats::slope(&x, &y).map_err(|refused| {
            BAD_CHOICE.at(
                list.place(),
                "points at different numbers of tokens",
                refused.to_string(),
            )
        })?;
        // Gaps that are off by up to h each turn the slope by at most h Σ|x - x̄|/Σ(x - x̄)².
        let widest = gaps.iter().map(|gap| gap.interval.width()).max().unwrap_or_default();
        let reach = nearest_f64(&widest) / 2.0 * leverage(&x);
        let exact = |value: f64| BigRational::from_float(value).unwrap_or_default();
        Ok(EvidenceQuantity {
            label: String::new(),
            interval: Interval::around(&exact(slope), &exact(reach)),
            float: slope,
            unit: Unit::Plain,
            text: format_significant(&exact(slope), 6),
            derivation: String::new(),
            approximate: false,
        })
    };
    let slopes: Result<Vec<_>, Error> = (0..seeds).map(one).collect();
    Ok(ArmRuns::computed("slope", slopes?))
}

/// Σ|x - x̄|/Σ(x - x̄)².
fn leverage(x: &[f64]) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let (mut sizes, mut squares) = (0.0, 0.0);
    for x in x {
        sizes += (x - mean).abs();
        squares += (x - mean) * (x - mean);
    }
    sizes / squares
}
