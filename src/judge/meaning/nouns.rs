//! Nouns of facts: one quantity of one arm, as `mean loss of moe, 6 runs (seeds 1-6), held-out, step 1,209`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_exact::decimal::grouped;

use super::arms::{ClaimArm, arm_of, path_of};
use super::provenance::TextSplit;
use crate::lexicon::lexicon;
use crate::library::Library;
use crate::page::{PlacedExpression, PostPage};
use crate::value::Leaf;

/// What names stand for in a claim.
pub struct Scope<'s> {
    pub page: &'s PostPage,
    pub library: &'s Library,
    /// The variables of a table's row.
    pub variables: &'s BTreeMap<String, PlacedExpression>,
    /// What was read.
    pub leaves: &'s [Rc<Leaf>],
}

/// One quantity of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Noun {
    /// The statistics over it, the outermost first.
    pub statistics: Vec<String>,
    /// The quantity.
    pub metric: String,
    /// Whose it is.
    pub arm: Option<ClaimArm>,
    /// The step that the expression names.
    pub step: Option<String>,
}

impl Scope<'_> {
    /// The body of a formula, and of the formula that it names in turn; any other expression as it is.
    pub fn unfolded<'e>(&'e self, tree: &'e Expression) -> &'e Expression {
        let mut body = tree;
        for _ in 0..self.page.formulas.len() {
            match &body.kind {
                ExpressionKind::Name(name) if !self.variables.contains_key(name) => {
                    let Some(formula) = self.page.formulas.get(name) else { break };
                    body = &formula.body.tree;
                }
                _ => break,
            }
        }
        body
    }

    /// The noun that an expression is.
    pub fn noun(&self, part: &Expression) -> Option<Noun> {
        self.noun_within(part, 0)
    }

    fn noun_within(&self, part: &Expression, depth: usize) -> Option<Noun> {
        // Formulas may call each other in a circle.
        if depth > self.page.formulas.len() {
            return None;
        }
        match &part.kind {
            ExpressionKind::Name(name) if self.variables.contains_key(name) => {
                self.noun_within(&self.variables.get(name)?.tree, depth + 1)
            }
            ExpressionKind::Name(name) if self.page.formulas.contains_key(name) => {
                self.noun_within(&self.page.formulas.get(name)?.body.tree, depth + 1)
            }
            ExpressionKind::Name(_) | ExpressionKind::Field(..) => self.field(part),
            ExpressionKind::At(of, step) => {
                let noun = self.noun_within(of, depth)?;
                Some(Noun { step: Some(step.to_string()), ..noun })
            }
            ExpressionKind::Call(name, arguments) => {
                let [first, ..] = arguments.as_slice() else { return None };
                self.call(name, &first.value, depth)
            }
            _ => None,
        }
    }

    /// A field of an arm.
    fn field(&self, part: &Expression) -> Option<Noun> {
        let (arm, rest) = arm_of(self.page, &self.path(part)?)?;
        let metric = match rest.as_slice() {
            [] => {
                let (locator, _) = self.page.names.get(&arm.label)?;
                locator.path.last().cloned().unwrap_or_else(|| "value".to_owned())
            }
            [kind, inner @ ..] if kind == "config" && !inner.is_empty() => {
                format!("setting {}", inner.join("."))
            }
            [kind, inner @ ..] if kind == "receipt" && !inner.is_empty() => inner.join("."),
            fields => fields.join("."),
        };
        Some(Noun { statistics: Vec::new(), metric, arm: Some(arm), step: None })
    }

    /// A count of a model, a statistic, or the value as printed.
    fn call(&self, name: &str, of: &Expression, depth: usize) -> Option<Noun> {
        if let Some(count) = lexicon().quantity_of_field(&format!("{name}()")) {
            let arm = self.arm(of)?;
            let metric = count.name.clone();
            return Some(Noun { statistics: Vec::new(), metric, arm: Some(arm), step: None });
        }
        if name == "count" {
            let arm = self.arm(of)?;
            return Some(Noun {
                statistics: vec!["number".to_owned()],
                metric: "runs".to_owned(),
                arm: Some(arm),
                step: None,
            });
        }
        let noun = self.noun_within(of, depth)?;
        if matches!(name, "printed" | "whole") {
            return Some(noun);
        }
        let statistic = match name {
            "min" => "lowest".to_owned(),
            "max" => "highest".to_owned(),
            "sd" => "standard deviation (n-1) of".to_owned(),
            "population_sd" => "standard deviation (n) of".to_owned(),
            "se" => "standard error of".to_owned(),
            "ci95" => "95% confidence interval of mean".to_owned(),
            name => lexicon().statistic_of_function(name)?.name.clone(),
        };
        let statistics = std::iter::once(statistic).chain(noun.statistics.clone()).collect();
        Some(Noun { statistics, ..noun })
    }

    fn arm(&self, of: &Expression) -> Option<ClaimArm> {
        arm_of(self.page, &self.path(of)?).map(|(arm, _)| arm)
    }

    /// A chain of fields; the variable of a row stands for an arm.
    fn path(&self, part: &Expression) -> Option<Vec<String>> {
        let mut path = path_of(part)?;
        if let Some(variable) = path.first().and_then(|name| self.variables.get(name)) {
            path.splice(..1, path_of(&variable.tree)?);
        }
        Some(path)
    }

    /// The noun in words, with its arm.
    pub fn words(&self, noun: &Noun) -> String {
        let arm = noun.arm.as_ref().map_or_else(String::new, |arm| format!(" of {}", arm.label));
        format!("{}{arm}{}", head(noun), self.scope_of(noun))
    }

    /// The runs, split and step of a noun: `, 6 runs (seeds 1-6), held-out, step 1,209`.
    pub fn scope_of(&self, noun: &Noun) -> String {
        let mut parts = Vec::new();
        let is_of_runs = noun.metric != "runs"
            && !noun.metric.ends_with("parameters")
            && !noun.metric.starts_with("setting ");
        if let Some(arm) = noun.arm.as_ref().filter(|_| is_of_runs) {
            parts.push(arm.runs(self.library));
        }
        let own: Vec<_> = self.leaves.iter().filter(|leaf| is_of(leaf, noun)).collect();
        let splits: BTreeSet<_> = own.iter().filter_map(|leaf| TextSplit::of_leaf(leaf)).collect();
        if let (Some(split), 1) = (splits.first(), splits.len()) {
            parts.push(split.word().to_owned());
        }
        let steps: BTreeSet<u64> = own.iter().filter_map(|leaf| leaf.step).collect();
        parts.push(match (&noun.step, steps.first(), steps.last()) {
            (Some(step), ..) => format!("step {}", grouped(step)),
            (None, Some(first), Some(last)) if first == last => {
                format!("step {}", grouped(&first.to_string()))
            }
            (None, Some(first), Some(last)) => {
                format!("steps {}-{}", grouped(&first.to_string()), grouped(&last.to_string()))
            }
            _ => String::new(),
        });
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.iter().map(|part| format!(", {part}")).collect()
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
    arm.bundles.contains(&evidence.bundle) && evidence.pointer.ends_with(own)
}
