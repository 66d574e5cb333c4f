#![doc = include_str!("README.md")]
mod architecture;
mod attention;
mod compute_device;
mod decoder;
mod engine;
mod engine_error;
mod family;
mod fields;
mod mixture;
mod objective;
mod precision;
mod rotary;
mod softmax;
mod task;
mod update;
mod weights;

pub use compute_device::ComputeDevice;
pub use engine::{EngineRun, EngineStep, execute, hidden_states};
pub use engine_error::EngineError;
pub use precision::ComputePrecision;
pub use task::{
    GroupNumbersAt, HiddenState, MuonRule, ScaleRule, SliceTask, StartTensor, TaskGroup, TaskStep,
    UpdateRule,
};
