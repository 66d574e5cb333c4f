//! The lint of a whole column: one row at another step, split or statistic than the others.

use std::collections::BTreeMap;

use repro_report::meaning::{Lint, LintKind};
use repro_report::outcome::{ClaimReport, Verdict};

use crate::lexicon::{lexicon, place_of};
use crate::page::{PostStatement, Table, cell_id};

/// Marks the cell of a column whose fact has another shape than those of all other rows.
pub(super) fn lint(statement: &PostStatement, table: &Table, reports: &mut [ClaimReport]) {
    for (column, _) in &table.columns {
        let ids: Vec<_> =
            table.rows.iter().map(|(row, _)| cell_id(&[&statement.id, row, column])).collect();
        let cells: Vec<usize> =
            (0..reports.len()).filter(|at| ids.contains(&reports[*at].id)).collect();
        let mut shapes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in &cells {
            let Some(fact) = &reports[*at].meaning.fact else { continue };
            shapes.entry(scope_of(&fact.shape)).or_default().push(*at);
        }
        // Two rows say nothing about which is the odd one.
        let [(_, one), (_, other)] = shapes.iter().collect::<Vec<_>>()[..] else { continue };
        let odd = match (one.as_slice(), other.as_slice()) {
            ([odd], rest) if rest.len() > 1 => *odd,
            (rest, [odd]) if rest.len() > 1 => *odd,
            _ => continue,
        };
        // Rows of different quantities have scopes of their own.
        let metric =
            |at: &usize| reports[*at].meaning.fact.as_ref().map(|fact| metric_of(&fact.shape));
        if !cells.iter().any(|at| *at != odd && metric(at) == metric(&odd)) {
            continue;
        }
        let report = &mut reports[odd];
        let shape =
            report.meaning.fact.as_ref().map(|fact| scope_of(&fact.shape)).unwrap_or_default();
        if report.outcome.verdict != Verdict::Unchecked {
            report.meaning.lints.push(Lint {
                kind: LintKind::Coherence,
                message: format!(
                    "this row is of \"{shape}\", and every other row of its column is not"
                ),
                answer: statement.reading.clone(),
            });
        }
    }
}

/// The quantity of a shape: `loss` of `mean loss of moe`.
fn metric_of(shape: &str) -> &str {
    let head = shape.split(" of ").next().unwrap_or_default();
    head.rsplit(' ').next().unwrap_or_default()
}

/// The statistic, split and step of a shape, without its arm, its runs and its quantity.
fn scope_of(shape: &str) -> String {
    let plain = shape.split(": ").next().unwrap_or_default();
    let head = plain.split(" of ").next().unwrap_or_default();
    let statistics =
        lexicon().statistics.iter().filter(|term| place_of(head, &term.name).is_some());
    let statistics = statistics.map(|term| term.name.as_str());
    let parts = plain.split(", ").skip(1);
    let is_scope =
        |part: &&str| part.starts_with("step") || ["held-out", "training"].contains(part);
    statistics.chain(parts.filter(is_scope)).collect::<Vec<_>>().join(", ")
}
