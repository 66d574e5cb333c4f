//! Expressions and bindings with their places in a post file.

use std::ops::Range;

use num_bigint::BigInt;
use num_rational::BigRational;
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_core::source::{Code, Document, Error, Location, Node, codes};
use repro_report::meaning::Reading;

codes! {
    BAD_EXPRESSION = "post::bad-expression", "the expression cannot be parsed", "see `repro explain post` for the syntax";
    UNKNOWN_READING = "post::unknown-reading", "unknown reading", "choose one from `repro explain readings`";
}

/// An expression and where it is in the post file.
#[derive(Debug, Clone)]
pub struct PlacedExpression {
    /// The tree.
    pub tree: Expression,
    /// Where its text is in the file, where every byte of it is there as it is.
    text: Option<Range<usize>>,
    place: Location,
}

/// The binding of a number in a quote.
#[derive(Debug, Clone)]
pub enum Binding {
    /// It is what the expression gives, by the reading that is declared.
    Is(PlacedExpression, Option<Reading>),
    /// Nothing is claimed, for this reason.
    Excused(String),
}

impl PlacedExpression {
    /// Reads the expression that a string of the post file is.
    pub fn read(node: Node) -> Result<Self, Error> {
        Self::read_part(node, node.text()?)
    }

    pub(super) fn read_part(node: Node, text: &str) -> Result<Self, Error> {
        let whole = node.value().span.clone();
        let source = &node.document().source;
        // Escapes shift what stands behind them; then the whole string is the place.
        let raw = source.text().get(whole.clone()).unwrap_or_default();
        let inside = raw.find(text).map(|at| whole.start + at);
        let span = inside.map(|start| start..start + text.len());
        let place = || node.place();
        let tree = Expression::parse(text).map_err(|error| {
            let at = span.as_ref().map_or_else(place, |span| {
                let start = span.start + error.at;
                source.place(start..(start + error.found.len().saturating_sub(2)).max(start + 1))
            });
            let error = BAD_EXPRESSION.at(at, error.expected, error.found);
            with_hint(error, other_language(text).map(str::to_owned))
        })?;
        Ok(Self { tree, text: span, place: node.place() })
    }

    /// Reads one expression or a list of them.
    pub(super) fn read_all(node: Node) -> Result<Vec<Self>, Error> {
        each_of(node).into_iter().map(Self::read).collect()
    }

    /// The opposite of the relation that it is.
    pub fn negated(&self) -> Self {
        let tree = Expression {
            kind: ExpressionKind::Not(Box::new(self.tree.clone())),
            span: self.tree.span.clone(),
        };
        Self { tree, ..self.clone() }
    }

    /// Where a part of it is in the post file.
    pub fn place_of(&self, part: &Expression, document: &Document) -> Location {
        let Some(text) = &self.text else { return self.place.clone() };
        let (start, end) = (text.start + part.span.start, text.start + part.span.end);
        document.source.place(start..end).with_pointer(self.place.pointer.as_str())
    }

    /// Where it stands.
    pub fn place(&self) -> &Location {
        &self.place
    }
}

impl Binding {
    /// The bound expression.
    pub fn expression(&self) -> Option<&PlacedExpression> {
        match self {
            Self::Is(expression, _) => Some(expression),
            Self::Excused(_) => None,
        }
    }

    pub(crate) fn expression_mut(&mut self) -> Option<&mut PlacedExpression> {
        match self {
            Self::Is(expression, _) => Some(expression),
            Self::Excused(_) => None,
        }
    }

    /// Why nothing is claimed.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Excused(reason) => Some(reason),
            Self::Is(..) => None,
        }
    }

    /// Reads `"expression"`, `{ value = "expression", as = "about" }`, or `"_ the reason why nothing is claimed"`.
    pub(super) fn read(node: Node) -> Result<Self, Error> {
        if let Some(value) = node.get("value") {
            node.only(&["value", "as"])?;
            let known = Reading::ALL.map(|reading| (reading.word(), reading));
            let declared = word_of(node, "as", &known, &UNKNOWN_READING)?;
            return Ok(Self::Is(PlacedExpression::read(value)?, declared));
        }
        let text = node.text()?;
        let excuse = text.trim_start().strip_prefix('_');
        match excuse.filter(|rest| rest.is_empty() || rest.starts_with(' ')).map(str::trim) {
            None => Ok(Self::Is(PlacedExpression::read(node)?, None)),
            Some("") => {
                let expected = "`_` followed by the reason why nothing is claimed";
                Err(BAD_EXPRESSION.at(node.place(), expected, "only `_`"))
            }
            Some(reason) => Ok(Self::Excused(reason.to_owned())),
        }
    }

    /// Reads one binding or a list of them.
    pub(super) fn read_all(node: Node) -> Result<Vec<Self>, Error> {
        each_of(node).into_iter().map(Self::read).collect()
    }
}

/// The meaning of a key's word, if the key exists; an error lists the known words.
pub(super) fn word_of<T: Copy>(
    table: Node,
    key: &str,
    known: &[(&str, T)],
    code: &'static Code,
) -> Result<Option<T>, Error> {
    let Some(node) = table.get(key) else { return Ok(None) };
    let word = node.text()?;
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| Some(*value)).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
        let one_of = if names.len() == 1 { "" } else { "one of " };
        code.at(node.place(), format!("{one_of}{}", names.join(", ")), format!("`{word}`"))
    })
}

/// The numbers of the quote that a relation takes as the text states them: `quoted(2)`, counted from one.
pub fn quoted_numbers(relation: &Expression) -> Vec<usize> {
    let places = relation.all().filter(|part| part.is_call_of("quoted"));
    let places = places.filter_map(|part| match part.parts()[..] {
        [place] => place.number()?.parse().ok(),
        _ => None,
    });
    places.collect()
}

/// The numbers that relations state themselves: their constants, and the lengths of their lists.
pub fn stated_numbers<'e>(relations: impl IntoIterator<Item = &'e Expression>) -> Vec<BigRational> {
    let stated = |part: &Expression| match &part.kind {
        ExpressionKind::List(items) => Some(BigInt::from(items.len()).into()),
        _ => part.constant(),
    };
    relations.into_iter().flat_map(Expression::all).filter_map(stated).collect()
}

/// The help for an expression with an operator of a different language.
pub(super) fn other_language(text: &str) -> Option<&'static str> {
    let signs = [
        ("**", "write a power as `a ^ b`"),
        ("===", "write equality as `a = b`"),
        ("&&", "write several relations as a list, `says = [...]`: all must be true"),
        (" and ", "write several relations as a list, `says = [...]`: all must be true"),
        (" or ", "write alternative relations as a list, `may_mean = [...]`"),
    ];
    signs.iter().find(|(sign, _)| text.contains(sign)).map(|(_, help)| *help)
}

/// The error with a hint at the name that may be meant, where one is spelled like it.
pub(super) fn with_hint(error: Error, hint: Option<String>) -> Error {
    match hint {
        Some(hint) => error.help(hint),
        None => error,
    }
}

/// The entries of a list; of anything else, that alone.
pub(super) fn each_of(node: Node<'_>) -> Vec<Node<'_>> {
    node.items().map_or_else(|_| vec![node], Iterator::collect)
}
