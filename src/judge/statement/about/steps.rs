//! The steps that words name, against those at which the evidence was recorded.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Mismatch, OTHER_STEP, Words};
use crate::value::Leaf;

/// What a run counts its training by.
const STEP_WORDS: &[&str] =
    &["step", "steps", "iteration", "iterations", "iter", "updates", "update"];
/// Words before "step 50" that name where something else begins or ends.
const NOT_THERE: &[&str] =
    &["until", "till", "from", "since", "before", "to", "up", "past", "warmup"];
/// Words before "50 steps" that name the step at which they are over.
const OVER_AT: &[&str] = &["after", "at", "within", "by", "in"];
/// Words that may stand between those and the number.
const BETWEEN: &[&str] = &["only", "just", "the", "first", "all", "its"];
/// What may stand between a number and the word "steps".
const KINDS_OF_STEPS: &[&str] = &["training", "optimizer", "optimiser", "gradient", "more"];
/// Words for the last step.
const LAST: &[&str] = &["final", "finally", "ends", "ended", "finishes", "finished"];
/// Longer words for the last step.
const LAST_OF_ALL: &[&str] =
    &["at the end", "in the end", "last step", "end of training", "fully trained"];

/// The steps that words are about.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SaidSteps {
    /// By their numbers.
    pub numbers: BTreeSet<u64>,
    /// Whether the last one is.
    pub last: bool,
}

impl SaidSteps {
    /// What a text names.
    pub fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words = words(&lower);
        let mut numbers: BTreeSet<u64> = (0..words.len())
            .flat_map(|at| numbered(&words, at).into_iter().chain(counted(&words, at)))
            .collect();
        // What something lasts until is no step of a measurement, even where it is written once more.
        let elsewhere = |step: &u64| {
            let named =
                |at: usize| is_named_elsewhere(&words, at) && number(words[at + 1]) == Some(*step);
            (0..words.len().saturating_sub(1)).any(named)
        };
        numbers.retain(|step| !elsewhere(step));
        let spaced = words.join(" ");
        let last = words.iter().any(|word| LAST.contains(word))
            || LAST_OF_ALL.iter().any(|phrase| spaced.contains(phrase));
        Self { numbers, last }
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty() && !self.last
    }
}

/// The steps that words name for their number: those of its clause, or, where it is the only number besides steps, of
/// the whole quote. A relation is about all of them.
fn said_of(words: Words) -> SaidSteps {
    let all = SaidSteps::of(words.quote);
    let Some((start, end)) = words.number else { return all };
    let (Some(before), Some(behind)) = (words.quote.get(..start), words.quote.get(end..)) else {
        return all;
    };
    let parts = |c: char| ",;:()".contains(c);
    let joins = [" and ", " but ", " while "];
    let first = joins.iter().filter_map(|join| before.rfind(join).map(|at| at + join.len()));
    let first = first.chain(before.rfind(parts).map(|at| at + 1)).max().unwrap_or(0);
    let last = joins.iter().filter_map(|join| behind.find(join)).chain(behind.find(parts)).min();
    let clause = words.quote.get(first..end + last.unwrap_or(behind.len())).unwrap_or_default();
    let own = SaidSteps::of(clause);
    if !own.is_empty() {
        return own;
    }
    let items = repro_claim::quote::items(words.quote);
    let is_step = |text: &str| number(text).is_some_and(|step| all.numbers.contains(&step));
    let others = items.iter().filter(|item| !is_step(item.text(words.quote))).count();
    if others > 1 { SaidSteps::default() } else { all }
}

/// The words of a text, with a mark where a clause ends.
fn words(text: &str) -> Vec<&str> {
    const END: &str = ";";
    let parts = |c: char| c.is_whitespace() || "=:-–()|/[]*`".contains(c);
    let ends = ['.', ',', ';', '!', '?'];
    let words = text.split(parts).filter(|word| !word.is_empty()).flat_map(|word| {
        let ended = word.ends_with(ends).then(|| if word.ends_with(',') { "," } else { END });
        std::iter::once(word.trim_end_matches(ends)).chain(ended)
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// "step 242", "iteration 242", "@ 242", and the list of "steps 242, 484 and 967".
fn numbered(words: &[&str], at: usize) -> Vec<u64> {
    const JOINS: &[&str] = &[",", "and", "to", "through", "&", "or"];
    let is_step = STEP_WORDS.contains(&words[at]) || words[at] == "@";
    if !is_step || is_named_elsewhere(words, at) {
        return Vec::new();
    }
    let mut list = Vec::new();
    for word in &words[at + 1..] {
        match number(word) {
            Some(step) => list.push(step),
            None if !list.is_empty() && JOINS.contains(word) => {}
            None => break,
        }
    }
    // Only "steps" have several.
    if words[at].ends_with('s') || list.len() < 2 { list } else { list[..1].to_vec() }
}

fn is_named_elsewhere(words: &[&str], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    STEP_WORDS.contains(&words[at]) && before.is_some_and(|word| NOT_THERE.contains(word))
}

/// "after 242 steps", "in only 242 training steps".
fn counted(words: &[&str], at: usize) -> Option<u64> {
    let step = number(words[at])?;
    let mut behind = words[at + 1..].iter().skip_while(|word| KINDS_OF_STEPS.contains(word));
    let is_steps = behind.next().is_some_and(|word| STEP_WORDS.contains(word));
    let mut before = words[..at].iter().rev().skip_while(|word| BETWEEN.contains(word));
    let is_over = before.next().is_some_and(|word| OVER_AT.contains(word));
    (is_steps && is_over).then_some(step)
}

fn number(word: &str) -> Option<u64> {
    let digits = word.replace([',', '_'], "");
    match digits.strip_suffix('k') {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1000),
        None => digits.parse().ok(),
    }
}

/// Whether the evidence is of another step than the words; `last_of` gives the last step at which a bundle was
/// evaluated.
pub fn other(words: Words, leaves: &[Rc<Leaf>], last_of: &dyn Fn(&str) -> Option<u64>) -> Mismatch {
    let mut said = said_of(words);
    if said.is_empty() && SaidSteps::of(words.quote).is_empty() {
        said = SaidSteps::of(words.place);
    }
    let mut found = BTreeSet::new();
    for leaf in leaves {
        found.extend(leaf.step);
        found.extend(leaf.quote.iter().flat_map(|quote| SaidSteps::of(quote).numbers));
    }
    if said.is_empty() || found.is_empty() || !said.numbers.is_disjoint(&found) {
        return None;
    }
    let mut steps = found.iter();
    // "within 242 steps" may lie between two that are compared.
    if let (Some(first), Some(second), None) = (steps.next(), steps.next(), steps.next())
        && said.numbers.contains(&(second - first))
    {
        return None;
    }
    let at_last = |leaf: &Rc<Leaf>| {
        let bundle = &leaf.evidence.as_ref()?.bundle;
        Some((leaf.step?, last_of(bundle)?))
    };
    let ends: Vec<_> = leaves.iter().filter_map(at_last).collect();
    let is_before_the_end = !ends.is_empty() && ends.iter().all(|(step, last)| step < last);
    if said.last && !is_before_the_end {
        return None;
    }
    let list =
        |steps: &BTreeSet<u64>| steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let named = match said.numbers.is_empty() {
        true => "the last step".to_owned(),
        false => format!("step {}", list(&said.numbers)),
    };
    let reason = format!("the words are about {named}, the evidence about step {}", list(&found));
    Some((&OTHER_STEP, reason))
}

#[cfg(test)]
mod tests {
    use super::SaidSteps;

    #[test]
    fn steps_stand_behind_or_before_their_word() {
        let found = |text| SaidSteps::of(text).numbers.into_iter().collect::<Vec<_>>();
        assert_eq!(found("at step 7,563 / loss 3.2625; step=12, step 0x1"), [12, 7563]);
        assert_eq!(found("In only 242 steps; after 484 training steps"), [242, 484]);
        assert_eq!(found("at iteration 20k, loss @ 512"), [512, 20_000]);
        assert_eq!(found("at steps 242, 484 and 967; steps 5/7"), [5, 7, 242, 484, 967]);
        let none =
            "warmup until step 50; from step 242 on; trained for 1209 steps; 8 steps per run";
        assert_eq!(found(none), Vec::<u64>::new());
    }

    #[test]
    fn the_last_step_has_words_of_its_own() {
        for text in ["the final loss", "at the end 1.71", "the loss ends at 1.71"] {
            assert!(SaidSteps::of(text).last, "{text}");
        }
        assert!(!SaidSteps::of("the endless finale").last);
    }
}
