//! Which steps posts ask to execute again, and who does it.

use std::collections::HashSet;

use repro_claim::syntax::ExpressionKind;
use repro_receipt::bundle::Bundle;
use repro_runs::replay::{Extent, Replays};

use crate::claims::slice_replay;
use crate::evaluate::functions::again;
use crate::evidence::Library;
use crate::page::{PostPage, PostStatement};
use crate::post::{Claim, Post};

/// Steps of a bundle that are to be executed again.
#[derive(Debug, Clone, Copy)]
pub struct SliceRequest<'a> {
    /// The bundle.
    pub bundle: &'a Bundle,
    /// The steps.
    pub extent: Extent,
}

/// Somebody who executes training steps again.
pub trait Replayer {
    /// What becomes of each of these replays; the order is the replayer's own.
    fn replay(&mut self, requests: &[SliceRequest<'_>]) -> Replays;
}

/// The steps that claims of these posts ask to execute again. A claim that does not say them
/// well is refused when it is judged.
pub fn requests<'a>(
    posts: impl Iterator<Item = &'a Post>,
    library: &'a Library,
) -> Vec<SliceRequest<'a>> {
    let mut all: Vec<SliceRequest<'a>> = Vec::new();
    for post in posts {
        let replays = |claim: &Claim<'_>| claim.kind == slice_replay::KIND.id;
        for claim in post.claims().flatten().filter(replays) {
            let named = claim.node.get("bundle").and_then(|name| name.text().ok());
            let name = named.or(post.default_bundle.as_deref());
            let bundle = name.and_then(|name| library.bundle(name));
            let extent = slice_replay::extent(claim.node).ok();
            let Some((bundle, extent)) = bundle.zip(extent) else { continue };
            all.push(SliceRequest { bundle, extent });
        }
    }
    all
}

/// The steps that the statements of a post ask to execute again.
pub fn replays_of<'a>(page: &PostPage, library: &'a Library) -> Vec<SliceRequest<'a>> {
    let mut found = Vec::new();
    for tree in page.statements.iter().flat_map(PostStatement::relations) {
        tree.each(&mut |part| {
            let ExpressionKind::Call(name, arguments) = &part.kind else { return };
            let [run, steps] = arguments.as_slice() else { return };
            if name != again::REPLAYED {
                return;
            }
            // What is not said well is an error where it is judged.
            let locator = page.names.get(&run.value.to_string()).map(|(locator, _)| locator);
            let bundle = locator.and_then(|locator| match locator.bundles.as_slice() {
                [bundle] => library.bundle(bundle),
                _ => None,
            });
            if let (Some(bundle), Some(extent)) = (bundle, again::extent(&steps.value)) {
                found.push(SliceRequest { bundle, extent });
            }
        });
    }
    found
}

/// Each request once.
pub fn distinct(requests: &mut Vec<SliceRequest<'_>>) {
    let mut seen = HashSet::new();
    requests.retain(|asked| seen.insert((asked.bundle.name().to_owned(), asked.extent)));
}
