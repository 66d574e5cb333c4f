//! Training compute, model and tokens agree.

use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity, NOT_A_NUMBER};
use crate::post::Claim;
use repro_exact::decimal::{Interval, format_significant};
use repro_exact::formula::{Operand, Precision};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};

repro_receipt::source::codes! {
    DIFFERS = "compute_identity::differs", "compute, model and tokens do not agree", "find out which of them belongs to another run";
    BELOW_FLOOR = "compute_identity::below-floor", "the stated compute does not pay for six FLOPs for each parameter and token", "find out which of them belongs to another run";
    UNDECIDED = "compute_identity::undecided", "the printed digits lie on both sides of the floor", "publish the inputs with more digits";
    DEPENDS = "compute_identity::depends-on-count", "whether the compute suffices depends on which parameters are meant", "say which parameters the number counts";
    OTHER_SHAPE = "compute_identity::shape-unknown", "compute is proportional to tokens only for one shape and context", "state the shape and the context of both runs";
    NOT_FULL = "compute_identity::not-full-training", "the floor holds where every parameter is trained on every token", "state the passes that each token took";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "compute_identity",
    summary: "training compute, forward FLOPs or parameters, and tokens agree",
    explain: "Three laws join the compute C of a training run, its tokens D and its model; all \
         terms but one are given and the claimed number is the one left out.\n\
         exact: C = 3·M·D, where M are the forward FLOPs per token: one forward pass, and a \
         backward pass that costs two (rounding_interval).\n\
         floor: C >= 6·N·D, where N are the parameters that a token is multiplied with: two FLOPs \
         each forward, four back. No input embedding, no head unless the source's C counts it; \
         attention scores only add to it, so a value below the floor is impossible. If it is \
         unclear which N is meant, give several `params`: all must fail to refute, all must hold \
         to verify.\n\
         proportional: C / C' = D / D' for two runs with the same shape and context \
         (rounding_interval), inconclusive unless `same_shape` is declared.\n\
         How it can mislead: a C that is estimated from 6·N·D satisfies the floor by \
         construction; frozen parameters or skipped passes cost less, which is then unchecked; \
         recomputed activations cost more FLOPs on the hardware than C counts.\n\
         Reference: Kaplan et al. 2020, Scaling Laws for Neural Language Models, section 2.1.",
    fields: &[
        FieldSpec::required("law", "exact, floor or proportional"),
        FieldSpec::optional("compute", "the FLOPs of the whole training"),
        FieldSpec::optional("tokens", "the tokens trained on, including repetitions"),
        FieldSpec::optional("forward", "exact: the forward FLOPs per token"),
        FieldSpec::optional("params", "floor: a term, or a list of the counts that may be meant"),
        FieldSpec::optional("training", "floor: full (default) or partial"),
        FieldSpec::optional("than", "proportional: `compute` and `tokens` of the other run"),
        FieldSpec::optional(
            "same_shape",
            "proportional: whether both have the same shape and context",
        ),
        FieldSpec::optional("tolerance", "what the publication allows, such as \"2%\""),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let law = claim.node.required("law")?;
    let outcome = match law.text()? {
        "exact" => exact(claim, evidence)?,
        "floor" => floor(claim, evidence)?,
        "proportional" => proportional(claim, evidence)?,
        other => {
            let expected = "`exact`, `floor` or `proportional`";
            return Err(BAD_CHOICE.at(law.place(), expected, format!("`{other}`")));
        }
    };
    Ok(outcome.by(Method::Recomputed))
}

/// The terms of a law by their fields, each a term or a list of them; the one that is left out, and
/// comes back empty, is what is claimed.
fn terms<const N: usize>(
    claim: &Claim,
    names: [&str; N],
    evidence: &Evidence,
) -> Result<[Vec<EvidenceQuantity>; N], Error> {
    let mut given = [const { Vec::new() }; N];
    for (slot, name) in given.iter_mut().zip(names) {
        *slot = match claim.node.get(name) {
            Some(list) if list.items().is_ok() => evidence.quantities(list)?,
            Some(term) => vec![evidence.quantity(term)?],
            None => Vec::new(),
        };
    }
    Ok(given)
}

/// What to say where not exactly one term is left to the claim.
fn not_one_left(claim: &Claim, names: &str) -> Error {
    let expected = format!("one term for each of {names} but the one that is claimed");
    BAD_CHOICE.at(claim.place(), expected, "other terms")
}

/// C = 3·M·D, solved for what is claimed.
fn exact(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let given = terms(claim, ["compute", "forward", "tokens"], evidence)?;
    let three = EvidenceQuantity::count(3);
    let solved = match given.each_ref().map(Vec::as_slice) {
        [[], [forward], [tokens]] => times(&times(&three, forward), tokens),
        [[compute], [other], []] | [[compute], [], [other]] => {
            over(claim, compute, &times(&three, other))?
        }
        _ => return Err(not_one_left(claim, "compute, forward, tokens")),
    };
    against_claimed(claim, &solved)
}

/// C / C' = D / D', solved for what is claimed.
fn proportional(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let than = claim.node.required("than")?;
    than.only(&["compute", "tokens"])?;
    let other_compute = evidence.quantity(than.required("compute")?)?;
    let other_tokens = evidence.quantity(than.required("tokens")?)?;
    let given = terms(claim, ["compute", "tokens"], evidence)?;
    let solved = match given.each_ref().map(Vec::as_slice) {
        [[compute], []] => times(&other_tokens, &over(claim, compute, &other_compute)?),
        [[], [tokens]] => times(&other_compute, &over(claim, tokens, &other_tokens)?),
        _ => return Err(not_one_left(claim, "compute, tokens")),
    };
    let outcome = against_claimed(claim, &solved)?;
    if claim.node.get("same_shape").map(Node::truth).transpose()? == Some(true) {
        return Ok(outcome);
    }
    let reason = format!(
        "whether both runs have one shape and context is not stated; if they have, {} follows",
        format_significant(&solved.value(), 4)
    );
    Ok(Outcome::inconclusive(&OTHER_SHAPE, reason)
        .giving(outcome.recomputed)
        .within("rounding_interval", outcome.tolerance))
}

fn against_claimed(claim: &Claim, solved: &EvidenceQuantity) -> Result<Outcome, Error> {
    let (_, node) = super::claimed(claim)?;
    Ok(judge(&printed(node)?, solved, &Declared::of(claim)?, &DIFFERS))
}

/// C >= 6·N·D for every N that may be meant.
fn floor(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let given = terms(claim, ["compute", "params", "tokens"], evidence)?;
    let claimed = claimed_quantity(claim)?;
    let left = given.iter().filter(|terms| terms.is_empty()).count();
    let given = given.map(|terms| if terms.is_empty() { vec![claimed.clone()] } else { terms });
    let [[compute], counts, [tokens]] = given.each_ref().map(Vec::as_slice) else {
        return Err(not_one_left(claim, "compute, params (several may be meant), tokens"));
    };
    if left != 1 {
        return Err(not_one_left(claim, "compute, params (several may be meant), tokens"));
    }
    let share = |count| -> Result<Share, Error> {
        let cost = times(&times(&EvidenceQuantity::count(6), count), tokens);
        Ok(Share { count, of: over(claim, &cost, compute)? })
    };
    let shares: Vec<_> = counts.iter().map(share).collect::<Result<_, _>>()?;
    let assumed = match given.iter().flatten().any(|term| term.approximate) {
        true => "; \"about\" is within 5%, the verifier's default",
        false => "",
    };
    let tolerance = format!("the printed digits of C, N and D{assumed}");
    Ok(judged(claim.node, &shares)?.within("rounding_interval", tolerance))
}

/// The claimed number as a term of its law.
fn claimed_quantity(claim: &Claim) -> Result<EvidenceQuantity, Error> {
    let (_, node) = super::claimed(claim)?;
    let Operand { text, interval, float, approximate } =
        Operand::read(&printed(node)?, Precision::Auto).map_err(|error| {
            NOT_A_NUMBER.at(node.place(), "a number that is not a limit", error.to_string())
        })?;
    Ok(EvidenceQuantity { text, interval, float, approximate, ..EvidenceQuantity::count(0) })
}

/// What share of the stated compute 6·N·D takes for one N.
struct Share<'a> {
    count: &'a EvidenceQuantity,
    of: EvidenceQuantity,
}

impl Share<'_> {
    /// Whether the compute pays for it; nothing where the printed digits allow both.
    fn fits(&self) -> Option<bool> {
        let one = num_rational::BigRational::from_integer(1.into());
        if *self.of.interval.high() <= one {
            Some(true)
        } else if *self.of.interval.low() > one {
            Some(false)
        } else {
            None
        }
    }

    /// "1.43 (1.04 to 1.9)", with the label of N where it has one.
    fn text(&self) -> String {
        let [low, high] =
            [self.of.interval.low(), self.of.interval.high()].map(|end| format_significant(end, 4));
        let label = if self.count.label.is_empty() {
            String::new()
        } else {
            format!("{} ", self.count.label)
        };
        format!("{label}{} ({low} to {high})", format_significant(&self.of.value(), 4))
    }
}

fn judged(node: Node, shares: &[Share]) -> Result<Outcome, Error> {
    let texts: Vec<_> = shares.iter().map(Share::text).collect();
    let text = texts.join("; ");
    let fits: Vec<_> = shares.iter().map(Share::fits).collect();
    let training = node.get("training");
    let partial = match training.map(Node::text).transpose()? {
        None | Some("full") => false,
        Some("partial") => true,
        Some(other) => {
            let place = training.unwrap_or(node).place();
            return Err(BAD_CHOICE.at(place, "`full` or `partial`", format!("`{other}`")));
        }
    };
    let outcome = if partial {
        let reason = "not every parameter is trained on every token, so six FLOPs are no floor";
        Outcome::unchecked(&NOT_FULL, reason)
    } else if fits.iter().all(|fits| *fits == Some(true)) {
        Outcome::verified()
    } else if fits.iter().all(|fits| *fits == Some(false)) {
        let reason = match shares {
            [_] => format!("6·N·D is {text} times C, which does not pay for it"),
            _ => format!("C pays for 6·N·D with none of the counts; 6·N·D / C is {text}"),
        };
        // Whose compute it is decides who may be compared.
        Outcome::refuted(&BELOW_FLOOR, reason).with_impact(Impact::Decision)
    } else if shares.len() > 1 {
        Outcome::inconclusive(
            &DEPENDS,
            format!("it depends on which N is meant: 6·N·D / C is {text}"),
        )
    } else {
        Outcome::inconclusive(&UNDECIDED, format!("6·N·D / C is {text}, on both sides of 1"))
    };
    Ok(outcome.giving(format!("6·N·D / C = {text}")))
}

fn times(a: &EvidenceQuantity, b: &EvidenceQuantity) -> EvidenceQuantity {
    joined(a, b, "×", &a.interval * &b.interval, a.float * b.float)
}

fn over(
    claim: &Claim,
    a: &EvidenceQuantity,
    b: &EvidenceQuantity,
) -> Result<EvidenceQuantity, Error> {
    let interval = a.interval.div(&b.interval).ok_or_else(|| {
        NOT_A_NUMBER.at(claim.place(), "terms that are not zero", format!("`{}`", b.text))
    })?;
    Ok(joined(a, b, "/", interval, a.float / b.float))
}

fn joined(
    a: &EvidenceQuantity,
    b: &EvidenceQuantity,
    sign: &str,
    interval: Interval,
    float: f64,
) -> EvidenceQuantity {
    let derivation = format!("{} {sign} {}", part(a), part(b));
    let approximate = a.approximate || b.approximate;
    EvidenceQuantity { interval, float, derivation, approximate, ..EvidenceQuantity::count(0) }
}

/// A term inside a derivation.
fn part(of: &EvidenceQuantity) -> String {
    match of.derivation.as_str() {
        "" => of.text.clone(),
        derivation => format!("({derivation})"),
    }
}
