//! Finds logs, and assigns each to a group and a bundle.
//!
//! [`super::lineage`] interprets file and folder names; `--group` puts everything in one group. A folder can be a run:
//! its event files together, a run in an MLflow store, or a DVCLive folder.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::format::LogFormat;
use super::lineage::{self, Lineage};
use super::scoring::SCALING;
use super::tracker::{dvclive, mlflow};
use super::{NO_LOGS, SKIPPED, TOO_MANY_FILES, UNKNOWN_FORMAT, detect, passed_over};
use repro_core::source::{Error, Location, UNREADABLE};

/// The maximum number of logs in one import.
const FILES_CAP: usize = 100_000;
/// The maximum number of files and folders examined.
const ENTRIES_CAP: usize = 1_000_000;
/// The maximum folder depth.
const DEPTH_CAP: usize = 32;
/// The maximum length of a bundle name.
const NAME_CAP: usize = 120;

/// One log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLog {
    /// Its path.
    pub path: PathBuf,
    /// Its path as the caller passed it.
    pub shown: String,
    /// The files of a folder that is a run, if they were found individually.
    pub files: Vec<PathBuf>,
    /// Its format.
    pub format: LogFormat,
    /// Whether the caller named the file itself rather than its folder.
    pub is_named: bool,
    /// The name of its group.
    pub group: String,
    /// Its own name in the group.
    pub own: String,
    /// The seed from its path.
    pub seed: Option<String>,
}

/// The logs, and the other files in the folders.
#[derive(Debug, Default)]
pub struct Finds {
    /// The logs, by group and path.
    pub logs: Vec<FoundLog>,
    /// Skipped files, with reasons.
    pub skipped: Vec<Error>,
    /// Paths that the caller named and that cannot be read.
    pub failures: Vec<Error>,
}

/// Finds logs of one format, or of any, at `paths`, which are files and folders.
pub fn find(format: Option<LogFormat>, paths: &[PathBuf], group: Option<&str>) -> Finds {
    let mut walk = Walk {
        format,
        logs: Vec::new(),
        seen: HashSet::new(),
        again: 0,
        entries: 0,
        finds: Finds::default(),
    };
    for path in paths {
        let before = (walk.logs.len(), walk.again, walk.finds.failures.len());
        let passed = walk.finds.skipped.len();
        match std::fs::metadata(path) {
            Ok(about) if about.is_dir() => {
                walk.folder(path, 0);
                let nothing = walk.logs.len() == before.0 && walk.finds.failures.len() == before.2;
                if nothing && walk.again == before.1 {
                    let expected = match format {
                        Some(format) => format!("a folder with {}", format.files()),
                        None => "a folder with logs".to_owned(),
                    };
                    let skipped = walk.finds.skipped.get(passed..).unwrap_or_default();
                    let found = passed_over(skipped);
                    walk.fail(NO_LOGS.at(place(path), expected, found));
                }
            }
            Ok(_) => walk.named_file(path),
            Err(error) => {
                let found = error.to_string();
                walk.fail(UNREADABLE.at(place(path), "a log, or a folder of logs", found));
            }
        }
    }
    walk.named(group)
}

fn place(path: &Path) -> Location {
    Location::file(path.display().to_string())
}

/// A log before it has a name.
struct Seen {
    path: PathBuf,
    files: Vec<PathBuf>,
    format: LogFormat,
    is_named: bool,
}

struct Walk {
    format: Option<LogFormat>,
    logs: Vec<Seen>,
    seen: HashSet<PathBuf>,
    /// The number of logs named so far.
    again: usize,
    entries: usize,
    finds: Finds,
}

impl Walk {
    fn fail(&mut self, error: Error) {
        self.finds.failures.push(error);
    }

    fn skip(&mut self, path: &Path, found: &str) {
        let expected = self.format.map_or("a log", LogFormat::files);
        self.finds.skipped.push(SKIPPED.at(place(path), expected, found));
    }

    /// A file that the caller named is a log, whatever its name.
    fn named_file(&mut self, path: &Path) {
        match self.format.or_else(|| detect::of_file(path)) {
            Some(format) => self.log(path, Vec::new(), format, true),
            None => {
                let found = match std::fs::metadata(path) {
                    Ok(about) if !about.is_file() => "not a regular file",
                    Ok(about) if about.len() == 0 => "an empty file",
                    _ => "something else",
                };
                self.fail(UNKNOWN_FORMAT.at(place(path), "a log in a known format", found));
            }
        }
    }

    /// Adds a log; each path counts once.
    fn log(&mut self, path: &Path, files: Vec<PathBuf>, format: LogFormat, is_named: bool) {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            self.again += 1;
            self.skip(path, "a file that was already passed");
        } else if self.logs.len() == FILES_CAP {
            let expected = format!("at most {FILES_CAP} logs");
            self.fail(TOO_MANY_FILES.at(place(path), expected, "more"));
        } else if self.logs.len() < FILES_CAP {
            self.logs.push(Seen { path: path.to_owned(), files, format, is_named });
        }
    }

    fn wants(&self, format: LogFormat) -> bool {
        self.format.is_none_or(|wanted| wanted == format)
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        if self.wants(LogFormat::Mlflow) && mlflow::is_run_folder(folder) {
            if mlflow::is_deleted(folder) {
                return self.skip(folder, "a deleted run");
            }
            return self.log(folder, Vec::new(), LogFormat::Mlflow, false);
        }
        if self.wants(LogFormat::DvcLive) && dvclive::is_folder(folder) {
            return self.log(folder, Vec::new(), LogFormat::DvcLive, false);
        }
        let entries = std::fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        });
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let found = error.to_string();
                return self.fail(UNREADABLE.at(place(folder), "a readable folder", found));
            }
        };
        entries.sort();
        if self.wants(LogFormat::HfTrainer) {
            self.without_earlier_states(&mut entries);
        }
        let mut events = Vec::new();
        for path in entries {
            self.entries += 1;
            if self.entries > ENTRIES_CAP {
                let expected = format!("at most {ENTRIES_CAP} files and folders");
                return self.fail(TOO_MANY_FILES.at(place(folder), expected, "more"));
            }
            self.entry(path, depth, &mut events);
        }
        match events.as_slice() {
            [] => {}
            [one] => self.log(one, Vec::new(), LogFormat::TensorBoard, false),
            _ => self.log(folder, events, LogFormat::TensorBoard, false),
        }
    }

    /// Examines the contents of a folder; event files are collected.
    fn entry(&mut self, path: PathBuf, depth: usize, events: &mut Vec<PathBuf>) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let Ok(about) = std::fs::symlink_metadata(&path) else { return };
        if name.starts_with('.') {
            return self.skip(&path, "a hidden file");
        }
        if about.is_dir() && path.join("bagit.txt").is_file() {
            return self.skip(&path, "a bundle from an earlier import");
        }
        if about.is_dir() && depth < DEPTH_CAP {
            return self.folder(&path, depth + 1);
        }
        if !about.is_file() {
            return self.skip(&path, "not a regular file");
        }
        let found = match self.format {
            Some(format) => format.has_name(&name).then_some(format),
            None => detect::in_folder(&path),
        };
        match found {
            Some(LogFormat::TensorBoard) => events.push(path),
            Some(format) => self.log(&path, Vec::new(), format, false),
            None if self.wants(LogFormat::Mlperf) && name == SCALING => {}
            None if about.len() == 0 => self.skip(&path, "an empty file"),
            None if self.format.is_none() => self.skip(&path, "not a recognized log"),
            None => self.skip(&path, "a file with a different name"),
        }
    }

    /// A Trainer saves its state in every `checkpoint-N`; the last state covers the whole run.
    fn without_earlier_states(&mut self, entries: &mut Vec<PathBuf>) {
        const STATE: &str = "trainer_state.json";
        let step = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?.strip_prefix("checkpoint-")?;
            name.parse::<u64>().ok().filter(|_| path.join(STATE).is_file())
        };
        let whole = entries.iter().any(|path| path.is_file() && path.ends_with(STATE));
        let last = entries.iter().filter_map(step).max().filter(|_| !whole);
        let (kept, earlier): (Vec<_>, Vec<_>) =
            entries.drain(..).partition(|path| step(path).is_none_or(|step| Some(step) == last));
        *entries = kept;
        for path in earlier {
            self.skip(&path, "an earlier state of the same run");
        }
    }

    /// The logs with their group names and own names.
    fn named(mut self, group: Option<&str>) -> Finds {
        let lineage = |seen: &Seen| lineage::of(seen.format, &seen.path, seen.path.is_dir());
        let mut lineages: Vec<_> = self.logs.iter().map(lineage).collect();
        lineage::join_reruns(&mut lineages);
        part_formats(&self.logs, &mut lineages);
        let folders: Vec<_> = lineages.iter().map(|lineage| lineage.group.clone()).collect();
        let groups = match group {
            Some(name) => vec![plain(name); folders.len()],
            None => group_names(&folders),
        };
        for ((seen, lineage), group) in self.logs.into_iter().zip(lineages).zip(groups) {
            let Seen { path, files, format, is_named } = seen;
            let (own, seed) = (plain(&lineage.own), lineage.seed);
            let shown = path.display().to_string();
            self.finds.logs.push(FoundLog {
                path,
                shown,
                files,
                format,
                is_named,
                group,
                own,
                seed,
            });
        }
        self.finds.logs.sort_by(|one, other| {
            (&one.group, one.format, &one.path).cmp(&(&other.group, other.format, &other.path))
        });
        self.finds
    }
}

/// Logs of two formats in one folder form two groups.
fn part_formats(logs: &[Seen], lineages: &mut [Lineage]) {
    let mut formats: BTreeMap<PathBuf, HashSet<&str>> = BTreeMap::new();
    for (seen, lineage) in logs.iter().zip(&*lineages) {
        formats.entry(lineage.group.clone()).or_default().insert(seen.format.word());
    }
    for (seen, lineage) in logs.iter().zip(lineages) {
        if formats.get(&lineage.group).is_some_and(|formats| formats.len() > 1) {
            let name = lineage.group.file_name().unwrap_or_default().to_string_lossy();
            let parted = format!("{name}-{}", seen.format.word());
            lineage.group.set_file_name(parted);
        }
    }
}

/// A name for each folder: its own, prefixed with parent names if two folders share it.
fn group_names(folders: &[PathBuf]) -> Vec<String> {
    let suffix = |folder: &Path, parts: usize| {
        let names: Vec<_> = folder.iter().map(|part| plain(&part.to_string_lossy())).collect();
        names.get(names.len().saturating_sub(parts)..).unwrap_or_default().join("-")
    };
    let mut names: BTreeMap<&Path, String> = BTreeMap::new();
    for folder in folders {
        names.insert(folder, String::new());
    }
    for parts in 1..=DEPTH_CAP {
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for folder in names.keys() {
            *uses.entry(suffix(folder, parts).to_ascii_lowercase()).or_default() += 1;
        }
        let mut clash = false;
        for (folder, name) in names.iter_mut().filter(|(_, name)| name.is_empty()) {
            let candidate = suffix(folder, parts);
            match uses.get(&candidate.to_ascii_lowercase()) {
                Some(1) => *name = candidate,
                _ => clash = true,
            }
        }
        if !clash {
            break;
        }
    }
    // Folders that differ only in characters that names cannot contain.
    for (at, (_, name)) in names.iter_mut().filter(|(_, name)| name.is_empty()).enumerate() {
        *name = format!("group-{}", at + 1);
    }
    folders.iter().map(|folder| names.get(folder.as_path()).cloned().unwrap_or_default()).collect()
}

/// The bundle name of a run: its group and own name, numbered if two are equal.
pub fn bundle_name(group: &str, own: &str, taken: &mut HashSet<String>) -> String {
    let name: String = format!("{group}-{}", plain(own)).chars().take(NAME_CAP).collect();
    let numbered =
        |number: usize| if number == 1 { name.clone() } else { format!("{name}-{number}") };
    (1..).map(numbered).find(|name| taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
}

/// Reduces `text` to the characters allowed in a bundle name.
pub fn plain(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let plain: String = text.chars().map(kept).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "log".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        folder
    }

    fn names(finds: &Finds) -> Vec<(&str, &str)> {
        finds.logs.iter().map(|log| (log.group.as_str(), log.own.as_str())).collect()
    }

    #[test]
    fn files_of_a_folder_are_a_group() {
        let folder =
            tree(&["a/x.txt", "a/x.log", "a/README.md", "b/y z.txt", "c/b/y z.txt", ".git/z.txt"]);
        let finds = find(Some(LogFormat::Speedrun), &[folder.path().to_owned()], None);
        let wanted = [("a", "x"), ("a", "x"), ("c-b", "y-z")];
        let found = names(&finds);
        assert_eq!([found[0], found[1], found[2]], wanted);
        assert!(found[3].0.ends_with("-b") && found[3].0 != "c-b", "{found:?}");
        let skipped: Vec<_> = finds.skipped.iter().map(|skip| skip.found.as_str()).collect();
        assert_eq!(skipped, ["a hidden file", "a file with a different name"]);
        let twice = [folder.path().join("a/x.txt"), folder.path().join("a/../a/x.txt")];
        let finds = find(Some(LogFormat::Speedrun), &twice, Some("my runs"));
        assert_eq!(names(&finds), [("my-runs", "x")]);
        assert_eq!(finds.skipped.len(), 1);
    }

    #[test]
    fn a_trainers_last_state_is_the_run() {
        let state = "trainer_state.json";
        let files =
            ["s/one/", "s/one/checkpoint-5/", "s/two/checkpoint-90/", "s/two/checkpoint-100/"];
        let files: Vec<_> = files.iter().map(|folder| format!("{folder}{state}")).collect();
        let folder = tree(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let finds = find(Some(LogFormat::HfTrainer), &[folder.path().to_owned()], None);
        assert_eq!(names(&finds), [("s", "one"), ("s", "two")]);
        assert!(finds.logs[1].shown.contains("checkpoint-100"));
        assert_eq!(finds.skipped.len(), 2);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let folder = tree(&["a/notes.md"]);
        for (path, code) in [("a", "import::no-logs"), ("b", "source::unreadable")] {
            let finds = find(Some(LogFormat::Speedrun), &[folder.path().join(path)], None);
            assert_eq!(finds.failures[0].code.id, code);
        }
    }
}
