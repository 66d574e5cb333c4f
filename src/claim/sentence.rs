//! The sentence around a part of a text.

use std::ops::Range;

/// The number of bytes before and after the part at which an endless sentence is cut.
const REACH: usize = 200;

/// The sentence, or the table row, that contains a part of a text.
pub fn around(text: &str, part: &Range<usize>) -> Range<usize> {
    let (before, behind) = beside(text, part, REACH);
    let ends = |text: &'_ str| {
        let ends = text.char_indices().map(|(at, c)| (c, at + c.len_utf8()));
        ends.filter(|(c, end)| is_end(*c, &text[*end..])).map(|(_, end)| end).collect::<Vec<_>>()
    };
    let first = part.start - before.len();
    let start = first + ends(before).last().copied().unwrap_or(0);
    // A part that ends a sentence does not extend to the next one.
    let is_over = text[part.clone()].trim_end().ends_with(['.', '!', '?']);
    let rest = if is_over { 0 } else { ends(behind).first().copied().unwrap_or(behind.len()) };
    start..part.end + rest
}

/// The number of bytes before and after the part at which an endless paragraph is cut.
const PARAGRAPH_REACH: usize = 2_000;

/// The paragraph that contains a part of a text, between two empty lines.
pub fn paragraph(text: &str, part: &Range<usize>) -> Range<usize> {
    let (before, behind) = beside(text, part, PARAGRAPH_REACH);
    let is_empty_line =
        |rest: &str| rest.split_once('\n').is_some_and(|(line, _)| line.trim().is_empty());
    let mut starts = before.match_indices('\n').filter(|(at, _)| is_empty_line(&before[at + 1..]));
    let mut ends = behind.match_indices('\n').filter(|(at, _)| is_empty_line(&behind[at + 1..]));
    let start = starts.next_back().map_or(0, |(at, _)| at + 1);
    let end = ends.next().map_or(behind.len(), |(at, _)| at);
    part.start - before.len() + start..part.end + end
}

/// The text before and after a part, at most `reach` bytes each.
fn beside<'t>(text: &'t str, part: &Range<usize>, reach: usize) -> (&'t str, &'t str) {
    (last_bytes(&text[..part.start], reach), first_bytes(&text[part.end..], reach))
}

/// The start of a text, at most `most` bytes.
pub fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The end of a text, at most `most` bytes.
pub fn last_bytes(text: &str, most: usize) -> &str {
    let start =
        (text.len().saturating_sub(most)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(text.len())..]
}

/// Whether a sign before `rest` ends a sentence, a paragraph or a heading.
fn is_end(c: char, rest: &str) -> bool {
    match c {
        '.' | '!' | '?' => rest.starts_with(char::is_whitespace),
        '\n' => rest.trim_start_matches([' ', '\t']).starts_with(['\n', '#', '|', '-', '*', '>']),
        '|' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{around, paragraph};

    #[test]
    fn a_paragraph_ends_at_an_empty_line() {
        let text = "# Title\n\nFirst 1.5.\nDense 1.7 é.\n \nLast";
        let of = |part: &str| {
            let at = text.find(part).unwrap();
            text[paragraph(text, &(at..at + part.len()))].trim().to_owned()
        };
        assert_eq!(of("1.7"), "First 1.5.\nDense 1.7 é.");
        assert_eq!(of("Title"), "# Title");
        assert_eq!(of("Last"), "Last");
    }

    #[test]
    fn a_sentence_ends_at_its_point_and_at_a_paragraph() {
        let text = "# Title\n\nFirst 1.5. Dense: the loss\nis 1.71, it seems. Last\n\n- item";
        let of = |part: &str| {
            let at = text.find(part).unwrap();
            text[around(text, &(at..at + part.len()))].trim().to_owned()
        };
        assert_eq!(of("the loss\nis 1.71"), "Dense: the loss\nis 1.71, it seems.");
        assert_eq!(of("First 1.5."), "First 1.5.");
        assert_eq!(of("Last"), "Last");
        assert_eq!(of("Title"), "# Title");
    }
}
