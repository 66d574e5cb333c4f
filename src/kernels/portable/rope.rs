//! Rotary positions: the halves of a head's vector are rotated against each other by angles that grow
//! with the position (J. Su et al., 2021; the layout of halves).

use super::isa::portable;
use super::{Isa, Real};

/// Cosines and sines of all positions: `positions x head_dim / 2` each.
#[derive(Debug, Clone)]
pub struct Rope<T> {
    cosines: Vec<T>,
    sines: Vec<T>,
    half: usize,
}

impl<T: Real> Rope<T> {
    /// The angle of position p and pair i is `p theta^(-2 i / head_dim)`: power, cosine and sine of the
    /// crate libm in float64, rounded once.
    pub fn new(positions: usize, head_dim: usize, theta: f64) -> Self {
        let half = head_dim / 2;
        let angle = |position: usize, pair: usize| {
            position as f64 * libm::pow(theta, -2.0 * pair as f64 / head_dim as f64)
        };
        let table = |of: fn(f64) -> f64| {
            (0..positions * half).map(|at| T::from_f64(of(angle(at / half, at % half)))).collect()
        };
        Self { cosines: table(libm::cos), sines: table(libm::sin), half }
    }

    /// The angle of position p and pair i is `p f_i`, both as float32, rounded once, as PyTorch's programs compute it; cosines
    /// and sines of it are multiplied by a factor in float64, and rounded once.
    pub fn of_frequencies(positions: usize, frequencies: &[f32], factor: f64) -> Self {
        let half = frequencies.len();
        let table = |of: fn(f64) -> f64| {
            let number = |at: usize| {
                let angle = (at / half) as f32 * frequencies[at % half];
                T::from_f64(of(f64::from(angle)) * factor)
            };
            (0..positions * half).map(number).collect()
        };
        Self { cosines: table(libm::cos), sines: table(libm::sin), half }
    }

    /// Numbers of a vector that are rotated.
    pub fn width(&self) -> usize {
        2 * self.half
    }

    /// Cosines and sines: rows of positions, a column for each pair.
    pub fn tables(&self) -> [&[T]; 2] {
        [&self.cosines, &self.sines]
    }

    /// Positions that the tables reach.
    pub fn positions(&self) -> usize {
        self.cosines.len().checked_div(self.half).unwrap_or(usize::MAX)
    }

    /// Rotates the first `heads` vectors of each row in place. Rows are `width` long and those of these positions, or of
    /// 0, 1, ... where none are given.
    ///
    /// # Panics
    /// Where the tables do not reach a position, or there are rows without one.
    pub fn rotate(
        &self,
        isa: Isa,
        rows: &mut [T],
        (width, heads): (usize, usize),
        positions: &[u32],
    ) {
        rotate(isa, rows, width, heads, self, positions, T::ONE);
    }

    /// Rotates back: the gradient of [`Rope::rotate`].
    ///
    /// # Panics
    /// As there.
    pub fn rotate_back(
        &self,
        isa: Isa,
        rows: &mut [T],
        (width, heads): (usize, usize),
        positions: &[u32],
    ) {
        rotate(isa, rows, width, heads, self, positions, -T::ONE);
    }
}

portable! {
    /// `y0 = x0 c - x1 s` and `y1 = x1 c + x0 s`, where s has this sign.
    fn rotate<T: Real>(
        rows: &mut [T], width: usize, heads: usize, rope: &Rope<T>, positions: &[u32], sign: T,
    ) {
        let half = rope.half;
        if half == 0 {
            return;
        }
        for (at, row) in rows.chunks_exact_mut(width).enumerate() {
            let at = if positions.is_empty() { at } else { positions[at] as usize };
            let [cosines, sines] = [&rope.cosines, &rope.sines].map(|of| &of[at * half..][..half]);
            for head in row.chunks_exact_mut(2 * half).take(heads) {
                let (first, second) = head.split_at_mut(half);
                let angles = cosines.iter().zip(sines);
                for ((x0, x1), (cosine, sine)) in first.iter_mut().zip(second).zip(angles) {
                    let sine = sign * *sine;
                    let (y0, y1) = (*x0 * *cosine - *x1 * sine, *x1 * *cosine + *x0 * sine);
                    (*x0, *x1) = (y0, y1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_rotated_by_its_angle() {
        let rope = Rope::<f64>::new(3, 4, 100.0);
        assert_eq!(rope.positions(), 3);
        for isa in Isa::available() {
            // One head is rotated, the second is left alone.
            let mut rows: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].repeat(3);
            rope.rotate(isa, &mut rows, (8, 1), &[]);
            assert_eq!(rows[..8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            let (c, s) = (0.2_f64.cos(), 0.2_f64.sin());
            assert!((rows[17] - (2.0 * c - 4.0 * s)).abs() < 1e-15);
            assert!((rows[19] - (4.0 * c + 2.0 * s)).abs() < 1e-15);
            assert_eq!(rows[20..], [5.0, 6.0, 7.0, 8.0]);
            rope.rotate_back(isa, &mut rows, (8, 1), &[]);
            for (value, expected) in rows[16..20].iter().zip([1.0, 2.0, 3.0, 4.0]) {
                assert!((value - expected).abs() < 1e-15);
            }
        }
    }
    #[test]
    fn positions_may_be_given_and_frequencies_too() {
        let (plain, given) =
            (Rope::<f64>::new(9, 4, 100.0), Rope::of_frequencies(9, &[1.0, 0.1], 1.0));
        let rows: Vec<f64> = (0..12).map(f64::from).collect();
        let (mut a, mut b) = (rows.clone(), rows.clone());
        plain.rotate(Isa::best(), &mut a, (4, 1), &[]);
        given.rotate(Isa::best(), &mut b, (4, 1), &[0, 1, 2]);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} {b:?}");
        given.rotate(Isa::best(), &mut b, (4, 1), &[3, 3, 3]);
        given.rotate_back(Isa::best(), &mut b, (4, 1), &[3, 4, 5]);
        assert!(
            b.iter().zip(&rows).all(|(b, row)| (b - row).abs() < 1e-6),
            "back to where it began"
        );
    }
}
