//! The arms of a study: one model each, stated in full or solved from a match.

use serde_json::{Map, Value as Json, json};

use super::fields::{identifier, known, table, word};
use super::matching::{Match, Mode, solve};
use super::model::{document, objects};
use super::{BAD_VALUE, NO_MATCH};
use crate::contract;
use crate::params::{self as params, ParameterCount, ParameterCounts};
use repro_core::source::{Error, Location, Node};

/// The fields of every model, in the order of a config.
const DECODER: &[&str] = &[
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "tie_word_embeddings",
    "norm_eps",
    "rope_theta",
];
/// The fields that a model with experts adds.
const MIXTURE: &[&str] = &[
    "num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "num_shared_experts",
    "num_dense_layers",
    "gate",
    "norm_topk_prob",
    "balancing",
    "aux_loss_alpha",
    "router_z_loss",
    "router_bias_update_rate",
];
/// The values of a mixture's fields that are not stated.
const NOTHING: &[&str] = &[
    "num_shared_experts",
    "num_dense_layers",
    "aux_loss_alpha",
    "router_z_loss",
    "router_bias_update_rate",
];

/// One arm: its model and how it is made comparable.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name.
    pub id: String,
    /// A description for readers.
    pub what: String,
    /// The fields of its config that describe the model.
    pub model: Map<String, Json>,
    /// The total and active parameters of the model.
    pub objects: ParameterCounts,
    /// The number of tensors in a checkpoint.
    pub tensors: u64,
    /// Its match, and the remaining mismatch.
    pub matched: Match,
    /// Its place in the study file.
    pub place: Location,
}

/// An arm as the file states it, before anything is solved.
struct Stated<'a> {
    id: &'a str,
    what: &'a str,
    model: Map<String, Json>,
    mode: Mode,
    target: Option<&'a str>,
    node: Node<'a>,
}

/// Reads all arms; those that are matched are solved against those that state their model.
pub fn read(root: Node<'_>) -> Result<Vec<Arm>, Error> {
    let list = root.required("arm")?;
    let ids =
        super::fields::distinct(list, |node| Ok(identifier(node.required("id")?)?.to_owned()))?;
    let mut stated = Vec::new();
    for node in list.items()? {
        stated.push(Stated::read(root, node, &ids)?);
    }
    let whole: Vec<Arm> = stated
        .iter()
        .filter(|arm| !arm.mode.solves())
        .map(Stated::whole)
        .collect::<Result<_, _>>()?;
    stated.iter().map(|arm| arm.settle(&whole)).collect()
}

impl<'a> Stated<'a> {
    fn read(root: Node<'a>, node: Node<'a>, ids: &[String]) -> Result<Self, Error> {
        node.only(&["id", "what", "model", "match"])?;
        let (mode, target) = match node.get("match") {
            None => (Mode::None, None),
            Some(rule) => read_match(rule, ids)?,
        };
        Ok(Self {
            id: node.required("id")?.text()?,
            what: node.required("what")?.text()?,
            model: merged(root, node.get("model"), mode)?,
            mode,
            target,
            node,
        })
    }

    /// The arm, if its model is fully stated.
    fn whole(&self) -> Result<Arm, Error> {
        self.with(self.model.clone(), Match { mode: self.mode, target: None, mismatch: None })
    }

    /// The arm after matching.
    fn settle(&self, whole: &[Arm]) -> Result<Arm, Error> {
        let Some(target) = self.target else { return self.whole() };
        let target = whole.iter().find(|arm| arm.id == target).ok_or_else(|| {
            let expected = "a target with its own model, which is not matched itself";
            NO_MATCH.at(self.node.place(), expected, format!("`{target}`"))
        })?;
        let place = self.node.place();
        let (model, mismatch) = solve(self.mode, &self.model, &target.objects, &place)?;
        let target = Some(target.id.clone());
        self.with(model, Match { mode: self.mode, target, mismatch: Some(mismatch) })
    }

    fn with(&self, model: Map<String, Json>, matched: Match) -> Result<Arm, Error> {
        let place = self.node.place();
        let objects = objects(&model, &place)?;
        let tensors = params::tensors(&document(&model, &place)?)?.iter().count() as u64;
        let (id, what) = (self.id.to_owned(), self.what.to_owned());
        Ok(Arm { id, what, model, objects, tensors, matched, place })
    }
}

impl Arm {
    /// The model as a run without any other information, for horizons.
    pub(super) fn as_run(&self) -> Result<contract::RunAtStep, Error> {
        let document = document(&self.model, &self.place)?;
        contract::RunAtStep::of_document(&self.id, &document)
    }

    /// A whole number among the fields of the model.
    pub(super) fn number(&self, field: &str) -> Option<u64> {
        self.model.get(field).and_then(Json::as_u64)
    }

    /// How its width and experts came out, for lists: `intermediate_size 237`.
    pub fn sizes(&self) -> String {
        let fields = ["hidden_size", "intermediate_size", "num_experts", "moe_intermediate_size"];
        let stated = fields.iter().filter_map(|field| Some((field, self.number(field)?)));
        stated.map(|(field, size)| format!("{field} {size}")).collect::<Vec<_>>().join(", ")
    }
}

fn read_match<'a>(rule: Node<'a>, ids: &[String]) -> Result<(Mode, Option<&'a str>), Error> {
    rule.only(&["mode", "object", "target"])?;
    let mode = word(
        rule.required("mode")?,
        &["none", "active", "total", "active_ffn_width", "model_width"],
    )?;
    let mode = match mode {
        "active" => Mode::FfnWidth(ParameterCount::Active),
        "total" => Mode::FfnWidth(ParameterCount::Total),
        "active_ffn_width" => Mode::ActiveFfnWidth,
        "model_width" => match word(rule.required("object")?, &["active", "total"])? {
            "total" => Mode::ModelWidth(ParameterCount::Total),
            _ => Mode::ModelWidth(ParameterCount::Active),
        },
        _ => return Ok((Mode::None, None)),
    };
    Ok((mode, Some(known(rule.required("target")?, ids)?)))
}

/// The fields of one arm's model: the shared ones, overridden by its own.
fn merged(root: Node<'_>, own: Option<Node<'_>>, mode: Mode) -> Result<Map<String, Json>, Error> {
    let sparse = own.is_some_and(|own| own.get("num_experts").is_some());
    let mut fields = Map::new();
    let mut add = |node: Node<'_>, known: &[&str]| -> Result<(), Error> {
        node.only(known)?;
        fields.extend(table(node)?);
        Ok(())
    };
    add(root.required("model")?, DECODER)?;
    if let Some(shared) = root.get("mixture") {
        shared.only(MIXTURE)?;
        if sparse {
            add(shared, MIXTURE)?;
        }
    }
    if let Some(own) = own {
        let known: Vec<_> = DECODER.iter().chain(MIXTURE.iter().filter(|_| sparse)).collect();
        add(own, &known.into_iter().copied().collect::<Vec<_>>())?;
    }
    complete(fields, sparse, mode, own.unwrap_or(root))
}

/// All fields in the order of a config, including derived ones and defaults.
fn complete(
    mut stated: Map<String, Json>,
    sparse: bool,
    mode: Mode,
    at: Node<'_>,
) -> Result<Map<String, Json>, Error> {
    let number = |stated: &Map<String, Json>, field: &str| stated.get(field).and_then(Json::as_u64);
    let (hidden, heads) = (number(&stated, "hidden_size"), number(&stated, "num_attention_heads"));
    if !stated.contains_key("num_key_value_heads") {
        stated.extend(heads.map(|heads| ("num_key_value_heads".to_owned(), json!(heads))));
    }
    if !stated.contains_key("head_dim")
        && let Some((hidden, heads)) = hidden.zip(heads)
        && hidden.checked_rem(heads) == Some(0)
    {
        stated.insert("head_dim".to_owned(), json!(hidden / heads));
    }
    let kind = if sparse { "repro-llama-moe" } else { "repro-llama" };
    let mut model = Map::from_iter([("model_type".to_owned(), json!(kind))]);
    for field in DECODER.iter().chain(MIXTURE.iter().filter(|_| sparse)) {
        let value = match stated.remove(*field) {
            Some(_) if *field == "intermediate_size" && matches!(mode, Mode::FfnWidth(_)) => {
                let expected = "no `intermediate_size`, because the match computes it";
                return Err(BAD_VALUE.at(at.place(), expected, "one"));
            }
            Some(value) => value,
            // These fields are solved for if absent, or not needed, or rejected when the model is counted.
            None if ["intermediate_size", "head_dim"].contains(field) => continue,
            None if NOTHING.contains(field) => json!(0),
            None => {
                let expected = format!("the field `{field}`, here or in the shared table");
                return Err(repro_core::source::MISSING_FIELD.at(at.place(), expected, "none"));
            }
        };
        model.insert((*field).to_owned(), value);
    }
    Ok(model)
}
