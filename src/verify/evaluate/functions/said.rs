//! Words, and numbers as the text prints them.

use repro_core::decimal::Interval;
use repro_core::source::{Error, codes};
use repro_report::outcome::Outcome;

use crate::evaluate::{Call, WRONG_ARGUMENTS, WRONG_KIND};
use crate::value::{Evaluated, EvidenceWords, LeafKind, Quantity};

codes! {
    OTHER_WORDS = "same::differs", "two documents state one fact differently", "correct one of them";
}

pub fn same<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let mut all: Vec<EvidenceWords> = Vec::new();
    for argument in call.plain() {
        match call.settled(argument)? {
            Evaluated::Text(words) => all.push(words),
            Evaluated::Number(number) if number.leaf.is_some() => {
                all.push(EvidenceWords { text: number.derivation.clone(), leaves: number.leaves });
            }
            other => return Err(call.wrong(&WRONG_KIND, "words", other.word())),
        }
    }
    if all.windows(2).all(|pair| pair[0].leaves == pair[1].leaves) {
        let expected = "several pieces of evidence";
        return Err(call.wrong(&WRONG_ARGUMENTS, expected, "one, several times"));
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

pub fn each<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.plain().map(|part| call.settled(part)).collect::<Result<_, _>>().map(Evaluated::List)
}

pub fn declared<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let x = call.number(0)?;
    Ok(Evaluated::Number(Quantity { interval: Interval::point(x.interval.middle()), ..x }))
}

pub fn printed<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    Ok(Evaluated::Number(Quantity { as_printed: true, ..call.number(0)? }))
}

pub fn quoted<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let index = call.number(0)?;
    let numbers = call.evaluator.quoted();
    let index = index.count().and_then(|index| usize::try_from(index).ok());
    let printed = index.and_then(|index| numbers.get(index.checked_sub(1)?));
    let printed = printed.ok_or_else(|| {
        let expected = format!("1 to {}, the numbers of the quote", numbers.len());
        call.wrong(&WRONG_ARGUMENTS, &expected, &call.frame.part.to_string())
    })?;
    Ok(Evaluated::Number(Quantity::stated(printed, LeafKind::Quoted)))
}
