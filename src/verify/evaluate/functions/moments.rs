//! Dates as numbers, and the parts of names.

use repro_core::decimal::{Interval, Printed, nearest_f64};
use repro_core::source::Error;

use crate::evaluate::{Call, WRONG_ARGUMENTS, WRONG_KIND, supposed};
use crate::moment;
use crate::value::{Evaluated, EvidenceWords, Quantity};

pub fn unix<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let date = words(call, "a date such as `2026-01-09 02:08:10`")?;
    match moment::seconds(&date.text).filter(|seconds| !moment::is_day(seconds)) {
        Some(seconds) => Ok(Evaluated::Number(of_words(call, &date, seconds, date.text.clone()))),
        None => {
            let found = format!("\"{}\"", date.text);
            Err(call.wrong(&WRONG_KIND, "a date such as `2026-01-09 02:08:10`", &found))
        }
    }
}

pub fn part<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let name = words(call, "a name")?;
    let parts: Vec<&str> = name.text.split(['_', '-', '/', '.']).collect();
    let index = call.number(1)?.count().and_then(|index| usize::try_from(index).ok());
    let Some(found) = index.and_then(|index| parts.get(index.checked_sub(1)?)) else {
        let expected = format!("1 to {}, the parts of \"{}\"", parts.len(), name.text);
        return Err(call.wrong(&WRONG_ARGUMENTS, &expected, &call.frame.part.to_string()));
    };
    let is_digits = !found.is_empty() && found.bytes().all(|byte| byte.is_ascii_digit());
    match Printed::parse(found) {
        Ok(printed) if is_digits => {
            let derivation = format!("{found} of {}", name.text);
            Ok(Evaluated::Number(of_words(call, &name, printed.exact(), derivation)))
        }
        _ => Ok(Evaluated::Text(EvidenceWords { text: (*found).to_owned(), leaves: name.leaves })),
    }
}

/// The words that the first argument is.
fn words(call: &Call<'_, '_, '_>, expected: &str) -> Result<EvidenceWords, Error> {
    match call.settled(call.argument(0)?)? {
        Evaluated::Text(words) => Ok(words),
        other => Err(call.wrong(&WRONG_KIND, expected, other.word())),
    }
}

/// A number read out of words: it moves with them, so that what follows from it depends on evidence.
fn of_words(
    call: &Call<'_, '_, '_>,
    words: &EvidenceWords,
    interval: Interval,
    derivation: String,
) -> Quantity {
    let float = nearest_f64(&interval.middle());
    let mut number = Quantity {
        leaves: words.leaves.clone(),
        ..Quantity::result(interval, float, derivation, &[])
    };
    for evidence in words.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref()) {
        let name = format!("{} {} {}", evidence.bundle, evidence.file, evidence.pointer);
        if call.evaluator.nudge(&name) {
            (number.interval, number.float) = supposed::moved(&number.interval, number.float);
        }
    }
    number
}
