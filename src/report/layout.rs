//! A text page of a given width: lines of pieces at tab stops, and wrapped paragraphs.
//! Widths are terminal columns; no line ends in spaces.

use anstyle::{AnsiColor, Effects, Style};
use unicode_width::UnicodeWidthStr;

use crate::outcome::{ClaimReport, Verdict};

/// The no-break space.
pub(super) const GLUE: char = '\u{a0}';

/// The columns that `text` takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The folder that all paths lie in, with a slash at its end; nothing where they have none in common.
pub fn common_folder<'p>(mut paths: impl Iterator<Item = &'p str>) -> &'p str {
    let folder = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
    let Some(first) = paths.next() else { return "" };
    let mut common = first.get(..folder(first)).unwrap_or_default();
    for path in paths {
        while !path.starts_with(common) {
            common = common.get(..folder(common.trim_end_matches('/'))).unwrap_or_default();
        }
    }
    common
}

/// The given terminal width, kept within what people read well.
pub(super) fn readable(width: usize) -> usize {
    width.clamp(40, 140)
}

/// The mark of a verdict and its style.
pub fn mark(verdict: Verdict) -> (&'static str, Style) {
    match verdict {
        Verdict::Refuted => ("✗", AnsiColor::Red.on_default().effects(Effects::BOLD)),
        Verdict::Inconclusive => ("?", AnsiColor::Yellow.on_default().effects(Effects::BOLD)),
        Verdict::Unchecked => ("·", AnsiColor::Cyan.on_default().effects(Effects::BOLD)),
        Verdict::Verified => ("✓", AnsiColor::Green.on_default().effects(Effects::BOLD)),
    }
}

/// How bad a verdict is.
pub(super) fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Verified => 0,
        Verdict::Unchecked => 1,
        Verdict::Inconclusive => 2,
        Verdict::Refuted => 3,
    }
}

/// The mark of a claim and its style: a contradiction that nobody has confirmed only differs, and what is questioned is not drawn in
/// plain green.
pub(super) fn claim_mark(claim: &ClaimReport) -> (&'static str, Style) {
    let doubtful = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
    if claim.differs().is_some() {
        ("≠", doubtful)
    } else if claim.is_questioned() {
        ("!", doubtful)
    } else {
        mark(claim.outcome.verdict)
    }
}

/// A piece of a line.
#[derive(Debug, Clone)]
pub struct Piece {
    text: String,
    style: Style,
    stop: usize,
}

impl Piece {
    /// A piece that would like to stand at column `stop`.
    pub fn at(stop: usize, style: Style, text: impl Into<String>) -> Self {
        Self { text: text.into().trim().to_owned(), style, stop }
    }
}

/// The text so far.
#[derive(Debug)]
pub struct Page {
    width: usize,
    colour: bool,
    text: String,
}

impl Page {
    /// An empty page.
    pub fn new(width: usize, colour: bool) -> Self {
        Self { width: readable(width), colour, text: String::new() }
    }

    /// The columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether `text` fits on a line from column `stop`.
    pub fn fits(&self, stop: usize, text: &str) -> bool {
        stop + columns(text) <= self.width
    }

    /// One empty line, unless the page is empty or has one already.
    pub fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Lines that were drawn elsewhere, moved to the right by `indent`.
    pub fn block(&mut self, indent: usize, lines: &str) {
        for line in lines.lines() {
            let line = line.trim_end();
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n(' ', indent));
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// A row: each cell at its stop, or two columns on where that is taken, or on the next line at
    /// column `indent` where the line is full.
    pub fn row(&mut self, indent: usize, pieces: &[Piece]) {
        let mut line = Line::new(self.colour);
        for piece in pieces.iter().filter(|piece| !piece.text.is_empty()) {
            let next = if line.is_empty() { piece.stop.min(indent) } else { line.used + 2 };
            let wide = columns(&piece.text);
            match [piece.stop.max(next), next].into_iter().find(|at| at + wide <= self.width) {
                Some(at) => line.push(at, piece.style, &piece.text),
                None => {
                    self.flush(&mut line);
                    let width = self.width.saturating_sub(indent);
                    for part in wrap(&piece.text, width, width) {
                        self.flush(&mut line);
                        line.push(indent, piece.style, &part);
                    }
                }
            }
        }
        self.flush(&mut line);
    }

    /// `left` at the start and `right` at the end of one line, or of two.
    pub fn ends(&mut self, left: Piece, right: Piece) {
        let stop = self.width.saturating_sub(columns(&right.text));
        if left.stop + columns(&left.text) + 2 <= stop {
            self.row(0, &[left, Piece { stop, ..right }]);
        } else {
            self.paragraph(left.stop, left.stop + 2, left.style, &left.text);
            self.paragraph(left.stop + 2, left.stop + 2, right.style, &right.text);
        }
    }

    /// Running text: the first line from column `first`, the others from column `rest`.
    pub fn paragraph(&mut self, first: usize, rest: usize, style: Style, text: &str) {
        let mut line = Line::new(self.colour);
        let (wide, narrow) = (self.width.saturating_sub(first), self.width.saturating_sub(rest));
        for (number, part) in wrap(text, wide, narrow).iter().enumerate() {
            line.push(if number == 0 { first } else { rest }, style, part);
            self.flush(&mut line);
        }
    }

    /// The finished text.
    pub fn finish(self) -> String {
        self.text
    }

    fn flush(&mut self, line: &mut Line) {
        if !line.is_empty() {
            self.text.push_str(&line.text);
            self.text.push('\n');
            *line = Line::new(self.colour);
        }
    }
}

/// A line in the making.
struct Line {
    colour: bool,
    text: String,
    used: usize,
}

impl Line {
    fn new(colour: bool) -> Self {
        Self { colour, text: String::new(), used: 0 }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn push(&mut self, at: usize, style: Style, text: &str) {
        let text = text.replace(GLUE, " ");
        let text = text.trim_end();
        self.text.extend(std::iter::repeat_n(' ', at.saturating_sub(self.used)));
        if self.colour && !style.is_plain() {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(text);
        }
        self.used = self.used.max(at) + columns(text);
    }
}

/// `text` broken at spaces, the first line at most `first` columns and the others `rest`; a longer
/// word keeps a line for itself. A no-break space holds two words together.
pub fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Counted along, as measuring the line anew for each word would take quadratic time.
    let mut used = 0;
    let words = text.split(|c: char| c.is_whitespace() && c != GLUE);
    for word in words.filter(|word| !word.trim().is_empty()) {
        let width = if lines.len() <= 1 { first } else { rest };
        let wide = columns(word);
        match lines.last_mut() {
            Some(line) if used + 1 + wide <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + wide;
            }
            _ => {
                lines.push(word.to_owned());
                used = wide;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(stop: usize, text: &str) -> Piece {
        Piece::at(stop, Style::new(), text)
    }

    #[test]
    fn cells_keep_their_stops_until_the_line_is_full() {
        let mut page = Page::new(40, false);
        page.row(2, &[plain(2, "a"), plain(10, "b"), plain(20, "c")]);
        page.row(2, &[plain(2, "a-long-identifier"), plain(10, "b"), plain(36, "wide cell")]);
        page.row(2, &[plain(2, "a"), plain(10, "thirty-six columns of an unbroken word")]);
        assert_eq!(
            page.finish(),
            "  a       b         c\n  a-long-identifier  b  wide cell\n  a\n  thirty-six columns of an unbroken word\n"
        );
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(wrap("表表 表表 表 表", 9, 4), ["表表 表表", "表", "表"]);
        assert_eq!(
            wrap("12\u{a0}verified · 1\u{a0}refuted", 11, 10),
            ["12\u{a0}verified", "·", "1\u{a0}refuted"]
        );
    }

    #[test]
    fn ends_meet_the_margin_or_part() {
        let mut page = Page::new(40, false);
        page.ends(plain(0, "left"), plain(0, "right"));
        page.ends(plain(0, "a title that is rather long"), plain(0, "and many counts"));
        assert_eq!(
            page.finish(),
            format!(
                "left{}right\na title that is rather long\n  and many counts\n",
                " ".repeat(31)
            )
        );
    }
}
