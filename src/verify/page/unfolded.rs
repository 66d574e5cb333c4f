//! Expressions with the formulas and the variables of their row in place: what they compute, whatever it is called.

use std::collections::BTreeMap;

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

use super::{PlacedExpression, PostFormula, PostPage};
use crate::work::Work;

/// The most parts of an expression that is unfolded.
const MOST_PARTS: usize = 2_000;
/// The deepest nesting of formulas; they may call each other in a circle.
const MOST_DEPTH: usize = 24;

/// The values of the names in a table row.
pub type RowVariables = BTreeMap<String, PlacedExpression>;

/// The values of parameters.
type Given = BTreeMap<String, Expression>;

/// The meanings of names at a part of an expression.
#[derive(Clone, Copy)]
struct Names<'n> {
    row: &'n RowVariables,
    given: &'n Given,
    /// How many formulas and variables the part stands inside of.
    depth: usize,
}

struct Unfolding<'p> {
    page: &'p PostPage,
    /// Whether formulas are put in place, or keep their names.
    opens_formulas: bool,
    /// Whether names of the post become the places of their evidence.
    locates_names: bool,
    parts: usize,
}

impl PostPage {
    /// An expression with each formula and each variable of the row in place; none if that would be too long.
    pub fn unfolded(&self, tree: &Expression, row: &RowVariables) -> Option<Expression> {
        Unfolding { opens_formulas: true, ..Unfolding::new(self) }.whole(tree, row)
    }

    /// Follows an expression through the formulas that it calls or names; their parameters keep their names.
    pub fn head<'e>(&'e self, tree: &'e Expression) -> &'e Expression {
        let mut head = tree;
        // Formulas may call each other in a circle.
        for _ in 0..MOST_DEPTH {
            let Some(formula) = head.name().and_then(|name| self.formulas.get(name)) else { break };
            head = &formula.body.tree;
        }
        head
    }

    /// An expression with the variables of the row in place, and the names of formulas as they are.
    pub fn with_row(&self, tree: &Expression, row: &RowVariables) -> Option<Expression> {
        Unfolding::new(self).whole(tree, row)
    }

    /// The same as unfolded with the names of the post as the places of their evidence.
    pub(super) fn located(
        &self,
        tree: &Expression,
        row: &RowVariables,
        work: &Work,
    ) -> Option<Expression> {
        let new = Unfolding::new(self);
        let mut unfolding = Unfolding { opens_formulas: true, locates_names: true, ..new };
        let located = unfolding.whole(tree, row);
        work.takes(unfolding.parts);
        located
    }
}

impl<'p> Unfolding<'p> {
    fn new(page: &'p PostPage) -> Self {
        Self { page, opens_formulas: false, locates_names: false, parts: 0 }
    }

    fn whole(&mut self, tree: &Expression, row: &RowVariables) -> Option<Expression> {
        self.copy(tree, Names { row, given: &Given::new(), depth: 0 })
    }

    fn copy(&mut self, tree: &Expression, names: Names<'_>) -> Option<Expression> {
        let mut copy = tree.clone();
        self.unfold(&mut copy, names)?;
        Some(copy)
    }

    fn unfold(&mut self, tree: &mut Expression, names: Names<'_>) -> Option<()> {
        self.parts += 1;
        if self.parts > MOST_PARTS || names.depth > MOST_DEPTH {
            return None;
        }
        if let ExpressionKind::Name(name) = &tree.kind {
            *tree = self.named(name, tree, names)?;
            return Some(());
        }
        if let Some(place) = self.place_of(tree) {
            tree.kind = place;
            return Some(());
        }
        tree.parts_mut().into_iter().try_for_each(|part| self.unfold(part, names))?;
        if let ExpressionKind::Call(name, arguments) = &mut tree.kind
            && let Some(formula) = self.formula(name)
        {
            let named = std::iter::zip(std::mem::take(arguments), &formula.parameters);
            let given = named.map(|(one, own)| (one.name.unwrap_or(own.clone()), one.value));
            let given = given.collect();
            *tree = self.copy(
                &formula.body.tree,
                Names { given: &given, depth: names.depth + 1, ..names },
            )?;
        }
        Some(())
    }

    fn named(&mut self, name: &str, tree: &Expression, names: Names<'_>) -> Option<Expression> {
        if let Some(value) = names.given.get(name) {
            value.each(&mut |_| self.parts += 1);
            return Some(value.clone());
        }
        let inside = Names { given: &Given::new(), depth: names.depth + 1, ..names };
        if let Some(variable) = names.row.get(name) {
            // Inside a variable the names of the row mean nothing: it cannot stand for itself.
            return self.copy(&variable.tree, Names { row: &RowVariables::new(), ..inside });
        }
        if let Some(formula) = self.formula(name).filter(|one| one.parameters.is_empty()) {
            return self.copy(&formula.body.tree, inside);
        }
        let kind = self.place_of(tree).unwrap_or_else(|| tree.kind.clone());
        Some(Expression { kind, span: tree.span.clone() })
    }

    fn formula(&self, name: &str) -> Option<&'p PostFormula> {
        self.page.formulas.get(name).filter(|_| self.opens_formulas)
    }

    /// The place of the evidence that a name stands for, as a name: "`moe-s1`".
    fn place_of(&self, tree: &Expression) -> Option<ExpressionKind> {
        let path = self.locates_names.then(|| path_of(tree))??;
        self.page.evidence_of(&path.join(".")).map(ExpressionKind::Name)
    }
}

/// A chain of fields as a list of names: `moe.active12.loss`.
pub fn path_of(part: &Expression) -> Option<Vec<String>> {
    match &part.kind {
        ExpressionKind::Name(name) => Some(vec![name.clone()]),
        ExpressionKind::Field(of, key) => {
            let mut path = path_of(of)?;
            path.push(key.clone());
            Some(path)
        }
        _ => None,
    }
}
