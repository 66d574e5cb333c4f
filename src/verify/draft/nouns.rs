//! The quantity that the words right before and after a number indicate, and the steps mentioned in a sentence.

use crate::lexicon::lexicon;

use crate::draft::mentions::{PlacedWord, ReadSentence, placed_words};
use crate::draft::quantities::{has_one, is_in, words_of_list};

/// The requirements that the words next to a number place on a candidate: a word from each list.
#[derive(Debug, Clone, Default)]
pub struct AskedWords {
    pub of: Vec<&'static [String]>,
    pub is_rate: bool,
}

impl AskedWords {
    /// Of the words next to a number of a sentence.
    pub fn of(sentence: &ReadSentence<'_>, item: usize) -> Self {
        let Some((span, _)) = sentence.items.get(item) else { return Self::default() };
        let next = sentence.items.get(item + 1).map_or(sentence.text.len(), |(next, _)| next.start);
        let behind = sentence.gap(span.end, next);
        let behind = behind.split([',', ';', '.', ':', '(', ')', '±']).next().unwrap_or_default();
        // Images of "32x32" are not 32 times anything.
        let is_product = behind == "x" && next < sentence.text.len();
        let behind = placed_words(if is_product { "" } else { behind });
        let (noun, is_rate) = noun(&behind);
        let from =
            item.checked_sub(1).and_then(|at| sentence.items.get(at)).map_or(0, |one| one.0.end);
        let before = sentence.gap(from, span.start);
        let before = before.rsplit([',', ';', '.', ':', '(']).next().unwrap_or_default();
        let before = placed_words(before);
        let close = before.iter().rev().take(4);
        let close: Vec<_> =
            close.map(|word| word.text.as_str()).take_while(|word| *word != "and").collect();
        // The nearest of them: "learning rate with a warmup of 20".
        let of_word = |word: &&str| {
            lexicon().lists("draft_before").find(|all| all.iter().any(|known| known == word))
        };
        let named = close.iter().find_map(of_word);
        let mut of: Vec<&'static [String]> = named.into_iter().collect();
        // "100 warmup steps" are of the warmup.
        if behind.first().is_some_and(|word| word.text == "warmup") {
            of.push(lexicon().words("draft_before.warmup"));
        }
        of.extend(noun);
        Self { of, is_rate }
    }

    /// Whether some words have what is asked.
    pub fn are_met(&self, words: &[String]) -> bool {
        let is_rate = || has_one(&["per"], words);
        self.of.iter().all(|wanted| has_one(wanted, words)) && (!self.is_rate || is_rate())
    }
}

/// A word next to a number, and how many words stand between them.
#[derive(Debug, Clone)]
pub struct BesideWord {
    pub text: String,
    pub distance: usize,
}

/// The words right next to a number, up to its neighbours, the nearest first: those before it, and those behind it that are not of what
/// comes next. Of a row of a table its label and the head of its column.
pub fn beside(sentence: &ReadSentence<'_>, item: usize) -> Vec<BesideWord> {
    /// So many before it and behind.
    const REACH: usize = 8;
    let Some((span, _)) = sentence.items.get(item) else { return Vec::new() };
    if let Some(head) = sentence.heads.get(item) {
        let words = head.words.iter().rev().enumerate();
        return words.map(|(distance, text)| BesideWord { text: text.clone(), distance }).collect();
    }
    let placed = |words: Vec<PlacedWord>| {
        let words = words.into_iter().enumerate().take(REACH);
        words.map(|(distance, word)| BesideWord { text: word.text, distance })
    };
    let before: Vec<_> = placed_words(before(sentence, item)).into_iter().rev().collect();
    let next = sentence.items.get(item + 1).map_or(sentence.text.len(), |(next, _)| next.start);
    let behind = sentence.gap(span.end, next);
    let behind = behind.split([',', ';', ':', '(', ')', '|']).next().unwrap_or_default();
    let behind = placed_words(behind).into_iter();
    let behind = behind.take_while(|word| !is_in("parts", &word.text)).collect();
    let own = unit(sentence.gap(span.start, span.end));
    let mut all: Vec<_> = own.chain(placed(before)).chain(placed(behind)).collect();
    all.sort_by_key(|word| word.distance);
    all
}

/// The words of a number itself: its unit.
fn unit(number: &str) -> impl Iterator<Item = BesideWord> {
    let words = placed_words(number).into_iter();
    words.map(|word| BesideWord { text: word.text, distance: 0 })
}

/// The words before a number: those of the number before it, where both are in a list, "betas of 0.9 and 0.95".
fn before<'t>(sentence: &ReadSentence<'t>, item: usize) -> &'t str {
    let Some((span, _)) = sentence.items.get(item) else { return "" };
    let Some(previous) = item.checked_sub(1) else { return sentence.gap(0, span.start) };
    let end = sentence.items.get(previous).map_or(0, |(span, _)| span.end);
    let gap = sentence.gap(end, span.start);
    match placed_words(gap).iter().all(|word| is_in("lists", &word.text)) {
        true => before(sentence, previous),
        false => gap,
    }
}

/// Whether a candidate is a rate, and the words speak of none.
pub fn is_untold_rate(candidate: &[String], said: &[String]) -> bool {
    candidate.iter().any(|word| word == "per") && !has_one(words_of_list("rates"), said)
}

/// The noun that the words behind a number begin with, and whether it is one of a rate.
fn noun(behind: &[PlacedWord]) -> (Option<&'static [String]>, bool) {
    for (at, word) in behind.iter().enumerate().take(4) {
        let own = lexicon().lists("draft_noun").find(|all| all.contains(&word.text));
        if let Some(own) = own.filter(|_| !(word.text == "gpu" && at == 0 && behind.len() > 1)) {
            let is_per = behind.get(at + 1).is_some_and(|word| word.text == "per");
            let of = behind.get(at + 2).map_or("", |word| word.text.as_str());
            return (Some(own), is_per && !is_in("each", of));
        }
        if !is_in("between", &word.text) {
            break;
        }
    }
    (None, false)
}

/// A step that a sentence names, by its number.
#[derive(Debug, Clone, Copy)]
pub struct NamedStep {
    pub item: usize,
    pub range: [f64; 2],
}

impl NamedStep {
    pub fn is(&self, step: u64) -> bool {
        self.range[0] <= step as f64 && step as f64 <= self.range[1]
    }
}

/// Whether the words around a number say that it is a step: "after 4500 steps", "at step 1900".
pub fn is_step(sentence: &ReadSentence<'_>, item: usize) -> bool {
    let Some((span, _)) = sentence.items.get(item) else { return false };
    if let Some(head) = sentence.heads.get(item) {
        return head.arm.is_none() && head.words.last().is_some_and(|word| is_in("steps", word));
    }
    let mut before = sentence.words.iter().rev().filter(|word| word.span.end <= span.start);
    let word = before.find(|word| !is_in("about", &word.text));
    let before = word.map_or("", |word| word.text.as_str());
    let behind = sentence.words.iter().find(|word| word.span.start >= span.end);
    let is_behind = behind.is_some_and(|word| is_in("steps", &word.text));
    is_in("steps", before) || is_in("until", before) && is_behind
}

/// The step at which a number of a sentence is read, if it names one.
pub fn step_of(sentence: &ReadSentence<'_>, steps: &[NamedStep], item: usize) -> Option<NamedStep> {
    let item = sentence.mean_of(item);
    let end = sentence.items.get(item)?.0.end;
    let next = steps.iter().find(|step| step.item > item);
    let is_right_behind = |step: &&NamedStep| {
        let Some((span, _)) = sentence.items.get(step.item) else { return false };
        let between = (item + 1..step.item).all(|at| sentence.mean_of(at) == item);
        let gap = sentence.gap(end, span.start);
        let breaks = placed_words(gap).iter().any(|word| is_in("breaks", &word.text));
        between && !breaks && !gap.contains([',', ';', ':'])
    };
    let last = steps.iter().rev().find(|step| step.item < item);
    next.filter(is_right_behind).or(last).copied().or_else(|| {
        // "Muon has 3.2 and AdamW 3.3 at step 1900".
        let says_the_end = sentence.words.iter().any(|word| is_in("final", &word.text));
        next.filter(|_| !says_the_end).copied()
    })
}
