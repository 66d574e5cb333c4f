//! Strict JSON and JSON lines.

use repro_bundle::bundle::{canonical, glance};
use repro_core::digest;
use repro_core::source::{Document, Kind, Source, Value};
use serde_json::Value as Json;

use super::{refused, tree};

/// From here on a float may have the text of an integer that is refused.
const EXACT_INTEGERS: f64 = (1_u64 << 53) as f64;

/// What is read, the reference reader reads too and understands alike; it has places; its canonical text says
/// the same. Lines are read exactly where each of them is a document. What a glance finds canonical is so
/// for who reads it.
pub fn check(bytes: &[u8]) {
    if glance::is_canonical(bytes) {
        let source = Source::new("evident.json", bytes.to_vec()).expect("UTF-8");
        let document = Document::parse_json(source).expect("what is evident is read");
        canonical::check(&document).expect("what is evident is canonical");
    }
    match Source::new("fuzz.json", bytes.to_vec()).and_then(Document::parse_json) {
        Ok(document) => accepted(&document),
        Err(error) => refused(&error, Some(bytes)),
    }
    match Source::new("fuzz.jsonl", bytes.to_vec()).and_then(Document::parse_json_lines) {
        Ok(document) => lines(&document),
        Err(error) => refused(&error, Some(bytes)),
    }
}

fn accepted(document: &Document) {
    tree::check(document);
    pointers(document, &document.root);
    let text = document.source.text();
    let reference: Json = serde_json::from_str(text).expect("what is accepted is JSON");
    same(&document.root, &reference);
    let Ok(once) = digest::canonical(&reference) else {
        return assert!(large(&reference), "what is accepted has a canonical text");
    };
    // A float such as 1e16 has the canonical text of an integer beyond 2^53, which is refused.
    let source = Source::new("canonical.json", once.clone().into_bytes()).expect("UTF-8");
    if let Ok(again) = Document::parse_json(source) {
        let reference: Json = serde_json::from_str(&once).expect("canonical text is JSON");
        same(&again.root, &reference);
        assert_eq!(digest::canonical(&reference).expect("canonical twice"), once);
    }
}

/// Every string of the tree, taken for a pointer, leads into the tree or is refused.
fn pointers(document: &Document, value: &Value) {
    match &value.kind {
        Kind::Text(text) => match document.root().at(text) {
            Ok(found) => assert!(document.source.text().get(found.value().span.clone()).is_some()),
            Err(error) => refused(&error, Some(document.source.text().as_bytes())),
        },
        Kind::Array(items) => items.iter().for_each(|item| pointers(document, item)),
        Kind::Object(members) => {
            members.iter().for_each(|member| pointers(document, &member.value));
        }
        _ => {}
    }
}

/// Whether some number is a whole one that not every reader keeps.
fn large(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.as_f64().is_some_and(|float| float.abs() >= EXACT_INTEGERS),
        Json::Array(items) => items.iter().any(large),
        Json::Object(members) => members.values().any(large),
        _ => false,
    }
}

/// Both readers understood the same.
fn same(value: &Value, reference: &Json) {
    match (&value.kind, reference) {
        (Kind::Null, Json::Null) => {}
        (Kind::Bool(ours), Json::Bool(theirs)) => assert_eq!(ours, theirs),
        (Kind::Number(ours), Json::Number(theirs)) => {
            let ours: f64 = ours.parse().expect("a number");
            let theirs = theirs.as_f64().expect("a float");
            // The reference rounds long digits without its most precise mode, so the last bit may differ.
            assert!((ours - theirs).abs() <= ours.abs() * 1e-15, "{ours} and {theirs}");
        }
        (Kind::Text(ours), Json::String(theirs)) => assert_eq!(&**ours, theirs),
        (Kind::Array(ours), Json::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).for_each(|(ours, theirs)| same(ours, theirs));
        }
        (Kind::Object(ours), Json::Object(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().for_each(|member| same(&member.value, &theirs[&*member.key]));
        }
        (ours, theirs) => panic!("{ours:?} and {theirs:?}"),
    }
}

fn lines(document: &Document) {
    tree::check(document);
    let text = document.source.text();
    let Kind::Array(items) = &document.root.kind else { panic!("lines are a list") };
    assert_eq!(items.len(), text.matches('\n').count());
    for (item, line) in items.iter().zip(text.lines()) {
        let source = Source::new("line.json", line.as_bytes().to_vec()).expect("UTF-8");
        let alone = Document::parse_json(source).expect("each line is a document");
        assert!(alike(item, &alone.root), "{line}");
    }
}

/// The same values, wherever they stand.
fn alike(one: &Value, other: &Value) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Array(a), Kind::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Kind::Object(a), Kind::Object(b)) => {
            let pair = |(a, b): (&repro_core::source::Member, &repro_core::source::Member)| {
                a.key == b.key && alike(&a.value, &b.value)
            };
            a.len() == b.len() && a.iter().zip(b).all(pair)
        }
        (a, b) => a == b,
    }
}
