//! The context for judging a post's statements: the post, the loaded evidence, its texts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use repro_bundle::bundle::Bundle;
use repro_claim::locator::Locator;
use repro_claim::nearest::WordIndex;
use repro_claim::place::SearchedText;
use repro_claim::seen::{HIDDEN, HiddenPart};
use repro_core::similar;
use repro_core::source::{Error, Location, codes};
use repro_model::independence::{KinshipKind, RelatedRuns};

use crate::arms::PostArms;
use crate::json_text::ReadText;
use crate::library::Library;
use crate::page::PostPage;
use crate::texts::{TextAtHand, TextsAtHand};
use crate::work::Work;

codes! {
    REPEATED_RUN = "group::repeated-run", "a group contains the same run twice", "list each run once; copies and repeated seeds are not additional runs";
    NOT_INDEPENDENT = "group::not-independent", "runs in a group share a start, or are more similar than independent seeds", "use runs with independent seeds, or state what they share";
}

/// So many characters of a text are shown beside a quote that it does not have.
const MOST_SHOWN: usize = 240;

/// A post with everything that its statements may ask for.
#[derive(Debug)]
pub struct PostContext<'a> {
    /// The post.
    pub page: &'a PostPage,
    /// The loaded evidence.
    pub library: &'a Library,
    /// The work done so far.
    pub work: &'a Work,
    /// The texts that are available.
    texts: BTreeMap<&'a str, ContextText<'a>>,
    /// Its arms.
    pub arms: PostArms<'a>,
    /// Why some names cannot be used.
    refused: BTreeMap<&'a str, Error>,
}

/// A text that is available.
#[derive(Debug)]
struct ContextText<'a> {
    own: &'a TextAtHand,
    read: ReadText<'a>,
    /// All of it, if it has parts that readers do not see.
    whole: Option<SearchedText<'a>>,
    /// Its words, sought when a quote is not there.
    words: OnceLock<WordIndex>,
}

impl<'a> PostContext<'a> {
    /// Looks at every group of the post once; what is done for the post is counted in `work`.
    pub fn new(
        page: &'a PostPage,
        library: &'a Library,
        texts: &'a TextsAtHand,
        work: &'a Work,
    ) -> Self {
        let groups = page.names.iter().filter(|(_, (locator, _))| locator.is_group);
        let refused = groups.filter_map(|(name, (locator, place))| {
            Some((name.as_str(), repeated(library, locator, place)?))
        });
        let texts = texts.iter().map(|(id, own)| {
            let has_hidden = !own.hidden.is_empty();
            let whole = has_hidden.then(|| SearchedText::new(own.whole.text()));
            let (read, words) = (ReadText::new(&own.seen, work), OnceLock::new());
            (id.as_str(), ContextText { own, read, whole, words })
        });
        let (refused, texts) = (refused.collect(), texts.collect());
        Self { page, library, work, texts, arms: PostArms::new(page, library, work), refused }
    }

    /// A text that is available.
    pub fn text(&self, id: &str) -> Option<&ReadText<'a>> {
        self.texts.get(id).map(|text| &text.read)
    }

    /// Where a text has some words in a part that readers do not see: "they are in line 12 in a comment".
    pub fn hidden(&self, id: &str, words: &str) -> Option<String> {
        let ContextText { own, whole: Some(searched), .. } = self.texts.get(id)? else {
            return None;
        };
        self.work.looks_through(searched.text());
        if self.work.is_spent() {
            return None;
        }
        let place = searched.of_parted_quote(words).into_iter().next()?;
        let is_in = |part: &&HiddenPart| part.span.start < place.end && place.start < part.span.end;
        let what = own.hidden.iter().find(is_in).map_or("a hidden part", |part| part.what);
        let line = own.whole.line_column(place.start).0;
        Some(format!("they are in line {line}, where readers do not see them: {what}"))
    }

    /// The place in a text that is most like some words that it does not have: "the text has ... in line 12".
    pub fn nearest(&self, id: &str, words: &str) -> Option<String> {
        let known = self.texts.get(id)?;
        let text = known.read.source();
        self.work.looks_through(text.text());
        if self.work.is_spent() {
            return None;
        }
        let index = known.words.get_or_init(|| WordIndex::of(text.text()));
        let alike = || {
            // Its whole vocabulary is gone through.
            self.work.takes(2 * index.vocabulary().count());
            spelled_alike(index, words)
        };
        let is_one_word = !words.trim().contains(char::is_whitespace);
        let found = index.nearest(words).or_else(|| is_one_word.then(alike)?)?;
        let start = found.start;
        let shown: String = as_read(text.text().get(found)?).chars().take(MOST_SHOWN).collect();
        Some(format!("the text contains \"{shown}\" in line {}", text.line_column(start).0))
    }

    /// Rejects the name of a group that holds a run twice.
    pub fn usable(&self, name: &str) -> Result<(), Error> {
        self.refused.get(name).map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// A text with single spaces between its words; what its marks hide is left out.
pub fn as_read(text: &str) -> String {
    let text = text.replace(HIDDEN, " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The word of a text that is spelled most like a single word that it does not have.
fn spelled_alike(index: &WordIndex, words: &str) -> Option<Range<usize>> {
    let wanted = words.trim().to_lowercase();
    let mut known: Vec<_> = index.vocabulary().collect();
    known.sort_by_key(|(_, place)| place.start);
    let near = similar::nearest(&wanted, known.iter().map(|(word, _)| *word))?;
    known.into_iter().find(|(word, _)| *word == near).map(|(_, place)| place)
}

/// The error of a group in which a run stands twice: by name, by digest, by seeds, by its weights, states or numbers.
fn repeated(library: &Library, locator: &Locator, place: &Location) -> Option<Error> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in &locator.bundles {
        let marks = library.bundle(name).map(marks).unwrap_or_default();
        for mark in std::iter::once(format!("one name, {name}")).chain(marks) {
            if let Some(first) = seen.insert(mark.clone(), name) {
                let found = format!("`{first}` and `{name}` have {mark}");
                return Some(REPEATED_RUN.at(place.clone(), "each run once", found));
            }
        }
    }
    let names: Vec<&str> = locator.bundles.iter().map(String::as_str).collect();
    let related = library.related(&names);
    let refuted = related.iter().find(|found| found.kinship.is_refuted())?;
    let found = same_run(&names, refuted)?;
    Some(REPEATED_RUN.at(place.clone(), "each run once", found))
}

/// The similarity of two runs in a list of names, in words.
pub fn same_run(names: &[&str], found: &RelatedRuns) -> Option<String> {
    let (first, second) = (names.get(found.first)?, names.get(found.second)?);
    let evidence = &found.kinship.evidence;
    Some(match found.kinship.kind {
        KinshipKind::OneRun => format!("`{first}` and `{second}` are the same run: {evidence}"),
        KinshipKind::Changed => format!("`{second}` is a modified copy of `{first}`: {evidence}"),
        KinshipKind::SharedStart => format!("`{first}` and `{second}` share a start: {evidence}"),
    })
}

/// The marks that no two runs in a group may share.
fn marks(bundle: &Bundle) -> Vec<String> {
    let mut marks = vec![format!("the digest {}", bundle.digest().prefixed())];
    let receipt = bundle.receipt_document().root();
    let seed = |key: &str| {
        let found = receipt.at(&format!("/predicate/seeds/{key}")).ok()?;
        Some(format!("{key} {}", found.printed().ok()?))
    };
    let seeds: Vec<_> = ["init", "data"].into_iter().filter_map(seed).collect();
    if !seeds.is_empty() {
        marks.push(format!("the seeds {}", seeds.join(", ")));
    }
    marks
}
