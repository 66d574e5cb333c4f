//! The parameterisation of equal-resource comparisons against models counted tensor by tensor, and its
//! limits.

use num_rational::BigRational;
use num_traits::{One, Zero};
use proptest::prelude::*;
use repro_exact::decimal::{Interval, nearest_f64};
use repro_exact::formula::{Formula, Operand};
use repro_params::{Convention, ParameterCount, ParameterCounts, Part, recompute};
use repro_receipt::source::{Document, Source};
use serde_json::{Value, json};

fn whole(n: u64) -> BigRational {
    BigRational::from_integer(n.into())
}

fn ratio(n: u64, d: u64) -> BigRational {
    BigRational::new(n.into(), d.into())
}

/// A formula at one exact point.
fn at(name: &str, inputs: &[&BigRational]) -> BigRational {
    let operand = |value: &&BigRational| {
        Operand::computed("", Interval::point((*value).clone()), nearest_f64(value))
    };
    let operands: Vec<_> = inputs.iter().map(operand).collect();
    let found = Formula::find(name).unwrap().evaluate(&operands).unwrap().interval;
    assert!(found.is_point(), "{name} is exact at exact points");
    found.low().clone()
}

fn counted(config: &Value) -> ParameterCounts {
    let source = Source::new("config.json", config.to_string().into_bytes()).unwrap();
    recompute(&Document::parse_json(source).unwrap()).unwrap()
}

/// What the parameterisation counts: no embeddings, head, norms or router.
fn weights(objects: &ParameterCounts, object: ParameterCount) -> BigRational {
    let left_out = [Part::Norms, Part::Router].map(|part| objects.breakdown.part(part).of(object));
    whole(objects.count(object, Convention::NonEmbedding) - left_out.iter().sum::<u64>())
}

/// ζ, L, and the mean expansions that a model stores and that a token uses.
struct Proportions {
    zeta: BigRational,
    layers: BigRational,
    stored: BigRational,
    used: BigRational,
}

impl Proportions {
    fn of(objects: &ParameterCounts) -> Self {
        let shape = objects.shape;
        let [width, layers] = [shape.hidden, shape.layers].map(whole);
        let dense_layers = whole(shape.layers - shape.moe_layers);
        let dense = ratio(shape.dense_width, shape.hidden);
        let mean = |experts: u64| {
            let [experts, each, shared] =
                [experts, shape.expert_width, shape.shared_width].map(whole);
            let of_experts = at("ffn_expansion", &[&experts, &each, &shared, &width]);
            at("mixed_expansion", &[&dense_layers, &layers, &dense, &of_experts])
        };
        let (stored, used) = (mean(shape.experts), mean(shape.experts_per_token));
        Self { zeta: &width / &layers, layers, stored, used }
    }

    fn check(&self, objects: &ParameterCounts) {
        let Self { zeta, layers, stored, used } = self;
        let (total, active) =
            (weights(objects, ParameterCount::Total), weights(objects, ParameterCount::Active));
        for name in ["shape_params", "shape_params_by_layer"] {
            assert_eq!(at(name, &[zeta, layers, stored]), total, "{name}");
            assert_eq!(at(name, &[zeta, layers, used]), active, "{name}");
        }
        assert_eq!(at("shape_activation_rate", &[used, stored]), &active / &total);
        // Three passes of the forward FLOPs are what PaLM counts for training, six a weight.
        let (length, width) = (whole(384), zeta * layers);
        let gamma = &length / &width;
        let trained =
            at("training_flops", &[&active, layers, &BigRational::one(), &length, &width, &width]);
        for name in ["shape_forward_flops", "shape_forward_flops_by_layer"] {
            assert_eq!(at(name, &[zeta, layers, used, &gamma]) * whole(3), trained, "{name}");
        }
        let mixture = at("mixture_forward_flops", &[zeta, layers, used, stored, &gamma]);
        assert_eq!(mixture * whole(3), trained);
    }
}

fn llama(width: u64, inner: u64, layers: u64) -> Value {
    json!({"model_type": "llama", "vocab_size": 32000, "hidden_size": width, "intermediate_size": inner,
           "num_hidden_layers": layers, "num_attention_heads": width / 128})
}

#[test]
fn published_models_with_full_attention_are_counted_to_the_weight() {
    for (config, total) in [
        (llama(4096, 11008, 32), 6_476_005_376),
        (llama(5120, 13824, 40), 12_687_769_600),
        (llama(8192, 22016, 80), 64_760_053_760),
    ] {
        let objects = counted(&config);
        assert_eq!(weights(&objects, ParameterCount::Total), whole(total));
        Proportions::of(&objects).check(&objects);
    }
    let olmoe = counted(&json!({"model_type": "olmoe", "vocab_size": 50304, "hidden_size": 2048,
        "intermediate_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16,
        "num_experts": 64, "num_experts_per_tok": 8}));
    // 16 layers of 4·2048² and of 64 (of which a token uses 8) experts of 3·2048·1024
    assert_eq!(weights(&olmoe, ParameterCount::Total), whole(16 * (16_777_216 + 64 * 6_291_456)));
    assert_eq!(weights(&olmoe, ParameterCount::Active), whole(16 * (16_777_216 + 8 * 6_291_456)));
    Proportions::of(&olmoe).check(&olmoe);
}

#[test]
fn the_relative_cost_has_the_limits_that_the_printed_one_lacks() {
    let zero = BigRational::zero();
    let [alpha, beta, mu, gamma] = [ratio(11, 4), ratio(10, 3), whole(22), ratio(3, 2)];
    let rate = at("shape_activation_rate", &[&beta, &mu]);
    assert_eq!(rate, ratio(1, 5));
    let cost = |name: &str, alpha, beta, mu, d, m| at(name, &[alpha, beta, mu, d, m]);
    let derived = |d, m| cost("relative_cost", &alpha, &beta, &mu, d, m);
    let printed = |d, m| cost("relative_cost_as_printed", &alpha, &beta, &mu, d, m);
    assert_eq!(derived(&zero, &zero), rate);
    assert_eq!(printed(&zero, &zero), ratio(49, 280), "(4 + 3·2.75) / (4 + 3·22), whatever β is");
    // A mixture of one expert is the dense model.
    for name in ["relative_cost", "relative_cost_as_printed"] {
        assert!(cost(name, &alpha, &alpha, &alpha, &gamma, &gamma).is_one(), "{name}");
    }
    // Longer contexts cost more, and cost the mixture more.
    assert!(derived(&zero, &gamma) > rate && printed(&zero, &gamma) < ratio(49, 280));
    let more = at("data_multiplier", &[&alpha, &beta, &mu, &gamma, &gamma]);
    assert!((derived(&gamma, &gamma) * more).is_one());
}

proptest! {
    #[test]
    fn any_shape_is_counted_to_the_weight(
        layers in 1_u64..9, dense in 0_u64..8, heads in 1_u64..5, size in 1_u64..17, inner in 1_u64..99,
        experts in 1_u64..9, used in 0_u64..8, each in 1_u64..33, shared in 0_u64..3,
    ) {
        let (dense, used) = (dense % layers, used % experts + 1);
        let mixture = counted(&json!({
            "model_type": "repro-llama-moe", "vocab_size": 11, "hidden_size": heads * size,
            "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
            "num_experts": experts, "num_experts_per_tok": used, "moe_intermediate_size": each,
            "num_shared_experts": shared, "num_dense_layers": dense,
        }));
        Proportions::of(&mixture).check(&mixture);
        let plain = counted(&json!({
            "model_type": "repro-llama", "vocab_size": 11, "hidden_size": heads * size,
            "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
        }));
        Proportions::of(&plain).check(&plain);
    }

    /// M of one counted model over M of another, at equal N, is what the formula says of their shapes.
    #[test]
    fn the_relative_cost_is_that_of_counted_models(
        layers in 1_u64..9, width in 1_u64..40, inner in 1_u64..99, context in 1_u64..500,
        experts in 1_u64..9, used in 0_u64..8, each in 1_u64..33, wider in 1_u64..40,
    ) {
        let used = used % experts + 1;
        let dense = counted(&json!({
            "model_type": "repro-llama", "vocab_size": 11, "hidden_size": width,
            "num_hidden_layers": layers, "num_attention_heads": 1, "intermediate_size": inner,
        }));
        let mixture = counted(&json!({
            "model_type": "repro-llama-moe", "vocab_size": 11, "hidden_size": wider,
            "num_hidden_layers": layers, "num_attention_heads": 1, "num_experts": experts,
            "num_experts_per_tok": used, "moe_intermediate_size": each,
        }));
        let context = whole(context);
        // FLOPs for each weight: equal N cancels.
        let per_weight = |objects: &ParameterCounts, width: u64| {
            let scores = whole(4 * layers * width) * &context;
            (whole(2) * weights(objects, ParameterCount::Active) + scores) / weights(objects, ParameterCount::Total)
        };
        let (d, m) = (Proportions::of(&dense), Proportions::of(&mixture));
        let (gamma_d, gamma_m) = (&context / whole(width), &context / whole(wider));
        let cost = at("relative_cost", &[&d.stored, &m.used, &m.stored, &gamma_d, &gamma_m]);
        prop_assert_eq!(cost, per_weight(&mixture, wider) / per_weight(&dense, width));
    }
}
