use super::*;
use crate::backend::Host;
use crate::load::RouterLoad;
use crate::recipe::Precision;
use repro_kernels::portable::router::Gate;
use repro_kernels::portable::{Activation, Isa};

mod oracle;

/// A dense model of small odd sizes.
pub(crate) fn dense() -> Config {
    Config {
        vocab_size: 11,
        hidden_size: 12,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 2,
        head_dim: 6,
        intermediate_size: 10,
        tie_word_embeddings: false,
        norm_eps: 1e-5,
        angles: Some(Angles::Exact { theta: 100.0 }),
        variations: Variations::default(),
        precision: Precision::default(),
        rounding_seed: None,
        seq_len: 7,
        mixture: None,
    }
}

/// The experts of a small model.
pub(crate) fn sparse() -> MixtureConfig {
    MixtureConfig {
        num_experts: 5,
        num_experts_per_tok: 2,
        moe_intermediate_size: 6,
        num_shared_experts: 0,
        num_dense_layers: 0,
        gate: Gate::Softmax,
        norm_topk_prob: true,
        balancing: Balancing::None,
        z_coefficient: 0.0,
    }
}

/// A model on the processor with larger weights than a fresh one has.
fn model<T: Kernels>(config: &Config) -> Model<Host<T>> {
    noisy(config, Host::new(Isa::best()))
}

/// A model with larger weights than a fresh one has, so that every term counts.
pub(crate) fn noisy<B: Backend>(config: &Config, backend: B) -> Model<B> {
    let mut model = Model::new(config, backend, 3);
    let mut rng = Rng::new(5, "test");
    for named in model.tensors().to_vec() {
        let mut numbers = model.read(&named.name).unwrap().into_owned();
        let scale = if named.decays { 0.8 } else { 0.3 };
        for number in &mut numbers {
            let noise = B::Number::from_f64(scale * (rng.unit() - 0.5));
            *number = if named.decays { noise } else { *number + noise };
        }
        model.write(&named.name, &numbers).unwrap();
    }
    model
}

/// A model as training begins with it.
fn fresh(config: &Config) -> Model<Host> {
    Model::new(config, Host::new(Isa::best()), 1)
}

/// Tokens of a model.
pub(crate) fn tokens(config: &Config, count: usize, name: &str) -> Vec<u32> {
    let mut rng = Rng::new(7, name);
    (0..count).map(|_| rng.below(config.vocab_size as u64) as u32).collect()
}

/// Compares some gradients of every tensor with central differences of the objective.
fn agrees_with_differences(config: &Config) {
    let mut model = model::<f64>(config);
    let (rows, length) = (3, config.seq_len);
    let inputs = tokens(config, rows * length, "inputs");
    let targets = tokens(config, rows * length, "targets");
    let forward = model.forward(Sequences::new(&inputs, &targets, rows)).unwrap();
    model.backward().unwrap();
    let choice =
        |layers: &[Load]| layers.iter().map(|load| load.counts.clone()).collect::<Vec<_>>();
    let routed = choice(&forward.layers);
    let (mut rng, structure) = (Rng::new(9, "coordinates"), config.variations.structure);
    let all: Vec<_> = model.tensors().to_vec();
    for named in all {
        let gradient = model.gradient(&named.name).unwrap().to_vec();
        let largest = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
        let numbers = model.read(&named.name).unwrap().to_vec();
        for _ in 0..4 {
            let at = rng.below(named.len as u64) as usize;
            let mut objective = |by: f64| {
                let mut moved = numbers.clone();
                moved[at] += by;
                model.write(&named.name, &moved).unwrap();
                let forward = model.forward(Sequences::new(&inputs, &targets, rows)).unwrap();
                assert_eq!(choice(&forward.layers), routed, "no choice flips between the ends");
                forward.objective()
            };
            let h = 1e-4;
            // The error of the fourth order formula is h^4 / 30 times the fifth derivative.
            let near = (objective(h) - objective(-h)) * 8.0;
            let far = objective(2.0 * h) - objective(-2.0 * h);
            let expected = (near - far) / (12.0 * h);
            let close =
                (gradient[at] - expected).abs() <= 1e-6 * expected.abs() + 1e-9 * (1.0 + largest);
            assert!(close, "{structure:?} {} [{at}]: {} and {expected}", named.name, gradient[at]);
        }
        model.write(&named.name, &numbers).unwrap();
    }
}

#[test]
fn gradients_of_dense_models_are_those_of_finite_differences() {
    agrees_with_differences(&dense());
    agrees_with_differences(&Config { tie_word_embeddings: true, ..dense() });
    let grouped = Config { num_attention_heads: 6, head_dim: 4, ..dense() };
    let grouped = Config { num_key_value_heads: 3, ..grouped };
    agrees_with_differences(&grouped);
    for (biased, normed) in
        [(true, Normed::Not), (false, Normed::Heads), (false, Normed::Rows), (true, Normed::Heads)]
    {
        let biased = Biases { vectors: biased, ..Biases::default() };
        let variations = Variations { biased, normed, ..Variations::default() };
        agrees_with_differences(&Config { variations, ..grouped.clone() });
    }
}

/// Models of others, small.
pub(crate) fn others() -> Vec<(&'static str, Config)> {
    let of = |variations: Variations| Config { variations, ..dense() };
    let plain = Variations::default;
    let all_biased = Biases { vectors: true, output: true, network: true };
    let gpt2 = |turned, biased, norm| {
        let structure = Structure::Gpt2 { turned, positions: 9 };
        let activation = if turned { Activation::GeluTanh } else { Activation::Gelu };
        let config = of(Variations { structure, biased, norm, activation, ..plain() });
        Config { angles: None, tie_word_embeddings: true, ..config }
    };
    let nanochat = |is_original, angles| {
        let config = of(Variations {
            structure: Structure::Nanochat { is_original },
            norm: NormKind::RmsAlone,
            normed: Normed::HeadsAlone,
            activation: Activation::ReluSquared,
            logits_cap: Some(1.5),
            ..plain()
        });
        Config { angles: Some(angles), num_key_value_heads: 1, ..config }
    };
    let turned = Angles::narrow(100.0, 6).turned();
    let gemma = of(Variations {
        norm: NormKind::RmsFromOne,
        placed: NormPlace::Both,
        normed: Normed::HeadsFromOne,
        activation: Activation::GeluTanh,
        scale: Some(0.7),
        scores_cap: Some(0.9),
        logits_cap: Some(2.0),
        embedding_scale: Some(3.4),
        windows: vec![Some(3), None],
        window_angles: Some(turned.clone()),
        ..plain()
    });
    let biased = Biases { output: true, network: true, ..Biases::default() };
    vec![
        ("gpt2", gpt2(true, all_biased, NormKind::LayerBiased)),
        ("llama", Config { angles: Some(turned.clone()), ..dense() }),
        ("nanogpt", gpt2(false, Biases::default(), NormKind::Layer)),
        ("nanochat", nanochat(true, turned)),
        ("nanochat of transformers", nanochat(false, Angles::narrow(100.0, 6))),
        ("gemma", Config { tie_word_embeddings: true, ..gemma }),
        ("olmo2", of(Variations { placed: NormPlace::After, normed: Normed::Rows, ..plain() })),
        ("llama with biases", of(Variations { biased, ..plain() })),
    ]
}

#[test]
fn gradients_of_models_of_others_are_those_of_finite_differences() {
    for (_, config) in others() {
        agrees_with_differences(&config);
    }
}

#[test]
fn terms_of_the_loss_and_places_of_tokens_have_their_gradients() {
    let config = Config { angles: None, ..others().remove(0).1 };
    let mut model = model::<f64>(&config);
    model.train_with(LossTerms { label_smoothing: 0.2, z_loss: 0.05 });
    let (inputs, targets) = (tokens(&config, 14, "a"), tokens(&config, 14, "b"));
    let documents = [1, 1, 1, 2, 2, 2, 2, 0, 0, 3, 3, 3, 3, 3];
    let positions = [0, 1, 2, 0, 1, 2, 3, 0, 1, 0, 1, 2, 3, 4];
    let places = TokenPlaces { documents: &documents, positions: &positions };
    let sequences = Sequences { inputs: &inputs, targets: &targets, rows: 2, places };
    model.forward(sequences).unwrap();
    model.backward().unwrap();
    for name in
        ["transformer.wpe.weight", "transformer.h.0.attn.c_attn.weight", "transformer.wte.weight"]
    {
        let gradient = model.gradient(name).unwrap().to_vec();
        let numbers = model.read(name).unwrap().to_vec();
        for at in [0, 13, 40] {
            let mut objective = |by: f64| {
                let mut moved = numbers.clone();
                moved[at] += by;
                model.write(name, &moved).unwrap();
                model.forward(sequences).unwrap().objective()
            };
            let expected = (objective(1e-5) - objective(-1e-5)) / 2e-5;
            assert!(
                (gradient[at] - expected).abs() < 1e-7,
                "{name} {at}: {} {expected}",
                gradient[at]
            );
        }
        model.write(name, &numbers).unwrap();
    }
    // A document is what it would be by itself.
    let alone = model.nats(Sequences::new(&inputs[3..7], &targets[3..7], 1)).unwrap().nats;
    let packed = model.nats(sequences).unwrap().nats;
    assert!(packed[3..7].iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-13));
    let far = TokenPlaces { documents: &[], positions: &[7; 14] };
    let failure = model.forward(Sequences { places: far, ..sequences }).unwrap_err().to_string();
    assert_eq!(
        failure,
        "14 tokens need 14 documents and positions, the positions below 7, or none"
    );
}

#[test]
fn parts_of_a_batch_have_the_gradients_of_their_mean() {
    let joint = MixtureConfig { balancing: Balancing::Joint(0.3), ..sparse() };
    let config = Config { mixture: Some(joint), ..dense() };
    let mut model = model::<f64>(&config);
    let (inputs, targets) = (tokens(&config, 28, "a"), tokens(&config, 28, "b"));
    let gradients = |model: &Model<Host<f64>>| {
        model.gradients().flat_map(Cow::into_owned).collect::<Vec<f64>>()
    };
    let mut halves = Vec::new();
    for half in [0..14, 14..28] {
        let forward =
            model.forward(Sequences::new(&inputs[half.clone()], &targets[half], 2)).unwrap();
        model.backward().unwrap();
        halves.push((forward.cross_entropy, gradients(&model)));
    }
    let whole = {
        let parts =
            BatchParts { micro_batches: 2, by_targets: false, balance_whole: false, pieces: 1 };
        model.in_parts(Sequences::new(&inputs, &targets, 4), parts)
    }
    .unwrap();
    assert!((whole.cross_entropy - (halves[0].0 + halves[1].0) / 2.0).abs() < 1e-15);
    assert_eq!(whole.layers[0].counts.iter().sum::<u64>(), 28 * 2);
    for (found, (a, b)) in gradients(&model).iter().zip(halves[0].1.iter().zip(&halves[1].1)) {
        assert!((found - (a + b) / 2.0).abs() < 1e-15, "{found}");
    }
    // With whole balance losses, as if the coefficient were twice as large.
    let twice = MixtureConfig { balancing: Balancing::Joint(0.6), ..sparse() };
    let mut other = self::model::<f64>(&Config { mixture: Some(twice), ..dense() });
    let parts = BatchParts { micro_batches: 2, by_targets: false, balance_whole: false, pieces: 1 };
    other.in_parts(Sequences::new(&inputs, &targets, 4), parts).unwrap();
    let parts = BatchParts { balance_whole: true, ..parts };
    model.in_parts(Sequences::new(&inputs, &targets, 4), parts).unwrap();
    let pairs: Vec<_> = std::iter::zip(gradients(&model), gradients(&other)).collect();
    assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn targets_that_do_not_count_cost_nothing_and_have_no_gradient() {
    let config = dense();
    let mut model = model::<f64>(&config);
    let (inputs, mut targets) = (tokens(&config, 14, "a"), tokens(&config, 14, "b"));
    let nats = model.nats(Sequences::new(&inputs, &targets, 2)).unwrap().nats;
    // The first sequence counts as a whole, of the second two targets.
    (7..12).for_each(|at| targets[at] = crate::ops::IGNORED);
    let forward = model.forward(Sequences::new(&inputs, &targets, 2)).unwrap();
    let of = |range: std::ops::Range<usize>| nats[range].iter().sum::<f64>();
    assert!((forward.cross_entropy - (of(0..7) + of(12..14)) / 9.0).abs() < 1e-14);
    model.backward().unwrap();
    let gradient = model.gradient("lm_head.weight").unwrap().to_vec();
    // By parts, each weighs as its targets do, or as much as the other.
    for (by_targets, mean) in
        [(true, (of(0..7) + of(12..14)) / 9.0), (false, (of(0..7) / 7.0 + of(12..14) / 2.0) / 2.0)]
    {
        let parts = BatchParts { micro_batches: 2, by_targets, balance_whole: false, pieces: 1 };
        let forward = model.in_parts(Sequences::new(&inputs, &targets, 2), parts).unwrap();
        assert!((forward.cross_entropy - mean).abs() < 1e-14);
        let again = model.gradient("lm_head.weight").unwrap();
        let apart =
            std::iter::zip(&gradient, &*again).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert_eq!(apart < 1e-14, by_targets, "{apart}");
    }
    let pieces =
        BatchParts { micro_batches: 1, by_targets: false, balance_whole: false, pieces: 2 };
    let again = model.in_parts(Sequences::new(&inputs, &targets, 2), pieces).unwrap();
    assert!((again.cross_entropy - forward.cross_entropy).abs() < 1e-14);
    let again = model.gradient("lm_head.weight").unwrap();
    assert!(std::iter::zip(&gradient, &*again).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn gradients_of_mixtures_are_those_of_finite_differences() {
    let losses = MixtureConfig { balancing: Balancing::Loss(0.3), z_coefficient: 0.1, ..sparse() };
    let all = [
        sparse(),
        MixtureConfig { norm_topk_prob: false, ..sparse() },
        losses.clone(),
        MixtureConfig { norm_topk_prob: false, ..losses.clone() },
        MixtureConfig { gate: Gate::Sigmoid, ..losses.clone() },
        MixtureConfig { gate: Gate::Sigmoid, norm_topk_prob: false, ..losses.clone() },
        MixtureConfig { gate: Gate::Sigmoid, balancing: Balancing::Bias(0.01), ..sparse() },
        MixtureConfig { num_shared_experts: 2, num_dense_layers: 1, ..losses.clone() },
        MixtureConfig { num_experts_per_tok: 1, norm_topk_prob: false, ..losses.clone() },
        MixtureConfig { balancing: Balancing::Joint(0.3), ..losses },
    ];
    for mixture in all {
        agrees_with_differences(&Config { mixture: Some(mixture), ..dense() });
    }
}

#[test]
fn a_tensor_that_no_gradient_reaches_is_named() {
    let mixture = MixtureConfig { num_experts: 40, balancing: Balancing::Loss(0.01), ..sparse() };
    let config = Config { mixture: Some(mixture), ..dense() };
    let mut model = fresh(&config);
    let unseen = model.check_gradients().unwrap();
    assert!(
        !unseen.is_empty() && unseen.iter().all(|name| name.contains(".mlp.experts.")),
        "{unseen:?}"
    );

    // One expert with a normalised gate has the weight 1, whatever the router says.
    let one = MixtureConfig { num_experts_per_tok: 1, ..sparse() };
    let config = Config { mixture: Some(one), ..dense() };
    let mut model = fresh(&config);
    let failure = model.check_gradients().unwrap_err().to_string();
    assert!(
        failure.starts_with("no gradient reaches `model.layers.0.mlp.gate.weight`"),
        "{failure}"
    );

    let mut model = fresh(&dense());
    assert!(model.check_gradients().unwrap().is_empty());
    let zeros = vec![0.0; 12 * 10];
    model.write("model.layers.1.mlp.up_proj.weight", &zeros).unwrap();
    model.write("model.layers.1.mlp.down_proj.weight", &zeros).unwrap();
    let failure = model.check_gradients().unwrap_err().to_string();
    assert!(failure.contains("`model.layers.1.mlp.down_proj.weight`"), "{failure}");
}

/// Every kind of model, small.
fn kinds() -> Vec<(&'static str, Config)> {
    let losses =
        MixtureConfig { balancing: Balancing::Loss(0.01), z_coefficient: 0.001, ..sparse() };
    let biased = MixtureConfig {
        gate: Gate::Sigmoid,
        balancing: Balancing::Bias(0.01),
        num_shared_experts: 1,
        num_dense_layers: 1,
        ..sparse()
    };
    let grouped = Config { num_key_value_heads: 1, tie_word_embeddings: true, ..dense() };
    vec![
        ("dense", dense()),
        ("tied, grouped heads", grouped),
        ("mixture", Config { mixture: Some(losses), ..dense() }),
        ("mixture with a bias", Config { mixture: Some(biased), ..dense() }),
    ]
}

/// The digest of all weights and moments after five steps, and of what they cost.
fn five_steps(config: &Config, isa: Isa) -> String {
    use repro_kernels::portable::adamw::{Update, squares, step};
    use sha2::Digest;

    let mut model = Model::new(config, Host::<f32>::new(isa), 1);
    let zeros = |named: &NamedTensor| (vec![0.0; named.len], vec![0.0; named.len]);
    let mut moments: Vec<_> = model.tensors().iter().map(zeros).collect();
    let mut hash = sha2::Sha256::new();
    for number in 1..=5 {
        let rows = 20;
        let inputs = tokens(config, rows * 7, &format!("inputs {number}"));
        let targets = tokens(config, rows * 7, &format!("targets {number}"));
        let forward = model.forward(Sequences::new(&inputs, &targets, rows)).unwrap();
        model.backward().unwrap();
        let sum = model.gradients().fold(0.0, |sum, gradient| sum + squares(isa, &gradient));
        let rest = |power: f64| (1.0 / (1.0 - power)) as f32;
        let update = |decays: bool| Update {
            clip: (1.0 / f64::sqrt(sum)) as f32,
            rate: 0.01,
            decay: if decays { 0.999 } else { 1.0 },
            beta1: [0.9, 0.1],
            beta2: [0.95, 0.05],
            c1: rest((0..number).fold(1.0, |power, _| power * 0.9)),
            c2: rest((0..number).fold(1.0, |power, _| power * 0.95)),
            epsilon: 1e-8,
        };
        let named = model.tensors().to_vec();
        let mut at = named.iter().zip(&mut moments);
        model.update(|MovedTensor { weights, gradient, range }| {
            let (named, (m, v)) = at.next().unwrap();
            let (weights, gradient) = (&mut weights[range.clone()], &gradient[range]);
            step(isa, weights, gradient, m, v, update(named.decays));
        });
        model.move_router_biases(&forward.layers);
        hash.update(forward.cross_entropy.to_bits().to_le_bytes());
        hash.update(sum.to_bits().to_le_bytes());
    }
    let weights = model.tensors().iter().map(|named| model.read(&named.name).unwrap().to_vec());
    let biases = model.router_biases().into_iter().map(|(_, bias)| bias);
    let moments = moments.into_iter().flat_map(|(m, v)| [m, v]);
    for number in weights.chain(biases).chain(moments).flatten() {
        hash.update(number.to_bits().to_le_bytes());
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn five_steps_have_the_same_bits_everywhere() {
    let mut found = Vec::new();
    for (name, config) in kinds() {
        for isa in Isa::available() {
            for threads in 1..=4 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let digest = pool.install(|| five_steps(&config, isa));
                if !found.contains(&(name, digest.clone())) {
                    found.push((name, digest));
                }
            }
        }
    }
    let found: Vec<_> = found.iter().map(|(name, digest)| format!("{name}: {digest}")).collect();
    let expected = [
        "dense: b8ccc1ec37284cec",
        "tied, grouped heads: 2164cd9d12b0719a",
        "mixture: fcbbd92359cc7e8b",
        "mixture with a bias: f3279877ae38ad6a",
    ];
    assert_eq!(found, expected);
}

#[test]
fn gradients_are_those_of_the_last_pass() {
    let config = dense();
    let mut model = fresh(&config);
    let (inputs, targets) = (tokens(&config, 14, "inputs"), tokens(&config, 14, "targets"));
    let all = |model: &Model<Host>| model.gradients().flat_map(Cow::into_owned).collect::<Vec<_>>();
    model.forward(Sequences::new(&inputs, &targets, 2)).unwrap();
    model.backward().unwrap();
    let first = all(&model);
    model.backward().unwrap();
    assert_eq!(all(&model), first, "nothing is added to what an earlier walk left");
    // Memory that a longer and a shorter pass have used is used again.
    for length in [7, 3] {
        model.forward(Sequences::new(&inputs[..length], &targets[..length], 1)).unwrap();
        model.backward().unwrap();
        assert_ne!(all(&model), first);
    }
    model.forward(Sequences::new(&inputs, &targets, 2)).unwrap();
    model.backward().unwrap();
    assert_eq!(all(&model), first);

    model.drop_gradient("model.norm.weight").unwrap();
    assert_eq!(*model.gradient("model.norm.weight").unwrap(), [0.0; 12]);
    assert!(model.drop_gradient("x").is_err());
    let refused = |model: &mut Model<Host>| {
        let failure = model.backward().unwrap_err().to_string();
        assert!(failure.starts_with("gradients need a forward pass"), "{failure}");
    };
    model.nats(Sequences::new(&inputs[..3], &targets[..3], 1)).unwrap();
    refused(&mut model);
    model.forward(Sequences::new(&inputs, &targets, 2)).unwrap();
    model.write("model.norm.weight", &[1.0; 12]).unwrap();
    refused(&mut model);
}

#[test]
fn each_target_is_scored_as_in_training() {
    for (name, config) in kinds() {
        let mut model = model::<f64>(&config);
        let (inputs, targets) = (tokens(&config, 35, "inputs"), tokens(&config, 35, "targets"));
        let scored = model.nats(Sequences::new(&inputs, &targets, 5)).unwrap();
        let forward = model.forward(Sequences::new(&inputs, &targets, 5)).unwrap();
        let mean = scored.nats.iter().fold(0.0, |sum, nats| sum + nats) / 35.0;
        assert_eq!(mean, forward.cross_entropy, "{name}");
        assert_eq!(scored.layers, forward.layers, "{name}");
        // A later token changes nothing before it; a shorter sequence is the beginning of a longer one.
        let short = model.nats(Sequences::new(&inputs[..4], &targets[..4], 1)).unwrap();
        assert_eq!(short.nats[..], scored.nats[..4], "{name}");
        // Of all targets at one place, the likeliest one is the guess.
        let at_place = |target: u32| {
            let scored = model.nats(Sequences::new(&inputs[..1], &[target], 1)).unwrap();
            (scored.nats[0], scored.greedy[0])
        };
        let all: Vec<_> = (0..config.vocab_size as u32).map(at_place).collect();
        let least = all.iter().map(|(nats, _)| *nats).fold(f64::INFINITY, f64::min);
        assert!(all.iter().all(|(nats, greedy)| *greedy == (*nats == least)), "{name}");
        let whole: f64 = all.iter().map(|(nats, _)| libm::exp(-nats)).sum();
        assert!((whole - 1.0).abs() < 1e-14, "{name}: {whole}");
    }
}

#[test]
fn misuse_is_named() {
    let config = dense();
    let mut model = fresh(&config);
    let failure = |result: Result<Forward<f32>, Failure>| result.unwrap_err().to_string();
    assert_eq!(
        failure(model.forward(Sequences::new(&[11, 0], &[0, 0], 1))),
        "token 11 is not in the vocabulary of 11"
    );
    assert!(
        failure(model.forward(Sequences::new(&[0; 8], &[0; 8], 1)))
            .ends_with("1 sequences of 1 to 7 tokens")
    );
    assert!(
        failure(model.forward(Sequences::new(&[0; 8], &[0; 7], 2)))
            .starts_with("8 inputs and 7 targets")
    );
    assert!(failure(model.forward(Sequences::new(&[0; 3], &[0; 3], 2))).contains("2 sequences"));
    assert!(failure(model.forward(Sequences::new(&[], &[], 0))).contains("0 sequences"));
    assert_eq!(model.read("x").unwrap_err().to_string(), "the model has no tensor `x`");
    let wrong = model.write("model.norm.weight", &[0.0]).unwrap_err().to_string();
    assert_eq!(wrong, "`model.norm.weight` has 12 numbers, not 1");
    assert!(
        model.write_router_bias("model.layers.0.mlp.gate.e_score_correction_bias", &[]).is_err()
    );
}

#[test]
fn first_weights_are_drawn_by_name() {
    let config = kinds().remove(2).1;
    let model = fresh(&config);
    assert!(model.tensors().is_sorted_by(|a, b| a.name < b.name));
    let mut rng = Rng::new(1, "initial weights");
    let head = model.read("lm_head.weight").unwrap();
    let mut deviate = || {
        let words = [rng.word(), rng.word(), rng.word()];
        let parts = words.iter().flat_map(|word| [0, 16, 32, 48].map(|by| word >> by & 0xffff));
        (parts.sum::<u64>() as f64 - 393_210.0) / 65_536.0
    };
    for weight in &*head {
        assert_eq!(*weight, (deviate() * 0.02) as f32);
    }
    let embedding = model.read("model.embed_tokens.weight").unwrap();
    assert_eq!(embedding[0], (deviate() * 0.02) as f32, "the next name");
    assert_eq!(*model.read("model.norm.weight").unwrap(), [1.0; 12]);
    let spread = |name: &str| {
        let numbers = model.read(name).unwrap();
        (numbers.iter().map(|x| x * x).sum::<f32>() / numbers.len() as f32).sqrt()
    };
    assert!((spread("model.layers.0.self_attn.q_proj.weight") - 0.02).abs() < 0.003);
    assert!((spread("model.layers.0.self_attn.o_proj.weight") - 0.01).abs() < 0.0015);
    assert!((spread("model.layers.1.mlp.experts.3.down_proj.weight") - 0.01).abs() < 0.002);
    let decays = |name: &str| model.find(name).unwrap().decays;
    assert!(decays("lm_head.weight") && decays("model.layers.0.mlp.gate.weight"));
    assert!(!decays("model.norm.weight") && !decays("model.layers.0.input_layernorm.weight"));
}

#[test]
fn a_bias_moves_towards_the_mean() {
    let config = kinds().remove(3).1;
    let mut model = fresh(&config);
    let name = "model.layers.1.mlp.gate.e_score_correction_bias".to_owned();
    assert_eq!(model.router_biases(), [(name.clone(), vec![0.0; 5])]);
    let load = Load {
        layer: 1,
        tokens: 5,
        counts: vec![2, 0, 5, 1, 2],
        undecided: 0,
        shares: vec![1.0; 5],
        balance: 1.0,
        z: 0.0,
    };
    model.move_router_biases(&[load]);
    let rate = 0.01_f32;
    assert_eq!(model.router_biases()[0].1, [0.0, rate, -rate, rate, 0.0]);
    // It chooses: with a large bias, every token goes to experts 0 and 1.
    model.write_router_bias(&name, &[100.0, 100.0, 0.0, 0.0, 0.0]).unwrap();
    let (inputs, targets) = (tokens(&config, 7, "inputs"), tokens(&config, 7, "targets"));
    let scored = model.nats(Sequences::new(&inputs, &targets, 1)).unwrap();
    assert_eq!(scored.layers[0].counts, [7, 7, 0, 0, 0]);
    let health = RouterLoad::of(&scored.layers[0].counts).unwrap();
    assert_eq!((health.max_load, health.dead), (2.5 / 5.0, 3));
    assert!((health.cv - 1.5_f64.sqrt()).abs() < 1e-15);
    assert!((health.entropy - libm::log(2.0)).abs() < 1e-15);
}

/// The config of a mixture as a run writes it.
const CONFIG: &str = r#"{
    "model_type": "repro-llama-moe", "vocab_size": 11, "hidden_size": 12, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 6, "intermediate_size": 10,
    "tie_word_embeddings": false, "num_experts": 5, "num_experts_per_tok": 2,
    "moe_intermediate_size": 6, "num_shared_experts": 2, "num_dense_layers": 1, "norm_eps": 1e-5,
    "norm_topk_prob": true
}"#;
/// The settings that shape no tensor.
const REST: &str = r#", "rope_theta": 100.0, "seq_len": 7, "gate": "sigmoid", "balancing": "loss",
    "aux_loss_alpha": 0.01, "router_z_loss": 0.001 }"#;

fn document(text: &str) -> repro_core::source::Document {
    let source = repro_core::source::Source::new("config.json", text.into()).unwrap();
    repro_core::source::Document::parse_json(source).unwrap()
}

fn whole() -> String {
    format!("{}{REST}", CONFIG.trim_end_matches('}').trim_end())
}

#[test]
fn tensors_are_those_that_parameters_are_counted_by() {
    let cut = |from: &str, to: &str| {
        let (before, rest) = CONFIG.split_once(from).unwrap();
        format!("{before}{}", rest.split_once(to).unwrap().1)
    };
    let dense = cut("\"num_experts\"", "1,").replace("llama-moe", "llama");
    let dense = dense.replace(",\n    \"norm_topk_prob\": true", "");
    let tied = dense.replace("false", "true");
    let plain = cut("\"num_shared_experts\"", "1,");
    for shape in [CONFIG.to_owned(), dense, tied, plain] {
        let text = format!("{}{REST}", shape.trim_end_matches('}').trim_end());
        let config = Config::read(document(&text).root()).unwrap();
        let model = fresh(&config);
        let ours = model.tensors().iter().map(|named| {
            (named.name.clone(), named.shape.iter().map(|size| *size as u64).collect::<Vec<_>>())
        });
        let counted = repro_model::params::tensors(&document(&shape)).unwrap();
        let mut counted: Vec<_> =
            counted.iter().map(|tensor| (tensor.name, tensor.shape)).collect();
        counted.sort();
        assert_eq!(ours.collect::<Vec<_>>(), counted, "{shape}");
        let total = repro_model::params::recompute(&document(&shape)).unwrap().total();
        assert_eq!(model.tensors().iter().map(|named| named.len as u64).sum::<u64>(), total);
    }
}

#[test]
fn a_config_is_read_or_refused_by_field() {
    let config = Config::read(document(&whole()).root()).unwrap();
    let mixture = MixtureConfig {
        gate: Gate::Sigmoid,
        num_shared_experts: 2,
        num_dense_layers: 1,
        balancing: Balancing::Loss(0.01),
        z_coefficient: 0.001,
        ..sparse()
    };
    assert_eq!(config, Config { num_key_value_heads: 1, mixture: Some(mixture), ..dense() });
    let bias = whole()
        .replace("\"loss\"", "\"bias\"")
        .replace("aux_loss_alpha", "router_bias_update_rate");
    let read = Config::read(document(&bias).root()).unwrap().mixture.unwrap();
    assert_eq!(read.balancing, Balancing::Bias(0.01));
    assert_eq!(read.coefficients(), [0.0, 0.001]);

    for (from, to, code, field) in [
        ("repro-llama-moe", "gptj", &UNSUPPORTED, "/model_type"),
        ("\"sigmoid\"", "\"relu\"", &UNSUPPORTED, "/gate"),
        ("\"balancing\": \"loss\"", "\"balancing\": \"hope\"", &UNSUPPORTED, "/balancing"),
        ("\"aux_loss_alpha\": 0.01", "\"aux_loss_alpha\": -0.01", &UNSUPPORTED, "/aux_loss_alpha"),
        ("\"router_z_loss\": 0.001", "\"router_z_loss\": -1", &UNSUPPORTED, "/router_z_loss"),
        ("\"seq_len\": 7", "\"seq_len\": 0", &UNSUPPORTED, "/seq_len"),
        (
            "\"vocab_size\": 11",
            "\"vocab_size\": 1e9",
            &repro_core::source::WRONG_TYPE,
            "/vocab_size",
        ),
        ("\"vocab_size\": 11", "\"vocab_size\": 9999999999", &UNSUPPORTED, "/vocab_size"),
        (
            "\"num_key_value_heads\": 1",
            "\"num_key_value_heads\": 3",
            &IMPOSSIBLE,
            "/num_key_value_heads",
        ),
        ("\"head_dim\": 6", "\"head_dim\": 5", &IMPOSSIBLE, "/head_dim"),
        ("\"head_dim\": 6, ", "\"x\": 6, ", &IMPOSSIBLE, "/hidden_size"),
        (
            "\"num_experts_per_tok\": 2",
            "\"num_experts_per_tok\": 6",
            &IMPOSSIBLE,
            "/num_experts_per_tok",
        ),
        ("\"num_dense_layers\": 1", "\"num_dense_layers\": 2", &IMPOSSIBLE, "/num_dense_layers"),
        ("\"norm_topk_prob\": true", "\"y\": 1", &repro_core::source::MISSING_FIELD, ""),
    ] {
        let mut text = whole().replace(from, to);
        assert_ne!(text, whole(), "{from}");
        if field == "/hidden_size" {
            text = text.replace("\"hidden_size\": 12", "\"hidden_size\": 10");
        }
        let error = Config::read(document(&text).root()).unwrap_err();
        let details = &*error;
        assert_eq!((details.code.id, details.place.pointer.as_str()), (code.id, field), "{to}");
    }
}
