//! The best or the worst run of a group, which words must say that it is.

use std::collections::BTreeSet;
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

use super::{Mismatch, UNSAID_CHOICE, Words};
use crate::value::Leaf;

/// Words by which a number is that of one run among others, or a limit of them all.
const SAY_SO: &[&str] = &[
    "best", "worst", "min", "max", "minimum", "maximum", "lowest", "highest", "smallest",
    "largest", "least", "most", "greatest", "fastest", "slowest", "top", "bottom", "extreme",
    "extremes", "all", "every", "each", "any", "no", "none", "never", "always", "even", "only",
    "single", "range", "ranges", "ranging", "between", "within", "spread", "span", "spans",
    "across", "to", "seed", "seeds", "run", "runs", "fold", "folds", "above", "below", "under",
    "over", "exceeds", "exceed", "beyond", "up", "low", "high", "much", "little", "lower",
    "higher", "than", "tuned", "selected", "chosen", "winner", "peak", "early",
];

/// Whether an expression picks the least or the greatest of several runs, and no word says so.
pub fn unsaid(words: Words, expression: &Expression, leaves: &[Rc<Leaf>]) -> Mismatch {
    let picked = pick(expression)?;
    let bundles: BTreeSet<_> =
        leaves.iter().filter_map(|leaf| leaf.evidence.as_ref()).map(|one| &one.bundle).collect();
    let says_so = |text: &str| {
        let lower = text.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        words.any(|word| SAY_SO.contains(&word))
            || lower.contains(['–', '[', '∈', '<', '>', '≤', '≥'])
    };
    let all = [words.quote, words.place, words.before, words.behind];
    // "1.702 +0.023/−0.015" are the ends around a mean.
    let number = words.number.and_then(|(start, end)| words.quote.get(start..end));
    let is_signed = number.is_some_and(|number| number.starts_with(['+', '-', '−']));
    if bundles.len() < 2 || is_signed || all.into_iter().chain(words.head).any(says_so) {
        return None;
    }
    let reason =
        format!("it rests on the `{picked}` of {} runs, and no word says so", bundles.len());
    Some((&UNSAID_CHOICE, reason))
}

/// The function that picks one value of a group, where an expression has one.
fn pick(expression: &Expression) -> Option<&'static str> {
    let mut found = None;
    expression.each(&mut |part| {
        if let ExpressionKind::Call(name, arguments) = &part.kind
            && let [only] = arguments.as_slice()
            // Of the ends of an interval one is as good as the other.
            && !matches!(only.value.kind, ExpressionKind::List(_) | ExpressionKind::Call(..))
        {
            found = found.or(["min", "max"].into_iter().find(|pick| pick == name));
        }
    });
    found
}
