//! Root-mean-square normalisation of rows (B. Zhang and R. Sennrich, 2019).

use super::Real;
use super::each::change;
use super::isa::portable;
use super::reduce::sum;

/// Rows whose gradients of the weight are one sum.
pub const ROWS: usize = 64;

portable! {
    /// `y = (x r) w` of each row, where `r = 1 / sqrt(sum x^2 / d + epsilon)`.
    ///
    /// # Panics
    /// Where the rows are not as long as the weight.
    pub fn forward<T: Real>(x: &[T], weight: &[T], epsilon: T, y: &mut [T]) {
        let d = weight.len();
        assert!(x.len() == y.len() && x.len().is_multiple_of(d), "the shape of a norm");
        for (x, y) in x.chunks_exact(d).zip(y.chunks_exact_mut(d)) {
            let r = scale(x, epsilon);
            for ((y, x), w) in y.iter_mut().zip(x).zip(weight) {
                *y = *x * r * *w;
            }
        }
    }

    /// The gradient of the rows, plus `residual`, from that of the output: with
    /// `c = ((sum (g w) x) r r) r / d`, `gx = residual + ((g w) r - x c)`. `gw` gets a row for every
    /// [`ROWS`] rows: the sums of `(g x) r` from +0 in the order of the rows.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn backward<T: Real>(
        x: &[T], weight: &[T], epsilon: T, g: &[T], residual: &[T], gx: &mut [T], gw: &mut [T],
    ) {
        let d = weight.len();
        assert!(
            x.len().is_multiple_of(d)
                && [g.len(), residual.len(), gx.len()] == [x.len(); 3]
                && gw.len() == (x.len() / d).div_ceil(ROWS) * d,
            "the shape of a norm"
        );
        gw.fill(T::ZERO);
        let rows = x.chunks_exact(d).zip(g.chunks_exact(d)).zip(residual.chunks_exact(d));
        for (number, (((x, g), residual), gx)) in rows.zip(gx.chunks_exact_mut(d)).enumerate() {
            let gw = &mut gw[number / ROWS * d..][..d];
            let r = scale(x, epsilon);
            let dot = sum([g, weight, x], |[g, w, x]| g * w * x);
            let c = dot * r * r * r / T::from_f64(d as f64);
            change(gx, [residual, g, weight, x], |_, [residual, g, w, x]| {
                residual + (g * w * r - x * c)
            });
            change(gw, [g, x], |gw, [g, x]| gw + g * x * r);
        }
    }
}

/// The factor of a row.
#[inline(always)]
fn scale<T: Real>(x: &[T], epsilon: T) -> T {
    let d = x.len();
    T::ONE / (sum([x], |[x]| x * x) / T::from_f64(d as f64) + epsilon).sqrt()
}

/// The gradient of the weight: the rows that [`backward`] left, added in order from +0.
pub fn combine<T: Real>(parts: &[T], gw: &mut [T]) {
    gw.fill(T::ZERO);
    for part in parts.chunks_exact(gw.len()) {
        for (gw, part) in gw.iter_mut().zip(part) {
            *gw += *part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::Isa;

    /// Numbers between -1 and 1.
    fn numbers(count: usize, step: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * step + 3) % 101) as f64 / 50.5 - 1.0).collect()
    }

    #[test]
    fn rows_are_divided_by_their_root_mean_square() {
        let x = [3.0_f64, 4.0, 0.0, -1.0];
        let weight = [1.0, 2.0];
        for isa in Isa::available() {
            let mut y = [0.0; 4];
            forward(isa, &x, &weight, 0.5, &mut y);
            let (first, second) = (13.0_f64.sqrt(), 1.0_f64);
            let expected = [3.0 / first, 8.0 / first, 0.0, -2.0 / second];
            for (y, expected) in y.iter().zip(expected) {
                assert!((y - expected).abs() < 1e-15, "{y} {expected}");
            }
        }
    }

    #[test]
    fn gradients_of_the_weight_are_summed_by_chunks_of_rows() {
        let (d, rows) = (5, 2 * ROWS + 7);
        let (x, g) = (numbers(d * rows, 37), numbers(d * rows, 53));
        let (weight, residual) = (numbers(d, 11), vec![0.25; d * rows]);
        let (mut gx, mut parts) = (vec![0.0; d * rows], vec![f64::NAN; 3 * d]);
        backward(Isa::best(), &x, &weight, 1e-3, &g, &residual, &mut gx, &mut parts);
        let mut gw = vec![f64::NAN; d];
        combine(&parts, &mut gw);
        let r = |row: usize| {
            let squares: f64 = x[row * d..][..d].iter().map(|x| x * x).sum();
            1.0 / (squares / d as f64 + 1e-3).sqrt()
        };
        for i in 0..d {
            let chunk = |rows: std::ops::Range<usize>| {
                rows.fold(0.0, |sum, row| sum + g[row * d + i] * x[row * d + i] * r(row))
            };
            let chunks = [chunk(0..64), chunk(64..128), chunk(128..rows)];
            assert!((gw[i] - chunks.iter().sum::<f64>()).abs() < 1e-12);
            assert!((parts[d + i] - chunks[1]).abs() < 1e-12);
        }
        // The gradient of a row is at right angles to it but for the residual and epsilon.
        let dot: f64 = (0..d).map(|i| (gx[i] - 0.25) * x[i]).sum();
        assert!(dot.abs() < 1e-2, "{dot}");
    }

    #[test]
    #[should_panic(expected = "the shape of a norm")]
    fn rows_of_another_length_are_refused() {
        forward(Isa::SCALAR, &[1.0_f32; 5], &[1.0; 2], 0.0, &mut [0.0; 5]);
    }
}
