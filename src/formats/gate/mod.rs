//! Decides whether candidate runs are better than baseline runs, or than a fixed threshold: better, worse, or within
//! noise, with the rule line by line.
//!
//! Owns the rule, finding and reading the runs of an arm, their independence, and the decision. `import` reads logs,
//! `bundle` reads bundles, `stats` runs tests, and `cli` prints.

mod bundle;
mod course;
mod decision;
mod direction;
mod drawn;
mod independent;
mod inputs;
mod later;
mod line;
mod looks;
mod metric;
mod outcome;
mod rule;
mod runs;
mod tested;

use std::path::PathBuf;

use repro_core::source::{Error, codes};

pub use course::{CourseKind, MetricCourse};
pub use decision::{GateDecision, GateReport, decide};
pub use drawn::{badge, json, text};
pub use inputs::{GateInputs, GateSide, RunValue, StepAxis};
pub use line::{LineState, RuleLine};
pub use metric::GateMetric;
pub use rule::{GateRule, GateTest, ReadAt};
pub use tested::TestedGap;

codes! {
    BAD_RULE = "gate::bad-rule", "the rule's keys are incompatible", "fix the rule; `repro explain gate` lists its keys";
    TWO_STANDARDS = "gate::two-references", "both a baseline and a threshold are given", "drop `--baseline`, or remove `bar` from the rule";
    NO_STANDARD = "gate::no-reference", "there is no baseline and no threshold", "pass `--baseline RUNS`, or set `bar` in the rule";
    NO_RUNS = "gate::no-runs", "one arm has no runs", "pass bundles, logs, or folders of them";
    NOT_A_RUN = "gate::not-a-run", "the bundle does not contain a run", "pass bundles written by a trainer or by `repro import`";
    WHICH_METRIC = "gate::ambiguous-metric", "the runs have several metrics and none was chosen", "choose one with `--metric`, or set `metric` in the rule";
    WHICH_DIRECTION = "gate::unknown-direction", "it is unknown whether lower values of the metric are better", "set `lower_is_better = true` or `false` in a rule, and pass it with `--rule`";
    OTHER_METRIC = "gate::conflicting-metric", "`--metric` differs from the rule's metric", "drop `--metric`, or use a different rule";
    FEW_RUNS = "gate::few-runs", "there are too few runs to estimate the noise between them", "train more runs with other seeds; copies do not count";
    UNREAD = "gate::unreadable-run", "something in a folder looks like a run but cannot be read", "pass the complete log (a crashed run counts as a result), or list the runs one by one";
    COPY = "gate::duplicate-run", "a run is a copy of another run and counts once", "leave the copy out";
    NEAR = "gate::near-copy", "a run is closer to another run than two seeds would be", "pass runs with different seeds; runs that do not depend on their seed cannot measure noise";
    TWO_VALUES = "gate::conflicting-logs", "two logs of the same run end with different values", "find the correct log and leave the other one out";
    SAME_START = "gate::same-start", "a run shares most of its values with another run, so the two are not independent", "pass runs that start from different seeds";
    SAME_SEED = "gate::same-seed", "a run has the same seed and settings as another run, so the two are not independent", "pass runs with different seeds";
    ON_BOTH_SIDES = "gate::run-in-both-arms", "a run is in both arms", "give each arm its own runs";
    NO_METRIC = "gate::missing-metric", "a run has no value for the metric", "choose a different metric, or a different step in the rule; a run that stopped early is never left out";
    DIVERGED = "gate::diverged", "a run does not end with a finite value", "report the run as diverged: it cannot win, and it cannot be left out";
    UNLIKE = "gate::mixed-metrics", "the metric comes from different kinds of data in different runs", "compare evaluations with evaluations: set `metric` to the name that each log uses";
    OTHER_STEPS = "gate::different-steps", "the runs are compared at different steps", "set `step = N` in the rule to a step that all runs have, or `step = \"last\"` if you want to compare runs of different lengths";
    OTHER_AXIS = "gate::different-counters", "some runs count steps and others count epochs", "pass logs with the same counter: if a log has both columns, `repro import --map step=NAME` makes a bundle with the other one; or set `step = \"last\"` in the rule if you want to compare runs of different lengths";
    OTHER_TOKENS = "gate::different-tokens", "the runs were trained on different amounts of data", "compare runs after the same amount of data, or set `step = \"last\"` in the rule if you want to compare runs of different lengths";
    OTHER_TEXT = "gate::different-validation-text", "the runs were evaluated on different text", "evaluate all runs on the same validation text";
    NO_PAIRS = "gate::unpaired-seeds", "the runs cannot be paired by seed", "pass runs with the same seeds in both arms, or use `test = \"welch\"`";
    NO_SPREAD = "gate::zero-variance", "the runs have identical values, so the noise between them is unknown", "pass runs with different seeds; runs that agree bit for bit count as one";
    NO_TEST = "gate::undefined-test", "the test cannot be computed from these values", "read the reason in the report, then add runs or choose a different test";
    NOT_SHOWN = "gate::within-noise", "the difference is within the noise between runs", "train more runs, or keep the baseline";
    WORSE = "gate::worse-candidate", "the candidate is worse than the baseline", "keep the baseline";
    TORN = "gate::truncated-value", "the last number in a log may be truncated", "pass the complete log; if the number is complete, end its line with a line feed";
    GOES_ON = "gate::late-steps-without-metric", "a run continues after its last value of the metric", "if the run diverged, report it; if it was only not evaluated again, set `step = N` in the rule";
    OTHER_SCALE = "gate::mixed-scales", "some runs report fractions and others percentages", "convert all values to fractions, or all to percentages";
    CONTRADICTED = "gate::contradicted", "a document contradicts the value that was read from it", "run `repro check FILE`, then pass the document that the run wrote";
    UNFINISHED = "gate::unfinished", "a run or its log ends before the planned end", "pass the finished run, or set `step = N` or `step = \"last\"` in the rule";
}

/// Facts about the validation text that bundles state, as they appear in messages.
const TEXT: &str = "validation text";
const BYTES: &str = "validation bytes";
const TOKENIZER: &str = "tokenizer";
const PREDICTED: &str = "predicted tokens";

/// Finds a contradiction of a number in a document. Arguments: the file and the number.
pub type DocumentCheck = fn(&str, &str) -> Option<Error>;

/// The inputs of a gate.
#[derive(Debug, Default)]
pub struct GateOptions {
    /// The runs to beat; none if the rule has a threshold.
    pub baseline: Vec<PathBuf>,
    /// The candidate runs.
    pub candidate: Vec<PathBuf>,
    /// The rule.
    pub rule: GateRule,
    /// The metric, if the rule sets none.
    pub metric: Option<String>,
    /// The project whose bundles can be passed by name.
    pub root: Option<PathBuf>,
    /// The number of files to read in parallel; the answer does not depend on it.
    pub threads: usize,
    /// The check for contradictions in result documents.
    pub contradiction: Option<DocumentCheck>,
}

/// Reads the runs of both arms and decides.
pub fn gate(options: &GateOptions) -> Result<GateReport, Vec<Error>> {
    let inputs = inputs::read(options)?;
    Ok(decide(&options.rule, inputs))
}

/// The help text about gates and rules.
pub const EXPLAINED: &str = include_str!("explained.txt");
