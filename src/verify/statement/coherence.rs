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
        let facts = reports.iter().enumerate().filter(|(_, report)| ids.contains(&report.id));
        let facts = facts.filter_map(|(at, report)| Some((at, report.meaning.fact.as_ref()?)));
        let cells: Vec<_> = facts.map(|(at, fact)| (at, fact.shape.clone())).collect();
        let mut shapes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (_, shape)) in cells.iter().enumerate() {
            shapes.entry(scope_of(shape)).or_default().push(at);
        }
        // Two rows say nothing about which is the odd one.
        let [one, other] = shapes.values().collect::<Vec<_>>()[..] else { continue };
        let (([odd], [_, _, ..]) | ([_, _, ..], [odd])) = (one.as_slice(), other.as_slice()) else {
            continue;
        };
        let (odd, shape) = &cells[*odd];
        // Rows of different quantities have scopes of their own.
        let is_alike =
            |(at, other): &(usize, String)| at != odd && metric_of(other) == metric_of(shape);
        if !cells.iter().any(is_alike) {
            continue;
        }
        let (report, shape) = (&mut reports[*odd], scope_of(shape));
        if report.outcome.verdict != Verdict::Unchecked {
            let message =
                format!("this row is a \"{shape}\", but every other row of its column is not");
            let (kind, answer) = (LintKind::Coherence, statement.reading.clone());
            report.meaning.lints.push(Lint { kind, message, answer });
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
