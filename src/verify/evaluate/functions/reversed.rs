//! A ranking that changes with what is held fixed.

use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;
use repro_stats::{Refused, T, holm};

use super::resampled::refused;
use crate::evaluate::order::{design, digits};
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::run_design::ALPHA;
use crate::value::{Evaluated, RunSample};

codes! {
    SAME_ORDER = "reversed::same-order", "every pair has one significant order under both", "correct the text";
    UNDECIDED = "reversed::undecided", "no pair is significant under both with opposite signs, and not every pair is with one sign", "add runs, or say that these do not decide it";
}

/// What the runs say of a pair: the sign of its gap where it is significant.
type GapSign = Option<bool>;

/// The steps of a test of two groups.
const TEST: usize = 250;

pub fn reversed<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (first, second) = (call.at(0)?.groups()?, call.at(1)?.groups()?);
    if first.len() != second.len() || first.len() < 2 {
        let found = format!("{} and {}", first.len(), second.len());
        return Err(call.wrong(&WRONG_ARGUMENTS, "the same two groups or more in both", &found));
    }
    call.frame.pairs(first.len(), 2 * TEST)?;
    let ((before, shown), (after, also)) = (signs(call, &first)?, signs(call, &second)?);
    let pairs: Vec<_> = std::iter::zip(before, after).collect();
    let outcome = judge(&pairs)
        .giving(format!("{shown}; then {also}"))
        .within("sign and p", format!("alpha {ALPHA}, two-sided, Holm over the pairs of each"));
    Ok(Evaluated::decided(outcome))
}

/// The sign of every pair, in order, and the tests that show it. A pair that cannot be tested, such as one
/// of single runs, has no sign.
fn signs(call: &Call<'_, '_, '_>, groups: &[RunSample]) -> Result<(Vec<GapSign>, String), Error> {
    let mut tests: Vec<Option<T>> = Vec::new();
    for (index, a) in groups.iter().enumerate() {
        for b in groups.iter().skip(index + 1) {
            tests.push(match design(call.evaluator, a, Some(b)) {
                Ok(chosen) => Some(chosen.test),
                Err(why @ Refused::Disagree { .. }) => return Err(refused(call, why)),
                Err(_) => None,
            });
        }
    }
    // What cannot be tested counts in the family all the same.
    let p = |test: &Option<T>| test.as_ref().map_or(1.0, T::p_two_sided);
    let adjusted = holm(&tests.iter().map(p).collect::<Vec<_>>());
    let tested = || std::iter::zip(&tests, &adjusted);
    let sign = |(test, p): (&Option<T>, &f64)| {
        test.as_ref().filter(|_| *p < ALPHA).map(|test| test.estimate > 0.0)
    };
    let words = tested().map(|(test, p)| match test {
        Some(test) => format!("{} (adjusted p = {})", digits(test.estimate), digits(*p)),
        None => "no test".to_owned(),
    });
    let words: Vec<_> = words.collect();
    Ok((tested().map(sign).collect(), format!("gaps {}", words.join(", "))))
}

/// One reversed pair suffices; that none is takes the order of all.
fn judge(pairs: &[(GapSign, GapSign)]) -> Outcome {
    let is_reversed = |(before, after): &(GapSign, GapSign)| match (before, after) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    };
    let is_same = |(before, after): &(GapSign, GapSign)| before.is_some() && before == after;
    if pairs.iter().any(is_reversed) {
        Outcome::verified()
    } else if pairs.iter().all(is_same) {
        Outcome::refuted(&SAME_ORDER, "every pair has the same significant order both times")
    } else {
        let open = pairs.iter().filter(|pair| !is_same(pair)).count();
        let reason = format!(
            "no pair is reversed, and {open} of {} are not told apart both times",
            pairs.len()
        );
        Outcome::inconclusive(&UNDECIDED, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_report::outcome::Verdict;

    #[test]
    fn only_significance_both_times_reverses() {
        let (up, down, open) = (Some(true), Some(false), None);
        for (pairs, wanted) in [
            (vec![(up, down)], Verdict::Verified),
            (vec![(up, up), (down, down)], Verdict::Refuted),
            (vec![(up, open)], Verdict::Inconclusive),
            (vec![(open, open)], Verdict::Inconclusive),
            (vec![(up, up), (open, open)], Verdict::Inconclusive),
            (vec![(open, up), (down, up)], Verdict::Verified),
        ] {
            assert_eq!(judge(&pairs).verdict, wanted, "{pairs:?}");
        }
    }
}
