//! What the words around a number make of it: about, a limit, the base of a difference, or nothing that is known.
//!
//! Words are tables, and the nearest to the number counts. What is negated in a way that the tables do not
//! know is a [`Doubt`]: no limit is guessed.

use repro_exact::decimal::Bound;

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

/// Words that deny what comes next.
const DENIES: &[&str] = &["not", "never", "no", "cannot"];
/// What "no" counts: "no seed ends above". "No warmup" is the name of a run more often than not.
const COUNTED: &[&str] = &[
    "arm",
    "batch",
    "checkpoint",
    "evaluation",
    "expert",
    "group",
    "head",
    "layer",
    "model",
    "one",
    "router",
    "run",
    "seed",
    "slice",
    "step",
    "task",
];
/// Words behind which "not" denies something else.
const PARTLY: &[&str] = &[
    "all",
    "always",
    "before",
    "even",
    "every",
    "far",
    "just",
    "merely",
    "much",
    "necessarily",
    "only",
    "significantly",
    "substantially",
    "well",
    "yet",
];
/// Words that leave open what is denied.
const MODAL: &[&str] = &["if", "may", "might", "must", "need", "or", "should", "whether", "why"];
/// Words that deny in some way.
const NEGATORS: &[&str] = &[
    "barely", "cannot", "few", "hardly", "neither", "never", "no", "nobody", "none", "nor", "not",
    "nothing", "nowhere", "rarely", "scarcely", "seldom", "unlike", "without",
];
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
    let lower = tail(head).to_ascii_lowercase();
    if let Some((hedge, _)) = sign_at_end(&lower) {
        return (Some(hedge), None);
    }
    let found = HEDGES.iter().find_map(|(word, hedge)| Some((*hedge, without_word(&lower, word)?)));
    if let Some((hedge, rest)) = found {
        return settled(hedge, rest);
    }
    if let Some((hedge, is_clear)) = behind(after) {
        let is_open = !is_clear || negation(&lower, 8);
        return (Some(hedge), is_open.then_some(Doubt::Meaning));
    }
    (None, plain_doubt(&lower))
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
        other => return (Some(other), negation(rest, 8).then_some(Doubt::Meaning)),
    };
    if is_denied(rest) {
        return (Some(Hedge::Limit(opposite(bound))), None);
    }
    if negation(rest, 8) {
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

/// The text before a number without emphasis, mathematics and tags around the number.
fn without_marks(before: &str) -> &str {
    let mut text = before;
    loop {
        let bare = text.trim_end().trim_end_matches(['$', '*', '_', '`', '{']);
        let bare = bare.strip_suffix("&nbsp;").unwrap_or(bare);
        let bare = bare.strip_suffix("\\,").unwrap_or(bare);
        // `of~1.70` is a space that does not break; `about <b>1.70</b>` has a tag.
        let tie = bare
            .strip_suffix('~')
            .filter(|rest| rest.ends_with(|c: char| c.is_alphanumeric() || ".}%".contains(c)));
        let bare = tie.unwrap_or(bare);
        let bare = without_tag(bare).unwrap_or(bare);
        if bare.len() == text.len() {
            return text;
        }
        text = bare;
    }
}

/// The text without the tag that it ends with.
fn without_tag(text: &str) -> Option<&str> {
    let open = text.strip_suffix('>')?.rfind('<')?;
    let inside = &text[open + 1..text.len() - 1];
    let is_tag = inside.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic())
        && !inside.contains('\n')
        && inside.len() < 80;
    is_tag.then(|| &text[..open])
}

/// The last words, enough for every table.
fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(119).map_or(0, |(at, _)| at);
    &text[start..]
}

/// What stands before `word` at the end of a text.
fn without_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.trim_end().strip_suffix(word)?;
    let is_whole = !rest.ends_with(|c: char| c.is_alphanumeric());
    is_whole.then_some(rest)
}

/// The words of the clause at the end, without what stands around them.
fn clause(text: &str) -> Vec<&str> {
    let starts = [". ", "; ", ": ", "? ", "! ", "\n\n", " but "];
    let at = starts.iter().filter_map(|mark| Some(text.rfind(mark)? + mark.len())).max();
    let words = text[at.unwrap_or(0)..].split_whitespace();
    words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect()
}

/// Whether one of the last words of the clause denies something.
fn negation(text: &str, reach: usize) -> bool {
    let words = clause(text);
    words.iter().rev().take(reach).any(|word| NEGATORS.contains(word) || is_short_not(word))
}

/// `isn't`, `doesn't`.
fn is_short_not(word: &str) -> bool {
    word.ends_with("n't") || word.ends_with("n’t")
}

/// Whether a limit that stands behind these words is denied as a whole: "no", "never drops", "no seed ends at".
fn is_denied(rest: &str) -> bool {
    // A comma parts what is denied from what is not.
    if rest.trim_end().ends_with([',', ')']) {
        return false;
    }
    let mut words = clause(rest);
    if matches!(words.last(), Some(&("at" | "with" | "a"))) {
        words.pop();
    }
    let denies = |word: &str| DENIES.contains(&word) || is_short_not(word);
    let clean = |before: &[&str]| {
        let modal = before.last().is_some_and(|word| MODAL.contains(word));
        !modal && !before.iter().rev().take(5).any(|word| NEGATORS.contains(word))
    };
    // "Not clearly above" is not "at most".
    let is_verb = |word: &str| !PARTLY.contains(&word) && !word.ends_with("ly");
    match words.as_slice() {
        [before @ .., last] if denies(last) => clean(before),
        [before @ .., "no", noun] | [before @ .., "no", noun, _] if COUNTED.contains(noun) => {
            clean(before)
        }
        [before @ .., "none", verb] => is_verb(verb) && clean(before),
        [before @ .., "none"] => clean(before),
        [before @ .., first, verb] if denies(first) && *first != "no" => {
            is_verb(verb) && clean(before)
        }
        _ => false,
    }
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

/// A number before a comparison: `0.9%`, `9.4×`, `$0.016$`, "two".
fn is_amount(word: &str) -> bool {
    let word = word.trim_matches(['$', '*', '_', '`', '(', '~']);
    super::COUNTS.contains(&word)
        || (word.starts_with(|c: char| c.is_ascii_digit() || "-−–+.≈".contains(c))
            && word.ends_with(|c: char| c.is_ascii_digit() || "%×xkmb".contains(c))
            && word.contains(|c: char| c.is_ascii_digit()))
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

fn word_at(rest: &str) -> &str {
    rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default()
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric())
}

/// What stands near a number that no table reads.
fn plain_doubt(before: &str) -> Option<Doubt> {
    let words = clause(before);
    if before.ends_with([',', ')', '(']) {
        return None;
    }
    let last = *words.last()?;
    if DENIES.contains(&last) || is_short_not(last) {
        return Some(Doubt::Meaning);
    }
    let near = before.trim_end();
    let compares = |text: &str| COMPARES.iter().any(|word| without_word(text, word).is_some());
    if let Some(rest) = without_word(near, "between") {
        // What is between two numbers is read as a range; of one number it says nothing.
        return Some(if negation(rest, 8) { Doubt::Meaning } else { Doubt::Words });
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
