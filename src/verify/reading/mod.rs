//! How a printed number agrees with a value: the reading, and whether the value lies inside it.
//!
//! A reading is declared in the post, or comes from the token directly next to the number, or from the kind of value.
//! No other word of a sentence softens or sharpens a verdict: a value outside its reading is refuted.

mod agreement;
mod beside;
mod scale;

use std::ops::Range;

use num_rational::BigRational;
use num_traits::Signed;
use repro_claim::quote::{QuoteItem, RangeEnd};
use repro_core::decimal::{Printed, Unit};
use repro_report::meaning::{Reading, TokenReading};
use repro_report::outcome::Outcome;

use crate::lexicon::lexicon;
use crate::value::{LeafKind, NumberRole, Quantity};

pub use agreement::{CODES, judge_alone};
pub use scale::{ColumnCell, column_scale};

/// A printed number and the words around it.
#[derive(Debug, Clone, Copy)]
pub struct NumberInQuote<'q> {
    /// The words.
    pub quote: &'q str,
    /// The number among them.
    pub item: &'q QuoteItem,
    /// The number before it in the same range, which a token may stand before: "about 20–25%".
    pub range_start: Option<&'q Range<usize>>,
    /// The reading that the post declares.
    pub declared: Option<Reading>,
    /// Which end of a range it is, where one value is bound to both ends and lies between them.
    pub between: Option<RangeEnd>,
    /// The factor of the printed number, if its column or series states one.
    pub scale: Option<&'q BigRational>,
}

/// A reading and what decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenReading {
    pub(crate) reading: Reading,
    pub(crate) because: String,
}

impl ChosenReading {
    fn of(reading: Reading, because: impl Into<String>) -> Self {
        Self { reading, because: because.into() }
    }
}

/// Judges a number of a quote against the value that it is bound to.
pub fn judge(
    number: NumberInQuote<'_>,
    claimed: &Printed,
    given: &Quantity,
) -> (Outcome, TokenReading) {
    let scaled;
    let claimed = match number.scale {
        Some(factor) if claimed.unit() == Unit::Plain => {
            scaled = claimed.clone().times(factor).shown_as(claimed.text());
            &scaled
        }
        _ => claimed,
    };
    let mut read = claimed;
    let mut choice = choose(number, claimed, given);
    let mut outcome = agreement::judge(claimed, choice.reading, given);
    if let Some(other) = number.item.other.as_ref().filter(|_| !outcome.is_verified()) {
        let second = choose(number, other, given);
        let judged = agreement::judge(other, second.reading, given);
        // Of two that are wrong the nearer one is shown.
        if judged.is_verified() || agreement::is_nearer(other, claimed, given) {
            (read, choice, outcome) = (other, second, judged);
        }
    }
    if is_denied(number, choice.reading) {
        outcome = agreement::denied(outcome, claimed);
    }
    outcome = agreement::measured_by(outcome, read, given);
    if number.item.is_unclear {
        outcome = agreement::unclear(outcome, claimed);
    }
    let ChosenReading { reading, mut because } = choice;
    if let Some(factor) = number.scale {
        because += &format!(", times {factor}, the scale of its column or series");
    }
    let token = number.item.text(number.quote).to_owned();
    (outcome, TokenReading { token, reading, because })
}

/// Whether the clause of a limit denies something: "none of the seeds ends above 1.73" is no lower bound.
fn is_denied(number: NumberInQuote<'_>, reading: Reading) -> bool {
    if number.declared.is_some() || number.between.is_some() || !reading.is_limit() {
        return false;
    }
    let before = number.quote[..number.item.span.start].to_lowercase();
    let clause = before.rsplit([',', ';', ':', '.', '(', '|', '\n']).next().unwrap_or_default();
    let mut clause = clause.to_owned();
    // A token that denies by itself is read as a whole: "no more than".
    for tokens in lexicon().readings.iter().filter(|tokens| tokens.reading == reading) {
        for token in tokens.before.iter().filter(|token| token.contains(' ')) {
            clause = clause.replace(token.as_str(), " ");
        }
    }
    lexicon().has("direction.denies", &clause)
}

/// Whether the words right before a number make it a limit or an approximation: "below", "about", "the target of".
pub fn is_loose(quote: &str, number: &Range<usize>) -> bool {
    let is_token = beside::token(lexicon(), quote, number)
        .map(|token| token.tokens.reading)
        .is_some_and(|reading| reading.is_limit() || reading == Reading::About);
    let before = quote[..number.start].to_lowercase();
    let near: Vec<&str> = before.split_whitespace().rev().take(5).collect();
    let is_limit = |word: &&str| {
        lexicon().is_in("limit.nouns", word.trim_matches(|c: char| !c.is_alphanumeric()))
    };
    is_token || near.iter().any(is_limit)
}

/// Whether the token next to a number says "about".
pub fn says_about(text: &str, number: &Range<usize>) -> bool {
    let token = beside::token(lexicon(), text, number);
    token.is_some_and(|token| token.tokens.reading == Reading::About)
}

/// The reading of a number: declared, of the token next to it, or of the kind of value.
fn choose(number: NumberInQuote<'_>, claimed: &Printed, given: &Quantity) -> ChosenReading {
    if let Some(declared) = number.declared {
        return ChosenReading::of(declared, "declared");
    }
    if let Some(end) = number.between {
        let reading = match end {
            RangeEnd::Low => Reading::AtLeast,
            RangeEnd::High => Reading::AtMost,
        };
        return ChosenReading::of(reading, "one value between two numbers");
    }
    let near = beside::token(lexicon(), number.quote, &number.item.span)
        .or_else(|| beside::token(lexicon(), number.quote, number.range_start?));
    // A threshold in a configuration is stated, not limited: "norms above 1 are clipped". "Over 1,000 items" is what a
    // mean runs over.
    let is_itself = |token: &beside::Token<'_>| {
        let runs_over = lexicon().is_in("guard.runs_over", token.words);
        let is_count = (runs_over || token.is_of_span) && claimed.is_integer_text();
        (token.tokens.guards("limit") && is_stated(given) || is_count)
            && agreement::judge(claimed, Reading::Exact, given).is_verified()
    };
    if let Some(token) = near.filter(|token| !is_itself(token)) {
        let reading = if token.tokens.guards("better") && lower_is_better(given) {
            Reading::AtMost
        } else {
            token.tokens.reading
        };
        // No digit of a whole number is cut off.
        if reading != Reading::Floor || claimed.text().contains('.') {
            return ChosenReading::of(reading, format!("\"{}\"", token.words));
        }
    }
    if claimed.approximate() {
        return ChosenReading::of(Reading::About, "a number in words");
    }
    if agreement::is_size(claimed)
        && !claimed.text().contains('.')
        && beside::names_a_model(lexicon(), number.quote, &number.item.span)
    {
        return ChosenReading::of(Reading::Nominal, "the size in the name of a model");
    }
    let default = by_kind(claimed, given);
    if number.item.range_end.is_some() && default.reading == Reading::Rounded {
        return ChosenReading::of(Reading::Ends, "an end of a range");
    }
    // Decimal first: 1,000 and 1,024 are told apart only where the decimal one fails.
    if default.reading == Reading::Rounded
        && may_be_binary(claimed, given)
        && !agreement::judge(claimed, Reading::Rounded, given).is_verified()
        && agreement::judge(claimed, Reading::Binary, given).is_verified()
    {
        return ChosenReading::of(
            Reading::Binary,
            "K, M and G of this field may be powers of 1,024",
        );
    }
    default
}

/// Whether lower values of a quantity are better, by the fields that were read for it.
fn lower_is_better(given: &Quantity) -> bool {
    fields(given).any(|field| {
        let quantity = lexicon().quantity_of_field(field);
        quantity.is_some_and(|quantity| quantity.higher_is_better == Some(false))
    })
}

/// The fields that were read for a value.
fn fields(given: &Quantity) -> impl Iterator<Item = &str> {
    let pointers = given.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref());
    pointers.filter_map(|one| one.pointer.rsplit(['/', '.']).next())
}

/// Whether a value is a share that a column of percents may print without signs: between 0 and 1, and no loss, no p, no
/// setting, no count.
pub fn is_share(given: &Quantity) -> bool {
    let one = BigRational::from_integer(1.into());
    let size = given.point().abs();
    let is_loss = given.leaves.iter().any(|leaf| crate::loss_unit::unit_of_leaf(leaf).is_some());
    let is_other = matches!(given.role, NumberRole::P(_) | NumberRole::CountOfRuns(_));
    size <= one && !size.is_integer() && !is_loss && !is_other && !is_stated(given)
}

/// Whether a value is a constant of the post, or a field of a configuration.
fn is_stated(given: &Quantity) -> bool {
    matches!(given.leaf, Some(LeafKind::Setting | LeafKind::Literal | LeafKind::Quoted))
}

/// Whether a value is a setting that somebody chose: no result that a published file states in full.
fn is_setting(given: &Quantity) -> bool {
    /// More digits are measured, not chosen.
    const CHOSEN_DIGITS: usize = 8;
    let digits = |text: &str| {
        let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
        mantissa.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit).count()
    };
    given.leaf == Some(LeafKind::Setting)
        && (given.point().is_integer() || digits(&given.derivation) < CHOSEN_DIGITS)
}

/// The reading by the kind of value: settings and counts are exact, everything else is rounded.
fn by_kind(claimed: &Printed, given: &Quantity) -> ChosenReading {
    let is_count = claimed.is_integer_text() && claimed.unit() == Unit::Plain;
    let is_whole = given.interval.is_point() && given.point().is_integer();
    if is_setting(given) && !agreement::is_size(claimed) {
        ChosenReading::of(Reading::Exact, "a setting")
    } else if is_count && is_whole {
        ChosenReading::of(Reading::Exact, "a count printed in full")
    } else {
        ChosenReading::of(Reading::Rounded, "a measured value")
    }
}

/// Whether the suffix of a number may stand for a power of 1,024: of a context length, a vocabulary, of bytes.
fn may_be_binary(claimed: &Printed, given: &Quantity) -> bool {
    let is_in = |list: &str, word: &str| {
        lexicon().words(list).iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    let is_whole = !claimed.text().contains('.');
    let are_bytes = |field: &str| field.split(['_', '-']).any(|part| is_in("binary.bytes", part));
    agreement::is_size(claimed)
        && fields(given).any(|field| is_whole && is_in("binary.fields", field) || are_bytes(field))
}
