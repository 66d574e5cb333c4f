//! What checking comes to, as data.

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

/// A document that was recognised, and what was asked of it.
#[derive(Debug, Clone)]
pub struct CheckedDocument {
    pub path: String,
    /// The name of its kind,
    pub kind: &'static str,
    /// and what that is.
    pub what: &'static str,
    /// Parameter counts, as stated, stored and computed.
    pub counts: Vec<StatedRow>,
    pub asked: Vec<AskedRelation>,
}

/// Everything that was checked.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub documents: Vec<CheckedDocument>,
    /// What was asked of rows of several documents that tell of one thing.
    pub together: Vec<AskedRelation>,
    /// Files of no kind that is known.
    pub unknown: Vec<String>,
    /// Why changed files could not be read of which nothing shows that they are of a known kind.
    pub passed_over: Vec<Error>,
    pub failures: Vec<Error>,
    /// Whether the question was what a change breaks, so that nothing to check is an answer.
    pub is_of_change: bool,
}

/// How often relations hold or do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct CheckCounts {
    /// Rows in which a relation holds.
    pub consistent: usize,
    /// Rows in which two numbers cannot both be right.
    pub refuted: usize,
    /// Rows in which something is odd.
    pub inconclusive: usize,
}

impl CheckReport {
    /// Every relation that was asked, with the document it was asked of.
    pub fn asked(&self) -> impl Iterator<Item = (&AskedRelation, Option<&CheckedDocument>)> {
        let own =
            self.documents.iter().flat_map(|one| one.asked.iter().map(move |a| (a, Some(one))));
        own.chain(self.together.iter().map(|asked| (asked, None)))
    }

    /// Whether anything was asked of what lies at or below a path, as it is told.
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

    /// How often relations hold.
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

    /// What in the documents contradicts a number that they print: a relation that it is part of and that does not hold.
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

    /// The same as posts and claims, for the formats that know no other reports: a document is a post, a relation a claim.
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

    /// The exit status: that of `verify`. A change fails by what it breaks, not by what stays open.
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

/// Relations of a document as the claims of a post.
fn post(path: &str, what: &str, asked: &[AskedRelation]) -> PostReport {
    PostReport {
        id: path.to_owned(),
        title: what.to_owned(),
        file: path.to_owned(),
        claims: asked.iter().flat_map(|asked| claims(path, asked)).collect(),
        ..PostReport::default()
    }
}

/// One claim for each row in which a relation does not hold; one for all others.
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
