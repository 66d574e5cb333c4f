//! Shared code for evaluation harnesses: means of scores, and their standard errors.

use repro_core::source::{Kind as NodeKind, Node, Value, escape};

use crate::check::stated::{Digits, StatedRow};

/// The number of significant digits from which a float counts as printed in full.
const FULL: usize = 15;
/// The relative deviation from a whole number allowed for an item count derived from rounded floats.
const WHOLE: f64 = 1e-6;

/// How the numbers below a value were written: a program that rounds prints only short numbers.
pub fn digits(node: Node<'_>) -> Digits {
    fn is_full(value: &Value) -> bool {
        match &value.kind {
            NodeKind::Number(text) => significant(text) >= FULL,
            NodeKind::Array(items) => items.iter().any(is_full),
            NodeKind::Object(members) => members.iter().any(|member| is_full(&member.value)),
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Text(_) => false,
        }
    }
    if is_full(node.value()) { Digits::Summed } else { Digits::Rounded }
}

fn significant(text: &str) -> usize {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect::<String>();
    digits.trim_start_matches('0').len()
}

/// The number of binary items implied by a mean and its standard error, if it is a whole number and that many items can
/// have the mean.
pub fn items(value: f64, stderr: f64) -> Option<f64> {
    let items = value * (1.0 - value) / (stderr * stderr) + 1.0;
    let whole = items.round();
    let is_whole = whole >= 2.0 && (items - whole).abs() <= (WHOLE * items).min(0.1);
    let ones = value * whole;
    let has_mean = (ones - ones.round()).abs() <= (WHOLE * whole).min(0.1);
    (is_whole && has_mean && value > 0.0 && value < 1.0).then_some(whole)
}

/// The members of an object, each with its pointer; none if it is not an object.
pub fn members<'n>(
    node: Option<Node<'n>>,
    pointer: &str,
) -> impl Iterator<Item = (&'n str, Node<'n>, String)> {
    let all = node.and_then(|node| node.members().ok()).into_iter().flatten();
    let pointer = pointer.to_owned();
    all.map(move |(key, node)| (key, node, format!("{pointer}/{}", escape(key))))
}

/// The member of an object by key, even if it is `null`.
pub fn member<'n>(node: Node<'n>, key: &str) -> Option<Node<'n>> {
    node.members().ok()?.find(|(known, _)| *known == key).map(|(_, node)| node)
}

/// The elements of a list, each with its pointer; none if it is not a list.
pub fn elements<'n>(
    node: Option<Node<'n>>,
    pointer: &str,
) -> impl Iterator<Item = (Node<'n>, String)> {
    let all = node.and_then(|node| node.items().ok()).into_iter().flatten();
    let pointer = pointer.to_owned();
    all.enumerate().map(move |(at, node)| (node, format!("{pointer}/{at}")))
}

/// Records values of an object under their own names.
pub fn state_some(row: &mut StatedRow, node: Node<'_>, pointer: &str, names: &[&str]) {
    for name in names {
        if let Some(value) = node.get(name) {
            row.state(*name, value, format!("{pointer}/{name}"), Digits::Full);
        }
    }
}

/// A number in an object.
pub fn number(node: Node<'_>, key: &str) -> Option<f64> {
    node.get(key)?.float().ok()
}

/// A text in an object.
pub fn text<'n>(node: Node<'n>, key: &str) -> Option<&'n str> {
    node.get(key)?.text().ok()
}

/// The tokens that a total includes besides input and output, and their kind, which depends on the provider. None if no
/// combination gives the total.
pub fn counted_as_well(usage: Node<'_>) -> (f64, &'static str) {
    let of = |key: &str| number(usage, key).unwrap_or(0.0);
    let (written, read) = (of("input_tokens_cache_write"), of("input_tokens_cache_read"));
    let reasoning = of("reasoning_tokens");
    let readings = [
        (0.0, "nothing else"),
        (written + read, "cache writes and reads"),
        (reasoning, "reasoning"),
        (written + read + reasoning, "cache writes, cache reads and reasoning"),
        (written, "cache writes"),
        (read, "cache reads"),
    ];
    let rest = of("total_tokens") - of("input_tokens") - of("output_tokens");
    let fitting = readings.into_iter().find(|(tokens, _)| *tokens == rest);
    fitting.unwrap_or((0.0, "nothing else"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_from_a_mean_and_its_error() {
        let error_of = |value: f64, items: f64| libm::sqrt(value * (1.0 - value) / (items - 1.0));
        assert_eq!(items(0.3, error_of(0.3, 40.0)), Some(40.0));
        assert_eq!(items(0.3, error_of(0.3, 40.3)), None);
        assert_eq!(items(1.0, 0.0), None);
        // 12 of 40, with the error of 41
        assert_eq!(items(0.3, error_of(0.3, 41.0)), None);
        assert_eq!(significant("-0.00123e-10"), 3);
    }
}
