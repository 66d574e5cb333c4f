//! Replaying more than a slice: from the nearest checkpoint, or from the seed, over steps whose batches
//! the data give, held against records, hashed checkpoints and slices on the way; and, of a whole run,
//! against its evaluations.

use std::collections::BTreeMap;

use super::corpora::{Corpora, short};
use super::course::{Course, RowsRead, StepMeasure, Walker};
use super::described::described;
use super::machine::{Progress, ReplayPhase, ReplayedRun, on_threads};
use super::passed::PassedSlices;
use super::start::from_checkpoint;
use super::step::{Layout, Step};
use super::training::Watch;
use crate::backend::{Backend, on_place};
use crate::checkpoint::{MOMENTS, committed_state};
use crate::data::Corpus;
use crate::learner::Stepped;
use crate::run::{ExaminedPoint, examine, suite};
use crate::{Recipe, Suite};
use repro_bundle::bundle::{Bundle, METRICS};
use repro_core::Verdict;
use repro_core::digest::{canonical, exact};
use repro_core::source::{Error, Location, Node};
use repro_model::challenge::startable;
use repro_model::replay::{
    Batches, ChosenBy, DIVERGED, Divergence, Extent, NO_DATA, NO_SLICE, NOTHING_LOGGED, Replay,
    ReplayComparison, STOPPED, TWICE, UNTRAINED,
};
use repro_model::study::to_json;
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
        let expected = "a slice: rounding differences of another arithmetic grow over a run";
        return Err(NO_SLICE.at(place(), expected, extent.to_string()));
    }
    let (corpus, order) = corpora
        .of(subject.bundle, subject.config)
        .map_err(|why| NO_DATA.at(place(), "the data of the run", why))?;
    let (from, to) = match extent {
        Extent::Whole => (0, subject.shape.steps),
        Extent::Steps { from, to } | Extent::States { from, to } => {
            (startable(subject.bundle, from), to)
        }
    };
    if to > subject.shape.steps {
        let expected = format!("steps up to {}, the end of the run", subject.shape.steps);
        return Err(NO_SLICE.at(place(), expected, extent.to_string()));
    }
    let suite = suite(subject.config, &corpus, corpora.folder())
        .map_err(|error| NO_DATA.at(place(), "the tasks of the run", short(&error)))?;
    let start = subject.start(from)?;
    let shown = start.shown.clone();
    let rows = RowsRead::Drawn(Box::new(order), corpus.clone());
    let course = subject.course(subject.declared()?, start, to - from, rows)?;
    let mut account = Account {
        subject,
        layout: course.layout()?,
        records: records(subject.bundle)?,
        slices: PassedSlices::load(subject, (from, to), course.rows.clone())?,
        states: states(subject.bundle)?,
        replay: Replay {
            start: shown,
            batches: Batches::Drawn,
            chosen_by: ChosenBy::Caller,
            ..subject.blank(extent)
        },
        counts: [0; 3],
        is_evaluated: true,
    };
    if extent == Extent::Whole {
        let wrong = described(subject, &corpus)?;
        account.replay.divergence = account.replay.divergence.or(wrong);
    }
    let examining = Examining { subject, extent, corpus: &corpus, suite: suite.as_ref() };
    let _ = progress.begins(ReplayPhase::Executing);
    let walk = || -> Result<Replay, Error> {
        let place = &subject.machine.place;
        on_place!(place, backend => account.walk(&course, backend, progress, &examining)?);
        Ok(account.judged())
    };
    on_threads(subject.machine.threads, walk)?
}

/// The records of a run by their steps.
fn records(bundle: &Bundle) -> Result<BTreeMap<u64, Node<'_>>, Error> {
    by_step(bundle, METRICS)
}

/// The states that a run has committed itself to, by the steps before them; none where it has not.
fn states(bundle: &Bundle) -> Result<BTreeMap<u64, Node<'_>>, Error> {
    match &bundle.receipt().states {
        Some(states) => by_step(bundle, &states.file),
        None => Ok(BTreeMap::new()),
    }
}

/// The lines of a file by their steps, each of which has one line.
fn by_step<'b>(bundle: &'b Bundle, file: &str) -> Result<BTreeMap<u64, Node<'b>>, Error> {
    let mut lines = BTreeMap::new();
    for line in bundle.document(file)?.root().items()? {
        let step = line.required("step")?;
        if lines.insert(step.integer()?, line).is_some() {
            let found = format!("step {} again", step.printed()?);
            return Err(TWICE.at(step.place(), "each step once", found));
        }
    }
    Ok(lines)
}

/// Files of an evaluation, and the loss on held-out text.
type Evaluated = Option<(Vec<(String, String)>, f64)>;

/// The evaluations at the checkpoints of a walk.
struct Examining<'a> {
    subject: &'a ReplayedRun<'a>,
    extent: Extent,
    corpus: &'a Corpus,
    suite: Option<&'a Suite>,
}

impl Examining<'_> {
    /// Examines a walk after `step` steps, where an evaluation belongs to what is replayed.
    fn examine<B: Backend<Number = f32>>(
        &self,
        walker: &mut Walker<'_, B>,
        step: u64,
    ) -> Result<Evaluated, Error> {
        if let Extent::Steps { .. } = self.extent {
            return Ok(None);
        }
        let subject = self.subject;
        let entry = subject.bundle.receipt().checkpoints.iter().find(|entry| entry.step == step);
        let file = entry.and_then(|entry| entry.evaluation.as_deref());
        let logged = file.map(|file| subject.bundle.document(file)).transpose()?;
        // Records of earlier trainers do not repeat it.
        let repeats = logged.is_some_and(|record| record.root().get("tensors_sha256").is_some());
        let point = ExaminedPoint {
            step,
            tokens_seen: step * subject.shape.tokens_per_step(),
            tensors_sha256: repeats.then(|| walker.tensors_digest()).transpose()?,
            is_last: step == subject.shape.steps,
        };
        let learner = &mut walker.learner;
        let examined = examine(learner, subject.config, self.corpus, self.suite, point)?;
        Ok(Some((examined.files, examined.loss)))
    }
}

/// A walk held against everything that the bundle says of its steps.
struct Account<'a> {
    subject: &'a ReplayedRun<'a>,
    layout: Layout,
    records: BTreeMap<u64, Node<'a>>,
    slices: PassedSlices,
    /// The states that the run has committed itself to.
    states: BTreeMap<u64, Node<'a>>,
    replay: Replay,
    /// Records, hashed checkpoints and files of evaluations that were compared.
    counts: [usize; 3],
    /// Whether the steps reach an evaluation that the config plans.
    is_evaluated: bool,
}

impl Account<'_> {
    fn walk<B: Backend<Number = f32>>(
        &mut self,
        course: &Course,
        backend: B,
        progress: &dyn Progress,
        examining: &Examining<'_>,
    ) -> Result<(), Error> {
        let from = course.start.step;
        let mut watch = Watch::default();
        let mut walker = course.begin(backend)?;
        if from == 0 {
            self.state(&walker, 0)?;
            self.checkpoint(&mut walker, 0, examining)?;
        }
        while walker.done < course.steps && self.replay.divergence.is_none() {
            let update = from + walker.done;
            let other_batch = self.slices.begin(&walker, update)?;
            self.replay.divergence = self.replay.divergence.take().or(other_batch);
            let slice = self.slices.step(update, &self.layout);
            let (step, stepped) = walker.step(if slice.is_some() {
                StepMeasure::Bits
            } else {
                StepMeasure::Plain
            })?;
            self.replay.executed = walker.done;
            watch.step(&step, course.rates(update));
            let number = update + 1;
            let other_step = slice.and_then(|logged| {
                self.layout.divergence((number, update == from), &logged, &step, |_| 0.0)
            });
            let other_end = self.slices.end(&walker, number)?;
            self.replay.divergence = self.replay.divergence.take().or(other_step).or(other_end);
            self.record(number, course.regime.rates.first(update), &step, &stepped)?;
            self.state(&walker, number)?;
            self.checkpoint(&mut walker, number, examining)?;
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
        self.left_out()?;
        self.replay.trained = watch.end(&walker, &self.layout, from)?;
        Ok(())
    }

    /// A step that is not finite ends a run that says so.
    fn not_finite(&mut self, number: u64) -> Result<(), Error> {
        if self.subject.bundle.diverged_at()? != Some(number) {
            self.replay.divergence.get_or_insert_with(|| Divergence::not_finite(number));
        }
        Ok(())
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
        // What JSON would round is a text.
        let read = |node: Node<'_>| match node.text().map(str::parse) {
            Ok(Ok(number)) => Ok(number),
            _ => node.float(),
        };
        let float = |field: &str| record.get(field).map(read).transpose();
        let logged = Step { loss: float("loss")?, norm: float("grad_norm")?, ..Step::default() };
        self.counts[0] += usize::from(logged.loss.is_some());
        self.replay.steps.push(logged.report(number, made));
        if self.replay.divergence.is_some() {
            return Ok(());
        }
        self.replay.divergence = self.layout.divergence((number, false), &logged, made, |_| 0.0);
        let routes = stepped.router.is_some().then_some("router");
        let columns = ["loss", "grad_norm", "lr", "tokens"].into_iter().chain(routes);
        let mut missing = columns.filter(|column| record.get(column).is_none());
        if let Some(column) = missing.next().filter(|_| stepped.is_finite()) {
            let told = (format!("no `{column}`"), "one".to_owned());
            self.differs(number, "record", told, "the log lacks a column");
        }
        let tokens = number * self.subject.shape.tokens_per_step();
        let counted = float("tokens")?.filter(|logged| *logged != tokens as f64);
        let rates =
            float("lr")?.map(|lr| (lr, f64::from(rate))).filter(|(logged, made)| logged != made);
        let routers = |node: Node<'_>| {
            Some((
                canonical(&to_json(node).ok()?).ok()?,
                canonical(&exact(stepped.router.clone()?)).ok()?,
            ))
        };
        let routers =
            record.get("router").and_then(routers).filter(|(logged, made)| logged != made);
        let hint = "the record was not written by the step that it states";
        if let Some(logged) = counted {
            self.differs(
                number,
                "number of tokens",
                (logged.to_string(), tokens.to_string()),
                hint,
            );
        }
        if let Some((logged, made)) = rates {
            self.differs(number, "learning rate", (logged.to_string(), made.to_string()), hint);
        }
        if let Some((logged, made)) = routers {
            self.differs(number, "load of the routers", (logged, made), hint);
        }
        Ok(())
    }

    /// Holds the state after `step` steps against what the run has committed itself to.
    fn state<B: Backend<Number = f32>>(
        &mut self,
        walker: &Walker<'_, B>,
        step: u64,
    ) -> Result<(), Error> {
        let Some(line) = self.states.get(&step).copied() else { return Ok(()) };
        let tokens = step * self.subject.shape.tokens_per_step();
        let made = committed_state(&walker.checkpoint(step)?, step, tokens);
        let hint = "weights, moments or data diverged between this state and the last compared step before it";
        for (field, made) in made {
            let made = made.as_str().map_or_else(|| made.to_string(), str::to_owned);
            let logged = line.get(&field).map(Node::printed).transpose()?.unwrap_or("none");
            if made != logged {
                let had_none = self.replay.divergence.is_none();
                self.differs(step, "committed state", (logged.to_owned(), made), hint);
                let tensor = self.other_tensor(walker, step)?;
                if let Some(parted) = self.replay.divergence.as_mut().filter(|_| had_none) {
                    parted.tensor = tensor;
                }
                return Ok(());
            }
        }
        if self.replay.divergence.is_none() {
            self.replay.states.push(step);
        }
        Ok(())
    }

    /// The first tensor, in the order of execution, that the checkpoint of the bundle after `step` steps has otherwise,
    /// where it is kept.
    fn other_tensor<B: Backend<Number = f32>>(
        &self,
        walker: &Walker<'_, B>,
        step: u64,
    ) -> Result<Option<String>, Error> {
        let kept = from_checkpoint(self.subject.bundle, step, &self.subject.arithmetic);
        let Ok(kept) = kept else { return Ok(None) };
        let made = walker.checkpoint(step)?;
        let names = self.layout.forward.iter().filter_map(|at| self.layout.names.get(*at));
        let moments = MOMENTS
            .iter()
            .flat_map(|prefix| self.layout.names.iter().map(move |name| format!("{prefix}{name}")));
        let mut all = names.cloned().chain(moments);
        Ok(all.find(|name| kept.tensors.tensors.get(name) != made.tensors.get(name)))
    }

    /// Notes what the whole run should have left behind and did not, and what it cannot have left.
    fn left_out(&mut self) -> Result<(), Error> {
        if self.replay.extent != Extent::Whole || self.replay.divergence.is_some() {
            return Ok(());
        }
        // What another trainer would have recorded is not known.
        let Ok(recipe) = Recipe::read(self.subject.config) else { return Ok(()) };
        let last = self.replay.executed;
        // A step that diverges ends the run before its evaluation.
        let diverged = self.subject.bundle.diverged_at()? == Some(last);
        let is_due = |step: &u64| recipe.records(*step) || *step == last;
        let missing = (1..=last).filter(is_due).find(|step| !self.records.contains_key(step));
        let surplus =
            self.records.keys().find(|step| **step == 0 || !is_due(step) || **step > last);
        let (missing, surplus) = (missing, surplus.copied());
        if let Some(step) = missing {
            let told = ("none".to_owned(), "one".to_owned());
            self.differs(step, "record", told, "the log was truncated, or records were removed");
        }
        if let Some(step) = surplus {
            let told = ("one".to_owned(), "none".to_owned());
            self.differs(step, "record", told, "the run records nothing at this step");
        }
        let listed = &self.subject.bundle.receipt().checkpoints;
        let is_listed = |step: &&u64| {
            listed.iter().any(|entry| entry.step == **step && entry.evaluation.is_some())
        };
        let is_reached = |step: &&u64| **step < last || **step == last && !diverged;
        let planned = || recipe.checkpoints.iter().filter(is_reached);
        self.is_evaluated = planned().next().is_some();
        if let Some(step) = planned().copied().find(|step| !is_listed(&step)) {
            let told = ("none".to_owned(), "one".to_owned());
            self.differs(
                step,
                "evaluation",
                told,
                "an evaluation planned in the config is missing",
            );
        }
        let committed = (0..=last).filter(|step| recipe.commits(*step) && is_reached(&step));
        let mut committed = committed.filter(|step| !self.states.contains_key(step));
        if let Some(step) = committed.next().filter(|_| !self.states.is_empty()) {
            let told = ("none".to_owned(), "one".to_owned());
            self.differs(step, "committed state", told, "a state is missing");
        }
        Ok(())
    }

    /// Holds a checkpoint against its digest and its evaluation.
    fn checkpoint<B: Backend<Number = f32>>(
        &mut self,
        walker: &mut Walker<'_, B>,
        step: u64,
        examining: &Examining<'_>,
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
        let Some((files, loss)) = examining.examine(walker, step)? else { return Ok(()) };
        self.replay.final_loss = Some(loss).filter(|_| step == self.subject.shape.steps);
        for (name, text) in files {
            if !bundle.files().contains_key(&name) {
                continue;
            }
            self.counts[2] += 1;
            if bundle.bytes(&name)? != text.as_bytes() {
                let hint = "the weights match: the evaluation used a different text, or was changed afterwards";
                let shown = (format!("`{name}`"), "a different text".to_owned());
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
        let told = (logged, replayed);
        self.replay.divergence.get_or_insert_with(|| Divergence::of(step, what, told, hint));
    }

    fn judged(&mut self) -> Replay {
        let replay = &mut self.replay;
        let [records, checkpoints, files] = self.counts;
        let compared = [
            format!("{records} records"),
            format!("{checkpoints} checkpoints by digest"),
            format!("{files} evaluation files"),
            format!("{} committed states", replay.states.len()),
        ];
        replay.also.extend(compared);
        let untrained = replay.trained.untrained().next();
        let judged = if let Some(divergence) = &replay.divergence {
            let reason = format!("step {}: the {} differs", divergence.step, divergence.what);
            Some((Verdict::Refuted, &DIVERGED, reason))
        } else if replay.code.is_some() {
            None
        } else if (records == 0 && replay.states.is_empty())
            || (replay.extent == Extent::Whole && files == 0 && self.is_evaluated)
        {
            let reason = "the steps contain no recorded loss or no evaluation";
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
