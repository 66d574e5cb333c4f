//! The result of a bundle on its own as a whole.

use crate::outcome::VerdictCounts;
use crate::part::ReportPart;

/// The worst that is to be said of a bundle, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BundleFate {
    /// It, or a part of it, cannot be used.
    Refused,
    /// A claim or a signature is refuted.
    Refuted,
    /// Something stays open, rests on too little, or there was nothing to check.
    Undecided,
    /// Every claim is verified.
    Verified,
}

impl BundleFate {
    /// All of them, worst first.
    pub(super) const ALL: [Self; 4] =
        [Self::Refused, Self::Refuted, Self::Undecided, Self::Verified];

    /// The word in reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
            Self::Verified => "verified",
        }
    }

    /// The result of a bundle.
    pub(super) fn of(part: &ReportPart) -> Self {
        let Some(post) = part.post.as_ref().filter(|_| part.failures.is_empty()) else {
            return Self::Refused;
        };
        let counts = VerdictCounts::of(&post.claims);
        if counts.refuted > 0 || post.forged() > 0 {
            Self::Refuted
        } else if counts.total() == 0
            || counts.verified < counts.total()
            || !part.below_minimum.is_empty()
        {
            Self::Undecided
        } else {
            Self::Verified
        }
    }
}

/// How many bundles came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FateCounts([usize; BundleFate::ALL.len()]);

impl FateCounts {
    /// Counts one more.
    pub(super) fn add(&mut self, fate: BundleFate) {
        self.0[fate as usize] += 1;
    }

    /// How many came to this.
    pub(super) fn count(&self, fate: BundleFate) -> usize {
        self.0[fate as usize]
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// How many are refused or refuted.
    pub(super) fn wrong(&self) -> usize {
        self.count(BundleFate::Refused) + self.count(BundleFate::Refuted)
    }
}
