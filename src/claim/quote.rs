//! The numbers of a text, in the order in which they stand there.
//!
//! A number is a run of digits that is not part of a name: `9536-step` holds one, `bf16`, `MoE-64`, `top-2`,
//! `#420`, `0003` and `10th` hold none, and neither does the `1. ` of a list or a footnote `[^1]`. Emphasis is no
//! name: `_1,209_` holds one, and so do `x9.4` and each side of `256x2048`. Numbers in words count too: `two` to
//! `ninety-nine`, `half`, `two thirds`, `twice`, `fivefold`, `a million`. Behind `±`, and in the brackets of
//! `1.702(13)`, stands a spread. A date is an item without a value.

mod abroad;
mod aloud;
mod clauses;
mod dates;
mod denials;
mod digests;
mod heads;
mod in_words;
mod one_of;
mod signs;
mod units;
mod words;
mod written;

use std::ops::Range;

use num_rational::BigRational;
use repro_exact::decimal::{Bound, Printed, Unit};

use aloud::Aloud;
pub use heads::{HeadUnit, unit_of_head, unit_of_row};
use written::Written;

/// A number of a text, or a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteItem {
    /// Where it stands in the text, in bytes, without the words before it.
    pub span: Range<usize>,
    /// What it is.
    pub kind: ItemKind,
    /// What the words around it say.
    pub hedge: Option<Hedge>,
    /// What the words around it leave open.
    pub doubt: Option<Doubt>,
    /// Another reading that is as good: `1.702 ± 0.8%` is no percentage if its spread is a share.
    pub other: Option<Printed>,
}

/// What an item of a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// A number.
    Number(Printed),
    /// The number behind `±`.
    Spread(Printed),
    /// A day, with or without a time, in figures: `2026-01-09`.
    Date(String),
}

/// What the words around a number make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hedge {
    /// It is near: "about", "roughly", `~`.
    About,
    /// It is a limit: "at least", `<`.
    Limit(Bound),
    /// It is a limit, or a count that something runs over: "over three seeds", "under two budgets".
    LimitOrCount(Bound),
    /// It is a limit, or a setting that is one itself: "norms above 1 are clipped".
    LimitOrSetting(Bound),
    /// It is what a difference starts from: "0.016 below 1.6516".
    Base(Bound),
    /// It is a limit, or what a difference starts from: "three seeds below 1.70".
    LimitOrBase(Bound),
    /// It limits the size of what it is said of, whatever its sign: "within 3%".
    Within,
    /// It is one end of a range: "between 1.70 and 1.71", "20–25%".
    End(Bound, RangeWords),
    /// Its digits are cut off, not rounded: "1.7167...".
    Cut,
    /// It is said to be exact: "exactly twice".
    Exactly,
}

/// How a range is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeWords {
    /// "between 1.70 and 1.71": its ends need not be reached.
    Between,
    /// `1.687–1.724`: its ends are mostly reached.
    Dash,
}

/// What cannot be read from the words around a number: where it decides, the verdict stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The words deny or compare, and how is not clear: nothing can be said at all.
    Meaning,
    /// The words compare in a way that is not known: the number is not refuted by them.
    Words,
    /// The words say that it lies a little below the number, or near it from above: "nearly 1.65".
    Below,
    /// The unit behind the number is not known, or not that of the evidence: `70 ms`.
    Unit,
    /// One is taken out of so many, and the evidence may give that one, or its share: "one seed of six".
    OneOf,
    /// Its signs are not read surely: digits in circles, another direction of writing, a power or a note.
    Signs,
}

impl QuoteItem {
    /// Its digits as they stand in the text.
    pub fn text<'a>(&self, of: &'a str) -> &'a str {
        of.get(self.span.clone()).unwrap_or_default()
    }

    /// Whether it is written in digits, and not in words.
    pub fn is_in_digits(&self, of: &str) -> bool {
        self.text(of).contains(|c: char| aloud::digit(c).is_some() || written::vulgar(c).is_some())
    }
}

/// Counts in words, from zero on without "one", which is a pronoun more often than a number.
const COUNTS: &[&str] = &[
    "zero",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const SPREADS: &[&str] = &["±", "+/-", "+-", "\\pm", "&plusmn;"];

/// The most bytes before and behind a number that are read for what they say of it: a text may be one line without
/// an end, and all numbers.
const NEAR: usize = 400;

/// The words before a place, as far as they matter to it.
fn before(text: &str, at: usize) -> &str {
    let start = (at.saturating_sub(NEAR)..=at).find(|start| text.is_char_boundary(*start));
    &text[start.unwrap_or(at)..at]
}

/// The words behind a place, as far as they matter to it.
fn behind(text: &str, at: usize) -> &str {
    let last = (at + NEAR).min(text.len());
    let end = (at..=last).rev().find(|end| text.is_char_boundary(*end));
    &text[at..end.unwrap_or(at)]
}

/// How many numbers a text may have, in digits and in words, without reading what stands around them.
pub fn count(text: &str) -> usize {
    let runs = text.split(|c: char| !c.is_numeric()).filter(|run| !run.is_empty());
    let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 2);
    runs.count() + words.filter(|word| in_words::may_be_one(word)).count()
}

/// The items of `text` in their order.
pub fn items(text: &str) -> Vec<QuoteItem> {
    let aloud = Aloud::of(text);
    let mut items = items_of(&aloud.text);
    for item in &mut items {
        item.span = aloud.original(&item.span);
        if aloud.is_unsure(&item.span) {
            item.doubt = Some(Doubt::Signs);
        }
    }
    without_counters(text, items)
}

/// The items without the marks of a list that counts ①, ②, ③.
fn without_counters(text: &str, mut items: Vec<QuoteItem>) -> Vec<QuoteItem> {
    let mut last = 0;
    items.retain(|item| {
        let Some(number) = aloud::ornament(item.text(text)) else { return true };
        let counts = number == 1 || number == last + 1;
        if counts {
            last = number;
        }
        !counts
    });
    items
}

/// The items of a text as it is read aloud.
fn items_of(text: &str) -> Vec<QuoteItem> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(here) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let next = at + here.len_utf8();
        let is_part = written::vulgar(here).is_some() && is_boundary_before(text, at);
        if here.is_ascii_digit() || is_part || (here == '.' && starts_with_digit(text, next)) {
            at = read_digits(text, at, &mut found);
        } else if here == '\\' {
            // A command of TeX ends with its letters: `\approx20` holds a number.
            at = next + run(&text[next..], |c| c.is_ascii_alphabetic());
        } else if here.is_ascii_alphabetic() && starts_word(text, at) {
            at = read_word(text, at, &mut found);
        } else {
            at = next;
        }
    }
    read_ranges(text, &mut found);
    found.iter_mut().for_each(|found| found.may_have_a_unit_that_leads(text));
    found.iter_mut().for_each(|found| found.may_be_of_one(text));
    found.into_iter().map(|found| found.item).collect()
}

/// An item with how its number is written.
struct Found {
    item: QuoteItem,
    written: Option<Written>,
}

impl Found {
    fn number(text: &str, written: Written) -> Self {
        let (hedge, doubt) =
            words::said(before(text, written.span.start), behind(text, written.span.end));
        let has_other_unit =
            written.has_unknown_unit || units::stands_behind(behind(text, written.span.end));
        let is_unsure = written.may_be_a_power(text)
            || signs::are_part_of_a_formula(text, &written.span)
            || abroad::may_have_a_decimal_comma(text, &written.span);
        let doubt = match doubt {
            _ if is_unsure => Some(Doubt::Signs),
            Some(Doubt::Meaning) => doubt,
            _ if has_other_unit => Some(Doubt::Unit),
            _ => doubt,
        };
        let kind = ItemKind::Number(written.printed.clone());
        let item = QuoteItem { span: written.span.clone(), kind, hedge, doubt, other: None };
        Self { item, written: Some(written) }
    }

    /// Takes the number in a unit that stands before its list as another reading: "Tokens, in millions: 0.72".
    fn may_have_a_unit_that_leads(&mut self, text: &str) {
        let ItemKind::Number(printed) = &self.item.kind else { return };
        let is_plain = printed.unit() == Unit::Plain
            && self.written.as_ref().is_some_and(|written| written.scale.is_none());
        if !is_plain || self.item.other.is_some() || is_limit(self.item.hedge) {
            return;
        }
        let lead = units::that_leads(before(text, self.item.span.start));
        let shown = printed.text().to_owned();
        let in_it = |(factor, unit)| printed.clone().times(&factor).in_unit(unit).shown_as(&shown);
        self.item.other = lead.map(in_it);
    }

    /// Takes the share as another reading where one is taken out of the number: "one item in four".
    fn may_be_of_one(&mut self, text: &str) {
        let ItemKind::Number(printed) = &self.item.kind else { return };
        let is_count = printed.is_integer_text()
            && printed.unit() == Unit::Plain
            && *printed.value() >= BigRational::from_integer(2.into());
        let taken = one_of::taken(text, self.item.span.start).filter(|_| is_count);
        let Some(taken) = taken else { return };
        if taken == one_of::Taken::Share && self.item.hedge.is_none() && self.item.other.is_none() {
            let share = printed.value().recip();
            self.item.other = Some(Printed::in_words(printed.text(), share, Unit::Plain));
        }
        self.item.doubt = self.item.doubt.or(Some(Doubt::OneOf));
    }

    fn other(span: Range<usize>, kind: ItemKind) -> Self {
        let item = QuoteItem { span, kind, hedge: None, doubt: None, other: None };
        Self { item, written: None }
    }
}

/// Reads a date, and returns where reading goes on.
fn read_date(text: &str, at: usize, found: &mut Vec<Found>) -> Option<usize> {
    let date = dates::read(text, at)?;
    let end = date.span.end;
    found.push(Found::other(date.span, ItemKind::Date(date.standard)));
    Some(end)
}

/// Reads the word at `at`, and returns where reading goes on.
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
    // `x9.4` is so many times.
    let times = word.strip_prefix('x').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if times && word.len() > 1 && text[end..].starts_with('.') && starts_with_digit(text, end + 1) {
        return at + 1;
    }
    // `v0.1` goes on behind its dot; a sentence does not.
    let is_name = word.contains(|c: char| c.is_ascii_digit());
    if is_name { name_end(text, end) } else { end }
}

/// Reads what begins with the digit at `at`, and returns where reading goes on.
fn read_digits(text: &str, at: usize, found: &mut Vec<Found>) -> usize {
    if let Some(end) = read_date(text, at, found) {
        return end;
    }
    let digits_end = at + run(&text[at..], |c| c.is_ascii_digit());
    if let Some((span, printed)) = abroad::read(text, at) {
        let end = span.end;
        let mut whole = Found::other(span, ItemKind::Number(printed));
        whole.item.doubt = Some(Doubt::Signs);
        found.push(whole);
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
    if let Some((end, part)) = one_of(text, &written) {
        found.push(Found { item: part, written: None });
        return end;
    }
    let is_cut = is_cut_off(text, &written);
    found.push(Found::number(text, written));
    if let Some(last) = found.last_mut()
        && is_cut
        && last.item.hedge.is_none()
    {
        last.item.hedge = Some(Hedge::Cut);
    }
    end
}

/// Reads a number with its spread: `4.5 ± 0.2%` shares its unit, `1.702(13)` its last digits.
fn read_spread(text: &str, main: &Written, found: &mut Vec<Found>) -> Option<usize> {
    if let Some(spread) = main.in_last_digits(text) {
        let (span, end) = (spread.span.clone(), spread.span.end + 1);
        let main = Written {
            printed: main.printed.clone().with_spread(spread.printed.clone()),
            ..main.clone()
        };
        found.push(Found::number(text, main));
        found.push(Found::other(span, ItemKind::Spread(spread.printed)));
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

/// `1/5 of the steps`, "1 in 5".
fn one_of(text: &str, top: &Written) -> Option<(usize, QuoteItem)> {
    let rest = &text[top.span.end..];
    let slash = rest.strip_prefix('/');
    let share = || {
        let rest =
            ["in ", "out of "].iter().find_map(|word| rest.strip_prefix(' ')?.strip_prefix(word));
        rest.filter(|_| {
            top.printed.text() == "1" && words::states_a_share(before(text, top.span.start))
        })
    };
    let rest = slash.or_else(share)?;
    let digits = run(rest, |c| c.is_ascii_digit());
    let bottom: u32 = rest[..digits].parse().ok().filter(|bottom| (2..=100).contains(bottom))?;
    let end = text.len() - rest.len() + digits;
    let is_part = *top.printed.value() < BigRational::from_integer(bottom.into());
    let goes_on =
        || [" of ", " is ", " are ", " was "].iter().any(|word| text[end..].starts_with(word));
    let is_whole = top.printed.is_integer_text() && top.printed.unit() == Unit::Plain;
    let is_share =
        is_whole && is_part && is_boundary(text, end) && !starts_with_digit(text, end + 1);
    (is_share && (slash.is_none() || goes_on())).then_some(())?;
    let span = top.span.start..end;
    let value = top.printed.value() / BigRational::from_integer(bottom.into());
    let printed = Printed::in_words(&text[span.clone()], value, Unit::Plain);
    let written = Written { span, printed, scale: None, has_unknown_unit: false };
    Some((end, Found::number(text, written).item))
}

/// Whether the digits go on: `1.7167...`, `1.716…`.
fn is_cut_off(text: &str, written: &Written) -> bool {
    let rest = &text[written.span.end..];
    let dots = ["…", "...", "\\ldots", "\\dots"].iter().find_map(|dots| rest.strip_prefix(dots));
    text[written.span.clone()].contains('.')
        && dots.is_some_and(|rest| !rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// Ranges: their ends share the unit of the last, and what limits the whole. The last unit of a list may be that of all
/// its numbers.
fn read_ranges(text: &str, found: &mut [Found]) {
    for at in (1..found.len()).rev() {
        let [.., first, second] = &mut found[..=at] else { return };
        let (Some(low), Some(high)) = (first.written.clone(), second.written.clone()) else {
            continue;
        };
        let Some(between) = text.get(low.span.end..high.span.start) else { continue };
        let (before, after) = (before(text, low.span.start), behind(text, high.span.end));
        let Some(range) = Joint::of(before, between, after) else { continue };
        let shared = low.sharing(&high);
        let may_share = shared.printed.value() != low.printed.value()
            || shared.printed.unit() != low.printed.unit();
        if second.item.doubt == Some(Doubt::Unit) && low.printed.unit() == Unit::Plain {
            first.item.doubt =
                first.item.doubt.filter(|doubt| *doubt == Doubt::Meaning).or(Some(Doubt::Unit));
        }
        if range.shares {
            first.item.kind = ItemKind::Number(shared.printed.clone());
            first.written = Some(shared);
            first.item.other =
                first.item.other.take().or(second.item.other.clone().map(|_| low.printed));
        } else if may_share && range.words.is_none() && !is_limit(first.item.hedge) {
            first.item.other = Some(shared.printed.clone());
            first.written = Some(shared);
        }
        let Some(words) = range.words else { continue };
        mark_ends(&mut first.item, &mut second.item, words);
    }
}

/// Whether the words around a number make it a limit.
fn is_limit(hedge: Option<Hedge>) -> bool {
    !matches!(hedge, None | Some(Hedge::About | Hedge::Cut | Hedge::Exactly))
}

/// What two numbers and the words between them are.
struct Joint {
    /// Whether the unit of the second is the unit of the first.
    shares: bool,
    /// How the range is written, if it is one.
    words: Option<RangeWords>,
}

/// Words before a range in which something lies.
const CONTAINERS: &[&str] = &[
    "∈",
    "\\in",
    " in",
    "in the range",
    "inside",
    "into",
    "interval",
    "range",
    "within",
    "the window",
];
/// Verbs for lying in something.
const LIES: &[&str] =
    &["fall", "falls", "fell", "lie", "lies", "lay", "stay", "stays", "stayed", "are", "is"];

/// The last bytes of a text, as many as the words before a range take.
fn near_end(text: &str) -> &str {
    const NEAR: usize = 200;
    let start =
        (text.len().saturating_sub(NEAR)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(text.len())..]
}

impl Joint {
    fn of(before: &str, between: &str, after: &str) -> Option<Self> {
        let near = near_end(before.trim_end().trim_end_matches(['$', '*']));
        let before = near.to_ascii_lowercase();
        let joint = between.trim_matches(|c: char| c.is_whitespace() || "$*{}".contains(c));
        let bare = before.trim_end_matches(['[', '(', ']', ' ']);
        let bare = bare.trim_end_matches(" of").trim_end_matches(" from");
        let is_in = CONTAINERS.iter().any(|word| bare.ends_with(word));
        let is_bracket = is_in && before.ends_with(['[', '(', ']']);
        let is_between = before.ends_with("between");
        // "In 12-16 runs" says how many, and "in the range 1.68–1.73" where.
        let lies = || {
            let verb =
                bare.strip_suffix(" in").and_then(|head| head.split_whitespace().next_back());
            verb.is_some_and(|verb| LIES.contains(&verb))
        };
        let is_inside = is_bracket || is_in && (!bare.ends_with(" in") || lies());
        let range = match is_inside || is_between {
            true => RangeWords::Between,
            false => RangeWords::Dash,
        };
        let respectively = after.trim_start_matches([',', ' ']).starts_with("respectively");
        let (shares, words) = match joint {
            "-" | "–" | "—" | "--" | "\u{2011}" | "‐" => (true, Some(range)),
            "to" => (true, is_inside.then_some(range)),
            "/" => (true, None),
            "and" if is_between || is_inside => (true, Some(range)),
            "and" | "or" => (respectively, None),
            "," if is_bracket => (false, Some(range)),
            // The ends of `[21.0, 31.8%]` have units of their own.
            "," if before.ends_with(['[', '(']) => return None,
            "," | ", and" | ", or" | "vs." | "vs" | "versus" | "against" | "→" | "->" => {
                (false, None)
            }
            _ => return None,
        };
        Some(Self { shares, words })
    }
}

/// Marks two numbers as the ends of a range, the lower one first or last.
fn mark_ends(first: &mut QuoteItem, second: &mut QuoteItem, words: RangeWords) {
    let (ItemKind::Number(one), ItemKind::Number(other)) = (&first.kind, &second.kind) else {
        return;
    };
    let bounds = match one.value() <= other.value() {
        true => [Bound::AtLeast, Bound::AtMost],
        false => [Bound::AtMost, Bound::AtLeast],
    };
    let doubt = match first.hedge {
        // "Within 1.68 to 1.73" is no limit of a size.
        Some(Hedge::Within) if words == RangeWords::Between => None,
        Some(Hedge::Limit(_) | Hedge::Within | Hedge::About) => Some(Doubt::Words),
        _ => first.doubt.filter(|doubt| *doubt == Doubt::Meaning),
    };
    for (item, bound) in std::iter::zip([first, second], bounds) {
        // "About 20–25%" is about both.
        if doubt.is_none() || item.hedge != Some(Hedge::About) {
            item.hedge = Some(Hedge::End(bound, words));
        }
        let keeps = |doubt: &Doubt| matches!(doubt, Doubt::Unit | Doubt::Signs | Doubt::Meaning);
        item.doubt = item.doubt.filter(keeps).or(doubt);
    }
}

/// Where the number behind `±` begins, if it comes next.
fn spread_start(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].trim_start_matches(['$', ' ', '\u{a0}', '\u{2009}', '\u{202f}']);
    let rest = SPREADS.iter().find_map(|sign| rest.strip_prefix(sign))?;
    let at = text.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '$').len();
    starts_with_digit(text, at).then_some(at)
}

/// Takes the number before a suffix of bytes or operations as another reading: the author of an expression may have divided
/// by it. Other suffixes belong to the number.
pub fn may_lack_bytes(item: &mut QuoteItem) {
    let ItemKind::Number(printed) = &item.kind else { return };
    let digits = printed.text().trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace());
    let suffix = printed.text()[digits.len()..].trim_start();
    let is_unit = suffix.ends_with('B') || written::is_of_operations(suffix);
    if item.other.is_none() && suffix.len() > 1 && is_unit {
        item.other = Printed::parse(digits).ok().map(|plain| plain.shown_as(printed.text()));
    }
}

/// The text with its numbers in the unit that stands elsewhere: in the head of the column.
pub fn in_unit(item: &mut QuoteItem, factor: &BigRational, unit: Unit) {
    let (ItemKind::Number(printed) | ItemKind::Spread(printed)) = &mut item.kind else { return };
    // A suffix or a unit of its own is nearer.
    let has_own = printed.unit() != Unit::Plain
        || printed.text().contains(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E' | 'x'));
    if has_own {
        return;
    }
    let plain = printed.clone();
    let text = plain.text().to_owned();
    *printed = plain.clone().times(factor).in_unit(unit).shown_as(&text);
    item.other = Some(plain);
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

/// Whether the digits at `at` go on a name: `bf16`, `MoE-64`, `#420`, `v0.1`.
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
        // `256x2048` is a product, `x9.4` so many times; `0x10` is a name.
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
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .any(|ending| rest.starts_with(ending) && is_boundary(rest, ending.len()));
    let version = rest.starts_with('.') && digits.contains('.') && starts_with_digit(rest, 1);
    (whole && digits.starts_with('0')) || ordinal || version
}

/// Whether digits count the entries of a list or the sections of a text: `1. ` at the start of a line.
fn is_a_list_mark(before: &str, rest: &str) -> bool {
    let line = before.trim_end_matches(|c: char| c != '\n' && c.is_whitespace() || c == '#');
    let starts = line.is_empty() || line.ends_with('\n');
    starts && rest.strip_prefix(['.', ')']).is_some_and(|rest| rest.starts_with(' '))
}

/// Whether no word goes on at `at`.
fn is_boundary(text: &str, at: usize) -> bool {
    !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether no word ends at `at`.
fn is_boundary_before(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether a word begins at `at`.
fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Where the word at `at` ends.
fn word_end(text: &str, at: usize) -> usize {
    at + run(&text[at..], |c| c.is_alphanumeric() || c == '_')
}

/// Where a name that goes on at `at` ends; dots and dashes inside it belong to it.
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

/// The length in bytes of the characters at the start that fit.
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
            ("① of 2 ② and ③ of ⑨", &[("2", "2"), ("⑨", "9")]),
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
            ("6½ of ¾", &[("6½", "13/2"), ("¾", "3/4")]),
            ("１1.7 and 𝟏1.7 and ١", &[("１1.7", "117/10"), ("𝟏1.7", "117/10"), ("١", "1")]),
            ("1．７％", &[("1．７％", "17/1000")]),
            ("1.7\u{200b}095", &[("1.7\u{200b}095", "3419/2000")]),
            ("1.7<wbr>095 1.<b>5</b>", &[("1.7<wbr>095", "3419/2000"), ("1.<b>5", "3/2")]),
            ("1.**70**16", &[("1.**70**16", "2127/1250")]),
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
    fn signs_that_may_be_read_otherwise_are_doubted() {
        for (text, doubt) in [
            ("⑨⑨ runs", Some(Doubt::Signs)),
            ("⑨ runs", Some(Doubt::Signs)),
            ("6² epochs", Some(Doubt::Signs)),
            ("\u{202e}6107.1", Some(Doubt::Signs)),
            ("~~1.72~~ is it", Some(Doubt::Meaning)),
            ("<del>1.72</del>", Some(Doubt::Meaning)),
            ("1.70² is it", Some(Doubt::Signs)),
            ("1.70^1^ is it", None),
            ("1.7016 (base two)", Some(Doubt::Signs)),
            ("1.7016 (base models)", None),
            ("1.7016'000", Some(Doubt::Signs)),
            ("exp(1.70)", Some(Doubt::Signs)),
            ("10⁶", None),
            ("over ６ seeds", None),
        ] {
            assert_eq!(items(text)[0].doubt, doubt, "{text}");
        }
    }

    #[test]
    fn words_before_a_number_are_read() {
        for (text, hedge) in [
            ("about twice", Some(Hedge::About)),
            ("~3", Some(Hedge::About)),
            ("at least 0.5", Some(Hedge::Limit(Bound::AtLeast))),
            ("p < 0.01", Some(Hedge::Limit(Bound::Below))),
            ("sub-25M", Some(Hedge::Limit(Bound::Below))),
            (r"x\approx20", Some(Hedge::About)),
            ("up to 7x", Some(Hedge::Limit(Bound::AtMost))),
            ("over three seeds", Some(Hedge::LimitOrCount(Bound::Above))),
            ("the cover 3", None),
            ("is 3", None),
        ] {
            let items = items(text);
            assert_eq!(items.first().map(|item| item.hedge), Some(hedge), "{text}");
        }
    }

    /// The values of the numbers of a text, in plain numbers.
    fn values(text: &str) -> Vec<String> {
        let value = |item: &QuoteItem| match &item.kind {
            ItemKind::Number(printed) | ItemKind::Spread(printed) => {
                (printed.value() / printed.unit().per_one()).to_string()
            }
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
    fn words_far_away_say_nothing_and_long_lines_take_little_time() {
        let hedge = |spaces: usize| items(&format!("about{}3", " ".repeat(spaces)))[0].hedge;
        assert_eq!((hedge(NEAR - 5), hedge(NEAR - 4)), (Some(Hedge::About), None));
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
        assert_eq!(spread.unit(), repro_exact::decimal::Unit::Percent);
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
