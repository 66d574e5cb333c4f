//! A small language to train on, whose probabilities are known exactly.
//!
//! A seed makes a world: words, which of them go together, and facts about people. Documents are
//! drawn from it without end. Each text has at most one derivation, so the probability of a document
//! is that of its steps, and the source's nats are the floor that no model gets below on average.
//! Learning thousands of facts takes more stored parameters, the likelier facts sooner. Active parameters
//! takes more active ones: verbs and adjectives that agree with nouns some words away, songs to
//! repeat, names to recall, sums. A topic, given first, is what all words of a document depend on.
//!
//! Owns documents and their probability, and questions about the language. Training, splits and
//! scoring are left to `replay`.

mod draw;
mod grammar;
mod read;
mod table;
mod tasks;
#[cfg(test)]
mod tests;
mod words;
mod world;

use draw::Draw;
use read::Read;
use repro_stats::rng::Rng;
use world::{World, WorldSize};

pub use tasks::{GeneratedTask, Question, QuestionForm, QuestionPassage};

/// A language: everything that follows from its seed.
#[derive(Debug)]
pub struct Language {
    seed: u64,
    world: World,
}

/// A text that the language does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no text of the language continues this way at byte {at}")]
pub struct NotOfTheLanguage {
    /// The byte up to which a text of the language may begin like this.
    pub at: usize,
}

/// The cost of a text under the source that it is drawn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Floor {
    /// Minus the logarithm of its probability, given how many documents it has.
    pub nats: f64,
    /// Documents, one after another.
    pub documents: usize,
}

impl Language {
    /// The language of this seed.
    pub fn new(seed: u64) -> Self {
        Self::of_size(seed, &WorldSize::STANDARD)
    }

    fn of_size(seed: u64, size: &WorldSize) -> Self {
        Self { seed, world: World::new(seed, size) }
    }

    /// The documents of a stream, without end; each ends with an empty line.
    ///
    /// Streams of different names, like `replay` and `validation`, are independent.
    pub fn documents(&self, stream: &str) -> impl Iterator<Item = String> {
        let mut rng = Rng::new(self.seed, &format!("language documents {stream}"));
        std::iter::repeat_with(move || self.draw(&mut rng))
    }

    fn draw(&self, rng: &mut Rng) -> String {
        let mut draw = Draw::new(&self.world.lexicon, rng);
        match grammar::document(&self.world, &mut draw) {
            Ok(()) => draw.text,
        }
    }

    /// Minus the logarithm of the probability of one document.
    pub fn nats(&self, document: &str) -> Result<f64, NotOfTheLanguage> {
        let (nats, end) = self.first(document.as_bytes())?;
        if end < document.len() { Err(NotOfTheLanguage { at: end }) } else { Ok(nats) }
    }

    /// The cost of documents under the source, one after another.
    pub fn floor(&self, text: &str) -> Result<Floor, NotOfTheLanguage> {
        let mut floor = Floor { nats: 0.0, documents: 0 };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let before = text.len() - rest.len();
            let (nats, end) =
                self.first(rest).map_err(|refused| NotOfTheLanguage { at: before + refused.at })?;
            rest = rest.get(end..).unwrap_or_default();
            floor.nats += nats;
            floor.documents += 1;
        }
        Ok(floor)
    }

    /// The nats of the document that a text begins with, and where it ends.
    fn first(&self, text: &[u8]) -> Result<(f64, usize), NotOfTheLanguage> {
        let mut read = Read::new(&self.world.lexicon, text);
        grammar::document(&self.world, &mut read)?;
        Ok((read.nats, read.at()))
    }
}
