//! Where things are printed: reports to standard output and files, complaints to standard error.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::common::{Colour, CommonArgs};
use super::{BAD_USAGE, CANNOT_WRITE, formats};
use repro_core::disk::{Disk, HeldPath, LocalDisk, drawn_beside, unlinked};
use repro_core::source::{Error, Location};
use repro_report::growing::GrownReport;
use repro_report::outcome::Report;
use repro_report::{self as report, Format, ReportOptions};

/// Reports outside a terminal are this wide.
const PAGE_WIDTH: usize = 100;

/// The reader: terminal, colours, format.
#[derive(Debug)]
pub struct Output {
    format: Format,
    files: Vec<(Format, PathBuf)>,
    stdout: ReportOptions,
    stderr: ReportOptions,
    /// Whether something that was to be printed could not be.
    lost: AtomicBool,
    /// Whether a report was drawn, so that no file is of an earlier run.
    drawn: AtomicBool,
}

/// An answer as JSON: plain data with string keys, which always has a JSON form.
pub fn json_text(value: &impl serde::Serialize) -> String {
    report::escaped_json(serde_json::to_string_pretty(value).unwrap_or_default()) + "\n"
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A path by the folder that it leads to: links are two names of one folder.
fn place_of(path: &Path) -> PathBuf {
    folder_of(path).canonicalize().map_or_else(
        |_| path.to_owned(),
        |folder| folder.join(path.file_name().unwrap_or_default()),
    )
}

/// The file behind a path: hard and symbolic links are other names of the same file.
#[derive(PartialEq, Eq)]
struct Inode(u64, u64);

impl Inode {
    fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        Some(Self(about.dev(), about.ino()))
    }

    /// Whether an existing file is this one, or lies in this folder.
    fn holds(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        real.ancestors().any(|above| Self::of(above).as_ref() == Some(self))
    }
}

impl Output {
    /// The output that the arguments of a command and the terminal ask for.
    pub fn new(common: &CommonArgs, command: &str) -> Result<Self, Error> {
        let files: Vec<_> =
            common.output.iter().map(|text| file(text, command)).collect::<Result<_, _>>()?;
        let twice = |at: usize, path: &Path| {
            files.iter().take(at).any(|(_, before)| place_of(before) == place_of(path))
        };
        if let Some((_, (_, path))) =
            files.iter().enumerate().find(|(at, (_, path))| twice(*at, path))
        {
            let (place, found) = (Location::file("--output"), path.display().to_string());
            return Err(BAD_USAGE.at(
                place,
                "a different file for each `--output`",
                format!("`{found}` twice"),
            ));
        }
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let options = |terminal: bool| ReportOptions {
            width: width.filter(|_| terminal).unwrap_or(PAGE_WIDTH),
            colour: match common.color {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => {
                    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                }
            },
            verbose: common.verbose,
            quiet: common.quiet,
        };
        Ok(Self {
            format: format(common.format, command)?,
            files,
            stdout: options(std::io::stdout().is_terminal()),
            stderr: options(std::io::stderr().is_terminal()),
            lost: AtomicBool::new(false),
            drawn: AtomicBool::new(false),
        })
    }

    /// The output before the arguments are understood.
    pub fn plain() -> Self {
        let options = ReportOptions::default();
        let [lost, drawn] = [false, false].map(AtomicBool::new);
        let (format, files) = (Format::Text, Vec::new());
        Self { format, files, stdout: options, stderr: options, lost, drawn }
    }

    /// Whether standard output carries JSON.
    pub fn wants_json(&self) -> bool {
        self.format == Format::Json
    }

    /// The formats that a report is drawn in.
    pub fn formats(&self) -> impl Iterator<Item = Format> {
        self.files.iter().map(|(format, _)| *format).chain([self.format])
    }

    /// Whether a report is drawn in a format.
    pub fn draws(&self, format: Format) -> bool {
        self.formats().any(|one| one == format)
    }

    /// Whether a report is printed in a format.
    pub fn prints(&self, format: Format) -> bool {
        self.format == format
    }

    /// The files that a report is written to in a format.
    pub fn files_of(&self, format: Format) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(move |(one, _)| *one == format).map(|(_, path)| path.as_path())
    }

    /// Whether everything is to be listed.
    pub fn verbose(&self) -> bool {
        self.stdout.verbose
    }

    /// Whether all but what matters most is to be left out.
    pub fn quiet(&self) -> bool {
        self.stdout.quiet
    }

    /// The columns that a line may take.
    pub fn width(&self) -> usize {
        self.stdout.width.clamp(60, 140)
    }

    /// Rejects files for the report that the report is about: nothing may be written over what it was made from.
    pub fn spares<'f>(&self, inputs: impl Iterator<Item = &'f str>) -> Result<(), Vec<Error>> {
        let taken: Vec<(Inode, &str)> =
            inputs.filter_map(|input| Some((Inode::of(Path::new(input))?, input))).collect();
        let refused = self.files.iter().filter_map(|(_, path)| {
            let input = taken.iter().find(|(inode, _)| inode.holds(path))?.1;
            let place = Location::file(path.display().to_string());
            let found = format!("`{input}`, which is an input of the report");
            Some(BAD_USAGE.at(place, "a separate file for the report", found))
        });
        let refused: Vec<_> = refused.collect();
        if refused.is_empty() { Ok(()) } else { Err(refused) }
    }

    /// Prints a report to standard output and to the files asked for. Its lines are written already, but for the last one:
    /// `end_lines` writes it, and answers what could not be written.
    pub fn grown(
        &self,
        grown: GrownReport,
        end_lines: impl FnOnce(&Report) -> Vec<Error>,
    ) -> Result<(), Vec<Error>> {
        let [in_files, printed] =
            [self.in_files(), self.stdout].map(|options| grown.text_of_many(&options));
        let report = grown.into_whole();
        if self.draws(Format::Intoto) {
            let and_why = |error| [report.failures.as_slice(), &[error]].concat();
            report::intoto::has_subjects(&report).map_err(and_why)?;
        }
        let failed = end_lines(&report);
        let draw = |format, options: &ReportOptions| {
            let text = if *options == self.stdout { &printed } else { &in_files };
            match (format, text) {
                (Format::Text, Some(text)) => text.clone(),
                _ => report::render(&report, format, options),
            }
        };
        let is_drawn = |format| format != Format::Jsonl;
        let drawn = self.drawn_where(&is_drawn, &draw, &|| report::github_summary(&report));
        match failed.is_empty() {
            true => drawn,
            false => Err(failed.into_iter().chain(drawn.err().into_iter().flatten()).collect()),
        }
    }

    /// A report as people read it, for commands that print more than one.
    pub fn as_text(&self, report: &Report) -> String {
        report::render(report, Format::Text, &self.stdout)
    }

    /// The same of a report that `draw` writes in each format.
    pub fn drawn(
        &self,
        draw: &dyn Fn(Format, &ReportOptions) -> String,
        summary: &dyn Fn() -> String,
    ) -> Result<(), Vec<Error>> {
        self.drawn_where(&|_| true, draw, summary)
    }

    /// The same in some of the formats that are asked for.
    fn drawn_where(
        &self,
        is_drawn: &dyn Fn(Format) -> bool,
        draw: &dyn Fn(Format, &ReportOptions) -> String,
        summary: &dyn Fn() -> String,
    ) -> Result<(), Vec<Error>> {
        self.drawn.store(true, Ordering::Relaxed);
        let draw = |format: Format, options: &ReportOptions| format.inert(draw(format, options));
        // One file that cannot be written leaves no other as an earlier run wrote it.
        let write = |(format, path): &(Format, PathBuf)| {
            write_report(path, &draw(*format, &self.in_files())).err()
        };
        let files = self.files.iter().filter(|(format, _)| is_drawn(*format));
        let failed: Vec<_> = files.filter_map(write).collect();
        if !failed.is_empty() {
            return Err(failed);
        }
        if self.format == Format::Github {
            self.summary(&summary())?;
        }
        if is_drawn(self.format) {
            self.put(&draw(self.format, &self.stdout));
        }
        Ok(())
    }

    /// How reports in files look.
    fn in_files(&self) -> ReportOptions {
        ReportOptions { width: PAGE_WIDTH, colour: false, ..self.stdout }
    }

    /// Replaces reports of earlier runs in the files asked for, where this run has drawn none; those that `draw` has nothing for go.
    /// Files that are not there yet are made where the caller `wants_all`.
    pub fn replaced(
        &self,
        wants_all: bool,
        draw: &dyn Fn(Format, &ReportOptions) -> Option<String>,
    ) -> Result<(), Vec<Error>> {
        if self.drawn.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is_old = |path: &Path| {
            path.is_file() && outside_bundles(path).is_ok() && replaces_a_report(path).is_ok()
        };
        let is_new = |path: &Path| wants_all && path.symlink_metadata().is_err();
        let replace = |(format, path): &(Format, PathBuf)| match draw(*format, &self.in_files()) {
            Some(text) => write_report(path, &text).err(),
            None if !path.exists() => None,
            None => remove_report(path).err().map(|error| cannot_write(path, &error)),
        };
        let files = self.files.iter().filter(|(_, path)| is_old(path) || is_new(path));
        let failed: Vec<_> = files.filter_map(replace).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed) }
    }

    /// Appends to the job summary where GitHub names a file for it.
    fn summary(&self, text: &str) -> Result<(), Vec<Error>> {
        let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) else {
            return Ok(());
        };
        let append = || {
            std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)?
                .write_all(text.as_bytes())
        };
        append().map_err(|error| vec![cannot_write(&path, &error)])
    }

    /// Prints what people read to standard output.
    pub fn print(&self, text: &str) {
        self.put(&Format::Text.inert(text.to_owned()));
    }

    /// Writes to standard output; a reader who closed the pipe has seen enough.
    fn put(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.complain(&cannot_write(Path::new("standard output"), &error));
            self.lose();
        }
    }

    /// Notes that something that was to be printed could not be.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Whether something that was to be printed could not be.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Prints a serialisable answer as JSON.
    pub fn print_json(&self, value: &impl serde::Serialize) {
        self.put(&json_text(value));
    }

    /// Says something on standard error.
    pub fn say(&self, text: &str) {
        // Nobody there to read it is no reason to stop.
        let text = Format::Text.inert(text.to_owned());
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Draws one refused input on standard error.
    pub fn complain(&self, error: &Error) {
        self.say(report::render_failure(error, &self.stderr).trim_end());
    }
}

/// The folder above a path that is there already.
fn present_folder(path: &Path) -> PathBuf {
    let mut folder = folder_of(path).to_owned();
    while !folder.exists() && folder != folder_of(&folder) {
        folder = folder_of(&folder).to_owned();
    }
    folder
}

/// Rejects a file in a bundle: a report there would be a file that no manifest lists.
pub fn outside_bundles(path: &Path) -> Result<(), Error> {
    let Ok(real) = present_folder(path).canonicalize() else { return Ok(()) };
    match real.ancestors().find(|above| above.join("bagit.txt").exists()) {
        None => Ok(()),
        Some(bundle) => {
            let place = Location::file(path.display().to_string());
            let found = format!("a file in `{}`", bundle.display());
            Err(BAD_USAGE.at(place, "a file outside bundles", found))
        }
    }
}

/// Refuses to write over a file that is no report: what is judged, a log or a post, is not lost by a slip of the hand.
fn replaces_a_report(path: &Path) -> Result<(), Error> {
    let is_plain = path.symlink_metadata().is_ok_and(|about| about.is_file());
    if !is_plain || begins_with_lines(path) {
        return Ok(());
    }
    let Ok(known) = std::fs::read(path) else { return Ok(()) };
    if report::is_report(&String::from_utf8_lossy(&known)) {
        return Ok(());
    }
    let place = Location::file(path.display().to_string());
    let error =
        BAD_USAGE.at(place, "a new file, or an existing report to overwrite", "a different file");
    Err(error.help("choose a different file, or delete this one first"))
}

/// Whether a file begins as lines of a report do: these can be too long to be read whole.
fn begins_with_lines(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    read.is_ok() && report::lines::begin(&String::from_utf8_lossy(&start))
}

/// Rejects a path for a report where something else stands than nothing or an earlier one: a pipe, a device and a link are neither
/// waited for nor replaced.
fn takes_a_report(path: &Path) -> Result<HeldPath, Error> {
    outside_bundles(path)?;
    let held =
        HeldPath::beneath(Path::new(""), path).map_err(|error| cannot_write(path, &error))?;
    match held.symlink_metadata() {
        Ok(about) if !about.is_file() => {
            let place = Location::file(path.display().to_string());
            Err(CANNOT_WRITE.at(
                place,
                "a new file, or an existing report",
                "a folder, pipe, socket or device",
            ))
        }
        _ => replaces_a_report(path).map(|()| held),
    }
}

/// Opens a file for the lines of a report, where none is yet or an earlier one, and empties it.
pub fn open_report(path: &Path) -> Result<File, Error> {
    let held = takes_a_report(path)?;
    let mut options = OpenOptions::new();
    let opened = unlinked(options.write(true).create(true).truncate(true)).open(&*held);
    opened.map_err(|error| cannot_write(path, &error))
}

/// Takes a report away.
pub fn remove_report(path: &Path) -> std::io::Result<()> {
    LocalDisk.remove(&HeldPath::beneath(Path::new(""), path)?)
}

/// Writes a report where none is yet, or an earlier one, whole or not at all; of an earlier one nothing is left either.
fn write_report(path: &Path, text: &str) -> Result<(), Error> {
    let held = takes_a_report(path)?;
    LocalDisk.replace(&held, &drawn_beside(&held), text.as_bytes()).map_err(|error| {
        let _ = std::fs::remove_file(&*held);
        cannot_write(path, &error)
    })
}

/// Writes a file beneath `root`, which messages call `shown`, whole or not at all; its folder is made where it is absent.
pub fn write_file(root: &Path, name: &str, shown: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = root.join(name);
    let write = || {
        LocalDisk.make_folders(root, folder_of(&path))?;
        let held = HeldPath::beneath(root, &path)?;
        LocalDisk.replace(&held, &drawn_beside(&held), bytes)?;
        LocalDisk.sync(folder_of(&held))
    };
    write().map_err(|error| cannot_write(Path::new(shown), &error))
}

/// The error for a path that cannot be written.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    CANNOT_WRITE.at(
        Location::file(path.display().to_string()),
        "a writable file",
        error.to_string(),
    )
}

/// `FORMAT=PATH`, of the formats of a command.
fn file(text: &str, command: &str) -> Result<(Format, PathBuf), Error> {
    let formats = formats::of(command);
    let refused =
        |expected: String| BAD_USAGE.at(Location::file("--output"), expected, format!("`{text}`"));
    if !formats::makes_report(formats) {
        let no_report = format!("no `--output`: `repro {command}` writes no report");
        return Err(refused(no_report).help("redirect standard output instead"));
    }
    let parsed = text.split_once('=').and_then(|(word, path)| {
        let format = Format::of_word(word).filter(|format| formats.contains(format))?;
        (!path.is_empty()).then(|| (format, PathBuf::from(path)))
    });
    parsed.ok_or_else(|| refused(format!("FORMAT=PATH with a format of {}", words(formats))))
}

/// The format of standard output, which is one of the command's wherever the option stands.
fn format(format: Format, command: &str) -> Result<Format, Error> {
    let formats = formats::of(command);
    if formats.contains(&format) {
        return Ok(format);
    }
    let expected = format!("a format of `repro {command}`: {}", words(formats));
    Err(BAD_USAGE.at(Location::file("--format"), expected, format!("`{}`", format.word())))
}

fn words(formats: &[Format]) -> String {
    formats.iter().map(|format| format.word()).collect::<Vec<_>>().join(", ")
}
