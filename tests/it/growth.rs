//! Inputs of strangers in growing sizes: time and memory grow as the input does, whatever it asks for.
//!
//! Each input is given in a size and in four times that size, to a process of its own. What grows as a product takes
//! sixteen times as much; half of that is the limit, so that a busy machine fails nobody.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::attacks::{Ran, run_reading};
use crate::program::repro;

/// How much more four times as much may take, and what counts for nothing.
const MOST: u32 = 8;
const LEAST_TIME: Duration = Duration::from_millis(250);
const LEAST_KIB: u64 = 48 << 10;

/// An input: what it is, its smaller size, and what writes it in some size into a folder, which answers the arguments.
struct Input(&'static str, usize, fn(&Path, usize) -> Vec<String>);

fn arguments(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A post with these parts, whose text is in a file of this name.
fn post(folder: &Path, name: &str, text: &str, parts: &str) -> Vec<String> {
    let _ = fs::create_dir(folder.join("repro"));
    let head = format!(
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"P\"\n[texts.t]\nwhat = \"it\"\nfile = \"{name}\"\n"
    );
    fs::write(folder.join("repro").join(name), text).unwrap();
    fs::write(folder.join("repro/p.toml"), head + parts).unwrap();
    arguments("verify --post p --format json")
}

/// A post of many sentences, each with a number of its own.
fn sentences(folder: &Path, count: usize) -> Vec<String> {
    let text = each(count, |i| format!("The run number {i} has a loss of {i}.5 here.\n\n"));
    let parts =
        each(count, |i| format!("[[sentence]]\nquote = \"a loss of {i}.5\"\nis = \"{i}.5\"\n"));
    post(folder, "p.md", &text, &parts)
}

fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    (0..count).for_each(|i| all.push_str(&part(i)));
    all
}

fn excuse(quote: &str, reason: &str) -> String {
    format!("[[excused]]\nquote = {quote}\nreason = \"{reason}\"\n")
}

fn file(folder: &Path, name: &str, text: &str, command: &str) -> Vec<String> {
    fs::write(folder.join(name), text).unwrap();
    arguments(command)
}

/// The file that is the standard input of the command, where there is one.
const SESSION: &str = "session";

/// Makes a bundle of a log of so many rows: `receipts/runs-run`.
fn bundle(folder: &Path, rows: usize) {
    let log = each(rows, |i| format!("{{\"step\": {i}, \"loss\": {}}}\n", 3.0 - i as f64 / 1e6));
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join("runs/run.jsonl"), log).unwrap();
    done(folder, &["import", "runs/run.jsonl", "--out", "receipts"]);
}

/// Makes so many bundles of short logs, and a plan to verify them.
fn plan(folder: &Path, bundles: usize) -> Vec<String> {
    fs::create_dir_all(folder.join("runs")).unwrap();
    for run in 0..bundles {
        let log = format!("{{\"step\": 1, \"loss\": 2.5}}\n{{\"step\": 2, \"loss\": 2.{run}}}\n");
        fs::write(folder.join(format!("runs/run{run}.jsonl")), log).unwrap();
    }
    done(folder, &["import", "runs", "--out", "receipts"]);
    let bundles = fs::read_dir(folder.join("receipts")).unwrap();
    let bundles = bundles.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut planned: Vec<_> = bundles.map(|name| format!("receipts/{name}")).collect();
    planned.sort();
    [arguments("cluster plan --out plan.jsonl"), planned].concat()
}

/// The same with its results.
fn results(folder: &Path, bundles: usize) -> Vec<String> {
    let planned = plan(folder, bundles);
    done(folder, &planned.iter().map(String::as_str).collect::<Vec<_>>());
    done(folder, &["cluster", "work", "plan.jsonl", "--results", "results"]);
    arguments("cluster merge plan.jsonl --results results --format json")
}

/// Runs a command that has to succeed.
fn done(folder: &Path, arguments: &[&str]) {
    let ran = repro(folder, arguments);
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
}

/// A session with an MCP server that asks these messages.
fn session(folder: &Path, messages: &str) -> Vec<String> {
    const BEGUN: &str = r#"{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
"#;
    fs::write(folder.join(SESSION), format!("{BEGUN}{messages}")).unwrap();
    arguments("mcp")
}

/// A text about the last loss of a bundle, to draft from.
fn drafted(folder: &Path, text: &str) -> Vec<String> {
    bundle(folder, 20);
    fs::write(folder.join("t.md"), text).unwrap();
    fs::create_dir_all(folder.join("repro")).unwrap();
    arguments("draft t.md")
}

/// A name without digits: runs that differ in a number are one arm.
fn letters(number: usize) -> String {
    format!("{number:03}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// A text with so many numbers of so many runs, none of which is of the same arm as another.
fn runs_drafted(folder: &Path, runs: usize, numbers: usize) -> Vec<String> {
    fs::create_dir_all(folder.join("runs")).unwrap();
    for run in 0..runs {
        let log = format!("{{\"step\": 1, \"loss\": 2.5}}\n{{\"step\": 2, \"loss\": 2.{run}}}\n");
        fs::write(folder.join(format!("runs/{}.jsonl", letters(run))), log).unwrap();
    }
    done(folder, &["import", "runs", "--out", "receipts"]);
    fs::create_dir_all(folder.join("repro")).unwrap();
    let sentence =
        |i: usize| format!("The run {} has a loss of 2.{}.\n\n", letters(i % runs), i % runs);
    fs::write(folder.join("t.md"), each(numbers, sentence)).unwrap();
    arguments("draft t.md")
}

const INPUTS: &[Input] = &[
    Input("one excuse again and again, of words that stand everywhere", 500, |folder, n| {
        post(folder, "p.md", &"1 ".repeat(2 * n), &excuse("\"1\"", "r").repeat(n))
    }),
    Input("a list of quotes", 500, |folder, n| {
        let quotes = format!("[{}]", "\"1\",".repeat(n));
        post(folder, "p.md", &"1 ".repeat(2 * n), &excuse(&quotes, "r"))
    }),
    Input("a list of quotes with a long reason", 100, |folder, n| {
        let quotes = format!("[{}]", "\"1\",".repeat(n));
        post(folder, "p.md", "1 2", &excuse(&quotes, &"r".repeat(20 * n)))
    }),
    Input("a long reason for numbers that stand everywhere", 300, |folder, n| {
        post(folder, "p.md", &"1 ".repeat(n), &excuse("\"1\"", &"r".repeat(10 * n)))
    }),
    Input("longer and longer excuses", 1_000, |folder, n| {
        let excuses = each(n.isqrt(), |i| excuse(&format!("\"{}1\"", "1 ".repeat(i)), "r"));
        post(folder, "p.md", &"1 ".repeat(n), &excuses)
    }),
    // A claim shows what stands around it, up to a limit, which these texts are longer than.
    Input("one sentence again and again", 300, |folder, n| {
        let parts = "[[sentence]]\nquote = \"1\"\nis = \"1\"\n".repeat(n);
        post(folder, "p.md", &"1 ".repeat(2_000 + 2 * n), &parts)
    }),
    Input("a sentence at many places", 300, |folder, n| {
        let places = each(n, |i| format!("\"s{i}\","));
        let parts = format!("[[sentence]]\nquote = \"1\"\nis = \"1\"\nplace = [{places}]\n");
        post(folder, "p.md", &"1 ".repeat(2_000 + n), &parts)
    }),
    Input("many sentences", 150, sentences),
    Input("many sentences as a page", 150, |folder, n| {
        sentences(folder, n);
        arguments("verify --post p --format html")
    }),
    Input("many sentences, locked", 150, |folder, n| {
        sentences(folder, n);
        let locked = repro(folder, &["verify", "--post", "p", "--write-lock"]);
        assert!(locked.status.success(), "{locked:?}");
        arguments("verify --post p --locked --format json")
    }),
    Input("sentences that the text does not have", 150, |folder, n| {
        let text = each(n, |i| format!("word{i} "));
        let parts = each(n, |i| format!("[[sentence]]\nquote = \"wor {i}\"\nis = \"{i}\"\n"));
        post(folder, "p.md", &text, &parts)
    }),
    Input("sentences of a hidden part", 150, |folder, n| {
        let text = each(n, |i| format!("<!-- a loss of {i}.5 -->"));
        let parts =
            each(n, |i| format!("[[sentence]]\nquote = \"loss of {i}.5\"\nis = \"{i}.5\"\n"));
        post(folder, "p.md", &text, &parts)
    }),
    Input("pointers into JSON", 150, |folder, n| {
        let text = format!("{{{}\"end\": 0}}", each(n, |i| format!("\"k{i}\": {i}.5, ")));
        let parts = each(n, |i| {
            format!("[[sentence]]\nquote = \"{i}.5\"\nplace = \"/k{i}\"\nis = \"{i}.5\"\n")
        });
        post(folder, "p.json", &text, &parts)
    }),
    Input("a table of many rows", 200, |folder, n| {
        let text = each(n, |i| format!("| r{i} | {i}.5 |\n"));
        let rows = each(n, |i| format!("r{i} = {{ it = \"{i}.5\" }}, "));
        let parts = format!(
            "[[table]]\nhead = \"| a | loss |\"\ncolumns.loss = \"it\"\nrows = {{ {} }}\n",
            rows.trim_end_matches(", ")
        );
        post(folder, "p.md", &format!("| a | loss |\n|---|---|\n{text}"), &parts)
    }),
    Input("one head of tables again and again", 100, |folder, n| {
        let table = "| a | loss |\n|---|---|\n| r | 1.5 |\n\n";
        let part =
            "[[table]]\nhead = \"| a | loss |\"\ncolumns.loss = \"1.5\"\nrows = { r = {} }\n";
        post(folder, "p.md", &table.repeat(n), &part.repeat(n))
    }),
    Input("many tables over one", 500, |folder, n| {
        let text = each(n, |i| format!("| r{i} | {i}.5 |\n"));
        let tables = each(n, |i| {
            format!(
                "[[table]]\nhead = \"| a | loss |\"\ncolumns.loss = \"it\"\nrows = {{ r{i} = {{ it = \"{i}.5\" }} }}\n"
            )
        });
        post(folder, "p.md", &format!("| a | loss |\n|---|---|\n{text}"), &tables)
    }),
    Input("many printed tables over one", 500, |folder, n| {
        let text = each(n, |i| format!("| r{i} | {i}.5 |\n"));
        let tables = each(n, |i| {
            format!(
                "[[table]]\nprinted = \"\"\"\n| a | loss |\n| r{i} | {i}.5 |\n\"\"\"\ncolumns.loss = \"it\"\nrows = {{ r{i} = {{ it = \"{i}.5\" }} }}\n"
            )
        });
        post(folder, "p.md", &format!("| a | loss |\n|---|---|\n{text}"), &tables)
    }),
    Input("one row of a table again and again", 500, |folder, n| {
        let text = "| r | 1.5 |\n".repeat(n);
        let table = "[[table]]\nprinted = \"\"\"\n| a | loss |\n| r | 1.5 |\n\"\"\"\ncolumns.loss = \"it\"\nrows = { r = { it = \"1.5\" } }\n";
        post(folder, "p.md", &format!("| a | loss |\n|---|---|\n{text}"), &table.repeat(n))
    }),
    Input("reviews of a post", 100, |folder, n| {
        let verify = sentences(folder, n);
        let digest = |i: usize| format!("sha256:{i:064x}");
        let parts = ["quote", "context", "readings", "binding", "premise", "fact"];
        let reviews = each(n, |i| {
            let parts = parts.map(|part| format!("{part} = \"{}\"", digest(i))).join(", ");
            format!(
                "[[review]]\nkey = \"{key}\"\nclaim = \"c{i}\"\nverdict = \"exempt\"\nreviewer = \"a\"\ndate = \"2026-01-02\"\nvalues = \"{key}\"\nparts = {{ {parts} }}\n",
                key = digest(i)
            )
        });
        let head = "schema = \"repro.reviews/1\"\npost = \"p\"\n";
        fs::write(folder.join("repro/p.reviews.toml"), format!("{head}{reviews}")).unwrap();
        verify
    }),
    Input("rows of a bundle", 1_000, |folder, n| {
        bundle(folder, n);
        arguments("verify receipts/runs-run --format json")
    }),
    Input("rows of a bundle that sentences name", 100, |folder, n| {
        bundle(folder, n);
        let names =
            each(n, |i| format!("n{i} = \"runs-run:data/printed/training.csv#step={i}.loss\"\n"));
        let text = each(n, |i| format!("At step {i} it is {}.\n\n", 3.0 - i as f64 / 1e6));
        let parts = each(n, |i| {
            let value = 3.0 - i as f64 / 1e6;
            format!(
                "[[sentence]]\nquote = \"At step {i} it is {value}\"\nis = [\"{i}\", \"n{i}\"]\n"
            )
        });
        post(folder, "p.md", &text, &format!("[names]\n{names}{parts}"))
    }),
    Input("a plan of many bundles", 10, plan),
    Input("work on many bundles", 10, |folder, n| {
        let planned = plan(folder, n);
        done(folder, &planned.iter().map(String::as_str).collect::<Vec<_>>());
        arguments("cluster work plan.jsonl --results results")
    }),
    Input("results of many bundles", 10, results),
    Input("messages of a session", 1_000, |folder, n| {
        session(
            folder,
            &each(n, |i| {
                format!("{{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}}\n", i + 1)
            }),
        )
    }),
    Input("a long message of a session", 10_000, |folder, n| {
        session(
            folder,
            &format!(
                "{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": [{}0]}}\n",
                "0,".repeat(n)
            ),
        )
    }),
    Input("one sentence again and again, drafted", 60, |folder, n| {
        drafted(folder, &"The loss is 3.0 here.\n\n".repeat(n))
    }),
    Input("many headings and numbers, drafted", 60, |folder, n| {
        drafted(folder, &each(n, |i| format!("# A {i}\n\nThe loss is {i}.25 here.\n\n")))
    }),
    Input("tables of an arm, drafted", 20, |folder, n| {
        drafted(folder, &"| arm | loss |\n|---|---|\n| run | 3.0 |\n\n".repeat(n))
    }),
    Input("many numbers of runs, drafted", 100, |folder, n| runs_drafted(folder, 10, n)),
    Input("names with other words for them", 500, |folder, n| {
        let names = each(n, |i| format!("n{i} = \"b\"\n"));
        let aliases = each(n, |i| format!("n{i} = \"w{i}\"\n"));
        post(folder, "p.md", "1", &format!("[names]\n{names}[aliases]\n{aliases}"))
    }),
    Input("folds, notes and phantoms that nothing closes", 500, |folder, n| {
        let marks = ["<details>", "<b style=\"color:#fff;background:#000\">", "[^a", "\\phantom{"];
        let text = marks.map(|mark| mark.repeat(n)).join("\n\n");
        let notes = each(n, |i| format!("[^{i}]: 1.5 [^{}]\n\n", i + 1));
        post(folder, "p.md", &(text + "\n\n[^0]\n\n" + &notes), "")
    }),
    Input("a style sheet for many elements", 500, |folder, n| {
        let sheet = format!("<style>.x{{{}color:red}}</style>", "a:b;".repeat(n));
        post(folder, "p.html", &(sheet + &"<b class=\"x x\">1</b>".repeat(n)), "")
    }),
    Input("numbers between commas", 2_000, |folder, n| {
        post(folder, "p.md", &"1,".repeat(n), &excuse("\"1,\"", "r"))
    }),
    Input("numbers in one word", 1_000, |folder, n| {
        post(folder, "p.md", &"1<sup>2</sup>".repeat(n), &excuse("\"1\"", "r"))
    }),
    Input("one number without an end", 50_000, |folder, n| {
        post(folder, "p.md", &"1".repeat(n), &excuse("\"1\"", "r"))
    }),
    Input("coverage", 500, |folder, n| {
        post(folder, "p.md", &"1 ".repeat(2 * n), &excuse("\"1\"", "r").repeat(n));
        arguments("review p --coverage --text repro/p.md")
    }),
    Input("a log of JSON lines, imported", 1_000, |folder, n| {
        let log = each(n, |i| format!("{{\"step\": {i}, \"loss\": {}}}\n", 3.0 - i as f64 / 1e6));
        file(folder, "log.jsonl", &log, "import log.jsonl --out out")
    }),
    Input("a log of JSON lines, checked", 1_000, |folder, n| {
        let log = each(n, |i| format!("{{\"step\": {i}, \"loss\": {}}}\n", 3.0 - i as f64 / 1e6));
        file(folder, "log.jsonl", &log, "check log.jsonl")
    }),
    Input("a state of a training, checked", 1_000, |folder, n| {
        let mut state = format!("{{\"global_step\": {n}, \"log_history\": [{{\"step\": 0}}");
        (1..=n).for_each(|i| write!(state, ", {{\"step\": {i}, \"loss\": 2.5}}").unwrap());
        file(folder, "trainer_state.json", &(state + "]}"), "check trainer_state.json")
    }),
    Input("a list of numbers", 2_000, |folder, n| {
        let rows = each(n, |i| format!("{}.5,{}.25\n", i % 97, i % 89));
        file(folder, "a.csv", &format!("a,b\n{rows}"), "stats a.csv")
    }),
    Input("a config of many settings", 1_000, |folder, n| {
        let settings = each(n, |i| format!(", \"k{i}\": {i}"));
        let config = format!("{{\"model_type\": \"llama\"{settings}}}");
        file(folder, "config.json", &config, "params config.json")
    }),
    Input("names that nothing has", 5_000, |_, n| vec!["explain".to_owned(), "a".repeat(n)]),
    Input("words that are sought", 2_000, |_, n| {
        arguments(&format!("explain --search {}", "a ".repeat(n).trim_end()))
    }),
];

/// What an input of a size takes.
fn taken(input: &Input, size: usize) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let arguments = (input.2)(folder.path(), size);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let session = folder.path().join(SESSION);
    let ran = run_reading(folder.path(), &arguments, session.is_file().then_some(&session));
    assert!(ran.status.is_some_and(|status| (0..=4).contains(&status)), "{}: {ran:?}", input.0);
    ran
}

#[test]
fn what_is_asked_for_takes_no_more_than_it_is_long() {
    let nothing = taken(&Input("nothing", 0, |folder, _| post(folder, "p.md", "1", "")), 0);
    let mut faults = Vec::new();
    for input in INPUTS {
        let [less, more] = [1, 4].map(|times| taken(input, times * input.1));
        let own = |ran: &Ran| ran.worked.saturating_sub(nothing.worked);
        let held = |ran: &Ran| ran.peak_kib.saturating_sub(nothing.peak_kib);
        let is_slow = own(&more) > own(&less) * MOST + LEAST_TIME;
        let is_large = held(&more) > held(&less) * u64::from(MOST) + LEAST_KIB;
        let told = [&less, &more].map(|ran| (own(ran), held(ran)));
        if is_slow || is_large {
            faults.push(format!("{}: {told:?}", input.0));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_draft_of_too_much_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = runs_drafted(folder.path(), 240, 24_000);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let ran = repro(folder.path(), &arguments);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(said.contains("left open to limit the work per draft"), "{said}");
}
