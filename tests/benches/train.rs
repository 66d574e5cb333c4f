//! Our side of `scripts/bench_train.sh`: `train FOLDER KIND PLACE` writes the initial weights and forty batches where
//! `scripts/reference/torch_twin.py` reads them, then trains as many steps as each line of standard input says, and answers
//! with their seconds, losses and router loads. KIND is `dense` or `mixture`, or one of these with `-25m` behind it; PLACE is a
//! number of threads, or a device.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use repro_core::source::{Document, Source};
use repro_kernels::portable::Isa;
use repro_replay::backend::{Backend, Gpu, Host};
use repro_replay::language::Language;
use repro_replay::learner::Learner;
use repro_replay::model::Sequences;
use repro_replay::{Recipe, TensorData, TensorFile};
use serde_json::{Map, Value as Json, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Batches that are trained on in turn.
const BATCHES: usize = 40;

/// A decoder of 3.3 million parameters, or one of 5.4 million with experts; those for devices have 25 million that a token
/// uses.
fn config(kind: &str) -> Json {
    let (kind, is_large) = kind.strip_suffix("-25m").map_or((kind, false), |kind| (kind, true));
    let of = |small: usize, large: usize| if is_large { large } else { small };
    let shared = json!({
        "vocab_size": 256, "hidden_size": of(256, 512), "num_hidden_layers": of(4, 8),
        "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": of(32, 64),
        "tie_word_embeddings": false, "norm_eps": 1e-5, "rope_theta": 10000.0,
        "seq_len": of(128, 512), "batch_size": 16, "steps": BATCHES,
        "schedule_steps": BATCHES, "schedule": "wsd", "lr": 1e-3, "warmup_steps": 10,
        "hold_tokens": 1_000_000_000, "decay_tokens": 0, "decay_floor": 0.1, "weight_decay": 0.1,
        "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-8, "grad_clip": 1.0, "seed_init": 1,
        "seed_data": 1, "dtype": "float32", "arithmetic": "portable-f32/1", "log_every": 1,
        "checkpoints": [BATCHES], "kept_checkpoints": [], "slices": []
    });
    let own = match kind {
        "mixture" => json!({
            "model_type": "repro-llama-moe", "num_experts": 4, "num_experts_per_tok": 2,
            "moe_intermediate_size": of(344, 688), "num_shared_experts": 0, "num_dense_layers": 0,
            "gate": "softmax", "norm_topk_prob": true, "balancing": "loss",
            "aux_loss_alpha": 0.01, "router_z_loss": 0.001
        }),
        _ => json!({"model_type": "repro-llama", "intermediate_size": of(688, 1376)}),
    };
    let fields = [shared, own].into_iter().filter_map(|part| part.as_object().cloned()).flatten();
    Json::Object(fields.collect::<Map<_, _>>())
}

/// Consecutive text of the embedded language as sequences, each with the byte after it.
fn batches(recipe: &Recipe) -> Vec<Vec<Vec<u32>>> {
    let language = Language::new(1);
    let mut bytes = language.documents("train").flat_map(String::into_bytes).map(u32::from);
    let mut sequence = || bytes.by_ref().take(recipe.regime.shape.seq_len + 1).collect::<Vec<_>>();
    let mut batch = |_| (0..recipe.regime.shape.batch_size).map(|_| sequence()).collect();
    (0..BATCHES).map(&mut batch).collect()
}

fn write<B: Backend<Number = f32>>(
    folder: &Path,
    config: &Json,
    learner: &Learner<B>,
    batches: &[Vec<Vec<u32>>],
) -> Result<(), Box<dyn Error>> {
    let weights = learner.values()?.into_iter().map(|tensor| {
        let data = TensorData::floats(&tensor.shape, &tensor.values);
        (tensor.name, data)
    });
    let tokens: Vec<u32> = batches.iter().flatten().flatten().copied().collect();
    let rows = batches.first().map_or(0, Vec::len);
    let length = tokens.len() / (batches.len() * rows).max(1);
    let tokens = TensorData::numbers(&[batches.len(), rows, length], &tokens);
    let file = |tensors| TensorFile { tensors, metadata: BTreeMap::new() }.write();
    for (name, bytes) in [
        ("config.json", config.to_string().into_bytes()),
        ("checkpoints/step-000000.safetensors", file(weights.collect())),
        ("slices/slice-000000.safetensors", file(BTreeMap::from([("tokens".to_owned(), tokens)]))),
    ] {
        let path = folder.join("data").join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this without arguments: then there is nothing to time.
    let [_, folder, kind, place] = arguments.as_slice() else { return Ok(()) };
    match place.parse() {
        Ok(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let train =
                || serve(Host::new(Isa::best()), folder, kind).map_err(|error| error.to_string());
            Ok(pool.install(train)?)
        }
        Err(_) => serve(Gpu::new(repro_kernels::device::open(place)?, Isa::best()), folder, kind),
    }
}

/// Trains so many steps for each line of standard input.
fn serve<B: Backend<Number = f32>>(
    backend: B,
    folder: &str,
    kind: &str,
) -> Result<(), Box<dyn Error>> {
    let config = config(kind);
    let document =
        Document::parse_json(Source::new("config.json", config.to_string().into_bytes())?)?;
    let recipe = Recipe::read(document.root())?;
    let mut learner = Learner::new(document.root(), &recipe.regime, recipe.seed_init, backend)?;
    let batches = batches(&recipe);
    write(Path::new(folder), &config, &learner, &batches)?;
    let (mut out, mut done) = (std::io::stdout().lock(), 0);
    writeln!(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let (mut seconds, mut losses, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..line?.trim().parse::<u64>()? {
            let start = Instant::now();
            let batch = &batches[done as usize % BATCHES];
            let inputs: Vec<u32> =
                batch.iter().flat_map(|row| &row[..recipe.regime.shape.seq_len]).copied().collect();
            let targets: Vec<u32> = batch.iter().flat_map(|row| &row[1..]).copied().collect();
            let rate = recipe.regime.rates.first(done);
            let stepped = learner.step(Sequences::new(&inputs, &targets, batch.len()), &[rate])?;
            seconds.push(start.elapsed().as_secs_f64());
            losses.push(stepped.loss);
            loads.push(stepped.router.map_or(json!([]), |router| router["layers"].clone()));
            done += 1;
        }
        writeln!(out, "{}", json!({"seconds": seconds, "losses": losses, "loads": loads}))?;
        out.flush()?;
    }
    Ok(())
}
