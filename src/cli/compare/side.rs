//! One side of a comparison: a report that was written, a project, or a commit of one, which are judged now.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::git::commit_of;
use super::super::history::GitHistory;
use super::super::{NO_ROOT, trainer};
use super::{NO_SIDE, tree};
use repro_compare::{JudgedReport, REPORT_CAP, parse};
use repro_judge::post;
use repro_judge::verify::{self, Demands};
use repro_receipt::source::{Error, Location, Source};
use repro_report::{Format, ReportOptions, render};

/// What a side of a comparison is.
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
    /// What `name` is the name of: a file, a folder, else a commit.
    pub fn of(name: &str, root: Option<&Path>) -> Result<Self, Vec<Error>> {
        let path = Path::new(name);
        if path.is_file() {
            return Ok(Self::Report(path.to_owned()));
        }
        if path.join("repro").is_dir() {
            return Ok(Self::Project(path.to_owned()));
        }
        let commit = root.and_then(|root| commit_of(root, name));
        let called = name.to_owned();
        commit.map(|commit| Self::Commit { called, commit }).ok_or_else(|| {
            let expected = "a report, a project, or a commit of the project";
            vec![NO_SIDE.at(Location::file(name), expected, "nothing of this name")]
        })
    }

    /// Whether it has been judged before.
    pub fn is_judged(&self) -> bool {
        matches!(self, Self::Report(_))
    }

    /// What is said of it: as it was reported, or as it is judged now.
    pub fn read(&self, judging: &Judging) -> Result<JudgedReport, Vec<Error>> {
        let here = || judging.root.ok_or_else(no_project);
        match self {
            Self::Report(path) => report(path).map_err(|error| vec![error]),
            Self::Project(root) => judging.judge(root, root, &root.display().to_string()),
            Self::Here => judging.judge(here()?, here()?, "the project as it lies here"),
            Self::Commit { called, commit } => {
                let short = commit.get(..10).unwrap_or(commit);
                let name = if commit.starts_with(called) {
                    short.to_owned()
                } else {
                    format!("{called} ({short})")
                };
                let folder = tree::taken_out(here()?, commit).map_err(|error| vec![error])?;
                judging.judge(folder.path(), here()?, &name)
            }
        }
    }
}

fn no_project() -> Vec<Error> {
    vec![NO_ROOT.at(Location::file("."), "a folder upward that holds `repro/`", "none")]
}

fn report(path: &Path) -> Result<JudgedReport, Error> {
    let name = path.display().to_string();
    let source = Source::load_at_most(REPORT_CAP, path, name.as_str())?;
    parse(&name, source)
}

impl Judging<'_> {
    /// Judges the posts below `root`, whose repository is that of `project`; plans are looked up in its history.
    fn judge(&self, root: &Path, project: &Path, name: &str) -> Result<JudgedReport, Vec<Error>> {
        let all = post::list(root).map_err(|error| vec![error])?;
        let asked = |id: &String| self.posts.is_empty() || self.posts.contains(id);
        let ids: Vec<_> = all.into_iter().filter(asked).collect();
        let demands = Demands {
            project: Some(root.to_owned()),
            history: Some(Arc::new(GitHistory::of(project))),
            beginnings: trainer::BEGINNINGS,
            // What a lock pins is left to `verify --locked`: here another bundle is told, not refused.
            repin: true,
            ..Demands::default()
        };
        let report = verify::verify(root, &ids, &demands, self.threads);
        let json = render(&report, Format::Json, &ReportOptions::default());
        let source = Source::of_at_most(usize::MAX, name, json.into_bytes());
        source.and_then(|source| parse(name, source)).map_err(|error| vec![error])
    }
}
