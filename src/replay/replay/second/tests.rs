//! Both engines on small random models of every family, with every rule; and faults that only one of the two has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::learner::Learner;
use crate::replay::course::RowsRead;
use crate::replay::start::Start;
use crate::{
    LearningRates, LossTerms, Members, Muon, MuonScale, MuonVariant, Optimizer, ParameterGroup,
    Precision, Regime, RunShape, TensorData, TensorFile, UpdateMethod,
};
use repro_core::source::{Document, Source};
use repro_kernels::portable::Isa;
use repro_stats::rng::Rng;

const STEPS: u64 = 2;
const VOCABULARY: usize = 40;
/// Updates that were made before the first step.
const BEFORE: u64 = 3;

struct Silent;

impl Progress for Silent {
    fn step(&self, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The dimensions of a small model and its batches.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    layers: usize,
    heads: usize,
    shared_heads: usize,
    head_dim: usize,
    length: usize,
    rows: usize,
}

const SMALL: Sizes =
    Sizes { layers: 2, heads: 4, shared_heads: 2, head_dim: 4, length: 12, rows: 4 };

const FAMILIES: [&str; 17] = [
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "olmo2",
    "olmo3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "mixtral",
    "olmoe",
    "qwen3_moe",
    "gpt2",
    "nanogpt",
    "nanochat",
    "repro-llama",
    "repro-llama-moe",
];

/// The config of a family.
fn config(family: &str, sizes: Sizes) -> Json {
    let Sizes { layers, heads, shared_heads, head_dim, length, rows } = sizes;
    let width = heads * head_dim;
    let run = json!({"model_type": family, "vocab_size": VOCABULARY, "seq_len": length, "batch_size": rows,
        "steps": 9, "dtype": "float32"});
    let gpt = json!({"n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": length + 3,
        "block_size": length + 3, "bias": true, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"});
    let llama = json!({"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": shared_heads, "head_dim": head_dim, "intermediate_size": 24,
        "rms_norm_eps": 1e-5, "norm_eps": 1e-5, "rope_theta": 100.0, "hidden_act": "silu"});
    let windows = json!({"sliding_window": 5});
    let types: Vec<_> = (0..layers)
        .map(|layer| if layer % 2 == 0 { "sliding_attention" } else { "full_attention" })
        .collect();
    let types = json!({"sliding_window": 4, "layer_types": types});
    let experts = json!({"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
        "norm_topk_prob": false, "output_router_logits": true, "router_aux_loss_coef": 0.05});
    let gemma = json!({"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 7.0,
        "attn_logit_softcapping": 5.0, "final_logit_softcapping": 4.0});
    let own = json!({"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "gate": "sigmoid",
        "norm_topk_prob": true, "balancing": "loss", "aux_loss_alpha": 0.05, "router_z_loss": 0.01,
        "num_shared_experts": 1, "num_dense_layers": layers - 1});
    let parts: &[&Json] = match family {
        "mistral" => &[&llama, &windows],
        "olmo3" => &[&llama, &types],
        "gemma" => &[&llama, &json!({"hidden_activation": "gelu_pytorch_tanh"})],
        "gemma2" => &[&llama, &windows, &gemma],
        "gemma3_text" => &[&llama, &types, &gemma],
        "mixtral" | "olmoe" | "qwen3_moe" => &[&llama, &experts],
        "gpt2" | "nanogpt" | "nanochat" => &[&gpt],
        "repro-llama-moe" => &[&llama, &own],
        _ => &[&llama],
    };
    let mut all = run.as_object().unwrap().clone();
    parts.iter().for_each(|part| all.extend(part.as_object().unwrap().clone()));
    Json::Object(all)
}

/// AdamW, with decay on matrices alone.
fn adamw() -> Vec<ParameterGroup> {
    let own = ParameterGroup { beta2: 0.95, ..ParameterGroup::ADAMW };
    let matrices = ParameterGroup { members: Members::Matrices, decay: 0.1, ..own.clone() };
    vec![matrices, ParameterGroup { decay: 0.0, ..own }]
}

/// One rule for all tensors.
fn by(method: UpdateMethod) -> Vec<ParameterGroup> {
    vec![ParameterGroup { method, decay: 0.05, beta2: 0.98, ..ParameterGroup::ADAMW }]
}

fn muon(is_bfloat16: bool, variant: MuonVariant, adjust: MuonScale) -> Vec<ParameterGroup> {
    let coefficients = [3.4445, -4.775, 2.0315];
    let rule = Muon { nesterov: true, steps: 5, coefficients, is_bfloat16, adjust, variant };
    let matrices = ParameterGroup {
        members: Members::Matrices,
        epsilon: 1e-7,
        ..by(UpdateMethod::Muon(rule)).remove(0)
    };
    vec![matrices, ParameterGroup { decay: 0.0, ..ParameterGroup::ADAMW }]
}

fn regime(sizes: Sizes, groups: Vec<ParameterGroup>) -> Regime {
    let rates = groups.iter().map(|_| vec![0.01, 0.007]).collect();
    Regime {
        shape: RunShape { steps: 9, batch_size: sizes.rows, seq_len: sizes.length },
        micro_batches: 1,
        by_targets: false,
        balance_whole: false,
        loss_scales: Vec::new(),
        terms: LossTerms::default(),
        precision: Precision::Full,
        rates: LearningRates::Stated { from: BEFORE, groups: rates },
        optimizer: Optimizer { clip: 1.0, groups },
    }
}

/// Random tokens.
fn rows(sizes: Sizes, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = Rng::new(seed, "tokens of engines");
    let count = sizes.rows * (sizes.length + 1);
    let row = |rng: &mut Rng| (0..count).map(|_| rng.below(VOCABULARY as u64) as u32).collect();
    (0..STEPS).map(|_| row(&mut rng)).collect()
}

/// Random weights, large enough that each part of a model matters, and moments.
fn tensors(config: &Json, regime: &Regime, seed: u64) -> TensorFile {
    let source = Source::new("config.json", config.to_string().into_bytes()).unwrap();
    let document = Document::parse_json(source).unwrap();
    let learner = Learner::zeros(document.root(), regime, Host::<f32>::new(Isa::best())).unwrap();
    let mut rng = Rng::new(seed, "tensors of engines");
    let mut draw = |count: usize, middle: f64, width: f64| -> Vec<f32> {
        (0..count).map(|_| (middle + width * (rng.unit() - 0.5)) as f32).collect()
    };
    let mut file = TensorFile::default();
    for (name, shape) in learner.shapes() {
        let count = shape.iter().product();
        let is_norm = shape.len() == 1 && name.ends_with(".weight");
        let values = if is_norm { draw(count, 0.8, 0.5) } else { draw(count, 0.0, 0.7) };
        file.tensors.insert(name.clone(), TensorData::floats(&shape, &values));
        let means = TensorData::floats(&shape, &draw(count, 0.0, 0.01));
        let squares = TensorData::floats(&shape, &draw(count, 2e-4, 2e-4));
        file.tensors.insert(format!("optimizer.m.{name}"), means);
        file.tensors.insert(format!("optimizer.v.{name}"), squares.clone());
        file.tensors.insert(format!("optimizer.x.{name}"), squares);
    }
    for (at, named) in learner.tensors().iter().enumerate() {
        for (prefix, is_kept) in crate::checkpoint::MOMENTS.iter().zip(learner.kept_moments(at)) {
            if !is_kept {
                file.tensors.remove(&format!("{prefix}{}", named.name));
            }
        }
    }
    let trained: BTreeSet<_> = learner.tensors().iter().map(|named| named.name.clone()).collect();
    file.tensors.retain(|name, _| {
        let moment = crate::checkpoint::MOMENTS.iter().find_map(|prefix| name.strip_prefix(prefix));
        moment.is_none_or(|tensor| trained.contains(tensor))
    });
    file
}

fn course(config: &Json, regime: Regime, sizes: Sizes, seed: u64) -> Course {
    let tensors = Arc::new(tensors(config, &regime, seed));
    let (name, shown) = ("random".to_owned(), "random".to_owned());
    Course {
        config: config.as_object().unwrap().clone(),
        regime,
        start: Start { step: BEFORE, tensors, name, shown },
        steps: STEPS,
        rows: RowsRead::Kept(rows(sizes, seed)),
        counted: BEFORE,
        ahead: 0,
        factor: 1.0,
        frozen: None,
        clip_by: Vec::new(),
        exact_norms: true,
        marks: Vec::new(),
        other_roundings: None,
        averaged: None,
        stale: None,
        sampled: None,
    }
}

/// A small model of a family, whose config has other values.
pub(in crate::replay) fn small_course(family: &str, changes: &[(&str, Json)]) -> Course {
    let config = config(family, SMALL);
    let mut course = course(&config, regime(SMALL, adamw()), SMALL, 1);
    course.config.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    course
}

fn machine() -> Machine {
    Machine::new(crate::backend::Place::host(Isa::best()), 2)
}

/// The result of comparing two engines, of which the second executes a different course.
#[derive(Debug)]
struct Compared {
    parting: Option<EnginesParting>,
    /// The largest share of a tolerance, and of what.
    closest: Option<(f64, String)>,
}

/// The steps of a course as the trainer's engine makes them.
fn walked(course: &Course) -> Vec<Step> {
    let mut steps = Vec::new();
    let keep = |_: usize, step: &Step, _: &crate::learner::Stepped| {
        steps.push(step.clone());
        ControlFlow::Continue(())
    };
    drop(course.walk(Host::<f32>::new(Isa::best()), StepMeasure::NarrowMoves, keep).unwrap());
    steps
}

/// The tolerance of a course that came out like this, against a log.
fn calibrated(course: &Course, base: &[Step], log: &[Step]) -> Calibration {
    let layout = course.layout().unwrap();
    let accounts = (&layout, [log, &[]]);
    Calibration::of(course, (base.to_vec(), None), accounts, &machine(), &Silent).unwrap()
}

fn compared(course: &Course, second: &Course) -> Compared {
    let (machine, layout) = (machine(), course.layout().unwrap());
    let base = walked(course);
    let run = match candle::execute(second, &machine).unwrap() {
        SecondOutcome::Made(run) => run,
        SecondOutcome::Unknown(why) => panic!("{why}"),
    };
    let calibration = calibrated(course, &base, &base);
    let own = EnginePair {
        course,
        second: course,
        layout: &layout,
        calibration: &calibration,
        machine: &machine,
    };
    let closest = own
        .shares(&base, &run.steps)
        .into_iter()
        .reduce(|known, one| if one.share > known.share { one } else { known });
    // The rows behind each part are those of the engine that executes another course.
    let other = EnginePair { second, ..own };
    Compared {
        parting: other.parting(&base, &run.steps).unwrap(),
        closest: closest.map(|share| (share.share, format!("{} step {}", share.what, share.step))),
    }
}

/// Both engines on one course.
fn agreed(name: &str, course: &Course) -> f64 {
    let found = compared(course, course);
    assert!(found.parting.is_none(), "{name}: {found:?}");
    let (share, what) = found.closest.unwrap();
    assert!(share <= 1.0, "{name}: {share} of {what}");
    share
}

#[test]
fn engines_agree_on_every_family() {
    for family in FAMILIES {
        let config = config(family, SMALL);
        agreed(family, &course(&config, regime(SMALL, adamw()), SMALL, 1));
    }
}

#[test]
fn engines_agree_in_few_bits() {
    for precision in [Precision::Tf32, Precision::Autocast, Precision::Bfloat16] {
        for family in FAMILIES {
            let config = config(family, SMALL);
            let regime = Regime { precision, ..regime(SMALL, adamw()) };
            agreed(&format!("{precision:?}, {family}"), &course(&config, regime, SMALL, 1));
        }
    }
}

/// How far gradients of the first step are apart, relative to the first, in all.
fn gradients_apart(a: &Step, b: &Step) -> f64 {
    let [a, b] = [a, b].map(|step| step.gradients.as_deref().unwrap());
    distance(a, b)
}

/// In the bits of a run the second engine is nearer to the first one than in float32: it rounds, and there.
#[test]
fn the_second_engine_rounds_where_the_first_one_does() {
    for (precision, family) in [
        (Precision::Tf32, "llama"),
        (Precision::Tf32, "gemma2"),
        (Precision::Autocast, "llama"),
        (Precision::Autocast, "gemma2"),
        (Precision::Bfloat16, "gemma2"),
    ] {
        let full = course(&config(family, SMALL), regime(SMALL, adamw()), SMALL, 1);
        let mut few = full.clone();
        few.regime.precision = precision;
        let mut own = Vec::new();
        let keep = |_: usize, step: &Step, _: &crate::learner::Stepped| {
            own.push(step.clone());
            ControlFlow::Continue(())
        };
        few.walk(Host::<f32>::new(Isa::best()), StepMeasure::Moves, keep).unwrap();
        let apart = |course: &Course| match candle::execute(course, &machine()).unwrap() {
            SecondOutcome::Made(run) => gradients_apart(&own[0], &run.steps[0]),
            SecondOutcome::Unknown(why) => panic!("{why}"),
        };
        let (rounded, exact) = (apart(&few), apart(&full));
        assert!(rounded < 0.75 * exact, "{precision:?} {family}: {rounded} {exact}");
    }
}

#[test]
fn a_fault_of_one_engine_is_noticed_in_few_bits() {
    type Fault = fn(&mut Course);
    let faults: [(&str, &str, Fault, &str); 4] = [
        (
            "window",
            "mistral",
            |c| drop(c.config.insert("sliding_window".to_owned(), 6.into())),
            "attention of layer 0",
        ),
        (
            "activation",
            "llama",
            |c| drop(c.config.insert("hidden_act".to_owned(), "gelu".into())),
            "network of layer 0",
        ),
        (
            "limit of logits",
            "gemma2",
            |c| drop(c.config.insert("final_logit_softcapping".to_owned(), 1.0.into())),
            "head",
        ),
        ("decay", "llama", |c| c.regime.optimizer.groups[0].decay = 1.0, "optimizer"),
    ];
    for precision in [Precision::Tf32, Precision::Autocast, Precision::Bfloat16] {
        for (name, family, plant, operation) in faults {
            let mut course = course(&config(family, SMALL), regime(SMALL, adamw()), SMALL, 6);
            course.regime.precision = precision;
            let mut second = course.clone();
            plant(&mut second);
            let found = compared(&course, &second).parting;
            let found = found.unwrap_or_else(|| panic!("{precision:?}: `{name}` is not noticed"));
            assert_eq!(found.operation, operation, "{precision:?}: {name}");
        }
    }
}

#[test]
fn engines_agree_on_every_rule() {
    use MuonScale::{MatchRmsAdamw, Original, SpectralUnclamped};
    let sgd = |dampening, nesterov| UpdateMethod::Sgd { dampening, nesterov };
    let rules: [(&str, Vec<ParameterGroup>); 11] = [
        ("AdamW with AMSGrad", by(UpdateMethod::AdamW { amsgrad: true })),
        ("Adam", by(UpdateMethod::Adam { amsgrad: false })),
        ("Adam with AMSGrad", by(UpdateMethod::Adam { amsgrad: true })),
        ("SGD", vec![ParameterGroup { beta1: 0.0, ..by(sgd(0.0, false)).remove(0) }]),
        ("SGD with momentum", by(sgd(0.3, false))),
        ("SGD with Nesterov", by(sgd(0.0, true))),
        ("Lion", by(UpdateMethod::Lion)),
        ("Muon of PyTorch", muon(false, MuonVariant::Torch, MatchRmsAdamw)),
        ("Muon of muon.py", muon(false, MuonVariant::Reference, Original)),
        ("Muon of PyTorch in bfloat16", muon(true, MuonVariant::Torch, SpectralUnclamped)),
        ("Muon of muon.py in bfloat16", muon(true, MuonVariant::Reference, Original)),
    ];
    for (name, groups) in rules {
        for family in ["llama", "olmoe"] {
            let config = config(family, SMALL);
            let course = course(&config, regime(SMALL, groups.clone()), SMALL, 2);
            agreed(&format!("{name}, {family}"), &course);
        }
    }
}

/// A router of zeros gives all experts the same score, and which of them are chosen is up to each program.
#[test]
fn a_log_with_others_of_equal_experts_is_told() {
    let mut course = course(&config("mixtral", SMALL), regime(SMALL, adamw()), SMALL, 9);
    let told = |course: &Course, log: &[Step]| {
        let calibration = calibrated(course, &walked(course), log);
        calibration.report(&course.layout().unwrap(), log, BEFORE).tied
    };
    let reversed = |mut steps: Vec<Step>| {
        steps
            .iter_mut()
            .flat_map(|step| step.routed.iter_mut().flatten())
            .for_each(|layer| layer.reverse());
        steps
    };
    assert_eq!(told(&course, &reversed(walked(&course))), None);
    let tensors = &mut Arc::make_mut(&mut course.start.tensors).tensors;
    for (_, data) in tensors.iter_mut().filter(|(name, _)| name.ends_with("mlp.gate.weight")) {
        *data = TensorData::floats(data.shape(), &vec![0.0; data.shape().iter().product()]);
    }
    let own = walked(&course);
    assert_eq!(told(&course, &own), None);
    let layers = 2 * (SMALL.rows * SMALL.length) as u64;
    assert_eq!(told(&course, &reversed(own)), Some((BEFORE + 1, layers)));
    let unrouted = walked(&course).into_iter().map(|step| Step { routed: None, ..step });
    assert_eq!(told(&course, &unrouted.collect::<Vec<_>>()), Some((BEFORE + 1, layers)));
}

/// Documents and positions of packed rows, and targets that do not count.
fn marks(sizes: Sizes) -> Vec<Marks> {
    let of_row = |row: usize| {
        let cut = 3 + row % 3;
        (0..sizes.length)
            .map(move |at| (u32::from(at >= cut), if at >= cut { at - cut } else { at }))
    };
    let all: Vec<_> = (0..sizes.rows).flat_map(of_row).collect();
    let marks = Marks {
        counted: (0..all.len()).map(|at| at % 5 != 1 || at > 30).collect(),
        documents: all.iter().map(|(document, _)| *document).collect(),
        positions: all.iter().map(|(_, position)| *position as u32).collect(),
    };
    vec![marks; STEPS as usize]
}

/// A course with all that a slice may state of its losses.
fn rich(family: &str) -> Course {
    let config = config(family, SMALL);
    let regime = Regime {
        micro_batches: 2,
        by_targets: true,
        balance_whole: true,
        loss_scales: vec![0.5, 2.0],
        terms: LossTerms { label_smoothing: 0.1, z_loss: 1e-3 },
        ..regime(SMALL, adamw())
    };
    Course { marks: marks(SMALL), ..course(&config, regime, SMALL, 3) }
}

#[test]
fn engines_agree_on_losses_marks_and_micro_batches() {
    for family in ["qwen3", "gpt2", "gemma2", "qwen3_moe", "repro-llama-moe"] {
        agreed(family, &rich(family));
    }
    let mut balanced = config("repro-llama-moe", SMALL);
    balanced["balancing"] = "bias".into();
    balanced["router_bias_update_rate"] = 0.01.into();
    agreed("bias", &course(&balanced, regime(SMALL, adamw()), SMALL, 4));
    let stretched = [
        json!({"rope_type": "linear", "rope_theta": 100.0, "factor": 4.0}),
        json!({"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8}),
        json!({"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 8}),
    ];
    for parameters in stretched {
        let mut config = config("llama", SMALL);
        config["rope_parameters"] = parameters.clone();
        let course = course(&config, regime(SMALL, adamw()), SMALL, 5);
        agreed(&parameters.to_string(), &course);
    }
}

/// One engine has another config than the other, or another statement: what it is, and where the comparison puts it.
#[test]
fn a_fault_of_one_engine_is_noticed_and_named() {
    type Fault = fn(&mut Course);
    fn set(course: &mut Course, field: &str, value: Json) {
        course.config.insert(field.to_owned(), value);
    }
    let faults: [(&str, &str, Fault, &str); 18] = [
        (
            "epsilon of norms",
            "llama",
            |c| set(c, "rms_norm_eps", 2e-4.into()),
            "attention of layer 0",
        ),
        ("base of angles", "llama", |c| set(c, "rope_theta", 101.0.into()), "attention of layer 0"),
        ("window", "mistral", |c| set(c, "sliding_window", 6.into()), "attention of layer 0"),
        (
            "limit of scores",
            "gemma2",
            |c| set(c, "attn_logit_softcapping", 5.1.into()),
            "attention of layer 0",
        ),
        (
            "factor of scores",
            "gemma3_text",
            |c| set(c, "query_pre_attn_scalar", 7.1.into()),
            "attention of layer 0",
        ),
        ("activation", "llama", |c| set(c, "hidden_act", "gelu".into()), "network of layer 0"),
        ("gates", "olmoe", |c| set(c, "norm_topk_prob", true.into()), "network of layer 0"),
        ("limit of logits", "gemma2", |c| set(c, "final_logit_softcapping", 4.1.into()), "head"),
        (
            "windows of layers",
            "olmo3",
            |c| set(c, "layer_types", json!(["sliding_attention", "sliding_attention"])),
            "attention of layer 1",
        ),
        (
            "documents",
            "qwen3",
            |c| c.marks.iter_mut().for_each(|m| m.documents.clear()),
            "attention of layer 0",
        ),
        ("label smoothing", "qwen3", |c| c.regime.terms.label_smoothing = 0.0, "loss"),
        ("z-loss", "qwen3", |c| c.regime.terms.z_loss = 0.0, "backward pass"),
        (
            "balance loss",
            "qwen3_moe",
            |c| set(c, "router_aux_loss_coef", 0.051.into()),
            "backward pass",
        ),
        ("means of micro-batches", "qwen3", |c| c.regime.by_targets = false, "loss"),
        ("beta2", "llama", |c| c.regime.optimizer.groups[0].beta2 = 0.951, "optimizer"),
        ("decay", "llama", |c| c.regime.optimizer.groups[0].decay = 0.0, "optimizer"),
        ("epsilon of AdamW", "llama", |c| c.regime.optimizer.groups[1].epsilon = 1e-5, "optimizer"),
        ("clipping", "llama", |c| c.regime.optimizer.clip = 0.99, "optimizer"),
    ];
    let mut operations = BTreeMap::new();
    for (name, family, plant, operation) in faults {
        let course = if family.starts_with("qwen3") {
            rich(family)
        } else {
            course(&config(family, SMALL), regime(SMALL, adamw()), SMALL, 6)
        };
        let mut second = course.clone();
        plant(&mut second);
        let found = compared(&course, &second).parting;
        let found = found.unwrap_or_else(|| panic!("`{name}` is not noticed"));
        if found.operation != operation {
            operations.insert(name, (found.operation, operation, found.divergence.shown()));
        }
    }
    assert!(operations.is_empty(), "{operations:#?}");
}

#[test]
fn what_the_second_engine_does_not_know_it_names() {
    let unknown = |course: &Course| match candle::execute(course, &machine()).unwrap() {
        SecondOutcome::Unknown(why) => why,
        SecondOutcome::Made(_) => panic!("executed"),
    };
    let own = course(&config("llama", SMALL), regime(SMALL, adamw()), SMALL, 7);
    let mut compiled = own.clone();
    compiled.regime.optimizer.groups = muon(true, MuonVariant::Compiled, MuonScale::None);
    assert!(unknown(&compiled).contains("`variant`"), "{}", unknown(&compiled));
    let mut deep = own;
    let layers = json!({"num_hidden_layers": 257});
    deep.config.extend(layers.as_object().unwrap().clone());
    assert!(unknown(&deep).contains("`num_hidden_layers`"), "{}", unknown(&deep));
}

#[test]
fn a_device_that_this_build_has_not_is_named() {
    if cfg!(any(feature = "cuda", feature = "metal")) {
        return;
    }
    let course = course(&config("llama", SMALL), regime(SMALL, adamw()), SMALL, 8);
    for device in ["cuda:0", "metal:0", "opencl:0", "cuda:x"] {
        let machine = Machine { second_device: Some(device.to_owned()), ..machine() };
        let error = candle::execute(&course, &machine).unwrap_err();
        assert_eq!(error.code.id, "train::device-failed");
        assert!(error.to_string().contains(device), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn engines_agree_on_random_models(
        family in 0..FAMILIES.len(),
        (layers, shared_heads, groups, half) in (1_usize..3, 1_usize..3, 1_usize..4, 1_usize..4),
        (length, rows, micro_batches) in (2_usize..20, 1_usize..3, 1_usize..3),
        seed in any::<u32>(),
    ) {
        let sizes = Sizes {
            layers,
            heads: shared_heads * groups,
            shared_heads,
            head_dim: 2 * half,
            length,
            rows: rows * micro_batches,
        };
        let own = Regime { micro_batches, ..regime(sizes, adamw()) };
        let name = FAMILIES[family];
        agreed(name, &course(&config(name, sizes), own, sizes, seed.into()));
    }
}
