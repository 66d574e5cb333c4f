//! The first batch of a run against the model that its config describes, before the run makes an update.
//!
//! A recorder writes one step as a slice: tokens, loss, the norm of each tensor's gradient, as the run's own backward pass
//! gave them. Losses and gradients are compared as any replay compares them, within the tolerance of the calibration. Where
//! they differ, the rows that the run's modules read and made ([`super::first_rows::ROWS`]) tell which part of the model is the first that
//! differs, and other settings of the config are tried ([`super::first_settings`]).

use serde_json::{Map, Value as Json};

use super::course::{Course, StepMeasure};
use super::first_rows::{OwnRows, exact, opened, times};
use super::first_settings::agreeing;
use super::machine::{Machine, Progress, ReplayPhase, ReplayedRun};
use super::second::{FirstSequence, UNIT, distance};
use super::session::Session;
use crate::backend::Host;
use crate::model::{Config, Model, OperationKind, OperationRows};
use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::Verdict;
use repro_core::source::Error;
use repro_kernels::portable::Isa;
use repro_model::replay::Extent;

/// The outcome of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Everything that was logged follows from the config.
    Agrees,
    /// Something differs by more than rounding.
    Differs,
    /// Rounding or a tie decides what came out.
    Undecided,
    /// A replay would refuse the config or the tensors.
    Refused,
}

impl BatchOutcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
            Self::Refused => "refused",
        }
    }
}

/// A part of a model whose rows differ.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDifference {
    /// The part in words, with the tensor that names it.
    pub part: String,
    /// How far its rows are apart, relative to their size.
    pub apart: f64,
    /// How far they may be.
    pub allowed: f64,
}

/// The report.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstBatch {
    /// Its outcome.
    pub outcome: BatchOutcome,
    /// Why, unless it agrees.
    pub reason: String,
    /// The first part that differs, where rows were logged.
    pub part: Option<PartDifference>,
    /// Changes of the config under each of which the first sequence agrees.
    pub settings: Vec<Map<String, Json>>,
    /// The tensors of the config's model with their shapes, in the order of the forward pass; none where no model is read.
    pub tensors: Vec<(String, Vec<usize>)>,
    /// Whether tokens are routed and the slice does not say where.
    pub lacks_routes: bool,
}

impl FirstBatch {
    fn new(outcome: BatchOutcome, reason: String) -> Self {
        Self {
            outcome,
            reason,
            part: None,
            settings: Vec::new(),
            tensors: Vec::new(),
            lacks_routes: false,
        }
    }
}

/// Compares the only step of a bundle with the model that its config describes. What a replay would refuse is an outcome,
/// with its reason.
///
/// # Errors
/// Where the bundle has no such step, or the machine fails.
pub fn first_batch(
    bundle: &Bundle,
    machine: &Machine,
    progress: &dyn Progress,
) -> Result<FirstBatch, Error> {
    let rows = OwnRows::load(bundle)?;
    let tensors = tensors_of(bundle);
    let found = match ReplayedRun::of(bundle, machine) {
        Err(error) => FirstBatch::new(BatchOutcome::Refused, error.to_string()),
        Ok(subject) => match opened(&subject) {
            Ok(session) => compared(&session, &rows, progress)?,
            Err(error) => FirstBatch {
                settings: agreeing(&subject, None, &rows),
                ..FirstBatch::new(BatchOutcome::Refused, error.to_string())
            },
        },
    };
    Ok(FirstBatch { tensors, ..found })
}

/// The tensors of the model that a config describes, in the order of the forward pass.
fn tensors_of(bundle: &Bundle) -> Vec<(String, Vec<usize>)> {
    let config = bundle.document(CONFIG).and_then(|config| Config::read(config.root()));
    let Ok(config) = config else { return Vec::new() };
    let model = Model::zeros(&config, Host::<f32>::new(Isa::SCALAR));
    let mut tensors: Vec<_> = model.tensors().iter().collect();
    tensors.sort_by_key(|tensor| (tensor.variable, tensor.offset));
    tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect()
}

fn compared(
    session: &Session<'_>,
    rows: &OwnRows,
    progress: &dyn Progress,
) -> Result<FirstBatch, Error> {
    let _ = progress.begins(ReplayPhase::Executing);
    let executed = session.execute(StepMeasure::NarrowMoves, progress)?;
    let _ = progress.begins(ReplayPhase::Calibrating);
    let calibration = session.calibrate(&executed, &[], progress)?;
    let mut replay = session.unjudged(Extent::Steps { from: 0, to: 1 });
    session.compare(&executed, Some(&calibration), &mut replay);
    let lacks_routes = !session.layout.routers.is_empty()
        && session.logged.iter().all(|step| step.routed.is_none());
    let Some(divergence) = &replay.divergence else {
        let agrees = FirstBatch::new(BatchOutcome::Agrees, String::new());
        return Ok(FirstBatch { lacks_routes, ..agrees });
    };
    let apart = divergence.difference.map_or_else(String::new, |(apart, allowed)| {
        format!(", a relative difference of {apart:.1e} where rounding explains {allowed:.1e}")
    });
    let reason = format!(
        "the {}: {} in this run, {} from the config{apart}",
        divergence.shown(),
        divergence.logged,
        divergence.replayed
    );
    replay.tolerance = Some(session.tolerance_report(&calibration));
    session.judge(&mut replay);
    if replay.verdict != Verdict::Refuted {
        let undecided = FirstBatch::new(BatchOutcome::Undecided, replay.reason);
        return Ok(FirstBatch { lacks_routes, ..undecided });
    }
    Ok(FirstBatch {
        part: first_part(&session.course, session.subject.machine.place.isa, rows)?,
        settings: agreeing(session.subject, Some(session), rows),
        lacks_routes,
        ..FirstBatch::new(BatchOutcome::Differs, reason)
    })
}

/// The first part of the model whose rows differ from the run's own.
fn first_part(course: &Course, isa: Isa, rows: &OwnRows) -> Result<Option<PartDifference>, Error> {
    let narrow = FirstSequence::of(course, Host::<f32>::new(isa))?;
    let wide = FirstSequence::of(&exact(course), Host::<f64>::new(isa))?;
    let length = course.regime.shape.seq_len;
    let times = times(course);
    let mut seen = Vec::new();
    for (narrow, wide) in std::iter::zip(&narrow.operations, &wide.operations) {
        let all = places_of(narrow, wide, rows, length);
        seen.extend(all.into_iter().filter_map(|place| place.difference(times)));
    }
    let nats = |of: &FirstSequence| of.parts.last().map(|part| part.rows.clone());
    if let (Some(narrow), Some(wide), Some(own)) = (nats(&narrow), nats(&wide), rows.nats()) {
        let part = "the head: its logits, or a soft limit or scale applied to them";
        let own = own.to_vec();
        let head = SeenRows { part: part.to_owned(), is_input: true, narrow, wide, own };
        seen.extend(head.difference(times));
    }
    let mut next = seen.iter().skip(1);
    for (difference, is_input) in &seen {
        let follows = next.next();
        let is_other = |(found, _): &(PartDifference, bool)| found.apart > found.allowed;
        // What is made differs in name alone, such as by a factor, where what reads it agrees.
        let is_benign = !is_input && follows.is_some_and(|follows| follows.1 && !is_other(follows));
        if difference.apart > difference.allowed && !is_benign {
            return Ok(Some(difference.clone()));
        }
    }
    Ok(None)
}

/// Rows at one place of a model, by three accounts.
struct SeenRows {
    part: String,
    is_input: bool,
    narrow: Vec<f64>,
    wide: Vec<f64>,
    own: Vec<f64>,
}

impl SeenRows {
    /// How far the run's own are apart, and whether they are what an operation reads. None where they are no such rows.
    fn difference(self, times: f64) -> Option<(PartDifference, bool)> {
        if self.own.len() != self.narrow.len() {
            return None;
        }
        let allowed = times * distance(&self.narrow, &self.wide).max(UNIT);
        let apart = distance(&self.narrow, &self.own);
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        Some((PartDifference { part: self.part, apart, allowed }, self.is_input))
    }
}

/// The places around an operation at which the run's own rows are known.
fn places_of(
    narrow: &OperationRows<f64>,
    wide: &OperationRows<f64>,
    rows: &OwnRows,
    length: usize,
) -> Vec<SeenRows> {
    let mut all = Vec::new();
    let matrices: Vec<&String> =
        narrow.tensors.iter().filter(|name| name.ends_with(".weight")).collect();
    let (Some(first), Some(last)) = (matrices.first(), matrices.last()) else { return all };
    let read = matrices.iter().find_map(|name| rows.read(name));
    // In a gated network and a mixture, the last matrix does not read what the first does.
    let own = match narrow.kind {
        OperationKind::Linear => read,
        _ => rows.read(first),
    };
    if let (Some(inputs), Some(exact), Some(own)) = (&narrow.inputs, &wide.inputs, own) {
        all.push(SeenRows {
            part: input_of(narrow, first),
            is_input: true,
            narrow: inputs.clone(),
            wide: exact.clone(),
            own: own.to_vec(),
        });
    }
    let made = match narrow.kind {
        OperationKind::Network => rows.made(&[*last], |_| 0),
        OperationKind::Mixture | OperationKind::VectorNorms => None,
        _ => rows.made(&matrices, |name| {
            let all = rows.length_of(name);
            all.checked_div(length).unwrap_or(0)
        }),
    };
    if let Some(own) = made {
        let (narrow_rows, wide) = (narrow.outputs.clone(), wide.outputs.clone());
        let part = output_of(narrow, first);
        all.push(SeenRows { part, is_input: false, narrow: narrow_rows, wide, own });
    }
    all
}

/// The layer of a tensor, by the first number in its name.
fn layer_of(tensor: &str) -> Option<u64> {
    tensor.split('.').find_map(|part| part.parse().ok())
}

fn of_layer(tensor: &str) -> String {
    layer_of(tensor).map_or_else(String::new, |layer| format!(" of layer {layer}"))
}

/// The part of the model before an operation, in words.
fn input_of(rows: &OperationRows<f64>, tensor: &str) -> String {
    let layer = of_layer(tensor);
    match (rows.before, rows.kind) {
        (Some(OperationKind::Attention), _) => format!(
            "the attention{layer}: angles, norms of queries and keys, mask, window, scores (what `{tensor}` reads)"
        ),
        (Some(OperationKind::Activation), _) => {
            format!("the activation of the MLP{layer} (what `{tensor}` reads)")
        }
        (_, OperationKind::Norm) => {
            format!("the residual stream before the norm{layer} (what `{tensor}` reads)")
        }
        (Some(OperationKind::Norm), _) => format!("the norm{layer} before `{tensor}`"),
        _ => format!("the residual stream{layer} before `{tensor}`"),
    }
}

/// The output of an operation, in words.
fn output_of(rows: &OperationRows<f64>, tensor: &str) -> String {
    let layer = of_layer(tensor);
    match rows.kind {
        OperationKind::Embedding => format!("the embedding (`{tensor}`)"),
        OperationKind::Norm => format!("the norm{layer} (`{tensor}`): its epsilon or its formula"),
        OperationKind::Network => {
            format!("the MLP{layer}, from `{tensor}`: its activation or gating")
        }
        _ => format!("the matrix `{tensor}`{layer}"),
    }
}

#[cfg(all(test, feature = "candle"))]
mod tests {
    use super::super::second::tests::small_course;
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    /// The part that is told of a run with other settings than its config, or with another tensor.
    fn told(family: &str, changes: &[(&str, Json)], tensor: Option<&str>) -> Option<String> {
        let mut run = small_course(family, changes);
        if let Some(tensor) = tensor {
            let tensors = Arc::make_mut(&mut run.start.tensors);
            let data = tensors.tensors.get_mut(tensor).unwrap();
            let values: Vec<_> = data.as_floats().unwrap().iter().map(|one| 1.01 * one).collect();
            *data = crate::TensorData::floats(data.shape(), &values);
        }
        let config = small_course(family, &[]);
        first_part(&config, Isa::best(), &OwnRows::of(&run)).unwrap().map(|found| found.part)
    }

    #[test]
    fn the_first_part_that_differs_is_named() {
        let theta = |base: f64| ("rope_theta", json!(base));
        let act = |word: &str| ("hidden_act", json!(word));
        let epsilon = |name: &'static str| (name, json!(1e-2));
        let cases = [
            ("llama", vec![], None),
            (
                "llama",
                vec![epsilon("rms_norm_eps")],
                Some("the norm of layer 0 (`model.layers.0.input_layernorm.weight`)"),
            ),
            ("llama", vec![theta(50.0)], Some("the attention of layer 0: angles")),
            ("llama", vec![act("gelu")], Some("the MLP of layer 0, from")),
            // Of two that differ the first is told.
            ("llama", vec![act("gelu"), theta(50.0)], Some("the attention of layer 0: angles")),
            ("mistral", vec![("sliding_window", json!(2))], Some("the attention of layer 0")),
            ("gemma2", vec![("final_logit_softcapping", json!(3.0))], Some("the head: its logits")),
            (
                "gpt2",
                vec![epsilon("layer_norm_epsilon")],
                Some("the norm of layer 0 (`transformer.h.0.ln_1.weight`)"),
            ),
            (
                "gpt2",
                vec![("activation_function", json!("relu"))],
                Some("the activation of the MLP of layer 0"),
            ),
        ];
        for (family, changes, wanted) in cases {
            let found = told(family, &changes, None);
            let is_right = match wanted {
                Some(words) => found.as_ref().is_some_and(|found| found.starts_with(words)),
                None => found.is_none(),
            };
            assert!(is_right, "{family} {changes:?}: {found:?}");
        }
    }

    #[test]
    fn weights_that_are_others_are_named_by_their_tensor() {
        for (tensor, words) in [
            ("model.embed_tokens.weight", "the embedding (`model.embed_tokens.weight`)"),
            ("model.layers.1.input_layernorm.weight", "the norm of layer 1"),
            ("model.layers.1.self_attn.q_proj.weight", "the attention of layer 1"),
            (
                "model.layers.1.self_attn.o_proj.weight",
                "the matrix `model.layers.1.self_attn.o_proj.weight` of layer 1",
            ),
            ("model.layers.0.mlp.up_proj.weight", "the MLP of layer 0"),
            ("lm_head.weight", "the head: its logits"),
        ] {
            let found = told("llama", &[], Some(tensor)).unwrap_or_default();
            assert!(found.starts_with(words), "{tensor}: {found}");
        }
    }

    #[test]
    fn rows_that_were_not_kept_name_nothing() {
        let course = small_course("llama", &[]);
        let none = OwnRows::of(&small_course("llama", &[])).without(|_| true);
        assert_eq!(first_part(&course, Isa::best(), &none).unwrap(), None);
        // Without those of the norms, what they make differs in what the next matrix reads.
        let run = small_course("llama", &[("rms_norm_eps", json!(1e-2))]);
        let rows = OwnRows::of(&run).without(|name| name.contains("norm"));
        let found = first_part(&course, Isa::best(), &rows).unwrap().unwrap();
        assert!(
            found.part.starts_with("the norm of layer 0 before `model.layers.0.self_attn.q_proj"),
            "{found:?}"
        );
        assert!(found.apart > 100.0 * found.allowed, "{found:?}");
    }
}
