//! Evaluation tasks in the DCLM layout: items of a query and its choices, of two contexts and one
//! continuation, or of a text to be completed; few-shot prompts; scores with the outcome of each item.
//!
//! Owns reading of task lists and items, the prompts, and the scoring rules. What predicts is a
//! `scorer`; tables of results, baselines and CORE are those of `repro_model::tasks` and `repro_model::scores`.

mod items;
mod list;
mod prompt;
mod results;

use std::sync::Arc;

use num_rational::BigRational;

use crate::language;
use repro_core::source::codes;

pub use list::Suite;
pub use prompt::{Tokenize, questions};
pub use results::{TaskScore, TaskScores};

codes! {
    NO_TASK_LIST = "task-list::no-list", "the file is not a list of evaluation tasks", "write `icl_tasks`, a list of tasks";
    UNSUPPORTED = "task-list::unsupported", "a task cannot be evaluated as listed", "leave the task out, or use a known kind";
    REPEATED_LABEL = "task-list::repeated-label", "a task is listed twice", "keep one of the two";
    NO_DATA = "task-list::no-data", "the items of a task are missing", "put the file at the path in the list, or leave the task out";
    BAD_ITEM = "task-list::bad-item", "an item of a task is malformed", "correct the item";
    BAD_GOLD = "task-list::bad-gold", "the correct choice of an item is not among its choices", "count choices from 0";
    TOO_FEW_ITEMS = "task-list::too-few-items", "a task has too few items for its few-shot prompts", "lower `num_fewshot`, or add items";
}

/// The default text between context and continuation.
pub const DELIMITER: &str = " ";
/// The default text after each example of a prompt.
pub const SEPARATOR: &str = "\n\n";

/// A task: items of one kind and how they are asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The kind of its items.
    pub form: ItemForm,
    /// How a choice is made among continuations.
    pub rule: ChoiceRule,
    /// How many other items precede each as examples.
    pub shots: usize,
    /// The text before the first example.
    pub preamble: String,
    /// The text between a context and its continuation.
    pub delimiter: String,
    /// The text after each example.
    pub separator: String,
    /// Its items.
    pub items: Vec<Item>,
}

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemForm {
    /// One query, several continuations.
    MultipleChoice,
    /// Several contexts, one continuation.
    Schema,
    /// One context, one continuation, each token of which must be the most likely one.
    LanguageModeling,
}

/// By which cost the cheapest passage of an item is chosen; the first of equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceRule {
    /// The mean of nats over the tokens of the continuation, as DCLM and nanochat have it.
    PerToken,
    /// Nats over the bytes of the continuation, the same under every tokenizer.
    PerByte,
}

/// One item: the passages to choose from, and the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The passages.
    pub passages: Vec<Passage>,
    /// The position of the right one.
    pub gold: usize,
}

/// A continuation and what precedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The context.
    pub context: Arc<str>,
    /// The scored continuation.
    pub continuation: Arc<str>,
}

impl ItemForm {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::MultipleChoice, Self::Schema, Self::LanguageModeling];

    /// The word in task lists and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::MultipleChoice => "multiple_choice",
            Self::Schema => "schema",
            Self::LanguageModeling => "language_modeling",
        }
    }
}

impl ChoiceRule {
    /// The word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::PerToken => "lowest nats per token of the continuation",
            Self::PerByte => "lowest nats per byte of the continuation",
        }
    }
}

impl Item {
    /// A query with choices that may continue it.
    pub fn multiple_choice<'t>(
        query: &str,
        choices: impl IntoIterator<Item = &'t str>,
        gold: usize,
    ) -> Self {
        let context: Arc<str> = query.into();
        let passage =
            |choice: &str| Passage { context: context.clone(), continuation: choice.into() };
        Self { passages: choices.into_iter().map(passage).collect(), gold }
    }

    /// Contexts that one continuation may follow.
    pub fn schema<'t>(
        contexts: impl IntoIterator<Item = &'t str>,
        continuation: &str,
        gold: usize,
    ) -> Self {
        let continuation: Arc<str> = continuation.into();
        let passage =
            |context: &str| Passage { context: context.into(), continuation: continuation.clone() };
        Self { passages: contexts.into_iter().map(passage).collect(), gold }
    }

    /// A text and the one way to go on with it; white space around the context is no part of it.
    pub fn language_modeling(context: &str, continuation: &str) -> Self {
        let passage = Passage { context: context.trim().into(), continuation: continuation.into() };
        Self { passages: vec![passage], gold: 0 }
    }
}

impl From<language::GeneratedTask> for Task {
    /// A task of the embedded language: passages as they stand in its documents.
    fn from(task: language::GeneratedTask) -> Self {
        let form = match task.form {
            language::QuestionForm::MultipleChoice => ItemForm::MultipleChoice,
            language::QuestionForm::Schema => ItemForm::Schema,
            language::QuestionForm::LanguageModeling => ItemForm::LanguageModeling,
        };
        let passage = |passage: language::QuestionPassage| Passage {
            context: passage.context.into(),
            continuation: passage.continuation.into(),
        };
        let item = |question: language::Question| Item {
            passages: question.passages.into_iter().map(passage).collect(),
            gold: question.gold,
        };
        Self::plain(task.name, form, task.questions.into_iter().map(item).collect())
    }
}

impl Task {
    /// A task without examples, of items in which context and continuation follow each other as written.
    pub fn plain(name: impl Into<String>, form: ItemForm, items: Vec<Item>) -> Self {
        Self {
            name: name.into(),
            form,
            rule: ChoiceRule::PerByte,
            shots: 0,
            preamble: String::new(),
            delimiter: String::new(),
            separator: String::new(),
            items,
        }
    }

    /// The score of guessing: the mean of one over the number of passages; nothing is guessed where each
    /// token must be right.
    pub fn chance(&self) -> BigRational {
        if self.form == ItemForm::LanguageModeling || self.items.is_empty() {
            return BigRational::default();
        }
        let one = |item: &Item| BigRational::new(1.into(), item.passages.len().max(1).into());
        let count = BigRational::from_integer(self.items.len().into());
        self.items.iter().map(one).sum::<BigRational>() / count
    }

    /// The item as an example: its right passage in full.
    fn example(&self, item: &Item) -> String {
        let passage = item.passages.get(item.gold);
        let text = |p: &Passage| [&*p.context, &self.delimiter, &*p.continuation].concat();
        passage.map(text).unwrap_or_default()
    }
}
