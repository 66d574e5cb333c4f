//! Tests of groups of runs beside Student's: by ranks, and of more than two groups.

use std::rc::Rc;

use repro_core::source::Error;
use repro_stats::{Decimals, RankedPair, anova};

use super::resampled::refused;
use super::samples::number_from;
use super::tested::groups_of_runs;
use crate::evaluate::order::digits;
use crate::evaluate::{Call, WRONG_ARGUMENTS, design};
use crate::run_design::RunDesign;
use crate::value::{Evaluated, NumberRole, Quantity, RunSample};

/// The words by which a plan names each test.
const MANN_WHITNEY: &[&str] = &["mann-whitney", "mann whitney", "rank-sum", "rank sum"];
const KOLMOGOROV_SMIRNOV: &[&str] = &["kolmogorov"];
const ANALYSIS_OF_VARIANCE: &[&str] = &["anova", "analysis of variance"];
/// So many steps of counting orders take one step.
const ORDERS_IN_A_STEP: usize = 512;
/// The most steps that counting takes; above, there is a formula.
const MOST_ORDERS: usize = 2_000_000;

/// Groups of runs, exactly, and what fixes their comparison.
struct ComparedGroups {
    groups: Vec<RunSample>,
    exact: Vec<Decimals>,
    design: RunDesign,
}

impl ComparedGroups {
    /// The groups of a call, for a test that a plan names by one of some words.
    fn of(call: &Call<'_, '_, '_>, words: &[&str]) -> Result<Self, Error> {
        let groups = groups_of_runs(call, usize::MAX)?;
        let design = design::of_groups(call.evaluator, &groups.iter().collect::<Vec<_>>());
        let is_named = |test: &String| {
            let test = test.to_ascii_lowercase();
            words.iter().any(|word| test.contains(word))
        };
        // What a plan compares are arms, and it says by which tests.
        let are_planned = design.comparison.arms.len() > 1 && !design.tests.is_empty();
        if are_planned && !design.tests.iter().any(is_named) {
            call.evaluator.departs(format!("the plan has another test than `{}`", call.name));
        }
        let exact = groups.iter().map(|group| Decimals::of(&group.floats()));
        let exact = exact.collect::<Result<_, _>>().map_err(|why| refused(call, why))?;
        Ok(Self { groups, exact, design })
    }

    /// Two of them in their common order, where the work of counting it is allowed.
    fn ranked(&self, call: &Call<'_, '_, '_>) -> Result<RankedPair, Error> {
        let [a, b] = self.exact.as_slice() else {
            return Err(call.wrong(&WRONG_ARGUMENTS, "two groups of runs", "another number"));
        };
        let pairs = a.count().saturating_mul(b.count());
        let orders = pairs.saturating_mul(pairs).min(MOST_ORDERS);
        call.frame.takes(orders / ORDERS_IN_A_STEP)?;
        RankedPair::new(a, b).map_err(|why| refused(call, why))
    }

    /// The p of their test as a number.
    fn p<'a>(self, call: &Call<'_, '_, 'a>, p: f64, text: String) -> Result<Evaluated<'a>, Error> {
        let of: Vec<&Quantity> = self.groups.iter().flat_map(|group| &group.numbers).collect();
        let number = number_from(call, p, text, &of)?;
        let role = NumberRole::P(Rc::new(self.design));
        Ok(Evaluated::Number(Quantity { role, ..number }))
    }
}

pub fn mann_whitney<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, MANN_WHITNEY)?;
    let test = compared.ranked(call)?.mann_whitney().map_err(|why| refused(call, why))?;
    let how = if test.is_exact { "exact" } else { "by the normal distribution" };
    let text = format!("p by Mann-Whitney's test, U = {}, {how}", test.u);
    compared.p(call, test.p_two_sided, text)
}

pub fn kolmogorov_smirnov<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, KOLMOGOROV_SMIRNOV)?;
    let test = compared.ranked(call)?.kolmogorov_smirnov().map_err(|why| refused(call, why))?;
    let how = if test.is_exact { "exact" } else { "by Kolmogorov's limit" };
    let text = format!("p by the Kolmogorov-Smirnov test, D = {}, {how}", digits(test.d));
    compared.p(call, test.p, text)
}

pub fn analysis_of_variance<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = ComparedGroups::of(call, ANALYSIS_OF_VARIANCE)?;
    let test = anova(&compared.exact).map_err(|why| refused(call, why))?;
    let text = format!(
        "p by one-way analysis of variance, F({}, {}) = {}",
        test.df_between,
        test.df_within,
        digits(test.f)
    );
    compared.p(call, test.p, text)
}
