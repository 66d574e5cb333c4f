//! Settings and summaries of a run in trackers: JSON and YAML of any depth.

use serde_json::{Map, Value as Json};

use crate::import::jsonl::parse_python;
use crate::import::run::LogNumber;
use repro_bundle::bundle::canonical::to_json;
use repro_core::digest::Digest;
use repro_core::source::{Error, Kind, Node, Source};

/// The maximum depth of kept values.
const DEEPEST: usize = 16;
/// The limit above which JSON readers parse integers differently.
const EXACT: u64 = 1 << 53;

/// Settings in canonical JSON; integers that JSON readers parse differently become strings.
pub fn kept(settings: Map<String, Json>) -> Map<String, Json> {
    settings.into_iter().map(|(key, value)| (key, exact(value, DEEPEST))).collect()
}

fn exact(value: Json, depth: usize) -> Json {
    match value {
        Json::Array(_) | Json::Object(_) if depth == 0 => "…".into(),
        Json::Array(items) => items.into_iter().map(|item| exact(item, depth - 1)).collect(),
        Json::Object(members) => {
            members.into_iter().map(|(key, value)| (key, exact(value, depth - 1))).collect()
        }
        Json::Number(number) => {
            let whole = number.as_i64().is_some_and(|whole| whole.unsigned_abs() <= EXACT);
            let float = number.as_f64().is_some_and(|float| float.abs() < EXACT as f64);
            if whole || float { Json::Number(number) } else { number.to_string().into() }
        }
        other => other,
    }
}

/// A printed number as a setting.
pub fn setting(text: &str) -> Json {
    let number = LogNumber::parse(text.as_bytes()).and_then(|_| serde_json::from_str(text).ok());
    exact(number.unwrap_or_else(|| text.into()), DEEPEST)
}

/// The numbers in a JSON text by name, with dots for nested ones; none for images or tables.
pub fn flat_numbers(name: &str, text: &str) -> Vec<(String, LogNumber)> {
    let mut numbers = Vec::new();
    if let Some(number) = LogNumber::parse(text.trim().as_bytes()) {
        numbers.push((name.to_owned(), number));
    } else if text.trim_start().starts_with('{')
        && let Ok(source) = Source::new(name, text.as_bytes().to_vec())
        && let Ok(document) = parse_python(source)
    {
        collect(name, ".", document.root(), &mut numbers);
    }
    numbers
}

/// Collects the numbers below a node, whose names are joined by `joint`.
pub fn collect(name: &str, joint: &str, node: Node<'_>, numbers: &mut Vec<(String, LogNumber)>) {
    match &node.value().kind {
        Kind::Number(text) | Kind::Text(text) => {
            numbers
                .extend(LogNumber::parse(text.as_bytes()).map(|number| (name.to_owned(), number)));
        }
        Kind::Object(members) if !members.iter().any(|member| &*member.key == "_type") => {
            for (key, inside) in node.members().into_iter().flatten() {
                let longer =
                    if name.is_empty() { key.to_owned() } else { format!("{name}{joint}{key}") };
                collect(&longer, joint, inside, numbers);
            }
        }
        _ => {}
    }
}

/// The digest of values that are not rows.
pub fn digest(values: &Map<String, Json>) -> Digest {
    Digest::of(Json::Object(values.clone()).to_string().as_bytes())
}

/// The members of a YAML file; none if it is not a mapping.
pub fn yaml_members(source: Source) -> Result<Map<String, Json>, Error> {
    let document = repro_core::yaml::parse(source)?;
    Ok(match to_json(document.root().value()) {
        Json::Object(members) => members,
        _ => Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn integers_that_readers_disagree_on_are_strings() {
        let settings = json!({"a": u64::MAX, "b": [1, -2.5, {"c": i64::MAX}], "d": 1e300});
        let Json::Object(settings) = settings else { panic!() };
        let wanted = json!({"a": "18446744073709551615", "b": [1, -2.5, {"c": "9223372036854775807"}], "d": "1e+300"});
        assert_eq!(Json::Object(kept(settings)), wanted);
    }

    #[test]
    fn nested_numbers_have_names_with_dots() {
        let text = r#"{"a": {"b": 1.50, "c": "x"}, "d": NaN, "e": [1]}"#;
        let numbers = flat_numbers("v", text);
        let told: Vec<_> =
            numbers.iter().map(|(name, number)| format!("{name}={}", number.text())).collect();
        assert_eq!(told, ["v.a.b=1.50", "v.d=NaN"]);
        assert!(flat_numbers("v", r#"{"_type": "histogram", "x": 1}"#).is_empty());
        assert!(flat_numbers("v", "{").is_empty());
    }

    #[test]
    fn yaml_is_read_with_what_lies_in_it() {
        let read = |text: &str| {
            yaml_members(Source::new("params.yaml", text.into()).unwrap()).map(Json::Object)
        };
        let text = "run_name: 'a b'\nstatus: 3\n# note: x\nopt:\n  lr: 1e-3\n  betas: [0.9, 0.95]\nempty: \n";
        let wanted = json!({"run_name": "a b", "status": 3, "opt": {"lr": 1e-3, "betas": [0.9, 0.95]}, "empty": null});
        assert_eq!(read(text).unwrap(), wanted);
        assert_eq!(read("- a\n").unwrap(), json!({}));
        assert_eq!(read("a: [1\n").unwrap_err().code.id, "source::syntax");
    }
}
