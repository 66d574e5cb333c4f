//! The arms of a claim: the names of the post that its expression uses, with their runs.

use std::collections::BTreeSet;

use repro_claim::Expression;
use repro_claim::locator::Locator;
use repro_claim::syntax::ExpressionKind;
use repro_receipt::bundle::Origin;

use crate::lexicon::{lexicon, plain_words};
use crate::library::Library;
use crate::page::{PostPage, path_of};

/// A name of the post that an expression uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimArm {
    /// The name.
    pub label: String,
    /// The bundles that it stands for.
    pub bundles: Vec<String>,
    /// Whether it is a group of runs.
    pub is_group: bool,
    /// The parts of its name that may stand for it in a sentence, in lower case.
    pub parts: Vec<String>,
}

impl ClaimArm {
    /// A name with the runs that it locates.
    pub fn new(label: String, locator: &Locator) -> Self {
        let lower = label.to_lowercase();
        let is_word = |part: &&str| {
            part.len() > 2
                && part.contains(char::is_alphabetic)
                && !lexicon().is_in("arm.generic", part)
        };
        let parts = plain_words(&lower).filter(is_word).map(str::to_owned).collect();
        Self { label, bundles: locator.bundles.clone(), is_group: locator.is_group, parts }
    }

    /// Its runs in words: `6 runs (seeds 1-6)`; nothing of a single run without a seed.
    pub fn runs(&self, library: &Library) -> String {
        let seeds = self.seeds(library);
        if !self.is_group {
            return seed_words(&seeds, "seed");
        }
        let count = counted_runs(self.bundles.len());
        match seed_words(&seeds, "seeds").as_str() {
            "" => count,
            seeds => format!("{count} ({seeds})"),
        }
    }

    /// What all of its runs match, as their receipts state it: `active`, `total`.
    pub fn matches<'l>(&self, library: &'l Library) -> Option<&'l str> {
        let contract = |name: &String| library.bundle(name)?.receipt().contract.as_ref();
        shared(self.bundles.iter().map(|name| contract(name)?.matched.as_deref()))
    }

    /// The seeds of its runs, as their receipts state them.
    pub fn seeds(&self, library: &Library) -> BTreeSet<u64> {
        let seed = |name: &String| {
            library.bundle(name)?.receipt().seeds.as_ref()?.init.as_ref()?.parse().ok()
        };
        self.bundles.iter().filter_map(seed).collect()
    }

    /// What the receipts of all its runs call it: its arm in the study, and its budget.
    pub fn names_in_receipts(&self, library: &Library) -> Vec<String> {
        let arm = |name: &String| library.bundle(name)?.receipt().run.as_ref()?.arm.as_deref();
        let arm = shared(self.bundles.iter().map(arm));
        arm.into_iter().chain(self.budget(library)).map(str::to_lowercase).collect()
    }

    /// The budget that all of its runs were trained under, as their receipts call it.
    pub fn budget<'l>(&self, library: &'l Library) -> Option<&'l str> {
        let budget = |name: &String| library.bundle(name)?.receipt().extra.get("budget")?.as_str();
        shared(self.bundles.iter().map(budget))
    }

    /// Whether it is called by a name of the post, or has it as a part: `moe` of `moe.active12`.
    pub fn has_part(&self, name: &str) -> bool {
        self.label == name || self.label.split('.').any(|part| part == name)
    }

    /// Whether it is another arm's run, or the other way: one run of an arm is that arm. Places in one document are not.
    pub fn is_within(&self, other: &Self, library: &Library) -> bool {
        let is_within = |a: &Self, b: &Self| {
            a.bundles.iter().all(|run| {
                let bundle = library.bundle(run);
                b.bundles.contains(run) && bundle.is_some_and(|one| one.origin() == Origin::Emitted)
            })
        };
        self.label == other.label
            || !self.bundles.is_empty() && (is_within(self, other) || is_within(other, self))
    }

    /// Whether both names differ in one part: `moe.active12` and `moe.total12`.
    pub fn is_beside(&self, other: &Self) -> bool {
        let (own, theirs) = (self.label.split('.'), other.label.split('.'));
        own.clone().count() == theirs.clone().count()
            && own.zip(theirs).filter(|(a, b)| a != b).count() == 1
    }

    /// Whether its models are mixtures, or are dense; none where nothing says so or they differ.
    pub fn is_mixture(&self, library: &Library) -> Option<bool> {
        let kind = |name: &String| {
            let model = library.bundle(name)?.receipt().model.as_ref()?;
            Some(model.params_total? > model.params_active?)
        };
        shared(self.bundles.iter().map(kind))
    }
}

/// The value that all of them share; none if one lacks it or differs.
pub fn shared<T: PartialEq>(each: impl IntoIterator<Item = Option<T>>) -> Option<T> {
    let mut each = each.into_iter();
    let first = each.next()??;
    each.all(|one| one.as_ref() == Some(&first)).then_some(first)
}

/// `1 run`, `6 runs`.
pub fn counted_runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// Seeds in words: `seeds 1-6`, `seeds 1, 3`.
fn seed_words(seeds: &BTreeSet<u64>, word: &str) -> String {
    let (Some(first), Some(last)) = (seeds.first(), seeds.last()) else { return String::new() };
    if seeds.len() > 2 && (last - first) as usize + 1 == seeds.len() {
        return format!("{word} {first}-{last}");
    }
    let list: Vec<_> = seeds.iter().map(u64::to_string).collect();
    format!("{word} {}", list.join(", "))
}

/// The longest chains of fields of an expression, in their order.
pub fn chains<'e>(expression: &'e Expression, found: &mut Vec<&'e Expression>) {
    match &expression.kind {
        ExpressionKind::Name(_) | ExpressionKind::Field(..) => found.push(expression),
        // A step is no arm.
        ExpressionKind::At(of, _) => chains(of, found),
        _ => expression.parts().into_iter().for_each(|part| chains(part, found)),
    }
}

/// The arm that a path begins with, and what is left of the path: at most its field.
pub fn arm_of(page: &PostPage, path: &[String]) -> Option<(ClaimArm, Vec<String>)> {
    (1..=path.len()).rev().find_map(|length| {
        let mut label = path[..length].join(".");
        let (locator, _) = page.names.get(&label)?;
        let mut rest = path[length..].to_vec();
        let is_inside = rest.first().is_some_and(|first| INSIDE_A_RUN.contains(&first.as_str()));
        // The lanes of a document are arms of their own: `bf16.dense.core`.
        if rest.len() > 1 && !is_inside {
            let field = rest.split_off(rest.len() - 1);
            label = format!("{label}.{}", rest.join("."));
            rest = field;
        }
        Some((ClaimArm::new(label, locator), rest))
    })
}

/// The members of a run that hold fields of their own.
const INSIDE_A_RUN: [&str; 2] = ["config", "receipt"];

/// The arms of expressions, in the order of their first use.
pub fn arms_of<'e>(
    page: &PostPage,
    expressions: impl IntoIterator<Item = &'e Expression>,
) -> Vec<ClaimArm> {
    let mut found = Vec::new();
    expressions.into_iter().for_each(|expression| chains(expression, &mut found));
    let mut arms: Vec<ClaimArm> = Vec::new();
    for path in found.into_iter().filter_map(path_of) {
        if let Some((arm, _)) = arm_of(page, &path)
            && !arms.iter().any(|known| known.label == arm.label)
        {
            arms.push(arm);
        }
    }
    arms
}
