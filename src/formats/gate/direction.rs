//! Interprets metric names: whether lower is better, and which quantity it is.

use std::collections::BTreeSet;

use crate::gate::course::words;

/// Words in names of metrics for which lower is better.
const LOWER: [&str; 14] = [
    "loss",
    "bpb",
    "bpc",
    "nll",
    "nats",
    "ppl",
    "perplexity",
    "error",
    "err",
    "wer",
    "cer",
    "mse",
    "rmse",
    "mae",
];
/// Words for durations, for which lower is better.
const DURATIONS: [&str; 2] = ["seconds", "ms"];
/// Words for metrics other than fractions for which higher is better.
const HIGHER: [&str; 2] = ["core", "reward"];
/// Words for fractions for which higher is better; some logs print them as percentages.
const SHARES: [&str; 13] = [
    "acc",
    "accuracy",
    "f1",
    "bleu",
    "rouge",
    "map",
    "map50",
    "map95",
    "auc",
    "auroc",
    "precision",
    "recall",
    "mfu",
];
/// Words that reverse the meaning of another word or turn it into a different quantity.
const TURNING: [&str; 41] = [
    "neg",
    "negative",
    "negated",
    "non",
    "not",
    "inv",
    "inverse",
    "reciprocal",
    "minus",
    "drop",
    "decrease",
    "increase",
    "reduction",
    "degradation",
    "forgetting",
    "regret",
    "penalty",
    "gain",
    "improvement",
    "delta",
    "diff",
    "difference",
    "gap",
    "margin",
    "free",
    "scale",
    "weight",
    "coef",
    "rank",
    "time",
    "std",
    "stdev",
    "stddev",
    "sd",
    "var",
    "variance",
    "se",
    "sem",
    "stderr",
    "threshold",
    "target",
];
/// Quantities by their words.
const QUANTITIES: [&[&str]; 17] = [
    &["loss", "nll", "xent", "ce", "entropy"],
    &["ppl", "perplexity"],
    &["bpb"],
    &["bpc"],
    &["acc", "accuracy"],
    &["error", "err"],
    &["f1"],
    &["bleu"],
    &["rouge"],
    &["wer"],
    &["cer"],
    &["mse"],
    &["rmse"],
    &["mae"],
    &["auc", "auroc"],
    &["precision"],
    &["recall"],
];
/// The words that must also match if two names denote one quantity.
const SORTS: [&[&str]; 5] =
    [&["top3"], &["top5", "acc5"], &["top10"], &["ema"], &["smooth", "smoothed"]];
/// A run's best value differs from its last one.
const BEST: &[&str] = &["best", "min", "max"];

/// Whether a word of the name is in `known`; this includes `Loss` in `CrossEntropyLoss`, and `top-5`.
fn has(name: &str, known: &[&str]) -> bool {
    let is_known = |word: &str| known.iter().any(|known| known.eq_ignore_ascii_case(word));
    let next = words(name).skip(1).chain([""]);
    words(name).zip(next).any(|(word, next)| {
        is_known(word) || is_known(last_piece(word)) || is_known(&format!("{word}{next}"))
    })
}

/// Whether lower is better according to a metric's name; none if its words contradict each other.
pub fn told_by(name: &str) -> Option<bool> {
    let plain = name.to_ascii_lowercase().replace(' ', "");
    // `1-accuracy` is an error; `top-1-accuracy` is not.
    let is_complement = plain.starts_with('-') || plain.contains("1-") && !plain.contains("top-1");
    let is_higher = has(name, &HIGHER) || is_share(name);
    match (has(name, &LOWER), is_higher, has(name, &DURATIONS)) {
        (false, false, is_duration) => is_duration.then_some(true),
        _ if is_complement || has(name, &TURNING) => None,
        (true, false, _) => Some(true),
        (false, true, _) => Some(false),
        (true, true, _) => None,
    }
}

/// Whether a metric is a fraction, which some logs print as a percentage.
pub fn is_share(name: &str) -> bool {
    has(name, &SHARES)
}

/// Whether two names may denote one quantity: `val_loss` and `eval/nll`, but not `val_ppl` or `best_val_loss`.
pub fn may_be_one(one: &str, other: &str) -> bool {
    let of = |name: &str, known: &[&'static [&'static str]]| -> BTreeSet<&'static str> {
        let named = known.iter().filter(|words| has(name, words));
        named.filter_map(|words| words.first().copied()).collect()
    };
    let [first, second] = [one, other].map(|name| of(name, &QUANTITIES));
    let is_open = first.is_empty() || second.is_empty();
    (is_open || first == second)
        && of(one, &SORTS) == of(other, &SORTS)
        && has(one, BEST) == has(other, BEST)
}

/// Splits `CrossEntropyLoss` into words to find `Loss`.
fn last_piece(word: &str) -> &str {
    let pairs = word.char_indices().zip(word.chars().skip(1));
    let starts =
        pairs.filter(|((_, one), next)| one.is_ascii_lowercase() && next.is_ascii_uppercase());
    let start = starts.last().map_or(0, |((at, _), _)| at + 1);
    word.get(start..).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_better() {
        for (name, wanted) in [
            ("val_loss", Some(true)),
            ("validation/loss", Some(true)),
            ("eval/bpb", Some(true)),
            ("core_metric", Some(false)),
            ("CORE metric", Some(false)),
            ("metrics/mAP50(B)", Some(false)),
            ("eval.accuracy", Some(false)),
            ("acc_norm", Some(false)),
            ("loss_accuracy", None),
            ("eval/c4/CrossEntropyLoss", Some(true)),
            ("train_time_ms", Some(true)),
            ("closs", None),
            ("neg_mean_squared_error", None),
            ("loss_scale", None),
            ("val/1-accuracy", None),
            ("val/top-1-accuracy", Some(false)),
            ("score", None),
        ] {
            assert_eq!(told_by(name), wanted, "{name}");
        }
    }

    #[test]
    fn a_word_that_qualifies_another_says_no_direction() {
        for name in [
            "time_to_accuracy",
            "val_accuracy_time",
            "map_time",
            "accuracy_gap",
            "accuracy_std",
            "acc_stderr",
            "accuracy_degradation",
            "accuracy_forgetting",
            "regret_accuracy",
            "val_acc_err",
            "non_accuracy",
            "1 - val_acc",
            "rank_accuracy",
            "val_reward_penalty",
            "loss_margin",
            "inv_ppl",
            "inverse_loss",
            "-val_loss",
            "-loss",
            "val_accuracy_drop",
        ] {
            assert_eq!(told_by(name), None, "{name}");
        }
    }

    #[test]
    fn names_of_unlike_quantities_are_told() {
        for (one, other, wanted) in [
            ("val_loss", "validation/CrossEntropyLoss", true),
            ("core_metric", "Base model evaluation/CORE metric", true),
            ("val_acc", "eval/accuracy", true),
            ("val_acc", "val/top-1-accuracy", true),
            ("score", "val_loss", true),
            ("val_ppl", "val_loss", false),
            ("val_loss", "val_bpb", false),
            ("val_acc", "val_acc_top5", false),
            ("val_acc", "val/top-5-accuracy", false),
            ("val_loss", "val_loss_ema", false),
            ("val_loss", "best_val_loss", false),
            ("val_loss", "smoothed_val_loss", false),
        ] {
            assert_eq!(may_be_one(one, other), wanted, "{one} {other}");
        }
    }
}
