//! The kinds of documents, a file each.

mod bundle;
mod lm_eval;
mod marin;
mod python;
mod scores;
mod sizes;

use repro_receipt::source::Code;

use crate::kind::DocumentKind;

/// Every kind, in the order in which they are tried.
pub static KINDS: &[&DocumentKind] =
    &[&bundle::KIND, &lm_eval::FOLDER, &lm_eval::KIND, &lm_eval::SAMPLES, &marin::KIND];

/// The codes of their relations.
pub static CODES: &[&[&Code]] = &[lm_eval::CODES, marin::CODES, marin::TWIN_CODES];
