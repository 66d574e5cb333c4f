//! Honest bundles just below the caps: they must be accepted, soon and in bounded memory.

use std::fmt::Write;

use repro_core::source::VALUE_CAP;
use serde_json::json;

use super::Case;
use super::forge::{Forge, WEIGHTS, safetensors, transcribed};

/// The largest document (16 MiB).
const CAP: usize = 16 << 20;

/// An object of as many members as a document may have.
fn members() -> String {
    let mut text = String::from("{\"\":0");
    for at in 0..VALUE_CAP - 4 {
        let _ = write!(text, ",\"{at:07}\":{at}");
    }
    text + "}\n"
}

/// A list of as many numbers as a document may have, `levels` deep.
fn numbers(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!("{open}0.5{}{close}\n", ",0.25".repeat(VALUE_CAP - levels - 3))
}

/// Documents at the caps under the same name with a number.
fn several(f: &mut Forge, count: usize) {
    for at in 0..count {
        f.put(&format!("data/heavy/{at}.json"), members());
    }
}

/// A checkpoint with as much metadata as a header can hold.
fn annotated() -> Vec<u8> {
    let text = format!(
        r#"{{"__metadata__":{{"a":"{}"}},"w":{{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}}}"#,
        "m".repeat(CAP - 100)
    );
    safetensors(&text, &[0; 16])
}

pub const CASES: &[Case] = &[
    ("a document of one long string", "", |f| {
        f.put("data/a.json", format!("[\"{}\"]\n", "a".repeat(CAP - 5)));
    }),
    ("a document of all members that it may have", "", |f| several(f, 1)),
    ("three such documents", "", |f| several(f, 3)),
    ("a document of all numbers that it may have", "", |f| f.put("data/a.json", numbers(1))),
    ("the same at the deepest level", "", |f| f.put("data/a.json", numbers(64))),
    ("a document of long escapes", "", |f| {
        f.put("data/a.json", format!("[\"{}\"]\n", "\\\\".repeat(CAP / 2 - 5)));
    }),
    ("a log of lines at the cap of a line", "", |f| {
        let line = format!("\"{}\"\n", "a".repeat((1 << 20) - 3));
        f.put("data/timing.jsonl", line.repeat(16));
    }),
    ("a log of lines with all values that they may have", "", |f| {
        f.put("data/timing.jsonl", numbers(1).replace("0.25", "1").repeat(8));
    }),
    ("a table of all cells that it may have", "", |f| {
        f.put("data/a.csv", format!("a,b,c\n{}", "1,2,3\n".repeat(VALUE_CAP / 4 - 1)));
    }),
    ("a table of one column with a long name", "", |f| {
        f.put(
            "data/a.csv",
            format!("{}\n{}", "n".repeat(8 << 20), "1\n".repeat(VALUE_CAP / 2 - 1)),
        );
    }),
    ("TOML of all values that it may have", "", |f| {
        f.put("data/a.toml", format!("a = [{}]\n", "1,".repeat(VALUE_CAP / 2 - 4)));
    }),
    ("TOML of small tables", "", |f| {
        let mut text = String::new();
        (0..VALUE_CAP / 2 / 4).for_each(|at| text += &format!("[t{at}]\na=1\n"));
        f.put("data/a.toml", text);
    }),
    ("TOML of dotted keys", "", |f| {
        let mut text = String::new();
        (0..VALUE_CAP / 2 / 12).for_each(|at| text += &format!("k{at}.b.c.d.e.f.g.h.i.j=1\n"));
        f.put("data/a.toml", text);
    }),
    ("a checkpoint of many tensors", "", |f| {
        let one = |at: usize| {
            format!(
                "\"t.{at}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}",
                at + 1
            )
        };
        let count = VALUE_CAP / 7 - 1;
        let all: Vec<_> = (0..count).map(one).collect();
        f.put(
            "data/many.safetensors",
            safetensors(&format!("{{{}}}", all.join(",")), &vec![0; count]),
        );
    }),
    ("a checkpoint with sixteen megabytes of metadata", "", |f| f.put(WEIGHTS, annotated())),
    ("six such checkpoints", "", |f| {
        (0..6).for_each(|at| f.put(&format!("data/heavy/{at}.safetensors"), annotated()));
    }),
    ("a receipt with all that it may say beside", "", |f| {
        let many: serde_json::Map<_, _> =
            (0..VALUE_CAP - 200).map(|at| (format!("{at:07}"), json!(at))).collect();
        f.predicate["extra"] = json!({ "many": many });
    }),
    ("such a receipt beside documents at the caps", "", |f| {
        let many: serde_json::Map<_, _> =
            (0..VALUE_CAP - 200).map(|at| (format!("{at:07}"), json!(at))).collect();
        f.predicate["extra"] = json!({ "many": many });
        several(f, 2);
    }),
    ("twenty thousand files", "", |f| {
        (0..20_000).for_each(|at| f.put(&format!("data/many/{}/{at}.json", at / 100), "{}\n"));
    }),
    ("many facts", "", |f| {
        *f = transcribed();
        let fact = |at: usize| {
            format!(
                "{{\"at\":{{\"place\":\"table {at}\",\"source\":\"s\"}},\"id\":\"f{at:06}\",\"value\":\"{at}\"}}"
            )
        };
        let all: Vec<_> = (0..VALUE_CAP / 6 - 1).map(fact).collect();
        f.put("data/facts.json", format!("{{\"facts\":[{}]}}\n", all.join(",")));
    }),
    ("facts about the bag of sixteen megabytes", "", |f| {
        f.info = "Label: value\n".repeat(CAP / 13)
    }),
];
