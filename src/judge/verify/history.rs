//! Whether the commit that a receipt names holds the plan of its run, and is older than the run.

use super::own::own_claim;
use repro_receipt::bundle::Bundle;
use repro_receipt::digest::Digest;
use repro_receipt::source::codes;
use repro_report::outcome::{ClaimReport, Method, Outcome};

codes! {
    NO_PLAN = "plan::not-there", "the commit that a receipt names does not hold its plan", "name the commit of the plan";
    OTHER_PLAN = "plan::other", "the commit that a receipt names holds another plan", "name the commit of the plan that the run followed";
    NOT_OLDER = "plan::not-older", "the commit that a receipt names holds the run already", "name the commit of the plan, from before the run";
}

/// What a repository holds at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanAt {
    /// This is not a repository of the study.
    NoRepository,
    /// It does not have the commit: a shallow clone has only the last ones.
    NoCommit,
    /// The commit does not have the plan.
    NoPlan,
    /// A plan.
    Plan {
        /// Its digest.
        sha256: Digest,
        /// Whether the commit has the bundle as well.
        holds_bundle: bool,
    },
}

/// Somebody who can look up commits.
pub trait PlanHistory: std::fmt::Debug + Send + Sync {
    /// What a commit holds of the plan of a study, and of a bundle.
    fn at(&self, commit: &str, study: &str, bundle: &str) -> PlanAt;
}

/// What a repository says of the commit that a receipt names; nothing where it does not know the commit.
pub fn planned_before(bundle: &Bundle, history: &dyn PlanHistory) -> Option<ClaimReport> {
    let run = bundle.receipt().run.as_ref()?;
    let (commit, study) = (run.plan_commit.as_ref()?, run.study.as_ref()?);
    let stated = bundle.receipt().extra.get("plan_sha256").and_then(|plan| plan.as_str());
    let outcome = match history.at(commit, study, bundle.name()) {
        PlanAt::NoRepository | PlanAt::NoCommit => return None,
        PlanAt::NoPlan => {
            let reason = format!("`repro/studies/{study}.toml` is not in {commit}");
            Outcome::refuted(&NO_PLAN, reason)
        }
        PlanAt::Plan { sha256, .. }
            if stated.is_some_and(|stated| stated != sha256.to_string()) =>
        {
            let reason = format!("{commit} has the plan with sha256 {sha256}");
            Outcome::refuted(&OTHER_PLAN, reason)
        }
        PlanAt::Plan { holds_bundle: true, .. } => {
            let reason = format!("{commit} has `receipts/{}`", bundle.name());
            Outcome::refuted(&NOT_OLDER, reason)
        }
        PlanAt::Plan { .. } => {
            Outcome::verified().giving("the plan, and not yet the run".to_owned())
        }
    };
    let outcome = outcome.within("git", "equal digests").by(Method::Recomputed);
    let quote = "the plan was committed before the run";
    Some(own_claim(bundle, "plan-commit", quote, commit.clone(), outcome))
}
