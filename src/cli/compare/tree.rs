//! The posts of a commit with their texts and receipts in a folder of their own: the bytes that git keeps, without filters and hooks.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Component, Path};
use std::process::{ChildStdout, Stdio};

use super::super::CANNOT_WRITE;
use super::super::git::git;
use super::UNREADABLE_COMMIT;
use repro_core::source::{Error, Location};
use repro_verify::page::PostPage;
use repro_verify::{post, texts};
use tempfile::TempDir;

/// The folders that a post is judged from, besides texts elsewhere.
const FOLDERS: [&str; 2] = ["repro", "receipts"];

/// A file of a commit.
#[derive(Debug, PartialEq, Eq)]
struct CommitFile {
    /// The name of its bytes,
    object: String,
    /// and its path below the project.
    path: String,
}

/// Takes `repro/`, `receipts/` and the texts of posts of a commit of the project at `root` out into a folder that goes away with what
/// is returned.
pub fn taken_out(root: &Path, commit: &str) -> Result<TempDir, Error> {
    let refused = |found: String| {
        UNREADABLE_COMMIT.at(Location::file(commit), "the files of the commit", found)
    };
    let folder = tempfile::tempdir().map_err(|error| {
        CANNOT_WRITE.at(
            Location::file("temporary folder"),
            "a writable temporary folder",
            error.to_string(),
        )
    })?;
    let files = listed(root, commit, &FOLDERS.map(str::to_owned)).map_err(refused)?;
    // Before there was a project there were no posts.
    let written = std::fs::create_dir(folder.path().join(FOLDERS[0]))
        .and_then(|()| write(root, &files, folder.path()));
    written.map_err(|error| refused(error.to_string()))?;
    let named = texts_of_posts(folder.path());
    // Without a path git lists all that there is.
    if !named.is_empty() {
        let mut files = listed(root, commit, &named).map_err(refused)?;
        files.retain(|file| named.contains(&file.path));
        write(root, &files, folder.path()).map_err(|error| refused(error.to_string()))?;
    }
    Ok(folder)
}

/// The texts that the posts of a project name outside of the folders that are taken out whole.
fn texts_of_posts(root: &Path) -> Vec<String> {
    // What cannot be read is told where it is judged.
    let ids = post::list(root).unwrap_or_default();
    let pages = ids.iter().filter_map(|id| PostPage::load(root, id).ok());
    let named = pages.flat_map(|page| page.texts).flat_map(|text| [text.file, text.copy_of]);
    let paths = named.flatten().filter_map(|file| texts::inside(&file));
    paths.filter(|path| !path.is_empty() && !root.join(path).exists()).collect()
}

fn listed(root: &Path, commit: &str, paths: &[String]) -> Result<Vec<CommitFile>, String> {
    let mut command = git(root).ok_or("not a git repository")?;
    command.args(["--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--"]).args(paths);
    let output = command.output().map_err(|error| format!("`git`: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let lines = output.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .filter_map(|line| file_of(line).map_or_else(|| left_out(line), |file| Some(Ok(file))))
        .collect()
}

/// A line of the listing: mode, kind and name of the object, a tab, the path. Links and submodules are not files, as they
/// are none to a bundle; nor is a path that leads out of the folder, or is not text.
fn file_of(line: &[u8]) -> Option<CommitFile> {
    let (about, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
    let mut about = about.split(' ');
    let (mode, object) = (about.next()?, about.nth(1)?);
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    (mode.starts_with("100") && is_plain)
        .then(|| CommitFile { object: object.to_owned(), path: path.to_owned() })
}

/// An omitted file whose absence nothing else would reveal: a post, or a whole folder. Other omissions show up during judging.
fn left_out(line: &[u8]) -> Option<Result<CommitFile, String>> {
    let line = String::from_utf8_lossy(line);
    let path = line.split_once('\t').map_or(&*line, |(_, path)| path);
    let name = path.strip_prefix("repro/");
    let is_post = name.is_some_and(|name| !name.contains('/') && name.ends_with(".toml"));
    (is_post || FOLDERS.contains(&path)).then(|| {
        Err(format!("`{path}`, which is a link, a submodule or not text; check out the commit (`git worktree add`) and pass the folder"))
    })
}

fn write(root: &Path, files: &[CommitFile], folder: &Path) -> std::io::Result<()> {
    let mut command = git(root).ok_or_else(|| std::io::Error::other("not a git repository"))?;
    command.args(["cat-file", "--batch"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut asked), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("git is not interactive"));
    };
    let written = std::thread::scope(|scope| {
        // Names and bytes go through two pipes: who fills one has to empty the other.
        scope.spawn(move || {
            files.iter().try_for_each(|file| writeln!(asked, "{}", file.object)).ok()
        });
        let mut answers = BufReader::new(answers);
        files.iter().try_for_each(|file| copy(&mut answers, &folder.join(&file.path)))
    });
    // Where a file could not be written, git is not waited for.
    if written.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    written
}

/// One answer: a line that ends in the length, this many bytes, a line feed.
fn copy(answers: &mut BufReader<ChildStdout>, path: &Path) -> std::io::Result<()> {
    let mut head = String::new();
    answers.read_line(&mut head)?;
    let length = head.trim_end().rsplit(' ').next().and_then(|length| length.parse::<u64>().ok());
    let length = length.ok_or_else(|| std::io::Error::other(head.trim_end().to_owned()))?;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let copied = std::io::copy(&mut answers.by_ref().take(length), &mut File::create(path)?)?;
    if copied < length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    answers.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_ways_out_are_no_files() {
        let of = |line: &str| file_of(line.as_bytes()).map(|file| file.path);
        assert_eq!(of("100644 blob 1f\trepro/a b.toml").as_deref(), Some("repro/a b.toml"));
        assert_eq!(of("120000 blob 1f\trepro/link"), None);
        assert_eq!(of("160000 commit 1f\treceipts/module"), None);
        assert_eq!(of("100644 blob 1f\trepro/../../out"), None);
        assert_eq!(of("100644 blob 1f\t/out"), None);
    }
}
