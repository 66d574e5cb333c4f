//! Questions about a language: what a model that knows it well gets right.
//!
//! Questions are found in documents drawn for them alone: the context is the beginning of a document,
//! so nothing about a question is unlike the text that was trained on. The right passage goes on as the
//! document does; the others are none that the language has.

use std::collections::HashSet;
use std::convert::Infallible;

use super::Language;
use super::draw::{Draw, is_letter};
use super::grammar::{self, Mark, Steps};
use super::table::WeightedWords;
use super::words::{Word, WordForm};
use super::world::{World, drawn};
use repro_stats::rng::Rng;

/// Bytes of a passage at most, so that a model with 128 tokens of context sees all of it.
const PASSAGE_CAP: usize = 120;
/// Passages of a multiple choice.
const CHOICES: usize = 4;
/// So many people of each topic, the likeliest to be named, are common: a sixteenth of all, and over a
/// third of those introduced.
const COMMON: usize = 8;
/// Documents that are looked through for each question asked for; in a large world a few suffice.
const PATIENCE: usize = 64;

/// Questions of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedTask {
    /// Its name.
    pub name: &'static str,
    /// How its questions are put.
    pub form: QuestionForm,
    /// The questions.
    pub questions: Vec<Question>,
}

/// How questions are put, as in the DCLM layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuestionForm {
    /// One context, four continuations.
    MultipleChoice,
    /// Two contexts, one continuation.
    Schema,
    /// One context, one continuation, each byte of which should be the likeliest.
    LanguageModeling,
}

/// Passages to choose from, of equal length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The passages.
    pub passages: Vec<QuestionPassage>,
    /// Which of them is right.
    pub gold: usize,
}

/// A beginning of a document and how it goes on; the continuation begins with its space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionPassage {
    /// The context.
    pub context: String,
    /// The continuation.
    pub continuation: String,
}

/// A maker of one question about a document, if the document supports one.
type Ask = fn(&Material, &mut Rng) -> Option<Asked>;

/// Every task.
const TASKS: [(&str, QuestionForm, Ask); 6] = [
    ("facts_common", QuestionForm::MultipleChoice, |of, rng| of.fact(rng, true)),
    ("facts_rare", QuestionForm::MultipleChoice, |of, rng| of.fact(rng, false)),
    ("topic", QuestionForm::MultipleChoice, |of, rng| of.topic(rng)),
    ("agreement", QuestionForm::Schema, |of, rng| of.agreement(rng)),
    ("songs", QuestionForm::LanguageModeling, |of, _| of.as_written(Mark::Song)),
    ("sums", QuestionForm::LanguageModeling, |of, _| of.as_written(Mark::Sum)),
];

impl Language {
    /// The tasks of this language, each of so many questions, at most one from each document.
    ///
    /// `facts_common` and `facts_rare`: what holds for people that are named often, or seldom, and has
    /// not been said before (four choices). `topic`: a noun that belongs to the topic (four choices).
    /// `agreement`: after which of two subjects, one and many, a verb may follow with other nouns in
    /// between. `songs`: syllables to be repeated. `sums`: sums of two numbers.
    pub fn tasks(&self, questions: usize) -> Vec<GeneratedTask> {
        let mut rng = Rng::new(self.seed, "language tasks");
        let mut seen = HashSet::new();
        let mut tasks =
            TASKS.map(|(name, form, _)| GeneratedTask { name, form, questions: Vec::new() });
        for _ in 0..questions.saturating_mul(PATIENCE) {
            let mut missing = false;
            let material = Material::draw(&self.world, &mut rng);
            for (task, (_, _, ask)) in tasks.iter_mut().zip(TASKS) {
                if task.questions.len() >= questions {
                    continue;
                }
                missing = true;
                if let Some(asked) = ask(&material, &mut rng)
                    && seen.insert((task.name, asked.about))
                {
                    task.questions.push(asked.question);
                }
            }
            if !missing {
                break;
            }
        }
        tasks.into()
    }
}

/// A question and what makes it the same as another.
struct Asked {
    about: String,
    question: Question,
}

/// A document and what in it is worth a question.
struct Material<'a> {
    world: &'a World,
    text: String,
    /// Where marks are, in order.
    marks: Vec<(usize, Mark)>,
}

/// Draws a document and notes its marks.
struct Noting<'a> {
    draw: Draw<'a>,
    marks: Vec<(usize, Mark)>,
}

impl Steps for Noting<'_> {
    type Stop = Infallible;

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, Infallible> {
        self.draw.choose(table, form, except)
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, Infallible> {
        self.draw.recall(words)
    }

    fn say(&mut self, word: Word) -> Result<(), Infallible> {
        self.draw.say(word)
    }

    fn mark(&mut self, mark: Mark) {
        self.marks.push((self.draw.text.len(), mark));
    }
}

impl<'a> Material<'a> {
    fn draw(world: &'a World, rng: &mut Rng) -> Self {
        let mut noting = Noting { draw: Draw::new(&world.lexicon, rng), marks: Vec::new() };
        match grammar::document(world, &mut noting) {
            Ok(()) => Self { world, text: noting.draw.text, marks: noting.marks },
        }
    }

    /// The text before a place, and the word or song there with its space; none where it is late.
    fn split(&self, at: usize) -> Option<(&str, &str)> {
        let (before, rest) = self.text.split_at_checked(at)?;
        let skipped = usize::from(rest.starts_with(' '));
        let is_part = |byte: &u8| is_letter(byte) || *byte == b'-';
        let length = skipped + rest.bytes().skip(skipped).take_while(is_part).count();
        (at + length <= PASSAGE_CAP).then_some((before, rest.get(..length)?))
    }

    fn fact(&self, rng: &mut Rng, common: bool) -> Option<Asked> {
        let mut said = HashSet::new();
        self.marks.iter().find_map(|(at, mark)| {
            let Mark::Value { person, relation } = *mark else { return None };
            let is_new = said.insert((person, relation));
            if !is_new || (self.world.rank(person) < COMMON) != common {
                return None;
            }
            let value = self.world.fact(person, relation)?;
            let others = self.world.values(relation)?.words().filter(|other| *other != value);
            let spelling = |word| self.world.lexicon.spelling(word);
            let about = format!("{} {}", spelling(person), spelling(relation));
            self.choice(*at, others, rng).map(|question| Asked { about, question })
        })
    }

    /// The first noun, if the first sentence begins with one.
    fn topic(&self, rng: &mut Rng) -> Option<Asked> {
        let (at, _) = *self.marks.first().filter(|(_, mark)| *mark == Mark::Head)?;
        let (topic, rest) = self.text.split_once('\n')?;
        if rest.split_once('\n')?.0.len() + topic.len() < at {
            return None;
        }
        let (context, noun) = self.split(at)?;
        let noun = self.world.lexicon.word(noun.trim_start().as_bytes())?;
        let nouns = self.world.lexicon.nouns;
        let of_topic = &self.world.topic(self.world.lexicon.word(topic.as_bytes())?)?.nouns;
        let form = nouns.form(nouns.form_of(noun));
        let others = nouns.words().filter(|other| of_topic.place(*other).is_none());
        let question = self.choice(at, others.map(|other| other.in_form(form)), rng)?;
        Some(Asked { about: context.to_owned() + self.world.lexicon.spelling(noun), question })
    }

    /// The word at a place among others of the same length.
    fn choice(
        &self,
        at: usize,
        others: impl Iterator<Item = Word>,
        rng: &mut Rng,
    ) -> Option<Question> {
        let (context, right) = self.split(at)?;
        let spelling = |word| format!(" {}", self.world.lexicon.spelling(word));
        let alike = others.filter(|other| spelling(*other).len() == right.len());
        let mut choices: Vec<_> =
            drawn(alike, CHOICES - 1, rng).into_iter().map(spelling).collect();
        if choices.len() < CHOICES - 1 {
            return None;
        }
        let gold = rng.below(CHOICES as u64) as usize;
        choices.insert(gold, right.to_owned());
        let passage = |continuation| QuestionPassage { context: context.to_owned(), continuation };
        Some(Question { passages: choices.into_iter().map(passage).collect(), gold })
    }

    /// A verb after its subject, and after the same subject in the other number.
    fn agreement(&self, rng: &mut Rng) -> Option<Asked> {
        let nouns = self.world.lexicon.nouns;
        let pair = self.marks.windows(2).find_map(|pair| match pair {
            [(head, Mark::Head), (verb, Mark::Verb)] => Some((*head, *verb)),
            _ => None,
        });
        let (head, verb) = pair?;
        let (before, noun) = self.split(head)?;
        let (right, continuation) = self.split(verb)?;
        let between = right.get(head + noun.len()..)?;
        let noun = self.world.lexicon.word(noun.trim_start().as_bytes())?;
        let other = nouns.word(nouns.place(noun)).in_form(nouns.form(1 - nouns.form_of(noun)));
        let wrong = format!("{before} {}{between}", self.world.lexicon.spelling(other));
        let gold = rng.below(2) as usize;
        let mut contexts = vec![wrong];
        contexts.insert(gold, right.to_owned());
        let passage = |context| QuestionPassage { context, continuation: continuation.to_owned() };
        let passages = contexts.into_iter().map(passage).collect();
        Some(Asked { about: right.to_owned(), question: Question { passages, gold } })
    }

    /// The text at the first mark of a kind.
    fn as_written(&self, kind: Mark) -> Option<Asked> {
        let (at, _) = self.marks.iter().find(|(_, mark)| *mark == kind)?;
        let (context, continuation) = self.split(*at)?;
        let (context, continuation) = (context.to_owned(), continuation.to_owned());
        let about = context.clone();
        let passages = vec![QuestionPassage { context, continuation }];
        Some(Asked { about, question: Question { passages, gold: 0 } })
    }
}
