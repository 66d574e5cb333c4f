//! The recorded steps of a bundle: the batches that were read and the result of each step.
//!
//! Everything is checked against the run's own config before a step is made: shapes, the vocabulary,
//! finite numbers, and the records of the run.

use std::collections::BTreeMap;

use super::course::Marks;
use super::machine::ReplayedRun;
use super::names;
use super::records::RecordsFound;
use super::stated;
use super::step::Step;
use crate::model::Config;
use crate::schedule::LearningRateSchedule;
use crate::{Precision, Regime, RunShape, TensorData, TensorFile};
use repro_bundle::bundle::{self, Bundle};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, Node};
use repro_model::replay::{BAD_SLICE, BEYOND_VOCABULARY, Extent, NO_SLICE, ReplayComparison};

/// The prefix of logged gradients' names.
pub const GRADIENT: &str = "gradient.";
/// How far the mean of logged losses may be off, relative to it: they are float32.
const OF_MEANS: f64 = 1e-6;
/// How far float32 norms of large models may be off, relative to them.
const OF_NORMS: f64 = 0.01;

/// A stretch of steps as its bundle describes it.
#[derive(Debug)]
pub struct Slice {
    /// Its file, as messages call it.
    pub place: Location,
    /// The steps before it.
    pub from: u64,
    /// The checkpoint that the receipt says it starts from.
    pub checkpoint: Option<u64>,
    /// How its steps were made: as it states itself, or else as the config says.
    pub regime: Regime,
    /// The tokens of each step: the rows of the batch, each with the token after it.
    pub rows: Vec<Vec<u32>>,
    /// Of each step, what is known of its tokens; empty where there is nothing.
    pub marks: Vec<Marks>,
    /// The result of each step.
    pub steps: Vec<Step>,
    /// The tensors, in the order of the log; empty where nothing was logged of them.
    pub tensors: Vec<Logged>,
    /// Of each step, the gradients that were learned from, by our names; empty where they were not logged, or not asked for.
    pub gradients: Vec<BTreeMap<String, Vec<f32>>>,
    /// Whether it holds gradients.
    pub has_gradients: bool,
    /// Whether its norms were added up in float64.
    pub exact_norms: bool,
    /// How the records of the run agree with it.
    pub records: RecordsFound,
}

/// The logged state of a tensor at the end of the slice.
#[derive(Debug, Clone)]
pub struct Logged {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: Option<Digest>,
    /// How far it moved.
    pub moved: Option<f64>,
}

impl Slice {
    /// Where update `update` is in it, or would be if it went on.
    pub fn at(&self, update: u64) -> Option<usize> {
        usize::try_from(update.checked_sub(self.from)?).ok()
    }

    /// Reads the slice of a run that begins after `from` steps, and its gradients where a sample is asked for.
    pub fn load(
        subject: &ReplayedRun<'_>,
        (from, is_sampled): (u64, bool),
        model: &Config,
    ) -> Result<Self, Error> {
        let (bundle, shape) = (subject.bundle, subject.shape);
        let entry = bundle.receipt().slices.iter().find(|slice| slice.from_step == from);
        let Some(entry) = entry else {
            let place = Location::file(bundle.name());
            return Err(NO_SLICE.at(place, listed(bundle), format!("no slice from step {from}")));
        };
        let place = bundle.place(&entry.file);
        let file = TensorFile::parse(&place.file, &bundle.tensors(&entry.file)?)?;
        let reader = Reader { file: &file, place: place.clone(), count: entry.steps as usize };
        let rows = reader.rows(shape, model.vocab_size)?;
        let marks = reader.marks(shape)?;
        let tensors = tensors(bundle, &entry.file)?;
        let mut steps = reader.steps(tensors.len(), model)?;
        let moved: Vec<_> = tensors.iter().filter_map(|tensor| tensor.moved).collect();
        if let Some(last) = steps.last_mut().filter(|_| !moved.is_empty()) {
            last.moved = Some(moved);
        }
        let stated = stated::regime(bundle, &entry.file, (from, entry.steps), shape)?;
        let declared = subject.declared();
        let is_stated = stated.is_some();
        if is_stated && subject.comparison() == ReplayComparison::Bitwise {
            let expected =
                "no settings of its own: a run of this trainer states them in its config";
            return Err(BAD_SLICE.at(place, expected, "settings next to the slice"));
        }
        let regime = stated.map_or_else(|| declared.clone(), Ok)?;
        let dtype = subject.config.required("dtype")?;
        if dtype.text()? != "float32" && regime.precision == Precision::Full {
            let expected = "`float32`, or `compute` in the slice's settings";
            return Err(BAD_SLICE.at(dtype.place(), expected, dtype.printed()?));
        }
        reader.micro_batches(&mut steps, &regime, &marks)?;
        let gradients = if is_sampled { reader.gradients()? } else { Vec::new() };
        let exact_norms = stated::has_exact_norms(bundle, &entry.file)?;
        let comparison = subject.comparison();
        let mut records = RecordsFound::of(bundle, &place, (from, &steps), &regime, comparison)?;
        if is_stated {
            let schedule = subject.config.get("schedule");
            let declared = schedule
                .map(|_| LearningRateSchedule::read(subject.config, shape.tokens_per_step()));
            if !matches!(declared, Some(Ok(_))) {
                records.below_peak(subject.config, from..from + entry.steps, &regime);
            }
            if let Some(declared) = declared {
                records.scheduled(from..from + entry.steps, declared, &regime);
            }
        }
        let checkpoint = entry.checkpoint_step;
        Ok(Self {
            place,
            from,
            checkpoint,
            regime,
            rows,
            marks,
            steps,
            tensors,
            gradients,
            has_gradients: file.tensors.keys().any(|name| name.starts_with(GRADIENT)),
            exact_norms,
            records,
        })
    }
}

/// The slices that a bundle has, in words.
pub fn listed(bundle: &Bundle) -> String {
    let one = |slice: &bundle::DeclaredSlice| Extent::of(slice).to_string();
    match bundle.receipt().slices.as_slice() {
        [] => "a bundle with a slice".to_owned(),
        slices => format!("within {}", slices.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// A file of a slice of so many steps.
struct Reader<'a> {
    file: &'a TensorFile,
    place: Location,
    count: usize,
}

impl Reader<'_> {
    fn refuse(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        BAD_SLICE.at(self.place.clone(), expected, found)
    }

    fn rows(&self, shape: RunShape, vocabulary: usize) -> Result<Vec<Vec<u32>>, Error> {
        let shape = [self.count, shape.batch_size, shape.seq_len + 1];
        let tokens = self.file.tensors.get("tokens");
        let numbers =
            tokens.filter(|tokens| tokens.shape() == shape).and_then(TensorData::as_numbers);
        let Some(numbers) = numbers else {
            let found =
                tokens.map_or("none".to_owned(), |data| format!("shape {:?}", data.shape()));
            return Err(self.refuse(format!("`tokens`, U32 of shape {shape:?}"), found));
        };
        let per_step = shape[1] * shape[2];
        if let Some(at) = numbers.iter().position(|token| *token as usize >= vocabulary) {
            let token = numbers.get(at).copied().unwrap_or_default();
            let (step, within) = (at / per_step, at % per_step);
            let (row, column) = (within / shape[2], within % shape[2]);
            let expected = format!("tokens below {vocabulary}, the `vocab_size` of the config");
            let found =
                format!("{token} in step {step} of the slice, row {row}, position {column}");
            return Err(BEYOND_VOCABULARY.at(self.place.clone(), expected, found));
        }
        Ok(numbers.chunks(per_step).map(<[u32]>::to_vec).collect())
    }

    /// A number for each token of each step, where the slice has them.
    fn of_tokens(&self, name: &str, shape: RunShape) -> Result<Option<Vec<u32>>, Error> {
        let shape = [self.count, shape.batch_size, shape.seq_len];
        let Some(data) = self.file.tensors.get(name) else { return Ok(None) };
        match data.as_numbers().filter(|_| data.shape() == shape) {
            Some(numbers) => Ok(Some(numbers)),
            None => {
                let found = format!("shape {:?}", data.shape());
                Err(self.refuse(format!("`{name}`, U32 of shape {shape:?}"), found))
            }
        }
    }

    fn marks(&self, shape: RunShape) -> Result<Vec<Marks>, Error> {
        let known = |name: &str| {
            name.starts_with("logged.")
                || name.starts_with(GRADIENT)
                || ["tokens", "counted", "documents", "positions"].contains(&name)
        };
        if let Some(name) = self.file.tensors.keys().find(|name| !known(name)) {
            let expected =
                "`tokens`, `counted`, `documents`, `positions`, gradients and logged values";
            return Err(self.refuse(expected, format!("`{name}`")));
        }
        let all = ["counted", "documents", "positions"].map(|name| self.of_tokens(name, shape));
        let [counted, documents, positions] = all;
        let (counted, documents, positions) = (counted?, documents?, positions?);
        if counted.is_none() && documents.is_none() && positions.is_none() {
            return Ok(Vec::new());
        }
        if let Some(at) = positions.iter().flatten().position(|at| *at as usize >= shape.seq_len) {
            let expected = format!("`positions` below `seq_len`, {}", shape.seq_len);
            let found = positions.iter().flatten().nth(at).copied().unwrap_or_default();
            return Err(self.refuse(expected, found.to_string()));
        }
        let per_step = shape.batch_size * shape.seq_len;
        let part = |of: &Option<Vec<u32>>, step: usize| {
            let all = of.as_deref().unwrap_or_default();
            all.chunks(per_step.max(1)).nth(step).unwrap_or_default().to_vec()
        };
        let marks: Vec<_> = (0..self.count)
            .map(|step| Marks {
                counted: part(&counted, step).into_iter().map(|counted| counted != 0).collect(),
                documents: part(&documents, step),
                positions: part(&positions, step),
            })
            .collect();
        let is_empty = |marks: &Marks| !marks.counted.is_empty() && !marks.counted.contains(&true);
        match marks.iter().position(is_empty) {
            None => Ok(marks),
            Some(at) => {
                let expected = "at least one counted target in each step of `counted`";
                Err(self.refuse(expected, format!("none in step {at} of the slice")))
            }
        }
    }

    fn steps(&self, tensors: usize, model: &Config) -> Result<Vec<Step>, Error> {
        let mut steps = vec![Step::default(); self.count];
        let single = |values: Vec<f64>| values.first().copied();
        self.floats("loss", 1, &mut steps, |step, values| step.loss = single(values))?;
        self.floats("grad_norm", 1, &mut steps, |step, values| step.norm = single(values))?;
        self.floats("clip_norm", 1, &mut steps, |step, values| step.clipped_by = single(values))?;
        self.floats("tensor_grad_norm", tensors, &mut steps, |step, values| {
            step.gradients = Some(values)
        })?;
        self.floats("tensor_update_norm", tensors, &mut steps, |step, values| {
            step.updates = Some(values)
        })?;
        self.floats("tensor_norm", tensors, &mut steps, |step, values| step.sizes = Some(values))?;
        if let Some(digests) = self.numbers("tensor_sha256", &[self.count, tensors])? {
            for (step, digests) in steps.iter_mut().zip(digests.chunks(tensors.max(1))) {
                step.digests = Some(digests.to_vec());
            }
        }
        self.routing(&mut steps, model)?;
        match steps.first() {
            Some(step) if step.loss.is_some() => Ok(steps),
            _ => Err(self.refuse("`logged.loss`", "none")),
        }
    }

    fn floats(
        &self,
        name: &str,
        width: usize,
        steps: &mut [Step],
        put: impl Fn(&mut Step, Vec<f64>),
    ) -> Result<(), Error> {
        let name = format!("logged.{name}");
        let Some(data) = self.file.tensors.get(&name) else { return Ok(()) };
        let flat = [self.count];
        let shape = [self.count, width];
        let shape: &[usize] = if data.shape().len() == 1 && width == 1 { &flat } else { &shape };
        let values = data.as_floats().filter(|_| data.shape() == shape);
        let Some(values) = values else {
            let expected = format!("`{name}`, F32 of shape {shape:?}");
            return Err(self.refuse(expected, format!("shape {:?}", data.shape())));
        };
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let found = format!("a non-finite number in step {}", at / width.max(1));
            return Err(self.refuse(format!("finite numbers in `{name}`"), found));
        }
        for (step, values) in steps.iter_mut().zip(values.chunks(width.max(1))) {
            put(step, values.iter().copied().map(f64::from).collect());
        }
        Ok(())
    }

    /// Losses and norms of micro-batches, which are those of the step taken apart.
    fn micro_batches(
        &self,
        steps: &mut [Step],
        regime: &Regime,
        marks: &[Marks],
    ) -> Result<(), Error> {
        let count = regime.micro_batches;
        self.floats("micro_loss", count, steps, |step, values| {
            step.micro_batches[0] = Some(values)
        })?;
        self.floats("micro_grad_norm", count, steps, |step, values| {
            step.micro_batches[1] = Some(values)
        })?;
        for (at, step) in steps.iter().enumerate() {
            let weights = weights(regime, marks.get(at));
            let [losses, norms] = &step.micro_batches;
            let mean = losses.as_ref().map(|losses| {
                std::iter::zip(losses, &weights).map(|(loss, weight)| loss * weight).sum::<f64>()
            });
            if let (Some(mean), Some(loss)) = (mean, step.loss)
                && (mean - loss).abs() > OF_MEANS * mean.abs().max(loss.abs())
            {
                let expected = format!("`logged.loss` of {mean}, the mean of `logged.micro_loss`");
                return Err(self.refuse(expected, format!("{loss} in step {at} of the slice")));
            }
            let most = norms.as_ref().map(|norms| norms.iter().sum::<f64>());
            if let (Some(most), Some(norm)) = (most, step.norm)
                && norm > most * (1.0 + OF_NORMS)
            {
                let expected = format!(
                    "`logged.grad_norm` of at most {most}, the sum of `logged.micro_grad_norm`"
                );
                return Err(self.refuse(expected, format!("{norm} in step {at} of the slice")));
            }
        }
        Ok(())
    }

    /// The gradients of each step, by our names.
    fn gradients(&self) -> Result<Vec<BTreeMap<String, Vec<f32>>>, Error> {
        let mut steps = vec![BTreeMap::new(); self.count];
        for (name, data) in &self.file.tensors {
            let Some(tensor) = name.strip_prefix(GRADIENT) else { continue };
            let values = data.as_floats().filter(|_| data.shape().first() == Some(&self.count));
            let Some(values) = values.filter(|values| values.iter().all(|one| one.is_finite()))
            else {
                let expected = format!("`{name}`, finite F32 of {} steps", self.count);
                return Err(self.refuse(expected, format!("shape {:?}", data.shape())));
            };
            let per_step = (values.len() / self.count.max(1)).max(1);
            for (step, values) in steps.iter_mut().zip(values.chunks(per_step)) {
                step.insert(names::ours(tensor), values.to_vec());
            }
        }
        Ok(steps)
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Option<Vec<u32>>, Error> {
        let name = format!("logged.{name}");
        let Some(data) = self.file.tensors.get(&name) else { return Ok(None) };
        match data.as_numbers().filter(|_| data.shape() == shape) {
            Some(numbers) => Ok(Some(numbers)),
            None => {
                let expected = format!("`{name}`, U32 of shape {shape:?}");
                Err(self.refuse(expected, format!("shape {:?}", data.shape())))
            }
        }
    }

    fn routing(&self, steps: &mut [Step], model: &Config) -> Result<(), Error> {
        if !self.file.tensors.contains_key("logged.routed") {
            return Ok(());
        }
        let Some(mixture) = &model.mixture else {
            return Err(self.refuse("no `logged.routed`: the model has no routers", "one"));
        };
        let (layers, experts) =
            (model.num_hidden_layers - mixture.num_dense_layers, mixture.num_experts);
        let counts = self.numbers("routed", &[self.count, layers, experts])?.unwrap_or_default();
        let wide = |layer: &[u32]| layer.iter().copied().map(u64::from).collect::<Vec<_>>();
        for (step, counts) in steps.iter_mut().zip(counts.chunks((layers * experts).max(1))) {
            step.routed = Some(counts.chunks(experts.max(1)).map(wide).collect());
        }
        Ok(())
    }
}

/// The weight of each micro-batch of a step among all.
fn weights(regime: &Regime, marks: Option<&Marks>) -> Vec<f64> {
    let count = regime.micro_batches.max(1);
    let counted = marks.map(|marks| marks.counted.as_slice()).filter(|all| !all.is_empty());
    match counted.filter(|_| regime.by_targets) {
        None => vec![1.0 / count as f64; count],
        Some(all) => {
            let of = |part: &[bool]| part.iter().filter(|counts| **counts).count() as f64;
            all.chunks((all.len() / count).max(1)).map(|part| of(part) / of(all)).collect()
        }
    }
}

/// The lines of the file beside a slice.
fn tensors(bundle: &Bundle, file: &str) -> Result<Vec<Logged>, Error> {
    let stem = file.strip_suffix(".safetensors").unwrap_or(file);
    let beside = format!("{stem}.tensors.jsonl");
    if !bundle.files().contains_key(&beside) {
        return Ok(Vec::new());
    }
    let line = |node: Node<'_>| {
        node.only(&["name", "sha256_after", "update_norm"])?;
        let digest = |node: Node<'_>| {
            let text = node.text()?;
            let wrong = || bundle::BAD_DIGEST.at(node.place(), "a digest", format!("`{text}`"));
            Digest::parse_hex(text).ok_or_else(wrong)
        };
        Ok(Logged {
            name: node.required("name")?.text()?.to_owned(),
            digest: node.get("sha256_after").map(digest).transpose()?,
            moved: node.get("update_norm").map(Node::float).transpose()?,
        })
    };
    let logged: Vec<_> =
        bundle.document(&beside)?.root().items()?.map(line).collect::<Result<_, Error>>()?;
    let some = |has: fn(&Logged) -> bool| {
        let count = logged.iter().filter(|tensor| has(tensor)).count();
        count == 0 || count == logged.len()
    };
    if some(|tensor| tensor.moved.is_some()) && some(|tensor| tensor.digest.is_some()) {
        return Ok(logged);
    }
    let expected = "`sha256_after` and `update_norm` in every line or in none";
    Err(BAD_SLICE.at(bundle.place(&beside), expected, "lines without them"))
}
