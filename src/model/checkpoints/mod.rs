//! Checks of kept checkpoints that execute no step: whether weights and moments match the receipt, whether the optimizer in
//! the config could have produced them, and whether it could lead from one checkpoint to the next.

mod adam;
mod ended;
mod kept;

use std::collections::BTreeMap;

use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::digest::Digest;
use repro_core::source::{Code, codes};

use adam::AdamSettings;
use kept::{KeptCheckpoint, LoggedTensor, TrainedTensor};

/// The relative tolerance of a bound for rounding to float32 in each step.
const ROUNDING: f64 = 1e-3;
/// Squares below this lose digits to rounding, or become 0.
const SMALLEST_SQUARE: f64 = 1e-30;
/// A part of the names of expert tensors.
const EXPERTS: &str = ".experts.";
/// A tensor is reported if its elements are this many times larger than those of the same tensor in other layers.
const OUTLIER: f64 = 30.0;
/// The learning rates are summed over at most this many steps between two checkpoints, because a receipt may state any
/// number.
const MOST_STEPS: u64 = 1 << 24;

codes! {
    OTHER_TENSORS = "weights::tensor-digest", "a checkpoint does not match its `tensors_sha256` in the receipt", "put the checkpoint that the run wrote into the bundle";
    OTHER_BEGINNING = "states::initial-weights", "the first committed state does not match the seed", "commit to the states of the run itself, starting at step 0";
    OTHER_SHAPES = "weights::tensor-shapes", "the tensor shapes of a checkpoint do not match the config", "correct the config, or put the run's own checkpoint into the bundle";
    IMPOSSIBLE_MOMENTS = "weights::impossible-moments", "no gradients lead to the moments in a checkpoint", "save the moments from the optimizer itself";
    LOST_SQUARES = "weights::second-moments", "the second moments fell faster between two checkpoints than the optimizer allows", "put the run's own checkpoints into the bundle";
    TOO_FAR = "weights::update-too-large", "a tensor changed more between two checkpoints than the optimizer allows", "put the run's own checkpoints into the bundle";
    NOT_AS_LOGGED = "weights::not-as-logged", "the change of a tensor between two checkpoints does not match the slice", "put the run's own checkpoints and slices into the bundle";
    NOT_MOVED = "weights::unchanged-tensor", "a tensor did not change although its moments are not zero", "put the run's own checkpoints into the bundle";
    OUTLIERS = "weights::outlier", "a tensor is much larger than the same tensor in other layers", "inspect the tensor: the cause cannot be determined here";
    NOT_LOOKED_AT = "weights::unchecked", "part of a checkpoint could not be checked", "keep moments, digests and at least two checkpoints";
}

/// Computes the initial weights of a model from a seed.
pub trait InitialWeights: std::fmt::Debug + Sync {
    /// Weights and moments before the first step of a bundle's run, as a file of tensors, or the reason why they are
    /// unknown.
    fn state(&self, bundle: &Bundle) -> Result<Vec<u8>, String>;
}

/// A failed check of a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightsFault {
    pub code: &'static Code,
    /// The file with the fault.
    pub file: String,
    pub reason: String,
}

/// The results of all checks of a bundle's checkpoints.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointsFound {
    /// The number of checkpoints that were read.
    pub checkpoints: usize,
    /// The total number of their tensors.
    pub tensors: usize,
    /// The checks that passed, in a few words each.
    pub looked_at: Vec<String>,
    /// The checks that could not run, with reasons.
    pub not_looked_at: Vec<String>,
    pub faults: Vec<WeightsFault>,
    /// Tensors that a person should inspect.
    pub outliers: Vec<String>,
}

impl CheckpointsFound {
    /// Checks the kept checkpoints of a bundle. None if it has no checkpoints and no committed states.
    pub fn of(bundle: &Bundle, initial_weights: Option<&dyn InitialWeights>) -> Option<Self> {
        let mut found = Self::default();
        let receipt = bundle.receipt();
        if receipt.states.is_none() && bundle.kept_checkpoints().next().is_none() {
            return None;
        }
        let is_ours = receipt.is_portable();
        let start = initial_weights.filter(|_| is_ours).map(|known| {
            known.state(bundle).and_then(|state| KeptCheckpoint::of(state, 0, "the seed"))
        });
        let begins = found.beginning(bundle, start.as_ref());
        let mut before = start.and_then(Result::ok);
        let config = bundle.document(CONFIG).ok().filter(|_| is_ours);
        let settings = config.and_then(|config| AdamSettings::read(config.root()));
        for (entry, file) in bundle.kept_checkpoints() {
            let checkpoint = match KeptCheckpoint::read(bundle, entry.step, file) {
                Ok(checkpoint) => checkpoint,
                Err(why) => {
                    found.not_looked_at.push(format!("`{file}`: {why}"));
                    before = None;
                    continue;
                }
            };
            found.checkpoints += 1;
            found.tensors += checkpoint.tensors().count();
            std::thread::scope(|scope| {
                // Hashing takes as long as all other checks together.
                let digest = scope.spawn(|| checkpoint.digest());
                found.shapes(bundle, &checkpoint, is_ours);
                found.sizes(&checkpoint);
                found.ended(bundle, before.as_ref(), &checkpoint);
                found.optimized(bundle, before.as_ref(), &checkpoint, settings.as_ref());
                if let Ok(digest) = digest.join() {
                    found.digest(&checkpoint, digest, entry.tensors_sha256);
                }
            });
            before = Some(checkpoint);
        }
        (found.checkpoints > 0 || begins).then_some(found)
    }

    /// Checks whether the optimizer can have produced a checkpoint, and led to it from the previous one.
    fn optimized(
        &mut self,
        bundle: &Bundle,
        before: Option<&KeptCheckpoint>,
        checkpoint: &KeptCheckpoint,
        settings: Option<&AdamSettings>,
    ) {
        let Some(settings) = settings else {
            return self.no("moments and updates: the optimizer is not the one in `repro train`");
        };
        self.moments(checkpoint, settings);
        let Some(before) = before else {
            return self.no("update sizes: there are no initial weights and no earlier checkpoint");
        };
        let steps = checkpoint.step.checked_sub(before.step);
        if steps.is_none_or(|steps| steps > MOST_STEPS) {
            let apart = format!("the distance of the checkpoints is not 0 to {MOST_STEPS} steps");
            return self.no(&format!("update sizes: {apart}"));
        }
        let rates = kept::rates(bundle, before.step, checkpoint.step);
        self.between(before, checkpoint, settings, rates);
        self.as_logged(bundle, before, checkpoint, settings);
    }

    fn no(&mut self, what: &str) {
        if !self.not_looked_at.iter().any(|known| known == what) {
            self.not_looked_at.push(what.to_owned());
        }
    }

    fn yes(&mut self, what: &str) {
        if !self.looked_at.iter().any(|known| known == what) {
            self.looked_at.push(what.to_owned());
        }
    }

    fn fault(&mut self, code: &'static Code, file: &str, reason: String) {
        // One fault of a kind per file is enough.
        if !self.faults.iter().any(|known| known.code == code && known.file == file) {
            self.faults.push(WeightsFault { code, file: file.to_owned(), reason });
        }
    }

    /// Checks whether the first committed state matches the seed. Returns whether there are committed states.
    fn beginning(
        &mut self,
        bundle: &Bundle,
        start: Option<&Result<KeptCheckpoint, String>>,
    ) -> bool {
        let Some(states) = &bundle.receipt().states else { return false };
        let first = bundle.document(&states.file).ok().and_then(|document| {
            let line = document.root().items().ok()?.next()?;
            let is_first = line.get("step")?.integer() == Ok(0);
            is_first.then(|| Digest::parse_hex(line.get("tensors_sha256")?.text().ok()?))?
        });
        let known = start.map(|start| start.as_ref().map(KeptCheckpoint::digest));
        match (first, known) {
            (None, _) => self.no("the first committed state: it is not at step 0"),
            (_, None) => self.no("the first committed state: the initial weights are unknown"),
            (_, Some(Err(why))) => self.no(&format!("the first committed state: {why}")),
            (Some(stated), Some(Ok(made))) if stated == made => {
                self.yes("the first committed state matches the seed");
            }
            (Some(stated), Some(Ok(made))) => {
                let reason =
                    format!("the receipt's seed leads to sha256 {made}; the file has {stated}");
                self.fault(&OTHER_BEGINNING, &states.file, reason);
            }
        }
        true
    }

    /// Checks whether the tensors match the receipt.
    fn digest(&mut self, checkpoint: &KeptCheckpoint, found: Digest, stated: Option<Digest>) {
        match stated {
            None => self.no("`tensors_sha256`: not in the receipt"),
            Some(stated) if stated == found => self.yes("`tensors_sha256`"),
            Some(stated) => {
                let reason = format!("its tensors have sha256 {found}; the receipt has {stated}");
                self.fault(&OTHER_TENSORS, &checkpoint.file, reason);
            }
        }
    }

    /// Checks whether names and shapes follow from the config, if the names are the usual ones of its family.
    fn shapes(&mut self, bundle: &Bundle, checkpoint: &KeptCheckpoint, is_ours: bool) {
        let listed = bundle.document(CONFIG).and_then(crate::params::tensors);
        let Ok(listed) = listed else {
            return self.no("names and shapes: the config's model is unknown");
        };
        let mut known = 0;
        for tensor in listed.iter() {
            let kept = checkpoint.tensor(&tensor.name);
            if is_ours && kept.is_none_or(|kept| kept.moments.is_none()) {
                let reason = format!("`{}` or its moments are missing as float32", tensor.name);
                self.fault(&OTHER_SHAPES, &checkpoint.file, reason);
            }
            let Some(kept) = kept else { continue };
            known += 1;
            if kept.shape != tensor.shape {
                let (name, shape) = (&tensor.name, &tensor.shape);
                let reason =
                    format!("`{name}` has the shape {:?}; the config has {shape:?}", kept.shape);
                self.fault(&OTHER_SHAPES, &checkpoint.file, reason);
            }
        }
        match known {
            0 => self.no("names and shapes: the tensor names of the checkpoint are unknown"),
            _ => self.yes("names and shapes"),
        }
    }

    /// Checks whether any gradients can lead to these moments.
    fn moments(&mut self, checkpoint: &KeptCheckpoint, settings: &AdamSettings) {
        let most = settings.most_mean(checkpoint.step) * (1.0 + ROUNDING);
        let mut squares = 0.0;
        let mut any = false;
        for (name, tensor) in checkpoint.tensors() {
            let Some((mean, square)) = tensor.moments else { continue };
            any = true;
            squares += square.sum(|v| v);
            // In experts without tokens, first moments decay to 0 before second moments do.
            if !name.contains(EXPERTS) && mean.is_zero() && !square.is_zero() {
                let reason = format!("`{name}` has first moments of 0, but second moments above 0");
                self.fault(&IMPOSSIBLE_MOMENTS, &checkpoint.file, reason);
            }
            let most = most * most;
            let is_beyond = |m: f64, v: f64| (m * m > most * v.max(SMALLEST_SQUARE)) | (v < 0.0);
            if let Some((m, v)) = mean.find(square, is_beyond) {
                let reason = format!(
                    "`{name}` has a first moment of {m} and a second moment of {v}; the limit is {:.4} times its root",
                    settings.most_mean(checkpoint.step)
                );
                self.fault(&IMPOSSIBLE_MOMENTS, &checkpoint.file, reason);
            }
        }
        let clip = settings.clip * settings.clip * (1.0 - settings.least_square(checkpoint.step));
        if any && settings.clip > 0.0 && squares > clip * (1.0 + 10.0 * ROUNDING) {
            let reason =
                format!("the second moments sum to {squares}; clipping limits them to {clip}");
            self.fault(&IMPOSSIBLE_MOMENTS, &checkpoint.file, reason);
        }
        match any {
            true => self.yes("moments are possible"),
            false => self.no("moments: the checkpoint has none"),
        }
    }

    /// Checks whether the optimizer can lead from one checkpoint to the next.
    fn between(
        &mut self,
        before: &KeptCheckpoint,
        after: &KeptCheckpoint,
        settings: &AdamSettings,
        rates: Option<Vec<f64>>,
    ) {
        let Some(rates) = rates else {
            return self.no("update sizes: neither config nor records have learning rates");
        };
        if rates.iter().any(|rate| rate * settings.decay >= 1.0) {
            return self.no("update sizes: weight decay reverses the signs of weights");
        }
        let steps = after.step - before.step;
        let reach = settings.reach(before.step, &rates);
        let left: f64 = rates.iter().map(|rate| 1.0 - rate * settings.decay).product();
        let least = settings.least_square(steps);
        for (name, new) in after.tensors() {
            let Some(old) = before.tensor(name).filter(|old| old.shape == new.shape) else {
                continue;
            };
            let moved = most_moved(old, new, left, steps);
            if moved > reach * (1.0 + ROUNDING) {
                let reason = format!(
                    "`{name}` changed by {moved:.6} in {steps} steps; the limit is {reach:.6}"
                );
                self.fault(&TOO_FAR, &after.file, reason);
            }
            self.yes("updates are within the limits of AdamW");
            let Some((_, square)) = new.moments else {
                self.no(&format!("whether each tensor changed: `{name}` has no moments"));
                continue;
            };
            if let Some((_, old)) = old.moments {
                let kept = least * (1.0 - ROUNDING);
                let is_lost =
                    |old: f64, new: f64| (old * kept > SMALLEST_SQUARE) & (new < old * kept);
                if let Some((old, new)) = old.find(square, is_lost) {
                    let reason = format!(
                        "`{name}`: a second moment fell from {old} to {new} in {steps} steps; at least {least:.4e} of it must remain"
                    );
                    self.fault(&LOST_SQUARES, &after.file, reason);
                }
                self.yes("second moments fall no faster than possible");
            }
            let Some(rate) = rates.last().filter(|rate| **rate > 0.0) else { continue };
            let mut weights = std::iter::zip(old.weights.iter(), new.weights.iter());
            let is_zero = new.weights.is_zero();
            if (is_zero || weights.all(|(a, b)| a == b))
                && must_move(new, after.step, settings, *rate)
            {
                let how = if is_zero { "0 everywhere" } else { "unchanged, bit for bit," };
                let reason = format!("`{name}` is {how} in checkpoint {}", after.step);
                self.fault(&NOT_MOVED, &after.file, reason);
            }
            self.yes("tensors with moments changed");
        }
    }

    /// Checks whether tensors changed between two checkpoints as logged by the slice that starts at the first one.
    fn as_logged(
        &mut self,
        bundle: &Bundle,
        before: &KeptCheckpoint,
        after: &KeptCheckpoint,
        settings: &AdamSettings,
    ) {
        let mut slices = bundle.receipt().slices.iter();
        let Some(slice) = slices.find(|slice| slice.from_step == before.step) else { return };
        let end = slice.from_step.saturating_add(slice.steps);
        if end > after.step {
            return;
        }
        let rates = kept::rates(bundle, end, after.step);
        let logged = kept::logged_tensors(bundle, &slice.file);
        let (Some(rates), Some(logged)) = (rates, logged) else { return };
        let rest = settings.reach(end, &rates);
        for LoggedTensor { name, moved, .. } in logged {
            let (Some(old), Some(new)) = (before.tensor(&name), after.tensor(&name)) else {
                continue;
            };
            let found = old.distance(new);
            // The part that the steps after the slice can have undone.
            let elements = libm::sqrt(new.weights.len() as f64);
            let decayed = (after.step - end) as f64
                * settings.decay
                * new.weights.norm().max(old.weights.norm());
            let back = rest * (elements + decayed);
            if found + back + ROUNDING * moved < moved {
                let reason = format!(
                    "`{name}` changed by {moved} in the slice and by {found} up to checkpoint {}",
                    after.step
                );
                self.fault(&NOT_AS_LOGGED, &after.file, reason);
            }
        }
        self.yes("updates match the slices");
    }

    /// Finds tensors that are much larger than the same tensor in other layers. Experts are left out: those without tokens
    /// only decay while others grow.
    fn sizes(&mut self, checkpoint: &KeptCheckpoint) {
        let mut twins: BTreeMap<String, Vec<(f64, &str)>> = BTreeMap::new();
        for (name, tensor) in checkpoint.tensors().filter(|(name, _)| !name.contains(EXPERTS)) {
            let kind = name.split('.').filter(|part| part.parse::<u64>().is_err());
            let kind = kind.collect::<Vec<_>>().join(".");
            let size = tensor.weights.norm() / libm::sqrt(tensor.weights.len() as f64);
            twins.entry(kind).or_default().push((size, name));
        }
        for mut twins in twins.into_values().filter(|twins| twins.len() > 2) {
            twins.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (middle, last) = (twins[twins.len() / 2].0, &twins[twins.len() - 1]);
            if middle > 0.0 && last.0 > OUTLIER * middle {
                let (file, name, times) = (&checkpoint.file, last.1, last.0 / middle);
                self.outliers.push(format!("`{name}` in `{file}` is {times:.0} times the median"));
            }
        }
        self.yes("norms");
    }
}

/// The change of an element beyond what rounding and weight decay explain. `left` is the smallest factor that weight decay
/// leaves.
fn most_moved(old: TrainedTensor<'_>, new: TrainedTensor<'_>, left: f64, steps: u64) -> f64 {
    let beyond = |(old, new): (f64, f64)| {
        // Weight decay leaves between the smallest factor and all of the weight.
        let (a, b) = (old * left, old);
        let moved = (a.min(b) - new).max(new - a.max(b)).max(0.0);
        // Each step rounds the weight once.
        moved - steps as f64 * f64::from(f32::EPSILON) * new.abs().max(old.abs())
    };
    std::iter::zip(old.weights.iter(), new.weights.iter()).map(beyond).fold(0.0, f64::max)
}

/// Whether the last update of a tensor, computed from its moments, must be visible in an element.
fn must_move(tensor: TrainedTensor<'_>, step: u64, settings: &AdamSettings, rate: f64) -> bool {
    let Some((mean, square)) = tensor.moments else { return false };
    let corrected = |beta: f64| 1.0 - libm::pow(beta, step as f64);
    let (c1, c2) = (corrected(settings.beta1), corrected(settings.beta2));
    let shows = |((m, v), w): ((f64, f64), f64)| {
        let update = rate * (m / c1) / (libm::sqrt(v / c2) + settings.epsilon);
        update.abs() > 4.0 * f64::from(f32::EPSILON) * w.abs()
    };
    let moments = std::iter::zip(mean.iter(), square.iter());
    std::iter::zip(moments, tensor.weights.iter()).any(shows)
}
