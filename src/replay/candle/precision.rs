//! Products and functions in fewer bits than float32.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use candle_core::cuda::set_gemm_reduced_precision_f32;
use candle_core::{CpuStorage, CustomOp1, DType, Device, Layout, Result as CandleResult, Shape};
use candle_core::{Tensor, bail};

use crate::candle::EngineError;

/// In how many bits a model computes. Weights, moments, losses and gradients between operations are float32 in all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ComputePrecision {
    /// Everything in float32.
    #[default]
    Float32,
    /// Products whose factors are TensorFloat-32, with float32 sums. On CUDA that is a mode of cuBLAS, which holds for
    /// attention as well; on the processor factors of weights are rounded, in both passes.
    Tf32,
    /// `torch.autocast` to bfloat16: products and functions between them in bfloat16, norms, softmax and the residual stream
    /// in float32.
    Autocast,
    /// A model in bfloat16: the result of each operation is a bfloat16.
    Bfloat16,
}

/// Bits of a float32's significand that TensorFloat-32 has not.
const DROPPED: u32 = 13;
/// cuBLAS has one mode for the whole process: executions on CUDA wait for each other.
static CUBLAS_MODE: Mutex<()> = Mutex::new(());

impl ComputePrecision {
    /// `a b`, of a matrix of weights or of numbers that are rounded like it.
    pub(crate) fn product(self, a: &Tensor, b: &Tensor) -> CandleResult<Tensor> {
        match self {
            Self::Tf32 if a.device().is_cpu() => {
                let [a, b] = [a, b].map(|factor| rounded(factor, TensorFloat::Factor));
                rounded(&a?.matmul(&b?)?, TensorFloat::Gradient)
            }
            _ => self.product_in_attention(a, b),
        }
    }

    /// `a b` of scores and of means of values.
    pub(crate) fn product_in_attention(self, a: &Tensor, b: &Tensor) -> CandleResult<Tensor> {
        match self {
            Self::Float32 | Self::Tf32 => a.matmul(b),
            Self::Autocast | Self::Bfloat16 => {
                a.to_dtype(DType::BF16)?.matmul(&b.to_dtype(DType::BF16)?)?.to_dtype(DType::F32)
            }
        }
    }

    /// The result of a function between two products.
    pub(crate) fn function(self, x: Tensor) -> CandleResult<Tensor> {
        if matches!(self, Self::Autocast | Self::Bfloat16) { bfloat16(&x) } else { Ok(x) }
    }

    /// The result of an operation that autocast leaves in float32: a norm, a sum of the residual stream, rows of a table.
    pub(crate) fn other(self, x: Tensor) -> CandleResult<Tensor> {
        if self == Self::Bfloat16 { bfloat16(&x) } else { Ok(x) }
    }

    /// The weights that a forward pass reads, by name.
    pub(crate) fn weights(
        self,
        weights: BTreeMap<String, Tensor>,
    ) -> CandleResult<BTreeMap<String, Tensor>> {
        weights.into_iter().map(|(name, weight)| Ok((name, self.other(weight)?))).collect()
    }

    /// Numbers that a product keeps for its backward pass, beside each of its operands.
    pub(crate) fn copies(self) -> u64 {
        if self == Self::Float32 { 1 } else { 2 }
    }

    /// Sets the mode of cuBLAS until the guard is dropped.
    pub(crate) fn begin(self, device: &Device) -> Result<Option<CublasMode>, EngineError> {
        if self == Self::Tf32 && device.is_metal() {
            return Err(EngineError::unsupported(
                "tf32",
                "false on Metal, which does not support such products",
                "true",
            ));
        }
        Ok(device.is_cuda().then(|| CublasMode::new(self == Self::Tf32)))
    }
}

/// An execution on CUDA.
pub(crate) struct CublasMode(
    #[expect(dead_code, reason = "holds the mode")] MutexGuard<'static, ()>,
);

impl CublasMode {
    fn new(is_tf32: bool) -> Self {
        let guard = CUBLAS_MODE.lock().unwrap_or_else(PoisonError::into_inner);
        set_gemm_reduced_precision_f32(is_tf32);
        Self(guard)
    }
}

impl Drop for CublasMode {
    fn drop(&mut self) {
        set_gemm_reduced_precision_f32(false);
    }
}

/// Rounds numbers, and their gradient, to bfloat16.
fn bfloat16(x: &Tensor) -> CandleResult<Tensor> {
    x.to_dtype(DType::BF16)?.to_dtype(DType::F32)
}

/// The factors of a product that are rounded to TensorFloat-32. The backward pass has products too, one factor of which is the gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorFloat {
    /// Numbers, and not their gradient.
    Factor,
    /// The gradient of numbers.
    Gradient,
}

fn rounded(x: &Tensor, what: TensorFloat) -> CandleResult<Tensor> {
    x.contiguous()?.apply_op1(what)
}

impl CustomOp1 for TensorFloat {
    fn name(&self) -> &'static str {
        "tf32"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> CandleResult<(CpuStorage, Shape)> {
        let (CpuStorage::F32(numbers), Some((from, to))) = (storage, layout.contiguous_offsets())
        else {
            bail!("tf32: expected contiguous float32");
        };
        let own = numbers.get(from..to).unwrap_or_default();
        let numbers = match self {
            Self::Factor => own.iter().copied().map(tf32).collect(),
            Self::Gradient => own.to_vec(),
        };
        Ok((CpuStorage::F32(numbers), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> CandleResult<Option<Tensor>> {
        Ok(Some(match self {
            Self::Factor => gradient.clone(),
            Self::Gradient => rounded(gradient, Self::Factor)?,
        }))
    }
}

/// The nearest number of TensorFloat-32, the even one of two.
fn tf32(number: f32) -> f32 {
    if !number.is_finite() {
        return number;
    }
    let bits = number.to_bits();
    let up = (1 << (DROPPED - 1)) - 1 + ((bits >> DROPPED) & 1);
    f32::from_bits((bits + up) & !((1 << DROPPED) - 1))
}

#[cfg(test)]
mod tests {
    use candle_core::Var;

    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest_even() {
        let step = 2.0_f32.powi(-10);
        for (number, expected) in [
            (1.0 + 0.5 * step, 1.0),
            (1.0 + 1.5 * step, 1.0 + 2.0 * step),
            (-1.0 - 0.75 * step, -1.0 - step),
            (f32::MAX, f32::INFINITY),
            (0.0, 0.0),
        ] {
            assert_eq!(tf32(number), expected, "{number}");
        }
        assert!(tf32(f32::NAN).is_nan());
    }

    /// `d(a b) = g b`: in TensorFloat-32 both are rounded, in bfloat16 the result is as well.
    #[test]
    fn both_passes_multiply_rounded_factors() {
        let [a, b, g] =
            [1.0 + 2.0_f32.powi(-9) + 2.0_f32.powi(-12), 1.0 + 2.0_f32.powi(-7), 1.000_3];
        let one = |number: f32| Tensor::from_slice(&[number], (1, 1), &Device::Cpu).unwrap();
        let number = |x: &Tensor| x.flatten_all().unwrap().to_vec1::<f32>().unwrap()[0];
        let of = |precision: ComputePrecision| {
            let a = Var::from_tensor(&one(a)).unwrap();
            let product = precision.product(&a, &one(b)).unwrap();
            let gradients = product.mul(&one(g)).unwrap().backward().unwrap();
            [number(&product), number(gradients.get(&a).unwrap())]
        };
        assert_eq!(of(ComputePrecision::Float32), [a * b, g * b]);
        let [ta, tg] = [a, g].map(tf32);
        assert!(ta != a && tg != g);
        assert_eq!(of(ComputePrecision::Tf32), [ta * b, tg * b]);
        assert_eq!(of(ComputePrecision::Autocast), [b, b]);
    }
}
