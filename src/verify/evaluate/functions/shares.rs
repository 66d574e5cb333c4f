//! Two models on the same items, known by their shares alone.

use num_bigint::BigInt;
use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;
use repro_stats::Refused;
use repro_stats::proportion::mcnemar;

use super::possible::printed;
use super::resampled::refused;
use crate::evaluate::order::{WRONG_WAY, digits};
use crate::evaluate::{Call, WRONG_ARGUMENTS};
use crate::run_design::ALPHA;
use crate::value::{Evaluated, Quantity};

codes! {
    OVERLAP = "more_right::overlap", "whether one model is right more often hangs on which items both got right", "publish the outcome of each item";
    NO_COUNT = "more_right::no-such-count", "no whole number of items gives a share", "check the share, and how many items were scored";
}

pub fn more_right<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let (a, b, items) = (printed(call, 0)?, printed(call, 1)?, call.number(2)?);
    // Beyond this no benchmark goes, and every count stays small.
    let all = items.count().filter(|count| (1..=1 << 32).contains(count));
    let all = all.ok_or_else(|| {
        call.wrong(&WRONG_ARGUMENTS, "a number of items, at least one", &items.derivation)
    })?;
    let outcome = match (counts(&a, all), counts(&b, all)) {
        (Some(a), Some(b)) => judge(a, b, all).map_err(|why| refused(call, why))?,
        (a, _) => {
            let share = if a.is_none() { "first" } else { "second" };
            let reason = format!("no whole number of {all} items gives the {share} share");
            Outcome::inconclusive(&NO_COUNT, reason)
        }
    };
    let tolerance = format!("McNemar's exact test, alpha {ALPHA}, every overlap of items");
    Ok(Evaluated::decided(outcome.within("test", tolerance)))
}

/// The least and the greatest number of right items that a printed share allows.
fn counts(share: &Quantity, items: u64) -> Option<[u64; 2]> {
    let all = num_rational::BigRational::from_integer(BigInt::from(items));
    let ends = [(share.interval.low() * &all).ceil(), (share.interval.high() * &all).floor()];
    let [low, high] = ends.map(|end| u64::try_from(end.to_integer()).ok());
    let (low, high) = (low?, high?.min(items));
    (low <= high).then_some([low, high])
}

/// McNemar's test at the ends of what is possible: the p falls as fewer items part the two, and as the
/// difference grows.
fn judge(a: [u64; 2], b: [u64; 2], items: u64) -> Result<Outcome, Refused> {
    let p = |ahead: u64, behind: u64, overlap: bool| {
        let difference = ahead.checked_sub(behind).filter(|difference| *difference > 0);
        let Some(difference) = difference else { return Ok(None) };
        // Of `ahead` and `behind` right items at least so many are of both, and at most all of the fewer.
        let both = if overlap { behind } else { (ahead + behind).saturating_sub(items) };
        let only_second = behind - both;
        mcnemar(only_second + difference, only_second).map(|test| Some(test.exact))
    };
    let [a_low, a_high] = a;
    let [b_low, b_high] = b;
    let below = |p: Option<f64>| p.is_some_and(|p| p < ALPHA);
    let (least, most) = (p(a_high, b_low, true)?, p(a_low, b_high, false)?);
    let shown_p = |p: Option<f64>| p.map_or("1".to_owned(), digits);
    let shown =
        format!("{a_low} and {b_low} of {items} right, p {} to {}", shown_p(least), shown_p(most));
    Ok(if below(most) {
        Outcome::verified().giving(shown)
    } else if below(p(b_low, a_high, false)?) {
        Outcome::refuted(&WRONG_WAY, "the second is right more often").giving(shown)
    } else {
        let hangs = "it hangs on which items both got right";
        let why = if below(least) { hangs } else { "the items do not show it" };
        Outcome::inconclusive(&OVERLAP, format!("{why}: {shown}")).giving(shown)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_report::outcome::Verdict;

    #[test]
    fn every_overlap_must_give_the_order() {
        let verdict = |a: u64, b: u64, items| judge([a, a], [b, b], items).unwrap().verdict;
        assert_eq!(verdict(900, 500, 1000), Verdict::Verified);
        assert_eq!(verdict(500, 900, 1000), Verdict::Refuted);
        assert_eq!(verdict(205, 176, 1319), Verdict::Inconclusive);
        assert_eq!(verdict(6, 5, 10), Verdict::Inconclusive);
        assert_eq!(verdict(5, 5, 10), Verdict::Inconclusive);
    }
}
