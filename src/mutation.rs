//! The mutation check: change each number of the bundles and of the claims in turn, judge again, and
//! see which changes nobody would notice.
//!
//! A catch counts only if it comes from a recomputation or from another document: a number that is
//! compared with its own copy in the document it was typed from catches typing errors of ours, not
//! errors of the publication. Nothing is written; changed documents live in memory.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bundle::FACTS;
use crate::claims;
use crate::evidence::Library;
use crate::outcome::{ClaimReport, Method, Origin, Verdict};
use crate::post::Post;
use crate::source::{Document, Kind, Node, Refusal, Source, Value};
use crate::verify::{judge, judge_claim};

/// How the change of one number came to light, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Catch {
    /// By a claim that recomputes.
    Recomputed,
    /// By a claim that compares two documents.
    OtherDocument,
    /// Only by comparing places of the document that the number itself is from: does not count.
    SameDocument,
    /// Not at all.
    Uncaught,
}

impl Catch {
    /// Every way, strongest first.
    pub const ALL: [Self; 4] =
        [Self::Recomputed, Self::OtherDocument, Self::SameDocument, Self::Uncaught];

    /// The words in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::Recomputed => "recomputed",
            Self::OtherDocument => "compared across documents",
            Self::SameDocument => "compared within one document",
            Self::Uncaught => "uncaught",
        }
    }
}

/// A number, and how a change of its last digit would come to light.
#[derive(Debug, Clone, Serialize)]
pub struct Mutant {
    /// The file, and the pointer or claim.
    pub place: String,
    /// The number as printed.
    pub from: String,
    /// What it was changed to.
    pub to: String,
    /// The origin of the evidence; `None` for the number of a claim.
    pub origin: Option<Origin>,
    /// How it was caught.
    pub catch: Catch,
    /// The claim that caught it.
    pub by: Option<String>,
}

/// Changes every number that `post` rests on, and every number that it claims.
pub fn mutate(post: &Post, library: &mut Library) -> Result<Vec<Mutant>, Refusal> {
    let baseline = judge(post, library).post.claims;
    let mut mutants = mutate_claims(post, library, &baseline)?;
    for pin in &post.pins {
        mutants.extend(mutate_bundle(post, library, &pin.name, &baseline)?);
    }
    Ok(mutants)
}

/// The same text with its last digit changed: 9 becomes 8, any other digit the next one.
fn changed(text: &str) -> Option<String> {
    let mantissa = text
        .find(['e', 'E'])
        .filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        .unwrap_or(text.len());
    let at = text[..mantissa].rfind(|c: char| c.is_ascii_digit())?;
    let digit = text.as_bytes()[at];
    let other = if digit == b'9' { '8' } else { char::from(digit + 1) };
    Some(format!("{}{other}{}", &text[..at], &text[at + 1..]))
}

fn mutate_claims(
    post: &Post,
    library: &Library,
    baseline: &[ClaimReport],
) -> Result<Vec<Mutant>, Refusal> {
    let by_id: BTreeMap<_, _> = baseline.iter().map(|claim| (claim.id.as_str(), claim)).collect();
    let mut mutants = Vec::new();
    for claim in post.claims().filter_map(Result::ok) {
        let (Some(claimed), Some(before)) = (claim.claimed, by_id.get(claim.id)) else { continue };
        let from = claimed.text()?.to_owned();
        let Some(to) = changed(&from) else { continue };
        let document = with_text(claimed, &to)?;
        let altered = crate::post::Claim { claimed: Some(document.root()), ..claim };
        let altered = claims::kind_of(&claim).and_then(|_| judge_claim(post, &altered, library));
        let catch = catch_of(before, altered.as_ref().ok(), None);
        let by = (catch != Catch::Uncaught).then(|| claim.id.to_owned());
        mutants.push(Mutant {
            place: format!("{} claim {}", post.file(), claim.id),
            from,
            to,
            origin: None,
            catch,
            by,
        });
    }
    Ok(mutants)
}

/// A document that holds nothing but `text`.
fn with_text(node: Node, text: &str) -> Result<Document, Refusal> {
    let quoted = serde_json::Value::from(text).to_string();
    Document::parse_json(Source::new(node.place().file, quoted.into_bytes())?)
}

fn mutate_bundle(
    post: &Post,
    library: &mut Library,
    name: &str,
    baseline: &[ClaimReport],
) -> Result<Vec<Mutant>, Refusal> {
    let Some(bundle) = library.bundle(name) else { return Ok(Vec::new()) };
    let origin = Origin::from(bundle.origin());
    let files: Vec<String> = bundle.documents().map(str::to_owned).collect();
    let mut mutants = Vec::new();
    for file in files {
        let Some(bundle) = library.bundle(name) else { continue };
        let document = bundle.document(&file)?.clone();
        let mut numbers = Vec::new();
        collect(&document.root, String::new(), &file, &mut numbers);
        let readers = Readers::of(baseline, name, &file);
        for (pointer, value) in numbers {
            let (Kind::Number(from) | Kind::Text(from)) = &value.kind else { continue };
            let Some(to) = changed(from) else { continue };
            let Ok(altered) = with_value(&document, value, &to) else { continue };
            library.replace(name, &file, Some(altered));
            let (catch, by) = readers.judge_again(post, library, &pointer, &document, value)?;
            library.replace(name, &file, None);
            let place = format!("{name}/{file} {}", readable(&document, &pointer));
            mutants.push(Mutant {
                place,
                from: from.to_string(),
                to,
                origin: Some(origin),
                catch,
                by,
            });
        }
    }
    Ok(mutants)
}

/// The document with the text of `value` changed in place.
fn with_value(document: &Document, value: &Value, to: &str) -> Result<Document, Refusal> {
    let text = document.source.text();
    let quoted = matches!(value.kind, Kind::Text(_));
    let to = if quoted { serde_json::Value::from(to).to_string() } else { to.to_owned() };
    let text = format!("{}{to}{}", &text[..value.span.start], &text[value.span.end..]);
    Document::parse(Source::new(document.source.name(), text.into_bytes())?)
}

/// The numbers of a tree with their pointers. In a file of facts these are the values.
fn collect<'a>(
    value: &'a Value,
    pointer: String,
    file: &str,
    numbers: &mut Vec<(String, &'a Value)>,
) {
    match &value.kind {
        Kind::Object(members) => {
            for member in members {
                let below =
                    format!("{pointer}/{}", member.key.replace('~', "~0").replace('/', "~1"));
                let is_text = matches!(member.value.kind, Kind::Text(_));
                let printed = || matches!(&member.value.kind, Kind::Text(text) if crate::decimal::Printed::parse(text).is_ok());
                if !is_text || (file == FACTS && &*member.key == "value" && printed()) {
                    collect(&member.value, below, file, numbers);
                }
            }
        }
        Kind::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), file, numbers);
            }
        }
        Kind::Number(_) | Kind::Text(_) => numbers.push((pointer, value)),
        Kind::Bool(_) | Kind::Null => {}
    }
}

/// `/facts/17/value` with the fact's id in place of its number.
fn readable(document: &Document, pointer: &str) -> String {
    let id = pointer
        .strip_suffix("/value")
        .and_then(|fact| document.root().at(&format!("{fact}/id")).ok());
    match id.and_then(|id| id.text().ok()) {
        Some(id) => format!("/facts/id={id}/value"),
        None => pointer.to_owned(),
    }
}

/// The claims that read one file, by what they read of it.
struct Readers<'a> {
    /// The pointer and the claim; an empty pointer is the whole file.
    reads: Vec<(&'a str, &'a ClaimReport)>,
}

impl<'a> Readers<'a> {
    fn of(baseline: &'a [ClaimReport], bundle: &str, file: &str) -> Self {
        let read = |claim: &'a ClaimReport| {
            let shown = claim
                .evidence
                .iter()
                .filter(move |exhibit| exhibit.bundle == bundle && exhibit.file == file);
            shown.map(move |exhibit| (exhibit.pointer.as_str(), claim)).collect::<Vec<_>>()
        };
        Self { reads: baseline.iter().flat_map(read).collect() }
    }

    /// Judges the claims that read `pointer` on the changed library; the strongest catch wins.
    fn judge_again(
        &self,
        post: &Post,
        library: &Library,
        pointer: &str,
        document: &Document,
        value: &Value,
    ) -> Result<(Catch, Option<String>), Refusal> {
        let named = readable(document, pointer);
        let concerned = |read: &str| {
            read.is_empty()
                || read == named
                || document.root().at(read).is_ok_and(|node| std::ptr::eq(node.value(), value))
        };
        let mut strongest = (Catch::Uncaught, None);
        for claim in post.claims().filter_map(Result::ok) {
            let mut reads = self.reads.iter().filter(|(_, report)| report.id == claim.id);
            let Some((_, before)) = reads.find(|(read, _)| concerned(read)) else { continue };
            let after = judge_claim(post, &claim, library);
            let printed_in = before
                .evidence
                .iter()
                .find(|exhibit| exhibit.pointer == named)
                .and_then(|exhibit| exhibit.document.as_deref());
            let catch = catch_of(before, after.as_ref().ok(), printed_in);
            if catch < strongest.0 {
                strongest = (catch, Some(claim.id.to_owned()));
            }
        }
        Ok(strongest)
    }
}

/// Whether a claim notices: its verdict is another, or it is refuted before and after.
fn catch_of(before: &ClaimReport, after: Option<&ClaimReport>, printed_in: Option<&str>) -> Catch {
    let noticed = match after {
        None => true,
        Some(after) => {
            after.outcome.verdict != before.outcome.verdict
                || after.outcome.verdict == Verdict::Refuted
        }
    };
    if !noticed {
        return Catch::Uncaught;
    }
    let method = after.and_then(|after| after.outcome.method).or(before.outcome.method);
    let documents =
        before.evidence.iter().map(|exhibit| exhibit.document.as_deref()).chain([printed_in]);
    let claimed_in = before.at.as_ref().map(|(source, _)| source.as_str());
    let across = documents.flatten().any(|document| Some(document) != claimed_in);
    match method {
        Some(Method::Recomputed | Method::Replayed) | None => Catch::Recomputed,
        Some(Method::Compared) if across => Catch::OtherDocument,
        Some(Method::Compared) => Catch::SameDocument,
    }
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn the_last_digit_of_the_mantissa_changes() {
        for (from, to) in [
            ("3.28", "3.29"),
            ("9536", "9537"),
            ("9", "8"),
            ("1e-6", "2e-6"),
            ("4.5B", "4.6B"),
            ("~+0.205", "~+0.206"),
        ] {
            assert_eq!(changed(from).as_deref(), Some(to));
        }
        assert_eq!(changed("AdamW"), None);
    }
}
