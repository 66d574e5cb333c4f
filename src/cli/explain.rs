//! `repro explain`.

use super::args::ExplainArgs;
use super::common::CommonArgs;
use super::output::Output;
use super::{Answer, list, search};
use repro_core::source::{Code, DataFile};
use repro_report::outcome::ExitStatus;
use repro_report::wrap;
use repro_verify::evaluate::functions;
use repro_verify::rules;
use serde_json::json;

/// Explains a topic, a function, a rule or a code, or lists names that match some words.
pub fn run(common: &CommonArgs, own: &ExplainArgs, output: &Output) -> Answer {
    if let Some(what) = own.list {
        return list::list(common, what, output);
    }
    let text = match &own.name {
        Some(name) => explained(name).ok_or_else(|| search::unknown(name)),
        None => search::listed(&own.search.join(" ")),
    };
    let text = text.map_err(|error| vec![error])?;
    if output.wants_json() {
        output
            .print_json(&json!({"schema": "repro.explanation/1", "name": own.name, "text": text}));
    } else {
        output.print(&text);
    }
    Ok(ExitStatus::Verified)
}

/// The explanation of a name.
pub fn explained(name: &str) -> Option<String> {
    if let Some(text) = list::topic(name) {
        return Some(text);
    }
    if let Some(function) = functions::find(name) {
        return Some(function.explain());
    }
    if let Some(rule) = rules::find(name) {
        let meaning = wrap(rule.meaning, 100, 100).join("\n");
        return Some(format!("{}: {}\n\n{meaning}\n", rule.name, rule.summary));
    }
    let code = list::codes().into_iter().find(|code| code.id == name)?;
    let Code { id, meaning, help } = code;
    if let Some(told) = told(name) {
        return Some(format!("{id}: {meaning}.\n\n{told}"));
    }
    let owner = name.split("::").next().and_then(functions::find);
    let more = owner.map(|function| format!("\n{}", function.explain()));
    Some(format!("{id}: {meaning}.\nHelp: {help}.\n{}", more.unwrap_or_default()))
}

/// Entries for codes: the meaning, an example, how the check can mislead, and how to answer it.
static TOLD: DataFile = DataFile::new("codes.toml", include_str!("codes.toml"));

/// The entry for a code.
fn told(code: &str) -> Option<String> {
    let told = TOLD.root()?.get(code)?;
    let parts = [
        ("", "means"),
        ("Example: ", "example"),
        ("How it can mislead: ", "misleads"),
        ("What to do: ", "answer"),
    ];
    let part = |(lead, key): (&str, &str)| {
        let words = told.get(key)?.text().ok()?;
        Some(wrap(&format!("{lead}{words}"), 100, 100).join("\n"))
    };
    let parts: Vec<String> = parts.into_iter().map(part).collect::<Option<_>>()?;
    Some(parts.join("\n\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::{TOLD, list, told};

    #[test]
    fn what_is_told_is_whole_and_of_codes_that_there_are() {
        let known: Vec<_> = list::codes().into_iter().map(|code| code.id).collect();
        for (code, _) in TOLD.root().unwrap().members().unwrap() {
            assert!(known.contains(&code) && told(code).is_some(), "{code}");
        }
    }
}
