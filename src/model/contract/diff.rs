//! The comparison of runs: what they all hold fixed, what differs, and what some do not state.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::quantities::QUANTITIES;
use super::{FieldGroup, RunAtStep, StatedValue};

/// Derived quantities that differ by this much are held fixed: the verifier's default.
pub const TOLERANCE_PERCENT: i32 = 2;

/// The comparison of the runs in one quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// All runs state it, with equal values.
    HeldFixed,
    /// Two runs state different values.
    Differs,
    /// Some runs do not state it, and the others agree.
    NotStated,
}

/// One quantity, over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffRow {
    /// The group of the quantity.
    pub group: FieldGroup,
    /// Its name.
    pub name: String,
    /// The match or horizon that the runs share if it is equal.
    pub contract: Option<&'static str>,
    /// Whether it was computed and not merely stated.
    pub derived: bool,
    /// The value of each run.
    pub values: Vec<Option<StatedValue>>,
    /// The ratio of the largest and smallest value, if all are numbers with the same sign.
    pub ratio: Option<BigRational>,
    /// The comparison of the runs.
    pub standing: Standing,
}

/// Everything that is compared, the most important first.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractDiff {
    /// One row per quantity.
    pub rows: Vec<DiffRow>,
}

impl ContractDiff {
    /// Compares runs, each at its own step.
    pub fn of(runs: &[RunAtStep]) -> Self {
        let tolerance = BigRational::new(TOLERANCE_PERCENT.into(), 100.into());
        let exactly = BigRational::zero();
        let derived = QUANTITIES.iter().enumerate().map(|(order, quantity)| {
            let values = runs.iter().map(quantity.of).collect();
            let allowed = if quantity.tolerant { &tolerance } else { &exactly };
            let row = DiffRow::new(quantity.group, quantity.name, values, allowed);
            ((false, order), DiffRow { contract: quantity.contract, derived: true, ..row })
        });
        let mut names = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            for (name, field) in run.fields.iter() {
                let entry = names
                    .entry(name)
                    .or_insert_with(|| (field.group, field.order, vec![None; runs.len()]));
                entry.2[at] = Some(field.value.clone());
            }
        }
        let stated = names.into_iter().map(|(name, (group, order, values))| {
            ((true, order), DiffRow::new(group, name, values, &exactly))
        });
        let mut rows: Vec<_> = derived.chain(stated).collect();
        // Stable, so fields without a known order stay sorted by name.
        rows.sort_by_key(|(order, row)| (row.group, *order));
        Self { rows: rows.into_iter().map(|(_, row)| row).collect() }
    }

    /// The rows of one standing.
    pub fn with(&self, standing: Standing) -> impl Iterator<Item = &DiffRow> {
        self.rows.iter().filter(move |row| row.standing == standing)
    }

    /// The rows that decide which match or horizon the runs share.
    pub fn contract(&self, group: FieldGroup) -> impl Iterator<Item = (&'static str, &DiffRow)> {
        self.rows
            .iter()
            .filter_map(move |row| Some((row.contract.filter(|_| row.group == group)?, row)))
    }
}

impl DiffRow {
    fn new(
        group: FieldGroup,
        name: &str,
        values: Vec<Option<StatedValue>>,
        tolerance: &BigRational,
    ) -> Self {
        let stated: Vec<&StatedValue> = values.iter().flatten().collect();
        let standing = if !all_same(&stated, tolerance) {
            Standing::Differs
        } else if stated.len() < values.len() {
            Standing::NotStated
        } else {
            Standing::HeldFixed
        };
        let ratio = ratio(&stated);
        let name = name.to_owned();
        Self { group, name, contract: None, derived: false, values, ratio, standing }
    }

    /// Whether all runs hold it fixed; none if some do not state it and no two disagree.
    pub fn holds(&self) -> Option<bool> {
        match self.standing {
            Standing::HeldFixed => Some(true),
            Standing::Differs => Some(false),
            Standing::NotStated => None,
        }
    }

    /// The value that all runs have in common, to the last digit.
    pub fn shared(&self) -> Option<&StatedValue> {
        let first = self.values.first()?.as_ref()?;
        self.values.iter().all(|value| value.as_ref() == Some(first)).then_some(first)
    }
}

/// Whether all values are the same. Numbers are compared by their ends, all else with
/// the first, so that many small differences do not pass as none.
fn all_same(values: &[&StatedValue], tolerance: &BigRational) -> bool {
    let numbers: Vec<_> = values.iter().filter_map(|value| value.number()).collect();
    if numbers.len() == values.len()
        && let Some((low, high)) = numbers.iter().min().zip(numbers.iter().max())
    {
        let (low, high) =
            (StatedValue::Number((*low).clone()), StatedValue::Number((*high).clone()));
        return low.same(&high, tolerance);
    }
    values.iter().all(|a| values.first().is_none_or(|b| a.same(b, tolerance)))
}

fn ratio(values: &[&StatedValue]) -> Option<BigRational> {
    let numbers: Option<Vec<_>> = values
        .iter()
        .filter(|value| !matches!(value, StatedValue::Nothing(_)))
        .map(|value| value.number())
        .collect();
    let numbers = numbers?;
    let (low, high) = numbers.iter().min().zip(numbers.iter().max())?;
    if numbers.len() < 2
        || low.is_zero()
        || high.is_zero()
        || low.is_positive() != high.is_positive()
    {
        return None;
    }
    let ratio = *high / *low;
    Some(if ratio < BigRational::one() { ratio.recip() } else { ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Option<i64>]) -> DiffRow {
        let value =
            |n: &Option<i64>| n.map(|n| StatedValue::Number(BigRational::from_integer(n.into())));
        let tolerance = BigRational::new(1.into(), 50.into());
        DiffRow::new(FieldGroup::Other, "x", values.iter().map(value).collect(), &tolerance)
    }

    #[test]
    fn what_is_missing_is_never_equal() {
        assert_eq!(row(&[Some(1), Some(1)]).standing, Standing::HeldFixed);
        assert_eq!(row(&[Some(1), None]).standing, Standing::NotStated);
        assert_eq!(row(&[None, None]).standing, Standing::NotStated);
        assert_eq!(row(&[None, Some(1), Some(2)]).standing, Standing::Differs);
        assert_eq!(row(&[None, Some(1)]).holds(), None);
    }

    #[test]
    fn small_differences_do_not_add_up() {
        assert_eq!(row(&[Some(1000), Some(1019)]).standing, Standing::HeldFixed);
        assert_eq!(row(&[Some(1019), Some(1000), Some(1038)]).standing, Standing::Differs);
    }

    #[test]
    fn a_ratio_is_at_least_one() {
        let shown = |values: &[Option<i64>]| row(values).ratio.map(|ratio| ratio.to_string());
        assert_eq!(shown(&[Some(2), Some(5), Some(1)]).as_deref(), Some("5"));
        assert_eq!(shown(&[Some(-2), Some(-4)]).as_deref(), Some("2"));
        assert_eq!(shown(&[Some(-2), Some(4)]), None);
        assert_eq!(shown(&[Some(0), Some(4)]), None);
        assert_eq!(shown(&[Some(4), None]), None);
    }
}
