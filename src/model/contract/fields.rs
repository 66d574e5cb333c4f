//! All fields of a config and a receipt, sorted by group.

use std::collections::BTreeMap;

use num_rational::BigRational;

use super::StatedValue;
use repro_core::source::{Error, Kind, Node, Value};

/// The groups of fields, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldGroup {
    /// The match between the models.
    Match,
    /// The training length at the compared step.
    Horizon,
    /// Optimizer, rates and schedule.
    Recipe,
    /// The measurement of the numbers.
    Evaluation,
    /// The training data.
    Data,
    /// Anything else.
    Other,
}

impl FieldGroup {
    /// Every group, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Match, Self::Horizon, Self::Recipe, Self::Evaluation, Self::Data, Self::Other];

    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Horizon => "horizon",
            Self::Recipe => "recipe",
            Self::Evaluation => "evaluation",
            Self::Data => "data",
            Self::Other => "other",
        }
    }
}

/// A known field: its common name, and its names in configs and receipts.
struct Known {
    group: FieldGroup,
    name: &'static str,
    aliases: &'static [&'static str],
}

const fn known(group: FieldGroup, name: &'static str, aliases: &'static [&'static str]) -> Known {
    Known { group, name, aliases }
}

/// The planned length of a run.
pub const STEPS: &str = "planned steps";
/// Sequences in a batch.
pub const BATCH: &str = "batch size";
/// Tokens in a sequence.
pub const LENGTH: &str = "sequence length";
/// Batches of one validation.
pub const VALIDATION_STEPS: &str = "validation steps";
/// Tokens per step, as in a receipt.
pub const TOKENS_PER_STEP: &str = "receipt: contract.tokens_per_step";

/// Unique tokens of the training data, as in a receipt.
pub const UNIQUE_TOKENS: &str = "receipt: data.unique_tokens";

/// The known fields in the order of reports.
static KNOWN: &[Known] = &[
    known(FieldGroup::Horizon, STEPS, &["steps", "num_steps", "max_steps", "num_iterations"]),
    known(FieldGroup::Recipe, "optimizer", &["optimizer"]),
    known(FieldGroup::Recipe, "use_muon", &["use_muon"]),
    known(FieldGroup::Recipe, "peak rate", &["lr", "learning_rate", "max_lr"]),
    known(FieldGroup::Recipe, "peak rate (dense)", &["lr_dense"]),
    known(FieldGroup::Recipe, "peak rate (experts)", &["lr_expert"]),
    known(FieldGroup::Recipe, "peak rate (router)", &["lr_router"]),
    known(FieldGroup::Recipe, "weight decay", &["weight_decay"]),
    known(FieldGroup::Recipe, "beta 1", &["adam_beta1", "beta1"]),
    known(FieldGroup::Recipe, "beta 2", &["adam_beta2", "beta2"]),
    known(FieldGroup::Recipe, "epsilon", &["adam_eps", "adam_epsilon"]),
    known(FieldGroup::Recipe, "gradient clip", &["grad_clip", "max_grad_norm", "clip"]),
    known(FieldGroup::Recipe, "schedule", &["schedule"]),
    known(FieldGroup::Recipe, "warmup steps", &["warmup_steps"]),
    known(FieldGroup::Recipe, "hold tokens", &["hold_tokens"]),
    known(FieldGroup::Recipe, "decay tokens", &["decay_tokens"]),
    known(FieldGroup::Recipe, "decay floor", &["decay_floor"]),
    known(FieldGroup::Recipe, "balance loss weight", &["aux_loss_alpha"]),
    known(FieldGroup::Recipe, "router z-loss weight", &["router_z_loss"]),
    known(FieldGroup::Recipe, "router bias rate", &["router_bias_update_rate"]),
    known(FieldGroup::Recipe, "dtype", &["dtype", "torch_dtype"]),
    known(FieldGroup::Evaluation, "validation enabled", &["validation_enabled"]),
    known(FieldGroup::Evaluation, "validation every", &["validation_every", "eval_every"]),
    known(FieldGroup::Evaluation, VALIDATION_STEPS, &["validation_steps", "eval_steps"]),
    known(FieldGroup::Evaluation, "validation data", &["validation_data_path"]),
    known(FieldGroup::Evaluation, "target loss", &["target_loss"]),
    known(FieldGroup::Data, "data path", &["data_path"]),
    known(FieldGroup::Data, "reuse", &["reuse"]),
    known(FieldGroup::Data, "tokenizer", &["tokenizer"]),
    known(FieldGroup::Data, "vocabulary", &["vocab_size"]),
    known(FieldGroup::Data, BATCH, &["batch_size"]),
    known(FieldGroup::Data, LENGTH, &["seq_len", "sequence_length"]),
    known(FieldGroup::Data, "end-of-text token", &["eos_token_id"]),
    known(FieldGroup::Data, "end-of-text loss masked", &["loss_mask_eos"]),
];

/// The fields that must be whole numbers: other quantities are computed from them.
const WHOLE: &[&str] = &[STEPS, BATCH, LENGTH, VALIDATION_STEPS];
/// Tables in which a known field means the same as at the top of a config.
const TRANSPARENT: &[&str] =
    &["model", "model_config", "train", "training", "data", "optimizer", "schedule"];
/// The parts of a receipt with quantities that a run holds fixed, and their groups.
const RECEIPT_PARTS: &[(&str, FieldGroup)] = &[
    ("contract", FieldGroup::Horizon),
    ("seeds", FieldGroup::Recipe),
    ("data", FieldGroup::Data),
    ("trainer", FieldGroup::Other),
    ("environment", FieldGroup::Other),
];

/// One stated field.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedField {
    /// The group of the field.
    pub group: FieldGroup,
    /// Its place among the known fields of reports; unknown ones come last.
    pub order: usize,
    /// The value of the field.
    pub value: StatedValue,
}

/// Everything stated, by name, and the seeds apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedFields {
    stated: BTreeMap<String, StatedField>,
    seeds: BTreeMap<String, String>,
}

impl StatedFields {
    /// Adds the fields of a config.
    pub fn add_config(&mut self, root: Node<'_>) -> Result<(), Error> {
        let Ok(members) = root.members() else { return Ok(()) };
        let mut nested = Vec::new();
        for (key, node) in members {
            match &node.value().kind {
                Kind::Object(inner) if !inner.is_empty() => nested.push((key, node)),
                _ => self.config_field(key, key, node)?,
            }
        }
        // Read after the top level, so that a nested field does not hide one of the same name.
        for (key, table) in nested {
            if TRANSPARENT.contains(&key) {
                for (inner, node) in table.members()? {
                    self.config_field(&format!("{key}.{inner}"), inner, node)?;
                }
            } else {
                self.flatten(&mut key.to_owned(), table.value(), FieldGroup::Other);
            }
        }
        Ok(())
    }

    /// Adds the fields of a receipt's predicate.
    pub fn add_receipt(&mut self, predicate: Node<'_>) -> Result<(), Error> {
        for (part, group) in RECEIPT_PARTS {
            let Some(table) = predicate.get(part) else { continue };
            for (key, node) in table.members()? {
                if *part == "seeds" {
                    self.seeds.insert(key.to_owned(), node.printed()?.to_owned());
                } else {
                    self.flatten(&mut format!("receipt: {part}.{key}"), node.value(), *group);
                }
            }
        }
        Ok(())
    }

    /// Adds one field of a config, under its common name if there is one that is not used yet.
    fn config_field(&mut self, full: &str, key: &str, node: Node<'_>) -> Result<(), Error> {
        if key == "seed" || key.ends_with("_seed") || key.starts_with("seed_") {
            self.seeds.insert(full.to_owned(), StatedValue::read(node.value()).plain());
            return Ok(());
        }
        let found = KNOWN.iter().enumerate().find(|(_, known)| known.aliases.contains(&key));
        match found.filter(|(_, known)| !self.stated.contains_key(known.name)) {
            Some((order, known)) => {
                if WHOLE.contains(&known.name) {
                    node.integer()?;
                }
                let field = StatedField {
                    group: known.group,
                    order,
                    value: StatedValue::read(node.value()),
                };
                self.stated.insert(known.name.to_owned(), field);
            }
            None => self.flatten(&mut full.to_owned(), node.value(), FieldGroup::Other),
        }
        Ok(())
    }

    /// Adds a value: nested dicts member by member, everything else as it is.
    fn flatten(&mut self, name: &mut String, tree: &Value, group: FieldGroup) {
        match &tree.kind {
            Kind::Object(members) if !members.is_empty() => {
                for member in members {
                    let length = name.len();
                    name.push('.');
                    name.push_str(&member.key);
                    self.flatten(name, &member.value, group);
                    name.truncate(length);
                }
            }
            _ => {
                let field =
                    StatedField { group, order: KNOWN.len(), value: StatedValue::read(tree) };
                self.stated.insert(name.clone(), field);
            }
        }
    }

    /// Every field by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &StatedField)> {
        self.stated.iter().map(|(name, field)| (name.as_str(), field))
    }

    /// The number that one field states.
    pub fn number(&self, name: &str) -> Option<&BigRational> {
        self.stated.get(name)?.value.number()
    }

    /// The seeds as one text, if any is stated.
    pub fn seeds(&self) -> Option<String> {
        let each: Vec<_> = self.seeds.iter().map(|(name, seed)| format!("{name} {seed}")).collect();
        (!each.is_empty()).then(|| each.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    fn document(text: &str) -> Document {
        Document::parse_toml(Source::new("c.toml", text.into()).unwrap()).unwrap()
    }

    fn fields(text: &str) -> Result<StatedFields, Error> {
        let mut fields = StatedFields::default();
        fields.add_config(document(text).root())?;
        Ok(fields)
    }

    #[test]
    fn a_known_field_has_one_name_wherever_it_stands() {
        let fields = fields(
            "seq_len = 8\ndata_seed = 3\n[train]\nseq_len = 9\nlr = 1e-3\n[probe]\nsteps = 5\nx.y = [1]\n",
        )
        .unwrap();
        let stated: Vec<_> = fields.iter().map(|(name, f)| (name, f.value.plain())).collect();
        let wanted = [
            ("peak rate", "0.001"),
            ("probe.steps", "5"),
            ("probe.x.y", "[1]"),
            ("sequence length", "8"),
            ("train.seq_len", "9"),
        ];
        assert_eq!(stated, wanted.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(fields.seeds().as_deref(), Some("data_seed 3"));
    }

    #[test]
    fn numbers_that_others_follow_from_must_be_whole() {
        let error = fields("batch_size = 2.5").unwrap_err();
        assert_eq!((error.code.id, error.place.line), ("source::wrong-type", 1));
    }

    #[test]
    fn no_alias_stands_for_two_fields() {
        let mut all: Vec<_> = KNOWN.iter().flat_map(|known| known.aliases).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
