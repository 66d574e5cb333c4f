//! Post files in the language of claims (`repro.post/2`): texts, names, formulas, sentences, tables.
//!
//! Owns the file's frame and where each part of it stands. What an expression gives is left to
//! `evaluate`, and whether a statement holds to `statement`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use repro_claim::Expression;
use repro_claim::locator::Locator;
use repro_claim::table::{self, PrintedCell, PrintedTable};
use repro_receipt::digest::Digest;
use repro_receipt::source::{Document, Error, Location, Node, codes};
use repro_report::outcome::Referee;

use crate::post::{self, parse_referee};

/// The schema id that a post file opens with.
pub const SCHEMA: &str = "repro.post/2";

codes! {
    BAD_EXPRESSION = "post::bad-expression", "an expression cannot be read", "`repro explain post` shows how expressions are written";
    BAD_LOCATOR = "post::bad-locator", "a name does not say where its evidence lies", "write `BUNDLE`, `BUNDLE:FILE`, `BUNDLE#FACTS`, or a group such as `run-s{1..6}`";
    BAD_FORMULA = "post::bad-formula", "a formula's name is malformed", "write `\"name(a, b)\" = \"expression\"`";
    BAD_TABLE = "post::bad-table", "a table cannot be read", "write its lines as in Markdown: cells between `|`, the head first";
    NO_SUCH_ROW = "post::no-such-row", "a row or column that the post binds is not in the table", "name it as the table does: the text of its first cells, or of its head";
    NOTHING_SAID = "post::nothing-said", "a sentence says nothing", "give it `is`, one expression for each number, or `says`, a relation; or name in `missing` what would show it";
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
    /// The head, by which the text's table is found.
    pub head: Vec<PrintedCell>,
    /// The variables of each row, by its first cells.
    pub rows: Vec<(String, BTreeMap<String, PlacedExpression>)>,
    /// The bindings of each column's cells, by its head.
    pub columns: Vec<(String, Vec<Binding>)>,
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
#[derive(Debug)]
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
            BAD_EXPRESSION.at(at, error.expected, error.found)
        })?;
        Ok(Self { tree, text: span, place: node.place() })
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
    /// Reads `"expression"`, or `"_ the reason why nothing is claimed"`.
    fn read(node: Node) -> Result<Self, Error> {
        let text = node.text()?;
        match text.strip_prefix('_').filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
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
        match node.items() {
            Ok(items) => items.map(Self::read).collect(),
            Err(_) => Ok(vec![Self::read(node)?]),
        }
    }
}

impl Table {
    /// Its lines: those of the post file, else those of the one table of the text with this head; else how
    /// many such tables the text has.
    pub fn lines(&self, text: &str) -> Result<Cow<'_, PrintedTable>, usize> {
        match &self.printed {
            Some(printed) => Ok(Cow::Borrowed(printed)),
            None => PrintedTable::find(text, &self.head).map(Cow::Owned),
        }
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
    /// The relations that it states.
    pub fn relations(&self) -> impl Iterator<Item = &Expression> {
        self.says.iter().chain(&self.may_mean).map(|expression| &expression.tree)
    }
}

impl PostPage {
    /// Whether a post file is written in this language.
    pub fn is_one(document: &Document) -> bool {
        let schema = document.root().get("schema").and_then(|schema| schema.text().ok());
        schema == Some(SCHEMA)
    }

    /// Parses a post file.
    pub fn parse(document: Document) -> Result<Self, Error> {
        let root = document.root();
        root.only(&[
            "schema", "id", "title", "text", "texts", "names", "formulas", "plan", "sentence",
            "table", "excused", "referee",
        ])?;
        let id = post::identifier(root.required("id")?)?.to_owned();
        post::matches_file_name(&document, root.required("id")?)?;
        let mut page = Self {
            id,
            title: root.required("title")?.text()?.to_owned(),
            texts: texts(root)?,
            names: names(root)?,
            formulas: formulas(root)?,
            plan: None,
            statements: Vec::new(),
            excused: Vec::new(),
            referee: root.get("referee").map(parse_referee).transpose()?,
            document: document.clone(),
        };
        if let Some(plan) = root.get("plan") {
            page.plan = Some((plan.text()?.to_owned(), plan.place()));
        }
        page.statements = page.read_statements(root)?;
        for node in list(root, "excused")? {
            node.only(&["text", "quote", "reason"])?;
            page.excused.push(Excuse {
                text: page.text_of(node)?,
                quote: node.required("quote")?.text()?.to_owned(),
                reason: node.required("reason")?.text()?.to_owned(),
            });
        }
        Ok(page)
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        self.document.source.name()
    }

    /// The parsed file.
    pub fn document(&self) -> &Document {
        &self.document
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
        for (node, is_table) in nodes {
            let text = self.text_of(node)?;
            if let Some(place) = node.get("place") {
                place_in_text = (text.clone(), place.text()?.to_owned());
            }
            let kind = match is_table {
                true => StatementKind::Table(read_table(node)?),
                false => StatementKind::Sentence(read_sentence(node)?),
            };
            let id = match node.get("id") {
                Some(id) => post::identifier(id)?.to_owned(),
                None => slug(&kind),
            };
            let count = used.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
            if *count > 1
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
                place: node.get("quote").unwrap_or(node).place(),
                kind,
            });
        }
        Ok(statements)
    }

    /// The text that a statement names, else the main one.
    fn text_of(&self, node: Node) -> Result<String, Error> {
        let Some(named) = node.get("text") else {
            return Ok(self.texts.first().map(|text| text.id.clone()).unwrap_or_default());
        };
        let name = named.text()?;
        if self.texts.iter().any(|text| text.id == name) {
            return Ok(name.to_owned());
        }
        let known: Vec<_> = self.texts.iter().map(|text| format!("`{}`", text.id)).collect();
        let expected = format!("one of {}", known.join(", "));
        Err(post::UNKNOWN_SOURCE.at(named.place(), expected, format!("`{name}`")))
    }
}

fn list<'a>(root: Node<'a>, key: &str) -> Result<Vec<Node<'a>>, Error> {
    root.get(key).map_or(Ok(Vec::new()), |list| Ok(list.items()?.collect()))
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
        node.only(&["what", "date", "file", "url", "sha256"])?;
        for field in ["date", "url"] {
            node.get(field).map(Node::text).transpose()?;
        }
        let sha256 = node.get("sha256").map(|digest| {
            let text = digest.text()?;
            Digest::parse_prefixed(&format!("sha256:{text}")).ok_or_else(|| {
                let expected = "64 hexadecimal digits";
                post::BAD_DIGEST.at(digest.place(), expected, format!("`{text}`"))
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
        add_names(table, "", &mut names)?;
    }
    Ok(names)
}

/// The names of a table, and of the tables in it with a dot between.
fn add_names(
    table: Node,
    before: &str,
    names: &mut BTreeMap<String, (Locator, Location)>,
) -> Result<(), Error> {
    for (key, node) in table.members()? {
        let name = if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
        if node.members().is_ok() {
            add_names(node, &name, names)?;
            continue;
        }
        let text = node.text()?;
        let locator = Locator::parse(text).ok_or_else(|| {
            let expected = "where evidence lies: `BUNDLE:FILE#PATH` or a part of that";
            BAD_LOCATOR.at(node.place(), expected, format!("`{text}`"))
        })?;
        names.insert(name, (locator, node.place()));
    }
    Ok(())
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
    node.only(&[
        "id", "text", "place", "quote", "is", "says", "may_mean", "missing", "asserts", "premise",
        "note",
    ])?;
    let expressions = |key: &str| match node.get(key) {
        None => Ok(Vec::new()),
        Some(list) => match list.items() {
            Ok(items) => items.map(PlacedExpression::read).collect(),
            Err(_) => Ok(vec![PlacedExpression::read(list)?]),
        },
    };
    let mood = match node.get("asserts").map(|word| Ok((word.text()?, word))).transpose()? {
        None | Some(("fact", _)) => Mood::Fact,
        Some(("norm", _)) => Mood::Norm,
        Some(("definition", _)) => Mood::Definition,
        Some((other, word)) => {
            let expected = "`fact`, `norm` or `definition`";
            return Err(crate::evidence::BAD_CHOICE.at(
                word.place(),
                expected,
                format!("`{other}`"),
            ));
        }
    };
    let sentence = Sentence {
        quote: node.required("quote")?.text()?.to_owned(),
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

fn read_table(node: Node) -> Result<Table, Error> {
    node.only(&[
        "id", "text", "place", "printed", "head", "rows", "columns", "heads", "premise", "note",
    ])?;
    let bad = |node: Node, found: &str| {
        BAD_TABLE.at(node.place(), "a head and at least one line of cells between `|`", found)
    };
    let printed = match node.get("printed") {
        None => None,
        Some(text) => {
            Some(PrintedTable::parse(text.text()?).ok_or_else(|| bad(text, "something else"))?)
        }
    };
    let head = match (&printed, node.get("head")) {
        (Some(table), _) => table.head.clone(),
        (None, Some(head)) => {
            table::cells(head.text()?, 0).ok_or_else(|| bad(head, "no line of cells"))?
        }
        (None, None) => {
            let found = "neither";
            return Err(BAD_TABLE.at(node.place(), "`head` or `printed`", found));
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
    let bindings = |key: &str| -> Result<Vec<(String, Vec<Binding>)>, Error> {
        let Some(table) = node.get(key) else { return Ok(Vec::new()) };
        let each = |(label, node): (&str, Node)| Ok((label.to_owned(), Binding::read_all(node)?));
        table.members()?.map(each).collect()
    };
    let table =
        Table { printed, head, rows, columns: bindings("columns")?, heads: bindings("heads")? };
    for (label, _) in table.columns.iter().chain(&table.heads) {
        if table::column(&table.head, label).is_none() {
            let known: Vec<_> = table.head.iter().map(|cell| format!("`{}`", cell.text)).collect();
            let place = node.required("columns")?.place();
            return Err(NO_SUCH_ROW.at(place, known.join(", "), format!("`{label}`")));
        }
    }
    Ok(table)
}

/// A name made of the first words of a statement.
fn slug(kind: &StatementKind) -> String {
    let (text, before) = match kind {
        StatementKind::Sentence(sentence) => (sentence.quote.clone(), ""),
        StatementKind::Table(table) => {
            let heads: Vec<_> = table.head.iter().map(|cell| cell.text.as_str()).collect();
            (heads.join(" "), "table ")
        }
    };
    let text = format!("{before}{text}");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = words.take(6).map(str::to_ascii_lowercase).collect();
    if words.is_empty() { "statement".to_owned() } else { words.join("-") }
}
