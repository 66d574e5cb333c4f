//! The bundles with the most refuted claims.

use crate::folded::by_code;
use crate::outcome::{Impact, PostReport, Severity, Verdict};
use crate::wording;

use super::fate::BundleFate;

/// So many of them are named.
const NAMED: usize = 10;

/// A bundle of which something is refuted.
#[derive(Debug)]
pub(super) struct WorstBundle {
    /// Its folder.
    pub path: String,
    /// How much is refuted, and by which kinds of finding.
    pub why: String,
    rank: Rank,
}

/// How bad a bundle is: refuted claims that change a decision, and all that is refuted.
type Rank = (usize, usize);

/// The worst so far, worst first; of those that are equally bad the first.
#[derive(Debug, Default)]
pub(super) struct WorstBundles(Vec<WorstBundle>);

impl WorstBundles {
    /// Takes in a bundle, where it is one of the worst.
    pub(super) fn add(&mut self, path: &str, fate: BundleFate, post: Option<&PostReport>) {
        let Some(post) = post.filter(|_| fate == BundleFate::Refuted) else { return };
        let rank = rank(post);
        let at = self.0.partition_point(|one| one.rank >= rank);
        if at < NAMED {
            self.0.insert(at, WorstBundle { path: path.to_owned(), why: why(post), rank });
            self.0.truncate(NAMED);
        }
    }

    /// They, worst first.
    pub(super) fn all(&self) -> &[WorstBundle] {
        &self.0
    }
}

fn rank(post: &PostReport) -> Rank {
    let refuted = wording::ranked(post, Verdict::Refuted);
    let decisive = refuted.iter().filter(|claim| claim.impact == Impact::Decision).count();
    (decisive, refuted.len() + post.forged())
}

/// How many claims are refuted, and by which kinds of finding.
fn why(post: &PostReport) -> String {
    let refuted = wording::ranked(post, Verdict::Refuted);
    let forged = post
        .findings
        .iter()
        .filter(|finding| finding.claim.is_none() && finding.severity == Severity::Error);
    let codes = by_code(&refuted).into_iter().map(|(code, _)| code.id);
    let codes: Vec<_> = codes.chain(forged.map(|finding| finding.code.id)).collect();
    let (count, all) = (refuted.len(), wording::many(post.claims.len(), "claim"));
    format!("{count} of {all} refuted: {}", codes.join(", "))
}
