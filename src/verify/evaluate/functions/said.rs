//! Words, the dates and numbers that are in them, and numbers as the text prints them.

use repro_core::decimal::{Interval, Printed, nearest_f64};
use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;

use crate::evaluate::{Call, Frame, WRONG_KIND, supposed};
use crate::moment;
use crate::value::{Evaluated, EvidenceWords, LeafKind, Quantity};

codes! {
    OTHER_WORDS = "same::differs", "two documents state the same fact differently", "correct one of them";
}

pub fn same<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let mut all: Vec<EvidenceWords> = Vec::new();
    for given in call.plain() {
        match given.settled()? {
            Evaluated::Text(words) => all.push(words),
            Evaluated::Number(number) if number.leaf.is_some() => {
                all.push(EvidenceWords { text: number.derivation.clone(), leaves: number.leaves });
            }
            other => return Err(call.wrong(&WRONG_KIND, "words", other.word())),
        }
    }
    if all.windows(2).all(|pair| pair[0].leaves == pair[1].leaves) {
        let expected = "several pieces of evidence";
        return Err(call.wrong_arguments(expected, "the same piece several times"));
    }
    let plain = |words: &EvidenceWords| {
        words.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    let differs = all.windows(2).find(|pair| plain(&pair[0]) != plain(&pair[1]));
    let outcome = match differs {
        None => Outcome::verified(),
        Some(pair) => {
            let reason = format!("\"{}\" against \"{}\"", pair[0].text, pair[1].text);
            Outcome::refuted(&OTHER_WORDS, reason)
        }
    };
    let shown = all.first().map_or("", |words| words.text.as_str()).to_owned();
    Ok(Evaluated::Judgement(Box::new(outcome.giving(shown).within("same", "the same words"))))
}

pub fn each<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.plain().map(Frame::settled).collect::<Result<_, _>>().map(Evaluated::List)
}

pub fn declared<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let x = call.number(0)?;
    Ok(Evaluated::Number(Quantity { interval: Interval::point(x.interval.middle()), ..x }))
}

pub fn printed<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    Ok(Evaluated::Number(Quantity { as_printed: true, ..call.number(0)? }))
}

pub fn quoted<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let printed = nth(call, 0, call.evaluator.quoted(), "the numbers in the quote")?;
    Ok(Evaluated::Number(Quantity::stated(printed, LeafKind::Quoted)))
}

/// The one of a list that an argument counts to, from 1.
fn nth<'l, T>(call: Call<'_, '_>, index: usize, list: &'l [T], what: &str) -> Result<&'l T, Error> {
    let number = call.number(index)?.count().and_then(|number| usize::try_from(number).ok());
    number.and_then(|number| list.get(number.checked_sub(1)?)).ok_or_else(|| {
        let expected = format!("1 to {}, {what}", list.len());
        call.wrong_arguments(&expected, &call.frame.part.to_string())
    })
}

pub fn unix<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let date = words(call, "a date such as `2026-01-09 02:08:10`")?;
    match moment::seconds(&date.text).filter(|seconds| !moment::is_day(seconds)) {
        Some(seconds) => Ok(Evaluated::Number(of_words(call, &date, seconds, date.text.clone()))),
        None => {
            let found = format!("\"{}\"", date.text);
            Err(call.wrong(&WRONG_KIND, "a date such as `2026-01-09 02:08:10`", &found))
        }
    }
}

pub fn part<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let name = words(call, "a name")?;
    let parts: Vec<&str> = name.text.split(['_', '-', '/', '.']).collect();
    let found = nth(call, 1, &parts, &format!("the parts of \"{}\"", name.text))?;
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
fn words(call: Call<'_, '_>, expected: &str) -> Result<EvidenceWords, Error> {
    match call.argument(0)?.settled()? {
        Evaluated::Text(words) => Ok(words),
        other => Err(call.wrong(&WRONG_KIND, expected, other.word())),
    }
}

/// A number read out of words: it moves with them, so that what follows from it depends on evidence.
fn of_words(
    call: Call<'_, '_>,
    words: &EvidenceWords,
    interval: Interval,
    derivation: String,
) -> Quantity {
    let float = nearest_f64(&interval.middle());
    let mut number = Quantity {
        leaves: words.leaves.clone(),
        ..Quantity::result(interval, float, derivation, [])
    };
    for evidence in words.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref()) {
        let name = format!("{} {} {}", evidence.bundle, evidence.file, evidence.pointer);
        if call.evaluator.nudge(&name) {
            (number.interval, number.float) = supposed::moved(&number.interval, number.float);
        }
    }
    number
}
