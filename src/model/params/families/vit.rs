//! ViT: patches and a class token with learned positions, layers with biases everywhere, and the head of the architecture.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "vit",
    model_types: &["vit"],
    architectures: &["ViTForImageClassification", "ViTModel"],
    inert: &["encoder_stride", "hidden_dropout_prob", "attention_probs_dropout_prob", "num_labels"],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let h = fields.size("hidden_size", 768)?;
    let i = fields.size("intermediate_size", 3072)?;
    let layers = fields.layers("num_hidden_layers", 12, |_| false)?;
    fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 12)?)?;
    let side = fields.square("patch_size", 16)?;
    let image = fields.square("image_size", 224)?;
    let patches = match (image.value(), side.value()) {
        (Some(image), Some(side)) if side > 0 => Size::from(image / side),
        _ => image,
    };
    let places = patches * patches + 1;
    let pixels = side * side * fields.size("num_channels", 3)?;
    let bias = fields.flag("qkv_bias", true)?;
    let pooled = fields.size_or("pooler_output_size", h, h)?;
    let head = match fields.architecture() {
        Some("ViTForImageClassification") => Head { name: "classifier", width: fields.labels()? },
        Some("ViTModel") => Head { name: "pooler.dense", width: pooled },
        _ => return Err(fields.unsupported("architectures", "a known head on the encoder")),
    };

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "vit.embeddings.cls_token", &[h]);
    tensors.tensor(Part::Positions, "vit.embeddings.position_embeddings", &[places, h]);
    let name = "vit.embeddings.patch_embeddings.projection";
    tensors.linear(Part::Embedding, name, h, pixels, true);
    let layer = "vit.layers.{layer}";
    for one in ["q_proj", "k_proj", "v_proj"] {
        tensors.linear(Part::Attention, &format!("{layer}.attention.{one}"), h, h, bias);
    }
    tensors.linear(Part::Attention, &format!("{layer}.attention.o_proj"), h, h, true);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.fc1"), i, h, true);
    tensors.linear(Part::DenseFfn, &format!("{layer}.mlp.fc2"), h, i, true);
    tensors.norm(&format!("{layer}.layernorm_before"), h, true);
    tensors.norm(&format!("{layer}.layernorm_after"), h, true);
    tensors.norm("vit.layernorm", h, true);
    tensors.linear(Part::Head, head.name, head.width, h, true);
    let l = layers.all();
    let closed = Sums::of([
        (Part::Embedding, h * (pixels + 2)),
        (Part::Positions, h * places),
        (Part::Attention, l * (h * h * 4 + h + h * 3 * bias)),
        (Part::DenseFfn, l * (h * i * 2 + i + h)),
        (Part::Norms, (l * 2 + 1) * h * 2),
        (Part::Head, head.width * (h + 1)),
    ]);
    let dims = Dims { v: Size::ZERO, h, i, layers, tied: false };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}

/// The head on the encoder.
struct Head {
    name: &'static str,
    width: Size,
}
