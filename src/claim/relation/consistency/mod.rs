//! Consistency checks of a bundle: relations between the numbers of its files, written in the language of claims.
//!
//! A check is data (`relations.toml`): its rows, its conditions and its relation. It is skipped if a value that it uses is
//! missing, so other trainers are only checked on the values that they state.

mod column;
mod columns;
mod known;
mod printed;
mod rows;

use std::collections::BTreeSet;

use crate::relation::{Formula, Term};
use columns::{Name, RelationColumns, View};
use known::{BundleRelation, known_relations};
use repro_bundle::bundle::{Bundle, Origin};
use repro_core::source::Code;

/// A value in a bundle: numbers are floats, as trainers log them.
type LoggedTerm<'a> = Term<'a, f64>;

/// The place of a number in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedPlace {
    /// The file inside the bundle.
    pub file: String,
    /// The pointer inside the file.
    pub pointer: String,
}

impl LoggedPlace {
    pub fn new(file: &str, pointer: String) -> Self {
        Self { file: file.to_owned(), pointer }
    }
}

/// A relation that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenRelation {
    /// Its finding.
    pub code: &'static Code,
    /// The relation, both of its sides and their numbers, in the first row in which it fails.
    pub reason: String,
    /// The places of these numbers.
    pub places: Vec<LoggedPlace>,
}

/// The results of all consistency checks in one bundle.
#[derive(Debug, Clone, Default)]
pub struct SelfConsistency {
    /// The checks that ran at least once, and how often each ran.
    pub asked: Vec<(&'static Code, usize)>,
    /// The checks that failed.
    pub contradictions: Vec<BrokenRelation>,
    /// The failed checks that honest runs can fail, too.
    pub doubts: Vec<BrokenRelation>,
}

impl SelfConsistency {
    /// Checks a bundle. Transcribed bundles are skipped: posts judge them.
    pub fn of(bundle: &Bundle) -> Self {
        let mut found = Self::default();
        if bundle.origin() == Origin::Transcribed {
            return found;
        }
        let mut columns = RelationColumns::of(bundle);
        let mut is_asked = |one: &&'static BundleRelation| {
            columns.count(one.over) > 0 && one.is_asked(&mut columns)
        };
        let asked: Vec<_> = known_relations().iter().filter(|one| is_asked(one)).collect();
        for one in asked {
            let count = columns.count(one.over);
            one.names.iter().for_each(|name| columns.find_in_rows(one.over, name));
            let (times, failed) = one.asked(&columns, count);
            let broken = failed.map(|(first, more)| one.broken(&columns, first, more));
            if one.is_doubt {
                found.doubts.extend(broken);
                continue;
            }
            if times > 0 {
                found.asked.push((&one.code, times));
            }
            found.contradictions.extend(broken);
        }
        found
    }
}

impl BundleRelation {
    /// Whether a bundle has the values of this check; conditions that are the same in every row are evaluated here, once.
    fn is_asked(&'static self, columns: &mut RelationColumns<'_>) -> bool {
        // Constant conditions, and formulas about presence, may use names that are absent.
        let all = || self.when.iter().chain([&self.says]);
        let rows = || all().filter(|formula| !formula.asks_for_presence());
        let is_needed = |at: usize| rows().any(|formula| formula.names.contains(&at));
        let is_missing =
            |(at, name): &(usize, &'static Name)| !columns.find_constant(name) && is_needed(*at);
        // Looks up all names, the absent ones too.
        let missing = self.names.iter().enumerate().filter(is_missing).count();
        let views = self.views(columns);
        let named = |at: usize| views.get(at).and_then(|view| view.at(0));
        missing == 0 && self.first.iter().all(|formula| formula.holds(&named) == Some(true))
    }

    fn views<'c>(&'static self, columns: &'c RelationColumns<'_>) -> Vec<View<'c>> {
        self.names.iter().map(|name| columns.view(self.over, name)).collect()
    }

    /// The number of times that the check ran, the first row in which it fails, and the number of other rows in which it
    /// fails.
    fn asked(
        &'static self,
        columns: &RelationColumns<'_>,
        count: usize,
    ) -> (usize, Option<(usize, usize)>) {
        let views = self.views(columns);
        let when: Vec<_> =
            self.when.iter().map(|formula| RowFormula::of(formula, &views)).collect();
        let says = RowFormula::of(&self.says, &views);
        let (mut times, mut failed) = (0, None);
        for at in 0..count {
            if !when.iter().all(|formula| formula.holds(at) == Some(true)) {
                continue;
            }
            let Some(holds) = says.holds(at) else { continue };
            times += 1;
            if !holds {
                failed = Some(failed.map_or((at, 0), |(first, more)| (first, more + 1)));
            }
        }
        (times, failed)
    }

    fn broken(
        &'static self,
        columns: &RelationColumns<'_>,
        at: usize,
        more: usize,
    ) -> BrokenRelation {
        let Self { code, over, text, .. } = self;
        let views = self.views(columns);
        let named = |name: usize| views.get(name)?.at(at);
        let sides = self.says.sides(&named);
        let used =
            || self.says.names.iter().filter_map(|name| Some((*name, self.names.get(*name)?)));
        let values = used().filter_map(|(number, name)| Some((name, named(number)?.to_string())));
        let values: Vec<_> = values.collect();
        // If both sides are plain names, their values are reported once.
        let is = match values.iter().map(|(_, value)| value).eq(&sides) {
            true => "does not hold".to_owned(),
            false => format!("is {}", sides.join(" and ")),
        };
        let told: Vec<_> =
            values.iter().map(|(name, value)| format!("{} is {value}", name.text)).collect();
        let row = columns.row(*over, at).map(|row| row.words());
        let others = match more {
            0 => String::new(),
            more => format!("; the same in {more} more {}", over.words()),
        };
        let reason =
            format!("`{text}` {is} in {}: {}{others}", row.unwrap_or_default(), told.join(", "));
        let places: BTreeSet<LoggedPlace> =
            used().filter_map(|(_, name)| columns.place(*over, at, name)).collect();
        BrokenRelation { code, reason, places: places.into_iter().collect() }
    }
}

/// A formula with the values of its names in the rows of a bundle.
struct RowFormula<'v> {
    formula: &'static Formula,
    views: &'v [View<'v>],
    /// Whether it computes with single numbers only, as most formulas do. There are many rows, so this case is fast.
    is_scalar: bool,
}

impl<'v> RowFormula<'v> {
    fn of(formula: &'static Formula, views: &'v [View<'v>]) -> Self {
        let is_of_numbers = |at: &usize| views.get(*at).is_some_and(View::is_of_numbers);
        let is_scalar = formula.is_scalar() && formula.names.iter().all(is_of_numbers);
        Self { formula, views, is_scalar }
    }

    fn holds(&self, row: usize) -> Option<bool> {
        let view = |name: usize| self.views.get(name);
        if self.is_scalar {
            return self.formula.holds_of(&|name| view(name).map_or(f64::NAN, |it| it.number(row)));
        }
        self.formula.holds(&|name| view(name)?.at(row))
    }
}

/// The codes and relations of all checks whose failure refutes, in the order of the file.
pub fn all() -> impl Iterator<Item = (&'static Code, &'static str)> {
    known_relations()
        .iter()
        .filter(|relation| !relation.is_doubt)
        .map(|relation| (&relation.code, relation.text))
}

/// The list of all consistency checks for `repro explain relations`.
pub fn listed() -> String {
    let mut text = String::new();
    for relation in known_relations() {
        text.push_str(&format!("{}\n  {}\n", relation.code.id, relation.text));
        if !relation.conditions.is_empty() {
            text.push_str(&format!("  if {}\n", relation.conditions.join(" and ")));
        }
        text.push_str(&format!("  checked in {}; {}\n", relation.over.words(), relation.source));
        if relation.is_doubt {
            text.push_str("  reported as a warning: honest runs can fail it\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_read() {
        let tables = include_str!("relations.toml").lines();
        let tables = tables.filter(|line| line.starts_with("[\""));
        assert_eq!(known_relations().len(), tables.count());
        assert!(!known_relations().is_empty());
    }

    #[test]
    fn what_is_asked_of_the_free_text_of_a_header_is_kept() {
        let asked = known_relations().iter();
        let asked = asked.flat_map(|relation| relation.text.split("metadata.").skip(1));
        let keys = asked.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
        let keys: std::collections::BTreeSet<_> = keys.flatten().collect();
        assert_eq!(
            keys.into_iter().collect::<Vec<_>>(),
            repro_bundle::bundle::PassedTensors::COMPARED
        );
    }
}
