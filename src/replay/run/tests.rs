//! Whole runs of a tiny model: what they write, and that a stop at any step leaves no trace.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::TensorFile;
use crate::data::DataFolder;
use repro_bundle::bundle::{Contract, DeclaredModel, Unfinished};
use repro_core::disk::LocalDisk;
use repro_core::disk::trial::{DiskFault, Trial, tree};
use repro_core::source::{Document, Source};
use repro_kernels::portable::Isa;
use repro_model::study::RunKind;

/// A watcher that stops the run after some step, as a kill does, and keeps what it was told.
#[derive(Default)]
struct Watched {
    stop_after: Option<u64>,
    told: Mutex<Vec<String>>,
}

impl Watcher for Watched {
    fn tell(&self, _run: &str, news: News<'_>) {
        let stop = matches!(news, News::Stepped { step, .. } if Some(step) == self.stop_after);
        self.told.lock().unwrap().push(format!("{news:?}"));
        assert!(!stop, "stopped");
    }
}

fn here() -> DataFolder {
    DataFolder::of_study(Path::new("."))
}

fn corpus(data: &Json) -> Corpus {
    let text = json!({"data": data}).to_string();
    let document = Document::parse_json(Source::new("c.json", text.into_bytes()).unwrap()).unwrap();
    Corpus::load(document.root().required("data").unwrap(), &here()).unwrap()
}

fn data() -> Json {
    json!({"name": "language", "source": "language", "tokenizer": "bytes", "seed": 3,
        "train_bytes": 20_000, "validation": {"bytes": 3_000}, "development": {"bytes": 1_000}})
}

fn plan(change: impl Fn(&mut Json)) -> PlannedRun {
    let mut config = crate::recipe::tests::config();
    let model = json!({"model_type": "repro-llama-moe", "vocab_size": 256, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "intermediate_size": 24, "tie_word_embeddings": false, "norm_eps": 1e-5, "rope_theta": 10_000,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
        "num_shared_experts": 0, "num_dense_layers": 1, "gate": "softmax", "norm_topk_prob": true,
        "balancing": "loss", "aux_loss_alpha": 0.01, "router_z_loss": 0.001,
        "router_bias_update_rate": 0, "reuse": "fresh", "unique_tokens": 768, "data": data(),
        "evaluation": {"split": "validation"}, "tasks": {"language": {"items": 4}}});
    config.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
    change(&mut config);
    PlannedRun {
        id: "t-moe-s1".into(),
        study: "t".into(),
        arm: "moe".into(),
        budget: "b".into(),
        seed: 1,
        kind: RunKind::Best,
        rate: Some(0.01),
        steps: 12,
        config: config.as_object().unwrap().clone(),
        contract: Contract {
            matched: Some("none".into()),
            match_target: None,
            mismatch: None,
            horizon: Some("steps".into()),
            coefficient: Some(12.0),
            tokens: Some(768),
            tokens_per_step: Some(64),
            fraction: Some(1.0),
        },
        model: DeclaredModel {
            family: Some("repro-llama-moe".into()),
            params_total: None,
            params_active: None,
            breakdown: Default::default(),
            tensors: None,
        },
        horizon_of: None,
        plan: Digest::of(b"plan"),
    }
}

struct RunInputs {
    corpus: Corpus,
    suite: Option<Suite>,
}

impl RunInputs {
    fn new(plan: &PlannedRun) -> Self {
        let corpus = corpus(&plan.config["data"]);
        let document = plan.document().unwrap();
        let suite = suite(document.root(), &corpus, &here()).unwrap();
        Self { corpus, suite }
    }

    fn run(
        &self,
        plan: &PlannedRun,
        out: &Path,
        watcher: &Watched,
        save: bool,
    ) -> Result<Finished, Error> {
        self.run_on(&LocalDisk, plan, out, watcher, save)
    }

    fn run_on(
        &self,
        disk: &dyn Disk,
        plan: &PlannedRun,
        out: &Path,
        watcher: &Watched,
        save: bool,
    ) -> Result<Finished, Error> {
        let context = Context {
            starts: None,
            disk,
            place: Place::host(Isa::best()),
            corpus: &self.corpus,
            suite: self.suite.as_ref(),
            plan_commit: Some("c0ffee".repeat(6) + "c0ff"),
            trainer: Trainer {
                name: "repro".into(),
                version: None,
                source_revision: None,
                dirty: None,
                lockfile_sha256: None,
                arithmetic: Some(repro_bundle::bundle::ARITHMETIC.into()),
            },
            environment: Environment {
                cpu: None,
                features: Vec::new(),
                threads: Some(1),
                device: Some("cpu".into()),
                os: None,
                libraries: BTreeMap::new(),
                memory_bytes: None,
            },
            watcher,
            save_every: Duration::from_secs(if save { 0 } else { 1000 }),
        };
        run(plan, out, &context)
    }
}

/// Every file of the payload that is the same in every run.
fn payload(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = tree(folder);
    for differs in [
        "data/timing.jsonl",
        "data/receipt.json",
        "manifest-sha256.txt",
        "tagmanifest-sha256.txt",
        "bag-info.txt",
    ] {
        files.remove(differs).unwrap_or_else(|| panic!("{differs}"));
    }
    files
}

#[test]
fn a_run_becomes_a_bundle_that_says_what_happened() {
    let temporary = tempfile::tempdir().unwrap();
    let plan = plan(|_| {});
    let world = RunInputs::new(&plan);
    let watched = Watched::default();
    let finished = world.run(&plan, temporary.path(), &watched, false).unwrap();
    let folder = temporary.path().join(&plan.id);
    let bundle =
        Bundle::load_folder(&folder, "receipts/t-moe-s1", Some(&finished.digest), 1).unwrap();
    let receipt = bundle.receipt();
    let steps: Vec<_> = receipt.checkpoints.iter().map(|checkpoint| checkpoint.step).collect();
    assert_eq!(steps, [6, 12]);
    let kept = receipt.checkpoints[0].weights.as_deref().unwrap();
    let file = TensorFile::parse(kept, &bundle.bytes(kept).unwrap()).unwrap();
    assert_eq!(Some(file.tensors_digest()), receipt.checkpoints[0].tensors_sha256);
    assert_eq!(file.metadata["step"], "6");
    assert_eq!(file.metadata["arithmetic"], "portable-f32/1");
    assert!(file.tensors.contains_key("optimizer.m.model.layers.1.mlp.gate.weight"));
    assert_eq!(receipt.checkpoints[1].weights, None);
    let slices: Vec<_> =
        receipt.slices.iter().map(|slice| (slice.from_step, slice.steps)).collect();
    assert_eq!(slices, [(0, 3), (6, 3)]);
    let metrics = bundle.document(METRICS).unwrap();
    let records: Vec<_> = metrics.root().items().unwrap().collect();
    let logged: Vec<_> =
        records.iter().map(|r| r.required("step").unwrap().integer().unwrap()).collect();
    assert_eq!(logged, [1, 2, 4, 6, 8, 10, 12]);
    let first = records[0].required("loss").unwrap().float().unwrap();
    assert!((first - libm::log(256.0)).abs() < 0.1, "{first}");
    assert_eq!(records[0].required("lr").unwrap().float().unwrap(), f64::from(0.005_f32));
    assert!(records[0].at("/router/layers/0/max_load").unwrap().float().unwrap() >= 0.25);
    let slice = TensorFile::parse("s", &bundle.bytes(&receipt.slices[0].file).unwrap()).unwrap();
    let logged = slice.tensors["logged.loss"].as_floats().unwrap();
    assert_eq!(f64::from(logged[0]), first);
    let loss = finished.loss.unwrap();
    assert!(loss < first, "{loss} {first}");
    let outcomes: Vec<_> =
        bundle.files().keys().filter(|name| name.ends_with("outcomes.jsonl")).collect();
    assert_eq!(outcomes, ["data/evaluation/step-000012.outcomes.jsonl"]);
    // A second command finds the bundle, and another run is not mistaken for it.
    let again = world.run(&plan, temporary.path(), &watched, false).unwrap();
    assert_eq!(again, Finished { anew: false, ..finished });
    let other = super::tests::plan(|config| config["lr"] = json!(0.02));
    let error = world.run(&other, temporary.path(), &watched, false).unwrap_err();
    assert_eq!((error.code.id, &*error.found), ("train::other-run", "a different `lr`"));
}

#[test]
fn a_run_that_was_stopped_ends_with_the_same_bytes() {
    let temporary = tempfile::tempdir().unwrap();
    // The biases of routers are state that no gradient gives.
    let plan = plan(|config| {
        config["balancing"] = json!("bias");
        config["router_bias_update_rate"] = json!(0.001);
        config["aux_loss_alpha"] = json!(0);
        config["gate"] = json!("sigmoid");
        config["checkpoints"] = json!([0, 6, 12]);
    });
    let world = RunInputs::new(&plan);
    world.run(&plan, &temporary.path().join("whole"), &Watched::default(), false).unwrap();
    let whole = payload(&temporary.path().join("whole").join(&plan.id));
    let kept = TensorFile::parse("w", &whole["data/checkpoints/step-000006.safetensors"]).unwrap();
    let bias = &kept.tensors["model.layers.1.mlp.gate.e_score_correction_bias"];
    let bias = bias.as_floats().unwrap();
    assert!(bias.iter().any(|bias| *bias != 0.0), "{bias:?}");
    for (save, stops) in [(false, &[2_u64, 5, 11][..]), (true, &[1, 4, 5, 6, 8, 9, 12])] {
        let out = temporary.path().join(format!("stopped-{save}"));
        let folder = out.join(&plan.id);
        for stop in stops {
            let watched = Watched { stop_after: Some(*stop), ..Watched::default() };
            let stopped = catch_unwind(AssertUnwindSafe(|| world.run(&plan, &out, &watched, save)));
            assert!(stopped.is_err(), "stops after step {stop}");
            let seen = Unfinished::load(&folder, "run").unwrap();
            assert!(seen.records.lines > 0 && seen.records.torn_bytes == 0);
            // Torn in the middle of a line, as a kill inside a write leaves it.
            let metrics = std::fs::read(folder.join(METRICS)).unwrap();
            let state = seen.resumable && *stop == 6;
            if !state {
                let cut = metrics.len() - usize::from(*stop != 5);
                std::fs::write(folder.join(METRICS), &metrics[..cut]).unwrap();
            }
        }
        world.run(&plan, &out, &Watched::default(), save).unwrap();
        assert!(payload(&folder) == whole, "after stops at {stops:?}");
    }
}

#[test]
fn a_run_that_diverges_is_sealed_as_it_stands() {
    let temporary = tempfile::tempdir().unwrap();
    let plan = plan(|config| {
        config["lr"] = json!(1e30);
        config["warmup_steps"] = json!(0);
    });
    let world = RunInputs::new(&plan);
    for _ in 0..2 {
        let watched = Watched::default();
        let error = world.run(&plan, temporary.path(), &watched, false).unwrap_err();
        assert_eq!(error.code.id, "train::diverged", "{error}");
        let folder = temporary.path().join(&plan.id);
        let bundle = Bundle::load_folder(&folder, "receipts/t-moe-s1", None, 1).unwrap();
        let step = bundle.diverged_at().unwrap().unwrap();
        assert_eq!(&*error.found, format!("non-finite values at step {step}"));
        assert_eq!(bundle.receipt().run.as_ref().unwrap().finished, Some(false));
        assert_eq!(held_out(&bundle).unwrap(), (None, None));
        let metrics = std::fs::read_to_string(folder.join(METRICS)).unwrap();
        assert!(metrics.lines().last().unwrap().contains("\"nonfinite\":\""), "{metrics}");
    }
}

/// A run of few steps that makes every kind of file, for many trials.
fn short_plan(change: impl Fn(&mut Json)) -> PlannedRun {
    let shorter = |config: &mut Json| {
        let fields = json!({"steps": 3, "schedule_steps": 3, "warmup_steps": 1, "hold_tokens": 128,
            "decay_tokens": 64, "log_every": 1, "unique_tokens": 192, "checkpoints": [1, 3],
            "kept_checkpoints": [1], "slices": [{"from_step": 1, "steps": 1}], "hidden_size": 8,
            "num_hidden_layers": 1, "num_dense_layers": 0, "head_dim": 4, "seq_len": 8,
            "batch_size": 8});
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config.as_object_mut().unwrap().remove("tasks");
        config["data"]["train_bytes"] = json!(3000);
        config["data"]["validation"]["bytes"] = json!(200);
        config["data"]["development"]["bytes"] = json!(200);
        change(config);
    };
    PlannedRun { steps: 3, ..plan(shorter) }
}

/// The folder is a whole bundle, or an unfinished run whose records hold.
fn check(folder: &Path) {
    let Err(error) = Bundle::load_folder(folder, "receipts/t-moe-s1", None, 1) else { return };
    assert!(!folder.join("bagit.txt").exists(), "{error}");
    if folder.join("data").exists() {
        assert_eq!(error.code.id, "bundle::unfinished", "{error}");
        Unfinished::load(folder, "run").unwrap();
    }
}

/// Tries a run on disks that fail and in machines that lose their power.
fn try_run(plan: &PlannedRun, diverges: bool) {
    let world = RunInputs::new(plan);
    let folder = |root: &Path| root.join("out").join(&plan.id);
    let trial = Trial {
        // It stops at the first error: what is left then is the same as with any other fault.
        faults: &[DiskFault::After, DiskFault::Full],
        prepare: &|_| {},
        work: &|disk, root| {
            let ran = world.run_on(disk, plan, &root.join("out"), &Watched::default(), true);
            match ran {
                Err(error) if diverges && error.code.id == "train::diverged" => Ok(()),
                ran => ran.map(drop).map_err(|error| error.to_string()),
            }
        },
        check: &|root| check(&folder(root)),
        outcome: &|root| payload(&folder(root)),
    };
    let (trials, falls) = (trial.faults(), trial.power(8));
    assert!(trials > 90 && falls > 16, "{trials} {falls}");
}

#[test]
fn whichever_step_of_writing_a_run_fails_it_goes_on() {
    try_run(&short_plan(|_| {}), false);
}

#[test]
fn whichever_step_of_writing_a_run_that_diverges_fails_it_is_sealed() {
    // The rate rises: a state is saved before the run diverges.
    let plan = short_plan(|config| {
        config["lr"] = json!(1e30);
        config["warmup_steps"] = json!(2);
        config["hold_tokens"] = json!(64);
        config["slices"] = json!([]);
    });
    try_run(&plan, true);
}
