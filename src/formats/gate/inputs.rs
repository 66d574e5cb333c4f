//! Both sides as they are judged: of each run its value, where it was read, and whether it is a run of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::{self as import, LogNumber, LoggedRun, Metric};
use repro_core::source::{Error, Location};

use crate::gate::course::{CourseKind, MetricCourse, words};
use crate::gate::independent::{FollowedRun, independent, on_both_sides};
use crate::gate::later;
use crate::gate::metric::{self, GateMetric};
use crate::gate::rule::{GateRule, ReadAt};
use crate::gate::runs::{self, FoundRuns, GateRun};
use crate::gate::{
    BYTES, DocumentCheck, GateOptions, NO_STANDARD, TEXT, TWO_STANDARDS, UNFINISHED,
};

/// One run and what is compared of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// Its log or bundle, as it was named.
    pub file: String,
    /// Its own name, where the file has several runs.
    pub name: Option<String>,
    /// Whether it lies in a bundle.
    pub is_bundle: bool,
    /// The digest of the bundle, or of the bytes of the log.
    pub digest: Option<String>,
    /// Its seed, where it is told.
    pub seed: Option<String>,
    /// What its log calls the metric.
    pub metric: String,
    /// Among which numbers it has the metric; none where it has not.
    pub kind: Option<CourseKind>,
    /// The value; none where it has none at the step.
    pub value: Option<LogNumber>,
    /// The step at which it was read,
    pub step: Option<u64>,
    /// by what its log counts steps; nothing is known of a number about the whole run,
    pub axis: Option<StepAxis>,
    /// and the tokens that the run had seen there.
    pub tokens: Option<u64>,
    /// What is stated of the text that it was evaluated on.
    pub stated: BTreeMap<&'static str, String>,
    /// What its log says where it did not come to its end.
    pub unfinished: Option<Error>,
    /// What it tells of the metric after that: that it diverged, or that it goes on without.
    pub later: Option<Error>,
    /// What else was odd about the log.
    pub oddities: Vec<Error>,
    /// What in its document contradicts the value.
    pub contradiction: Option<Error>,
    /// Why it does not count as a run of its own.
    pub left_out: Option<Error>,
}

/// What the steps of a log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepAxis {
    /// Passes over the data.
    Epochs,
    /// Updates, iterations, batches.
    Steps,
}

impl StepAxis {
    /// By the name of the column that counts; a log without one has steps.
    fn of(run: &LoggedRun) -> Self {
        let is_epoch =
            |word: &str| ["epoch", "epochs"].iter().any(|e| e.eq_ignore_ascii_case(word));
        match run.counter.as_deref().is_some_and(|name| words(name).any(is_epoch)) {
            true => Self::Epochs,
            false => Self::Steps,
        }
    }

    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::Steps => "steps",
        }
    }
}

/// The runs of one side, by file.
#[derive(Debug, Clone, PartialEq)]
pub struct GateSide {
    /// The runs.
    pub runs: Vec<RunValue>,
}

/// Everything that a decision looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct GateInputs {
    /// The metric.
    pub metric: GateMetric,
    /// The runs to beat; none where there is a bar.
    pub baseline: Option<GateSide>,
    /// The runs that may be better.
    pub candidate: GateSide,
    /// Runs that stand on both sides.
    pub on_both_sides: Vec<Error>,
    /// The last step at which all runs have the metric.
    pub shared_step: Option<u64>,
    /// Files in the folders that are no logs.
    pub skipped: Vec<String>,
    /// Those of them that look like the runs.
    pub unread: Vec<String>,
}

impl GateSide {
    /// The runs that count.
    pub fn counted(&self) -> impl Iterator<Item = &RunValue> {
        self.runs.iter().filter(|run| run.left_out.is_none())
    }

    /// The finite values of the runs that count, in order: sums of floats depend on it.
    pub fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.counted().filter_map(RunValue::finite).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl RunValue {
    /// Its value, where it is finite.
    pub fn finite(&self) -> Option<f64> {
        self.value.as_ref()?.value()
    }

    /// What a reader should know of its log.
    pub fn notes(&self) -> impl Iterator<Item = &Error> {
        self.unfinished.iter().chain(&self.oddities)
    }

    /// Looks for what contradicts a number about the whole run, which nothing but its document tells.
    fn hold_against(&mut self, contradiction: DocumentCheck) {
        let is_of_document = self.kind == Some(CourseKind::Whole) && !self.is_bundle;
        let value = self.value.as_ref().filter(|_| is_of_document);
        self.contradiction = value.and_then(|value| contradiction(&self.file, value.text()));
    }

    /// Its place in messages.
    pub fn place(&self) -> Location {
        Location::file(self.shown())
    }

    /// Its file, with its own name where that has several runs.
    pub fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({name})", self.file),
            None => self.file.clone(),
        }
    }
}

/// Reads the runs of both sides.
pub fn read(options: &GateOptions) -> Result<GateInputs, Vec<Error>> {
    let rule = &options.rule;
    standard(rule, !options.baseline.is_empty()).map_err(|error| vec![error])?;
    let read =
        |word, paths: &[_]| runs::read(word, paths, options.root.as_deref(), options.threads);
    let candidate = read("candidate", &options.candidate);
    let baseline = match options.baseline.as_slice() {
        [] => Ok(None),
        paths => read("baseline", paths).map(Some),
    };
    let (mut candidate, mut baseline) = match (candidate, baseline) {
        (Ok(candidate), Ok(baseline)) => (candidate, baseline),
        (candidate, baseline) => {
            let errors = [candidate.err(), baseline.err()];
            return Err(errors.into_iter().flatten().flatten().collect());
        }
    };
    let asked = options.metric.iter().chain(&rule.metric).cloned().collect::<Vec<_>>();
    let asked =
        if asked.is_empty() { vec![Metric::ValidationLoss.name().to_owned()] } else { asked };
    baseline.iter_mut().chain([&mut candidate]).for_each(|side| side.pass_over_sidecars(&asked));
    let all: Vec<&GateRun> = candidate
        .runs
        .iter()
        .chain(baseline.iter().flat_map(|baseline| baseline.runs.iter()))
        .collect();
    let metric =
        metric::choose(rule, options.metric.as_deref(), &all).map_err(|error| vec![error])?;
    let mut inputs = compared(rule, metric, &candidate, baseline.as_ref());
    if let Some(contradiction) = options.contradiction {
        let sides = inputs.baseline.iter_mut().chain([&mut inputs.candidate]);
        sides.flat_map(|side| &mut side.runs).for_each(|run| run.hold_against(contradiction));
    }
    Ok(inputs)
}

/// There must be one thing to compare with.
fn standard(rule: &GateRule, has_baseline: bool) -> Result<(), Error> {
    match (rule.bar, has_baseline) {
        (Some(_), true) => {
            let found = format!("runs, and the bar {} in {}", rule.bar_text, rule.place().file);
            Err(TWO_STANDARDS.at(Location::file("--baseline"), "no runs beside a bar", found))
        }
        (None, false) => {
            let expected = "runs to compare with, or a rule with a bar";
            Err(NO_STANDARD.at(Location::file("--baseline"), expected, "neither"))
        }
        _ => Ok(()),
    }
}

fn compared(
    rule: &GateRule,
    metric: GateMetric,
    candidate: &FoundRuns,
    baseline: Option<&FoundRuns>,
) -> GateInputs {
    let follow = |found: &'_ FoundRuns| -> Vec<Option<MetricCourse>> {
        found.runs.iter().map(|run| MetricCourse::find_any(&run.logged, &metric.names)).collect()
    };
    let of = |found| -> Vec<FollowedRun<'_>> {
        let found: &FoundRuns = found;
        found.runs.iter().zip(follow(found)).collect()
    };
    let (candidates, baselines) = (of(candidate), baseline.map(of));
    let candidate_side = side(rule, &metric, &candidates);
    let baseline_side = baselines.as_ref().map(|runs| side(rule, &metric, runs));
    let all = || candidates.iter().chain(baselines.iter().flatten());
    let of_both = |files: fn(&FoundRuns) -> &Vec<String>| -> BTreeSet<String> {
        let baseline = baseline.iter().flat_map(|found| files(found));
        files(candidate).iter().chain(baseline).cloned().collect()
    };
    let (skipped, unread) = (of_both(|found| &found.skipped), of_both(|found| &found.unread));
    // A file that was named twice is read.
    let is_read = |file: &String| all().any(|(run, _)| run.logged.file == *file);
    GateInputs {
        on_both_sides: baselines
            .as_ref()
            .map_or_else(Vec::new, |baselines| on_both_sides(&candidates, baselines)),
        shared_step: shared_step(all().filter_map(|(_, course)| course.as_ref())),
        skipped: skipped.into_iter().filter(|file| !is_read(file)).collect(),
        unread: unread.into_iter().filter(|file| !is_read(file)).collect(),
        candidate: candidate_side,
        baseline: baseline_side,
        metric,
    }
}

/// The runs of a side with what is compared; copies are left out.
fn side(rule: &GateRule, metric: &GateMetric, runs: &[FollowedRun<'_>]) -> GateSide {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (run, _) in runs {
        *files.entry(run.logged.file.as_str()).or_default() += 1;
    }
    let of = |(run, course): &FollowedRun<'_>| {
        let logged = &run.logged;
        let several = files.get(logged.file.as_str()).is_some_and(|count| *count > 1);
        let name = several.then(|| logged.name.clone());
        RunValue { name, ..value(rule, metric, run, course.as_ref()) }
    };
    let mut values: Vec<RunValue> = runs.iter().map(of).collect();
    let names: Vec<String> = values.iter().map(RunValue::shown).collect();
    for (value, error) in values.iter_mut().zip(independent(runs, &names)) {
        value.left_out = error;
    }
    GateSide { runs: values }
}

fn value(
    rule: &GateRule,
    metric: &GateMetric,
    run: &GateRun,
    course: Option<&MetricCourse>,
) -> RunValue {
    let logged = &run.logged;
    let at = match (rule.step, course) {
        (ReadAt::Step(step), Some(course)) if course.kind != CourseKind::Whole => Some(Some(step)),
        (_, course) => course.and_then(MetricCourse::last),
    };
    let number = at.and_then(|at| course?.points.get(&at)).cloned();
    // A number about the whole run stands at its end.
    let step = at.flatten().or_else(|| logged.last_step());
    RunValue {
        file: logged.file.clone(),
        name: None,
        is_bundle: run.is_bundle,
        digest: logged.identity.sha256.map(|digest| digest.prefixed()),
        seed: logged.seed.clone(),
        metric: course.map_or_else(|| metric.name.clone(), |course| course.name.clone()),
        kind: course.map(|course| course.kind),
        value: number,
        step,
        axis: course
            .filter(|course| course.kind != CourseKind::Whole)
            .map(|_| StepAxis::of(logged)),
        tokens: step.and_then(|step| tokens(logged, step)),
        stated: stated(run, &metric.name),
        unfinished: unfinished(logged, course),
        later: course.and_then(|course| later::told(rule, logged, course, at?)),
        oddities: oddities(logged),
        contradiction: None,
        left_out: None,
    }
}

/// What a reader should know of how a log was read: that it tells a step twice, or that its last steps disagree.
fn oddities(run: &LoggedRun) -> Vec<Error> {
    let told = [&import::REPEATED, &import::STEPS_DIFFER];
    let odd = run.findings.iter().filter(|finding| told.contains(&finding.error.code));
    odd.map(|finding| finding.error.clone()).collect()
}

/// The tokens that a run says it has seen at a step.
fn tokens(run: &LoggedRun, step: u64) -> Option<u64> {
    let rows = run.evaluations.iter().chain(&run.training).filter(|row| row.step == step);
    rows.filter_map(|row| row.get(&Metric::Tokens)?.text().parse().ok()).next_back()
}

/// What has to be equal of the texts that runs are evaluated on: bits per byte may come from any tokenizer.
fn stated(run: &GateRun, metric: &str) -> BTreeMap<&'static str, String> {
    let per_byte = words(metric).any(|word| word == "bpb");
    let counts = |name: &&str| [TEXT, BYTES].contains(name) || !per_byte;
    let stated = run.stated.iter().filter(|(name, _)| counts(name));
    stated.map(|(name, value)| (*name, value.clone())).collect()
}

/// The last step at which all courses have a value.
fn shared_step<'c>(mut courses: impl Iterator<Item = &'c MetricCourse>) -> Option<u64> {
    let steps = |course: &MetricCourse| -> BTreeSet<u64> {
        course.points.keys().copied().flatten().collect()
    };
    let first = steps(courses.next()?);
    courses.fold(first, |known, course| &known & &steps(course)).last().copied()
}

/// What a log says of a run that did not come to its end, or a log that did not.
fn unfinished(run: &LoggedRun, course: Option<&MetricCourse>) -> Option<Error> {
    let told = [
        &import::EARLY_STOP,
        &import::CUT,
        &import::DAMAGED,
        &import::TORN_LINE,
        &import::UNFINISHED,
    ];
    // A number of another metric that may be cut changes nothing here.
    let is_torn = run
        .torn
        .as_ref()
        .zip(course)
        .is_some_and(|(torn, course)| import::heading(torn, run) == course.name);
    let ends = |code| told.contains(&code) || is_torn && code == &import::TORN_VALUE;
    let finding = run.findings.iter().find(|finding| ends(finding.error.code));
    let stopped = || {
        let place = Location::file(run.file.as_str());
        UNFINISHED.at(place, "a finished run", "one that its bundle calls unfinished")
    };
    let finding = finding.map(|finding| finding.error.clone());
    finding.or_else(|| (run.ended == Some(false)).then(stopped))
}
