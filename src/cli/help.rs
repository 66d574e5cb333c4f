//! What stands under the options of commands that need more words than their options have.

/// Under the options of `repro import`.
pub const IMPORT: &str = "\
Each run becomes a bundle `DIR/<group>-<file>` that `repro verify` accepts. Numbers of a log are kept as
printed in `data/printed/`. The bundle holds the log's digest, and with --keep-source the whole log. An
existing bundle is refused, and if one log is refused nothing is written.

Copies (equal bytes, equal metric lines, equal seeds), runs that stop early, end without a validation or
diverge are reported and do not count in the statistics of their group. With --target each group gets a
one-sided t test: p is the probability of a mean this far below the target if the true mean equaled it.

mlperf: the score is the mean time from run_start to run_stop without the fastest and the slowest run
(four of each for unet3d), in minutes, times the factor of the `scaling.json` next to the logs. Runs that
did not converge count as the slowest. With --rcp the samples to convergence are compared with the
reference: they must average at least m - t(0.95; n + N - 2) s sqrt(1/n + 1/N), where m is the reference's
olympic mean, n the runs behind it, s the standard deviation of all its runs (divisor n - 1), and N the runs
of the submission behind its own mean. Points that converge more slowly than the line between their neighbors
are dropped, as are those of smaller batches than the fastest. Between two batch sizes m and s are
interpolated; above the largest nothing is decided. The rules' own checker divides by n in s; the report says
where that changes the result.

Exit status: 0 if every log was read, 2 if one was refused or the usage was bad.";

/// Under the options of `repro replay`.
#[cfg(feature = "train")]
pub const REPLAY: &str = "\
The slice is executed again from its starting checkpoint, or from the seed, and each step is compared with
what the bundle logs. Runs in `portable-f32/1` are compared bit for bit, once this machine has reproduced
the golden bits; others within a tolerance that is calibrated here. A set of faults is planted in the slice,
so that the report says which of them it would detect. If the training data is available, batches are drawn
again; `--full` and steps outside of slices need it.

Exit status: 0 if everything matches, 1 if something differs, 3 if this cannot be decided, 4 if the device
is missing, 2 if the bundle cannot be replayed or the usage was bad.";

/// Under the options of `repro calibrate`.
#[cfg(feature = "train")]
pub const CALIBRATE: &str = "\
The slice is executed from starting weights perturbed by one unit in the last place, at least eight times,
and in float64. `repro replay` allows eight times the largest spread. The numbers are the same on every machine.";

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
first; the others train at the rates that these select. After any interruption, even SIGKILL, the same
command resumes and ends with the same bytes, except for wall-clock times. Instructions, threads and jobs
change only the speed. Commit the study first: receipts name its commit.

With --format json standard output has one event per line, `repro.train/1`.
Exit status: 0 if every run has its bundle, 4 if one stopped or could not start, 2 if the study or its data
were refused or the usage was bad.";
