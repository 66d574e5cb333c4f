//! Text normalization as in HELM.

/// Lower case, without punctuation and articles, and with single spaces.
pub fn normalized(text: &str) -> String {
    let bare: String =
        text.to_lowercase().chars().filter(|letter| !letter.is_ascii_punctuation()).collect();
    let words = bare.split_whitespace().filter(|word| !matches!(*word, "a" | "an" | "the"));
    words.collect::<Vec<_>>().join(" ")
}

/// The scores of an answer compared with the correct references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matches {
    pub exact: bool,
    pub quasi: bool,
    pub prefix: bool,
    pub quasi_prefix: bool,
}

impl Matches {
    /// The scores of an answer; none if it does not map to a choice.
    pub fn of(answer: Option<&str>, right: &[&str]) -> Self {
        let answer = answer.unwrap_or_default();
        let any =
            |fits: &dyn Fn(&str) -> bool| !answer.is_empty() && right.iter().any(|one| fits(one));
        let plain = normalized(answer);
        Self {
            exact: any(&|one| one.trim() == answer.trim()),
            quasi: any(&|one| normalized(one) == plain),
            prefix: any(&|one| answer.trim().starts_with(one.trim())),
            quasi_prefix: any(&|one| plain.starts_with(&normalized(one))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_in_four_ways() {
        let of = |answer, right| {
            let Matches { exact, quasi, prefix, quasi_prefix } =
                Matches::of(Some(answer), &[right]);
            [exact, quasi, prefix, quasi_prefix]
        };
        assert_eq!(of("The  cat.", "a cat"), [false, true, false, true]);
        assert_eq!(of("cat", "cat"), [true; 4]);
        assert_eq!(of("cat food", "cat"), [false, false, true, true]);
        assert_eq!(of("", ""), [false; 4]);
        assert!(!Matches::of(None, &["cat"]).exact);
    }
}
