//! Serialization of verification results for the same program: places with their excerpts, codes by their ids, and words of
//! the program.
//!
//! Reports for other programs have a different format without these details.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::digest::Digest;
use crate::source::{Code, Details, Error, Location};
use crate::verdict::Verdict;

/// A word of the program: the name of a kind, a rule or a unit. The type alias is needed because serde cannot deserialize a
/// plain `&'static str` from shorter-lived input.
pub type ProgramWord = &'static str;

/// The maximum number of words, and of bytes per word.
const WORDS: usize = 4_096;
const LENGTH: usize = 128;

/// The words read so far.
static KNOWN: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// Reads a word of the program. Each word is kept for the lifetime of the program.
pub fn word<'de, D: Deserializer<'de>>(from: D) -> Result<ProgramWord, D::Error> {
    let text = String::deserialize(from)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(word) = known.get(text.as_str()) {
        return Ok(word);
    }
    if known.len() >= WORDS || text.len() > LENGTH {
        return Err(D::Error::custom("not a word of this program"));
    }
    let word: &'static str = Box::leak(text.into_boxed_str());
    known.insert(word);
    Ok(word)
}

/// Reads an optional word.
pub fn any_word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ProgramWord>, D::Error> {
    struct Read(ProgramWord);
    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            word(from).map(Self)
        }
    }
    Ok(Option::<Read>::deserialize(from)?.map(|word| word.0))
}

/// A [`Location`] with all of its parts.
pub mod place {
    use super::{Deserialize, Deserializer, Location, Serialize, Serializer};

    /// Writes it.
    pub fn serialize<S: Serializer>(place: &Location, to: S) -> Result<S::Ok, S::Error> {
        let Location { file, pointer, line, column, length, excerpt, skipped } = place;
        (file, pointer, (line, column, length), excerpt, skipped).serialize(to)
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Location, D::Error> {
        let (file, pointer, (line, column, length), excerpt, skipped) =
            Deserialize::deserialize(from)?;
        Ok(Location { file, pointer, line, column, length, excerpt, skipped })
    }
}

/// A place as a part of something that is kept.
struct KeptPlace(Location);

impl<'de> Deserialize<'de> for KeptPlace {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        place::deserialize(from).map(Self)
    }
}

impl Serialize for KeptPlace {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        place::serialize(&self.0, to)
    }
}

/// Serialized as its id.
impl Serialize for Code {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.id)
    }
}

impl<'de> Deserialize<'de> for &'static Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = String::deserialize(from)?;
        Code::known(&id).ok_or_else(|| D::Error::custom("a code unknown to this program"))
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let known = Self::ALL.into_iter().find(|verdict| verdict.word() == word);
        known.ok_or_else(|| D::Error::custom("not a verdict"))
    }
}

/// Serialized as its digits.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(from)?;
        Self::parse_hex(&digits).ok_or_else(|| D::Error::custom("not a SHA-256 digest"))
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Details { code, place, expected, found, help } = &**self;
        (code, KeptPlace(place.clone()), expected, found, help).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (code, place, expected, found, help) =
            <(&'static Code, KeptPlace, String, String, String)>::deserialize(from)?;
        Ok(Self::of(Details { code, place: place.0, expected, found, help }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    #[test]
    fn what_is_kept_is_read_again() {
        Code::learn(source::CODES.iter().copied());
        let place = Location {
            file: "a.json".to_owned(),
            pointer: "/b".to_owned(),
            line: 3,
            column: 4,
            length: 5,
            excerpt: "xé".to_owned(),
            skipped: 6,
        };
        let error = source::SYNTAX.at(place, "JSON", "\u{202e}").help("another way out");
        let kept = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<Error>(&kept).unwrap(), error);
        for verdict in Verdict::ALL {
            let kept = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&kept).unwrap(), verdict);
        }
        assert!(serde_json::from_str::<&'static Code>("\"no::such\"").is_err());
        assert!(serde_json::from_str::<Verdict>("\"true\"").is_err());
        let mut long = serde_json::Deserializer::from_str("\"none\"");
        assert_eq!(word(&mut long).unwrap(), "none");
        let text = format!("\"{}\"", "x".repeat(LENGTH + 1));
        assert!(word(&mut serde_json::Deserializer::from_str(&text)).is_err());
        let mut none = serde_json::Deserializer::from_str("null");
        assert_eq!(any_word(&mut none).unwrap(), None);
    }
}
