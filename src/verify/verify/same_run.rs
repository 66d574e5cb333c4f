//! Bundles that are checked together and state other seeds: none may be a copy of another.
//!
//! Bundles that state no seeds, or the same ones, may be of one run on purpose: evaluated twice, imported twice.

use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_core::source::{Error, Location, codes};
use repro_model::independence::{self, Kinship, MOST_COMPARED, RunTrace};
use repro_report::outcome::{Finding, PostReport, Severity};
use repro_report::part::{PartSubject, ReportPart};

codes! {
    SAME_RUN = "verify::same-run", "two bundles declare different seeds but contain the same run", "ask the author: different seeds do not give equal losses or weights";
}

/// The name of what is told of several bundles.
const TOGETHER: &str = "together";

/// A bundle, and what tells its run from others.
#[derive(Debug, Clone)]
pub struct TracedBundle {
    /// Its name.
    pub name: String,
    place: Location,
    trace: RunTrace,
}

/// Two bundles that state other seeds, and what they have in common.
#[derive(Debug, Clone)]
pub struct SameRun {
    /// The names of both.
    pub names: [String; 2],
    /// The receipt of the second one.
    pub place: Location,
    /// Why they are of one run.
    pub kinship: Kinship,
}

impl TracedBundle {
    /// Of a bundle that was loaded.
    pub fn of(bundle: &Bundle) -> Self {
        Self {
            name: bundle.name().to_owned(),
            place: bundle.place(RECEIPT),
            trace: RunTrace::of(bundle),
        }
    }

    /// The part to keep among `count` bundles: for very many bundles, only the digests.
    pub(super) fn among(self, count: usize) -> Self {
        if count <= MOST_COMPARED {
            return self;
        }
        Self { trace: self.trace.digests(), ..self }
    }
}

/// The pairs of bundles that state other seeds and are of one run, or nearer than seeds are.
pub fn same_runs(bundles: &[TracedBundle]) -> Vec<SameRun> {
    let traces: Vec<&RunTrace> = bundles.iter().map(|bundle| &bundle.trace).collect();
    let found = independence::related(&traces).into_iter().filter_map(|found| {
        let (first, second) = (bundles.get(found.first)?, bundles.get(found.second)?);
        let is_claimed = first.trace.has_other_seeds(&second.trace);
        (is_claimed && found.kinship.is_of_one_run()).then(|| SameRun {
            names: [first, second].map(|bundle| bundle.name.clone()),
            place: second.place.clone(),
            kinship: found.kinship,
        })
    });
    found.collect()
}

/// Findings on bundles that declare different seeds but share a start, each with the first bundle that it shares it with;
/// and of those that may be of one run, where chance is not excluded. None if there is nothing to tell.
pub fn doubts(bundles: &[TracedBundle], same: &[SameRun]) -> Option<ReportPart> {
    let told = |place: &Location, [first, second]: [&str; 2], evidence: &str| {
        let message = format!("`{first}` and `{second}`: {evidence}");
        Finding::new(&SAME_RUN, Severity::Warning, message, place.clone())
    };
    let open = same.iter().filter(|found| !found.kinship.is_refuted());
    let open = open.map(|found| {
        let [first, second] = &found.names;
        told(&found.place, [first, second], &found.kinship.evidence)
    });
    let begun = bundles.iter().take(MOST_COMPARED).enumerate().filter_map(|(at, second)| {
        bundles.iter().take(at).find_map(|first| {
            let evidence = first.trace.shared_beginning(&second.trace)?;
            Some(told(&second.place, [&first.name, &second.name], &evidence))
        })
    });
    let findings: Vec<Finding> = open.chain(begun).collect();
    let post = PostReport {
        id: TOGETHER.to_owned(),
        title: "sibling bundles".to_owned(),
        findings,
        ..PostReport::default()
    };
    (!post.findings.is_empty()).then(|| ReportPart {
        post: Some(post),
        ..ReportPart::refused(PartSubject::Bundle(TOGETHER.to_owned()), Vec::new())
    })
}

impl SameRun {
    /// The refusal of the second one, where chance is excluded.
    pub fn refused(&self) -> Option<Error> {
        let [first, _] = &self.names;
        let found = format!("a copy of `{first}`: {}", self.kinship.evidence);
        let refused = || SAME_RUN.at(self.place.clone(), "the run of its declared seeds", found);
        self.kinship.is_refuted().then(refused)
    }
}
