//! The differentiated quantity of a pass: the cross-entropy of the targets that count, and the terms besides it.

use candle_core::{Result as CandleResult, Tensor};

use crate::candle::EngineError;
use crate::candle::attention::TokenRows;
use crate::candle::decoder::DecoderOutput;
use crate::candle::mixture::router_losses;
use crate::candle::softmax::log_sum_exp;
use crate::candle::weights::CandleDecoder;

/// The terms of the loss, and how much the balance losses are multiplied by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectiveTerms {
    pub label_smoothing: f64,
    pub z_loss: f64,
    pub balance_times: f64,
}

/// The loss of a pass.
pub(crate) struct PassLoss {
    /// The differentiated quantity.
    pub objective: Tensor,
    /// The mean nats of the targets that count, added up in float64.
    pub nats: f64,
}

/// The nats of each target: `ln sum e^x - (1 - a) x_t - (a / V) sum x`, with label smoothing a (C. Szegedy et al., 2016).
pub(crate) fn nats(logits: &Tensor, targets: &[u32], smoothing: f64) -> CandleResult<Tensor> {
    let (_, vocabulary) = logits.dims2()?;
    let targets = Tensor::from_slice(targets, (targets.len(), 1), logits.device())?;
    let of_target = logits.gather(&targets, 1)?.squeeze(1)?;
    let nats = (log_sum_exp(logits)? - (of_target * (1.0 - smoothing))?)?;
    if smoothing == 0.0 {
        return Ok(nats);
    }
    nats - (logits.sum(1)? * (smoothing / vocabulary as f64))?
}

impl CandleDecoder<'_> {
    /// The loss of a batch of which at least one target counts, after a forward pass.
    pub fn loss(
        &self,
        batch: &TokenRows<'_>,
        output: &DecoderOutput,
        terms: ObjectiveTerms,
    ) -> Result<PassLoss, EngineError> {
        let counted = (0_u32..).zip(&batch.counted).filter(|(_, counts)| **counts);
        let counted: Vec<u32> = counted.map(|(at, _)| at).collect();
        let targets: Vec<u32> = std::iter::zip(&batch.targets, &batch.counted)
            .filter(|(_, counts)| **counts)
            .map(|(target, _)| *target)
            .collect();
        let logits = match counted.len() == batch.targets.len() {
            true => output.logits.clone(),
            false => {
                output.logits.index_select(&Tensor::new(counted.as_slice(), self.device)?, 0)?
            }
        };
        let all = nats(&logits, &targets, terms.label_smoothing)?;
        let mut objective = all.mean_all()?;
        if terms.z_loss > 0.0 {
            let square = log_sum_exp(&logits)?.sqr()?.mean_all()?;
            objective = (objective + (square * terms.z_loss)?)?;
        }
        if let Some(losses) = router_losses(self.plan, &output.routers, terms.balance_times)? {
            objective = (objective + losses)?;
        }
        let numbers = all.to_vec1::<f32>()?;
        let sum: f64 = numbers.iter().map(|number| f64::from(*number)).sum();
        Ok(PassLoss { objective, nats: sum / numbers.len() as f64 })
    }
}
