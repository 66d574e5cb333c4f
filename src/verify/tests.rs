//! Posts of one statement about a few runs of the repository.

mod lints;
mod scales;

use std::path::Path;
use std::sync::LazyLock;

use repro_core::source::{Document, Source};
use repro_report::outcome::ClaimReport;

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
stored = "tiny-moe-dense_total-active12-s{1..3}"
one = "tiny-moe-moe-active12-s1"
other = "tiny-moe-dense_active-active12-s1"
cloze.moe = "tiny-moe-moe-active12-s{1..6}:data/evaluation/step-001209.tasks.csv#0.accuracy"
cloze.dense = "tiny-moe-dense_active-active12-s{1..6}:data/evaluation/step-001209.tasks.csv#0.accuracy"

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

/// The claims of a post of one statement about a text.
fn claims(text: &str, statement: &str) -> Vec<ClaimReport> {
    let post = format!("{HEAD}{statement}");
    let source = |name: &str, text: &str| Source::new(name, text.as_bytes().to_vec()).unwrap();
    let document = Document::parse_toml(source("repro/p.toml", &post)).unwrap();
    let page = PostPage::parse(document).unwrap();
    let at_hand = TextAtHand::of(&source("repro/p.md", text)).unwrap();
    let id = page.statements[0].text.clone();
    let judged = judge(&page, &RUNS.library, &TextsAtHand::from([(id, at_hand)]), 1);
    assert!(judged.failures.is_empty(), "{text}: {:?}", judged.failures);
    judged.post.claims
}
