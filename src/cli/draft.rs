//! `repro draft`.

use std::fmt::Write;
use std::path::Path;

use super::args::DraftArgs;
use super::output::{Output, write_file};
use super::{Answer, threads};
use repro_core::source::{Error, Location, Source};
use repro_report::outcome::ExitStatus;
use repro_report::{visible, wrap};
use repro_verify::draft::{self as draft, Draft, DraftRequest, DraftedNumber};
use repro_verify::{post, texts};

/// The columns that printed numbers take, at most.
const PRINTED: usize = 16;

/// Runs the command: 0 where every number is bound, else 3.
pub fn run(root: &Path, own: &DraftArgs, output: &Output) -> Answer {
    let one = |error: Error| vec![error];
    let shown = own.text.display().to_string();
    let text = Source::load(&own.text, shown.clone()).map_err(one)?;
    let id = own.id.clone().unwrap_or_else(|| id_of(&own.text));
    let within = within(root, &own.text);
    let name = within
        .clone()
        .unwrap_or_else(|| own.text.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let folder = root.join("repro");
    let post = folder.join(format!("{id}.toml"));
    let post_shown = format!("repro/{id}.toml");
    let before = match (post.exists(), own.update) {
        (true, false) => {
            let place = Location::file(post_shown);
            return Err(vec![draft::EXISTS.at(place, "a new post", "an existing post")]);
        }
        (false, true) => {
            let place = Location::file(post_shown);
            return Err(vec![draft::NO_POST.at(place, "an existing post", "none")]);
        }
        (true, true) => {
            let source = Source::load_plain(&post, post_shown.clone()).map_err(one)?;
            Some(source.text().to_owned())
        }
        (false, false) => None,
    };
    let shown_in_project = texts::inside(&name).unwrap_or(shown);
    let request = DraftRequest {
        root,
        id: &id,
        text_name: &name,
        evidence: &own.evidence,
        before,
        threads: own.threads.unwrap_or_else(threads::cores),
        text: Source::new(shown_in_project, text.text().as_bytes().to_vec()).map_err(one)?,
    };
    let drafted = draft::draft(&request)?;
    let copied = within.is_none() && beside(root, &name, &text).map_err(one)?;
    write_file(root, &post_shown, &post_shown, drafted.post.as_bytes()).map_err(one)?;
    output.print(&told(&drafted, &post_shown, copied.then_some(name.as_str()), &id, output));
    let is_whole = drafted.bound == drafted.total;
    Ok(if is_whole { ExitStatus::Verified } else { ExitStatus::Undecided })
}

/// The id of the post of a text, by its file name: `my-notes` of `my notes.md`.
pub fn id_of(text: &Path) -> String {
    let stem = text.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let stem = stem.unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
    let parts = stem.split(|c: char| !is_plain(c)).filter(|part| !part.is_empty());
    let id = parts.collect::<Vec<_>>().join("-");
    let id = id.trim_matches('.');
    match id {
        "" => "post".to_owned(),
        id if post::is_reserved(id) => format!("{id}-post"),
        id => id.to_owned(),
    }
}

/// The path of a text of the project, seen from the folder of post files: `../README.md`. None if it lies elsewhere.
fn within(root: &Path, text: &Path) -> Option<String> {
    let text = text.canonicalize().ok()?;
    let path = text.strip_prefix(root.canonicalize().ok()?).ok()?;
    let beside = path.strip_prefix("repro").map(Path::to_path_buf);
    beside.unwrap_or_else(|_| Path::new("..").join(path)).to_str().map(str::to_owned)
}

/// Lays a text from elsewhere beside the post file, where it is looked up; answers whether it was not there.
fn beside(root: &Path, name: &str, text: &Source) -> Result<bool, Error> {
    let shown = format!("repro/{name}");
    let path = root.join(&shown);
    if let Ok(known) = Source::load_plain(&path, shown.as_str()) {
        if known.text() == text.text() {
            return Ok(false);
        }
        let place = Location::file(shown);
        let expected = format!("the text of `{}`", text.name());
        return Err(draft::OTHER_TEXT.at(place, expected, "a different text"));
    }
    write_file(root, &shown, &shown, text.text().as_bytes()).map(|()| true)
}

fn told(drafted: &Draft, post: &str, copied: Option<&str>, id: &str, output: &Output) -> String {
    let mut text = String::new();
    let wrapped =
        |words: String| wrap(&words, output.width(), output.width() - 4).join("\n    ") + "\n";
    text.push_str(&bound_text(drafted, output.width()));
    let mut line = |words: String| text.push_str(&wrapped(words));
    if let Some(name) = copied {
        line(format!("copied the text to repro/{}, where verify expects it", visible(name)));
    }
    line(format!("written  {}", visible(post)));
    line(format!(
        "next     read each statement, delete its line `# drafted` once it matches the text, then run `repro verify --post {id}`"
    ));
    text
}

/// The outcome for each number and column, in lines of `width` columns.
pub fn bound_text(drafted: &Draft, width: usize) -> String {
    let mut text = String::new();
    let wrapped = |words: String| wrap(&words, width, width - 4).join("\n    ") + "\n";
    let Draft { bound, total, tried, confirmed, .. } = drafted;
    text.push_str(&wrapped(format!(
        "{bound} of {total} numbers are covered; {tried} expressions were tried"
    )));
    if drafted.left_out > 0 {
        text.push_str(&wrapped(format!(
            "too many expressions for one draft, not tried: {}; choose fewer bundles with `--evidence`",
            drafted.left_out
        )));
    }
    if drafted.has_ended_early {
        text.push_str(&wrapped("some numbers were left open to limit the work per draft; confirm the bound ones and run `--update`, or draft the text in parts".to_owned()));
    }
    if *confirmed > 0 {
        text.push_str(&wrapped(format!("previously confirmed, unchanged: {confirmed}")));
    }
    text.push_str(&numbers_text(drafted, width));
    let mut line = |words: String| text.push_str(&wrapped(words));
    for (head, expressions, misfits) in &drafted.columns {
        let misfits = match misfits.is_empty() {
            true => String::new(),
            false => format!("   does not match {}", visible(&misfits.join(", "))),
        };
        line(format!("  column {}  {}{misfits}", visible(head), expressions.join(", ")));
    }
    for head in &drafted.open_columns {
        line(format!("  column {}  open", visible(head)));
    }
    text
}

/// The numbers of sentences with their lines, one below the other.
fn numbers_text(drafted: &Draft, width: usize) -> String {
    let widths = drafted.numbers.iter().map(|number| number.printed.chars().count());
    let widest = widths.max().unwrap_or_default().min(PRINTED);
    let mut text = String::new();
    for number in &drafted.numbers {
        let head = format!("{:>6}  {:<widest$}  ", number.line, visible(&number.printed));
        let indent = widest + 10;
        let lines = wrap(&bound_to(number), width - indent, width - indent);
        let joined = lines.join(&format!("\n{:indent$}", ""));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{head}{joined}");
    }
    text
}

/// The binding of a number with equally likely ones, or a note that it is open.
fn bound_to(number: &DraftedNumber) -> String {
    match (&number.expression, &number.nearest) {
        (Some(expression), _) if number.others.is_empty() => expression.clone(),
        (Some(expression), _) => {
            format!("{expression}, ambiguous: also {}", number.others.join("; "))
        }
        (None, Some((expression, value))) => {
            format!("open; nearest: {expression} is {value:.6}")
        }
        (None, None) => "open".to_owned(),
    }
}
