//! Bounds on the effect of AdamW on one element, for any gradients.
//!
//! With the moments m and v after n steps, `m = (1 - b1) Σ b1^k g_k` and `v = (1 - b2) Σ b2^k g_k²` (g_0 is the newest
//! gradient), the Cauchy-Schwarz inequality gives `|m| <= c(n) √v` with `c(n) = (1 - b1) / √(1 - b2) · √(Σ_{k<n} (b1² /
//! b2)^k)`. The update of step n is `(m / (1 - b1^n)) / (√(v / (1 - b2^n)) + ε)`, and therefore at most `c(n) √(1 - b2^n) /
//! (1 - b1^n)`: 1 in the first step, and near `c` later.

use repro_core::source::Node;

/// The optimizer settings of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamSettings {
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub decay: f64,
    /// The largest norm of all gradients of a step together; 0 without clipping.
    pub clip: f64,
}

/// The value of a numeric config field.
pub fn number_of(config: Node<'_>, field: &str) -> Option<f64> {
    config.get(field).filter(|node| node.printed().is_ok())?.float().ok()
}

impl AdamSettings {
    /// Reads the settings from a config; none if one is missing.
    pub fn read(config: Node<'_>) -> Option<Self> {
        let number = |field: &str| number_of(config, field);
        let share = |field: &str| number(field).filter(|beta| (0.0..1.0).contains(beta));
        Some(Self {
            beta1: share("adam_beta1")?,
            beta2: share("adam_beta2")?,
            epsilon: number("adam_eps")?,
            decay: number("weight_decay")?,
            clip: number("grad_clip")?,
        })
    }

    /// The upper bound of `|m| / √v` after `steps` steps.
    pub fn most_mean(&self, steps: u64) -> f64 {
        let ratio = self.beta1 * self.beta1 / self.beta2;
        let sum = match ratio {
            1.0 => steps as f64,
            ratio => (1.0 - libm::pow(ratio, steps as f64)) / (1.0 - ratio),
        };
        (1.0 - self.beta1) / libm::sqrt(1.0 - self.beta2) * libm::sqrt(sum)
    }

    /// The upper bound of the update of step `step` (from 1) on one element, divided by the learning rate.
    pub fn most_update(&self, step: u64) -> f64 {
        let left = |beta: f64| 1.0 - libm::pow(beta, step as f64);
        self.most_mean(step) * libm::sqrt(left(self.beta2)) / left(self.beta1)
    }

    /// The upper bound of the total update of one element in the steps after `from`, at these learning rates.
    pub fn reach(&self, from: u64, rates: &[f64]) -> f64 {
        std::iter::zip(from.., rates).map(|(step, rate)| rate * self.most_update(step + 1)).sum()
    }

    /// The smallest fraction of `v` that is left after `steps` more steps.
    pub fn least_square(&self, steps: u64) -> f64 {
        libm::pow(self.beta2, steps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_gradients_lead_beyond_the_bounds(
            gradients in prop::collection::vec(-1e3..1e3_f64, 1..60),
            beta1 in 0.0..0.99_f64,
            beta2 in 0.5..0.9999_f64,
        ) {
            let adam = AdamSettings { beta1, beta2, epsilon: 1e-8, decay: 0.1, clip: 0.0 };
            let (mut m, mut v) = (0.0, 0.0);
            for (at, g) in gradients.iter().enumerate() {
                let step = at as u64 + 1;
                let before = v;
                m = beta1 * m + (1.0 - beta1) * g;
                v = beta2 * v + (1.0 - beta2) * g * g;
                prop_assert!(m.abs() <= adam.most_mean(step) * v.sqrt() * (1.0 + 1e-9));
                prop_assert!(v >= adam.least_square(1) * before);
                let left = |beta: f64| 1.0 - beta.powi(step as i32);
                let update = m / left(beta1) / ((v / left(beta2)).sqrt() + adam.epsilon);
                prop_assert!(update.abs() <= adam.most_update(step) * (1.0 + 1e-9));
            }
        }
    }
}
