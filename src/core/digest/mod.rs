//! SHA-256 digests and canonical JSON (RFC 8785), which make bytes comparable.
//!
//! Owns the [`Digest`] type, the hashing of streams, and the canonical JSON writer. Other modules decide which bytes are
//! hashed and what a wrong digest means.

use std::fmt;

use serde_json::Value;
use sha2::Digest as _;

use crate::sha256::Sha256;

mod stream;

pub use stream::{Stream, hash_stream, hash_streams};

/// All integers up to this one are exact in every JSON reader.
pub const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;
/// From this value on, canonical JSON has an exponent, so a number no longer looks like an integer.
const EXPONENT_FROM: f64 = 1e21;

/// A SHA-256 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub fn parse_hex(text: &str) -> Option<Self> {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
            let (high, low) = (nibble(*high), nibble(*low));
            wrong |= high | low;
            *byte = high << 4 | low & 0xf;
        }
        (wrong < 0x10).then_some(Self(bytes))
    }

    /// Parses the form with a prefix, `sha256:` and 64 digits.
    pub fn parse_prefixed(text: &str) -> Option<Self> {
        Self::parse_hex(text.strip_prefix("sha256:")?)
    }

    /// The form with a prefix, `sha256:` and 64 digits.
    pub fn prefixed(&self) -> String {
        format!("sha256:{self}")
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first four bytes as a big-endian number.
    pub fn head(&self) -> u32 {
        self.0.first_chunk().map_or(0, |head| u32::from_be_bytes(*head))
    }
}

/// The value of a hexadecimal digit, 16 or more for other bytes. It has no branches, because a bundle has many digits.
fn nibble(digit: u8) -> u8 {
    let (decimal, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    if decimal < 10 {
        decimal
    } else if letter < 6 {
        letter + 10
    } else {
        0x10
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An incremental hasher.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finish())
    }
}

/// The reason why a value has no canonical form.
#[derive(Debug, PartialEq, Eq)]
pub enum NotCanonical {
    /// The canonical text would be an integer that readers round differently.
    InexactInteger(String),
    /// The canonical writer rejected the value.
    Unwritable(String),
}

impl std::fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InexactInteger(number) => write!(
                f,
                "the number {number} prints as an integer beyond 2^53; write it as a string"
            ),
            Self::Unwritable(why) => write!(f, "not allowed in canonical JSON: {why}"),
        }
    }
}

impl std::error::Error for NotCanonical {}

/// Replaces floats that canonical JSON would write as inexact integers by strings.
pub fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if (EXACT_INTEGERS..EXPONENT_FROM).contains(&float.abs()) => {
                float.to_string().into()
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(exact).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, exact(value))).collect()
        }
        other => other,
    }
}

/// The canonical text (RFC 8785) of `value`, without a line feed.
pub fn canonical(value: &Value) -> Result<String, NotCanonical> {
    exact_numbers(value)?;
    serde_json_canonicalizer::to_string(value)
        .map_err(|error| NotCanonical::Unwritable(error.to_string()))
}

/// The canonicalizer rounds 2^53 + 1 silently to its even neighbor, so such numbers are rejected here.
fn exact_numbers(value: &Value) -> Result<(), NotCanonical> {
    match value {
        Value::Number(number) => {
            let integer = number.is_i64() || number.is_u64();
            let size = number.as_f64().map_or(f64::INFINITY, f64::abs);
            let rounded_up = number.as_u64().is_some_and(|n| n > 1 << 53)
                || number.as_i64().is_some_and(|n| n < -(1 << 53));
            if rounded_up || (size > EXACT_INTEGERS && (integer || size < EXPONENT_FROM)) {
                return Err(NotCanonical::InexactInteger(number.to_string()));
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(exact_numbers),
        Value::Object(members) => members.values().try_for_each(exact_numbers),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn floats_that_look_like_integers_become_texts() {
        let value =
            serde_json::json!({"a": [5.06e19, 1.5, 1e22, -9.1e15], "b": {"c": 7, "d": "x"}});
        let exact = exact(value);
        assert_eq!(
            canonical(&exact).unwrap(),
            r#"{"a":["50600000000000000000",1.5,1e+22,"-9100000000000000"],"b":{"c":7,"d":"x"}}"#
        );
    }

    #[test]
    fn digests_are_read_and_written() {
        let abc = Digest::of(b"abc");
        assert_eq!(abc.to_string(), ABC);
        assert_eq!(Digest::parse_hex(ABC), Some(abc));
        assert_eq!(Digest::parse_prefixed(&abc.prefixed()), Some(abc));
        for wrong in [&ABC[1..], &ABC.to_uppercase(), &ABC.replace('a', "g"), "", "sha256:"] {
            assert_eq!(Digest::parse_hex(wrong), None, "{wrong}");
        }
        assert_eq!(Digest::parse_prefixed(ABC), None);
    }

    #[test]
    fn numbers_are_written_as_the_standard_says() {
        for (value, text) in [
            (json!(1e-7), "1e-7"),
            (json!(0.000001), "0.000001"),
            (json!(-0.0), "0"),
            (json!(1.0), "1"),
            (json!(1e21), "1e+21"),
            (json!(9007199254740992_u64), "9007199254740992"),
            (json!(0.1_f32 as f64), "0.10000000149011612"),
            (json!({"b": 1, "a": {"é": "\u{1f}\"/"}}), "{\"a\":{\"é\":\"\\u001f\\\"/\"},\"b\":1}"),
            (json!({"\u{fb33}": 1, "\u{1f600}": 2}), "{\"\u{1f600}\":2,\"\u{fb33}\":1}"),
        ] {
            assert_eq!(canonical(&value).unwrap(), text);
        }
    }

    #[test]
    fn numbers_that_readers_round_are_refused() {
        for value in [
            json!(9007199254740993_u64),
            json!(-9007199254740993_i64),
            json!(u64::MAX),
            json!([{"a": 1e16}]),
            json!(-1e20),
        ] {
            assert!(matches!(canonical(&value), Err(NotCanonical::InexactInteger(_))), "{value}");
        }
    }
}
