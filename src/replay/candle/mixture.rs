//! Gated networks and mixtures of them: each token goes to its best few experts.

use candle_core::Tensor;
use candle_nn::ops::sigmoid;

use crate::candle::EngineError;
use crate::candle::architecture::{Architecture, BalanceRule, ExpertPlan};
use crate::candle::softmax::{log_sum_exp, softmax};
use crate::candle::weights::CandleDecoder;

/// A router's decisions.
pub(crate) struct RouterOutcome {
    /// The block, as the names of its tensors begin.
    pub block: String,
    /// Tokens that each expert was chosen for.
    pub counts: Vec<u64>,
    tokens: usize,
    /// Each expert's mean share of the scores.
    shares: Tensor,
    /// The mean square of the log-partition function.
    z: Tensor,
}

impl CandleDecoder<'_> {
    /// `down(f(gate h) * up h)`.
    pub fn gated(&self, h: &Tensor, name: &str) -> Result<Tensor, EngineError> {
        let gate = self.activation(&self.linear(h, &format!("{name}.gate_proj"))?)?;
        let inner = gate.mul(&self.linear(h, &format!("{name}.up_proj"))?)?;
        self.linear(&inner, &format!("{name}.down_proj"))
    }

    /// The gated networks of each token's experts, by their gates, plus that of all tokens where there is one.
    pub fn mixture(
        &self,
        experts: &ExpertPlan,
        h: &Tensor,
        name: &str,
    ) -> Result<(Tensor, RouterOutcome), EngineError> {
        let logits = self.linear(h, &format!("{name}.gate"))?;
        let scores = if experts.is_sigmoid { sigmoid(&logits)? } else { softmax(&logits)? };
        let bias = match experts.balance {
            BalanceRule::Bias(_) => {
                Some(self.tensor(&format!("{name}.gate.e_score_correction_bias"))?.to_vec1()?)
            }
            _ => None,
        };
        let chosen = choose(&scores.to_vec2()?, bias.as_deref(), experts.per_token);
        let mask: Vec<f32> = chosen.iter().flatten().map(|is| f32::from(u8::from(*is))).collect();
        let mask = Tensor::from_vec(mask, scores.shape(), self.device)?;
        let mut gates = scores.mul(&mask)?;
        if experts.is_normalized {
            gates = gates.broadcast_div(&gates.sum_keepdim(1)?)?;
        }
        let mut y = h.zeros_like()?;
        let mut counts = Vec::with_capacity(experts.count);
        for expert in 0..experts.count {
            let numbered = (0_u32..).zip(&chosen);
            let is_own = |row: &&Vec<bool>| row.get(expert).copied().unwrap_or(false);
            let own: Vec<u32> =
                numbered.filter(|(_, row)| is_own(row)).map(|(token, _)| token).collect();
            counts.push(own.len() as u64);
            if own.is_empty() {
                continue;
            }
            let own = Tensor::new(own.as_slice(), self.device)?;
            let rows = h.index_select(&own, 0)?;
            let output = self.gated(&rows, &format!("{name}.experts.{expert}"))?;
            let gate = gates.narrow(1, expert, 1)?.contiguous()?.index_select(&own, 0)?;
            y = y.index_add(&own, &output.broadcast_mul(&gate)?, 0)?;
        }
        if experts.has_shared {
            y = self.sum(y, self.gated(h, &format!("{name}.shared_experts"))?)?;
        }
        let shares = if experts.is_sigmoid {
            scores.broadcast_div(&scores.sum_keepdim(1)?)?
        } else {
            scores
        };
        let router = RouterOutcome {
            block: format!("{name}."),
            counts,
            tokens: chosen.len(),
            shares: shares.mean(0)?,
            z: log_sum_exp(&logits)?.sqr()?.mean_all()?,
        };
        Ok((y, router))
    }
}

/// The experts of each token: those with the largest scores plus bias, the lower one of equals.
fn choose(scores: &[Vec<f32>], bias: Option<&[f32]>, per_token: usize) -> Vec<Vec<bool>> {
    let of_row = |row: &Vec<f32>| {
        let added = |(at, score): (usize, &f32)| {
            score + bias.and_then(|bias| bias.get(at)).copied().unwrap_or(0.0)
        };
        let all: Vec<f32> = row.iter().enumerate().map(added).collect();
        let mut order: Vec<(usize, f32)> = all.iter().copied().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
        let best: Vec<usize> = order.iter().take(per_token).map(|(at, _)| *at).collect();
        (0..row.len()).map(|at| best.contains(&at)).collect()
    };
    scores.iter().map(of_row).collect()
}

/// The losses of all routers of a pass, by their weights: that of uneven loads (W. Fedus et al., 2021), `times` its own
/// weight, and that of large logits (B. Zoph et al., 2022). None where no router has one.
pub(crate) fn router_losses(
    plan: &Architecture,
    routers: &[RouterOutcome],
    times: f64,
) -> Result<Option<Tensor>, EngineError> {
    let Some(experts) = &plan.experts else { return Ok(None) };
    let mut terms = Vec::new();
    for router in routers {
        if experts.z_loss > 0.0 {
            terms.push((&router.z * experts.z_loss)?);
        }
        if let BalanceRule::Layer(weight) = experts.balance {
            let choices = (router.tokens * experts.per_token) as f64;
            terms.push((router.balance(&router.counts, choices)? * (weight * times))?);
        }
    }
    if let (BalanceRule::Joint(weight), Some(first)) = (experts.balance, routers.first()) {
        // Choices of all layers by the tokens of all layers, against the mean of the layers' shares.
        let mut counts = vec![0; first.counts.len()];
        for router in routers {
            counts.iter_mut().zip(&router.counts).for_each(|(sum, count)| *sum += count);
        }
        let tokens = (first.tokens * routers.len()) as f64;
        for router in routers {
            let share = weight * times / routers.len() as f64;
            terms.push((router.balance(&counts, tokens)? * share)?);
        }
    }
    let mut terms = terms.into_iter();
    let Some(mut sum) = terms.next() else { return Ok(None) };
    for term in terms {
        sum = (sum + term)?;
    }
    Ok(Some(sum))
}

impl RouterOutcome {
    /// `E sum f_e P_e`, where f are counts over a total.
    fn balance(&self, counts: &[u64], total: f64) -> Result<Tensor, EngineError> {
        let parts: Vec<f32> = counts.iter().map(|count| (*count as f64 / total) as f32).collect();
        let parts = Tensor::new(parts.as_slice(), self.shares.device())?;
        Ok((self.shares.mul(&parts)?.sum_all()? * counts.len() as f64)?)
    }

    /// The prefix of the tensor names of experts without tokens.
    pub fn idle(&self) -> impl Iterator<Item = String> + '_ {
        let idle = self.counts.iter().enumerate().filter(|(_, count)| **count == 0);
        idle.map(|(expert, _)| format!("{}experts.{expert}.", self.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_scores_are_chosen_and_the_lower_of_equals() {
        let scores = [vec![0.5, 0.1, 0.5, 0.5], vec![0.1, 0.2, 0.3, 0.4]];
        let chosen = choose(&scores, None, 2);
        assert_eq!(chosen[0], [true, false, true, false]);
        assert_eq!(chosen[1], [false, false, true, true]);
        let chosen = choose(&scores, Some(&[0.0, 9.0, 0.0, 0.0]), 1);
        assert_eq!(chosen, [vec![false, true, false, false], vec![false, true, false, false]]);
    }
}
