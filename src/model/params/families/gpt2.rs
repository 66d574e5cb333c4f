//! GPT-2: learned positions, layer norms with biases, fused projections stored in × out, tied head.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gpt2",
    model_types: &["gpt2"],
    architectures: &["GPT2LMHeadModel"],
    inert: &["n_ctx"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.off("add_cross_attention")?;
    let v = fields.size("vocab_size", 50_257)?;
    let h = fields.size("n_embd|hidden_size", 768)?;
    let p = fields.size("n_positions|max_position_embeddings", 1024)?;
    let layers = fields.layers("n_layer|num_hidden_layers", 12, |_| false)?;
    let heads = fields.size("n_head|num_attention_heads", 12)?;
    fields.head_size("n_head|num_attention_heads", h, heads)?;
    let i = fields.size_or("n_inner", h * 4, h * 4)?;
    let tied = fields.flag("tie_word_embeddings", true)?;
    let l = layers.all();

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "transformer.wte.weight", &[v, h]);
    tensors.tensor(Part::Positions, "transformer.wpe.weight", &[p, h]);
    for (part, name, input, output) in [
        (Part::Attention, "attn.c_attn", h, h * 3),
        (Part::Attention, "attn.c_proj", h, h),
        (Part::DenseFfn, "mlp.c_fc", h, i),
        (Part::DenseFfn, "mlp.c_proj", i, h),
    ] {
        // These maps are kept transposed, so the bias goes by the second dimension.
        let name = format!("transformer.h.{{layer}}.{name}");
        tensors.tensor(part, &format!("{name}.weight"), &[input, output]);
        tensors.tensor(part, &format!("{name}.bias"), &[output]);
    }
    tensors.norm("transformer.h.{layer}.ln_1", h, true);
    tensors.norm("transformer.h.{layer}.ln_2", h, true);
    tensors.norm("transformer.ln_f", h, true);
    if !tied {
        tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    }
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Positions, p * h),
        (Part::Attention, l * (h * h * 4 + h * 4)),
        (Part::DenseFfn, l * (h * i * 2 + i + h)),
        (Part::Norms, (l * 2 + 1) * 2 * h),
        (Part::Head, v * h * !tied),
    ]);
    Ok(Blueprint {
        dims: Dims { v, h, i, layers, tied },
        mixture: None,
        tensors,
        closed,
        mtp: None,
    })
}
