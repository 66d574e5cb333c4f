//! The result of a replay. Data only: drawing is done elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Divergence, EnginesReport, Extent, ReplayEngine, ToleranceShare};
use repro_core::Verdict;
use repro_core::kept::{self, ProgramWord};
use repro_core::source::{Code, Error};

/// How a replay is compared with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayComparison {
    /// Every bit has to be equal.
    Bitwise,
    /// Differences have to stay within the verifier's own tolerance.
    Calibrated,
}

/// Whether the batches are known to be those of the run's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Batches {
    /// They were drawn again from data, seed and step, and are equal.
    Drawn,
    /// The batches are taken from the slice, with the reason why nothing more is known.
    OnTrust(String),
}

/// Who chose the steps that are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChosenBy {
    /// The author, by recording a slice.
    Author,
    /// The caller of the replay.
    Caller,
    /// They were drawn at random over the whole run.
    Verifier,
    /// A random draw from this many slices of the author.
    AmongSlices(usize),
}

impl ChosenBy {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Caller => "caller",
            Self::Verifier => "verifier",
            Self::AmongSlices(_) => "verifier among slices",
        }
    }

    /// The words in a report.
    fn told(self) -> String {
        match self {
            Self::Author => "chosen by the author".to_owned(),
            Self::Caller => "chosen by the caller".to_owned(),
            Self::Verifier => "chosen by the verifier".to_owned(),
            Self::AmongSlices(1) => "the author's only slice".to_owned(),
            Self::AmongSlices(count) => {
                format!("drawn by the verifier from the author's {count} slices")
            }
        }
    }
}

/// One step, counted as records count: the first is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The steps that are done after it.
    pub step: u64,
    /// The loss as logged.
    pub logged: Option<f64>,
    /// The loss as it came out.
    pub replayed: f64,
    /// The norm of the gradients as logged.
    pub logged_norm: Option<f64>,
    /// The norm as it came out.
    pub replayed_norm: f64,
    /// How many tokens were at least routed elsewhere.
    pub flips: Option<u64>,
}

/// One tensor at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorReport {
    /// Its name, as the bundle has it.
    pub name: String,
    /// How far it moved, as logged.
    pub logged: Option<f64>,
    /// How far it moved here.
    pub replayed: f64,
    /// Whether something that was logged of it was compared.
    pub compared: bool,
    /// Whether its bits at the end match the logged digest; none if no digest was logged.
    pub equal: Option<bool>,
    /// The tolerance, relative to the update; none if bits are compared.
    pub tolerance: Option<f64>,
}

/// The micro-batches that were executed alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledMicroBatches {
    /// Their numbers, from 0.
    pub numbers: Vec<usize>,
    /// The number of micro-batches in each step.
    pub of: usize,
    /// The seed of the random draw.
    pub seed: u64,
}

/// How the records of a run agree with the steps of a slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsReport {
    /// The columns that agree, with how many records and in which reading.
    pub agreeing: Vec<String>,
    /// The columns of another trainer that match in no known reading.
    pub differing: Vec<String>,
    /// The columns that could not be compared.
    pub open: Vec<String>,
}

/// A planted fault, and whether the stretch shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlantedFault {
    /// The name of the fault.
    #[serde(deserialize_with = "kept::word")]
    pub fault: ProgramWord,
    /// The planted fault.
    pub planted: String,
    /// Where it showed: the step, and what of it. None: it did not.
    pub at: Option<(u64, String)>,
    /// The smallest relative size that shows, of faults that have sizes.
    pub smallest: Option<f64>,
    /// Why it cannot show here, where that is known without trying.
    pub unseen: Option<String>,
}

/// Whether the steps train.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    /// How many tensors are trained.
    pub tensors: usize,
    /// Those without a gradient in any step, and without the excuse below.
    pub without_gradient: Vec<String>,
    /// Those that moved no further than weight decay and rounding explain.
    pub unmoved: Vec<String>,
    /// Experts that no token was routed to.
    pub idle: Vec<String>,
    /// Routers whose only choice has the weight 1, whatever they say, so that no gradient reaches them.
    pub constant: Vec<String>,
    /// Steps at a learning rate of 0, as records count.
    pub at_rest: Vec<u64>,
}

impl Trained {
    /// The tensors that were not trained and have no excuse.
    pub fn untrained(&self) -> impl Iterator<Item = &String> {
        self.without_gradient.iter().chain(&self.unmoved)
    }
}

/// The tolerance of a step, relative to the replayed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// The step, as records count.
    pub step: u64,
    /// Of the loss.
    pub loss: f64,
    /// Of the norm of all gradients.
    pub norm: f64,
    /// The largest of any tensor's update, and the tensor.
    pub update: Option<(f64, String)>,
}

/// The tolerance of a calibrated comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Replays that it depends on, those in float64 included.
    pub replays: usize,
    /// How many times their largest spread is allowed.
    pub times: f64,
    /// The tolerance of each step.
    pub steps: Vec<Allowed>,
    /// The precision to which the run's operations rounded numbers, used here too; none if they have all bits.
    #[serde(deserialize_with = "kept::any_word")]
    pub rounded: Option<ProgramWord>,
    /// The learning-rate error with which the tolerance is compared, in percent.
    pub held_against: u32,
    /// The larger error, in percent, with which it is compared in each tensor.
    pub in_each: u32,
    /// Tensors whose tolerance is nowhere below half of what the smaller error changes, in groups where another's is, and
    /// somewhere below half of what the larger one does.
    pub roughly: Vec<String>,
    /// Tensors that hide more than that.
    pub coarse: Vec<String>,
    /// Tensors that are not compared from some step on, because their gradients are only rounding.
    pub blurred: Vec<String>,
    /// Tensors of which some numbers are only rounding, which widens their tolerance.
    pub in_part: Vec<String>,
    /// The most that is allowed of one of these.
    pub widest: f64,
    /// The first step in which rounding alone may change much of a gradient, and by which part of it.
    pub wild: Option<(u64, f64)>,
    /// The first step in which experts have equal scores and the log does not have the choices that were made here, and the
    /// tokens that have such experts.
    pub tied: Option<(u64, u64)>,
    /// Tokens that calibration replays routed elsewhere, at most in one step.
    pub flips: u64,
}

/// An evaluation that was made again, on the text that it names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RepeatedEvaluation {
    /// The step of the checkpoint.
    pub step: u64,
    /// The file of its tokens.
    pub text: String,
    /// The mean loss as logged, in nats per token.
    pub logged: Option<f64>,
    /// The mean loss as it came out.
    pub repeated: Option<f64>,
    /// The bytes of the text, where they were counted and fit.
    pub bytes: Option<u64>,
    /// Why it was not made again.
    pub not_made: Option<String>,
    /// Why its bytes were not counted.
    pub not_counted: Option<String>,
    /// The contradiction in it.
    pub differs: Option<String>,
    /// The difference larger than rounding explains.
    pub unclear: Option<String>,
    /// The training batches that occur in the text.
    pub trained_on: Option<String>,
}

/// The summary of a replay that claims asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ReplayOutcome {
    /// It was executed.
    Done(Box<Replay>),
    /// The bundle or the requested steps cannot be replayed.
    Refused(Error),
    /// It was not executed, and why.
    NotRun(String),
}

/// Replays by the names of their bundles and what was replayed.
pub type Replays = BTreeMap<(String, Extent), ReplayOutcome>;

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The bundle.
    pub bundle: String,
    /// Its digest.
    pub digest: String,
    /// The replayed steps.
    pub extent: Extent,
    /// The steps of the whole run.
    pub of_steps: u64,
    /// Who chose the steps.
    pub chosen_by: ChosenBy,
    /// The requested engines.
    pub engine: ReplayEngine,
    /// How it was compared.
    pub comparison: ReplayComparison,
    /// The arithmetic of the run.
    pub arithmetic: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where it is not verified.
    pub reason: String,
    /// The code of the verdict, where it is not verified.
    pub code: Option<&'static Code>,
    /// The start of the steps.
    pub start: String,
    /// Where the batches come from.
    pub batches: Batches,
    /// The sampled micro-batches, if not all were executed.
    pub sampled: Option<SampledMicroBatches>,
    /// The steps that were compared.
    pub steps: Vec<StepReport>,
    /// How many steps were executed.
    pub executed: u64,
    /// The tensors at the end.
    pub tensors: Vec<TensorReport>,
    /// Where replay and log part.
    pub divergence: Option<Divergence>,
    /// Tokens that the log routes elsewhere: the step, the router, and at least how many.
    pub flips: Vec<(u64, String, u64)>,
    /// Where a tolerance is: of each step and kind of number the largest share of it that a difference takes.
    pub shares: Vec<ToleranceShare>,
    /// The committed states that came out, by the steps before them.
    pub states: Vec<u64>,
    /// Further comparisons, one line each.
    pub also: Vec<String>,
    /// How the records of the run agree with a slice.
    pub records: RecordsReport,
    /// The evaluations that were made again.
    pub evaluations: Vec<RepeatedEvaluation>,
    /// Remarks on the batches, if they contain less than it looks like.
    pub reading: Vec<String>,
    /// Quantities that were not compared, and settings that differ between the config and the slice.
    pub uncompared: Vec<String>,
    /// Planted faults.
    pub faults: Vec<PlantedFault>,
    /// Whether the steps train.
    pub trained: Trained,
    /// The tolerance, where bits are not compared.
    pub tolerance: Option<Tolerance>,
    /// The loss on held-out text at the end, in nats per token, if the whole run was replayed.
    pub final_loss: Option<f64>,
    /// The comparison of two engines, if both were requested.
    pub engines: Option<EnginesReport>,
}

impl Replay {
    /// How many tensors were compared with what was logged of them.
    pub fn compared_tensors(&self) -> usize {
        self.tensors.iter().filter(|tensor| tensor.compared).count()
    }

    /// The largest share of a tolerance that a difference takes; the first of equal ones.
    pub fn closest(&self) -> Option<&ToleranceShare> {
        self.shares.iter().reduce(|known, one| if one.share > known.share { one } else { known })
    }

    /// Whether two engines executed it, and both confirm the log and each other.
    pub fn has_two_engines(&self) -> bool {
        self.engines.as_ref().is_some_and(EnginesReport::confirm)
    }

    /// The detectable faults: of each kind of fault that was planted and detected, the smallest.
    pub fn would_have_been_seen(&self) -> impl Iterator<Item = &PlantedFault> {
        self.faults.iter().filter(|fault| fault.at.is_some())
    }

    /// The limits of these steps, one line each, for whoever reviews the run: what was not executed, and of what was
    /// executed the faults that do not show.
    pub fn cannot_be_seen(&self) -> Vec<String> {
        let mut unseen = self.not_executed();
        let hidden = self.faults.iter().filter(|fault| fault.at.is_none());
        let (unplanted, within): (Vec<_>, Vec<_>) =
            hidden.partition(|fault| fault.unseen.is_some());
        let stays = |fault: &&PlantedFault| {
            format!("{}: {} stays within the tolerance", fault.fault, fault.planted)
        };
        unseen.extend(within.iter().map(stays));
        if !unplanted.is_empty() {
            let names: Vec<_> = unplanted.iter().map(|fault| fault.fault.to_string()).collect();
            unseen.push(format!("faults that do not apply to these steps: {}", names.join(", ")));
        }
        unseen
    }

    fn not_executed(&self) -> Vec<String> {
        let runs = "runs that were made and not published, and how each was tuned".to_owned();
        let overlap = "whether the training text contains parts of the validation text".to_owned();
        let (from, to) = match self.extent {
            Extent::Steps { from, to } | Extent::States { from, to } => (from, to),
            Extent::Whole => {
                return vec![overlap, runs];
            }
        };
        let made = |of: &&RepeatedEvaluation| of.repeated.is_some();
        let steps: Vec<_> =
            self.evaluations.iter().filter(made).map(|one| one.step.to_string()).collect();
        let evaluations = match steps.as_slice() {
            [] => "evaluations: their text, their values, and their byte counts".to_owned(),
            steps if self.evaluations.iter().all(|one| one.bytes.is_some()) => {
                format!("evaluations other than those at step {}", steps.join(", "))
            }
            steps => format!(
                "evaluations other than the losses at step {}, and their byte counts",
                steps.join(", ")
            ),
        };
        let data = match &self.batches {
            Batches::Drawn => "the data order in all other steps, and how often data repeats",
            Batches::OnTrust(_) => {
                "the data: the source of these batches, the order in all other steps, and how often data repeats"
            }
        };
        let after = self.of_steps.saturating_sub(to);
        let steps = match from {
            0 if self.comparison == ReplayComparison::Calibrated => {
                format!(
                    "whether the stated seed gives the initial weights, and the {after} later steps"
                )
            }
            0 => format!("the {after} later steps"),
            _ => format!(
                "the {from} earlier steps, whether the checkpoint comes from them, and the {after} later steps"
            ),
        };
        vec![evaluations, data.to_owned(), overlap, steps, runs]
    }

    /// How many of the run's steps were executed again, and who chose them.
    pub fn share(&self) -> String {
        let Self { executed, of_steps, chosen_by, .. } = self;
        format!("{executed} of {of_steps} steps, {}", chosen_by.told())
    }
}
