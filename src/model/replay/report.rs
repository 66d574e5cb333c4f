//! The result of a replay. Data only: other modules format it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Divergence, EnginesReport, Extent, ReplayEngine, ToleranceShare};
use repro_core::Verdict;
use repro_core::kept::{self, ProgramWord};
use repro_core::source::{Code, Error};

/// The way in which a replay is compared with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayComparison {
    /// All bits must be equal.
    Bitwise,
    /// Differences must stay within the verifier's calibrated tolerance.
    Calibrated,
}

/// Whether the batches are known to come from the run's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Batches {
    /// The batches were drawn again from data, seed and step, and are equal.
    Drawn,
    /// The batches were taken from the slice, with the reason why they could not be checked.
    OnTrust(String),
}

/// The party that chose the replayed steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChosenBy {
    /// The author: the steps are a slice.
    Author,
    /// The caller of the replay.
    Caller,
    /// The verifier, at random over the whole run.
    Verifier,
    /// The verifier, at random among this many slices of the author.
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

    /// The phrase in a report.
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

/// One step, counted from 1 as in records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The number of completed steps.
    pub step: u64,
    /// The logged loss.
    pub logged: Option<f64>,
    /// The replayed loss.
    pub replayed: f64,
    /// The logged gradient norm.
    pub logged_norm: Option<f64>,
    /// The replayed gradient norm.
    pub replayed_norm: f64,
    /// A lower bound of the number of tokens with a different routing.
    pub flips: Option<u64>,
}

/// One tensor at the end of the replayed steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorReport {
    /// Its name in the bundle.
    pub name: String,
    /// The logged norm of its update.
    pub logged: Option<f64>,
    /// The replayed norm of its update.
    pub replayed: f64,
    /// Whether anything about it was logged and compared.
    pub compared: bool,
    /// Whether its bits at the end match the logged digest; none without a digest.
    pub equal: Option<bool>,
    /// The tolerance relative to the update; none for bitwise comparisons.
    pub tolerance: Option<f64>,
}

/// The micro-batches that were executed as a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledMicroBatches {
    /// Their numbers, from 0.
    pub numbers: Vec<usize>,
    /// The number of micro-batches in each step.
    pub of: usize,
    /// The seed of the random draw.
    pub seed: u64,
}

/// The agreement of a run's records with the steps of a slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsReport {
    /// The columns that agree, with the number of records and the interpretation.
    pub agreeing: Vec<String>,
    /// The columns of other trainers that agree under no known interpretation.
    pub differing: Vec<String>,
    /// Columns that could not be compared.
    pub open: Vec<String>,
}

/// An injected fault, and whether the replayed steps detect it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlantedFault {
    /// The name of the fault.
    #[serde(deserialize_with = "kept::word")]
    pub fault: ProgramWord,
    /// A description of the fault.
    pub planted: String,
    /// The step and quantity in which it was detected; none if it was not.
    pub at: Option<(u64, String)>,
    /// The smallest relative size that is detected, for faults with a size.
    pub smallest: Option<f64>,
    /// The reason why these steps cannot detect it, if it is known in advance.
    pub unseen: Option<String>,
}

/// Whether the steps train the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    /// The number of trained tensors.
    pub tensors: usize,
    /// Tensors without a gradient in any step that have none of the excuses below.
    pub without_gradient: Vec<String>,
    /// Tensors whose update is explained by weight decay and rounding.
    pub unmoved: Vec<String>,
    /// Experts without tokens.
    pub idle: Vec<String>,
    /// Routers with a single choice of constant weight 1, which receive no gradient.
    pub constant: Vec<String>,
    /// Steps with a learning rate of 0, counted from 1 as in records.
    pub at_rest: Vec<u64>,
}

impl Trained {
    /// The untrained tensors without an excuse.
    pub fn untrained(&self) -> impl Iterator<Item = &String> {
        self.without_gradient.iter().chain(&self.unmoved)
    }
}

/// The tolerances of a step, relative to the replayed values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// The step, counted from 1 as in records.
    pub step: u64,
    /// The tolerance of the loss.
    pub loss: f64,
    /// The tolerance of the total gradient norm.
    pub norm: f64,
    /// The largest tolerance of any tensor's update, and that tensor.
    pub update: Option<(f64, String)>,
}

/// The tolerance of a calibrated comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The number of calibration replays, including those in float64.
    pub replays: usize,
    /// The tolerance as a multiple of their largest deviation.
    pub times: f64,
    /// The tolerances in each step.
    pub steps: Vec<Allowed>,
    /// The format to which the run rounds the results of its operations, which the replay does too; none for full
    /// precision.
    #[serde(deserialize_with = "kept::any_word")]
    pub rounded: Option<ProgramWord>,
    /// The learning rate error that the tolerance is compared with, in percent.
    pub held_against: u32,
    /// The larger learning rate error, in percent, that the tolerance of each tensor is compared with.
    pub in_each: u32,
    /// Tensors whose tolerance exceeds half the effect of the smaller error everywhere, in groups where another tensor's
    /// does not, but is somewhere below half the effect of the larger error.
    pub roughly: Vec<String>,
    /// Tensors with an even larger tolerance.
    pub coarse: Vec<String>,
    /// Tensors that are not compared from some step on, because their gradients consist of rounding errors.
    pub blurred: Vec<String>,
    /// Tensors with some values that consist of rounding errors, which increases their tolerance.
    pub in_part: Vec<String>,
    /// The largest tolerance of these tensors.
    pub widest: f64,
    /// The first step in which rounding alone may change a large part of a gradient, and the size of that part.
    pub wild: Option<(u64, f64)>,
    /// The first step with tied experts in which the log differs from the choices made here, and the number of tokens with
    /// such ties.
    pub tied: Option<(u64, u64)>,
    /// The largest number of tokens in one step that calibration replays routed differently.
    pub flips: u64,
}

/// An evaluation that was repeated on its own text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RepeatedEvaluation {
    /// The step of the checkpoint.
    pub step: u64,
    /// The file of its tokens.
    pub text: String,
    /// The mean loss as logged, in nats per token.
    pub logged: Option<f64>,
    /// The mean loss of the repetition.
    pub repeated: Option<f64>,
    /// The bytes of the text, if they were counted and match.
    pub bytes: Option<u64>,
    /// The reason why it was not repeated.
    pub not_made: Option<String>,
    /// The reason why its bytes were not counted.
    pub not_counted: Option<String>,
    /// The error in it.
    pub differs: Option<String>,
    /// The deviation that rounding does not explain.
    pub unclear: Option<String>,
    /// The training batches that appear in the text.
    pub trained_on: Option<String>,
}

/// The outcome of a replay that claims need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ReplayOutcome {
    /// It was executed.
    Done(Box<Replay>),
    /// The bundle cannot be replayed, or not in this way.
    Refused(Error),
    /// It was not executed, for this reason.
    NotRun(String),
}

/// Replays by bundle name and extent.
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
    /// The number of steps of the whole run.
    pub of_steps: u64,
    /// The party that chose the steps.
    pub chosen_by: ChosenBy,
    /// The engines that were requested.
    pub engine: ReplayEngine,
    /// The way in which replay and log were compared.
    pub comparison: ReplayComparison,
    /// The arithmetic of the run.
    pub arithmetic: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, if it is not verified.
    pub reason: String,
    /// The code, if it is not verified.
    pub code: Option<&'static Code>,
    /// The starting point of the steps.
    pub start: String,
    /// The source of the batches.
    pub batches: Batches,
    /// The sampled micro-batches, if not all were executed.
    pub sampled: Option<SampledMicroBatches>,
    /// The compared steps.
    pub steps: Vec<StepReport>,
    /// The number of executed steps.
    pub executed: u64,
    /// The tensors at the end of the steps.
    pub tensors: Vec<TensorReport>,
    /// The first difference between replay and log.
    pub divergence: Option<Divergence>,
    /// Tokens that the log routes differently: the step, the router, and a lower bound of their number.
    pub flips: Vec<(u64, String, u64)>,
    /// The largest ratio of difference and tolerance for each step and kind of number, if there is a tolerance.
    pub shares: Vec<ToleranceShare>,
    /// The committed states that were reproduced, by the number of steps before them.
    pub states: Vec<u64>,
    /// Other comparisons, one line each.
    pub also: Vec<String>,
    /// The agreement of the run's records with a slice.
    pub records: RecordsReport,
    /// The repeated evaluations.
    pub evaluations: Vec<RepeatedEvaluation>,
    /// Remarks on batches that contain less than their size suggests.
    pub reading: Vec<String>,
    /// Values that were not compared, and settings in which config and slice differ.
    pub uncompared: Vec<String>,
    /// The injected faults.
    pub faults: Vec<PlantedFault>,
    /// Whether the steps train the model.
    pub trained: Trained,
    /// The tolerance, unless bits are compared.
    pub tolerance: Option<Tolerance>,
    /// The final loss on held-out text in nats per token, if the whole run was replayed.
    pub final_loss: Option<f64>,
    /// The comparison of two engines, if both were requested.
    pub engines: Option<EnginesReport>,
}

impl Replay {
    /// The number of tensors that were compared with logged values.
    pub fn compared_tensors(&self) -> usize {
        self.tensors.iter().filter(|tensor| tensor.compared).count()
    }

    /// The largest ratio of difference and tolerance; the first of equal ones.
    pub fn closest(&self) -> Option<&ToleranceShare> {
        self.shares.iter().reduce(|known, one| if one.share > known.share { one } else { known })
    }

    /// Whether two engines executed the steps, and both confirm the log and agree with each other.
    pub fn has_two_engines(&self) -> bool {
        self.engines.as_ref().is_some_and(EnginesReport::confirm)
    }

    /// The injected faults that were detected.
    pub fn would_have_been_seen(&self) -> impl Iterator<Item = &PlantedFault> {
        self.faults.iter().filter(|fault| fault.at.is_some())
    }

    /// A list, for reviewers, of what these steps cannot detect: everything that was not executed, and the injected faults
    /// that went undetected.
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
            unseen.push(format!("faults that cannot occur in these steps: {}", names.join(", ")));
        }
        unseen
    }

    fn not_executed(&self) -> Vec<String> {
        let runs = "unreported runs, and the tuning of each run".to_owned();
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
            [] => "evaluations: their texts, values and byte counts".to_owned(),
            steps if self.evaluations.iter().all(|one| one.bytes.is_some()) => {
                format!("all evaluations except those at step {}", steps.join(", "))
            }
            steps => format!(
                "all evaluations except the losses at step {}, and all byte counts",
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
                    "whether the initial weights follow from the stated seed, and the {after} steps after these"
                )
            }
            0 => format!("the {after} later steps"),
            _ => format!(
                "the {from} steps before these, whether they lead to the checkpoint, and the {after} steps after"
            ),
        };
        vec![evaluations, data.to_owned(), overlap, steps, runs]
    }

    /// The fraction of the run's steps that was executed, and who chose them.
    pub fn share(&self) -> String {
        let Self { executed, of_steps, chosen_by, .. } = self;
        format!("{executed} of {of_steps} steps, {}", chosen_by.told())
    }
}
