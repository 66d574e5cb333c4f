//! One formula for each number of some slices, in a form that vectorises: the compiler need not prove
//! that the slices lie apart.

use super::Real;
use super::reduce::{LANES, at_lane, each_lane};

/// Sets each number of `into` to what `to` makes of it and of the numbers at its place in other slices.
///
/// # Panics
/// Where a slice is shorter than the first.
#[inline(always)]
pub fn change<T: Real, const N: usize>(into: &mut [T], of: [&[T]; N], to: impl Fn(T, [T; N]) -> T) {
    let of = of.map(|of| of[..into.len()].as_chunks::<LANES>());
    let (chunks, rest) = into.as_chunks_mut::<LANES>();
    for (at, chunk) in chunks.iter_mut().enumerate() {
        let (before, others) = (*chunk, of.map(|(chunks, _)| chunks[at]));
        *chunk = each_lane(|l| to(before[l], at_lane(&others, l)));
    }
    for (at, value) in rest.iter_mut().enumerate() {
        *value = to(*value, of.map(|(_, rest)| rest[at]));
    }
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn each_number_is_changed() {
        for n in 0..40 {
            let of: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut into = vec![0.5; n];
            change(&mut into, [&of, &of], |old, [a, b]| old + a * b);
            assert!(into.iter().enumerate().all(|(i, value)| *value == 0.5 + (i * i) as f32));
        }
    }
}
