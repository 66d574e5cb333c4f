//! The towers of each class: its image encoder and projector.

use repro_core::source::Error;

use super::Towers;
use super::encoder::{
    Defaults, Encoder, clip, encoder_of_patches, patches, pixtral, side, siglip, square, volume,
};
use crate::params::fields::ConfigFields;
use crate::params::{Part, Size, UNSUPPORTED};

/// The dict of the encoder, which must have one of these kinds if it states one; the reference has defaults for all fields.
fn vision<'a>(outer: &ConfigFields<'a>, kinds: &[&str]) -> Result<ConfigFields<'a>, Error> {
    let fields = outer.table_or_defaults("vision_config")?;
    match fields.model_type() {
        Some(kind) if !kinds.contains(&kind) => {
            let expected = format!("`{}`", kinds.join("` or `"));
            Err(UNSUPPORTED.at(fields.place("model_type"), expected, format!("`{kind}`")))
        }
        _ => Ok(fields),
    }
}

pub(super) fn qwen2_vl(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["qwen2_vl", "qwen2_vl_vision"])?;
    let h = fields.size("embed_dim", 1280)?;
    let out = fields.size("hidden_size", 3584)?;
    let layers = fields.depth("depth", 32)?;
    let inner = h * fields.size("mlp_ratio", 4)?;
    fields.head_size("num_heads", h, fields.size("num_heads", 16)?)?;
    let patch = patches(&fields, 14)?;
    let merged = h * square(fields.size("spatial_merge_size", 2)?);
    towers.tensor(Part::Vision, "visual.patch_embed.proj.weight", &[&[h], &patch[..]].concat());
    let below = "visual.blocks";
    Encoder { is_fused: true, ..Encoder::plain(below, layers, h, inner) }.add(towers);
    towers.plus(Part::Vision, h * volume(&patch));
    same_width(&fields, "hidden_size", out, text)?;
    towers.norm(Part::Projector, "visual.merger.ln_q", h, true);
    towers.linear(Part::Projector, "visual.merger.mlp.0", [merged, merged], true);
    towers.linear(Part::Projector, "visual.merger.mlp.2", [out, merged], true);
    towers.plus(Part::Projector, h * 2 + (merged + 1) * (merged + out));
    towers.finish(fields)
}

pub(super) fn qwen2_5_vl(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["qwen2_5_vl", "qwen2_5_vl_vision"])?;
    let h = fields.size("hidden_size", 3584)?;
    let out = fields.size("out_hidden_size", 3584)?;
    let layers = fields.depth("depth", 32)?;
    let inner = fields.size("intermediate_size", 3420)?;
    fields.head_size("num_heads", h, fields.size("num_heads", 16)?)?;
    let patch = patches(&fields, 14)?;
    let merged = h * square(fields.size("spatial_merge_size", 2)?);
    towers.tensor(Part::Vision, "visual.patch_embed.proj.weight", &[&[h], &patch[..]].concat());
    Encoder {
        is_fused: true,
        input_bias: true,
        output_bias: true,
        feed_bias: true,
        ..Encoder::gated("visual.blocks", layers, h, inner)
    }
    .add(towers);
    towers.plus(Part::Vision, h * volume(&patch));
    same_width(&fields, "out_hidden_size", out, text)?;
    towers.norm(Part::Projector, "visual.merger.ln_q", h, false);
    towers.linear(Part::Projector, "visual.merger.mlp.0", [merged, merged], true);
    towers.linear(Part::Projector, "visual.merger.mlp.2", [out, merged], true);
    towers.plus(Part::Projector, h + (merged + 1) * (merged + out));
    towers.finish(fields)
}

pub(super) fn qwen3_vl(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let kinds = ["qwen3_vl", "qwen3_vl_vision", "qwen3_vl_moe", "qwen3_vl_moe_vision"];
    let newer = ["qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision"];
    let fields = vision(outer, &[kinds, newer].concat())?;
    let h = fields.size("hidden_size", 1152)?;
    let out = fields.size("out_hidden_size", 3584)?;
    let layers = fields.depth("depth", 27)?;
    let inner = fields.size("intermediate_size", 4304)?;
    let positions = fields.size("num_position_embeddings", 2304)?;
    fields.head_size("num_heads", h, fields.size("num_heads", 16)?)?;
    let patch = patches(&fields, 16)?;
    let merged = h * square(fields.size("spatial_merge_size", 2)?);
    let listed = fields.list("deepstack_visual_indexes")?;
    let is_newer = outer.model_type().is_some_and(|kind| kind.starts_with("qwen3_5"));
    // The layers whose outputs go into the language model on their own; the reference has a default for older classes.
    let default = if is_newer { 0 } else { 3 };
    let deep = if fields.given("deepstack_visual_indexes")? { listed.len() } else { default };
    if is_newer && !listed.is_empty() {
        return Err(fields.unsupported("deepstack_visual_indexes", "an empty list"));
    }
    let name = "visual.patch_embed.proj";
    towers.tensor(Part::Vision, &format!("{name}.weight"), &[&[h], &patch[..]].concat());
    towers.tensor(Part::Vision, &format!("{name}.bias"), &[h]);
    towers.tensor(Part::Vision, "visual.pos_embed.weight", &[positions, h]);
    let below = "visual.blocks";
    Encoder { is_fused: true, ..Encoder::plain(below, layers, h, inner) }.add(towers);
    towers.plus(Part::Vision, h * (volume(&patch) + 1 + positions));
    same_width(&fields, "out_hidden_size", out, text)?;
    let mut mergers = vec![("visual.merger".to_owned(), h)];
    mergers.extend((0..deep).map(|at| (format!("visual.deepstack_merger_list.{at}"), merged)));
    for (name, normed) in mergers {
        towers.norm(Part::Projector, &format!("{name}.norm"), normed, true);
        towers.linear(Part::Projector, &format!("{name}.linear_fc1"), [merged, merged], true);
        towers.linear(Part::Projector, &format!("{name}.linear_fc2"), [out, merged], true);
    }
    let deep = Size::from(deep as u64);
    let joined = (merged + 1) * (merged + out) * (deep + 1);
    towers.plus(Part::Projector, joined + h * 2 + merged * 2 * deep);
    towers.finish(fields)
}

pub(super) fn gemma3(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["siglip_vision_model"])?;
    let h = siglip(&fields, towers, true)?;
    let name = "multi_modal_projector.mm_input_projection_weight";
    towers.tensor(Part::Projector, name, &[h, text]);
    towers.norm(Part::Projector, "multi_modal_projector.mm_soft_emb_norm", h, false);
    towers.plus(Part::Projector, h * (text + 1));
    towers.finish(fields)
}

pub(super) fn paligemma(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["siglip_vision_model"])?;
    // The class has a default for the whole dict, which differs from its encoder's.
    if !outer.given("vision_config")? {
        return Err(outer.unsupported("vision_config", "a `vision_config`"));
    }
    let h = siglip(&fields, towers, true)?;
    let out = fields.size_or("projection_dim", Size::ZERO, Size::ZERO)?;
    let named = outer.size_or("projection_dim", 2048.into(), 2048.into())?;
    let out = if out == Size::ZERO { named } else { out };
    same_width(outer, "projection_dim", out, text)?;
    towers.linear(Part::Projector, "multi_modal_projector.linear", [out, h], true);
    towers.plus(Part::Projector, out * (h + 1));
    towers.finish(fields)
}

pub(super) fn gemma4(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    if outer.given("audio_config")? {
        return Err(outer.unsupported("audio_config", "no audio encoder"));
    }
    // A model of this class without the table has no encoder, unlike one of the others.
    if !outer.given("vision_config")? {
        return Ok(());
    }
    let fields = vision(outer, &["gemma4_vision"])?;
    let h = fields.size("hidden_size", 768)?;
    let layers = fields.depth("num_hidden_layers", 16)?;
    let inner = fields.size("intermediate_size", 3072)?;
    let heads = fields.size("num_attention_heads", 12)?;
    let head = fields.size("head_dim", 64)?;
    let size = fields.head_size("num_attention_heads", h, heads)?;
    if size != head || fields.size("num_key_value_heads", 12)? != heads {
        return Err(fields.unsupported("head_dim", "heads that fill the width"));
    }
    fields.off("attention_bias")?;
    fields.off("use_clipped_linears")?;
    fields.size_if_any("global_head_dim")?;
    let positions = fields.size("position_embedding_size", 10_240)?;
    let pixels = square(fields.size("patch_size", 16)?) * 3;
    let name = "vision_tower.patch_embedder";
    let table = format!("{name}.position_embedding_table");
    towers.tensor(Part::Vision, &table, &[2.into(), positions, h]);
    towers.linear(Part::Vision, &format!("{name}.input_proj"), [h, pixels], false);
    let below = "vision_tower.encoder.layers";
    let norms = crate::params::families::SANDWICH;
    Encoder { norms, ..Encoder::gated(below, layers, h, inner) }.add(towers);
    for norm in ["q_norm", "k_norm"] {
        let name = format!("{below}.{{copy}}.attn.{norm}.weight");
        towers.tensors.copied(Part::Vision, &name, layers, &[head]);
    }
    towers.plus(Part::Vision, h * (positions * 2 + pixels) + layers * head * 2);
    let name = "embed_vision.embedding_projection";
    towers.linear(Part::Projector, name, [text, h], false);
    towers.plus(Part::Projector, text * h);
    towers.finish(fields)
}

pub(super) fn llama4(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["llama4_vision_model"])?;
    let h = fields.size("hidden_size", 768)?;
    let layers = fields.depth("num_hidden_layers", 34)?;
    let inner = fields.size("intermediate_size", 5632)?;
    let [way_in, way_out] =
        [fields.size("projector_input_dim", 4096)?, fields.size("projector_output_dim", 4096)?];
    let seen = fields.size("vision_output_dim", 7680)?;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 16)?)?;
    fields.off("multi_modal_projector_bias")?;
    let pixels = square(fields.size("patch_size", 14)?) * fields.size("num_channels", 3)?;
    let places = square(side(&fields, 448, 14)?) + 1;
    let name = "vision_model";
    towers.tensor(Part::Vision, &format!("{name}.class_embedding"), &[h]);
    towers.tensor(Part::Vision, &format!("{name}.positional_embedding_vlm"), &[places, h]);
    towers.linear(Part::Vision, &format!("{name}.patch_embedding.linear"), [h, pixels], false);
    for norm in ["layernorm_pre", "layernorm_post"] {
        towers.norm(Part::Vision, &format!("{name}.{norm}"), h, true);
    }
    Encoder::plain("vision_model.model.layers", layers, h, inner).add(towers);
    towers.plus(Part::Vision, h * (places + 1 + pixels + 4));
    let name = "vision_model.vision_adapter.mlp";
    towers.linear(Part::Projector, &format!("{name}.fc1"), [way_in, inner], false);
    towers.linear(Part::Projector, &format!("{name}.fc2"), [way_out, way_out], false);
    let name = "multi_modal_projector.linear_1";
    towers.linear(Part::Projector, name, [text, seen], false);
    towers.plus(Part::Projector, way_in * inner + way_out * way_out + text * seen);
    towers.finish(fields)
}

pub(super) fn mistral3(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["pixtral"])?;
    let h = pixtral(&fields, towers)?;
    let merge = square(outer.size("spatial_merge_size", 2)?);
    let bias = outer.flag("multimodal_projector_bias", false)?;
    let seen = h * feature_layers(outer)?;
    let name = "multi_modal_projector";
    towers.norm(Part::Projector, &format!("{name}.norm"), h, false);
    let merging = format!("{name}.patch_merger.merging_layer");
    towers.linear(Part::Projector, &merging, [h, h * merge], false);
    towers.linear(Part::Projector, &format!("{name}.linear_1"), [text, seen], bias);
    towers.linear(Part::Projector, &format!("{name}.linear_2"), [text, text], bias);
    towers.plus(Part::Projector, h + h * h * merge + text * (seen + text) + text * 2 * bias);
    towers.finish(fields)
}

pub(super) fn llava(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    // Later classes mark the ends of rows of patches.
    let newline = outer.model_type() != Some("llava");
    let kinds = ["clip_vision_model", "siglip_vision_model", "pixtral"];
    let fields = vision(outer, &kinds)?;
    let kind = fields.model_type();
    let h = match kind {
        Some("clip_vision_model") => clip(&fields, towers)?,
        Some("siglip_vision_model") => siglip(&fields, towers, true)?,
        Some(_) => pixtral(&fields, towers)?,
        None => return Err(outer.unsupported("vision_config", "a `vision_config` with its kind")),
    };
    let bias = outer.flag("multimodal_projector_bias", true)?;
    let seen = h * feature_layers(outer)?;
    let name = "multi_modal_projector";
    towers.linear(Part::Projector, &format!("{name}.linear_1"), [text, seen], bias);
    towers.linear(Part::Projector, &format!("{name}.linear_2"), [text, text], bias);
    if newline {
        towers.tensor(Part::Projector, "image_newline", &[text]);
    }
    towers.plus(Part::Projector, text * (seen + text + newline) + text * 2 * bias);
    towers.finish(fields)
}

pub(super) fn internvl(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["internvl_vision"])?;
    let h = fields.size("hidden_size", 1024)?;
    let layers = fields.depth("num_hidden_layers", 24)?;
    let inner = fields.size("intermediate_size", 4096)?;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 16)?)?;
    let input_bias = fields.flag("attention_bias", false)?;
    let normed = fields.flag("use_qk_norm", false)?;
    let masked = fields.flag("use_mask_token", false)?;
    let norm_bias = match fields.word_of("norm_type")? {
        None | Some("layer_norm") => true,
        Some("rms_norm") => false,
        Some(_) => return Err(fields.unsupported("norm_type", "`layer_norm` or `rms_norm`")),
    };
    let positions = fields.flag("use_absolute_position_embeddings", true)?;
    let last = !fields.flag("use_mean_pooling", true)?;
    let patch = square(fields.square("patch_size", 14)?) * fields.size("num_channels", 3)?;
    let places = (square(side(&fields, 448, 14)?) + 1) * positions;
    let name = "vision_tower.embeddings";
    towers.tensor(Part::Vision, &format!("{name}.cls_token"), &[h]);
    if masked {
        towers.tensor(Part::Vision, &format!("{name}.mask_token"), &[h]);
    }
    if positions {
        towers.tensor(Part::Vision, &format!("{name}.position_embeddings"), &[places, h]);
    }
    let conv = format!("{name}.patch_embeddings.projection");
    towers.linear(Part::Vision, &conv, [h, patch], true);
    let below = "vision_tower.encoder.layer";
    Encoder { input_bias, norm_bias, ..Encoder::plain(below, layers, h, inner) }.add(towers);
    let mut names = vec!["lambda_1", "lambda_2"];
    if normed {
        names.extend(["attn.q_norm.weight", "attn.k_norm.weight"]);
    }
    for one in &names {
        towers.tensors.copied(Part::Vision, &format!("{below}.{{copy}}.{one}"), layers, &[h]);
    }
    if last {
        towers.norm(Part::Vision, "vision_tower.layernorm", h, true);
    }
    let vectors = layers * (Size::from(normed) * 2 + 2) + Size::from(last) * 2;
    towers.plus(Part::Vision, h * (patch + 2 + masked + places + vectors));
    if !outer.is_half("downsample_ratio")? {
        return Err(outer.unsupported("downsample_ratio", "0.5"));
    }
    let seen = h * 4;
    let name = "multi_modal_projector";
    towers.norm(Part::Projector, &format!("{name}.layer_norm"), seen, true);
    towers.linear(Part::Projector, &format!("{name}.linear_1"), [text, seen], true);
    towers.linear(Part::Projector, &format!("{name}.linear_2"), [text, text], true);
    towers.plus(Part::Projector, seen * 2 + text * (seen + 1) + text * (text + 1));
    towers.finish(fields)
}

pub(super) fn idefics3(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let kinds = ["idefics3", "idefics3_vision", "smolvlm_vision", "siglip_vision_model"];
    let fields = vision(outer, &kinds)?;
    let h = encoder_of_patches(&fields, towers, Defaults { width: 1152, patch: 32 })?;
    let scale = square(outer.size("scale_factor", 2)?);
    let name = "connector.modality_projection.proj";
    towers.linear(Part::Projector, name, [text, h * scale], false);
    towers.plus(Part::Projector, text * h * scale);
    towers.finish(fields)
}

pub(super) fn kimi_k25(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let fields = vision(outer, &["kimi_k25", "kimi_k25_vision", ""])?;
    // The names of the reference, and those of the releases.
    let h = fields.size("hidden_size|vt_hidden_size", 1152)?;
    let layers = fields.depth("num_hidden_layers|vt_num_hidden_layers", 27)?;
    let inner = fields.size("intermediate_size|vt_intermediate_size", 4304)?;
    let heads = "num_attention_heads|vt_num_attention_heads";
    fields.head_size(heads, h, fields.size(heads, 16)?)?;
    let pixels = square(fields.size("patch_size", 14)?) * 3;
    let rows = fields.size("pos_emb_height|init_pos_emb_height", 64)?;
    let columns = fields.size("pos_emb_width|init_pos_emb_width", 64)?;
    fields.count("pos_emb_time|init_pos_emb_time", 4)?;
    fields.word("mm_projector_type", "patchmerger", "patchmerger")?;
    fields.word("pos_emb_type", "divided_fixed", "divided_fixed")?;
    let merge = fields.list("merge_kernel_size")?;
    let merged = h * match merge.as_slice() {
        [] => Size::from(4),
        [a, b] => Size::from(*a) * *b,
        _ => return Err(fields.unsupported("merge_kernel_size", "two numbers")),
    };
    let named = fields.size_or("mm_hidden_size", h, h)?;
    let normed = outer.size_or("projection_hidden_size", named, named)?;
    same_width(outer, "projection_hidden_size", normed, h)?;
    same_width(&fields, "text_hidden_size", fields.size_or("text_hidden_size", text, text)?, text)?;
    let name = "vision_tower.patch_embed";
    towers.linear(Part::Vision, &format!("{name}.proj"), [h, pixels], true);
    let table = format!("{name}.pos_emb.position_embeddings");
    towers.tensor(Part::Vision, &table, &[rows, columns, h]);
    Encoder::plain("vision_tower.layers", layers, h, inner).add(towers);
    towers.norm(Part::Vision, "vision_tower.final_layernorm", h, true);
    towers.plus(Part::Vision, h * (pixels + 3 + rows * columns));
    towers.norm(Part::Projector, "mm_projector.pre_norm", normed, true);
    towers.linear(Part::Projector, "mm_projector.in_proj", [merged, merged], true);
    towers.linear(Part::Projector, "mm_projector.out_proj", [text, merged], true);
    towers.plus(Part::Projector, normed * 2 + (merged + 1) * (merged + text));
    towers.finish(fields)
}

pub(super) fn glm4v(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
) -> Result<(), Error> {
    let kinds = ["glm4v", "glm4v_vision", "glm4v_moe", "glm4v_moe_vision"];
    let fields = vision(outer, &kinds)?;
    let h = fields.size("hidden_size", 1536)?;
    let out = fields.size("out_hidden_size", 4096)?;
    let layers = fields.depth("depth", 24)?;
    let wide = fields.size("intermediate_size", 13_696)?;
    fields.head_size("num_heads", h, fields.size("num_heads", 12)?)?;
    let input_bias = fields.flag("attention_bias", false)?;
    let patch = patches(&fields, 14)?;
    let merge = square(fields.size("spatial_merge_size", 2)?);
    let places = square(side(&fields, 336, 14)?);
    towers.tensor(Part::Vision, "visual.embeddings.position_embedding.weight", &[places, h]);
    let name = "visual.patch_embed.proj";
    towers.tensor(Part::Vision, &format!("{name}.weight"), &[&[h], &patch[..]].concat());
    towers.tensor(Part::Vision, &format!("{name}.bias"), &[h]);
    for norm in ["post_conv_layernorm", "post_layernorm"] {
        towers.norm(Part::Vision, &format!("visual.{norm}"), h, false);
    }
    // Layers of the encoder have the width of its output.
    let below = "visual.blocks";
    let encoder = Encoder::gated(below, layers, h, out);
    Encoder { is_fused: true, input_bias, ..encoder }.add(towers);
    towers.plus(Part::Vision, h * (places + volume(&patch) + 3));
    same_width(&fields, "out_hidden_size", out, text)?;
    towers.linear(Part::Projector, "visual.downsample", [out, h * merge], true);
    let name = "visual.merger";
    towers.linear(Part::Projector, &format!("{name}.proj"), [out, out], false);
    towers.norm(Part::Projector, &format!("{name}.post_projection_norm"), out, true);
    towers.linear(Part::Projector, &format!("{name}.gate_proj"), [wide, out], false);
    towers.linear(Part::Projector, &format!("{name}.up_proj"), [wide, out], false);
    towers.linear(Part::Projector, &format!("{name}.down_proj"), [out, wide], false);
    towers.plus(Part::Projector, out * (h * merge + out + 3 + wide * 3));
    towers.finish(fields)
}

/// The number of encoder layers that are connected to the language model.
fn feature_layers(outer: &ConfigFields<'_>) -> Result<Size, Error> {
    let count = outer.length("vision_feature_layer")?;
    Ok(Size::from(count.unwrap_or(1)))
}

/// Rejects a projector with an output width other than the text model's: such a model cannot run, so a field was misread.
fn same_width(
    fields: &ConfigFields<'_>,
    name: &str,
    width: Size,
    other: Size,
) -> Result<(), Error> {
    if width == other {
        return Ok(());
    }
    Err(fields.unsupported(name, "the width of the part that it connects to"))
}
