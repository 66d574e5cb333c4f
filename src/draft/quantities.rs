//! The words for quantities, for what they are measured on, and for which way they differ.

/// A quantity of which a number is one alone, by its words.
pub struct NamedQuantity {
    words: &'static [&'static str],
    pub lower_is_better: bool,
}

const fn falling(words: &'static [&'static str]) -> NamedQuantity {
    NamedQuantity { words, lower_is_better: true }
}

const fn rising(words: &'static [&'static str]) -> NamedQuantity {
    NamedQuantity { words, lower_is_better: false }
}

pub const QUANTITIES: &[NamedQuantity] = &[
    falling(&["loss", "losses"]),
    rising(&["accuracy", "acc", "accuracies"]),
    falling(&["perplexity", "ppl"]),
    falling(&["bpb"]),
    rising(&["reward", "return"]),
    falling(&["wer", "cer", "error"]),
    rising(&["f1"]),
    rising(&["bleu", "rouge"]),
    rising(&["precision"]),
    rising(&["recall"]),
    falling(&["norm"]),
];

/// Words by which the arm that is named first is the better one, the worse one, and words that turn them around.
pub const WINS: &[&str] = &[
    "wins",
    "won",
    "beats",
    "beat",
    "outperforms",
    "outperformed",
    "better",
    "ahead",
    "improves",
    "improved",
    "improve",
    "improvement",
];
pub const WORSE: &[&str] = &["worse", "behind", "loses", "lost", "degrades", "degraded", "hurts"];
pub const TURNS: &[&str] = &["not", "never", "no"];
/// Words by which the arm that is named first has more of a quantity, or less.
pub const UP: &[&str] = &[
    "increases",
    "increased",
    "increase",
    "raises",
    "raised",
    "rises",
    "rose",
    "higher",
    "more",
    "above",
    "larger",
    "grows",
    "grew",
];
pub const DOWN: &[&str] = &[
    "lowers",
    "lowered",
    "reduces",
    "reduced",
    "falls",
    "fell",
    "drops",
    "dropped",
    "decreases",
    "decreased",
    "lower",
    "less",
    "fewer",
    "below",
    "smaller",
    "cuts",
    "cut",
];

/// The quantities that words name. A standard error is none.
pub fn quantities(words: &[String]) -> Vec<usize> {
    let is_standard = has_one(&["standard", "bar", "bars"], words);
    let words: Vec<String> =
        words.iter().filter(|word| !is_standard || word.as_str() != "error").cloned().collect();
    let is_named = |at: &usize| QUANTITIES.get(*at).is_some_and(|one| has_one(one.words, &words));
    (0..QUANTITIES.len()).filter(is_named).collect()
}

pub fn has_one(wanted: &[&str], words: &[String]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// Whether words say that the arm that is named first has the higher value of a quantity; none where they do not say which one is better.
pub fn is_won_by_the_higher(quantities: &[usize], words: &[String]) -> Option<bool> {
    let lower_is_better = match *quantities {
        [one] => QUANTITIES.get(one)?.lower_is_better,
        _ => return None,
    };
    match (has_one(WINS, words), has_one(WORSE, words), has_one(TURNS, words)) {
        (true, false, false) => Some(!lower_is_better),
        (false, true, false) => Some(lower_is_better),
        _ => None,
    }
}

/// What a number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedPart {
    Training,
    Validation,
    Test,
}

impl LoggedPart {
    /// The one that words name; none where they name several.
    pub fn of(words: &[String]) -> Option<Self> {
        const PARTS: &[(LoggedPart, &[&str])] = &[
            (LoggedPart::Training, &["training", "train"]),
            (LoggedPart::Validation, &["validation", "val", "eval", "evaluation", "dev"]),
            (LoggedPart::Test, &["test"]),
        ];
        let mut named = PARTS.iter().filter(|(_, own)| has_one(own, words)).map(|(part, _)| *part);
        let first = named.next();
        // A Welch test is no set.
        let is_of_statistics = has_one(&["welch", "significance", "significant", "p"], words);
        let first = first.filter(|part| *part != Self::Test || !is_of_statistics);
        first.filter(|_| named.next().is_none())
    }
}
