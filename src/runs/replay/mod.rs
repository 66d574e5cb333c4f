//! Which stretch of a run is replayed ([`Extent`]), and what a replay came to ([`Replay`]).
//!
//! Data only: steps are executed by the trainer, and whether a claim follows is left to the judge.

mod extent;
mod report;

use repro_receipt::source::codes;

pub use extent::{Choice, Extent};
pub use report::{
    Allowed, Batches, Divergence, PlantedFault, Replay, ReplayComparison, ReplayOutcome, Replays,
    StepReport, TensorReport, Tolerance, Trained,
};

codes! {
    NO_SLICE = "replay::no-slice", "the bundle has no such stretch to replay", "name one of the slices that the receipt lists";
    BAD_EXTENT = "replay::bad-extent", "a stretch of steps is not well formed", "write `FROM..TO`, at least three steps";
    BAD_SLICE = "replay::bad-slice", "a slice is not what its run says", "write the slice with the run's own config; `repro explain slices` says what it holds";
    BEYOND_VOCABULARY = "replay::beyond-vocabulary", "a token of a slice is not in the vocabulary of the model", "write the slice with the run's own tokenizer and config";
    OTHER_BATCHES = "replay::other-batches", "the batches of a slice are not those of its run", "write the batches that the data, the seed and the step give";
    OTHER_RUN = "replay::other-run", "a slice belongs to another run", "put the run's own slice into the bundle";
    NO_START = "replay::no-start", "there is nothing to start from", "keep the checkpoint, with the moments of the optimizer, that the slice starts from";
    MISSING_MOMENTS = "replay::missing-moments", "the checkpoint lacks the moments of the optimizer", "keep the moments, as `optimizer.m.NAME` and `optimizer.v.NAME`";
    OTHER_CHECKPOINT = "replay::other-checkpoint", "the checkpoint is not the one that the receipt describes", "put the run's own checkpoint into the bundle";
    TWO_ARITHMETICS = "replay::two-arithmetics", "receipt and config name different arithmetics", "correct the one that is wrong";
    TOO_LARGE = "replay::too-large", "a run is larger than is executed here", "replay it with the trainer that made it";
    NO_DATA = "replay::no-data", "the data that the run read is not at hand", "fetch it, and say with `--data` where the paths of the config begin";
    DIVERGED = "replay::diverged", "a step came out differently", "the run was not trained as it says: look at the first divergence";
    AGAINST_RECORDS = "replay::against-records", "a slice contradicts the records of its own run", "one of the two was changed after training";
    OTHER_MACHINE = "replay::other-machine", "this machine does not compute the arithmetic of the run", "replay on another machine";
    OTHER_DTYPE = "replay::other-dtype", "the run was not computed in float32", "a tolerance for its rounding is not known here";
    TOO_COARSE = "replay::too-coarse", "rounding hides what a replay should see", "log the slice earlier, or with more of what each step gives";
    UNTRAINED = "replay::untrained", "a tensor was not trained by the steps", "see why no gradient reaches it";
    NOTHING_LOGGED = "replay::nothing-logged", "nothing was logged that the steps could be held against", "log losses, and hash checkpoints";
    STOPPED = "replay::stopped", "the replay did not fit into its time", "give it more time with `--budget`";
}
