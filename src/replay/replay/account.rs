//! A second engine's account of a slice.

use super::step::Step;
use crate::learner::Values;

/// The steps that a second engine made.
#[derive(Debug)]
pub struct SecondRun {
    /// The steps, in the terms of a log.
    pub steps: Vec<Step>,
    /// The tensors after them.
    pub values: Vec<Values>,
}

/// The outcome of a slice in a second engine.
#[derive(Debug)]
#[cfg_attr(not(feature = "candle"), allow(dead_code, reason = "this build has no second engine"))]
pub enum SecondOutcome {
    /// It was executed.
    Made(SecondRun),
    /// The engine does not implement what the slice states, and says which setting.
    Unknown(String),
}
