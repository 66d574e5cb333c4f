//! A slice for `crate::candle`: plain data in, steps in the terms of a log out.

use std::collections::BTreeMap;

use super::account::{SecondOutcome, SecondRun};
use super::course::Course;
use super::machine::Machine;
use super::step::{Layout, Step};
use crate::backend::device_failed;
use crate::candle::{
    ComputeDevice, ComputePrecision, EngineError, EngineRun, EngineStep, GroupNumbersAt,
    HiddenState, MuonRule, ScaleRule, SliceTask, StartTensor, TaskGroup, TaskStep, UpdateRule,
};
use crate::learner::Values;
use crate::model::PartRows;
use crate::{Muon, MuonScale, MuonVariant, ParameterGroup, Precision, TensorFile, UpdateMethod};
use repro_core::source::{Error, Location};
use repro_model::replay::CANDLE_FAILED;

/// Executes a course with candle.
pub fn execute(course: &Course, machine: &Machine) -> Result<SecondOutcome, Error> {
    let compute = device(machine)?;
    let layout = course.layout()?;
    let run = task(course, &layout).and_then(|task| {
        let run = crate::candle::execute(&task, &compute, machine.threads, &|_| true)?;
        Ok((task, run))
    });
    match run {
        Ok((task, run)) => Ok(SecondOutcome::Made(told(&layout.names, &task, run))),
        Err(error @ EngineError::Unsupported { .. }) => {
            Ok(SecondOutcome::Unknown(format!("the second engine does not support {error}")))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// The rows behind each part of candle's model, for the first sequence and the weights of the start.
pub fn rows_of_parts(course: &Course, machine: &Machine) -> Result<Vec<PartRows<f64>>, Error> {
    let compute = device(machine)?;
    let layout = course.layout()?;
    let hidden =
        task(course, &layout).and_then(|task| crate::candle::hidden_states(&task, &compute));
    let hidden = hidden.map_err(|error| failed(&error))?;
    let wide = hidden.into_iter().map(|HiddenState { part, rows }| {
        let rows = rows.into_iter().map(f64::from).collect();
        PartRows { part, rows }
    });
    Ok(wide.collect())
}

/// The libraries for candle's products and random numbers on CUDA, and the files that it looks for.
const CUDA_LIBRARIES: [(&str, &[&str]); 2] = [
    ("cuBLAS", &["libcublas.so", "libcublas.so.13", "libcublas.so.12"]),
    ("cuRAND", &["libcurand.so", "libcurand.so.10"]),
];

/// The device that was asked for. candle's loader panics where a library of CUDA is missing, so that ours looks first.
fn device(machine: &Machine) -> Result<ComputeDevice, Error> {
    let name = machine.second_device.as_deref().unwrap_or("cpu");
    if cfg!(feature = "cuda") && name.starts_with("cuda") {
        repro_kernels::device::open(name)
            .map_err(|error| device_failed(format!("`{name}`: {error}")))?;
        let is_missing =
            |files: &[&str]| !files.iter().any(|file| repro_kernels::device::has_library(file));
        if let Some((library, files)) = CUDA_LIBRARIES.iter().find(|(_, files)| is_missing(files)) {
            let why = format!(
                "`{name}`: candle needs {library}, and none of {} can be loaded. It is part of the CUDA toolkit; \
                 add its folder to `LD_LIBRARY_PATH`",
                files.join(", ")
            );
            return Err(device_failed(why));
        }
    }
    ComputeDevice::open(name).map_err(|error| device_failed(error.to_string()))
}

/// An engine that failed, which says nothing about the run.
fn failed(error: &EngineError) -> Error {
    let expected = "a slice that candle executes";
    CANDLE_FAILED.at(Location::file("--engine candle"), expected, error.to_string())
}

/// The slice as plain data.
fn task(course: &Course, layout: &Layout) -> Result<SliceTask, EngineError> {
    let regime = &course.regime;
    let refuse = |setting: &str, expected: &str, found: &str| {
        let [setting, expected, found] = [setting, expected, found].map(str::to_owned);
        EngineError::Unsupported { setting, expected, found }
    };
    if course.sampled.is_some() {
        return Err(refuse("--micro-batches", "whole steps", "a sample of micro-batches"));
    }
    Ok(SliceTask {
        config: course.config.clone(),
        precision: match regime.precision {
            Precision::Full => ComputePrecision::Float32,
            Precision::Tf32 => ComputePrecision::Tf32,
            Precision::Autocast => ComputePrecision::Autocast,
            Precision::Bfloat16 => ComputePrecision::Bfloat16,
        },
        batch_size: regime.shape.batch_size,
        seq_len: regime.shape.seq_len,
        tensors: start(&course.start.tensors),
        updates_before: course.counted,
        micro_batches: regime.micro_batches,
        weighs_by_targets: regime.by_targets,
        has_whole_balance_loss: regime.balance_whole,
        label_smoothing: regime.terms.label_smoothing,
        z_loss: regime.terms.z_loss,
        clip: regime.optimizer.clip,
        groups: groups(course, layout)?,
        steps: (0..course.steps).map(|at| step(course, at)).collect(),
    })
}

/// Weights and moments; what is not float32 is no tensor of a model.
fn start(file: &TensorFile) -> BTreeMap<String, StartTensor> {
    let mut tensors = BTreeMap::new();
    for (name, data) in &file.tensors {
        if let Some(values) = data.as_floats() {
            tensors.insert(name.clone(), StartTensor { shape: data.shape().to_vec(), values });
        }
    }
    tensors
}

/// The groups with the names of their tensors.
fn groups(course: &Course, layout: &Layout) -> Result<Vec<TaskGroup>, EngineError> {
    let group = |(number, group): (usize, &ParameterGroup)| {
        let all = std::iter::zip(&layout.names, &layout.groups);
        let own = all.filter(|(_, group)| **group == Some(number));
        Ok(TaskGroup { tensors: own.map(|(name, _)| name.clone()).collect(), rule: rule(group)? })
    };
    course.regime.optimizer.groups.iter().enumerate().map(group).collect()
}

fn rule(group: &ParameterGroup) -> Result<UpdateRule, EngineError> {
    let epsilon = group.epsilon;
    Ok(match group.method {
        UpdateMethod::AdamW { amsgrad } => UpdateRule::AdamW { epsilon, amsgrad },
        UpdateMethod::Adam { amsgrad } => UpdateRule::Adam { epsilon, amsgrad },
        UpdateMethod::Sgd { dampening, nesterov } => UpdateRule::Sgd { dampening, nesterov },
        UpdateMethod::Lion => UpdateRule::Lion,
        UpdateMethod::Muon(muon) => UpdateRule::Muon(muon_rule(muon, epsilon)?),
    })
}

fn muon_rule(muon: Muon, epsilon: f64) -> Result<MuonRule, EngineError> {
    let is_torch = match muon.variant {
        MuonVariant::Reference => false,
        MuonVariant::Torch => true,
        MuonVariant::Compiled => {
            return Err(EngineError::Unsupported {
                setting: "variant".to_owned(),
                expected: "`reference` or `torch`".to_owned(),
                found: "compiled".to_owned(),
            });
        }
    };
    Ok(MuonRule {
        nesterov: muon.nesterov,
        iterations: muon.steps,
        coefficients: muon.coefficients,
        is_bfloat16: muon.is_bfloat16,
        epsilon,
        scale: match muon.adjust {
            MuonScale::Original => ScaleRule::Original,
            MuonScale::MatchRmsAdamw => ScaleRule::MatchRmsAdamw,
            MuonScale::SpectralUnclamped => ScaleRule::SpectralUnclamped,
            MuonScale::None => ScaleRule::One,
        },
        is_torch,
    })
}

/// Step number `at` of the slice.
fn step(course: &Course, at: u64) -> TaskStep {
    let place = at as usize;
    let number = course.start.step + at;
    let marks = course.marks.get(place).cloned().unwrap_or_default();
    let rates = course.rates(number);
    let numbers = |(at, group): (usize, &ParameterGroup)| {
        let [decay, beta1, beta2] = group.numbers_at(place);
        let rate = rates.get(at).or(rates.last()).copied().unwrap_or_default();
        GroupNumbersAt { rate: rate.into(), decay, beta1, beta2 }
    };
    TaskStep {
        tokens: course.rows.clone().of(number, place),
        counted: marks.counted,
        documents: marks.documents,
        positions: marks.positions,
        loss_scale: course.regime.loss_scales.get(place).copied().unwrap_or(1.0),
        clip_by: course.clip_by.get(place).copied().flatten(),
        groups: course.regime.optimizer.groups.iter().enumerate().map(numbers).collect(),
    }
}

/// The results, in the terms of a log and in its order of tensors.
fn told(names: &[String], task: &SliceTask, run: EngineRun) -> SecondRun {
    let last = run.steps.len().checked_sub(1);
    let of = |made: (usize, &EngineStep)| logged(names, made.1, Some(made.0) == last);
    let steps = run.steps.iter().enumerate().map(of).collect();
    let values = names.iter().map(|name| Values {
        name: name.clone(),
        shape: task.tensors.get(name).map(|data| data.shape.clone()).unwrap_or_default(),
        values: run.tensors.get(name).cloned().unwrap_or_default(),
    });
    SecondRun { steps, values: values.collect() }
}

fn logged(names: &[String], made: &EngineStep, is_last: bool) -> Step {
    let list = |of: &BTreeMap<String, f64>| {
        let number = |name: &String| of.get(name).copied().unwrap_or(f64::NAN);
        Some(names.iter().map(number).collect::<Vec<_>>())
    };
    Step {
        loss: Some(made.loss),
        norm: Some(made.norm),
        clipped_by: Some(made.norm),
        gradients: list(&made.gradients),
        updates: list(&made.updates),
        sizes: list(&made.sizes),
        moved: is_last.then(|| list(&made.moved)).flatten(),
        routed: Some(made.routed.clone()),
        ..Step::default()
    }
}
