//! The matrix product.
//!
//! `C[i, j] = (s0 + s1) + s2 ...`: the sum `s_b` runs over the block of 256 consecutive k with number b,
//! starting at +0 and doing `s = fma(A[i, k], B[k, j], s)` in rising k; an optional matrix is added last.
//! Nothing else is part of the formula: tiles, packing and threads are free.
//!
//! `B` is packed into panels of as many columns as a tile has, each holding all its rows one after the
//! other, so that any range of k is one piece.

mod kernel;
mod pack;
mod register;

use rayon::prelude::*;

use super::{Buffer, Isa, Real, buffer};
pub use kernel::Job;
pub(super) use kernel::{multiply32, multiply64, pack32, pack64};

/// Consecutive k whose products are one sum.
pub const BLOCK: usize = 256;

/// A matrix that lies in a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Rows that follow each other.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self::with_stride(data, rows, columns, columns)
    }

    /// Rows that begin `stride` apart.
    ///
    /// # Panics
    /// Where the slice ends before the matrix does.
    pub fn with_stride(data: &'a [T], rows: usize, columns: usize, stride: usize) -> Self {
        let end = if rows == 0 || columns == 0 { 0 } else { (rows - 1) * stride + columns };
        assert!(end <= data.len(), "{rows} x {columns} at {stride} in {} numbers", data.len());
        Self { data, rows, columns, row_stride: stride, column_stride: 1 }
    }

    /// Rows as columns.
    pub fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// One row, whose numbers must follow each other, and what comes after it.
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [T] {
        &self.data[row * self.row_stride..]
    }

    /// Some of the rows.
    pub fn rows(self, from: usize, count: usize) -> Self {
        assert!(from + count <= self.rows);
        let none = count == 0 || self.columns == 0;
        let data = if none { &[] } else { &self.data[from * self.row_stride..] };
        Self { data, rows: count, ..self }
    }

    /// Some of the columns.
    pub fn columns(self, from: usize, count: usize) -> Self {
        self.transposed().rows(from, count).transposed()
    }
}

/// `c = a b`, plus `add` where it is given, by the threads of the current pool.
///
/// # Panics
/// Where the shapes do not fit.
pub fn product<T: Real>(
    isa: Isa,
    c: &mut [T],
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    add: Option<&[T]>,
) {
    if a.rows == 0 || b.columns == 0 {
        return;
    }
    Packed::new(isa, b).product(isa, c, a, add);
}

/// The right side of products, packed once for many left sides.
#[derive(Debug)]
pub struct Packed<T: Real> {
    panels: Buffer<T>,
    rows: usize,
    columns: usize,
}

impl<T: Real> Packed<T> {
    /// Packs a matrix by the threads of the current pool.
    pub fn new(isa: Isa, b: Matrix<'_, T>) -> Self {
        Self::by(isa, b, threads() > 1)
    }

    /// Packs a matrix by the calling thread.
    pub fn alone(isa: Isa, b: Matrix<'_, T>) -> Self {
        Self::by(isa, b, false)
    }

    fn by(isa: Isa, b: Matrix<'_, T>, together: bool) -> Self {
        let width = kernel::width::<T>(isa);
        let mut panels = buffer(b.columns.div_ceil(width) * width * b.rows);
        if b.rows > 0 && b.columns > 0 {
            let count = b.columns.div_ceil(width);
            let each = if together { count.div_ceil(2 * threads()) } else { count };
            let work = |(number, panels): (usize, &mut [T])| {
                let from = number * each * width;
                let columns = (each * width).min(b.columns - from);
                T::pack(isa, panels, b.columns(from, columns));
            };
            let share = each * width * b.rows;
            if together {
                panels.par_chunks_mut(share).enumerate().for_each(work);
            } else {
                panels.chunks_mut(share).enumerate().for_each(work);
            }
        }
        Self { panels, rows: b.rows, columns: b.columns }
    }

    /// `c = a b`, plus `add` where it is given, by the threads of the current pool: each takes rows.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn product(&self, isa: Isa, c: &mut [T], a: Matrix<'_, T>, add: Option<&[T]>) {
        let (rows, columns) = (a.rows, self.columns);
        assert_eq!(c.len(), rows * columns, "the shape of a product");
        if c.is_empty() {
            return;
        }
        let share = share(rows);
        if share >= rows {
            return self.rows(isa, c, a, add);
        }
        c.par_chunks_mut(share * columns).enumerate().for_each(|(number, c)| {
            let (from, count) = (number * share, c.len() / columns);
            let add = add.map(|add| &add[from * columns..][..c.len()]);
            self.rows(isa, c, a.rows(from, count), add);
        });
    }

    /// `c = a b`, plus `add` where it is given, by the calling thread: some rows of a product, so that
    /// what precedes and follows it is done while they are at hand.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn rows(&self, isa: Isa, c: &mut [T], a: Matrix<'_, T>, add: Option<&[T]>) {
        let add = add.map(|add| Matrix::new(add, a.rows, self.columns));
        self.range(isa, (c, self.columns), a, (0, self.columns), add);
    }

    /// `c = a b`, where c has rows `stride` apart and b is the rows from `from` on, as many as a has
    /// columns, and the first `columns` columns: blocks of k are counted from `from`.
    pub(super) fn range(
        &self,
        isa: Isa,
        (c, stride): (&mut [T], usize),
        a: Matrix<'_, T>,
        (from, columns): (usize, usize),
        add: Option<Matrix<'_, T>>,
    ) {
        assert!(from + a.columns <= self.rows && columns <= self.columns, "the shape of a product");
        if a.rows == 0 || columns == 0 {
            return;
        }
        if a.columns == 0 {
            // The empty sum, and what is added to it.
            for i in 0..a.rows {
                let c = &mut c[i * stride..][..columns];
                c.fill(T::ZERO);
                if let Some(add) = add {
                    c.iter_mut().zip(add.row(i)).for_each(|(c, add)| *c += *add);
                }
            }
            return;
        }
        let depth = self.rows;
        let panels = &self.panels;
        T::multiply(
            isa,
            Job { c, stride, a, panels, depth, from, columns, add, chained: isa.is_chained() },
        );
    }
}

/// Threads of the current pool.
fn threads() -> usize {
    rayon::current_num_threads()
}

/// Rows that a thread takes at a time: a few shares for each thread, whole tiles of any height.
fn share(rows: usize) -> usize {
    match threads() {
        1 => rows,
        threads => rows.div_ceil(threads * 2).next_multiple_of(24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::isa::Isa;

    /// Numbers of mixed size and sign.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// A single chain of all k.
    fn chain<T: Real>(c: &mut [T], a: Matrix<'_, T>, b: Matrix<'_, T>) {
        let at =
            |m: &Matrix<'_, T>, i: usize, j: usize| m.data[i * m.row_stride + j * m.column_stride];
        for i in 0..a.rows {
            for j in 0..b.columns {
                let fma = |sum: T, k: usize| at(&a, i, k).fma(at(&b, k, j), sum);
                c[i * b.columns + j] = (0..a.columns).fold(T::ZERO, fma);
            }
        }
    }

    #[test]
    fn chains_go_on_over_all_blocks() {
        for (m, n, k) in [(7, 33, 700), (97, 16, 512), (2, 65, 1025), (5, 3, 100)] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let (a, b) = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            let mut wanted = vec![0.0; m * n];
            chain(&mut wanted, a, b);
            for isa in Isa::available() {
                let mut c = vec![f32::NAN; m * n];
                product(isa.chained(), &mut c, a, b, None);
                assert_eq!(c, wanted, "{isa:?} {m} {n} {k}");
                product(isa, &mut c, a, b, None);
                assert_eq!(c == wanted, k <= BLOCK, "{isa:?} {m} {n} {k}");
            }
        }
    }

    /// The formula, read aloud.
    fn plain<T: Real>(c: &mut [T], a: Matrix<'_, T>, b: Matrix<'_, T>, add: Option<&[T]>) {
        let at =
            |m: &Matrix<'_, T>, i: usize, j: usize| m.data[i * m.row_stride + j * m.column_stride];
        for i in 0..a.rows {
            for j in 0..b.columns {
                let mut total = T::ZERO;
                for from in (0..a.columns).step_by(BLOCK) {
                    let mut sum = T::ZERO;
                    for k in from..(from + BLOCK).min(a.columns) {
                        sum = at(&a, i, k).fma(at(&b, k, j), sum);
                    }
                    total = if from == 0 { sum } else { total + sum };
                }
                let place = i * b.columns + j;
                c[place] = add.map_or(total, |add| total + add[place]);
            }
        }
    }

    fn agrees<T: Real>(m: usize, n: usize, k: usize) {
        let of = |count, seed| -> Vec<T> {
            numbers(count, seed).into_iter().map(|x| T::from_f64(f64::from(x))).collect()
        };
        let (a, b, add) = (of(m * k, 1), of(k * n, 2), of(m * n, 3));
        for isa in Isa::available() {
            for turned in 0..4 {
                let left = if turned & 1 == 0 {
                    Matrix::new(&a, m, k)
                } else {
                    Matrix::new(&a, k, m).transposed()
                };
                let right = if turned & 2 == 0 {
                    Matrix::new(&b, k, n)
                } else {
                    Matrix::new(&b, n, k).transposed()
                };
                for add in [None, Some(&*add)] {
                    let mut c = vec![T::from_f64(f64::NAN); m * n];
                    let mut expected = c.clone();
                    product(isa, &mut c, left, right, add);
                    plain(&mut expected, left, right, add);
                    let bits = |x: &[T]| x.iter().map(|x| x.to_f64().to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&c), bits(&expected), "{m} {n} {k} {isa:?} {turned}");
                }
            }
        }
    }

    #[test]
    fn a_product_is_its_formula() {
        for (m, n, k) in [
            (1, 1, 1),
            (1, 33, 7),
            (3, 16, 256),
            (7, 17, 257),
            (8, 32, 64),
            (13, 4, 300),
            (100, 50, 513),
            (97, 65, 31),
            (5, 5, 0),
            (0, 3, 3),
        ] {
            agrees::<f32>(m, n, k);
            agrees::<f64>(m, n, k);
        }
    }

    /// The other crate has the formula only with AVX2 and fused multiply-add; it may give the other zero
    /// where products underflow.
    #[test]
    fn a_product_is_that_of_another_crate() {
        if Isa::available().len() == 1 {
            return;
        }
        for (m, n, k) in [(64, 96, 700), (33, 47, 256), (130, 70, 1025), (9, 200, 65)] {
            let (a, b) = (numbers(m * k, 4), numbers(k * n, 5));
            let mut expected = vec![0.0; m * n];
            // SAFETY: the strides stay inside the slices.
            unsafe {
                matrixmultiply::sgemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    1,
                    m as isize,
                    b.as_ptr(),
                    n as isize,
                    1,
                    0.0,
                    expected.as_mut_ptr(),
                    n as isize,
                    1,
                );
            }
            for isa in Isa::available() {
                let mut c = vec![f32::NAN; m * n];
                product(
                    isa,
                    &mut c,
                    Matrix::new(&a, k, m).transposed(),
                    Matrix::new(&b, k, n),
                    None,
                );
                assert!(c == expected, "{m} {n} {k} {isa:?}");
            }
        }
    }

    #[test]
    fn parts_of_a_product_have_its_bits() {
        let (m, n, k) = (50, 40, 300);
        let (a, b, add) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
        for isa in Isa::available() {
            let mut whole = vec![0.0; m * n];
            product(isa, &mut whole, Matrix::new(&a, m, k), Matrix::new(&b, k, n), Some(&add));
            let packed = Packed::alone(isa, Matrix::new(&b, k, n));
            for rows in [1, 7, 24] {
                let mut parts = vec![0.0; m * n];
                for (number, part) in parts.chunks_mut(rows * n).enumerate() {
                    let (from, count) = (number * rows, part.len() / n);
                    let a = Matrix::new(&a, m, k).rows(from, count);
                    packed.rows(isa, part, a, Some(&add[from * n..][..count * n]));
                }
                assert_eq!(parts, whole);
            }
        }
    }

    #[test]
    #[should_panic(expected = "in 5 numbers")]
    fn a_matrix_ends_with_its_slice() {
        Matrix::new(&[0.0_f32; 5], 2, 3);
    }
}
