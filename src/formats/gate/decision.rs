//! The decision: the rule line by line, and what it comes to. Data in, data out.

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

/// The significant digits that people see.
const DIGITS: usize = 6;

/// What a gate answers.
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
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::WithinNoise => "within noise",
        }
    }

    /// The exit status that it stands for.
    pub fn status(self) -> ExitStatus {
        match self {
            Self::Better => ExitStatus::Verified,
            Self::Worse => ExitStatus::Refuted,
            Self::WithinNoise => ExitStatus::Undecided,
        }
    }
}

/// The answer with all that is behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateReport {
    /// The rule,
    pub rule: GateRule,
    /// what it was asked of,
    pub inputs: GateInputs,
    /// and each thing that it asks.
    pub lines: Vec<RuleLine>,
    /// The test, where one was made.
    pub gap: Option<TestedGap>,
    /// The answer.
    pub decision: GateDecision,
}

impl GateReport {
    /// The gap with its interval, where a test was made.
    pub fn gap_in_words(&self) -> Option<String> {
        let TestedGap { estimate, interval: [low, high], interval_level, .. } =
            self.gap.as_ref()?;
        let short = |value: f64| format_float(value, DIGITS);
        let standard = match self.rule.bar {
            Some(_) => format!("the bar {}", self.rule.bar_text),
            None => "the baseline".to_owned(),
        };
        Some(format!(
            "{} of the candidate less {standard} is {}, {}% interval [{}, {}]",
            self.inputs.metric.name,
            short(*estimate),
            short(100.0 * interval_level),
            short(*low),
            short(*high)
        ))
    }
}

/// Decides by a rule. Nothing is tested where the runs cannot be compared.
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

/// The sides with their words.
fn sides(inputs: &GateInputs) -> impl Iterator<Item = (&'static str, &GateSide)> {
    let baseline = inputs.baseline.iter().map(|side| ("baseline", side));
    baseline.chain([("candidate", &inputs.candidate)])
}

/// Every run that counts.
fn counting(inputs: &GateInputs) -> impl Iterator<Item = &RunValue> {
    sides(inputs).flat_map(|(_, side)| side.counted())
}

/// Whether there are as many runs as the rule asks.
fn enough(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let told = sides(inputs).map(|(word, side)| {
        let (n, all) = (side.counted().count(), side.runs.len());
        let of = if n < all { format!(" of {all}") } else { String::new() };
        format!("{n}{of} of the {word}")
    });
    let found = told.collect::<Vec<_>>().join(", ");
    let on = if inputs.baseline.is_some() { " on each side" } else { "" };
    let asks = format!("at least {}{on}", counted(rule.at_least, "run"));
    let is_met = sides(inputs).all(|(_, side)| side.counted().count() >= rule.at_least);
    if is_met { RuleLine::met(asks, found) } else { RuleLine::open(asks, found, &FEW_RUNS) }
}

/// Whether everything that looks like a run was read; nothing is said where it was.
fn all_read(inputs: &GateInputs) -> Option<RuleLine> {
    let unread = &inputs.unread;
    (!unread.is_empty()).then(|| {
        let found = some(unread.iter().cloned(), unread.len());
        RuleLine::open("every run in the folders is read", found, &UNREAD)
    })
}

/// Whether no run stands on both sides.
fn apart(inputs: &GateInputs) -> Option<RuleLine> {
    inputs.baseline.as_ref()?;
    let asks = "no run on both sides";
    let both = &inputs.on_both_sides;
    Some(if both.is_empty() {
        RuleLine::met(asks, "none")
    } else {
        let files = both.iter().map(|error| format!("{} is {}", error.place.file, error.found));
        RuleLine::open(asks, some(files, both.len()), &ON_BOTH_SIDES)
    })
}

/// Whether each run has one value: logs of one training with different ends are not both right. Nothing is said where
/// all have.
fn one_value(inputs: &GateInputs) -> Option<RuleLine> {
    let all = sides(inputs).flat_map(|(_, side)| &side.runs);
    let told =
        all.filter_map(|run| run.left_out.as_ref()).filter(|error| error.code == &TWO_VALUES);
    let told: Vec<_> = told.map(|error| format!("{} has {}", error.place, error.found)).collect();
    let n = told.len();
    (n > 0)
        .then(|| RuleLine::open("each run has one value", some(told.into_iter(), n), &TWO_VALUES))
}

/// Whether every run has a finite value; one that has none is not left out, as a run that failed is a result.
fn finite(rule: &GateRule, inputs: &GateInputs) -> RuleLine {
    let at = match rule.step {
        ReadAt::Step(step) => format!(" at step {step}"),
        ReadAt::Common | ReadAt::Last => String::new(),
    };
    let asks = format!("every run has a finite `{}`{at}", inputs.metric.name);
    let missing: Vec<_> = counting(inputs).filter(|run| run.value.is_none()).collect();
    // A run that diverged is no less a result where it shares its start or its seed with another.
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

/// Whether what a run tells after the step at which it was read is no sign that it failed; nothing is said where none is.
fn to_the_end(inputs: &GateInputs) -> Option<RuleLine> {
    let all = sides(inputs).flat_map(|(_, side)| &side.runs);
    let told: Vec<&Error> = all.filter_map(|run| run.later.as_ref()).collect();
    let code = told.first()?.code;
    let files = told.iter().map(|error| format!("{} in {}", error.found, error.place));
    let asks = format!("no run diverges or loses its `{}` later", inputs.metric.name);
    Some(RuleLine::open(asks, some(files, told.len()), code))
}

/// Above this a share is a percentage.
const SHARE: f64 = 1.5;

/// Whether no shares are held against percentages; nothing is said where all values may be either.
fn one_scale(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let is_of_shares = counting(inputs).all(|run| is_share(&run.metric));
    let runs = counting(inputs).filter_map(|run| Some((run.finite()?, run.shown())));
    let bar = rule.bar.map(|bar| (bar, "the bar".to_owned()));
    let values: Vec<(f64, String)> = runs.chain(bar).collect();
    let share = values.iter().find(|(value, _)| (0.0..=1.0).contains(value))?;
    let percentage = values.iter().find(|(value, _)| *value > SHARE)?;
    is_of_shares.then(|| {
        let [one, other] = [share, percentage]
            .map(|(value, of)| format!("{} of {of}", format_float(*value, DIGITS)));
        let asks =
            format!("`{}` is a share in all runs, or a percentage in all", inputs.metric.name);
        RuleLine::open(asks, format!("{one} beside {other}"), &OTHER_SCALE)
    })
}

/// That the rule says the opposite of what the metric is called; nothing is said where it does not.
fn against_the_name(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let metric = &inputs.metric;
    metric.contradicts_name.then(|| {
        let [better, named] = match metric.lower_is_better {
            true => ["less", "more"],
            false => ["more", "less"],
        };
        let asks =
            format!("{better} of `{}` is better, as {} says", metric.name, rule.place().file);
        RuleLine::met(asks, format!("by its name {named} would be"))
    })
}

/// Whether no document contradicts the number that is read from it; nothing is said where none does.
fn uncontradicted(inputs: &GateInputs) -> Option<RuleLine> {
    let told: Vec<_> = counting(inputs)
        .filter_map(|run| run.contradiction.as_ref())
        .map(|error| format!("{} in {} [{}]", error.found, error.place, error.code.id))
        .collect();
    let n = told.len();
    let asks = "every number agrees with the rest of its document";
    (n > 0).then(|| RuleLine::open(asks, some(told.into_iter(), n), &CONTRADICTED))
}

/// Whether the metric is the same sort of number in all runs; nothing is said where it is.
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
        let asks = format!("`{}` is one sort of number", inputs.metric.name);
        RuleLine::open(asks, told.collect::<Vec<_>>().join(", "), &UNLIKE)
    })
}

/// Whether a metric is called one of test data.
fn is_of_tests(name: &str) -> bool {
    words(name).any(|word| word.eq_ignore_ascii_case("test"))
}

/// Values of runs in order, each with how many runs have it.
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

/// Whether the runs were read after equal training: of the tokens that all state, or of the steps.
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
        // A run that leaves them out may have seen more.
        (false, Some(_)) if tokens().next().is_some() => {
            let silent = counted(n - tokens().count(), "run");
            format!("{}; no tokens stated by {silent}", spread_of(steps(), "step"))
        }
        (false, Some(_)) => spread_of(steps(), "step"),
        (false, None) => "no run states a step".to_owned(),
    };
    if rule.step == ReadAt::Last {
        return RuleLine::met("each run at its last step, wherever that is", found);
    }
    let asks = match rule.step {
        ReadAt::Step(step) => format!("all runs at step {step}, after equal data"),
        _ => "all runs read after equal training, as far as they state it".to_owned(),
    };
    if !by_tokens {
        return RuleLine::open(asks, found, &OTHER_TOKENS);
    }
    let axes: BTreeMap<StepAxis, &RunValue> =
        counting(inputs).filter_map(|run| Some((run.axis?, run))).collect();
    // Equal data is equal training, however it is counted.
    if axes.len() > 1 && !(all_tokens && rule.step == ReadAt::Common) {
        let told = axes.iter().map(|(axis, run)| format!("{} in {}", axis.word(), run.shown()));
        let found = format!("{found}; counted in {}", told.collect::<Vec<_>>().join(", in "));
        return RuleLine::open(asks, found, &OTHER_AXIS);
    }
    // Equal data in other steps is another batch size.
    if all_tokens || by_steps && steps().count() == n || steps().count() == 0 {
        return RuleLine::met(asks, found);
    }
    let hint = match inputs.shared_step {
        Some(step) => format!("{found}; the last step that all have is {step}"),
        None => found,
    };
    RuleLine::open(asks, hint, &OTHER_STEPS)
}

/// Whether no log ends in a number of the metric that may be cut; nothing is said where none does, nor where the rule says
/// at which step runs are read: there it is a step that has no value.
fn whole_numbers(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let torn = counting(inputs).filter_map(|run| run.unfinished.as_ref()).filter(|e| is_torn(e));
    let told: Vec<_> = torn.map(|error| format!("{} in {}", error.found, error.place)).collect();
    let n = told.len();
    let asks = "every log ends in a whole number";
    (n > 0 && !matches!(rule.step, ReadAt::Step(_)))
        .then(|| RuleLine::open(asks, some(told.into_iter(), n), &TORN))
}

fn is_torn(error: &Error) -> bool {
    error.code == &crate::import::TORN_VALUE
}

/// Whether runs that say how long they were meant to be came to their end: else somebody chose where. Nothing is said
/// where none was cut off, nor where the rule itself says at which step runs are read.
fn whole_runs(rule: &GateRule, inputs: &GateInputs) -> Option<RuleLine> {
    let cut = counting(inputs).filter_map(|run| run.unfinished.as_ref());
    let cut: Vec<_> = cut.filter(|error| !is_torn(error)).collect();
    let told = cut.iter().map(|error| format!("{} in {}", error.found, error.place));
    (!cut.is_empty() && rule.step == ReadAt::Common).then(|| {
        RuleLine::open("every run came to its planned end", some(told, cut.len()), &UNFINISHED)
    })
}

/// Whether the runs were evaluated on one text, as far as they state it; nothing is said where none does.
fn one_text(inputs: &GateInputs) -> Option<RuleLine> {
    let mut stated: BTreeMap<&str, BTreeMap<&str, &RunValue>> = BTreeMap::new();
    for run in counting(inputs) {
        for (name, value) in &run.stated {
            stated.entry(*name).or_default().insert(value, run);
        }
    }
    let differing = stated.iter().find(|(_, values)| values.len() > 1);
    let asks = "all runs evaluated on one text";
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
            runs => format!("; {} state nothing", counted(runs, "run")),
        };
        RuleLine::met(asks, format!("equal {}{silent}", names.join(", ")))
    })
}
