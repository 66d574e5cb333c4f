//! Markdown and HTML markup inside the words of a text, and whether readers see it.
//!
//! A text may repeat one mark a million times, so the closing position of each bracket is computed once, and no mark is
//! searched for to the end of the text again and again.

use std::collections::HashMap;

use crate::words::words;

/// The visible effect of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing.
    Nothing,
    /// One sign.
    Sign(char),
    /// The words of a link; it ends `words` bytes later with a mark of `close` bytes.
    Link { words: usize, close: usize },
}

/// The brackets of a text that are closed in their paragraph.
#[derive(Debug, Default)]
pub(crate) struct Brackets(HashMap<usize, usize>);

impl Brackets {
    pub(crate) fn of(text: &str) -> Self {
        let mut closed = HashMap::new();
        if !text.contains('[') {
            return Self(closed);
        }
        let (mut square, mut round) = (Vec::new(), Vec::new());
        let mut last = 0;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'[' => square.push(at),
                b'(' => round.push(at),
                b']' => closed.extend(square.pop().map(|open| (open, at))),
                b')' => closed.extend(round.pop().map(|open| (open, at))),
                b'\n' if last == b'\n' => {
                    square.clear();
                    round.clear();
                }
                _ => {}
            }
            last = byte;
        }
        Self(closed)
    }

    /// The position where the bracket at `open` is closed.
    pub(crate) fn close(&self, open: usize) -> Option<usize> {
        self.0.get(&open).copied()
    }
}

/// A tag of HTML.
pub(crate) struct Tag<'t> {
    /// Its name, in lower case.
    pub(crate) name: String,
    pub(crate) is_closing: bool,
    /// The text between its name and its `>`.
    pub(crate) inside: &'t str,
    /// Its attributes and their values, in lower case.
    pub(crate) attributes: Vec<(String, String)>,
    /// Its length in bytes.
    pub(crate) length: usize,
}

impl<'t> Tag<'t> {
    /// The tag at the start of a text, if it is one by the grammar of HTML.
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let bare = inner.strip_prefix('/').unwrap_or(inner);
        let end = bare.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))?;
        let (name, behind) = bare.split_at(end);
        let (attributes, end) = attributes(behind)?;
        let length = text.len() - behind.len() + end + 1;
        name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| Self {
            name: name.to_ascii_lowercase(),
            is_closing: bare.len() < inner.len(),
            inside: &behind[..end],
            attributes,
            length,
        })
    }

    /// Whether it has no content: `<br/>`.
    pub(crate) fn is_alone(&self) -> bool {
        self.inside.ends_with('/')
    }
}

/// The attributes of a tag, and the position of its `>`; none if they violate the HTML grammar.
fn attributes(text: &str) -> Option<(Vec<(String, String)>, usize)> {
    // Hidden parts of a tag are zero-width characters here.
    let is_space = |c: char| c.is_whitespace() || c == '\0';
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let bare = rest.trim_start_matches(is_space);
        let is_apart = bare.len() < rest.len();
        let close = bare.strip_prefix('/').unwrap_or(bare);
        if close.starts_with('>') {
            return Some((found, text.len() - close.len()));
        }
        if !is_apart || !bare.starts_with(|c: char| c.is_ascii_alphabetic() || "_:@".contains(c)) {
            return None;
        }
        let end = bare.find(|c: char| !(c.is_ascii_alphanumeric() || "_:.-@".contains(c)))?;
        let (name, behind) = bare.split_at(end);
        let given = behind.trim_start().strip_prefix('=').map(str::trim_start);
        let (value, behind) = match given.map(|given| (given, given.chars().next())) {
            None => ("", behind),
            Some((given, Some(quote @ ('"' | '\'')))) => given[1..].split_once(quote)?,
            Some((given, _)) => {
                given.split_at(given.find(|c: char| c.is_whitespace() || "\"'=<>`".contains(c))?)
            }
        };
        found.push((name.to_ascii_lowercase(), value.to_ascii_lowercase()));
        rest = behind;
    }
}

/// The length of the mark at a position of the text, and its visible effect.
pub(crate) fn mark(text: &str, at: usize, brackets: &Brackets) -> Option<(usize, Seen)> {
    let rest = &text[at..];
    match rest.as_bytes().first()? {
        b'<' => raised_mark(rest).or_else(|| tag(rest)),
        b'&' => entity(rest).map(|(length, sign)| (length, Seen::Sign(sign))),
        b'[' => {
            note(rest).map(|length| (length, Seen::Nothing)).or_else(|| link(text, at, brackets))
        }
        b'\\' => escaped(rest).then_some((1, Seen::Nothing)),
        _ => None,
    }
}

/// A tag; superscripts and subscripts are not part of the text on the line.
fn tag(text: &str) -> Option<(usize, Seen)> {
    let tag = Tag::read(text)?;
    if words().is_in("html.inline", &tag.name) {
        return Some((tag.length, Seen::Nothing));
    }
    words().is_in("html.blocks", &tag.name).then_some((tag.length, Seen::Sign(' ')))
}

/// The tags around a superscript that is not a digit: `<sup>†</sup>`.
fn raised_mark(text: &str) -> Option<(usize, Seen)> {
    let mark = text.strip_prefix("<sup>")?;
    let end = mark.find('<').filter(|end| mark[*end..].starts_with("</sup>"))?;
    let is_mark = !mark[..end].contains(|c: char| c.is_numeric() || "-−+".contains(c));
    is_mark.then_some((5, Seen::Link { words: end, close: 6 }))
}

/// The length of an entity, and the sign that it is.
pub(crate) fn entity(text: &str) -> Option<(usize, char)> {
    const LONGEST: usize = 20;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = &text[1..end];
    let sign = match name.strip_prefix('#') {
        Some(code) => {
            let hex = code.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| code.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
            char::from_u32(code)?
        }
        None => words().pair("entity", name)?.chars().next()?,
    };
    Some((end + 1, sign))
}

/// The length of a footnote reference: `[^1]`.
fn note(text: &str) -> Option<usize> {
    const LONGEST: usize = 200;
    let label = text.strip_prefix("[^")?;
    let end = label.bytes().take(LONGEST).position(|byte| byte == b']').filter(|end| *end > 0)?;
    let is_name = !label[..end].contains(char::is_whitespace);
    (is_name && !label[end + 1..].starts_with(':')).then_some(end + 3)
}

/// The bracket that opens the words of a link, whose address or label is hidden or whose address is written.
fn link(text: &str, at: usize, brackets: &Brackets) -> Option<(usize, Seen)> {
    let words = brackets.close(at)?;
    let behind = words + 1;
    let target = &text[behind + 1..brackets.close(behind)?];
    let is_hidden = || target.bytes().all(|byte| byte == 0 || byte == b'\n');
    let is_link = match text.as_bytes()[behind] {
        b'[' => words > at + 1 && is_hidden(),
        _ => {
            is_hidden()
                || ["http://", "https://", "#", "/", "./", "../"]
                    .iter()
                    .any(|start| target.starts_with(start))
        }
    };
    is_link.then_some((1, Seen::Link { words: words - at - 1, close: target.len() + 3 }))
}

/// Whether a backslash only escapes the following character.
fn escaped(text: &str) -> bool {
    text[1..].starts_with([
        '*', '_', '`', '%', '$', '#', '~', '&', '|', '<', '>', '[', ']', '+', '-', '.', '!',
    ])
}
