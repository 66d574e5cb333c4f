//! JSON Schemas of arguments and answers.

use serde_json::{Map, Value as Json, json};

use super::said::STATUSES;

/// The schemas of reports that the documentation has.
pub const REPORT: &str = include_str!("../../../../docs/reference/formats/schemas/report.json");
pub const CHECK: &str = include_str!("../../../../docs/reference/formats/schemas/check.json");
pub const PARAMS: &str = include_str!("../../../../docs/reference/formats/schemas/params.json");
pub const STATS: &str = include_str!("../../../../docs/reference/formats/schemas/stats.json");

/// Arguments with these names and no others.
pub fn arguments(properties: Json) -> Json {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

pub fn text(what: &str) -> Json {
    json!({"type": "string", "description": what})
}

pub fn truth(what: &str) -> Json {
    json!({"type": "boolean", "default": false, "description": what})
}

/// A list of at least one of these.
pub fn list(items: Json, what: &str) -> Json {
    json!({"type": "array", "items": items, "minItems": 1, "description": what})
}

pub fn paths(what: &str) -> Json {
    list(json!({"type": "string"}), what)
}

/// Documents that a call holds itself.
pub fn documents(what: &str) -> Json {
    let document = json!({
        "type": "object",
        "properties": {
            "name": text("the file name, without a folder; it determines the kind: `README.md`, `config.json`"),
            "text": text("the complete text of the file, unchanged"),
        },
        "required": ["name", "text"],
        "additionalProperties": false,
    });
    list(document, what)
}

/// An answer: its status and scope, and these members.
pub fn answer(members: Json) -> Json {
    let mut properties = json!({
        "status": {"enum": STATUSES, "description": "`undecided` is not a pass; `no verdict`: nothing was judged"},
        "scope": {"type": "string", "description": "what the answer does not show"},
        "errors": {
            "type": "array",
            "description": "why inputs were rejected",
            "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "place": {"type": "object"},
                    "expected": {"type": "string"},
                    "found": {"type": "string"},
                    "help": {"type": "string"},
                },
                "required": ["code", "place", "expected", "found", "help"],
            },
        },
    });
    if let (Some(all), Json::Object(own)) = (properties.as_object_mut(), members) {
        all.extend(own);
    }
    json!({"type": "object", "properties": properties, "required": ["status", "scope"]})
}

/// An answer with a report, whose schema is one of the documentation; its definitions are those of the whole.
pub fn answer_with(report: &str, left_out: &str) -> Json {
    let mut report: Map<String, Json> = serde_json::from_str(report).unwrap_or_default();
    // Of a part of a schema these would be names for an address of its own.
    report.retain(|key, _| !["$schema", "$id"].contains(&key.as_str()));
    let definitions = report.remove("$defs");
    let mut schema = answer(json!({
        "report": report,
        "left_out": {"type": "object", "description": left_out},
    }));
    if let Some(definitions) = definitions {
        schema["$defs"] = definitions;
    }
    schema
}
