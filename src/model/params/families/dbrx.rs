//! DBRX: fields in two tables of the config, grouped heads with queries, keys and values in one matrix, norms without
//! biases, experts in every layer, all of a layer in three tensors.

use repro_core::source::Error;

use crate::params::blocks::Heads;
use crate::params::family::{Blueprint, Family, MixtureShape, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "dbrx",
    model_types: &["dbrx"],
    architectures: &["DbrxForCausalLM"],
    inert: &["emb_pdrop", "max_seq_len", "resid_pdrop"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let v = fields.size("vocab_size", 32_000)?;
    let h = fields.size("d_model|hidden_size", 2048)?;
    let layers = fields.layers("n_layers|num_hidden_layers", 24, |_| true)?;
    let tied = fields.flag("tie_word_embeddings", false)?;
    let heads = heads(fields, h)?;
    let ffn = fields.table("ffn_config")?;
    let experts = ffn.experts(("moe_num_experts", 4), ("moe_top_k", 1))?;
    let d = ffn.size("ffn_hidden_size", 3584)?;
    ffn.finish(&["hidden_size"])?;
    let (l, a, g) = (layers.all(), heads.queries(), heads.keys());
    let (e, k) = (experts.count, experts.per_token);

    let mut tensors = TensorList::new(&layers).with_experts(e, k);
    tensors.tensor(Part::Embedding, "transformer.wte.weight", &[v, h]);
    let block = "transformer.blocks.{layer}";
    let attention = format!("{block}.norm_attn_norm.attn");
    tensors.linear(Part::Attention, &format!("{attention}.Wqkv"), a + g * 2, h, false);
    tensors.linear(Part::Attention, &format!("{attention}.out_proj"), h, a, false);
    for name in ["norm_1", "norm_2"] {
        tensors.norm(&format!("{block}.norm_attn_norm.{name}"), h, false);
    }
    tensors.linear(Part::Router, &format!("{block}.ffn.router.layer"), e, h, false);
    for name in ["w1", "v1", "w2"] {
        let name = format!("{block}.ffn.experts.mlp.{name}");
        tensors.tensor(Part::RoutedExperts, &name, &[e * d, h]);
    }
    tensors.norm("transformer.norm_f", h, false);
    if !tied {
        tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
    }
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * h * (a + g) * 2),
        (Part::Router, l * h * e),
        (Part::Norms, (l * 2 + 1) * h),
        (Part::Head, v * h * !tied),
    ])
    .routed(l * h * d * 3, e, k);
    let mixture = MixtureShape { experts, width: d, shared: Size::ZERO, shared_width: Size::ZERO };
    let dims = Dims { v, h, i: Size::ZERO, layers, tied };
    Ok(Blueprint { dims, mixture: Some(mixture), tensors, closed, mtp: None })
}

fn heads(fields: &ConfigFields<'_>, hidden: Size) -> Result<Heads, Error> {
    let count = fields.size("n_heads|num_attention_heads", 16)?;
    let size = fields.head_size("n_heads|num_attention_heads", hidden, count)?;
    let table = fields.table("attn_config")?;
    let key_value = table.size("kv_n_heads", 1)?;
    if count.split(key_value).is_none() {
        return Err(table.impossible("kv_n_heads", "a divisor of the number of query heads"));
    }
    table.finish(&[])?;
    Ok(Heads { count, key_value, size })
}
