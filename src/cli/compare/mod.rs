//! `repro diff` of reports, projects and commits: what changed.

mod side;
mod tree;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::args::DiffArgs;
use super::output::Output;
use super::{Answer, BAD_USAGE, threads};
use repro_core::source::{Location, codes};
use repro_report::Format;
use repro_report::compare;
use repro_verify::post;
use side::{CompareSide, Judging};

codes! {
    NO_SIDE = "compare::unknown-side", "no run, report, project or commit has this name", "pass a config, a bundle, a JSON report, a folder that contains `repro/`, or a git commit, branch or tag";
    UNREADABLE_COMMIT = "compare::unreadable-commit", "the files of a commit cannot be read", "run `git fsck`; in a partial clone, fetch the commit first";
}

/// The bytes in which a report names its schema.
const HEAD: u64 = 4_096;

/// Whether what is to be compared are reports, projects or commits, and not runs: a name that is no path is that of a commit.
pub fn is_meant(own: &DiffArgs) -> bool {
    let path = |side: &str| Path::new(side).exists();
    let is_run = |side: &String| {
        let step = side.rsplit_once('@').is_some_and(|(run, _)| path(run));
        step || path(side) && !is_judged_or_report(Path::new(side))
    };
    own.horizon.is_none() && !own.sides.iter().any(is_run)
}

/// Whether a path is that of a project or of a report.
fn is_judged_or_report(path: &Path) -> bool {
    path.join("repro").is_dir() || path.is_file() && is_report(path)
}

/// Whether a file begins as our reports do; one that is cut or changed further down is still meant as a report.
fn is_report(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && ["\"repro.report/", "\"repro.check/"].iter().any(|schema| head.contains(schema))
}

/// Runs the command; `root` is the project, if there is one.
pub fn run(root: Option<&Path>, own: &DiffArgs, output: &Output) -> Answer {
    let threads = own.threads.unwrap_or_else(threads::cores);
    let judging = Judging { root, posts: &own.post, threads };
    let (was, now) = match own.sides.as_slice() {
        [was] => (CompareSide::of(was, root)?, CompareSide::Here),
        [was, now] => (CompareSide::of(was, root)?, CompareSide::of(now, root)?),
        sides => {
            let found = format!("{} names", sides.len());
            let expected = "one or two reports, projects or commits";
            return Err(vec![BAD_USAGE.at(Location::file("diff"), expected, found)]);
        }
    };
    if !own.post.is_empty() && [&was, &now].iter().any(|side| side.is_judged()) {
        let place = Location::file("--post");
        let expected = "commits or projects: a report is already judged";
        return Err(vec![BAD_USAGE.at(place, expected, "a report")]);
    }
    let [was, now] = [was.read(&judging)?, now.read(&judging)?];
    let is_nowhere = |id: &&String| ![&was, &now].iter().any(|side| side.posts.contains(id));
    let no_such = |id: &String| {
        let place = Location::file(format!("repro/{id}.toml"));
        post::NO_SUCH_POST.at(place, "a post on either side", "none")
    };
    let nowhere: Vec<_> = own.post.iter().filter(is_nowhere).map(no_such).collect();
    if !nowhere.is_empty() {
        return Err(nowhere);
    }
    output.spares(own.sides.iter().map(String::as_str).filter(|side| Path::new(side).is_file()))?;
    let compared = compare::compare(&was.report, &now.report).map_err(|error| vec![error])?;
    let draw = |format, options: &_| match format {
        Format::Json => compare::json(&compared),
        Format::Markdown => compare::markdown(&compared),
        _ => compare::text(&compared, options),
    };
    output.drawn(&draw, &|| compare::markdown(&compared))?;
    Ok(compared.status())
}
