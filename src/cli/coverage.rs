//! `repro coverage`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_judge::coverage::{Coverage, coverage, publication};
use repro_judge::covered::covered;
use repro_judge::page::{PostPage, TextSource};
use repro_judge::post::{NO_SUCH_SOURCE, Post};
use repro_judge::post_file::PostFile;
use repro_judge::verify::{BundleStore, judge};
use repro_receipt::digest::Digest;
use repro_receipt::source::{Error, Location, Source};
use repro_report::outcome::ExitStatus;

/// `repro.coverage/1`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    coverage: &'a Coverage,
    bound: usize,
    excused: usize,
    unbound: usize,
}

/// Runs the command: 0 where every number has a claim or a reason, else 3.
pub fn run(root: &Path, own: &args::CoverageArgs, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let one = |error: Error| vec![error];
    let (found, failures) = match PostFile::load(root, &own.post).map_err(one)? {
        PostFile::Kinds(post) => by_kinds(root, &post, own)?,
        PostFile::Language(page) => (in_language(&page, own).map_err(one)?, Vec::new()),
    };
    let (bound, excused, unbound) = found.counts();
    if json {
        output.print_json(&Document {
            schema: "repro.coverage/1",
            coverage: &found,
            bound,
            excused,
            unbound,
        });
    } else {
        output.print(&render(&found, output.verbose()));
    }
    for error in &failures {
        output.complain(error);
    }
    Ok(if !failures.is_empty() {
        ExitStatus::Refused
    } else if unbound > 0 || !found.misplaced.is_empty() || found.numbers.is_empty() {
        ExitStatus::Undecided
    } else {
        ExitStatus::Verified
    })
}

/// The numbers of a text that a post in the language of claims is about: the one that is named, the one
/// whose file or digest this is, or the main one.
fn in_language(page: &PostPage, own: &args::CoverageArgs) -> Result<Coverage, Error> {
    let source = Source::load(&own.text, own.text.display().to_string())?;
    let digest = Digest::of(source.text().as_bytes());
    let name = own.text.file_name().and_then(|name| name.to_str());
    let text = match own.source.as_deref() {
        Some(id) => page.texts.iter().find(|text| text.id == id),
        None => {
            let is_it = |text: &&TextSource| {
                text.sha256 == Some(digest) || (text.file.is_some() && text.file.as_deref() == name)
            };
            page.texts.iter().find(is_it).or(page.texts.first())
        }
    };
    let text = text.ok_or_else(|| {
        let known: Vec<_> = page.texts.iter().map(|text| format!("`{}`", text.id)).collect();
        let found = own.source.as_ref().map_or("no texts".to_owned(), |id| format!("`{id}`"));
        NO_SUCH_SOURCE.at(
            Location::file(page.file()),
            format!("one of {}", known.join(", ")),
            found,
        )
    })?;
    Ok(covered(page, text, &source))
}

/// The numbers of a publication, and what could not be judged.
fn by_kinds(
    root: &Path,
    post: &Post,
    own: &args::CoverageArgs,
) -> Result<(Coverage, Vec<Error>), Vec<Error>> {
    let one = |error: Error| vec![error];
    let mut shelf = BundleStore::new(1, &[]);
    shelf.fetch(root, post)?;
    let judged = judge(post, &shelf.library, 1);
    let name = own.text.display().to_string();
    let publication = publication(post, own.source.as_deref(), &name).map_err(one)?;
    let text = Source::load(&own.text, name).map_err(one)?;
    let found = coverage(post, &judged.post, &shelf.library, publication, text).map_err(one)?;
    Ok((found, judged.failures))
}

/// The list for people: unbound numbers first, then all others by line.
fn render(found: &Coverage, verbose: bool) -> String {
    let (bound, excused, unbound) = found.counts();
    let mut text = format!(
        "{}  {} of {}: {bound} numbers bound to a claim · {excused} left out with a reason · {unbound} unbound\n",
        found.post, found.source, found.file
    );
    // Writing to a string cannot fail.
    for number in found.numbers.iter().filter(|number| number.is_unbound()) {
        let _ =
            writeln!(text, "  unbound    {:>4}:{:<5} {}", number.line, number.column, number.text);
    }
    for misplaced in &found.misplaced {
        let _ = writeln!(text, "  not found  {misplaced}: its quote or place is not in the text");
    }
    for number in found.numbers.iter().filter(|number| !number.is_unbound()) {
        let by = match &number.reason {
            Some(reason) if number.bound_by.is_empty() => format!("no claim: {reason}"),
            _ if verbose => number.bound_by.join(", "),
            _ => shortened(&number.bound_by),
        };
        let _ =
            writeln!(text, "  {:>4}:{:<5} {:<16} {by}", number.line, number.column, number.text);
    }
    text
}

fn shortened(names: &[String]) -> String {
    match names {
        [first, _, ..] => format!("{first} and {} more", names.len() - 1),
        _ => names.join(""),
    }
}
