//! The grammar: how a document is derived, step by step.
//!
//! One walk serves all who derive: whoever draws a document, reads one or looks for questions in one
//! takes the same [`Steps`] in the same order, so a probability cannot differ from what is drawn.
//!
//! Each text has at most one derivation. A text falls into words and signs in one way. Each step
//! takes the next of them: either it is given, or it is one of a table's, which are spelled
//! differently. Where nothing is among the alternatives, what comes next is none of the others.
//!
//! ```text
//! document   topic LINE sentence+ LINE            at least three sentences
//! sentence   subject predicate (, predicate)* . LINE
//! subject    determiner thing | enter NAME | pronoun | NAME        the last two: named before
//! thing      noun adjective? (of noun adjective?)*
//! predicate  verb object? place?                  the verb agrees with the first noun, or the person
//!          | relation value                       people only; a fact
//!          | sings ba-ki-ru: ba-ki-ru             people only; the second is the first again
//!          | adds 14 and 25: 39                   people only
//! object     determiner thing | NAME
//! place      (in | by | under) thing
//! ```

use super::table::{REMEMBERED, WeightedWords};
use super::words::{Word, WordForm, fixed};
use super::world::{CLASSES, Topic, World};

/// Sentences before a document may end.
const FIRST_SENTENCES: usize = 3;

/// The interface of a derivation: it makes or meets each choice.
pub(super) trait Steps {
    /// Why a derivation goes no further.
    type Stop;
    /// One of the words of a table that are not in `except`; written in `form`, given in the first.
    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, Self::Stop>;
    /// The place of one of the words used before, the latest first.
    fn recall(&mut self, words: &[Word]) -> Result<usize, Self::Stop>;
    /// The word that must follow.
    fn say(&mut self, word: Word) -> Result<(), Self::Stop>;
    /// Marks the next word as worth a question.
    fn mark(&mut self, _: Mark) {}
}

/// The kind of the next part of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// The first noun of a subject.
    Head,
    /// The verb of the last head: other nouns stand between them, and nothing else shows the number.
    Verb,
    /// The word that a relation gives for a person.
    Value { person: Word, relation: Word },
    /// The second time of a song.
    Song,
    /// The sum of two numbers.
    Sum,
}

/// Derives one document.
pub(super) fn document<S: Steps>(world: &World, steps: &mut S) -> Result<(), S::Stop> {
    let word = steps.choose(&world.topics, WordForm::FIRST, &[])?;
    let Some(topic) = world.topic(word) else { return Ok(()) };
    steps.say(fixed::LINE)?;
    let mut people = Vec::with_capacity(REMEMBERED);
    for sentence in 0_usize.. {
        let starts = world.starts(sentence < FIRST_SENTENCES, people.first().copied());
        let start = steps.choose(starts, WordForm::FIRST, &[])?;
        if start == fixed::LINE {
            break;
        }
        Sentence { world, topic, people: &mut people, steps }.derive(start)?;
    }
    Ok(())
}

/// A sentence under way.
struct Sentence<'a, S> {
    world: &'a World,
    topic: &'a Topic,
    /// Who has been named, the latest first.
    people: &'a mut Vec<Word>,
    steps: &'a mut S,
}

/// Whom a predicate is said of, if of somebody, and the form of a verb that agrees.
struct Subject {
    person: Option<Word>,
    form: usize,
}

/// A noun with what belongs to it.
struct Thing {
    form: usize,
    /// Whether an adjective shows the form.
    shown: bool,
    /// Whether other nouns follow.
    long: bool,
}

impl<S: Steps> Sentence<'_, S> {
    fn derive(&mut self, start: Word) -> Result<(), S::Stop> {
        let subject = self.subject(start)?;
        loop {
            match subject.person {
                Some(person) => self.deed(person, subject.form)?,
                None => self.event(subject.form)?,
            }
            if self.plain(&self.world.joins)? == fixed::STOP {
                return self.steps.say(fixed::LINE);
            }
        }
    }

    fn plain(&mut self, table: &WeightedWords) -> Result<Word, S::Stop> {
        self.steps.choose(table, WordForm::FIRST, &[])
    }

    fn subject(&mut self, start: Word) -> Result<Subject, S::Stop> {
        let person = if start == fixed::ENTER {
            let person = self.steps.choose(&self.topic.people, WordForm::FIRST, self.people)?;
            self.people.truncate(REMEMBERED - 1);
            self.people.insert(0, person);
            Some(person)
        } else if start == fixed::NOTHING {
            Some(self.somebody()?)
        } else if World::is_pronoun(start) {
            self.people.first().copied()
        } else {
            None
        };
        if let Some(person) = person {
            return Ok(Subject { person: Some(person), form: self.world.class_of_person(person) });
        }
        self.steps.mark(Mark::Head);
        let thing = self.thing(&self.topic.nouns)?;
        if thing.long && !thing.shown {
            self.steps.mark(Mark::Verb);
        }
        Ok(Subject { person: None, form: thing.form })
    }

    /// Somebody who has been named; from now on the latest.
    fn somebody(&mut self) -> Result<Word, S::Stop> {
        let at = self.steps.recall(self.people)?;
        if let Some(upto) = self.people.get_mut(..=at) {
            upto.rotate_right(1);
        }
        Ok(self.people.first().copied().unwrap_or(fixed::NOTHING))
    }

    /// A noun and what belongs to it.
    fn thing(&mut self, nouns: &WeightedWords) -> Result<Thing, S::Stop> {
        let mut thing = self.noun(nouns)?;
        while self.plain(&self.world.attributes)? == fixed::OF {
            self.noun(&self.topic.nouns)?;
            thing.long = true;
        }
        Ok(thing)
    }

    /// A noun and perhaps an adjective.
    fn noun(&mut self, nouns: &WeightedWords) -> Result<Thing, S::Stop> {
        let noun = self.plain(nouns)?;
        let number = self.world.lexicon.nouns.form_of(noun);
        let form = self.world.class_of_noun(noun) + CLASSES * number;
        let adjective_form = self.world.lexicon.adjectives.form(form);
        let shown = match self.world.adjectives(noun) {
            Some(some) => self.steps.choose(some, adjective_form, &[])? != fixed::NOTHING,
            None => false,
        };
        Ok(Thing { form, shown, long: false })
    }

    /// A person's action.
    fn deed(&mut self, person: Word, form: usize) -> Result<(), S::Stop> {
        let predicate = self.plain(&self.world.predicates)?;
        if predicate == fixed::NOTHING {
            self.event(form)
        } else if predicate == fixed::SINGS {
            self.song()
        } else if predicate == fixed::ADDS {
            self.sum()
        } else {
            self.steps.mark(Mark::Value { person, relation: predicate });
            self.steps.say(self.world.fact(person, predicate).unwrap_or(fixed::NOTHING))
        }
    }

    fn event(&mut self, form: usize) -> Result<(), S::Stop> {
        let form = self.world.lexicon.verbs.form(form);
        let verb = self.steps.choose(&self.topic.verbs, form, &[])?;
        if let Some(objects) = self.world.objects(verb) {
            self.object(objects)?;
        }
        if self.plain(&self.world.places)? != fixed::NOTHING {
            self.thing(&self.topic.nouns)?;
        }
        Ok(())
    }

    fn object(&mut self, objects: &WeightedWords) -> Result<(), S::Stop> {
        let starts = if self.people.is_empty() {
            &self.world.determiners
        } else {
            &self.world.object_starts
        };
        if self.plain(starts)? == fixed::NOTHING {
            self.somebody()?;
        } else {
            self.thing(objects)?;
        }
        Ok(())
    }

    /// Syllables that make no word, twice.
    fn song(&mut self) -> Result<(), S::Stop> {
        let mut song = Vec::new();
        loop {
            song.push(self.plain(&self.world.syllables)?);
            if self.plain(&self.world.songs)? == fixed::COLON {
                break;
            }
        }
        self.steps.mark(Mark::Song);
        for (at, syllable) in song.into_iter().enumerate() {
            if at > 0 {
                self.steps.say(fixed::HYPHEN)?;
            }
            self.steps.say(syllable)?;
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), S::Stop> {
        let numbers = self.world.lexicon.numbers;
        let first = self.plain(&self.world.numbers)?;
        self.steps.say(fixed::AND)?;
        let second = self.plain(&self.world.numbers)?;
        self.steps.say(fixed::COLON)?;
        self.steps.mark(Mark::Sum);
        self.steps.say(numbers.word(numbers.place(first) + numbers.place(second)))?;
        Ok(())
    }
}
