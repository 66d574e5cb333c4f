//! The clause that a number stands in, and the words of it.

/// Words behind which "but" excepts something.
const EXCEPTIONS: &[&str] = &["all", "anything", "everything", "nothing"];
/// Words in which full stops end no sentence.
const ABBREVIATIONS: &[&str] =
    &["approx", "ca", "cf", "e.g", "eq", "et al", "fig", "i.e", "resp", "sec", "tab", "vs"];

/// The text before a number without emphasis, mathematics and tags around the number.
pub(super) fn without_marks(before: &str) -> &str {
    let mut text = before;
    loop {
        let bare = text.trim_end().trim_end_matches(['$', '*', '_', '`', '{']);
        let bare = bare.strip_suffix("&nbsp;").unwrap_or(bare);
        let bare = bare.strip_suffix("\\,").unwrap_or(bare);
        // `of~1.70` is a space that does not break; `about <b>1.70</b>` has a tag.
        let tie = bare
            .strip_suffix('~')
            .filter(|rest| rest.ends_with(|c: char| c.is_alphanumeric() || ".}%".contains(c)));
        let bare = tie.unwrap_or(bare);
        let bare = without_tag(bare).unwrap_or(bare);
        if bare.len() == text.len() {
            return text;
        }
        text = bare;
    }
}

/// The text without the tag that it ends with.
fn without_tag(text: &str) -> Option<&str> {
    let open = text.strip_suffix('>')?.rfind('<')?;
    let inside = &text[open + 1..text.len() - 1];
    let is_tag = inside.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic())
        && !inside.contains('\n')
        && inside.len() < 80;
    is_tag.then(|| &text[..open])
}

/// What stands before `word` at the end of a text.
pub(super) fn without_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.trim_end().strip_suffix(word)?;
    let is_whole = !rest.ends_with(|c: char| c.is_alphanumeric());
    is_whole.then_some(rest)
}

/// The clause at the end of a text, without what stands in brackets that are closed again.
pub(super) fn clause_text(before: &str) -> String {
    // The space behind its last word was trimmed, and tells a full stop from a point.
    let text = &format!("{before} ");
    const STARTS: &[&str] = &[
        ". ",
        ".\n",
        "; ",
        ": ",
        "? ",
        "! ",
        "\n\n",
        "\n- ",
        "\n* ",
        "| ",
        " but ",
        " while ",
        " whereas ",
        " although ",
        " though ",
        " because ",
    ];
    let is_end = |at: usize, mark: &str| {
        let abbreviated = |word: &&str| without_word(&text[..at], word).is_some();
        // "Anything but 1.70" is one clause.
        let is_exception =
            mark == " but " && EXCEPTIONS.iter().any(|word| text[..at].ends_with(word));
        let is_point = mark.starts_with('.') && ABBREVIATIONS.iter().any(abbreviated);
        !is_exception && !is_point
    };
    let last = |mark: &&str| {
        let mut found = text.rmatch_indices(*mark).map(|(at, _)| at);
        found.find(|at| is_end(*at, mark)).map(|at| at + mark.len())
    };
    let start = STARTS.iter().filter_map(last).max().unwrap_or(0);
    let mut clause = text[start..].to_owned();
    while let Some(close) = clause.find(')')
        && let Some(open) = clause[..close].rfind('(')
    {
        clause.replace_range(open..=close, " ");
    }
    clause
}

/// A word without what stands around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The words of a clause.
pub(super) fn words_of(clause: &str) -> Vec<&str> {
    clause.split_whitespace().map(bare).collect()
}

/// A number before a comparison: `0.9%`, `9.4×`, `$0.016$`, "two".
pub(super) fn is_amount(word: &str) -> bool {
    let word = word.trim_matches(['$', '*', '_', '`', '(', '~']);
    super::COUNTS.contains(&word)
        || (word.starts_with(|c: char| c.is_ascii_digit() || "-−–+.≈".contains(c))
            && word.ends_with(|c: char| c.is_ascii_digit() || "%×xkmb".contains(c))
            && word.contains(|c: char| c.is_ascii_digit()))
}

pub(super) fn word_at(rest: &str) -> &str {
    rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default()
}

pub(super) fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric())
}
