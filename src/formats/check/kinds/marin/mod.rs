//! Results of Marin's speedrun leaderboard: `speedrun_results.json` in both of its schemas, and the list of runs before it.
//!
//! Definitions: `docs/explanations/speedrun-flops-accounting.md` and `lib/marin/src/marin/speedrun/speedrun.py` of
//! marin-community/marin; `levanter` has those of the model.

mod levanter;

use repro_core::source::{Document, Node};

use crate::check::kind::{DocumentKind, Reads, Twins, relations};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "marin-speedrun",
    what: "results of Marin's speedrun leaderboard",
    reads: Reads::Json { is, read },
    relations: RELATIONS,
    twins: Some(Twins { table: "run", identity: "identity", relations: twins::RELATIONS }),
};

/// Chips of a slice by its name's number, and the peak of one chip in bfloat16, by generation.
const TPUS: &[(&str, f64, f64)] = &[
    ("v4", 0.5, 275e12),
    ("v5p", 0.5, 459e12),
    ("v5litepod", 1.0, 197e12),
    ("v5e", 1.0, 197e12),
    ("v6e", 1.0, 918e12),
];
/// The peak of a GPU in bfloat16 without sparsity, by what its name holds: as its maker publishes it (half of 1,979 with sparsity, 989.4 in
/// the paper on the architecture), and rounded from that.
const GPUS: &[(&str, &[f64])] = &[("h100", HOPPER), ("h200", HOPPER), ("a100", &[312e12])];
const HOPPER: &[f64] = &[989.5e12, 989.4e12, 989e12, 990e12];
/// So many steps the history of a run has, unless it is scanned.
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

/// A run of a list: its model size is counted as in the old schema.
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

/// The name of a run, whoever the page with its curves belongs to.
fn identity(row: &mut StatedRow) {
    let link = ["wandb_run_link", "wandb_run_id"].iter().find_map(|name| row.text(name));
    let name = link.and_then(|link| link.trim_end_matches('/').rsplit('/').next());
    if let Some(name) = name.map(str::to_owned) {
        row.compute_text("identity", &name, "the last part of the link");
    }
}

/// Chips and their peak, by the name of the hardware.
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
        // These have lower clocks, and peaks of their own.
        let is_slower = lower.contains("pcie") || lower.contains("nvl");
        (!is_slower).then(|| (text.to_owned(), count, peak))
    };
    let slices = ["resources.slice_count", "resources.replicas"];
    let slices = slices.iter().find_map(|name| row.number(name)).unwrap_or(1.0);
    let known =
        tpu.iter().find_map(of_tpu).map(|(name, chips, peak)| (name, Some(chips * slices), peak));
    let Some((name, chips, peak)) = known.or_else(|| gpu.iter().find_map(of_gpu)) else { return };
    if let Some(chips) = chips {
        row.compute_number("hardware.chips", chips, format!("the chips of {name}"));
    }
    row.compute_number("hardware.peak", peak, format!("the bfloat16 peak of a chip of {name}"));
}

/// The one of several published peaks of a GPU that a run was computed with, as far as it shows.
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

/// What the hardware could do in all steps, if the stated time is that of a sampled history: only where the FLOPs are those of the stated
/// time, and the utilization that would come out is one that runs have, for which a run must have more steps than that.
fn sampled_time(row: &mut StatedRow) {
    const UTILIZATIONS: std::ops::RangeInclusive<f64> = 0.05..=1.0;
    /// An estimate may be printed with three digits.
    const ROUNDED: f64 = 0.01;
    let first = |names: &[&str]| names.iter().find_map(|name| row.number(name));
    let whole = || {
        let steps = row.number("train_config.num_train_steps")?;
        // Minutes, which in some versions are seconds whatever their name says.
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
        row.compute_number("flops_of_all_steps", whole, "those of 500 steps, for all");
    }
}

/// What a run's description and name say of it.
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
            row.compute_number(said, number, "in the name of the run");
        }
    }
}

relations! {
    TOKENS = "marin::tokens", "the tokens are not the steps times the batch times the length of a sequence";
        "run" => "total_tokens = train_config.num_train_steps * train_config.train_batch_size * seq_len", from "definition of a step";
    MODEL_SIZE = "marin::model-size", "the model size is not what the configuration has";
        "run" => "model_size = counted.parameters", from "Levanter, `total_trainable_params`",
        perhaps "model_size = counted.other_norms": "it was counted with the other setting of `hybrid_norm`",
        perhaps "model_size = counted.dense": "it was counted with one expert in each layer, as a dense model",
        perhaps "model_size = counted.active": "it is the number of active parameters",
        perhaps "model_size = counted.without_last_norm": "the last norm is left out, as in the old schema",
        perhaps "model_size = counted.one_table": "one matrix of embeddings is left out",
        perhaps "model_size = counted.no_table": "embeddings and head are left out";
    NUM_PARAMETERS = "marin::num-parameters", "the number of parameters is not what the configuration has";
        "run" => "num_parameters = counted.without_last_norm", from "`compute_num_parameters` of the old schema, which leaves out the last norm",
        perhaps "num_parameters = counted.parameters": "the last norm is counted, as in the new schema",
        perhaps "num_parameters = counted.fewer_tokens": "it was counted with a vocabulary of 128,000",
        perhaps "num_parameters = counted.active": "it is the number of active parameters",
        perhaps "num_parameters = counted.dense": "it was counted with one expert in each layer, as a dense model";
    MODEL_FLOPS = "marin::model-flops", "the model FLOPs are not three times those of a token forward, times the tokens";
        "run" => "model_flops = 3 * counted.flops_per_token * total_tokens", from "`compute_model_flops`, with Levanter's `lm_flops_per_token`",
        perhaps "model_flops = 6 * counted.flops_per_token * total_tokens": "they are doubled",
        perhaps "model_flops = counted.flops_per_token * total_tokens": "they are those of the forward pass alone",
        perhaps "model_flops = 3 * counted.flops_of_all_experts * total_tokens": "all experts were counted, not those of a token",
        perhaps "model_flops = 3 * counted.flops_of_one_expert * total_tokens": "they are those of a dense model with the width of one expert",
        perhaps "model_flops = 6 * model_size * total_tokens": "they are 6 N D with all parameters";
    FLOPS_PER_TOKEN = "marin::flops-per-token", "the FLOPs of a token are not those of the configuration";
        "run" => "model_flops_per_token = counted.flops_per_token", from "Levanter, `lm_flops_per_token`",
        perhaps "model_flops_per_token = 3 * counted.flops_per_token": "the backward pass is counted",
        perhaps "model_flops_per_token = counted.flops_of_all_experts": "all experts were counted, not those of a token";
    ESTIMATED_FLOPS = "marin::estimated-flops", "the estimate before the run is not 6 N D";
        "run" => "pre_run_flops_estimate = 6 * num_parameters * total_tokens", from "the old schema";
    HARDWARE_FLOPS = "marin::hardware-flops", "the hardware FLOPs are not the time times the chips times the peak of one";
        "run" => "training_hardware_flops = training_time * hardware.chips * hardware.peak", from "speedrun-flops-accounting.md; chips of TPU slices by Levanter's table",
        perhaps "training_hardware_flops = training_time * 2 * hardware.chips * hardware.peak": "they are doubled: each of the two cores of a chip was counted as a chip",
        perhaps "training_hardware_flops = training_time / 60 * hardware.chips * hardware.peak": "the time was taken for minutes",
        perhaps "training_hardware_flops = training_time * 60 * hardware.chips * hardware.peak": "the time was taken for minutes, and multiplied by 60";
    STATED_FLOPS = "marin::stated-flops", "the hardware FLOPs are not the stated time, chips and peak, multiplied";
        "run" => "training_hardware_flops = training_time * num_chips * device_flops", from "speedrun-flops-accounting.md",
        perhaps "training_hardware_flops = training_time * num_devices * device_flops": "the devices were multiplied, not the chips";
    CHIPS = "marin::chips", "the number of chips is not that of the named hardware";
        "run" => "num_chips = hardware.chips", from "Levanter's table of TPU slices";
    PEAK = "marin::peak", "the peak of a chip is not that of the named hardware";
        "run" => "device_flops = hardware.peak", from "published bfloat16 peaks";
    OLD_CHIPS = "marin::devices", "the number of devices is not that of the named hardware";
        "run" => "hardware_config.num_devices = hardware.chips", from "Levanter's table of TPU slices";
    OLD_PEAK = "marin::device-peak", "the peak of a device is not its peak in bfloat16";
        "run" => "hardware_config.device_flops = hardware.peak", from "published bfloat16 peaks without sparsity",
        perhaps "hardware_config.device_flops = 19500000000000": "it is that of float32 without tensor cores",
        perhaps "hardware_config.device_flops = 2 * hardware.peak": "it is that with sparsity";
    TIME = "marin::time-in-minutes", "the training FLOPs are not the minutes times 60 times the devices times their peak";
        "run" => "old_flops = training_time_in_minutes * 60 * hardware_config.num_devices * hardware_config.device_flops", from "the names of the fields",
        perhaps "old_flops = training_time_in_minutes * hardware_config.num_devices * hardware_config.device_flops": "the time is in seconds, whatever its name says";
    UTILIZATION = "marin::utilization", "the model needs more FLOPs than the hardware could do in the stated time";
        "run" if "given(counted.flops_per_token, total_tokens) = 2" => "hardware_flops >= 3 * counted.flops_per_token * total_tokens",
        from "no hardware exceeds its peak",
        perhaps "flops_of_all_steps >= 3 * counted.flops_per_token * total_tokens": "the time is that of 500 sampled steps (the history of a run is sampled unless it is scanned)";
    DESCRIPTION = "marin::description", "the size in the description fits no way of counting the model", doubt;
        "run" => "min(abs(said.parameters / counted.parameters - 1), abs(said.parameters / counted.one_table - 1), \
            abs(said.parameters / counted.no_table - 1), abs(said.parameters / counted.active - 1)) <= 0.07",
        from "all parameters, without one matrix of embeddings, without both, or active ones, within 7%";
    NAMED_RATE = "marin::named-rate", "the run is named after another learning rate", doubt;
        "run" => "train_config.optimizer_config.adam_lr = said.adam_lr", from "one fact, written twice";
    NAMED_MUON_RATE = "marin::named-muon-rate", "the run is named after another learning rate of its matrices", doubt;
        "run" => "train_config.optimizer_config.learning_rate = said.lr", from "one fact, written twice";
}

mod twins {
    //! What must hold between two documents that tell of one run.

    use crate::check::kind::relations;

    relations! {
        SAME_TOKENS = "marin::same-tokens", "two documents have different tokens of one run";
            "run" => "total_tokens = previous.total_tokens", from "one run, told twice";
        SAME_SECONDS = "marin::same-time", "two documents have different training times of one run";
            "run" => "seconds = previous.seconds", from "one run, told twice";
        SAME_FLOPS = "marin::same-hardware-flops", "two documents have different hardware FLOPs of one run";
            "run" => "training_hardware_flops = previous.training_hardware_flops", from "one run, told twice",
            perhaps "2 * training_hardware_flops = previous.training_hardware_flops": "one is double the other",
            perhaps "training_hardware_flops = 2 * previous.training_hardware_flops": "one is double the other";
        SAME_MODEL_FLOPS = "marin::same-model-flops", "two documents have different model FLOPs of one run";
            "run" => "model_flops = previous.model_flops", from "one run, told twice";
        SAME_SIZE = "marin::same-model-size", "two documents have different model sizes of one run";
            "run" => "model_size = previous.model_size", from "one run, told twice";
        SAME_PARAMETERS = "marin::same-parameters", "two documents have different numbers of parameters of one run";
            "run" => "num_parameters = previous.num_parameters", from "one run, told twice";
        SAME_BPB = "marin::same-bpb", "two documents have different bits per byte of one run";
            "run" => "bpb = previous.bpb", from "one run, told twice";
        SAME_NORMS = "marin::same-hybrid-norm", "two documents have different settings of `hybrid_norm` of one run";
            "run" => "model_config.hybrid_norm = previous.model_config.hybrid_norm", from "one run, told twice";
    }
}
pub use twins::CODES as TWIN_CODES;
