//! Numbers by metric and step in any order, as trackers store them, and their conversion to the rows of a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::log::Identity;
use super::names::known_as;
use super::run::{LogNumber, LogRow, LoggedRun, Metric};
use super::{LEFT_OUT, NO_METRICS, REPEATED, THINNED, TOO_MANY_NUMBERS, counted};
use repro_core::digest::Hasher;
use repro_core::source::{Error, Location};

/// The maximum number of values in a run; values stay in memory until the bundle is written.
pub const NUMBERS_CAP: usize = 8 << 20;
/// The maximum length of a metric name, in bytes.
const NAME_CAP: usize = 512;
/// The maximum number of metrics in a run.
const NAMES_CAP: usize = 1 << 16;

/// A number as stored in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// A 32-bit float.
    Single(f32),
    /// A 64-bit float.
    Double(f64),
    /// A printed number.
    Printed(LogNumber),
}

impl Reading {
    fn number(self) -> LogNumber {
        match self {
            Self::Single(value) => LogNumber::of_single(value),
            Self::Double(value) => LogNumber::of_double(value),
            Self::Printed(number) => number,
        }
    }
}

#[derive(Debug, Clone)]
struct Point {
    step: u64,
    metric: u32,
    reading: Reading,
}

/// The numbers of one run before conversion to rows.
#[derive(Debug)]
pub struct Points {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
    points: Vec<Point>,
    /// Only multiples of this step are kept, plus the last step of each metric.
    every: u64,
    ends: BTreeMap<u32, Point>,
    thinned: usize,
    /// The number of values, kept or not.
    total: usize,
    /// Entries that are not a number at a step: how many, and the first.
    left_out: Option<(usize, String)>,
}

impl Points {
    /// An empty collection that keeps every n-th step.
    pub fn new(every: u64) -> Self {
        Self {
            names: Vec::new(),
            ids: HashMap::new(),
            points: Vec::new(),
            every: every.max(1),
            ends: BTreeMap::new(),
            thinned: 0,
            total: 0,
            left_out: None,
        }
    }

    /// The index of a metric; none for an invalid name.
    pub fn metric(&mut self, name: &str) -> Option<u32> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let fits = !name.is_empty() && name.len() <= NAME_CAP && !name.contains(['\n', '\r', '\0']);
        if !fits || self.names.len() == NAMES_CAP {
            return None;
        }
        let (id, name) = (u32::try_from(self.names.len()).ok()?, Arc::<str>::from(name));
        self.names.push(name.clone());
        self.ids.insert(name, id);
        Some(id)
    }

    /// Adds the value of a metric at a step.
    pub fn add(&mut self, metric: u32, step: u64, reading: Reading) {
        self.total += 1;
        let point = Point { step, metric, reading };
        if step.is_multiple_of(self.every) {
            if self.points.len() < NUMBERS_CAP {
                self.points.push(point);
            }
            return;
        }
        self.thinned += 1;
        let last = self.ends.entry(metric).or_insert_with(|| point.clone());
        if step >= last.step {
            *last = point;
        }
    }

    /// Drops the values at a step and all later ones, because the run went back to that step.
    pub fn forget_from(&mut self, step: u64) {
        self.points.retain(|point| point.step < step);
        self.ends.retain(|_, point| point.step < step);
    }

    /// Adds a value by metric name.
    pub fn add_named(&mut self, name: &str, step: u64, reading: Reading) {
        match self.metric(name) {
            Some(metric) => self.add(metric, step, reading),
            None => self.leave_out(format!("the name `{}`", name.escape_debug())),
        }
    }

    /// Adds a value whose step may be missing.
    pub fn add_signed(&mut self, name: &str, step: i64, reading: Reading) {
        match u64::try_from(step) {
            Ok(step) => self.add_named(name, step, reading),
            Err(_) => self.leave_out(format!("step {step} of `{name}`")),
        }
    }

    /// Notes an entry that is not a number at a step.
    pub fn leave_out(&mut self, what: String) {
        let (count, first) = self.left_out.take().unwrap_or((0, what));
        self.left_out = Some((count + 1, first));
    }

    /// Whether no value was added.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Converts the values to a run; `file` is its log.
    pub fn into_run(mut self, file: &str, identity: Identity) -> Result<LoggedRun, Error> {
        let place = || Location::file(file);
        if self.is_empty() {
            let found = if identity.bytes == 0 { "an empty file" } else { "none" };
            return Err(NO_METRICS.at(place(), "numbers by metric and step", found));
        }
        let kept = self.total - self.thinned;
        if kept > NUMBERS_CAP {
            let error = TOO_MANY_NUMBERS.at(
                place(),
                format!("at most {NUMBERS_CAP} numbers"),
                kept.to_string(),
            );
            let every = self.every.saturating_mul(kept.div_ceil(NUMBERS_CAP) as u64);
            return Err(error.help(format!("keep every n-th step: `--every {every}`")));
        }
        self.points.extend(std::mem::take(&mut self.ends).into_values());
        // Stable, so the last value logged for a step stays last.
        self.points.sort_by_key(|point| (point.step, point.metric));
        let repeated = self.keep_last();
        let (metrics, theirs) = self.metrics();
        let (training, evaluations, hasher) = self.rows(&metrics);
        let mut run = LoggedRun::new(file, identity, hasher.finish());
        (run.training, run.evaluations, run.theirs) = (training, evaluations, theirs);
        if let Some((count, first)) = repeated {
            let found = format!("{}, the first at {first}", counted(count, "other value"));
            run.note(REPEATED.at(place(), "one value per step and metric", found));
        }
        if let Some((count, first)) = self.left_out {
            let found = format!("{}, the first is {first}", counted(count, "item"));
            run.note(LEFT_OUT.at(place(), "numbers with a metric and a step", found));
        }
        if self.thinned > 0 {
            let found = format!("{} numbers left out", self.thinned);
            let expected = format!("multiples of {}, and the last steps", self.every);
            run.note(THINNED.at(place(), expected, found));
        }
        Ok(run)
    }

    /// Keeps the last value of each metric and step; returns how many others differ from it, and where.
    fn keep_last(&mut self) -> Option<(usize, String)> {
        let mut differing: Option<(usize, (u64, u32))> = None;
        self.points.dedup_by(|later, kept| {
            if (later.step, later.metric) != (kept.step, kept.metric) {
                return false;
            }
            if later.reading != kept.reading {
                let (count, first) = differing.unwrap_or((0, (kept.step, kept.metric)));
                differing = Some((count + 1, first));
            }
            std::mem::swap(&mut kept.reading, &mut later.reading);
            true
        });
        differing.map(|(count, (step, metric))| {
            let name = self.names.get(metric as usize).map_or("", |name| name);
            (count, format!("step {step} of `{name}`"))
        })
    }

    /// The meaning of each metric, and the names of the metrics with a known meaning.
    fn metrics(&self) -> (Vec<Metric>, BTreeMap<Metric, Arc<str>>) {
        let known = known_as(&self.names);
        let theirs = known.iter().filter(|(metric, name)| metric.name() != &***name);
        let theirs = theirs.map(|(metric, name)| (metric.clone(), Arc::clone(name))).collect();
        let metric = |name: &Arc<str>| {
            let ours = known.iter().find(|(_, theirs)| *theirs == name);
            ours.map_or_else(|| Metric::Other(name.clone()), |(metric, _)| metric.clone())
        };
        (self.names.iter().map(metric).collect(), theirs)
    }

    /// Training and evaluation rows by ascending step, and the hash of all of them.
    fn rows(&mut self, metrics: &[Metric]) -> (Vec<LogRow>, Vec<LogRow>, Hasher) {
        let (mut training, mut evaluations) = (Vec::<LogRow>::new(), Vec::<LogRow>::new());
        let evaluated: Vec<bool> = metrics.iter().map(Metric::is_evaluated).collect();
        let mut hasher = Hasher::default();
        for point in std::mem::take(&mut self.points) {
            let at = point.metric as usize;
            let (Some(metric), Some(name)) = (metrics.get(at), self.names.get(at)) else {
                continue;
            };
            let number = point.reading.number();
            hasher.update(format!("{} {name}={}\n", point.step, number.text()).as_bytes());
            let evaluated = evaluated.get(at).copied().unwrap_or_default();
            let rows = if evaluated { &mut evaluations } else { &mut training };
            match rows.last_mut().filter(|row| row.step == point.step) {
                Some(row) => row.cells.push((metric.clone(), number)),
                None => {
                    rows.push(LogRow { step: point.step, cells: vec![(metric.clone(), number)] });
                }
            }
        }
        (training, evaluations, hasher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { sha256: None, bytes: 1 }
    }

    fn run(points: &[(&str, u64, f64)], every: u64) -> Result<LoggedRun, Error> {
        let mut all = Points::new(every);
        for (name, step, value) in points {
            all.add_named(name, *step, Reading::Double(*value));
        }
        all.into_run("f", identity())
    }

    fn cells(rows: &[LogRow]) -> Vec<String> {
        let cell = |step: u64, (metric, number): &(Metric, LogNumber)| {
            format!("{step} {}={}", metric.name(), number.text())
        };
        rows.iter().flat_map(|row| row.cells.iter().map(|one| cell(row.step, one))).collect()
    }

    #[test]
    fn numbers_in_any_order_are_rows_by_step() {
        let points = [
            ("reward", 2, 0.1),
            ("eval/loss", 1, 3.5),
            ("train/loss", 1, 4.0),
            ("eval/wer", 2, 1e-7),
            ("reward", 1, -2.0),
        ];
        let run = run(&points, 1).unwrap();
        assert_eq!(cells(&run.training), ["1 reward=-2.0", "1 loss=4.0", "2 reward=0.1"]);
        assert_eq!(cells(&run.evaluations), ["1 val_loss=3.5", "2 eval/wer=1e-7"]);
        assert_eq!(&*run.theirs[&Metric::ValidationLoss], "eval/loss");
        assert!(run.findings.is_empty());
    }

    #[test]
    fn the_last_value_of_a_step_is_kept_and_the_others_are_told() {
        let run = run(&[("a", 1, 1.0), ("a", 1, 2.0), ("b", 1, 1.0), ("a", 1, 3.0)], 1).unwrap();
        assert_eq!(cells(&run.training), ["1 a=3.0", "1 b=1.0"]);
        let told = &run.findings[0].error;
        assert_eq!(
            (told.code.id, told.found.as_str()),
            ("import::repeated-values", "2 other values, the first at step 1 of `a`")
        );
    }

    #[test]
    fn every_nth_step_is_kept_and_the_last() {
        let points: Vec<_> = (0..23).map(|step| ("a", step, 1.0)).collect();
        let run = run(&points, 10).unwrap();
        let steps: Vec<_> = run.training.iter().map(|row| row.step).collect();
        assert_eq!(steps, [0, 10, 20, 22]);
        assert_eq!(run.findings[0].error.code.id, "import::thinned-steps");
    }

    #[test]
    fn what_is_no_number_at_a_step_is_told() {
        let mut points = Points::new(1);
        points.add_signed("a", -1, Reading::Single(1.0));
        points.add_named("", 0, Reading::Single(1.0));
        points.add_named("a", 0, Reading::Single(0.1));
        let run = points.into_run("f", identity()).unwrap();
        assert_eq!(cells(&run.training), ["0 a=0.1"]);
        assert_eq!(run.findings[0].error.found, "2 items, the first is step -1 of `a`");
        assert_eq!(
            Points::new(1).into_run("f", identity()).unwrap_err().code.id,
            "import::no-metrics"
        );
    }
}
