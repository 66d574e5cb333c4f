//! Expressions in words: what no noun of the facts says, part by part.

use repro_claim::Expression;
use repro_claim::syntax::{Argument, ArithmeticOperator, ExpressionKind};

use super::nouns::{Noun, Scope, head, short};
use crate::evaluate::functions;

/// A phrase with more bytes names the formulas that it uses instead of opening them.
const MOST_BYTES: usize = 200;
/// So many items of a list are written.
const MOST_LISTED: usize = 4;

impl Scope<'_> {
    /// An expression in words: with its formulas opened, or with their names where that would be long.
    pub fn phrase(&self, tree: &Expression) -> String {
        let tree = self.body(tree);
        let opened = Phrases::of(self, &self.plain(tree));
        if opened.len() <= MOST_BYTES {
            return opened;
        }
        let named = self.page.with_row(tree, self.variables);
        named.map_or(opened, |tree| Phrases::of(self, &tree))
    }

    /// The arms of the nouns of an expression, from left to right; none for a noun without one.
    pub fn arms_of(&self, tree: &Expression) -> Vec<Option<String>> {
        let mut nouns = Vec::new();
        nouns_of(self, tree, &mut nouns);
        nouns.into_iter().map(|noun| noun.arm.map(|arm| arm.label.clone())).collect()
    }

    /// The common quantity of all items in a list; none if they differ.
    pub fn one_quantity(&self, items: &[Expression]) -> Option<SharedQuantity> {
        let without_arms = Phrases { scope: self, shared: Some(String::new()), has_arms: false };
        let (first, rest) = items.split_first()?;
        let quantity = without_arms.part(first);
        let is_same = |item: &Expression| without_arms.part(item) == quantity;
        let arms: Vec<Vec<Option<String>>> = items.iter().map(|item| self.arms_of(item)).collect();
        let of_each = |at: usize| {
            arms.iter().map(|own| own.get(at)?.clone()).collect::<Option<Vec<String>>>()
        };
        // The arm of an item is the first by which it differs from the others.
        let count = arms.iter().map(Vec::len).min()?;
        let differ = |labels: &Vec<String>| labels.iter().any(|label| *label != labels[0]);
        let labels = (0..count).filter_map(of_each).find(differ).or_else(|| of_each(0))?;
        (!rest.is_empty() && rest.iter().all(is_same))
            .then_some(SharedQuantity { quantity, labels })
    }
}

/// One quantity of several arms.
#[derive(Debug)]
pub struct SharedQuantity {
    pub quantity: String,
    /// The arms, in the order of the items.
    pub labels: Vec<String>,
}

impl SharedQuantity {
    /// `tokens / active parameters of dense, moe64 and moe256`.
    pub fn words(&self) -> String {
        let (last, others) = self.labels.split_last().expect("it is of several arms");
        format!("{} of {} and {last}", self.quantity, others.join(", "))
    }
}

/// Writes the parts of one expression.
struct Phrases<'s, 'p> {
    scope: &'s Scope<'p>,
    /// The runs, split and step that all nouns of the expression have, which stand behind it once.
    shared: Option<String>,
    /// Whether nouns name their arms.
    has_arms: bool,
}

impl Phrases<'_, '_> {
    fn of(scope: &Scope<'_>, tree: &Expression) -> String {
        let mut nouns = Vec::new();
        nouns_of(scope, tree, &mut nouns);
        let mut scopes: Vec<_> = nouns.iter().map(|noun| scope.scope_of(noun)).collect();
        scopes.retain(|scope| !scope.is_empty());
        scopes.dedup();
        let shared = if scopes.len() == 1 { scopes.pop() } else { None };
        let behind = shared.clone().unwrap_or_default();
        format!("{}{behind}", Phrases { scope, shared, has_arms: true }.part(tree))
    }

    fn part(&self, tree: &Expression) -> String {
        if let Some(noun) = self.scope.noun(tree) {
            if !self.has_arms {
                return head(&noun);
            }
            if self.shared.is_some() {
                return short(&noun);
            }
            return match self.scope.scope_of(&noun).strip_prefix(", ") {
                Some(own) => format!("{} ({own})", short(&noun)),
                None => short(&noun),
            };
        }
        match &tree.kind {
            ExpressionKind::Not(of) => format!("not {}", self.part(of)),
            ExpressionKind::Negative(of) => {
                format!("-{}", self.inside(of, ArithmeticOperator::Multiply.strength()))
            }
            ExpressionKind::At(of, step) => {
                format!("{} at step {}", self.part(of), self.part(step))
            }
            ExpressionKind::List(items) => self.list(items.iter()),
            ExpressionKind::Arithmetic(operator, left, right) => {
                let sign = match operator {
                    ArithmeticOperator::Subtract => "less",
                    ArithmeticOperator::Multiply => "×",
                    other => other.sign(),
                };
                let own = operator.strength();
                format!("{} {sign} {}", self.inside(left, own), self.inside(right, own + 1))
            }
            ExpressionKind::Relation(first, rest) => {
                let mut text = self.part(first);
                for (operator, side) in rest {
                    text = format!("{text} {} {}", operator.sign(), self.part(side));
                }
                text
            }
            ExpressionKind::Call(name, arguments) => self.call(name, arguments),
            _ => tree.to_string(),
        }
    }

    /// A part of something else: in brackets where it binds less than `least`.
    fn inside(&self, tree: &Expression, least: u8) -> String {
        match &tree.kind {
            ExpressionKind::Arithmetic(operator, ..) if operator.strength() < least => {
                format!("({})", self.part(tree))
            }
            _ => self.part(tree),
        }
    }

    fn list<'e>(&self, items: impl Iterator<Item = &'e Expression>) -> String {
        let mut words: Vec<_> = items.map(|item| self.part(item)).collect();
        let others = words.len().saturating_sub(MOST_LISTED);
        if others > 1 {
            words.truncate(MOST_LISTED);
            words.push(format!("{others} more"));
        }
        match words.pop() {
            Some(last) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
            last => last.unwrap_or_default(),
        }
    }

    /// A function by its phrase; a formula, which the post defines, by its name.
    fn call(&self, name: &str, arguments: &[Argument]) -> String {
        let plain = || arguments.iter().filter(|argument| argument.name.is_none());
        let all = self.list(plain().map(|argument| &argument.value));
        let phrase = functions::find(name).map(|function| function.texts().phrase);
        let mut text = match phrase.filter(|phrase| !phrase.is_empty()) {
            Some(phrase) => phrase.replace("{*}", &all),
            None => format!("`{name}` of {all}"),
        };
        for (at, argument) in (1..).zip(plain()) {
            text = text.replace(&format!("{{{at}}}"), &self.inside(&argument.value, u8::MAX));
        }
        for argument in arguments {
            if let Some(name) = &argument.name {
                let value = self.part(&argument.value);
                text = format!("{text}, {} {value}", name.replace('_', " "));
            }
        }
        text
    }
}

/// The nouns of an expression, from left to right.
fn nouns_of(scope: &Scope<'_>, tree: &Expression, found: &mut Vec<Noun>) {
    match scope.noun(tree) {
        Some(noun) => found.push(noun),
        None => tree.parts().into_iter().for_each(|part| nouns_of(scope, part, found)),
    }
}
