//! Copies of the two sides in the order in which tiles read them.

use super::Matrix;
use super::register::{Register, SQUARE};
use crate::portable::Real;

/// Rows or columns that are copied before going on to the next panel, so that few pages are in use.
const STEP: usize = 16;

/// Panels of the columns of `b`, W columns each: in each panel row follows row, filled up with noughts
/// at the right edge.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
pub(super) unsafe fn panels<T: Real, V: Register<T>, const W: usize>(
    panels: &mut [T],
    b: Matrix<'_, T>,
) {
    for k0 in (0..b.rows).step_by(STEP) {
        let count = STEP.min(b.rows - k0);
        for (number, panel) in panels.chunks_exact_mut(W * b.rows).enumerate() {
            let panel = &mut panel[k0 * W..][..count * W];
            let b = b.rows(k0, count).columns(number * W, W.min(b.columns - number * W));
            if b.columns < W {
                panel.fill(T::ZERO);
            }
            // SAFETY: the caller has the instructions.
            unsafe { interleave::<T, V, W>(panel, b.transposed()) };
        }
    }
}

/// Groups of M rows: in each the numbers of one k after those of another.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
pub(super) unsafe fn left<T: Real, V: Register<T>, const M: usize>(
    into: &mut [T],
    a: Matrix<'_, T>,
) {
    for k0 in (0..a.columns).step_by(STEP) {
        let count = STEP.min(a.columns - k0);
        for i0 in (0..a.rows).step_by(M) {
            let group = &mut into[i0 * a.columns + k0 * M..][..count * M];
            let a = a.columns(k0, count).rows(i0, M.min(a.rows - i0));
            // SAFETY: the caller has the instructions.
            unsafe { interleave::<T, V, M>(group, a) };
        }
    }
}

/// Writes the number in row i and column k to place i of piece k.
///
/// # Safety
/// The machine has the instructions of the register.
#[inline(always)]
unsafe fn interleave<T: Real, V: Register<T>, const W: usize>(into: &mut [T], a: Matrix<'_, T>) {
    let into = into.as_chunks_mut::<W>().0;
    if a.row_stride == 1 {
        let mut rest = a.data;
        for into in into {
            match rest.first_chunk() {
                Some(from) if a.rows == W => *into = *from,
                _ => into.iter_mut().zip(&rest[..a.rows]).for_each(|(into, from)| *into = *from),
            }
            rest = rest.get(a.column_stride..).unwrap_or(&[]);
        }
        return;
    }
    let whole = [a.rows / SQUARE * SQUARE, a.columns / SQUARE * SQUARE];
    for i0 in (0..whole[0]).step_by(SQUARE) {
        for k0 in (0..whole[1]).step_by(SQUARE) {
            let from = &a.data[i0 * a.row_stride + k0..];
            // SAFETY: the caller has the instructions.
            unsafe { V::turn(&mut into[k0..], i0, from, a.row_stride) };
        }
    }
    for i in 0..a.rows {
        let from = if i < whole[0] { whole[1] } else { 0 };
        for (k, into) in into.iter_mut().enumerate().take(a.columns).skip(from) {
            into[i] = a.data[i * a.row_stride + k * a.column_stride];
        }
    }
}
