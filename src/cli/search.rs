//! Search for `repro explain`: names and texts of topics, functions, rules and codes.

use std::fmt::Write;

use super::{UNKNOWN_CODE, list};
use repro_core::similar;
use repro_core::source::{Error, Location};
use repro_verify::evaluate::functions;
use repro_verify::rules;

/// The most words that are sought at once, and the most characters of each: every text is looked through for each word.
const MOST_WORDS: usize = 20;
const LONGEST_WORD: usize = 100;
/// So many names are suggested in the place of an unknown one.
const SUGGESTED: usize = 5;
/// The weight of a word in a name, in its summary line, and in its text.
const WEIGHTS: [usize; 3] = [8, 4, 1];
/// The extra weight of a topic, function or rule over a code.
const NO_CODE: usize = 10;
/// The kind that there is most of.
const CODE: &str = "code";

/// Something that can be explained.
pub struct Explainable {
    /// `topic`, `function`, `rule` or `code`.
    pub kind: &'static str,
    /// Its name, a line about it, and its text.
    parts: [String; 3],
}

impl Explainable {
    fn new(kind: &'static str, name: &str, what: &str, text: impl Into<String>) -> Self {
        Self { kind, parts: [name.to_owned(), what.to_owned(), text.into()] }
    }

    pub fn name(&self) -> &str {
        &self.parts[0]
    }

    /// A line about it.
    pub fn what(&self) -> &str {
        &self.parts[1]
    }

    /// How well it fits; nothing if one of the words stands nowhere. A whole name or word counts twice.
    fn weight(&self, words: &[String]) -> Option<usize> {
        let parts = self.parts.each_ref().map(|part| part.to_lowercase());
        let of_word = |word: &String| {
            let held = parts.iter().zip(WEIGHTS).filter(|(part, _)| part.contains(word.as_str()));
            let weights = held.map(|(part, weight)| match is_whole(part, word) {
                true => 2 * weight,
                false => weight,
            });
            weights.max()
        };
        let weights: Option<usize> = words.iter().map(of_word).sum();
        let own = if self.kind == CODE { 0 } else { NO_CODE };
        weights.map(|weight| weight + own)
    }
}

/// Whether a word is in a text with nothing of a word on either side.
fn is_whole(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + word.len()..].chars().next();
        ![before, behind].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// All of them: topics, functions, rules, codes.
fn all() -> Vec<Explainable> {
    let topics = list::TOPICS.iter().map(|(name, what)| {
        Explainable::new("topic", name, what, list::topic(name).unwrap_or_default())
    });
    let functions = functions::all().map(|function| {
        Explainable::new("function", function.name, function.texts().summary, function.explain())
    });
    let rules =
        rules::all().map(|rule| Explainable::new("rule", rule.name, rule.summary, rule.meaning));
    let codes = list::codes()
        .into_iter()
        .map(|code| Explainable::new(CODE, code.id, code.meaning, code.help));
    topics.chain(functions).chain(rules).chain(codes).collect()
}

/// The matches for some words, best first; an error if there are none.
pub fn found(sought: &str) -> Result<Vec<Explainable>, Error> {
    let few = sought.split_whitespace().take(MOST_WORDS + 1);
    let words: Vec<_> = few.map(str::to_lowercase).collect();
    if words.len() > MOST_WORDS || words.iter().any(|word| word.len() > LONGEST_WORD) {
        let expected = format!("at most {MOST_WORDS} words of at most {LONGEST_WORD} characters");
        return Err(refused(&expected, sought));
    }
    let weighed = all().into_iter().filter_map(|one| Some((one.weight(&words)?, one)));
    let mut found: Vec<_> = weighed.collect();
    if found.is_empty() || words.is_empty() {
        let help = "use fewer words, or see `repro explain --list codes` and `repro explain --list functions`";
        return Err(refused("words that appear in a name or a text", sought).help(help));
    }
    found.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// The names that fit some words, best first, a line each.
pub fn listed(sought: &str) -> Result<String, Error> {
    let found = found(sought)?;
    let width = found.iter().map(|one| one.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for one in found {
        // Into a text: this cannot fail.
        let _ = writeln!(text, "{:<width$}  {}", one.name(), one.what());
    }
    Ok(text)
}

/// Rejects a name that nothing has, with those that are like it.
pub fn unknown(name: &str) -> Error {
    let all = all();
    let names = || all.iter().map(Explainable::name);
    let mut near = similar::several(name, names(), SUGGESTED);
    let holding = names().filter(|known| known.contains(name) && !near.contains(known));
    let holding: Vec<_> = holding.take(SUGGESTED - near.len()).collect();
    near.extend(holding);
    match near.is_empty() {
        false => refused(&format!("perhaps {}", near.join(", ")), name),
        true => {
            let topics = list::TOPICS.map(|(name, _)| format!("`{name}`")).join(", ");
            refused(&format!("a code, a function, a rule, or one of {topics}"), name)
        }
    }
}

fn refused(expected: &str, found: &str) -> Error {
    UNKNOWN_CODE.at(Location::file("explain"), expected, format!("`{found}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &str) -> Vec<String> {
        let found = listed(words).unwrap();
        found.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_name_comes_before_a_text() {
        assert_eq!(names("wilson95")[0], "wilson95");
        assert_eq!(names("GATE")[0], "gate");
        assert!(names("standard deviation").iter().take(5).any(|name| name == "sd"));
    }

    #[test]
    fn all_words_have_to_fit() {
        let found = names("signature timestamp");
        assert!(found.contains(&"signature::bad-timestamp".to_owned()));
        assert!(!found.contains(&"signature::bad-key".to_owned()), "{found:?}");
        assert!(listed("signature nosuchword").is_err());
        assert!(listed(" ").is_err());
        assert!(listed(&"a ".repeat(500_000)).is_err() && listed(&"a".repeat(500_000)).is_err());
    }

    #[test]
    fn an_unknown_name_brings_those_that_are_like_it() {
        assert!(unknown("value::difers").expected.contains("perhaps value::differs"));
        assert!(unknown("gaet").expected.contains("gate"));
        assert!(unknown("zzzzzzzz").expected.contains("`scope`"));
    }
}
