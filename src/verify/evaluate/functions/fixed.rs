//! Quantities that are held fixed between models or runs, or differ.

use std::collections::BTreeSet;

use num_rational::BigRational;
use num_traits::Signed;
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::{Interval, format_significant};
use repro_core::source::{Error, codes};
use repro_report::outcome::{Measured, Outcome};

use crate::evaluate::{Call, Frame};
use crate::value::{Evaluated, EvidenceWords, Quantity, RunSample};

codes! {
    NOT_EQUAL = "held_fixed::differs", "a quantity that should be held fixed differs", "correct the text, or compare where the quantity is equal";
    EQUAL = "differs::equal", "values that should differ are equal", "correct the text";
    UNDECIDED_SPREAD = "held_fixed::too-coarse", "the values have too few digits to decide", "publish them with more digits";
}

/// The rule of what is almost the same.
pub const NEARLY: &str = "nearly_fixed";

/// The meaning of "almost the same" and "close" in every post: within one part in fifty.
fn nearly() -> BigRational {
    BigRational::new(1.into(), 50.into())
}

/// The functions by which several values are said to be one.
pub const EQUALITIES: [&str; 2] = ["held_fixed", NEARLY];

/// The steps of holding two values against each other.
const PAIR: usize = 5;

#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Equal,
    Near,
    Different,
}

/// One quantity, or one name, everywhere.
pub fn held_fixed<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    spread(call, Wanted::Equal)
}

/// Almost one quantity everywhere.
pub fn nearly_fixed<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    spread(call, Wanted::Near)
}

/// Not the same everywhere.
pub fn differs<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    spread(call, Wanted::Different)
}

fn spread<'a>(call: Call<'_, 'a>, wanted: Wanted) -> Result<Evaluated<'a>, Error> {
    let few = |count: usize| call.wrong_arguments("at least two values", &count.to_string());
    let values = match Values::of(call)? {
        Values::Words(words) => {
            call.frame.pairs(words.len(), PAIR)?;
            let places: BTreeSet<_> = words
                .iter()
                .flat_map(|(_, words)| &words.leaves)
                .filter_map(|leaf| leaf.evidence.as_ref())
                .collect();
            return match places.len() {
                count @ (0 | 1) => Err(few(count)),
                _ => Ok(Evaluated::decided(judge_words(&words, wanted))),
            };
        }
        Values::Numbers(numbers) => numbers,
    };
    if values.count() < 2 {
        return Err(few(values.count()));
    }
    call.frame.pairs(values.count(), PAIR)?;
    let within = match (wanted, call.named("within")) {
        (Wanted::Near, Some(given)) => {
            let share = given.number()?;
            // What the text states counts; what the author of the post adds may only be stricter.
            let mut quoted = call.evaluator.quoted().iter();
            let stated = quoted.any(|one| Interval::point(one.in_ones()) == share.interval);
            let share = share.interval.high().clone();
            if stated { share } else { share.min(nearly()) }
        }
        (Wanted::Near, None) => nearly(),
        _ => BigRational::from_integer(0.into()),
    };
    Ok(Evaluated::decided(judge(&values, wanted, &within)))
}

/// A value as it is listed.
fn shown(label: &String, number: &Quantity) -> String {
    let value = format_significant(&number.point(), 5);
    if !label.is_empty() {
        format!("{label} {value}")
    } else if number.leaf.is_some() {
        value
    } else {
        format!("{value} ({})", number.derivation)
    }
}

fn judge(values: &RunSample, wanted: Wanted, within: &BigRational) -> Outcome {
    let RunSample { runs: labels, numbers } = values;
    let listed = std::iter::zip(labels, numbers).map(|(label, number)| shown(label, number));
    let listed = listed.collect::<Vec<_>>().join(", ");
    // Every pair whose intervals cannot be within the share of each other is surely apart, and every
    // pair whose intervals cannot be further apart is surely near.
    let above = |a: &BigRational, b: &BigRational| a - b > within * a.abs().min(b.abs());
    let (mut surely_apart, mut surely_near) = (false, true);
    for (index, a) in numbers.iter().enumerate() {
        for b in numbers.iter().skip(index + 1) {
            let (a, b) = (&a.interval, &b.interval);
            surely_apart |= above(a.low(), b.high()) || above(b.low(), a.high());
            surely_near &= !above(a.high(), b.low()) && !above(b.high(), a.low());
        }
    }
    let has_noise = !numbers.iter().all(Quantity::is_without_noise);
    let outcome = match wanted {
        Wanted::Different if surely_apart && has_noise => {
            let reason = "they differ as printed; one run each, seed noise unknown";
            Outcome::inconclusive(&crate::evaluate::order::ONE_RUN, reason)
        }
        Wanted::Different if surely_apart => Outcome::verified(),
        Wanted::Different if surely_near => Outcome::refuted(&EQUAL, format!("equal: {listed}")),
        Wanted::Different => coarse(&listed),
        _ if surely_apart => Outcome::refuted(&NOT_EQUAL, format!("{}: {listed}", widest(numbers))),
        _ if surely_near => Outcome::verified(),
        // Equal prints of one precision state one number.
        Wanted::Equal if same_prints(numbers) => Outcome::verified(),
        _ => coarse(&listed),
    };
    let (rule, tolerance) = match wanted {
        Wanted::Near => {
            let hundred = BigRational::from_integer(100.into());
            (NEARLY, format!("{}%", format_significant(&(within * hundred), 5)))
        }
        // That single runs differ is not that their recipes do.
        Wanted::Equal if has_noise => (crate::evaluate::noise::ORDER, "equal".to_owned()),
        _ => ("exact", "equal".to_owned()),
    };
    let measured = std::iter::zip(names(values), numbers)
        .map(|(of, number)| Measured { of, ..number.measured() });
    outcome.giving(listed).within(rule, tolerance).measuring(measured)
}

/// The label of each value: its model or run, or the part in which its locations differ.
fn names(values: &RunSample) -> Vec<String> {
    let place = |number: &Quantity| {
        let one = number.leaves.iter().find_map(|leaf| leaf.evidence.as_ref())?;
        let inside = format!("{}{}", one.file, one.pointer);
        let parts = inside.split(['/', '.', '=']).map(str::to_owned);
        Some(std::iter::once(one.bundle.clone()).chain(parts).collect::<Vec<_>>())
    };
    let places: Vec<Vec<String>> =
        values.numbers.iter().map(|number| place(number).unwrap_or_default()).collect();
    let differs = |part: &&String| !places.iter().all(|place| place.contains(part));
    let mut names = values.runs.clone();
    for (index, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
        let own = places[index].iter().filter(differs).map(String::as_str);
        *name = own.collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            name.clone_from(&values.numbers[index].derivation);
        }
    }
    names
}

fn coarse(listed: &str) -> Outcome {
    Outcome::inconclusive(&UNDECIDED_SPREAD, format!("digits too coarse to decide: {listed}"))
}

fn same_prints(numbers: &[Quantity]) -> bool {
    let is_same = |a: &Quantity, b: &Quantity| a.interval == b.interval && a.has_precision_of(b);
    numbers.windows(2).all(|pair| is_same(&pair[0], &pair[1]))
}

/// How far apart the outermost are.
fn widest(numbers: &[Quantity]) -> String {
    let points = numbers.iter().map(|number| number.interval.middle());
    let (low, high) = (points.clone().min(), points.max());
    match (low, high) {
        (Some(low), Some(high)) if low > BigRational::from_integer(0.into()) => {
            format!("the largest is {} times the smallest", format_significant(&(high / low), 4))
        }
        _ => "not the same".to_owned(),
    }
}

/// The values of several models or runs, with their labels.
enum Values {
    Numbers(RunSample),
    Words(Vec<(String, EvidenceWords)>),
}

impl Values {
    /// Those of a list, or of `x` with `it` for each of `over`; of a group, those of each run.
    fn of(call: Call<'_, '_>) -> Result<Self, Error> {
        let Some(over) = call.named("over") else {
            return call.numbers().map(Self::Numbers);
        };
        let each = call.argument(0)?;
        let of = match &over.part.kind {
            ExpressionKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(over.part),
        };
        let (mut numbers, mut words) = (RunSample::default(), Vec::new());
        for item in of {
            let mut variables = call.frame.variables.clone();
            variables.insert("it".to_owned(), over.at(item).evaluate()?);
            let frame = Frame { variables: &variables, ..each };
            match frame.settled()? {
                // Losses of a group have a mean and a spread; settings have one value or several.
                Evaluated::Sample(sample)
                    if sample.numbers.iter().all(Quantity::is_without_noise) =>
                {
                    numbers.extend(sample);
                }
                value => match value.words() {
                    Some(all) => words.extend(all.into_iter().map(|one| (item.to_string(), one))),
                    None => {
                        numbers.runs.push(item.to_string());
                        numbers.numbers.push(frame.number_of(value)?);
                    }
                },
            }
        }
        match (numbers.count() == 0, words.is_empty()) {
            (_, true) => Ok(Self::Numbers(numbers)),
            (true, false) => Ok(Self::Words(words)),
            (false, false) => {
                Err(call.wrong_arguments("numbers or words", "both numbers and words"))
            }
        }
    }
}

/// Words that are one, or not: names are the same letter by letter.
fn judge_words(values: &[(String, EvidenceWords)], wanted: Wanted) -> Outcome {
    let shown = |(label, words): &(String, EvidenceWords)| format!("{label} \"{}\"", words.text);
    let mut listed: Vec<_> = values.iter().map(shown).collect();
    // The runs of a group have one name.
    listed.dedup();
    let listed = listed.join(", ");
    let is_one = values.windows(2).all(|pair| pair[0].1.text == pair[1].1.text);
    let outcome = match (is_one, wanted) {
        (true, Wanted::Different) => Outcome::refuted(&EQUAL, format!("equal: {listed}")),
        (false, Wanted::Equal | Wanted::Near) => {
            Outcome::refuted(&NOT_EQUAL, format!("not the same: {listed}"))
        }
        _ => Outcome::verified(),
    };
    outcome.giving(listed).within("same", "the same words")
}
