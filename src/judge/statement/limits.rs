//! Whether a relation holds a number of the words, or would bear out others too: "reaches a loss of 1.05" is no limit,
//! and every number below the loss satisfies `quoted(1) <= loss`; `quoted(1) = quoted(1) * 1` is true of any.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::quote::{Hedge, QuoteItem};
use repro_exact::decimal::{Bound, Printed};

/// So many steps of its last digit make another number.
const STEPS: i64 = 3;
/// Nouns before a number that make it a limit: "the target of 1.75".
const LIMITS: &[&str] = &[
    "target",
    "limit",
    "threshold",
    "goal",
    "bar",
    "ceiling",
    "floor",
    "budget",
    "cutoff",
    "bound",
];
/// What no measured number is so many times as large as its limit.
const FAR: i64 = 1_000_000_000_000;
/// So many words before a number may hold such a noun.
const REACH: usize = 4;

/// Whether the words take a number as a limit.
pub fn is_limit(item: &QuoteItem, quote: &str) -> bool {
    let is_hedged = !matches!(item.hedge, None | Some(Hedge::About | Hedge::Cut | Hedge::Exactly));
    let before = quote.get(..item.span.start).unwrap_or_default().to_lowercase();
    let words = before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = words.collect();
    is_hedged || words.iter().rev().take(REACH).any(|word| LIMITS.contains(word))
}

/// Whether a number is a limit on one side, and it is the upper one.
pub fn is_upper(item: &QuoteItem) -> Option<bool> {
    match item.hedge? {
        Hedge::Limit(bound) | Hedge::LimitOrCount(bound) | Hedge::LimitOrSetting(bound) => {
            Some(matches!(bound, Bound::Below | Bound::AtMost))
        }
        _ => None,
    }
}

/// Numbers far below and far above one.
pub fn far_off(printed: &Printed) -> [Printed; 2] {
    let size = printed.value().abs() + BigRational::from_integer(BigInt::from(1));
    let reach = size * BigRational::from_integer(BigInt::from(FAR));
    [printed.clone().moved(&-reach.clone()), printed.clone().moved(&reach)]
}

/// Other numbers in the place of one: of a limit, ones far off on both sides; of others, the next ones that a print can
/// tell apart.
pub fn others(item: &QuoteItem, printed: &Printed, is_limit: bool, is_about: bool) -> Vec<Printed> {
    let whole = |number: i64| BigRational::from_integer(BigInt::from(number));
    let half = BigRational::new(BigInt::from(1), BigInt::from(2));
    let size = printed.value().abs();
    let unit = if size.is_zero() { whole(1) } else { size.clone() };
    let reaches = match (is_limit, item.hedge) {
        (true, _) => vec![&unit * &half, &unit * whole(1_000), &unit * whole(FAR)],
        (false, Some(Hedge::About)) => vec![&unit * &half],
        _ if is_about => vec![&unit * &half],
        (false, _) if printed.last_place().is_zero() => vec![&unit * &half],
        (false, _) => vec![printed.last_place() * whole(STEPS), unit],
    };
    let both = |reach: BigRational| [printed.clone().moved(&reach), printed.clone().moved(&-reach)];
    reaches.into_iter().flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_limit, others};
    use repro_claim::quote::{ItemKind, items};

    #[test]
    fn limits_are_known_by_their_words() {
        let is = |text: &str| is_limit(items(text).last().unwrap(), text);
        assert!(is("below 1.73") && is("the target of 1.75") && is("at most 3"));
        assert!(!is("a loss of 1.05") && !is("about 1.7") && !is("exactly 2"));
    }

    #[test]
    fn others_can_be_told_apart() {
        let of = |text: &str| {
            let item = items(text).remove(0);
            let ItemKind::Number(printed) = &item.kind else { panic!("no number") };
            let values = others(&item, printed, is_limit(&item, text), false);
            values.iter().map(|one| one.value().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("a loss of 1.05"), ["27/25", "51/50", "21/10", "0"]);
        assert_eq!(of("about 2"), ["3", "1"]);
        assert_eq!(of("below 2")[..4], ["3", "1", "2002", "-1998"]);
    }
}
