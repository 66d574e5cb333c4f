//! What must hold in records of Every Eval Ever.

use crate::check::kind::relations;

relations! {
    UNREAD = "every-eval-ever::unread", "what stands for a score is no number", doubt;
        "result" if "given(unread) = 1" => "absent(unread) = 1", from "nothing can be recomputed from it";
    LEAST = "every-eval-ever::min", "a score is below the smallest that there can be";
        "result" if "score_type != 'levels'" => "score >= min_score", from "`metric_config.min_score`";
    MOST = "every-eval-ever::max", "a score is above the largest that there can be";
        "result" if "score_type != 'levels'" => "score <= max_score", from "`metric_config.max_score`";
    LEVEL = "every-eval-ever::level", "a score is none of the levels";
        "result" if "score_type = 'levels'" => "lowest.level <= score <= levels - 1", from "`metric_config.level_names`";
    PROPORTION = "every-eval-ever::proportion", "a proportion may be above 1", doubt;
        "result" if "metric_unit = 'proportion'" => "max_score <= 1", from "`metric_config.metric_unit`";
    PERCENT = "every-eval-ever::percent", "a percentage may be above 100", doubt;
        "result" if "metric_unit = 'percent'" => "max_score <= 100", from "`metric_config.metric_unit`";
    INTERVAL = "every-eval-ever::interval", "a score is outside of its own interval";
        "result" => "lower <= score <= upper", from "`uncertainty.confidence_interval`";
    NEGATIVE = "every-eval-ever::negative-error", "a standard error is negative";
        "result" => "stderr >= 0", from "a square root";
    STDERR = "every-eval-ever::stderr", "a standard error is not the deviation over the root of the number of samples", doubt;
        "result" if "deviation > 0" => "stderr = deviation / sqrt(samples)", from "`uncertainty.standard_error` in the schema; converters may mean another deviation";
    SHARE = "every-eval-ever::share", "an accuracy is no whole number of right answers over the questions", doubt;
        "result" if "metric_kind = 'accuracy'" && "metric_unit = 'proportion'" => "score = floor(score * known.items + 0.499) / known.items",
        from "the published data set";
    SHARE_STATED = "every-eval-ever::stated-share", "an accuracy is no whole number of right answers over the samples", doubt;
        "result" if "metric_kind = 'accuracy'" && "metric_unit = 'proportion'" && "absent(known.items) = 1" =>
        "score = floor(score * samples + 0.499) / samples", from "`uncertainty.num_samples`";
    QUESTIONS = "every-eval-ever::questions", "the data set has another number of questions", doubt;
        "result" => "questions = known.questions", from "the published data set";
    OVERALL = "every-eval-ever::overall", "the overall score is not that of all questions of the subjects", doubt;
        "result" if "abs(score - mean(subject.score)) > 0" => "score = sum(subject.size * subject.score) / sum(subject.size)",
        from "the published data set: each subject by its number of questions",
        perhaps "score = mean(subject.score)": "it is the plain mean of the subjects";
    TIMESTAMP = "every-eval-ever::timestamp", "the identifier has another time than the record", doubt;
        "document" => "retrieved_timestamp = named.timestamp", from "`evaluation_id` in the schema: name, model and time";
    DEVELOPER = "every-eval-ever::developer", "the developer is not that of the model's identifier", doubt;
        "document" => "developer = named.developer", from "`model_info` in the schema";
    UNIQUE = "every-eval-ever::result-id", "two results have one identifier", doubt;
        "document" => "ids = different.ids", from "`evaluation_result_id` in the schema";
    ROWS = "every-eval-ever::rows", "the file of instances has another number of lines";
        "document" => "total_rows = file.rows", from "`detailed_evaluation_results` in the schema";
    CHECKSUM = "every-eval-ever::checksum", "the file of instances has another checksum";
        "document" => "checksum = file.checksum", from "`detailed_evaluation_results` in the schema";
    MEAN = "every-eval-ever::mean-of-instances", "a score is not the mean over its instances", doubt;
        "result" => "score = instances.mean", from "`evaluation_result_id` of the instances, unless the metric is no mean";
    TOKENS = "every-eval-ever::tokens", "the total of tokens is no sum of its parts, whatever a provider counts", doubt;
        "instance" => "total_tokens = input_tokens + output_tokens + counted_as_well", from "`token_usage` in the schema";
    TURNS = "every-eval-ever::turns", "the number of turns is not that of the messages", doubt;
        "instance" => "num_turns = messages", from "`evaluation.num_turns` in the schema";
    CALLS = "every-eval-ever::calls", "the number of calls is not that in the messages";
        "instance" => "tool_calls_count = calls", from "`evaluation.tool_calls_count` in the schema";
    CORRECT = "every-eval-ever::correct", "an answer with a score of 1 is wrong, or one with 0 is right", doubt;
        "instance" if "score * (1 - score) = 0" => "is_correct = scored.correct", from "`evaluation` in the schema";
    OBJECT_PATH = "every-eval-ever::object-path", "an object does not lie where its identifier says", doubt;
        "object" => "object_path = object.path", from "the layout of the store";
    LEGACY = "every-eval-ever::legacy-path", "an object had another identifier before", doubt;
        "object" => "object_uuid = legacy.uuid", from "one fact, written twice";
    SIZE = "every-eval-ever::size", "an object has another size";
        "object" => "size_bytes = stored.size", from "the file itself";
    DIGEST = "every-eval-ever::sha256", "an object has another digest";
        "object" => "sha256 = stored.sha256", from "the file itself";
    SCHEMA = "every-eval-ever::schema-version", "an object is of another version of the schema";
        "object" => "eval_schema_version = stored.version", from "the file itself";
}
