//! The results of checking, as data.

use std::path::Path;

use repro_claim::relation::Weight;
use repro_core::source::{Error, Location};
use repro_report::outcome::{
    ClaimReport, EvidenceOrigin, EvidenceRef, ExitStatus, Impact, Meaning, Method, Outcome,
    PostReport, Report,
};

use crate::check::asked::{AskedRelation, Broken, UsedValue};
use crate::check::kinds::KINDS;
use crate::check::stated::StatedRow;

/// A recognized document and the results of its checks.
#[derive(Debug, Clone)]
pub struct CheckedDocument {
    pub path: String,
    /// The name of its kind.
    pub kind: &'static str,
    /// The description of its kind.
    pub what: &'static str,
    /// Parameter counts, as stated, stored and computed.
    pub counts: Vec<StatedRow>,
    pub asked: Vec<AskedRelation>,
}

/// All results.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub documents: Vec<CheckedDocument>,
    /// Results of checks between rows of several documents about one subject.
    pub together: Vec<AskedRelation>,
    /// Files of unknown kinds.
    pub unknown: Vec<String>,
    /// Errors of unreadable changed files of no known kind.
    pub passed_over: Vec<Error>,
    pub failures: Vec<Error>,
    /// Whether a change is checked, so that nothing to check is a valid answer.
    pub is_of_change: bool,
}

/// The numbers of checks that hold or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct CheckCounts {
    /// Checks that hold.
    pub consistent: usize,
    /// Rows in which two numbers cannot both be right.
    pub refuted: usize,
    /// Rows with a doubtful number.
    pub inconclusive: usize,
}

impl CheckReport {
    /// Every applied check with its document.
    pub fn asked(&self) -> impl Iterator<Item = (&AskedRelation, Option<&CheckedDocument>)> {
        let own =
            self.documents.iter().flat_map(|one| one.asked.iter().map(move |a| (a, Some(one))));
        own.chain(self.together.iter().map(|asked| (asked, None)))
    }

    /// Whether any check applied to a document at or below this path.
    pub fn asks_of(&self, path: &Path) -> bool {
        let is_there = |one: &&CheckedDocument| {
            path == Path::new(".") || Path::new(&one.path).starts_with(path)
        };
        let is_asked = |one: &CheckedDocument| {
            let has_twins = || KINDS.iter().any(|kind| kind.id == one.kind && kind.twins.is_some());
            !one.asked.is_empty() || !self.together.is_empty() && has_twins()
        };
        self.documents.iter().filter(is_there).any(is_asked)
    }

    /// The number of checks that hold or fail.
    pub fn counts(&self) -> CheckCounts {
        let mut counts = CheckCounts::default();
        for (asked, _) in self.asked() {
            counts.consistent += asked.times - asked.broken.len();
            match asked.weight {
                Weight::Contradiction => counts.refuted += asked.broken.len(),
                Weight::Doubt => counts.inconclusive += asked.broken.len(),
            }
        }
        counts
    }

    /// The contradiction of a printed number: a failed check that it is part of.
    pub fn contradiction_of(&self, printed: &str) -> Option<Error> {
        let is_it = |value: &&UsedValue| value.value == printed && value.place.is_some();
        let sure = self.asked().filter(|(asked, _)| asked.weight == Weight::Contradiction);
        let mut broken =
            sure.flat_map(|(asked, _)| asked.broken.iter().map(move |one| (asked, one)));
        broken.find_map(|(asked, broken)| {
            let place = broken.values.iter().chain(&broken.printed).find(is_it)?.place.clone()?;
            Some(asked.code.at(place, asked.says.as_ref(), broken.in_words(asked)))
        })
    }

    /// Converts the results to posts and claims for formats that have no other reports: a document becomes a post, a
    /// check a claim.
    pub fn as_report(&self) -> Report {
        let document = |one: &CheckedDocument| post(&one.path, one.what, &one.asked);
        let together = (!self.together.is_empty())
            .then(|| post("together", "versions of one record", &self.together));
        Report {
            posts: self.documents.iter().map(document).chain(together).collect(),
            failures: self.failures.clone(),
            passed_over: self.passed_over.iter().map(|error| error.place.file.clone()).collect(),
            is_of_change: self.is_of_change,
            ..Report::default()
        }
    }

    /// The exit status, as for `verify`. A change fails only for contradictions, not for open questions.
    pub fn status(&self) -> ExitStatus {
        let counts = self.counts();
        if !self.failures.is_empty() {
            ExitStatus::Refused
        } else if counts.refuted > 0 {
            ExitStatus::Refuted
        } else if !self.is_of_change && (counts.inconclusive > 0 || counts.consistent == 0) {
            ExitStatus::Undecided
        } else {
            ExitStatus::Verified
        }
    }
}

/// Converts a document's checks to a post's claims.
fn post(path: &str, what: &str, asked: &[AskedRelation]) -> PostReport {
    PostReport {
        id: path.to_owned(),
        title: what.to_owned(),
        file: path.to_owned(),
        claims: asked.iter().flat_map(|asked| claims(path, asked)).collect(),
        ..PostReport::default()
    }
}

/// One claim per row in which a check fails; one claim for all other rows.
fn claims(path: &str, asked: &AskedRelation) -> Vec<ClaimReport> {
    let rows: Vec<Option<&Broken>> = match asked.broken.is_empty() {
        true => vec![None],
        false => asked.broken.iter().map(Some).collect(),
    };
    rows.into_iter().map(|broken| claim(path, asked, broken)).collect()
}

fn claim(path: &str, asked: &AskedRelation, broken: Option<&Broken>) -> ClaimReport {
    let printed = broken.and_then(|broken| broken.printed.as_ref());
    let place = printed.and_then(|value| value.place.clone());
    let outcome = match (broken, asked.weight) {
        (None, _) => Outcome::verified(),
        (Some(broken), Weight::Contradiction) => {
            Outcome::refuted(asked.code, broken.in_words(asked))
        }
        (Some(broken), Weight::Doubt) => Outcome::inconclusive(asked.code, broken.in_words(asked)),
    };
    let recomputed = broken.map(|broken| broken.recomputed.clone()).unwrap_or_default();
    let evidence = |value: &UsedValue| {
        let place = value.place.as_ref()?;
        let (file, pointer) = (place.file.clone(), place.pointer.clone());
        Some(EvidenceRef { bundle: String::new(), file, pointer, document: None, printed_at: None })
    };
    let label = broken.map(|broken| broken.label.as_str()).filter(|label| !label.is_empty());
    ClaimReport {
        id: label.map_or_else(
            || asked.code.id.to_owned(),
            |label| format!("{}, {label}", asked.code.id),
        ),
        kind: "relation",
        claimed: printed.map(|value| value.value.clone()).unwrap_or_default(),
        said: asked.says.to_string(),
        row: Vec::new(),
        own_numbers: Vec::new(),
        around: String::new(),
        quote: asked.code.meaning.to_owned(),
        at: None,
        note: String::new(),
        meaning: Meaning::default(),
        place: place.unwrap_or_else(|| Location::file(path)),
        origin: Some(EvidenceOrigin::Transcribed),
        impact: Impact::Digit,
        outcome: outcome.by(Method::Recomputed).giving(recomputed),
        evidence: broken
            .iter()
            .flat_map(|broken| broken.values.iter().filter_map(evidence))
            .collect(),
    }
}
