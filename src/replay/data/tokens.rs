//! A long sequence of token numbers, in the narrowest form that holds it.

use std::ops::Range;

/// The tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokens {
    /// Tokens that are the bytes of the text.
    Bytes(Vec<u8>),
    /// Tokens of any vocabulary.
    Wide(Vec<u32>),
}

impl Tokens {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(tokens) => tokens.len(),
            Self::Wide(tokens) => tokens.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the tokens of `range` to `into`; what lies beyond the end is left out.
    pub fn extend(&self, range: Range<usize>, into: &mut Vec<u32>) {
        let range = range.start.min(self.len())..range.end.min(self.len());
        match self {
            Self::Bytes(tokens) => {
                into.extend(
                    tokens.get(range).unwrap_or_default().iter().map(|&byte| u32::from(byte)),
                );
            }
            Self::Wide(tokens) => into.extend_from_slice(tokens.get(range).unwrap_or_default()),
        }
    }

    /// Adds tokens at the end; both sides come from one tokenizer, and so have one form.
    pub(super) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Bytes(tokens), Self::Bytes(more)) => tokens.extend(more),
            (Self::Wide(tokens), more) => more.extend(0..more.len(), tokens),
            (narrow @ Self::Bytes(_), Self::Wide(more)) => {
                let mut tokens = Vec::with_capacity(narrow.len() + more.len());
                narrow.extend(0..narrow.len(), &mut tokens);
                tokens.extend(more);
                *narrow = Self::Wide(tokens);
            }
        }
    }
}
