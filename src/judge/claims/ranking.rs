//! Who is best on a named axis.

use super::axes::{self, Ranked};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{Evidence, EvidenceQuantity};
use crate::post::Claim;
use repro_receipt::source::Error;
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    OTHER_ORDER = "ranking::other-order", "the numbers rank the other way", "correct the sentence, or name the axis on which it holds";
    TIE = "ranking::tie", "the printed digits do not separate the candidates", "publish more digits";
    AXES_DISAGREE = "ranking::axes-disagree", "no axis is named and the axes rank differently", "name the axis that is meant";
    NOISE = "ranking::noise-not-judged", "whether the lead exceeds the noise between runs is not decided here", "publish replicate runs, and let the claim depend on a `ranking_significance`";
    BESIDE = "ranking::other-axes", "other axes of the receipt rank differently from the named one", "say which axis is meant wherever the result is quoted";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "ranking",
    summary: "who leads on a named axis",
    explain: "Compares the candidates on each axis given, on the intervals of their printed \
         digits; overlapping intervals are a tie. If the sentence names an `axis`, that axis \
         decides and the others are reported next to it. If it names none, the claim holds if all \
         axes agree, fails if all contradict, and is inconclusive otherwise.\n\
         How it can mislead: it ranks the printed numbers, not the recipes; with one run per cell \
         the next seed may rank them differently. A sentence that claims superiority therefore \
         depends (`depends_on`) on a claim of the kind `ranking_significance`, and its verdict is \
         no stronger than that one's.\n\
         Reference: Agarwal et al. 2021, Deep RL at the Edge of the Statistical Precipice.",
    fields: &[
        FieldSpec::required(
            "axes",
            "tables of `name`, `better` (lower or higher) and labeled `values`",
        ),
        FieldSpec::optional("winner", "the label, or labels, that the sentence puts ahead"),
        FieldSpec::optional("loser", "what they are ahead of; all others if absent"),
        FieldSpec::optional("order", "all labels from best to worst, instead of `winner`"),
        FieldSpec::optional("axis", "the axis that the sentence names"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: false,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let ranked = Ranked::read(node, &[], |value| evidence.quantity(value))?;
    let mut standings = Vec::new();
    for axis in &ranked.axes {
        standings.push((axis, standing(axis, &axis.pairs(node)?)));
    }
    let outcome = decide(&standings, &ranked);
    // What a ranking depends on is its significance; without that, noise is judged nowhere.
    let outcome = match claim.depends_on {
        Some(_) => outcome,
        None => {
            outcome.noting(&NOISE, "the numbers as printed; noise between runs is not judged here")
        }
    };
    // Numbers that formulas give are derived again here; others are compared as they stand.
    let mut values = ranked.axes.iter().flat_map(|axis| &axis.values);
    let method = match values.all(|value| !value.derivation.is_empty()) {
        true => Method::Recomputed,
        false => Method::Compared,
    };
    Ok(outcome.within("exact", "intervals of the printed digits must not overlap").by(method))
}

/// How one axis answers the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Agrees,
    Ties,
    Contradicts,
}

type Axis<'a> = axes::Axis<'a, EvidenceQuantity>;

/// The worst answer over all pairs (ahead, behind).
fn standing(axis: &Axis, pairs: &[(&EvidenceQuantity, &EvidenceQuantity)]) -> Standing {
    let one = |(ahead, behind): &(&EvidenceQuantity, &EvidenceQuantity)| {
        let (ahead, behind) = (&ahead.interval, &behind.interval);
        if ahead.meets(behind) {
            Standing::Ties
        } else if (ahead.high() < behind.low()) == axis.lower_is_better {
            Standing::Agrees
        } else {
            Standing::Contradicts
        }
    };
    let all: Vec<_> = pairs.iter().map(one).collect();
    [Standing::Contradicts, Standing::Ties]
        .into_iter()
        .find(|worst| all.contains(worst))
        .unwrap_or(Standing::Agrees)
}

/// Best first.
fn sorted<'q>(axis: &'q Axis) -> Vec<&'q EvidenceQuantity> {
    let mut sorted: Vec<_> = axis.values.iter().collect();
    sorted.sort_by_key(|quantity| quantity.value());
    if !axis.lower_is_better {
        sorted.reverse();
    }
    sorted
}

/// "MoE-256 by stop step".
fn leader(axis: &Axis) -> String {
    let label = sorted(axis).first().map(|quantity| quantity.label.clone());
    format!("{} by {}", label.unwrap_or_default(), axis.name)
}

/// "stop step: MoE-256 4864, MoE-64 5760, dense 8320", best first.
fn text(axis: &Axis) -> String {
    let values: Vec<_> =
        sorted(axis).into_iter().map(|v| format!("{} {}", v.label, v.text)).collect();
    format!("{}: {}", axis.name, values.join(", "))
}

fn decide(standings: &[(&Axis, Standing)], ranked: &Ranked<EvidenceQuantity>) -> Outcome {
    let texts_of = |wanted: &dyn Fn(Standing) -> bool| -> String {
        let chosen: Vec<_> =
            standings.iter().filter(|(_, s)| wanted(*s)).map(|(axis, _)| text(axis)).collect();
        chosen.join("; ")
    };
    let deciding: Vec<_> = standings.iter().filter(|(axis, _)| ranked.decides(axis)).collect();
    let all = |standing: Standing| deciding.iter().all(|(_, s)| *s == standing);
    let deciding_text: Vec<_> = deciding.iter().map(|(axis, _)| text(axis)).collect();
    let deciding_text = deciding_text.join("; ");
    let outcome = if all(Standing::Agrees) {
        Outcome::verified()
    } else if all(Standing::Contradicts) {
        Outcome::refuted(&OTHER_ORDER, format!("best first: {deciding_text}"))
    } else if all(Standing::Ties) {
        Outcome::inconclusive(&TIE, format!("a tie within the printed digits: {deciding_text}"))
    } else {
        let side = |standing: Standing, word: &str| {
            let found = texts_of(&|s| s == standing);
            if found.is_empty() { None } else { Some(format!("{word} {found}")) }
        };
        let sides = [
            side(Standing::Agrees, "yes by"),
            side(Standing::Contradicts, "no by"),
            side(Standing::Ties, "a tie by"),
        ];
        let sides: Vec<_> = sides.into_iter().flatten().collect();
        Outcome::inconclusive(&AXES_DISAGREE, format!("no axis is named: {}", sides.join("; ")))
    };
    let leaders: Vec<_> = deciding.iter().map(|(axis, _)| leader(axis)).collect();
    let outcome =
        outcome.giving(if deciding.len() > 1 { leaders.join(", ") } else { deciding_text });
    let beside: Vec<_> = standings
        .iter()
        .filter(|(axis, s)| !ranked.decides(axis) && *s != Standing::Agrees)
        .map(|(axis, _)| text(axis))
        .collect();
    if beside.is_empty() {
        return outcome;
    }
    outcome.noting(&BESIDE, format!("another axis ranks differently: {}", beside.join("; ")))
}
