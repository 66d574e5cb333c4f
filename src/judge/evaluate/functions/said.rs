//! Words, and numbers as the text prints them.

use repro_exact::decimal::Interval;
use repro_receipt::source::{Error, codes};
use repro_report::outcome::Outcome;

use super::{Function, Gives};
use crate::evaluate::{Call, WRONG_ARGUMENTS, WRONG_KIND};
use crate::value::{Evaluated, EvidenceWords, LeafKind, Quantity};

codes! {
    OTHER_WORDS = "same::differs", "two documents state one fact differently", "correct one of them";
}

pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "same",
        signature: "same(a, b, ...)",
        summary: "several documents state one fact in the same words",
        misleads: "two copies of one typing agree, whatever they say",
        example: "same(abstract.title, paper.title)",
        gives: Gives::AsItStands,
        evaluate: same,
    },
    Function {
        name: "each",
        signature: "each(a, b, ...)",
        summary: "what several pieces of evidence give, each of which must be the number or the words of the text",
        misleads: "copies of one typing are one source",
        example: "each(dense.steps, moe64.steps)",
        gives: Gives::AsItStands,
        evaluate: each,
    },
    Function {
        name: "quoted",
        signature: "quoted(n)",
        summary: "the n-th number of the quote, as the text states it",
        misleads: "it is what the text says, and no evidence for it",
        example: "nearly_fixed(active(it), over = [a, b], within = quoted(1))",
        gives: Gives::AsItStands,
        evaluate: quoted,
    },
    Function {
        name: "declared",
        signature: "declared(x)",
        summary: "x exactly as it is printed: a fraction, a target or a coefficient that was chosen, not measured",
        misleads: "a measured number is known only to its last digit",
        example: "declared(plan.fraction) * total(moe64)",
        gives: Gives::Derived,
        evaluate: |call| {
            call.takes(1, 1, &[])?;
            let x = call.number(0)?;
            let exact = x.interval.middle();
            Ok(Evaluated::Number(Quantity { interval: Interval::point(exact), ..x }))
        },
    },
    Function {
        name: "printed",
        signature: "printed(x)",
        summary: "x as it is printed, so that an order of printed numbers can be stated as no more than that",
        misleads: "the order of two prints says nothing about a repetition of the runs",
        example: "printed(d12.bpb) < printed(d10.bpb)",
        gives: Gives::AsItStands,
        evaluate: |call| {
            call.takes(1, 1, &[])?;
            Ok(Evaluated::Number(Quantity { as_printed: true, ..call.number(0)? }))
        },
    },
];

fn same<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(2, usize::MAX, &[])?;
    let mut all: Vec<EvidenceWords> = Vec::new();
    for argument in call.arguments {
        let value = call.evaluator.evaluate(&argument.value, call.frame)?;
        match call.evaluator.settled(value, call.frame, &argument.value)? {
            Evaluated::Text(words) => all.push(words),
            Evaluated::Number(number) if number.leaf.is_some() => {
                all.push(EvidenceWords { text: number.derivation.clone(), leaves: number.leaves });
            }
            other => return Err(call.wrong(&WRONG_KIND, "words", other.word())),
        }
    }
    if all.windows(2).all(|pair| pair[0].leaves == pair[1].leaves) {
        return Err(call.wrong(
            &WRONG_ARGUMENTS,
            "several pieces of evidence",
            "one, several times",
        ));
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

fn each<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(2, usize::MAX, &[])?;
    let settled = |part| {
        let value = call.evaluator.evaluate(part, call.frame)?;
        call.evaluator.settled(value, call.frame, part)
    };
    let all = call.arguments.iter().map(|argument| settled(&argument.value));
    all.collect::<Result<_, _>>().map(Evaluated::List)
}

fn quoted<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 1, &[])?;
    let index = call.number(0)?;
    let numbers = call.evaluator.quoted();
    let index = index.count().and_then(|index| usize::try_from(index).ok());
    let printed = index.and_then(|index| numbers.get(index.checked_sub(1)?));
    let printed = printed.ok_or_else(|| {
        let expected = format!("1 to {}, the numbers of the quote", numbers.len());
        call.wrong(&WRONG_ARGUMENTS, &expected, &call.whole.to_string())
    })?;
    Ok(Evaluated::Number(Quantity::stated(printed, LeafKind::Quoted)))
}
