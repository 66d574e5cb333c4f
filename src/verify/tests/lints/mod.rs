//! Lints, each by sentences that it questions and sentences that it leaves alone.

mod counting;
mod direction;
mod naming;
mod quantity;
mod significance;
mod sources;
mod statistic;

use repro_report::meaning::LintKind;

use super::claims;

/// The kinds of the lints of a sentence, each once, and in order.
fn lints(quote: &str, bindings: &str) -> Vec<LintKind> {
    let claims = claims(quote, &format!("[[sentence]]\nquote = '''{quote}'''\n{bindings}\n"));
    let all = claims.iter().flat_map(|claim| &claim.meaning.lints);
    let mut kinds: Vec<_> = all.map(|lint| lint.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Checks a lint by sentences that it questions and sentences that it leaves alone: words and bindings.
fn check(kind: LintKind, questioned: &[(&str, &str)], plain: &[(&str, &str)]) {
    for (quote, bindings) in questioned {
        assert_eq!(lints(quote, bindings), [kind], "{quote}");
    }
    for (quote, bindings) in plain {
        assert_eq!(lints(quote, bindings), [], "{quote}");
    }
}
