//! `repro mutate`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_judge::lock;
use repro_judge::mutants::{self, MutantTally, MutationKind};
use repro_judge::mutated::{ChangedNumber, Digit, changed};
use repro_judge::page::PostPage;
use repro_judge::post;
use repro_judge::texts::GivenTexts;
use repro_judge::verify::BundleStore;
use repro_receipt::source::Error;
use repro_report::outcome::{ExitStatus, Verdict};

/// `repro.mutation/2`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    posts: &'a [OfText],
}

/// The numbers of the text of one post, each with one digit changed.
#[derive(Serialize)]
struct OfText {
    post: String,
    first_digit: Vec<ChangedNumber>,
    last_digit: Vec<ChangedNumber>,
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
    let with = |digit| changed(page, &shelf.library, &texts, digit).map_err(one);
    let (first_digit, last_digit) = (with(Digit::First)?, with(Digit::Last)?);
    Ok(OfText { post: page.id.clone(), first_digit, last_digit })
}

impl OfText {
    /// Whether each claim that holds would not with another first digit.
    fn is_covered(&self) -> bool {
        self.first_digit.iter().all(|one| one.is_noticed || one.verdict != Verdict::Verified)
    }

    /// How many changes are noticed, and each that is not.
    fn render(&self, text: &mut String) {
        for (what, all) in [("first", &self.first_digit), ("last", &self.last_digit)] {
            let (noticed, missed): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.is_noticed);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}: {} numbers of the text with another {what} digit, {} noticed",
                self.post,
                all.len(),
                noticed.len()
            );
            for one in missed {
                let (from, to) = &one.texts;
                let verdict = one.verdict.word();
                let _ = writeln!(text, "  {from:<20} {to:<20} {verdict}  claim {}", one.claim);
            }
        }
    }
}

/// The random changes of some posts, a line for each kind of change, then those that nothing noticed.
fn random(root: &Path, ids: &[String], count: usize, seed: u64) -> Result<String, Vec<Error>> {
    let one = |error: Error| vec![error];
    let mut shelf = BundleStore::new(1, &[]);
    let mut tallies: BTreeMap<MutationKind, MutantTally> = BTreeMap::new();
    let mut missed = String::new();
    for id in ids {
        let page = PostPage::load(root, id).map_err(one)?;
        let lock = lock::read(root, id).map_err(one)?;
        shelf.fetch(root, &page, lock.as_ref())?;
        let texts = GivenTexts::default().of(&page, root)?;
        let found = mutants::random(&page, &shelf.library, &texts, count, seed).map_err(one)?;
        for (kind, tally) in found.tallies {
            let all = tallies.entry(kind).or_default();
            all.tried += tally.tried;
            all.noticed += tally.noticed;
            all.still_true += tally.still_true;
        }
        for one in found.unnoticed {
            let (kind, claim, words) = (one.kind.word(), one.claim, one.words);
            // Writing to a string cannot fail.
            let _ = writeln!(missed, "  {kind:<15} {id}/{claim}  {words} [{}]", one.rule);
        }
    }
    let mut text = format!(
        "{:<15} {:>7} {:>8} {:>11} {:>10}\n",
        "change", "tried", "noticed", "still true", "unnoticed"
    );
    for (kind, tally) in &tallies {
        let MutantTally { tried, noticed, still_true } = tally;
        let left = tried - noticed - still_true;
        let _ = writeln!(
            text,
            "{:<15} {tried:>7} {noticed:>8} {still_true:>11} {left:>10}",
            kind.word()
        );
    }
    Ok(text + &missed)
}

/// Runs the command: 0 where no first digit can change unnoticed, else 3.
pub fn run(root: &Path, own: &args::MutateArgs, output: &Output) -> Answer {
    let json = output.wants_json();
    let one = |error: Error| vec![error];
    let all = own.post.is_empty() || own.post.iter().any(|id| id == "all");
    let ids = if all { post::list(root).map_err(one)? } else { own.post.clone() };
    if let Some(count) = own.random {
        output.print(&random(root, &ids, count, own.seed)?);
        return Ok(ExitStatus::Verified);
    }
    let mut shelf = BundleStore::new(1, &[]);
    let mut posts = Vec::new();
    for id in &ids {
        let page = PostPage::load(root, id).map_err(one)?;
        posts.push(of_text(root, &page, &mut shelf)?);
    }
    if json {
        output.print_json(&Document { schema: "repro.mutation/2", posts: &posts });
    } else {
        let mut text = String::new();
        posts.iter().for_each(|post| post.render(&mut text));
        output.print(&text);
    }
    let any = posts.iter().any(|post| !post.first_digit.is_empty());
    let covered = any && posts.iter().all(OfText::is_covered);
    Ok(if covered { ExitStatus::Verified } else { ExitStatus::Undecided })
}
