//! Posts, their claims, the evidence they depend on, and the verdicts.

#![forbid(unsafe_code)]

pub mod claims;
mod compare;
mod context;
pub mod coverage;
pub mod covered;
pub mod depends_on;
pub mod evaluate;
pub mod evidence;
pub mod lock;
pub mod mutated;
pub mod mutation;
pub mod page;
mod planned;
pub mod post;
pub mod post_file;
mod statement;
pub mod texts;
mod value;
pub mod verify;

/// The codes of posts in the language of claims.
pub static LANGUAGE_CODES: &[&[&repro_receipt::source::Code]] = &[
    compare::CODES,
    context::CODES,
    evaluate::CODES,
    evaluate::functions::fixed::CODES,
    evaluate::functions::complete::CODES,
    evaluate::functions::again::CODES,
    evaluate::functions::possible::CODES,
    evaluate::functions::said::CODES,
    evaluate::functions::target::CODES,
    evaluate::functions::tested::CODES,
    evaluate::order::CODES,
    page::CODES,
    statement::CODES,
    statement::about::CODES,
    statement::wording::CODES,
    texts::CODES,
];
