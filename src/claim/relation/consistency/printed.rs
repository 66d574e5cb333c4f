//! The tables in which an importer keeps each number as the log printed it, beside the values that it wrote from them.

use std::collections::{BTreeMap, HashSet};

use repro_bundle::bundle::Bundle;
use repro_core::columns::name_among;
use repro_core::source::{Kind, Node};

use super::LoggedTerm;

/// Training rows; a long table continues in `training-2.csv`.
pub const TRAINING: &str = "data/printed/training";
/// Evaluations.
pub const VALIDATION: &str = "data/printed/validation";

/// A line of a printed table or the evaluation of its step, and the other of the two if it exists.
#[derive(Debug, Clone, Copy)]
pub struct PrintedRow<'a> {
    own: Node<'a>,
    other: Option<Node<'a>>,
}

impl<'a> PrintedRow<'a> {
    pub fn new(own: Node<'a>) -> Self {
        Self { own, other: None }
    }

    /// The same row, with the other of the two.
    pub fn beside(self, other: Self) -> Self {
        Self { other: Some(other.own), ..self }
    }

    /// The number in a member or cell.
    pub fn number(self, name: &str) -> Option<f64> {
        self.own.get(name).and_then(finite)
    }

    /// The name that the row has for a metric: ours to the letter, or else the one that importers choose.
    pub fn heading(self, metric: &str) -> Option<&'a str> {
        let members = self.own.members().ok()?;
        let names: Vec<&str> = members.map(|(name, _)| name).collect();
        let exact = names.iter().copied().find(|name| *name == metric);
        exact.or_else(|| name_among(metric, names.iter().copied()))
    }

    /// What a check may ask of it: all its `numbers`, those whose names are `shared` with the other, how many members are
    /// `nested`, or the number of a metric.
    pub fn term(self, path: &str) -> Option<LoggedTerm<'a>> {
        Some(match path {
            "numbers" => LoggedTerm::List(numbers_of(self.own).map(|(_, one)| one).collect()),
            "shared" => {
                let others = self.other.into_iter().flat_map(numbers_of);
                let named: HashSet<&str> = others.map(|(name, _)| name).collect();
                let shared = numbers_of(self.own).filter(|(name, _)| named.contains(name));
                // In the order of the names, so that both lists have it.
                let shared: BTreeMap<&str, f64> = shared.collect();
                LoggedTerm::List(shared.into_values().collect())
            }
            "nested" => {
                let members = self.own.members().into_iter().flatten();
                LoggedTerm::Number(members.filter(|(_, member)| is_nested(*member)).count() as f64)
            }
            metric => LoggedTerm::Number(self.number(self.heading(metric)?)?),
        })
    }
}

fn finite(member: Node<'_>) -> Option<f64> {
    let number = match &member.value().kind {
        Kind::Number(_) => member.float().ok(),
        Kind::Text(cell) => cell.parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

fn numbers_of<'a>(node: Node<'a>) -> impl Iterator<Item = (&'a str, f64)> {
    let members = node.members().into_iter().flatten();
    members.filter_map(|(name, member)| Some((name, finite(member)?)))
}

fn is_nested(node: Node<'_>) -> bool {
    matches!(node.value().kind, Kind::Array(_) | Kind::Object(_))
}

/// The tables whose names begin with a prefix, with their numbered lines.
pub fn tables<'a>(
    bundle: &'a Bundle,
    prefix: &'static str,
) -> impl Iterator<Item = (&'a str, impl Iterator<Item = (usize, PrintedRow<'a>)>)> {
    let names = bundle.files().keys().map(String::as_str);
    let names = names.filter(move |name| name.starts_with(prefix) && name.ends_with(".csv"));
    names.filter_map(|name| {
        let lines = bundle.document(name).ok()?.root().items().ok()?.map(PrintedRow::new);
        Some((name, lines.enumerate()))
    })
}
