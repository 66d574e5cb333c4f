//! A second engine executes the same slice: what it makes is held against the log, and against what the trainer's engine
//! made. The two share the slice and nothing below it.

use super::account::{SecondOutcome, SecondRun};
use super::calibration::Calibration;
use super::candle;
use super::course::{Course, Marks, StepMeasure};
use super::machine::{Machine, Progress, ReplayPhase};
use super::session::{Executed, OwnReplay, Session, stopped};
use super::step::{Layout, Step};
use crate::Precision;
use crate::backend::{Backend, Host};
use crate::model::{OperationRows, PartRows, Sequences};
use repro_core::source::Error;
use repro_kernels::portable::{Kernels, Real, TokenPlaces};
use repro_model::replay::{
    CANDLE_UNSUPPORTED, Divergence, EngineVerdict, EnginesParting, EnginesReport, Extent, Replay,
    ReplayComparison, ToleranceShare,
};

/// How many times what rounding makes of the rows behind a part of a model two engines may be apart there: in float32, which
/// adds up in any order, and in fewer bits, whose roundings most programs have at the same places.
pub const TIMES: f64 = 64.0;
pub const TIMES_IN_FEW_BITS: f64 = 4.0;
/// The rounding of a float32, relative to it.
pub const UNIT: f64 = 1.0 / 16_777_216.0;

impl Session<'_> {
    /// Executes the slice with candle, and judges it. The tolerance is the trainer's, whose engine walks it for that.
    pub fn by_candle(&self, extent: Extent, progress: &dyn Progress) -> Result<Replay, Error> {
        let replay = self.unjudged(extent);
        let _ = progress.begins(ReplayPhase::Executing);
        let executed = self.execute(StepMeasure::NarrowMoves, progress)?;
        if executed.stopped {
            let when = format!("stopped after {} of {} steps", executed.done, self.course.steps);
            return Ok(stopped(replay, when));
        }
        let run = match candle::execute(&self.course, self.subject.machine)? {
            SecondOutcome::Made(run) => run,
            SecondOutcome::Unknown(why) => {
                return Ok(self.subject.undecided(extent, &CANDLE_UNSUPPORTED, why));
            }
        };
        if progress.begins(ReplayPhase::Calibrating).is_break() {
            return Ok(stopped(replay, "stopped before calibration".to_owned()));
        }
        let calibration = self.calibrate(&executed, &run.steps, progress)?;
        let mut replay = self.of_candle(extent, &run, &executed, &calibration);
        replay.faults = self.planted(Some(&calibration), &executed, progress)?;
        self.judge(&mut replay);
        Ok(replay)
    }

    /// Executes the slice with both engines, and holds them against each other.
    pub fn by_both(&self, extent: Extent, progress: &dyn Progress) -> Result<Replay, Error> {
        let OwnReplay { replay, executed, calibration } = self.own(extent, progress)?;
        let Some(executed) = executed else { return Ok(replay) };
        let run = match candle::execute(&self.course, self.subject.machine)? {
            SecondOutcome::Made(run) => run,
            SecondOutcome::Unknown(why) => return Ok(alone(replay, &why)),
        };
        // A comparison of bits measures no moves.
        let executed = if self.is_bitwise() {
            self.execute(StepMeasure::NarrowMoves, progress)?
        } else {
            executed
        };
        let explains = |known: &Calibration| known.first_flip(&self.layout, &run.steps).is_none();
        let calibration = match calibration.filter(explains) {
            Some(calibration) => calibration,
            None => self.calibrate(&executed, &run.steps, progress)?,
        };
        let mut second = self.of_candle(extent, &run, &executed, &calibration);
        second.faults.clone_from(&replay.faults);
        self.judge(&mut second);
        let pair = EnginePair {
            course: &self.course,
            second: &self.course,
            layout: &self.layout,
            calibration: &calibration,
            machine: self.subject.machine,
        };
        let report = EnginesReport {
            own: verdict_of(&replay),
            candle: Ok(verdict_of(&second)),
            shares: pair.shares(&executed.steps, &run.steps),
            parting: pair.parting(&executed.steps, &run.steps)?,
        };
        Ok(combined(replay, report))
    }

    /// The report of candle's steps against the log.
    fn of_candle(
        &self,
        extent: Extent,
        run: &SecondRun,
        executed: &Executed,
        calibration: &Calibration,
    ) -> Replay {
        let own = Executed {
            steps: run.steps.clone(),
            done: run.steps.len() as u64,
            stopped: false,
            trained: executed.trained.clone(),
            values: run.values.clone(),
            first: None,
        };
        let mut replay =
            Replay { comparison: ReplayComparison::Calibrated, ..self.unjudged(extent) };
        self.compare(&own, Some(calibration), &mut replay);
        replay.tolerance = Some(self.tolerance_report(calibration));
        replay
    }
}

/// Two executions of one course, the trainer's and that of a second engine.
pub struct EnginePair<'a> {
    /// The course.
    pub course: &'a Course,
    /// The course as the second engine has it; the same, unless a test plants a fault.
    pub second: &'a Course,
    /// Its tensors.
    pub layout: &'a Layout,
    /// The rounding tolerance.
    pub calibration: &'a Calibration,
    /// The machine that executes it.
    pub machine: &'a Machine,
}

impl EnginePair<'_> {
    /// How near each step of the second engine comes to what is allowed.
    pub fn shares(&self, own: &[Step], second: &[Step]) -> Vec<ToleranceShare> {
        let of_step = |(at, (own, second)): (usize, (&Step, &Step))| {
            let allowed = |quantity| self.calibration.tolerance(at, quantity);
            self.layout.shares(self.number(at), own, second, allowed)
        };
        std::iter::zip(own, second).enumerate().flat_map(of_step).collect()
    }

    /// Where the two part.
    pub fn parting(&self, own: &[Step], second: &[Step]) -> Result<Option<EnginesParting>, Error> {
        let of_step = |(at, (own, second)): (usize, (&Step, &Step))| {
            let allowed = |quantity| self.calibration.tolerance(at, quantity);
            self.layout.divergence((self.number(at), at == 0), own, second, allowed)
        };
        let found = std::iter::zip(own, second).enumerate().find_map(of_step);
        let shorter = own.len().min(second.len());
        let ends = (own.len() != second.len())
            .then(|| Divergence::not_finite(self.course.start.step + shorter as u64));
        let Some(mut divergence) = found.or(ends) else { return Ok(None) };
        let operation = match self.other_part()? {
            Some(part) => part,
            None => operation_of(&divergence),
        };
        divergence.hint = format!("the first operation that differs: {operation}");
        Ok(Some(EnginesParting { divergence, operation }))
    }

    /// The number of a step, as records count.
    fn number(&self, at: usize) -> u64 {
        self.course.start.step + at as u64 + 1
    }

    /// The first part of the forward pass behind which the engines have other rows, for the first sequence and the weights
    /// of the start. Rows of float64 that nothing rounds show what rounding makes of them.
    fn other_part(&self) -> Result<Option<String>, Error> {
        let candle = candle::rows_of_parts(self.second, self.machine)?;
        let isa = self.machine.place.isa;
        let narrow = FirstSequence::of(self.course, Host::<f32>::new(isa))?.parts;
        let mut exact = self.course.clone();
        let of_course = std::mem::replace(&mut exact.regime.precision, Precision::Full);
        let times = if of_course == Precision::Full { TIMES } else { TIMES_IN_FEW_BITS };
        let wide = FirstSequence::of(&exact, Host::<f64>::new(isa))?.parts;
        for ((narrow, wide), candle) in std::iter::zip(narrow, wide).zip(candle) {
            let rounding = distance(&narrow.rows, &wide.rows).max(UNIT);
            let apart = distance(&narrow.rows, &candle.rows);
            let is_other = narrow.part != candle.part || narrow.rows.len() != candle.rows.len();
            if is_other || apart.is_nan() || apart > times * rounding {
                return Ok(Some(narrow.part));
            }
        }
        Ok(None)
    }
}

/// The rows of the trainer's model for the first sequence of a course and the weights of its start.
pub struct FirstSequence {
    /// Behind each part; those of the head are the nats of each target.
    pub parts: Vec<PartRows<f64>>,
    /// The inputs and outputs of each operation with weights.
    pub operations: Vec<OperationRows<f64>>,
}

impl FirstSequence {
    /// Runs it.
    pub fn of<B: Backend>(course: &Course, backend: B) -> Result<Self, Error> {
        let mut walker = course.begin(backend)?;
        let length = course.regime.shape.seq_len;
        let rows = course.rows.clone().of(course.start.step, 0);
        let inputs = rows.get(..length).unwrap_or_default();
        let targets = rows.get(1..=length).unwrap_or_default();
        let nothing = Marks::default();
        let marks = course.marks.first().unwrap_or(&nothing);
        let places = TokenPlaces {
            documents: marks.documents.get(..length).unwrap_or_default(),
            positions: marks.positions.get(..length).unwrap_or_default(),
        };
        let sequences = Sequences { inputs, targets, rows: 1, places };
        let parts = walker.learner.rows_of_parts(sequences)?.into_iter();
        let operations = walker.learner.rows_of_operations()?.into_iter();
        Ok(Self {
            parts: parts
                .map(|PartRows { part, rows }| PartRows { part, rows: wide(rows) })
                .collect(),
            operations: operations
                .map(|OperationRows { kind, tensors, inputs, before, outputs }| OperationRows {
                    kind,
                    tensors,
                    inputs: inputs.map(wide),
                    before,
                    outputs: wide(outputs),
                })
                .collect(),
        })
    }
}

fn wide<T: Real>(rows: Vec<T>) -> Vec<f64> {
    rows.into_iter().map(Real::to_f64).collect()
}

/// The verdict of a report.
fn verdict_of(replay: &Replay) -> EngineVerdict {
    EngineVerdict { verdict: replay.verdict, code: replay.code, reason: replay.reason.clone() }
}

/// The report of the trainer's engine, with what both come to together.
fn combined(replay: Replay, report: EnginesReport) -> Replay {
    let EngineVerdict { verdict, code, reason } = report.together();
    Replay { verdict, code, reason, engines: Some(report), ..replay }
}

/// The report of the trainer's engine where the second one does not execute the steps, and why.
pub fn alone(replay: Replay, why: &str) -> Replay {
    let own = verdict_of(&replay);
    let candle = Err(why.to_owned());
    combined(replay, EnginesReport { own, candle, shares: Vec::new(), parting: None })
}

/// The operation that a quantity comes of, where no part of the forward pass differs.
fn operation_of(divergence: &Divergence) -> String {
    match divergence.what {
        "routing" => "routing".to_owned(),
        "loss" => "loss".to_owned(),
        "gradient" => "backward pass".to_owned(),
        "gradient norm" | "norm that gradients are clipped by" => {
            "norm of all gradients".to_owned()
        }
        _ => "optimizer".to_owned(),
    }
}

/// How far rows are apart, relative to the first.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let size = f64::length(a);
    let apart = f64::distance(a, b);
    if apart == 0.0 { 0.0 } else { apart / size }
}

#[cfg(all(test, feature = "candle"))]
pub(super) mod tests;
