//! Decides by the rule, line by line. Data in, data out.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::counted;
use repro_core::decimal::format_float;
use repro_core::source::Error;
use repro_report::outcome::ExitStatus;

use crate::gate::course::words;
use crate::gate::direction::is_share;
use crate::gate::inputs::{GateInputs, GateSide, RunValue, StepAxis};
use crate::gate::line::{LineState, RuleLine, some};
use crate::gate::rule::{GateRule, ReadAt};
use crate::gate::tested::{TestedGap, tested};
use crate::gate::{
    CONTRADICTED, DIVERGED, FEW_RUNS, NO_METRIC, ON_BOTH_SIDES, OTHER_AXIS, OTHER_SCALE,
    OTHER_STEPS, OTHER_TEXT, OTHER_TOKENS, TORN, TWO_VALUES, UNFINISHED, UNLIKE, UNREAD,
};

/// Significant digits in the text report.
const DIGITS: usize = 6;

/// The answer of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateDecision {
    /// The rule is met.
    Better,
    /// The test shows the opposite.
    Worse,
    /// Neither is shown, or the runs cannot be compared.
    WithinNoise,
}

impl GateDecision {
    /// The words in the text report.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::WithinNoise => "within noise",
        }
    }

    /// The exit status.
    pub fn status(self) -> ExitStatus {
        match self {
            Self::Better => ExitStatus::Verified,
            Self::Worse => ExitStatus::Refuted,
            Self::WithinNoise => ExitStatus::Undecided,
        }
    }
}

/// The answer with everything behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateReport {
    /// The rule.
    pub rule: GateRule,
    /// The inputs.
    pub inputs: GateInputs,
    /// The lines of the rule.
    pub lines: Vec<RuleLine>,
    /// The test, if one was run.
    pub gap: Option<TestedGap>,
    /// The answer.
    pub decision: GateDecision,
}

impl GateReport {
    /// The gap with its interval, if a test was run.
    pub fn gap_in_words(&self) -> Option<String> {
        let TestedGap { estimate, interval: [low, high], interval_level, .. } =
            self.gap.as_ref()?;
        let short = |value: f64| format_float(value, DIGITS);
        let standard = match self.rule.bar {
            Some(_) => format!("the threshold {}", self.rule.bar_text),
            None => "the baseline".to_owned(),
        };
        Some(format!(
            "{}, candidate minus {standard}: {}, {}% interval [{}, {}]",
            self.inputs.metric.name,
            short(*estimate),
            short(100.0 * interval_level),
            short(*low),
            short(*high)
        ))
    }
}

/// Decides by a rule. No test is run if the runs cannot be compared.
pub fn decide(rule: &GateRule, inputs: GateInputs) -> GateReport {
    let mut lines = vec![enough(rule, &inputs)];
    lines.extend(all_read(&inputs));
    lines.extend(apart(&inputs));
    lines.extend(one_value(&inputs));
    lines.push(finite(rule, &inputs));
    lines.extend(to_the_end(&inputs));
    lines.extend(uncontradicted(&inputs));
    lines.extend(one_scale(rule, &inputs));
    lines.extend(against_the_name(rule, &inputs));
    lines.extend(alike(&inputs));
    lines.extend(whole_numbers(rule, &inputs));
    lines.push(equal_training(rule, &inputs));
    lines.extend(whole_runs(rule, &inputs));
    lines.extend(one_text(&inputs));
    let comparable = lines.iter().all(|line| line.state == LineState::Met);
    let (line, gap) = if comparable { tested(rule, &inputs) } else { (None, None) };
    lines.extend(line);
    let has = |state| lines.iter().any(|line| line.state == state);
    let decision = match (has(LineState::Against), has(LineState::Open)) {
        (true, _) => GateDecision::Worse,
        (false, true) => GateDecision::WithinNoise,
        (false, false) => GateDecision::Better,
    };
    GateReport { rule: rule.clone(), inputs, lines, gap, decision }
}

/// The arms with their names.
fn sides(inputs: &GateInputs) -> impl Iterator<Item = (&'static str, &GateSide)> {
    let baseline = inputs.baseline.iter().map(|side| ("baseline", side));
    baseline.chain([("candidate", &inputs.candidate)])
}

/// Every run that counts.
fn counting(inputs: &GateInputs) -> impl Iterator<Item = &RunValue> {
    sides(inputs).flat_map(|(_, side)| side.counted())
}

/// Checks that there are as many runs as the rule requires.
fn enough(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let told = sides(inputs).map(|(word, side)| {
        let (n, all) = (side.counted().count(), side.runs.len());
        let of = if n < all { format!(" of {all}") } else { String::new() };
        format!("{n}{of} {word}")
    });
    let found = told.collect::<Vec<_>>().join(", ");
    let on = if inputs.baseline.is_some() { " per arm" } else { "" };
    let asks = format!("at least {}{on}", counted(rule.at_least, "run"));
    let is_met = sides(inputs).all(|(_, side)| side.counted().count() >= rule.at_least);
    if is_met { RuleLine::met(asks, found) } else { RuleLine::open(asks, found, &FEW_RUNS) }
}

/// Checks that every file that looks like a run was read; no line if all were.
fn all_read(inputs: &GateInputs) -> Option<RuleLine> {
    let unread = &inputs.unread;
    (!unread.is_empty()).then(|| {
        let found = some(unread.iter().cloned(), unread.len());
        RuleLine::open("every run in the folders can be read", found, &UNREAD)
    })
}

/// Checks that no run is in both arms.
fn apart(inputs: &GateInputs) -> Option<RuleLine> {
    inputs.baseline.as_ref()?;
    let asks = "no run is in both arms";
    let both = &inputs.on_both_sides;
    Some(if both.is_empty() {
        RuleLine::met(asks, "none")
    } else {
        let files =
            both.iter().map(|error| format!("{} matches {}", error.place.file, error.found));
        RuleLine::open(asks, some(files, both.len()), &ON_BOTH_SIDES)
    })
}

/// Checks that each run has one value: if logs of one run end differently, at most one is right. No line if all agree.
fn one_value(inputs: &GateInputs) -> Option<RuleLine> {
    let all = sides(inputs).flat_map(|(_, side)| &side.runs);
    let told =
        all.filter_map(|run| run.left_out.as_ref()).filter(|error| error.code == &TWO_VALUES);
    let told: Vec<_> = told.map(|error| format!("{} has {}", error.place, error.found)).collect();
    let n = told.len();
    (n > 0)
        .then(|| RuleLine::open("each run has one value", some(told.into_iter(), n), &TWO_VALUES))
}

/// Checks that every run has a finite value. Runs without one are not left out, because a failed run is a result.
fn finite(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let at = match rule.step {
        ReadAt::Step(step) => format!(" at step {step}"),
        ReadAt::Common | ReadAt::Last => String::new(),
    };
    let asks = format!("every run has a finite `{}`{at}", inputs.metric.name);
    let missing: Vec<_> = counting(inputs).filter(|run| run.value.is_none()).collect();
    // A diverged run is a result even if it shares its start or seed with another.
    let all = sides(inputs).flat_map(|(_, side)| &side.runs);
    let diverged: Vec<_> =
        all.filter(|run| run.value.is_some() && run.finite().is_none()).collect();
    if !missing.is_empty() {
        let files = missing.iter().map(|run| run.shown());
        return RuleLine::open(asks, format!("none in {}", some(files, missing.len())), &NO_METRIC);
    }
    if !diverged.is_empty() {
        let told = diverged.iter().map(|run| {
            let text = run.value.as_ref().map_or("", |value| value.text());
            format!("{text} in {}", run.shown())
        });
        return RuleLine::open(asks, some(told, diverged.len()), &DIVERGED);
    }
    RuleLine::met(asks, counted(counting(inputs).count(), "value"))
}

/// Checks that no run shows a failure after the step at which it was read; no line if none does.
fn to_the_end(inputs: &GateInputs) -> Option<RuleLine> {
    let all = sides(inputs).flat_map(|(_, side)| &side.runs);
    let told: Vec<&Error> = all.filter_map(|run| run.later.as_ref()).collect();
    let code = told.first()?.code;
    let files = told.iter().map(|error| format!("{} in {}", error.found, error.place));
    let asks = format!("no run diverges or loses its `{}` later", inputs.metric.name);
    Some(RuleLine::open(asks, some(files, told.len()), code))
}

/// A value above this is a percentage.
const SHARE: f64 = 1.5;

/// Checks that fractions are not compared with percentages; no line if all values can be either.
fn one_scale(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let is_of_shares = counting(inputs).all(|run| is_share(&run.metric));
    let runs = counting(inputs).filter_map(|run| Some((run.finite()?, run.shown())));
    let bar = rule.bar.map(|bar| (bar, "the threshold".to_owned()));
    let values: Vec<(f64, String)> = runs.chain(bar).collect();
    let share = values.iter().find(|(value, _)| (0.0..=1.0).contains(value))?;
    let percentage = values.iter().find(|(value, _)| *value > SHARE)?;
    is_of_shares.then(|| {
        let [one, other] = [share, percentage]
            .map(|(value, of)| format!("{} of {of}", format_float(*value, DIGITS)));
        let asks = format!(
            "`{}` is a fraction in all runs, or a percentage in all runs",
            inputs.metric.name
        );
        RuleLine::open(asks, format!("{one}, but {other}"), &OTHER_SCALE)
    })
}

/// Reports that the rule contradicts the metric's name; no line if it does not.
fn against_the_name(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let metric = &inputs.metric;
    metric.contradicts_name.then(|| {
        let [better, named] = match metric.lower_is_better {
            true => ["lower", "higher"],
            false => ["higher", "lower"],
        };
        let asks =
            format!("{better} `{}` is better, according to {}", metric.name, rule.place().file);
        RuleLine::met(asks, format!("its name suggests {named}"))
    })
}

/// Checks that no document contradicts the value read from it; no line if none does.
fn uncontradicted(inputs: &GateInputs) -> Option<RuleLine> {
    let told: Vec<_> = counting(inputs)
        .filter_map(|run| run.contradiction.as_ref())
        .map(|error| format!("{} in {} [{}]", error.found, error.place, error.code.id))
        .collect();
    let n = told.len();
    let asks = "every value is consistent with the rest of its document";
    (n > 0).then(|| RuleLine::open(asks, some(told.into_iter(), n), &CONTRADICTED))
}

/// Checks that the metric is the same kind of number in all runs; no line if it is.
fn alike(inputs: &GateInputs) -> Option<RuleLine> {
    let mut sorts: BTreeMap<String, &RunValue> = BTreeMap::new();
    for run in counting(inputs) {
        if let Some(kind) = run.kind {
            let text = if is_of_tests(&run.metric) { ", on test data" } else { "" };
            sorts.entry(format!("{}{text}", kind.word())).or_insert(run);
        }
    }
    let told =
        sorts.iter().map(|(sort, run)| format!("{sort} in {} (`{}`)", run.shown(), run.metric));
    (sorts.len() > 1).then(|| {
        let asks = format!("`{}` is the same kind of number in all runs", inputs.metric.name);
        RuleLine::open(asks, told.collect::<Vec<_>>().join(", "), &UNLIKE)
    })
}

/// Whether a metric's name marks it as measured on test data.
fn is_of_tests(name: &str) -> bool {
    words(name).any(|word| word.eq_ignore_ascii_case("test"))
}

/// The values of the runs in order, each with the number of runs that have it.
fn spread_of(values: impl Iterator<Item = u64>, what: &str) -> String {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let told = counts.iter().map(|(value, runs)| match counts.len() {
        1 => format!("{what} {value}"),
        _ => format!("{what} {value} ({})", counted(*runs, "run")),
    });
    some(told, counts.len())
}

/// Checks that the runs were read after equal training, by the tokens if all runs state them, else by the steps.
fn equal_training(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let tokens = || counting(inputs).filter_map(|run| run.tokens);
    let steps = || counting(inputs).filter_map(|run| run.step);
    let n = counting(inputs).count();
    let one = |values: BTreeSet<u64>| values.len() <= 1;
    let all_tokens = tokens().count() == n;
    let (by_tokens, by_steps) = (one(tokens().collect()), one(steps().collect()));
    let found = match (all_tokens, steps().next()) {
        (true, Some(_)) => {
            format!("{}; {}", spread_of(tokens(), "tokens"), spread_of(steps(), "step"))
        }
        (true, None) => spread_of(tokens(), "tokens"),
        // A run that does not state its tokens may have seen more.
        (false, Some(_)) if tokens().next().is_some() => {
            let silent = counted(n - tokens().count(), "run");
            format!("{}; {silent} without a token count", spread_of(steps(), "step"))
        }
        (false, Some(_)) => spread_of(steps(), "step"),
        (false, None) => "no run states a step".to_owned(),
    };
    if rule.step == ReadAt::Last {
        return RuleLine::met("each run is read at its last step, whatever that is", found);
    }
    let asks = match rule.step {
        ReadAt::Step(step) => format!("all runs are read at step {step}, after equal data"),
        _ => "all runs are read after equal training, as far as stated".to_owned(),
    };
    if !by_tokens {
        return RuleLine::open(asks, found, &OTHER_TOKENS);
    }
    let axes: BTreeMap<StepAxis, &RunValue> =
        counting(inputs).filter_map(|run| Some((run.axis?, run))).collect();
    // Equal data is equal training, regardless of the counter.
    if axes.len() > 1 && !(all_tokens && rule.step == ReadAt::Common) {
        let told = axes.iter().map(|(axis, run)| format!("{} in {}", axis.word(), run.shown()));
        let found = format!("{found}; counters: {}", told.collect::<Vec<_>>().join(", "));
        return RuleLine::open(asks, found, &OTHER_AXIS);
    }
    // Equal data at different steps means a different batch size.
    if all_tokens || by_steps && steps().count() == n || steps().count() == 0 {
        return RuleLine::met(asks, found);
    }
    let hint = match inputs.shared_step {
        Some(step) => format!("{found}; the last step shared by all runs is {step}"),
        None => found,
    };
    RuleLine::open(asks, hint, &OTHER_STEPS)
}

/// Checks that no log ends in a possibly truncated value of the metric. No line if none does, or if the rule sets the
/// step at which runs are read: then the run has no value at that step.
fn whole_numbers(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let torn = counting(inputs).filter_map(|run| run.unfinished.as_ref()).filter(|e| is_torn(e));
    let told: Vec<_> = torn.map(|error| format!("{} in {}", error.found, error.place)).collect();
    let n = told.len();
    let asks = "every log ends in a complete number";
    (n > 0 && !matches!(rule.step, ReadAt::Step(_)))
        .then(|| RuleLine::open(asks, some(told.into_iter(), n), &TORN))
}

fn is_torn(error: &Error) -> bool {
    error.code == &crate::import::TORN_VALUE
}

/// Checks that runs with a planned length reached it; otherwise somebody chose where to stop. No line if none was cut
/// off, or if the rule sets the step at which runs are read.
fn whole_runs(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let cut = counting(inputs).filter_map(|run| run.unfinished.as_ref());
    let cut: Vec<_> = cut.filter(|error| !is_torn(error)).collect();
    let told = cut.iter().map(|error| format!("{} in {}", error.found, error.place));
    (!cut.is_empty() && rule.step == ReadAt::Common).then(|| {
        RuleLine::open("every run reached its planned end", some(told, cut.len()), &UNFINISHED)
    })
}

/// Checks that the runs were evaluated on one text, as far as they state it; no line if no run does.
fn one_text(inputs: &GateInputs) -> Option<RuleLine> {
    let mut stated: BTreeMap<&str, BTreeMap<&str, &RunValue>> = BTreeMap::new();
    for run in counting(inputs) {
        for (name, value) in &run.stated {
            stated.entry(*name).or_default().insert(value, run);
        }
    }
    let differing = stated.iter().find(|(_, values)| values.len() > 1);
    let asks = "all runs were evaluated on the same text";
    if let Some((name, values)) = differing {
        let told = values.iter().map(|(value, run)| format!("{value} in {}", run.shown()));
        let found = format!("{name}: {}", some(told, values.len()));
        return Some(RuleLine::open(asks, found, &OTHER_TEXT));
    }
    let silent = counting(inputs).filter(|run| run.stated.is_empty()).count();
    let names: Vec<_> = stated.keys().copied().collect();
    (!stated.is_empty()).then(|| {
        let silent = match silent {
            0 => String::new(),
            runs => format!("; {} without this information", counted(runs, "run")),
        };
        RuleLine::met(asks, format!("equal {}{silent}", names.join(", ")))
    })
}
