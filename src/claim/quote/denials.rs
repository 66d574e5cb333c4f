//! What denies a number: "no seed reaches 1.68", "1.68 was never reached", "fails to get below 1.68".
//!
//! A denied limit is the opposite limit where the whole clause denies it, and in doubt otherwise.

use super::Doubt;
use super::clauses::{bare, clause_text, is_amount, words_of};

/// Signs behind a number that make it a limit of what follows: "1.68 < all losses".
const SIGNS_BEHIND: &[&str] = &[
    "<", ">", "≤", "≥", "⩽", "⩾", "≪", "≫", "≲", "≳", "≠", "!=", "\\le", "\\lt", "\\ll", "\\ge",
    "\\gt", "\\gg", "\\ne", "&lt;", "&gt;", "&le;", "&ge;",
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
/// Words that deny in some way.
const NEGATORS: &[&str] = &[
    "barely", "cannot", "few", "hardly", "neither", "never", "no", "nobody", "none", "nor", "not",
    "nothing", "nowhere", "rarely", "scarcely", "seldom", "unlike", "without",
];

/// What the words behind a number deny of it, or how they go on a comparison: "1.68 is reached by no seed", "1.68 <
/// all losses".
pub(super) fn denied_behind(after: &str) -> Option<Doubt> {
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

/// Whether the clause denies something: in any of its words, or in one of those that deny what comes soon.
pub(super) fn negation(text: &str) -> bool {
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
pub(super) fn is_denied(rest: &str) -> bool {
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

/// How far the clause before a number that nothing limits denies it. What a comma or a bracket parts from the
/// denial is denied only where it is what is reached: "no seed, as the table shows, reaches 1.68".
pub(super) fn denial(clause: &str) -> Option<Doubt> {
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
