//! Twenty steps of training, dense and sparse: the losses, and all weights and moments after them.
//! Losses alone would not do, because weights differ long before losses show it.

use serde_json::{Map, Value as Json};

use super::formulas::Formulas;
use super::{Bits, Case};
use crate::Recipe;
use crate::backend::{Backend, Host};
use crate::learner::{Learner, Stepped};
use crate::model::Sequences;
use repro_core::source::{Document, Error, Source};
use repro_stats::rng::Rng;

pub const CASES: &[Case] = &[
    Case { name: "training-dense", run: |formulas, bits| digest(formulas, bits, DENSE) },
    Case { name: "training-mixture", run: |formulas, bits| digest(formulas, bits, MIXTURE) },
    Case {
        name: "training-balanced-by-bias",
        run: |formulas, bits| digest(formulas, bits, BALANCED),
    },
];

/// The fields that the configs share: two blocks with grouped heads, sequences over a small alphabet.
const SHARED: &str = r#"{
  "vocab_size": 29, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 6, "norm_eps": 1e-5, "rope_theta": 10000.0,
  "seq_len": 21, "batch_size": 4, "steps": 20, "schedule_steps": 20, "schedule": "cosine",
  "lr": 0.01, "warmup_steps": 3, "decay_floor": 0.1, "weight_decay": 0.1,
  "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-8, "grad_clip": 1.0,
  "seed_init": 1, "seed_data": 1, "dtype": "float32", "arithmetic": "portable-f32/1",
  "log_every": 1, "checkpoints": [20], "kept_checkpoints": [], "slices": []
}"#;

/// A dense decoder.
pub const DENSE: &str = r#"{
  "model_type": "repro-llama", "hidden_size": 26, "intermediate_size": 37,
  "tie_word_embeddings": false
}"#;

/// A mixture that a loss balances.
pub const MIXTURE: &str = r#"{
  "model_type": "repro-llama-moe", "hidden_size": 24, "tie_word_embeddings": true,
  "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 19,
  "num_shared_experts": 0, "num_dense_layers": 0, "gate": "softmax",
  "norm_topk_prob": true, "balancing": "loss", "aux_loss_alpha": 0.01,
  "router_z_loss": 0.001
}"#;

/// A mixture that a bias balances.
pub const BALANCED: &str = r#"{
  "model_type": "repro-llama-moe", "hidden_size": 20, "intermediate_size": 31,
  "tie_word_embeddings": false, "num_experts": 6, "num_experts_per_tok": 2,
  "moe_intermediate_size": 9, "num_shared_experts": 1, "num_dense_layers": 1,
  "gate": "sigmoid", "norm_topk_prob": true, "balancing": "bias",
  "router_bias_update_rate": 0.001, "router_z_loss": 0.0
}"#;

/// A small run whose bits are known, before its first step.
pub struct Rehearsal<B: Backend = Host<f32>> {
    /// Its `config.json`.
    pub config: Vec<u8>,
    /// How it is trained.
    pub recipe: Recipe,
    /// Its model.
    pub learner: Learner<B>,
    text: Rng,
}

impl<B: Backend<Number = f32>> Rehearsal<B> {
    /// The run of one of the models above, whose model lives there.
    pub fn new(backend: B, model: &str) -> Result<Self, Error> {
        let mut config = Map::new();
        for part in [model, SHARED] {
            config.extend(serde_json::from_str::<Map<String, Json>>(part).unwrap_or_default());
        }
        let config = Json::Object(config).to_string().into_bytes();
        let document = Document::parse_json(Source::new("config.json", config.clone())?)?;
        let recipe = Recipe::read(document.root())?;
        let learner = Learner::new(document.root(), &recipe.regime, recipe.seed_init, backend)?;
        Ok(Self { config, recipe, learner, text: Rng::new(1, "golden text") })
    }

    /// The sequences of the next batch, each with the token after it.
    pub fn batch(&mut self) -> Vec<Vec<u32>> {
        let regime = &self.recipe.regime;
        (0..regime.shape.batch_size)
            .map(|_| sequence(&mut self.text, regime.shape.seq_len))
            .collect()
    }

    /// Makes step `number` on the next batch.
    pub fn step(&mut self, number: u64) -> Result<Stepped, Error> {
        let (batch, length) = (self.batch(), self.recipe.regime.shape.seq_len);
        let inputs: Vec<_> =
            batch.iter().flat_map(|row| row.iter().take(length)).copied().collect();
        let targets: Vec<_> = batch.iter().flat_map(|row| row.iter().skip(1)).copied().collect();
        let rate = self.recipe.regime.rates.first(number);
        self.learner.step(Sequences::new(&inputs, &targets, batch.len()), &[rate])
    }

    /// Makes all steps, and collects what they gave and what they left.
    pub(super) fn perform(&mut self, bits: &mut Bits) -> Result<(), Error> {
        for number in 0..self.recipe.regime.shape.steps {
            let Stepped { loss, norm, .. } = self.step(number)?;
            bits.add(&[loss, norm]);
        }
        self.learner.values()?.iter().for_each(|tensor| bits.add(&tensor.values));
        for moments in self.learner.moments() {
            moments.parts().iter().for_each(|values| bits.add(values));
        }
        Ok(())
    }
}

/// Letters of which each one says much about the next.
fn sequence(rng: &mut Rng, length: usize) -> Vec<u32> {
    let mut token = rng.below(29);
    let next = |_| {
        token = (token * 5 + rng.below(4)) % 29;
        token as u32
    };
    (0..=length).map(next).collect()
}

fn digest(formulas: &dyn Formulas, bits: &mut Bits, model: &str) {
    // A run that fails has other bits than one that does not.
    if formulas.train(model, bits).is_err() {
        bits.add(&[f32::NAN]);
    }
}
