//! Whether the commit that a receipt names holds the plan of its run, and is older than the run.

use super::own::own_claim;
use crate::planned::few;
use repro_bundle::bundle::Bundle;
use repro_core::digest::Digest;
use repro_core::source::{Document, Source, codes};
use repro_model::study::Study;
use repro_report::outcome::{ClaimReport, Outcome};

codes! {
    NO_PLAN = "plan::not-in-commit", "the commit in the receipt does not contain the plan", "record the commit that contains the plan";
    OTHER_PLAN = "plan::other", "the commit in the receipt contains a different plan", "record the commit of the plan that the run followed";
    SHORTENED = "plan::shortened", "runs were removed from the plan after it was committed", "restore the runs, and report them or state why they were not made";
    CHANGED = "plan::changed", "the plan changed after it was committed", "put later changes into a new study";
    NOT_OLDER = "plan::committed-after-run", "the commit in the receipt already contains the run", "record the commit of the plan, from before the run";
}

/// The contents of a repository at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAt {
    /// This is not a repository of the study.
    NoRepository,
    /// It does not have the commit: a shallow clone has only the last ones.
    NoCommit,
    /// The commit does not have the plan.
    NoPlan,
    /// A plan.
    Plan {
        /// Its text.
        text: String,
        /// The digest of the bundle of that name, where the commit has one as well.
        bundle: Option<Digest>,
    },
}

/// Somebody who can look up commits.
pub trait PlanHistory: std::fmt::Debug + Send + Sync {
    /// The plan of a study and the bundle at a commit.
    fn at(&self, commit: &str, study: &str, bundle: &str) -> PlanAt;
    /// The plan of a study as it is now.
    fn now(&self, study: &str) -> Option<String>;
}

/// The claim about a run's plan at the commit in its receipt; none if the repository does not know the
/// commit, or if there is none and the plan is the one that the receipt names.
pub fn planned_before(bundle: &Bundle, history: &dyn PlanHistory) -> Option<ClaimReport> {
    let run = bundle.receipt().run.as_ref()?;
    let study = run.study.as_ref()?;
    let stated = bundle.receipt().plan_sha256();
    let Some(commit) = &run.plan_commit else {
        let now = Digest::of(history.now(study)?.as_bytes());
        if stated.is_none_or(|stated| stated == now.to_string()) {
            return None;
        }
        let reason = format!(
            "`repro/studies/{study}.toml` has the sha256 {now}, and the receipt records no commit"
        );
        let outcome = Outcome::inconclusive(&CHANGED, reason).within("git", "equal digests");
        let claimed = stated.unwrap_or_default().to_owned();
        let claim = own_claim(bundle, "plan", "the plan matches the study file", outcome);
        return Some(ClaimReport { claimed, ..claim });
    };
    let outcome = match history.at(commit, study, bundle.name()) {
        PlanAt::NoRepository | PlanAt::NoCommit => return None,
        PlanAt::NoPlan => {
            let reason = format!("`repro/studies/{study}.toml` is not in {commit}");
            Outcome::refuted(&NO_PLAN, reason)
        }
        PlanAt::Plan { text, bundle: held } => {
            let sha256 = Digest::of(text.as_bytes());
            let now = history.now(study).filter(|now| *now != text);
            let kept = |outcome| match now {
                Some(now) => changed(study, &text, &now, outcome),
                None => outcome,
            };
            match held {
                _ if stated.is_some_and(|stated| stated != sha256.to_string()) => {
                    let reason = format!("{commit} has the plan with sha256 {sha256}");
                    Outcome::refuted(&OTHER_PLAN, reason)
                }
                Some(held) if held == bundle.digest() => {
                    let reason = format!("{commit} has `receipts/{}`", bundle.name());
                    Outcome::refuted(&NOT_OLDER, reason)
                }
                // A run that was made again, or this one before it was written anew: git does not tell.
                Some(other) => {
                    let other = other.prefixed();
                    let reason = format!("{commit} has a different run with this name, {other}");
                    kept(Outcome::inconclusive(&NOT_OLDER, reason))
                }
                None => kept(Outcome::verified().giving("the plan, without the run")),
            }
        }
    };
    let outcome = outcome.within("git", "equal digests");
    let quote = "the plan was committed before the run";
    let claimed = commit.clone();
    Some(ClaimReport { claimed, ..own_claim(bundle, "plan-commit", quote, outcome) })
}

/// The outcome of a changed plan: removed runs refute it, other changes are reported.
fn changed(study: &str, then: &str, now: &str, kept: Outcome) -> Outcome {
    let file = format!("repro/studies/{study}.toml");
    let read = |text: &str| {
        let source = Source::new(file.as_str(), text.as_bytes().to_vec()).ok()?;
        Study::parse(Document::parse_toml(source).ok()?).ok()
    };
    let told = |what: &str| format!("`{file}` differs from the committed version: {what}");
    let (Some(then), Some(now)) = (read(then), read(now)) else {
        return kept.noting(&CHANGED, told("its runs cannot be compared"));
    };
    let has = |id: &str| now.listed().any(|run| run.id == id);
    let gone: Vec<_> = then.listed().map(|run| run.id).filter(|id| !has(id)).collect();
    match gone.as_slice() {
        [] => kept.noting(&CHANGED, told("it still contains every original run")),
        gone => Outcome::refuted(&SHORTENED, told(&format!("without {}", few(gone)))),
    }
}
