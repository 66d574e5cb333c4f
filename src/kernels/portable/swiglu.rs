//! The gated activation of a feed-forward network (N. Shazeer, 2020): `silu(a) b`, where a and b are the
//! halves of a row.
//!
//! A mixture multiplies the row of a token in an expert by its gate here, before the expert's last
//! product: the output of the expert then needs no more than to be added, and need not be kept.

use super::Real;
use super::isa::portable;
use super::reduce::sum;

portable! {
    /// `s = ((a sigmoid(a)) b) gate` of each row, where `sigmoid(a) = 1 / (1 + e^-a)`; without gates, the
    /// last factor is left out. Rows of `gate_up` are the a and then the b of one row of s, `f` each.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn forward<T: Real>(f: usize, gate_up: &[T], gates: Option<&[T]>, s: &mut [T]) {
        let rows = check(f, gate_up.len(), gates, s.len());
        for row in 0..rows {
            let (a, b) = gate_up[row * 2 * f..][..2 * f].split_at(f);
            let s = &mut s[row * f..][..f];
            for i in 0..f {
                s[i] = a[i] * sigmoid(a[i]) * b[i];
            }
            if let Some(gates) = gates {
                let gate = gates[row];
                for s in s {
                    *s *= gate;
                }
            }
        }
    }

    /// The gradient of the rows from that of the output: with `p = sigmoid(a)` and `h = gs gate`,
    /// `ga = (h b) (p + (a p) (1 - p))` and `gb = (h a) p`. It also writes the output again, to `s`, so
    /// that it need not be kept; and the gradients of the gates, `sum gs ((a p) b)`.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn backward<T: Real>(
        f: usize, gate_up: &[T], gates: Option<(&[T], &mut [T])>, gs: &[T], s: &mut [T],
        g_gate_up: &mut [T],
    ) {
        let given = gates.as_ref().map(|(gates, _)| *gates);
        let rows = check(f, gate_up.len(), given, s.len());
        assert!(gs.len() == s.len() && g_gate_up.len() == gate_up.len(), "the shape of a swiglu");
        let mut gates = gates;
        for row in 0..rows {
            let (a, b) = gate_up[row * 2 * f..][..2 * f].split_at(f);
            let (ga, gb) = g_gate_up[row * 2 * f..][..2 * f].split_at_mut(f);
            let (gs, s) = (&gs[row * f..][..f], &mut s[row * f..][..f]);
            match &mut gates {
                None => {
                    for i in 0..f {
                        (s[i], ga[i], gb[i]) = one(a[i], b[i], gs[i]);
                    }
                }
                Some((gates, g_gates)) => {
                    let gate = gates[row];
                    for i in 0..f {
                        (s[i], ga[i], gb[i]) = one(a[i], b[i], gs[i] * gate);
                    }
                    g_gates[row] = sum([gs, &*s], |[g, s]| g * s);
                    for s in s {
                        *s *= gate;
                    }
                }
            }
        }
    }
}

/// `1 / (1 + e^-a)`.
#[inline(always)]
pub(super) fn sigmoid<T: Real>(a: T) -> T {
    T::ONE / (T::ONE + (-a).exponential())
}

/// The output without its gate, and the gradients of a and b.
#[inline(always)]
fn one<T: Real>(a: T, b: T, h: T) -> (T, T, T) {
    let p = sigmoid(a);
    (a * p * b, h * b * (p + a * p * (T::ONE - p)), h * a * p)
}

/// How many rows there are.
fn check<T>(f: usize, gate_up: usize, gates: Option<&[T]>, s: usize) -> usize {
    let rows = s / f;
    assert!(
        s == rows * f && gate_up == 2 * s && gates.is_none_or(|gates| gates.len() == rows),
        "the shape of a swiglu"
    );
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::Isa;

    #[test]
    fn rows_are_gated() {
        let (a, b) = ([0.0_f64, 1.0, -2.0], [5.0, 2.0, 0.5]);
        let rows = [a, b].concat();
        let silu = |a: f64| a / (1.0 + (-a).exp());
        for isa in Isa::available() {
            let mut s = [f64::NAN; 3];
            forward(isa, 3, &rows, Some(&[0.5]), &mut s);
            for i in 0..3 {
                assert!((s[i] - silu(a[i]) * b[i] * 0.5).abs() < 1e-15);
            }
            let (mut again, mut g_rows, mut g_gate) = ([0.0; 3], [0.0; 6], [0.0]);
            let gs = [1.0, -1.0, 3.0];
            backward(isa, 3, &rows, Some((&[0.5], &mut g_gate)), &gs, &mut again, &mut g_rows);
            assert_eq!(again, s, "the same bits");
            let expected: f64 = (0..3).map(|i| gs[i] * silu(a[i]) * b[i]).sum();
            assert!((g_gate[0] - expected).abs() < 1e-15);
            let slope = |i: usize| (silu(a[i] + 1e-6) - silu(a[i] - 1e-6)) / 2e-6;
            for i in 0..3 {
                assert!((g_rows[i] - gs[i] * 0.5 * b[i] * slope(i)).abs() < 1e-8);
                assert!((g_rows[3 + i] - gs[i] * 0.5 * silu(a[i])).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn without_a_gate_nothing_is_multiplied() {
        let (rows, mut s, mut g) = ([2.0_f32, -0.0], [0.0], [0.0; 2]);
        forward(Isa::best(), 1, &rows, None, &mut s);
        assert_eq!(s[0].to_bits(), (-0.0_f32).to_bits());
        backward(Isa::best(), 1, &rows, None, &[1.0], &mut s, &mut g);
        assert_eq!((g[0], g[1]), (0.0, 2.0 * sigmoid(2.0_f32)));
    }
}
