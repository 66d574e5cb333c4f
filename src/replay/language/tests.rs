//! The properties that must hold for texts and their probabilities.

use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::convert::Infallible;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::draw::{Draw, is_apart, is_letter};
use super::grammar::Steps;
use super::table::{self, WeightedWords};
use super::words::{Lexicon, Word, WordForm, fixed};
use super::{Floor, Language, NotOfTheLanguage, QuestionForm, World, grammar, world};
use repro_stats::rng::Rng;

/// Draws, and adds up the nats of what was drawn and the entropy of what could have been.
struct CountingDraw<'a> {
    draw: Draw<'a>,
    nats: f64,
    entropy: f64,
}

impl<'a> CountingDraw<'a> {
    fn document(world: &'a World, rng: &'a mut Rng) -> Self {
        let draw = Draw::new(&world.lexicon, rng);
        let mut counting = Self { draw, nats: 0.0, entropy: 0.0 };
        grammar::document(world, &mut counting).unwrap();
        counting
    }
}

fn entropy(nats: impl Iterator<Item = f64>) -> f64 {
    nats.map(|nats| nats * libm::exp(-nats)).sum()
}

impl Steps for CountingDraw<'_> {
    type Stop = Infallible;

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, Infallible> {
        let word = self.draw.choose(table, form, except)?;
        self.nats += table.nats(table.place(word).unwrap(), except);
        let left = table.words().iter().zip(0..).filter(|(word, _)| !except.contains(word));
        self.entropy += entropy(left.map(|(_, at)| table.nats(at, except)));
        Ok(word)
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, Infallible> {
        let at = self.draw.recall(words)?;
        self.nats += table::recent_nats(at, words.len());
        self.entropy += entropy((0..words.len()).map(|at| table::recent_nats(at, words.len())));
        Ok(at)
    }

    fn say(&mut self, word: Word) -> Result<(), Infallible> {
        self.draw.say(word)
    }
}

/// Reads by spelling out every alternative: what [`super::read::Read`] must agree with.
struct Speller<'a> {
    lexicon: &'a Lexicon,
    rest: &'a [u8],
    before: Vec<u8>,
    nats: f64,
}

impl Speller<'_> {
    /// The length of a word at the beginning of the rest, with its space, if it stands there.
    fn fits(&self, word: Word) -> Option<usize> {
        let spelling = self.lexicon.spelling(word).as_bytes();
        let is_word = spelling.first().is_some_and(is_letter);
        let space: &[u8] = if is_word && is_apart(&self.before) { b" " } else { b"" };
        let rest = self.rest.strip_prefix(space)?.strip_prefix(spelling)?;
        let is_whole = !(is_word && rest.first().is_some_and(is_letter));
        is_whole.then_some(space.len() + spelling.len())
    }

    /// Takes the one of these alternatives that the text has.
    fn take(&mut self, weighed: &[(Word, u64)]) -> Result<usize, ()> {
        let fitting: Vec<_> = (0..weighed.len())
            .filter(|at| weighed[*at].0 != fixed::NOTHING)
            .filter_map(|at| Some((at, self.fits(weighed[at].0)?)))
            .collect();
        assert!(fitting.len() < 2, "two ways to go on");
        let nothing = weighed.iter().position(|(word, _)| *word == fixed::NOTHING);
        let (at, length) = fitting.first().copied().or(nothing.map(|at| (at, 0))).ok_or(())?;
        let (read, rest) = self.rest.split_at(length);
        self.before.extend(read);
        self.rest = rest;
        let total: u64 = weighed.iter().map(|(_, weight)| weight).sum();
        self.nats -= libm::log(weighed[at].1 as f64 / total as f64);
        Ok(at)
    }

    fn nats(lexicon: &Lexicon, world: &World, text: &str) -> Option<f64> {
        let rest = text.as_bytes();
        let mut spelling = Speller { lexicon, rest, before: Vec::new(), nats: 0.0 };
        grammar::document(world, &mut spelling).ok()?;
        spelling.rest.is_empty().then_some(spelling.nats)
    }
}

impl Steps for Speller<'_> {
    type Stop = ();

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, ()> {
        let words = table.words().iter().zip(0..).filter(|(word, _)| !except.contains(word));
        let weighed: Vec<_> =
            words.map(|(word, at)| (word.in_form(form), table.weight(at))).collect();
        let at = self.take(&weighed)?;
        Ok(weighed[at].0.out_of_form(form).unwrap_or(fixed::NOTHING))
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, ()> {
        let weights = [8, 6, 3, 2, 1, 1];
        let weighed: Vec<_> = words.iter().copied().zip(weights).collect();
        self.take(&weighed)
    }

    fn say(&mut self, word: Word) -> Result<(), ()> {
        self.take(&[(word, 1)]).map(drop)
    }
}

/// Follows a list of choices, and says at its end what could be chosen next.
struct Following<'a> {
    draw: Draw<'a>,
    choices: &'a [usize],
}

impl Following<'_> {
    fn next(&mut self, nats: impl Fn() -> Vec<f64>) -> Result<usize, Vec<f64>> {
        let (first, rest) = self.choices.split_first().ok_or_else(nats)?;
        self.choices = rest;
        Ok(*first)
    }
}

impl Steps for Following<'_> {
    type Stop = Vec<f64>;

    fn choose(
        &mut self,
        table: &WeightedWords,
        form: WordForm,
        except: &[Word],
    ) -> Result<Word, Vec<f64>> {
        let left = || (0..table.words().len()).filter(|at| !except.contains(&table.words()[*at]));
        let next = self.next(|| left().map(|at| table.nats(at, except)).collect())?;
        let word = table.words()[left().nth(next).unwrap()];
        self.draw.say(word.in_form(form)).unwrap();
        Ok(word)
    }

    fn recall(&mut self, words: &[Word]) -> Result<usize, Vec<f64>> {
        let nats = || (0..words.len()).map(|at| table::recent_nats(at, words.len())).collect();
        let next = self.next(nats)?;
        self.draw.say(words[next]).unwrap();
        Ok(next)
    }

    fn say(&mut self, word: Word) -> Result<(), Vec<f64>> {
        self.draw.say(word).unwrap();
        Ok(())
    }
}

/// The likeliest texts of a world with their probabilities, and the probability of all others.
fn likeliest(world: &World, steps: usize) -> (Vec<(String, f64)>, f64) {
    // Probabilities are positive, so their bits are in their order.
    let mut open = BinaryHeap::from([(1.0_f64.to_bits(), Vec::new())]);
    let (mut texts, mut rng) = (Vec::new(), Rng::new(0, "no choice is drawn"));
    for _ in 0..steps {
        let Some((bits, choices)) = open.pop() else { break };
        let probability = f64::from_bits(bits);
        let draw = Draw::new(&world.lexicon, &mut rng);
        let mut following = Following { draw, choices: &choices };
        match grammar::document(world, &mut following) {
            Ok(()) => texts.push((following.draw.text, probability)),
            Err(alternatives) => {
                open.extend(alternatives.iter().enumerate().map(|(at, nats)| {
                    let next = choices.iter().copied().chain([at]).collect();
                    ((probability * libm::exp(-nats)).to_bits(), next)
                }));
            }
        }
    }
    (texts, open.iter().map(|(bits, _)| f64::from_bits(*bits)).sum())
}

fn tiny(seed: u64) -> Language {
    Language { seed, world: world::tests::tiny(seed) }
}

#[test]
fn probabilities_of_all_texts_approach_one() {
    let language = tiny(3);
    let (texts, others) = likeliest(&language.world, 120_000);
    let mut by_length = BTreeMap::new();
    for (text, probability) in &texts {
        *by_length.entry(text.len()).or_insert(0.0) += probability;
        let nats = language.nats(text).unwrap_or_else(|refused| panic!("{text}{refused}"));
        assert!((nats + libm::log(*probability)).abs() < 1e-9, "{text}");
    }
    for step in ["enter", "eats", "sings", "-", "adds", "of", "by", ","] {
        assert!(texts.iter().any(|(text, _)| text.contains(step)), "no text with {step:?}");
    }
    let different: HashSet<_> = texts.iter().map(|(text, _)| text).collect();
    assert_eq!(different.len(), texts.len(), "no text is derived twice");
    let sums: Vec<f64> = by_length
        .values()
        .scan(0.0, |sum, of_length| {
            *sum += of_length;
            Some(*sum)
        })
        .collect();
    let sum = sums.last().unwrap();
    assert!(sums.is_sorted() && *sum < 1.0 && *sum > 0.93, "{} texts: {sum}", texts.len());
    assert!((sum + others - 1.0).abs() < 1e-9, "{sum} and {others}");
}

#[test]
fn texts_are_as_frequent_as_they_are_probable() {
    let language = tiny(3);
    let (texts, _) = likeliest(&language.world, 3_000);
    let draws = 20_000;
    let drawn: Vec<_> = language.documents("frequencies").take(draws).collect();
    let (mut chi, mut cells) = (0.0, 0.0);
    for (text, probability) in texts.iter().filter(|(_, p)| p * draws as f64 > 10.0) {
        let count = drawn.iter().filter(|drawn| *drawn == text).count() as f64;
        let expected = probability * draws as f64;
        chi += (count - expected) * (count - expected) / expected;
        cells += 1.0;
    }
    // Chi-squared is within five of its standard deviations of its mean.
    assert!(cells > 50.0 && (chi - cells).abs() < 5.0 * (2.0 * cells).sqrt(), "{chi} of {cells}");
}

#[test]
fn reading_finds_what_drawing_paid() {
    let language = Language::new(1);
    let mut rng = Rng::new(5, "counted");
    let (mut differences, mut nats, mut bytes) = (Vec::new(), 0.0, 0);
    let mut text = String::new();
    for _ in 0..3_000 {
        let counted = CountingDraw::document(&language.world, &mut rng);
        assert_eq!(language.nats(&counted.draw.text), Ok(counted.nats));
        differences.push(counted.nats - counted.entropy);
        nats += counted.nats;
        bytes += counted.draw.text.len();
        text.push_str(&counted.draw.text);
    }
    let floor = language.floor(&text).unwrap();
    assert_eq!((floor.nats, floor.documents), (nats, 3_000));
    // The nats of a draw are its entropy on average: within four standard errors.
    let mean = differences.iter().sum::<f64>() / 3e3;
    let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
    let error = (squares / 3e3).sqrt() / 3e3_f64.sqrt();
    assert!(mean.abs() < 4.0 * error && error < 0.5, "{mean} +- {error}");
    let bits = nats / std::f64::consts::LN_2 / bytes as f64;
    assert!((0.96..1.02).contains(&bits), "{bits} bits per byte");
    assert!((385..435).contains(&(bytes / 3_000)), "{bytes} bytes");
}

#[test]
fn changed_texts_are_seldom_of_the_language() {
    let language = Language::new(1);
    let world = &language.world;
    let mut rng = Rng::new(6, "changes");
    // Bytes and words are changed in turn.
    let (mut changed, mut read) = ([0, 0], [0, 0]);
    for document in language.documents("changes").take(300) {
        let again = Speller::nats(&world.lexicon, world, &document).unwrap();
        assert!((language.nats(&document).unwrap() - again).abs() < 1e-9 * again, "{document}");
        for change in 0..20 {
            let text = if change % 2 == 0 {
                let mut bytes = document.clone().into_bytes();
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = bytes[rng.below(bytes.len() as u64) as usize];
                String::from_utf8(bytes).unwrap()
            } else {
                let mut words: Vec<_> = document.split(' ').collect();
                let at = rng.below(words.len() as u64) as usize;
                words[at] = words[rng.below(words.len() as u64) as usize];
                words.join(" ")
            };
            if text == document {
                continue;
            }
            changed[change % 2] += 1;
            let spelled = Speller::nats(&world.lexicon, world, &text);
            match language.nats(&text) {
                Ok(nats) => {
                    read[change % 2] += 1;
                    let spelled = spelled.unwrap_or_else(|| panic!("{document}\nread as\n{text}"));
                    assert!((nats - spelled).abs() < 1e-9 * nats, "{text}");
                }
                Err(refused) => {
                    assert_eq!(spelled, None, "{text}");
                    // The word before may have been another without its next letter.
                    assert!(refused.at <= text.len(), "{refused} of {}", text.len());
                }
            }
        }
    }
    assert!(changed[0] > 2_500 && read[0] * 50 < changed[0], "{read:?} of {changed:?}");
    assert!(read[1] > 20 && read[1] * 4 < changed[1], "{read:?} of {changed:?}");
}

#[test]
fn texts_are_the_same_for_ever() {
    let language = Language::new(1);
    let (mut hash, mut bytes, mut nats) = (Sha256::new(), 0, 0.0);
    for document in language.documents("train") {
        bytes += document.len();
        hash.update(&document);
        nats += language.nats(&document).unwrap();
        if bytes >= 1_000_000 {
            break;
        }
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "e516f4056cde1e75f941c128d9190f33d89adbbb41366e1f50e3f4553b500e25");
    assert_eq!((bytes, nats.to_bits()), (1_000_322, 4_694_022_846_470_207_270));
}

#[test]
fn streams_and_seeds_differ() {
    let first = |seed, stream: &str| Language::new(seed).documents(stream).next().unwrap();
    assert_eq!(first(1, "train"), first(1, "train"));
    assert_ne!(first(1, "train"), first(1, "validation"));
    assert_ne!(first(1, "train"), first(2, "train"));
    assert!(Language::new(2).nats(&first(1, "train")).is_err());
    let language = Language::new(1);
    let seen: HashSet<_> = language.documents("train").take(2_000).collect();
    let again = language.documents("validation").take(2_000).filter(|d| seen.contains(d)).count();
    assert_eq!(again, 0, "documents of two streams are the same");
}

#[test]
fn spaces_are_where_they_must_be() {
    let language = Language::new(1);
    let own = language.documents("train").find(|document| document.contains("-")).unwrap();
    assert!(language.nats(&own).is_ok());
    for (right, wrong) in
        [(",", " ,"), (".", " ."), ("\n", " \n"), (" ", "  "), ("-", "- "), (" ", ""), ("", " ")]
    {
        let changed = own.replacen(right, wrong, 1);
        assert!(changed != own && language.nats(&changed).is_err(), "{changed}");
    }
}

#[test]
fn what_is_refused_names_the_byte() {
    let language = Language::new(1);
    let mut documents = language.documents("train");
    let (one, two) = (documents.next().unwrap(), documents.next().unwrap());
    let refused = |text: &str| language.nats(text).unwrap_err().at;
    assert_eq!(refused(""), 0);
    assert_eq!(refused("no such topic\n"), 0);
    assert_eq!(refused(&format!("{one}{two}")), one.len());
    assert_eq!(refused(one.trim_end()), one.trim_end().len());
    assert_eq!(refused(&format!("{}\n", one.trim_end())), one.len() - 1);
    let both = language.floor(&format!("{one}{two}")).unwrap();
    let sum = language.nats(&one).unwrap() + language.nats(&two).unwrap();
    assert_eq!(both, Floor { nats: sum, documents: 2 });
    assert_eq!(language.floor(""), Ok(Floor { nats: 0.0, documents: 0 }));
    let refused = language.floor(&format!("{one}x")).unwrap_err();
    assert_eq!(refused, NotOfTheLanguage { at: one.len() });
    assert_eq!(
        refused.to_string(),
        format!("no text of the language continues this way at byte {}", one.len())
    );
}

#[test]
fn the_right_passage_alone_is_of_the_language() {
    let language = Language::new(4);
    let tasks = language.tasks(200);
    assert_eq!(tasks, Language::new(4).tasks(200));
    let names: Vec<_> = tasks.iter().map(|task| task.name).collect();
    assert_eq!(names, ["facts_common", "facts_rare", "topic", "agreement", "songs", "sums"]);
    for task in &tasks {
        assert_eq!(task.questions.len(), 200, "{}", task.name);
        let passages = match task.form {
            QuestionForm::MultipleChoice => 4,
            QuestionForm::Schema => 2,
            QuestionForm::LanguageModeling => 1,
        };
        let asked: HashSet<_> =
            task.questions.iter().map(|question| format!("{:?}", question.passages)).collect();
        assert_eq!(asked.len(), 200, "{}: a question is asked twice", task.name);
        let mut golds = vec![0; passages];
        for question in &task.questions {
            assert_eq!(question.passages.len(), passages);
            golds[question.gold] += 1;
            let length = question.passages[0].continuation.len();
            for (at, passage) in question.passages.iter().enumerate() {
                let text = format!("{}{}", passage.context, passage.continuation);
                let upto = language.nats(&text).unwrap_err().at;
                assert_eq!(upto == text.len(), at == question.gold, "{}: {text}", task.name);
                assert!(upto >= passage.context.len(), "{}: {text}", task.name);
                assert!(text.len() <= 122 && passage.continuation.len() == length, "{text}");
                assert_eq!(passage.context.trim(), passage.context);
            }
        }
        let expected = 200 / passages as i32;
        assert!(golds.iter().all(|n: &i32| (n - expected).abs() < 35), "{}: {golds:?}", task.name);
    }
}

#[test]
fn a_small_world_has_fewer_questions() {
    let tasks = tiny(3).tasks(10);
    assert!(tasks.iter().all(|task| task.questions.len() <= 10));
    // Two values are too few to choose among.
    assert_eq!(tasks[0].questions, []);
    assert!(!tasks[4].questions.is_empty());
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(\\PC|[a-z .,:\n-]){0,60}") {
        let language = tiny(1);
        if let Err(refused) = language.nats(&text) {
            prop_assert!(refused.at <= text.len());
        }
        let own = language.documents("own").next().unwrap();
        let long = own.clone() + &text;
        match language.floor(&long) {
            Ok(floor) => prop_assert!(floor.nats >= language.nats(&own).unwrap()),
            Err(refused) => prop_assert!((own.len()..=long.len()).contains(&refused.at)),
        }
    }
}
