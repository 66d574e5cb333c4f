//! The relations that hold in every bundle in which they can be asked, as data.

use repro_receipt::source::codes;

use super::Relation;
use super::rows::Over;

/// Formulas that relations call with one argument, `it`.
pub const FORMULAS: &[(&str, &str)] = &[
    // Warmup, hold, decay: `src/train/schedule.rs` and nmoe read the same fields so.
    (
        "wsd",
        "config.lr * min(1, (it + 1) / config.warmup_steps) * (1 - (1 - config.decay_floor) * \
         min(1, max(0, (it * receipt.contract.tokens_per_step - config.hold_tokens) / config.decay_tokens)))",
    ),
    (
        "cosine",
        "config.lr * min(1, (it + 1) / config.warmup_steps) * (1 - (1 - config.decay_floor) * 0.5 * \
         (1 - cos(pi * min(1, max(0, (it - config.warmup_steps) / (config.schedule_steps - config.warmup_steps))))))",
    ),
];

macro_rules! relations {
    ($($name:ident = $id:literal, $meaning:literal;
       $over:ident $(if $($when:literal)&&+)? => $says:literal, from $source:literal;)+) => {
        codes! { $($name = $id, $meaning, "correct the one that is wrong where it was written";)+ }

        /// Every relation.
        pub static RELATIONS: &[Relation] = &[$(Relation {
            code: &$name, over: Over::$over, when: &[$($($when),+)?], says: $says, source: $source,
        }),+];
    };
}

relations! {
    TOKENS_PER_STEP = "relation::tokens-per-step", "the tokens of a step are not the batch times the length of its sequences";
        Run => "receipt.contract.tokens_per_step = config.batch_size * config.seq_len", from "definition of a step";
    PLANNED_TOKENS = "relation::planned-tokens", "the contract has other tokens than the steps of the config take";
        Run => "abs(receipt.contract.tokens - config.steps * receipt.contract.tokens_per_step) < receipt.contract.tokens_per_step",
        from "definition of a step; the last one may be cut";
    SEED_INIT = "relation::seed-of-weights", "receipt and config name different seeds of the initial weights";
        Run => "receipt.seeds.init = config.seed_init", from "one fact, written twice";
    SEED_DATA = "relation::seed-of-data", "receipt and config name different seeds of the data";
        Run => "receipt.seeds.data = config.seed_data", from "one fact, written twice";
    DATA_DIGEST = "relation::data-digest", "receipt and config name different training data";
        Run => "receipt.data.sha256 = config.data.sha256", from "one fact, written twice";
    DATA_NAME = "relation::data-name", "receipt and config name the training data differently";
        Run => "receipt.data.name = config.data.name", from "one fact, written twice";
    TOKENIZER = "relation::tokenizer", "receipt and config name different tokenizers";
        Run => "receipt.data.tokenizer = config.data.tokenizer", from "one fact, written twice";
    VALIDATION_DIGEST = "relation::validation-digest", "a receipt names two validation texts";
        Run => "receipt.data.validation_sha256 = receipt.extra.data.validation.sha256", from "one fact, written twice";
    ARITHMETIC = "relation::arithmetic", "receipt and config name different arithmetics";
        Run => "receipt.trainer.arithmetic = config.arithmetic", from "one fact, written twice";
    DTYPE = "relation::dtype", "the portable arithmetic computes in float32, and the config says otherwise";
        Run if "receipt.trainer.arithmetic = 'portable-f32/1'" => "config.dtype = 'float32'", from "definition of `portable-f32/1`";
    PORTABLE_DEVICE = "relation::device", "the portable arithmetic runs on processors, and the receipt says otherwise";
        Run if "receipt.trainer.arithmetic = 'portable-f32/1'" => "receipt.environment.device = 'cpu'", from "definition of `portable-f32/1`";
    FAMILY = "relation::family", "receipt and config name different families of models";
        Run => "receipt.model.family = config.model_type", from "one fact, written twice";
    PEAK_RATE = "relation::peak-rate", "receipt and config name different learning rates";
        Run => "receipt.extra.lr = config.lr", from "one fact, written twice";
    EPOCHS = "relation::epochs", "the epochs are not the tokens by the different tokens of the data";
        Run if "receipt.run.finished = true" => "abs(receipt.data.epochs - receipt.contract.tokens / receipt.data.unique_tokens) <= 0.01",
        from "definition of an epoch, printed with two digits or more";
    MOST_EPOCHS = "relation::most-epochs", "a run passes over its data more often than its config allows";
        Run => "receipt.data.epochs <= config.max_epochs", from "the limit of the config";
    BYTE_TOKENS = "relation::byte-tokens", "a token of the byte tokenizer is a byte, and the receipt has others";
        Run if "receipt.data.tokenizer = 'bytes'" => "receipt.data.unique_tokens = receipt.data.unique_bytes", from "definition of the tokenizer";
    UNIQUE_TOKENS = "relation::unique-tokens", "a run has seen more different tokens than its data holds";
        Run => "receipt.data.unique_tokens <= receipt.extra.data.train.tokens", from "a part is no more than the whole";
    PLANNED_EVALUATIONS = "relation::planned-evaluations", "an evaluation that the config plans is missing";
        Run if "receipt.run.finished = true" => "missing(config.checkpoints, evaluations.step) = []", from "the plan of the config";
    OTHER_EVALUATIONS = "relation::other-evaluations", "there is an evaluation that the config does not plan";
        Run => "missing(evaluations.step, config.checkpoints) = []", from "the plan of the config";
    PLANNED_CHECKPOINTS = "relation::planned-checkpoints", "a checkpoint that the config plans is missing";
        Run if "receipt.run.finished = true" => "missing(config.checkpoints, checkpoints.step) = []", from "the plan of the config";
    OTHER_CHECKPOINTS = "relation::other-checkpoints", "there is a checkpoint that the config does not plan";
        Run => "missing(checkpoints.step, config.checkpoints) = []", from "the plan of the config";
    PLANNED_SLICES = "relation::planned-slices", "a slice that the config plans is missing";
        Run if "receipt.run.finished = true" => "missing(config.slices.from_step, slices.from_step) = []", from "the plan of the config";
    LAST_RECORD = "relation::last-record", "the log of a finished run ends before its last step";
        Run if "receipt.run.finished = true" => "max(records.step) + config.log_every > config.steps", from "the plan of the config";
    LAST_EVALUATION = "relation::last-checkpoint", "the last checkpoint is behind the last step";
        Run => "max(checkpoints.step) <= config.steps", from "the plan of the config";

    EVALUATION_LABEL = "relation::evaluation-label", "an evaluation is of another step than its file name says";
        Evaluation => "step = label", from "names of evaluation files";
    EVALUATION_TOKENS = "relation::evaluation-tokens", "the tokens seen are not the steps times the tokens of a step";
        Evaluation => "tokens_seen = step * receipt.contract.tokens_per_step", from "definition of a step";
    EVALUATION_STEP = "relation::evaluation-step", "the receipt lists an evaluation at another step";
        Evaluation => "step = checkpoint.step", from "one fact, written twice";
    EVALUATION_SEEN = "relation::evaluation-seen", "the receipt lists an evaluation after other tokens";
        Evaluation => "tokens_seen = checkpoint.tokens_seen", from "one fact, written twice";
    LOSS_OF_NATS = "relation::loss-of-nats", "the loss is not the nats by the predicted tokens";
        Evaluation => "loss = nats / predicted_tokens", from "definition of the loss";
    BPB_OF_NATS = "relation::bpb-of-nats", "the bits per byte are not the nats by ln 2 and the bytes";
        Evaluation => "bpb = nats / (ln(2) * bytes)", from "definition of bits per byte";
    BLOCKS_OF_NATS = "relation::blocks-of-nats", "the blocks do not sum to the nats";
        Evaluation => "sum(blocks) = nats", from "definition of blocks";
    BLOCKS_OF_BYTES = "relation::blocks-of-bytes", "the number of blocks is not that of the bytes";
        Evaluation => "count(blocks) = ceil(bytes / block_bytes)", from "definition of blocks";
    POSITIVE_NATS = "relation::positive-nats", "no text has negative nats";
        Evaluation => "blocks >= 0", from "a probability is at most 1";
    SAME_TEXT = "relation::same-text", "evaluations of one run are of texts of different lengths";
        Evaluation => "bytes = first.bytes", from "one validation text for a run";
    SAME_TOKENS = "relation::same-tokens", "evaluations of one run predict different numbers of tokens";
        Evaluation => "predicted_tokens = first.predicted_tokens", from "one validation text for a run";
    VALIDATION_BYTES = "relation::validation-bytes", "an evaluation is of another length than the validation text";
        Evaluation if "config.evaluation.split = 'validation'" => "bytes = receipt.extra.data.validation.bytes", from "one fact, written twice";
    ROUTED_LAYERS = "relation::routed-layers", "an evaluation has other layers with experts than the config";
        Evaluation => "count(router.layers.max_load) = config.num_hidden_layers - config.num_dense_layers", from "the model of the config";
    GREATEST_LOAD = "relation::greatest-load", "the greatest load of an expert is below the mean or above what one expert can get";
        Evaluation => "1 / config.num_experts <= router.layers.max_load <= 1 / config.num_experts_per_tok",
        from "a token goes to an expert once";
    LOAD_SPREAD = "relation::load-spread", "the greatest load of an expert and the spread of the loads cannot be of one layer";
        Evaluation => "router.layers.cv / (config.num_experts - 1) ^ 0.5 <= config.num_experts * router.layers.max_load - 1",
        from "Samuelson's inequality: of n numbers the greatest is above the mean by sd / sqrt(n - 1) at least";
    LOAD_REACH = "relation::load-reach", "the greatest load of an expert is further from the mean than the spread allows";
        Evaluation => "config.num_experts * router.layers.max_load - 1 <= router.layers.cv * (config.num_experts - 1) ^ 0.5",
        from "Samuelson's inequality: none is further from the mean than sd * sqrt(n - 1)";
    ROUTER_ENTROPY = "relation::router-entropy", "the entropy of the loads is not one of so many experts";
        Evaluation => "0 <= router.layers.entropy <= ln(config.num_experts)", from "the entropy of n shares is at most ln n";
    ENTROPY_OF_LOAD = "relation::entropy-of-load", "the entropy of the loads is too small for their greatest";
        Evaluation => "0 <= router.layers.entropy + ln(router.layers.max_load)", from "the entropy is at least -ln of the greatest share";
    DEAD_EXPERTS = "relation::dead-experts", "more experts get no token than there are without those of a token";
        Evaluation => "router.layers.dead <= config.num_experts - config.num_experts_per_tok", from "each token goes to so many experts";
    CENTERED_MEAN = "relation::centered-mean", "the centered accuracy of an evaluation is not the mean of its tasks";
        Evaluation => "tasks.centered = sum(table.centered) / count(table.centered)", from "definition of CORE";

    RECORD_TOKENS = "relation::record-tokens", "the tokens of a training record are not its step times the tokens of a step";
        Record => "tokens = step * receipt.contract.tokens_per_step", from "definition of a step";
    RECORD_ORDER = "relation::record-order", "a training record does not come after the one before it";
        Record => "step > previous.step", from "a log has each step once, in order";
    RECORD_GAP = "relation::record-gap", "training records between two others are missing";
        Record => "step <= previous.step + config.log_every", from "the plan of the config";
    RECORD_END = "relation::record-end", "a training record is behind the last step";
        Record => "step <= config.steps", from "the plan of the config";
    RECORD_RATE = "relation::record-rate", "the learning rate of a training record is not that of the schedule";
        Record if "config.schedule = 'wsd'" && "receipt.trainer.name = 'repro'" => "lr = wsd(step - 1)",
        from "warmup, hold and decay of the config";
    RECORD_RATE_COSINE = "relation::record-rate-cosine", "the learning rate of a training record is not that of the schedule";
        Record if "config.schedule = 'cosine'" && "receipt.trainer.name = 'repro'" => "lr = cosine(step - 1)",
        from "warmup and cosine of the config";
    RECORD_PEAK = "relation::record-peak", "the learning rate of a training record is above the greatest one";
        Record if "config.schedule_steps > 0" => "0 <= lr <= config.lr", from "the greatest rate of the config";
    RECORD_LOSS = "relation::record-loss", "no training loss is negative";
        Record if "config.vocab_size > 0" => "loss >= 0", from "a probability is at most 1";
    RECORD_NORM = "relation::record-norm", "no norm is negative";
        Record => "grad_norm >= 0", from "definition of a norm";
    RECORD_FINITE = "relation::record-finite", "a number of the log is not finite, and evaluations behind it are";
        Record if "receipt.trainer.name = 'repro'" && "max(evaluations.step) >= step" && "max(evaluations.loss) > 0" => "nonfinite = 0",
        from "weights that are not finite stay so";

    CHECKPOINT_LABEL = "relation::checkpoint-label", "a checkpoint is of another step than the names of its files say";
        Checkpoint => "step = label", from "names of files";
    CHECKPOINT_ORDER = "relation::checkpoint-order", "a checkpoint does not come after the one before it";
        Checkpoint => "step > previous.step", from "a receipt lists checkpoints in order";
    CHECKPOINT_TOKENS = "relation::checkpoint-tokens", "the tokens seen are not the steps times the tokens of a step";
        Checkpoint => "tokens_seen = step * receipt.contract.tokens_per_step", from "definition of a step";
    SLICE_LABEL = "relation::slice-label", "a slice begins at another step than its file name says";
        Slice => "from_step = label", from "names of files";
    SLICE_START = "relation::slice-start", "a slice begins before its checkpoint";
        Slice => "checkpoint_step <= from_step", from "definition of a slice";
    SLICE_END = "relation::slice-end", "a slice ends behind the last step";
        Slice => "from_step + steps <= config.steps", from "the plan of the config";

    ACCURACY = "relation::accuracy", "an accuracy is not the right answers by all";
        Task => "accuracy = correct / n", from "definition of accuracy";
    CENTERED = "relation::centered", "a centered accuracy is not what its accuracy and its baseline give";
        Task => "centered = (accuracy - baseline) / (1 - baseline)", from "definition of CORE";
    MORE_RIGHT = "relation::right-answers", "more answers are right than there are";
        Task => "correct <= n", from "a part is no more than the whole";
    OUTCOME_COUNT = "relation::outcome-count", "the outcomes are of another number of items than the table";
        Outcome => "n = task.n", from "one fact, written twice";
    OUTCOME_ONES = "relation::outcome-ones", "the outcomes have other right answers than the table";
        Outcome => "ones(bits) = task.correct", from "one fact, written twice";

    TIME_ORDER = "relation::time-order", "a time is of an earlier step than the one before it";
        Timing => "step >= previous.step", from "times are of steps, in order; a log may have several of one step";
    TIME_FORWARD = "relation::time-forward", "a time runs backwards";
        Timing => "seconds >= 0", from "time runs forward";
    TIME_SPEED = "relation::time-speed", "more tokens were read in a time than the steps since the one before it take";
        Timing if "receipt.trainer.name = 'repro'"
            => "seconds * tokens_per_second <= (step - previous.step) * receipt.contract.tokens_per_step",
        from "definition of throughput; a run that was resumed read fewer since";
}
