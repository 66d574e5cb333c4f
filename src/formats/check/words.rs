//! Finds model sizes in prose.

use repro_claim::relation::{PrintedRange, RelationNumber};

/// The parameter counts in a text, such as `1.2B` or `300 M`, each with its rounding range and its words. Trailing
/// zeros in prose are rounded: `130M` means anything from 125M to 135M.
pub fn parameters(text: &str) -> Vec<(PrintedRange, String)> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_start = bytes[at].is_ascii_digit()
            && (at == 0
                || !(bytes[at - 1].is_ascii_alphanumeric()
                    || matches!(bytes[at - 1], b'.' | b'_')));
        if !is_start {
            at += 1;
            continue;
        }
        let end = at + bytes[at..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        let digits = text.get(at..end).unwrap_or_default().trim_end_matches('.');
        let rest = text.get(at + digits.len()..).unwrap_or_default();
        let unit = rest.strip_prefix(' ').unwrap_or(rest);
        if let Some((size, (word, scale))) = spoken(digits).zip(scale_of(unit)) {
            let length = rest.len() - unit.len() + word.len();
            let words = format!("{digits}{}", rest.get(..length).unwrap_or_default());
            found.push((size.scaled(scale), words));
        }
        at = end.max(at + 1);
    }
    found
}

/// The word for a power of ten at the start of a text.
fn scale_of(text: &str) -> Option<(&'static str, f64)> {
    const WORDS: [(&str, f64); 8] = [
        ("trillion", 1e12),
        ("billion", 1e9),
        ("million", 1e6),
        ("T", 1e12),
        ("B", 1e9),
        ("b", 1e9),
        ("M", 1e6),
        ("m", 1e6),
    ];
    let is_whole = |word: &str| {
        text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    WORDS.into_iter().find(|(word, _)| is_whole(word))
}

/// The range of a number in prose: half a unit of its last nonzero digit in both directions.
pub fn spoken(digits: &str) -> Option<PrintedRange> {
    if digits.contains('.') {
        return PrintedRange::printed(digits);
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let value: f64 = digits.parse().ok()?;
    let half = if zeros == 0 { 0.5 } else { 0.5 * libm::pow(10.0, zeros as f64) };
    (value > 0.0)
        .then(|| PrintedRange::between(value - half, value + half))
        .filter(|range| range.is_defined())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_in_prose() {
        let found = |text: &str| -> Vec<_> {
            let all = parameters(text).into_iter();
            all.map(|(range, words)| (words, range.ends().map(f64::round))).collect()
        };
        assert_eq!(found("a 130M model"), [("130M".to_owned(), [125e6, 135e6])]);
        assert_eq!(found("15 trillion tokens"), [("15 trillion".to_owned(), [14.5e12, 15.5e12])]);
        assert_eq!(found("~1.2B (v2)"), [("1.2B".to_owned(), [1.15e9, 1.25e9])]);
        assert_eq!(
            found("300 M of 8xH200, 4M0, 10 Mb/s, llama_75M"),
            [("300 M".to_owned(), [250e6, 350e6])]
        );
    }
}
