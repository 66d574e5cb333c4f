//! `explain`.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::super::explain::explained;
use super::super::super::search;
use super::scene::{arguments, odd};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::source::Error;

pub const TOOL: ModelTool = ModelTool {
    name: "explain",
    title: "Explain a code, a function or a rule",
    description: "Use this for anything in another tool's answer that you would have to guess: a code such as `value::differs`, a \
function or rule of the claim language, or one of the topics `post` (how to write post files), `sentence`, `table`, `check` (every \
check that `check` makes), `relations`, `gate`, `slices`, `scope` (what a pass shows). Pass `name`, or words in `search` to find names.",
    scope: "An explanation is not a verdict: nothing was checked.",
    input,
    output,
    answer,
};

/// The most names that a search answers.
const MOST: usize = 50;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainCall {
    name: Option<String>,
    search: Option<String>,
}

fn input() -> Json {
    schema::arguments(json!({
        "name": schema::text("a code, a function, a rule or a topic"),
        "search": schema::text("instead of `name`: words that must all appear; best matches first"),
    }))
}

fn output() -> Json {
    schema::answer(json!({
        "text": {"type": "string", "description": "the explanation of `name`"},
        "found": {"type": "array", "description": "the names that `search` found", "items": {"type": "object", "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["topic", "function", "rule", "code"]},
            "what": {"type": "string"},
        }, "required": ["name", "kind", "what"]}},
        "left_out": {"type": "integer", "description": "how many more matches there are"},
    }))
}

fn answer(_: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    match arguments(call)? {
        ExplainCall { name: Some(name), search: None } => {
            let text = explained(&name).ok_or_else(|| vec![search::unknown(&name)])?;
            Ok(ToolAnswer::new(None, TOOL.scope, text.clone()).with("text", text))
        }
        ExplainCall { name: None, search: Some(words) } => found(&words),
        ExplainCall { name: None, search: None } => {
            Err(odd("either `name` or `search`", "neither"))
        }
        ExplainCall { .. } => Err(odd("either `name` or `search`", "both")),
    }
}

fn found(words: &str) -> Result<ToolAnswer, Vec<Error>> {
    let found = search::found(words).map_err(|error| vec![error])?;
    let mut text = format!("{} found\n", found.len());
    let mut told = Vec::new();
    for one in found.iter().take(MOST) {
        let (kind, name, what) = (one.kind, one.name(), one.what());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} ({kind}): {what}");
        told.push(json!({"name": name, "kind": kind, "what": what}));
    }
    let left_out = found.len().saturating_sub(MOST);
    Ok(ToolAnswer::new(None, TOOL.scope, text).with("found", told).with("left_out", left_out))
}
