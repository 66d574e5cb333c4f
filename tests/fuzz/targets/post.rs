//! Post files: what is TOML has places, and what is a post is judged, whatever its expressions say.

use std::path::{Path, PathBuf};

use repro_bundle::bundle::Bundle;
use repro_core::source::{Document, Source};
use repro_model::study::Study;
use repro_verify::covered::covered;
use repro_verify::library::Library;
use repro_verify::mutated::{Digit, changed};
use repro_verify::page::PostPage;
use repro_verify::texts::{TextAtHand, TextsAtHand};
use repro_verify::verify;
use tempfile::TempDir;

use super::{refused, sealed, tree};

/// Posts with more statements are judged, but not with other digits.
const FEW: usize = 4;

/// A post is judged twice alike: without evidence, and with the bundles of the seeds and a text.
pub fn check(bytes: &[u8]) {
    // A name without an ending leaves the post's id free.
    let document = match Source::new("fuzz", bytes.to_vec()).and_then(Document::parse_toml) {
        Ok(document) => document,
        Err(error) => return refused(&error, Some(bytes)),
    };
    tree::check(&document);
    let page = match PostPage::parse(document) {
        Ok(page) => page,
        Err(error) => return refused(&error, Some(bytes)),
    };
    judged(&page, &Library::default(), &TextsAtHand::new());
    EVIDENCE.with(|evidence| {
        let text = |id: &String| (id.clone(), TextAtHand::of(&evidence.text).unwrap());
        let texts = page.texts.iter().map(|text| &text.id).map(text).collect();
        judged(&page, &evidence.library, &texts);
        if page.statements.len() <= FEW
            && let Err(error) = changed(&page, &evidence.library, &texts, Digit::First)
        {
            refused(&error, None);
        }
        for source in &page.texts {
            let Ok(found) = covered(&page, source, &evidence.text) else { continue };
            let numbers = found.numbers;
            assert!(
                numbers.windows(2).all(|pair| {
                    (pair[0].line, pair[0].column) < (pair[1].line, pair[1].column)
                })
            );
        }
    });
}

/// Every statement is judged or refused, and all of them twice alike.
fn judged(page: &PostPage, library: &Library, texts: &TextsAtHand) {
    let judge = || verify::judge(page, library, texts, 1);
    let (once, twice) = (judge(), judge());
    assert_eq!(format!("{once:?}"), format!("{twice:?}"));
    once.failures.iter().for_each(|error| refused(error, None));
    assert!(once.failures.len() <= page.statements.len());
    for claim in &once.post.claims {
        let of = |statement: &str| claim.id.strip_prefix(statement);
        let mut statements = page.statements.iter().filter_map(|statement| of(&statement.id));
        let is_named = statements.any(|rest| rest.is_empty() || rest.starts_with(['.', '-']));
        assert!(is_named && claim.place.line > 0, "{} at {:?}", claim.id, claim.place);
    }
}

/// What the seeds name: a project of the corpus, bundles of real runs with their study, and a text.
struct Evidence {
    _folder: TempDir,
    library: Library,
    text: Source,
}

thread_local! {
    static EVIDENCE: Evidence = evidence();
}

/// The runs of two arms of a study that the repository holds.
const RUNS: [&str; 6] = [
    "tiny-moe-moe-active12-s1",
    "tiny-moe-moe-active12-s2",
    "tiny-moe-moe-active12-s3",
    "tiny-moe-dense_active-active12-s1",
    "tiny-moe-dense_active-active12-s2",
    "tiny-moe-dense_active-active12-s3",
];

fn evidence() -> Evidence {
    let folder = sealed(&["small"]);
    let small = folder.path().join("small");
    let root = root();
    let mut library = Library::default();
    let load =
        |root: &Path, name| Bundle::load(root, name, None, 1).expect("a bundle of the seeds");
    library.add(load(&small, "evidence"));
    RUNS.iter().for_each(|name| library.add(load(&root, name)));
    library.add_study(Study::load(&root, "tiny-moe").expect("the study of the seeds"));
    let text = Source::load(&small.join("repro/small.md"), "text").expect("the text of the seeds");
    Evidence { _folder: folder, library, text }
}

/// The folder of the repository, from the project or from the crate of the fuzzers.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let has_runs = |root: &PathBuf| root.join("receipts").join(RUNS[0]).is_dir();
    [here.to_owned(), here.join("../..")].into_iter().find(has_runs).expect("the repository")
}
