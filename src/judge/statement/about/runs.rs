//! Which runs of a group a number is of, against what its words say: the best, the worst, the mean of so many.

use std::collections::BTreeSet;
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::quote::{self, ItemKind};
use repro_claim::syntax::ExpressionKind;

use super::{Mismatch, OTHER_RUNS, UNSAID_CHOICE, Words};
use crate::loss_unit::unit_of_leaf;
use crate::value::{Leaf, LeafKind};

/// Words by which a number is that of one run among others, or a limit of them all.
const SAY_SO: &[&str] = &[
    "best", "worst", "min", "max", "minimum", "maximum", "lowest", "highest", "smallest",
    "largest", "least", "most", "greatest", "fastest", "slowest", "top", "bottom", "extreme",
    "extremes", "all", "every", "each", "any", "no", "none", "never", "always", "even", "only",
    "single", "range", "ranges", "ranging", "between", "within", "spread", "span", "spans",
    "across", "to", "seed", "seeds", "run", "runs", "fold", "folds", "above", "below", "under",
    "over", "exceeds", "exceed", "beyond", "up", "low", "high", "much", "little", "lower",
    "higher", "than", "tuned", "selected", "chosen", "winner", "peak", "early",
];
/// Words for the least of several, and for the greatest.
const LEAST: &[&str] = &["lowest", "smallest", "minimum", "minimal", "min"];
const GREATEST: &[&str] = &["highest", "largest", "greatest", "maximum", "maximal", "max"];
/// What is the least or the greatest of the values of runs, and no model or budget.
const VALUES: &[&str] = &[
    "loss",
    "losses",
    "value",
    "score",
    "accuracy",
    "bpb",
    "perplexity",
    "seed",
    "run",
    "one",
    "result",
    "final",
    "validation",
    "of",
    "is",
    "",
];
/// Words for a mean over runs.
const MEANS: &[&str] = &[
    "averaged over seeds",
    "averaged over runs",
    "averaged over the seeds",
    "mean over seeds",
    "mean of seeds",
    "mean over runs",
    "mean of runs",
    "seed average",
    "seed mean",
    "average over seeds",
    "average over runs",
    "mean of the seeds",
    "mean over the seeds",
];

/// Words for an average of any kind.
const AVERAGE: &[&str] = &["on average", "averaged", "average of", "mean of", "mean over"];

/// One of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    Least,
    Greatest,
}

/// Whether a number is of other runs of a group than the words say.
pub fn other(words: Words, expressions: &[&Expression], leaves: &[Rc<Leaf>]) -> Mismatch {
    let recorded = || leaves.iter().filter(|leaf| leaf.kind == LeafKind::Recorded);
    let runs: BTreeSet<_> =
        recorded().filter_map(|leaf| leaf.evidence.as_ref()).map(|one| &one.bundle).collect();
    if runs.is_empty() {
        return None;
    }
    let picked = picks(expressions);
    let is_of_losses = recorded().all(|leaf| unit_of_leaf(leaf).is_some());
    let told = format!("it is of {} run{}", runs.len(), if runs.len() == 1 { "" } else { "s" });
    if runs.len() > 1
        && let [pick, ..] = picked.as_slice()
        && !says_so(words)
    {
        let name = if *pick == Pick::Least { "least" } else { "greatest" };
        let reason = format!("{told}, of which it takes the {name}, and no word says so");
        return Some((&UNSAID_CHOICE, reason));
    }
    let said = said_pick(words, is_of_losses);
    let lower = said_text(words).to_lowercase();
    if let [_] = picked.as_slice()
        && said.is_none()
        && AVERAGE.iter().any(|word| lower.contains(word))
        && !is_averaged(expressions)
    {
        return Some((
            &OTHER_RUNS,
            format!("the words say an average, and {told}, of which it takes one"),
        ));
    }
    if let [pick] = picked.as_slice()
        && said.is_some_and(|said| said != *pick)
    {
        let reason = "the words say the other end of the runs: the least for the greatest";
        return Some((&OTHER_RUNS, reason.to_owned()));
    }
    if runs.len() == 1 && is_of_losses && MEANS.iter().any(|mean| lower.contains(mean)) {
        return Some((&OTHER_RUNS, format!("the words say a mean over runs, and {told}")));
    }
    let count = runs_in_words(words.quote).filter(|_| is_of_losses);
    let count = count.filter(|count| runs.len() % count != 0)?;
    Some((&OTHER_RUNS, format!("the words say over {count} runs, and {told}")))
}

fn said_text(words: Words) -> String {
    format!("{} {}", words.quote, words.head.unwrap_or_default())
}

fn says_so(words: Words) -> bool {
    let signs = ['–', '[', '∈', '<', '>', '≤', '≥'];
    let one = |text: &str| {
        let lower = text.to_lowercase();
        let mut parts = lower.split(|c: char| !c.is_alphanumeric());
        parts.any(|word| SAY_SO.contains(&word)) || lower.contains(signs)
    };
    // "1.702 +0.023/−0.015" are the ends around a mean.
    let number = words.number.and_then(|(start, end)| words.quote.get(start..end));
    number.is_some_and(|number| number.starts_with(['+', '-', '−']))
        || [words.quote, words.place, words.before, words.behind].into_iter().any(one)
        || words.head.is_some_and(one)
}

/// Which of several values the clause before a number, or the head of its column, says that it is.
fn said_pick(words: Words, is_of_losses: bool) -> Option<Pick> {
    let before = words.number.and_then(|(start, _)| words.quote.get(..start)).unwrap_or_default();
    let clause = before.rsplit([',', ';', ':', '(']).next().unwrap_or_default();
    let text = format!("{} {}", words.head.unwrap_or_default(), clause).to_lowercase();
    let all: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let has = |list: &[&str], of_losses: &str| {
        (0..all.len()).any(|at| {
            let next = all.get(at + 1).copied().unwrap_or_default();
            list.contains(&all[at]) && VALUES.contains(&next)
                || is_of_losses && all[at] == of_losses
        })
    };
    let names = |list: &[&str]| all.iter().any(|word| list.contains(word));
    if names(LEAST) && names(GREATEST) {
        return None;
    }
    match (has(LEAST, "best"), has(GREATEST, "worst")) {
        (true, false) => Some(Pick::Least),
        (false, true) => Some(Pick::Greatest),
        _ => None,
    }
}

/// How many runs the words say that something is computed over: "over six seeds", "across 3 runs".
fn runs_in_words(quote: &str) -> Option<usize> {
    let counts = |item: &quote::QuoteItem| {
        let ItemKind::Number(printed) = &item.kind else { return None };
        let before = quote.get(..item.span.start)?.trim_end().to_lowercase();
        let behind = quote.get(item.span.end..)?.trim_start().to_lowercase();
        let is_over = ["over", "across"].iter().any(|word| before.ends_with(word));
        let are_runs = ["seeds", "runs", "replicates"].iter().any(|word| behind.starts_with(word));
        let count = printed.as_f64();
        (is_over && are_runs && count > 1.0 && count.fract() == 0.0).then_some(count as usize)
    };
    quote::items(quote).iter().find_map(counts)
}

/// Whether expressions take a mean anywhere.
fn is_averaged(expressions: &[&Expression]) -> bool {
    let mut found = false;
    for expression in expressions {
        expression.each(&mut |part| {
            let is_mean = |name: &str| matches!(name, "mean" | "median" | "sum");
            found |= matches!(&part.kind, ExpressionKind::Call(name, _) if is_mean(name));
        });
    }
    found
}

/// The ends that expressions take of the runs of a group, each once.
fn picks(expressions: &[&Expression]) -> Vec<Pick> {
    let mut found = Vec::new();
    for expression in expressions {
        expression.each(&mut |part| {
            // Of the ends of an interval one is as good as the other.
            if let ExpressionKind::Call(name, arguments) = &part.kind
                && let [only] = arguments.as_slice()
                && !matches!(only.value.kind, ExpressionKind::List(_) | ExpressionKind::Call(..))
            {
                let pick = match name.as_str() {
                    "min" => Some(Pick::Least),
                    "max" => Some(Pick::Greatest),
                    _ => None,
                };
                found.extend(pick.filter(|pick| !found.contains(pick)));
            }
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Pick, runs_in_words, said_pick};
    use crate::statement::about::Words;

    #[test]
    fn words_say_over_how_many_runs() {
        assert_eq!(runs_in_words("1.70 over six seeds"), Some(6));
        assert_eq!(runs_in_words("1.70 ± 0.01 across 3 runs"), Some(3));
        assert_eq!(runs_in_words("ahead in 5 of 6 seeds"), None);
        assert_eq!(runs_in_words("over 12 layers"), None);
    }

    #[test]
    fn words_say_which_end_of_the_runs() {
        let of = |quote: &str, number: &str| {
            let at = quote.find(number).unwrap();
            let number = Some((at, at + number.len()));
            said_pick(Words { quote, place: "", head: None, before: "", behind: "", number }, true)
        };
        assert_eq!(of("The lowest loss of any run is 1.72", "1.72"), Some(Pick::Least));
        assert_eq!(of("the worst mixture, at 1.68,", "1.68"), None);
        assert_eq!(of("the worst seed ends at 1.72", "1.72"), Some(Pick::Greatest));
        assert_eq!(of("at the highest rate no seed is below 1.68", "1.68"), None);
    }
}
