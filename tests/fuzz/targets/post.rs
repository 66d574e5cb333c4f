//! Post files, and the fields of every kind of claim.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

use repro_judge::evidence::Library;
use repro_judge::post::{self, Post};
use repro_judge::verify::{self, BundleStore};
use repro_receipt::source::{Document, Source};
use tempfile::TempDir;

use super::{corpus, refused, sealed, tree};

/// What is TOML has places; what is a post is judged twice alike: without evidence, and with that of the
/// fixtures of its first claim's kind.
pub fn check(bytes: &[u8]) {
    match Source::new("fuzz.toml", bytes.to_vec()).and_then(Document::parse_toml) {
        Ok(document) => tree::check(&document),
        Err(error) => return refused(&error, Some(bytes)),
    }
    // A name without an ending leaves the post's id free.
    let post = match Source::new("fuzz", bytes.to_vec()).and_then(Post::parse) {
        Ok(post) => post,
        Err(error) => return refused(&error, Some(bytes)),
    };
    judged(&post, &Library::default());
    if let Some(known) = post.claims().flatten().next().and_then(|claim| fixtures(claim.kind)) {
        judged(&post, &known.1);
    }
}

/// Every claim is judged or refused, and all of them twice alike.
fn judged(post: &Post, library: &Library) {
    let (once, twice) = (verify::judge(post, library, 1), verify::judge(post, library, 1));
    assert_eq!(format!("{once:?}"), format!("{twice:?}"));
    once.failures.iter().for_each(|error| refused(error, None));
    let claims = post.claims().count();
    assert!(once.post.claims.len() <= claims);
    assert!(once.post.claims.len() + once.failures.len() >= claims, "a claim is left out");
    let ids = post.claim_ids();
    for claim in &once.post.claims {
        assert!(ids.contains(claim.id.as_str()) && claim.place.line > 0, "{:?}", claim.place);
    }
}

/// Evidence, and the folder where it lies.
type Fixtures = (TempDir, Library);

thread_local! {
    static LIBRARIES: RefCell<HashMap<String, Option<Rc<Fixtures>>>> = RefCell::default();
}

/// The evidence of the fixtures of a kind, read once.
fn fixtures(kind: &str) -> Option<Rc<Fixtures>> {
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return None;
    }
    LIBRARIES.with_borrow_mut(|known| {
        let read = || evidence(&format!("{kind}/cases")).map(Rc::new);
        known.entry(kind.to_owned()).or_insert_with(read).clone()
    })
}

fn evidence(project: &str) -> Option<Fixtures> {
    fs::metadata(corpus().join(project)).ok()?;
    let copy = sealed(&[project]);
    let root = &copy.path().join(project);
    let mut shelf = BundleStore::new(1, &[]);
    for id in post::list(root).expect("the posts of the fixtures") {
        let post = Post::load(root, &id).expect("a post of the fixtures");
        // Evidence that the fixture itself does without is of no use here either.
        let _ = shelf.fetch(root, &post);
    }
    Some((copy, shelf.library))
}
