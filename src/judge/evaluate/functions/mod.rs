//! The functions of the language. A new one is one file here, `mod name;` and its line in `GROUPS`.

pub mod again;
mod best;
pub mod complete;
mod counted;
pub mod everywhere;
mod files;
pub mod fixed;
pub mod items;
mod moments;
mod numbers;
pub mod parameters;
pub mod possible;
mod resampled;
pub mod reversed;
pub mod said;
mod samples;
pub mod shares;
mod stated;
pub mod target;
pub mod tasks;
pub mod tested;

use repro_receipt::source::Error;

use crate::evaluate::Call;
use crate::value::Evaluated;

/// A function of the language.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is written: `mean(numbers)`.
    pub signature: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// How it misleads.
    pub misleads: &'static str,
    /// An example.
    pub example: &'static str,
    /// What kind of result it has.
    pub gives: Gives,
    /// What it computes.
    pub evaluate: Evaluate,
}

/// What kind of result a function has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// Something derived from its arguments.
    Derived,
    /// The two ends of an interval, which stand for two numbers of a quote, or for one behind `±`.
    Ends,
    /// Its arguments as they stand, or whether they hold against each other.
    AsItStands,
}

/// How a function is evaluated.
pub type Evaluate = for<'c, 'f, 'a> fn(&Call<'c, 'f, 'a>) -> Result<Evaluated<'a>, Error>;

static GROUPS: &[&[Function]] = &[
    numbers::FUNCTIONS,
    samples::FUNCTIONS,
    best::FUNCTIONS,
    counted::FUNCTIONS,
    tested::FUNCTIONS,
    stated::FUNCTIONS,
    reversed::FUNCTIONS,
    resampled::FUNCTIONS,
    tasks::FUNCTIONS,
    items::FUNCTIONS,
    parameters::FUNCTIONS,
    fixed::FUNCTIONS,
    target::FUNCTIONS,
    possible::FUNCTIONS,
    shares::FUNCTIONS,
    everywhere::FUNCTIONS,
    complete::FUNCTIONS,
    again::FUNCTIONS,
    moments::FUNCTIONS,
    said::FUNCTIONS,
];

/// Every function, in the order of lists.
pub fn all() -> impl Iterator<Item = &'static Function> {
    GROUPS.iter().copied().flatten()
}

impl Function {
    /// All that there is to say of it.
    pub fn explain(&self) -> String {
        format!(
            "{}\n  {}\n\nIt misleads: {}\nExample: {}\n",
            self.signature, self.summary, self.misleads, self.example
        )
    }
}

/// The function of this name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}
