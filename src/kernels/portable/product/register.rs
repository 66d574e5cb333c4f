//! Registers: some numbers on which one instruction works.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::portable::Real;

/// Numbers that are added and multiplied together.
///
/// # Safety
/// Each function may be called only where the machine has the instructions of the type.
pub(super) trait Register<T>: Copy {
    /// How many there are.
    const SIZE: usize;

    /// The same number in all places.
    unsafe fn all(value: T) -> Self;
    /// The first numbers of a slice; panics where it has too few.
    unsafe fn load(values: &[T]) -> Self;
    /// Overwrites the first numbers of a slice; panics where it has too few.
    unsafe fn store(self, values: &mut [T]);
    /// The sum with another.
    unsafe fn plus(self, other: Self) -> Self;
    /// `self * factor + term`, rounded once.
    unsafe fn fma(self, factor: Self, term: Self) -> Self;

    /// Brings a place nearer at which numbers are soon added.
    #[inline(always)]
    unsafe fn fetch(_values: &[T]) {}

    /// Turns a square of eight rows and columns: rows begin `stride` apart, and go to column `at` and
    /// those after it. Panics where either side has too few.
    #[inline(always)]
    unsafe fn turn<const W: usize>(into: &mut [[T; W]], at: usize, from: &[T], stride: usize)
    where
        T: Real,
    {
        for i in 0..SQUARE {
            for (into, from) in into[..SQUARE].iter_mut().zip(&from[i * stride..][..SQUARE]) {
                into[at + i] = *from;
            }
        }
    }
}

/// Rows and columns that are turned at a time.
pub(super) const SQUARE: usize = 8;

/// Eight or four numbers on which whatever instructions there are work.
#[derive(Clone, Copy)]
pub(super) struct Plain<T, const N: usize>([T; N]);

impl<T: Real, const N: usize> Register<T> for Plain<T, N> {
    const SIZE: usize = N;

    #[inline(always)]
    unsafe fn all(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    unsafe fn load(values: &[T]) -> Self {
        Self(std::array::from_fn(|i| values[i]))
    }

    #[inline(always)]
    unsafe fn store(self, values: &mut [T]) {
        values[..N].copy_from_slice(&self.0);
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    #[inline(always)]
    unsafe fn fma(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].fma(factor.0[i], term.0[i])))
    }
}

/// A register of the processor with its intrinsic functions.
#[cfg(target_arch = "x86_64")]
macro_rules! register {
    ($register:ty, $number:ty, $size:literal, $all:ident, $load:ident, $store:ident, $plus:ident, $fma:ident
        $(, $turn:item)?) => {
        impl Register<$number> for $register {
            const SIZE: usize = $size;

            #[inline(always)]
            unsafe fn all(value: $number) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $all(value) }
            }

            #[inline(always)]
            unsafe fn load(values: &[$number]) -> Self {
                let values = &values[..$size];
                // SAFETY: as above, and there are enough numbers.
                unsafe { $load(values.as_ptr()) }
            }

            #[inline(always)]
            unsafe fn store(self, values: &mut [$number]) {
                let values = &mut values[..$size];
                // SAFETY: as above, and there is enough room.
                unsafe { $store(values.as_mut_ptr(), self) }
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $plus(self, other) }
            }

            #[inline(always)]
            unsafe fn fma(self, factor: Self, term: Self) -> Self {
                // SAFETY: as above.
                unsafe { $fma(self, factor, term) }
            }

            #[inline(always)]
            unsafe fn fetch(values: &[$number]) {
                // SAFETY: a hint, which touches no memory.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast()) }
            }

            $($turn)?
        }
    };
}

#[cfg(target_arch = "x86_64")]
register!(
    __m512,
    f32,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_fmadd_ps,
    #[inline(always)]
    unsafe fn turn<const W: usize>(into: &mut [[f32; W]], at: usize, from: &[f32], stride: usize) {
        // SAFETY: the caller has the instructions.
        unsafe { turn(into, at, from, stride) }
    }
);
#[cfg(target_arch = "x86_64")]
register!(
    __m256,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_fmadd_ps,
    #[inline(always)]
    unsafe fn turn<const W: usize>(into: &mut [[f32; W]], at: usize, from: &[f32], stride: usize) {
        // SAFETY: the caller has the instructions.
        unsafe { turn(into, at, from, stride) }
    }
);
#[cfg(target_arch = "x86_64")]
register!(
    __m512d,
    f64,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    _mm512_fmadd_pd
);
#[cfg(target_arch = "x86_64")]
register!(
    __m256d,
    f64,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    _mm256_fmadd_pd
);

/// Turns a square: pairs of rows are interleaved by single numbers, then by pairs, then by halves.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn turn<const W: usize>(into: &mut [[f32; W]], at: usize, from: &[f32], stride: usize) {
    // SAFETY: this function has the instructions.
    let row = |i: usize| unsafe { <__m256 as Register<f32>>::load(&from[i * stride..]) };
    let singles = |i: usize| {
        let (a, b) = (row(i), row(i + 1));
        [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)]
    };
    let quads = |i: usize| {
        let ([a0, a1], [b0, b1]) = (singles(i), singles(i + 2));
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(a0, b0),
            _mm256_shuffle_ps::<0b11_10_11_10>(a0, b0),
            _mm256_shuffle_ps::<0b01_00_01_00>(a1, b1),
            _mm256_shuffle_ps::<0b11_10_11_10>(a1, b1),
        ]
    };
    let (upper, lower) = (quads(0), quads(4));
    let (first, second) = into[..SQUARE].split_at_mut(4);
    for k in 0..4 {
        let (a, b) = (upper[k], lower[k]);
        // SAFETY: as above.
        unsafe {
            _mm256_permute2f128_ps::<0x20>(a, b).store(&mut first[k][at..]);
            _mm256_permute2f128_ps::<0x31>(a, b).store(&mut second[k][at..]);
        }
    }
}
