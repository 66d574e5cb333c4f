//! The values of a fact as rows of a table: one quantity, its arms beside each other.

use repro_claim::Expression;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_report::meaning::{FactCell, FactRow};
use repro_report::outcome::Measured;

use super::nouns::{Noun, Scope, head};
use super::phrases::SharedQuantity;
use crate::evaluate::functions::fixed;
use crate::value::Quantity;

/// The function that gives a number of the quote.
const QUOTED: &str = "quoted";
/// The name of a value without its own name.
const VALUE: &str = "value";

/// The rows of relations whose values were measured, in the order in which relations are judged. None if some relation
/// measures values that are not its sides, as a test does.
pub fn of_relations(
    scope: &Scope<'_>,
    trees: &[&Expression],
    measured: &[Measured],
) -> Vec<FactRow> {
    let mut left = measured;
    let mut rows = Vec::new();
    for tree in trees {
        let body = scope.body(tree);
        let compared = Compared::of(scope, &scope.plain(body));
        let compared = compared.or_else(|| Compared::printed(scope, body));
        let Some(compared) = compared else { return Vec::new() };
        let Some((own, rest)) = left.split_at_checked(compared.measured()) else {
            return Vec::new();
        };
        left = rest;
        let values: Option<Vec<f64>> = own.iter().map(|one| one.value).collect();
        rows.extend(values.map(|values| compared.row(scope, &values)));
    }
    if left.is_empty() { rows } else { Vec::new() }
}

/// The row of a number: its quantity and its arm, or the formula that gives it.
pub fn of_number(scope: &Scope<'_>, tree: &Expression, given: &[Quantity]) -> Option<FactRow> {
    let [number] = given else { return None };
    let row = match scope.noun_of(tree) {
        Some(noun) => Compared {
            labels: vec![noun.label().to_owned()],
            unit: unit_of(scope, &noun),
            quantity: head(&noun),
            signs: Vec::new(),
            is_chain: false,
        },
        None => Compared::named(formula_of(scope, tree)?, 1),
    };
    Some(row.row(scope, &[number.nearest()]))
}

/// The row of values that a post shows beside a claim: a list, or one value.
pub fn of_shown(scope: &Scope<'_>, tree: &Expression, values: &[f64]) -> FactRow {
    let plain = scope.plain(scope.body(tree));
    let items = match &plain.kind {
        ExpressionKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&plain),
    };
    let shown = Compared::list(scope, items);
    let mut shown = shown.unwrap_or_else(|| Compared::named(&scope.phrase(tree), values.len()));
    // The name that the author gave says more than the formula.
    if let Some(name) = formula_of(scope, tree) {
        shown.quantity = name.replace(['_', '-'], " ");
    }
    shown.row(scope, values)
}

/// The formula of the post that an expression is, also as it is printed.
fn formula_of<'e>(scope: &Scope<'_>, tree: &'e Expression) -> Option<&'e str> {
    match &tree.kind {
        ExpressionKind::Name(name) => scope.page.formulas.contains_key(name).then_some(name),
        ExpressionKind::Call(name, _) if scope.page.formulas.contains_key(name) => Some(name),
        ExpressionKind::Call(name, arguments) if name == "printed" || name == "whole" => {
            formula_of(scope, &arguments.first()?.value)
        }
        _ => None,
    }
}

/// The arms whose values of one quantity a relation compares.
struct Compared {
    quantity: String,
    /// The names of the arms.
    labels: Vec<String>,
    unit: String,
    signs: Vec<String>,
    /// Whether it is a chain, `a < b < c`: its judgement measures both sides of each link.
    is_chain: bool,
}

impl Compared {
    /// So many values of no arm.
    fn named(quantity: &str, count: usize) -> Self {
        let (quantity, labels) = (quantity.replace(['_', '-'], " "), vec![String::new(); count]);
        Self { quantity, labels, unit: String::new(), signs: Vec::new(), is_chain: false }
    }

    fn of(scope: &Scope<'_>, plain: &Expression) -> Option<Self> {
        match &plain.kind {
            ExpressionKind::Relation(first, rest) => {
                let sides = std::iter::once(&**first).chain(rest.iter().map(|(_, side)| side));
                let nouns: Vec<Noun> = sides.map(|side| scope.noun(side)).collect::<Option<_>>()?;
                let (one, others) = nouns.split_first()?;
                let are_one =
                    |part: fn(&Noun) -> String| others.iter().all(|noun| part(noun) == part(one));
                let label = |noun: &Noun| noun.label().to_owned();
                // One quantity of several arms, or several quantities of one.
                let (quantity, labels) = match (are_one(head), are_one(label)) {
                    (true, false) => (head(one), nouns.iter().map(label).collect()),
                    (false, true) => (label(one), nouns.iter().map(head).collect()),
                    _ => return None,
                };
                let operators = rest.iter().map(|(operator, _)| operator);
                Some(Self {
                    quantity,
                    labels,
                    unit: unit_of(scope, one),
                    signs: operators.map(|one| one.sign().to_owned()).collect(),
                    is_chain: true,
                })
            }
            ExpressionKind::Call(name, arguments)
                if fixed::EQUALITIES.contains(&name.as_str()) || name == "differs" =>
            {
                let [first, ..] = arguments.as_slice() else { return None };
                let ExpressionKind::List(items) = &first.value.kind else { return None };
                let is_same = name != "differs";
                let operator =
                    if is_same { RelationOperator::Equal } else { RelationOperator::NotEqual };
                let signs = vec![operator.sign().to_owned(); items.len().saturating_sub(1)];
                Self::list(scope, items).map(|list| Self { signs, ..list })
            }
            _ => None,
        }
    }

    /// One quantity of several arms.
    fn list(scope: &Scope<'_>, items: &[Expression]) -> Option<Self> {
        let shared = scope.one_quantity(items)?;
        let unit =
            scope.noun(items.first()?).map_or_else(String::new, |noun| unit_of(scope, &noun));
        let SharedQuantity { quantity, labels } = shared;
        Some(Self { quantity, labels, unit, signs: Vec::new(), is_chain: false })
    }

    /// A printed number and what the evidence gives for it, as `nearly_fixed([quoted(1), rate(moe)])` compares them.
    fn printed(scope: &Scope<'_>, body: &Expression) -> Option<Self> {
        let ExpressionKind::Call(name, arguments) = &body.kind else { return None };
        let [first, ..] = arguments.as_slice() else { return None };
        let ExpressionKind::List(items) = &first.value.kind else { return None };
        let [printed, computed] = items.as_slice() else { return None };
        if !fixed::EQUALITIES.contains(&name.as_str()) || !printed.is_call_of(QUOTED) {
            return None;
        }
        let name = formula_of(scope, computed);
        let quantity = name.map_or_else(|| VALUE.to_owned(), |name| name.replace('_', " "));
        let arm = scope.arms_of(&scope.plain(computed)).into_iter().flatten().next();
        let arm = arm.map_or_else(String::new, |arm| format!("{arm}."));
        Some(Self {
            quantity,
            labels: ["printed", "evidence"].map(|side| format!("{arm}{side}")).to_vec(),
            unit: String::new(),
            signs: vec![RelationOperator::Equal.sign().to_owned()],
            is_chain: false,
        })
    }

    /// How many values its judgement measures: of a chain both sides of each link, of a list each item.
    fn measured(&self) -> usize {
        if self.is_chain { 2 * self.signs.len() } else { self.labels.len() }
    }

    fn row(self, scope: &Scope<'_>, values: &[f64]) -> FactRow {
        let values: Vec<f64> = if self.is_chain {
            let first = values.first().copied();
            first.into_iter().chain(values.iter().skip(1).step_by(2).copied()).collect()
        } else {
            values.to_vec()
        };
        let series = self.series();
        let arm = |label: &String| {
            let name = match &series {
                Some(Series::Before(series)) => label.get(series.len() + 1..),
                Some(Series::Behind(series)) => label.get(..label.len() - series.len() - 1),
                None => None,
            };
            let name = name.unwrap_or(label);
            let alias = scope.page.aliases.get(name).and_then(|words| words.first());
            alias.cloned().unwrap_or_else(|| name.to_owned())
        };
        let cells = std::iter::zip(&self.labels, values);
        FactRow {
            quantity: self.quantity,
            cells: cells.map(|(label, value)| FactCell { arm: arm(label), value }).collect(),
            series: series
                .map_or_else(String::new, |(Series::Before(one) | Series::Behind(one))| one),
            unit: self.unit,
            signs: self.signs,
        }
    }

    /// The common form of all arm names.
    fn series(&self) -> Option<Series> {
        let shared = |part: fn(&str) -> Option<&str>| {
            let first = part(self.labels.first()?)?;
            self.labels.iter().all(|label| part(label) == Some(first)).then(|| first.to_owned())
        };
        let before = shared(|label| label.rsplit_once('.').map(|(series, _)| series));
        let behind = || shared(|label| label.split_once('.').map(|(_, lane)| lane));
        before.map(Series::Before).or_else(|| behind().map(Series::Behind))
    }
}

/// The common form of several arm names.
enum Series {
    /// Their beginning: `bf16` of `bf16.dense` and `bf16.moe64`.
    Before(String),
    /// Their end: `dense` of `january.dense` and `march.dense`.
    Behind(String),
}

/// The unit that the evidence states for a quantity.
fn unit_of(scope: &Scope<'_>, noun: &Noun) -> String {
    let field = format!(".{}/", noun.metric);
    let typed = scope.leaves.iter().filter_map(|leaf| {
        let evidence = leaf.evidence.as_ref().filter(|one| one.pointer.contains(&field))?;
        scope.library.bundle(&evidence.bundle)?.fact_at(&evidence.file, &evidence.pointer)
    });
    typed.into_iter().find_map(|fact| fact.unit.clone()).unwrap_or_default()
}
