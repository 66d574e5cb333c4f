//! One side of a comparison: a report that was written, a project, or a commit of one, which are judged now.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::git::commit_of;
use super::super::history::GitHistory;
use super::super::{NO_ROOT, trainer};
use super::{NO_SIDE, UNREADABLE_COMMIT, tree};
use repro_core::source::{Error, Location, Source};
use repro_report::compare::{JudgedReport, REPORT_CAP, parse};
use repro_report::{Format, ReportOptions, render};
use repro_verify::post;
use repro_verify::verify::{self, Demands};

/// A side of a comparison.
#[derive(Debug)]
pub enum CompareSide {
    /// The JSON of a report.
    Report(PathBuf),
    /// A project in a folder.
    Project(PathBuf),
    /// The project that the command runs in, as it lies there.
    Here,
    /// A commit of that project: as it was called, and its name.
    Commit { called: String, commit: String },
}

/// How posts are judged.
#[derive(Debug)]
pub struct Judging<'a> {
    /// The project that the command runs in.
    pub root: Option<&'a Path>,
    /// Which posts; none: all.
    pub posts: &'a [String],
    pub threads: usize,
}

impl CompareSide {
    /// Resolves `name`: a file, a folder, or else a commit.
    pub fn of(name: &str, root: Option<&Path>) -> Result<Self, Vec<Error>> {
        let (path, place) = (Path::new(name), || Location::file(name));
        let file = path.is_file().then(|| Self::Report(path.to_owned()));
        let file =
            file.or_else(|| path.join("repro").is_dir().then(|| Self::Project(path.to_owned())));
        let commit = match root.map(|root| commit_of(root, name)) {
            Some(Err(reason)) if file.is_none() => {
                return Err(vec![UNREADABLE_COMMIT.at(place(), "a commit", reason)]);
            }
            found => found.and_then(Result::ok).flatten(),
        };
        match (file, commit) {
            (Some(_), Some(_)) => {
                let error = NO_SIDE.at(
                    place(),
                    "one match for this name",
                    "a path and a commit with this name",
                );
                Err(vec![
                    error.help(format!(
                        "write `./{name}` for the path, or `{name}^0` for the commit"
                    )),
                ])
            }
            (Some(side), None) => Ok(side),
            (None, Some(commit)) => Ok(Self::Commit { called: name.to_owned(), commit }),
            (None, None) => {
                let expected = "a report, a project, or a commit of the project";
                Err(vec![NO_SIDE.at(place(), expected, "no such report, project or commit")])
            }
        }
    }

    /// Whether it has been judged before.
    pub fn is_judged(&self) -> bool {
        matches!(self, Self::Report(_))
    }

    /// Its report, read from a file or judged now.
    pub fn read(&self, judging: &Judging) -> Result<JudgedSide, Vec<Error>> {
        let here = || judging.root.ok_or_else(no_project);
        match self {
            Self::Report(path) => {
                let report = report(path).map_err(|error| vec![error])?;
                Ok(JudgedSide { report, posts: Vec::new() })
            }
            Self::Project(root) => judging.judge(root, root, &root.display().to_string()),
            Self::Here => judging.judge(here()?, here()?, "the current project"),
            Self::Commit { called, commit } => {
                let short = commit.get(..10).unwrap_or(commit);
                let name = match commit.starts_with(called) {
                    true => short.to_owned(),
                    false => format!("{called} ({short})"),
                };
                let folder = tree::taken_out(here()?, commit).map_err(|error| vec![error])?;
                judging.judge(folder.path(), here()?, &name)
            }
        }
    }
}

/// A side as it is compared.
#[derive(Debug)]
pub struct JudgedSide {
    pub report: JudgedReport,
    /// The posts that there are, judged or not; of a report none are known.
    pub posts: Vec<String>,
}

fn no_project() -> Vec<Error> {
    vec![NO_ROOT.at(Location::file("."), "a parent folder that contains `repro/`", "none")]
}

fn report(path: &Path) -> Result<JudgedReport, Error> {
    let name = path.display().to_string();
    let source = Source::load_at_most(REPORT_CAP, path, name.as_str())?;
    parse(&name, source)
}

impl Judging<'_> {
    /// Judges the posts below `root`, whose repository is that of `project`; plans are looked up in its history.
    fn judge(&self, root: &Path, project: &Path, name: &str) -> Result<JudgedSide, Vec<Error>> {
        let posts = post::list(root).map_err(|error| vec![error])?;
        let asked = |id: &&String| self.posts.is_empty() || self.posts.contains(id);
        let ids: Vec<_> = posts.iter().filter(asked).cloned().collect();
        let demands = Demands {
            project: Some(root.to_owned()),
            history: Some(Arc::new(GitHistory::of(project))),
            initial_weights: trainer::INITIAL_WEIGHTS,
            // What a lock pins is left to `verify --locked`: here another bundle is told, not refused.
            repin: true,
            ..Demands::default()
        };
        let report = verify::verify(root, &ids, &demands, self.threads);
        let json = render(&report, Format::Json, &ReportOptions::default());
        let source = Source::of_at_most(usize::MAX, name, json.into_bytes());
        let report = source.and_then(|source| parse(name, source)).map_err(|error| vec![error])?;
        let files = post::files(root);
        let is_asked = |(name, _): &(String, String)| {
            let stem = name.strip_prefix("repro/").and_then(|name| Some(name.rsplit_once('.')?.0));
            self.posts.is_empty() || self.posts.iter().any(|id| stem == Some(id))
        };
        let files = files.into_iter().filter(is_asked).collect();
        let report = JudgedReport { files, ..report };
        Ok(JudgedSide { report, posts })
    }
}
