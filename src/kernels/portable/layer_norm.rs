//! Normalisation of rows around their mean (J. Ba et al., 2016), for models of others: rows less their mean go through
//! [`super::norm`], and a bias is added.

use super::isa::portable;
use super::reduce::sum;
use super::{Isa, Real, norm};

/// `y = ((x - mean) r) w + b` of each row, where `r = 1 / sqrt(sum (x - mean)^2 / d + epsilon)`; without a bias where it is
/// empty. `centred` gets `x - mean`, which the gradients need.
///
/// # Panics
/// Where the shapes do not fit.
pub fn forward<T: Real>(
    isa: Isa,
    x: &[T],
    [weight, bias]: [&[T]; 2],
    epsilon: T,
    centred: &mut [T],
    y: &mut [T],
) {
    let d = weight.len();
    assert!(bias.is_empty() || bias.len() == d, "the shape of a norm");
    centred.copy_from_slice(x);
    centre(isa, centred, d);
    norm::forward(isa, centred, weight, epsilon, y);
    if !bias.is_empty() {
        add(isa, y, bias);
    }
}

/// The gradient of the rows, plus `residual`, from that of the output and the rows less their mean: those of
/// [`norm::backward`] less their own mean. `gw` is as there.
///
/// # Panics
/// Where the shapes do not fit.
#[allow(clippy::too_many_arguments)]
pub fn backward<T: Real>(
    isa: Isa,
    centred: &[T],
    weight: &[T],
    epsilon: T,
    g: &[T],
    residual: &[T],
    gx: &mut [T],
    gw: &mut [T],
) {
    let nothing = vec![T::ZERO; g.len()];
    norm::backward(isa, centred, weight, epsilon, g, &nothing, gx, gw);
    centre(isa, gx, weight.len());
    for (gx, residual) in gx.iter_mut().zip(residual) {
        *gx += *residual;
    }
}

portable! {
    /// Takes the mean off each row of `d` numbers.
    fn centre<T: Real>(rows: &mut [T], d: usize) {
        for row in rows.chunks_exact_mut(d) {
            let mean = sum([&*row], |[x]| x) / T::from_f64(d as f64);
            for x in row.iter_mut() {
                *x -= mean;
            }
        }
    }

    /// Adds a bias to each row.
    pub fn add<T: Real>(rows: &mut [T], bias: &[T]) {
        for row in rows.chunks_exact_mut(bias.len()) {
            for (x, bias) in row.iter_mut().zip(bias) {
                *x += *bias;
            }
        }
    }

    /// Writes the gradient of a bias: the sum of rows, in order from +0.
    pub fn add_back<T: Real>(g: &[T], into: &mut [T]) {
        into.fill(T::ZERO);
        for row in g.chunks_exact(into.len()) {
            for (sum, g) in into.iter_mut().zip(row) {
                *sum += *g;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_normalised_around_their_mean() {
        // `torch.nn.functional.layer_norm` 2.15 in float64, epsilon 0.1.
        let (x, w, b) = ([1.0_f64, 2.0, 4.0, -1.0], [1.0, 2.0, 0.5, -1.0], [0.0, 1.0, 0.0, -1.0]);
        let (mut centred, mut y) = ([0.0; 4], [0.0; 4]);
        forward(Isa::best(), &x, [&w, &b], 0.1, &mut centred, &mut y);
        let expected = [
            -0.273_179_182_354_076_5,
            1.546_358_364_708_153_1,
            0.682_947_955_885_191_3,
            0.365_895_911_770_382_6,
        ];
        for (y, expected) in y.iter().zip(expected) {
            assert!((y - expected).abs() < 1e-15, "{y} {expected}");
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let x: Vec<f64> = (0..21).map(|i| f64::from(i * i % 17) / 5.0 - 1.0).collect();
        let (w, b) = ([0.5, 1.0, -2.0, 0.25, 3.0, 1.5, 0.1], [0.1; 7]);
        let g: Vec<f64> = (0..21).map(|i| f64::from(i * 5 % 13) / 4.0 - 1.5).collect();
        let loss = |x: &[f64], w: &[f64]| {
            let (mut centred, mut y) = (vec![0.0; 21], vec![0.0; 21]);
            forward(Isa::best(), x, [w, &b], 1e-2, &mut centred, &mut y);
            let loss: f64 = y.iter().zip(&g).map(|(y, g)| y * g).sum();
            (loss, centred)
        };
        let (mut gx, mut gw) = (vec![0.0; 21], vec![0.0; 7]);
        let residual = vec![0.5; 21];
        backward(Isa::best(), &loss(&x, &w).1, &w, 1e-2, &g, &residual, &mut gx, &mut gw);
        let slope = |at: usize, of: &[f64], loss: &dyn Fn(&[f64]) -> f64| {
            let moved = |by: f64| {
                let mut of = of.to_vec();
                of[at] += by;
                loss(&of)
            };
            (moved(1e-5) - moved(-1e-5)) / 2e-5
        };
        for (at, gx) in gx.iter().enumerate() {
            let expected = 0.5 + slope(at, &x, &|x| loss(x, &w).0);
            assert!((gx - expected).abs() < 1e-8, "{at}: {gx} {expected}");
        }
        for (at, gw) in gw.iter().enumerate() {
            let expected = slope(at, &w, &|w| loss(&x, w).0);
            assert!((gw - expected).abs() < 1e-8, "{at}: {gw} {expected}");
        }
    }
}
