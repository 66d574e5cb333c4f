//! Digests, commits and URLs: names with digits that are not numbers.

use super::{before, behind};
use crate::words::words;

/// A shorter run of hexadecimal digits may be a number and its unit.
const FEWEST: usize = 7;

/// Whether the digit at `at` is part of a digest, a commit or a URL: `55897ee`, `sha256:38c7…`, `https://x.org/1.5`.
pub(super) fn holds(text: &str, at: usize) -> bool {
    let (before, behind) = (before(text, at), behind(text, at));
    is_in_address(before) || is_in_digest(before, behind)
}

fn is_in_address(before: &str) -> bool {
    let is_edge = |c: char| c.is_whitespace() || "<>()[]|\"'`".contains(c);
    let word = before.rsplit(is_edge).next().unwrap_or_default();
    ["https://", "http://"].iter().any(|scheme| word.starts_with(scheme))
}

fn is_in_digest(before: &str, behind: &str) -> bool {
    let is_edge = |c: char| !c.is_alphanumeric() && !"_.-+".contains(c);
    let head = before.rsplit(is_edge).next().unwrap_or_default();
    let tail = behind.split(is_edge).next().unwrap_or_default();
    // A sentence ends, or the digest is cut off.
    let digits = [head, tail.trim_end_matches('.')].concat();
    let is_hex = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
    if digits.len() < FEWEST || !digits.chars().all(is_hex) {
        return false;
    }
    let label = before[..before.len() - head.len()]
        .trim_end_matches(|c: char| c.is_whitespace() || "`*_".contains(c))
        .to_ascii_lowercase();
    // `1e10` and `12e4567` are powers; a commit has other letters too, or begins with one.
    let letters = digits.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_power = letters == 1 && digits.contains('e') && !digits.starts_with('e');
    words().end_of("digest.labels", &label).is_some() || letters > 0 && !is_power
}

#[cfg(test)]
mod tests {
    use super::super::items;

    #[test]
    fn digits_of_digests_and_addresses_are_no_numbers() {
        for text in [
            "`sha256:38c7c6a5…fba89e`",
            "38c7c6a59fc90d2279c6ed575090eb3e69cc9b7d2d3fb7a1540c492498fba89e.",
            "at 55897eef4d0e3c1b2a, at (0012ab3)",
            "commit 1234567 of it, commit `1234567`",
            "sha256:1234567890",
            "https://x.org/1.5/run-3 and <https://x.org/?a=7>",
        ] {
            assert!(items(text).is_empty(), "{text}: {:?}", items(text));
        }
    }

    #[test]
    fn numbers_are_no_digests() {
        for (text, count) in [
            ("1234567 tokens", 1),
            ("1e10 and 1.5e12", 2),
            ("1234567e3", 1),
            ("1234567.5", 1),
            ("https://x.org 1.5", 1),
            ("[a](https://x.org) 1.5", 1),
            ("commit to 1234567", 1),
            ("12345b", 1),
        ] {
            assert_eq!(items(text).len(), count, "{text}");
        }
    }
}
