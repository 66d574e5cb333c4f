//! What must hold in results of lm-evaluation-harness.

use crate::check::kind::relations;

relations! {
    RANGE = "lm-eval::range", "a share of items is not between 0 and 1";
        "metric" if "sort != 'perplexity'" && "sort != 'other'" && "sort != 'likely'" => "0 <= value <= 1", from "a mean of numbers from 0 to 1";
    LIKELY_RANGE = "lm-eval::likely-range", "what the metric's name has as a share of items is not between 0 and 1", doubt;
        "metric" if "sort = 'likely'" => "0 <= value <= 1", from "a mean of numbers from 0 to 1, unless the task scores otherwise";
    UNREAD = "lm-eval::unread", "what stands for a score or its error is no number", doubt;
        "metric" if "given(unread) = 1" => "absent(unread) = 1", from "nothing can be recomputed from it";
    UNREAD_GROUP = "lm-eval::unread-group", "what stands for a group's score or its error is no number", doubt;
        "group" if "given(unread) = 1" => "absent(unread) = 1", from "nothing can be recomputed from it";
    PERPLEXITY = "lm-eval::perplexity", "a perplexity is below 1";
        "metric" if "sort = 'perplexity'" => "value >= 1", from "exp of a mean negative log-likelihood of tokens, none of which is above 1";
    NEGATIVE = "lm-eval::negative-error", "a standard error is negative";
        "metric" => "stderr >= 0", from "a square root";
    SHARE = "lm-eval::share", "a share is no whole number of items over their number";
        "metric" if "sort = 'proportion'" => "value = floor(value * items + 0.499) / items", from "`mean` in `api/metrics.py`, over items that are 0 or 1";
    STDERR = "lm-eval::stderr", "a standard error is not that of so many items that are 0 or 1";
        "metric" if "sort = 'proportion'" => "stderr = sqrt(value * (1 - value) / (items - 1))",
        from "`mean_stderr` in `api/metrics.py`: the sample deviation over the root of the number of items",
        perhaps "stderr = sqrt(value * (1 - value) / items)": "the deviation was taken with a divisor of all items",
        perhaps "stderr = sqrt(value * (1 - value))": "it is the deviation of one item",
        perhaps "stderr = 1.96 * sqrt(value * (1 - value) / (items - 1))": "it is half of a 95% interval";
    NO_COUNT = "lm-eval::no-count", "a mean and its standard error fit no number of items that are 0 or 1";
        "metric" if "sort = 'proportion'" && "absent(items) = 1" => "stderr = sqrt(value * (1 - value) / (nearest.items - 1))",
        from "`mean_stderr` in `api/metrics.py`";
    LIKELY_SHARE = "lm-eval::likely-share", "what the metric's name has as a share is no whole number of items over their number", doubt;
        "metric" if "sort = 'likely'" && "scoring = 'plain'" && "0 <= value <= 1" => "value = floor(value * items + 0.499) / items",
        from "`mean` in `api/metrics.py`, unless the task scores otherwise";
    LIKELY = "lm-eval::likely-stderr", "a standard error is not that of items that are 0 or 1, as the metric's name has it", doubt;
        "metric" if "sort = 'likely'" && "value = floor(value * items + 0.499) / items" => "stderr = sqrt(value * (1 - value) / (items - 1))",
        from "`mean_stderr` in `api/metrics.py`, unless the task scores otherwise";
    UNLIKELY = "lm-eval::unlikely-count", "a mean and its standard error fit no number of items that are 0 or 1, as the metric's name has it", doubt;
        "metric" if "sort = 'likely'" && "absent(items) = 1" => "stderr = sqrt(value * (1 - value) / (nearest.items - 1))",
        from "`mean_stderr` in `api/metrics.py`, unless the task scores otherwise";
    KNOWN = "lm-eval::known-size", "the evaluation set has another number of items", doubt;
        "metric" if "sort = 'proportion'" => "stderr = sqrt(value * (1 - value) / (known.items - 1))",
        from "the published data sets";
    BOUND = "lm-eval::bound", "a standard error is larger than numbers from 0 to 1 with this mean can have";
        "metric" if "sort = 'fraction'" => "stderr <= sqrt(value * (1 - value) / (items - 1)) * (1 + 1e-9)",
        from "the largest variance of numbers from 0 to 1 is p (1 - p) (Bhatia and Davis)";
    BITS = "lm-eval::bits-per-byte", "the bits per byte are not the logarithm of the perplexity of bytes";
        "task" => "bits_per_byte = ln(byte_perplexity) / ln(2)", from "`bits_per_byte` and `weighted_perplexity` in `api/metrics.py`",
        perhaps "bits_per_byte = ln(byte_perplexity)": "they are nats";
    UNVERSIONED = "lm-eval::version", "results have no version", doubt;
        "task" => "given(version) >= 1", from "the evaluator writes both for each task";
    CONFIG_VERSION = "lm-eval::config-version", "the version is not that of the configuration";
        "task" => "version = config.version", from "one fact, written twice";
    SHOTS = "lm-eval::shots", "the number of shots is not that of the configuration";
        "task" => "shots = config.shots", from "one fact, written twice";
    DIRECTION = "lm-eval::direction", "a metric is better in another direction than the configuration says";
        "metric" => "higher_is_better = config.higher_is_better", from "one fact, written twice";
    EFFECTIVE = "lm-eval::effective", "more items were scored than there are";
        "task" => "effective <= original", from "`n-samples` in `evaluator.py`";
    LIMIT = "lm-eval::limit", "the number of scored items is not what the limit leaves";
        "task" if "limit >= 1" => "effective = min(floor(limit), original)", from "`limit` in `evaluator.py`";
    SHARE_LIMIT = "lm-eval::limit-share", "the number of scored items is not the share that the limit leaves";
        "task" if "limit < 1" && "limit > 0" && "absent(carried) = 1" => "effective = ceil(original * limit)", from "`limit` in `evaluator.py`";
    ALL = "lm-eval::all-items", "not all items were scored, and there is no limit", doubt;
        "task" if "absent(limit) = 1" && "absent(chosen) = 1" => "effective = original", from "`limit` in `evaluator.py`";
    CHOSEN = "lm-eval::chosen-items", "another number of items was scored than were chosen", doubt;
        "task" => "effective = chosen", from "`samples` in `evaluator.py`";
    KNOWN_ITEMS = "lm-eval::known-items", "the evaluation set has another number of items than the published one", doubt;
        "task" => "original = published.items", from "the published data sets";
    SAME_GROUP = "lm-eval::same-group", "a group has one number among the results and another among the groups";
        "again" => "value = in_results", from "`evaluator_utils.py`, a copy";
    GROUP = "lm-eval::group", "a group's value is neither the mean of its tasks by their sizes nor their plain mean";
        "group" if "aggregation = 'mean'" && "abs(value - mean(member.value)) > 1e-9 * value" && "abs(value - mean_of_parts) > 1e-9 * value" =>
        "value = sum(member.size * member.value) / sum(member.size)", from "`aggregate_subtask_metrics` in `api/metrics.py`";
    LIKELY_GROUP = "lm-eval::likely-group", "a group's value is neither the mean of its tasks by their sizes nor their plain mean, unless it has a function of its own", doubt;
        "group" if "aggregation = 'any'" && "abs(value - mean(member.value)) > 1e-9 * value" && "abs(value - mean_of_parts) > 1e-9 * value" =>
        "value = sum(member.size * member.value) / sum(member.size)", from "`aggregate_subtask_metrics` in `api/metrics.py`; up to 0.4.11 a group may name another function";
    PLAIN_GROUP = "lm-eval::plain-group", "a group's value is not the plain mean of its tasks";
        "group" if "abs(value - mean(member.value)) <= 1e-9 * value" => "value = mean(member.value)", from "`aggregate_subtask_metrics` without `weight_by_size`";
    GROUP_STDERR = "lm-eval::group-stderr", "a group's standard error is not the pooled one of its tasks";
        "group" if "given(member.stderr) = 1" && "pooling = 'tasks'" =>
        "stderr = sqrt(sum((member.size - 1) * member.size * member.stderr ^ 2) / (sum(member.size) - count(member.size)) / sum(member.size))",
        from "`pooled_sample_stderr` in `api/metrics.py`";
    NESTED_STDERR = "lm-eval::nested-stderr", "a group's standard error is not the pooled one of the groups in it";
        "group" if "pooling = 'groups'" =>
        "stderr = sqrt(sum((inner.size - 1) * inner.size * inner.stderr ^ 2) / (sum(inner.size) - count(inner.size)) / sum(inner.size))",
        from "`pooled_sample_stderr` in `api/metrics.py`, over groups of groups as the harness of mid-2024 took them";
    WHOLE = "lm-eval::whole", "the value of all pairs is not that of their parts";
        "group" => "whole.value = sum(part.size * part.value) / sum(part.size)", from "CrowS-Pairs is its ten parts, none of which overlap";
    WHOLE_STDERR = "lm-eval::whole-stderr", "the standard error of all pairs is not that of their parts";
        "group" => "whole.stderr = sqrt((sum((part.size - 1) * part.size * part.stderr ^ 2) + \
            sum(part.size * (part.value - whole.value) ^ 2)) / (sum(part.size) - 1) / sum(part.size))",
        from "the sums of squares within and between the parts";
    NAMED_SHOTS = "lm-eval::named-shots", "the file is named after another number of shots", doubt;
        "results" => "num_fewshot = said.shots", from "one fact, written twice";
    NAMED_STEP = "lm-eval::named-step", "the file is named after another step than that of the model", doubt;
        "results" => "named.step = said.step", from "one fact, written twice";
    NAMED_MODEL = "lm-eval::named-model", "the model's name is not that among its arguments", doubt;
        "results" => "model_name = named.model", from "`get_model_name` in `loggers/evaluation_tracker.py`";
    NAMED_FILE = "lm-eval::file-name", "the name of the model for files is not its name", doubt;
        "results" => "model_name_sanitized = named.file", from "`sanitize_model_name` in `utils.py`";
    SECONDS = "lm-eval::seconds", "the evaluation did not end when it began and lasted so long";
        "results" => "end_time = start_time + total_evaluation_time_seconds", from "`loggers/evaluation_tracker.py`";
    NEOX_BATCH = "lm-eval::neox-batch", "the batch is not the micro batches of all ranks, accumulated";
        "results" => "model_args.train_batch_size = model_args.train_micro_batch_size_per_gpu * model_args.gradient_accumulation_steps * \
            model_args.world_size / (max(model_args.model_parallel_size, 1) * max(model_args.pipe_parallel_size, 1))",
        from "`check_batch_parameters` of GPT-NeoX";
    NEOX_LAYERS = "lm-eval::neox-layers", "the list of kinds of attention has another length than there are layers";
        "results" => "model_args.num_layers = attention_layers", from "`expand_attention_types` of GPT-NeoX";
    NEOX_HEADS = "lm-eval::neox-heads", "the width is not a multiple of the heads";
        "results" => "model_args.hidden_size = model_args.num_attention_heads * floor(model_args.hidden_size / model_args.num_attention_heads + 0.499)",
        from "`validate_values` of GPT-NeoX";
    NEOX_VOCAB = "lm-eval::neox-vocab", "the padded vocabulary is not a multiple of what it is padded to";
        "results" => "model_args.padded_vocab_size = model_args.make_vocab_size_divisible_by * max(model_args.model_parallel_size, 1) * \
            floor(model_args.padded_vocab_size / (model_args.make_vocab_size_divisible_by * max(model_args.model_parallel_size, 1)) + 0.499)",
        from "`_vocab_size_with_padding` of GPT-NeoX";
    NEOX_SETTING = "lm-eval::neox-setting", "an argument is not what its configuration file says", doubt;
        "setting" => "value = written", from "GPT-NeoX reads its arguments from files, and may override them";
    PARTIAL = "lm-eval::partial-samples", "the file of samples does not hold all of them", doubt;
        "task" => "effective = lines", from "one line for each item and filter";
    REPEATED = "lm-eval::repeated-samples", "an item stands twice in the samples", doubt;
        "sample" => "given(doc_id, again) = 1", from "one line for each item and filter";
    LINES = "lm-eval::mean-of-samples", "a value is not the mean over the samples";
        "metric" if "aggregation = 'mean'" && "lines = items" => "value = sum_of_lines / lines", from "`mean` in `api/metrics.py`";
    LINES_STDERR = "lm-eval::error-of-samples", "a standard error is not that over the samples";
        "metric" if "aggregation = 'mean'" && "lines = items" => "stderr = sqrt(variance_of_lines / lines)", from "`mean_stderr` in `api/metrics.py`";
    LEAST = "lm-eval::least", "the samples that are there already come to more";
        "metric" if "sort != 'other'" && "sort != 'perplexity'" && "sort != 'likely'" && "lines < items" => "value >= sum_of_lines / items * (1 - 1e-9)",
        from "what is missing is at least 0 for each item";
    MOST = "lm-eval::most", "the samples that are missing cannot come to so much";
        "metric" if "sort != 'other'" && "sort != 'perplexity'" && "sort != 'likely'" && "lines < items" => "value <= (sum_of_lines + items - lines) / items * (1 + 1e-9)",
        from "what is missing is at most 1 for each item";
    TASK_HASH = "lm-eval::task-hash", "the hash of a task is not that of its samples";
        "task" => "task_hash = hash_of_lines", from "`loggers/evaluation_tracker.py`: SHA-256 over the hashes of all samples";
    TARGET_HASH = "lm-eval::target-hash", "the hash of a target is not its own";
        "sample" => "target_hash = target_digest", from "`hash_string` in `utils.py`: SHA-256";
    PROMPT_HASH = "lm-eval::prompt-hash", "the hash of a prompt is not its own";
        "sample" => "prompt_hash = prompt_digest", from "`hash_string` in `utils.py`: SHA-256";
    DOC_HASH = "lm-eval::doc-hash", "the hash of an item is not its own";
        "sample" => "doc_hash = doc_digest", from "`hash_string` of `json.dumps` with two blanks for each level";
}
