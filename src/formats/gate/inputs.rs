//! The judged inputs: for each run its value, the step at which it was read, and whether it is independent.

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

/// One run and the facts that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// Its log or bundle, as the caller passed it.
    pub file: String,
    /// Its own name, if the file contains several runs.
    pub name: Option<String>,
    /// Whether it comes from a bundle.
    pub is_bundle: bool,
    /// The digest of the bundle, or of the log's bytes.
    pub digest: Option<String>,
    /// Its seed, if known.
    pub seed: Option<String>,
    /// The log's name for the metric.
    pub metric: String,
    /// The part of the run that the metric comes from; none if the run lacks the metric.
    pub kind: Option<CourseKind>,
    /// The value; none if it has no value at the step.
    pub value: Option<LogNumber>,
    /// The step at which it was read.
    pub step: Option<u64>,
    /// The unit of the log's steps; none for a number about the whole run,
    pub axis: Option<StepAxis>,
    /// The tokens that the run had seen by then.
    pub tokens: Option<u64>,
    /// Facts about the validation text that its bundle states.
    pub stated: BTreeMap<&'static str, String>,
    /// The log's finding, if the run or the log is not finished.
    pub unfinished: Option<Error>,
    /// The finding about later steps: the run diverged, or continues without the metric.
    pub later: Option<Error>,
    /// Other oddities of the log.
    pub oddities: Vec<Error>,
    /// The part of its document that contradicts the value.
    pub contradiction: Option<Error>,
    /// The reason why it does not count as independent.
    pub left_out: Option<Error>,
}

/// The unit of a log's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepAxis {
    /// Passes over the data.
    Epochs,
    /// Updates, iterations, batches.
    Steps,
}

impl StepAxis {
    /// The unit, by the name of the counting column; a log without one counts steps.
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

/// The runs of one arm, by file.
#[derive(Debug, Clone, PartialEq)]
pub struct GateSide {
    /// The runs.
    pub runs: Vec<RunValue>,
}

/// All inputs of a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct GateInputs {
    /// The metric.
    pub metric: GateMetric,
    /// The runs to beat; none if there is a threshold.
    pub baseline: Option<GateSide>,
    /// The candidate runs.
    pub candidate: GateSide,
    /// Runs that are in both arms.
    pub on_both_sides: Vec<Error>,
    /// The last step at which all runs have the metric.
    pub shared_step: Option<u64>,
    /// Files in the folders that are not logs.
    pub skipped: Vec<String>,
    /// Those of them that look like runs.
    pub unread: Vec<String>,
}

impl GateSide {
    /// The runs that count.
    pub fn counted(&self) -> impl Iterator<Item = &RunValue> {
        self.runs.iter().filter(|run| run.left_out.is_none())
    }

    /// The finite values of the counted runs, in order, because float sums depend on it.
    pub fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.counted().filter_map(RunValue::finite).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl RunValue {
    /// Its value, if finite.
    pub fn finite(&self) -> Option<f64> {
        self.value.as_ref()?.value()
    }

    /// Notes about its log.
    pub fn notes(&self) -> impl Iterator<Item = &Error> {
        self.unfinished.iter().chain(&self.oddities)
    }

    /// Looks for a contradiction of a whole-run number, which only its document states.
    fn hold_against(&mut self, contradiction: DocumentCheck) {
        let is_of_document = self.kind == Some(CourseKind::Whole) && !self.is_bundle;
        let value = self.value.as_ref().filter(|_| is_of_document);
        self.contradiction = value.and_then(|value| contradiction(&self.file, value.text()));
    }

    /// Its location in messages.
    pub fn place(&self) -> Location {
        Location::file(self.shown())
    }

    /// Its file, with its own name if the file contains several runs.
    pub fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({name})", self.file),
            None => self.file.clone(),
        }
    }
}

/// Reads the runs of both arms.
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

/// Exactly one reference is required.
fn standard(rule: &GateRule, has_baseline: bool) -> Result<(), Error> {
    match (rule.bar, has_baseline) {
        (Some(_), true) => {
            let found = format!(
                "baseline runs, and the threshold {} in {}",
                rule.bar_text,
                rule.place().file
            );
            Err(TWO_STANDARDS.at(
                Location::file("--baseline"),
                "either baseline runs or a threshold",
                found,
            ))
        }
        (None, false) => {
            let expected = "baseline runs, or a rule with `bar`";
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
    // A file that was named explicitly is always read.
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

/// The runs of an arm with the compared facts; copies are left out.
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
    // A whole-run number belongs to the end of the run.
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

/// Notes about how a log was read: a step appears twice, or the last steps disagree.
fn oddities(run: &LoggedRun) -> Vec<Error> {
    let told = [&import::REPEATED, &import::STEPS_DIFFER];
    let odd = run.findings.iter().filter(|finding| told.contains(&finding.error.code));
    odd.map(|finding| finding.error.clone()).collect()
}

/// The tokens that a run states for a step.
fn tokens(run: &LoggedRun, step: u64) -> Option<u64> {
    let rows = run.evaluations.iter().chain(&run.training).filter(|row| row.step == step);
    rows.filter_map(|row| row.get(&Metric::Tokens)?.text().parse().ok()).next_back()
}

/// Facts about the validation text that must match; bits per byte are comparable across tokenizers.
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

/// The log's finding that the run, or the log itself, is not finished.
fn unfinished(run: &LoggedRun, course: Option<&MetricCourse>) -> Option<Error> {
    let told = [
        &import::EARLY_STOP,
        &import::CUT,
        &import::DAMAGED,
        &import::TORN_LINE,
        &import::UNFINISHED,
    ];
    // A possibly truncated number of another metric changes nothing here.
    let is_torn = run
        .torn
        .as_ref()
        .zip(course)
        .is_some_and(|(torn, course)| import::heading(torn, run) == course.name);
    let ends = |code| told.contains(&code) || is_torn && code == &import::TORN_VALUE;
    let finding = run.findings.iter().find(|finding| ends(finding.error.code));
    let stopped = || {
        let place = Location::file(run.file.as_str());
        UNFINISHED.at(place, "a finished run", "an unfinished run, according to its bundle")
    };
    let finding = finding.map(|finding| finding.error.clone());
    finding.or_else(|| (run.ended == Some(false)).then(stopped))
}
