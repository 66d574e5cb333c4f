//! The grammar of printed numbers: qualifiers, sign, digits, exponent, suffix, unit, the number after ±, and the few number
//! words.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::printed::{Bound, Flaw, NotPrinted, Printed, Unit};
use super::rational::ratio;

/// The limit for the number of digits and for the exponent.
const CAP: usize = 400;
/// An upper bound of the length of a text with [`CAP`] digits, separators and words.
const LENGTH_CAP: usize = 6 * CAP;

impl Printed {
    /// Parses a text that consists of one printed number.
    pub fn parse(text: &str) -> Result<Self, NotPrinted> {
        parse(text).map_err(|flaw| {
            let mut shown: String = text.chars().take(60).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            NotPrinted { text: shown, flaw }
        })
    }
}

/// The meaning of a word or sign before a number.
#[derive(Clone, Copy)]
enum Qualifier {
    About,
    Limit(Bound),
}

/// Longer spellings come before their own prefixes.
const QUALIFIERS: &[(&str, Qualifier)] = &[
    ("~", Qualifier::About),
    ("≈", Qualifier::About),
    ("about ", Qualifier::About),
    ("approximately ", Qualifier::About),
    ("approx. ", Qualifier::About),
    ("approx ", Qualifier::About),
    ("around ", Qualifier::About),
    ("roughly ", Qualifier::About),
    ("nearly ", Qualifier::About),
    (">=", Qualifier::Limit(Bound::AtLeast)),
    ("≥", Qualifier::Limit(Bound::AtLeast)),
    ("at least ", Qualifier::Limit(Bound::AtLeast)),
    (">", Qualifier::Limit(Bound::Above)),
    ("over ", Qualifier::Limit(Bound::Above)),
    ("above ", Qualifier::Limit(Bound::Above)),
    ("more than ", Qualifier::Limit(Bound::Above)),
    ("<=", Qualifier::Limit(Bound::AtMost)),
    ("≤", Qualifier::Limit(Bound::AtMost)),
    ("at most ", Qualifier::Limit(Bound::AtMost)),
    ("up to ", Qualifier::Limit(Bound::AtMost)),
    ("<", Qualifier::Limit(Bound::Below)),
    ("under ", Qualifier::Limit(Bound::Below)),
    ("below ", Qualifier::Limit(Bound::Below)),
    ("less than ", Qualifier::Limit(Bound::Below)),
    ("fewer than ", Qualifier::Limit(Bound::Below)),
    ("sub-", Qualifier::Limit(Bound::Below)),
];

/// Base and power of each suffix; `Ki` comes before `K`.
const SUFFIXES: &[(&str, i32, i32)] = &[
    ("million", 10, 6),
    ("billion", 10, 9),
    ("trillion", 10, 12),
    ("Ki", 2, 10),
    ("Mi", 2, 20),
    ("Gi", 2, 30),
    ("Ti", 2, 40),
    ("k", 10, 3),
    ("K", 10, 3),
    ("M", 10, 6),
    ("B", 10, 9),
    ("T", 10, 12),
];

const UNITS: &[(&str, Unit)] = &[
    ("%", Unit::Percent),
    ("percentage points", Unit::Points),
    ("percent", Unit::Percent),
    ("pp", Unit::Points),
    ("×", Unit::Times),
    ("x", Unit::Times),
];

/// Small counts are often printed as words: "three seeds".
const COUNTS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// Number words with numerator and denominator: a post that uses one means "about".
const WORDS: &[(&str, i32, i32, Unit)] =
    &[("half", 1, 2, Unit::Plain), ("twice", 2, 1, Unit::Times), ("double", 2, 1, Unit::Times)];

const SPREAD_SIGNS: &[&str] = &["±", "+/-", "+-"];
const MINUS_SIGNS: &[char] = &['-', '−'];
const SEPARATORS: &[char] = &[',', '_', '\u{2009}', '\u{202f}', '\u{a0}'];
const SUPERSCRIPTS: &[char] = &['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// Reads one printed number that fills the whole text.
pub(super) fn parse(text: &str) -> Result<Printed, Flaw> {
    if text.len() > LENGTH_CAP {
        return Err(Flaw::TooLarge);
    }
    let text = text.trim();
    let mut cursor = Cursor(text);
    let (approximate, bound) = qualifiers(&mut cursor)?;
    if let Some((_, top, bottom, unit)) = WORDS.iter().find(|(word, ..)| cursor.is(word)) {
        let value = BigRational::new((*top).into(), (*bottom).into());
        return Ok(Printed {
            text: text.to_owned(),
            value,
            last_place: BigRational::zero(),
            unit: *unit,
            approximate: bound.is_none(),
            bound,
            spread: None,
            significant_digits: 1,
            integer_text: false,
        });
    }
    let mut main = Quantity::read(&mut cursor)?;
    let spread = spread(&mut cursor, &mut main)?;
    if !cursor.0.is_empty() {
        return Err(Flaw::Trailing);
    }
    Ok(Printed { approximate, bound, spread, ..main.printed(text) })
}

/// `±` and its number. `4.5 ± 0.2 B` and `4.5% ± 0.2` have one suffix or unit for both numbers.
fn spread(cursor: &mut Cursor, main: &mut Quantity) -> Result<Option<Box<Printed>>, Flaw> {
    let mut ahead = *cursor;
    ahead.spaces();
    if !ahead.any(SPREAD_SIGNS) {
        return Ok(None);
    }
    ahead.spaces();
    let start = ahead.0;
    let mut spread = Quantity::read(&mut ahead)?;
    if spread.negative {
        return Err(Flaw::NegativeSpread);
    }
    main.share(&mut spread);
    *cursor = ahead;
    let own = start.strip_suffix(ahead.0).unwrap_or(start);
    Ok(Some(Box::new(spread.printed(own))))
}

/// The words and signs before a number, each kind at most once.
fn qualifiers(cursor: &mut Cursor) -> Result<(bool, Option<Bound>), Flaw> {
    let (mut approximate, mut bound) = (false, None);
    while let Some((_, found)) = QUALIFIERS.iter().find(|(word, _)| cursor.take(word)) {
        cursor.spaces();
        match *found {
            Qualifier::About if !approximate => approximate = true,
            Qualifier::Limit(limit) if bound.is_none() => bound = Some(limit),
            _ => return Err(Flaw::Repeated),
        }
    }
    Ok((approximate, bound))
}

/// One number with suffix and unit, as read.
struct Quantity {
    negative: bool,
    digits: String,
    decimals: usize,
    exponent: Option<i32>,
    scale: Option<BigRational>,
    unit: Option<Unit>,
}

impl Quantity {
    fn read(cursor: &mut Cursor) -> Result<Self, Flaw> {
        let mut negative = cursor.sign();
        if cursor.take("$") && negative.is_none() {
            negative = cursor.sign();
        }
        let mut digits = match cursor.word() {
            Some(number) => number.to_string(),
            None => integer_digits(cursor)?,
        };
        let whole = digits.len();
        // A point without decimals is left for the caller, who rejects it.
        let mut ahead = *cursor;
        if ahead.take(".") && ahead.0.starts_with(|c: char| c.is_ascii_digit()) {
            digits.push_str(ahead.digits());
            *cursor = ahead;
        }
        if digits.is_empty() {
            return Err(Flaw::NoDigits);
        }
        if digits.len() > CAP {
            return Err(Flaw::TooLarge);
        }
        let decimals = digits.len() - whole;
        let exponent = exponent(cursor)?;
        let scale = scale(cursor)?;
        let unit = unit(cursor);
        Ok(Self { negative: negative.unwrap_or(false), digits, decimals, exponent, scale, unit })
    }

    /// Copies a suffix or unit that only one of the two numbers has to the other.
    fn share(&mut self, other: &mut Self) {
        self.scale = self.scale.take().or_else(|| other.scale.clone());
        other.scale = other.scale.take().or_else(|| self.scale.clone());
        self.unit = self.unit.or(other.unit);
        other.unit = other.unit.or(self.unit);
    }

    fn printed(&self, text: &str) -> Printed {
        let power = self.exponent.unwrap_or(0) - self.decimals as i32;
        let last_place = match &self.scale {
            None => ten_to(power),
            Some(scale) => ten_to(power) * scale,
        };
        let digits = BigInt::parse_bytes(self.digits.as_bytes(), 10).unwrap_or_default();
        let mut value = match last_place.is_integer() {
            true => BigRational::from_integer(digits * last_place.numer()),
            false => ratio(digits * last_place.numer(), last_place.denom().clone()),
        };
        if self.negative {
            value = -value;
        }
        Printed {
            text: text.to_owned(),
            value,
            last_place: last_place.abs(),
            unit: self.unit.unwrap_or(Unit::Plain),
            approximate: false,
            bound: None,
            spread: None,
            significant_digits: self.digits.trim_start_matches('0').len(),
            integer_text: self.decimals == 0 && self.exponent.is_none() && self.scale.is_none(),
        }
    }
}

/// The digits before the decimal point, without their separators.
fn integer_digits(cursor: &mut Cursor) -> Result<String, Flaw> {
    let mut digits = cursor.digits().to_owned();
    let first = digits.len();
    let Some(separator) = cursor.0.chars().next().filter(|c| SEPARATORS.contains(c)) else {
        return Ok(digits);
    };
    while let Some(rest) = cursor.0.strip_prefix(separator) {
        let mut ahead = Cursor(rest);
        let group = ahead.digits();
        // A space before a suffix or a unit ends the number; any other separator must be between digits.
        if group.is_empty() && separator.is_whitespace() {
            break;
        }
        if group.len() != 3 || !(1..=3).contains(&first) || digits.starts_with('0') {
            return Err(Flaw::Grouping);
        }
        digits.push_str(group);
        *cursor = ahead;
    }
    Ok(digits)
}

/// `e-7`, if there is an exponent.
fn exponent(cursor: &mut Cursor) -> Result<Option<i32>, Flaw> {
    let mut ahead = *cursor;
    if !ahead.take("e") {
        return Ok(None);
    }
    let negative = ahead.sign();
    let digits = ahead.digits();
    if digits.is_empty() {
        return Ok(None);
    }
    *cursor = ahead;
    capped(digits, negative).map(Some)
}

/// The factor of a suffix, or of `×10^3` and `×10³`.
fn scale(cursor: &mut Cursor) -> Result<Option<BigRational>, Flaw> {
    let mut ahead = *cursor;
    ahead.spaces();
    for (suffix, base, power) in SUFFIXES {
        // Case matters here: `M` is a million, and `m` is unknown.
        if let Some(rest) = ahead.0.strip_prefix(suffix) {
            *cursor = Cursor(rest);
            return Ok(Some(BigRational::from_integer(BigInt::from(*base)).pow(*power)));
        }
    }
    if !ahead.any(&["×", "x"]) {
        return Ok(None);
    }
    ahead.spaces();
    if !ahead.take("10") {
        return Ok(None);
    }
    let (negative, digits) = if ahead.take("^") {
        (ahead.sign(), ahead.digits().to_owned())
    } else {
        let sign = ahead.take("⁻").then_some(true);
        (sign, ahead.superscripts())
    };
    if digits.is_empty() {
        return Ok(None);
    }
    *cursor = ahead;
    Ok(Some(ten_to(capped(&digits, negative)?)))
}

fn unit(cursor: &mut Cursor) -> Option<Unit> {
    let mut ahead = *cursor;
    ahead.spaces();
    let (_, unit) = UNITS.iter().find(|(sign, _)| ahead.take(sign))?;
    *cursor = ahead;
    Some(*unit)
}

/// The exponent with these digits; rejected beyond [`CAP`].
fn capped(digits: &str, negative: Option<bool>) -> Result<i32, Flaw> {
    let size: i32 = digits.parse().map_err(|_| Flaw::TooLarge)?;
    if size > CAP as i32 {
        return Err(Flaw::TooLarge);
    }
    Ok(if negative == Some(true) { -size } else { size })
}

fn ten_to(power: i32) -> BigRational {
    let size = BigInt::from(10).pow(power.unsigned_abs());
    match power {
        0.. => BigRational::from_integer(size),
        _ => BigRational::new_raw(BigInt::one(), size),
    }
}

/// The rest of the text.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    /// Consumes `word` if it comes next, ignoring case.
    fn take(&mut self, word: &str) -> bool {
        let matches = self.0.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word));
        if matches {
            self.0 = self.0.get(word.len()..).unwrap_or_default();
        }
        matches
    }

    /// Whether the rest is only this word.
    fn is(self, word: &str) -> bool {
        self.0.eq_ignore_ascii_case(word)
    }

    fn any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.take(word))
    }

    /// Consumes one of [`COUNTS`] if it ends there.
    fn word(&mut self) -> Option<usize> {
        let end = self.0.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        let number = COUNTS.iter().position(|known| known.eq_ignore_ascii_case(word))?;
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
        ends.then(|| self.0 = rest)?;
        Some(number)
    }

    fn spaces(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// A sign: whether it is a minus.
    fn sign(&mut self) -> Option<bool> {
        if let Some(rest) = self.0.strip_prefix(MINUS_SIGNS) {
            self.0 = rest;
            return Some(true);
        }
        // `+-` and `+/-` introduce the number after ±, so they never come first; a lone plus has no meaning.
        self.take("+").then_some(false)
    }

    fn digits(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits
    }

    fn superscripts(&mut self) -> String {
        let mut digits = String::new();
        while let Some(first) = self.0.chars().next() {
            let Some(digit) = SUPERSCRIPTS.iter().position(|&c| c == first) else { break };
            digits.push_str(&digit.to_string());
            self.0 = self.0.get(first.len_utf8()..).unwrap_or_default();
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Interval;
    use proptest::prelude::*;

    fn read(text: &str) -> Printed {
        Printed::parse(text).unwrap_or_else(|e| panic!("{e}"))
    }

    fn ratio(n: i64, d: i64) -> BigRational {
        BigRational::new(n.into(), d.into())
    }

    /// Text, value and last place as fractions.
    #[test]
    fn values_and_last_places() {
        let table = [
            ("755,534,592", (755_534_592, 1), (1, 1)),
            ("1_000_000", (1_000_000, 1), (1, 1)),
            ("32\u{2009}800", (32_800, 1), (1, 1)),
            ("32\u{a0}800\u{a0}000", (32_800_000, 1), (1, 1)),
            ("-0.040", (-40, 1000), (1, 1000)),
            ("−2.5", (-5, 2), (1, 10)),
            ("+.05", (5, 100), (1, 100)),
            ("1e-7", (1, 10_000_000), (1, 10_000_000)),
            ("3.2E+4", (32_000, 1), (1000, 1)),
            ("1.7×10^3", (1700, 1), (100, 1)),
            ("1.7 x 10^-3", (17, 10_000), (1, 10_000)),
            ("1.7 × 10⁻³", (17, 10_000), (1, 10_000)),
            ("524K", (524_000, 1), (1000, 1)),
            ("4.5B", (4_500_000_000, 1), (100_000_000, 1)),
            ("4.5 B", (4_500_000_000, 1), (100_000_000, 1)),
            ("4.5\u{a0}B", (4_500_000_000, 1), (100_000_000, 1)),
            ("1.50Ki", (1536, 1), (1024, 100)),
            ("2 Mi", (2 << 20, 1), (1 << 20, 1)),
            ("$1.25", (5, 4), (1, 100)),
            ("-$5", (-5, 1), (1, 1)),
            ("$-5", (-5, 1), (1, 1)),
            ("0.00", (0, 1), (1, 100)),
        ];
        for (text, value, last_place) in table {
            let printed = read(text);
            assert_eq!(printed.value(), &ratio(value.0, value.1), "{text}");
            assert_eq!(printed.last_place(), &ratio(last_place.0, last_place.1), "{text}");
            assert_eq!(printed.text(), text);
        }
    }

    #[test]
    fn small_counts_may_be_words() {
        for (text, value) in [("three", 3), ("Twelve", 12), ("zero", 0)] {
            let printed = read(text);
            assert_eq!(printed.exact(), Interval::integer(value), "{text}");
            assert!(printed.is_integer_text() && printed.text() == text);
        }
        assert_eq!(read("about four").value(), &ratio(4, 1));
        assert_eq!(read("two percent").unit(), Unit::Percent);
        for text in ["thirteen", "tenth", "three.5", "one2", "two runs", "-", "one,000"] {
            assert!(Printed::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn units() {
        for (text, unit, value) in [
            ("24%", Unit::Percent, ratio(24, 1)),
            ("24 %", Unit::Percent, ratio(24, 1)),
            ("1.2 pp", Unit::Points, ratio(6, 5)),
            ("1.7×", Unit::Times, ratio(17, 10)),
            ("3.44x", Unit::Times, ratio(86, 25)),
            ("8 x", Unit::Times, ratio(8, 1)),
            ("7", Unit::Plain, ratio(7, 1)),
        ] {
            assert_eq!((read(text).unit(), read(text).value()), (unit, &value), "{text}");
        }
    }

    #[test]
    fn qualifiers_combine() {
        let printed = read("~+0.205");
        assert!(printed.approximate() && printed.bound().is_none());
        assert_eq!(printed.value(), &ratio(205, 1000));
        assert!(read("~1.7×").approximate());
        assert_eq!(read("~32,800").value(), &ratio(32_800, 1));
        assert!(read("About 5%").approximate());
        for (text, bound) in [
            ("> 3", Bound::Above),
            (">=3", Bound::AtLeast),
            ("≥3", Bound::AtLeast),
            ("<3", Bound::Below),
            ("≤ 3", Bound::AtMost),
            ("over 3", Bound::Above),
            ("At least 3", Bound::AtLeast),
            ("at most 3", Bound::AtMost),
            ("under 3", Bound::Below),
            ("sub-3", Bound::Below),
            ("up to 3", Bound::AtMost),
        ] {
            assert_eq!(read(text).bound(), Some(bound), "{text}");
            assert_eq!(read(text).value(), &ratio(3, 1), "{text}");
        }
        let both = read("over ~300");
        assert!(both.approximate() && both.bound() == Some(Bound::Above));
    }

    #[test]
    fn spreads_share_suffix_and_unit() {
        for text in ["0.0758 ± 0.0021", "0.0758±0.0021", "0.0758 +/- 0.0021", "0.0758 +- 0.0021"]
        {
            let spread = read(text);
            let spread = spread.spread().unwrap();
            assert_eq!(
                (spread.value(), spread.last_place()),
                (&ratio(21, 10_000), &ratio(1, 10_000))
            );
            assert_eq!(spread.text(), "0.0021");
        }
        for text in ["4.5% ± 0.2", "4.5 ± 0.2%", "4.5 ± 0.2 %", "4.5% ± 0.2%"] {
            let printed = read(text);
            assert_eq!(printed.unit(), Unit::Percent, "{text}");
            assert_eq!(printed.spread().unwrap().unit(), Unit::Percent, "{text}");
        }
        let printed = read("4.5 ± 0.2B");
        assert_eq!(printed.value(), &ratio(4_500_000_000, 1));
        assert_eq!(printed.spread().unwrap().value(), &ratio(200_000_000, 1));
        let printed = read("4.5B ± 20M");
        assert_eq!(printed.spread().unwrap().value(), &ratio(20_000_000, 1));
    }

    #[test]
    fn what_is_no_printed_number_is_refused() {
        for (text, flaw) in [
            ("", Flaw::NoDigits),
            ("abc", Flaw::NoDigits),
            ("-", Flaw::NoDigits),
            (".", Flaw::NoDigits),
            ("1,23", Flaw::Grouping),
            ("1234,567", Flaw::Grouping),
            ("1,234_567", Flaw::Trailing),
            ("0,123", Flaw::Grouping),
            ("1,2345", Flaw::Grouping),
            ("1,", Flaw::Grouping),
            ("1.", Flaw::Trailing),
            ("1 234", Flaw::Trailing),
            ("1e", Flaw::Trailing),
            ("1.2.3", Flaw::Trailing),
            ("5 apples", Flaw::Trailing),
            ("124m", Flaw::Trailing),
            ("1.7x10", Flaw::Trailing),
            ("~~5", Flaw::Repeated),
            ("> < 5", Flaw::Repeated),
            ("5 ± -1", Flaw::NegativeSpread),
            ("5 ±", Flaw::NoDigits),
            ("5 ± 1 ± 1", Flaw::Trailing),
            ("1e401", Flaw::TooLarge),
            ("1e99999999999", Flaw::TooLarge),
        ] {
            assert_eq!(Printed::parse(text).unwrap_err().flaw, flaw, "{text}");
        }
        assert_eq!(Printed::parse(&"9".repeat(401)).unwrap_err().flaw, Flaw::TooLarge);
        assert_eq!(Printed::parse(&" ".repeat(9000)).unwrap_err().flaw, Flaw::TooLarge);
        assert!(Printed::parse(&"9".repeat(400)).is_ok());
    }

    #[test]
    fn digits_tell_how_exact_a_print_is() {
        assert!(read("8,320").is_integer_text() && read("100%").is_integer_text());
        for text in ["8.0", "8e3", "8k", "8 x 10^3"] {
            assert!(!read(text).is_integer_text(), "{text}");
        }
        assert_eq!(read("0.00120").significant_digits(), 3);
        assert_eq!(read("1,000").significant_digits(), 4);
        assert!(read("3.27912345678901").is_full_float());
        assert!(!read("3.2791234567890").is_full_float());
        assert!(!read("1234567890123456").is_full_float());
        assert_eq!(read("0.1").as_f64(), 0.1);
        assert_eq!(read("3.278912345678901234").as_f64(), 3.278_912_345_678_901);
    }

    #[test]
    fn intervals_of_a_print() {
        let half = Interval::between(ratio(15, 100), ratio(25, 100));
        assert_eq!(read("0.2").interval(), half);
        assert_eq!(read("0.2").exact(), Interval::point(ratio(1, 5)));
        let about = Interval::between(ratio(95, 1), ratio(105, 1));
        assert_eq!(read("~100").about(&ratio(1, 20)), about);
        assert_eq!(read("-100").about(&ratio(1, 20)), -&about);
        assert_eq!(read("0.2").about(&ratio(1, 20)), half, "never narrower than the print");
    }

    #[test]
    fn words_that_are_numbers_are_about() {
        let tolerance = ratio(1, 20);
        let half = Interval::between(ratio(475, 1000), ratio(525, 1000));
        for text in ["half", "about half", "Half"] {
            assert_eq!(read(text).about(&tolerance), half, "{text}");
            assert!(read(text).approximate(), "{text}");
        }
        let twice = Interval::between(ratio(19, 10), ratio(21, 10));
        for text in ["twice", "double"] {
            assert_eq!(
                (read(text).about(&tolerance), read(text).unit()),
                (twice.clone(), Unit::Times)
            );
        }
        let over = read("over half");
        assert_eq!(
            (over.bound(), over.approximate(), over.value()),
            (Some(Bound::Above), false, &ratio(1, 2))
        );
        assert!(Printed::parse("half a unit").is_err() && Printed::parse("doubled").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = Printed::parse(&text);
        }

        #[test]
        fn no_likely_text_panics(text in "[~≈><≥+\\-−$0-9.,_eE%pxX×10^³⁻ ±kKMBTi\u{a0}]{0,14}") {
            if let Ok(printed) = Printed::parse(&text) {
                prop_assert!(printed.interval().contains(printed.value()));
                prop_assert!(printed.last_place().is_positive());
            }
        }

        #[test]
        fn plain_decimals_are_read_as_the_standard_library_reads_them(
            n in any::<i64>(), decimals in 0usize..12
        ) {
            let text = format!("{:.*}", decimals, n as f64 / 1e6);
            prop_assert_eq!(read(&text).as_f64(), text.parse::<f64>().unwrap());
        }
    }
}
