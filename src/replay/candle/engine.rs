//! The steps of a slice: forward, backward, norm, update.

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{Device, Tensor, Var};

use crate::candle::architecture::{Architecture, BalanceRule};
use crate::candle::attention::TokenRows;
use crate::candle::objective::{self, ObjectiveTerms};
use crate::candle::task::{HiddenState, SliceTask, TaskStep};
use crate::candle::update::{MomentTensors, UpdatedTensor};
use crate::candle::weights::{CandleDecoder, NamedWeights};
use crate::candle::{ComputeDevice, EngineError};

/// Numbers that a pass may keep for its backward pass: 2 GiB of them.
const MOST_KEPT: u64 = 1 << 29;
/// The stack of the threads that walk the tape, which they do recursively.
const STACK: usize = 1 << 28;
/// The prefixes of moment names.
const MOMENTS: [&str; 3] = ["optimizer.m.", "optimizer.v.", "optimizer.x."];
/// The state that a rule moves and no gradient.
const ROUTER_BIAS: &str = "gate.e_score_correction_bias";

/// The result of a step. Norms are float64 sums over float32 numbers; tensors that are not trained have a gradient of 0.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineStep {
    /// Mean nats of the targets that count, before the update.
    pub loss: f64,
    /// The norm of all gradients before clipping.
    pub norm: f64,
    /// The norm of each tensor's gradient.
    pub gradients: BTreeMap<String, f64>,
    /// How far each tensor moved.
    pub updates: BTreeMap<String, f64>,
    /// The norm of each tensor after the step.
    pub sizes: BTreeMap<String, f64>,
    /// How far each tensor moved since the start.
    pub moved: BTreeMap<String, f64>,
    /// Of each sparse layer, the tokens that each expert was chosen for.
    pub routed: Vec<Vec<u64>>,
}

/// A slice as it came out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineRun {
    /// The steps that were made; the last one is not finite where there are fewer than were asked for.
    pub steps: Vec<EngineStep>,
    /// The tensors after them.
    pub tensors: BTreeMap<String, Vec<f32>>,
}

/// Executes a slice on a pool of threads, as long as `goes_on` says so after each step.
///
/// # Errors
/// [`EngineError::Unsupported`] where the engine does not implement what the slice states; [`EngineError::NoGradient`]
/// where a trained tensor is not on the tape; others where device, start or candle fail.
pub fn execute(
    task: &SliceTask,
    compute: &ComputeDevice,
    threads: usize,
    goes_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<EngineRun, EngineError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pool = pool.map_err(|error| EngineError::Device {
        device: compute.name().to_owned(),
        why: error.to_string(),
    })?;
    let _mode = task.precision.begin(&compute.device)?;
    pool.install(|| Trainer::new(task, &compute.device)?.run(goes_on))
}

/// The residual stream behind each part of a model for the first sequence of a slice, and the nats of its targets.
///
/// # Errors
/// As [`execute`].
pub fn hidden_states(
    task: &SliceTask,
    compute: &ComputeDevice,
) -> Result<Vec<HiddenState>, EngineError> {
    let plan = Architecture::read(&task.config)?;
    let _mode = task.precision.begin(&compute.device)?;
    let weights = task.precision.weights(task.weights(&compute.device)?)?;
    let Some(batch) = task.first_sequence() else { return Ok(Vec::new()) };
    let (precision, device) = (task.precision, &compute.device);
    let decoder = CandleDecoder { plan: &plan, weights: &weights, precision, device };
    let output = decoder.run(&batch, true)?;
    let nats = objective::nats(&output.logits, &batch.targets, 0.0)?;
    let mut hidden = output.hidden;
    hidden.push(HiddenState { part: "head".to_owned(), rows: nats.to_vec1()? });
    Ok(hidden)
}

impl SliceTask {
    /// The weights of the start, by name.
    pub(crate) fn weights(&self, device: &Device) -> Result<NamedWeights, EngineError> {
        let is_moment = |name: &str| MOMENTS.iter().any(|prefix| name.starts_with(prefix));
        let weights = self.tensors.iter().filter(|(name, _)| !is_moment(name));
        weights
            .map(|(name, data)| {
                let tensor = Tensor::from_slice(&data.values, data.shape.as_slice(), device)?;
                Ok((name.clone(), tensor))
            })
            .collect()
    }

    /// The first sequence of the first step; every target counts.
    pub(crate) fn first_sequence(&self) -> Option<TokenRows<'_>> {
        let step = self.steps.first()?;
        let mut batch = self.rows_of(step, 0, 1);
        batch.counted.fill(true);
        Some(batch)
    }

    /// Some rows of a step.
    fn rows_of<'a>(&self, step: &'a TaskStep, first: usize, rows: usize) -> TokenRows<'a> {
        let (length, width) = (self.seq_len, self.seq_len + 1);
        let own = step.tokens.chunks(width).skip(first).take(rows);
        let range = first * length..(first + rows) * length;
        let part = |all: &'a [u32]| all.get(range.clone()).unwrap_or_default();
        let counted = step.counted.get(range.clone()).unwrap_or_default();
        TokenRows {
            inputs: own.clone().flat_map(|row| row.iter().take(length)).copied().collect(),
            targets: own.flat_map(|row| row.iter().skip(1)).copied().collect(),
            counted: match counted {
                [] => vec![true; rows * length],
                counted => counted.to_vec(),
            },
            rows,
            length,
            documents: part(&step.documents),
            positions: part(&step.positions),
        }
    }
}

/// A model that is trained.
struct Trainer<'a> {
    task: &'a SliceTask,
    plan: Architecture,
    device: &'a Device,
    weights: NamedWeights,
    start: NamedWeights,
    moments: BTreeMap<String, MomentTensors>,
    /// Of each trained tensor, the number of its group.
    groups: BTreeMap<String, usize>,
    /// Rows of a micro-batch that are executed at a time.
    rows_at_once: usize,
}

/// The gradients of a step, and what came with them.
#[derive(Default)]
struct StepGradients {
    sums: NamedWeights,
    loss: f64,
    routed: Vec<Vec<u64>>,
}

impl<'a> Trainer<'a> {
    fn new(task: &'a SliceTask, device: &'a Device) -> Result<Self, EngineError> {
        let plan = Architecture::read(&task.config)?;
        let rows_at_once = rows_at_once(task, &plan)?;
        let weights = task.weights(device)?;
        let (mut groups, mut moments) = (BTreeMap::new(), BTreeMap::new());
        for (number, group) in task.groups.iter().enumerate() {
            for name in &group.tensors {
                let Some(weight) = weights.get(name) else { continue };
                groups.entry(name.clone()).or_insert(number);
                let [mean, square, greatest] =
                    MOMENTS.map(|prefix| match task.tensors.get(&format!("{prefix}{name}")) {
                        Some(data) => Tensor::from_slice(&data.values, weight.shape(), device),
                        None => weight.zeros_like(),
                    });
                let own = MomentTensors { mean: mean?, square: square?, greatest: greatest? };
                moments.insert(name.clone(), own);
            }
        }
        let start = weights.clone();
        Ok(Self { task, plan, device, weights, start, moments, groups, rows_at_once })
    }

    fn run(mut self, goes_on: &dyn Fn(usize) -> bool) -> Result<EngineRun, EngineError> {
        let mut run = EngineRun::default();
        for (number, step) in self.task.steps.iter().enumerate() {
            let made = self.step(number, step)?;
            let is_finite = made.loss.is_finite() && made.norm.is_finite();
            run.steps.push(made);
            if !is_finite || !goes_on(number + 1) {
                break;
            }
        }
        for (name, tensor) in &self.weights {
            run.tensors.insert(name.clone(), tensor.flatten_all()?.to_vec1()?);
        }
        Ok(run)
    }

    fn step(&mut self, number: usize, step: &TaskStep) -> Result<EngineStep, EngineError> {
        let gradients = self.gradients(step)?;
        let mut made = EngineStep {
            loss: gradients.loss,
            norm: 0.0,
            gradients: BTreeMap::new(),
            updates: BTreeMap::new(),
            sizes: BTreeMap::new(),
            moved: BTreeMap::new(),
            routed: gradients.routed,
        };
        for name in self.weights.keys() {
            let norm = gradients.sums.get(name).map(length).transpose()?;
            made.gradients.insert(name.clone(), norm.unwrap_or(0.0));
        }
        made.norm = made.gradients.values().map(|norm| norm * norm).sum::<f64>().sqrt();
        if !(made.loss.is_finite() && made.norm.is_finite()) {
            return Ok(made);
        }
        let norm = step.clip_by.unwrap_or(made.norm);
        let clip = self.task.clip;
        let factor = if clip > 0.0 && norm > clip { clip / norm } else { 1.0 };
        let before = self.weights.clone();
        self.update(number, step, &gradients.sums, factor)?;
        self.move_router_biases(&made.routed)?;
        for (name, weight) in &self.weights {
            let from = |of: &NamedWeights| match of.get(name) {
                Some(before) => length(&(weight - before)?),
                None => Ok(0.0),
            };
            made.updates.insert(name.clone(), from(&before)?);
            made.moved.insert(name.clone(), from(&self.start)?);
            made.sizes.insert(name.clone(), length(weight)?);
        }
        Ok(made)
    }

    /// The gradients of all micro-batches of a step, by their weights.
    fn gradients(&self, step: &TaskStep) -> Result<StepGradients, EngineError> {
        let micro_batches = self.task.micro_batches.max(1);
        let rows = self.task.batch_size / micro_batches;
        let counted = |batch: &TokenRows<'_>| batch.counted.iter().filter(|one| **one).count();
        let all = counted(&self.task.rows_of(step, 0, self.task.batch_size));
        let mut gradients = StepGradients::default();
        let mut seen = BTreeSet::new();
        for number in 0..micro_batches {
            let own = counted(&self.task.rows_of(step, number * rows, rows));
            let weight = if self.task.weighs_by_targets {
                own as f64 / all as f64
            } else {
                1.0 / micro_batches as f64
            };
            let times = if self.task.has_whole_balance_loss { 1.0 / weight } else { 1.0 };
            let mut done = 0;
            while done < rows {
                let some = self.rows_at_once.min(rows - done);
                let batch = self.task.rows_of(step, number * rows + done, some);
                let count = counted(&batch);
                done += some;
                if count > 0 {
                    let weight = weight * count as f64 / own as f64;
                    self.add_pass(&batch, weight, times, &mut gradients, &mut seen)?;
                }
            }
        }
        for name in self.groups.keys().filter(|name| !gradients.sums.contains_key(*name)) {
            if !seen.iter().any(|prefix: &String| name.starts_with(prefix.as_str())) {
                return Err(EngineError::NoGradient { tensor: name.clone() });
            }
        }
        for sum in gradients.sums.values_mut() {
            *sum = (&*sum * step.loss_scale)?;
        }
        Ok(gradients)
    }

    /// Runs rows forward and backward, and adds what comes out by its weight. Names of idle experts are noted.
    fn add_pass(
        &self,
        batch: &TokenRows<'_>,
        weight: f64,
        balance_times: f64,
        into: &mut StepGradients,
        idle: &mut BTreeSet<String>,
    ) -> Result<(), EngineError> {
        let mut weights = self.weights.clone();
        let mut variables = BTreeMap::new();
        for name in self.groups.keys() {
            if let Some(weight) = weights.get_mut(name) {
                let variable = Var::from_tensor(weight)?;
                *weight = variable.as_tensor().clone();
                variables.insert(name, variable);
            }
        }
        let precision = self.task.precision;
        let weights = precision.weights(weights)?;
        let (plan, device) = (&self.plan, self.device);
        let decoder = CandleDecoder { plan, weights: &weights, precision, device };
        let output = decoder.run(batch, false)?;
        let (label_smoothing, z_loss) = (self.task.label_smoothing, self.task.z_loss);
        let terms = ObjectiveTerms { label_smoothing, z_loss, balance_times };
        let loss = decoder.loss(batch, &output, terms)?;
        into.loss += weight * loss.nats;
        let of_pass = (loss.objective * weight)?.backward()?;
        idle.extend(output.routers.iter().flat_map(|router| router.idle()));
        for (name, variable) in variables {
            let Some(gradient) = of_pass.get(&variable) else { continue };
            let sum = match into.sums.get(name) {
                Some(sum) => (sum + gradient)?,
                None => gradient.clone(),
            };
            into.sums.insert(name.clone(), sum.detach());
        }
        into.routed.resize(output.routers.len(), Vec::new());
        for (sums, router) in into.routed.iter_mut().zip(&output.routers) {
            sums.resize(router.counts.len(), 0);
            sums.iter_mut().zip(&router.counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(())
    }

    /// Updates all trained tensors, with gradients scaled down by a factor.
    fn update(
        &mut self,
        number: usize,
        step: &TaskStep,
        gradients: &NamedWeights,
        factor: f64,
    ) -> Result<(), EngineError> {
        let count = self.task.updates_before + number as u64 + 1;
        for (name, group) in &self.groups {
            let (Some(rule), Some(numbers)) =
                (self.task.groups.get(*group), step.groups.get(*group))
            else {
                continue;
            };
            let (Some(weight), Some(moments)) =
                (self.weights.get_mut(name), self.moments.get_mut(name))
            else {
                continue;
            };
            let gradient = match gradients.get(name) {
                Some(gradient) if factor == 1.0 => gradient.clone(),
                Some(gradient) => (gradient * factor)?,
                // An expert without tokens: the moments go on.
                None => weight.zeros_like()?,
            };
            let own = UpdatedTensor { weight, gradient: &gradient, moments };
            *weight = rule.rule.apply(own, *numbers, count)?.detach();
        }
        Ok(())
    }

    /// Moves the biases that even the loads: up where an expert had fewer tokens than the mean, down where it had more.
    fn move_router_biases(&mut self, routed: &[Vec<u64>]) -> Result<(), EngineError> {
        let Some(experts) = &self.plan.experts else { return Ok(()) };
        let BalanceRule::Bias(rate) = experts.balance else { return Ok(()) };
        for (counts, layer) in routed.iter().zip(experts.dense_layers..) {
            let name = format!("model.layers.{layer}.mlp.{ROUTER_BIAS}");
            let Some(bias) = self.weights.get_mut(&name) else { continue };
            let all: u64 = counts.iter().sum();
            let moved = |count: &u64| match (count * counts.len() as u64).cmp(&all) {
                std::cmp::Ordering::Less => rate as f32,
                std::cmp::Ordering::Equal => 0.0,
                std::cmp::Ordering::Greater => -rate as f32,
            };
            let moves: Vec<f32> = counts.iter().map(moved).collect();
            *bias = (&*bias + Tensor::new(moves.as_slice(), self.device)?)?;
        }
        Ok(())
    }
}

/// The Euclidean norm of a tensor, added up in float64.
fn length(tensor: &Tensor) -> Result<f64, EngineError> {
    let numbers = tensor.flatten_all()?.to_vec1::<f32>()?;
    Ok(numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt())
}

/// Rows whose numbers fit into memory with all that their backward pass needs. Losses over all tokens of a micro-batch
/// are not those of its pieces, so that models with routers are not cut.
fn rows_at_once(task: &SliceTask, plan: &Architecture) -> Result<usize, EngineError> {
    let rows = (task.batch_size / task.micro_batches.max(1)).max(1);
    let product = |numbers: &[usize]| {
        numbers.iter().fold(1_u64, |product, number| product.saturating_mul(*number as u64))
    };
    let vectors = plan.heads * plan.head_size;
    let of_layer = product(&[16, plan.width + vectors])
        .saturating_add(product(&[6, plan.inner]))
        .saturating_add(product(&[6, plan.heads, task.seq_len]));
    let of_token =
        of_layer.saturating_mul(plan.layers as u64).saturating_add(product(&[6, plan.vocabulary]));
    let of_row = of_token.saturating_mul(task.seq_len as u64).max(1);
    let of_row = of_row.saturating_mul(task.precision.copies());
    let fit = usize::try_from(MOST_KEPT / of_row).unwrap_or(usize::MAX).min(rows);
    if fit == 0 || plan.experts.is_some() && fit < rows {
        let found = format!("{rows} sequences of {} tokens, {of_row} numbers each", task.seq_len);
        let expected = format!("at most {MOST_KEPT} numbers that a backward pass needs");
        return Err(EngineError::unsupported("batch_size", expected, found));
    }
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candle::ComputePrecision;
    use crate::candle::task::{GroupNumbersAt, StartTensor, TaskGroup, UpdateRule};
    use serde_json::json;

    /// A model of one block without moments; every tensor is trained.
    fn task() -> SliceTask {
        let config = json!({"model_type": "llama", "vocab_size": 7, "hidden_size": 4, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 6, "rms_norm_eps": 1e-6, "rope_theta": 100.0,
            "tie_word_embeddings": true});
        let block = "model.layers.0";
        let shapes = [
            ("model.embed_tokens.weight".to_owned(), vec![7, 4]),
            (format!("{block}.self_attn.q_proj.weight"), vec![4, 4]),
            (format!("{block}.self_attn.k_proj.weight"), vec![4, 4]),
            (format!("{block}.self_attn.v_proj.weight"), vec![4, 4]),
            (format!("{block}.self_attn.o_proj.weight"), vec![4, 4]),
            (format!("{block}.mlp.gate_proj.weight"), vec![6, 4]),
            (format!("{block}.mlp.up_proj.weight"), vec![6, 4]),
            (format!("{block}.mlp.down_proj.weight"), vec![4, 6]),
            (format!("{block}.input_layernorm.weight"), vec![4]),
            (format!("{block}.post_attention_layernorm.weight"), vec![4]),
            ("model.norm.weight".to_owned(), vec![4]),
        ];
        let tensor = |(name, shape): (String, Vec<usize>)| {
            let count: usize = shape.iter().product();
            let values = (0..count).map(|at| ((at * 7 + name.len()) as f32).sin()).collect();
            (name, StartTensor { shape, values })
        };
        let tensors: BTreeMap<_, _> = shapes.into_iter().map(tensor).collect();
        let rule = UpdateRule::AdamW { epsilon: 1e-8, amsgrad: false };
        let numbers = GroupNumbersAt { rate: 0.01, decay: 0.1, beta1: 0.9, beta2: 0.95 };
        let step = TaskStep {
            tokens: vec![0, 1, 2, 3, 4, 5, 6, 0],
            counted: Vec::new(),
            documents: Vec::new(),
            positions: Vec::new(),
            loss_scale: 1.0,
            clip_by: None,
            groups: vec![numbers],
        };
        SliceTask {
            config: config.as_object().unwrap().clone(),
            precision: ComputePrecision::Float32,
            batch_size: 2,
            seq_len: 3,
            updates_before: 0,
            micro_batches: 1,
            weighs_by_targets: false,
            has_whole_balance_loss: false,
            label_smoothing: 0.0,
            z_loss: 0.0,
            clip: 0.0,
            groups: vec![TaskGroup { tensors: tensors.keys().cloned().collect(), rule }],
            tensors,
            steps: vec![step; 4],
        }
    }

    fn run(task: &SliceTask, goes_on: &(dyn Fn(usize) -> bool + Sync)) -> EngineRun {
        execute(task, &ComputeDevice::cpu(), 1, goes_on).unwrap()
    }

    #[test]
    fn a_slice_is_trained_and_the_same_on_any_threads() {
        let task = task();
        let made = run(&task, &|_| true);
        assert_eq!(made.steps.len(), 4);
        assert!(made.steps[3].loss < made.steps[0].loss, "one batch, learned four times");
        assert!(made.steps.iter().flat_map(|step| step.gradients.values()).all(|norm| *norm > 0.0));
        let other = execute(&task, &ComputeDevice::cpu(), 2, &|_| true).unwrap();
        assert_eq!(made, other);
        assert_eq!(run(&task, &|done| done < 2).steps, made.steps[..2]);
    }

    /// The slope of the loss along a gradient is the square of its length.
    #[test]
    fn gradients_are_those_of_the_loss() {
        let mut task = task();
        task.steps.truncate(1);
        for group in &mut task.steps[0].groups {
            (group.decay, group.beta1) = (0.0, 0.0);
        }
        task.groups[0].rule = UpdateRule::Sgd { dampening: 0.0, nesterov: false };
        let loss = |rate: f64| {
            let mut task = task.clone();
            task.steps.push(task.steps[0].clone());
            task.steps[0].groups[0].rate = rate;
            run(&task, &|_| true).steps[1].loss
        };
        let norm = run(&task, &|_| true).steps[0].norm;
        let rate = 2e-3;
        let slope = (loss(-rate) - loss(rate)) / (2.0 * rate);
        assert!((slope / (norm * norm) - 1.0).abs() < 2e-3, "{slope} {}", norm * norm);
    }

    #[test]
    fn a_tensor_without_a_gradient_is_an_error_with_its_name() {
        let mut task = task();
        let unused = StartTensor { shape: vec![4], values: vec![1.0; 4] };
        task.tensors.insert("model.layers.0.unused.weight".to_owned(), unused);
        // A tensor that is not trained needs none.
        assert_eq!(run(&task, &|_| true).steps.len(), 4);
        task.groups[0].tensors.insert("model.layers.0.unused.weight".to_owned());
        let error = execute(&task, &ComputeDevice::cpu(), 1, &|_| true).unwrap_err();
        assert_eq!(error.to_string(), "no gradient reaches `model.layers.0.unused.weight`");
    }

    #[test]
    fn bad_input_is_refused() {
        type Edit = fn(&mut SliceTask);
        let edits: [(Edit, &str); 6] = [
            (
                |task| drop(task.tensors.remove("model.norm.weight")),
                "`model.norm.weight`: expected",
            ),
            (|task| task.steps[0].tokens.fill(7), "candle: "),
            (|task| task.steps[0].tokens.truncate(3), "candle: "),
            (
                |task| drop(task.config.insert("model_type".to_owned(), "mamba".into())),
                "`model_type`: expected llama, mistral",
            ),
            (|task| task.seq_len = 1 << 20, "`batch_size`: expected at most"),
            (
                |task| drop(task.config.insert("hidden_size".to_owned(), (1_u64 << 40).into())),
                "`hidden_size`: expected a whole number",
            ),
        ];
        for (edit, said) in edits {
            let mut task = task();
            edit(&mut task);
            let error = execute(&task, &ComputeDevice::cpu(), 1, &|_| true).unwrap_err();
            assert!(error.to_string().starts_with(said), "{error}");
        }
    }
}
