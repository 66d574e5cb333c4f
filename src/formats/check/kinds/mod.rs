//! The document kinds, one file each.

mod bundle;
mod every_eval_ever;
mod helm;
mod hf_trainer;
mod inspect;
mod lighteval;
mod lm_eval;
mod marin;
mod mlperf;
mod modded_nanogpt;
mod model_folder;
mod nanochat;
mod python;
mod scores;
mod sizes;

use repro_core::source::Node;

use crate::check::kind::{DocumentKind, Reads};

pub use bundle::{KIND as BUNDLE, same_runs};
pub use hf_trainer::instead_of;
pub use model_folder::CONFIG;

/// Every kind, in the order in which they are tried.
pub static KINDS: &[&DocumentKind] = &[
    &bundle::KIND,
    &mlperf::RESULTS,
    &mlperf::SUMMARY,
    &model_folder::KIND,
    &helm::KIND,
    &every_eval_ever::KIND,
    &every_eval_ever::INSTANCES,
    &every_eval_ever::STORE,
    &inspect::KIND,
    &lighteval::KIND,
    &lm_eval::FOLDER,
    &lm_eval::KIND,
    &lm_eval::SAMPLES,
    &marin::KIND,
    &nanochat::report::KIND,
    &nanochat::leaderboard::KIND,
    &hf_trainer::KIND,
    &modded_nanogpt::KIND,
    &model_folder::CONFIG_KIND,
];

/// Whether a file with this name can only be of a known kind.
pub fn is_unmistakable(name: &str) -> bool {
    name == hf_trainer::STATE
}

/// Members near the start of a kind's documents that together occur in no other kind; the decisive members may come
/// last.
const EARLY: &[&[&str]] =
    &[&["/config_general/lighteval_sha"], &["/schema_version", "/evaluation_id", "/model_info"]];

/// Whether the readable part of a JSON document shows a known kind. A config does so long before it is complete.
pub fn is_start_of_known(root: Node<'_>) -> bool {
    let is_of = |kind: &&DocumentKind| matches!(kind.reads, Reads::Json { is, .. } if is(root));
    let has_all = |early: &&[&str]| early.iter().all(|pointer| root.at(pointer).is_ok());
    let is_begun = EARLY.iter().any(has_all) || lm_eval::has_scores(root);
    is_begun || model_folder::names_its_kind(root) || KINDS.iter().any(is_of)
}

/// Like [`is_start_of_known`], for the first line of JSON lines.
pub fn is_line_of_known(line: Node<'_>) -> bool {
    KINDS.iter().any(|kind| matches!(kind.reads, Reads::Lines { is, .. } if is(line)))
}
