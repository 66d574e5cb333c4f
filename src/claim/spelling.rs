//! Normalized texts: all spellings of a character become one, and emphasis marks are removed.
//!
//! Quotation marks, dashes and spaces have many spellings, and a typed quote has different ones than the page. Digits and
//! decimal points are unchanged, and nothing visible is removed between two characters of one number; tags, link addresses
//! and footnote references are invisible.

use std::ops::Range;

use memchr::memmem;

use crate::markup::{self, Brackets, Seen};
use crate::seen::has_no_width;

/// The maximum number of overlapping positions of a quote.
const MOST_OVERLAPPING: usize = 100;

/// A text with one spelling for each character, and the origin of each of its bytes.
#[derive(Debug, Default)]
pub struct PlainSpelling {
    /// The text: no emphasis, straight quotes, one kind of dash, single spaces.
    pub text: String,
    /// The bytes of the original at which the sign of each byte begins and ends.
    from: Vec<(u32, u32)>,
}

impl PlainSpelling {
    /// Normalizes a text of at most 4 GB.
    pub fn of(text: &str) -> Self {
        let mut plain = Self::default();
        let mut before = None;
        // The ends of the words of links, and the extent of the marks there.
        let mut closes: Vec<Range<usize>> = Vec::new();
        let brackets = Brackets::of(text);
        // The end of a run of emphasis marks that was inspected: either all of its marks are removed or none.
        let mut kept_until = 0;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let end = at + c.len_utf8();
            if closes.last().is_some_and(|close| close.start == at) {
                at = closes.pop().map_or(end, |close| close.end);
                continue;
            }
            if let Some((length, seen)) = markup::mark(text, at, &brackets) {
                match seen {
                    Seen::Nothing => {}
                    Seen::Sign(sign) => {
                        plain.say(spelled(sign, &rest[length..]), at..at + length);
                        before = Some(sign);
                    }
                    Seen::Link { words, close } => {
                        let start = at + length + words;
                        closes.push(start..start + close);
                    }
                }
                at += length;
                continue;
            }
            if is_emphasis(c) && at >= kept_until && !text[..at].ends_with('\\') {
                let behind = rest.trim_start_matches(is_emphasis);
                kept_until = text.len() - behind.len();
                if is_left_out(before, behind) {
                    at = text.len() - behind.len();
                    continue;
                }
            }
            if !has_no_width(c) {
                plain.say(spelled(c, &text[end..]), at..end);
                before = Some(c);
            }
            at = end;
        }
        plain
    }

    /// A text with unchanged characters, and one space for each run of white space.
    pub fn single_spaced(text: &str) -> Self {
        let mut plain = Self::default();
        for (at, c) in text.char_indices() {
            plain.say(if c.is_whitespace() { ' ' } else { c }, at..at + c.len_utf8());
        }
        plain
    }

    /// A text with unchanged characters and no white space.
    pub fn squeezed(text: &str) -> Self {
        let mut plain = Self::default();
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            plain.push(c.encode_utf8(&mut [0; 4]), at..at + c.len_utf8());
        }
        plain
    }

    /// Appends a character; of several spaces only the first.
    fn say(&mut self, sign: char, from: Range<usize>) {
        if sign != ' ' || !self.text.ends_with(' ') {
            self.push(sign.encode_utf8(&mut [0; 4]), from);
        }
    }

    /// Appends characters that represent a part of the original.
    pub(crate) fn push(&mut self, signs: &str, from: Range<usize>) {
        self.text.push_str(signs);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.from.resize(self.text.len(), (place(from.start), place(from.end)));
    }

    /// All positions of some words, normalized in the same way, in this text. Positions may overlap; if more than
    /// `MOST_OVERLAPPING` do, only later ones without overlap are returned, because a repetitive text contains the start of
    /// a quote nearly everywhere.
    pub fn places(&self, words: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if words.is_empty() {
            return found;
        }
        let (text, finder) = (self.text.as_bytes(), memmem::Finder::new(words));
        let (mut from, mut beside, mut overlapping) = (0, 0, 0);
        while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
            let start = from + at;
            found.push(start..start + words.len());
            if start < beside {
                overlapping += 1;
            } else {
                beside = start + words.len();
            }
            from = if overlapping < MOST_OVERLAPPING { start + 1 } else { beside };
        }
        found
    }

    /// The range in the original of a part of the normalized text.
    pub fn original(&self, part: Range<usize>) -> Range<usize> {
        let of = |at: usize| {
            self.from.get(at).map_or((0, 0), |(start, end)| (*start as usize, *end as usize))
        };
        of(part.start).0..of(part.end.saturating_sub(1)).1
    }
}

/// Whether two texts are equal after normalization.
pub fn same(a: &str, b: &str) -> bool {
    a == b || PlainSpelling::of(a).text.trim() == PlainSpelling::of(b).text.trim()
}

/// The normalized spelling of a character; an em dash before a digit is not a minus and stays unchanged.
fn spelled(c: char, rest: &str) -> char {
    match c {
        '‘' | '’' | '‚' | '‛' => '\'',
        '“' | '”' | '„' | '‟' => '"',
        '‐' | '‑' | '‒' | '–' | '−' => '-',
        '—' | '―' if !rest.starts_with(|next: char| next.is_ascii_digit() || next == '.') => {
            '-'
        }
        '—' | '―' => '—',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

fn is_emphasis(c: char) -> bool {
    matches!(c, '*' | '_' | '`')
}

/// Whether marks between `before` and `rest` are emphasis: they are at the edge of words, and removing them joins nothing.
/// `8*384` is a product, `top_k` a name.
fn is_left_out(before: Option<char>, rest: &str) -> bool {
    let mut after = rest.chars();
    let next = after.next();
    // A sign or a decimal point before a digit is part of a number.
    let begins_number = next.is_some_and(|c| ".,+-−–".contains(c))
        && after.next().is_some_and(|c| c.is_ascii_digit());
    let is_word = |c: char| c.is_alphanumeric();
    let joins = before.is_some_and(|c| is_word(c) || ".,+-−–^".contains(c))
        && (next.is_some_and(is_word) || begins_number);
    let is_alone = before.is_some_and(char::is_whitespace) && next.is_some_and(char::is_whitespace);
    !joins && !is_alone
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_text_are_the_same() {
        for (a, b) in [
            ("the model’s “loss”", "the model's \"loss\""),
            ("−0.015 – and", "-0.015 - and"),
            ("**1.7168**, `lr` of *0.1*", "1.7168, lr of 0.1"),
            ("1.7016\u{a0}±\u{2009}0.0134", "1.7016 ± 0.0134"),
            ("so — it is", "so - it is"),
            ("__bold__ \n text", "bold text"),
            ("**−0.5**", "-0.5"),
            ("[**Tiny**](https://x.org/1) \u{1f947}", "Tiny \u{1f947}"),
            ("[Tiny](\0\0\0) is [best](./a)", "Tiny is best"),
            ("0.21&nbsp;M &plusmn; 0.1", "0.21 M ± 0.1"),
            ("<b>1.7016</b><br>of <td align=\"right\">12</td>", "1.7016 of 12"),
            ("Dense<sup>†</sup> of", "Dense† of"),
            ("329,280[^1] of it", "329,280 of it"),
            (r"12\% of top\_k", "12% of top_k"),
        ] {
            assert!(same(a, b) && same(b, a), "{a}");
        }
    }

    #[test]
    fn no_number_becomes_another() {
        for (a, b) in [
            ("8*384", "8384"),
            ("2*-3", "2-3"),
            ("10**-3", "10-3"),
            ("4**.5", "4.5"),
            ("1_209", "1209"),
            ("top_k", "topk"),
            ("8 * 384", "8 384"),
            ("1,209", "1.209"),
            ("-0.5", "0.5"),
            ("loss —0.5", "loss -0.5"),
            ("1.7168", "1.716"),
            ("10<sup>6</sup>", "106"),
            ("~~1.72~~", "1.72"),
            ("<del>1.72</del>", "1.72"),
            ("a[i](5)", "ai"),
            ("x[0](1.5)", "x0"),
            ("1 < 5 > 3", "1 3"),
        ] {
            assert!(!same(a, b), "{a}");
        }
    }

    #[test]
    fn places_are_those_of_the_original() {
        let text = "The model’s\n**loss** is\u{a0}−0.5.";
        let plain = PlainSpelling::of(text);
        let found = plain.places("model's loss is -0.5");
        assert_eq!(found.len(), 1);
        assert_eq!(&text[plain.original(found[0].clone())], "model’s\n**loss** is\u{a0}−0.5");
        assert!(plain.places("**").is_empty() && plain.places("").is_empty());
        let spaced = PlainSpelling::single_spaced("a \n b");
        assert_eq!((spaced.text.as_str(), spaced.original(0..3)), ("a b", 0..5));
        let squeezed = PlainSpelling::squeezed("a \n b");
        assert_eq!((squeezed.text.as_str(), squeezed.original(1..2)), ("ab", 4..5));
    }

    #[test]
    fn places_may_overlap() {
        let starts = |text: &str, words: &str| {
            let found = PlainSpelling::single_spaced(text).places(words);
            found.into_iter().map(|place| place.start).collect::<Vec<_>>()
        };
        assert_eq!(starts("aabaabaa", "aabaa"), [0, 3]);
        assert_eq!(starts("aaaa", "aa"), [0, 1, 2]);
        assert_eq!(starts("abab", "b"), [1, 3]);
    }

    proptest! {
        #[test]
        fn every_place_can_be_cut_out(text in "[a1.*_`’“−— \u{a0}é<b>&;/\\[\\]()\0#^]{0,30}", quote in "[a1.*’− ]{1,4}") {
            let plain = PlainSpelling::of(&text);
            let quote = PlainSpelling::of(&quote).text;
            for place in plain.places(&quote) {
                prop_assert_eq!(&plain.text[place.clone()], &quote);
                prop_assert!(text.get(plain.original(place)).is_some());
            }
        }

        #[test]
        fn digits_stay(text in "[0-9.*_` a-]{0,20}") {
            let digits = |text: &str| text.chars().filter(|c| !"*_` ".contains(*c)).collect::<String>();
            prop_assert_eq!(digits(&PlainSpelling::of(&text).text), digits(&text));
        }
    }
}
