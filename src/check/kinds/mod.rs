//! The kinds of documents, a file each.

mod bundle;
mod marin;

use repro_receipt::source::Code;

use crate::kind::DocumentKind;

/// Every kind, in the order in which they are tried.
pub static KINDS: &[&DocumentKind] = &[&bundle::KIND, &marin::KIND];

/// The codes of their relations.
pub static CODES: &[&[&Code]] = &[marin::CODES, marin::TWIN_CODES];
