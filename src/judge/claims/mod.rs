//! Claim kinds: what can be stated, and how each statement is judged.
//!
//! One file per kind. A kind reads its own fields and the evidence, and returns an outcome; it does
//! no input or output and knows no other kind. A new kind is `mod name;` and `&name::KIND,` here.

mod all_runs_reported;
mod band;
mod bounds;
mod bpb;
mod compute_identity;
mod confidence_interval;
mod core;
mod cross_artifact;
mod decision;
mod equivalence;
mod error_bar_meaning;
mod error_bar_pairing;
mod eval_grid;
mod formula_limits;
mod gap;
mod grim;
mod held_fixed;
mod horizon_steps;
mod identity;
mod monotone;
mod param_count;
mod proportion_test;
mod ranking;
mod ranking_significance;
mod replicate;
mod reversal;
mod rounding_pair;
pub mod slice_replay;
mod target_rule;
mod target_test;
mod time_identity;
mod trend;

mod arms;
mod axes;
mod comparison;
mod plus_minus;
mod proportions;
mod significance;
mod statement;
mod tolerance;

use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_receipt::source::{Code, Error, Node, codes};
use repro_report::outcome::{Impact, Outcome, Verdict};

codes! {
    UNKNOWN_KIND = "claims::unknown-kind", "there is no claim kind of this name", "`repro list kinds` names them; `scripts/new_claim_kind.sh` makes a new one";
    NOT_PRINTED = "claims::not-printed", "the claimed value is not a printed number", "write it exactly as the publication prints it";
    NO_CLAIMED = "claims::no-claimed", "this kind of claim needs the claimed value", "add `claimed = \"…\"`, exactly as printed";
    CLAIMED_ELSEWHERE = "claims::claimed-elsewhere", "the claimed number is none of those that the claim depends on", "correct it, or name the value among the fields of the claim";
}

/// A field that a kind reads beside those that every claim has.
#[derive(Debug)]
pub struct FieldSpec {
    /// Its name.
    pub name: &'static str,
    /// Whether a claim must have it.
    pub required: bool,
    /// What it holds.
    pub doc: &'static str,
}

impl FieldSpec {
    /// A field that a claim must have.
    pub const fn required(name: &'static str, doc: &'static str) -> Self {
        Self { name, required: true, doc }
    }

    /// A field that a claim may have.
    pub const fn optional(name: &'static str, doc: &'static str) -> Self {
        Self { name, required: false, doc }
    }
}

/// One kind of claim.
#[derive(Debug)]
pub struct ClaimKind {
    /// Its name: the file stem, the fixture folder, the word in post files.
    pub id: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What is checked, the formula, how it can mislead, one reference.
    pub explain: &'static str,
    /// The fields it reads.
    pub fields: &'static [FieldSpec],
    /// The codes it raises.
    pub codes: &'static [&'static Code],
    /// Whether being wrong turns a conclusion or only a digit.
    pub impact: Impact,
    /// Whether its check compares the claimed number. Where it does not, that number must be one of those
    /// that the claim depends on.
    pub judges_claimed: bool,
    /// Judges a claim. An error means that the claim or its evidence is malformed.
    pub check: Check,
}

/// How a kind judges a claim.
pub type Check = fn(&Claim, &Evidence) -> Result<Outcome, Error>;

/// Every kind, by name.
pub static KINDS: &[&ClaimKind] = &[
    &all_runs_reported::KIND,
    &band::KIND,
    &bounds::KIND,
    &bpb::KIND,
    &compute_identity::KIND,
    &confidence_interval::KIND,
    &core::KIND,
    &cross_artifact::KIND,
    &decision::KIND,
    &equivalence::KIND,
    &error_bar_meaning::KIND,
    &error_bar_pairing::KIND,
    &eval_grid::KIND,
    &formula_limits::KIND,
    &gap::KIND,
    &grim::KIND,
    &held_fixed::KIND,
    &horizon_steps::KIND,
    &identity::KIND,
    &monotone::KIND,
    &param_count::KIND,
    &proportion_test::KIND,
    &ranking::KIND,
    &ranking_significance::KIND,
    &replicate::KIND,
    &reversal::KIND,
    &rounding_pair::KIND,
    &slice_replay::KIND,
    &target_rule::KIND,
    &target_test::KIND,
    &time_identity::KIND,
    &trend::KIND,
];

/// The codes of the rules that kinds share.
pub static SHARED_CODES: &[&[&Code]] = &[significance::CODES, tolerance::CODES];

/// The codes of groups of runs that cannot be read.
pub static ARM_CODES: &[&Code] = arms::CODES;

/// The kind that a claim names; its fields are checked too.
pub fn kind_of(claim: &Claim) -> Result<&'static ClaimKind, Error> {
    let kind = KINDS.iter().find(|kind| kind.id == claim.kind).ok_or_else(|| {
        let place = claim.node.get("kind").unwrap_or(claim.node).place();
        let known: Vec<_> = KINDS.iter().map(|kind| kind.id).collect();
        UNKNOWN_KIND.at(place, format!("one of {}", known.join(", ")), format!("`{}`", claim.kind))
    })?;
    let own = kind.fields.iter().map(|field| field.name);
    let known: Vec<_> = Claim::COMMON_FIELDS.into_iter().chain(own).collect();
    claim.node.only(&known)?;
    for field in kind.fields.iter().filter(|field| field.required) {
        claim.node.required(field.name)?;
    }
    Ok(*kind)
}

/// Judges a claim.
pub fn judge(kind: &ClaimKind, claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let outcome = (kind.check)(claim, evidence)?;
    let claimed = claim.claimed.map(Node::text).transpose()?.unwrap_or_default();
    let is_number = claimed.contains(|c: char| c.is_ascii_digit());
    if outcome.verdict == Verdict::Verified
        && is_number
        && !kind.judges_claimed
        && !evidence.prints(claimed)
    {
        let reason = format!("\"{claimed}\" is not among the values that the claim depends on");
        let unchecked = Outcome::unchecked(&CLAIMED_ELSEWHERE, reason).giving(outcome.recomputed);
        return Ok(Outcome { notes: outcome.notes, ..unchecked });
    }
    Ok(outcome)
}

/// A field that holds one of a few words.
fn choice<'a>(node: Node<'a>, field: &str, words: &[&str]) -> Result<Option<&'a str>, Error> {
    let Some(chosen) = node.get(field) else { return Ok(None) };
    let word = chosen.text()?;
    if words.contains(&word) {
        return Ok(Some(word));
    }
    let known: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    Err(BAD_CHOICE.at(chosen.place(), known.join(" or "), format!("`{word}`")))
}

/// The claimed text, which a kind may require.
fn claimed<'a>(claim: &Claim<'a>) -> Result<(&'a str, Node<'a>), Error> {
    let node = claim.claimed.ok_or_else(|| NO_CLAIMED.at(claim.place(), "`claimed`", "none"))?;
    Ok((node.text()?, node))
}
