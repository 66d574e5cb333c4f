//! Typed reads that the parts of a study file share.

use std::collections::HashSet;

use num_rational::BigRational;
use num_traits::{One, Signed};
use serde_json::{Map, Number, Value as Json};

use super::{BAD_ID, BAD_VALUE, REPEATED, UNKNOWN_NAME};
use repro_core::decimal::Printed;
use repro_core::source::{Error, Kind, Node, WRONG_TYPE};

/// A name of characters that are safe in folder names and post files.
pub fn identifier(node: Node<'_>) -> Result<&str, Error> {
    let text = node.text()?;
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    let starts = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !starts || !text.bytes().all(allowed) {
        return Err(BAD_ID.at(node.place(), "an id such as `dense_active`", format!("`{text}`")));
    }
    Ok(text)
}

/// One of a few words.
pub fn word<'a>(node: Node<'a>, words: &[&str]) -> Result<&'a str, Error> {
    let text = node.text()?;
    if words.contains(&text) {
        return Ok(text);
    }
    let known: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    Err(BAD_VALUE.at(node.place(), known.join(" or "), format!("`{text}`")))
}

/// A name that must be one of `known`.
pub fn known<'a>(node: Node<'a>, known: &[String]) -> Result<&'a str, Error> {
    let text = node.text()?;
    if known.iter().any(|name| name == text) {
        return Ok(text);
    }
    let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let expected = format!("one of {}", names.join(", "));
    Err(UNKNOWN_NAME.at(node.place(), expected, format!("`{text}`")))
}

/// A number above zero, exactly as written.
pub fn positive(node: Node<'_>) -> Result<BigRational, Error> {
    let wrong =
        |found: &str| BAD_VALUE.at(node.place(), "a number above zero", format!("`{found}`"));
    let Kind::Number(text) = &node.value().kind else {
        return Err(WRONG_TYPE.at(node.place(), "a number", node.value().kind.word()));
    };
    let printed = Printed::parse(&text.replace('_', "")).map_err(|_| wrong(text))?;
    let value = printed.value().clone();
    if value.is_positive() { Ok(value) } else { Err(wrong(text)) }
}

/// A fraction: above zero and at most one.
pub fn part(node: Node<'_>) -> Result<BigRational, Error> {
    let value = positive(node)?;
    if value > BigRational::one() {
        return Err(BAD_VALUE.at(node.place(), "a fraction above 0, up to 1", "more"));
    }
    Ok(value)
}

/// A whole number from 1 up.
pub fn count(node: Node<'_>) -> Result<u64, Error> {
    match node.integer()? {
        0 => Err(BAD_VALUE.at(node.place(), "a positive integer", "0")),
        number => Ok(number),
    }
}

/// A list without duplicates.
pub fn distinct<'a, T: Eq + std::hash::Hash + Clone + std::fmt::Display>(
    list: Node<'a>,
    read: impl Fn(Node<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let (mut seen, mut items) = (HashSet::new(), Vec::new());
    for node in list.items()? {
        let item = read(node)?;
        if !seen.insert(item.clone()) {
            return Err(REPEATED.at(node.place(), "each once", format!("`{item}` again")));
        }
        items.push(item);
    }
    if items.is_empty() {
        return Err(BAD_VALUE.at(list.place(), "at least one", "an empty list"));
    }
    Ok(items)
}

/// A value of a config: numbers become exact integers or the nearest floats.
pub fn to_json(node: Node<'_>) -> Result<Json, Error> {
    Ok(match &node.value().kind {
        Kind::Null => Json::Null,
        Kind::Bool(truth) => Json::Bool(*truth),
        Kind::Text(text) => Json::String(text.to_string()),
        Kind::Number(text) => Json::Number(number(&text.replace('_', ""), node)?),
        Kind::Array(_) => Json::Array(node.items()?.map(to_json).collect::<Result<_, _>>()?),
        Kind::Object(_) => Json::Object(table(node)?),
    })
}

/// The members of a dict as values of a config.
pub fn table(node: Node<'_>) -> Result<Map<String, Json>, Error> {
    node.members()?.map(|(key, value)| Ok((key.to_owned(), to_json(value)?))).collect()
}

fn number(text: &str, node: Node<'_>) -> Result<Number, Error> {
    let integer = text.parse::<i64>().ok().filter(|number| number.unsigned_abs() <= 1 << 53);
    let float = || text.parse::<f64>().ok().and_then(Number::from_f64);
    let plain = !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-".contains(&byte));
    integer.map(Number::from).or_else(|| float().filter(|_| plain)).ok_or_else(|| {
        BAD_VALUE.at(node.place(), "a decimal number; integers up to 2^53", format!("`{text}`"))
    })
}
