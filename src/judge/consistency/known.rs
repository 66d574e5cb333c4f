//! The relations that hold in every bundle in which they can be asked, as data.

use repro_receipt::source::codes;

use super::BundleRelation;
use super::rows::Over;
use repro_relation::{Relation, Weight};

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
       $over:ident $(of $whose:ident)? $(if $($when:literal)&&+)? => $says:literal, from $source:literal;)+) => {
        codes! { $($name = $id, $meaning, "correct the one that is wrong where it was written";)+ }

        /// Every relation.
        pub const RELATIONS: &[BundleRelation] = &[$(Relation {
            code: &$name, over: Over::$over, when: &[$($whose!(),)? $($($when),+)?], says: $says, source: $source,
            perhaps: &[], weight: Weight::Contradiction,
        }),+];
    };
}

/// Runs in our arithmetic, which is that of our trainer: names in a config mean there what they mean to us, and each step
/// is recorded as it was. Others log means, count tokens in their own way, and call their fields as they like.
macro_rules! ours {
    () => {
        "receipt.trainer.arithmetic = 'portable-f32/1'"
    };
}

relations! {
    TOKENS_PER_STEP = "relation::tokens-per-step", "the tokens of a step are not the batch times the length of its sequences";
        Run of ours => "receipt.contract.tokens_per_step = config.batch_size * config.seq_len", from "definition of a step";
    PLANNED_TOKENS = "relation::planned-tokens", "the contract has other tokens than the steps of the config take";
        Run of ours => "abs(receipt.contract.tokens - config.steps * receipt.contract.tokens_per_step) < receipt.contract.tokens_per_step",
        from "definition of a step; the last one may be cut";
    SEED_INIT = "relation::seed-of-weights", "receipt and config name different seeds of the initial weights";
        Run of ours => "receipt.seeds.init = config.seed_init", from "one fact, written twice";
    SEED_DATA = "relation::seed-of-data", "receipt and config name different seeds of the data";
        Run of ours => "receipt.seeds.data = config.seed_data", from "one fact, written twice";
    DATA_DIGEST = "relation::data-digest", "receipt and config name different training data";
        Run of ours => "receipt.data.sha256 = config.data.sha256", from "one fact, written twice";
    DATA_NAME = "relation::data-name", "receipt and config name the training data differently";
        Run of ours => "receipt.data.name = config.data.name", from "one fact, written twice";
    TOKENIZER = "relation::tokenizer", "receipt and config name different tokenizers";
        Run of ours => "receipt.data.tokenizer = config.data.tokenizer", from "one fact, written twice";
    VALIDATION_DIGEST = "relation::validation-digest", "a receipt names two validation texts";
        Run of ours => "receipt.data.validation_sha256 = receipt.extra.data.validation.sha256", from "one fact, written twice";
    ARITHMETIC = "relation::arithmetic", "receipt and config name different arithmetics";
        Run of ours => "receipt.trainer.arithmetic = config.arithmetic", from "one fact, written twice";
    DTYPE = "relation::dtype", "the portable arithmetic computes in float32, and the config says otherwise";
        Run of ours => "config.dtype = 'float32'", from "definition of `portable-f32/1`";
    COMMITTED_ARITHMETIC = "relation::committed-arithmetic", "states are committed in `portable-f32/1`, and the receipt names no such arithmetic";
        Run if "given(receipt.states.root) = 1" => "given(receipt.trainer.arithmetic) = 1", from "`repro train`";
    WHOLE_CONFIG = "relation::whole-config", "the config lacks a setting of every run, or has it as another type";
        Run of ours => "numbers(config.batch_size, config.seq_len, config.steps, config.lr, config.warmup_steps, config.decay_floor, config.log_every, \
            config.vocab_size, config.hidden_size, config.num_hidden_layers, config.weight_decay, config.adam_beta1, config.adam_beta2, config.adam_eps, \
            config.grad_clip) + given(config.schedule, config.model_type, config.dtype, config.checkpoints) = 19", from "the settings of `repro train`";
    SETTING_SIGNS = "relation::setting-signs", "a setting is negative that cannot be";
        Run of ours => "min(config.lr, config.grad_clip, config.weight_decay, config.norm_eps, config.adam_beta1, config.adam_beta2, config.adam_eps) >= 0",
        from "definition of the settings";
    SETTING_SHARES = "relation::setting-shares", "a mean of the optimizer keeps all of itself, or more";
        Run of ours => "max(config.adam_beta1, config.adam_beta2) < 1", from "definition of AdamW";
    WHOLE_RECEIPT = "relation::whole-receipt", "the receipt lacks what every run states, or has it as another type";
        Run of ours => "numbers(receipt.contract.tokens, receipt.contract.tokens_per_step, receipt.model.params_total, receipt.model.params_active, \
            receipt.model.tensors, receipt.data.unique_tokens, receipt.data.epochs) + given(receipt.seeds.init, receipt.seeds.data, receipt.run.finished, \
            receipt.data.tokenizer, receipt.extra.plan_sha256) = 12", from "what `repro train` writes";
    WHOLE_LOG = "relation::whole-log", "the log of a finished run does not end with its last step";
        Run of ours if "receipt.run.finished = true" => "max(records.step) = config.steps", from "`repro train` records the last step";
    HAS_LOG = "relation::has-log", "a run has no log";
        Run of ours => "numbers(min(records.step)) = 1", from "`repro train` records the first step";
    FAMILY = "relation::family", "receipt and config name different families of models";
        Run of ours => "receipt.model.family = config.model_type", from "one fact, written twice";
    HORIZON_OF_ACTIVE = "relation::horizon-of-active", "the tokens are not so many for each active parameter as the contract says";
        Run of ours if "receipt.contract.horizon = 'active_dn'" && "receipt.extra.horizon_of = receipt.run.arm"
            => "abs(receipt.contract.tokens - receipt.contract.fraction * receipt.contract.coefficient * receipt.model.params_active) <= receipt.contract.tokens_per_step",
        from "definition of the horizon, in whole steps";
    HORIZON_OF_TOTAL = "relation::horizon-of-total", "the tokens are not so many for each parameter as the contract says";
        Run of ours if "receipt.contract.horizon = 'total_dn'" && "receipt.extra.horizon_of = receipt.run.arm"
            => "abs(receipt.contract.tokens - receipt.contract.fraction * receipt.contract.coefficient * receipt.model.params_total) <= receipt.contract.tokens_per_step",
        from "definition of the horizon, in whole steps";
    WHOLE_STEPS = "relation::whole-steps", "the contract has other tokens than the steps of the config take";
        Run of ours => "receipt.contract.tokens = config.steps * receipt.contract.tokens_per_step",
        from "the trainer makes whole steps";
    SCHEDULE_END = "relation::schedule-end", "hold and decay are not as long as the schedule";
        Run of ours if "config.schedule = 'wsd'"
            => "config.hold_tokens + config.decay_tokens = config.schedule_steps * receipt.contract.tokens_per_step", from "definition of the schedule";
    TRAIN_BYTES = "relation::train-bytes", "a token of the byte tokenizer is a byte, and the training text has others";
        Run of ours if "receipt.data.tokenizer = 'bytes'" => "receipt.extra.data.train.tokens = receipt.extra.data.train.bytes", from "definition of the tokenizer";
    VALIDATION_TOKENS = "relation::validation-tokens", "a token of the byte tokenizer is a byte, and the validation text has others";
        Run of ours if "receipt.data.tokenizer = 'bytes'" => "receipt.extra.data.validation.tokens = receipt.extra.data.validation.bytes", from "definition of the tokenizer";
    FINISHED = "relation::finished", "a run made all its steps, and is said not to be finished";
        Run of ours if "max(records.step) = config.steps" && "sum(records.nonfinite) = 0" => "receipt.run.finished = true", from "definition of a finished run";
    DIVERGED = "relation::diverged", "a run is said not to be finished, and all its numbers are finite";
        Run of ours if "receipt.run.finished = false" => "sum(records.nonfinite) >= 1", from "a run of ours ends early where it diverges";
    KEPT_CHECKPOINTS = "relation::kept-checkpoints", "a checkpoint that the config keeps is missing";
        Run of ours if "receipt.run.finished = true" => "missing(config.kept_checkpoints, weights.checkpoint.step) = []", from "the plan of the config";
    PEAK_RATE = "relation::peak-rate", "receipt and config name different learning rates";
        Run of ours => "receipt.extra.lr = config.lr", from "one fact, written twice";
    EPOCHS = "relation::epochs", "the epochs are not the tokens by the different tokens of the data";
        Run of ours if "receipt.run.finished = true" => "abs(receipt.data.epochs - receipt.contract.tokens / receipt.data.unique_tokens) <= 0.01",
        from "definition of an epoch, printed with two digits or more";
    MOST_EPOCHS = "relation::most-epochs", "a run passes over its data more often than its config allows";
        Run of ours => "receipt.data.epochs <= config.max_epochs", from "the limit of the config";
    DEVELOPMENT_TOKENS = "relation::development-tokens", "a token of the byte tokenizer is a byte, and the development text has others";
        Run of ours if "receipt.data.tokenizer = 'bytes'" => "receipt.extra.data.development.tokens = receipt.extra.data.development.bytes",
        from "definition of the tokenizer";
    BYTE_TOKENS = "relation::byte-tokens", "a token of the byte tokenizer is a byte, and the receipt has others";
        Run of ours if "receipt.data.tokenizer = 'bytes'" => "receipt.data.unique_tokens = receipt.data.unique_bytes", from "definition of the tokenizer";
    UNIQUE_TOKENS = "relation::unique-tokens", "a run has seen more different tokens than its data holds";
        Run of ours => "receipt.data.unique_tokens <= receipt.extra.data.train.tokens", from "a part is no more than the whole";
    SAME_DATA = "relation::same-data", "training and validation data have one digest and different lengths";
        Run of ours if "receipt.extra.data.train.sha256 = receipt.extra.data.validation.sha256"
            => "receipt.extra.data.train.bytes = receipt.extra.data.validation.bytes", from "one digest is of one text";
    SAME_DEVELOPMENT = "relation::same-development", "development and validation data have one digest and different lengths";
        Run of ours if "receipt.extra.data.development.sha256 = receipt.extra.data.validation.sha256"
            => "receipt.extra.data.development.bytes = receipt.extra.data.validation.bytes", from "one digest is of one text";
    THREADS = "relation::threads", "no run has no thread";
        Run of ours => "receipt.environment.threads >= 1", from "definition of a thread";
    PLANNED_EVALUATIONS = "relation::planned-evaluations", "an evaluation that the config plans is missing";
        Run of ours if "receipt.run.finished = true" => "missing(config.checkpoints, evaluations.step) = []", from "the plan of the config";
    OTHER_EVALUATIONS = "relation::other-evaluations", "there is an evaluation that the config does not plan";
        Run of ours => "missing(evaluations.step, config.checkpoints) = []", from "the plan of the config";
    PLANNED_CHECKPOINTS = "relation::planned-checkpoints", "a checkpoint that the config plans is missing";
        Run of ours if "receipt.run.finished = true" => "missing(config.checkpoints, checkpoints.step) = []", from "the plan of the config";
    OTHER_CHECKPOINTS = "relation::other-checkpoints", "there is a checkpoint that the config does not plan";
        Run of ours => "missing(checkpoints.step, config.checkpoints) = []", from "the plan of the config";
    PLANNED_SLICES = "relation::planned-slices", "a slice that the config plans is missing";
        Run of ours if "receipt.run.finished = true" => "missing(config.slices.from_step, slices.from_step) = []", from "the plan of the config";
    LAST_EVALUATION = "relation::last-checkpoint", "the last checkpoint is behind the last step";
        Run of ours => "max(checkpoints.step) <= config.steps", from "the plan of the config";

    EVALUATION_LABEL = "relation::evaluation-label", "an evaluation is of another step than its file name says";
        Evaluation => "step = label", from "names of evaluation files";
    WHOLE_EVALUATION = "relation::whole-evaluation", "an evaluation lacks what every one states, or has it as another type";
        Evaluation of ours if "absent(nonfinite) = 1" => "numbers(step, tokens_seen, loss, bpb, nats, bytes, predicted_tokens, block_bytes) + given(blocks) = 9", from "what `repro train` writes";
    EVALUATION_LISTED = "relation::evaluation-listed", "an evaluation is in no checkpoint of the receipt";
        Evaluation of ours => "numbers(checkpoint.step) = 1", from "the receipt lists all evaluations";
    EVALUATION_COMMITTED = "relation::evaluation-committed", "an evaluation does not say of which tensors it is";
        Evaluation of ours if "given(receipt.states.root) = 1" => "given(tensors_sha256) = 1", from "what `repro train` writes";
    EVALUATION_TOKENS = "relation::evaluation-tokens", "the tokens seen are not the steps times the tokens of a step";
        Evaluation of ours => "tokens_seen = step * receipt.contract.tokens_per_step", from "definition of a step";
    EVALUATION_STEP = "relation::evaluation-step", "the receipt lists an evaluation at another step";
        Evaluation => "step = checkpoint.step", from "one fact, written twice";
    EVALUATION_SEEN = "relation::evaluation-seen", "the receipt lists an evaluation after other tokens";
        Evaluation of ours => "tokens_seen = checkpoint.tokens_seen", from "one fact, written twice";
    LOSS_OF_NATS = "relation::loss-of-nats", "the loss is not the nats by the predicted tokens";
        Evaluation of ours => "loss = nats / predicted_tokens", from "definition of the loss";
    BPB_OF_NATS = "relation::bpb-of-nats", "the bits per byte are not the nats by ln 2 and the bytes";
        Evaluation of ours => "bpb = nats / (ln(2) * bytes)", from "definition of bits per byte";
    LOSS_NEAR_NATS = "relation::loss-near-nats", "the loss is far from the nats by the predicted tokens";
        Evaluation => "abs(loss - nats / predicted_tokens) <= 0.01 * abs(loss)", from "definition of the loss; others round it, or weigh texts";
    BPB_NEAR_NATS = "relation::bpb-near-nats", "the bits per byte are far from the nats by ln 2 and the bytes";
        Evaluation => "abs(bpb - nats / (ln(2) * bytes)) <= 0.01 * abs(bpb)", from "definition of bits per byte; others round them, or weigh texts";
    BLOCKS_OF_NATS = "relation::blocks-of-nats", "the blocks do not sum to the nats";
        Evaluation of ours => "sum(blocks) = nats", from "definition of blocks";
    BLOCKS_OF_BYTES = "relation::blocks-of-bytes", "the number of blocks is not that of the bytes";
        Evaluation of ours => "count(blocks) = ceil(bytes / block_bytes)", from "definition of blocks";
    POSITIVE_NATS = "relation::positive-nats", "no text has negative nats";
        Evaluation => "blocks >= 0", from "a probability is at most 1";
    SAME_TEXT = "relation::same-text", "evaluations of one run are of texts of different lengths";
        Evaluation of ours => "bytes = first.bytes", from "one validation text for a run";
    SAME_TOKENS = "relation::same-tokens", "evaluations of one run predict different numbers of tokens";
        Evaluation of ours => "predicted_tokens = first.predicted_tokens", from "one validation text for a run";
    VALIDATION_BYTES = "relation::validation-bytes", "an evaluation is of another length than the validation text";
        Evaluation of ours if "config.evaluation.split = 'validation'" => "bytes = receipt.extra.data.validation.bytes", from "one fact, written twice";
    ROUTED_LAYERS = "relation::routed-layers", "an evaluation has other layers with experts than the config";
        Evaluation of ours => "count(router.layers.max_load) = config.num_hidden_layers - config.num_dense_layers", from "the model of the config";
    ROUTERS_THERE = "relation::routers-there", "an evaluation of a model with experts does not say how they were used";
        Evaluation of ours if "config.num_experts > 1" && "absent(nonfinite) = 1" => "given(router.layers.max_load) = 1", from "what `repro train` writes";
    BLOCK_BYTES = "relation::block-bytes", "an evaluation has blocks of another length than the config";
        Evaluation of ours => "block_bytes = config.evaluation.block_bytes", from "one fact, written twice";
    DEVELOPMENT_BYTES = "relation::development-bytes", "an evaluation is of another length than the development text";
        Evaluation of ours if "config.evaluation.split = 'development'" => "bytes = receipt.extra.data.development.bytes", from "one fact, written twice";
    BYTES_PREDICTED = "relation::bytes-predicted", "each byte is predicted once by a model of bytes";
        Evaluation of ours if "receipt.data.tokenizer = 'bytes'" => "predicted_tokens = bytes",
        from "definition of the tokenizer";
    EVALUATED_TENSORS = "relation::evaluated-tensors", "an evaluation is of other tensors than the checkpoint beside it";
        Evaluation of ours => "tensors_sha256 = checkpoint.tensors_sha256", from "one fact, written twice";
    EVALUATION_FINITE = "relation::evaluation-finite", "an evaluation is said not to be finite, and has a loss";
        Evaluation if "nonfinite != ''" => "absent(loss) = 1", from "what is not finite is left out";
    TABLE_OF_TASKS = "relation::table-of-tasks", "an evaluation names the table of another one";
        Evaluation => "tasks.table = table", from "names of evaluation files";
    OUTCOMES_OF_TASKS = "relation::outcomes-of-tasks", "an evaluation names the outcomes of another one";
        Evaluation => "tasks.outcomes = outcomes", from "names of evaluation files";
    TASKS_THERE = "relation::tasks-there", "one evaluation of a run has tasks, and another has none";
        Evaluation of ours if "absent(nonfinite) = 1" => "given(tasks.table) = given(first.tasks.table)", from "one suite of tasks for a run";
    SAME_SHOTS = "relation::same-shots", "evaluations of one run draw their examples with different seeds";
        Evaluation of ours => "tasks.few_shot_seed = first.tasks.few_shot_seed", from "one suite of tasks for a run";
    SAME_SUITE = "relation::same-suite", "evaluations of one run ask different questions";
        Evaluation of ours => "tasks.suite_sha256 = first.tasks.suite_sha256", from "one suite of tasks for a run";
    CLOZE_SEED = "relation::cloze-seed", "the questions of an evaluation are drawn with another seed than the config has";
        Evaluation of ours => "tasks.few_shot_seed = config.tasks.cloze.seed", from "one fact, written twice";

    GREATEST_LOAD = "relation::greatest-load", "the greatest load of an expert is below the mean or above what one expert can get";
        Router of ours => "1 / config.num_experts <= max_load <= 1 / config.num_experts_per_tok",
        from "a token goes to an expert once";
    LOAD_SPREAD = "relation::load-spread", "the greatest load of an expert and the spread of the loads cannot be of one layer";
        Router of ours => "cv / (config.num_experts - 1) ^ 0.5 <= config.num_experts * max_load - 1",
        from "Samuelson's inequality: of n numbers the greatest is above the mean by sd / sqrt(n - 1) at least";
    LOAD_REACH = "relation::load-reach", "the greatest load of an expert is further from the mean than the spread allows";
        Router of ours => "config.num_experts * max_load - 1 <= cv * (config.num_experts - 1) ^ 0.5",
        from "Samuelson's inequality: none is further from the mean than sd * sqrt(n - 1)";
    ROUTER_ENTROPY = "relation::router-entropy", "the entropy of the loads is not one of so many experts";
        Router of ours => "0 <= entropy <= ln(config.num_experts)", from "the entropy of n shares is at most ln n";
    ENTROPY_OF_LOAD = "relation::entropy-of-load", "the entropy of the loads is too small for their greatest";
        Router of ours => "0 <= entropy + ln(max_load)", from "the entropy is at least -ln of the greatest share";
    ENTROPY_OF_SPREAD = "relation::entropy-of-spread", "the entropy of the loads is too small for their spread";
        Router of ours => "ln(config.num_experts / (1 + cv ^ 2)) <= entropy",
        from "Rényi entropies fall with their order: that of order 2 is ln(n / (1 + cv^2))";
    DEAD_EXPERTS = "relation::dead-experts", "more experts get no token than there are without those of a token";
        Router of ours => "dead <= config.num_experts - config.num_experts_per_tok", from "each token goes to so many experts";
    ENTROPY_OF_LIVING = "relation::entropy-of-living", "the entropy of the loads is too great for the experts that get tokens";
        Router of ours => "entropy <= ln(config.num_experts - dead)", from "the entropy of n shares is at most ln n";
    SPREAD_OF_LIVING = "relation::spread-of-living", "the loads are spread less than experts without tokens make them";
        Router of ours => "dead / (config.num_experts - dead) <= cv ^ 2",
        from "of so many zeros the spread is least where the others are equal";
    CENTERED_MEAN = "relation::centered-mean", "the centered accuracy of an evaluation is not the mean of its tasks";
        Evaluation => "tasks.centered = sum(table.centered) / count(table.centered)", from "definition of CORE";

    WHOLE_RECORD = "relation::whole-record", "a training record lacks what every one states, or has it as another type";
        Record of ours if "nonfinite = 0" => "numbers(step, tokens, loss, grad_norm, lr) = 5", from "what `repro train` writes";
    RECORD_TOKENS = "relation::record-tokens", "the tokens of a training record are not its step times the tokens of a step";
        Record of ours => "tokens = step * receipt.contract.tokens_per_step", from "definition of a step";
    RECORD_ORDER = "relation::record-order", "a training record does not come after the one before it";
        Record of ours => "step > previous.step", from "a log has each step once, in order";
    FIRST_RECORD = "relation::first-record", "the log does not begin with the first step";
        Run of ours => "min(records.step) = 1", from "the trainer records the first step";
    RECORD_GRID = "relation::record-grid", "a training record is of a step that is not recorded";
        Record of ours if "step > 1" && "step < config.steps" && "nonfinite = 0"
            => "step = config.log_every * floor(step / config.log_every)", from "the plan of the config";
    RECORD_ROUTERS = "relation::record-routers", "a training record has other layers with experts than the config";
        Record of ours if "nonfinite = 0" => "routers = config.num_hidden_layers - config.num_dense_layers", from "the model of the config";
    RECORD_GAP = "relation::record-gap", "training records between two others are missing";
        Record of ours => "step <= previous.step + config.log_every", from "the plan of the config";
    RECORD_END = "relation::record-end", "a training record is behind the last step";
        Record of ours => "step <= config.steps", from "the plan of the config";
    RECORD_RATE = "relation::record-rate", "the learning rate of a training record is not that of the schedule";
        Record of ours if "config.schedule = 'wsd'" => "lr = wsd(step - 1)",
        from "warmup, hold and decay of the config";
    RECORD_RATE_COSINE = "relation::record-rate-cosine", "the learning rate of a training record is not that of the schedule";
        Record of ours if "config.schedule = 'cosine'" => "lr = cosine(step - 1)",
        from "warmup and cosine of the config";
    RECORD_PEAK = "relation::record-peak", "the learning rate of a training record is above the greatest one";
        Record of ours if "config.schedule_steps > 0" => "0 <= lr <= config.lr", from "the greatest rate of the config";
    RECORD_LOSS = "relation::record-loss", "no training loss is negative";
        Record of ours if "config.vocab_size > 0" => "loss >= 0", from "a probability is at most 1";
    RECORD_NORM = "relation::record-norm", "no norm is negative";
        Record of ours => "grad_norm >= 0", from "definition of a norm";
    RECORD_BALANCE = "relation::record-balance", "no loss of the balance of experts is negative";
        Record of ours => "router.balance_loss >= 0", from "a mean of products of shares";
    RECORD_ROUTER_Z = "relation::record-router-z", "no loss of the logits of routers is negative";
        Record of ours => "router.z_loss >= 0", from "a mean of squares";
    RECORD_FINITE = "relation::record-finite", "a number of the log is not finite, and evaluations behind it are";
        Record of ours if "max(evaluations.step) >= step" && "max(evaluations.loss) > 0" => "nonfinite = 0",
        from "weights that are not finite stay so";

    CHECKPOINT_LABEL = "relation::checkpoint-label", "a checkpoint is of another step than the names of its files say";
        Checkpoint => "step = label", from "names of files";
    CHECKPOINT_ORDER = "relation::checkpoint-order", "a checkpoint does not come after the one before it";
        Checkpoint => "step > previous.step", from "a receipt lists checkpoints in order";
    CHECKPOINT_TOKENS = "relation::checkpoint-tokens", "the tokens seen are not the steps times the tokens of a step";
        Checkpoint of ours => "tokens_seen = step * receipt.contract.tokens_per_step", from "definition of a step";
    CHECKPOINT_FILES = "relation::checkpoint-files", "two checkpoints have the same file";
        Checkpoint of ours => "weights_sha256 != previous.weights_sha256", from "a checkpoint says of which step it is";
    SLICE_LABEL = "relation::slice-label", "a slice begins at another step than its file name says";
        Slice => "from_step = label", from "names of files";
    SLICE_START = "relation::slice-start", "a slice begins before its checkpoint";
        Slice => "checkpoint_step <= from_step", from "definition of a slice";
    SLICE_STEPS = "relation::slice-steps", "a slice has other steps than the config plans";
        Slice of ours => "steps = planned.steps", from "the plan of the config";
    SLICE_END = "relation::slice-end", "a slice ends behind the last step";
        Slice of ours => "from_step + steps <= config.steps", from "the plan of the config";
    SLICE_ORDER = "relation::slice-order", "a slice does not come after the one before it";
        Slice of ours => "from_step > previous.from_step", from "a receipt lists slices in order";
    SLICE_TIME = "relation::slice-time", "a slice took a negative time";
        Slice of ours => "seconds >= 0", from "time runs forward";

    WHOLE_SLICE = "relation::whole-slice", "a slice lacks what every one holds";
        SliceStep of ours => "numbers(loss, grad_norm) + given(tensor_grad_norm) = 3", from "what `repro train` writes";
    WHOLE_ROUTED = "relation::whole-routed", "a slice of a model with experts does not say where its tokens went";
        SliceStep of ours if "config.num_experts > 1" => "given(routed) = 1", from "what `repro train` writes";
    SLICE_SIGNS = "relation::slice-signs", "a slice has a negative loss, or a negative norm";
        SliceStep of ours => "0 <= min(loss, grad_norm, min(tensor_grad_norm))", from "a probability is at most 1; definition of a norm";
    SLICE_LOSS = "relation::slice-loss", "a slice has another loss than the log at the same step";
        SliceStep of ours => "loss = record.loss", from "one fact, written twice; other trainers log means and rounded losses";
    SLICE_NORM = "relation::slice-norm", "a slice has another gradient norm than the log at the same step";
        SliceStep of ours => "grad_norm = record.grad_norm", from "one fact, written twice";
    SLICE_REACH = "relation::slice-reach", "a slice has another number of steps than the receipt says";
        SliceStep => "step <= slice.from_step + slice.steps", from "one fact, written twice";
    TENSOR_NORMS = "relation::tensor-norms", "the gradients of the tensors have another norm than all of them together";
        SliceStep of ours => "abs(sum(tensor_grad_norm ^ 2) ^ 0.5 - grad_norm) <= 0.00001 * grad_norm", from "definition of a norm; each is rounded to float32. Sums that other trainers take in float32 are off by more";
    TENSOR_COUNT = "relation::tensor-count", "a slice has the norms of other tensors than the model has";
        SliceStep of ours => "receipt.model.tensors <= count(tensor_grad_norm) <= receipt.model.tensors + config.num_hidden_layers",
        from "one fact, written twice; biases of routers are no parameters";
    ROUTED_TOKENS = "relation::routed-tokens", "the tokens of the experts are not those of a step";
        SliceLayer of ours => "sum(counts) = receipt.contract.tokens_per_step * config.num_experts_per_tok", from "each token goes to so many experts";
    ROUTED_EXPERTS = "relation::routed-experts", "tokens go to other experts than the model has";
        SliceLayer of ours => "count(counts) = config.num_experts", from "the model of the config";
    ROUTED_MAX = "relation::routed-max", "the greatest load of the log is not that of the tokens of the experts";
        SliceLayer of ours => "max(counts) / sum(counts) = record.max_load", from "definition of the load";
    ROUTED_CV = "relation::routed-cv", "the spread of the loads of the log is not that of the tokens of the experts";
        SliceLayer of ours => "cv(counts) = record.cv", from "definition of the coefficient of variation";
    ROUTED_ENTROPY = "relation::routed-entropy", "the entropy of the log is not that of the tokens of the experts";
        SliceLayer of ours => "entropy(counts) = record.entropy", from "definition of the entropy";
    ROUTED_DEAD = "relation::routed-dead", "the dead experts of the log are not those without tokens";
        SliceLayer of ours => "zeros(counts) = record.dead", from "definition of a dead expert";

    WEIGHTS_STEP = "relation::weights-step", "a checkpoint says of itself that it is of another step";
        Weights => "metadata.step = checkpoint.step", from "one fact, written twice";
    WEIGHTS_ARITHMETIC = "relation::weights-arithmetic", "a checkpoint says of itself that it was computed otherwise";
        Weights => "metadata.arithmetic = receipt.trainer.arithmetic", from "one fact, written twice";
    WEIGHTS_ORDER = "relation::weights-order", "a checkpoint names another order of the data than the receipt";
        Weights of ours => "metadata.rng = join(receipt.data.order, ' seed ', receipt.seeds.data)", from "one fact, written twice";

    STATES_EVERY = "relation::states-every", "a run commits itself to other states than its config says";
        Run => "receipt.states.every = config.state_every", from "one fact, written twice";
    STATES_USUAL = "relation::states-usual", "a run commits itself to fewer states than its trainer does where a config says nothing";
        Run if "absent(config.state_every) = 1" => "receipt.states.every = 50", from "default of `repro train`";
    FIRST_STATE = "relation::first-state", "the committed states do not begin with that before the first step";
        Run => "min(states.step) = 0", from "a run commits itself to both its ends";
    LAST_STATE = "relation::last-state", "the committed states do not end with that after the last step";
        Run if "receipt.run.finished = true" => "max(states.step) = config.steps", from "a run commits itself to both its ends";
    STATE_ORDER = "relation::state-order", "a committed state does not come after the one before it";
        State => "step > previous.step", from "a run has each state once, in order";
    STATE_GAP = "relation::state-gap", "a committed state between two others is missing";
        State => "step <= previous.step + receipt.states.every", from "the plan of the receipt";
    STATE_GRID = "relation::state-grid", "a committed state is of a step at which a run commits itself to none";
        State if "step > 0" && "step < config.steps" && "absent(checkpoint.step) = 1"
            => "step = receipt.states.every * floor(step / receipt.states.every)", from "the plan of the receipt";
    STATE_TOKENS = "relation::state-tokens", "the tokens of a committed state are not its step times the tokens of a step";
        State => "tokens = step * receipt.contract.tokens_per_step", from "definition of a step";
    STATE_CURSOR = "relation::state-cursor", "a committed state names another order of the data than the receipt";
        State => "cursor = join(receipt.data.order, ' seed ', receipt.seeds.data)", from "one fact, written twice";
    STATE_PLAN = "relation::state-plan", "a run committed itself to another plan than its receipt names";
        State => "plan_sha256 = receipt.extra.plan_sha256", from "one fact, written twice";
    STATE_START = "relation::state-start", "a run committed itself to another start than its receipt names";
        State => "start = receipt.start.chain", from "one fact, written twice";
    STATE_BEGINS = "relation::state-begins", "the first committed state does not name the plan";
        State if "step = 0" && "receipt.extra.plan_sha256 != ''" => "absent(plan_sha256) = 0",
        from "a run commits itself to its plan";
    WHOLE_STATE = "relation::whole-state", "a committed state lacks what every one states, or has it as another type";
        State => "numbers(step, tokens) + given(tensors_sha256, cursor) = 4", from "what `repro train` writes";
    STATE_DIGEST = "relation::state-digest", "a committed state has no digest of its tensors";
        State => "length(tensors_sha256) + numbers(ones(tensors_sha256)) = 65", from "definition of the digest: 64 hexadecimal digits";
    STATES_OF_CHECKPOINTS = "relation::states-of-checkpoints", "a run has not committed itself to the state of a checkpoint";
        Run if "given(receipt.states.root) = 1" => "missing(checkpoints.step, states.step) = []", from "`repro train` commits itself at each checkpoint";
    STATE_OF_PLAN = "relation::state-of-plan", "a run committed itself to a plan, and its receipt names none";
        State if "given(plan_sha256) = 1" => "given(receipt.extra.plan_sha256) = 1", from "one fact, written twice";
    STATE_OF_START = "relation::state-of-start", "a run committed itself to a start, and its receipt names none";
        State if "given(start) = 1" => "given(receipt.start.chain) = 1", from "one fact, written twice";
    START_OF_STATE = "relation::start-of-state", "a receipt names a start to which the run did not commit itself";
        State if "step = 0" && "given(receipt.start.chain) = 1" => "given(start) = 1", from "one fact, written twice";
    STATE_TENSORS = "relation::state-tensors", "a checkpoint has other tensors than the state that the run committed itself to";
        State => "tensors_sha256 = checkpoint.tensors_sha256", from "one fact, written twice";

    CLOZE_ITEMS = "relation::cloze-items", "a task has other items than the config asks for";
        Task of ours if "task = 'cloze'" && "receipt.run.finished = true" => "n = config.tasks.cloze.items", from "the plan of the config";
    WHOLE_TASK = "relation::whole-task", "a task lacks what every one states, or has it as another type";
        Task of ours => "numbers(n, correct, accuracy, baseline, centered) + given(task, type) = 7", from "what `repro train` writes";
    TASK_BASELINE = "relation::task-baseline", "the baseline of a task is no accuracy that guessing has";
        Task of ours => "0 <= baseline < 1", from "definition of centered accuracy";
    TASK_NAMES = "relation::task-names", "evaluations of one run ask different tasks";
        Evaluation of ours => "table.task = first.table.task", from "one suite of tasks for a run";
    TASK_TYPES = "relation::task-types", "evaluations of one run ask a task in different ways";
        Evaluation of ours => "table.type = first.table.type", from "one suite of tasks for a run";
    TASK_BASELINES = "relation::task-baselines", "evaluations of one run compare a task with different baselines";
        Evaluation of ours => "table.baseline = first.table.baseline", from "one suite of tasks for a run";
    OUTCOMES_OF_TABLE = "relation::outcomes-of-table", "the outcomes are of other tasks than the table";
        Evaluation of ours => "outcomes.task = table.task", from "one fact, written twice";
    TABLE_THERE = "relation::table-there", "an evaluation names a table of tasks that is not there";
        Evaluation of ours if "given(tasks.table) = 1" => "given(table.centered) = 1", from "the files of an evaluation";
    SAME_TASKS = "relation::same-tasks", "evaluations of one run ask different numbers of questions";
        Evaluation of ours => "table.n = first.table.n", from "one suite of tasks for a run";
    ACCURACY = "relation::accuracy", "an accuracy is not the right answers by all";
        Task of ours => "accuracy = correct / n", from "definition of accuracy";
    NEAR_ACCURACY = "relation::near-accuracy", "an accuracy is far from the right answers by all";
        Task => "min(abs(accuracy - correct / n), abs(accuracy / 100 - correct / n)) <= 0.006",
        from "definition of accuracy; others round it, print percent, or normalise it by length";
    CENTERED = "relation::centered", "a centered accuracy is not what its accuracy and its baseline give";
        Task of ours => "centered = (accuracy - baseline) / (1 - baseline)", from "definition of CORE";
    MORE_RIGHT = "relation::right-answers", "more answers are right than there are";
        Task => "correct <= n", from "a part is no more than the whole";
    OUTCOME_COUNT = "relation::outcome-count", "the outcomes are of another number of items than the table";
        Outcome => "n = task.n", from "one fact, written twice";
    OUTCOME_BITS = "relation::outcome-bits", "the outcomes have other bits than items";
        Outcome => "length(bits) = ceil(n / 4)", from "four bits a digit";
    OUTCOME_DIGITS = "relation::outcome-digits", "outcomes are written in other digits than hexadecimal ones";
        Outcome => "numbers(ones(bits)) = 1", from "definition of the outcomes";
    OUTCOME_ONES = "relation::outcome-ones", "the outcomes have other right answers than the table";
        Outcome => "ones(bits) = task.correct", from "one fact, written twice";
    OUTCOME_REST = "relation::outcome-rest", "outcomes say something of items that are not there";
        Outcome => "ones(bits) = ones(bits, n)", from "one bit for each item, the first one first";

    TIME_ORDER = "relation::time-order", "a time is of an earlier step than the one before it";
        Timing of ours => "step >= previous.step", from "times are of steps, in order; a log may have several of one step";
    TIME_FORWARD = "relation::time-forward", "a time runs backwards";
        Timing of ours => "seconds >= 0", from "time runs forward";
    TIME_RATE = "relation::time-rate", "tokens are read at a negative speed";
        Timing of ours => "tokens_per_second >= 0", from "time runs forward";
    TIME_END = "relation::time-end", "a time is of a step behind the last one";
        Timing of ours => "step <= config.steps", from "the plan of the config";
    TIME_SPEED = "relation::time-speed", "more tokens were read in a time than the steps since the one before it take";
        Timing of ours
            => "seconds * tokens_per_second <= (step - previous.step) * receipt.contract.tokens_per_step",
        from "definition of throughput; a run that was resumed read fewer since";
}
