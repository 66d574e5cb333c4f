//! Printed "mean ± spread" statements as claims give them: `{ label, printed, n, reading }`, or with
//! `mean` and `spread` instead of `printed`. What a claim declares once (`n`, `reading`) holds for all.

use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

use crate::evidence::{BAD_CHOICE, Evidence, NOT_A_NUMBER, whole};
use repro_exact::decimal::{Interval, Printed};
use repro_exact::formula::{Operand, Precision};
use repro_receipt::source::{Error, Kind, Node};
use repro_stats::spread::{ErrorBarMeaning, Estimate, Spread};

/// One mean with the number after ±, and what is declared about the two.
#[derive(Debug)]
pub struct StatedMean {
    /// Its name in the report.
    pub label: String,
    /// As printed, for people.
    pub text: String,
    /// Where the mean lies.
    pub mean: Interval,
    /// Where the number after ± lies.
    pub width: Interval,
    /// How many values the mean is of, where that is declared.
    pub n: Option<u64>,
    /// What the number after ± is, where that is declared.
    pub reading: Option<ErrorBarMeaning>,
}

impl StatedMean {
    /// Reads the statement at `node`; `defaults` declares what it does not.
    pub fn read(node: Node, defaults: Node, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["label", "printed", "mean", "spread", "n", "reading"])?;
        let label = node.get("label").map(Node::text).transpose()?.unwrap_or_default().to_owned();
        let bare = match node.get("printed") {
            Some(reference) => Self::printed(evidence.datum(reference)?.printed()?, reference)?,
            None => {
                let mean = evidence.quantity(node.required("mean")?)?;
                let spread = evidence.quantity(node.required("spread")?)?;
                if spread.interval.high().is_negative() {
                    let place = node.required("spread")?.place();
                    return Err(NOT_A_NUMBER.at(place, "a spread from zero up", spread.text));
                }
                let text = format!("{} ± {}", mean.text, spread.text);
                Self::bare(text, mean.interval, spread.interval)
            }
        };
        Ok(Self { label, ..bare.declared(node, defaults, evidence)? })
    }

    /// The same with the `n` and `reading` that `node`, or else `defaults`, declares.
    pub fn declared(self, node: Node, defaults: Node, evidence: &Evidence) -> Result<Self, Error> {
        let field = |name: &str| node.get(name).or(defaults.get(name));
        let n = field("n").map(|n| count(n, evidence)).transpose()?;
        let reading = field("reading").map(reading).transpose()?;
        Ok(Self { n, reading, ..self })
    }

    /// The statement that `text`, standing at `node`, prints.
    pub fn printed(text: &str, node: Node) -> Result<Self, Error> {
        let not_a_number = |why: String| NOT_A_NUMBER.at(node.place(), "a number with its ±", why);
        let printed = Printed::parse(text).map_err(|error| not_a_number(error.to_string()))?;
        let Some(spread) = printed.spread() else {
            return Err(NOT_A_NUMBER.at(node.place(), "a mean and its ±", format!("\"{text}\"")));
        };
        let interval = |part: &Printed| {
            let operand = Operand::read(part, Precision::Measured);
            operand.map(|operand| operand.interval).map_err(|error| not_a_number(error.to_string()))
        };
        Ok(Self::bare(text.to_owned(), interval(&printed)?, interval(spread)?))
    }

    fn bare(text: String, mean: Interval, width: Interval) -> Self {
        Self { label: String::new(), text, mean, width, n: None, reading: None }
    }

    /// "dense 1.65 ± 0.01".
    pub fn shown(&self) -> String {
        format!("{} {}", self.label, self.text).trim().to_owned()
    }

    /// The readings that are left: the declared one, else all.
    pub fn readings(&self) -> Vec<ErrorBarMeaning> {
        self.reading.map_or_else(|| ErrorBarMeaning::ALL.to_vec(), |reading| vec![reading])
    }

    /// The spread of `n` values; `None` for fewer than two.
    pub fn spread(&self, n: u64) -> Option<Spread> {
        Spread::new(&self.width, n)
    }

    /// Mean and spread, where n is declared and at least two.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(Estimate { mean: self.mean.clone(), spread: self.spread(self.n?)? })
    }
}

/// The reading that a post file names.
pub fn reading(node: Node) -> Result<ErrorBarMeaning, Error> {
    let text = node.text()?;
    ErrorBarMeaning::named(text).ok_or_else(|| {
        let known: Vec<_> =
            ErrorBarMeaning::ALL.iter().map(|known| format!("`{}`", known.name())).collect();
        let expected = format!("one of {}, or another level", known.join(", "));
        BAD_CHOICE.at(node.place(), expected, format!("`{text}`"))
    })
}

/// A number of runs, written here or in the evidence: a whole number from 0 up. No post has more than
/// 2^40, which floats still hold.
pub fn count(node: Node, evidence: &Evidence) -> Result<u64, Error> {
    let (n, text) = match &node.value().kind {
        Kind::Number(text) => (node.integer().ok(), text.to_string()),
        _ => {
            let quantity = evidence.quantity(node)?;
            (whole(&quantity.interval).and_then(|n| n.to_u64()), quantity.text)
        }
    };
    n.filter(|n| *n <= 1 << 40)
        .ok_or_else(|| NOT_A_NUMBER.at(node.place(), "a whole number of runs", text))
}

/// Whether `gap` is the difference of the two means, whichever is subtracted, within the digits.
pub fn is_the_difference(a: &StatedMean, b: &StatedMean, gap: &StatedMean) -> bool {
    let difference = &a.mean - &b.mean;
    difference.meets(&gap.mean) || (-&difference).meets(&gap.mean)
}

/// The middle of the difference of two means.
pub fn difference(a: &StatedMean, b: &StatedMean) -> BigRational {
    (&a.mean - &b.mean).middle()
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_receipt::source::{Document, Source};

    fn printed(text: &str) -> Result<StatedMean, Error> {
        let quoted = serde_json::Value::from(text).to_string();
        let document = Document::parse_json(Source::new("t.json", quoted.into_bytes()).unwrap());
        StatedMean::printed(text, document.unwrap().root())
    }

    #[test]
    fn a_mean_and_its_spread_are_read_in_one_unit() {
        let stated = printed("24.0 ± 0.5%").unwrap();
        let exact = |text: &str| Printed::parse(text).unwrap().value().clone();
        assert_eq!(stated.mean, Interval::between(exact("0.2395"), exact("0.2405")));
        assert_eq!(stated.width, Interval::between(exact("0.0045"), exact("0.0055")));
        assert_eq!(stated.readings().len(), ErrorBarMeaning::ALL.len());
    }

    #[test]
    fn what_is_no_mean_with_a_spread_is_refused() {
        for text in ["1.65", "± 0.01", "1.65 ± ", "1.65 ± -0.01", "over 1.65 ± 0.01", "good ± bad"]
        {
            let error = printed(text).unwrap_err();
            assert_eq!(error.code.id, "evidence::not-a-number", "{text}");
        }
    }
}
