//! Typed facts against the documents that they were typed from, where those are available.

use std::collections::BTreeSet;

use repro_bundle::bundle::{Bundle, FACTS, Fact, TRANSCRIPTION_DIFFERS};
use repro_core::source::Error;
use repro_report::outcome::ClaimReport;

use crate::context::PostContext;
use crate::json_text::ReadText;

/// The errors of facts that claims rest on and that a text of the post does not print.
pub fn differences(context: &PostContext<'_>, claims: &[ClaimReport]) -> Vec<Error> {
    let evidence = claims.iter().flat_map(|claim| &claim.evidence);
    let evidence: BTreeSet<_> =
        evidence.map(|one| (&one.bundle, &one.file, &one.pointer)).collect();
    let facts = evidence.into_iter().filter_map(|(bundle, file, pointer)| {
        let bundle = context.library.bundle(bundle)?;
        Some((bundle, bundle.fact_at(file, pointer)?))
    });
    facts.filter_map(|(bundle, fact)| difference(context, bundle, fact)).collect()
}

fn difference(context: &PostContext<'_>, bundle: &Bundle, fact: &Fact) -> Option<Error> {
    let text = context.text(&fact.at.source)?;
    let words = fact.at.quote.as_ref().unwrap_or(&fact.value);
    if is_printed(text, &fact.at.place, words) {
        return None;
    }
    let near = context.nearest(&fact.at.source, words);
    let found = near.unwrap_or_else(|| "nothing similar".to_owned());
    let at = if is_pointer(&fact.at.place) { &format!(" at {}", fact.at.place) } else { "" };
    let expected = format!("\"{words}\" in `{}`{at}", text.source().name());
    let node = bundle.document(FACTS).ok()?.root().at(&fact.pointer()).ok()?;
    Some(TRANSCRIPTION_DIFFERS.at(node.place(), expected, found))
}

fn is_pointer(place: &str) -> bool {
    place.starts_with('/')
}

/// Whether a text has some words; where its cells run together, as "283932.8554", they may cut a number.
fn is_printed(text: &ReadText<'_>, place: &str, words: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let runs_together = !is_pointer(place) && !words.contains(' ');
    !text.places_of_quote(place, words).is_empty()
        || runs_together && squeezed(text.source().text()).contains(words)
}
