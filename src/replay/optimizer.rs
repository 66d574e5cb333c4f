//! Optimizers over the named tensors of a model: moments, bias corrections, clipping, groups of tensors.
//!
//! The update of one element is [`repro_kernels::portable::adamw`]'s, or for runs of others one of
//! [`repro_kernels::portable::rules`]'. The numbers of a step are computed in float64 and rounded once; the powers of the betas are
//! running products. Tensors are taken in the order of their names, which is also the order in which their squares are
//! added for the norm.

use super::backend::{Backend, MovedTensor, TensorUpdate};
use super::narrow;
use super::rules::{Muon, MuonVariant, Optimizer, ParameterGroup, UpdateMethod};
use repro_kernels::portable::Kernels;
use repro_kernels::portable::adamw::Update;
use repro_kernels::portable::muon::{MuonRounding, MuonUpdate, Operations};
use repro_kernels::portable::rules::Momentum;

/// How far numbers are moved before they are rounded to bfloat16, where roundings are disturbed: so far that one in a
/// hundred is rounded to the other side. The order of a sum in float32 moves it by less than a hundredth of that.
const DISTURBANCE: f64 = 1.0 / 16_384.0;

/// The state of the optimizer.
#[derive(Debug)]
pub struct OptimizerState<B: Backend> {
    backend: B,
    settings: Optimizer,
    /// The group of each tensor; none where it stays as it is.
    groups: Vec<Option<usize>>,
    /// The steps that were made.
    steps: u64,
    /// Those that were made when it was last restored: where a stretch begins.
    restored: u64,
    /// Of each group, the powers of both betas after these steps.
    powers: Vec<[f64; 2]>,
    /// Of each tensor, in the order of [`Moments::parts`].
    moments: Vec<[B::Numbers; 3]>,
    /// The rows and columns of each tensor.
    shapes: Vec<[usize; 2]>,
    /// The key of the draws of disturbed roundings; none if they are not disturbed.
    disturbed: Option<u64>,
}

/// The state that a tensor's rule keeps of its gradients; empty if it keeps nothing of the kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moments<T> {
    /// Their running mean.
    pub mean: Vec<T>,
    /// That of their squares.
    pub square: Vec<T>,
    /// The greatest of those (AMSGrad).
    pub greatest: Vec<T>,
}

/// The numbers of one step, group by group.
#[derive(Debug, Clone)]
pub struct StepNumbers<T>(Vec<GroupNumbers<T>>);

#[derive(Debug, Clone, Copy)]
enum GroupNumbers<T> {
    /// The same for all tensors.
    Plain(TensorUpdate<T>),
    /// With the rate before it is adjusted to a matrix.
    Muon(MuonUpdate<T>, Muon, f64),
}

/// The norm of all gradients, of which these are the tensors' sums of squares ([`Kernels::squares`]): the root
/// of their sum, in order from +0.
pub fn norm(squares: &[f64]) -> f64 {
    libm::sqrt(squares.iter().fold(0.0, |sum, squares| sum + squares))
}

impl<T: Kernels> Moments<T> {
    /// In the order of [`super::checkpoint::MOMENTS`].
    pub fn parts(&self) -> [&Vec<T>; 3] {
        [&self.mean, &self.square, &self.greatest]
    }

    /// From such parts.
    pub fn of([mean, square, greatest]: [Vec<T>; 3]) -> Self {
        Self { mean, square, greatest }
    }

    fn into_parts(self) -> [Vec<T>; 3] {
        [self.mean, self.square, self.greatest]
    }
}

impl<B: Backend> OptimizerState<B> {
    /// An optimizer of tensors of these groups, rows and columns, before its first step.
    pub fn new(backend: B, settings: &Optimizer, tensors: &[(Option<usize>, [usize; 2])]) -> Self {
        let mut state = Self {
            backend,
            settings: settings.clone(),
            groups: tensors.iter().map(|(group, _)| *group).collect(),
            steps: 0,
            restored: 0,
            powers: vec![[1.0; 2]; settings.groups.len()],
            moments: Vec::new(),
            shapes: tensors.iter().map(|(_, shape)| *shape).collect(),
            disturbed: None,
        };
        let zero = |(at, (_, [rows, columns])): (usize, &(Option<usize>, [usize; 2]))| {
            let zeros = |is_kept| state.backend.zeros(if is_kept { rows * columns } else { 0 });
            let kept = state.group(at).map_or([false; 3], |group| group.method.keeps());
            kept.map(zeros)
        };
        state.moments = tensors.iter().enumerate().map(zero).collect();
        state
    }

    /// Which moments of tensor number `at` a checkpoint has, in the order of their names.
    pub fn written(&self, at: usize) -> [bool; 3] {
        self.group(at).map_or([false; 3], ParameterGroup::writes)
    }

    fn group(&self, at: usize) -> Option<&ParameterGroup> {
        self.settings.groups.get((*self.groups.get(at)?)?)
    }

    /// Sets the optimizer to where it was after `steps` steps with these moments; those that no checkpoint has stay zero.
    pub fn restore(&mut self, steps: u64, moments: Vec<Moments<B::Number>>) {
        self.steps = 0;
        for (own, given) in std::iter::zip(&mut self.moments, moments) {
            let parts = std::iter::zip(own, given.into_parts());
            for (own, given) in parts.filter(|(_, given)| !given.is_empty()) {
                *own = self.backend.put(given);
            }
        }
        self.powers.fill([1.0; 2]);
        (0..steps).for_each(|_| self.count());
        self.restored = steps;
    }

    /// The moments of tensor number `at`, on the host.
    pub fn moments_of(&self, at: usize) -> Option<Moments<B::Number>> {
        let get = |of| self.backend.get(of, 0..self.backend.length(of)).into_owned();
        Some(Moments::of(self.moments.get(at)?.each_ref().map(get)))
    }

    /// Sets those of tensor number `at`.
    pub fn set_moments(&mut self, at: usize, moments: Moments<B::Number>) {
        if let Some(own) = self.moments.get_mut(at) {
            *own = moments.into_parts().map(|part| self.backend.put(part));
        }
    }

    fn count(&mut self) {
        let stretch = self.steps.saturating_sub(self.restored) as usize;
        self.steps += 1;
        for (powers, group) in std::iter::zip(&mut self.powers, &self.settings.groups) {
            let [_, beta1, beta2] = group.numbers_at(stretch);
            // Where betas change, the corrections are those of the newest ones, as PyTorch has it.
            if group.drift.iter().all(Vec::is_empty) {
                *powers = [powers[0] * beta1, powers[1] * beta2];
            } else {
                *powers = [beta1, beta2].map(|beta| libm::pow(beta, self.steps as f64));
            }
        }
    }

    /// Begins a step with the rate of each group, the last of which is that of all groups behind it, and with gradients of
    /// this norm.
    pub fn begin(&mut self, rates: &[f32], norm: f64) -> StepNumbers<B::Number> {
        let stretch = (self.steps - self.restored) as usize;
        self.count();
        let clip = self.settings.clip;
        let clip = if clip > 0.0 && norm > clip { clip / norm } else { 1.0 };
        let rate = |at: usize| rates.get(at).or(rates.last()).copied().unwrap_or_default();
        let groups = std::iter::zip(&self.settings.groups, &self.powers).enumerate();
        let numbers = groups.map(|(at, (group, powers))| {
            let now = group.numbers_at(stretch);
            numbers((group, now), powers, self.steps, clip, rate(at).into())
        });
        StepNumbers(numbers.collect())
    }

    /// Makes the step for tensor number `at`.
    pub fn update(
        &mut self,
        step: &StepNumbers<B::Number>,
        at: usize,
        tensor: MovedTensor<'_, B::Numbers>,
    ) {
        let group = self.groups.get(at).copied().flatten();
        let Some(numbers) = group.and_then(|group| step.0.get(group)) else { return };
        let rule = match *numbers {
            GroupNumbers::Plain(rule) => rule,
            GroupNumbers::Muon(update, rule, rate) => {
                let Some(shape) = self.shapes.get(at).copied() else { return };
                let update = of_matrix(update, rule, rate, shape);
                let seed = self.disturbed.map(|seed| draws(seed, self.steps, at));
                let rounding = disturbed(update.rounding, seed, tensor.range.len());
                TensorUpdate::Muon(MuonUpdate { rounding, ..update }, shape)
            }
        };
        if let Some(moments) = self.moments.get_mut(at) {
            self.backend.update(tensor, moments.each_mut(), &rule);
        }
    }

    /// From now on roundings to bfloat16 are disturbed, by draws from this seed.
    pub fn disturb_roundings(&mut self, seed: u64) {
        self.disturbed = Some(seed);
    }
}

/// The numbers of a group in step number `steps`.
fn numbers<T: Kernels>(
    (group, now): (&ParameterGroup, [f64; 3]),
    powers: &[f64; 2],
    steps: u64,
    clip: f64,
    rate: f64,
) -> GroupNumbers<T> {
    let ParameterGroup { method, epsilon, .. } = *group;
    let [decay, beta1, beta2] = now;
    let round = T::from_f64;
    let plain = Update {
        clip: round(clip),
        rate: round(rate),
        decay: T::ONE,
        beta1: [round(beta1), round(1.0 - beta1)],
        beta2: [round(beta2), round(1.0 - beta2)],
        c1: round(1.0 / (1.0 - powers[0])),
        c2: round(1.0 / (1.0 - powers[1])),
        epsilon: round(epsilon),
    };
    let decaying = match decay > 0.0 {
        true => Update { decay: round(1.0 - rate * decay), ..plain },
        false => plain,
    };
    let momentum = |mean: [f64; 2], step: [f64; 2]| Momentum {
        clip: plain.clip,
        rate: plain.rate,
        decay: T::ONE,
        coupled: T::ZERO,
        mean: mean.map(round),
        step: step.map(round),
    };
    let rule = match method {
        UpdateMethod::AdamW { amsgrad: false } => TensorUpdate::AdamW(decaying),
        UpdateMethod::AdamW { amsgrad: true } => TensorUpdate::Adam(decaying, T::ZERO),
        UpdateMethod::Adam { .. } => TensorUpdate::Adam(plain, round(decay)),
        UpdateMethod::Sgd { dampening, nesterov } => {
            // The mean begins with the first gradient as it is.
            let added = if steps == 1 { 1.0 } else { 1.0 - dampening };
            let step = match (beta1 > 0.0, nesterov) {
                (false, _) => [0.0, 1.0],
                (true, false) => [1.0, 0.0],
                (true, true) => [beta1, 1.0],
            };
            let update = momentum([beta1, added], step);
            TensorUpdate::Momentum(Momentum { coupled: round(decay), ..update })
        }
        UpdateMethod::Muon(rule) => return GroupNumbers::Muon(muon(rule, decaying), rule, rate),
        UpdateMethod::Lion => {
            let update = momentum([beta2, 1.0 - beta2], [beta1, 1.0 - beta1]);
            TensorUpdate::Lion(Momentum { decay: decaying.decay, ..update })
        }
    };
    GroupNumbers::Plain(rule)
}

/// The numbers of Muon, before they are adjusted to a matrix, with what it has in common with AdamW.
fn muon<T: Kernels>(rule: Muon, common: Update<T>) -> MuonUpdate<T> {
    MuonUpdate {
        clip: common.clip,
        rate: common.rate,
        decay: common.decay,
        momentum: common.beta1,
        nesterov: rule.nesterov,
        steps: rule.steps,
        coefficients: rule.coefficients.map(T::from_f64),
        epsilon: common.epsilon,
        scale: T::ONE,
        operations: match rule.variant {
            MuonVariant::Reference => Operations::Separate,
            MuonVariant::Torch => Operations::Fused,
            MuonVariant::Compiled => Operations::Compiled,
        },
        rounding: if rule.is_bfloat16 { MuonRounding::Bfloat16 } else { MuonRounding::None },
    }
}

/// The numbers of Muon for a matrix of this shape.
fn of_matrix<T: Kernels>(
    update: MuonUpdate<T>,
    rule: Muon,
    rate: f64,
    shape: [usize; 2],
) -> MuonUpdate<T> {
    let scale = rule.adjust.of(shape);
    match rule.variant {
        MuonVariant::Reference | MuonVariant::Compiled => {
            MuonUpdate { scale: T::from_f64(scale), ..update }
        }
        MuonVariant::Torch => MuonUpdate { rate: T::from_f64(rate * scale), ..update },
    }
}

/// A rounding with disturbances, where there are any, of an update of so many numbers.
fn disturbed(rounding: MuonRounding, seed: Option<u64>, count: usize) -> MuonRounding {
    match (rounding, seed) {
        (MuonRounding::Bfloat16, Some(seed)) => {
            let norm = narrow::rounding(count as u64);
            MuonRounding::Disturbed { seed, share: DISTURBANCE, norm }
        }
        (rounding, _) => rounding,
    }
}

/// A seed of a tensor's draws in a step.
fn draws(seed: u64, step: u64, tensor: usize) -> u64 {
    let of_step =
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step.wrapping_mul(0xd134_2543_de82_ef95);
    of_step ^ (tensor as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Host, HostNumbers};
    use crate::rules::MuonScale;
    use repro_kernels::portable::Isa;

    /// An optimizer with clipping at 1, of one tensor of one number.
    fn of_one(decay: f64) -> OptimizerState<Host<f64>> {
        let group = ParameterGroup {
            decay,
            beta1: 0.9,
            beta2: 0.95,
            epsilon: 1e-8,
            ..ParameterGroup::ADAMW
        };
        let settings = Optimizer { clip: 1.0, groups: vec![group] };
        OptimizerState::new(Host::new(Isa::SCALAR), &settings, &[(Some(0), [1, 1])])
    }

    /// Makes a step for the only tensor.
    fn update<T: Kernels>(
        optimizer: &mut OptimizerState<Host<T>>,
        step: &StepNumbers<T>,
        weights: &mut Vec<T>,
        gradient: Vec<T>,
    ) {
        let (range, mut own) = (0..weights.len(), HostNumbers::Own(std::mem::take(weights)));
        let gradient = &HostNumbers::Own(gradient);
        optimizer.update(step, 0, MovedTensor { weights: &mut own, gradient, range });
        *weights = own.to_vec();
    }

    /// The definition, in float64 and one element at a time.
    fn reference(weight: f64, gradients: &[f64], decay: f64, rate: f64) -> f64 {
        let (mut w, mut m, mut v) = (weight, 0.0, 0.0);
        for (t, gradient) in (1..).zip(gradients) {
            let g = gradient * (1.0 / gradient.abs()).min(1.0);
            m = 0.9 * m + (1.0 - 0.9) * g;
            v = 0.95 * v + (1.0 - 0.95) * g * g;
            let corrected = (m / (1.0 - 0.9_f64.powi(t)), v / (1.0 - 0.95_f64.powi(t)));
            w = w * (1.0 - rate * decay) - rate * corrected.0 / (corrected.1.sqrt() + 1e-8);
        }
        w
    }

    #[test]
    fn steps_follow_the_definition_and_a_restored_state_goes_on() {
        let gradients = [0.5, -3.0, 0.25, 0.125, -2.0];
        for decay in [0.1, 0.0] {
            let mut whole = of_one(decay);
            let (mut weight, mut resumed) = (vec![0.75], None);
            for (done, gradient) in gradients.iter().enumerate() {
                if done == 3 {
                    let mut again = of_one(decay);
                    again.restore(3, whole.moments_of(0).into_iter().collect());
                    resumed = Some((again, weight.clone()));
                }
                let make = |optimizer: &mut OptimizerState<Host<f64>>, weight: &mut Vec<f64>| {
                    let norm = norm(&[Kernels::squares(Isa::SCALAR, &[*gradient])]);
                    let step = optimizer.begin(&[0.01], norm);
                    update(optimizer, &step, weight, vec![*gradient]);
                };
                make(&mut whole, &mut weight);
                if let Some((again, weight)) = &mut resumed {
                    make(again, weight);
                }
            }
            let wanted = reference(0.75, &gradients, decay, f64::from(0.01_f32));
            assert!((weight[0] - wanted).abs() < 1e-14, "{} {wanted}", weight[0]);
            let (again, other) = resumed.unwrap();
            assert_eq!((other, again.moments_of(0)), (weight, whole.moments_of(0)));
        }
    }

    /// Three steps of Muon on a matrix of 6 rows and 4 columns, as PyTorch 2.15 makes them: one number after them, and the
    /// sum of all magnitudes. The decay takes the rate before it is adjusted.
    #[test]
    fn muon_scales_the_step_or_the_rate() {
        let rule = |variant, adjust| Muon {
            nesterov: true,
            steps: 5,
            coefficients: [3.4445, -4.7750, 2.0315],
            is_bfloat16: false,
            adjust,
            variant,
        };
        for (variant, adjust, expected) in [
            (MuonVariant::Reference, MuonScale::Original, [-0.49743557, 8.70624041]),
            (MuonVariant::Torch, MuonScale::Original, [-0.497435659, 8.70623978]),
            (MuonVariant::Torch, MuonScale::MatchRmsAdamw, [-0.516626537, 8.03551248]),
            (MuonVariant::Torch, MuonScale::SpectralUnclamped, [-0.497435659, 8.70623978]),
        ] {
            let group = ParameterGroup {
                method: UpdateMethod::Muon(rule(variant, adjust)),
                decay: 0.2,
                beta1: 0.9,
                epsilon: 1e-7,
                ..ParameterGroup::ADAMW
            };
            let settings = Optimizer { clip: 0.0, groups: vec![group] };
            let mut optimizer =
                OptimizerState::new(Host::new(Isa::best()), &settings, &[(Some(0), [6, 4])]);
            let number =
                |at: usize, [a, b, c]: [usize; 3]| ((at * a + b) % c) as f32 - (c / 2) as f32;
            let mut w: Vec<_> = (0..24).map(|at| number(at, [37, 0, 19]) / 16.0).collect();
            for step in 0..3 {
                let g = (0..24).map(|at| number(at, [29, step * 11, 23]) / 8.0).collect();
                let numbers = optimizer.begin(&[0.1], 1.0);
                update(&mut optimizer, &numbers, &mut w, g);
            }
            let found = [f64::from(w[0]), w.iter().map(|w| f64::from(w.abs())).sum()];
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 2e-6,
                    "{variant:?} {adjust:?} {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn the_norm_is_over_all_tensors() {
        let (a, b) = ([3.0_f32, 0.0], [0.0, 4.0, 0.0]);
        assert_eq!(norm(&[&a[..], &b[..]].map(|g| Kernels::squares(Isa::SCALAR, g))), 5.0);
        assert!(norm(&[Kernels::squares(Isa::SCALAR, &[f32::NAN])]).is_nan());
    }
}
