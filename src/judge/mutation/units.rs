//! Published numbers: what is changed, and everywhere that it was typed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Readers;
use crate::evidence::Library;
use crate::post::Post;
use repro_exact::decimal::Printed;
use repro_receipt::bundle::{self, Bundle, FACTS};
use repro_receipt::source::{Document, Error, Kind, Source, Value, escape};
use repro_report::outcome::EvidenceOrigin;

/// Which digit is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digit {
    /// The first that is not zero: a change that matters.
    First,
    /// The last of the mantissa: the smallest change that is printed.
    Last,
}

impl Digit {
    /// The text with this digit changed: 9 becomes 8, any other the next one.
    pub fn change(self, text: &str) -> String {
        let found = match self {
            Self::First => {
                text.find(|c: char| c.is_ascii_digit() && c != '0').or_else(|| last_digit(text))
            }
            Self::Last => last_digit(text),
        };
        let Some(at) = found else { return text.to_owned() };
        let digit = text.as_bytes()[at];
        let other = if digit == b'9' { '8' } else { char::from(digit + 1) };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    }
}

/// The last digit before an exponent.
fn last_digit(text: &str) -> Option<usize> {
    let exponent = text.find(['e', 'E']).filter(|&at| {
        text[..at].ends_with(|c: char| c.is_ascii_digit())
            && text[at + 1..].contains(|c: char| c.is_ascii_digit())
    });
    text[..exponent.unwrap_or(text.len())].rfind(|c: char| c.is_ascii_digit())
}

/// A number of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MutationUnit {
    /// The document that it is printed in, where one is named.
    pub document: Option<String>,
    /// Its place there, or the place of its only typing.
    pub place: String,
    /// As printed.
    pub text: String,
    /// The origin of the evidence that holds it; `None` where only claims do.
    pub origin: Option<EvidenceOrigin>,
    /// Everywhere that it was typed.
    pub typings: Vec<Typing>,
}

/// One typing of a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Typing {
    /// As the claimed value of a claim.
    Claim {
        /// The post.
        post: String,
        /// The claim.
        id: String,
    },
    /// As a value of a file in a bundle.
    Value {
        /// The bundle.
        bundle: String,
        /// The file.
        file: String,
        /// The pointer as evidence shows it: a fact by its id.
        shown: String,
        /// The pointer by position.
        pointer: String,
    },
}

impl MutationUnit {
    /// The files that hold it.
    pub fn files(&self) -> BTreeSet<(String, String)> {
        let file = |typing: &Typing| match typing {
            Typing::Value { bundle, file, .. } => Some((bundle.clone(), file.clone())),
            Typing::Claim { .. } => None,
        };
        self.typings.iter().filter_map(file).collect()
    }

    /// The document of one of its files with the number changed wherever it stands there.
    pub fn alter(
        &self,
        library: &Library,
        bundle: &str,
        file: &str,
        to: &str,
    ) -> Result<Document, Error> {
        let place = repro_receipt::source::Location::file(file);
        let absent =
            || crate::post::UNKNOWN_BUNDLE.at(place, "a loaded bundle", format!("`{bundle}`"));
        let document = library.bundle(bundle).ok_or_else(absent)?.document(file)?;
        let mut spans = Vec::new();
        for typing in &self.typings {
            if let Typing::Value { bundle: b, file: f, pointer, .. } = typing
                && (b, f) == (&bundle.to_owned(), &file.to_owned())
            {
                let value = document.root().at(pointer)?.value();
                spans.push((value.span.clone(), matches!(value.kind, Kind::Text(_))));
            }
        }
        spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut text = document.source.text().to_owned();
        for (span, quoted) in spans {
            let printed =
                if quoted { serde_json::Value::from(to).to_string() } else { to.to_owned() };
            text.replace_range(span, &printed);
        }
        Document::parse(Source::new(document.source.name(), text.into_bytes())?)
    }
}

/// The key by which typings of one number find each other: document, place, text.
type Key = (Option<String>, String, String);

/// Every number that `posts` claim, and every number of the bundles that they pin, in order. What a trainer
/// or importer wrote, nobody typed and nobody published as a whole: of that, the values that claims read.
pub fn collect(
    posts: &[Post],
    library: &Library,
    readers: &Readers,
) -> Result<Vec<MutationUnit>, Error> {
    let mut units: BTreeMap<Key, (Option<EvidenceOrigin>, Vec<Typing>)> = BTreeMap::new();
    for post in posts {
        for claim in post.claims().filter_map(Result::ok) {
            let Some(text) = claim.claimed.map(|node| node.text()).transpose()? else { continue };
            if !is_number(text) {
                continue;
            }
            let (document, place) = match claim.at {
                Some(at) => (Some(at.source.to_owned()), at.place.to_owned()),
                None => (None, format!("{} {}", post.file(), claim.id)),
            };
            let typing = Typing::Claim { post: post.id.clone(), id: claim.id.to_owned() };
            units.entry((document, place, text.to_owned())).or_default().1.push(typing);
        }
    }
    let names: BTreeSet<_> =
        posts.iter().flat_map(|post| &post.pins).map(|pin| &pin.name).collect();
    for bundle in names.into_iter().filter_map(|name| library.bundle(name)) {
        let typed = bundle.origin() == bundle::Origin::Transcribed;
        for file in bundle.documents() {
            let read = readers.get(&(bundle.name().to_owned(), file.to_owned()));
            if !typed && read.is_none() {
                continue;
            }
            let document = bundle.document(file)?;
            let mut values = Vec::new();
            numbers(&document.root, String::new(), file == FACTS, &mut values);
            for (pointer, text) in values {
                let (key, shown) = published(bundle, file, &pointer, &text);
                if !typed && !read.into_iter().flatten().any(|(read, _)| *read == shown) {
                    continue;
                }
                let typing = Typing::Value {
                    bundle: bundle.name().to_owned(),
                    file: file.to_owned(),
                    shown,
                    pointer,
                };
                let (origin, typings) = units.entry(key).or_default();
                *origin = Some(bundle.origin().into());
                typings.push(typing);
            }
        }
    }
    let unit = |((document, place, text), (origin, typings)): (
        Key,
        (Option<EvidenceOrigin>, Vec<Typing>),
    )| MutationUnit { document, place, text, origin, typings };
    Ok(units.into_iter().map(unit).collect())
}

/// Whether a digit of `text` can be changed: words, names with digits in them and counts in words are
/// no such numbers.
fn is_number(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && Printed::parse(text).is_ok()
}

/// Where a value of a bundle was published, and the pointer that evidence shows for it.
fn published(bundle: &Bundle, file: &str, pointer: &str, text: &str) -> (Key, String) {
    let text = text.to_owned();
    match bundle.fact_at(file, pointer) {
        Some(fact) => {
            let key = (Some(fact.at.source.clone()), fact.at.place.clone(), text);
            (key, fact.pointer())
        }
        None => {
            let document = bundle.typed_from(file).map(str::to_owned);
            let place = match &document {
                Some(_) => pointer.to_owned(),
                None => format!("{}/{file} {pointer}", bundle.name()),
            };
            ((document, place, text), pointer.to_owned())
        }
    }
}

/// The numbers of a tree with their pointers; in a file of facts these are the values.
fn numbers(value: &Value, pointer: String, facts: bool, found: &mut Vec<(String, String)>) {
    match &value.kind {
        Kind::Object(members) => {
            for member in members {
                let below = format!("{pointer}/{}", escape(&member.key));
                let wanted = match &member.value.kind {
                    Kind::Text(text) => facts && &*member.key == "value" && is_number(text),
                    _ => true,
                };
                if wanted {
                    numbers(&member.value, below, facts, found);
                }
            }
        }
        Kind::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                numbers(item, format!("{pointer}/{index}"), facts, found);
            }
        }
        Kind::Number(text) | Kind::Text(text) => found.push((pointer, text.to_string())),
        Kind::Bool(_) | Kind::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digit_changes() {
        for (from, first, last) in [
            ("3.28", "4.28", "3.29"),
            ("9536", "8536", "9537"),
            ("0.060865", "0.070865", "0.060866"),
            ("1e-6", "2e-6", "2e-6"),
            ("4.5B", "5.5B", "4.6B"),
            ("~+0.205", "~+0.305", "~+0.206"),
            ("0.0", "0.1", "0.1"),
            ("target at 8320", "target at 9320", "target at 8321"),
        ] {
            assert_eq!(
                (Digit::First.change(from), Digit::Last.change(from)),
                (first.to_owned(), last.to_owned())
            );
        }
    }
}
