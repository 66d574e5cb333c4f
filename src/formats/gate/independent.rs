//! Which runs are independent. Copies under other names or with other times count once, and so do runs that share most
//! of their course, or their seed and settings, with another run.

use std::collections::BTreeMap;

use crate::import::{LoggedRun, Metric};
use repro_core::source::{Code, Error, Location};
use repro_model::independence::{self, KinshipKind, RelatedRuns, RunTrace};

use crate::gate::course::{self, CourseKind, KnownCourses, MetricCourse};
use crate::gate::runs::GateRun;
use crate::gate::{COPY, NEAR, ON_BOTH_SIDES, SAME_SEED, SAME_START, TWO_VALUES};

/// A run with the course of its metric.
pub type FollowedRun<'r> = (&'r GateRun, Option<MetricCourse>);

/// Why each run of an arm is not independent, if it is not; of several copies, the first by name counts.
pub fn independent(runs: &[FollowedRun<'_>], names: &[String]) -> Vec<Option<Error>> {
    let mut known = Known::default();
    let traces: Vec<&RunTrace> = runs.iter().map(|(run, _)| &run.trace).collect();
    let related = independence::related(&traces);
    let name = |at: usize| names.get(at).map_or("", String::as_str);
    let judge = |(at, (run, course)): (usize, &FollowedRun<'_>)| {
        let witnesses = witnesses(&run.logged, course.as_ref());
        let differs = |first: usize| {
            let own = course.as_ref().map_or("", |course| course.name.as_str());
            runs.get(first).is_some_and(|(first, _)| {
                course::measure_differently(&first.logged, &run.logged, own)
            })
        };
        let seen = known.seen(run, &witnesses, &differs);
        if seen.is_none() {
            known.add(at, run, witnesses);
        }
        // A shared start is judged above, by its length.
        let is_told = |found: &&RelatedRuns| {
            found.second == at && found.kinship.kind != KinshipKind::SharedStart
        };
        let other = related.iter().find(is_told).filter(|_| seen.is_none());
        let seen = seen.map(|(code, first, what)| (code, format!("{what} as `{}`", name(first))));
        let other = other.map(|found| {
            let code = if found.kinship.is_certain { &COPY } else { &NEAR };
            (
                code,
                format!("a run derived from `{}`: {}", name(found.first), found.kinship.evidence),
            )
        });
        let (code, found) = seen.or(other)?;
        Some(code.at(Location::file(name(at)), "an independent run", found))
    };
    runs.iter().enumerate().map(judge).collect()
}

/// The key for the course of the deciding metric.
const OWN: &str = "its metric";

/// The courses that distinguish runs: the metric, the losses and the gradient norm, but not settings or times.
fn witnesses(run: &LoggedRun, course: Option<&MetricCourse>) -> Vec<(String, MetricCourse)> {
    let known = [Metric::ValidationLoss, Metric::Loss, Metric::GradNorm];
    let known = known.iter().filter_map(|metric| {
        let known = MetricCourse::of_metric(run, metric)?;
        let is_own = course.is_some_and(|own| own.name == known.name && own.kind == known.kind);
        (!is_own).then(|| (metric.name().to_owned(), known))
    });
    let own = course.map(|course| (OWN.to_owned(), course.clone()));
    own.into_iter().chain(known).collect()
}

/// The runs of an arm seen so far.
#[derive(Default)]
struct Known {
    digests: BTreeMap<String, usize>,
    told_seeds: BTreeMap<usize, String>,
    seeds: BTreeMap<(String, String, String), usize>,
    courses: BTreeMap<String, KnownCourses>,
    /// Numbers about whole runs, grouped by run.
    wholes: BTreeMap<String, usize>,
}

impl Known {
    /// The earlier run that this one duplicates, with the reason.
    fn seen(
        &self,
        run: &GateRun,
        witnesses: &[(String, MetricCourse)],
        differs: &dyn Fn(usize) -> bool,
    ) -> Option<(&'static Code, usize, String)> {
        let first = digest(run).and_then(|digest| self.digests.get(&digest)).copied();
        if let Some(first) = first.filter(|first| !self.may_be_equal(*first, run, witnesses)) {
            return Some((&COPY, first, "the same bytes".to_owned()));
        }
        let whole = whole(run, witnesses).and_then(|numbers| self.wholes.get(&numbers));
        if let Some(first) = whole {
            return Some((&COPY, *first, "the same numbers except times".to_owned()));
        }
        let courses = witnesses.iter().filter_map(|(name, course)| {
            let differs = |first| name == OWN && differs(first);
            let (first, whole) = self.courses.get(name)?.seen(course, &differs)?;
            // A clipped norm is the same in all runs.
            let is_clipped = name == Metric::GradNorm.name() && self.is_unlike(first, witnesses);
            if is_clipped {
                return None;
            }
            Some((first, whole, &course.name))
        });
        // A fully equal course takes precedence over a partly shared one.
        let course = courses.max_by_key(|(_, whole, _)| *whole);
        if let Some((first, whole, name)) = course {
            let code = if self.tells_otherwise(first, witnesses) { &TWO_VALUES } else { &COPY };
            return Some(match whole {
                true => (code, first, format!("the same values of `{name}`")),
                false => {
                    (&SAME_START, first, format!("at least half of the same values of `{name}`"))
                }
            });
        }
        let key = seed(run)?;
        let first = self.seeds.get(&key)?;
        Some((&SAME_SEED, *first, format!("the same seed {} and settings", key.0)))
    }

    /// Whether a run with a different seed could match the few digits of the run `first` by chance.
    fn may_be_equal(
        &self,
        first: usize,
        run: &GateRun,
        witnesses: &[(String, MetricCourse)],
    ) -> bool {
        let own = run.logged.seed.as_ref();
        let is_other =
            own.is_some() && self.told_seeds.get(&first).is_some_and(|seed| own != Some(seed));
        let values = witnesses.iter().flat_map(|(_, course)| course.points.values());
        is_other && !course::are_no_chance(values)
    }

    /// Whether the deciding metric has different values in the run `first` than in the run of these courses.
    fn is_unlike(&self, first: usize, witnesses: &[(String, MetricCourse)]) -> bool {
        let own = witnesses.iter().find(|(name, _)| name == OWN).map(|(_, course)| course);
        let known = self.courses.get(OWN).and_then(|courses| courses.of(first));
        own.zip(known).is_some_and(|(own, known)| own.is_unlike(known))
    }

    /// Whether the run `first` ends with a different value of the metric than the run of these courses.
    fn tells_otherwise(&self, first: usize, witnesses: &[(String, MetricCourse)]) -> bool {
        let own = witnesses.iter().find(|(name, _)| name == OWN).map(|(_, course)| course);
        let known = self.courses.get(OWN).and_then(|courses| courses.of(first));
        own.zip(known).is_some_and(|(own, known)| {
            own.last() == known.last() && own.end().map(course::key) != known.end().map(course::key)
        })
    }

    fn add(&mut self, at: usize, run: &GateRun, witnesses: Vec<(String, MetricCourse)>) {
        self.told_seeds.extend(run.logged.seed.clone().map(|seed| (at, seed)));
        self.digests.extend(digest(run).map(|digest| (digest, at)));
        self.seeds.extend(seed(run).map(|seed| (seed, at)));
        self.wholes.extend(whole(run, &witnesses).map(|numbers| (numbers, at)));
        for (name, course) in witnesses {
            self.courses.entry(name).or_default().add(at, course);
        }
    }
}

/// The digest of a run's bytes and metrics, because one file can contain several runs.
fn digest(run: &GateRun) -> Option<String> {
    let digest = run.logged.identity.sha256?;
    Some(format!("{digest} {}", run.logged.metrics_sha256))
}

/// All numbers of a run that is judged by a whole-run metric, except times, if there are too many to agree by chance.
fn whole(run: &GateRun, witnesses: &[(String, MetricCourse)]) -> Option<String> {
    let is_whole = witnesses.iter().any(|(_, course)| course.kind == CourseKind::Whole);
    let numbers = || run.logged.summary.iter().filter(|(name, _)| !course::is_time(name));
    let tells = course::are_no_chance(numbers().map(|(_, number)| number));
    let mut lines: Vec<_> =
        numbers().map(|(name, number)| format!("{name}={:?}\n", course::key(number))).collect();
    lines.sort();
    (is_whole && tells).then(|| lines.concat())
}

/// A seed with the settings and the group in which it counts once.
fn seed(run: &GateRun) -> Option<(String, String, String)> {
    let seed = run.logged.seed.clone()?;
    let config = serde_json::to_string(&run.logged.config).unwrap_or_default();
    Some((seed, config, run.group.clone()))
}

/// Candidates that are also baseline runs, or share at least half of their values with one.
pub fn on_both_sides(candidates: &[FollowedRun<'_>], baselines: &[FollowedRun<'_>]) -> Vec<Error> {
    // The digest, and the whole-run numbers.
    let identities = |(run, course): &FollowedRun<'_>| {
        let own = course.iter().map(|course| (String::new(), course.clone()));
        [digest(run), whole(run, &own.collect::<Vec<_>>())]
    };
    let of_baselines: Vec<_> = baselines.iter().map(identities).collect();
    let mut known = KnownCourses::default();
    for (at, (_, course)) in baselines.iter().enumerate() {
        course.iter().for_each(|course| known.add(at, course.clone()));
    }
    let traces: Vec<&RunTrace> =
        baselines.iter().chain(candidates).map(|(run, _)| &run.trace).collect();
    let related = independence::related(&traces);
    let judged = candidates.iter().enumerate().filter_map(|(at, candidate)| {
        let own = identities(candidate);
        let is_one = |other: &[Option<String>; 2]| {
            own.iter().zip(other).any(|(own, other)| own.is_some() && own == other)
        };
        let equal = of_baselines.iter().position(is_one);
        let seen = candidate.1.as_ref().and_then(|course| {
            let differs = |at: usize| {
                baselines.get(at).is_some_and(|(run, _)| {
                    let one = &candidate.0.logged;
                    course::measure_differently(one, &run.logged, &course.name)
                })
            };
            known.seen(course, &differs)
        });
        let copy = seen.filter(|(_, whole)| *whole).map(|(at, _)| at);
        let equal = equal.into_iter().chain(copy).min();
        let is_copy = |found: &&RelatedRuns| {
            found.second == baselines.len() + at
                && found.first < baselines.len()
                && found.kinship.is_refuted()
        };
        let changed = related.iter().find(is_copy).map(|found| (found.first, true));
        let (twin, whole) = equal.map(|at| (at, true)).or(seen).or(changed)?;
        let place = Location::file(candidate.0.logged.file.as_str());
        let other = baselines.get(twin).map_or("", |(run, _)| run.logged.file.as_str());
        let share = if whole { "" } else { "at least half of the values of " };
        let found = format!("{share}`{other}` in the baseline");
        Some(ON_BOTH_SIDES.at(place, "a run that is only in the candidate", found))
    });
    judged.collect()
}
