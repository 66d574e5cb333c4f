//! Numbers of a text as buttons: what is claimed of each opens by a click, a key, or in print.

use std::ops::Range;

use super::escaped::escaped;
use crate::outcome::{ClaimReport, TextNumber, Verdict};

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

/// How bad a verdict is.
pub fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Verified => 0,
        Verdict::Unchecked => 1,
        Verdict::Inconclusive => 2,
        Verdict::Refuted => 3,
    }
}

/// The numbers of one text in order, and which of them the page has shown.
pub struct NumberMarks<'r> {
    numbers: Vec<MarkedNumber<'r>>,
    shown: Vec<bool>,
}

impl<'r> NumberMarks<'r> {
    /// Of numbers in the order of their text.
    pub fn new(numbers: Vec<MarkedNumber<'r>>) -> Self {
        let shown = vec![false; numbers.len()];
        Self { numbers, shown }
    }

    /// Adds a stretch of the text to a page, with what is marked in it. `shown` is how it reads, which may differ from how it is written.
    pub fn add(&mut self, page: &mut String, source: &str, place: Range<usize>, shown: &str) {
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
                "<span class=\"n unbound\" title=\"no claim binds it\">{text}</span>"
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
