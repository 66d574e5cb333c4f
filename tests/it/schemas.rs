//! The JSON Schemas of `docs/reference/formats/schemas` against the program: what is in `receipts/` and what the
//! program prints is valid, what the records of Rust declare and what the schemas declare is the same, and an
//! unknown field in a strict place is not valid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use repro_bundle::bundle::record::RecordValue;
use repro_bundle::bundle::{
    Checkpoint, Citation, Contract, Data, DeclaredModel, DeclaredSlice, DeclaredStart,
    DeclaredStates, Environment, Fact, ListedFile, Open, Origin, Receipt, Run, SCHEMA, Seeds,
    Statement, Trainer,
};
use repro_core::digest::Digest;
use repro_core::source::{Document, Kind, Node, Source};
use repro_verify::page::PostPage;
use repro_verify::page_keys;
use serde_json::{Map, Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A schema, of the small part of JSON Schema that ours use: any other keyword is a panic.
pub struct Schema {
    document: Value,
    /// Whether members that an open object does not declare are wrong too: what we write ourselves is declared.
    closed: bool,
}

impl Schema {
    pub fn open(name: &str) -> Self {
        let path = root().join("docs/reference/formats/schemas").join(format!("{name}.json"));
        let document = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        Self { document, closed: false }
    }

    pub fn closed(name: &str) -> Self {
        Self { closed: true, ..Self::open(name) }
    }

    /// The first thing that is wrong with a value, behind its pointer.
    pub fn fault(&self, value: &Value) -> Option<String> {
        self.fault_in(&self.document, value, String::new())
    }

    fn fault_in(&self, schema: &Value, value: &Value, at: String) -> Option<String> {
        let Some(keywords) = schema.as_object() else {
            return (schema == &json!(false)).then(|| format!("{at}: may not be there"));
        };
        let is = |name: &str| match name {
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            other => panic!("the type {other}"),
        };
        for (keyword, wanted) in keywords {
            let holds = match keyword.as_str() {
                "type" => match wanted.as_array() {
                    Some(names) => names.iter().any(|name| is(name.as_str().unwrap())),
                    None => is(wanted.as_str().unwrap()),
                },
                "const" => value == wanted,
                "enum" => wanted.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
                "pattern" => {
                    value.as_str().is_none_or(|text| matches(wanted.as_str().unwrap(), text))
                }
                "required" => {
                    let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                    !value.is_object() || wanted.as_array().unwrap().iter().all(has)
                }
                "anyOf" => {
                    let fits = |one: &Value| self.fault_in(one, value, String::new()).is_none();
                    wanted.as_array().unwrap().iter().any(fits)
                }
                "$ref" => {
                    let pointer = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                    let target = self.document.pointer(pointer).unwrap();
                    if let Some(fault) = self.fault_in(target, value, at.clone()) {
                        return Some(fault);
                    }
                    true
                }
                "items" => {
                    let mut items = value.as_array().into_iter().flatten().enumerate();
                    let fault = items.find_map(|(index, item)| {
                        self.fault_in(wanted, item, format!("{at}/{index}"))
                    });
                    if fault.is_some() {
                        return fault;
                    }
                    true
                }
                "properties"
                | "additionalProperties"
                | "description"
                | "title"
                | "$schema"
                | "$id"
                | "$defs" => true,
                other => panic!("the keyword {other}"),
            };
            if !holds {
                return Some(format!("{at}: not {keyword} {wanted}"));
            }
        }
        self.fault_inside(keywords, value, &at)
    }

    /// The same of the members of an object.
    fn fault_inside(&self, schema: &Map<String, Value>, value: &Value, at: &str) -> Option<String> {
        let declared = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let complete = declared.is_some() && schema.contains_key("type");
        value.as_object()?.iter().find_map(|(key, member)| {
            let at = format!("{at}/{key}");
            match (declared.and_then(|declared| declared.get(key)), others) {
                (Some(own), _) => self.fault_in(own, member, at),
                (None, Some(Value::Bool(true)) | None) if self.closed && complete => {
                    Some(format!("{at}: not declared"))
                }
                (None, Some(others)) => self.fault_in(others, member, at),
                (None, None) => None,
            }
        })
    }
}

/// The patterns that the schemas use.
fn matches(pattern: &str, text: &str) -> bool {
    let hexadecimal = |text: &str| Digest::parse_hex(text).is_some();
    match pattern {
        "^[0-9a-f]{64}$" => hexadecimal(text),
        "^sha256:[0-9a-f]{64}$" => text.strip_prefix("sha256:").is_some_and(hexadecimal),
        "^[a-z0-9._-]+$" => {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            !text.is_empty() && text.chars().all(plain)
        }
        other => panic!("the pattern {other}"),
    }
}

/// The files below `folder`, in this repository, whose path ends so.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, into) } else { into.push(path) }
        }
    }
    let mut all = Vec::new();
    collect(&root().join(folder), &mut all);
    all.retain(|path| path.to_str().unwrap().ends_with(ending));
    assert!(!all.is_empty(), "{folder} {ending}");
    all
}

fn valid(schema: &Schema, files: &[PathBuf]) {
    for file in files {
        let value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(schema.fault(&value), None, "{}", file.display());
    }
}

#[test]
fn real_documents_are_valid() {
    valid(&Schema::open("receipt"), &files("receipts", "data/receipt.json"));
    let evaluations: Vec<_> = files("receipts", ".json")
        .into_iter()
        .filter(|path| path.parent().unwrap().ends_with("data/evaluation"))
        .collect();
    valid(&Schema::closed("evaluation"), &evaluations);
    valid(&Schema::open("facts"), &files("receipts", "data/facts.json"));
    let metrics = Schema::closed("metrics");
    for file in files("receipts", "data/metrics.jsonl") {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in [text.lines().next(), text.lines().last()].into_iter().flatten() {
            let record = serde_json::from_str(line).unwrap();
            assert_eq!(metrics.fault(&record), None, "{}", file.display());
        }
    }
}

/// What the program prints, as JSON.
fn printed(arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let output = command.current_dir(root()).args(arguments).args(["--format", "json"]).output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

#[test]
fn what_the_program_prints_is_valid() {
    let lists: &[&str] = &["stats", "--a", "1.65,1.66,1.7", "--b", "1.57,1.58,1.59"];
    let bundle = "receipts/tiny-moe-moe-active12-s1";
    let config = format!("{bundle}/data/config.json");
    let weights = format!("{bundle}/data/checkpoints/step-000967.safetensors");
    for (schema, arguments) in [
        (Schema::closed("report"), &["verify", "--post", "0004", "--locked"][..]),
        (Schema::closed("report"), &["verify", "--post", "fairness"]),
        (Schema::closed("report"), &["verify", "--post", "absent"]),
        (Schema::closed("report"), &["verify", bundle]),
        (Schema::closed("params"), &["params", &config, &weights, "tests/corpus/params/gpt2.json"]),
        (Schema::open("stats"), lists),
        (Schema::open("stats"), &["stats", "--a", "1,1,1", "--margin", "-1..1"]),
        (Schema::open("stats"), &["stats", "--counts", "3/10,5/12"]),
        (Schema::open("stats"), &["stats", "--summary-a", "1.65,0.01,3", "--target", "1.7"]),
    ] {
        assert_eq!(schema.fault(&printed(arguments)), None, "{arguments:?}");
    }
}

/// A receipt that says everything there is to say; a new field of a record has to be added here.
fn everything() -> Statement {
    let (digest, text) = (Digest::of(b""), || Some("x".to_owned()));
    let (count, float) = (Some(1), Some(0.5));
    let receipt = Receipt {
        schema: SCHEMA.to_owned(),
        run: Some(Run {
            id: "x".to_owned(),
            study: text(),
            arm: text(),
            plan_commit: Some("c0ffee00".repeat(5)),
            finished: Some(true),
        }),
        origin: Origin::Emitted,
        states: Some(DeclaredStates { file: "x".to_owned(), every: 1, root: digest }),
        start: Some(DeclaredStart { log: "x".to_owned(), attempt: digest, chain: digest }),
        files: vec![ListedFile {
            name: "x".to_owned(),
            bytes: 1,
            sha256: Some(digest),
            external: Some(true),
        }],
        trainer: Some(Trainer {
            name: "x".to_owned(),
            version: text(),
            source_revision: text(),
            dirty: Some(false),
            lockfile_sha256: Some(digest),
            arithmetic: text(),
        }),
        model: Some(DeclaredModel {
            family: text(),
            params_total: count,
            params_active: count,
            breakdown: Open::from_iter([("head".to_owned(), json!(1))]),
            tensors: count,
        }),
        contract: Some(Contract {
            matched: text(),
            match_target: text(),
            mismatch: float,
            horizon: text(),
            coefficient: float,
            tokens: count,
            tokens_per_step: count,
            fraction: float,
        }),
        seeds: Some(Seeds { init: text(), data: text() }),
        data: Some(Data {
            name: text(),
            sha256: Some(digest),
            unique_tokens: count,
            unique_bytes: count,
            tokenizer: text(),
            order: text(),
            validation_sha256: Some(digest),
            epochs: float,
        }),
        environment: Some(Environment {
            cpu: text(),
            features: vec!["avx2".to_owned()],
            threads: count,
            device: text(),
            os: text(),
            libraries: BTreeMap::from([("x".to_owned(), "1".to_owned())]),
            memory_bytes: count,
        }),
        checkpoints: vec![Checkpoint {
            step: 1,
            tokens_seen: count,
            evaluation: text(),
            weights: text(),
            weights_sha256: Some(digest),
            tensors_sha256: Some(digest),
        }],
        slices: vec![DeclaredSlice {
            from_step: 0,
            steps: 1,
            checkpoint_step: count,
            file: "x".to_owned(),
            seconds: float,
        }],
        extra: Open::from_iter([("x".to_owned(), json!(null))]),
    };
    Statement { subjects: BTreeMap::from([("data/x".to_owned(), digest)]), receipt }
}

/// The members that a schema declares and those that a value has, by pointer; lists and references are
/// passed through.
fn members(
    schema: &Schema,
    at: &Value,
    value: &Value,
    path: &str,
    found: &mut [BTreeSet<String>; 2],
) {
    if let Some(target) = at.get("$ref") {
        let pointer = target.as_str().unwrap().strip_prefix('#').unwrap();
        return members(schema, schema.document.pointer(pointer).unwrap(), value, path, found);
    }
    if let (Some(items), Some(first)) = (at.get("items"), value.get(0)) {
        return members(schema, items, first, path, found);
    }
    let Some(declared) = at.get("properties").and_then(Value::as_object) else { return };
    found[0].extend(declared.keys().map(|key| format!("{path}/{key}")));
    for (key, member) in value.as_object().unwrap() {
        let path = format!("{path}/{key}");
        found[1].insert(path.clone());
        members(schema, declared.get(key).unwrap_or(&Value::Null), member, &path, found);
    }
}

#[test]
fn records_and_schemas_declare_the_same_fields() {
    let text = everything().write().unwrap();
    let source = Source::new("receipt.json", text.clone().into_bytes()).unwrap();
    assert_eq!(Statement::parse(&Document::parse_json(source).unwrap()).unwrap(), everything());
    let at = Citation { source: "s".into(), place: "p".into(), quote: Some("q".into()) };
    let fact = Fact {
        id: "a".to_owned(),
        value: "1".to_owned(),
        unit: Some("nats".to_owned()),
        at,
        note: Some("n".to_owned()),
    };
    let facts = json!({ "facts": [fact.write().unwrap()] });
    for (name, value) in [("receipt", serde_json::from_str(&text).unwrap()), ("facts", facts)] {
        let schema = Schema::open(name);
        assert_eq!(schema.fault(&value), None, "{name}");
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        members(&schema, &schema.document, &value, "", &mut found);
        let [declared, written] = found;
        assert_eq!(declared, written, "{name}");
    }
}

#[test]
fn unknown_fields_in_strict_places_are_not_valid() {
    let receipt: Value = serde_json::from_str(&everything().write().unwrap()).unwrap();
    let schema = Schema::open("receipt");
    let places = [
        ("", true),
        ("/predicate", false),
        ("/predicate/run", false),
        ("/predicate/files/0", false),
        ("/predicate/contract", false),
        ("/predicate/checkpoints/0", false),
        ("/predicate/slices/0", false),
        ("/predicate/states", false),
        ("/predicate/extra", true),
    ];
    for (pointer, allowed) in places {
        let mut changed = receipt.clone();
        let table = changed.pointer_mut(pointer).and_then(Value::as_object_mut).unwrap();
        table.insert("seed".to_owned(), json!(1));
        assert_eq!(schema.fault(&changed).is_none(), allowed, "{pointer}");
    }
    let mut typed = receipt;
    typed["predicate"]["origin"] = json!("transcribed");
    assert!(schema.fault(&typed).is_some(), "a transcribed receipt has no trainer");
    let fact = json!({"facts": [{"id": "a", "value": "1", "at": {"source": "s", "place": "p"}, "page": 3}]});
    assert!(Schema::open("facts").fault(&fact).is_some());
}

/// A TOML document as JSON; dates and numbers as they are written do not occur in posts.
fn as_json(node: Node<'_>) -> Value {
    match &node.value().kind {
        Kind::Null => Value::Null,
        Kind::Bool(truth) => json!(truth),
        Kind::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Kind::Text(text) => json!(text),
        Kind::Array(_) => node.items().unwrap().map(as_json).collect(),
        Kind::Object(_) => {
            let members = node.members().unwrap();
            Value::Object(members.map(|(key, node)| (key.to_owned(), as_json(node))).collect())
        }
    }
}

fn post(name: &str, text: &str) -> Document {
    Document::parse_toml(Source::new(name, text.as_bytes().to_vec()).unwrap()).unwrap()
}

#[test]
fn posts_are_valid_and_a_misspelt_key_is_not() {
    let schema = Schema::open("post");
    let files = std::fs::read_dir(root().join("repro")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "toml")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let document = post("repro/p.toml", &text);
        count += 1;
        assert_eq!(schema.fault(&as_json(document.root())), None, "{}", file.display());
    }
    assert!(count >= 7, "{count} posts");
}

/// The head of a post, its sentences and its tables, as small as they can be.
const SMALL: &str = r#"
schema = "repro.post/2"
id = "p"
title = "P"
text = "p.md"
[texts.other]
what = "a page"
[names]
run = "a:b"
[[sentence]]
quote = "q 1"
is = "1"
[[table]]
head = "| a |"
[table.rows]
"x" = { it = "run" }
[[excused]]
quote = "q 1"
reason = "r"
[referee]
"#;

#[test]
fn the_schema_of_posts_and_their_reader_refuse_the_same_keys() {
    let schema = Schema::open("post");
    let fault = |text: &str| schema.fault(&as_json(post("repro/p.toml", text).root()));
    let refused = |text: &str| PostPage::parse(post("repro/p.toml", text)).is_err();
    assert_eq!((fault(SMALL), refused(SMALL)), (None, false));
    for (written, instead) in [
        ("title = ", "titel = "),
        ("what = ", "waht = "),
        ("is = \"1\"", "si = \"1\""),
        ("is = \"1\"", "is = \"1\"\nsasy = \"1 < 2\""),
        ("is = \"1\"", "is = \"1\"\nmissing = \"x\""),
        ("is = \"1\"", "is = \"1\"\nasserts = \"a norm\""),
        ("is = \"1\"", ""),
        ("is = \"1\"", "is = 1"),
        ("[table.rows]", "[table.row]"),
        ("\"run\" }", "1 }"),
        ("[[excused]]", "[[excuse]]"),
        ("reason = ", "because = "),
        ("[referee]", "[referee]\npremises = []"),
        ("run = ", "run = 1 #"),
        ("id = \"p\"", "id = \"P\""),
        ("repro.post/2", "repro.post/3"),
    ] {
        let changed = SMALL.replacen(written, instead, 1);
        assert_ne!(changed, SMALL);
        assert!(fault(&changed).is_some(), "the schema takes `{instead}`");
        assert!(refused(&changed), "the reader takes `{instead}`");
    }
}

#[test]
fn the_page_and_the_schema_of_posts_are_those_of_the_program() {
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let same = |path: &str, wanted: &str| {
        let path = root().join(path);
        if update {
            std::fs::write(&path, wanted).unwrap();
        }
        let is_same = std::fs::read_to_string(&path).unwrap() == wanted;
        assert!(is_same, "{}: INSTA_UPDATE=always cargo test --test it schemas", path.display());
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    let printed = command.args(["explain", "post-schema"]).output().unwrap().stdout;
    same("docs/reference/formats/schemas/post.json", &String::from_utf8(printed).unwrap());
    let page = std::fs::read_to_string(root().join("docs/reference/formats/post.md")).unwrap();
    let mut keys = String::new();
    for table in page_keys::tables() {
        let head = match table.head.as_str() {
            "" => "The file:".to_owned(),
            head => format!("`{head}`:"),
        };
        keys += &format!("{head}\n\n{}\n", table.markdown());
    }
    let (before, rest) = page.split_once("<!-- keys -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of keys -->\n").unwrap();
    let wanted = format!("{before}<!-- keys -->\n{keys}<!-- end of keys -->\n{after}");
    same("docs/reference/formats/post.md", &wanted);
    // Its example is a post.
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let example = post("repro/example.toml", example);
    assert_eq!(Schema::open("post").fault(&as_json(example.root())), None);
    assert_eq!(PostPage::parse(example).unwrap().statements.len(), 4);
}
