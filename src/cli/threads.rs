//! How many threads a command uses.

/// More threads would only wait for each other.
const THREADS_CAP: usize = 256;

/// A number of threads or jobs.
pub fn parse(text: &str) -> Result<usize, String> {
    let known = text.parse().ok().filter(|threads| (1..=THREADS_CAP).contains(threads));
    known.ok_or_else(|| format!("must be a number from 1 to {THREADS_CAP}"))
}

/// Threads where the arguments name no number: one for each core of this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
