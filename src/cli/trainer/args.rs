//! The arguments of commands that train and execute steps again.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::help;
use crate::cli::args::EngineArg;
use crate::cli::threads;

#[derive(Debug, Subcommand)]
pub enum TrainerCommand {
    /// Train the runs of a study and write them as receipt bundles
    #[command(after_long_help = help::TRAIN)]
    Train(TrainArgs),
    /// Run some training steps of a bundle again and show where they differ
    #[command(after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Show what can compute here, and whether its bits are those of `portable-f32/1`
    #[command(after_long_help = help::DEVICES)]
    Devices(DevicesArgs),
}

#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The study file, `repro/studies/<id>.toml`
    pub study: PathBuf,
    /// The folder for the bundles, one per run
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub out: Option<PathBuf>,
    /// Only runs whose name matches (`*` matches any text); may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,
    /// How many runs to train in parallel [default: as many as the cores allow]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub jobs: Option<usize>,
    /// Threads for each run [default: the cores, shared among the jobs]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// `scalar`, `avx2` or `avx512` [default: the fastest that this machine has]
    #[arg(long, value_name = "SET", help_heading = "Machine")]
    pub instructions: Option<String>,
    /// Device that models live on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// List the runs without training
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// This one alone: `cpu`, `cuda:N` or `opencl:N` [default: all that are there]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Write what the tensor cores of this device compute, a file for each instruction, instead of the check
    #[arg(long, value_name = "DIR", requires = "device", hide_short_help = true)]
    pub tensor_cores: Option<PathBuf>,
    /// The seed of what they multiply
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "tensor_cores",
        hide_short_help = true
    )]
    pub seed: u64,
}

/// What steps are executed on.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Device: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// `scalar`, `avx2` or `avx512` [default: the fastest that this machine has]
    #[arg(long, value_name = "SET", help_heading = "Machine")]
    pub instructions: Option<String>,
    /// Folder with the data of runs: without it, no file that a bundle names is read
    #[arg(long, value_name = "DIR", help_heading = "Machine")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The folder of the bundle
    pub bundle: PathBuf,
    /// Steps to run: `FROM..TO`, or `random:SEED` [default: the last slice]
    #[arg(long, value_name = "STEPS")]
    pub slice: Option<String>,
    /// Run everything from the seed, including evaluations
    #[arg(long, conflicts_with = "slice")]
    pub full: bool,
    /// Run only so many micro-batches of each step, `COUNT:SEED`, and make the updates by the logged gradients
    #[arg(long, value_name = "SAMPLE", conflicts_with = "full")]
    pub micro_batches: Option<String>,
    /// Compare the model alone, as recorders ask before a run's first update: loss and gradients of a slice of one step, the
    /// first part of the model that differs, and settings of the config under which it would not
    #[arg(long, conflicts_with_all = ["full", "slice", "micro_batches"], hide_short_help = true)]
    pub first_batch: bool,
    /// Measure how far rounding moves the slice: the tolerance that a replay allows
    #[arg(long, conflicts_with_all = ["full", "micro_batches", "first_batch", "engine"])]
    pub calibrate: bool,
    /// Find where this run and another one of the same config part, and which of the two follows from it
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["full", "slice", "micro_batches", "first_batch", "calibrate", "engine"])]
    pub against: Option<PathBuf>,
    /// The engines that execute the slice: the trainer's own, the independent one written with candle, or both, which have to
    /// agree
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineArg::Own, help_heading = "Machine")]
    pub engine: EngineArg,
    /// Device of candle with `--engine both`: `cpu`, `cuda:N` or `metal:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub candle_device: Option<String>,
    #[command(flatten)]
    pub machine: MachineArgs,
}
