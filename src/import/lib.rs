//! Logs of other trainers, read strictly and written as receipt bundles.
//!
//! A format's file owns the reading of one sort of log into a [`LoggedRun`]; runs given together are a
//! [`LogGroup`], which says which of them count and what they say together; [`write()`] makes a bundle of
//! each. What a log does not say is not made up: there are no seeds, machines or token counts in a
//! bundle that the log does not name. Whether a post's numbers follow from the bundles is left to the
//! claims.

#![forbid(unsafe_code)]

mod columns;
mod csv;
mod files;
mod group;
mod hf_trainer;
mod jsonl;
mod log;
mod mlperf;
mod run;
pub mod scoring;
mod speedrun;
mod timed;
mod write;

use std::path::{Path, PathBuf};

use repro_receipt::parallel;
use repro_receipt::source::{Error, codes};

pub use columns::Mapping;
pub use group::{Figures, LogGroup, Losses, NoFigure};
pub use log::Identity;
pub use run::{LogNumber, LogRow, LoggedRun, Metric, Oddity};
pub use timed::{ProgressUnit, Timed};
pub use write::write;

codes! {
    NOT_A_FILE = "import::not-a-file", "a log is not a plain file", "pass the file itself";
    NO_LOGS = "import::no-logs", "a folder has no log of this format", "name the files one by one, or choose another format";
    SKIPPED = "import::skipped", "a file in a folder was skipped", "name it explicitly if it is a log";
    TOO_MANY_FILES = "import::too-many-files", "too many logs for one import", "import them in batches";
    NO_METRICS = "import::no-metrics", "the file has no metric lines", "leave the file out, or name its format";
    NO_START = "import::no-start", "the first metric line is not the start of a run", "import the whole log";
    TWO_RUNS = "import::two-runs", "the file has a second run, or text that looks like one", "put each run in its own file";
    MIXED_DIALECTS = "import::mixed-dialects", "the metric lines use two spellings", "put each run in its own file";
    PLAN_CHANGES = "import::plan-changes", "the planned number of steps changes within the run", "put each run in its own file";
    BEYOND_PLAN = "import::beyond-plan", "a step is past the planned end", "correct the log, or leave it out";
    TOO_MANY_LINES = "import::too-many-lines", "the log has too many metric lines", "keep every n-th line, as `awk 'NR % 10 == 1'` does, or split the file";
    LONG_LINE = "import::long-line", "a line is too long", "keep the members that are metrics, as `jq -c '{step, loss, lr}'` does, or leave the log out";
    TOO_MANY_NUMBERS = "import::too-many-numbers", "the log has too many numbers", "keep fewer lines or fewer columns: those that are metrics";
    EMBEDDED_TEXT = "import::embedded-text", "text before the log looks like metric lines and was not read", "nothing to do if it is the program's source";
    NOT_A_METRIC_LINE = "import::not-a-metric-line", "lines start like metric lines but do not parse, so they were not read", "check these lines";
    TORN_LINE = "import::torn-line", "the file ends in the middle of a line, which was not read", "import the whole log";
    SAME_BYTES = "import::same-bytes", "the file is a copy of another, so it is not an independent run", "leave the copy out";
    SAME_METRICS = "import::same-metrics", "the log has the same metric lines as another, so it is not an independent run", "leave the copy out";
    SAME_LOSSES = "import::same-losses", "the run has the same loss as another at every step, so it is not an independent run", "leave one of the two out";
    SAME_SEED = "import::same-seed", "the run has the same seed as another, so it is not an independent run", "leave one of the two out";
    ALSO_ELSEWHERE = "import::also-elsewhere", "the run is also in another group", "keep it in one group, or state that the groups share it";
    EARLY_STOP = "import::early-stop", "the run stops before its planned end", "import the finished log";
    NO_FINAL_VALIDATION = "import::no-final-validation", "there is no validation loss at the last step", "import the finished log";
    NOT_FINITE = "import::not-finite", "the final loss is not a finite number", "count the run as diverged";
    EXISTS = "import::exists", "the bundle already exists", "choose another folder, or remove the bundle first";
    BUSY = "import::busy", "another import is writing to this folder", "wait until it finishes";
    CHANGED = "import::changed", "the log changed after it was read", "import it again when nothing writes to it";
    BAD_MAP = "import::bad-map", "the mapping is malformed", "write `--map loss=train_loss,step=iter`, our name first";
    UNKNOWN_NAME = "import::unknown-name", "a name in the mapping is unknown", "correct the name";
    NO_STEP = "import::no-step", "a row has no step", "map the column that counts steps: `--map step=NAME`";
    NO_VALUES = "import::no-values", "no column is recognized", "map the columns: `--map loss=NAME,val_loss=NAME`";
    NOT_A_NUMBER = "import::not-a-number", "a mapped value is not a number", "correct the log, or map another column";
    STEPS_GO_BACK = "import::steps-go-back", "a step is smaller than the one before it", "put each run in its own file";
    TOLD_TWICE = "import::told-twice", "a step has two values for one column", "put each run in its own file";
    UNMAPPED = "import::unmapped", "unrecognized columns were only kept as printed", "map the ones that matter";
    STEPS_DIFFER = "import::steps-differ", "the state and its history have different last steps", "import the state that the Trainer saved last";
    BEST_DIFFERS = "import::best-differs", "the best metric is not among the evaluations", "import the state that the Trainer saved last";
    NO_RECORD = "import::no-record", "a record that every such log has is missing", "import the whole log";
    TWO_RECORDS = "import::two-records", "a record appears twice", "put each run in its own file";
    BAD_RECORD = "import::bad-record", "a record does not follow the log format", "correct the log, or leave it out";
    MIXED_RUNS = "import::mixed-runs", "the runs differ in system, benchmark or batch size", "put each system in its own folder";
    NOT_CONVERGED = "import::not-converged", "the run did not reach its target", "it counts as the slowest run, as far as the rules allow";
    TARGET_MISSED = "import::target-missed", "the run reports success, but its last evaluation misses the target", "correct the log, or leave it out";
    FEW_RUNS = "import::few-runs", "the number of runs is not the one that the rules require", "import all runs of the submission";
    SCALING_DIFFERS = "import::scaling-differs", "the scaling factor is not the one that the reference points give", "use the reference's factor, or say where the other one comes from";
    BAD_REFERENCE = "import::bad-reference", "the reference points are invalid", "use the file from the benchmark's rules";
}

/// A sort of log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Speedrun leaderboards.
    Speedrun,
    /// MLPerf Training results.
    Mlperf,
    /// One JSON object a line.
    Jsonl,
    /// A table.
    Csv,
    /// `trainer_state.json` of Hugging Face's Trainer.
    HfTrainer,
}

impl LogFormat {
    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Speedrun => "speedrun",
            Self::Mlperf => "mlperf",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::HfTrainer => "hf-trainer",
        }
    }

    /// The files of a folder that are logs, in words.
    fn files(self) -> &'static str {
        match self {
            Self::Speedrun => "`*.txt` or `*.log`",
            Self::Mlperf => "`result_*.txt` or `*.log`",
            Self::Jsonl => "`*.jsonl` or `*.ndjson`",
            Self::Csv => "`*.csv`",
            Self::HfTrainer => "`trainer_state.json`",
        }
    }

    /// Whether a file found in a folder is such a log, by its name.
    fn is_log(self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match self {
            Self::Speedrun => ends(&[".txt", ".log"]),
            Self::Mlperf => ends(&[".log"]) || name.starts_with("result_") && ends(&[".txt"]),
            Self::Jsonl => ends(&[".jsonl", ".ndjson"]),
            Self::Csv => ends(&[".csv"]),
            Self::HfTrainer => name == "trainer_state.json",
        }
    }
}

/// What an import shall do beside reading.
#[derive(Debug, Default)]
pub struct ImportOptions {
    /// One group for everything, under this name.
    pub group: Option<String>,
    /// The loss against which each group is tested.
    pub target: Option<f64>,
    /// What the columns of tables mean.
    pub mapping: Mapping,
    /// The reference convergence points.
    pub reference: Option<scoring::Reference>,
    /// The factor on the score, instead of a `scaling.json` beside the logs.
    pub scaling: Option<scoring::Scaling>,
    /// Whether the digest of every log is taken while it is read; bundles and programs want it.
    pub hashed: bool,
    /// How many logs are read at a time; the answer does not depend on it.
    pub threads: usize,
}

/// What was read.
#[derive(Debug)]
pub struct Import {
    /// The format.
    pub format: LogFormat,
    /// The groups, by name.
    pub groups: Vec<LogGroup>,
    /// The files of the folders that are no logs.
    pub skipped: Vec<Error>,
    /// What could not be used.
    pub failures: Vec<Error>,
}

impl Import {
    /// Every run.
    pub fn runs(&self) -> impl Iterator<Item = (&LogGroup, &LoggedRun)> {
        self.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)))
    }
}

/// Reads the logs of `format` at `paths`. A log that cannot be used is among the failures; the others
/// are read all the same.
pub fn read(format: LogFormat, paths: &[PathBuf], options: &ImportOptions) -> Import {
    let finds = files::find(format, paths, options.group.as_deref());
    let mut failures = finds.failures;
    let mut groups: Vec<(String, Vec<LoggedRun>)> = Vec::new();
    for (found, run) in finds.logs.iter().zip(parse_all(format, &finds.logs, options)) {
        match run {
            Ok(run) => {
                let run = LoggedRun { name: found.bundle.clone(), ..run };
                match groups.last_mut().filter(|(name, _)| *name == found.group) {
                    Some((_, runs)) => runs.push(run),
                    None => groups.push((found.group.clone(), vec![run])),
                }
            }
            Err(error) => failures.push(error),
        }
    }
    let mut judged = Vec::new();
    for (name, runs) in groups {
        match LogGroup::new(format, name, runs, options) {
            Ok(group) => judged.push(group),
            Err(error) => failures.push(error),
        }
    }
    group::across(&mut judged);
    Import { format, groups: judged, skipped: finds.skipped, failures }
}

/// Reads all logs, several at a time; the answers come in the order of the logs.
fn parse_all(
    format: LogFormat,
    logs: &[files::FoundLog],
    options: &ImportOptions,
) -> Vec<Result<LoggedRun, Error>> {
    parallel::map(logs, options.threads, |found| parse(format, found, options))
}

fn parse(
    format: LogFormat,
    found: &files::FoundLog,
    options: &ImportOptions,
) -> Result<LoggedRun, Error> {
    let log = log::Log::open(&found.path, &found.shown, options.hashed)?;
    match format {
        LogFormat::Speedrun => speedrun::parse(log),
        LogFormat::Mlperf => mlperf::parse(log),
        LogFormat::Jsonl => jsonl::parse(log, &options.mapping),
        LogFormat::Csv => csv::parse(log, &options.mapping),
        LogFormat::HfTrainer => hf_trainer::parse(log),
    }
}

/// `1 run`, `2 runs`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
