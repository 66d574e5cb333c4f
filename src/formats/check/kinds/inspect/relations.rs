//! What must hold in logs of Inspect.

use crate::check::kind::relations;

relations! {
    COMPLETED = "inspect::completed", "more samples were completed than there are";
        "document" => "completed_samples <= total_samples", from "`EvalResults`";
    WITHOUT_ERROR = "inspect::without-error", "another number of samples was completed than the log has without an error", doubt;
        "document" if "status = 'success'" && "absent(stopped) = 1" && "total_samples = listed" => "completed_samples = without_error",
        from "`completed_samples` of `EvalResults`";
    TOTAL = "inspect::total", "there are not as many samples as the data set has, times the epochs";
        "document" if "status = 'success'" && "absent(stopped) = 1" => "total_samples = ids * epochs",
        from "`EvalDataset.sample_ids`, which are those after `limit`, each run in every epoch";
    LIMIT = "inspect::limit", "there are not as many samples as the limit leaves of the data set, times the epochs";
        "document" if "status = 'success'" && "absent(stopped) = 1" && "absent(ids) = 1" && "limit >= 1" =>
        "total_samples = min(limit, dataset.samples) * epochs", from "`limit` of `EvalConfig`";
    AT_MOST = "inspect::at-most", "there are more samples than the data set has, times the epochs";
        "document" if "absent(ids) = 1" => "total_samples <= dataset.samples * epochs", from "`EvalDataset.samples`";
    LISTED = "inspect::listed", "the log does not hold all samples", doubt;
        "document" if "status = 'success'" && "log_samples = true" => "total_samples = listed", from "`log_samples` of `EvalConfig`";
    REPEATED = "inspect::repeated", "a sample stands twice in the log", doubt;
        "sample" => "given(id, again) = 1", from "one entry for each sample and epoch";
    UNREAD = "inspect::unread", "what stands for a metric is no number", doubt;
        "score" if "given(unread) = 1" => "absent(unread) = 1", from "nothing can be recomputed from it";
    SCORED = "inspect::scored", "more samples were scored than there are";
        "score" => "scored_samples + unscored_samples <= total_samples", from "`EvalScore`";
    SHARE = "inspect::share", "an accuracy is no whole number of right answers over the answers";
        "score" if "sort = 'proportion'" => "value = floor(value * answers + 0.499) / answers",
        from "`accuracy` in `scorer/_metrics`, of answers that are right or wrong";
    LIKELY_SHARE = "inspect::likely-share", "an accuracy is no whole number of right answers over the answers, as the scorer's name has it", doubt;
        "score" if "sort = 'likely'" => "value = floor(value * answers + 0.499) / answers",
        from "`accuracy` in `scorer/_metrics`, unless a scorer or metric of the same name is another's";
    LIKELY_STDERR = "inspect::likely-stderr", "a standard error is not that of answers that are right or wrong, as the scorer's name has it", doubt;
        "score" if "sort = 'likely'" && "epochs = 1" && "items > 1" => "stderr = sqrt(value * (1 - value) / (items - 1))",
        from "`stderr` in `scorer/_metrics`, unless a scorer or metric of the same name is another's";
    STDERR = "inspect::stderr", "a standard error is not that of so many answers that are right or wrong";
        "score" if "sort = 'proportion'" && "epochs = 1" && "items > 1" => "stderr = sqrt(value * (1 - value) / (items - 1))",
        from "`stderr` in `scorer/_metrics`: the sample deviation over the root of the number of scores",
        perhaps "stderr = sqrt(value * (1 - value) / items)": "the deviation was taken with a divisor of all scores";
    GRADED = "inspect::graded-stderr", "an accuracy and its standard error fit no numbers of right and half right answers", doubt;
        "score" if "epochs = 1" && "items > 1" => "stderr = sqrt((value * (1 - value) - partial / 4 / items) / (items - 1))",
        from "`stderr` in `scorer/_metrics`, of values 1, 1/2 and 0";
    DEVIATION = "inspect::deviation", "the standard error is not the deviation over the root of the number of scores";
        "score" if "metrics = 'own'" && "items > 1" => "stderr = deviation / sqrt(items)", from "`std` and `stderr` in `scorer/_metrics`";
    VARIANCE = "inspect::variance", "the variance is not the square of the deviation";
        "score" if "metrics = 'own'" => "variance = deviation ^ 2", from "`var` and `std` in `scorer/_metrics`";
    REDUCED = "inspect::mean-of-scores", "a value is not the mean of the reduced scores";
        "score" => "value = reduced.mean", from "`accuracy` and `mean` in `scorer/_metrics`, over `reductions`";
    REDUCED_STDERR = "inspect::error-of-scores", "a standard error is not that of the reduced scores";
        "score" => "stderr = sqrt(reduced.variance / items)", from "`stderr` in `scorer/_metrics`, over `reductions`";
    SAMPLES = "inspect::mean-of-samples", "a value is not the mean over the samples";
        "score" => "value = samples.mean", from "`accuracy` and `mean` in `scorer/_metrics`";
    SAMPLES_STDERR = "inspect::error-of-samples", "a standard error is not that over the samples";
        "score" => "stderr = sqrt(samples.variance / items)", from "`stderr` in `scorer/_metrics`";
    LIKELY_MEAN = "inspect::likely-mean", "a value is not what the samples come to, if its metric is Inspect's own", doubt;
        "score" => "value = likely.mean", from "`accuracy` and `mean` in `scorer/_metrics`, and `scorer/_reducer`";
    LIKELY_ERROR = "inspect::likely-error", "a standard error is not what the samples come to, if its metric is Inspect's own", doubt;
        "score" => "stderr = sqrt(likely.variance / items)", from "`stderr` in `scorer/_metrics`, and `scorer/_reducer`";
    TOKENS = "inspect::tokens", "the total of tokens is no sum of its parts, whatever a provider counts", doubt;
        "usage" => "total_tokens = input_tokens + output_tokens + counted_as_well",
        from "`ModelUsage`: input and output, and for some providers the cache or reasoning";
    TOKENS_OF_SAMPLES = "inspect::tokens-of-samples", "the samples took more tokens than all of the log", doubt;
        "whole_usage" => "total_tokens >= of_samples", from "`EvalStats.model_usage`, unless samples are from a log before";
    BACKWARDS = "inspect::backwards", "it was completed before it started";
        "document" => "completed + 1 >= started", from "`EvalStats`, in whole seconds";
    EARLY = "inspect::early", "it started before it was made", doubt;
        "document" => "started + 1 >= created", from "`EvalSpec.created`";
    WORKING = "inspect::working-time", "a sample worked for longer than it took";
        "sample" => "working_time <= total_time + 0.002", from "`EvalSample`: working time is the time without waiting, both to three decimals";
    UNPLANNED = "inspect::unplanned", "a sample is not one of the data set", doubt;
        "sample" => "given(id, unplanned) = 1", from "`EvalDataset.sample_ids`";
    EPOCH = "inspect::epoch", "a sample is of an epoch that there is not";
        "sample" => "1 <= epoch <= epochs", from "`EvalConfig.epochs`";
    CHOICE = "inspect::choice", "an answer is not marked as its letters and the target's have it", doubt;
        "sample" => "choice = by_letters", from "`choice` in `scorer/_choice.py`, unless another scorer has its name";
}
