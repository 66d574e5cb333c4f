//! `verify --trace CLAIM`: which reading, which rule and which lints fired for one claim, in the order of the program.

use repro_core::similar::did_you_mean;
use repro_core::source::{Error, Location, codes};
use repro_report::meaning::{LintKind, ReadBy};
use repro_report::outcome::{ClaimReport, PostReport};

codes! {
    UNKNOWN_CLAIM = "trace::unknown-claim", "no claim in the report has this name", "list the claim names with `--format json`";
}

/// Every kind of lint, in the order in which they are checked.
const LINTS: [LintKind; 10] = [
    LintKind::Direction,
    LintKind::Quantity,
    LintKind::Step,
    LintKind::Split,
    LintKind::Statistic,
    LintKind::Arm,
    LintKind::Count,
    LintKind::Test,
    LintKind::Limit,
    LintKind::Coherence,
];

/// The claims of this name, `POST/CLAIM` or `CLAIM`: one number, or each number and relation of a statement.
pub fn find<'r>(posts: &'r [PostReport], name: &str) -> Result<Vec<&'r ClaimReport>, Vec<Error>> {
    let (post, claim) = match name.split_once('/') {
        Some((post, claim)) => (Some(post), claim),
        None => (None, name),
    };
    let of_post = posts.iter().filter(|one| post.is_none_or(|post| one.id == post));
    let claims = || of_post.clone().flat_map(|post| &post.claims);
    let is_of = |one: &&ClaimReport| {
        one.id.strip_prefix(claim).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found: Vec<_> = claims().filter(is_of).collect();
    if found.is_empty() {
        let error = UNKNOWN_CLAIM.at(
            Location::file("--trace"),
            "the name of a claim, `POST/CLAIM` or `CLAIM`",
            format!("`{name}`"),
        );
        let known: Vec<&str> = claims().map(|one| one.id.as_str()).collect();
        return Err(vec![match did_you_mean(claim, known) {
            Some(hint) => error.help(hint),
            None => error,
        }]);
    }
    Ok(found)
}

/// The trace as text.
pub fn render(claim: &ClaimReport) -> String {
    let outcome = &claim.outcome;
    let mut rows: Vec<[String; 2]> = vec![
        ["claim".to_owned(), claim.id.clone()],
        ["quote".to_owned(), claim.quote.clone()],
        ["expression".to_owned(), claim.said.clone()],
    ];
    if let Some(fact) = &claim.meaning.fact {
        rows.push(["fact".to_owned(), fact.sentence.clone()]);
    }
    for read in &claim.meaning.readings {
        rows.push([
            "reading".to_owned(),
            format!("{}: {}, because of {}", read.token, read.reading.word(), read.because),
        ]);
    }
    let rule = if outcome.rule.is_empty() { "none" } else { outcome.rule };
    rows.push(["rule".to_owned(), format!("{rule} {}", outcome.tolerance).trim_end().to_owned()]);
    let code = outcome.code.map(|code| format!(" [{}]", code.id)).unwrap_or_default();
    rows.push([
        "verdict".to_owned(),
        format!("{}{code} {}", outcome.verdict.word(), outcome.reason).trim_end().to_owned(),
    ]);
    for (code, message) in &outcome.notes {
        rows.push(["note".to_owned(), format!("{message} [{}]", code.id)]);
    }
    for kind in LINTS {
        let lint = claim.meaning.lints.iter().find(|lint| lint.kind == kind);
        let found = match lint {
            Some(lint) => match &lint.answer {
                Some(answer) => format!("fired: {} (answered: {answer})", lint.message),
                None => format!("fired: {}", lint.message),
            },
            None => "-".to_owned(),
        };
        rows.push([format!("lint {}", kind.word()), found]);
    }
    rows.push([
        "read by".to_owned(),
        claim.meaning.read_by.map_or("nobody", ReadBy::word).to_owned(),
    ]);
    let mut text = String::new();
    for [name, value] in &rows {
        let value = repro_report::visible(&value.split_whitespace().collect::<Vec<_>>().join(" "));
        text.push_str(&format!("{name:<16} {value}\n"));
    }
    text
}
