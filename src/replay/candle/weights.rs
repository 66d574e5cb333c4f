//! The tensors of a decoder, and the operations that read them: linear layers and norms.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};

use crate::candle::architecture::{Architecture, NormFormula};
use crate::candle::{ComputePrecision, EngineError};

/// Tensors by name.
pub(crate) type NamedWeights = BTreeMap<String, Tensor>;

/// A decoder with its weights.
pub(crate) struct CandleDecoder<'a> {
    pub plan: &'a Architecture,
    pub weights: &'a NamedWeights,
    pub precision: ComputePrecision,
    pub device: &'a Device,
}

impl CandleDecoder<'_> {
    /// The tensor `NAME`.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, EngineError> {
        self.weights.get(name).ok_or_else(|| EngineError::Tensor {
            tensor: name.to_owned(),
            expected: "a tensor of the model".to_owned(),
            found: "none".to_owned(),
        })
    }

    /// `x W^T + b`, with the bias that the start has or lacks.
    pub fn linear(&self, x: &Tensor, name: &str) -> Result<Tensor, EngineError> {
        let weight = self.tensor(&format!("{name}.weight"))?;
        let product = self.precision.product(x, &weight.t()?)?;
        self.biased(product, name)
    }

    /// `x W + b`: the layout of `Conv1D`.
    pub fn transposed(&self, x: &Tensor, name: &str) -> Result<Tensor, EngineError> {
        let product = self.precision.product(x, self.tensor(&format!("{name}.weight"))?)?;
        self.biased(product, name)
    }

    fn biased(&self, product: Tensor, name: &str) -> Result<Tensor, EngineError> {
        match self.weights.get(&format!("{name}.bias")) {
            Some(bias) => {
                let bias = self.precision.function(bias.clone())?;
                Ok(self.precision.function(product.broadcast_add(&bias)?)?)
            }
            None => Ok(product),
        }
    }

    /// `x + y` of the residual stream.
    pub fn sum(&self, x: Tensor, y: Tensor) -> Result<Tensor, EngineError> {
        Ok(self.precision.other((x + y)?)?)
    }

    /// A function of what a product gave.
    pub fn activation(&self, x: &Tensor) -> Result<Tensor, EngineError> {
        Ok(self.precision.function(self.plan.activation.apply(x)?)?)
    }

    /// The norm of rows, with the weight and the bias that the start has or lacks.
    pub fn norm(&self, x: &Tensor, name: &str) -> Result<Tensor, EngineError> {
        let weight = match self.plan.norm {
            NormFormula::RmsPlain => None,
            _ => Some(self.tensor(&format!("{name}.weight"))?),
        };
        let bias = self.weights.get(&format!("{name}.bias"));
        Ok(self.precision.other(self.plan.norm.apply(x, self.plan.epsilon, weight, bias)?)?)
    }
}
