//! The marks of Markdown and HTML inside the words of a text: which of them readers do not see.

/// Tags that part nothing.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "big", "code", "em", "font", "i", "ins", "kbd", "mark", "nobr", "q",
    "samp", "small", "span", "strong", "tt", "u", "var", "wbr",
];
/// Tags between what stands apart.
const BLOCKS: &[&str] = &[
    "article",
    "blockquote",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "li",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Entities, and the signs that they are.
const ENTITIES: &[(&str, char)] = &[
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("hairsp", ' '),
    ("numsp", ' '),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("lsquo", '\''),
    ("rsquo", '\''),
    ("ldquo", '"'),
    ("rdquo", '"'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("minus", '−'),
    ("plusmn", '±'),
    ("pm", '±'),
    ("times", '×'),
    ("middot", '·'),
    ("percnt", '%'),
    ("approx", '≈'),
    ("asymp", '≈'),
    ("le", '≤'),
    ("ge", '≥'),
    ("hellip", '…'),
    ("rarr", '→'),
    ("darr", '↓'),
    ("uarr", '↑'),
];

/// What a mark is to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing.
    Nothing,
    /// One sign.
    Sign(char),
    /// The words of a link, which end so many bytes further with a mark of so many.
    Link { words: usize, close: usize },
}

/// The length of the mark that a text begins with, and what readers see of it.
pub(crate) fn mark(text: &str) -> Option<(usize, Seen)> {
    match text.as_bytes().first()? {
        b'<' => raised_mark(text).or_else(|| tag(text)),
        b'&' => entity(text).map(|(length, sign)| (length, Seen::Sign(sign))),
        b'[' => note(text).map(|length| (length, Seen::Nothing)).or_else(|| link(text)),
        b'\\' => escaped(text).then_some((1, Seen::Nothing)),
        _ => None,
    }
}

/// A tag; what stands above or below the line is no part of what stands on it.
fn tag(text: &str) -> Option<(usize, Seen)> {
    let inner = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    let name = &inner[..inner.find(|c: char| !c.is_ascii_alphanumeric())?];
    let end = inner.find(['<', '>']).filter(|end| inner[*end..].starts_with('>'))?;
    let goes_on =
        inner[name.len()..].starts_with(|c: char| c.is_whitespace() || "\0/>".contains(c));
    let name = name.to_ascii_lowercase();
    let length = text.len() - inner.len() + end + 1;
    match (INLINE.contains(&name.as_str()), BLOCKS.contains(&name.as_str())) {
        _ if !goes_on => None,
        (true, _) => Some((length, Seen::Nothing)),
        (_, true) => Some((length, Seen::Sign(' '))),
        _ => None,
    }
}

/// The tags around a mark above the line that is no digit: `<sup>†</sup>`.
fn raised_mark(text: &str) -> Option<(usize, Seen)> {
    let mark = text.strip_prefix("<sup>")?;
    let end = mark.find('<').filter(|end| mark[*end..].starts_with("</sup>"))?;
    let is_mark = !mark[..end].contains(|c: char| c.is_numeric() || "-−+".contains(c));
    is_mark.then_some((5, Seen::Link { words: end, close: 6 }))
}

fn entity(text: &str) -> Option<(usize, char)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = &text[1..end];
    let sign = match name.strip_prefix('#') {
        Some(code) => {
            let hex = code.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| code.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
            char::from_u32(code)?
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((end + 1, sign))
}

/// The length of what points to a note: `[^1]`.
fn note(text: &str) -> Option<usize> {
    let label = text.strip_prefix("[^")?;
    let end =
        label.find(']').filter(|end| *end > 0 && !label[..*end].contains(char::is_whitespace))?;
    (!label[end + 1..].starts_with(':')).then_some(end + 3)
}

/// The bracket that opens the words of a link, whose address is hidden or written.
fn link(text: &str) -> Option<(usize, Seen)> {
    let words = closing(text, '[', ']')?;
    let rest = &text[words + 1..];
    let address = closing(rest, '(', ')').map(|end| &rest[1..end])?;
    let is_address = address.bytes().all(|byte| byte == 0 || byte == b'\n')
        || ["http://", "https://", "#", "/", "./", "../"]
            .iter()
            .any(|start| address.starts_with(start));
    is_address.then_some((1, Seen::Link { words: words - 1, close: address.len() + 3 }))
}

/// Where the bracket that a text begins with is closed, in its paragraph and not far away.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    if !text.starts_with(open) {
        return None;
    }
    const MOST: usize = 3000;
    let mut depth = 0usize;
    for (at, c) in text.char_indices().take(MOST) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        } else if c == '\n' && text[at..].starts_with("\n\n") {
            return None;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether a backslash only keeps the sign behind it from being a mark.
fn escaped(text: &str) -> bool {
    text[1..].starts_with([
        '*', '_', '`', '%', '$', '#', '~', '&', '|', '<', '>', '[', ']', '+', '-', '.', '!',
    ])
}
