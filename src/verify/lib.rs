//! Posts, their claims, the evidence they depend on, and the verdicts.

#![forbid(unsafe_code)]

mod arms;
pub mod cluster;
mod context;
pub mod covered;
pub mod draft;
pub mod evaluate;
pub mod given;
pub mod index;
mod json_text;
pub mod lexicon;
pub mod library;
pub mod lock;
mod loss_unit;
mod meaning;
mod moment;
pub mod mutants;
pub mod mutated;
mod names;
pub mod page;
pub mod page_keys;
mod planned;
pub mod post;
pub mod reading;
pub mod review;
pub mod rules;
mod run_design;
mod started;
mod statement;
#[cfg(test)]
mod tests;
pub mod texts;
mod transcribed;
mod value;
pub mod verify;
pub mod work;

/// The codes of posts and their statements.
pub static CODES: &[&[&repro_core::source::Code]] = &[
    context::CODES,
    started::CODES,
    evaluate::CODES,
    evaluate::design::CODES,
    evaluate::error_bars::CODES,
    evaluate::functions::fixed::CODES,
    evaluate::functions::items::CODES,
    evaluate::functions::parameters::CODES,
    evaluate::functions::tasks::CODES,
    evaluate::functions::complete::CODES,
    evaluate::functions::again::CODES,
    evaluate::functions::everywhere::CODES,
    evaluate::functions::possible::CODES,
    evaluate::functions::said::CODES,
    evaluate::functions::tested::CODES,
    evaluate::noise::CODES,
    names::CODES,
    reading::CODES,
    page::CODES,
    page::head::CODES,
    run_design::CODES,
    planned::CODES,
    page::placed::CODES,
    page::sentences::CODES,
    page::tables::CODES,
    review::config::CODES,
    review::record::CODES,
    review::standing::CODES,
    review::store::CODES,
    statement::judge::CODES,
    statement::numbers::CODES,
    statement::relations::CODES,
    statement::tables::CODES,
    statement::horizons::CODES,
    statement::evidence_words::CODES,
    statement::wording::CODES,
    texts::CODES,
    verify::challenged::CODES,
    verify::history::CODES,
    verify::inspection::CODES,
    verify::same_run::CODES,
    work::CODES,
];
