"""Receipts of training runs, written while they train, for `repro verify`; and the program `repro` called from Python.

    import repro_receipts as receipts

    run = receipts.init(
        name="my-run-s1",                       # the folder is DIR/NAME
        dir="receipts",
        config={"hidden_size": 64, "lr": 4e-3},
        trainer={"name": "my-trainer", "version": "1", "arithmetic": "pytorch-f32"},
        seeds={"init": 1, "data": 1},
        resume=True,                            # resumes a killed run
    )
    for step in range(1, steps + 1):
        ...
        run.log({"loss": loss, "val/acc": accuracy}, step=step, tokens=seen)
    run.evaluation(steps, {"wer": 0.12})                                     # any numbers by name
    run.evaluation(steps, nats=sum_of_nats, predicted_tokens=count, bytes=text_bytes)
    run.task(steps, "gsm8k", correct=812, n=1319)
    run.checkpoint(steps, model.state_dict(), optimizer=moments)
    print(run.finish())                         # the digest of the bundle, which a post pins

    receipts.verify("receipts/my-run-s1")       # in a notebook: the report as a page

Guarantees:

- `init` raises if its arguments are invalid in a receipt, or if the folder already contains a run. No later call raises:
  it prints each problem once on stderr and lists it in the receipt under `extra.emitter_problems`. If the folder cannot
  be created, `init` prints that too, and the run trains without a receipt.
- A record is one line of RFC 8785 JSON, passed to the system before `log` returns and chained to the previous
  line. Checkpoints make everything written so far durable.
- A killed run leaves a folder without `bagit.txt`, which `repro verify` reports as unfinished and
  `init(..., resume=True)` resumes: records that are logged again are not written twice, and if the second attempt gives
  different results, the first ones move to `data/abandoned`. `finish` writes `bagit.txt` last, after it has read every
  file back and compared it with what was written. Two processes cannot write the same run.
- Calls after `finish` print a message on stderr and write nothing. A metric with the name of a record's own member, such
  as `step`, is kept as `metric/step`, with a message.
- Only rank 0 writes: `rank`, or else RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK. On other ranks all calls do
  nothing; a scheduler's ranks and forked processes print once that their calls are lost. Gather sharded values on every rank before the call.
- Numbers that are not finite are left out, and the record states `"nonfinite": "nan"` (`"inf"`, `"-inf"`) and their names.
  Integers beyond 2^53, which JSON readers would round, become strings.

Tensors may come from PyTorch or NumPy (anything with `shape`, `dtype` and `tobytes`), or be `(dtype, shape, bytes)`,
little-endian. F32 and U32 are written as they are; F16 and BF16 are widened to F32, other integers become
U32 if they fit.

Further modules: `repro_receipts.wandb` and `repro_receipts.trackio` replace these trackers,
`repro_receipts.transformers` and `repro_receipts.lightning` work with their trainers, `repro_receipts.torch` records
slices that `repro replay` can execute again. The package needs only the standard library; each of these modules also
needs its library.
"""
from ._init import init
from ._json import Unwritable, canonical
from ._lock import Busy
from ._program import ProgramError, ProgramMissing, Report, check, program, verify
from ._run import Run

__version__ = "0.1.0"
__all__ = ["Busy", "ProgramError", "ProgramMissing", "Report", "Run", "Unwritable", "canonical", "check", "init",
           "program", "verify"]
