//! What the words around a number make of it: about, a limit, the base of a difference, or nothing that is known.
//!
//! Words are tables, and the nearest to the number counts. What is negated in a way that the tables do not
//! know is a [`Doubt`]: no limit is guessed.

use repro_exact::decimal::Bound;

use super::clauses::{
    clause_text, ends_word, is_amount, without_marks, without_word, word_at, words_of,
};
use super::denials::{denial, denied_behind, is_denied, negation};
use super::{Doubt, Hedge};

const ABOVE: Hedge = Hedge::Limit(Bound::Above);
const BELOW: Hedge = Hedge::Limit(Bound::Below);
const AT_LEAST: Hedge = Hedge::Limit(Bound::AtLeast);
const AT_MOST: Hedge = Hedge::Limit(Bound::AtMost);

/// Signs before a number; longer ones stand before those that they end with.
const SIGNS: &[(&str, Hedge)] = &[
    ("~", Hedge::About),
    ("≈", Hedge::About),
    ("∼", Hedge::About),
    ("≃", Hedge::About),
    ("≅", Hedge::About),
    ("\\sim", Hedge::About),
    ("\\simeq", Hedge::About),
    ("\\approx", Hedge::About),
    (">=", AT_LEAST),
    ("≥", AT_LEAST),
    ("⩾", AT_LEAST),
    ("\\geq", AT_LEAST),
    ("\\ge", AT_LEAST),
    ("\\geqslant", AT_LEAST),
    ("&ge;", AT_LEAST),
    ("<=", AT_MOST),
    ("≤", AT_MOST),
    ("⩽", AT_MOST),
    ("\\leq", AT_MOST),
    ("\\le", AT_MOST),
    ("\\leqslant", AT_MOST),
    ("&le;", AT_MOST),
    (">", ABOVE),
    ("&gt;", ABOVE),
    ("\\gt", ABOVE),
    ("<", BELOW),
    ("&lt;", BELOW),
    ("\\lt", BELOW),
    ("sub-", BELOW),
];

/// Signs that compare or deny in a way that is not read.
const UNREAD_SIGNS: &[&str] = &[
    "≪",
    "≫",
    "⋘",
    "⋙",
    "≲",
    "≳",
    "⪅",
    "⪆",
    "≠",
    "≢",
    "≉",
    "≮",
    "≯",
    "≰",
    "≱",
    "∉",
    "!=",
    "=/=",
    "<>",
    "<<",
    ">>",
    "\\ll",
    "\\gg",
    "\\lesssim",
    "\\gtrsim",
    "\\ne",
    "\\neq",
    "\\not=",
    "\\nless",
    "\\ngtr",
    "\\nleq",
    "\\ngeq",
    "&ne;",
    "&lt;&lt;",
    "&gt;&gt;",
    "&lt;&gt;",
];
/// Words that say "about", from below.
const FROM_BELOW: &[&str] = &["nearly", "almost"];

/// Words before a number; longer ones stand before those that they end with.
const HEDGES: &[(&str, Hedge)] = &[
    ("about", Hedge::About),
    ("approximately", Hedge::About),
    ("approx.", Hedge::About),
    ("approx", Hedge::About),
    ("around", Hedge::About),
    ("roughly", Hedge::About),
    ("nearly", Hedge::About),
    ("almost", Hedge::About),
    ("some", Hedge::About),
    ("c.", Hedge::About),
    ("ca.", Hedge::About),
    ("ca", Hedge::About),
    ("circa", Hedge::About),
    ("close to", Hedge::About),
    ("in the region of", Hedge::About),
    ("within", Hedge::Within),
    ("exactly", Hedge::Exactly),
    ("precisely", Hedge::Exactly),
    ("at least", AT_LEAST),
    ("a minimum of", AT_LEAST),
    ("at most", AT_MOST),
    ("a maximum of", AT_MOST),
    ("up to", AT_MOST),
    ("just over", ABOVE),
    ("a little over", ABOVE),
    ("slightly over", ABOVE),
    ("well over", ABOVE),
    ("just under", BELOW),
    ("a little under", BELOW),
    ("slightly under", BELOW),
    ("well under", BELOW),
    ("above", Hedge::LimitOrSetting(Bound::Above)),
    ("below", Hedge::LimitOrSetting(Bound::Below)),
    ("over", Hedge::LimitOrCount(Bound::Above)),
    ("under", Hedge::LimitOrCount(Bound::Below)),
    ("more than", ABOVE),
    ("higher than", ABOVE),
    ("greater than", ABOVE),
    ("larger than", ABOVE),
    ("bigger than", ABOVE),
    ("longer than", ABOVE),
    ("upwards of", ABOVE),
    ("north of", ABOVE),
    ("in excess of", ABOVE),
    ("exceeds", ABOVE),
    ("exceed", ABOVE),
    ("exceeded", ABOVE),
    ("exceeding", ABOVE),
    ("less than", BELOW),
    ("fewer than", BELOW),
    ("lower than", BELOW),
    ("smaller than", BELOW),
    ("shorter than", BELOW),
];

/// Words behind a number.
const BEHIND: &[(&str, Hedge)] = &[
    ("or so", Hedge::About),
    ("or thereabouts", Hedge::About),
    ("or less", AT_MOST),
    ("or fewer", AT_MOST),
    ("or below", AT_MOST),
    ("or lower", AT_MOST),
    ("or under", AT_MOST),
    ("at most", AT_MOST),
    ("or more", AT_LEAST),
    ("or above", AT_LEAST),
    ("or higher", AT_LEAST),
    ("or greater", AT_LEAST),
    ("or over", AT_LEAST),
    ("at least", AT_LEAST),
];

/// Words behind "or less" that leave it a limit.
const GOES_ON: &[&str] = &[
    "and",
    "are",
    "at",
    "bits",
    "experts",
    "for",
    "in",
    "is",
    "layers",
    "nats",
    "of",
    "on",
    "parameters",
    "runs",
    "seconds",
    "seeds",
    "steps",
    "tokens",
    "was",
    "were",
    "with",
];
/// What measures, so that "over" before its number is a limit and no count of what something runs over.
const MEASURES: &[&str] =
    &["bits", "hours", "minutes", "nats", "percent", "percentage", "points", "seconds", "times"];
/// Words that compare, where no table says how.
const COMPARES: &[&str] = &[
    "above",
    "at least",
    "at most",
    "below",
    "beneath",
    "between",
    "beyond",
    "exceed",
    "exceeding",
    "exceeds",
    "outside",
    "over",
    "than",
    "under",
    "up to",
    "within",
    "order of",
];
/// Units between a number and "below": "0.0160 nats below 1.6516".
const UNIT_WORDS: &[&str] = &[
    "bits",
    "hours",
    "minutes",
    "nats",
    "percent",
    "cent",
    "point",
    "points",
    "pp",
    "seconds",
    "steps",
    "times",
    "tokens",
    "parameters",
];
/// What something does over a base: "improves over 1.717".
const GAINS: &[&str] = &[
    "advantage",
    "gain",
    "gains",
    "improve",
    "improved",
    "improvement",
    "improvements",
    "improves",
    "improving",
    "reduction",
];
/// What says how far: "0.9% well below 1.717".
const DEGREES: &[&str] = &["far", "just", "slightly", "well"];

/// What the words before and behind a number say.
pub(super) fn said(before: &str, after: &str) -> (Option<Hedge>, Option<Doubt>) {
    let head = without_marks(before);
    let paragraph = before.rsplit("\n\n").next().unwrap_or_default();
    if paragraph.matches("~~").count() % 2 == 1 {
        // It is crossed out.
        return (None, Some(Doubt::Meaning));
    }
    let lower = head.to_ascii_lowercase();
    if ends_with_unread_sign(&lower) {
        return (None, Some(Doubt::Meaning));
    }
    if let Some((hedge, _)) = sign_at_end(&lower) {
        let doubt = denied_behind(after).filter(|doubt| *doubt == Doubt::Meaning);
        return (Some(hedge), doubt);
    }
    let found = HEDGES.iter().find_map(|(word, hedge)| Some((*hedge, without_word(&lower, word)?)));
    if let Some((hedge, rest)) = found {
        let (hedge, doubt) = settled(measured(hedge, after), rest);
        let doubt = doubt.or_else(|| denied_behind(after).filter(|doubt| *doubt == Doubt::Meaning));
        let is_below = FROM_BELOW.iter().any(|word| without_word(&lower, word).is_some());
        return (hedge, doubt.or(is_below.then_some(Doubt::Below)));
    }
    if let Some((hedge, is_clear)) = behind(after) {
        let is_open = !is_clear || negation(&lower);
        return (Some(hedge), is_open.then_some(Doubt::Meaning));
    }
    (None, plain_doubt(&lower).or_else(|| denied_behind(after)))
}

/// Whether "1 in 5" behind these words is a share, and no "arm 1 in 5 runs".
pub(super) fn states_a_share(before: &str) -> bool {
    const LEADS: &[&str] = &[
        "about", "almost", "at", "by", "exactly", "is", "just", "nearly", "of", "only", "roughly",
        "than", "to", "was", "are", "were", "least", "most", "to", "for",
    ];
    let before = without_marks(before);
    let last = before.split_whitespace().last().unwrap_or_default().to_ascii_lowercase();
    last.is_empty()
        || last.ends_with(['.', ':', ',', '(', '~', '≈'])
        || LEADS.contains(&last.as_str())
}

/// Whether a sign that is not read stands at the end; marks of quotations are none.
fn ends_with_unread_sign(text: &str) -> bool {
    UNREAD_SIGNS.iter().filter_map(|sign| text.strip_suffix(sign)).any(|rest| {
        let line = rest.rsplit('\n').next().unwrap_or_default();
        !line.trim_matches(|c: char| c.is_whitespace() || c == '>').is_empty()
            || !text.ends_with('>')
    })
}

/// "Over nine times as many" is a limit: nothing runs over times.
fn measured(hedge: Hedge, after: &str) -> Hedge {
    let word = word_at(after.trim_start_matches(['-', ' ', '\u{a0}', '\n'])).to_ascii_lowercase();
    match hedge {
        Hedge::LimitOrCount(bound) if MEASURES.contains(&word.as_str()) => Hedge::Limit(bound),
        other => other,
    }
}

/// A hedge in the light of the words before it.
fn settled(hedge: Hedge, rest: &str) -> (Option<Hedge>, Option<Doubt>) {
    let bound = match hedge {
        Hedge::About => {
            // "No more than about 1200" says nothing exact on either side.
            let limited = HEDGES.iter().any(|(word, _)| without_word(rest, word).is_some());
            return (Some(hedge), limited.then_some(Doubt::Words));
        }
        Hedge::Limit(bound) | Hedge::LimitOrCount(bound) | Hedge::LimitOrSetting(bound) => bound,
        other => return (Some(other), negation(rest).then_some(Doubt::Meaning)),
    };
    if is_denied(rest) {
        return (Some(Hedge::Limit(opposite(bound))), None);
    }
    if negation(rest) {
        return (Some(hedge), Some(Doubt::Meaning));
    }
    match base(rest) {
        Some(true) => (Some(Hedge::Base(bound)), None),
        Some(false) => (Some(Hedge::LimitOrBase(bound)), None),
        None => (Some(hedge), None),
    }
}

/// The sign at the end, unless it closes markup or is the head of an arrow.
fn sign_at_end(text: &str) -> Option<(Hedge, &str)> {
    let (sign, hedge) = SIGNS.iter().find(|(sign, _)| {
        text.strip_suffix(sign)
            .is_some_and(|rest| sign.len() > 4 || !sign.starts_with('\\') || !rest.ends_with('\\'))
    })?;
    let rest = text.strip_suffix(sign)?;
    let is_arrow = *sign == ">" && rest.ends_with(['-', '=', '–', '—', '|']);
    (!is_arrow).then_some((*hedge, rest))
}

fn opposite(bound: Bound) -> Bound {
    match bound {
        Bound::Above => Bound::AtMost,
        Bound::AtLeast => Bound::Below,
        Bound::Below => Bound::AtLeast,
        Bound::AtMost => Bound::Above,
    }
}

/// Whether a comparison behind these words takes its number as a base: surely where a number or a gain
/// stands before it (true), perhaps where a number and a noun do (false).
fn base(rest: &str) -> Option<bool> {
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    while words.last().is_some_and(|word| DEGREES.contains(word)) {
        words.pop();
    }
    let last = *words.last()?;
    if GAINS.contains(&last) || is_amount(last) {
        return Some(true);
    }
    let number = words.len().checked_sub(2).and_then(|at| words.get(at))?;
    if !is_amount(number) || last.ends_with([',', '.', ';', ':', ')']) {
        return None;
    }
    Some(UNIT_WORDS.contains(&last))
}

/// What words behind a number say of it, directly or behind its noun, "1200 steps or so", and whether the
/// words behind them leave it so.
fn behind(after: &str) -> Option<(Hedge, bool)> {
    let lower: String = after.chars().take(40).collect::<String>().to_ascii_lowercase();
    let glued = lower.trim_start_matches('-');
    if glued.strip_prefix("ish").is_some_and(ends_word) {
        return Some((Hedge::About, true));
    }
    if lower.strip_prefix('+').is_some_and(|rest| {
        rest.is_empty() || rest.starts_with([' ', ',', ')', '.', ';', '*', '$'])
    }) && !lower.trim_start_matches(['+', ' ']).starts_with(|c: char| c.is_ascii_digit())
    {
        return Some((AT_LEAST, true));
    }
    let mut rest = lower.trim_start_matches(['$', '*', '_', '`']);
    for _ in 0..3 {
        rest = rest.trim_start();
        let found = BEHIND.iter().find_map(|(word, hedge)| {
            let rest = rest.strip_prefix(word).filter(|rest| ends_word(rest))?;
            Some((*hedge, rest.trim_start()))
        });
        if let Some((hedge, rest)) = found {
            // "1.70 or more than", "1.70 at least 5": of the next number.
            let next = matches!(word_at(rest), "than" | "once" | "twice" | "one" | "two" | "three")
                || rest.starts_with(|c: char| c.is_ascii_digit());
            let word = word_at(rest);
            let is_clear = word.is_empty() || hedge == Hedge::About || GOES_ON.contains(&word);
            return (!next).then_some((hedge, is_clear));
        }
        let end = rest.find(|c: char| !c.is_alphabetic())?;
        if end == 0 || matches!(&rest[..end], "and" | "but" | "or") {
            return None;
        }
        rest = &rest[end..];
        if !rest.starts_with(' ') {
            return None;
        }
    }
    None
}

/// What stands near a number that no table reads.
fn plain_doubt(before: &str) -> Option<Doubt> {
    let clause = clause_text(before);
    if before.ends_with(')') {
        return None;
    }
    if let Some(doubt) = denial(&clause) {
        return Some(doubt);
    }
    let words = words_of(&clause);
    if before.ends_with([',', '(']) {
        return None;
    }
    let last = *words.last()?;
    let near = before.trim_end();
    let compares = |text: &str| COMPARES.iter().any(|word| without_word(text, word).is_some());
    if without_word(near, "between").is_some() {
        // What is between two numbers is read as a range; of one number it says nothing.
        return Some(Doubt::Words);
    }
    if let [.., "as", _, "as"] = words.as_slice() {
        return Some(Doubt::Words);
    }
    if compares(near) {
        // "0.9% better than 1.717" has a base; what "better than" limits is not known.
        let rest = without_word(near, "than").unwrap_or_default().trim_end();
        let rest = rest.rsplit_once(char::is_whitespace).map_or("", |(rest, _)| rest);
        return (base(rest) != Some(true)).then_some(Doubt::Meaning);
    }
    let without_last = near.strip_suffix(last).unwrap_or(near);
    compares(without_last).then_some(Doubt::Words)
}
