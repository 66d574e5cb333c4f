//! What stands around the language model of a multimodal one: encoders of images, and what joins them to it. A wrapper is counted where the
//! config of its class decides every shape; else the language model alone is.

use repro_core::source::{Error, Node};

use super::fields::{ConfigFields, table};
use super::{Layers, ParameterCounts, Part, Size, Sums, TensorList, UNKNOWN_FAMILY, UNSUPPORTED};

/// Towers in both counts.
pub struct Towers {
    /// Their named list.
    pub tensors: TensorList,
    /// Their closed form.
    pub closed: Sums,
    /// Fields that shape nothing as far as their names show.
    pub ignored: Vec<String>,
}

/// A class of multimodal models.
struct Wrapper {
    model_type: &'static str,
    architecture: &'static str,
    /// Whether the head is the embedding, where the outer config does not say.
    tied: bool,
    /// Whether a tied head of the text config ties that of the whole.
    text_ties: bool,
    /// Fields of the outer config that shape nothing.
    inert: &'static [&'static str],
    read: fn(&ConfigFields<'_>, Size, &mut Towers) -> Result<(), Error>,
}

/// Every class whose config decides its towers.
const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        model_type: "qwen2_vl",
        architecture: "Qwen2VLForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: &[],
        read: qwen2_vl,
    },
    Wrapper {
        model_type: "qwen2_5_vl",
        architecture: "Qwen2_5_VLForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: &[],
        read: qwen2_5_vl,
    },
    Wrapper {
        model_type: "qwen3_vl",
        architecture: "Qwen3VLForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: &[],
        read: |outer, text, towers| qwen3_vl(outer, text, towers, &[8, 16, 24]),
    },
    Wrapper {
        model_type: "qwen3_vl_moe",
        architecture: "Qwen3VLMoeForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: &[],
        read: |outer, text, towers| qwen3_vl(outer, text, towers, &[8, 16, 24]),
    },
    Wrapper {
        model_type: "qwen3_5",
        architecture: "Qwen3_5ForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: &["language_model_only"],
        read: |outer, text, towers| qwen3_vl(outer, text, towers, &[]),
    },
    Wrapper {
        model_type: "qwen3_5_moe",
        architecture: "Qwen3_5MoeForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: &["language_model_only"],
        read: |outer, text, towers| qwen3_vl(outer, text, towers, &[]),
    },
    Wrapper {
        model_type: "gemma3",
        architecture: "Gemma3ForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &["mm_tokens_per_image"],
        read: gemma3,
    },
    Wrapper {
        model_type: "gemma4",
        architecture: "Gemma4ForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &[],
        read: gemma4,
    },
    Wrapper {
        model_type: "llama4",
        architecture: "Llama4ForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: &[],
        read: llama4,
    },
    Wrapper {
        model_type: "mistral3",
        architecture: "Mistral3ForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &[],
        read: mistral3,
    },
    Wrapper {
        model_type: "llava",
        architecture: "LlavaForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: LLAVA_INERT,
        read: |outer, text, towers| llava(outer, text, towers, false),
    },
    Wrapper {
        model_type: "llava_next",
        architecture: "LlavaNextForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: LLAVA_INERT,
        read: |outer, text, towers| llava(outer, text, towers, true),
    },
    Wrapper {
        model_type: "llava_onevision",
        architecture: "LlavaOnevisionForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: LLAVA_INERT,
        read: |outer, text, towers| llava(outer, text, towers, true),
    },
    Wrapper {
        model_type: "internvl",
        architecture: "InternVLForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &["image_seq_length", "vision_feature_layer"],
        read: internvl,
    },
    Wrapper {
        model_type: "idefics3",
        architecture: "Idefics3ForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: IDEFICS_INERT,
        read: idefics3,
    },
    Wrapper {
        model_type: "smolvlm",
        architecture: "SmolVLMForConditionalGeneration",
        tied: false,
        text_ties: false,
        inert: IDEFICS_INERT,
        read: idefics3,
    },
    Wrapper {
        model_type: "paligemma",
        architecture: "PaliGemmaForConditionalGeneration",
        tied: true,
        text_ties: false,
        // What older configs repeat of the text.
        inert: &["hidden_size", "vocab_size", "_vocab_size", "num_image_tokens"],
        read: paligemma,
    },
    Wrapper {
        model_type: "kimi_k25",
        architecture: "Kimi_K25ForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &[],
        read: kimi_k25,
    },
    Wrapper {
        model_type: "kimi_k25",
        architecture: "KimiK25ForConditionalGeneration",
        tied: true,
        text_ties: false,
        inert: &[],
        read: kimi_k25,
    },
    Wrapper {
        model_type: "glm4v",
        architecture: "Glm4vForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: &[],
        read: glm4v,
    },
    Wrapper {
        model_type: "glm4v_moe",
        architecture: "Glm4vMoeForConditionalGeneration",
        tied: false,
        text_ties: true,
        inert: &[],
        read: glm4v,
    },
];

const LLAVA_INERT: &[&str] = &[
    "image_seq_length",
    "pad_token_id",
    "image_token_index",
    "vision_feature_select_strategy",
    "image_grid_pinpoints",
    "use_image_newline_parameter",
    "vision_aspect_ratio",
    "multimodal_projector_bias",
    "projector_hidden_act",
    // What the first configs repeat of the text.
    "vocab_size",
];
const IDEFICS_INERT: &[&str] = &["vocab_size", "image_token_id"];
/// What any outer config has beside what its class reads.
const OUTER: &[&str] = &["text_config", "vision_config", "video_token_id", "image_token_id"];
/// Fields of encoders that shape nothing.
const ENCODER: &[&str] = &[
    "attention_dropout",
    "default_output_length",
    "hidden_dropout_prob",
    "initializer_factor",
    "layer_norm_eps",
    "num_image_tokens",
    "problem_type",
    "projection_dim",
    "return_dict",
    "standardize",
    "tokens_per_second",
    "torchscript",
    "vocab_size",
    "fullatt_block_indexes",
    "window_size",
    "in_chans",
    "spatial_patch_size",
    "image_seq_length",
    "video_seq_length",
    "tie_word_embeddings",
    "pooling_kernel_size",
];

/// Whether a config that holds the fields of its text itself has an encoder beside them.
pub fn are_beside(root: Node<'_>) -> bool {
    let is_wrapper = |kind: &str| WRAPPERS.iter().any(|wrapper| wrapper.model_type == kind);
    let kind = root.get("model_type").and_then(|kind| kind.text().ok());
    kind.is_some_and(is_wrapper) && root.get("vision_config").is_some()
}

/// The towers of the config at `root`, whose language model has been counted.
pub fn read(root: Node<'_>, language: &ParameterCounts) -> Result<Towers, Error> {
    let outer = ConfigFields::new(root);
    let kind = outer.model_type().unwrap_or_default();
    let of_kind = || WRAPPERS.iter().filter(|wrapper| wrapper.model_type == kind);
    if of_kind().next().is_none() {
        let found = format!("`model_type` = \"{kind}\" around a language model");
        return Err(UNKNOWN_FAMILY.at(outer.place("model_type"), "a known wrapper", found));
    }
    let architecture = outer.architecture();
    let is_known = |one: &&Wrapper| architecture.is_none_or(|name| name == one.architecture);
    let Some(wrapper) = of_kind().find(is_known) else {
        let found = format!("`{}`", architecture.unwrap_or_default());
        let expected = "a model that generates text";
        return Err(UNSUPPORTED.at(outer.place("architectures"), expected, found));
    };
    wrapper.heads_agree(root, &outer, language)?;
    let none = Layers::new(0, |_| false);
    let (tensors, closed, ignored) = (TensorList::new(&none), Sums::NONE, Vec::new());
    let mut towers = Towers { tensors, closed, ignored };
    (wrapper.read)(&outer, language.shape.hidden.into(), &mut towers)?;
    // Where the fields of the text stand at the root, its family has judged them.
    if root.get("text_config").is_some() {
        let inert: Vec<_> = OUTER.iter().chain(wrapper.inert).copied().collect();
        let (ignored, _) = outer.finish(&inert)?;
        towers.ignored.extend(ignored);
    }
    Ok(towers)
}

impl Wrapper {
    /// Refuses a config whose two tables disagree over the head: releases of the reference read one or the other of them.
    fn heads_agree(
        &self,
        root: Node<'_>,
        outer: &ConfigFields<'_>,
        language: &ParameterCounts,
    ) -> Result<(), Error> {
        let name = "tie_word_embeddings";
        let of_text = match root.get("text_config").map(table).transpose()? {
            Some(text) => ConfigFields::new(text).flag(name, false)?,
            None => false,
        };
        let own = outer.flag(name, self.tied)?;
        if (own || self.text_ties && of_text) == language.tied {
            return Ok(());
        }
        let expected = format!("`{name}` with one meaning for the model and its text");
        let found = format!(
            "a head that is {} by the outer config and {} by that of the text",
            if own { "tied" } else { "untied" },
            if language.tied { "tied" } else { "untied" }
        );
        Err(UNSUPPORTED.at(outer.place(name), expected, found))
    }
}

impl Towers {
    /// Adds a tensor to the list.
    fn tensor(&mut self, part: Part, name: &str, shape: &[Size]) {
        self.tensors.tensor(part, name, shape);
    }

    fn linear(&mut self, part: Part, name: &str, [output, input]: [Size; 2], bias: bool) {
        self.tensors.linear(part, name, output, input, bias);
    }

    /// A norm, which is part of what it stands in.
    fn norm(&mut self, part: Part, name: &str, width: Size, bias: bool) {
        self.tensors.tensor(part, &format!("{name}.weight"), &[width]);
        if bias {
            self.tensors.tensor(part, &format!("{name}.bias"), &[width]);
        }
    }

    /// Adds to the closed form.
    fn plus(&mut self, part: Part, size: Size) {
        self.closed = self.closed.clone().plus(part, size, size);
    }

    /// Ends the reading of an encoder's table.
    fn finish(&mut self, fields: ConfigFields<'_>) -> Result<(), Error> {
        let (ignored, _) = fields.finish(ENCODER)?;
        self.ignored.extend(ignored.into_iter().map(|name| format!("vision_config.{name}")));
        Ok(())
    }
}

/// The layers of an encoder of images.
struct Encoder {
    below: &'static str,
    layers: Size,
    width: Size,
    inner: Size,
    /// Whether queries, keys and values are one matrix.
    is_fused: bool,
    /// Biases of queries, keys and values.
    input_bias: bool,
    output_bias: bool,
    is_gated: bool,
    feed_bias: bool,
    norms: &'static [&'static str],
    norm_bias: bool,
}

impl Encoder {
    /// Layers with norms before both halves, two matrices in the second, and biases everywhere.
    fn plain(below: &'static str, layers: Size, width: Size, inner: Size) -> Self {
        Self {
            below,
            layers,
            width,
            inner,
            is_fused: false,
            input_bias: true,
            output_bias: true,
            is_gated: false,
            feed_bias: true,
            norms: &["norm1", "norm2"],
            norm_bias: true,
        }
    }

    /// Layers with RMS norms, three matrices in the second half, and no biases.
    fn gated(below: &'static str, layers: Size, width: Size, inner: Size) -> Self {
        Self {
            input_bias: false,
            output_bias: false,
            is_gated: true,
            feed_bias: false,
            norm_bias: false,
            ..Self::plain(below, layers, width, inner)
        }
    }

    fn add(&self, towers: &mut Towers) {
        let Self { width: h, inner: i, .. } = *self;
        let mut linear = |name: &str, shape: (Size, Size), bias: bool| {
            let name = format!("{}.{{copy}}.{name}", self.below);
            towers.tensors.copied_linear(Part::Vision, &name, self.layers, shape, bias);
        };
        if self.is_fused {
            linear("attn.qkv", (h * 3, h), self.input_bias);
        } else {
            for name in ["attn.q_proj", "attn.k_proj", "attn.v_proj"] {
                linear(name, (h, h), self.input_bias);
            }
        }
        linear("attn.proj", (h, h), self.output_bias);
        let (feeds, down): (&[&str], _) = match self.is_gated {
            true => (&["mlp.gate_proj", "mlp.up_proj"], "mlp.down_proj"),
            false => (&["mlp.fc1"], "mlp.fc2"),
        };
        feeds.iter().for_each(|name| linear(name, (i, h), self.feed_bias));
        linear(down, (h, i), self.feed_bias);
        for norm in self.norms {
            let name = format!("{}.{{copy}}.{norm}", self.below);
            let mut one = |kind: &str| {
                let name = format!("{name}.{kind}");
                towers.tensors.copied(Part::Vision, &name, self.layers, &[h]);
            };
            one("weight");
            if self.norm_bias {
                one("bias");
            }
        }
        towers.plus(Part::Vision, self.closed());
    }

    fn closed(&self) -> Size {
        let Self { width: h, inner: i, .. } = *self;
        let ways_in = Size::from(1) + self.is_gated;
        let norms = Size::from(self.norms.len() as u64) * (Size::from(1) + self.norm_bias);
        let attention = h * h * 4 + h * 3 * self.input_bias + h * self.output_bias;
        let feed = h * i * (ways_in + 1) + (i * ways_in + h) * self.feed_bias;
        self.layers * (attention + feed + norms * h)
    }
}

/// The table of the encoder, of one of these kinds where it says so; the reference has defaults for all of it.
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

/// Patches along one side of an image.
fn side(fields: &ConfigFields<'_>, image: u64, patch: u64) -> Result<Size, Error> {
    let image = fields.square("image_size", image)?.value().unwrap_or(0);
    let patch = fields.square("patch_size", patch)?.value().unwrap_or(1).max(1);
    Ok(Size::from(image / patch))
}

fn qwen2_vl(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

fn qwen2_5_vl(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

/// `deep` are the layers whose outputs go into the language model on their own, where the config does not list them.
fn qwen3_vl(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
    deep: &[u64],
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
    let deep = if fields.given("deepstack_visual_indexes")? { &listed } else { deep };
    if !listed.is_empty() && outer.model_type().is_some_and(|kind| kind.starts_with("qwen3_5")) {
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
    mergers
        .extend((0..deep.len()).map(|at| (format!("visual.deepstack_merger_list.{at}"), merged)));
    for (name, normed) in mergers {
        towers.norm(Part::Projector, &format!("{name}.norm"), normed, true);
        towers.linear(Part::Projector, &format!("{name}.linear_fc1"), [merged, merged], true);
        towers.linear(Part::Projector, &format!("{name}.linear_fc2"), [out, merged], true);
    }
    let deep = Size::from(deep.len() as u64);
    let joined = (merged + 1) * (merged + out) * (deep + 1);
    towers.plus(Part::Projector, joined + h * 2 + merged * 2 * deep);
    towers.finish(fields)
}

fn gemma3(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
    let fields = vision(outer, &["siglip_vision_model"])?;
    let h = siglip(&fields, towers, true)?;
    let name = "multi_modal_projector.mm_input_projection_weight";
    towers.tensor(Part::Projector, name, &[h, text]);
    towers.norm(Part::Projector, "multi_modal_projector.mm_soft_emb_norm", h, false);
    towers.plus(Part::Projector, h * (text + 1));
    towers.finish(fields)
}

fn paligemma(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
    let fields = vision(outer, &["siglip_vision_model"])?;
    // The class has a default for the whole table, not that of its encoder.
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

fn gemma4(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
    if outer.given("audio_config")? {
        return Err(outer.unsupported("audio_config", "no encoder of sound"));
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
    let norms = super::families::SANDWICH;
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

fn llama4(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

fn mistral3(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

fn llava(
    outer: &ConfigFields<'_>,
    text: Size,
    towers: &mut Towers,
    newline: bool,
) -> Result<(), Error> {
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

fn internvl(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

fn idefics3(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
    let kinds = ["idefics3", "idefics3_vision", "smolvlm_vision", "siglip_vision_model"];
    let fields = vision(outer, &kinds)?;
    let h = encoder_of_patches(&fields, towers, Defaults { width: 1152, patch: 32 })?;
    let scale = square(outer.size("scale_factor", 2)?);
    let name = "connector.modality_projection.proj";
    towers.linear(Part::Projector, name, [text, h * scale], false);
    towers.plus(Part::Projector, text * h * scale);
    towers.finish(fields)
}

fn kimi_k25(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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

fn glm4v(outer: &ConfigFields<'_>, text: Size, towers: &mut Towers) -> Result<(), Error> {
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
    // Layers of the encoder are as wide inside as what leaves it.
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

/// CLIP's encoder; its width.
fn clip(fields: &ConfigFields<'_>, towers: &mut Towers) -> Result<Size, Error> {
    let h = fields.size("hidden_size", 768)?;
    let layers = fields.depth("num_hidden_layers", 12)?;
    let inner = fields.size("intermediate_size", 3072)?;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 12)?)?;
    let patch = square(fields.size("patch_size", 32)?) * fields.size("num_channels", 3)?;
    let places = square(side(fields, 224, 32)?) + 1;
    let name = "vision_tower.embeddings";
    towers.tensor(Part::Vision, &format!("{name}.class_embedding"), &[h]);
    towers.linear(Part::Vision, &format!("{name}.patch_embedding"), [h, patch], false);
    towers.linear(Part::Vision, &format!("{name}.position_embedding"), [places, h], false);
    for norm in ["pre_layrnorm", "post_layernorm"] {
        towers.norm(Part::Vision, &format!("vision_tower.{norm}"), h, true);
    }
    Encoder::plain("vision_tower.encoder.layers", layers, h, inner).add(towers);
    towers.plus(Part::Vision, h * (places + patch + 5));
    Ok(h)
}

/// Defaults of an encoder of patches.
struct Defaults {
    width: u64,
    patch: u64,
}

/// SigLIP's encoder with the head that pools its outputs, unless that is off; its width.
fn siglip(
    fields: &ConfigFields<'_>,
    towers: &mut Towers,
    head_by_default: bool,
) -> Result<Size, Error> {
    let h = encoder_of_patches(fields, towers, Defaults { width: 768, patch: 16 })?;
    let inner = fields.size("intermediate_size", 3072)?;
    if fields.flag("vision_use_head", head_by_default)? {
        let name = "vision_tower.head";
        towers.tensor(Part::Vision, &format!("{name}.probe"), &[h]);
        towers.linear(Part::Vision, &format!("{name}.attention.in_proj"), [h * 3, h], true);
        towers.linear(Part::Vision, &format!("{name}.attention.out_proj"), [h, h], true);
        towers.norm(Part::Vision, &format!("{name}.layernorm"), h, true);
        towers.linear(Part::Vision, &format!("{name}.mlp.fc1"), [inner, h], true);
        towers.linear(Part::Vision, &format!("{name}.mlp.fc2"), [h, inner], true);
        towers.plus(Part::Vision, h + (h + 1) * h * 4 + h * 2 + h * inner * 2 + inner + h);
    }
    Ok(h)
}

/// Patches with biases and learned positions, layers, and a last norm; their width.
fn encoder_of_patches(
    fields: &ConfigFields<'_>,
    towers: &mut Towers,
    defaults: Defaults,
) -> Result<Size, Error> {
    let h = fields.size("hidden_size", defaults.width)?;
    let layers = fields.depth("num_hidden_layers", 12)?;
    let inner = fields.size("intermediate_size", 3072)?;
    let heads = if defaults.width == 768 { 12 } else { 16 };
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", heads)?)?;
    let patch = square(fields.size("patch_size", defaults.patch)?);
    let patch = patch * fields.size("num_channels", 3)?;
    let places = square(side(fields, 224, defaults.patch)?);
    let name = "vision_tower.embeddings";
    towers.linear(Part::Vision, &format!("{name}.patch_embedding"), [h, patch], true);
    towers.linear(Part::Vision, &format!("{name}.position_embedding"), [places, h], false);
    Encoder::plain("vision_tower.encoder.layers", layers, h, inner).add(towers);
    towers.norm(Part::Vision, "vision_tower.post_layernorm", h, true);
    towers.plus(Part::Vision, h * (patch + places + 3));
    Ok(h)
}

/// Pixtral's encoder; its width.
fn pixtral(fields: &ConfigFields<'_>, towers: &mut Towers) -> Result<Size, Error> {
    let h = fields.size("hidden_size", 1024)?;
    let layers = fields.depth("num_hidden_layers", 24)?;
    let inner = fields.size("intermediate_size", 4096)?;
    let heads = fields.size("num_attention_heads", 16)?;
    let size = fields.head_size("num_attention_heads", h, heads)?;
    if fields.size_or("head_dim", size, size)? != size {
        return Err(fields.unsupported("head_dim", "the width over the heads"));
    }
    let patch = square(fields.size("patch_size", 16)?) * fields.size("num_channels", 3)?;
    // Positions are rotary: the size of images shapes nothing.
    fields.count("image_size", 1024)?;
    towers.linear(Part::Vision, "vision_tower.patch_conv", [h, patch], false);
    towers.norm(Part::Vision, "vision_tower.ln_pre", h, false);
    Encoder::gated("vision_tower.transformer.layers", layers, h, inner).add(towers);
    towers.plus(Part::Vision, h * (patch + 1));
    Ok(h)
}

/// Channels, frames, and both sides of a patch.
fn patches(fields: &ConfigFields<'_>, side: u64) -> Result<[Size; 4], Error> {
    let side = fields.size("patch_size", side)?;
    let channels = fields.size("in_channels", 3)?;
    let frames = fields.size("temporal_patch_size", 2)?;
    // What a release calls its channels instead, and the reference does not read.
    if fields.size_or("in_chans", channels, channels)? != channels {
        return Err(fields.unsupported("in_chans", "the same as `in_channels`"));
    }
    Ok([channels, frames, side, side])
}

fn volume(patch: &[Size; 4]) -> Size {
    patch.iter().fold(Size::from(1), |product, &side| product * side)
}

fn square(side: Size) -> Size {
    side * side
}

/// How many layers of the encoder are joined to the language model.
fn feature_layers(outer: &ConfigFields<'_>) -> Result<Size, Error> {
    let count = outer.length("vision_feature_layer")?;
    Ok(Size::from(count.unwrap_or(1)))
}

/// Refuses a projector that leads to another width than that of the text: a model cannot run so, and a field was misread.
fn same_width(
    fields: &ConfigFields<'_>,
    name: &str,
    width: Size,
    other: Size,
) -> Result<(), Error> {
    if width == other {
        return Ok(());
    }
    Err(fields.unsupported(name, "the width that it is joined to"))
}
