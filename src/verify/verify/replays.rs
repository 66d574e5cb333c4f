//! Which steps posts ask to execute again, and who does it.

use std::collections::HashSet;

use repro_bundle::bundle::Bundle;
use repro_claim::syntax::ExpressionKind;
use repro_model::replay::{Extent, Replays};

use crate::evaluate::functions::again;
use crate::library::Library;
use crate::page::{PostPage, PostStatement};

/// Steps of a bundle that are to be replayed.
#[derive(Debug, Clone, Copy)]
pub struct SliceRequest<'a> {
    /// The bundle.
    pub bundle: &'a Bundle,
    /// The steps.
    pub extent: Extent,
}

/// Somebody who executes training steps again.
pub trait Replayer {
    /// Executes these replays, in the replayer's own order.
    fn replay(&mut self, requests: &[SliceRequest<'_>]) -> Replays;
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
