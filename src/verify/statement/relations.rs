//! Sentences, and the relations that they state.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::Expression;
use repro_claim::quote::{self, QuoteItem};
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_core::decimal::{Printed, Unit};
use repro_core::source::{Code, Error, codes};
use repro_report::meaning::{FactRow, Lint, LintKind, Meaning};
use repro_report::outcome::{ClaimReport, EvidenceRef, Method, Outcome, Verdict};

use super::judge::{
    BoundWords, CLAIM, Judge, NO_EVIDENCE, PROOF, ScopedEvaluator, instead, kind_of, plain_numbers,
    single_source,
};
use super::meant::LintedValue;
use super::numbers::SINGLE_SOURCE;
use super::wording::{readings, undecidable, worded};
use crate::evaluate::functions::{again, fixed};
use crate::evaluate::order;
use crate::evaluate::{Evaluator, Frame};
use crate::lexicon::{lexicon, place_of};
use crate::meaning::{fact, rows};
use crate::page::{PlacedExpression, Sentence, quoted_numbers, stated_numbers};
use crate::reading;
use crate::value::Quantity;

codes! {
    NOT_PUBLISHED = "sentence::not-published", "evidence not published", "publish the evidence, and bind the sentence to it";
    UNCLEAR_CELL = "sentence::unclear-cell", "it is unclear whether the cell means yes or no", "write `yes` or `no`, ✓ or ✗, `true` or `false`";
    NOTHING_READ = "sentence::beside-without-evidence", "a value in `beside` is not derived from evidence", "bind it to evidence, or remove `beside`";
    NOT_HELD = "sentence::unused-number", "a number in the quote is not used by any binding or relation", "bind it in `is`, use it in the relation as `quoted(1)`, or excuse it with `\"_ reason\"`";
}

/// Whether a cell affirms or denies the relation of its column; none if it has words of its own.
fn truth_of_cell(cell: &str) -> Option<bool> {
    let marks = |c: char| c.is_whitespace() || "*_`\"'.!()[]{}\u{fe0f}".contains(c);
    let words = cell.trim_matches(marks).to_lowercase();
    if lexicon().is_in("truth.no", &words) {
        return Some(false);
    }
    let is_number = words.contains(|c: char| c.is_ascii_digit()) && words != "0";
    (is_number || lexicon().is_in("truth.yes", &words)).then_some(true)
}

impl<'a> Judge<'a> {
    pub(super) fn sentence(&self, sentence: &Sentence) -> Result<Vec<ClaimReport>, Error> {
        let none = BTreeMap::new();
        let bound = BoundWords {
            id: self.statement.id.clone(),
            quote: &sentence.quote,
            place_in_text: self.statement.place_in_text.clone(),
            sought: self.sought(&sentence.quote),
            head: None,
            row: None,
            row_head: None,
            scale: None,
            row_unit: None,
            variables: &none,
            bindings: &sentence.is,
            items: quote::items(&sentence.quote),
            said: sentence.relations().flat_map(quoted_numbers).collect(),
        };
        if sentence.is.is_empty() && sentence.missing.is_none() {
            self.are_held(sentence, &bound)?;
        }
        let mut reports = Vec::new();
        match &sentence.missing {
            // Nothing published bears it out or contradicts it.
            Some(what) => {
                let outcome = Outcome::unchecked(&NOT_PUBLISHED, format!("not published: {what}"));
                reports.push(self.report(&bound, "missing", outcome));
            }
            None => reports.extend(self.numbers(&bound)?),
        }
        reports.extend(self.each_relation(sentence, &bound, &sentence.says, reports.is_empty())?);
        if !sentence.may_mean.is_empty() {
            let mut report = self.relations(sentence, &bound, &sentence.may_mean, true)?;
            if !reports.is_empty() {
                report.id.push_str(".may-mean");
            }
            reports.push(report);
        }
        if !sentence.beside.is_empty() {
            let beside = self.beside(sentence, &bound)?;
            let facts = reports.iter_mut().filter_map(|report| report.meaning.fact.as_mut());
            facts.for_each(|fact| fact.rows.extend(beside.iter().cloned()));
        }
        Ok(reports)
    }

    /// The values that a report shows beside those of a sentence.
    fn beside(&self, sentence: &Sentence, bound: &BoundWords) -> Result<Vec<FactRow>, Error> {
        let evaluation = self.evaluation(bound, Vec::new())?;
        let mut shown = Vec::new();
        for expression in &sentence.beside {
            self.context.work.takes(CLAIM);
            let given = evaluation.frame(expression).evaluate()?;
            let numbers = evaluation.frame(expression).parts(given)?;
            let is_read = |number: &Quantity| number.evidence().next().is_some();
            if !numbers.iter().all(is_read) {
                let found = format!("`{}`", expression.tree);
                let expected = "values from the evidence";
                return Err(NOTHING_READ.at(expression.place().clone(), expected, found));
            }
            let values: Vec<f64> = numbers.iter().map(Quantity::nearest).collect();
            let sources = self.sources(bound, &[&expression.tree], &evaluation.evaluator, &[]);
            shown.push(rows::of_shown(&sources.scope, &expression.tree, &values));
        }
        Ok(shown)
    }

    /// The relations that some words state, each by itself; only a single one that stands alone has the id of the words.
    fn each_relation(
        &self,
        sentence: &Sentence,
        bound: &BoundWords,
        says: &[PlacedExpression],
        is_alone: bool,
    ) -> Result<Vec<ClaimReport>, Error> {
        let each = says.iter().enumerate().map(|(index, relation)| {
            let report = self.relations(sentence, bound, std::slice::from_ref(relation), false)?;
            let id = match (says.len(), is_alone) {
                (1, true) => report.id,
                (1, false) => format!("{}.says", bound.id),
                _ => format!("{}.says-{}", bound.id, index + 1),
            };
            Ok(ClaimReport { id, ..report })
        });
        each.collect()
    }

    /// One relation, or several of which the sentence may mean any.
    pub(super) fn relations(
        &self,
        sentence: &Sentence,
        bound: &BoundWords,
        expressions: &[PlacedExpression],
        any: bool,
    ) -> Result<ClaimReport, Error> {
        self.context.work.takes(CLAIM + bound.quote.len() / 4);
        self.context.work.goes_on(&self.statement.place)?;
        let printed = plain_numbers(&bound.items);
        let evaluation = self.evaluation(bound, printed.clone())?;
        let mut parts = Vec::new();
        for expression in expressions {
            let outcome = evaluation.frame(expression).judgement().or_else(undecidable)?;
            parts.push((expression.tree.to_string(), outcome));
        }
        let mut outcome = if any { readings(parts) } else { order::all(parts) };
        if outcome.is_verified()
            && let Some((code, reason)) = self.worthless(bound, &evaluation, expressions, any)
        {
            outcome = instead(code, &reason, outcome);
        }
        let outcome = worded(outcome, sentence, self.statement.premise.as_deref());
        let outcome = self.settled(outcome, &evaluation.evaluator);
        let trees: Vec<_> = expressions.iter().map(|one| &one.tree).collect();
        let kind = trees.first().map_or("relation", |first| kind_of(first, "relation"));
        let computed = trees.iter().any(|tree| self.computes(tree));
        let method = if computed { Method::Recomputed } else { Method::Compared };
        // Only what was executed is replayed.
        let method = outcome.method.or((kind != again::REPLAYED).then_some(method));
        let outcome = Outcome { method, ..outcome };
        let quoted: BTreeSet<_> = trees.iter().flat_map(|tree| quoted_numbers(tree)).collect();
        let claimed = quoted.into_iter().filter_map(|number| printed.get(number.checked_sub(1)?));
        let claimed: Vec<_> = claimed.map(Printed::text).collect();
        let sources = self.sources(bound, &trees, &evaluation.evaluator, &[]);
        let fact = fact::of_relations(&sources.scope, &trees, &outcome);
        let linted = LintedValue {
            items: &bound.items,
            number: None,
            declared: None,
            trees: &trees,
            given: &[],
        };
        let mut lints = self.lints(bound, &linted, &sources, outcome.verdict);
        if outcome.is_verified() && !any {
            lints.extend(expressions.iter().find_map(|one| self.loose(one, bound)));
        }
        let joint = if any { " or " } else { " and " };
        let report = self.evaluated(bound, &evaluation, expressions, joint, outcome);
        let meaning = Meaning { fact: Some(fact), lints, ..report.meaning };
        Ok(ClaimReport { kind, claimed: claimed.join(", "), meaning, ..report })
    }

    /// Why relations that hold say nothing about the evidence; none if they do.
    fn worthless(
        &self,
        bound: &BoundWords,
        evaluation: &ScopedEvaluator<'a>,
        expressions: &[PlacedExpression],
        any: bool,
    ) -> Option<(&'static Code, String)> {
        if expressions.iter().any(|one| self.says_nothing(one, evaluation, bound.quote)) {
            return Some((&NO_EVIDENCE, "true for any evidence".to_owned()));
        }
        // All that was read for it was typed from the quoted words.
        let leaves = evaluation.evaluator.leaves();
        if let Some(leaf) = leaves.first()
            && leaves.iter().all(|leaf| self.is_quoted(leaf, bound, ""))
        {
            return Some((&SINGLE_SOURCE, single_source(leaf)));
        }
        let reason = "the relation is true for any number in the text";
        let holds_any = !any && expressions.iter().any(|one| self.holds_any(one, bound));
        holds_any.then(|| (&NO_EVIDENCE, reason.to_owned()))
    }

    /// Rejects numbers of the quote that no relation holds: "a tenth of a percent" over `within = 0.5%`.
    fn are_held(&self, sentence: &Sentence, bound: &BoundWords) -> Result<(), Error> {
        let relations = sentence.relations().flat_map(|relation| self.with_formulas(relation));
        let held = stated_numbers(relations);
        for (number, item) in (1..).zip(&bound.items) {
            let Some(printed) = item.number() else { continue };
            // Counts in words are compared with the runs of the fact, by a lint.
            let is_measure = printed.unit() != Unit::Plain
                || !printed.is_integer_text() && !item.is_in_digits(bound.quote);
            if !is_measure || bound.said.contains(&number) || held.contains(&printed.in_ones()) {
                continue;
            }
            let found = format!("\"{}\"", item.text(bound.quote));
            let expected = "a relation that uses each number in its quote";
            return Err(NOT_HELD.at(self.statement.place.clone(), expected, found));
        }
        Ok(())
    }

    /// Whether a relation that takes a number of the quote holds whatever that number is.
    fn holds_any(&self, expression: &PlacedExpression, bound: &BoundWords) -> bool {
        self.held_of_all(expression, bound, |_, own| others(own)).is_some()
    }

    /// The lint of a number that its relation does not hold to its digits, where no word makes it a limit.
    fn loose(&self, expression: &PlacedExpression, bound: &BoundWords) -> Option<Lint> {
        let near = |item: &QuoteItem, own: &Printed| {
            let step = own.last_place() * BigRational::from_integer(BigInt::from(OTHER_DIGITS));
            if reading::is_loose(bound.quote, &item.span) {
                Vec::new()
            } else {
                vec![own.clone().moved(&step), own.clone().moved(&-step)]
            }
        };
        let index = self.held_of_all(expression, bound, near)?;
        let message = format!(
            "the relation would also be true for numbers other than \"{}\", and no word makes it a limit",
            bound.items.get(index)?.text(bound.quote)
        );
        Some(Lint { kind: LintKind::Limit, message, answer: self.statement.reading.clone() })
    }

    /// The first number of the quote, from 0, that a relation takes and that may as well be each of several others.
    fn held_of_all(
        &self,
        expression: &PlacedExpression,
        bound: &BoundWords,
        others: impl Fn(&QuoteItem, &Printed) -> Vec<Printed>,
    ) -> Option<usize> {
        let printed = plain_numbers(&bound.items);
        let holds = |index: usize, other: Printed| {
            let mut quoted = printed.clone();
            quoted[index] = other;
            let Ok(evaluation) = self.evaluation(bound, quoted) else { return false };
            evaluation.frame(expression).judgement().is_ok_and(|outcome| outcome.is_verified())
        };
        self.taken(&expression.tree).into_iter().find(|index| {
            let (Some(item), Some(own)) = (bound.items.get(*index), printed.get(*index)) else {
                return false;
            };
            let others = others(item, own);
            !others.is_empty() && others.into_iter().all(|other| holds(*index, other))
        })
    }

    /// Whether a relation that holds rests on no evidence, or on one thing held against itself.
    pub(super) fn says_nothing(
        &self,
        expression: &PlacedExpression,
        evaluation: &ScopedEvaluator<'a>,
        quote: &str,
    ) -> bool {
        let (tree, evaluator) = (&expression.tree, &evaluation.evaluator);
        if evaluator.shown().0.is_empty() {
            return !self.is_proof(tree, quote);
        }
        let frame = evaluation.frame(expression);
        let read = |part: &&Expression| {
            let own = Evaluator::new(self.context, evaluator.quoted().to_vec());
            let _ = Frame { evaluator: &own, part, ..frame }.settled();
            own.numbers_read()
        };
        let may_be_empty = match &tree.kind {
            ExpressionKind::Relation(_, rest) => {
                let sides = tree.parts();
                let words: Vec<_> =
                    sides.iter().map(|side| self.evidence_of_words(side, frame)).collect();
                if words.windows(2).any(|pair| pair[0].is_some() && pair[0] == pair[1]) {
                    return true;
                }
                let numbers = || sides.iter().map(read).collect::<Vec<_>>();
                rest.iter().any(|(sign, _)| *sign == RelationOperator::Equal)
                    || numbers().windows(2).any(|pair| !pair[0].is_empty() && pair[0] == pair[1])
            }
            ExpressionKind::Call(name, _) => fixed::EQUALITIES.contains(&name.as_str()),
            _ => false,
        };
        may_be_empty && evaluator.holds_whatever(frame)
    }

    /// Whether an expression proves what the words say: something of a formula of the post or of numbers of its text.
    /// What else holds everywhere says nothing of models and runs.
    fn is_proof(&self, tree: &Expression, quote: &str) -> bool {
        let formulas = &self.context.page.formulas;
        let mut names = tree.all().filter_map(Expression::name);
        tree.all().any(|part| part.name() == Some(PROOF))
            && (names.any(|name| name == "quoted" || formulas.contains_key(name))
                || !self.names_runs(quote))
    }

    /// Whether words are about something that is measured: a quantity, runs, a model, a name of the post.
    fn names_runs(&self, quote: &str) -> bool {
        let lower = quote.to_lowercase();
        let lexicon = lexicon();
        let names = self.context.page.names.keys().flat_map(|name| name.split('.'));
        let mut names = names.filter(|part| part.len() > 2);
        lexicon.quantities.iter().any(|term| term.place_in(&lower).is_some())
            || lexicon.has_any(&["count.runs", "arm.dense", "arm.sparse", "nominal.words"], &lower)
            || names.any(|part| place_of(&lower, &part.to_lowercase()).is_some())
    }

    /// Where the words stand that a side of a relation is; none if it is no words of evidence.
    pub(super) fn evidence_of_words(
        &self,
        side: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Option<Vec<EvidenceRef>> {
        let evaluator = Evaluator::new(self.context, Vec::new());
        let words = Frame { evaluator: &evaluator, part: side, ..frame }.settled().ok()?.words()?;
        let leaves = words.iter().flat_map(|words| &words.leaves);
        let evidence: Vec<_> = leaves.filter_map(|leaf| leaf.evidence.clone()).collect();
        (!evidence.is_empty()).then_some(evidence)
    }

    /// The relations that a cell states; a cell `false` denies them.
    pub(super) fn said(
        &self,
        bound: &BoundWords,
        says: &[PlacedExpression],
    ) -> Result<Vec<ClaimReport>, Error> {
        let truth = truth_of_cell(bound.quote);
        let relation = |relation: &PlacedExpression| match truth {
            Some(false) => relation.negated(),
            _ => relation.clone(),
        };
        // "dense" in a column that states `total(it) > active(it)` may well deny it, and "not tied" does.
        let denies = lexicon().has("truth.denies", &bound.quote.to_lowercase());
        let says: Vec<_> = says.iter().map(relation).collect();
        let sentence = Sentence::of_words(bound.quote);
        let is_alone = bound.bindings.is_empty();
        let mut reports = self.each_relation(&sentence, bound, &says, is_alone)?;
        for report in &mut reports {
            let is_open = match report.outcome.verdict {
                Verdict::Unchecked => false,
                Verdict::Refuted => truth.is_none(),
                _ => truth.is_none() && denies,
            };
            if is_open {
                let reason = format!("it is unclear whether \"{}\" means yes", bound.quote);
                let open = Outcome::inconclusive(&UNCLEAR_CELL, reason);
                report.outcome = open.giving(std::mem::take(&mut report.outcome.recomputed));
            }
        }
        Ok(reports)
    }
}

/// So many steps of its last digit make a different number.
const OTHER_DIGITS: i64 = 3;

/// Numbers far from one, and near it: what holds of all of them holds whatever the number is.
fn others(own: &Printed) -> Vec<Printed> {
    let whole = |number: i64| BigRational::from_integer(BigInt::from(number));
    let size = own.value().abs();
    let unit = if size.is_zero() { whole(1) } else { size };
    let reaches = [unit.clone() / whole(2), &unit * whole(1_000), unit * whole(1_000_000_000_000)];
    let both = |reach: &BigRational| [own.clone().moved(reach), own.clone().moved(&-reach)];
    reaches.iter().flat_map(both).collect()
}
