//! The kinds of problems: how many bundles and claims have each, and a few examples.

use std::collections::BTreeMap;

use crate::outcome::{ClaimReport, Finding, Impact, PostReport, Severity, Verdict};
use crate::part::ReportPart;
use crate::visible::prose;
use repro_core::source::{Code, Error};

/// So many bundles of a kind are named.
const EXAMPLES: usize = 3;

/// The effect of a finding on its bundle, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TroubleWeight {
    /// An input cannot be used.
    Refused,
    /// A claim or a signature is refuted.
    Refuted,
    /// Evidence does not decide.
    Inconclusive,
    /// Evidence is missing, or the check was not run.
    Unchecked,
    /// Worth a look besides the verdicts.
    Remarked,
}

impl TroubleWeight {
    fn of(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Verified => None,
            Verdict::Refuted => Some(Self::Refuted),
            Verdict::Inconclusive => Some(Self::Inconclusive),
            Verdict::Unchecked => Some(Self::Unchecked),
        }
    }
}

/// A bundle that has it, and what was found there.
#[derive(Debug)]
pub(super) struct TroubleExample {
    /// Its folder.
    pub path: String,
    /// The finding, in a line.
    pub found: String,
}

/// A kind of finding.
#[derive(Debug)]
pub(super) struct TroubleKind {
    /// Its code.
    pub code: &'static Code,
    /// How many bundles have it.
    pub bundles: usize,
    /// How often it was found.
    pub times: usize,
    /// Whether a decision changes with one of them.
    pub is_decisive: bool,
    /// The first bundles that have it.
    pub examples: Vec<TroubleExample>,
    /// The number of the last bundle that was counted.
    last: usize,
}

/// One finding in a bundle.
struct Trouble {
    weight: TroubleWeight,
    code: &'static Code,
    is_decisive: bool,
    found: String,
}

/// All kinds that were found.
#[derive(Debug, Default)]
pub(super) struct TroubleKinds {
    kinds: BTreeMap<(TroubleWeight, &'static str), TroubleKind>,
    bundles: usize,
}

impl TroubleKinds {
    /// Takes in what is wrong or open in a bundle.
    pub(super) fn add(&mut self, path: &str, part: &ReportPart) {
        self.bundles += 1;
        let refused = part.failures.iter().map(|error| Trouble::refused(path, error));
        for trouble in refused.chain(part.post.iter().flat_map(troubles)) {
            self.count(path, trouble);
        }
    }

    fn count(&mut self, path: &str, trouble: Trouble) {
        let Trouble { weight, code, is_decisive, found } = trouble;
        let kind = self.kinds.entry((weight, code.id)).or_insert(TroubleKind {
            code,
            bundles: 0,
            times: 0,
            is_decisive: false,
            examples: Vec::new(),
            last: 0,
        });
        kind.times += 1;
        kind.is_decisive |= is_decisive;
        if kind.last == self.bundles {
            return;
        }
        kind.last = self.bundles;
        kind.bundles += 1;
        if kind.examples.len() < EXAMPLES {
            // The bundle is named before what was found in it.
            let found = found.replace(&format!("{path}/"), "");
            kind.examples.push(TroubleExample { path: path.to_owned(), found });
        }
    }

    /// The kinds of one weight: those that change a decision first, then those that most bundles have.
    pub(super) fn of(&self, weight: TroubleWeight) -> Vec<&TroubleKind> {
        let of_weight = self.kinds.iter().filter(|((one, _), _)| *one == weight);
        let mut kinds: Vec<_> = of_weight.map(|(_, kind)| kind).collect();
        kinds.sort_by_key(|kind| (!kind.is_decisive, std::cmp::Reverse(kind.bundles)));
        kinds
    }
}

impl Trouble {
    /// Of an input that cannot be used.
    fn refused(path: &str, error: &Error) -> Self {
        let found = match error.place.file.trim_end_matches('/') == path {
            true => format!("found {}", error.found),
            false => format!("{}: found {}", error.place.file, error.found),
        };
        let weight = TroubleWeight::Refused;
        Self { weight, code: error.code, is_decisive: false, found: prose(&found) }
    }

    fn of_claim(claim: &ClaimReport) -> Option<Self> {
        Some(Self {
            weight: TroubleWeight::of(claim.outcome.verdict)?,
            code: claim.outcome.code?,
            is_decisive: claim.impact == Impact::Decision,
            found: prose(&claim.outcome.reason),
        })
    }

    /// Of what belongs to no claim: signatures, and what the receipt says of itself.
    fn of_finding(finding: &Finding) -> Option<Self> {
        let weight = match finding.severity {
            _ if finding.claim.is_some() => return None,
            Severity::Error => TroubleWeight::Refuted,
            Severity::Warning => TroubleWeight::Remarked,
            Severity::Note => return None,
        };
        let found = prose(&finding.message);
        Some(Self { weight, code: finding.code, is_decisive: false, found })
    }
}

fn troubles(post: &PostReport) -> impl Iterator<Item = Trouble> {
    let claims = post.claims.iter().filter_map(Trouble::of_claim);
    claims.chain(post.findings.iter().filter_map(Trouble::of_finding))
}
