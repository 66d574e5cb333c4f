//! The steps of a run that are replayed ([`Extent`]), and the result of a replay ([`Replay`]).
//!
//! Data only: the trainer executes steps, and the judge decides on claims.

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
    NO_SLICE = "replay::no-such-steps", "the requested steps cannot be replayed from this bundle", "choose a slice from the receipt, or steps within one";
    BAD_EXTENT = "replay::bad-step-range", "a step range is malformed", "write `FROM..TO` with at least three steps, or the range of a whole slice";
    BAD_SLICE = "replay::bad-slice", "a slice does not match its run", "write the slice with the run's own config; `repro explain slices` describes the format";
    BEYOND_VOCABULARY = "replay::beyond-vocabulary", "a slice has a token id outside the model's vocabulary", "write the slice with the run's own tokenizer and config";
    OTHER_BATCHES = "replay::batch-mismatch", "the batches of a slice do not match its run", "write the batches that follow from data, seed and step";
    OTHER_RUN = "replay::run-mismatch", "a slice belongs to a different run", "put the run's own slice into the bundle";
    NO_START = "replay::no-start-checkpoint", "there is no checkpoint to start from", "keep the checkpoint at the start of the slice, with its optimizer moments";
    MISSING_MOMENTS = "replay::missing-moments", "the checkpoint lacks the optimizer moments", "save them as `optimizer.m.NAME` and `optimizer.v.NAME`";
    OTHER_CHECKPOINT = "replay::checkpoint-mismatch", "the checkpoint does not match the receipt", "put the run's own checkpoint into the bundle";
    TWO_ARITHMETICS = "replay::arithmetic-mismatch", "receipt and config have different arithmetics", "correct the wrong one";
    TOO_LARGE = "replay::too-large", "the run is too large to execute here", "replay it with the trainer that made it";
    NO_DATA = "replay::no-data", "the training data of the run is not available", "fetch the data, and pass its folder with `--data`; paths in the config are relative to it";
    DIVERGED = "replay::diverged", "a replayed step gave a different result", "compare the first divergence with the training code: the run was not trained as stated";
    UNKNOWN_SETTINGS = "replay::unknown-settings", "the config has settings that a replay would ignore", "remove settings that the run did not use, and move those that change no step into a table `notes`; a run that used them cannot be replayed here";
    RECORDS_UNCLEAR = "replay::unexplained-records", "training records match the slice under no known interpretation", "log the values of each step, or their means since the previous record; rename columns with other contents";
    SIGNS = "replay::sign-optimizer", "the optimizer applies the sign function, and rounding decides the sign of values near zero", "keep a slice of a run with a different optimizer, or read how far log and replay differ";
    COMPILED = "replay::compiled-optimizer", "the optimizer was compiled, and the compiler decided which results are rounded to bfloat16", "keep a slice of a run without a compiled optimizer, or read how far log and replay differ";
    NO_ROUTES = "replay::no-routing", "a slice lacks the routing of its tokens, so a token rerouted by rounding cannot be distinguished from a different computation", "log `routed` (`repro explain slices`)";
    TIED_ROUTES = "replay::routing-ties", "a router gives several experts the same score, and programs break the tie differently", "keep a slice that starts after the first updates of the router";
    AGAINST_RECORDS = "replay::record-mismatch", "a slice contradicts the training records of its own run", "restore the original log and slice: one of them was changed after training";
    ENGINES_PART = "replay::engine-mismatch", "two engines executed the same steps and got different results", "report it: one engine has a bug or interprets the slice differently, so neither verdict counts";
    CANDLE_UNSUPPORTED = "candle::unsupported", "the second engine does not support this slice", "replay it with `--engine own`";
    CANDLE_FAILED = "candle::failed", "the second engine failed while executing a slice", "read the message, and report it if the slice is correct";
    NO_CANDLE = "candle::not-built", "this program was built without the second engine", "build it with the feature `candle`";
    OTHER_MACHINE = "replay::unsupported-machine", "this machine does not support the run's arithmetic", "replay it on a different machine";
    OTHER_DTYPE = "replay::unsupported-dtype", "the run was not computed in float32, so there is no known tolerance for its rounding", "replay a run that was computed in float32";
    TOO_COARSE = "replay::too-coarse", "rounding hides errors that a replay should detect", "record the slice earlier in training, or log more values per step";
    SAMPLED = "replay::micro-batch-sample", "only some micro-batches of each step were executed, and they match; whether the logged gradients cover all micro-batches is not checked", "replay whole steps, with more time or on a larger machine";
    NO_GRADIENTS = "replay::no-gradients", "a slice lacks the values needed to replay a sample of its micro-batches", "log `micro_loss`, `micro_grad_norm` and the gradients of each step (`repro explain slices`), or replay whole steps";
    UNTRAINED = "replay::untrained-tensor", "a tensor was not trained in these steps", "check why no gradient reaches it";
    NOTHING_LOGGED = "replay::no-logged-values", "the log has nothing to compare the steps with", "log losses and the digests of checkpoints";
    TWICE = "replay::duplicate-step", "a log contains a step twice", "keep the line that the step wrote";
    EVALUATION_DIFFERS = "replay::evaluation-mismatch", "repeating an evaluation on its own text gave a different loss or byte count", "evaluate the weights of that checkpoint on the text that the evaluation refers to";
    EVALUATION_UNCLEAR = "replay::evaluation-deviation", "repeating an evaluation on its own text gave a loss that rounding does not explain", "evaluate with the precision of training, or without autocast";
    TRAINED_ON_TEXT = "replay::trained-on-evaluation", "training batches contain text from an evaluation", "train on text that is not in the evaluation";
    STOPPED = "replay::out-of-time", "the replay ran out of time", "allow more time with `--budget`";
}
