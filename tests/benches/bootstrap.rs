//! Times BCa intervals in one process for `scripts/bench.py bootstrap`: the first line of standard input
//! holds the values, every later one a number of calls, answered by the seconds that they took.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use repro_stats::bootstrap::{BootstrapInterval, Resampled};

const RESAMPLES: usize = 10_000;

fn bca(values: &[f64], seed: u64) -> BootstrapInterval {
    let resampled = Resampled::of(values, RESAMPLES, seed).expect("values that vary");
    resampled.bca(0.95).expect("values that are not degenerate")
}

fn main() {
    // `cargo test --benches` runs this without an input: then there is nothing to time.
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let values: Vec<f64> =
        first.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let mut out = std::io::stdout().lock();
    for line in lines {
        let calls: u64 = line.trim().parse().expect("a number of calls");
        let start = Instant::now();
        let mut last = BootstrapInterval { low: 0.0, high: 0.0 };
        for seed in 0..calls {
            last = black_box(bca(black_box(&values), black_box(seed)));
        }
        let seconds = start.elapsed().as_secs_f64();
        writeln!(out, "{seconds} {} {}", last.low, last.high).expect("a reader");
        out.flush().expect("a reader");
    }
}
