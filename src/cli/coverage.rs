//! `repro coverage`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_judge::coverage::{Coverage, coverage, publication};
use repro_judge::post::Post;
use repro_judge::verify::{BundleStore, judge};
use repro_receipt::source::{Error, Source};
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
    let post = Post::load(root, &own.post).map_err(one)?;
    let mut shelf = BundleStore::new(1, &[]);
    shelf.fetch(root, &post)?;
    let judged = judge(&post, &shelf.library, 1);
    let name = own.text.display().to_string();
    let publication = publication(&post, own.source.as_deref(), &name).map_err(one)?;
    let text = Source::load(&own.text, name).map_err(one)?;
    let found = coverage(&post, &judged.post, &shelf.library, publication, text).map_err(one)?;
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
    for error in &judged.failures {
        output.complain(error);
    }
    Ok(if !judged.failures.is_empty() {
        ExitStatus::Refused
    } else if unbound > 0 || !found.misplaced.is_empty() || found.numbers.is_empty() {
        ExitStatus::Undecided
    } else {
        ExitStatus::Verified
    })
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
