//! Sentences and tables of a text: what each of their numbers and relations comes to.

pub mod about;
pub mod evidence_words;
mod limits;
pub mod wording;

use std::collections::{BTreeMap, BTreeSet};

use repro_claim::Expression;
use repro_claim::quote::{self, Hedge, ItemKind, QuoteItem};
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_claim::table::{self, PrintedCell, PrintedTable};
use repro_exact::decimal::Printed;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::{
    ClaimReport, Definition, EvidenceRef, Impact, Method, Outcome, Verdict,
};

use crate::compare;
use crate::context::PostContext;
use crate::evaluate::functions::{self, Gives, again, fixed};
use crate::evaluate::order;
use crate::evaluate::{Evaluator, Frame, Variables};
use crate::json_text::{self, ReadText};
use crate::page::{
    self, Binding, PlacedExpression, PostStatement, Sentence, StatementKind, Table, quoted_numbers,
};
use crate::value::{Evaluated, EvidenceWords, Leaf, LeafKind, Quantity};
use about::Words;
use about::units::BoundLoss;
use evidence_words::ClaimedWords;
use wording::{readings, resting_on, worded};

codes! {
    OTHER_COUNT = "sentence::other-count", "a quote has more or fewer numbers than bindings", "give one expression for each number, in order; excuse a number by `\"_ the reason\"`";
    RELATION_AS_NUMBER = "sentence::relation-as-number", "a relation stands where a number is bound", "a relation, `a = b` or `a < b`, belongs into `says`; `is` has what each number of the quote is";
    NOT_THERE = "sentence::not-there", "the text does not have these words", "quote the text as it stands";
    NO_MEMBER = "sentence::no-member", "the text has no such member", "correct the pointer in `place`, or the names of rows and columns; `place = \"\"` is the whole document";
    NO_TABLE = "sentence::no-table", "the text has no such table, or several", "give its head as it stands, or its lines in `printed`";
    NOT_AT_HAND = "sentence::not-at-hand", "the text is not at hand", "give it: `--text FILE`";
    SINGLE_SOURCE = "value::single-source", "the evidence was typed from the place that is quoted", "bind it to another document, or to what it follows from";
    NO_EVIDENCE = "value::no-evidence", "the value follows from no evidence", "bind the number to evidence";
    NOT_PUBLISHED = "sentence::not-published", "what would show it is not published", "publish it, and bind the sentence to it";
    ONE_SIDED = "value::one-sided", "a relation only bounds a number that the words state as it is", "bind the number itself: `is = \"moe.loss\"`";
}

/// What helps where numbers are bound and the quote has none.
const WORDS_ARE_WHOLE: &str =
    "words are bound by one expression of `is` as a whole, or said by a relation in `says`";

/// What helps where a sentence has numbers and only `says`.
const BIND_OR_QUOTE: &str = "bind each number in `is`, as `is = \"mean(moe.loss)\"`; or take it into the relation of `says` as `quoted(1)`";

/// The steps of a claim beside those of its expressions.
const CLAIM: usize = 200;

/// The function that proves a relation of formulas, which needs no evidence.
const PROOF: &str = "holds";

/// Judges one statement: a report for each number that is bound and each relation.
pub fn judge(
    context: &PostContext<'_>,
    statement: &PostStatement,
) -> Result<Vec<ClaimReport>, Error> {
    let judge = Judge { context, statement };
    context.work.goes_on(&statement.place)?;
    judge.is_readable()?;
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
    /// Why the text does not have these words; none where it has them, or is not at hand.
    not_there: Option<String>,
    /// What stands above it, if it is the cell of a table, whose place errors name.
    head: Option<&'b str>,
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
        let not_there = self.not_there(&sentence.quote);
        let none = BTreeMap::new();
        let bound = Bound {
            id: self.statement.id.clone(),
            quote: &sentence.quote,
            place_in_text: self.statement.place_in_text.clone(),
            not_there,
            head: None,
            variables: &none,
            bindings: &sentence.is,
        };
        let mut reports = Vec::new();
        match &sentence.missing {
            Some(what) => reports.push(self.finished(self.unpublished(sentence, what), &bound)),
            // What a relation takes from the quote is bound by it.
            None if sentence.is.is_empty() && are_all_quoted(sentence) => {}
            None => reports.extend(self.numbers(&bound)?),
        }
        let relation = |expressions: &[PlacedExpression], any: bool| {
            self.relations(sentence, &bound, expressions, any)
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
            row: Vec::new(),
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
        bound: &Bound,
        expressions: &[PlacedExpression],
        any: bool,
    ) -> Result<ClaimReport, Error> {
        self.context.work.takes(CLAIM + bound.quote.len() / 4);
        self.context.work.goes_on(&self.statement.place)?;
        let numbers = plain_numbers(&quote::items(bound.quote));
        let evaluator = Evaluator::new(self.context, numbers);
        let variables = scope(&evaluator, bound)?;
        let mut parts = Vec::new();
        for expression in expressions {
            let frame = Frame { source: expression, variables: &variables };
            let outcome = evaluator.judgement(&expression.tree, frame)?;
            parts.push((expression.tree.to_string(), outcome));
        }
        let outcome = if any { readings(parts) } else { order::all(parts) };
        let says_nothing = |one: &PlacedExpression| {
            let frame = Frame { source: one, variables: &variables };
            self.says_nothing(&one.tree, frame, &evaluator)
        };
        let outcome = match outcome.verdict {
            Verdict::Verified if expressions.iter().any(says_nothing) => {
                instead(&NO_EVIDENCE, "it holds whatever the evidence is", outcome)
            }
            _ => outcome,
        };
        let outcome = self.of_another_place(outcome, bound, &evaluator);
        let items = quote::items(bound.quote);
        let limit = expressions.iter().find_map(|one| limits::taken_as_limit(&one.tree, &items));
        let outcome = match (outcome.verdict, limit) {
            (Verdict::Verified, Some(item)) => {
                let number = item.text(bound.quote);
                let reason = format!(
                    "it holds, and only bounds \"{number}\", which the words state as it is"
                );
                let open = Outcome::inconclusive(&ONE_SIDED, reason).giving(outcome.recomputed);
                open.measuring(outcome.measured).within(outcome.rule, outcome.tolerance)
            }
            _ => outcome,
        };
        let outcome = worded(outcome, sentence, self.statement.premise.as_deref());
        let words = Words { quote: &sentence.quote, place: &bound.place_in_text };
        let trees: Vec<_> = expressions.iter().map(|one| &one.tree).collect();
        let outcome = self.about(outcome, words, Subject::Relations(&trees), &evaluator);
        let computed = expressions.iter().any(|one| self.computes(&one.tree, &mut BTreeSet::new()));
        let kind = expressions.first().map_or("relation", |first| kind_of(&first.tree, "relation"));
        let method = if computed { Method::Recomputed } else { Method::Compared };
        // Only what was executed is replayed.
        let method = outcome.method.or((kind != again::REPLAYED).then_some(method));
        let outcome = Outcome { method, ..outcome };
        let (evidence, origin) = evaluator.shown();
        let place = expressions.first().map(|first| first.place().clone());
        let quoted = expressions.iter().flat_map(|one| quoted_numbers(&one.tree));
        let quoted: BTreeSet<_> = quoted.filter_map(|number| number.checked_sub(1)).collect();
        let claimed = quoted.iter().filter_map(|number| evaluator.quoted().get(*number));
        let claimed: Vec<_> = claimed.map(|printed| printed.text()).collect();
        let said: Vec<_> = expressions.iter().map(|one| one.tree.to_string()).collect();
        let said = said.join(if any { " or " } else { " and " });
        Ok(self.finished(
            ClaimReport {
                id: bound.id.clone(),
                kind,
                claimed: claimed.join(", "),
                said,
                row: stands_for(bound, &variables),
                quote: sentence.quote.clone(),
                at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
                note: self.statement.note.clone(),
                place: place.unwrap_or_else(|| self.statement.place.clone()),
                origin,
                impact: outcome.impact.unwrap_or(Impact::Decision),
                outcome,
                evidence,
            },
            bound,
        ))
    }

    /// A relation that holds, unless all that was read for it was typed from the quoted words.
    fn of_another_place(
        &self,
        outcome: Outcome,
        bound: &Bound,
        evaluator: &Evaluator<'a>,
    ) -> Outcome {
        let leaves = evaluator.leaves();
        let quoted = leaves.iter().all(|leaf| self.is_quoted(leaf, bound, ""));
        match leaves.first() {
            Some(leaf) if quoted && outcome.verdict == Verdict::Verified => {
                instead(&SINGLE_SOURCE, &single_source(leaf), outcome)
            }
            _ => outcome,
        }
    }

    /// Whether a relation that holds rests on no evidence, or on one thing held against itself.
    fn says_nothing(
        &self,
        tree: &Expression,
        frame: Frame<'_, 'a>,
        evaluator: &Evaluator<'a>,
    ) -> bool {
        let (evidence, _) = evaluator.shown();
        if evidence.is_empty() {
            let mut is_proof = false;
            tree.each(&mut |part| {
                is_proof |= matches!(&part.kind, ExpressionKind::Call(name, _) if name == PROOF);
            });
            return !is_proof;
        }
        let read = |part: &Expression| {
            let own = Evaluator::new(self.context, evaluator.quoted().to_vec());
            let value = own.evaluate(part, frame);
            let _ = value.and_then(|value| own.settled(value, frame, part));
            own.numbers_read()
        };
        let on_both_sides = |first: &Expression, rest: &[(RelationOperator, Expression)]| {
            let sides: Vec<_> =
                std::iter::once(first).chain(rest.iter().map(|(_, side)| side)).map(read).collect();
            sides.windows(2).any(|pair| !pair[0].is_empty() && pair[0] == pair[1])
        };
        if let ExpressionKind::Relation(first, rest) = &tree.kind {
            let sides: Vec<_> =
                std::iter::once(&**first).chain(rest.iter().map(|(_, side)| side)).collect();
            let words = |side: &Expression| self.evidence_of_words(side, frame);
            if sides
                .windows(2)
                .any(|pair| words(pair[0]).is_some_and(|a| Some(a) == words(pair[1])))
            {
                return true;
            }
        }
        let may_be_empty = match &tree.kind {
            ExpressionKind::Relation(first, rest) => {
                let equal = rest.iter().any(|(sign, _)| *sign == RelationOperator::Equal);
                equal || on_both_sides(first, rest)
            }
            ExpressionKind::Call(name, _) => fixed::EQUALITIES.contains(&name.as_str()),
            _ => false,
        };
        may_be_empty && evaluator.holds_whatever(tree, frame)
    }

    /// Where the words stand that a side of a relation is; none where it is no words of evidence.
    fn evidence_of_words(
        &self,
        side: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Option<Vec<EvidenceRef>> {
        let evaluator = Evaluator::new(self.context, Vec::new());
        let value = evaluator.evaluate(side, frame).ok()?;
        let words = words_of(&evaluator.settled(value, frame, side).ok()?)?;
        let leaves = words.iter().flat_map(|words| &words.leaves);
        let evidence: Vec<_> = leaves.filter_map(|leaf| leaf.evidence.clone()).collect();
        (!evidence.is_empty()).then_some(evidence)
    }

    /// The numbers of some words of the text, each with its binding.
    fn numbers(&self, bound: &Bound) -> Result<Vec<ClaimReport>, Error> {
        for binding in bound.bindings {
            if let Binding::Is(expression) = binding {
                self.is_no_relation(expression)?;
            }
        }
        let items = quote::items(bound.quote);
        if items.is_empty()
            && let [Binding::Is(expression)] = bound.bindings
        {
            // Words are bound as a whole: a name, a path, a boolean.
            let pair = Pair { items: Vec::new(), expression };
            return Ok(vec![self.number(bound, &pair, &items, bound.id.clone())?]);
        }
        let items = self.in_context(bound, items)?;
        let mut reports = Vec::new();
        for (index, pair) in self.pairs(bound, &items)?.into_iter().enumerate() {
            let many = bound.bindings.len() > 1;
            let id = if many { format!("{}.{}", bound.id, index + 1) } else { bound.id.clone() };
            reports.push(self.number(bound, &pair, &items, id)?);
        }
        Ok(reports)
    }

    /// The numbers in the light of what they are bound to and what stands above them.
    fn in_context(&self, bound: &Bound, items: Vec<QuoteItem>) -> Result<Vec<QuoteItem>, Error> {
        let mut known = items.clone();
        let mut last: Option<(Hedge, usize, String)> = None;
        let unit = bound.head.and_then(quote::unit_of_head);
        for pair in self.pairs(bound, &items)? {
            let tree = &pair.expression.tree;
            for item in &pair.items {
                let Some(at) = items.iter().position(|one| one.span == item.span) else { continue };
                if has_own_scale(tree) {
                    quote::may_lack_bytes(&mut known[at]);
                }
                if let Some((factor, unit)) = &unit {
                    quote::in_unit(&mut known[at], factor, *unit);
                    known[at].other = known[at].other.take().filter(|_| has_own_scale(tree));
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
        Err(self.other_count(bound, items, wanted))
    }

    /// The error of words that have another count of numbers than there are bindings for.
    fn other_count(&self, bound: &Bound, items: &[&QuoteItem], wanted: usize) -> Error {
        let numbers: Vec<_> = items.iter().map(|item| item.text(bound.quote)).collect();
        let expected = match numbers.len() {
            0 => format!("no binding of a number, as \"{}\" has none", shortened(bound.quote)),
            1 => format!("a binding for 1 number: {}", numbers[0]),
            count => format!("bindings for {count} numbers: {}", numbers.join(", ")),
        };
        let is_interval = |one: &Binding| matches!(one, Binding::Is(one) if is_interval(&one.tree));
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

    /// Refuses a relation where the value of a number is wanted.
    fn is_no_relation(&self, expression: &PlacedExpression) -> Result<(), Error> {
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

    fn number(
        &self,
        bound: &Bound,
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
        if let Some(words) = words_of(&value) {
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
        let compared =
            |number: &Quantity| number.leaf.is_some_and(|kind| kind != LeafKind::Counted);
        let method = match given.iter().all(compared) || is_one_print(&given) {
            true => Method::Compared,
            false => Method::Recomputed,
        };
        let outcome = resting_on(outcome.by(method), self.statement.premise.as_deref());
        let words = Words { quote: bound.quote, place: &bound.place_in_text };
        let scope = |evaluator: &Evaluator<'a>| scope(evaluator, bound);
        let is_loss = || evaluator.is_a_loss(pair.expression, scope, &given);
        let loss = pair.items.first().and_then(loss_of).filter(|_| is_loss());
        let outcome = self.about(outcome, words, Subject::Number(tree, loss), &evaluator);
        Ok(self.report(bound, pair, (&evaluator, &variables), outcome, id))
    }

    /// Whether an expression, or a formula that it uses, takes from the quote the number that it is for.
    fn takes_itself(&self, tree: &Expression, pair: &Pair, items: &[QuoteItem]) -> bool {
        let own: BTreeSet<usize> = (1..)
            .zip(items)
            .filter(|(_, item)| pair.items.iter().any(|own| own.span == item.span))
            .map(|(number, _)| number)
            .collect();
        let taken: BTreeSet<usize> =
            self.with_formulas(tree).into_iter().flat_map(quoted_numbers).collect();
        !taken.is_disjoint(&own)
    }

    /// An expression and the bodies of the formulas that it uses, each once.
    fn with_formulas<'t>(&'t self, tree: &'t Expression) -> Vec<&'t Expression> {
        let formulas = &self.context.page.formulas;
        let mut seen = BTreeSet::new();
        let mut all = vec![tree];
        let mut at = 0;
        while let Some(next) = all.get(at).copied() {
            let mut used = BTreeSet::new();
            next.each(&mut |part| {
                if let ExpressionKind::Call(name, _) | ExpressionKind::Name(name) = &part.kind {
                    used.insert(name.clone());
                }
            });
            let used = used.iter().filter_map(|name| formulas.get_key_value(name));
            let fresh = used.filter(|(name, _)| seen.insert(name.as_str()));
            all.extend(fresh.map(|(_, formula)| &formula.body.tree));
            at += 1;
        }
        all
    }

    /// The outcome, unless the comparison departs from its plan, or the evidence is about something else than the
    /// words.
    fn about(
        &self,
        outcome: Outcome,
        words: Words,
        subject: Subject<'_>,
        evaluator: &Evaluator<'a>,
    ) -> Outcome {
        let objections = evaluator.objections();
        let is_said = |step| words.name_step(step);
        let mut unsaid = objections.iter().filter(|one| !one.step.is_some_and(is_said));
        let outcome = match unsaid.next() {
            Some(first) if outcome.verdict != Verdict::Unchecked => {
                let open = Outcome::inconclusive(first.code, first.what.clone());
                let open = open.giving(outcome.recomputed).measuring(outcome.measured);
                let open = open.within(outcome.rule, outcome.tolerance);
                Outcome { method: outcome.method, ..open }
            }
            _ => outcome,
        };
        let library = evaluator.library();
        let last_step = |bundle: &str| {
            let receipt = library.bundle(bundle)?.receipt();
            receipt.checkpoints.iter().map(|checkpoint| checkpoint.step).max()
        };
        let leaves = evaluator.leaves();
        let (are_relations, expressions): (bool, Vec<_>) = match &subject {
            Subject::Relations(trees) => (true, trees.to_vec()),
            Subject::Number(tree, _) => (false, self.with_formulas(tree)),
        };
        let loss = match subject {
            Subject::Number(_, loss) => loss,
            Subject::Relations(_) => None,
        };
        let is_formula = |name: &str| self.context.page.formulas.contains_key(name);
        let evidence = about::Evidence {
            leaves: &leaves,
            expressions: &expressions,
            are_relations,
            loss,
            is_formula: &is_formula,
            last_step: &last_step,
        };
        about::checked(outcome, words, &evidence)
    }

    /// Words of evidence against words of the text: a date, a name, a boolean. Each piece of evidence must have
    /// the words.
    fn words(
        &self,
        bound: &Bound,
        pair: &Pair,
        (evaluator, variables): (&Evaluator<'a>, &Variables<'a>),
        words: &[EvidenceWords],
        id: String,
    ) -> ClaimReport {
        let claimed = claimed(bound.quote, pair);
        let date = pair.items.first().and_then(|item| match &item.kind {
            ItemKind::Date(date) => Some(date.as_str()),
            _ => None,
        });
        let mut outcome = evidence_words::judged(ClaimedWords { words: &claimed, date }, words);
        let mut leaves = words.iter().flat_map(|words| &words.leaves).peekable();
        if leaves.peek().is_none() {
            outcome = instead(&NO_EVIDENCE, "the words follow from no evidence", outcome);
        } else if let Some(leaf) = leaves.find(|leaf| self.is_quoted(leaf, bound, &claimed)) {
            outcome = instead(&SINGLE_SOURCE, &single_source(leaf), outcome);
        }
        self.report(bound, pair, (evaluator, variables), outcome.by(Method::Compared), id)
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
        let is_one = pair.items.len() == 1;
        let is_spread =
            matches!(pair.items.first().map(|item| &item.kind), Some(ItemKind::Spread(_)));
        let has_ends = is_spread || is_interval(&pair.expression.tree);
        let half = half_width(given).filter(|_| is_one && has_ends);
        let given = half.as_ref().map_or(given, std::slice::from_ref);
        let mut outcomes = Vec::new();
        // One number of the text is each of several that are given.
        let items =
            pair.items.iter().cycle().take(if is_one { given.len() } else { pair.items.len() });
        for (item, number) in std::iter::zip(items, given) {
            let outcome = match &item.kind {
                ItemKind::Number(printed) | ItemKind::Spread(printed) => {
                    compare::judge(item, printed, number)
                }
                ItemKind::Date(date) => evidence_words::on_date(date, number),
            };
            outcomes.push((number.derivation.clone(), outcome));
        }
        order::all(outcomes)
    }

    /// Whether a piece of evidence was typed from the words that it is held against.
    fn is_quoted(&self, leaf: &Leaf, bound: &Bound, claimed: &str) -> bool {
        let Some(evidence) = &leaf.evidence else { return false };
        if evidence.document.as_deref() != Some(self.statement.text.as_str()) {
            return false;
        }
        let typed_at = evidence.printed_at.as_deref().unwrap_or_default();
        let is_pointer = |place: &str| place.starts_with('/');
        if is_pointer(typed_at) && is_pointer(&bound.place_in_text) {
            // Pointers tell the places of a document apart.
            return json_text::overlap(typed_at, &bound.place_in_text);
        }
        if !typed_at.is_empty() && typed_at == bound.place_in_text {
            return true;
        }
        // Bars part cells; where a quote begins or ends with one says nothing.
        let plain = |text: &str| {
            let text = text.split_whitespace().collect::<String>();
            text.trim_matches('|').to_owned()
        };
        let own = plain(bound.quote);
        match &leaf.quote {
            Some(quote) => {
                let typed = plain(quote);
                own.contains(&typed) || typed.contains(&own)
            }
            // Words do not tell places apart.
            None if is_pointer(typed_at) => false,
            None => claimed.contains(&leaf.text),
        }
    }

    fn report(
        &self,
        bound: &Bound,
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
            quote: bound.quote.to_owned(),
            at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
            note: self.statement.note.clone(),
            place: pair.expression.place().clone(),
            origin,
            impact: outcome.impact.unwrap_or(Impact::Digit),
            outcome,
            evidence,
        };
        self.finished(report, bound)
    }

    /// A claim about words that the text does not have says nothing about the text.
    fn finished(&self, mut report: ClaimReport, bound: &Bound) -> ClaimReport {
        if let Some(reason) = &bound.not_there {
            report.outcome = instead(&NOT_THERE, reason, report.outcome);
        }
        report
    }

    /// Refuses a text that is meant as JSON, by a pointer into it, and breaks its rules.
    fn is_readable(&self) -> Result<(), Error> {
        let has_pointer = self.statement.place_in_text.starts_with('/')
            || matches!(&self.statement.kind, StatementKind::Table(table) if table.pointer.is_some());
        match self.context.text(&self.statement.text) {
            Some(text) if has_pointer && json_text::looks_like_json(text.source().text()) => {
                text.document().map(drop).map_err(Clone::clone)
            }
            _ => Ok(()),
        }
    }

    /// Why the text does not have some words at the place of the statement; none where it has them.
    fn not_there(&self, quote: &str) -> Option<String> {
        let text = self.context.text(&self.statement.text)?;
        let at = &self.statement.place_in_text;
        if !text.places_of_quote(at, quote).is_empty() {
            return None;
        }
        let elsewhere = || {
            let at = Some(at).filter(|at| at.starts_with('/'))?;
            let first = text.searched().of_parted_quote(quote).into_iter().next()?;
            let line = text.source().line_column(first.start).0;
            Some(format!("the text has them in line {line}, and not at `{at}`"))
        };
        let pointer = || {
            let document = at.starts_with('/').then(|| text.document().ok())??;
            document.root().at(at).is_err().then(|| json_text::breaks_off(document, at))
        };
        let near = pointer().or_else(elsewhere);
        Some(absent(near.or_else(|| self.context.nearest(&self.statement.text, quote))))
    }

    fn table(&self, table: &Table) -> Result<Vec<ClaimReport>, Error> {
        let text = self.context.text(&self.statement.text);
        if table.printed.is_none() && text.is_none() {
            let expected = "the text, or what the table prints, in `printed` or behind its fields";
            return Err(NOT_AT_HAND.at(self.statement.place.clone(), expected, "neither"));
        }
        let found = table.lines(text).map_err(|found| {
            let (place, pointer) = (self.statement.place.clone(), &table.pointer);
            match pointer {
                Some(pointer) => NO_MEMBER.at(place, format!("what lies at `{pointer}`"), found),
                None => {
                    let head: Vec<_> = table.head.iter().map(|cell| cell.text.as_str()).collect();
                    let near = self.context.nearest(&self.statement.text, &head.join(" "));
                    let near = near.map(|near| format!("; {near}")).unwrap_or_default();
                    NO_TABLE.at(place, "the table in the text, once", format!("{found}{near}"))
                }
            }
        })?;
        let none = BTreeMap::new();
        let there = text.map(|text| There::of(table, text));
        let head = TableRow { label: "head", at: None, cells: &found.head, variables: &none };
        let mut reports = self.row(table, &head, there.as_ref(), &table.heads, &[])?;
        for (label, variables) in &table.rows {
            // Each row is sought among all.
            self.context.work.takes(found.rows.len() / 4);
            self.context.work.goes_on(&self.statement.place)?;
            let row = found.row(label).ok_or_else(|| {
                let first = found.rows.iter().filter_map(|row| row.first());
                let known = first.map(|cell| cell.text.as_str());
                let place = variables.values().next().map(PlacedExpression::place);
                page::no_such(label, known, place.unwrap_or(&self.statement.place).clone())
            })?;
            let row = TableRow { label, at: Some(row), cells: &found.rows[row], variables };
            reports.extend(self.row(table, &row, there.as_ref(), &table.columns, &table.says)?);
        }
        Ok(reports)
    }

    /// The numbers of the cells of one line that are bound, and the relations that its cells state.
    fn row(
        &self,
        table: &Table,
        row: &TableRow,
        there: Option<&There>,
        bindings: &[(String, Vec<Binding>)],
        says: &[(String, Vec<PlacedExpression>)],
    ) -> Result<Vec<ClaimReport>, Error> {
        let mut reports = Vec::new();
        let columns = bindings.iter().map(|(column, _)| column);
        let only_said = says.iter().map(|(column, _)| column);
        let mut seen: Vec<&String> = Vec::new();
        for column in columns.chain(only_said) {
            if seen.contains(&column) {
                continue;
            }
            seen.push(column);
            let Some(at) = table::column(&table.head, column) else { continue };
            let (Some(head), Some(cell)) = (table.head.get(at), row.cells.get(at)) else {
                continue;
            };
            // A cell beside numbers may be empty; an object of JSON may lack a member that its neighbours have.
            let is_empty = cell.text.is_empty() || table.pointer.is_none() && is_blank(&cell.text);
            if is_empty {
                continue;
            }
            let of_column = |(label, _): &&(String, Vec<Binding>)| label == column;
            let bound = Bound {
                id: cell_id(&[&self.statement.id, row.label, &head.text]),
                quote: &cell.text,
                place_in_text: self.place_of_cell(table, row.label, &head.text),
                not_there: there.and_then(|there| self.cell_not_there(there, row, at)),
                head: Some(&head.text),
                variables: row.variables,
                bindings: bindings.iter().find(of_column).map_or(&[], |(_, list)| list),
            };
            // One reason excuses all that stands in a column.
            if !matches!(bound.bindings, [] | [Binding::Excused(_)]) {
                reports.extend(self.numbers(&bound)?);
            }
            for (_, relations) in says.iter().filter(|(label, _)| label == column) {
                reports.extend(self.said(&bound, relations)?);
            }
        }
        Ok(reports)
    }

    /// Why the text does not have a cell; none where it has it.
    fn cell_not_there(&self, there: &There, row: &TableRow, column: usize) -> Option<String> {
        let nearest = |cells: &[PrintedCell]| {
            let cells: Vec<_> = cells.iter().map(|cell| cell.text.as_str()).collect();
            self.context.nearest(&self.statement.text, &cells.join(" "))
        };
        match there {
            There::Read => None,
            There::NoHead(head) => {
                let near = nearest(head).map(|near| format!("; {near}")).unwrap_or_default();
                Some(format!("the text has no table with this head{near}"))
            }
            There::Lines(rows) => {
                let is_there = row.at.is_none_or(|at| rows.get(at).is_some_and(|found| *found));
                (!is_there).then(|| absent(nearest(row.cells)))
            }
            There::Members(Err(why)) => Some(absent(Some(why.clone()))),
            There::Members(Ok(found)) => {
                let Some(at) = found.row(row.label) else {
                    return Some(absent(Some(format!("no row `{}`", row.label))));
                };
                let wanted = row.cells.get(column).map_or("", |cell| cell.text.as_str());
                match found.rows[at].get(column) {
                    Some(found) if found.text == wanted => None,
                    Some(found) => {
                        Some(absent(Some(format!("the text has `{}` there", found.text))))
                    }
                    None => Some(absent(None)),
                }
            }
        }
    }

    /// The relations that a cell states; a cell `false` denies them.
    fn said(&self, bound: &Bound, says: &[PlacedExpression]) -> Result<Vec<ClaimReport>, Error> {
        let is_denied = bound.quote == "false";
        let says: Vec<_> = says
            .iter()
            .map(|relation| if is_denied { relation.negated() } else { relation.clone() })
            .collect();
        let sentence = Sentence::of_words(bound.quote);
        let mut reports = Vec::new();
        for (index, relation) in says.iter().enumerate() {
            let mut report =
                self.relations(&sentence, bound, std::slice::from_ref(relation), false)?;
            match (says.len(), bound.bindings.is_empty()) {
                (1, true) => {}
                (1, false) => report.id.push_str(".says"),
                _ => report.id.push_str(&format!(".says-{}", index + 1)),
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// The place of a cell: its pointer in JSON, else in words.
    fn place_of_cell(&self, table: &Table, row: &str, column: &str) -> String {
        if let Some(pointer) = &table.pointer {
            return json_text::below(&json_text::below(pointer, row), column);
        }
        let place = format!("row {row}, {column}");
        match self.statement.place_in_text.as_str() {
            "" => place,
            before => format!("{before}, {place}"),
        }
    }

    /// Whether an expression derives anything, or only holds values against each other. Each formula is looked at
    /// once: formulas may use each other often.
    fn computes<'t>(&'t self, expression: &'t Expression, seen: &mut BTreeSet<&'t str>) -> bool {
        let formulas = &self.context.page.formulas;
        let formula = |name: &'t str, seen: &mut BTreeSet<&'t str>| {
            let formula = formulas.get(name)?;
            Some(seen.insert(name) && self.computes(&formula.body.tree, seen))
        };
        match &expression.kind {
            ExpressionKind::Arithmetic(..) | ExpressionKind::Negative(_) => true,
            ExpressionKind::Name(name) => formula(name, seen).unwrap_or(false),
            ExpressionKind::Call(name, arguments) => {
                let own = formula(name, seen).unwrap_or_else(|| {
                    functions::find(name).is_none_or(|own| own.gives != Gives::AsItStands)
                });
                own || arguments.iter().any(|argument| self.computes(&argument.value, seen))
            }
            ExpressionKind::List(items) => items.iter().any(|item| self.computes(item, seen)),
            ExpressionKind::Not(of) => self.computes(of, seen),
            ExpressionKind::Relation(first, rest) => {
                self.computes(first, seen) || rest.iter().any(|(_, one)| self.computes(one, seen))
            }
            ExpressionKind::At(of, _) | ExpressionKind::Field(of, _) => self.computes(of, seen),
            ExpressionKind::Number(_) | ExpressionKind::Text(_) => false,
        }
    }
}

/// Whether the relations of a sentence take every number that its quote has in digits.
fn are_all_quoted(sentence: &Sentence) -> bool {
    let quoted: BTreeSet<_> = sentence.relations().flat_map(quoted_numbers).collect();
    let items = quote::items(&sentence.quote);
    let dates = items.iter().any(|item| matches!(item.kind, ItemKind::Date(_)));
    let taken = |(index, item): (usize, &QuoteItem)| {
        quoted.contains(&(index + 1)) || !item.is_in_digits(&sentence.quote)
    };
    !dates && !quoted.is_empty() && items.iter().enumerate().all(taken)
}

/// What a claim is about.
enum Subject<'t> {
    /// Relations of a sentence.
    Relations(&'t [&'t Expression]),
    /// A number of the quote, which may be a loss.
    Number(&'t Expression, Option<BoundLoss>),
}

/// A number of the quote as one that may be a loss.
fn loss_of(item: &&QuoteItem) -> Option<BoundLoss> {
    match &item.kind {
        ItemKind::Number(printed) | ItemKind::Spread(printed) => {
            // `1.702 ± 0.8%` is no percentage.
            let unit = item.other.as_ref().map_or(printed.unit(), Printed::unit);
            Some(BoundLoss { span: item.span.clone(), unit })
        }
        ItemKind::Date(_) => None,
    }
}

/// What the text itself has where a table is said to stand.
enum There {
    /// Its lines were read from the text.
    Read,
    /// No table with this head.
    NoHead(Vec<PrintedCell>),
    /// The table with its head, and whether it has each of the printed rows.
    Lines(Vec<bool>),
    /// The members in JSON, or why it has no such place.
    Members(Result<PrintedTable, String>),
}

impl There {
    fn of(table: &Table, text: &ReadText) -> Self {
        match &table.printed {
            _ if table.pointer.is_some() => Self::Members(table.found(text)),
            None => Self::Read,
            Some(printed) => match text.of_table(printed) {
                None => Self::NoHead(printed.head.clone()),
                Some(found) => Self::Lines(found.rows.iter().map(Option::is_some).collect()),
            },
        }
    }
}

/// Why words are not in the text, with what is there instead, where that is known.
fn absent(instead: Option<String>) -> String {
    let instead = instead.map(|what| format!("; {what}"));
    format!("the text does not have these words{}", instead.unwrap_or_default())
}

/// Words at a length that an error can quote.
fn shortened(words: &str) -> String {
    const MOST: usize = 60;
    let start: String = words.chars().take(MOST).collect();
    if start.len() < words.len() { format!("{start}…") } else { start }
}

/// Whether a cell claims nothing: it is empty, a dash, or says that there is no number.
fn is_blank(cell: &str) -> bool {
    let word = cell.trim().to_lowercase();
    ["", "n/a", "na", "none"].contains(&word.as_str())
        || word.chars().all(|c| "-‐‑‒–—―−".contains(c))
}

/// One line of a table.
struct TableRow<'t> {
    label: &'t str,
    /// Which row of the printed lines it is; none of the head.
    at: Option<usize>,
    cells: &'t [PrintedCell],
    variables: &'t BTreeMap<String, PlacedExpression>,
}

/// The id of a cell: its statement, row and column; parts without a word are left out.
fn cell_id(parts: &[&str]) -> String {
    let short = |text: &&str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_ascii_lowercase()
    };
    let [first, rest @ ..] = parts else { return String::new() };
    let rest = rest.iter().map(short).filter(|part| !part.is_empty());
    std::iter::once((*first).to_owned()).chain(rest).collect::<Vec<_>>().join(".")
}

/// The values of what the words have around them.
fn scope<'a>(evaluator: &Evaluator<'a>, bound: &Bound) -> Result<Variables<'a>, Error> {
    let none = Variables::new();
    let each = bound.variables.iter();
    each.map(|(name, value)| Ok((name.clone(), evaluator.value(value, &none)?))).collect()
}

/// What each variable of a row stands for: `moe (6 runs)`.
fn stands_for(bound: &Bound, variables: &Variables) -> Vec<Definition> {
    let meaning = |name: &String, expression: &PlacedExpression| {
        let written = expression.tree.to_string();
        match variables.get(name) {
            Some(Evaluated::Reference(path)) if path.is_group => {
                let plural = if path.bundles.len() == 1 { "" } else { "s" };
                format!("{written} ({} run{plural})", path.bundles.len())
            }
            _ => written,
        }
    };
    let one = |(name, expression)| Definition {
        name: String::clone(name),
        meaning: meaning(name, expression),
    };
    bound.variables.iter().map(one).collect()
}

/// The words that a value is, or that several values are.
fn words_of(value: &Evaluated<'_>) -> Option<Vec<EvidenceWords>> {
    let words = |value: &Evaluated<'_>| match value {
        Evaluated::Text(words) => Some(words.clone()),
        _ => None,
    };
    match value {
        Evaluated::List(items) if !items.is_empty() => items.iter().map(words).collect(),
        other => words(other).map(|words| vec![words]),
    }
}

fn single_source(leaf: &Leaf) -> String {
    let text = &leaf.text;
    let evidence = leaf.evidence.as_ref();
    let typed_at = evidence.and_then(|evidence| evidence.printed_at.as_deref());
    match leaf.quote.is_some() || typed_at.is_some_and(|place| place.starts_with('/')) {
        true => format!("single source: \"{text}\" was typed from the quoted place"),
        false => format!(
            "single source: \"{text}\" was typed from the same document, and nothing shows that from another place"
        ),
    }
}

/// Whether all that numbers rest on is one print: a fact times 1 is that fact.
fn is_one_print(given: &[Quantity]) -> bool {
    let leaves = given.iter().flat_map(|number| &number.leaves);
    let mut evidence: Vec<_> = leaves.filter(|leaf| !leaf.kind.is_stated()).collect();
    evidence.dedup();
    matches!(evidence.as_slice(), [one] if one.kind == LeafKind::Printed)
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
        [] => quote.to_owned(),
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

fn is_of(items: &[&QuoteItem], item: &QuoteItem) -> bool {
    items.iter().any(|one| one.span == item.span)
}

/// Whether an expression is in a unit of its own: a field as it stands, or what it was multiplied by.
fn has_own_scale(tree: &Expression) -> bool {
    let is_field = matches!(
        tree.kind,
        ExpressionKind::Name(_) | ExpressionKind::At(..) | ExpressionKind::Field(..)
    );
    let text = tree.to_string();
    is_field || ["10^", "100", "1e", "1_000"].iter().any(|scale| text.contains(scale))
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
