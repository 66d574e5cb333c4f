//! What the words of a sentence claim beside its numbers: significance, equality, each seed. What they deny, and what
//! is only a condition, "at equal tokens", is no claim.

/// Words that say that a test was made.
const TESTED: &[&str] = &["significant", "significantly", "statistically"];
/// What is so "statistically" where no test tells two things apart.
const NOT_APART: &[&str] = &[
    "insignificant",
    "indistinguishable",
    "inconclusive",
    "tied",
    "equal",
    "same",
    "comparable",
    "similar",
    "undecided",
    "even",
];
/// Words that say that two things are one.
const EQUAL: &[&str] = &[
    "identical",
    "identically",
    "exactly",
    "same",
    "equal",
    "equally",
    "no difference",
    "not differ",
    "don't differ",
    "doesn't differ",
];
/// Words by which two things are only nearly one.
const APPROXIMATE: &[&str] =
    &["almost", "nearly", "about", "roughly", "approximately", "practically"];
/// Words that say that an order would come out again.
pub const BEYOND_PRINT: &[&str] = &[
    "reliably",
    "reliable",
    "consistently",
    "consistent",
    "replicates",
    "replicate",
    "replicated",
    "reproducibly",
    "robustly",
    "invariably",
    "always",
    "beyond the noise",
    "beyond noise",
    "outside the noise",
    "outside noise",
    "above the noise",
    "exceeds the noise",
];
/// Words that say which of two things is ahead.
const DIRECTIONS: &[&str] = &[
    "better",
    "worse",
    "best",
    "worst",
    "lower",
    "higher",
    "lowest",
    "highest",
    "less",
    "more",
    "fewer",
    "beats",
    "beat",
    "beaten",
    "wins",
    "win",
    "won",
    "loses",
    "lost",
    "outperforms",
    "outperform",
    "outperformed",
    "ahead",
    "leads",
    "lead",
    "trails",
    "improves",
    "improve",
    "improved",
    "improvement",
    "advantage",
    "grows",
    "grew",
    "shrinks",
    "shrank",
    "faster",
    "slower",
    "larger",
    "smaller",
    "greater",
    "above",
    "below",
    "superior",
    "inferior",
];
/// Words that say that there is an order, or a distance.
const ORDERS: &[&str] = &[
    "order",
    "ordering",
    "ordered",
    "rank",
    "ranking",
    "ranked",
    "ranks",
    "separate",
    "separates",
    "separated",
    "apart",
    "gap",
    "margin",
    "differ",
    "differs",
    "different",
    "falls",
    "fell",
    "drops",
    "dropped",
    "rises",
    "rose",
    "first",
    "last",
    "earlier",
    "later",
    "sooner",
    "decreases",
    "decreased",
    "increases",
    "increased",
    "surpasses",
    "surpass",
    "exceed",
    "exceeds",
    "tops",
    "top",
    "edges",
    "edge",
    "defeats",
    "prevails",
    "over",
    "under",
    "keeps",
    "survives",
    "widens",
    "narrows",
    "descends",
    "learns",
    "learned",
    "gains",
    "gain",
    "helps",
    "help",
    "hurts",
    "hurt",
    "pays",
    "behind",
    "lags",
    "trail",
    "lose",
    "stronger",
    "weaker",
    "well",
    "clear",
    "bigger",
    "lag",
    "win",
    "favor",
    "favors",
    "favour",
    "favours",
    "prefer",
    "prefers",
    "between",
    "majority",
    "match",
    "matches",
    "trumps",
    "keep",
];
/// Words that say that runs were executed a second time.
pub const REPLAYED: &[&str] = &[
    "executed again",
    "re-executed",
    "reexecuted",
    "re-executing",
    "re-execution",
    "replayed",
    "run again",
    "rerun",
    "re-run",
];
/// Words that say that something came out the same in each bit.
pub const IN_EACH_BIT: &[&str] =
    &["bit for bit", "bit-for-bit", "bitwise", "bit-identical", "bit-exact", "bit-exactly"];
/// What there are several of in a group.
pub const RUNS: &[&str] = &[
    "seed",
    "seeds",
    "run",
    "runs",
    "repetition",
    "repetitions",
    "trial",
    "trials",
    "pair",
    "pairs",
    "initialization",
    "initializations",
];
/// What there are several of in a run.
pub const STEPS: &[&str] =
    &["step", "steps", "checkpoint", "checkpoints", "evaluation", "evaluations", "point", "points"];
/// Words that say something of each of several.
const EACH: &[&str] = &["every", "each"];
/// Words that say something of a summary of all of them.
const SUMMARIES: &[&str] = &["mean", "means", "average", "averaged", "averages", "median"];
/// What is held equal so that something else can be compared.
const CONDITIONS: &[&str] = &[
    "token",
    "tokens",
    "step",
    "steps",
    "seed",
    "seeds",
    "budget",
    "budgets",
    "data",
    "dataset",
    "corpus",
    "text",
    "parameter",
    "parameters",
    "params",
    "compute",
    "flops",
    "flop",
    "batch",
    "batches",
    "size",
    "sizes",
    "width",
    "depth",
    "schedule",
    "tokenizer",
    "config",
    "setup",
    "setting",
    "settings",
    "hyperparameters",
    "hardware",
    "machine",
    "split",
    "splits",
    "training",
    "horizon",
    "horizons",
    "epoch",
    "epochs",
    "time",
    "resources",
    "resource",
    "memory",
    "order",
    "optimizer",
    "rate",
    "rates",
    "conditions",
    "number",
    "amount",
    "count",
    "counts",
    "footing",
];
/// What is compared.
const OUTCOMES: &[&str] = &[
    "loss",
    "losses",
    "accuracy",
    "performance",
    "perform",
    "score",
    "scores",
    "result",
    "results",
    "quality",
    "perplexity",
    "bpb",
    "well",
    "good",
    "bad",
    "strong",
    "error",
    "errors",
    "level",
];
/// Words before what is a condition.
const PREPOSITIONS: &[&str] =
    &["at", "with", "on", "for", "under", "given", "from", "by", "using", "over"];
/// What denies the words behind it.
const DENIALS: &[&str] = &[
    "not", "no", "never", "none", "neither", "nor", "without", "cannot", "nowhere", "hardly",
    "barely", "fails", "fail", "failed", "lacks", "lack", "few",
];
/// What looks like a denial and affirms.
const AFFIRMED: &[&str] = &["only", "just", "merely", "doubt", "question", "less"];
/// What begins another clause.
const CLAUSES: &[&str] =
    &["and", "but", "yet", "while", "whereas", "though", "although", "because", "so", "than", "as"];
/// So many words behind a denial are denied by it.
const DENIED: usize = 10;
/// So many words behind "same" its noun stands at most.
const NOUN: usize = 5;

/// The words of a sentence in lower case, with the sign of a new clause between them.
pub struct SpokenWords {
    words: Vec<String>,
}

/// What parts clauses, as a word.
const BREAK: &str = ",";

impl SpokenWords {
    pub fn of(quote: &str) -> Self {
        let mut words = Vec::new();
        let lower = quote.to_lowercase().replace('’', "'");
        for part in lower.split(|c: char| c.is_whitespace() || c == '–' || c == '—') {
            let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '-';
            for (at, own) in part.split(|c: char| !is_word(c)).enumerate() {
                // A point among digits parts nothing.
                let is_number = part.contains(|c: char| c.is_ascii_digit());
                if at > 0 && (own.is_empty() || !is_number) {
                    words.push(BREAK.to_owned());
                }
                let own = own.trim_matches(['\'', '-']);
                if !own.is_empty() {
                    words.push(own.to_owned());
                }
            }
        }
        Self { words }
    }

    /// Where some words begin.
    fn places<'s>(&'s self, phrase: &str) -> impl Iterator<Item = usize> + use<'s> {
        let phrase: Vec<_> = phrase.split(' ').map(str::to_owned).collect();
        let windows = self.words.windows(phrase.len()).enumerate();
        windows.filter(move |(_, words)| *words == phrase).map(|(at, _)| at)
    }

    /// The words before a place in its clause, the nearest first.
    fn before(&self, at: usize) -> impl Iterator<Item = &str> {
        let words = self.words[..at].iter().rev().map(String::as_str);
        words.take_while(|word| *word != BREAK)
    }

    /// Whether the words before a place deny what stands there.
    fn is_denied(&self, at: usize) -> bool {
        let words: Vec<_> = self.before(at).take(DENIED).collect();
        let mut behind = self.words.get(at).map(String::as_str);
        for word in words {
            let denies = DENIALS.contains(&word) || word.ends_with("n't");
            if denies {
                return !behind.is_some_and(|next| AFFIRMED.contains(&next));
            }
            if CLAUSES.contains(&word) {
                return false;
            }
            behind = Some(word);
        }
        false
    }

    /// Whether some of these words stand here and are not denied.
    pub fn are_said(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.places(phrase).any(|at| !self.is_denied(at)))
    }

    /// Whether the words say that something is significant, and whether they deny it.
    pub fn significance(&self) -> (bool, bool) {
        let of_digits = |at: usize| {
            let next = self.words.get(at + 1).map(String::as_str);
            matches!(next, Some("digits" | "figures" | "digit" | "figure"))
        };
        let places = TESTED.iter().flat_map(|word| self.places(word)).filter(|at| !of_digits(*at));
        let is_insignificant = |at: usize| {
            let next = self.words.get(at + 1).map_or("", String::as_str);
            NOT_APART.contains(&next)
        };
        let denied = places.map(|at| is_insignificant(at) || self.is_denied(at));
        let denied: Vec<_> = denied.collect();
        (denied.contains(&false), denied.contains(&true))
    }

    /// Whether they say of anything that it is not so.
    pub fn deny(&self) -> bool {
        /// Words that say so without a denial.
        const OTHERWISE: &[&str] =
            &["false", "off", "disabled", "absent", "removed", "separate", "dropped"];
        let denies = |word: &str| {
            let is_negated = ["un", "non", "in"].iter().any(|prefix| word.starts_with(prefix));
            DENIALS.contains(&word)
                || OTHERWISE.contains(&word)
                || word.ends_with("n't")
                || word.ends_with("less")
                || is_negated
        };
        self.words.iter().flat_map(|word| word.split('-').chain([word.as_str()])).any(denies)
    }

    /// Whether they say which of two things is ahead.
    pub fn name_a_direction(&self) -> bool {
        let is_comparative = |at: usize| {
            let own = self.words[at].as_str();
            own.ends_with("er") && self.words.get(at + 1).is_some_and(|next| next == "than")
                || own.ends_with("est")
        };
        (0..self.words.len()).any(is_comparative)
            || self
                .words
                .iter()
                .flat_map(|word| word.split('-'))
                .any(|word| DIRECTIONS.contains(&word))
    }

    /// Whether they name one end of several: "the best seed".
    pub fn name_an_extreme(&self) -> bool {
        const ENDS: &[&str] =
            &["best", "worst", "overlap", "overlaps", "least", "most", "some", "any", "one"];
        self.words.iter().any(|word| ENDS.contains(&word.as_str()) || word.ends_with("est"))
    }

    /// Whether they put anything into an order, or hold it apart.
    pub fn name_an_order(&self) -> bool {
        self.name_a_direction() || self.words.iter().any(|word| ORDERS.contains(&word.as_str()))
    }

    /// Where the words say that two things are one.
    pub fn equalities(&self) -> impl Iterator<Item = usize> {
        EQUAL.iter().flat_map(|word| self.places(word))
    }

    /// Whether what is said to be equal is only what other things are compared at: "at equal tokens".
    pub fn is_condition(&self, at: usize) -> bool {
        let behind = self.words[at + 1..].iter().map(String::as_str);
        let behind: Vec<_> = behind.take_while(|word| *word != BREAK).take(NOUN).collect();
        let noun = behind.iter().find_map(|word| {
            let is_outcome = OUTCOMES.contains(word);
            (is_outcome || word.split('-').any(|part| CONDITIONS.contains(&part)))
                .then_some(!is_outcome)
        });
        let mut before = self.before(at).skip_while(|word| ["the", "an", "exactly"].contains(word));
        noun.unwrap_or_else(|| before.next().is_some_and(|word| PREPOSITIONS.contains(&word)))
    }

    /// Whether something is said to be nearly so.
    pub fn is_approximate(&self) -> bool {
        APPROXIMATE.iter().any(|word| self.places(word).next().is_some())
    }

    /// Whether something is said of each of these things, and not of their mean.
    pub fn says_of_each(&self, things: &[&str]) -> bool {
        let is_of_mean = SUMMARIES.iter().any(|word| self.places(word).next().is_some());
        let of_thing = |at: usize| {
            let behind = self.words[at + 1..].iter().take(3);
            behind.take_while(|word| *word != BREAK).any(|word| things.contains(&word.as_str()))
        };
        let mut places = EACH.iter().flat_map(|word| self.places(word));
        !is_of_mean && places.any(|at| of_thing(at) && !self.is_denied(at))
    }

    /// Whether the words are about all of several things, one by one: "no seed", "every run".
    pub fn are_about_each(&self, things: &[&str]) -> bool {
        let behind = |at: usize| self.words[at + 1..].iter().take(3);
        let of_thing = |at: usize| {
            behind(at).take_while(|word| *word != BREAK).any(|word| things.contains(&word.as_str()))
        };
        let all = EACH.iter().chain(&["all", "no", "none", "any"]);
        let is_of_mean = SUMMARIES.iter().any(|word| self.places(word).next().is_some());
        !is_of_mean && all.flat_map(|word| self.places(word)).any(of_thing)
    }

    /// Whether a word of degree stands here, and not as a part of these phrases.
    pub fn is_degree(&self, word: &str, phrases: &[&str]) -> bool {
        let mut parts: Vec<usize> = Vec::new();
        for phrase in phrases {
            let own = phrase.split(' ').position(|part| part == word);
            parts.extend(self.places(phrase).zip(own).map(|(at, own)| at + own));
        }
        self.places(word).any(|at| !parts.contains(&at))
            || self
                .words
                .iter()
                .any(|own| own.contains('-') && own.split('-').any(|part| part == word))
    }
}

#[cfg(test)]
mod tests {
    use super::SpokenWords;

    #[test]
    fn what_is_denied_is_not_said() {
        let of = |text: &str| SpokenWords::of(text).significance();
        for denied in [
            "lower, but not significantly",
            "with p = 0.057 this isn't significant",
            "no pair differs significantly",
            "None of the three gaps under the first horizon is significant after Holm",
            "the lead is statistically insignificant",
            "the gap fails to be statistically significant",
        ] {
            assert!(!of(denied).0 && of(denied).1, "{denied}");
        }
        for said in
            ["significantly better", "not only lower but significantly so", "no doubt significant"]
        {
            assert!(of(said).0, "{said}");
        }
        assert_eq!(of("three significant digits"), (false, false));
    }

    #[test]
    fn a_condition_is_no_claim_of_equality() {
        let of = |text: &str| {
            let words = SpokenWords::of(text);
            words.equalities().any(|at| !words.is_condition(at))
        };
        for condition in [
            "at equal tokens",
            "trained on the same tokens",
            "at equal active parameters",
            "with the same number of steps",
            "on the same footing",
        ] {
            assert!(!of(condition), "{condition}");
        }
        for claim in ["they reach the same loss", "equally good", "the arms are equal"] {
            assert!(of(claim), "{claim}");
        }
    }
}
