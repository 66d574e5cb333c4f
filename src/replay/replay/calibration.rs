//! The verifier's own tolerance: how far a stretch of training is moved by rounding.
//!
//! The stretch is executed again from start weights that are moved by one unit in the last place, each
//! element up or down at random, and once in float64. How far the results spread, quantity by quantity
//! and step by step, is what rounding explains; eight times the largest spread of seventeen walks is allowed. A log that
//! holds float32 numbers adds its own rounding to each spread. Where nothing in a step is a choice between two results,
//! walks spread evenly, and nine walks say as much: their largest spread is an eighth smaller on average, for half-normal
//! deviations, and nine times it is allowed.
//!
//! Routing is a choice: near a tie, rounding sends a token to another expert, and what follows differs
//! by more than rounding. Where a log routes tokens otherwise, the start weights are moved further, until
//! as many tokens change their expert here; from that step on what those changes spread is allowed too, and
//! the criterion below still holds.
//!
//! Where experts have equal scores, which one is chosen is up to each program. What follows such a choice, where the log has
//! another, is neither confirmed nor refuted.
//!
//! Clipping divides by a norm that the other program took in float32. Its step is made with that norm, where it was logged
//! as such (`clip_norm`); it is compared on its own, with what such a norm may be off ([`crate::narrow`]), as are the norms of
//! gradients, updates and tensors. Where it was not, a norm of the gradients may have been logged in more bits than were
//! divided by, so that each disturbed walk has one that is off by as much. A gradient that is smaller than the rounding of all gradients together is the rounding of its own sum; AdamW makes a
//! whole step of it, so that its tensor is compared no further.
//!
//! Some gradients are nothing but rounding in any program: those of the biases of keys, which a softmax does not see, alone
//! or as a part of a longer bias. The rules of Adam make whole steps of them. So the gradients of the first step are compared
//! number by number: where a walk changes one by half of itself, that is rounding, and such a share of a tensor may come out
//! as anything.
//!
//! Scores of attention are rounded after they are scaled in other programs, and their gradients found by sums over outputs;
//! where probabilities are nearly 0 and 1 that is all that is left of them (`AttentionShape::disturb`).
//!
//! Sums of matrix products are chains of any length in other programs, whose roundings add up to more than those of blocks;
//! every second walk has such chains. Sums over the vocabulary are long, and their error is one of a whole row, often of all rows: in float32 it is many times
//! that of a single number. Each disturbed walk has them off as a sum in four lanes is (`Head::disturb`).
//!
//! Rotary frequencies are powers, which two programs may round differently: each disturbed walk has them off by as much,
//! where the model is one of another program.
//!
//! A recipe with fewer bits than float32 is executed with its roundings, at the operations where it makes them. The
//! disturbed walks make them at random, up as often as a number lies near to it, which spreads at least as far as two
//! programs that round at slightly different places.
//!
//! Muon rounds to bfloat16, which is a choice as well: what another order of a sum moves by a unit of float32 jumps by one
//! of bfloat16 where it lies at the edge of a rounding, and its iterations make that large. A single jump is too seldom to
//! be met by sixteen walks and common in a run. So each walk moves what is rounded, at random and by a hundredth of a
//! unit of bfloat16, and norms by as much as those of float32 are off: jumps are met in every step, and are more than
//! those of any run.
//!
//! A tolerance that hides a learning rate off by one percent is no use. Rates belong to groups of the optimizer: in each
//! there has to be a tensor, and a step at which its tolerance stays below half of what that error changes, and for every
//! other tensor one at which it stays below half of what ten times that changes. A small tensor whose weights are near 1 and
//! move by a few units in the last place has no more to show. With fewer bits, in the model or in Muon, it is ten percent,
//! and half of the rate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::course::{ADDED, Course, FirstPass, StepMeasure};
use super::fault::{decisive, with_other_rate};
use super::machine::{Machine, Progress, on_threads};
use super::step::{Layout, Step, StepQuantity};
use crate::backend::{Host, on_place};
use crate::{ParameterGroup, Precision, TensorData, TensorFile, UpdateMethod};
use repro_core::parallel;
use repro_core::source::Error;
use repro_model::replay::{Allowed, Tolerance};
use repro_stats::rng::Rng;

/// Replays from moved weights, and how many times their largest spread is allowed.
#[derive(Debug, Clone, Copy)]
struct Effort {
    walks: u64,
    times: f64,
}

/// Where routing, signs or roundings to fewer bits choose between two results.
const OF_CHOICES: Effort = Effort { walks: 16, times: 8.0 };
/// Where Muon rounds to bfloat16: walks move a hundredth of its roundings to the other side, other programs less than a
/// tenth as many, which spreads a third as far.
const OF_MUON: Effort = Effort { walks: 16, times: 5.0 };
/// Where few bits choose between experts: whole tokens go elsewhere in each walk, which spreads unevenly.
const OF_ROUTES_BY_FEW_BITS: Effort = Effort { walks: 16, times: 16.0 };
/// Where results depend smoothly on the weights.
const SMOOTH: Effort = Effort { walks: 8, times: 9.0 };
/// The rounding of a float32, relative to it.
const LOGGED: f64 = 1.0 / 16_777_216.0;
/// How much further than in walks several steps are off whose errors have one sign.
const STEPS_ALIKE: f64 = 2.0;
/// Gradients below this share of the norm of all of them are rounding: 16 units of float32.
const EDGE: f64 = 16.0 * LOGGED;
/// Shares of a tensor that are rounding alone: from here on that is allowed for; from here on its way may be any, but not
/// none; and here nothing is compared of what it became.
const SOME: f64 = 0.02;
const MOST: f64 = 0.5;
const NEARLY_ALL: f64 = 0.98;
/// How many times the decisive error of the learning rate has to show in each tensor, and the largest such error.
const IN_EACH: f64 = 10.0;
const LARGEST: f64 = 0.5;
/// From such a part of a gradient on that rounding alone may change, what follows is chaos.
const WILD: f64 = 0.3;
/// How far weights are moved at most, in units in the last place: powers of two.
const FARTHEST: u32 = 12;

/// The differences that rounding explains over a stretch.
#[derive(Debug)]
pub struct Calibration {
    /// The stretch as it came out without being disturbed.
    pub base: Vec<Step>,
    /// The effect of the decisive error of the learning rate on it.
    other_rate: Vec<Step>,
    /// The largest spread of each quantity in each step.
    spread: Vec<BTreeMap<StepQuantity, f64>>,
    /// Of each tensor, the first step in which its gradient is rounding alone.
    blurred: BTreeMap<usize, usize>,
    /// Of each tensor, the largest share that is rounding alone.
    noise: BTreeMap<usize, f64>,
    effort: Effort,
    replays: usize,
    flips: u64,
    precision: Precision,
    /// The error of the learning rate that has to be seen.
    decisive: f64,
}

impl Effort {
    fn of(course: &Course, layout: &Layout) -> Self {
        let groups = &course.regime.optimizer.groups;
        let chooses = |group: &ParameterGroup| group.method == UpdateMethod::Lion;
        if !layout.routers.is_empty() && course.regime.precision != Precision::Full {
            return OF_ROUTES_BY_FEW_BITS;
        }
        let is_plain = layout.routers.is_empty() && course.regime.precision == Precision::Full;
        match groups.iter().any(ParameterGroup::rounds) {
            true if is_plain => OF_MUON,
            false if is_plain && !groups.iter().any(chooses) => SMOOTH,
            _ => OF_CHOICES,
        }
    }
}

/// A way to disturb a stretch.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// Start weights moved by so many units in the last place, with this seed.
    Moved { seed: u64, units: u32 },
    /// Computed in float64.
    Wide,
    /// At a learning rate with the decisive error.
    OtherRate,
}

impl Calibration {
    /// Calibrates a course whose steps came out like this, on a machine. The first of the accounts is its log, the second
    /// that of another engine, or nothing.
    pub fn of(
        course: &Course,
        (base, known): (Vec<Step>, Option<&FirstPass>),
        (layout, accounts): (&Layout, [&[Step]; 2]),
        machine: &Machine,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let mut disturbed = vec![Disturbance::OtherRate, Disturbance::Wide];
        let effort = Effort::of(course, layout);
        disturbed.extend((0..effort.walks).map(|seed| Disturbance::Moved { seed, units: 1 }));
        progress.expects(course.steps * disturbed.len() as u64);
        let [logged, _] = accounts;
        let clipping = Clipping::of(course, &base, logged, effort);
        let disturbing = Disturbing { course, known, clipping, machine, progress };
        let mut walks = disturbing.walks(&disturbed)?;
        let other_rate = walks.remove(0);
        let mut calibration = Self {
            spread: vec![BTreeMap::new(); base.len()],
            blurred: blurred(&base, logged),
            noise: BTreeMap::new(),
            base,
            other_rate,
            effort,
            replays: 0,
            flips: 0,
            precision: course.regime.precision,
            decisive: decisive(&course.regime),
        };
        calibration.take_in(layout, &walks, 0);
        // Each round moves four times as far as the one before.
        for power in (2..=FARTHEST).step_by(2) {
            let flips =
                accounts.iter().filter_map(|account| calibration.first_flip(layout, account));
            let Some(first) = flips.min() else { break };
            let farther =
                |seed| Disturbance::Moved { seed: u64::from(power) << 8 | seed, units: 1 << power };
            let farther: Vec<_> = (0..effort.walks / 2).map(farther).collect();
            progress.expects(course.steps * farther.len() as u64);
            let walks = disturbing.walks(&farther)?;
            calibration.take_in(layout, &walks, first);
        }
        Ok(calibration)
    }

    /// Takes in walks from the step number `first` on: what came before needs no more explanation.
    fn take_in(&mut self, layout: &Layout, walks: &[Vec<Step>], first: usize) {
        self.replays += walks.len();
        let quantities = layout.quantities();
        for noise in walks.iter().filter_map(|walk| walk.first()?.noise.as_ref()) {
            for (tensor, share) in noise.iter().enumerate().filter(|(_, share)| **share > SOME) {
                let known = self.noise.entry(tensor).or_insert(0.0);
                *known = known.max(*share);
            }
        }
        for walk in walks {
            let pairs = self.base.iter().zip(walk).zip(&mut self.spread);
            for ((base, other), spread) in pairs.skip(first) {
                self.flips = self.flips.max(base.flips(other).unwrap_or(0));
                for quantity in &quantities {
                    let Some(apart) = quantity.deviation(base, other) else { continue };
                    let known = spread.entry(*quantity).or_insert(0.0);
                    *known = known.max(apart);
                }
            }
        }
    }

    /// The first step in which an account routes more tokens otherwise than are allowed.
    pub fn first_flip(&self, layout: &Layout, logged: &[Step]) -> Option<usize> {
        let within = |at: usize, quantity: StepQuantity| {
            let pair = logged.get(at).zip(self.base.get(at));
            let apart = pair.and_then(|(logged, base)| quantity.deviation(logged, base));
            apart.is_none_or(|apart| apart <= self.tolerance(at, quantity))
        };
        let layers = || (0..layout.routers.len()).map(StepQuantity::Routing);
        (0..self.base.len()).find(|at| !layers().all(|layer| within(*at, layer)))
    }

    /// The tolerance of a quantity in the step number `at`.
    pub fn tolerance(&self, at: usize, quantity: StepQuantity) -> f64 {
        if quantity.tensor_number().is_some_and(|tensor| self.is_blurred(at, tensor, quantity)) {
            return f64::INFINITY;
        }
        // Rounding adds up from step to step: what an earlier step spread, a later one may too.
        let so_far = self.spread.iter().take(at + 1).filter_map(|spread| spread.get(&quantity));
        let spread = so_far.copied().reduce(f64::max);
        let rounding = match quantity {
            StepQuantity::Routing(_) => 0.0,
            // Other arithmetic has other bits.
            StepQuantity::Bits(_) => return f64::INFINITY,
            _ => LOGGED,
        };
        let narrow = self.base.get(at).map_or(0.0, |base| quantity.narrow_error(base));
        let undecided = match quantity {
            StepQuantity::Routing(layer) => {
                self.base.get(at).and_then(|base| base.undecided.get(layer))
            }
            _ => None,
        };
        let narrow = narrow + undecided.copied().unwrap_or_default() as f64;
        let spread = self.effort.times * spread.unwrap_or(0.0).max(rounding) + narrow;
        spread.max(self.noise_of(at, quantity))
    }

    /// How far a number of a tensor may be off because part of it is rounding alone, up to the step number `at`.
    fn noise_of(&self, at: usize, quantity: StepQuantity) -> f64 {
        let share = |tensor: usize| match self.noise.get(&tensor).copied().unwrap_or(0.0) {
            // The others move as they should, and what is noise as far as it likes.
            most if most >= MOST => 1.0 - 0.5 * (1.0 - most).sqrt(),
            share => share,
        };
        match quantity {
            StepQuantity::Update(tensor) | StepQuantity::Moved(tensor) => share(tensor),
            StepQuantity::Size(tensor) => {
                let of = |list: &Option<Vec<f64>>| list.as_ref()?.get(tensor).copied();
                let way: f64 = self.base.iter().take(at + 1).filter_map(|s| of(&s.updates)).sum();
                let size = self.base.get(at).and_then(|step| of(&step.sizes)).unwrap_or(0.0);
                if size > 0.0 { share(tensor) * way / size } else { share(tensor) }
            }
            _ => 0.0,
        }
    }

    /// Whether a quantity of a tensor up to the step number `at` is the rounding of its gradient. The length of a gradient is
    /// that of its large numbers, whatever the small ones are.
    fn is_blurred(&self, at: usize, tensor: usize, quantity: StepQuantity) -> bool {
        let is_length = matches!(quantity, StepQuantity::Gradient(_));
        (!is_length && self.is_noise(tensor))
            || self.blurred.get(&tensor).is_some_and(|first| *first <= at)
    }

    /// Whether the gradient of a tensor is rounding in nearly all its numbers.
    fn is_noise(&self, tensor: usize) -> bool {
        self.noise.get(&tensor).is_some_and(|share| *share >= NEARLY_ALL)
    }

    /// Whether the tolerance of a quantity in a step is below half of what so many times the decisive error of the learning
    /// rate change.
    fn fine(&self, times: f64, at: usize, quantity: StepQuantity) -> bool {
        let pair = self.base.get(at).zip(self.other_rate.get(at));
        let effect = pair.and_then(|(base, other)| quantity.deviation(base, other));
        effect.is_some_and(|effect| self.tolerance(at, quantity) < 0.5 * times * effect)
    }

    /// How many times the decisive error has to show in each tensor.
    fn in_each(&self) -> f64 {
        IN_EACH.min(LARGEST / self.decisive)
    }

    /// The tensors whose updates are not seen finely enough: all of a group in none of which the decisive error of the rate
    /// shows (it does not in those that are seen roughly), and each in which several times that does not.
    fn coarse(
        &self,
        roughly: &BTreeSet<usize>,
        layout: &Layout,
        logged: &[Step],
    ) -> BTreeSet<usize> {
        let group = |tensor: &usize| layout.groups.get(*tensor).copied().flatten();
        let moved = (0..layout.names.len()).filter(|at| !roughly.contains(at));
        let seen: BTreeSet<_> = moved.filter_map(|at| group(&at)).collect();
        let mut hidden = self.hiding(self.in_each(), layout, logged);
        hidden.extend(roughly.iter().filter(|at| !group(at).is_some_and(|at| seen.contains(&at))));
        hidden
    }

    /// The tensors in whose updates so many times the decisive error of the rate are nowhere seen, among those that `logged`
    /// has; all where it has no updates and no other quantity shows it either.
    fn hiding(&self, times: f64, layout: &Layout, logged: &[Step]) -> BTreeSet<usize> {
        let has = |at: usize, quantity: StepQuantity| {
            let pair = logged.get(at).zip(self.base.get(at));
            pair.is_some_and(|(logged, base)| quantity.deviation(logged, base).is_some())
        };
        let seen = |quantity: StepQuantity| {
            (0..self.base.len()).any(|at| has(at, quantity) && self.fine(times, at, quantity))
        };
        let updates = |tensor: usize| [StepQuantity::Update(tensor), StepQuantity::Moved(tensor)];
        let logs = |quantity: &StepQuantity| (0..self.base.len()).any(|at| has(at, *quantity));
        if !(0..layout.names.len()).flat_map(updates).any(|quantity| logs(&quantity)) {
            let any = layout.quantities().into_iter().any(seen);
            return if any { BTreeSet::new() } else { (0..layout.names.len()).collect() };
        }
        let is_noise = |at: &usize| self.blurred.contains_key(at) || self.noise.contains_key(at);
        // What has no gradient is not trained, which is another verdict.
        let is_still = |at: &usize| {
            let gradient = |step: &Step| step.gradients.as_ref()?.get(*at).copied();
            self.base.iter().all(|step| gradient(step) == Some(0.0))
        };
        let tells = |at: &usize| !layout.rests(*at) && !is_noise(at) && !is_still(at);
        let hides = |at: &usize| tells(at) && !updates(*at).into_iter().any(seen);
        (0..layout.names.len()).filter(hides).collect()
    }

    /// The most that is allowed of the update of a tensor of which a part is rounding alone.
    fn widest(&self) -> f64 {
        let last = self.base.len().saturating_sub(1);
        let parts = self.noise.keys().filter(|at| !self.is_noise(**at));
        parts.map(|at| self.tolerance(last, StepQuantity::Update(*at))).fold(0.0, f64::max)
    }

    /// The first step in which rounding alone may change such a part of a gradient of which no part is known to be rounding,
    /// and how much. Where tokens are routed elsewhere gradients of experts are others without any chaos.
    fn wild(&self, layout: &Layout) -> Option<(usize, f64)> {
        let is_plain = |at: &usize| !self.noise.contains_key(at) && !self.blurred.contains_key(at);
        let tensors: Vec<_> = (0..layout.names.len()).filter(is_plain).collect();
        let largest = |step: usize| {
            let allowed =
                tensors.iter().map(|at| self.tolerance(step, StepQuantity::Gradient(*at)));
            (step, allowed.filter(|allowed| allowed.is_finite()).fold(0.0, f64::max))
        };
        let is_smooth = layout.routers.is_empty() && self.precision == Precision::Full;
        is_smooth.then(|| (0..self.base.len()).map(largest).find(|(_, most)| *most > WILD))?
    }

    /// The first step in which experts have equal scores and the log does not have the choices that were made here, and the
    /// tokens that have such experts. A router of zeros has them for all tokens: no walk moves a zero, so that each walk
    /// chooses as the base does, and the spread of the walks says nothing of a program that chooses the others.
    fn tied(&self, logged: &[Step]) -> Option<(usize, u64)> {
        let nothing = Step::default();
        let of_step = |at: usize| {
            let (base, logged) = (self.base.get(at)?, logged.get(at).unwrap_or(&nothing));
            let is_ours =
                |layer: usize| StepQuantity::Routing(layer).deviation(logged, base) == Some(0.0);
            let layers = base.undecided.iter().enumerate().filter(|(layer, _)| !is_ours(*layer));
            let tokens: u64 = layers.map(|(_, tokens)| *tokens).sum();
            (tokens > 0).then_some((at, tokens))
        };
        (0..self.base.len()).find_map(of_step)
    }

    /// The tensors that are compared no further from some step on.
    fn blurred_tensors(&self) -> impl Iterator<Item = usize> {
        let noise = self.noise.keys().copied().filter(|at| self.is_noise(*at));
        let all: BTreeSet<usize> = self.blurred.keys().copied().chain(noise).collect();
        all.into_iter()
    }

    /// How it is reported.
    pub fn report(&self, layout: &Layout, logged: &[Step], from: u64) -> Tolerance {
        let row = |at: usize| {
            let updates = (0..layout.names.len()).filter_map(|tensor| {
                let tolerance = self.tolerance(at, StepQuantity::Update(tensor));
                Some((tolerance, layout.names.get(tensor)?.clone()))
            });
            let largest = updates.filter(|(tolerance, _)| tolerance.is_finite());
            let update = largest.max_by(|a, b| a.0.total_cmp(&b.0));
            Allowed {
                step: from + at as u64 + 1,
                loss: self.tolerance(at, StepQuantity::Loss),
                norm: self.tolerance(at, StepQuantity::Norm),
                update,
            }
        };
        let named = |tensors: &mut dyn Iterator<Item = usize>| -> Vec<String> {
            tensors.filter_map(|at| layout.names.get(at).cloned()).collect()
        };
        let roughly = self.hiding(1.0, layout, logged);
        let coarse = self.coarse(&roughly, layout, logged);
        Tolerance {
            replays: self.replays,
            times: self.effort.times,
            steps: (0..self.base.len()).map(row).collect(),
            rounded: self.precision.words(),
            held_against: (100.0 * self.decisive).round() as u32,
            in_each: (100.0 * self.in_each() * self.decisive).round() as u32,
            roughly: named(&mut roughly.difference(&coarse).copied()),
            coarse: named(&mut layout.forward.iter().copied().filter(|at| coarse.contains(at))),
            blurred: named(&mut self.blurred_tensors()),
            in_part: named(&mut self.noise.keys().copied().filter(|at| !self.is_noise(*at))),
            widest: self.widest(),
            wild: self.wild(layout).map(|(at, most)| (from + at as u64 + 1, most)),
            tied: self.tied(logged).map(|(at, tokens)| (from + at as u64 + 1, tokens)),
            flips: self.flips,
        }
    }
}

/// By which norms the gradients of each step were scaled down, and how far walks have that off.
struct Clipping(Vec<(f64, f64)>);

impl Clipping {
    fn of(course: &Course, base: &[Step], logged: &[Step], effort: Effort) -> Self {
        let of_step = |(at, step): (usize, &Step)| {
            let taken = course.clip_by.get(at).copied().flatten();
            let norm = taken.or(step.norm).unwrap_or_default();
            let is_known = logged.get(at).is_some_and(|step| step.clipped_by.is_some());
            // What a float32 norm may be off is a bound already, of which several times are allowed later.
            let narrow = STEPS_ALIKE * StepQuantity::ClippedBy.narrow_error(step) / effort.times;
            (norm, if is_known { LOGGED } else { LOGGED.max(narrow) } + ADDED / norm)
        };
        Self(base.iter().enumerate().map(of_step).collect())
    }

    /// Norms that are off by as much, up or down.
    fn disturbed(&self, seed: u64) -> Vec<Option<f64>> {
        let mut rng = Rng::new(seed, "norms of a calibration");
        let off = |(norm, error): &(f64, f64)| {
            let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
            Some(norm * (1.0 + sign * error)).filter(|norm| norm.is_finite() && *norm >= 0.0)
        };
        self.0.iter().map(off).collect()
    }
}

/// Of each tensor whose gradient is as small as the rounding of all of them in both accounts, the first such step.
fn blurred(base: &[Step], logged: &[Step]) -> BTreeMap<usize, usize> {
    let mut first = BTreeMap::new();
    for (at, step) in base.iter().enumerate() {
        let Some(norm) = step.norm else { continue };
        let theirs = logged.get(at).and_then(|logged| logged.gradients.as_ref());
        for (tensor, own) in step.gradients.iter().flatten().enumerate() {
            let theirs = theirs.and_then(|list| list.get(tensor)).filter(|own| !own.is_nan());
            let is_edge = |gradient: f64| gradient <= EDGE * norm;
            // Nothing is no rounding.
            if is_edge(*own) && theirs.is_none_or(|one| is_edge(*one) && (*one > 0.0 || *own > 0.0))
            {
                first.entry(tensor).or_insert(at);
            }
        }
    }
    first
}

/// A course that is walked again, disturbed.
struct Disturbing<'a> {
    course: &'a Course,
    /// Its first pass as it was made.
    known: Option<&'a FirstPass>,
    clipping: Clipping,
    machine: &'a Machine,
    progress: &'a dyn Progress,
}

impl Disturbing<'_> {
    /// The walks of these disturbances, side by side.
    fn walks(&self, disturbed: &[Disturbance]) -> Result<Vec<Vec<Step>>, Error> {
        let walk = |disturbance: &Disturbance| on_threads(1, || self.steps(*disturbance))?;
        parallel::map(disturbed, self.machine.threads, walk).into_iter().collect()
    }

    fn steps(&self, disturbance: Disturbance) -> Result<Vec<Step>, Error> {
        let (course, measure) = (self.course, StepMeasure::Moves);
        let mut steps = Vec::new();
        let mut keep = |step: &Step| {
            steps.push(step.clone());
            self.progress.walked(1);
            ControlFlow::Continue(())
        };
        match disturbance {
            Disturbance::Wide => {
                let wide = Host::<f64>::new(self.machine.place.isa);
                drop(course.walk(wide, measure, |_, step, _| keep(step))?);
            }
            Disturbance::OtherRate => {
                let other = with_other_rate(course);
                on_place!(&self.machine.place, backend => {
                    drop(other.walk_after(backend, self.known, measure, |_, step, _| keep(step))?);
                });
            }
            Disturbance::Moved { seed, units } => {
                let mut moved = course.clone();
                moved.clip_by = self.clipping.disturbed(seed);
                moved.other_roundings = Some(seed);
                move_weights(Arc::make_mut(&mut moved.start.tensors), seed, units);
                let measure = StepMeasure::NoisyMoves;
                let place = match seed % 2 {
                    1 => &self.machine.place.chained(),
                    _ => &self.machine.place,
                };
                on_place!(place, backend => {
                    drop(moved.walk_after(backend, self.known, measure, |_, step, _| keep(step))?);
                });
            }
        }
        Ok(steps)
    }
}

/// Moves each weight by some units in the last place, up or down; moments stay as they are.
fn move_weights(tensors: &mut TensorFile, seed: u64, units: u32) {
    let mut rng = Rng::new(seed, "start weights of a calibration");
    for (name, data) in &mut tensors.tensors {
        if crate::checkpoint::MOMENTS.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let Some(mut values) = data.as_floats() else { continue };
        let mut bits = 0;
        for (at, value) in values.iter_mut().enumerate() {
            if at % 64 == 0 {
                bits = rng.word();
            }
            // A float one unit away has the next number as its bits; zero stays, for it has no last place.
            let moved = match bits & 1 {
                0 => value.to_bits().checked_add(units),
                _ => value.to_bits().checked_sub(units),
            };
            let moved = moved.map(f32::from_bits).filter(|moved| moved.signum() == value.signum());
            *value = moved.filter(|moved| moved.is_finite() && *value != 0.0).unwrap_or(*value);
            bits >>= 1;
        }
        *data = TensorData::floats(data.shape(), &values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_move_by_units_and_moments_do_not() {
        let mut file = TensorFile::default();
        let values = [1.0, -0.5, 0.0, 3.0, -7.0, 0.25, 1e-3, f32::MAX];
        file.tensors.insert("w".into(), TensorData::floats(&[8], &values));
        file.tensors.insert("optimizer.m.w".into(), TensorData::floats(&[8], &values));
        let mut moved = file.clone();
        move_weights(&mut moved, 1, 1);
        assert_eq!(moved.tensors["optimizer.m.w"], file.tensors["optimizer.m.w"]);
        let after = moved.tensors["w"].as_floats().unwrap();
        for (before, after) in
            values.iter().zip(&after).filter(|(before, _)| before.abs() < f32::MAX)
        {
            let apart = before.to_bits().abs_diff(after.to_bits());
            assert_eq!(apart, u32::from(*before != 0.0), "{before}");
        }
        assert!(after.iter().all(|value| value.is_finite()));
        let up =
            after.iter().zip(&values).filter(|(after, before)| after.abs() > before.abs()).count();
        assert!((1..7).contains(&up), "some up, some down: {up}");
    }
}
