//! Sentences, and the relations that they state.

use std::collections::{BTreeMap, BTreeSet};

use repro_claim::Expression;
use repro_claim::quote::{self, ItemKind, QuoteItem};
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};
use repro_exact::decimal::Printed;
use repro_receipt::source::{Code, Error, codes};
use repro_report::outcome::{ClaimReport, EvidenceRef, Impact, Meaning, Method, Outcome, Verdict};

use super::about::sides;
use super::judge::{
    BoundWords, CLAIM, Judge, NO_EVIDENCE, PROOF, Subject, instead, kind_of, plain_numbers, scope,
    single_source, stands_for,
};
use super::limits;
use super::numbers::{SINGLE_SOURCE, UNSURE};
use super::spoken::{RUNS, SpokenWords};
use super::unsure;
use super::wording::{Stated, overstated, readings, worded};
use crate::evaluate::functions::{again, fixed};
use crate::evaluate::order;
use crate::evaluate::{Evaluator, Frame};
use crate::names;
use crate::page::{Binding, PlacedExpression, Sentence, quoted_numbers};

codes! {
    NOT_PUBLISHED = "sentence::not-published", "what would show it is not published", "publish it, and bind the sentence to it";
    UNCLEAR_CELL = "sentence::unclear-cell", "whether a cell says yes or no is not clear", "write `yes` or `no`, ✓ or ✗, `true` or `false`";
    UNSAID = "value::unsaid-name", "a relation has a name that the words do not have", "quote the words with the name, or bind the name itself: `is = \"run.config.dtype\"`";
    OTHER_LEVEL = "sentence::other-level", "the words are about a test at another level than 5%", "say it of 5%, or bind the p: `is = \"p(a.loss, b.loss)\"`";
    NO_DIRECTION = "sentence::no-direction", "the words say which side is ahead, and the relation only that they differ", "say it with its order: `a.loss < b.loss`, or `printed(a) < printed(b)` beside the test";
    NO_ORDER = "sentence::no-order", "a relation puts two sides into an order, and the words do not", "quote the words that say which side is ahead";
    UNDENIED = "sentence::denied", "the words deny what their relation affirms", "say it by `not ...`, or by the opposite relation";
    NOT_EACH = "sentence::not-each", "the words are about each run, or about all of them, and the relation about a mean or one of them", "limit the extreme: `max(a.loss) < quoted(1)`";
    ONE_SIDED = "value::one-sided", "a relation would hold of other numbers than the words state", "bind the number itself: `is = \"moe.loss\"`";
}

/// What a cell says of the relation of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellTruth {
    Affirms,
    Denies,
    /// It has words of its own, which may state what its column says.
    OwnWords,
    Unclear,
}

impl CellTruth {
    /// Of a cell as it stands.
    fn of(cell: &str) -> Self {
        /// What stands for no.
        const NO: &[&str] =
            &["false", "no", "n", "✗", "✘", "✖", "❌", "☐", "×", "never", "none", "not"];
        /// What stands for yes.
        const YES: &[&str] = &["true", "yes", "y", "✓", "✔", "✅", "☑", "always", "all"];
        /// What denies something among other words.
        const DENIALS: &[&str] = &[
            "no", "not", "never", "none", "null", "false", "without", "neither", "nor", "cannot",
            "0",
        ];
        let marks = |c: char| c.is_whitespace() || "*_`\"'.!()[]{}\u{fe0f}".contains(c);
        let words = cell.trim_matches(marks).to_lowercase();
        if NO.contains(&words.as_str()) {
            return Self::Denies;
        }
        let mut parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        let is_number = words.contains(|c: char| c.is_ascii_digit()) && words != "0";
        let is_denied =
            parts.any(|part| DENIALS.contains(&part)) && !is_number || words.contains("n't");
        let has_sign = NO.iter().any(|sign| !sign.is_ascii() && words.contains(sign));
        match is_number || YES.contains(&words.as_str()) {
            _ if is_denied || has_sign => Self::Unclear,
            true => Self::Affirms,
            false => Self::OwnWords,
        }
    }
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
            row_unit: None,
            variables: &none,
            bindings: &sentence.is,
            said: sentence.relations().flat_map(quoted_numbers).collect(),
        };
        let mut reports = Vec::new();
        match &sentence.missing {
            Some(what) => {
                reports.push(self.finished(self.unpublished(sentence, what, &bound), &bound));
            }
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
    pub(super) fn unpublished(
        &self,
        sentence: &Sentence,
        what: &str,
        bound: &BoundWords,
    ) -> ClaimReport {
        ClaimReport {
            id: self.statement.id.clone(),
            kind: "missing",
            claimed: String::new(),
            said: String::new(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: bound.sought.around.clone(),
            quote: sentence.quote.clone(),
            at: Some((self.statement.text.clone(), self.statement.place_in_text.clone())),
            note: self.statement.note.clone(),
            meaning: Meaning::default(),
            place: self.statement.place.clone(),
            origin: None,
            impact: Impact::Decision,
            outcome: Outcome::unchecked(&NOT_PUBLISHED, format!("not published: {what}")),
            evidence: Vec::new(),
        }
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
            self.says_nothing(&one.tree, frame, &evaluator, bound.quote)
        };
        let outcome = match outcome.verdict {
            Verdict::Verified if expressions.iter().any(says_nothing) => {
                instead(&NO_EVIDENCE, "it holds whatever the evidence is", outcome)
            }
            _ => outcome,
        };
        let outcome = self.of_another_place(outcome, bound, &evaluator);
        let outcome = match outcome.verdict {
            Verdict::Verified => match self.left_open(sentence, bound, expressions, any) {
                Some((code, reason)) => {
                    let reason = format!("it holds, and {reason}");
                    Outcome::inconclusive(code, reason).with_evidence_of(outcome)
                }
                None => outcome,
            },
            _ => outcome,
        };
        let is_decided = matches!(outcome.verdict, Verdict::Verified | Verdict::Refuted);
        let tests = expressions.iter().any(|one| is_call(undenied(&one.tree), &[SIGNIFICANT]));
        let is_test_alone = expressions.iter().all(|one| is_call(&one.tree, &[SIGNIFICANT]));
        let words = format!("{} {}", sentence.quote, bound.head.unwrap_or_default());
        let outcome = match () {
            () if is_decided && tests && unsure::names_other_level(&words) => {
                let reason = "the words are about another level than the 5% of the test";
                Outcome::inconclusive(&OTHER_LEVEL, reason).with_evidence_of(outcome)
            }
            () if outcome.verdict == Verdict::Refuted
                && (unsure::denies(&bound.sought.before)
                    || is_test_alone && unsure::denies(&sentence.quote)) =>
            {
                let reason =
                    format!("{}; the sentence denies something before these words", outcome.reason);
                Outcome::inconclusive(&UNSURE, reason).with_evidence_of(outcome)
            }
            () => outcome,
        };
        // What is denied is not said to be equal: "nowhere near equal".
        let denies_significance = expressions.iter().find_map(|one| denied_test(&one.tree));
        let outcome = match denies_significance {
            Some(false) => outcome,
            first => {
                let stated = self.stated(sentence, bound, expressions);
                let stated = Stated { denies_significance: first.is_some(), ..stated };
                overstated(outcome, &sentence.quote, stated)
            }
        };
        let outcome = worded(outcome, sentence, self.statement.premise.as_deref());
        let words = bound.words(None);
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
                own_numbers: self.own_numbers(expressions.iter().map(|one| &one.tree), bound),
                around: bound.sought.around.clone(),
                quote: sentence.quote.clone(),
                at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
                note: self.statement.note.clone(),
                meaning: Meaning::default(),
                place: place.unwrap_or_else(|| self.statement.place.clone()),
                origin,
                impact: outcome.impact.unwrap_or(Impact::Decision),
                outcome,
                evidence,
            },
            bound,
        ))
    }

    /// What a relation that holds leaves open of its words.
    fn left_open(
        &self,
        sentence: &Sentence,
        bound: &BoundWords,
        expressions: &[PlacedExpression],
        any: bool,
    ) -> Option<(&'static Code, String)> {
        let trees = || expressions.iter().map(|one| &one.tree);
        let loose = || expressions.iter().find_map(|one| self.taken_loosely(one, bound));
        if !any && let Some(number) = loose() {
            return Some((&ONE_SIDED, format!("would hold of other numbers than \"{number}\"")));
        }
        if let Some(name) = trees().find_map(|tree| self.unsaid_name(tree, bound)) {
            return Some((&UNSAID, format!("the words do not have \"{name}\"")));
        }
        let words = SpokenWords::of(bound.quote);
        if words.are_about_each(RUNS) && trees().any(limits_a_summary) {
            let reason = "a mean, or one of the runs, is limited, and the words are about each";
            return Some((&NOT_EACH, reason.to_owned()));
        }
        let orders =
            |tree: &Expression| sides::orders_results(tree) && quoted_numbers(tree).is_empty();
        let has_sign = bound.quote.contains(['<', '>', '≺', '≻', '≪', '≫']);
        let names_one = has_sign || bound.head.is_some() || words.name_an_order();
        if trees().any(orders) && !names_one {
            let reason = "no word says which side is ahead";
            return Some((&NO_ORDER, reason.to_owned()));
        }
        if trees().any(orders_opposite_ends) && !words.name_an_extreme() {
            let reason = "the best of one side is held against the worst of the other";
            return Some((&NOT_EACH, reason.to_owned()));
        }
        let is_alone = sentence.relations().count() == 1;
        let is_mixture = |name: &str| self.is_mixture(name);
        // What is denied of a number is a limit, and was read as one.
        let undenied = |tree: &Expression| match quoted_numbers(tree).as_slice() {
            [] => sides::undenied(bound.quote, tree, &is_mixture),
            _ => None,
        };
        if is_alone && let Some(denial) = trees().find_map(undenied) {
            return Some((&UNDENIED, format!("the words deny it: \"{denial}\"")));
        }
        if trees().any(holds_a_no) && !words.deny() {
            return Some((&UNSAID, "the words do not say that anything is not so".to_owned()));
        }
        let is_test = |tree: &Expression| is_call(tree, &[SIGNIFICANT]);
        let stated = || {
            let bindings = bound.bindings.iter().filter_map(|binding| match binding {
                Binding::Is(expression) => Some(&expression.tree),
                Binding::Excused(_) => None,
            });
            sentence.relations().chain(bindings)
        };
        if trees().all(is_test)
            && words.name_a_direction()
            && !stated().any(|tree| !is_test(tree) && has_direction(tree))
        {
            let reason = "a test of two sides does not say which is ahead".to_owned();
            return Some((&NO_DIRECTION, reason));
        }
        None
    }

    /// A name that a relation holds against evidence, and that neither the words nor what is around them have.
    fn unsaid_name(&self, tree: &Expression, bound: &BoundWords) -> Option<String> {
        let row = bound.variables.keys();
        let around = [&bound.place_in_text, &bound.sought.before, &bound.sought.behind];
        let around = around.into_iter().map(String::as_str).chain(bound.head);
        let words: Vec<&str> = around.chain([bound.quote]).chain(row.map(String::as_str)).collect();
        let is_unsaid = |name: &&String| !words.iter().any(|words| names::stands_in(words, name));
        let all = self.with_formulas(tree);
        all.into_iter().flat_map(names_held).find(is_unsaid).cloned()
    }

    /// What the relations of a sentence say, for what its words may say.
    fn stated(
        &self,
        sentence: &Sentence,
        bound: &BoundWords,
        expressions: &[PlacedExpression],
    ) -> Stated {
        let own = || expressions.iter().map(|one| &one.tree);
        let bindings = bound.bindings.iter().filter_map(|binding| match binding {
            Binding::Is(expression) => Some(&expression.tree),
            Binding::Excused(_) => None,
        });
        let all: Vec<_> = sentence.relations().chain(own()).chain(bindings).collect();
        let calls = |tree: &Expression, names: &[&str]| {
            let mut trees = self.with_formulas(tree).into_iter();
            trees.any(|tree| counted(tree, |part| is_call(part, names)) > 0)
        };
        let steps = |tree: &&Expression| {
            counted(tree, |part| matches!(part.kind, ExpressionKind::At(..))) > 0
        };
        Stated {
            denies_significance: false,
            has_test: all.iter().any(|tree| calls(tree, TESTS)),
            orders_prints: own().any(|tree| calls(tree, &["printed"]) && !calls(tree, EXTREMES)),
            has_steps: sentence.relations().filter(steps).count() > 1,
            replays: all.iter().any(|tree| calls(tree, &[again::REPLAYED])),
            is_equality: own().all(is_equality),
            fixes_fields: own().all(|tree| is_call(tree, &["held_fixed"])),
        }
    }

    /// The first number of the quote that a relation takes and does not hold: it would bear out another in its place.
    fn taken_loosely(&self, expression: &PlacedExpression, bound: &BoundWords) -> Option<String> {
        let items = quote::items(bound.quote);
        let is_number = |item: &&QuoteItem| !matches!(item.kind, ItemKind::Date(_));
        let numbers: Vec<_> = items.iter().filter(is_number).collect();
        let printed = plain_numbers(&items);
        let all = self.with_formulas(&expression.tree);
        let taken: BTreeSet<usize> = all.into_iter().flat_map(quoted_numbers).collect();
        let holds = |index: usize, other: Printed| {
            let mut quoted = printed.clone();
            quoted[index] = other;
            let evaluator = Evaluator::new(self.context, quoted);
            let Ok(variables) = scope(&evaluator, bound) else { return false };
            let frame = Frame { source: expression, variables: &variables };
            let judged = evaluator.judgement(&expression.tree, frame);
            judged.is_ok_and(|outcome| outcome.verdict == Verdict::Verified)
        };
        // A column or a member may say that its numbers are approximate.
        let is_about = bound.place_in_text.to_lowercase().contains("approx");
        let is_loose = |index: &usize| {
            let (Some(item), Some(own)) = (numbers.get(*index), printed.get(*index)) else {
                return false;
            };
            let is_limit = limits::is_limit(item, bound.quote);
            // "Above 3" over what is below it holds of the numbers on the other side.
            let is_denied = unsure::denies(bound.quote);
            if let Some(is_upper) = limits::is_upper(item).filter(|_| !is_denied) {
                let [below, above] = limits::far_off(own).map(|other| holds(*index, other));
                if below != above && below == is_upper {
                    return true;
                }
            }
            let mut others = limits::others(item, own, is_limit, is_about).into_iter();
            match is_limit {
                true => others.all(|other| holds(*index, other)),
                // One other may fit by chance.
                false => others.filter(|other| holds(*index, other.clone())).count() > 1,
            }
        };
        let index = taken.iter().filter_map(|number| number.checked_sub(1)).find(is_loose)?;
        numbers.get(index).map(|item| item.text(bound.quote).to_owned())
    }

    /// A relation that holds, unless all that was read for it was typed from the quoted words.
    pub(super) fn of_another_place(
        &self,
        outcome: Outcome,
        bound: &BoundWords,
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
    pub(super) fn says_nothing(
        &self,
        tree: &Expression,
        frame: Frame<'_, 'a>,
        evaluator: &Evaluator<'a>,
        quote: &str,
    ) -> bool {
        let (evidence, _) = evaluator.shown();
        if evidence.is_empty() {
            return !self.is_proof(tree, quote);
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

    /// Whether an expression proves what the words say: something of a formula of the post or of numbers of its text.
    /// What else holds everywhere says nothing of models and runs.
    fn is_proof(&self, tree: &Expression, quote: &str) -> bool {
        let formulas = &self.context.page.formulas;
        let (mut proves, mut is_of_text) = (false, !self.names_runs(quote));
        tree.each(&mut |part| {
            if let ExpressionKind::Call(name, _) | ExpressionKind::Name(name) = &part.kind {
                proves |= name == PROOF;
                is_of_text |= name == "quoted" || formulas.contains_key(name);
            }
        });
        proves && is_of_text
    }

    /// Whether words are about something that is measured: a model, a run, a name of the post.
    fn names_runs(&self, quote: &str) -> bool {
        /// What is measured, in any post.
        const MEASURED: &[&str] = &[
            "model",
            "models",
            "run",
            "runs",
            "loss",
            "losses",
            "seed",
            "seeds",
            "training",
            "trained",
            "mixture",
            "dense",
            "accuracy",
            "perplexity",
        ];
        let lower = quote.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        let names = &self.context.page.names;
        let is_name =
            |word: &str| names.keys().any(|name| name.split('.').any(|part| part == word));
        words.any(|word| MEASURED.contains(&word) || word.len() > 2 && is_name(word))
    }

    /// Where the words stand that a side of a relation is; none where it is no words of evidence.
    pub(super) fn evidence_of_words(
        &self,
        side: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Option<Vec<EvidenceRef>> {
        let evaluator = Evaluator::new(self.context, Vec::new());
        let value = evaluator.evaluate(side, frame).ok()?;
        let words = evaluator.settled(value, frame, side).ok()?.words()?;
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
        let truth = CellTruth::of(bound.quote);
        let says: Vec<_> = says
            .iter()
            .map(|relation| match truth {
                CellTruth::Denies => relation.negated(),
                _ => relation.clone(),
            })
            .collect();
        let sentence = Sentence::of_words(bound.quote);
        let mut reports = Vec::new();
        for (index, relation) in says.iter().enumerate() {
            let mut report =
                self.relations(&sentence, bound, std::slice::from_ref(relation), false)?;
            let is_open = match truth {
                CellTruth::Affirms | CellTruth::Denies => false,
                // "dense" in a column that states `total(it) > active(it)` may well deny it.
                CellTruth::OwnWords => report.outcome.verdict == Verdict::Refuted,
                CellTruth::Unclear => report.outcome.verdict != Verdict::Unchecked,
            };
            if is_open {
                let reason = format!("whether \"{}\" says that it is so is not clear", bound.quote);
                let open = Outcome::inconclusive(&UNCLEAR_CELL, reason);
                report.outcome = open.giving(report.outcome.recomputed);
            }
            match (says.len(), bound.bindings.is_empty()) {
                (1, true) => {}
                (1, false) => report.id.push_str(".says"),
                _ => report.id.push_str(&format!(".says-{}", index + 1)),
            }
            reports.push(report);
        }
        Ok(reports)
    }
}

/// The function that says that a test is significant.
const SIGNIFICANT: &str = "significant";
/// Functions that make a test.
const TESTS: &[&str] = &[SIGNIFICANT, "p", "equivalent", "mcnemar"];
/// Functions whose order is one of each run.
const EXTREMES: &[&str] = &["min", "max"];

/// Of what is denied, whether it is a test.
fn denied_test(tree: &Expression) -> Option<bool> {
    match &tree.kind {
        ExpressionKind::Not(of) => Some(is_call(of, &[SIGNIFICANT])),
        _ => None,
    }
}

/// What an expression denies, or itself.
fn undenied(tree: &Expression) -> &Expression {
    match &tree.kind {
        ExpressionKind::Not(of) => of,
        _ => tree,
    }
}

/// Whether an order holds of the smallest on the smaller side and of the largest on the other, as it does of any two that
/// overlap.
fn orders_opposite_ends(tree: &Expression) -> bool {
    let ExpressionKind::Relation(first, rest) = &tree.kind else { return false };
    let [(sign, second)] = rest.as_slice() else { return false };
    let has = |side: &Expression, name: &str| counted(side, |part| is_call(part, &[name])) > 0;
    match sign {
        RelationOperator::Less | RelationOperator::LessOrEqual => {
            has(first, "min") && has(second, "max")
        }
        RelationOperator::Greater | RelationOperator::GreaterOrEqual => {
            has(first, "max") && has(second, "min")
        }
        _ => false,
    }
}

/// Whether a number of the words limits a mean of runs, or the one of them that is furthest from it.
fn limits_a_summary(tree: &Expression) -> bool {
    let ExpressionKind::Relation(first, rest) = &tree.kind else { return false };
    let [(sign, second)] = rest.as_slice() else { return false };
    let (limited, sign) = match (is_call(first, &["quoted"]), is_call(second, &["quoted"])) {
        (false, true) => (&**first, *sign),
        (true, false) => (second, sign.turned()),
        _ => return false,
    };
    match sign {
        RelationOperator::Less | RelationOperator::LessOrEqual => {
            is_call(limited, &["mean", "median", "min"])
        }
        RelationOperator::Greater | RelationOperator::GreaterOrEqual => {
            is_call(limited, &["mean", "median", "max"])
        }
        _ => false,
    }
}

fn is_call(part: &Expression, names: &[&str]) -> bool {
    matches!(&part.kind, ExpressionKind::Call(name, _) if names.contains(&name.as_str()))
}

fn is_equality(tree: &Expression) -> bool {
    let equal = |(sign, _): &(RelationOperator, Expression)| *sign == RelationOperator::Equal;
    matches!(&tree.kind, ExpressionKind::Relation(_, rest) if rest.iter().all(equal))
        || is_call(tree, &["same"])
}

fn counted(tree: &Expression, is: impl Fn(&Expression) -> bool) -> usize {
    let mut count = 0;
    tree.each(&mut |part| count += usize::from(is(part)));
    count
}

/// Whether an expression holds something to be false.
fn holds_a_no(tree: &Expression) -> bool {
    let is_no =
        |side: &Expression| matches!(&side.kind, ExpressionKind::Name(name) if name == "false");
    match &tree.kind {
        ExpressionKind::Relation(first, rest) => {
            let equal = |(sign, side): &(RelationOperator, Expression)| {
                *sign == RelationOperator::Equal && is_no(side)
            };
            rest.iter().any(equal) || is_no(first)
        }
        ExpressionKind::List(items) => items.iter().any(holds_a_no),
        _ => false,
    }
}

/// Whether an expression says which of two things is ahead.
fn has_direction(tree: &Expression) -> bool {
    /// Functions of two things that change their sign when these are swapped.
    const SIGNED: &[&str] = &["percent_below", "percent_above", "gap_ci95", "how_many"];
    let mut found = is_call(tree, SIGNED);
    tree.each(&mut |part| {
        found |= match &part.kind {
            ExpressionKind::Relation(_, rest) => {
                let is_order = |sign: &RelationOperator| {
                    !matches!(sign, RelationOperator::Equal | RelationOperator::NotEqual)
                };
                rest.iter().any(|(sign, _)| is_order(sign))
            }
            ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, ..) => true,
            _ => is_call(part, SIGNED),
        };
    });
    found
}

/// The names in quotation marks that an expression holds against something.
fn names_held(tree: &Expression) -> Vec<&String> {
    let mut found = Vec::new();
    let mut left = vec![tree];
    while let Some(part) = left.pop() {
        match &part.kind {
            ExpressionKind::Relation(first, rest) => {
                let sides = std::iter::once(&**first).chain(rest.iter().map(|(_, side)| side));
                found.extend(sides.filter_map(|side| match &side.kind {
                    ExpressionKind::Text(name) => Some(name),
                    _ => None,
                }));
            }
            ExpressionKind::Not(of) => left.push(of),
            ExpressionKind::List(items) => left.extend(items),
            ExpressionKind::Call(_, arguments) => {
                left.extend(arguments.iter().map(|argument| &argument.value));
            }
            _ => {}
        }
    }
    found
}

/// Whether the relations of a sentence take every number that its quote has in digits.
pub(super) fn are_all_quoted(sentence: &Sentence) -> bool {
    let quoted: BTreeSet<_> = sentence.relations().flat_map(quoted_numbers).collect();
    let items = quote::items(&sentence.quote);
    let dates = items.iter().any(|item| matches!(item.kind, ItemKind::Date(_)));
    let taken = |(index, item): (usize, &QuoteItem)| {
        quoted.contains(&(index + 1)) || !item.is_in_digits(&sentence.quote)
    };
    !dates && !quoted.is_empty() && items.iter().enumerate().all(taken)
}
