//! `repro review --coverage`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, Source};
use repro_report::outcome::ExitStatus;
use repro_verify::covered::{Coverage, covered};
use repro_verify::page::{PostPage, TextSource};
use repro_verify::post::UNKNOWN_TEXT;
use repro_verify::texts::as_seen;

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
pub fn run(root: &Path, own: &args::ReviewArgs, output: &Output) -> Answer {
    let json = output.wants_json();
    let one = |error: Error| vec![error];
    let page = PostPage::load(root, &own.post).map_err(one)?;
    let found = of_text(root, &page, own).map_err(one)?;
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
    Ok(if unbound > 0 || !found.misplaced.is_empty() || found.numbers.is_empty() {
        ExitStatus::Undecided
    } else {
        ExitStatus::Verified
    })
}

/// The numbers of a text that a post is about: the source that is named, the one whose file or digest the text has, or the
/// main one. Without a text that the caller gives it is the post's own.
fn of_text(root: &Path, page: &PostPage, own: &args::ReviewArgs) -> Result<Coverage, Error> {
    let own_file = || page.texts.iter().find_map(|text| text.file.as_deref());
    let path = own.text.first().cloned().or_else(|| Some(root.join("repro").join(own_file()?)));
    let path = path.ok_or_else(|| {
        let place = Location::file(page.file());
        UNKNOWN_TEXT.at(place, "a post with its text, or `--text FILE`", "neither")
    })?;
    let source = Source::load(&path, path.display().to_string())?;
    let digest = Digest::of(source.text().as_bytes());
    let name = path.file_name().and_then(|name| name.to_str());
    let text = match own.source.as_deref() {
        Some(id) => page.texts.iter().find(|text| text.id == id),
        None => {
            let is_named = |file: &String| name.is_some() && file.rsplit('/').next() == name;
            let is_it = |text: &&TextSource| {
                text.sha256 == Some(digest) || text.file.as_ref().is_some_and(is_named)
            };
            page.texts.iter().find(is_it).or(page.texts.first())
        }
    };
    let text = text.ok_or_else(|| {
        let known: Vec<_> = page.texts.iter().map(|text| format!("`{}`", text.id)).collect();
        let found = own.source.as_ref().map_or("no texts".to_owned(), |id| format!("`{id}`"));
        UNKNOWN_TEXT.at(Location::file(page.file()), format!("one of {}", known.join(", ")), found)
    })?;
    covered(page, text, &as_seen(&source)?)
}

/// The list for people: unbound numbers first, then all others by line.
fn render(found: &Coverage, verbose: bool) -> String {
    let (bound, excused, unbound) = found.counts();
    let mut text = format!(
        "{}  {} of {}: {bound} numbers covered by a claim · {excused} excused with a reason · {unbound} not covered\n",
        found.post, found.source, found.file
    );
    // Writing to a string cannot fail.
    for number in found.numbers.iter().filter(|number| number.is_unbound()) {
        let _ =
            writeln!(text, "  uncovered  {:>4}:{:<5} {}", number.line, number.column, number.text);
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
