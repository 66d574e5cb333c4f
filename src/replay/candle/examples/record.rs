//! Trains a small GPT on bytes with candle, and records a bundle that anyone can verify and replay:
//!
//! ```text
//! cargo run --release --example record -- target/recorded/candle-bytes
//! repro verify target/recorded/candle-bytes
//! repro replay target/recorded/candle-bytes --engine both
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Context, D, DType, Device::Cpu, Result, Tensor, Var};
use candle_nn::{AdamW, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap};
use candle_nn::{embedding, layer_norm_no_bias, linear_no_bias, loss, ops};
use repro_bundle::bundle::{
    BundleWriter, CONFIG, Chain, METRICS, Origin, Receipt, Run, SliceRecord, Trainer,
};
use serde_json::{Map, json};

const TEXT: &[u8] = include_bytes!("record.rs");
const VOCABULARY: usize = 256;
const WIDTH: usize = 32;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const ROWS: usize = 4;
const LENGTH: usize = 32;
const EPSILON: f64 = 1e-5;
const STEPS: usize = 20;
/// The first steps are recorded in full, so that others can execute them again.
const SLICE: usize = 8;

/// The logits after each byte of `tokens`, `(rows, length)`, by a GPT without biases. The first call creates the weights,
/// under the names that nanoGPT gives them.
fn gpt(tokens: &Tensor, vb: &VarBuilder) -> Result<Tensor> {
    // `RmsNorm::forward`, `layer_norm` with biases and `softmax_last_dim` have no backward pass and give no error.
    let norm = |x: &Tensor, vb: VarBuilder| layer_norm_no_bias(WIDTH, EPSILON, vb)?.forward(x);
    let table = embedding(VOCABULARY, WIDTH, vb.pp("wte"))?;
    let places = embedding(LENGTH, WIDTH, vb.pp("wpe"))?;
    let mut x = table.forward(tokens)?.broadcast_add(places.embeddings())?;
    for layer in 0..LAYERS {
        let vb = vb.pp("h").pp(layer);
        x = (&x + attention(&norm(&x, vb.pp("ln_1"))?, &vb.pp("attn"))?)?;
        let inner = linear_no_bias(WIDTH, 4 * WIDTH, vb.pp("mlp.c_fc"))?;
        let h = inner.forward(&norm(&x, vb.pp("ln_2"))?)?.gelu_erf()?;
        x = (x + linear_no_bias(4 * WIDTH, WIDTH, vb.pp("mlp.c_proj"))?.forward(&h)?)?;
    }
    // The head is the table of tokens.
    norm(&x, vb.pp("ln_f"))?.broadcast_matmul(&table.embeddings().t()?)
}

/// Causal attention of `(rows, length, width)`.
fn attention(h: &Tensor, vb: &VarBuilder) -> Result<Tensor> {
    let size = WIDTH / HEADS;
    let projected = linear_no_bias(WIDTH, 3 * WIDTH, vb.pp("c_attn"))?.forward(h)?;
    let heads = projected.reshape((ROWS, LENGTH, 3, HEADS, size))?.permute((2, 0, 3, 1, 4))?;
    let heads = heads.contiguous()?;
    let (query, key, value) = (heads.get(0)?, heads.get(1)?, heads.get(2)?);
    let scores = (query.matmul(&key.t()?)? / (size as f64).sqrt())?;
    // 0 for tokens that are seen, minus infinity for later ones.
    let mask = Tensor::tril2(LENGTH, DType::F32, &Cpu)?.log()?;
    let mixed = ops::softmax(&scores.broadcast_add(&mask)?, D::Minus1)?.matmul(&value)?;
    let mixed = mixed.transpose(1, 2)?.contiguous()?.flatten_from(2)?;
    linear_no_bias(WIDTH, WIDTH, vb.pp("c_proj"))?.forward(&mixed)
}

/// The bytes of a step, each row with the byte that follows it: `(rows, length + 1)`.
fn batch(step: usize) -> Result<Tensor> {
    let row = |row| TEXT.iter().cycle().skip((step * ROWS + row) * LENGTH).take(LENGTH + 1);
    let bytes: Vec<_> = (0..ROWS).flat_map(row).map(|byte| u32::from(*byte)).collect();
    Tensor::from_vec(bytes, (ROWS, LENGTH + 1), &Cpu)
}

/// The norm of a tensor, summed in float64.
fn norm(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(DType::F64)?.sqr()?.sum_all()?.sqrt()?.to_dtype(DType::F32)
}

/// Makes an update, and returns what a slice says about it: what it read, its loss, and norms by tensor.
fn update(
    step: usize,
    vb: &VarBuilder,
    weights: &BTreeMap<String, Var>,
    optimizer: &mut AdamW,
) -> Result<BTreeMap<&'static str, Tensor>> {
    let tokens = batch(step)?;
    let logits = gpt(&tokens.narrow(1, 0, LENGTH)?, vb)?.flatten_to(1)?;
    let loss = loss::cross_entropy(&logits, &tokens.narrow(1, 1, LENGTH)?.flatten_all()?)?;
    let store = loss.backward()?;
    let before: Vec<_> = weights.values().map(|weight| weight.copy()).collect::<Result<_>>()?;
    optimizer.step(&store)?;
    let mut norms = Vec::new();
    for ((name, weight), before) in weights.iter().zip(&before) {
        // `AdamW` leaves a weight without a gradient as it is, and says nothing.
        let gradient = store.get(weight).with_context(|| format!("`{name}` has no gradient"))?;
        let all = [norm(gradient)?, norm(&(weight.as_tensor() - before)?)?, norm(weight)?];
        norms.push(Tensor::stack(&all, 0)?);
    }
    let norms = Tensor::stack(&norms, 1)?;
    Ok(BTreeMap::from([
        ("tokens", tokens),
        ("logged.loss", loss),
        ("logged.grad_norm", norms.get(0)?.sqr()?.sum_all()?.sqrt()?),
        ("logged.tensor_grad_norm", norms.get(0)?),
        ("logged.tensor_update_norm", norms.get(1)?),
        ("logged.tensor_norm", norms.get(2)?),
    ]))
}

#[expect(clippy::disallowed_macros, reason = "an example prints")]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or("target/recorded/candle-bytes".to_owned());
    let mut writer = BundleWriter::create(Path::new(&path))?;
    writer.json(CONFIG, &json!({
        "model_type": "nanogpt", "vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS,
        "block_size": LENGTH, "bias": false, "batch_size": ROWS, "seq_len": LENGTH, "steps": STEPS, "dtype": "float32",
    }))?;

    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, &Cpu).pp("transformer");
    gpt(&batch(0)?.narrow(1, 0, LENGTH)?, &vb)?;
    // Sorted by name: the order in a `VarMap` differs between processes.
    let weights: BTreeMap<_, _> =
        map.data().lock().expect("one thread").clone().into_iter().collect();
    let names: Vec<_> = weights.keys().cloned().collect();
    let initial = weights.iter().map(|(name, weight)| (name, weight.as_tensor()));
    let checkpoint = writer.checkpoint(0, &safetensors::serialize(initial, None)?)?;

    let rule = ParamsAdamW { lr: 0.003, beta2: 0.95, weight_decay: 0.1, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(weights.values().cloned().collect(), rule.clone())?;
    let (mut chain, mut slice) = (Chain::default(), BTreeMap::<_, Vec<Tensor>>::new());
    for step in 0..STEPS {
        let logged = update(step, &vb, &weights, &mut optimizer)?;
        let record = Map::from_iter([
            ("step".into(), json!(step + 1)),
            ("tokens".into(), json!((step + 1) * ROWS * LENGTH)),
            ("loss".into(), json!(logged["logged.loss"].to_scalar::<f32>()?)),
            ("grad_norm".into(), json!(logged["logged.grad_norm"].to_scalar::<f32>()?)),
            ("lr".into(), json!(rule.lr)),
        ]);
        writer.append(METRICS, chain.extend(record)?.as_bytes())?;
        for (name, value) in logged.into_iter().filter(|_| step < SLICE) {
            slice.entry(name).or_default().push(value);
        }
    }

    let stacked = slice.iter().map(|(name, steps)| Ok((*name, Tensor::stack(steps, 0)?)));
    let tensors = safetensors::serialize(stacked.collect::<Result<Vec<_>>>()?, None)?;
    let stated = json!({"grad_clip": 0, "norms": "float64", "groups": [{
        "tensors": names, "optimizer": "adamw", "lr": rule.lr, "weight_decay": rule.weight_decay,
        "beta1": rule.beta1, "beta2": rule.beta2, "eps": rule.eps, "amsgrad": false,
    }]});
    let steps = SLICE as u64;
    let slice =
        SliceRecord { from_step: 0, steps, tensors: &tensors, names: &names, stated: &stated };
    let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
    let receipt = Receipt {
        run: Some(Run { finished: Some(true), ..Run::named(name) }),
        trainer: Some(Trainer {
            arithmetic: Some("candle-f32".into()),
            ..Trainer::named("record.rs")
        }),
        checkpoints: vec![checkpoint],
        slices: vec![writer.slice(&slice)?],
        ..Receipt::new(Origin::Emitted)
    };
    println!("{path}: {}", writer.finish(&receipt)?.prefixed());
    Ok(())
}
