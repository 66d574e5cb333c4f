//! What stands under the options of these commands.

/// Under the options of `repro replay`.
pub const REPLAY: &str = "\
The slice is executed again from its starting checkpoint, or from the seed, and each step is compared with
what the bundle logs. Runs in `portable-f32/1` are compared bit for bit, once this machine has reproduced
the golden bits; others within a tolerance that is calibrated here. A set of faults is planted in the slice,
so that the report says which of them it would detect. If the training data is available, batches are drawn
again; `--full` and steps outside of slices need it. Of a slice that logs its gradients `--micro-batches 8:1` executes 8
micro-batches of each step, drawn with the seed 1; such a replay refutes, and never verifies.

`--engine both` executes the slice a second time with candle, which shares no code with the trainer. Both have to confirm
the log, and each other within the tolerance; a verdict that one of them alone has is inconclusive. With `--engine candle` a
`--device` is one of candle's.

`--calibrate` executes the slice from starting weights perturbed by one unit in the last place, at least eight times, and in
float64. A replay allows eight or nine times the largest spread. The numbers are the same on every machine.

With `--against` two runs with one config have committed themselves to equal states, on whatever machines they were trained.
Where they do not, the first state in which they differ is found by halving their chains. The steps up to it are executed again
for both, from the nearest kept checkpoint or from the seed, and compared with what each says on the way: the committed states,
records, slices, and the tensors of a checkpoint that is kept there. One of the two follows, or none.

Exit status: 0 if everything matches, 1 if something differs, 3 if this cannot be decided, 4 if the device
is missing, 2 if the bundle cannot be replayed or the usage was bad. With `--against`: 0 if all states are equal, 1 if they are not
and it was found who follows, 3 if that stays open. With `--calibrate` 0 or 2.";

/// Under the options of `repro devices`.
pub const DEVICES: &str = "\
Every operation of training, forward and backward, and three short training runs are computed for fixed inputs with
each instruction set of the processor, and by the kernels of each device of CUDA and OpenCL. Their bits are compared with
digests that are part of the program. Bitwise replay is possible only where all of them are equal.

Exit status: 0 where all bits of the processor are equal, or with --device those of that device; 4 where some differ or the
device cannot be used; 2 for bad usage.";

/// Under the options of `repro train`.
pub const TRAIN: &str = "\
Each run becomes a bundle `DIR/<run>` that `repro verify` accepts. Runs that tune the learning rate come
first; the others train at the rates that these select. After any interruption, even SIGKILL, the same
command resumes and ends with the same bytes, except for wall-clock times. Instructions, threads and jobs
change only the speed. Commit the study first: receipts name its commit.

With --format json standard output has one event per line, `repro.train/1`.
Exit status: 0 if every run has its bundle, 4 if one stopped or could not start, 2 if the study or its data
were refused or the usage was bad.";
