//! Formulas of relations: expressions of the language of claims over the numbers of one bundle, in floats.
//!
//! A log may have a million lines, so that names are found once and a row is then some arithmetic. Agreement is wide enough for
//! numbers that a trainer rounded to float32; whole numbers agree only with themselves.

use std::borrow::Cow;
use std::collections::HashSet;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

/// By so much of the larger one two numbers may differ: some roundings to float32.
pub const NEARLY: f64 = 1e-6;
/// Below this no number is told from zero.
const NOTHING: f64 = 1e-12;

/// What a part of a formula is in one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Term<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Truth(bool),
    List(Cow<'a, [f64]>),
}

impl Term<'_> {
    /// The same, without a copy.
    pub fn borrowed(&self) -> Term<'_> {
        match self {
            Self::Number(number) => Term::Number(*number),
            Self::Text(text) => Term::Text(Cow::Borrowed(text)),
            Self::Truth(truth) => Term::Truth(*truth),
            Self::List(numbers) => Term::List(Cow::Borrowed(numbers)),
        }
    }
}

/// A formula whose names are numbered.
#[derive(Debug)]
enum Part {
    Number(f64),
    Text(String),
    Truth(bool),
    /// What the name with this number stands for.
    Named(usize),
    Empty,
    Negative(Box<Part>),
    Arithmetic(ArithmeticOperator, Box<Part>, Box<Part>),
    Call(Builtin, Vec<Part>),
}

/// What a formula may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builtin {
    Sum,
    Count,
    Ceil,
    Floor,
    Min,
    Max,
    Abs,
    Ln,
    Cos,
    /// What of the first list the second lacks.
    Missing,
    /// The bits of a hexadecimal text that are one, among all or among the first so many.
    Ones,
    /// The standard deviation of all numbers of a list by their mean.
    Cv,
    /// The entropy of the shares of counts, in nats.
    Entropy,
    /// How many numbers of a list are 0.
    Zeros,
    /// Texts and numbers, one after the other.
    Join,
    /// 1 where a name stands for nothing, else 0.
    Absent,
    /// How many of its arguments stand for something.
    Given,
    /// How many of its arguments are numbers.
    Numbers,
    /// The characters of a text.
    Length,
}

const BUILTINS: &[(&str, Builtin)] = &[
    ("sum", Builtin::Sum),
    ("count", Builtin::Count),
    ("ceil", Builtin::Ceil),
    ("floor", Builtin::Floor),
    ("min", Builtin::Min),
    ("max", Builtin::Max),
    ("abs", Builtin::Abs),
    ("ln", Builtin::Ln),
    ("cos", Builtin::Cos),
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
];

/// A relation that is read; the names in it are numbered.
#[derive(Debug)]
pub struct Formula {
    first: Part,
    rest: Vec<(RelationOperator, Part)>,
    /// The numbers of its names.
    pub names: Vec<usize>,
}

/// What a name with a number stands for; nothing where it is missing.
pub trait Named<'t>: Fn(usize) -> Option<Term<'t>> {}

impl<'t, F: Fn(usize) -> Option<Term<'t>>> Named<'t> for F {}

impl Formula {
    /// Reads a relation; `known` are formulas with one argument that it may call, and its names get their numbers in
    /// `names`. None where it is no relation.
    pub fn read(text: &str, known: &[(&str, &str)], names: &mut Vec<String>) -> Option<Self> {
        let tree = Expression::parse(text).ok()?;
        let ExpressionKind::Relation(first, rest) = &tree.kind else { return None };
        let mut reader = FormulaReader { names, own: Vec::new(), known, arguments: Vec::new() };
        let first = reader.part(first)?;
        let rest = rest.iter().map(|(operator, part)| Some((*operator, reader.part(part)?)));
        let rest = rest.collect::<Option<_>>()?;
        Some(Self { first, rest, names: reader.own })
    }

    /// Whether it is about what is there, so that a missing name is an answer.
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

    /// Whether it holds where the names are `terms`; none where something of it is missing or has no value.
    pub fn holds<'t>(&'t self, terms: &impl Named<'t>) -> Option<bool> {
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

    /// Whether it is arithmetic of single numbers where all its names are.
    pub fn is_scalar(&self) -> bool {
        self.first.is_scalar() && self.rest.iter().all(|(_, part)| part.is_scalar())
    }

    /// The same as [`Formula::holds`] of a scalar relation whose names stand for `numbers`, no number where they stand
    /// for nothing. A log has many lines, and most of what is asked of it is of this kind.
    pub fn holds_of(&self, numbers: &impl Fn(usize) -> f64) -> Option<bool> {
        let mut left = self.first.scalar(numbers);
        for (operator, part) in &self.rest {
            let right = part.scalar(numbers);
            if left.is_nan() || right.is_nan() {
                return None;
            }
            if !are_related(left, *operator, right) {
                return Some(false);
            }
            left = right;
        }
        Some(true)
    }

    /// Both sides where they are numbers or texts, as they are told.
    pub fn sides<'t>(&'t self, terms: &impl Named<'t>) -> Vec<String> {
        let all = std::iter::once(&self.first).chain(self.rest.iter().map(|(_, part)| part));
        all.filter_map(|part| value(part, terms)).map(|term| term.to_string()).collect()
    }
}

impl std::fmt::Display for Term<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// So many numbers of a list are told.
        const TOLD: usize = 4;
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "`{}`", text.chars().take(80).collect::<String>()),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::List(numbers) if numbers.is_empty() => f.write_str("none"),
            Self::List(numbers) => {
                let told: Vec<_> = numbers.iter().take(TOLD).map(f64::to_string).collect();
                f.write_str(&told.join(", "))?;
                match numbers.len().checked_sub(TOLD) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(f, " and {more} more"),
                }
            }
        }
    }
}

/// Reads a tree once: names get numbers, and formulas with an argument are written out.
struct FormulaReader<'k> {
    names: &'k mut Vec<String>,
    /// The numbers of the names of this formula.
    own: Vec<usize>,
    known: &'k [(&'k str, &'k str)],
    /// What the argument `it` of the formulas stands for that are being written out.
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

fn value<'t>(part: &'t Part, terms: &impl Named<'t>) -> Option<Term<'t>> {
    Some(match part {
        Part::Number(number) => Term::Number(*number),
        Part::Text(text) => Term::Text(Cow::Borrowed(text)),
        Part::Truth(truth) => Term::Truth(*truth),
        Part::Named(at) => terms(*at)?,
        Part::Empty => Term::List(Cow::Borrowed(&[])),
        Part::Negative(of) => each(value(of, terms)?, |number| -number)?,
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
                builtin.of_scalars().is_some() && arguments.iter().all(Self::is_scalar)
            }
            Self::Text(_) | Self::Truth(_) | Self::Empty => false,
        }
    }

    /// The number that a scalar part is; no number where it has no value.
    fn scalar(&self, numbers: &impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Named(at) => numbers(*at),
            Self::Negative(of) => -of.scalar(numbers),
            Self::Arithmetic(operator, a, b) => {
                operate(a.scalar(numbers), *operator, b.scalar(numbers))
            }
            Self::Call(builtin, arguments) => {
                let Some(of) = builtin.of_scalars() else { return f64::NAN };
                let mut scalars = arguments.iter().map(|part| part.scalar(numbers));
                let first = scalars.next().unwrap_or(f64::NAN);
                match of {
                    OfScalars::One(of) => of(first),
                    OfScalars::Several(of) => scalars.fold(first, of),
                }
            }
            Self::Text(_) | Self::Truth(_) | Self::Empty => f64::NAN,
        }
    }
}

/// A function of single numbers.
enum OfScalars {
    One(fn(f64) -> f64),
    Several(fn(f64, f64) -> f64),
}

impl Builtin {
    fn of_scalars(self) -> Option<OfScalars> {
        /// The one that `wins` against the other; what is no number stays so.
        fn chosen(a: f64, b: f64, wins: bool) -> f64 {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else if wins {
                a
            } else {
                b
            }
        }
        Some(match self {
            // What is a hair below a whole number was one.
            Self::Ceil => OfScalars::One(|x| (x - NEARLY).ceil()),
            Self::Floor => OfScalars::One(|x| (x + NEARLY).floor()),
            Self::Abs => OfScalars::One(f64::abs),
            Self::Ln => OfScalars::One(libm::log),
            Self::Cos => OfScalars::One(libm::cos),
            Self::Min => OfScalars::Several(|a, b| chosen(a, b, a < b)),
            Self::Max => OfScalars::Several(|a, b| chosen(a, b, a > b)),
            _ => return None,
        })
    }
}

fn operate(a: f64, operator: ArithmeticOperator, b: f64) -> f64 {
    match operator {
        ArithmeticOperator::Add => a + b,
        ArithmeticOperator::Subtract => a - b,
        ArithmeticOperator::Multiply => a * b,
        ArithmeticOperator::Divide => a / b,
        ArithmeticOperator::Power if b == 2.0 => a * a,
        ArithmeticOperator::Power if b == 0.5 => libm::sqrt(a),
        ArithmeticOperator::Power => libm::pow(a, b),
    }
}

fn are_related(a: f64, operator: RelationOperator, b: f64) -> bool {
    match operator {
        RelationOperator::Equal => same(a, b),
        RelationOperator::NotEqual => !same(a, b),
        RelationOperator::Less => a < b,
        RelationOperator::Greater => a > b,
        RelationOperator::LessOrEqual => a <= b || same(a, b),
        RelationOperator::GreaterOrEqual => a >= b || same(a, b),
    }
}

/// A function of a number, for each number of a list; no value where it has none.
fn each<'t>(term: Term<'t>, of: impl Fn(f64) -> f64) -> Option<Term<'t>> {
    match term {
        Term::Number(number) => {
            Some(of(number)).filter(|number| !number.is_nan()).map(Term::Number)
        }
        Term::List(numbers) => {
            let numbers: Vec<f64> = numbers.iter().copied().map(of).collect();
            let is_defined = !numbers.iter().any(|number| number.is_nan());
            is_defined.then_some(Term::List(Cow::Owned(numbers)))
        }
        Term::Text(_) | Term::Truth(_) => None,
    }
}

fn joined<'t>(a: Term<'t>, operator: ArithmeticOperator, b: Term<'t>) -> Option<Term<'t>> {
    let join = |a: f64, b: f64| operate(a, operator, b);
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

fn listed<'l>(term: &'l Term<'_>) -> Option<&'l [f64]> {
    match term {
        Term::List(numbers) => Some(numbers),
        _ => None,
    }
}

fn number_of(term: &Term<'_>) -> Option<f64> {
    match term {
        Term::Number(number) => Some(*number),
        _ => None,
    }
}

fn text_of<'l>(term: &'l Term<'_>) -> Option<&'l str> {
    match term {
        Term::Text(text) => Some(text),
        _ => None,
    }
}

fn called<'t>(builtin: Builtin, arguments: &'t [Part], terms: &impl Named<'t>) -> Option<Term<'t>> {
    let nth = |at: usize| value(arguments.get(at)?, terms);
    let counted = |fits: fn(&Term<'_>) -> bool| {
        let terms = arguments.iter().filter_map(|part| value(part, terms));
        Some(Term::Number(terms.filter(fits).count() as f64))
    };
    let all = || -> Option<Vec<f64>> {
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
        Builtin::Absent => Some(Term::Number(f64::from(u8::from(nth(0).is_none())))),
        Builtin::Given => counted(|_| true),
        Builtin::Numbers => counted(|term| matches!(term, Term::Number(_))),
        Builtin::Length => Some(Term::Number(text_of(&nth(0)?)?.chars().count() as f64)),
        Builtin::Sum => Some(Term::Number(all()?.iter().sum())),
        Builtin::Count => Some(Term::Number(all()?.len() as f64)),
        Builtin::Min => all()?.into_iter().reduce(f64::min).map(Term::Number),
        Builtin::Max => all()?.into_iter().reduce(f64::max).map(Term::Number),
        Builtin::Ceil | Builtin::Floor | Builtin::Abs | Builtin::Ln | Builtin::Cos => {
            match builtin.of_scalars()? {
                OfScalars::One(of) => each(nth(0)?, of),
                OfScalars::Several(_) => None,
            }
        }
        Builtin::Missing => missing(listed(&nth(0)?)?, listed(&nth(1)?)?),
        Builtin::Ones if arguments.len() > 1 => ones(text_of(&nth(0)?)?, number_of(&nth(1)?)?),
        Builtin::Ones => ones(text_of(&nth(0)?)?, f64::INFINITY),
        Builtin::Cv => number(spread(listed(&nth(0)?)?)),
        Builtin::Entropy => number(entropy(listed(&nth(0)?)?)),
        Builtin::Zeros => {
            let zeros = |numbers: &[f64]| numbers.iter().filter(|number| **number == 0.0).count();
            number(zeros(listed(&nth(0)?)?) as f64)
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

/// A number as a term; none where it is no number.
fn number<'t>(number: f64) -> Option<Term<'t>> {
    (!number.is_nan()).then_some(Term::Number(number))
}

/// What of one list another lacks.
fn missing<'t>(wanted: &[f64], held: &[f64]) -> Option<Term<'t>> {
    let held: HashSet<u64> = held.iter().map(|number| number.to_bits()).collect();
    let lacks = |one: &f64| !held.contains(&one.to_bits());
    Some(Term::List(wanted.iter().copied().filter(lacks).collect()))
}

/// The bits of a hexadecimal text that are one, among the first so many.
fn ones<'t>(digits: &str, among: f64) -> Option<Term<'t>> {
    let of_digit = |(at, digit): (usize, char)| {
        let digit = digit.to_digit(16)?;
        let is_one =
            |bit: &u32| digit & (8 >> bit) != 0 && ((4 * at) as f64 + f64::from(*bit)) < among;
        Some((0..4_u32).filter(is_one).count() as f64)
    };
    digits.chars().enumerate().map(of_digit).sum::<Option<f64>>().map(Term::Number)
}

/// The coefficient of variation of all numbers of a list.
fn spread(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
    libm::sqrt(squares / count) / mean
}

/// The entropy of the shares of counts, in nats.
fn entropy(counts: &[f64]) -> f64 {
    let sum: f64 = counts.iter().sum();
    let of = |x: &f64| if *x > 0.0 { x / sum * libm::log(x / sum) } else { 0.0 };
    -counts.iter().map(of).sum::<f64>()
}

/// Whether two terms stand in a relation; none of what cannot be compared.
fn related(a: &Term<'_>, operator: RelationOperator, b: &Term<'_>) -> Option<bool> {
    let holds = |a: f64, b: f64| are_related(a, operator, b);
    match operator {
        RelationOperator::Equal => return equal(a, b),
        RelationOperator::NotEqual => return equal(a, b).map(|equal| !equal),
        _ => {}
    }
    match (a, b) {
        (Term::Number(a), Term::Number(b)) => Some(holds(*a, *b)),
        (Term::List(a), Term::Number(b)) => Some(a.iter().all(|a| holds(*a, *b))),
        (Term::Number(a), Term::List(b)) => Some(b.iter().all(|b| holds(*a, *b))),
        (Term::List(a), Term::List(b)) if a.len() == b.len() => {
            Some(std::iter::zip(&**a, &**b).all(|(a, b)| holds(*a, *b)))
        }
        _ => None,
    }
}

fn equal(a: &Term<'_>, b: &Term<'_>) -> Option<bool> {
    Some(match (a, b) {
        (Term::Number(a), Term::Number(b)) => same(*a, *b),
        (Term::Text(a), Term::Text(b)) => a == b,
        (Term::Truth(a), Term::Truth(b)) => a == b,
        // Seeds are texts in a receipt and numbers in a config.
        (Term::Text(text), Term::Number(number)) | (Term::Number(number), Term::Text(text)) => {
            text.parse().is_ok_and(|text: f64| text == *number)
        }
        (Term::List(a), Term::List(b)) => {
            a.len() == b.len() && std::iter::zip(&**a, &**b).all(|(a, b)| same(*a, *b))
        }
        _ => return None,
    })
}

/// Whether two numbers are one up to rounding. Whole numbers are counts, and round to themselves.
fn same(a: f64, b: f64) -> bool {
    // Beyond, every float is whole.
    const COUNTED: f64 = 9_007_199_254_740_992.0;
    let is_count = |x: f64| x.fract() == 0.0 && x.abs() < COUNTED;
    let are_whole = is_count(a) && is_count(b);
    a == b || !are_whole && (a - b).abs() <= (NEARLY * a.abs().max(b.abs())).max(NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, named: &[(&str, Term<'static>)]) -> Option<bool> {
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
