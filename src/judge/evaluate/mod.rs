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
pub mod symbolic;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::{Argument, ExpressionKind};
use repro_exact::decimal::Printed;
use repro_receipt::bundle::Bundle;
use repro_receipt::similar::did_you_mean;
use repro_receipt::source::{Code, Document, Error, codes};
use repro_report::outcome::{EvidenceOrigin, EvidenceRef, Outcome};

use crate::context::PostContext;
use crate::evaluate::design::{DEPARTS, Objection};
use crate::library::Library;
use crate::page::{PlacedExpression, PostFormula, PostPage};
use crate::value::{Evaluated, EvidencePath, EvidenceWords, Leaf, LeafKind, Quantity, RunSample};

pub use call::Call;
use supposed::Supposition;

codes! {
    UNKNOWN_NAME = "expression::unknown-name", "nothing has this name", "name it in `[names]` or `[formulas]`, or correct it";
    UNKNOWN_FUNCTION = "expression::unknown-function", "there is no function or formula of this name", "`repro list functions` names them; a formula of this post stands in `[formulas]`";
    NO_FIELD = "expression::no-field", "the evidence has no such field", "correct the field";
    WRONG_KIND = "expression::wrong-kind", "an expression gives another kind of value than is needed here", "give what is expected; `repro list functions` names what makes one of the other";
    WRONG_ARGUMENTS = "expression::wrong-arguments", "a function is given other values than it takes", "`repro explain FUNCTION` shows what it takes";
    NOT_COMPUTABLE = "expression::not-computable", "the operation has no value for these numbers", "look at how many there are, and whether a divisor may be zero";
    NOT_PAIRED = "expression::not-paired", "two groups of runs are joined run by run, and nothing pairs them", "compare the groups: `a < b`, `p(a, b)`, `mean(a) - mean(b)`";
    SHADOWS = "expression::shadows", "a formula is called as a function is", "call it otherwise; `repro list functions` names the functions";
    TOO_DEEP = "expression::too-deep", "formulas stand within each other too deep, or without end", "let no formula use itself, and a formula be shorter";
    TOO_LONG = "expression::too-long", "an expression has more parts than are followed", "let formulas use each other less often";
    TOO_LARGE = "expression::too-large", "a number is larger, or smaller, than anything that is measured", "look at its powers and products";
    UNREADABLE_VALUE = "expression::unreadable-value", "a value of the evidence is no number", "name the value itself; words are compared with `same(...)`";
}

/// What is expected of two groups that are joined run by run.
const PAIRED_RUNS: &str = "runs whose receipts have the same data seeds and order, pair by pair";
/// The words for what is so and what is not.
const TRUTHS: [&str; 2] = ["true", "false"];
/// Formulas within formulas.
const DEEPEST: usize = 32;
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

/// What an expression is evaluated in.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'f, 'a> {
    /// The expression that is read, for the places of its parts.
    pub source: &'f PlacedExpression,
    /// What has a name here.
    pub variables: &'f Variables<'a>,
}

/// Refuses formulas that would take the place of a function: what `p(a, b)` is, a reader knows.
pub fn without_shadows(page: &PostPage) -> Result<(), Vec<Error>> {
    let refused = |(name, formula): (&String, &PostFormula)| {
        functions::find(name)?;
        let place = formula.body.place().clone();
        Some(SHADOWS.at(place, "a name that no function has", format!("`{name}`")))
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
    /// What was read as a number or words.
    leaves: RefCell<Vec<Rc<Leaf>>>,
    /// The same without what only adjusts a test: the other tests of its family.
    compared: RefCell<Vec<Rc<Leaf>>>,
    is_aside: Cell<bool>,
    /// What the evidence is supposed to be, to see what follows from it.
    supposed: Cell<Supposition>,
    /// The numbers of evidence by where they stand and how they were read, for when they are supposed to be others.
    known: RefCell<HashMap<ReadNumber, Quantity>>,
    /// The numbers that were read, each once, with their places in the order of reading.
    read: RefCell<HashMap<String, usize>>,
    depth: Cell<usize>,
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
            compared: RefCell::default(),
            is_aside: Cell::new(false),
            supposed: Cell::default(),
            known: RefCell::default(),
            read: RefCell::default(),
            depth: Cell::new(0),
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

    /// Counts steps before they are taken; an error where the work ends.
    pub fn takes(&self, steps: usize, frame: Frame<'_, 'a>) -> Result<(), Error> {
        self.context.work.takes(steps);
        self.context.work.goes_on(frame.source.place())
    }

    /// Counts the pairs of so many things before each is held against each other; a pair takes so many steps.
    pub fn pairs(&self, count: usize, steps: usize, frame: Frame<'_, 'a>) -> Result<(), Error> {
        let pairs = count.saturating_mul(count.saturating_sub(1)) / 2;
        self.takes(pairs.saturating_mul(steps), frame)
    }

    /// The post.
    pub fn page(&self) -> &'a PostPage {
        self.context.page
    }

    /// What is loaded.
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

    /// What was read so far.
    pub fn leaves(&self) -> Vec<Rc<Leaf>> {
        self.leaves.borrow().clone()
    }

    /// The names of the numbers that were read, each once.
    pub fn numbers_read(&self) -> BTreeSet<String> {
        self.read.borrow().keys().cloned().collect()
    }

    /// Notes what was read; where a number is moved, all is read once more.
    pub fn note(&self, leaf: &Rc<Leaf>) {
        self.context.work.takes(READING);
        if self.supposes() {
            return;
        }
        self.leaves.borrow_mut().push(Rc::clone(leaf));
        if !self.is_aside.get() {
            self.compared.borrow_mut().push(Rc::clone(leaf));
        }
    }

    /// What was read so far and is compared.
    pub fn compared(&self) -> Vec<Rc<Leaf>> {
        self.compared.borrow().clone()
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

    /// Evaluates a whole expression.
    pub fn value(
        &self,
        source: &PlacedExpression,
        variables: &Variables<'a>,
    ) -> Result<Evaluated<'a>, Error> {
        self.evaluate(&source.tree, Frame { source, variables })
    }

    /// A value as the numbers of which it consists: one, or those of a list.
    pub fn parts(
        &self,
        value: Evaluated<'a>,
        frame: Frame<'_, 'a>,
        part: &Expression,
    ) -> Result<Vec<Quantity>, Error> {
        match self.settled(value, frame, part)? {
            Evaluated::List(items) => {
                items.into_iter().map(|item| self.number(item, frame, part)).collect()
            }
            other => Ok(vec![self.number(other, frame, part)?]),
        }
    }

    /// Evaluates a part of an expression. What it takes is bounded: in parts, and in the size of numbers.
    pub fn evaluate(
        &self,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        self.takes(2, frame)?;
        self.followed.set(self.followed.get() + 1);
        if self.followed.get() > MOST_PARTS {
            let (expected, found) = (format!("at most {MOST_PARTS} parts"), "more");
            return Err(self.wrong(&TOO_LONG, part, frame, &expected, found));
        }
        let mut value = self.one_deeper(part, frame)?;
        let numbers: &mut [Quantity] = match &mut value {
            Evaluated::Number(number) => std::slice::from_mut(number),
            Evaluated::Sample(sample) => &mut sample.numbers,
            Evaluated::List(items) => {
                self.context.work.takes(items.len() / 4);
                &mut []
            }
            _ => &mut [],
        };
        let leaves: usize = numbers.iter().map(|number| number.leaves.len()).sum();
        // A fraction is shortened in the square of its length.
        let long = |number: &Quantity| (number.interval.bits() * number.interval.bits()) >> 16;
        let long: u64 = numbers.iter().map(long).sum();
        self.context.work.takes(numbers.len() + leaves / 16 + long as usize);
        for number in numbers {
            if number.interval.magnitude() > MOST_MAGNITUDE {
                let expected = "a number that can be measured";
                let found = format!("one of {} bits", number.interval.magnitude());
                return Err(self.wrong(&TOO_LARGE, part, frame, expected, &found));
            }
            number.interval.round_outwards(MOST_BITS);
        }
        Ok(value)
    }

    /// A part within another. Whatever formulas it stands in, the stack does not end.
    fn one_deeper(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<Evaluated<'a>, Error> {
        let depth = self.within.get();
        if depth >= MOST_WITHIN {
            let expected = format!("at most {MOST_WITHIN} parts within each other");
            return Err(self.wrong(&TOO_DEEP, part, frame, &expected, "more"));
        }
        self.within.set(depth + 1);
        let value = self.part(part, frame);
        self.within.set(depth);
        value
    }

    fn part(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<Evaluated<'a>, Error> {
        match &part.kind {
            ExpressionKind::Number(text) => self.literal(text, part, frame),
            ExpressionKind::Text(text) => Ok(Evaluated::Text(EvidenceWords::without_place(text))),
            ExpressionKind::Name(name) => self.name(name, part, frame),
            ExpressionKind::Field(of, key) => {
                let of = self.evaluate(of, frame)?;
                self.field(of, key, part, frame)
            }
            ExpressionKind::At(of, step) => {
                let step = self.whole(step, frame)?;
                match self.evaluate(of, frame)? {
                    Evaluated::Reference(reference) => {
                        Ok(Evaluated::Reference(EvidencePath { step: Some(step), ..reference }))
                    }
                    other => {
                        let expected = "a quantity of a run";
                        Err(self.wrong(&WRONG_KIND, part, frame, expected, other.word()))
                    }
                }
            }
            ExpressionKind::List(items) => {
                let items = items.iter().map(|item| self.evaluate(item, frame));
                items.collect::<Result<_, _>>().map(Evaluated::List)
            }
            ExpressionKind::Negative(of) => arithmetic::negative(self, of, frame),
            ExpressionKind::Not(of) => {
                let judged = self.judgement(of, frame)?;
                Ok(Evaluated::Judgement(Box::new(order::opposite(judged))))
            }
            ExpressionKind::Arithmetic(operator, left, right) => {
                arithmetic::join(self, *operator, (left, right), part, frame)
            }
            ExpressionKind::Relation(first, rest) => order::relation(self, first, rest, frame)
                .map(|outcome| Evaluated::Judgement(Box::new(outcome))),
            ExpressionKind::Call(name, arguments) => self.call(name, arguments, part, frame),
        }
    }

    fn literal(
        &self,
        text: &str,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        let printed = Printed::parse(text).map_err(|error| {
            self.wrong(&WRONG_KIND, part, frame, "a number", &error.to_string())
        })?;
        Ok(Evaluated::Number(Quantity::stated(&printed, LeafKind::Literal)))
    }

    /// What has this name: a variable, a piece of evidence, a formula, or the beginning of names.
    fn name(
        &self,
        name: &str,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        if let Some(value) = frame.variables.get(name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.named(name)? {
            return Ok(value);
        }
        if let Some(formula) = self.context.page.formulas.get(name) {
            if formula.parameters.is_empty() {
                return self.formula(&formula.body, &Variables::new(), part, frame);
            }
            let expected = format!("`{name}({})`", formula.parameters.join(", "));
            return Err(self.wrong(&WRONG_ARGUMENTS, part, frame, &expected, "its name alone"));
        }
        if TRUTHS.contains(&name) {
            return Ok(Evaluated::Text(EvidenceWords::without_place(name)));
        }
        let known =
            self.context.page.names.keys().map(|known| known.split('.').next().unwrap_or(known));
        let known = known.chain(self.context.page.formulas.keys().map(String::as_str));
        let known = known.chain(frame.variables.keys().map(String::as_str));
        let known: BTreeSet<&str> = known.collect();
        // `a-b` was perhaps meant as a difference.
        let is_known = |part: &str| known.contains(part);
        let is_difference = name.contains('-')
            && match did_you_mean(name, known.iter().copied()) {
                Some(_) => name.split('-').all(is_known),
                None => name.split('-').any(is_known),
            };
        let error = self.unknown(&UNKNOWN_NAME, part, frame, name, known);
        let help = "a minus between two names needs a space on both sides";
        Err(if is_difference { error.help(help) } else { error })
    }

    /// The error of a name that nothing has: what was perhaps meant, else what there is.
    fn unknown<'k>(
        &self,
        code: &'static Code,
        part: &Expression,
        frame: Frame<'_, 'a>,
        name: &str,
        known: impl IntoIterator<Item = &'k str> + Clone,
    ) -> Error {
        let found = format!("`{name}`");
        self.context.work.takes(2 * known.clone().into_iter().count());
        match did_you_mean(name, known.clone()) {
            Some(hint) => self.wrong(code, part, frame, "a name that is known", &found).help(hint),
            None => {
                let known: Vec<_> = known.into_iter().map(|known| format!("`{known}`")).collect();
                let expected = match known.is_empty() {
                    true => "a name of `[names]` or `[formulas]`, and there is none".to_owned(),
                    false => format!("one of {}", known.join(", ")),
                };
                self.wrong(code, part, frame, &expected, &found)
            }
        }
    }

    /// The evidence of a whole name, or the names that begin with it.
    fn named(&self, name: &str) -> Result<Option<Evaluated<'a>>, Error> {
        if let Some((locator, place)) = self.context.page.names.get(name) {
            self.context.usable(name)?;
            return reference::open(self, locator, place).map(Evaluated::Reference).map(Some);
        }
        let longer = format!("{name}.");
        let begins = self.context.page.names.keys().any(|known| known.starts_with(&longer));
        Ok(begins.then(|| Evaluated::Names(name.to_owned())))
    }

    fn field(
        &self,
        of: Evaluated<'a>,
        key: &str,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        match of {
            Evaluated::Names(before) => {
                let name = format!("{before}.{key}");
                self.named(&name)?.ok_or_else(|| {
                    let longer = format!("{before}.");
                    let known =
                        self.context.page.names.keys().filter(|known| known.starts_with(&longer));
                    let known: Vec<&str> = known.map(String::as_str).collect();
                    self.unknown(&UNKNOWN_NAME, part, frame, &name, known)
                })
            }
            Evaluated::Reference(mut reference) => {
                reference.path.push(key.to_owned());
                Ok(Evaluated::Reference(reference))
            }
            other => {
                Err(self.wrong(&WRONG_KIND, part, frame, "evidence with fields", other.word()))
            }
        }
    }

    fn call(
        &self,
        name: &str,
        arguments: &[Argument],
        whole: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        if let Some(formula) = self.context.page.formulas.get(name) {
            let variables = self.given(name, formula, arguments, whole, frame)?;
            return self.formula(&formula.body, &variables, whole, frame);
        }
        let Some(function) = functions::find(name) else {
            let mut known: Vec<&str> = functions::all().map(|function| function.name).collect();
            known.extend(self.context.page.formulas.keys().map(String::as_str));
            return Err(self.unknown(&UNKNOWN_FUNCTION, whole, frame, name, known));
        };
        self.context.work.takes(CALLING);
        let call = Call { evaluator: self, frame, whole, name: function.name, arguments };
        let value =
            call.check(&function.takes, function.options).and_then(|()| (function.evaluate)(&call));
        value.map_err(|error| {
            // What is wrong inside an argument has a help of its own.
            let is_plain = error.code == &WRONG_ARGUMENTS && error.help == WRONG_ARGUMENTS.help;
            let help =
                || format!("write `{}`; see `repro explain {name}`", function.texts().signature);
            if is_plain { error.help(help()) } else { error }
        })
    }

    /// What the parameters of a formula are in a call.
    fn given(
        &self,
        name: &str,
        formula: &PostFormula,
        arguments: &[Argument],
        whole: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Variables<'a>, Error> {
        if arguments.len() != formula.parameters.len()
            || arguments.iter().any(|argument| argument.name.is_some())
        {
            let expected = format!("`{name}({})`", formula.parameters.join(", "));
            let found = format!("{} values", arguments.len());
            return Err(self.wrong(&WRONG_ARGUMENTS, whole, frame, &expected, &found));
        }
        let pairs = formula.parameters.iter().zip(arguments);
        let each = pairs.map(|(parameter, argument)| {
            Ok((parameter.clone(), self.evaluate(&argument.value, frame)?))
        });
        each.collect()
    }

    /// The value of a formula of the post; errors inside it stand where it is written.
    fn formula(
        &self,
        body: &PlacedExpression,
        variables: &Variables<'a>,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        let inside = Frame { source: body, variables };
        self.nested(part, frame, || self.evaluate(&body.tree, inside))
    }

    /// One formula deeper.
    fn nested<T>(
        &self,
        part: &Expression,
        frame: Frame<'_, 'a>,
        found: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth.get() >= DEEPEST {
            let found = "more than 32 formulas within each other";
            return Err(self.wrong(&TOO_DEEP, part, frame, "an end", found));
        }
        self.depth.set(self.depth.get() + 1);
        let value = found();
        self.depth.set(self.depth.get() - 1);
        value
    }

    /// What `found` makes of the formula of the post that a part names or calls; none where it is none.
    pub fn in_formula<T>(
        &self,
        part: &Expression,
        frame: Frame<'_, 'a>,
        found: impl FnOnce(Frame<'_, 'a>, &Expression) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let (name, arguments) = match &part.kind {
            ExpressionKind::Name(name) if !frame.variables.contains_key(name) => (name, &[][..]),
            ExpressionKind::Call(name, arguments) => (name, &arguments[..]),
            _ => return None,
        };
        let formula = self.context.page.formulas.get(name)?;
        let value = self.given(name, formula, arguments, part, frame).and_then(|variables| {
            let inside = Frame { source: &formula.body, variables: &variables };
            self.nested(part, frame, || found(inside, &formula.body.tree))
        });
        Some(value)
    }

    /// A value as one number.
    pub fn number(
        &self,
        value: Evaluated<'a>,
        frame: Frame<'_, 'a>,
        part: &Expression,
    ) -> Result<Quantity, Error> {
        let value = self.settled(value, frame, part)?;
        match value {
            Evaluated::Number(number) => Ok(number),
            Evaluated::Sample(sample) => {
                let found = format!(
                    "a group of {}, one number for each: take `mean(...)` or another summary",
                    sample.count()
                );
                let error = self.wrong(&WRONG_KIND, part, frame, "one number", &found);
                Err(error.help("`mean(...)`, `sd(...)`, `min(...)` and others make one of several"))
            }
            Evaluated::Text(words) => {
                let found = format!("the words \"{}\"", words.text);
                let error = self.wrong(&WRONG_KIND, part, frame, "one number", &found);
                Err(error.help(
                    "words are compared with words by `=` and `!=`: `run.config.dtype = 'float32'`",
                ))
            }
            other => Err(self.wrong(&WRONG_KIND, part, frame, "one number", other.word())),
        }
    }

    /// A value with every reference followed to what stands there.
    pub fn settled(
        &self,
        value: Evaluated<'a>,
        frame: Frame<'_, 'a>,
        part: &Expression,
    ) -> Result<Evaluated<'a>, Error> {
        match value {
            Evaluated::Reference(reference) => reference::read(self, &reference, part, frame),
            Evaluated::List(items) => {
                let items = items.into_iter().map(|item| self.settled(item, frame, part));
                items.collect::<Result<_, _>>().map(Evaluated::List)
            }
            other => Ok(other),
        }
    }

    /// What a part gives, every reference followed to what stands there.
    pub fn evaluate_settled(
        &self,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Evaluated<'a>, Error> {
        self.settled(self.evaluate(part, frame)?, frame, part)
    }

    /// The one number that a part gives.
    pub fn evaluate_number(
        &self,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<Quantity, Error> {
        self.number(self.evaluate(part, frame)?, frame, part)
    }

    /// Several numbers: of a list, or of the runs of a group.
    pub fn numbers(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<RunSample, Error> {
        match self.evaluate_settled(part, frame)? {
            Evaluated::Sample(sample) => Ok(sample),
            Evaluated::Number(number) => {
                Ok(RunSample { runs: vec![String::new()], numbers: vec![number] })
            }
            Evaluated::List(items) => {
                let labels = match &part.kind {
                    ExpressionKind::List(parts) => parts.iter().map(ToString::to_string).collect(),
                    _ => vec![String::new(); items.len()],
                };
                let numbers = items.into_iter().map(|item| self.number(item, frame, part));
                Ok(RunSample { runs: labels, numbers: numbers.collect::<Result<_, _>>()? })
            }
            other => Err(self.wrong(&WRONG_KIND, part, frame, "numbers", other.word())),
        }
    }

    /// Several groups of runs, one by one.
    pub fn groups(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<Vec<RunSample>, Error> {
        let Evaluated::List(items) = self.evaluate_settled(part, frame)? else {
            let found = format!("`{part}`");
            return Err(self.wrong(&WRONG_KIND, part, frame, "a list of groups of runs", &found));
        };
        let group = |item| match item {
            Evaluated::Sample(group) => Ok(group),
            other => Err(self.wrong(&WRONG_KIND, part, frame, "groups of runs", other.word())),
        };
        items.into_iter().map(group).collect()
    }

    /// A part that is a relation.
    pub fn judgement(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<Outcome, Error> {
        match self.evaluate(part, frame)? {
            Evaluated::Judgement(outcome) => Ok(*outcome),
            Evaluated::Reference(reference) => {
                let value = reference::read(self, &reference, part, frame)?;
                order::truth(&value).ok_or_else(|| self.no_relation(part, frame, value.word()))
            }
            other => Err(self.no_relation(part, frame, other.word())),
        }
    }

    fn no_relation(&self, part: &Expression, frame: Frame<'_, 'a>, found: &str) -> Error {
        let expected = "a relation: `a < b`, `a = b`, or a field that is `true` or `false`";
        let error = self.wrong(&WRONG_KIND, part, frame, expected, found);
        error.help("what a number of the quote is stands in `is`; what the words say in `says`")
    }

    /// A part that is a whole number from zero up.
    fn whole(&self, part: &Expression, frame: Frame<'_, 'a>) -> Result<u64, Error> {
        let number = self.evaluate_number(part, frame)?;
        number.count().ok_or_else(|| {
            self.wrong(&WRONG_KIND, part, frame, "a whole number", &number.derivation)
        })
    }

    /// A file of a bundle; an error stands at the part that asks for it.
    fn document(
        &self,
        bundle: &Bundle,
        file: &str,
        part: &Expression,
        frame: Frame<'_, 'a>,
    ) -> Result<&'a Document, Error> {
        let page = self.page().document();
        let document = self.library().document(bundle.name(), file, page.root());
        document.map_err(|error| error.moved(frame.source.place_of(part, page)))
    }

    /// An error at a part of an expression.
    pub fn wrong(
        &self,
        code: &'static Code,
        part: &Expression,
        frame: Frame<'_, 'a>,
        expected: &str,
        found: &str,
    ) -> Error {
        code.at(frame.source.place_of(part, self.context.page.document()), expected, found)
    }
}
