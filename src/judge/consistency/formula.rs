//! Formulas of relations: expressions of the language of claims over the numbers of one bundle, in floats.
//!
//! A log may have a million lines, so that names are found once and a row is then some arithmetic. Agreement is wide enough for
//! numbers that a trainer rounded to float32; whole numbers agree only with themselves.

use std::borrow::Cow;

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
    List(Vec<f64>),
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
    Relation(Box<Part>, Vec<(RelationOperator, Part)>),
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
    /// The bits of a hexadecimal text that are one.
    Ones,
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
];

/// A relation that is read, and the names in it.
#[derive(Debug)]
pub struct Formula {
    part: Part,
    /// What its names are, in the order of their numbers: `config.lr`, `previous.step`.
    pub names: Vec<String>,
}

impl Formula {
    /// Reads a relation; `known` are formulas with one argument that it may call. None where it is no relation.
    pub fn read(text: &str, known: &[(&str, &str)]) -> Option<Self> {
        let tree = Expression::parse(text).ok()?;
        let mut reader = FormulaReader { names: Vec::new(), known, arguments: Vec::new() };
        let part = reader.part(&tree)?;
        matches!(part, Part::Relation(..)).then_some(Self { part, names: reader.names })
    }

    /// Whether it holds where the names are `terms`; none where something of it is missing or has no value.
    pub fn holds(&self, terms: &[Option<Term<'_>>]) -> Option<bool> {
        let Part::Relation(first, rest) = &self.part else { return None };
        let mut left = value(first, terms)?;
        for (operator, part) in rest {
            let right = value(part, terms)?;
            if !related(&left, *operator, &right)? {
                return Some(false);
            }
            left = right;
        }
        Some(true)
    }

    /// Both sides where they are numbers or texts, as they are told.
    pub fn sides(&self, terms: &[Option<Term<'_>>]) -> Vec<String> {
        let Part::Relation(first, rest) = &self.part else { return Vec::new() };
        let all = std::iter::once(&**first).chain(rest.iter().map(|(_, part)| part));
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
    names: Vec<String>,
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
            ExpressionKind::Relation(first, rest) => {
                let first = Box::new(self.part(first)?);
                let rest = rest.iter().map(|(operator, part)| Some((*operator, self.part(part)?)));
                Part::Relation(first, rest.collect::<Option<_>>()?)
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

fn value<'t>(part: &Part, terms: &[Option<Term<'t>>]) -> Option<Term<'t>> {
    Some(match part {
        Part::Number(number) => Term::Number(*number),
        Part::Text(text) => Term::Text(Cow::Owned(text.clone())),
        Part::Truth(truth) => Term::Truth(*truth),
        Part::Named(at) => terms.get(*at)?.clone()?,
        Part::Empty => Term::List(Vec::new()),
        Part::Negative(of) => each(value(of, terms)?, |number| -number)?,
        Part::Arithmetic(operator, a, b) => joined(value(a, terms)?, *operator, value(b, terms)?)?,
        Part::Relation(..) => return None,
        Part::Call(builtin, arguments) => called(*builtin, arguments, terms)?,
    })
}

/// A function of a number, for each number of a list; no value where it has none.
fn each<'t>(term: Term<'t>, of: impl Fn(f64) -> f64) -> Option<Term<'t>> {
    match term {
        Term::Number(number) => {
            Some(of(number)).filter(|number| !number.is_nan()).map(Term::Number)
        }
        Term::List(numbers) => {
            let numbers: Vec<f64> = numbers.into_iter().map(of).collect();
            (!numbers.iter().any(|number| number.is_nan())).then_some(Term::List(numbers))
        }
        Term::Text(_) | Term::Truth(_) => None,
    }
}

fn joined<'t>(a: Term<'t>, operator: ArithmeticOperator, b: Term<'t>) -> Option<Term<'t>> {
    let join = |a: f64, b: f64| match operator {
        ArithmeticOperator::Add => a + b,
        ArithmeticOperator::Subtract => a - b,
        ArithmeticOperator::Multiply => a * b,
        ArithmeticOperator::Divide => a / b,
        ArithmeticOperator::Power => libm::pow(a, b),
    };
    match (a, b) {
        (Term::List(a), Term::List(b)) => {
            let numbers = std::iter::zip(&a, &b).map(|(a, b)| join(*a, *b)).collect();
            (a.len() == b.len()).then_some(numbers).and_then(|all| each(Term::List(all), |x| x))
        }
        (Term::Number(a), b) => each(b, |b| join(a, b)),
        (a, Term::Number(b)) => each(a, |a| join(a, b)),
        _ => None,
    }
}

fn called<'t>(
    builtin: Builtin,
    arguments: &[Part],
    terms: &[Option<Term<'t>>],
) -> Option<Term<'t>> {
    let first = value(arguments.first()?, terms)?;
    let all = || -> Option<Vec<f64>> {
        let mut numbers = Vec::new();
        for part in arguments {
            match value(part, terms)? {
                Term::Number(number) => numbers.push(number),
                Term::List(list) => numbers.extend(list),
                Term::Text(_) | Term::Truth(_) => return None,
            }
        }
        Some(numbers)
    };
    match builtin {
        Builtin::Sum => Some(Term::Number(all()?.iter().sum())),
        Builtin::Count => Some(Term::Number(all()?.len() as f64)),
        Builtin::Min => all()?.into_iter().reduce(f64::min).map(Term::Number),
        Builtin::Max => all()?.into_iter().reduce(f64::max).map(Term::Number),
        // What is a hair below a whole number was one.
        Builtin::Ceil => each(first, |x| (x - NEARLY).ceil()),
        Builtin::Floor => each(first, |x| (x + NEARLY).floor()),
        Builtin::Abs => each(first, f64::abs),
        Builtin::Ln => each(first, libm::log),
        Builtin::Cos => each(first, libm::cos),
        Builtin::Missing => match (first, value(arguments.get(1)?, terms)?) {
            (Term::List(wanted), Term::List(held)) => {
                let lacks = |one: &f64| !held.contains(one);
                Some(Term::List(wanted.into_iter().filter(lacks).collect()))
            }
            _ => None,
        },
        Builtin::Ones => match first {
            Term::Text(text) => {
                let digits = text.chars().map(|c| c.to_digit(16)).collect::<Option<Vec<_>>>()?;
                Some(Term::Number(digits.iter().map(|digit| f64::from(digit.count_ones())).sum()))
            }
            _ => None,
        },
    }
}

/// Whether two terms stand in a relation; none of what cannot be compared.
fn related(a: &Term<'_>, operator: RelationOperator, b: &Term<'_>) -> Option<bool> {
    let order = |holds: &dyn Fn(f64, f64) -> bool| match (a, b) {
        (Term::Number(a), Term::Number(b)) => Some(holds(*a, *b)),
        (Term::List(a), Term::Number(b)) => Some(a.iter().all(|a| holds(*a, *b))),
        (Term::Number(a), Term::List(b)) => Some(b.iter().all(|b| holds(*a, *b))),
        (Term::List(a), Term::List(b)) if a.len() == b.len() => {
            Some(std::iter::zip(a, b).all(|(a, b)| holds(*a, *b)))
        }
        _ => None,
    };
    match operator {
        RelationOperator::Equal => equal(a, b),
        RelationOperator::NotEqual => equal(a, b).map(|equal| !equal),
        RelationOperator::Less => order(&|a, b| a < b),
        RelationOperator::Greater => order(&|a, b| a > b),
        RelationOperator::LessOrEqual => order(&|a, b| a <= b || same(a, b)),
        RelationOperator::GreaterOrEqual => order(&|a, b| a >= b || same(a, b)),
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
            a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| same(*a, *b))
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
        let formula = Formula::read(text, &[("twice", "it + it")]).unwrap();
        let find = |name: &String| {
            named.iter().find(|(known, _)| known == name).map(|(_, term)| term.clone())
        };
        formula.holds(&formula.names.iter().map(find).collect::<Vec<_>>())
    }

    #[test]
    fn relations_hold_or_do_not_or_cannot_be_judged() {
        let list = || ("l", Term::List(vec![1.0, 2.5]));
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
        assert_eq!(holds("ones(t) = 6", &[("t", Term::Text("3f".into()))]), Some(true));
        assert_eq!(holds("t = 17", &[("t", Term::Text("17".into()))]), Some(true));
        assert_eq!(holds("ceil(x.y) = 3", &[x(3.000_000_000_1)]), Some(true));
        assert!(Formula::read("x + 1", &[]).is_none());
        assert!(Formula::read("nobody(x) = 1", &[]).is_none());
    }
}
