//! `repro init`: a project that verifies at once, in a folder of any shape. What is there stays as it is, and what a run before
//! has left undone is done.

mod first;
mod folder;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Answer;
use super::args::InitArgs;
use super::output::Output;
use super::{git, import, threads};
use first::FirstPost;
use folder::{EntryKind, FileFate, ShownFolder};
use repro_bundle::bundle::Bundle;
use repro_core::disk::{Disk, LocalDisk};
use repro_core::source::{Error, Location, Source, codes};
use repro_formats::import::{Import, ImportOptions, LoggedRun, write};
use repro_report::outcome::{ExitStatus, Report};
use repro_report::{paragraph, visible};
use repro_verify::index::{self, PostIndex};
use repro_verify::lock::{self, PostLock};
use repro_verify::post;
use repro_verify::verify::{Demands, verify};

codes! {
    IN_THE_WAY = "init::path-conflict", "an existing file or folder is in the way", "move it, or choose a different folder: `repro init DIR`";
    OTHER_TEXT = "init::text-conflict", "an unrelated text uses the file name of the first post's text", "rename the file, or start with `repro draft` for this text";
    OTHER_BUNDLE = "init::bundle-conflict", "an unrelated bundle uses the name needed for this log's bundle", "rename the bundle or the log";
    NO_NUMBER = "init::no-number", "no log ends with a number that a sentence could state", "pass a different log, or omit `--log` to use the example";
}

/// The folder of the bundles.
const RECEIPTS: &str = "receipts";
/// The example log; none of its numbers was measured.
const EXAMPLE: &str = "example/invented-numbers.csv";
const EXAMPLE_LOG: &str = include_str!("example.csv");
/// The git attributes that preserve the bytes whose digests locks and bundles contain.
const ATTRIBUTES: &str = ".gitattributes";
const UNCHANGED: [&str; 2] = ["receipts/** -text", "repro/** -text"];
/// The CI workflow.
const WORKFLOW: &str = include_str!("workflow.yml");
/// The line that the user has to fill in.
const OPEN: &str = "REPRO_URL: \"\"";
/// The line after which the workflow sets the project folder, if it is not at the top of its repository.
const MACHINE: &str = "    runs-on: ubuntu-latest\n";

/// The next commands to run.
const NEXT: &str = "  \
  repro import PATH... --out receipts   imports more logs as bundles
  repro draft TEXT                      drafts a post for your text
  repro verify --post all --locked      runs in CI
";

/// Runs the command.
pub fn run(root: Option<&Path>, own: &InitArgs, output: &Output) -> Answer {
    let folder = own.folder.as_deref().or(root).unwrap_or(Path::new("."));
    let is_made = !folder.exists();
    let project = ShownFolder::made(folder).map_err(|error| vec![error])?;
    let mut setup = Setup::of(project, own.threads.unwrap_or_else(threads::cores))?;
    if let Err(errors) = setup.fill(&own.log) {
        // A folder that was made for nothing goes; one that has something in it stays.
        let _ = is_made.then(|| LocalDisk.remove_folder(folder));
        if setup.has_written {
            output.print(&setup.told(output));
        }
        return Err(errors);
    }
    let report = setup.record().map_err(|error| vec![error])?;
    output.print(&setup.told(output));
    let mut status = ExitStatus::Verified;
    if let Some(report) = &report {
        output.print(&format!("\nrepro verify --post first\n\n{}", output.as_text(report)));
        status = report.exit_status();
    }
    output.print(&setup.next());
    Ok(status)
}

/// A project on its way.
struct Setup {
    project: ShownFolder,
    /// The top of the repository, where the workflow belongs, its name there, and the way from there to the project.
    top: ShownFolder,
    workflow: String,
    below: PathBuf,
    /// The posts that it had; where there was none, the first is written.
    posts: Vec<String>,
    is_new: bool,
    threads: usize,
    /// The runs of which bundles were made.
    import: Option<Import>,
    /// One line for each thing that was written or kept.
    lines: Vec<String>,
    has_written: bool,
    /// Whether all of a project is there.
    is_complete: bool,
}

impl Setup {
    /// Looks at what is there, so that what is in the way is told before anything is written.
    fn of(project: ShownFolder, threads: usize) -> Result<Self, Vec<Error>> {
        let (top, below) = project.top();
        let workflow = workflow_name(&below);
        let files = [
            "repro/first.toml",
            "repro/first.md",
            "repro/first.lock",
            "repro/index.lock",
            ATTRIBUTES,
        ];
        let looked = files.map(|name| project.has(name, EntryKind::File));
        let others =
            [project.has(RECEIPTS, EntryKind::Folder), top.has(&workflow, EntryKind::File)];
        let mut errors: Vec<_> = looked.into_iter().chain(others).filter_map(Result::err).collect();
        errors.dedup_by(|one, other| one.place == other.place);
        if !errors.is_empty() {
            return Err(errors);
        }
        let posts = match project.path.join("repro").is_dir() {
            true => post::list(&project.path).map_err(|error| vec![error])?,
            false => Vec::new(),
        };
        let is_new = posts.is_empty();
        let (import, lines) = (None, Vec::new());
        Ok(Self {
            project,
            top,
            workflow,
            below,
            posts,
            is_new,
            threads,
            import,
            lines,
            has_written: false,
            is_complete: true,
        })
    }

    /// Writes what is absent, the evidence first: what a post names is there before it.
    fn fill(&mut self, logs: &[PathBuf]) -> Result<(), Vec<Error>> {
        let one = |error: Error| vec![error];
        match (self.is_new, logs.is_empty()) {
            (true, true) => {
                self.earlier_text()?;
                self.file(EXAMPLE, EXAMPLE_LOG).map_err(one)?;
                self.first(&[self.project.shown.join(EXAMPLE)], true)?;
            }
            (true, false) => self.first(logs, false)?,
            (false, _) => {
                if !logs.is_empty() {
                    self.bundles(read(logs, self.threads)?)?;
                }
                let kept =
                    self.posts.iter().map(|id| self.project.told(&format!("repro/{id}.toml")));
                for post in kept.collect::<Vec<_>>() {
                    self.note(FileFate::Kept, &post);
                }
            }
        }
        let fate = self.project.lines(ATTRIBUTES, &UNCHANGED).map_err(one)?;
        self.note(fate, &self.project.told(ATTRIBUTES));
        let fate = self.top.file(&self.workflow, workflow(&self.below).as_bytes()).map_err(one)?;
        self.note(fate, &self.top.told(&self.workflow));
        Ok(())
    }

    /// The bundles of some logs, and the first post, about a number of one.
    fn first(&mut self, logs: &[PathBuf], is_example: bool) -> Result<(), Vec<Error>> {
        let one = |error: Error| vec![error];
        let import = read(logs, self.threads)?;
        let mut posts = first::candidates(&import, is_example);
        if posts.is_empty() {
            return Err(no_number(logs));
        }
        let text = format!("repro/{}", first::TEXT);
        if let Some(known) = self.earlier_text()? {
            posts.retain(|post| post.text == known.text());
            if posts.is_empty() {
                return Err(vec![other_text(&known)]);
            }
        }
        self.bundles(import)?;
        let post = first::verified(&self.project.path, posts, self.threads)?;
        let FirstPost { post, text: words } = post.ok_or_else(|| no_number(logs))?;
        self.file(&text, &words).map_err(one)?;
        self.file(&format!("repro/{}.toml", first::ID), &post).map_err(one)
    }

    /// The text that a run before has left without its post; another one of this name is in the way.
    fn earlier_text(&self) -> Result<Option<Source>, Vec<Error>> {
        let one = |error: Error| vec![error];
        let name = format!("repro/{}", first::TEXT);
        if !self.project.has(&name, EntryKind::File).map_err(one)? {
            return Ok(None);
        }
        let known = Source::load_plain(&self.project.path.join(&name), self.project.told(&name));
        let known = known.map_err(one)?;
        match first::could_be(known.text()) {
            true => Ok(Some(known)),
            false => Err(vec![other_text(&known)]),
        }
    }

    /// Makes bundles of the runs that have none yet.
    fn bundles(&mut self, mut import: Import) -> Result<(), Vec<Error>> {
        let receipts = self.project.shown.join(RECEIPTS);
        let (mut kept, mut errors) = (Vec::new(), Vec::new());
        for (_, run) in import.runs() {
            let path = receipts.join(&run.name);
            if path.symlink_metadata().is_ok() {
                kept.push(run.name.clone());
                errors.extend(is_of(run, &path, self.threads).err());
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        import
            .groups
            .iter_mut()
            .for_each(|group| group.runs.retain(|run| !kept.contains(&run.name)));
        import.groups.retain(|group| !group.runs.is_empty());
        let wrote: Vec<_> = import.runs().map(|(_, run)| run.name.clone()).collect();
        if let Err(errors) = write_all(&import, &receipts, self.threads) {
            // An import that was killed had all bundles whole, and this one gave them their names.
            let is_named = errors.iter().all(|error| error.code == &repro_formats::import::EXISTS);
            let mut runs = import.runs().map(|(_, run)| run);
            if !is_named
                || !runs.all(|run| is_of(run, &receipts.join(&run.name), self.threads).is_ok())
            {
                return Err(errors);
            }
        }
        for (fate, names) in [(FileFate::Wrote, wrote), (FileFate::Kept, kept)] {
            match names.as_slice() {
                [] => {}
                [name] => self.note(fate, &receipts.join(name).display().to_string()),
                [first, ..] => {
                    let first = receipts.join(first).display().to_string();
                    self.note(fate, &format!("{first} and {} more", names.len() - 1));
                }
            }
        }
        self.import = Some(import);
        Ok(())
    }

    /// Judges the first post, and records it where that was not done yet.
    fn record(&mut self) -> Result<Option<Report>, Error> {
        if !self.is_new && !self.posts.iter().any(|id| id == first::ID) {
            return Ok(None);
        }
        let demands = Demands { project: Some(self.project.path.clone()), ..Demands::default() };
        let report = verify(&self.project.path, &[first::ID.to_owned()], &demands, self.threads);
        let locked = lock::file(first::ID);
        let is_locked = self.project.has(&locked, EntryKind::File)?;
        let verdicts =
            report.posts.first().filter(|_| report.exit_status() == ExitStatus::Verified);
        if let Some(post) = verdicts.filter(|_| !is_locked) {
            // The index comes first: a run that is stopped between the two writes the lock, which it looks for.
            let mut index = PostIndex::read(&self.project.path)?.unwrap_or_default();
            index.record(post);
            self.file(&index::file(), &index.render())?;
            self.file(&locked, &PostLock::of(post).render())?;
        } else if is_locked {
            self.note(FileFate::Kept, &self.project.told(&locked));
        } else {
            let locked = self.project.told(&locked);
            self.lines.push(format!("not written  {locked}: the first post is not verified"));
        }
        self.is_complete = is_locked && report.failures.is_empty();
        Ok(Some(report))
    }

    fn file(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let fate = self.project.file(name, text.as_bytes())?;
        self.note(fate, &self.project.told(name));
        Ok(())
    }

    fn note(&mut self, fate: FileFate, name: &str) {
        self.has_written |= fate != FileFate::Kept;
        self.lines.push(match fate {
            FileFate::Wrote => format!("wrote  {name}"),
            FileFate::Added => {
                format!("wrote  {name}: `{}`, appended", UNCHANGED.join("`, `"))
            }
            FileFate::Kept => format!("kept   {name}"),
        });
    }

    /// The written and kept files, with notes on oddities.
    fn told(&self, output: &Output) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for line in &self.lines {
            let _ = writeln!(text, "{}", visible(line));
        }
        for group in self.import.iter().flat_map(|import| &import.groups) {
            import::notes_text(group, output, &mut text);
        }
        let hidden = git::ignored(&self.project.path, &["repro", RECEIPTS, ATTRIBUTES]);
        if let Some(first) = hidden.first() {
            let more = if hidden.len() > 1 {
                format!(" and {} more", hidden.len() - 1)
            } else {
                String::new()
            };
            let said = format!(
                "git ignores `{first}`{more}, so CI will not find it. Add `!/receipts/**` and `!/repro/**` to `.gitignore`"
            );
            text.push_str(&paragraph("  note", &said, output.width()));
        }
        if !self.has_written && self.is_complete {
            text.push_str("nothing to do: all files exist\n");
        }
        text
    }

    /// Where to go on.
    fn next(&self) -> String {
        let way = self.project.shown.display().to_string();
        let enter = match way.is_empty() {
            true => way,
            false => format!("  cd {}\n", visible(&quoted_word(&way))),
        };
        let workflow = std::fs::read_to_string(self.top.path.join(&self.workflow));
        let fill = match workflow.is_ok_and(|text| text.contains(OPEN)) {
            true => format!(
                "\nIn {}, fill in the URL of the program for CI.\n",
                visible(&self.top.told(&self.workflow))
            ),
            false => String::new(),
        };
        format!("\nnext\n{enter}{NEXT}{fill}")
    }
}

/// A path as a word of a command line.
fn quoted_word(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Reads logs, all of them or none.
fn read(logs: &[PathBuf], threads: usize) -> Result<Import, Vec<Error>> {
    let options = ImportOptions { hashed: true, threads, ..ImportOptions::default() };
    let import = repro_formats::import::read(None, logs, &options);
    if import.failures.is_empty() { Ok(import) } else { Err(import.failures) }
}

/// Writes the bundles of the runs that there are.
fn write_all(import: &Import, receipts: &Path, threads: usize) -> Result<(), Vec<Error>> {
    match import.groups.is_empty() {
        true => Ok(()),
        false => write(import, receipts, false, threads).map(drop),
    }
}

fn other_text(known: &Source) -> Error {
    let place = Location::file(known.name());
    OTHER_TEXT.at(place, "the text of the first post, or no file", "a different text")
}

fn no_number(logs: &[PathBuf]) -> Vec<Error> {
    let named = logs.iter().map(|log| log.display().to_string()).collect::<Vec<_>>().join(", ");
    vec![NO_NUMBER.at(Location::file(named), "a metric whose last value is a number", "none")]
}

/// Rejects a bundle that was not made of the log of a run.
fn is_of(run: &LoggedRun, path: &Path, threads: usize) -> Result<(), Error> {
    let shown = path.display().to_string();
    let bundle = Bundle::load_folder(path, &shown, None, threads)?;
    let made_of = bundle.receipt().extra.get("source").and_then(|source| source.get("sha256"));
    let wanted = run.sha256()?.to_string();
    if made_of.and_then(|digest| digest.as_str()) == Some(&wanted) {
        return Ok(());
    }
    let expected = format!("a bundle of `{}`, sha256 {wanted}", run.file);
    Err(OTHER_BUNDLE.at(Location::file(shown), expected, "an unrelated bundle"))
}

/// The file of the workflow: projects of one repository have one each.
fn workflow_name(below: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    let suffix: String = below.iter().map(|part| format!("-{}", part.to_string_lossy())).collect();
    format!(".github/workflows/repro{}.yml", suffix.chars().map(plain).collect::<String>())
}

/// The workflow of a project, which may lie below the top of its repository.
fn workflow(below: &Path) -> String {
    if below.as_os_str().is_empty() {
        return WORKFLOW.to_owned();
    }
    let folder = serde_json::Value::from(below.to_string_lossy()).to_string();
    let within =
        format!("{MACHINE}    defaults:\n      run:\n        working-directory: {folder}\n");
    WORKFLOW.replace(MACHINE, &within)
}
