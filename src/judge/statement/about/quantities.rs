//! What words say that a number counts or measures, against what its expression gives: "activates 206,400 parameters"
//! and `total(moe)`, "256 experts" and the size of the vocabulary.
//!
//! Only words right beside the number are heard, and only expressions that give one field or count, a mean or a sum
//! of it, or so many times of it: what a formula gives has no name.

use std::ops::Range;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};

use super::beside::{Beside, is_end};
use super::{Mismatch, OTHER_QUANTITY, Words};

/// What a number counts or measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    ActiveParameters,
    TotalParameters,
    Parameters,
    Tokens,
    Steps,
    Experts,
    Layers,
    Heads,
    LearningRate,
    WeightDecay,
    Vocabulary,
    BatchSize,
    Context,
    Width,
    HeadWidth,
    Dropout,
    Perplexity,
    Accuracy,
    ErrorRate,
    Spread,
    Operations,
    Time,
    Money,
    Words,
    Loss,
}

/// A measure, its name, the words that stand for it beside a number, and the fields and functions that give it.
type Known = (Measure, &'static str, &'static [&'static str], &'static [&'static str]);

const KNOWN: &[Known] = &[
    (Measure::ActiveParameters, "active parameters", &[], &["active"]),
    (Measure::TotalParameters, "stored parameters", &[], &["total"]),
    (
        Measure::Parameters,
        "parameters",
        &["parameter", "parameters", "params", "weights"],
        &["params", "parameters"],
    ),
    (Measure::Tokens, "tokens", &["token", "tokens"], &["tokens", "tokens_seen", "unique_tokens"]),
    (
        Measure::Steps,
        "steps",
        &["step", "steps", "iterations", "updates"],
        &["step", "steps", "max_steps", "total_steps"],
    ),
    (
        Measure::Experts,
        "experts",
        &["expert", "experts"],
        &["num_experts", "num_experts_per_tok", "num_shared_experts", "n_routed_experts"],
    ),
    (
        Measure::Layers,
        "layers",
        &["layer", "layers", "blocks"],
        &["num_hidden_layers", "num_dense_layers", "n_layers"],
    ),
    (Measure::Heads, "heads", &["head", "heads"], &["num_attention_heads", "num_key_value_heads"]),
    (
        Measure::LearningRate,
        "a learning rate",
        &["lr", "learning rate", "learning rates"],
        &["lr", "learning_rate"],
    ),
    (Measure::WeightDecay, "a weight decay", &["weight decay"], &["weight_decay"]),
    (Measure::Vocabulary, "the size of a vocabulary", &["vocabulary", "vocab"], &["vocab_size"]),
    (
        Measure::BatchSize,
        "a batch size",
        &["batch size", "sequences", "batch"],
        &["batch_size", "global_batch_size", "train_batch_size"],
    ),
    (
        Measure::Context,
        "a length of sequences",
        &["sequence length", "context length", "context", "context window"],
        &["seq_len", "sequence_length", "max_position_embeddings", "block_size"],
    ),
    (
        Measure::Width,
        "a width",
        &["width", "hidden size", "hidden dimension", "model dimension", "d_model"],
        &["hidden_size", "d_model", "n_embd"],
    ),
    (Measure::HeadWidth, "the width of a head", &["head dimension", "head dim"], &["head_dim"]),
    (Measure::Dropout, "a dropout rate", &["dropout"], &["dropout", "attention_dropout"]),
    (Measure::Perplexity, "a perplexity", &["perplexity"], &["perplexity", "ppl"]),
    (Measure::Accuracy, "accuracy", &["accuracy"], &["accuracy"]),
    (
        Measure::ErrorRate,
        "errors",
        &["errs on", "error rate", "error rates", "errors", "mistakes"],
        &[],
    ),
    (
        Measure::Spread,
        "a spread",
        &["standard deviation", "standard deviations", "standard error", "std", "stdev"],
        &["sd", "se"],
    ),
    (Measure::Operations, "operations", &["flop", "flops", "operations", "compute"], &[]),
    (
        Measure::Time,
        "time",
        &["hour", "hours", "minutes", "seconds", "days", "weeks", "gpu-hours"],
        &[],
    ),
    (Measure::Money, "money", &["dollars", "usd", "euros", "eur"], &[]),
    (Measure::Words, "words", &["words", "characters", "documents", "sentences"], &[]),
    (Measure::Loss, "a loss", &[], &["loss", "bpb", "nats"]),
];

/// Words for the parameters that one token passes, and for all that are stored.
const ACTIVE: &[&str] = &["active", "activated", "activates", "activate", "activating"];
const TOTAL: &[&str] = &["total", "stored", "stores", "store", "storing"];

/// What runs come to.
const RESULTS: [Measure; 5] =
    [Measure::Loss, Measure::Perplexity, Measure::Accuracy, Measure::ErrorRate, Measure::Spread];
/// Relations by which a quantity is the same everywhere.
const FIXED: [&str; 2] = ["held_fixed", "nearly_fixed"];

/// A number behind these words and more is one.
const SPREADS: [&str; 2] = ["standard deviation of", "standard error of"];

/// Whether the words beside a number, or the head of its column, name another quantity than the expression gives.
pub fn other(words: Words, expression: &Expression) -> Mismatch {
    let found = measure_of(expression)?;
    let beside = words.number.map(|(start, end)| named_beside(words.quote, &(start..end)));
    let mut said = beside.unwrap_or_default();
    if said.is_empty() {
        said = words.head.map(of_head).unwrap_or_default();
    }
    let is_said =
        |said: &Measure| *said == found || said.is_part_of(found) || found.is_part_of(*said);
    // Experts are active too.
    if !found.is_part_of(Measure::Parameters) && found != Measure::Parameters {
        said.retain(|one| !one.is_part_of(Measure::Parameters));
    }
    if said.is_empty() || said.iter().any(is_said) {
        return None;
    }
    let reason =
        format!("the words name {}, and the expression gives {}", said[0].name(), found.name());
    Some((&OTHER_QUANTITY, reason))
}

/// Whether the words name other quantities than the relations of a sentence find to be the same everywhere.
pub fn other_fixed(words: Words, relations: &[&Expression]) -> Mismatch {
    let fixed = |relation: &&Expression| match &relation.kind {
        ExpressionKind::Call(name, arguments) if FIXED.contains(&name.as_str()) => {
            measure_of(&arguments.first()?.value)
        }
        _ => None,
    };
    // What is not known may be what the words name.
    let fixed: Vec<Measure> = relations.iter().map(fixed).collect::<Option<_>>()?;
    let lower = words.quote.to_lowercase();
    // Of a list of things not all may be known.
    if lower.contains([',', ';', '/', '&']) || lower.contains(" and ") {
        return None;
    }
    let parts = |c: char| !c.is_alphanumeric() && c != '_';
    let spoken: Vec<_> =
        lower.split(parts).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let mut said = named(&spoken);
    said.extend(share_of(&spoken));
    let is_said = |one: &Measure| {
        said.iter().any(|said| said == one || said.is_part_of(*one) || one.is_part_of(*said))
    };
    let (first, found) = (said.first()?, fixed.first()?);
    if fixed.iter().any(is_said) {
        return None;
    }
    let reason =
        format!("the words name {}, and the relation is of {}", first.name(), found.name());
    Some((&OTHER_QUANTITY, reason))
}

/// Whether the words name another result than an order is of: "a higher accuracy" over losses.
pub fn other_result(words: Words, relation: &Expression) -> Mismatch {
    if !matches!(relation.kind, ExpressionKind::Relation(..)) {
        return None;
    }
    let mut found = Vec::new();
    relation.each(&mut |part| {
        if matches!(part.kind, ExpressionKind::Field(..)) {
            found.extend(measure_of(part).filter(|one| RESULTS.contains(one)));
        }
    });
    let lower = words.quote.to_lowercase();
    let spoken = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut said = named(&spoken.map(str::to_owned).collect::<Vec<_>>());
    said.retain(|one| RESULTS.contains(one));
    let (first, found) =
        (said.first()?, found.first().filter(|_| found.windows(2).all(|pair| pair[0] == pair[1]))?);
    // "The loss and the accuracy" are two relations.
    if said.len() > 1 || first == found || lower.contains("loss") {
        return None;
    }
    let reason =
        format!("the words name {}, and the relation is of {}", first.name(), found.name());
    Some((&OTHER_QUANTITY, reason))
}

impl Measure {
    fn name(self) -> &'static str {
        KNOWN.iter().find(|known| known.0 == self).map_or("", |known| known.1)
    }

    /// Whether the word says more than the other: active parameters are parameters, and the tokens of a vocabulary tokens.
    fn is_part_of(self, other: Self) -> bool {
        match self {
            Self::ActiveParameters | Self::TotalParameters => other == Self::Parameters,
            Self::Vocabulary => other == Self::Tokens || other == Self::Words,
            // "16 sequences × 128 tokens", "tokens per sequence: 128".
            Self::Context => other == Self::Tokens,
            _ => false,
        }
    }
}

/// Which values of a quantity are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Of losses.
    Lower,
    /// Of accuracies.
    Higher,
}

impl Better {
    /// Of what an expression gives, where that is known.
    pub fn of(expression: &Expression) -> Option<Self> {
        match measure_of(expression)? {
            Measure::Loss | Measure::Perplexity | Measure::ErrorRate => Some(Self::Lower),
            Measure::Accuracy => Some(Self::Higher),
            _ => None,
        }
    }
}

/// What an expression gives, where that is one thing.
fn measure_of(expression: &Expression) -> Option<Measure> {
    let number = |part: &Expression| matches!(part.kind, ExpressionKind::Number(_));
    let is_constant = |part: &Expression| match &part.kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Power, base, _) => number(base),
        _ => number(part),
    };
    match &expression.kind {
        ExpressionKind::Field(_, name) => given_by(name),
        ExpressionKind::At(of, _) => measure_of(of),
        ExpressionKind::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("mean" | "sum" | "min" | "max" | "median" | "whole", [only]) => {
                measure_of(&only.value)
            }
            ("percent_below" | "percent_above", [of, _]) => measure_of(&of.value),
            _ => given_by(name),
        },
        ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b) => {
            let (factor, of) = match (is_constant(a), is_constant(b)) {
                (true, false) => (a, measure_of(b)?),
                (false, true) => (b, measure_of(a)?),
                _ => return None,
            };
            let is_of_parameters = of.is_part_of(Measure::Parameters);
            // Two operations of each parameter forward, and six with the way back.
            let is_cost = matches!(&factor.kind, ExpressionKind::Number(text) if ["2", "6"].contains(&text.as_str()));
            Some(if is_of_parameters && is_cost { Measure::Operations } else { of })
        }
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, of, by) if is_constant(by) => {
            measure_of(of)
        }
        _ => None,
    }
}

fn given_by(name: &str) -> Option<Measure> {
    KNOWN.iter().find(|known| known.3.contains(&name)).map(|known| known.0)
}

/// What the words right before and behind a number name.
fn named_beside(quote: &str, number: &Range<usize>) -> Vec<Measure> {
    let Some(beside) = Beside::of(quote, number) else { return Vec::new() };
    let last = beside.last(2);
    let mut said = named(&beside.behind);
    // What stands before the number is its name at its end only: "the learning rate was 0.004".
    // "Steps and tokens were 1,209 and 2.48M" names one after the other.
    let is_of_one = named(&beside.before).len() < 2 && !beside.is_condition();
    let own = named(last).into_iter().filter(|one| is_of_one && ends_with(last, *one));
    said.extend(own);
    said.extend(has_price(quote, number).then_some(Measure::Money));
    // "The standard deviation of the loss is 1.7".
    let before = beside.before.join(" ");
    let is_spread = SPREADS.iter().any(|spread| before.contains(spread));
    said.extend(is_spread.then_some(Measure::Spread));
    // "Of the stored parameters 8 are active": what no word links to the number is not its name.
    let is_linked = !beside.links.is_empty() || quote[..number.start].trim_end().ends_with(':');
    let own = match is_linked && !beside.is_condition() {
        true => beside.before.as_slice(),
        false => beside.last(1),
    };
    let near = own.iter().chain(&beside.behind).chain(&beside.predicate);
    said.extend(share_of(&near.cloned().collect::<Vec<_>>()));
    // Parameters that are said to be active are no others.
    if said.iter().any(|one| one.is_part_of(Measure::Parameters)) {
        said.retain(|one| *one != Measure::Parameters);
    }
    said
}

/// Whether the sign of a currency stands before a number. Two dollars are the marks of a formula.
fn has_price(quote: &str, number: &Range<usize>) -> bool {
    let own = quote[number.clone()].chars().next();
    let sign = quote[..number.start].chars().next_back();
    [own, sign].into_iter().flatten().any(|sign| match sign {
        '$' => quote.matches('$').count() == 1,
        other => "€£".contains(other),
    })
}

/// Whether the last of some words name a measure.
fn ends_with(words: &[String], measure: Measure) -> bool {
    let spaced = words.join(" ");
    let known = KNOWN.iter().find(|known| known.0 == measure);
    known.is_some_and(|known| known.2.iter().any(|name| spaced.ends_with(name)))
}

/// What the head of a column or the name of a field is about; nothing where it is a ratio.
fn of_head(head: &str) -> Vec<Measure> {
    let lower = head.to_lowercase();
    let parts = |c: char| !c.is_alphanumeric();
    let words: Vec<_> =
        lower.split(parts).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let is_ratio = head.contains('/') && !head.starts_with('/')
        || head.contains('×')
        || words.iter().any(|word| is_end(word) && word != "in");
    if is_ratio {
        return Vec::new();
    }
    let mut said = named(&words);
    // `P_total`, "N active": the letters of the field.
    let has_letter =
        matches!(words.first().map(String::as_str), Some("p" | "n")) && words.len() == 2;
    let is_of_parameters = said.contains(&Measure::Parameters) || words.len() == 1 || has_letter;
    if is_of_parameters && let Some(share) = share_of(&words) {
        said = vec![share];
    }
    said
}

/// The measures that words name, single or in pairs.
fn named(words: &[String]) -> Vec<Measure> {
    let pairs = words.windows(2).map(|pair| format!("{} {}", pair[0], pair[1]));
    let all: Vec<_> = words.iter().cloned().chain(pairs).collect();
    let is_named = |known: &&Known| all.iter().any(|word| known.2.contains(&word.as_str()));
    KNOWN.iter().filter(is_named).map(|known| known.0).collect()
}

/// Whether words say which parameters are meant: those that one token passes, or all.
fn share_of(words: &[String]) -> Option<Measure> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    match (has(ACTIVE), has(TOTAL)) {
        (true, false) => Some(Measure::ActiveParameters),
        (false, true) => Some(Measure::TotalParameters),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Measure, Words, measure_of, named_beside, of_head, other_fixed};
    use repro_claim::Expression;

    fn said(quote: &str, number: &str) -> Vec<Measure> {
        let at = quote.find(number).unwrap();
        named_beside(quote, &(at..at + number.len()))
    }

    #[test]
    fn words_beside_a_number_name_it() {
        let cases: &[(&str, &str, &[Measure])] = &[
            ("activates 329,280 parameters per token", "329,280", &[Measure::ActiveParameters]),
            ("stores only 206,400 parameters", "206,400", &[Measure::TotalParameters]),
            ("6.4B total, 1.2B active", "6.4B", &[Measure::TotalParameters]),
            ("6.4B total, 1.2B active", "1.2B", &[Measure::ActiveParameters]),
            ("of the 9 stored parameters 8 are active", "8", &[Measure::ActiveParameters]),
            ("active parameters: 8", "8", &[Measure::ActiveParameters]),
            ("Active and total parameters are 8 and 9", "8", &[Measure::Parameters]),
            ("Steps and tokens were 8 and 9", "8", &[]),
            ("Experts per token: 2", "2", &[Measure::Experts]),
            ("The loss per token is 1.7", "1.7", &[]),
            ("At matched active parameters: 1.702 (MoE)", "1.702", &[]),
            ("At equal steps: 1.702", "1.702", &[]),
            ("cost $1,209", "$1,209", &[Measure::Money]),
            ("cost $ 1,209", "1,209", &[]),
            ("took 1,209 GPU hours", "1,209", &[Measure::Time]),
            ("The weight decay was 0.004", "0.004", &[Measure::WeightDecay]),
            ("The standard deviation of the loss is 1.7", "1.7", &[Measure::Spread]),
            ("errs on 32.7% of the items", "32.7%", &[Measure::ErrorRate]),
            ("1,209 steps of 2,048 tokens", "1,209", &[Measure::Steps]),
            ("20 tokens per parameter", "20", &[Measure::Tokens]),
            ("we get $1.702$ at", "1.702", &[]),
            ("Loss after 242 steps: 2.11", "2.11", &[]),
            ("after the first 242 steps was 2.11", "2.11", &[]),
            ("64 experts reach 1.70 after 12 steps", "1.70", &[]),
        ];
        for (quote, number, expected) in cases {
            assert_eq!(said(quote, number), *expected, "{quote}");
        }
    }

    #[test]
    fn heads_name_what_their_column_holds() {
        assert_eq!(of_head("tokens (B)"), [Measure::Tokens]);
        assert_eq!(of_head("active params"), [Measure::ActiveParameters]);
        assert_eq!(of_head("train_hours"), [Measure::Time]);
        assert!(of_head("tokens per parameter").is_empty());
        assert!(of_head("tokens/param").is_empty());
        assert!(of_head("batch (sequences × length)").is_empty());
        assert!(of_head("loss").is_empty());
    }

    #[test]
    fn what_is_fixed_is_what_the_words_name() {
        let other = |quote: &str, relations: &[&str]| {
            let words =
                Words { quote, place: "", head: None, before: "", behind: "", number: None };
            let relations: Vec<_> =
                relations.iter().map(|one| Expression::parse(one).unwrap()).collect();
            other_fixed(words, &relations.iter().collect::<Vec<_>>()).is_some()
        };
        let width = "held_fixed(it.config.hidden_size, over = [a, b])";
        assert!(other("all arms saw the same tokens", &[width]));
        assert!(!other("all arms have the same width", &[width]));
        assert!(!other("all arms have the same shape", &[width]));
        assert!(!other("the same tokens, shape and data", &[width]));
        assert!(!other("the same tokens", &[width, "held_fixed(seen(it), over = [a, b])"]));
        assert!(!other("the same active parameters", &["held_fixed(active(it), over = [a, b])"]));
        assert!(other(
            "the same active parameters",
            &["held_fixed(it.tokens_seen, over = [a, b])"]
        ));
        assert!(!other("the same vocabulary", &["held_fixed(it.tokens, over = [a, b])"]));
    }

    #[test]
    fn expressions_give_one_thing_or_have_no_name() {
        let of = |text: &str| measure_of(&Expression::parse(text).unwrap());
        assert_eq!(of("total(moe)"), Some(Measure::TotalParameters));
        assert_eq!(of("mean(moe.loss @ 500)"), Some(Measure::Loss));
        assert_eq!(of("run.tokens_seen / 10^6"), Some(Measure::Tokens));
        assert_eq!(of("1e-6 * active(moe)"), Some(Measure::ActiveParameters));
        assert_eq!(of("6 * active(moe)"), Some(Measure::Operations));
        assert_eq!(of("run.tokens_seen / active(run)"), None);
        assert_eq!(of("moe"), None);
    }
}
