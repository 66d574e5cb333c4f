//! Numbers with fewer bits: what recipes of others round to at their operations.

use super::Real;
use super::isa::portable;

/// Bits of a significand that are kept beside the first: those of bfloat16.
pub const BF16: u32 = 7;
/// Those of TensorFloat-32.
pub const TF32: u32 = 10;

/// How numbers are rounded: the bits that are kept, and at random by a seed, or else to the nearest, ties to even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounding {
    /// Bits of a significand that are kept beside the first.
    pub kept: u32,
    /// Numbers are rounded up as often as they lie near to it.
    pub seed: Option<u64>,
}

portable! {
    /// Rounds each number, by way of a float32, whose range it keeps.
    pub fn narrow<T: Real>(numbers: &mut [T], rounding: Rounding) {
        let dropped = 23 - rounding.kept.min(22);
        let (mask, half) = ((1_u32 << dropped) - 1, 1_u32 << (dropped - 1));
        for (at, number) in numbers.iter_mut().enumerate() {
            let single = number.to_f64() as f32;
            if !single.is_finite() {
                continue;
            }
            let bits = single.to_bits();
            let up = match rounding.seed {
                None => half - 1 + ((bits >> dropped) & 1),
                Some(seed) => mixed(seed, at as u64) & mask,
            };
            // A carry into the exponent is the next power of two; beyond the largest it is infinity, as it should be.
            *number = T::from_f64(f64::from(f32::from_bits((bits + up) & !mask)));
        }
    }
}

/// Random bits of a number's place (the finalizer of S. Vigna's SplitMix64).
#[inline(always)]
fn mixed(seed: u64, at: u64) -> u32 {
    let mut z = seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::Isa;

    fn rounded(number: f32, rounding: Rounding) -> f32 {
        let mut one = [number];
        narrow(Isa::best(), &mut one, rounding);
        one[0]
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_even() {
        let to = |number| rounded(number, Rounding { kept: BF16, seed: None });
        // `torch.tensor(x).bfloat16().float()` of PyTorch 2.15.
        for (number, expected) in [
            (1.003_906_2, 1.0),
            (1.011_718_8, 1.015_625),
            (std::f32::consts::PI, 3.140_625),
            (-0.1, -0.100_097_656),
            (3.4e38, f32::INFINITY),
            (1e-40, 9.183_55e-41),
            (0.0, 0.0),
        ] {
            assert_eq!(to(number), expected, "{number}");
        }
        assert!(to(f32::NAN).is_nan());
        let to = |number| rounded(number, Rounding { kept: TF32, seed: None });
        assert_eq!(to(1.000_6), 1.000_976_6);
        assert_eq!(to(1.000_4), 1.0);
    }

    #[test]
    fn at_random_numbers_are_right_on_average() {
        let number = 1.001;
        let mut all = vec![number; 100_000];
        narrow(Isa::best(), &mut all, Rounding { kept: BF16, seed: Some(3) });
        assert!(all.iter().all(|one| [1.0, 1.007_812_5].contains(one)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - number).abs() < 1e-4, "{mean}");
        assert_eq!(rounded(1.5, Rounding { kept: BF16, seed: Some(9) }), 1.5);
    }
}
