//! Nouns of facts: one quantity of one arm, as `mean loss of moe, 6 runs (seeds 1-6), held-out, step 1,209`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use repro_bundle::bundle::Fact;
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_core::decimal::grouped;

use super::provenance::TextSplit;
use crate::arms::{ClaimArm, PostArms, shared};
use crate::lexicon::lexicon;
use crate::library::Library;
use crate::page::{PlacedExpression, PostPage, path_of};
use crate::value::{Leaf, Quantity};

/// The quantity of a name that stands for runs, and no field of theirs.
const ITSELF: &str = "value";
/// The variable for each arm in a quantity held fixed.
const EACH_ARM: &str = "it";

/// The meanings of names in a claim.
pub struct Scope<'s> {
    pub page: &'s PostPage,
    pub library: &'s Library,
    pub arms: &'s PostArms<'s>,
    /// The variables of a table's row.
    pub variables: &'s BTreeMap<String, PlacedExpression>,
    /// The leaves that were read.
    pub leaves: Vec<Rc<Leaf>>,
}

/// One quantity of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Noun {
    /// The statistics over it, the outermost first.
    pub statistics: Vec<String>,
    /// The quantity.
    pub metric: String,
    /// Whose it is.
    pub arm: Option<Arc<ClaimArm>>,
    /// The step that the expression names.
    pub step: Option<String>,
}

impl Noun {
    fn new(metric: String, arm: Option<Arc<ClaimArm>>) -> Self {
        Self { statistics: Vec::new(), metric, arm, step: None }
    }

    /// The name of its arm.
    pub fn label(&self) -> &str {
        self.arm.as_ref().map_or("", |arm| &arm.label)
    }

    /// Its step: `step 1,209`.
    pub fn step_words(&self) -> Option<String> {
        self.step.as_ref().map(|step| format!("step {}", grouped(step)))
    }
}

impl Scope<'_> {
    /// An expression with the formulas and the variables of its row in place; as it is where that would be too long.
    pub fn plain(&self, tree: &Expression) -> Expression {
        self.page.unfolded(tree, self.variables).unwrap_or_else(|| tree.clone())
    }

    /// The body of a formula without parameters, and of one that it names in turn; any other expression as it is.
    pub fn body<'e>(&'e self, tree: &'e Expression) -> &'e Expression {
        let mut body = tree;
        // Formulas may name each other in a circle.
        for _ in 0..self.page.formulas.len() {
            let ExpressionKind::Name(name) = &body.kind else { break };
            let own = self.page.formulas.get(name).filter(|_| !self.variables.contains_key(name));
            let Some(formula) = own else { break };
            body = &formula.body.tree;
        }
        body
    }

    /// The noun that an expression is.
    pub fn noun_of(&self, tree: &Expression) -> Option<Noun> {
        self.noun(&self.plain(tree))
    }

    /// The noun that a plain expression is.
    pub fn noun(&self, part: &Expression) -> Option<Noun> {
        match &part.kind {
            ExpressionKind::Name(_) | ExpressionKind::Field(..) => self.field(part),
            ExpressionKind::At(of, step) => {
                let noun = self.noun(of)?;
                Some(Noun { step: Some(step.to_string()), ..noun })
            }
            ExpressionKind::Call(name, arguments) => {
                let [first, ..] = arguments.as_slice() else { return None };
                self.call(name, &first.value)
            }
            _ => None,
        }
    }

    /// The typed fact that a number is.
    pub fn fact_of(&self, number: &Quantity) -> Option<&Fact> {
        let [leaf] = number.leaves.as_slice() else { return None };
        let evidence = leaf.evidence.as_ref()?;
        self.library.bundle(&evidence.bundle)?.fact_at(&evidence.file, &evidence.pointer)
    }

    /// A field of an arm.
    fn field(&self, part: &Expression) -> Option<Noun> {
        let path = path_of(part)?;
        let Some((arm, rest)) = self.arms.of_path(&path) else {
            // What is held fixed is the same quantity of each arm.
            let metric =
                path.strip_prefix(&[EACH_ARM.to_owned()]).filter(|rest| !rest.is_empty())?;
            let metric = metric.join(".").replacen("config.", "setting ", 1);
            return Some(Noun::new(metric, None));
        };
        let metric = match rest.as_slice() {
            [] => {
                let (locator, _) = self.page.names.get(&arm.label)?;
                locator.path.last().cloned().unwrap_or_else(|| ITSELF.to_owned())
            }
            [kind, inner @ ..] if kind == "config" && !inner.is_empty() => {
                format!("setting {}", inner.join("."))
            }
            [kind, inner @ ..] if kind == "receipt" && !inner.is_empty() => inner.join("."),
            fields => fields.join("."),
        };
        Some(Noun::new(metric, Some(arm)))
    }

    /// A count of a model, a statistic, or the value as printed.
    fn call(&self, name: &str, of: &Expression) -> Option<Noun> {
        if let Some(count) = lexicon().quantity_of_field(&format!("{name}()")) {
            let is_each = matches!(&of.kind, ExpressionKind::Name(name) if name == EACH_ARM);
            let arm = if is_each { None } else { Some(self.arm(of)?) };
            return Some(Noun::new(count.name.clone(), arm));
        }
        if name == "count" {
            let runs = Noun::new("runs".to_owned(), Some(self.arm(of)?));
            return Some(Noun { statistics: vec!["number".to_owned()], ..runs });
        }
        let noun = self.noun(of)?;
        if matches!(name, "printed" | "whole") {
            return Some(noun);
        }
        let statistic = match lexicon().words(&format!("noun.{name}")) {
            [words] => words.clone(),
            _ => lexicon().statistic_of_function(name)?.name.clone(),
        };
        let statistics = std::iter::once(statistic).chain(noun.statistics.clone()).collect();
        Some(Noun { statistics, ..noun })
    }

    fn arm(&self, of: &Expression) -> Option<Arc<ClaimArm>> {
        self.arms.of_path(&path_of(of)?).map(|(arm, _)| arm)
    }

    /// The noun in words, with its arm.
    pub fn words(&self, noun: &Noun) -> String {
        format!("{}{}", short(noun), self.scope_of(noun))
    }

    /// The runs, split and step of a noun: `, 6 runs (seeds 1-6), held-out, step 1,209`.
    pub fn scope_of(&self, noun: &Noun) -> String {
        let is_of_runs = noun.metric != "runs"
            && !noun.metric.ends_with("parameters")
            && !noun.metric.starts_with("setting ");
        let runs = noun.arm.as_ref().filter(|_| is_of_runs).map(|arm| arm.runs.words());
        let own: Vec<_> = self.leaves.iter().filter(|leaf| is_of(leaf, noun)).collect();
        let splits = own.iter().filter_map(|leaf| TextSplit::of_leaf(leaf, self.library));
        let split = shared(splits.map(Some));
        let steps: BTreeSet<u64> = own.iter().filter_map(|leaf| leaf.step).collect();
        let read = || {
            let [one, other] =
                [steps.first()?, steps.last()?].map(|step| grouped(&step.to_string()));
            Some(if one == other { format!("step {one}") } else { format!("steps {one}-{other}") })
        };
        let parts = [runs, split.map(|one| one.word().to_owned()), noun.step_words().or_else(read)];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts.map(|part| format!(", {part}")).collect()
    }
}

/// The quantity and the arm of a noun.
pub fn short(noun: &Noun) -> String {
    match &noun.arm {
        Some(arm) if noun.metric == ITSELF => arm.label.clone(),
        Some(arm) => format!("{} of {}", head(noun), arm.label),
        None => head(noun),
    }
}

/// The statistics and the quantity of a noun.
pub fn head(noun: &Noun) -> String {
    let words = noun.statistics.iter().map(String::as_str).chain([noun.metric.as_str()]);
    words.collect::<Vec<_>>().join(" ").replace("number runs", "number of runs")
}

/// Whether a piece of evidence belongs to a noun.
fn is_of(leaf: &Leaf, noun: &Noun) -> bool {
    let Some(evidence) = &leaf.evidence else { return false };
    let Some(arm) = &noun.arm else { return false };
    let field = noun.metric.rsplit(['.', ' ']).next().unwrap_or_default();
    let own = if field == "val_loss" { "loss" } else { field };
    arm.runs.bundles.contains(&evidence.bundle) && evidence.pointer.ends_with(own)
}
