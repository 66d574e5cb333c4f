//! The quantities that a contract is made of, each computed for one run at its step.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::fields::{UNIQUE_TOKENS, VALIDATION_STEPS};
use super::{FieldGroup, RunAtStep, StatedValue};

/// A quantity that is computed and not merely stated.
pub struct ContractQuantity {
    /// The group of the quantity.
    pub group: FieldGroup,
    /// Its name in reports.
    pub name: &'static str,
    /// The match or horizon that the runs share if it is equal.
    pub contract: Option<&'static str>,
    /// Whether it is equal within the tolerance, or only exactly.
    pub tolerant: bool,
    /// Its value, if the run states enough.
    pub of: fn(&RunAtStep) -> Option<StatedValue>,
}

const fn tolerant(
    group: FieldGroup,
    name: &'static str,
    contract: Option<&'static str>,
    of: fn(&RunAtStep) -> Option<StatedValue>,
) -> ContractQuantity {
    ContractQuantity { group, name, contract, tolerant: true, of }
}

const fn exact(
    group: FieldGroup,
    name: &'static str,
    of: fn(&RunAtStep) -> Option<StatedValue>,
) -> ContractQuantity {
    ContractQuantity { group, name, contract: None, tolerant: false, of }
}

/// Every quantity, in the order of reports.
pub static QUANTITIES: &[ContractQuantity] = &[
    tolerant(FieldGroup::Match, "P_active", Some("active"), |run| {
        run.active.map(StatedValue::integer)
    }),
    tolerant(FieldGroup::Match, "P_total", Some("total"), |run| {
        Some(StatedValue::integer(run.total))
    }),
    tolerant(FieldGroup::Match, "active FFN width", Some("active_ffn_width"), |run| {
        run.objects.as_ref().map(|objects| StatedValue::integer(objects.active_ffn_width))
    }),
    tolerant(FieldGroup::Horizon, "tokens seen", Some("equal_tokens"), |run| number(run.tokens())),
    tolerant(FieldGroup::Horizon, "tokens per P_total", Some("total_dn"), |run| {
        number(over(run.tokens()?, run.total))
    }),
    tolerant(FieldGroup::Horizon, "tokens per P_active", Some("active_dn"), |run| {
        number(over(run.tokens()?, run.active?))
    }),
    tolerant(FieldGroup::Horizon, "step", Some("steps"), |run| run.step.map(StatedValue::integer)),
    tolerant(FieldGroup::Horizon, "compute (10^18 FLOP)", Some("iso_flop"), |run| {
        let scale = BigRational::from_integer(BigInt::from(10).pow(18));
        number(Some(whole(6) * whole(run.active?) * run.tokens()? / scale))
    }),
    tolerant(FieldGroup::Horizon, "tokens per routed expert", None, tokens_per_expert),
    tolerant(FieldGroup::Horizon, "fraction of its own schedule", None, |run| {
        number(Some(whole(run.step?) / run.schedule_steps().filter(|steps| !steps.is_zero())?))
    }),
    exact(FieldGroup::Recipe, "learning-rate phase", |run| {
        Some(StatedValue::Phase(run.schedule?.phase(run.step?)))
    }),
    exact(FieldGroup::Recipe, "schedule in steps", |run| number(run.schedule_steps())),
    exact(FieldGroup::Recipe, "seeds", |run| run.fields.seeds().map(StatedValue::Text)),
    exact(FieldGroup::Evaluation, "validation tokens", |run| {
        number(Some(run.fields.number(VALIDATION_STEPS)? * run.tokens_per_step()?))
    }),
    tolerant(FieldGroup::Data, "epochs", None, |run| {
        number(Some(
            run.tokens()? / run.fields.number(UNIQUE_TOKENS).filter(|tokens| !tokens.is_zero())?,
        ))
    }),
    exact(FieldGroup::Data, "tokens per step", |run| number(run.tokens_per_step().cloned())),
];

fn number(value: Option<BigRational>) -> Option<StatedValue> {
    value.map(StatedValue::Number)
}

fn whole(value: u64) -> BigRational {
    BigRational::from_integer(value.into())
}

fn over(tokens: BigRational, params: u64) -> Option<BigRational> {
    (params > 0).then(|| tokens / whole(params))
}

/// The tokens per expert under uniform routing: `tokens x K / E`.
fn tokens_per_expert(run: &RunAtStep) -> Option<StatedValue> {
    let shape = run.objects.as_ref()?.shape;
    if shape.experts == 0 {
        return Some(StatedValue::Nothing("no experts"));
    }
    number(over(run.tokens()? * whole(shape.experts_per_token), shape.experts))
}
