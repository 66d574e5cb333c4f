//! Whole models against candle: the same decoder written plainly with candle's operations, its gradients
//! taken by candle's autograd. What the two share is the weights, by name.

use std::collections::BTreeMap;

use candle_core::{D, Device, Result, Tensor, Var};
use candle_nn::loss::cross_entropy;
use candle_nn::ops::{rms_norm_slow, sigmoid, silu, softmax};
use candle_nn::rotary_emb::rope_slow;

use super::*;

/// How far a loss may be from candle's, and a gradient as a part of the largest one of its tensor. In float64
/// the two differ in the order of sums alone; they are within a tenth of this.
const TOLERANCE: f64 = 3e-14;

/// candle takes it as a float32.
const EPSILON: f32 = 1e-5;

/// The base of the angles of all models here.
const THETA: f64 = 100.0;

/// A decoder of candle's operations.
struct Theirs<'a> {
    config: &'a Config,
    weights: BTreeMap<String, Var>,
    /// Sequences, and tokens of each.
    rows: usize,
    length: usize,
}

impl Theirs<'_> {
    fn weight(&self, name: &str) -> &Tensor {
        &self.weights[&format!("{name}.weight")]
    }

    fn linear(&self, x: &Tensor, name: &str) -> Result<Tensor> {
        x.matmul(&self.weight(name).t()?)
    }

    fn norm(&self, x: &Tensor, name: &str) -> Result<Tensor> {
        rms_norm_slow(x, self.weight(name), EPSILON)
    }

    /// Heads that lie side by side in each row, as (B, H, T, Dh).
    fn heads(&self, x: &Tensor, heads: usize) -> Result<Tensor> {
        let shape = (self.rows, self.length, heads, self.config.head_dim);
        x.reshape(shape)?.transpose(1, 2)?.contiguous()
    }

    /// One tensor of (T, Dh / 2) of some function of the rotary angles.
    fn angles(&self, of: fn(f64) -> f64) -> Result<Tensor> {
        let (half, size) = (self.config.head_dim / 2, self.config.head_dim as f64);
        let angle =
            |place: usize, pair: usize| place as f64 * libm::pow(THETA, -2.0 * pair as f64 / size);
        let all = (0..self.length * half).map(|at| of(angle(at / half, at % half)));
        Tensor::from_vec(all.collect(), (self.length, half), &Device::Cpu)
    }

    fn attention(&self, h: &Tensor, name: &str) -> Result<Tensor> {
        let (all, groups) = (self.config.num_attention_heads, self.config.num_key_value_heads);
        let (length, size) = (self.length, self.config.head_dim);
        let (cosines, sines) = (self.angles(libm::cos)?, self.angles(libm::sin)?);
        let part =
            |part: &str, heads| self.heads(&self.linear(h, &format!("{name}.{part}_proj"))?, heads);
        let q = rope_slow(&part("q", all)?, &cosines, &sines)?;
        let spread = |x: Tensor| -> Result<Tensor> {
            let shape = (self.rows, groups, all / groups, length, size);
            let x = x.unsqueeze(2)?.broadcast_as(shape)?.contiguous()?;
            x.reshape((self.rows, all, length, size))
        };
        let k = spread(rope_slow(&part("k", groups)?, &cosines, &sines)?)?;
        let v = spread(part("v", groups)?)?;
        let later = |at: usize| if at % length > at / length { f64::NEG_INFINITY } else { 0.0 };
        let mask: Vec<_> = (0..length * length).map(later).collect();
        let mask = Tensor::from_vec(mask, (1, 1, length, length), &Device::Cpu)?;
        let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?;
        let shares = softmax(&scores.broadcast_add(&mask)?, D::Minus1)?;
        let attended = shares.matmul(&v)?.transpose(1, 2)?.contiguous()?;
        let attended = attended.reshape((self.rows * length, all * size))?;
        self.linear(&attended, &format!("{name}.o_proj"))
    }

    fn network(&self, h: &Tensor, name: &str) -> Result<Tensor> {
        let gate = silu(&self.linear(h, &format!("{name}.gate_proj"))?)?;
        let s = (gate * self.linear(h, &format!("{name}.up_proj"))?)?;
        self.linear(&s, &format!("{name}.down_proj"))
    }

    /// Every expert on every token, times its gate, which is nought but for the few largest; and the
    /// weighted losses of the router.
    fn mixture(&self, h: &Tensor, name: &str, shape: &MixtureConfig) -> Result<(Tensor, Tensor)> {
        let (experts, chosen) = (shape.num_experts, shape.num_experts_per_tok);
        let logits = self.linear(h, &format!("{name}.gate"))?;
        let scores = match shape.gate {
            Gate::Softmax => softmax(&logits, D::Minus1)?,
            Gate::Sigmoid => sigmoid(&logits)?,
        };
        let largest = |row: Vec<f64>| {
            let mut order: Vec<_> = (0..experts).collect();
            order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
            (0..experts).map(move |e| f64::from(u8::from(order[..chosen].contains(&e))))
        };
        let mask: Vec<_> = scores.to_vec2()?.into_iter().flat_map(largest).collect();
        let mask = Tensor::from_vec(mask, scores.shape(), &Device::Cpu)?;
        let mut gates = (&scores * &mask)?;
        if shape.norm_topk_prob {
            gates = gates.broadcast_div(&gates.sum_keepdim(1)?)?;
        }
        let mut y = h.zeros_like()?;
        for expert in 0..experts {
            let output = self.network(h, &format!("{name}.experts.{expert}"))?;
            y = (y + output.broadcast_mul(&gates.narrow(1, expert, 1)?)?)?;
        }
        if shape.num_shared_experts > 0 {
            y = (y + self.network(h, &format!("{name}.shared_experts"))?)?;
        }
        // `E` times the sum of the part of choices that fell on each expert times its mean probability.
        let shares = (mask.mean(0)? / chosen as f64)?;
        let balance = ((shares * scores.mean(0)?)?.sum_all()? * experts as f64)?;
        let z = logits.log_sum_exp(1)?.sqr()?.mean_all()?;
        let [of_balance, of_z] = shape.coefficients();
        Ok((y, ((balance * of_balance)? + (z * of_z)?)?))
    }

    /// The cross-entropy, and with the losses of routers.
    fn losses(&self, inputs: &[u32], targets: &[u32]) -> Result<[Tensor; 2]> {
        let tokens = |tokens: &[u32]| Tensor::new(tokens, &Device::Cpu);
        let table = self.weight("model.embed_tokens");
        let mut x = table.index_select(&tokens(inputs)?, 0)?;
        let mut routers = Tensor::new(0.0, &Device::Cpu)?;
        for layer in 0..self.config.num_hidden_layers {
            let name = format!("model.layers.{layer}");
            let h = self.norm(&x, &format!("{name}.input_layernorm"))?;
            x = (x + self.attention(&h, &format!("{name}.self_attn"))?)?;
            let h = self.norm(&x, &format!("{name}.post_attention_layernorm"))?;
            let feed = format!("{name}.mlp");
            x = match self.config.mixture_of(layer) {
                None => (x + self.network(&h, &feed)?)?,
                Some(mixture) => {
                    let (output, losses) = self.mixture(&h, &feed, mixture)?;
                    routers = (routers + losses)?;
                    (x + output)?
                }
            };
        }
        let h = self.norm(&x, "model.norm")?;
        let matrix = if self.config.tie_word_embeddings { table } else { self.weight("lm_head") };
        let mean = cross_entropy(&h.matmul(&matrix.t()?)?, &tokens(targets)?)?;
        Ok([mean.clone(), (mean + routers)?])
    }
}

#[test]
fn whole_models_are_candles() {
    for (kind, config) in kinds() {
        let config = Config { norm_eps: f64::from(EPSILON), ..config };
        let mut ours = model::<f64>(&config);
        // More rows than a thread takes at a time.
        let (rows, length) = (20, config.seq_len);
        let inputs = tokens(&config, rows * length, "inputs");
        let targets = tokens(&config, rows * length, "targets");
        let forward = ours.forward(Sequences::new(&inputs, &targets, rows)).unwrap();
        ours.backward().unwrap();

        let weight = |named: &NamedTensor| {
            let numbers = ours.read(&named.name).unwrap();
            let numbers = Tensor::from_slice(&numbers, &named.shape[..], &Device::Cpu).unwrap();
            (named.name.clone(), Var::from_tensor(&numbers).unwrap())
        };
        let weights = ours.tensors().iter().map(weight).collect();
        let theirs = Theirs { config: &config, weights, rows, length };
        let losses = theirs.losses(&inputs, &targets).unwrap();
        let [mean, objective] = losses.each_ref().map(|loss| loss.to_scalar::<f64>().unwrap());
        assert!((forward.cross_entropy - mean).abs() < TOLERANCE, "{kind}: {mean}");
        assert!((forward.objective() - objective).abs() < TOLERANCE, "{kind}: {objective}");

        let gradients = losses[1].backward().unwrap();
        for (name, weight) in &theirs.weights {
            let theirs = gradients.get(weight).unwrap().flatten_all().unwrap();
            let theirs = theirs.to_vec1::<f64>().unwrap();
            let largest = theirs.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let ours = ours.gradient(name).unwrap();
            assert!(largest > 0.0 && ours.len() == theirs.len(), "{kind}: {name}");
            for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let close = (ours - theirs).abs() <= TOLERANCE * largest;
                assert!(close, "{kind}: {name} [{at}]: {ours} and {theirs} of {largest}");
            }
        }
    }
}
