//! A printed proportion is some whole number of items over the number of items scored.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::tolerance::printed;
use super::{ClaimKind, FieldSpec, choice};
use crate::evidence::{Evidence, NOT_A_NUMBER, whole};
use crate::post::Claim;
use repro_exact::decimal::{Interval, Printed, Unit, format_significant};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    NO_COUNT = "grim::no-count", "no number of right items gives this proportion", "check the proportion, and how many items were scored";
    UNINFORMATIVE = "grim::uninformative", "printed this coarsely, every proportion is some count over so many items", "publish more digits, or the count itself";
    NOT_ONE_PROPORTION = "grim::not-one-proportion", "the value is not known to be one proportion of counted items", "declare one run, micro-averaged, and the number of items scored";
    OUTSIDE = "grim::outside", "a proportion is not between nothing and everything", "correct the proportion";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "grim",
    summary: "a printed proportion is k/n for a whole number k",
    explain: "With n items scored, an accuracy can only be k/n for a whole k. The claim holds if \
         some k/n rounds to the print (rounding_interval; a value printed in full may be a \
         single-precision float), and is refuted if none does. It needs n, the items actually \
         scored, one run, and a micro-average (`average = \"micro\"`): a mean over subtasks or \
         runs has another grid, and is unchecked. If the last place is worth 1/n or more, every \
         print is some k/n: uninformative, so inconclusive.\n\
         How it can mislead: n in a benchmark's description is often not the number that was \
         scored; a fit by chance is likely where the print is almost as coarse as 1/n.\n\
         Reference: Brown and Heathers 2017, The GRIM test.",
    fields: &[
        FieldSpec::optional("items", "how many items were scored"),
        FieldSpec::optional("average", "micro, if each item counts once; else macro"),
        FieldSpec::optional("runs", "how many runs the value is the mean of; one if absent"),
        FieldSpec::optional(
            "unit",
            "fraction or percent; by the sign, else fraction up to one, if absent",
        ),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    let claimed = printed(node)?;
    if let Some(why) = not_one(claim.node, evidence)? {
        return Ok(Outcome::unchecked(&NOT_ONE_PROPORTION, why));
    }
    let items = claim.node.required("items")?;
    let count = evidence.quantity(items)?;
    let count = whole(&count.interval).filter(BigInt::is_positive).ok_or_else(|| {
        let found = format!("`{}`", count.text);
        NOT_A_NUMBER.at(items.place(), "a whole number of items, at least one", found)
    })?;
    let per_one = per_one(claim.node, &claimed)?;
    let grid = Grid { count, place: claimed.last_place() / &per_one };
    let outcome = grid.judge(&claimed, &claimed.interval().scaled(&per_one.recip()));
    let tolerance = format!("k/{} for a whole k, by its printed digits", grid.count);
    Ok(outcome.within("rounding_interval", tolerance).by(Method::Recomputed))
}

/// Why the value is not one proportion of counted items, or not known to be.
fn not_one(node: Node, evidence: &Evidence) -> Result<Option<String>, Error> {
    match choice(node, "average", &["micro", "macro"])? {
        None => {
            let why = "whether each item counts once (micro-average) is not stated";
            return Ok(Some(why.to_owned()));
        }
        Some("macro") => {
            return Ok(Some("a macro-average is a mean of proportions, not one".to_owned()));
        }
        Some(_) => {}
    }
    if node.get("items").is_none() {
        return Ok(Some("the number of items scored is not published".to_owned()));
    }
    let Some(runs) = node.get("runs") else { return Ok(None) };
    let runs = evidence.quantity(runs)?;
    let one = Interval::integer(1);
    Ok((runs.interval != one)
        .then(|| format!("a mean of {} runs is not one proportion", runs.text)))
}

/// How many of the printed unit make one.
fn per_one(node: Node, claimed: &Printed) -> Result<BigRational, Error> {
    let plain = |percent: bool| BigRational::from_integer(if percent { 100 } else { 1 }.into());
    let unit = choice(node, "unit", &["fraction", "percent"])?;
    let above = *claimed.value() > BigRational::from_integer(1.into());
    Ok(plain(match unit {
        _ if claimed.unit() == Unit::Percent => true,
        Some(word) => word == "percent",
        None => above,
    }))
}

/// The proportions that so many items can have.
struct Grid {
    count: BigInt,
    /// What the last printed place is worth, as a fraction.
    place: BigRational,
}

impl Grid {
    fn judge(&self, claimed: &Printed, proportion: &Interval) -> Outcome {
        let one = BigRational::from_integer(1.into());
        let count = BigRational::from_integer(self.count.clone());
        if proportion.high().is_negative() || *proportion.low() > one {
            let reason = format!("{} is no proportion", claimed.text());
            return Outcome::refuted(&OUTSIDE, reason);
        }
        let exact = claimed.value() / self.per_one(claimed);
        let near = (&exact * &count).round().to_integer();
        let near_value = BigRational::new(near.clone(), self.count.clone());
        let shown = format!("{near}/{} = {}", self.count, format_significant(&near_value, 10));
        if &self.place * &count >= one {
            let reason = format!(
                "one last place is {} items, so any print of this precision is some k/{}",
                format_significant(&(&self.place * &count), 3),
                self.count
            );
            return Outcome::inconclusive(&UNINFORMATIVE, reason).giving(shown);
        }
        let mut allowed = proportion.clone();
        if claimed.is_full_float() {
            // Half a unit of a single-precision float, which is what many evaluations keep.
            let radius = exact.abs() * BigRational::new(1.into(), BigInt::from(1 << 24));
            allowed = allowed.hull(&Interval::around(&exact, &radius));
        }
        let least = (allowed.low() * &count).ceil().to_integer().max(BigInt::from(0));
        let most = (allowed.high() * &count).floor().to_integer().min(self.count.clone());
        if least > most {
            return Outcome::refuted(&NO_COUNT, format!("the nearest is {shown}")).giving(shown);
        }
        Outcome::verified().giving(shown)
    }

    /// How many of the printed unit make one, from the two places that are known.
    fn per_one(&self, claimed: &Printed) -> BigRational {
        claimed.last_place() / &self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use repro_report::outcome::Verdict;

    fn judged(text: &str, count: u32) -> Outcome {
        let claimed = Printed::parse(text).unwrap();
        let per_one = claimed.unit().per_one();
        let grid = Grid { count: count.into(), place: claimed.last_place() / &per_one };
        grid.judge(&claimed, &claimed.interval().scaled(&per_one.recip()))
    }

    #[test]
    fn only_counts_over_items_hold() {
        use Verdict::{Inconclusive, Refuted, Verified};
        for (text, count, verdict) in [
            ("0.304023", 10_042, Verified),
            ("0.304073", 10_042, Refuted),
            ("71.9%", 32, Verified),
            ("72.1%", 32, Refuted),
            ("0.72", 100, Inconclusive),
            ("0.72", 99, Verified),
            ("0.719", 1000, Inconclusive),
            ("0.699999988079071", 100, Verified),
            ("0.699999888079071", 100, Refuted),
            ("1.000", 7, Verified),
            ("0.000", 7, Verified),
            ("130.0%", 7, Refuted),
        ] {
            assert_eq!(judged(text, count).verdict, verdict, "{text} of {count}");
        }
    }

    proptest! {
        /// What is a count over items, printed as finely as it needs to be told, is never refuted; its
        /// neighbour between two counts is never verified.
        #[test]
        fn counts_hold_and_halves_do_not(count in 1_u32..5000, k in 0_u32..5000) {
            let k = k % (count + 1);
            let exact = f64::from(k) / f64::from(count);
            prop_assert_eq!(judged(&format!("{exact:.8}"), count).verdict, Verdict::Verified);
            if k < count {
                let between = (f64::from(k) + 0.5) / f64::from(count);
                prop_assert_eq!(judged(&format!("{between:.8}"), count).verdict, Verdict::Refuted);
            }
        }
    }
}
