//! Softmax, and the logarithm of its denominator, with a maximum that takes no part in the backward pass.
//!
//! Neither depends on what is subtracted from all numbers first, so the gradient by their maximum is zero. candle's own
//! functions compute that zero, and add its rounding to the gradient of each number that is as large as the maximum. The
//! logits of all tokens that never occurred are equal; where they are the largest of a row, hundreds of roundings add up.

use candle_core::{D, Result as CandleResult, Tensor};

/// `e^x / sum e^x` over the last dimension.
pub(crate) fn softmax(x: &Tensor) -> CandleResult<Tensor> {
    let max = x.max_keepdim(D::Minus1)?.detach();
    let powers = x.broadcast_sub(&max)?.exp()?;
    powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)
}

/// `ln sum e^x` over the last dimension.
pub(crate) fn log_sum_exp(x: &Tensor) -> CandleResult<Tensor> {
    let max = x.max_keepdim(D::Minus1)?.detach();
    let sum = x.broadcast_sub(&max)?.exp()?.sum_keepdim(D::Minus1)?;
    (sum.log()? + max)?.squeeze(D::Minus1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{Device::Cpu, Var};

    /// The gradient of `ln sum e^x` is the softmax, for numbers as large as the maximum too.
    #[test]
    fn equal_maxima_get_no_rounding_of_the_others() {
        let numbers: Vec<f32> = (0..1024).map(|at| if at % 8 == 0 { -0.7 } else { 0.3 }).collect();
        let x = Var::from_vec(numbers.clone(), (1, 1024), &Cpu).unwrap();
        let sum: f64 = numbers.iter().map(|number| f64::from(*number).exp()).sum();
        let expected: Vec<f64> =
            numbers.iter().map(|number| f64::from(*number).exp() / sum).collect();
        let farthest = |found: &Tensor| {
            let found = found.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let apart =
                |(found, expected): (&f32, &f64)| (f64::from(*found) / expected - 1.0).abs();
            std::iter::zip(&found, &expected).map(apart).fold(0.0, f64::max)
        };
        let of = |y: Tensor| y.backward().unwrap().get(&x).unwrap().clone();
        assert!(farthest(&softmax(&x).unwrap()) < 1e-6);
        assert!(farthest(&of(log_sum_exp(&x).unwrap())) < 1e-6);
        let value = log_sum_exp(&x).unwrap().to_vec1::<f32>().unwrap()[0];
        assert!((f64::from(value) - sum.ln()).abs() < 1e-6);
        // The softmax of each number alone: `p_i (1 - p_i)` for itself, `-p_i p_j` for the others.
        let alone = of(softmax(&x).unwrap().narrow(1, 1, 1).unwrap().squeeze(0).unwrap());
        let alone = alone.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (at, (found, p)) in std::iter::zip(&alone, &expected).enumerate() {
            let exact = expected[1] * (if at == 1 { 1.0 } else { 0.0 } - p);
            assert!((f64::from(*found) / exact - 1.0).abs() < 1e-5, "{at}: {found}, not {exact}");
        }
    }
}
