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
    NO_SLICE = "replay::no-slice", "the bundle has no such steps to replay", "name a slice that the receipt lists";
    BAD_EXTENT = "replay::bad-extent", "a range of steps is malformed", "write `FROM..TO`, with at least three steps, or a whole slice";
    BAD_SLICE = "replay::bad-slice", "a slice does not match its run", "write the slice with the run's own config; `repro explain slices` describes the format";
    BEYOND_VOCABULARY = "replay::beyond-vocabulary", "a token of a slice is outside the model's vocabulary", "write the slice with the run's own tokenizer and config";
    OTHER_BATCHES = "replay::other-batches", "the batches of a slice are not those of its run", "write the batches that follow from data, seed and step";
    OTHER_RUN = "replay::other-run", "a slice belongs to another run", "put the run's own slice into the bundle";
    NO_START = "replay::no-start", "there is no checkpoint to start from", "keep the checkpoint that the slice starts from, with its optimizer moments";
    MISSING_MOMENTS = "replay::missing-moments", "the checkpoint lacks the optimizer moments", "keep them, as `optimizer.m.NAME` and `optimizer.v.NAME`";
    OTHER_CHECKPOINT = "replay::other-checkpoint", "the checkpoint does not match the receipt", "put the run's own checkpoint into the bundle";
    TWO_ARITHMETICS = "replay::two-arithmetics", "receipt and config name different arithmetics", "correct the one that is wrong";
    TOO_LARGE = "replay::too-large", "the run is too large to be executed here", "replay it with the trainer that made it";
    NO_DATA = "replay::no-data", "the training data of the run is not available", "fetch it, and pass `--data` with the folder that the config's paths are relative to";
    DIVERGED = "replay::diverged", "a replayed step gave a different result", "the run was not trained as stated: look at the first divergence";
    UNKNOWN_SETTINGS = "replay::unknown-settings", "a config has settings that a replay would pass over", "leave out what the run did not use, and put what changes no step into a table `notes`; a run that used them cannot be replayed here";
    RECORDS_UNCLEAR = "replay::records-unclear", "records of a run agree with its slice in no reading that is known", "log the numbers of each step or their means since the record before; call other columns by another name";
    SIGNS = "replay::signs", "the optimizer takes signs, and rounding decides those of numbers near zero", "keep a slice of a run with another optimizer, or read how far the two came apart";
    COMPILED = "replay::compiled", "the optimizer was compiled, and the compiler decided which results are rounded to bfloat16", "keep a slice of a run whose optimizer is not compiled, or read how far the two came apart";
    NO_ROUTES = "replay::no-routes", "a slice does not say where its tokens were routed, so that a token that rounding sent elsewhere cannot be told from another computation", "log `routed` (`repro explain slices`)";
    TIED_ROUTES = "replay::tied-routes", "a router gives several experts the same score, and programs choose different ones of these", "keep a slice that starts after the first updates of the router";
    AGAINST_RECORDS = "replay::against-records", "a slice contradicts the records of its own run", "one of the two was changed after training";
    ENGINES_PART = "replay::engines-part", "two engines executed the same steps and came to different results", "report it: one of the two engines has an error, or reads the slice in another way; neither verdict counts alone";
    CANDLE_UNSUPPORTED = "candle::unsupported", "the second engine does not know what a slice states", "replay it with `--engine own`";
    CANDLE_FAILED = "candle::failed", "the second engine did not execute a slice to its end", "read the message; report it if the slice is correct";
    NO_CANDLE = "candle::not-built", "this program has no second engine", "build it with the feature `candle`";
    OTHER_MACHINE = "replay::other-machine", "this machine does not compute the run's arithmetic", "replay on another machine";
    OTHER_DTYPE = "replay::other-dtype", "the run was not computed in float32", "no tolerance for its rounding is known";
    TOO_COARSE = "replay::too-coarse", "rounding hides what a replay should detect", "log the slice earlier, or log more values per step";
    SAMPLED = "replay::sampled", "some micro-batches of each step were executed, and they match; that the logged gradients are those of all micro-batches was not shown", "replay whole steps, with more time or on a larger machine";
    NO_GRADIENTS = "replay::no-gradients", "a slice does not log what a sample of its micro-batches needs", "log `micro_loss`, `micro_grad_norm` and the gradients of each step (`repro explain slices`), or replay whole steps";
    UNTRAINED = "replay::untrained", "the steps did not train a tensor", "check why no gradient reaches it";
    NOTHING_LOGGED = "replay::nothing-logged", "nothing was logged to compare the steps with", "log losses, and hash checkpoints";
    TWICE = "replay::twice", "a log has a step twice", "keep the line that the step wrote";
    EVALUATION_DIFFERS = "replay::evaluation-differs", "an evaluation, made again on its own text, came to another loss or another number of bytes", "evaluate the weights of that checkpoint on the text that the evaluation names";
    EVALUATION_UNCLEAR = "replay::evaluation-unclear", "an evaluation, made again on its own text, is off by more than rounding explains", "evaluate with the precision of training, or without autocast";
    TRAINED_ON_TEXT = "replay::trained-on-evaluation", "training batches stand in the text of an evaluation", "train on other text than that of the evaluation";
    STOPPED = "replay::stopped", "the replay ran out of time", "give it more with `--budget`";
}
