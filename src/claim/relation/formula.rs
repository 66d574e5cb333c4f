//! Formulas of relations: expressions of the language of claims with numbered names.
//!
//! A log may have a million lines, so names are resolved once, and each row is plain arithmetic.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::Expression;
use crate::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

use crate::relation::number::{OfOne, RelationNumber};

/// The value of a part of a formula in one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Term<'a, Q: RelationNumber> {
    Number(Q),
    Text(Cow<'a, str>),
    Truth(bool),
    List(Cow<'a, [Q]>),
}

impl<Q: RelationNumber> Term<'_, Q> {
    /// A borrowed copy.
    pub fn borrowed(&self) -> Term<'_, Q> {
        match self {
            Self::Number(number) => Term::Number(*number),
            Self::Text(text) => Term::Text(Cow::Borrowed(text)),
            Self::Truth(truth) => Term::Truth(*truth),
            Self::List(numbers) => Term::List(Cow::Borrowed(numbers)),
        }
    }
}

/// A part of a formula with numbered names.
#[derive(Debug)]
enum Part {
    Number(f64),
    Text(String),
    Truth(bool),
    /// The value of the name with this number.
    Named(usize),
    Empty,
    Negative(Box<Part>),
    Arithmetic(ArithmeticOperator, Box<Part>, Box<Part>),
    Call(Builtin, Vec<Part>),
}

/// The functions that a formula may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builtin {
    Sum,
    Count,
    Min,
    Max,
    One(OfOne),
    Mean,
    /// The sample standard deviation of a list.
    Sd,
    /// The items of the first list that are not in the second.
    Missing,
    /// The number of one bits in a hexadecimal text, among all bits or the first n.
    Ones,
    /// The population standard deviation of a list divided by its mean.
    Cv,
    /// The entropy of the normalized counts, in nats.
    Entropy,
    /// The number of zeros in a list.
    Zeros,
    /// Texts and numbers, one after the other.
    Join,
    /// 1 for a name without a value, else 0.
    Absent,
    /// The number of arguments with a value.
    Given,
    /// The number of arguments that are numbers.
    Numbers,
    /// The characters of a text.
    Length,
    /// The first n characters of a text.
    Start,
}

const BUILTINS: &[(&str, Builtin)] = &[
    ("sum", Builtin::Sum),
    ("count", Builtin::Count),
    ("ceil", Builtin::One(OfOne::Ceil)),
    ("floor", Builtin::One(OfOne::Floor)),
    ("round", Builtin::One(OfOne::Round)),
    ("sqrt", Builtin::One(OfOne::Sqrt)),
    ("min", Builtin::Min),
    ("max", Builtin::Max),
    ("abs", Builtin::One(OfOne::Abs)),
    ("ln", Builtin::One(OfOne::Ln)),
    ("exp", Builtin::One(OfOne::Exp)),
    ("cos", Builtin::One(OfOne::Cos)),
    ("mean", Builtin::Mean),
    ("sd", Builtin::Sd),
    ("missing", Builtin::Missing),
    ("ones", Builtin::Ones),
    ("cv", Builtin::Cv),
    ("entropy", Builtin::Entropy),
    ("zeros", Builtin::Zeros),
    ("join", Builtin::Join),
    ("absent", Builtin::Absent),
    ("given", Builtin::Given),
    ("numbers", Builtin::Numbers),
    ("length", Builtin::Length),
    ("start", Builtin::Start),
];

/// A parsed relation with numbered names.
#[derive(Debug)]
pub struct Formula {
    first: Part,
    rest: Vec<(RelationOperator, Part)>,
    /// The numbers of its names.
    pub names: Vec<usize>,
}

/// The value of the name with a number; none if it is missing.
pub trait Named<'t, Q: RelationNumber>: Fn(usize) -> Option<Term<'t, Q>> {}

impl<'t, Q: RelationNumber, F: Fn(usize) -> Option<Term<'t, Q>>> Named<'t, Q> for F {}

impl Formula {
    /// Parses a relation. It may call the one-argument formulas in `known`, and its names are appended to `names`. None if
    /// the text is not a relation.
    pub fn read(text: &str, known: &[(&str, &str)], names: &mut Vec<String>) -> Option<Self> {
        let tree = Expression::parse(text).ok()?;
        let ExpressionKind::Relation(first, rest) = &tree.kind else { return None };
        let mut reader = FormulaReader { names, own: Vec::new(), known, arguments: Vec::new() };
        let first = reader.part(first)?;
        let rest = rest.iter().map(|(operator, part)| Some((*operator, reader.part(part)?)));
        let rest = rest.collect::<Option<_>>()?;
        Some(Self { first, rest, names: reader.own })
    }

    /// Whether it is about presence, so a missing name is an answer.
    pub fn asks_for_presence(&self) -> bool {
        fn asks(part: &Part) -> bool {
            match part {
                Part::Number(_) | Part::Text(_) | Part::Truth(_) | Part::Named(_) | Part::Empty => {
                    false
                }
                Part::Negative(part) => asks(part),
                Part::Arithmetic(_, a, b) => asks(a) || asks(b),
                Part::Call(builtin, parts) => {
                    matches!(builtin, Builtin::Absent | Builtin::Given | Builtin::Numbers)
                        || parts.iter().any(asks)
                }
            }
        }
        asks(&self.first) || self.rest.iter().any(|(_, part)| asks(part))
    }

    /// Whether it holds if the names have the values `terms`; none if a value is missing or undefined.
    pub fn holds<'t, Q: RelationNumber>(&'t self, terms: &impl Named<'t, Q>) -> Option<bool> {
        let mut left = value(&self.first, terms)?;
        for (operator, part) in &self.rest {
            let right = value(part, terms)?;
            if !related(&left, *operator, &right)? {
                return Some(false);
            }
            left = right;
        }
        Some(true)
    }

    /// Whether it computes with single numbers only, if all its names do.
    pub fn is_scalar(&self) -> bool {
        self.first.is_scalar() && self.rest.iter().all(|(_, part)| part.is_scalar())
    }

    /// Like [`Formula::holds`] for a scalar relation whose names have the values `numbers`, NaN for missing ones. A log has
    /// many lines, and most checks are of this kind.
    pub fn holds_of<Q: RelationNumber>(&self, numbers: &impl Fn(usize) -> Q) -> Option<bool> {
        let mut left = self.first.scalar(numbers);
        for (operator, part) in &self.rest {
            let right = part.scalar(numbers);
            if !left.is_defined() || !right.is_defined() {
                return None;
            }
            if !left.related(*operator, right)? {
                return Some(false);
            }
            left = right;
        }
        Some(true)
    }

    /// The number of the name on its first side, if that side is a plain name.
    pub fn first_name(&self) -> Option<usize> {
        match self.first {
            Part::Named(at) => Some(at),
            _ => None,
        }
    }

    /// The number of the name on its second and last side, if that side is a plain name.
    pub fn second_name(&self) -> Option<usize> {
        match self.rest.as_slice() {
            [(_, Part::Named(at))] => Some(*at),
            _ => None,
        }
    }

    /// The sign between its first two sides.
    pub fn operator(&self) -> &'static str {
        self.rest.first().map_or("", |(operator, _)| operator.sign())
    }

    /// Both sides as text, if they are numbers or texts.
    pub fn sides<'t, Q: RelationNumber>(&'t self, terms: &impl Named<'t, Q>) -> Vec<String> {
        let all = std::iter::once(&self.first).chain(self.rest.iter().map(|(_, part)| part));
        all.filter_map(|part| value(part, terms)).map(|term| term.to_string()).collect()
    }
}

impl<Q: RelationNumber> std::fmt::Display for Term<'_, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The number of list items that are printed.
        const TOLD: usize = 4;
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "`{}`", text.chars().take(80).collect::<String>()),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::List(numbers) if numbers.is_empty() => f.write_str("none"),
            Self::List(numbers) => {
                let told: Vec<_> = numbers.iter().take(TOLD).map(Q::to_string).collect();
                f.write_str(&told.join(", "))?;
                match numbers.len().checked_sub(TOLD) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(f, " and {more} more"),
                }
            }
        }
    }
}

/// Parses a tree once: names get numbers, and calls of formulas are expanded.
struct FormulaReader<'k> {
    names: &'k mut Vec<String>,
    /// The numbers of the names in this formula.
    own: Vec<usize>,
    known: &'k [(&'k str, &'k str)],
    /// The arguments `it` of the formulas that are being expanded.
    arguments: Vec<Expression>,
}

impl FormulaReader<'_> {
    fn part(&mut self, tree: &Expression) -> Option<Part> {
        Some(match &tree.kind {
            ExpressionKind::Number(text) => Part::Number(text.parse().ok()?),
            ExpressionKind::Text(text) => Part::Text(text.clone()),
            ExpressionKind::Name(name) => match name.as_str() {
                "true" => Part::Truth(true),
                "false" => Part::Truth(false),
                "pi" => Part::Number(std::f64::consts::PI),
                "it" if !self.arguments.is_empty() => {
                    let own = self.arguments.pop()?;
                    let part = self.part(&own);
                    self.arguments.push(own);
                    part?
                }
                _ => self.named(name.clone()),
            },
            ExpressionKind::Field(..) => self.named(path(tree)?),
            ExpressionKind::List(items) if items.is_empty() => Part::Empty,
            ExpressionKind::Negative(of) => Part::Negative(Box::new(self.part(of)?)),
            ExpressionKind::Arithmetic(operator, a, b) => {
                Part::Arithmetic(*operator, Box::new(self.part(a)?), Box::new(self.part(b)?))
            }
            ExpressionKind::Call(name, arguments) => {
                if let Some((_, body)) = self.known.iter().find(|(known, _)| known == name) {
                    let body = Expression::parse(body).ok()?;
                    self.arguments.push(arguments.first()?.value.clone());
                    let part = self.part(&body);
                    self.arguments.pop();
                    return part;
                }
                let (_, builtin) = BUILTINS.iter().find(|(known, _)| known == name)?;
                let parts = arguments.iter().map(|argument| self.part(&argument.value));
                Part::Call(*builtin, parts.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn named(&mut self, name: String) -> Part {
        let at = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        if !self.own.contains(&at) {
            self.own.push(at);
        }
        Part::Named(at)
    }
}

/// A name and its fields, joined by dots.
fn path(tree: &Expression) -> Option<String> {
    match &tree.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Field(of, field) => Some(format!("{}.{field}", path(of)?)),
        _ => None,
    }
}

fn value<'t, Q: RelationNumber>(part: &'t Part, terms: &impl Named<'t, Q>) -> Option<Term<'t, Q>> {
    Some(match part {
        Part::Number(number) => Term::Number(Q::of(*number)),
        Part::Text(text) => Term::Text(Cow::Borrowed(text)),
        Part::Truth(truth) => Term::Truth(*truth),
        Part::Named(at) => terms(*at)?,
        Part::Empty => Term::List(Cow::Borrowed(&[])),
        Part::Negative(of) => each(value(of, terms)?, negative)?,
        Part::Arithmetic(operator, a, b) => joined(value(a, terms)?, *operator, value(b, terms)?)?,
        Part::Call(builtin, arguments) => called(*builtin, arguments, terms)?,
    })
}

impl Part {
    fn is_scalar(&self) -> bool {
        match self {
            Self::Number(_) | Self::Named(_) => true,
            Self::Negative(of) => of.is_scalar(),
            Self::Arithmetic(_, a, b) => a.is_scalar() && b.is_scalar(),
            Self::Call(builtin, arguments) => {
                builtin.is_of_scalars() && arguments.iter().all(Self::is_scalar)
            }
            Self::Text(_) | Self::Truth(_) | Self::Empty => false,
        }
    }

    /// The number of a scalar part; undefined if it has no value.
    fn scalar<Q: RelationNumber>(&self, numbers: &impl Fn(usize) -> Q) -> Q {
        let undefined = || Q::of(f64::NAN);
        match self {
            Self::Number(number) => Q::of(*number),
            Self::Named(at) => numbers(*at),
            Self::Negative(of) => negative(of.scalar(numbers)),
            Self::Arithmetic(operator, a, b) => {
                a.scalar(numbers).operate(*operator, b.scalar(numbers))
            }
            Self::Call(builtin, arguments) => {
                let mut scalars = arguments.iter().map(|part| part.scalar(numbers));
                let Some(first) = scalars.next() else { return undefined() };
                match builtin {
                    Builtin::One(function) => first.apply(*function),
                    Builtin::Min => scalars.fold(first, Q::least),
                    Builtin::Max => scalars.fold(first, Q::greatest),
                    _ => undefined(),
                }
            }
            Self::Text(_) | Self::Truth(_) | Self::Empty => undefined(),
        }
    }
}

impl Builtin {
    /// Whether its value is a single number for single numbers.
    fn is_of_scalars(self) -> bool {
        matches!(self, Self::One(_) | Self::Min | Self::Max)
    }
}

fn negative<Q: RelationNumber>(number: Q) -> Q {
    Q::of(0.0).operate(ArithmeticOperator::Subtract, number)
}

/// Applies a function to a number, or to each number of a list; undefined if it is undefined for one.
fn each<'t, Q: RelationNumber>(term: Term<'t, Q>, of: impl Fn(Q) -> Q) -> Option<Term<'t, Q>> {
    match term {
        Term::Number(number) => {
            Some(of(number)).filter(|number| number.is_defined()).map(Term::Number)
        }
        Term::List(numbers) => {
            let numbers: Vec<Q> = numbers.iter().copied().map(of).collect();
            let is_defined = numbers.iter().all(|number| number.is_defined());
            is_defined.then_some(Term::List(Cow::Owned(numbers)))
        }
        Term::Text(_) | Term::Truth(_) => None,
    }
}

fn joined<'t, Q: RelationNumber>(
    a: Term<'t, Q>,
    operator: ArithmeticOperator,
    b: Term<'t, Q>,
) -> Option<Term<'t, Q>> {
    let join = |a: Q, b: Q| a.operate(operator, b);
    match (a, b) {
        (Term::List(a), Term::List(b)) => {
            let numbers = || std::iter::zip(&*a, &*b).map(|(a, b)| join(*a, *b)).collect();
            (a.len() == b.len()).then(numbers).and_then(|all| each(Term::List(all), |x| x))
        }
        (Term::Number(a), b) => each(b, |b| join(a, b)),
        (a, Term::Number(b)) => each(a, |a| join(a, b)),
        _ => None,
    }
}

fn listed<'l, Q: RelationNumber>(term: &'l Term<'_, Q>) -> Option<&'l [Q]> {
    match term {
        Term::List(numbers) => Some(numbers),
        _ => None,
    }
}

fn number_of<Q: RelationNumber>(term: &Term<'_, Q>) -> Option<f64> {
    match term {
        Term::Number(number) => Some(number.middle()),
        _ => None,
    }
}

fn text_of<'l, Q: RelationNumber>(term: &'l Term<'_, Q>) -> Option<&'l str> {
    match term {
        Term::Text(text) => Some(text),
        _ => None,
    }
}

fn called<'t, Q: RelationNumber>(
    builtin: Builtin,
    arguments: &'t [Part],
    terms: &impl Named<'t, Q>,
) -> Option<Term<'t, Q>> {
    let nth = |at: usize| value(arguments.get(at)?, terms);
    let counted = |fits: fn(&Term<'_, Q>) -> bool| {
        let terms = arguments.iter().filter_map(|part| value(part, terms));
        number(Q::of(terms.filter(fits).count() as f64))
    };
    let all = || -> Option<Vec<Q>> {
        let mut numbers = Vec::new();
        for part in arguments {
            match value(part, terms)? {
                Term::Number(number) => numbers.push(number),
                Term::List(list) => numbers.extend(list.iter()),
                Term::Text(_) | Term::Truth(_) => return None,
            }
        }
        Some(numbers)
    };
    match builtin {
        Builtin::Absent => number(Q::of(f64::from(u8::from(nth(0).is_none())))),
        Builtin::Given => counted(|_| true),
        Builtin::Numbers => counted(|term| matches!(term, Term::Number(_))),
        Builtin::Length => number(Q::of(text_of(&nth(0)?)?.chars().count() as f64)),
        Builtin::Start => {
            let (text, count) = (nth(0)?, number_of(&nth(1)?)?);
            let start = text_of(&text)?.chars().take(count as usize).collect();
            Some(Term::Text(Cow::Owned(start)))
        }
        Builtin::Sum => number(sum(&all()?)),
        Builtin::Mean => number(mean(&all()?)),
        Builtin::Sd => number(deviation(&all()?, 1.0)),
        Builtin::Count => number(Q::of(all()?.len() as f64)),
        Builtin::Min => all()?.into_iter().reduce(Q::least).map(Term::Number),
        Builtin::Max => all()?.into_iter().reduce(Q::greatest).map(Term::Number),
        Builtin::One(function) => each(nth(0)?, |number| number.apply(function)),
        Builtin::Missing => missing(listed(&nth(0)?)?, listed(&nth(1)?)?),
        Builtin::Ones if arguments.len() > 1 => ones(text_of(&nth(0)?)?, number_of(&nth(1)?)?),
        Builtin::Ones => ones(text_of(&nth(0)?)?, f64::INFINITY),
        Builtin::Cv => {
            let list = nth(0)?;
            let list = listed(&list)?;
            number(deviation(list, 0.0).operate(ArithmeticOperator::Divide, mean(list)))
        }
        Builtin::Entropy => number(entropy(listed(&nth(0)?)?)),
        Builtin::Zeros => {
            let zeros = listed(&nth(0)?)?.iter().filter(|number| number.middle() == 0.0).count();
            number(Q::of(zeros as f64))
        }
        Builtin::Join => {
            let mut joined = String::new();
            for part in arguments {
                match value(part, terms)? {
                    Term::Text(text) => joined.push_str(&text),
                    Term::Number(number) => joined.push_str(&number.to_string()),
                    Term::Truth(_) | Term::List(_) => return None,
                }
            }
            Some(Term::Text(Cow::Owned(joined)))
        }
    }
}

/// A number as a term; none if it is undefined.
fn number<'t, Q: RelationNumber>(number: Q) -> Option<Term<'t, Q>> {
    number.is_defined().then_some(Term::Number(number))
}

/// The items of one list that are missing in the other.
fn missing<'t, Q: RelationNumber>(wanted: &[Q], held: &[Q]) -> Option<Term<'t, Q>> {
    let held: HashSet<u64> = held.iter().map(|number| number.middle().to_bits()).collect();
    let lacks = |one: &Q| !held.contains(&one.middle().to_bits());
    Some(Term::List(wanted.iter().copied().filter(lacks).collect()))
}

/// The number of one bits among the first n bits of a hexadecimal text.
fn ones<'t, Q: RelationNumber>(digits: &str, among: f64) -> Option<Term<'t, Q>> {
    let of_digit = |(at, digit): (usize, char)| {
        let digit = digit.to_digit(16)?;
        let is_one =
            |bit: &u32| digit & (8 >> bit) != 0 && ((4 * at) as f64 + f64::from(*bit)) < among;
        Some((0..4_u32).filter(is_one).count() as f64)
    };
    let sum: Option<f64> = digits.chars().enumerate().map(of_digit).sum();
    number(Q::of(sum?))
}

fn sum<Q: RelationNumber>(numbers: &[Q]) -> Q {
    numbers.iter().fold(Q::of(0.0), |sum, x| sum.operate(ArithmeticOperator::Add, *x))
}

/// Undefined for an empty list.
fn mean<Q: RelationNumber>(numbers: &[Q]) -> Q {
    sum(numbers).operate(ArithmeticOperator::Divide, Q::of(numbers.len() as f64))
}

/// The standard deviation with the divisor n - `less`.
fn deviation<Q: RelationNumber>(numbers: &[Q], less: f64) -> Q {
    let mean = mean(numbers);
    let square = |x: &Q| {
        x.operate(ArithmeticOperator::Subtract, mean).operate(ArithmeticOperator::Power, Q::of(2.0))
    };
    let squares: Vec<Q> = numbers.iter().map(square).collect();
    let count = Q::of(numbers.len() as f64 - less);
    let variance = sum(&squares).operate(ArithmeticOperator::Divide, count);
    variance.operate(ArithmeticOperator::Power, Q::of(0.5))
}

/// The entropy of the normalized counts, in nats.
fn entropy<Q: RelationNumber>(counts: &[Q]) -> Q {
    let sum_of_all = sum(counts);
    let of = |x: &Q| {
        let share = x.operate(ArithmeticOperator::Divide, sum_of_all);
        share.operate(ArithmeticOperator::Multiply, share.apply(OfOne::Ln))
    };
    let used: Vec<Q> = counts.iter().filter(|x| x.middle() > 0.0).map(of).collect();
    negative(sum(&used))
}

/// Whether a relation holds between two terms; none if they cannot be compared.
fn related<Q: RelationNumber>(
    a: &Term<'_, Q>,
    operator: RelationOperator,
    b: &Term<'_, Q>,
) -> Option<bool> {
    let holds = |(a, b): (Q, Q)| a.related(operator, b);
    match operator {
        RelationOperator::Equal => return equal(a, b),
        RelationOperator::NotEqual => return equal(a, b).map(|equal| !equal),
        _ => {}
    }
    match (a, b) {
        (Term::Number(a), Term::Number(b)) => holds((*a, *b)),
        (Term::List(a), Term::Number(b)) => of_all(a.iter().map(|a| (*a, *b)), holds),
        (Term::Number(a), Term::List(b)) => of_all(b.iter().map(|b| (*a, *b)), holds),
        (Term::List(a), Term::List(b)) if a.len() == b.len() => {
            of_all(std::iter::zip(a.iter().copied(), b.iter().copied()), holds)
        }
        _ => None,
    }
}

/// Whether all of them hold; a single failure decides, even if others are unknown.
fn of_all<T>(items: impl Iterator<Item = T>, holds: impl Fn(T) -> Option<bool>) -> Option<bool> {
    let mut all = Some(true);
    for item in items {
        match holds(item) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

fn equal<Q: RelationNumber>(a: &Term<'_, Q>, b: &Term<'_, Q>) -> Option<bool> {
    let same = |(a, b): (Q, Q)| a.related(RelationOperator::Equal, b);
    match (a, b) {
        (Term::Number(a), Term::Number(b)) => same((*a, *b)),
        (Term::Text(a), Term::Text(b)) => Some(a == b),
        (Term::Truth(a), Term::Truth(b)) => Some(a == b),
        // Seeds are texts in a receipt and numbers in a config.
        (Term::Text(text), Term::Number(number)) | (Term::Number(number), Term::Text(text)) => {
            Some(text.parse().is_ok_and(|text: f64| Q::of(text) == *number))
        }
        (Term::List(a), Term::List(b)) if a.len() == b.len() => {
            of_all(std::iter::zip(a.iter().copied(), b.iter().copied()), same)
        }
        (Term::List(_), Term::List(_)) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, named: &[(&str, Term<'static, f64>)]) -> Option<bool> {
        let mut names = Vec::new();
        let formula = Formula::read(text, &[("twice", "it + it")], &mut names).unwrap();
        let find = |at: usize| {
            named.iter().find(|(known, _)| *known == names[at]).map(|(_, term)| term.borrowed())
        };
        formula.holds(&find)
    }

    #[test]
    fn relations_hold_or_do_not_or_cannot_be_judged() {
        let list = || ("l", Term::List(vec![1.0, 2.5].into()));
        let x = |number: f64| ("x.y", Term::Number(number));
        assert_eq!(holds("x.y = 6 / 4", &[x(1.5)]), Some(true));
        assert_eq!(holds("x.y = 1.5", &[x(1.500_002)]), Some(false));
        assert_eq!(holds("x.y = 1.5", &[x(1.500_000_1)]), Some(true));
        assert_eq!(holds("x.y = 10000000", &[x(10_000_001.0)]), Some(false));
        assert_eq!(holds("x.y = 2 * 10 ^ 29", &[x(2.000_000_03e29)]), Some(true));
        assert_eq!(holds("x.y = 1.5", &[]), None);
        assert_eq!(holds("0 / 0 = x.y", &[x(1.0)]), None);
        assert_eq!(holds("sum(l) = 3.5", &[list()]), Some(true));
        assert_eq!(holds("count(l) = max(1, 2)", &[list()]), Some(true));
        assert_eq!(holds("l * 2 >= 2", &[list()]), Some(true));
        assert_eq!(holds("l > 1", &[list()]), Some(false));
        assert_eq!(holds("missing(l, l) = []", &[list()]), Some(true));
        assert_eq!(holds("1 < x.y < 2", &[x(2.0)]), Some(false));
        assert_eq!(holds("twice(x.y) = 3", &[x(1.5)]), Some(true));
        assert_eq!(holds("ones(t, 7) = 5", &[("t", Term::Text("3f".into()))]), Some(true));
        assert_eq!(holds("ones(t) = 6", &[("t", Term::Text("3f".into()))]), Some(true));
        assert_eq!(holds("t = 17", &[("t", Term::Text("17".into()))]), Some(true));
        assert_eq!(holds("ceil(x.y) = 3", &[x(3.000_000_000_1)]), Some(true));
        assert_eq!(holds("round(x.y) = sqrt(9)", &[x(2.6)]), Some(true));
        assert_eq!(holds("sqrt(x.y) = 0", &[x(-1.0)]), None);
        assert_eq!(holds("absent(x.y) = 1", &[]), Some(true));
        assert_eq!(holds("given(x.y, l, 'a') = 2", &[x(2.0)]), Some(true));
        assert_eq!(holds("numbers(x.y, l, 'a', sum(l)) = 2", &[x(2.0), list()]), Some(true));
        assert_eq!(holds("length(t) = 2", &[("t", Term::Text("3f".into()))]), Some(true));
        assert_eq!(holds("absent(x.y) = 1", &[x(2.0)]), Some(false));
        assert_eq!(holds("cv(l) = 0.75 / 1.75", &[list()]), Some(true));
        assert_eq!(holds("entropy(l / l) = ln(2)", &[list()]), Some(true));
        assert!(Formula::read("x + 1", &[], &mut Vec::new()).is_none());
        assert!(Formula::read("nobody(x) = 1", &[], &mut Vec::new()).is_none());
    }
}
