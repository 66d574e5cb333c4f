//! Plans in the project's git history, if available: queried once per commit and study.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use super::git::git;
use repro_bundle::bundle::TAG_MANIFEST;
use repro_core::digest::Digest;
use repro_core::source::Source;
use repro_model::study::plan_text;
use repro_verify::verify::{PlanAt, PlanHistory};

/// The history of a project.
#[derive(Debug)]
pub struct GitHistory {
    root: PathBuf,
    /// The contents of commits, by commit and study; none if a commit is missing.
    known: Mutex<BTreeMap<(String, String), Option<Held>>>,
    /// The digests of bundles in commits.
    bundles: Mutex<BTreeMap<(String, String), Option<Digest>>>,
}

/// The contents of a commit.
#[derive(Debug, Clone)]
struct Held {
    /// The text of the plan.
    plan: Option<String>,
    /// The names of the bundles.
    bundles: BTreeSet<String>,
}

impl GitHistory {
    /// Of the project at `root`.
    pub fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), known: Mutex::default(), bundles: Mutex::default() }
    }

    /// The objects that these names mean, each with its bytes; none if git cannot be asked.
    fn objects(&self, names: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
        let mut command = git(&self.root)?;
        command.args(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut asked = command.spawn().ok()?;
        // So little fits the pipe; dropped, it ends what is asked.
        asked.stdin.take()?.write_all(names.join("\n").as_bytes()).ok()?;
        let answer = asked.wait_with_output().ok()?;
        let mut rest = answer.status.success().then_some(answer.stdout.as_slice())?;
        let mut objects = Vec::new();
        for _ in names {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let (head, after) = (std::str::from_utf8(rest.get(..end)?).ok()?, rest.get(end + 1..)?);
            let length = head.rsplit(' ').next().and_then(|length| length.parse::<usize>().ok());
            match length {
                Some(length) => {
                    objects.push(Some(after.get(..length)?.to_vec()));
                    rest = after.get(length + 1..)?;
                }
                None => (objects.push(None), rest = after).1,
            }
        }
        Some(objects)
    }

    fn held(&self, commit: &str, plan: &str) -> Option<Held> {
        let names = [
            commit.to_owned(),
            format!("{commit}^{{commit}}"),
            format!("{commit}:./{plan}"),
            format!("{commit}:./receipts"),
        ];
        let [found, is_commit, plan, receipts] = self.objects(&names)?.try_into().ok()?;
        found?;
        // A tree or a file has no time.
        let plan = plan.filter(|_| is_commit.is_some());
        let bundles = receipts.map(|tree| entries(&tree, commit.len() / 2)).unwrap_or_default();
        let plan = plan.map(|text| plan_text(&String::from_utf8_lossy(&text)));
        Some(Held { plan, bundles })
    }

    /// The digest of a bundle that a commit holds.
    fn bundle(&self, commit: &str, bundle: &str) -> Option<Digest> {
        let mut known = self.bundles.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (commit.to_owned(), bundle.to_owned());
        *known.entry(key).or_insert_with(|| {
            let name = format!("{commit}:./receipts/{bundle}/{}", TAG_MANIFEST);
            let manifest = self.objects(&[name])?.pop()??;
            Some(Digest::of(&manifest))
        })
    }
}

/// The names in a tree object, whose hashes have this many bytes: each is a mode, a space, the name, a zero, the hash.
fn entries(mut tree: &[u8], hash: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    while let Some(end) = tree.iter().position(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(tree.get(..end).unwrap_or_default());
        names.extend(entry.split_once(' ').map(|(_, name)| name.to_owned()));
        tree = tree.get(end + 1 + hash..).unwrap_or_default();
    }
    names
}

/// Where the plan of a study is; nothing for what a stranger's receipt calls its study, and is a path.
fn plan_of(study: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    study.chars().all(is_name).then(|| format!("repro/studies/{study}.toml"))
}

impl PlanHistory for GitHistory {
    fn at(&self, commit: &str, study: &str, bundle: &str) -> PlanAt {
        let plan = plan_of(study);
        // A bundle may be looked at anywhere: only the project of the study knows its plans.
        let plan = plan.filter(|plan| git(&self.root).is_some() && self.root.join(plan).is_file());
        let Some(plan) = plan else { return PlanAt::NoRepository };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (commit.to_owned(), study.to_owned());
        match known.entry(key).or_insert_with(|| self.held(commit, &plan)) {
            None => PlanAt::NoCommit,
            Some(Held { plan: None, .. }) => PlanAt::NoPlan,
            Some(Held { plan: Some(text), bundles }) => {
                let held = bundles.contains(bundle).then(|| self.bundle(commit, bundle)).flatten();
                PlanAt::Plan { text: text.clone(), bundle: held }
            }
        }
    }

    fn now(&self, study: &str) -> Option<String> {
        let name = plan_of(study)?;
        let source = Source::load_plain(&self.root.join(&name), name).ok()?;
        Some(plan_text(source.text()))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn commits_tell_plans_and_runs() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        let git = |arguments: &[&str]| {
            let output = Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap();
            assert!(output.status.success(), "git {arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let commit = || {
            git(&["add", "."]);
            git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "m"]);
            git(&["rev-parse", "HEAD"])
        };
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        };
        write("repro/studies/s.toml", "plan 1\n");
        let asked = |commit: &str, bundle| GitHistory::of(root).at(commit, "s", bundle);
        assert_eq!(asked(&"0".repeat(40), "b"), PlanAt::NoRepository);
        git(&["init", "--quiet"]);
        assert_eq!(asked(&"0".repeat(40), "b"), PlanAt::NoCommit);
        let planned = commit();
        write("receipts/b/tagmanifest-sha256.txt", "of b\n");
        write("repro/studies/s.toml", "plan 2\n");
        let later = commit();
        let plan = |text: &str, holds: bool| {
            let bundle = holds.then(|| Digest::of(b"of b\n"));
            PlanAt::Plan { text: text.to_owned(), bundle }
        };
        assert_eq!(asked(&planned, "b"), plan("plan 1\n", false));
        assert_eq!(asked(&later, "b"), plan("plan 2\n", true));
        assert_eq!(asked(&later, "c"), plan("plan 2\n", false));
        let tree = git(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(asked(&tree, "b"), PlanAt::NoPlan);
        write("repro/studies/t.toml", "plan\n");
        assert_eq!(GitHistory::of(root).at(&later, "t", "b"), PlanAt::NoPlan);
        write("elsewhere.toml", "no plan\n");
        let now = |study: &str| GitHistory::of(root).now(study);
        assert_eq!((now("t").as_deref(), now("../../elsewhere")), (Some("plan\n"), None));
    }
}
