//! What words near a number leave open where it would be refuted: a denial, a word that makes a limit of it, a verb for
//! getting there, a part of a longer number in words. Only what is understood is refuted.

use repro_claim::quote::{self, Hedge, QuoteItem};

use super::about::Words;
use super::about::quantities::Better;
use super::plain;

/// Words that deny something in their sentence.
const DENIALS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "neither",
    "nor",
    "nowhere",
    "nothing",
    "nobody",
    "without",
    "cannot",
    "zero",
    "hardly",
    "barely",
    "scarcely",
    "few",
    "fail",
    "fails",
    "failed",
    "failing",
    "miss",
    "misses",
    "missed",
    "lack",
    "lacks",
    "avoid",
    "avoids",
    "avoided",
    "prevent",
    "prevents",
    "rule",
    "rules",
    "ruled",
    "absent",
    "absence",
    "free",
    "violates",
    "violate",
    "violated",
    "short",
    "impossible",
    "wrong",
    "false",
    "untrue",
    "overstatement",
    "exaggeration",
    "deny",
    "denies",
    "refute",
    "refutes",
    "insignificant",
    "unable",
    "outside",
    "lacking",
    "reject",
    "rejects",
    "rejected",
    "exclude",
    "excludes",
    "excluded",
    "missing",
    "ineligible",
    "disqualified",
    "need",
    "needs",
    "require",
    "requires",
    "would",
    "instead",
];
/// Words that make a limit or a goal of a number near them.
const LIMITS: &[&str] = &[
    "mark",
    "target",
    "threshold",
    "limit",
    "limits",
    "cap",
    "capped",
    "ceiling",
    "floor",
    "cutoff",
    "criterion",
    "requirement",
    "bound",
    "bounded",
    "bracketed",
    "bracket",
    "south",
    "north",
    "tops",
    "exceed",
    "exceeds",
    "exceeded",
    "surpass",
    "surpasses",
    "undercut",
    "undercuts",
    "level",
    "past",
    "qualifies",
    "bounds",
];
/// The same in several words.
const LIMIT_PHRASES: &[&str] = &[
    "at best",
    "at worst",
    "or better",
    "or worse",
    "or lower",
    "or higher",
    "or less",
    "or more",
    "or fewer",
    "give or take",
    "gets past",
    "get past",
    "got past",
];
/// Words that do so right behind a number.
const LIMITS_BEHIND: &[&str] = &["max", "min", "maximum", "minimum", "tops", "ceiling", "cap"];
/// Verbs for getting to a number, or beyond it.
const REACHES: &[&str] = &[
    "reach", "reaches", "reached", "meet", "meets", "met", "beat", "beats", "cross", "crosses",
    "crossed", "clear", "clears", "cleared", "break", "breaks", "broke", "pass", "passes",
    "passed", "hit", "hits", "attain", "attains", "achieve", "achieves", "gets", "makes",
];
/// Verbs for being worse than a number.
const LAGS: &[&str] = &["lag", "lags", "lagged", "trail", "trails", "trailed", "behind"];
/// Parts of numbers in words.
const PARTS: &[&str] = &[
    "half", "halves", "third", "thirds", "quarter", "quarters", "fifth", "fifths", "eighths",
    "tenths", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
    "ninety", "hundred", "thousand", "million", "billion", "dozen", "point", "an hour", "hours",
    "hour",
];
/// So many words around a number may say what it limits.
const NEAR: usize = 4;
/// So many words before a number, and behind it, may be such.
const ROUGH_REACH: usize = 6;
/// Signs beside a number that may make a limit or a rough number of it.
const SIGNS: [char; 14] = ['~', '≈', '∼', '≃', '≅', '≲', '≳', '≦', '≧', '＜', '＞', '≤', '≥', '+'];
/// Words by which a number somewhere in a sentence is rounded.
const ROUNDED: &[&str] =
    &["rounded", "rounding", "nearest", "truncated", "truncates", "truncation", "figures"];
/// What behind a number belongs to what comes next: "over the seeds".
const OF_THE_NEXT: &[&str] = &[
    "over", "under", "above", "below", "lower", "higher", "less", "more", "fewer", "greater",
    "larger", "smaller", "about", "near", "around", "close", "order", "round", "digits", "figures",
];
/// So many words before a number, and behind it, must be plain.
const PLAIN_REACH: usize = 3;

/// How the evidence lies to a number that it refutes.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The evidence is below the number.
    pub is_below: bool,
    /// What is better, where that is known.
    pub better: Option<Better>,
    /// The number is one end of a range, which the evidence does not leave.
    pub is_inside: bool,
}

/// Why the words around a number leave open what it is said to be; none where they do not. Words that its expression has are
/// understood.
pub fn about(words: Words, item: &QuoteItem, side: Side, expression: &str) -> Option<String> {
    read(words, item, side).map(str::to_owned).or_else(|| unread(words, item, expression))
}

/// Why words that are known leave it open.
fn read(words: Words, item: &QuoteItem, side: Side) -> Option<&'static str> {
    let own = (&words.quote[..item.span.start], &words.quote[item.span.end..]);
    let (before, behind) = (tokens(own.0), tokens(own.1));
    let (outside, beyond) = (tokens(words.before), tokens(words.behind));
    let any =
        |list: &[String], known: &[&str]| list.iter().any(|word| known.contains(&word.as_str()));
    if is_denial(&outside) {
        return Some("the sentence denies something before these words");
    }
    if is_limit(item.hedge) && [&before, &behind, &beyond].into_iter().any(|list| is_denial(list)) {
        return Some("the words deny something, and it may be this limit");
    }
    let last = &before[before.len().saturating_sub(NEAR)..];
    let next = &behind[..behind.len().min(NEAR)];
    let near = [last, &["#".to_owned()], next].concat();
    let spaced = near.join(" ");
    if any(&near, LIMITS)
        || LIMIT_PHRASES.iter().any(|phrase| spaced.contains(phrase))
        || next.first().is_some_and(|word| LIMITS_BEHIND.contains(&word.as_str()))
    {
        return Some("the words near it may make a limit of it");
    }
    let is_past = match side.better {
        Some(Better::Lower) => side.is_below,
        Some(Better::Higher) => !side.is_below,
        None => false,
    };
    let is_behind = side.better.is_some() && !is_past;
    if any(last, REACHES) && is_past || any(last, LAGS) && is_behind {
        return Some("what gets to a number may lie beyond it");
    }
    if side.is_inside {
        return Some("what lies in a range need not reach its ends");
    }
    let joined = goes_on(before.iter().rev()) || goes_on(behind.iter());
    if !item.is_in_digits(words.quote) && joined {
        return Some("it may be a part of a longer number in words");
    }
    None
}

/// A word near a number that is not among those that are understood, or makes a limit or a rough number of it from
/// further off than is read.
fn unread(words: Words, item: &QuoteItem, expression: &str) -> Option<String> {
    let lower = |word: &str| word.to_lowercase();
    let is_rough = |word: &&str| plain::is_rough(&lower(word));
    let rough = |word: &str| format!("\"{word}\" may make a limit or a rough number of it");
    if let Some(head) = words.head {
        let has_sign = [head, words.quote].into_iter().find(|part| part.contains(SIGNS));
        let is_end = |word: &&str| ["min", "max"].contains(&lower(word).as_str());
        let mut all = spoken(head).chain(spoken(words.quote));
        return all.find(|word| is_rough(word) || is_end(word)).or(has_sign).map(rough);
    }
    let (before, behind) = (&words.quote[..item.span.start], &words.quote[item.span.end..]);
    let goes_on = spoken(behind).any(is_number);
    let signs = [before.trim_end().chars().next_back(), behind.trim_start().chars().next()];
    if item.hedge.is_none() && signs.into_iter().flatten().any(|sign| SIGNS.contains(&sign)) {
        return Some("a sign beside it is not understood".to_owned());
    }
    if is_odds(before, behind) {
        return Some("it may be one of so many".to_owned());
    }
    let is_part = before.ends_with(['.', ','])
        && before.trim_end_matches(['.', ',']).ends_with(|c: char| c.is_ascii_digit());
    if is_part {
        return Some("it may be a part of a longer number".to_owned());
    }
    let mut all = spoken(words.quote);
    if let Some(word) = all.find(|word| ROUNDED.contains(&lower(word).as_str())) {
        return Some(rough(word));
    }
    let before: Vec<_> = spoken(before).rev().take_while(|word| !is_number(word)).collect();
    let behind: Vec<_> = spoken(behind).take_while(|word| !is_number(word)).collect();
    let mut near = before.iter().chain(&behind).copied();
    if let Some(word) = near.find(|word| is_denial(&[lower(word)])) {
        return Some(format!("\"{word}\" beside it may deny it"));
    }
    // "Over the seeds" says nothing of the number before it, and "or over" does.
    let is_joined = |at: usize| {
        !OF_THE_NEXT.contains(&lower(behind[at]).as_str())
            || at + 1 == behind.len() && !goes_on
            || at.checked_sub(1).is_some_and(|last| ["or", "and"].contains(&behind[last]))
    };
    let rough_behind =
        (0..behind.len().min(ROUGH_REACH)).find(|at| is_rough(&behind[*at]) && is_joined(*at));
    let rough_before = before.iter().take(ROUGH_REACH).copied().find(is_rough);
    if matches!(item.hedge, None | Some(Hedge::Exactly))
        && let Some(word) = rough_before.or_else(|| rough_behind.map(|at| behind[at]))
    {
        return Some(rough(word));
    }
    let first = spoken(words.quote).next();
    let expression = expression.to_lowercase();
    let own: Vec<&str> = expression.split(|c: char| !c.is_alphanumeric()).collect();
    let is_plain = |word: &&str| {
        let is_name = word.starts_with(char::is_uppercase) && Some(*word) != first
            || word.contains(['_', '@', '/'])
            || word.chars().count() == 1;
        is_name
            || is_rough(word)
            || plain::is_plain(&lower(word))
            || own.contains(&lower(word).as_str())
    };
    let (last, next) = (before.iter().take(PLAIN_REACH), behind.iter().take(PLAIN_REACH + 2));
    let unknown = last.chain(next).copied().find(|word| !is_plain(word))?;
    Some(format!("\"{unknown}\" beside it is not understood"))
}

/// Whether a number is a part of odds: "one in a thousand", "12 parts in 10,000".
fn is_odds(before: &str, behind: &str) -> bool {
    let last: Vec<_> = spoken(before).rev().take(3).collect();
    let next: Vec<_> = spoken(behind).take(3).collect();
    let is_in = |word: Option<&&str>| word.is_some_and(|word| *word == "in");
    let from = usize::from(next.first().is_some_and(|word| word.starts_with("part")));
    is_in(next.get(from)) && next.get(from + 1).is_some_and(|word| is_number(word))
        || is_in(last.first()) && last.get(1).is_some_and(|word| is_number(word))
}

/// The words of a text as they are written.
fn spoken(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || "_@/'".contains(c)));
    parts.filter(|part| part.contains(char::is_alphanumeric))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || PARTS.contains(&word)
}

/// Whether a number and one beside it are joined as the ends of a range, "1.68 to 1.73", "between 1.68 and 1.73", and whether it
/// is the lower one.
pub fn end_of_range(text: &str, item: &QuoteItem) -> Option<bool> {
    const JOINTS: &[&str] = &["to", "and", "through", "up", "until"];
    const FILLERS: &[&str] = &["one", "of", "a", "the", "loss", "nats"];
    let items = quote::items(text);
    let at = items.iter().position(|one| one.span == item.span)?;
    let is_joined = |first: usize| {
        let (Some(first), Some(second)) = (items.get(first), items.get(first + 1)) else {
            return false;
        };
        let between = tokens(text.get(first.span.end..second.span.start).unwrap_or_default());
        let known =
            |word: &String| JOINTS.contains(&word.as_str()) || FILLERS.contains(&word.as_str());
        between.iter().all(known) && between.iter().any(|word| JOINTS.contains(&word.as_str()))
    };
    match (at.checked_sub(1).is_some_and(is_joined), is_joined(at)) {
        (_, true) => Some(true),
        (true, false) => Some(false),
        (false, false) => None,
    }
}

/// Whether some words deny something.
pub fn denies(text: &str) -> bool {
    is_denial(&tokens(text))
}

fn is_denial(words: &[String]) -> bool {
    words.iter().any(|word| DENIALS.contains(&word.as_str()) || word.ends_with("n't"))
}

/// Whether words are about a test at another level than 5%, or call its result neither one thing nor the other.
pub fn names_other_level(text: &str) -> bool {
    const BETWEEN: &[&str] = &[
        "marginally",
        "borderline",
        "weakly",
        "nearly",
        "almost",
        "trending",
        "misses",
        "narrowly",
        "suggestive",
    ];
    const LEVELS: &[&str] = &[
        "10%", "1%", "0.1%", "90%", "99%", "99.9%", "0.1", "0.10", "0.01", "0.001", ".1", ".10",
        ".01", ".001",
    ];
    const OF_LEVELS: &[&str] = &["level", "confidence", "α", "alpha", "at", "a"];
    let lower = text.to_lowercase().replace(" %", "%");
    let parts = |c: char| c.is_whitespace() || "=<>≤()[],;:".contains(c);
    let words = lower.split(parts).map(|word| word.trim_end_matches('.'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_level = words.iter().any(|word| LEVELS.contains(word))
        && words.iter().any(|word| OF_LEVELS.contains(word));
    is_level || words.iter().any(|word| BETWEEN.contains(word))
}

/// Whether the words next to a number in words are of it too: "two and a half", "an hour and three quarters".
fn goes_on<'w>(mut words: impl Iterator<Item = &'w String>) -> bool {
    let is_part = |word: &String| PARTS.contains(&word.as_str());
    match words.next() {
        Some(word) if ["and", "a"].contains(&word.as_str()) => words.take(2).any(is_part),
        first => first.is_some_and(is_part),
    }
}

fn is_limit(hedge: Option<Hedge>) -> bool {
    !matches!(hedge, None | Some(Hedge::About | Hedge::Cut | Hedge::Exactly))
}

/// The words of a text in lower case.
fn tokens(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('’', "'");
    let parts = lower.split(|c: char| !c.is_alphanumeric() && !"'.".contains(c));
    let parts = parts.map(|part| part.trim_matches('.'));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Better, Side, about};
    use crate::statement::about::Words;
    use repro_claim::quote;

    fn is_open(quote: &str, before: &str, better: Option<Better>, is_below: bool) -> bool {
        let items = quote::items(quote);
        let words = Words { quote, place: "", head: None, before, behind: "", number: None };
        let side = Side { is_below, better, is_inside: false };
        about(words, items.last().unwrap(), side, "").is_some()
    }

    #[test]
    fn words_near_a_number_leave_it_open() {
        for quote in [
            "p is not < 0.05",
            "the gap does not reach p < 0.05",
            "losses above 1.73 do not occur",
            "absence of losses above 1.73",
            "1.73 max",
            "insignificant at the 0.05 level",
            "a loss of 3.28 or better",
            "two-and-a-half",
            "an hour and three quarters",
        ] {
            assert!(is_open(quote, "", None, true), "{quote}");
        }
        assert!(is_open("below 1.68", "The mixture never dips ", None, true));
        assert!(!is_open("the mixture ends at 1.20", "", Some(Better::Lower), false));
        assert!(!is_open("the mixture reaches 1.20", "", Some(Better::Lower), false));
        assert!(is_open("the mixture reaches 3.28", "", Some(Better::Lower), true));
        assert!(!is_open("it stores 331K parameters", "", None, true));
        assert!(!is_open("two seeds", "", None, true));
        assert!(!is_open("at least 9,000 steps", "", None, true));
    }
}
