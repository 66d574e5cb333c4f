//! ModernBERT: rotary positions, gate and up in one matrix, no norm before the first attention, and the head of the architecture.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, Dims};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "modernbert",
    model_types: &["modernbert"],
    architectures: &[
        "ModernBertForMaskedLM",
        "ModernBertForSequenceClassification",
        "ModernBertModel",
    ],
    inert: &[
        "classifier_activation",
        "classifier_pooling",
        "cls_token_id",
        "deterministic_flash_attn",
        "global_attn_every_n_layers",
        "hidden_activation",
        "local_attention",
        "mask_token_id",
        "norm_eps",
        "num_labels",
        "position_embedding_type",
        "reference_compile",
        "repad_logits_with_grad",
        "sep_token_id",
        "sparse_pred_ignore_index",
        "sparse_prediction",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 50_368, hidden: 768, width: 1152, layers: 22, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let Dims { v, h, i, ref layers, tied } = dims;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 12)?)?;
    let bias = fields.flag("attention_bias", false)?;
    let mlp_bias = fields.flag("mlp_bias", false)?;
    let norm_bias = fields.flag("norm_bias", false)?;
    let classifier_bias = fields.flag("classifier_bias", false)?;
    let decoder_bias = fields.flag("decoder_bias", true)?;
    // The outputs of the head's dense layer; none without a head.
    let labels = match fields.architecture() {
        None | Some("ModernBertForMaskedLM") => None,
        Some("ModernBertForSequenceClassification") => Some(fields.labels()?),
        _ => Some(Size::ZERO),
    };
    let has_head = labels != Some(Size::ZERO);
    let decodes = labels.is_none();
    let classes = labels.unwrap_or(Size::ZERO);

    let mut tensors = TensorList::new(layers);
    tensors.tensor(Part::Embedding, "model.embeddings.tok_embeddings.weight", &[v, h]);
    tensors.norm("model.embeddings.norm", h, norm_bias);
    let layer = "model.layers.{layer}";
    tensors.linear(Part::Attention, &format!("{layer}.attn.Wqkv"), h * 3, h, bias);
    tensors.linear(Part::Attention, &format!("{layer}.attn.Wo"), h, h, bias);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.Wi"), i * 2, h, mlp_bias);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.Wo"), h, i, mlp_bias);
    tensors.norm(&format!("{layer}.mlp_norm"), h, norm_bias);
    let normed = layers.set(|layer| layer > 0);
    tensors.within(&normed, |tensors| tensors.norm(&format!("{layer}.attn_norm"), h, norm_bias));
    tensors.norm("model.final_norm", h, norm_bias);
    if has_head {
        tensors.linear(Part::Head, "head.dense", h, h, classifier_bias);
        tensors.norm("head.norm", h, norm_bias);
    }
    if decodes && !tied {
        tensors.tensor(Part::Head, "decoder.weight", &[v, h]);
    }
    if decodes && decoder_bias {
        tensors.tensor(Part::Head, "decoder.bias", &[v]);
    }
    if classes != Size::ZERO {
        tensors.linear(Part::Head, "classifier", classes, h, true);
    }
    let l = layers.all();
    let norms = (l * 2 + 1 + has_head) * h * (Size::from(1) + norm_bias);
    let head = (h * h + h * classifier_bias) * has_head
        + v * h * (decodes && !tied)
        + v * (decodes && decoder_bias)
        + classes * (h + 1);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Attention, l * (h * h * 4 + h * 4 * bias)),
        (Part::DenseFfn, l * (h * i * 3 + (i * 2 + h) * mlp_bias)),
        (Part::Norms, norms),
        (Part::Head, head),
    ]);
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}
