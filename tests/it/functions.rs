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

/// A sentence with one number.
fn judged(quote: &str, is: &str) -> Vec<String> {
    language::judged(&format!("[[sentence]]\nquote = '{quote}'\nis = \"{is}\"\n"), quote)
}

#[test]
fn scores_are_of_runs_groups_and_steps() {
    let score = |quote: &str, of: &str| judged(quote, &format!("core({of}, tasks = 'given')"));
    assert_eq!(score("a score of 0.1013", "one.tasks @ 967"), ["verified"]);
    assert_eq!(score("a score of 0.1027", "one.tasks @ 967"), ["refuted value::differs"]);
    let over_runs = "mean(core(arm.moe.tasks, tasks = 'given'))";
    assert_eq!(judged("0.0987 over the seeds", over_runs), ["verified"]);
    assert_eq!(judged("0.1191 over the seeds", over_runs), ["refuted value::differs"]);
    // CORE itself is over 22 tasks, which these runs do not have.
    assert_eq!(judged("a CORE of 0.1027", "core(one.tasks)"), ["core::lacks-task"]);
    assert_eq!(
        judged("p = 0.163", "mcnemar(one.tasks, arm.dense.tasks)"),
        ["expression::wrong-arguments"]
    );
}

#[test]
fn shares_are_tested_as_the_post_says() {
    let p = |quote: &str, test: &str| {
        judged(quote, &format!("proportions_p(cloze.correct - 320, 10, 2, 10{test})"))
    };
    // 7 of 10 against 2 of 10: few of them, so that Fisher's test is the one.
    assert_eq!(p("p = 0.0698", ""), ["verified"]);
    assert_eq!(p("p = 0.0698", ", test = 'fisher'"), ["verified"]);
    assert_eq!(p("p = 0.0246", ", test = 'z'"), ["verified"]);
    assert_eq!(p("p = 0.0246", ""), ["refuted value::differs"]);
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
