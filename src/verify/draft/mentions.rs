//! The arms that a sentence names, and which of them each of its numbers is of.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::lexicon::lexicon;
use crate::work::Work;

use crate::draft::evidence::NamedArm;
use crate::draft::quantities::is_in;
use crate::draft::text::{DraftSentence, is_number};
use repro_claim::quote::ItemKind;

/// A word of a text in small letters, and where it stands.
#[derive(Debug, Clone)]
pub struct PlacedWord {
    pub text: String,
    pub span: Range<usize>,
    /// The words that it stands for.
    others: &'static [String],
}

impl PlacedWord {
    fn of(text: String, span: Range<usize>) -> Self {
        let others = lexicon().words(&format!("draft_arm.{text}"));
        Self { text, span, others }
    }

    /// Whether a word of a text says a word of a name.
    fn says(&self, name: &Self) -> bool {
        self.text == name.text
            || self.others.contains(&name.text)
            || name.others.contains(&self.text)
    }
}

/// The words of a text with their places.
pub fn placed_words(text: &str) -> Vec<PlacedWord> {
    let is_word = |c: char| c.is_alphanumeric();
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (is_word(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let word = plain(text.get(from..at).unwrap_or_default());
                words.push(PlacedWord::of(word, from..at));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// A word in small letters, with plain digits for raised ones: `relu2` of "ReLU²".
pub fn plain(word: &str) -> String {
    let digit = |c: char| superscript(c).unwrap_or(c);
    word.chars().map(digit).collect::<String>().to_lowercase()
}

/// The digit that is raised.
fn superscript(c: char) -> Option<char> {
    let digit = match c {
        '¹' => 1,
        '²' => 2,
        '³' => 3,
        '⁰' | '⁴'..='⁹' => u32::from(c) - u32::from('⁰'),
        _ => return None,
    };
    char::from_digit(digit, 10)
}

/// The steps of looking for the names of all arms in this many bytes of a text.
pub fn spoken_cost(bytes: usize, arms: &[NamedArm]) -> usize {
    bytes * arms.len() / 16
}

/// The arms that a text names; all of them where it names none, and where to look for them is too much. A run that the text never
/// mentions explains none of its numbers.
pub fn concerned(mut arms: Vec<NamedArm>, text: &str, work: &Work) -> Vec<NamedArm> {
    work.takes(spoken_cost(text.len(), &arms));
    if work.is_spent() {
        return arms;
    }
    name(&mut arms);
    let named = named_in(text, &arms);
    let is_named = |at: &usize| named.is_empty() || named.contains(at);
    let concerned = arms.into_iter().enumerate().filter(|(at, _)| is_named(at));
    let mut concerned: Vec<_> = concerned.map(|(_, arm)| arm).collect();
    name(&mut concerned);
    concerned
}

/// The arms that a text names anywhere, each once.
fn named_in(text: &str, arms: &[NamedArm]) -> Vec<usize> {
    let words = placed_words(text);
    let mut found = mentions(text, &words, arms);
    found.retain(|one| !is_any_word(text, &words, one));
    let mut named = once_each(&found);
    let is_of_several = |arm: &usize| arms.get(*arm).is_some_and(|arm| arm.words.len() > 1);
    named.extend(loosely_named(&words, arms).into_iter().filter(is_of_several));
    named
}

/// Whether a mention is a word of any text, "twice as long" beside an arm `long`: one that stands before no run or model, and
/// not alone in a cell of a table.
fn is_any_word(text: &str, words: &[PlacedWord], mention: &ArmMention) -> bool {
    let marks = [' ', '`', '*'];
    let said = text.get(mention.span.clone()).unwrap_or_default();
    let behind = text.get(mention.span.end..).unwrap_or_default().trim_start_matches(marks);
    let before = text.get(..mention.span.start).unwrap_or_default().trim_end_matches(marks);
    let behind_it = words.partition_point(|word| word.span.start < mention.span.end);
    let next = words.get(behind_it);
    is_in("common", &plain(said))
        && !next.is_some_and(|word| is_in("names_of_arms", &word.text))
        && !(before.ends_with('|') && behind.starts_with('|'))
}

/// An arm where a text names it.
#[derive(Debug, Clone)]
pub struct ArmMention {
    pub arm: usize,
    pub span: Range<usize>,
    /// Whether the text speaks of what is not this arm: "without Muon",
    pub is_absent: bool,
    /// or of what another is compared with: "than AdamW".
    pub is_object: bool,
}

/// Whose a number is, by the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberOwner {
    Arm(usize),
    /// Of several arms alike.
    Several,
    Unsaid,
}

/// Notes the names by which a text may speak of each arm: all of its words, those that not every arm has, and its first where
/// no other arm has it.
fn name(arms: &mut [NamedArm]) {
    for arm in &mut *arms {
        let words = arm.words.iter().filter(|word| word.as_str() != "runs");
        arm.own = words.map(|word| PlacedWord::of(word.clone(), 0..0)).collect();
    }
    let parts = |arm: &NamedArm| -> Vec<PlacedWord> {
        arm.own.iter().flat_map(|word| placed_words(&word.text)).collect()
    };
    let all: Vec<Vec<PlacedWord>> = arms.iter().map(parts).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for words in &all {
        let words: HashSet<_> = words.iter().map(|word| word.text.as_str()).collect();
        words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let count = |word: &PlacedWord| counts.get(word.text.as_str()).copied().unwrap_or_default();
    for (arm, words) in std::iter::zip(arms, &all) {
        let telling = words.iter().filter(|word| count(word) < all.len()).cloned().collect();
        let first = words.iter().take(1).filter(|word| {
            count(word) == 1 && word.text.len() > 2 && word.text.chars().all(char::is_alphabetic)
        });
        arm.spoken = vec![words.clone(), telling, first.cloned().collect()];
        arm.spoken.retain(|name| !name.is_empty());
    }
}

/// The arms that a text names, in its order; of `moe` and `moe big` the one that has more of its words.
pub fn mentions(text: &str, words: &[PlacedWord], arms: &[NamedArm]) -> Vec<ArmMention> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_at = |name: &Vec<PlacedWord>| {
            let window = words.get(at..at + name.len()).unwrap_or_default();
            let has = |wanted: &PlacedWord| window.iter().any(|word| word.says(wanted));
            !window.is_empty() && name.iter().all(has) && is_joined(text, window)
        };
        let here = arms.iter().enumerate().flat_map(|(at, arm)| {
            arm.spoken.iter().filter(|name| is_at(name)).map(move |name| (name.len(), at))
        });
        match here.max_by_key(|(length, arm)| (*length, std::cmp::Reverse(*arm))) {
            Some((length, arm)) => {
                found.push(mention(words, arm, at, length));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

fn is_joined(text: &str, window: &[PlacedWord]) -> bool {
    window.windows(2).all(|pair| match pair {
        [a, b] => {
            let gap = text.get(a.span.end..b.span.start).unwrap_or_default();
            !gap.contains([',', ';', '.', ':', '|'])
        }
        _ => true,
    })
}

pub fn mention(words: &[PlacedWord], arm: usize, at: usize, length: usize) -> ArmMention {
    let mut before =
        words.get(..at).unwrap_or_default().iter().rev().map(|word| word.text.as_str());
    let first = before.find(|word| !is_in("articles", word)).unwrap_or_default();
    let second = before.next().unwrap_or_default();
    let start = words.get(at).map_or(0, |word| word.span.start);
    let end = words.get(at + length - 1).map_or(start, |word| word.span.end);
    let is_of_two = ["with", "to", "of", "than"].contains(&first) && is_in("object_of_two", second);
    ArmMention {
        arm,
        span: start..end,
        is_absent: is_in("absent", first) && (first != "o" || second == "w"),
        is_object: is_in("object", first) || is_of_two,
    }
}

/// A sentence with its words, its numbers and the arms that it names, all by their places in it.
#[derive(Debug)]
pub struct ReadSentence<'t> {
    pub text: &'t str,
    pub words: Vec<PlacedWord>,
    /// The numbers, and whether each stands behind a ±.
    pub items: Vec<(Range<usize>, bool)>,
    pub mentions: Vec<ArmMention>,
    /// The arms of `mentions`, each once; those of the heading where the sentence names none.
    pub arms: Vec<usize>,
    pub absent: Vec<usize>,
    /// Of a row of a table what stands above each of its numbers; nothing of a sentence.
    pub heads: Vec<NumberHead>,
    /// For each number the arm that it names, where it does so by a setting, and the expression of that.
    pub labels: Vec<Option<(usize, String)>>,
}

/// The words in a number's row and column heads.
#[derive(Debug)]
pub struct NumberHead {
    /// The words of the row's label and of the column's head.
    pub words: Vec<String>,
    /// The one arm that the head names.
    pub arm: Option<usize>,
    /// Those of the words that can name a quantity: no numbers, no steps, no name of the arm.
    pub quantity: Vec<String>,
}

impl NumberHead {
    fn of(row: &str, head: &str, arms: &[NamedArm]) -> Self {
        let words = placed_words(head);
        let named = once_each(&mentions(head, &words, arms));
        let arm = named.first().copied().filter(|_| named.len() == 1);
        let label = row.trim_start_matches([' ', '|']).split('|').next().unwrap_or_default();
        let of_head = if arm.is_some() { &[][..] } else { &words };
        let label = placed_words(label);
        let is_quantity = |word: &&PlacedWord| {
            let is_number = word.text.chars().all(|c| c.is_ascii_digit());
            !is_number && !is_in("steps", &word.text)
        };
        let quantity = label.iter().chain(of_head).filter(is_quantity);
        let quantity = quantity.map(|word| word.text.clone()).collect();
        let words = label.iter().chain(&words).map(|word| word.text.clone()).collect();
        Self { words, arm, quantity }
    }
}

impl<'t> ReadSentence<'t> {
    pub fn of(text: &'t str, sentence: &DraftSentence, arms: &[NamedArm]) -> Self {
        let start = sentence.span.start;
        let text = text.get(sentence.span.clone()).unwrap_or_default();
        let words = placed_words(text);
        let mut found = mentions(text, &words, arms);
        let place =
            |span: &Range<usize>| span.start.saturating_sub(start)..span.end.saturating_sub(start);
        let items = sentence.items.iter().filter(|item| is_number(item));
        let items = items
            .map(|item| (place(&item.span), matches!(item.kind, ItemKind::Spread(_))))
            .collect();
        let heads = std::iter::zip(&sentence.heads, &sentence.items);
        let heads = heads.filter(|(_, item)| is_number(item));
        let heads: Vec<_> = heads.map(|(head, _)| NumberHead::of(text, head, arms)).collect();
        let (mentions, named, absent, labels) = Default::default();
        let mut read = Self { text, words, items, mentions, arms: named, absent, heads, labels };
        read.name_by_labels(sentence, arms, &mut found);
        let (absent, mentions): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.is_absent);
        read.absent = absent.into_iter().map(|one| one.arm).collect();
        read.arms = read.named(&mentions, sentence, arms);
        Self { mentions, ..read }
    }

    /// The arms that are named, each once.
    fn named(
        &self,
        mentions: &[ArmMention],
        sentence: &DraftSentence,
        arms: &[NamedArm],
    ) -> Vec<usize> {
        let mut of_heads: Vec<usize> = self.heads.iter().filter_map(|head| head.arm).collect();
        of_heads.dedup();
        if !of_heads.is_empty() {
            return of_heads;
        }
        let mut named = once_each(mentions);
        if named.is_empty() && self.absent.is_empty() {
            named = loosely_named(&self.words, arms);
        }
        // A title that names one arm is not about that arm alone.
        if named.is_empty() && self.absent.is_empty() && !sentence.is_titled {
            let heading = placed_words(&sentence.place);
            let of_heading = once_each(&self::mentions(&sentence.place, &heading, arms));
            named = if of_heading.len() == 1 { of_heading } else { Vec::new() };
        }
        named
    }

    /// Whether a number is one of an arm's name.
    fn is_label(&self, at: usize) -> bool {
        self.labels.get(at).is_some_and(Option::is_some)
    }

    /// Where a number ends, with its spread.
    fn end_with_spread(&self, at: usize) -> usize {
        let own = (at..self.items.len()).take_while(|one| self.mean_of(*one) == at);
        self.span(own.last().unwrap_or(at)).end
    }

    /// The number that a spread belongs to, or the number itself.
    pub fn mean_of(&self, item: usize) -> usize {
        let is_mean = |at: &usize| self.items.get(*at).is_some_and(|(_, is_spread)| !is_spread);
        (0..=item).rev().find(is_mean).unwrap_or(item)
    }

    pub fn gap(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub fn span(&self, item: usize) -> Range<usize> {
        self.items.get(item).map(|(span, _)| span.clone()).unwrap_or_default()
    }

    /// Whose a number is.
    pub fn owner(&self, item: usize) -> NumberOwner {
        let item = self.mean_of(item);
        if let Some(Some((arm, _))) = self.labels.get(item) {
            return NumberOwner::Arm(*arm);
        }
        if let Some(arm) = self.heads.get(item).and_then(|head| head.arm) {
            return NumberOwner::Arm(arm);
        }
        match self.arms.as_slice() {
            [] => return NumberOwner::Unsaid,
            [one] => return NumberOwner::Arm(*one),
            _ => {}
        }
        let end = self.span(item).end;
        let next = self.items.get(item + 1).map_or(self.text.len(), |(span, _)| span.start);
        if is_of_each(self.gap(end, next)) {
            return NumberOwner::Several;
        }
        if let Some(arm) = self.adjacent(item) {
            return NumberOwner::Arm(arm);
        }
        self.of_list(item).unwrap_or_else(|| self.last_named(item))
    }

    /// The arm that stands right before a number, or right behind it with words that lead to it.
    fn adjacent(&self, item: usize) -> Option<usize> {
        let span = self.span(item);
        let is_right_before = |one: &&ArmMention| {
            let gap = self.text.get(one.span.end..span.start);
            gap.is_some_and(|gap| gap.chars().all(|c| c.is_whitespace() || "(=`*_".contains(c)))
        };
        if let Some(one) = self.mentions.iter().find(is_right_before) {
            return Some(one.arm);
        }
        let next =
            (item + 1..self.items.len()).find(|at| self.mean_of(*at) == *at && !self.is_label(*at));
        let end = self.end_with_spread(item);
        let until = next.map_or(self.text.len(), |next| self.span(next).start);
        let behind =
            self.mentions.iter().find(|one| one.span.start >= end && one.span.end <= until)?;
        let gap = self.gap(end, behind.span.start);
        let leads = placed_words(gap).iter().all(|word| is_in("leads_to_arm", &word.text));
        (leads && !gap.contains([',', ';', ':'])).then_some(behind.arm)
    }

    /// Whether few words of a list stand between two places.
    fn are_joined(&self, before: usize, behind: usize, list: &str) -> bool {
        let words = placed_words(self.gap(before, behind));
        words.len() < 4 && words.iter().all(|word| is_in(list, &word.text))
    }

    /// "A and B end at x and y": numbers in the order of the arms, where all of these stand before the first of them.
    fn of_list(&self, item: usize) -> Option<NumberOwner> {
        let is_result = |at: &usize| self.mean_of(*at) == *at && !self.is_label(*at);
        let means: Vec<usize> = (0..self.items.len()).filter(is_result).collect();
        let own = means.iter().position(|at| *at == item)?;
        let span = |rank: usize| self.span(means.get(rank).copied().unwrap_or_default());
        let end = |rank: usize| self.end_with_spread(means.get(rank).copied().unwrap_or_default());
        let joined = |rank: &usize| self.are_joined(end(*rank - 1), span(*rank).start, "joins");
        let first = (1..=own).rev().take_while(joined).last().map_or(own, |rank| rank - 1);
        let last = (own + 1..means.len()).take_while(joined).last().unwrap_or(own);
        let from = first.checked_sub(1).map_or(0, end);
        let to = span(first).start;
        let group: Vec<ArmMention> = self
            .mentions
            .iter()
            .filter(|one| one.span.start >= from && one.span.end <= to)
            .cloned()
            .collect();
        let mut arms = once_each(&group);
        if arms.len() < 2 {
            return None;
        }
        if arms.len() == last - first + 1 && arms.len() == group.len() {
            let is_from = self.word_before(to).is_some_and(|word| word == "from");
            if is_from && group.last().is_some_and(|one| one.is_object) {
                arms.reverse();
            }
            return arms.get(own - first).map(|arm| NumberOwner::Arm(*arm));
        }
        let are_alike = group.windows(2).all(|pair| match pair {
            [a, b] => self.are_joined(a.span.end, b.span.start, "alike"),
            _ => true,
        });
        are_alike.then_some(NumberOwner::Several)
    }

    /// The arm that is named last before a number, or the one that is compared with it; else the first behind.
    fn last_named(&self, item: usize) -> NumberOwner {
        let start = self.span(item).start;
        let before: Vec<_> = self.mentions.iter().filter(|one| one.span.end <= start).collect();
        let has_number = |from: usize, to: usize| {
            self.items.iter().any(|(span, _)| from <= span.start && span.end <= to)
        };
        let named = match before.as_slice() {
            [.., subject, object]
                if object.is_object && !has_number(subject.span.end, object.span.start) =>
            {
                Some(subject.arm)
            }
            [.., one, last]
                if one.arm != last.arm
                    && self.are_joined(one.span.end, last.span.start, "alike") =>
            {
                return NumberOwner::Several;
            }
            [.., last] => Some(last.arm),
            [] => self.mentions.first().map(|one| one.arm),
        };
        named.map_or(NumberOwner::Unsaid, NumberOwner::Arm)
    }

    /// The word that stands before a place,
    pub fn word_before(&self, at: usize) -> Option<&str> {
        let before = self.words.iter().rev().find(|word| word.span.end <= at);
        before.map(|word| word.text.as_str())
    }

    /// The arm that is compared with another, and that other, for a number of both.
    pub fn compared(&self, item: usize) -> Option<[usize; 2]> {
        match (self.arms.as_slice(), self.owner(item)) {
            ([first, second], _) => {
                let is_object = |arm: &usize| {
                    let own = self.mentions.iter().filter(|one| one.arm == *arm);
                    own.clone().count() > 0 && own.clone().all(|one| one.is_object)
                };
                let is_turned = is_object(first) && !is_object(second);
                Some(if is_turned { [*second, *first] } else { [*first, *second] })
            }
            _ => None,
        }
    }
}

/// Whether the words behind a number say that it is one for each arm or run: "3 seeds each", "3 seeds per arm".
fn is_of_each(behind: &str) -> bool {
    let clause = behind.split([',', ';', '.', ':', '(', '|']).next().unwrap_or_default();
    let words = placed_words(clause);
    words.iter().take(4).enumerate().any(|(at, word)| {
        let of_arms = words.get(at + 1).map(|next| is_in("arms", &next.text));
        match is_in("apiece", &word.text) {
            true => of_arms.unwrap_or(true),
            false => is_in("rates", &word.text) && of_arms.unwrap_or(false),
        }
    })
}

fn once_each(mentions: &[ArmMention]) -> Vec<usize> {
    let mut arms: Vec<usize> = Vec::new();
    for one in mentions {
        if !arms.contains(&one.arm) {
            arms.push(one.arm);
        }
    }
    arms
}

/// The arms all of whose words stand somewhere in a sentence, in their order.
fn loosely_named(words: &[PlacedWord], arms: &[NamedArm]) -> Vec<usize> {
    let place = |arm: &NamedArm| {
        let said = |own: &PlacedWord| words.iter().position(|word| word.says(own));
        let found: Option<Vec<usize>> = arm.own.iter().map(said).collect();
        found.and_then(|places| places.into_iter().max())
    };
    let mut found: Vec<(usize, usize)> =
        arms.iter().enumerate().filter_map(|(at, arm)| Some((place(arm)?, at))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, at)| at).collect()
}
