//! The recipe that all runs share: batches, schedule, optimizer, saved and kept checkpoints.

use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde_json::{Map, Value as Json, json};

use super::budget::Length;
use super::fields::{count, distinct, part, to_json, word};
use super::{BAD_LENGTH, BAD_VALUE};
use repro_bundle::bundle::ARITHMETIC;
use repro_core::source::{Error, Location, Node};

/// The fields of the optimizer, which pass into the config as they are.
const OPTIMIZER: &[&str] =
    &["weight_decay", "adam_beta1", "adam_beta2", "adam_eps", "grad_clip", "decay_floor"];

/// The shape of the learning rate over a run.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// Warmup, constant, then linear decay over this fraction of the schedule.
    WarmupStableDecay(BigRational),
    /// Warmup, then half a cosine.
    Cosine,
}

/// The settings that all runs share.
#[derive(Debug, Clone)]
pub struct StudyRecipe {
    /// Sequences a step.
    batch_size: u64,
    /// Tokens a sequence.
    seq_len: u64,
    warmup_steps: u64,
    shape: Shape,
    optimizer: Map<String, Json>,
    log_every: u64,
    /// The interval between committed states in steps, if the study states it.
    state_every: Option<u64>,
    place: Location,
}

impl StudyRecipe {
    /// Reads the table `[recipe]`.
    pub fn read(node: Node<'_>) -> Result<Self, Error> {
        let own = [
            "batch_size",
            "seq_len",
            "schedule",
            "warmup_steps",
            "decay_fraction",
            "log_every",
            "state_every",
            "lr",
        ];
        node.only(&own.iter().chain(OPTIMIZER).copied().collect::<Vec<_>>())?;
        let shape = match word(node.required("schedule")?, &["wsd", "cosine"])? {
            "wsd" => Shape::WarmupStableDecay(part(node.required("decay_fraction")?)?),
            _ => Shape::Cosine,
        };
        let mut optimizer = Map::new();
        for field in OPTIMIZER {
            optimizer.insert((*field).to_owned(), to_json(node.required(field)?)?);
        }
        Ok(Self {
            batch_size: count(node.required("batch_size")?)?,
            seq_len: count(node.required("seq_len")?)?,
            warmup_steps: node.required("warmup_steps")?.integer()?,
            shape,
            optimizer,
            log_every: count(node.required("log_every")?)?,
            state_every: node.get("state_every").map(count).transpose()?,
            place: node.place(),
        })
    }

    /// Tokens a step.
    pub fn tokens_per_step(&self) -> u64 {
        self.batch_size.saturating_mul(self.seq_len)
    }

    /// The fields of a run of this length.
    pub fn fields(&self, length: Length) -> Result<Map<String, Json>, Error> {
        let per_step = self.tokens_per_step();
        let (name, hold) = match &self.shape {
            Shape::Cosine => ("cosine", self.warmup_steps),
            Shape::WarmupStableDecay(fraction) => {
                let whole = BigRational::from_integer(length.schedule.into());
                let decay = (fraction * whole).round().to_integer().to_u64().unwrap_or(0);
                ("wsd", length.schedule.saturating_sub(decay))
            }
        };
        if self.warmup_steps > hold || hold > length.schedule {
            let expected = format!("a schedule longer than its {} warmup steps", self.warmup_steps);
            let found = format!("{} steps, {hold} of them before the decay", length.schedule);
            return Err(BAD_LENGTH.at(self.place.clone(), expected, found));
        }
        let decay = length.schedule - hold;
        let own = json!({
            "seq_len": self.seq_len,
            "batch_size": self.batch_size,
            "steps": length.steps,
            "schedule_steps": length.schedule,
            "schedule": name,
            "warmup_steps": self.warmup_steps,
            "hold_tokens": hold.saturating_mul(per_step),
            "decay_tokens": decay.saturating_mul(per_step),
            "log_every": self.log_every,
            "dtype": "float32",
            "arithmetic": ARITHMETIC,
        });
        let mut fields = own.as_object().cloned().unwrap_or_default();
        fields.extend(self.optimizer.clone());
        fields.extend(self.state_every.map(|every| ("state_every".to_owned(), every.into())));
        Ok(fields)
    }
}

/// The steps at which a run is saved, and what is kept for replays.
#[derive(Debug, Clone)]
pub struct Saving {
    /// The fractions of a run at which it is evaluated.
    fractions: Vec<BigRational>,
    /// Steps of a slice.
    slice: Option<u64>,
    /// Seeds, budgets and fractions of the runs whose checkpoints are kept.
    kept: Option<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    seeds: Vec<u64>,
    budgets: Vec<String>,
    fractions: Vec<BigRational>,
}

impl Saving {
    /// Reads the table `[checkpoints]` of a study with these budgets.
    pub fn read(node: Node<'_>, budgets: &[String]) -> Result<Self, Error> {
        node.only(&["fractions", "slice_steps", "kept"])?;
        let fractions = distinct(node.required("fractions")?, part)?;
        let kept = match node.get("kept") {
            None => None,
            Some(kept) => {
                kept.only(&["seeds", "budgets", "fractions"])?;
                let known = |node| super::fields::known(node, budgets).map(str::to_owned);
                let of = distinct(kept.required("fractions")?, part)?;
                if let Some(other) = of.iter().find(|part| !fractions.contains(part)) {
                    let place = kept.required("fractions")?.place();
                    return Err(BAD_VALUE.at(place, "some of the checkpoints", other.to_string()));
                }
                Some(Kept {
                    seeds: distinct(kept.required("seeds")?, Node::integer)?,
                    budgets: distinct(kept.required("budgets")?, known)?,
                    fractions: of,
                })
            }
        };
        Ok(Self { fractions, slice: node.get("slice_steps").map(count).transpose()?, kept })
    }

    /// The fields of a run that is evaluated at its end and otherwise not saved.
    pub fn last_only(steps: u64) -> Map<String, Json> {
        saved(&[steps], &[], &[])
    }

    /// The fields of a run: steps of checkpoints, kept checkpoints, and slices.
    pub fn fields(&self, steps: u64, seed: u64, budget: &str) -> Map<String, Json> {
        let at = |part: &BigRational| {
            let step = part * BigRational::from_integer(steps.into());
            step.round().to_integer().to_u64().unwrap_or(steps).clamp(1, steps)
        };
        let mut checkpoints: Vec<u64> =
            self.fractions.iter().map(at).chain(std::iter::once(steps)).collect();
        checkpoints.sort_unstable();
        checkpoints.dedup();
        let kept = self.kept.as_ref().filter(|kept| {
            kept.seeds.contains(&seed) && kept.budgets.iter().any(|id| id == budget)
        });
        let kept: Vec<u64> =
            kept.map_or_else(Vec::new, |kept| kept.fractions.iter().map(at).collect());
        let starts = std::iter::once(0).chain(kept.iter().copied());
        let slices: Vec<(u64, u64)> = self.slice.map_or_else(Vec::new, |length| {
            let slice = |from: u64| (from, length.min(steps.saturating_sub(from)));
            starts.map(slice).filter(|(_, length)| *length > 0).collect()
        });
        saved(&checkpoints, &kept, &slices)
    }
}

fn saved(checkpoints: &[u64], kept: &[u64], slices: &[(u64, u64)]) -> Map<String, Json> {
    let slice = |(from, steps): &(u64, u64)| json!({"from_step": from, "steps": steps});
    let slices: Vec<_> = slices.iter().map(slice).collect();
    Map::from_iter([
        ("checkpoints".to_owned(), json!(checkpoints)),
        ("kept_checkpoints".to_owned(), json!(kept)),
        ("slices".to_owned(), json!(slices)),
    ])
}
