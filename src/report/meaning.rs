//! The meaning of a claim: the fact behind its words, the reading of each printed number, the lints, and
//! who vouches that the words mean the fact.

use serde::{Deserialize, Serialize};

/// How a printed number agrees with the value that it is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The value itself.
    Exact,
    /// The value, rounded at the last printed digit.
    Rounded,
    /// Within 5%, or half a unit of the last digit if that is wider.
    About,
    AtLeast,
    AtMost,
    Above,
    Below,
    /// The two ends of a range, each rounded.
    Ends,
    /// Rounded down: the value begins with these digits.
    Floor,
    /// Rounded up.
    Ceil,
    /// K, M and G are powers of 1,024.
    Binary,
    /// The size in the name of a model: rounded, cut off, or without its trailing zeros.
    Nominal,
}

impl Reading {
    /// Every reading, in the order of lists.
    pub const ALL: [Self; 12] = [
        Self::Exact,
        Self::Rounded,
        Self::About,
        Self::AtLeast,
        Self::AtMost,
        Self::Above,
        Self::Below,
        Self::Ends,
        Self::Floor,
        Self::Ceil,
        Self::Binary,
        Self::Nominal,
    ];

    /// The word for it in post files and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rounded => "rounded",
            Self::About => "about",
            Self::AtLeast => "at_least",
            Self::AtMost => "at_most",
            Self::Above => "above",
            Self::Below => "below",
            Self::Ends => "ends",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Binary => "binary",
            Self::Nominal => "nominal",
        }
    }

    /// The values for which a number holds by it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Exact => {
                "the value is the number: the default of settings, and of counts printed in full"
            }
            Self::Rounded => {
                "the value rounds to the number at its last printed digit: the default of measured values. Zeros before a \
suffix are not significant digits"
            }
            Self::About => {
                "the value lies within 5%, or within half a unit of the last digit if that is wider: \"about\", \"~\", \
\"half\", \"double\""
            }
            Self::AtLeast => {
                "the value is not below the number, or rounds to it: \"at least\", \"or more\""
            }
            Self::AtMost => {
                "the value is not above the number, or rounds to it: \"at most\", \"up to\""
            }
            Self::Above => "the value is above the number: \"more than\", \"over\"",
            Self::Below => "the value is below the number: \"less than\", \"under\"",
            Self::Ends => "the value rounds to this end of a range",
            Self::Floor => "the value begins with these digits: `1.716...`",
            Self::Ceil => "the value rounds up to the number",
            Self::Binary => {
                "K, M and G are powers of 1,024: tried for context lengths, vocabularies, batches and bytes where the \
decimal reading fails"
            }
            Self::Nominal => {
                "the size in a model's name, \"the 755M model\": rounded, truncated, or without trailing zeros"
            }
        }
    }

    /// The reading that a word of a post file declares.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reading| reading.word() == word)
    }

    /// Whether it bounds the value on one side.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::AtLeast | Self::AtMost | Self::Above | Self::Below)
    }
}

/// A printed number and its reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenReading {
    /// The number as printed.
    pub token: String,
    /// The reading.
    pub reading: Reading,
    /// The source of the decision: `declared`, the word of the lexicon beside the number, or the kind of value.
    pub because: String,
}

/// The canonical sentence that a verdict is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fact {
    /// The sentence with its values: `mean loss of moe, 6 runs (seeds 1-6), step 1,209: 1.7016 nats/token`.
    pub sentence: String,
    /// The sentence without its values, which new evidence leaves as it is.
    pub shape: String,
    /// Its values as rows of a table, and those that the post shows beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<FactRow>,
}

/// One quantity of one arm or of several: a row of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FactRow {
    /// The quantity: `core`, `tokens / active parameters`.
    pub quantity: String,
    /// The common prefix of its arms: `bf16` of `bf16.dense` and `bf16.moe64`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
    /// The unit of its values, if the evidence states one: `ms`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The signs of the claim between neighbouring values: `<`, `=`. Empty for values that are only shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<String>,
    /// Its values, in the order of the claim.
    pub cells: Vec<FactCell>,
}

/// A value of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactCell {
    /// The arm; empty for a value of no arm.
    pub arm: String,
    /// The value, in the unit of its row.
    pub value: f64,
}

impl FactRow {
    /// Whether the values are ordered as the claim says; none of a row that only shows them.
    pub fn holds(&self) -> Option<bool> {
        let pairs = std::iter::zip(&self.signs, self.cells.windows(2));
        let holds = |(sign, pair): (&String, &[FactCell])| {
            let (a, b) = (pair[0].value, pair[1].value);
            match sign.as_str() {
                "<" => a < b,
                "<=" => a <= b,
                ">" => a > b,
                ">=" => a >= b,
                "!=" => a != b,
                _ => a == b,
            }
        };
        (!self.signs.is_empty()).then(|| pairs.into_iter().all(holds))
    }
}

/// The aspects that a lint compares between the words and the provenance of the fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LintKind {
    Direction,
    Quantity,
    Step,
    Split,
    Statistic,
    Arm,
    Count,
    Test,
    Limit,
    Coherence,
}

impl LintKind {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Direction => "direction",
            Self::Quantity => "quantity",
            Self::Step => "step",
            Self::Split => "split",
            Self::Statistic => "statistic",
            Self::Arm => "arm",
            Self::Count => "count",
            Self::Test => "test",
            Self::Limit => "limit",
            Self::Coherence => "coherence",
        }
    }
}

/// Words of a quote that do not fit the provenance of its fact. A lint never changes a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lint {
    /// The compared aspect.
    pub kind: LintKind,
    /// One line: what the text says, and what the fact has.
    pub message: String,
    /// The answer of the post's author or of a reviewer, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Whose judgement it is that the words mean the fact, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBy {
    /// Proposed by the program, confirmed by nobody.
    Drafted,
    /// Written or confirmed by the author of the post file.
    Author,
    /// Approved by another person's key, which the project lists.
    Reviewed,
}

impl ReadBy {
    /// The word in reports and lock files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drafted => "drafted",
            Self::Author => "author",
            Self::Reviewed => "reviewed",
        }
    }
}

/// The reviews recorded for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReviewStatus {
    /// Who approved it, with a signature that counts, and how many decoys they caught.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// Who disputes it, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disputed_by: Vec<String>,
    /// Records that do not count, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<String>,
    /// Whether the values behind the fact have changed since it was approved; the approval stands.
    #[serde(default, skip_serializing_if = "is_false")]
    pub evidence_changed: bool,
    /// Whether it was there when the project began to ask for reviews, and is let pass for that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_exempted: bool,
    /// The changes since an earlier record, which no longer applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void_since: Option<String>,
}

impl ReviewStatus {
    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_false(truth: &bool) -> bool {
    !truth
}

/// Where a text that was read has some words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPlace {
    /// The text, by its name in the post file.
    pub text: String,
    /// Its file relative to the root of the project, if the project has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    pub line: usize,
    /// The first byte, and the one behind the last.
    pub span: [usize; 2],
}

/// The meaning of a claim.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Meaning {
    /// The fact; none where nothing could be evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<Fact>,
    /// The reading of each printed number, in the order of the quote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<TokenReading>,
    /// The lints on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lints: Vec<Lint>,
    /// Who says that the words mean the fact; none where no post binds words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by: Option<ReadBy>,
    /// Whether the value is a share, which a column of percents may print without signs.
    #[serde(skip)]
    pub is_share: bool,
    /// The expression with the names and formulas of the post expanded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expanded: String,
    /// The premise of a refutation that the text does not state.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub premise: String,
    /// Whether somebody other than the text's author wrote the post file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_audit: bool,
    /// The recorded reviews.
    #[serde(default, skip_serializing_if = "ReviewStatus::is_empty")]
    pub review: ReviewStatus,
    /// Where the text has the words, if it was read and has them once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_at: Option<TextPlace>,
    /// The paragraph around the quote, or the head and the row of its table; empty where the text is not at hand. Reports do not
    /// repeat it.
    #[serde(skip)]
    pub context: String,
    /// The statement and the column, of a table's cell.
    #[serde(skip)]
    pub column: Option<String>,
}

impl Meaning {
    /// The lints that nobody has answered.
    pub fn unanswered(&self) -> impl Iterator<Item = &Lint> {
        self.lints.iter().filter(|lint| lint.answer.is_none())
    }

    /// Whether a lint of it is unanswered.
    pub fn is_questioned(&self) -> bool {
        self.unanswered().next().is_some()
    }

    /// Why a contradiction is only a difference so far: nobody but whoever bound the words says that they mean the fact.
    pub fn doubt(&self) -> Option<&'static str> {
        match self.read_by {
            Some(ReadBy::Reviewed) | None => None,
            Some(ReadBy::Drafted) => Some("drafted binding, not confirmed"),
            Some(ReadBy::Author) => {
                self.is_audit.then_some("binding by the transcriber, not reviewed")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Meaning, ReadBy, Reading};

    #[test]
    fn a_contradiction_is_doubted_until_somebody_else_approves() {
        let by = |read_by, is_audit| {
            Meaning { read_by: Some(read_by), is_audit, ..Meaning::default() }.doubt()
        };
        assert_eq!(by(ReadBy::Author, false), None);
        assert!(by(ReadBy::Author, true).is_some_and(|why| why.contains("transcriber")));
        assert!(by(ReadBy::Drafted, false).is_some_and(|why| why.contains("drafted")));
        assert_eq!(by(ReadBy::Reviewed, true), None);
        assert_eq!(Meaning::default().doubt(), None);
    }

    #[test]
    fn every_reading_is_read_by_its_word() {
        for reading in Reading::ALL {
            assert_eq!(Reading::of_word(reading.word()), Some(reading));
        }
        assert_eq!(Reading::of_word("roughly"), None);
    }
}
