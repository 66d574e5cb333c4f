//! Expressions with the names and formulas of their post expanded: what a reviewer approves is the evidence and the
//! computation, whatever they are called.

use std::collections::BTreeMap;

use repro_claim::Expression;
use repro_claim::syntax::{Argument, ExpressionKind};
use repro_core::digest::Digest;

use super::unfolded::{RowVariables, path_of};
use super::{PostFormula, PostPage};
use crate::work::Work;

/// The most bytes of an expression in which each use is expanded; a longer one is written with its definitions behind it.
const MOST_INLINE: usize = 1_000;
/// The most bytes of an expression with its definitions; a longer one is cut, and its digest is of the whole.
const MOST_BYTES: usize = 4_000;
impl PostPage {
    /// Expressions with each name and formula in its place, or behind them where that would be long.
    pub fn expanded<'e>(
        &self,
        trees: impl IntoIterator<Item = &'e Expression>,
        row: &RowVariables,
        joint: &str,
        work: &Work,
    ) -> String {
        let each = trees.into_iter().map(|tree| self.expanded_one(tree, row, work));
        bounded(each.collect::<Vec<_>>().join(joint))
    }

    fn expanded_one(&self, tree: &Expression, row: &RowVariables, work: &Work) -> String {
        let inline = self.located(tree, row, work).map(|tree| written(&tree));
        let inline = inline.filter(|text| text.len() <= MOST_INLINE);
        let text = inline.unwrap_or_else(|| self.with_definitions(tree, row, work));
        work.looks_through(&text);
        bounded(text)
    }

    /// The expression as it is written, with what it reaches behind it, each once.
    fn with_definitions(&self, tree: &Expression, row: &RowVariables, work: &Work) -> String {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut open: Vec<&Expression> = vec![tree];
        while let Some(next) = open.pop() {
            let mut names = Vec::new();
            next.each(&mut |part| {
                work.takes(1);
                match &part.kind {
                    ExpressionKind::Call(name, _) => names.push(name.clone()),
                    _ => names.extend(path_of(part).map(|path| path.join("."))),
                }
            });
            names.retain(|name| !known.contains_key(name) && !work.is_spent());
            for name in names {
                let variable = row.get(&name).map(|own| (own.tree.to_string(), &own.tree));
                let formula = || {
                    let PostFormula { parameters, body } = self.formulas.get(&name)?;
                    Some((format!("({}) {}", parameters.join(", "), body.tree), &body.tree))
                };
                if let Some((meaning, body)) = variable.or_else(formula) {
                    known.insert(name, meaning);
                    open.push(body);
                } else if let Some(place) = self.evidence_of(&name) {
                    known.insert(name, place);
                }
            }
        }
        let known: String =
            known.iter().map(|(name, meaning)| format!("; {name} = {meaning}")).collect();
        format!("{tree}{known}")
    }

    /// Where the evidence of a name lies, as the post writes it.
    pub(super) fn evidence_of(&self, name: &str) -> Option<String> {
        let (_, place) = self.names.get(name)?;
        let node = self.document().root().at(&place.pointer).ok()?;
        Some(format!("`{}`", node.text().ok()?))
    }
}

/// An expression with all its brackets, which the keys of reviews rest on.
fn written(tree: &Expression) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match &tree.kind {
        ExpressionKind::Number(text) | ExpressionKind::Name(text) => text.clone(),
        ExpressionKind::Text(text) => format!("{text:?}"),
        ExpressionKind::Field(of, key) => format!("{}.{key:?}", written(of)),
        ExpressionKind::At(of, step) => format!("({} @ {})", written(of), written(step)),
        ExpressionKind::List(items) => format!("[{}]", list(items.iter().map(written).collect())),
        ExpressionKind::Negative(of) => format!("-{}", written(of)),
        ExpressionKind::Not(of) => format!("not {}", written(of)),
        ExpressionKind::Arithmetic(operator, left, right) => {
            format!("({} {} {})", written(left), operator.sign(), written(right))
        }
        ExpressionKind::Relation(first, rest) => {
            let sides =
                rest.iter().map(|(sign, side)| format!(" {} {}", sign.sign(), written(side)));
            format!("({}{})", written(first), sides.collect::<String>())
        }
        ExpressionKind::Call(name, arguments) => {
            let argument = |one: &Argument| match &one.name {
                Some(name) => format!("{name} = {}", written(&one.value)),
                None => written(&one.value),
            };
            format!("{name}({})", list(arguments.iter().map(argument).collect()))
        }
    }
}

/// A text of at most [`MOST_BYTES`]: of a longer one the beginning, and the digest of all of it.
fn bounded(text: String) -> String {
    if text.len() <= MOST_BYTES {
        return text;
    }
    let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}… {}", &text[..end], Digest::of(text.as_bytes()).prefixed())
}

#[cfg(test)]
mod tests {
    use repro_core::source::{Document, Source};

    use super::super::PlacedExpression;
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
        page.expanded([&Expression::parse(said).unwrap()], &RowVariables::new(), "", &work)
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
        let tree = Expression::parse("mean(it.loss)").unwrap();
        assert_eq!(page.expanded([&tree], &row, "", &work), "mean(`moe-s{1..3}`.\"loss\")");
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
