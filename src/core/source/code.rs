//! The parts of a message: a code with its help, a location, and the error that joins them.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The maximum length of one part of a message, in characters: a quoted part may be a whole file.
const PART_CAP: usize = 1_000;

/// The codes that this program has, by their ids.
static KNOWN: OnceLock<HashMap<&'static str, &'static Code>> = OnceLock::new();

/// A kind of finding or failure. Ids are never reused once released.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `family::what-is-wrong`.
    pub id: &'static str,
    /// One sentence that describes the problem.
    pub meaning: &'static str,
    /// The action that solves the problem.
    pub help: &'static str,
}

impl Code {
    /// An error with this code.
    pub fn at(
        &'static self,
        mut place: Location,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        place.pointer = cut(place.pointer);
        Error(Box::new(Details {
            code: self,
            place,
            expected: cut(expected.into()),
            found: cut(found.into()),
            help: self.help.to_owned(),
        }))
    }
}

impl Code {
    /// Registers codes, so that serialized findings can be read back. The first call wins: it is the program's.
    pub fn learn(codes: impl IntoIterator<Item = &'static Self>) {
        KNOWN.get_or_init(|| codes.into_iter().map(|code| (code.id, code)).collect());
    }

    /// The registered code with this id.
    pub fn known(id: &str) -> Option<&'static Self> {
        KNOWN.get()?.get(id).copied()
    }
}

/// Truncates a part of a message to a readable length.
fn cut(mut part: String) -> String {
    if let Some((end, _)) = part.char_indices().nth(PART_CAP) {
        part.truncate(end);
        part.push('…');
    }
    part
}

/// Declares the codes of a module as statics, and `CODES`, the list of all of them.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $id:literal, $meaning:literal, $help:literal;)+) => {
        $(#[doc = concat!("`", $id, "`: ", $meaning, ".")]
        pub static $name: $crate::source::Code =
            $crate::source::Code { id: $id, meaning: $meaning, help: $help };)+
        /// Every code that this module raises.
        pub static CODES: &[&$crate::source::Code] = &[$(&$name),+];
    };
}
pub use crate::codes;

/// A place: a file, and a pointer, line and column in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Location {
    /// The file, relative to the root of the project.
    pub file: String,
    /// The JSON pointer, empty if there is none.
    pub pointer: String,
    /// Line from 1, or 0 if only the file is known.
    pub line: usize,
    /// Column in characters from 1, or 0.
    pub column: usize,
    /// The number of characters at this place.
    pub length: usize,
    /// The text of the line, or the part of a long line around the place.
    pub excerpt: String,
    /// The number of characters of the line before the excerpt.
    pub skipped: usize,
}

impl Location {
    /// A whole file.
    pub fn file(name: impl Into<String>) -> Self {
        Self { file: name.into(), ..Self::default() }
    }

    /// The same place with a pointer.
    pub fn with_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

/// The form in reports for programs, without the parts that only excerpts need; [`crate::kept`] keeps everything. Written
/// by hand, because a derive would make each user of this crate build a parser for Rust.
impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut location = serializer.serialize_struct("Location", 4)?;
        location.serialize_field("file", &self.file)?;
        location.serialize_field("pointer", &self.pointer)?;
        location.serialize_field("line", &self.line)?;
        location.serialize_field("column", &self.column)?;
        location.end()
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.pointer.is_empty() {
            write!(f, " {}", self.pointer)?;
        }
        Ok(())
    }
}

/// An input that cannot be used: expected, found, place and help.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<Details>);

/// The parts of a [`Error`].
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// The kind of failure.
    pub code: &'static Code,
    /// The place of the failure.
    pub place: Location,
    /// The accepted values.
    pub expected: String,
    /// The value at this place.
    pub found: String,
    /// The action that solves the problem.
    pub help: String,
}

impl Error {
    /// An error with these parts.
    pub(crate) fn of(details: Details) -> Self {
        Self(Box::new(details))
    }

    /// The same error with more specific help.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.0.help = text.into();
        self
    }

    /// The same error at a different place.
    pub fn moved(mut self, place: Location) -> Self {
        self.0.place = place;
        self
    }
}

impl std::ops::Deref for Error {
    type Target = Details;
    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Details { code, place, expected, found, help } = &*self.0;
        write!(
            f,
            "{place}: {}: expected {expected}, found {found}; {help} [{}]",
            code.meaning, code.id
        )
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::{Location, PART_CAP};
    use crate::source::SYNTAX;

    #[test]
    fn a_message_quotes_no_more_than_a_page() {
        let long = "é".repeat(1 << 20);
        let place = Location::file("a.json").with_pointer(format!("/{long}"));
        let error = SYNTAX.at(place, long.as_str(), long.as_str());
        for part in [&error.expected, &error.found, &error.place.pointer] {
            assert_eq!((part.chars().count(), part.ends_with('…')), (PART_CAP + 1, true));
        }
        let whole = "x".repeat(PART_CAP);
        assert_eq!(SYNTAX.at(Location::file("a"), "JSON", whole.as_str()).found, whole);
    }
}
