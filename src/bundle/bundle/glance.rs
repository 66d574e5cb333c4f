//! A fast check whether a document is strict JSON in canonical form. It builds no tree, so a
//! bundle of many small documents is read at about the speed of hashing.
//!
//! Why there is a second acceptor of JSON: logs and items are lines, and building a tree of each line and spelling
//! it again makes the check of such a file take 2.4 times as long (`docs/explanation/hashing.md`).
//!
//! A yes is final. A no only means that the full parser has to decide: some canonical spellings are unknown
//! here, such as escapes, keys beyond ASCII and long integers.

use serde_json::{Number, Value as Json};

use super::canonical::is_integer;
use repro_core::digest::canonical;
use repro_core::source::{DEPTH_CAP, VALUE_CAP};

/// Integers of so many digits are the same in every reader of JSON.
const EXACT_DIGITS: usize = 15;

/// Whether `document` evidently is strict, canonical JSON and a line feed.
pub fn is_canonical(document: &[u8]) -> bool {
    document.strip_suffix(b"\n").is_some_and(is_canonical_line)
}

/// The same of a line that is given without its line feed.
pub fn is_canonical_line(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let mut glance = Glance { text, at: 0, depth: 0, values: 0 };
    glance.value().is_some() && glance.at == text.len()
}

/// How far a text was looked at; what is not evident ends the glance with nothing.
struct Glance<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    values: usize,
}

impl<'a> Glance<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<u8> {
        let next = self.rest().first().copied();
        self.at += 1;
        next
    }

    fn value(&mut self) -> Option<()> {
        self.values += 1;
        if self.values > VALUE_CAP {
            return None;
        }
        match self.rest().first()? {
            b'{' => {
                let mut last = None;
                self.inside(b'}', |glance| {
                    let key = glance.string()?;
                    // Keys in order are distinct as well.
                    let follows = last.is_none_or(|last| last < key);
                    (key.is_ascii() && follows && glance.next()? == b':').then_some(())?;
                    last = Some(key);
                    glance.value()
                })
            }
            b'[' => self.inside(b']', Self::value),
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// The items between brackets, each read by `item`.
    fn inside(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_CAP {
            return None;
        }
        if self.rest().first() == Some(&end) {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                match self.next()? {
                    b',' => {}
                    closed if closed == end => break,
                    _ => return None,
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// A string without escapes, and without what may need one.
    fn string(&mut self) -> Option<&'a str> {
        let inner = self.rest().strip_prefix(b"\"")?;
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0x7f | ..b' ');
        let length = inner.iter().position(special)?;
        let start = self.at + 1;
        self.at = start + length + 1;
        (inner.get(length) == Some(&b'"')).then_some(())?;
        self.text.get(start..start + length)
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest().strip_prefix(word)?;
        self.at += word.len();
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
        let length = self.rest().iter().take_while(of_number).count();
        let text = self.text.get(self.at..self.at + length)?;
        self.at += length;
        if !is_integer(text) {
            // Only a number of the grammar can be its own canonical text.
            let value = Number::from_f64(text.parse().ok()?)?;
            return (canonical(&Json::Number(value)).ok()? == text).then_some(());
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits == "0" || !digits.starts_with('0');
        (plain && (1..=EXACT_DIGITS).contains(&digits.len())).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::canonical;
    use proptest::prelude::*;
    use repro_core::source::{Document, Source};

    #[test]
    fn what_is_evident_is_seen_and_what_is_not_is_left() {
        for text in [
            "{}",
            "[]",
            "0",
            "-1",
            "\"\"",
            "null",
            "[true,false,null]",
            "{\"a\":[1,0.5,1e-7,1e+21,-3],\"b\":\"é \u{1f600}\",\"c\":{\"d\":{}}}",
            "123456789012345",
        ] {
            assert!(is_canonical_line(text.as_bytes()), "{text}");
            assert!(is_canonical(format!("{text}\n").as_bytes()), "{text}");
            assert!(!is_canonical(text.as_bytes()), "{text}");
            for cut in 0..text.len() {
                let part = &text.as_bytes()[..cut];
                assert!(!is_canonical_line(part) || text == "123456789012345", "{text} {cut}");
            }
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(is_canonical_line(deep(DEPTH_CAP).as_bytes()));
        assert!(!is_canonical_line(deep(DEPTH_CAP + 1).as_bytes()));
        let long = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(is_canonical_line(long(VALUE_CAP - 1).as_bytes()));
        assert!(!is_canonical_line(long(VALUE_CAP).as_bytes()));
        for text in [
            "",
            " ",
            "{} ",
            " {}",
            "[1,]",
            "[,1]",
            "[1 ,2]",
            "[1}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "{\"b\":1,\"a\":1}",
            "{\"a\":1,\"a\":1}",
            "{\"é\":1}",
            "\"\\n\"",
            "\"\u{7f}\"",
            "\"\t\"",
            "\"a",
            "tru",
            "truee",
            "nul",
            "-",
            "-0",
            "00",
            "01",
            "-01",
            "1.0",
            "1e5",
            "1E5",
            "+1",
            ".5",
            "1.",
            "1e-07",
            "1e400",
            "9007199254740993",
            "1e16",
            "0x10",
            "NaN",
            "inf",
            "1/*",
            "//",
            "1\n",
            "\u{feff}1",
        ] {
            assert!(!is_canonical_line(text.as_bytes()), "{text:?}");
        }
        assert!(!is_canonical_line(b"\"\xff\""));
    }

    /// What somebody who reads says.
    fn read(line: &str) -> bool {
        let source = Source::new("t.json", line.into()).unwrap();
        let document = Document::parse_json(source);
        document.is_ok_and(|document| canonical::check_line(&document).is_ok())
    }

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-(1_i64 << 60)..1 << 60).prop_map(Json::from),
            any::<i32>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            "\\PC{0,8}|[ -~]{0,8}|[\\x00-\\x7f]{0,4}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let key = "[a-c]{0,3}|[ -~]{0,3}|\\PC{0,2}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                prop::collection::vec((key, inner), 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A yes is right, for texts in their spelling and for texts that were changed a little.
        #[test]
        fn a_yes_is_final(value in json(), at in any::<prop::sample::Index>(), put in "[ -~]{0,2}", cut in 0..3_usize) {
            for text in [serde_json::to_string(&value).unwrap(), repro_core::digest::canonical(&value).unwrap_or_default()] {
                let mut edited: Vec<char> = text.chars().collect();
                let at = at.index(edited.len() + 1);
                let end = (at + cut).min(edited.len());
                edited.splice(at..end, put.chars());
                for text in [text, edited.into_iter().collect()] {
                    prop_assert!(!is_canonical_line(text.as_bytes()) || read(&text), "{:?}", text);
                }
            }
        }

        /// Plain documents, which are nearly all, are evident.
        #[test]
        fn a_plain_document_is_evident(
            members in prop::collection::btree_map("[ !#-\\[\\]-~]{0,6}", (any::<i32>(), -1e6_f64..1e6, "[ !#-\\[\\]-~éü]{0,9}"), 0..6)
        ) {
            let value = serde_json::json!(members);
            let text = repro_core::digest::canonical(&value).unwrap();
            prop_assume!(read(&text));
            prop_assert!(is_canonical_line(text.as_bytes()), "{}", text);
        }
    }
}
