//! A gate: are the runs of a candidate better than those of a baseline, or than a fixed bar? The answer is better, worse, or
//! within noise, with the rule line by line.
//!
//! Owns the rule, finding and reading the runs of a side, which of them are runs of their own, and the decision. Reading logs
//! is left to `import`, bundles to `bundle`, tests to `stats`, printing to `cli`.

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
    BAD_RULE = "gate::bad-rule", "a rule says what does not go together", "see `repro explain gate` for the keys of a rule";
    TWO_STANDARDS = "gate::two-standards", "both a bar and a baseline are given", "leave out `--baseline`, or `bar` in the rule";
    NO_STANDARD = "gate::no-standard", "there is nothing to compare with", "name runs with `--baseline`, or a `bar` in the rule";
    NO_RUNS = "gate::no-runs", "a side has no runs", "name bundles, logs, or folders of them";
    NOT_A_RUN = "gate::not-a-run", "the bundle holds no run", "name bundles that a trainer or `repro import` has written";
    WHICH_METRIC = "gate::which-metric", "the runs have several metrics, and none is named", "name one with `--metric`, or with `metric` in the rule";
    WHICH_DIRECTION = "gate::which-direction", "nothing says whether less of the metric is better", "write `lower_is_better = true` or `false` into a rule, for `--rule`";
    OTHER_METRIC = "gate::other-metric", "the rule is about another metric", "leave out `--metric`, or use another rule";
    FEW_RUNS = "gate::few-runs", "there are too few runs, so the noise between them is not known", "train more runs with other seeds; copies do not count";
    UNREAD = "gate::unread", "a folder holds what looks like a run and cannot be read", "a run that broke off is a result: give its log whole, or name the runs one by one";
    COPY = "gate::copy", "a run is a copy of another, so it counts once", "leave the copy out";
    NEAR = "gate::near-copy", "a run is nearer to another than runs of two seeds are", "give runs with seeds of their own; where seeds change nothing, they measure no noise";
    TWO_VALUES = "gate::two-values", "two logs of one run end in different values", "find out which of them is right, and leave the other out";
    SAME_START = "gate::same-start", "a run shares most of its values with another, so it is no run of its own", "give runs that begin with seeds of their own";
    SAME_SEED = "gate::same-seed", "a run has the seed and the settings of another, so it is no run of its own", "give runs with other seeds";
    ON_BOTH_SIDES = "gate::on-both-sides", "a run stands on both sides", "give each side runs of its own";
    NO_METRIC = "gate::no-metric", "a run has no such value", "name another metric, or another step in the rule; a run that broke off is not left out";
    DIVERGED = "gate::diverged", "a run does not end in a finite number", "say so: a run that diverged is neither better nor left out";
    UNLIKE = "gate::unlike-metrics", "the runs have the metric among different numbers", "compare evaluations with evaluations: name the metric as each log calls it";
    OTHER_STEPS = "gate::other-steps", "the runs are read at different steps", "write `step = N` into the rule for a step that all have, or `step = \"last\"` where other lengths are what is compared";
    OTHER_AXIS = "gate::other-axis", "some runs count steps, and others epochs", "give logs that count alike: where a log has both columns, `repro import --map step=NAME` makes a bundle by the other one; or write `step = \"last\"` into the rule where other lengths are what is compared";
    OTHER_TOKENS = "gate::other-tokens", "the runs have seen different amounts of data", "compare runs after equal data, or write `step = \"last\"` into the rule where other lengths are what is compared";
    OTHER_TEXT = "gate::other-text", "the runs were evaluated on different text", "evaluate all runs on one validation text";
    NO_PAIRS = "gate::no-pairs", "the runs form no pairs by their seeds", "give both sides runs of the same seeds, or test with `welch`";
    NO_SPREAD = "gate::no-spread", "equal values do not measure the noise", "give runs with other seeds; runs that repeat one another bit for bit are one run";
    NO_TEST = "gate::no-test", "the test cannot be computed from these values", "see what is told with it";
    NOT_SHOWN = "gate::not-shown", "the difference is within the noise of the runs", "train more runs, or keep the baseline";
    WORSE = "gate::worse", "the candidate is worse", "keep the baseline";
    TORN = "gate::torn", "the last number of a log may be cut", "give the whole log; where the number is whole, end its line with a line feed";
    GOES_ON = "gate::goes-on", "a run goes on after its last value of the metric", "a run that diverged is a result: say so; where it was only not evaluated again, write `step = N` into the rule";
    OTHER_SCALE = "gate::other-scale", "some runs have shares and others percentages", "write the values of all runs as shares of one, or those of all as percentages";
    CONTRADICTED = "gate::contradicted", "a document contradicts the number that is read from it", "see what `repro check FILE` says of the document, and give the one that the run has written";
    UNFINISHED = "gate::unfinished", "a run did not come to its planned end, or its log did not", "give the finished run, or say in the rule where runs are read: `step = N`, `step = \"last\"`";
}

/// What bundles state of the text that a run is evaluated on, by the words of messages.
const TEXT: &str = "validation text";
const BYTES: &str = "validation bytes";
const TOKENIZER: &str = "tokenizer";
const PREDICTED: &str = "predicted tokens";

/// What in a document contradicts a number that it prints: the file, and the number.
pub type DocumentCheck = fn(&str, &str) -> Option<Error>;

/// What a gate is asked.
#[derive(Debug, Default)]
pub struct GateOptions {
    /// The runs to beat; none where the rule has a bar.
    pub baseline: Vec<PathBuf>,
    /// The runs that may be better.
    pub candidate: Vec<PathBuf>,
    /// The rule.
    pub rule: GateRule,
    /// The metric, where the rule names none.
    pub metric: Option<String>,
    /// The project whose bundles may be named without their folder.
    pub root: Option<PathBuf>,
    /// How many files are read at a time; the answer does not depend on it.
    pub threads: usize,
    /// Who holds documents of results against themselves.
    pub contradiction: Option<DocumentCheck>,
}

/// Reads the runs of both sides and decides.
pub fn gate(options: &GateOptions) -> Result<GateReport, Vec<Error>> {
    let inputs = inputs::read(options)?;
    Ok(decide(&options.rule, inputs))
}

/// What a gate asks and how a rule is written, for people.
pub const EXPLAINED: &str = include_str!("explained.txt");
