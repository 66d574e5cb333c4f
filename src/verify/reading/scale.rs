//! The scale of a column or a series: the one factor under which its numbers agree with their values.

use num_rational::BigRational;
use repro_core::decimal::{Agreement, Interval, Printed, Unit, compare};

/// A printed number of a column, and where its value lies.
#[derive(Debug, Clone)]
pub struct ColumnCell {
    /// The number as printed.
    pub printed: Printed,
    /// The value, in units of one.
    pub value: Interval,
    /// Whether the value is a share, which percents without a sign may print.
    pub is_share: bool,
    /// Whether it is in a table: thousands, millions and billions without a word are of columns alone.
    pub is_of_table: bool,
}

/// The factor that the printed numbers are multiplied by to give their values, other than 1: 1/100 for percents
/// without a sign, 10^3, 10^6 or 10^9 for thousands, millions, billions. A lone cell stays literal.
pub fn column_scale(cells: &[ColumnCell]) -> Option<BigRational> {
    let whole = |number: i64| BigRational::from_integer(number.into());
    let plain: Vec<_> = cells.iter().filter(|cell| may_be_scaled(&cell.printed)).collect();
    let hundredth = whole(100).recip();
    let agreeing = |factor: &BigRational| {
        let allows = |cell: &ColumnCell| {
            *factor == whole(1)
                || *factor == hundredth && cell.is_share
                || *factor > whole(1) && cell.is_of_table && cell.value.low() >= factor
        };
        plain.iter().filter(|cell| allows(cell) && agrees(cell, factor)).count()
    };
    let literal = agreeing(&whole(1));
    let factors = [hundredth.clone(), whole(1_000), whole(1_000_000), whole(1_000_000_000)];
    let counted = factors.map(|factor| (agreeing(&factor), factor));
    let (count, factor) = counted.into_iter().max_by_key(|(count, _)| *count)?;
    // A column with one wrong cell keeps its scale, so that the wrong cell is seen.
    let is_clear = count >= 2 && count > literal && 2 * count > plain.len();
    is_clear.then_some(factor)
}

/// Whether nothing in a print says its scale: no suffix, no unit, not zero.
fn may_be_scaled(printed: &Printed) -> bool {
    let has_suffix = printed.text().contains(|c: char| c.is_alphabetic() && !"eE".contains(c));
    printed.unit() == Unit::Plain && !has_suffix
}

fn agrees(cell: &ColumnCell, factor: &BigRational) -> bool {
    let scaled = cell.printed.clone().times(factor);
    compare(&cell.value, &scaled.interval()) == Agreement::Consistent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(cells: &[(&str, &str)]) -> Option<String> {
        let cells: Vec<_> = cells
            .iter()
            .map(|(printed, value)| ColumnCell {
                printed: Printed::parse(printed).unwrap(),
                value: Printed::parse(value).unwrap().exact(),
                is_share: value.starts_with("0."),
                is_of_table: true,
            })
            .collect();
        column_scale(&cells).map(|factor| factor.to_string())
    }

    #[test]
    fn a_column_has_one_scale() {
        assert_eq!(scale(&[("32.7", "0.3271"), ("33.1", "0.3309")]).as_deref(), Some("1/100"));
        assert_eq!(
            scale(&[("7.24", "7241732096"), ("1.10", "1100048384")]).as_deref(),
            Some("1000000000")
        );
        // One wrong cell does not hide the scale of the others.
        let wrong = [("32.7", "0.3271"), ("33.1", "0.3309"), ("45.0", "0.3309")];
        assert_eq!(scale(&wrong).as_deref(), Some("1/100"));
        assert_eq!(scale(&[("1.70", "1.7016"), ("1.72", "1.7168")]), None);
    }

    #[test]
    fn a_lone_cell_is_literal() {
        assert_eq!(scale(&[("32.7", "0.3271")]), None);
        assert_eq!(scale(&[("32.7%", "0.3271"), ("33.1%", "0.3309")]), None);
    }
}
