//! Finds numbers in running text by the words next to them, and sums that are written out.

use std::ops::Range;

use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};

/// Characters that can separate a word from its number.
const BETWEEN: &[char] = &[' ', '`', '"', '*', '~', '$', ':', '='];

/// A passage of a text.
#[derive(Debug, Clone)]
pub struct ProsePassage<'t> {
    pub text: &'t str,
    pub range: Range<usize>,
}

/// A written-out sum with its result: `10949/60/60 ~= 3.04`.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSum {
    pub sum: Range<usize>,
    pub value: f64,
    pub result: Range<usize>,
    /// Whether it is marked as rounded.
    pub is_about: bool,
}

impl<'t> ProsePassage<'t> {
    fn inside(&self) -> &'t str {
        self.text.get(self.range.clone()).unwrap_or_default()
    }

    /// The number after the first of several phrases.
    pub fn after(&self, words: &[&str]) -> Option<Range<usize>> {
        let of = |word: &&str| {
            let behind = |(at, _): (usize, &str)| {
                let rest = self.inside().get(at + word.len()..)?;
                let bare = rest.trim_start_matches(BETWEEN);
                let start = self.range.start + at + word.len() + (rest.len() - bare.len());
                let length = number_length(bare);
                (length > 0).then(|| start..start + length)
            };
            self.inside().match_indices(*word).find_map(behind)
        };
        words.iter().find_map(of)
    }

    /// The number before the first of several phrases.
    pub fn before(&self, words: &[&str]) -> Option<Range<usize>> {
        let of = |word: &&str| {
            let ahead = |(at, _): (usize, &str)| {
                let bare = self.inside().get(..at)?.trim_end_matches(BETWEEN);
                let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
                let start = bare.trim_end_matches(is_digit).len();
                let start = start + bare.get(start..)?.find(|c: char| c.is_ascii_digit())?;
                let end = start + number_length(bare.get(start..)?);
                (end == bare.len()).then(|| self.range.start + start..self.range.start + end)
            };
            self.inside().match_indices(*word).find_map(ahead)
        };
        words.iter().find_map(of)
    }

    /// The word after one of several phrases, up to a space or a quotation mark.
    pub fn word_after(&self, words: &str) -> Option<Range<usize>> {
        let at = self.inside().find(words)? + words.len();
        let rest = self.inside().get(at..)?;
        let bare = rest.trim_start_matches(['"', '\'', '`', ' ']);
        let start = self.range.start + at + (rest.len() - bare.len());
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\\' | ')');
        let length = bare.find(is_end).unwrap_or(bare.len());
        (length > 0).then(|| start..start + length)
    }

    /// Whether it contains this text.
    pub fn says(&self, words: &str) -> bool {
        self.inside().contains(words)
    }

    /// The lines that contain only a number.
    pub fn bare_numbers(&self) -> Vec<Range<usize>> {
        let mut at = self.range.start;
        let mut all = Vec::new();
        for line in self.inside().split_inclusive('\n') {
            let bare = line.trim();
            let start = at + (line.len() - line.trim_start().len());
            if bare.contains('.') && number_length(bare) == bare.len() {
                all.push(start..start + bare.len());
            }
            at += line.len();
        }
        all
    }

    /// The written-out sums.
    pub fn sums(&self) -> Vec<WrittenSum> {
        let signs = self.inside().match_indices('=').filter_map(|(at, _)| self.sum_at(at));
        signs.collect()
    }

    fn sum_at(&self, at: usize) -> Option<WrittenSum> {
        let (before, behind) = self.inside().split_at_checked(at)?;
        let is_about = before.ends_with(['~', '≈']);
        let before = before.trim_end_matches(['~', '≈']).trim_end_matches([' ', '`']);
        let is_sum = |c: char| c.is_ascii_digit() || " .,()+-*/xX×".contains(c);
        let start = before.trim_end_matches(is_sum).len();
        let start = start + before.get(start..)?.find(|c: char| c == '(' || c.is_ascii_digit())?;
        let sum = before.get(start..)?;
        let value = value_of(sum)?;
        let rest = behind.get(1..)?;
        let bare = rest.trim_start_matches([' ', '`']);
        let length = number_length(bare);
        let first = self.range.start + at + 1 + (rest.len() - bare.len());
        let result = (length > 0).then(|| first..first + length)?;
        let sum = self.range.start + start..self.range.start + start + sum.len();
        Some(WrittenSum { sum, value, result, is_about })
    }
}

/// The length in bytes of a number at the start of a text, including separators between digits, excluding a final
/// period.
fn number_length(text: &str) -> usize {
    let is_digit = |c: char| c.is_ascii_digit();
    let sign = usize::from(text.starts_with('-'));
    let rest = text.get(sign..).unwrap_or_default();
    if !rest.starts_with(is_digit) {
        return 0;
    }
    let end = rest.find(|c: char| !is_digit(c) && !matches!(c, '.' | ',')).unwrap_or(rest.len());
    let plain = rest.get(..end).unwrap_or_default().trim_end_matches(['.', ',']);
    let exponent = rest.get(plain.len()..).filter(|rest| rest.starts_with(['e', 'E']));
    let power = exponent.map_or(0, |rest| {
        let signed = rest.get(1..).unwrap_or_default();
        let bare = signed.strip_prefix(['+', '-']).unwrap_or(signed);
        let digits = bare.find(|c: char| !is_digit(c)).unwrap_or(bare.len());
        if digits > 0 { 1 + (signed.len() - bare.len()) + digits } else { 0 }
    });
    sign + plain.len() + power
}

/// Evaluates a sum of written numbers; none if the text is not a sum.
fn value_of(sum: &str) -> Option<f64> {
    let plain = sum.replace(['x', 'X', '×'], "*").replace(',', "");
    let tree = Expression::parse(plain.trim()).ok()?;
    matches!(tree.kind, ExpressionKind::Arithmetic(..)).then(|| evaluate(&tree)).flatten()
}

fn evaluate(tree: &Expression) -> Option<f64> {
    Some(match &tree.kind {
        ExpressionKind::Number(text) => text.parse().ok()?,
        ExpressionKind::Negative(of) => -evaluate(of)?,
        ExpressionKind::Arithmetic(operator, a, b) => {
            let (a, b) = (evaluate(a)?, evaluate(b)?);
            match operator {
                ArithmeticOperator::Add => a + b,
                ArithmeticOperator::Subtract => a - b,
                ArithmeticOperator::Multiply => a * b,
                ArithmeticOperator::Divide if b == 0.0 => return None,
                ArithmeticOperator::Divide => a / b,
                ArithmeticOperator::Power => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(text: &str) -> ProsePassage<'_> {
        ProsePassage { text, range: 0..text.len() }
    }

    #[test]
    fn numbers_are_found_beside_words() {
        let text = "you wait ~2 hours; flops 4.33e+19. It took 1,234.5 minutes (`x`).";
        let of = |range: Option<Range<usize>>| range.map(|range| &text[range]);
        assert_eq!(of(passage(text).after(&["you wait"])), Some("2"));
        assert_eq!(of(passage(text).after(&["flops"])), Some("4.33e+19"));
        assert_eq!(of(passage(text).before(&[" minutes"])), Some("1,234.5"));
        assert_eq!(of(passage(text).before(&[" (`x`)"])), None);
        assert_eq!(of(passage(text).after(&["took nothing"])), None);
        let flag = "--run=\"d26-ratio8.5\" \\";
        assert_eq!(passage(flag).word_after("--run=").map(|at| &flag[at]), Some("d26-ratio8.5"));
    }

    #[test]
    fn sums_are_read_with_what_they_come_to() {
        let text =
            "`32 X 2048 X 8 = 524,288`, `(3.04 - 2.91)/3.04*100` ~= 4.3% and `--depth=24`, a = 3";
        let sums = passage(text).sums();
        let told: Vec<_> = sums.iter().map(|sum| (sum.value, &text[sum.result.clone()])).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[0], (524_288.0, "524,288"));
        assert!((told[1].0 - 4.276).abs() < 1e-3 && told[1].1 == "4.3" && sums[1].is_about);
        assert!(!sums[0].is_about);
    }

    #[test]
    fn lists_of_bare_numbers_are_found() {
        let text = "runs:\n```\n0.25\n 0.5\nx 1\n12\n```\n";
        let found: Vec<_> = passage(text).bare_numbers().into_iter().map(|at| &text[at]).collect();
        assert_eq!(found, ["0.25", "0.5"]);
    }
}
