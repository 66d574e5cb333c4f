//! Detects a possibly truncated last number in a file without a final line feed; a table gives no other sign of it.

/// The formatting of the numbers at the end of rows seen so far.
#[derive(Debug, Default)]
pub struct RowEnds {
    /// The fewest digits after the point among numbers with a point; all digits if none has one.
    decimals: Option<usize>,
    digits: Option<usize>,
    /// The fewest exponent digits.
    exponent: Option<usize>,
    /// Whether a number had no point, or no exponent.
    has_whole: bool,
    has_plain: bool,
    /// Whether a row ended in an empty cell, or in a value that is not a number.
    has_other: bool,
}

impl RowEnds {
    /// Adds the end of a complete row.
    pub fn see(&mut self, text: &str) {
        let Some(printed) = PrintedDigits::of(text) else {
            self.has_other = true;
            return;
        };
        let fewer = |known: &mut Option<usize>, count: usize| {
            *known = Some(known.map_or(count, |known| known.min(count)));
        };
        fewer(&mut self.digits, printed.whole);
        match printed.decimals {
            Some(count) => fewer(&mut self.decimals, count),
            None => self.has_whole = true,
        }
        match printed.exponent {
            Some(count) => fewer(&mut self.exponent, count),
            None => self.has_plain = true,
        }
    }

    /// Whether the end of the last row may be the beginning of a longer number: it has fewer digits than all others, or
    /// is not a number although all others are.
    pub fn may_be_cut(&self, text: &str) -> bool {
        if is_word(text) || self.digits.is_none() {
            return false;
        }
        let Some(printed) = PrintedDigits::of(text) else { return !self.has_other };
        let lacks = |own: Option<usize>, fewest: Option<usize>| {
            fewest.is_some_and(|fewest| own.is_none_or(|own| own < fewest))
        };
        let exponent = !self.has_plain && lacks(printed.exponent, self.exponent);
        let decimals = !self.has_whole && lacks(printed.decimals, self.decimals);
        let whole = self.decimals.is_none() && lacks(Some(printed.whole), self.digits);
        exponent || decimals || whole
    }
}

/// Whether a text is a word for a non-finite number, which `RowEnds` cannot measure.
fn is_word(text: &str) -> bool {
    ["nan", "inf", "-inf", "infinity", "-infinity"].contains(&&*text.to_ascii_lowercase())
}

/// The number of digits before the point, after it, and in the exponent.
struct PrintedDigits {
    whole: usize,
    decimals: Option<usize>,
    exponent: Option<usize>,
}

impl PrintedDigits {
    fn of(text: &str) -> Option<Self> {
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent.trim_start_matches(['-', '+']))),
            None => (text, None),
        };
        let (whole, decimals) = match mantissa.split_once('.') {
            Some((whole, decimals)) => (whole, Some(decimals)),
            None => (mantissa, None),
        };
        let parts = [Some(whole), decimals, exponent];
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        parts.into_iter().flatten().all(is_number).then(|| Self {
            whole: whole.len(),
            decimals: decimals.map(str::len),
            exponent: exponent.map(str::len),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shorter_than_all_others_may_be_cut() {
        for (others, cut, whole) in [
            (
                &["3.27912", "3.12345"][..],
                &["3.2791", "3.2", "3.", "3", "", "-"][..],
                &["3.27910", "12.34567", "nan"][..],
            ),
            // Python floats.
            (&["0.5", "0.123456789"], &["0.", "0", ""], &["0.1", "0.25"]),
            (&["12", "100"], &["9", ""], &["99", "101"]),
            (&["1.00e-04", "9.87e-05"], &["9.5", "9.50e", "9.50e-0", "9.5e-05"], &["9.50e-05"]),
            // Numbers with varying formatting show nothing.
            (&["1", "2.5", ""], &[], &["3", "", "2.25"]),
            (&["text", "text"], &[], &["te", ""]),
            (&[], &[], &["3.2", ""]),
        ] {
            let mut ends = RowEnds::default();
            others.iter().for_each(|text| ends.see(text));
            for text in cut {
                assert!(ends.may_be_cut(text), "{others:?} {text}");
            }
            for text in whole {
                assert!(!ends.may_be_cut(text), "{others:?} {text}");
            }
        }
    }
}
