//! The arguments of commands that train and replay.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::help;
use crate::cli::args::EngineArg;
use crate::cli::threads;

#[derive(Debug, Subcommand)]
pub enum TrainerCommand {
    /// Execute the training runs in a study and write them as receipt bundles
    #[command(after_long_help = help::TRAIN)]
    Train(TrainArgs),
    /// Replay training steps from a bundle and show where they differ from its log
    #[command(after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// List devices and whether they reproduce `portable-f32/1` bit for bit
    #[command(after_long_help = help::DEVICES)]
    Devices(DevicesArgs),
}

#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The study file, `repro/studies/<id>.toml`
    pub study: PathBuf,
    /// Output folder for the bundles, one per run
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub out: Option<PathBuf>,
    /// Execute only runs whose name matches (`*` matches any text); may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,
    /// Number of runs to execute in parallel [default: as many as the cores allow]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub jobs: Option<usize>,
    /// Number of threads per run [default: all cores, shared among the jobs]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// Instruction set: `scalar`, `avx2` or `avx512` [default: the fastest this machine supports]
    #[arg(long, value_name = "SET", help_heading = "Machine")]
    pub instructions: Option<String>,
    /// Device to train on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// List the runs in the study without executing them
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Check only this device: `cpu`, `cuda:N` or `opencl:N` [default: all devices]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Write the results of this device's tensor cores, one file per instruction, instead of running the check
    #[arg(long, value_name = "DIR", requires = "device", hide_short_help = true)]
    pub tensor_cores: Option<PathBuf>,
    /// Seed for the tensor-core input matrices
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "tensor_cores",
        hide_short_help = true
    )]
    pub seed: u64,
}

/// The device, threads and data for executing steps.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Device to run on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// Instruction set: `scalar`, `avx2` or `avx512` [default: the fastest this machine supports]
    #[arg(long, value_name = "SET", help_heading = "Machine")]
    pub instructions: Option<String>,
    /// Folder with the training data; without it, data files listed in bundles are not read
    #[arg(long, value_name = "DIR", help_heading = "Machine")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The bundle folder
    pub bundle: PathBuf,
    /// Steps to replay: `FROM..TO`, or `random:SEED` [default: the last slice]
    #[arg(long, value_name = "STEPS")]
    pub slice: Option<String>,
    /// Replay the whole run from the seed, including evaluations
    #[arg(long, conflicts_with = "slice")]
    pub full: bool,
    /// Replay only COUNT random micro-batches of each step (`COUNT:SEED`), and apply the logged gradients
    #[arg(long, value_name = "SAMPLE", conflicts_with = "full")]
    pub micro_batches: Option<String>,
    /// Compare only the model, before the first update: loss and gradients of a one-step slice, the first part of the model that
    /// differs, and config settings that would remove the difference
    #[arg(long, conflicts_with_all = ["full", "slice", "micro_batches"], hide_short_help = true)]
    pub first_batch: bool,
    /// Measure how much rounding changes the slice's results, which sets the tolerance for a replay
    #[arg(long, conflicts_with_all = ["full", "micro_batches", "first_batch", "engine"])]
    pub calibrate: bool,
    /// Find where this run and a second run of the same config diverge, and which one matches the config
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["full", "slice", "micro_batches", "first_batch", "calibrate", "engine"])]
    pub against: Option<PathBuf>,
    /// Replay engine: the trainer's own, the independent candle engine, or both, which must agree
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineArg::Own, help_heading = "Machine")]
    pub engine: EngineArg,
    /// Device for the candle engine with `--engine both`: `cpu`, `cuda:N` or `metal:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub candle_device: Option<String>,
    #[command(flatten)]
    pub machine: MachineArgs,
}
