//! The innermost loops: a tile of a few rows and columns whose sums stay in registers. One body for all
//! numbers and instructions; what differs is the size of the tile.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use super::register::{Plain, Register};
use super::{BLOCK, Matrix, pack};
use crate::portable::isa::Level;
use crate::portable::{Isa, Real, buffer};

/// Rows of the left side that are worked on before going back to the first column: whole tiles of any
/// height.
const ROWS: usize = 96;

/// Some rows of a product.
#[derive(Debug)]
pub struct Job<'a, T> {
    /// The output, rows `stride` apart.
    pub(super) c: &'a mut [T],
    /// From one row of the output to the next.
    pub(super) stride: usize,
    /// The left side: its columns are the k.
    pub(super) a: Matrix<'a, T>,
    /// The panels of the right side.
    pub(super) panels: &'a [T],
    /// Rows of a panel.
    pub(super) depth: usize,
    /// The row of the panels at which k begins.
    pub(super) from: usize,
    /// Columns of the output.
    pub(super) columns: usize,
    /// The addend, added last.
    pub(super) add: Option<Matrix<'a, T>>,
    /// Whether a block of k goes on with the sums of the one before it.
    pub(super) chained: bool,
}

/// Columns of a panel: two registers of numbers.
pub(super) fn width<T>(isa: Isa) -> usize {
    let register = if isa.level() == Level::Avx512 { 64 } else { 32 };
    2 * register / size_of::<T>()
}

/// The functions of one type of numbers: for each level a register and a tile of some rows and columns.
macro_rules! tiles {
    ($multiply:ident, $pack:ident, $number:ty, plain $plain:tt, avx2 $avx2:tt, avx512 $avx512:tt) => {
        tiles!(@each $multiply, (job: Job<'_, $number>), multiply,
            $number, $plain, $avx2, $avx512, "Multiplies with tiles that suit the instructions.");
        tiles!(@each $pack, (panels: &mut [$number], b: Matrix<'_, $number>), panels,
            $number, $plain, $avx2, $avx512, "Packs panels that suit the instructions.");
    };
    (@each $name:ident, ($($arg:ident: $ty:ty),*), $function:ident,
        $number:ty, $plain:tt, $avx2:tt, $avx512:tt, $doc:literal) => {
        #[doc = $doc]
        pub(in crate) fn $name(isa: Isa, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) {
                tiles!(@call $function, $number, $avx2, $($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
            fn avx512($($arg: $ty),*) {
                tiles!(@call $function, $number, $avx512, $($arg),*)
            }
            match isa.level() {
                // SAFETY: an `Isa` exists only where the machine has its instructions.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => tiles!(@call $function, $number, $plain, $($arg),*),
            }
        }
    };
    (@call multiply, $number:ty, [$register:ty, $rows:literal, $columns:literal], $($arg:ident),*) => {
        // SAFETY: where this is called, the instructions of the register are at hand.
        unsafe { multiply::<$number, $register, $rows>($($arg),*) }
    };
    (@call panels, $number:ty, [$register:ty, $rows:literal, $columns:literal], $($arg:ident),*) => {
        // SAFETY: as above.
        unsafe { pack::panels::<$number, $register, $columns>($($arg),*) }
    };
}

tiles!(multiply32, pack32, f32,
    plain [Plain<f32, 8>, 4, 16], avx2 [__m256, 6, 16], avx512 [__m512, 8, 32]);
tiles!(multiply64, pack64, f64,
    plain [Plain<f64, 4>, 4, 8], avx2 [__m256d, 6, 8], avx512 [__m512d, 8, 16]);

/// Tiles of at most M rows and two registers, or one at the right edge.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
unsafe fn multiply<T: Real, V: Register<T>, const M: usize>(job: Job<'_, T>) {
    let Job { c, stride, a, panels, depth, from, columns, add, chained } = job;
    let width = 2 * V::SIZE;
    // Columns that lie apart are read where they are by few panels, and gathered for many.
    let gather = a.column_stride != 1 && (columns > 4 * width || a.row_stride != 1);
    let mut gathered = buffer::<T>(if gather { ROWS * BLOCK } else { 0 });
    for k0 in (0..a.columns).step_by(BLOCK) {
        let block = a.columns(k0, BLOCK.min(a.columns - k0));
        let add = add.filter(|_| k0 + BLOCK >= a.columns);
        for i0 in (0..a.rows).step_by(ROWS) {
            let part = block.rows(i0, ROWS.min(a.rows - i0));
            if gather {
                // SAFETY: the caller has the instructions.
                unsafe { pack::left::<T, V, M>(&mut gathered, part) };
            }
            let mut left = Left { part, gathered: gather.then_some(&*gathered), at: 0 };
            for j0 in (0..columns).step_by(width) {
                let panel = (j0 / width * depth + from + k0) * width;
                let panel = &panels[panel..][..part.columns * width];
                let n = width.min(columns - j0);
                let sums = match k0 {
                    0 => Sums::First,
                    _ if chained => Sums::GoOn,
                    _ => Sums::Next,
                };
                let mut place = Corner { c, stride, add, sums, row: i0, column: j0, n };
                left.at = 0;
                while left.at < part.rows {
                    let rest = part.rows - left.at;
                    // SAFETY: the caller has the instructions.
                    left.at += unsafe {
                        // Heights at the lower edge are powers of two.
                        match (rest, n > V::SIZE) {
                            (_, true) if rest >= M => {
                                tile::<T, V, M, M, 2>(left, panel, &mut place)
                            }
                            (_, false) if rest >= M => {
                                tile::<T, V, M, M, 1>(left, panel, &mut place)
                            }
                            (4.., _) => tile::<T, V, 4, M, 2>(left, panel, &mut place),
                            (2.., _) => tile::<T, V, 2, M, 2>(left, panel, &mut place),
                            _ => tile::<T, V, 1, M, 2>(left, panel, &mut place),
                        }
                    };
                }
            }
        }
    }
}

/// Rows of the left side.
#[derive(Clone, Copy)]
struct Left<'a, T> {
    part: Matrix<'a, T>,
    /// The same in groups of rows, one k after the other.
    gathered: Option<&'a [T]>,
    /// The row that is next.
    at: usize,
}

/// The use of the sums of a block of k.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sums {
    /// They are the first.
    First,
    /// They are added to those before.
    Next,
    /// They begin with those before.
    GoOn,
}

/// Where sums go.
struct Corner<'a, T> {
    c: &'a mut [T],
    stride: usize,
    add: Option<Matrix<'a, T>>,
    sums: Sums,
    row: usize,
    column: usize,
    n: usize,
}

/// R rows, of which M are gathered together, by the first P registers of a panel's two; gives R.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
unsafe fn tile<T: Real, V: Register<T>, const R: usize, const M: usize, const P: usize>(
    left: Left<'_, T>,
    panel: &[T],
    place: &mut Corner<'_, T>,
) -> usize {
    // SAFETY: the caller has the instructions.
    let mut sums = [[unsafe { V::all(T::ZERO) }; P]; R];
    match place.sums {
        Sums::First => {}
        Sums::Next => {
            for i in 0..R {
                for p in 0..P {
                    // SAFETY: as above.
                    unsafe { place.fetch::<V>(left.at + i, p) };
                }
            }
        }
        Sums::GoOn => {
            for (i, sums) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                *sums = unsafe { place.before(left.at + i) };
            }
        }
    }
    let steps = panel.chunks_exact(2 * V::SIZE);
    if let Some(gathered) = left.gathered {
        let group = &gathered[left.at / M * M * left.part.columns..];
        for (a, b) in group.chunks_exact(M).zip(steps) {
            let a = &a[left.at % M..][..R];
            // SAFETY: as above.
            unsafe { step(&mut sums, |i| a[i], b) };
        }
    } else if left.part.column_stride != 1 {
        let mut rest = &left.part.data[left.at..];
        for b in steps {
            let a = &rest[..R];
            // SAFETY: as above.
            unsafe { step(&mut sums, |i| a[i], b) };
            rest = rest.get(left.part.column_stride..).unwrap_or(&[]);
        }
    } else {
        let k = left.part.columns;
        let rows: [&[T]; R] = std::array::from_fn(|i| &left.part.row(left.at + i)[..k]);
        for (at, b) in (0..k).zip(steps) {
            // SAFETY: as above.
            unsafe { step(&mut sums, |i| rows[i][at], b) };
        }
    }
    for (i, sums) in sums.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { place.row(left.at + i, sums) };
    }
    R
}

/// One k.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
unsafe fn step<T: Real, V: Register<T>, const R: usize, const P: usize>(
    sums: &mut [[V; P]; R],
    a: impl Fn(usize) -> T,
    b: &[T],
) {
    // SAFETY: the caller has the instructions.
    unsafe {
        let b: [V; P] = std::array::from_fn(|p| V::load(&b[p * V::SIZE..]));
        for (i, sums) in sums.iter_mut().enumerate() {
            let a = V::all(a(i));
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = a.fma(b, *sum);
            }
        }
    }
}

impl<T: Real> Corner<'_, T> {
    /// Brings nearer what sums are added to.
    ///
    /// # Safety
    /// The machine has the instructions of the register.
    #[inline(always)]
    unsafe fn fetch<V: Register<T>>(&self, row: usize, p: usize) {
        let at = (self.row + row) * self.stride + self.column + p * V::SIZE;
        // SAFETY: the caller has the instructions.
        unsafe { V::fetch(self.c.get(at..).unwrap_or(&[])) }
    }

    /// The sums of one row so far.
    ///
    /// # Safety
    /// The machine has the instructions of the register.
    #[inline(always)]
    unsafe fn before<V: Register<T>, const P: usize>(&self, row: usize) -> [V; P] {
        let c = &self.c[(self.row + row) * self.stride + self.column..][..self.n];
        let mut apart = [T::ZERO; 64];
        apart[..self.n].copy_from_slice(c);
        // SAFETY: the caller has the instructions.
        std::array::from_fn(|p| unsafe { V::load(&apart[p * V::SIZE..]) })
    }

    /// Takes the sums of one row.
    ///
    /// # Safety
    /// The machine has the instructions of the register.
    #[inline(always)]
    unsafe fn row<V: Register<T>, const P: usize>(&mut self, row: usize, sums: [V; P]) {
        let row = self.row + row;
        let c = &mut self.c[row * self.stride + self.column..][..self.n];
        let add = self.add.map(|add| &add.row(row)[self.column..][..self.n]);
        if c.len() != P * V::SIZE {
            let mut apart = [T::ZERO; 64];
            for (p, sum) in sums.into_iter().enumerate() {
                // SAFETY: the caller has the instructions.
                unsafe { sum.store(&mut apart[p * V::SIZE..]) };
            }
            return narrow(c, &apart, self.sums != Sums::Next, add);
        }
        for (p, mut sum) in sums.into_iter().enumerate() {
            let c = &mut c[p * V::SIZE..];
            // SAFETY: as above.
            unsafe {
                if self.sums == Sums::Next {
                    sum = V::load(c).plus(sum);
                }
                if let Some(add) = add {
                    sum = sum.plus(V::load(&add[p * V::SIZE..]));
                }
                sum.store(c);
            }
        }
    }
}

/// Takes sums that do not fill registers.
#[inline(always)]
fn narrow<T: Real>(c: &mut [T], sums: &[T], first: bool, add: Option<&[T]>) {
    for (at, (c, sum)) in c.iter_mut().zip(sums).enumerate() {
        let sum = if first { *sum } else { *c + *sum };
        *c = add.map_or(sum, |add| sum + add[at]);
    }
}
