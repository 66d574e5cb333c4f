//! Image encoders that several classes share.

use repro_core::source::Error;

use super::Towers;
use crate::params::fields::ConfigFields;
use crate::params::{Part, Size};

/// The layers of an encoder of images.
pub(super) struct Encoder {
    pub(super) below: &'static str,
    pub(super) layers: Size,
    pub(super) width: Size,
    pub(super) inner: Size,
    /// Whether queries, keys and values are one matrix.
    pub(super) is_fused: bool,
    /// Biases of queries, keys and values.
    pub(super) input_bias: bool,
    pub(super) output_bias: bool,
    pub(super) is_gated: bool,
    pub(super) feed_bias: bool,
    pub(super) norms: &'static [&'static str],
    pub(super) norm_bias: bool,
}

impl Encoder {
    /// Layers with norms before both halves, two matrices in the second, and biases everywhere.
    pub(super) fn plain(below: &'static str, layers: Size, width: Size, inner: Size) -> Self {
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
    pub(super) fn gated(below: &'static str, layers: Size, width: Size, inner: Size) -> Self {
        Self {
            input_bias: false,
            output_bias: false,
            is_gated: true,
            feed_bias: false,
            norm_bias: false,
            ..Self::plain(below, layers, width, inner)
        }
    }

    pub(super) fn add(&self, towers: &mut Towers) {
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

/// Patches along one side of an image.
pub(super) fn side(fields: &ConfigFields<'_>, image: u64, patch: u64) -> Result<Size, Error> {
    let image = fields.square("image_size", image)?.value().unwrap_or(0);
    let patch = fields.square("patch_size", patch)?.value().unwrap_or(1).max(1);
    Ok(Size::from(image / patch))
}

/// CLIP's encoder; its width.
pub(super) fn clip(fields: &ConfigFields<'_>, towers: &mut Towers) -> Result<Size, Error> {
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
pub(super) struct Defaults {
    pub(super) width: u64,
    pub(super) patch: u64,
}

/// SigLIP's encoder with the head that pools its outputs, unless that is off; its width.
pub(super) fn siglip(
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
pub(super) fn encoder_of_patches(
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
pub(super) fn pixtral(fields: &ConfigFields<'_>, towers: &mut Towers) -> Result<Size, Error> {
    let h = fields.size("hidden_size", 1024)?;
    let layers = fields.depth("num_hidden_layers", 24)?;
    let inner = fields.size("intermediate_size", 4096)?;
    let heads = fields.size("num_attention_heads", 16)?;
    let size = fields.head_size("num_attention_heads", h, heads)?;
    if fields.size_or("head_dim", size, size)? != size {
        return Err(fields.unsupported("head_dim", "the width divided by the number of heads"));
    }
    let patch = square(fields.size("patch_size", 16)?) * fields.size("num_channels", 3)?;
    // Positions are rotary, so the image size does not affect shapes.
    fields.count("image_size", 1024)?;
    towers.linear(Part::Vision, "vision_tower.patch_conv", [h, patch], false);
    towers.norm(Part::Vision, "vision_tower.ln_pre", h, false);
    Encoder::gated("vision_tower.transformer.layers", layers, h, inner).add(towers);
    towers.plus(Part::Vision, h * (patch + 1));
    Ok(h)
}

/// Channels, frames, and both sides of a patch.
pub(super) fn patches(fields: &ConfigFields<'_>, side: u64) -> Result<[Size; 4], Error> {
    let side = fields.size("patch_size", side)?;
    let channels = fields.size("in_channels", 3)?;
    let frames = fields.size("temporal_patch_size", 2)?;
    // The name that a release uses for its channels, and that the reference does not read.
    if fields.size_or("in_chans", channels, channels)? != channels {
        return Err(fields.unsupported("in_chans", "the same as `in_channels`"));
    }
    Ok([channels, frames, side, side])
}

pub(super) fn volume(patch: &[Size; 4]) -> Size {
    patch.iter().fold(Size::from(1), |product, &side| product * side)
}

pub(super) fn square(side: Size) -> Size {
    side * side
}
