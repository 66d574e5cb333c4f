//! The golden bits with every set of instructions that the machine has, and with one to four threads. One
//! small program of its own, because `.ci/run` also runs it on emulated processors, where everything takes
//! a hundred times as long.

mod twin;

use repro_portable::Isa;
use repro_train::golden::{DIGESTS, lines};

#[test]
fn golden_bits() {
    for isa in Isa::available() {
        for threads in 1..=4 {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let found = pool.install(|| lines(isa));
            let differing: Vec<_> =
                found.lines().filter(|line| !DIGESTS.lines().any(|known| known == *line)).collect();
            assert!(
                found == DIGESTS,
                "with {} on {threads} threads these lines differ:\n{}",
                isa.name(),
                differing.join("\n")
            );
        }
    }
}
