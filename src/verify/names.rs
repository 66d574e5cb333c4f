//! Which words are names of one thing: spellings, synonyms, beginnings of digests. Only names of two things refute
//! each other, so that what might be another spelling is told apart from what is another name.

use std::ops::Range;

use repro_core::source::codes;

use crate::lexicon::lexicon;

codes! {
    MAY_BE_ONE = "value::ambiguous-name", "two names may refer to the same thing", "use the name from the evidence";
}

/// How two names stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// They are one name, spelled in two ways or one of several that all use.
    Same,
    /// One may be short for the other, or a part of it.
    Perhaps,
    /// They are names of two things.
    Other,
}

/// So many digits of a digest are enough to tell it from others.
const SHORTEST_DIGEST: usize = 7;
/// No digest is shorter.
const WHOLE_DIGEST: usize = 16;
/// A text may spell a name in so many more words.
const MORE_WORDS: usize = 3;

/// Words in lower case, without emphasis, code marks and needless white space.
pub fn simple(text: &str) -> String {
    let marks = |c: char| matches!(c, '*' | '`' | '"' | '“' | '”' | '\'' | '\u{fe0f}');
    let words = text.split_whitespace().map(|word| word.trim_matches(marks).to_lowercase());
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    words.trim_end_matches(['.', ',', ';', ':', '!']).to_owned()
}

/// How what the text says stands to what the evidence has.
pub fn likeness(said: &str, has: &str) -> Likeness {
    let (said, has) = (simple(said), simple(has));
    if said == has {
        return Likeness::Same;
    }
    if let Some(are_one) = truth(&said).zip(truth(&has)).map(|(a, b)| a == b) {
        return if are_one { Likeness::Same } else { Likeness::Other };
    }
    let (a, b) = (spelled(&said), spelled(&has));
    let share =
        |table: &str| lexicon().lists(table).any(|list| list.contains(&a) && list.contains(&b));
    // What is asked of a truth decides whether another word than yes and no affirms it.
    if truth(&said).or(truth(&has)).is_some() {
        let is_tied = [&a, &b].iter().any(|name| lexicon().is_in("name.tied", name));
        return if is_tied && share("synonym") { Likeness::Same } else { Likeness::Perhaps };
    }
    if a == b && !a.is_empty() || share("synonym") || is_beginning(&said, &has) {
        return Likeness::Same;
    }
    let may_be = !are_known_apart([&a, &b])
        || share("perhaps")
        || either(is_series, &a, &b)
        || either(is_part, &said, &has);
    if may_be { Likeness::Perhaps } else { Likeness::Other }
}

/// Whether it is known that two names are of two things: both are listed, versions,
/// digests or days. What else two names are of, a reader knows and this program does not.
fn are_known_apart(names: [&String; 2]) -> bool {
    let all = |is: fn(&str) -> bool| names.iter().all(|name| is(name));
    // The first of the names that are one stands for them.
    let is_listed = |name: &String| {
        let first = lexicon().lists("synonym").find(|names| names.contains(name));
        let name = first.map_or(name, |names| &names[0]);
        lexicon().lists("kind").any(|kind| kind.contains(name))
    };
    names.into_iter().all(is_listed) || all(is_number) || all(is_digest) || differ_in_number(names)
}

/// Whether two names are alike but for their numbers: gpt2 and gpt3, portable-f32/1 and portable-f32/2.
fn differ_in_number(names: [&String; 2]) -> bool {
    let letters = names.map(|name| name.replace(|c: char| c.is_ascii_digit(), "#"));
    letters[0] == letters[1] && letters[0].contains(char::is_alphabetic)
}

/// Whether a name is a version or another number.
fn is_number(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_digit() || ".-".contains(c))
}

fn is_digest(name: &str) -> bool {
    name.len() >= SHORTEST_DIGEST && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a word says yes or no.
fn truth(word: &str) -> Option<bool> {
    let is = |list: &str| lexicon().is_in(list, word);
    if is("name.yes") { Some(true) } else { is("name.no").then_some(false) }
}

/// A name without the signs that join its words, and without the `v` of a version. Between digits they part numbers,
/// and points count everywhere: 0.11 is not 01.1.
fn spelled(name: &str) -> String {
    let outer = |c: char| ".,;:!?()[]{}".contains(c);
    let name = name.trim_matches(outer);
    let name = name.strip_prefix("version ").unwrap_or(name);
    let is_version = |rest: &&str| {
        let digits = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        digits(rest) && rest.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let name = name
        .strip_prefix('v')
        .map(|rest| rest.trim_start_matches('.').trim_start())
        .filter(is_version)
        .unwrap_or(name);
    let joins = |c: char| matches!(c, '-' | '_' | ' ' | '‐' | '‑' | '–');
    let is_digit = |c: char| c.is_ascii_digit();
    // A sign before a number is its own.
    let start = if name.starts_with(joins) { "-" } else { "" };
    name.split(joins).filter(|part| !part.is_empty()).fold(start.to_owned(), |all, part| {
        let joint = if all.ends_with(is_digit) && part.starts_with(is_digit) { "-" } else { "" };
        all + joint + part
    })
}

/// Whether a word is the first digits of a digest, and enough of them.
fn is_beginning(said: &str, digest: &str) -> bool {
    let said = said.trim_end_matches(['…', '.']);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    said.len() >= SHORTEST_DIGEST
        && digest.len() >= WHOLE_DIGEST
        && is_hex(said)
        && is_hex(digest)
        && digest.starts_with(said)
}

/// Whether something holds of two names in one order or the other.
fn either(holds: fn(&str, &str) -> bool, one: &str, other: &str) -> bool {
    holds(one, other) || holds(other, one)
}

/// Whether a name is the series of versions that the other belongs to: 0.11 and 0.11.1.
fn is_series(series: &str, version: &str) -> bool {
    series.starts_with(|c: char| c.is_ascii_digit())
        && version.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether all words of a name are words of the other: "GPT-2 BPE" and "gpt2", "torch.float32" and "float32".
fn is_part(few: &str, many: &str) -> bool {
    let (few, many) = (parts(few), parts(many));
    !few.is_empty() && few.iter().all(|part| many.contains(part))
}

/// The words of a name, and its numbers with their points.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut last: Option<bool> = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_point = c == '.'
            && last == Some(true)
            && chars.peek().is_some_and(|next| next.is_ascii_digit());
        let kind = match c {
            _ if is_point || c.is_ascii_digit() => Some(true),
            _ if c.is_alphanumeric() => Some(false),
            _ => None,
        };
        match (kind, parts.last_mut()) {
            (Some(_), Some(part)) if kind == last => part.push(c),
            (Some(_), _) => parts.push(c.to_string()),
            (None, _) => {}
        }
        last = kind;
    }
    parts
}

/// The words of a text, without the signs around them.
fn words(text: &str) -> Vec<Range<usize>> {
    let parts = |c: char| c.is_whitespace() || "=:;,|()[]{}".contains(c);
    let signs = |c: char| !c.is_alphanumeric() && !"✓✔✅☑✗✘✖❌☐".contains(c);
    let mut words = Vec::new();
    for part in text.split(parts) {
        let own = part.trim_matches(signs);
        if !own.is_empty() {
            let start = own.as_ptr() as usize - text.as_ptr() as usize;
            words.push(start..start + own.len());
        }
    }
    words
}

/// Where a name is in a text, in any of its spellings.
pub fn places(text: &str, name: &str) -> Vec<Range<usize>> {
    let all = words(text);
    let most = words(name).len() + MORE_WORDS;
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, first) in all.iter().enumerate() {
        if found.last().is_some_and(|last| first.start < last.end) {
            continue;
        }
        let ends = all[at..].iter().take(most).rev().map(|last| first.start..last.end);
        let is_name = |place: &Range<usize>| {
            let own = &text[place.clone()];
            // "On" is in many sentences without saying yes.
            let is_short = truth(name).is_some() && lexicon().is_in("name.short", &simple(own));
            !is_short && likeness(own, name) == Likeness::Same
        };
        found.extend(ends.into_iter().find(is_name));
    }
    found
}

/// Whether a text has a name, alone or joined to other words: "weight-tied", "float32-trained".
pub fn stands_in(text: &str, name: &str) -> bool {
    let (own, all) = (parts(&simple(name)), parts(&simple(text)));
    let denied = |at: usize| at > 0 && lexicon().is_in("name.denials", &all[at - 1]);
    let is_joined = !own.is_empty()
        && all.windows(own.len()).enumerate().any(|(at, part)| part == own && !denied(at));
    is_joined || !places(text, name).is_empty()
}

#[cfg(test)]
mod tests {
    use super::Likeness::{Other, Perhaps, Same};
    use super::{likeness, places, stands_in};

    #[test]
    fn spellings_of_one_name_are_told_from_other_names() {
        for (said, has, wanted) in [
            ("GPT-2", "gpt2", Same),
            ("gpt 2", "gpt2", Same),
            ("GPT-3", "gpt2", Other),
            ("v0.1.0", "0.1.0", Same),
            ("version 0.11.1", "0.11.1", Same),
            ("v0.1.1", "0.1.0", Other),
            ("01.1", "0.11", Other),
            ("0.11", "0.1.1", Other),
            ("0.11", "0.11.1", Perhaps),
            ("1-2", "12", Other),
            ("-1", "1", Perhaps),
            ("byte-level", "bytes", Same),
            ("byte", "bytes", Same),
            ("words", "bytes", Other),
            ("warmup-stable-decay", "wsd", Same),
            ("cosine", "wsd", Other),
            ("exponential moving average", "ema", Perhaps),
            ("val", "validation", Same),
            ("held-out", "validation", Perhaps),
            ("train", "validation", Other),
            ("const", "constant", Perhaps),
            ("bfloat-16", "bf16", Same),
            ("bfloat16", "fp16", Other),
            ("Adam", "AdamW", Other),
            ("Adam-W", "AdamW", Same),
            ("torch.float32", "float32", Same),
            ("weight-tied", "Tied", Same),
            ("untied", "Tied", Other),
            ("weight-tied", "true", Perhaps),
            ("clean", "false", Perhaps),
            ("on", "true", Same),
            ("no", "true", Other),
            ("55897ee", "55897eef4dcfb5682507", Same),
            ("55897e", "55897eef4dcfb5682507", Perhaps),
            ("12345ab", "55897eef4dcfb5682507", Other),
            ("portable-f32/1", "portable-f32/2", Other),
        ] {
            assert_eq!(likeness(said, has), wanted, "{said} and {has}");
        }
    }

    #[test]
    fn a_name_stands_in_a_text_in_any_spelling() {
        let text = "We use the (GPT-2) tokenizer, `portable-f32/1`.";
        let found =
            |name: &str| places(text, name).into_iter().map(|at| &text[at]).collect::<Vec<_>>();
        assert_eq!(found("gpt2"), ["GPT-2"]);
        assert_eq!(found("portable-f32/1"), ["portable-f32/1"]);
        assert!(found("f32").is_empty() && found("llama").is_empty());
        assert!(
            stands_in("a float32-trained model", "fp32") || stands_in("float32-trained", "float32")
        );
        assert!(!stands_in("a non-softmax gate", "softmax"));
    }
}
