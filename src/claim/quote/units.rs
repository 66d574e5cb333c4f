//! Units behind a number in which the evidence need not be: `70 ms`, `5 hours`, `7 points`, `14.5 millinats`.
//!
//! What a receipt records in seconds may be told in hours, and nothing says by which factor evidence and words differ.

use num_rational::BigRational;
use repro_exact::decimal::Unit;

use super::heads;
use super::written::factor_of;

/// Units of time besides the second, parts of a percentage, and what else is told in several sizes.
const OTHER: &[&str] = &[
    "min", "mins", "minute", "minutes", "h", "hr", "hrs", "hour", "hours", "day", "days", "week",
    "weeks", "month", "months", "year", "years", "m", "bp", "bps", "basis", "point", "points",
    "pt", "pts", "ppt", "permille", "mille",
];
/// Units that have prefixes, by their sign and by their names.
const BASE_SIGNS: &[&str] = &[
    "s", "sec", "secs", "nat", "nats", "bit", "bits", "flop", "flops", "flop/s", "tok", "hz", "w",
    "wh", "j", "g", "b", "params", "tokens",
];
const BASE_NAMES: &[&str] = &[
    "second",
    "nat",
    "bit",
    "byte",
    "flop",
    "token",
    "parameter",
    "hertz",
    "watt",
    "joule",
    "step",
];
const PREFIX_SIGNS: &[&str] = &["m", "µ", "μ", "u", "n", "p", "k", "g", "t", "e", "c", "d"];
const PREFIX_NAMES: &[&str] = &[
    "milli", "micro", "nano", "pico", "centi", "deci", "kilo", "mega", "giga", "tera", "peta",
    "exa", "zetta",
];

/// Whether the word behind a number is a unit of another size than the plain one.
pub(super) fn stands_behind(after: &str) -> bool {
    let near = after.trim_start_matches(['$', '*', '_', '`']);
    let near = near.strip_prefix(['-', '\u{2011}']).unwrap_or(near);
    let near = near.trim_start_matches(['\u{a0}', '\u{2009}', '\u{202f}', ' ', '\\', ',', '~']);
    // A comma ends what is said of the number.
    if after.starts_with(',') {
        return false;
    }
    let near = near.strip_prefix("text{").or_else(|| near.strip_prefix("mathrm{")).unwrap_or(near);
    let end = near.find(|c: char| !c.is_alphabetic()).unwrap_or(near.len());
    let word = near[..end].to_lowercase();
    OTHER.contains(&word.as_str()) || has_prefix(&word)
}

/// Whether a word is a unit with a prefix: `ms`, `TFLOPs`, "millinats".
fn has_prefix(word: &str) -> bool {
    let rest = |prefixes: &[&str], is_base: &dyn Fn(&str) -> bool| {
        prefixes.iter().filter_map(|prefix| word.strip_prefix(prefix)).any(is_base)
    };
    rest(PREFIX_SIGNS, &|unit| BASE_SIGNS.contains(&unit))
        || rest(PREFIX_NAMES, &|unit| {
            BASE_NAMES.iter().any(|base| unit == *base || unit.strip_suffix('s') == Some(base))
        })
}

/// The unit of all numbers of a list that stands before it: "Tokens, in millions: 0.72", "Accuracies (%): 32.7".
pub(super) fn that_leads(before: &str) -> Option<(BigRational, Unit)> {
    let (head, list) = before.rsplit_once(':')?;
    let joins = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic());
        matches!(word, "" | "and" | "or" | "vs" | "versus")
    };
    if list.contains('\n') || !list.split_whitespace().all(joins) {
        return None;
    }
    let line = head.rsplit('\n').next().unwrap_or_default().trim_end_matches(['*', ' ']);
    heads::at_the_end_of(line).or_else(|| {
        let (lead, word) = line.rsplit_once("in ")?;
        let one = BigRational::from_integer(1.into());
        match word.trim_end_matches(')') {
            _ if lead.ends_with(char::is_alphanumeric) => None,
            "percent" | "per cent" | "%" => Some((one, Unit::Percent)),
            size => Some((factor_of(size.trim_end_matches('s'))?, Unit::Plain)),
        }
    })
}
