//! JSON lines of a report, written to standard output and to files while the report is made.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::output::{Output, cannot_write, open_report, remove_report};
use repro_core::source::Error;
use repro_report::Format;
use repro_report::lines::{end_line, part_line};
use repro_report::outcome::Report;
use repro_report::part::ReportPart;

/// Where lines go.
enum LineTarget {
    Printed,
    File(PathBuf, File),
}

impl LineTarget {
    /// Writes a line at once, so that whoever reads along has it.
    fn write(&mut self, line: &str) -> std::io::Result<()> {
        match self {
            Self::Printed => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(line.as_bytes())?;
                stdout.flush()
            }
            Self::File(_, file) => file.write_all(line.as_bytes()),
        }
    }

    fn shown(&self) -> &Path {
        match self {
            Self::Printed => Path::new("standard output"),
            Self::File(path, _) => path,
        }
    }
}

/// The lines so far.
pub struct ReportLines {
    targets: Vec<LineTarget>,
    failed: Vec<Error>,
    told: usize,
}

impl ReportLines {
    /// Begins the lines that are asked for; a file for them that cannot be written is rejected before anything is judged.
    pub fn begin(output: &Output) -> Result<Self, Vec<Error>> {
        let file = |path: &Path| Ok(LineTarget::File(path.to_owned(), open_report(path)?));
        let opened: Vec<Result<LineTarget, Error>> =
            output.files_of(Format::Jsonl).map(file).collect();
        let (targets, failed): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        let failed: Vec<_> = failed.into_iter().filter_map(Result::err).collect();
        if !failed.is_empty() {
            return Err(failed);
        }
        let printed = output.prints(Format::Jsonl).then_some(LineTarget::Printed);
        let targets = targets.into_iter().flatten().chain(printed).collect();
        Ok(Self { targets, failed, told: 0 })
    }

    /// Writes the line of a part.
    pub fn part(&mut self, part: &ReportPart) {
        self.told += 1;
        if !self.targets.is_empty() {
            self.write(&part_line(part));
        }
    }

    /// Writes the last line; the answer is what could not be written.
    pub fn end(mut self, report: &Report) -> Vec<Error> {
        self.write(&end_line(report, self.told));
        self.failed
    }

    /// Writes a line everywhere; where that fails once nothing more is written. A reader who closed the pipe has seen enough.
    fn write(&mut self, line: &str) {
        let failed = &mut self.failed;
        self.targets.retain_mut(|target| match target.write(line) {
            Ok(()) => true,
            Err(error) => {
                let is_closed =
                    matches!(target, LineTarget::Printed) && error.kind() == ErrorKind::BrokenPipe;
                // Lines that have no end are no report.
                if let LineTarget::File(path, _) = target {
                    let _ = remove_report(path);
                }
                failed.extend((!is_closed).then(|| cannot_write(target.shown(), &error)));
                false
            }
        });
    }
}
