//! The mutation check on the repository's own posts.

use std::path::Path;

use repro_judge::mutation::{Catch, Mutant, Typing, mutate, table};
use repro_judge::post;
use repro_judge::post_file::PostFile;
use repro_judge::verify::BundleStore;

fn mutants() -> Vec<Mutant> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ids = post::list(root).unwrap();
    let kinds = |id: &String| match PostFile::load(root, id).unwrap() {
        PostFile::Kinds(post) => Some(post),
        PostFile::Language(_) => None,
    };
    let posts: Vec<_> = ids.iter().filter_map(kinds).collect();
    let mut shelf = BundleStore::new(1, &[]);
    for post in &posts {
        shelf.fetch(root, post).unwrap();
    }
    mutate(&posts, &mut shelf.library).unwrap()
}

#[test]
fn the_page_on_posts_states_the_shares_that_are_caught() {
    let mutants = mutants();
    let table = table(&mutants);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs/posts-and-claims.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("<!-- mutation table -->\n").unwrap();
    let (stated, _) = after.split_once("<!-- end of mutation table -->").unwrap();
    assert_eq!(stated, format!("```text\n{table}```\n"));

    let catch = |document: &str, place: &str, text: &str| {
        let found = mutants.iter().find(|mutant| {
            let unit = &mutant.unit;
            unit.document.as_deref() == Some(document) && unit.place == place && unit.text == text
        });
        let found = found.unwrap_or_else(|| panic!("no {text} at {document} {place}"));
        (found.first_digit, found.last_digit)
    };
    // A parameter count is recomputed from its config, a CORE is compared with the receipts, and a
    // number that stands in one place only could be anything, however often it was typed here.
    let counts = "/measurements/model_param_counts/moe64/params_total";
    assert_eq!(catch("receipts-0003", counts, "755534592"), (Catch::Recomputed, Catch::Recomputed));
    let single = mutants.iter().find(|mutant| mutant.unit.text == "759M").unwrap();
    assert!(single.unit.typings.iter().any(|typing| matches!(typing, Typing::Claim { .. })));
    assert!(single.unit.typings.iter().any(|typing| matches!(typing, Typing::Value { .. })));
    assert_eq!((single.first_digit, single.last_digit), (Catch::Uncaught, Catch::Uncaught));
}
