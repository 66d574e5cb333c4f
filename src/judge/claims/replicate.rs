//! The same config, seed and dtype give the same outcome, or the difference is declared noise.

use super::{ClaimKind, FieldSpec};
use crate::evidence::{Evidence, EvidenceQuantity};
use crate::post::Claim;
use num_traits::Signed;
use repro_exact::decimal::format_significant;
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    DIFFERS = "replicate::differs", "runs of one config, seed and dtype came out differently", "say what differed between the runs, or declare the noise";
    NO_SEED = "replicate::no-seed", "runs of one config came out differently, and seeds or dtypes are not published", "publish the seeds, and what else differed";
    NOT_REPLICATES = "replicate::not-replicates", "the runs are not known to share config, seed and dtype", "compare runs that share all three, and publish them";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "replicate",
    summary: "same config, seed and dtype, same outcome",
    explain: "Runs that share config, seed and dtype must have the same outcome, or differ by no \
         more than the noise that the publication declares. Without published seeds or dtypes \
         equal outcomes are consistent, and different ones are inconclusive: the seed may differ, \
         or something else that is not published. Without published configs it is unknown whether \
         the runs are replicates.\n\
         How it can mislead: a config file may have been overridden on the command line; equal \
         outcomes may be one run listed twice.\n\
         Reference: MLPerf Training rules, on reference convergence points; the speedrun rules on \
         noise.",
    fields: &[
        FieldSpec::required(
            "runs",
            "tables of `label`, `config`, `seed`, `dtype` (references) and `outcome` (a term)",
        ),
        FieldSpec::optional("noise", "the run-to-run difference that the publication declares"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let runs: Vec<Run> = claim
        .node
        .required("runs")?
        .items()?
        .map(|run| Run::read(run, evidence))
        .collect::<Result<_, _>>()?;
    let noise = claim.node.get("noise").map(|noise| evidence.quantity(noise)).transpose()?;
    Ok(judge(&runs, noise)
        .within("exact", "equal, or within the declared noise")
        .by(Method::Compared))
}

struct Run {
    label: String,
    /// What replicates have in common, in the order of [`Run::SHARED`], where it is published.
    shared: [Option<String>; 3],
    outcome: EvidenceQuantity,
}

impl Run {
    const SHARED: [&'static str; 3] = ["config", "seed", "dtype"];

    fn read(node: Node, evidence: &Evidence) -> Result<Self, Error> {
        node.only(&["label", "config", "seed", "dtype", "outcome"])?;
        let mut shared = [None, None, None];
        for (name, slot) in Self::SHARED.into_iter().zip(&mut shared) {
            if let Some(reference) = node.get(name) {
                *slot = Some(evidence.datum(reference)?.printed()?.to_owned());
            }
        }
        Ok(Self {
            label: node.required("label")?.text()?.to_owned(),
            shared,
            outcome: evidence.quantity(node.required("outcome")?)?,
        })
    }
}

fn judge(runs: &[Run], noise: Option<EvidenceQuantity>) -> Outcome {
    let outcomes: Vec<_> =
        runs.iter().map(|run| format!("{} {}", run.label, run.outcome.text)).collect();
    let text = outcomes.join(", ");
    let not_replicates = |why: &str| {
        Outcome::unchecked(&NOT_REPLICATES, format!("{why}: {text}")).giving(text.clone())
    };
    if runs.len() < 2 {
        return not_replicates("a single run replicates nothing");
    }
    let mut unknown = Vec::new();
    for (at, name) in Run::SHARED.into_iter().enumerate() {
        let known: Vec<_> = runs.iter().filter_map(|run| run.shared[at].as_deref()).collect();
        if known.windows(2).any(|pair| pair[0] != pair[1]) {
            return not_replicates(&format!("the runs differ in {name} ({})", known.join(", ")));
        }
        if known.len() < runs.len() {
            unknown.push(name);
        }
    }
    if unknown.contains(&"config") {
        return not_replicates("not every run's config is published");
    }
    let values: Vec<_> = runs.iter().map(|run| run.outcome.value()).collect();
    let largest = values.iter().max().cloned().unwrap_or_default();
    let spread = largest - values.iter().min().cloned().unwrap_or_default();
    let overlap =
        runs.iter().all(|a| runs.iter().all(|b| a.outcome.interval.meets(&b.outcome.interval)));
    let within_noise = noise.is_some_and(|noise| spread <= noise.value().abs());
    let apart = format!("{} apart: {text}", format_significant(&spread, 4));
    let outcome = if overlap || within_noise {
        Outcome::verified()
    } else if unknown.is_empty() {
        Outcome::refuted(&DIFFERS, format!("one config, seed and dtype, yet {apart}"))
    } else {
        Outcome::inconclusive(
            &NO_SEED,
            format!("one config, yet {apart}; not published: {}", unknown.join(", ")),
        )
    };
    outcome.giving(text)
}
