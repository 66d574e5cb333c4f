//! The sentence around a part of a text.

use std::ops::Range;

/// A sentence without an end is cut so many bytes before and behind the part.
const REACH: usize = 200;

/// The sentence, or the line of a table, that has a part of a text.
pub fn around(text: &str, part: &Range<usize>) -> Range<usize> {
    let boundary = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let first = boundary(part.start.saturating_sub(REACH));
    let last = boundary((part.end + REACH).min(text.len()));
    let before = &text[first..part.start];
    let mut ends = before.char_indices().filter(|(at, c)| is_end(*c, &before[at + c.len_utf8()..]));
    let start = ends.next_back().map_or(first, |(at, c)| first + at + c.len_utf8());
    let behind = &text[part.end..last];
    let mut ends = behind.char_indices().filter(|(at, c)| is_end(*c, &behind[at + c.len_utf8()..]));
    // What ends inside the part goes on to no other sentence.
    let is_over = text[part.clone()].trim_end().ends_with(['.', '!', '?']);
    let end = match ends.next() {
        _ if is_over => part.end,
        Some((at, c)) => part.end + at + c.len_utf8(),
        None => last,
    };
    start..end
}

/// A paragraph without an end is cut so many bytes before and behind the part.
const PARAGRAPH_REACH: usize = 2_000;

/// The paragraph that has a part of a text: what stands between two empty lines.
pub fn paragraph(text: &str, part: &Range<usize>) -> Range<usize> {
    let boundary = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let first = boundary(part.start.saturating_sub(PARAGRAPH_REACH));
    let last = boundary((part.end + PARAGRAPH_REACH).min(text.len()));
    let is_empty_line =
        |rest: &str| rest.split_once('\n').is_some_and(|(line, _)| line.trim().is_empty());
    let before = &text[first..part.start];
    let mut starts = before.match_indices('\n').filter(|(at, _)| is_empty_line(&before[at + 1..]));
    let start = starts.next_back().map_or(first, |(at, _)| first + at + 1);
    let behind = &text[part.end..last];
    let mut ends = behind.match_indices('\n').filter(|(at, _)| is_empty_line(&behind[at + 1..]));
    start..ends.next().map_or(last, |(at, _)| part.end + at)
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
