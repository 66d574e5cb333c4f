//! The golden bits: the results of `portable-f32/1` for fixed inputs, compared with committed
//! digests. Only a machine that reproduces them may call a bit wrong.
//!
//! A line that differs from `digests.txt` is another arithmetic, which needs another name in receipts,
//! never a new line there.

mod device;
mod formulas;
mod host;
mod operations;
mod products;
mod training;

use std::fmt::Write;

use crate::backend::Place;
use repro_core::digest::Hasher;
use repro_stats::rng::Rng;

pub use formulas::{Formulas, NormCase, ProductCase, RouterAnswer, RouterCase};
pub use training::{BALANCED, DENSE, MIXTURE, Rehearsal};

/// The digests, a line for each case.
pub const DIGESTS: &str = include_str!("digests.txt");

/// The bits that are compared with one line of [`DIGESTS`].
struct Case {
    name: &'static str,
    /// Everything that the case computes.
    run: fn(&dyn Formulas, &mut Bits),
}

/// Collects numbers by their bits. A NaN has no payload that the formulas speak of.
pub struct Bits(Hasher);

impl Bits {
    fn add(&mut self, values: &[f32]) {
        for value in values {
            let bits = if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
            self.0.update(&bits.to_le_bytes());
        }
    }

    /// Sums that are kept in float64.
    fn add_wide(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.0.update(&value.to_bits().to_le_bytes()));
    }
}

/// Numbers from -1 to 1, each a whole multiple of 2^-20.
fn numbers(name: &str, count: usize) -> Vec<f32> {
    let mut rng = Rng::new(1, name);
    (0..count).map(|_| rng.below(1 << 21) as f32 / (1 << 20) as f32 - 1.0).collect()
}

/// The lines as computed by these formulas, on a processor with the threads of the current pool.
pub fn lines(formulas: &dyn Formulas) -> String {
    let mut lines = String::new();
    for case in products::CASES.iter().chain(operations::CASES).chain(training::CASES) {
        let mut bits = Bits(Hasher::default());
        (case.run)(formulas, &mut bits);
        // A string takes every line.
        let _ = writeln!(lines, "{} {}", case.name, bits.0.finish());
    }
    lines
}

/// The formulas as a place computes them.
pub fn of(place: &Place) -> &dyn Formulas {
    match &place.device {
        None => &place.isa,
        Some(device) => device,
    }
}

/// The names of the cases whose bits come out differently there.
pub fn differing(formulas: &dyn Formulas) -> Vec<String> {
    let found = lines(formulas);
    let other =
        std::iter::zip(found.lines(), DIGESTS.lines()).filter(|(found, known)| found != known);
    other.map(|(found, _)| found.split(' ').next().unwrap_or_default().to_owned()).collect()
}
