//! The rules of agreement that verdicts refer to: `rules.toml`. A rule means the same in every post.

use repro_core::source::{DataFile, Node};

static FILE: DataFile = DataFile::new("rules.toml", include_str!("rules.toml"));

/// A rule of agreement.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name in reports.
    pub name: &'static str,
    /// The cases it applies to.
    pub summary: &'static str,
    /// When a claim agrees, and what happens where it does not.
    pub meaning: &'static str,
}

impl Rule {
    fn read(name: &'static str, node: Node<'static>) -> Option<Self> {
        let text = |key: &str| node.get(key)?.text().ok();
        Some(Self { name, summary: text("summary")?, meaning: text("meaning")? })
    }
}

/// Every rule, in the order of lists.
pub fn all() -> impl Iterator<Item = Rule> {
    let rules = FILE.root().and_then(|root| root.members().ok());
    rules.into_iter().flatten().filter_map(|(name, node)| Rule::read(name, node))
}

/// The rule of this name.
pub fn find(name: &str) -> Option<Rule> {
    all().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_read() {
        let rules = FILE.root().unwrap().members().unwrap();
        assert_eq!(all().count(), rules.count());
        assert!(find("rounding_interval").is_some());
    }
}
