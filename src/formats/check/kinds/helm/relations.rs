//! What must hold in runs of HELM.

use crate::check::kind::relations;

relations! {
    EMPTY = "helm::empty", "a statistic of nothing has a sum";
        "stat" if "count = 0" => "sum = 0", from "`Stat` in `metrics/statistic.py`";
    MEAN = "helm::mean", "a mean is not the sum over the count";
        "stat" if "count > 0" => "mean = sum / count", from "`Stat.mean` in `metrics/statistic.py`";
    VARIANCE = "helm::variance", "a variance is not the mean square less the square of the mean";
        "stat" if "count > 0" => "variance = max(0, sum_squared / count - (sum / count) ^ 2)",
        from "`Stat.variance` in `metrics/statistic.py`, of all and not of a sample",
        perhaps "variance = (sum_squared - sum ^ 2 / count) / (count - 1)": "it is that of a sample";
    STDDEV = "helm::stddev", "a standard deviation is not the root of the variance";
        "stat" if "count > 0" => "stddev = sqrt(variance)", from "`Stat.stddev` in `metrics/statistic.py`";
    LEAST = "helm::min", "a mean is below the smallest value";
        "stat" if "count > 0" => "mean >= min", from "`Stat` in `metrics/statistic.py`";
    MOST = "helm::max", "a mean is above the largest value";
        "stat" if "count > 0" => "mean <= max", from "`Stat` in `metrics/statistic.py`";
    INSTANCES = "helm::mean-of-instances", "a mean is not that over the instances";
        "stat" => "reported = of_instances", from "`Metric.evaluate`: each trial counts once, with the mean over its instances";
    PERPLEXITY = "helm::perplexity", "the perplexity is not that of the log probability of all tokens";
        "part" if "trials = 1" => "perplexity = exp(-logprob / num_perplexity_tokens)", from "`compute_perplexity_metrics`";
    BITS = "helm::bits-per-byte", "the bits per byte are not those of the log probability of all bytes";
        "part" if "trials = 1" => "bits_per_byte = -logprob / num_bytes / ln(2)", from "`compute_perplexity_metrics`",
        perhaps "bits_per_byte = -logprob / num_bytes": "they are nats";
    PER_BYTE = "helm::logprob-per-byte", "the log probability of a byte is not that of all bytes";
        "part" if "trials = 1" => "logprob_per_byte = logprob / num_bytes", from "`compute_perplexity_metrics`";
    UNMEASURED = "helm::unmeasured", "no log probability was measured, so that perplexity, bits per byte and probabilities are placeholders", doubt;
        "part" if "num_perplexity_tokens > 0" => "logprob != 0", from "clients that return no log probabilities leave them 0";
    COUNT = "helm::instances", "there are not as many instances as requests were made for";
        "part" => "num_instances = requested", from "`num_instances` in `metric.py`";
    LIMIT = "helm::max-instances", "there are more instances than may be evaluated";
        "document" => "max_eval_instances >= instances", from "`max_eval_instances` of the adapter";
    REQUESTS = "helm::requests", "there are not as many requests as instances, trials and repetitions", doubt;
        "document" => "requests >= instances * num_train_trials", from "`InContextLearningAdapter.adapt`: one for each instance in each trial";
    SETTING = "helm::setting", "the requests were made with another setting than the run's";
        "setting" => "value = again", from "one fact, written twice: `run_spec.json` and `scenario_state.json`";
    NAME = "helm::name", "the folder is not named after its run", doubt;
        "document" => "name = folder.name", from "one fact, written twice";
    MODEL = "helm::model", "a request is for another model";
        "request" => "model = spec.model", from "`adapter_spec` in each request";
    DEPLOYMENT = "helm::deployment", "a request is for another deployment";
        "request" => "model_deployment = spec.model_deployment", from "`adapter_spec` in each request";
    TEMPERATURE = "helm::temperature", "a request has another temperature", doubt;
        "request" => "temperature = spec.temperature", from "`adapter_spec` in each request, unless the way of asking sets it";
    MAX_TOKENS = "helm::max-tokens", "a request has another limit of tokens", doubt;
        "request" => "max_tokens = spec.max_tokens", from "`adapter_spec` in each request, unless the way of asking sets it";
    SHOTS = "helm::shots", "a prompt has more examples than it may have";
        "request" => "num_train_instances <= max_train_instances", from "`max_train_instances` of the adapter";
    SHOTS_STATED = "helm::stated-shots", "the number of examples is not that of the prompt";
        "request" => "stat.num_train_instances = num_train_instances", from "`compute_request_state_metrics`";
    REFERENCES = "helm::references", "the number of references is not that of the instance";
        "request" => "stat.num_references = references", from "`compute_request_state_metrics`";
    TRUNCATED = "helm::truncated", "whether the prompt was cut is not what its request says";
        "request" => "stat.prompt_truncated = truncated", from "`compute_request_state_metrics`";
    SECONDS = "helm::seconds", "the seconds are not those of the request";
        "request" => "stat.inference_runtime = seconds", from "`EfficiencyMetric`";
    TOKENS = "helm::tokens", "the number of tokens is not that of the completions";
        "request" => "stat.num_completion_tokens = tokens", from "`BasicGenerationMetric`";
    LOGPROB = "helm::logprob", "the log probability is not the sum over the tokens of the answer";
        "request" => "stat.logprob = logprob", from "`compute_language_modeling_metrics`";
    PERPLEXITY_TOKENS = "helm::perplexity-tokens", "the number of tokens is not that of the answer";
        "request" => "stat.num_perplexity_tokens = perplexity_tokens", from "`compute_language_modeling_metrics`";
    BYTES = "helm::bytes", "the number of bytes is not that of the answer's tokens";
        "request" => "stat.num_bytes = bytes", from "`get_num_bytes`";
    EXACT = "helm::exact-match", "an exact match is not what the answer and the references give";
        "request" => "stat.exact_match = matches.exact", from "`exact_match`: equal without spaces around them";
    QUASI = "helm::quasi-exact-match", "a quasi-exact match is not what the answer and the references give";
        "request" => "stat.quasi_exact_match = matches.quasi", from "`quasi_exact_match`: equal without case, punctuation, articles and spaces";
    PREFIX = "helm::prefix-exact-match", "a match of the beginning is not what the answer and the references give";
        "request" => "stat.prefix_exact_match = matches.prefix", from "`prefix_exact_match`";
    QUASI_PREFIX = "helm::quasi-prefix-exact-match", "a quasi-exact match of the beginning is not what the answer and the references give";
        "request" => "stat.quasi_prefix_exact_match = matches.quasi_prefix", from "`quasi_prefix_exact_match`";
}
