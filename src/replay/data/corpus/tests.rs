//! Corpora of each source, and what runs may ask of them.

use std::fs;

use super::super::Order;
use super::*;
use repro_core::source::{Document, Source};

/// 40 poems of four lines each.
fn poems() -> String {
    let poem =
        |number: usize| (0..4).map(|line| format!("poem {number:02} line {line}\n")).collect();
    (0..40).map(poem).collect::<Vec<String>>().join("%%\n")
}

const TABLE: &str = r#"
name = "poems"
source = "text"
file = "poems.txt"
documents = { separator = "%%" }
split_seed = 3
validation = { share = 0.1, bytes = 300 }
development = { share = 0.05, bytes = 1 }
tokenizer = "bytes"
"#;

fn load(table: &str) -> Result<Corpus, Error> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("poems.txt"), poems()).unwrap();
    let lines: Vec<_> =
        poems().split("%%\n").map(|poem| format!("{{\"id\":1,\"text\":{poem:?}}}\n")).collect();
    fs::write(folder.path().join("poems.jsonl"), lines.concat()).unwrap();
    Corpus::load(toml(table).root(), &DataFolder::of_study(folder.path()))
}

fn toml(text: &str) -> Document {
    Document::parse_toml(Source::new("study.toml", text.into()).unwrap()).unwrap()
}

fn order(corpus: &Corpus, config: &str) -> Result<Order, Error> {
    let config = format!("seed_data = 1\n{config}");
    Order::read(toml(&config).root(), corpus)
}

#[test]
fn a_text_is_split_in_whole_documents() {
    let corpus = load(TABLE).unwrap();
    let part = |part: CorpusPart| (part.documents, part.bytes, part.tokens);
    assert_eq!(part(corpus.train_part), (33, 33 * 60, 33 * 60));
    assert_eq!(part(corpus.development_part), (2, 120, 120));
    assert_eq!(part(corpus.validation_part), (5, 300, 300));
    assert_eq!(corpus.train.len(), 1980);
    assert_eq!(corpus.sha256, Digest::of(poems().as_bytes()));
    for document in corpus.validation.iter().chain(&corpus.development) {
        assert_eq!(document.text.len(), 60);
        let Tokens::Bytes(train) = &corpus.train else { panic!("bytes") };
        assert!(!String::from_utf8(train.clone()).unwrap().contains(&document.text));
    }
    assert_eq!((corpus.floor, corpus.overlap.duplicates.len()), (None, 0));
    let texts: String = corpus.validation.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(corpus.validation_part.sha256, Digest::of(texts.as_bytes()));
}

#[test]
fn lines_of_json_are_the_same_corpus() {
    let (text, lines) = (TABLE.replace("text\"", "jsonl\""), "field = \"text\"");
    let table = text
        .replace("poems.txt", "poems.jsonl")
        .replace("documents = { separator = \"%%\" }", lines);
    let (one, other) = (load(TABLE).unwrap(), load(&table).unwrap());
    assert_eq!((one.train, one.validation), (other.train, other.validation));
    assert_ne!(one.sha256, other.sha256);
}

#[test]
fn a_pinned_text_is_that_text() {
    let right = format!("{TABLE}sha256 = \"{}\"", Digest::of(poems().as_bytes()));
    assert!(load(&right).is_ok());
    let error = load(&format!("{TABLE}sha256 = \"00\"")).unwrap_err();
    assert_eq!((error.code.id, error.place.pointer.as_str()), ("data::different-text", "/sha256"));
}

#[test]
fn wrong_tables_are_refused_at_their_place() {
    let code = |table: &str| load(table).unwrap_err().code.id;
    assert_eq!(code(&TABLE.replace("poems.txt", "verses.txt")), "source::unreadable");
    assert_eq!(code(&TABLE.replace("\"text\"", "\"hub\"")), "data::unknown-value");
    assert_eq!(code(&TABLE.replace("split_seed", "split_sead")), "source::unknown-field");
    assert_eq!(code(&TABLE.replace("bytes = 300", "bytes = 3000")), "data::too-little-text");
    let no_file = match Tokenizer::READS_FILES {
        true => "source::unreadable",
        false => "data::no-tokenizer-files",
    };
    assert_eq!(code(&TABLE.replace("\"bytes\"", "\"none.json\"")), no_file);
}

const LANGUAGE: &str = r#"
name = "small language"
source = "language"
seed = 1
train_bytes = 60000
development = { bytes = 9000 }
validation = { bytes = 20000 }
tokenizer = "bytes"
"#;

#[test]
fn the_embedded_language_has_streams_and_a_floor() {
    let corpus = load(LANGUAGE).unwrap();
    let sizes =
        [corpus.train_part, corpus.development_part, corpus.validation_part].map(|part| part.bytes);
    for (size, least) in sizes.into_iter().zip([60_000, 9_000, 20_000]) {
        assert!(size >= least && size < least + 8000, "{size} for {least}");
    }
    let bits = corpus.floor.unwrap() / std::f64::consts::LN_2 / corpus.validation_part.bytes as f64;
    assert!((0.5..2.5).contains(&bits), "{bits} bits per byte");
    // A longer training text begins with the shorter one; the held-out parts stay.
    let longer = load(&LANGUAGE.replace("60000", "90000")).unwrap();
    let (Tokens::Bytes(short), Tokens::Bytes(long)) = (&corpus.train, &longer.train) else {
        panic!()
    };
    assert!(long.starts_with(short) && long.len() > short.len());
    assert_eq!(corpus.validation, longer.validation);
    assert_ne!(
        load(&LANGUAGE.replace("seed = 1", "seed = 2")).unwrap().validation,
        corpus.validation
    );
    let error = load(&LANGUAGE.replace("60000", "0")).unwrap_err();
    assert_eq!(error.place.pointer, "/train_bytes");
}

#[test]
fn reuse_decides_how_much_is_read() {
    let corpus = load(TABLE).unwrap();
    let sizes = |steps: u64, more: &str| {
        let config = format!("seq_len = 9\nbatch_size = 2\nsteps = {steps}\n{more}");
        let mut order = order(&corpus, &config).unwrap();
        let unique = order.unique(steps, &corpus);
        assert_eq!(unique.tokens, unique.bytes);
        (order.windows(), unique.tokens, order.epochs(steps))
    };
    // 1980 tokens are 219 windows of 9 and the token after them.
    assert_eq!(sizes(438, "reuse = \"strict\""), (219, 1971, 4.0));
    assert_eq!(sizes(10, "reuse = \"strict\""), (219, 180, 20.0 / 219.0));
    assert_eq!(sizes(438, "reuse = \"strict\"\nunique_tokens = 910"), (101, 909, 876.0 / 101.0));
    assert_eq!(sizes(100, "reuse = \"relaxed\""), (100, 900, 2.0));
    assert_eq!(sizes(50, "reuse = \"fresh\""), (219, 900, 100.0 / 219.0));
    let batch = |steps: u64| {
        let config = format!("seq_len = 9\nbatch_size = 2\nsteps = {steps}\nreuse = \"fresh\"");
        order(&corpus, &config).unwrap().batch(3)
    };
    assert_eq!(batch(50), batch(80), "a longer run begins like a shorter one");
}

#[test]
fn runs_that_the_text_cannot_feed_are_refused() {
    let corpus = load(TABLE).unwrap();
    let refused = |config: &str| {
        let error = order(&corpus, config).unwrap_err();
        (error.code.id, error.place.pointer.clone())
    };
    let run = |length: usize, batch: usize, reuse: &str| {
        format!("seq_len = {length}\nbatch_size = {batch}\nsteps = 100\n{reuse}")
    };
    let too_long = ("data::context-too-long", "/seq_len".to_owned());
    assert_eq!(refused(&run(1980, 1, "reuse = \"strict\"")), too_long);
    assert!(order(&corpus, &run(1979, 1, "reuse = \"strict\"")).is_ok());
    assert_eq!(refused(&run(0, 1, "reuse = \"strict\"")), too_long);
    let too_few = |pointer: &str| ("data::too-few-tokens", pointer.to_owned());
    assert_eq!(refused(&run(10, 4, "reuse = \"relaxed\"")), too_few("/reuse"));
    assert_eq!(refused(&run(10, 2, "reuse = \"fresh\"")), too_few("/reuse"));
    assert_eq!(
        refused(&run(10, 2, "reuse = \"strict\"\nunique_tokens = 1981")),
        too_few("/unique_tokens")
    );
    assert_eq!(refused(&run(10, 2, "reuse = \"some\"")).0, "data::unknown-value");
    let epochs = |most: &str| run(10, 8, &format!("reuse = \"strict\"\nmax_epochs = {most}"));
    assert_eq!(refused(&epochs("4")), too_few("/max_epochs"));
    assert!(order(&corpus, &epochs("4.1")).is_ok());
}
