//! The keys of a post file in the language of claims: which there are, what each holds and what it means.
//!
//! These lists are what the reader of post files accepts, what the JSON Schema says to editors, and what
//! `tests/docs/formats/post.md` shows.

use std::fmt::Write;

use repro_receipt::source::{Error, Node};
use repro_report::meaning::Reading;
use serde_json::{Map, Value, json};

/// The schema id that a post file opens with.
pub const SCHEMA: &str = "repro.post/2";

/// By what a post may pair runs.
pub const PAIRED_BY: &str = "seed";

/// What stands behind a key.
#[derive(Debug, Clone, Copy)]
pub enum KeyShape {
    /// These very words.
    Constant(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Lower-case letters, digits, `-`, `_` and `.`.
    Id,
    /// Words.
    Words,
    /// Words, or a list of them.
    OneOrMore,
    /// Public keys by the names of bundles.
    Keys,
    /// The SHA-256 of a file.
    Sha256,
    /// A list of words.
    ListOfWords,
    /// An expression, or a list of them.
    Expressions,
    /// An expression or `_ the reason`, or a list of them.
    Bindings,
    /// Places in evidence by name; tables of them join their names by dots.
    Names,
    /// Lists of words by name.
    Aliases,
    /// Expressions by what they are called.
    Formulas,
    /// An expression for each row, or a table of them by variable.
    Rows,
    /// Bindings by the head of their column.
    Columns,
    /// One table with keys of its own.
    One(&'static KeyTable),
    /// Tables with keys of their own, by name.
    ByName(&'static KeyTable),
    /// A list of tables with keys of their own.
    Many(&'static KeyTable),
}

/// A key of a table of a post file.
#[derive(Debug, Clone, Copy)]
pub struct PostKey {
    /// How it is written.
    pub name: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it holds.
    pub shape: KeyShape,
    /// What that means.
    pub meaning: &'static str,
}

/// A kind of table of a post file.
#[derive(Debug)]
pub struct KeyTable {
    /// Its name in the schema.
    pub name: &'static str,
    /// How its head is written in a post file.
    pub head: &'static str,
    /// Its keys, in the order of lists.
    pub keys: &'static [PostKey],
    /// Groups of keys of which one must be there, each with the keys that it rules out.
    pub one_of: &'static [(&'static str, &'static [&'static str])],
}

const fn optional(name: &'static str, shape: KeyShape, meaning: &'static str) -> PostKey {
    PostKey { name, is_required: false, shape, meaning }
}

const fn required(name: &'static str, shape: KeyShape, meaning: &'static str) -> PostKey {
    PostKey { name, is_required: true, shape, meaning }
}

const ID: PostKey =
    optional("id", KeyShape::Id, "its name in reports, unique; else made of its first words");
const TEXT: PostKey =
    optional("text", KeyShape::Words, "the name of the text that it stands in; else the first");
const PLACE: PostKey = optional(
    "place",
    KeyShape::OneOrMore,
    "where it stands in the text: words, or in JSON a pointer; it holds for what follows, up to the next `place`",
);
const PREMISE: PostKey = optional(
    "premise",
    KeyShape::Words,
    "what a refutation would rest on that the text does not state: it caps refuted at inconclusive",
);
const READING: PostKey = optional(
    "reading",
    KeyShape::Words,
    "why the lints of this statement do not matter: the author's answer to them",
);
const NOTE: PostKey = optional("note", KeyShape::Words, "for readers of the report");

/// The whole file.
pub static ROOT: KeyTable = KeyTable {
    name: "post",
    head: "",
    keys: &[
        required("schema", KeyShape::Constant(SCHEMA), "the language"),
        required("id", KeyShape::Id, "the name of the file without `.toml`"),
        required("title", KeyShape::Words, "for people"),
        optional(
            "role",
            KeyShape::Choice(&["author", "audit"]),
            "whose text it is: the post file's author's own, or somebody else's; else `author`",
        ),
        optional("text", KeyShape::Words, "the file of the one text, beside the post file"),
        optional(
            "texts",
            KeyShape::ByName(&SOURCE),
            "several texts, or one that is not redistributed",
        ),
        optional(
            "names",
            KeyShape::Names,
            "evidence: `BUNDLE`, `BUNDLE:FILE`, `BUNDLE:FILE#FIELD`, `BUNDLE#FACTS`, a group `run-s{1..6}`",
        ),
        optional(
            "aliases",
            KeyShape::Aliases,
            "words by which the text calls a name: `moe = [\"the mixture\"]`",
        ),
        optional("keys", KeyShape::Keys, "who must have signed bundles, by their names"),
        optional(
            "formulas",
            KeyShape::Formulas,
            "`\"name(a, b)\" = \"expression\"`, or `name = \"expression\"`",
        ),
        optional("plan", KeyShape::Words, "the study whose plan was registered before the runs"),
        optional(
            "paired_by",
            KeyShape::Choice(&[PAIRED_BY]),
            "pairs runs of equal seeds after the fact, where no plan says how they are compared: the report names it",
        ),
        optional("sentence", KeyShape::Many(&SENTENCE), "what a sentence says"),
        optional("table", KeyShape::Many(&TABLE), "what the cells of a table are"),
        optional("excused", KeyShape::Many(&EXCUSED), "numbers that carry no claim, on purpose"),
        optional("referee", KeyShape::One(&REFEREE), "what a referee would ask"),
    ],
    one_of: &[],
};

/// A text.
pub static SOURCE: KeyTable = KeyTable {
    name: "source",
    head: "[texts.NAME]",
    keys: &[
        required("what", KeyShape::Words, "what it is, for people"),
        optional("date", KeyShape::Words, "the day of the version that was read"),
        optional("url", KeyShape::Words, "where it is published"),
        optional("file", KeyShape::Words, "its file beside the post file"),
        optional(
            "sha256",
            KeyShape::Sha256,
            "its digest, where it is not redistributed: `--text FILE` gives it",
        ),
    ],
    one_of: &[],
};

/// A sentence.
pub static SENTENCE: KeyTable = KeyTable {
    name: "sentence",
    head: "[[sentence]]",
    keys: &[
        ID,
        TEXT,
        PLACE,
        required(
            "quote",
            KeyShape::Words,
            "its words as they stand; a bar parts numbers that a page runs together",
        ),
        optional("is", KeyShape::Bindings, "what each number of the quote is, in order"),
        optional("says", KeyShape::Expressions, "relations that must hold, each a claim"),
        optional(
            "may_mean",
            KeyShape::Expressions,
            "relations of which the sentence may mean any: one claim",
        ),
        optional(
            "missing",
            KeyShape::Words,
            "what would show it and is published nowhere: it is unchecked",
        ),
        optional(
            "asserts",
            KeyShape::Choice(&["fact", "norm", "definition"]),
            "what it does; only a fact can be refuted",
        ),
        PREMISE,
        READING,
        NOTE,
    ],
    one_of: &[
        ("is", &["missing"]),
        ("says", &["missing"]),
        ("may_mean", &["missing"]),
        ("missing", &["is", "says", "may_mean"]),
    ],
};

/// A table.
pub static TABLE: KeyTable = KeyTable {
    name: "table",
    head: "[[table]]",
    keys: &[
        ID,
        TEXT,
        PLACE,
        optional("head", KeyShape::Words, "its first line as in Markdown, by which it is found"),
        optional("printed", KeyShape::Words, "all its lines, where the text is not at hand"),
        optional(
            "rows",
            KeyShape::Rows,
            "by the text of a row's first cells, or the member of JSON: what `it` is there, or what each variable is",
        ),
        optional("columns", KeyShape::Columns, "by the head of a column: what its cells are"),
        optional(
            "fields",
            KeyShape::Columns,
            "of one object of JSON, instead of rows and columns: `\"name: value\" = \"expression\"`",
        ),
        optional("says", KeyShape::Columns, "by column or field: relations that must hold there"),
        optional(
            "heads",
            KeyShape::Columns,
            "by the head of a column: what the head's numbers are",
        ),
        PREMISE,
        READING,
        NOTE,
    ],
    one_of: &[("rows", &["fields"]), ("fields", &["rows", "columns", "heads", "head", "printed"])],
};

/// Words without a claim.
pub static EXCUSED: KeyTable = KeyTable {
    name: "excused",
    head: "[[excused]]",
    keys: &[
        optional("text", KeyShape::OneOrMore, "the texts that they stand in; else the first"),
        required("quote", KeyShape::OneOrMore, "the words, wherever they stand"),
        required("reason", KeyShape::Words, "why nothing is claimed"),
    ],
    one_of: &[],
};

/// What a referee would ask.
pub static REFEREE: KeyTable = KeyTable {
    name: "referee",
    head: "[referee]",
    keys: &[
        optional("load_bearing_premises", KeyShape::ListOfWords, "what the conclusion rests on"),
        optional("free_parameters", KeyShape::ListOfWords, "what was chosen"),
        optional("missing_facts", KeyShape::ListOfWords, "what is published nowhere"),
    ],
    one_of: &[],
};

/// Every kind of table, the whole file first.
pub static TABLES: &[&KeyTable] = &[&ROOT, &SOURCE, &SENTENCE, &TABLE, &EXCUSED, &REFEREE];

impl KeyTable {
    /// Refuses every other key.
    pub fn only(&self, node: Node) -> Result<(), Error> {
        let names: Vec<_> = self.keys.iter().map(|key| key.name).collect();
        node.only(&names)
    }

    /// The keys as a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut lines = String::from("| key | holds | meaning |\n|---|---|---|\n");
        for key in self.keys {
            let needed = if key.is_required { ", **required**" } else { "" };
            let _ = writeln!(
                lines,
                "| `{}` | {}{needed} | {} |",
                key.name,
                key.shape.word(),
                key.meaning
            );
        }
        lines
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        for key in self.keys {
            let mut schema = Map::from_iter([("description".to_owned(), json!(key.meaning))]);
            if let Value::Object(shape) = key.shape.schema() {
                schema.extend(shape);
            }
            properties.insert(key.name.to_owned(), Value::Object(schema));
        }
        let needed: Vec<_> =
            self.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        let mut schema = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), Value::Object(properties)),
        ]);
        if !needed.is_empty() {
            schema.insert("required".to_owned(), json!(needed));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        if !self.one_of.is_empty() {
            let choice = |(key, without): &(&str, &[&str])| {
                let refused = without.iter().map(|other| ((*other).to_owned(), json!(false)));
                json!({ "required": [key], "properties": Map::from_iter(refused) })
            };
            schema.insert("anyOf".to_owned(), self.one_of.iter().map(choice).collect());
        }
        Value::Object(schema)
    }
}

impl KeyShape {
    /// What it is called in lists.
    fn word(self) -> String {
        match self {
            Self::Constant(words) => format!("`\"{words}\"`"),
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                words.join(", ")
            }
            Self::Id => "id".to_owned(),
            Self::Words => "text".to_owned(),
            Self::OneOrMore => "text, or a list of texts".to_owned(),
            Self::Keys => "table of public keys in PEM".to_owned(),
            Self::Sha256 => "64 hexadecimal digits".to_owned(),
            Self::ListOfWords => "list of texts".to_owned(),
            Self::Expressions => "expression, or a list of them".to_owned(),
            Self::Bindings => {
                "expression, `{ value = \"expression\", as = \"reading\" }` or `\"_ reason\"`, or a list of them"
                    .to_owned()
            }
            Self::Aliases => "table of lists of words".to_owned(),
            Self::Names => "table of places in evidence".to_owned(),
            Self::Formulas => "table of expressions".to_owned(),
            Self::Rows => "table of expressions, or of tables of them".to_owned(),
            Self::Columns => "table of such bindings as `is` has".to_owned(),
            Self::One(of) => format!("`{}`", of.head),
            Self::ByName(of) => format!("`{}`", of.head),
            Self::Many(of) => format!("`{}`", of.head),
        }
    }

    fn schema(self) -> Value {
        let reference = |of: &KeyTable| json!({ "$ref": format!("#/$defs/{}", of.name) });
        match self {
            Self::Constant(words) => json!({ "const": words }),
            Self::Choice(words) => json!({ "enum": words }),
            Self::Id => json!({ "type": "string", "pattern": "^[a-z0-9._-]+$" }),
            Self::Words => json!({ "type": "string" }),
            Self::OneOrMore => json!({ "$ref": "#/$defs/expressions" }),
            Self::Keys => json!({ "$ref": "#/$defs/formulas" }),
            Self::Sha256 => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
            Self::ListOfWords => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Expressions => json!({ "$ref": "#/$defs/expressions" }),
            Self::Bindings => json!({ "$ref": "#/$defs/bindings" }),
            Self::Aliases => json!({
                "type": "object",
                "additionalProperties": { "$ref": "#/$defs/expressions" }
            }),
            Self::Names => json!({ "$ref": "#/$defs/names" }),
            Self::Formulas => json!({ "$ref": "#/$defs/formulas" }),
            Self::Rows => json!({
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/formulas" }]
                }
            }),
            Self::Columns => json!({
                "type": "object",
                "additionalProperties": { "$ref": "#/$defs/bindings" }
            }),
            Self::One(of) => reference(of),
            Self::ByName(of) => json!({ "type": "object", "additionalProperties": reference(of) }),
            Self::Many(of) => json!({ "type": "array", "items": reference(of) }),
        }
    }
}

/// The JSON Schema of post files, for editors: what the reader accepts, apart from what expressions mean.
pub fn schema() -> Value {
    let mut document = Map::from_iter([
        ("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema")),
        ("$id".to_owned(), json!("urn:repro:post")),
        ("title".to_owned(), json!("repro/ID.toml, a post in the language of claims")),
    ]);
    if let Value::Object(root) = ROOT.schema() {
        document.extend(root);
    }
    let text = json!({ "type": "string" });
    let readings: Vec<&str> = Reading::ALL.into_iter().map(Reading::word).collect();
    let mut shared = Map::from_iter([
        ("expressions".to_owned(), json!({ "anyOf": [text, { "type": "array", "items": text }] })),
        (
            "bindings".to_owned(),
            json!({
                "anyOf": [
                    { "$ref": "#/$defs/binding" },
                    { "type": "array", "items": { "$ref": "#/$defs/binding" } }
                ]
            }),
        ),
        (
            "binding".to_owned(),
            json!({
                "anyOf": [
                    text,
                    {
                        "type": "object",
                        "properties": { "value": text, "as": { "enum": readings } },
                        "required": ["value"],
                        "additionalProperties": false
                    }
                ]
            }),
        ),
        ("formulas".to_owned(), json!({ "type": "object", "additionalProperties": text })),
        (
            "names".to_owned(),
            json!({
                "type": "object",
                "additionalProperties": { "anyOf": [text, { "$ref": "#/$defs/names" }] }
            }),
        ),
    ]);
    let inner = TABLES.iter().skip(1);
    shared.extend(inner.map(|table| (table.name.to_owned(), table.schema())));
    document.insert("$defs".to_owned(), Value::Object(shared));
    Value::Object(document)
}
