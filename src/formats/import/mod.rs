//! Reads logs of other trainers strictly and writes them as receipt bundles.
//!
//! Each format has its own file, which reads one kind of log into a [`LoggedRun`]. Runs imported together form a
//! [`LogGroup`], which decides which runs count and computes group figures; [`write()`] makes a bundle of each run.
//! Nothing is invented: a bundle contains no seed, machine or token count that the log does not state. Claims, not this
//! module, decide whether a post's numbers follow from the bundles.

mod columns;
mod csv;
mod detect;
mod files;
mod format;
mod group;
mod hf_trainer;
mod jsonl;
mod lineage;
mod log;
mod mlperf;
mod names;
mod pointers;
mod points;
mod resumed;
mod run;
pub mod scoring;
mod speedrun;
mod sqlite;
mod tables;
mod timed;
mod torn;
mod tracker;
mod write;

use std::collections::HashSet;
use std::path::PathBuf;

use repro_core::parallel;
use repro_core::source::{Error, codes};

pub use columns::Mapping;
pub use format::LogFormat;
pub use group::{Figures, LogGroup, Losses, NoFigure};
pub use log::Identity;
use log::Log;
pub use names::COUNTER;
pub use pointers::{MetricPlace, places};
pub use resumed::is_speed;
pub use run::{LogNumber, LogPart, LogRow, LoggedRun, Metric, Oddity};
pub use tables::heading;
pub use timed::{ProgressUnit, Timed};
pub use write::write;

codes! {
    NOT_A_FILE = "import::not-a-file", "a log is not a regular file", "pass the file itself";
    NO_LOGS = "import::no-logs", "a folder contains no log of this format", "pass the files one by one, or choose a different format";
    SKIPPED = "import::skipped", "a file in a folder was skipped", "pass it explicitly if it is a log";
    TOO_MANY_FILES = "import::too-many-files", "there are too many logs for one import", "import them in batches";
    NO_METRICS = "import::no-metrics", "the file contains no metric lines", "leave the file out, or put its format before the path (`repro import csv PATH`)";
    NO_START = "import::no-start", "the first metric line is not the start of a run", "import the complete log";
    TWO_RUNS = "import::two-runs", "the file contains a second run, or text that looks like one", "put each run in its own file";
    MIXED_DIALECTS = "import::mixed-dialects", "the metric lines use two different formats", "put each run in its own file";
    PLAN_CHANGES = "import::plan-changes", "the planned number of steps changes within the run", "put each run in its own file";
    BEYOND_PLAN = "import::beyond-plan", "a step exceeds the planned number of steps", "fix the log, or leave it out";
    TOO_MANY_LINES = "import::too-many-lines", "the log has too many metric lines", "keep every n-th line, for example with `awk 'NR % 10 == 1'`, or split the file";
    LONG_LINE = "import::long-line", "a line is too long", "keep only the metrics, for example with `jq -c '{step, loss, lr}'`, or leave the log out";
    TOO_MANY_NUMBERS = "import::too-many-numbers", "the log has too many numbers", "keep fewer lines, or only the columns that are metrics";
    EMBEDDED_TEXT = "import::embedded-text", "text before the log looks like metric lines and was ignored", "nothing to do if it is the program's source code";
    NOT_A_METRIC_LINE = "import::unparsed-line", "some lines start like metric lines but cannot be parsed; they were ignored", "check these lines";
    TORN_LINE = "import::truncated-line", "the file ends in the middle of a line, which was ignored", "import the complete log";
    TORN_VALUE = "import::truncated-value", "the file ends without a line feed after a number that may be truncated; it was ignored", "import the complete log; if the number is complete, end its line with a line feed";
    SAME_BYTES = "import::same-bytes", "the file is a copy of another file, so it is not an independent run", "leave the copy out";
    SAME_METRICS = "import::same-metrics", "the log has the same metric lines as another log, so it is not an independent run", "leave the copy out";
    SAME_LOSSES = "import::same-losses", "the run has the same loss as another run at every step, so it is not an independent run", "leave one of the two out";
    SAME_SEED = "import::same-seed", "the run has the same seed as another run, so it is not an independent run", "leave one of the two out";
    ALSO_ELSEWHERE = "import::run-in-two-groups", "the run is also in another group", "keep it in one group, or state that the groups share it";
    EARLY_STOP = "import::early-stop", "the run stops before its planned end", "import the finished log";
    NO_FINAL_VALIDATION = "import::no-final-validation", "there is no validation loss at the last step", "import the finished log";
    NOT_FINITE = "import::not-finite", "the final loss is not a finite number", "count the run as diverged";
    EXISTS = "import::existing-bundle", "the bundle already exists", "choose a different folder, or remove the bundle first";
    BUSY = "import::concurrent-import", "another import is writing to this folder", "wait until it finishes";
    CHANGED = "import::changed-log", "the log changed while it was imported", "import it again when nothing writes to it";
    BAD_MAP = "import::bad-map", "the mapping is malformed", "write the repro name first, as in `--map loss=train_loss,step=iter`";
    UNKNOWN_NAME = "import::unknown-name", "the mapping contains an unknown name", "use one of the expected names";
    NO_STEP = "import::no-step", "a row has no step", "map the step column: `--map step=NAME`";
    NO_VALUES = "import::unknown-columns", "no column was recognized", "map the columns: `--map loss=NAME,val_loss=NAME`";
    NOT_A_NUMBER = "import::not-a-number", "a mapped value is not a number", "fix the log, or map a different column";
    STEPS_GO_BACK = "import::decreasing-step", "a step is smaller than the previous one", "put each run in its own file";
    TOLD_TWICE = "import::conflicting-values", "a step has two different values in the same column", "put each run in its own file";
    TOLD_AGAIN = "import::repeated-steps", "the log repeats earlier steps with equal losses, so it was read as one resumed run", "nothing to do if the run was resumed";
    STEP_COLUMN = "import::step-column", "a column with a different name was used as the step counter", "if the wrong column was chosen, pass `--map step=NAME`";
    UNKNOWN_FORMAT = "import::unknown-format", "the file is not a recognized log", "put its format before the path (`repro import csv PATH`), or leave the file out";
    REPEATED = "import::repeated-values", "a step has several values of a metric; the last one was kept", "nothing to do if the run resumed from a checkpoint; otherwise put each run in its own file";
    LEFT_OUT = "import::ignored-entries", "entries that are not numeric metrics at a step were left out", "nothing to do unless a claim needs them";
    THINNED = "import::thinned-steps", "steps were left out because of `--every`", "nothing to do unless a claim needs one of them";
    CUT = "import::truncated-file", "the file ends in the middle of a record; the records before it were read", "import the complete file";
    DAMAGED = "import::corrupt-record", "a record has a wrong checksum; the records before it were read", "import an undamaged copy";
    UNFINISHED = "import::unfinished", "the run did not end normally", "import the finished run, or state that it was stopped";
    BAD_DATABASE = "import::bad-database", "the database cannot be read", "close the program that writes it, or import a copy made with `sqlite3 DB '.backup COPY'`";
    STEPS_DIFFER = "import::steps-differ", "the state and its history have different last steps", "import the state that the Trainer saved last";
    BEST_DIFFERS = "import::best-differs", "the best metric is not among the evaluations", "import the state that the Trainer saved last";
    NO_RECORD = "import::no-record", "a required record is missing", "import the complete log";
    TWO_RECORDS = "import::two-records", "a record appears twice", "put each run in its own file";
    BAD_RECORD = "import::bad-record", "a record does not follow the log format", "fix the log, or leave it out";
    MIXED_RUNS = "import::mixed-runs", "the runs differ in system, benchmark or batch size", "put each system in its own folder";
    NOT_CONVERGED = "import::not-converged", "the run did not reach its target", "keep it: it counts as the slowest run, within the limits of the rules";
    TARGET_MISSED = "import::target-missed", "the run reports success, but its last evaluation misses the target", "fix the log, or leave it out";
    FEW_RUNS = "import::wrong-run-count", "the number of runs is not the required one", "import all runs of the submission";
    SCALING_DIFFERS = "import::scaling-differs", "the scaling factor does not match the reference points", "use the reference's factor, or document where yours comes from";
    BAD_REFERENCE = "import::bad-reference", "the reference points are invalid", "use the file from the benchmark's rules";
}

/// Options of an import.
#[derive(Debug, Default)]
pub struct ImportOptions {
    /// One group for everything, under this name.
    pub group: Option<String>,
    /// The target loss that each group is tested against.
    pub target: Option<f64>,
    /// The meaning of table columns.
    pub mapping: Mapping,
    /// The reference convergence points.
    pub reference: Option<scoring::Reference>,
    /// The scaling factor of the score, instead of a `scaling.json` beside the logs.
    pub scaling: Option<scoring::Scaling>,
    /// Whether to hash every log while it is read, as bundles and JSON reports require.
    pub hashed: bool,
    /// Keeps every n-th step of a tracker's rows; 0 and 1 keep all.
    pub every: u64,
    /// The number of logs to read in parallel; the answer does not depend on it.
    pub threads: usize,
}

/// The result of reading.
#[derive(Debug)]
pub struct Import {
    /// The requested format; none if each log's format is detected.
    pub format: Option<LogFormat>,
    /// The groups, by name.
    pub groups: Vec<LogGroup>,
    /// Files in folders that are not logs.
    pub skipped: Vec<Error>,
    /// Logs that could not be used.
    pub failures: Vec<Error>,
}

impl Import {
    /// Every run.
    pub fn runs(&self) -> impl Iterator<Item = (&LogGroup, &LoggedRun)> {
        self.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)))
    }
}

/// Reads the logs at `paths`, of one format or of any. Unusable logs are reported as failures; the others are still
/// read.
pub fn read(format: Option<LogFormat>, paths: &[PathBuf], options: &ImportOptions) -> Import {
    let finds = files::find(format, paths, options.group.as_deref());
    let (mut failures, mut skipped) = (finds.failures, finds.skipped);
    let mut groups: Vec<(String, LogFormat, Vec<LoggedRun>)> = Vec::new();
    let mut taken = HashSet::new();
    for (found, runs) in finds.logs.iter().zip(parse_all(&finds.logs, options)) {
        let runs = match runs {
            Ok(runs) => runs,
            // A file that only looked like a log.
            Err(error) if format.is_none() && !found.is_named && is_no_log(&error) => {
                let found = format!("{} [{}]", error.found, error.code.id);
                skipped.push(SKIPPED.at(error.place.clone(), error.expected.clone(), found));
                continue;
            }
            Err(error) => {
                failures.push(error);
                continue;
            }
        };
        for run in runs {
            let (group, run) = placed(found, run, options.group.is_some(), &mut taken);
            match groups
                .iter_mut()
                .rfind(|(name, format, _)| *name == group && *format == found.format)
            {
                Some((_, _, runs)) => runs.push(run),
                None => groups.push((group, found.format, vec![run])),
            }
        }
    }
    let mut judged = Vec::new();
    for (name, format, mut runs) in groups {
        runs.sort_by(|one, other| {
            lineage::by_number(&one.name).cmp(&lineage::by_number(&other.name))
        });
        match LogGroup::new(format, name, runs, options) {
            Ok(group) => judged.push(group),
            Err(error) => failures.push(error),
        }
    }
    judged.sort_by(|one, other| one.name.cmp(&other.name));
    group::across(&mut judged);
    Import { format, groups: judged, skipped, failures }
}

/// Whether an error shows that a file is not a log at all.
fn is_no_log(error: &Error) -> bool {
    [&NO_METRICS, &NO_VALUES, &NO_STEP].contains(&error.code)
}

/// The group of a run, and the run with its name and the facts from its path.
fn placed(
    found: &files::FoundLog,
    mut run: LoggedRun,
    is_grouped: bool,
    taken: &mut HashSet<String>,
) -> (String, LoggedRun) {
    let own = run.group.take().filter(|_| !is_grouped).map(|group| files::plain(&group));
    let mut group = own.unwrap_or_else(|| found.group.clone());
    // Several runs in one file have their own names; otherwise a run is named after its file.
    let name = match (run.name.is_empty(), found.format) {
        (true, _) => found.own.clone(),
        (false, LogFormat::Marin) => format!("{}-{}", found.own, run.name),
        (false, _) => run.name.clone(),
    };
    let mut own = name.as_str();
    if let Some((arm, rest, seed)) = lineage::of_name(&name).filter(|_| !run.name.is_empty()) {
        if !is_grouped {
            group = format!("{group}-{}", files::plain(arm));
            own = rest;
        }
        if run.seed.is_none() {
            (run.seed, run.seed_from_path) = (Some(seed.to_owned()), true);
        }
    }
    run.name = files::bundle_name(&group, own, taken);
    run.format = found.format;
    if run.seed.is_none() && found.seed.is_some() {
        (run.seed, run.seed_from_path) = (found.seed.clone(), true);
    }
    (group, run)
}

/// Reads all logs in parallel; results are in the order of the logs.
fn parse_all(
    logs: &[files::FoundLog],
    options: &ImportOptions,
) -> Vec<Result<Vec<LoggedRun>, Error>> {
    parallel::map(logs, options.threads, |found| parse(found, options))
}

fn parse(found: &files::FoundLog, options: &ImportOptions) -> Result<Vec<LoggedRun>, Error> {
    let (path, shown, every) = (found.path.as_path(), found.shown.as_str(), options.every);
    let log = || Log::open(path, shown, options.hashed);
    let run = match found.format {
        LogFormat::Speedrun => speedrun::parse(log()?),
        LogFormat::Mlperf => mlperf::parse(log()?),
        LogFormat::Jsonl => jsonl::parse(log()?, &options.mapping),
        LogFormat::Csv => csv::parse(log()?, &options.mapping),
        LogFormat::HfTrainer => hf_trainer::parse(log()?),
        LogFormat::TensorBoard => {
            let one = [path.to_owned()];
            let files = if found.files.is_empty() { &one[..] } else { &found.files };
            tracker::tensorboard::parse(files, shown, options.hashed, every)
        }
        LogFormat::Wandb => tracker::wandb::parse(path, shown, options.hashed, every),
        LogFormat::Mlflow if path.is_dir() => tracker::mlflow::parse_folder(path, shown, every),
        LogFormat::Mlflow => {
            return tracker::mlflow::parse_database(path, shown, options.hashed, every);
        }
        LogFormat::DvcLive => tracker::dvclive::parse(path, shown, every),
        LogFormat::Megatron => tracker::results::parse_golden(path, every),
        LogFormat::Nanochat => tracker::nanochat::parse(path),
        LogFormat::StepLoss => tracker::results::parse_step_loss(path, every),
        LogFormat::Marin => return tracker::results::parse_marin(path),
    };
    run.map(|run| vec![run])
}

/// The number of skipped files, and the reasons for the first ones.
pub fn passed_over(skipped: &[Error]) -> String {
    let told = skipped.iter().take(PASSED_OVER).map(|one| format!("{}: {}", one.place, one.found));
    let told = told.collect::<Vec<_>>().join("; ");
    match (skipped.len(), skipped.len().saturating_sub(PASSED_OVER)) {
        (0, _) => "none".to_owned(),
        (count, 0) => format!("none, and {} that cannot be used: {told}", counted(count, "file")),
        (count, more) => {
            format!(
                "none, and {} that cannot be used: {told}; and {more} more",
                counted(count, "file")
            )
        }
    }
}

/// The maximum number of skipped files listed.
const PASSED_OVER: usize = 3;

/// `1 run`, `2 runs`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
