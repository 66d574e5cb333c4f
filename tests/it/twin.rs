//! The losses of the golden runs against those of the same steps in PyTorch, as
//! `scripts/reference/torch_twin.py` printed them (PyTorch 2.15.0 on a CPU with AVX-512, two threads). To
//! print them again:
//!
//! ```sh
//! TWIN_INPUT=target/twin cargo test --test it -- --ignored write_what_the_twin_reads
//! scripts/reference/torch_twin.py target/twin/dense > tests/corpus/golden/torch-dense.jsonl   # and so on
//! ```

use std::path::PathBuf;

use repro_kernels::portable::Isa;
use repro_replay::backend::Host;
use repro_replay::golden::{BALANCED, DENSE, MIXTURE, Rehearsal};
use repro_replay::load::RouterLoad;
use repro_replay::{TensorData, TensorFile};
use serde_json::{Value as Json, json};

/// Checks the losses of a run against those that the twin printed, up to the first step that routes a token
/// elsewhere, which must not come before `steps`: from there on two routings are compared, not two roundings.
fn agrees(model: &str, twin: &str, tolerance: f64, steps: usize) {
    let mut run = Rehearsal::new(Host::new(Isa::best()), model).expect("a run");
    let lines: Vec<Json> =
        twin.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len() as u64, run.recipe.regime.shape.steps);
    for (number, line) in lines.iter().enumerate() {
        let stepped = run.step(number as u64).expect("a step");
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
    agrees(DENSE, include_str!("../corpus/golden/torch-dense.jsonl"), 1e-6, 20);
}

#[test]
fn sparse_losses_are_those_of_pytorch() {
    agrees(MIXTURE, include_str!("../corpus/golden/torch-mixture.jsonl"), 1e-6, 20);
    agrees(BALANCED, include_str!("../corpus/golden/torch-balanced.jsonl"), 1e-6, 20);
}

#[test]
#[ignore = "writes files for scripts/reference/torch_twin.py"]
fn write_what_the_twin_reads() {
    let folder = PathBuf::from(std::env::var_os("TWIN_INPUT").expect("a folder in TWIN_INPUT"));
    for (name, model) in [("dense", DENSE), ("mixture", MIXTURE), ("balanced", BALANCED)] {
        let mut run = Rehearsal::new(Host::new(Isa::best()), model).expect("a run");
        let mut weights = TensorFile::default();
        for tensor in run.learner.values().expect("weights") {
            let data = TensorData::floats(&tensor.shape, &tensor.values);
            weights.tensors.insert(tensor.name, data);
        }
        let tokens: Vec<u32> =
            (0..run.recipe.regime.shape.steps).flat_map(|_| run.batch()).flatten().collect();
        let shape = [
            run.recipe.regime.shape.steps as usize,
            run.recipe.regime.shape.batch_size,
            run.recipe.regime.shape.seq_len + 1,
        ];
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
