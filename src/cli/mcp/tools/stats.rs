//! `stats`.

use clap::{Args, Command, FromArgMatches};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::super::super::args::StatsArgs;
use super::super::super::stats::AnsweredStats;
use super::scene::{WIDTH, arguments, odd};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::source::Error;

pub const TOOL: ModelTool = ModelTool {
    name: "stats",
    title: "Test whether a difference is more than noise",
    description: "Use this instead of computing a test, an interval or a p-value yourself. One list `a` (runs or seeds of one setup), or \
two lists `a` and `b` to compare: Welch's and pooled t, paired t for paired data, sign flips, bootstrap, the smallest detectable \
gap. Or printed summaries (`summary_a`, `summary_b`: mean, standard deviation with divisor n - 1, n), success counts of \
evaluations (`counts`), discordant pairs (`paired_counts`, McNemar), p-values of one family (`p_values`, Holm), \
counts of categories such as the tokens of each expert (`categories`, chi-squared). Differences are a - b. \
An inconclusive result has `evidence: false` and a reason; one that cannot be computed is `refused` with a reason.",
    scope: "A test separates an effect from chance for the given numbers; it does not show that they were measured, that no runs were left \
out, or that the test was chosen before anyone saw the numbers.",
    input,
    output,
    answer,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StatsCall {
    a: Option<Vec<f64>>,
    b: Option<Vec<f64>>,
    summary_a: Option<PrintedSummary>,
    summary_b: Option<PrintedSummary>,
    target: Option<f64>,
    margin: Option<[f64; 2]>,
    counts: Option<Vec<PrintedCounts>>,
    paired_counts: Option<[u64; 2]>,
    p_values: Option<Vec<f64>>,
    categories: Option<Vec<f64>>,
    expected: Option<Vec<f64>>,
    level: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedSummary {
    mean: f64,
    sd: f64,
    n: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedCounts {
    successes: u64,
    trials: u64,
}

fn input() -> Json {
    let numbers = |what| schema::list(json!({"type": "number"}), what);
    let summary = |what: &str| {
        json!({
            "type": "object",
            "description": what,
            "properties": {"mean": {"type": "number"}, "sd": {"type": "number", "minimum": 0}, "n": {"type": "integer", "minimum": 2}},
            "required": ["mean", "sd", "n"],
            "additionalProperties": false,
        })
    };
    let counts = json!({
        "type": "object",
        "properties": {"successes": {"type": "integer", "minimum": 0}, "trials": {"type": "integer", "minimum": 1}},
        "required": ["successes", "trials"],
        "additionalProperties": false,
    });
    let pair = |items: Json, what: &str| json!({"type": "array", "items": items, "minItems": 2, "maxItems": 2, "description": what});
    schema::arguments(json!({
        "a": numbers("the first list, one number per run"),
        "b": numbers("the second list; pairs are the numbers at the same position"),
        "summary_a": summary("instead of `a`: mean, standard deviation (divisor n - 1) and number of runs, as printed"),
        "summary_b": summary("instead of `b`"),
        "target": {"type": "number", "description": "the value to test the mean of `a` against; default 0"},
        "margin": pair(json!({"type": "number"}), "low and high end: test whether the mean or difference is between them (TOST)"),
        "counts": schema::list(counts, "successes and trials of one proportion, or of two to compare"),
        "paired_counts": pair(json!({"type": "integer", "minimum": 0}), "counts of pairs where only the first succeeded, and only the second"),
        "p_values": numbers("p-values of one family"),
        "categories": numbers("counts of categories, tested against `expected`"),
        "expected": numbers("expected weights of the categories, in any unit; default: equal"),
        "level": {"type": "number", "default": 0.95, "exclusiveMinimum": 0, "exclusiveMaximum": 1, "description": "the level of intervals"},
    }))
}

fn output() -> Json {
    schema::answer_with(schema::STATS, "empty, unless the report is too long")
}

fn answer(_: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let own = of(arguments(call)?)?;
    let answered = AnsweredStats::of(&own).map_err(|error| vec![error])?;
    let answer = ToolAnswer::new(None, TOOL.scope, answered.text(WIDTH));
    Ok(answer.with_report(answered.json(), Map::new()))
}

/// The call as the arguments of the command, which knows their defaults and what does not go together.
fn of(call: StatsCall) -> Result<StatsArgs, Vec<Error>> {
    let list = |numbers: Vec<f64>| joined(numbers.iter().map(f64::to_string));
    let summary = |PrintedSummary { mean, sd, n }: PrintedSummary| format!("{mean},{sd},{n}");
    let counts = |counts: Vec<PrintedCounts>| {
        let told = |one: &PrintedCounts| format!("{}/{}", one.successes, one.trials);
        joined(counts.iter().map(told))
    };
    let options = [
        ("a", call.a.map(list)),
        ("b", call.b.map(list)),
        ("summary-a", call.summary_a.map(summary)),
        ("summary-b", call.summary_b.map(summary)),
        ("target", call.target.map(|target| target.to_string())),
        ("margin", call.margin.map(|[low, high]| format!("{low}..{high}"))),
        ("counts", call.counts.map(counts)),
        ("paired-counts", call.paired_counts.map(|[first, second]| format!("{first},{second}"))),
        ("p-values", call.p_values.map(list)),
        ("categories", call.categories.map(list)),
        ("expected", call.expected.map(list)),
        ("level", call.level.map(|level| level.to_string())),
    ];
    let given =
        options.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
    let command = StatsArgs::augment_args(Command::new("stats").no_binary_name(true));
    let read = command.try_get_matches_from(given);
    read.and_then(|matches| StatsArgs::from_arg_matches(&matches)).map_err(|error| {
        let told = error.to_string();
        let told = told.lines().next().unwrap_or_default().trim_start_matches("error: ");
        odd("arguments that fit together", told)
    })
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
