//! A call of a function, as the function sees it.

use repro_claim::Expression;
use repro_claim::syntax::Argument;
use repro_receipt::source::{Code, Error};

use super::{Evaluator, Frame, WRONG_ARGUMENTS};
use crate::value::{Quantity, RunSample};

/// A call while it is evaluated.
#[derive(Debug)]
pub struct Call<'c, 'f, 'a> {
    /// Who evaluates.
    pub evaluator: &'c Evaluator<'a>,
    /// Where.
    pub frame: Frame<'f, 'a>,
    /// The whole call, for messages.
    pub whole: &'c Expression,
    /// The name of the function.
    pub name: &'c str,
    /// What it is given.
    pub arguments: &'c [Argument],
}

impl<'a> Call<'_, '_, 'a> {
    /// The argument at a position among those without a name.
    pub fn positional(&self, index: usize) -> Option<&Expression> {
        let mut plain = self.arguments.iter().filter(|argument| argument.name.is_none());
        plain.nth(index).map(|argument| &argument.value)
    }

    /// The argument of a name.
    pub fn named(&self, name: &str) -> Option<&Expression> {
        let of = |argument: &&Argument| argument.name.as_deref() == Some(name);
        self.arguments.iter().find(of).map(|argument| &argument.value)
    }

    /// Refuses another number of plain arguments, and names that the function does not know.
    pub fn takes(&self, least: usize, most: usize, names: &[&str]) -> Result<(), Error> {
        let plain = self.arguments.iter().filter(|argument| argument.name.is_none()).count();
        if plain < least || plain > most {
            let expected = match (least, most) {
                (1, 1) => "1 value".to_owned(),
                (least, most) if least == most => format!("{least} values"),
                (1, usize::MAX) => "at least 1 value".to_owned(),
                (least, usize::MAX) => format!("at least {least} values"),
                (least, most) => format!("{least} to {most} values"),
            };
            return Err(self.wrong(&WRONG_ARGUMENTS, &expected, &format!("{plain}")));
        }
        let mut seen = Vec::new();
        for name in self.arguments.iter().filter_map(|argument| argument.name.as_deref()) {
            if !names.contains(&name) || seen.contains(&name) {
                let known: Vec<_> = names.iter().map(|name| format!("`{name} = `")).collect();
                let expected = match known.is_empty() {
                    true => "values without names".to_owned(),
                    false => format!("{}, each once", known.join(", ")),
                };
                return Err(self.wrong(&WRONG_ARGUMENTS, &expected, &format!("`{name} = `")));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// The one number that the argument at a position is.
    pub fn number(&self, index: usize) -> Result<Quantity, Error> {
        let Some(part) = self.positional(index) else {
            return Err(self.wrong(&WRONG_ARGUMENTS, "another value", "none"));
        };
        let value = self.evaluator.evaluate(part, self.frame)?;
        self.evaluator.number(value, self.frame, part)
    }

    /// The numbers that all plain arguments are together: `f(group)`, `f([a, b])` or `f(a, b)`.
    pub fn numbers(&self) -> Result<RunSample, Error> {
        let plain: Vec<_> =
            self.arguments.iter().filter(|argument| argument.name.is_none()).collect();
        if let [one] = plain[..] {
            return self.evaluator.numbers(&one.value, self.frame);
        }
        let mut all = RunSample { runs: Vec::new(), numbers: Vec::new() };
        for argument in plain {
            let value = self.evaluator.evaluate(&argument.value, self.frame)?;
            all.runs.push(argument.value.to_string());
            all.numbers.push(self.evaluator.number(value, self.frame, &argument.value)?);
        }
        Ok(all)
    }

    /// The numbers of all plain arguments, those of every run where one is a group: `f(a.loss, b.loss)`.
    pub fn every_number(&self) -> Result<Vec<Quantity>, Error> {
        let plain = self.arguments.iter().filter(|argument| argument.name.is_none());
        let mut all = Vec::new();
        for argument in plain {
            all.extend(self.evaluator.numbers(&argument.value, self.frame)?.numbers);
        }
        Ok(all)
    }

    /// An error of the whole call.
    pub fn wrong(&self, code: &'static Code, expected: &str, found: &str) -> Error {
        self.evaluator.wrong(code, self.whole, self.frame, expected, found)
    }
}
