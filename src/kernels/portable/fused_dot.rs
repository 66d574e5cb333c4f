//! The fused dot product of tensor cores: c + Σ a_i b_i with one rounding at the end, and bits of the terms dropped before. No
//! part of `portable-f32/1`: results that a GPU gave are compared with it.
//!
//! Each product is exact, its exponent the sum of those of its factors. All terms, c among them, are aligned to the largest
//! exponent, and what lies more than [`FusedDot::kept`] bits below its leading place is dropped, toward zero. The sum of what
//! is left is exact and is rounded toward zero to a float32. (M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh, "Numerical
//! behavior of NVIDIA tensor cores", 2021, found the form; the numbers are those that explain every one of the results which
//! arXiv 2512.07004 recorded on a Hopper GPU.) What it says of subnormal numbers, overflow, infinities, NaN and signs of zero
//! was not measured yet.

/// A tensor core as formulas see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FusedDot {
    /// Bits of a term that are kept below the place of the largest exponent.
    pub kept: i32,
    /// The least exponent that terms are aligned to.
    pub floor: i32,
    /// The exponent of the smallest normal operand: -126 of bfloat16 and TF32, -14 of float16.
    pub smallest: i32,
}

/// A term: `significand * 2^(exponent - places)`.
#[derive(Debug, Clone, Copy)]
struct Term {
    significand: i64,
    exponent: i32,
    places: i32,
}

/// The places of a float32 behind its point.
const PLACES: i32 = 23;

/// The NaN of a tensor core.
const NAN: u32 = 0x7fff_ffff;

impl FusedDot {
    /// The tensor cores of Hopper GPUs, for operands whose smallest normal exponent is this one.
    pub fn hopper(smallest: i32) -> Self {
        Self { kept: 25, floor: -133, smallest }
    }

    /// c + Σ a_i b_i over the pairs of `a` and `b`, operands that their format holds exactly.
    pub fn dot(&self, a: &[f32], b: &[f32], c: f32) -> f32 {
        let pairs = std::iter::zip(a, b);
        if !a.iter().chain(b).chain([&c]).all(|number| number.is_finite()) {
            let sum: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let sum = sum + f64::from(c);
            return if sum.is_nan() { f32::from_bits(NAN) } else { sum as f32 };
        }
        let products = pairs.filter_map(|(a, b)| {
            let (a, b) = (split(*a, self.smallest)?, split(*b, self.smallest)?);
            Some(Term {
                significand: a.significand * b.significand,
                exponent: a.exponent + b.exponent,
                places: a.places + b.places,
            })
        });
        let terms: Vec<Term> = products.chain(split(c, -126)).collect();
        let top = terms.iter().map(|term| term.exponent).max().unwrap_or(self.floor);
        let top = top.max(self.floor);
        let aligned =
            |term: &Term| shifted(term.significand, term.places - self.kept + top - term.exponent);
        float(terms.iter().map(aligned).sum(), top - self.kept)
    }
}

/// A number other than zero as a term; below the smallest normal exponent it has leading zeros.
fn split(number: f32, smallest: i32) -> Option<Term> {
    let bits = number.to_bits();
    let (field, fraction) = ((bits >> PLACES & 0xff).cast_signed(), i64::from(bits & 0x7f_ffff));
    let (significand, exponent) =
        if field == 0 { (fraction, -126) } else { (fraction | 1 << PLACES, field - 127) };
    // Exact, as the number is one of the format.
    let below = (smallest - exponent).max(0);
    let significand = shifted(significand, below);
    let signed = if number.is_sign_negative() { -significand } else { significand };
    (signed != 0).then_some(Term {
        significand: signed,
        exponent: exponent + below,
        places: PLACES,
    })
}

/// The number times `2^-by`, toward zero.
fn shifted(number: i64, by: i32) -> i64 {
    match by {
        ..=0 => number << -by,
        1..=62 if number < 0 => -(-number >> by),
        1..=62 => number >> by,
        _ => 0,
    }
}

/// `sum * 2^exponent` as a float32, toward zero; beyond the largest it is infinite.
fn float(sum: i64, exponent: i32) -> f32 {
    if sum == 0 {
        return 0.0;
    }
    let leading = 63 - sum.unsigned_abs().leading_zeros().cast_signed() + exponent;
    let (place, field) = if leading < -126 { (-149, 0) } else { (leading - PLACES, leading + 127) };
    // At most 24 bits are left, the first of which a normal number does not write.
    let magnitude = shifted(sum.abs(), place - exponent) as u32 & 0x7f_ffff;
    let bits =
        if field > 254 { 0xff << PLACES } else { field.cast_unsigned() << PLACES | magnitude };
    f32::from_bits(bits | u32::from(sum < 0) << 31)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn bits_below_the_kept_ones_are_dropped_from_each_term() {
        let hopper = FusedDot::hopper(-126);
        let dot = |a: &[f32], c: f32| hopper.dot(a, &vec![1.0; a.len()], c);
        let small = 2.0_f32.powi(-26);
        assert_eq!(
            dot(&[1.0, 2.0 * small, 2.0 * small, 2.0 * small, 2.0 * small], 0.0),
            1.0 + 8.0 * small
        );
        // Four halves of the last kept place are two of it, and each is dropped.
        assert_eq!(dot(&[1.0, small, small, small, small], 0.0), 1.0);
        assert_eq!(dot(&[-1.0, small, small], 0.0), -1.0);
        // c is a term like others.
        assert_eq!(dot(&[small; 4], 1.0), 1.0);
        assert_eq!(dot(&[], -0.0).to_bits(), 0);
        assert_eq!(dot(&[f32::MAX, f32::MAX], 0.0), f32::INFINITY);
        assert_eq!(dot(&[1e-40, 2e-40], -1e-40), 2e-40);
        assert_eq!(dot(&[f32::INFINITY], f32::NEG_INFINITY).to_bits(), NAN);
        assert_eq!(dot(&[f32::NEG_INFINITY], 1.0), f32::NEG_INFINITY);
    }

    /// Results of Hopper GPUs, repacked from north-numerical-computing/MATLAB-tensor-core (arXiv 2512.07004).
    #[test]
    fn recorded_results_of_hopper_come_out_bit_for_bit() {
        let Some(shared) = std::env::var_os("REPRO_SHARED_DATA") else { return };
        for (name, smallest, block) in [("bf16", -126, 16), ("fp16", -14, 16), ("tf32", -126, 8)] {
            let path = PathBuf::from(&shared).join(format!("tensor_cores/H100-{name}.bin"));
            let bytes = std::fs::read(path).unwrap();
            let words: Vec<f32> =
                bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
            let length = words.len() / 5000;
            let rule = FusedDot::hopper(smallest);
            for record in words.chunks(length) {
                let depth = length / 2 - 1;
                let blocks = std::iter::zip(
                    record[..depth].chunks(block),
                    record[depth..2 * depth].chunks(block),
                );
                let found = blocks.fold(record[2 * depth], |c, (a, b)| rule.dot(a, b, c));
                assert_eq!(found.to_bits(), record[2 * depth + 1].to_bits(), "{name}: {record:?}");
            }
        }
    }
}
