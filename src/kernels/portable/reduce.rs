//! Sums and searches over many numbers, in an order that is written down.

use super::Real;

/// Partial sums of a reduction.
pub const LANES: usize = 16;

/// The sum of `term([a[i], b[i], ...])` over the numbers of slices of one length: sixteen partial sums
/// from +0, of which number l takes the terms l, l + 16, l + 32 ... in this order; then the second half of
/// them is added to the first, number by number, until one is left.
///
/// # Panics
/// Where a slice is shorter than the first.
#[inline(always)]
pub fn sum<S: Copy + Default, T: Real, const N: usize>(
    of: [&[S]; N],
    term: impl Fn([S; N]) -> T,
) -> T {
    let length = of.first().map_or(0, |first| first.len());
    let of = of.map(|of| of[..length].as_chunks::<LANES>());
    let mut lanes = [T::ZERO; LANES];
    for at in 0..length / LANES {
        let chunks = of.map(|(chunks, _)| chunks[at]);
        lanes = each_lane(|l| lanes[l] + term(at_lane(&chunks, l)));
    }
    if !length.is_multiple_of(LANES) {
        let rests = of.map(|(_, rest)| {
            let mut whole = [S::default(); LANES];
            whole[..rest.len()].copy_from_slice(rest);
            whole
        });
        for (l, lane) in lanes.iter_mut().enumerate() {
            let term = term(at_lane(&rests, l));
            // Lanes are never -0, so that adding +0 to those without a term changes nothing.
            *lane += if l < length % LANES { term } else { T::ZERO };
        }
    }
    halve(lanes, |a, b| a + b)
}

/// The result of `of` for each lane. Written out, lane by lane, so that the compiler joins the lanes to vectors
/// wherever this is used; a loop over them, or the library's, it joins in some places and not in others.
#[inline(always)]
pub fn each_lane<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    [
        of(0),
        of(1),
        of(2),
        of(3),
        of(4),
        of(5),
        of(6),
        of(7),
        of(8),
        of(9),
        of(10),
        of(11),
        of(12),
        of(13),
        of(14),
        of(15),
    ]
}

/// The numbers of one lane.
#[inline(always)]
pub fn at_lane<S: Copy + Default, const N: usize>(chunks: &[[S; LANES]; N], lane: usize) -> [S; N] {
    let mut numbers = [S::default(); N];
    for (number, chunk) in numbers.iter_mut().zip(chunks) {
        *number = chunk[lane];
    }
    numbers
}

/// Joins the second half of the lanes to the first, number by number, until one is left.
#[inline(always)]
fn halve<T: Real>(lanes: [T; LANES], join: impl Fn(T, T) -> T) -> T {
    let eight: [T; 8] = std::array::from_fn(|l| join(lanes[l], lanes[l + 8]));
    let four: [T; 4] = std::array::from_fn(|l| join(eight[l], eight[l + 4]));
    let two: [T; 2] = std::array::from_fn(|l| join(four[l], four[l + 2]));
    join(two[0], two[1])
}

/// The root of the sum of squares, in float64 and in the order of the elements.
pub fn length<T: Real>(of: &[T]) -> f64 {
    of.iter().fold(0.0, |sum, value| sum + value.to_f64() * value.to_f64()).sqrt()
}

/// The root of the sum of squared differences, in the same way.
pub fn distance<T: Real>(before: &[T], after: &[T]) -> f64 {
    let sum = std::iter::zip(before, after).fold(0.0, |sum, (before, after)| {
        let moved = after.to_f64() - before.to_f64();
        sum + moved * moved
    });
    sum.sqrt()
}

/// The largest number; those that are not numbers are passed over. Minus infinity of none.
#[inline(always)]
pub fn largest<T: Real>(values: &[T]) -> T {
    let more = |a: T, b: T| if b > a { b } else { a };
    let mut lanes = [T::LOWEST; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = more(*lane, *value);
        }
    }
    rest.iter().fold(halve(lanes, more), |most, value| more(most, *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_its_formula() {
        for n in 0..70 {
            let term = |i: usize| ((i * 37 % 19) as f32 - 7.3) / 7.0;
            let terms: Vec<f32> = (0..n).map(term).collect();
            let halves = vec![0.5_f64; n];
            let mut lanes = [0.0_f32; 16];
            for i in 0..n {
                lanes[i % 16] += term(i);
            }
            let eight: Vec<f32> = (0..8).map(|l| lanes[l] + lanes[l + 8]).collect();
            let four: Vec<f32> = (0..4).map(|l| eight[l] + eight[l + 4]).collect();
            let expected = (four[0] + four[2]) + (four[1] + four[3]);
            assert_eq!(sum([&terms], |[x]| x).to_bits(), expected.to_bits(), "{n}");
            let halved = sum([&halves, &halves], |[x, y]| x + y);
            assert_eq!(halved, n as f64);
        }
    }

    #[test]
    fn the_largest_passes_over_what_is_no_number() {
        assert_eq!(largest::<f32>(&[]), f32::NEG_INFINITY);
        for n in 1..40 {
            let mut values: Vec<f32> = (0..n).map(|i| ((i * 7) % 23) as f32 - 30.0).collect();
            values[n / 2] = f32::NAN;
            let expected =
                values.iter().copied().filter(|x| !x.is_nan()).fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(largest(&values), expected);
        }
    }
}
