//! Counting a config in two independent ways, which must agree.

use repro_receipt::source::{Document, Error, Node};

use super::families::find;
use super::family::Blueprint;
use super::fields::{ConfigFields, table};
use super::{Breakdown, DISAGREE, ModelShape, OVERFLOW, ParameterCounts, Part, TensorList};

/// The parameter counts of a parsed config, JSON or TOML.
pub fn recompute(document: &Document) -> Result<ParameterCounts, Error> {
    blueprint(document).map(|(counts, _)| counts)
}

/// The named list of tensors of a parsed config.
pub fn tensors(document: &Document) -> Result<TensorList, Error> {
    blueprint(document).map(|(_, tensors)| tensors)
}

fn blueprint(document: &Document) -> Result<(ParameterCounts, TensorList), Error> {
    let root = table(document.root())?;
    let family = find(root)?;
    let fields = ConfigFields::new(nested(root));
    fields.off("is_encoder_decoder")?;
    let blueprint = (family.read)(&fields)?;
    if root.get("quantization_config").is_some() {
        fields.note("`quantization_config`: counted as the unquantized model");
    }
    let breakdown = agree(root, &blueprint)?;
    let (ignored, notes) = fields.finish(family.inert)?;
    let (shape, active_ffn_width) = shape(&blueprint).ok_or_else(|| overflow(root))?;
    let counts = ParameterCounts {
        family: family.id,
        breakdown,
        tied: blueprint.dims.tied,
        shape,
        active_ffn_width,
        ignored,
        notes,
    };
    Ok((counts, blueprint.tensors))
}

/// The table that holds the model's fields: some trainers keep them one level down.
fn nested(root: Node<'_>) -> Node<'_> {
    match root.get("model_config") {
        Some(table) if root.get("model_type").is_none() => table,
        _ => root,
    }
}

/// The breakdown, once the closed form and the list of tensors agree in every part.
fn agree(root: Node<'_>, blueprint: &Blueprint) -> Result<Breakdown, Error> {
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

fn overflow(root: Node<'_>) -> Error {
    OVERFLOW.at(root.place(), "at most 2^64 - 1 parameters", "a larger product of its fields")
}

/// The numbers of the shape and the active width of the feed-forward block.
fn shape(blueprint: &Blueprint) -> Option<(ModelShape, u64)> {
    let moe_layers = blueprint.dims.layers.sparse().value()?;
    let mut shape = ModelShape {
        hidden: blueprint.dims.h.value()?,
        layers: blueprint.dims.layers.all().value()?,
        vocabulary: blueprint.dims.v.value()?,
        ..ModelShape::default()
    };
    if moe_layers < shape.layers {
        shape.dense_width = blueprint.dims.i.value()?;
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
    use crate::fields::Dims;
    use crate::{Layers, Size, Sums};
    use repro_receipt::source::Source;

    #[test]
    fn two_ways_that_differ_are_an_error() {
        let source = Source::new("config.json", b"{}".to_vec()).unwrap();
        let document = Document::parse_json(source).unwrap();
        let layers = Layers::new(2, |_| false);
        let mut tensors = TensorList::new(&layers);
        tensors.linear(Part::DenseFfn, "l.{layer}.up", 3.into(), 5.into(), true);
        let mut blueprint = Blueprint {
            dims: Dims { v: 1.into(), h: 5.into(), i: 3.into(), layers, tied: false },
            mixture: None,
            tensors,
            closed: Sums::of([(Part::DenseFfn, Size::from(2 * 18))]),
        };
        assert!(agree(document.root(), &blueprint).is_ok());
        blueprint.closed = Sums::of([(Part::DenseFfn, Size::from(2 * 15))]);
        let error = agree(document.root(), &blueprint).unwrap_err();
        assert_eq!(error.code.id, "params::disagree");
        assert!(error.expected.contains("total: 30") && error.found.contains("total: 36"));
    }
}
