//! `draft`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::super::draft::{bound_text, id_of};
use super::super::super::threads;
use super::scene::{WIDTH, arguments, odd};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::source::{Error, Source};
use repro_report::outcome::ExitStatus;
use repro_verify::draft::{DraftRequest, DraftedNumber};

pub const TOOL: ModelTool = ModelTool {
    name: "draft",
    title: "Draft a post from a text",
    description: "Use this to start a post file for a text about this project's runs: for each number it searches the bundles in \
`receipts/` for the expression that gives exactly its digits, and returns the post as TOML, each statement marked as unconfirmed, and \
the open numbers with the nearest match. Nothing is written to the project: show the draft to the author, who confirms each \
statement. You can pass the draft to `verify` as `post` with the same `text`.",
    scope: "A drafted statement is a proposal: an expression with the right digits does not show that the sentence means \
it, and only the author can confirm it.",
    input,
    output,
    answer,
};

/// The name of a text that has none.
const UNNAMED: &str = "post.md";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftCall {
    text: Option<String>,
    path: Option<PathBuf>,
    name: Option<String>,
    #[serde(default)]
    evidence: Vec<PathBuf>,
}

fn input() -> Json {
    schema::arguments(json!({
        "text": schema::text("the whole text: Markdown, HTML or TeX"),
        "path": schema::text("instead of `text`: its file"),
        "name": schema::text("with `text`: its file name, whose extension determines the format; default `post.md`"),
        "evidence": schema::paths("bundles or folders of bundles in `receipts/`; default: all"),
    }))
}

fn output() -> Json {
    schema::answer(json!({
        "post": {"type": "string", "description": "the post file; a line `# drafted` marks each unconfirmed statement"},
        "bound": {"type": "integer", "description": "how many numbers in the text are covered"},
        "total": {"type": "integer"},
        "tried": {"type": "integer", "description": "how many expressions were tried"},
        "numbers": {"type": "array", "items": {"type": "object", "properties": {
            "line": {"type": "integer"},
            "printed": {"type": "string"},
            "expression": {"type": ["string", "null"], "description": "the expression that gives its digits; null if open"},
            "others": {"type": "array", "items": {"type": "string"}, "description": "equally likely expressions"},
            "nearest": {"type": ["object", "null"], "description": "if open: the nearest match"},
        }}},
        "open_columns": {"type": "array", "items": {"type": "string"}, "description": "table columns that are not covered"},
    }))
}

fn answer(scene: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let one = |error: Error| vec![error];
    let DraftCall { text, path, name, evidence } = arguments(call)?;
    let project = scene.roots.confine_project()?;
    scene.roots.confine(&evidence)?;
    let (text, name) = match (text, path, name) {
        (Some(text), None, name) => (text, PathBuf::from(name.as_deref().unwrap_or(UNNAMED))),
        (None, Some(path), None) => {
            scene.roots.confine_alone(std::slice::from_ref(&path))?;
            let source = Source::load_plain(&path, path.display().to_string()).map_err(one)?;
            (source.text().to_owned(), path)
        }
        (None, Some(_), Some(_)) => {
            return Err(odd("`name` only with `text`", "`path` and `name`"));
        }
        (Some(_), Some(_), _) => return Err(odd("either `text` or `path`", "both")),
        (None, None, _) => return Err(odd("either `text` or `path`", "neither")),
    };
    let id = id_of(&name);
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.as_deref().unwrap_or(UNNAMED);
    let drafted = repro_verify::draft::draft(&DraftRequest {
        root: project,
        id: &id,
        text_name: name,
        evidence: &evidence,
        before: None,
        threads: threads::cores(),
        text: Source::new(format!("repro/{name}"), text.into_bytes()).map_err(one)?,
    })?;
    let told = format!("{}\n{}", bound_text(&drafted, WIDTH), drafted.post);
    // Whatever is bound, nobody has confirmed it.
    let answer = ToolAnswer::new(Some(ExitStatus::Undecided), TOOL.scope, told);
    let numbers: Vec<_> = drafted.numbers.iter().map(number).collect();
    Ok(answer
        .with("post", drafted.post)
        .with("bound", drafted.bound)
        .with("total", drafted.total)
        .with("tried", drafted.tried)
        .with("numbers", numbers)
        .with("open_columns", drafted.open_columns))
}

fn number(number: &DraftedNumber) -> Json {
    let DraftedNumber { line, printed, expression, others, nearest } = number;
    let nearest = nearest
        .as_ref()
        .map(|(expression, value)| json!({"expression": expression, "value": value}));
    json!({"line": line, "printed": printed, "expression": expression, "others": others, "nearest": nearest})
}
