//! The words of a language: how they are spelled, and how their forms lie side by side.
//!
//! Words with a meaning are built of syllables drawn from the seed; each belongs to one group, and no
//! two words are spelled alike, so that a spelling alone says which group and which form it is.

use std::collections::HashMap;

use repro_stats::rng::Rng;

/// A word, a sign, or nothing, by its number in the lexicon.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Word(u16);

macro_rules! fixed {
    ($($name:ident = $spelling:literal;)*) => {
        /// Words and signs that every language has.
        pub(super) mod fixed {
            use super::Word;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Number { $($name),* }
            $(pub(in super::super) const $name: Word = Word(Number::$name as u16);)*
            pub(super) const SPELLINGS: &[&str] = &[$($spelling),*];
        }
    };
}

fixed! {
    NOTHING = "";
    STOP = ".";
    COMMA = ",";
    COLON = ":";
    HYPHEN = "-";
    LINE = "\n";
    THE = "the";
    MY = "my";
    NO = "no";
    OUR = "our";
    HER = "her";
    HIS = "his";
    OF = "of";
    IN = "in";
    BY = "by";
    UNDER = "under";
    AND = "and";
    ENTER = "enter";
    SINGS = "sings";
    ADDS = "adds";
    FROM = "from";
    EATS = "eats";
    HAS = "has";
    OWNS = "owns";
    BUYS = "buys";
    IS = "is";
    TA = "ta";
    TE = "te";
    TO = "to";
}

/// Endings by class, first of one and then of many; those of nouns by number alone.
const VERB: [&str; 6] = ["a", "e", "o", "an", "en", "on"];
const ADJECTIVE: [&str; 6] = ["u", "y", "i", "us", "ys", "is"];
const NOUN: [&str; 2] = ["", "s"];
const BARE: [&str; 1] = [""];

/// Stems end in none of the letters that endings end in, so stem and ending are told apart.
const FIRST: &[u8] = b"bdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";
const LAST: &[u8] = b"bdfgklmprtvz";

/// Words of one kind: `count` stems, each in the same forms, form by form.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordGroup {
    first: u16,
    count: u16,
}

/// A form of the words of a group: what is added to the number of a word in its first form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordForm(u16);

impl WordForm {
    /// The first form of any group.
    pub const FIRST: Self = Self(0);
}

impl Word {
    /// This word, given in its first form, in another; nothing stays nothing.
    pub fn in_form(self, form: WordForm) -> Self {
        if self == fixed::NOTHING { self } else { Self(self.0.wrapping_add(form.0)) }
    }

    /// The word whose form this is; none where no word comes that far down, and nothing has no forms.
    pub fn out_of_form(self, form: WordForm) -> Option<Self> {
        self.0.checked_sub(form.0).map(Self).filter(|word| *word != fixed::NOTHING)
    }
}

impl WordGroup {
    pub fn count(self) -> usize {
        usize::from(self.count)
    }

    /// The word at this place of the group, in its first form.
    pub fn word(self, at: usize) -> Word {
        Word(self.first + (at % self.count()) as u16)
    }

    /// The form of this number.
    pub fn form(self, number: usize) -> WordForm {
        WordForm(self.count * number as u16)
    }

    /// The place in its group of a word in any form.
    pub fn place(self, word: Word) -> usize {
        usize::from(word.0.wrapping_sub(self.first) % self.count)
    }

    /// The number of the form that a word has.
    pub fn form_of(self, word: Word) -> usize {
        usize::from(word.0.wrapping_sub(self.first) / self.count)
    }

    /// Every word of the group in its first form.
    pub fn words(self) -> impl Iterator<Item = Word> {
        (self.first..self.first + self.count).map(Word)
    }
}

/// How many words each kind has.
#[derive(Debug)]
pub(super) struct Counts {
    pub topics: u16,
    pub nouns: u16,
    pub verbs: u16,
    pub adjectives: u16,
    pub people: u16,
    pub values: u16,
    pub syllables: u16,
    pub numbers: u16,
}

/// All words of a language.
#[derive(Debug)]
pub(super) struct Lexicon {
    spellings: Vec<String>,
    by_spelling: HashMap<Vec<u8>, Word>,
    pub topics: WordGroup,
    pub nouns: WordGroup,
    pub verbs: WordGroup,
    pub adjectives: WordGroup,
    pub people: WordGroup,
    /// The verbs of facts, a group for each relation.
    pub values: Vec<WordGroup>,
    pub syllables: WordGroup,
    pub numbers: WordGroup,
}

impl Lexicon {
    /// The words of this seed, with one group of values for each of `relations`.
    pub fn new(seed: u64, counts: &Counts, relations: usize) -> Self {
        let mut coin = Coin::new(seed);
        let topics = coin.group(counts.topics, &BARE, stem);
        let nouns = coin.group(counts.nouns, &NOUN, stem);
        let verbs = coin.group(counts.verbs, &VERB, short);
        let adjectives = coin.group(counts.adjectives, &ADJECTIVE, stem);
        let people = coin.group(counts.people, &BARE, name);
        let values = (0..relations).map(|_| coin.group(counts.values, &BARE, short)).collect();
        let syllables = coin.group(counts.syllables, &BARE, syllable);
        let first = coin.spellings.len() as u16;
        // Sums of two numbers are words as well.
        let sums = 2 * counts.numbers;
        coin.spellings.extend((0..sums).map(|number| number.to_string()));
        let numbers = WordGroup { first, count: sums };
        let spellings = coin.spellings;
        let by_spelling = spellings
            .iter()
            .zip(0..)
            .map(|(spelling, at)| (spelling.as_bytes().to_vec(), Word(at)))
            .collect();
        Self {
            spellings,
            by_spelling,
            topics,
            nouns,
            verbs,
            adjectives,
            people,
            values,
            syllables,
            numbers,
        }
    }

    /// How a word is spelled.
    pub fn spelling(&self, word: Word) -> &str {
        self.spellings.get(usize::from(word.0)).map_or("", String::as_str)
    }

    /// The word with this spelling.
    pub fn word(&self, spelling: &[u8]) -> Option<Word> {
        self.by_spelling.get(spelling).copied()
    }
}

/// Coins words: each stem once.
struct Coin {
    rng: Rng,
    spellings: Vec<String>,
    stems: std::collections::HashSet<String>,
}

impl Coin {
    fn new(seed: u64) -> Self {
        let spellings: Vec<_> = fixed::SPELLINGS.iter().map(|&word| word.to_owned()).collect();
        let stems = spellings.iter().cloned().collect();
        Self { rng: Rng::new(seed, "language words"), spellings, stems }
    }

    /// A new group: its stems, then every form of all of them.
    fn group(&mut self, count: u16, endings: &[&str], coin: fn(&mut Rng) -> String) -> WordGroup {
        let first = self.spellings.len() as u16;
        let mut stems = Vec::new();
        while stems.len() < usize::from(count) {
            let stem = coin(&mut self.rng);
            if self.stems.insert(stem.clone()) {
                stems.push(stem);
            }
        }
        for ending in endings {
            self.spellings.extend(stems.iter().map(|stem| format!("{stem}{ending}")));
        }
        WordGroup { first, count }
    }
}

fn letter(rng: &mut Rng, of: &[u8]) -> char {
    of.get(rng.below(of.len() as u64) as usize).copied().map_or('x', char::from)
}

fn syllable(rng: &mut Rng) -> String {
    [FIRST, VOWELS].iter().map(|letters| letter(rng, letters)).collect()
}

fn short(rng: &mut Rng) -> String {
    let open = syllable(rng);
    format!("{open}{}", letter(rng, LAST))
}

fn long(rng: &mut Rng) -> String {
    let open = syllable(rng);
    format!("{open}{}", short(rng))
}

fn stem(rng: &mut Rng) -> String {
    if rng.below(4) > 0 { short(rng) } else { long(rng) }
}

fn name(rng: &mut Rng) -> String {
    let mut name = stem(rng);
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::super::world::WorldSize;
    use super::*;

    const COUNTS: &Counts = &WorldSize::STANDARD.words;

    #[test]
    fn no_two_words_are_spelled_alike() {
        for seed in 0..20 {
            let lexicon = Lexicon::new(seed, COUNTS, 6);
            let forms = 8 + 2 * 192 + 6 * (96 + 48) + 1024 + 6 * 32 + 64 + 100;
            assert_eq!(lexicon.spellings.len(), fixed::SPELLINGS.len() + forms);
            assert_eq!(lexicon.by_spelling.len(), lexicon.spellings.len());
        }
    }

    #[test]
    fn a_form_is_taken_off_as_it_was_put_on() {
        let lexicon = Lexicon::new(1, COUNTS, 6);
        let (verbs, nouns) = (lexicon.verbs, lexicon.nouns);
        for (place, verb) in verbs.words().enumerate() {
            for (number, ending) in VERB.into_iter().enumerate() {
                let form = verbs.form(number);
                let word = verb.in_form(form);
                assert_eq!(word.out_of_form(form), Some(verb));
                assert_eq!((verbs.place(word), verbs.form_of(word)), (place, number));
                let bare = lexicon.spelling(verb).strip_suffix('a').unwrap();
                assert_eq!(lexicon.spelling(word), format!("{bare}{ending}"));
            }
        }
        // What is as far down as the form is high is no word in that form, nor nothing.
        let high = verbs.form(1);
        assert_eq!(Word(high.0).out_of_form(high), None);
        assert_eq!(Word(high.0 - 1).out_of_form(high), None);
        assert_eq!(fixed::NOTHING.in_form(high), fixed::NOTHING);
        assert_eq!(nouns.word(nouns.count()), nouns.word(0));
    }
}
