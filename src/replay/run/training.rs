//! The loop over the steps of a run, and what is written when.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};

use super::records::{Records, put_number};
use super::slices::Slices;
use super::state::State;
use super::{Context, ExaminedPoint, examination, receipt};
use crate::backend::Backend;
use crate::checkpoint::committed_state;
use crate::data::Order;
use crate::learner::{Learner, Stepped};
use crate::model::Sequences;
use crate::progress::{News, Pace};
use crate::{DIFFERS, Recipe};
use repro_bundle::bundle::{
    BundleWriter, CONFIG, Checkpoint, DeclaredStart, DeclaredStates, Receipt, STATES,
    evaluation_digest,
};
use repro_core::digest::{Digest, exact};
use repro_core::source::{Document, Error, Location, UNREADABLE};
use repro_model::starts::{RunStart, new_attempt};
use repro_model::study::PlannedRun;

/// A run that is under way.
pub struct Training<'a, B: Backend> {
    plan: &'a PlannedRun,
    context: &'a Context<'a>,
    folder: PathBuf,
    config: Document,
    recipe: Recipe,
    learner: Learner<B>,
    order: Order,
    writer: BundleWriter<'a>,
    records: Records,
    slices: Slices,
    /// The state that is done and written; of `state.step` steps.
    state: State,
    /// Its line in the log of started runs.
    start: Option<DeclaredStart>,
    diverged: bool,
    pace: Pace,
    saved: Instant,
}

impl<'a, B: Backend<Number = f32>> Training<'a, B> {
    /// Begins a run in `folder`, or goes on with it. Nothing is written for a run that cannot begin.
    pub fn begin(
        plan: &'a PlannedRun,
        folder: &Path,
        context: &'a Context<'a>,
        backend: B,
    ) -> Result<Self, Error> {
        let config = plan.document()?;
        let recipe = Recipe::read(config.root())?;
        context.corpus.tokenizer.fits(config.root())?;
        let order = Order::read(config.root(), context.corpus)?;
        let mut learner = Learner::new(config.root(), &recipe.regime, recipe.seed_init, backend)?;
        let mut writer = super::open(plan, folder, context.disk)?;
        let note = |text: &str| context.watcher.tell(&plan.id, News::Noted(text));
        let (state, tensors) = State::load(&writer, context.corpus.sha256)?;
        let reached = (&state.records, &state.states);
        let (records, found) = Records::open(&mut writer, folder, reached)?;
        if found.torn > 0 {
            note(&format!("{} bytes of a truncated last record were dropped", found.torn));
        }
        if found.again > 0 {
            note(&format!("{} records after the saved state must be reproduced", found.again));
        }
        match (&tensors, &state.weights) {
            (Some(tensors), Some(name)) => learner.restore(state.step, tensors, name)?,
            _ => learner.check_gradients()?.iter().for_each(|text| note(text)),
        }
        let (step, steps) = (state.step, recipe.regime.shape.steps);
        context.watcher.tell(&plan.id, News::Began { step, steps });
        let mut training = Self {
            plan,
            context,
            folder: folder.to_owned(),
            config,
            pace: Pace::new(recipe.regime.shape.tokens_per_step()),
            recipe,
            learner,
            order,
            writer,
            records,
            slices: Slices::default(),
            state,
            start: None,
            diverged: false,
            saved: Instant::now(),
        };
        training.log_start()?;
        Ok(training)
    }

    /// Adds the run to the log of started runs, where the study has one and this attempt is not there yet. The attempt
    /// is saved first: a run that is killed in between and goes on is no second start.
    fn log_start(&mut self) -> Result<(), Error> {
        let Some((log, folder)) = self.context.starts else { return Ok(()) };
        let attempt = match self.state.attempt {
            Some(attempt) => attempt,
            None => {
                let attempt = new_attempt(&self.plan.id);
                self.state.attempt = Some(attempt);
                self.save()?;
                attempt
            }
        };
        let plan = (self.plan.study.as_str(), self.plan.plan);
        let run = (self.plan.id.as_str(), config_digest(&self.folder)?);
        self.start = Some(log.append(folder, RunStart::now(plan, run, attempt))?);
        Ok(())
    }

    /// Makes the steps that are left, up to one that diverges.
    pub fn steps(&mut self) -> Result<(), Error> {
        // A run that goes on from its first state has committed itself to it.
        if self.state.step == 0 && self.state.states.lines == 0 {
            self.reach()?;
        }
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        while self.state.step < self.recipe.regime.shape.steps {
            self.open_slice()?;
            let step = self.state.step;
            self.order.fill(step, &self.context.corpus.train, &mut inputs, &mut targets);
            self.pace.begin();
            let rate = self.recipe.regime.rates.first(step);
            let rows = self.recipe.regime.shape.batch_size;
            let sequences = Sequences::new(&inputs, &targets, rows);
            let stepped = self.learner.step(sequences, &[rate])?;
            let took = self.pace.end();
            self.state.step += 1;
            self.note(&stepped, rate, took)?;
            if self.diverged {
                break;
            }
            self.close_slices()?;
            self.reach()?;
            if self.slices.is_empty() && self.saved.elapsed() > self.context.save_every {
                self.save()?;
            }
        }
        Ok(())
    }

    /// Makes the folder a bundle, and answers its digest.
    pub fn finish(mut self) -> Result<Digest, Error> {
        self.records.check_end()?;
        // A run that diverged counts in its study, so it is sealed as well, as one that did not finish.
        let finished = !self.diverged;
        if finished {
            // From here on only the sealing is left, which needs no weights.
            (self.state.records, self.state.states) = self.records.reached(&mut self.writer)?;
            self.state.clone().save(&mut self.writer, None)?;
        }
        let unique = self.order.unique(self.state.step, self.context.corpus);
        let read = self.state.step * self.recipe.regime.shape.tokens_per_step();
        let run = self.plan.receipt(self.context.plan_commit.clone(), finished);
        let receipt = receipt::receipt(self.plan, run, self.context, &self.state, (read, unique));
        let every = self.recipe.state_every;
        let states = self.records.root();
        let states = states.map(|root| DeclaredStates { file: STATES.to_owned(), every, root });
        self.writer.finish(&Receipt { states, start: self.start, ..receipt })
    }

    fn open_slice(&mut self) -> Result<(), Error> {
        let begins = |stretch: &&crate::Stretch| stretch.from_step == self.state.step;
        if let Some(stretch) = self.recipe.slices.iter().find(begins) {
            self.slices.open(*stretch, self.learner.values()?);
        }
        Ok(())
    }

    fn close_slices(&mut self) -> Result<(), Error> {
        let weights = || self.learner.values().unwrap_or_default();
        for ended in self.slices.close(self.state.step, &self.recipe, weights) {
            for (name, bytes) in &ended.files {
                self.put(name, bytes)?;
            }
            self.state.slices.push(ended.entry);
        }
        Ok(())
    }

    /// Takes in what a step gave: the watcher, open slices, and the record where one is due.
    fn note(&mut self, stepped: &Stepped, rate: f32, took: Duration) -> Result<(), Error> {
        let (step, steps) = (self.state.step, self.recipe.regime.shape.steps);
        let finite = stepped.is_finite();
        if !self.slices.is_empty() {
            let rows = self.order.rows(step - 1, &self.context.corpus.train);
            self.slices.add(&rows, stepped, &self.learner.values()?, took);
        }
        let due = self.recipe.records(step);
        if due || !finite {
            let (seconds, speed) = self.pace.since_last();
            let timing = json!({"step": step, "seconds": seconds, "tokens_per_second": speed});
            let record = self.record(stepped, rate);
            self.records.add(&mut self.writer, step, record, &timing)?;
        }
        self.diverged = !finite;
        let (speed, left) = (self.pace.speed(), self.pace.left(steps - step));
        let news = News::Stepped { step, loss: stepped.loss, speed, left, logged: due };
        self.context.watcher.tell(&self.plan.id, news);
        Ok(())
    }

    fn record(&self, stepped: &Stepped, rate: f32) -> Map<String, Json> {
        let mut record = Map::new();
        record.insert("step".to_owned(), self.state.step.into());
        record.insert("tokens".to_owned(), self.tokens().into());
        put_number(&mut record, "loss", stepped.loss);
        put_number(&mut record, "grad_norm", stepped.norm);
        put_number(&mut record, "lr", rate);
        if let Some(router) = &stepped.router {
            record.insert("router".to_owned(), router.clone());
        }
        record.into_iter().map(|(field, value)| (field, exact(value))).collect()
    }

    /// Evaluates the run and keeps what is to be kept, commits it to its state and to the evaluation, and saves it, each where that is
    /// due.
    fn reach(&mut self) -> Result<(), Error> {
        let step = self.state.step;
        let done = self.state.checkpoints.iter().any(|checkpoint| checkpoint.step == step);
        let is_due = !done && self.recipe.checkpoints.contains(&step);
        let evaluated = if is_due { Some(self.checkpoint()?) } else { None };
        self.commit(evaluated)?;
        if is_due && self.slices.is_empty() { self.save() } else { Ok(()) }
    }

    /// Commits the run to its state, and to the files of its evaluation, where that is due.
    fn commit(&mut self, evaluated: Option<Digest>) -> Result<(), Error> {
        let step = self.state.step;
        if self.recipe.commits(step) {
            let tensors = self.learner.checkpoint(step, self.plan.seed)?;
            let mut line = committed_state(&tensors, step, self.tokens());
            if step == 0 {
                // All later states are chained to this one, and so to the plan and to the start.
                line.insert("plan_sha256".to_owned(), self.plan.plan.to_string().into());
                let start = self.start.as_ref().map(|start| start.chain.to_string().into());
                line.extend(start.map(|start| ("start".to_owned(), start)));
            }
            let evaluated = evaluated.map(|digest| digest.to_string().into());
            line.extend(evaluated.map(|digest| ("evaluation_sha256".to_owned(), digest)));
            self.records.commit(&mut self.writer, step, line)?;
        }
        Ok(())
    }

    fn tokens(&self) -> u64 {
        self.state.step * self.recipe.regime.shape.tokens_per_step()
    }

    /// Evaluates and hashes the run, keeps what is to be kept, and answers the digest of the evaluation.
    fn checkpoint(&mut self) -> Result<Digest, Error> {
        let step = self.state.step;
        let tokens_seen = self.tokens();
        let tensors = self.learner.checkpoint(step, self.plan.seed)?;
        let tensors_sha256 = Some(tensors.tensors_digest());
        let is_last = step == self.recipe.regime.shape.steps;
        let examined = examination::examine(
            &mut self.learner,
            self.config.root(),
            self.context.corpus,
            self.context.suite,
            ExaminedPoint { step, tokens_seen, tensors_sha256, is_last },
        )?;
        for (name, text) in &examined.files {
            self.put(name, text.as_bytes())?;
        }
        let (loss, bits_per_byte) = (examined.loss, examined.bits_per_byte);
        self.context.watcher.tell(&self.plan.id, News::Evaluated { step, loss, bits_per_byte });
        let bytes = tensors.write();
        let name = format!("data/checkpoints/step-{step:06}.safetensors");
        let kept = self.recipe.kept.contains(&step);
        if kept {
            self.put(&name, &bytes)?;
        }
        self.state.checkpoints.push(Checkpoint {
            step,
            tokens_seen: Some(tokens_seen),
            evaluation: Some(examined.record),
            weights: kept.then_some(name),
            weights_sha256: Some(Digest::of(&bytes)),
            tensors_sha256,
        });
        let files = examined.files.iter();
        let files = files.map(|(name, text)| (name.as_str(), Digest::of(text.as_bytes())));
        Ok(evaluation_digest(files))
    }

    /// Saves the state: a run that is killed later goes on from here.
    fn save(&mut self) -> Result<(), Error> {
        (self.state.records, self.state.states) = self.records.reached(&mut self.writer)?;
        let tensors = self.learner.checkpoint(self.state.step, self.plan.seed)?;
        self.state.clone().save(&mut self.writer, Some(&tensors))?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Writes a payload file; one that an earlier attempt wrote must have the same bytes.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(name);
        match repro_core::source::read_plain(&path) {
            Ok(before) if before == bytes => Ok(()),
            Ok(before) => {
                let place = Location::file(path.display().to_string());
                let expected = format!("the bytes of an earlier attempt, {}", Digest::of(&before));
                let found = format!("{} after step {}", Digest::of(bytes), self.state.step);
                Err(DIFFERS.at(place, expected, found))
            }
            Err(_) => self.writer.file(name, bytes),
        }
    }
}

/// The digest of the configuration in the folder of a run.
fn config_digest(folder: &Path) -> Result<Digest, Error> {
    let path = folder.join(CONFIG);
    let bytes = repro_core::source::read_plain(&path).map_err(|error| {
        let place = Location::file(path.display().to_string());
        UNREADABLE.at(place, "the configuration of the run", error.to_string())
    })?;
    Ok(Digest::of(&bytes))
}
