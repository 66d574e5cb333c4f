//! Which stretch of a run is replayed ([`Extent`]), and what a replay came to ([`Replay`]).
//!
//! Data only: steps are executed by the trainer, and whether a claim follows is left to the judge.

mod divergence;
mod engines;
mod extent;
mod report;

use repro_core::source::codes;

pub use divergence::{Divergence, ToleranceShare};
pub use engines::{EngineVerdict, EnginesParting, EnginesReport, ReplayEngine};
pub use extent::{Choice, Extent, MicroBatchSample};
pub use report::{
    Allowed, Batches, ChosenBy, PlantedFault, RecordsReport, RepeatedEvaluation, Replay,
    ReplayComparison, ReplayOutcome, Replays, SampledMicroBatches, StepReport, TensorReport,
    Tolerance, Trained,
};

codes! {
    NO_SLICE = "replay::no-slice", "the bundle has no such steps to replay", "pass a slice that the receipt lists";
    BAD_EXTENT = "replay::bad-extent", "a step range is malformed", "write `FROM..TO`, with at least three steps, or a whole slice";
    BAD_SLICE = "replay::bad-slice", "a slice does not match its run", "write the slice with the run's own config; `repro explain slices` describes the format";
    BEYOND_VOCABULARY = "replay::beyond-vocabulary", "a token of a slice is outside the model's vocabulary", "write the slice with the run's own tokenizer and config";
    OTHER_BATCHES = "replay::other-batches", "the batches of a slice do not match its run", "write the batches that follow from data, seed and step";
    OTHER_RUN = "replay::other-run", "a slice belongs to a different run", "put the run's own slice into the bundle";
    NO_START = "replay::no-start", "the checkpoint to start from is missing", "keep the checkpoint that the slice starts from, with its optimizer moments";
    MISSING_MOMENTS = "replay::missing-moments", "the checkpoint has no optimizer moments", "save them as `optimizer.m.NAME` and `optimizer.v.NAME`";
    OTHER_CHECKPOINT = "replay::other-checkpoint", "the checkpoint does not match the receipt", "put the run's own checkpoint into the bundle";
    TWO_ARITHMETICS = "replay::two-arithmetics", "receipt and config state different arithmetics", "correct the wrong one";
    TOO_LARGE = "replay::too-large", "the run is too large to execute here", "replay it with the trainer that made it";
    NO_DATA = "replay::no-data", "the training data of the run is not available", "fetch it, and pass `--data` with the folder that the config's paths are relative to";
    DIVERGED = "replay::diverged", "a replayed step gave a different result", "look at the first divergence: the run was not trained as stated";
    UNKNOWN_SETTINGS = "replay::unknown-settings", "a config has settings that a replay would ignore", "remove settings that the run did not use, and move those without effect on steps into a table `notes`; a run that used them cannot be replayed here";
    RECORDS_UNCLEAR = "replay::records-unclear", "a run's records do not match its slice in any known reading", "log the values of each step, or their means since the previous record; rename columns with a different meaning";
    SIGNS = "replay::signs", "the optimizer updates by signs, and rounding decides the signs of numbers near zero", "record a slice of a run with a different optimizer, or read how far the two diverged";
    COMPILED = "replay::compiled", "the optimizer was compiled, and the compiler decided which results are rounded to bfloat16", "record a slice of a run whose optimizer is not compiled, or read how far the two diverged";
    NO_ROUTES = "replay::no-routes", "a slice does not record how its tokens were routed, so a token that rounding routed differently looks like a different computation", "log `routed` (`repro explain slices`)";
    TIED_ROUTES = "replay::tied-routes", "a router gives several experts the same score, and programs break the tie differently", "record a slice that starts after the first updates of the router";
    AGAINST_RECORDS = "replay::against-records", "a slice contradicts the records of its own run", "find out which of the two was changed after training";
    ENGINES_PART = "replay::engines-part", "two engines executed the same steps with different results", "report it: one of the engines has a bug, or they interpret the slice differently; neither verdict counts alone";
    CANDLE_UNSUPPORTED = "candle::unsupported", "the second engine does not support a setting of the slice", "replay it with `--engine own`";
    CANDLE_FAILED = "candle::failed", "the second engine did not execute a slice to its end", "read the message; report it if the slice is correct";
    NO_CANDLE = "candle::not-built", "this program has no second engine", "build it with the feature `candle`";
    OTHER_MACHINE = "replay::other-machine", "this machine does not reproduce the run's arithmetic", "replay on another machine";
    OTHER_DTYPE = "replay::other-dtype", "the run was not computed in float32", "train in float32: no tolerance is known for other dtypes";
    TOO_COARSE = "replay::too-coarse", "rounding hides errors that a replay should detect", "record the slice earlier, or log more values per step";
    SAMPLED = "replay::sampled", "some micro-batches of each step were executed and match; whether the logged gradients come from all micro-batches was not checked", "replay whole steps, with more time or on a larger machine";
    NO_GRADIENTS = "replay::no-gradients", "a slice lacks values that replaying a sample of micro-batches needs", "log `micro_loss`, `micro_grad_norm` and the gradients of each step (`repro explain slices`), or replay whole steps";
    UNTRAINED = "replay::untrained", "a tensor was not trained by the steps", "check why no gradient reaches it";
    NOTHING_LOGGED = "replay::nothing-logged", "nothing was logged to compare the steps with", "log losses and checkpoint digests";
    TWICE = "replay::twice", "a log contains a step twice", "keep the line that the step wrote, and remove the other";
    EVALUATION_DIFFERS = "replay::evaluation-differs", "repeating an evaluation on its own text gives a different loss or byte count", "evaluate the weights of that checkpoint on the text that the evaluation states";
    EVALUATION_UNCLEAR = "replay::evaluation-unclear", "repeating an evaluation on its own text gives a difference larger than rounding explains", "evaluate with the training precision, or without autocast";
    TRAINED_ON_TEXT = "replay::trained-on-evaluation", "training batches contain text of an evaluation", "remove the evaluation text from the training data";
    STOPPED = "replay::stopped", "the replay ran out of time", "allow more time with `--budget`";
}
