//! `repro review --mutate`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::args;
use super::output::Output;
use super::{Answer, BAD_USAGE};
use repro_core::source::{Error, Location};
use repro_report::outcome::{ExitStatus, Verdict};
use repro_verify::lock;
use repro_verify::mutants::{self, MissedMutant, MutationKind};
use repro_verify::mutated::{ChangedNumber, Detection, DetectionTally, Digit, changed};
use repro_verify::page::PostPage;
use repro_verify::post;
use repro_verify::texts::GivenTexts;
use repro_verify::verify::BundleStore;

/// The schema of both documents.
const SCHEMA: &str = "repro.mutation/3";

/// Each number in turn.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    posts: &'a [OfText],
}

/// The numbers of the text of one post, each with one digit changed.
#[derive(Serialize)]
struct OfText {
    post: String,
    first_digit: OfDigit,
    last_digit: OfDigit,
}

/// The same digit changed in every number.
#[derive(Serialize)]
struct OfDigit {
    /// The outcomes of the changes in verified claims.
    tally: DetectionTally,
    changes: Vec<ChangedNumber>,
}

impl OfDigit {
    fn of(changes: Vec<ChangedNumber>) -> Self {
        let mut tally = DetectionTally::default();
        for one in changes.iter().filter(|one| one.verdict == Verdict::Verified) {
            tally.add(one.detection);
        }
        Self { tally, changes }
    }
}

/// Random changes.
#[derive(Serialize)]
struct RandomDocument {
    schema: &'static str,
    /// The number of changes tried in each post.
    changes: usize,
    seed: u64,
    kinds: Vec<OfKind>,
    missed: Vec<MissedInPost>,
}

/// The outcomes of the changes of one kind.
#[derive(Serialize)]
struct OfKind {
    kind: MutationKind,
    tried: usize,
    #[serde(flatten)]
    tally: DetectionTally,
}

/// A random change that was missed, and its post.
#[derive(Serialize)]
struct MissedInPost {
    post: String,
    #[serde(flatten)]
    mutant: MissedMutant,
}

/// Changes the numbers that a post binds.
fn of_text(
    root: &Path,
    page: &PostPage,
    shelf: &mut BundleStore<'_>,
) -> Result<OfText, Vec<Error>> {
    let one = |error: Error| vec![error];
    let lock = lock::read(root, &page.id).map_err(one)?;
    shelf.fetch(root, page, lock.as_ref())?;
    let texts = GivenTexts::default().of(page, root)?;
    let with = |digit| changed(page, &shelf.library, &texts, digit).map(OfDigit::of).map_err(one);
    let (first_digit, last_digit) = (with(Digit::First)?, with(Digit::Last)?);
    Ok(OfText { post: page.id.clone(), first_digit, last_digit })
}

impl OfText {
    /// A line for each digit, then the changes that were missed.
    fn render(&self, text: &mut String) {
        for (what, of_digit) in [("first", &self.first_digit), ("last", &self.last_digit)] {
            let OfDigit { tally, changes } = of_digit;
            let counts: Vec<_> = Detection::ALL
                .into_iter()
                .map(|one| format!("{} {}", tally.count(one), one.word()))
                .collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}: changed the {what} digit of {} numbers in verified claims: {}",
                self.post,
                tally.tried(),
                counts.join(", ")
            );
            let missed = changes.iter().filter(|one| {
                one.verdict == Verdict::Verified && one.detection == Detection::Missed
            });
            for one in missed {
                let (from, to) = &one.texts;
                let _ = writeln!(text, "  {from:<20} {to:<20} claim {}", one.claim);
            }
        }
    }
}

/// The seed of the random changes.
fn seed(text: &str) -> Result<u64, Error> {
    let bad = |_| BAD_USAGE.at(Location::file("--seed"), "a whole number", format!("`{text}`"));
    text.parse().map_err(bad)
}

/// Random changes of some posts.
fn random(
    root: &Path,
    ids: &[String],
    changes: usize,
    seed: u64,
) -> Result<RandomDocument, Vec<Error>> {
    let one = |error: Error| vec![error];
    let mut shelf = BundleStore::new(1, &[]);
    let mut tallies: BTreeMap<MutationKind, DetectionTally> = BTreeMap::new();
    let mut missed = Vec::new();
    for id in ids {
        let page = PostPage::load(root, id).map_err(one)?;
        let lock = lock::read(root, id).map_err(one)?;
        shelf.fetch(root, &page, lock.as_ref())?;
        let texts = GivenTexts::default().of(&page, root)?;
        let found = mutants::random(&page, &shelf.library, &texts, changes, seed).map_err(one)?;
        for (kind, tally) in found.tallies {
            *tallies.entry(kind).or_default() += tally;
        }
        missed.extend(
            found.missed.into_iter().map(|mutant| MissedInPost { post: id.clone(), mutant }),
        );
    }
    let of_kind = |(kind, tally): (MutationKind, DetectionTally)| OfKind {
        kind,
        tried: tally.tried(),
        tally,
    };
    let kinds = tallies.into_iter().map(of_kind).collect();
    Ok(RandomDocument { schema: SCHEMA, changes, seed, kinds, missed })
}

impl RandomDocument {
    /// A line for each kind of change, then the changes that were missed.
    fn render(&self) -> String {
        let mut text = format!("{:<15} {:>7}", "change", "tried");
        // Writing to a string cannot fail.
        for detection in Detection::ALL {
            let _ = write!(text, " {:>10}", detection.word());
        }
        text.push('\n');
        for OfKind { kind, tried, tally } in &self.kinds {
            let _ = write!(text, "{:<15} {tried:>7}", kind.word());
            for detection in Detection::ALL {
                let _ = write!(text, " {:>10}", tally.count(detection));
            }
            text.push('\n');
        }
        for MissedInPost { post, mutant } in &self.missed {
            let MissedMutant { kind, claim, rule, words } = mutant;
            let _ = writeln!(text, "  {:<15} {post}/{claim}  {words} [{rule}]", kind.word());
        }
        text
    }
}

/// Runs the command: 3 where a changed first digit is missed, or nothing was changed. Random changes end with 0: some of them
/// stay within a rounding.
pub fn run(root: &Path, own: &args::ReviewArgs, output: &Output) -> Answer {
    let json = output.wants_json();
    let one = |error: Error| vec![error];
    let ids =
        if own.post == "all" { post::list(root).map_err(one)? } else { vec![own.post.clone()] };
    let seed = own.seed.as_deref().map_or(Ok(1), seed).map_err(one)?;
    if let Some(changes) = own.random {
        let found = random(root, &ids, changes, seed)?;
        if json {
            output.print_json(&found);
        } else {
            output.print(&found.render());
        }
        return Ok(ExitStatus::Verified);
    }
    let mut shelf = BundleStore::new(1, &[]);
    let mut posts = Vec::new();
    for id in &ids {
        let page = PostPage::load(root, id).map_err(one)?;
        posts.push(of_text(root, &page, &mut shelf)?);
    }
    if json {
        output.print_json(&Document { schema: SCHEMA, posts: &posts });
    } else {
        let mut text = String::new();
        posts.iter().for_each(|post| post.render(&mut text));
        output.print(&text);
    }
    let any = posts.iter().any(|post| !post.first_digit.changes.is_empty());
    let misses = posts.iter().any(|post| post.first_digit.tally.count(Detection::Missed) > 0);
    Ok(if any && !misses { ExitStatus::Verified } else { ExitStatus::Undecided })
}
