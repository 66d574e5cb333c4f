use super::*;
use repro_core::source::{Document, Source};

/// The tests of reading files, if the program supports it.
#[cfg(feature = "tokenizers")]
mod files;

fn document(text: &str) -> Document {
    Document::parse_json(Source::new("config.json", text.into()).unwrap()).unwrap()
}

/// A document that is one string.
fn text(name: &str) -> Document {
    document(&format!("{name:?}"))
}

#[test]
fn bytes_are_their_own_tokens() {
    let bytes = Tokenizer::bytes();
    let tokens = bytes.encode("aé\n").unwrap();
    assert_eq!(tokens, [97, 0xc3, 0xa9, 10]);
    assert_eq!(bytes.decode(&tokens), "aé\n".as_bytes());
    assert_eq!((bytes.bytes_of(255), bytes.bytes_of(256), bytes.vocabulary()), (1, 0, 256));
    assert_eq!((bytes.start().unwrap(), bytes.label().as_str()), (10, "bytes"));
}

#[test]
fn a_model_with_too_few_token_numbers_is_refused() {
    assert!(Tokenizer::bytes().fits(document("{\"vocab_size\":256}").root()).is_ok());
    let error = Tokenizer::bytes().fits(document("{\"vocab_size\":255}").root()).unwrap_err();
    assert_eq!(
        (error.code.id, error.place.pointer.as_str()),
        ("data::vocabulary-too-small", "/vocab_size")
    );
}

/// Without the feature a study that names a file is refused before the file is looked for.
#[cfg(not(feature = "tokenizers"))]
#[test]
fn a_file_is_refused_with_the_way_to_read_it() {
    let load = |name: &str| {
        let folder = DataFolder::of_study(std::path::Path::new("nowhere"));
        Tokenizer::load(text(name).root(), &folder)
    };
    assert_eq!(load("bytes").unwrap().vocabulary(), 256);
    let error = load("t.json").unwrap_err();
    assert_eq!(
        (error.code.id, error.place.file.as_str(), error.found.as_str()),
        ("data::no-tokenizer-files", "config.json", "\"t.json\"")
    );
    assert!(error.code.help.contains("--features tokenizers"));
}
