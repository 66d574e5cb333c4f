//! What the logs of a side look like: which of the files that were passed over is a run that cannot be read, and what lies
//! beside the log of a run in a folder of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The endings of tables and lines,
const OF_LOGS: [&str; 4] = ["csv", "tsv", "jsonl", "ndjson"];
/// and those of files that were made shorter.
const COMPRESSED: [&str; 4] = ["gz", "zst", "xz", "bz2"];

/// What the logs of a side look like, so that one of them is known that cannot be read.
pub struct RunLooks {
    /// Their endings, where these are of logs alone,
    endings: BTreeSet<String>,
    /// and their names without what tells one run from another.
    shapes: BTreeSet<String>,
}

impl RunLooks {
    /// Those of logs that were read.
    pub fn of<'f>(files: impl Iterator<Item = &'f str>) -> Self {
        let logs: Vec<&Path> = files.map(Path::new).collect();
        let endings = logs.iter().map(|log| ending(log));
        Self {
            endings: endings.filter(|one| OF_LOGS.contains(&one.as_str())).collect(),
            shapes: logs.iter().map(|log| shape(log)).collect(),
        }
    }

    /// Whether a file that was passed by looks like one of the runs: a table or lines with the ending of one, any other
    /// file with the name of one but for digits, a folder that holds what a bundle does, a file of a tracker. One that is
    /// whole and has no metrics, as Lightning writes for its settings, is no run (`is_whole`).
    pub fn fit(&self, file: &str, is_whole: bool) -> bool {
        let path = Path::new(file);
        if path.is_dir() {
            return path.join("data").is_dir();
        }
        // What macOS keeps beside each file of another disk.
        if name(path).starts_with("._") {
            return false;
        }
        let path = match COMPRESSED.contains(&ending(path).as_str()) {
            true => path.with_extension(""),
            false => path.to_owned(),
        };
        self.endings.contains(&ending(&path))
            || self.shapes.contains(&shape(&path))
            || !is_whole && is_of_a_tracker(&path)
    }
}

/// Whether only a tracker gives a file such a name.
fn is_of_a_tracker(path: &Path) -> bool {
    let name = name(path);
    name.contains("tfevents") || name.ends_with(".wandb") || name == "trainer_state.json"
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

/// The name of a file without what tells one run from another: digits, and the letters of digests.
pub fn shape(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.chars().filter(|c| !c.is_ascii_hexdigit() && !"-_".contains(*c)).collect()
}

/// The folder in which a log lies; a folder that is a run itself is its own.
pub fn folder(file: &str) -> PathBuf {
    let path = Path::new(file);
    let own = if path.is_dir() { Some(path) } else { path.parent() };
    own.unwrap_or(path).to_owned()
}
