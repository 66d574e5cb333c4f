//! The fields of a config: typed reads that record which fields were read, and the rule for the rest.
//!
//! A field that was not read is harmless if it is on the list of such fields, rejected if its name looks like a shape, and
//! otherwise listed as ignored.

use std::cell::RefCell;
use std::collections::BTreeSet;

use repro_core::source::{Error, Kind, Location, Node, WRONG_TYPE};

use super::blocks::{ExpertCounts, Heads};
use super::{IMPOSSIBLE_SHAPE, LayerSet, Layers, Size, UNKNOWN_SHAPE_FIELD, UNSUPPORTED};

/// The maximum number of layers that are read: beyond every model, and small enough to list.
const LAYER_CAP: u64 = 1 << 16;
/// The maximum number of experts per layer: a few hundred times that of the largest models.
const EXPERT_CAP: u64 = 1 << 16;

/// Fields of published configs that do not affect shapes in any family here, although their names may suggest it.
const INERT: &[&str] = &[
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "auto_map",
    "bos_token_id",
    "classifier_dropout",
    "chunk_size_feed_forward",
    "context_window_size",
    "dtype",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "head_dtype",
    "hidden_act",
    "id2label",
    "initializer_range",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layer_types",
    "max_position_embeddings",
    "max_window_layers",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "n_special",
    "num_labels",
    "num_image_tokens",
    "num_logits_to_keep",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "partial_rotary_factor",
    "prefill_chunk_size",
    "pretraining_tp",
    "quantization_config",
    "rms_norm_eps",
    "rope_interleave",
    "rope_interleaved",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_dim",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "sliding_window",
    "sliding_window_size",
    "attention_sink_size",
    "tie_encoder_decoder",
    "tokenizer_class",
    "torch_dtype",
    "transformers_version",
    "use_cache",
    "use_sliding_window",
    "batch_size",
    "device_batch_size",
    "eval_batch_size",
    "global_batch_size",
    "micro_batch_size",
    "num_epochs",
    "num_gpus",
    "num_iterations",
    "num_processes",
    "num_steps",
    "num_train_epochs",
    "num_training_steps",
    "num_warmup_steps",
    "num_workers",
    "n_epochs",
    "n_steps",
    "per_device_eval_batch_size",
    "per_device_train_batch_size",
    "router_bias_update_rate",
    "sequence_length",
    "total_batch_size",
    "train_batch_size",
    "world_size",
];

/// The root of a config, and the fields that were read.
pub struct ConfigFields<'a> {
    root: Node<'a>,
    /// The outer config of an image-text model around its text config.
    outer: Option<Node<'a>>,
    /// Whether the table is absent, so that every field has its default.
    is_absent: bool,
    read: RefCell<BTreeSet<String>>,
    notes: RefCell<Vec<String>>,
}

/// The dimensions that most configs have under the same names.
pub struct Dims {
    /// `vocab_size`.
    pub v: Size,
    /// `hidden_size`.
    pub h: Size,
    /// `intermediate_size` of dense feed-forward blocks; unused if every layer has experts.
    pub i: Size,
    /// `num_hidden_layers`.
    pub layers: Layers,
    /// `tie_word_embeddings`.
    pub tied: bool,
}

/// The defaults of the reference implementation.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// `vocab_size`.
    pub vocabulary: u64,
    /// `hidden_size`.
    pub hidden: u64,
    /// `intermediate_size`.
    pub width: u64,
    /// `num_hidden_layers`.
    pub layers: u64,
    /// `tie_word_embeddings`.
    pub tied: bool,
}

/// The head size if the config has no field for it.
#[derive(Debug, Clone, Copy)]
pub enum HeadSize {
    /// Width over heads.
    Derived,
    /// The default of the reference implementation.
    Fixed(u64),
}

impl<'a> ConfigFields<'a> {
    /// The fields of the table `root`.
    pub fn new(root: Node<'a>) -> Self {
        let (read, notes) = (RefCell::default(), RefCell::default());
        Self { root, outer: None, is_absent: false, read, notes }
    }

    /// The same fields inside `outer`, which may state whether the head is tied.
    pub fn inside(self, outer: Option<Node<'a>>) -> Self {
        Self { outer, ..self }
    }

    /// The fields of the table `name`, which must exist.
    pub fn table(&self, name: &str) -> Result<Self, Error> {
        self.find(name)?;
        let table = self.root.required(name)?;
        table.members().map(|_| Self::new(table))
    }

    /// The fields of the table `name`, all with their defaults if it is absent or null.
    pub fn table_or_defaults(&self, name: &str) -> Result<Self, Error> {
        match self.present(name)? {
            Some(table) => table.members().map(|_| Self::new(table)),
            None => Ok(Self { is_absent: true, ..Self::new(self.root) }),
        }
    }

    /// Whether a reader asked for this field.
    pub fn was_read(&self, name: &str) -> bool {
        self.read.borrow().contains(name)
    }

    /// The first of `architectures`.
    pub fn architecture(&self) -> Option<&'a str> {
        let list = self.root.get("architectures").filter(|_| !self.is_absent)?;
        list.items().ok()?.next()?.text().ok()
    }

    /// Adds a remark that goes into the report.
    pub fn note(&self, text: impl Into<String>) {
        self.notes.borrow_mut().push(text.into());
    }

    /// The field with one of the names in `names` (separated by `|`), including null; two names that disagree are an error.
    fn find(&self, names: &str) -> Result<Option<Node<'a>>, Error> {
        let mut found: Option<Node<'a>> = None;
        for name in names.split('|') {
            self.read.borrow_mut().insert(name.to_owned());
            let mut members = self.root.members()?.filter(|_| !self.is_absent);
            let inner = members.find(|(key, _)| *key == name).map(|(_, node)| node);
            let outer = || self.outer.filter(|_| name == "tie_word_embeddings")?.get(name);
            let Some(node) = inner.or_else(outer) else { continue };
            match found {
                Some(first) if first.value().kind != node.value().kind => {
                    return Err(IMPOSSIBLE_SHAPE.at(
                        node.place(),
                        format!("one value for `{names}`"),
                        format!("`{name}` with a different value"),
                    ));
                }
                Some(_) => {}
                None => found = Some(node),
            }
        }
        Ok(found)
    }

    fn present(&self, names: &str) -> Result<Option<Node<'a>>, Error> {
        Ok(self.find(names)?.filter(|node| node.value().kind != Kind::Null))
    }

    /// Whether a field is there and not null.
    pub fn given(&self, names: &str) -> Result<bool, Error> {
        Ok(self.present(names)?.is_some())
    }

    /// The place of a field, or the root if it is absent.
    pub fn place(&self, names: &str) -> Location {
        match self.find(names) {
            Ok(Some(node)) => node.place(),
            _ => self.root.place(),
        }
    }

    /// Rejects the value of a field.
    pub fn impossible(&self, names: &str, expected: impl Into<String>) -> Error {
        let found = self.find(names).ok().flatten().map_or_else(|| "its default".to_owned(), said);
        IMPOSSIBLE_SHAPE.at(self.place(names), expected, format!("`{names}` = {found}"))
    }

    /// A whole number, 0 allowed.
    pub fn count(&self, names: &str, default: u64) -> Result<Size, Error> {
        match self.find(names)? {
            Some(node) => Ok(node.integer()?.into()),
            None => Ok(default.into()),
        }
    }

    /// A number of things that null turns off.
    pub fn count_or_none(&self, names: &str, default: u64) -> Result<Size, Error> {
        match self.present(names)? {
            None if self.find(names)?.is_some() => Ok(Size::ZERO),
            _ => self.count(names, default),
        }
    }

    /// Whether there is more than one of something.
    pub fn several(&self, names: &str, default: u64) -> Result<bool, Error> {
        let count = self.count_or_none(names, default)?;
        Ok(count.value().is_none_or(|count| count > 1))
    }

    /// A dimension: at least 1.
    pub fn size(&self, names: &str, default: u64) -> Result<Size, Error> {
        self.nonzero(names, self.count(names, default)?)
    }

    /// A dimension that the config must have.
    pub fn required(&self, names: &str) -> Result<Size, Error> {
        let first = names.split('|').next().unwrap_or(names);
        match self.present(names)? {
            Some(node) => self.nonzero(names, node.integer()?.into()),
            None => self.root.required(first).and_then(Node::integer).map(Size::from),
        }
    }

    /// A dimension that may be absent or null, with a value for each case.
    pub fn size_or(&self, names: &str, absent: Size, null: Size) -> Result<Size, Error> {
        match self.find(names)? {
            None => Ok(absent),
            Some(node) if node.value().kind == Kind::Null => Ok(null),
            Some(node) => self.nonzero(names, node.integer()?.into()),
        }
    }

    /// A dimension that null turns off.
    pub fn size_unless_null(&self, names: &str, absent: u64) -> Result<Option<Size>, Error> {
        let size = self.size_or(names, absent.into(), Size::ZERO)?;
        Ok((size != Size::ZERO).then_some(size))
    }

    /// A dimension that has no default.
    pub fn size_if_any(&self, names: &str) -> Result<Option<Size>, Error> {
        self.size_unless_null(names, 0)
    }

    /// Rejects 0.
    pub fn nonzero(&self, names: &str, size: Size) -> Result<Size, Error> {
        if size == Size::ZERO {
            return Err(self.impossible(names, "at least 1"));
        }
        Ok(size)
    }

    /// A width that is needed only if some layer uses it; otherwise it may be null or 0.
    pub fn width(&self, names: &str, default: u64, layers: Size) -> Result<Size, Error> {
        if layers != Size::ZERO {
            return self.size(names, default);
        }
        self.count_or_none(names, default)
    }

    /// A side of a square that is written once, or once for each direction.
    pub fn square(&self, names: &str, default: u64) -> Result<Size, Error> {
        let side = self.uniform(names, default)?;
        self.nonzero(names, side)
    }

    /// The length of a list; none if the field is absent or not a list.
    pub fn length(&self, names: &str) -> Result<Option<u64>, Error> {
        let Some(node) = self.present(names)? else { return Ok(None) };
        match &node.value().kind {
            Kind::Array(_) => Ok(Some(node.items()?.count() as u64)),
            _ => Ok(None),
        }
    }

    /// Whether a field is absent or one half.
    pub fn is_half(&self, names: &str) -> Result<bool, Error> {
        match self.present(names)? {
            Some(node) => Ok(node.float()? == 0.5),
            None => Ok(true),
        }
    }

    /// Whether a factor is absent, null or 1.
    pub fn is_one(&self, names: &str) -> Result<bool, Error> {
        match self.present(names)? {
            Some(node) => Ok(node.float()? == 1.0),
            None => Ok(true),
        }
    }

    /// Whether a number in the config is a multiple of a second one, if it has both.
    pub fn is_multiple_of(&self, number: &str, of: &str) -> Result<bool, Error> {
        let (Some(number), Some(of)) = (self.present(number)?, self.present(of)?) else {
            return Ok(true);
        };
        let of = of.integer()?;
        Ok(of > 0 && number.integer()?.is_multiple_of(of))
    }

    /// A number that is the same in all layers, written once or for each of them.
    pub fn uniform(&self, names: &str, default: u64) -> Result<Size, Error> {
        let Some(node) = self.present(names)? else { return Ok(default.into()) };
        let Kind::Array(_) = &node.value().kind else { return Ok(node.integer()?.into()) };
        let numbers: Vec<u64> = node.items()?.map(Node::integer).collect::<Result<_, _>>()?;
        match numbers.first() {
            None => Ok(default.into()),
            Some(&first) if numbers.iter().all(|number| *number == first) => Ok(first.into()),
            Some(_) => Err(UNSUPPORTED.at(
                self.place(names),
                format!("one value of `{names}`"),
                "different numbers",
            )),
        }
    }

    /// Multi-token prediction layers; `default` is their number if the config has none.
    pub fn mtp(&self, default: u64) -> Result<Size, Error> {
        let names = "num_nextn_predict_layers|num_mtp_layers|mtp_num_hidden_layers";
        let count = self.count_or_none(names, default)?;
        if count.value().is_none_or(|count| count > LAYER_CAP) {
            return Err(self.impossible(names, format!("at most {LAYER_CAP} layers")));
        }
        Ok(count)
    }

    /// The kind of each layer from the list `layer_types`, or from `default` without the list; `|` separates words for one
    /// kind.
    pub fn layer_kinds(
        &self,
        layers: &Layers,
        known: [&str; 2],
        default: impl Fn(u64) -> bool,
    ) -> Result<LayerSet, Error> {
        let names = "layer_types|layers_block_type";
        let Some(node) = self.present(names)? else { return Ok(layers.set(default)) };
        let [no, yes] = known;
        let mut kinds = Vec::new();
        for item in node.items()? {
            let word = item.text()?;
            let is = |words: &str| words.split('|').any(|one| one == word);
            if !is(yes) && !is(no) {
                let expected = format!("\"{no}\" or \"{yes}\"");
                return Err(UNSUPPORTED.at(item.place(), expected, format!("\"{word}\"")));
            }
            kinds.push(is(yes));
        }
        if layers.all() != Size::from(kinds.len() as u64) {
            return Err(self.impossible(names, "one kind per layer"));
        }
        Ok(layers.set(|layer| kinds.get(layer as usize) == Some(&true)))
    }

    /// A switch; null is off.
    pub fn flag(&self, names: &str, default: bool) -> Result<bool, Error> {
        match self.find(names)? {
            None => Ok(default),
            Some(node) if node.value().kind == Kind::Null => Ok(false),
            Some(node) => node.truth(),
        }
    }

    /// The number of classes of a classifier, two unless the config lists or counts them.
    pub fn labels(&self) -> Result<Size, Error> {
        let listed = match self.present("id2label")? {
            Some(table) => Some(Size::from(table.members()?.count() as u64)),
            None => None,
        };
        let counted = self.size_if_any("num_labels")?;
        match (listed, counted) {
            (Some(listed), Some(counted)) if listed != counted => {
                Err(self.impossible("num_labels", "the number of classes in `id2label`"))
            }
            (listed, counted) => Ok(listed.or(counted).unwrap_or(2.into())),
        }
    }

    /// The model type in the config.
    pub fn model_type(&self) -> Option<&'a str> {
        self.root.get("model_type").filter(|_| !self.is_absent)?.text().ok()
    }

    /// Whether the model type of the config, or of the outer one if it has none, starts with `start`.
    pub fn is_of(&self, start: &str) -> bool {
        let outer = || self.outer.and_then(|outer| outer.get("model_type")?.text().ok());
        self.model_type().or_else(outer).is_some_and(|kind| kind.starts_with(start))
    }

    /// Whether a field has this value; otherwise it has a different meaning and is read elsewhere.
    pub fn says(&self, name: &str, word: &str) -> bool {
        let said =
            self.root.get(name).filter(|_| !self.is_absent).and_then(|node| node.text().ok());
        self.read.borrow_mut().insert(name.to_owned());
        said == Some(word)
    }

    /// The number of the last layer of something; absent, null and -1 are the last of all.
    pub fn last(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.present(name)? {
            Some(node) if node.printed() != Ok("-1") => node.integer().map(Some),
            _ => Ok(None),
        }
    }

    /// Rejects the value of a field that has a meaning, but none that is counted here.
    pub fn unsupported(&self, names: &str, expected: impl Into<String>) -> Error {
        let found = self.find(names).ok().flatten().map_or_else(|| "its default".to_owned(), said);
        UNSUPPORTED.at(self.place(names), expected, found)
    }

    /// Rejects an enabled switch for which only the other layout is known.
    pub fn off(&self, name: &str) -> Result<(), Error> {
        match self.flag(name, false)? {
            false => Ok(()),
            true => Err(self.unsupported(name, format!("`{name}` off"))),
        }
    }

    /// The string in a field, if it has one.
    pub fn word_of(&self, name: &str) -> Result<Option<&'a str>, Error> {
        let node = self.present(name)?;
        Ok(node.and_then(|node| match &node.value().kind {
            Kind::Text(text) => Some(&**text),
            _ => None,
        }))
    }

    /// Rejects a value other than `known`; an absent field has the value `default`.
    pub fn word(&self, name: &str, default: &str, known: &str) -> Result<(), Error> {
        let word = match self.present(name)? {
            Some(node) => node.text()?,
            None => default,
        };
        if word == known {
            return Ok(());
        }
        let found = format!("\"{word}\"");
        Err(UNSUPPORTED.at(self.place(name), format!("`{name}` = \"{known}\""), found))
    }

    /// Rejects a number other than `known`.
    pub fn exactly(&self, name: &str, known: u64) -> Result<(), Error> {
        if self.count(name, known)? == known.into() {
            return Ok(());
        }
        Err(self.unsupported(name, format!("`{name}` = {known}")))
    }

    /// The words of a list; none if it is absent or null.
    pub fn words(&self, names: &str) -> Result<Option<Vec<&'a str>>, Error> {
        match self.present(names)? {
            Some(node) => node.items()?.map(Node::text).collect::<Result<_, _>>().map(Some),
            None => Ok(None),
        }
    }

    /// The elements of a list of whole numbers; absent and null are empty.
    pub fn list(&self, name: &str) -> Result<Vec<u64>, Error> {
        match self.present(name)? {
            Some(node) => node.items()?.map(Node::integer).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// A number of layers, or of other things that each have tensors of their own, within reason.
    pub fn depth(&self, names: &str, default: u64) -> Result<Size, Error> {
        self.layers(names, default, |_| false).map(|layers| layers.all())
    }

    /// The number of layers, and which are sparse.
    pub fn layers(
        &self,
        names: &str,
        default: u64,
        sparse: impl Fn(u64) -> bool,
    ) -> Result<Layers, Error> {
        match self.size(names, default)?.value() {
            Some(count) if count <= LAYER_CAP => Ok(Layers::new(count, sparse)),
            _ => Err(self.impossible(names, format!("at most {LAYER_CAP} layers"))),
        }
    }

    /// The number of layers without a default, and which are sparse.
    pub fn required_layers(
        &self,
        names: &str,
        sparse: impl Fn(u64) -> bool,
    ) -> Result<Layers, Error> {
        self.required(names)?;
        self.layers(names, 0, sparse)
    }

    /// The common dimensions; `sparse` decides which layers have routed experts.
    pub fn dims(&self, defaults: Defaults, sparse: impl Fn(u64) -> bool) -> Result<Dims, Error> {
        let layers = self.layers("num_hidden_layers", defaults.layers, sparse)?;
        Ok(Dims {
            v: self.size("vocab_size", defaults.vocabulary)?,
            h: self.size("hidden_size", defaults.hidden)?,
            i: self.width("intermediate_size", defaults.width, layers.dense())?,
            layers,
            tied: self.flag("tie_word_embeddings", defaults.tied)?,
        })
    }

    /// `width` over `heads`, which must be a whole number.
    pub fn head_size(&self, names: &str, width: Size, heads: Size) -> Result<Size, Error> {
        width
            .split(heads)
            .ok_or_else(|| self.impossible(names, "a number of heads that divides the width"))
    }

    /// The heads of a config with the common field names; `key_value` is the default number of key-value heads, or none if
    /// it is the number of heads.
    pub fn heads(
        &self,
        hidden: Size,
        default: u64,
        key_value: Option<u64>,
        size: HeadSize,
    ) -> Result<Heads, Error> {
        let count = self.size("num_attention_heads", default)?;
        let absent = key_value.map_or(count, Size::from);
        let key_value = self.size_or("num_key_value_heads", absent, count)?;
        if count.split(key_value).is_none() {
            let expected = "a number of key-value heads that divides the number of query heads";
            return Err(self.impossible("num_key_value_heads", expected));
        }
        let named = match (self.find("head_dim")?, size) {
            (None, HeadSize::Fixed(size)) => Some(Size::from(size)),
            _ => self.size_if_any("head_dim")?,
        };
        let size = match named {
            Some(size) => size,
            None => self.head_size("num_attention_heads", hidden, count)?,
        };
        Ok(Heads { count, key_value, size })
    }

    /// E and K under their names if some layer has experts; otherwise they may be null or 0.
    pub fn experts_of(
        &self,
        layers: &Layers,
        all: (&str, u64),
        used: (&str, u64),
    ) -> Result<ExpertCounts, Error> {
        if layers.sparse() != Size::ZERO {
            return self.experts(all, used);
        }
        self.count_or_none(all.0, 0)?;
        self.find(used.0)?;
        Ok(ExpertCounts { count: 1.into(), per_token: 1.into() })
    }

    /// E and K under their names, with K at most E.
    pub fn experts(
        &self,
        (all, all_default): (&str, u64),
        (used, used_default): (&str, u64),
    ) -> Result<ExpertCounts, Error> {
        let count = self.size(all, all_default)?;
        let per_token = self.nonzero(used, self.uniform(used, used_default)?)?;
        if (count - per_token).value().is_none() {
            return Err(self.impossible(used, "at most the number of experts"));
        }
        // Each has tensors of its own.
        if count.value().is_none_or(|count| count > EXPERT_CAP) {
            return Err(self.impossible(all, format!("at most {EXPERT_CAP} experts")));
        }
        Ok(ExpertCounts { count, per_token })
    }

    /// Classifies every field that was not read: rejected, harmless or ignored. Returns the ignored ones and the notes.
    pub fn finish(self, inert: &[&str]) -> Result<(Vec<String>, Vec<String>), Error> {
        let read = self.read.into_inner();
        let mut ignored = Vec::new();
        for (key, node) in self.root.members()?.filter(|_| !self.is_absent) {
            if read.contains(key) || INERT.contains(&key) || inert.contains(&key) {
                continue;
            }
            // Null and disabled options add nothing, whatever they mean; neither does a width of 0.
            let off = matches!(node.value().kind, Kind::Null | Kind::Bool(false));
            let empty = key.ends_with("_intermediate_size") && node.printed() == Ok("0");
            if !off && !empty && looks_like_a_shape(key) {
                let expected = "fields with a known effect on the shape";
                return Err(UNKNOWN_SHAPE_FIELD.at(node.place(), expected, format!("`{key}`")));
            }
            ignored.push(key.to_owned());
        }
        Ok((ignored, self.notes.into_inner()))
    }
}

/// Whether a field of this name may change the number of parameters.
fn looks_like_a_shape(name: &str) -> bool {
    let ends = ["_dim", "_size", "_rank"];
    let starts = ["num_", "n_", "tie_", "tied_"];
    let holds = ["bias", "layers", "layer_types", "experts", "qk_norm", "qk_layernorm", "vocab"];
    ends.iter().any(|end| name.ends_with(end))
        || starts.iter().any(|start| name.starts_with(start))
        || holds.iter().any(|part| name.contains(part))
}

/// A scalar as written, for messages.
fn said(node: Node<'_>) -> String {
    match &node.value().kind {
        Kind::Number(text) => text.to_string(),
        Kind::Text(text) => format!("\"{}\"", text.chars().take(60).collect::<String>()),
        Kind::Bool(truth) => truth.to_string(),
        other => other.word().to_owned(),
    }
}

/// Rejects a value that is not a dict.
pub fn table(root: Node<'_>) -> Result<Node<'_>, Error> {
    match &root.value().kind {
        Kind::Object(_) => Ok(root),
        other => Err(WRONG_TYPE.at(root.place(), "a config", other.word())),
    }
}
