//! Replays: honest runs come out again, here and in PyTorch; changed ones do not, and are told where.

use std::path::{Path, PathBuf};

use repro_bundle::bundle::{Bundle, seal};
use repro_kernels::portable::Isa;
use repro_model::replay::{Choice, ChosenBy, Extent, MicroBatchSample};
use repro_replay::backend::Place;
use repro_replay::replay::Machine;
use repro_replay::{TensorData, TensorFile};
use repro_report::outcome::Verdict;
use repro_report::{Format, ReportOptions, render};
use repro_verify::verify::{Demands, Replayer, verify_with};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::executing::{Executing, replayed, replayed_with, sampled};
use crate::sealed::{new_folder, sealed};

pub fn fixture(name: &str) -> PathBuf {
    crate::sealed::corpus().join("replay").join(name)
}

/// A run of our own, with slices from its seed and from its checkpoint after 113 steps.
pub const OURS: &str = "smoke-moe-short-s1";
const SEED: Choice = steps(0, 4);
const CHECKPOINT: Choice = steps(113, 117);

pub const fn steps(from: u64, to: u64) -> Choice {
    Choice::This(Extent::Steps { from, to })
}

pub fn load(folder: &Path) -> Bundle {
    Bundle::load_folder(folder, folder.to_str().unwrap(), None, 1).unwrap()
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            std::fs::copy(entry.path(), to).map(drop).unwrap()
        }
    }
}

/// The bundle with its payload changed, and sealed again, as somebody who cheats would.
pub fn changed(name: &str, change: impl FnOnce(&Path)) -> (TempDir, Bundle) {
    let temporary = new_folder();
    let folder = temporary.path().join(name);
    copy(&fixture(name), &folder);
    change(&folder.join("data"));
    seal(&folder, name, None).unwrap();
    let bundle = load(&folder);
    (temporary, bundle)
}

/// The bundle as it is.
pub fn honest(name: &str) -> (TempDir, Bundle) {
    changed(name, |_| ())
}

pub fn edit_json(path: &Path, edit: impl FnOnce(&mut Json)) {
    let mut json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    edit(&mut json);
    std::fs::write(path, json.to_string()).unwrap();
}

fn edit_tensors(path: &Path, edit: impl FnOnce(&mut TensorFile)) {
    let mut file = TensorFile::parse("t", &std::fs::read(path).unwrap()).unwrap();
    edit(&mut file);
    std::fs::write(path, file.write()).unwrap();
}

/// Changes one number of an array of floats by one unit in the last place.
fn nudge(file: &mut TensorFile, name: &str, at: usize) {
    let data = &file.tensors[name];
    let (shape, mut values) = (data.shape().to_vec(), data.as_floats().unwrap());
    values[at] = f32::from_bits(values[at].to_bits() + 1);
    file.tensors.insert(name.to_owned(), TensorData::floats(&shape, &values));
}

fn edit_numbers(file: &mut TensorFile, name: &str, edit: impl FnOnce(&mut [u32])) {
    let data = &file.tensors[name];
    let (shape, mut values) = (data.shape().to_vec(), data.as_numbers().unwrap());
    edit(&mut values);
    file.tensors.insert(name.to_owned(), TensorData::numbers(&shape, &values));
}

/// The receipt no longer says which checkpoint it kept.
fn forget_digests(data: &Path) {
    edit_json(&data.join("receipt.json"), |receipt| {
        for checkpoint in receipt["predicate"]["checkpoints"].as_array_mut().unwrap() {
            let checkpoint = checkpoint.as_object_mut().unwrap();
            checkpoint.remove("weights_sha256");
            checkpoint.remove("tensors_sha256");
        }
    });
}

const SLICE: &str = "slices/slice-000113.safetensors";
const WEIGHTS: &str = "checkpoints/step-000113.safetensors";

/// No post pins these bundles: their payload, and what sealing makes of it, is pinned here.
#[test]
fn the_fixtures_are_those_that_were_made() {
    for (name, digest) in [
        (
            "smoke-moe-short-s1",
            "sha256:ed1caa45601de8aeebf27399e3c628585b20eb77dc42e38798faa22258bcdcfc",
        ),
        ("torch-dense", "sha256:4eda50add24a99ef9e723154e0793f6d7514b96739ec99b8b1c9c607914a1faf"),
        ("torch-moe", "sha256:58e870c4d1ddd1f3c66d51dad124b3307e3f763cb81c7ae73b3481ea3344af1a"),
        ("torch-moe-hf", "sha256:6d8eb4a93360c60d2b860d32ad0fcb442199077456972d575e0c583f1ad624a6"),
    ] {
        let (_folder, bundle) = honest(name);
        assert_eq!(bundle.digest().prefixed(), digest, "{name}");
    }
}

const STATED: &str = "slices/slice-000006.stated.json";
const STRETCH: &str = "slices/slice-000006.safetensors";

/// What gradients were scaled down by is told apart from their norm by more than a float32 sum loses, and by less it is
/// what the steps are made with.
#[test]
fn gradients_are_clipped_by_the_norm_that_was_logged() {
    for (factor, verdict) in [(1.0 + 1e-7, Verdict::Verified), (1.001, Verdict::Refuted)] {
        let (_folder, bundle) = changed("hf-qwen2-sgd", |data| {
            edit_tensors(&data.join(STRETCH), |file| {
                let norms = file.tensors["logged.clip_norm"].as_floats().unwrap();
                let norms: Vec<_> =
                    norms.iter().map(|norm| (f64::from(*norm) * factor) as f32).collect();
                let norms = TensorData::floats(&[norms.len()], &norms);
                file.tensors.insert("logged.clip_norm".to_owned(), norms);
            });
        });
        let replay = replayed(&bundle, steps(6, 9), 2).unwrap();
        assert_eq!(replay.verdict, verdict, "{factor}: {}", replay.reason);
        let what = replay.divergence.map(|divergence| divergence.what);
        let wanted = (factor > 1.0 + 1e-6).then_some("norm that gradients are clipped by");
        assert_eq!(what, wanted);
    }
}

#[test]
fn a_sample_of_micro_batches_refutes_and_never_verifies() {
    let sampled =
        |bundle: &Bundle, count| sampled(bundle, Choice::Last, MicroBatchSample { count, seed: 1 });
    let (_folder, bundle) = honest("hf-llama-micro");
    let whole = replayed(&bundle, steps(6, 8), 2).unwrap();
    assert_eq!((whole.verdict, whole.sampled), (Verdict::Verified, None));
    let replay = sampled(&bundle, 3).unwrap();
    let drawn = replay.sampled.as_ref().unwrap().numbers.clone();
    assert_eq!(
        (replay.verdict, replay.code.unwrap().id, replay.executed, drawn.len()),
        (Verdict::Inconclusive, "replay::micro-batch-sample", 2, 3)
    );
    // All of them are whole steps.
    assert_eq!(sampled(&bundle, 8).unwrap().verdict, Verdict::Verified);
    let of = |name: &'static str, at: usize, factor: f32| {
        changed("hf-llama-micro", |data| {
            edit_tensors(&data.join(STRETCH), |file| {
                let data = &file.tensors[name];
                let (shape, mut values) = (data.shape().to_vec(), data.as_floats().unwrap());
                values[at] *= factor;
                file.tensors.insert(name.to_owned(), TensorData::floats(&shape, &values));
            });
        })
    };
    let found = |bundle: &Bundle| {
        let replay = sampled(bundle, 3).unwrap();
        let divergence = replay.divergence.map(|divergence| divergence.shown());
        (replay.verdict, divergence.unwrap_or_default())
    };
    // What was drawn is compared, and what was not stays open.
    let other = (0..8).find(|number| !drawn.contains(number)).unwrap();
    let (_folder, bundle) = of("logged.micro_grad_norm", drawn[1], 1.001);
    let told = format!("gradient norm of micro-batch {}", drawn[1] + 1);
    assert_eq!(found(&bundle), (Verdict::Refuted, told));
    let (_folder, bundle) = of("logged.micro_grad_norm", other, 1.001);
    assert_eq!(found(&bundle).0, Verdict::Inconclusive);
    let (_folder, bundle) = of("gradient.model.norm.weight", 0, 1.2);
    assert_eq!(found(&bundle), (Verdict::Refuted, "gradient of `model.norm.weight`".to_owned()));
    // Numbers of micro-batches have to add up to those of their steps.
    let (_folder, bundle) = of("logged.micro_loss", other, 1.001);
    assert_eq!(sampled(&bundle, 3).unwrap_err().code.id, "replay::bad-slice");
    let (_folder, bundle) = changed("hf-llama-micro", |data| {
        edit_tensors(&data.join(STRETCH), |file| {
            file.tensors.remove("gradient.model.norm.weight").unwrap();
        });
    });
    assert_eq!(sampled(&bundle, 3).unwrap_err().code.id, "replay::no-gradients");
    let (_folder, bundle) = honest("hf-qwen3-moe");
    assert_eq!(sampled(&bundle, 1).unwrap_err().code.id, "replay::no-gradients");
}

#[test]
fn what_a_slice_states_of_its_updates_is_what_is_executed() {
    for (name, slices) in
        [("hf-qwen3-moe", &[steps(0, 3), steps(6, 9)][..]), ("hf-qwen2-sgd", &[steps(6, 9)])]
    {
        let (_folder, bundle) = honest(name);
        for slice in slices {
            let replay = replayed(&bundle, *slice, 2).unwrap();
            assert_eq!((replay.verdict, replay.code), (Verdict::Verified, None), "{replay:?}");
            assert!(replay.records.differing.is_empty() && replay.trained.untrained().count() == 0);
        }
    }
    // Each number counts, and so does where a tensor belongs.
    type Edit = fn(&mut Json);
    let wrong: [(&str, Edit); 7] = [
        ("hf-qwen3-moe", |stated| {
            let rate = stated["groups"][1]["lr"][1].as_f64().unwrap();
            stated["groups"][1]["lr"][1] = (rate * 1.001).into();
        }),
        ("hf-qwen3-moe", |stated| stated["groups"][0]["weight_decay"] = 0.0.into()),
        ("hf-qwen3-moe", |stated| stated["groups"][0]["beta2"] = 0.96.into()),
        ("hf-qwen3-moe", |stated| stated["groups"][0]["optimizer"] = "adam".into()),
        ("hf-qwen3-moe", |stated| {
            let moved = stated["groups"][0]["tensors"].as_array_mut().unwrap().pop().unwrap();
            stated["groups"][1]["tensors"].as_array_mut().unwrap().push(moved);
        }),
        ("hf-qwen2-sgd", |stated| stated["groups"][0]["nesterov"] = false.into()),
        ("hf-qwen2-sgd", |stated| stated["grad_clip"] = 0.9.into()),
    ];
    for (at, (name, edit)) in wrong.into_iter().enumerate() {
        let (_folder, bundle) = changed(name, |data| edit_json(&data.join(STATED), edit));
        let replay = replayed(&bundle, steps(6, 9), 2).unwrap();
        assert_eq!(replay.verdict, Verdict::Refuted, "{at}: {replay:?}");
    }
    muon_is_for_matrices_and_has_its_own_members();
    let refused: [(Edit, &str); 7] = [
        (|stated| stated["mean_over"] = "rows".into(), "replay::bad-slice"),
        (|stated| stated["groups"][0]["optimizer"] = "adafactor".into(), "replay::bad-slice"),
        (|stated| stated["groups"][0]["momentum"] = 0.9.into(), "source::unknown-field"),
        (|stated| stated["groups"][0]["lr"] = serde_json::json!([0.1, 0.1]), "replay::bad-slice"),
        (|stated| stated["groups"][0]["beta1"] = 1.0.into(), "replay::bad-slice"),
        (|stated| stated["micro_batches"] = 3.into(), "replay::bad-slice"),
        (
            |stated| {
                let first = stated["groups"][0]["tensors"][0].clone();
                stated["groups"][1]["tensors"].as_array_mut().unwrap().push(first);
            },
            "replay::bad-slice",
        ),
    ];
    for (edit, code) in refused {
        let (_folder, bundle) = changed("hf-qwen3-moe", |data| edit_json(&data.join(STATED), edit));
        assert_eq!(replayed(&bundle, steps(6, 9), 2).unwrap_err().code.id, code);
    }
    // Which targets count is read of each step.
    let counting = |numbers: [u32; 3]| {
        changed("hf-qwen2-sgd", |data| {
            edit_tensors(&data.join("slices/slice-000006.safetensors"), |file| {
                let shape = [3, 4, 32];
                let of_step = |number: &u32| vec![*number; 4 * 32];
                let numbers: Vec<u32> = numbers.iter().flat_map(of_step).collect();
                file.tensors.insert("counted".into(), TensorData::numbers(&shape, &numbers));
            });
        })
    };
    let (_folder, bundle) = counting([1, 1, 1]);
    assert_eq!(replayed(&bundle, steps(6, 9), 2).unwrap().verdict, Verdict::Verified);
    let (_folder, bundle) = counting([1, 0, 1]);
    assert_eq!(replayed(&bundle, steps(6, 9), 2).unwrap_err().code.id, "replay::bad-slice");
    let (_folder, bundle) = changed("hf-qwen2-sgd", |data| {
        edit_tensors(&data.join("slices/slice-000006.safetensors"), |file| {
            let mut numbers = vec![1; 3 * 4 * 32];
            numbers[5] = 0;
            file.tensors.insert("counted".into(), TensorData::numbers(&[3, 4, 32], &numbers));
        });
    });
    let replay = replayed(&bundle, steps(6, 9), 2).unwrap();
    assert_eq!((replay.verdict, replay.divergence.unwrap().what), (Verdict::Refuted, "loss"));
    // Where a log does not say what was routed, another loss may be one token that rounding sent elsewhere.
    let (_folder, bundle) = changed("hf-qwen3-moe", |data| {
        edit_tensors(&data.join("slices/slice-000006.safetensors"), |file| {
            file.tensors.remove("logged.routed").unwrap();
            let mut losses = file.tensors["logged.loss"].as_floats().unwrap();
            losses[1] *= 1.0001;
            file.tensors.insert("logged.loss".into(), TensorData::floats(&[3], &losses));
        });
        std::fs::remove_file(data.join("metrics.jsonl")).unwrap();
    });
    let replay = replayed(&bundle, steps(6, 9), 2).unwrap();
    assert_eq!(
        (replay.verdict, replay.code.unwrap().id),
        (Verdict::Inconclusive, "replay::no-routing")
    );
    // A schedule in our fields is held against the rates.
    let (_folder, bundle) = changed("hf-qwen2-sgd", |data| {
        edit_json(&data.join("config.json"), |config| {
            for (field, value) in [("lr", 0.1), ("warmup_steps", 5.0), ("decay_floor", 0.0)] {
                config[field] = value.into();
            }
            config["warmup_steps"] = 5.into();
            config["schedule"] = "cosine".into();
            config["schedule_steps"] = 12.into();
            for (field, value) in [("weight_decay", 0.1), ("adam_beta1", 0.9), ("adam_beta2", 0.9)]
            {
                config[field] = value.into();
            }
            (config["adam_eps"], config["grad_clip"]) = (1e-8.into(), 1.0.into());
        });
    });
    let replay = replayed(&bundle, steps(6, 9), 2).unwrap();
    assert_eq!(replay.verdict, Verdict::Inconclusive);
    assert!(replay.reason.contains("the config's schedule gives"), "{}", replay.reason);
    // A run of ours says in its config how its steps are made, and nowhere else.
    let (_folder, bundle) = changed(OURS, |data| {
        let stated = data.join("slices/slice-000113.stated.json");
        std::fs::write(stated, r#"{"grad_clip": 0, "groups": []}"#).unwrap();
    });
    assert_eq!(replayed(&bundle, CHECKPOINT, 2).unwrap_err().code.id, "replay::bad-slice");
}

/// A group of vectors, and one of matrices with members that are missing or wrong.
fn muon_is_for_matrices_and_has_its_own_members() {
    let muon = |group: &Json| {
        serde_json::json!({"tensors": group["tensors"], "lr": group["lr"], "weight_decay": 0.0, "optimizer": "muon",
            "momentum": 0.9, "nesterov": true, "eps": 1e-7, "ns_steps": 5, "ns_coefficients": [3.4445, -4.775, 2.0315],
            "dtype": "bfloat16", "adjust": "original", "variant": "torch"})
    };
    for (group, member, value, code, found) in [
        (1, "nesterov", Json::Bool(true), "replay::bad-slice", "of shape ["),
        (0, "ns_steps", 100.into(), "replay::bad-slice", "100"),
        (0, "ns_coefficients", serde_json::json!([1.0, 2.0]), "replay::bad-slice", "2"),
        (0, "dtype", "float16".into(), "replay::bad-slice", "`float16`"),
        (0, "adjust", "sqrt".into(), "replay::bad-slice", "`sqrt`"),
        (0, "variant", 1.into(), "replay::bad-slice", "`1`"),
        (0, "beta1", 0.9.into(), "source::unknown-field", "beta1"),
    ] {
        let (_folder, bundle) = changed("hf-qwen2-sgd", |data| {
            edit_json(&data.join(STATED), |stated| {
                stated["groups"][group] = muon(&stated["groups"][group]);
                stated["groups"][group][member] = value;
            });
        });
        let error = replayed(&bundle, steps(6, 9), 2).unwrap_err();
        assert_eq!(error.code.id, code, "{error}");
        assert!(error.to_string().contains(found), "{error}");
    }
}

#[test]
fn our_runs_come_out_again_on_any_threads_and_instructions() {
    let (_folder, bundle) = honest(OURS);
    // Each set of instructions and each number of threads, but not each with each: `golden.rs` and the tests
    // of the arithmetic hold all their pairs against one another, and a replay adds nothing to them but steps.
    let sets = Isa::available();
    for (isa, threads) in sets.iter().copied().cycle().zip(1..=sets.len().max(4)) {
        let machine = Machine::new(Place::host(isa), threads);
        for choice in [SEED, CHECKPOINT, steps(114, 117)] {
            let replay = replayed_with(&bundle, choice, machine.clone()).unwrap();
            assert_eq!(replay.verdict, Verdict::Verified, "{replay:?}");
            assert_eq!(replay.tensors.iter().filter(|t| t.equal == Some(true)).count(), 31);
        }
    }
    let whole = replayed(&bundle, Choice::This(Extent::Whole), 2).unwrap();
    assert_eq!((whole.verdict, whole.executed), (Verdict::Verified, 226), "{whole:?}");
    let evaluated: Json =
        serde_json::from_slice(&bundle.bytes("data/evaluation/step-000226.json").unwrap()).unwrap();
    assert_eq!(whole.final_loss, evaluated["loss"].as_f64());
}

#[test]
fn steps_that_the_verifier_draws_start_from_the_nearest_checkpoint() {
    let (_folder, bundle) = honest(OURS);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..6 {
        let replay = replayed(&bundle, Choice::Random(seed), 2).unwrap();
        assert_eq!(
            (replay.verdict, replay.chosen_by),
            (Verdict::Verified, ChosenBy::Verifier),
            "{replay:?}"
        );
        let Extent::Steps { from, to } = replay.extent else { panic!("{replay:?}") };
        let start = if from < 113 { 0 } else { 113 };
        assert_eq!(replay.executed, to - start);
        assert!(replay.steps.iter().any(|step| (from + 1..=to).contains(&step.step)), "a record");
        seen.insert(from);
    }
    assert!(seen.len() > 3, "{seen:?}");
}

/// One bit of what was logged: the step and what of it, as the report says it.
#[test]
fn one_changed_bit_of_a_log_refutes_with_its_place() {
    let of = |name: &'static str, at: usize| {
        move |data: &Path| edit_tensors(&data.join(SLICE), |file| nudge(file, name, at))
    };
    let digest = |data: &Path| {
        edit_tensors(&data.join(SLICE), |file| {
            edit_numbers(file, "logged.tensor_sha256", |digests| digests[31 + 7] ^= 1);
        });
    };
    let routed = |data: &Path| {
        edit_tensors(&data.join(SLICE), |file| {
            edit_numbers(file, "logged.routed", |counts| {
                counts[4] += 1;
                counts[5] -= 1;
            });
        });
    };
    type Change<'a> = &'a dyn Fn(&Path);
    let cases: [(Change<'_>, u64, &str); 5] = [
        (&of("logged.loss", 2), 116, "loss"),
        (&of("logged.grad_norm", 0), 114, "gradient norm"),
        (&of("logged.tensor_grad_norm", 3 * 31 + 5), 117, "gradient"),
        (&digest, 115, "bits"),
        (&routed, 115, "routing"),
    ];
    for (change, step, what) in cases {
        let (_folder, bundle) = changed(OURS, change);
        let replay = replayed(&bundle, CHECKPOINT, 1).unwrap();
        let divergence = replay.divergence.unwrap();
        assert_eq!(
            (replay.verdict, divergence.step, divergence.what),
            (Verdict::Refuted, step, what)
        );
        assert_eq!(divergence.tensor.is_some(), !["loss", "gradient norm"].contains(&what));
        assert_ne!(divergence.logged, divergence.replayed);
        assert_eq!(divergence.inputs_matched, Some(true), "{what}");
    }
}

/// A run that was trained otherwise than its bundle says: every setting that a step depends on.
#[test]
fn a_run_that_says_another_setting_is_refuted_in_its_first_step() {
    let with = |field: &'static str, value: Json| {
        move |data: &Path| edit_json(&data.join("config.json"), |config| config[field] = value)
    };
    let rate = |config: &Path| -> f64 {
        let config: Json = serde_json::from_slice(&std::fs::read(config).unwrap()).unwrap();
        config["lr"].as_f64().unwrap()
    };
    let lr = rate(&fixture(OURS).join("data/config.json"));
    for (field, value, what) in [
        ("lr", (lr * (1.0 + 1.2e-7)).into(), "bits"),
        ("weight_decay", 0.into(), "bits"),
        ("adam_beta2", 0.950_001.into(), "bits"),
        ("adam_beta1", 0.91.into(), "bits"),
        ("aux_loss_alpha", 0.0101.into(), "gradient"),
        ("router_z_loss", 0.002.into(), "gradient"),
        ("norm_eps", 2e-5.into(), "loss"),
        ("rope_theta", 20_000.into(), "routing"),
    ] {
        let (_folder, bundle) = changed(OURS, with(field, value));
        let replay = replayed(&bundle, CHECKPOINT, 1).unwrap();
        let divergence = replay.divergence.unwrap();
        assert_eq!(replay.verdict, Verdict::Refuted, "{field}");
        assert_eq!((divergence.step, divergence.what), (114, what), "{field}");
    }
    let (_folder, bundle) = changed(OURS, with("seed_init", 2.into()));
    let replay = replayed(&bundle, SEED, 1).unwrap();
    assert_eq!((replay.verdict, replay.divergence.unwrap().step), (Verdict::Refuted, 1));
}

#[test]
fn a_changed_start_is_refuted() {
    let moments = |data: &Path| {
        edit_tensors(&data.join(WEIGHTS), |file| {
            for (name, tensor) in &mut file.tensors {
                if name.starts_with("optimizer.v.") {
                    let shape = tensor.shape().to_vec();
                    *tensor = TensorData::floats(&shape, &vec![0.0; shape.iter().product()]);
                }
            }
        });
        forget_digests(data);
    };
    let weight = |data: &Path| {
        edit_tensors(&data.join(WEIGHTS), |file| nudge(file, "model.norm.weight", 3));
        forget_digests(data);
    };
    for (change, what) in [(&moments as &dyn Fn(&Path), "bits"), (&weight, "gradient")] {
        let (_folder, bundle) = changed(OURS, change);
        let replay = replayed(&bundle, CHECKPOINT, 1).unwrap();
        assert_eq!((replay.verdict, replay.divergence.unwrap().what), (Verdict::Refuted, what));
    }
}

/// What is planted here is also planted for every report: the two agree on what a slice shows.
#[test]
fn every_report_says_what_its_slice_would_show() {
    let (_folder, bundle) = honest(OURS);
    let never = [
        "clipping-skipped",
        "clipping-limit",
        "clipping-limit-below",
        "other-group-rate",
        "no-weight-decay-group",
        "momentum",
        "amsgrad",
        "newton-schulz",
    ];
    for (choice, unseen) in [
        (SEED, ["moments-reset", "moments-reset-matrix"]),
        (CHECKPOINT, ["schedule-off-by-one", "other-seed"]),
    ] {
        let unseen = [&unseen[..], &never].concat();
        let replay = replayed(&bundle, choice, 1).unwrap();
        assert_eq!(replay.faults.len(), 28);
        for seen in &replay.faults {
            let shows = !unseen.contains(&seen.fault);
            assert_eq!(seen.at.is_some(), shows, "{seen:?}");
            assert_eq!(seen.unseen.is_some(), !shows, "{seen:?}");
        }
        let rate = replay.faults.iter().find(|seen| seen.fault == "learning-rate").unwrap();
        assert!(rate.smallest.unwrap() < 1.3e-7);
    }
    // A run of another trainer, by a rule with momentum alone, in two groups that decay differently.
    let (_folder, bundle) = honest("hf-qwen2-sgd");
    let replay = replayed(&bundle, steps(6, 9), 1).unwrap();
    for fault in ["momentum", "averaged-weights", "moments-stale-matrix", "moments-stale-norm"] {
        let seen = replay.faults.iter().find(|seen| seen.fault == fault).unwrap();
        assert!(seen.at.is_some(), "{seen:?}");
    }
}

#[test]
fn batches_are_drawn_again_where_the_data_are_at_hand() {
    let swap = |data: &Path| {
        edit_tensors(&data.join(SLICE), |file| {
            edit_numbers(file, "tokens", |tokens| tokens[40] ^= 1)
        });
    };
    let (_folder, bundle) = changed(OURS, swap);
    let error = replayed(&bundle, CHECKPOINT, 1).unwrap_err();
    assert_eq!(error.code.id, "replay::batch-mismatch");
    assert!(error.expected.contains("in step 113, row 1, position 7"), "{error}");
    // Without the data the step itself shows it.
    let hide = |data: &Path| {
        swap(data);
        edit_json(&data.join("config.json"), |config| {
            config["data"]["train_bytes"] = (1_u64 << 29).into()
        });
    };
    let (_folder, bundle) = changed(OURS, hide);
    let replay = replayed(&bundle, CHECKPOINT, 1).unwrap();
    let divergence = replay.divergence.unwrap();
    assert_eq!((replay.verdict, divergence.step), (Verdict::Refuted, 114));
    assert!(
        matches!(replay.batches, repro_model::replay::Batches::OnTrust(why) if why.contains("generate"))
    );
}

/// Everything is refused before a step is made, with the reason.
#[test]
fn what_cannot_be_replayed_is_refused_with_the_reason() {
    let slice = |edit: &'static dyn Fn(&mut TensorFile)| {
        move |data: &Path| edit_tensors(&data.join(SLICE), edit)
    };
    let weights = |edit: &'static dyn Fn(&mut TensorFile)| {
        move |data: &Path| {
            edit_tensors(&data.join(WEIGHTS), edit);
            forget_digests(data);
        }
    };
    let config = |field: &'static str, value: u64| {
        move |data: &Path| {
            edit_json(&data.join("config.json"), |config| config[field] = value.into())
        }
    };
    let receipt = |pointer: &'static str, value: Json| {
        move |data: &Path| {
            edit_json(&data.join("receipt.json"), |receipt| {
                *receipt.pointer_mut(pointer).unwrap() = value;
            });
        }
    };
    type Change = Box<dyn FnOnce(&Path)>;
    let cases: Vec<(Change, &str)> = vec![
        (
            Box::new(slice(&|f| edit_numbers(f, "tokens", |t| t[9] = 256))),
            "replay::beyond-vocabulary",
        ),
        (Box::new(slice(&|f| drop(f.tensors.remove("tokens")))), "replay::bad-slice"),
        (Box::new(slice(&|f| drop(f.tensors.remove("logged.loss")))), "replay::bad-slice"),
        (
            Box::new(slice(&|f| {
                let loss = TensorData::floats(&[4], &[1.0, f32::NAN, 1.0, 1.0]);
                f.tensors.insert("logged.loss".to_owned(), loss);
            })),
            "bundle::non-finite-weight",
        ),
        (
            Box::new(slice(&|f| {
                let routed = TensorData::numbers(&[4, 2, 4], &[32; 32]);
                f.tensors.insert("logged.routed".to_owned(), routed);
            })),
            "replay::bad-slice",
        ),
        (Box::new(config("steps", 1 << 40)), "replay::too-large"),
        (Box::new(config("batch_size", 1 << 24)), "replay::bad-slice"),
        (
            // Rows that a slice holds, and more logits of them than are held at a time.
            Box::new(|data: &Path| {
                edit_json(&data.join("config.json"), |config| {
                    config["vocab_size"] = (1 << 20).into();
                    config["batch_size"] = 64.into();
                });
                edit_tensors(&data.join(SLICE), |file| {
                    let tokens = TensorData::numbers(&[4, 64, 33], &[0; 4 * 64 * 33]);
                    file.tensors.insert("tokens".to_owned(), tokens);
                });
            }),
            "replay::too-large",
        ),
        (
            Box::new(slice(&|f| {
                let loss = TensorData::floats(&[3], &[1.0, 2.0, 3.0]);
                f.tensors.insert("logged.loss".to_owned(), loss);
            })),
            "replay::bad-slice",
        ),
        (
            Box::new(weights(&|f| drop(f.tensors.remove("optimizer.v.lm_head.weight")))),
            "replay::missing-moments",
        ),
        (
            Box::new(weights(&|f| f.tensors.retain(|name, _| !name.starts_with("optimizer.")))),
            "replay::missing-moments",
        ),
        (
            Box::new(weights(&|f| drop(f.tensors.remove("model.norm.weight")))),
            "bundle::wrong-count",
        ),
        (
            Box::new(weights(&|f| {
                let data = TensorData::floats(&[4, 4], &[0.5; 16]);
                f.tensors.insert("model.norm.weight".to_owned(), data);
            })),
            "train::bad-tensors",
        ),
        (
            Box::new(weights(&|f| drop(f.metadata.insert("step".into(), "112".into())))),
            "replay::checkpoint-mismatch",
        ),
        (
            Box::new(weights(&|f| drop(f.metadata.insert("arithmetic".into(), "x".into())))),
            "replay::checkpoint-mismatch",
        ),
        (
            Box::new(|data: &Path| {
                edit_tensors(&data.join(WEIGHTS), |f| nudge(f, "model.norm.weight", 0));
                edit_json(&data.join("receipt.json"), |receipt| {
                    let kept = receipt.pointer_mut("/predicate/checkpoints/0").unwrap();
                    kept.as_object_mut().unwrap().remove("weights_sha256");
                });
            }),
            "replay::checkpoint-mismatch",
        ),
        (Box::new(config("hidden_size", 32)), "train::bad-tensors"),
        (Box::new(config("batch_size", 8)), "replay::bad-slice"),
        (Box::new(config("vocab_size", 100)), "replay::beyond-vocabulary"),
        (Box::new(receipt("/predicate/slices/1/steps", 9.into())), "replay::bad-slice"),
        (
            Box::new(receipt("/predicate/slices/1/checkpoint_step", 112.into())),
            "replay::no-start-checkpoint",
        ),
        (
            Box::new(receipt("/predicate/trainer/arithmetic", "float32".into())),
            "replay::arithmetic-mismatch",
        ),
    ];
    for (change, code) in cases {
        let temporary = new_folder();
        let folder = temporary.path().join(OURS);
        copy(&fixture(OURS), &folder);
        change(&folder.join("data"));
        let refused = seal(&folder, OURS, None).map(drop).and_then(|()| {
            let bundle = Bundle::load_folder(&folder, OURS, None, 1)?;
            replayed(&bundle, CHECKPOINT, 1).map(drop)
        });
        let error = refused.expect_err(code);
        assert_eq!(error.code.id, code, "{error}");
        assert!(!error.expected.is_empty() && !error.found.is_empty(), "{error}");
    }
    let (_folder, bundle) = honest(OURS);
    for (choice, code) in [
        (steps(0, 2), "replay::bad-step-range"),
        (steps(113, 228), "replay::no-such-steps"),
        (steps(5000, 5010), "replay::no-such-steps"),
    ] {
        assert_eq!(replayed(&bundle, choice, 1).unwrap_err().code.id, code);
    }
    // Steps outside of slices need the data, which another trainer orders in its own way.
    let (_folder, other) = honest("torch-dense");
    for choice in [steps(40, 47), steps(10, 20), Choice::This(Extent::Whole)] {
        assert_eq!(replayed(&other, choice, 1).unwrap_err().code.id, "replay::no-such-steps");
    }
}

#[test]
fn a_slice_of_another_run_is_refused_or_contradicts_the_records() {
    let other = |data: &Path| {
        edit_json(&data.join("config.json"), |config| {
            config["data"]["train_bytes"] = (1_u64 << 29).into()
        });
        edit_tensors(&data.join("slices/slice-000000.safetensors"), |file| {
            nudge(file, "logged.loss", 0);
        });
    };
    let (_folder, bundle) = changed(OURS, other);
    let replay = replayed(&bundle, SEED, 1).unwrap();
    assert_eq!(replay.verdict, Verdict::Refuted);
    // The slice matches, and a record in it does not.
    let record = |data: &Path| {
        edit_records(data, |record| {
            if record["step"] == 1 {
                record["loss"] = 5.5.into();
            }
        });
    };
    let (_folder, bundle) = changed(OURS, record);
    let replay = replayed(&bundle, SEED, 1).unwrap();
    assert_eq!(
        (replay.verdict, replay.code.unwrap().id),
        (Verdict::Refuted, "replay::record-mismatch")
    );
    let whole = replayed(&bundle, Choice::This(Extent::Whole), 2).unwrap();
    let divergence = whole.divergence.unwrap();
    assert_eq!((whole.verdict, divergence.step, divergence.what), (Verdict::Refuted, 1, "loss"));
}

/// Rewrites each record of a bundle.
fn edit_records(data: &Path, edit: impl Fn(&mut serde_json::Map<String, Json>)) {
    let path = data.join("metrics.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut chain = repro_bundle::bundle::Chain::default();
    let line = |line: &str| {
        let mut record: serde_json::Map<String, Json> = serde_json::from_str(line).unwrap();
        record.remove("chain");
        edit(&mut record);
        chain.extend(record).unwrap()
    };
    std::fs::write(&path, text.lines().map(line).collect::<String>()).unwrap();
}

#[test]
fn the_rates_of_a_slice_are_held_against_the_config() {
    let judged = |rates: &dyn Fn(&mut Json)| {
        let change = |data: &Path| {
            edit_json(&data.join("config.json"), rates);
            edit_records(data, |record| drop(record.remove("lr")));
        };
        let (_folder, bundle) = changed("hf-qwen2-sgd", change);
        replayed(&bundle, steps(6, 9), 1).unwrap()
    };
    let lower = judged(&|config| config["learning_rate"] = 0.05.into());
    assert_eq!(lower.code.unwrap().id, "replay::unexplained-records", "{}", lower.reason);
    assert_eq!(lower.verdict, Verdict::Inconclusive);
    assert!(
        lower.reason.contains("states the learning rate 0.09957224 for step 7"),
        "{}",
        lower.reason
    );
    assert!(lower.reason.contains("`learning_rate` is 0.05"), "{}", lower.reason);
    // The peak of its schedule, a rate of other tensors that is larger, and no rate at all.
    let honest: [&dyn Fn(&mut Json); 3] = [
        &|config| config["learning_rate"] = 0.1.into(),
        &|config| config["notes"] = serde_json::json!({"muon_lr": 0.2, "learning_rate": 0.02}),
        &|config| drop(config.as_object_mut().unwrap().remove("learning_rate")),
    ];
    for (at, config) in honest.into_iter().enumerate() {
        let replay = judged(config);
        assert_eq!(replay.verdict, Verdict::Verified, "{at}: {}", replay.reason);
    }
}

#[test]
fn a_training_loss_is_compared_under_other_names() {
    let judged = |edit: &dyn Fn(u64, f64) -> f64| {
        let change = |data: &Path| {
            edit_records(data, |record| {
                let (step, loss) = (record["step"].as_u64(), record.remove("loss").unwrap());
                let loss = edit(step.unwrap(), loss.as_f64().unwrap());
                record.insert("train/loss".to_owned(), loss.into());
            });
        };
        let (_folder, bundle) = changed("hf-qwen2-sgd", change);
        replayed(&bundle, steps(6, 9), 1).unwrap()
    };
    let scaled = judged(&|_, loss| 0.9 * loss);
    assert_eq!(
        (scaled.verdict, scaled.code.unwrap().id),
        (Verdict::Refuted, "replay::record-mismatch")
    );
    assert!(scaled.reason.contains("0.9000 times the loss in 3 records"), "{}", scaled.reason);
    let one = judged(&|step, loss| if step == 8 { loss - 0.1 } else { loss });
    assert_eq!(one.code.unwrap().id, "replay::unexplained-records", "{}", one.reason);
    // A smoothed loss, as some trainers log it, decides nothing.
    let average = std::cell::Cell::new(None);
    let smoothed = judged(&|_, loss| {
        let next = average.get().map_or(loss, |known: f64| 0.9 * known + 0.1 * loss);
        average.set(Some(next));
        next
    });
    assert_eq!(smoothed.verdict, Verdict::Verified, "{}", smoothed.reason);
    let told = "`train/loss` is not the loss of each step".to_owned();
    assert!(smoothed.records.open.contains(&told), "{:?}", smoothed.records);
    // As it is; divided by the parts of a batch, in bits.
    for factor in [1.0, 0.25, 1.0 / std::f64::consts::LN_2] {
        let honest = judged(&|_, loss| factor * loss);
        assert_ne!(honest.verdict, Verdict::Refuted, "{factor}: {}", honest.reason);
        let is_equal = factor == 1.0;
        let told = honest.records.agreeing.iter().any(|one| one.contains("`train/loss` (3)"));
        assert_eq!(told, is_equal, "{:?}", honest.records);
    }
}

#[test]
fn each_replay_says_what_it_cannot_see() {
    let (_folder, bundle) = honest(OURS);
    let slice = replayed(&bundle, CHECKPOINT, 1).unwrap();
    let unseen = slice.cannot_be_seen();
    for words in ["evaluations: their texts", "113 steps before", "109 steps after", "data order"] {
        assert!(unseen.iter().any(|line| line.contains(words)), "{words}: {unseen:?}");
    }
    assert!(slice.would_have_been_seen().any(|fault| fault.fault == "validation-data"));
    let no_place = unseen.iter().find(|line| line.contains("cannot occur in")).unwrap();
    assert!(no_place.contains("other-seed"), "{unseen:?}");
    let whole = replayed(&bundle, Choice::This(Extent::Whole), 2).unwrap();
    let unseen = whole.cannot_be_seen();
    assert!(!unseen.iter().any(|line| line.contains("evaluations")), "{unseen:?}");
}

/// A whole replay holds evaluations and hashed checkpoints against what comes out.
#[test]
fn a_whole_replay_sees_evaluations_and_checkpoints() {
    let evaluation = |data: &Path| {
        edit_json(&data.join("evaluation/step-000226.json"), |record| {
            let nats = record["nats"].as_f64().unwrap();
            record["nats"] = (nats * 0.99).into();
        });
    };
    let checkpoint = |data: &Path| {
        edit_json(&data.join("receipt.json"), |receipt| {
            let digest = "ab".repeat(32);
            receipt["predicate"]["checkpoints"][1]["tensors_sha256"] = digest.into();
        });
    };
    for (change, what) in
        [(&evaluation as &dyn Fn(&Path), "evaluation"), (&checkpoint, "checkpoint")]
    {
        let (_folder, bundle) = changed(OURS, change);
        let replay = replayed(&bundle, Choice::This(Extent::Whole), 2).unwrap();
        let divergence = replay.divergence.unwrap();
        assert_eq!(
            (replay.verdict, divergence.step, divergence.what),
            (Verdict::Refuted, 226, what)
        );
        assert_eq!(replay.final_loss, None);
    }
}

/// Runs of PyTorch, executed again here.
#[test]
fn runs_of_pytorch_are_confirmed() {
    for name in ["torch-dense", "torch-moe", "torch-moe-hf"] {
        let (_folder, bundle) = honest(name);
        for choice in [steps(0, 6), steps(40, 46)] {
            let replay = replayed(&bundle, choice, 2).unwrap();
            assert_eq!(replay.verdict, Verdict::Verified, "{name} {replay:#?}");
            assert!(replay.closest().unwrap().share < 0.6, "{name}");
            let rate = replay.faults.iter().find(|seen| seen.fault == "learning-rate").unwrap();
            assert!(rate.smallest.unwrap() < 1e-4, "{rate:?}");
        }
    }
}

/// Each fault that PyTorch was made to commit, from the same start and with the same batches.
#[test]
fn faults_of_pytorch_are_refuted() {
    let mut planted = 0;
    for name in ["torch-dense", "torch-moe", "torch-moe-hf"] {
        let faults = fixture(&format!("{name}-faults"));
        for fault in std::fs::read_dir(faults).unwrap() {
            let fault = fault.unwrap();
            let at = fault.file_name().into_string().unwrap();
            let (_folder, bundle) = changed(name, |data| copy(&fault.path(), &data.join("slices")));
            let choice = if at == "other-seed" { steps(0, 6) } else { steps(40, 46) };
            let replay = replayed(&bundle, choice, 2).unwrap();
            let divergence = replay.divergence.as_ref();
            assert_eq!(replay.verdict, Verdict::Refuted, "{name} {at}");
            // A token and a batch are changed later in the slice.
            let first = match at.as_str() {
                "other-seed" => 1,
                "swapped-batch" => 42,
                "changed-token" => 43,
                _ => 41,
            };
            assert_eq!(divergence.map(|divergence| divergence.step), Some(first), "{name} {at}");
            planted += 1;
        }
    }
    assert_eq!(planted, 27);
}

/// What one run of the program left.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn repro(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_repro"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("ended by itself");
    Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("replay_{name}"), drawn));
}

/// The reports as a person and a program see them. Every number in them is the same on every machine.
#[test]
fn replays_are_reported_for_people_and_programs() {
    let corpus = sealed(&["replay/smoke-moe-short-s1", "replay/torch-moe"]);
    let repro = |arguments: &[&str]| repro(corpus.path(), arguments);
    let ours = repro(&["replay", "replay/smoke-moe-short-s1"]);
    assert_eq!((ours.code, ours.stderr.as_str()), (0, ""));
    snapshot("ours", &ours.stdout);
    let (folder, _bundle) = changed("torch-moe", |data| {
        copy(&fixture("torch-moe-faults/rate-1pct"), &data.join("slices"));
    });
    let cheated = folder.path().join("torch-moe");
    let cheated = cheated.to_str().unwrap();
    let text = repro(&["replay", cheated, "--verbose"]);
    assert_eq!(text.code, 1);
    snapshot("rate_1pct", &text.stdout);
    // The page on replay shows the beginning of this report.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/training-and-replay.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, excerpt) = page.split_once("<!-- excerpt of replay -->\n```text\n").unwrap();
    let (excerpt, _) = excerpt.split_once("```").unwrap();
    assert!(excerpt.lines().count() > 8 && text.stdout.starts_with(excerpt), "{}", text.stdout);
    let json = repro(&["replay", cheated, "--format", "json"]);
    assert_eq!(json.code, 1);
    snapshot("rate_1pct_json", &json.stdout);
    let calibration = repro(&["replay", "--calibrate", "replay/torch-moe"]);
    assert_eq!(calibration.code, 0);
    snapshot("calibration", &calibration.stdout);
    let json = repro(&["replay", "--calibrate", "replay/torch-moe", "--format", "json"]);
    let json: Json = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["schema"], &json["slice"]),
        (&"repro.calibration/1".into(), &"40..46".into())
    );
}

#[test]
fn a_replay_ends_with_the_status_of_its_verdict() {
    let corpus = sealed(&["replay/smoke-moe-short-s1", "replay/torch-dense", "replay/posts"]);
    let repro = |arguments: &[&str]| repro(corpus.path(), arguments);
    let half = "replay/posts/receipts/half";
    let bad = "replay/posts/receipts/changed";
    for (arguments, code, said) in [
        (&["replay", "replay/smoke-moe-short-s1", "--full"][..], 0, "held-out loss"),
        (
            &["replay", "replay/smoke-moe-short-s1", "--slice", "random:3"],
            0,
            "chosen by the verifier",
        ),
        (
            &["replay", bad],
            1,
            "first divergence: step 4, update over the slice of `lm_head.weight`",
        ),
        (&["replay", half], 3, "replay::unsupported-dtype"),
        (&["replay", half, "--device", "cuda:65000"], 4, "nothing ran on `cuda:65000`"),
        (&["replay", half, "--device", "tpu"], 2, "cli::bad-usage"),
        (&["replay", half, "--instructions", "sse9"], 2, "cli::bad-usage"),
        (&["replay", half, "--slice", "4..5"], 2, "replay::bad-step-range"),
        (&["replay", half, "--slice", "0..9"], 2, "replay::no-such-steps"),
        (&["replay", "replay/nothing"], 2, "bundle::not-found"),
        (&["verify", "replay/torch-dense", "--replay", "all"], 0, "replay-40..46"),
        (&["verify", bad, "--replay", "auto"], 1, "replayed::differs"),
        (&["verify", bad, "--replay", "auto", "--budget", "0s"], 3, "replayed::not-run"),
        (&["verify", bad, "--replay", "auto", "--budget", "soon"], 2, "cli::bad-usage"),
        (
            &["verify", bad, "--replay", "auto", "--device", "cuda:65000"],
            4,
            "nothing ran on `cuda:65000`",
        ),
    ] {
        let mut arguments = arguments.to_vec();
        arguments.push("--verbose");
        if arguments[0] == "verify" {
            arguments.extend(["--root", "replay/posts"]);
        }
        let ran = repro(&arguments);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{arguments:?}\n{all}");
        assert!(all.contains(said), "{arguments:?}\n{all}");
    }
    let of_good = |arguments: &[&str]| {
        let own = ["verify", "--root", "replay/posts", "--post", "good"];
        repro(&[&own[..], arguments].concat()).code
    };
    assert_eq!(of_good(&["--replay", "all", "--min-method", "replayed"]), 0);
    assert_eq!(of_good(&[]), 3);
    // Recorded verdicts do not use replay.
    assert_eq!(of_good(&["--write-lock"]), 0);
    assert_eq!(of_good(&["--locked"]), 0);
    assert_eq!(of_good(&["--replay", "all", "--locked"]), 2);
}

/// What the statements of posts come to whose steps are executed again, all but one stretch.
#[test]
fn posts_ask_for_replays() {
    let corpus = sealed(&["replay/posts"]);
    let root = corpus.path().join("replay/posts");
    let ids = ["bad", "cases", "good"].map(str::to_owned);
    let replayer: &mut dyn Replayer = &mut Executing { leaving_out: &["0..3"] };
    let report = verify_with(&root, &ids, &Demands::default(), 1, Some(replayer));
    let verbose = ReportOptions { verbose: true, ..ReportOptions::default() };
    snapshot("posts", &render(&report, Format::Text, &verbose));
}

/// Every report that used replay says what replay does not show.
#[test]
fn every_format_says_what_replay_does_not_show() {
    let corpus = sealed(&["replay/smoke-moe-short-s1", "replay/posts"]);
    let repro = |arguments: &[&str]| repro(corpus.path(), arguments);
    // One judgement with a replay and one without, each drawn in every format, as the program draws it.
    let judged = |replayer: Option<&mut dyn Replayer>| {
        let root = corpus.path().join("replay/posts");
        verify_with(&root, &["good".to_owned()], &Demands::default(), 1, replayer)
    };
    let with = judged(Some(&mut Executing { leaving_out: &[] }));
    let without = judged(None);
    for (format, ending) in [
        (Format::Text, "`repro explain scope`.\n"),
        (Format::Markdown, "`repro explain scope`.\n"),
        (Format::Github, "read: 1 by author, not reviewed\n"),
        (Format::Json, "}\n"),
        (Format::Junit, "</testsuites>\n"),
    ] {
        let [with, without] =
            [&with, &without].map(|report| render(report, format, &ReportOptions::default()));
        let says = |text: &str| text.replace('\n', " ").contains("What a replay does not show");
        assert!(says(&with) && !says(&without), "{format:?}\n{with}");
        assert!(with.ends_with(ending), "{format:?}\n{with}");
    }
    let ran = repro(&["verify", "--post", "good", "--root", "replay/posts", "--replay", "all"]);
    assert_eq!(ran.stdout, render(&with, Format::Text, &ReportOptions::default()));
    let replay = repro(&["replay", "replay/smoke-moe-short-s1", "--format", "json"]);
    let replay: Json = serde_json::from_str(&replay.stdout).unwrap();
    assert!(replay["scope"].as_str().unwrap().starts_with("What a replay does not show"));
    for field in [
        "verdict",
        "comparison",
        "arithmetic",
        "steps",
        "tensors",
        "first_divergence",
        "smallest_fault_caught",
    ] {
        assert!(replay.get(field).is_some(), "{field}");
    }
    assert_eq!(replay["schema"], "repro.replay/1");
}

#[test]
fn a_bundle_without_slices_says_how_they_are_recorded() {
    let folder = crate::draft::project(crate::draft::TEXT);
    let replayed = crate::program::repro(folder.path(), &["replay", "receipts/dense-1"]);
    let told = String::from_utf8(replayed.stderr).unwrap();
    let says = |words| told.contains(words);
    assert!(replayed.status.code() == Some(2) && says("nothing to replay"), "{told}");
    assert!(says("Recorder(run, model, optimizer"), "{told}");
}
