//! Draws documents.

use std::convert::Infallible;

use super::grammar::Steps;
use super::table::{self, WeightedWords};
use super::words::{Lexicon, Word, WordForm, fixed};
use repro_stats::rng::Rng;

/// A document that is being drawn.
#[derive(Debug)]
pub(super) struct Draw<'a> {
    lexicon: &'a Lexicon,
    rng: &'a mut Rng,
    /// The text written so far.
    pub text: String,
}

impl<'a> Draw<'a> {
    pub fn new(lexicon: &'a Lexicon, rng: &'a mut Rng) -> Self {
        Self { lexicon, rng, text: String::with_capacity(1 << 10) }
    }

    fn write(&mut self, word: Word) {
        if word == fixed::NOTHING {
            return;
        }
        let spelling = self.lexicon.spelling(word);
        if is_apart(self.text.as_bytes()) && spelling.as_bytes().first().is_some_and(is_letter) {
            self.text.push(' ');
        }
        self.text.push_str(spelling);
    }
}

impl Steps for Draw<'_> {
    type Stop = Infallible;

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, Infallible> {
        let word = table.draw(self.rng, except);
        self.write(word.in_form(form));
        Ok(word)
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, Infallible> {
        let at = table::draw_recent(self.rng, words.len());
        self.write(words.get(at).copied().unwrap_or(fixed::NOTHING));
        Ok(at)
    }

    fn say(&mut self, word: Word) -> Result<(), Infallible> {
        self.write(word);
        Ok(())
    }
}

/// Whether a word that follows this text has a space before it: all have but the first of a line and
/// those after a hyphen.
pub(super) fn is_apart(before: &[u8]) -> bool {
    !matches!(before.last(), None | Some(b'\n' | b'-'))
}

/// Words are of letters and digits; a sign is one of the other bytes.
pub(super) fn is_letter(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric()
}
