//! Updates of weights by other rules than [`super::adamw`]'s, element by element: what trainers of others use.
//!
//! Each formula is that of PyTorch 2.15 (`torch.optim`), and of `lion-pytorch` 0.2 for Lion. The numbers of a step are
//! computed in float64 by the caller and rounded once.

use rayon::prelude::*;

use super::adamw::{SHARE, Update};
use super::isa::portable;
use super::{Isa, Real};

/// The numbers of an update by momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum<T> {
    /// Factor of the gradient.
    pub clip: T,
    /// Learning rate.
    pub rate: T,
    /// Factor of the weight: one less rate times weight decay.
    pub decay: T,
    /// The fraction of the weight that is added to its gradient.
    pub coupled: T,
    /// Factor of the mean, and of the gradient that is added to it.
    pub mean: [T; 2],
    /// Factors of the mean and of the gradient in the step.
    pub step: [T; 2],
}

/// Adam (D. Kingma and J. Ba, 2015) and its variants, by the threads of the current pool: with
/// `h = g clip + w coupled`, `m = m beta1 + h (1 - beta1)`, `v = v beta2 + (h h) (1 - beta2)`, `s = v`, or with AMSGrad
/// (S. Reddi et al., 2018) `s = x = max(x, v)`, and `w = w decay - (rate (m c1)) / (sqrt(s c2) + epsilon)`. `x` is empty
/// without AMSGrad.
///
/// # Panics
/// Where there are not as many of each.
#[allow(clippy::too_many_arguments)]
pub fn adam<T: Real>(
    isa: Isa,
    w: &mut [T],
    g: &[T],
    m: &mut [T],
    v: &mut [T],
    x: &mut [T],
    update: Update<T>,
    coupled: T,
) {
    assert!([g.len(), m.len(), v.len()] == [w.len(); 3], "the shape of an update");
    assert!(x.is_empty() || x.len() == w.len(), "the shape of an update");
    let weights = w.par_chunks_mut(SHARE).zip(g.par_chunks(SHARE));
    let means = weights.zip(m.par_chunks_mut(SHARE).zip(v.par_chunks_mut(SHARE)));
    match x {
        [] => {
            means.for_each(|((w, g), (m, v))| adam_part(isa, w, g, m, v, &mut [], update, coupled))
        }
        x => means
            .zip(x.par_chunks_mut(SHARE))
            .for_each(|(((w, g), (m, v)), x)| adam_part(isa, w, g, m, v, x, update, coupled)),
    }
}

/// Stochastic gradient descent with momentum, Nesterov's too: with `h = g clip + w coupled`,
/// `m = m a + h b`, `w = w decay - rate (m c + h d)`, where `mean` is `[a, b]` and `step` is `[c, d]`.
///
/// # Panics
/// Where there are not as many of each.
pub fn momentum<T: Real>(isa: Isa, w: &mut [T], g: &[T], m: &mut [T], update: Momentum<T>) {
    assert!([g.len(), m.len()] == [w.len(); 2], "the shape of an update");
    let weights = w.par_chunks_mut(SHARE).zip(g.par_chunks(SHARE));
    let all = weights.zip(m.par_chunks_mut(SHARE));
    all.for_each(|((w, g), m)| momentum_part(isa, w, g, m, update));
}

/// Lion (X. Chen et al., 2023): with `h = g clip`, `w = w decay - rate sign(m c + h d)`, then `m = m a + h b`.
///
/// # Panics
/// Where there are not as many of each.
pub fn lion<T: Real>(isa: Isa, w: &mut [T], g: &[T], m: &mut [T], update: Momentum<T>) {
    assert!([g.len(), m.len()] == [w.len(); 2], "the shape of an update");
    let weights = w.par_chunks_mut(SHARE).zip(g.par_chunks(SHARE));
    let all = weights.zip(m.par_chunks_mut(SHARE));
    all.for_each(|((w, g), m)| lion_part(isa, w, g, m, update));
}

portable! {
    fn adam_part<T: Real>(
        w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], x: &mut [T], update: Update<T>, coupled: T,
    ) {
        let Update { clip, rate, decay, beta1, beta2, c1, c2, epsilon } = update;
        let all = w.iter_mut().zip(g).zip(m).zip(v);
        for (at, (((w, g), m), v)) in all.enumerate() {
            let h = *g * clip + *w * coupled;
            *m = *m * beta1[0] + h * beta1[1];
            *v = *v * beta2[0] + h * h * beta2[1];
            let square = match x.get_mut(at) {
                None => *v,
                Some(greatest) => {
                    *greatest = if *v > *greatest { *v } else { *greatest };
                    *greatest
                }
            };
            *w = *w * decay - rate * (*m * c1) / ((square * c2).sqrt() + epsilon);
        }
    }

    fn momentum_part<T: Real>(w: &mut [T], g: &[T], m: &mut [T], update: Momentum<T>) {
        let Momentum { clip, rate, decay, coupled, mean, step } = update;
        for ((w, g), m) in w.iter_mut().zip(g).zip(m) {
            let h = *g * clip + *w * coupled;
            *m = *m * mean[0] + h * mean[1];
            *w = *w * decay - rate * (*m * step[0] + h * step[1]);
        }
    }

    fn lion_part<T: Real>(w: &mut [T], g: &[T], m: &mut [T], update: Momentum<T>) {
        let Momentum { clip, rate, decay, mean, step, .. } = update;
        for ((w, g), m) in w.iter_mut().zip(g).zip(m) {
            let h = *g * clip;
            let way = *m * step[0] + h * step[1];
            let sign = if way > T::ZERO {
                T::ONE
            } else if way < T::ZERO {
                -T::ONE
            } else {
                T::ZERO
            };
            *w = *w * decay - rate * sign;
            *m = *m * mean[0] + h * mean[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As PyTorch 2.15 computes them in float64: three steps on two weights, gradients [0.5, -1], [-0.25, 0.5] and
    // [2, 0.125], rate 0.1, decay 0.2.
    const GRADIENTS: [[f64; 2]; 3] = [[0.5, -1.0], [-0.25, 0.5], [2.0, 0.125]];

    fn near(found: &[f64], expected: [f64; 2]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    fn adam_of(coupled: f64, decay: f64, is_amsgrad: bool) -> Vec<f64> {
        let (mut w, mut m, mut v) = (vec![1.0, -2.0], vec![0.0; 2], vec![0.0; 2]);
        let mut x = vec![0.0; if is_amsgrad { 2 } else { 0 }];
        let (mut power1, mut power2) = (1.0, 1.0);
        for g in GRADIENTS {
            (power1, power2) = (power1 * 0.9, power2 * 0.6);
            let update = Update {
                clip: 1.0,
                rate: 0.1,
                decay,
                beta1: [0.9, 1.0 - 0.9],
                beta2: [0.6, 0.4],
                c1: 1.0 / (1.0 - power1),
                c2: 1.0 / (1.0 - power2),
                epsilon: 1e-8,
            };
            adam(Isa::best(), &mut w, &g, &mut m, &mut v, &mut x, update, coupled);
        }
        w
    }

    type Rule = fn(Isa, &mut [f64], &[f64], &mut [f64], Momentum<f64>);

    fn by(rule: Rule, of: [f64; 6]) -> Vec<f64> {
        let (mut w, mut m) = (vec![1.0, -2.0], vec![0.0; 2]);
        for (at, g) in GRADIENTS.iter().enumerate() {
            let [decay, coupled, a, b, c, d] = of;
            // PyTorch begins with the gradient itself.
            let mean = if at == 0 && coupled > 0.0 { [a, 1.0] } else { [a, b] };
            let update = Momentum { clip: 1.0, rate: 0.1, decay, coupled, mean, step: [c, d] };
            rule(Isa::best(), &mut w, g, &mut m, update);
        }
        w
    }

    #[test]
    fn rules_are_those_of_pytorch() {
        near(&adam_of(0.2, 1.0, false), ADAM);
        near(&adam_of(0.0, 0.98, true), ADAMW_AMSGRAD);
        near(&by(momentum, [1.0, 0.2, 0.9, 1.0, 1.0, 0.0]), SGD);
        near(&by(momentum, [1.0, 0.2, 0.9, 1.0, 0.9, 1.0]), NESTEROV);
        near(&by(momentum, [1.0, 0.2, 0.9, 0.5, 1.0, 0.0]), DAMPENED);
        near(&by(lion, [0.98, 0.0, 0.99, 0.01, 0.9, 0.1]), LION);
    }

    const ADAM: [f64; 2] = [0.7693119757820104, -1.7559566008501963];
    const ADAMW_AMSGRAD: [f64; 2] = [0.7636214674265056, -1.7481066675785486];
    const SGD: [f64; 2] = [0.6049920000000001, -1.622484];
    const NESTEROV: [f64; 2] = [0.36868414799999993, -1.521118296];
    const DAMPENED: [f64; 2] = [0.707678, -1.621606];
    const LION: [f64; 2] = [0.8431519999999999, -1.9843439999999999];
}
