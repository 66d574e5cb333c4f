//! From expressions to values: names, formulas, operators and calls, with every piece of evidence noted.
//!
//! An expression has no side effects and does nothing but read bundles that the post names.

mod arithmetic;
mod call;
pub mod design;
pub mod error_bars;
pub mod functions;
pub mod noise;
pub mod order;
mod polynomial;
mod reference;
pub mod supposed;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use repro_bundle::bundle::Bundle;
use repro_claim::Expression;
use repro_claim::syntax::{Argument, ExpressionKind};
use repro_core::decimal::Printed;
use repro_core::similar::did_you_mean;
use repro_core::source::{Code, Document, Error, codes};
use repro_report::outcome::{EvidenceOrigin, EvidenceRef, Outcome};

use crate::context::PostContext;
use crate::evaluate::design::{DEPARTS, Objection};
use crate::library::Library;
use crate::page::{PlacedExpression, PostFormula, PostPage};
use crate::value::{Evaluated, EvidencePath, EvidenceWords, Leaf, LeafKind, Quantity, RunSample};

pub use call::Call;

codes! {
    UNKNOWN_NAME = "expression::unknown-name", "unknown name", "correct the name, or define it in `[names]` or `[formulas]`";
    UNKNOWN_FUNCTION = "expression::unknown-function", "unknown function or formula", "check the name with `repro explain --list functions`, or define a formula in `[formulas]`";
    NO_FIELD = "expression::no-field", "the evidence has no such field", "correct the field name";
    WRONG_KIND = "expression::wrong-kind", "the expression gives the wrong kind of value", "use an expression of the expected kind; `repro explain --list functions` lists conversions";
    WRONG_ARGUMENTS = "expression::wrong-arguments", "the function's arguments are wrong", "see `repro explain FUNCTION`";
    NOT_COMPUTABLE = "expression::not-computable", "the operation is undefined for these numbers", "check how many numbers there are, and whether a divisor may be zero";
    NOT_PAIRED = "expression::not-paired", "the operation needs paired runs, and nothing pairs these groups", "compare the groups: `a < b`, `p(a, b)`, `mean(a) - mean(b)`";
    SHADOWS = "expression::shadows", "a formula has the name of a function", "rename the formula; `repro explain --list functions` lists the functions";
    TOO_DEEP = "expression::too-deep", "formulas are nested too deeply or recursively", "remove the recursion, or shorten the formula";
    TOO_LONG = "expression::too-long", "the expression has too many parts", "reduce how often formulas use each other";
    TOO_LARGE = "expression::too-large", "a number is larger or smaller than anything measurable", "check the expression's products and powers";
    UNREADABLE_VALUE = "expression::unreadable-value", "a value in the evidence is not a number", "select the number itself, or compare words with `same(...)`";
}

/// The requirement for two groups that are joined run by run.
const PAIRED_RUNS: &str = "runs whose receipts have the same data seeds and order, pair by pair";
/// The words for what is so and what is not.
const TRUTHS: [&str; 2] = ["true", "false"];
/// Parts within parts, those of formulas too: as many as the stack of a thread holds.
const MOST_WITHIN: usize = 130;
/// Parts of an expression, those of its formulas counted each time: formulas that use each other twice double
/// them at each step.
const MOST_PARTS: usize = 1 << 18;
/// The steps of finding and reading one piece of evidence.
const READING: usize = 15;
/// The steps of a function: a logarithm of an exact number takes as many.
const CALLING: usize = 200;
/// The bits of a numerator or denominator beyond which an interval is rounded outwards.
const MOST_BITS: u64 = 1 << 13;
/// How far from one, in powers of two, a number may lie: as far as binary floats.
const MOST_MAGNITUDE: u64 = 1100;

/// Values by the names that a formula, a row or a function gives them.
pub type Variables<'a> = BTreeMap<String, Evaluated<'a>>;

/// Where a number of evidence stands, as what it was read and of which step.
pub type ReadNumber = (String, LeafKind, Option<u64>);

/// A part of an expression while it is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'f, 'a> {
    /// Who evaluates it.
    pub evaluator: &'f Evaluator<'a>,
    /// The expression that it belongs to, for the places of its parts.
    pub source: &'f PlacedExpression,
    /// The variables in scope.
    pub variables: &'f Variables<'a>,
    /// The part.
    pub part: &'f Expression,
}

/// Rejects formulas that would take the place of a function: what `p(a, b)` is, a reader knows.
pub fn without_shadows(page: &PostPage) -> Result<(), Vec<Error>> {
    let refused = |(name, formula): (&String, &PostFormula)| {
        functions::find(name)?;
        let place = formula.body.place().clone();
        Some(SHADOWS.at(place, "a name that is not a function's", format!("`{name}`")))
    };
    let errors: Vec<_> = page.formulas.iter().filter_map(refused).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Evaluates the expressions of one claim.
#[derive(Debug)]
pub struct Evaluator<'a> {
    context: &'a PostContext<'a>,
    shown: RefCell<Vec<(EvidenceRef, EvidenceOrigin)>>,
    /// Why comparisons of runs decide nothing.
    objections: RefCell<Vec<Objection>>,
    /// The leaves read as numbers or words, and whether each only adjusts a test, as the other tests of its family do.
    leaves: RefCell<Vec<(Rc<Leaf>, bool)>>,
    is_aside: Cell<bool>,
    /// The number that is supposed to be another, by the order of reading, to see what follows from it.
    moved: Cell<Option<usize>>,
    /// The numbers of evidence by where they stand and how they were read, for when they are supposed to be others.
    known: RefCell<HashMap<ReadNumber, Quantity>>,
    /// The numbers that were read, each once, with their places in the order of reading.
    read: RefCell<HashMap<String, usize>>,
    /// Within how many parts the part stands that is evaluated.
    within: Cell<usize>,
    /// How many parts were evaluated so far.
    followed: Cell<usize>,
    /// The numbers of the sentence's quote.
    quoted: Vec<Printed>,
}

impl<'a> Evaluator<'a> {
    /// For a claim whose quote has these numbers.
    pub fn new(context: &'a PostContext<'a>, quoted: Vec<Printed>) -> Self {
        Self {
            context,
            shown: RefCell::default(),
            leaves: RefCell::default(),
            objections: RefCell::default(),
            is_aside: Cell::new(false),
            moved: Cell::default(),
            known: RefCell::default(),
            read: RefCell::default(),
            within: Cell::new(0),
            followed: Cell::new(0),
            quoted,
        }
    }

    /// Counts steps that no part of an expression takes, and tells whether work goes on.
    pub fn works(&self, steps: usize) -> bool {
        self.context.work.takes(steps);
        !self.context.work.is_spent()
    }

    /// The post.
    pub fn page(&self) -> &'a PostPage {
        self.context.page
    }

    /// The loaded evidence.
    pub fn library(&self) -> &'a Library {
        self.context.library
    }

    /// The numbers of the sentence's quote.
    pub fn quoted(&self) -> &[Printed] {
        &self.quoted
    }

    /// Notes a departure from the plan of the runs.
    pub fn departs(&self, what: impl std::fmt::Display) {
        let what = format!("departs from the plan: {what}");
        self.object(Objection { code: &DEPARTS, what, step: None });
    }

    /// Notes why a comparison of runs decides nothing, once.
    pub fn object(&self, objection: Objection) {
        let mut all = self.objections.borrow_mut();
        if !all.iter().any(|known| known.what == objection.what) {
            all.push(objection);
        }
    }

    /// Why comparisons of runs decide nothing.
    pub fn objections(&self) -> Vec<Objection> {
        self.objections.borrow().clone()
    }

    /// The leaves read so far.
    pub fn leaves(&self) -> Vec<Rc<Leaf>> {
        self.leaves.borrow().iter().map(|(leaf, _)| Rc::clone(leaf)).collect()
    }

    /// The names of the numbers that were read, each once.
    pub fn numbers_read(&self) -> BTreeSet<String> {
        self.read.borrow().keys().cloned().collect()
    }

    /// Notes what was read; where a number is moved, all is read once more.
    pub fn note(&self, leaf: &Rc<Leaf>) {
        self.context.work.takes(READING);
        if !self.supposes() {
            self.leaves.borrow_mut().push((Rc::clone(leaf), self.is_aside.get()));
        }
    }

    /// The leaves read so far that are compared.
    pub fn compared(&self) -> Vec<Rc<Leaf>> {
        let leaves = self.leaves.borrow();
        leaves.iter().filter(|(_, is_aside)| !is_aside).map(|(leaf, _)| Rc::clone(leaf)).collect()
    }

    /// Evaluates what only adjusts a test: the other tests of its family.
    pub fn aside<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        let was = self.is_aside.replace(true);
        let value = evaluate();
        self.is_aside.set(was);
        value
    }

    /// Everything shown so far, sorted, and the weakest origin among it.
    pub fn shown(&self) -> (Vec<EvidenceRef>, Option<EvidenceOrigin>) {
        let shown = self.shown.borrow();
        let weakest = shown.iter().map(|(_, origin)| *origin).min();
        let mut all: Vec<_> = shown.iter().map(|(evidence, _)| evidence.clone()).collect();
        all.sort();
        all.dedup();
        (all, weakest)
    }

    /// The evidence of a whole name, or the names that begin with it.
    fn named(&self, name: &str) -> Result<Option<Evaluated<'a>>, Error> {
        if let Some((locator, place)) = self.context.page.names.get(name) {
            self.context.usable(name)?;
            return reference::open(self, locator, place).map(Evaluated::Reference).map(Some);
        }
        let longer = format!("{name}.");
        let mut from = self.context.page.names.range(longer.clone()..);
        let begins = from.next().is_some_and(|(known, _)| known.starts_with(&longer));
        Ok(begins.then(|| Evaluated::Names(name.to_owned())))
    }
}

impl<'f, 'a> Frame<'f, 'a> {
    /// A whole expression.
    pub fn of(
        evaluator: &'f Evaluator<'a>,
        source: &'f PlacedExpression,
        variables: &'f Variables<'a>,
    ) -> Self {
        Self { evaluator, source, variables, part: &source.tree }
    }

    /// Another part of the same expression.
    pub fn at(self, part: &'f Expression) -> Self {
        Self { part, ..self }
    }

    /// Counts steps before they are taken; an error where the work ends.
    pub fn takes(self, steps: usize) -> Result<(), Error> {
        self.evaluator.context.work.takes(steps);
        self.evaluator.context.work.goes_on(self.source.place())
    }

    /// Counts the pairs of so many things before each is held against each other; a pair takes this many steps.
    pub fn pairs(self, count: usize, steps: usize) -> Result<(), Error> {
        let pairs = count.saturating_mul(count.saturating_sub(1)) / 2;
        self.takes(pairs.saturating_mul(steps))
    }

    /// Evaluates the part. The work is bounded in parts and in the size of numbers.
    pub fn evaluate(self) -> Result<Evaluated<'a>, Error> {
        self.takes(2)?;
        let Evaluator { followed, context, .. } = self.evaluator;
        followed.set(followed.get() + 1);
        if followed.get() > MOST_PARTS {
            return Err(self.wrong(&TOO_LONG, &format!("at most {MOST_PARTS} parts"), "more"));
        }
        let mut value = self.one_deeper(|| self.value())?;
        let numbers: &mut [Quantity] = match &mut value {
            Evaluated::Number(number) => std::slice::from_mut(number),
            Evaluated::Sample(sample) => &mut sample.numbers,
            Evaluated::List(items) => {
                context.work.takes(items.len() / 4);
                &mut []
            }
            _ => &mut [],
        };
        let leaves: usize = numbers.iter().map(|number| number.leaves.len()).sum();
        // A fraction is shortened in the square of its length.
        let long = |number: &Quantity| (number.interval.bits() * number.interval.bits()) >> 16;
        let long: u64 = numbers.iter().map(long).sum();
        context.work.takes(numbers.len() + leaves / 16 + long as usize);
        for number in numbers {
            if number.interval.magnitude() > MOST_MAGNITUDE {
                let found = format!("a number of {} bits", number.interval.magnitude());
                return Err(self.wrong(&TOO_LARGE, "a number in a measurable range", &found));
            }
            number.interval.round_outwards(MOST_BITS);
        }
        Ok(value)
    }

    /// A part within another. Whatever formulas it is in, the stack does not end.
    fn one_deeper<T>(self, found: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let within = &self.evaluator.within;
        let depth = within.get();
        if depth >= MOST_WITHIN {
            let expected = format!("at most {MOST_WITHIN} nesting levels");
            return Err(self.wrong(&TOO_DEEP, &expected, "more"));
        }
        within.set(depth + 1);
        let value = found();
        within.set(depth);
        value
    }

    fn value(self) -> Result<Evaluated<'a>, Error> {
        match &self.part.kind {
            ExpressionKind::Number(text) => {
                let printed = Printed::parse(text)
                    .map_err(|error| self.wrong(&WRONG_KIND, "a number", &error.to_string()))?;
                Ok(Evaluated::Number(Quantity::stated(&printed, LeafKind::Literal)))
            }
            ExpressionKind::Text(text) => Ok(Evaluated::Text(EvidenceWords::without_place(text))),
            ExpressionKind::Name(name) => self.name(name),
            ExpressionKind::Field(of, key) => self.field(self.at(of).evaluate()?, key),
            ExpressionKind::At(of, step) => {
                let step = self.at(step).whole()?;
                match self.at(of).evaluate()? {
                    Evaluated::Reference(reference) => {
                        Ok(Evaluated::Reference(EvidencePath { step: Some(step), ..reference }))
                    }
                    other => Err(self.wrong(&WRONG_KIND, "a field of a run", other.word())),
                }
            }
            ExpressionKind::List(items) => {
                let items = items.iter().map(|item| self.at(item).evaluate());
                items.collect::<Result<_, _>>().map(Evaluated::List)
            }
            ExpressionKind::Negative(of) => arithmetic::negative(self.at(of)),
            ExpressionKind::Not(of) => {
                let judged = self.at(of).judgement()?;
                Ok(Evaluated::Judgement(Box::new(order::opposite(judged))))
            }
            ExpressionKind::Arithmetic(operator, left, right) => {
                arithmetic::join(self, *operator, left, right)
            }
            ExpressionKind::Relation(first, rest) => order::relation(self, first, rest)
                .map(|outcome| Evaluated::Judgement(Box::new(outcome))),
            ExpressionKind::Call(name, arguments) => self.call(name, arguments),
        }
    }

    /// The value of this name: a variable, a piece of evidence, a formula, or the beginning of names.
    fn name(self, name: &str) -> Result<Evaluated<'a>, Error> {
        let page = self.evaluator.page();
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.evaluator.named(name)? {
            return Ok(value);
        }
        if let Some(formula) = page.formulas.get(name) {
            if formula.parameters.is_empty() {
                return self.within(&formula.body, &Variables::new()).evaluate();
            }
            let expected = format!("`{name}({})`", formula.parameters.join(", "));
            return Err(self.wrong(&WRONG_ARGUMENTS, &expected, "only its name"));
        }
        if TRUTHS.contains(&name) {
            return Ok(Evaluated::Text(EvidenceWords::without_place(name)));
        }
        let known = page.names.keys().map(|known| known.split('.').next().unwrap_or(known));
        let known = known.chain(page.formulas.keys().map(String::as_str));
        let known: BTreeSet<&str> =
            known.chain(self.variables.keys().map(String::as_str)).collect();
        // `a-b` was perhaps meant as a difference.
        let is_known = |part: &str| known.contains(part);
        let is_difference = name.contains('-')
            && match did_you_mean(name, known.iter().copied()) {
                Some(_) => name.split('-').all(is_known),
                None => name.split('-').any(is_known),
            };
        let error = self.unknown(&UNKNOWN_NAME, name, known);
        let help = "a minus between two names needs a space on both sides";
        Err(if is_difference { error.help(help) } else { error })
    }

    /// The error of a name that nothing has: what was perhaps meant, else what there is.
    fn unknown<'k>(
        self,
        code: &'static Code,
        name: &str,
        known: impl IntoIterator<Item = &'k str> + Clone,
    ) -> Error {
        let found = format!("`{name}`");
        self.evaluator.context.work.takes(2 * known.clone().into_iter().count());
        if let Some(hint) = did_you_mean(name, known.clone()) {
            return self.wrong(code, "a known name", &found).help(hint);
        }
        let known: Vec<_> = known.into_iter().map(|known| format!("`{known}`")).collect();
        let expected = match known.is_empty() {
            true => "a name in `[names]` or `[formulas]`, which are empty".to_owned(),
            false => format!("one of {}", known.join(", ")),
        };
        self.wrong(code, &expected, &found)
    }

    fn field(self, of: Evaluated<'a>, key: &str) -> Result<Evaluated<'a>, Error> {
        match of {
            Evaluated::Names(before) => {
                let name = format!("{before}.{key}");
                self.evaluator.named(&name)?.ok_or_else(|| {
                    let longer = format!("{before}.");
                    let known = self.evaluator.page().names.keys().map(String::as_str);
                    let known = known.filter(|known| known.starts_with(&longer));
                    self.unknown(&UNKNOWN_NAME, &name, known)
                })
            }
            Evaluated::Reference(mut reference) => {
                reference.path.push(key.to_owned());
                Ok(Evaluated::Reference(reference))
            }
            other => Err(self.wrong(&WRONG_KIND, "evidence with fields", other.word())),
        }
    }

    fn call(self, name: &str, arguments: &'f [Argument]) -> Result<Evaluated<'a>, Error> {
        let formulas = &self.evaluator.page().formulas;
        if let Some(formula) = formulas.get(name) {
            let variables = self.given(name, formula, arguments)?;
            return self.within(&formula.body, &variables).evaluate();
        }
        let Some(function) = functions::find(name) else {
            let known = functions::all().map(|function| function.name);
            let known: Vec<&str> = known.chain(formulas.keys().map(String::as_str)).collect();
            return Err(self.unknown(&UNKNOWN_FUNCTION, name, known));
        };
        self.evaluator.context.work.takes(CALLING);
        let call = Call { evaluator: self.evaluator, frame: self, name: function.name, arguments };
        let value =
            call.check(&function.takes, function.options).and_then(|()| (function.evaluate)(call));
        value.map_err(|error| {
            // What is wrong inside an argument has a help of its own.
            let is_plain = error.code == &WRONG_ARGUMENTS && error.help == WRONG_ARGUMENTS.help;
            let help =
                || format!("write `{}`; see `repro explain {name}`", function.texts().signature);
            if is_plain { error.help(help()) } else { error }
        })
    }

    /// The values of a formula's parameters in a call.
    fn given(
        self,
        name: &str,
        formula: &PostFormula,
        arguments: &'f [Argument],
    ) -> Result<Variables<'a>, Error> {
        if arguments.len() != formula.parameters.len()
            || arguments.iter().any(|argument| argument.name.is_some())
        {
            let expected = format!("`{name}({})`", formula.parameters.join(", "));
            let found = format!("{} values", arguments.len());
            return Err(self.wrong(&WRONG_ARGUMENTS, &expected, &found));
        }
        let pairs = formula.parameters.iter().zip(arguments);
        let each = pairs.map(|(parameter, argument)| {
            Ok((parameter.clone(), self.at(&argument.value).evaluate()?))
        });
        each.collect()
    }

    /// A formula of the post; errors inside it stand where it is written.
    fn within<'i>(self, body: &'i PlacedExpression, variables: &'i Variables<'a>) -> Frame<'i, 'a>
    where
        'f: 'i,
    {
        Frame { source: body, variables, part: &body.tree, ..self }
    }

    /// Applies `found` to the post's formula that the part refers to or calls; none if there is none.
    pub fn in_formula<T>(
        self,
        found: impl FnOnce(Frame<'_, 'a>) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let (name, arguments) = match &self.part.kind {
            ExpressionKind::Name(name) if !self.variables.contains_key(name) => (name, &[][..]),
            ExpressionKind::Call(name, arguments) => (name, &arguments[..]),
            _ => return None,
        };
        let formula = self.evaluator.page().formulas.get(name)?;
        let value = self.given(name, formula, arguments).and_then(|variables| {
            self.one_deeper(|| found(self.within(&formula.body, &variables)))
        });
        Some(value)
    }

    /// A value with every reference followed to what is there.
    pub fn settle(self, value: Evaluated<'a>) -> Result<Evaluated<'a>, Error> {
        match value {
            Evaluated::Reference(reference) => reference::read(self, &reference),
            Evaluated::List(items) => {
                let items = items.into_iter().map(|item| self.settle(item));
                items.collect::<Result<_, _>>().map(Evaluated::List)
            }
            other => Ok(other),
        }
    }

    /// Evaluates the part and resolves every reference.
    pub fn settled(self) -> Result<Evaluated<'a>, Error> {
        self.settle(self.evaluate()?)
    }

    /// A value as one number.
    pub fn number_of(self, value: Evaluated<'a>) -> Result<Quantity, Error> {
        let wrong = |found: &str| self.wrong(&WRONG_KIND, "one number", found);
        match self.settle(value)? {
            Evaluated::Number(number) => Ok(number),
            Evaluated::Sample(sample) => {
                let found = format!(
                    "a group of {} with one number each: use `mean(...)` or another summary",
                    sample.count()
                );
                let help = "reduce several numbers to one with `mean(...)`, `sd(...)`, `min(...)` and similar functions";
                Err(wrong(&found).help(help))
            }
            Evaluated::Text(words) => {
                let help = "compare words with `=` and `!=`: `run.config.dtype = 'float32'`";
                Err(wrong(&format!("the words \"{}\"", words.text)).help(help))
            }
            other => Err(wrong(other.word())),
        }
    }

    /// The one number that the part gives.
    pub fn number(self) -> Result<Quantity, Error> {
        self.number_of(self.evaluate()?)
    }

    /// A value as the numbers of which it consists: one, or those of a list.
    pub fn parts(self, value: Evaluated<'a>) -> Result<Vec<Quantity>, Error> {
        match self.settle(value)? {
            Evaluated::List(items) => items.into_iter().map(|item| self.number_of(item)).collect(),
            other => Ok(vec![self.number_of(other)?]),
        }
    }

    /// Several numbers: of a list, or of the runs of a group.
    pub fn numbers(self) -> Result<RunSample, Error> {
        match self.settled()? {
            Evaluated::Sample(sample) => Ok(sample),
            Evaluated::Number(number) => {
                Ok(RunSample { runs: vec![String::new()], numbers: vec![number] })
            }
            Evaluated::List(items) => {
                let runs = match &self.part.kind {
                    ExpressionKind::List(parts) => parts.iter().map(ToString::to_string).collect(),
                    _ => vec![String::new(); items.len()],
                };
                let numbers = items.into_iter().map(|item| self.number_of(item));
                Ok(RunSample { runs, numbers: numbers.collect::<Result<_, _>>()? })
            }
            other => Err(self.wrong(&WRONG_KIND, "numbers", other.word())),
        }
    }

    /// Several groups of runs, one by one.
    pub fn groups(self) -> Result<Vec<RunSample>, Error> {
        let Evaluated::List(items) = self.settled()? else {
            let found = format!("`{}`", self.part);
            return Err(self.wrong(&WRONG_KIND, "a list of groups of runs", &found));
        };
        let group = |item| match item {
            Evaluated::Sample(group) => Ok(group),
            other => Err(self.wrong(&WRONG_KIND, "groups of runs", other.word())),
        };
        items.into_iter().map(group).collect()
    }

    /// The outcome of a part that is a relation.
    pub fn judgement(self) -> Result<Outcome, Error> {
        let other = match self.evaluate()? {
            Evaluated::Judgement(outcome) => return Ok(*outcome),
            Evaluated::Reference(reference) => reference::read(self, &reference)?,
            other => return Err(self.no_relation(&other)),
        };
        order::truth(&other).ok_or_else(|| self.no_relation(&other))
    }

    fn no_relation(self, found: &Evaluated<'_>) -> Error {
        let expected = "a relation: `a < b`, `a = b`, or a field that is `true` or `false`";
        let error = self.wrong(&WRONG_KIND, expected, found.word());
        error.help("`is` binds the numbers in the quote; `says` states relations")
    }

    /// The whole number from zero up that the part is.
    fn whole(self) -> Result<u64, Error> {
        let number = self.number()?;
        let wrong = || self.wrong(&WRONG_KIND, "a whole number", &number.derivation);
        number.count().ok_or_else(wrong)
    }

    /// A file of a bundle; an error stands at the part that asks for it.
    fn document(self, bundle: &Bundle, file: &str) -> Result<&'a Document, Error> {
        let place = || self.source.place_of(self.part, self.evaluator.page().document());
        self.evaluator.library().document(bundle.name(), file, place)
    }

    /// An error at the part.
    pub fn wrong(self, code: &'static Code, expected: &str, found: &str) -> Error {
        let page = self.evaluator.page().document();
        code.at(self.source.place_of(self.part, page), expected, found)
    }
}
