//! The log of started runs: one chained line per run, in a file that the plan refers to.
//!
//! A run that was started but not reported leaves a line. Each receipt has the chain of its own start, which covers all
//! earlier starts, so no line can be removed once a later run is known.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use repro_bundle::bundle::record::{RecordValue, record};
use repro_bundle::bundle::{CANNOT_WRITE, Chain, DeclaredStart, chained_lines, whole_lines};
use repro_core::digest::Digest;
use repro_core::disk::{HeldPath, root_of, unlinked};
use repro_core::source::{Document, Error, Location, Node, Source, TOO_LARGE, UNREADABLE, codes};

/// The file name extension of such logs.
const ENDING: &str = ".jsonl";
/// The size limit of a log (16 MiB, about 40,000 starts).
const CAP: u64 = 16 << 20;

codes! {
    BAD_NAME = "starts::bad-name", "the log of started runs is not a file next to the plan", "write its name without a folder: `file = \"NAME.starts.jsonl\"`";
    NOT_PINNED = "starts::pin-mismatch", "the log of started runs does not continue from the entry pinned in the plan", "set `after` in the plan to the `chain` of the log's last line at the time of the plan";
    NO_LOG = "starts::no-log", "the log of started runs is missing", "restore the log that `repro train` wrote next to the plan";
}

/// The log that a plan refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartsFile {
    /// Its name, next to the study file.
    pub name: String,
    /// The chain of its last line when the plan was written; none for a log that starts with this plan.
    pub after: Option<Digest>,
    place: Location,
}

record! {
    /// One start of a run.
    RunStart {
        /// The study.
        study: String,
        /// The digest of its plan.
        plan_sha256: Digest,
        /// The run.
        run: String,
        /// The digest of its configuration, as canonical JSON.
        config_sha256: Digest,
        /// A digest that distinguishes this start from all others.
        attempt: Digest,
        /// The time, by the clock of the machine.
        unix_seconds: u64,
        /// The chain of its line; none until it is written.
        chain: Option<Digest>,
    }
}

/// A start, with the chain of its line.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedStart {
    /// The content of the line.
    pub start: RunStart,
    /// The chain over this line and all lines before it.
    pub chain: Digest,
    /// The place of the line.
    pub place: Location,
}

/// The starts in a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartsLog {
    starts: Vec<LoggedStart>,
    /// The number of starts that were logged before the plan.
    before: usize,
}

impl StartsFile {
    /// Reads the table `[starts]` of a study.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        node.only(&["file", "after"])?;
        let file = node.required("file")?;
        let name = file.text()?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        if name.starts_with('.') || !name.ends_with(ENDING) || !name.bytes().all(is_plain) {
            let expected = "a name such as `moe.starts.jsonl`, without a folder";
            return Err(BAD_NAME.at(file.place(), expected, format!("`{name}`")));
        }
        let after = node.get("after").map(Digest::read).transpose()?;
        Ok(Self { name: name.to_owned(), after, place: node.place() })
    }

    /// Reads the log in the folder of the study file; `shown` is the name of that folder in messages.
    pub fn load(&self, folder: &Path, shown: &str) -> Result<StartsLog, Error> {
        let shown = match shown {
            "" => self.name.clone(),
            folder => format!("{folder}/{}", self.name),
        };
        let path = folder.join(&self.name);
        match fs::symlink_metadata(&path) {
            Ok(of) if of.is_symlink() => {
                return Err(UNREADABLE.at(Location::file(shown), "a plain file", "a link"));
            }
            Ok(_) => {}
            Err(_) if self.after.is_some() => {
                return Err(NO_LOG.at(Location::file(shown), "the log of the plan", "no file"));
            }
            Err(_) => return Ok(StartsLog::default()),
        }
        self.logged(Source::load_plain(&path, shown)?)
    }

    /// Rejects the plan with this digest if it omits entries that the log in `folder` has from earlier plans.
    pub fn check(&self, folder: &Path, shown: &str, plan: Digest) -> Result<(), Error> {
        self.check_pin(&self.load(folder, shown)?, plan)
    }

    /// Reads the complete lines of the log. A line that a killed process left incomplete does not count as a start.
    fn logged(&self, source: Source) -> Result<StartsLog, Error> {
        let mut whole = whole_starts(source.text().as_bytes()).to_vec();
        if whole.last().is_some_and(|last| *last != b'\n') {
            whole.push(b'\n');
        }
        let document = Document::parse_json_lines(Source::new(source.name(), whole)?)?;
        let chains = chained_lines(&document)?;
        let line = |(node, chain)| {
            let start = RunStart::read(node)?;
            Ok(LoggedStart { start, chain, place: node.place() })
        };
        let lines = document.root().items()?.zip(chains);
        let starts: Vec<LoggedStart> = lines.map(line).collect::<Result<_, Error>>()?;
        let before = match self.after {
            None => 0,
            Some(pinned) => match starts.iter().position(|start| start.chain == pinned) {
                Some(at) => at + 1,
                None => {
                    let expected = format!("a line with the chain {pinned}");
                    let found = format!("{} lines, none with it", starts.len());
                    return Err(NOT_PINNED.at(document.root().place(), expected, found));
                }
            },
        };
        Ok(StartsLog { starts, before })
    }

    /// Appends the start of a run to the log in `folder`, unless this attempt is already there, and returns the entry for
    /// its receipt. Locks the log against other processes.
    pub fn append(&self, folder: &Path, start: RunStart) -> Result<DeclaredStart, Error> {
        let path = folder.join(&self.name);
        let place = || Location::file(path.display().to_string());
        let cannot = |error: std::io::Error| {
            CANNOT_WRITE.at(place(), "the log of started runs", error.to_string())
        };
        // Checks the folder, too: the caller names a plan and expects writes only next to it.
        let held = HeldPath::beneath(&root_of(folder), &path).map_err(cannot)?;
        let mut options = File::options();
        let mut file =
            unlinked(options.read(true).append(true).create(true)).open(&*held).map_err(cannot)?;
        if !file.metadata().map_err(cannot)?.is_file() {
            return Err(CANNOT_WRITE.at(place(), "a file", "something else"));
        }
        file.lock().map_err(cannot)?;
        let mut bytes = Vec::new();
        (&file).take(CAP + 1).read_to_end(&mut bytes).map_err(cannot)?;
        if bytes.len() as u64 > CAP {
            return Err(TOO_LARGE.at(place(), format!("at most {CAP} bytes"), "more"));
        }
        let whole = whole_starts(&bytes);
        if whole.len() < bytes.len() {
            file.set_len(whole.len() as u64).map_err(cannot)?;
        }
        let end = if whole.is_empty() || whole.ends_with(b"\n") { "" } else { "\n" };
        let log = self.logged(Source::new(place().file, bytes)?)?;
        let attempt = start.attempt;
        let declared = |chain| DeclaredStart { log: self.name.clone(), attempt, chain };
        if let Some(own) = log.find(attempt) {
            return Ok(declared(own.chain));
        }
        self.check_pin(&log, start.plan_sha256)?;
        let mut chain = Chain::after(log.starts.last().map(|last| last.chain));
        let line = start.write().ok().flatten().and_then(|line| line.as_object().cloned());
        // The line has only names, digests and a whole number, which canonical JSON can represent.
        let line = chain.extend(line.unwrap_or_default()).map_err(std::io::Error::other);
        let line = line.map_err(cannot)?;
        let line = format!("{end}{line}");
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(cannot)?;
        Ok(declared(chain.last().unwrap_or(attempt)))
    }

    /// Rejects a plan that does not pin the log's entries from earlier plans.
    fn check_pin(&self, log: &StartsLog, plan: Digest) -> Result<(), Error> {
        let other = log.of_plan().rev().find(|one| one.start.plan_sha256 != plan);
        let Some(other) = other else { return Ok(()) };
        let expected =
            format!("`after = \"{}\"`: the log has starts of a different plan", other.chain);
        let found = self.after.map_or("no `after`".to_owned(), |after| format!("`{after}`"));
        Err(NOT_PINNED.at(self.place.clone(), expected, found))
    }
}

impl RunStart {
    /// The start of a run of `study`, now.
    pub fn now(
        (study, plan_sha256): (&str, Digest),
        (run, config_sha256): (&str, Digest),
        attempt: Digest,
    ) -> Self {
        let (study, run) = (study.to_owned(), run.to_owned());
        let unix_seconds = since_1970().as_secs();
        Self { study, plan_sha256, run, config_sha256, attempt, unix_seconds, chain: None }
    }
}

impl StartsLog {
    /// All starts, in order.
    pub fn starts(&self) -> impl Iterator<Item = &LoggedStart> {
        self.starts.iter()
    }

    /// The starts since the plan was written, in order.
    pub fn of_plan(&self) -> impl DoubleEndedIterator<Item = &LoggedStart> {
        self.starts.iter().skip(self.before)
    }

    /// The line of one start.
    pub fn find(&self, attempt: Digest) -> Option<&LoggedStart> {
        self.starts.iter().find(|one| one.start.attempt == attempt)
    }

    /// The starts under the plan without a known bundle, given the attempts that are known. The flag is set if the same run
    /// was started again and reported.
    pub fn unreported(&self, known: &[Digest]) -> Vec<(&LoggedStart, bool)> {
        let is_known = |one: &LoggedStart| known.contains(&one.start.attempt);
        let reported: Vec<_> = self.starts.iter().filter(|one| is_known(one)).collect();
        let again = |one: &LoggedStart| {
            let same = |other: &&LoggedStart| {
                (&other.start.run, other.start.config_sha256)
                    == (&one.start.run, one.start.config_sha256)
            };
            reported.iter().any(same)
        };
        self.of_plan().filter(|one| !is_known(one)).map(|one| (one, again(one))).collect()
    }
}

/// The complete lines: up to the last line feed, or all if an editor removed only that line feed.
fn whole_starts(bytes: &[u8]) -> &[u8] {
    let whole = whole_lines(bytes);
    let rest = bytes.get(whole.len()..).unwrap_or_default();
    match serde_json::from_slice::<serde::de::IgnoredAny>(rest) {
        Ok(_) => bytes,
        Err(_) => whole,
    }
}

/// A digest that distinguishes one start of a run from all others.
pub fn new_attempt(run: &str) -> Digest {
    Digest::of(format!("{run}\n{}\n{}", since_1970().as_nanos(), std::process::id()).as_bytes())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
