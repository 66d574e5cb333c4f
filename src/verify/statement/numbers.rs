//! The numbers and words of a quote, each against what it is bound to.

use num_rational::BigRational;
use repro_bundle::bundle::TRANSCRIPTION_DIFFERS;
use repro_claim::Expression;
use repro_claim::quote::{self, HeadUnit, ItemKind, QuoteItem, RangeEnd};
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::{Interval, Printed, nearest_f64};
use repro_core::source::{Error, codes};
use repro_report::meaning::{Meaning, Reading, TokenReading};
use repro_report::outcome::{ClaimReport, Impact, Method, Outcome, Verdict};
use repro_stats::spread::ErrorBarMeaning;

use super::evidence_words::{self, ClaimedWords};
use super::judge::{
    BoundWords, CLAIM, Judge, NO_EVIDENCE, ScopedEvaluator, expressions_of, instead, kind_of,
    plain_numbers, scope, shortened, single_source,
};
use super::meant::LintedValue;
use super::own_scale;
use super::wording::{resting_on, undecidable};
use crate::evaluate::Evaluator;
use crate::evaluate::functions::{self, Gives};
use crate::evaluate::order;
use crate::meaning::fact;
use crate::page::{Binding, PlacedExpression};
use crate::reading::{self, ColumnCell, NumberInQuote};
use crate::value::{Evaluated, EvidenceWords, Leaf, LeafKind, NumberRole, Quantity};

codes! {
    OTHER_COUNT = "sentence::binding-count-differs", "the number of bindings does not match the numbers in the quote", "give one expression per number, in order; excuse a number with `\"_ the reason\"`";
    RELATION_AS_NUMBER = "sentence::relation-as-number", "a number is bound to a relation", "move the relation (`a = b`, `a < b`) to `says`; use `is` for the numbers in the quote";
    SINGLE_SOURCE = "value::single-source", "the post is the only source", "bind the number to a second document, or to the values it follows from";
}

/// The help if numbers are bound and the quote has none.
pub(super) const WORDS_ARE_WHOLE: &str =
    "bind the words as a whole to one expression in `is`, or state a relation in `says`";

/// The help if a sentence has numbers and only `says`.
pub(super) const BIND_OR_QUOTE: &str = "bind each number in `is`, as in `is = \"mean(moe.loss)\"`, or use it in the relation in `says` as `quoted(1)`";

/// A number of the text, or a pair of them that one expression gives, and that expression.
pub(super) struct Pair<'p> {
    /// The id of its report.
    pub(super) id: String,
    pub(super) items: Vec<&'p QuoteItem>,
    pub(super) expression: &'p PlacedExpression,
    /// The reading that the post declares.
    pub(super) declared: Option<Reading>,
    /// Which end of a range it is, where both ends are bound to one value, which lies between them.
    pub(super) between: Option<RangeEnd>,
}

/// Numbers or words of the text that were held against what they are bound to.
struct JudgedValue<'p> {
    outcome: Outcome,
    /// The numbers of the quote; none beside words, which are not numbers.
    items: &'p [QuoteItem],
    /// Those that are claimed.
    numbers: Vec<&'p QuoteItem>,
    given: Vec<Quantity>,
    readings: Vec<TokenReading>,
    /// The words of the evidence; none of numbers.
    words: Vec<EvidenceWords>,
}

impl<'p> JudgedValue<'p> {
    /// An outcome of some numbers that nothing was held against.
    fn of(outcome: Outcome, numbers: Vec<&'p QuoteItem>) -> Self {
        let (given, readings, words) = (Vec::new(), Vec::new(), Vec::new());
        Self { outcome, items: &[], numbers, given, readings, words }
    }
}

impl<'a> Judge<'a> {
    /// The numbers of some words of the text, each with its binding.
    pub(super) fn numbers(&self, bound: &BoundWords) -> Result<Vec<ClaimReport>, Error> {
        expressions_of(bound.bindings).try_for_each(|one| self.is_no_relation(one))?;
        if let [Binding::Is(expression, declared)] = bound.bindings
            && (bound.items.is_empty() || self.is_name(bound, expression))
        {
            // Words are bound as a whole: a name, a path, a boolean.
            let (id, declared) = (bound.id.clone(), *declared);
            let pair = Pair { id, items: Vec::new(), expression, declared, between: None };
            return Ok(vec![self.number(bound, &pair, &bound.items, None)?]);
        }
        let items = self.in_context(bound)?;
        let pairs = self.pairs(bound, &items)?;
        let each_number = |scale: Option<&BigRational>| -> Result<Vec<_>, Error> {
            pairs.iter().map(|pair| self.number(bound, pair, &items, scale)).collect()
        };
        let literal = each_number(bound.scale.as_ref())?;
        // The numbers of a series share one scale: "32.7, 33.1 and 32.3".
        let is_refuted = |one: &ClaimReport| one.outcome.verdict == Verdict::Refuted;
        if bound.scale.is_some() || bound.head.is_some() || !literal.iter().any(is_refuted) {
            return Ok(literal);
        }
        let cells: Vec<_> = literal.iter().filter_map(|one| column_cell(one, false)).collect();
        let Some(scale) = reading::column_scale(&cells) else { return Ok(literal) };
        let scaled = each_number(Some(&scale))?;
        // What holds as it stands keeps its own scale: "six seeds" beside percents.
        let each = std::iter::zip(literal, scaled);
        Ok(each
            .map(|(literal, scaled)| if is_refuted(&literal) { scaled } else { literal })
            .collect())
    }

    /// Whether the whole quote is one word that is bound to words: the digits of `portable-f32/1` are not numbers.
    fn is_name(&self, bound: &BoundWords, expression: &PlacedExpression) -> bool {
        let word = bound.quote.trim();
        if word.contains(char::is_whitespace) || !word.contains(char::is_alphabetic) {
            return false;
        }
        let Ok(evaluation) = self.evaluation(bound, Vec::new()) else { return false };
        let value = evaluation.value(expression);
        value.is_ok_and(|value| value.words().is_some())
    }

    /// The numbers in the light of what they are bound to and what stands above them.
    pub(super) fn in_context(&self, bound: &BoundWords) -> Result<Vec<QuoteItem>, Error> {
        let items = &bound.items;
        let mut known = items.clone();
        let unit = bound.head.and_then(quote::unit_of_head).or_else(|| bound.row_unit.clone());
        for pair in self.pairs(bound, items)? {
            let tree = &pair.expression.tree;
            for item in &pair.items {
                let Some(at) = items.iter().position(|one| one.span == item.span) else { continue };
                if own_scale::may_have_one(tree) {
                    quote::may_lack_its_unit(&mut known[at]);
                }
                if let Some(HeadUnit { factor, unit, is_sure }) = &unit {
                    quote::in_unit(&mut known[at], factor, *unit);
                    let own = !is_sure || own_scale::may_be_in_a_unit(tree);
                    known[at].other = known[at].other.take().filter(|_| own);
                }
            }
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
        // What a relation takes from the quote is bound by it.
        let free = (1..).zip(items).filter(|(number, _)| !bound.said.contains(number));
        let free: Vec<_> = free.map(|(_, item)| item).collect();
        let in_digits = |items: &[&'p QuoteItem]| -> Vec<&'p QuoteItem> {
            items.iter().copied().filter(|item| item.is_in_digits(bound.quote)).collect()
        };
        let others = [in_digits(&free), in_digits(&all)];
        let others = std::iter::once(&free).chain(&others);
        let mut pairs = self.aligned(bound, &all).or_else(|error| {
            others.filter_map(|items| self.aligned(bound, items).ok()).next().ok_or(error)
        })?;
        mark_values_between(&mut pairs);
        Ok(pairs)
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
            let is_spread = left.first().is_some_and(|item| item.is_spread());
            let count = if self.is_of_ends(binding) && !is_spread { 2 } else { 1 };
            wanted += count;
            let (now, rest) = left.split_at(count.min(left.len()));
            left = rest;
            if let Binding::Is(expression, declared) = binding {
                let id = match bound.bindings.len() {
                    1 => bound.id.clone(),
                    _ => format!("{}.{}", bound.id, pairs.len() + 1),
                };
                let (items, declared) = (now.to_vec(), *declared);
                pairs.push(Pair { id, items, expression, declared, between: None });
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
            0 => format!("no number binding, because \"{}\" has no number", shortened(bound.quote)),
            1 => format!("a binding for 1 number: {}", numbers[0]),
            count => format!("bindings for {count} numbers: {}", numbers.join(", ")),
        };
        let is_of_two = bound.bindings.iter().any(|one| self.is_of_ends(one));
        let of_two = if is_of_two { ", because an interval counts as two" } else { "" };
        let cell = bound.head.map(|_| format!(", in {}", bound.place_in_text)).unwrap_or_default();
        let place = expressions_of(bound.bindings).last().map(PlacedExpression::place);
        let place = place.unwrap_or(&self.statement.place).clone();
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
        match &self.context.page.head(expression).kind {
            ExpressionKind::Call(name, _) | ExpressionKind::Name(name) => {
                functions::find(name).is_some_and(|function| function.gives == Gives::Ends)
            }
            ExpressionKind::List(items) => items.len() == 2,
            _ => false,
        }
    }

    /// Whether a number is bound to two ends.
    fn is_of_ends(&self, binding: &Binding) -> bool {
        matches!(binding, Binding::Is(expression, _) if self.is_interval(&expression.tree))
    }

    /// Rejects a relation where the value of a number is wanted.
    pub(super) fn is_no_relation(&self, expression: &PlacedExpression) -> Result<(), Error> {
        let tree = &expression.tree;
        if !tree.is_relation() && !matches!(tree.kind, ExpressionKind::Not(_)) {
            return Ok(());
        }
        let place = expression.place_of(tree, self.context.page.document());
        Err(RELATION_AS_NUMBER.at(
            place,
            "an expression for a number in the quote",
            format!("`{tree}`"),
        ))
    }

    pub(super) fn number(
        &self,
        bound: &BoundWords,
        pair: &Pair,
        items: &[QuoteItem],
        scale: Option<&BigRational>,
    ) -> Result<ClaimReport, Error> {
        // Each number is held against the others, and its report repeats the quote.
        self.context.work.takes(CLAIM + items.len() / 4 + bound.quote.len() / 64);
        self.context.work.goes_on(&self.statement.place)?;
        let evaluation = self.evaluation(bound, plain_numbers(items))?;
        let judged = match evaluation.value(pair.expression) {
            Err(error) => JudgedValue::of(undecidable(error)?, pair.items.clone()),
            Ok(value) => match value.words() {
                Some(words) => self.words(bound, pair, words),
                None => self.quantities(bound, pair, items, scale, &evaluation, value)?,
            },
        };
        let JudgedValue { outcome, items, numbers, given, readings, words } = judged;
        let tree = &pair.expression.tree;
        let sources = self.sources(bound, &[tree], &evaluation.evaluator, &given);
        let outcome = match &sources.provenance.design {
            Some(design) => design.noted(outcome),
            None => outcome,
        };
        let digits = numbers.iter().filter_map(|item| item.printed());
        let digits = digits.map(Printed::significant_digits).max().unwrap_or_default() + 1;
        let fact = match words.as_slice() {
            [] => fact::of_number(&sources.scope, tree, &given, &sources.provenance, digits),
            words => fact::of_words(&sources.scope, tree, words),
        };
        let impact = outcome.impact.unwrap_or(Impact::Digit);
        let expression = std::slice::from_ref(pair.expression);
        let mut report = ClaimReport {
            id: pair.id.clone(),
            kind: kind_of(tree, "number"),
            claimed: claimed(bound.quote, &numbers),
            impact,
            ..self.evaluated(bound, &evaluation, expression, "", outcome)
        };
        let (number, declared) = (numbers.first().copied(), pair.declared);
        let linted = LintedValue { items, number, declared, trees: &[tree], given: &given };
        report.meaning = Meaning {
            fact: Some(fact),
            readings,
            is_share: words.is_empty() && given.iter().all(reading::is_share),
            lints: self.lints(bound, &linted, &sources, report.outcome.verdict),
            ..report.meaning
        };
        Ok(report)
    }

    /// Numbers of the text against numbers of the evidence.
    fn quantities<'p>(
        &self,
        bound: &BoundWords,
        pair: &Pair<'p>,
        items: &'p [QuoteItem],
        scale: Option<&BigRational>,
        evaluation: &ScopedEvaluator<'a>,
        value: Evaluated<'a>,
    ) -> Result<JudgedValue<'p>, Error> {
        let (tree, place) = (&pair.expression.tree, || pair.expression.place().clone());
        if matches!(value, Evaluated::Judgement(_)) {
            let expected = "an expression for a number in the quote";
            return Err(RELATION_AS_NUMBER.at(place(), expected, format!("`{tree}`")));
        }
        if pair.items.is_empty() {
            let found =
                format!("{}, but \"{}\" has no number", value.word(), shortened(bound.quote));
            let expected = "words, which are bound as a whole";
            return Err(OTHER_COUNT.at(place(), expected, found).help(WORDS_ARE_WHOLE));
        }
        let evaluator = &evaluation.evaluator;
        let given = evaluation.frame(pair.expression).parts(value)?;
        let (mut outcome, readings) = self.compared(bound.quote, pair, items, &given, scale);
        let leaves = || given.iter().flat_map(|number| &number.leaves);
        if outcome.verdict != Verdict::Unchecked {
            let scope = |evaluator: &Evaluator<'a>| scope(evaluator, bound);
            let rests_on_nothing = leaves().all(|leaf| leaf.kind.is_stated())
                || !evaluator.depends_on_evidence(pair.expression, scope, &given);
            let claimed = claimed(bound.quote, &pair.items);
            let quoted = || leaves().find(|leaf| self.is_quoted(leaf, bound, &claimed));
            if rests_on_nothing {
                outcome = instead(&NO_EVIDENCE, "the value is not derived from evidence", outcome);
            } else if self.takes_itself(tree, pair, items) {
                outcome = instead(&NO_EVIDENCE, "the number is part of its own evidence", outcome);
            } else if let Some(leaf) = quoted() {
                let is_refuted = outcome.verdict == Verdict::Refuted;
                if is_refuted && leaf.quote.is_some() && is_one_print(&given) {
                    return Err(other_copy(pair, &claimed, leaf));
                }
                outcome = instead(&SINGLE_SOURCE, &single_source(leaf), outcome);
            }
        }
        let compared =
            |number: &Quantity| number.leaf.is_some_and(|kind| kind != LeafKind::Counted);
        let method = if given.iter().all(compared) || is_one_print(&given) {
            Method::Compared
        } else {
            Method::Recomputed
        };
        let outcome = resting_on(outcome.by(method), self.statement.premise.as_deref());
        let outcome = self.settled(outcome, evaluator);
        let judged = JudgedValue::of(outcome, pair.items.clone());
        Ok(JudgedValue { items, given, readings, ..judged })
    }

    /// Whether an expression, or a formula that it uses, takes from the quote the number that it is for.
    pub(super) fn takes_itself(&self, tree: &Expression, pair: &Pair, items: &[QuoteItem]) -> bool {
        let taken = self.taken(tree);
        let is_own = |item: &QuoteItem| pair.items.iter().any(|own| own.span == item.span);
        items.iter().enumerate().any(|(at, item)| taken.contains(&at) && is_own(item))
    }

    /// Words of evidence against words of the text: a date, a name, a boolean. Each piece of evidence must have
    /// the words.
    fn words<'p>(
        &self,
        bound: &BoundWords,
        pair: &Pair<'p>,
        words: Vec<EvidenceWords>,
    ) -> JudgedValue<'p> {
        // Digits in a name are no number of their own: "the `portable-f32/1` arithmetic".
        let is_in_name =
            |item: &&QuoteItem| evidence_words::is_in_name(bound.quote, &item.span, &words);
        let is_alone = bound.bindings.len() == 1 && pair.items.iter().all(is_in_name);
        let numbers = if is_alone { Vec::new() } else { pair.items.clone() };
        let claimed = claimed(bound.quote, &numbers);
        let date = numbers.first().and_then(|item| match &item.kind {
            ItemKind::Date(date) => Some(date.as_str()),
            _ => None,
        });
        let is_among_others = claimed.trim() != bound.quote.trim();
        let said = ClaimedWords { words: &claimed, is_among_others, date };
        let mut outcome = evidence_words::judged(said, &words);
        let leaves = || words.iter().flat_map(|words| &words.leaves);
        if leaves().next().is_none() {
            outcome = instead(&NO_EVIDENCE, "the words are not derived from evidence", outcome);
        } else if let Some(leaf) = leaves().find(|leaf| self.is_quoted(leaf, bound, &claimed)) {
            outcome = instead(&SINGLE_SOURCE, &single_source(leaf), outcome);
        }
        JudgedValue { words, ..JudgedValue::of(outcome.by(Method::Compared), numbers) }
    }

    /// The printed numbers of a pair against what its expression gives.
    fn compared(
        &self,
        quote: &str,
        pair: &Pair,
        items: &[QuoteItem],
        given: &[Quantity],
        scale: Option<&BigRational>,
    ) -> (Outcome, Vec<TokenReading>) {
        let is_one = pair.items.len() == 1;
        let is_spread = pair.items.first().is_some_and(|item| item.is_spread());
        let has_ends = is_spread || self.is_interval(&pair.expression.tree);
        let half = half_width(given).filter(|_| is_one && has_ends);
        let given = half.as_ref().map_or(given, std::slice::from_ref);
        let mut outcomes = Vec::new();
        let mut readings: Vec<TokenReading> = Vec::new();
        // One number of the text is each of several that are given.
        let numbers =
            pair.items.iter().cycle().take(if is_one { given.len() } else { pair.items.len() });
        for (item, number) in std::iter::zip(numbers, given) {
            let before = items.iter().take_while(|one| one.span != item.span).last();
            let range_start = before
                .filter(|before| before.range_end.is_some() && item.range_end.is_some())
                .map(|before| &before.span);
            let claimed = NumberInQuote {
                quote,
                item,
                range_start,
                declared: pair.declared,
                between: pair.between,
                scale,
            };
            let outcome = match &item.kind {
                ItemKind::Date(date) => evidence_words::on_date(date, number),
                ItemKind::Number(printed) | ItemKind::Spread(printed) => {
                    let (outcome, reading) = reading::judge(claimed, printed, number);
                    if !readings.contains(&reading) {
                        readings.push(reading);
                    }
                    if item.is_spread() { with_runs(outcome, printed, number) } else { outcome }
                }
            };
            outcomes.push((number.derivation.clone(), outcome));
        }
        (order::all(outcomes), readings)
    }
}

/// Half of the width between two ends.
fn half_width(ends: &[Quantity]) -> Option<Quantity> {
    let [low, high] = ends else { return None };
    let half = BigRational::new(1.into(), 2.into());
    let interval = (&high.interval - &low.interval).scaled(&half);
    let float = (high.float - low.float) / 2.0;
    let text = format!("half of {}", low.derivation);
    let result = Quantity::result(interval, float, text, [low, high]);
    Some(Quantity { role: low.role.clone(), ..result })
}

/// The outcome with the numbers of the runs that a number behind ± is the spread of; a mismatch says which other
/// spread of them would print its digits.
fn with_runs(mut outcome: Outcome, printed: &Printed, given: &Quantity) -> Outcome {
    let (NumberRole::Spread(runs), Some(measured)) = (&given.role, outcome.measured.first_mut())
    else {
        return outcome;
    };
    let per_one = nearest_f64(&printed.unit().per_one());
    measured.spread_of = runs.iter().map(|run| run * per_one).collect();
    if let (Verdict::Refuted, Some([low, high])) = (outcome.verdict, measured.allowed) {
        let prints = |meaning: &ErrorBarMeaning| {
            meaning.width(&measured.spread_of).is_ok_and(|width| low <= width && width <= high)
        };
        let fitting = ErrorBarMeaning::ALL.into_iter().find(prints);
        if let Some(meaning) = fitting {
            outcome.reason +=
                &format!("; a {} of the runs would print these digits", meaning.word());
        }
    }
    outcome
}

/// Marks the two numbers of a range that are bound to one value: it lies between them.
fn mark_values_between(pairs: &mut [Pair]) {
    for at in 1..pairs.len() {
        let [.., first, second] = &mut pairs[..=at] else { return };
        let ([low], [high]) = (first.items.as_slice(), second.items.as_slice()) else { continue };
        let is_one_value = first.expression.tree.to_string() == second.expression.tree.to_string();
        if is_one_value && low.range_end.is_some() && high.range_end.is_some() {
            (first.between, second.between) = (low.range_end, high.range_end);
        }
    }
}

/// The reports of the numbers of a cell with this id.
pub(super) fn of_cell<'r>(reports: &'r [ClaimReport], id: &str) -> Vec<&'r ClaimReport> {
    let is_own = |report: &&ClaimReport| {
        report.id.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    reports.iter().filter(is_own).collect()
}

/// The printed number of a report with where its value lies, in units of one.
pub(super) fn column_cell(report: &ClaimReport, is_of_table: bool) -> Option<ColumnCell> {
    let items = quote::items(&report.claimed);
    let [item] = items.as_slice() else { return None };
    let printed = item.printed()?.clone();
    let [low, high] = report.outcome.measured.first()?.interval?;
    let exact = |end: f64| BigRational::from_float(end);
    let value = Interval::between(exact(low)?, exact(high)?);
    let value = value.scaled(&printed.unit().per_one().recip());
    Some(ColumnCell { printed, value, is_share: report.meaning.is_share, is_of_table })
}

/// Whether all that numbers rest on is one print: a fact times 1 is that fact.
pub(super) fn is_one_print(given: &[Quantity]) -> bool {
    let leaves = given.iter().flat_map(|number| &number.leaves);
    let mut evidence: Vec<_> = leaves.filter(|leaf| !leaf.kind.is_stated()).collect();
    evidence.dedup();
    matches!(evidence.as_slice(), [one] if one.kind == LeafKind::Printed)
}

/// The error of a number that differs from the copy of it that was typed from its own quote.
fn other_copy(pair: &Pair, claimed: &str, leaf: &Leaf) -> Error {
    let expected = format!("\"{claimed}\", as printed there");
    let found = format!("\"{}\", transcribed from there", leaf.text);
    let error = TRANSCRIPTION_DIFFERS.at(pair.expression.place().clone(), expected, found);
    error.help("bind the number to its own copy, or correct the copy and reseal its bundle")
}

/// The claimed number, as printed.
fn claimed(quote: &str, items: &[&QuoteItem]) -> String {
    let texts: Vec<_> = items.iter().map(|item| item.text(quote)).collect();
    match texts.as_slice() {
        [] => quote.to_owned(),
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}
