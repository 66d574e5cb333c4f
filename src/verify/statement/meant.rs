//! The meaning of a statement's claim: its provenance, the names in its fact, its lints.

use std::cell::OnceCell;

use repro_claim::Expression;
use repro_claim::quote::QuoteItem;
use repro_report::meaning::{Lint, Reading};
use repro_report::outcome::Verdict;

use super::judge::{BoundWords, Judge, expressions_of};
use crate::evaluate::Evaluator;
use crate::meaning::lints::{self, LintedClaim};
use crate::meaning::{Provenance, Scope};
use crate::page::{Binding, StatementKind};
use crate::value::Quantity;

/// The meanings of names in a claim, and the origin of its value.
pub(super) struct Sources<'s> {
    pub(super) scope: Scope<'s>,
    pub(super) provenance: Provenance,
}

/// A value and the words that it is linted against.
pub(super) struct LintedValue<'v> {
    /// The numbers of the quote.
    pub(super) items: &'v [QuoteItem],
    /// The number that is judged; none of a relation.
    pub(super) number: Option<&'v QuoteItem>,
    /// The reading that the post declares for it.
    pub(super) declared: Option<Reading>,
    /// The expressions of the claim.
    pub(super) trees: &'v [&'v Expression],
    /// The values.
    pub(super) given: &'v [Quantity],
}

impl<'a> Judge<'a> {
    /// The sources of a claim: of its expressions, the formulas that they use and the variables of its row.
    pub(super) fn sources<'s>(
        &'s self,
        bound: &'s BoundWords,
        trees: &[&Expression],
        evaluator: &Evaluator<'a>,
        given: &[Quantity],
    ) -> Sources<'s> {
        let row = bound.variables.values().map(|variable| &variable.tree);
        let roots = trees.iter().copied().chain(row);
        let all: Vec<_> = roots.flat_map(|tree| self.with_formulas(tree)).collect();
        let leaves = evaluator.compared();
        let (page, library) = (self.context.page, self.context.library);
        let arms = &self.context.arms;
        let provenance = Provenance::of(arms, library, &all, &leaves, given);
        Sources {
            scope: Scope { page, library, arms, variables: bound.variables, leaves },
            provenance,
        }
    }

    /// The lints of a claim, with the answer of the author where the statement has one; a claim that is wrong or
    /// unchecked needs none.
    pub(super) fn lints(
        &self,
        bound: &BoundWords,
        value: &LintedValue<'_>,
        sources: &Sources,
        verdict: Verdict,
    ) -> Vec<Lint> {
        if !matches!(verdict, Verdict::Verified | Verdict::Inconclusive) {
            return Vec::new();
        }
        self.context.work.takes(bound.quote.len());
        let lower = bound.quote.to_lowercase();
        // The places of numbers are those of the quote itself.
        let lower = if lower.len() == bound.quote.len() { lower } else { bound.quote.to_owned() };
        let context = format!("{} {}", bound.place_in_text, bound.sought.around);
        let text = self.context.text(&self.statement.text);
        let siblings = self.trees_of_statement();
        let all = value.trees.iter().flat_map(|tree| self.with_formulas(tree));
        let with_formulas: Vec<_> = all.filter(|part| !self.is_definition(part)).collect();
        let pairs = self.pairs(bound, value.items).unwrap_or_default();
        let numbers =
            pairs.iter().filter_map(|pair| Some((*pair.items.first()?, &pair.expression.tree)));
        let numbers: Vec<_> = numbers.collect();
        let claim = LintedClaim {
            quote: bound.quote,
            lower: &lower,
            head: bound.head,
            row: bound.row,
            row_head: bound.row_head,
            context: &context,
            text: text.map(|text| text.lower()),
            items: value.items,
            number: value.number,
            declared: value.declared,
            trees: value.trees,
            with_formulas: &with_formulas,
            siblings: &siblings,
            bound: &numbers,
            provenance: &sources.provenance,
            scope: &sources.scope,
            given: value.given,
            others: OnceCell::new(),
        };
        lints::of(&claim, self.statement.reading.as_ref())
    }

    /// Every expression of the statement, of bindings and of relations.
    fn trees_of_statement(&self) -> Vec<&'a Expression> {
        let bindings: &'a [Binding] = match &self.statement.kind {
            StatementKind::Sentence(sentence) => &sentence.is,
            StatementKind::Table(_) => &[],
        };
        expressions_of(bindings).map(|one| &one.tree).chain(self.statement.relations()).collect()
    }
}
