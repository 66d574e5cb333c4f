//! Post files in the language of claims (`repro.post/2`): texts, names, formulas, sentences, tables.
//!
//! Owns the file's frame and where each part of it stands. What an expression gives is left to
//! `evaluate`, and whether a statement holds to `statement`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use repro_claim::Expression;
use repro_claim::locator::{Locator, MOST_BUNDLES};
use repro_claim::syntax::{Argument, ExpressionKind};
use repro_claim::table::{self, PrintedCell, PrintedTable};
use repro_receipt::digest::Digest;
use repro_receipt::similar::did_you_mean;
use repro_receipt::source::{Document, Error, Location, Node, codes};
use repro_report::outcome::{Definition, ExcusedWords, Referee};
use repro_signature::PublicKey;

use crate::json_text::ReadText;
use crate::page_keys::{EXCUSED, REFEREE, ROOT, SCHEMA, SENTENCE, SOURCE, TABLE};
use crate::post::{self, parse_referee};
use crate::work::MOST_QUOTED;

codes! {
    BAD_EXPRESSION = "post::bad-expression", "an expression cannot be read", "`repro explain post` shows how expressions are written";
    BAD_LOCATOR = "post::bad-locator", "a name does not say where its evidence lies", "write `BUNDLE`, `BUNDLE:FILE`, `BUNDLE#FACTS`, or a group such as `run-s{1..6}`";
    BAD_FORMULA = "post::bad-formula", "a formula's name is malformed", "write `\"name(a, b)\" = \"expression\"`";
    BAD_TABLE = "post::bad-table", "a table cannot be read", "write its lines as in Markdown: cells between `|`, the head first";
    NO_SUCH_ROW = "post::no-such-row", "a row or column that the post binds is not in the table", "name it as the table does: the text of its first cells, or of its head";
    MANY_BUNDLES = "post::many-bundles", "the names of a post stand for more bundles than are loaded", "correct the ranges of `[names]`, or split the post";
    LONG_QUOTE = "post::long-quote", "a quote is longer than what is repeated beside a claim", "quote the sentences one by one";
    NOTHING_SAID = "post::nothing-said", "a sentence says nothing, or says what is missing too", "give it `is`, one expression for each number, or `says`, a relation; or name in `missing` what would show it";
}

/// A published document whose statements are checked.
#[derive(Debug, Clone)]
pub struct TextSource {
    /// The id that sentences use.
    pub id: String,
    /// What it is, for people.
    pub what: String,
    /// Its file beside the post file, where it lies there.
    pub file: Option<String>,
    /// Its digest, where it is not redistributed.
    pub sha256: Option<Digest>,
    /// Where it is declared.
    pub place: Location,
}

/// An expression and where it stands in the post file.
#[derive(Debug, Clone)]
pub struct PlacedExpression {
    /// The tree.
    pub tree: Expression,
    /// Where its text stands in the file, where every byte of it stands there as it is.
    text: Option<Range<usize>>,
    place: Location,
}

/// A formula of the post.
#[derive(Debug, Clone)]
pub struct PostFormula {
    /// The names of what it is given.
    pub parameters: Vec<String>,
    /// What it computes.
    pub body: PlacedExpression,
}

/// What a number of a quote is bound to.
#[derive(Debug, Clone)]
pub enum Binding {
    /// It is what the expression gives.
    Is(PlacedExpression),
    /// Nothing is claimed, for this reason.
    Excused(String),
}

/// What a sentence does: only what asserts a fact can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// It states a fact.
    Fact,
    /// It says what should be.
    Norm,
    /// It says what a word means.
    Definition,
}

/// A sentence of the text and what it says.
#[derive(Debug, Clone)]
pub struct Sentence {
    /// Its words.
    pub quote: String,
    /// One binding for each number of the quote, in order.
    pub is: Vec<Binding>,
    /// Relations that must all hold.
    pub says: Vec<PlacedExpression>,
    /// Relations of which the sentence may mean any.
    pub may_mean: Vec<PlacedExpression>,
    /// What would show it and is published nowhere.
    pub missing: Option<String>,
    /// Whether it states a fact.
    pub mood: Mood,
}

/// One cell that the post binds.
#[derive(Debug, Clone)]
pub struct BoundCell {
    /// The text of its row's first cells, or the head.
    pub row: String,
    /// The text of its column's head.
    pub column: String,
    /// What its line prints, for the place in the text.
    pub line: Vec<PrintedCell>,
    /// What the cell prints.
    pub text: String,
    /// The variables of its row.
    pub variables: BTreeMap<String, PlacedExpression>,
    /// One binding for each number of the cell, in order.
    pub is: Vec<Binding>,
}

/// A table of the text.
#[derive(Debug, Clone)]
pub struct Table {
    /// The lines that are written in the post file; none where they are read from the text.
    pub printed: Option<PrintedTable>,
    /// The pointer of the object or list that it is, where the text is JSON: rows and columns are its members.
    pub pointer: Option<String>,
    /// The head, by which the text's table is found; of a table in JSON, its columns behind an empty cell.
    pub head: Vec<PrintedCell>,
    /// The variables of each row, by its first cells.
    pub rows: Vec<(String, BTreeMap<String, PlacedExpression>)>,
    /// The bindings of each column's cells, by its head.
    pub columns: Vec<(String, Vec<Binding>)>,
    /// Relations that each column's cells state, by its head.
    pub says: Vec<(String, Vec<PlacedExpression>)>,
    /// The bindings of numbers in the head, by the head.
    pub heads: Vec<(String, Vec<Binding>)>,
}

/// What a statement is.
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
    /// The text that it stands in.
    pub text: String,
    /// The place in it, in words.
    pub place_in_text: String,
    /// What a refutation of it would rest on that the text does not state.
    pub premise: Option<String>,
    /// What the author of the post file adds for readers.
    pub note: String,
    /// Where it stands in the post file.
    pub place: Location,
    /// What it is.
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
}

/// A post file.
#[derive(Debug, Clone)]
pub struct PostPage {
    document: Document,
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The texts that it checks, the main one first.
    pub texts: Vec<TextSource>,
    /// Evidence by name; a dot in a name parts it into groups.
    pub names: BTreeMap<String, (Locator, Location)>,
    /// The keys that must have signed bundles, as the author of the post says, by the bundles' names.
    pub keys: BTreeMap<String, PublicKey>,
    /// Formulas by name.
    pub formulas: BTreeMap<String, PostFormula>,
    /// The study whose plan was registered before the runs.
    pub plan: Option<(String, Location)>,
    /// Sentences and tables in the order of the file.
    pub statements: Vec<PostStatement>,
    /// Numbers without a claim, with the reason.
    pub excused: Vec<Excuse>,
    /// What a referee would ask.
    pub referee: Option<Referee>,
}

impl PlacedExpression {
    /// Reads the expression that a string of the post file is.
    pub fn read(node: Node) -> Result<Self, Error> {
        Self::read_part(node, node.text()?)
    }

    fn read_part(node: Node, text: &str) -> Result<Self, Error> {
        let whole = node.value().span.clone();
        let source = &node.document().source;
        // Escapes shift what stands behind them; then the whole string is the place.
        let raw = source.text().get(whole.clone()).unwrap_or_default();
        let inside = raw.find(text).map(|at| whole.start + at);
        let span = inside.map(|start| start..start + text.len());
        let place = || node.place();
        let tree = Expression::parse(text).map_err(|error| {
            let at = span.as_ref().map_or_else(place, |span| {
                let start = span.start + error.at;
                source.place(start..(start + error.found.len().saturating_sub(2)).max(start + 1))
            });
            let help = other_language(text);
            let error = BAD_EXPRESSION.at(at, error.expected, error.found);
            help.map_or(error.clone(), |help| error.help(help))
        })?;
        Ok(Self { tree, text: span, place: node.place() })
    }

    /// Reads one expression or a list of them.
    fn read_all(node: Node) -> Result<Vec<Self>, Error> {
        each_of(node).into_iter().map(Self::read).collect()
    }

    /// The opposite of the relation that it is.
    pub fn negated(&self) -> Self {
        let tree = Expression {
            kind: ExpressionKind::Not(Box::new(self.tree.clone())),
            span: self.tree.span.clone(),
        };
        Self { tree, ..self.clone() }
    }

    /// Where a part of it stands in the post file.
    pub fn place_of(&self, part: &Expression, document: &Document) -> Location {
        let Some(text) = &self.text else { return self.place.clone() };
        let (start, end) = (text.start + part.span.start, text.start + part.span.end);
        document.source.place(start..end).with_pointer(self.place.pointer.as_str())
    }

    /// Where it stands.
    pub fn place(&self) -> &Location {
        &self.place
    }
}

impl Binding {
    /// Why nothing is claimed.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Excused(reason) => Some(reason),
            Self::Is(_) => None,
        }
    }

    /// Reads `"expression"`, or `"_ the reason why nothing is claimed"`.
    fn read(node: Node) -> Result<Self, Error> {
        let text = node.text()?;
        match text
            .trim_start()
            .strip_prefix('_')
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            Some(reason) if !reason.trim().is_empty() => {
                Ok(Self::Excused(reason.trim().to_owned()))
            }
            Some(_) => Err(BAD_EXPRESSION.at(
                node.place(),
                "`_` and the reason why nothing is claimed",
                "`_` alone",
            )),
            None => Ok(Self::Is(PlacedExpression::read(node)?)),
        }
    }

    /// Reads one binding or a list of them.
    fn read_all(node: Node) -> Result<Vec<Self>, Error> {
        each_of(node).into_iter().map(Self::read).collect()
    }
}

impl Table {
    /// Its lines: those of the post file, else those of the text; else what the text has instead.
    pub fn lines(&self, text: Option<&ReadText>) -> Result<Cow<'_, PrintedTable>, String> {
        match (&self.printed, text) {
            (Some(printed), _) => Ok(Cow::Borrowed(printed)),
            (None, Some(text)) => self.found(text).map(Cow::Owned),
            (None, None) => Err("no text".to_owned()),
        }
    }

    /// The columns that it names, with the place where they are named.
    fn labels<'t>(&'t self, node: Node<'t>) -> impl Iterator<Item = (&'t str, Location)> {
        let of = move |key: &str| node.get(key).unwrap_or(node).place();
        let columns = self.columns.iter().map(move |(label, _)| (label.as_str(), of("columns")));
        let says = self.says.iter().map(move |(label, _)| (label.as_str(), of("says")));
        let heads = self.heads.iter().map(move |(label, _)| (label.as_str(), of("heads")));
        columns.chain(says).chain(heads)
    }

    /// Its lines in the text: the members at its pointer, or the one table with its head.
    pub fn found(&self, text: &ReadText) -> Result<PrintedTable, String> {
        let Some(pointer) = &self.pointer else {
            let other = |count: usize| format!("{count} tables with this head");
            return text.searched().lines().table(&self.head).map_err(other);
        };
        let rows: Vec<&str> = self.rows.iter().map(|(label, _)| label.as_str()).collect();
        text.table(pointer, &rows, &self.head)
    }
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

impl Sentence {
    /// Words that state a fact, with nothing bound to them.
    pub fn of_words(words: &str) -> Self {
        Self {
            quote: words.to_owned(),
            is: Vec::new(),
            says: Vec::new(),
            may_mean: Vec::new(),
            missing: None,
            mood: Mood::Fact,
        }
    }

    /// The relations that it states.
    pub fn relations(&self) -> impl Iterator<Item = &Expression> {
        self.says.iter().chain(&self.may_mean).map(|expression| &expression.tree)
    }
}

/// The numbers of the quote that a relation takes as the text states them: `quoted(2)`, counted from one.
pub fn quoted_numbers(relation: &Expression) -> Vec<usize> {
    let mut numbers = Vec::new();
    relation.each(&mut |part| {
        if let ExpressionKind::Call(name, arguments) = &part.kind
            && name == "quoted"
            && let [Argument { value, .. }] = &arguments[..]
            && let ExpressionKind::Number(digits) = &value.kind
        {
            numbers.extend(digits.parse::<usize>());
        }
    });
    numbers
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
        ROOT.only(root)?;
        let id = post::identifier(root.required("id")?)?.to_owned();
        post::matches_file_name(&document, root.required("id")?)?;
        let mut page = Self {
            id,
            title: root.required("title")?.text()?.to_owned(),
            texts: texts(root)?,
            names: names(root)?,
            keys: keys(root)?,
            formulas: formulas(root)?,
            plan: None,
            statements: Vec::new(),
            excused: Vec::new(),
            referee: root.get("referee").map(referee).transpose()?,
            document: document.clone(),
        };
        if let Some(plan) = root.get("plan") {
            page.plan = Some((plan.text()?.to_owned(), plan.place()));
        }
        page.statements = page.read_statements(root)?;
        for node in list(root, "excused")? {
            page.excused.extend(page.read_excuses(node)?);
        }
        Ok(page)
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

    /// What its names and formulas stand for, as they are written.
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

    /// What it leaves without a claim, with the reasons.
    pub fn excuses(&self) -> Vec<ExcusedWords> {
        let words = |words: &str, reason: &str| ExcusedWords {
            words: words.to_owned(),
            reason: reason.to_owned(),
        };
        let mut all = Vec::new();
        for one in &self.statements {
            match &one.kind {
                StatementKind::Sentence(sentence) => {
                    let reasons = sentence.is.iter().filter_map(Binding::reason);
                    all.extend(reasons.map(|reason| words(&sentence.quote, reason)));
                }
                StatementKind::Table(table) => {
                    for (head, bindings) in table.columns.iter().chain(&table.heads) {
                        let reasons = bindings.iter().filter_map(Binding::reason);
                        all.extend(reasons.map(|reason| words(head, reason)));
                    }
                }
            }
        }
        all.extend(self.excused.iter().map(|excuse| words(&excuse.quote, &excuse.reason)));
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
        let mut nodes: Vec<(Node, bool)> =
            list(root, "sentence")?.into_iter().map(|node| (node, false)).collect();
        nodes.extend(list(root, "table")?.into_iter().map(|node| (node, true)));
        nodes.sort_by_key(|(node, _)| node.value().span.start);
        let mut statements: Vec<PostStatement> = Vec::new();
        let mut used = BTreeMap::new();
        let mut place_in_text = (String::new(), String::new());
        for (node, is_table, place) in at_each_place(nodes)? {
            let text = self.text_of(node)?;
            if let Some(place) = place {
                place_in_text = (text.clone(), place.to_owned());
            }
            let kind = match is_table {
                true => StatementKind::Table(read_table(node, place)?),
                false => StatementKind::Sentence(read_sentence(node)?),
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
                let found = format!("`{id}` again");
                return Err(post::REPEATED_ID.at(own.place(), "each id once", found));
            }
            let id = if *count > 1 { format!("{id}-{count}") } else { id };
            let word = |key: &str| node.get(key).map(Node::text).transpose();
            let same_text = place_in_text.0 == text;
            statements.push(PostStatement {
                id,
                place_in_text: if same_text { place_in_text.1.clone() } else { String::new() },
                text,
                premise: word("premise")?.map(str::to_owned),
                note: word("note")?.unwrap_or_default().to_owned(),
                place,
                kind,
            });
        }
        Ok(statements)
    }

    /// Words without a claim: one quote or several, of one text or several.
    fn read_excuses(&self, node: Node) -> Result<Vec<Excuse>, Error> {
        EXCUSED.only(node)?;
        let reason = node.required("reason")?.text()?;
        let texts: Vec<String> = match node.get("text").map(each_of) {
            None => vec![self.main_text()],
            Some(named) => {
                named.into_iter().map(|text| self.text_named(text)).collect::<Result<_, _>>()?
            }
        };
        let mut excuses = Vec::new();
        for quote in each_of(node.required("quote")?) {
            for text in &texts {
                let quote = quote.text()?.to_owned();
                excuses.push(Excuse { text: text.clone(), quote, reason: reason.to_owned() });
            }
        }
        Ok(excuses)
    }

    fn main_text(&self) -> String {
        self.texts.first().map(|text| text.id.clone()).unwrap_or_default()
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
        let expected = match known.is_empty() {
            true => "a text of the post, which names none".to_owned(),
            false => format!("one of {}", known.join(", ")),
        };
        let error = post::UNKNOWN_TEXT.at(named.place(), expected, format!("`{name}`"));
        Err(match did_you_mean(name, ids) {
            Some(hint) => error.help(hint),
            None => error,
        })
    }
}

/// A sentence or a table, whether it is a table, and its place.
type PlacedNode<'a> = (Node<'a>, bool, Option<&'a str>);

/// Each sentence and table with its place; one that stands at several places stands there in turn.
fn at_each_place<'a>(nodes: Vec<(Node<'a>, bool)>) -> Result<Vec<PlacedNode<'a>>, Error> {
    let mut all = Vec::new();
    for (node, is_table) in nodes {
        let Some(place) = node.get("place") else {
            all.push((node, is_table, None));
            continue;
        };
        for place in each_of(place) {
            all.push((node, is_table, Some(place.text()?)));
        }
    }
    Ok(all)
}

/// What helps where an expression has a sign of another language.
fn other_language(text: &str) -> Option<&'static str> {
    let signs = [
        ("**", "a power is written `a ^ b`"),
        ("===", "equality is written `a = b`"),
        ("&&", "several relations stand in a list, `says = [...]`: all must hold"),
        (" and ", "several relations stand in a list, `says = [...]`: all must hold"),
        (" or ", "relations of which any may be meant stand in a list, `may_mean = [...]`"),
    ];
    signs.iter().find(|(sign, _)| text.contains(sign)).map(|(_, help)| *help)
}

/// The entries of a list; of anything else, that alone.
fn each_of(node: Node<'_>) -> Vec<Node<'_>> {
    node.items().map_or_else(|_| vec![node], Iterator::collect)
}

fn referee(node: Node) -> Result<Referee, Error> {
    REFEREE.only(node)?;
    parse_referee(node)
}

/// The tables that are written `[[key]]`, one behind the other.
fn list<'a>(root: Node<'a>, key: &str) -> Result<Vec<Node<'a>>, Error> {
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
fn texts(root: Node) -> Result<Vec<TextSource>, Error> {
    let mut texts = Vec::new();
    if let Some(file) = root.get("text") {
        let file_name = file.text()?.to_owned();
        let what = format!("the text beside the post, {file_name}");
        let (id, place) = ("text".to_owned(), file.place());
        texts.push(TextSource { id, what, file: Some(file_name), sha256: None, place });
    }
    let Some(table) = root.get("texts") else { return Ok(texts) };
    for (id, node) in table.members()? {
        SOURCE.only(node)?;
        for field in ["date", "url"] {
            node.get(field).map(Node::text).transpose()?;
        }
        let sha256 = node.get("sha256").map(|digest| {
            let text = digest.text()?;
            Digest::parse_prefixed(&format!("sha256:{text}")).ok_or_else(|| {
                let expected = "64 hexadecimal digits";
                let error = post::BAD_DIGEST.at(digest.place(), expected, format!("`{text}`"));
                error.help("write the digits that `sha256sum` prints of the text")
            })
        });
        texts.push(TextSource {
            id: id.to_owned(),
            what: node.required("what")?.text()?.to_owned(),
            file: node.get("file").map(Node::text).transpose()?.map(str::to_owned),
            sha256: sha256.transpose()?,
            place: node.place(),
        });
    }
    Ok(texts)
}

fn names(root: Node) -> Result<BTreeMap<String, (Locator, Location)>, Error> {
    let mut names = BTreeMap::new();
    if let Some(table) = root.get("names") {
        add_names(table, "", &mut names, &mut 0)?;
    }
    Ok(names)
}

/// Refuses more bundles than a post names.
fn are_few(named: usize, node: Node) -> Result<(), Error> {
    if named <= MOST_BUNDLES {
        return Ok(());
    }
    let expected = format!("at most {MOST_BUNDLES} bundles in all names");
    Err(MANY_BUNDLES.at(node.place(), expected, format!("{named} up to here")))
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
        let locator = Locator::parse(text).ok_or_else(|| {
            let expected = "where evidence lies: `BUNDLE:FILE#PATH` or a part of that";
            BAD_LOCATOR.at(node.place(), expected, format!("`{text}`"))
        })?;
        *named += locator.bundles.len();
        names.insert(name, (locator, node.place()));
        are_few(*named, node)?;
    }
    Ok(())
}

/// `"run-s{1..6}" = "-----BEGIN PUBLIC KEY-----..."`: who must have signed these bundles.
fn keys(root: Node) -> Result<BTreeMap<String, PublicKey>, Error> {
    let mut keys = BTreeMap::new();
    let Some(table) = root.get("keys") else { return Ok(keys) };
    for (names, node) in table.members()? {
        let locator = Locator::parse(names).ok_or_else(|| {
            BAD_LOCATOR.at(node.place(), "the names of bundles", format!("`{names}`"))
        })?;
        let key = PublicKey::parse(node.text()?, node.place())?;
        keys.extend(locator.bundles.into_iter().map(|name| (name, key.clone())));
        are_few(keys.len(), node)?;
    }
    Ok(keys)
}

/// `"name(a, b)" = "expression"`, or `name = "expression"`.
fn formulas(root: Node) -> Result<BTreeMap<String, PostFormula>, Error> {
    let mut formulas = BTreeMap::new();
    let Some(table) = root.get("formulas") else { return Ok(formulas) };
    for (key, node) in table.members()? {
        let word = |text: &str| {
            let text = text.trim();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let good = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.chars().all(plain);
            good.then(|| text.to_owned())
        };
        let (name, inside) = match key.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')')),
            None => (key, Some("")),
        };
        let parameters = inside
            .filter(|inside| !inside.is_empty())
            .map_or(Some(Vec::new()), |list| list.split(',').map(word).collect::<Option<Vec<_>>>());
        let (Some(name), Some(parameters), Some(_)) = (word(name), parameters, inside) else {
            let expected = "a name, with the names of what it is given in parentheses";
            return Err(BAD_FORMULA.at(node.place(), expected, format!("`{key}`")));
        };
        formulas.insert(name, PostFormula { parameters, body: PlacedExpression::read(node)? });
    }
    Ok(formulas)
}

fn read_sentence(node: Node) -> Result<Sentence, Error> {
    SENTENCE.only(node)?;
    let expressions = |key: &str| node.get(key).map_or(Ok(Vec::new()), PlacedExpression::read_all);
    let mood = match node.get("asserts").map(|word| Ok((word.text()?, word))).transpose()? {
        None | Some(("fact", _)) => Mood::Fact,
        Some(("norm", _)) => Mood::Norm,
        Some(("definition", _)) => Mood::Definition,
        Some((other, word)) => {
            let expected = "`fact`, `norm` or `definition`";
            return Err(post::BAD_MOOD.at(word.place(), expected, format!("`{other}`")));
        }
    };
    let quote = node.required("quote")?;
    if quote.text()?.chars().nth(MOST_QUOTED).is_some() {
        let found = format!("{} characters", quote.text()?.chars().count());
        let expected = format!("a quote of at most {MOST_QUOTED} characters");
        return Err(LONG_QUOTE.at(quote.place(), expected, found));
    }
    let sentence = Sentence {
        quote: quote.text()?.to_owned(),
        is: node.get("is").map(Binding::read_all).transpose()?.unwrap_or_default(),
        says: expressions("says")?,
        may_mean: expressions("may_mean")?,
        missing: node.get("missing").map(Node::text).transpose()?.map(str::to_owned),
        mood,
    };
    let is_said = !sentence.is.is_empty() || sentence.relations().next().is_some();
    if is_said == sentence.missing.is_some() {
        let found = if is_said { "both" } else { "none of them" };
        let place = node.required("quote")?.place();
        return Err(NOTHING_SAID.at(place, "`is`, `says` or `may_mean`, or else `missing`", found));
    }
    Ok(sentence)
}

fn read_table(node: Node, place: Option<&str>) -> Result<Table, Error> {
    TABLE.only(node)?;
    let columns = bindings(node, "columns")?;
    let says = relations(node)?;
    let heads = bindings(node, "heads")?;
    if let Some(fields) = node.get("fields") {
        return read_object(node, fields, place, says);
    }
    let bad = |node: Node, found: &str| {
        BAD_TABLE.at(node.place(), "a head and at least one line of cells between `|`", found)
    };
    let printed = match node.get("printed") {
        None => None,
        Some(text) => {
            Some(PrintedTable::parse(text.text()?).ok_or_else(|| bad(text, "something else"))?)
        }
    };
    let is_pointer = |place: &str| {
        // The root has the empty pointer.
        place.starts_with('/') || place.is_empty() && node.get("printed").is_none()
    };
    let pointer = place.filter(|place| is_pointer(place) && node.get("head").is_none());
    let head = match (&printed, node.get("head")) {
        (Some(table), _) => table.head.clone(),
        (None, Some(head)) => {
            table::cells(head.text()?, 0).ok_or_else(|| bad(head, "no line of cells"))?
        }
        (None, None) if pointer.is_some() => members(
            columns.iter().map(|(label, _)| label).chain(says.iter().map(|(label, _)| label)),
        ),
        (None, None) => {
            let expected = "`head` or `printed`; or a JSON pointer as `place`";
            return Err(BAD_TABLE.at(node.place(), expected, "neither"));
        }
    };
    let mut rows = Vec::new();
    for (label, row) in node.required("rows")?.members()? {
        let mut variables = BTreeMap::new();
        match row.members() {
            Ok(members) => {
                for (name, value) in members {
                    variables.insert(name.to_owned(), PlacedExpression::read(value)?);
                }
            }
            Err(_) => {
                variables.insert("it".to_owned(), PlacedExpression::read(row)?);
            }
        }
        rows.push((label.to_owned(), variables));
    }
    let pointer = pointer.map(str::to_owned);
    let table = Table { printed, pointer, head, rows, columns, says, heads };
    for (label, place) in table.labels(node) {
        if table::column(&table.head, label).is_none() {
            return Err(no_such(label, table.head.iter().map(|cell| cell.text.as_str()), place));
        }
    }
    Ok(table)
}

/// The error of a row or column that a table does not have, with those that it has.
pub fn no_such<'t>(
    label: &str,
    known: impl Iterator<Item = &'t str> + Clone,
    place: Location,
) -> Error {
    let listed: Vec<_> = known.clone().map(|text| format!("`{text}`")).collect();
    let error = NO_SUCH_ROW.at(place, listed.join(", "), format!("`{label}`"));
    match did_you_mean(label, known) {
        Some(hint) => error.help(hint),
        None => error,
    }
}

/// One object of JSON: a table with one line, whose columns are named `field: value` with what is printed.
fn read_object(
    node: Node,
    fields: Node,
    place: Option<&str>,
    says: Vec<(String, Vec<PlacedExpression>)>,
) -> Result<Table, Error> {
    let pointer = place.filter(|place| place.is_empty() || place.starts_with('/'));
    let Some(pointer) = pointer else {
        let expected = "a `place` that is a JSON pointer, such as `/runs/0`";
        return Err(BAD_TABLE.at(fields.place(), expected, "none"));
    };
    for key in ["printed", "head", "rows", "columns", "heads"] {
        if let Some(other) = node.get(key) {
            return Err(BAD_TABLE.at(
                other.place(),
                "`fields` alone, or `rows` and `columns`",
                format!("`{key}`"),
            ));
        }
    }
    let mut columns = bindings(node, "fields")?;
    let mut says = says;
    let mut values: Vec<(String, Option<String>)> = Vec::new();
    let labels =
        columns.iter_mut().map(|(label, _)| label).chain(says.iter_mut().map(|(label, _)| label));
    for label in labels {
        let value = label.split_once(": ").map(|(_, value)| value.to_owned());
        if let Some((field, _)) = label.split_once(": ") {
            *label = field.to_owned();
        }
        match values.iter_mut().find(|(known, _)| known == label) {
            Some((_, known)) => *known = known.take().or(value),
            None => values.push((label.clone(), value)),
        }
    }
    let head = members(values.iter().map(|(label, _)| label));
    let cells: Option<Vec<PrintedCell>> = std::iter::once(Some(String::new()))
        .chain(values.into_iter().map(|(_, value)| value))
        .map(|text| Some(PrintedCell { text: text?, span: 0..0 }))
        .collect();
    let printed = cells.map(|cells| PrintedTable { head: head.clone(), rows: vec![cells] });
    let rows = vec![(String::new(), BTreeMap::new())];
    Ok(Table {
        printed,
        pointer: Some(pointer.to_owned()),
        head,
        rows,
        columns,
        says,
        heads: Vec::new(),
    })
}

/// The head of a table in JSON: the names of its columns behind that of its rows, each once.
fn members<'s>(labels: impl Iterator<Item = &'s String>) -> Vec<PrintedCell> {
    let mut head = vec![PrintedCell { text: String::new(), span: 0..0 }];
    for label in labels {
        if !head.iter().any(|cell| cell.text == *label) {
            head.push(PrintedCell { text: label.clone(), span: 0..0 });
        }
    }
    head
}

/// What the numbers of each column are bound to.
fn bindings(node: Node, key: &str) -> Result<Vec<(String, Vec<Binding>)>, Error> {
    let Some(table) = node.get(key) else { return Ok(Vec::new()) };
    let each = |(label, node): (&str, Node)| Ok((label.to_owned(), Binding::read_all(node)?));
    table.members()?.map(each).collect()
}

/// What the cells of each column state.
fn relations(node: Node) -> Result<Vec<(String, Vec<PlacedExpression>)>, Error> {
    let Some(table) = node.get("says") else { return Ok(Vec::new()) };
    let each =
        |(label, node): (&str, Node)| Ok((label.to_owned(), PlacedExpression::read_all(node)?));
    table.members()?.map(each).collect()
}

/// A name made of the first words of a statement.
fn slug(kind: &StatementKind) -> String {
    let (text, before) = match kind {
        StatementKind::Sentence(sentence) => (sentence.quote.clone(), ""),
        StatementKind::Table(table) => {
            let heads: Vec<_> = table.head.iter().map(|cell| cell.text.as_str()).collect();
            let words = table.pointer.clone().filter(|pointer| !pointer.is_empty());
            match words {
                // The last members of a pointer say more than its first.
                Some(pointer) => {
                    let parts: Vec<_> = pointer.rsplit('/').take(2).collect();
                    (parts.into_iter().rev().collect::<Vec<_>>().join(" "), "")
                }
                None => (heads.join(" "), "table "),
            }
        }
    };
    let text = format!("{before}{text}");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = words.take(6).map(str::to_ascii_lowercase).collect();
    if words.is_empty() { "statement".to_owned() } else { words.join("-") }
}
