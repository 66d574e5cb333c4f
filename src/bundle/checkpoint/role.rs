//! Which stored tensors are parameters, and which are buffers, scales, packed blocks or the state of
//! an optimizer.

use std::collections::BTreeMap;

use super::{Header, Stored};

/// The role of a stored tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Learned: it counts.
    Parameter,
    /// Computed or set by the program: masks, rotary tables, routing biases.
    Buffer,
    /// Belongs to a quantised tensor.
    Scale,
    /// Several quantised parameters in one element: how many cannot be seen.
    Packed,
    /// State of an optimizer.
    Optimizer,
}

/// Endings of names that no gradient reaches.
const BUFFERS: &[&str] = &[
    ".e_score_correction_bias",
    ".ffn.router.bias",
    ".masked_bias",
    ".num_batches_tracked",
    ".position_ids",
    ".rotary_emb.cos_cached",
    ".rotary_emb.inv_freq",
    ".rotary_emb.sin_cached",
    ".running_mean",
    ".running_var",
];
/// Causal masks, which end like biases and are told apart by their four dimensions.
const MASKS: &[&str] = &[".attn.bias", ".attention.bias"];
/// Endings of what goes with quantised weights.
const SCALES: &[&str] = &[
    ".absmax",
    ".g_idx",
    ".input_scale",
    ".quant_map",
    ".qzeros",
    ".scales",
    ".SCB",
    ".weight_scale",
    ".weight_scale_2",
    ".weight_scale_inv",
    ".weight_shape",
    ".weight_zero_point",
    "_scales",
];
/// Endings of blocks that hold several weights an element.
const BLOCKS: &[&str] = &["_blocks", ".qweight", ".weight_packed"];

impl Role {
    /// The role of a tensor by its name, type and shape.
    pub fn of(tensor: &Stored) -> Role {
        let name = format!(".{}", tensor.name);
        let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
        if name.starts_with(".optimizer.") {
            Role::Optimizer
        } else if ends(BUFFERS) || (ends(MASKS) && tensor.shape.len() == 4) {
            Role::Buffer
        } else if ends(SCALES)
            || name.contains(".quant_state.")
            || name.contains(".nested_")
            || tensor.dtype.name == "F8_E8M0"
        {
            Role::Scale
        } else if ends(BLOCKS) {
            Role::Packed
        } else if tensor.dtype.is_float() || tensor.dtype.name == "C64" {
            Role::Parameter
        } else if tensor.dtype.name == "I8" && tensor.shape.len() >= 2 {
            // One quantised weight an element.
            Role::Parameter
        } else if name.ends_with(".weight") {
            Role::Packed
        } else {
            Role::Buffer
        }
    }

    fn says(self) -> &'static str {
        match self {
            Role::Parameter => "counted",
            Role::Buffer => "not parameters (buffers)",
            Role::Scale => "not parameters (scales of quantized tensors)",
            Role::Packed => "packed, so their parameters are hidden and not counted",
            Role::Optimizer => "not parameters (optimizer state)",
        }
    }
}

/// The tensors of one role.
#[derive(Debug, Clone, Default)]
struct Group {
    tensors: u64,
    elements: u64,
    example: String,
}

/// The tensors seen in one or more headers.
#[derive(Debug, Clone, Default)]
pub struct HeaderSummary {
    groups: BTreeMap<Role, Group>,
    head: u64,
}

/// Names of the matrix of an output head.
const HEADS: &[&str] = &["lm_head.weight", "embed_out.weight", "output.weight"];

impl HeaderSummary {
    /// Takes note of one tensor.
    pub fn add(&mut self, tensor: &Stored) {
        self.add_as(Role::of(tensor), &tensor.name, tensor.elements);
    }

    /// Takes note of all tensors of a header.
    pub fn add_all(&mut self, header: &Header) {
        header.tensors.iter().for_each(|tensor| self.add(tensor));
    }

    /// Takes note of a tensor with this role; elements beyond `u64` saturate, which no real file reaches.
    pub fn add_as(&mut self, role: Role, name: &str, elements: u64) {
        let group = self.groups.entry(role).or_default();
        if group.tensors == 0 {
            name.clone_into(&mut group.example);
        }
        if role == Role::Parameter && HEADS.contains(&name) {
            self.head = elements;
        }
        group.tensors += 1;
        group.elements = group.elements.saturating_add(elements);
    }

    /// The elements of all parameters.
    pub fn parameters(&self) -> u64 {
        self.groups.get(&Role::Parameter).map_or(0, |group| group.elements)
    }

    /// The elements of a stored output head, which a tied model may store beside its embedding.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Whether some parameters cannot be seen.
    pub fn is_packed(&self) -> bool {
        self.groups.contains_key(&Role::Packed)
    }

    /// One sentence for each role that does not count.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.groups.iter().filter(|(role, _)| **role != Role::Parameter).map(|(role, group)| {
            let Group { tensors, elements, example } = group;
            format!(
                "{tensors} tensors with {elements} elements, such as `{example}`, are {}",
                role.says()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Header;
    use super::*;

    fn role(name: &str, dtype: &str, shape: &[u64]) -> Role {
        let bits = match dtype {
            "BF16" => 16,
            "F32" | "I32" => 32,
            _ => 8,
        };
        let bytes = shape.iter().product::<u64>() * bits / 8;
        let text = format!(
            r#"{{"{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{bytes}]}}}}"#
        );
        let header = Header::parse("t", 8 + text.len() as u64 + bytes, text.into()).unwrap();
        Role::of(&header.tensors[0])
    }

    #[test]
    fn only_what_is_learned_counts() {
        for (name, dtype, shape, expected) in [
            ("model.layers.0.self_attn.q_proj.weight", "BF16", &[4, 4][..], Role::Parameter),
            ("model.layers.0.self_attn.q_proj.weight", "F8_E4M3", &[4, 4], Role::Parameter),
            ("model.layers.0.self_attn.q_proj.weight", "I8", &[4, 4], Role::Parameter),
            ("model.layers.0.self_attn.q_proj.weight", "U8", &[8, 1], Role::Packed),
            ("model.layers.0.self_attn.q_proj.weight_scale_inv", "F32", &[1, 1], Role::Scale),
            ("model.layers.0.self_attn.q_proj.qweight", "I32", &[1, 4], Role::Packed),
            ("model.layers.0.self_attn.q_proj.qzeros", "I32", &[1, 4], Role::Scale),
            ("model.layers.0.mlp.experts.down_proj_blocks", "U8", &[2, 4, 2, 16], Role::Packed),
            ("model.layers.0.mlp.experts.down_proj_scales", "U8", &[2, 4, 2], Role::Scale),
            ("model.layers.0.mlp.experts.down_proj_bias", "BF16", &[2, 4], Role::Parameter),
            ("model.layers.0.mlp.gate.e_score_correction_bias", "F32", &[4], Role::Buffer),
            ("h.0.attn.bias", "F32", &[1, 1, 8, 8], Role::Buffer),
            ("transformer.h.0.attn.masked_bias", "F32", &[], Role::Buffer),
            ("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", &[8], Role::Buffer),
            ("optimizer.m.model.norm.weight", "F32", &[8], Role::Optimizer),
            ("blocks.0.ffn.router.bias", "F32", &[8], Role::Buffer),
            ("gpt_neox.layers.0.attention.dense.bias", "F32", &[8], Role::Parameter),
        ] {
            assert_eq!(role(name, dtype, shape), expected, "{name} {dtype}");
        }
    }
}
