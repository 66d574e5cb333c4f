//! Text hidden by TeX commands: phantoms, white text, text of size zero, and text after the end of the document.
//!
//! Formulas in Markdown and HTML have the same commands. A text may repeat one bracket a million times, so the closing
//! position of each is computed once for the whole text.

use std::collections::HashMap;
use std::ops::Range;

use crate::sentence::{first_bytes, last_bytes};
use crate::styles::{amount, is_white};
use crate::words::words;

/// The largest unreadable font size in points, and the largest unreadable scale factor.
const SMALLEST: f64 = 1.0;
const SMALLEST_SHARE: f64 = 0.05;
/// The maximum length of a color model's name in bytes, including its brackets.
const LONGEST_MODEL: usize = 100;
/// The distance before white text in which its background may be defined.
const NEAR: usize = 400;
/// The ends of a setting inside its group: the next cell, line, formula or paragraph.
const ENDS: [&str; 4] = ["&", "\\\\", "$", "\n\n"];

/// The groups `{...}` of a text.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    closed: HashMap<usize, usize>,
    /// Whether the whole text has a background on which white text may be readable.
    has_ground: bool,
}

impl Groups {
    pub(crate) fn of(text: &str) -> Self {
        let (mut closed, mut open) = (HashMap::new(), Vec::new());
        let mut is_escaped = false;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'{' if !is_escaped => open.push(at),
                b'}' if !is_escaped => closed.extend(open.pop().map(|start| (start, at))),
                _ => {}
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
        let has_ground = words().list("tex.page_grounds").iter().any(|name| text.contains(name));
        Self { closed, has_ground }
    }

    /// The next argument of a command, without its brackets.
    fn argument(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let start = text.len() - text[at..].trim_start().len();
        let close = *self.closed.get(&start)?;
        Some(start + 1..close)
    }

    /// The range hidden by the command at a position, if any.
    pub(crate) fn hidden(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let rest = text.get(at..)?.strip_prefix('\\')?;
        let name = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
        let behind = at + 1 + name.len();
        if words().is_in("tex.phantoms", name) {
            return self.argument(text, behind);
        }
        let holds_on = words().is_in("tex.settings", name);
        if !holds_on && !words().is_in("tex.boxes", name) {
            return None;
        }
        let near = first_bytes(&text[behind..], LONGEST_MODEL);
        let option = near.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let model = option.map_or("", |(model, _)| model);
        let first = behind + option.map_or(0, |_| model.len() + 2);
        let given = self.argument(text, first)?;
        let value = &text[given.clone()];
        let smallest = if name == "fontsize" { SMALLEST } else { SMALLEST_SHARE };
        let is_unseen = if name.ends_with("color") {
            !self.has_ground(text, at) && is_white_in(model, value)
        } else {
            amount(value).is_some_and(|size| size.abs() <= smallest)
        };
        if !is_unseen {
            return None;
        }
        // `\fontsize{0}{0}` and `\resizebox{0pt}{!}{words}` have two sizes.
        let has_two = name == "fontsize" || name == "resizebox";
        let given = if has_two { self.argument(text, given.end + 1)? } else { given };
        if holds_on {
            Some(given.end + 1..self.reach(text, given.end + 1))
        } else {
            self.argument(text, given.end + 1)
        }
    }

    /// Whether white text at a position may have a darker background.
    fn has_ground(&self, text: &str, at: usize) -> bool {
        let paragraph = last_bytes(&text[..at], NEAR).rsplit("\n\n").next().unwrap_or_default();
        self.has_ground || words().list("tex.grounds").iter().any(|name| paragraph.contains(name))
    }

    /// The end of a setting's scope from a position.
    fn reach(&self, text: &str, from: usize) -> usize {
        let mut at = from;
        while let Some(next) = text[at..].chars().next() {
            let ends = ENDS.iter().any(|end| text[at..].starts_with(end));
            at = match next {
                '}' => return at,
                '{' => self.closed.get(&at).map_or(at + 1, |close| close + 1),
                _ if ends => return at,
                _ => at + next.len_utf8(),
            };
        }
        text.len()
    }
}

/// Whether a color is white in a model of `xcolor`.
fn is_white_in(model: &str, color: &str) -> bool {
    let parts = || color.split(',').map(|part| part.trim().parse::<f64>().ok());
    let all = |wanted: f64| parts().all(|part| part == Some(wanted));
    match model {
        "rgb" | "gray" => all(1.0),
        "RGB" => all(255.0),
        "cmyk" | "cmy" => all(0.0),
        "HTML" => is_white(&format!("#{}", color.to_ascii_lowercase())),
        _ => is_white(&color.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    fn left(text: &str) -> String {
        let at = text.find('\\').unwrap();
        let hidden = Groups::of(text).hidden(text, at).unwrap_or(0..0);
        format!("{}{}", &text[..hidden.start], &text[hidden.end..])
    }

    #[test]
    fn what_is_not_printed_is_hidden() {
        for (text, expected) in [
            (r"a \phantom{1.5} b", r"a \phantom{} b"),
            (r"\hphantom {1.{5}} b", r"\hphantom {} b"),
            (r"\textcolor{white}{1.5} b", r"\textcolor{white}{} b"),
            (r"\textcolor[HTML]{FFFFFF}{1.5} b", r"\textcolor[HTML]{FFFFFF}{} b"),
            (r"\textcolor[rgb]{1,1,1}{1.5}", r"\textcolor[rgb]{1,1,1}{}"),
            (r"{\color{white} 1.5} b", r"{\color{white}} b"),
            (r"$\color{white}{1.5}$ b", r"$\color{white}$ b"),
            (r"{\fontsize{0}{0}\selectfont 1.5} b", r"{\fontsize{0}{0}} b"),
            (r"\scalebox{0}{1.5} b", r"\scalebox{0}{} b"),
            (r"\resizebox{0pt}{!}{1.5} b", r"\resizebox{0pt}{!}{} b"),
        ] {
            assert_eq!(left(text), expected);
        }
    }

    #[test]
    fn what_is_printed_is_seen() {
        for text in [
            r"\textcolor{red}{1.5}",
            r"\textcolor[rgb]{1,0,0}{1.5}",
            r"\rowcolor{black} \textcolor{white}{1.5}",
            r"{\fontsize{9}{11}\selectfont 1.5}",
            r"\scalebox{0.8}{1.5}",
            r"\resizebox{\textwidth}{!}{1.5}",
            r"\phantom{1.5",
            r"\textbf{1.5}",
        ] {
            let at = text.rfind("\\text").or(text.find('\\')).unwrap();
            assert_eq!(Groups::of(text).hidden(text, at), None, "{text}");
        }
    }
}
