//! Derives a run's group and seed from its file and folder names.
//!
//! Typical layouts are `dense/1/metrics.csv`, `dense-s1.csv`, `dense_seed2.csv` or `seed_1/dense/metrics.csv`; a
//! repeated run is `dense-rerun.csv`. Runs that differ only in the seed form one group. If no name contains a seed, the
//! files in a folder form a group, and so do sibling folders with one run each.

use std::path::{Path, PathBuf};

use super::format::LogFormat;

/// Facts from the names of a run's file and folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The path of its group: a folder with that name, or the path without the seed.
    pub group: PathBuf,
    /// Its own name in the group.
    pub own: String,
    /// Its seed.
    pub seed: Option<String>,
}

/// File stems for which the folder names the run.
const PLAIN_STEMS: [&str; 10] = [
    "report",
    "metrics",
    "results",
    "trainer_state",
    "log",
    "logs",
    "history",
    "progress",
    "wandb-history",
    "training_log",
];
/// Folders that programs create inside a run's folder.
const PLAIN_FOLDERS: [&str; 8] =
    ["dvclive", "files", "tensorboard", "tb", "tb_logs", "csv_logs", "wandb", "latest-run"];
/// Words after which a number marks a repeated run of the same configuration.
const AGAIN: [&str; 4] = ["rerun", "repeat", "replica", "retry"];
/// The number of parent folders searched for a seed.
const LEVELS: usize = 4;

/// Interprets the path of a run; `is_folder` is whether the run is a folder.
pub fn of(format: LogFormat, path: &Path, is_folder: bool) -> Lineage {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parts = parts(format, &real, is_folder);
    let seeded = !matches!(format, LogFormat::Mlperf | LogFormat::Mlflow);
    let found = if seeded { seed(&parts).or_else(|| again(&parts)) } else { None };
    found.unwrap_or_else(|| {
        let (own, folder) =
            parts.split_last().map_or(("log", &parts[..]), |(own, rest)| (own, rest));
        Lineage { group: folder.iter().collect(), own: own.to_owned(), seed: None }
    })
}

/// Interprets the name that a tracker gives a run, such as `dense-s1`: its group, its own name and its seed.
pub fn of_name(name: &str) -> Option<(&str, &str, &str)> {
    seed_in(name, true).filter(|(rest, ..)| !rest.is_empty())
}

/// A sort key that puts `s2` before `s10`.
pub fn by_number(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (before, after) = rest.split_at_checked(word).unwrap_or((rest, ""));
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at_checked(digits).unwrap_or((after, ""));
        key.push((before.to_owned(), number.parse().unwrap_or_default()));
        rest = after;
    }
    key
}

/// Moves runs whose names match a rerun's group next to it.
pub fn join_reruns(lineages: &mut [Lineage]) {
    let groups: Vec<PathBuf> = lineages
        .iter()
        .filter(|lineage| AGAIN.iter().any(|word| lineage.own.starts_with(word)))
        .map(|lineage| lineage.group.clone())
        .collect();
    for lineage in lineages {
        let whole = lineage.group.join(&lineage.own);
        if groups.contains(&whole) {
            (lineage.group, lineage.own) = (whole, "run".to_owned());
        }
    }
}

/// The folder names, and the file name if it is meaningful.
fn parts(format: LogFormat, path: &Path, is_folder: bool) -> Vec<String> {
    let mut parts: Vec<String> =
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let mut stem = None;
    if !is_folder {
        parts.pop();
        stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    }
    let is_plain = |stem: &String| {
        format == LogFormat::TensorBoard || PLAIN_STEMS.contains(&stem.to_lowercase().as_str())
    };
    let stem = stem.filter(|stem| !is_plain(stem));
    if stem.is_none() || format == LogFormat::Wandb {
        while parts.len() > 2 && parts.last().is_some_and(|last| is_plain_folder(last)) {
            parts.pop();
        }
    }
    parts.extend(stem);
    parts
}

/// Whether a program created the folder inside the run's folder.
fn is_plain_folder(name: &str) -> bool {
    PLAIN_FOLDERS.contains(&name)
        || ["checkpoint-", "offline-run-", "run-20"].iter().any(|start| name.starts_with(start))
}

/// Whether a logger created the folder to number its own runs.
fn is_logger_folder(name: &str) -> bool {
    let numbered = name.strip_prefix("version_").is_some_and(is_number);
    numbered || ["lightning_logs", "default", "logs"].contains(&name)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The seed in a name part: the rest of the part, the seed words and the number.
fn seed_in(part: &str, is_last: bool) -> Option<(&str, &str, &str)> {
    let digits = part.len() - part.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (before, number) = part.split_at_checked(digits)?;
    if !is_number(number) {
        return None;
    }
    let word_of = |word: &str, limit: usize| {
        let joint = before.trim_end_matches(['-', '_', '=']);
        let start = joint.len().checked_sub(word.len())?;
        let (rest, found) = joint.split_at_checked(start)?;
        let alone = rest.is_empty() || rest.ends_with(['-', '_', '.']);
        let told = found.eq_ignore_ascii_case(word) && alone && number.len() <= limit;
        told.then(|| (rest.trim_end_matches(['-', '_', '.']), &part[start..], number))
    };
    let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let bare = || {
        (is_last && before.is_empty() && number.len() <= 5 && !is_year)
            .then_some(("", part, number))
    };
    word_of("seed", 9).or_else(|| word_of("s", 3).filter(|_| is_last)).or_else(bare)
}

/// The seed in a name, and the path without it.
fn seed(parts: &[String]) -> Option<Lineage> {
    let loggers = parts.iter().rev().take_while(|part| is_logger_folder(part)).count();
    let end = parts.len() - loggers;
    for at in (end.saturating_sub(LEVELS)..end).rev() {
        let Some((rest, own, number)) = seed_in(parts.get(at)?, at + 1 == end) else { continue };
        let mut way: Vec<&str> = parts.get(..end)?.iter().map(String::as_str).collect();
        if rest.is_empty() {
            way.remove(at);
        } else if let Some(part) = way.get_mut(at) {
            *part = rest;
        }
        return Some(Lineage {
            group: way.iter().collect(),
            own: own.to_owned(),
            seed: Some(number.to_owned()),
        });
    }
    None
}

/// The suffix of a name that marks a repeated run.
fn again(parts: &[String]) -> Option<Lineage> {
    let (last, folder) = parts.split_last()?;
    let lower = last.to_ascii_lowercase();
    let at = AGAIN.iter().find_map(|word| {
        let at = lower.rfind(word)?;
        let (before, rest) = lower.split_at_checked(at)?;
        let rest = rest.strip_prefix(word)?.trim_start_matches(['-', '_']);
        let ends = before.ends_with(['-', '_', '.']) && (rest.is_empty() || is_number(rest));
        ends.then_some(at)
    })?;
    let base = last.get(..at)?.trim_end_matches(['-', '_', '.']);
    let group = folder.iter().map(String::as_str).chain([base]).collect();
    (!base.is_empty()).then(|| Lineage {
        group,
        own: lower.get(at..).unwrap_or_default().to_owned(),
        seed: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> (String, String, Option<String>) {
        let found = of(LogFormat::Csv, Path::new(path), false);
        (found.group.display().to_string(), found.own, found.seed)
    }

    #[test]
    fn seeds_are_read_from_names() {
        for (path, group, own, seed) in [
            ("/x/runs/dense/1/metrics.csv", "/x/runs/dense", "1", "1"),
            ("/x/runs/dense-s1.csv", "/x/runs/dense", "s1", "1"),
            ("/x/runs/dense_seed2.csv", "/x/runs/dense", "seed2", "2"),
            ("/x/runs/dense-seed-12.csv", "/x/runs/dense", "seed-12", "12"),
            ("/x/runs/seed_1/dense/metrics.csv", "/x/runs/dense", "seed_1", "1"),
            ("/x/runs/seed=3/results.csv", "/x/runs", "seed=3", "3"),
            ("/x/moe/2/lightning_logs/version_0/metrics.csv", "/x/moe", "2", "2"),
            ("/x/moe/seed-2/checkpoint-40/trainer_state.json", "/x/moe", "seed-2", "2"),
        ] {
            assert_eq!(told(path), (group.into(), own.into(), Some(seed.into())), "{path}");
        }
    }

    #[test]
    fn numbers_in_names_are_counted() {
        let mut names = ["a-s10", "a-s2", "a", "a-s2-2", "b1"];
        names.sort_by_key(|name| by_number(name));
        assert_eq!(names, ["a", "a-s2", "a-s2-2", "a-s10", "b1"]);
    }

    #[test]
    fn other_numbers_are_no_seeds() {
        for (path, group, own) in [
            ("/x/steady/run-1.txt", "/x/steady", "run-1"),
            ("/x/baseline-s1480/0a-1.txt", "/x/baseline-s1480", "0a-1"),
            ("/x/runs/2024/metrics.csv", "/x/runs", "2024"),
            ("/x/runs/7/loss.csv", "/x/runs/7", "loss"),
            ("/x/runs/gpus8.csv", "/x/runs", "gpus8"),
            ("/x/lightning_logs/version_1/metrics.csv", "/x/lightning_logs", "version_1"),
        ] {
            assert_eq!(told(path), (group.into(), own.into(), None), "{path}");
        }
    }

    #[test]
    fn a_rerun_is_a_second_run_of_its_group() {
        let paths = ["/x/190M.csv", "/x/190M-rerun.csv", "/x/760M_rerun2.csv", "/x/1B.csv"];
        let mut found: Vec<_> =
            paths.iter().map(|path| of(LogFormat::Csv, Path::new(path), false)).collect();
        join_reruns(&mut found);
        let found: Vec<_> =
            found.iter().map(|one| (one.group.to_str().unwrap(), one.own.as_str())).collect();
        let wanted =
            [("/x/190M", "run"), ("/x/190M", "rerun"), ("/x/760M", "rerun2"), ("/x", "1B")];
        assert_eq!(found, wanted);
    }
}
