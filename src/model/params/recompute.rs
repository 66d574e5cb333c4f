//! Counting a config in two independent ways, which must agree.

use repro_core::source::{Document, Error, Node};

use super::families::{find, find_text};
use super::family::{Blueprint, Family};
use super::fields::{ConfigFields, table};
use super::{
    Breakdown, CountScope, DISAGREE, ModelShape, MtpCounts, OVERFLOW, PART_ONLY, ParameterCounts,
    Part, Size, Sums, TensorList, towers,
};

/// The parameter counts of a parsed config, JSON or TOML, in the widest scope that can be counted: the whole model, or else
/// its language model. The result states the scope.
pub fn recompute(document: &Document) -> Result<ParameterCounts, Error> {
    blueprint(document.root(), None).map(|(counts, _)| counts)
}

/// The parameter counts of a parsed config in the scope that is asked for. A model without image or audio encoders is its language model.
pub fn recompute_in(document: &Document, scope: CountScope) -> Result<ParameterCounts, Error> {
    blueprint(document.root(), Some(scope)).map(|(counts, _)| counts)
}

/// The named list of tensors of a parsed config, without multi-token prediction layers.
pub fn tensors(document: &Document) -> Result<TensorList, Error> {
    blueprint(document.root(), None).map(|(_, tensors)| tensors)
}

fn blueprint(
    root: Node<'_>,
    wanted: Option<CountScope>,
) -> Result<(ParameterCounts, TensorList), Error> {
    let root = table(root)?;
    let text = text_part(root);
    let (mut counts, mut list) = match text {
        Some(text) => count(find_text(root, text)?, text, Some(root))?,
        None => count(find(root)?, nested(root), None)?,
    };
    // Models released in both forms have the text fields at the root, next to the encoder's.
    if text.is_none() && !towers::are_beside(root) {
        return Ok((counts, list));
    }
    counts.scope = CountScope::LanguageModel;
    if wanted == Some(CountScope::LanguageModel) {
        return Ok((counts, list));
    }
    match with_towers(root, &counts) {
        Ok((breakdown, tensors, ignored)) => {
            list.add_beside(tensors);
            counts.ignored.extend(ignored);
            Ok((ParameterCounts { scope: CountScope::Whole, breakdown, ..counts }, list))
        }
        Err(why) if wanted == Some(CountScope::Whole) => {
            let found = format!("{}, {}", why.code.meaning, why.found);
            Err(PART_ONLY.at(why.place.clone(), "encoders and projectors of a known kind", found))
        }
        Err(why) => {
            counts.notes.push(format!(
                "only the language model is counted, without image and audio towers and their projectors: {} ({})",
                why.code.meaning, why.found
            ));
            Ok((counts, list))
        }
    }
}

/// The breakdown of a language model with the towers around it, their tensors, and the fields that were ignored.
fn with_towers(
    root: Node<'_>,
    language: &ParameterCounts,
) -> Result<(Breakdown, TensorList, Vec<String>), Error> {
    let towers = towers::read(root, language)?;
    let own = agree(root, &towers.closed, &towers.tensors)?;
    let whole = language.breakdown.with(&own).ok_or_else(|| overflow(root))?;
    let ahead = language
        .mtp
        .iter()
        .flat_map(|mtp| mtp.breakdown.parts().map(|(_, count)| count.total).chain([mtp.copies]));
    let parts = whole.parts().map(|(_, count)| count.total).chain(ahead);
    parts.map(Size::from).sum::<Size>().value().ok_or_else(|| overflow(root))?;
    Ok((whole, towers.tensors, towers.ignored))
}

fn count<'a>(
    family: &'static Family,
    config: Node<'a>,
    outer: Option<Node<'a>>,
) -> Result<(ParameterCounts, TensorList), Error> {
    let root = table(config)?;
    let fields = ConfigFields::new(root).inside(outer);
    let blueprint = (family.read)(&fields)?;
    // A family of encoders and decoders reads this itself.
    if !fields.was_read("is_encoder_decoder") {
        fields.off("is_encoder_decoder")?;
    }
    remark(&fields, outer.unwrap_or(root));
    let breakdown = agree(root, &blueprint.closed, &blueprint.tensors)?;
    let mtp = mtp(root, &blueprint, &breakdown)?;
    let (ignored, notes) = fields.finish(family.inert)?;
    let (shape, active_ffn_width) = shape(&blueprint).ok_or_else(|| overflow(root))?;
    let counts = ParameterCounts {
        family: family.id,
        scope: CountScope::Whole,
        breakdown,
        mtp,
        tied: blueprint.dims.tied,
        shape,
        active_ffn_width,
        ignored,
        notes,
    };
    Ok((counts, blueprint.tensors))
}

/// Adds notes on omissions that are the same for all families.
fn remark(fields: &ConfigFields<'_>, root: Node<'_>) {
    if root.get("quantization_config").is_some() {
        fields.note("`quantization_config`: counted as the unquantized model");
    }
}

/// Layers for multi-token prediction, once both ways agree; the whole with them must have a number, too.
fn mtp(
    root: Node<'_>,
    blueprint: &Blueprint,
    main: &Breakdown,
) -> Result<Option<MtpCounts>, Error> {
    let Some(mtp) = &blueprint.mtp else { return Ok(None) };
    let breakdown = agree(root, &mtp.closed, &mtp.tensors)?;
    let parts = main.parts().chain(breakdown.parts());
    let whole = parts.map(|(_, count)| Size::from(count.total)).sum::<Size>() + mtp.copies;
    match (mtp.copies.value(), whole.value()) {
        (Some(copies), Some(_)) => Ok(Some(MtpCounts { breakdown, copies })),
        _ => Err(overflow(root)),
    }
}

/// The dict with the model's fields: some trainers nest it one level down.
fn nested(root: Node<'_>) -> Node<'_> {
    match root.get("model_config") {
        Some(table) if root.get("model_type").is_none() => table,
        _ => root,
    }
}

/// The table of the language model, in the config of a model for images or sound and text.
fn text_part(root: Node<'_>) -> Option<Node<'_>> {
    ["text_config", "llm_config", "language_config"].into_iter().find_map(|key| root.get(key))
}

/// The breakdown, once the closed form and the list of tensors agree in every part.
fn agree(root: Node<'_>, closed: &Sums, tensors: &TensorList) -> Result<Breakdown, Error> {
    let closed = closed.finish().ok_or_else(|| overflow(root))?;
    let listed = tensors.sums().finish().ok_or_else(|| overflow(root))?;
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
    use crate::params::Layers;
    use repro_core::source::Source;

    #[test]
    fn two_ways_that_differ_are_an_error() {
        let source = Source::new("config.json", b"{}".to_vec()).unwrap();
        let document = Document::parse_json(source).unwrap();
        let layers = Layers::new(2, |_| false);
        let mut tensors = TensorList::new(&layers);
        tensors.linear(Part::DenseFfn, "l.{layer}.up", 3.into(), 5.into(), true);
        let closed = |count: u64| Sums::of([(Part::DenseFfn, Size::from(count))]);
        assert!(agree(document.root(), &closed(2 * 18), &tensors).is_ok());
        let error = agree(document.root(), &closed(2 * 15), &tensors).unwrap_err();
        assert_eq!(error.code.id, "params::count-mismatch");
        assert!(error.expected.contains("total: 30") && error.found.contains("total: 36"));
    }
}
