//! The numbers of a text, in order.
//!
//! A number is a run of digits that is not part of a name: `9536-step` contains one; `bf16`, `MoE-64`, `top-2`, `#420`,
//! `0003` and `10th` contain none, and neither does the `1. ` of a list or a footnote `[^1]`. Emphasis does not make a
//! name: `_1,209_` contains one, and so do `x9.4` and each side of `256x2048`. Numbers in words count, too: `two` to
//! `ninety-nine`, `half`, `two thirds`, `twice`, `fivefold`, `a million`. The number after `±`, and the one in the brackets
//! of `1.702(13)`, is an uncertainty. A date is an item without a value.

mod aloud;
mod dates;
mod digests;
mod heads;
mod in_words;
mod signs;
mod written;

use std::ops::Range;

use num_rational::BigRational;
use repro_core::decimal::{Printed, Unit};

use crate::sentence::{first_bytes, last_bytes};
use crate::words::words;
pub use heads::{HeadUnit, unit_of_head, unit_of_row};
use written::Written;

/// A number of a text, or a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteItem {
    /// Its position in the text in bytes, without the words before it.
    pub span: Range<usize>,
    /// Its kind.
    pub kind: ItemKind,
    /// The end of a range that it is: of `1.687–1.724`, of "between 1.70 and 1.71".
    pub range_end: Option<RangeEnd>,
    /// Whether its characters have more than one reading: right-to-left text, a decimal comma, the argument of a root.
    pub is_unclear: bool,
    /// An equally plausible reading: `1.702 ± 0.8%` is not a percentage if the uncertainty is relative.
    pub other: Option<Printed>,
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    Low,
    High,
}

/// The kind of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// A number.
    Number(Printed),
    /// The number after `±`.
    Spread(Printed),
    /// A day, with or without a time, in figures: `2026-01-09`.
    Date(String),
}

impl QuoteItem {
    /// Its digits as they are in the text.
    pub fn text<'a>(&self, of: &'a str) -> &'a str {
        of.get(self.span.clone()).unwrap_or_default()
    }

    /// The number that it is; none of a date or a spread.
    pub fn number(&self) -> Option<&Printed> {
        match &self.kind {
            ItemKind::Number(printed) => Some(printed),
            _ => None,
        }
    }

    /// The number or the spread that it is; none of a date.
    pub fn printed(&self) -> Option<&Printed> {
        match &self.kind {
            ItemKind::Number(printed) | ItemKind::Spread(printed) => Some(printed),
            ItemKind::Date(_) => None,
        }
    }

    /// Whether it follows `±`.
    pub fn is_spread(&self) -> bool {
        matches!(self.kind, ItemKind::Spread(_))
    }

    /// Whether it is written in digits, and not in words.
    pub fn is_in_digits(&self, of: &str) -> bool {
        self.text(of).contains(|c: char| aloud::digit(c).is_some())
    }
}

/// The maximum number of bytes before and after a number that are read as its context: a text may be one endless line full
/// of numbers.
const NEAR: usize = 400;

/// No measured number has more digits, and parsing one is slow.
const MOST_DIGITS: usize = 1_000;

/// The words before a position, as far as they are relevant to it.
fn before(text: &str, at: usize) -> &str {
    last_bytes(&text[..at], NEAR)
}

/// The words after a position, as far as they are relevant to it.
fn behind(text: &str, at: usize) -> &str {
    first_bytes(&text[at..], NEAR)
}

/// The number of numbers in a text, in digits and in words, without reading their context.
pub fn count(text: &str) -> usize {
    let runs = text.split(|c: char| !c.is_numeric()).filter(|run| !run.is_empty());
    let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 2);
    runs.count() + words.filter(|word| in_words::may_be_one(word)).count()
}

/// The items of `text` in their order.
pub fn items(text: &str) -> Vec<QuoteItem> {
    let aloud = aloud::read(text);
    let mut items = items_of(&aloud.text);
    for item in &mut items {
        item.span = aloud.original(item.span.clone());
    }
    items
}

/// The items of a text in normalized form.
fn items_of(text: &str) -> Vec<QuoteItem> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(here) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let next = at + here.len_utf8();
        if here.is_ascii_digit() || (here == '.' && starts_with_digit(text, next)) {
            at = read_digits(text, at, &mut found);
        } else if here == '\\' {
            // A TeX command ends with its letters: `\approx20` contains a number.
            at = next + run(&text[next..], |c| c.is_ascii_alphabetic());
        } else if here.is_ascii_alphabetic() && starts_word(text, at) {
            at = read_word(text, at, &mut found);
        } else {
            at = next;
        }
    }
    read_ranges(text, &mut found);
    found.iter_mut().for_each(|found| found.may_be_points(text));
    found.into_iter().map(|found| found.item).collect()
}

/// An item with the format of its number.
struct Found {
    item: QuoteItem,
    written: Option<Written>,
}

impl Found {
    fn number(text: &str, written: Written) -> Self {
        let is_unclear =
            is_struck(text, written.span.start) || signs::are_part_of_more(text, &written.span);
        let kind = ItemKind::Number(written.printed.clone());
        let span = written.span.clone();
        let item = QuoteItem { span, kind, range_end: None, is_unclear, other: None };
        Self { item, written: Some(written) }
    }

    /// Accepts percentage points as a second reading of a plain number of points.
    fn may_be_points(&mut self, text: &str) {
        let ItemKind::Number(printed) = &self.item.kind else { return };
        let rest = text[self.item.span.end..].trim_start_matches([' ', '-', '\u{a0}']);
        let is_word = |word: &str| begins_with(rest, word) && is_boundary(rest, word.len());
        if self.item.other.is_none()
            && printed.unit() == Unit::Plain
            && words().list("number.points").iter().any(|word| is_word(word))
        {
            self.item.other = Some(printed.clone().in_unit(Unit::Points));
        }
    }

    fn other(span: Range<usize>, kind: ItemKind) -> Self {
        let item = QuoteItem { span, kind, range_end: None, is_unclear: false, other: None };
        Self { item, written: None }
    }
}

/// Whether a position is struck out in its paragraph: `~~`, `<del>`, `\sout{`.
pub fn is_struck(text: &str, at: usize) -> bool {
    let paragraph = before(text, at).rsplit("\n\n").next().unwrap_or_default();
    let strikes = |(open, close): (&str, &str)| {
        let (opened, closed) = (paragraph.rfind(open), paragraph.rfind(close));
        // A mark with spaces around it opens nothing: `a ~~ b`.
        let is_apart =
            opened.is_some_and(|at| paragraph[at + open.len()..].starts_with(char::is_whitespace));
        if open == close {
            paragraph.matches(open).count() % 2 == 1 && !is_apart
        } else {
            opened > closed
        }
    };
    // Most paragraphs have no mark at all, and searching for one character is faster than for several.
    ['~', '<', '\\'].iter().any(|mark| paragraph.contains(*mark))
        && words().pairs("strike").any(strikes)
}

/// Reads a date, and returns the position after it.
fn read_date(text: &str, at: usize, found: &mut Vec<Found>) -> Option<usize> {
    let (end, date) = dates::read(text, at)?;
    found.push(Found::other(at..end, ItemKind::Date(date)));
    Some(end)
}

/// Reads the word at `at`, and returns the position after it.
fn read_word(text: &str, at: usize, found: &mut Vec<Found>) -> usize {
    if let Some(end) = read_date(text, at, found) {
        return end;
    }
    if let Some(written) = in_words::read(text, at) {
        let end = written.span.end;
        found.push(Found::number(text, written));
        return end;
    }
    let end = word_end(text, at);
    let word = &text[at..end];
    // `x9.4` is a factor.
    let times = word.strip_prefix('x').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if times && word.len() > 1 && text[end..].starts_with('.') && starts_with_digit(text, end + 1) {
        return at + 1;
    }
    // `v0.1` continues after its dot; a sentence does not.
    let is_name = word.contains(|c: char| c.is_ascii_digit());
    if is_name { name_end(text, end) } else { end }
}

/// Reads the item that starts with the digit at `at`, and returns the position after it.
fn read_digits(text: &str, at: usize, found: &mut Vec<Found>) -> usize {
    if let Some(end) = read_date(text, at, found) {
        return end;
    }
    let digits_end = at + run(&text[at..], |c| c.is_ascii_digit());
    if digits_end - at > MOST_DIGITS {
        return digits_end;
    }
    if let Some(grouped) = parted_by_points(text, at) {
        let end = grouped.item.span.end;
        found.push(grouped);
        return end;
    }
    let Some(written) = written::read(text, at) else { return digits_end.max(at + 1) };
    let end = written.span.end;
    let goes_on_a_name =
        belongs_to_a_name(text, at) && !ends_a_range(text, at, &written, found.last());
    if goes_on_a_name
        || digests::holds(text, at)
        || is_a_name(&text[at..end], &text[end..])
        || is_a_list_mark(&text[..at], &text[end..])
        || is_a_footnote(&text[..at], &text[end..])
    {
        return name_end(text, end);
    }
    if let Some(end) = read_spread(text, &written, found) {
        return end;
    }
    if let Some(part) = one_of(text, &written) {
        let end = part.span.end;
        found.push(Found { item: Found::number(text, part).item, written: None });
        return end;
    }
    found.push(Found::number(text, written));
    end
}

/// A number with dots between its groups, `329.280.000`: whole, and unclear to an English reader.
fn parted_by_points(text: &str, at: usize) -> Option<Found> {
    let length = run(&text[at..], |c| c.is_ascii_digit() || c == '.');
    let token = text[at..at + length].trim_end_matches('.');
    let mut groups = token.split('.');
    let is_first = groups.next().is_some_and(|first| first.len() <= 3 && !first.starts_with('0'));
    let are_thousands = groups.clone().count() >= 2 && groups.all(|group| group.len() == 3);
    let end = at + token.len();
    let is_inside = text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c))
        || text[end..].starts_with(|c: char| c.is_alphanumeric() || "-/".contains(c));
    let value = token.replace('.', "").parse().ok().filter(|_| is_first && are_thousands)?;
    let printed = Printed::in_words(token, value, Unit::Plain);
    let mut number = Found::other(at..end, ItemKind::Number(printed));
    number.item.is_unclear = true;
    (!is_inside).then_some(number)
}

/// Reads a number with its uncertainty: `4.5 ± 0.2%` shares its unit, `1.702(13)` its last digits.
fn read_spread(text: &str, main: &Written, found: &mut Vec<Found>) -> Option<usize> {
    if let Some(spread) = main.in_last_digits(text) {
        let end = spread.span.end + 1;
        let printed = main.printed.clone().with_spread(spread.printed.clone());
        found.push(Found::number(text, Written { printed, ..main.clone() }));
        found.push(Found::other(spread.span, ItemKind::Spread(spread.printed)));
        return Some(end);
    }
    let after = spread_start(text, main.span.end)?;
    let spread = written::read(text, after)?;
    let own = main.printed.clone().with_spread(spread.printed.clone());
    let shared = main.sharing(&spread);
    let spread = spread.sharing(main);
    let whole = &text[main.span.start..spread.span.end];
    let printed = shared.printed.clone().with_spread(spread.printed.clone()).shown_as(whole);
    let is_share = main.printed.unit() == Unit::Plain && spread.printed.unit() == Unit::Percent;
    let mut number = Found::number(text, Written { printed, ..shared });
    number.item.other = is_share.then_some(own);
    found.push(number);
    found.push(Found::other(after..spread.span.end, ItemKind::Spread(spread.printed)));
    Some(spread.span.end)
}

/// `1/5 of the steps`.
fn one_of(text: &str, top: &Written) -> Option<Written> {
    let rest = text[top.span.end..].strip_prefix('/')?;
    let digits = run(rest, |c| c.is_ascii_digit());
    let bottom: u32 = rest[..digits].parse().ok().filter(|bottom| (2..=100).contains(bottom))?;
    let end = text.len() - rest.len() + digits;
    let is_part = *top.printed.value() < BigRational::from_integer(bottom.into());
    let goes_on = words().start_of("number.of_a_share", &text[end..]).is_some();
    let is_whole = top.printed.is_integer_text() && top.printed.unit() == Unit::Plain;
    let is_share =
        is_whole && is_part && is_boundary(text, end) && !starts_with_digit(text, end + 1);
    (is_share && goes_on).then_some(())?;
    let span = top.span.start..end;
    let value = top.printed.value() / BigRational::from_integer(bottom.into());
    let printed = Printed::in_words(&text[span.clone()], value, Unit::Plain);
    Some(Written { span, printed, scale: None })
}

/// Ranges: both ends have the unit of the last number. The last unit of a list may apply to all of its numbers.
fn read_ranges(text: &str, found: &mut [Found]) {
    for at in (1..found.len()).rev() {
        let [.., first, second] = &mut found[..=at] else { return };
        let (Some(low), Some(high)) = (first.written.clone(), second.written.clone()) else {
            continue;
        };
        let Some(between) = text.get(low.span.end..high.span.start) else { continue };
        let (before, after) = (before(text, low.span.start), behind(text, high.span.end));
        let Some(joint) = Joint::of(before, between, after) else { continue };
        let shared = low.sharing(&high);
        let may_share = shared.printed.value() != low.printed.value()
            || shared.printed.unit() != low.printed.unit();
        if joint.shares {
            first.item.kind = ItemKind::Number(shared.printed.clone());
            first.written = Some(shared);
            first.item.other =
                first.item.other.take().or(second.item.other.clone().map(|_| low.printed));
        } else if may_share && !joint.is_range {
            first.item.other = Some(shared.printed.clone());
            first.written = Some(shared);
        }
        if joint.is_range {
            mark_ends(&mut first.item, &mut second.item);
        }
    }
}

/// The meaning of two numbers and the characters between them.
struct Joint {
    /// Whether the unit of the second is the unit of the first.
    shares: bool,
    /// Whether they are the ends of a range.
    is_range: bool,
}

impl Joint {
    fn of(before: &str, between: &str, after: &str) -> Option<Self> {
        let near = before.trim_end().trim_end_matches(['$', '*', '`']).trim_end();
        let joint = between.trim_matches(|c: char| c.is_whitespace() || "$*{}`".contains(c));
        let is_between = near.to_ascii_lowercase().ends_with("between");
        let is_bracket = near.ends_with('[');
        let respectively = after.trim_start_matches([',', ' ']).starts_with("respectively");
        let (shares, is_range) = match joint {
            "-" | "–" | "—" | "--" | "\u{2011}" | "‐" | "~" | "to" | "through" => {
                (true, true)
            }
            "/" => (true, false),
            "and" if is_between => (true, true),
            "and" | "or" => (respectively, false),
            // The ends of `[21.0, 31.8%]` have their own units.
            "," if is_bracket => (false, true),
            "," | ", and" | ", or" | "vs." | "vs" | "versus" | "against" | "→" | "->" => {
                (false, false)
            }
            _ => return None,
        };
        Some(Self { shares, is_range })
    }
}

/// Marks two numbers as the ends of a range, the lower one first or last.
fn mark_ends(first: &mut QuoteItem, second: &mut QuoteItem) {
    if let (ItemKind::Number(one), ItemKind::Number(other)) = (&first.kind, &second.kind) {
        let is_rising = one.value() <= other.value();
        first.range_end = Some(if is_rising { RangeEnd::Low } else { RangeEnd::High });
        second.range_end = Some(if is_rising { RangeEnd::High } else { RangeEnd::Low });
    }
}

/// The start of the number after `±`, if it comes next.
fn spread_start(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].trim_start_matches(['$', ' ', '\u{a0}', '\u{2009}', '\u{202f}']);
    let rest = words().behind("sign.spreads", rest)?;
    let at = text.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '$').len();
    starts_with_digit(text, at).then_some(at)
}

/// Accepts the number before a percent sign or a suffix of bytes or operations as a second reading: the author of an
/// expression may have multiplied by 100 or divided by the size. Other suffixes belong to the number.
pub fn may_lack_its_unit(item: &mut QuoteItem) {
    let ItemKind::Number(printed) = &item.kind else { return };
    let digits = printed.text().trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace());
    let suffix = printed.text()[digits.len()..].trim_start();
    let is_unit = suffix.len() > 1 && suffix.ends_with('B') || written::is_of_operations(suffix);
    let plain = match printed.unit() {
        Unit::Percent | Unit::Points => Some(printed.clone().in_unit(Unit::Plain)),
        _ if is_unit => Printed::parse(digits).ok().map(|plain| plain.shown_as(printed.text())),
        _ => None,
    };
    item.other = item.other.take().or(plain);
}

/// The item with its numbers in a unit from elsewhere, such as the column head.
pub fn in_unit(item: &mut QuoteItem, factor: &BigRational, unit: Unit) {
    let (ItemKind::Number(printed) | ItemKind::Spread(printed)) = &mut item.kind else { return };
    // Its own suffix or unit takes precedence.
    let has_own = printed.unit() != Unit::Plain
        || printed.text().contains(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E' | 'x'));
    if has_own {
        return;
    }
    let other = in_other_unit(printed, factor, unit);
    item.other = Some(std::mem::replace(printed, other));
}

/// A number in a unit that is not printed next to it.
fn in_other_unit(printed: &Printed, factor: &BigRational, unit: Unit) -> Printed {
    printed.clone().times(factor).in_unit(unit).shown_as(printed.text())
}

/// Whether a number is the second end of a range whose ends both have a suffix or a unit: `206k-329k`.
fn ends_a_range(text: &str, at: usize, second: &Written, last: Option<&Found>) -> bool {
    let has_unit =
        |written: &Written| written.scale.is_some() || written.printed.unit() != Unit::Plain;
    let first = last.and_then(|last| last.written.as_ref());
    first.is_some_and(|first| {
        text.get(first.span.end..at) == Some("-") && has_unit(first) && has_unit(second)
    })
}

/// Whether the digits at `at` continue a name: `bf16`, `MoE-64`, `#420`, `v0.1`.
fn belongs_to_a_name(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let command = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if command.ends_with('\\') && command.len() < before.len() {
        return false;
    }
    let bare = before.trim_end_matches('_');
    if bare.len() < before.len() {
        // `_1,209_` is emphasis, `data_12` a name.
        return bare.ends_with(|c: char| c.is_alphanumeric());
    }
    if let Some(bare) = before.strip_suffix('x') {
        // `256x2048` is a product, `x9.4` a factor, `0x10` a name.
        let factor = bare.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_product = factor.len() < bare.len()
            && !factor.ends_with(|c: char| c.is_alphabetic() || c == '_' || c == '-')
            && &bare[factor.len()..] != "0";
        return !is_product && bare.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    }
    let mut back = before.chars().rev();
    match back.next() {
        Some(c) if c.is_alphabetic() || c == '#' => true,
        // `pass@1`
        Some('@') => back.next().is_some_and(char::is_alphabetic),
        // A dash between digits is a range; `sub-25M` is a limit.
        Some('-') => back.next().is_some_and(char::is_alphabetic) && !before.ends_with("sub-"),
        Some('.') => back.next().is_some_and(|c| c.is_alphanumeric()),
        _ => false,
    }
}

/// Whether digits are a mark of a footnote: `[^1]`, `^1^`.
fn is_a_footnote(before: &str, rest: &str) -> bool {
    before.ends_with("[^") || (before.ends_with('^') && rest.starts_with('^'))
}

/// Whether digits are a name by themselves: `0003`, `10th`, `1.2.3`.
fn is_a_name(digits: &str, rest: &str) -> bool {
    let whole = digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let ordinal = words().start_of("number.ordinals", rest);
    let ordinal = ordinal.is_some_and(|ending| is_boundary(rest, ending.len()));
    let version = rest.starts_with('.') && digits.contains('.') && starts_with_digit(rest, 1);
    (whole && digits.starts_with('0')) || ordinal || version
}

/// Whether digits count the entries of a list or the sections of a text: `1. ` at the start of a line.
fn is_a_list_mark(before: &str, rest: &str) -> bool {
    let line = before.trim_end_matches(|c: char| c != '\n' && c.is_whitespace() || c == '#');
    let starts = line.is_empty() || line.ends_with('\n');
    starts && rest.strip_prefix(['.', ')']).is_some_and(|rest| rest.starts_with(' '))
}

/// Whether a text begins with a word, ignoring case.
fn begins_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Whether no word goes on at `at`.
fn is_boundary(text: &str, at: usize) -> bool {
    !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether a word begins at `at`.
fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The end of the word at `at`, or of the first [`NEAR`] bytes of a longer word.
fn word_end(text: &str, at: usize) -> usize {
    at + run(behind(text, at), |c| c.is_alphanumeric() || c == '_')
}

/// The end of a name that continues at `at`, including dots and dashes inside it.
fn name_end(text: &str, at: usize) -> usize {
    let mut end = word_end(text, at);
    while let Some(rest) = text[end..].strip_prefix(['.', '-'])
        && rest.starts_with(|c: char| c.is_alphanumeric())
    {
        end = word_end(text, end + 1);
    }
    end
}

fn starts_with_digit(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The length in bytes of the matching characters at the start.
fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<&str> {
        items(text).iter().map(|item| item.text(text)).collect()
    }

    #[test]
    fn numbers_in_words_are_counted_too() {
        assert_eq!(count("Twenty-one of 1.5 and three, ①, half a dozen; nobody"), 7);
        assert_eq!(count("The mixture wins"), 0);
    }

    #[test]
    fn numbers_are_found_in_order() {
        for (text, numbers) in [
            ("slice under totalDN = 8", &["8"][..]),
            ("headline rows at 20% of horizon", &["20%"]),
            ("Tokens at 20%bpbCORE", &["20%"]),
            ("on the same 9536-step, 4.9996B-token June-style family", &["9536", "4.9996B"]),
            ("(K + shared) * moe_inter_dim = 8 x 384 = 3072", &["8", "384", "3072"]),
            ("MoE-64 in bf16, d10 and `#420`, 0003, top-2 on H100", &[]),
            (
                "1.5786 ± 0.0025 over three seeds, 4.5% below",
                &["1.5786", "0.0025", "three", "4.5%"],
            ),
            ("4.5% ± 0.2", &["4.5%", "0.2"]),
            ("[-0.0007, 0.0310]", &["-0.0007", "0.0310"]),
            ("checkpoints={2%,5%,10%,20%}", &["2%", "5%", "10%", "20%"]),
            ("0.257→0.457", &["0.257", "0.457"]),
            ("8320–9536 and 12-16", &["8320", "9536", "12", "16"]),
            ("p=0.003; t = -6.9", &["0.003", "-6.9"]),
            ("$1.25 an hour, 1.7x, 1.7 × and 1.7×10^3", &["$1.25", "1.7x", "1.7", "1.7×10^3"]),
            ("γ = 4,999,610,368 / 190,532,352.", &["4,999,610,368", "190,532,352"]),
            ("the 10th of 1,2,3", &["1", "2", "3"]),
            ("version 1.2.3, v0.1, MoE-64-12, 0003-0005 and #4.5", &[]),
            ("Published 2026-03-14, 2026-03-03T16:15:00Z", &["2026-03-14", "2026-03-03T16:15:00Z"]),
            ("Two of the three; one is twice as large", &["Two", "three", "twice"]),
            ("5 Models, 5 M, 16 kB, 250ms", &["5", "5 M", "16 kB", "250"]),
            (
                "50 trillion tokens, 1.5 million, 3 millions",
                &["50 trillion", "1.5 million", "3 millions"],
            ),
            (r"\(r_a^{**}\approx20\%\), \zeta^2 L^3", &[r"20\%", "2", "3"]),
            ("1e-7 and 3.2E+4, 1.1e20", &["1e-7", "3.2E+4", "1.1e20"]),
            ("24 percent, 1.5 percentage points", &["24 percent", "1.5 percentage points"]),
            ("| 0.43 | .5 |", &["0.43", ".5"]),
            ("## 3. Results\n  1. 20 seeds\n2) 30, 4. 5", &["20", "30", "4", "5"]),
        ] {
            assert_eq!(texts(text), numbers, "{text}");
        }
    }

    #[test]
    fn what_a_reader_reads_is_read() {
        for (text, numbers) in [
            ("329,280\nmillion", &[("329,280\nmillion", "329280000000")][..]),
            ("329,280\n\nmillion", &[("329,280", "329280")]),
            ("**329,280** million", &[("329,280** million", "329280000000")]),
            ("329,280&nbsp;million", &[("329,280&nbsp;million", "329280000000")]),
            ("329,280\u{a0}Million", &[("329,280\u{a0}Million", "329280000000")]),
            ("> 3\n> billion", &[("3\n> billion", "3000000000")]),
            ("a 7-billion-parameter model", &[("7-billion", "7000000000")]),
            ("**1.3**B tokens", &[("1.3**B", "1300000000")]),
            ("5*M", &[("5", "5")]),
            ("5 hundred thousand", &[("5 hundred thousand", "500000")]),
            ("half a dozen, a half-dozen seeds", &[("half a dozen", "6"), ("half-dozen", "6")]),
            ("a half million", &[("half million", "500000")]),
            ("half a percent", &[("half a percent", "1/200")]),
            (
                "half a percentage point, a quarter of a percent of it",
                &[("half a percentage point", "1/200"), ("a quarter of a percent", "1/400")],
            ),
            (
                "one and a half percent, two and a half points",
                &[("one and a half percent", "3/200"), ("two and a half", "5/2")],
            ),
            ("half a point, half of 6", &[("half", "1/2"), ("half", "1/2"), ("6", "6")]),
            ("6 dozen, a 6-fold gain", &[("6 dozen", "72"), ("6-fold", "6")]),
            ("１1.7 and 𝟏1.7 and ١", &[("１1.7", "117/10"), ("𝟏1.7", "117/10"), ("١", "1")]),
            ("1．７％", &[("1．７％", "17/1000")]),
            ("1.7\u{200b}095", &[("1.7\u{200b}095", "3419/2000")]),
            ("1.7<wbr>095 1.<b>5</b>", &[("1.7<wbr>095", "3419/2000"), ("1.<b>5", "3/2")]),
            ("10<sup>6</sup>", &[("10<sup>6", "1000000")]),
            ("&#49;&#x32;", &[("&#49;&#x32;", "12")]),
            ("6 000 in 6'050", &[("6 000", "6000"), ("6'050", "6050")]),
            ("minus 0.5, by negative 2", &[("minus 0.5", "-1/2"), ("negative 2", "-2")]),
            ("10⁶, 1e6", &[("10⁶", "1000000"), ("1e6", "1000000")]),
        ] {
            let found = items(text);
            let found: Vec<_> = std::iter::zip(&found, values(text))
                .map(|(item, value)| (item.text(text), value))
                .collect();
            let expected: Vec<_> =
                numbers.iter().map(|(number, value)| (*number, (*value).to_owned())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn signs_with_two_readings_are_unclear() {
        for (text, is_unclear) in [
            ("\u{202e}6107.1", true),
            ("~~1.72~~ is it", true),
            ("<del>1.72</del>", true),
            ("1.70² is it", true),
            ("6½ of it", true),
            ("1.70^1^ is it", false),
            ("a loss of 1,70", true),
            ("costs 1.234,56 euros", true),
            ("1,209,352", false),
            ("seeds (1,2)", false),
            ("x = [0.9,0.95]", false),
            ("1.702, 5", false),
            ("exp(1.70)", true),
            ("10⁶", false),
            ("6² epochs", true),
            ("329,280¹ of it", false),
            ("over ６ seeds", false),
        ] {
            assert_eq!(items(text)[0].is_unclear, is_unclear, "{text}");
        }
    }

    /// The values of the numbers of a text, in plain numbers.
    fn values(text: &str) -> Vec<String> {
        let value = |item: &QuoteItem| match &item.kind {
            ItemKind::Number(printed) | ItemKind::Spread(printed) => printed.in_ones().to_string(),
            ItemKind::Date(date) => date.clone(),
        };
        items(text).iter().map(value).collect()
    }

    #[test]
    fn the_ends_of_a_range_share_the_unit_of_the_second() {
        for (text, expected) in [
            ("by 0.9–22.9%", &["9/1000", "229/1000"][..]),
            ("by 0.9 to 22.9%", &["9/1000", "229/1000"]),
            ("by 0.9 and 22.9%, respectively", &["9/1000", "229/1000"]),
            ("by 9 and 22%", &["9", "11/50"]),
            ("between 20 and 25%", &["1/5", "1/4"]),
            ("2.5–4.0 million", &["2500000", "4000000"]),
            ("206/329k", &["206000", "329000"]),
            ("1% to 2%", &["1/100", "1/50"]),
            ("12-16 runs", &["12", "16"]),
            ("4.5 ± 0.2 B", &["4500000000", "200000000"]),
            (r"$1.702 \pm 1.3\times 10^{-2}$", &["851/500", "13/1000"]),
            ("206k-329k parameters", &["206000", "329000"]),
            ("1.2k-1.9k, 2x-3x", &["1200", "1900", "2", "3"]),
            ("7B-2 and 7B-0724, gpt2-124M, bf16-moe64", &["7000000000", "7000000000"]),
            ("gpt-124M-355M, v2k-3k", &[]),
            ("1.702(13)", &["851/500", "13/1000"]),
            ("[21.0, 31.8%]", &["21", "159/500"]),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn long_lines_take_little_time() {
        for part in ["1-", "$1 ", "1. ", "<b>1", "1±", "# 1", "      1,", "&nbsp;1", "x1", "a-1."]
        {
            let _ = items(&part.repeat(4_000));
        }
    }

    #[test]
    fn footnotes_and_names_are_no_numbers() {
        for text in [
            "top-2",
            "step-1209",
            "bf16",
            "loss[^1]",
            "loss^1^",
            "a zero-shot task",
            "a third run",
            "loss¹†",
        ] {
            assert_eq!(texts(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_spread_shares_the_unit() {
        let items = items("4.5 ± 0.2%");
        let ItemKind::Spread(spread) = &items[1].kind else { panic!("{items:?}") };
        assert_eq!(spread.unit(), repro_core::decimal::Unit::Percent);
    }

    proptest! {
        #[test]
        fn words_and_signs_never_panic(words in prop::collection::vec(prop::sample::select(vec![
            "a", "third", "of", "million", "two", "twenty", "-", " ", "10", "2", "^", "{", "}", "⁻³", "¹", "±", "$",
            "\\pm", "\\times", "%", "‰", "–", "to", "and", "between", "no", "seed", "above", "...", "(1)", "x", "1.5",
            "_", "'209", "&nbsp;", "or", "less", "~", "<b>", ">", "é", "/5 of ",
        ]), 0..12), spaced in any::<bool>()) {
            let text = words.join(if spaced { " " } else { "" });
            let mut last = 0;
            for item in items(&text) {
                prop_assert!(item.span.start >= last && item.span.end > item.span.start);
                prop_assert!(text.get(item.span.clone()).is_some());
                last = item.span.end;
            }
            let _ = unit_of_head(&text);
        }

        #[test]
        fn items_stand_apart_and_in_order(text in "[-+±a-cxkM%0-9., #_e²×\u{a0}]{0,40}") {
            let mut last = 0;
            for item in items(&text) {
                prop_assert!(item.span.start >= last && item.span.end > item.span.start);
                prop_assert!(text.get(item.span.clone()).is_some());
                last = item.span.end;
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = items(&text);
        }
    }
}
