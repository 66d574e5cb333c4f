//! Rule 9: the receipt against the files, the numbers against each other, and the bundle against who asks
//! for it.

use std::fs;

use repro_core::digest::Digest;
use serde_json::json;

use super::Case;
use super::forge::{CONFIG, RECEIPT, WEIGHTS, emitted, metrics, post, transcribed, weights};

pub const CASES: &[Case] = &[
    // Subjects.
    ("a subject is missing", "bundle::wrong-subjects", |f| {
        f.statement = |s| drop(s["subject"].as_array_mut().unwrap().remove(1));
    }),
    ("no subjects", "bundle::wrong-subjects", |f| f.statement = |s| s["subject"] = json!([])),
    ("a subject too many", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let mut extra = s["subject"][0].clone();
            extra["name"] = json!("data/other.json");
            s["subject"].as_array_mut().unwrap().push(extra);
        };
    }),
    ("a subject outside", "bundle::wrong-subjects", |f| {
        f.statement = |s| s["subject"][0]["name"] = json!("../../../etc/passwd");
    }),
    ("a subject by its name without the folder", "bundle::wrong-subjects", |f| {
        f.statement = |s| s["subject"][0]["name"] = json!("config.json");
    }),
    ("the receipt as its own subject", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let mut extra = s["subject"][0].clone();
            extra["name"] = json!(RECEIPT);
            s["subject"].as_array_mut().unwrap().push(extra);
        };
    }),
    ("a tag file as a subject", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let mut extra = s["subject"][0].clone();
            extra["name"] = json!("bagit.txt");
            s["subject"].as_array_mut().unwrap().push(extra);
        };
    }),
    ("a subject twice", "bundle::duplicate-name", |f| {
        f.statement = |s| {
            let again = s["subject"][0].clone();
            s["subject"].as_array_mut().unwrap().push(again);
        };
    }),
    ("a subject twice with two digests", "bundle::duplicate-name", |f| {
        f.statement = |s| {
            let mut again = s["subject"][0].clone();
            again["digest"]["sha256"] = json!(Digest::of(b"").to_string());
            s["subject"].as_array_mut().unwrap().push(again);
        };
    }),
    ("the digest of another config", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let subjects = s["subject"].as_array_mut().unwrap();
            let config = subjects.iter_mut().find(|subject| subject["name"] == CONFIG).unwrap();
            config["digest"]["sha256"] = json!(Digest::of(b"{\"dim\":65}\n").to_string());
        };
    }),
    ("the digests of two files exchanged", "bundle::wrong-subjects", |f| {
        f.statement = |s| {
            let first = s["subject"][0]["digest"].take();
            s["subject"][0]["digest"] = s["subject"][1]["digest"].take();
            s["subject"][1]["digest"] = first;
        };
    }),
    ("another config, sealed, under the old subjects", "bundle::wrong-subjects", |f| {
        f.put(CONFIG, "{\"dim\":65}\n");
        f.receipt_text = |t| {
            let (old, new) = (Digest::of(b"{\"dim\":64}\n"), Digest::of(b"{\"dim\":65}\n"));
            t.replace(&new.to_string(), &old.to_string())
        };
    }),
    ("a subject without SHA-256", "source::missing-field", |f| {
        f.statement = |s| s["subject"][0]["digest"] = json!({"sha1": "da39a3ee"});
    }),
    ("a subject digest in capitals", "bundle::bad-digest", |f| {
        f.statement = |s| s["subject"][0]["digest"]["sha256"] = json!("A".repeat(64));
    }),
    ("a subject digest that is cut", "bundle::bad-digest", |f| {
        f.statement = |s| s["subject"][0]["digest"]["sha256"] = json!("a".repeat(63));
    }),
    // Sizes.
    ("a wrong declared size", "bundle::wrong-size", |f| {
        f.statement = |s| s["predicate"]["files"][1]["bytes"] = json!(1);
    }),
    ("a size of a file that is not there", "bundle::undeclared-size", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.push(json!({"name": "data/other.json", "bytes": 1}));
        };
    }),
    ("a size of the receipt itself", "bundle::undeclared-size", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.push(json!({"name": RECEIPT, "bytes": 1}));
        };
    }),
    ("a size twice", "bundle::duplicate-name", |f| {
        f.statement = |s| {
            let again = s["predicate"]["files"][0].clone();
            s["predicate"]["files"].as_array_mut().unwrap().push(again);
        };
    }),
    ("a second digest that is another", "bundle::wrong-digest", |f| {
        f.statement = |s| s["predicate"]["files"][0]["sha256"] = json!(Digest::of(b"").to_string());
    }),
    ("an external file without a digest", "source::missing-field", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            files.push(json!({"name": "w.safetensors", "bytes": 1, "external": true}));
        };
    }),
    ("a payload file that is called external", "bundle::undeclared-size", |f| {
        f.statement = |s| {
            let digest = Digest::of(b"").to_string();
            s["predicate"]["files"][0]["external"] = json!(true);
            s["predicate"]["files"][0]["sha256"] = json!(digest);
        };
    }),
    // The run.
    ("the receipt of another run", "bundle::wrong-name", |f| {
        f.predicate["run"]["id"] = json!("run-2")
    }),
    ("the receipt of a run in other letters", "bundle::wrong-name", |f| {
        f.predicate["run"]["id"] = json!("RUN-1");
    }),
    ("an emitted receipt without a run", "source::missing-field", |f| {
        f.predicate.as_object_mut().unwrap().remove("run");
    }),
    ("another bundle in this one's folder", "bundle::wrong-name", |f| {
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            let mut other = emitted();
            other.predicate["run"]["id"] = json!("run-2");
            other.write(p);
        };
    }),
    // Parameters and weights.
    ("a parameter count that the tensors do not have", "bundle::wrong-count", |f| {
        f.predicate["model"] = json!({"params_total": 5});
    }),
    ("the parameter count of an optimizer besides", "bundle::wrong-count", |f| {
        let text = r#"{"optimizer.m.w":{"dtype":"F32","shape":[4],"data_offsets":[16,32]},"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
        f.put(WEIGHTS, super::forge::safetensors(text, &[0; 32]));
        f.predicate["model"] = json!({"params_total": 8});
    }),
    ("a parameter count of nothing", "bundle::wrong-count", |f| {
        f.predicate["model"] = json!({"params_total": 0})
    }),
    ("a second checkpoint of another model", "bundle::wrong-count", |f| {
        let text = r#"{"w":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}}"#;
        f.put("data/checkpoints/step-20.safetensors", super::forge::safetensors(text, &[0; 20]));
        let second = json!({"step": 20, "weights": "data/checkpoints/step-20.safetensors"});
        f.predicate["checkpoints"].as_array_mut().unwrap().push(second);
    }),
    ("a number of tensors that the checkpoint does not have", "bundle::wrong-count", |f| {
        f.predicate["model"] = json!({"params_total": 4, "tensors": 2});
    }),
    ("an evaluation that is not there", "bundle::unknown-file", |f| {
        f.predicate["checkpoints"][0]["evaluation"] = json!("data/evaluation/step-20.json");
    }),
    ("an evaluation outside", "bundle::unknown-file", |f| {
        f.predicate["checkpoints"][0]["evaluation"] = json!("/etc/passwd");
    }),
    ("weights that are not there", "bundle::unknown-file", |f| {
        f.predicate["checkpoints"][0]["weights"] = json!("../step-10.safetensors");
    }),
    ("the digest of other weights", "bundle::wrong-digest", |f| {
        f.predicate["checkpoints"][0]["weights_sha256"] = json!(Digest::of(b"").to_string());
    }),
    ("the old digest of weights that were exchanged", "bundle::wrong-digest", |f| {
        let old = Digest::of(&weights([0.5, -1.0, 3e38, 0.0])).to_string();
        f.predicate["checkpoints"][0]["weights_sha256"] = json!(old);
        f.put(WEIGHTS, weights([0.5, -1.0, 3e38, 1.0]));
    }),
    ("the digest of other external weights", "bundle::wrong-digest", |f| {
        f.statement = |s| {
            let files = s["predicate"]["files"].as_array_mut().unwrap();
            let digest = Digest::of(b"a").to_string();
            files.push(
                json!({"name": "w.safetensors", "bytes": 1, "external": true, "sha256": digest}),
            );
            s["predicate"]["checkpoints"] = json!([
                {"step": 10, "weights": "w.safetensors", "weights_sha256": Digest::of(b"b").to_string()}
            ]);
        };
    }),
    ("a slice that is not there", "bundle::unknown-file", |f| {
        f.predicate["slices"] =
            json!([{"from_step": 0, "steps": 1, "file": "data/slices/0.safetensors"}]);
    }),
    ("a log of another run, with its chain begun elsewhere", "bundle::broken-chain", |f| {
        let second = metrics().lines().nth(1).map(|l| format!("{l}\n")).unwrap();
        f.put("data/metrics.jsonl", second);
    }),
    // Where it comes from.
    ("typed facts in an emitted bundle", "bundle::wrong-field-for-origin", |f| {
        f.put("data/facts.json", "{\"facts\":[]}\n");
    }),
    ("a trainer in a transcribed bundle", "bundle::wrong-field-for-origin", |f| {
        *f = transcribed();
        f.predicate["trainer"] = json!({"name": "repro"});
    }),
    ("checkpoints in a transcribed bundle", "bundle::wrong-field-for-origin", |f| {
        *f = transcribed();
        f.predicate["checkpoints"] = json!([{"step": 1}]);
    }),
    ("slices in a transcribed bundle", "bundle::wrong-field-for-origin", |f| {
        *f = transcribed();
        f.predicate["slices"] = json!([{"from_step": 0, "steps": 1, "file": "data/a.safetensors"}]);
    }),
    ("a typed file without its document", "bundle::untraced-document", |f| {
        *f = transcribed();
        f.put("data/configs/b.toml", "dim = 1\n");
    }),
    ("a typed file of an empty document", "bundle::untraced-document", |f| {
        *f = transcribed();
        f.predicate["extra"]["documents"]["data/configs/a.toml"] = json!(" ");
    }),
    ("a document for a file that is not there", "bundle::unknown-file", |f| {
        *f = transcribed();
        f.predicate["extra"]["documents"]["data/configs/z.toml"] = json!("config-z");
    }),
    ("two facts with one id", "bundle::duplicate-fact", |f| {
        *f = transcribed();
        let fact = "{\"at\":{\"place\":\"p\",\"source\":\"s\"},\"id\":\"a\",\"value\":\"1\"}";
        f.put("data/facts.json", format!("{{\"facts\":[{fact},{fact}]}}\n"));
    }),
    ("a fact that its quote does not print", "bundle::transcription-differs", |f| {
        *f = transcribed();
        let at = "{\"place\":\"p\",\"quote\":\"loss 2.310\",\"source\":\"s\"}";
        f.put(
            "data/facts.json",
            format!("{{\"facts\":[{{\"at\":{at},\"id\":\"a\",\"value\":\"2.301\"}}]}}\n"),
        );
    }),
    ("a fact without a place", "bundle::bad-fact", |f| {
        *f = transcribed();
        let fact = "{\"at\":{\"place\":\"\",\"source\":\"s\"},\"id\":\"a\",\"value\":\"1\"}";
        f.put("data/facts.json", format!("{{\"facts\":[{fact}]}}\n"));
    }),
    ("a fact whose id leads elsewhere", "bundle::bad-fact", |f| {
        *f = transcribed();
        let fact = "{\"at\":{\"place\":\"p\",\"source\":\"s\"},\"id\":\"a/value\",\"value\":\"1\"}";
        f.put("data/facts.json", format!("{{\"facts\":[{fact}]}}\n"));
    }),
    // The post that asks.
    ("an older bundle than the pinned one", "bundle::wrong-bundle", |f| {
        f.post = Some(|digest| post("run-1", digest));
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            let mut older = emitted();
            older.put("data/notes.txt", "as it was before\n");
            older.write(p);
        };
    }),
    ("the bundle of another post", "bundle::wrong-bundle", |f| {
        f.post = Some(|digest| post("run-1", digest));
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            let mut other = transcribed();
            other.put("data/facts.json", "{\"facts\":[]}\n");
            other.write(p);
        };
    }),
    ("a pinned bundle under the name of another run", "bundle::wrong-name", |f| {
        f.predicate["run"]["id"] = json!("run-0");
        f.post = Some(|digest| post("run-1", digest));
    }),
    ("a pinned bundle that is not there", "post::unknown-bundle", |f| {
        f.post = Some(|digest| post("run-2", digest));
    }),
    ("a pin that leads out of the folder of bundles", "post::bad-locator", |f| {
        f.post = Some(|digest| post("../receipts/run-1", digest));
    }),
    ("a pin of the folder above", "bundle::bad-bundle-name", |f| {
        f.post = Some(|digest| post("..", digest))
    }),
    ("a pin that is no digest", "post::bad-digest", |f| {
        f.post = Some(|_| post("run-1", "sha256:latest"))
    }),
    ("a pin without its algorithm", "post::bad-digest", |f| {
        f.post = Some(|digest| post("run-1", digest.trim_start_matches("sha256:")));
    }),
    ("a pinned bundle with one changed byte", "bundle::wrong-digest", |f| {
        f.post = Some(|digest| post("run-1", digest));
        f.disk = |p| fs::write(p.join(CONFIG), "{\"dim\":65}\n").unwrap();
    }),
    ("a pinned bundle whose payload was sealed again", "bundle::wrong-bundle", |f| {
        f.post = Some(|digest| post("run-1", digest));
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            let mut again = emitted();
            again.put(CONFIG, "{\"dim\":65}\n");
            again.write(p);
        };
    }),
    (
        "a pinned bundle with another tag manifest over the same payload",
        "bundle::wrong-bundle",
        |f| {
            f.post = Some(|digest| post("run-1", digest));
            f.disk = |p| {
                fs::remove_dir_all(p).unwrap();
                let mut again = emitted();
                again.info = "Contact-Name: Somebody Else\n".into();
                again.write(p);
            };
        },
    ),
    ("a pinned bundle that is a link to the right one", "bundle::not-a-folder", |f| {
        f.post = Some(|digest| post("run-1", digest));
        f.disk = |p| {
            fs::rename(p, p.with_file_name("other")).unwrap();
            std::os::unix::fs::symlink("other", p).unwrap();
        };
    }),
];
