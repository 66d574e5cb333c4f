//! HunYuan, dense (`hunyuan_v1_dense`) and with experts: norms over each head of queries and keys; in the large release
//! every second layer uses the keys and values of the layer before.

use repro_core::source::Error;

use crate::params::Size;
use crate::params::attention::{Grouped, HeadNorms, Mixer};
use crate::params::decoder::{Decoder, ExpertParts};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::Dims;
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "hunyuan",
    model_types: &["hunyuan", "hunyuan_v1_moe", "hunyuan_v1_dense"],
    architectures: &["HunYuanForCausalLM", "HunYuanMoEV1ForCausalLM", "HunYuanDenseV1ForCausalLM"],
    inert: &[
        "add_classification_head",
        "anyres_pooling_size",
        "anyres_vit_max_image_size",
        "anyres_vit_two_views",
        "capacity_factor",
        "class_num",
        "enable_lm_head_fp32",
        "eod_token_id",
        "group_limited_greedy",
        "im_end_id",
        "im_newline_id",
        "im_start_id",
        "kv_lora_rank",
        "mask_init_id",
        "moe_drop_tokens",
        "moe_layer_num_skipped",
        "moe_random_routing_dropped_token",
        "n_group",
        "norm_type",
        "num_media_embeds",
        "org_vocab_size",
        "pool_type",
        "position_embedding_xdrope",
        "q_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "rope_type",
        "routed_scaling_factor",
        "sep_token_id",
        "skip_cls_token",
        "text_end_id",
        "text_start_id",
        "topk_group",
        "use_mla",
        "use_rotary_pos_emb",
        "v_head_dim",
        "video_end_id",
        "video_start_id",
        "vit_add_patchemb_bias",
        "vit_input_resolution",
        "vit_mapping_type",
        "vit_norm_type",
        "vit_patch",
        "vit_path",
        "vit_remove_prenorm",
        "vit_token",
        "vit_type",
        "vit_used_rms_norm",
        "xdrope_section",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.off("use_mla")?;
    let skipped = fields.count_or_none("moe_layer_num_skipped", 0)?.value().unwrap_or(0);
    let moe = fields.model_type() != Some("hunyuan_v1_dense");
    let any = moe && fields.several("num_experts|num_local_experts", 1)?;
    let defaults =
        Defaults { vocabulary: 290_943, hidden: 4096, width: 11_008, layers: 32, tied: false };
    let dims = fields.dims(defaults, |layer| any && layer >= skipped)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let mixture = match any {
        true => Some(mixture(fields, &dims)?),
        false => None,
    };
    let bias = fields.flag("attention_bias", false)?;
    let (own, borrowed) = attention(fields, dims.h, bias)?;
    let every = match fields.flag("use_cla", false)? {
        true => fields.size("cla_share_factor", 1)?.value().unwrap_or(1),
        false => 1,
    };
    let owning = dims.layers.set(|layer| layer % every.max(1) == 0);
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(owning.others(), Box::new(borrowed)), (owning, Box::new(own))];
    Ok(Decoder { mlp_bias, mixture, ..Decoder::mixed(dims, mixers) }.finish())
}

/// Attention with its own keys and values, and with those of an earlier layer.
fn attention(
    fields: &ConfigFields<'_>,
    hidden: Size,
    bias: bool,
) -> Result<(Grouped, Grouped), Error> {
    let mut heads = fields.heads(hidden, 32, None, HeadSize::Derived)?;
    if let Some(size) = fields.size_if_any("attention_head_dim")? {
        heads.size = size;
    }
    let names = ["query_layernorm", "key_layernorm"];
    let norms = HeadNorms { names, ..HeadNorms::of_a_head(heads) };
    // The port to transformers always has them; the first release has a field for it.
    let ported = fields.model_type() != Some("hunyuan");
    let norms = fields.flag("use_qk_norm", ported)?.then_some(norms);
    let own = Grouped { norms, ..Grouped::new(heads).biased(bias) };
    Ok((own, Grouped { own_keys: false, ..own }))
}

/// The releases state the numbers of experts once or per layer, and a separate width only if it differs. The port to
/// transformers always has one shared expert.
fn mixture(fields: &ConfigFields<'_>, dims: &Dims) -> Result<ExpertParts, Error> {
    let all = ("num_experts|num_local_experts", 1);
    let used = ("moe_topk|num_experts_per_tok", 1);
    let experts = fields.experts_of(&dims.layers, all, used)?;
    let wide = fields.width("intermediate_size", 11_008, dims.layers.sparse())?;
    let width = fields.uniform("moe_intermediate_size", wide.value().unwrap_or(0))?;
    let ported = fields.model_type() != Some("hunyuan");
    let shared = match fields.flag("use_mixed_mlp_moe", ported)? {
        true => fields.uniform("num_shared_expert", 1)?,
        false => Size::ZERO,
    };
    let mixture = ExpertParts::new(experts, width).sharing(shared, shared * width);
    Ok(ExpertParts { router: "mlp.gate.wg", shared_name: "mlp.shared_mlp", ..mixture })
}
