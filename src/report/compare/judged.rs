//! The form of a report that is compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::outcome::Verdict;

use crate::compare::ground::{Ground, GroundKind};

/// The command whose report it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    Verify,
    Check,
}

/// Everything that a report says, by what it judges.
#[derive(Debug, Clone)]
pub struct JudgedReport {
    /// The subject of the report, for people: a file, a commit.
    pub name: String,
    pub kind: ReportKind,
    /// Posts, or documents, by name.
    pub parts: BTreeMap<String, JudgedPart>,
    /// Inputs that could not be used, each in one line.
    pub failures: BTreeSet<String>,
    /// The digests of the posts and locks of a project, by the names of their files; of a report none are known.
    pub files: BTreeMap<String, String>,
}

/// A post or a document.
#[derive(Debug, Clone, Default)]
pub struct JudgedPart {
    pub title: String,
    /// Its claims or relations, by name.
    pub entries: BTreeMap<String, JudgedEntry>,
    /// The grounds that apply to the whole part.
    pub grounds: Vec<Ground>,
}

/// A claim, or a relation of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedEntry {
    pub verdict: Verdict,
    /// Of a verified claim: how strong its evidence and method are, both from 0, and 1 where no lint of it is open.
    pub strength: [usize; 3],
    /// The verdict with its assurance, in words.
    pub judged_as: String,
    /// Its subject, for people.
    pub title: String,
    /// Why this is the verdict; empty where it needs no reason.
    pub reason: String,
    pub grounds: Vec<Ground>,
}

impl JudgedEntry {
    /// In how many rows a relation is asked; of a claim nothing.
    pub fn rows(&self) -> u64 {
        self.says(GroundKind::Rows).filter_map(|rows| rows.parse::<u64>().ok()).sum()
    }

    /// Whether it has a number of the post itself that `was` lacks.
    pub fn brings_more_in(&self, was: &Self) -> bool {
        let own = |entry: &Self| -> BTreeSet<String> {
            let numbers = entry.says(GroundKind::OwnNumbers).flat_map(|all| all.split(", "));
            numbers.filter(|number| !number.is_empty()).map(str::to_owned).collect()
        };
        !own(self).is_subset(&own(was))
    }

    /// The values of its grounds of one kind.
    pub fn says(&self, kind: GroundKind) -> impl Iterator<Item = &str> {
        self.grounds.iter().filter(move |one| one.kind == kind).map(|one| one.value.as_str())
    }

    /// The words that it is about; empty where it is about none.
    pub fn words(&self) -> &str {
        self.says(GroundKind::Words).next().unwrap_or_default()
    }

    /// Whether both say the same of each of some kinds, and something at all of the first.
    pub fn says_as(&self, other: &Self, kinds: &[GroundKind]) -> bool {
        let same = |kind: &GroundKind| self.says(*kind).eq(other.says(*kind));
        let first = kinds.first().is_some_and(|kind| self.says(*kind).any(|said| !said.is_empty()));
        first && kinds.iter().all(same)
    }
}
