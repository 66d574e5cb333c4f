//! The units of losses that words name, against those of the evidence.

use std::ops::Range;
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_exact::decimal::Unit;

use super::{Mismatch, OTHER_UNIT, Words};
use crate::loss_unit::{LossUnit, is_nats_per_bit, unit_of_leaf};
use crate::value::Leaf;

/// So many words around a number may hold its unit.
const REACH: usize = 3;

/// A number of the quote that may be bound to a loss, or to a sum or a mean of losses.
#[derive(Clone)]
pub struct BoundLoss<'l> {
    /// Where it stands in the quote.
    pub span: Range<usize>,
    /// What stands behind it.
    pub unit: Unit,
    /// Whether it is.
    pub is_loss: &'l dyn Fn() -> bool,
}

/// Whether a number that is a loss is printed as something else.
pub fn other_than(
    loss: &BoundLoss<'_>,
    words: Words,
    converts: bool,
    leaves: &[Rc<Leaf>],
) -> Mismatch {
    let found = unit_of(leaves)?;
    if loss.unit != Unit::Plain {
        let reason = format!(
            "\"{}\" is said of a ratio, and the value is {}",
            loss.unit.sign(),
            found.name()
        );
        return Some((&OTHER_UNIT, reason));
    }
    let goes_on = words.behind.trim_start().to_lowercase();
    if loss.span.end == words.quote.trim_end().len() && goes_on.starts_with("times ") {
        return Some((&OTHER_UNIT, "the words go on, and say how many times".to_owned()));
    }
    let said = unit_around(words.quote, words.behind, &loss.span)
        .or_else(|| unit_of_words(words.quote))
        .or_else(|| unit_of_words(words.place))
        .or_else(|| words.head.and_then(LossUnit::of_head))?;
    mismatch(said, found).filter(|_| !converts)
}

/// Whether a relation is between losses of another unit than the words name.
pub fn other(words: Words, leaves: &[Rc<Leaf>]) -> Mismatch {
    let said = unit_of_words(words.quote).or_else(|| unit_of_words(words.place))?;
    mismatch(said, unit_of(leaves)?)
}

fn mismatch(said: LossUnit, found: LossUnit) -> Mismatch {
    (said != found).then(|| {
        let reason = format!("the words are {}, the evidence is {}", said.name(), found.name());
        (&OTHER_UNIT, reason)
    })
}

/// The unit of all the losses that were read; none where there are two.
fn unit_of(leaves: &[Rc<Leaf>]) -> Option<LossUnit> {
    let mut found = leaves.iter().filter_map(|leaf| unit_of_leaf(leaf));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = String> {
    let marks = |c: char| !c.is_alphanumeric();
    text.split_whitespace().map(move |word| word.trim_matches(marks).to_lowercase())
}

/// The unit behind a number, else the one before it. What stands beside the next number is its unit.
fn unit_around(quote: &str, behind_quote: &str, span: &Range<usize>) -> Option<LossUnit> {
    let has_digit = |word: &String| word.contains(|c: char| c.is_ascii_digit());
    let behind = format!("{} {behind_quote}", quote.get(span.end..)?);
    let behind: Vec<_> = words(&behind).take(REACH + 1).collect();
    let own = behind
        .iter()
        .take(REACH)
        .take_while(|word| !has_digit(word))
        .position(|word| LossUnit::of_word(word).is_some());
    if let Some(at) = own
        && !behind.get(at + 1).is_some_and(|next| has_digit(next) || next == "of")
    {
        // "a bit better" is no unit, and "1.2 bit" is one.
        return LossUnit::of_word(&behind[at]).filter(|_| at == 0 || behind[at] != "bit");
    }
    let before =
        words(quote.get(..span.start)?).rev().take(REACH).take_while(|word| !has_digit(word));
    before.filter(|word| word != "bit").filter_map(|word| LossUnit::of_word(&word)).next()
}

/// The one unit that words name; a perplexity may stand beside a loss.
fn unit_of_words(text: &str) -> Option<LossUnit> {
    let named =
        words(text).filter(|word| word != "bit").filter_map(|word| LossUnit::of_word(&word));
    let mut found = named.filter(|unit| *unit != LossUnit::Perplexity);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Whether an expression may turn one unit into another: by a logarithm, an exponential or the factor between them.
pub fn converts(expression: &Expression) -> bool {
    any_part(expression, |part| match part {
        ExpressionKind::Call(name, _) => matches!(name.as_str(), "ln" | "exp"),
        ExpressionKind::Number(text) => text.parse().is_ok_and(is_nats_per_bit),
        _ => false,
    })
}

/// Whether a relation may turn one unit into another: by any factor, or by a formula of the post.
pub fn may_convert(expression: &Expression, is_formula: &dyn Fn(&str) -> bool) -> bool {
    any_part(expression, |part| match part {
        ExpressionKind::Arithmetic(operator, ..) => {
            matches!(operator, ArithmeticOperator::Multiply | ArithmeticOperator::Divide)
        }
        ExpressionKind::Call(name, _) | ExpressionKind::Name(name) => {
            is_formula(name) || matches!(name.as_str(), "ln" | "exp")
        }
        _ => false,
    })
}

fn any_part(expression: &Expression, is_so: impl Fn(&ExpressionKind) -> bool) -> bool {
    let mut found = false;
    expression.each(&mut |part| found |= is_so(&part.kind));
    found
}

#[cfg(test)]
mod tests {
    use super::{LossUnit, converts, unit_around, unit_of_words};
    use repro_claim::Expression;

    #[test]
    fn units_of_words() {
        assert_eq!(unit_of_words("1.21 bpb"), Some(LossUnit::Bits));
        assert_eq!(unit_of_words("nats per token"), Some(LossUnit::Nats));
        assert_eq!(unit_of_words("bits, from nats"), None);
        assert_eq!(unit_of_words("a rabbit"), None);
    }

    #[test]
    fn the_unit_beside_a_number_is_its_own() {
        let of = |quote: &str, number: &str| {
            let at = quote.find(number).unwrap();
            unit_around(quote, "", &(at..at + number.len()))
        };
        let both = "1.70 nats, or 2.45 bits per token";
        assert_eq!(of(both, "1.70"), Some(LossUnit::Nats));
        assert_eq!(of(both, "2.45"), Some(LossUnit::Bits));
        assert_eq!(of("a perplexity of 5.48", "5.48"), Some(LossUnit::Perplexity));
        assert_eq!(of("1.70 after the bits", "1.70"), Some(LossUnit::Bits));
        assert_eq!(of("a loss of 1.70 against 1.71 bits", "1.70"), None);
        assert_eq!(of("loss 1.70 (perplexity 5.48)", "1.70"), None);
        assert_eq!(of("loss 1.70 (perplexity 5.48)", "5.48"), Some(LossUnit::Perplexity));
        assert_eq!(of("In bits, 2.455; in nats, 1.702", "2.455"), Some(LossUnit::Bits));
        assert_eq!(of("a bit better: 1.702 against 1.717", "1.702"), None);
        assert_eq!(unit_around("is 1.70", "bits per byte", &(3..7)), Some(LossUnit::Bits));
    }

    #[test]
    fn only_a_logarithm_or_its_factor_converts() {
        let does = |text: &str| converts(&Expression::parse(text).unwrap());
        assert!(
            does("mean(a.nats) / (a.bytes * ln(2))")
                && does("a.loss * 1.4427")
                && does("a.loss / 0.6931")
        );
        assert!(!does("mean(a.loss) * 1") && !does("a.loss * 1.5"));
    }
}
