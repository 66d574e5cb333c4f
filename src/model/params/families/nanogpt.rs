//! nanoGPT: GPT-2 with biases by choice, maps stored out × in, norms that lose their bias too, tied head.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Sums, TensorList};

/// The family, as the `model_args` of a checkpoint.
pub static FAMILY: Family = Family {
    id: "nanogpt",
    model_types: &["nanogpt"],
    architectures: &[],
    inert: &["dropout"],
    looks_like: |root| ["block_size", "n_embd"].iter().all(|key| root.get(key).is_some()),
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let v = fields.size("vocab_size", 50_304)?;
    let h = fields.size("n_embd", 768)?;
    let p = fields.size("block_size", 1024)?;
    let layers = fields.layers("n_layer", 12, |_| false)?;
    let heads = fields.size("n_head", 12)?;
    fields.head_size("n_head", h, heads)?;
    let is_biased = fields.flag("bias", true)?;
    let l = layers.all();

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "transformer.wte.weight", &[v, h]);
    tensors.tensor(Part::Positions, "transformer.wpe.weight", &[p, h]);
    for (part, name, output, input) in [
        (Part::Attention, "attn.c_attn", h * 3, h),
        (Part::Attention, "attn.c_proj", h, h),
        (Part::DenseFfn, "mlp.c_fc", h * 4, h),
        (Part::DenseFfn, "mlp.c_proj", h, h * 4),
    ] {
        let name = format!("transformer.h.{{layer}}.{name}");
        tensors.linear(part, &name, output, input, is_biased);
    }
    tensors.norm("transformer.h.{layer}.ln_1", h, is_biased);
    tensors.norm("transformer.h.{layer}.ln_2", h, is_biased);
    tensors.norm("transformer.ln_f", h, is_biased);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Positions, p * h),
        (Part::Attention, l * (h * h * 4 + h * 4 * is_biased)),
        (Part::DenseFfn, l * (h * h * 8 + h * 5 * is_biased)),
        (Part::Norms, (l * 2 + 1) * (h + h * is_biased)),
    ]);
    let dims = Dims { v, h, i: h * 4, layers, tied: true };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
