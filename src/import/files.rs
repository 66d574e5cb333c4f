//! Which files are logs, and to which group and bundle each belongs.
//!
//! Files of one folder are a group, called as the folder; `--group` makes one group of everything. A
//! Trainer's `trainer_state.json` stands for the folder that holds it, so there the runs of a group
//! are the folders beside each other.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::scoring::SCALING;
use super::{LogFormat, NO_LOGS, SKIPPED, TOO_MANY_FILES};
use repro_receipt::source::{Error, Location, UNREADABLE};

/// The most logs of one import.
const FILES_CAP: usize = 100_000;
/// The deepest folder that is looked into.
const DEPTH_CAP: usize = 32;
/// The longest name of a bundle.
const NAME_CAP: usize = 120;

/// One log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLog {
    /// Its path.
    pub path: PathBuf,
    /// Its path as it was named.
    pub shown: String,
    /// The name of its group.
    pub group: String,
    /// The name of its bundle.
    pub bundle: String,
}

/// The logs, and the files of the folders that are none.
#[derive(Debug, Default)]
pub struct Finds {
    /// The logs, by group and path.
    pub logs: Vec<FoundLog>,
    /// What was passed over, and why.
    pub skipped: Vec<Error>,
    /// What was named and cannot be read.
    pub failures: Vec<Error>,
}

/// Looks for logs of `format` at `paths`, which are files and folders.
pub fn find(format: LogFormat, paths: &[PathBuf], group: Option<&str>) -> Finds {
    let mut walk = Walk { format, ..Walk::default() };
    for path in paths {
        let before = walk.logs.len();
        match std::fs::metadata(path) {
            Ok(about) if about.is_dir() => {
                walk.folder(path, 0);
                if walk.logs.len() == before && walk.finds.failures.is_empty() {
                    let expected = format!("a folder with {}", format.files());
                    walk.fail(NO_LOGS.at(place(path), expected, "none"));
                }
            }
            Ok(_) => walk.log(path),
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

struct Walk {
    format: LogFormat,
    logs: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    finds: Finds,
}

impl Default for Walk {
    fn default() -> Self {
        let format = LogFormat::Speedrun;
        Self { format, logs: Vec::new(), seen: HashSet::new(), finds: Finds::default() }
    }
}

impl Walk {
    fn fail(&mut self, error: Error) {
        self.finds.failures.push(error);
    }

    fn skip(&mut self, path: &Path, found: &str) {
        let expected = self.format.files();
        self.finds.skipped.push(SKIPPED.at(place(path), expected, found));
    }

    /// Takes a file that is a log; one path counts once.
    fn log(&mut self, path: &Path) {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            self.skip(path, "a file that was already named");
        } else if self.logs.len() == FILES_CAP {
            let expected = format!("at most {FILES_CAP} logs");
            self.fail(TOO_MANY_FILES.at(place(path), expected, "more"));
        } else if self.logs.len() < FILES_CAP {
            self.logs.push(path.to_owned());
        }
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
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
        if self.format == LogFormat::HfTrainer {
            self.without_earlier_states(&mut entries);
        }
        for path in entries {
            let hidden =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
            if hidden {
                self.skip(&path, "a hidden file");
            } else if about.is_dir() && depth < DEPTH_CAP {
                self.folder(&path, depth + 1);
            } else if !about.is_file() {
                self.skip(&path, "not a plain file");
            } else if self.format.is_log(&path) {
                self.log(&path);
            } else if self.format != LogFormat::Mlperf || !path.ends_with(SCALING) {
                self.skip(&path, "a file with another name");
            }
        }
    }

    /// A Trainer saves its state in every `checkpoint-N`; the last state tells the whole run.
    fn without_earlier_states(&mut self, entries: &mut Vec<PathBuf>) {
        let step = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?.strip_prefix("checkpoint-")?;
            name.parse::<u64>().ok().filter(|_| path.is_dir())
        };
        let whole = entries.iter().any(|path| path.is_file() && self.format.is_log(path));
        let last = entries.iter().filter_map(step).max().filter(|_| !whole);
        let (kept, earlier): (Vec<_>, Vec<_>) =
            entries.drain(..).partition(|path| step(path).is_none_or(|step| Some(step) == last));
        *entries = kept;
        for path in earlier {
            self.skip(&path, "an earlier state of the same run");
        }
    }

    /// The logs with the names of their groups and bundles.
    fn named(mut self, group: Option<&str>) -> Finds {
        let folders: Vec<_> = self.logs.iter().map(|log| group_folder(self.format, log)).collect();
        let groups = match group {
            Some(name) => vec![plain(name); folders.len()],
            None => group_names(&folders),
        };
        let mut logs: Vec<_> = std::iter::zip(self.logs, groups).collect();
        logs.sort_by(|one, other| (&one.1, &one.0).cmp(&(&other.1, &other.0)));
        let mut taken = HashSet::new();
        for (path, group) in logs {
            let bundle = bundle_name(self.format, &group, &path, &mut taken);
            let shown = path.display().to_string();
            self.finds.logs.push(FoundLog { path, shown, group, bundle });
        }
        self.finds
    }
}

/// The folder whose logs are a group with this one.
fn group_folder(format: LogFormat, log: &Path) -> PathBuf {
    let real = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    let folder = real.parent().unwrap_or(Path::new("")).to_owned();
    if format != LogFormat::HfTrainer {
        return folder;
    }
    run_folder(&folder).parent().unwrap_or(Path::new("")).to_owned()
}

/// The folder of a Trainer's run: a checkpoint lies one below.
fn run_folder(folder: &Path) -> &Path {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match folder.parent() {
        Some(parent) if name.starts_with("checkpoint-") => parent,
        _ => folder,
    }
}

/// A name for each folder: its own, with the names above it where two folders share one.
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
    // Folders that only differ in characters that no name may have.
    for (at, (_, name)) in names.iter_mut().filter(|(_, name)| name.is_empty()).enumerate() {
        *name = format!("group-{}", at + 1);
    }
    folders.iter().map(|folder| names.get(folder.as_path()).cloned().unwrap_or_default()).collect()
}

/// The name of a log's bundle: its group and its own name, numbered where two are alike.
fn bundle_name(format: LogFormat, group: &str, log: &Path, taken: &mut HashSet<String>) -> String {
    let own = match format {
        LogFormat::HfTrainer => {
            let folder = log.parent().unwrap_or(log);
            let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            run_folder(&real).file_name().map(|name| name.to_string_lossy().into_owned())
        }
        _ => log.file_stem().map(|name| name.to_string_lossy().into_owned()),
    };
    let name: String =
        format!("{group}-{}", plain(&own.unwrap_or_default())).chars().take(NAME_CAP).collect();
    let numbered =
        |number: usize| if number == 1 { name.clone() } else { format!("{name}-{number}") };
    (1..).map(numbered).find(|name| taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
}

/// `text` in the characters that a bundle's name may have.
fn plain(text: &str) -> String {
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
        finds.logs.iter().map(|log| (log.group.as_str(), log.bundle.as_str())).collect()
    }

    #[test]
    fn files_of_a_folder_are_a_group() {
        let folder =
            tree(&["a/x.txt", "a/x.log", "a/README.md", "b/y z.txt", "c/b/y z.txt", ".git/z.txt"]);
        let finds = find(LogFormat::Speedrun, &[folder.path().to_owned()], None);
        let wanted = [("a", "a-x"), ("a", "a-x-2"), ("c-b", "c-b-y-z")];
        let found = names(&finds);
        assert_eq!([found[0], found[1], found[2]], wanted);
        assert!(found[3].0.ends_with("-b") && found[3].0 != "c-b", "{found:?}");
        let skipped: Vec<_> = finds.skipped.iter().map(|skip| skip.found.as_str()).collect();
        assert_eq!(skipped, ["a hidden file", "a file with another name"]);
        let twice = [folder.path().join("a/x.txt"), folder.path().join("a/../a/x.txt")];
        let finds = find(LogFormat::Speedrun, &twice, Some("my runs"));
        assert_eq!(names(&finds), [("my-runs", "my-runs-x")]);
        assert_eq!(finds.skipped.len(), 1);
    }

    #[test]
    fn a_trainers_last_state_is_the_run() {
        let state = "trainer_state.json";
        let files =
            ["s/one/", "s/one/checkpoint-5/", "s/two/checkpoint-90/", "s/two/checkpoint-100/"];
        let files: Vec<_> = files.iter().map(|folder| format!("{folder}{state}")).collect();
        let folder = tree(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let finds = find(LogFormat::HfTrainer, &[folder.path().to_owned()], None);
        assert_eq!(names(&finds), [("s", "s-one"), ("s", "s-two")]);
        assert!(finds.logs[1].shown.contains("checkpoint-100"));
        assert_eq!(finds.skipped.len(), 2);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let folder = tree(&["a/notes.md"]);
        for (path, code) in [("a", "import::no-logs"), ("b", "source::unreadable")] {
            let finds = find(LogFormat::Speedrun, &[folder.path().join(path)], None);
            assert_eq!(finds.failures[0].code.id, code);
        }
    }
}
