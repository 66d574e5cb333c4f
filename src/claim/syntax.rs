//! The tree of an expression, and how it is written.

use std::fmt;
use std::ops::Range;

use num_rational::BigRational;
use repro_core::decimal::Printed;

/// A part of an expression and its position in the text, in bytes.
#[derive(Debug, Clone)]
pub struct Expression {
    /// Its kind.
    pub kind: ExpressionKind,
    /// Its position.
    pub span: Range<usize>,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    /// A number as written: `8`, `0.5%`, `4.5B`.
    Number(String),
    /// Words in quotation marks.
    Text(String),
    /// A name.
    Name(String),
    /// A field of something: `dense.steps`.
    Field(Box<Expression>, String),
    /// A quantity at a step: `moe.loss @ 500`.
    At(Box<Expression>, Box<Expression>),
    /// A list.
    List(Vec<Expression>),
    /// The negative of a number.
    Negative(Box<Expression>),
    /// The opposite of a relation.
    Not(Box<Expression>),
    /// Two numbers joined.
    Arithmetic(ArithmeticOperator, Box<Expression>, Box<Expression>),
    /// Two or more values in a relation: `a < b`, `a < b < c`.
    Relation(Box<Expression>, Vec<(RelationOperator, Expression)>),
    /// A function or a formula with its arguments.
    Call(String, Vec<Argument>),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its name, if there is one.
    pub name: Option<String>,
    /// Its value.
    pub value: Expression,
}

/// The operators between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOperator {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
    /// A power; of positive numbers, any.
    Power,
}

/// The operators between two values of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationOperator {
    /// Smaller.
    Less,
    /// Smaller or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
}

impl ArithmeticOperator {
    /// The sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Power => "^",
        }
    }

    /// How tightly it binds.
    pub fn strength(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 2,
            Self::Multiply | Self::Divide => 3,
            Self::Power => 5,
        }
    }
}

impl RelationOperator {
    /// The sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "=",
            Self::NotEqual => "!=",
        }
    }

    /// The relation between `b` and `a` if this one holds between `a` and `b`.
    pub fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

/// Positions do not affect equality.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The direct parts of an expression, shared or mutable.
macro_rules! parts_of {
    ($kind:expr, $iter:ident $(, $mut:ident)?) => {
        match $kind {
            ExpressionKind::Number(_) | ExpressionKind::Text(_) | ExpressionKind::Name(_) => {
                Vec::new()
            }
            ExpressionKind::Field(of, _)
            | ExpressionKind::Negative(of)
            | ExpressionKind::Not(of) => vec![of],
            ExpressionKind::At(left, right) | ExpressionKind::Arithmetic(_, left, right) => {
                vec![left, right]
            }
            ExpressionKind::List(items) => items.$iter().collect(),
            ExpressionKind::Relation(first, rest) => {
                let rest = rest.$iter().map(|(_, side)| side);
                std::iter::once(&$($mut)? **first).chain(rest).collect()
            }
            ExpressionKind::Call(_, arguments) => {
                arguments.$iter().map(|one| &$($mut)? one.value).collect()
            }
        }
    };
}

impl Expression {
    /// The direct parts of this one, from left to right.
    pub fn parts(&self) -> Vec<&Self> {
        parts_of!(&self.kind, iter)
    }

    /// Mutable references to the direct parts.
    pub fn parts_mut(&mut self) -> Vec<&mut Self> {
        parts_of!(&mut self.kind, iter_mut, mut)
    }

    /// This part and every part inside it, from left to right.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.parts().into_iter().rev());
            Some(next)
        })
    }

    /// Calls `see` with this part and every part inside it.
    pub fn each(&self, see: &mut impl FnMut(&Self)) {
        self.all().for_each(see);
    }

    /// The function or formula that it calls.
    pub fn function(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Call(name, _) => Some(name),
            _ => None,
        }
    }

    /// The name of the called function, or the name itself.
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Call(name, _) | ExpressionKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Whether it is a call of one function.
    pub fn is_call_of(&self, function: &str) -> bool {
        self.function() == Some(function)
    }

    /// Whether it is a relation of two or more values.
    pub fn is_relation(&self) -> bool {
        matches!(self.kind, ExpressionKind::Relation(..))
    }

    /// The digits of the number that it is.
    pub fn number(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The value of the number that it is: 0.005 of `0.5%`.
    pub fn constant(&self) -> Option<BigRational> {
        Some(Printed::parse(self.number()?).ok()?.in_ones())
    }

    /// The precedence of its outermost operator: a part with lower precedence than its position requires needs parentheses.
    fn strength(&self) -> u8 {
        match &self.kind {
            ExpressionKind::Not(_) => 0,
            ExpressionKind::Relation(..) => 1,
            ExpressionKind::Arithmetic(operator, ..) => operator.strength(),
            ExpressionKind::Negative(_) => 4,
            ExpressionKind::At(..) => 6,
            _ => 7,
        }
    }

    /// The text of the part at a position that requires some precedence.
    fn within(&self, least: u8) -> Operand<'_> {
        Operand { part: self, least }
    }
}

/// An operand of an operator.
struct Operand<'e> {
    part: &'e Expression,
    /// The precedence from which it needs no parentheses.
    least: u8,
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.part.strength() < self.least {
            return write!(f, "({})", self.part);
        }
        write!(f, "{}", self.part)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Number(text) => f.write_str(text),
            ExpressionKind::Text(text) if text.contains('\'') => write!(f, "\"{text}\""),
            ExpressionKind::Text(text) => write!(f, "'{text}'"),
            ExpressionKind::Name(name) => f.write_str(name),
            ExpressionKind::Field(of, key) if is_key(key) => write!(f, "{}.{key}", of.within(7)),
            ExpressionKind::Field(of, key) => write!(f, "{}.'{key}'", of.within(7)),
            ExpressionKind::At(of, step) => write!(f, "{} @ {}", of.within(7), step.within(7)),
            ExpressionKind::List(items) => {
                f.write_str("[")?;
                separated(f, items.iter())?;
                f.write_str("]")
            }
            ExpressionKind::Negative(of) => write!(f, "-{}", of.within(5)),
            ExpressionKind::Not(of) => write!(f, "not {}", of.within(1)),
            ExpressionKind::Arithmetic(operator, left, right) => {
                let strength = operator.strength();
                // A power is grouped from the right, everything else from the left.
                let (first, second) = match operator {
                    ArithmeticOperator::Power => (strength + 1, strength - 1),
                    _ => (strength, strength + 1),
                };
                write!(f, "{} {} {}", left.within(first), operator.sign(), right.within(second))
            }
            ExpressionKind::Relation(first, rest) => {
                write!(f, "{}", first.within(2))?;
                rest.iter().try_for_each(|(operator, value)| {
                    write!(f, " {} {}", operator.sign(), value.within(2))
                })
            }
            ExpressionKind::Call(name, arguments) => {
                write!(f, "{name}(")?;
                separated(f, arguments.iter())?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} = {}", self.value),
            // A bare relation of a name would read as a named argument.
            None if self.value.strength() < 2 => write!(f, "({})", self.value),
            None => write!(f, "{}", self.value),
        }
    }
}

fn separated<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = T>,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// Whether a field can be written without quotation marks.
fn is_key(key: &str) -> bool {
    let mut parts = key.split('-');
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    parts.all(word)
}
