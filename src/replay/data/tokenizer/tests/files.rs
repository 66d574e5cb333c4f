//! Small `tokenizer.json` files of each family, written here.

use serde_json::{Value, json};

use super::*;

/// The character that byte-level BPE writes for a byte, by the rule in words: printable bytes stand for
/// themselves, the others are counted from U+0100 on.
fn alphabet() -> Vec<char> {
    let mut others = (0x100..).filter_map(char::from_u32);
    (0..=255_u8)
        .map(|byte| match byte {
            33..=126 | 161..=172 | 174..=255 => char::from(byte),
            _ => others.next().unwrap(),
        })
        .collect()
}

fn byte_level(normalizer: Value) -> Value {
    let mut vocabulary: Vec<String> = alphabet().into_iter().map(String::from).collect();
    let merges = ["t h", "th e", "Ġ the", "Ġ w"];
    vocabulary.extend(merges.iter().map(|pair| pair.replace(' ', "")));
    let numbered =
        vocabulary.iter().enumerate().map(|(number, piece)| (piece.clone(), json!(number)));
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [{"id": 260, "content": "<|end|>", "single_word": false, "lstrip": false,
                          "rstrip": false, "normalized": false, "special": true}],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                  "vocab": numbered.collect::<serde_json::Map<_, _>>(), "merges": merges},
    })
}

fn pieces(byte_fallback: bool) -> Value {
    let mut vocabulary = vec!["<unk>".to_owned()];
    if byte_fallback {
        vocabulary.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    }
    vocabulary.extend(('!'..='~').map(String::from));
    vocabulary.extend(["▁", "\n", "▁t", "▁th", "▁the"].map(String::from));
    let numbered =
        vocabulary.iter().enumerate().map(|(number, piece)| (piece.clone(), json!(number)));
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": byte_fallback,
                  "vocab": numbered.collect::<serde_json::Map<_, _>>(),
                  "merges": ["▁ t", "▁t h", "▁th e"]},
    })
}

fn tokenizer(json: &Value) -> Result<Tokenizer, Error> {
    Tokenizer::parse("tokenizer.json", json.to_string().as_bytes())
}

const TEXT: &str = "the weather — naïve:\n\tof the  end <|end|>\n";

#[test]
fn byte_level_tokens_spell_their_bytes() {
    let found = tokenizer(&byte_level(Value::Null)).unwrap();
    assert_eq!((found.vocabulary(), found.lead()), (261, 0));
    let tokens = found.encode(TEXT).unwrap();
    assert_eq!(found.decode(&tokens), TEXT.as_bytes());
    assert_eq!(found.lengths(&tokens).iter().sum::<usize>(), TEXT.len());
    assert_eq!(found.bytes_of(258), 4, "the space and three letters");
    assert!(
        tokens.contains(&258) && !tokens.contains(&260),
        "a text that spells a control token is text"
    );
    assert_eq!(found.start().unwrap(), 10);
    assert!(found.encode("").unwrap().is_empty());
}

#[test]
fn pieces_spell_their_bytes_but_for_the_space_before() {
    let found = tokenizer(&pieces(true)).unwrap();
    assert_eq!(found.lead(), 1);
    let tokens = found.encode(TEXT).unwrap();
    assert_eq!(found.decode(&tokens), format!(" {TEXT}").as_bytes());
    let lengths = found.lengths(&tokens);
    assert_eq!((lengths[0], lengths.iter().sum::<usize>()), (3, TEXT.len()));
    assert_eq!(found.decode(&[found.start().unwrap()]), b"\n");
}

#[test]
fn a_text_that_does_not_come_back_is_refused() {
    let found = tokenizer(&pieces(false)).unwrap();
    assert!(found.encode("the end").is_ok());
    let error = found.encode("the naïve end").unwrap_err();
    assert_eq!(error.code.id, "data::not-round-trip");
    assert!(error.expected.contains("around byte 6"), "{}", error.expected);
    let composing = tokenizer(&byte_level(json!({"type": "NFC"}))).unwrap();
    assert!(composing.encode("é").is_ok());
    assert_eq!(composing.encode("e\u{301}").unwrap_err().code.id, "data::not-round-trip");
}

#[test]
fn a_tokenizer_that_changes_every_text_is_refused() {
    let error = tokenizer(&byte_level(json!({"type": "Lowercase"}))).unwrap_err();
    assert_eq!(error.code.id, "data::unknown-bytes");
    assert!(error.found.starts_with("\"two words"), "{}", error.found);
}

#[test]
fn files_that_are_no_tokenizers_are_refused() {
    for text in ["", "{}", "[1]", "{\"model\":{\"type\":\"BPE\"}}"] {
        let error = Tokenizer::parse("t.json", text.as_bytes()).unwrap_err();
        assert_eq!((error.code.id, error.place.file.as_str()), ("data::bad-tokenizer", "t.json"));
    }
    let mut huge = byte_level(Value::Null);
    huge["model"]["vocab"]["zz"] = json!(4_000_000_000_u32);
    let error = tokenizer(&huge).unwrap_err();
    assert_eq!((error.code.id, error.found.as_str()), ("data::bad-tokenizer", "4000000000"));
}

#[test]
fn the_field_names_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.json"), byte_level(Value::Null).to_string()).unwrap();
    let load =
        |name: &str| Tokenizer::load(text(name).root(), &DataFolder::of_study(folder.path()));
    assert_eq!(load("bytes").unwrap().vocabulary(), 256);
    assert_eq!(load("t.json").unwrap().vocabulary(), 261);
    assert!(load("t.json").unwrap().label().starts_with("sha256:"));
    let error = load("no.json").unwrap_err();
    assert_eq!((error.code.id, error.place.file.as_str()), ("source::unreadable", "no.json"));
}
