"""Receipts of training runs, written while they train: folders that `repro verify` reads; and that program in Python.

    import repro_receipts as receipts

    run = receipts.init(
        name="my-run-s1",                       # the folder is DIR/NAME
        dir="receipts",
        config={"hidden_size": 64, "lr": 4e-3},
        trainer={"name": "my-trainer", "version": "1", "arithmetic": "pytorch-f32"},
        seeds={"init": 1, "data": 1},
        resume=True,                            # a run that was killed goes on
    )
    for step in range(1, steps + 1):
        ...
        run.log({"loss": loss, "val/acc": accuracy}, step=step, tokens=seen)
    run.evaluation(steps, {"wer": 0.12})                                     # any numbers by name
    run.evaluation(steps, nats=sum_of_nats, predicted_tokens=count, bytes=text_bytes)
    run.task(steps, "gsm8k", correct=812, n=1319)
    run.checkpoint(steps, model.state_dict(), optimizer=moments)
    print(run.finish())                         # the digest of the bundle, to be pinned by a post

    receipts.verify("receipts/my-run-s1")       # in a notebook: the report as a page

What it holds to:

- `init` raises where its arguments cannot stand in a receipt, or where the folder holds a run already. Nothing
  raises after it: what cannot be written is said once on stderr and listed in the receipt under
  `extra.emitter_problems`. A folder that cannot be made is said too, and the run trains on without a receipt.
- A record is one line of RFC 8785 JSON, handed to the system before `log` returns and chained to the line
  before. Checkpoints make all that was written durable.
- A run that was killed leaves a folder without `bagit.txt`, which `repro verify` calls unfinished, and which
  `init(..., resume=True)` goes on with: records that are told again are not written twice, and what comes out otherwise
  the second time leaves the first below `data/abandoned`. `finish` writes that file last of all, after it has read back
  every file and found what was written. Two processes cannot write one run.
- What is told after `finish` is said on stderr and not written. A metric that is called as a member that records have of
  their own, such as `step`, is kept as `metric/step`, which is said too.
- Only rank 0 writes: `rank`, or else RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK. On other ranks all calls do
  nothing; what a scheduler's ranks or forked processes tell in vain is said once. Gather what is sharded on every rank before the call.
- A number that is not finite is left out, and the record says `"nonfinite": "nan"` (`"inf"`, `"-inf"`) and which it was.
  An integer that JSON readers would round, beyond 2^53, becomes a string.

Tensors may be of PyTorch or NumPy (anything with `shape`, `dtype` and `tobytes`), or `(dtype, shape, bytes)` with
the least significant byte first. F32 and U32 are written; F16 and BF16 are widened to F32, other integers become
U32 where they fit.

Beside this: `repro_receipts.wandb` and `repro_receipts.trackio` in the place of these trackers,
`repro_receipts.transformers` and `repro_receipts.lightning` for their trainers, `repro_receipts.torch` for slices that
`repro replay` can execute again. Nothing but the standard library is needed; each of these needs what it is for.
"""
from ._init import init
from ._json import Unwritable, canonical
from ._lock import Busy
from ._program import ProgramError, ProgramMissing, Report, check, program, verify
from ._run import Run

__version__ = "0.1.0"
__all__ = ["Busy", "ProgramError", "ProgramMissing", "Report", "Run", "Unwritable", "canonical", "check", "init",
           "program", "verify"]
