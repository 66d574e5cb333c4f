//! A call of a function, as the function sees it.

use std::ops::RangeInclusive;
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::Argument;
use repro_core::decimal::Interval;
use repro_core::source::{Code, Error};
use repro_report::outcome::EvidenceRef;
use repro_stats::Refused;

use super::noise::DISAGREE;
use super::{Evaluator, Frame, NOT_COMPUTABLE, WRONG_ARGUMENTS};
use crate::value::{Evaluated, Leaf, LeafKind, Quantity, RunSample};

/// A call while it is evaluated.
#[derive(Debug)]
pub struct Call<'c, 'f, 'a> {
    /// Who evaluates.
    pub evaluator: &'c Evaluator<'a>,
    /// The whole call.
    pub frame: Frame<'f, 'a>,
    /// The name of the function.
    pub name: &'c str,
    /// What it is given.
    pub arguments: &'c [Argument],
}

impl<'c, 'a> Call<'c, '_, 'a> {
    /// The arguments without a name.
    pub fn plain(&self) -> impl Iterator<Item = &'c Expression> {
        let plain = self.arguments.iter().filter(|argument| argument.name.is_none());
        plain.map(|argument| &argument.value)
    }

    /// The argument at a position among those without a name.
    pub fn argument(&self, index: usize) -> Result<&'c Expression, Error> {
        self.plain().nth(index).ok_or_else(|| self.wrong(&WRONG_ARGUMENTS, "another value", "none"))
    }

    /// The argument of a name.
    pub fn named(&self, name: &str) -> Option<&'c Expression> {
        let of = |argument: &&Argument| argument.name.as_deref() == Some(name);
        self.arguments.iter().find(of).map(|argument| &argument.value)
    }

    /// What the words of an option name among what is `known`; none where it is left out.
    pub fn word<T, const N: usize>(
        &self,
        option: &str,
        read: impl Fn(&str) -> Option<T>,
        known: impl Fn() -> [&'static str; N],
    ) -> Result<Option<T>, Error> {
        let Some(part) = self.named(option) else { return Ok(None) };
        let found = match self.evaluate(part)? {
            Evaluated::Text(words) => read(&words.text),
            _ => None,
        };
        let wrong = || {
            let known = known().map(|word| format!("'{word}'")).join("` or `");
            self.wrong(&WRONG_ARGUMENTS, &format!("`{option} = {known}`"), &format!("`{part}`"))
        };
        found.map(Some).ok_or_else(wrong)
    }

    /// A number that was counted, from evidence where it has a place. Where `name` is supposed to be another number it is
    /// moved by what no rounding hides.
    pub fn counted(&self, name: &str, number: u64, evidence: Option<EvidenceRef>) -> Quantity {
        let leaf = Leaf::without_place(LeafKind::Counted, number.to_string());
        let leaf = Rc::new(Leaf { evidence, ..leaf });
        let moved = if self.evaluator.nudge(name) { number * 1_009 + 1 } else { number };
        let text = number.to_string();
        let counted = Quantity::result(Interval::integer(moved), moved as f64, text, &[]);
        Quantity { leaf: Some(LeafKind::Counted), leaves: vec![leaf], ..counted }
    }

    /// Refuses another number of plain arguments than the function takes, and names that are none of its options.
    pub fn check(&self, takes: &RangeInclusive<usize>, options: &[&str]) -> Result<(), Error> {
        let plain = self.plain().count();
        if !takes.contains(&plain) {
            let expected = match (*takes.start(), *takes.end()) {
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
            if !options.contains(&name) || seen.contains(&name) {
                let known: Vec<_> = options.iter().map(|name| format!("`{name} = `")).collect();
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

    /// An argument as a part to be evaluated.
    pub fn at(&self, index: usize) -> Result<Frame<'_, 'a>, Error> {
        Ok(self.frame.at(self.argument(index)?))
    }

    /// What an argument gives.
    pub fn evaluate(&self, part: &Expression) -> Result<Evaluated<'a>, Error> {
        self.frame.at(part).evaluate()
    }

    /// What an argument gives, every reference followed to what stands there.
    pub fn settled(&self, part: &Expression) -> Result<Evaluated<'a>, Error> {
        self.frame.at(part).settled()
    }

    /// The one number that an argument is.
    pub fn number_of(&self, part: &Expression) -> Result<Quantity, Error> {
        self.frame.at(part).number()
    }

    /// The one number that the argument at a position is.
    pub fn number(&self, index: usize) -> Result<Quantity, Error> {
        self.number_of(self.argument(index)?)
    }

    /// The numbers of which an argument consists: of a list, or of the runs of a group.
    pub fn numbers_of(&self, part: &Expression) -> Result<RunSample, Error> {
        self.frame.at(part).numbers()
    }

    /// The numbers that all plain arguments are together: `f(group)`, `f([a, b])` or `f(a, b)`.
    pub fn numbers(&self) -> Result<RunSample, Error> {
        let plain: Vec<_> = self.plain().collect();
        if let [one] = plain[..] {
            return self.numbers_of(one);
        }
        let numbers = plain.iter().map(|part| self.number_of(part)).collect::<Result<_, _>>()?;
        Ok(RunSample { runs: plain.iter().map(ToString::to_string).collect(), numbers })
    }

    /// The numbers of all plain arguments, those of every run where one is a group: `f(a.loss, b.loss)`.
    pub fn every_number(&self) -> Result<Vec<Quantity>, Error> {
        let samples = self.plain().map(|part| self.numbers_of(part));
        let samples = samples.collect::<Result<Vec<_>, _>>()?;
        Ok(samples.into_iter().flat_map(|sample| sample.numbers).collect())
    }

    /// Statistics that refuse the numbers of the call.
    pub fn refused(&self, expected: &str, why: &Refused) -> Error {
        let code = match why {
            Refused::Disagree { .. } => &DISAGREE,
            _ => &NOT_COMPUTABLE,
        };
        self.wrong(code, expected, &why.to_string())
    }

    /// An error of the whole call.
    pub fn wrong(&self, code: &'static Code, expected: &str, found: &str) -> Error {
        self.frame.wrong(code, expected, found)
    }
}
