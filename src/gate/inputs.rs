//! Both sides as they are judged: of each run its value, where it was read, and whether it is a run of its own.

use std::collections::{BTreeMap, BTreeSet};

use repro_import::{self as import, LogNumber, LoggedRun, Metric};
use repro_receipt::source::{Error, Location};

use crate::course::{CourseKind, KnownCourses, MetricCourse};
use crate::metric::{self, GateMetric};
use crate::rule::{GateRule, ReadAt};
use crate::runs::{self, FoundRuns, GateRun};
use crate::{BYTES, TEXT, UNFINISHED};
use crate::{COPY, GateOptions, NO_STANDARD, ON_BOTH_SIDES, SAME_SEED, SAME_START, TWO_STANDARDS};

/// One run and what is compared of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// Its log or bundle, as it was named.
    pub file: String,
    /// Its own name, where the file has several runs.
    pub name: Option<String>,
    /// Whether it lies in a bundle, with the digest of that.
    pub bundle: Option<String>,
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
    /// and the tokens that the run had seen there.
    pub tokens: Option<u64>,
    /// What is stated of the text that it was evaluated on.
    pub stated: BTreeMap<&'static str, String>,
    /// Why it does not count as a run of its own.
    pub left_out: Option<Error>,
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
    /// What else is odd about the runs.
    pub notes: Vec<Error>,
    /// Files in the folders that are no logs.
    pub skipped: Vec<String>,
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
    let (candidate, baseline) = match (candidate, baseline) {
        (Ok(candidate), Ok(baseline)) => (candidate, baseline),
        (candidate, baseline) => {
            let errors = [candidate.err(), baseline.err()];
            return Err(errors.into_iter().flatten().flatten().collect());
        }
    };
    let all: Vec<&GateRun> = candidate
        .runs
        .iter()
        .chain(baseline.iter().flat_map(|baseline| baseline.runs.iter()))
        .collect();
    let metric =
        metric::choose(rule, options.metric.as_deref(), &all).map_err(|error| vec![error])?;
    Ok(compared(rule, metric, &candidate, baseline.as_ref()))
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

/// A run with the course of its metric.
type Followed<'r> = (&'r GateRun, Option<MetricCourse>);

fn compared(
    rule: &GateRule,
    metric: GateMetric,
    candidate: &FoundRuns,
    baseline: Option<&FoundRuns>,
) -> GateInputs {
    let follow = |found: &'_ FoundRuns| -> Vec<Option<MetricCourse>> {
        found.runs.iter().map(|run| MetricCourse::find(&run.logged, &metric.name)).collect()
    };
    let of = |found| -> Vec<Followed<'_>> {
        let found: &FoundRuns = found;
        found.runs.iter().zip(follow(found)).collect()
    };
    let (candidates, baselines) = (of(candidate), baseline.map(of));
    let candidate_side = side(rule, &metric, &candidates);
    let baseline_side = baselines.as_ref().map(|runs| side(rule, &metric, runs));
    let all = || candidates.iter().chain(baselines.iter().flatten());
    let skipped: BTreeSet<String> = candidate
        .skipped
        .iter()
        .chain(baseline.iter().flat_map(|found| found.skipped.iter()))
        .cloned()
        .collect();
    GateInputs {
        on_both_sides: baselines
            .as_ref()
            .map_or_else(Vec::new, |baselines| on_both_sides(&candidates, baselines)),
        shared_step: shared_step(all().filter_map(|(_, course)| course.as_ref())),
        notes: all().flat_map(|(run, _)| unfinished(&run.logged)).collect(),
        skipped: skipped.into_iter().collect(),
        candidate: candidate_side,
        baseline: baseline_side,
        metric,
    }
}

/// The runs of a side with what is compared; copies are left out.
fn side(rule: &GateRule, metric: &GateMetric, runs: &[Followed<'_>]) -> GateSide {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (run, _) in runs {
        *files.entry(run.logged.file.as_str()).or_default() += 1;
    }
    let of = |(run, course): &Followed<'_>| {
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
    let digest = logged.identity.sha256.filter(|_| run.is_bundle);
    RunValue {
        file: logged.file.clone(),
        name: None,
        bundle: digest.map(|digest| digest.prefixed()),
        seed: logged.seed.clone(),
        metric: course.map_or_else(|| metric.name.clone(), |course| course.name.clone()),
        kind: course.map(|course| course.kind),
        value: number,
        step,
        tokens: step.and_then(|step| tokens(logged, step)),
        stated: stated(run, &metric.name),
        left_out: None,
    }
}

/// The tokens that a run says it has seen at a step.
fn tokens(run: &LoggedRun, step: u64) -> Option<u64> {
    let rows = run.evaluations.iter().chain(&run.training).filter(|row| row.step == step);
    rows.filter_map(|row| row.get(&Metric::Tokens)?.text().parse().ok()).next_back()
}

/// What has to be equal of the texts that runs are evaluated on: bits per byte may come from any tokenizer.
fn stated(run: &GateRun, metric: &str) -> BTreeMap<&'static str, String> {
    let per_byte = metric.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "bpb");
    let counts = |name: &&str| [TEXT, BYTES].contains(name) || !per_byte;
    let stated = run.stated.iter().filter(|(name, _)| counts(name));
    stated.map(|(name, value)| (*name, value.clone())).collect()
}

/// Why each run of a side is none of its own; of copies the first by name counts.
fn independent(runs: &[Followed<'_>], names: &[String]) -> Vec<Option<Error>> {
    let mut known = Known::default();
    let name = |at: usize| names.get(at).map_or("", String::as_str);
    let judge = |(at, (run, course)): (usize, &Followed<'_>)| {
        let witnesses = witnesses(&run.logged, course.as_ref());
        let seen = known.seen(run, &witnesses);
        if seen.is_none() {
            known.add(at, run, witnesses);
        }
        seen.map(|(code, first, what)| {
            let found = format!("{what} of `{}`", name(first));
            code.at(Location::file(name(at)), "a run of its own", found)
        })
    };
    runs.iter().enumerate().map(judge).collect()
}

/// What tells one run from another: the metric, losses and the norm of the gradient, but no settings and no times.
fn witnesses(run: &LoggedRun, course: Option<&MetricCourse>) -> Vec<(String, MetricCourse)> {
    let known = [Metric::ValidationLoss, Metric::Loss, Metric::GradNorm];
    let known = known.iter().filter_map(|metric| {
        let course = MetricCourse::of_metric(run, metric)?;
        Some((metric.name().to_owned(), course))
    });
    let own = course.map(|course| ("its metric".to_owned(), course.clone()));
    own.into_iter().chain(known).collect()
}

/// The runs of a side so far.
#[derive(Default)]
struct Known {
    digests: BTreeMap<String, usize>,
    seeds: BTreeMap<(String, String, String), usize>,
    courses: BTreeMap<String, KnownCourses>,
}

impl Known {
    /// The run that another is, and why.
    fn seen(
        &self,
        run: &GateRun,
        witnesses: &[(String, MetricCourse)],
    ) -> Option<(&'static repro_receipt::source::Code, usize, String)> {
        let digest = digest(run).and_then(|digest| self.digests.get(&digest));
        if let Some(first) = digest {
            return Some((&COPY, *first, "the bytes".to_owned()));
        }
        let courses = witnesses.iter().filter_map(|(name, course)| {
            let (first, whole) = self.courses.get(name)?.seen(course)?;
            Some((first, whole, &course.name))
        });
        // What is equal as a whole is told rather than what is shared in part.
        let course = courses.max_by_key(|(_, whole, _)| *whole);
        if let Some((first, whole, name)) = course {
            return Some(match whole {
                true => (&COPY, first, format!("all values of `{name}`")),
                false => (&SAME_START, first, format!("half or more of the values of `{name}`")),
            });
        }
        let key = seed(run)?;
        let first = self.seeds.get(&key)?;
        Some((&SAME_SEED, *first, format!("the seed {} and the settings", key.0)))
    }

    fn add(&mut self, at: usize, run: &GateRun, witnesses: Vec<(String, MetricCourse)>) {
        self.digests.extend(digest(run).map(|digest| (digest, at)));
        self.seeds.extend(seed(run).map(|seed| (seed, at)));
        for (name, course) in witnesses {
            self.courses.entry(name).or_default().add(at, course);
        }
    }
}

/// The digest of the bytes of a run, with that of its metrics: a file may have several runs.
fn digest(run: &GateRun) -> Option<String> {
    let digest = run.logged.identity.sha256?;
    Some(format!("{digest} {}", run.logged.metrics_sha256))
}

/// A seed with the settings and the group in which it counts once.
fn seed(run: &GateRun) -> Option<(String, String, String)> {
    let seed = run.logged.seed.clone()?;
    let config = serde_json::to_string(&run.logged.config).unwrap_or_default();
    Some((seed, config, run.group.clone()))
}

/// Candidates that are runs of the baseline as well.
fn on_both_sides(candidates: &[Followed<'_>], baselines: &[Followed<'_>]) -> Vec<Error> {
    let is_one = |(run, course): &Followed<'_>, (other, known): &Followed<'_>| {
        let bytes = digest(run).is_some() && digest(run) == digest(other);
        let course = course.as_ref().zip(known.as_ref());
        bytes || course.is_some_and(|(course, known)| course.is_copy_of(known))
    };
    let judged = candidates.iter().filter_map(|candidate| {
        let twin = baselines.iter().find(|baseline| is_one(candidate, baseline))?;
        let place = Location::file(candidate.0.logged.file.as_str());
        let found = format!("`{}` of the baseline", twin.0.logged.file);
        Some(ON_BOTH_SIDES.at(place, "a run of the candidate alone", found))
    });
    judged.collect()
}

/// The last step at which all courses have a value.
fn shared_step<'c>(mut courses: impl Iterator<Item = &'c MetricCourse>) -> Option<u64> {
    let steps = |course: &MetricCourse| -> BTreeSet<u64> {
        course.points.keys().copied().flatten().collect()
    };
    let first = steps(courses.next()?);
    courses.fold(first, |known, course| &known & &steps(course)).last().copied()
}

/// What a log says of a run that did not come to its end.
fn unfinished(run: &LoggedRun) -> Vec<Error> {
    let told = [
        &import::EARLY_STOP,
        &import::CUT,
        &import::DAMAGED,
        &import::TORN_LINE,
        &import::UNFINISHED,
    ];
    let findings = run.findings.iter().map(|finding| &finding.error);
    let mut notes: Vec<Error> =
        findings.filter(|error| told.contains(&error.code)).cloned().collect();
    if notes.is_empty() && run.ended == Some(false) {
        let place = Location::file(run.file.as_str());
        notes.push(UNFINISHED.at(place, "a finished run", "one that is not"));
    }
    notes
}
