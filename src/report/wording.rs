//! How claims are put in words, the same in every format for people.

use crate::outcome::{
    ClaimReport, Finding, LockDifference, Method, Origin, PostReport, Summary, Verdict, Weight,
};

use super::visible::{clipped, prose, visible};

/// "5 claims: 3 verified · 2 refuted".
pub(super) fn counts(summary: &Summary) -> String {
    let order = [Verdict::Verified, Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked];
    let parts: Vec<String> = order
        .into_iter()
        .filter(|&verdict| summary.count(verdict) > 0)
        .map(|verdict| format!("{} {}", summary.count(verdict), verdict.word()))
        .collect();
    match parts.is_empty() {
        true => "no claims".to_owned(),
        false => format!("{}: {}", many(summary.total(), "claim"), parts.join(" · ")),
    }
}

/// "1 claim", "2 claims".
pub(super) fn many(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// "transcribed · compared": where the evidence comes from and how it was used.
pub(super) fn basis(claim: &ClaimReport) -> String {
    match (claim.origin, claim.outcome.method) {
        (Some(origin), Some(method)) => format!("{} · {}", origin.word(), method.word()),
        (Some(origin), None) => format!("{}, not used", origin.word()),
        (None, Some(method)) => method.word().to_owned(),
        (None, None) => "no evidence used".to_owned(),
    }
}

/// What `count` claims verified on this basis have in common.
pub(super) fn verified_as(count: usize, claim: &ClaimReport) -> String {
    let origin = claim.origin.map_or("no", Origin::word);
    match claim.outcome.method {
        Some(Method::Compared) if claim.origin == Some(Origin::Transcribed) => {
            format!("{count} compared across documents")
        }
        Some(Method::Compared) => format!("{count} compared across {origin} evidence"),
        Some(method) => format!("{count} {} from {origin} evidence", method.word()),
        None => format!("{count} from {origin} evidence"),
    }
}

/// Whether being wrong would turn a conclusion.
pub(super) fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Decision => "changes a decision",
        Weight::Digit => "changes no decision",
    }
}

/// The claimed value in quotes; without one, the words of the publication, shortened to `limit`.
pub(super) fn claimed(claim: &ClaimReport, limit: usize) -> String {
    let words = match claim.claimed.is_empty() {
        true => clipped(prose(&claim.quote).trim(), limit.saturating_sub(2)),
        false => visible(&claim.claimed),
    };
    if words.is_empty() { words } else { format!("\"{words}\"") }
}

/// What the evidence gives, with the verb of the method; empty where nothing was derived.
pub(super) fn derived(claim: &ClaimReport) -> String {
    let recomputed = visible(&claim.outcome.recomputed);
    let verb = match claim.outcome.method {
        _ if recomputed.is_empty() => return recomputed,
        Some(Method::Compared) => "evidence says",
        Some(Method::Replayed) => "replayed",
        Some(Method::Recomputed) | None => "recomputed",
    };
    format!("{verb} {recomputed}")
}

/// "±0.0005 (T0)": what counts as agreement.
pub(super) fn tolerance(claim: &ClaimReport) -> String {
    let (width, rule) = (visible(&claim.outcome.tolerance), claim.outcome.rule);
    match (width.is_empty(), rule.is_empty()) {
        (true, _) => rule.to_owned(),
        (false, true) => width,
        (false, false) => format!("{width} ({rule})"),
    }
}

/// Where the claim stands, short: `repro/9999.toml:212`.
pub(super) fn line_of(place: &crate::source::Place) -> String {
    match place.line {
        0 => visible(&place.file),
        line => format!("{}:{line}", visible(&place.file)),
    }
}

/// "verified → refuted".
pub(super) fn change(difference: &LockDifference) -> String {
    let word = |verdict: &Option<String>, absent: &str| match verdict {
        Some(verdict) => visible(verdict),
        None => absent.to_owned(),
    };
    let recorded = word(&difference.recorded, "not recorded");
    format!("{recorded} → {}", word(&difference.found, "no longer a claim"))
}

/// The claims with one verdict; those that change a decision first, then in the order of the file.
pub(super) fn ranked(post: &PostReport, verdict: Verdict) -> Vec<&ClaimReport> {
    let mut claims: Vec<_> =
        post.claims.iter().filter(|claim| claim.outcome.verdict == verdict).collect();
    claims.sort_by_key(|claim| claim.weight != Weight::Decision);
    claims
}

/// The findings by file, pointer and code.
pub(super) fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<_> = findings.iter().collect();
    sorted.sort_by_key(|f| (&f.place.file, &f.place.pointer, f.code.id, &f.message));
    sorted
}

/// The findings that say more than the verdict that they belong to, by file, pointer and code.
pub(super) fn remarks(post: &PostReport) -> Vec<&Finding> {
    let own = |finding: &&Finding| {
        !post.claims.iter().any(|claim| {
            finding.claim.as_ref() == Some(&claim.id)
                && claim.outcome.code.is_some_and(|code| code.id == finding.code.id)
        })
    };
    sorted(&post.findings).into_iter().filter(own).collect()
}
