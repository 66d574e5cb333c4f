//! Formats the answer as text, with the rule line by line, and as JSON (`repro.gate/1`).

use crate::import::counted;
use anstyle::{Effects, Style};
use repro_core::decimal::format_float;
use repro_core::source::{Error, Location};
use repro_report::outcome::{EvidenceOrigin, Verdict};
use repro_report::{
    Badge, BadgeColour, Columns, Page, ReportOptions, common_folder, mark, scope, visible,
};
use repro_stats::Summary;
use serde::Serialize;
use serde_json::Value as Json;

use crate::gate::decision::{GateDecision, GateReport};
use crate::gate::inputs::{GateSide, RunValue};
use crate::gate::line::{LineState, RuleLine, some};
use crate::gate::rule::{GateTest, ReadAt};
use crate::gate::tested::TestedGap;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// Significant digits in text.
const DIGITS: usize = 6;
/// Significant digits in JSON.
const PROGRAM_DIGITS: usize = 10;
/// The maximum number of runs per arm that are listed without `--verbose`.
const LISTED: usize = 16;

fn short(value: f64) -> String {
    format_float(value, DIGITS)
}

/// The report as text.
pub fn text(report: &GateReport, options: &ReportOptions) -> String {
    let mut page = Page::new(options.width, options.colour);
    let (sign, style) = mark(verdict(report.decision));
    page.paragraph(0, 2, style, &format!("{sign} {}", visible(&headline(report))));
    if !options.quiet {
        sides(&mut page, report, options);
    }
    page.blank();
    rule(&mut page, report, options);
    if !options.quiet {
        notes(&mut page, report, options);
    }
    page.blank();
    scope(&mut page);
    page.finish()
}

/// The answer in one line.
pub fn badge(report: &GateReport) -> Badge {
    let colour = match report.decision {
        GateDecision::Better => BadgeColour::Green,
        GateDecision::Worse => BadgeColour::Red,
        GateDecision::WithinNoise => BadgeColour::Orange,
    };
    // Values in logs and bundles are declared by whoever made them.
    let message = format!("{}, {}", report.decision.words(), EvidenceOrigin::Declared.word());
    Badge { label: "repro gate", message, colour }
}

fn verdict(decision: GateDecision) -> Verdict {
    match decision {
        GateDecision::Better => Verdict::Verified,
        GateDecision::Worse => Verdict::Refuted,
        GateDecision::WithinNoise => Verdict::Inconclusive,
    }
}

/// The answer and the numbers behind it, in one sentence.
fn headline(report: &GateReport) -> String {
    let word = report.decision.words();
    let behind = match report.gap_in_words() {
        Some(words) => words,
        None => match first_open(report) {
            Some(line) if report.rule.test == GateTest::None => line.found.clone(),
            Some(line) => format!("no test was run: {} [{}]", line.found, code(line)),
            None => report.lines.last().map(|line| line.found.clone()).unwrap_or_default(),
        },
    };
    format!("{word}: {behind}")
}

/// The first line that is not met.
fn first_open(report: &GateReport) -> Option<&RuleLine> {
    report.lines.iter().find(|line| line.state != LineState::Met)
}

fn code(line: &RuleLine) -> &'static str {
    line.code.map_or("", |code| code.id)
}

/// A summary of each arm: number, mean, standard deviation, and the runs.
fn sides(page: &mut Page, report: &GateReport, options: &ReportOptions) {
    let metric = &report.inputs.metric;
    let better = if metric.lower_is_better { "lower" } else { "higher" };
    let headings = ["n", "mean", "sd"].map(str::to_owned).to_vec();
    let mut table = Columns::new(headings);
    if let Some(baseline) = &report.inputs.baseline {
        table.row("baseline", figures(baseline));
    } else {
        table.row("bar", vec![String::new(), report.rule.bar_text.clone(), String::new()]);
    }
    table.row("candidate", figures(&report.inputs.candidate));
    page.blank();
    let title = format!("{}, {better} is better", visible(&metric.name));
    page.block(0, &table.render(&title, page.width(), false));
    let sides = report.inputs.baseline.iter().map(|side| ("baseline", side));
    for (word, side) in sides.chain([("candidate", &report.inputs.candidate)]) {
        page.blank();
        runs(page, word, side, options);
    }
}

/// Number, mean and standard deviation of the counted runs in an arm.
fn figures(side: &GateSide) -> Vec<String> {
    let values = side.values();
    let n = side.counted().count().to_string();
    let mean = repro_stats::mean(&values).map_or_else(|_| "—".to_owned(), short);
    let sd = Summary::of(&values).map_or_else(|_| "—".to_owned(), |all| short(all.sd));
    vec![n, mean, sd]
}

/// The runs of an arm; excluded runs include the reason.
fn runs(page: &mut Page, word: &str, side: &GateSide, options: &ReportOptions) {
    let folder = common_folder(side.runs.iter().map(|run| run.file.as_str()));
    let columns: Vec<_> = COLUMNS
        .iter()
        .filter(|(_, cell)| side.runs.iter().any(|run| cell(run).is_some()))
        .collect();
    let headings = columns.iter().map(|(heading, _)| (*heading).to_owned()).collect();
    let mut table = Columns::new(headings);
    let is_whole = options.verbose || side.runs.len() <= LISTED;
    let (mut listed, mut left) = (0, Vec::new());
    for run in &side.runs {
        let mark = if run.left_out.is_some() { "~ " } else { "" };
        if is_whole || run.left_out.is_some() || run.finite().is_none() {
            let cells = columns.iter().map(|(_, cell)| cell(run).unwrap_or_default());
            let shown = run.shown();
            let own = shown.strip_prefix(folder).unwrap_or(&shown);
            table.row(&format!("{mark}{own}"), cells.collect());
            listed += 1;
        }
        left.extend(run.left_out.as_ref());
    }
    let lies = if folder.is_empty() { String::new() } else { format!(" in {}", visible(folder)) };
    let not_counted = match left.len() {
        0 => String::new(),
        count => format!(", {count} not counted (~)"),
    };
    let title = format!("{word}: {}{lies}{not_counted}", counted(side.runs.len(), "run"));
    page.paragraph(0, 2, PLAIN, &title);
    page.block(0, &table.render("", page.width(), false));
    if listed < side.runs.len() {
        let hidden = counted(side.runs.len() - listed, "run");
        page.paragraph(2, 4, FAINT, &format!("{hidden} counted runs; use --verbose to list them"));
    }
    for error in left {
        let told = format!("~ {}: {} [{}]", error.place, error.found, error.code.id);
        page.paragraph(2, 4, PLAIN, &visible(&told.replace(folder, "")));
    }
}

/// The cell of a run, if it has one.
type Cell = fn(&RunValue) -> Option<String>;

/// Columns beside a run's name, for runs that have a value.
const COLUMNS: [(&str, Cell); 5] = [
    ("value", |run| Some(run.value.as_ref().map_or("—", |value| value.text()).to_owned())),
    ("step", |run| Some(run.step?.to_string())),
    ("tokens", |run| Some(run.tokens?.to_string())),
    ("seed", |run| run.seed.clone()),
    ("bundle", |run| {
        let digest = run.digest.as_ref().filter(|_| run.is_bundle)?;
        Some(digest.chars().take(SHORT_DIGEST).collect())
    }),
];
/// The number of digest characters that distinguish bundles.
const SHORT_DIGEST: usize = 15;

/// The rule line by line.
fn rule(page: &mut Page, report: &GateReport, options: &ReportOptions) {
    let rule = &report.rule;
    let file = rule.file.as_deref().map_or("rule: defaults", |file| file);
    let about = rule.about.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
    page.paragraph(0, 2, BOLD, &visible(&format!("{file}{about}")));
    for line in &report.lines {
        if options.quiet && line.state == LineState::Met {
            continue;
        }
        let (sign, style) = mark(match line.state {
            LineState::Met => Verdict::Verified,
            LineState::Open => Verdict::Inconclusive,
            LineState::Against => Verdict::Refuted,
        });
        page.paragraph(2, 4, style, &format!("{sign} {}", visible(&line.asks)));
        let code = line.code.map(|code| format!(" [{}]", code.id)).unwrap_or_default();
        page.paragraph(4, 6, PLAIN, &visible(&format!("{}{code}", line.found)));
    }
    if report.gap.is_none() && rule.test != GateTest::None {
        page.paragraph(2, 4, FAINT, "no test was run: the lines above must be met first");
    }
}

/// Notes for the reader.
fn notes(page: &mut Page, report: &GateReport, options: &ReportOptions) {
    let mut told: Vec<String> = report.runs().flat_map(RunValue::notes).map(noted).collect();
    told.extend(why_unpaired(report));
    let skipped = &report.inputs.skipped;
    if !skipped.is_empty() {
        let names = match options.verbose {
            true => skipped.join(", "),
            false => some(skipped.iter().cloned(), skipped.len()),
        };
        told.push(format!("ignored files: {names}"));
    }
    if !told.is_empty() {
        page.blank();
    }
    for one in told {
        page.paragraph(0, 2, PLAIN, &visible(&format!("note: {one}")));
    }
}

fn noted(error: &Error) -> String {
    format!(
        "{}: {}: expected {}, found {} [{}]",
        error.place, error.code.meaning, error.expected, error.found, error.code.id
    )
}

/// Explains why runs with equal seeds are not paired: the test must be fixed before the runs.
fn why_unpaired(report: &GateReport) -> Option<String> {
    let seeds = |side: &GateSide| -> Option<Vec<String>> {
        let mut seeds: Vec<_> =
            side.counted().map(|run| run.seed.clone()).collect::<Option<_>>()?;
        seeds.sort();
        Some(seeds)
    };
    let baseline = seeds(report.inputs.baseline.as_ref()?)?;
    let same = baseline.len() > 1 && seeds(&report.inputs.candidate)? == baseline;
    (same && report.rule.test == GateTest::Welch).then(|| {
        "both arms have the same seeds. A rule with `test = \"paired\"` compares them pair by pair; write it before the runs, \
         and only if a seed fixes the same data and the same start in both arms"
            .to_owned()
    })
}

#[derive(Serialize)]
struct GateJson<'r> {
    schema: &'static str,
    decision: &'static str,
    metric: &'r str,
    metric_named_by: &'static str,
    lower_is_better: bool,
    rule: RuleJson<'r>,
    baseline: Option<SideJson<'r>>,
    candidate: SideJson<'r>,
    test: Option<TestJson>,
    lines: Vec<LineJson<'r>>,
    notes: Vec<NoteJson<'r>>,
    skipped: &'r [String],
    exit_code: u8,
}

#[derive(Serialize)]
struct RuleJson<'r> {
    file: Option<&'r str>,
    about: Option<&'r str>,
    test: &'static str,
    one_sided: bool,
    p_below: Option<Json>,
    tries: u64,
    level: Option<Json>,
    at_least: usize,
    bar: Option<Json>,
    step: Json,
}

#[derive(Serialize)]
struct SideJson<'r> {
    n: usize,
    mean: Option<Json>,
    sd: Option<Json>,
    runs: Vec<RunJson<'r>>,
}

#[derive(Serialize)]
struct RunJson<'r> {
    file: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'r str>,
    bundle: bool,
    digest: Option<&'r str>,
    seed: Option<&'r str>,
    metric: &'r str,
    printed: Option<&'r str>,
    value: Option<Json>,
    step: Option<u64>,
    tokens: Option<u64>,
    counts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<NoteJson<'r>>,
}

#[derive(Serialize)]
struct TestJson {
    name: &'static str,
    n: Vec<usize>,
    estimate: Json,
    interval: [Json; 2],
    interval_level: Json,
    t: Json,
    df: Json,
    p: Json,
    p_two_sided: Json,
    p_less: Json,
    p_greater: Json,
}

#[derive(Serialize)]
struct LineJson<'r> {
    asks: &'r str,
    found: &'r str,
    state: &'static str,
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct NoteJson<'r> {
    code: &'static str,
    place: &'r Location,
    expected: &'r str,
    found: &'r str,
    help: &'r str,
}

/// The report as JSON, ending in a line feed.
pub fn json(report: &GateReport) -> String {
    let GateReport { rule, inputs, .. } = report;
    let is_tested = rule.test != GateTest::None;
    let json = GateJson {
        schema: "repro.gate/1",
        decision: match report.decision {
            GateDecision::Better => "better",
            GateDecision::Worse => "worse",
            GateDecision::WithinNoise => "within_noise",
        },
        metric: &inputs.metric.name,
        metric_named_by: inputs.metric.named_by,
        lower_is_better: inputs.metric.lower_is_better,
        rule: RuleJson {
            file: rule.file.as_deref(),
            about: rule.about.as_deref(),
            test: rule.test.word(),
            one_sided: rule.one_sided,
            p_below: is_tested.then(|| number(rule.p_below)),
            tries: rule.tries,
            level: is_tested.then(|| number(rule.level())),
            at_least: rule.at_least,
            bar: rule.bar.map(number),
            step: match rule.step {
                ReadAt::Common => "common".into(),
                ReadAt::Last => "last".into(),
                ReadAt::Step(step) => step.into(),
            },
        },
        baseline: inputs.baseline.as_ref().map(side_json),
        candidate: side_json(&inputs.candidate),
        test: report.gap.as_ref().map(test_json),
        lines: report.lines.iter().map(line_json).collect(),
        notes: report.runs().flat_map(RunValue::notes).map(note_json).collect(),
        skipped: &inputs.skipped,
        exit_code: report.decision.status().code(),
    };
    // Plain data with string keys always serializes to JSON.
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    repro_report::escaped_json(text) + "\n"
}

/// A number with ten significant digits.
fn number(value: f64) -> Json {
    format_float(value, PROGRAM_DIGITS).parse::<f64>().map_or(Json::Null, Json::from)
}

fn side_json(side: &GateSide) -> SideJson<'_> {
    let values = side.values();
    SideJson {
        n: side.counted().count(),
        mean: repro_stats::mean(&values).ok().map(number),
        sd: Summary::of(&values).ok().map(|all| number(all.sd)),
        runs: side.runs.iter().map(run_json).collect(),
    }
}

fn run_json(run: &RunValue) -> RunJson<'_> {
    RunJson {
        file: &run.file,
        name: run.name.as_deref(),
        bundle: run.is_bundle,
        digest: run.digest.as_deref(),
        seed: run.seed.as_deref(),
        metric: &run.metric,
        printed: run.value.as_ref().map(|value| value.text()),
        value: run.finite().map(number),
        step: run.step,
        tokens: run.tokens,
        counts: run.left_out.is_none(),
        left_out: run.left_out.as_ref().map(note_json),
    }
}

fn test_json(gap: &TestedGap) -> TestJson {
    TestJson {
        name: gap.test.word(),
        n: gap.n.clone(),
        estimate: number(gap.estimate),
        interval: gap.interval.map(number),
        interval_level: number(gap.interval_level),
        t: number(gap.t.t),
        df: number(gap.t.df),
        p: number(gap.p),
        p_two_sided: number(gap.t.p_two_sided()),
        p_less: number(gap.t.p_less()),
        p_greater: number(gap.t.p_greater()),
    }
}

fn line_json(line: &RuleLine) -> LineJson<'_> {
    let state = match line.state {
        LineState::Met => "met",
        LineState::Open => "open",
        LineState::Against => "against",
    };
    LineJson { asks: &line.asks, found: &line.found, state, code: line.code.map(|code| code.id) }
}

fn note_json(error: &Error) -> NoteJson<'_> {
    NoteJson {
        code: error.code.id,
        place: &error.place,
        expected: &error.expected,
        found: &error.found,
        help: &error.help,
    }
}
