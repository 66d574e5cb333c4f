//! Expressions with the formulas and the variables of their row in place: what they compute, whatever it is called.

use std::collections::BTreeMap;

use repro_claim::Expression;
use repro_claim::syntax::{Argument, ExpressionKind};

use super::expanded::RowVariables;
use super::{PostFormula, PostPage};

/// The most parts of an expression that is unfolded.
const MOST_PARTS: usize = 2_000;
/// The deepest nesting of formulas; they may call each other in a circle.
const MOST_DEPTH: usize = 24;

/// What parameters stand for.
type Given = BTreeMap<String, Expression>;

struct Unfolding<'p> {
    page: &'p PostPage,
    /// Whether formulas are put in place, or keep their names.
    opens_formulas: bool,
    parts: usize,
}

impl PostPage {
    /// An expression with each formula and each variable of the row in place; none where that would be too long.
    pub fn unfolded(&self, tree: &Expression, row: &RowVariables) -> Option<Expression> {
        let mut unfolding = Unfolding { page: self, opens_formulas: true, parts: 0 };
        unfolding.within(tree, row, &Given::new(), 0)
    }

    /// The same with the names of formulas as they are.
    pub fn with_row(&self, tree: &Expression, row: &RowVariables) -> Option<Expression> {
        let mut unfolding = Unfolding { page: self, opens_formulas: false, parts: 0 };
        unfolding.within(tree, row, &Given::new(), 0)
    }
}

impl<'p> Unfolding<'p> {
    fn within(
        &mut self,
        tree: &Expression,
        row: &RowVariables,
        given: &Given,
        depth: usize,
    ) -> Option<Expression> {
        self.parts += 1;
        if self.parts > MOST_PARTS || depth > MOST_DEPTH {
            return None;
        }
        let mut part = |tree: &Expression| self.within(tree, row, given, depth);
        let mut boxed = |tree: &Expression| part(tree).map(Box::new);
        let kind = match &tree.kind {
            ExpressionKind::Number(_) | ExpressionKind::Text(_) => tree.kind.clone(),
            ExpressionKind::Name(name) => return self.name(name, tree, row, given, depth),
            ExpressionKind::Field(of, key) => ExpressionKind::Field(boxed(of)?, key.clone()),
            ExpressionKind::At(of, step) => ExpressionKind::At(boxed(of)?, boxed(step)?),
            ExpressionKind::Negative(of) => ExpressionKind::Negative(boxed(of)?),
            ExpressionKind::Not(of) => ExpressionKind::Not(boxed(of)?),
            ExpressionKind::Arithmetic(operator, left, right) => {
                ExpressionKind::Arithmetic(*operator, boxed(left)?, boxed(right)?)
            }
            ExpressionKind::List(items) => {
                ExpressionKind::List(items.iter().map(part).collect::<Option<_>>()?)
            }
            ExpressionKind::Relation(first, rest) => {
                let rest = rest.iter().map(|(operator, side)| Some((*operator, part(side)?)));
                let rest = rest.collect::<Option<_>>()?;
                ExpressionKind::Relation(self.within(first, row, given, depth).map(Box::new)?, rest)
            }
            ExpressionKind::Call(name, arguments) => {
                let value = |one: &Argument| {
                    Some(Argument { name: one.name.clone(), value: part(&one.value)? })
                };
                let arguments: Vec<_> = arguments.iter().map(value).collect::<Option<_>>()?;
                let Some(formula) = self.formula(name) else {
                    let kind = ExpressionKind::Call(name.clone(), arguments);
                    return Some(Expression { kind, span: tree.span.clone() });
                };
                let named = std::iter::zip(arguments, &formula.parameters);
                let given = named.map(|(one, own)| (one.name.unwrap_or(own.clone()), one.value));
                return self.within(&formula.body.tree, row, &given.collect(), depth + 1);
            }
        };
        Some(Expression { kind, span: tree.span.clone() })
    }

    fn formula(&self, name: &str) -> Option<&'p PostFormula> {
        self.page.formulas.get(name).filter(|_| self.opens_formulas)
    }

    fn name(
        &mut self,
        name: &str,
        tree: &Expression,
        row: &RowVariables,
        given: &Given,
        depth: usize,
    ) -> Option<Expression> {
        if let Some(value) = given.get(name) {
            value.each(&mut |_| self.parts += 1);
            return Some(value.clone());
        }
        if let Some(variable) = row.get(name) {
            // Inside a variable the names of the row mean nothing: it cannot stand for itself.
            return self.within(&variable.tree, &RowVariables::new(), &Given::new(), depth + 1);
        }
        match self.formula(name) {
            Some(formula) if formula.parameters.is_empty() => {
                self.within(&formula.body.tree, row, &Given::new(), depth + 1)
            }
            _ => Some(tree.clone()),
        }
    }
}
