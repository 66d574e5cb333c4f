//! GPT-NeoX and Pythia: rotary positions, layer norms with biases, a fused projection of queries,
//! keys and values, an untied head without a bias.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "gpt_neox",
    model_types: &["gpt_neox"],
    architectures: &["GPTNeoXForCausalLM"],
    inert: &["rotary_pct", "rotary_emb_base", "use_parallel_residual", "hidden_dropout"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let v = fields.size("vocab_size", 50_432)?;
    let h = fields.size("hidden_size", 6144)?;
    let i = fields.size("intermediate_size", 24_576)?;
    let layers = fields.layers("num_hidden_layers", 44, |_| false)?;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 64)?)?;
    let bias = fields.flag("attention_bias", true)?;
    let tied = fields.flag("tie_word_embeddings", false)?;
    let l = layers.all();

    let mut tensors = TensorList::new(&layers);
    let layer = "gpt_neox.layers.{layer}";
    tensors.tensor(Part::Embedding, "gpt_neox.embed_in.weight", &[v, h]);
    let name = format!("{layer}.attention.query_key_value");
    tensors.linear(Part::Attention, &name, h * 3, h, bias);
    tensors.linear(Part::Attention, &format!("{layer}.attention.dense"), h, h, bias);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.dense_h_to_4h"), i, h, true);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.dense_4h_to_h"), h, i, true);
    tensors.norm(&format!("{layer}.input_layernorm"), h, true);
    tensors.norm(&format!("{layer}.post_attention_layernorm"), h, true);
    tensors.norm("gpt_neox.final_layer_norm", h, true);
    if !tied {
        tensors.tensor(Part::Head, "embed_out.weight", &[v, h]);
    }
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * 4 * h * (h + bias)),
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
