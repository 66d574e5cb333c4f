//! Whether a relation only bounds a number that the words state as it is: "reaches a loss of 1.05" is no limit, and
//! every number below the loss would satisfy `quoted(1) <= loss`.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::quote::{Hedge, QuoteItem};
use repro_claim::syntax::{ExpressionKind, RelationOperator};

use crate::page::quoted_numbers;

/// The function that states a limit as `<=` does.
const REACHED: &str = "reached";

/// The first number of the quote that a relation takes as a limit, and that the words do not.
pub fn taken_as_limit<'q>(tree: &Expression, items: &'q [QuoteItem]) -> Option<&'q QuoteItem> {
    let mut bounded = BTreeSet::new();
    tree.each(&mut |part| match &part.kind {
        ExpressionKind::Relation(first, rest) => {
            let orders = |(sign, _): &&(RelationOperator, Expression)| {
                !matches!(sign, RelationOperator::Equal | RelationOperator::NotEqual)
            };
            if rest.iter().any(|pair| orders(&pair)) {
                let sides = std::iter::once(&**first).chain(rest.iter().map(|(_, side)| side));
                bounded.extend(sides.flat_map(quoted_numbers));
            }
        }
        ExpressionKind::Call(name, arguments) if name == REACHED => {
            bounded.extend(arguments.iter().flat_map(|argument| quoted_numbers(&argument.value)));
        }
        _ => {}
    });
    let items = bounded.into_iter().filter_map(|number| items.get(number.checked_sub(1)?));
    let mut plain = items.filter(|item| {
        matches!(item.hedge, None | Some(Hedge::About | Hedge::Cut | Hedge::Exactly))
    });
    plain.next()
}

#[cfg(test)]
mod tests {
    use super::taken_as_limit;
    use repro_claim::{Expression, quote};

    #[test]
    fn only_limits_are_taken_as_limits() {
        let taken = |quote: &str, relation: &str| {
            let tree = Expression::parse(relation).unwrap();
            taken_as_limit(&tree, &quote::items(quote)).map(|item| item.text(quote).to_owned())
        };
        assert_eq!(taken("a loss of 1.05", "quoted(1) <= m.loss").as_deref(), Some("1.05"));
        assert_eq!(taken("reaches 1.05", "reached(quoted(1), m.loss)").as_deref(), Some("1.05"));
        assert_eq!(taken("below 1.73", "m.loss < quoted(1)"), None);
        assert_eq!(taken("between 1.70 and 1.71", "quoted(1) < m.loss < quoted(2)"), None);
        assert_eq!(taken("1.70 nats", "quoted(1) = m.loss"), None);
    }
}
