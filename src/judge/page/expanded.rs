//! Expressions with the names and formulas of their post expanded: what a reviewer approves is the evidence and the
//! computation, whatever they are called.

use std::collections::BTreeMap;
use std::fmt::Write;

use repro_claim::Expression;
use repro_claim::sentence::first_bytes;
use repro_claim::syntax::{Argument, ExpressionKind};
use repro_receipt::digest::Digest;

use super::{PlacedExpression, PostPage};
use crate::work::Work;

/// The most bytes of an expression in which each use is expanded; a longer one is written with its definitions behind it.
const MOST_INLINE: usize = 1_000;
/// The most bytes of an expression with its definitions; a longer one is cut, and its digest is of the whole.
const MOST_BYTES: usize = 4_000;
/// The deepest nesting of formulas that is expanded in place.
const MOST_DEPTH: usize = 24;
/// So many bytes are written in one step of work.
const BYTES_IN_A_STEP: usize = 100;

/// What the names of a table's row stand for.
pub type RowVariables = BTreeMap<String, PlacedExpression>;

/// Expands the expressions of one post.
#[derive(Debug)]
pub struct Expander<'a> {
    page: &'a PostPage,
    work: &'a Work,
}

/// What is written in place of parameters.
type Parameters = BTreeMap<String, String>;

/// What names stand for where a part of an expression is written.
#[derive(Clone, Copy)]
struct Scope<'s> {
    row: &'s RowVariables,
    given: &'s Parameters,
    /// How many formulas and variables it stands inside of.
    depth: usize,
}

/// The text of an expansion would be too long, or nests too deeply.
struct TooLong;

impl<'a> Expander<'a> {
    /// Of a post whose work is counted in `work`.
    pub fn new(page: &'a PostPage, work: &'a Work) -> Self {
        Self { page, work }
    }

    /// The expression that a claim is held against, which reports write as `said`: relations are joined by ` or ` or ` and `.
    pub fn of_said(&self, said: &str, row: &RowVariables) -> String {
        if said.is_empty() {
            return String::new();
        }
        self.work.takes(1 + said.len() / BYTES_IN_A_STEP);
        if let Ok(tree) = Expression::parse(said) {
            return self.of(&tree, row);
        }
        for joint in [" or ", " and "] {
            let parts: Result<Vec<_>, _> = said.split(joint).map(Expression::parse).collect();
            if let Ok(parts) = parts {
                let expanded: Vec<_> = parts.iter().map(|tree| self.of(tree, row)).collect();
                return bounded(expanded.join(joint));
            }
        }
        bounded(said.to_owned())
    }

    /// One expression: each name and formula in its place, or behind it where that would be long.
    pub fn of(&self, tree: &Expression, row: &RowVariables) -> String {
        let given = Parameters::new();
        let inline = self.inline(tree, Scope { row, given: &given, depth: 0 });
        let text = inline.unwrap_or_else(|TooLong| self.with_definitions(tree, row));
        self.work.takes(1 + text.len() / BYTES_IN_A_STEP);
        bounded(text)
    }

    fn inline(&self, tree: &Expression, scope: Scope<'_>) -> Result<String, TooLong> {
        self.work.takes(1);
        if scope.depth > MOST_DEPTH || self.work.is_spent() {
            return Err(TooLong);
        }
        let part = |inner: &Expression| self.inline(inner, scope);
        let text = match &tree.kind {
            ExpressionKind::Number(text) => text.clone(),
            ExpressionKind::Text(text) => format!("{text:?}"),
            ExpressionKind::Name(name) => self.name(name, scope)?,
            ExpressionKind::Field(of, key) => {
                match dotted(tree).and_then(|name| self.written(&name)) {
                    Some(locator) => locator,
                    None => format!("{}.{key:?}", part(of)?),
                }
            }
            ExpressionKind::At(of, step) => format!("({} @ {})", part(of)?, part(step)?),
            ExpressionKind::List(items) => {
                let items = items.iter().map(part).collect::<Result<Vec<_>, _>>()?;
                format!("[{}]", items.join(", "))
            }
            ExpressionKind::Negative(of) => format!("-{}", part(of)?),
            ExpressionKind::Not(of) => format!("not {}", part(of)?),
            ExpressionKind::Arithmetic(operator, left, right) => {
                format!("({} {} {})", part(left)?, operator.sign(), part(right)?)
            }
            ExpressionKind::Relation(first, rest) => {
                let mut text = part(first)?;
                for (operator, value) in rest {
                    text = format!("{text} {} {}", operator.sign(), part(value)?);
                }
                format!("({text})")
            }
            ExpressionKind::Call(name, arguments) => self.call(name, arguments, scope)?,
        };
        if text.len() > MOST_INLINE { Err(TooLong) } else { Ok(text) }
    }

    fn name(&self, name: &str, scope: Scope<'_>) -> Result<String, TooLong> {
        let (given, depth) = (Parameters::new(), scope.depth + 1);
        if let Some(text) = scope.given.get(name) {
            return Ok(text.clone());
        }
        if let Some(variable) = scope.row.get(name) {
            // Inside a variable the names of the row mean nothing: it cannot stand for itself.
            let row = RowVariables::new();
            return self.inline(&variable.tree, Scope { row: &row, given: &given, depth });
        }
        if let Some(formula) = self.page.formulas.get(name) {
            return self.inline(&formula.body.tree, Scope { given: &given, depth, ..scope });
        }
        Ok(self.written(name).unwrap_or_else(|| name.to_owned()))
    }

    fn call(
        &self,
        name: &str,
        arguments: &[Argument],
        scope: Scope<'_>,
    ) -> Result<String, TooLong> {
        let values = arguments.iter().map(|argument| self.inline(&argument.value, scope));
        let values: Vec<String> = values.collect::<Result<_, _>>()?;
        let given = std::iter::zip(arguments, values);
        let Some(formula) = self.page.formulas.get(name) else {
            let written = given.map(|(argument, value)| match &argument.name {
                Some(name) => format!("{name} = {value}"),
                None => value,
            });
            return Ok(format!("{name}({})", written.collect::<Vec<_>>().join(", ")));
        };
        let named = given.zip(&formula.parameters).map(|((argument, value), parameter)| {
            (argument.name.as_ref().unwrap_or(parameter).clone(), value)
        });
        let parameters: Parameters = named.collect();
        let depth = scope.depth + 1;
        self.inline(&formula.body.tree, Scope { given: &parameters, depth, ..scope })
    }

    /// Where the evidence of a name lies, as the post writes it.
    fn written(&self, name: &str) -> Option<String> {
        let (_, place) = self.page.names.get(name)?;
        let node = self.page.document().root().at(&place.pointer).ok()?;
        Some(format!("`{}`", node.text().ok()?))
    }

    /// The expression as it is written, with what it reaches behind it, each once.
    fn with_definitions(&self, tree: &Expression, row: &RowVariables) -> String {
        let mut text = tree.to_string();
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut open: Vec<&Expression> = vec![tree];
        while let Some(next) = open.pop() {
            let mut names = Vec::new();
            next.each(&mut |part| {
                self.work.takes(1);
                match &part.kind {
                    ExpressionKind::Name(name) | ExpressionKind::Call(name, _) => {
                        names.push(name.clone());
                    }
                    ExpressionKind::Field(..) => names.extend(dotted(part)),
                    _ => {}
                }
            });
            for name in names {
                if known.contains_key(&name) || self.work.is_spent() {
                    continue;
                }
                if let Some(variable) = row.get(&name) {
                    known.insert(name, variable.tree.to_string());
                    open.push(&variable.tree);
                } else if let Some(formula) = self.page.formulas.get(&name) {
                    let given = formula.parameters.join(", ");
                    known.insert(name, format!("({given}) {}", formula.body.tree));
                    open.push(&formula.body.tree);
                } else if let Some(locator) = self.written(&name) {
                    known.insert(name, locator);
                }
            }
        }
        for (name, meaning) in &known {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {name} = {meaning}");
        }
        self.work.takes(1 + text.len() / BYTES_IN_A_STEP);
        text
    }
}

/// The name that fields of a name are: `dense.bf16`.
fn dotted(tree: &Expression) -> Option<String> {
    match &tree.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Field(of, key) => Some(format!("{}.{key}", dotted(of)?)),
        _ => None,
    }
}

/// A text of at most [`MOST_BYTES`]: of a longer one the beginning, and the digest of all of it.
fn bounded(text: String) -> String {
    if text.len() <= MOST_BYTES {
        return text;
    }
    format!("{}… {}", first_bytes(&text, MOST_BYTES), Digest::of(text.as_bytes()).prefixed())
}

#[cfg(test)]
mod tests {
    use repro_receipt::source::{Document, Source};

    use super::*;

    fn page(formulas: &str) -> PostPage {
        let text = format!(
            "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"P\"\n[names]\nmoe = \"moe-s{{1..3}}\"\ndense.active = \"da-s1\"\n[formulas]\n{formulas}"
        );
        let source = Source::new("repro/p.toml", text.into_bytes()).unwrap();
        PostPage::parse(Document::parse_toml(source).unwrap()).unwrap()
    }

    fn expanded(formulas: &str, said: &str) -> String {
        let (page, work) = (page(formulas), Work::of_a_post());
        Expander::new(&page, &work).of_said(said, &RowVariables::new())
    }

    #[test]
    fn names_are_where_evidence_lies_and_formulas_what_they_compute() {
        let formulas = "\"gap(a, b)\" = \"mean(a) - mean(b)\"\nbest = \"min(moe.loss)\"\n";
        let expand = |said| expanded(formulas, said);
        assert_eq!(
            expand("gap(dense.active.loss, moe.loss)"),
            "(mean(`da-s1`.\"loss\") - mean(`moe-s{1..3}`.\"loss\"))"
        );
        assert_eq!(expand("best < 2 * 3"), "(min(`moe-s{1..3}`.\"loss\") < (2 * 3))");
        assert_eq!(expand("best < 2 or best < 3").matches("moe-s").count(), 2);
        // Another formula of the same name is another binding.
        assert_ne!(expand("best"), expanded("best = \"max(moe.loss)\"", "best"));
    }

    #[test]
    fn names_of_a_row_are_expanded() {
        let (page, work) = (page(""), Work::of_a_post());
        let text = "it = \"moe\"";
        let document = Document::parse_toml(Source::new("r.toml", text.into()).unwrap()).unwrap();
        let it = PlacedExpression::read(document.root().required("it").unwrap()).unwrap();
        let row = RowVariables::from([("it".to_owned(), it)]);
        let expander = Expander::new(&page, &work);
        assert_eq!(expander.of_said("mean(it.loss)", &row), "mean(`moe-s{1..3}`.\"loss\")");
    }

    #[test]
    fn formulas_that_use_each_other_twice_stay_short() {
        let mut formulas = String::from("f0 = \"moe.loss\"\n");
        for at in 1..200 {
            formulas += &format!("f{at} = \"f{0} + f{0}\"\n", at - 1);
        }
        let text = expanded(&formulas, "f199");
        assert!(text.len() <= MOST_BYTES + 100, "{}", text.len());
        let other = formulas.replace("moe.loss", "dense.active.loss");
        assert_ne!(text, expanded(&other, "f199"));
        // A formula that uses itself ends.
        assert!(expanded("f = \"f + 1\"", "f").len() < MOST_BYTES);
    }
}
