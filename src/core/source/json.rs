//! Strict JSON in one pass: `serde_json` tokenizes and checks the grammar, and a cursor follows it to record the place of
//! each value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    DEPTH_CAP, DUPLICATE_KEY, Error, INEXACT_INTEGER, Kind, LOOSE_VALUE_CAP, Member, NOT_FINITE,
    SYNTAX, Source, TOO_DEEP, TOO_MANY_VALUES, VALUE_CAP, Value,
};

/// All integers up to this one are exact in every JSON reader.
const EXACT_INTEGERS: u64 = 1 << 53;
/// Up to this many keys are compared one by one, and this many values are allocated at once.
const FEW: usize = 32;
/// The estimated bytes per element of a long list: a list that grows step by step is copied each time.
const BYTES: usize = 64;

/// Parses the one document in `range`.
pub fn parse(source: &Source, range: Range<usize>) -> Result<Value, Error> {
    Reader::new(source).document(range)
}

/// Parses a document with at most `cap` values.
pub fn parse_long(source: &Source, cap: usize) -> Result<Value, Error> {
    Reader { cap, ..Reader::new(source) }.document(0..source.text().len())
}

/// Parses a document with integers of any size, which keep their digits.
pub fn parse_loose(source: &Source) -> Result<Value, Error> {
    Reader::loose(source).document(0..source.text().len())
}

/// The text of a document written by Python, which writes non-finite numbers as bare words. Each such word becomes a string
/// of the same length, so that places stay valid.
pub fn without_bare_words(text: String) -> String {
    const WORDS: &[(&str, &str)] =
        &[("-Infinity", "\"-Infini\""), ("Infinity", "\"Infini\""), ("NaN", "\"N\"")];
    if !WORDS.iter().any(|(word, _)| text.contains(word)) {
        return text;
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let (mut is_string, mut is_escaped) = (false, false);
    while let Some(next) = rest.chars().next() {
        let word = WORDS.iter().find(|(word, _)| !is_string && rest.starts_with(word));
        if let Some((word, instead)) = word {
            written.push_str(instead);
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        }
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_string,
            '"' => is_string = !is_string,
            _ => {}
        }
        written.push(next);
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    written
}

/// Parses one document per line as other programs write them: lines may be empty, and the last one may lack a line feed.
pub fn parse_loose_lines(source: &Source) -> Result<Value, Error> {
    let text = source.text();
    let mut reader = Reader::loose(source);
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            lines.push(reader.document(start..start + line.len())?);
        }
        start += line.len();
    }
    Ok(Value { kind: Kind::Array(lines), span: 0..text.len() })
}

/// Parses one document per line.
pub fn parse_lines(source: &Source) -> Result<Value, Error> {
    let text = source.text();
    let mut reader = Reader::new(source);
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if !line.ends_with('\n') {
            return Err(SYNTAX.at(
                source.place(start..end),
                "a line feed at the end of the last line",
                "a truncated line",
            ));
        }
        lines.push(reader.document(start..end - 1)?);
        start = end;
    }
    Ok(Value { kind: Kind::Array(lines), span: 0..text.len() })
}

/// Turns a grammar error in `text`, which starts at `start`, into an error with its place.
fn grammar(source: &Source, start: usize, text: &str, error: &serde_json::Error) -> Error {
    let line_start = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    // Column 0 is the line feed before.
    let at = (start + line_start + error.column()).saturating_sub(1).min(source.text().len());
    let message = error.to_string();
    let found = message.split(" at line ").next().unwrap_or(&message).to_owned();
    SYNTAX.at(source.place(at..at + 1), "JSON", found)
}

/// Reads the documents of one source with a common limit for the number of values.
struct Reader<'a> {
    source: &'a Source,
    /// The offset up to which the text was read.
    at: usize,
    depth: usize,
    values: usize,
    /// The elements of the lists that are still open: a list is built once its length is known.
    items: Vec<Value>,
    /// The members of the objects that are still open.
    members: Vec<Member>,
    /// The reason why reading stopped, unless it was the grammar.
    stopped: Option<Error>,
    /// Whether integers may exceed the exact range of a float.
    takes_large_integers: bool,
    /// The maximum number of values.
    cap: usize,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Self {
        let room = (source.text().len() / BYTES).clamp(FEW, VALUE_CAP);
        let (items, members) = (Vec::with_capacity(room), Vec::with_capacity(FEW));
        Self {
            source,
            at: 0,
            depth: 0,
            values: 0,
            items,
            members,
            stopped: None,
            takes_large_integers: false,
            cap: VALUE_CAP,
        }
    }

    fn loose(source: &'a Source) -> Self {
        Self { takes_large_integers: true, cap: LOOSE_VALUE_CAP, ..Self::new(source) }
    }

    fn document(&mut self, range: Range<usize>) -> Result<Value, Error> {
        let text = &self.source.text()[range.clone()];
        self.at = range.start;
        let mut tokens = serde_json::Deserializer::from_str(text);
        let read = self.deserialize(&mut tokens);
        read.and_then(|value| tokens.end().map(|()| value)).map_err(|error| {
            let stopped = self.stopped.take();
            stopped.unwrap_or_else(|| grammar(self.source, range.start, text, &error))
        })
    }

    /// Advances to the next token other than a comma or colon, and returns its first byte.
    fn next(&mut self) -> Option<u8> {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))
    }

    fn skip(&mut self, mut passed: impl FnMut(u8) -> bool) -> Option<u8> {
        let bytes = self.source.text().as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !passed(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Advances past the bracket that closes a list or an object, and leaves its level.
    fn close(&mut self) {
        self.skip(|byte| byte.is_ascii_whitespace());
        self.at += 1;
        self.depth -= 1;
    }

    /// Advances past the bracket that opens a list or an object.
    fn open<E: de::Error>(&mut self) -> Result<(), E> {
        self.at += 1;
        self.depth += 1;
        if self.depth <= DEPTH_CAP {
            return Ok(());
        }
        let place = self.source.place(self.at - 1..self.at);
        self.stop(TOO_DEEP.at(place, format!("at most {DEPTH_CAP} levels"), "more"))
    }

    fn count<E: de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        let cap = self.cap;
        if self.values <= cap {
            return Ok(());
        }
        let place = self.source.place(self.at..self.at + 1);
        self.stop(TOO_MANY_VALUES.at(place, format!("at most {cap} values"), "more"))
    }

    /// The key `key` at `index` of its object, shared with the previous element of a list, which mostly has the same keys.
    fn shared(&self, key: &str, index: usize) -> Arc<str> {
        let before = match self.items.last().map(|item| &item.kind) {
            Some(Kind::Object(members)) => members.get(index),
            _ => None,
        };
        match before {
            Some(member) if *member.key == *key => member.key.clone(),
            _ => key.into(),
        }
    }

    /// Stops the pass for a reason that is not in the grammar.
    fn stop<T, E: de::Error>(&mut self, error: Error) -> Result<T, E> {
        self.stopped = Some(error);
        Err(E::custom(""))
    }

    fn or_stop<T, E: de::Error>(&mut self, read: Result<T, Error>) -> Result<T, E> {
        read.or_else(|error| self.stop(error))
    }
}

impl<'a> DeserializeSeed<'a> for &mut Reader<'a> {
    type Value = Value;

    fn deserialize<D: Deserializer<'a>>(self, tokens: D) -> Result<Value, D::Error> {
        let first = self.next();
        self.count()?;
        let start = self.at;
        let kind = match first {
            Some(b'{') => tokens.deserialize_map(Object(self))?,
            Some(b'[') => tokens.deserialize_seq(List(self))?,
            Some(b'"') => Kind::Text(Text(self).deserialize(tokens)?.0.into()),
            _ => {
                let text = <&RawValue>::deserialize(tokens)?.get();
                self.at += text.len();
                match first {
                    Some(b't') => Kind::Bool(true),
                    Some(b'f') => Kind::Bool(false),
                    Some(b'n') => Kind::Null,
                    _ => {
                        let number = number(self, start..self.at, text);
                        Kind::Number(self.or_stop(number)?.into())
                    }
                }
            }
        };
        Ok(Value { kind, span: start..self.at })
    }
}

/// The number `text` in `span`.
fn number<'t>(reader: &Reader<'_>, span: Range<usize>, text: &'t str) -> Result<&'t str, Error> {
    let source = reader.source;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    if integer && digits.parse::<u64>().is_ok_and(|value| value <= EXACT_INTEGERS) {
        return Ok(text);
    }
    if !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(NOT_FINITE.at(source.place(span), "a finite number", format!("`{text}`")));
    }
    if integer && !reader.takes_large_integers {
        let found = format!("`{text}`");
        return Err(INEXACT_INTEGER.at(source.place(span), "an integer within 2^53", found));
    }
    Ok(text)
}

/// A string, with its place.
struct Text<'r, 'a>(&'r mut Reader<'a>);

impl<'a> DeserializeSeed<'a> for Text<'_, 'a> {
    type Value = (Cow<'a, str>, Range<usize>);

    fn deserialize<D: Deserializer<'a>>(self, tokens: D) -> Result<Self::Value, D::Error> {
        self.0.next();
        tokens.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Text<'_, 'a> {
    type Value = (Cow<'a, str>, Range<usize>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'a str) -> Result<Self::Value, E> {
        let start = self.0.at;
        self.0.at += text.len() + 2;
        Ok((text.into(), start..self.0.at))
    }

    /// A string with escapes. Its end is searched for, because its length in the text differs from the length of its value.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let start = self.0.at;
        let mut escaped = false;
        self.0.at += 1;
        self.0.skip(|byte| {
            let within = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            within
        });
        self.0.at += 1;
        Ok((text.to_owned().into(), start..self.0.at))
    }
}

/// The rest of a list after its bracket.
struct List<'r, 'a>(&'r mut Reader<'a>);

impl<'a> Visitor<'a> for List<'_, 'a> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut sequence: A) -> Result<Kind, A::Error> {
        let Self(reader) = self;
        reader.open()?;
        let first = reader.items.len();
        while let Some(item) = sequence.next_element_seed(&mut *reader)? {
            reader.items.push(item);
        }
        reader.close();
        Ok(Kind::Array(reader.items.split_off(first)))
    }
}

/// The rest of an object after its bracket.
struct Object<'r, 'a>(&'r mut Reader<'a>);

impl<'a> Visitor<'a> for Object<'_, 'a> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Kind, A::Error> {
        let Self(reader) = self;
        reader.open()?;
        let first = reader.members.len();
        while let Some((key, key_span)) = map.next_key_seed(Text(reader))? {
            let key = reader.shared(&key, reader.members.len() - first);
            let value = map.next_value_seed(&mut *reader)?;
            reader.members.push(Member { key, key_span, value });
        }
        reader.close();
        let members = reader.members.split_off(first);
        match repeated(&members) {
            None => Ok(Kind::Object(members)),
            Some(Member { key, key_span, .. }) => {
                let place = reader.source.place(key_span.clone());
                let found = format!("`{key}` again");
                reader.stop(DUPLICATE_KEY.at(place, "each key once", found))
            }
        }
    }
}

/// The first member that repeats an earlier key.
fn repeated(members: &[Member]) -> Option<&Member> {
    if members.len() <= FEW {
        let earlier = |at: usize| members.iter().take(at);
        let again = |&(at, member): &(usize, &Member)| earlier(at).any(|m| m.key == member.key);
        return members.iter().enumerate().find(again).map(|(_, member)| member);
    }
    let mut seen = HashSet::with_capacity(members.len());
    members.iter().find(|member| !seen.insert(&*member.key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy};

    use crate::source::{DEPTH_CAP, Document, Error, Kind, Member, Source, VALUE_CAP, Value};

    fn refuse(text: &str) -> Error {
        Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap_err()
    }

    #[test]
    fn every_value_knows_its_place() {
        let text = "{\"a\": [1, 2.50],\n \"ü\": {\"b\": \"x\"}}";
        let document = Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap();
        let b = document.root().at("/ü/b").unwrap();
        assert_eq!((b.place().line, b.place().column), (2, 13));
        assert_eq!(b.place().pointer, "/ü/b");
        let number = document.root().at("/a/1").unwrap();
        assert_eq!(number.value().kind, Kind::Number("2.50".into()));
    }

    #[test]
    fn what_readers_disagree_on_is_refused() {
        for (text, code) in [
            (r#"{"a":1,"a":2}"#, "source::duplicate-key"),
            (r#"{"a":1,"\u0061":2}"#, "source::duplicate-key"),
            ("1e999", "source::not-finite"),
            ("NaN", "source::syntax"),
            ("Infinity", "source::syntax"),
            ("9007199254740993", "source::inexact-integer"),
            ("{} {}", "source::syntax"),
            ("", "source::syntax"),
            ("[1,]", "source::syntax"),
            ("01", "source::syntax"),
            ("+1", "source::syntax"),
            ("// c\n1", "source::syntax"),
            ("0x10", "source::syntax"),
            ("[1-2]", "source::syntax"),
            ("{\"a\":1/* */}", "source::syntax"),
            ("\"\\ud800\"", "source::syntax"),
            ("\"a\nb\"", "source::syntax"),
        ] {
            assert_eq!(refuse(text).code.id, code, "{text}");
        }
        assert_eq!(refuse(&"[".repeat(100_000)).code.id, "source::too-deep");
        assert_eq!(refuse(&"{\"a\":".repeat(100_000)).code.id, "source::too-deep");
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(refuse(&nested).code.id, "source::too-deep");
        assert!(Source::new("t", b"\xef\xbb\xbf{}".to_vec()).is_err());
        assert!(Source::new("t", b"\xff\xfe{\0}\0".to_vec()).is_err());
    }

    #[test]
    fn documents_of_python_are_read_where_nobody_hashes_them() {
        let text =
            r#"{"NaN": NaN, "a": [-Infinity, Infinity, 9223372036854775807], "b": "NaN \"NaN"}"#;
        let source = Source::new("t.json", text.into()).unwrap();
        let document = Document::parse_loose_json(source).unwrap();
        let root = document.root();
        assert_eq!(root.at("/NaN").unwrap().text().unwrap(), "N");
        assert_eq!(root.at("/a/0").unwrap().text().unwrap(), "-Infini");
        assert_eq!(
            root.at("/a/2").unwrap().value().kind,
            Kind::Number("9223372036854775807".into())
        );
        assert_eq!(root.at("/b").unwrap().text().unwrap(), "NaN \"NaN");
        assert_eq!(root.at("/b").unwrap().place().column, text.find("\"NaN \\").unwrap() + 1);
    }

    #[test]
    fn lines_of_others_may_be_empty_and_need_not_end() {
        let source = Source::new("t.jsonl", b"{\"a\": NaN}\n\n{\"a\": 1}".to_vec()).unwrap();
        let document = Document::parse_loose_json_lines(source).unwrap();
        assert_eq!(document.root().items().unwrap().len(), 2);
        assert_eq!(document.root().at("/1/a").unwrap().place().line, 3);
        let source = Source::new("t.jsonl", b"{\"a\": 1}\n{\"a\"".to_vec()).unwrap();
        let error = Document::parse_loose_json_lines(source).unwrap_err();
        assert_eq!((error.code.id, error.place.line), ("source::syntax", 2));
    }

    #[test]
    fn depth_and_values_are_bounded() {
        let parse = |text: &str| Document::parse_json(Source::new("t.json", text.into()).unwrap());
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        parse(&deep(DEPTH_CAP)).unwrap();
        let error = refuse(&deep(DEPTH_CAP + 1));
        assert_eq!((error.code.id, error.place.column), ("source::too-deep", DEPTH_CAP + 1));
        // Brackets inside a string are not structure.
        parse(&format!("\"\\\"{}\"", "[{,".repeat(VALUE_CAP))).unwrap();
        let many = |values: usize| format!("[{}1]", "1,".repeat(values - 2));
        assert_eq!(parse(&many(VALUE_CAP)).unwrap().root().items().unwrap().len(), VALUE_CAP - 1);
        let error = refuse(&many(VALUE_CAP + 1));
        assert_eq!(error.code.id, "source::too-many-values");
        assert_eq!((error.place.line, error.place.column), (1, 2 * VALUE_CAP));
        let lines = |count: usize| Source::new("t.jsonl", "[1]\n".repeat(count).into()).unwrap();
        Document::parse(lines(1000)).unwrap();
        let error = Document::parse(lines(VALUE_CAP)).unwrap_err();
        assert_eq!(error.code.id, "source::too-many-values");
    }

    #[test]
    fn a_complaint_points_at_its_character() {
        let error = refuse("{\n  \"a\": nuk\n}");
        assert_eq!((error.place.line, error.place.excerpt.as_str()), (2, "  \"a\": nuk"));
        for (text, place) in
            [("{\"a\":\"b\nc\"}", (1, 8)), ("{\"a\":\"\u{1}\"}", (1, 7)), ("[1,\n}", (2, 1))]
        {
            let error = refuse(text);
            assert_eq!((error.place.line, error.place.column), place, "{text:?}");
        }
    }

    /// Checks that the place of each value is correct.
    fn placed(document: &Document, value: &Value) -> bool {
        let text = &document.source.text()[value.span.clone()];
        let spelled = |text: &str| serde_json::from_str::<String>(text).unwrap();
        match &value.kind {
            Kind::Null => text == "null",
            Kind::Bool(truth) => text == truth.to_string(),
            Kind::Number(number) => text == &**number,
            Kind::Text(string) => spelled(text) == **string,
            Kind::Array(items) => {
                // The list of the lines has no brackets.
                let lines = value.span == (0..document.source.text().len());
                (lines || text.starts_with('[') && text.ends_with(']'))
                    && items.iter().all(|item| placed(document, item))
            }
            Kind::Object(members) => {
                let key = |member: &Member| {
                    spelled(&document.source.text()[member.key_span.clone()]) == *member.key
                };
                text.starts_with('{')
                    && text.ends_with('}')
                    && members.iter().all(|m| key(m) && placed(document, &m.value))
            }
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let text = || r#"[a-c"\\\n\u{1}é😀,:\]} ]{0,5}"#;
        let leaf = proptest::prop_oneof![
            proptest::bool::ANY.prop_map(serde_json::Value::from),
            proptest::num::i32::ANY.prop_map(serde_json::Value::from),
            proptest::num::f64::NORMAL.prop_map(serde_json::Value::from),
            text().prop_map(serde_json::Value::from),
            Just(serde_json::Value::Null),
        ];
        leaf.prop_recursive(5, 60, 24, move |below| {
            proptest::prop_oneof![
                proptest::collection::vec(below.clone(), 0..6).prop_map(serde_json::Value::from),
                proptest::collection::btree_map(text(), below, 0..24)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn each_value_stands_where_its_place_says(value in any_json()) {
            let tight = value.to_string();
            let wide = format!(" {value:#}\n").replace('\n', "\r\n\t");
            let lines = format!("{tight}\n{tight} \n");
            for (name, text) in [("t.json", &tight), ("t.json", &wide), ("t.jsonl", &lines)] {
                let document = Document::parse(Source::new(name, text.clone().into()).unwrap()).unwrap();
                proptest::prop_assert!(placed(&document, &document.root), "{text}");
            }
        }

        /// Reading ends for any text, and a success agrees with the reference reader.
        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"\\a-f0-9eE.+\-unltrs \n]{0,40}"#) {
            if let Ok(document) = Document::parse_json(Source::new("t", text.clone().into()).unwrap()) {
                serde_json::from_str::<serde_json::Value>(&text).unwrap();
                proptest::prop_assert!(document.root.span.end <= text.len());
            }
        }
    }
}
