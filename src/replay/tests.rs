//! Models on a device against the same models on the processor: equal bits, and nothing done on the host. Where a machine has
//! no device nothing is held against anything, unless `REPRO_REQUIRE_DEVICE` asks for one.

use super::backend::{Backend, Gpu, Host};
use super::model::tests::{dense, noisy, others, sparse, tokens};
use super::model::{Balancing, Config, MixtureConfig, Sequences, Variations};
use super::ops::{Head, IGNORED, Normed};
use super::optimizer::{self, OptimizerState};
use super::recipe::{LossTerms, Precision};
use super::rules::{
    Members, Muon, MuonScale, MuonVariant, Optimizer, ParameterGroup, UpdateMethod,
};
use repro_kernels::device::{Device, DeviceError};
use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::router::Gate;
use repro_kernels::portable::{Isa, TokenPlaces};

/// The device that `REPRO_TEST_DEVICE` names, or the first of OpenCL.
fn device() -> Option<Device> {
    let named = std::env::var("REPRO_TEST_DEVICE").ok();
    let is_required = named.is_some() || std::env::var_os("REPRO_REQUIRE_DEVICE").is_some();
    match repro_kernels::device::open(named.as_deref().unwrap_or("opencl:0")) {
        Err(DeviceError::NoRuntime { .. }) if !is_required => None,
        opened => Some(opened.unwrap()),
    }
}

/// A model, and what it is trained with.
struct Case {
    config: Config,
    terms: LossTerms,
    method: UpdateMethod,
    /// Whether tokens are of several documents, at positions of their own.
    is_packed: bool,
    /// Whether draws take Muon's roundings off.
    disturbed: Option<u64>,
}

impl Case {
    fn of(config: Config, method: UpdateMethod) -> Self {
        Self { config, terms: LossTerms::default(), method, is_packed: false, disturbed: None }
    }
}

fn muon(variant: MuonVariant, is_bfloat16: bool) -> UpdateMethod {
    let (nesterov, coefficients) = (true, [3.4445, -4.7750, 2.0315]);
    let adjust = MuonScale::Original;
    UpdateMethod::Muon(Muon { nesterov, steps: 5, coefficients, is_bfloat16, adjust, variant })
}

/// The bits of two steps: losses, all gradients, what targets cost, and what is left of weights and moments.
fn bits<B: Backend<Number = f32>>(backend: B, case: &Case) -> Vec<(String, Vec<u32>)> {
    let (config, mut found) = (&case.config, Vec::new());
    let mut keep = |what: &str, numbers: &[f32]| {
        found.push((what.to_owned(), numbers.iter().map(|one| one.to_bits()).collect()));
    };
    let mut model = noisy(config, backend.clone());
    model.train_with(case.terms);
    let group = |members, method| ParameterGroup { members, method, ..ParameterGroup::ADAMW };
    let (first, others) =
        (group(Members::Matrices, case.method), UpdateMethod::AdamW { amsgrad: false });
    let settings = Optimizer { clip: 0.5, groups: vec![first, group(Members::All, others)] };
    let tensors: Vec<_> = model.tensors().to_vec();
    let shapes: Vec<_> = tensors
        .iter()
        .map(|named| match *named.shape {
            [rows, columns] => (settings.group_of(&named.name, named.decays), [rows, columns]),
            _ => (settings.group_of(&named.name, false), [1, named.len]),
        })
        .collect();
    let mut state = OptimizerState::new(backend, &settings, &shapes);
    if let Some(seed) = case.disturbed {
        state.disturb_roundings(seed);
    }
    let count = 3 * config.seq_len;
    let documents: Vec<u32> = (0..count).map(|at| (at / 4) as u32).collect();
    let positions: Vec<u32> = (0..count).map(|at| (at % 4) as u32).collect();
    let places = TokenPlaces { documents: &documents, positions: &positions };
    for name in ["a", "b"] {
        let (inputs, mut targets) = (tokens(config, count, name), tokens(config, count, "next"));
        targets[5..8].fill(IGNORED);
        let sequences = Sequences::new(&inputs, &targets, 3);
        let sequences = match case.is_packed {
            true => Sequences { places, ..sequences },
            false => sequences,
        };
        let forward = model.forward(sequences).unwrap();
        model.backward().unwrap();
        keep("loss", &[forward.cross_entropy]);
        keep("objective", &[forward.objective() as f32]);
        for named in &tensors {
            keep(&format!("gradient of {}", named.name), &model.gradient(&named.name).unwrap());
        }
        let norm = optimizer::norm(&model.gradient_squares().unwrap());
        let (step, mut numbers) = (state.begin(&[0.01], norm), 0..);
        model.update(|tensor| state.update(&step, numbers.next().unwrap(), tensor));
        model.move_router_biases(&forward.layers);
        keep("costs", &model.nats(sequences).unwrap().nats);
    }
    for (at, named) in tensors.iter().enumerate() {
        keep(&named.name, &model.read(&named.name).unwrap());
        let moments = state.moments_of(at).unwrap();
        moments.parts().iter().for_each(|part| keep(&format!("moments of {}", named.name), part));
    }
    found
}

/// Answers what the device had the host do.
#[track_caller]
fn same_bits(device: &Device, what: &str, case: &Case) -> Vec<&'static str> {
    let gpu = Gpu::new(device.clone(), Isa::best());
    let (expected, found) = (bits(Host::new(Isa::best()), case), bits(gpu.clone(), case));
    assert_eq!(gpu.fault(), None, "{what}");
    for ((name, expected), (_, found)) in std::iter::zip(&expected, &found) {
        let other = std::iter::zip(expected, found).filter(|(a, b)| a != b).count();
        assert!(other == 0, "{what}: {other} of {} of {name} differ", expected.len());
    }
    assert!(expected.iter().flat_map(|(_, bits)| bits).any(|bits| *bits != 0));
    gpu.done_on_host().into_keys().collect()
}

/// Families and their variations.
fn families() -> Vec<(&'static str, Config)> {
    let of = |variations: Variations| Config { variations, ..dense() };
    let mixture = |mixture| Config { mixture: Some(mixture), ..dense() };
    let losses = MixtureConfig { balancing: Balancing::Loss(0.3), z_coefficient: 0.1, ..sparse() };
    let joint = MixtureConfig { balancing: Balancing::Joint(0.3), ..losses.clone() };
    let shared = MixtureConfig { num_shared_experts: 2, num_dense_layers: 1, ..losses };
    let biased =
        MixtureConfig { gate: Gate::Sigmoid, balancing: Balancing::Bias(0.01), ..sparse() };
    let windows = vec![Some(2), None];
    let mut all = others();
    all.extend([
        ("llama", dense()),
        ("qwen3", of(Variations { normed: Normed::Heads, ..Variations::default() })),
        ("windows", of(Variations { windows, ..Variations::default() })),
        ("mixture", mixture(joint)),
        ("mixture with shared experts", mixture(shared)),
        ("mixture with biases", mixture(biased)),
    ]);
    all
}

#[test]
fn models_of_all_families_have_the_bits_of_the_processor_and_stay_on_the_device() {
    let Some(device) = device() else { return };
    let methods = [
        UpdateMethod::AdamW { amsgrad: true },
        UpdateMethod::Adam { amsgrad: false },
        UpdateMethod::Sgd { dampening: 0.1, nesterov: true },
        UpdateMethod::Lion,
        muon(MuonVariant::Reference, true),
        muon(MuonVariant::Torch, false),
        muon(MuonVariant::Compiled, true),
    ];
    for (at, (name, config)) in families().into_iter().enumerate() {
        let is_packed = at % 2 == 0;
        let method = methods[at % methods.len()];
        let terms = match at % 3 {
            0 => LossTerms { label_smoothing: 0.1, z_loss: 0.01 },
            _ => LossTerms::default(),
        };
        let case = Case { is_packed, terms, ..Case::of(config, method) };
        assert_eq!(same_bits(&device, name, &case), [""; 0], "{name}");
    }
}

#[test]
fn fewer_bits_are_those_of_the_processor() {
    let Some(device) = device() else { return };
    for precision in [Precision::Autocast, Precision::Bfloat16, Precision::Tf32] {
        for (name, config) in families() {
            let config = Config { precision, ..config };
            let case = Case::of(config, UpdateMethod::AdamW { amsgrad: false });
            assert_eq!(same_bits(&device, name, &case), [""; 0], "{name} {precision:?}");
        }
    }
}

#[test]
fn what_is_off_on_purpose_is_done_on_the_host_with_the_same_bits() {
    let Some(device) = device() else { return };
    for (name, config) in others() {
        for seed in [6, 7] {
            let mut config = Config { precision: Precision::Bfloat16, ..config.clone() };
            config.disturb(seed);
            let method = muon(MuonVariant::Reference, true);
            let case = Case { disturbed: Some(seed), ..Case::of(config, method) };
            let on_host = same_bits(&device, name, &case);
            assert!(on_host.contains(&"an operation forward") && on_host.contains(&"an update"));
        }
    }
}

#[test]
fn logits_of_some_rows_at_a_time_have_the_bits_of_the_processor() {
    let Some(device) = device() else { return };
    let (columns, width, rows) = (37, 12, 300);
    let numbers = |count: usize| -> Vec<f32> {
        (0..count).map(|at| ((at * 7919) % 997) as f32 / 400.0 - 1.2).collect()
    };
    let mut targets: Vec<u32> = (0..rows).map(|at| (at * at % columns) as u32).collect();
    targets[200..220].fill(IGNORED);
    let rounding = Some(Rounding { kept: 7, seed: Some(9) });
    let terms = LossTerms { label_smoothing: 0.1, z_loss: 0.01 };
    for (held, rounding, cap, terms) in [
        (Some(1), rounding, Some(2.0), LossTerms::default()),
        (Some(columns * 256), None, None, terms),
        (None, rounding, None, terms),
    ] {
        let head = || Head::<f32> {
            width,
            cap,
            terms,
            held,
            rounding,
            other_sums: None,
            saved: Default::default(),
        };
        let (h, matrix) = (numbers(rows * width), numbers(columns * width));
        let gpu = Gpu::new(device.clone(), Isa::best());
        let expected = losses(&Host::new(Isa::best()), head(), &targets, [&h, &matrix]);
        assert_eq!(losses(&gpu, head(), &targets, [&h, &matrix]), expected);
        assert!(gpu.done_on_host().is_empty());
    }
}

/// The bits of a head's loss, gradients and costs.
fn losses<B: Backend<Number = f32>>(
    backend: &B,
    mut head: Head<f32>,
    targets: &[u32],
    [h, matrix]: [&[f32]; 2],
) -> Vec<u32> {
    let [th, tmatrix] = [h, matrix].map(|of| backend.put(of.to_vec()));
    let mut kept = B::Kept::default();
    let loss = backend.loss(&mut head, &mut kept, targets, [&th, &tmatrix]);
    let (mut gh, mut g_matrix) = (backend.zeros(h.len()), backend.zeros(matrix.len()));
    backend.head_backward(&head, &kept, [&th, &tmatrix], [&mut gh, &mut g_matrix]);
    let scores = backend.scores(&head, targets, [&th, &tmatrix]);
    let gradients = [backend.get(&gh, 0..h.len()), backend.get(&g_matrix, 0..matrix.len())];
    let all = [&[loss.nats, loss.square as f32][..], &scores.nats, &gradients.concat()].concat();
    let guessed = scores.greedy.into_iter().map(u32::from);
    all.into_iter().map(f32::to_bits).chain(guessed).collect()
}
