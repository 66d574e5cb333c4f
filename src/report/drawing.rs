//! Draws one message at its location: title, path, the line with its marker, then the details and the
//! help. `annotate-snippets` draws; this module prepares the parts and cuts the line to the page width.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::outcome::ClaimReport;
use repro_core::source::{Code, Error, Location};

use super::layout::{columns, wrap};
use super::visible::{clipped, prose, push, visible};
use super::wording;

/// The most characters of one detail; canonical JSON may quote a whole file.
const DETAIL_LIMIT: usize = 2_000;

/// A message and what is drawn around it.
#[derive(Debug)]
pub(super) struct Drawing<'a> {
    code: &'a Code,
    title: String,
    place: &'a Location,
    label: String,
    details: Vec<String>,
    help: String,
}

impl<'a> Drawing<'a> {
    /// An input that cannot be used.
    pub(super) fn of_refusal(error: &'a Error) -> Self {
        let mut details = vec![format!("expected {}", prose(&error.expected))];
        if !error.place.pointer.is_empty() {
            details.insert(0, format!("at `{}`", visible(&error.place.pointer)));
        }
        Self {
            code: error.code,
            title: error.code.meaning.to_owned(),
            place: &error.place,
            label: format!("found {}", prose(&error.found)),
            details,
            help: prose(&error.help),
        }
    }

    /// A claim that does not hold; `None` where its verdict has no code.
    pub(super) fn of_claim(claim: &'a ClaimReport) -> Option<Self> {
        let code = claim.outcome.code?;
        let tolerance = wording::tolerance(claim);
        let details = [
            wording::derived(claim),
            if tolerance.is_empty() { tolerance } else { format!("agreement: {tolerance}") },
        ];
        Some(Self {
            code,
            title: prose(&claim.outcome.reason),
            place: &claim.place,
            label: "claimed here".to_owned(),
            details: details.into_iter().filter(|detail| !detail.is_empty()).collect(),
            help: format!("repro explain {}", code.id),
        })
    }

    /// The drawing in lines of at most `width` columns where its words allow, with a line feed at the end.
    pub(super) fn render(&self, width: usize, colour: bool) -> String {
        let gutter = self.place.line.to_string().len() + " | ".len();
        let view = View::of(self.place, width.saturating_sub(gutter + 1));
        let labelled = view.as_ref().is_some_and(|view| view.takes(&self.label, width - gutter));

        let lead = "error[]: ".len() + self.code.id.len();
        let title = folded(&self.title, width, lead);
        let path = visible(&self.place.file);
        let mut details = self.details.clone();
        if !labelled {
            details.push(self.label.clone());
        }
        let details: Vec<String> =
            details.iter().map(|detail| folded(detail, width, gutter + "= note: ".len())).collect();
        let help = folded(&self.help, width, gutter + "= help: ".len());

        let mut origin = Origin::path(path.as_str());
        if self.place.line > 0 {
            origin = origin.line(self.place.line).char_column(self.place.column.max(1));
        }
        let heading = Level::ERROR.primary_title(title.as_str()).id(self.code.id);
        let heading = Group::with_title(heading).element(origin);
        let mut elements: Vec<Element<'_>> = Vec::new();
        if let Some(view) = &view {
            let mark = AnnotationKind::Primary.span(view.mark.clone());
            let mark = if labelled { mark.label(self.label.as_str()) } else { mark };
            let snippet = Snippet::source(view.text.as_str()).line_start(self.place.line);
            elements.push(snippet.annotation(mark).into());
        }
        elements.extend(details.iter().map(|detail| Level::NOTE.message(detail.as_str()).into()));
        if !help.is_empty() {
            elements.push(Level::HELP.message(help.as_str()).into());
        }
        // A group of its own, as a line below an origin counts as one of a second file.
        let body = Group::with_level(Level::ERROR).elements(elements);
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        // The page is cut already; a second cut by the renderer would only move the marker.
        let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(usize::from(u16::MAX));
        let drawn = renderer.render(&[heading, body]);
        let mut lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
        // Each group has its own bar below the path; one is enough.
        let bar = title.lines().count() + 1;
        if lines.get(bar).is_some() && lines.get(bar) == lines.get(bar + 1) {
            lines.remove(bar);
        }
        lines.join("\n") + "\n"
    }
}

/// `text` in lines that fit behind a lead of `lead` columns.
fn folded(text: &str, width: usize, lead: usize) -> String {
    let room = width.saturating_sub(lead).max(20);
    wrap(&clipped(text, DETAIL_LIMIT), room, room).join("\n")
}

/// The part of a line that is shown, and the bytes of it that are marked.
#[derive(Debug)]
struct View {
    text: String,
    mark: std::ops::Range<usize>,
}

impl View {
    /// The line around `place`, at most `width` columns of it; `None` where the line is not known.
    fn of(place: &Location, width: usize) -> Option<Self> {
        if place.line == 0 || place.excerpt.trim().is_empty() {
            return None;
        }
        let start = place.column.saturating_sub(1 + place.skipped);
        let length = place.length.max(1);
        // A line may be a whole file: look only at what could be on the page.
        let far = start.saturating_sub(width);
        let near: Vec<String> =
            place.excerpt.chars().skip(far).take(2 * width).map(shown).collect();
        let marked = near.len().min(start - far);
        let before = near.iter().take(marked).map(|c| columns(c)).sum::<usize>();
        // A third of the page before the mark is enough to recognise the line.
        let far_in_line = far + place.skipped;
        let whole = far_in_line == 0 && near.iter().map(|c| columns(c)).sum::<usize>() < width;
        let near_start = far_in_line == 0 && before + length <= width * 2 / 3;
        let kept = if whole || near_start { before } else { width / 3 };
        let mut used = 0;
        let lead = near.iter().take(marked).rev().take_while(|c| {
            used += columns(c);
            used <= kept
        });
        let first = marked - lead.count();

        let mut view = Self { text: String::new(), mark: 0..0 };
        if far_in_line + first > 0 {
            view.text.push('…');
        }
        view.mark = view.text.len()..view.text.len();
        for (number, c) in near.iter().enumerate().skip(first) {
            if columns(&view.text) + columns(c) + 1 > width {
                view.text.push('…');
                break;
            }
            view.text.push_str(c);
            if number < marked {
                view.mark = view.text.len()..view.text.len();
            } else if number < marked + length {
                view.mark.end = view.text.len();
            }
        }
        Some(view)
    }

    /// Whether `label` fits behind the marker.
    fn takes(&self, label: &str, width: usize) -> bool {
        // An empty mark is still drawn, as one caret.
        let caret = usize::from(self.mark.is_empty());
        let marked = self.text.get(..self.mark.end).map_or(0, columns) + caret;
        marked + 1 + columns(label) <= width
    }
}

/// One character of an excerpt as it is shown.
fn shown(c: char) -> String {
    let mut shown = String::new();
    if c == '\t' {
        shown.push_str("    ")
    } else {
        push(&mut shown, c)
    }
    shown
}
