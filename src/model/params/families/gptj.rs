//! GPT-J: one norm a layer (attention and feed-forward are parallel), projections of attention
//! without biases, a head with one. The bias of the head is counted under `other`.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gptj",
    model_types: &["gptj"],
    architectures: &["GPTJForCausalLM"],
    inert: &["n_positions", "n_ctx", "rotary"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let v = fields.size("vocab_size", 50_400)?;
    let h = fields.size("n_embd|hidden_size", 4096)?;
    let layers = fields.layers("n_layer|num_hidden_layers", 28, |_| false)?;
    let heads = fields.size("n_head|num_attention_heads", 16)?;
    fields.head_size("n_head|num_attention_heads", h, heads)?;
    let i = fields.size_or("n_inner", h * 4, h * 4)?;
    let tied = fields.flag("tie_word_embeddings", false)?;
    let l = layers.all();

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "transformer.wte.weight", &[v, h]);
    for name in ["q_proj", "k_proj", "v_proj", "out_proj"] {
        let name = format!("transformer.h.{{layer}}.attn.{name}");
        tensors.linear(Part::Attention, &name, h, h, false);
    }
    tensors.linear(Part::DenseFfn, "transformer.h.{layer}.mlp.fc_in", i, h, true);
    tensors.linear(Part::DenseFfn, "transformer.h.{layer}.mlp.fc_out", h, i, true);
    tensors.norm("transformer.h.{layer}.ln_1", h, true);
    tensors.norm("transformer.ln_f", h, true);
    if !tied {
        tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    }
    tensors.tensor(Part::Other, "lm_head.bias", &[v]);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * 4 * h * h),
        (Part::DenseFfn, l * (h * i * 2 + i + h)),
        (Part::Norms, (l + 1) * 2 * h),
        (Part::Head, v * h * !tied),
        (Part::Other, v),
    ]);
    Ok(Blueprint {
        dims: Dims { v, h, i, layers, tied },
        mixture: None,
        tensors,
        closed,
        mtp: None,
    })
}
