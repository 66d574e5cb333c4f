//! GPT-NeoX arguments, which its lm-evaluation-harness results store as the model arguments.

use repro_core::source::{Node, escape};

use crate::check::kinds::scores;
use crate::check::stated::{Digits, StatedRow};

/// Settings that appear both in the arguments and in the config files they were read from.
const SETTINGS: &[(&str, &str)] = &[
    ("num_layers", "num-layers"),
    ("hidden_size", "hidden-size"),
    ("num_attention_heads", "num-attention-heads"),
    ("seq_length", "seq-length"),
    ("train_iters", "train-iters"),
];

/// Adds values derived from the arguments.
pub fn read(row: &mut StatedRow, root: Node<'_>) {
    let Some(arguments) = root.get("config").and_then(|config| config.get("model_args")) else {
        return;
    };
    if let Some(kinds) = arguments.get("attention_config").and_then(|list| list.items().ok()) {
        let how = "the length of `attention_config`";
        row.compute_number("attention_layers", kinds.len() as f64, how);
    }
    let files = arguments.get("config_files");
    for (file, node, _) in scores::members(files, "") {
        let Ok(text) = node.text() else { continue };
        let settings = SETTINGS.iter().filter_map(|names| setting(arguments, file, text, *names));
        row.add("setting", settings);
    }
}

/// A setting that appears in the arguments and in a config file.
fn setting(
    arguments: Node<'_>,
    file: &str,
    text: &str,
    (name, written): (&str, &str),
) -> Option<StatedRow> {
    let lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let is_key = |key: &str| key.trim_matches(['"', '\'', ' ']).replace('_', "-") == written;
    let mut values = lines.filter(|(key, _)| is_key(key)).map(|(_, value)| value);
    let value = values.next()?.split('#').next()?;
    let value: f64 = value.trim().trim_end_matches(',').trim().parse().ok()?;
    let mut row = StatedRow::new(name);
    let pointer = format!("/config/model_args/{}", escape(name));
    row.state("value", arguments.get(name)?, pointer, Digits::Full);
    row.compute_number("written", value, format!("`{written}` in {file}"));
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    #[test]
    fn settings_are_read_from_the_files_in_the_arguments() {
        let text = r#"{"config": {"model_args": {"num_layers": 16, "attention_config": ["a", "b"],
            "config_files": {"a.yml": "{\n  \"num-layers\": 12, # deep\n  \"lr\": 1\n}"}}}}"#;
        let document = Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap();
        let mut row = StatedRow::default();
        read(&mut row, document.root());
        assert_eq!(row.number("attention_layers"), Some(2.0));
        let [setting] = row.rows("setting") else { panic!("one setting") };
        assert_eq!((setting.number("value"), setting.number("written")), (Some(16.0), Some(12.0)));
    }
}
