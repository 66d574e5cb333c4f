//! Twenty steps of training, dense and sparse: the losses, and all weights and moments after them.
//! Losses alone would not do, because weights differ long before losses show it.
//!
//! The losses are also held against those of the same steps in PyTorch, as `scripts/reference/torch_twin.py`
//! printed them (PyTorch 2.15.0 on a CPU with AVX-512, two threads). To print them again:
//!
//! ```sh
//! TWIN_INPUT=target/twin cargo test --test golden -- --ignored write_what_the_twin_reads
//! scripts/reference/torch_twin.py target/twin/dense > tests/golden/torch-dense.jsonl   # and so on
//! ```

use std::path::PathBuf;

use repro::portable::Isa;
use repro::rng::Rng;
use repro::source::{Document, Source};
use repro::train::learner::{Learner, Stepped};
use repro::train::load::RouterLoad;
use repro::train::{Recipe, TensorData, TensorFile};
use serde_json::{Map, Value as Json, json};

use super::{Bits, Case};

pub const CASES: &[Case] = &[
    Case { name: "training-dense", run: |isa, bits| digest(isa, bits, DENSE) },
    Case { name: "training-mixture", run: |isa, bits| digest(isa, bits, MIXTURE) },
    Case { name: "training-balanced-by-bias", run: |isa, bits| digest(isa, bits, BALANCED) },
];

/// What the configs share: two blocks with grouped heads, sequences over a small alphabet.
const SHARED: &str = r#"{
  "vocab_size": 29, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 6, "norm_eps": 1e-5, "rope_theta": 10000.0,
  "seq_len": 21, "batch_size": 4, "steps": 20, "schedule_steps": 20, "schedule": "cosine",
  "lr": 0.01, "warmup_steps": 3, "decay_floor": 0.1, "weight_decay": 0.1,
  "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-8, "grad_clip": 1.0,
  "seed_init": 1, "seed_data": 1, "dtype": "float32", "arithmetic": "portable-f32/1",
  "log_every": 1, "checkpoints": [20], "kept_checkpoints": [], "slices": []
}"#;

const DENSE: &str = r#"{
  "model_type": "repro-llama", "hidden_size": 26, "intermediate_size": 37,
  "tie_word_embeddings": false
}"#;

const MIXTURE: &str = r#"{
  "model_type": "repro-llama-moe", "hidden_size": 24, "tie_word_embeddings": true,
  "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 19,
  "num_shared_experts": 0, "num_dense_layers": 0, "gate": "softmax",
  "norm_topk_prob": true, "balancing": "loss", "aux_loss_alpha": 0.01,
  "router_z_loss": 0.001
}"#;

const BALANCED: &str = r#"{
  "model_type": "repro-llama-moe", "hidden_size": 20, "intermediate_size": 31,
  "tie_word_embeddings": false, "num_experts": 6, "num_experts_per_tok": 2,
  "moe_intermediate_size": 9, "num_shared_experts": 1, "num_dense_layers": 1,
  "gate": "sigmoid", "norm_topk_prob": true, "balancing": "bias",
  "router_bias_update_rate": 0.001, "router_z_loss": 0.0
}"#;

/// A run before its first step.
struct Run {
    config: Vec<u8>,
    recipe: Recipe,
    learner: Learner,
    text: Rng,
}

impl Run {
    fn new(isa: Isa, model: &str) -> Self {
        let [mut config, shared] =
            [model, SHARED].map(|text| serde_json::from_str::<Map<_, _>>(text).expect("JSON"));
        config.extend(shared);
        let config = Json::Object(config).to_string().into_bytes();
        let source = Source::new("config.json", config.clone()).expect("text");
        let document = Document::parse_json(source).expect("a config");
        let recipe = Recipe::read(document.root()).expect("a recipe");
        let learner = Learner::new(document.root(), &recipe, isa).expect("a model");
        Self { config, recipe, learner, text: Rng::new(1, "golden text") }
    }

    /// The sequences of a batch, each with the token after it.
    fn batch(&mut self) -> Vec<Vec<u32>> {
        (0..self.recipe.batch_size).map(|_| sequence(&mut self.text, self.recipe.seq_len)).collect()
    }

    fn step(&mut self, number: u64) -> Stepped {
        let batch = self.batch();
        let inputs = batch.iter().flat_map(|row| row[..row.len() - 1].to_vec()).collect::<Vec<_>>();
        let targets = batch.iter().flat_map(|row| row[1..].to_vec()).collect::<Vec<_>>();
        let rate = self.recipe.schedule.rate(number);
        self.learner.step(&inputs, &targets, batch.len(), rate).expect("a step")
    }
}

/// Letters of which each one says much about the next.
fn sequence(rng: &mut Rng, length: usize) -> Vec<u32> {
    let mut token = rng.below(29);
    let next = |_| {
        token = (token * 5 + rng.below(4)) % 29;
        token as u32
    };
    (0..=length).map(next).collect()
}

fn digest(isa: Isa, bits: &mut Bits, model: &str) {
    let mut run = Run::new(isa, model);
    for number in 0..run.recipe.steps {
        let Stepped { loss, norm, .. } = run.step(number);
        bits.add(&[loss, norm]);
    }
    let values = run.learner.values().expect("weights");
    values.iter().for_each(|tensor| bits.add(&tensor.values));
    for moments in run.learner.moments() {
        [&moments.mean, &moments.square].iter().for_each(|values| bits.add(values));
    }
}

/// Checks the losses of a run against those that the twin printed, up to the first step that routes a token
/// elsewhere, which must not come before `steps`: from there on two routings are compared, not two roundings.
fn agrees(model: &str, twin: &str, tolerance: f64, steps: usize) {
    let mut run = Run::new(Isa::best(), model);
    let lines: Vec<Json> =
        twin.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len() as u64, run.recipe.steps);
    for (number, line) in lines.iter().enumerate() {
        let stepped = run.step(number as u64);
        let loads = line["loads"].as_array().expect("loads");
        let counts = loads
            .iter()
            .map(|load| serde_json::from_value::<Vec<u64>>(load.clone()).expect("counts"));
        let theirs: Vec<_> =
            counts.map(|counts| RouterLoad::of(&counts).map(|load| load.json())).collect();
        if stepped.router.is_some_and(|ours| ours["layers"] != json!(theirs)) {
            assert!(number >= steps, "a token was routed elsewhere in step {number}");
            return;
        }
        for (field, ours) in [("loss", stepped.loss), ("grad_norm", stepped.norm)] {
            let theirs = line[field].as_f64().expect("a number");
            let apart = (f64::from(ours) - theirs).abs();
            assert!(
                apart <= tolerance,
                "step {number}: {field} {ours} and {theirs} are {apart:e} apart"
            );
        }
    }
}

#[test]
fn dense_losses_are_those_of_pytorch() {
    agrees(DENSE, include_str!("torch-dense.jsonl"), 1e-5, 20);
}

#[test]
fn sparse_losses_are_those_of_pytorch() {
    agrees(MIXTURE, include_str!("torch-mixture.jsonl"), 1e-4, 20);
    agrees(BALANCED, include_str!("torch-balanced.jsonl"), 1e-4, 20);
}

#[test]
#[ignore = "writes files for scripts/reference/torch_twin.py"]
fn write_what_the_twin_reads() {
    let folder = PathBuf::from(std::env::var_os("TWIN_INPUT").expect("a folder in TWIN_INPUT"));
    for (name, model) in [("dense", DENSE), ("mixture", MIXTURE), ("balanced", BALANCED)] {
        let mut run = Run::new(Isa::best(), model);
        let mut weights = TensorFile::default();
        for tensor in run.learner.values().expect("weights") {
            let data = TensorData::floats(&tensor.shape, &tensor.values);
            weights.tensors.insert(tensor.name, data);
        }
        let tokens: Vec<u32> = (0..run.recipe.steps).flat_map(|_| run.batch()).flatten().collect();
        let shape = [run.recipe.steps as usize, run.recipe.batch_size, run.recipe.seq_len + 1];
        let mut slice = TensorFile::default();
        slice.tensors.insert("tokens".to_owned(), TensorData::numbers(&shape, &tokens));
        let data = folder.join(name).join("data");
        for (file, bytes) in [
            ("config.json", run.config.clone()),
            ("checkpoints/step-000000.safetensors", weights.write()),
            ("slices/slice-000000.safetensors", slice.write()),
        ] {
            let path = data.join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
    }
}
