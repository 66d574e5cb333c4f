//! AdamW over the named tensors of a model: moments, bias corrections, clipping, weight-decay groups.
//!
//! The update of one element is [`repro_portable::adamw`]'s. The numbers of a step are computed in
//! float64 and rounded once; the powers of the betas are running products. Tensors are taken in the
//! order of their names, which is also the order in which their squares are added for the norm.

use super::Optimizer;
use repro_portable::adamw::Update;
use repro_portable::{Isa, Kernels};

/// The state of the optimizer.
#[derive(Debug, Clone)]
pub struct AdamW<T> {
    settings: Optimizer,
    /// The steps that were made.
    steps: u64,
    /// The powers of both betas after these steps.
    powers: [f64; 2],
    moments: Vec<Moments<T>>,
}

/// The running means of one tensor's gradients and of their squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments<T> {
    /// Of the gradients.
    pub mean: Vec<T>,
    /// Of their squares.
    pub square: Vec<T>,
}

/// The numbers of one step.
#[derive(Debug, Clone, Copy)]
pub struct StepNumbers<T> {
    decaying: Update<T>,
    plain: Update<T>,
}

/// The norm of all gradients, of which these are the tensors' sums of squares ([`Kernels::squares`]): the root
/// of their sum, in order from +0.
pub fn norm(squares: &[f64]) -> f64 {
    libm::sqrt(squares.iter().fold(0.0, |sum, squares| sum + squares))
}

impl<T: Kernels> AdamW<T> {
    /// An optimizer of tensors of these lengths, before its first step.
    pub fn new(settings: Optimizer, lengths: impl Iterator<Item = usize>) -> Self {
        let zero = |length| Moments { mean: vec![T::ZERO; length], square: vec![T::ZERO; length] };
        Self { settings, steps: 0, powers: [1.0; 2], moments: lengths.map(zero).collect() }
    }

    /// Sets the optimizer to where it was after `steps` steps with these moments.
    pub fn restore(&mut self, steps: u64, moments: Vec<Moments<T>>) {
        (self.steps, self.powers, self.moments) = (0, [1.0; 2], moments);
        (0..steps).for_each(|_| self.count());
    }

    /// The moments of all tensors, in their order.
    pub fn moments(&self) -> &[Moments<T>] {
        &self.moments
    }

    fn count(&mut self) {
        self.steps += 1;
        self.powers[0] *= self.settings.beta1;
        self.powers[1] *= self.settings.beta2;
    }

    /// Begins a step at this rate, with gradients of this norm.
    pub fn begin(&mut self, rate: f32, norm: f64) -> StepNumbers<T> {
        self.count();
        let Optimizer { decay, beta1, beta2, epsilon, clip } = self.settings;
        let rate = f64::from(rate);
        let clip = if clip > 0.0 && norm > clip { clip / norm } else { 1.0 };
        let round = T::from_f64;
        let plain = Update {
            clip: round(clip),
            rate: round(rate),
            decay: T::ONE,
            beta1: [round(beta1), round(1.0 - beta1)],
            beta2: [round(beta2), round(1.0 - beta2)],
            c1: round(1.0 / (1.0 - self.powers[0])),
            c2: round(1.0 / (1.0 - self.powers[1])),
            epsilon: round(epsilon),
        };
        StepNumbers { decaying: Update { decay: round(1.0 - rate * decay), ..plain }, plain }
    }

    /// Makes the step for tensor number `at`, whose weights and gradient these are.
    pub fn update(
        &mut self,
        isa: Isa,
        step: &StepNumbers<T>,
        at: usize,
        decays: bool,
        weights: &mut [T],
        gradient: &[T],
    ) {
        let update = if decays { step.decaying } else { step.plain };
        if let Some(Moments { mean, square }) = self.moments.get_mut(at) {
            T::adamw(isa, weights, gradient, mean, square, update);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Optimizer =
        Optimizer { decay: 0.1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, clip: 1.0 };

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
        for decays in [true, false] {
            let mut whole = AdamW::<f64>::new(SETTINGS, [1].into_iter());
            let (mut weight, mut resumed) = (vec![0.75], None);
            for (done, gradient) in gradients.iter().enumerate() {
                if done == 3 {
                    let mut again = AdamW::new(SETTINGS, [1].into_iter());
                    again.restore(3, whole.moments().to_vec());
                    resumed = Some((again, weight.clone()));
                }
                let make = |optimizer: &mut AdamW<f64>, weight: &mut [f64]| {
                    let norm = norm(&[Kernels::squares(Isa::SCALAR, &[*gradient])]);
                    let step = optimizer.begin(0.01, norm);
                    optimizer.update(Isa::SCALAR, &step, 0, decays, weight, &[*gradient]);
                };
                make(&mut whole, &mut weight);
                if let Some((again, weight)) = &mut resumed {
                    make(again, weight);
                }
            }
            let decay = if decays { 0.1 } else { 0.0 };
            let wanted = reference(0.75, &gradients, decay, f64::from(0.01_f32));
            assert!((weight[0] - wanted).abs() < 1e-14, "{} {wanted}", weight[0]);
            let (again, other) = resumed.unwrap();
            assert_eq!((other, again.moments()), (weight, whole.moments()));
        }
    }

    #[test]
    fn the_norm_is_over_all_tensors() {
        let (a, b) = ([3.0_f32, 0.0], [0.0, 4.0, 0.0]);
        assert_eq!(norm(&[&a[..], &b[..]].map(|g| Kernels::squares(Isa::SCALAR, g))), 5.0);
        assert!(norm(&[Kernels::squares(Isa::SCALAR, &[f32::NAN])]).is_nan());
    }
}
