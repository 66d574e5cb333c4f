//! Runs that have committed themselves to their states: what a stranger can ask of them afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use repro_bundle::bundle::{Chain, evaluation_digest, seal};
use repro_core::digest::{Digest, canonical};
use repro_replay::{TensorData, TensorFile};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::train::{STUDY, code, repro, root, text, untuned};

const RUN: &str = "smoke-moe-short-s1";
const WEIGHTS: &str = "model.embed_tokens.weight";

/// A run of a study that keeps two checkpoints, and its project.
struct Trained {
    project: TempDir,
}

impl Trained {
    fn new() -> Self {
        let project = root(|study| {
            untuned(study, 1, "0.016")
                .replacen("fractions = [0.5, 1.0]", "fractions = [0.25, 0.5, 1.0]", 1)
                .replacen("fractions = [0.5] }", "fractions = [0.25, 0.5] }", 1)
        });
        let trained = repro(project.path(), &["train", STUDY, "--out", "receipts", "--only", RUN]);
        assert_eq!(code(&trained), 0, "{}", text(&trained.stderr));
        Self { project }
    }

    fn bundle(&self) -> PathBuf {
        self.project.path().join("receipts").join(RUN)
    }

    /// A copy in a folder of its own, changed and sealed again.
    fn forged(&self, change: impl FnOnce(&Forgery)) -> Forgery {
        let folder = crate::sealed::new_folder();
        let path = folder.path().join(RUN);
        crate::relations::copy(&self.bundle(), &path);
        let forgery = Forgery::new(folder, path);
        change(&forgery);
        seal(&forgery.path, RUN, None).unwrap();
        forgery
    }
}

/// A bundle whose author has changed it, and has made all digests and chains right again.
pub struct Forgery {
    _folder: TempDir,
    pub path: PathBuf,
}

impl Forgery {
    pub fn new(folder: TempDir, path: PathBuf) -> Self {
        Self { _folder: folder, path }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join("data").join(name)
    }

    pub fn json(&self, name: &str, change: impl FnOnce(&mut Json)) {
        let text = fs::read_to_string(self.file(name)).unwrap();
        let mut document = serde_json::from_str(&text).unwrap();
        change(&mut document);
        fs::write(self.file(name), canonical(&document).unwrap() + "\n").unwrap();
    }

    /// Changes the lines of a chained file, and answers the chain of the last one.
    pub fn lines(&self, name: &str, change: impl FnOnce(&mut Vec<Json>)) -> Digest {
        let text = fs::read_to_string(self.file(name)).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        change(&mut lines);
        let mut chain = Chain::default();
        let all = lines.iter().map(|line| chain.extend(line.as_object().unwrap().clone()).unwrap());
        fs::write(self.file(name), all.collect::<String>()).unwrap();
        chain.last().unwrap()
    }

    /// Puts other weights into the checkpoint after `step` steps, and repeats their digest wherever it stands.
    fn weights(&self, step: u64, change: impl FnOnce(&mut Vec<f32>)) {
        self.tensor(step, WEIGHTS, change);
    }

    /// Changes the committed states, and commits the run to them and to its evaluations as they are now.
    fn states(&self, change: impl FnOnce(&mut Vec<Json>)) {
        let root = self.lines("states.jsonl", |lines| {
            change(lines);
            for line in lines.iter_mut().filter(|line| line.get("evaluation_sha256").is_some()) {
                let start = format!("step-{:06}.", line["step"].as_u64().unwrap());
                let names = fs::read_dir(self.file("evaluation")).unwrap().map(|one| one.unwrap());
                let names = names.map(|one| one.file_name().into_string().unwrap());
                let files = names.filter(|name| name.starts_with(&start)).map(|name| {
                    let digest =
                        Digest::of(&fs::read(self.file("evaluation").join(&name)).unwrap());
                    (format!("data/evaluation/{name}"), digest)
                });
                let files: Vec<_> = files.collect();
                let files = files.iter().map(|(name, digest)| (name.as_str(), *digest));
                line["evaluation_sha256"] = evaluation_digest(files).to_string().into();
            }
        });
        self.json("receipt.json", |receipt| {
            receipt["predicate"]["states"]["root"] = root.to_string().into();
        });
    }

    fn tensor(&self, step: u64, name: &str, change: impl FnOnce(&mut Vec<f32>)) {
        let path = self.file(&format!("checkpoints/step-{step:06}.safetensors"));
        let mut tensors = TensorFile::parse("w", &fs::read(&path).unwrap()).unwrap();
        let data = &tensors.tensors[name];
        let (mut values, shape) = (data.as_floats().unwrap(), data.shape().to_vec());
        change(&mut values);
        tensors.tensors.insert(name.to_owned(), TensorData::floats(&shape, &values));
        let (bytes, digest) = (tensors.write(), tensors.tensors_digest().to_string());
        fs::write(&path, &bytes).unwrap();
        self.json(&format!("evaluation/step-{step:06}.json"), |evaluation| {
            evaluation["tensors_sha256"] = digest.as_str().into();
        });
        self.states(|lines| {
            let line = lines.iter_mut().find(|line| line["step"] == step).unwrap();
            line["tensors_sha256"] = digest.as_str().into();
        });
        self.json("receipt.json", |receipt| {
            let receipt = &mut receipt["predicate"];
            let entries = receipt["checkpoints"].as_array_mut().unwrap();
            let entry = entries.iter_mut().find(|entry| entry["step"] == step).unwrap();
            entry["tensors_sha256"] = digest.as_str().into();
            entry["weights_sha256"] = Digest::of(&bytes).to_string().into();
        });
    }
}

/// The exit status of a command on a bundle, and the codes of what it found.
fn found(bundle: &Path, arguments: &[&str]) -> (i32, Vec<String>) {
    let mut all = vec!["verify", bundle.to_str().unwrap(), "--format", "json"];
    all.extend(arguments);
    let output = repro(bundle.parent().unwrap(), &all);
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    let claims = report["posts"].as_array().unwrap().iter().flat_map(|post| {
        let claims = post["claims"].as_array().unwrap().iter();
        claims.filter_map(|claim| Some(claim["code"].as_str()?.to_owned()))
    });
    let failures = report["failures"].as_array().unwrap().iter();
    let failures = failures.map(|failure| failure["code"].as_str().unwrap().to_owned());
    let mut codes: Vec<_> = claims.chain(failures).collect();
    codes.dedup();
    (code(&output), codes)
}

/// Draws all intervals of a bundle, or one, and has them executed.
fn challenged(bundle: &Path, seed: &str, count: &str) -> (i32, Vec<String>) {
    let drawn = draw(bundle, seed, count);
    let file = bundle.parent().unwrap().join("challenge.json");
    fs::write(&file, drawn.to_string()).unwrap();
    found(bundle, &["--challenge", file.to_str().unwrap()])
}

fn draw(bundle: &Path, seed: &str, count: &str) -> Json {
    let arguments =
        ["bundle", "challenge", bundle.to_str().unwrap(), "--seed", seed, "--count", count];
    let output = repro(bundle.parent().unwrap(), &arguments);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn has(found: &(i32, Vec<String>), code: &str) {
    assert!(found.0 == 1 && found.1.iter().any(|one| one == code), "{found:?} without {code}");
}

#[test]
fn an_honest_run_passes_whatever_is_drawn() {
    let trained = Trained::new();
    let bundle = trained.bundle();
    assert_eq!(found(&bundle, &[]), (0, Vec::new()));
    assert_eq!(challenged(&bundle, "a", "100"), (0, Vec::new()));
    let one = draw(&bundle, "a", "2");
    let other = ["b", "c", "d", "e"].map(|seed| draw(&bundle, seed, "2"));
    let other = other.into_iter().find(|other| other["intervals"] != one["intervals"]).unwrap();
    assert_eq!((one["of"].as_u64(), one["intervals"].as_array().unwrap().len()), (Some(7), 5));
    assert_eq!(one, draw(&bundle, "a", "2"));
    // A challenge is one of this bundle, as its seed gives it.
    let file = bundle.parent().unwrap().join("challenge.json");
    let mut chosen = one.clone();
    chosen["intervals"] = other["intervals"].clone();
    let mut of_another = one.clone();
    of_another["root"] = Digest::of(b"").to_string().into();
    let mut none = one;
    none["intervals"] = json!([]);
    for wrong in [chosen, of_another, none] {
        fs::write(&file, wrong.to_string()).unwrap();
        let found = found(&bundle, &["--challenge", file.to_str().unwrap()]);
        assert_eq!(found, (2, vec!["challenge::other".to_owned()]));
    }
    // A run of an earlier trainer has nothing to draw from.
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("receipts/tiny-moe-moe-active12-s1");
    let arguments = ["bundle", "challenge", old.to_str().unwrap(), "--seed", "a", "--count", "1"];
    let refused = repro(&bundle, &arguments);
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("challenge::no-states"));
}

#[test]
fn an_invented_checkpoint_is_caught_by_the_interval_before_it() {
    let trained = Trained::new();
    // So little is moved that nothing but execution can tell, and the slice behind it is what follows from it.
    let forged = trained.forged(|forgery| {
        forgery.weights(113, |weights| weights.iter_mut().for_each(|weight| *weight += 1e-4));
        let slice = "slices/slice-000113.safetensors";
        seal(&forgery.path, RUN, None).unwrap();
        let arguments = ["replay", forgery.path.to_str().unwrap(), "--slice", "113..117"];
        let replayed = repro(&forgery.path, &[&arguments[..], &["--format", "json"]].concat());
        let replayed: Json = serde_json::from_slice(&replayed.stdout).unwrap();
        let numbers = |field: &str| -> Vec<f32> {
            let steps = replayed["steps"].as_array().unwrap().iter();
            steps.map(|step| step[field].as_f64().unwrap() as f32).collect()
        };
        let mut tensors = TensorFile::parse("s", &fs::read(forgery.file(slice)).unwrap()).unwrap();
        tensors.tensors.retain(|name, _| name == "tokens");
        for (name, field) in [("loss", "replayed"), ("grad_norm", "replayed_grad_norm")] {
            let data = TensorData::floats(&[4], &numbers(field));
            tensors.tensors.insert(format!("logged.{name}"), data);
        }
        let before = Digest::of(&fs::read(forgery.file(slice)).unwrap()).to_string();
        fs::write(forgery.file(slice), tensors.write()).unwrap();
        let after = Digest::of(&tensors.write()).to_string();
        let receipt = fs::read_to_string(forgery.file("receipt.json")).unwrap();
        fs::write(forgery.file("receipt.json"), receipt.replace(&before, &after)).unwrap();
        fs::remove_file(forgery.file("slices/slice-000113.tensors.jsonl")).unwrap();
    });
    // All that is seen without a step is that the slice lost what a forger cannot fit by hand.
    let lost = ["slices::missing-field", "slices::routing-missing"].map(str::to_owned).to_vec();
    assert_eq!(found(&forged.path, &[]), (1, lost));
    let replay = |steps: &str| {
        let arguments = ["replay", forged.path.to_str().unwrap(), "--slice", steps];
        repro(&forged.path, &arguments)
    };
    assert_eq!(code(&replay("113..117")), 0, "the slice follows from the checkpoint");
    has(&challenged(&forged.path, "a", "100"), "challenge::state-differs");
    let full = repro(&forged.path, &["replay", forged.path.to_str().unwrap(), "--full"]);
    assert_eq!(code(&full), 1);
    let honest = trained.bundle();
    let arguments =
        ["replay", honest.to_str().unwrap(), "--against", forged.path.to_str().unwrap()];
    let dispute = repro(&forged.path, &[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(code(&dispute), 1, "{}", text(&dispute.stderr));
    let dispute: Json = serde_json::from_slice(&dispute.stdout).unwrap();
    assert_eq!((&dispute["equal_up_to"], &dispute["different_after"]), (&json!(100), &json!(113)));
    assert_eq!((&dispute["a"]["follows"], &dispute["b"]["follows"]), (&json!(true), &json!(false)));
    let what = dispute["b"]["found"].as_str().unwrap();
    assert!(what.starts_with("diverges in steps 111 to 113") && what.contains(WEIGHTS), "{what}");
    let same = repro(
        &honest,
        &["replay", honest.to_str().unwrap(), "--against", honest.to_str().unwrap()],
    );
    assert_eq!((code(&same), text(&same.stdout)), (0, "all 8 committed states are equal\n"));
}

#[test]
fn what_a_run_committed_itself_to_is_on_its_grid_and_made_of_digests() {
    let trained = Trained::new();
    let edited = |change: fn(&mut Vec<Json>)| {
        let forged = trained.forged(|forgery| {
            let root = forgery.lines("states.jsonl", change);
            forgery.json("receipt.json", |receipt| {
                receipt["predicate"]["states"]["root"] = root.to_string().into();
            });
        });
        found(&forged.path, &[])
    };
    // Honest states between the others would make it less likely that a forged one is drawn.
    let more = edited(|states| {
        let mut one = states[0].clone();
        (one["step"], one["tokens"]) =
            (1.into(), (states[1]["tokens"].as_u64().unwrap() / 50).into());
        states.insert(1, one);
    });
    has(&more, "states::unplanned-step");
    let digest = |states: &mut Vec<Json>| states[1]["tensors_sha256"] = "Z".repeat(64).into();
    has(&edited(digest), "states::malformed-digest");
    let cut = trained.forged(|forgery| {
        forgery
            .json("receipt.json", |receipt| receipt["predicate"]["run"]["finished"] = false.into());
    });
    has(&found(&cut.path, &[]), "receipt::unfinished-run");
}

#[test]
fn checkpoints_that_the_optimizer_cannot_have_made_are_found_without_a_step() {
    let trained = Trained::new();
    let of = |name: &'static str, change: fn(&mut Vec<f32>)| {
        let forged = trained.forged(|forgery| forgery.tensor(113, name, change));
        found(&forged.path, &[])
    };
    has(&of(WEIGHTS, |weights| weights[7] = 50.0), "weights::update-too-large");
    has(
        &of(WEIGHTS, |weights| weights.iter_mut().for_each(|w| *w *= 40.0)),
        "weights::update-too-large",
    );
    let mean = "optimizer.m.model.embed_tokens.weight";
    let square = "optimizer.v.model.embed_tokens.weight";
    let impossible = "weights::impossible-moments";
    has(&of(mean, |mean| mean.iter_mut().for_each(|m| *m = 0.5)), impossible);
    has(&of(square, |square| square.iter_mut().for_each(|v| *v *= -1.0)), impossible);
    has(&of(square, |square| square.iter_mut().for_each(|v| *v = 1.0)), impossible);
    has(
        &of(square, |square| square.iter_mut().for_each(|v| *v *= 1e-6)),
        "weights::second-moments",
    );
    let frozen = trained.forged(|forgery| {
        let path = forgery.file("checkpoints/step-000057.safetensors");
        let before = TensorFile::parse("w", &fs::read(path).unwrap()).unwrap();
        let before = before.tensors[WEIGHTS].as_floats().unwrap();
        forgery.weights(113, |weights| *weights = before);
    });
    has(&found(&frozen.path, &[]), "weights::unchanged-tensor");
    let other = trained.forged(|forgery| {
        forgery.json("receipt.json", |receipt| {
            let digest = Digest::of(b"").to_string();
            receipt["predicate"]["checkpoints"][1]["tensors_sha256"] = digest.into();
        });
    });
    has(&found(&other.path, &[]), "weights::tensor-digest");
    let far = trained.forged(|forgery| {
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["checkpoints"][1]["step"] = ((1_u64 << 53) - 1).into();
        });
    });
    let output =
        repro(far.path.parent().unwrap(), &["verify", far.path.to_str().unwrap(), "--verbose"]);
    assert!(
        text(&output.stdout).contains("the distance of the checkpoints"),
        "{}",
        text(&output.stdout)
    );
    let begun = trained.forged(|forgery| {
        let root = forgery.lines("states.jsonl", |lines| {
            lines[0]["tensors_sha256"] = Digest::of(b"").to_string().into();
        });
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["states"]["root"] = root.to_string().into();
        });
    });
    has(&found(&begun.path, &[]), "states::initial-weights");
}

#[test]
fn a_replay_of_the_whole_run_judges_all_that_it_says() {
    let trained = Trained::new();
    let full = |forgery: &Forgery| {
        let arguments = ["replay", forgery.path.to_str().unwrap(), "--full", "--format", "json"];
        let output = repro(&forgery.path, &arguments);
        let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
        (code(&output), answer["first_divergence"]["what"].as_str().unwrap_or("none").to_owned())
    };
    let honest = trained.forged(|_| {});
    assert_eq!(full(&honest), (0, "none".to_owned()));
    let refuted = |what: &str, change: &dyn Fn(&Forgery)| {
        let found = full(&trained.forged(change));
        assert_eq!(found, (1, what.to_owned()));
    };
    refuted("record", &|forgery| {
        forgery.lines("metrics.jsonl", |lines| lines.truncate(15));
    });
    refuted("record", &|forgery| {
        forgery.lines("metrics.jsonl", |lines| drop(lines.remove(3)));
    });
    refuted("record", &|forgery| {
        forgery.lines("metrics.jsonl", |lines| {
            let mut beyond = lines.last().unwrap().clone();
            beyond["step"] = 300.into();
            lines.push(beyond);
        });
    });
    refuted("seed of the weights", &|forgery| {
        forgery.json("receipt.json", |receipt| receipt["predicate"]["seeds"]["init"] = "7".into());
    });
    refuted("number of tokens", &|forgery| {
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["contract"]["tokens"] = 4096.into();
        });
    });
    refuted("evaluation", &|forgery| {
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["checkpoints"].as_array_mut().unwrap().remove(0);
        });
        fs::remove_file(forgery.file("checkpoints/step-000057.safetensors")).unwrap();
    });
    refuted("committed state", &|forgery| {
        let root = forgery.lines("states.jsonl", |lines| drop(lines.remove(1)));
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["states"]["root"] = root.to_string().into();
        });
    });
    // What only a relation sees is refuted as well.
    let false_contract = trained.forged(|forgery| {
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["contract"]["coefficient"] = 9.into();
        });
    });
    assert_eq!(full(&false_contract).0, 1);
}

/// Runs of our trainer that were called false.
#[test]
fn honest_runs_of_any_recipe_pass() {
    let honest = |change: &dyn Fn(String) -> String, steps: &str| {
        let project = root(|study| change(untuned(study, 1, "0.016")));
        let arguments = ["train", STUDY, "--out", "receipts", "--only", RUN];
        let trained = repro(project.path(), &arguments);
        let bundle = project.path().join("receipts").join(RUN);
        assert!(bundle.join("bagit.txt").is_file(), "{steps}: {}", text(&trained.stderr));
        for command in [
            &["verify", bundle.to_str().unwrap()][..],
            &["replay", bundle.to_str().unwrap(), "--full"],
        ] {
            let said = repro(project.path(), command);
            assert_eq!(code(&said), 0, "{steps} {}: {}", command[0], text(&said.stdout));
        }
    };
    let bias = "balancing = \"bias\"\nrouter_bias_update_rate = 0.001";
    let by_bias =
        |study: String| study.replacen("balancing = \"loss\"\naux_loss_alpha = 0.01", bias, 1);
    honest(&by_bias, "biases of routers");
    honest(&|study| study.replacen("slice_steps = 4", "slice_steps = 2", 1), "short slices");
    honest(&|study| study.replacen("adam_beta2 = 0.95", "adam_beta2 = 0.5", 1), "small squares");
    // It diverges in the step after which it would have been evaluated.
    let early = |study: String| {
        let study = study.replacen("lr = 0.016", "lr = 1e30", 1);
        study.replacen("fractions = [0.5, 1.0]", "fractions = [0.01, 1.0]", 1)
    };
    honest(
        &|study| early(study).replacen("fractions = [0.5] }", "fractions = [0.01] }", 1),
        "a run that diverges",
    );
}

/// A receipt of our trainer that leaves out what every run states, so that nothing can be asked of it.
#[test]
fn what_is_left_out_is_missed() {
    let trained = Trained::new();
    let receipt = |pointer: &'static str, member: &'static str| {
        trained.forged(|forgery| {
            forgery.json("receipt.json", |receipt| {
                let of = receipt.pointer_mut(&format!("/predicate{pointer}")).unwrap();
                assert!(of.as_object_mut().unwrap().remove(member).is_some(), "{member}");
            });
        })
    };
    for (pointer, member, code) in [
        ("", "seeds", "receipt::missing-field"),
        ("", "contract", "receipt::missing-field"),
        ("/run", "finished", "receipt::missing-field"),
        ("/extra", "plan_sha256", "receipt::missing-field"),
        ("/trainer", "arithmetic", "states::arithmetic"),
    ] {
        has(&found(&receipt(pointer, member).path, &[]), code);
    }
    let record = |member: &'static str| {
        trained.forged(|forgery| {
            forgery.lines("metrics.jsonl", |lines| {
                for line in lines {
                    line.as_object_mut().unwrap().remove(member);
                }
            });
        })
    };
    for member in ["loss", "grad_norm", "lr", "tokens"] {
        let forged = record(member);
        has(&found(&forged.path, &[]), "records::missing-field");
        let full = repro(&forged.path, &["replay", forged.path.to_str().unwrap(), "--full"]);
        assert_eq!(code(&full), 1, "{member}: {}", text(&full.stdout));
    }
    let last = trained.forged(|forgery| {
        forgery.lines("metrics.jsonl", |lines| drop(lines.pop()));
    });
    has(&found(&last.path, &[]), "records::early-end");
    let nats = trained.forged(|forgery| {
        forgery.json("evaluation/step-000226.json", |evaluation| {
            evaluation.as_object_mut().unwrap().remove("nats");
            evaluation["loss"] = 0.5.into();
        });
    });
    has(&found(&nats.path, &[]), "evaluations::missing-field");
}

/// The last evaluation is what a post cites: the committed states contradict another one, and its interval is always drawn.
#[test]
fn a_scaled_evaluation_is_caught_by_the_chain_or_by_any_challenge() {
    let trained = Trained::new();
    let scaled = |forgery: &Forgery| {
        forgery.json("evaluation/step-000226.json", |evaluation| {
            for (field, by) in [("nats", 0.9), ("loss", 0.9), ("bpb", 0.9)] {
                evaluation[field] = (evaluation[field].as_f64().unwrap() * by).into();
            }
            for block in evaluation["blocks"].as_array_mut().unwrap() {
                *block = (block.as_f64().unwrap() * 0.9).into();
            }
        });
    };
    // Whoever stamped the root cannot make the chain right again.
    let edited = trained.forged(scaled);
    has(&found(&edited.path, &[]), "states::evaluation-digest");
    let gone = trained.forged(|forgery| {
        let states = |lines: &mut Vec<Json>| {
            let line = lines.iter_mut().find(|line| line["step"] == 100).unwrap();
            line["evaluation_sha256"] = Digest::of(b"").to_string().into();
        };
        let root = forgery.lines("states.jsonl", states);
        forgery.json("receipt.json", |receipt| {
            receipt["predicate"]["states"]["root"] = root.to_string().into();
        });
    });
    has(&found(&gone.path, &[]), "states::evaluation-missing");
    let made_up = trained.forged(|forgery| {
        scaled(forgery);
        forgery.states(|_| ());
    });
    assert_eq!(found(&made_up.path, &[]), (0, Vec::new()));
    for seed in ["a", "b", "c"] {
        has(&challenged(&made_up.path, seed, "1"), "challenge::state-differs");
    }
}

/// The report says where a seed comes from, what that shows, and what the best forgery of one interval risks.
#[test]
fn a_challenge_tells_its_source_and_the_best_escape() {
    let trained = Trained::new();
    let bundle = trained.bundle();
    let refused = |seed: &str| {
        let arguments =
            ["bundle", "challenge", bundle.to_str().unwrap(), "--seed", seed, "--count", "1"];
        let output = repro(&bundle, &arguments);
        (code(&output), text(&output.stderr).contains("challenge::bad-seed"))
    };
    assert_eq!(refused("drand:12:ab"), (2, true));
    assert_eq!(refused("commit:main"), (2, true));
    let told = |seed: &str, count: &str| {
        let file = bundle.parent().unwrap().join("challenge.json");
        fs::write(&file, draw(&bundle, seed, count).to_string()).unwrap();
        let file = file.to_str().unwrap();
        let verify = ["verify", bundle.to_str().unwrap(), "--challenge", file, "--format", "json"];
        let output = repro(&bundle, &verify);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let report: Json = serde_json::from_slice(&output.stdout).unwrap();
        report["posts"][0]["challenge"].clone()
    };
    let hex = "0123456789abcdef".repeat(4);
    let one = told("some words", "1");
    // Three of seven are always drawn, as the run was evaluated at their ends. The walks to these lead through all others.
    let counts = ["of", "evaluated", "drawn", "led"].map(|field| one[field].as_u64().unwrap());
    assert_eq!((counts, &one["escape"]), ([7, 3, 4, 4], &json!(0.0)));
    assert!(one["source"].as_str().unwrap().starts_with("free text"), "{one}");
    let drand = told(&format!("drand:1000000:{hex}"), "100");
    assert_eq!(drand["escape"], json!(0.0));
    let source = drand["source"].as_str().unwrap();
    assert!(source.contains("round 1000000") && source.contains("2023-09-27T"), "{source}");
    let commit = told(&format!("commit:{}", &hex[..40]), "1");
    assert!(commit["source"].as_str().unwrap().starts_with("a commit"), "{commit}");
}
