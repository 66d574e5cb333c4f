//! Groups of items, right or wrong: counts as published, or every count that a printed share allows.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

use super::tolerance::printed_as;
use crate::evidence::{BAD_CHOICE, Evidence, NOT_A_NUMBER, whole};
use repro_exact::decimal::{Interval, Printed, Unit};
use repro_receipt::source::{Error, MISSING_FIELD, Node};
use repro_stats::proportion::Proportion;

/// The items of one group.
#[derive(Debug, Clone)]
pub struct GroupShare {
    /// The name it goes by.
    pub label: String,
    /// The count that is published, or that lies nearest to the printed share, first; then the least
    /// and the greatest that it allows. Empty where no count gives the share.
    pub possible: Vec<Proportion>,
    /// What is published: "41.62% of 1,319".
    pub text: String,
    /// Whether the count is published.
    pub counted: bool,
}

impl GroupShare {
    /// Reads `{ label, correct, items }` or `{ label, share, items }`.
    pub fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["label", "correct", "share", "items"])?;
        let label = node.get("label").map(Node::text).transpose()?.unwrap_or("it").to_owned();
        let items = node.required("items")?;
        let (items_text, count) = number_of_items(items, evidence)?;
        if let Some(correct) = node.get("correct") {
            let (text, right) = number_of_items(correct, evidence)?;
            let proportion = Proportion::new(right, count).map_err(|refused| {
                let expected = format!("at most {count} right items of at least one");
                NOT_A_NUMBER.at(correct.place(), expected, refused.to_string())
            })?;
            let (possible, text) = (vec![proportion], format!("{text} of {items_text}"));
            return Ok(Self { label, possible, text, counted: true });
        }
        let Some(share) = node.get("share") else {
            let place = node.place();
            return Err(MISSING_FIELD.at(place, "`correct` or `share`", "neither"));
        };
        let text = evidence.datum(share)?.printed()?;
        let printed = printed_as(share, text)?;
        let possible = counts(&printed, count);
        Ok(Self { label, possible, text: format!("{text} of {items_text}"), counted: false })
    }

    /// The share that is tested, for people.
    pub fn shown(&self) -> String {
        format!("{} {}", self.label, self.text)
    }
}

/// A whole number of items from zero, and how it is printed.
pub fn number_of_items(term: Node, evidence: &Evidence) -> Result<(String, u64), Error> {
    let quantity = evidence.quantity(term)?;
    let count = whole(&quantity.interval).filter(|count| !count.is_negative());
    let count = count.and_then(|count| count.to_u64()).ok_or_else(|| {
        let found = format!("`{}`", quantity.text);
        BAD_CHOICE.at(term.place(), "a whole number of items, none below zero", found)
    })?;
    Ok((quantity.text, count))
}

/// The counts of right items that round to a printed share: the nearest, the least, the greatest.
fn counts(printed: &Printed, items: u64) -> Vec<Proportion> {
    let per_one = match printed.unit() {
        Unit::Plain if *printed.value() > BigRational::from_integer(1.into()) => Unit::Percent,
        unit => unit,
    };
    let all = BigRational::from_integer(BigInt::from(items));
    let allowed = printed.interval().scaled(&(&all / per_one.per_one()));
    let inside = |count: &BigInt| allowed.contains(&BigRational::from_integer(count.clone()));
    let least = allowed.low().ceil().to_integer().max(BigInt::from(0));
    let most = allowed.high().floor().to_integer().min(BigInt::from(items));
    let nearest = Interval::middle(&allowed).round().to_integer();
    let mut counts: Vec<BigInt> =
        [nearest, least, most].into_iter().filter(|count| inside(count)).collect();
    counts.dedup();
    counts.iter().filter_map(|count| Proportion::new(count.to_u64()?, items).ok()).collect()
}

/// How many items only the first of two got right, and how many only the second, from their published
/// outcomes item by item.
pub fn discordant(node: Node, evidence: &Evidence) -> Result<(u64, u64), Error> {
    node.only(&["a", "b", "task"])?;
    let task = node.get("task").map(Node::text).transpose()?;
    let (left, right) = (node.required("a")?, node.required("b")?);
    let (a, b) = (outcomes(left, task, evidence)?, outcomes(right, task, evidence)?);
    let names = |list: &[(String, Vec<bool>)]| -> Vec<(String, usize)> {
        list.iter().map(|(task, bits)| (task.clone(), bits.len())).collect()
    };
    if names(&a) != names(&b) || a.is_empty() {
        let expected = "the same tasks with as many items, in the same order";
        let found = format!("{} and {} tasks that differ", a.len(), b.len());
        return Err(BAD_CHOICE.at(node.place(), expected, found));
    }
    let pairs = || {
        let tasks = a.iter().zip(&b);
        tasks.flat_map(|((_, a), (_, b))| a.iter().copied().zip(b.iter().copied()))
    };
    let only = |wanted: (bool, bool)| pairs().filter(|pair| *pair == wanted).count() as u64;
    Ok((only((true, false)), only((false, true))))
}

/// Each task with whether each of its items was right: `n` bits, written as hexadecimal digits, the first
/// item in the highest bit.
fn outcomes(
    reference: Node,
    task: Option<&str>,
    evidence: &Evidence,
) -> Result<Vec<(String, Vec<bool>)>, Error> {
    let mut tasks = Vec::new();
    for line in evidence.document(reference)?.root().items()? {
        let name = line.required("task")?.text()?;
        if task.is_some_and(|task| task != name) {
            continue;
        }
        let (items, bits) = (line.required("n")?.integer()?, line.required("bits")?);
        let text = bits.text()?;
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() as u64 == items.div_ceil(4));
        let digits = digits.ok_or_else(|| {
            let expected = format!("{} hexadecimal digits for {items} items", items.div_ceil(4));
            NOT_A_NUMBER.at(bits.place(), expected, format!("{} characters", text.len()))
        })?;
        let bits =
            digits.iter().flat_map(|digit| (0..4).rev().map(move |bit| digit >> bit & 1 == 1));
        let count = usize::try_from(items).unwrap_or(usize::MAX);
        tasks.push((name.to_owned(), bits.take(count).collect()));
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str, items: u64) -> Vec<Proportion> {
        counts(&Printed::parse(text).unwrap(), items)
    }

    fn shares(counts: &[(u64, u64)]) -> Vec<Proportion> {
        counts.iter().map(|(k, n)| Proportion::new(*k, *n).unwrap()).collect()
    }

    #[test]
    fn a_print_allows_the_counts_that_round_to_it() {
        assert_eq!(of("41.62%", 1319), shares(&[(549, 1319)]));
        assert_eq!(of("41.62", 1319), shares(&[(549, 1319)]));
        assert_eq!(of("0.4165", 1319), []);
        assert_eq!(of("0.42", 1000), shares(&[(420, 1000), (415, 1000), (425, 1000)]));
        assert_eq!(of("100%", 10), shares(&[(10, 10)]));
    }

    proptest! {
        /// The count behind a print is between the least and the greatest that it allows.
        #[test]
        fn the_true_count_is_allowed(items in 1_u64..5000, k in 0_u64..5000, decimals in 1_usize..6) {
            let k = k % (items + 1);
            let share = k as f64 / items as f64;
            let found = of(&format!("{share:.decimals$}"), items);
            let shares: Vec<f64> = found.iter().map(Proportion::share).collect();
            let (low, high) = (shares.iter().copied().fold(1.0, f64::min), shares.iter().copied().fold(0.0, f64::max));
            prop_assert!(low <= share && share <= high, "{low} {share} {high}");
        }
    }
}
