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
/// Signs behind a number that make it a limit of what follows: "1.68 < all losses".
const SIGNS_BEHIND: &[&str] = &[
    "<", ">", "≤", "≥", "⩽", "⩾", "≪", "≫", "≲", "≳", "≠", "!=", "\\le", "\\lt", "\\ll", "\\ge",
    "\\gt", "\\gg", "\\ne", "&lt;", "&gt;", "&le;", "&ge;",
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
    "loss",
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
/// What follows "none" and denies no number: "none of the six seeds".
const OF_THE: &[&str] = &["all", "its", "of", "our", "the", "their", "them", "these", "those"];
/// Words that deny the whole clause in which they are its subject.
const DENIED_SUBJECTS: &[&str] = &["neither", "no", "nobody", "none", "nothing"];
/// Words that deny a number that nothing limits: "no seed reaches 1.68", "hardly 1.68".
const DENIES_NUMBER: &[&str] = &[
    "barely", "cannot", "hardly", "neither", "never", "no", "nobody", "none", "nor", "not",
    "nothing", "nowhere", "rarely", "scarcely", "seldom", "unable",
];
/// Words that deny what comes soon after them, without a word for "not".
const FAILS: &[&str] = &[
    "anything but",
    "anywhere but",
    "clear of",
    "differ from",
    "different from",
    "differs from",
    "miss",
    "yet to",
    "away from",
    "doubtful",
    "fail",
    "failed",
    "failing",
    "fails",
    "far from",
    "impossible",
    "lacks",
    "misses",
    "missed",
    "out of reach",
    "refuses",
    "short of",
    "shy of",
    "unable",
    "unreachable",
    "without reaching",
];
/// Beginnings of words that say that a number is arrived at.
const REACHES: &[&str] = &[
    "achiev", "attain", "beat", "break", "broke", "cross", "exceed", "get", "got", "hit", "match",
    "meet", "met", "obtain", "observ", "pass", "reach", "saw", "seen", "surpass", "touch",
];
/// Words behind a number that is what something happens to: "1.68 was never achieved".
const PASSIVE: &[&str] = &[
    "are", "can", "cannot", "could", "had", "has", "have", "is", "remained", "remains", "stayed",
    "stays", "was", "were", "will", "would",
];
/// Words that deny by themselves that a number behind them, or before them, is reached.
const UNREACHED: &[&str] =
    &["beyond", "missed", "out", "unattainable", "unattained", "unreachable", "unreached", "yet"];
/// Verbs between what is denied and a limit.
const OF_LIMITS: &[&str] = &[
    "are", "climbs", "drops", "end", "ended", "ends", "falls", "fell", "finished", "finishes",
    "get", "gets", "go", "goes", "got", "had", "has", "have", "is", "lands", "lies", "rises",
    "sits", "stays", "was", "went", "were",
];
/// Words between such a verb and a limit: "ended with a final loss of less than 1.68".
const OF_QUANTITIES: &[&str] = &[
    "a",
    "accuracy",
    "an",
    "at",
    "final",
    "its",
    "loss",
    "of",
    "test",
    "the",
    "to",
    "training",
    "validation",
    "value",
    "with",
];
/// Words that are part of no name of what is denied: "no seed that".
const GOES_ELSEWHERE: &[&str] = &[
    "although", "and", "because", "if", "or", "that", "than", "unless", "until", "when", "where",
    "which", "while", "who", "whose", "without",
];
/// Words behind which "but" excepts something.
const EXCEPTIONS: &[&str] = &["all", "anything", "everything", "nothing"];
/// Words in which full stops end no sentence.
const ABBREVIATIONS: &[&str] =
    &["approx", "ca", "cf", "e.g", "eq", "et al", "fig", "i.e", "resp", "sec", "tab", "vs"];
/// What measures, so that "over" before its number is a limit and no count of what something runs over.
const MEASURES: &[&str] =
    &["bits", "hours", "minutes", "nats", "percent", "percentage", "points", "seconds", "times"];
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
    let word = after.trim_start_matches(['-', ' ', '\u{a0}', '\n']).to_ascii_lowercase();
    match hedge {
        Hedge::LimitOrCount(bound) if MEASURES.contains(&word_at(&word)) => Hedge::Limit(bound),
        other => other,
    }
}

/// What the words behind a number deny of it, or how they go on a comparison: "1.68 is reached by no seed", "1.68 <
/// all losses".
fn denied_behind(after: &str) -> Option<Doubt> {
    let near = after.trim_start_matches([' ', '\u{a0}', '$', '*', '_', '`']);
    // A tag is no sign.
    let is_tag = near.starts_with("\\left")
        || near.strip_prefix('<').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!')
        });
    if !is_tag && SIGNS_BEHIND.iter().any(|sign| near.starts_with(sign)) {
        return Some(Doubt::Words);
    }
    let end = near.find([',', ';', ':', '(', '\n']).unwrap_or(near.len());
    let end = near[..end].find(". ").unwrap_or(end);
    let lower = near[..end].to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().map(bare).take(9).collect();
    let first = words.iter().position(|word| PASSIVE.contains(word) || is_short_not(word))?;
    // A noun may stand between: "1.68 nats is reached by no seed".
    if first > 2 {
        return None;
    }
    let denies = |word: &&str| DENIES_NUMBER.contains(word) || is_short_not(word);
    let reaches = |word: &&str| REACHES.iter().any(|begins| word.starts_with(begins));
    let is_denied = words.iter().any(denies) && words[first..].iter().any(reaches);
    let is_missed = words.get(first + 1).is_some_and(|word| UNREACHED.contains(word));
    (is_denied || is_missed).then_some(Doubt::Meaning)
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

/// What stands before `word` at the end of a text.
fn without_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.trim_end().strip_suffix(word)?;
    let is_whole = !rest.ends_with(|c: char| c.is_alphanumeric());
    is_whole.then_some(rest)
}

/// The clause at the end of a text, without what stands in brackets that are closed again.
fn clause_text(before: &str) -> String {
    // The space behind its last word was trimmed, and tells a full stop from a point.
    let text = &format!("{before} ");
    const STARTS: &[&str] = &[
        ". ",
        ".\n",
        "; ",
        ": ",
        "? ",
        "! ",
        "\n\n",
        "\n- ",
        "\n* ",
        "| ",
        " but ",
        " while ",
        " whereas ",
        " although ",
        " though ",
        " because ",
    ];
    let is_end = |at: usize, mark: &str| {
        let abbreviated = |word: &&str| without_word(&text[..at], word).is_some();
        // "Anything but 1.70" is one clause.
        let is_exception =
            mark == " but " && EXCEPTIONS.iter().any(|word| text[..at].ends_with(word));
        let is_point = mark.starts_with('.') && ABBREVIATIONS.iter().any(abbreviated);
        !is_exception && !is_point
    };
    let last = |mark: &&str| {
        let mut found = text.rmatch_indices(*mark).map(|(at, _)| at);
        found.find(|at| is_end(*at, mark)).map(|at| at + mark.len())
    };
    let start = STARTS.iter().filter_map(last).max().unwrap_or(0);
    let mut clause = text[start..].to_owned();
    while let Some(close) = clause.find(')')
        && let Some(open) = clause[..close].rfind('(')
    {
        clause.replace_range(open..=close, " ");
    }
    clause
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The words of a clause.
fn words_of(clause: &str) -> Vec<&str> {
    clause.split_whitespace().map(bare).collect()
}

/// Whether the clause denies something: in any of its words, or in one of those that deny what comes soon.
fn negation(text: &str) -> bool {
    let clause = clause_text(text);
    let words = words_of(&clause);
    words.iter().any(|word| NEGATORS.contains(word) || is_short_not(word)) || fails(&words)
}

/// Whether one of the last words says that what follows does not happen.
fn fails(words: &[&str]) -> bool {
    let near = words[words.len().saturating_sub(8)..].join(" ");
    let near = format!(" {near} ");
    FAILS.iter().any(|words| near.contains(&format!(" {words} ")))
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
    let clause = clause_text(rest);
    let mut words = words_of(&clause);
    if is_denied_subject(&clause) {
        return true;
    }
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

/// Whether nothing but what is denied and a verb stand before a limit: "no seed of the MoE ends", "none of the six runs
/// ended with a final loss of".
fn is_denied_subject(clause: &str) -> bool {
    let mut words = words_of(clause);
    while words.last().is_some_and(|word| OF_QUANTITIES.contains(word)) {
        words.pop();
    }
    if words.last().is_some_and(|word| OF_LIMITS.contains(word)) {
        words.pop();
    }
    let Some((denial, name)) = words.split_first() else { return false };
    let counts = |word: &&str| {
        let one = word.trim_end_matches("'s").trim_end_matches("’s");
        COUNTED.contains(&one) || one.strip_suffix('s').is_some_and(|one| COUNTED.contains(&one))
    };
    let is_group = match *denial {
        "no" => name.iter().any(counts),
        "none" | "neither" if name.first() == Some(&"of") => true,
        "neither" => name.iter().any(counts),
        "not" => matches!(name.first(), Some(&("a" | "one"))) && name.iter().any(counts),
        "nobody" => name.is_empty(),
        _ => false,
    };
    let is_name = |word: &&str| {
        !NEGATORS.contains(word) && !OF_LIMITS.contains(word) && !GOES_ELSEWHERE.contains(word)
    };
    is_group && name.len() <= 8 && !clause.contains(',') && name.iter().all(is_name) && !fails(name)
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

/// How far the clause before a number that nothing limits denies it. What a comma or a bracket parts from the
/// denial is denied only where it is what is reached: "no seed, as the table shows, reaches 1.68".
fn denial(clause: &str) -> Option<Doubt> {
    let clause = without_numbers_of_a_list(clause);
    let open = clause.rfind('(').map(|at| (&clause[..at], &clause[at + 1..]));
    if let Some((outside, inside)) = open {
        let denied = |text: &str| denies_number(&words_of(text));
        return match (denied(inside), denied(outside)) {
            (true, _) => Some(Doubt::Meaning),
            (false, true) => Some(Doubt::Words),
            _ => None,
        };
    }
    let (parted, last) = clause.rsplit_once(", ").unwrap_or(("", clause));
    let words = words_of(last);
    if denies_number(&words) {
        return Some(Doubt::Meaning);
    }
    let parted = words_of(parted);
    let is_parted = parted.iter().any(|word| DENIED_SUBJECTS.contains(word))
        || parted.windows(2).any(|pair| pair == ["not", "even"]);
    let last = &words[words.len().saturating_sub(6)..];
    let reaches = last.iter().any(|word| REACHES.iter().any(|begins| word.starts_with(begins)));
    (is_parted && parted.len() > 1).then_some(if reaches { Doubt::Meaning } else { Doubt::Words })
}

/// The clause before a list of numbers: "no seed reaches 1.67, 1.68".
fn without_numbers_of_a_list(clause: &str) -> &str {
    let mut rest = clause.trim_end();
    while let Some(before) = rest.strip_suffix(',') {
        match before.rsplit_once(char::is_whitespace) {
            Some((head, number)) if is_amount(number) => rest = head.trim_end(),
            _ => break,
        }
    }
    rest
}

/// Whether words before a number deny it. "None of the six seeds" denies no six.
fn denies_number(words: &[&str]) -> bool {
    let head = words.len() - words.iter().rev().take_while(|word| OF_THE.contains(word)).count();
    let is_of = words[head..].contains(&"of") || words.last() == Some(&"all");
    let is_denial = |word: &&str| DENIES_NUMBER.contains(word);
    let words = match &words[..head] {
        [before @ .., last] if is_of && is_denial(last) => before,
        [before @ .., denial, _] if is_of && is_denial(denial) => before,
        _ => words,
    };
    let denies = |(at, word): (usize, &&str)| {
        let next = words.get(at + 1);
        let before = at.checked_sub(1).map(|at| words[at]);
        let is_few = *word == "few" && !matches!(before, Some("a" | "the"));
        (DENIES_NUMBER.contains(word) || is_short_not(word) || is_few)
            && !matches!((*word, next), ("not", Some(&("only" | "just" | "merely"))))
    };
    words.iter().enumerate().any(denies) || fails(words)
}
