//! Values in a readable form: separators, human times, and enough digits to distinguish the values of a row.

use repro_core::decimal::grouped;

/// Milliseconds of a second, seconds of a minute and of an hour.
const MILLISECONDS: f64 = 1e3;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
/// A time is shown in a unit of which the longest has at least so many.
const LEAST_UNITS: f64 = 2.0;
/// More decimals tell nothing.
const MOST_DECIMALS: usize = 12;
/// From here on a whole number has exponents instead of digits.
const MOST_WHOLE: f64 = 1e15;

/// How the values of one row are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowFormat {
    /// The divisor of each value.
    per: f64,
    /// The text after each value: the unit of a time.
    unit: &'static str,
    /// Decimals; none for whole numbers.
    decimals: Option<usize>,
}

impl RowFormat {
    /// The format of values in a unit. Only times change their unit, so only they have it beside the value.
    pub(super) fn of(values: impl Iterator<Item = f64>, unit: &str) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let most = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let seconds = match unit {
            "ms" => Some(MILLISECONDS.recip()),
            "s" => Some(1.0),
            _ => None,
        };
        if let Some(seconds) = seconds.filter(|seconds| most * seconds >= LEAST_UNITS) {
            let units = [(HOUR, "h"), (MINUTE, "min"), (1.0, "s")];
            let fits = |(size, _): &(f64, &str)| most * seconds / size >= LEAST_UNITS;
            let (size, name) = units.into_iter().find(fits).unwrap_or((1.0, "s"));
            return Self { per: size / seconds, unit: name, decimals: Some(1) };
        }
        let is_whole = values.iter().all(|value| value.fract() == 0.0 && value.abs() < MOST_WHOLE);
        let decimals = (!is_whole).then(|| decimals(&values, most));
        Self { per: 1.0, unit: "", decimals }
    }

    /// A value with separators and unit.
    pub(super) fn of_value(&self, value: f64) -> String {
        let value = value / self.per;
        let digits = match self.decimals {
            _ if value.abs() >= MOST_WHOLE || value != 0.0 && value.abs() < 1e-6 => {
                format!("{value:.4e}")
            }
            Some(decimals) => {
                let written = format!("{value:.decimals$}");
                match written.split_once('.') {
                    Some((whole, decimals)) => format!("{}.{decimals}", grouped(whole)),
                    None => grouped(&written),
                }
            }
            None => grouped(&format!("{value:.0}")),
        };
        format!("{digits} {}", self.unit).trim_end().to_owned()
    }
}

/// The decimals that show about four digits, more if values would look equal, fewer if the last are zeros.
fn decimals(values: &[f64], most: f64) -> usize {
    let usual = match most {
        _ if most >= 1000.0 => 0,
        _ if most >= 100.0 => 1,
        _ if most >= 10.0 => 2,
        _ if most >= 0.01 => 4,
        _ => 6,
    };
    let written = |value: f64, decimals: usize| format!("{value:.decimals$}");
    let tells_apart = |decimals: &usize| {
        let differ = |a: &f64, b: &f64| a == b || written(*a, *decimals) != written(*b, *decimals);
        values.iter().enumerate().all(|(at, a)| values[..at].iter().all(|b| differ(a, b)))
    };
    let mut found = (usual..=MOST_DECIMALS).find(tells_apart).unwrap_or(usual);
    while found > 0 && values.iter().all(|value| written(*value, found).ends_with('0')) {
        found -= 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::RowFormat;

    fn shown(values: &[f64], unit: &str) -> Vec<String> {
        let format = RowFormat::of(values.iter().copied(), unit);
        values.iter().map(|value| format.of_value(*value)).collect()
    }

    #[test]
    fn values_have_separators_units_and_digits_that_tell_them_apart() {
        assert_eq!(shown(&[4_362_076_160.0, 8320.0], ""), ["4,362,076,160", "8,320"]);
        assert_eq!(shown(&[22.894_149, 17.209_83], ""), ["22.89", "17.21"]);
        assert_eq!(shown(&[0.060865, 0.050558], ""), ["0.0609", "0.0506"]);
        assert_eq!(shown(&[1.21, 1.4], ""), ["1.21", "1.40"]);
        assert_eq!(shown(&[1.70161, 1.70162], ""), ["1.70161", "1.70162"]);
        assert_eq!(shown(&[6.617_314_805, 6.617_314_972], ""), ["6.6173148", "6.6173150"]);
        assert_eq!(shown(&[0.0, -2.5e-9], ""), ["0", "-2.5000e-9"]);
    }

    #[test]
    fn times_are_in_the_unit_that_people_use() {
        assert_eq!(shown(&[1_310_950.0, 3_565_374.0], "ms"), ["21.8 min", "59.4 min"]);
        assert_eq!(shown(&[20_500_000.0], "ms"), ["5.7 h"]);
        assert_eq!(shown(&[157.3], "ms"), ["157.3"]);
    }
}
