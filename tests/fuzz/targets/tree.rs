//! What holds of every tree that a source was read into.

use repro_core::source::{Document, Kind, Value};

/// Places are searched from the root, so only small trees are asked for theirs.
const SEARCHED: usize = 150;

/// Spans lie inside the text, at characters, and inside the span of what they are part of; pointers lead
/// back to the value that they were made for.
pub fn check(document: &Document) {
    let text = document.source.text();
    let mut values = Vec::new();
    collect(&document.root, &mut values);
    for value in &values {
        assert!(text.get(value.span.clone()).is_some(), "{:?} in {} bytes", value.span, text.len());
        if let Kind::Object(members) = &value.kind {
            for (at, member) in members.iter().enumerate() {
                assert!(text.get(member.key_span.clone()).is_some(), "{:?}", member.key_span);
                assert!(members[..at].iter().all(|earlier| earlier.key != member.key));
            }
        }
        if let Kind::Number(number) = &value.kind {
            let plain = number.replace('_', "");
            assert!(text[value.span.clone()].contains(&**number), "{number} is made up");
            assert!(plain.parse::<f64>().map_or(true, f64::is_finite), "{number}");
        }
    }
    if values.len() <= SEARCHED {
        pointers(document);
    }
}

fn collect<'a>(value: &'a Value, into: &mut Vec<&'a Value>) {
    into.push(value);
    match &value.kind {
        Kind::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Kind::Object(members) => members.iter().for_each(|member| collect(&member.value, into)),
        _ => {}
    }
}

/// Every value is found again by its pointer, and its place shows a line of the text.
fn pointers(document: &Document) {
    let mut nodes = vec![document.root()];
    while let Some(node) = nodes.pop() {
        let pointer = node.pointer();
        // A key of a table inside a list may look like a selector; a list's element never does.
        let again = document.root().at(&pointer).unwrap_or_else(|error| panic!("{error}"));
        assert!(std::ptr::eq(again.value(), node.value()), "`{pointer}` leads elsewhere");
        let place = node.place();
        assert!(
            place.line >= 1 && place.column >= 1 && document.source.text().contains(&place.excerpt)
        );
        match &node.value().kind {
            Kind::Array(_) => nodes.extend(node.items().unwrap()),
            Kind::Object(_) => nodes.extend(node.members().unwrap().map(|(_, member)| member)),
            _ => {}
        }
    }
}
