//! Results of Marin's speedrun leaderboard: `speedrun_results.json` in both schemas, and the earlier list of runs.
//!
//! Definitions: `docs/explanations/speedrun-flops-accounting.md` and `lib/marin/src/marin/speedrun/speedrun.py` of
//! marin-community/marin; `levanter` contains the model definitions.

mod levanter;

use repro_core::source::{Document, Node};

use crate::check::kind::{DocumentKind, Reads, RelationTable, Twins};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "marin-speedrun",
    what: "Marin speedrun results",
    reads: Reads::Json { is, read },
    relations: &RELATIONS,
    twins: Some(Twins { table: "run", identity: "identity", relations: &TWINS }),
};

/// TPU generations: chips per unit in the slice name, and the bfloat16 peak of one chip.
const TPUS: &[(&str, f64, f64)] = &[
    ("v4", 0.5, 275e12),
    ("v5p", 0.5, 459e12),
    ("v5litepod", 1.0, 197e12),
    ("v5e", 1.0, 197e12),
    ("v6e", 1.0, 918e12),
];
/// Bfloat16 peaks of GPUs without sparsity, by a part of the name: as published (half of 1,979 with sparsity, 989.4 in
/// the architecture paper), and rounded.
const GPUS: &[(&str, &[f64])] = &[("h100", HOPPER), ("h200", HOPPER), ("a100", &[312e12])];
const HOPPER: &[f64] = &[989.5e12, 989.4e12, 989e12, 990e12];
/// The number of steps in a run's history unless it is scanned.
const SAMPLED: f64 = 500.0;

fn is(root: Node<'_>) -> bool {
    let run = root.get("runs").and_then(|runs| runs.items().ok()?.next());
    let is_result = run
        .is_some_and(|run| run.get("run_info").is_some() || run.get("run_related_info").is_some());
    let has_all = |row: Node<'_>| {
        ["run_name", "model_size", "compute_budget_track"].iter().all(|key| row.get(key).is_some())
    };
    is_result || root.items().ok().and_then(|mut rows| rows.next()).is_some_and(has_all)
}

fn read(document: &Document) -> StatedRow {
    let mut whole = StatedRow::default();
    let root = document.root();
    let runs = root.get("runs").and_then(|runs| runs.items().ok());
    whole.add("run", runs.into_iter().flatten().enumerate().map(|(at, run)| result(at, run)));
    let listed = root.items().into_iter().flatten().enumerate();
    whole.add("run", listed.map(|(at, run)| listed_run(at, run)));
    whole
}

/// A run in a list, whose model size is counted as in the old schema.
fn listed_run(at: usize, run: Node<'_>) -> StatedRow {
    let mut row = StatedRow::default();
    row.state_all(run, &format!("/{at}"), Digits::Full);
    row.label = row.text("run_name").unwrap_or_default().to_owned();
    row.rename("model_size", "num_parameters");
    row.alias("identity", &["run_name"]);
    row.alias("seconds", &["total_training_time"]);
    row.read_printed("final_flops_used");
    row.alias("bpb", &["eval_paloma_c4_en_bpb"]);
    row
}

fn result(at: usize, run: Node<'_>) -> StatedRow {
    let mut row = StatedRow::new(if at == 0 { String::new() } else { format!("run {at}") });
    for key in ["run_info", "run_related_info", "run_stats"] {
        if let Some(part) = run.get(key) {
            row.state_all(part, &format!("/runs/{at}/{key}"), Digits::Full);
        }
    }
    row.read_printed("final_flops_estimate");
    row.read_printed("pre_run_flops_estimate");
    row.alias(
        "seq_len",
        &["train_config.train_seq_len", "model_config.seq_len", "model_config.max_seq_len"],
    );
    row.alias("seconds", &["training_time", "training_time_in_minutes"]);
    row.alias(
        "hardware_flops",
        &["training_hardware_flops", "total_training_flops", "final_flops_estimate"],
    );
    row.alias("old_flops", &["total_training_flops", "final_flops_estimate"]);
    row.alias("bpb", &["eval/paloma/c4_en/bpb"]);
    identity(&mut row);
    hardware(&mut row);
    said(&mut row);
    levanter::count(&mut row);
    sampled_time(&mut row);
    row
}

/// The name of a run, regardless of the owner of its W&B page.
fn identity(row: &mut StatedRow) {
    let link = ["wandb_run_link", "wandb_run_id"].iter().find_map(|name| row.text(name));
    let name = link.and_then(|link| link.trim_end_matches('/').rsplit('/').next());
    if let Some(name) = name.map(str::to_owned) {
        row.compute_text("identity", &name, "the last part of the link");
    }
}

/// The chips and their peak, from the hardware name.
fn hardware(row: &mut StatedRow) {
    if row.number("resources.device_flops_override").is_some() {
        return;
    }
    let tpu = [
        "resources.tpu_type",
        "resources.device.type",
        "resources.device.variant",
        "train_config.resources.tpu_type",
        "train_config.tpu_type",
        "hardware_config.device_type",
    ];
    let of_tpu = |name: &&str| {
        let text = row.text(name)?;
        let (generation, number) = text.split_once('-')?;
        let (_, share, peak) = TPUS.iter().find(|(known, ..)| *known == generation)?;
        Some((text.to_owned(), number.parse::<f64>().ok()? * share, *peak))
    };
    let gpu = ["resources.accelerator_type", "hardware_config.device_type"];
    let of_gpu = |name: &&str| {
        let text = row.text(name)?;
        let lower = text.to_ascii_lowercase();
        let (_, peaks) = GPUS.iter().find(|(known, _)| lower.contains(known))?;
        let count = ["resources.gpu_count", "train_config.resources.gpu_count"];
        let count = count.iter().find_map(|name| row.number(name));
        let peak = nearest_peak(row, count, peaks)?;
        // These variants have lower clocks and different peaks.
        let is_slower = lower.contains("pcie") || lower.contains("nvl");
        (!is_slower).then(|| (text.to_owned(), count, peak))
    };
    let slices = ["resources.slice_count", "resources.replicas"];
    let slices = slices.iter().find_map(|name| row.number(name)).unwrap_or(1.0);
    let known =
        tpu.iter().find_map(of_tpu).map(|(name, chips, peak)| (name, Some(chips * slices), peak));
    let Some((name, chips, peak)) = known.or_else(|| gpu.iter().find_map(of_gpu)) else { return };
    if let Some(chips) = chips {
        row.compute_number("hardware.chips", chips, format!("the number of chips in {name}"));
    }
    row.compute_number("hardware.peak", peak, format!("the bfloat16 peak of one {name} chip"));
}

/// The published peak of a GPU that a run was computed with, as far as it can be inferred.
fn nearest_peak(row: &StatedRow, count: Option<f64>, peaks: &[f64]) -> Option<f64> {
    let stated = ["device_flops", "hardware_config.device_flops"];
    let stated = stated.iter().find_map(|name| row.number(name));
    let implied =
        || Some(row.number("training_hardware_flops")? / row.number("training_time")? / count?);
    let shown = stated.or_else(implied).filter(|peak| peak.is_finite());
    let off = |peak: &&f64| (*peak - shown.unwrap_or_default()).abs();
    match shown {
        Some(_) => peaks.iter().min_by(|a, b| off(a).total_cmp(&off(b))).copied(),
        None => peaks.first().copied(),
    }
}

/// The hardware FLOPs over all steps if the stated time covers only a sampled history. Computed only if the FLOPs match
/// the stated time, the run has more steps than the sample, and the resulting utilization is plausible.
fn sampled_time(row: &mut StatedRow) {
    const UTILIZATIONS: std::ops::RangeInclusive<f64> = 0.05..=1.0;
    /// An estimate may be printed with three digits.
    const ROUNDED: f64 = 0.01;
    let first = |names: &[&str]| names.iter().find_map(|name| row.number(name));
    let whole = || {
        let steps = row.number("train_config.num_train_steps")?;
        // Minutes; in some versions seconds, despite the name.
        let time = first(&["training_time", "training_time_in_minutes"])?;
        let chips = first(&["hardware_config.num_devices", "num_chips", "hardware.chips"])?;
        let peak = first(&["hardware_config.device_flops", "device_flops", "hardware.peak"])?;
        let flops = row.number("hardware_flops")?;
        let is_of_time = |unit: &f64| (flops / (unit * time * chips * peak) - 1.0).abs() < ROUNDED;
        let is_of_time = [1.0, 60.0].iter().any(is_of_time);
        let needed = 3.0 * row.number("counted.flops_per_token")? * row.number("total_tokens")?;
        let whole = flops * steps / SAMPLED;
        (is_of_time && UTILIZATIONS.contains(&(needed / whole))).then_some(whole)
    };
    if let Some(whole) = whole() {
        row.compute_number(
            "flops_of_all_steps",
            whole,
            "the FLOPs of 500 steps, scaled to all steps",
        );
    }
}

/// Values from a run's description and name.
fn said(row: &mut StatedRow) {
    let description = row.text("description").unwrap_or_default().to_owned();
    if let Some((size, words)) = crate::check::words::parameters(&description).into_iter().next() {
        row.quote("said.parameters", "description", size, &words);
    }
    let name = row.text("identity").unwrap_or_default().to_owned();
    for (said, before) in [("said.adam_lr", "_adam_lr_"), ("said.lr", "muonh_4096_lr_")] {
        let number = name.split_once(before).map(|(_, rest)| rest);
        let number = number.map(|rest| rest.split(['_', '-']).next().unwrap_or(rest));
        if let Some(number) = number.and_then(|text| text.parse::<f64>().ok()) {
            row.compute_number(said, number, "from the run name");
        }
    }
}

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("relations.toml", include_str!("relations.toml"));

/// The checks between two documents about the same run.
static TWINS: RelationTable = RelationTable::new("twins.toml", include_str!("twins.toml"));
