//! The settings of a slice's own steps: `slice-NNNNNN.stated.json` next to it. They state what was done, and
//! takes the place of what formulas make of the config: the groups of the optimizer, their rules, the rate of each step.

use std::collections::BTreeSet;

use super::names;
use super::step::Layout;
use crate::rules::{
    Members, Muon, MuonScale, MuonVariant, Optimizer, ParameterGroup, UpdateMethod,
};
use crate::{LearningRates, LossTerms, Precision, Regime, RunShape};
use repro_bundle::bundle::Bundle;
use repro_core::source::{Error, Kind, Node};
use repro_model::replay::BAD_SLICE;

/// The members of a group that every rule has.
const COMMON: &[&str] = &["tensors", "optimizer", "lr", "weight_decay"];

/// The members of a statement.
const MEMBERS: &[&str] = &[
    "autocast",
    "balance_whole",
    "compute",
    "grad_clip",
    "groups",
    "label_smoothing",
    "loss_scale",
    "mean_over",
    "micro_batches",
    "norms",
    "tf32",
    "z_loss",
];

/// A rule: its name, its own members, and how it is read.
struct Rule {
    name: &'static str,
    members: &'static [&'static str],
    read: fn(Node<'_>, ParameterGroup) -> Result<ParameterGroup, Error>,
}

const RULES: &[Rule] = &[
    Rule { name: "adamw", members: &["beta1", "beta2", "eps", "amsgrad"], read: adamw },
    Rule { name: "adam", members: &["beta1", "beta2", "eps", "amsgrad"], read: adam },
    Rule { name: "sgd", members: &["momentum", "dampening", "nesterov"], read: sgd },
    Rule { name: "lion", members: &["beta1", "beta2"], read: lion },
    Rule {
        name: "muon",
        members: &[
            "adjust",
            "dtype",
            "eps",
            "momentum",
            "nesterov",
            "ns_coefficients",
            "ns_steps",
            "variant",
        ],
        read: muon,
    },
];

/// The suffix of the file's name.
const ENDING: &str = ".stated.json";

/// The most iterations of Newton and Schulz, as in PyTorch.
const ITERATIONS: u64 = 99;
/// The words for what Muon computes its iterations in: whether it is bfloat16.
const DTYPES: &[(&str, bool)] = &[("bfloat16", true), ("float32", false)];
/// The words for what multiplies its step.
const ADJUSTMENTS: &[(&str, MuonScale)] = &[
    ("original", MuonScale::Original),
    ("match_rms_adamw", MuonScale::MatchRmsAdamw),
    ("spectral_unclamped", MuonScale::SpectralUnclamped),
    ("none", MuonScale::None),
];
/// The words for whose program it is.
const VARIANTS: &[(&str, MuonVariant)] = &[
    ("reference", MuonVariant::Reference),
    ("torch", MuonVariant::Torch),
    ("compiled", MuonVariant::Compiled),
];

/// Whether all slices of a bundle state their own steps.
pub fn is_stated(bundle: &Bundle) -> bool {
    let states = |file: &str| bundle.files().contains_key(&beside(file));
    let slices = &bundle.receipt().slices;
    !slices.is_empty() && slices.iter().all(|slice| states(&slice.file))
}

/// The file beside a slice.
fn beside(slice: &str) -> String {
    let stem = slice.strip_suffix(".safetensors").unwrap_or(slice);
    format!("{stem}{ENDING}")
}

/// How the steps of a slice were made, where it states that: those `from..from + count`.
pub fn regime(
    bundle: &Bundle,
    slice: &str,
    (from, count): (u64, u64),
    shape: RunShape,
) -> Result<Option<Regime>, Error> {
    let file = beside(slice);
    if !bundle.files().contains_key(&file) {
        return Ok(None);
    }
    let root = bundle.document(&file)?.root();
    root.only(MEMBERS)?;
    let micro_batches = micro_batches(root, shape)?;
    let by_targets = is_over_targets(root)?;
    let loss_scales = loss_scales(root, count)?;
    let balance_whole = root.get("balance_whole").map_or(Ok(false), Node::truth)?;
    let (terms, precision) = (terms(root)?, precision(root)?);
    let mut groups: Vec<ParameterGroup> = Vec::new();
    let (mut rates, mut known) = (Vec::new(), BTreeSet::new());
    for node in root.required("groups")?.items()? {
        let group = group(node, count)?;
        if let Members::Named(names) = &group.members
            && let Some(twice) = names.iter().find(|name| !known.insert((*name).clone()))
        {
            let expected = "each tensor in one group";
            return Err(BAD_SLICE.at(node.place(), expected, format!("`{twice}` again")));
        }
        rates.push(rates_of(node.required("lr")?, count)?);
        groups.push(group);
    }
    let clip = number(root.required("grad_clip")?, |value| value >= 0.0, "a number of at least 0")?;
    let rates = LearningRates::Stated { from, groups: rates };
    Ok(Some(Regime {
        shape,
        micro_batches,
        by_targets,
        balance_whole,
        loss_scales,
        terms,
        precision,
        rates,
        optimizer: Optimizer { clip, groups },
    }))
}

/// Refuses a slice that begins after `from` steps and has tensors that are no matrices in a group that takes only these.
pub fn fits(
    bundle: &Bundle,
    from: u64,
    groups: &[ParameterGroup],
    of: &Layout,
) -> Result<(), Error> {
    let entry = bundle.receipt().slices.iter().find(|slice| slice.from_step == from);
    for group in groups.iter().filter(|group| matches!(group.method, UpdateMethod::Muon(_))) {
        let Members::Named(names) = &group.members else { continue };
        let tensors = std::iter::zip(&of.names, &of.shapes);
        let is_other =
            |(name, shape): &(&String, &Vec<usize>)| names.contains(*name) && shape.len() != 2;
        if let Some((name, shape)) = tensors.clone().find(is_other) {
            let place = bundle.place(&beside(entry.map_or("", |entry| &entry.file)));
            let expected = "only matrices in a `muon` group";
            return Err(BAD_SLICE.at(place, expected, format!("`{name}` of shape {shape:?}")));
        }
    }
    Ok(())
}

/// By what the loss of each step was multiplied: one number, or one for each.
fn loss_scales(root: Node<'_>, count: u64) -> Result<Vec<f64>, Error> {
    let Some(node) = root.get("loss_scale") else { return Ok(Vec::new()) };
    let one = |node| number(node, |value| value > 0.0, "a number above 0");
    if !matches!(node.value().kind, Kind::Array(_)) {
        return Ok(vec![one(node)?; usize::try_from(count).unwrap_or_default()]);
    }
    one_a_step(node, (count, "numbers"), one)
}

/// A list of so many numbers, one for each step of the slice.
fn one_a_step<'a, T>(
    node: Node<'a>,
    (count, what): (u64, &str),
    one: impl FnMut(Node<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let all: Vec<_> = node.items()?.map(one).collect::<Result<_, Error>>()?;
    if all.len() as u64 == count {
        return Ok(all);
    }
    let expected = format!("{count} {what}, one for each step of the slice");
    Err(BAD_SLICE.at(node.place(), expected, all.len().to_string()))
}

/// Whether norms of a slice were added up in float64, which leaves less room for them.
pub fn has_exact_norms(bundle: &Bundle, slice: &str) -> Result<bool, Error> {
    let file = beside(slice);
    if !bundle.files().contains_key(&file) {
        return Ok(false);
    }
    let Some(node) = bundle.document(&file)?.root().get("norms") else { return Ok(false) };
    match node.text()? {
        "float64" => Ok(true),
        "float32" => Ok(false),
        _ => Err(BAD_SLICE.at(node.place(), "`float64` or `float32`", node.printed()?)),
    }
}

/// Into how many parts of equal size a batch was cut.
fn micro_batches(root: Node<'_>, shape: RunShape) -> Result<usize, Error> {
    let Some(node) = root.get("micro_batches") else { return Ok(1) };
    let parts = usize::try_from(node.integer()?).unwrap_or(usize::MAX);
    if parts > 0 && shape.batch_size.is_multiple_of(parts) {
        return Ok(parts);
    }
    let expected = format!("a divisor of `batch_size`, {}", shape.batch_size);
    Err(BAD_SLICE.at(node.place(), expected, parts.to_string()))
}

/// Whether the loss of a batch is the mean of all its targets that count, and not of its micro-batches.
fn is_over_targets(root: Node<'_>) -> Result<bool, Error> {
    let Some(node) = root.get("mean_over") else { return Ok(false) };
    match node.text()? {
        "targets" => Ok(true),
        "micro_batches" => Ok(false),
        _ => Err(BAD_SLICE.at(node.place(), "`targets` or `micro_batches`", node.printed()?)),
    }
}

/// With how many bits the model was computed.
fn precision(root: Node<'_>) -> Result<Precision, Error> {
    let is_bfloat16 = |name: &str| match root.get(name) {
        None => Ok(false),
        Some(node) if node.text() == Ok("bfloat16") => Ok(true),
        Some(node) => Err(BAD_SLICE.at(node.place(), "`bfloat16`", node.printed()?)),
    };
    let is_tf32 = root.get("tf32").map_or(Ok(false), Node::truth)?;
    match (is_bfloat16("autocast")?, is_bfloat16("compute")?, is_tf32) {
        (false, false, false) => Ok(Precision::Full),
        (false, false, true) => Ok(Precision::Tf32),
        // Products of matrices are no longer of float32, so that TensorFloat-32 changes nothing.
        (true, false, _) => Ok(Precision::Autocast),
        (false, true, _) => Ok(Precision::Bfloat16),
        (true, true, _) => {
            let expected = "one of `autocast` and `compute`";
            Err(BAD_SLICE.at(root.place(), expected, "both"))
        }
    }
}

/// The loss terms besides the plain cross-entropy of targets.
fn terms(root: Node<'_>) -> Result<LossTerms, Error> {
    let of = |name: &str, fits: fn(f64) -> bool, expected: &str| match root.get(name) {
        Some(node) => number(node, fits, expected),
        None => Ok(0.0),
    };
    let is_share = |value: f64| (0.0..1.0).contains(&value);
    Ok(LossTerms {
        label_smoothing: of("label_smoothing", is_share, "a number from 0 to below 1")?,
        z_loss: of("z_loss", |value| value >= 0.0, "a number of at least 0")?,
    })
}

fn group(node: Node<'_>, count: u64) -> Result<ParameterGroup, Error> {
    let name = node.required("optimizer")?;
    let Some(rule) = RULES.iter().find(|rule| name.text() == Ok(rule.name)) else {
        let known: Vec<_> = RULES.iter().map(|rule| format!("`{}`", rule.name)).collect();
        return Err(BAD_SLICE.at(name.place(), known.join(", "), name.printed()?));
    };
    node.only(&[COMMON, rule.members].concat())?;
    let tensors = node.required("tensors")?.items()?;
    let names = tensors.map(|tensor| Ok(names::ours(tensor.text()?)));
    let group = ParameterGroup {
        members: Members::Named(names.collect::<Result<_, Error>>()?),
        decay: number(
            first(node.required("weight_decay")?)?,
            |value| value >= 0.0,
            "a number of at least 0",
        )?,
        ..ParameterGroup::ADAMW
    };
    let group = (rule.read)(node, group)?;
    let drift = |fields: &[&str]| drift(node, fields, count);
    let drift = [drift(&["weight_decay"])?, drift(&["beta1", "momentum"])?, drift(&["beta2"])?];
    Ok(ParameterGroup { drift, ..group })
}

/// Of a number that is stated for each step of a slice, what each has more than the first; nothing where one is stated for
/// all.
fn drift(node: Node<'_>, fields: &[&str], count: u64) -> Result<Vec<f64>, Error> {
    let Some(node) = fields.iter().find_map(|field| node.get(field)) else { return Ok(Vec::new()) };
    if !matches!(node.value().kind, Kind::Array(_)) {
        return Ok(Vec::new());
    }
    let fits = |value: f64| (0.0..1.0).contains(&value);
    let one = |node| number(node, fits, "a number from 0 to below 1");
    let all = one_a_step(node, (count, "numbers"), one)?;
    let first = all.first().copied().unwrap_or_default();
    Ok(all.iter().map(|value| value - first).collect())
}

/// A number, or the first of a list of them, one for each step.
fn first(node: Node<'_>) -> Result<Node<'_>, Error> {
    match node.items() {
        Err(_) => Ok(node),
        Ok(mut all) => {
            let none = || BAD_SLICE.at(node.place(), "a number for each step", "none");
            all.next().ok_or_else(none)
        }
    }
}

/// A rate for all steps, or one for each.
fn rates_of(node: Node<'_>, count: u64) -> Result<Vec<f32>, Error> {
    let rate = |node: Node<'_>| -> Result<f32, Error> {
        Ok(number(node, |value| value >= 0.0, "a number of at least 0")? as f32)
    };
    if !matches!(node.value().kind, Kind::Array(_)) {
        return Ok(vec![rate(node)?]);
    }
    one_a_step(node, (count, "rates"), rate)
}

fn adamw(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    Ok(ParameterGroup {
        method: UpdateMethod::AdamW { amsgrad: flag(node, "amsgrad")? },
        ..by_moments(node, group)?
    })
}

fn adam(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    Ok(ParameterGroup {
        method: UpdateMethod::Adam { amsgrad: flag(node, "amsgrad")? },
        ..by_moments(node, group)?
    })
}

fn by_moments(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    let epsilon = number(node.required("eps")?, |value| value > 0.0, "a number above 0")?;
    Ok(ParameterGroup {
        beta1: share(node, "beta1")?,
        beta2: share(node, "beta2")?,
        epsilon,
        ..group
    })
}

fn sgd(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    let method = UpdateMethod::Sgd {
        dampening: share(node, "dampening")?,
        nesterov: flag(node, "nesterov")?,
    };
    Ok(ParameterGroup { method, beta1: share(node, "momentum")?, beta2: 0.0, ..group })
}

fn lion(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    let method = UpdateMethod::Lion;
    Ok(ParameterGroup {
        method,
        beta1: share(node, "beta1")?,
        beta2: share(node, "beta2")?,
        ..group
    })
}

fn muon(node: Node<'_>, group: ParameterGroup) -> Result<ParameterGroup, Error> {
    let method = UpdateMethod::Muon(Muon {
        nesterov: flag(node, "nesterov")?,
        steps: iterations(node.required("ns_steps")?)?,
        coefficients: coefficients(node.required("ns_coefficients")?)?,
        is_bfloat16: word(node, "dtype", DTYPES)?,
        adjust: word(node, "adjust", ADJUSTMENTS)?,
        variant: word(node, "variant", VARIANTS)?,
    });
    let epsilon = number(node.required("eps")?, |value| value > 0.0, "a number above 0")?;
    Ok(ParameterGroup { method, beta1: share(node, "momentum")?, beta2: 0.0, epsilon, ..group })
}

fn iterations(node: Node<'_>) -> Result<u32, Error> {
    match node.integer()? {
        count @ 0..=ITERATIONS => Ok(count as u32),
        count => {
            let expected = format!("at most {ITERATIONS} iterations");
            Err(BAD_SLICE.at(node.place(), expected, count.to_string()))
        }
    }
}

fn coefficients(node: Node<'_>) -> Result<[f64; 3], Error> {
    let one = |node| number(node, |_| true, "a finite number");
    let all: Vec<_> = node.items()?.map(one).collect::<Result<_, Error>>()?;
    let count = all.len();
    let wrong = |_| BAD_SLICE.at(node.place(), "three numbers", format!("{count}"));
    all.try_into().map_err(wrong)
}

/// The meaning of one of these words.
fn word<T: Copy>(node: Node<'_>, field: &str, words: &[(&str, T)]) -> Result<T, Error> {
    let node = node.required(field)?;
    let meant = words.iter().find(|(word, _)| node.text() == Ok(*word));
    meant.map(|(_, meant)| *meant).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let found =
            node.printed().map_or("something else".to_owned(), |found| format!("`{found}`"));
        BAD_SLICE.at(node.place(), known.join(", "), found)
    })
}

fn share(node: Node<'_>, field: &str) -> Result<f64, Error> {
    let fits = |value: f64| (0.0..1.0).contains(&value);
    number(first(node.required(field)?)?, fits, "a number from 0 to below 1")
}

fn flag(node: Node<'_>, field: &str) -> Result<bool, Error> {
    node.required(field)?.truth()
}

fn number(node: Node<'_>, fits: fn(f64) -> bool, expected: &str) -> Result<f64, Error> {
    match node.float()? {
        value if fits(value) && value.is_finite() => Ok(value),
        _ => Err(BAD_SLICE.at(node.place(), expected, node.printed()?)),
    }
}
