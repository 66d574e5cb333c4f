//! Prompts: an item as requests to a scorer, after examples that are drawn from the other items.
//!
//! The text is preamble, examples (context, delimiter, right continuation, separator), context,
//! delimiter, continuation, after one start token. The continuation begins where the tokens of the
//! whole and those of the text before it part, the same number of tokens in for all choices of a query.
//! The draws of an item depend on the seed, the name of the task and the item's position, so that they
//! are the same for every model, checkpoint and batch.

use std::collections::HashMap;

use super::{Item, ItemForm, Passage, Task};
use crate::data::Tokenizer;
use crate::scorer::ScoreRequest;
use repro_core::source::Error;
use repro_stats::rng::Rng;

/// How text becomes tokens.
pub trait Tokenize {
    /// The tokens of a text.
    fn encode(&self, text: &str) -> Result<Vec<u32>, Error>;

    /// The token before every text.
    fn start(&self) -> Result<u32, Error>;
}

impl Tokenize for Tokenizer {
    fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
        self.encode(text)
    }

    fn start(&self) -> Result<u32, Error> {
        self.start()
    }
}

/// The requests of one item of `task`, one for each of its passages.
pub fn questions(
    task: &Task,
    at: usize,
    seed: u64,
    tokenizer: &impl Tokenize,
) -> Result<Vec<ScoreRequest>, Error> {
    let Some(item) = task.items.get(at) else { return Ok(Vec::new()) };
    let mut before = task.preamble.clone();
    for shot in draw(task, at, seed) {
        if let Some(shot) = task.items.get(shot) {
            before.push_str(&task.example(shot));
            before.push_str(&task.separator);
        }
    }
    let mut prompts = of_passages(task, item, &before, tokenizer)?;
    if task.form == ItemForm::MultipleChoice {
        // One query: each choice counts from the same token on.
        let context = prompts.iter().map(|prompt| prompt.context.len()).min().unwrap_or(0);
        prompts.iter_mut().for_each(|prompt| prompt.give_back(context));
    }
    Ok(prompts)
}

fn of_passages(
    task: &Task,
    item: &Item,
    before: &str,
    tokenizer: &impl Tokenize,
) -> Result<Vec<ScoreRequest>, Error> {
    let start = tokenizer.start()?;
    let tokens = |text: &str| -> Result<Vec<u32>, Error> {
        Ok(std::iter::once(start).chain(tokenizer.encode(text)?).collect())
    };
    let request = |passage: &Passage| {
        let context = [before, &*passage.context, &task.delimiter].concat();
        let known = tokens(&context)?;
        let mut whole = tokens(&(context + &passage.continuation))?;
        let common = known.iter().zip(&whole).take_while(|(known, whole)| known == whole).count();
        // A tokenizer may join what precedes and what follows; something always counts.
        let common = common.min(whole.len().saturating_sub(1)).max(1);
        let continuation = whole.split_off(common.min(whole.len()));
        Ok(ScoreRequest { context: whole, continuation })
    };
    item.passages.iter().map(request).collect()
}

impl ScoreRequest {
    /// Moves the end of the context to the continuation, so that `context` tokens of it are left.
    fn give_back(&mut self, context: usize) {
        let moved = self.context.split_off(context.min(self.context.len()));
        self.continuation.splice(0..0, moved);
    }
}

/// The examples of an item: other items of the task, each at most once, in the order drawn.
fn draw(task: &Task, at: usize, seed: u64) -> Vec<usize> {
    let others = task.items.len().saturating_sub(1);
    let shots = task.shots.min(others);
    if shots == 0 {
        return Vec::new();
    }
    let mut rng = Rng::new(seed, &format!("few-shot {} {at}", task.name));
    // Fisher and Yates on positions among the others, of which only the moved ones are held.
    let mut moved = HashMap::new();
    let mut drawn = Vec::with_capacity(shots);
    for first in 0..shots {
        let chosen = first + rng.below((others - first) as u64) as usize;
        let held = |moved: &HashMap<usize, usize>, at| moved.get(&at).copied().unwrap_or(at);
        let (taken, left) = (held(&moved, chosen), held(&moved, first));
        moved.insert(chosen, left);
        drawn.push(if taken < at { taken } else { taken + 1 });
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words of letters and single other characters; a space belongs to the word after it.
    fn words(text: &str) -> Vec<u32> {
        let mut tokens: Vec<String> = Vec::new();
        let mut open = false;
        for c in text.chars() {
            match tokens.last_mut() {
                Some(last) if open && c.is_alphabetic() => last.push(c),
                _ => tokens.push(c.to_string()),
            }
            open = c.is_alphabetic() || c == ' ';
        }
        tokens
            .iter()
            .map(|word| word.bytes().fold(7, |h: u32, b| h * 31 % 65_521 + u32::from(b)))
            .collect()
    }

    /// Tokens by a function, after a zero.
    struct Words(fn(&str) -> Vec<u32>);

    impl Tokenize for Words {
        fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
            Ok(self.0(text))
        }

        fn start(&self) -> Result<u32, Error> {
            Ok(0)
        }
    }

    fn of_words(task: &Task) -> Vec<ScoreRequest> {
        questions(task, 0, 0, &Words(words)).unwrap()
    }

    fn task(form: ItemForm, items: Vec<Item>) -> Task {
        Task { delimiter: " ".into(), separator: "\n\n".into(), ..Task::plain("t", form, items) }
    }

    fn texts(task: &Task, at: usize) -> Vec<(String, String)> {
        let requests = questions(task, at, 0, &Tokenizer::bytes()).unwrap();
        let text = |tokens: &[u32]| tokens.iter().map(|t| *t as u8 as char).collect::<String>();
        requests.iter().map(|r| (text(&r.context), text(&r.continuation))).collect()
    }

    #[test]
    fn prompts_hold_the_examples_and_one_passage() {
        let items = vec![
            Item::multiple_choice("Q1", ["yes", "no"], 1),
            Item::multiple_choice("Q2", ["left", "right"], 0),
        ];
        let mut task = task(ItemForm::MultipleChoice, items);
        (task.shots, task.preamble) = (1, "Answer.\n".into());
        let found = texts(&task, 1);
        let before = "\nAnswer.\nQ1 no\n\nQ2 ".to_owned();
        assert_eq!(found, [(before.clone(), "left".into()), (before, "right".into())]);
        let schema =
            self::task(ItemForm::Schema, vec![Item::schema(["a cat", "cats"], "sleeps", 0)]);
        let found = texts(&schema, 0);
        assert_eq!(found[0], ("\na cat ".into(), "sleeps".into()));
        assert_eq!(found[1], ("\ncats ".into(), "sleeps".into()));
        assert_eq!(texts(&schema, 1), []);
    }

    #[test]
    fn a_continuation_begins_where_the_tokens_part() {
        // " on" is one token, so the delimiter's space is not yet known.
        let item = Item::language_modeling("go", "on");
        let found = of_words(&task(ItemForm::LanguageModeling, vec![item]));
        assert_eq!(found[0].context, [&[0], &words("go")[..]].concat());
        assert_eq!(found[0].continuation, words(" on"));
        // "1" leaves the space alone and "on" does not: both count from before it.
        let item = Item::multiple_choice("go", ["on", "1"], 0);
        let found = of_words(&task(ItemForm::MultipleChoice, vec![item]));
        assert_eq!((found[0].context.len(), found[1].context.len()), (2, 2));
        assert_eq!((found[0].continuation.len(), found[1].continuation.len()), (1, 2));
        // Nothing that is lost in encoding leaves nothing to count.
        let silent = Words(|text| words(text.trim_end()));
        let item = Item::language_modeling("go", " ");
        let found =
            questions(&task(ItemForm::LanguageModeling, vec![item]), 0, 0, &silent).unwrap();
        assert_eq!((found[0].context.len(), found[0].continuation.len()), (1, 1));
    }

    #[test]
    fn draws_are_the_same_for_ever() {
        let item = |i: usize| Item::language_modeling(&i.to_string(), "x");
        let mut task = task(ItemForm::LanguageModeling, (0..50).map(item).collect());
        task.shots = 5;
        // By a second implementation, in Python, that swaps in a full list.
        assert_eq!(draw(&task, 3, 1), [44, 8, 24, 37, 7]);
        assert_ne!(draw(&task, 3, 1), draw(&task, 4, 1));
        assert_ne!(draw(&task, 3, 1), draw(&task, 3, 2));
    }

    proptest! {
        /// Examples are other items, none twice, as many as asked for or as there are, each of them
        /// equally likely in each place.
        #[test]
        fn examples_are_other_items(items in 1_usize..12, shots in 0_usize..12, seed in 0_u64..1000) {
            let item = Item { passages: vec![Passage { context: "".into(), continuation: "x".into() }], gold: 0 };
            let mut task = task(ItemForm::LanguageModeling, vec![item; items]);
            task.shots = shots;
            for at in 0..items {
                let mut drawn = draw(&task, at, seed);
                prop_assert_eq!(drawn.len(), shots.min(items - 1));
                prop_assert!(drawn.iter().all(|shot| *shot != at && *shot < items));
                drawn.sort_unstable();
                drawn.dedup();
                prop_assert_eq!(drawn.len(), shots.min(items - 1));
            }
        }
    }

    #[test]
    fn each_example_is_equally_likely() {
        let item = |i: usize| Item::language_modeling(&i.to_string(), "x");
        let mut task = task(ItemForm::LanguageModeling, (0..6).map(item).collect());
        task.shots = 2;
        let mut counts = [0_u32; 36];
        for seed in 0..6000 {
            let drawn = draw(&task, 2, seed);
            counts[drawn[0] * 6 + drawn[1]] += 1;
        }
        let possible = counts.iter().filter(|count| **count > 0).count();
        assert_eq!(possible, 20);
        assert!(
            counts.iter().all(|&n| n == 0 || (f64::from(n) - 300.0).abs() < 90.0),
            "{counts:?}"
        );
    }
}
