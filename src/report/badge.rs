//! A report in one line for a page: as a picture (SVG), or as the JSON that shields.io draws one from.
//!
//! The worst result comes first and decides the colour. Verified claims come first only if the exit status is 0, and the badge is green
//! only with a minimum origin that the caller required and without constants of the post itself, because anybody can declare numbers.

use serde::Serialize;

use crate::outcome::{ExitStatus, Report, Verdict};
use crate::visible::{escaped_json, visible};
use crate::wording;

/// How a badge looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadgeColour {
    /// All is well.
    Green,
    /// Something is undecided.
    Orange,
    /// Something is wrong, or could not be read.
    Red,
    /// Nothing was found out, no origin was asked for, or numbers of the post itself are part of it.
    Grey,
}

impl BadgeColour {
    /// Its name at shields.io.
    fn word(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Orange => "orange",
            Self::Red => "red",
            Self::Grey => "lightgrey",
        }
    }

    /// The colour behind white letters: their contrast is 4.5 to 1 at least (WCAG 2.2, 1.4.3).
    fn fill(self) -> &'static str {
        match self {
            Self::Green => "#2a7230",
            Self::Orange => "#a14f00",
            Self::Red => "#b3261e",
            Self::Grey => "#5f6368",
        }
    }
}

/// The words and colour of a badge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// The subject on its left side.
    pub label: &'static str,
    /// The result on its right side.
    pub message: String,
    /// How that is to be taken.
    pub colour: BadgeColour,
}

impl Badge {
    /// The badge of a report.
    pub(crate) fn of(report: &Report) -> Self {
        Self { label: "repro", message: message(report), colour: colour(report) }
    }

    /// As a picture: 20 pixels high, as wide as its words.
    pub fn svg(&self) -> String {
        let (label, message) = (visible(self.label), visible(&self.message));
        let (left, right) = (width(&label), width(&message));
        let (whole, fill) = (left + right, self.colour.fill());
        let said = xml(&format!("{label}: {message}"));
        let text = |from: usize, width: usize, words: &str| {
            let (middle, length) = (from + width / 2, width - 2 * MARGIN);
            let words = xml(words);
            format!("    <text x=\"{middle}\" y=\"14\" textLength=\"{length}\">{words}</text>\n")
        };
        let (label, message) = (text(0, left, &label), text(left, right, &message));
        format!(
            "{START} width=\"{whole}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{said}\">\n  \
             <title>{said}</title>\n  \
             <rect width=\"{whole}\" height=\"{HEIGHT}\" rx=\"3\" fill=\"{fill}\"/>\n  \
             <path d=\"M{left} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3h{rest}z\" fill=\"#3c4043\"/>\n  \
             <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" \
             aria-hidden=\"true\">\n{label}{message}  </g>\n</svg>\n",
            rest = left - 3,
        )
    }

    /// As what shields.io draws a badge from.
    pub fn shields(&self) -> String {
        let endpoint = ShieldsEndpoint {
            schema_version: 1,
            label: self.label,
            message: visible(&self.message),
            color: self.colour.word(),
            is_error: self.colour == BadgeColour::Red,
        };
        // Only strings and a number: nothing here can fail to serialise.
        escaped_json(serde_json::to_string_pretty(&endpoint).unwrap_or_default()) + "\n"
    }
}

/// How each picture begins,
pub(crate) const START: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"repro-badge\"";
/// and each answer for shields.io.
pub(crate) const SHIELDS_START: &str = "{\n  \"schemaVersion\": 1,\n  \"label\": \"repro";
const HEIGHT: usize = 20;
/// The pixels before and behind words.
const MARGIN: usize = 6;
/// About the tenths of a pixel that a column of letters of 11 pixels takes; the words are stretched to what comes of it.
const COLUMN: usize = 65;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShieldsEndpoint {
    schema_version: u8,
    label: &'static str,
    message: String,
    color: &'static str,
    /// Whoever shows it may then not choose another colour.
    is_error: bool,
}

fn width(words: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(words) * COLUMN / 10 + 2 * MARGIN
}

fn xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn colour(report: &Report) -> BadgeColour {
    let counts = report.summary();
    let is_wrong = report.confirmed_refutations() > 0;
    match report.exit_status() {
        ExitStatus::Refused | ExitStatus::Refuted => BadgeColour::Red,
        _ if is_wrong => BadgeColour::Red,
        ExitStatus::NotRun => BadgeColour::Orange,
        ExitStatus::Verified
            if report.drafted() + report.questioned() + report.disputed() > 0
                || report.posts_without_claims().next().is_some() =>
        {
            BadgeColour::Orange
        }
        ExitStatus::Verified if counts.total() > 0 && counts.verified == counts.total() => {
            match report.min_origin {
                // What a post brings in itself is declared by its author alone, too.
                Some(_) if counts.with_own_numbers == 0 => BadgeColour::Green,
                _ => BadgeColour::Grey,
            }
        }
        // All that is known is that nothing is known.
        _ if counts.total() == counts.unchecked => BadgeColour::Grey,
        _ => BadgeColour::Orange,
    }
}

/// Why the exit status is not 0, then how many claims there are of each verdict.
fn message(report: &Report) -> String {
    let counts = report.summary();
    if report.is_not_judged() {
        return "not judged".to_owned();
    }
    if report.count_failures() > 0 {
        return format!("{} refused", wording::many(report.count_failures(), "input"));
    }
    if counts.total() == 0 {
        return "nothing checked".to_owned();
    }
    let worst_first =
        [Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked, Verdict::Verified];
    let verdicts = wording::verdicts(&counts, &worst_first);
    let parts = [reasons(report), verdicts].concat();
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    // The verified ones stand last.
    if let (Some(verified), Some(origin)) = (parts.last_mut(), counts.origin) {
        verified.push_str(&format!(", {}", origin.word()));
    }
    if counts.with_own_numbers > 0 {
        parts.push(format!("{} with own constants", counts.with_own_numbers));
    }
    let not_run = if report.not_run { "incomplete run: " } else { "" };
    let recorded =
        if report.locked.as_ref().is_some_and(Vec::is_empty) { "as recorded: " } else { "" };
    format!("{not_run}{recorded}{}", parts.join(" · "))
}

/// The reasons besides verdicts for which the exit status is not 0, each with its count.
fn reasons(report: &Report) -> Vec<(usize, &'static str)> {
    let texts = report.posts.iter().flat_map(|post| &post.texts);
    let unbound = texts.clone().map(|text| text.unbound.len()).sum();
    let absent = texts.filter(|text| !text.is_at_hand).count();
    let bound = if report.wants_all_bound { [unbound, absent] } else { [0, 0] };
    vec![
        (report.locked.as_ref().map_or(0, Vec::len), "not as recorded"),
        (report.forged(), "forged"),
        (report.count_below_minimum(), "below the minimum"),
        (bound[0], "unbound"),
        (bound[1], "without text"),
        (report.disputed(), "disputed"),
        (report.questioned(), "with unanswered lints"),
        (report.drafted(), "not confirmed"),
        (report.posts_without_claims().count(), "without claims"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_letters_can_be_read() {
        let channel = |text: &str| {
            let share = f64::from(u8::from_str_radix(text, 16).unwrap()) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        for fill in [BadgeColour::Green, BadgeColour::Orange, BadgeColour::Red, BadgeColour::Grey]
            .map(BadgeColour::fill)
        {
            let light = 0.2126 * channel(&fill[1..3])
                + 0.7152 * channel(&fill[3..5])
                + 0.0722 * channel(&fill[5..7]);
            assert!(1.05 / (light + 0.05) >= 4.5, "{fill}");
        }
    }

    #[test]
    fn words_are_words_in_a_picture() {
        let badge = Badge {
            label: "repro gate",
            message: "<script>\u{202e}&\"表".to_owned(),
            colour: BadgeColour::Red,
        };
        let drawn = badge.svg();
        assert!(
            drawn.contains("<title>repro gate: &lt;script&gt;\\u{202e}&amp;&quot;表</title>"),
            "{drawn}"
        );
        assert!(drawn.starts_with(START) && !drawn.contains("<script"));
        assert_eq!(width("表"), width("ab"));
    }

    #[test]
    fn nothing_checked_is_not_green() {
        let badge = Badge::of(&Report::default());
        assert_eq!((badge.message.as_str(), badge.colour), ("nothing checked", BadgeColour::Grey));
        assert!(badge.shields().starts_with(SHIELDS_START));
    }
}
