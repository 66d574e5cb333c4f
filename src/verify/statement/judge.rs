//! The judge of a statement: the bound words, whether the text contains them, and the claim about them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::quote::{self, HeadUnit, QuoteItem};
use repro_claim::seen::HIDDEN;
use repro_claim::sentence;
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::Printed;
use repro_core::source::{Error, codes};
use repro_report::meaning::Meaning;
use repro_report::meaning::TextPlace;
use repro_report::outcome::{ClaimReport, Definition, Impact, Outcome, ReadBy, Verdict};

use super::{horizons, own_numbers};
use crate::arms::counted_runs;
use crate::context::{PostContext, as_read};
use crate::evaluate::functions::{self, Gives};
use crate::evaluate::{Evaluator, Frame, Variables};
use crate::json_text::{self, ReadText};
use crate::page::{
    Binding, PlacedExpression, PostRole, PostStatement, StatementKind, quoted_numbers,
};
use crate::value::{Evaluated, Leaf};

codes! {
    NOT_THERE = "sentence::missing-quote", "the text does not contain these words", "copy the quote from the text";
    NO_EVIDENCE = "value::no-evidence", "the value is not derived from evidence", "bind the number to evidence";
}

/// The steps of a claim beside those of its expressions.
pub(super) const CLAIM: usize = 200;

/// A quote that stands at more places is told by the first ones.
const MOST_PLACES: usize = 4;

/// The function that proves a relation of formulas, which needs no evidence.
pub(super) const PROOF: &str = "holds";

pub(super) struct Judge<'a> {
    pub(super) context: &'a PostContext<'a>,
    pub(super) statement: &'a PostStatement,
}

/// The result of searching the text for some words.
#[derive(Default)]
pub(super) struct SoughtWords {
    /// Why the text does not have them; none if it has them.
    pub(super) not_there: Option<String>,
    /// The sentence around them, where they are a part of one.
    pub(super) around: String,
    /// The paragraphs in which they stand, or the head and the row of their table: what an approval depends on.
    pub(super) context: String,
    /// Where the text has them, if it has them once.
    pub(super) written_at: Option<TextPlace>,
}

/// Words of the text and what their numbers are bound to.
pub(super) struct BoundWords<'b> {
    pub(super) id: String,
    pub(super) quote: &'b str,
    pub(super) place_in_text: String,
    /// The result of the search for them; unknown if the text is not available.
    pub(super) sought: SoughtWords,
    /// The head above it, if it is a table cell, whose location errors show.
    pub(super) head: Option<&'b str>,
    /// The first cell of its row, if it is the cell of a table.
    pub(super) row: Option<&'b str>,
    /// The head above that cell.
    pub(super) row_head: Option<&'b str>,
    /// The factor of the printed numbers in its column, if its cells state one.
    pub(super) scale: Option<BigRational>,
    /// The unit that the name of its row states, if it is the cell of a table.
    pub(super) row_unit: Option<HeadUnit>,
    pub(super) variables: &'b BTreeMap<String, PlacedExpression>,
    pub(super) bindings: &'b [Binding],
    /// Its numbers and dates.
    pub(super) items: Vec<QuoteItem>,
    /// The numbers of the quote that its relations take, from 1.
    pub(super) said: BTreeSet<usize>,
}

/// The evaluator for the expressions of some words.
pub(super) struct ScopedEvaluator<'a> {
    pub(super) evaluator: Evaluator<'a>,
    /// The values of what the words have around them.
    pub(super) variables: Variables<'a>,
}

impl<'a> ScopedEvaluator<'a> {
    pub(super) fn frame<'f>(&'f self, source: &'f PlacedExpression) -> Frame<'f, 'a> {
        Frame::of(&self.evaluator, source, &self.variables)
    }

    /// The value of an expression.
    pub(super) fn value(&self, expression: &PlacedExpression) -> Result<Evaluated<'a>, Error> {
        self.frame(expression).settled()
    }
}

impl<'a> Judge<'a> {
    /// An expression and the bodies of the formulas that it uses, each once.
    pub(super) fn with_formulas<'t>(&'t self, tree: &'t Expression) -> Vec<&'t Expression> {
        let formulas = &self.context.page.formulas;
        let mut seen = BTreeSet::new();
        let mut all = vec![tree];
        let mut at = 0;
        while let Some(next) = all.get(at).copied() {
            let names: BTreeSet<_> = next.all().filter_map(Expression::name).collect();
            let fresh = names.into_iter().filter(|name| seen.insert(*name));
            all.extend(fresh.filter_map(|name| Some(&formulas.get(name)?.body.tree)));
            at += 1;
        }
        all
    }

    /// Whether a body is that of a formula over plain numbers: its constants are part of what it defines, and the report lists
    /// them. One that reads runs itself, `mean(g.loss) * 0.73`, brings a number of the post into a measurement.
    pub(super) fn is_definition(&self, body: &Expression) -> bool {
        let mut formulas = self.context.page.formulas.values();
        let reads = |one: &Expression| {
            matches!(one.kind, ExpressionKind::Field(..) | ExpressionKind::At(..))
        };
        let has_parameters =
            formulas.any(|one| !one.parameters.is_empty() && std::ptr::eq(&one.body.tree, body));
        has_parameters && !body.all().any(reads)
    }

    /// The outcome, unless the comparison departs from the plan of its runs, or a run counts more tokens than its data
    /// have.
    pub(super) fn settled(&self, outcome: Outcome, evaluator: &Evaluator<'a>) -> Outcome {
        if outcome.verdict == Verdict::Unchecked {
            return outcome;
        }
        // A step that the expression names is part of the fact, and a lint compares it with the words.
        let objection = evaluator.objections().into_iter().find(|one| one.step.is_none());
        let beyond = || horizons::beyond(&evaluator.leaves(), evaluator.library());
        let found = objection.map(|one| (one.code, one.what)).or_else(beyond);
        match found {
            Some((code, reason)) => outcome.undecided(code, reason),
            None => outcome,
        }
    }

    /// Whether a piece of evidence was typed from the words that it is held against.
    pub(super) fn is_quoted(&self, leaf: &Leaf, bound: &BoundWords, claimed: &str) -> bool {
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

    /// The numbers that the post itself brings in by the expressions of a claim and by the names of its row.
    pub(super) fn own_numbers<'e>(
        &'e self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        bound: &'e BoundWords,
    ) -> Vec<String> {
        let row = bound.variables.values().map(|variable| &variable.tree);
        // What is proved for all values rests on no evidence.
        let expressions = expressions.into_iter().filter(|one| !one.is_call_of(PROOF));
        let said: Vec<_> =
            bound.items.iter().filter_map(QuoteItem::printed).map(Printed::text).collect();
        own_numbers::of(expressions.chain(row).flat_map(|one| self.with_formulas(one)), &said)
    }

    /// Rejects a text that is meant as JSON, by a pointer into it, and breaks its rules.
    pub(super) fn is_readable(&self) -> Result<(), Error> {
        let has_pointer = self.statement.place_in_text.starts_with('/')
            || matches!(&self.statement.kind, StatementKind::Table(table) if table.pointer.is_some());
        match self.context.text(&self.statement.text) {
            Some(text) if has_pointer && json_text::looks_like_json(text.source().text()) => {
                text.document().map(drop).map_err(Clone::clone)
            }
            _ => Ok(()),
        }
    }

    /// Whether the text has some words at the place of the statement; of a text that is not available it is not known.
    pub(super) fn sought(&self, quote: &str) -> SoughtWords {
        let Some(text) = self.context.text(&self.statement.text) else {
            return SoughtWords::default();
        };
        let places = text.places_of_quote(&self.statement.place_in_text, quote);
        let whole = text.source().text();
        let mut sought =
            SoughtWords { context: self.paragraphs(whole, &places), ..Default::default() };
        match &*places {
            [] => sought.not_there = Some(self.not_there(text, quote)),
            [place] if quote::is_struck(whole, place.start) => {
                sought.not_there = Some("the text crosses these words out".into());
            }
            [place] => {
                sought.around = around(whole, place);
                let texts = &self.context.page.texts;
                let own = texts.iter().find(|text| text.id == self.statement.text);
                let is_in_project = own.is_some_and(|text| text.file.is_some());
                sought.written_at = Some(TextPlace {
                    text: self.statement.text.clone(),
                    file: is_in_project.then(|| text.source().name().to_owned()),
                    line: text.source().line_column(place.start).0,
                    span: [place.start, place.end],
                });
            }
            _ => {}
        }
        sought
    }

    /// The paragraphs around some places, as they read: where their lines break says nothing.
    fn paragraphs(&self, text: &str, places: &[Range<usize>]) -> String {
        let mut paragraphs: Vec<String> = Vec::new();
        for place in places.iter().take(MOST_PLACES) {
            let paragraph = &text[sentence::paragraph(text, place)];
            self.context.work.looks_through(paragraph);
            let words = as_read(paragraph);
            if !paragraphs.contains(&words) {
                paragraphs.push(words);
            }
        }
        paragraphs.join("\n")
    }

    /// The nearest words in the text, if the quoted ones are missing.
    fn not_there(&self, text: &ReadText, quote: &str) -> String {
        let at = &self.statement.place_in_text;
        let elsewhere = || {
            let at = Some(at).filter(|at| at.starts_with('/'))?;
            let first = text.searched().of_parted_quote(quote).into_iter().next()?;
            let line = text.source().line_column(first.start).0;
            Some(format!("the text has them in line {line}, not at `{at}`"))
        };
        let pointer = || {
            let document = at.starts_with('/').then(|| text.document().ok())??;
            document.root().at(at).is_err().then(|| json_text::breaks_off(document, at))
        };
        let near = pointer().or_else(elsewhere);
        let id = &self.statement.text;
        let hidden = || self.context.hidden(id, quote);
        absent(near.or_else(hidden).or_else(|| self.context.nearest(id, quote)))
    }

    /// Whether an expression derives anything, or only holds values against each other.
    pub(super) fn computes(&self, expression: &Expression) -> bool {
        let formulas = &self.context.page.formulas;
        let derives = |part: &Expression| match &part.kind {
            ExpressionKind::Arithmetic(operator, left, right) => {
                !own_numbers::is_idle(*operator, left, right)
            }
            ExpressionKind::Negative(_) => true,
            ExpressionKind::Call(name, _) if !formulas.contains_key(name) => {
                functions::find(name).is_none_or(|own| own.gives != Gives::AsItStands)
            }
            _ => false,
        };
        self.with_formulas(expression).into_iter().flat_map(Expression::all).any(derives)
    }

    /// The numbers of the quote that an expression takes, from 0.
    pub(super) fn taken(&self, tree: &Expression) -> BTreeSet<usize> {
        let taken = self.with_formulas(tree).into_iter().flat_map(quoted_numbers);
        taken.filter_map(|number| number.checked_sub(1)).collect()
    }

    /// The evaluator for the expressions of some words, whose numbers are `quoted`.
    pub(super) fn evaluation(
        &self,
        bound: &BoundWords,
        quoted: Vec<Printed>,
    ) -> Result<ScopedEvaluator<'a>, Error> {
        let evaluator = Evaluator::new(self.context, quoted);
        let variables = scope(&evaluator, bound)?;
        Ok(ScopedEvaluator { evaluator, variables })
    }

    /// The report of an outcome on some words that nothing was evaluated for. A claim about words that the text does not
    /// have says nothing about the text.
    pub(super) fn report(
        &self,
        bound: &BoundWords,
        kind: &'static str,
        outcome: Outcome,
    ) -> ClaimReport {
        ClaimReport {
            id: bound.id.clone(),
            kind,
            claimed: String::new(),
            said: String::new(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: bound.sought.around.clone(),
            quote: bound.quote.to_owned(),
            at: Some((self.statement.text.clone(), bound.place_in_text.clone())),
            note: self.statement.note.clone(),
            meaning: Meaning {
                read_by: Some(match self.statement.is_drafted {
                    true => ReadBy::Drafted,
                    false => ReadBy::Author,
                }),
                premise: self.statement.premise.clone().unwrap_or_default(),
                is_audit: self.context.page.role == PostRole::Audit,
                context: bound.sought.context.clone(),
                written_at: bound.sought.written_at.clone(),
                column: bound.head.map(|head| format!("{} / {head}", self.statement.id)),
                ..Meaning::default()
            },
            place: self.statement.place.clone(),
            origin: None,
            impact: outcome.impact.unwrap_or(Impact::Decision),
            outcome: match &bound.sought.not_there {
                Some(reason) => instead(&NOT_THERE, reason, outcome),
                None => outcome,
            },
            evidence: Vec::new(),
        }
    }

    /// The report of what some expressions came to.
    pub(super) fn evaluated(
        &self,
        bound: &BoundWords,
        evaluation: &ScopedEvaluator<'a>,
        expressions: &[PlacedExpression],
        joint: &str,
        outcome: Outcome,
    ) -> ClaimReport {
        let (evidence, origin) = evaluation.evaluator.shown();
        let mut report = self.report(bound, "relation", outcome);
        let trees = || expressions.iter().map(|one| &one.tree);
        let (page, work) = (self.context.page, self.context.work);
        report.meaning.expanded = page.expanded(trees(), bound.variables, joint, work);
        let said: Vec<_> = trees().map(Expression::to_string).collect();
        ClaimReport {
            said: said.join(joint),
            row: stands_for(bound, &evaluation.variables),
            own_numbers: self.own_numbers(trees(), bound),
            place: expressions.first().map_or(report.place, |first| first.place().clone()),
            origin,
            evidence,
            ..report
        }
    }
}

/// The sentence around a place of a text, as it is shown; none if the place is the whole sentence.
fn around(text: &str, place: &Range<usize>) -> String {
    let whole = sentence::around(text, place);
    let says_nothing = |part: &str| part.chars().all(|c| !c.is_alphanumeric());
    if says_nothing(&text[whole.start..place.start]) && says_nothing(&text[place.end..whole.end]) {
        return String::new();
    }
    let ends = |part: &str| part.is_empty() || part.ends_with(['.', '!', '?', '\n', '|', ' ']);
    let before = if ends(&text[..whole.start]) { "" } else { "…" };
    let behind = if whole.end == text.len() || ends(&text[..whole.end]) { "" } else { "…" };
    // What nobody sees is not shown.
    let seen = text[whole.clone()].replace(HIDDEN, "");
    let words = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{before}{words}{behind}")
}

/// Why words are not in the text, with what is there instead, where that is known.
pub(super) fn absent(instead: Option<String>) -> String {
    followed("the text does not contain these words", instead)
}

/// Some words with more behind them, where there is more.
pub(super) fn followed(words: &str, more: Option<String>) -> String {
    more.map_or_else(|| words.to_owned(), |more| format!("{words}; {more}"))
}

/// Words at a length that an error can quote.
pub(super) fn shortened(words: &str) -> String {
    const MOST: usize = 60;
    let start: String = words.chars().take(MOST).collect();
    if start.len() < words.len() { format!("{start}…") } else { start }
}

/// The values of what the words have around them.
pub(super) fn scope<'a>(
    evaluator: &Evaluator<'a>,
    bound: &BoundWords,
) -> Result<Variables<'a>, Error> {
    let none = Variables::new();
    let each = bound.variables.iter();
    each.map(|(name, value)| Ok((name.clone(), Frame::of(evaluator, value, &none).evaluate()?)))
        .collect()
}

/// The value of each row variable: `moe (6 runs)`.
pub(super) fn stands_for(bound: &BoundWords, variables: &Variables) -> Vec<Definition> {
    let meaning = |(name, expression): (&String, &PlacedExpression)| {
        let written = expression.tree.to_string();
        let meaning = match variables.get(name) {
            Some(Evaluated::Reference(path)) if path.is_group => {
                format!("{written} ({})", counted_runs(path.bundles.len()))
            }
            _ => written,
        };
        Definition { name: name.clone(), meaning }
    };
    bound.variables.iter().map(meaning).collect()
}

pub(super) fn single_source(leaf: &Leaf) -> String {
    let text = &leaf.text;
    let evidence = leaf.evidence.as_ref();
    let typed_at = evidence.and_then(|evidence| evidence.printed_at.as_deref());
    if leaf.quote.is_some() || typed_at.is_some_and(|place| place.starts_with('/')) {
        format!("single source: \"{text}\" was transcribed from the quoted place")
    } else {
        format!(
            "single source: \"{text}\" was transcribed from the same document, possibly from the same place"
        )
    }
}

/// An unchecked claim, with what was found nevertheless.
pub(super) fn instead(
    code: &'static repro_core::source::Code,
    reason: &str,
    outcome: Outcome,
) -> Outcome {
    let unchecked = Outcome::unchecked(code, reason).giving(outcome.recomputed);
    let unchecked = unchecked.measuring(outcome.measured);
    Outcome { method: outcome.method, ..unchecked }
}

pub(super) fn plain_numbers(items: &[QuoteItem]) -> Vec<Printed> {
    items.iter().filter_map(QuoteItem::printed).cloned().collect()
}

/// The expressions that numbers are bound to.
pub(super) fn expressions_of(bindings: &[Binding]) -> impl Iterator<Item = &PlacedExpression> {
    bindings.iter().filter_map(Binding::expression)
}

/// The kind of a claim: the function at the root of its expression.
pub(super) fn kind_of(expression: &Expression, otherwise: &'static str) -> &'static str {
    match &expression.kind {
        ExpressionKind::Not(of) => kind_of(of, otherwise),
        _ => expression.function().and_then(functions::find).map_or(otherwise, |own| own.name),
    }
}
