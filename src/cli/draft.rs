//! `repro draft`.

use std::fmt::Write;
use std::path::Path;

use super::args::DraftArgs;
use super::output::{Output, write_file};
use super::{Answer, threads};
use repro_draft::{self as draft, Draft, DraftRequest, DraftedNumber};
use repro_receipt::source::{Error, Location, Source};
use repro_report::outcome::ExitStatus;
use repro_report::{visible, wrap};

/// Runs the command: 0 where every number is bound, else 3.
pub fn run(root: &Path, own: &DraftArgs, output: &Output) -> Answer {
    output.without_report()?;
    let one = |error: Error| vec![error];
    let shown = own.text.display().to_string();
    let text = Source::load(&own.text, shown.clone()).map_err(one)?;
    let stem = own.text.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let id = own.id.clone().or(stem).unwrap_or_default();
    let name =
        own.text.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = root.join("repro");
    let post = folder.join(format!("{id}.toml"));
    let post_shown = format!("repro/{id}.toml");
    let before = match (post.exists(), own.update) {
        (true, false) => {
            let place = Location::file(post_shown);
            return Err(vec![draft::EXISTS.at(
                place,
                "a post that is not there yet",
                "one that is",
            )]);
        }
        (false, true) => {
            let place = Location::file(post_shown);
            return Err(vec![draft::NO_POST.at(place, "the post that is updated", "none")]);
        }
        (true, true) => {
            let source = Source::load_plain(&post, post_shown.clone()).map_err(one)?;
            Some(source.text().to_owned())
        }
        (false, false) => None,
    };
    let request = DraftRequest {
        root,
        id: &id,
        text_name: &name,
        evidence: &own.evidence,
        before,
        threads: own.threads.unwrap_or_else(threads::cores),
        text: Source::new(format!("repro/{name}"), text.text().as_bytes().to_vec()).map_err(one)?,
    };
    let drafted = draft::draft(&request)?;
    let copied = beside(&folder, &name, &text).map_err(one)?;
    write_file(&post, &post_shown, drafted.post.as_bytes()).map_err(one)?;
    output.print(&told(&drafted, &post_shown, copied.then_some(name.as_str()), &id, output));
    let is_whole = drafted.bound == drafted.total;
    Ok(if is_whole { ExitStatus::Verified } else { ExitStatus::Undecided })
}

/// Lays the text beside the post file, where it is looked up; answers whether it was not there.
fn beside(folder: &Path, name: &str, text: &Source) -> Result<bool, Error> {
    let path = folder.join(name);
    if let Ok(known) = Source::load_plain(&path, format!("repro/{name}")) {
        if known.text() == text.text() {
            return Ok(false);
        }
        let place = Location::file(format!("repro/{name}"));
        let expected = format!("the text of `{}`", text.name());
        return Err(draft::OTHER_TEXT.at(place, expected, "another text"));
    }
    write_file(&path, &format!("repro/{name}"), text.text().as_bytes()).map(|()| true)
}

fn told(drafted: &Draft, post: &str, copied: Option<&str>, id: &str, output: &Output) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |words: String| {
        let _ =
            writeln!(text, "{}", wrap(&words, output.width(), output.width() - 4).join("\n    "));
    };
    let Draft { bound, total, tried, confirmed, .. } = drafted;
    line(format!("{bound} of {total} numbers are bound, by {tried} expressions that were tried"));
    if *confirmed > 0 {
        line(format!("confirmed before, and left as they were: {confirmed}"));
    }
    for DraftedNumber { line: at, printed, expression, others, nearest } in &drafted.numbers {
        let printed = visible(printed);
        match (expression, nearest) {
            (Some(expression), _) if others.is_empty() => {
                line(format!("  {at:>4}  {printed}  {expression}"))
            }
            (Some(expression), _) => {
                line(format!(
                    "  {at:>4}  {printed}  {expression}   ambiguous: also {}",
                    others.join("; ")
                ));
            }
            (None, Some((expression, value))) => {
                line(format!("  {at:>4}  {printed}  open; nearest: {expression} is {value:.6}"));
            }
            (None, None) => line(format!("  {at:>4}  {printed}  open")),
        }
    }
    for (head, expressions, misfits) in &drafted.columns {
        let misfits = match misfits.is_empty() {
            true => String::new(),
            false => format!("   does not fit {}", visible(&misfits.join(", "))),
        };
        line(format!("  column {}  {}{misfits}", visible(head), expressions.join(", ")));
    }
    for head in &drafted.open_columns {
        line(format!("  column {}  open", visible(head)));
    }
    if let Some(name) = copied {
        line(format!("the text was copied to repro/{}, where it is looked up", visible(name)));
    }
    line(format!("written  {}", visible(post)));
    line(format!(
        "next     read each statement, take away its line `# drafted` once it says what the text means; then `repro verify --post {id}`"
    ));
    text
}
