//! A ranking changes, or stays, when what is held fixed changes.

use super::arms::{ArmRuns, number};
use super::comparison::{PAIRED, PAIRED_BEFORE, Pair, Pairing, SAME_DATA_ORDER, Test};
use super::significance::{ALPHA, DecisionRule, Direction, FAMILY};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::T;

repro_receipt::source::codes! {
    OTHER_ANSWER = "reversal::other-answer", "the runs decide otherwise than stated", "correct the statement";
    UNDECIDED = "reversal::undecided", "no pair is significant both times with opposite signs, and not every pair is with one sign", "publish more runs, or say that these cannot decide";
    NO_NOISE = "reversal::no-noise", "nothing measures the noise between runs", "publish replicate runs of every group";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "reversal",
    summary: "a ranking changes, or stays, when what is held fixed changes",
    explain: "Under each of two contracts every pair of groups is tested, as in `gap`, and the p \
         values of one contract are adjusted by Holm, together with those of `family`. A pair is \
         reversed if it is significant under both contracts with opposite signs. \"The ranking \
         changes\" is verified by one reversed pair, and refuted if every pair is significant \
         under both with the same sign; \"it stays\" the other way round. Anything else is \
         inconclusive: a pair that is significant under only one contract has not changed its \
         order, because the difference between significant and not significant is itself not \
         significant.\n\
         How it can mislead: the contracts differ in tokens and schedules too, so a reversal may \
         come from the training length.\n\
         Reference: Gelman and Stern 2006, The difference between \"significant\" and \"not \
         significant\"; Holm 1979.",
    fields: &[
        FieldSpec::required(
            "contracts",
            "two tables of `label` and `arms`, the same labeled groups of runs in both",
        ),
        FieldSpec::required("changes", "whether the sentence says that the ranking changes"),
        FieldSpec::optional("pair", "the two labels that the sentence is about, all if absent"),
        PAIRED,
        PAIRED_BEFORE,
        SAME_DATA_ORDER,
        ALPHA,
        FAMILY,
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let rule = DecisionRule::of(claim, evidence)?.towards(Direction::Differs);
    let changes = node.required("changes")?.truth()?;
    let list = node.required("contracts")?;
    let contracts: Vec<_> =
        list.items()?.map(|one| Contract::read(one, node, evidence)).collect::<Result<_, _>>()?;
    let [first, second] = contracts.as_slice() else {
        let found = contracts.len().to_string();
        return Err(BAD_CHOICE.at(list.place(), "two contracts", found));
    };
    let meant = meant(node)?;
    let mut pairs = Vec::new();
    for (names, signs) in first.signs(&rule) {
        let other = second.signs(&rule).into_iter().find(|(other, _)| *other == names);
        let Some((_, others)) = other else {
            let expected = "the same groups, in the same order, under both contracts";
            return Err(BAD_CHOICE.at(list.place(), expected, names.join(" and ")));
        };
        if meant.is_none_or(|meant| meant.iter().all(|name| names.contains(name))) {
            pairs.push((names, [signs, others]));
        }
    }
    let given: Vec<_> = contracts.iter().map(|contract| contract.text(&rule)).collect();
    let outcome = decide(&pairs, changes, [&first.label, &second.label]);
    Ok(outcome
        .giving(given.join("; "))
        .within("sign and p", tolerance(&rule))
        .by(Method::Recomputed))
}

/// "alpha 0.05, two-sided, Holm over the pairs of each contract".
fn tolerance(rule: &DecisionRule) -> String {
    format!("alpha {}, two-sided, Holm over the pairs of each contract", number(rule.alpha, 6))
}

/// The two labels of `pair`.
fn meant<'a>(node: Node<'a>) -> Result<Option<[&'a str; 2]>, Error> {
    let Some(pair) = node.get("pair") else { return Ok(None) };
    let labels: Vec<_> = pair.items()?.map(Node::text).collect::<Result<_, _>>()?;
    match labels[..] {
        [one, other] if one != other => Ok(Some([one, other])),
        _ => Err(BAD_CHOICE.at(pair.place(), "two labels", labels.join(", "))),
    }
}

/// The groups under one contract, tested in pairs.
struct Contract {
    label: String,
    pairs: Vec<([String; 2], Result<Test, String>)>,
}

/// What the runs say of a pair: the sign of its gap where it is significant.
type Sign = Result<Option<bool>, String>;

impl Contract {
    fn read(node: Node, claim: Node, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["label", "arms"])?;
        let list = node.required("arms")?;
        let arms: Vec<_> =
            list.items()?.map(|arm| ArmRuns::read(arm, evidence)).collect::<Result<_, _>>()?;
        if arms.len() < 2 || arms.iter().any(|arm| arm.label.is_empty()) {
            let found = format!("{} groups", arms.len());
            return Err(BAD_CHOICE.at(list.place(), "two labeled groups or more", found));
        }
        let pairing = Pairing::of(claim)?;
        let mut pairs = Vec::new();
        for (at, a) in arms.iter().enumerate() {
            for b in arms.iter().skip(at + 1) {
                let tests = Pair::of(a, b, pairing, list)?.tests;
                let test = tests.and_then(|tests| {
                    tests.into_iter().next().ok_or_else(|| "there is no test".to_owned())
                });
                pairs.push(([a.label.clone(), b.label.clone()], test));
            }
        }
        Ok(Self { label: node.required("label")?.text()?.to_owned(), pairs })
    }

    /// The p values of all pairs but one.
    fn others(&self, at: usize, rule: &DecisionRule) -> Vec<f64> {
        let tests = self.pairs.iter().enumerate().filter(|(other, _)| *other != at);
        let p = |test: &Test| rule.tail().p(&test.as_printed());
        tests.filter_map(|(_, (_, test))| test.as_ref().ok().map(p)).collect()
    }

    /// Every pair with its sign.
    fn signs(&self, rule: &DecisionRule) -> Vec<([&str; 2], Sign)> {
        let pairs = self.pairs.iter().enumerate();
        pairs
            .map(|(at, (names, test))| {
                (names.each_ref().map(String::as_str), self.sign(at, test, rule))
            })
            .collect()
    }

    /// The sign of one pair; a p that unprinted digits put on both sides of alpha gives none.
    fn sign(&self, at: usize, test: &Result<Test, String>, rule: &DecisionRule) -> Sign {
        let test = test.as_ref().map_err(Clone::clone)?;
        let rule = rule.among(self.others(at, rule));
        let significant = |t: &T| {
            let p = rule.adjusted_p(rule.tail().p(t));
            (p < rule.alpha).then_some(t.estimate > 0.0)
        };
        let mut signs = test.possible().iter().map(significant);
        let first = signs.next().flatten();
        Ok(first.filter(|_| signs.all(|sign| sign == first)))
    }

    /// "active_dn: dense - moe = 0.0211, adjusted p = 0.003".
    fn text(&self, rule: &DecisionRule) -> String {
        let one = |(at, ([a, b], test)): (usize, &([String; 2], Result<Test, String>))| match test {
            Err(why) => format!("{a} - {b}: {why}"),
            Ok(test) => {
                let t = test.as_printed();
                let p = rule.among(self.others(at, rule)).adjusted_p(rule.tail().p(&t));
                format!("{a} - {b} = {}, adjusted p = {}", number(t.estimate, 5), number(p, 3))
            }
        };
        let pairs: Vec<_> = self.pairs.iter().enumerate().map(one).collect();
        format!("{}: {}", self.label, pairs.join(", "))
    }
}

/// Both signs, where both are significant.
fn known(signs: &[Sign; 2]) -> Option<[bool; 2]> {
    let [first, second] = signs;
    Some([(*first.as_ref().ok()?)?, (*second.as_ref().ok()?)?])
}

/// What the pairs say of a ranking that is said to change, or to stay.
fn decide(pairs: &[([&str; 2], [Sign; 2])], changes: bool, labels: [&str; 2]) -> Outcome {
    if let Some((names, why)) = pairs.iter().find_map(|(names, signs)| {
        let why = signs.iter().find_map(|sign| sign.as_ref().err())?;
        Some((names, why))
    }) {
        let [a, b] = names;
        let reason = format!("no noise between runs of {a} and {b} is known: {why}");
        return Outcome::inconclusive(&NO_NOISE, reason);
    }
    let named = |names: &[&str; 2]| format!("{} and {}", names[0], names[1]);
    let reversed = pairs.iter().find(|(_, s)| known(s).is_some_and(|[a, b]| a != b));
    let open = pairs.iter().find(|(_, signs)| known(signs).is_none());
    match (reversed, open) {
        (Some(_), _) if changes => Outcome::verified(),
        (Some((names, _)), _) => {
            let reason = format!(
                "{} change places between {} and {}, significantly both times",
                named(names),
                labels[0],
                labels[1]
            );
            Outcome::refuted(&OTHER_ANSWER, reason)
        }
        (None, None) if changes => {
            let reason = "every pair has the same significant order under both contracts";
            Outcome::refuted(&OTHER_ANSWER, reason)
        }
        (None, None) => Outcome::verified(),
        (None, Some((names, signs))) => {
            let silent: Vec<_> = labels
                .iter()
                .zip(signs)
                .filter(|(_, sign)| !matches!(sign, Ok(Some(_))))
                .map(|(label, _)| *label)
                .collect();
            let reason = format!(
                "no pair is reversed, and {} are not told apart under {}",
                named(names),
                silent.join(" and ")
            );
            Outcome::inconclusive(&UNDECIDED, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_report::outcome::Verdict;

    fn verdict(signs: &[[Option<bool>; 2]], changes: bool) -> Verdict {
        let pairs: Vec<_> = signs.iter().map(|pair| (["a", "b"], pair.map(Ok))).collect();
        decide(&pairs, changes, ["one", "two"]).verdict
    }

    #[test]
    fn only_significance_on_both_sides_reverses() {
        let (up, down, open) = (Some(true), Some(false), None);
        for (signs, changes, stays) in [
            (vec![[up, down]], Verdict::Verified, Verdict::Refuted),
            (vec![[up, up]], Verdict::Refuted, Verdict::Verified),
            (vec![[up, open]], Verdict::Inconclusive, Verdict::Inconclusive),
            (vec![[up, up], [open, open]], Verdict::Inconclusive, Verdict::Inconclusive),
            (vec![[open, up], [down, up]], Verdict::Verified, Verdict::Refuted),
        ] {
            assert_eq!(verdict(&signs, true), changes, "{signs:?}");
            assert_eq!(verdict(&signs, false), stays, "{signs:?}");
        }
        let unknown = [(["a", "b"], [Ok(up), Err("one run".to_owned())])];
        assert_eq!(decide(&unknown, true, ["one", "two"]).code, Some(&NO_NOISE));
    }
}
