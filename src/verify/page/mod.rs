//! Post files in the language of claims (`repro.post/2`): texts, names, formulas, sentences, tables.
//!
//! Owns the file's frame and where each part of it stands. What an expression gives is left to
//! `evaluate`, and whether a statement holds to `statement`.

pub mod expanded;
pub mod head;
pub mod placed;
pub mod sentences;
pub mod tables;
mod unfolded;

use std::collections::BTreeMap;
use std::path::Path;

use repro_bundle::bundle::record::field;
use repro_bundle::signature::PublicKey;
use repro_claim::Expression;
use repro_claim::locator::Locator;
use repro_claim::quote;
use repro_claim::seen::{self, Markup};
use repro_core::digest::Digest;
use repro_core::similar::did_you_mean;
use repro_core::source::{Document, Error, Location, Node, codes};
use repro_report::outcome::{Definition, ExcusedWords, Referee};

use crate::page_keys::{self, SCHEMA};
use crate::post::{self};
use crate::work::MOST_BYTES;
use head::{aliases, central, formulas, keys, list, names, paired_by_seed, referee, role, texts};
use placed::{each_of, with_hint};
use sentences::read_sentence;
use tables::read_table;

pub use head::{PostFormula, TextSource};
pub use placed::{Binding, PlacedExpression, quoted_numbers, stated_numbers};
pub use sentences::{Mood, Sentence};
pub use tables::{Table, no_such};
pub use unfolded::path_of;

/// Whose text a post file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PostRole {
    /// The author of the text wrote the post file.
    #[default]
    Author,
    /// Somebody else wrote it: its bindings are a transcriber's.
    Audit,
}

codes! {
    NO_NUMBER = "excused::no-number", "an excused quote contains no number", "quote the number that carries no claim, or remove the excuse";
    NOT_THERE = "excused::missing-quote", "the text does not contain the excused words", "copy the quote from the text, or remove the excuse";
}

/// The kind of a statement.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// A sentence.
    Sentence(Sentence),
    /// A table.
    Table(Table),
}

/// A part of the text that is judged.
#[derive(Debug, Clone)]
pub struct PostStatement {
    /// Its name, unique in the post.
    pub id: String,
    /// The text that it is in.
    pub text: String,
    /// The place in it, in words.
    pub place_in_text: String,
    /// The unstated premise that a refutation would rest on.
    pub premise: Option<String>,
    /// A note by the author of the post file, for readers.
    pub note: String,
    /// Why its lints do not matter, as its author answers them.
    pub reading: Option<String>,
    /// Whether a program has drafted it and nobody has taken the mark away.
    pub is_drafted: bool,
    /// Where it is in the post file.
    pub place: Location,
    /// Its kind.
    pub kind: StatementKind,
}

/// Words of a text that deliberately carry no claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excuse {
    /// The text.
    pub text: String,
    /// The words.
    pub quote: String,
    /// Why nothing is claimed.
    pub reason: String,
    /// Where it is in the post file.
    pub place: Location,
}

/// A post file.
#[derive(Debug, Clone)]
pub struct PostPage {
    document: Document,
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whose text it is about.
    pub role: PostRole,
    /// The texts that it checks, the main one first.
    pub texts: Vec<TextSource>,
    /// Evidence by name; a dot in a name parts it into groups.
    pub names: BTreeMap<String, (Locator, Location)>,
    /// Words by which the text calls a name.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// The keys that must have signed bundles, as the author of the post says, by the bundles' names.
    pub keys: BTreeMap<String, PublicKey>,
    /// Formulas by name.
    pub formulas: BTreeMap<String, PostFormula>,
    /// The study whose plan was registered before the runs.
    pub plan: Option<(String, Location)>,
    /// Where it says that runs of equal seeds are pairs, if no plan says how they are compared.
    pub paired_by_seed: Option<Location>,
    /// Sentences and tables in the order of the file.
    pub statements: Vec<PostStatement>,
    /// Numbers without a claim, with the reason.
    pub excused: Vec<Excuse>,
    /// The questions a referee would ask.
    pub referee: Option<Referee>,
    /// The sentences that the post stands on, by their names.
    pub central: Vec<String>,
}

impl PostStatement {
    /// The relations that it states.
    pub fn relations(&self) -> impl Iterator<Item = &Expression> {
        let sentence = match &self.kind {
            StatementKind::Sentence(sentence) => Some(sentence),
            StatementKind::Table(_) => None,
        };
        sentence.into_iter().flat_map(Sentence::relations)
    }
}

impl PostPage {
    /// Reads `repro/<id>.toml` below `root`.
    pub fn load(root: &Path, id: &str) -> Result<Self, Error> {
        Self::parse(post::open(root, id)?)
    }

    /// Parses a post file.
    pub fn parse(document: Document) -> Result<Self, Error> {
        let root = document.root();
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(post::WRONG_SCHEMA.at(schema.place(), format!("`{SCHEMA}`"), found));
        }
        page_keys::only("post", root)?;
        is_short_written_out(root)?;
        let id = post::identifier(root.required("id")?)?.to_owned();
        post::matches_file_name(&document, root.required("id")?)?;
        let known = names(root)?;
        let mut page = Self {
            id,
            title: field(root, "title")?,
            role: role(root)?,
            texts: texts(root)?,
            aliases: aliases(root, known.keys())?,
            names: known,
            keys: keys(root)?,
            formulas: formulas(root)?,
            plan: None,
            paired_by_seed: paired_by_seed(root)?,
            statements: Vec::new(),
            excused: Vec::new(),
            referee: root.get("referee").map(referee).transpose()?,
            central: Vec::new(),
            document: document.clone(),
        };
        if let Some(plan) = root.get("plan") {
            page.plan = Some((plan.text()?.to_owned(), plan.place()));
        }
        page.statements = page.read_statements(root)?;
        let named = root.get("central").map(|node| central(node, &page.statements));
        page.central = named.transpose()?.unwrap_or_default();
        for node in list(root, "excused")? {
            page.excused.extend(page.read_excuses(node)?);
        }
        Ok(page)
    }

    /// The digest of the file, whose lines may end in either way.
    pub fn digest(&self) -> Digest {
        Digest::of(self.document.source.text().replace("\r\n", "\n").as_bytes())
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        self.document.source.name()
    }

    /// The place of the whole post: its title.
    pub fn place(&self) -> Location {
        self.document.root().get("title").map_or_else(Default::default, Node::place)
    }

    /// The parsed file.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The definitions of its names and formulas, as written.
    pub fn definitions(&self) -> Vec<Definition> {
        let root = self.document.root();
        let written = |name: &str, place: &Location| {
            let node = root.at(&place.pointer).ok();
            let meaning = node.and_then(|node| node.text().ok()).unwrap_or_default();
            Definition { name: name.to_owned(), meaning: meaning.to_owned() }
        };
        let names = self.names.iter().map(|(name, (_, place))| written(name, place));
        let formulas = self.formulas.iter().map(|(name, formula)| {
            let given = formula.parameters.join(", ");
            let name = if given.is_empty() { name.clone() } else { format!("{name}({given})") };
            Definition { name, meaning: formula.body.tree.to_string() }
        });
        names.chain(formulas).collect()
    }

    /// How many of its statements are drafts that nobody has confirmed.
    pub fn drafted(&self) -> usize {
        self.document.source.text().lines().filter(|line| is_draft_mark(line)).count()
    }

    /// The words without a claim, with the reasons.
    pub fn excuses(&self) -> Vec<ExcusedWords> {
        let mut all = Vec::new();
        let mut excuse = |words: &str, reason: &str| {
            all.push(ExcusedWords { words: words.to_owned(), reason: reason.to_owned() });
        };
        for one in &self.statements {
            let bound: Vec<(&str, &[Binding])> = match &one.kind {
                StatementKind::Sentence(sentence) => vec![(&sentence.quote, &sentence.is)],
                StatementKind::Table(table) => {
                    let columns = table.columns.iter().chain(&table.heads);
                    columns.map(|(head, list)| (head.as_str(), list.as_slice())).collect()
                }
            };
            for (words, bindings) in bound {
                let reasons = bindings.iter().filter_map(Binding::reason);
                reasons.for_each(|reason| excuse(words, reason));
            }
        }
        self.excused.iter().for_each(|one| excuse(&one.quote, &one.reason));
        all
    }

    /// The names of all bundles that evidence is named in, each once.
    pub fn bundles(&self) -> Vec<(&str, &Location)> {
        let all = self.names.values();
        let mut bundles: Vec<(&str, &Location)> = all
            .flat_map(|(locator, place)| locator.bundles.iter().map(move |name| (&**name, place)))
            .collect();
        bundles.sort_by_key(|(name, _)| *name);
        bundles.dedup_by_key(|(name, _)| *name);
        bundles
    }

    /// Sentences and tables in the order of the file, each with a name of its own.
    fn read_statements(&self, root: Node) -> Result<Vec<PostStatement>, Error> {
        let mut statements: Vec<PostStatement> = Vec::new();
        let mut used = BTreeMap::new();
        let mut place_in_text = (String::new(), String::new());
        for (node, is_table, place) in at_each_place(root)? {
            let text = self.text_of(node)?;
            if let Some(place) = place {
                place_in_text = (text.clone(), place.to_owned());
            }
            let kind = if is_table {
                StatementKind::Table(read_table(node, place)?)
            } else {
                let mut sentence = read_sentence(node)?;
                sentence.quote = self.seen_quote(&text, &sentence.quote);
                StatementKind::Sentence(sentence)
            };
            let id = match node.get("id") {
                Some(id) => post::identifier(id)?.to_owned(),
                None => slug(&kind),
            };
            let count = used.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
            let place = node.get("quote").unwrap_or(node).place();
            let is_next_place = statements.last().is_some_and(|last| last.place == place);
            if *count > 1
                && !is_next_place
                && let Some(own) = node.get("id")
            {
                let found = format!("a second `{id}`");
                return Err(post::REPEATED_ID.at(own.place(), "each id only once", found));
            }
            let id = if *count > 1 { format!("{id}-{count}") } else { id };
            let same_text = place_in_text.0 == text;
            statements.push(PostStatement {
                id,
                place_in_text: if same_text { place_in_text.1.clone() } else { String::new() },
                text,
                premise: field(node, "premise")?,
                reading: field(node, "reading")?,
                note: field::<Option<_>>(node, "note")?.unwrap_or_default(),
                is_drafted: is_drafted(node),
                place,
                kind,
            });
        }
        Ok(statements)
    }

    /// Words without a claim: one quote or several, of one text or several.
    fn read_excuses(&self, node: Node) -> Result<Vec<Excuse>, Error> {
        page_keys::only("excused", node)?;
        let reason = node.required("reason")?.text()?;
        let texts: Vec<String> = match node.get("text").map(each_of) {
            None => vec![self.main_text()],
            Some(named) => {
                named.into_iter().map(|text| self.text_named(text)).collect::<Result<_, _>>()?
            }
        };
        let mut excuses = Vec::new();
        for quote in each_of(node.required("quote")?) {
            if quote::items(quote.text()?).is_empty() {
                let found = format!("\"{}\"", quote.text()?);
                return Err(NO_NUMBER.at(quote.place(), "words with a number", found));
            }
            for text in &texts {
                excuses.push(Excuse {
                    text: text.clone(),
                    quote: self.seen_quote(text, quote.text()?),
                    reason: reason.to_owned(),
                    place: quote.place(),
                });
            }
        }
        Ok(excuses)
    }

    fn main_text(&self) -> String {
        self.texts.first().map(|text| text.id.clone()).unwrap_or_default()
    }

    /// A quote of a text as readers see it there: addresses of links have no numbers.
    fn seen_quote(&self, text: &str, quote: &str) -> String {
        let file = self.texts.iter().find(|one| one.id == text).and_then(|one| one.file.as_deref());
        seen::of_quote(quote, file.map_or(Markup::Plain, Markup::of_name))
    }

    /// The text that a statement names, else the main one.
    fn text_of(&self, node: Node) -> Result<String, Error> {
        node.get("text").map_or_else(|| Ok(self.main_text()), |named| self.text_named(named))
    }

    fn text_named(&self, named: Node) -> Result<String, Error> {
        let name = named.text()?;
        if self.texts.iter().any(|text| text.id == name) {
            return Ok(name.to_owned());
        }
        let ids = self.texts.iter().map(|text| text.id.as_str());
        let known: Vec<_> = ids.clone().map(|id| format!("`{id}`")).collect();
        let expected = if known.is_empty() {
            "a text of the post, which lists none".to_owned()
        } else {
            format!("one of {}", known.join(", "))
        };
        let error = post::UNKNOWN_TEXT.at(named.place(), expected, format!("`{name}`"));
        Err(with_hint(error, did_you_mean(name, ids)))
    }
}

/// The bytes of a statement or an excuse besides its words.
const BYTES_EACH: usize = 50;

/// Rejects a post whose statements and excuses are longer than a post file may be once each is written out for every
/// place, quote and text that it lists: that is what is held in memory.
fn is_short_written_out(root: Node<'_>) -> Result<(), Error> {
    let size = |node: Node<'_>, key: &str| node.get(key).map_or(0, size);
    let count = |node: Node<'_>, key: &str| node.get(key).map_or(1, |list| each_of(list).len());
    let mut bytes = 0usize;
    for node in list(root, "sentence")?.into_iter().chain(list(root, "table")?) {
        let own = self::size(node) - size(node, "place") + BYTES_EACH;
        bytes = bytes.saturating_add(own.saturating_mul(count(node, "place")));
    }
    for node in list(root, "excused")? {
        let each = size(node, "reason") + BYTES_EACH;
        let own = size(node, "quote") + each * count(node, "quote");
        bytes = bytes.saturating_add(own.saturating_mul(count(node, "text")));
    }
    post::at_most(&root.document().source, bytes, MOST_BYTES, "bytes in full")
}

/// How many bytes the words of a value take, with those of its keys.
fn size(node: Node<'_>) -> usize {
    if let Ok(members) = node.members() {
        return members.map(|(key, value)| key.len() + size(value)).sum();
    }
    node.items().map_or_else(|_| node.value().span.len(), |items| items.map(size).sum())
}

/// A sentence or a table, whether it is a table, and its place.
type PlacedNode<'a> = (Node<'a>, bool, Option<&'a str>);

/// Each sentence and table in the order of the file, with its place; one that stands at several places is there in
/// turn.
fn at_each_place(root: Node<'_>) -> Result<Vec<PlacedNode<'_>>, Error> {
    let mut all = Vec::new();
    for (key, is_table) in [("sentence", false), ("table", true)] {
        for node in list(root, key)? {
            match node.get("place") {
                None => all.push((node, is_table, None)),
                Some(places) => {
                    for place in each_of(places) {
                        all.push((node, is_table, Some(place.text()?)));
                    }
                }
            }
        }
    }
    all.sort_by_key(|(node, ..)| node.value().span.start);
    Ok(all)
}

/// The line above a statement that a program has drafted; its author takes it away.
pub const DRAFTED: &str = "# drafted";

/// Whether a line is the mark of a draft. The mark is the whole line, so a comment that begins with the same words is none.
pub fn is_draft_mark(line: &str) -> bool {
    line.trim() == DRAFTED
}

/// Whether the mark of a draft stands between the head of a statement and the head before it.
fn is_drafted(node: Node) -> bool {
    let first = node.members().ok().and_then(|mut members| members.next());
    let end = first.map_or(0, |(_, first)| first.value().span.start);
    let above = node.document().source.text().get(..end).unwrap_or_default().lines().rev();
    let is_head = |line: &&str| line.starts_with("[[");
    let mut above =
        above.skip_while(|line| !is_head(line)).skip(1).take_while(|line| !is_head(line));
    above.any(is_draft_mark)
}

/// The name of a table's head line in ids.
pub const HEAD: &str = "head";

/// The id of a cell: its statement, row and column; parts without a word are left out.
pub fn cell_id(parts: &[&str]) -> String {
    let [first, rest @ ..] = parts else { return String::new() };
    let rest = rest.iter().map(|part| in_id(part, usize::MAX)).filter(|part| !part.is_empty());
    std::iter::once((*first).to_owned()).chain(rest).collect::<Vec<_>>().join(".")
}

/// The first words of a text as a part of an id.
fn in_id(text: &str, most: usize) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.take(most).collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// A name made of the first words of a statement.
fn slug(kind: &StatementKind) -> String {
    let text = match kind {
        StatementKind::Sentence(sentence) => sentence.quote.clone(),
        StatementKind::Table(table) => match table.pointer.as_deref().filter(|at| !at.is_empty()) {
            // The last members of a pointer say more than its first.
            Some(pointer) => {
                let mut parts: Vec<_> = pointer.rsplit('/').take(2).collect();
                parts.reverse();
                parts.join(" ")
            }
            None => {
                let heads: Vec<_> = table.head.iter().map(|cell| cell.text.as_str()).collect();
                format!("table {}", heads.join(" "))
            }
        },
    };
    let id = in_id(&text, 6);
    if id.is_empty() { "statement".to_owned() } else { id }
}
