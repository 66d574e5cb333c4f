//! The bits of the trainer's arithmetic, held against digests that are committed: with every set of
//! instructions that the machine has, and with one to four threads. One small program of its own, because
//! `.ci/run` also runs it on emulated processors, where everything takes a hundred times as long.
//!
//! Two programs that print the same lines computed the same bits; a line that differs from `digests.txt`
//! is another arithmetic, which needs another name in receipts, never a new line here.

mod operations;
mod products;
mod training;

use std::fmt::Write;

use repro::digest::Hasher;
use repro::portable::Isa;
use repro::rng::Rng;

/// What is held against one line of `digests.txt`.
struct Case {
    name: &'static str,
    /// Everything that the case computes.
    run: fn(Isa, &mut Bits),
}

/// Collects numbers by their bits. A NaN has no payload that the formulas speak of.
struct Bits(Hasher);

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

fn cases() -> Vec<&'static Case> {
    products::CASES.iter().chain(operations::CASES).chain(training::CASES).collect()
}

/// The lines that `digests.txt` should hold, as computed with `isa` in the current pool.
fn lines(isa: Isa) -> String {
    let mut lines = String::new();
    for case in cases() {
        let mut bits = Bits(Hasher::default());
        (case.run)(isa, &mut bits);
        writeln!(lines, "{} {}", case.name, bits.0.finish()).expect("a string takes every line");
    }
    lines
}

#[test]
fn golden_bits() {
    let expected = include_str!("digests.txt");
    for isa in Isa::available() {
        for threads in 1..=4 {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let found = pool.install(|| lines(isa));
            let differing: Vec<_> = found
                .lines()
                .filter(|line| !expected.lines().any(|known| known == *line))
                .collect();
            assert!(
                found == expected,
                "with {} on {threads} threads these lines differ:\n{}",
                isa.name(),
                differing.join("\n")
            );
        }
    }
}
