//! Jamba: selective state spaces, every eighth layer attention instead, experts in every second layer.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::{Grouped, Mamba, Mixer};
use crate::params::decoder::{Decoder, ExpertParts, StoredAs};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "jamba",
    model_types: &["jamba"],
    architectures: &["JambaForCausalLM"],
    inert: &["use_associative_scan", "use_mamba_kernels", "use_mambapy"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let any = fields.several("num_experts|num_local_experts", 16)?;
    let experts = period(fields, "expert_layer", (2, 1))?;
    let attention = period(fields, "attn_layer", (8, 4))?;
    let defaults =
        Defaults { vocabulary: 65_536, hidden: 4096, width: 14_336, layers: 32, tied: false };
    let dims = fields.dims(defaults, |layer| any && experts(layer))?;
    let heads = fields.heads(dims.h, 32, Some(8), HeadSize::Derived)?;
    let full = dims.layers.set(attention);
    let sparse = dims.layers.sparse();
    let width = fields.width("intermediate_size", 14_336, sparse)?;
    let all = ("num_experts|num_local_experts", 16);
    let experts = fields.experts_of(&dims.layers, all, ("num_experts_per_tok", 2))?;
    let names = ["gate_proj", "up_proj", "down_proj"];
    let mixture = ExpertParts {
        router: "feed_forward.router",
        stored: StoredAs::Each("feed_forward.experts", names),
        ..ExpertParts::new(experts, width)
    };
    let mixers: Vec<(_, Box<dyn Mixer>)> = vec![
        (full.others(), Box::new(mamba(fields, dims.h)?)),
        (full, Box::new(Grouped::new(heads))),
    ];
    let decoder = Decoder {
        norms: &["input_layernorm", "pre_ff_layernorm"],
        last_norm: "model.final_layernorm",
        mlp: "feed_forward",
        mixture: (sparse != Size::ZERO).then_some(mixture),
        ..Decoder::mixed(dims, mixers)
    };
    Ok(decoder.finish())
}

/// Which layers are of a kind that comes every so often.
fn period(
    fields: &ConfigFields<'_>,
    kind: &str,
    (period, offset): (u64, u64),
) -> Result<impl Fn(u64) -> bool, Error> {
    let period = fields.size(&format!("{kind}_period"), period)?.value().unwrap_or(1);
    let offset = fields.count(&format!("{kind}_offset"), offset)?.value().unwrap_or(0);
    Ok(move |layer: u64| layer % period.max(1) == offset)
}

fn mamba(fields: &ConfigFields<'_>, hidden: Size) -> Result<Mamba, Error> {
    let automatic = hidden.value().map_or(0, |hidden| hidden.div_ceil(16));
    let rank = match fields.says("mamba_dt_rank", "auto") {
        true => automatic.into(),
        false => fields.size("mamba_dt_rank", automatic)?,
    };
    Ok(Mamba {
        inner: hidden * fields.size("mamba_expand", 2)?,
        state: fields.size("mamba_d_state", 16)?,
        kernel: fields.size("mamba_d_conv", 4)?,
        rank,
        conv_bias: fields.flag("mamba_conv_bias", true)?,
        bias: fields.flag("mamba_proj_bias", false)?,
        normed: true,
    })
}
