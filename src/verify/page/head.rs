//! The head of a post file: texts, names, formulas, keys.

use std::collections::{BTreeMap, BTreeSet};

use repro_bundle::bundle::record::{RecordValue, field};
use repro_bundle::signature::PublicKey;
use repro_claim::locator::{Locator, MOST_BUNDLES};
use repro_core::digest::Digest;
use repro_core::similar::did_you_mean;
use repro_core::source::{Error, Location, Node, codes};
use repro_report::outcome::Referee;

use super::placed::{PlacedExpression, each_of, with_hint, word_of};
use super::{PostRole, PostStatement};
use crate::page_keys::{self, PAIRED_BY};
use crate::post;

codes! {
    BAD_LOCATOR = "post::bad-locator", "a name does not locate any evidence", "write `BUNDLE`, `BUNDLE:FILE`, `BUNDLE#FACTS`, or a group such as `run-s{1..6}`";
    BAD_FORMULA = "post::bad-formula", "a formula's name is malformed", "write `\"name(a, b)\" = \"expression\"`";
    BAD_PAIRING = "post::bad-pairing", "unknown value of `paired_by`", "write `paired_by = \"seed\"`, or remove the key";
    UNKNOWN_ALIAS = "post::unknown-alias", "an alias refers to an unknown name", "use the arm's name from `[names]`";
    UNKNOWN_SENTENCE = "post::unknown-sentence", "the central claim refers to an unknown sentence", "give the sentence an `id`, and use it here";
    BAD_ROLE = "post::bad-role", "unknown role", "write `role = \"author\"` for your own text, `role = \"audit\"` for somebody else's";
    MANY_BUNDLES = "post::many-bundles", "the names in a post expand to too many bundles", "correct the ranges in `[names]`, or split the post";
}

/// A published document whose statements are checked.
#[derive(Debug, Clone)]
pub struct TextSource {
    /// The id that sentences use.
    pub id: String,
    /// A description, for people.
    pub what: String,
    /// Its file in the project, seen from the post file, where it lies there.
    pub file: Option<String>,
    /// The file that it is a copy of, seen from the post file.
    pub copy_of: Option<String>,
    /// Its digest, where it is not redistributed.
    pub sha256: Option<Digest>,
    /// Where it is declared.
    pub place: Location,
}

/// A formula of the post.
#[derive(Debug, Clone)]
pub struct PostFormula {
    /// The names of what it is given.
    pub parameters: Vec<String>,
    /// The expression.
    pub body: PlacedExpression,
}

/// `role = "author"` or `"audit"`; an author's where none is written.
pub(super) fn role(root: Node) -> Result<PostRole, Error> {
    let known = [("author", PostRole::Author), ("audit", PostRole::Audit)];
    Ok(word_of(root, "role", &known, &BAD_ROLE)?.unwrap_or_default())
}

pub(super) fn referee(node: Node) -> Result<Referee, Error> {
    page_keys::only("referee", node)?;
    Ok(Referee {
        load_bearing_premises: field(node, "load_bearing_premises")?,
        free_parameters: field(node, "free_parameters")?,
        missing_facts: field(node, "missing_facts")?,
    })
}

/// `[central]`, whose sentences the post has.
pub(super) fn central(node: Node, statements: &[PostStatement]) -> Result<Vec<String>, Error> {
    page_keys::only("central", node)?;
    let sentences = node.required("sentences")?;
    let mut named = Vec::new();
    for id in sentences.items()? {
        let name = id.text()?;
        let known = statements.iter().map(|statement| statement.id.as_str());
        if !known.clone().any(|known| known == name) {
            let error = UNKNOWN_SENTENCE.at(
                id.place(),
                "the id of a sentence or table in the post",
                format!("`{name}`"),
            );
            return Err(with_hint(error, did_you_mean(name, known)));
        }
        named.push(name.to_owned());
    }
    Ok(named)
}

/// The tables that are written `[[key]]`, one behind the other.
pub(super) fn list<'a>(root: Node<'a>, key: &str) -> Result<Vec<Node<'a>>, Error> {
    let Some(list) = root.get(key) else { return Ok(Vec::new()) };
    match list.items() {
        Ok(items) => Ok(items.collect()),
        Err(error) if list.members().is_ok() => {
            Err(error.help(format!("write `[[{key}]]` with two brackets on each side")))
        }
        Err(error) => Err(error),
    }
}

/// `text = "file.md"` is the one text of a post; `[texts.id]` names several.
pub(super) fn texts(root: Node) -> Result<Vec<TextSource>, Error> {
    let mut texts = Vec::new();
    if let Some(node) = root.get("text") {
        let file = node.text()?.to_owned();
        texts.push(TextSource {
            id: "text".to_owned(),
            what: format!("the text of the post, {file}"),
            file: Some(file),
            copy_of: None,
            sha256: None,
            place: node.place(),
        });
    }
    let Some(table) = root.get("texts") else { return Ok(texts) };
    for (id, node) in table.members()? {
        page_keys::only("source", node)?;
        // For people; only what they are is checked.
        for key in ["date", "url"] {
            field::<Option<String>>(node, key)?;
        }
        let sha256 = node.get("sha256").map(|digest| {
            let text = digest.text()?;
            Digest::parse_prefixed(&format!("sha256:{text}")).ok_or_else(|| {
                let expected = "64 hexadecimal digits";
                let error = post::BAD_DIGEST.at(digest.place(), expected, format!("`{text}`"));
                error.help("use the digits that `sha256sum` prints for the text")
            })
        });
        if node.get("copy_of").is_some() {
            node.required("file")?;
        }
        texts.push(TextSource {
            id: id.to_owned(),
            what: field(node, "what")?,
            file: field(node, "file")?,
            copy_of: field(node, "copy_of")?,
            sha256: sha256.transpose()?,
            place: node.place(),
        });
    }
    Ok(texts)
}

/// Where the post says that runs of equal seeds are pairs.
pub(super) fn paired_by_seed(root: Node) -> Result<Option<Location>, Error> {
    word_of(root, "paired_by", &[(PAIRED_BY, ())], &BAD_PAIRING)?;
    Ok(root.get("paired_by").map(Node::place))
}

pub(super) fn names(root: Node) -> Result<BTreeMap<String, (Locator, Location)>, Error> {
    let mut names = BTreeMap::new();
    if let Some(table) = root.get("names") {
        add_names(table, "", &mut names, &mut 0)?;
    }
    Ok(names)
}

/// The words by which the text calls names, or a part that several names have: `[aliases] moe = ["the mixture"]`.
pub(super) fn aliases<'n>(
    root: Node,
    names: impl Iterator<Item = &'n String> + Clone,
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let Some(table) = root.get("aliases") else { return Ok(BTreeMap::new()) };
    let mut aliases = BTreeMap::new();
    let parts =
        || names.clone().flat_map(|label| std::iter::once(label.as_str()).chain(label.split('.')));
    let known: BTreeSet<&str> = parts().collect();
    for (name, words) in table.members()? {
        if !known.contains(name) {
            let error = UNKNOWN_ALIAS.at(
                words.place(),
                "a name in `[names]`, or a part of one",
                format!("`{name}`"),
            );
            return Err(with_hint(error, did_you_mean(name, parts())));
        }
        let words: Result<_, Error> = each_of(words).into_iter().map(String::read).collect();
        aliases.insert(name.to_owned(), words?);
    }
    Ok(aliases)
}

/// Rejects more bundles than a post names.
fn are_few(named: usize, node: Node) -> Result<(), Error> {
    if named <= MOST_BUNDLES {
        return Ok(());
    }
    let expected = format!("at most {MOST_BUNDLES} bundles in all names");
    Err(MANY_BUNDLES.at(node.place(), expected, format!("{named} so far")))
}

/// The names of a table, and of the tables in it with a dot between.
fn add_names(
    table: Node,
    before: &str,
    names: &mut BTreeMap<String, (Locator, Location)>,
    named: &mut usize,
) -> Result<(), Error> {
    for (key, node) in table.members()? {
        let name = if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
        if node.members().is_ok() {
            add_names(node, &name, names, named)?;
            continue;
        }
        let text = node.text()?;
        let expected = "a location of evidence: `BUNDLE:FILE#PATH` or a part of it";
        let locator = locator(node, text, expected)?;
        *named += locator.bundles.len();
        names.insert(name, (locator, node.place()));
        are_few(*named, node)?;
    }
    Ok(())
}

fn locator(node: Node, text: &str, expected: &str) -> Result<Locator, Error> {
    let error = || BAD_LOCATOR.at(node.place(), expected, format!("`{text}`"));
    Locator::parse(text).ok_or_else(error)
}

/// `"run-s{1..6}" = "-----BEGIN PUBLIC KEY-----..."`: who must have signed these bundles.
pub(super) fn keys(root: Node) -> Result<BTreeMap<String, PublicKey>, Error> {
    let mut keys = BTreeMap::new();
    let Some(table) = root.get("keys") else { return Ok(keys) };
    for (names, node) in table.members()? {
        let locator = locator(node, names, "bundle names")?;
        let key = PublicKey::parse(node.text()?, node.place())?;
        keys.extend(locator.bundles.into_iter().map(|name| (name, key.clone())));
        are_few(keys.len(), node)?;
    }
    Ok(keys)
}

/// `"name(a, b)" = "expression"`, or `name = "expression"`.
pub(super) fn formulas(root: Node) -> Result<BTreeMap<String, PostFormula>, Error> {
    let mut formulas = BTreeMap::new();
    let Some(table) = root.get("formulas") else { return Ok(formulas) };
    for (key, node) in table.members()? {
        let Some((name, parameters)) = signature(key) else {
            let expected = "a name, followed by its parameters in parentheses";
            return Err(BAD_FORMULA.at(node.place(), expected, format!("`{key}`")));
        };
        formulas.insert(name, PostFormula { parameters, body: PlacedExpression::read(node)? });
    }
    Ok(formulas)
}

/// The name of a formula, and of what it is given: `name(a, b)`.
fn signature(key: &str) -> Option<(String, Vec<String>)> {
    let word = |text: &str| {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let good = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(plain);
        good.then(|| text.to_owned())
    };
    let (name, inside) = match key.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')?),
        None => (key, ""),
    };
    let parameters = match inside {
        "" => Some(Vec::new()),
        list => list.split(',').map(word).collect(),
    };
    Some((word(name)?, parameters?))
}
