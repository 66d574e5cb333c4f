//! Reads documents: recovers the one derivation of a text, with its probability.

use super::NotOfTheLanguage;
use super::draw::{is_apart, is_letter};
use super::grammar::Steps;
use super::table::{self, WeightedWords};
use super::words::{Lexicon, Word, WordForm, fixed};

/// A text that is being read.
#[derive(Debug)]
pub(super) struct Read<'a> {
    lexicon: &'a Lexicon,
    text: &'a [u8],
    at: usize,
    /// The next word and where it ends, if it is one.
    next: Option<(Word, usize)>,
    /// Minus the logarithm of the probability of what has been read.
    pub nats: f64,
}

impl<'a> Read<'a> {
    pub fn new(lexicon: &'a Lexicon, text: &'a [u8]) -> Self {
        let mut read = Self { lexicon, text, at: 0, next: None, nats: 0.0 };
        read.look();
        read
    }

    /// How far the text has been read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Finds the next word.
    fn look(&mut self) {
        let (before, rest) = self.text.split_at(self.at);
        let start = usize::from(is_apart(before) && rest.first() == Some(&b' '));
        let letters = rest.iter().skip(start).take_while(|byte| is_letter(byte)).count();
        // A sign has no space before it, and a word has one where it must.
        let spaced = letters > 0 && is_apart(before);
        let end = start + letters.max(1);
        self.next = rest
            .get(start..end)
            .filter(|_| (start == 1) == spaced)
            .and_then(|spelling| Some((self.lexicon.word(spelling)?, self.at + end)));
    }

    fn refused(&self) -> NotOfTheLanguage {
        NotOfTheLanguage { at: self.at }
    }

    fn pass(&mut self, end: usize) {
        self.at = end;
        self.look();
    }
}

impl Steps for Read<'_> {
    type Stop = NotOfTheLanguage;

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, NotOfTheLanguage> {
        let next = self.next.and_then(|(word, end)| {
            let word = word.out_of_form(form)?;
            Some((table.place(word).filter(|_| !except.contains(&word))?, end))
        });
        let place = match next {
            Some((place, end)) => {
                self.pass(end);
                place
            }
            None => table.place(fixed::NOTHING).ok_or_else(|| self.refused())?,
        };
        self.nats += table.nats(place, except);
        table.words().get(place).copied().ok_or_else(|| self.refused())
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, NotOfTheLanguage> {
        let (word, end) = self.next.ok_or_else(|| self.refused())?;
        let at = words.iter().position(|known| *known == word).ok_or_else(|| self.refused())?;
        self.nats += table::recent_nats(at, words.len());
        self.pass(end);
        Ok(at)
    }

    fn say(&mut self, word: Word) -> Result<(), NotOfTheLanguage> {
        let (next, end) = self.next.ok_or_else(|| self.refused())?;
        if next != word {
            return Err(self.refused());
        }
        self.pass(end);
        Ok(())
    }
}
