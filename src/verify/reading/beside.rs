//! The token of the lexicon directly next to a number.

use std::ops::Range;

use repro_claim::sentence::{first_bytes, last_bytes};

use crate::lexicon::{ReadingTokens, Vocabulary, lexicon};

/// Signs that may stand between a token and its number.
const MARKS: &[char] =
    &['*', '_', '`', '(', '[', '$', '€', '£', ' ', '\u{a0}', '\u{2009}', '\u{202f}', '\n', '{'];
/// Signs that may stand between a number and the token behind it.
const CLOSING: &[char] =
    &['*', '_', '`', ')', ']', '$', ' ', '\u{a0}', '\u{2009}', '\u{202f}', '\n', '}'];
/// The most bytes next to a number that a token may take.
const NEAR: usize = 60;

/// A token next to a number.
#[derive(Debug, Clone, Copy)]
pub struct Token<'l> {
    /// Its lexicon entry.
    pub tokens: &'l ReadingTokens,
    /// The token as the lexicon has it.
    pub words: &'l str,
    /// Whether the number counts seeds, steps and the like.
    pub is_of_span: bool,
}

/// The token next to a number of a quote; the longest one, and one before the number rather than one behind it.
pub fn token<'l>(lexicon: &'l Vocabulary, quote: &str, number: &Range<usize>) -> Option<Token<'l>> {
    let before = last_bytes(&quote[..number.start], NEAR).to_lowercase();
    let behind = first_bytes(&quote[number.end..], NEAR).to_lowercase();
    let is_of_span = is_span(lexicon, &behind);
    let longest = |side: fn(&ReadingTokens) -> &[String], fits: &dyn Fn(&str) -> bool| {
        let all = lexicon.readings.iter();
        let all = all.flat_map(|tokens| side(tokens).iter().map(move |words| (tokens, words)));
        let fitting = all.filter(|(_, words)| fits(&words.to_lowercase()));
        fitting.max_by_key(|(_, words)| words.len())
    };
    let (tokens, words) = longest(|one| &one.before, &|word| stands_before(&before, word))
        .or_else(|| longest(|one| &one.behind, &|word| stands_behind(&behind, word)))?;
    // What something runs over is no limit: "over six seeds". A sign or "more than" before them is one: ">1,200 steps".
    let runs_over = tokens.guards("span") && is_of_span && lexicon.is_in("guard.runs_over", words);
    (!runs_over).then_some(Token { tokens, words, is_of_span })
}

/// Whether the size of a number is in the name of a model: "the 755M model", "7B-parameter".
pub fn names_a_model(lexicon: &Vocabulary, quote: &str, number: &Range<usize>) -> bool {
    let behind = first_bytes(&quote[number.end..], NEAR).to_lowercase();
    let rest = behind.trim_start_matches(|c: char| CLOSING.contains(&c) || "-\u{2011}".contains(c));
    let mut words = rest.split(|c: char| c.is_whitespace() || "-\u{2011}".contains(c));
    // One word may part them: "the 7B base model".
    let is_name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        lexicon.is_in("nominal.words", word)
    };
    let ends = |word: &str| word.ends_with([',', '.', ';', ':', ')']);
    match words.next() {
        Some(word) if is_name(word) => true,
        Some(word) if !word.is_empty() && !ends(word) && is_adjective(word) => {
            words.next().is_some_and(is_name)
        }
        _ => false,
    }
}

/// Whether a word between a size and "model" leaves the size a name: letters alone, and no verb or preposition.
fn is_adjective(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
        && word.len() > 3
        && !lexicon().is_in("nominal.counted", word)
}

/// Whether the number counts what something runs over.
fn is_span(lexicon: &Vocabulary, behind: &str) -> bool {
    let rest = behind.trim_start_matches(|c: char| CLOSING.contains(&c) || c == '-');
    let end = rest.find(|c: char| !c.is_alphabetic() && c != '-').unwrap_or(rest.len());
    lexicon.words("guard.span").iter().any(|word| word.eq_ignore_ascii_case(&rest[..end]))
}

/// Whether a token ends a text, apart from marks.
fn stands_before(before: &str, word: &str) -> bool {
    let plain = before.trim_end_matches(MARKS);
    // Signs that belong to TeX stand before their spaces.
    let Some(rest) = plain.strip_suffix(word).or_else(|| before.trim_end().strip_suffix(word))
    else {
        return false;
    };
    if word == "up to" && moves(rest) {
        return false;
    }
    if word.starts_with(char::is_alphanumeric) {
        return !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    }
    match word {
        // The head of an arrow, the end of a tag and a doubled sign are no limits.
        ">" => {
            !rest.ends_with(['-', '=', '–', '—', '|', '>'])
                && !closes_a_tag(rest)
                && !follows_a_number(rest)
        }
        "<" => !rest.ends_with('<') && !follows_a_number(rest),
        "~" => !rest.ends_with('~'),
        "\\ge" | "\\le" | "\\gt" | "\\lt" | "\\sim" => !rest.ends_with('\\'),
        _ => true,
    }
}

/// Whether a verb ends a text by which something moves: "went up to 256K" has no limit.
fn moves(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    lexicon().is_in("guard.motion", last)
}

/// Whether a number, with a note in brackets perhaps, ends a text: "1.7016 (MoE) < 1.7100" orders two numbers.
fn follows_a_number(before: &str) -> bool {
    let plain = before.trim_end();
    let bare = match plain.strip_suffix(')').and_then(|inner| Some(&inner[..inner.rfind('(')?])) {
        Some(outside) => outside.trim_end(),
        None => plain,
    };
    bare.trim_end_matches(['*', '_', '`', '$', '%']).ends_with(|c: char| c.is_ascii_digit())
}

/// Whether the sign behind these words closes a tag of HTML.
fn closes_a_tag(before: &str) -> bool {
    let opened = before.rfind('<');
    opened.is_some_and(|at| {
        let tag = &before[at + 1..];
        tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && !tag.contains('>')
    })
}

/// Whether a token begins a text: directly, or behind one noun where it is a phrase of words.
fn stands_behind(behind: &str, word: &str) -> bool {
    if !word.starts_with(|c: char| c.is_alphabetic() || c == '(') || word.starts_with("ish") {
        let glued = behind.trim_start_matches(['*', '_', '`', '$']);
        let follows = |rest: &str| match word {
            "+" => {
                !rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || "-/+".contains(c))
            }
            "ish" | "-ish" => !rest.starts_with(char::is_alphabetic),
            _ => !rest.trim_start().starts_with(|c: char| c.is_ascii_digit()),
        };
        return glued.strip_prefix(word).is_some_and(follows);
    }
    let direct = behind.trim_start_matches(CLOSING);
    let noun_end =
        direct.find(|c: char| !c.is_alphabetic() && !"/-".contains(c)).unwrap_or(direct.len());
    let noun = &direct[..noun_end];
    let is_noun = !noun.is_empty() && !lexicon().is_in("beside.no_nouns", noun);
    let after_noun = direct[noun_end..].trim_start_matches(CLOSING);
    let begins = |text: &str| {
        text.strip_prefix(word).is_some_and(|rest| {
            let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let next = rest.trim_start();
            !goes_on && !next.starts_with("than") && !next.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let is_phrase = word.contains(' ');
    begins(direct) || is_noun && is_phrase && begins(after_noun)
}

#[cfg(test)]
mod tests {
    use repro_claim::quote::items;
    use repro_report::meaning::Reading;

    use super::{lexicon, names_a_model, token};

    fn reading(quote: &str) -> Option<Reading> {
        let item = items(quote).pop().unwrap_or_else(|| panic!("no number in {quote}"));
        token(lexicon(), quote, &item.span).map(|token| token.tokens.reading)
    }

    #[test]
    fn tokens_stand_directly_beside_their_number() {
        for (quote, expected) in [
            ("about 3", Some(Reading::About)),
            ("~3", Some(Reading::About)),
            (r"$\sim 1200$ steps", Some(Reading::About)),
            (r"x\approx20", Some(Reading::About)),
            ("1200ish tokens", Some(Reading::About)),
            ("1200 tokens or so", Some(Reading::About)),
            ("at least 0.5", Some(Reading::AtLeast)),
            ("1.5 or more", Some(Reading::AtLeast)),
            ("1,200+ tokens", Some(Reading::AtLeast)),
            ("1200 tokens or more", Some(Reading::AtLeast)),
            ("no more than 1.73", Some(Reading::AtMost)),
            ("not above 1.73", Some(Reading::AtMost)),
            ("at or below 1.73", Some(Reading::AtMost)),
            ("up to **7x**", Some(Reading::AtMost)),
            ("p < 0.01", Some(Reading::Below)),
            ("sub-25M", Some(Reading::Below)),
            ("well over 1.7", Some(Reading::Above)),
            ("loss &lt; 1.71", Some(Reading::Below)),
            (r"$\mathcal{L} \leq 1.71$", Some(Reading::AtMost)),
            ("exactly 2x", Some(Reading::Exact)),
            ("1.716…", Some(Reading::Floor)),
            (">1,200 steps", Some(Reading::Above)),
            ("more than 1,200 steps", Some(Reading::Above)),
            ("fewer than six seeds", Some(Reading::Below)),
            ("over six seeds", None),
            ("over 6 random seeds", None),
            ("1.702 -> 1.636", None),
            ("<b>1.702</b>", None),
            ("the cover 3", None),
            ("is 3", None),
            ("about a loss of 3", None),
            ("held down to 1.7016", None),
            ("only 1.7", None),
            ("went up to 256K", None),
            ("1.70 (MoE) < 1.71", None),
        ] {
            assert_eq!(reading(quote), expected, "{quote}");
        }
    }

    #[test]
    fn sizes_beside_models_are_names() {
        let is = |quote: &str| names_a_model(lexicon(), quote, &items(quote)[0].span);
        for quote in [
            "the 755M model",
            "a 7B-parameter transformer",
            "at 1B scale",
            "a 7B base model",
            "our 124M model",
        ] {
            assert!(is(quote), "{quote}");
        }
        for quote in ["has 32 billion parameters", "7B tokens per model", "755M stored"] {
            assert!(!is(quote), "{quote}");
        }
    }
}
