//! The replay of one slice: it is opened, which reads and checks everything and makes no step, executed,
//! compared with its log, disturbed by planted faults, and judged.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::calibration::Calibration;
use super::corpora::Corpora;
use super::course::{Course, FirstPass, RowsRead, SampledSteps, StepMeasure};
use super::fault::{self, Garden, Planted};
use super::kept_end;
use super::machine::{Machine, Progress, ReplayPhase, ReplayedRun, on_threads};
use super::names;
use super::records::{Contradiction, RecordsFound};
use super::slice::{Logged, Slice};
use super::start::is_rule;
use super::stated;
use super::step::{Layout, Step, StepQuantity};
use super::training::Watch;
use super::uncompared::{self, LeftOpen};
use crate::backend::{Backend, Host, Place, on_place};
use crate::data::Order;
use crate::learner::{Stepped, Values};
use crate::model::Config;
use crate::{Precision, UpdateMethod};
use repro_core::Verdict;
use repro_core::parallel;
use repro_core::source::Error;
use repro_model::replay::{
    AGAINST_RECORDS, BAD_SLICE, Batches, COMPILED, DIVERGED, Divergence, Extent, MicroBatchSample,
    NO_GRADIENTS, NO_ROUTES, NO_START, OTHER_BATCHES, OTHER_MACHINE, PlantedFault, RECORDS_UNCLEAR,
    Replay, ReplayComparison, ReplayEngine, SAMPLED, SIGNS, STOPPED, SampledMicroBatches,
    TIED_ROUTES, TOO_COARSE, TensorReport, Tolerance, Trained, UNTRAINED,
};
use repro_stats::rng::Rng;

/// The possible effect of a rerouted token on an update, relative to it; a tenth of the effect of a rate off by 1%.
const OF_ONE_TOKEN: f64 = 1e-3;

/// A slice that is about to be replayed: everything is read and checked, no step is made.
pub struct Session<'a> {
    pub subject: &'a ReplayedRun<'a>,
    pub course: Course,
    pub layout: Layout,
    /// The logged steps, up to where the replay goes.
    pub logged: Vec<Step>,
    /// The logged tensors at the end, if the replay goes to the end of the slice.
    ends: Vec<Option<Logged>>,
    batches: Batches,
    sampled: Option<SampledMicroBatches>,
    records: RecordsFound,
    left_open: LeftOpen,
    /// Rows of the validation text, as many as the steps read; or why there are none.
    held_out: Result<Vec<Vec<u32>>, String>,
}

/// The steps of a slice as they came out here.
pub struct Executed {
    pub steps: Vec<Step>,
    /// How many were made.
    pub done: u64,
    /// Whether somebody ended them.
    pub stopped: bool,
    /// Whether they train.
    pub trained: Trained,
    /// The tensors after the last one.
    pub values: Vec<Values>,
    /// Their first pass, where a calibration follows.
    pub first: Option<FirstPass>,
}

/// A slice as the trainer's engine executed it.
pub struct OwnReplay {
    /// The report.
    pub replay: Replay,
    /// The steps, unless there is no verdict because they were not all made.
    pub executed: Option<Executed>,
    /// The tolerance, where bits are not compared.
    pub calibration: Option<Calibration>,
}

impl OwnReplay {
    fn unfinished(replay: Replay) -> Self {
        Self { replay, executed: None, calibration: None }
    }
}

impl<'a> Session<'a> {
    /// Reads the slice that begins after `from` steps, as far as `to`, and a sample of its micro-batches alone where one is
    /// asked for.
    pub fn open(
        subject: &'a ReplayedRun<'a>,
        (from, to): (u64, u64),
        sample: Option<MicroBatchSample>,
        corpora: &Corpora,
    ) -> Result<Self, Error> {
        let model = Config::read(subject.config)?;
        let mut slice = Slice::load(subject, (from, sample.is_some()), &model)?;
        if to > subject.shape.steps {
            let expected = format!("steps within the run's {}", subject.shape.steps);
            return Err(BAD_SLICE.at(slice.place, expected, format!("steps up to {to}")));
        }
        if slice.checkpoint.unwrap_or(from) != from {
            let expected = format!("the checkpoint after {from} steps, where the slice starts");
            let found = format!("a checkpoint after {}", slice.checkpoint.unwrap_or_default());
            return Err(NO_START.at(slice.place, expected, found));
        }
        let batches = batches(subject, &mut slice, corpora)?;
        if let (Some(contradiction), Batches::OnTrust(_)) = (&slice.records.contradiction, &batches)
            && contradiction.total
        {
            return Err(contradiction.of_another_run());
        }
        let steps = to - from;
        let whole = slice.rows.len() as u64 == steps;
        slice.rows.truncate(steps as usize);
        slice.steps.truncate(steps as usize);
        let start = subject.start(from)?;
        let rows = RowsRead::Kept(std::mem::take(&mut slice.rows));
        let mut course = subject.course(slice.regime.clone(), start, steps, rows)?;
        course.marks = std::mem::take(&mut slice.marks);
        course.exact_norms = slice.exact_norms;
        let sampled = sample.map(|sample| sampled(&mut course, &mut slice, sample)).transpose()?;
        let sampled = sampled.flatten();
        let layout = course.layout()?;
        stated::fits(subject.bundle, from, &course.regime.optimizer.groups, &layout)?;
        // Names and shapes of the start are held against the model before any step, wherever that will be made.
        course.begin(Host::<f32>::new(subject.machine.place.isa))?;
        let order = Arrangement::of(layout, &slice)?;
        let numbers = sampled.as_ref().map(|sampled| sampled.numbers.as_slice());
        let of_sample = |step: &Step| order.step(step).of_micro_batches(numbers);
        let logged: Vec<_> = slice.steps.iter().map(of_sample).collect();
        if subject.comparison() == ReplayComparison::Calibrated {
            course.clip_by = logged.iter().map(|step| step.clipped_by.or(step.norm)).collect();
        }
        let ends = if whole { order.list(&slice.tensors) } else { Vec::new() };
        let layout = order.layout(&slice);
        let mut records = std::mem::take(&mut slice.records);
        let resting = layout.names.iter().enumerate().filter(|(at, _)| layout.rests(*at));
        let frozen: Vec<_> =
            resting.map(|(_, name)| name).filter(|name| !is_rule(&names::ours(name))).collect();
        if let Some(first) = frozen.first() {
            let count = frozen.len();
            let told = format!("{count} tensors are in no optimizer group, the first is `{first}`");
            records.report.open.push(told);
        }
        let width = subject.shape.seq_len + 1;
        let mut left_open = LeftOpen::default();
        if let RowsRead::Kept(rows) = &course.rows {
            left_open.reading = uncompared::read_of(rows, &course.marks, width);
        }
        if subject.comparison() == ReplayComparison::Calibrated {
            let regime = &course.regime;
            left_open.uncompared = uncompared::of_other_program(&slice, &logged, &layout, regime);
            left_open.uncompared.extend(uncompared::described(subject.config, regime));
        }
        let held_out = held_out(subject, corpora, (&model, steps));
        Ok(Self {
            subject,
            course,
            layout,
            logged,
            ends,
            batches,
            sampled,
            records,
            left_open,
            held_out,
        })
    }

    /// Executes the slice with the engines that were asked for, and judges it.
    pub fn replay(self, extent: Extent, progress: &dyn Progress) -> Result<Replay, Error> {
        match self.subject.machine.engine {
            ReplayEngine::Own => Ok(self.own(extent, progress)?.replay),
            ReplayEngine::Candle => self.by_candle(extent, progress),
            ReplayEngine::Both => self.by_both(extent, progress),
        }
    }

    /// The batches of the slice, rows one after the other.
    pub fn rows_kept(&self) -> Vec<Vec<u32>> {
        match &self.course.rows {
            RowsRead::Kept(rows) => rows.clone(),
            RowsRead::Drawn(..) => Vec::new(),
        }
    }

    /// A report of this slice that says nothing yet.
    pub fn unjudged(&self, extent: Extent) -> Replay {
        Replay {
            start: self.course.start.shown.clone(),
            batches: self.batches.clone(),
            sampled: self.sampled.clone(),
            records: self.records.report.clone(),
            reading: self.left_open.reading.clone(),
            uncompared: self.left_open.uncompared.clone(),
            ..self.subject.blank(extent)
        }
    }

    /// Executes the slice with the trainer's engine, and judges it.
    pub fn own(&self, extent: Extent, progress: &dyn Progress) -> Result<OwnReplay, Error> {
        let mut replay = self.unjudged(extent);
        // A tolerance would grow with the errors of a device. Bits that are compared with a log need no such look.
        if !self.is_bitwise()
            && let Some(reason) = self.other_first_step()?
        {
            return Ok(OwnReplay::unfinished(self.subject.undecided(
                extent,
                &OTHER_MACHINE,
                reason,
            )));
        }
        // Whether to go on is asked after each step.
        let _ = progress.begins(ReplayPhase::Executing);
        let measure = if self.is_bitwise() { StepMeasure::Bits } else { StepMeasure::NarrowMoves };
        let executed = self.execute(measure, progress)?;
        let steps = self.course.steps;
        if executed.stopped {
            self.compare(&executed, None, &mut replay);
            replay.divergence = replay.divergence.filter(|_| self.is_bitwise());
            let when = format!("stopped after {} of {steps} steps", executed.done);
            return Ok(OwnReplay::unfinished(stopped(replay, when)));
        }
        let calibration = match self.is_bitwise() {
            true => None,
            false if progress.begins(ReplayPhase::Calibrating).is_break() => {
                let when = "stopped before calibration".to_owned();
                return Ok(OwnReplay::unfinished(stopped(replay, when)));
            }
            false => Some(self.calibrate(&executed, &[], progress)?),
        };
        self.compare(&executed, calibration.as_ref(), &mut replay);
        replay.faults = self.planted(calibration.as_ref(), &executed, progress)?;
        if let Some(calibration) = &calibration {
            replay.tolerance = Some(self.tolerance_report(calibration));
        }
        self.judge(&mut replay);
        Ok(OwnReplay { replay, executed: Some(executed), calibration })
    }

    /// Tests which planted faults the slice detects, unless the caller wants none.
    pub fn planted(
        &self,
        calibration: Option<&Calibration>,
        executed: &Executed,
        progress: &dyn Progress,
    ) -> Result<Vec<PlantedFault>, Error> {
        if progress.begins(ReplayPhase::Planting).is_break() {
            return Ok(Vec::new());
        }
        let threads = self.subject.machine.threads;
        on_threads(threads, || self.faults(calibration, executed, progress))?
    }

    /// A tolerance as it is reported.
    pub fn tolerance_report(&self, calibration: &Calibration) -> Tolerance {
        calibration.report(&self.layout, &self.logged, self.course.start.step)
    }

    /// Where a device makes the first step otherwise than the processor does, if a device is used: golden cases do not have
    /// the operations of every model.
    pub fn other_first_step(&self) -> Result<Option<String>, Error> {
        let Machine { place, threads, .. } = self.subject.machine;
        if place.device.is_none() {
            return Ok(None);
        }
        let course = Course { steps: 1, ..self.course.clone() };
        let step = |place: &Place| -> Result<Step, Error> {
            let mut made = Step::default();
            let each = |_: usize, step: &Step, _: &Stepped| {
                made = step.clone();
                ControlFlow::Continue(())
            };
            on_place!(place, backend => drop(course.walk(backend, StepMeasure::Bits, each)?));
            Ok(made)
        };
        let host = Place::host(place.isa);
        let (here, there) = on_threads(*threads, || Ok((step(&host)?, step(place)?))).flatten()?;
        place.sound()?;
        let number = self.course.start.step + 1;
        let found = self.layout.divergence((number, true), &here, &there, |_| 0.0);
        Ok(found.map(|found| {
            let (id, shown) = (place.id(), found.shown());
            format!("`{id}` computes step {number} differently from the CPU: the first difference is {shown}")
        }))
    }

    pub fn is_bitwise(&self) -> bool {
        self.subject.comparison() == ReplayComparison::Bitwise
    }

    /// The rounding tolerance of the executed steps, where the log and a second account, if there is one, may
    /// route tokens otherwise.
    pub fn calibrate(
        &self,
        executed: &Executed,
        second: &[Step],
        progress: &dyn Progress,
    ) -> Result<Calibration, Error> {
        let base = (executed.steps.clone(), executed.first.as_ref());
        let machine = self.subject.machine;
        let accounts = [self.logged.as_slice(), second];
        Calibration::of(&self.course, base, (&self.layout, accounts), machine, progress)
    }

    /// Makes the steps.
    pub fn execute(
        &self,
        measure: StepMeasure,
        progress: &dyn Progress,
    ) -> Result<Executed, Error> {
        let threads = self.subject.machine.threads;
        on_threads(
            threads,
            || on_place!(self.place(), backend => self.walk(backend, measure, progress)),
        )?
    }

    /// Where the model of the steps lives, and that of planted faults.
    fn place(&self) -> &Place {
        &self.subject.machine.place
    }

    fn walk<B: Backend<Number = f32>>(
        &self,
        backend: B,
        measure: StepMeasure,
        progress: &dyn Progress,
    ) -> Result<Executed, Error> {
        let from = self.course.start.step;
        let (mut watch, mut steps, mut flow) =
            (Watch::default(), Vec::new(), ControlFlow::Continue(()));
        let mut walker = self.course.walk(backend, measure, |at, step, _| {
            watch.step(step, self.course.rates(from + at as u64));
            steps.push(step.clone());
            flow = progress.step(at as u64 + 1, self.course.steps);
            flow
        })?;
        let done = walker.done;
        Ok(Executed {
            steps,
            done,
            stopped: done < self.course.steps && flow.is_break(),
            trained: watch.end(&walker, &self.layout, from)?,
            values: walker.learner.values()?,
            first: walker.first_pass(),
        })
    }

    /// Compares each step with the log.
    pub fn compare(
        &self,
        executed: &Executed,
        calibration: Option<&Calibration>,
        replay: &mut Replay,
    ) {
        let from = self.course.start.step;
        let nothing = Step::default();
        for (at, step) in executed.steps.iter().enumerate() {
            let logged = self.logged.get(at).unwrap_or(&nothing);
            let number = from + at as u64 + 1;
            replay.flips.extend(self.flips(number, logged, step));
            replay.steps.push(logged.report(number, step));
            if replay.divergence.is_none() {
                let allowed = |quantity| tolerance(calibration, at, quantity);
                replay.divergence =
                    self.layout.divergence((number, at == 0), logged, step, allowed);
            }
            if let Some(calibration) = calibration {
                let allowed = |quantity| calibration.tolerance(at, quantity);
                replay.shares.extend(self.layout.shares(number, logged, step, allowed));
            }
        }
        replay.executed = executed.done;
        if executed.stopped {
            return;
        }
        if executed.done < self.course.steps {
            replay.divergence.get_or_insert_with(|| Divergence::not_finite(from + executed.done));
        }
        replay.trained = executed.trained.clone();
        let last = executed.steps.last().unwrap_or(&nothing);
        replay.tensors = self.tensors(&executed.values, last, calibration);
        if replay.divergence.is_none() {
            replay.divergence = match calibration {
                Some(_) => {
                    let end = from + self.course.steps;
                    kept_end::elsewhere(self.subject, end, &executed.values, &replay.tensors)
                }
                None => self.end(&replay.tensors),
            };
        }
    }

    /// The routers that send tokens elsewhere than the log says.
    fn flips<'s>(
        &'s self,
        number: u64,
        logged: &'s Step,
        made: &'s Step,
    ) -> impl Iterator<Item = (u64, String, u64)> + 's {
        self.layout.routers.iter().enumerate().filter_map(move |(layer, router)| {
            let moved = StepQuantity::Routing(layer)
                .deviation(logged, made)
                .filter(|moved| *moved > 0.0)?;
            Some((number, router.clone(), moved as u64))
        })
    }

    /// The tensors at the end of the slice.
    fn tensors(
        &self,
        values: &[Values],
        last: &Step,
        calibration: Option<&Calibration>,
    ) -> Vec<TensorReport> {
        let at_end = self.logged.len().saturating_sub(1);
        let row = |(at, values): (usize, &Values)| {
            let end = self.ends.get(at).and_then(Option::as_ref);
            let digest = end.and_then(|end| end.digest).filter(|_| calibration.is_none());
            let head =
                || Some(*self.logged.last()?.digests.as_ref()?.get(at)? == values.digest().head());
            let equal = digest.map(|digest| digest == values.digest());
            let tolerance = calibration
                .map(|calibration| calibration.tolerance(at_end, StepQuantity::Moved(at)));
            Some(TensorReport {
                name: self.layout.names.get(at)?.clone(),
                logged: end.and_then(|end| end.moved),
                replayed: last.moved.as_ref()?.get(at).copied()?,
                compared: tolerance.is_none_or(f64::is_finite)
                    && self.logged.iter().any(|step| step.tells_of(at)),
                equal: equal.or_else(|| head().filter(|_| calibration.is_none())),
                tolerance: tolerance.filter(|allowed| allowed.is_finite()),
            })
        };
        values.iter().enumerate().filter_map(row).collect()
    }

    /// The first tensor whose bits at the end differ, where the digests after each step did not show it.
    fn end(&self, tensors: &[TensorReport]) -> Option<Divergence> {
        let differs =
            |at: &&usize| tensors.get(**at).is_some_and(|tensor| tensor.equal == Some(false));
        let at = *self.layout.forward.iter().find(differs)?;
        let logged = self.ends.get(at)?.as_ref()?.digest?;
        Some(Divergence {
            step: self.course.start.step + self.course.steps,
            what: "bits",
            tensor: self.layout.names.get(at).cloned(),
            logged: format!("sha256 {logged}"),
            replayed: "a different digest".to_owned(),
            difference: None,
            inputs_matched: None,
            hint: "the digests at the end of the slice do not match the tensors after its steps"
                .to_owned(),
        })
    }

    /// Plants every fault, and sees whether it shows.
    fn faults(
        &self,
        calibration: Option<&Calibration>,
        executed: &Executed,
        progress: &dyn Progress,
    ) -> Result<Vec<PlantedFault>, Error> {
        let garden = Garden {
            course: &self.course,
            layout: &self.layout,
            logged: &self.logged,
            held_out: &self.held_out,
            fine: calibration.is_none(),
        };
        let faults = garden.all()?;
        let counts = faults.iter().flat_map(|fault| &fault.planted).map(Vec::len);
        progress.expects(counts.sum::<usize>() as u64 * self.course.steps);
        let seen = |fault: &fault::Fault| {
            on_threads(1, || self.seen(fault, (calibration, executed), progress))?
        };
        parallel::map(&faults, self.subject.machine.threads, seen).into_iter().collect()
    }

    /// Where a fault shows, in the smallest size that does.
    fn seen(
        &self,
        fault: &fault::Fault,
        (calibration, executed): (Option<&Calibration>, &Executed),
        progress: &dyn Progress,
    ) -> Result<PlantedFault, Error> {
        let none = |unseen| PlantedFault {
            fault: fault.id,
            planted: String::new(),
            at: None,
            smallest: None,
            unseen,
        };
        let planted = match &fault.planted {
            Err(why) => return Ok(none(Some(why.clone()))),
            Ok(planted) => planted,
        };
        let mut seen = none(None);
        for planted in planted {
            // Sizes behind one that shows are not walked.
            let walked = Walked::new(progress, self.course.steps);
            if seen.at.is_some() {
                continue;
            }
            seen = match calibration {
                Some(calibration) => {
                    self.shows(fault.id, planted, (calibration, executed), &walked)?
                }
                None => self.shows_bits(fault.id, planted, &walked)?,
            };
        }
        Ok(seen)
    }

    /// Where a fault changes a bit that was logged.
    fn shows_bits(
        &self,
        fault: &'static str,
        planted: &Planted,
        walked: &Walked<'_>,
    ) -> Result<PlantedFault, Error> {
        let mut at = None;
        let from = self.course.start.step;
        let each = |number: usize, step: &Step, _: &Stepped| {
            walked.step();
            let Some(logged) = self.logged.get(number) else { return ControlFlow::Break(()) };
            let step_number = from + number as u64 + 1;
            let found = self.layout.divergence((step_number, number == 0), logged, step, |_| 0.0);
            at = found.map(|found| (step_number, found.shown()));
            if at.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        on_place!(self.place(), backend => {
            drop(planted.course.walk(backend, StepMeasure::Bits, each)?);
        });
        let smallest = planted.size.filter(|_| at.is_some());
        Ok(PlantedFault { fault, planted: planted.what.clone(), at, smallest, unseen: None })
    }

    /// Where a fault leaves the tolerance by so much that a log which strays the other way as far as is
    /// allowed would show it too.
    fn shows(
        &self,
        fault: &'static str,
        planted: &Planted,
        (calibration, executed): (&Calibration, &Executed),
        walked: &Walked<'_>,
    ) -> Result<PlantedFault, Error> {
        let from = self.course.start.step;
        let (mut at, mut strongest) = (None, 0.0_f64);
        let first = executed.first.as_ref();
        let each = |number: usize, step: &Step, _: &Stepped| {
            walked.step();
            let base = executed.steps.get(number);
            let (Some(logged), Some(base)) = (self.logged.get(number), base) else {
                return ControlFlow::Break(());
            };
            for quantity in self.layout.quantities() {
                // Only what was logged can show anything.
                if quantity.deviation(logged, base).is_none() {
                    continue;
                }
                let Some(apart) = quantity.deviation(base, step) else { continue };
                let allowed = 2.0 * calibration.tolerance(number, quantity);
                if apart > allowed && at.is_none() {
                    at = Some((from + number as u64 + 1, quantity.shown(&self.layout)));
                }
                if allowed > 0.0 {
                    strongest = strongest.max(apart / allowed);
                }
            }
            // How small a fault may be is asked of those that have sizes.
            match at.is_some() && planted.size.is_none() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        on_place!(self.place(), backend => {
            drop(planted.course.walk_after(backend, first, StepMeasure::Moves, each)?);
        });
        // Small faults work in proportion to their size.
        let smallest = planted.size.filter(|_| at.is_some() && strongest > 0.0);
        let smallest = smallest.map(|size| size / strongest);
        Ok(PlantedFault { fault, planted: planted.what.clone(), at, smallest, unseen: None })
    }

    /// Whether what differs comes after an update by such a rule.
    fn follows(&self, divergence: &Divergence, rule: impl Fn(UpdateMethod) -> bool) -> bool {
        let groups = &self.course.regime.optimizer.groups;
        let is_first = divergence.step == self.course.start.step + 1;
        groups.iter().any(|group| rule(group.method))
            && !(is_first && comes_before_updates(divergence))
    }

    /// Whether what differs may come of a token that rounding sent to another expert, of which the log says nothing.
    fn may_be_rerouted(&self, divergence: &Divergence) -> bool {
        let is_unknown =
            !self.layout.routers.is_empty() && self.logged.iter().all(|step| step.routed.is_none());
        let is_calibrated = self.subject.comparison() == ReplayComparison::Calibrated;
        // Moved by AdamW, tensors show little of one token.
        let is_small = divergence.difference.is_some_and(|(apart, _)| apart < OF_ONE_TOKEN);
        is_calibrated && is_unknown && (comes_before_updates(divergence) || is_small)
    }

    /// The reason why rounding prevents a verification: with all bits of float32, the updates of some tensors; with fewer,
    /// one of the faults that have to show.
    fn hidden(&self, coarse: usize, faults: &[PlantedFault]) -> Option<String> {
        if self.course.regime.precision == Precision::Full {
            return (coarse > 0).then(|| {
                format!(
                    "{coarse} of {} tensors: rounding changes their updates by more than half the \
                     effect of {:.0}% of the learning rate",
                    self.layout.names.len(),
                    100.0 * fault::decisive(&self.course.regime),
                )
            });
        }
        let of = |id: &&str| faults.iter().find(|fault| fault.fault == *id);
        let is_seen = |id: &&str| of(id).is_some_and(|fault| fault.at.is_some());
        let hidden = fault::DECISIVE.into_iter().find(|id| !is_seen(id))?;
        let why = match of(&hidden) {
            None => "it was not planted".to_owned(),
            Some(PlantedFault { unseen: Some(why), .. }) => why.clone(),
            Some(fault) => format!("{} stays within the tolerance", fault.planted),
        };
        Some(format!("at this precision, `{hidden}` would not be detected: {why}"))
    }

    /// Writes the verdict.
    pub fn judge(&self, replay: &mut Replay) {
        let verdict = |replay: &mut Replay, verdict, code, reason: String| {
            (replay.verdict, replay.code, replay.reason) = (verdict, Some(code), reason);
        };
        let coarse = replay.tolerance.as_ref().map(|tolerance| tolerance.coarse.len()).unwrap_or(0);
        let untrained = replay.trained.untrained().next().cloned();
        if let Some(divergence) = &replay.divergence {
            let reason = format!("step {}: the {} differs", divergence.step, divergence.shown());
            let blurred = replay.tolerance.as_ref().map_or(0, |tolerance| tolerance.blurred.len());
            let all = self.layout.names.len();
            let wild = replay.tolerance.as_ref().and_then(|tolerance| tolerance.wild);
            let wild = wild.filter(|(step, _)| *step < divergence.step);
            let tied = replay.tolerance.as_ref().and_then(|tolerance| tolerance.tied);
            let tied = tied.filter(|(step, _)| *step <= divergence.step);
            if let Some((step, tokens)) = tied {
                let reason = format!(
                    "experts have equal scores for {tokens} tokens of step {step}, and the log chose \
                     different ones; {reason}"
                );
                verdict(replay, Verdict::Inconclusive, &TIED_ROUTES, reason);
            // Signs of numbers near zero are decided by rounding.
            } else if let Some((step, most)) = wild {
                let percent = 100.0 * most;
                let reason = format!(
                    "rounding alone changes a gradient of step {step} by {percent:.0}%; {reason}"
                );
                verdict(replay, Verdict::Inconclusive, &TOO_COARSE, reason);
            } else if 2 * blurred > all {
                let reason = format!(
                    "the gradients of {blurred} of {all} tensors are only rounding; {reason}"
                );
                verdict(replay, Verdict::Inconclusive, &TOO_COARSE, reason);
            } else if self.follows(divergence, |method| method == UpdateMethod::Lion) {
                verdict(replay, Verdict::Inconclusive, &SIGNS, reason);
            } else if self.follows(divergence, UpdateMethod::is_compiled) {
                verdict(replay, Verdict::Inconclusive, &COMPILED, reason);
            } else if self.may_be_rerouted(divergence) {
                verdict(replay, Verdict::Inconclusive, &NO_ROUTES, reason);
            } else {
                verdict(replay, Verdict::Refuted, &DIVERGED, reason);
            }
        } else if let Some(Contradiction { expected, found, .. }) = &self.records.contradiction {
            let reason = format!("expected {expected}, found {found}");
            verdict(replay, Verdict::Refuted, &AGAINST_RECORDS, reason);
        } else if let Some(reason) = self.hidden(coarse, &replay.faults) {
            verdict(replay, Verdict::Inconclusive, &TOO_COARSE, reason);
        } else if let Some(differing) = replay.records.differing.first() {
            let reason = format!("the steps match, but the records of the run do not: {differing}");
            verdict(replay, Verdict::Inconclusive, &RECORDS_UNCLEAR, reason);
        } else if let Some(tensor) = untrained {
            let reason = format!("everything matches, but `{tensor}` was not trained");
            verdict(replay, Verdict::Inconclusive, &UNTRAINED, reason);
        } else if let Some(SampledMicroBatches { numbers, of, .. }) = &self.sampled {
            let reason = format!(
                "{} of {of} micro-batches of each step match, and so do the updates by the logged gradients",
                numbers.len()
            );
            verdict(replay, Verdict::Inconclusive, &SAMPLED, reason);
        } else {
            (replay.verdict, replay.code) = (Verdict::Verified, None);
        }
    }
}

/// The report of a replay that somebody ended.
pub fn stopped(replay: Replay, when: String) -> Replay {
    Replay { code: Some(&STOPPED), reason: when, ..replay }
}

/// Whether what differs is computed before any tensor of the step moves.
fn comes_before_updates(divergence: &Divergence) -> bool {
    let before = ["routing", "loss", "gradient", "gradient norm"];
    before.contains(&divergence.what) || divergence.what.ends_with("micro-batch")
}

/// Draws the micro-batches of a sample, and has a course execute them alone. None where they would be all.
fn sampled(
    course: &mut Course,
    slice: &mut Slice,
    sample: MicroBatchSample,
) -> Result<Option<SampledMicroBatches>, Error> {
    let of = slice.regime.micro_batches;
    if sample.count >= of {
        return Ok(None);
    }
    let refuse = |expected: String, found: String| {
        Err(NO_GRADIENTS.at(slice.place.clone(), expected, found))
    };
    for (at, what) in ["micro_loss", "micro_grad_norm"].into_iter().enumerate() {
        if slice.steps.iter().any(|step| step.micro_batches.get(at).is_none_or(Option::is_none)) {
            return refuse(format!("`logged.{what}`"), "none".to_owned());
        }
    }
    let layout = course.layout()?;
    let gradients: Vec<_> = slice.gradients.iter().take(course.steps as usize).cloned().collect();
    for (at, name) in layout.names.iter().enumerate().filter(|(at, _)| !layout.rests(*at)) {
        let wanted: usize = layout.shapes.get(at).map_or(0, |shape| shape.iter().product());
        let fits = |step: &BTreeMap<String, Vec<f32>>| {
            step.get(name).is_some_and(|numbers| numbers.len() == wanted)
        };
        if gradients.is_empty() || !gradients.iter().all(fits) {
            let expected = format!("`gradient.{name}` with {wanted} numbers in each step");
            return refuse(expected, "none, or a different count".to_owned());
        }
    }
    let known = |name: &&String| layout.names.contains(name);
    if let Some(name) = gradients.iter().flat_map(BTreeMap::keys).find(|name| !known(name)) {
        return refuse("gradients of the model's tensors".to_owned(), format!("`gradient.{name}`"));
    }
    let mut rng = Rng::new(sample.seed, "micro-batches to execute");
    let mut numbers = BTreeSet::new();
    while numbers.len() < sample.count {
        numbers.insert(rng.below(of as u64) as usize);
    }
    let numbers: Vec<_> = numbers.into_iter().collect();
    course.sampled = Some(Arc::new(SampledSteps { numbers: numbers.clone(), gradients }));
    Ok(Some(SampledMicroBatches { numbers, of, seed: sample.seed }))
}

/// The tolerance of a quantity: nothing where bits are compared.
fn tolerance(calibration: Option<&Calibration>, at: usize, quantity: StepQuantity) -> f64 {
    calibration.map_or(0.0, |calibration| calibration.tolerance(at, quantity))
}

/// A walk that may end early: the steps that are left of it are told when it is over.
struct Walked<'a> {
    progress: &'a dyn Progress,
    left: Cell<u64>,
}

impl<'a> Walked<'a> {
    fn new(progress: &'a dyn Progress, steps: u64) -> Self {
        Self { progress, left: Cell::new(steps) }
    }

    fn step(&self) {
        self.left.set(self.left.get().saturating_sub(1));
        self.progress.walked(1);
    }
}

impl Drop for Walked<'_> {
    fn drop(&mut self) {
        self.progress.walked(self.left.get());
    }
}

/// Rows of the validation text in place of those of so many steps: its windows in order, from the first again after the
/// last. Or why there are none.
fn held_out(
    subject: &ReplayedRun<'_>,
    corpora: &Corpora,
    (model, steps): (&Config, u64),
) -> Result<Vec<Vec<u32>>, String> {
    let (corpus, _) = corpora
        .of(subject.bundle, subject.config)
        .map_err(|why| format!("the validation text is missing: {why}"))?;
    let (width, rows) = (subject.shape.seq_len + 1, subject.shape.batch_size);
    let tokens: Vec<u32> =
        corpus.validation.iter().flat_map(|document| document.tokens.iter().copied()).collect();
    let windows: Vec<_> = tokens.chunks_exact(width).collect();
    if windows.is_empty() {
        return Err(format!("the validation text has fewer than {width} tokens"));
    }
    if tokens.iter().any(|token| *token as usize >= model.vocab_size) {
        return Err("the validation text has tokens outside the vocabulary".to_owned());
    }
    let mut endless = windows.iter().copied().cycle();
    Ok((0..steps).map(|_| endless.by_ref().take(rows).flatten().copied().collect()).collect())
}

/// Draws the batches of a slice again where the data are at hand, and holds the slice against them.
fn batches(
    subject: &ReplayedRun<'_>,
    slice: &mut Slice,
    corpora: &Corpora,
) -> Result<Batches, Error> {
    let (corpus, mut order) = match corpora.of(subject.bundle, subject.config) {
        Err(why) => return Ok(Batches::OnTrust(why)),
        Ok(found) => found,
    };
    for (step, rows) in (slice.from..).zip(&slice.rows) {
        let drawn = Order::rows(&mut order, step, &corpus.train);
        if let Some(at) = std::iter::zip(&drawn, rows).position(|(drawn, kept)| drawn != kept) {
            let width = subject.shape.seq_len + 1;
            let token = |rows: &[u32]| rows.get(at).copied().unwrap_or_default();
            let expected = format!(
                "token {} in step {step}, row {}, position {}, from data and seed",
                token(&drawn),
                at / width,
                at % width
            );
            return Err(OTHER_BATCHES.at(slice.place.clone(), expected, token(rows).to_string()));
        }
    }
    Ok(Batches::Drawn)
}

/// Where the tensors of our model stand in the lines of a log.
struct Arrangement {
    ours: Layout,
    /// Of each of our tensors, its line; none where nothing was logged of it.
    places: Vec<Option<usize>>,
}

impl Arrangement {
    /// A log has a line for each tensor, by our name or that of another program, or for none. What a rule
    /// moves may be left out of logs without digests.
    fn of(ours: Layout, slice: &Slice) -> Result<Self, Error> {
        let theirs: Vec<_> = slice.tensors.iter().map(|tensor| names::ours(&tensor.name)).collect();
        let place = |name: &String| theirs.iter().position(|theirs| theirs == name);
        let places: Vec<Option<usize>> = ours.names.iter().map(place).collect();
        let bits = slice.steps.iter().any(|step| step.digests.is_some());
        let lacks =
            |(name, at): &(&String, &Option<usize>)| at.is_none() && (bits || !is_rule(name));
        let refuse = |expected: String, found: String| {
            Err(BAD_SLICE.at(slice.place.clone(), expected, found))
        };
        if theirs.is_empty() {
            return Ok(Self { ours, places });
        }
        if let Some((name, _)) = std::iter::zip(&ours.names, &places).find(lacks) {
            return refuse(format!("a line for `{name}`"), "none".to_owned());
        }
        if places.iter().flatten().count() != theirs.len() {
            let extra =
                theirs.iter().find(|theirs| !ours.names.contains(theirs)).or(theirs.first());
            let found = extra.map_or_else(String::new, |name| format!("`{name}`"));
            return refuse("one line for each tensor of the model".to_owned(), found);
        }
        Ok(Self { ours, places })
    }

    /// A list of the log in the order of our tensors.
    fn list<T: Clone>(&self, theirs: &[T]) -> Vec<Option<T>> {
        self.places.iter().map(|at| at.and_then(|at| theirs.get(at)).cloned()).collect()
    }

    /// A step of the log in the order of our tensors; NaN stands for what was not logged.
    fn step(&self, logged: &Step) -> Step {
        let numbers = |list: &Vec<f64>| {
            self.list(list).into_iter().map(|number| number.unwrap_or(f64::NAN)).collect::<Vec<_>>()
        };
        let digests =
            |list: &Vec<u32>| self.list(list).into_iter().map(Option::unwrap_or_default).collect();
        Step {
            gradients: logged.gradients.as_ref().map(numbers),
            updates: logged.updates.as_ref().map(numbers),
            sizes: logged.sizes.as_ref().map(numbers),
            moved: logged.moved.as_ref().map(numbers),
            digests: logged.digests.as_ref().map(digests),
            ..logged.clone()
        }
    }

    /// Our layout with the names that the log uses.
    fn layout(self, slice: &Slice) -> Layout {
        let theirs = |name: &mut String| {
            let at = self.places.iter().zip(&self.ours.names).find(|(_, ours)| *ours == name);
            if let Some(tensor) = at.and_then(|(at, _)| slice.tensors.get((*at)?)) {
                name.clone_from(&tensor.name);
            }
        };
        let mut layout = self.ours.clone();
        layout.names.iter_mut().chain(&mut layout.routers).for_each(theirs);
        layout
    }
}
