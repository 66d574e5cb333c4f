//! A call of a function, as the function sees it.

use std::ops::RangeInclusive;
use std::rc::Rc;

use num_rational::BigRational;
use repro_claim::syntax::Argument;
use repro_core::decimal::Interval;
use repro_core::source::{Code, Error};
use repro_report::outcome::EvidenceRef;
use repro_stats::Refused;

use super::noise::DISAGREE;
use super::{Evaluator, Frame, NOT_COMPUTABLE, WRONG_ARGUMENTS};
use crate::run_design::RunDesign;
use crate::value::{Evaluated, Leaf, LeafKind, NumberRole, Quantity, RunSample};

/// A call while it is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Call<'f, 'a> {
    /// Who evaluates.
    pub evaluator: &'f Evaluator<'a>,
    /// The whole call.
    pub frame: Frame<'f, 'a>,
    /// The name of the function.
    pub name: &'f str,
    /// Its arguments.
    pub arguments: &'f [Argument],
}

impl<'f, 'a> Call<'f, 'a> {
    /// The arguments without a name.
    pub fn plain(self) -> impl Iterator<Item = Frame<'f, 'a>> {
        let plain = self.arguments.iter().filter(|argument| argument.name.is_none());
        plain.map(move |argument| self.frame.at(&argument.value))
    }

    /// The argument at a position among those without a name.
    pub fn argument(self, index: usize) -> Result<Frame<'f, 'a>, Error> {
        self.plain().nth(index).ok_or_else(|| self.wrong_arguments("one more value", "none"))
    }

    /// The argument of a name.
    pub fn named(self, name: &str) -> Option<Frame<'f, 'a>> {
        let of = |argument: &&Argument| argument.name.as_deref() == Some(name);
        self.arguments.iter().find(of).map(|argument| self.frame.at(&argument.value))
    }

    /// The choice in `known` that an option selects; none if it is omitted.
    pub fn word<T, const N: usize>(
        self,
        option: &str,
        read: impl Fn(&str) -> Option<T>,
        known: [&str; N],
    ) -> Result<Option<T>, Error> {
        let Some(given) = self.named(option) else { return Ok(None) };
        let found = match given.evaluate()? {
            Evaluated::Text(words) => read(&words.text),
            _ => None,
        };
        found.map(Some).ok_or_else(|| {
            let known = known.map(|word| format!("'{word}'")).join("` or `");
            self.wrong_arguments(&format!("`{option} = {known}`"), &format!("`{}`", given.part))
        })
    }

    /// A number that was counted, from evidence where it has a place. Where `name` is supposed to be another number it is
    /// moved by what no rounding hides.
    pub fn counted(self, name: &str, number: u64, evidence: Option<EvidenceRef>) -> Quantity {
        let leaf = Leaf::without_place(LeafKind::Counted, number.to_string());
        let leaf = Rc::new(Leaf { evidence, ..leaf });
        let moved = if self.evaluator.nudge(name) { number * 1_009 + 1 } else { number };
        let text = number.to_string();
        let counted = Quantity::result(Interval::integer(moved), moved as f64, text, []);
        Quantity { leaf: Some(LeafKind::Counted), leaves: vec![leaf], ..counted }
    }

    /// Rejects another number of plain arguments than the function takes, and names that are none of its options.
    pub fn check(self, takes: &RangeInclusive<usize>, options: &[&str]) -> Result<(), Error> {
        let plain = self.plain().count();
        if !takes.contains(&plain) {
            let expected = match (*takes.start(), *takes.end()) {
                (1, 1) => "1 value".to_owned(),
                (least, most) if least == most => format!("{least} values"),
                (1, usize::MAX) => "at least 1 value".to_owned(),
                (least, usize::MAX) => format!("at least {least} values"),
                (least, most) => format!("{least} to {most} values"),
            };
            return Err(self.wrong_arguments(&expected, &plain.to_string()));
        }
        let mut seen = Vec::new();
        for name in self.arguments.iter().filter_map(|argument| argument.name.as_deref()) {
            if !options.contains(&name) || seen.contains(&name) {
                let known: Vec<_> = options.iter().map(|name| format!("`{name} = `")).collect();
                let expected = if known.is_empty() {
                    "positional values".to_owned()
                } else {
                    format!("{}, each at most once", known.join(", "))
                };
                return Err(self.wrong_arguments(&expected, &format!("`{name} = `")));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// The one number that the argument at a position is.
    pub fn number(self, index: usize) -> Result<Quantity, Error> {
        self.argument(index)?.number()
    }

    /// The numbers that all plain arguments are together: `f(group)`, `f([a, b])` or `f(a, b)`.
    pub fn numbers(self) -> Result<RunSample, Error> {
        let plain: Vec<_> = self.plain().collect();
        if let [one] = plain[..] {
            return one.numbers();
        }
        let numbers = plain.iter().map(|given| given.number()).collect::<Result<_, _>>()?;
        Ok(RunSample { runs: plain.iter().map(|given| given.part.to_string()).collect(), numbers })
    }

    /// The numbers of all plain arguments, those of every run where one is a group: `f(a.loss, b.loss)`.
    pub fn every_number(self) -> Result<Vec<Quantity>, Error> {
        let samples = self.plain().map(Frame::numbers).collect::<Result<Vec<_>, _>>()?;
        Ok(samples.into_iter().flat_map(|sample| sample.numbers).collect())
    }

    /// The result of statistics on the call's numbers; a refusal is an error of the call.
    pub fn computed<T>(self, given: Result<T, Refused>) -> Result<T, Error> {
        self.computed_of("numbers with a defined value", given)
    }

    /// The same of numbers of which more is expected.
    pub fn computed_of<T>(self, expected: &str, given: Result<T, Refused>) -> Result<T, Error> {
        given.map_err(|why| {
            let code = match why {
                Refused::Disagree { .. } => &DISAGREE,
                _ => &NOT_COMPUTABLE,
            };
            self.wrong(code, expected, &why.to_string())
        })
    }

    /// A number that statistics gave for some numbers, derived in these words.
    pub fn result<'q>(
        self,
        value: f64,
        text: String,
        of: impl IntoIterator<Item = &'q Quantity>,
    ) -> Result<Quantity, Error> {
        let Some(exact) = BigRational::from_float(value) else {
            return Err(self.wrong(&NOT_COMPUTABLE, "a finite number", &value.to_string()));
        };
        Ok(Quantity::result(Interval::point(exact), value, text, of))
    }

    /// The p of a test of some numbers, and what fixes the test.
    pub fn p<'q>(
        self,
        p: f64,
        text: String,
        of: impl IntoIterator<Item = &'q Quantity>,
        design: RunDesign,
    ) -> Result<Evaluated<'a>, Error> {
        let number = self.result(p, text, of)?;
        Ok(Evaluated::Number(Quantity { role: NumberRole::P(Rc::new(design)), ..number }))
    }

    /// An error of what the function is given.
    pub fn wrong_arguments(self, expected: &str, found: &str) -> Error {
        self.wrong(&WRONG_ARGUMENTS, expected, found)
    }

    /// An error of the whole call.
    pub fn wrong(self, code: &'static Code, expected: &str, found: &str) -> Error {
        self.frame.wrong(code, expected, found)
    }
}
