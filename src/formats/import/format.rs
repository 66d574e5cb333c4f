//! The log formats, as named on the command line.

/// A log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogFormat {
    /// Speedrun leaderboards.
    Speedrun,
    /// MLPerf Training results.
    Mlperf,
    /// One JSON object per line.
    Jsonl,
    /// A table: custom, or from Lightning, Ultralytics or Keras.
    Csv,
    /// `trainer_state.json` of the Hugging Face Trainer.
    HfTrainer,
    /// TensorBoard event files.
    TensorBoard,
    /// Files that W&B writes for a run.
    Wandb,
    /// A folder of MLflow's file store, or its SQLite database.
    Mlflow,
    /// A DVCLive folder.
    DvcLive,
    /// Golden values of Megatron's tests.
    Megatron,
    /// A step and a loss per line, as in torchtitan's tests.
    StepLoss,
    /// `speedrun_results.json` of Marin's leaderboard.
    Marin,
    /// nanochat reports.
    Nanochat,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 13] = [
        Self::Speedrun,
        Self::Mlperf,
        Self::Jsonl,
        Self::Csv,
        Self::HfTrainer,
        Self::TensorBoard,
        Self::Wandb,
        Self::Mlflow,
        Self::DvcLive,
        Self::Megatron,
        Self::StepLoss,
        Self::Marin,
        Self::Nanochat,
    ];

    /// The name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Speedrun => "speedrun",
            Self::Mlperf => "mlperf",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::HfTrainer => "hf-trainer",
            Self::TensorBoard => "tensorboard",
            Self::Wandb => "wandb",
            Self::Mlflow => "mlflow",
            Self::DvcLive => "dvclive",
            Self::Megatron => "megatron",
            Self::StepLoss => "step-loss",
            Self::Marin => "marin",
            Self::Nanochat => "nanochat",
        }
    }

    /// A description of the log files in a folder.
    pub fn files(self) -> &'static str {
        match self {
            Self::Speedrun => "`*.txt` or `*.log`",
            Self::Mlperf => "`result_*.txt` or `*.log`",
            Self::Jsonl => "`*.jsonl` or `*.ndjson`",
            Self::Csv => "`*.csv`",
            Self::HfTrainer => "`trainer_state.json`",
            Self::TensorBoard => "`*.tfevents.*`",
            Self::Wandb => "`run-*.wandb`",
            Self::Mlflow => "`meta.yaml` beside `metrics`, or a SQLite database",
            Self::DvcLive => "`plots/metrics` with `*.tsv`",
            Self::Megatron => "`*golden_values*.json`",
            Self::StepLoss => "`*.txt` or `*.log`",
            Self::Marin => "`*.json` with `runs`",
            Self::Nanochat => "`*.md`",
        }
    }

    /// Whether a file in a folder is such a log, judging by its name.
    pub fn has_name(self, name: &str) -> bool {
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match self {
            Self::Speedrun | Self::StepLoss => ends(&[".txt", ".log"]),
            Self::Mlperf => ends(&[".log"]) || name.starts_with("result_") && ends(&[".txt"]),
            Self::Jsonl => ends(&[".jsonl", ".ndjson"]),
            Self::Csv => ends(&[".csv"]),
            Self::HfTrainer => name == "trainer_state.json",
            Self::TensorBoard => name.contains("tfevents"),
            Self::Wandb => ends(&[".wandb"]),
            Self::Mlflow => ends(&[".db", ".sqlite", ".sqlite3", ".sql"]),
            Self::DvcLive => false,
            Self::Megatron => name.contains("golden_values") && ends(&[".json"]),
            Self::Marin => ends(&[".json"]),
            Self::Nanochat => ends(&[".md"]),
        }
    }
}
