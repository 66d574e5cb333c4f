//! Gemma 3n and Gemma 4: Gemma 3 with embeddings of their own for each layer, layers that use the keys and values of one before them, and in
//! Gemma 3n four streams side by side, in Gemma 4 heads that are wider in layers of full attention and experts next to the dense block.

use repro_core::source::Error;

use super::gemma2::NORMS;
use crate::params::attention::{Grouped, HeadNorms, Mixer};
use crate::params::blocks::Heads;
use crate::params::decoder::{
    Block, Decoder, ExpertParts, Feed, Mixers, SizedFeed, StoredAs, Vectors,
};
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims, HeadSize};
use crate::params::{LayerSet, Part, Size, Sums, TensorList};

const INERT: &[&str] = &[
    "activation_sparsity_pattern",
    "altup_active_idx",
    "altup_coef_clip",
    "altup_correct_scale",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "hidden_activation",
    "layer_types",
    "query_pre_attn_scalar",
    "rope_local_base_freq",
    "use_bidirectional_attention",
];

/// Gemma 3n.
pub static GEMMA3N: Family = Family {
    id: "gemma3n_text",
    model_types: &["gemma3n_text"],
    architectures: &["Gemma3nForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: read_3n,
};

/// Gemma 4.
pub static GEMMA4: Family = Family {
    id: "gemma4_text",
    model_types: &["gemma4_text"],
    architectures: &["Gemma4ForCausalLM"],
    inert: INERT,
    looks_like: never,
    read: read_4,
};

fn read_3n(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let width = fields.uniform("intermediate_size", 16_384)?;
    let dims = Dims {
        v: fields.size("vocab_size", 262_400)?,
        h: fields.size("hidden_size", 2048)?,
        i: fields.nonzero("intermediate_size", width)?,
        layers: fields.layers("num_hidden_layers", 35, |_| false)?,
        tied: fields.flag("tie_word_embeddings", true)?,
    };
    let heads = fields.heads(dims.h, 8, Some(2), HeadSize::Fixed(256))?;
    let bias = fields.flag("attention_bias", false)?;
    let own = own_keys(fields, &dims, 15)?;
    let kinds = |own: bool| attention(heads, bias, own, true);
    let mixers: Vec<(_, Box<dyn Mixer>)> =
        vec![(own.others(), Box::new(kinds(false))), (own, Box::new(kinds(true)))];
    let streams = fields.depth("altup_num_inputs", 4)?;
    let laurel = Laurel { rank: fields.size("laurel_rank", 64)? };
    let embeddings = LayerEmbeddings::read(fields, &dims)?;
    if embeddings.width == Size::ZERO {
        return Err(fields.impossible("hidden_size_per_layer_input", "at least 1"));
    }
    let all = || dims.layers.set(|_| true);
    let blocks: Vec<(_, Box<dyn Block>)> = vec![
        (all(), Box::new(Streams { count: streams })),
        (all(), Box::new(laurel)),
        (all(), Box::new(embeddings.in_a_layer())),
    ];
    let once: Vec<Box<dyn Block>> =
        vec![Box::new(embeddings), Box::new(StreamProjections { count: streams - 1 })];
    Ok(Decoder { norms: NORMS, blocks, once, ..Decoder::mixed(dims, mixers) }.finish())
}

fn read_4(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let any = fields.flag("enable_moe_block", false)?;
    let defaults =
        Defaults { vocabulary: 262_144, hidden: 2304, width: 9216, layers: 30, tied: true };
    let dims = Dims { i: Size::ZERO, ..fields.dims(defaults, |_| any)? };
    let i = fields.size("intermediate_size", 9216)?;
    let dims = Dims { i, ..dims };
    let narrow = fields.heads(dims.h, 8, Some(4), HeadSize::Fixed(256))?;
    let shared_values = fields.flag("attention_k_eq_v", false)?;
    let named = fields.size_if_any("num_global_key_value_heads")?;
    let wide = Heads {
        size: fields.size("global_head_dim", 512)?,
        key_value: named.filter(|_| shared_values).unwrap_or(narrow.key_value),
        ..narrow
    };
    let bias = fields.flag("attention_bias", false)?;
    let listed =
        fields.layer_kinds(&dims.layers, ["sliding_attention", "full_attention"], |layer| {
            (layer + 1).is_multiple_of(6)
        })?;
    // The reference makes the last layer a full-attention layer, regardless of the config.
    let last = dims.layers.all() - 1;
    let full = dims.layers.set(|layer| Size::from(layer) == last || listed.contains(layer));
    let own = own_keys(fields, &dims, 0)?;
    let mut mixers = Mixers::new();
    for (set, is_own) in [(own.others(), false), (own.clone(), true)] {
        let sliding = attention(narrow, bias, is_own, true);
        let wide = attention(wide, bias, is_own, !shared_values);
        mixers.push((full.others().and(&set), Box::new(sliding)));
        mixers.push((full.and(&set), Box::new(wide)));
    }
    let mixture = experts(fields, any)?;
    let embeddings = LayerEmbeddings::read(fields, &dims)?;
    let mut blocks = dense(fields, &dims, &own, any)?;
    if let Some(ExpertParts { experts, .. }) = &mixture {
        let names = &[
            "post_feedforward_layernorm_1.weight",
            "post_feedforward_layernorm_2.weight",
            "pre_feedforward_layernorm_2.weight",
        ];
        let norms = Vectors { part: Part::Norms, names, width: dims.h };
        let scale = Vectors { part: Part::Router, names: &["router.scale"], width: dims.h };
        let names = &["router.per_expert_scale"];
        let scales = Vectors { part: Part::Router, names, width: experts.count };
        for block in [norms, scale, scales] {
            blocks.push((dims.layers.set(|_| true), Box::new(block)));
        }
    }
    let mut once: Vec<Box<dyn Block>> = Vec::new();
    if embeddings.width != Size::ZERO {
        blocks.push((dims.layers.set(|_| true), Box::new(embeddings.in_a_layer())));
        once.push(Box::new(embeddings));
    }
    let decoder = Decoder::mixed(dims, mixers);
    Ok(Decoder { norms: NORMS, feed: Feed::None, blocks, once, mixture, ..decoder }.finish())
}

/// The layers with their own keys and values: all except the last `shared` ones.
fn own_keys(fields: &ConfigFields<'_>, dims: &Dims, shared: u64) -> Result<LayerSet, Error> {
    let shared = fields.count_or_none("num_kv_shared_layers", shared)?;
    let Some(own) = (dims.layers.all() - shared).value() else {
        return Err(fields.impossible("num_kv_shared_layers", "at most the number of layers"));
    };
    Ok(dims.layers.set(|layer| layer < own))
}

fn attention(heads: Heads, bias: bool, own_keys: bool, own_values: bool) -> Grouped {
    let mut norms = HeadNorms::of_a_head(heads);
    if !own_keys {
        norms.keys = Size::ZERO;
    }
    Grouped { own_keys, own_values, norms: Some(norms), ..Grouped::new(heads).biased(bias) }
}

/// A block and the layers that have it.
type Placed = (LayerSet, Box<dyn Block>);

/// Dense blocks, which are parallel to the experts if there are any, and may be twice as wide in layers with shared keys.
fn dense(
    fields: &ConfigFields<'_>,
    dims: &Dims,
    own: &LayerSet,
    any: bool,
) -> Result<Vec<Placed>, Error> {
    let times = if fields.flag("use_double_wide_mlp", false)? { 2 } else { 1 };
    let part = if any { Part::SharedExperts } else { Part::DenseFfn };
    let narrow = SizedFeed { part, below: "mlp", width: dims.i, is_gated: true, bias: false };
    let wide = SizedFeed { width: dims.i * times, ..narrow };
    Ok(vec![(own.others(), Box::new(wide)), (own.clone(), Box::new(narrow))])
}

fn experts(fields: &ConfigFields<'_>, any: bool) -> Result<Option<ExpertParts>, Error> {
    let names = ["num_experts", "top_k_experts", "moe_intermediate_size|expert_intermediate_size"];
    if !any {
        for name in names {
            fields.size_if_any(name)?;
        }
        return Ok(None);
    }
    fields.required(names[0])?;
    fields.required(names[1])?;
    let experts = fields.experts((names[0], 0), (names[1], 0))?;
    let width = fields.required(names[2])?;
    let stored = StoredAs::Stacked("experts");
    Ok(Some(ExpertParts { router: "router.proj", stored, ..ExpertParts::new(experts, width) }))
}

/// Embeddings for each layer, and how they come into the residual stream.
#[derive(Debug, Clone, Copy)]
struct LayerEmbeddings {
    vocabulary: Size,
    layers: Size,
    width: Size,
}

/// The per-layer input of a layer.
#[derive(Debug, Clone, Copy)]
struct LayerInput {
    width: Size,
}

impl LayerEmbeddings {
    fn read(fields: &ConfigFields<'_>, dims: &Dims) -> Result<Self, Error> {
        Ok(Self {
            vocabulary: fields.size("vocab_size_per_layer_input", 262_144)?,
            layers: dims.layers.all(),
            width: fields.count_or_none("hidden_size_per_layer_input", 256)?,
        })
    }

    fn in_a_layer(&self) -> LayerInput {
        LayerInput { width: self.width }
    }
}

impl Block for LayerEmbeddings {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let wide = self.layers * self.width;
        let name = "model.embed_tokens_per_layer.weight";
        tensors.tensor(Part::Other, name, &[self.vocabulary, wide]);
        tensors.linear(Part::Other, "model.per_layer_model_projection", wide, hidden, false);
        tensors.norm("model.per_layer_projection_norm", self.width, false);
    }

    fn closed(&self, h: Size) -> Sums {
        let tables = self.layers * self.width * (self.vocabulary + h);
        Sums::of([(Part::Other, tables), (Part::Norms, self.width)])
    }
}

impl Block for LayerInput {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.{name}");
        let gate = name("per_layer_input_gate");
        tensors.linear(Part::Other, &gate, self.width, hidden, false);
        tensors.linear(Part::Other, &name("per_layer_projection"), hidden, self.width, false);
        tensors.norm(&name("post_per_layer_input_norm"), hidden, false);
    }

    fn closed(&self, h: Size) -> Sums {
        Sums::of([(Part::Other, h * self.width * 2), (Part::Norms, h)])
    }
}

/// Several residual streams: one passes through the layer, and the others are predicted and corrected.
#[derive(Debug, Clone, Copy)]
struct Streams {
    count: Size,
}

impl Block for Streams {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.altup.{name}");
        let (part, n) = (Part::Other, self.count);
        tensors.tensor(part, &name("correct_output_scale"), &[hidden]);
        tensors.linear(part, &name("correction_coefs"), n, n, false);
        tensors.linear(part, &name("prediction_coefs"), n * n, n, false);
        tensors.linear(part, &name("modality_router"), n, hidden, false);
        tensors.norm(&name("router_norm"), hidden, false);
    }

    fn closed(&self, h: Size) -> Sums {
        let n = self.count;
        Sums::of([(Part::Other, h + n * n * (n + 1) + n * h), (Part::Norms, h)])
    }
}

/// How the first stream leads into the others and these back.
#[derive(Debug, Clone, Copy)]
struct StreamProjections {
    count: Size,
}

impl Block for StreamProjections {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        for name in ["altup_projections", "altup_unembed_projections"] {
            let name = format!("model.{name}.{{copy}}");
            tensors.copied_linear(Part::Other, &name, self.count, (hidden, hidden), false);
        }
    }

    fn closed(&self, h: Size) -> Sums {
        Sums::of([(Part::Other, self.count * h * h * 2)])
    }
}

/// A residual of low rank next to attention.
#[derive(Debug, Clone, Copy)]
struct Laurel {
    rank: Size,
}

impl Block for Laurel {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let name = |name: &str| format!("model.layers.{{layer}}.laurel.{name}");
        tensors.linear(Part::Other, &name("linear_left"), self.rank, hidden, false);
        tensors.linear(Part::Other, &name("linear_right"), hidden, self.rank, false);
        tensors.norm(&name("post_laurel_norm"), hidden, false);
    }

    fn closed(&self, h: Size) -> Sums {
        Sums::of([(Part::Other, h * self.rank * 2), (Part::Norms, h)])
    }
}
