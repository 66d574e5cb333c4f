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
    description: "Use this to begin a post file for a text about the runs of this project: for each number it searches the bundles in \
`receipts/` for the expression that gives exactly its digits, and answers the post as TOML, each statement marked as unconfirmed, and \
the numbers that stay open with what comes nearest. Nothing is written to the project: show the author the draft, who confirms each \
statement. The draft can be given to `verify` as `post` with the same `text`.",
    scope: "A drafted statement is a proposal: that an expression gives the digits of a number does not show that the sentence means \
it, and nothing is confirmed until its author says so.",
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
        "name": schema::text("with `text`: how its file is to be called, which says what it is written in; `post.md` where left out"),
        "evidence": schema::paths("bundles or folders of bundles in `receipts/`; all where left out"),
    }))
}

fn output() -> Json {
    schema::answer(json!({
        "post": {"type": "string", "description": "the post file; a line `# drafted` marks each statement that nobody has confirmed"},
        "bound": {"type": "integer", "description": "how many numbers of the text are bound"},
        "total": {"type": "integer"},
        "tried": {"type": "integer", "description": "how many expressions were tried"},
        "numbers": {"type": "array", "items": {"type": "object", "properties": {
            "line": {"type": "integer"},
            "printed": {"type": "string"},
            "expression": {"type": ["string", "null"], "description": "what gives its digits; null where it is open"},
            "others": {"type": "array", "items": {"type": "string"}, "description": "what is as likely"},
            "nearest": {"type": ["object", "null"], "description": "where it is open: what comes nearest"},
        }}},
        "open_columns": {"type": "array", "items": {"type": "string"}, "description": "columns of tables that are bound to nothing"},
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
            return Err(odd("`name` with `text` alone", "`path` and `name`"));
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
