//! What a family is, the list of all of them, and how a config finds its own.

use crate::source::{Document, Node, Refusal};

use super::blocks::Experts;
use super::fields::{Fields, table};
use super::{
    Breakdown, DISAGREE, Layers, OVERFLOW, Objects, Part, Shape, Size, Sums, Tensors,
    UNKNOWN_FAMILY, UNSUPPORTED,
};
use super::{
    deepseek, gemma, gemma2, gpt_neox, gpt_oss, gpt2, gptj, granite_moe, llama, mistral, mixtral,
    nanochat, nmoe, olmo2, olmoe, phi3, qwen2, qwen2_moe, qwen3, qwen3_moe, repro_llama, stablelm,
    starcoder2,
};

/// One architecture: how it is recognised and what its config says.
pub struct Family {
    /// Its name in reports; the first of `model_types` where there are any.
    pub id: &'static str,
    /// Values of `model_type`.
    pub model_types: &'static [&'static str],
    /// Values of `architectures`, all with a language-model head.
    pub architectures: &'static [&'static str],
    /// Fields of this family alone that shape nothing.
    pub inert: &'static [&'static str],
    /// Recognises a config that names no model type.
    pub looks_like: fn(Node<'_>) -> bool,
    /// Reads the config.
    pub read: fn(&Fields<'_>) -> Result<Blueprint, Refusal>,
}

/// The routed and shared experts of a model.
#[derive(Debug, Clone, Copy)]
pub struct Mixture {
    /// E and K.
    pub experts: Experts,
    /// Inner width of one expert.
    pub width: Size,
    /// Shared experts (S).
    pub shared: Size,
    /// Inner width of all of them together.
    pub shared_width: Size,
}

/// What a family makes of a config: its shape and the parameters counted in both ways.
pub struct Blueprint {
    /// Rows of the embedding.
    pub vocabulary: Size,
    /// Width of the residual stream.
    pub hidden: Size,
    /// The layers.
    pub layers: Layers,
    /// Whether the head is the embedding.
    pub tied: bool,
    /// Inner width of a dense feed-forward block.
    pub dense_width: Size,
    /// Experts, if there are any.
    pub mixture: Option<Mixture>,
    /// The named list.
    pub tensors: Tensors,
    /// The closed form.
    pub closed: Sums,
}

/// Every family.
pub static FAMILIES: &[&Family] = &[
    &nmoe::FAMILY,
    &nanochat::FAMILY,
    &gpt2::FAMILY,
    &gpt_neox::FAMILY,
    &gptj::FAMILY,
    &llama::FAMILY,
    &mistral::FAMILY,
    &mixtral::FAMILY,
    &qwen2::FAMILY,
    &qwen3::FAMILY,
    &qwen2_moe::FAMILY,
    &qwen3_moe::FAMILY,
    &olmo2::FAMILY,
    &olmoe::FAMILY,
    &deepseek::V2,
    &deepseek::V3,
    &gpt_oss::FAMILY,
    &gemma::FAMILY,
    &gemma2::FAMILY,
    &phi3::FAMILY,
    &stablelm::FAMILY,
    &starcoder2::FAMILY,
    &granite_moe::FAMILY,
    &repro_llama::DENSE,
    &repro_llama::MIXTURE,
];

/// No config of this family comes without a model type.
pub fn never(_: Node<'_>) -> bool {
    false
}

/// The parameter objects of a parsed config, JSON or TOML.
pub fn recompute(document: &Document) -> Result<Objects, Refusal> {
    blueprint(document).map(|(objects, _)| objects)
}

/// The named list of tensors of a parsed config.
pub fn tensors(document: &Document) -> Result<Tensors, Refusal> {
    blueprint(document).map(|(_, tensors)| tensors)
}

fn blueprint(document: &Document) -> Result<(Objects, Tensors), Refusal> {
    let root = table(document.root())?;
    let family = find(root)?;
    let fields = Fields::new(nested(root));
    fields.off("is_encoder_decoder")?;
    let blueprint = (family.read)(&fields)?;
    if root.get("quantization_config").is_some() {
        fields.note("`quantization_config`: counted as the unquantised model");
    }
    let breakdown = agree(root, &blueprint)?;
    let (ignored, notes) = fields.finish(family.inert)?;
    let (shape, active_ffn_width) = shape(&blueprint).ok_or_else(|| overflow(root))?;
    let objects = Objects {
        family: family.id,
        breakdown,
        tied: blueprint.tied,
        shape,
        active_ffn_width,
        ignored,
        notes,
    };
    Ok((objects, blueprint.tensors))
}

/// The family of a config by its model type, its architecture or its looks.
fn find(root: Node<'_>) -> Result<&'static Family, Refusal> {
    let architecture = match root.get("architectures") {
        Some(list) => list.items()?.next().map(Node::text).transpose()?,
        None => None,
    };
    let known = |family: &&&Family| architecture.is_none_or(|a| family.architectures.contains(&a));
    let unknown = |found: String| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.id).collect();
        let place = ["model_type", "architectures"]
            .iter()
            .find_map(|key| root.get(key))
            .map_or_else(|| root.place(), Node::place);
        UNKNOWN_FAMILY.at(place, format!("one of {}", names.join(", ")), found)
    };
    let Some(model_type) = root.get("model_type") else {
        let named = |family: &&&Family| architecture.is_some() && known(family);
        let alike = |family: &&&Family| architecture.is_none() && (family.looks_like)(root);
        let found = FAMILIES.iter().find(|family| named(family) || alike(family));
        return found.copied().ok_or_else(|| match architecture {
            Some(architecture) => unknown(format!("the architecture `{architecture}`")),
            None => unknown("a config that names no `model_type` and looks like none".to_owned()),
        });
    };
    let model_type = model_type.text()?;
    let family = FAMILIES
        .iter()
        .find(|family| family.model_types.contains(&model_type))
        .ok_or_else(|| unknown(format!("`model_type` = \"{model_type}\"")))?;
    if !known(&family) {
        return Err(UNSUPPORTED.at(
            root.required("architectures")?.place(),
            format!("`{}`", family.architectures.join("` or `")),
            format!("`{}`", architecture.unwrap_or_default()),
        ));
    }
    Ok(family)
}

/// The table that holds the model's fields: some trainers keep them one level down.
fn nested(root: Node<'_>) -> Node<'_> {
    match root.get("model_config") {
        Some(table) if root.get("model_type").is_none() => table,
        _ => root,
    }
}

/// The breakdown, once the closed form and the list of tensors agree in every part.
fn agree(root: Node<'_>, blueprint: &Blueprint) -> Result<Breakdown, Refusal> {
    let closed = blueprint.closed.finish().ok_or_else(|| overflow(root))?;
    let listed = blueprint.tensors.sums().finish().ok_or_else(|| overflow(root))?;
    for part in Part::ALL {
        let (formula, sum) = (closed.part(part), listed.part(part));
        if formula != sum {
            return Err(DISAGREE.at(
                root.place(),
                format!("{}: the closed form gives {formula:?}", part.name()),
                format!("the sum over tensors gives {sum:?}"),
            ));
        }
    }
    Ok(closed)
}

fn overflow(root: Node<'_>) -> Refusal {
    OVERFLOW.at(root.place(), "at most 2^64 - 1 parameters", "a larger product of its fields")
}

/// The numbers of the shape and the active width of the feed-forward block.
fn shape(blueprint: &Blueprint) -> Option<(Shape, u64)> {
    let moe_layers = blueprint.layers.sparse().value()?;
    let mut shape = Shape {
        hidden: blueprint.hidden.value()?,
        layers: blueprint.layers.all().value()?,
        vocabulary: blueprint.vocabulary.value()?,
        ..Shape::default()
    };
    if moe_layers < shape.layers {
        shape.dense_width = blueprint.dense_width.value()?;
    }
    match blueprint.mixture {
        Some(mixture) if moe_layers > 0 => {
            shape.moe_layers = moe_layers;
            shape.experts = mixture.experts.count.value()?;
            shape.experts_per_token = mixture.experts.per_token.value()?;
            shape.shared_experts = mixture.shared.value()?;
            shape.expert_width = mixture.width.value()?;
            shape.shared_width = mixture.shared_width.value()?;
            let active = mixture.experts.per_token * mixture.width + mixture.shared_width;
            Some((shape, active.value()?))
        }
        _ => Some((shape, shape.dense_width)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn two_ways_that_differ_are_an_error() {
        let source = Source::new("config.json", b"{}".to_vec()).unwrap();
        let document = Document::parse_json(source).unwrap();
        let layers = Layers::new(2, |_| false);
        let mut tensors = Tensors::new(&layers);
        tensors.linear(Part::DenseFfn, "l.{layer}.up", 3.into(), 5.into(), true);
        let mut blueprint = Blueprint {
            vocabulary: 1.into(),
            hidden: 5.into(),
            layers,
            tied: false,
            dense_width: 3.into(),
            mixture: None,
            tensors,
            closed: Sums::of([(Part::DenseFfn, Size::from(2 * 18))]),
        };
        assert!(agree(document.root(), &blueprint).is_ok());
        blueprint.closed = Sums::of([(Part::DenseFfn, Size::from(2 * 15))]);
        let refusal = agree(document.root(), &blueprint).unwrap_err();
        assert_eq!(refusal.code.id, "params::disagree");
        assert!(refusal.expected.contains("total: 30") && refusal.found.contains("total: 36"));
    }

    #[test]
    fn no_two_families_share_a_name() {
        let mut names: Vec<_> = FAMILIES.iter().flat_map(|f| f.model_types).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(FAMILIES.iter().all(|family| family.model_types[0] == family.id));
    }
}
