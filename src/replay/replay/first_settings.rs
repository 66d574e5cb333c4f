//! Other settings under which the first sequence of a run agrees: where the model differs from its config, these name what
//! it is instead, if a replay knows it.
//!
//! Values that are common in published models are tried one by one, then in pairs. What agrees is told; that it is what
//! the run computes is shown by its first batch as a whole, once the config says so.

use serde_json::{Map, Value as Json, json};

use super::course::Course;
use super::first_rows::{OwnRows, exact, opened, times};
use super::machine::ReplayedRun;
use super::second::{FirstSequence, UNIT, distance};
use super::session::Session;
use crate::backend::Host;
use crate::model::{Config, ModelFamily};
use repro_core::source::{Document, Error, Source};
use repro_kernels::portable::Isa;

/// The most that is spent on trials: operations of forward passes, and their number.
const OPERATIONS: f64 = 2e10;
const TRIALS: usize = 600;
/// The most answers.
const ANSWERS: usize = 3;
/// From such a distance on, which no rounding makes, rows are not computed again in float64.
const FAR: f64 = 0.05;

/// Epsilons of norms; the fourth is that of float32, which PyTorch takes where none is given.
const EPSILONS: &[f64] = &[1e-5, 1e-6, 1e-8, 1.192_092_9e-7, 1e-12];
const BASES: &[f64] = &[10_000.0, 100_000.0, 500_000.0, 1_000_000.0];
const LIMITS: &[f64] = &[15.0, 20.0, 30.0, 50.0];
const FUNCTIONS: &[&str] = &["silu", "gelu", "gelu_pytorch_tanh", "relu", "relu2"];
const NUMBERS: &[(&str, &[f64])] = &[
    ("rms_norm_eps", EPSILONS),
    ("layer_norm_epsilon", EPSILONS),
    ("norm_eps", EPSILONS),
    ("rope_theta", BASES),
    ("final_logit_softcapping", LIMITS),
    ("attn_logit_softcapping", LIMITS),
];
const WORDS: &[&str] = &["hidden_act", "hidden_activation", "activation_function"];
const FLAGS: &[&str] = &["norm_topk_prob"];
/// Numbers of heads: the fields for queries, and for keys and values.
const HEADS: &[(&str, &str)] =
    &[("num_attention_heads", "num_key_value_heads"), ("n_head", "n_kv_head")];

/// A change of a config, by field.
type Change = Map<String, Json>;

/// Changes of the config of a run under which its first sequence costs what the run's own model says. `session` is that of
/// the config as it is, where a replay takes it.
pub fn agreeing(
    subject: &ReplayedRun<'_>,
    session: Option<&Session<'_>>,
    rows: &OwnRows,
) -> Vec<Change> {
    let Some(nats) = rows.nats() else { return Vec::new() };
    let mut bases = Vec::new();
    if let Some(session) = session {
        bases.push((Change::new(), session.course.clone()));
    }
    bases.extend(other_families(subject));
    let Some((_, first)) = bases.first() else { return Vec::new() };
    let trial = Trial { isa: subject.machine.place.isa, nats, left: most_trials(first) };
    trial.search(&bases)
}

/// How many forward passes of one sequence may be made.
fn most_trials(course: &Course) -> usize {
    let numbers: usize = course
        .start
        .tensors
        .tensors
        .values()
        .map(|data| data.shape().iter().product::<usize>())
        .sum();
    let pass = 2.0 * numbers as f64 * course.regime.shape.seq_len as f64;
    ((OPERATIONS / pass.max(1.0)) as usize).min(TRIALS)
}

/// The run as a model of other families, where they have its tensors.
fn other_families(subject: &ReplayedRun<'_>) -> Vec<(Change, Course)> {
    let mut all = Vec::new();
    let own = subject.config.get("model_type").and_then(|node| node.text().ok());
    for family in ModelFamily::all().iter().filter(|family| Some(family.model_type) != own) {
        let change = Change::from_iter([("model_type".to_owned(), json!(family.model_type))]);
        if let Some(course) = course_of(subject, &change) {
            all.push((change, course));
        }
    }
    all
}

/// The first step of a run whose config is changed, where a replay takes it.
fn course_of(subject: &ReplayedRun<'_>, change: &Change) -> Option<Course> {
    let mut config = repro_model::study::table(subject.config).ok()?;
    config.extend(change.clone());
    let text = Json::Object(config).to_string();
    let source = Source::new("config.json", text.into_bytes()).ok()?;
    let document = Document::parse_json(source).ok()?;
    let other = ReplayedRun {
        bundle: subject.bundle,
        config: document.root(),
        shape: subject.shape,
        arithmetic: subject.arithmetic.clone(),
        machine: subject.machine,
    };
    Config::read(other.config).ok()?;
    opened(&other).ok().map(|session| session.course)
}

/// The compared settings, and the remaining budget.
struct Trial<'a> {
    isa: Isa,
    nats: &'a [f64],
    left: usize,
}

impl Trial<'_> {
    /// Tries the configs as they are, with one change, and with two.
    fn search(mut self, bases: &[(Change, Course)]) -> Vec<Change> {
        let mut found = Vec::new();
        for depth in 0..=2 {
            for (change, course) in bases {
                self.at_depth(depth, change, course, &mut found);
            }
            if !found.is_empty() {
                break;
            }
        }
        smallest(found)
    }

    fn at_depth(&mut self, depth: usize, made: &Change, course: &Course, found: &mut Vec<Change>) {
        if depth == 0 {
            if self.left > 0 {
                self.left -= 1;
                if self.agrees(course).unwrap_or(false) {
                    found.push(made.clone());
                }
            }
            return;
        }
        for change in single_changes(course) {
            // Two changes of one field are one, and each pair is met twice.
            let is_new = change
                .keys()
                .all(|field| made.keys().all(|known| known < field || known == "model_type"));
            if self.left == 0 || found.len() >= ANSWERS || !is_new {
                continue;
            }
            let mut other = course.clone();
            other.config.extend(change.clone());
            let mut all = made.clone();
            all.extend(change);
            self.at_depth(depth - 1, &all, &other, found);
        }
    }

    /// Whether the first sequence of a course costs what the run's own model says.
    fn agrees(&self, course: &Course) -> Result<bool, Error> {
        let head = |of: FirstSequence| of.parts.into_iter().last().map(|part| part.rows);
        let Some(narrow) = head(FirstSequence::of(course, Host::<f32>::new(self.isa))?) else {
            return Ok(false);
        };
        if narrow.len() != self.nats.len() || distance(&narrow, self.nats) > FAR {
            return Ok(false);
        }
        let wide = head(FirstSequence::of(&exact(course), Host::<f64>::new(self.isa))?);
        let rounding = wide.map_or(0.0, |wide| distance(&narrow, &wide)).max(UNIT);
        Ok(distance(&narrow, self.nats) <= times(course) * rounding)
    }
}

/// Those of some changes that hold no other one. Where none is needed, there are none.
fn smallest(found: Vec<Change>) -> Vec<Change> {
    let holds = |change: &Change, other: &Change| {
        change != other && other.iter().all(|(field, value)| change.get(field) == Some(value))
    };
    let is_smallest = |change: &&Change| !found.iter().any(|other| holds(change, other));
    let needed = found.iter().filter(is_smallest).filter(|change| !change.is_empty());
    needed.take(ANSWERS).cloned().collect()
}

/// Changes of one setting that the family of a config reads.
fn single_changes(course: &Course) -> Vec<Change> {
    let config = &course.config;
    let word = config.get("model_type").and_then(Json::as_str).unwrap_or_default();
    let family = ModelFamily::all().iter().find(|family| family.model_type == word);
    let reads =
        |field: &str| family.map_or(config.contains_key(field), |family| family.reads(field));
    let one = |field: &str, value: Json| Change::from_iter([(field.to_owned(), value)]);
    let mut all = Vec::new();
    for (field, values) in NUMBERS.iter().filter(|(field, _)| reads(field)) {
        all.extend(values.iter().map(|value| one(field, json!(value))));
    }
    for field in WORDS.iter().filter(|field| reads(field)) {
        all.extend(FUNCTIONS.iter().map(|word| one(field, json!(word))));
    }
    for field in FLAGS.iter().filter(|field| reads(field)) {
        all.extend([true, false].map(|flag| one(field, json!(flag))));
    }
    if reads("num_experts_per_tok") {
        all.extend((1..=8).map(|count| one("num_experts_per_tok", json!(count))));
    }
    if reads("sliding_window") {
        let powers = (0..20).map(|power| 1_usize << power);
        let windows = powers.take_while(|window| *window < course.regime.shape.seq_len);
        all.extend(windows.map(|window| one("sliding_window", json!(window))));
    }
    all.extend(other_heads(config));
    if let Some(angles) = config.get("rope_parameters").and_then(Json::as_object) {
        for change in all.iter_mut().filter(|change| change.contains_key("rope_theta")) {
            let Some(base) = change.remove("rope_theta") else { continue };
            let mut angles = angles.clone();
            angles.insert("rope_theta".to_owned(), base);
            change.insert("rope_parameters".to_owned(), Json::Object(angles));
        }
    }
    let is_new =
        |change: &Change| change.iter().any(|(field, value)| config.get(field) != Some(value));
    all.retain(is_new);
    all
}

/// The same matrices, cut into other heads.
fn other_heads(config: &Change) -> Vec<Change> {
    let mut all = Vec::new();
    for (queries, shared) in HEADS {
        let count =
            |field: &str| config.get(field).and_then(Json::as_u64).filter(|count| *count > 0);
        let Some(heads) = count(queries).filter(|_| !config.contains_key("head_dim")) else {
            continue;
        };
        for other in [1, 2, 4, 8, 12, 16, 32].into_iter().filter(|other| *other != heads) {
            let mut change = Change::from_iter([((*queries).to_owned(), json!(other))]);
            if let Some(keys) = count(shared) {
                if keys * other % heads != 0 {
                    continue;
                }
                change.insert((*shared).to_owned(), json!(keys * other / heads));
            }
            all.push(change);
        }
    }
    all
}

#[cfg(all(test, feature = "candle"))]
mod tests {
    use super::super::second::tests::small_course;
    use super::*;

    /// The changes that are found for a run with other settings than its config.
    fn found(family: &str, changes: &[(&str, Json)], left: usize) -> Vec<Change> {
        let rows = OwnRows::of(&small_course(family, changes));
        let trial = Trial { isa: Isa::best(), nats: rows.nats().unwrap(), left };
        trial.search(&[(Change::new(), small_course(family, &[]))])
    }

    #[test]
    fn settings_that_would_give_the_batch_are_found() {
        let cases: [(&str, &[(&str, Json)]); 7] = [
            ("llama", &[("hidden_act", json!("gelu"))]),
            ("llama", &[("rms_norm_eps", json!(1e-6))]),
            ("llama", &[("rope_theta", json!(10_000.0))]),
            ("llama", &[("hidden_act", json!("relu2")), ("rope_theta", json!(500_000.0))]),
            ("mistral", &[("sliding_window", json!(2))]),
            ("gemma2", &[("final_logit_softcapping", json!(30.0))]),
            ("nanogpt", &[("n_head", json!(2))]),
        ];
        for (family, changes) in cases {
            let wanted: Change =
                changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            let all = found(family, changes, TRIALS);
            assert!(all.contains(&wanted), "{family} {changes:?}: {all:?}");
        }
    }

    #[test]
    fn nothing_is_proposed_where_nothing_is_known_or_needed() {
        assert!(found("llama", &[], TRIALS).is_empty());
        // No family has this value among those that are tried.
        assert!(found("llama", &[("rope_theta", json!(77.0))], TRIALS).is_empty());
        assert!(found("llama", &[("hidden_act", json!("gelu"))], 0).is_empty());
    }
}
