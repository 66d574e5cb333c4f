//! Sentences and tables of a text: what each of their numbers and relations comes to.

pub mod about;
pub mod wording;

use std::collections::BTreeMap;

use repro_claim::quote::{self, ItemKind, QuoteItem};
use repro_claim::syntax::ExpressionKind;
use repro_claim::table::{self, PrintedCell};
use repro_claim::{Expression, place};
use repro_exact::decimal::Printed;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{ClaimReport, Impact, Method, Outcome, Verdict};

use crate::compare;
use crate::context::PostContext;
use crate::evaluate::functions::{self, Gives, again};
use crate::evaluate::order;
use crate::evaluate::{Evaluator, Frame, Variables};
use crate::page::{
    Binding, NO_SUCH_ROW, PlacedExpression, PostStatement, Sentence, StatementKind, Table,
};
use crate::value::{Evaluated, Leaf, LeafKind, Quantity};
use about::Words;
use wording::{readings, worded};

codes! {
    OTHER_COUNT = "sentence::other-count", "a quote has more or fewer numbers than bindings", "give one expression for each number, in order; excuse a number by `\"_ the reason\"`";
    NOT_THERE = "sentence::not-there", "the text does not have these words", "quote the text as it stands";
    NO_TABLE = "sentence::no-table", "the text has no such table, or several", "give its head as it stands, or its lines in `printed`";
    NOT_AT_HAND = "sentence::not-at-hand", "the text is not at hand", "give it: `--text FILE`";
    SINGLE_SOURCE = "value::single-source", "the evidence was typed from the place that is quoted", "bind it to another document, or to what it follows from";
    NO_EVIDENCE = "value::no-evidence", "the value follows from no evidence", "bind the number to evidence";
    NOT_PUBLISHED = "sentence::not-published", "what would show it is not published", "publish it, and bind the sentence to it";
    OTHER_TEXT = "value::other-words", "the evidence says something else", "correct the text or the expression";
}

/// Judges one statement: a report for each number that is bound and each relation.
pub fn judge(
    context: &PostContext<'_>,
    statement: &PostStatement,
) -> Result<Vec<ClaimReport>, Error> {
    let judge = Judge { context, statement };
    match &statement.kind {
        StatementKind::Sentence(sentence) => judge.sentence(sentence),
        StatementKind::Table(table) => judge.table(table),
    }
}

struct Judge<'a> {
    context: &'a PostContext<'a>,
    statement: &'a PostStatement,
}

/// Words of the text and what their numbers are bound to.
struct Bound<'b> {
    id: String,
    quote: &'b str,
    place_in_text: String,
    /// Whether the text has these words; none where it is not at hand.
    is_there: Option<bool>,
    variables: &'b BTreeMap<String, PlacedExpression>,
    bindings: &'b [Binding],
}

/// A number of the text, or a pair of them that one expression gives, and that expression.
struct Pair<'p> {
    items: Vec<&'p QuoteItem>,
    expression: &'p PlacedExpression,
}

impl<'a> Judge<'a> {
    fn sentence(&self, sentence: &Sentence) -> Result<Vec<ClaimReport>, Error> {
        let text = self.context.texts.get(&self.statement.text);
        let is_there =
            text.map(|text| !place::of_parted_quote(text.text(), &sentence.quote).is_empty());
        let none = BTreeMap::new();
        let bound = Bound {
            id: self.statement.id.clone(),
            quote: &sentence.quote,
            place_in_text: self.statement.place_in_text.clone(),
            is_there,
            variables: &none,
            bindings: &sentence.is,
        };
        let mut reports = Vec::new();
        match &sentence.missing {
            Some(what) => reports.push(self.finished(self.unpublished(sentence, what), is_there)),
            None => reports.extend(self.numbers(&bound)?),
        }
        let numbers = plain_numbers(&quote::items(&sentence.quote));
        let relation = |expressions: &[PlacedExpression], any: bool| {
            self.relations(sentence, expressions, any, &numbers, is_there)
        };
        for (index, expression) in sentence.says.iter().enumerate() {
            let mut report = relation(std::slice::from_ref(expression), false)?;
            report.id = match (sentence.says.len(), reports.is_empty()) {
                (1, true) => report.id,
                (1, false) => format!("{}.says", report.id),
                _ => format!("{}.says-{}", self.statement.id, index + 1),
            };
            reports.push(report);
        }
        if !sentence.may_mean.is_empty() {
            let mut report = relation(&sentence.may_mean, true)?;
            if !reports.is_empty() {
                report.id.push_str(".may-mean");
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// A sentence that nothing published bears out or contradicts.
    fn unpublished(&self, sentence: &Sentence, what: &str) -> ClaimReport {
        ClaimReport {
            id: self.statement.id.clone(),
            kind: "missing",
            claimed: String::new(),
            said: String::new(),
            quote: sentence.quote.clone(),
            at: Some((self.statement.text.clone(), self.statement.place_in_text.clone())),
            note: self.statement.note.clone(),
            place: self.statement.place.clone(),
            origin: None,
            impact: Impact::Decision,
            outcome: Outcome::unchecked(&NOT_PUBLISHED, format!("not published: {what}")),
            evidence: Vec::new(),
        }
    }

    /// One relation, or several of which the sentence may mean any.
    fn relations(
        &self,
        sentence: &Sentence,
        expressions: &[PlacedExpression],
        any: bool,
        numbers: &[Printed],
        is_there: Option<bool>,
    ) -> Result<ClaimReport, Error> {
        let evaluator = Evaluator::new(self.context, numbers.to_vec());
        let none = Variables::new();
        let mut parts = Vec::new();
        for expression in expressions {
            let frame = Frame { source: expression, variables: &none };
            let outcome = evaluator.judgement(&expression.tree, frame)?;
            parts.push((expression.tree.to_string(), outcome));
        }
        let outcome = if any { readings(parts) } else { order::all(parts) };
        let outcome = worded(outcome, sentence, self.statement.premise.as_deref());
        let words = Words { quote: &sentence.quote, place: &self.statement.place_in_text };
        let trees: Vec<_> = expressions.iter().map(|one| &one.tree).collect();
        let outcome = self.about(outcome, words, &trees, &evaluator);
        let computed = expressions.iter().any(|expression| self.computes(&expression.tree));
        let kind = expressions.first().map_or("relation", |first| kind_of(&first.tree, "relation"));
        let method = if computed { Method::Recomputed } else { Method::Compared };
        // Only what was executed is replayed.
        let method = outcome.method.or((kind != again::REPLAYED).then_some(method));
        let outcome = Outcome { method, ..outcome };
        let (evidence, origin) = evaluator.shown();
        let place = expressions.first().map(|first| first.place().clone());
        let said: Vec<_> = expressions.iter().map(|one| one.tree.to_string()).collect();
        let said = said.join(if any { " or " } else { " and " });
        Ok(self.finished(
            ClaimReport {
                id: self.statement.id.clone(),
                kind,
                claimed: String::new(),
                said,
                quote: sentence.quote.clone(),
                at: Some((self.statement.text.clone(), self.statement.place_in_text.clone())),
                note: self.statement.note.clone(),
                place: place.unwrap_or_else(|| self.statement.place.clone()),
                origin,
                impact: outcome.impact.unwrap_or(Impact::Decision),
                outcome,
                evidence,
            },
            is_there,
        ))
    }

    /// The numbers of some words of the text, each with its binding.
    fn numbers(&self, bound: &Bound) -> Result<Vec<ClaimReport>, Error> {
        let items = quote::items(bound.quote);
        let mut reports = Vec::new();
        for (index, pair) in self.pairs(bound, &items)?.into_iter().enumerate() {
            let many = bound.bindings.len() > 1;
            let id = if many { format!("{}.{}", bound.id, index + 1) } else { bound.id.clone() };
            reports.push(self.number(bound, &pair, &items, id)?);
        }
        Ok(reports)
    }

    /// Each expression with the number or numbers that it is for. Numbers in words are bound all or none.
    fn pairs<'p>(&self, bound: &Bound<'p>, items: &'p [QuoteItem]) -> Result<Vec<Pair<'p>>, Error> {
        let all: Vec<&QuoteItem> = items.iter().collect();
        self.aligned(bound, &all).or_else(|error| {
            let digits: Vec<_> =
                all.into_iter().filter(|item| item.is_in_digits(bound.quote)).collect();
            self.aligned(bound, &digits).map_err(|_| error)
        })
    }

    /// Each expression with the number or numbers that it is for, where there are as many of both.
    fn aligned<'p>(
        &self,
        bound: &Bound<'p>,
        items: &[&'p QuoteItem],
    ) -> Result<Vec<Pair<'p>>, Error> {
        let mut left = items;
        let mut pairs = Vec::new();
        let mut wanted = 0;
        for binding in bound.bindings {
            let count = match binding {
                Binding::Excused(_) => 1,
                Binding::Is(expression) if is_interval(&expression.tree) => {
                    match left.first().map(|item| &item.kind) {
                        Some(ItemKind::Spread(_)) => 1,
                        _ => 2,
                    }
                }
                Binding::Is(_) => 1,
            };
            wanted += count;
            let (now, rest) = left.split_at(count.min(left.len()));
            left = rest;
            if let Binding::Is(expression) = binding {
                pairs.push(Pair { items: now.to_vec(), expression });
            }
        }
        if wanted == items.len() {
            return Ok(pairs);
        }
        let found: Vec<_> = items.iter().map(|item| item.text(bound.quote)).collect();
        Err(OTHER_COUNT.at(
            self.statement.place.clone(),
            format!("bindings for {} numbers: {}", found.len(), found.join(", ")),
            format!("bindings for {wanted}"),
        ))
    }

    fn number(
        &self,
        bound: &Bound,
        pair: &Pair,
        items: &[QuoteItem],
        id: String,
    ) -> Result<ClaimReport, Error> {
        let evaluator = Evaluator::new(self.context, plain_numbers(items));
        let scope = |evaluator: &Evaluator<'a>| {
            let none = Variables::new();
            let each = bound
                .variables
                .iter()
                .map(|(name, expression)| Ok((name.clone(), evaluator.value(expression, &none)?)));
            each.collect::<Result<Variables<'a>, Error>>()
        };
        let variables = scope(&evaluator)?;
        let frame = Frame { source: pair.expression, variables: &variables };
        let tree = &pair.expression.tree;
        let value = evaluator.evaluate(tree, frame)?;
        let value = evaluator.settled(value, frame, tree)?;
        if let Evaluated::Text(words) = value {
            return self.words(bound, pair, &evaluator, words.text, id);
        }
        let given = evaluator.parts(value, frame, tree)?;
        let mut outcome = self.compared(pair, &given);
        let leaves = || given.iter().flat_map(|number| &number.leaves);
        if outcome.verdict != Verdict::Unchecked {
            if !leaves().any(|leaf| leaf.kind != LeafKind::Literal)
                || !evaluator.depends_on_evidence(pair.expression, scope, &given)
            {
                outcome = instead(&NO_EVIDENCE, "the value follows from no evidence", outcome);
            } else if let Some(leaf) = leaves().find(|leaf| self.is_quoted(leaf, bound, pair)) {
                let reason = match leaf.quote.is_some() {
                    true => {
                        format!("single source: \"{}\" was typed from the quoted place", leaf.text)
                    }
                    false => format!(
                        "single source: \"{}\" was typed from the same document, and nothing shows that from another place",
                        leaf.text
                    ),
                };
                outcome = instead(&SINGLE_SOURCE, &reason, outcome);
            }
        }
        let compared =
            |number: &Quantity| number.leaf.is_some_and(|kind| kind != LeafKind::Counted);
        let method = match given.iter().all(compared) {
            true => Method::Compared,
            false => Method::Recomputed,
        };
        let words = Words { quote: bound.quote, place: &bound.place_in_text };
        let outcome = self.about(outcome.by(method), words, &[tree], &evaluator);
        Ok(self.report(bound, pair, &evaluator, outcome, id))
    }

    /// The outcome, unless the evidence is about something else than the words.
    fn about(
        &self,
        outcome: Outcome,
        words: Words,
        expressions: &[&Expression],
        evaluator: &Evaluator<'a>,
    ) -> Outcome {
        let is_formula = |name: &str| self.context.page.formulas.contains_key(name);
        about::checked(outcome, words, expressions, &is_formula, &evaluator.leaves())
    }

    /// Words of evidence against words of the text: a date, or a name with digits.
    fn words(
        &self,
        bound: &Bound,
        pair: &Pair,
        evaluator: &Evaluator<'a>,
        words: String,
        id: String,
    ) -> Result<ClaimReport, Error> {
        let claimed = claimed(bound.quote, pair);
        let outcome = match claimed == words {
            true => Outcome::verified(),
            false => Outcome::refuted(&OTHER_TEXT, format!("the evidence has \"{words}\"")),
        };
        let outcome = outcome.giving(words).within("same", "the same words").by(Method::Compared);
        Ok(self.report(bound, pair, evaluator, outcome, id))
    }

    /// The printed numbers of a pair against what its expression gives.
    fn compared(&self, pair: &Pair, given: &[Quantity]) -> Outcome {
        let half_width = |ends: &[Quantity]| match ends {
            [low, high] => {
                let half = num_rational::BigRational::new(1.into(), 2.into());
                let interval = (&high.interval - &low.interval).scaled(&half);
                let float = (high.float - low.float) / 2.0;
                let text = format!("half of {}", low.derivation);
                Some(Quantity::result(interval, float, text, &[low, high]))
            }
            _ => None,
        };
        let half = half_width(given).filter(|_| pair.items.len() == 1);
        let given = half.as_ref().map_or(given, std::slice::from_ref);
        let mut outcomes = Vec::new();
        for (item, number) in std::iter::zip(&pair.items, given) {
            let outcome = match &item.kind {
                ItemKind::Number(printed) | ItemKind::Spread(printed) => {
                    compare::judge(printed, item.hedge, number)
                }
                ItemKind::Date(date) => {
                    let reason = format!("the evidence gives {}, a number", number.derivation);
                    Outcome::refuted(&OTHER_TEXT, reason).giving(date.clone())
                }
            };
            outcomes.push((number.derivation.clone(), outcome));
        }
        order::all(outcomes)
    }

    /// Whether a piece of evidence was typed from the words that it is held against.
    fn is_quoted(&self, leaf: &Leaf, bound: &Bound, pair: &Pair) -> bool {
        let Some(evidence) = &leaf.evidence else { return false };
        if evidence.document.as_deref() != Some(self.statement.text.as_str()) {
            return false;
        }
        if evidence.printed_at.as_deref() == Some(bound.place_in_text.as_str()) {
            return true;
        }
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        let own = plain(bound.quote);
        match &leaf.quote {
            Some(quote) => {
                let typed = plain(quote);
                own.contains(&typed) || typed.contains(&own)
            }
            // JSON pointers tell places apart; words do not.
            None if evidence.printed_at.as_deref().is_some_and(|at| at.starts_with('/')) => false,
            None => claimed(bound.quote, pair).contains(&leaf.text),
        }
    }

    fn report(
        &self,
        bound: &Bound,
        pair: &Pair,
        evaluator: &Evaluator<'a>,
        outcome: Outcome,
        id: String,
    ) -> ClaimReport {
        let (evidence, origin) = evaluator.shown();
        let report = ClaimReport {
            id,
            kind: kind_of(&pair.expression.tree, "number"),
            claimed: claimed(bound.quote, pair),
            said: pair.expression.tree.to_string(),
            quote: bound.quote.to_owned(),
            at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
            note: self.statement.note.clone(),
            place: pair.expression.place().clone(),
            origin,
            impact: outcome.impact.unwrap_or(Impact::Digit),
            outcome,
            evidence,
        };
        self.finished(report, bound.is_there)
    }

    /// A claim about words that the text does not have says nothing about the text.
    fn finished(&self, mut report: ClaimReport, is_there: Option<bool>) -> ClaimReport {
        if is_there == Some(false) {
            let reason = "the text does not have these words";
            report.outcome = instead(&NOT_THERE, reason, report.outcome);
        }
        report
    }

    fn table(&self, table: &Table) -> Result<Vec<ClaimReport>, Error> {
        let text = self.context.texts.get(&self.statement.text);
        if table.printed.is_none() && text.is_none() {
            let expected = "the text, or the lines of the table in `printed`";
            return Err(NOT_AT_HAND.at(self.statement.place.clone(), expected, "neither"));
        }
        let found = table.lines(text.map_or("", |text| text.text())).map_err(|count| {
            let expected = "one table with this head in the text";
            NO_TABLE.at(self.statement.place.clone(), expected, count.to_string())
        })?;
        let none = BTreeMap::new();
        let mut reports = self.row(table, (&found.head, "head"), &none, &table.heads)?;
        for (label, variables) in &table.rows {
            let row = found.row(label).ok_or_else(|| {
                let first = found.rows.iter().filter_map(|row| row.first());
                let known: Vec<_> = first.map(|cell| format!("`{}`", cell.text)).collect();
                NO_SUCH_ROW.at(self.statement.place.clone(), known.join(", "), format!("`{label}`"))
            })?;
            reports.extend(self.row(
                table,
                (&found.rows[row], label),
                variables,
                &table.columns,
            )?);
        }
        Ok(reports)
    }

    /// The numbers of the cells of one line that are bound.
    fn row(
        &self,
        table: &Table,
        (row, label): (&[PrintedCell], &str),
        variables: &BTreeMap<String, PlacedExpression>,
        bindings: &[(String, Vec<Binding>)],
    ) -> Result<Vec<ClaimReport>, Error> {
        let text = self.context.texts.get(&self.statement.text);
        let is_there = text.map(|text| !place::of_row(text.text(), row).is_empty());
        let before = &self.statement.place_in_text;
        let short = |text: &str| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            words.join("-").to_ascii_lowercase()
        };
        let mut reports = Vec::new();
        for (column, bindings) in bindings {
            let Some(column) = table::column(&table.head, column) else { continue };
            let (Some(head), Some(cell)) = (table.head.get(column), row.get(column)) else {
                continue;
            };
            let place = format!("row {label}, {}", head.text);
            reports.extend(self.numbers(&Bound {
                id: format!("{}.{}.{}", self.statement.id, short(label), short(&head.text)),
                quote: &cell.text,
                place_in_text: if before.is_empty() { place } else { format!("{before}, {place}") },
                is_there,
                variables,
                bindings,
            })?);
        }
        Ok(reports)
    }

    /// Whether an expression derives anything, or only holds values against each other.
    fn computes(&self, expression: &Expression) -> bool {
        match &expression.kind {
            ExpressionKind::Arithmetic(..) | ExpressionKind::Negative(_) => true,
            ExpressionKind::Name(name) => self
                .context
                .page
                .formulas
                .get(name)
                .is_some_and(|formula| self.computes(&formula.body.tree)),
            ExpressionKind::Call(name, arguments) => {
                let own = match self.context.page.formulas.get(name) {
                    Some(formula) => self.computes(&formula.body.tree),
                    None => functions::find(name).is_none_or(|own| own.gives != Gives::AsItStands),
                };
                own || arguments.iter().any(|argument| self.computes(&argument.value))
            }
            ExpressionKind::List(items) => items.iter().any(|item| self.computes(item)),
            ExpressionKind::Not(of) => self.computes(of),
            ExpressionKind::Relation(first, rest) => {
                self.computes(first) || rest.iter().any(|(_, value)| self.computes(value))
            }
            ExpressionKind::At(of, _) | ExpressionKind::Field(of, _) => self.computes(of),
            ExpressionKind::Number(_) | ExpressionKind::Text(_) => false,
        }
    }
}

/// An unchecked claim, with what was found nevertheless.
fn instead(code: &'static repro_receipt::source::Code, reason: &str, outcome: Outcome) -> Outcome {
    let unchecked = Outcome::unchecked(code, reason).giving(outcome.recomputed);
    let unchecked = unchecked.measuring(outcome.measured);
    Outcome { method: outcome.method, ..unchecked }
}

/// What is claimed, as printed.
fn claimed(quote: &str, pair: &Pair) -> String {
    let texts: Vec<_> = pair.items.iter().map(|item| item.text(quote)).collect();
    match texts.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn plain_numbers(items: &[QuoteItem]) -> Vec<Printed> {
    let number = |item: &QuoteItem| match &item.kind {
        ItemKind::Number(printed) | ItemKind::Spread(printed) => Some(printed.clone()),
        ItemKind::Date(_) => None,
    };
    items.iter().filter_map(number).collect()
}

/// Whether an expression gives two ends.
fn is_interval(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Call(name, _) => {
            functions::find(name).is_some_and(|function| function.gives == Gives::Ends)
        }
        ExpressionKind::List(items) => items.len() == 2,
        _ => false,
    }
}

/// The kind of a claim: the function at the root of its expression.
fn kind_of(expression: &Expression, otherwise: &'static str) -> &'static str {
    match &expression.kind {
        ExpressionKind::Call(name, _) => {
            functions::find(name).map_or(otherwise, |function| function.name)
        }
        ExpressionKind::Not(of) => kind_of(of, otherwise),
        _ => otherwise,
    }
}

/// Line and column of the cell of a table that binds just one.
pub fn only_cell(table: &Table) -> Option<(usize, usize)> {
    let printed = table.printed.as_ref()?;
    let ([(row, _)], [(column, _)]) = (table.rows.as_slice(), table.columns.as_slice()) else {
        return None;
    };
    let column = table::column(&printed.head, column)?;
    let at = printed.row(row).filter(|at| column < printed.rows[*at].len())?;
    Some((at, column))
}
