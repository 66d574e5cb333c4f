//! Whether a bundle agrees with itself: relations between the numbers of its files, each a sentence in the language of claims.
//!
//! A relation is data (`known`): what it is of, when it can be asked, what it says. Where something of it is missing it is
//! not asked, so that trainers of others are held to what they say and to nothing else.

mod formula;
pub mod known;
mod rows;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use formula::{Formula, Term};
use known::{FORMULAS, RELATIONS};
use repro_receipt::bundle::{Bundle, Origin};
use repro_receipt::source::Code;
use repro_report::outcome::EvidenceRef;
use rows::{Over, Row, Rows};

/// What holds of every bundle that has its numbers.
#[derive(Debug)]
pub struct Relation {
    /// The finding where it does not hold.
    pub code: &'static Code,
    over: Over,
    /// What must hold for it to be asked.
    when: &'static [&'static str],
    /// What it says.
    pub says: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// A relation that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenRelation {
    /// Its finding.
    pub code: &'static Code,
    /// What it says.
    pub says: &'static str,
    /// Both sides and the numbers behind them, in the first row where it fails.
    pub reason: String,
    /// Where these stand.
    pub evidence: Vec<EvidenceRef>,
}

/// What became of all relations in one bundle.
#[derive(Debug, Clone, Default)]
pub struct SelfConsistency {
    /// How many relations were asked at least once.
    pub relations: usize,
    /// How often all of them were asked.
    pub times: usize,
    /// Those that do not hold.
    pub contradictions: Vec<BrokenRelation>,
}

/// A relation whose sentences are read.
struct ReadRelation {
    relation: &'static Relation,
    when: Vec<Formula>,
    says: Formula,
}

static READ: LazyLock<Vec<ReadRelation>> = LazyLock::new(|| {
    let read = |relation: &'static Relation| {
        let formula = |text: &&str| Formula::read(text, FORMULAS);
        Some(ReadRelation {
            relation,
            when: relation.when.iter().map(formula).collect::<Option<_>>()?,
            says: formula(&relation.says)?,
        })
    };
    RELATIONS.iter().filter_map(read).collect()
});

impl SelfConsistency {
    /// Of a bundle. What was typed from a publication is judged by posts.
    pub fn of(bundle: &Bundle) -> Self {
        let mut found = Self::default();
        if bundle.origin() == Origin::Transcribed {
            return found;
        }
        let rows = Rows::of(bundle);
        for one in READ.iter() {
            let all = rows.all(one.relation.over);
            let (times, failed) = one.asked(&rows, all);
            found.relations += usize::from(times > 0);
            found.times += times;
            let contradiction = |(first, count)| one.contradiction(bundle, &rows, first, count);
            found.contradictions.extend(failed.map(contradiction));
        }
        found
    }
}

impl ReadRelation {
    /// How often it could be asked of these rows; the first in which it does not hold, and how many there are.
    fn asked<'a>(&self, rows: &Rows<'a>, all: &[Row<'a>]) -> (usize, Option<(usize, usize)>) {
        let formulas = || self.when.iter().chain(std::iter::once(&self.says));
        let constants: Vec<Vec<_>> = formulas()
            .map(|formula| formula.names.iter().map(|name| rows.constant(name)).collect())
            .collect();
        // What no row can change is looked at once.
        if constants.iter().flatten().any(|constant| matches!(constant, Some(None))) {
            return (0, None);
        }
        let (mut times, mut failed) = (0, None);
        for at in 0..all.len() {
            let holds = |(formula, constants): (&Formula, &Vec<Option<Option<Term<'a>>>>)| {
                let terms = std::iter::zip(&formula.names, constants).map(|(name, constant)| {
                    constant.clone().unwrap_or_else(|| rows.named(all, at, name))
                });
                formula.holds(&terms.collect::<Vec<_>>())
            };
            let mut each = std::iter::zip(formulas(), &constants).map(holds);
            let is_asked = each.by_ref().take(self.when.len()).all(|holds| holds == Some(true));
            let Some(holds) = is_asked.then(|| each.next()).flatten().flatten() else { continue };
            times += 1;
            if !holds {
                let (_, count) = failed.get_or_insert((at, 0));
                *count += 1;
            }
        }
        (times, failed)
    }

    fn contradiction(
        &self,
        bundle: &Bundle,
        rows: &Rows<'_>,
        at: usize,
        count: usize,
    ) -> BrokenRelation {
        let all = rows.all(self.relation.over);
        let term = |name: &String| rows.constant(name).unwrap_or_else(|| rows.named(all, at, name));
        let terms: Vec<_> = self.says.names.iter().map(term).collect();
        let sides = self.says.sides(&terms).join(" and ");
        let named = std::iter::zip(&self.says.names, &terms)
            .filter_map(|(name, term)| Some(format!("{name} is {}", term.as_ref()?)));
        let named: Vec<_> = named.collect();
        let first = all.get(at);
        let row = first.map(|row| format!("{}{}", row.file, place_of(&row.pointer)));
        let others = match count - 1 {
            0 => String::new(),
            more => format!("; so it is in {more} more {}", self.relation.over.words()),
        };
        let reason =
            format!("{sides} in {}: {}{others}", row.unwrap_or_default(), named.join(", "));
        let places: BTreeSet<(String, String)> =
            self.says.names.iter().filter_map(|name| rows.place(all, at, name)).collect();
        let evidence = places.into_iter().map(|(file, pointer)| EvidenceRef {
            bundle: bundle.name().to_owned(),
            file,
            pointer,
            document: None,
            printed_at: None,
        });
        BrokenRelation {
            code: self.relation.code,
            says: self.relation.says,
            reason,
            evidence: evidence.collect(),
        }
    }
}

fn place_of(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" {pointer}") }
}

/// All relations, for people.
pub fn listed() -> String {
    let mut text = String::new();
    for relation in RELATIONS {
        text.push_str(&format!("{}\n  {}\n", relation.code.id, relation.says));
        if !relation.when.is_empty() {
            text.push_str(&format!("  where {}\n", relation.when.join(" and ")));
        }
        text.push_str(&format!("  of {}; {}\n", relation.over.words(), relation.source));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_read() {
        for relation in RELATIONS {
            for text in relation.when.iter().chain([&relation.says]) {
                assert!(Formula::read(text, FORMULAS).is_some(), "{text}");
            }
        }
        assert_eq!(READ.len(), RELATIONS.len());
    }
}
