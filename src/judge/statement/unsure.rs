//! What words near a number leave open where it would be refuted: a denial, a word that makes a limit of it, a verb for
//! getting there, a part of a longer number in words. Only what is understood is refuted.

use repro_claim::quote::{self, Hedge, QuoteItem};

use super::about::Words;
use super::about::quantities::Better;

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

/// Why the words around a number leave open what it is said to be; none where they do not.
pub fn about(words: Words, item: &QuoteItem, side: Side) -> Option<&'static str> {
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

/// Whether a number and one beside it are joined as the ends of a range: "1.68 to 1.73", "between 1.68 and 1.73".
pub fn is_end_of_range(text: &str, item: &QuoteItem) -> bool {
    const JOINTS: &[&str] = &["to", "and", "through", "up", "until"];
    const FILLERS: &[&str] = &["one", "of", "a", "the", "loss", "nats"];
    let items = quote::items(text);
    let Some(at) = items.iter().position(|one| one.span == item.span) else { return false };
    let neighbours = [at.checked_sub(1).zip(Some(at)), Some((at, at + 1))];
    neighbours.into_iter().flatten().any(|(first, second)| {
        let ends = (items.get(first), items.get(second));
        let (Some(first), Some(second)) = ends else { return false };
        let between = tokens(text.get(first.span.end..second.span.start).unwrap_or_default());
        let known =
            |word: &String| JOINTS.contains(&word.as_str()) || FILLERS.contains(&word.as_str());
        between.iter().all(known) && between.iter().any(|word| JOINTS.contains(&word.as_str()))
    })
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
        about(words, items.last().unwrap(), side).is_some()
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
