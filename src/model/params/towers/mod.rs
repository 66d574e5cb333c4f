//! The parts of a multimodal model around its language model: image encoders and projectors. A wrapper is counted if the
//! config of its class determines every shape; otherwise only the language model is.

mod encoder;
mod kinds;

use repro_core::source::{Error, Node};

use super::fields::{ConfigFields, table};
use super::{Layers, ParameterCounts, Part, Size, Sums, TensorList, UNKNOWN_FAMILY, UNSUPPORTED};
use kinds::{
    gemma3, gemma4, glm4v, idefics3, internvl, kimi_k25, llama4, llava, mistral3, paligemma,
    qwen2_5_vl, qwen2_vl, qwen3_vl,
};

/// Towers in both counts.
pub struct Towers {
    /// Their named list.
    pub tensors: TensorList,
    /// Their closed form.
    pub closed: Sums,
    /// Fields that do not affect shapes, judging by their names.
    pub ignored: Vec<String>,
}

/// A class of multimodal models.
struct Wrapper {
    model_type: &'static str,
    architecture: &'static str,
    /// Whether the head is tied to the embedding, if the outer config has no field for it.
    tied: bool,
    /// Whether a tied head in the text config ties the head of the whole model.
    text_ties: bool,
    /// Fields of the outer config that do not affect shapes.
    inert: &'static [&'static str],
    read: ReadTowers,
}

/// Reads the towers of a class, whose language model has this width.
type ReadTowers = fn(&ConfigFields<'_>, Size, &mut Towers) -> Result<(), Error>;

/// Every class whose config decides its towers.
const WRAPPERS: &[Wrapper] = &[
    Wrapper::new("qwen2_vl", "Qwen2VLForConditionalGeneration", qwen2_vl).text_ties(),
    Wrapper::new("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", qwen2_5_vl).text_ties(),
    Wrapper::new("qwen3_vl", "Qwen3VLForConditionalGeneration", qwen3_vl),
    Wrapper::new("qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", qwen3_vl),
    Wrapper::new("qwen3_5", "Qwen3_5ForConditionalGeneration", qwen3_vl)
        .inert(&["language_model_only"]),
    Wrapper::new("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", qwen3_vl)
        .inert(&["language_model_only"]),
    Wrapper::new("gemma3", "Gemma3ForConditionalGeneration", gemma3)
        .tied()
        .inert(&["mm_tokens_per_image"]),
    Wrapper::new("gemma4", "Gemma4ForConditionalGeneration", gemma4).tied(),
    Wrapper::new("llama4", "Llama4ForConditionalGeneration", llama4),
    Wrapper::new("mistral3", "Mistral3ForConditionalGeneration", mistral3).tied(),
    Wrapper::new("llava", "LlavaForConditionalGeneration", llava).text_ties().inert(LLAVA_INERT),
    Wrapper::new("llava_next", "LlavaNextForConditionalGeneration", llava).inert(LLAVA_INERT),
    Wrapper::new("llava_onevision", "LlavaOnevisionForConditionalGeneration", llava)
        .text_ties()
        .inert(LLAVA_INERT),
    Wrapper::new("internvl", "InternVLForConditionalGeneration", internvl)
        .tied()
        .inert(&["image_seq_length", "vision_feature_layer"]),
    Wrapper::new("idefics3", "Idefics3ForConditionalGeneration", idefics3).inert(IDEFICS_INERT),
    Wrapper::new("smolvlm", "SmolVLMForConditionalGeneration", idefics3).inert(IDEFICS_INERT),
    // Fields of the text model that older configs repeat.
    Wrapper::new("paligemma", "PaliGemmaForConditionalGeneration", paligemma).tied().inert(&[
        "hidden_size",
        "vocab_size",
        "_vocab_size",
        "num_image_tokens",
    ]),
    Wrapper::new("kimi_k25", "Kimi_K25ForConditionalGeneration", kimi_k25).tied(),
    Wrapper::new("kimi_k25", "KimiK25ForConditionalGeneration", kimi_k25).tied(),
    Wrapper::new("glm4v", "Glm4vForConditionalGeneration", glm4v).text_ties(),
    Wrapper::new("glm4v_moe", "Glm4vMoeForConditionalGeneration", glm4v).text_ties(),
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
    // Fields of the text model that the first configs repeat.
    "vocab_size",
];
const IDEFICS_INERT: &[&str] = &["vocab_size", "image_token_id"];
/// Fields of any outer config besides those that its class reads.
const OUTER: &[&str] = &["text_config", "vision_config", "video_token_id", "image_token_id"];
/// Fields of encoders that do not affect shapes.
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

/// Whether a config with the text fields at its root has an encoder next to them.
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
    // If the text fields are at the root, their family has checked them.
    if root.get("text_config").is_some() {
        let inert: Vec<_> = OUTER.iter().chain(wrapper.inert).copied().collect();
        let (ignored, _) = outer.finish(&inert)?;
        towers.ignored.extend(ignored);
    }
    Ok(towers)
}

impl Wrapper {
    /// A class with its own head, unless its config ties it.
    const fn new(model_type: &'static str, architecture: &'static str, read: ReadTowers) -> Self {
        Self { model_type, architecture, tied: false, text_ties: false, inert: &[], read }
    }

    const fn tied(self) -> Self {
        Self { tied: true, ..self }
    }

    const fn text_ties(self) -> Self {
        Self { text_ties: true, ..self }
    }

    const fn inert(self, inert: &'static [&'static str]) -> Self {
        Self { inert, ..self }
    }

    /// Rejects a config whose two tables disagree over the head: releases of the reference read one or the other of them.
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
        let expected = format!("the same `{name}` in the outer config and in `text_config`");
        let found = format!(
            "a head that is {} in the outer config and {} in `text_config`",
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

    /// Adds a norm, which belongs to the part around it.
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
