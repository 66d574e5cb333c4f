//! The functions of the language. A new one is one file here, `mod name;` and its line in [`GROUPS`].

mod fixed;
mod numbers;
mod parameters;
mod said;
mod samples;
mod target;

use repro_receipt::source::Error;

use crate::evaluate::Call;
use crate::value::Value;

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
    /// What it gives.
    pub evaluate: Evaluate,
}

/// How a function is evaluated.
pub type Evaluate = for<'c, 'f, 'a> fn(&Call<'c, 'f, 'a>) -> Result<Value<'a>, Error>;

static GROUPS: &[&[Function]] = &[
    numbers::FUNCTIONS,
    samples::FUNCTIONS,
    parameters::FUNCTIONS,
    fixed::FUNCTIONS,
    target::FUNCTIONS,
    said::FUNCTIONS,
];

/// Every function, in the order of lists.
pub fn all() -> impl Iterator<Item = &'static Function> {
    GROUPS.iter().copied().flatten()
}

/// The function of this name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}
