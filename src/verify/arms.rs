//! The arms of a claim: the names of the post that its expression uses, with their runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use repro_bundle::bundle::{Bundle, Origin, Receipt};
use repro_claim::Expression;
use repro_claim::locator::Locator;
use repro_claim::syntax::ExpressionKind;
use repro_core::source::Location;

use crate::lexicon::{lexicon, plain_words};
use crate::library::Library;
use crate::page::{PostPage, path_of};
use crate::work::Work;

/// The steps charged for each lane, which keep the lanes of one post below about 100 MB.
const STEPS_OF_A_LANE: usize = 40;

/// The arms of a post by their names, with what the receipts of their runs say: gathered once for all claims.
#[derive(Debug)]
pub struct PostArms<'p> {
    page: &'p PostPage,
    by_name: BTreeMap<&'p str, Arc<ClaimArm>>,
    /// The lanes of their documents by the fields that these have.
    lanes: BTreeMap<&'p str, Vec<Arc<ClaimArm>>>,
}

/// A name of the post that an expression uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimArm {
    /// The name.
    pub label: String,
    /// Its letters and digits, in lower case.
    pub plain: String,
    /// The parts of its name that may stand for it in a sentence, in lower case.
    pub parts: Vec<String>,
    /// The aliases of its name or of a part of it, the names in its receipts, and the words for what it matches.
    pub calls: Vec<String>,
    /// Its runs.
    pub runs: Arc<ArmRuns>,
}

/// The runs of an arm, as their receipts state them; what differs between them is not stated of the arm.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ArmRuns {
    /// The bundles.
    pub bundles: Vec<String>,
    /// Whether they are a group.
    pub is_group: bool,
    /// The seeds.
    pub seeds: BTreeSet<u64>,
    /// The budget that all were trained under.
    pub budget: Option<String>,
    /// Whether the models are mixtures, or are dense.
    pub is_mixture: Option<bool>,
    /// Whether a trainer wrote each of them, so that it is a run of its own.
    are_emitted: bool,
    /// The quantity that all arms match: `active`, `total`.
    matched: Option<String>,
    /// The arm in the study.
    arm: Option<String>,
}

impl<'p> PostArms<'p> {
    /// The arms of a post.
    pub fn new(page: &'p PostPage, library: &'p Library, work: &Work) -> Self {
        let arm = |(name, (locator, _)): (&'p String, &(Locator, Location))| {
            let runs = Arc::new(ArmRuns::of(locator, library));
            (name.as_str(), Arc::new(ClaimArm::new(page, name.clone(), runs)))
        };
        let by_name = page.names.iter().map(arm).collect();
        let mut arms = Self { page, by_name, lanes: BTreeMap::new() };
        for (name, (locator, _)) in &page.names {
            arms.add_lanes(name, locator, library, work);
        }
        arms
    }

    /// Adds the parts of a document below the place of a name that have fields: `dense.core` below `bf16`.
    fn add_lanes(&mut self, name: &str, locator: &Locator, library: &'p Library, work: &Work) {
        let Some(own) = self.named(name).cloned() else { return };
        let prefix = format!("{}.", locator.path.join("."));
        let bundle = locator.bundles.first().and_then(|bundle| library.bundle(bundle));
        for fact in bundle.into_iter().flat_map(Bundle::facts) {
            work.takes(1);
            let Some((path, field)) = fact.id.rsplit_once('.') else { continue };
            let Some(lane) = path.strip_prefix(&prefix) else { continue };
            // Several names may point at the same place, and each gets lanes of its own.
            work.takes(STEPS_OF_A_LANE);
            if work.is_spent() {
                return;
            }
            let lane = self.lane(&own, lane);
            self.lanes.entry(field).or_default().push(lane);
        }
    }

    /// The arms that the post names.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ClaimArm>> {
        self.by_name.values()
    }

    /// The lanes that have a field.
    pub fn lanes_with(&self, field: &str) -> &[Arc<ClaimArm>] {
        self.lanes.get(field).map_or(&[], Vec::as_slice)
    }

    /// The arm of a name of the post.
    pub fn named(&self, name: &str) -> Option<&Arc<ClaimArm>> {
        self.by_name.get(name)
    }

    /// A part of an arm's document, which is an arm of its own: the lane `dense` of `bf16`.
    pub fn lane(&self, arm: &ClaimArm, lane: &str) -> Arc<ClaimArm> {
        let label = format!("{}.{lane}", arm.label);
        Arc::new(ClaimArm::new(self.page, label, arm.runs.clone()))
    }

    /// The arm that a path begins with, and what is left of the path: at most its field.
    pub fn of_path(&self, path: &[String]) -> Option<(Arc<ClaimArm>, Vec<String>)> {
        (1..=path.len()).rev().find_map(|length| {
            let arm = self.named(&path[..length].join("."))?;
            let mut rest = path[length..].to_vec();
            let is_inside =
                rest.first().is_some_and(|first| INSIDE_A_RUN.contains(&first.as_str()));
            if rest.len() < 2 || is_inside {
                return Some((arm.clone(), rest));
            }
            let field = rest.split_off(rest.len() - 1);
            Some((self.lane(arm, &rest.join(".")), field))
        })
    }

    /// The arms of expressions, in the order of their first use.
    pub fn of<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e Expression>,
    ) -> Vec<Arc<ClaimArm>> {
        let mut found = Vec::new();
        expressions.into_iter().for_each(|expression| chains(expression, &mut found));
        let mut arms: Vec<Arc<ClaimArm>> = Vec::new();
        for path in found.into_iter().filter_map(path_of) {
            if let Some((arm, _)) = self.of_path(&path)
                && !arms.iter().any(|known| known.label == arm.label)
            {
                arms.push(arm);
            }
        }
        arms
    }
}

impl ArmRuns {
    /// The runs that a name of the post points at. If a bundle is missing, nothing is stated of them.
    fn of(locator: &Locator, library: &Library) -> Self {
        let bundles: Vec<&Bundle> =
            locator.bundles.iter().filter_map(|name| library.bundle(name)).collect();
        let own = Self {
            bundles: locator.bundles.clone(),
            is_group: locator.is_group,
            ..Self::default()
        };
        if bundles.len() < locator.bundles.len() {
            return own;
        }
        let receipts = || bundles.iter().map(|bundle| bundle.receipt());
        let text = |of: fn(&Receipt) -> Option<&str>| shared(receipts().map(of)).map(str::to_owned);
        let seed = |receipt: &Receipt| receipt.seeds.as_ref()?.init.as_ref()?.parse().ok();
        let mixture = receipts().map(|receipt| {
            let model = receipt.model.as_ref()?;
            Some(model.params_total? > model.params_active?)
        });
        Self {
            seeds: receipts().filter_map(seed).collect(),
            budget: text(|receipt| receipt.extra.get("budget")?.as_str()),
            is_mixture: shared(mixture),
            are_emitted: !bundles.is_empty()
                && bundles.iter().all(|one| one.origin() == Origin::Emitted),
            matched: text(|receipt| receipt.contract.as_ref()?.matched.as_deref()),
            arm: text(|receipt| receipt.run.as_ref()?.arm.as_deref()),
            ..own
        }
    }

    /// In words: `6 runs (seeds 1-6)`; nothing of a single run without a seed.
    pub fn words(&self) -> String {
        if !self.is_group {
            return seed_words(&self.seeds, "seed");
        }
        let count = counted_runs(self.bundles.len());
        match seed_words(&self.seeds, "seeds").as_str() {
            "" => count,
            seeds => format!("{count} ({seeds})"),
        }
    }

    /// Whether each of them is one of the others, so that it is that arm's run.
    fn are_within(&self, others: &Self) -> bool {
        self.are_emitted && self.bundles.iter().all(|run| others.bundles.contains(run))
    }
}

impl ClaimArm {
    fn new(page: &PostPage, label: String, runs: Arc<ArmRuns>) -> Self {
        let lower = label.to_lowercase();
        let is_word = |part: &&str| {
            part.len() > 2
                && part.contains(char::is_alphabetic)
                && !lexicon().is_in("arm.generic", part)
        };
        let parts = plain_words(&lower).filter(is_word).map(str::to_owned).collect();
        let has_part = |name: &str| label == name || label.split('.').any(|part| part == name);
        let aliases = page.aliases.iter().filter(|(key, _)| has_part(key));
        let aliases = aliases.flat_map(|(_, words)| words).map(|alias| alias.to_lowercase());
        // "Dense" is a kind of model, whatever receipts call so.
        let is_kind = |name: &String| {
            ["arm.dense", "arm.sparse"].iter().any(|list| lexicon().is_in(list, name))
        };
        let in_receipts = runs.arm.iter().chain(&runs.budget).map(|name| name.to_lowercase());
        let matched = runs.matched.iter().map(|what| format!("arm.matched_{what}"));
        let matched = matched.flat_map(|list| lexicon().words(&list).to_vec());
        let calls = aliases.chain(in_receipts.filter(|name| !is_kind(name))).chain(matched);
        Self { calls: calls.collect(), plain: plain(&label), parts, label, runs }
    }

    /// Whether it is another arm's run, or the other way: one run of an arm is that arm. Places in one document are not.
    pub fn is_within(&self, other: &Self) -> bool {
        self.label == other.label
            || self.runs.are_within(&other.runs)
            || other.runs.are_within(&self.runs)
    }

    /// Whether both names differ in one part: `moe.active12` and `moe.total12`.
    pub fn is_beside(&self, other: &Self) -> bool {
        let (own, theirs) = (self.label.split('.'), other.label.split('.'));
        own.clone().count() == theirs.clone().count()
            && own.zip(theirs).filter(|(a, b)| a != b).count() == 1
    }

    /// The words for the kind of its models; none if it is not known.
    pub fn kind_words(&self) -> &'static [String] {
        match self.runs.is_mixture {
            Some(true) => lexicon().words("arm.sparse"),
            Some(false) => lexicon().words("arm.dense"),
            None => &[],
        }
    }
}

/// The letters and digits of a text, in lower case.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
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

/// The members of a run that hold fields of their own.
const INSIDE_A_RUN: [&str; 2] = ["config", "receipt"];
