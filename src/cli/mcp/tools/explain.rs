//! `explain`.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::super::list::{codes, explained};
use super::scene::{arguments, odd};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_judge::evaluate::functions;
use repro_judge::rules;
use repro_receipt::source::Error;

pub const TOOL: ModelTool = ModelTool {
    name: "explain",
    title: "Explain a code, a function or a rule",
    description: "Use this for what stands in an answer of another tool and you would have to guess: a code such as `value::differs`, a \
function or rule of the language of claims, or one of the pages `post` (how post files are written), `sentence`, `table`, `check` (every \
relation that `check` knows), `relations`, `gate`, `slices`, `scope` (what a pass shows). Give `name`, or words in `search` to find names.",
    scope: "An explanation is no verdict: nothing was checked.",
    input,
    output,
    answer,
};

/// The most names that a search answers.
const MOST: usize = 50;

/// The pages that have a name of their own.
const PAGES: &[(&str, &str)] = &[
    ("post", "how a post file is written"),
    ("sentence", "the keys of a sentence of a post file"),
    ("table", "the keys of a table of a post file"),
    ("post-schema", "the JSON Schema of post files"),
    ("check", "every kind of document and relation that `check` knows"),
    ("relations", "the relations within bundles"),
    ("gate", "what `repro gate` decides"),
    ("slices", "what slices for replay hold"),
    ("scope", "what a pass shows, and what it does not"),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainCall {
    name: Option<String>,
    search: Option<String>,
}

fn input() -> Json {
    schema::arguments(json!({
        "name": schema::text("a code, a function, a rule or a page"),
        "search": schema::text("instead of `name`: words that all stand in what is looked for"),
    }))
}

fn output() -> Json {
    schema::answer(json!({
        "text": {"type": "string", "description": "the explanation of `name`"},
        "found": {"type": "array", "description": "what `search` found", "items": {"type": "object", "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["page", "function", "rule", "code"]},
            "what": {"type": "string"},
        }, "required": ["name", "kind", "what"]}},
        "left_out": {"type": "integer", "description": "how many more were found"},
    }))
}

/// What can be explained.
struct Explicable {
    kind: &'static str,
    name: &'static str,
    what: &'static str,
}

fn answer(_: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    match arguments(call)? {
        ExplainCall { name: Some(name), search: None } => {
            let text = explained(&name).map_err(|error| vec![error])?;
            Ok(ToolAnswer::new(None, TOOL.scope, text.clone()).with("text", text))
        }
        ExplainCall { name: None, search: Some(words) } => Ok(found(&words)),
        ExplainCall { name: None, search: None } => {
            Err(odd("either `name` or `search`", "neither"))
        }
        ExplainCall { .. } => Err(odd("either `name` or `search`", "both")),
    }
}

fn all() -> impl Iterator<Item = Explicable> {
    let pages = PAGES.iter().map(|(name, what)| Explicable { kind: "page", name, what });
    let functions = functions::all().map(|one| Explicable {
        kind: "function",
        name: one.name,
        what: one.summary,
    });
    let rules = rules::RULES.iter().map(|rule| Explicable {
        kind: "rule",
        name: rule.name,
        what: rule.summary,
    });
    let codes = codes().into_iter().map(|code| Explicable {
        kind: "code",
        name: code.id,
        what: code.meaning,
    });
    pages.chain(functions).chain(rules).chain(codes)
}

fn found(words: &str) -> ToolAnswer {
    let words: Vec<_> = words.split_whitespace().map(str::to_lowercase).collect();
    let fits = |one: &Explicable| {
        let text = format!("{} {}", one.name, one.what).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let found: Vec<_> = all().filter(fits).collect();
    let mut text = format!("{} found\n", found.len());
    let mut told = Vec::new();
    for Explicable { kind, name, what } in found.iter().take(MOST) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} ({kind}): {what}");
        told.push(json!({"name": name, "kind": kind, "what": what}));
    }
    let left_out = found.len().saturating_sub(MOST);
    ToolAnswer::new(None, TOOL.scope, text).with("found", told).with("left_out", left_out)
}
