//! Which models words are about, against those that were read: "the dense model has 1.7016" of a mixture, "dense beats
//! the mixture" over the opposite order.

use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::quote;
use repro_claim::syntax::{ExpressionKind, RelationOperator};

use super::matched::RunCost;
use super::quantities::Better;
use super::{Mismatch, OTHER_ORDER, OTHER_RUNS, Words};
use crate::value::Leaf;

/// Words for models of one network, and for those with experts.
const DENSE: &[&str] = &["dense"];
const SPARSE: &[&str] = &["mixture", "moe", "sparse", "mixtures", "moes"];
/// What is dense in a mixture too.
const DENSE_PARTS: &[&str] =
    &["layer", "layers", "attention", "ffn", "feed", "block", "blocks", "embedding", "matmul"];
/// Words by which the value of what stands before them is smaller, or larger.
const SMALLER: &[&str] = &["lower", "below", "smaller", "less", "fewer", "under"];
const LARGER: &[&str] = &["higher", "above", "larger", "greater", "more"];
/// Words by which what stands before them is better, or worse.
const AHEAD: &[&str] = &[
    "better",
    "beats",
    "beat",
    "outperforms",
    "outperform",
    "wins",
    "ahead",
    "leads",
    "superior",
    "improves",
];
const BEHIND: &[&str] = &["worse", "trails", "behind", "loses", "inferior", "lags"];
/// Words that turn a sentence around, or deny it.
const TURNS: &[&str] = &[
    "not", "no", "never", "neither", "nor", "by", "while", "but", "although", "though", "whereas",
    "yet", "if", "until", "without", "and", "or", "instead", "from",
];

/// Words by which something is held against another model.
const COMPARES: &[&str] = &[
    "than",
    "vs",
    "versus",
    "against",
    "compared",
    "comparing",
    "baseline",
    "over",
    "gap",
    "match",
    "matches",
    "exceeds",
    "exceed",
    "difference",
    "between",
    "both",
    "relative",
    "same",
    "as",
    "within",
    "to",
];

/// Whether a number is of mixtures where the words name dense models alone, or the other way.
pub fn other_kind(
    words: Words,
    compared: &[Rc<Leaf>],
    course_of: &dyn Fn(&str, Option<u64>) -> Option<RunCost>,
) -> Mismatch {
    let all = split(words.quote);
    let compares = |word: &String| {
        let word = word.as_str();
        COMPARES.contains(&word)
            || [SMALLER, LARGER, AHEAD, BEHIND, TURNS].iter().any(|list| list.contains(&word))
    };
    // A second number may be that of the other model, and so may one that is compared.
    if quote::items(words.quote).len() != 1 || all.iter().any(compares) {
        return None;
    }
    let is_part =
        |at: usize| all.get(at + 1).is_some_and(|next| DENSE_PARTS.contains(&next.as_str()));
    let is_dense = |at: usize| DENSE.contains(&all[at].as_str()) && !is_part(at);
    let says_dense = (0..all.len()).any(is_dense);
    let says_sparse = all.iter().any(|word| {
        ["moe", "mixture", "sparse", "expert"].iter().any(|known| word.starts_with(known))
    });
    let mut kinds = Vec::new();
    for leaf in compared {
        let Some(evidence) = &leaf.evidence else { continue };
        let (total, active) = course_of(&evidence.bundle, leaf.step)?.parameters?;
        kinds.push(total > active);
    }
    let (first, rest) = kinds.split_first()?;
    if rest.iter().any(|kind| kind != first) {
        return None;
    }
    let reason = match (says_dense, says_sparse, *first) {
        (true, false, true) => "the words name a dense model, and the receipts are of mixtures",
        (false, true, false) => "the words name a mixture, and the receipts are of dense models",
        _ => return None,
    };
    Some((&OTHER_RUNS, reason.to_owned()))
}

/// Whether a relation puts two sides into the opposite order of the words that name both.
pub fn other_order(words: Words, relation: &Expression) -> Mismatch {
    let ExpressionKind::Relation(first, rest) = &relation.kind else { return None };
    let [(sign, second)] = rest.as_slice() else { return None };
    let is_smaller = match sign {
        RelationOperator::Less | RelationOperator::LessOrEqual => true,
        RelationOperator::Greater | RelationOperator::GreaterOrEqual => false,
        _ => return None,
    };
    let (a, b) = (labels(first), labels(second));
    let own = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|label| !other.contains(label)).cloned().collect()
    };
    let sides = [own(&a, &b), own(&b, &a)];
    let all = split(words.quote);
    if all.iter().any(|word| TURNS.contains(&word.as_str()) || word.ends_with("n't")) {
        return None;
    }
    let better = better_of(relation);
    let direction = |word: &String| {
        let word = word.as_str();
        let evaluative =
            |is_ahead: bool| better.map(|better| is_ahead == (better == Better::Lower));
        match () {
            () if SMALLER.contains(&word) => Some(true),
            () if LARGER.contains(&word) => Some(false),
            () if AHEAD.contains(&word) => evaluative(true),
            () if BEHIND.contains(&word) => evaluative(false),
            () => None,
        }
    };
    let mut found = all.iter().enumerate().filter_map(|(at, word)| Some((at, direction(word)?)));
    let (at, says_smaller) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let side = |word: &String| sides.iter().position(|labels| labels.contains(word));
    let subject = all[..at].iter().rev().find_map(side)?;
    let object = all[at..].iter().find_map(side)?;
    if subject == object || (subject == 0) == (says_smaller == is_smaller) {
        return None;
    }
    let reason = format!(
        "the words put it the other way round than `{relation}`: \"{}\" stands on the other side",
        all[..at].iter().rev().find(|word| side(word).is_some()).map_or("", String::as_str)
    );
    Some((&OTHER_ORDER, reason))
}

/// Which values are better of what both sides of a relation give.
fn better_of(relation: &Expression) -> Option<Better> {
    let mut found = None;
    relation.each(&mut |part| {
        if matches!(part.kind, ExpressionKind::Field(..)) {
            found = found.or(Better::of(part));
        }
    });
    found
}

/// The words that name what an expression reads: the parts of its names, and words for the same.
fn labels(side: &Expression) -> Vec<String> {
    let text = side.to_string().to_lowercase();
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    let paths =
        parts.filter(|part| part.contains('.') && !part.starts_with(|c: char| c.is_ascii_digit()));
    let mut labels = Vec::new();
    for path in paths {
        let names: Vec<&str> = path.split('.').collect();
        for name in &names[..names.len() - 1] {
            labels.push((*name).to_owned());
            if name.starts_with("moe") {
                labels.extend(SPARSE.iter().map(|word| (*word).to_owned()));
            }
        }
    }
    labels
}

fn split(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('’', "'");
    let parts = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = parts.map(|word| word.strip_suffix("'s").unwrap_or(word));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::other_order;
    use crate::statement::about::Words;
    use repro_claim::Expression;

    #[test]
    fn words_and_relations_have_one_order() {
        let differs = |quote: &str, relation: &str| {
            let words =
                Words { quote, place: "", head: None, before: "", behind: "", number: None };
            other_order(words, &Expression::parse(relation).unwrap()).is_some()
        };
        let order = "arm.moe.loss < arm.dense.loss";
        assert!(differs("dense beats the mixture", order));
        assert!(!differs("the mixture beats dense", order));
        assert!(differs("the mixture has a higher loss than the dense model", order));
        assert!(!differs("Compared with dense, the mixture has a lower loss", order));
        assert!(!differs("the mixture is beaten by dense", order));
        assert!(!differs("dense does not beat the mixture", order));
        let printed = "printed(mean(moe64.loss)) < printed(mean(moe16.loss))";
        assert!(differs("moe16 is below moe64", printed));
        assert!(!differs("moe64 is below moe16", printed));
        assert!(!differs("the mixture is better", printed));
    }
}
