//! `repro compare`.

mod side;
mod tree;

use std::path::Path;

use super::args::CompareArgs;
use super::output::Output;
use super::{Answer, BAD_USAGE, threads};
use repro_core::source::{Location, codes};
use repro_report::Format;
use repro_report::compare;
use repro_verify::post;
use side::{CompareSide, Judging};

codes! {
    NO_SIDE = "compare::nothing-there", "neither a report, nor a project, nor a commit has this name", "name the JSON of a report, a folder that holds `repro/`, or a commit, a branch or a tag of the project";
    UNREADABLE_COMMIT = "compare::commit", "the files of a commit cannot be read", "see `git fsck`; of a partial clone, fetch the commit first";
}

/// Runs the command; `root` is the project, where there is one.
pub fn run(root: Option<&Path>, own: &CompareArgs, output: &Output) -> Answer {
    let threads = own.threads.unwrap_or_else(threads::cores);
    let judging = Judging { root, posts: &own.post, threads };
    let was = CompareSide::of(&own.was, root)?;
    let now =
        own.now.as_deref().map_or(Ok(CompareSide::Here), |name| CompareSide::of(name, root))?;
    if !own.post.is_empty() && [&was, &now].iter().any(|side| side.is_judged()) {
        let place = Location::file("--post");
        let expected = "commits and projects, whose posts are still to be judged";
        return Err(vec![BAD_USAGE.at(place, expected, "a report")]);
    }
    let [was, now] = [was.read(&judging)?, now.read(&judging)?];
    let is_nowhere = |id: &&String| ![&was, &now].iter().any(|side| side.posts.contains(id));
    let no_such = |id: &String| {
        let place = Location::file(format!("repro/{id}.toml"));
        post::NO_SUCH_POST.at(place, "a post of either side", "none")
    };
    let nowhere: Vec<_> = own.post.iter().filter(is_nowhere).map(no_such).collect();
    if !nowhere.is_empty() {
        return Err(nowhere);
    }
    output.spares(own.reports())?;
    let compared = compare::compare(&was.report, &now.report).map_err(|error| vec![error])?;
    let draw = |format, options: &_| match format {
        Format::Json => compare::json(&compared),
        Format::Markdown => compare::markdown(&compared),
        _ => compare::text(&compared, options),
    };
    output.drawn(&draw, &|| compare::markdown(&compared))?;
    Ok(compared.status())
}
