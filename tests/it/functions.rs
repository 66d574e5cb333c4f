//! Every function of the language on a good and a bad sentence: `tests/functions/NAME.toml`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use repro_judge::evaluate::functions;
use repro_receipt::source::{Document, Node, Source};

use crate::language;

/// What a case is expected to come to where it does not say.
const EXPECTED: [(&str, &str); 2] = [("good", "verified"), ("bad", "refuted")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions")
}

/// A case as a post: its sentence, and what it needs. Its own names stand behind `own.`.
fn statement(case: Node) -> (String, String) {
    let quote = case.required("quote").unwrap().text().unwrap();
    let mut statement = String::new();
    if let Some(names) = case.get("names") {
        statement += "[names.own]\n";
        for (name, evidence) in names.members().unwrap() {
            writeln!(statement, "{name} = \"{}\"", evidence.text().unwrap()).unwrap();
        }
    }
    writeln!(statement, "[[sentence]]\nquote = '{quote}'").unwrap();
    for key in ["is", "says"] {
        let Some(node) = case.get(key) else { continue };
        let list = match node.items() {
            Ok(items) => items.map(|item| item.text().unwrap().to_owned()).collect(),
            Err(_) => vec![node.text().unwrap().to_owned()],
        };
        let list: Vec<_> = list.iter().map(|one| format!("\"{one}\"")).collect();
        writeln!(statement, "{key} = [{}]", list.join(", ")).unwrap();
    }
    (statement, quote.to_owned())
}

#[test]
fn every_function_tells_a_good_sentence_from_a_bad_one() {
    let mut wrong = Vec::new();
    for function in functions::all() {
        let name = function.name;
        let path = folder().join(format!("{name}.toml"));
        let source = Source::load(&path, format!("tests/functions/{name}.toml"))
            .unwrap_or_else(|error| panic!("{error}: a function has a good and a bad case"));
        let document = Document::parse_toml(source).unwrap();
        for (case, expected) in EXPECTED {
            let node = document.root().required(case).unwrap();
            node.only(&["quote", "is", "says", "comes_to", "all_runs", "names"]).unwrap();
            let (statement, text) = statement(node);
            assert!(statement.contains(&format!("{name}(")), "{name}: {case} does not use it");
            let expected = node.get("comes_to").map_or(expected, |word| word.text().unwrap());
            let found = match node.get("all_runs") {
                Some(_) => language::judged_with_all_runs(&statement, &text),
                None => language::judged(&statement, &text),
            };
            let worst = found.iter().find(|one| *one != "verified");
            let worst = worst.map_or("verified", String::as_str);
            if !worst.starts_with(expected) {
                wrong.push(format!("{name}, {case}: expected {expected}, found {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_is_of_a_function() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(functions::find(name).is_some(), "{}", path.display());
    }
}

#[test]
fn every_example_can_be_read() {
    for function in functions::all() {
        let example = function.example;
        let parsed = repro_claim::Expression::parse(example);
        assert!(parsed.is_ok(), "{}: {example}: {parsed:?}", function.name);
        assert!(example.contains(&format!("{}(", function.name)), "{example}");
        assert!(
            !function.misleads.is_empty() && !function.summary.ends_with('.'),
            "{}",
            function.name
        );
    }
}
