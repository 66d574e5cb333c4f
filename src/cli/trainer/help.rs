//! Notes under the options of these commands.

/// Under the options of `repro replay`.
pub const REPLAY: &str = "\
Replays the slice from its starting checkpoint, or from the seed, and compares each step with the bundle's log. Runs in
`portable-f32/1` are compared bit for bit, once this machine has reproduced the golden bits (reference results); other
runs are compared within a tolerance that is calibrated on this machine. A set of faults is injected into the slice, so
that the report can list the faults that the replay would detect. If the training data is available, batches are re-drawn
from it; `--full` and steps outside slices require it. If a slice logs its gradients, `--micro-batches 8:1` replays 8
micro-batches of each step, drawn with seed 1; such a replay can refute a run, but never verify it.

`--engine both` also replays the slice with candle, which shares no code with the trainer. Both engines must confirm the
log and agree with each other within the tolerance; a verdict that only one of them supports is inconclusive. With
`--engine candle`, `--device` is a candle device.

`--calibrate` replays the slice at least eight times from starting weights perturbed by one unit in the last place, and in
float64. The tolerance of a replay is a multiple of the largest deviation: 9 times if results depend smoothly on the
weights, otherwise 5 to 16 times. The numbers are the same on every machine.

`--against` takes two runs of the same config, whose committed states should be equal on any machine. If they are not, it
finds the first differing state by bisecting the chains. It replays the steps up to that state for both runs, from the
nearest saved checkpoint or from the seed, and compares them with each run's records: the committed states, metrics,
slices, and the tensors of a checkpoint saved at that step. At most one of the two runs matches.

Exit status: 0 if everything matches, 1 if something differs, 3 if the replay is inconclusive, 4 if the device is missing,
2 for bad usage or if the bundle cannot be replayed. With `--against`: 0 if all states are equal, 1 if they differ and the
matching run was found, 3 if it was not. With `--calibrate`: 0 or 2.";

/// Under the options of `repro devices`.
pub const DEVICES: &str = "\
Runs every training operation, forward and backward, and three short training runs on fixed inputs, with each CPU
instruction set and with the kernels of each CUDA and OpenCL device. Compares the result bits with digests built into the
program. A device can replay bit for bit only if all of them match.

Exit status: 0 if all CPU results match, or with --device all results of that device; 4 if some differ or the device
cannot be used; 2 for bad usage.";

/// Under the options of `repro train`.
pub const TRAIN: &str = "\
Each run becomes a bundle `DIR/<run>` that `repro verify` accepts. Learning-rate tuning runs come first; the other runs
use the rates selected there. After any interruption, even SIGKILL, the same command resumes and produces the same bytes,
except for wall-clock times. Instruction set, threads and jobs affect only the speed. Commit the study first: receipts
record its commit.

With --format json, standard output has one event per line, in the `repro.train/1` schema.

Exit status: 0 if every run has its bundle, 4 if a run stopped or could not start, 2 for bad usage or if the study or its
data were rejected.";
