//! What a publication prints of a test, and whether it follows.
//!
//! Owns the numbers of a claimed text ("p < 0.01", "[0.021, 0.038]", "0.0758 ± 0.0021"), the ways in
//! which they can be meant, and how the parts of a claim come to one verdict.

use super::comparison::{Computed, Statistic, Test};
use super::significance::{DecisionRule, INFERRED, TOO_FEW, Wrong};
use super::{plus_minus, tolerance};
use crate::evidence::BAD_CHOICE;
use crate::post::Claim;
use repro_exact::decimal::{Bound, Printed, nearest_f64};
use repro_receipt::source::{Code, Error, Node};
use repro_report::outcome::{Impact, Outcome, Verdict};
use repro_stats::distribution::{StudentT, Symmetric};
use repro_stats::spread::ErrorBarMeaning;

/// The numbers of a claimed text, and the statistics that they can be.
#[derive(Debug)]
pub struct Numbers {
    /// In the order of the text.
    pub numbers: Vec<Printed>,
    /// How they are written.
    pub shape: TextShape,
}

/// How the numbers of a claimed text are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextShape {
    /// One number.
    One,
    /// `[low, high]`
    Ends,
    /// `estimate ± spread`
    WithSpread,
}

impl Numbers {
    /// Reads "0.0297", "p < 0.01", "t = 6.9", "[0.021, 0.038]" or "0.0758 ± 0.0021".
    pub fn read(node: Node) -> Result<Self, Error> {
        let text = node.text()?.trim();
        let ends = text.strip_prefix(['[', '(']).and_then(|rest| rest.strip_suffix([']', ')']));
        if let Some((low, high)) = ends.and_then(split_ends) {
            let numbers = [low, high].map(|end| tolerance::printed_as(node, end.trim()));
            let [low, high] = numbers;
            return Ok(Self { numbers: vec![low?, high?], shape: TextShape::Ends });
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
            Some(spread) => {
                Ok(Self { numbers: vec![printed, spread], shape: TextShape::WithSpread })
            }
            None => Ok(Self { numbers: vec![printed], shape: TextShape::One }),
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
    pub fn fits(&self, stated: &Numbers) -> bool {
        self.follows(stated, &INFERRED).verdict == Verdict::Verified
    }

    /// How the numbers follow.
    fn follows(&self, stated: &Numbers, digit: &'static Code) -> Outcome {
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
    fn turns(&self, stated: &Numbers, rule: &DecisionRule, boundary: f64) -> bool {
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
                Statistic::Df
                | Statistic::HalfWidth(_)
                | Statistic::Spread(_)
                | Statistic::Detectable(_) => false,
            }
        })
    }
}

/// Whether the numbers that a claim prints follow under a candidate. The first is what is declared, or
/// what decides; where it is `inferred`, or does not fit, what fits is named.
pub fn printed(
    stated: &Numbers,
    candidates: &[Candidate],
    inferred: bool,
    (rule, boundary, wrong): (&DecisionRule, f64, Wrong),
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
    let (code, impact) = match turns {
        true => (wrong.decision, Impact::Decision),
        false => (wrong.digit, Impact::Digit),
    };
    let mut reason = outcome.reason.clone();
    if tried > 1 {
        reason = format!("it follows in none of {tried} ways; {reason}");
    }
    if turns {
        reason.push_str("; this changes the decision");
    }
    Outcome { code: Some(code), reason, ..outcome }.with_impact(impact)
}

/// The part that decides: a wrong decision before a wrong digit, then what is undecided. Where all
/// parts hold, all that was allowed is said.
pub fn worst(parts: Vec<Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| (outcome.verdict, outcome.impact != Some(Impact::Decision));
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
pub struct TestStatement<'a> {
    /// What is declared.
    pub rule: &'a DecisionRule,
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

impl TestStatement<'_> {
    /// Judges `claimed`, `claimed_p`, `significant` and `direction`, whichever are stated.
    pub fn judge(&self, claim: &Claim) -> Result<Outcome, Error> {
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
    pub fn numbers(&self, claim: &Claim) -> Result<Vec<Outcome>, Error> {
        let node = claim.node;
        let mut parts = Vec::new();
        if let Some(claimed) = claim.claimed {
            parts.push(self.printed(claim, &Numbers::read(claimed)?, node.get("statistic"))?);
        }
        if let Some(p) = node.get("claimed_p") {
            let candidates = self.candidates(&[&[Statistic::P(self.rule.tail())]]);
            parts.push(printed(&Numbers::read(p)?, &candidates, false, self.against()));
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
        stated: &Numbers,
        statistic: Option<Node>,
    ) -> Result<Outcome, Error> {
        let rule = self.rule;
        let reading = claim.node.get("reading").map(plus_minus::reading).transpose()?;
        let readings =
            reading.map_or_else(|| ErrorBarMeaning::ALL.to_vec(), |reading| vec![reading]);
        let sets: Vec<Vec<Statistic>> = match stated.shape {
            TextShape::Ends => {
                vec![vec![Statistic::End(rule.level, false), Statistic::End(rule.level, true)]]
            }
            TextShape::WithSpread => readings
                .iter()
                .map(|reading| vec![Statistic::Estimate, Statistic::Spread(*reading)])
                .collect(),
            TextShape::One => vec![vec![self.named(statistic)?]],
        };
        if sets == [[Statistic::Estimate]] {
            let name = String::new();
            let values = vec![(Statistic::Estimate, self.estimate.clone())];
            let only = [Candidate { name, values, df: None }];
            return Ok(printed(stated, &only, false, self.against()));
        }
        let sets: Vec<&[Statistic]> = sets.iter().map(Vec::as_slice).collect();
        let inferred = stated.shape == TextShape::WithSpread && reading.is_none();
        Ok(printed(stated, &self.candidates(&sets), inferred, self.against()))
    }

    /// What turns a wrong digit into a wrong decision.
    fn against(&self) -> (&DecisionRule, f64, Wrong) {
        (self.rule, self.boundary, self.wrong)
    }

    /// The statistic that a claim names for its one number.
    fn named(&self, node: Option<Node>) -> Result<Statistic, Error> {
        let Some(node) = node else { return Ok(Statistic::Estimate) };
        match node.text()? {
            "estimate" => Ok(Statistic::Estimate),
            "t" => Ok(Statistic::T),
            "df" => Ok(Statistic::Df),
            "p" => Ok(Statistic::P(self.rule.tail())),
            "sd" => Ok(Statistic::Spread(ErrorBarMeaning::Sd)),
            "standard_error" => Ok(Statistic::Spread(ErrorBarMeaning::StandardError)),
            "half_width" => Ok(Statistic::HalfWidth(self.rule.level)),
            "detectable_gap" => Ok(Statistic::Detectable(self.rule.goal(node)?)),
            other => Err(BAD_CHOICE.at(
                node.place(),
                "`estimate`, `t`, `df`, `p`, `sd`, `standard_error`, `half_width` or `detectable_gap`",
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

#[cfg(test)]
mod tests {
    use super::*;
    use repro_receipt::source::{Document, Source};

    fn read(text: &str) -> Result<(TextShape, Vec<String>), &'static str> {
        let quoted = serde_json::Value::from(text).to_string();
        let source = Source::new("t.json", quoted.into_bytes()).unwrap();
        let document = Document::parse_json(source).unwrap();
        let numbers = Numbers::read(document.root()).map_err(|error| error.code.id)?;
        Ok((numbers.shape, numbers.numbers.iter().map(|n| n.text().to_owned()).collect()))
    }

    #[test]
    fn claimed_texts_are_read() {
        for (text, shape, numbers) in [
            ("0.0297", TextShape::One, &["0.0297"][..]),
            ("-0.0297", TextShape::One, &["-0.0297"]),
            ("p < 0.01", TextShape::One, &["< 0.01"]),
            ("p=0.003", TextShape::One, &["0.003"]),
            ("t = -6.9", TextShape::One, &["-6.9"]),
            ("at least 0.5", TextShape::One, &["at least 0.5"]),
            ("[0.021, 0.038]", TextShape::Ends, &["0.021", "0.038"]),
            ("(-0.021,0.038)", TextShape::Ends, &["-0.021", "0.038"]),
            ("[1,000, 2,000]", TextShape::Ends, &["1,000", "2,000"]),
            ("[0.1 to 0.2]", TextShape::Ends, &["0.1", "0.2"]),
        ] {
            let numbers = numbers.iter().map(|n| (*n).to_owned()).collect();
            assert_eq!(read(text), Ok((shape, numbers)), "{text}");
        }
        let (shape, numbers) = read("0.0758 ± 0.0021").unwrap();
        assert_eq!((shape, numbers.len()), (TextShape::WithSpread, 2));
        for text in ["", "[]", "[0.1]", "p", "± 0.1", "0.1 ±", "0.1 ± -0.2", "[a, b]", "p < q"] {
            assert_eq!(read(text), Err("claims::not-printed"), "{text}");
        }
    }

    #[test]
    fn a_wrong_decision_outranks_a_wrong_digit() {
        let refuted =
            |impact| Outcome::refuted(&INFERRED, format!("{impact:?}")).with_impact(impact);
        let parts = vec![
            Outcome::verified().within("rounding_interval", "a"),
            refuted(Impact::Digit),
            refuted(Impact::Decision),
            Outcome::inconclusive(&TOO_FEW, "few"),
        ];
        assert_eq!(worst(parts).reason, "Decision");
        let parts = vec![
            Outcome::verified().within("rounding_interval", "a"),
            Outcome::verified().within("p", "b"),
        ];
        let both = worst(parts);
        assert_eq!((both.rule, both.tolerance.as_str()), ("rounding_interval", "a; b"));
        assert_eq!(worst(Vec::new()).verdict, Verdict::Inconclusive);
    }
}
