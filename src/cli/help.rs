//! What stands under the options of commands that need more words than their options have.

/// Under the options of `repro import`.
pub const IMPORT: &str = "\
Each run becomes a bundle `DIR/<group>-<file>` that `repro verify` accepts. Numbers of a log are kept as
printed in `data/printed/`; a log is in its bundle by its digest, and whole with --keep-source. A bundle
that is already there is refused, and where one log is refused nothing is written.

Copies (equal bytes, equal metric lines, equal seeds), runs that stop early, end without a validation or
diverge are named and do not count in the figures of their group. With --target a group is tested by a
one-sided t test: p is the chance of a mean this far below the target if the true mean were at it.

mlperf: the score is the mean time from run_start to run_stop without the fastest and the slowest run
(four of each for unet3d), in minutes, times the factor of the `scaling.json` beside the logs. Runs that
did not converge count as the slowest. With --rcp the samples to convergence are held against the reference:
at least m - t(0.95; n + N - 2) s sqrt(1/n + 1/N) on average, where m is the reference's olympic mean, n the
runs behind it, s the standard deviation of all its runs (divisor n - 1), and N the runs of the submission
behind its own mean. Points that converge more slowly than the line between their neighbours are dropped, as
are those of smaller batches than the fastest; between two batch sizes m and s are interpolated, above the
largest nothing is decided. The rules' own checker divides by n in s: where that decides otherwise, it is said.

Exit status: 0 where every log was read, 2 where one was refused or the usage was bad.";

/// Under the options of `repro replay`.
#[cfg(feature = "train")]
pub const REPLAY: &str = "\
The slice is executed again from the checkpoint that it starts from, or from the seed, and each step is held
against what the bundle logs. Runs in `portable-f32/1` are compared bit for bit, after the golden bits have come
out on this machine; others within a tolerance that is calibrated here. Each fault that could be planted is tried
on the slice, so that the report says what it would show. Where the data of the run are at hand, batches are drawn
again; `--full` and steps outside of slices need them.

Exit status: 0 where everything matches, 1 where something differs, 3 where this cannot be decided, 4 where the
device is not there, 2 where the bundle cannot be replayed or the usage was bad.";

/// Under the options of `repro calibrate`.
#[cfg(feature = "train")]
pub const CALIBRATE: &str = "\
The slice is executed from start weights moved by one unit in the last place, at least eight times, and in float64.
Eight times the largest spread is what `repro replay` allows. The numbers are the same on every machine.";

/// Under the options of `repro devices`.
#[cfg(feature = "train")]
pub const DEVICES: &str = "\
Every operation of training, forward and backward, and three short training runs are computed for fixed inputs with
each instruction set. Their bits are compared with digests that are part of the program. Bitwise replay is possible
only where all of them are equal.

Exit status: 0 where all bits are equal, 4 where some differ, 2 for bad usage.";

/// Under the options of `repro train`.
#[cfg(feature = "train")]
pub const TRAIN: &str = "\
Each run becomes a bundle `DIR/<run>` that `repro verify` accepts. Runs that tune the learning rate come
first; the others train at the rates that these choose. Stopped at any instant, also by SIGKILL, the same
command goes on where it was and ends with the same bytes, wall-clock times apart. Instructions, threads
and jobs change the speed and nothing else. Commit the study first: receipts name its commit.

With --format json standard output carries one event a line, `repro.train/1`.
Exit status: 0 where every run has its bundle, 4 where one stopped or could not begin, 2 where the study or
its data were refused or the usage was bad.";
