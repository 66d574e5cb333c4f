//! The numbers and words of a quote, each against what it is bound to.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::quote::{self, HeadUnit, Hedge, ItemKind, QuoteItem};
use repro_claim::syntax::ExpressionKind;
use repro_exact::decimal::{Bound, Printed, nearest_f64};
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{ClaimReport, Impact, Meaning, Method, Outcome, Verdict};

use super::about::quantities::Better;
use super::about::units::BoundLoss;
use super::about::{Mismatch, matched};
use super::evidence_words::{self, ClaimedWords};
use super::judge::{
    BoundWords, CLAIM, Judge, NO_EVIDENCE, Subject, instead, kind_of, plain_numbers, run_cost,
    scope, shortened, single_source, stands_for,
};
use super::own_scale;
use super::unsure::{self, Side};
use super::wording::resting_on;
use crate::compare;
use crate::evaluate::functions::{self, Gives};
use crate::evaluate::order;
use crate::evaluate::{Evaluator, Frame, Variables};
use crate::page::{Binding, PlacedExpression, quoted_numbers};
use crate::value::{Evaluated, EvidenceWords, LeafKind, NumberRole, Quantity};

codes! {
    OTHER_COUNT = "sentence::other-count", "a quote has more or fewer numbers than bindings", "give one expression for each number, in order; excuse a number by `\"_ the reason\"`";
    OTHER_NUMBER = "sentence::other-number", "another number of the quote, which nothing binds, has the value", "bind both, in order";
    UNSURE = "sentence::unsure-words", "the number is another, and words near it may say something else of it", "say it plainly, as a number or a limit: \"at most 1.73\"";
    RELATION_AS_NUMBER = "sentence::relation-as-number", "a relation stands where a number is bound", "a relation, `a = b` or `a < b`, belongs into `says`; `is` has what each number of the quote is";
    OTHER_TEST = "test::other-test", "the words name another test than the plan fixes", "print the p of the planned test";
    SINGLE_SOURCE = "value::single-source", "the evidence was typed from the place that is quoted", "bind it to another document, or to what it follows from";
}

/// What helps where numbers are bound and the quote has none.
pub(super) const WORDS_ARE_WHOLE: &str =
    "words are bound by one expression of `is` as a whole, or said by a relation in `says`";

/// What helps where a sentence has numbers and only `says`.
pub(super) const BIND_OR_QUOTE: &str = "bind each number in `is`, as `is = \"mean(moe.loss)\"`; or take it into the relation of `says` as `quoted(1)`";

/// A number of the text, or a pair of them that one expression gives, and that expression.
pub(super) struct Pair<'p> {
    pub(super) items: Vec<&'p QuoteItem>,
    pub(super) expression: &'p PlacedExpression,
}

impl<'a> Judge<'a> {
    /// The numbers of some words of the text, each with its binding.
    pub(super) fn numbers(&self, bound: &BoundWords) -> Result<Vec<ClaimReport>, Error> {
        for binding in bound.bindings {
            if let Binding::Is(expression) = binding {
                self.is_no_relation(expression)?;
            }
        }
        let items = quote::items(bound.quote);
        if let [Binding::Is(expression)] = bound.bindings
            && (items.is_empty() || self.is_name(bound, expression))
        {
            // Words are bound as a whole: a name, a path, a boolean.
            let pair = Pair { items: Vec::new(), expression };
            return Ok(vec![self.number(bound, &pair, &items, bound.id.clone())?]);
        }
        let items = self.in_context(bound, items)?;
        let pairs = self.pairs(bound, &items)?;
        let unmatched = self.unmatched(bound, &pairs);
        let mut reports = Vec::new();
        for (index, pair) in pairs.into_iter().enumerate() {
            let many = bound.bindings.len() > 1;
            let id = if many { format!("{}.{}", bound.id, index + 1) } else { bound.id.clone() };
            let mut report = self.number(bound, &pair, &items, id)?;
            if let Some((code, reason)) = &unmatched
                && report.outcome.verdict == Verdict::Verified
            {
                let open = Outcome::inconclusive(code, reason.clone());
                report.outcome = open.with_evidence_of(report.outcome);
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// What the words say is equal between the runs that the numbers of a sentence are of, and is not. A step that the
    /// words name is a condition of its own.
    fn unmatched(&self, bound: &BoundWords, pairs: &[Pair]) -> Mismatch {
        let words = bound.words(None);
        if pairs.len() < 2 || !matched::is_said(words.quote) || words.name_steps() {
            return None;
        }
        let evaluator = Evaluator::new(self.context, Vec::new());
        let variables = scope(&evaluator, bound).ok()?;
        for Pair { expression, .. } in pairs {
            let frame = Frame { source: expression, variables: &variables };
            let value = evaluator.evaluate(&expression.tree, frame);
            let _ = value.and_then(|value| evaluator.settled(value, frame, &expression.tree));
        }
        let library = evaluator.library();
        let course_of = |bundle: &str, step: Option<u64>| run_cost(library, bundle, step);
        matched::other(words, &evaluator.compared(), &course_of)
    }

    /// Whether the whole quote is one word that is bound to words: the digits of `portable-f32/1` are no numbers.
    fn is_name(&self, bound: &BoundWords, expression: &PlacedExpression) -> bool {
        let word = bound.quote.trim();
        if word.contains(char::is_whitespace) || !word.contains(char::is_alphabetic) {
            return false;
        }
        let evaluator = Evaluator::new(self.context, Vec::new());
        let Ok(variables) = scope(&evaluator, bound) else { return false };
        let frame = Frame { source: expression, variables: &variables };
        let value = evaluator.evaluate(&expression.tree, frame);
        let value = value.and_then(|value| evaluator.settled(value, frame, &expression.tree));
        value.is_ok_and(|value| value.words().is_some())
    }

    /// The numbers in the light of what they are bound to and what stands above them.
    pub(super) fn in_context(
        &self,
        bound: &BoundWords,
        items: Vec<QuoteItem>,
    ) -> Result<Vec<QuoteItem>, Error> {
        let mut known = items.clone();
        let mut last: Option<(Hedge, usize, String)> = None;
        let unit = bound.head.and_then(quote::unit_of_head).or_else(|| bound.row_unit.clone());
        for pair in self.pairs(bound, &items)? {
            let tree = &pair.expression.tree;
            for item in &pair.items {
                let Some(at) = items.iter().position(|one| one.span == item.span) else { continue };
                if own_scale::may_have_one(tree) {
                    quote::may_lack_bytes(&mut known[at]);
                }
                if let Some(HeadUnit { factor, unit, is_sure }) = &unit {
                    quote::in_unit(&mut known[at], factor, *unit);
                    let own = !is_sure || own_scale::may_be_in(tree, &(factor / unit.per_one()));
                    known[at].other = known[at].other.take().filter(|_| own);
                }
            }
            // One value between two numbers: they are its limits. Of an interval they are the ends themselves.
            let [item] = pair.items.as_slice() else {
                for item in known.iter_mut().filter(|item| is_of(pair.items.as_slice(), item)) {
                    if let Some(Hedge::End(bound, _)) = item.hedge {
                        item.hedge = Some(Hedge::End(bound, quote::RangeWords::Dash));
                    }
                }
                continue;
            };
            let at = items.iter().position(|one| one.span == item.span);
            let (Some(at), Some(Hedge::End(bound, _))) = (at, item.hedge) else { continue };
            let said = tree.to_string();
            if let Some((Hedge::End(other, _), before, of)) = &last
                && *before + 1 == at
                && *of == said
                && *other != bound
            {
                known[*before].hedge = Some(Hedge::Limit(*other));
                known[at].hedge = Some(Hedge::Limit(bound));
            }
            last = item.hedge.map(|hedge| (hedge, at, said));
        }
        Ok(known)
    }

    /// Each expression with the number or numbers that it is for. Numbers in words are bound all or none.
    pub(super) fn pairs<'p>(
        &self,
        bound: &BoundWords<'p>,
        items: &'p [QuoteItem],
    ) -> Result<Vec<Pair<'p>>, Error> {
        let all: Vec<&QuoteItem> = items.iter().collect();
        let numbered = || all.iter().copied().enumerate();
        // What a relation takes from the quote is bound by it.
        let said = numbered().filter(|(at, _)| !bound.said.contains(&(at + 1)));
        let said: Vec<_> = said.map(|(_, item)| item).collect();
        let in_digits = |items: &[&'p QuoteItem]| -> Vec<&'p QuoteItem> {
            items.iter().copied().filter(|item| item.is_in_digits(bound.quote)).collect()
        };
        let others = [said.clone(), in_digits(&said), in_digits(&all)];
        self.aligned(bound, &all).or_else(|error| {
            let mut aligned = others.iter().filter_map(|items| self.aligned(bound, items).ok());
            aligned.next().ok_or(error)
        })
    }

    /// Each expression with the number or numbers that it is for, where there are as many of both.
    pub(super) fn aligned<'p>(
        &self,
        bound: &BoundWords<'p>,
        items: &[&'p QuoteItem],
    ) -> Result<Vec<Pair<'p>>, Error> {
        let mut left = items;
        let mut pairs = Vec::new();
        let mut wanted = 0;
        for binding in bound.bindings {
            let count = match binding {
                Binding::Excused(_) => 1,
                Binding::Is(expression) if self.is_interval(&expression.tree) => {
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
        Err(self.other_count(bound, items, wanted))
    }

    /// The error of words that have another count of numbers than there are bindings for.
    pub(super) fn other_count(
        &self,
        bound: &BoundWords,
        items: &[&QuoteItem],
        wanted: usize,
    ) -> Error {
        let numbers: Vec<_> = items.iter().map(|item| item.text(bound.quote)).collect();
        let expected = match numbers.len() {
            0 => format!("no binding of a number, as \"{}\" has none", shortened(bound.quote)),
            1 => format!("a binding for 1 number: {}", numbers[0]),
            count => format!("bindings for {count} numbers: {}", numbers.join(", ")),
        };
        let is_interval =
            |one: &Binding| matches!(one, Binding::Is(one) if self.is_interval(&one.tree));
        let of_two = match bound.bindings.iter().any(is_interval) {
            true => ", as an interval is two",
            false => "",
        };
        let cell = if bound.head.is_some() {
            format!(", in {}", bound.place_in_text)
        } else {
            String::new()
        };
        // What comes after the last number of the quote is too much; else something is missing.
        let mut bound_places =
            bound.bindings.iter().enumerate().filter_map(|(index, one)| match one {
                Binding::Is(one) => Some((index, one.place())),
                Binding::Excused(_) => None,
            });
        let too_much = bound_places.clone().find(|(index, _)| *index >= numbers.len());
        let place = too_much.or(bound_places.next_back()).map(|(_, place)| place.clone());
        let place = place.unwrap_or_else(|| self.statement.place.clone());
        let found = match wanted {
            0 => format!("none in `is`{cell}"),
            wanted => format!("bindings for {wanted}{of_two}{cell}"),
        };
        let error = OTHER_COUNT.at(place, expected, found);
        match (numbers.is_empty(), bound.bindings.is_empty()) {
            (true, _) => error.help(WORDS_ARE_WHOLE),
            (false, true) => error.help(BIND_OR_QUOTE),
            (false, false) => error,
        }
    }

    /// Whether an expression gives two ends, itself or by the formula that it calls.
    fn is_interval(&self, expression: &Expression) -> bool {
        let formulas = &self.context.page.formulas;
        let mut expression = expression;
        // Formulas may call each other in a circle.
        for _ in 0..=formulas.len() {
            match &expression.kind {
                ExpressionKind::Call(name, _) | ExpressionKind::Name(name) => {
                    match formulas.get(name) {
                        Some(formula) => expression = &formula.body.tree,
                        None => {
                            let gives = functions::find(name).map(|function| function.gives);
                            return gives == Some(Gives::Ends);
                        }
                    }
                }
                ExpressionKind::List(items) => return items.len() == 2,
                _ => return false,
            }
        }
        false
    }

    /// Refuses a relation where the value of a number is wanted.
    pub(super) fn is_no_relation(&self, expression: &PlacedExpression) -> Result<(), Error> {
        let is_relation =
            matches!(expression.tree.kind, ExpressionKind::Relation(..) | ExpressionKind::Not(_));
        match is_relation {
            true => Err(RELATION_AS_NUMBER.at(
                expression.place_of(&expression.tree, self.context.page.document()),
                "what a number of the quote is",
                format!("`{}`", expression.tree),
            )),
            false => Ok(()),
        }
    }

    pub(super) fn number(
        &self,
        bound: &BoundWords,
        pair: &Pair,
        items: &[QuoteItem],
        id: String,
    ) -> Result<ClaimReport, Error> {
        // Each number is held against the others, and its report repeats the quote.
        self.context.work.takes(CLAIM + items.len() / 4 + bound.quote.len() / 64);
        self.context.work.goes_on(&self.statement.place)?;
        let evaluator = Evaluator::new(self.context, plain_numbers(items));
        let variables = scope(&evaluator, bound)?;
        let frame = Frame { source: pair.expression, variables: &variables };
        let tree = &pair.expression.tree;
        let value = evaluator.evaluate(tree, frame)?;
        let value = evaluator.settled(value, frame, tree)?;
        if let Some(words) = value.words() {
            return Ok(self.words(bound, pair, (&evaluator, &variables), &words, id));
        }
        if matches!(value, Evaluated::Judgement(_)) {
            let expected = "what a number of the quote is";
            let found = format!("`{tree}`");
            return Err(RELATION_AS_NUMBER.at(pair.expression.place().clone(), expected, found));
        }
        if pair.items.is_empty() {
            let found =
                format!("{}, and \"{}\" has no number", value.word(), shortened(bound.quote));
            let expected = "words, which are bound as a whole";
            let error = OTHER_COUNT.at(pair.expression.place().clone(), expected, found);
            return Err(error.help(WORDS_ARE_WHOLE));
        }
        let given = evaluator.parts(value, frame, tree)?;
        let mut outcome = self.compared(pair, &given);
        let leaves = || given.iter().flat_map(|number| &number.leaves);
        if outcome.verdict != Verdict::Unchecked {
            let scope = |evaluator: &Evaluator<'a>| scope(evaluator, bound);
            if leaves().all(|leaf| leaf.kind.is_stated())
                || !evaluator.depends_on_evidence(pair.expression, scope, &given)
            {
                outcome = instead(&NO_EVIDENCE, "the value follows from no evidence", outcome);
            } else if self.takes_itself(tree, pair, items) {
                outcome = instead(&NO_EVIDENCE, "the number is part of its own evidence", outcome);
            } else if let Some(leaf) =
                leaves().find(|leaf| self.is_quoted(leaf, bound, &claimed(bound.quote, pair)))
            {
                outcome = instead(&SINGLE_SOURCE, &single_source(leaf), outcome);
            }
        }
        if outcome.verdict == Verdict::Refuted
            && let Some(other) = self.unbound_word(bound, pair, items, &given)
        {
            let reason = format!("it is \"{other}\", which nothing binds, and not this number");
            outcome = Outcome::inconclusive(&OTHER_NUMBER, reason).with_evidence_of(outcome);
        }
        if outcome.verdict == Verdict::Refuted
            && self.statement.premise.is_none()
            && let Some(why) = self.unsure(bound, pair, &given)
        {
            let reason = format!("{}; {why}", outcome.reason);
            outcome = Outcome::inconclusive(&UNSURE, reason).with_evidence_of(outcome);
        }
        let compared =
            |number: &Quantity| number.leaf.is_some_and(|kind| kind != LeafKind::Counted);
        let method = match given.iter().all(compared) || is_one_print(&given) {
            true => Method::Compared,
            false => Method::Recomputed,
        };
        let outcome = resting_on(outcome.by(method), self.statement.premise.as_deref());
        let outcome = of_another_test(outcome, bound, &given);
        let words = bound.words(pair.items.first().map(|item| (item.span.start, item.span.end)));
        let scope = |evaluator: &Evaluator<'a>| scope(evaluator, bound);
        let is_loss = || evaluator.is_a_loss(pair.expression, scope, &given);
        let loss = pair.items.first().and_then(|item| loss_of(item, &is_loss));
        let outcome = self.about(outcome, words, Subject::Number(tree, loss), &evaluator);
        Ok(self.report(bound, pair, (&evaluator, &variables), outcome, id))
    }

    /// Why the words around a number that is refuted leave open what it is said to be.
    fn unsure(&self, bound: &BoundWords, pair: &Pair, given: &[Quantity]) -> Option<String> {
        let item = pair.items.first()?;
        let value = |item: &QuoteItem| match &item.kind {
            ItemKind::Number(printed) | ItemKind::Spread(printed) => {
                printed.as_f64() / nearest_f64(&printed.unit().per_one())
            }
            ItemKind::Date(_) => f64::NAN,
        };
        let tree = &pair.expression.tree;
        let is_inside = match (pair.items.as_slice(), given) {
            ([low, high], [from, to]) if matches!(tree.kind, ExpressionKind::List(_)) => {
                value(low) <= from.float && to.float <= value(high)
            }
            ([end], [only]) => match end.hedge {
                Some(Hedge::End(Bound::AtLeast | Bound::Above, _)) => value(end) <= only.float,
                Some(Hedge::End(..)) => only.float <= value(end),
                _ => false,
            },
            _ => false,
        };
        let end = unsure::end_of_range(bound.quote, item);
        let is_within = match (end, given) {
            (Some(true), [only]) => value(item) <= only.float,
            (Some(false), [only]) => only.float <= value(item),
            _ => false,
        };
        let is_inside = is_inside || is_within;
        let is_below = given.first().is_some_and(|first| first.float < value(item));
        let side = Side { is_below, better: Better::of(tree), is_inside };
        unsure::about(bound.words(None), item, side, &tree.to_string())
    }

    /// The number in words that nothing binds and that has the value which refutes another: "five seeds end under 1.71".
    fn unbound_word(
        &self,
        bound: &BoundWords,
        pair: &Pair,
        items: &[QuoteItem],
        given: &[Quantity],
    ) -> Option<String> {
        if bound.bindings.len() >= items.len() {
            return None;
        }
        let in_words = items.iter().filter(|item| !item.is_in_digits(bound.quote));
        let others = in_words.filter(|item| !is_of(&pair.items, item));
        let mut fitting = others.filter(|item| {
            let other = Pair { items: vec![item], expression: pair.expression };
            self.compared(&other, given).verdict == Verdict::Verified
        });
        fitting.next().map(|item| item.text(bound.quote).to_owned())
    }

    /// Whether an expression, or a formula that it uses, takes from the quote the number that it is for.
    pub(super) fn takes_itself(&self, tree: &Expression, pair: &Pair, items: &[QuoteItem]) -> bool {
        let own: BTreeSet<usize> = (1..)
            .zip(items)
            .filter(|(_, item)| pair.items.iter().any(|own| own.span == item.span))
            .map(|(number, _)| number)
            .collect();
        let taken: BTreeSet<usize> =
            self.with_formulas(tree).into_iter().flat_map(quoted_numbers).collect();
        !taken.is_disjoint(&own)
    }

    /// Words of evidence against words of the text: a date, a name, a boolean. Each piece of evidence must have
    /// the words.
    pub(super) fn words(
        &self,
        bound: &BoundWords,
        pair: &Pair,
        (evaluator, variables): (&Evaluator<'a>, &Variables<'a>),
        words: &[EvidenceWords],
        id: String,
    ) -> ClaimReport {
        // Digits in a name are no number of their own: "the `portable-f32/1` arithmetic".
        let is_in_name =
            |item: &&QuoteItem| evidence_words::is_in_name(bound.quote, &item.span, words);
        let is_alone = bound.bindings.len() == 1 && pair.items.iter().all(is_in_name);
        let whole = Pair { items: Vec::new(), expression: pair.expression };
        let pair = if is_alone { &whole } else { pair };
        let claimed = claimed(bound.quote, pair);
        let date = pair.items.first().and_then(|item| match &item.kind {
            ItemKind::Date(date) => Some(date.as_str()),
            _ => None,
        });
        let is_among_others = claimed.trim() != bound.quote.trim();
        let said = ClaimedWords { words: &claimed, is_among_others, date };
        let mut outcome = evidence_words::judged(said, words);
        let mut leaves = words.iter().flat_map(|words| &words.leaves).peekable();
        if leaves.peek().is_none() {
            outcome = instead(&NO_EVIDENCE, "the words follow from no evidence", outcome);
        } else if let Some(leaf) = leaves.find(|leaf| self.is_quoted(leaf, bound, &claimed)) {
            outcome = instead(&SINGLE_SOURCE, &single_source(leaf), outcome);
        }
        self.report(bound, pair, (evaluator, variables), outcome.by(Method::Compared), id)
    }

    /// The printed numbers of a pair against what its expression gives.
    pub(super) fn compared(&self, pair: &Pair, given: &[Quantity]) -> Outcome {
        let half_width = |ends: &[Quantity]| match ends {
            [low, high] => {
                let half = num_rational::BigRational::new(1.into(), 2.into());
                let interval = (&high.interval - &low.interval).scaled(&half);
                let float = (high.float - low.float) / 2.0;
                let text = format!("half of {}", low.derivation);
                let result = Quantity::result(interval, float, text, &[low, high]);
                Some(Quantity { role: low.role.clone(), ..result })
            }
            _ => None,
        };
        let is_one = pair.items.len() == 1;
        let is_spread =
            matches!(pair.items.first().map(|item| &item.kind), Some(ItemKind::Spread(_)));
        let has_ends = is_spread || self.is_interval(&pair.expression.tree);
        let half = half_width(given).filter(|_| is_one && has_ends);
        let given = half.as_ref().map_or(given, std::slice::from_ref);
        let mut outcomes = Vec::new();
        // One number of the text is each of several that are given.
        let items =
            pair.items.iter().cycle().take(if is_one { given.len() } else { pair.items.len() });
        for (item, number) in std::iter::zip(items, given) {
            let outcome = match &item.kind {
                ItemKind::Number(printed) => compare::judge(item, printed, number),
                ItemKind::Spread(printed) => {
                    with_runs(compare::judge(item, printed, number), printed, number)
                }
                ItemKind::Date(date) => evidence_words::on_date(date, number),
            };
            outcomes.push((number.derivation.clone(), outcome));
        }
        order::all(outcomes)
    }

    pub(super) fn report(
        &self,
        bound: &BoundWords,
        pair: &Pair,
        (evaluator, variables): (&Evaluator<'a>, &Variables<'a>),
        outcome: Outcome,
        id: String,
    ) -> ClaimReport {
        let (evidence, origin) = evaluator.shown();
        let report = ClaimReport {
            id,
            kind: kind_of(&pair.expression.tree, "number"),
            claimed: claimed(bound.quote, pair),
            said: pair.expression.tree.to_string(),
            row: stands_for(bound, variables),
            own_numbers: self.own_numbers([&pair.expression.tree], bound),
            around: bound.sought.around.clone(),
            quote: bound.quote.to_owned(),
            at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
            note: self.statement.note.clone(),
            meaning: Meaning::default(),
            place: pair.expression.place().clone(),
            origin,
            impact: outcome.impact.unwrap_or(Impact::Digit),
            outcome,
            evidence,
        };
        self.finished(report, bound)
    }
}

/// The outcome with the numbers of the runs that a number behind ± is the spread of, for those who draw them.
fn with_runs(mut outcome: Outcome, printed: &Printed, given: &Quantity) -> Outcome {
    if let (NumberRole::Spread(runs), Some(measured)) = (&given.role, outcome.measured.first_mut())
    {
        let per_one = nearest_f64(&printed.unit().per_one());
        measured.spread_of = runs.iter().map(|run| run * per_one).collect();
    }
    outcome
}

/// The p of a sentence that names Welch's test, where the plan pairs the runs: it is another number.
fn of_another_test(outcome: Outcome, bound: &BoundWords, given: &[Quantity]) -> Outcome {
    const UNPAIRED: &[&str] = &["welch", "unpaired", "two-sample", "independent"];
    /// What is no t test of both sides, whatever the plan.
    const OTHERS: &[&str] = &[
        "mann-whitney",
        "wilcoxon",
        "rank-sum",
        "signed-rank",
        "permutation",
        "bootstrap",
        "mcnemar",
        "f test",
        "f-test",
        "chi-square",
        "one-sided",
        "one-tailed",
        "bonferroni",
        "q-value",
        "bayes factor",
        "correlation",
        "effect size",
        "cohen",
        "power of",
    ];
    let words = format!("{} {}", bound.quote, bound.sought.around).to_lowercase();
    let is_unpaired = UNPAIRED.iter().any(|word| words.contains(word));
    let is_paired =
        |number: &Quantity| matches!(&number.role, NumberRole::P(design) if design.is_paired);
    let is_p = |number: &Quantity| matches!(&number.role, NumberRole::P(_));
    let quote = bound.quote.to_lowercase();
    let is_other = OTHERS.iter().any(|word| quote.contains(word)) && given.iter().any(is_p);
    if outcome.verdict == Verdict::Unchecked {
        return outcome;
    }
    if is_other {
        let reason = "the words name another number than the p of a t test of both sides";
        return Outcome::inconclusive(&OTHER_TEST, reason).with_evidence_of(outcome);
    }
    if !is_unpaired || !given.iter().any(is_paired) {
        return outcome;
    }
    let reason = "the words name a test of independent groups, and the plan of the runs pairs them";
    Outcome::inconclusive(&OTHER_TEST, reason).with_evidence_of(outcome)
}

/// A number of the quote as one that may be a loss.
pub(super) fn loss_of<'l>(
    item: &QuoteItem,
    is_loss: &'l dyn Fn() -> bool,
) -> Option<BoundLoss<'l>> {
    match &item.kind {
        ItemKind::Number(printed) | ItemKind::Spread(printed) => {
            // `1.702 ± 0.8%` is no percentage.
            let unit = item.other.as_ref().map_or(printed.unit(), Printed::unit);
            Some(BoundLoss { span: item.span.clone(), unit, is_loss })
        }
        ItemKind::Date(_) => None,
    }
}

/// Whether all that numbers rest on is one print: a fact times 1 is that fact.
pub(super) fn is_one_print(given: &[Quantity]) -> bool {
    let leaves = given.iter().flat_map(|number| &number.leaves);
    let mut evidence: Vec<_> = leaves.filter(|leaf| !leaf.kind.is_stated()).collect();
    evidence.dedup();
    matches!(evidence.as_slice(), [one] if one.kind == LeafKind::Printed)
}

/// What is claimed, as printed.
pub(super) fn claimed(quote: &str, pair: &Pair) -> String {
    let texts: Vec<_> = pair.items.iter().map(|item| item.text(quote)).collect();
    match texts.as_slice() {
        [] => quote.to_owned(),
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

pub(super) fn is_of(items: &[&QuoteItem], item: &QuoteItem) -> bool {
    items.iter().any(|one| one.span == item.span)
}
