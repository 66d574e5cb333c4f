//! The optimizer's step of one tensor, as the programs that define the rules write it.

use candle_core::{DType, Result as CandleResult, Tensor};

use crate::candle::task::{GroupNumbersAt, MuonRule, ScaleRule, UpdateRule};

/// The state that a rule keeps of a tensor's gradients.
#[derive(Debug, Clone)]
pub(crate) struct MomentTensors {
    pub mean: Tensor,
    pub square: Tensor,
    pub greatest: Tensor,
}

/// A tensor that is updated.
pub(crate) struct UpdatedTensor<'a> {
    pub weight: &'a Tensor,
    /// Its gradient, scaled down.
    pub gradient: &'a Tensor,
    pub moments: &'a mut MomentTensors,
}

impl UpdateRule {
    /// The weight after an update, which is the optimizer's `number`-th, from 1.
    pub(crate) fn apply(
        self,
        tensor: UpdatedTensor<'_>,
        numbers: GroupNumbersAt,
        number: u64,
    ) -> CandleResult<Tensor> {
        let decayed = |weight: &Tensor| weight * (1.0 - numbers.rate * numbers.decay);
        match self {
            Self::AdamW { epsilon, amsgrad } => {
                let weight = decayed(tensor.weight)?;
                let step = adam(tensor, numbers, number, epsilon, amsgrad)?;
                weight - step
            }
            Self::Adam { epsilon, amsgrad } => {
                let gradient = (tensor.gradient + (tensor.weight * numbers.decay)?)?;
                let weight = tensor.weight.clone();
                let own = UpdatedTensor { gradient: &gradient, ..tensor };
                weight - adam(own, numbers, number, epsilon, amsgrad)?
            }
            Self::Sgd { dampening, nesterov } => sgd(tensor, numbers, number, dampening, nesterov),
            Self::Lion => lion(tensor, numbers),
            Self::Muon(rule) => muon(rule, tensor, numbers),
        }
    }
}

/// The step of Adam: `rate / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)`.
fn adam(
    tensor: UpdatedTensor<'_>,
    numbers: GroupNumbersAt,
    number: u64,
    epsilon: f64,
    amsgrad: bool,
) -> CandleResult<Tensor> {
    let GroupNumbersAt { rate, beta1, beta2, .. } = numbers;
    let (gradient, moments) = (tensor.gradient, tensor.moments);
    moments.mean = ((&moments.mean * beta1)? + (gradient * (1.0 - beta1))?)?;
    moments.square = ((&moments.square * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
    let square = match amsgrad {
        true => {
            moments.greatest = moments.greatest.maximum(&moments.square)?;
            &moments.greatest
        }
        false => &moments.square,
    };
    let correction = |beta: f64| 1.0 - beta.powf(number as f64);
    let root = (square.sqrt()? / correction(beta2).sqrt())?;
    (&moments.mean / (root + epsilon)?)? * (rate / correction(beta1))
}

/// `torch.optim.SGD`: decay is added to the gradient, and the first momentum is the first gradient.
fn sgd(
    tensor: UpdatedTensor<'_>,
    numbers: GroupNumbersAt,
    number: u64,
    dampening: f64,
    nesterov: bool,
) -> CandleResult<Tensor> {
    let GroupNumbersAt { rate, decay, beta1: momentum, .. } = numbers;
    let gradient = (tensor.gradient + (tensor.weight * decay)?)?;
    let step = if momentum > 0.0 {
        let new = if number == 1 { 1.0 } else { 1.0 - dampening };
        let mean = ((&tensor.moments.mean * momentum)? + (&gradient * new)?)?;
        tensor.moments.mean = mean.clone();
        if nesterov { (gradient + (mean * momentum)?)? } else { mean }
    } else {
        gradient
    };
    tensor.weight - (step * rate)?
}

fn lion(tensor: UpdatedTensor<'_>, numbers: GroupNumbersAt) -> CandleResult<Tensor> {
    let GroupNumbersAt { rate, decay, beta1, beta2 } = numbers;
    let (gradient, mean) = (tensor.gradient, &tensor.moments.mean);
    let way = ((mean * beta1)? + (gradient * (1.0 - beta1))?)?.sign()?;
    let mean = ((mean * beta2)? + (gradient * (1.0 - beta2))?)?;
    tensor.moments.mean = mean;
    (tensor.weight * (1.0 - rate * decay))? - (way * rate)?
}

/// Muon: the momentum's nearest orthogonal matrix, about, by Newton and Schulz.
fn muon(
    rule: MuonRule,
    tensor: UpdatedTensor<'_>,
    numbers: GroupNumbersAt,
) -> CandleResult<Tensor> {
    let GroupNumbersAt { rate, decay, beta1: momentum, .. } = numbers;
    let gradient = tensor.gradient;
    let mean = ((&tensor.moments.mean * momentum)? + (gradient * (1.0 - momentum))?)?;
    tensor.moments.mean = mean.clone();
    let ahead =
        if rule.nesterov { ((gradient * (1.0 - momentum))? + (mean * momentum)?)? } else { mean };
    let (rows, columns) = ahead.dims2()?;
    let step = if rows > columns {
        rule.orthogonal(&ahead.t()?.contiguous()?)?.t()?.contiguous()?
    } else {
        rule.orthogonal(&ahead)?
    };
    let scale = rule.scale.of(rows as f64, columns as f64);
    let step = match rule.is_torch || scale == 1.0 {
        true => (step * (rate * scale))?,
        // `muon.py` multiplies its matrix, which rounds, and then takes the rate.
        false => (rule.rounded((step * scale)?)? * rate)?,
    };
    (tensor.weight * (1.0 - rate * decay))? - step
}

impl MuonRule {
    /// A number of bfloat16, where the iterations run in it.
    fn rounded(self, x: Tensor) -> CandleResult<Tensor> {
        if self.is_bfloat16 { x.to_dtype(DType::BF16)?.to_dtype(DType::F32) } else { Ok(x) }
    }

    /// A matrix with no more rows than columns, its singular values near 1.
    fn orthogonal(self, x: &Tensor) -> CandleResult<Tensor> {
        let [a, b, c] = self.coefficients;
        let x = self.rounded(x.clone())?;
        let norm = self.rounded(x.sqr()?.sum_all()?.sqrt()?)?;
        let divisor = if self.is_torch {
            norm.maximum(&norm.zeros_like()?.affine(0.0, self.epsilon)?)?
        } else {
            self.rounded((norm + self.epsilon)?)?
        };
        let mut x = self.rounded(x.broadcast_div(&divisor)?)?;
        for _ in 0..self.iterations {
            let gram = self.rounded(x.matmul(&x.t()?)?)?;
            let square = match self.is_torch {
                true => ((&gram * b)? + (gram.matmul(&gram)? * c)?)?,
                false => {
                    let product = self.rounded((&gram * c)?)?.matmul(&gram)?;
                    (self.rounded((&gram * b)?)? + self.rounded(product)?)?
                }
            };
            let square = self.rounded(square)?;
            let product = square.matmul(&x)?;
            let next = if self.is_torch {
                ((&x * a)? + product)?
            } else {
                (self.rounded((&x * a)?)? + self.rounded(product)?)?
            };
            x = self.rounded(next)?;
        }
        Ok(x)
    }
}

impl ScaleRule {
    fn of(self, rows: f64, columns: f64) -> f64 {
        match self {
            Self::Original => (rows / columns).max(1.0).sqrt(),
            Self::MatchRmsAdamw => 0.2 * rows.max(columns).sqrt(),
            Self::SpectralUnclamped => (rows / columns).sqrt(),
            Self::One => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    const SHAPE: [usize; 2] = [6, 4];

    fn matrix(values: impl Iterator<Item = f32>) -> Tensor {
        Tensor::from_vec(values.collect::<Vec<_>>(), &SHAPE, &Device::Cpu).unwrap()
    }

    fn number(at: usize, [a, b, c]: [usize; 3]) -> f32 {
        ((at * a + b) % c) as f32 - (c / 2) as f32
    }

    /// Three steps on one matrix: the first number after them, and the sum of all magnitudes.
    fn three(rule: UpdateRule, numbers: GroupNumbersAt) -> [f64; 2] {
        let mut weight = matrix((0..24).map(|at| number(at, [37, 0, 19]) / 16.0));
        let zeros = weight.zeros_like().unwrap();
        let mut moments =
            MomentTensors { mean: zeros.clone(), square: zeros.clone(), greatest: zeros };
        for step in 0..3 {
            let gradient = matrix((0..24).map(|at| number(at, [29, step * 11, 23]) / 8.0));
            let own = UpdatedTensor { weight: &weight, gradient: &gradient, moments: &mut moments };
            weight = rule.apply(own, numbers, step as u64 + 1).unwrap();
        }
        let all: Vec<f32> = weight.flatten_all().unwrap().to_vec1().unwrap();
        [f64::from(all[0]), all.iter().map(|number| f64::from(number.abs())).sum()]
    }

    /// As PyTorch 2.15 makes them: `torch.optim.Muon`, and `muon_update` of `muon.py`.
    #[test]
    fn muon_is_that_of_pytorch() {
        let numbers =
            GroupNumbersAt { rate: f64::from(0.1_f32), decay: 0.2, beta1: 0.9, beta2: 0.0 };
        for (is_torch, scale, expected) in [
            (false, ScaleRule::Original, [-0.49743557, 8.70624041]),
            (true, ScaleRule::Original, [-0.497435659, 8.70623978]),
            (true, ScaleRule::MatchRmsAdamw, [-0.516626537, 8.03551248]),
            (true, ScaleRule::SpectralUnclamped, [-0.497435659, 8.70623978]),
        ] {
            let rule = MuonRule {
                nesterov: true,
                iterations: 5,
                coefficients: [3.4445, -4.7750, 2.0315],
                is_bfloat16: false,
                epsilon: 1e-7,
                scale,
                is_torch,
            };
            let found = three(UpdateRule::Muon(rule), numbers);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "{scale:?}: {found} {expected}");
            }
        }
    }

    /// By hand, for a matrix of one gradient that does not change.
    #[test]
    fn first_steps_follow_their_definitions() {
        let (rate, decay) = (0.01, 0.1);
        let numbers = GroupNumbersAt { rate, decay, beta1: 0.9, beta2: 0.99 };
        let one = |rule: UpdateRule| {
            let (weight, gradient) = (matrix((0..24).map(|_| 2.0)), matrix((0..24).map(|_| -0.5)));
            let zeros = weight.zeros_like().unwrap();
            let mut moments =
                MomentTensors { mean: zeros.clone(), square: zeros.clone(), greatest: zeros };
            let own = UpdatedTensor { weight: &weight, gradient: &gradient, moments: &mut moments };
            let moved = rule.apply(own, numbers, 1).unwrap();
            f64::from(moved.flatten_all().unwrap().to_vec1::<f32>().unwrap()[0])
        };
        let (epsilon, decayed) = (1e-8, 2.0 * (1.0 - rate * decay));
        let coupled = -0.5 + decay * 2.0;
        for (rule, expected) in [
            (UpdateRule::AdamW { epsilon, amsgrad: false }, decayed + rate),
            (UpdateRule::AdamW { epsilon, amsgrad: true }, decayed + rate),
            (UpdateRule::Adam { epsilon, amsgrad: false }, 2.0 + rate),
            (UpdateRule::Sgd { dampening: 0.5, nesterov: false }, 2.0 - rate * coupled),
            (UpdateRule::Sgd { dampening: 0.0, nesterov: true }, 2.0 - rate * 1.9 * coupled),
            (UpdateRule::Lion, decayed + rate),
        ] {
            let found = one(rule);
            assert!((found - expected).abs() < 1e-6, "{rule:?}: {found} {expected}");
        }
    }
}
