//! Post files, and the fields of every kind of claim.

use repro::evidence::Library;
use repro::post::Post;
use repro::source::{Document, Source};
use repro::verify;

use super::{refused, tree};

/// What is TOML has places; what is a post is judged without any evidence, every claim once, and twice alike.
pub fn check(bytes: &[u8]) {
    match Source::new("fuzz.toml", bytes.to_vec()).and_then(Document::parse_toml) {
        Ok(document) => tree::check(&document),
        Err(refusal) => return refused(&refusal, Some(bytes)),
    }
    // A name without an ending leaves the post's id free.
    match Source::new("fuzz", bytes.to_vec()).and_then(Post::parse) {
        Ok(post) => accepted(&post),
        Err(refusal) => refused(&refusal, Some(bytes)),
    }
}

fn accepted(post: &Post) {
    let library = Library::default();
    let (once, twice) = (verify::judge(post, &library, 1), verify::judge(post, &library, 1));
    assert_eq!(format!("{once:?}"), format!("{twice:?}"));
    once.failures.iter().for_each(|refusal| refused(refusal, None));
    let claims: Vec<_> = post.claims().collect();
    assert!(once.post.claims.len() <= claims.len());
    assert!(once.post.claims.len() + once.failures.len() >= claims.len(), "a claim is left out");
    for claim in once.post.claims {
        assert!(post.claim_ids().contains(claim.id.as_str()));
        assert!(claim.place.line > 0, "{:?}", claim.place);
    }
}
