//! Rule 6: documents are read once, strictly, and in one spelling.

use serde_json::json;

use super::Case;
use super::forge::{CONFIG, METRICS, TASKS, WEIGHTS, metrics, transcribed};

pub const CASES: &[Case] = &[
    // Keys.
    ("a duplicate key", "source::duplicate-key", |f| f.put(CONFIG, "{\"a\":1,\"a\":2}\n")),
    ("a duplicate key with equal values", "source::duplicate-key", |f| {
        f.put(CONFIG, "{\"a\":1,\"a\":1}\n");
    }),
    ("an escaped duplicate key", "source::duplicate-key", |f| {
        f.put(CONFIG, "{\"a\":1,\"\\u0061\":2}\n");
    }),
    ("a duplicate key, escaped as a pair of surrogates", "source::duplicate-key", |f| {
        f.put(CONFIG, "{\"\u{1f600}\":1,\"\\ud83d\\ude00\":2}\n");
    }),
    ("a duplicate key deep inside", "source::duplicate-key", |f| {
        f.put(CONFIG, "{\"a\":[{\"b\":{\"c\":1,\"d\":2,\"c\":3}}]}\n");
    }),
    ("a duplicate empty key", "source::duplicate-key", |f| f.put(CONFIG, "{\"\":1,\"\":2}\n")),
    ("a duplicate key in the receipt", "source::duplicate-key", |f| {
        f.receipt_text = |t| {
            t.replace("\"origin\":\"emitted\"", "\"origin\":\"emitted\",\"origin\":\"emitted\"")
        };
    }),
    ("a second predicate in the receipt", "source::duplicate-key", |f| {
        f.receipt_text = |t| t.replacen("{\"_type\"", "{\"predicate\":{},\"_type\"", 1);
    }),
    ("a duplicate key in a log", "source::duplicate-key", |f| {
        f.put("data/timing.jsonl", "{\"a\":1}\n{\"a\":1,\"a\":2}\n");
    }),
    ("a duplicate key in TOML", "source::duplicate-key", |f| {
        f.put("data/a.toml", "a = 1\na = 2\n")
    }),
    ("a table twice in TOML", "source::duplicate-key", |f| {
        f.put("data/a.toml", "[t]\na = 1\n[t]\nb = 2\n")
    }),
    ("a dotted key twice in TOML", "source::duplicate-key", |f| {
        f.put("data/a.toml", "t.a = 1\n\"t\".a = 2\n");
    }),
    ("a column twice", "source::duplicate-key", |f| f.put(TASKS, "task,task\ncopa,boolq\n")),
    // Numbers.
    ("NaN", "source::syntax", |f| f.put(CONFIG, "{\"a\":NaN}\n")),
    ("Infinity", "source::syntax", |f| f.put(CONFIG, "{\"a\":-Infinity}\n")),
    ("1e999", "source::not-finite", |f| f.put(CONFIG, "{\"a\":1e999}\n")),
    ("-1e999", "source::not-finite", |f| f.put(CONFIG, "{\"a\":[-1e999]}\n")),
    ("1e400 in the receipt", "source::not-finite", |f| {
        f.receipt_text = |t| t.replace("\"params_total\":4", "\"params_total\":1e400");
    }),
    ("NaN in TOML", "source::not-finite", |f| f.put("data/a.toml", "a = nan\n")),
    ("an infinity in TOML", "source::not-finite", |f| f.put("data/a.toml", "a = [1.0, -inf]\n")),
    ("2^53 + 1", "source::inexact-integer", |f| f.put(CONFIG, "{\"a\":9007199254740993}\n")),
    ("-2^53 - 1", "source::inexact-integer", |f| f.put(CONFIG, "{\"a\":-9007199254740993}\n")),
    ("2^64", "source::inexact-integer", |f| f.put(CONFIG, "{\"a\":18446744073709551616}\n")),
    ("2^53 + 1 in the receipt", "source::inexact-integer", |f| {
        f.receipt_text = |t| t.replace("\"params_total\":4", "\"params_total\":9007199254740993");
    }),
    ("an integer beyond 2^53 as an exponent", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"a\":1e16}\n")
    }),
    ("a fraction that hides 2^53 + 1", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"a\":9007199254740993.0}\n");
    }),
    ("a number with a plus", "source::syntax", |f| f.put(CONFIG, "{\"a\":+1}\n")),
    ("a number with a zero before it", "source::syntax", |f| f.put(CONFIG, "{\"a\":01}\n")),
    ("a hexadecimal number", "source::syntax", |f| f.put(CONFIG, "{\"a\":0x10}\n")),
    ("a number without a digit after the point", "source::syntax", |f| {
        f.put(CONFIG, "{\"a\":1.}\n")
    }),
    ("a negative zero", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":-0}\n")),
    ("a long number", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":1e-07}\n")),
    ("a fraction that is whole", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":1.0}\n")),
    ("more digits than a float has", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"a\":0.1000000000000000055}\n");
    }),
    ("a number that is nearly zero", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"a\":1e-999}\n")
    }),
    // Nesting.
    ("nesting one level too deep", "source::too-deep", |f| {
        f.put(CONFIG, format!("{}{}\n", "[".repeat(65), "]".repeat(65)));
    }),
    ("objects one level too deep", "source::too-deep", |f| {
        f.put(CONFIG, format!("{}1{}\n", "{\"a\":".repeat(65), "}".repeat(65)));
    }),
    ("deep nesting in a log", "source::too-deep", |f| {
        f.put("data/timing.jsonl", format!("1\n{}{}\n", "[".repeat(70), "]".repeat(70)));
    }),
    ("deep nesting in the receipt", "source::too-deep", |f| {
        f.receipt_text = |t| {
            let deep =
                format!("\"extra\":{{\"a\":{}{}}},\"files\"", "[".repeat(70), "]".repeat(70));
            t.replacen("\"files\"", &deep, 1)
        };
    }),
    ("deep nesting in TOML", "source::too-deep", |f| {
        f.put("data/a.toml", format!("a = {}{}\n", "[".repeat(70), "]".repeat(70)));
    }),
    ("very deep nesting in TOML", "source::syntax", |f| {
        f.put("data/a.toml", format!("a = {}\n", "[".repeat(50_000)));
    }),
    ("a deep key in TOML", "source::syntax", |f| {
        f.put("data/a.toml", format!("a{} = 1\n", ".a".repeat(20_000)));
    }),
    // Bytes.
    ("a byte order mark", "source::not-utf8", |f| f.put(CONFIG, "\u{feff}{}\n")),
    ("a byte order mark in a table", "source::not-utf8", |f| f.put(TASKS, "\u{feff}a\n1\n")),
    ("a byte order mark in a log", "source::not-utf8", |f| {
        f.put("data/timing.jsonl", "\u{feff}{}\n")
    }),
    ("UTF-16", "source::not-utf8", |f| f.put(CONFIG, *b"\xff\xfe{\0}\0\n\0")),
    ("UTF-16 without a mark", "source::syntax", |f| f.put(CONFIG, *b"{\0}\0\n\0")),
    ("UTF-32", "source::not-utf8", |f| f.put(CONFIG, *b"\xff\xfe\0\0{\0\0\0}\0\0\0")),
    ("an overlong NUL", "source::not-utf8", |f| f.put(CONFIG, *b"{\"a\":\"\xc0\x80\"}\n")),
    ("a surrogate in UTF-8", "source::not-utf8", |f| f.put(CONFIG, *b"{\"a\":\"\xed\xa0\x80\"}\n")),
    ("a byte that is no UTF-8 in a table", "source::not-utf8", |f| f.put(TASKS, *b"a\n\xff\n")),
    ("a code point beyond Unicode", "source::not-utf8", |f| {
        f.put(CONFIG, *b"{\"a\":\"\xf4\x90\x80\x80\"}\n")
    }),
    ("a lone surrogate", "source::syntax", |f| f.put(CONFIG, "{\"a\":\"\\ud800\"}\n")),
    ("a lone surrogate in a key", "source::syntax", |f| f.put(CONFIG, "{\"\\udc00\":1}\n")),
    ("surrogates in the wrong order", "source::syntax", |f| {
        f.put(CONFIG, "{\"a\":\"\\ude00\\ud83d\"}\n")
    }),
    ("a control character in a string", "source::syntax", |f| f.put(CONFIG, "{\"a\":\"\u{1}\"}\n")),
    ("a line feed in a string", "source::syntax", |f| f.put(CONFIG, "{\"a\":\"x\ny\"}\n")),
    ("a NUL after the document", "source::syntax", |f| f.put(CONFIG, "{}\n\0")),
    ("an escape that needs none", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"a\":\"\\u0041\"}\n")
    }),
    ("an escaped slash", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\":\"\\/\"}\n")),
    // Documents.
    ("a second document", "source::syntax", |f| f.put(CONFIG, "{}\n{}\n")),
    ("a second document on the line", "source::syntax", |f| f.put(CONFIG, "{}{}\n")),
    ("a second receipt behind the first", "source::syntax", |f| {
        f.receipt_text = |t| format!("{t}{t}")
    }),
    ("an empty document", "source::syntax", |f| f.put(CONFIG, "")),
    ("half a document", "source::syntax", |f| f.put(CONFIG, "{\"a\":[1,")),
    ("a comment", "source::syntax", |f| f.put(CONFIG, "{\"a\":1/* two */}\n")),
    ("a comma too many", "source::syntax", |f| f.put(CONFIG, "{\"a\":1,}\n")),
    ("single quotes", "source::syntax", |f| f.put(CONFIG, "{'a':1}\n")),
    ("a word for a value", "source::syntax", |f| f.put(CONFIG, "{\"a\":True}\n")),
    ("JSON in a TOML file", "source::syntax", |f| f.put("data/a.toml", "{\"a\": 1}\n")),
    // One spelling.
    ("spaces", "bundle::not-canonical", |f| f.put(CONFIG, "{\"a\": 1}\n")),
    ("a line feed before the document", "bundle::not-canonical", |f| f.put(CONFIG, "\n{}\n")),
    ("a carriage return", "bundle::not-canonical", |f| f.put(CONFIG, "{}\r\n")),
    ("two line feeds", "bundle::not-canonical", |f| f.put(CONFIG, "{}\n\n")),
    ("keys out of order", "bundle::not-canonical", |f| f.put(CONFIG, "{\"b\":1,\"a\":1}\n")),
    ("keys in the order of bytes and not of UTF-16", "bundle::not-canonical", |f| {
        f.put(CONFIG, "{\"\u{fb33}\":1,\"\u{1f600}\":2}\n");
    }),
    ("no line feed", "bundle::not-canonical", |f| f.put(CONFIG, "{}")),
    ("a receipt with spaces", "bundle::not-canonical", |f| {
        f.receipt_text = |t| t.replace("\"origin\":", "\"origin\": ");
    }),
    ("a receipt without its line feed", "bundle::not-canonical", |f| {
        f.receipt_text = |t| t.trim_end().to_owned();
    }),
    ("a line with spaces", "bundle::not-canonical", |f| {
        f.put("data/timing.jsonl", "{\"a\":1}\n{\"a\": 2}\n");
    }),
    // Lines and tables.
    ("a torn line", "source::syntax", |f| f.put("data/timing.jsonl", "{\"a\":1}\n{\"a\":2}")),
    ("an empty line", "source::syntax", |f| f.put("data/timing.jsonl", "{\"a\":1}\n\n{\"a\":2}\n")),
    ("two records on a line", "source::syntax", |f| {
        f.put("data/timing.jsonl", "{\"a\":1} {\"a\":2}\n")
    }),
    ("an edited record", "bundle::broken-chain", |f| {
        f.put(METRICS, metrics().replace("0.5", "0.4"))
    }),
    ("a missing record", "bundle::broken-chain", |f| {
        let lines: Vec<_> = metrics().lines().map(|l| format!("{l}\n")).collect();
        f.put(METRICS, [lines[0].as_str(), &lines[2]].concat());
    }),
    ("a missing first record", "bundle::broken-chain", |f| {
        let lines: Vec<_> = metrics().lines().skip(1).map(|l| format!("{l}\n")).collect();
        f.put(METRICS, lines.concat());
    }),
    ("a record twice", "bundle::broken-chain", |f| {
        let first = metrics().lines().next().map(|l| format!("{l}\n")).unwrap();
        f.put(METRICS, format!("{first}{}", metrics()));
    }),
    ("records in another order", "bundle::broken-chain", |f| {
        let mut lines: Vec<_> = metrics().lines().map(|l| format!("{l}\n")).collect();
        lines.swap(1, 2);
        f.put(METRICS, lines.concat());
    }),
    ("a record without its chain", "source::missing-field", |f| {
        f.put(METRICS, "{\"loss\":0.5,\"step\":0}\n")
    }),
    ("a record that is no table", "source::wrong-type", |f| f.put(METRICS, "[]\n")),
    ("a ragged table", "source::syntax", |f| f.put(TASKS, "a,b\n1\n")),
    ("a cell with an open quote", "source::syntax", |f| f.put(TASKS, "a,b\n\"1,2\n")),
    ("a column without a name", "source::syntax", |f| f.put(TASKS, "a,\n1,2\n")),
    // Our own schema.
    ("an unknown field", "source::unknown-field", |f| f.predicate["runs"] = json!(1)),
    ("an unknown field inside", "source::unknown-field", |f| {
        f.predicate["checkpoints"][0]["weight"] = json!(WEIGHTS);
    }),
    ("an unknown field of the run", "source::unknown-field", |f| {
        f.predicate["run"]["ID"] = json!("run-2")
    }),
    ("an unknown field of a fact", "source::unknown-field", |f| {
        *f = transcribed();
        let fact = "{\"at\":{\"place\":\"p\",\"source\":\"s\"},\"id\":\"a\",\"value\":\"1\",\"values\":\"2\"}";
        f.put("data/facts.json", format!("{{\"facts\":[{fact}]}}\n"));
    }),
    ("a field of another type", "source::wrong-type", |f| {
        f.predicate["run"]["id"] = json!(["run-1"])
    }),
    ("a number as text", "source::wrong-type", |f| {
        f.predicate["model"]["params_total"] = json!("4")
    }),
    ("half a parameter", "source::wrong-type", |f| {
        f.predicate["model"]["params_total"] = json!(4.5)
    }),
    ("a receipt that is a list", "source::wrong-type", |f| {
        f.receipt_text = |t| format!("[{}]\n", t.trim_end())
    }),
    ("a receipt without a predicate", "source::missing-field", |f| {
        f.statement = |s| drop(s.as_object_mut().unwrap().remove("predicate"));
    }),
    ("another schema", "bundle::wrong-schema", |f| {
        f.predicate["schema"] = json!("repro.receipt/2")
    }),
    ("another statement type", "bundle::wrong-schema", |f| {
        f.statement = |s| s["_type"] = json!("https://in-toto.io/Statement/v0.1");
    }),
    ("another predicate type", "bundle::wrong-schema", |f| {
        f.statement = |s| s["predicateType"] = json!("https://slsa.dev/provenance/v1");
    }),
    ("an origin that is not known", "bundle::bad-origin", |f| {
        f.predicate["origin"] = json!("signed")
    }),
];
