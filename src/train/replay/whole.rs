//! Replaying more than a slice: from the nearest checkpoint, or from the seed, over steps whose batches
//! the data give, held against records, hashed checkpoints and slices on the way; and, of a whole run,
//! against its evaluations.

use std::collections::BTreeMap;

use super::corpora::Corpora;
use super::course::{Course, RowsRead, StepMeasure, Walker};
use super::machine::{Progress, ReplayPhase, ReplayedRun, on_threads};
use super::slice::Slice;
use super::step::{Layout, Step};
use super::training::Watch;
use crate::learner::Stepped;
use crate::model::Config;
use crate::run::{ExaminedPoint, examine, suite};
use repro_receipt::Verdict;
use repro_receipt::bundle::{Bundle, METRICS};
use repro_receipt::digest::canonical;
use repro_receipt::source::{Error, Location, Node};
use repro_runs::replay::{
    Batches, DIVERGED, Divergence, Extent, NO_DATA, NO_SLICE, NOTHING_LOGGED, Replay,
    ReplayComparison, STOPPED, UNTRAINED,
};
use repro_runs::study::to_json;
use repro_stats::rng::Rng;

/// Draws a stretch of a run that has at least one record in it.
pub fn draw(bundle: &Bundle, config: Node<'_>, rng: &mut Rng) -> Result<Extent, Error> {
    let steps = config.required("steps")?.integer()?;
    let every = config.get("log_every").map(|node| node.integer()).transpose()?.unwrap_or(1);
    let length = every.max(Extent::FEWEST).min(steps);
    if length < Extent::FEWEST {
        let expected = format!("a run of at least {} steps", Extent::FEWEST);
        return Err(NO_SLICE.at(Location::file(bundle.name()), expected, format!("{steps} steps")));
    }
    let from = rng.below(steps - length + 1);
    Ok(Extent::Steps { from, to: from + length })
}

/// Replays a whole run, or the steps up to the end of a stretch that is no slice.
pub fn replay(
    subject: &ReplayedRun<'_>,
    extent: Extent,
    corpora: &Corpora,
    progress: &dyn Progress,
) -> Result<Replay, Error> {
    let place = || Location::file(subject.bundle.name());
    if subject.comparison() == ReplayComparison::Calibrated {
        let expected = "a slice: the rounding of another arithmetic grows over a run";
        return Err(NO_SLICE.at(place(), expected, extent.to_string()));
    }
    let (corpus, order) = corpora
        .of(subject.bundle, subject.config)
        .map_err(|why| NO_DATA.at(place(), "the data of the run", why))?;
    let (from, to) = match extent {
        Extent::Whole => (0, subject.regime.steps),
        Extent::Steps { from, to } => (nearest(subject.bundle, from), to),
    };
    if to > subject.regime.steps {
        let expected = format!("steps up to {}, where the run ends", subject.regime.steps);
        return Err(NO_SLICE.at(place(), expected, extent.to_string()));
    }
    corpora
        .fits_tasks(subject.config)
        .map_err(|why| NO_DATA.at(place(), "the tasks of the run", why))?;
    let suite = suite(subject.config, &corpus, corpora.base())?;
    let start = subject.start(from)?;
    let shown = start.shown.clone();
    let course =
        subject.course(start, to - from, RowsRead::Drawn(Box::new(order), corpus.clone()))?;
    let mut account = Account {
        subject,
        layout: course.layout()?,
        records: records(subject.bundle)?,
        slices: slices(subject, from, to)?,
        replay: Replay {
            start: shown,
            batches: Batches::Drawn,
            chosen_by: "verifier",
            ..subject.blank(extent)
        },
        counts: [0; 3],
    };
    let evaluate = |walker: &mut Walker<'_>, step: u64| -> Result<Evaluated, Error> {
        if extent != Extent::Whole {
            return Ok(None);
        }
        let entry = subject.bundle.receipt().checkpoints.iter().find(|entry| entry.step == step);
        let file = entry.and_then(|entry| entry.evaluation.as_deref());
        let logged = file.map(|file| subject.bundle.document(file)).transpose()?;
        // Records of earlier trainers do not repeat it.
        let repeats = logged.is_some_and(|record| record.root().get("tensors_sha256").is_some());
        let point = ExaminedPoint {
            step,
            tokens_seen: step * subject.regime.tokens_per_step(),
            tensors_sha256: repeats.then(|| walker.tensors_digest()).transpose()?,
            is_last: step == subject.regime.steps,
        };
        let learner = &mut walker.learner;
        let examined = examine(learner, subject.config, &corpus, suite.as_ref(), point)?;
        Ok(Some((examined.files, examined.loss)))
    };
    let _ = progress.begins(ReplayPhase::Executing);
    let walk = || -> Result<Replay, Error> {
        account.walk(&course, progress, evaluate)?;
        Ok(account.judged())
    };
    on_threads(subject.machine.threads, walk)?
}

/// The nearest step, not after `from`, that can be started from.
fn nearest(bundle: &Bundle, from: u64) -> u64 {
    let kept = bundle.receipt().checkpoints.iter().filter(|kept| {
        kept.step <= from
            && kept.weights.as_ref().is_some_and(|file| bundle.files().contains_key(file))
    });
    kept.map(|kept| kept.step).max().unwrap_or(0)
}

/// The records of a run by their steps.
fn records(bundle: &Bundle) -> Result<BTreeMap<u64, Node<'_>>, Error> {
    let records = bundle.document(METRICS)?.root().items()?;
    records.map(|record| Ok((record.required("step")?.integer()?, record))).collect()
}

/// The slices that lie within the steps.
fn slices(subject: &ReplayedRun<'_>, from: u64, to: u64) -> Result<Vec<Slice>, Error> {
    let model = Config::read(subject.config)?;
    let within = |slice: &&repro_receipt::bundle::DeclaredSlice| {
        slice.from_step >= from && slice.from_step < to
    };
    let known = subject.bundle.receipt().slices.iter().filter(within);
    known
        .map(|slice| Slice::load(subject.bundle, slice.from_step, &subject.regime, &model))
        .collect()
}

/// Files of an evaluation, and the loss on held-out text.
type Evaluated = Option<(Vec<(String, String)>, f64)>;

/// A walk held against everything that the bundle says of its steps.
struct Account<'a> {
    subject: &'a ReplayedRun<'a>,
    layout: Layout,
    records: BTreeMap<u64, Node<'a>>,
    slices: Vec<Slice>,
    replay: Replay,
    /// Records, hashed checkpoints and files of evaluations that were compared.
    counts: [usize; 3],
}

impl Account<'_> {
    fn walk(
        &mut self,
        course: &Course,
        progress: &dyn Progress,
        evaluate: impl Fn(&mut Walker<'_>, u64) -> Result<Evaluated, Error>,
    ) -> Result<(), Error> {
        let from = course.start.step;
        let mut watch = Watch::default();
        let mut walker = course.begin::<f32>()?;
        if from == 0 {
            self.checkpoint(&mut walker, 0, &evaluate)?;
        }
        while walker.done < course.steps && self.replay.divergence.is_none() {
            let update = from + walker.done;
            let slice = self.slice(update);
            let (step, stepped) = walker.step(if slice.is_some() {
                StepMeasure::Bits
            } else {
                StepMeasure::Plain
            })?;
            self.replay.executed = walker.done;
            watch.step(&step, course.rate(update));
            let number = update + 1;
            self.replay.divergence = slice.and_then(|logged| {
                self.layout.divergence((number, update == from), &logged, &step, |_| 0.0)
            });
            self.record(number, course.rate(update), &step, &stepped)?;
            self.checkpoint(&mut walker, number, &evaluate)?;
            if progress.step(walker.done, course.steps).is_break() && walker.done < course.steps {
                self.replay.code = Some(&STOPPED);
                self.replay.reason =
                    format!("stopped after {} of {} steps", walker.done, course.steps);
                return Ok(());
            }
            if !stepped.is_finite() {
                self.not_finite(number)?;
                break;
            }
        }
        let decay = self.subject.regime.optimizer.decay;
        self.replay.trained = watch.end(&walker, &self.layout, from, decay)?;
        Ok(())
    }

    /// A step that is not finite ends a run that says so.
    fn not_finite(&mut self, number: u64) -> Result<(), Error> {
        if self.subject.bundle.diverged_at()? != Some(number) {
            self.replay.divergence.get_or_insert_with(|| Divergence::not_finite(number));
        }
        Ok(())
    }

    /// What slices say of update `update`.
    fn slice(&self, update: u64) -> Option<Step> {
        let of = |slice: &Slice| {
            let at = usize::try_from(update.checked_sub(slice.from)?).ok()?;
            // The whole of the slice is not what a walk from before it has moved.
            Some(Step { moved: None, ..slice.steps.get(at)?.clone() })
        };
        let native = |slice: &&Slice| {
            let names = slice.tensors.iter().map(|tensor| &tensor.name);
            names.eq(self.layout.names.iter())
        };
        self.slices.iter().filter(native).find_map(of)
    }

    /// Holds a step against its record.
    fn record(
        &mut self,
        number: u64,
        rate: f32,
        made: &Step,
        stepped: &Stepped,
    ) -> Result<(), Error> {
        let Some(record) = self.records.get(&number).copied() else { return Ok(()) };
        let float = |field: &str| record.get(field).map(|node| node.float()).transpose();
        let logged = Step { loss: float("loss")?, norm: float("grad_norm")?, ..Step::default() };
        self.counts[0] += usize::from(logged.loss.is_some());
        self.replay.steps.push(logged.report(number, made));
        if self.replay.divergence.is_some() {
            return Ok(());
        }
        self.replay.divergence = self.layout.divergence((number, false), &logged, made, |_| 0.0);
        let rates =
            float("lr")?.map(|lr| (lr, f64::from(rate))).filter(|(logged, made)| logged != made);
        let routers = |node: Node<'_>| {
            Some((canonical(&to_json(node).ok()?).ok()?, canonical(stepped.router.as_ref()?).ok()?))
        };
        let routers =
            record.get("router").and_then(routers).filter(|(logged, made)| logged != made);
        let hint = "the record was not written by the step that it names";
        if let Some((logged, made)) = rates {
            self.differs(number, "learning rate", (logged.to_string(), made.to_string()), hint);
        }
        if let Some((logged, made)) = routers {
            self.differs(number, "load of the routers", (logged, made), hint);
        }
        Ok(())
    }

    /// Holds a checkpoint against its digest and its evaluation.
    fn checkpoint(
        &mut self,
        walker: &mut Walker<'_>,
        step: u64,
        evaluate: impl Fn(&mut Walker<'_>, u64) -> Result<Evaluated, Error>,
    ) -> Result<(), Error> {
        let bundle = self.subject.bundle;
        let Some(entry) = bundle.receipt().checkpoints.iter().find(|entry| entry.step == step)
        else {
            return Ok(());
        };
        if let Some(stated) = entry.tensors_sha256 {
            let found = walker.tensors_digest()?;
            self.counts[1] += 1;
            if stated != found {
                let hint = "weights or moments diverged between this checkpoint and the last compared step before it";
                self.differs(step, "checkpoint", (stated.to_string(), found.to_string()), hint);
            }
        }
        let Some((files, loss)) = evaluate(walker, step)? else { return Ok(()) };
        self.replay.final_loss = Some(loss).filter(|_| step == self.subject.regime.steps);
        for (name, text) in files {
            if !bundle.files().contains_key(&name) {
                continue;
            }
            self.counts[2] += 1;
            if bundle.bytes(&name)? != text.as_bytes() {
                let hint =
                    "the weights match: the evaluation used other text, or was changed afterwards";
                let shown = (format!("`{name}`"), "another text".to_owned());
                self.differs(step, "evaluation", shown, hint);
            }
        }
        Ok(())
    }

    /// Notes a divergence, where there is none before it.
    fn differs(
        &mut self,
        step: u64,
        what: &'static str,
        (logged, replayed): (String, String),
        hint: &str,
    ) {
        self.replay.divergence.get_or_insert(Divergence {
            step,
            what,
            tensor: None,
            logged,
            replayed,
            difference: None,
            inputs_matched: None,
            hint: hint.to_owned(),
        });
    }

    fn judged(&mut self) -> Replay {
        let replay = &mut self.replay;
        let [records, checkpoints, files] = self.counts;
        let compared = [
            format!("{records} records"),
            format!("{checkpoints} checkpoints by digest"),
            format!("{files} evaluation files"),
        ];
        replay.also.extend(compared);
        let untrained = replay.trained.untrained().next();
        let judged = if let Some(divergence) = &replay.divergence {
            let reason = format!("step {}: the {} differs", divergence.step, divergence.what);
            Some((Verdict::Refuted, &DIVERGED, reason))
        } else if replay.code.is_some() {
            None
        } else if records == 0 || (replay.extent == Extent::Whole && files == 0) {
            let reason = "no recorded loss, or no evaluation, lies within the steps";
            Some((Verdict::Inconclusive, &NOTHING_LOGGED, reason.to_owned()))
        } else if let Some(tensor) = untrained {
            let reason = format!("everything matches, but `{tensor}` was not trained");
            Some((Verdict::Inconclusive, &UNTRAINED, reason))
        } else {
            replay.verdict = Verdict::Verified;
            None
        };
        if let Some((verdict, code, reason)) = judged {
            (replay.verdict, replay.code, replay.reason) = (verdict, Some(code), reason);
        }
        replay.final_loss = replay.final_loss.filter(|_| replay.verdict == Verdict::Verified);
        replay.clone()
    }
}
