//! How a run is trained, read from its `config.json`: batches, optimizer, what is logged and saved.
//!
//! The model, the data and the evaluation are other parts of the same table, read by those who own them.

use super::rules::Optimizer;
use super::{BAD_RECIPE, LearningRateSchedule};
use repro_bundle::bundle::ARITHMETIC;
use repro_core::source::{Error, Node};

/// Every how many steps a run commits itself to its state, where its config does not say.
const STATE_EVERY: u64 = 50;

/// A stretch of steps that is kept so that it can be executed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The steps before it.
    pub from_step: u64,
    /// Its length.
    pub steps: u64,
}

/// How long a run is, and what a step of it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunShape {
    /// How many steps.
    pub steps: u64,
    /// Sequences a step.
    pub batch_size: usize,
    /// Tokens a sequence.
    pub seq_len: usize,
}

/// The loss terms besides the plain cross-entropy of targets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LossTerms {
    /// The share of a target that is spread over the vocabulary.
    pub label_smoothing: f64,
    /// The weight of the mean square of `ln sum e^x` over the targets that count.
    pub z_loss: f64,
}

/// With how many bits a model is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// All operations in float32.
    #[default]
    Full,
    /// As PyTorch's autocast has it: matrices and attention in bfloat16, norms and the rows that run through the model in
    /// float32.
    Autocast,
    /// All of it in bfloat16, from weights that are kept in float32.
    Bfloat16,
    /// Products of matrices whose factors are TensorFloat-32.
    Tf32,
}

impl Precision {
    /// The precision to which numbers are rounded, in words; none if they have all bits of float32.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Autocast => Some("bfloat16 in products and attention"),
            Self::Bfloat16 => Some("bfloat16 in every operation"),
            Self::Tf32 => Some("TensorFloat-32 in the factors of products"),
        }
    }
}

/// How each step of a run is made, whoever trains it.
#[derive(Debug, Clone, PartialEq)]
pub struct Regime {
    /// How many there are, and what each reads.
    pub shape: RunShape,
    /// Into how many parts of equal size a batch is cut, whose gradients are averaged.
    pub micro_batches: usize,
    /// Whether each of these weighs as its targets that count do, and not as much as the others.
    pub by_targets: bool,
    /// Whether each of these adds its whole balance loss, and not its share of it.
    pub balance_whole: bool,
    /// By what the loss of each step of a stretch was multiplied before it was backpropagated; empty where by nothing.
    pub loss_scales: Vec<f64>,
    /// The loss terms besides the plain cross-entropy of targets.
    pub terms: LossTerms,
    /// With how many bits the model is computed.
    pub precision: Precision,
    /// The learning rate of each step.
    pub rates: LearningRates,
    /// The optimizer.
    pub optimizer: Optimizer,
}

/// The learning rates of the steps of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum LearningRates {
    /// One for all tensors, by a schedule.
    Schedule(LearningRateSchedule),
    /// As they are stated from a step on: of each group of tensors, those of the steps.
    Stated {
        /// The first step.
        from: u64,
        /// The rates.
        groups: Vec<Vec<f32>>,
    },
}

impl LearningRates {
    /// Those of step `step`, which is made after as many others, one for each group; a single one is that of all. Before
    /// and behind what is stated they are those of the nearest step.
    pub fn of(&self, step: u64) -> Vec<f32> {
        match self {
            Self::Schedule(schedule) => vec![schedule.rate(step)],
            Self::Stated { from, groups } => {
                let at = usize::try_from(step.saturating_sub(*from)).unwrap_or(usize::MAX);
                let rate = |of: &Vec<f32>| of.get(at).or(of.last()).copied().unwrap_or_default();
                groups.iter().map(rate).collect()
            }
        }
    }

    /// The rate of step `step` of the first group.
    pub fn first(&self, step: u64) -> f32 {
        self.of(step).first().copied().unwrap_or_default()
    }
}

/// How a run is trained here.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// How its steps are made.
    pub regime: Regime,
    /// The seed of the initial weights.
    pub seed_init: u64,
    /// Every how many steps there is a record.
    pub log_every: u64,
    /// Every how many steps the run commits itself to its state.
    pub state_every: u64,
    /// After which steps the run is evaluated and hashed.
    pub checkpoints: Vec<u64>,
    /// Which of these are kept whole.
    pub kept: Vec<u64>,
    /// The steps and states kept for a replay.
    pub slices: Vec<Stretch>,
}

impl RunShape {
    /// Reads the length of a run from its config.
    pub fn read(config: Node<'_>) -> Result<Self, Error> {
        let (batch, length) = (count(config, "batch_size")?, count(config, "seq_len")?);
        let per_step = batch.checked_mul(length);
        if per_step.is_none_or(|tokens| tokens > u64::from(u32::MAX)) {
            let place = config.required("batch_size")?.place();
            return Err(BAD_RECIPE.at(place, "fewer than 2^32 tokens per step", "more"));
        }
        let (batch_size, seq_len) = (batch as usize, length as usize);
        Ok(Self { steps: count(config, "steps")?, batch_size, seq_len })
    }

    /// Tokens a step.
    pub fn tokens_per_step(&self) -> u64 {
        self.batch_size as u64 * self.seq_len as u64
    }
}

impl Regime {
    /// Reads the steps of a run from its config.
    pub fn read(config: Node<'_>) -> Result<Self, Error> {
        let shape = RunShape::read(config)?;
        let schedule = LearningRateSchedule::read(config, shape.tokens_per_step())?;
        Ok(Self {
            shape,
            micro_batches: 1,
            by_targets: false,
            balance_whole: false,
            loss_scales: Vec::new(),
            terms: LossTerms::default(),
            precision: Precision::default(),
            rates: LearningRates::Schedule(schedule),
            optimizer: Optimizer::read(config)?,
        })
    }
}

impl Recipe {
    /// Reads the recipe of a run's config.
    pub fn read(config: Node<'_>) -> Result<Self, Error> {
        for (field, ours) in [("dtype", "float32"), ("arithmetic", ARITHMETIC)] {
            let stated = config.required(field)?;
            if stated.text()? != ours {
                let found = format!("`{}`", stated.text()?.chars().take(40).collect::<String>());
                return Err(BAD_RECIPE.at(stated.place(), format!("`{ours}`"), found));
            }
        }
        let regime = Regime::read(config)?;
        let steps = regime.shape.steps;
        let checkpoints = saved(config, "checkpoints", |step| step <= steps)?;
        let kept = saved(config, "kept_checkpoints", |step| checkpoints.contains(&step))?;
        Ok(Self {
            regime,
            seed_init: config.required("seed_init")?.integer()?,
            log_every: count(config, "log_every")?,
            state_every: match config.get("state_every") {
                Some(_) => count(config, "state_every")?,
                None => STATE_EVERY,
            },
            slices: slices(config, steps, &checkpoints)?,
            checkpoints,
            kept,
        })
    }
}

impl Recipe {
    /// Whether the run makes a record of its step number `step`, as records count, whatever came out.
    pub fn records(&self, step: u64) -> bool {
        step == 1 || step == self.regime.shape.steps || step.is_multiple_of(self.log_every)
    }

    /// Whether the run commits itself to its state after `step` steps: at both ends, at each checkpoint, and every so
    /// many steps between.
    pub fn commits(&self, step: u64) -> bool {
        let is_end = step == 0 || step == self.regime.shape.steps;
        is_end || step.is_multiple_of(self.state_every) || self.checkpoints.contains(&step)
    }
}

/// A whole number from 1 up.
fn count(config: Node<'_>, field: &str) -> Result<u64, Error> {
    let node = config.required(field)?;
    match node.integer()? {
        0 => Err(BAD_RECIPE.at(node.place(), "a positive integer", "0")),
        number => Ok(number),
    }
}

/// Steps in rising order that fit.
fn saved(config: Node<'_>, field: &str, fits: impl Fn(u64) -> bool) -> Result<Vec<u64>, Error> {
    let mut steps = Vec::new();
    for node in config.required(field)?.items()? {
        let step = node.integer()?;
        if !fits(step) || steps.last().is_some_and(|last| *last >= step) {
            let expected = match field {
                "checkpoints" => "steps of the run, in ascending order",
                _ => "some of the checkpoints, in ascending order",
            };
            return Err(BAD_RECIPE.at(node.place(), expected, step.to_string()));
        }
        steps.push(step);
    }
    Ok(steps)
}

/// The slices: each starts from the seed or from a checkpoint, and ends within the run.
fn slices(config: Node<'_>, steps: u64, checkpoints: &[u64]) -> Result<Vec<Stretch>, Error> {
    let mut slices: Vec<Stretch> = Vec::new();
    for node in config.required("slices")?.items()? {
        node.only(&["from_step", "steps"])?;
        let from_step = node.required("from_step")?.integer()?;
        let length = node.required("steps")?.integer()?;
        let starts = from_step == 0 || checkpoints.contains(&from_step);
        let ends = length > 0 && from_step.checked_add(length).is_some_and(|end| end <= steps);
        let new = slices.iter().all(|slice| slice.from_step != from_step);
        if !starts || !ends || !new {
            let expected =
                "steps of the run that start at its seed or a checkpoint, once per start";
            let found = format!("{length} steps from step {from_step}");
            return Err(BAD_RECIPE.at(node.place(), expected, found));
        }
        slices.push(Stretch { from_step, steps: length });
    }
    Ok(slices)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use repro_core::source::{Document, Source};
    use serde_json::{Value as Json, json};

    /// The recipe part of a config, for tests.
    pub fn config() -> Json {
        json!({"dtype": "float32", "arithmetic": "portable-f32/1", "batch_size": 4, "seq_len": 16,
            "steps": 12, "schedule_steps": 12, "schedule": "wsd", "lr": 0.01, "warmup_steps": 2,
            "hold_tokens": 512, "decay_tokens": 256, "decay_floor": 0.1, "weight_decay": 0.1,
            "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-8, "grad_clip": 1.0,
            "seed_init": 1, "seed_data": 1, "log_every": 2, "checkpoints": [6, 12],
            "kept_checkpoints": [6], "slices": [{"from_step": 0, "steps": 3}, {"from_step": 6, "steps": 3}]})
    }

    fn read(config: &Json) -> Result<Recipe, Error> {
        let source = Source::new("config.json", config.to_string().into_bytes())?;
        Recipe::read(Document::parse_json(source)?.root())
    }

    #[test]
    fn a_recipe_is_read_from_a_config() {
        let recipe = read(&config()).unwrap();
        assert_eq!((recipe.regime.shape.tokens_per_step(), recipe.kept.as_slice()), (64, &[6][..]));
        assert_eq!(recipe.slices[1], Stretch { from_step: 6, steps: 3 });
        assert_eq!(recipe.regime.rates.first(2), 0.01);
    }

    #[test]
    fn what_cannot_be_trained_is_refused_at_its_field() {
        for (field, value) in [
            ("dtype", json!("bfloat16")),
            ("arithmetic", json!("fast")),
            ("batch_size", json!(0)),
            ("batch_size", json!(1_u64 << 40)),
            ("steps", json!(0)),
            ("adam_beta2", json!(1.0)),
            ("adam_eps", json!(0)),
            ("weight_decay", json!(-1)),
            ("checkpoints", json!([6, 13])),
            ("checkpoints", json!([12, 6])),
            ("kept_checkpoints", json!([5])),
            ("slices", json!([{"from_step": 5, "steps": 1}])),
            ("slices", json!([{"from_step": 6, "steps": 7}])),
            ("slices", json!([{"from_step": 0, "steps": 0}])),
            ("slices", json!([{"from_step": 0, "steps": 1}, {"from_step": 0, "steps": 2}])),
        ] {
            let mut changed = config();
            changed[field] = value.clone();
            let error = read(&changed).unwrap_err();
            assert_eq!(error.code.id, "train::bad-recipe", "{field} {value}");
            assert!(error.place.pointer.starts_with(&format!("/{field}")), "{error}");
        }
    }
}
