//! Whisper: an encoder of spectra with two convolutions and fixed positions, which are stored, and a decoder with learned positions that
//! attends to it; keys have no biases.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Layers, Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "whisper",
    model_types: &["whisper"],
    architectures: &["WhisperForConditionalGeneration"],
    inert: &[
        "activation_dropout",
        "activation_function",
        "alignment_heads",
        "apply_spec_augment",
        "begin_suppress_tokens",
        "classifier_proj_size",
        "decoder_layerdrop",
        "decoder_start_token_id",
        "dropout",
        "encoder_layerdrop",
        "forced_decoder_ids",
        "init_std",
        "lang_ids",
        "mask_feature_length",
        "mask_feature_min_masks",
        "mask_feature_prob",
        "mask_time_length",
        "mask_time_min_masks",
        "mask_time_prob",
        "max_length",
        "median_filter_width",
        "num_hidden_layers",
        "scale_embedding",
        "suppress_ids",
        "suppress_tokens",
        "use_weighted_layer_sum",
    ],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.flag("is_encoder_decoder", true)?;
    let v = fields.size("vocab_size", 51_865)?;
    let h = fields.size("d_model", 384)?;
    let mel = fields.size("num_mel_bins", 80)?;
    let layers = fields.layers("encoder_layers", 4, |_| false)?;
    let decoder = fields.depth("decoder_layers", 4)?;
    for name in ["encoder_attention_heads", "decoder_attention_heads"] {
        fields.head_size(name, h, fields.size(name, 6)?)?;
    }
    let i = fields.size("encoder_ffn_dim", 1536)?;
    let wide = fields.size("decoder_ffn_dim", 1536)?;
    let [heard, said] =
        [fields.size("max_source_positions", 1500)?, fields.size("max_target_positions", 448)?];
    let tied = fields.flag("tie_word_embeddings", true)?;

    let mut tensors = TensorList::new(&Layers::new(0, |_| false));
    for (name, input) in [("conv1", mel), ("conv2", h)] {
        let name = format!("model.encoder.{name}");
        tensors.tensor(Part::Other, &format!("{name}.weight"), &[h, input, 3.into()]);
        tensors.tensor(Part::Other, &format!("{name}.bias"), &[h]);
    }
    tensors.tensor(Part::Positions, "model.encoder.embed_positions.weight", &[heard, h]);
    tensors.tensor(Part::Embedding, "model.decoder.embed_tokens.weight", &[v, h]);
    tensors.tensor(Part::Positions, "model.decoder.embed_positions.weight", &[said, h]);
    stack(&mut tensors, "encoder", layers.all(), (h, i), &["self_attn"]);
    stack(&mut tensors, "decoder", decoder, (h, wide), &["self_attn", "encoder_attn"]);
    if !tied {
        tensors.tensor(Part::Head, "proj_out.weight", &[v, h]);
    }
    let (l, d) = (layers.all(), decoder);
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Positions, (heard + said) * h),
        (Part::Attention, (l + d * 2) * (h * h * 4 + h * 3)),
        (Part::DenseFfn, l * (h * i * 2 + i + h) + d * (h * wide * 2 + wide + h)),
        (Part::Norms, (l * 2 + d * 3 + 2) * h * 2),
        (Part::Head, v * h * !tied),
        (Part::Other, h * (mel + h) * 3 + h * 2),
    ]);
    let dims = Dims { v, h, i, layers, tied };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}

/// The layers of one stack, with the norm after them.
fn stack(
    tensors: &mut TensorList,
    name: &str,
    layers: Size,
    (h, i): (Size, Size),
    attentions: &[&str],
) {
    let below = format!("model.{name}.layers.{{copy}}");
    let norm = |tensors: &mut TensorList, name: &str| {
        for kind in ["weight", "bias"] {
            tensors.copied(Part::Norms, &format!("{below}.{name}.{kind}"), layers, &[h]);
        }
    };
    for attention in attentions {
        for (one, bias) in
            [("q_proj", true), ("k_proj", false), ("v_proj", true), ("out_proj", true)]
        {
            let name = format!("{below}.{attention}.{one}");
            tensors.copied_linear(Part::Attention, &name, layers, (h, h), bias);
        }
        norm(tensors, &format!("{attention}_layer_norm"));
    }
    tensors.copied_linear(Part::DenseFfn, &format!("{below}.fc1"), layers, (i, h), true);
    tensors.copied_linear(Part::DenseFfn, &format!("{below}.fc2"), layers, (h, i), true);
    norm(tensors, "final_layer_norm");
    tensors.norm(&format!("model.{name}.layer_norm"), h, true);
}
