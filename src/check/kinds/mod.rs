//! The kinds of documents, a file each.

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

use repro_receipt::source::Code;

use crate::kind::DocumentKind;

pub use hf_trainer::instead_of;

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

/// The codes of their relations.
pub static CODES: &[&[&Code]] = &[
    mlperf::CODES,
    model_folder::CODES,
    helm::CODES,
    every_eval_ever::CODES,
    inspect::CODES,
    lighteval::CODES,
    lm_eval::CODES,
    marin::CODES,
    marin::TWIN_CODES,
    nanochat::report::CODES,
    nanochat::leaderboard::CODES,
    nanochat::leaderboard::TWIN_CODES,
    hf_trainer::CODES,
    modded_nanogpt::CODES,
];
