//! The open points of a slice's replay, in words: what was not logged, what was logged and not compared, what the config states
//! beside what the slice states.

use super::course::Marks;
use super::slice::Slice;
use super::step::{Layout, Step};
use crate::{ParameterGroup, Precision, Regime, UpdateMethod};
use repro_core::source::{Kind, Node};
use std::collections::HashSet;

/// The open points of a slice.
#[derive(Debug, Clone, Default)]
pub struct LeftOpen {
    /// Remarks on the batches, if they contain less than it looks like.
    pub reading: Vec<String>,
    /// Quantities that were not compared, and settings that differ in the config.
    pub uncompared: Vec<String>,
}

/// Settings of configs that say what a slice states too, and what of a group they are.
type SettingOfGroup = (&'static str, fn(&ParameterGroup) -> f64);
const OF_GROUPS: &[SettingOfGroup] = &[
    ("weight_decay", |group| group.decay),
    ("adam_beta1", |group| group.beta1),
    ("beta1", |group| group.beta1),
    ("momentum", |group| group.beta1),
    ("adam_beta2", |group| group.beta2),
    ("beta2", |group| group.beta2),
    ("adam_eps", |group| group.epsilon),
    ("adam_epsilon", |group| group.epsilon),
];
const OF_CLIPPING: &[&str] = &["grad_clip", "gradient_clip_val", "max_grad_norm"];
/// Numbers that are one setting, written twice.
const SAME: f64 = 1e-6;

/// Lists the open points of a slice of another program.
pub fn of_other_program(
    slice: &Slice,
    logged: &[Step],
    layout: &Layout,
    regime: &Regime,
) -> Vec<String> {
    let mut open = missing(logged, layout);
    if slice.steps.iter().any(|step| step.micro_batches != [None, None]) || slice.has_gradients {
        let told = "individual micro-batches, and the gradients in the slice: `--micro-batches` executes some";
        open.push(told.to_owned());
    }
    if slice.tensors.iter().any(|tensor| tensor.digest.is_some()) {
        open.push("digests of tensors, which differ between arithmetics".to_owned());
    }
    open.push("directions of gradients and updates: the slice has only their norms".to_owned());
    if regime.precision != Precision::Full {
        let told = "whether the run used the precision that the slice states, and what it hides: small loss terms, \
                    settings of norms and angles, small noise";
        open.push(told.to_owned());
    }
    if regime.optimizer.groups.iter().any(|group| group.method == UpdateMethod::Lion) {
        open.push("updates by signs (Lion): differences after one are inconclusive".to_owned());
    }
    open
}

/// Lists the quantities that were not logged.
fn missing(logged: &[Step], layout: &Layout) -> Vec<String> {
    let lacks = |has: fn(&Step) -> bool| !logged.iter().any(has);
    let all: [(&str, bool); 5] = [
        ("the norm of all gradients", lacks(|step| step.norm.is_some())),
        ("gradient norms of tensors", lacks(|step| step.gradients.is_some())),
        ("update norms of tensors", lacks(|step| step.updates.is_some())),
        ("norms of tensors", lacks(|step| step.sizes.is_some())),
        ("routing", !layout.routers.is_empty() && lacks(|step| step.routed.is_some())),
    ];
    let names: Vec<_> = all.iter().filter(|(_, lacks)| *lacks).map(|(name, _)| *name).collect();
    if names.is_empty() { Vec::new() } else { vec![format!("{}: not logged", names.join(", "))] }
}

/// Describes batches that contain less than it looks like: targets that do not count, duplicate rows.
pub fn read_of(rows: &[Vec<u32>], marks: &[Marks], width: usize) -> Vec<String> {
    let mut said = Vec::new();
    let counted: Vec<_> = marks.iter().flat_map(|marks| &marks.counted).collect();
    let counting = counted.iter().filter(|counts| ***counts).count();
    if counting < counted.len() {
        let percent = 100.0 * counting as f64 / counted.len() as f64;
        said.push(format!("{percent:.1}% of the targets count"));
    }
    let all: Vec<&[u32]> = rows.iter().flat_map(|rows| rows.chunks(width)).collect();
    let different: HashSet<&[u32]> = all.iter().copied().collect();
    if different.len() < all.len() {
        said.push(format!("of {} rows, {} are distinct", all.len(), different.len()));
    }
    said
}

/// Lists where a config differs from the slice. The config only describes the run, and does not decide.
pub fn described(config: Node<'_>, regime: &Regime) -> Vec<String> {
    let number = |name: &str| match config.get(name) {
        Some(node) if matches!(node.value().kind, Kind::Number(_)) => node.float().ok(),
        _ => None,
    };
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let groups = &regime.optimizer.groups;
    let of_groups = OF_GROUPS.iter().filter_map(|(name, of)| {
        let said = number(name)?;
        let stated: Vec<f64> = groups.iter().map(of).collect();
        let differs = !stated.is_empty() && !stated.iter().any(|stated| is_same(*stated, said));
        differs.then(|| (name, said, listed(stated)))
    });
    let clip = regime.optimizer.clip;
    let of_clipping = OF_CLIPPING.iter().filter_map(|name| {
        let said = number(name)?;
        (!is_same(said, clip)).then(|| (name, said, clip.to_string()))
    });
    let told = |(name, said, stated): (&&str, f64, String)| {
        format!("`{name}` is {said} in the config and {stated} in the slice")
    };
    of_groups.chain(of_clipping).map(told).collect()
}

fn listed(mut numbers: Vec<f64>) -> String {
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_and_what_is_there_twice_is_told() {
        let rows = vec![vec![1, 2, 3, 1, 2, 3], vec![4, 5, 6, 7, 8, 9]];
        assert_eq!(read_of(&rows, &[], 3), ["of 4 rows, 3 are distinct"]);
        let marks = Marks { counted: vec![true, false, true, true], ..Marks::default() };
        assert_eq!(read_of(&rows[1..], &[marks], 3), ["75.0% of the targets count"]);
        let all = Marks { counted: vec![true; 4], ..Marks::default() };
        assert!(read_of(&rows[1..], &[all], 3).is_empty());
    }
}
