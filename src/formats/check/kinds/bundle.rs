//! Receipt bundles: the findings of `repro verify BUNDLE`. Published results inside a bundle, and transcribed models,
//! are checked separately.

use std::borrow::Cow;

use repro_bundle::bundle::{MODELS, PUBLISHED};
use repro_claim::relation::Weight;
use repro_core::source::Error;
use repro_report::outcome::{ClaimReport, Report, Verdict};
use repro_verify::verify::{self, Demands, SameRun, TracedBundle, inspect_all};

use crate::check::asked::{AskedRelation, Broken, UsedValue};
use crate::check::kind::{
    DocumentKind, FolderAnswer, FolderListing, FoldersBelow, NO_RELATIONS, Reads,
};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "bundle",
    what: "receipt bundle",
    reads: Reads::Folder {
        is: |folder| folder.has("bagit.txt"),
        takes: |_| true,
        below: FoldersBelow::AllBut(&[MODELS, PUBLISHED]),
        read,
    },
    relations: &NO_RELATIONS,
    twins: None,
};

fn read(folder: &FolderListing) -> Result<FolderAnswer, Error> {
    let mut report = Report::default();
    let path = folder.path.as_path();
    let trace = inspect_all(&[path], &Demands::default(), 1, None, &mut report).pop();
    if let Some(error) = report.failures.into_iter().next() {
        return Err(error);
    }
    let claims = report.posts.iter().flat_map(|post| &post.claims);
    Ok(FolderAnswer { asked: claims.filter_map(asked).collect(), trace, ..FolderAnswer::default() })
}

/// The bundles of a folder that state different seeds but come from the same run; none if there is nothing to compare.
pub fn same_runs(bundles: &[TracedBundle]) -> Vec<AskedRelation> {
    let (certain, doubts): (Vec<_>, Vec<_>) =
        verify::same_runs(bundles).into_iter().partition(|found| found.kinship.is_refuted());
    let asked = |(weight, found): (Weight, Vec<SameRun>)| {
        let broken = found.into_iter().map(|found| {
            let [first, second] = found.names;
            Broken {
                label: format!("{second} and {first}"),
                reason: found.kinship.evidence,
                ..Broken::default()
            }
        });
        let broken: Vec<Broken> = broken.collect();
        (!broken.is_empty()).then_some(AskedRelation {
            code: &verify::SAME_RUN,
            weight,
            says: Cow::Borrowed("bundles with different seeds are from different runs"),
            source: "`repro explain verify::same-run`",
            times: broken.len(),
            tried: 0,
            broken,
        })
    };
    [(Weight::Contradiction, certain), (Weight::Doubt, doubts)]
        .into_iter()
        .filter_map(asked)
        .collect()
}

/// The result of a claim that a bundle makes about itself; claims that cannot be checked are left out.
fn asked(claim: &ClaimReport) -> Option<AskedRelation> {
    let outcome = &claim.outcome;
    let code = outcome.code.unwrap_or(&crate::check::INTACT);
    let weight = match outcome.verdict {
        Verdict::Unchecked => return None,
        Verdict::Inconclusive => Weight::Doubt,
        Verdict::Verified | Verdict::Refuted => Weight::Contradiction,
    };
    let says = if claim.said.is_empty() { claim.quote.clone() } else { claim.said.clone() };
    let broken = (outcome.verdict != Verdict::Verified).then(|| Broken {
        label: claim.id.clone(),
        recomputed: outcome.recomputed.clone(),
        reason: outcome.reason.clone(),
        values: claim
            .evidence
            .iter()
            .map(|evidence| UsedValue {
                name: evidence.file.clone(),
                value: evidence.pointer.clone(),
                place: None,
                how: String::new(),
            })
            .collect(),
        ..Broken::default()
    });
    Some(AskedRelation {
        code,
        weight,
        says: Cow::Owned(says),
        source: "`repro verify` of the bundle on its own",
        times: 1,
        tried: 0,
        broken: broken.into_iter().collect(),
    })
}
