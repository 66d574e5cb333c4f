//! `repro mutate`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_judge::lock;
use repro_judge::mutated::{ChangedNumber, changed};
use repro_judge::mutation::{Digit, Mutant, Typing, mutate, table};
use repro_judge::page::PostPage;
use repro_judge::post;
use repro_judge::post_file::PostFile;
use repro_judge::texts::GivenTexts;
use repro_judge::verify::BundleStore;
use repro_receipt::bundle::fact_id;
use repro_receipt::source::Error;
use repro_report::outcome::{ExitStatus, Verdict};

/// `repro.mutation/1`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    posts: Vec<&'a str>,
    numbers: &'a [Mutant],
    /// The numbers of the texts of posts in the language of claims.
    texts: &'a [OfText],
}

/// The numbers of the text of one post, each with one digit changed.
#[derive(Serialize)]
struct OfText {
    post: String,
    first_digit: Vec<ChangedNumber>,
    last_digit: Vec<ChangedNumber>,
}

/// Changes the numbers that a post in the language of claims binds.
fn of_text(
    root: &Path,
    page: &PostPage,
    shelf: &mut BundleStore<'_>,
) -> Result<OfText, Vec<Error>> {
    let one = |error: Error| vec![error];
    let lock = lock::own(root, &page.id).map_err(one)?;
    shelf.fetch_page(root, page, lock.as_ref())?;
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

/// Runs the command: 0 where no first digit can change unnoticed, else 3.
pub fn run(root: &Path, own: &args::MutateArgs, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let one = |error: Error| vec![error];
    let all = own.post.is_empty() || own.post.iter().any(|id| id == "all");
    let ids = if all { post::list(root).map_err(one)? } else { own.post.clone() };
    let mut shelf = BundleStore::new(1, &[]);
    let (mut posts, mut of_texts) = (Vec::new(), Vec::new());
    for id in &ids {
        match PostFile::load(root, id).map_err(one)? {
            PostFile::Kinds(post) => {
                shelf.fetch(root, &post)?;
                posts.push(post);
            }
            PostFile::Language(page) => of_texts.push(of_text(root, &page, &mut shelf)?),
        }
    }
    let mutants = match posts.is_empty() {
        true => Vec::new(),
        false => mutate(&posts, &mut shelf.library).map_err(one)?,
    };
    if json {
        let posts = ids.iter().map(String::as_str).collect();
        let (numbers, texts) = (&mutants[..], &of_texts[..]);
        output.print_json(&Document { schema: "repro.mutation/1", posts, numbers, texts });
    } else {
        let mut text = if posts.is_empty() { String::new() } else { render(&mutants) };
        of_texts.iter().for_each(|one| one.render(&mut text));
        output.print(&text);
    }
    let any = !mutants.is_empty() || of_texts.iter().any(|one| !one.first_digit.is_empty());
    let covered = any
        && mutants.iter().all(|mutant| mutant.first_digit.counts())
        && of_texts.iter().all(OfText::is_covered);
    Ok(if covered { ExitStatus::Verified } else { ExitStatus::Undecided })
}

/// The table, then every number that could change unnoticed.
fn render(mutants: &[Mutant]) -> String {
    let mut text = table(mutants);
    let any = |mutant: &&Mutant| !mutant.first_digit.counts();
    let last = |mutant: &&Mutant| mutant.first_digit.counts() && !mutant.last_digit.counts();
    list(&mut text, "any digit could change unnoticed", mutants.iter().filter(any).collect());
    list(
        &mut text,
        "only the last digit could change unnoticed",
        mutants.iter().filter(last).collect(),
    );
    text
}

fn list(text: &mut String, heading: &str, mutants: Vec<&Mutant>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{heading}: {}", mutants.len());
    for mutant in mutants {
        let unit = &mutant.unit;
        let document = unit.document.as_deref().unwrap_or("no document");
        let _ = writeln!(
            text,
            "  {:<20} {document} {}  {}",
            unit.text,
            unit.place,
            typings(&unit.typings)
        );
    }
}

/// "claim 0004/d10-depth, fact nmoe-0004/post.d10.depth".
fn typings(typings: &[Typing]) -> String {
    let name = |typing: &Typing| match typing {
        Typing::Claim { post, id } => format!("claim {post}/{id}"),
        Typing::Value { bundle, file, shown, .. } => {
            let fact = fact_id(shown);
            fact.map_or_else(|| format!("{bundle}/{file}"), |fact| format!("fact {bundle}/{fact}"))
        }
    };
    let names: Vec<_> = typings.iter().map(name).collect();
    format!("({})", names.join(", "))
}
