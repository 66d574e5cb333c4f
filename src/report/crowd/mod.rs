//! Many bundles in one report: sums, groups, and the worst of them. Memory grows with the number of finding kinds, not with the
//! number of bundles.

mod drawn;
mod fate;
mod kinds;
mod names;
mod worst;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::layout::common_folder;
use crate::outcome::{EvidenceOrigin, Method, PostReport, ReportTotals, Verdict, VerdictCounts};
use crate::part::{PartSubject, ReportPart};
use fate::{BundleFate, FateCounts};
use kinds::TroubleKinds;
use names::NameGroups;
use worst::WorstBundles;

pub(super) use drawn::{closing, draw};

/// Where evidence comes from and how it was used, the strongest first.
type StrongestFirst = Reverse<(Option<Method>, Option<EvidenceOrigin>)>;

/// The results of many bundles on their own.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    fates: FateCounts,
    totals: ReportTotals,
    kinds: TroubleKinds,
    worst: WorstBundles,
    names: NameGroups,
    /// The folder that all bundles lie in; nothing before the first.
    folder: Option<String>,
    /// How many verified claims rest on what.
    verified: BTreeMap<StrongestFirst, usize>,
    /// The first claim that is below the caller's minimum.
    first_below: Option<String>,
}

impl Crowd {
    /// Takes in what one bundle came to.
    pub(super) fn add(&mut self, part: &ReportPart) {
        let PartSubject::Bundle(path) = &part.subject else { return };
        let path = path.trim_end_matches('/');
        let fate = BundleFate::of(part);
        self.fates.add(fate);
        self.names.add(path, fate);
        self.kinds.add(path, part);
        self.worst.add(path, fate, part.post.as_ref());
        let below = self.folder.as_deref().into_iter().chain([path]);
        self.folder = Some(common_folder(below).to_owned());
        if self.first_below.is_none() {
            self.first_below = part.below_minimum.first().cloned();
        }
        self.totals.failures += part.failures.len();
        self.totals.below_minimum += part.below_minimum.len();
        if let Some(post) = &part.post {
            self.add_claims(post);
        }
    }

    fn add_claims(&mut self, post: &PostReport) {
        self.totals.bundles += 1;
        self.totals.forged += post.forged();
        self.totals.claims = self.totals.claims.and(VerdictCounts::of(&post.claims));
        let verified =
            post.claims.iter().filter(|claim| claim.outcome.verdict == Verdict::Verified);
        for claim in verified {
            let assurance = Reverse((claim.outcome.method, claim.origin));
            *self.verified.entry(assurance).or_default() += 1;
        }
    }

    /// How many bundles there are.
    pub(super) fn len(&self) -> usize {
        self.fates.total()
    }

    /// The sums over all bundles.
    pub(super) fn totals(&self) -> ReportTotals {
        self.totals
    }

    /// A path without the folder that all of them lie in.
    fn below_folder<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix(self.folder.as_deref().unwrap_or_default()).unwrap_or(path)
    }
}
