//! `params`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::super::super::params::count;
use super::super::staged::InlineDocument;
use super::scene::arguments;
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::source::Error;

pub const TOOL: ModelTool = ModelTool {
    name: "params",
    title: "Count the parameters of a model",
    description: "Use this instead of counting parameters yourself: total and active parameters of a config.json (transformers and \
others), the header of a .safetensors or .gguf file, or a *.safetensors.index.json, by part (embeddings, attention, experts, head) and \
under the conventions used in papers. Mixture-of-experts models, tied embeddings, grouped-query and latent attention are counted as \
in their implementations. Unknown configs are rejected, never guessed.",
    scope: "Counts follow from the given config or header; they do not show that a model of this shape was trained.",
    input,
    output,
    answer,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsCall {
    #[serde(default)]
    paths: Vec<PathBuf>,
    #[serde(default)]
    documents: Vec<InlineDocument>,
}

fn input() -> Json {
    schema::arguments(json!({
        "paths": schema::paths("configs, checkpoints or indexes, relative to the project or absolute"),
        "documents": schema::documents("instead of paths: the configs themselves"),
    }))
}

fn output() -> Json {
    schema::answer_with(schema::PARAMS, "empty, unless the report is too long")
}

fn answer(scene: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let ParamsCall { paths, documents } = arguments(call)?;
    let inputs = scene.inputs(paths, &documents, |roots, paths| {
        // A file is looked into once it is known that it may be.
        roots.confine_alone(paths)?;
        let reads_others =
            |path: &&PathBuf| repro_model::params::reads_others(path, &path.to_string_lossy());
        let with_others: Vec<_> = paths.iter().filter(reads_others).cloned().collect();
        roots.confine(&with_others)
    })?;
    let named = || documents.iter().map(|one| inputs.iter().map(|folder| folder.join(&one.name)));
    let files = if documents.is_empty() { inputs.clone() } else { named().flatten().collect() };
    let (counted, errors) =
        count(files.iter().map(|path| (path.as_path(), path.display().to_string())));
    if !errors.is_empty() {
        return Err(errors);
    }
    let answer = ToolAnswer::new(None, TOOL.scope, counted.text());
    Ok(answer.with_report(serde_json::to_value(&counted).unwrap_or_default(), Map::new()))
}
