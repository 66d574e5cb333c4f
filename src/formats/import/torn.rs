//! Whether the last number of a file without a last line feed may have been cut: a table gives no other sign of it.

/// How the numbers at the end of rows are printed, as far as they were seen.
#[derive(Debug, Default)]
pub struct RowEnds {
    /// The fewest digits behind the point, of those that have a point; all digits, where none has one.
    decimals: Option<usize>,
    digits: Option<usize>,
    /// The fewest digits of an exponent.
    exponent: Option<usize>,
    /// Whether a number came without a point, or without an exponent.
    has_whole: bool,
    has_plain: bool,
    /// Whether a row ends in nothing, or in what is no number.
    has_other: bool,
}

impl RowEnds {
    /// Takes the end of a whole row.
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

    /// Whether the end of the last row may be the beginning of a number that was longer: it has fewer digits than each
    /// of the others, or is no number where all others are.
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

/// Whether a text is one of the words for what is no finite number, which `RowEnds` cannot measure.
fn is_word(text: &str) -> bool {
    ["nan", "inf", "-inf", "infinity", "-infinity"].contains(&&*text.to_ascii_lowercase())
}

/// How many digits a number has before the point, behind it, and in its exponent.
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
            // Floats of Python.
            (&["0.5", "0.123456789"], &["0.", "0", ""], &["0.1", "0.25"]),
            (&["12", "100"], &["9", ""], &["99", "101"]),
            (&["1.00e-04", "9.87e-05"], &["9.5", "9.50e", "9.50e-0", "9.5e-05"], &["9.50e-05"]),
            // What differs anyway tells nothing.
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
