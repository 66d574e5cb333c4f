//! Rule 6, what is large: documents at and beyond the caps, made to fill the memory or to take for ever.
//! Each must be refused soon and in bounded memory.

use std::fmt::Write;
use std::fs;

use repro_core::digest::Digest;
use serde_json::json;

use super::Case;
use super::forge::{CONFIG, METRICS, RECEIPT, TASKS};

/// The largest document (16 MiB).
const CAP: usize = 16 << 20;

/// `unit` again and again, up to the largest document.
fn full(start: &str, unit: &str, end: &str) -> String {
    let room = CAP - start.len() - end.len();
    format!("{start}{}{end}", unit.repeat(room / unit.len()))
}

/// An object of as many small members as fit.
fn members() -> String {
    let mut text = String::from("{\"\":0");
    let mut at = 0;
    while text.len() < CAP - 32 {
        let _ = write!(text, ",\"{at:07}\":0");
        at += 1;
    }
    text + "}\n"
}

pub const CASES: &[Case] = &[
    ("a document beyond the cap", "source::too-large", |f| f.put(CONFIG, vec![b' '; CAP + 1])),
    ("a table beyond the cap", "source::too-large", |f| f.put(TASKS, vec![b'a'; CAP + 1])),
    ("a receipt beyond the cap", "source::too-large", |f| {
        f.receipt_text = |t| t + &" ".repeat(CAP);
    }),
    ("a manifest beyond the cap", "source::too-large", |f| {
        f.manifest = |n, t| if n.starts_with("tag") { t } else { t + &" ".repeat(CAP) };
    }),
    ("a tag manifest beyond the cap", "source::too-large", |f| {
        f.manifest = |n, t| if n.starts_with("tag") { t + &" ".repeat(CAP) } else { t };
    }),
    ("lists in lists without end", "source::too-deep", |f| f.put(CONFIG, full("", "[", ""))),
    ("lists in lists that end", "source::too-deep", |f| {
        f.put(CONFIG, format!("{}{}", "[".repeat(CAP / 2), "]".repeat(CAP / 2)));
    }),
    ("objects in objects without end", "source::too-deep", |f| {
        f.put(CONFIG, full("", "{\"a\":", ""))
    }),
    ("lists in lists in the receipt", "source::too-deep", |f| {
        f.receipt_text = |_| full("{\"extra\":", "[", "");
    }),
    ("a full list of small numbers", "source::too-many-values", |f| {
        f.put(CONFIG, full("[0", ",1", "]\n"));
    }),
    ("a full list of empty lists", "source::too-many-values", |f| {
        f.put(CONFIG, full("[[]", ",[]", "]\n"))
    }),
    ("a full list of empty objects", "source::too-many-values", |f| {
        f.put(CONFIG, full("[{}", ",{}", "]\n"));
    }),
    ("a full list of empty strings", "source::too-many-values", |f| {
        f.put(CONFIG, full("[\"\"", ",\"\"", "]\n"));
    }),
    ("a full object of small members", "source::too-many-values", |f| f.put(CONFIG, members())),
    ("a receipt full of small members", "source::too-many-values", |f| {
        f.receipt_text = |_| members();
    }),
    ("a receipt full of subjects", "source::too-many-values", |f| {
        f.receipt_text = |_| full("{\"subject\":[{}", ",{\"name\":\"\"}", "]}\n");
    }),
    ("lists beside each other at the deepest level", "source::too-many-values", |f| {
        let (open, close) = ("[".repeat(63), "]".repeat(63));
        f.put(CONFIG, full(&format!("{open}[]"), ",[]", &format!("{close}\n")));
    }),
    ("a table of cells with one letter", "source::too-many-values", |f| {
        let head: String = (0..256).map(|at| format!("c{at},")).collect();
        let row = "1,".repeat(256);
        f.put(
            TASKS,
            full(&format!("{}\n", &head[..head.len() - 1]), &format!("{}\n", &row[..511]), ""),
        );
    }),
    ("a table of empty cells in one row", "source::too-many-values", |f| {
        f.put(TASKS, full("", ",", "\n"))
    }),
    ("a table of one column with a long name", "source::too-many-values", |f| {
        f.put(TASKS, full(&format!("{}\n", "n".repeat(1 << 20)), "1\n", ""));
    }),
    ("TOML full of one list", "source::too-many-values", |f| {
        f.put("data/a.toml", full("a = [1", ",1", "]\n"))
    }),
    ("TOML full of small keys", "source::too-many-values", |f| {
        let mut text = String::new();
        (0..CAP / 12).for_each(|at| text += &format!("k{at:07}=1\n"));
        f.put("data/a.toml", text);
    }),
    ("TOML full of tables", "source::too-many-values", |f| {
        f.put("data/a.toml", full("", "[[a]]\n", ""))
    }),
    ("a number of sixteen million digits", "source::not-finite", |f| {
        f.put(CONFIG, full("[", "1", "]\n"))
    }),
    ("a fraction of sixteen million digits", "bundle::not-canonical", |f| {
        f.put(CONFIG, full("[0.", "1", "]\n"));
    }),
    ("an exponent of sixteen million digits", "source::not-finite", |f| {
        f.put(CONFIG, full("[1e", "9", "]\n"))
    }),
    ("a key of eight megabytes twice", "source::duplicate-key", |f| {
        let key = "k".repeat(CAP / 2 - 16);
        f.put(CONFIG, format!("{{\"{key}\":1,\"{key}\":2}}\n"));
    }),
    ("an unknown field with a name of megabytes", "source::unknown-field", |f| {
        f.receipt_text = |t| {
            let name = "n".repeat(8 << 20);
            t.replacen("\"origin\"", &format!("\"{name}\":1,\"origin\""), 1)
        };
    }),
    ("a fault at the end of one long line", "source::syntax", |f| {
        f.put(CONFIG, full("[\"", "é", "\"x]\n"))
    }),
    ("a string without an end", "source::syntax", |f| f.put(CONFIG, full("[\"", "\\\\", ""))),
    ("a schema of megabytes", "bundle::wrong-schema", |f| {
        f.statement = |s| s["_type"] = json!("x".repeat(8 << 20));
    }),
    ("a line beyond the cap of lines", "source::too-large", |f| {
        f.put("data/timing.jsonl", format!("\"{}\"\n", "a".repeat(1 << 20)));
    }),
    ("a log without a line feed", "source::too-large", |f| {
        f.put("data/timing.jsonl", full("\"", "a", ""))
    }),
    ("long lines of lists in lists", "source::too-deep", |f| {
        let line = format!("{}\n", "[".repeat((1 << 20) - 1));
        f.put("data/timing.jsonl", line.repeat(16));
    }),
    ("a long line of small numbers", "source::too-many-values", |f| {
        let line = format!("[0{}]\n", ",1".repeat((1 << 19) - 8));
        f.put("data/timing.jsonl", line.repeat(16));
    }),
    ("a log of records at the cap of a line that break the chain", "bundle::broken-chain", |f| {
        let digest = Digest::of(b"");
        let line =
            format!("{{\"chain\":\"{digest}\",\"x\":\"{}\"}}\n", "a".repeat((1 << 20) - 100));
        f.put(METRICS, line.repeat(16));
    }),
    ("a manifest full of names that are not there", "bundle::missing-file", |f| {
        f.manifest = |n, t| {
            if n.starts_with("tag") {
                return t;
            }
            let digest = Digest::of(b"");
            let lines = (0..CAP / 100).map(|at| format!("{digest}  data/extra/file-{at:08}.txt\n"));
            lines.fold(t, |text, line| text + &line)
        };
    }),
    ("a manifest of one long line", "bundle::bad-manifest", |f| {
        f.manifest = |n, t| if n.starts_with("tag") { t } else { full("", "a", "\n") };
    }),
    ("facts about the bag full of lines, the last of them bad", "bundle::bad-tag-file", |f| {
        f.info = full("", "A: b\n", "bad\n");
    }),
    ("more files than a bundle may hold", "bundle::too-many-files", |f| {
        f.disk = |p| {
            for folder in 0..101 {
                let folder = p.join(format!("data/many-{folder:03}"));
                fs::create_dir(&folder).unwrap();
                (0..1000)
                    .for_each(|at| drop(fs::File::create(folder.join(format!("{at}"))).unwrap()));
            }
        };
    }),
    (
        "seventy thousand checkpoints, each with an evaluation that is there",
        "bundle::wrong-digest",
        |f| {
            f.statement = |s| {
                let digest = Digest::of(b"").to_string();
                let point = json!({"step": 1, "evaluation": "data/evaluation/step-10.json"});
                let mut points = vec![point; 70_000];
                points.push(
                    json!({"step": 1, "weights": super::forge::WEIGHTS, "weights_sha256": digest}),
                );
                s["predicate"]["checkpoints"] = json!(points);
            };
        },
    ),
    ("many external files beside many checkpoints", "bundle::unknown-file", |f| {
        f.statement = |s| {
            let digest = Digest::of(b"").to_string();
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.extend((0..20_000).map(|at| {
                json!({"name": format!("w{at}.safetensors"), "bytes": 1, "external": true, "sha256": digest})
            }));
            let point =
                |at| json!({"step": at, "weights": format!("w{}.safetensors", 19_999 - at % 100)});
            let mut points: Vec<_> = (0..20_000).map(point).collect();
            points.push(json!({"step": 1, "weights": RECEIPT.replace("receipt", "none")}));
            s["predicate"]["checkpoints"] = json!(points);
        };
    }),
];
