//! The sparse feed-forward sublayer (A. Jiang et al., 2024): a router sends each token to the best few of
//! many gated networks, and adds their outputs by weight. The rest of the decoder is that of `llama`.
//!
//! Beyond the reference (`modeling_mixtral.py` of Hugging Face's `transformers`): networks that every token
//! passes through, dense blocks at the start, sigmoid scores and a bias that evens the load without a
//! loss (DeepSeek-AI, 2024). Deviations: the matrices of experts are those of Llama's networks by name
//! (`gate_proj`, `up_proj`, `down_proj`); the balance loss is taken over each block's tokens of one step and
//! added up over blocks, not taken over all blocks together. No token is dropped.

use super::config::{self, Balancing, Config};
use super::llama;
use super::tensors::{FlatTensors, Initializer};
use crate::ops::{Mixture, MixtureWidths};
use repro_portable::router::{Coefficients, Router};
use repro_portable::{Isa, Kernels};

/// The mixture of a block: x + shared h + sum of gate_e expert_e h, h = norm(x).
pub(super) fn mixture<T: Kernels>(
    config: &Config,
    mixture: &config::MixtureConfig,
    (isa, layer): (Isa, usize),
    tensors: &mut FlatTensors,
) -> Mixture<T> {
    let d = config.hidden_size;
    let (experts, inner) = (mixture.num_experts, mixture.moe_intermediate_size);
    let shared = mixture.num_shared_experts * inner;
    tensors.variable();
    let name = format!("model.layers.{layer}.mlp");
    tensors.norm(format!("model.layers.{layer}.post_attention_layernorm.weight"), d);
    tensors.matrix(format!("{name}.gate.weight"), [experts, d], Initializer::Normal); // (E, D)
    for expert in 0..experts {
        llama::gated(config, &format!("{name}.experts.{expert}"), inner, tensors);
    }
    if shared > 0 {
        llama::gated(config, &format!("{name}.shared_experts"), shared, tensors);
    }
    let router = Router {
        gate: mixture.gate,
        experts,
        per_token: mixture.num_experts_per_tok,
        normalized: mixture.norm_topk_prob,
    };
    let (balance, bias) = match mixture.balancing {
        Balancing::Loss(coefficient) | Balancing::Joint(coefficient) => (coefficient, None),
        Balancing::Bias(_) => (0.0, Some(vec![T::ZERO; experts])),
        Balancing::None => (0.0, None),
    };
    let losses = Coefficients { balance, z: mixture.z_coefficient };
    let widths = MixtureWidths { width: d, inner, shared };
    let (epsilon, saved) = (config.norm_eps, Default::default());
    Mixture { isa, epsilon, widths, router, losses, bias, saved }
}
