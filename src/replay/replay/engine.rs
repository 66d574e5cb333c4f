//! Replaying a stretch of a bundle: from what it says to what came of it.

use super::corpora::Corpora;
use super::course::{Course, RowsRead, StepMeasure};
use super::evaluations;
use super::machine::{Machine, Progress, ReplayPhase, ReplayedRun, on_threads};
use super::operations::operations_of_a_token;
use super::second;
use super::session::Session;
use super::settings;
use super::slice::{GRADIENT, listed};
use super::start::{Start, from_checkpoint};
use super::stated;
use super::whole;
use crate::backend::{Host, Place, device_failed};
use crate::learner::{Learner, tokens_at_once};
use crate::model::Config;
use crate::{Regime, RunShape, TensorFile, golden};
use repro_bundle::bundle::{ARITHMETIC, Bundle, CONFIG, RECEIPT};
use repro_core::Verdict;
use repro_core::source::{Code, Error, Location};
use repro_kernels::portable::Isa;
use repro_model::replay::{
    BAD_EXTENT, Batches, CANDLE_UNSUPPORTED, Choice, ChosenBy, Extent, MicroBatchSample, NO_SLICE,
    OTHER_DTYPE, OTHER_MACHINE, RecordsReport, Replay, ReplayComparison, ReplayEngine, TOO_LARGE,
    TWO_ARITHMETICS, Tolerance, Trained,
};
use repro_model::study::table;
use repro_stats::rng::Rng;

/// The largest run that is executed: its parameters, the numbers of one layer in one step, and steps.
const PARAMETERS: u64 = 1 << 28;
const ACTIVATIONS: u64 = 1 << 30;
const STEPS: u64 = 1 << 30;
/// The largest run whose first weights are computed without a replay, in parameters.
const BEGUN: u64 = 1 << 24;

/// Which steps of a bundle a caller's choice means, and who chose them where they were drawn. They are drawn over the
/// whole run where its data are at hand, else among its slices.
fn resolve(
    choice: Choice,
    bundle: &Bundle,
    corpora: &Corpora,
) -> Result<(Extent, Option<ChosenBy>), Error> {
    let slices = &bundle.receipt().slices;
    let none = || NO_SLICE.at(Location::file(bundle.name()), RECORDED, "none");
    match choice {
        Choice::This(extent) => Ok((extent, None)),
        Choice::Last => {
            let last = slices.iter().max_by_key(|slice| slice.from_step).ok_or_else(none)?;
            Ok((Extent::of(last), None))
        }
        Choice::Random(seed) => {
            let mut rng = Rng::new(seed, "steps to replay");
            let config = bundle.document(CONFIG)?.root();
            if corpora.of(bundle, config).is_ok() {
                let drawn = whole::draw(bundle, config, &mut rng)?;
                return Ok((drawn, Some(ChosenBy::Verifier)));
            }
            let count = slices.len();
            let drawn = match count {
                0 => None,
                _ => slices.get(rng.below(count as u64) as usize),
            };
            Ok((Extent::of(drawn.ok_or_else(none)?), Some(ChosenBy::AmongSlices(count))))
        }
    }
}

/// The cost of a step besides its matrix products, measured on small models: routing takes a fifth of them, and to update a
/// parameter, with its digests, takes as long as so many operations.
const ROUTED: f64 = 1.2;
const UPDATED: f64 = 1400.0;

/// The floating-point operations of a replay, roughly: what its cost is estimated from. Nothing that the
/// author measured goes into it.
pub fn cost(bundle: &Bundle, extent: Extent) -> Result<f64, Error> {
    let config = bundle.document(CONFIG)?;
    let shape = RunShape::read(config.root())?;
    let objects = repro_model::params::recompute(config)?;
    let count = |which| objects.count(which, repro_model::params::Convention::Default) as f64;
    let active = count(repro_model::params::ParameterCount::Active);
    let total = count(repro_model::params::ParameterCount::Total);
    let is_routed = total > active;
    let is_portable = bundle.receipt().is_portable();
    let walks = match extent {
        // The evaluations of a run cost about as much as a third of its steps.
        Extent::Whole => 1.3 * shape.steps as f64,
        Extent::States { from, to } => to.saturating_sub(from) as f64,
        // Planted faults mostly show in their first step.
        Extent::Steps { from, to } if is_portable => (to - from) as f64 + 24.0,
        // The walks of the calibration, more where tokens are routed, and planted faults, of which most walk to the end.
        Extent::Steps { from, to } => (to - from) as f64 * if is_routed { 44.0 } else { 32.0 },
    };
    let products = operations_of_a_token(bundle)? * shape.tokens_per_step() as f64;
    let routing = if is_routed { ROUTED } else { 1.0 };
    Ok(walks * (routing * products + UPDATED * total))
}

/// How many micro-batches each step of a slice has, where a sample of them can be executed.
pub fn micro_batches(bundle: &Bundle, extent: Extent) -> Option<usize> {
    let slices = &bundle.receipt().slices;
    let slice = slices.iter().find(|slice| extent.lies_in(slice))?;
    let regime = stated::regime(
        bundle,
        &slice.file,
        (slice.from_step, slice.steps),
        RunShape::read(bundle.document(CONFIG).ok()?.root()).ok()?,
    );
    let file = TensorFile::parse(&slice.file, &bundle.tensors(&slice.file).ok()?).ok()?;
    let is_logged = file.tensors.keys().any(|name| name.starts_with(GRADIENT));
    regime.ok()?.map(|regime| regime.micro_batches).filter(|count| is_logged && *count > 1)
}

/// Replays a stretch of a bundle, or a sample of the micro-batches of its steps. A refusal means that the bundle, or what was
/// asked, cannot be replayed.
pub fn replay(
    bundle: &Bundle,
    (choice, sample): (Choice, Option<MicroBatchSample>),
    machine: &Machine,
    corpora: &Corpora,
    progress: &dyn Progress,
) -> Result<Replay, Error> {
    let subject = ReplayedRun::of(bundle, machine)?;
    let (extent, chosen_by) = resolve(choice, bundle, corpora)?;
    let mut replay = subject.replay((extent, sample), corpora, progress)?;
    // Nothing that a device failed to compute is held against a bundle.
    machine.place.sound()?;
    if let (Verdict::Refuted, Some(device)) = (replay.verdict, &machine.place.device) {
        // What a device alone says against a bundle may be a fault of the device: the processor decides.
        let host = Machine { place: Place::host(machine.place.isa), ..machine.clone() };
        let on_host = ReplayedRun::of(bundle, &host)?;
        let again = on_host.replay((extent, sample), corpora, progress)?;
        replay = match again.verdict {
            Verdict::Refuted => again,
            _ => {
                let (id, reason) = (device.id(), replay.reason);
                let reason = format!("{reason} on `{id}`, but not on the CPU");
                on_host.undecided(extent, &OTHER_MACHINE, reason)
            }
        };
    }
    Ok(Replay { chosen_by: chosen_by.unwrap_or(replay.chosen_by), ..replay })
}

/// Weights and moments before the first step of a bundle's run, in our arithmetic, as a file of tensors; or why they are
/// not known. It takes no step, and so is looked at whenever a bundle is.
pub fn beginning(bundle: &Bundle) -> Result<Vec<u8>, String> {
    let machine = Machine::new(Place::host(Isa::best()), 1);
    let subject = ReplayedRun::of(bundle, &machine).map_err(|error| error.to_string())?;
    if subject.comparison() != ReplayComparison::Bitwise {
        return Err(format!("weights in `{}` cannot be computed here", subject.arithmetic));
    }
    let total = bundle.document(CONFIG).and_then(repro_model::params::recompute);
    let total = total.map_err(|error| error.to_string())?;
    let total = total.count(
        repro_model::params::ParameterCount::Total,
        repro_model::params::Convention::Default,
    );
    if total > BEGUN {
        return Err(format!("{total} parameters are too many to initialize without a replay"));
    }
    let start = subject.start(0).map_err(|error| error.to_string())?;
    Ok(start.tensors.write())
}

/// The tolerance of a slice, whatever arithmetic its run was computed in.
pub fn calibrate(
    bundle: &Bundle,
    choice: Choice,
    machine: &Machine,
    corpora: &Corpora,
    progress: &dyn Progress,
) -> Result<(Extent, Tolerance), Error> {
    let subject = ReplayedRun::of(bundle, machine)?;
    let (extent, _) = resolve(choice, bundle, corpora)?;
    let Extent::Steps { from, to } = extent else {
        let expected = "a slice: whole runs are only compared bit for bit";
        return Err(BAD_EXTENT.at(Location::file("--slice"), expected, extent.to_string()));
    };
    if machine.place.device.is_some()
        && let Some(undecided) = subject.other_bits(extent, progress)?
    {
        return Err(device_failed(undecided.reason));
    }
    let session = Session::open(&subject, (from, to), None, corpora)?;
    if let Some(what) = session.other_first_step()? {
        return Err(device_failed(what));
    }
    // What is asked for alone is not stopped.
    let _ = progress.begins(ReplayPhase::Executing);
    let executed = session.execute(StepMeasure::NarrowMoves, progress)?;
    let _ = progress.begins(ReplayPhase::Calibrating);
    let calibration = session.calibrate(&executed, &[], progress)?;
    machine.place.sound()?;
    Ok((extent, calibration.report(&session.layout, &session.logged, from)))
}

/// How a bundle comes to have slices.
const RECORDED: &str = "a bundle with slices; `receipts.torch.Recorder(run, model, optimizer, slices=[(0, 3)])` records them \
                        while a run trains (`repro explain slices`)";

/// Why a recorder kept no slices, by its own words in the receipt.
fn without_slices(bundle: &Bundle) -> Option<String> {
    let root = bundle.document(RECEIPT).ok()?.root();
    let problems = root.get("predicate")?.get("extra")?.get("emitter_problems")?.items().ok()?;
    let told: Vec<_> = problems.filter_map(|node| node.text().ok()).take(4).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Refuses runs that a stranger's config makes too large to execute: their weights, and a number of steps that takes long
/// to count.
fn fits(bundle: &Bundle, shape: RunShape) -> Result<(), Error> {
    let config = bundle.document(CONFIG)?;
    let objects = repro_model::params::recompute(config)?;
    let total = objects.count(
        repro_model::params::ParameterCount::Total,
        repro_model::params::Convention::Default,
    );
    for (what, found, most) in [("parameters", total, PARAMETERS), ("steps", shape.steps, STEPS)] {
        if found > most {
            let place = config.root().place();
            return Err(TOO_LARGE.at(place, format!("at most {most} {what}"), found.to_string()));
        }
    }
    Ok(())
}

impl<'a> ReplayedRun<'a> {
    /// The run of a bundle, whose settings and size are those of one that can be executed.
    pub fn of(bundle: &'a Bundle, machine: &'a Machine) -> Result<Self, Error> {
        let trainer = bundle.receipt().trainer.as_ref();
        let stated = trainer.and_then(|trainer| trainer.arithmetic.clone());
        let arithmetic = stated.unwrap_or_else(|| "not stated".to_owned());
        // Only runs of the own arithmetic can be executed without slices, from their data.
        let why = without_slices(bundle);
        if bundle.receipt().slices.is_empty() && (why.is_some() || arithmetic != ARITHMETIC) {
            let place = Location::file(bundle.name());
            let found = why.unwrap_or_else(|| "nothing to replay".to_owned());
            return Err(NO_SLICE.at(place, RECORDED, format!("none: {found}")));
        }
        let config = bundle.document(CONFIG)?.root();
        if let Some(node) = config.get("arithmetic").filter(|node| node.text() != Ok(&*arithmetic))
        {
            let expected = format!("`{arithmetic}`, as in the receipt");
            return Err(TWO_ARITHMETICS.at(node.place(), expected, format!("`{}`", node.text()?)));
        }
        let is_stated = stated::is_stated(bundle);
        settings::check(config, is_stated)?;
        let shape = RunShape::read(config)?;
        fits(bundle, shape)?;
        // What nobody can execute is told first.
        Config::read(config)?;
        Ok(Self { bundle, config, shape, arithmetic, machine })
    }

    /// How its steps are made, as its config says.
    pub fn declared(&self) -> Result<Regime, Error> {
        Regime::read(self.config)
    }

    fn replay(
        &self,
        (extent, sample): (Extent, Option<MicroBatchSample>),
        corpora: &Corpora,
        progress: &dyn Progress,
    ) -> Result<Replay, Error> {
        let slice = self.slice(extent)?;
        let bitwise = self.comparison() == ReplayComparison::Bitwise;
        let at_hand = || bitwise && corpora.of(self.bundle, self.config).is_ok();
        if slice.is_none() && extent != Extent::Whole && !at_hand() {
            let place = self.bundle.place(repro_bundle::bundle::RECEIPT);
            return Err(NO_SLICE.at(place, listed(self.bundle), extent.to_string()));
        }
        if let Some(undecided) = self.other_bits(extent, progress)? {
            return Ok(undecided);
        }
        let _ = progress.begins(ReplayPhase::Reading);
        match (slice, extent) {
            (Some(from), Extent::Steps { to, .. }) => {
                let session = Session::open(self, (from, to), sample, corpora)?;
                let batches = session.rows_kept();
                let mut replay = session.replay(extent, progress)?;
                let steps = self.steps_of_slice(from);
                evaluations::repeat(self, corpora, steps, &batches, &mut replay)?;
                Ok(replay)
            }
            _ if sample.is_some() => {
                let place = self.bundle.place(repro_bundle::bundle::RECEIPT);
                Err(NO_SLICE.at(place, "a slice with logged micro-batches", "none"))
            }
            _ => self.beyond_slices(extent, corpora, progress),
        }
    }

    /// The steps whose evaluations are made again with the slice after `from` steps: up to the next slice.
    fn steps_of_slice(&self, from: u64) -> std::ops::Range<u64> {
        let starts = || self.bundle.receipt().slices.iter().map(|slice| slice.from_step);
        let first = starts().min().is_none_or(|first| first == from);
        let next = starts().filter(|start| *start > from).min();
        (if first { 0 } else { from })..next.unwrap_or(u64::MAX)
    }

    /// Steps that are no slice, which the trainer's engine alone executes.
    fn beyond_slices(
        &self,
        extent: Extent,
        corpora: &Corpora,
        progress: &dyn Progress,
    ) -> Result<Replay, Error> {
        const WHY: &str = "the second engine executes only slices";
        match self.machine.engine {
            ReplayEngine::Own => whole::replay(self, extent, corpora, progress),
            ReplayEngine::Candle => Ok(self.undecided(extent, &CANDLE_UNSUPPORTED, WHY.to_owned())),
            ReplayEngine::Both => {
                Ok(second::alone(whole::replay(self, extent, corpora, progress)?, WHY))
            }
        }
    }

    /// Where the slice begins that holds these steps, if one does.
    fn slice(&self, extent: Extent) -> Result<Option<u64>, Error> {
        let Extent::Steps { from, to } = extent else { return Ok(None) };
        let slices = &self.bundle.receipt().slices;
        let is_slice = slices.iter().any(|slice| Extent::of(slice) == extent);
        if to.saturating_sub(from) < Extent::FEWEST && !is_slice {
            let expected = format!("at least {} steps, or a whole slice", Extent::FEWEST);
            return Err(BAD_EXTENT.at(Location::file("--slice"), expected, extent.to_string()));
        }
        let slice = slices.iter().find(|slice| extent.lies_in(slice));
        Ok(slice.map(|slice| slice.from_step))
    }

    /// Why nothing can be said of the run's bits here: it was not computed in float32, or this machine does
    /// not compute what it claims to be computed in.
    fn other_bits(&self, extent: Extent, progress: &dyn Progress) -> Result<Option<Replay>, Error> {
        let dtype = self.config.required("dtype")?.text()?;
        // Slices may state that they were computed with fewer bits, from weights of float32.
        if dtype != "float32" && !stated::is_stated(self.bundle) {
            let reason =
                format!("the run computes in `{}`", dtype.chars().take(40).collect::<String>());
            return Ok(Some(self.undecided(extent, &OTHER_DTYPE, reason)));
        }
        // What the processor computes is within rounding in any case.
        if self.comparison() == ReplayComparison::Calibrated && self.machine.place.device.is_none()
        {
            return Ok(None);
        }
        let _ = progress.begins(ReplayPhase::Golden);
        let Machine { place, threads, .. } = self.machine;
        let other = on_threads(*threads, || golden::differing(golden::of(place)))?;
        place.sound()?;
        Ok(other.first().map(|first| {
            let who = match &place.device {
                None => "this machine",
                Some(device) => device.id(),
            };
            let reason =
                format!("{who} does not reproduce {ARITHMETIC}: `{first}` gives different bits");
            self.undecided(extent, &OTHER_MACHINE, reason)
        }))
    }

    /// How its steps are compared.
    pub fn comparison(&self) -> ReplayComparison {
        if self.arithmetic == ARITHMETIC {
            ReplayComparison::Bitwise
        } else {
            ReplayComparison::Calibrated
        }
    }

    /// A replay that has not shown anything yet.
    pub fn blank(&self, extent: Extent) -> Replay {
        Replay {
            bundle: self.bundle.name().to_owned(),
            digest: self.bundle.digest().prefixed(),
            extent,
            of_steps: self.shape.steps,
            chosen_by: ChosenBy::Author,
            engine: self.machine.engine,
            comparison: self.comparison(),
            arithmetic: self.arithmetic.clone(),
            verdict: Verdict::Unchecked,
            reason: String::new(),
            code: None,
            start: String::new(),
            batches: Batches::OnTrust("nothing was read".to_owned()),
            sampled: None,
            steps: Vec::new(),
            executed: 0,
            tensors: Vec::new(),
            divergence: None,
            flips: Vec::new(),
            shares: Vec::new(),
            states: Vec::new(),
            also: Vec::new(),
            records: RecordsReport::default(),
            evaluations: Vec::new(),
            reading: Vec::new(),
            uncompared: Vec::new(),
            faults: Vec::new(),
            trained: Trained::default(),
            tolerance: None,
            final_loss: None,
            engines: None,
        }
    }

    pub fn undecided(&self, extent: Extent, code: &'static Code, reason: String) -> Replay {
        Replay { verdict: Verdict::Inconclusive, code: Some(code), reason, ..self.blank(extent) }
    }

    /// A course from `start` over so many steps.
    pub fn course(
        &self,
        regime: Regime,
        mut start: Start,
        steps: u64,
        rows: RowsRead,
    ) -> Result<Course, Error> {
        self.fits_at_once(&regime)?;
        start.complete(&Learner::zeros(
            self.config,
            &regime,
            Host::new(self.machine.place.isa),
        )?)?;
        Ok(Course {
            config: table(self.config)?,
            regime,
            counted: start.step,
            start,
            steps,
            rows,
            ahead: 0,
            factor: 1.0,
            frozen: None,
            clip_by: Vec::new(),
            exact_norms: false,
            marks: Vec::new(),
            other_roundings: None,
            averaged: None,
            stale: None,
            sampled: None,
        })
    }

    /// Refuses batches of which too much would be kept at a time.
    fn fits_at_once(&self, regime: &Regime) -> Result<(), Error> {
        let model = Config::read(self.config)?;
        // The logits of models of others are not all held at a time.
        let rows = if model.is_ours() { model.vocab_size } else { model.intermediate_size };
        let widest = model.hidden_size.max(rows);
        let found = tokens_at_once(&model, regime).saturating_mul(widest) as u64;
        if found <= ACTIVATIONS {
            return Ok(());
        }
        let expected = format!("at most {ACTIVATIONS} values per layer and micro-batch");
        Err(TOO_LARGE.at(self.config.place(), expected, found.to_string()))
    }

    /// Weights and moments after `step` steps: of the seed where the arithmetic is ours, else of a
    /// checkpoint of the bundle.
    pub fn start(&self, step: u64) -> Result<Start, Error> {
        if step > 0 || self.comparison() == ReplayComparison::Calibrated {
            return from_checkpoint(self.bundle, step, &self.arithmetic);
        }
        let seed = self.config.required("seed_init")?.integer()?;
        let regime = self.declared()?;
        let learner = Learner::new(self.config, &regime, seed, Host::new(self.machine.place.isa))?;
        let (name, shown) = (format!("seed {seed}"), format!("seed {seed}"));
        Ok(Start { step, tensors: learner.checkpoint(0, seed)?.into(), name, shown })
    }
}
