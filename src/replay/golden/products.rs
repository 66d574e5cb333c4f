//! Products: every remainder of tiles, several blocks of k, and numbers that underflow.

use super::formulas::{Formulas, ProductCase};
use super::{Bits, Case, numbers};

pub const CASES: &[Case] = &[
    Case { name: "product", run: plain },
    Case { name: "product-transposed", run: transposed },
    Case { name: "product-added", run: added },
    Case { name: "product-underflow", run: underflow },
    Case { name: "product-special", run: special },
];

/// Rows, columns and depth, so that tiles, vectors and blocks all have remainders somewhere.
const SHAPES: &[(usize, usize, usize)] =
    &[(1, 1, 1), (7, 33, 5), (8, 32, 256), (13, 17, 300), (25, 70, 31), (50, 9, 600)];

/// All shapes, with matrices as they are or as their transposes, and with something added or nothing.
fn shapes(formulas: &dyn Formulas, bits: &mut Bits, turned: bool, is_added: bool) {
    for (m, n, k) in SHAPES.iter().copied() {
        let (a, b, add) =
            (numbers("left", m * k), numbers("right", k * n), numbers("added", m * n));
        let add = is_added.then_some(&add[..]);
        let case = ProductCase { shape: [m, n, k], a: &a, b: &b, turned, add };
        bits.add(&formulas.product(case));
    }
}

fn plain(formulas: &dyn Formulas, bits: &mut Bits) {
    shapes(formulas, bits, false, false);
}

fn transposed(formulas: &dyn Formulas, bits: &mut Bits) {
    shapes(formulas, bits, true, false);
}

fn added(formulas: &dyn Formulas, bits: &mut Bits) {
    shapes(formulas, bits, false, true);
}

/// Products below the smallest number round to nought with the sign of the product, sums in between stay
/// below the smallest normal number.
fn underflow(formulas: &dyn Formulas, bits: &mut Bits) {
    for (k, left, right) in [
        (1, 1e-30, -1e-30),
        (256, 1e-30, -1e-30),
        (300, 1e-30, -1e-30),
        (3, -1e-22, 1e-22),
        (40, 1e-20, 3e-20),
    ] {
        let (a, b) = (vec![left; 37 * k], vec![right; k * 35]);
        let case = ProductCase { shape: [37, 35, k], a: &a, b: &b, turned: false, add: None };
        bits.add(&formulas.product(case));
    }
}

/// Infinities and NaNs stay so, and appear nowhere else.
fn special(formulas: &dyn Formulas, bits: &mut Bits) {
    let (m, n, k) = (9, 35, 300);
    let (mut a, b) = (numbers("left", m * k), numbers("right", k * n));
    a[k + 3] = f32::INFINITY;
    a[2 * k + 299] = f32::NAN;
    a[4 * k] = f32::MAX;
    a[4 * k + 1] = f32::MAX;
    let case = ProductCase { shape: [m, n, k], a: &a, b: &b, turned: false, add: None };
    bits.add(&formulas.product(case));
}
