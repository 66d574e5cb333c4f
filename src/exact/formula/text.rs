//! A formula as text, with the names or the printed values of its inputs in place.

use super::expression::{Fold, FormulaFunction, FormulaTree, Operator};
use crate::decimal::grouped;

/// More operands than this are shown by their first ones and their last.
const SHOWN: usize = 6;

/// What stands for the inputs.
pub(super) enum FormulaWords<'a> {
    /// Their names.
    Names(Vec<&'a str>),
    /// Their values as printed: of the inputs given once, and of the one given many times.
    Values { single: Vec<&'a str>, many: Vec<&'a str> },
}

/// How tightly a text holds together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Product,
    Atom,
}

/// The expression with `words` for its inputs.
pub(super) fn render(expression: &FormulaTree, words: &FormulaWords) -> String {
    bound(expression, words).0
}

fn bound(expression: &FormulaTree, words: &FormulaWords) -> (String, Binding) {
    match expression {
        FormulaTree::Number(value) => (grouped(&value.to_string()), Binding::Atom),
        FormulaTree::Input(index) => {
            let word = match words {
                FormulaWords::Names(names) => names.get(*index).map(|name| name.to_string()),
                FormulaWords::Values { single, .. } => {
                    single.get(*index).map(|value| enclosed(value))
                }
            };
            (word.unwrap_or_default(), Binding::Atom)
        }
        FormulaTree::Fold(fold, inner) => folded(*fold, inner, words),
        FormulaTree::Apply(FormulaFunction::Abs, inner) => {
            (format!("|{}|", render(inner, words)), Binding::Atom)
        }
        FormulaTree::Apply(function, inner) => {
            (format!("{}({})", function.word(), render(inner, words)), Binding::Atom)
        }
        FormulaTree::Join(operator, left, right) => {
            let (sign, binding) = match operator {
                Operator::Add => ("+", Binding::Sum),
                Operator::Subtract => ("-", Binding::Sum),
                Operator::Multiply => ("×", Binding::Product),
                Operator::Divide => ("/", Binding::Product),
            };
            let left = held(bound(left, words), |inner| inner >= binding);
            // Read from left to right, so the right side needs a tighter hold.
            let right = held(bound(right, words), |inner| inner > binding);
            (format!("{left} {sign} {right}"), binding)
        }
    }
}

fn folded(fold: Fold, inner: &FormulaTree, words: &FormulaWords) -> (String, Binding) {
    let (word, sign, binding) = match fold {
        Fold::Sum => ("sum", " + ", Binding::Sum),
        Fold::Product => ("product", " × ", Binding::Product),
        Fold::Count => ("number of", "", Binding::Atom),
    };
    let (single, many) = match words {
        FormulaWords::Names(_) => {
            let text = render(inner, words);
            return (format!("{word}({text})"), Binding::Atom);
        }
        FormulaWords::Values { many, .. } if fold == Fold::Count => {
            return (many.len().to_string(), Binding::Atom);
        }
        FormulaWords::Values { single, many } => (single, many),
    };
    let one = |value: &&str| {
        let single = single.iter().copied().chain([*value]).collect();
        held(bound(inner, &FormulaWords::Values { single, many: Vec::new() }), |inner| {
            inner > binding
        })
    };
    let mut terms: Vec<String> = match many.as_slice() {
        [first @ .., last] if first.len() >= SHOWN => {
            let start = first.iter().take(SHOWN - 2).map(one);
            start.chain(["...".to_owned(), one(last)]).collect()
        }
        all => all.iter().map(one).collect(),
    };
    if let ([only], true) = (terms.as_mut_slice(), many.len() == 1) {
        return (std::mem::take(only), Binding::Atom);
    }
    (terms.join(sign), binding)
}

/// The text, in parentheses unless its binding is tight enough.
fn held((text, binding): (String, Binding), tight: impl Fn(Binding) -> bool) -> String {
    if tight(binding) { text } else { format!("({text})") }
}

/// A printed value, in parentheses where its own signs or words would run into the formula's.
fn enclosed(value: &str) -> String {
    let begins_plain = value.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '$');
    if begins_plain && !value.contains(char::is_whitespace) {
        value.to_owned()
    } else {
        format!("({value})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::expression::number;

    #[test]
    fn parentheses_stand_only_where_needed() {
        let [a, b, c] = std::array::from_fn(FormulaTree::Input);
        let words = FormulaWords::Names(vec!["a", "b", "c"]);
        for (expression, text) in [
            ((a.clone() + b.clone()) * c.clone(), "(a + b) × c"),
            (a.clone() + b.clone() * c.clone(), "a + b × c"),
            (a.clone() - (b.clone() - c.clone()), "a - (b - c)"),
            (a.clone() - b.clone() - c.clone(), "a - b - c"),
            (a.clone() / (b.clone() * c.clone()), "a / (b × c)"),
            (a.clone() / b.clone() / c.clone(), "a / b / c"),
            ((a.clone() / b.clone()).ceil() * b.clone(), "ceil(a / b) × b"),
            ((a.clone() - b.clone()).abs() / number(2).ln(), "|a - b| / ln(2)"),
            (c.clone().total() / c.count(), "sum(c) / number of(c)"),
        ] {
            assert_eq!(render(&expression, &words), text);
        }
    }

    #[test]
    fn printed_values_stand_in_place() {
        let [a, b] = std::array::from_fn(FormulaTree::Input);
        let words = FormulaWords::Values { single: vec!["-0.5", "4.5 B"], many: vec![] };
        assert_eq!(render(&(a.clone() - b), &words), "(-0.5) - (4.5 B)");
        let mean = a.clone().total() / a.count();
        let values = |many| render(&mean, &FormulaWords::Values { single: vec![], many });
        assert_eq!(values(vec!["1", "2"]), "(1 + 2) / 2");
        assert_eq!(values(vec!["1"]), "1 / 1");
        assert_eq!(
            values(vec!["1", "2", "3", "4", "5", "6", "7"]),
            "(1 + 2 + 3 + 4 + ... + 7) / 7"
        );
    }
}
