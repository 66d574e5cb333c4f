//! Parses text into an expression tree.
//!
//! A minus between names needs a space before it: `stop-step` is one name, `stop - step` a difference. Nesting is limited
//! to [`DEEPEST`] and the height of a tree to [`TALLEST`], so no text exhausts the stack.

use std::ops::Range;

use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{
    alt, cut_err, delimited, dispatch, empty, eof, fail, not, opt, peek, preceded, repeat,
    separated, terminated,
};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stateful};
use winnow::token::{any, one_of, take_till, take_while};

use crate::syntax::{Argument, ArithmeticOperator, Expression, ExpressionKind, RelationOperator};

/// How deep parentheses, lists, calls and powers may nest.
const DEEPEST: usize = 40;
/// The maximum height of a tree: each operator of `a + b + c` and each dot of a name adds a level. Recursive functions go
/// as deep as a tree is tall, and formulas are nested in formulas.
const TALLEST: usize = 120;

/// The message for a taller tree.
const TOO_TALL: &str = "at most 120 operators in a row; write long sums as `sum([a, b, ...])`";

type Input<'a> = Stateful<LocatingSlice<&'a str>, Depth>;

/// How deep reading is, and how tall the trees are that were read.
#[derive(Debug, Default)]
struct Depth {
    /// The number of open parentheses, lists, calls and powers.
    open: usize,
    /// The height of the tallest tree since this was last set to zero.
    tallest: usize,
}

/// The error for a text that is not an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnExpression {
    /// The byte offset of the error.
    pub at: usize,
    /// The possible continuations.
    pub expected: String,
    /// The text at this position.
    pub found: String,
}

impl Expression {
    /// Reads the one expression that a text is.
    pub fn parse(text: &str) -> Result<Self, NotAnExpression> {
        let input = Stateful { input: LocatingSlice::new(text), state: Depth::default() };
        let whole = delimited(multispace0, relation, end);
        let mut whole = whole;
        whole.parse(input).map_err(|error| {
            let at = error.offset();
            let expected: Vec<String> = error.inner().context().filter_map(expected).collect();
            let expected =
                if expected.is_empty() { "a value".to_owned() } else { expected.join(" or ") };
            NotAnExpression { at, expected, found: found(text, at) }
        })
    }
}

fn expected(context: &StrContext) -> Option<String> {
    match context {
        StrContext::Expected(StrContextValue::Description(text)) => Some((*text).to_owned()),
        StrContext::Expected(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The word or sign at a place, for people.
fn found(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let Some(first) = rest.chars().next() else { return "the end".to_owned() };
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let end = if in_word(first) {
        rest.find(|c| !in_word(c)).unwrap_or(rest.len())
    } else {
        first.len_utf8()
    };
    format!("`{}`", &rest[..end])
}

fn describe(text: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(text))
}

fn end(input: &mut Input) -> ModalResult<()> {
    preceded(multispace0, eof)
        .void()
        .context(describe("an operator such as `+` or `<`"))
        .context(describe("the end"))
        .parse_next(input)
}

fn node(kind: ExpressionKind, span: Range<usize>) -> Expression {
    Expression { kind, span }
}

fn joined(first: &Expression, last: &Expression) -> Range<usize> {
    first.span.start..last.span.end
}

/// Runs a parser after skipping spaces.
fn spaced<'a, O>(
    parser: impl ModalParser<Input<'a>, O, ContextError>,
) -> impl ModalParser<Input<'a>, O, ContextError> {
    preceded(multispace0, parser)
}

/// Goes one level deeper.
fn deeper<'a, O>(
    parser: impl ModalParser<Input<'a>, O, ContextError>,
) -> impl ModalParser<Input<'a>, O, ContextError> {
    let mut parser = on_top(parser);
    move |input: &mut Input<'a>| {
        if input.state.open >= DEEPEST {
            return cut_err(fail.context(describe("less nesting"))).parse_next(input);
        }
        input.state.open += 1;
        let result = parser.parse_next(input);
        input.state.open -= 1;
        result
    }
}

/// Runs a parser whose result adds one level on top of its parts.
fn on_top<'a, O>(
    mut parser: impl ModalParser<Input<'a>, O, ContextError>,
) -> impl ModalParser<Input<'a>, O, ContextError> {
    move |input: &mut Input<'a>| {
        let beside = std::mem::take(&mut input.state.tallest);
        let read = parser.parse_next(input)?;
        one_level(input)?;
        input.state.tallest = input.state.tallest.max(beside);
        Ok(read)
    }
}

/// Adds one level on top of what was parsed.
fn one_level(input: &mut Input) -> ModalResult<()> {
    input.state.tallest += 1;
    if input.state.tallest > TALLEST {
        cut_err(fail.context(describe(TOO_TALL))).parse_next(input)
    } else {
        Ok(())
    }
}

fn relation(input: &mut Input) -> ModalResult<Expression> {
    // `not-a` is a name.
    let goes_on = (opt('-'), one_of(is_word));
    let negated = spaced(opt(terminated("not", peek(not(goes_on))).span()));
    let Some(negated) = { negated }.parse_next(input)? else { return comparison(input) };
    let inner = cut_err(on_top(comparison)).parse_next(input)?;
    let span = negated.start..inner.span.end;
    Ok(node(ExpressionKind::Not(Box::new(inner)), span))
}

fn comparison(input: &mut Input) -> ModalResult<Expression> {
    let first = sum(input)?;
    let rest: Vec<_> = repeat(0.., (spaced(relation_operator), cut_err(sum))).parse_next(input)?;
    let Some((_, last)) = rest.last() else { return Ok(first) };
    one_level(input)?;
    let span = joined(&first, last);
    Ok(node(ExpressionKind::Relation(Box::new(first), rest), span))
}

fn relation_operator(input: &mut Input) -> ModalResult<RelationOperator> {
    let or_equal =
        |alone, equal| opt('=').map(move |sign| if sign.is_some() { equal } else { alone });
    dispatch! {any;
        '<' => or_equal(RelationOperator::Less, RelationOperator::LessOrEqual),
        '>' => or_equal(RelationOperator::Greater, RelationOperator::GreaterOrEqual),
        '=' => opt('=').value(RelationOperator::Equal),
        '!' => '='.value(RelationOperator::NotEqual),
        '≤' => empty.value(RelationOperator::LessOrEqual),
        '≥' => empty.value(RelationOperator::GreaterOrEqual),
        '≠' => empty.value(RelationOperator::NotEqual),
        _ => fail,
    }
    .parse_next(input)
}

fn sum(input: &mut Input) -> ModalResult<Expression> {
    let sign = |sign| match sign {
        '+' => Some(ArithmeticOperator::Add),
        '-' | '−' => Some(ArithmeticOperator::Subtract),
        _ => None,
    };
    chain(input, product, sign)
}

fn product(input: &mut Input) -> ModalResult<Expression> {
    let sign = |sign| match sign {
        '*' | '×' | '·' => Some(ArithmeticOperator::Multiply),
        '/' => Some(ArithmeticOperator::Divide),
        _ => None,
    };
    chain(input, factor, sign)
}

/// Operands joined by signs of one strength, grouped from the left.
fn chain<'a>(
    input: &mut Input<'a>,
    operand: fn(&mut Input<'a>) -> ModalResult<Expression>,
    sign: fn(char) -> Option<ArithmeticOperator>,
) -> ModalResult<Expression> {
    let beside = std::mem::take(&mut input.state.tallest);
    let mut whole = operand(input)?;
    while let Some(operator) = opt(spaced(any.verify_map(sign))).parse_next(input)? {
        let right = cut_err(operand).parse_next(input)?;
        one_level(input)?;
        let span = joined(&whole, &right);
        whole = node(ExpressionKind::Arithmetic(operator, Box::new(whole), Box::new(right)), span);
    }
    input.state.tallest = input.state.tallest.max(beside);
    Ok(whole)
}

fn factor(input: &mut Input) -> ModalResult<Expression> {
    let minus = spaced(opt(one_of(['-', '−']).span())).parse_next(input)?;
    let Some(minus) = minus else { return power(input) };
    let inner = cut_err(on_top(power)).parse_next(input)?;
    let span = minus.start..inner.span.end;
    Ok(node(ExpressionKind::Negative(Box::new(inner)), span))
}

fn power(input: &mut Input) -> ModalResult<Expression> {
    let base = at_step(input)?;
    if opt(spaced("^")).parse_next(input)?.is_none() {
        return Ok(base);
    }
    let exponent = cut_err(deeper(factor)).parse_next(input)?;
    let span = joined(&base, &exponent);
    let operator = ArithmeticOperator::Power;
    Ok(node(ExpressionKind::Arithmetic(operator, Box::new(base), Box::new(exponent)), span))
}

fn at_step(input: &mut Input) -> ModalResult<Expression> {
    let of = fields(input)?;
    if opt(spaced("@")).parse_next(input)?.is_none() {
        return Ok(of);
    }
    let step = cut_err(fields).parse_next(input)?;
    let span = joined(&of, &step);
    Ok(node(ExpressionKind::At(Box::new(of), Box::new(step)), span))
}

fn fields(input: &mut Input) -> ModalResult<Expression> {
    let beside = std::mem::take(&mut input.state.tallest);
    let mut of = spaced(operand).parse_next(input)?;
    let has_fields = matches!(of.kind, ExpressionKind::Name(_) | ExpressionKind::Call(..));
    while has_fields && opt('.').parse_next(input)?.is_some() {
        let key = alt((quoted, word.take().map(str::to_owned)))
            .context(describe("a field name"))
            .with_span();
        let (key, span) = cut_err(key).parse_next(input)?;
        one_level(input)?;
        let span = of.span.start..span.end;
        of = node(ExpressionKind::Field(Box::new(of), key), span);
    }
    input.state.tallest = input.state.tallest.max(beside);
    Ok(of)
}

fn operand(input: &mut Input) -> ModalResult<Expression> {
    let known = dispatch! {peek(any);
        '0'..='9' => number,
        '\'' | '"' => text,
        '[' => list,
        '(' => parentheses,
        _ => call_or_name,
    };
    alt((known, fail.context(describe("a name, a number, `[` or `(`")))).parse_next(input)
}

/// A number: digits with `_` between them, decimals, an exponent, a suffix, `%`.
fn number(input: &mut Input) -> ModalResult<Expression> {
    let digits = || (digit1, repeat::<_, _, (), _, _>(0.., ('_', digit1)));
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let suffix = alt(("Ki", "Mi", "Gi", "Ti", "k", "K", "M", "B", "T"));
    let plain = (digits(), opt(('.', digit1)), opt(exponent), opt(suffix), opt('%'));
    let whole = terminated(plain.take(), peek(not(one_of(is_word))));
    let read =
        |(text, span): (&str, Range<usize>)| node(ExpressionKind::Number(text.to_owned()), span);
    whole.with_span().map(read).parse_next(input)
}

fn text(input: &mut Input) -> ModalResult<Expression> {
    let read = |(text, span)| node(ExpressionKind::Text(text), span);
    quoted.with_span().map(read).parse_next(input)
}

fn quoted(input: &mut Input) -> ModalResult<String> {
    let single = delimited('\'', take_till(0.., '\''), cut_err('\''));
    let double = delimited('"', take_till(0.., '"'), cut_err('"'));
    alt((single, double)).map(|text: &str| text.to_owned()).parse_next(input)
}

fn list(input: &mut Input) -> ModalResult<Expression> {
    let close = cut_err(spaced(']').context(describe("`,`")).context(describe("`]`")));
    let items = separated(0.., deeper(relation), spaced(','));
    let read = |(items, span)| node(ExpressionKind::List(items), span);
    delimited('[', items, close).with_span().map(read).parse_next(input)
}

fn parentheses(input: &mut Input) -> ModalResult<Expression> {
    let close = cut_err(spaced(')').context(describe("`)`")));
    let inner = delimited('(', cut_err(deeper(relation)), close);
    inner.with_span().map(|(inner, span)| Expression { span, ..inner }).parse_next(input)
}

fn call_or_name(input: &mut Input) -> ModalResult<Expression> {
    let (name, span) = name.with_span().parse_next(input)?;
    if opt('(').parse_next(input)?.is_none() {
        return Ok(node(ExpressionKind::Name(name.to_owned()), span));
    }
    let arguments = separated(0.., deeper(argument), spaced(',')).parse_next(input)?;
    let close = spaced(')').span().context(describe("`,`")).context(describe("`)`"));
    let close = cut_err(close).parse_next(input)?;
    Ok(node(ExpressionKind::Call(name.to_owned(), arguments), span.start..close.end))
}

fn argument(input: &mut Input) -> ModalResult<Argument> {
    // `over = [...]` is a named argument; `a == b` is a relation.
    let named = terminated(spaced(name), (spaced('='), peek(not('='))));
    let name = opt(named).parse_next(input)?.map(str::to_owned);
    let value = match name {
        Some(_) => cut_err(relation).parse_next(input)?,
        None => relation(input)?,
    };
    Ok(Argument { name, value })
}

fn name<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    (peek(one_of(|c: char| c.is_ascii_alphabetic() || c == '_')), word).take().parse_next(input)
}

/// Letters, digits and `_`, with single `-` between them.
fn word(input: &mut Input) -> ModalResult<()> {
    let part = || take_while(1.., is_word);
    (part(), repeat::<_, _, (), ErrMode<ContextError>, _>(0.., ('-', part())))
        .void()
        .parse_next(input)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).to_string()
    }

    #[test]
    fn expressions_are_written_as_they_are_read() {
        for text in [
            "8",
            "0.5%",
            "4.5B",
            "1_000",
            "dense.steps",
            "bf16.dense.stop-step",
            "runs.'0.001'.loss",
            "steps * contract.tokens-per-step",
            "(k + shared) * d",
            "a - (b - c)",
            "a / (b * c)",
            "a - b - c",
            "-a ^ 2",
            "(-a) ^ 2",
            "2 ^ 3 ^ 2",
            "(2 ^ 3) ^ 2",
            "-(a + b)",
            "mean(moe.loss @ 500)",
            "moe.loss < dense.loss",
            "a < b < c",
            "not significant(gap(a, b))",
            "held_fixed(seen / active(it), over = [dense, moe64], within = 0.5%)",
            "[]",
            "f()",
            "f('words, and more', x = 'it')",
            "f((a = b))",
            "same(title, \"it's\")",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn other_spellings_are_the_same() {
        for (text, same) in [
            ("a×b", "a * b"),
            ("8·384", "8 * 384"),
            ("a ≤ b", "a <= b"),
            ("a == b", "a = b"),
            ("a − b", "a - b"),
            ("3-2", "3 - 2"),
            ("a -b", "a - b"),
            (" f( a ,b ) ", "f(a, b)"),
            ("((a))", "a"),
            ("notable", "notable"),
        ] {
            assert_eq!(shown(text), same, "{text}");
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, at, expected, found) in [
            ("", 0, "a name, a number, `[` or `(`", "the end"),
            ("a +", 3, "a name, a number, `[` or `(`", "the end"),
            ("a b", 2, "an operator such as `+` or `<` or the end", "`b`"),
            ("f(a", 3, "`,` or `)`", "the end"),
            ("[a; b]", 2, "`,` or `]`", "`;`"),
            ("a.", 2, "a field name", "the end"),
            ("f(over = )", 9, "a name, a number, `[` or `(`", "`)`"),
            ("(a + b", 6, "`)`", "the end"),
            ("3x", 0, "a name, a number, `[` or `(`", "`3x`"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            let wanted = NotAnExpression { at, expected: expected.into(), found: found.into() };
            assert_eq!(error, wanted, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        for (open, close) in [("(", ")"), ("[", "]"), ("f(", ")"), ("2 ^ ", "")] {
            let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            let error = Expression::parse(&text).unwrap_err();
            assert_eq!(error.expected, "less nesting", "{open}");
        }
    }

    #[test]
    fn long_chains_are_refused() {
        let most = TALLEST;
        for (first, next) in [("a", " + a"), ("a", " * a"), ("a", ".x")] {
            let chain = |links: usize| format!("{first}{}", next.repeat(links));
            assert!(Expression::parse(&chain(most)).is_ok(), "{next}");
            let error = Expression::parse(&chain(most + 1)).unwrap_err();
            assert_eq!((error.expected.as_str(), error.at > most), (TOO_TALL, true), "{next}");
            assert!(Expression::parse(&chain(100_000)).is_err());
        }
        let inside = |links: usize| format!("f(f({}b){})", "a + ".repeat(links), ".x".repeat(20));
        assert!(Expression::parse(&inside(98)).is_ok());
        assert_eq!(Expression::parse(&inside(99)).unwrap_err().expected, TOO_TALL);
        // Items next to each other do not add height.
        let list = |parts: usize| format!("[{}]", vec!["a.b + c * d"; parts].join(", "));
        assert!(Expression::parse(&list(20_000)).is_ok());
        assert!(Expression::parse(&vec!["a.b"; most].join(" + ")).is_ok());
        assert!(TOO_TALL.contains(&TALLEST.to_string()));
    }

    #[test]
    fn spans_cover_their_text() {
        let text = "total(dense) / (2 * moe64.steps)";
        let whole = Expression::parse(text).unwrap();
        let ExpressionKind::Arithmetic(_, left, right) = whole.kind else { panic!() };
        assert_eq!(&text[left.span], "total(dense)");
        assert_eq!(&text[right.span], "(2 * moe64.steps)");
    }

    fn expression() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            "[1-9][0-9]{0,3}(\\.[0-9]{1,3})?%?".prop_map(ExpressionKind::Number),
            "[a-z]{1,4}(-[a-z0-9]{1,3})?"
                .prop_filter("a word of the language", |name| name != "not")
                .prop_map(ExpressionKind::Name),
            "[a-z ,()]{0,6}".prop_map(ExpressionKind::Text),
        ];
        let whole = |kind| Expression { kind, span: 0..0 };
        leaf.prop_map(whole).prop_recursive(5, 30, 3, move |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            let operator = prop_oneof![
                Just(ArithmeticOperator::Add),
                Just(ArithmeticOperator::Subtract),
                Just(ArithmeticOperator::Multiply),
                Just(ArithmeticOperator::Divide),
                Just(ArithmeticOperator::Power),
            ];
            let relation = prop_oneof![
                Just(RelationOperator::Less),
                Just(RelationOperator::Equal),
                Just(RelationOperator::NotEqual),
            ];
            let pair = (relation, inner.clone());
            let argument = (proptest::option::of("[a-z]{1,4}"), inner.clone())
                .prop_map(|(name, value)| Argument { name, value });
            prop_oneof![
                (operator, boxed.clone(), boxed.clone())
                    .prop_map(|(operator, a, b)| ExpressionKind::Arithmetic(operator, a, b)),
                (boxed.clone(), proptest::collection::vec(pair, 1..3))
                    .prop_map(|(first, rest)| ExpressionKind::Relation(first, rest)),
                boxed.clone().prop_map(ExpressionKind::Negative),
                boxed.clone().prop_map(ExpressionKind::Not),
                ("[a-m]{1,4}", "[a-z0-9]{1,4}|[a-z .]{1,5}").prop_map(move |(of, key)| {
                    ExpressionKind::Field(Box::new(whole(ExpressionKind::Name(of))), key)
                }),
                (boxed.clone(), boxed.clone()).prop_map(|(of, at)| ExpressionKind::At(of, at)),
                proptest::collection::vec(inner, 0..3).prop_map(ExpressionKind::List),
                ("[a-z]{1,4}", proptest::collection::vec(argument, 0..3))
                    .prop_filter("a word of the language", |(name, _)| name != "not")
                    .prop_map(|(name, arguments)| ExpressionKind::Call(name, arguments)),
            ]
            .prop_map(whole)
        })
    }

    #[test]
    fn names_may_begin_like_words_of_the_language() {
        let kind = |text: &str| Expression::parse(text).unwrap().kind;
        assert_eq!(kind("not-a"), ExpressionKind::Name("not-a".into()));
        assert_eq!(kind("nota"), ExpressionKind::Name("nota".into()));
        assert!(matches!(kind("not -a"), ExpressionKind::Not(_)));
        assert!(matches!(kind("not (a)"), ExpressionKind::Not(_)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(expression in expression()) {
            let text = expression.to_string();
            prop_assert_eq!(Expression::parse(&text), Ok(expression), "{}", text);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = Expression::parse(&text);
        }

        #[test]
        fn no_text_of_signs_panics(text in "[-a-c0-9.+*/^()\\[\\],=<>@'% ]{0,60}") {
            if let Ok(expression) = Expression::parse(&text) {
                let written = expression.to_string();
                prop_assert_eq!(Expression::parse(&written), Ok(expression), "{}", written);
            }
        }
    }
}
