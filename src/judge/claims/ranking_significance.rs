//! Whether a lead exceeds the noise between runs.

use super::arms::{ArmRuns, number};
use super::axes::{Axis, Ranked};
use super::comparison::{
    Computed, PAIRED, PAIRED_BEFORE, Pair, Pairing, SAME_DATA_ORDER, Test, difference,
};
use super::significance::{
    ALPHA, CLAIMED_P, DecisionRule, Direction, LEVEL, READING, SIDES, SIGNIFICANT, STATISTIC, Wrong,
};
use super::statement::{TestStatement, worst};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};

repro_receipt::source::codes! {
    OTHER_DIGITS = "ranking_significance::other-digits", "a printed statistic of the lead does not follow from the runs", "correct it, or publish what it was computed from";
    OTHER_ORDER = "ranking_significance::other-order", "the runs decide the other way", "correct the sentence, or name the axis on which it holds";
    ONE_RUN = "ranking_significance::one-run", "one run per cell: nothing measures the noise that a lead must exceed", "publish replicate runs of each candidate";
    EXTERNAL_VARIANCE = "ranking_significance::external-variance", "the noise was measured on another configuration", "publish replicate runs of the candidates themselves";
    SPREADS = "ranking_significance::spreads-differ", "with one spread for both the lead is decided, with a spread for each it is not, or the other way", "publish more runs";
    AXES_DISAGREE = "ranking_significance::axes-disagree", "no axis is named and the runs decide differently on them", "name the axis that is meant";
}

/// The codes of a wrong digit and of a wrong decision.
const WRONG: Wrong = Wrong { digit: &OTHER_DIGITS, decision: &OTHER_ORDER };
/// The most pairs that a reason tells.
const TOLD: usize = 3;

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "ranking_significance",
    summary: "a lead exceeds the noise between runs",
    explain: "For each pair (ahead, behind): t = difference/(s√(1/n₁ + 1/n₂)), s the pooled \
         standard deviation of the replicates with their n₁ + n₂ - 2 degrees of freedom; as pairs \
         if pairing was declared before the runs and the seed fixes the data order. Several pairs \
         are one family (Holm). Verified if every adjusted interval lies wholly on the side of \
         the one ahead; refuted if one lies wholly on the other; inconclusive if it contains \
         zero, or if pooling and Welch decide differently. With one run per cell nothing measures \
         the noise: inconclusive. `noise`, or the spread of one of the two, gives a t for such \
         cells, but noise of another configuration decides nothing. A claim of superiority needs \
         a `ranking` that depends on a claim of this kind.\n\
         How it can mislead: replicates that share a seed, a machine or a checkpoint understate \
         the noise; a lead may be real for these budgets and not for others; the axis may not be \
         what matters.\n\
         Reference: Student 1908; Holm 1979; Bouthillier et al. 2021, Accounting for Variance in \
         Machine Learning Benchmarks.",
    fields: &[
        FieldSpec::required(
            "axes",
            "tables of `name`, `better` (lower or higher), labeled `values` (groups of runs, or \
                 terms: one run each) and `noise` (replicates of another configuration)",
        ),
        FieldSpec::optional("winner", "the label, or labels, that the sentence puts ahead"),
        FieldSpec::optional("loser", "what they are ahead of; all others if absent"),
        FieldSpec::optional("order", "all labels from best to worst, instead of `winner`"),
        FieldSpec::optional("axis", "the axis that the sentence names"),
        PAIRED,
        PAIRED_BEFORE,
        SAME_DATA_ORDER,
        ALPHA,
        SIDES,
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
    let pairing = Pairing::of(node)?;
    let ranked = Ranked::read(node, &["noise"], |value| ArmRuns::read(value, evidence))?;
    let noises = noises(node, evidence)?;
    let mut duels = Vec::new();
    for (axis, noise) in ranked.axes.iter().zip(&noises).filter(|(axis, _)| ranked.decides(axis)) {
        for (ahead, behind) in axis.pairs(node)? {
            duels.push(Duel::of(axis, (ahead, behind), noise.as_ref(), pairing, node)?);
        }
    }
    let told: Vec<_> = duels.iter().map(|duel| duel.text(rule.level)).collect();
    let outcome = match states_numbers(claim) {
        false => decide(&duels, &rule),
        true => {
            let [duel] = duels.as_slice() else {
                let expected = "one pair on one axis, whose statistic is printed";
                return Err(BAD_CHOICE.at(
                    claim.place(),
                    expected,
                    format!("{} pairs", duels.len()),
                ));
            };
            worst(vec![duel.printed(claim, &rule)?, decide(&duels, &rule)])
        }
    };
    let family = rule.among(duels.iter().skip(1).filter_map(|duel| duel.p(&rule)));
    Ok(family.within(outcome).giving(told.join("; ")).by(Method::Recomputed))
}

/// Whether the claim prints a statistic, or calls one significant.
fn states_numbers(claim: &Claim) -> bool {
    claim.claimed.is_some()
        || ["claimed_p", "significant"].iter().any(|field| claim.node.get(field).is_some())
}

/// The noise that each axis names, in the order of the axes.
fn noises(node: Node, evidence: &Evidence) -> Result<Vec<Option<ArmRuns>>, Error> {
    let axes = node.required("axes")?.items()?;
    axes.map(|axis| axis.get("noise").map(|noise| ArmRuns::read(noise, evidence)).transpose())
        .collect()
}

/// One candidate against another on one axis.
struct Duel<'a> {
    axis: &'a Axis<'a, ArmRuns>,
    ahead: &'a ArmRuns,
    behind: &'a ArmRuns,
    estimate: Computed,
    noise_source: NoiseSource,
}

/// What measures the noise of a duel.
enum NoiseSource {
    /// Replicates of both: the test that decides, then Welch's where it is another.
    Own(Vec<Test>),
    /// Replicates of this group, which is not both of the candidates.
    External(Box<Test>, String),
    /// Nothing, and why.
    Nothing(String),
}

impl<'a> Duel<'a> {
    fn of(
        axis: &'a Axis<'a, ArmRuns>,
        (ahead, behind): (&'a ArmRuns, &'a ArmRuns),
        noise: Option<&ArmRuns>,
        pairing: Pairing,
        node: Node,
    ) -> Result<Self, Error> {
        let recorded = ahead.is_recorded() && behind.is_recorded();
        let estimate = Computed::exact(difference(ahead, behind), recorded);
        let pair = Pair::of(ahead, behind, pairing, node)?;
        let noise_source = match pair.tests {
            // Welch's test is the other one of pairs, and the only one of what is not paired.
            Ok(tests) if pairing.established => {
                NoiseSource::Own(tests.into_iter().take(1).collect())
            }
            Ok(tests) => match Test::pooled(ahead, behind) {
                Ok(pooled) => NoiseSource::Own(
                    std::iter::once(pooled).chain(tests.into_iter().take(1)).collect(),
                ),
                Err(why) => NoiseSource::Nothing(why),
            },
            Err(why) => {
                let other = [ahead, behind].into_iter().find(|arm| arm.summaries().is_ok());
                let external = noise.or(other).map(|noise| {
                    Test::external(ahead, behind, noise).map(|test| {
                        let from = format!("{} ({} runs)", noise.name(), noise.n());
                        NoiseSource::External(Box::new(test), from)
                    })
                });
                external.unwrap_or(Err(why)).unwrap_or_else(NoiseSource::Nothing)
            }
        };
        Ok(Self { axis, ahead, behind, estimate, noise_source })
    }

    /// The side that the sentence claims for ahead less behind.
    fn direction(&self) -> Direction {
        if self.axis.lower_is_better { Direction::Less } else { Direction::Greater }
    }

    /// The p that counts in the family.
    fn p(&self, rule: &DecisionRule) -> Option<f64> {
        let NoiseSource::Own(tests) = &self.noise_source else { return None };
        Some(rule.towards(self.direction()).tail().p(&tests.first()?.as_printed()))
    }

    /// "CORE: MoE-256 - MoE-64 = 0.00132, pooled t = …".
    fn text(&self, level: f64) -> String {
        let test = match &self.noise_source {
            NoiseSource::Own(tests) => {
                let texts: Vec<_> = tests.iter().map(|test| test.text(level)).collect();
                format!(", {}", texts.join("; "))
            }
            NoiseSource::External(test, _) => {
                let t = test.as_printed();
                let (value, df, p) = (number(t.t, 4), number(t.df, 4), number(t.p_two_sided(), 3));
                format!(", t = {value} with external variance, df {df}, two-sided p = {p}")
            }
            NoiseSource::Nothing(_) => String::new(),
        };
        let (ahead, behind) = (self.ahead.name(), self.behind.name());
        format!("{}: {ahead} - {behind} = {}{test}", self.axis.name, self.estimate.text())
    }

    /// The decision, in the family of all pairs.
    fn judge(&self, rule: &DecisionRule) -> Outcome {
        let rule = rule.towards(self.direction());
        match &self.noise_source {
            NoiseSource::Own(tests) => match tests.as_slice() {
                [pooled, welch] if rule.side(welch, 0.0) != rule.side(pooled, 0.0) => {
                    let texts =
                        [pooled, welch].map(|test| rule.interval_text(test)).join(", Welch ");
                    Outcome::inconclusive(&SPREADS, format!("{}: pooled {texts}", pooled.what))
                }
                [test, ..] => rule.decide(test, 0.0, WRONG),
                [] => Outcome::inconclusive(&ONE_RUN, "there is no test"),
            },
            NoiseSource::External(..) => Outcome::inconclusive(
                &EXTERNAL_VARIANCE,
                "the variance is external: measured on another configuration",
            ),
            NoiseSource::Nothing(why) => {
                Outcome::inconclusive(&ONE_RUN, format!("{}: {why}", self.axis.name))
            }
        }
    }

    /// The printed statistic of this pair.
    fn printed(&self, claim: &Claim, rule: &DecisionRule) -> Result<Outcome, Error> {
        let tests = match &self.noise_source {
            NoiseSource::Own(tests) => Ok(tests.as_slice()),
            NoiseSource::External(test, _) => Ok(std::slice::from_ref(&**test)),
            NoiseSource::Nothing(why) => Err(why.as_str()),
        };
        let estimate = &self.estimate;
        let statement = TestStatement {
            rule,
            tests,
            printed_test: None,
            estimate,
            boundary: 0.0,
            wrong: WRONG,
        };
        Ok(worst(statement.numbers(claim)?))
    }
}

/// All pairs of an axis must be decided for the claim; where no axis is named, on all axes.
fn decide(duels: &[Duel], rule: &DecisionRule) -> Outcome {
    let mut judged = Vec::with_capacity(duels.len());
    for (at, duel) in duels.iter().enumerate() {
        let others = duels.iter().enumerate().filter(|(other, _)| *other != at);
        let family: Vec<f64> = others.filter_map(|(_, other)| other.p(rule)).collect();
        judged.push((duel, duel.judge(&rule.among(family))));
    }
    let mut axes: Vec<(&str, Verdict)> = Vec::new();
    for (duel, outcome) in &judged {
        match axes.iter_mut().find(|(name, _)| *name == duel.axis.name) {
            Some((_, verdict)) => *verdict = outcome.verdict.min(*verdict),
            None => axes.push((duel.axis.name, outcome.verdict)),
        }
    }
    let all = |wanted: Verdict| axes.iter().all(|(_, verdict)| *verdict == wanted);
    if all(Verdict::Verified) {
        return Outcome::verified();
    }
    let undecided = axes.iter().all(|(_, verdict)| *verdict == Verdict::Inconclusive);
    if !undecided && !all(Verdict::Refuted) {
        let side = |(name, verdict): &(&str, Verdict)| format!("{} by {name}", verdict.word());
        let sides: Vec<_> = axes.iter().map(side).collect();
        let reason = format!("no axis is named: {}", sides.join(", "));
        return Outcome::inconclusive(&AXES_DISAGREE, reason);
    }
    let worst = if undecided { Verdict::Inconclusive } else { Verdict::Refuted };
    let deciding: Vec<_> = judged.iter().filter(|(_, outcome)| outcome.verdict == worst).collect();
    told(&deciding)
}

/// One outcome for pairs that came out alike, with the reasons of all.
fn told(deciding: &[&(&Duel, Outcome)]) -> Outcome {
    let Some((_, first)) = deciding.first().map(|pair| (&pair.0, &pair.1)) else {
        return Outcome::inconclusive(&ONE_RUN, "there is no pair");
    };
    let unmeasured: Vec<_> = deciding
        .iter()
        .map(|(duel, _)| *duel)
        .filter(|duel| !matches!(duel.noise_source, NoiseSource::Own(..)))
        .collect();
    if unmeasured.len() == deciding.len() {
        return unknown_noise(&unmeasured);
    }
    let mut reasons: Vec<_> = deciding
        .iter()
        .filter(|(_, outcome)| outcome.code == first.code)
        .map(|(_, outcome)| outcome.reason.clone())
        .collect();
    reasons.dedup();
    Outcome { reason: listed(reasons), ..first.clone() }
}

/// Pairs whose noise nothing measures, or only runs of something else.
fn unknown_noise(duels: &[&Duel]) -> Outcome {
    let mut names: Vec<_> =
        duels.iter().flat_map(|duel| [duel.ahead.name(), duel.behind.name()]).collect();
    names.sort_unstable();
    names.dedup();
    let single = duels.iter().all(|duel| duel.ahead.n() == 1 && duel.behind.n() == 1);
    let cells = if single { "one run per cell" } else { "a cell without replicates" };
    let names = names.join(", ");
    let reason = format!("{cells}: no noise between runs of {names} is known");
    let mut lent = None;
    let mut statistics = Vec::new();
    for duel in duels {
        if let NoiseSource::External(test, from) = &duel.noise_source {
            lent.get_or_insert(from);
            let t = number(test.as_printed().t, 3);
            let (axis, ahead, behind) = (duel.axis.name, duel.ahead.name(), duel.behind.name());
            statistics.push(format!("t = {t} on {axis} ({ahead} - {behind})"));
        }
    }
    match lent {
        None => Outcome::inconclusive(&ONE_RUN, reason),
        Some(from) => {
            let statistics = listed(statistics);
            let lent =
                format!("the variance is that of {from}, which decides nothing: {statistics}");
            Outcome::inconclusive(&EXTERNAL_VARIANCE, format!("{reason}; {lent}"))
        }
    }
}

/// The first few, and how many more there are.
fn listed(mut parts: Vec<String>) -> String {
    let more = parts.len().saturating_sub(TOLD);
    parts.truncate(TOLD);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join("; ")
}
