//! Lints, each by sentences that it questions and sentences that it leaves alone: posts of one sentence about a few
//! runs of the repository.

mod counting;
mod direction;
mod naming;
mod quantity;
mod significance;
mod sources;
mod statistic;

use std::path::Path;
use std::sync::LazyLock;

use repro_receipt::source::{Document, Source};
use repro_report::meaning::LintKind;

use crate::page::PostPage;
use crate::texts::{TextAtHand, TextsAtHand};
use crate::verify::{BundleStore, judge};

const HEAD: &str = r#"
schema = "repro.post/2"
id = "p"
title = "A post"
text = "p.md"

[names]
moe = "tiny-moe-moe-active12-s{1..3}"
dense = "tiny-moe-dense_active-active12-s{1..3}"
one = "tiny-moe-moe-active12-s1"
other = "tiny-moe-dense_active-active12-s1"

[aliases]
dense = ["the control"]

[formulas]
"bits(run)" = "run.nats / (ln(2) * run.bytes)"
"#;

/// The runs that the head names, read once.
static RUNS: LazyLock<BundleStore<'static>> = LazyLock::new(|| {
    let post = format!("{HEAD}[[sentence]]\nquote = 'x'\nmissing = 'x'\n");
    let source = Source::new("repro/p.toml", post.into_bytes()).unwrap();
    let page = PostPage::parse(Document::parse_toml(source).unwrap()).unwrap();
    let mut store = BundleStore::new(1, &[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    store.fetch(&root, &page, None).unwrap();
    store
});

/// The kinds of the lints of a sentence, each once, and in order.
fn lints(quote: &str, bindings: &str) -> Vec<LintKind> {
    let post = format!("{HEAD}[[sentence]]\nquote = '''{quote}'''\n{bindings}\n");
    let source = |name: &str, text: &str| Source::new(name, text.as_bytes().to_vec()).unwrap();
    let document = Document::parse_toml(source("repro/p.toml", &post)).unwrap();
    let page = PostPage::parse(document).unwrap();
    let text = TextAtHand::of(&source("repro/p.md", quote)).unwrap();
    let id = page.statements[0].text.clone();
    let judged = judge(&page, &RUNS.library, &TextsAtHand::from([(id, text)]), 1);
    assert!(judged.failures.is_empty(), "{quote}: {:?}", judged.failures);
    let all = judged.post.claims.iter().flat_map(|claim| &claim.meaning.lints);
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
