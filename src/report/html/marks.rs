//! Numbers of a text as buttons: the claims about each open by a click, a key, or in print.

use std::collections::BTreeMap;
use std::ops::Range;

use super::escaped::escaped;
use super::lead::GROUPS;
use crate::layout::rank;
use crate::outcome::{ClaimReport, TextNumber, TextReport, Verdict};

/// A number of a text with the claims about it.
pub struct MarkedNumber<'r> {
    pub number: &'r TextNumber,
    pub claims: Vec<&'r ClaimReport>,
    /// The name of its card on the page.
    pub id: String,
}

impl MarkedNumber<'_> {
    /// How the worst verdict about it is marked; none where nothing is claimed.
    pub fn class(&self) -> Option<&'static str> {
        class_of(&self.claims)
    }
}

/// The worst verdict of some claims.
pub fn worst<'r>(claims: impl Iterator<Item = &'r ClaimReport>) -> Option<Verdict> {
    claims.map(|claim| claim.outcome.verdict).max_by_key(|verdict| rank(*verdict))
}

/// How some claims are marked, by the worst of them: what nobody has confirmed differs, and what is questioned is not drawn as verified.
pub fn class_of(claims: &[&ClaimReport]) -> Option<&'static str> {
    let verdict = worst(claims.iter().copied())?;
    let of_verdict = claims.iter().filter(|claim| claim.outcome.verdict == verdict);
    Some(match verdict {
        Verdict::Refuted if of_verdict.clone().all(|claim| claim.differs().is_some()) => "differs",
        Verdict::Verified if of_verdict.clone().any(|claim| claim.is_questioned()) => "questioned",
        _ => verdict.word(),
    })
}

/// Words of a text that claims quote.
pub struct MarkedWords {
    pub span: Range<usize>,
    /// How the worst verdict about them is marked.
    pub class: &'static str,
}

/// The words of a text that claims quote, each stretch with the worst verdict about it.
pub fn quoted(text: &TextReport, claims: &[ClaimReport]) -> Vec<MarkedWords> {
    let mut by_span: BTreeMap<[usize; 2], Vec<&ClaimReport>> = BTreeMap::new();
    for claim in claims {
        if let Some(place) = claim.meaning.written_at.as_ref().filter(|place| place.text == text.id)
        {
            by_span.entry(place.span).or_default().push(claim);
        }
    }
    let mut marked: Vec<MarkedWords> = Vec::new();
    for ([start, end], claims) in by_span {
        let Some(class) = class_of(&claims) else { continue };
        // Of words inside other words the worse verdict marks all of them.
        match marked.last_mut().filter(|last| start < last.span.end) {
            Some(last) => {
                last.span.end = last.span.end.max(end);
                last.class = worse(last.class, class);
            }
            None => marked.push(MarkedWords { span: start..end, class }),
        }
    }
    marked
}

/// The worse of two classes.
fn worse(one: &'static str, other: &'static str) -> &'static str {
    let at = |class| GROUPS.iter().position(|(known, _)| *known == class);
    if at(one) <= at(other) { one } else { other }
}

/// The quoted words and the numbers of one text in order, and which numbers the page has shown.
pub struct NumberMarks<'r> {
    words: Vec<MarkedWords>,
    numbers: Vec<MarkedNumber<'r>>,
    shown: Vec<bool>,
}

impl<'r> NumberMarks<'r> {
    /// Of numbers in the order of their text, and of words in their order that do not overlap.
    pub fn new(words: Vec<MarkedWords>, numbers: Vec<MarkedNumber<'r>>) -> Self {
        let shown = vec![false; numbers.len()];
        Self { words, numbers, shown }
    }

    /// Adds a stretch of the text to a page, with what is marked in it. `shown` is how it reads, which may differ from how it is written.
    pub fn add(&mut self, page: &mut String, source: &str, place: Range<usize>, shown: &str) {
        let first = self.words.partition_point(|one| one.span.end <= place.start);
        let is_as_written = source.get(place.clone()) == Some(shown);
        let mut at = place.start;
        for index in first..self.words.len() {
            let MarkedWords { span, class } = &self.words[index];
            if span.start >= place.end {
                break;
            }
            let (start, end) = (span.start.max(at), span.end.min(place.end));
            let opening = format!("<span class=\"s {class}\">");
            if !is_as_written {
                page.push_str(&opening);
                self.numbers_of(page, source, place, shown);
                return page.push_str("</span>");
            }
            let part = |range: Range<usize>| source.get(range).unwrap_or_default();
            self.numbers_of(page, source, at..start, part(at..start));
            page.push_str(&opening);
            self.numbers_of(page, source, start..end, part(start..end));
            page.push_str("</span>");
            at = end;
        }
        if at < place.end {
            let rest = if at == place.start {
                shown
            } else {
                source.get(at..place.end).unwrap_or_default()
            };
            self.numbers_of(page, source, at..place.end, rest);
        }
    }

    fn numbers_of(&mut self, page: &mut String, source: &str, place: Range<usize>, shown: &str) {
        let first = self.numbers.partition_point(|one| one.number.span.end <= place.start);
        let inside: Vec<_> = (first..self.numbers.len())
            .take_while(|at| self.numbers[*at].number.span.start < place.end)
            .collect();
        if inside.is_empty() {
            page.push_str(&escaped(shown));
        } else if source.get(place.clone()) == Some(shown) {
            let mut at = place.start;
            for index in inside {
                let span = &self.numbers[index].number.span;
                let (start, end) = (span.start.max(at), span.end.min(place.end));
                page.push_str(&escaped(source.get(at..start).unwrap_or_default()));
                self.button(page, index, source.get(start..end).unwrap_or_default());
                at = end.max(at);
            }
            page.push_str(&escaped(source.get(at..place.end).unwrap_or_default()));
        } else {
            // Written otherwise than it reads: all of it stands for the number.
            self.button(page, inside[0], shown);
        }
    }

    fn button(&mut self, page: &mut String, index: usize, text: &str) {
        let Some(one) = self.numbers.get(index) else { return };
        let (text, id) = (escaped(text), &one.id);
        match (one.class(), &one.number.reason) {
            (Some(word), _) => {
                page.push_str(&format!(
                    "<button class=\"n {word}\" popovertarget=\"{id}\" aria-label=\"{text}, {word}\">{text}</button>"
                ));
            }
            (None, Some(reason)) => {
                let reason = escaped(reason);
                page.push_str(&format!(
                    "<span class=\"n excused\" title=\"{reason}\">{text}</span>"
                ));
            }
            (None, None) => page.push_str(&format!(
                "<span class=\"n unbound\" title=\"not covered by a claim\">{text}</span>"
            )),
        }
        if let Some(shown) = self.shown.get_mut(index) {
            *shown = true;
        }
    }

    /// The numbers with claims, those first that the page has shown.
    pub fn claimed(&self) -> impl Iterator<Item = (&MarkedNumber<'r>, bool)> {
        let all = std::iter::zip(&self.numbers, self.shown.iter().copied());
        all.filter(|(one, _)| !one.claims.is_empty())
    }
}
