//! The arguments of every command.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::common::CommonArgs;
use super::{exit, help, mcp, threads, trainer};
use repro_model::replay::ReplayEngine;

/// Checks whether the numbers in a training post follow from its receipts.
#[derive(Debug, Parser)]
#[command(name = "repro", version = env!("REPRO_VERSION"), after_long_help = exit::TABLE, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a project that verifies right away: a first post, its bundle and lock, and a CI workflow
    #[command(after_long_help = help::INIT)]
    Init(InitArgs),
    /// Convert training logs to receipt bundles
    #[command(after_long_help = help::IMPORT)]
    Import(ImportArgs),
    /// Draft a post: propose an expression over your bundles for each number in a text
    #[command(after_long_help = exit::COVERED)]
    Draft(DraftArgs),
    /// Check posts against their receipts, or check bundles on their own
    #[command(after_long_help = exit::TABLE)]
    Verify(VerifyArgs),
    /// Check published results for contradictions: model folders, leaderboards, reports, logs, bundles
    #[command(after_long_help = help::CHECK)]
    Check(CheckArgs),
    /// Review a post claim by claim, and record whether the wording matches what was checked
    #[command(after_long_help = help::REVIEW)]
    Review(ReviewArgs),
    /// Decide whether candidate runs beat a baseline or a threshold, according to a rule
    #[command(after_long_help = help::GATE)]
    Gate(GateArgs),
    /// Show what is held fixed across two or more runs, or what changed between two reports or commits
    #[command(after_long_help = help::DIFF)]
    Diff(DiffArgs),
    /// Count the total and active parameters of a config or checkpoint
    Params(ParamsArgs),
    /// Run tests and compute confidence intervals for one or two lists of numbers, or compute CORE from a per-task table
    #[command(after_long_help = STATS_NOTE)]
    Stats(Box<StatsArgs>),
    #[command(flatten)]
    Trainer(trainer::TrainerCommand),
    /// Seal, sign, timestamp, attest and challenge bundles
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Split verification across machines: plan, work, merge
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Explain a code, function, rule or topic, or list them
    Explain(ExplainArgs),
    /// Run a read-only MCP server with the tools `check`, `verify`, `draft`, `stats`, `params` and `explain`
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    /// Print a shell completion script
    #[command(after_long_help = help::COMPLETIONS, hide = true)]
    Completions(CompletionsArgs),
    /// Print the man page of the program or of a command
    #[command(after_long_help = help::MAN, hide = true)]
    Man(ManArgs),
}

impl Command {
    /// The posts and bundles to judge, for commands that judge.
    pub fn judged(&mut self) -> Option<&mut JudgedArgs> {
        match self {
            Self::Verify(own) => Some(&mut own.judged),
            Self::Cluster(ClusterCommand::Plan(own)) => Some(&mut own.judged),
            _ => None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Write the receipt and manifests for a folder of transcribed evidence
    Seal(SealArgs),
    /// Create a key pair for signing
    Keygen(KeygenArgs),
    /// Sign bundles (writes `receipt.sig`) or an in-toto report (writes `FILE.sig`)
    Sign(SignArgs),
    /// Write a timestamp request (RFC 3161) for a bundle, its committed states, a plan or a run start
    #[command(after_long_help = help::STAMP)]
    Stamp(StampArgs),
    /// Attest, as the builder, to the files in a bundle, for `verify --attestation`
    Attest(AttestArgs),
    /// Pick random step ranges to audit in a run with committed states, for `verify --challenge`
    #[command(after_long_help = help::CHALLENGE)]
    Challenge(ChallengeArgs),
}

#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Split verification into work items for many machines
    #[command(after_long_help = help::PLAN)]
    Plan(PlanArgs),
    /// Execute work items from a plan and store their results
    #[command(after_long_help = help::WORK)]
    Work(WorkArgs),
    /// Merge a plan's results into the report that a single machine would have written
    #[command(after_long_help = exit::MERGED)]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The project folder, created if it does not exist [default: `--root`, or the current folder]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Your own logs, or folders of logs, in any format that `repro import` reads
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub log: Vec<PathBuf>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct StampArgs {
    /// A bundle folder, a plan, or a log of started runs
    pub path: PathBuf,
    /// Which digest of a bundle to timestamp [default: states]
    #[arg(long, value_enum)]
    pub of: Option<Stamped>,
    /// Where to write the request
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stamped {
    Bundle,
    States,
    Start,
    Plan,
    Config,
}

#[derive(Debug, Args)]
pub struct AttestArgs {
    /// The bundle folder
    pub bundle: PathBuf,
    /// The builder's private key (PEM)
    #[arg(long, value_name = "PEM")]
    pub key: PathBuf,
    /// The builder's identity, a URI that it controls
    #[arg(long, value_name = "URI")]
    pub builder: String,
}

#[derive(Debug, Args)]
pub struct DraftArgs {
    /// The text file: Markdown, HTML or TeX
    pub text: PathBuf,
    /// Bundles, or folders of bundles, in `receipts/`; may be repeated [default: all]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub evidence: Vec<PathBuf>,
    /// The post id [default: the name of the text file]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Update an existing draft; keeps the statements that you confirmed
    #[arg(long)]
    pub update: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files and folders to check
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Treat the paths as a changeset: check each file with the bundle or model folder it belongs to, and skip unknown files
    #[arg(long)]
    pub changed: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

/// The posts and bundles to judge, and the requirements for a pass.
#[derive(Debug, Clone, Default, Args)]
pub struct JudgedArgs {
    /// Post id, or `all`; may be repeated [default: all, unless you list bundles]
    #[arg(long, value_name = "ID", help_heading = "Posts and bundles")]
    pub post: Vec<String>,
    /// Post ids, or bundles to check on their own, by path or URL
    #[arg(value_name = "POST|BUNDLE", help_heading = "Posts and bundles")]
    pub bundles: Vec<PathBuf>,
    /// Folder with files that receipts list but bundles do not contain, such as large checkpoints
    #[arg(long, value_name = "DIR", requires = "bundles", help_heading = "Posts and bundles")]
    pub artifacts: Option<PathBuf>,
    /// A source text that is not included with the post, matched by its digest; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Posts and bundles")]
    pub text: Vec<PathBuf>,
    /// Weakest origin to accept for a verified claim
    #[arg(long, value_enum, value_name = "ORIGIN", help_heading = "Requirements")]
    pub min_origin: Option<MinOrigin>,
    /// Weakest method to accept for a verified claim
    #[arg(long, value_enum, value_name = "METHOD", help_heading = "Requirements")]
    pub min_method: Option<MinMethod>,
    /// Weakest reading to accept for a verified claim: who confirmed that the wording matches the fact
    #[arg(long, value_enum, value_name = "READING", help_heading = "Requirements")]
    pub min_reading: Option<MinReading>,
    /// Public key (PEM) that each bundle's signature must verify against; if repeated, one matching key is enough
    #[arg(long, value_name = "PEM", help_heading = "Requirements")]
    pub pubkey: Vec<PathBuf>,
    /// Timestamp (RFC 3161) of a bundle, its committed states, plan, run start or config; may be repeated
    #[arg(long, value_name = "FILE", requires_all = ["authority", "bundles"], help_heading = "Requirements")]
    pub timestamp: Vec<PathBuf>,
    /// Certificate (PEM) of a trusted timestamp authority, or of its issuer; may be repeated
    #[arg(long, value_name = "PEM", requires = "timestamp", help_heading = "Requirements")]
    pub authority: Vec<PathBuf>,
    /// A builder's attestation to the files in a bundle (in-toto, SLSA provenance v1); may be repeated
    #[arg(long, value_name = "FILE", requires = "builder_key", help_heading = "Requirements")]
    pub attestation: Vec<PathBuf>,
    /// Public key (PEM) of a trusted builder; if repeated, one matching key is enough
    #[arg(long, value_name = "PEM", requires = "attestation", help_heading = "Requirements")]
    pub builder_key: Vec<PathBuf>,
    /// Exit with status 3 if a number in a text is not covered by a claim, or a text is missing
    #[arg(long, help_heading = "Requirements")]
    pub all_bound: bool,
}

impl JudgedArgs {
    /// Moves post ids and `all` from the bundle arguments to the posts; an existing path stays a bundle.
    pub fn take_posts(&mut self, root: Option<&Path>) {
        let is_post = |name: &str| {
            let file = || Some(root?.join("repro").join(name).with_extension("toml").is_file());
            name == "all" || file().unwrap_or(false)
        };
        let posts = self.bundles.extract_if(.., |path| {
            let name = path.to_str().filter(|name| !name.contains(['/', '.']));
            !path.exists() && name.is_some_and(is_post)
        });
        self.post.extend(posts.filter_map(|path| path.to_str().map(str::to_owned)));
    }
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub judged: JudgedArgs,
    /// Compare verdicts with `repro/ID.lock`, and the list of posts with `repro/index.lock` (for CI)
    #[arg(long, conflicts_with = "write_lock", help_heading = "Posts and bundles")]
    pub locked: bool,
    /// Print the reading, rule and lints applied to one claim (`CLAIM` or `POST/CLAIM`) instead of the report
    #[arg(long, value_name = "CLAIM", conflicts_with_all = ["locked", "write_lock", "resume"], help_heading = "Posts and bundles")]
    pub trace: Option<String>,
    /// Record verdicts in `repro/ID.lock`, and the list of posts in `repro/index.lock`
    #[arg(long, help_heading = "Posts and bundles")]
    pub write_lock: bool,
    /// Slices to replay: none, those that fit the budget, or all slices listed in claims and bundles
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ReplaysArg::None, help_heading = "Replay")]
    pub replay: ReplaysArg,
    /// Replay the step ranges in a challenge for one of the given bundles; may be repeated
    #[arg(long, value_name = "FILE", requires = "bundles", conflicts_with_all = ["post", "replay"], help_heading = "Replay")]
    pub challenge: Vec<PathBuf>,
    /// Replay engine: the trainer's own, the independent candle engine, or both, which must agree
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineArg::Own, conflicts_with = "resume", help_heading = "Replay")]
    pub engine: EngineArg,
    /// Time limit for `--replay auto`: `60s`, `5m`
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = "Replay")]
    pub budget: String,
    /// Device to run on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Replay")]
    pub device: Option<String>,
    /// Folder with the training data; without it, data files listed in bundles are not read
    #[arg(long, value_name = "DIR", help_heading = "Replay")]
    pub data: Option<PathBuf>,
    /// Number of threads for hashing and replay [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Speed")]
    pub threads: Option<usize>,
    /// Private folder that caches digests, so that unchanged files are not read again
    #[arg(long, value_name = "DIR", help_heading = "Speed")]
    pub cache: Option<PathBuf>,
    /// Folder or URL that stores each finished item, to continue after an interruption. Stored results are trusted:
    /// don't let anyone else write there
    #[arg(long, value_name = "STORE", help_heading = "Speed")]
    pub resume: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub judged: JudgedArgs,
    /// Slices to replay: none, or all slices listed in claims and bundles
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PlannedReplaysArg::None, help_heading = "Replay")]
    pub replay: PlannedReplaysArg,
    /// Replay the step ranges in a challenge for one of the given bundles; may be repeated
    #[arg(long, value_name = "FILE", requires = "bundles", conflicts_with_all = ["post", "replay"], help_heading = "Replay")]
    pub challenge: Vec<PathBuf>,
    /// Folder with the training data, which workers need too
    #[arg(long, value_name = "DIR", help_heading = "Replay")]
    pub data: Option<PathBuf>,
    /// Where to write the plan [default: standard output]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Speed")]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The plan file written by `repro cluster plan`
    pub plan: PathBuf,
    /// Folder or URL of the results store, shared by all workers or merged later
    #[arg(long, value_name = "STORE")]
    pub results: String,
    /// Process part K of N of the plan, counted from 1
    #[arg(long, value_name = "K/N", help_heading = "Items")]
    pub partition: Option<String>,
    /// Key of an item to execute; may be repeated [default: all items]
    #[arg(long, value_name = "KEY", conflicts_with = "partition", help_heading = "Items")]
    pub item: Vec<String>,
    /// Execute only items of this class
    #[arg(long, value_enum, value_name = "CLASS", help_heading = "Items")]
    pub class: Option<ClassArg>,
    /// Device to run on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// Folder with the training data; without it, data files listed in bundles are not read
    #[arg(long, value_name = "DIR", help_heading = "Machine")]
    pub data: Option<PathBuf>,
    /// Private key (PEM) to sign results with, for `merge --pubkey`; results not signed with this key are recomputed
    #[arg(long, value_name = "KEY", help_heading = "Trust")]
    pub sign: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The plan file written by `repro cluster plan`
    pub plan: PathBuf,
    /// Folder or URL of a results store; may be repeated
    #[arg(long, value_name = "STORE", required = true)]
    pub results: Vec<String>,
    /// Ignore results from other plans in the stores
    #[arg(long)]
    pub shared: bool,
    /// Public key (PEM) that each result's signature must verify against; if repeated, one matching key is enough
    #[arg(long, value_name = "PEM", help_heading = "Trust")]
    pub pubkey: Vec<PathBuf>,
    /// Recompute N random items here and reject differing results; one forged result among M goes
    /// undetected with probability 1 - N/M
    #[arg(long, value_name = "N", help_heading = "Trust")]
    pub audit: Option<std::num::NonZeroUsize>,
    /// Device for the audit: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", requires = "audit", help_heading = "Trust")]
    pub device: Option<String>,
    /// Folder with the training data, for auditing a plan that was made with `--data`
    #[arg(long, value_name = "DIR", requires = "audit", help_heading = "Trust")]
    pub data: Option<PathBuf>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlannedReplaysArg {
    None,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClassArg {
    /// Training steps, for a CPU or a GPU
    Any,
    /// Bundles and posts, for a CPU
    Processor,
}

#[derive(Debug, Args)]
pub struct ChallengeArgs {
    /// The bundle folder
    pub bundle: PathBuf,
    /// Seed for the draw, unknown when the run was sealed: drand:ROUND:RANDOMNESS, commit:ID, or any text
    #[arg(long, value_name = "TEXT")]
    pub seed: String,
    /// Number of step ranges to draw, in addition to every step range with an evaluation
    #[arg(long, value_name = "N")]
    pub count: std::num::NonZeroUsize,
}

/// The engines of `replay` and `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    Own,
    Candle,
    Both,
}

impl EngineArg {
    /// The engines selected by the argument.
    pub fn engine(self) -> ReplayEngine {
        match self {
            Self::Own => ReplayEngine::Own,
            Self::Candle => ReplayEngine::Candle,
            Self::Both => ReplayEngine::Both,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplaysArg {
    None,
    Auto,
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MinOrigin {
    Transcribed,
    Declared,
    Signed,
    Attested,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MinMethod {
    Compared,
    Recomputed,
    Replayed,
    TwoEngines,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MinReading {
    Drafted,
    Author,
    Reviewed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScoreUnit {
    Fraction,
    Percent,
}

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The post id; with `--mutate`, also `all`
    #[arg(value_name = "POST")]
    pub post: String,
    /// Your name in the records [default: the name listed with your key in `repro/config.toml`]
    #[arg(long = "as", value_name = "NAME", help_heading = "Reviewer")]
    pub reviewer: Option<String>,
    /// Your private key (PEM), to sign the records; unsigned records do not count as reviews
    #[arg(long, value_name = "PEM", help_heading = "Reviewer")]
    pub key: Option<PathBuf>,
    /// Name of the model, if the reviewer is a model
    #[arg(long, value_name = "MODEL", requires_all = ["model_version", "prompt"], help_heading = "Reviewer")]
    pub model: Option<String>,
    /// Version of the model
    #[arg(long, value_name = "VERSION", requires = "model", help_heading = "Reviewer")]
    pub model_version: Option<String>,
    /// File with the model's prompt; its digest is recorded
    #[arg(long, value_name = "FILE", requires = "model", help_heading = "Reviewer")]
    pub prompt: Option<PathBuf>,
    /// List open claims with the reasons; records nothing
    #[arg(long, conflicts_with = "exempt", help_heading = "Mode")]
    pub list: bool,
    /// Exempt all currently open claims, so that `--min-reading reviewed` applies only to new ones
    #[arg(long, help_heading = "Mode")]
    pub exempt: bool,
    /// List every number in the text with the claims that cover it; records nothing
    #[arg(long, conflicts_with_all = ["exempt", "list", "mutate"], help_heading = "Mode")]
    pub coverage: bool,
    /// With `--coverage`: the id of the text in the post [default: matched by file name, else the first]
    #[arg(long, value_name = "ID", requires = "coverage", help_heading = "Mode")]
    pub source: Option<String>,
    /// Change each number in turn and count how many changes are refuted, flagged by a lint, weakened or missed; records nothing
    #[arg(long, conflicts_with_all = ["exempt", "list"], help_heading = "Mode")]
    pub mutate: bool,
    /// With `--mutate`: make N random changes instead (digits, rows, units, steps, groups), seeded by `--seed`
    #[arg(long, value_name = "N", requires = "mutate", help_heading = "Mode")]
    pub random: Option<usize>,
    /// A source text that is not included with the post, matched by its digest; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Mode")]
    pub text: Vec<PathBuf>,
    /// Integer seed for the random changes [default: 1]; in tests, seed for the decoys [default: random]
    #[arg(long, value_name = "TEXT", help_heading = "Mode")]
    pub seed: Option<String>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct ParamsArgs {
    /// `config.json`, `.toml`, `.safetensors`, `.gguf` or `*.safetensors.index.json`, by path or URL
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Configs, checkpoints or bundles, each with the step that its number was taken from
    /// [default: the config's last step]. Or a JSON report, a project folder, or a commit A to compare with B
    /// [default: the current project]
    #[arg(required = true, value_name = "PATH[@STEP]|A")]
    pub sides: Vec<String>,
    /// Post id, when comparing commits or projects; may be repeated [default: all]
    #[arg(long, value_name = "ID", help_heading = "Reports and commits")]
    pub post: Vec<String>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Reports and commits")]
    pub threads: Option<usize>,
    /// Print each model's training horizon in tokens and steps instead
    #[arg(long, value_enum, requires = "coefficient", help_heading = "Horizon")]
    pub horizon: Option<HorizonName>,
    /// Tokens per parameter, tokens, steps or FLOP: an exact number, or a ratio A/B
    #[arg(long, value_name = "X", requires = "horizon", help_heading = "Horizon")]
    pub coefficient: Option<String>,
    /// Fraction of the horizon [default: 1]
    #[arg(long, value_name = "PART", requires = "horizon", help_heading = "Horizon")]
    pub fraction: Option<String>,
    /// Tokens per optimizer step [default: from each config]
    #[arg(long, value_name = "N", requires = "horizon", help_heading = "Horizon")]
    pub tokens_per_step: Option<String>,
    /// How to round step counts [default: show all three]
    #[arg(long, value_enum, value_name = "RULE", requires = "horizon", help_heading = "Horizon")]
    pub rounding: Option<RoundingArg>,
}

#[derive(Debug, Args)]
pub struct GateArgs {
    /// The runs to beat: bundles, logs, or folders of them; omit if the rule has a threshold
    #[arg(long, value_name = "RUNS", num_args = 1.., help_heading = "Runs")]
    pub baseline: Vec<PathBuf>,
    /// The candidate runs: bundles, logs, or folders of them
    #[arg(long, value_name = "RUNS", num_args = 1.., required = true, help_heading = "Runs")]
    pub candidate: Vec<PathBuf>,
    /// Rule file in TOML [default: Welch's t test, two-sided p < 0.05, at least 2 runs per arm]
    #[arg(long, value_name = "FILE", help_heading = "Rule")]
    pub rule: Option<PathBuf>,
    /// Name of the metric in the logs [default: the validation loss, or the only metric]
    #[arg(long, value_name = "NAME", help_heading = "Rule")]
    pub metric: Option<String>,
    /// Number of candidates that this one was chosen from; divides the significance level
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Rule")]
    pub tries: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum HorizonName {
    #[value(name = "total_dn")]
    TotalDn,
    #[value(name = "active_dn")]
    ActiveDn,
    #[value(name = "equal_tokens")]
    EqualTokens,
    Steps,
    /// Equal compute at 6 P_active FLOP per token; the coefficient is in FLOP
    #[value(name = "iso_flop")]
    IsoFlop,
    /// Equal compute and equal data: the first model sees the coefficient's tokens once, others repeat them
    #[value(name = "strict_reuse")]
    StrictReuse,
    /// Equal compute: the first model trains on the coefficient's tokens, every model sees each token twice
    #[value(name = "relaxed_reuse")]
    RelaxedReuse,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RoundingArg {
    Down,
    Nearest,
    Up,
}

/// The notes at the end of `repro stats --help`.
const STATS_NOTE: &str = "\
FILE is JSON, `{\"a\": [1.65, 1.66], \"b\": [1.57, 1.58]}`, JSON lines, or CSV with a header; in a CSV,
shorter columns are padded with empty cells. Differences are a - b; pairs are values at the same position.

If a result cannot be computed, the reason is reported. A result that can be computed but is inconclusive
is marked as such (in JSON, `\"evidence\": false`).

Exit status: 0, or 2 for bad usage or numbers that cannot be read.";

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// A file with lists, a per-task table (with `--baselines`), or the numbers of the first list
    #[arg(value_name = "FILE|X", conflicts_with_all = ["a", "summary_a"], allow_negative_numbers = true, help_heading = "Numbers")]
    pub file: Vec<String>,
    /// The first list: numbers separated by commas
    #[arg(
        long,
        value_name = "X,X,...",
        allow_hyphen_values = true,
        conflicts_with = "summary_a",
        help_heading = "Numbers"
    )]
    pub a: Option<String>,
    /// The second list
    #[arg(
        long,
        value_name = "X,X,...",
        allow_hyphen_values = true,
        conflicts_with = "summary_b",
        help_heading = "Numbers"
    )]
    pub b: Option<String>,
    /// File column to use as `a`; repeat the option for `b` [default: columns `a` and `b`]
    #[arg(long, value_name = "NAME", requires = "file", help_heading = "Numbers")]
    pub column: Vec<String>,
    /// Mean, standard deviation (divisor n - 1) and n of the first list, if its values are unknown
    #[arg(long, value_name = "MEAN,SD,N", allow_hyphen_values = true, help_heading = "Numbers")]
    pub summary_a: Option<String>,
    /// The same for the second list
    #[arg(long, value_name = "MEAN,SD,N", allow_hyphen_values = true, help_heading = "Numbers")]
    pub summary_b: Option<String>,
    /// Null value for a one-sample test on `a` [default: 0 if `b` is not given]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = "Tests")]
    pub target: Option<String>,
    /// Equivalence test (TOST): whether the mean or difference lies within a margin
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Tests")]
    pub margin: Option<String>,
    /// Successes and trials of one proportion, or of two to compare
    #[arg(
        long,
        value_name = "K/N,K/N",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub counts: Option<String>,
    /// Counts of pairs where only the first succeeded, and where only the second did (McNemar)
    #[arg(
        long,
        value_name = "B,C",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub paired_counts: Option<String>,
    /// P-values of one family, to adjust by Holm's method
    #[arg(
        long,
        value_name = "P,P,...",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub p_values: Option<String>,
    /// A file with one column per group, for a one-way ANOVA
    #[arg(long, value_name = "FILE", help_heading = "Numbers")]
    pub groups: Option<PathBuf>,
    /// Counts of categories, such as the tokens of each expert, for the chi-squared test
    #[arg(
        long,
        value_name = "N,N,...",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub categories: Option<String>,
    /// Expected weights of the categories, on any scale [default: equal]
    #[arg(
        long,
        value_name = "W,W,...",
        allow_hyphen_values = true,
        requires = "categories",
        help_heading = "Counts and p-values"
    )]
    pub expected: Option<String>,
    /// A file with one column of runs per task, for their interquartile mean
    #[arg(long, value_name = "FILE", help_heading = "Numbers")]
    pub scores: Option<PathBuf>,
    /// Random baselines of the tasks, to compute CORE; pass several files to find the version that fits
    #[arg(long, value_name = "FILE", requires = "file", help_heading = "CORE")]
    pub baselines: Vec<PathBuf>,
    /// Unit of the accuracies [default: detected from their range]
    #[arg(long, value_enum, value_name = "UNIT", requires = "baselines", help_heading = "CORE")]
    pub unit: Option<ScoreUnit>,
    /// A second table: also report the difference over the same tasks, with an interval
    #[arg(long, value_name = "TABLE", requires = "baselines", help_heading = "CORE")]
    pub against: Option<PathBuf>,
    /// Confidence level of all intervals; tests use alpha = 1 - level
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "0.95",
        allow_hyphen_values = true,
        help_heading = "Tests"
    )]
    pub level: String,
    /// Power for the minimum detectable gap and the required number of runs
    #[arg(
        long,
        value_name = "POWER",
        default_value = "0.8",
        allow_hyphen_values = true,
        help_heading = "Tests"
    )]
    pub power: String,
    /// Seed for resampling
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Tests")]
    pub seed: u64,
    /// Number of resamples to draw, if they are not enumerated
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Tests")]
    pub resamples: usize,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Format of the logs [default: detected for each log]
    #[arg(value_name = "FORMAT|PATH", required = true, num_args = 1.., help = help::FORMATS)]
    pub paths: Vec<PathBuf>,
    /// Output folder for the bundles, one per run
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run", help_heading = "Bundles")]
    pub out: Option<PathBuf>,
    /// Read and report, without writing
    #[arg(long, help_heading = "Bundles")]
    pub dry_run: bool,
    /// Copy each log into its bundle [default: record only its digest]
    #[arg(long, help_heading = "Bundles")]
    pub keep_source: bool,
    /// Write the readable runs even if some logs cannot be read; still exits with status 2
    #[arg(long, help_heading = "Bundles")]
    pub keep_going: bool,
    /// Keep only every N-th step and the last one, in event files and other tracker files
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Reading logs")]
    pub every: u64,
    /// Put all runs into one group with this name
    #[arg(long, value_name = "NAME", help_heading = "Reading logs")]
    pub group: Option<String>,
    /// Test whether the mean final validation loss of each group is below this value
    #[arg(long, value_name = "LOSS", allow_negative_numbers = true, help_heading = "Scores")]
    pub target: Option<String>,
    /// Map columns, the repro name first: `loss=val_loss,step=iter`; a column mapped to `loss` is treated as
    /// validation loss if its own name indicates that (jsonl and csv only)
    #[arg(long, value_name = "OURS=THEIRS", help_heading = "Reading logs")]
    pub map: Vec<String>,
    /// Reference convergence points of the benchmark (mlperf only)
    #[arg(long, value_name = "FILE", help_heading = "Scores")]
    pub rcp: Option<PathBuf>,
    /// A `scaling.json` to use instead of the one next to the logs (mlperf only)
    #[arg(long, value_name = "FILE", help_heading = "Scores")]
    pub scaling: Option<PathBuf>,
    /// Number of logs to read in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListingArg {
    Functions,
    Rules,
    Posts,
    Bundles,
    Codes,
    Settings,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A code such as `value::differs`, a function, a rule, or a topic: `post` (how to write posts), `sentence`, `table`,
    /// `post-schema` (JSON Schema for editors), `slices`, `check`, `relations`, `gate`, `readings` or `scope`
    #[arg(required_unless_present_any = ["search", "list"])]
    pub name: Option<String>,
    /// List all names of one kind instead
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["name", "search"])]
    pub list: Option<ListingArg>,
    /// List entries whose name or text contains these words instead, best match first
    #[arg(long, value_name = "WORDS", num_args = 1.., conflicts_with = "name")]
    pub search: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// A command, such as `verify` or `bundle sign` [default: the program itself]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// Where to write the private key; the public key goes to the same name plus `.pub`
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct SignArgs {
    /// The private key, in PEM
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Bundle folders, or an in-toto report
    #[arg(required = true, value_name = "BUNDLE")]
    pub bundles: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SealArgs {
    /// The folder to seal; it must contain `data/`
    pub folder: PathBuf,
}
