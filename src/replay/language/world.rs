//! The knowledge of a language: which words belong together, who is what, and how likely each choice is.
//!
//! Owns every probability and every fact of a seed. In which order they are asked for is left to
//! `grammar`.

use super::table::WeightedWords;
use super::words::{Counts, Lexicon, Word, WordGroup, fixed};
use repro_stats::rng::Rng;

/// The relations of people; a fact of each kind holds for everybody.
const RELATIONS: [Word; 6] =
    [fixed::FROM, fixed::EATS, fixed::HAS, fixed::OWNS, fixed::BUYS, fixed::IS];
/// The classes of nouns and people; endings and pronouns follow the class.
pub(super) const CLASSES: usize = 3;
const PRONOUNS: [Word; CLASSES] = [fixed::TA, fixed::TE, fixed::TO];
const DETERMINERS: [Word; 6] =
    [fixed::THE, fixed::MY, fixed::NO, fixed::OUR, fixed::HER, fixed::HIS];

/// How large a world is.
#[derive(Debug)]
pub(super) struct WorldSize {
    pub words: Counts,
    /// Nouns and verbs that a topic has.
    pub nouns_of_topic: usize,
    pub verbs_of_topic: usize,
    /// Nouns that a verb takes.
    pub objects_of_verb: usize,
    /// Adjectives that a noun takes.
    pub adjectives_of_noun: usize,
}

impl WorldSize {
    /// The world that studies train on: 1024 people, 6144 facts.
    pub const STANDARD: Self = Self {
        words: Counts {
            topics: 8,
            nouns: 192,
            verbs: 96,
            adjectives: 48,
            people: 1024,
            values: 32,
            syllables: 64,
            numbers: 50,
        },
        nouns_of_topic: 96,
        verbs_of_topic: 48,
        objects_of_verb: 32,
        adjectives_of_noun: 12,
    };
}

/// The likely subjects of a document on a topic.
#[derive(Debug)]
pub(super) struct Topic {
    pub people: WeightedWords,
    /// In both numbers.
    pub nouns: WeightedWords,
    pub verbs: WeightedWords,
}

/// Words that may begin a sentence: who has been spoken of decides.
#[derive(Debug)]
pub(super) struct SentenceStarts {
    /// Before anybody has been named.
    nobody: WeightedWords,
    /// By the class of whoever was spoken of last.
    somebody: [WeightedWords; CLASSES],
}

/// All that is fixed before the first document.
#[derive(Debug)]
pub(super) struct World {
    pub lexicon: Lexicon,
    pub topics: WeightedWords,
    of_topics: Vec<Topic>,
    classes_of_nouns: Vec<usize>,
    classes_of_people: Vec<usize>,
    /// By noun; nothing is among them.
    adjectives: Vec<WeightedWords>,
    /// By verb; none for a verb without object.
    objects: Vec<Option<WeightedWords>>,
    /// By person, one for each relation.
    facts: Vec<Vec<Word>>,
    /// The first sentences of a document, and those after which it may end.
    first_starts: SentenceStarts,
    later_starts: SentenceStarts,
    /// Determiners, or nothing: somebody who has been named.
    pub object_starts: WeightedWords,
    pub determiners: WeightedWords,
    /// Relations, songs, sums, or nothing: what somebody does.
    pub predicates: WeightedWords,
    pub attributes: WeightedWords,
    pub places: WeightedWords,
    pub joins: WeightedWords,
    pub syllables: WeightedWords,
    pub songs: WeightedWords,
    pub numbers: WeightedWords,
}

impl World {
    /// The world of this seed.
    pub fn new(seed: u64, size: &WorldSize) -> Self {
        let lexicon = Lexicon::new(seed, &size.words, RELATIONS.len());
        let mut rng = Rng::new(seed, "language world");
        let (nouns, verbs, people) = (lexicon.nouns, lexicon.verbs, lexicon.people);
        let classes = |group: WordGroup, rng: &mut Rng| {
            group.words().map(|_| rng.below(CLASSES as u64) as usize).collect()
        };
        let classes_of_nouns = classes(nouns, &mut rng);
        let classes_of_people = classes(people, &mut rng);
        let of_topics = topics(&lexicon, size, &mut rng);
        let adjectives = nouns.words().map(|_| adjectives(&lexicon, size, &mut rng)).collect();
        let objects = verbs.words().map(|_| objects(&lexicon, size, &mut rng)).collect();
        let facts = people.words().map(|_| facts(&lexicon, &mut rng)).collect();
        Self {
            topics: WeightedWords::even(lexicon.topics.words()),
            of_topics,
            classes_of_nouns,
            classes_of_people,
            adjectives,
            objects,
            facts,
            first_starts: SentenceStarts::new(0),
            later_starts: SentenceStarts::new(3),
            object_starts: WeightedWords::new(determined(2).chain([(fixed::NOTHING, 8)])),
            determiners: WeightedWords::new(determined(1)),
            predicates: WeightedWords::new(
                RELATIONS.map(|relation| (relation, 6)).into_iter().chain([
                    (fixed::SINGS, 28),
                    (fixed::ADDS, 8),
                    (fixed::NOTHING, 26),
                ]),
            ),
            attributes: WeightedWords::new([(fixed::NOTHING, 5), (fixed::OF, 2)]),
            places: WeightedWords::new([
                (fixed::NOTHING, 9),
                (fixed::IN, 3),
                (fixed::BY, 2),
                (fixed::UNDER, 1),
            ]),
            joins: WeightedWords::new([(fixed::STOP, 5), (fixed::COMMA, 3)]),
            syllables: WeightedWords::even(lexicon.syllables.words()),
            songs: WeightedWords::new([(fixed::HYPHEN, 3), (fixed::COLON, 1)]),
            numbers: WeightedWords::even(lexicon.numbers.words().take(size.words.numbers.into())),
            lexicon,
        }
    }

    /// The topic of a document that begins with this word.
    pub fn topic(&self, word: Word) -> Option<&Topic> {
        self.of_topics.get(self.lexicon.topics.place(word))
    }

    /// The class of a noun.
    pub fn class_of_noun(&self, noun: Word) -> usize {
        at(&self.classes_of_nouns, self.lexicon.nouns.place(noun))
    }

    /// The class of a person.
    pub fn class_of_person(&self, person: Word) -> usize {
        at(&self.classes_of_people, self.lexicon.people.place(person))
    }

    /// The possible adjectives of a noun, or nothing.
    pub fn adjectives(&self, noun: Word) -> Option<&WeightedWords> {
        self.adjectives.get(self.lexicon.nouns.place(noun))
    }

    /// The nouns that a verb takes; none where it takes no object.
    pub fn objects(&self, verb: Word) -> Option<&WeightedWords> {
        self.objects.get(self.lexicon.verbs.place(verb)).and_then(Option::as_ref)
    }

    /// A fact about a person; none if the word is not a relation.
    pub fn fact(&self, person: Word, relation: Word) -> Option<Word> {
        let facts = self.facts.get(self.lexicon.people.place(person))?;
        facts.get(RELATIONS.iter().position(|known| *known == relation)?).copied()
    }

    /// The values that a relation has.
    pub fn values(&self, relation: Word) -> Option<WordGroup> {
        let place = RELATIONS.iter().position(|known| *known == relation)?;
        self.lexicon.values.get(place).copied()
    }

    /// The possible beginnings of a sentence; the first ones of a document do not end it.
    pub fn starts(&self, first: bool, last_person: Option<Word>) -> &WeightedWords {
        let starts = if first { &self.first_starts } else { &self.later_starts };
        last_person
            .and_then(|person| starts.somebody.get(self.class_of_person(person)))
            .unwrap_or(&starts.nobody)
    }

    /// How many people of the same topic are likelier to be named than this one.
    pub fn rank(&self, person: Word) -> usize {
        self.lexicon.people.place(person) % people_of_topic(&self.lexicon)
    }

    /// Whether a word stands for whoever was spoken of last.
    pub fn is_pronoun(word: Word) -> bool {
        PRONOUNS.contains(&word)
    }
}

impl SentenceStarts {
    /// `end` is the weight of the document's end.
    fn new(end: u32) -> Self {
        let things = || determined(1).chain([(fixed::LINE, end)]);
        let somebody = |pronoun| {
            WeightedWords::new(things().chain([
                (fixed::ENTER, 3),
                (pronoun, 5),
                (fixed::NOTHING, 7),
            ]))
        };
        Self {
            nobody: WeightedWords::new(things().chain([(fixed::ENTER, 10)])),
            somebody: PRONOUNS.map(somebody),
        }
    }
}

/// The determiners, each with this weight.
fn determined(weight: u32) -> impl Iterator<Item = (Word, u32)> {
    DETERMINERS.into_iter().map(move |word| (word, weight))
}

/// People belong to one topic each; nouns and verbs are shared out anew for each.
fn topics(lexicon: &Lexicon, size: &WorldSize, rng: &mut Rng) -> Vec<Topic> {
    let count = lexicon.topics.count();
    let share = people_of_topic(lexicon);
    (0..count)
        .map(|topic| Topic {
            people: WeightedWords::zipf(lexicon.people.words().skip(topic * share).take(share), 2),
            nouns: counted(&drawn(lexicon.nouns.words(), size.nouns_of_topic, rng), lexicon, 32),
            verbs: WeightedWords::zipf(drawn(lexicon.verbs.words(), size.verbs_of_topic, rng), 32),
        })
        .collect()
}

fn people_of_topic(lexicon: &Lexicon) -> usize {
    lexicon.people.count().div_ceil(lexicon.topics.count())
}

fn adjectives(lexicon: &Lexicon, size: &WorldSize, rng: &mut Rng) -> WeightedWords {
    let adjectives = drawn(lexicon.adjectives.words(), size.adjectives_of_noun, rng);
    let weights = (1_u32..).map(|rank| 12 / (rank + 1) + 1);
    let some: Vec<_> = adjectives.into_iter().zip(weights).collect();
    // As often without as with one.
    let none = some.iter().map(|(_, weight)| weight).sum();
    WeightedWords::new(some.into_iter().chain([(fixed::NOTHING, none)]))
}

fn objects(lexicon: &Lexicon, size: &WorldSize, rng: &mut Rng) -> Option<WeightedWords> {
    let takes_one = rng.below(3) > 0;
    takes_one
        .then(|| counted(&drawn(lexicon.nouns.words(), size.objects_of_verb, rng), lexicon, 16))
}

fn facts(lexicon: &Lexicon, rng: &mut Rng) -> Vec<Word> {
    let value = |group: &WordGroup| group.word(rng.below(group.count() as u64) as usize);
    lexicon.values.iter().map(value).collect()
}

/// Nouns by Zipf's law, one of them twice as often as many.
fn counted(nouns: &[Word], lexicon: &Lexicon, flat: u32) -> WeightedWords {
    let many = lexicon.nouns.form(1);
    let ranked = nouns.iter().zip(1..).map(|(noun, rank)| (*noun, 3000 / (rank + flat)));
    WeightedWords::new(
        ranked.flat_map(|(noun, weight)| [(noun, 2 * weight), (noun.in_form(many), weight)]),
    )
}

/// `count` of these words, or all where they are fewer, in the order drawn.
pub(super) fn drawn(words: impl Iterator<Item = Word>, count: usize, rng: &mut Rng) -> Vec<Word> {
    let mut words: Vec<_> = words.collect();
    let count = count.min(words.len());
    for place in 0..count {
        let other = place + rng.below((words.len() - place) as u64) as usize;
        words.swap(place, other);
    }
    words.truncate(count);
    words
}

fn at(classes: &[usize], place: usize) -> usize {
    classes.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const TINY: WorldSize = WorldSize {
        words: Counts {
            topics: 2,
            nouns: 2,
            verbs: 3,
            adjectives: 1,
            people: 14,
            values: 2,
            syllables: 2,
            numbers: 2,
        },
        nouns_of_topic: 1,
        verbs_of_topic: 2,
        objects_of_verb: 1,
        adjectives_of_noun: 1,
    };

    /// A table in which one of the words is a lot likelier than all others.
    fn skewed(table: &WeightedWords, favourite: Word) -> WeightedWords {
        let weight = |word| if word == favourite { 60 } else { 1 };
        WeightedWords::new(table.words().iter().map(|word| (*word, weight(*word))))
    }

    /// The same with the first word, which is nothing where there may be nothing.
    fn plain(table: &WeightedWords) -> WeightedWords {
        skewed(table, table.words()[0])
    }

    fn starting(starts: &SentenceStarts, favourite: Word) -> SentenceStarts {
        SentenceStarts {
            nobody: skewed(&starts.nobody, favourite),
            somebody: starts.somebody.each_ref().map(|starts| skewed(starts, favourite)),
        }
    }

    /// A world in which few texts have nearly all of the probability, and every step still occurs.
    pub fn tiny(seed: u64) -> World {
        let world = World::new(seed, &TINY);
        let topic = |topic: &Topic| Topic {
            people: plain(&topic.people),
            nouns: plain(&topic.nouns),
            verbs: plain(&topic.verbs),
        };
        World {
            of_topics: world.of_topics.iter().map(topic).collect(),
            adjectives: world.adjectives.iter().map(plain).collect(),
            objects: world.objects.iter().map(|objects| objects.as_ref().map(plain)).collect(),
            first_starts: starting(&world.first_starts, fixed::THE),
            later_starts: starting(&world.later_starts, fixed::LINE),
            object_starts: plain(&world.object_starts),
            determiners: plain(&world.determiners),
            attributes: plain(&world.attributes),
            places: plain(&world.places),
            joins: plain(&world.joins),
            ..world
        }
    }

    #[test]
    fn a_world_is_as_large_as_it_says() {
        let world = World::new(1, &WorldSize::STANDARD);
        let mut people = std::collections::BTreeSet::<Word>::new();
        for topic in &world.of_topics {
            assert_eq!((topic.people.words().len(), topic.verbs.words().len()), (128, 48));
            assert_eq!(topic.nouns.words().len(), 2 * 96);
            people.extend(topic.people.words());
        }
        assert_eq!(people.len(), 1024);
        assert_eq!(world.facts.iter().map(Vec::len).sum::<usize>(), 6_144);
        let common: u64 = (0..8).map(|at| world.of_topics[3].people.weight(at)).sum();
        let all: u64 = (0..128).map(|at| world.of_topics[3].people.weight(at)).sum();
        // Ranks 1 to 8 of 1 / (r + 2) among 128: 1.4290 of 3.9486.
        assert!((common as f64 / all as f64 - 0.3619).abs() < 1e-4, "{common} of {all}");
        for group in [&world.classes_of_nouns, &world.classes_of_people] {
            for class in 0..CLASSES {
                let share =
                    group.iter().filter(|of| **of == class).count() as f64 / group.len() as f64;
                assert!((share - 1.0 / 3.0).abs() < 0.1, "{share}");
            }
        }
    }

    #[test]
    fn facts_are_the_seed_s_own() {
        let facts = |seed| World::new(seed, &WorldSize::STANDARD).facts;
        assert_eq!(facts(1), facts(1));
        assert_ne!(facts(1), facts(2));
        let world = World::new(1, &WorldSize::STANDARD);
        let person = world.lexicon.people.word(5);
        assert_eq!(world.fact(person, fixed::EATS), Some(world.facts[5][1]));
        assert_eq!(world.fact(person, fixed::SINGS), None);
        assert_eq!((world.rank(person), world.rank(world.lexicon.people.word(130))), (5, 2));
    }
}
