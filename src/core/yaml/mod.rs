//! Parses one document of plain YAML into the shared tree, in which every value has its place.

use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::source::{
    DEPTH_CAP, DUPLICATE_KEY, Document, Error, Kind, Member, NOT_FINITE, SYNTAX, Source, TOO_DEEP,
    Value,
};

/// Parses YAML: one document without aliases and tags.
pub fn parse(source: Source) -> Result<Document, Error> {
    let root = root(&source)?;
    Ok(Document { source: Arc::new(source), root: Arc::new(root) })
}

/// The root of the one document of a YAML text.
fn root(source: &Source) -> Result<Value, Error> {
    let text = source.text();
    let boundaries = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
    let events = Parser::new_from_str(text);
    let mut reader = Reader { source, boundaries, events };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd, _) => return Ok(Value { kind: Kind::Null, span: 0..text.len() }),
            (first, span) => {
                let root = reader.value(first, span, 0)?;
                return reader.end().map(|()| root);
            }
        }
    }
}

struct Reader<'s> {
    source: &'s Source,
    /// The offset of each character, if not all characters are single bytes.
    boundaries: Option<Vec<usize>>,
    events: Parser<'s, StrInput<'s>>,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Result<(Event<'s>, Range<usize>), Error> {
        match self.events.next_event() {
            Some(Ok((event, span))) => Ok((event, self.range(span))),
            Some(Err(error)) => Err(self.grammar(&error)),
            None => Ok((Event::StreamEnd, self.source.text().len()..self.source.text().len())),
        }
    }

    /// Rejects a second document.
    fn end(&mut self) -> Result<(), Error> {
        loop {
            match self.next()? {
                (Event::DocumentEnd, _) => {}
                (Event::StreamEnd, _) => return Ok(()),
                (_, span) => return Err(self.refuse(span, "one document", "a second one")),
            }
        }
    }

    fn value(
        &mut self,
        event: Event<'s>,
        span: Range<usize>,
        depth: usize,
    ) -> Result<Value, Error> {
        if depth > DEPTH_CAP {
            let expected = format!("at most {DEPTH_CAP} levels");
            return Err(TOO_DEEP.at(self.source.place(span), expected, "more"));
        }
        match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err(self.refuse(span, "no tags", "a tag")),
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                let kind =
                    if plain { self.plain(&text, &span)? } else { Kind::Text((*text).into()) };
                Ok(Value { kind, span })
            }
            Event::SequenceStart(..) => self.sequence(span.start, depth),
            Event::MappingStart(..) => self.mapping(span.start, depth),
            Event::Alias(_) => Err(self.refuse(span, "no aliases", "an alias")),
            _ => Err(self.refuse(span, "a value", "none")),
        }
    }

    fn sequence(&mut self, start: usize, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value { kind: Kind::Array(items), span: start..span.end.max(start) });
            }
            items.push(self.value(event, span, depth + 1)?);
        }
    }

    fn mapping(&mut self, start: usize, depth: usize) -> Result<Value, Error> {
        let mut members = Vec::new();
        let mut seen = std::collections::HashSet::new();
        loop {
            let (key, key_span) = match self.next()? {
                (Event::MappingEnd, span) => {
                    let span = start..span.end.max(start);
                    return Ok(Value { kind: Kind::Object(members), span });
                }
                (Event::Scalar(text, _, _, None), span) => {
                    (std::sync::Arc::<str>::from(&*text), span)
                }
                (_, span) => {
                    return Err(self.refuse(span, "a key that is a scalar", "a collection"));
                }
            };
            if !seen.insert(key.clone()) {
                let place = self.source.place(key_span);
                return Err(DUPLICATE_KEY.at(place, "each key once", format!("`{key}` again")));
            }
            let (event, span) = self.next()?;
            let value = self.value(event, span, depth + 1)?;
            members.push(Member { key, key_span, value });
        }
    }

    /// The value of an unquoted scalar (the core schema; numbers are decimal).
    fn plain(&self, text: &str, span: &Range<usize>) -> Result<Kind, Error> {
        Ok(match text {
            "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
            "true" | "True" | "TRUE" => Kind::Bool(true),
            "false" | "False" | "FALSE" => Kind::Bool(false),
            _ => match number(text) {
                Some(true) => Kind::Number(text.into()),
                Some(false) => {
                    let (place, found) = (self.source.place(span.clone()), format!("`{text}`"));
                    return Err(NOT_FINITE.at(place, "a finite number", found));
                }
                None => Kind::Text(text.into()),
            },
        })
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    fn offset(&self, marker: Marker) -> usize {
        let (index, end) = (marker.index(), self.source.text().len());
        match &self.boundaries {
            Some(boundaries) => boundaries.get(index).copied().unwrap_or(end),
            None => index.min(end),
        }
    }

    fn grammar(&self, error: &ScanError) -> Error {
        let at = self.offset(*error.marker());
        self.refuse(at..at + 1, "YAML", error.info())
    }

    fn refuse(&self, span: Range<usize>, expected: &str, found: &str) -> Error {
        SYNTAX.at(self.source.place(span), expected, found)
    }
}

/// Whether a text is a decimal number, and if so, whether it is finite.
fn number(text: &str) -> Option<bool> {
    let unsigned = text.trim_start_matches(['-', '+']);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(false);
    }
    let digits = unsigned.trim_start_matches('.').starts_with(|first: char| first.is_ascii_digit());
    let made_of = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+');
    if !digits || !text.chars().all(made_of) {
        return None;
    }
    text.parse::<f64>().ok().map(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, Error> {
        super::parse(Source::new("t.yaml", text.into()).unwrap())
    }

    #[test]
    fn a_task_list_is_read_with_its_places() {
        let text = "seed: 1 # one\nname:\nicl_tasks:\n-\n  label: copa\n  num_fewshot: [0, 10]\n  \
                    delimiter: \"\\nAnswer: \"\n- label: 'é b'\n  on: true\n  size: 1e-6\n";
        let document = parse(text).unwrap();
        let root = document.root();
        assert_eq!(root.at("/seed").unwrap().integer().unwrap(), 1);
        assert!(root.get("name").is_none());
        let shots = root.at("/icl_tasks/0/num_fewshot/1").unwrap();
        assert_eq!(
            (shots.integer().unwrap(), shots.place().line, shots.place().column),
            (10, 6, 20)
        );
        assert_eq!(root.at("/icl_tasks/0/delimiter").unwrap().text().unwrap(), "\nAnswer: ");
        let on = root.at("/icl_tasks/1/on").unwrap();
        assert_eq!((on.truth().unwrap(), on.place().line, on.place().column), (true, 9, 7));
        assert_eq!(on.place().excerpt, "  on: true");
        assert_eq!(root.at("/icl_tasks/1/size").unwrap().value().kind, Kind::Number("1e-6".into()));
        assert_eq!(
            root.at("label=copa").err().map(|e| e.code.id),
            Some("source::unresolved-pointer")
        );
    }

    #[test]
    fn what_readers_disagree_on_is_refused() {
        for (text, code, line) in [
            ("a: 1\na: 2\n", "source::duplicate-key", 2),
            ("a: &x [1]\nb: *x\n", "source::syntax", 2),
            ("a: !!str 1\n", "source::syntax", 1),
            ("? [1, 2]\n: 3\n", "source::syntax", 1),
            ("a: 1\n---\nb: 2\n", "source::syntax", 2),
            ("a: [1, 2\nb: 3\n", "source::syntax", 2),
            ("a: \"x\n", "source::syntax", 1),
            ("a: .nan\n", "source::not-finite", 1),
            ("a: 1e999\n", "source::not-finite", 1),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code.id, error.place.line), (code, line), "{text:?} {error}");
        }
        let nested = "[".repeat(DEPTH_CAP + 2) + &"]".repeat(DEPTH_CAP + 2);
        assert_eq!(parse(&nested).unwrap_err().code.id, "source::too-deep");
        // Here the grammar gives up before the depth is counted.
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert_eq!(parse("").unwrap().root().value().kind, Kind::Null);
        assert_eq!(parse("# nothing\n").unwrap().root().value().kind, Kind::Null);
    }

    proptest::proptest! {
        /// Reading ends for any text, and all spans are inside the text.
        #[test]
        fn any_text_is_read_or_refused(text in "[-\\[\\]{}:,\"'a0.e#&*!|>?é \n]{0,40}") {
            if let Ok(document) = parse(&text) {
                proptest::prop_assert!(document.root.span.end <= text.len());
            }
        }
    }
}
