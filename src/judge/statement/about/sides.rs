//! Which models words are about, against those that were read: "the dense model has 1.7016" of a mixture, "dense beats
//! the mixture" over the opposite order.

use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::quote;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

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
    "surpasses",
    "surpass",
    "tops",
    "edges",
    "defeats",
    "defeat",
    "prevails",
    "outclasses",
    "overtakes",
    "win",
    "best",
    "first",
    "edge",
];
const BEHIND: &[&str] = &[
    "worse", "trails", "trail", "behind", "loses", "lose", "inferior", "lags", "lag", "worst",
    "last",
];
/// Words that turn a sentence around.
const TURNS: &[&str] = &[
    "by", "while", "but", "although", "though", "whereas", "yet", "if", "until", "and", "or",
    "instead", "from",
];
/// Words that deny it.
const DENIALS: &[&str] = &[
    "not", "no", "never", "neither", "nor", "none", "without", "cannot", "fails", "fail",
    "nowhere", "nobody", "false", "hardly", "barely", "scarcely",
];
/// What is denied where two things are one, or where nothing is missing.
const ONE: &[&str] = &[
    "differ",
    "differs",
    "difference",
    "differences",
    "different",
    "change",
    "changes",
    "changed",
    "vary",
    "varies",
    "overlap",
    "overlaps",
    "missing",
    "omitted",
    "left",
    "lost",
    "skipped",
    "only",
    "just",
    "doubt",
    "matter",
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
            || [SMALLER, LARGER, AHEAD, BEHIND, TURNS, DENIALS]
                .iter()
                .any(|list| list.contains(&word))
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

/// Whether a name of the post stands for mixtures alone, or for dense models alone.
pub type IsMixture<'m> = &'m dyn Fn(&str) -> Option<bool>;

/// Whether a relation puts two sides into the opposite order of the words that name both.
pub fn other_order(words: Words, relation: &Expression, is_mixture: IsMixture<'_>) -> Mismatch {
    let is_number = words.number.is_some();
    if is_number && split(words.quote).iter().any(|word| is_denial(word)) {
        return None;
    }
    let (is_so, subject) = said_order(words.quote, &order_in(relation)?, is_mixture)?;
    let reason = format!(
        "the words put it the other way round than `{relation}`: \"{subject}\" stands on the other side"
    );
    (!is_so).then_some((&OTHER_ORDER, reason))
}

/// So many words behind a denial may say what is denied.
const REACH: usize = 4;

/// The denial in words whose only relation affirms what is denied: an order, a truth, a name.
pub fn undenied(quote: &str, relation: &Expression, is_mixture: IsMixture<'_>) -> Option<String> {
    let all = split(quote);
    let denial = |before: usize| all[..before].iter().rposition(|word| is_denial(word));
    let is_of_one = all.iter().any(|word| ONE.contains(&word.as_str()));
    if is_of_one {
        return None;
    }
    let at = match &relation.kind {
        ExpressionKind::Relation(_, rest) => match rest.as_slice() {
            [(RelationOperator::Equal, side)] => match &side.kind {
                ExpressionKind::Name(name) if name == "true" => denial(all.len())?,
                ExpressionKind::Text(text) => {
                    let own = split(text);
                    let named = all.windows(own.len().max(1)).position(|words| *words == own)?;
                    denial(named).filter(|_| !own.iter().any(|word| is_denial(word)))?
                }
                _ => return None,
            },
            _ => {
                let order = order_in(relation).filter(|order| order.better.is_some())?;
                let at = denial(all.len())?;
                let behind = &all[at..(at + 1 + REACH).min(all.len())];
                let is_way = |word: &String| {
                    let word = word.as_str();
                    [SMALLER, LARGER, AHEAD, BEHIND].iter().any(|list| list.contains(&word))
                };
                let is_read = said_order(quote, &order, is_mixture).is_some();
                if is_read || !behind.iter().any(is_way) {
                    return None;
                }
                at
            }
        },
        _ => return None,
    };
    Some(all[at].clone())
}

fn is_denial(word: &str) -> bool {
    DENIALS.contains(&word) || word.ends_with("n't")
}

/// Whether an expression puts values into an order of which some are better.
pub fn orders_results(expression: &Expression) -> bool {
    order_in(expression).is_some_and(|order| order.better.is_some())
}

fn is_call(part: &Expression, function: &str) -> bool {
    matches!(&part.kind, ExpressionKind::Call(name, _) if name == function)
}

/// Two sides, and whether the first is the smaller one.
struct SidesOrder<'e> {
    sides: [&'e Expression; 2],
    is_smaller: bool,
    better: Option<Better>,
}

/// The order that an expression states: a relation, the sign of a difference, how often something is smaller.
fn order_in(expression: &Expression) -> Option<SidesOrder<'_>> {
    let better = better_of(expression);
    let order = |a, b, is_smaller| Some(SidesOrder { sides: [a, b], is_smaller, better });
    match &expression.kind {
        // Each of them: `how_many(a.loss < b.loss) = count(a)`.
        ExpressionKind::Relation(first, rest) if is_call(first, "how_many") => {
            let is_all = |(sign, side): &(RelationOperator, Expression)| {
                *sign == RelationOperator::Equal && is_call(side, "count")
            };
            if rest.iter().all(is_all) { order_in(first) } else { None }
        }
        ExpressionKind::Relation(first, rest) => {
            let [(sign, second)] = rest.as_slice() else { return None };
            let is_smaller = match sign {
                RelationOperator::Less | RelationOperator::LessOrEqual => true,
                RelationOperator::Greater | RelationOperator::GreaterOrEqual => false,
                _ => return None,
            };
            order(first, second, is_smaller)
        }
        ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, a, b) => order(a, b, false),
        ExpressionKind::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("how_many", [only]) => order_in(&only.value),
            ("percent_below", [a, b]) => order(&a.value, &b.value, true),
            ("percent_above", [a, b]) => order(&a.value, &b.value, false),
            _ => None,
        },
        _ => None,
    }
}

/// Whether words that name both sides put them in this order, and the word for the one that they speak of; none where
/// that cannot be read.
fn said_order(
    quote: &str,
    order: &SidesOrder<'_>,
    is_mixture: IsMixture<'_>,
) -> Option<(bool, String)> {
    let [a, b] = order.sides.map(|side| labels(side, is_mixture));
    let own = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|label| !other.contains(label)).cloned().collect()
    };
    let sides = [own(&a, &b), own(&b, &a)];
    let all = split(quote);
    if all.iter().any(|word| TURNS.contains(&word.as_str())) {
        // "Lower by 0.02" turns nothing around.
        let is_by_how_much = |at: usize| {
            all[at] == "by"
                && all
                    .get(at + 1)
                    .is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
        };
        let turns = |at: usize| TURNS.contains(&all[at].as_str()) && !is_by_how_much(at);
        if (0..all.len()).any(turns) {
            return None;
        }
    }
    let better = order.better;
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
    // What is denied behind is another thing: "below the mixture, which is no significant difference".
    let denials = all[..at].iter().filter(|word| is_denial(word)).count();
    if denials > 1 || found.any(|(_, other)| other != says_smaller) {
        return None;
    }
    let side = |word: &String| sides.iter().position(|labels| labels.contains(word));
    let is_side = |word: &&String| side(word).is_some();
    let before = all[..at].iter().rev().find(is_side);
    // "The best model is dense."
    let is_superlative = ["best", "worst", "first", "last"].contains(&all[at].as_str());
    let named = before.or_else(|| all[at..].iter().find(is_side).filter(|_| is_superlative))?;
    let subject = side(named)?;
    let mut others = all[at..].iter().filter_map(side).filter(|_| before.is_some());
    if others.next() == Some(subject) {
        return None;
    }
    let says_smaller = says_smaller != (denials == 1);
    Some(((subject == 0) == (says_smaller == order.is_smaller), named.clone()))
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
fn labels(side: &Expression, is_mixture: IsMixture<'_>) -> Vec<String> {
    let text = side.to_string().to_lowercase();
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    let paths =
        parts.filter(|part| part.contains('.') && !part.starts_with(|c: char| c.is_ascii_digit()));
    let mut labels = Vec::new();
    for path in paths {
        let names: Vec<&str> = path.split('.').collect();
        let known = (1..names.len()).find_map(|end| is_mixture(&names[..end].join(".")));
        match known {
            Some(true) => labels.extend(SPARSE.iter().map(|word| (*word).to_owned())),
            Some(false) => labels.extend(DENSE.iter().map(|word| (*word).to_owned())),
            None => {}
        }
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
    let lower = lower.replace(" < ", " below ").replace(" > ", " above ");
    let parts = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = parts.map(|word| word.strip_suffix("'s").unwrap_or(word));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{other_order, undenied};
    use crate::statement::about::Words;
    use repro_claim::Expression;

    #[test]
    fn words_and_relations_have_one_order() {
        let differs = |quote: &str, relation: &str| {
            let words =
                Words { quote, place: "", head: None, before: "", behind: "", number: None };
            other_order(words, &Expression::parse(relation).unwrap(), &|_| None).is_some()
        };
        let order = "arm.moe.loss < arm.dense.loss";
        assert!(differs("dense beats the mixture", order));
        assert!(!differs("the mixture beats dense", order));
        assert!(differs("the mixture has a higher loss than the dense model", order));
        assert!(!differs("Compared with dense, the mixture has a lower loss", order));
        assert!(!differs("the mixture is beaten by dense", order));
        assert!(!differs("dense does not beat the mixture", order));
        assert!(differs("the mixture does not beat the dense model", order));
        assert!(!differs("the mixture is below dense, which is no wonder", order));
        assert!(differs(
            "dense outperforms the mixture by 0.3",
            "mean(a.dense.loss) - mean(a.moe.loss)"
        ));
        assert!(!differs(
            "the mixture is better than dense by 0.3",
            "mean(a.dense.loss) - mean(a.moe.loss)"
        ));
        assert!(differs(
            "dense is 4% below the mixture",
            "percent_below(a.moe.loss, a.dense.loss)"
        ));
        assert!(differs(
            "on 5 seeds dense beats the mixture",
            "how_many(a.moe.loss < a.dense.loss)"
        ));
        let printed = "printed(mean(moe64.loss)) < printed(mean(moe16.loss))";
        assert!(differs("moe16 is below moe64", printed));
        assert!(!differs("moe64 is below moe16", printed));
        assert!(!differs("the mixture is better", printed));
    }

    #[test]
    fn the_receipts_know_which_runs_are_dense() {
        let is_mixture = |name: &str| Some(name == "x");
        let differs = |quote: &str, relation: &str| {
            let words =
                Words { quote, place: "", head: None, before: "", behind: "", number: None };
            let relation = Expression::parse(relation).unwrap();
            other_order(words, &relation, &is_mixture).is_some()
        };
        assert!(differs("The dense model is better than the mixture", "x.loss < y.loss"));
        assert!(!differs("The mixture is better than the dense model", "x.loss < y.loss"));
    }

    #[test]
    fn what_the_words_deny_no_relation_affirms() {
        let is_open = |quote: &str, relation: &str| {
            undenied(quote, &Expression::parse(relation).unwrap(), &|_| None).is_some()
        };
        let order = "a.x.loss < a.y.loss";
        assert!(is_open("The mixture never beats dense", order));
        assert!(is_open("The run was not finished", "a.run.finished = true"));
        assert!(is_open("It was never trained in float32", "a.config.dtype = 'float32'"));
        assert!(!is_open("It was trained in float32, not in bf16", "a.config.dtype = 'float32'"));
        assert!(!is_open("No seed of y is below x", order));
        assert!(!is_open("It needs no new training, as it is better", order));
        assert!(!is_open(
            "The width does not change",
            "held_fixed(it.config.width, over = [a, b])"
        ));
    }
}
