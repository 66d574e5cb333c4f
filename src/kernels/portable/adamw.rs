//! The update of weights by AdamW (I. Loshchilov and F. Hutter, 2019), and the norm of gradients.

use rayon::prelude::*;

use super::isa::portable;
use super::reduce::sum;
use super::{Isa, Real};

/// Elements whose squares are one sum.
pub const CHUNK: usize = 4096;
/// Elements that a thread takes at a time.
pub(crate) const SHARE: usize = 16_384;

/// The numbers of one update, each computed in float64 by the caller and rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<T> {
    /// Factor of the gradient.
    pub clip: T,
    /// Learning rate.
    pub rate: T,
    /// Factor of the weight: one less rate times weight decay.
    pub decay: T,
    /// Factor of the mean of gradients, and one less it.
    pub beta1: [T; 2],
    /// Factor of the mean of squares, and one less it.
    pub beta2: [T; 2],
    /// `1 / (1 - beta1^t)`, which takes the weight of the zeros at the start out of the mean.
    pub c1: T,
    /// The same of beta2.
    pub c2: T,
    /// The epsilon added to the root of the mean of squares.
    pub epsilon: T,
}

/// Updates weights `w` and means `m`, `v` by gradients `g`, by the threads of the current pool: with
/// `h = g clip`, `m = m beta1 + h (1 - beta1)`, `v = v beta2 + (h h) (1 - beta2)`, and
/// `w = w decay - (rate (m c1)) / (sqrt(v c2) + epsilon)`.
///
/// # Panics
/// Where there are not as many of each.
pub fn step<T: Real>(isa: Isa, w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], update: Update<T>) {
    assert!([g.len(), m.len(), v.len()] == [w.len(); 3], "the shape of an update");
    if w.len() <= SHARE {
        return part(isa, w, g, m, v, update);
    }
    let weights = w.par_chunks_mut(SHARE).zip(g.par_chunks(SHARE));
    let means = m.par_chunks_mut(SHARE).zip(v.par_chunks_mut(SHARE));
    weights.zip(means).for_each(|((w, g), (m, v))| part(isa, w, g, m, v, update));
}

portable! {
    fn part<T: Real>(w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], update: Update<T>) {
        let Update { clip, rate, decay, beta1, beta2, c1, c2, epsilon } = update;
        for (((w, g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            let h = *g * clip;
            *m = *m * beta1[0] + h * beta1[1];
            *v = *v * beta2[0] + h * h * beta2[1];
            *w = *w * decay - rate * (*m * c1) / ((*v * c2).sqrt() + epsilon);
        }
    }
}

/// The sum of squares in float64: each chunk of [`CHUNK`] elements as every sum is taken, the chunks added
/// in order from +0. The square root of it is the norm of a gradient.
pub fn squares<T: Real>(isa: Isa, values: &[T]) -> f64 {
    if values.len() <= SHARE {
        return values.chunks(CHUNK).fold(0.0, |sum, values| sum + chunk(isa, values));
    }
    let chunks: Vec<f64> = values.par_chunks(CHUNK).map(|values| chunk(isa, values)).collect();
    chunks.into_iter().fold(0.0, |sum, chunk| sum + chunk)
}

portable! {
    fn chunk<T: Real>(values: &[T]) -> f64 {
        sum([values], |[value]| value.to_f64() * value.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update() -> Update<f32> {
        Update {
            clip: 0.5,
            rate: 0.1,
            decay: 0.99,
            beta1: [0.9, 0.1],
            beta2: [0.999, 0.001],
            c1: 10.0,
            c2: 1000.0,
            epsilon: 1e-8,
        }
    }

    #[test]
    fn the_first_step_is_as_long_as_the_rate() {
        for isa in Isa::available() {
            let (mut w, mut m, mut v) = ([1.0, -1.0, 2.0], [0.0; 3], [0.0; 3]);
            step(isa, &mut w, &[4.0, -1e-3, 0.0], &mut m, &mut v, update());
            for (w, expected) in w.iter().zip([0.99 - 0.1, -0.99 + 0.1, 1.98]) {
                assert!((w - expected).abs() < 1e-5, "{w} {expected}");
            }
            assert!((m[0] - 0.2).abs() < 1e-7 && (v[0] - 0.004).abs() < 1e-9);
        }
    }

    #[test]
    fn threads_and_instructions_leave_the_bits_alone() {
        let n = 2 * SHARE + 77;
        let g: Vec<f32> = (0..n).map(|i| ((i * 37) % 1009) as f32 / 500.0 - 1.0).collect();
        let run = |isa, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut w, mut m, mut v) = (g.clone(), g.clone(), vec![0.5; n]);
            pool.install(|| step(isa, &mut w, &g, &mut m, &mut v, update()));
            let norm = pool.install(|| squares(isa, &g));
            (w.iter().map(|w| w.to_bits()).collect::<Vec<_>>(), norm.to_bits())
        };
        let first = run(Isa::SCALAR, 1);
        for isa in Isa::available() {
            for threads in 1..=4 {
                assert!(run(isa, threads) == first, "{} {threads}", isa.name());
            }
        }
    }

    #[test]
    fn squares_are_summed_by_chunks() {
        // In float64 every one of these sums is exact.
        let values = vec![3.0_f32; 5 * CHUNK + 1];
        assert_eq!(squares(Isa::best(), &values), 9.0 * (5 * CHUNK + 1) as f64);
        assert_eq!(squares::<f32>(Isa::best(), &[]), 0.0);
        assert!(squares(Isa::best(), &[f32::NAN]).is_nan());
    }
}
