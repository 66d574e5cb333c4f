//! What a message is made of: a code with its way out, a place, and the refusal that joins them.

use serde::Serialize;

/// The most characters of one part of a message: what it quotes may be a whole file.
const PART_CAP: usize = 1_000;

/// A kind of finding or failure, released once and never reused.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `family::what-is-wrong`.
    pub id: &'static str,
    /// One sentence for people.
    pub meaning: &'static str,
    /// What a person can do about it.
    pub way_out: &'static str,
}

impl Code {
    /// A refusal with this code.
    pub fn at(
        &'static self,
        mut place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Refusal {
        place.pointer = cut(place.pointer);
        Refusal(Box::new(Details {
            code: self,
            place,
            expected: cut(expected.into()),
            found: cut(found.into()),
            way_out: self.way_out.to_owned(),
        }))
    }
}

/// A part of a message at a length that somebody reads.
fn cut(mut part: String) -> String {
    if let Some((end, _)) = part.char_indices().nth(PART_CAP) {
        part.truncate(end);
        part.push('…');
    }
    part
}

/// Declares the codes of a module as statics, and `CODES`, the list of all of them.
macro_rules! codes {
    ($($name:ident = $id:literal, $meaning:literal, $way_out:literal;)+) => {
        $(#[doc = concat!("`", $id, "`: ", $meaning, ".")]
        pub static $name: $crate::source::Code =
            $crate::source::Code { id: $id, meaning: $meaning, way_out: $way_out };)+
        /// Every code that this module raises.
        pub static CODES: &[&$crate::source::Code] = &[$(&$name),+];
    };
}
pub(crate) use codes;

/// Where something stands: a file, and inside it a pointer, a line and a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Place {
    /// The file, relative to the root of the project.
    pub file: String,
    /// The JSON pointer, empty where there is none.
    pub pointer: String,
    /// Line from 1, or 0 where only the file is known.
    pub line: usize,
    /// Column in characters from 1, or 0.
    pub column: usize,
    /// How many characters are meant.
    #[serde(skip)]
    pub length: usize,
    /// The text of the line.
    #[serde(skip)]
    pub excerpt: String,
}

impl Place {
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

impl std::fmt::Display for Place {
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

/// An input that cannot be used: what was expected, what was found, where, and the way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal(Box<Details>);

/// The parts of a [`Refusal`].
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// The kind of failure.
    pub code: &'static Code,
    /// Where.
    pub place: Place,
    /// What would have been accepted.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What a person can do about it.
    pub way_out: String,
}

impl Refusal {
    /// The same refusal with a more specific way out.
    pub fn way_out(mut self, text: impl Into<String>) -> Self {
        self.0.way_out = text.into();
        self
    }

    /// The same refusal at another place.
    pub fn moved(mut self, place: Place) -> Self {
        self.0.place = place;
        self
    }
}

impl std::ops::Deref for Refusal {
    type Target = Details;
    fn deref(&self) -> &Details {
        &self.0
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Details { code, place, expected, found, way_out } = &*self.0;
        write!(
            f,
            "{place}: {}: expected {expected}, found {found}; {way_out} [{}]",
            code.meaning, code.id
        )
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::{PART_CAP, Place};
    use crate::source::SYNTAX;

    #[test]
    fn a_message_quotes_no_more_than_a_page() {
        let long = "é".repeat(1 << 20);
        let place = Place::file("a.json").with_pointer(format!("/{long}"));
        let refusal = SYNTAX.at(place, long.as_str(), long.as_str());
        for part in [&refusal.expected, &refusal.found, &refusal.place.pointer] {
            assert_eq!((part.chars().count(), part.ends_with('…')), (PART_CAP + 1, true));
        }
        let whole = "x".repeat(PART_CAP);
        assert_eq!(SYNTAX.at(Place::file("a"), "JSON", whole.as_str()).found, whole);
    }
}
