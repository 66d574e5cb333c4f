//! Recognizes skipped files: which of them is an unreadable run, and which lie beside a run's log in its own folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Extensions of tables and JSON lines.
const OF_LOGS: [&str; 4] = ["csv", "tsv", "jsonl", "ndjson"];
/// Extensions of compressed files.
const COMPRESSED: [&str; 4] = ["gz", "zst", "xz", "bz2"];

/// The appearance of an arm's logs, used to recognize an unreadable one.
pub struct RunLooks {
    /// Their extensions, if only logs use these.
    endings: BTreeSet<String>,
    /// Their names without the parts that distinguish runs.
    shapes: BTreeSet<String>,
}

impl RunLooks {
    /// The appearance of the logs that were read.
    pub fn of<'f>(files: impl Iterator<Item = &'f str>) -> Self {
        let logs: Vec<&Path> = files.map(Path::new).collect();
        let endings = logs.iter().map(|log| ending(log));
        Self {
            endings: endings.filter(|one| OF_LOGS.contains(&one.as_str())).collect(),
            shapes: logs.iter().map(|log| shape(log)).collect(),
        }
    }

    /// Whether a skipped file looks like one of the runs: a table or JSON lines with a run's extension, any other file
    /// with a run's name apart from digits, a folder with a bundle's contents, or a tracker's file. A complete file
    /// without metrics, such as Lightning's settings, is not a run (`is_whole`).
    pub fn fit(&self, file: &str, is_whole: bool) -> bool {
        let path = Path::new(file);
        if path.is_dir() {
            return path.join("data").is_dir();
        }
        // Files that macOS writes beside each file on foreign disks.
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

/// Whether only a tracker uses such a file name.
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

/// The file name without the parts that distinguish runs: digits and the letters of digests.
pub fn shape(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.chars().filter(|c| !c.is_ascii_hexdigit() && !"-_".contains(*c)).collect()
}

/// The folder that contains a log; a folder that is itself a run is its own.
pub fn folder(file: &str) -> PathBuf {
    let path = Path::new(file);
    let own = if path.is_dir() { Some(path) } else { path.parent() };
    own.unwrap_or(path).to_owned()
}
