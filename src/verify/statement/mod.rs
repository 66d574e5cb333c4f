//! Sentences and tables of a text: what each of their numbers and relations comes to.

mod coherence;
pub mod evidence_words;
pub mod horizons;
pub mod judge;
mod meant;
pub mod numbers;
pub mod own_numbers;
mod own_scale;
pub mod relations;
pub mod tables;
pub mod wording;

use repro_core::source::Error;
use repro_report::outcome::ClaimReport;

use crate::context::PostContext;
use crate::page::{PostStatement, StatementKind};
use judge::Judge;
pub use tables::only_cell;

/// Judges one statement: a report for each number that is bound and each relation.
pub fn judge(
    context: &PostContext<'_>,
    statement: &PostStatement,
) -> Result<Vec<ClaimReport>, Error> {
    let judge = Judge { context, statement };
    context.work.goes_on(&statement.place)?;
    judge.is_readable()?;
    match &statement.kind {
        StatementKind::Sentence(sentence) => judge.sentence(sentence),
        StatementKind::Table(table) => judge.table(table),
    }
}
