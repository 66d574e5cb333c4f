//! Finds the words of a text that are most like a quote that is not in it.
//!
//! A text is split into words once; each quote then looks up its rarer words, so many quotes of a long text are fast.

use std::collections::HashMap;
use std::ops::Range;

/// The maximum number of words of a quote that are searched for.
const MOST_WORDS: usize = 60;
/// Words with more occurrences are ignored.
const MOST_PLACES: usize = 400;
/// The maximum number of starting positions that are compared word by word.
const MOST_STARTS: usize = 12;
/// The maximum number of consecutive words of a quote that may be missing.
const SHIFTED: usize = 4;

/// The words of a text with their positions.
#[derive(Debug)]
pub struct WordIndex {
    words: Vec<(String, Range<usize>)>,
    places: HashMap<String, Vec<u32>>,
}

impl WordIndex {
    /// Indexes a text.
    pub fn of(text: &str) -> Self {
        let words = words(text);
        let mut places: HashMap<String, Vec<u32>> = HashMap::new();
        for (index, (word, _)) in words.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            places.entry(word.clone()).or_default().push(index);
        }
        Self { words, places }
    }

    /// Each distinct word in lower case, with its first position.
    pub fn vocabulary(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.places.iter().filter_map(|(word, places)| {
            let first = *places.first()? as usize;
            Some((word.as_str(), self.words.get(first)?.1.clone()))
        })
    }

    /// The position of the words most like `quote`; none if too few of them match.
    pub fn nearest(&self, quote: &str) -> Option<Range<usize>> {
        let mut wanted: Vec<String> = words(quote).into_iter().map(|(word, _)| word).collect();
        wanted.truncate(MOST_WORDS);
        let mut best: Option<(usize, Range<usize>)> = None;
        for start in self.starts(&wanted) {
            let end = (start + wanted.len() + wanted.len() / 4).min(self.words.len());
            let Some((common, found)) = self.in_common(start..end, &wanted) else { continue };
            if best.as_ref().is_none_or(|(most, _)| common > *most) {
                best = Some((common, found));
            }
        }
        let (common, found) = best?;
        let is_near = common * 5 >= wanted.len() * 2;
        is_near.then(|| self.words[found.start].1.start..self.words[found.end].1.end)
    }

    /// The likely starting positions of a quote, judging by most of its words, the likeliest first.
    fn starts(&self, wanted: &[String]) -> Vec<usize> {
        let mut votes: HashMap<usize, usize> = HashMap::new();
        for (offset, word) in wanted.iter().enumerate() {
            let places = self.places.get(word).map_or(&[][..], Vec::as_slice);
            if places.len() <= MOST_PLACES || wanted.len() == 1 {
                for place in places.iter().take(MOST_PLACES) {
                    *votes.entry((*place as usize).saturating_sub(offset)).or_default() += 1;
                }
            }
        }
        let mut starts: Vec<_> = votes.into_iter().map(|(start, count)| (count, start)).collect();
        starts.sort_by_key(|(count, start)| (std::cmp::Reverse(*count), *start));
        starts.into_iter().take(MOST_STARTS).map(|(_, start)| start).collect()
    }

    /// The number of words of a part of the text that match the wanted words in order, and the matching part: mistyped
    /// words at either end belong to it.
    fn in_common(&self, part: Range<usize>, wanted: &[String]) -> Option<(usize, Range<usize>)> {
        let (mut count, mut next) = (0, 0);
        let (mut first, mut last) = (None, (part.start, 0));
        for at in part {
            let word = &self.words[at].0;
            // A missing or inserted word shifts the following ones by a few positions.
            let mut near = wanted.iter().enumerate().skip(next).take(SHIFTED);
            let Some((found, _)) = near.find(|(_, one)| *one == word) else { continue };
            count += 1;
            next = found + 1;
            first = first.or(Some((at, found)));
            last = (at, found);
        }
        let (at, found) = first?;
        let end = last.0 + (wanted.len() - 1 - last.1);
        Some((count, at.saturating_sub(found)..end.min(self.words.len() - 1)))
    }
}

/// The words and numbers of a text in lower case, without surrounding punctuation, and their positions.
fn words(text: &str) -> Vec<(String, Range<usize>)> {
    let is_edge = |c: char| !c.is_alphanumeric() && !"-−±%$".contains(c);
    let mut words = Vec::new();
    let mut at = 0;
    for part in text.split_inclusive(char::is_whitespace) {
        let behind = part.trim_start_matches(is_edge);
        let inside = behind.trim_end_matches(is_edge);
        if !inside.is_empty() {
            let start = at + part.len() - behind.len();
            words.push((inside.to_lowercase(), start..start + inside.len()));
        }
        at += part.len();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nearest<'t>(text: &'t str, quote: &str) -> Option<&'t str> {
        WordIndex::of(text).nearest(quote).map(|found| &text[found])
    }

    #[test]
    fn slips_are_found() {
        let text = "The mixture ends at 1.7016 ± 0.0134 over six seeds.\n\nThe dense model ends at 1.7168.\n";
        for (quote, found) in [
            ("ends at 1.7061 ± 0.0134 over six seeds", "ends at 1.7016 ± 0.0134 over six seeds"),
            ("end at 1.7016 ± 0.0134 over six", "ends at 1.7016 ± 0.0134 over six"),
            ("the dense model ends at 1.7168", "The dense model ends at 1.7168"),
            ("The dense model that ends at 1.7168", "The dense model ends at 1.7168"),
        ] {
            assert_eq!(nearest(text, quote), Some(found), "{quote}");
        }
        assert_eq!(nearest(text, "quite another sentence"), None);
        assert_eq!((nearest(text, ""), nearest("", "a b")), (None, None));
    }

    #[test]
    fn many_quotes_of_a_long_text_take_little_time() {
        let text = (0..200_000).map(|n| format!("w{} ", n % 5_000)).collect::<String>();
        let index = WordIndex::of(&text);
        for n in 0..300 {
            let quote: Vec<_> = (0..40).map(|k| format!("w{}", n + 2 * k)).collect();
            let _ = index.nearest(&quote.join(" "));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}", quote in "\\PC{0,20}") {
            if let Some(found) = nearest(&text, &quote) {
                prop_assert!(!found.is_empty());
            }
        }
    }
}
