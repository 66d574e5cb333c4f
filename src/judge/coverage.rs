//! Coverage: every number of a publication, with the claims that bind it, or the reason why none does.
//!
//! A claim binds the digits of its claimed value inside its quote, or, where the publication is JSON
//! or TOML and its place is a pointer, the value there. A fact that a judged claim used binds its own
//! digits in the same way. What is left over is listed, number by number.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

use crate::evidence::Library;
use crate::post::{NO_SUCH_SOURCE, Post, Publication};
use repro_receipt::bundle::{FACTS, fact_id};
use repro_receipt::source::{Document, Error, Location, Source};
use repro_report::outcome::{EvidenceRef, PostReport};

/// The numbers of one publication.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// The post.
    pub post: String,
    /// The publication, by its id in the post file.
    pub source: String,
    /// The file that was read.
    pub file: String,
    /// Every number, in the order of the text.
    pub numbers: Vec<Number>,
    /// Claims and facts whose quote, or place, the text does not have.
    pub misplaced: Vec<String>,
}

/// A number of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Number {
    /// Its digits as they stand there.
    pub text: String,
    /// Line from 1.
    pub line: usize,
    /// Column in characters from 1.
    pub column: usize,
    /// The claims that bind it, and the facts that were typed from it.
    pub bound_by: Vec<String>,
    /// Why nothing is claimed, where the post says so.
    pub reason: Option<String>,
}

impl Number {
    /// Whether neither a claim nor a reason stands behind it.
    pub fn is_unbound(&self) -> bool {
        self.bound_by.is_empty() && self.reason.is_none()
    }
}

impl Coverage {
    /// How many numbers have a claim, have a reason, have neither.
    pub fn counts(&self) -> (usize, usize, usize) {
        let bound = self.numbers.iter().filter(|number| !number.bound_by.is_empty()).count();
        let unbound = self.numbers.iter().filter(|number| number.is_unbound()).count();
        (bound, self.numbers.len() - bound - unbound, unbound)
    }
}

/// The publication of `post` that a file is: by id where one is given, else by the file's name, else
/// the first.
pub fn publication<'a>(
    post: &'a Post,
    id: Option<&str>,
    file: &str,
) -> Result<&'a Publication, Error> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let found = match id {
        Some(id) => post.sources.iter().find(|source| source.id == id),
        None => post
            .sources
            .iter()
            .find(|source| source.file.as_deref() == Some(name))
            .or(post.sources.first()),
    };
    found.ok_or_else(|| {
        let known: Vec<_> = post.sources.iter().map(|source| format!("`{}`", source.id)).collect();
        let found = id.map_or_else(|| "no sources".to_owned(), |id| format!("`{id}`"));
        NO_SUCH_SOURCE.at(
            Location::file(post.file()),
            format!("one of {}", known.join(", ")),
            found,
        )
    })
}

/// Lists the numbers of `text`, which is `publication`, with what binds them.
pub fn coverage(
    post: &Post,
    judged: &PostReport,
    library: &Library,
    publication: &Publication,
    text: Source,
) -> Result<Coverage, Error> {
    let structured =
        [".json", ".toml", ".jsonl"].iter().any(|ending| text.name().ends_with(ending));
    let page = if structured {
        let document = Document::parse(text)?;
        Page { source: document.source.clone(), document: Some(document) }
    } else {
        Page { source: text.into(), document: None }
    };
    let mut marks = Marks::default();
    for claim in post.claims().filter_map(Result::ok) {
        let Some(at) = claim.at.filter(|at| at.source == publication.id) else { continue };
        let claimed = claim.claimed.map(|node| node.text()).transpose()?;
        let statement = Statement {
            place: at.place,
            quote: claim.quote,
            value: claimed,
            occurrence: claim.occurrence,
        };
        marks.bind(&page, &statement, format!("claim {}", claim.id));
    }
    for (bundle, id) in used_facts(judged) {
        let Some((_, fact)) = library.bundle(&bundle).and_then(|bundle| bundle.fact(&id)) else {
            continue;
        };
        if fact.at.source != publication.id {
            continue;
        }
        let quote = fact.at.quote.as_deref().unwrap_or_default();
        let statement =
            Statement { place: &fact.at.place, quote, value: Some(&fact.value), occurrence: 1 };
        marks.bind(&page, &statement, format!("fact {bundle}/{id}"));
    }
    for (file, pointer) in used_values(judged, &publication.id) {
        marks.bind_value(&page, &pointer, format!("evidence {file}"));
    }
    for unbound in post.unbound.iter().filter(|unbound| unbound.source == publication.id) {
        marks.excuse(&page, &unbound.quote, &unbound.reason);
    }
    Ok(Coverage {
        post: post.id.clone(),
        source: publication.id.clone(),
        file: page.source.name().to_owned(),
        numbers: marks.numbers(&page),
        misplaced: marks.misplaced,
    })
}

/// The facts that judged claims depend on, as (bundle, id).
fn used_facts(judged: &PostReport) -> BTreeSet<(String, String)> {
    let evidence_refs = judged.claims.iter().flat_map(|claim| &claim.evidence);
    let fact = |evidence_ref: &EvidenceRef| {
        Some((evidence_ref.bundle.clone(), fact_id(&evidence_ref.pointer)?.to_owned()))
    };
    evidence_refs.filter_map(fact).collect()
}

/// The values of files typed from `publication` that judged claims depend on, as (file, pointer).
fn used_values(judged: &PostReport, publication: &str) -> BTreeSet<(String, String)> {
    let evidence_refs = judged.claims.iter().flat_map(|claim| &claim.evidence);
    evidence_refs
        .filter(|evidence_ref| evidence_ref.document.as_deref() == Some(publication))
        .filter(|evidence_ref| evidence_ref.file != FACTS && !evidence_ref.pointer.is_empty())
        .map(|evidence_ref| (evidence_ref.file.clone(), evidence_ref.pointer.clone()))
        .collect()
}

/// A publication as text, and as a tree where it is one.
struct Page {
    source: std::sync::Arc<Source>,
    document: Option<Document>,
}

/// Where a claim or fact says that its value stands.
struct Statement<'a> {
    place: &'a str,
    quote: &'a str,
    value: Option<&'a str>,
    occurrence: usize,
}

impl Page {
    /// The span of the value that a pointer leads to, if this is a tree and the pointer does.
    fn pointed(&self, place: &str) -> Option<Range<usize>> {
        let document = self.document.as_ref().filter(|_| place.starts_with('/'))?;
        Some(document.root().at(place).ok()?.value().span.clone())
    }

    /// Every span of `words`.
    fn quoted(&self, words: &str) -> Vec<Range<usize>> {
        if words.is_empty() {
            return Vec::new();
        }
        self.source
            .text()
            .match_indices(words)
            .map(|(start, found)| start..start + found.len())
            .collect()
    }

    /// The digits that a statement binds; `None` where the text does not have it.
    fn locate(&self, statement: &Statement) -> Option<Vec<Range<usize>>> {
        let mut areas = self.quoted(statement.quote);
        if areas.is_empty() {
            let pointed = self.pointed(statement.place)?;
            let Some(value) = statement.value else { return Some(Vec::new()) };
            let inside = nth(&self.source.text()[pointed.clone()], value, statement.occurrence);
            let span = inside.map_or(pointed.clone(), |span| {
                pointed.start + span.start..pointed.start + span.end
            });
            return Some(vec![span]);
        }
        let Some(value) = statement.value else { return Some(Vec::new()) };
        for area in &mut areas {
            let inside = nth(&self.source.text()[area.clone()], value, statement.occurrence)?;
            *area = area.start + inside.start..area.start + inside.end;
        }
        Some(areas)
    }
}

/// The n-th span (from 1) of `part` in `whole`.
fn nth(whole: &str, part: &str, n: usize) -> Option<Range<usize>> {
    let start = whole.match_indices(part).nth(n.checked_sub(1)?)?.0;
    Some(start..start + part.len())
}

/// What is bound and excused so far.
#[derive(Default)]
struct Marks {
    bound: BTreeMap<(usize, usize), Vec<String>>,
    excused: Vec<(Range<usize>, String)>,
    misplaced: Vec<String>,
}

impl Marks {
    fn bind(&mut self, page: &Page, statement: &Statement, by: String) {
        let Some(spans) = page.locate(statement) else { return self.misplaced.push(by) };
        for span in spans {
            self.bound.entry((span.start, span.end)).or_default().push(by.clone());
        }
    }

    /// Binds the whole value that a pointer leads to.
    fn bind_value(&mut self, page: &Page, pointer: &str, by: String) {
        match page.pointed(pointer) {
            Some(span) => self.bound.entry((span.start, span.end)).or_default().push(by),
            None => self.misplaced.push(by),
        }
    }

    fn excuse(&mut self, page: &Page, quote: &str, reason: &str) {
        let spans = page.pointed(quote).map_or_else(|| page.quoted(quote), |span| vec![span]);
        if spans.is_empty() {
            self.misplaced.push(format!("unbound \"{quote}\""));
        }
        self.excused.extend(spans.into_iter().map(|span| (span, reason.to_owned())));
    }

    /// All numbers in the order of the text: those bound, those excused, and the runs of digits left.
    fn numbers(&self, page: &Page) -> Vec<Number> {
        let text = page.source.text();
        let mut taken = vec![false; text.len()];
        let mut numbers = Vec::new();
        for (&(start, end), by) in &self.bound {
            if text[start..end].contains(|c: char| c.is_ascii_digit()) {
                taken[start..end].fill(true);
                numbers.push((start, self.number(page, start..end, by.clone(), None)));
            }
        }
        for (area, reason) in &self.excused {
            for run in runs(text, area.clone(), &taken) {
                taken[run.clone()].fill(true);
                numbers.push((run.start, self.number(page, run, Vec::new(), Some(reason.clone()))));
            }
        }
        for run in runs(text, 0..text.len(), &taken) {
            numbers.push((run.start, self.number(page, run, Vec::new(), None)));
        }
        numbers.sort_by_key(|(start, _)| *start);
        numbers.into_iter().map(|(_, number)| number).collect()
    }

    fn number(
        &self,
        page: &Page,
        span: Range<usize>,
        bound_by: Vec<String>,
        reason: Option<String>,
    ) -> Number {
        let (line, column) = page.source.line_column(span.start);
        Number { text: page.source.text()[span].to_owned(), line, column, bound_by, reason }
    }
}

/// The runs of digits, with the separators between digits, that nothing has taken yet.
fn runs(text: &str, area: Range<usize>, taken: &[bool]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let free_digit = |at: usize| area.contains(&at) && bytes[at].is_ascii_digit() && !taken[at];
    let mut runs = Vec::new();
    let mut at = area.start;
    while at < area.end {
        if !free_digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        loop {
            at += 1;
            let joined = at + 1 < area.end
                && matches!(bytes[at], b'.' | b',' | b'_')
                && !taken[at]
                && free_digit(at + 1);
            if at >= area.end || !(free_digit(at) || joined) {
                break;
            }
        }
        runs.push(start..at);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str, text: &str) -> Page {
        let source = Source::new(name, text.into()).unwrap();
        if name.ends_with(".json") {
            let document = Document::parse_json(source).unwrap();
            return Page { source: document.source.clone(), document: Some(document) };
        }
        Page { source: source.into(), document: None }
    }

    fn bind(
        marks: &mut Marks,
        page: &Page,
        place: &str,
        quote: &str,
        value: &str,
        occurrence: usize,
    ) {
        marks.bind(
            page,
            &Statement { place, quote, value: Some(value), occurrence },
            format!("claim {value}"),
        );
    }

    #[test]
    fn squashed_cells_are_told_apart_by_their_claims() {
        let page = page("post.txt", "Dense190,532,352190,532,35226.2426.24\n");
        let mut marks = Marks::default();
        let row = "Dense190,532,352190,532,35226.2426.24";
        for (value, occurrence) in [("190,532,352", 1), ("190,532,352", 2), ("26.24", 1)] {
            bind(&mut marks, &page, "table", row, value, occurrence);
        }
        let numbers = marks.numbers(&page);
        let texts: Vec<_> = numbers.iter().map(|n| (n.text.as_str(), n.is_unbound())).collect();
        assert_eq!(
            texts,
            [("190,532,352", false), ("190,532,352", false), ("26.24", false), ("26.24", true)]
        );
        assert!(marks.misplaced.is_empty());
    }

    #[test]
    fn pointers_bind_the_values_of_a_tree() {
        let page = page("r.json", r#"{"a":{"loss":3.28},"steps":[128,256],"note":"at 128"}"#);
        let mut marks = Marks::default();
        bind(&mut marks, &page, "/a/loss", "", "3.28", 1);
        bind(&mut marks, &page, "/steps/0", "", "128", 1);
        bind(&mut marks, &page, "/gone", "", "1", 1);
        marks.excuse(&page, "/note", "prose");
        let left: Vec<_> =
            marks.numbers(&page).into_iter().filter(Number::is_unbound).map(|n| n.text).collect();
        assert_eq!((left, marks.misplaced), (vec!["256".to_owned()], vec!["claim 1".to_owned()]));
    }

    #[test]
    fn a_quote_that_is_gone_is_reported() {
        let page = page("post.txt", "loss 3.28");
        let mut marks = Marks::default();
        bind(&mut marks, &page, "1", "loss 3.29", "3.29", 1);
        assert_eq!(marks.misplaced, ["claim 3.29"]);
        assert!(marks.numbers(&page)[0].is_unbound());
    }
}
