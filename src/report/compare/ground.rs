//! The grounds of a verdict, one thing each, and the words for a difference in them.

use std::collections::BTreeMap;

use serde::Serialize;

/// The kinds of grounds, in the order in which differences are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundKind {
    /// How the claim is called.
    Name,
    /// The number as the text prints it.
    Number,
    /// The quoted words.
    Words,
    /// The expression that the words are bound to.
    Expression,
    /// The meaning of a name or a formula.
    Meaning,
    /// Numbers that the post itself brings in.
    OwnNumbers,
    /// The digest of a bundle.
    Bundle,
    /// Where the evidence lies.
    Evidence,
    /// The value from the evidence.
    Result,
    /// The tolerance for agreement.
    Agreement,
    /// A number of a document that does not fit.
    Broken,
    /// In how many rows a relation was asked.
    Rows,
    /// The caller's minimum, which a claim may be below.
    Minimum,
    /// The verdict on a bundle's signature.
    Signature,
    /// The digest of the post file.
    Post,
    /// The digest of a text.
    Text,
    /// The file of a text.
    TextFile,
    /// A number of a text without a claim, and the lines in which it stands.
    Unbound,
    /// Words that are left without a claim, and why.
    Excused,
    /// A finding about a post as a whole.
    Finding,
}

/// One thing that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    pub kind: GroundKind,
    /// Of what, where a verdict rests on several of one kind: a bundle, a name, a place.
    pub of: String,
    pub value: String,
}

/// A ground that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroundChange {
    pub what: GroundKind,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// None where there was no such ground.
    pub was: Option<String>,
    pub now: Option<String>,
}

/// So many digits of a digest are told.
const DIGITS: usize = 12;

impl GroundKind {
    /// Whether a change of it alone leaves open whether anything that is said has changed.
    pub fn is_only_evidence(self) -> bool {
        matches!(self, Self::Bundle | Self::Evidence)
    }

    /// The words for it, `of` a thing.
    pub(crate) fn words(self, of: &str) -> String {
        match self {
            Self::Name => "its name".to_owned(),
            Self::Number => "the printed number".to_owned(),
            Self::Words => "the words".to_owned(),
            Self::Expression => "expression".to_owned(),
            Self::Meaning => format!("the meaning of `{of}`"),
            Self::OwnNumbers => "the post's own constants".to_owned(),
            Self::Bundle => format!("the files of `{of}`"),
            Self::Evidence => "the evidence".to_owned(),
            Self::Result => "result".to_owned(),
            Self::Agreement => "agreement".to_owned(),
            Self::Broken => of.to_owned(),
            Self::Rows => "rows".to_owned(),
            Self::Minimum => "the required minimum".to_owned(),
            Self::Signature => format!("the signature of `{of}`"),
            Self::Post => "the post file".to_owned(),
            Self::Text => format!("the text `{of}`"),
            Self::TextFile => format!("the text file of `{of}`"),
            Self::Unbound => format!("lines where {of} has no claim"),
            Self::Excused => format!("why \"{of}\" is excused"),
            Self::Finding => format!("[{of}]"),
        }
    }
}

impl GroundChange {
    /// The grounds that differ between two lists, in the order of their kinds.
    pub fn between(was: &[Ground], now: &[Ground]) -> Vec<Self> {
        let mut both: BTreeMap<(GroundKind, &str), [Vec<&str>; 2]> = BTreeMap::new();
        for (grounds, side) in [(was, 0), (now, 1)] {
            for ground in grounds {
                both.entry((ground.kind, &ground.of)).or_default()[side].push(&ground.value);
            }
        }
        let joined = |mut values: Vec<&str>| {
            values.sort_unstable();
            (!values.is_empty()).then(|| values.join("; "))
        };
        let sides = both.into_iter().map(|(key, values)| (key, values.map(joined)));
        let differ = sides.filter(|(_, [was, now])| was != now);
        differ.map(|((what, of), [was, now])| Self { what, of: of.to_owned(), was, now }).collect()
    }

    /// The difference in one line.
    pub fn told(&self) -> String {
        let side = |value: &Option<String>| match value.as_deref() {
            None | Some("") => "none".to_owned(),
            Some(value) => short(value).to_owned(),
        };
        format!("{}: {} → {}", self.what.words(&self.of), side(&self.was), side(&self.now))
    }
}

/// A digest by its first digits; anything else as it is.
fn short(value: &str) -> &str {
    match value.strip_prefix("sha256:") {
        Some(digits) => digits.get(..DIGITS).unwrap_or(digits),
        None => value,
    }
}
