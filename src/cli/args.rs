//! The arguments of every command.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::common::CommonArgs;
use super::{exit, help, mcp, threads, trainer};
use repro_model::replay::ReplayEngine;

/// Checks whether the numbers of a training post follow from its receipts.
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
    /// Make a folder a project that verifies at once: a first post, its bundle and lock, a workflow for CI
    #[command(after_long_help = help::INIT)]
    Init(InitArgs),
    /// Read logs of other trainers and write them as receipt bundles
    #[command(after_long_help = help::IMPORT)]
    Import(ImportArgs),
    /// Propose what each number of a text is, from the bundles at hand, as a post to be confirmed
    #[command(after_long_help = exit::COVERED)]
    Draft(DraftArgs),
    /// Check posts, or bundles on their own (the main job)
    #[command(after_long_help = exit::TABLE)]
    Verify(VerifyArgs),
    /// Recompute what follows from what in published results: model folders, leaderboards, reports, logs, bundles
    #[command(after_long_help = help::CHECK)]
    Check(CheckArgs),
    /// Show a post's claims one by one with their facts, and record whether the words mean them
    #[command(after_long_help = help::REVIEW)]
    Review(ReviewArgs),
    /// Decide whether candidate runs are better than a baseline or a bar, worse, or within noise
    #[command(after_long_help = help::GATE)]
    Gate(GateArgs),
    /// Show what runs hold fixed and what differs; or what changed between two reports or commits, and why
    #[command(after_long_help = help::DIFF)]
    Diff(DiffArgs),
    /// Count total and active parameters of a config or a checkpoint
    Params(ParamsArgs),
    /// Print every test and interval on one or two lists of numbers, or CORE of a per-task table
    #[command(after_long_help = STATS_NOTE)]
    Stats(Box<StatsArgs>),
    #[command(flatten)]
    Trainer(trainer::TrainerCommand),
    /// Seal, sign, timestamp, attest and challenge bundles
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Verify on many machines: plan, work, merge
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Explain a code, a function, a rule or a topic; `--list` lists what exists
    Explain(ExplainArgs),
    /// Serve `check`, `verify`, `draft`, `stats`, `params` and `explain` to a model, read-only (Model Context Protocol)
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    /// Print what a shell completes the commands and options by
    #[command(after_long_help = help::COMPLETIONS, hide = true)]
    Completions(CompletionsArgs),
    /// Print the manual, or the page of a command, for `man`
    #[command(after_long_help = help::MAN, hide = true)]
    Man(ManArgs),
}

impl Command {
    /// What is to be judged, of the commands that judge.
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
    /// Write the receipt and manifests of a folder of transcribed evidence
    Seal(SealArgs),
    /// Make a key pair for signing
    Keygen(KeygenArgs),
    /// Sign bundles: write `receipt.sig`; or a report of `--output intoto=`: write `FILE.sig`
    Sign(SignArgs),
    /// Write the request for a timestamp (RFC 3161) of a bundle, its states, a plan or a start
    #[command(after_long_help = help::STAMP)]
    Stamp(StampArgs),
    /// Say as a builder that it made exactly the files of a bundle, for `verify --attestation`
    Attest(AttestArgs),
    /// Draw intervals of a run that has committed itself to its states, for `verify --challenge`
    #[command(after_long_help = help::CHALLENGE)]
    Challenge(ChallengeArgs),
}

#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Cut a verification into items of work for many machines
    #[command(after_long_help = help::PLAN)]
    Plan(PlanArgs),
    /// Execute items of a plan, and keep what comes of each
    #[command(after_long_help = help::WORK)]
    Work(WorkArgs),
    /// Put the results of a plan together: the report that one machine would have made
    #[command(after_long_help = exit::MERGED)]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder, which is made where it is absent [default: `--root`, or this one]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Logs of runs of your own, or folders of them, of any format that `repro import` reads
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub log: Vec<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct StampArgs {
    /// The folder of a bundle, a plan, or a log of started runs
    pub path: PathBuf,
    /// What of a bundle [default: states]
    #[arg(long, value_enum)]
    pub of: Option<Stamped>,
    /// The file for the request
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
    /// The folder of the bundle
    pub bundle: PathBuf,
    /// The builder's private key (PEM)
    #[arg(long, value_name = "PEM")]
    pub key: PathBuf,
    /// How the builder calls itself, an address of its own
    #[arg(long, value_name = "URI")]
    pub builder: String,
}

#[derive(Debug, Args)]
pub struct DraftArgs {
    /// The text: Markdown, HTML or TeX
    pub text: PathBuf,
    /// Bundles, or folders of bundles, in `receipts/` [default: all]; may be repeated
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub evidence: Vec<PathBuf>,
    /// The name of the post [default: that of the text]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Draft an existing post anew; what was confirmed stays
    #[arg(long)]
    pub update: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files and folders, in which everything that is known is checked
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The paths are files of a change: each is checked with what it belongs to, and files of no known kind are passed over
    #[arg(long)]
    pub changed: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    pub threads: Option<usize>,
}

/// What is judged, and what counts.
#[derive(Debug, Clone, Default, Args)]
pub struct JudgedArgs {
    /// Post id, or `all`; may be repeated [default: all, unless bundles are named]
    #[arg(long, value_name = "ID", help_heading = "What is judged")]
    pub post: Vec<String>,
    /// Posts by their id, or folders of bundles to check on their own, by path or URL
    #[arg(value_name = "POST|BUNDLE", help_heading = "What is judged")]
    pub bundles: Vec<PathBuf>,
    /// Folder with files that receipts name and bundles do not hold, such as large checkpoints
    #[arg(long, value_name = "DIR", requires = "bundles", help_heading = "What is judged")]
    pub artifacts: Option<PathBuf>,
    /// The text of a post that does not redistribute it, known by its digest; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "What is judged")]
    pub text: Vec<PathBuf>,
    /// The weakest origin that counts as verified
    #[arg(long, value_enum, value_name = "ORIGIN", help_heading = "What counts")]
    pub min_origin: Option<MinOrigin>,
    /// The weakest method that counts as verified
    #[arg(long, value_enum, value_name = "METHOD", help_heading = "What counts")]
    pub min_method: Option<MinMethod>,
    /// The weakest reading that counts as verified: who says that the words mean the fact
    #[arg(long, value_enum, value_name = "READING", help_heading = "What counts")]
    pub min_reading: Option<MinReading>,
    /// Public key (PEM) that must have signed each bundle; if repeated, any one of them
    #[arg(long, value_name = "PEM", help_heading = "What counts")]
    pub pubkey: Vec<PathBuf>,
    /// Timestamp (RFC 3161) of a bundle, its states, plan, start or configuration; may be repeated
    #[arg(long, value_name = "FILE", requires_all = ["authority", "bundles"], help_heading = "What counts")]
    pub timestamp: Vec<PathBuf>,
    /// Certificate (PEM) of an authority whose timestamps count, or of its issuer; may be repeated
    #[arg(long, value_name = "PEM", requires = "timestamp", help_heading = "What counts")]
    pub authority: Vec<PathBuf>,
    /// Attestation of a builder over exactly the files of a bundle (in-toto, SLSA provenance v1); may be repeated
    #[arg(long, value_name = "FILE", requires = "builder_key", help_heading = "What counts")]
    pub attestation: Vec<PathBuf>,
    /// Public key (PEM) of a builder whose attestations count; if repeated, any one of them
    #[arg(long, value_name = "PEM", requires = "attestation", help_heading = "What counts")]
    pub builder_key: Vec<PathBuf>,
    /// Fail (status 3) where a number of a text is bound to nothing, or a text is not at hand
    #[arg(long, help_heading = "What counts")]
    pub all_bound: bool,
}

impl JudgedArgs {
    /// Takes the names of posts, and `all`, out of what was given as bundles; a path of that name stays a bundle.
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
    /// Compare each post with its lock, `repro/ID.lock`, and the set of posts with `repro/index.lock` (for CI)
    #[arg(long, conflicts_with = "write_lock", help_heading = "What is judged")]
    pub locked: bool,
    /// Print which reading, rule and lints fired for one claim, `CLAIM` or `POST/CLAIM`, instead of the report
    #[arg(long, value_name = "CLAIM", conflicts_with_all = ["locked", "write_lock", "resume"], help_heading = "What is judged")]
    pub trace: Option<String>,
    /// Record each post in its lock, `repro/ID.lock`, and in `repro/index.lock` which posts there are
    #[arg(long, help_heading = "What is judged")]
    pub write_lock: bool,
    /// Which slices to run again: none, those that fit into the budget, or all that claims and bundles
    /// name
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ReplaysArg::None, help_heading = "Replay")]
    pub replay: ReplaysArg,
    /// A challenge of one of the bundles that are named: its intervals are executed again; may be repeated
    #[arg(long, value_name = "FILE", requires = "bundles", conflicts_with_all = ["post", "replay"], help_heading = "Replay")]
    pub challenge: Vec<PathBuf>,
    /// The engines that execute slices: the trainer's own, the independent one written with candle, or both, which have to agree
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineArg::Own, conflicts_with = "resume", help_heading = "Replay")]
    pub engine: EngineArg,
    /// How long `--replay auto` may take: `60s`, `5m`
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = "Replay")]
    pub budget: String,
    /// Device to run on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Replay")]
    pub device: Option<String>,
    /// Folder with the data of runs: without it, no file that a bundle names is read
    #[arg(long, value_name = "DIR", help_heading = "Replay")]
    pub data: Option<PathBuf>,
    /// Threads for hashing and replay [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Speed")]
    pub threads: Option<usize>,
    /// Private folder that remembers which files were hashed and found correct, so that unchanged files
    /// are not read again
    #[arg(long, value_name = "DIR", help_heading = "Speed")]
    pub cache: Option<PathBuf>,
    /// Folder or URL that keeps each finished item: after any interruption, only the rest is done. Results already there are trusted:
    /// whoever can write to it decides what is reported, so give it to nobody else
    #[arg(long, value_name = "STORE", help_heading = "Speed")]
    pub resume: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub judged: JudgedArgs,
    /// Which slices are run again: none, or all that claims and bundles name
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PlannedReplaysArg::None, help_heading = "Replay")]
    pub replay: PlannedReplaysArg,
    /// A challenge of one of the bundles that are named: its intervals are executed again; may be repeated
    #[arg(long, value_name = "FILE", requires = "bundles", conflicts_with_all = ["post", "replay"], help_heading = "Replay")]
    pub challenge: Vec<PathBuf>,
    /// Folder with the data of runs, where the workers have it too
    #[arg(long, value_name = "DIR", help_heading = "Replay")]
    pub data: Option<PathBuf>,
    /// The file for the plan [default: standard output]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Speed")]
    pub threads: Option<usize>,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The plan, as `repro cluster plan` wrote it
    pub plan: PathBuf,
    /// Folder or URL where results are kept, which all workers share or which are merged later
    #[arg(long, value_name = "STORE")]
    pub results: String,
    /// One of N parts of the plan, counted from 1
    #[arg(long, value_name = "K/N", help_heading = "Which items")]
    pub partition: Option<String>,
    /// The key of an item; may be repeated [default: all items]
    #[arg(long, value_name = "KEY", conflicts_with = "partition", help_heading = "Which items")]
    pub item: Vec<String>,
    /// Only items of this class
    #[arg(long, value_enum, value_name = "CLASS", help_heading = "Which items")]
    pub class: Option<ClassArg>,
    /// Device to run on: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", help_heading = "Machine")]
    pub device: Option<String>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// Folder with the data of runs: without it, no file that a bundle names is read
    #[arg(long, value_name = "DIR", help_heading = "Machine")]
    pub data: Option<PathBuf>,
    /// Private key (PEM) that signs each result, for `merge --pubkey`; results that it did not sign are made again
    #[arg(long, value_name = "KEY", help_heading = "Trust")]
    pub sign: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The plan, as `repro cluster plan` wrote it
    pub plan: PathBuf,
    /// Folder or URL with results; may be repeated
    #[arg(long, value_name = "STORE", required = true)]
    pub results: Vec<String>,
    /// The stores hold results of other plans too, which are passed over
    #[arg(long)]
    pub shared: bool,
    /// Public key (PEM) that must have signed each result; if repeated, any one of them
    #[arg(long, value_name = "PEM", help_heading = "Trust")]
    pub pubkey: Vec<PathBuf>,
    /// Execute N items here again, drawn at random, and refuse results that differ: a forger of one of M escapes with 1 - N/M
    #[arg(long, value_name = "N", help_heading = "Trust")]
    pub audit: Option<std::num::NonZeroUsize>,
    /// Device of the audit: `cpu`, `cuda:N` or `opencl:N`
    #[arg(long, value_name = "DEVICE", requires = "audit", help_heading = "Trust")]
    pub device: Option<String>,
    /// Folder with the data of runs, for the audit of a plan that was made with it
    #[arg(long, value_name = "DIR", requires = "audit", help_heading = "Trust")]
    pub data: Option<PathBuf>,
    /// Threads [default: all cores]
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
    /// Steps of runs, which a processor or a GPU executes
    Any,
    /// Bundles and posts, which a processor reads and judges
    Processor,
}

#[derive(Debug, Args)]
pub struct ChallengeArgs {
    /// The folder of the bundle
    pub bundle: PathBuf,
    /// What the intervals are drawn from, unknown when the run was sealed: drand:ROUND:RANDOMNESS, commit:ID, or any text
    #[arg(long, value_name = "TEXT")]
    pub seed: String,
    /// How many intervals beside those with an evaluation, which are always drawn
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
    /// The engines that are meant.
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
    /// The post; with `--mutate` also `all`
    #[arg(value_name = "POST")]
    pub post: String,
    /// Your name for the records [default: the name that `repro/config.toml` lists with your key]
    #[arg(long = "as", value_name = "NAME", help_heading = "Who reviews")]
    pub reviewer: Option<String>,
    /// Your private key (PEM), which signs the records; without it they are only noted
    #[arg(long, value_name = "PEM", help_heading = "Who reviews")]
    pub key: Option<PathBuf>,
    /// The name of the model that judges
    #[arg(long, value_name = "MODEL", requires_all = ["model_version", "prompt"], help_heading = "Who reviews")]
    pub model: Option<String>,
    /// Its version
    #[arg(long, value_name = "VERSION", requires = "model", help_heading = "Who reviews")]
    pub model_version: Option<String>,
    /// The file with its prompt, whose digest is recorded
    #[arg(long, value_name = "FILE", requires = "model", help_heading = "Who reviews")]
    pub prompt: Option<PathBuf>,
    /// List what is open, and why, and record nothing
    #[arg(long, conflicts_with = "exempt", help_heading = "What is done")]
    pub list: bool,
    /// Exempt every claim that is open now, so that `--min-reading reviewed` asks for reviews of new ones only
    #[arg(long, help_heading = "What is done")]
    pub exempt: bool,
    /// List every number of the text with the claims that cover it, and record nothing
    #[arg(long, conflicts_with_all = ["exempt", "list", "mutate"], help_heading = "What is done")]
    pub coverage: bool,
    /// With `--coverage`: which source of the post the text is [default: by file name, else the first]
    #[arg(long, value_name = "ID", requires = "coverage", help_heading = "What is done")]
    pub source: Option<String>,
    /// Change each number in turn and count the changes that are refuted, linted, weakened and missed; record nothing
    #[arg(long, conflicts_with_all = ["exempt", "list"], help_heading = "What is done")]
    pub mutate: bool,
    /// With `--mutate`: make N random changes instead (digits, rows, units, steps, groups), drawn by `--seed`
    #[arg(long, value_name = "N", requires = "mutate", help_heading = "What is done")]
    pub random: Option<usize>,
    /// The text of a post that does not redistribute it, known by its digest; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "What is done")]
    pub text: Vec<PathBuf>,
    /// The seed of the random changes, a number [default: 1]; of the decoys, for tests [default: one that nobody knows]
    #[arg(long, value_name = "TEXT", help_heading = "What is done")]
    pub seed: Option<String>,
    /// Threads [default: all cores]
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
    /// Configs, checkpoints or receipt bundles, each with the step at which its number was read
    /// [default: the last step of the config]; or what changed since A: the JSON of a report, a folder that holds
    /// `repro/`, or a commit of the project, against a second one [default: the project as it lies here]
    #[arg(required = true, value_name = "PATH[@STEP]|A")]
    pub sides: Vec<String>,
    /// Post id, of commits and projects; may be repeated [default: all]
    #[arg(long, value_name = "ID", help_heading = "What changed")]
    pub post: Vec<String>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "What changed")]
    pub threads: Option<usize>,
    /// Instead, print a training horizon in tokens and steps for each model
    #[arg(long, value_enum, requires = "coefficient", help_heading = "Horizon")]
    pub horizon: Option<HorizonName>,
    /// Tokens per parameter, tokens, steps or FLOP: a printed number, taken exactly, or a ratio A/B
    #[arg(long, value_name = "X", requires = "horizon", help_heading = "Horizon")]
    pub coefficient: Option<String>,
    /// Fraction of the horizon [default: all of it]
    #[arg(long, value_name = "PART", requires = "horizon", help_heading = "Horizon")]
    pub fraction: Option<String>,
    /// Tokens per optimizer step [default: as each config says]
    #[arg(long, value_name = "N", requires = "horizon", help_heading = "Horizon")]
    pub tokens_per_step: Option<String>,
    /// How step counts are rounded [default: show all three ways]
    #[arg(long, value_enum, value_name = "RULE", requires = "horizon", help_heading = "Horizon")]
    pub rounding: Option<RoundingArg>,
}

#[derive(Debug, Args)]
pub struct GateArgs {
    /// The runs to beat: bundles, logs, or folders of them; none where the rule has a bar
    #[arg(long, value_name = "RUNS", num_args = 1.., help_heading = "Runs")]
    pub baseline: Vec<PathBuf>,
    /// The runs that may be better
    #[arg(long, value_name = "RUNS", num_args = 1.., required = true, help_heading = "Runs")]
    pub candidate: Vec<PathBuf>,
    /// What counts as better, in TOML [default: Welch's t test, two-sided p < 0.05, at least 2 runs a side]
    #[arg(long, value_name = "FILE", help_heading = "Rule")]
    pub rule: Option<PathBuf>,
    /// The metric, as the logs call it [default: the validation loss, or the only one there is]
    #[arg(long, value_name = "NAME", help_heading = "Rule")]
    pub metric: Option<String>,
    /// Among how many candidates this one was chosen: the level is divided by it
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Rule")]
    pub tries: u64,
    /// Threads [default: all cores]
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
    /// Equal compute at 6 P_active FLOP per token; the coefficient is the FLOP
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

/// What `repro stats --help` ends with.
const STATS_NOTE: &str = "\
FILE is JSON, `{\"a\": [1.65, 1.66], \"b\": [1.57, 1.58]}`, JSON lines, or CSV with a header; a shorter
column of a CSV ends in empty cells. Differences are a - b; pairs are the values at the same position.

A number that cannot be computed is refused with the reason. One that can be computed but decides
nothing is marked, in JSON by `\"evidence\": false`.

Exit status: 0, or 2 for numbers that cannot be read.";

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// A file with lists, or with `--baselines` a per-task table; or the first list itself, number by number
    #[arg(value_name = "FILE|X", conflicts_with_all = ["a", "summary_a"], allow_negative_numbers = true, help_heading = "Numbers")]
    pub file: Vec<String>,
    /// The first list: numbers with decimal points, commas between them
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
    /// Column of the file to use as a, and if repeated, as b [default: columns `a` and `b`]
    #[arg(long, value_name = "NAME", requires = "file", help_heading = "Numbers")]
    pub column: Vec<String>,
    /// Mean, standard deviation (divisor n - 1) and n of a list whose values are unknown
    #[arg(long, value_name = "MEAN,SD,N", allow_hyphen_values = true, help_heading = "Numbers")]
    pub summary_a: Option<String>,
    /// The same for the second list
    #[arg(long, value_name = "MEAN,SD,N", allow_hyphen_values = true, help_heading = "Numbers")]
    pub summary_b: Option<String>,
    /// Null value for a one-sample test of a [default: 0, if there is no b]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = "Tests")]
    pub target: Option<String>,
    /// Test whether the mean, or the difference, lies inside a margin (TOST)
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Tests")]
    pub margin: Option<String>,
    /// Successes and trials of one proportion, or of two that are compared
    #[arg(
        long,
        value_name = "K/N,K/N",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub counts: Option<String>,
    /// Pairs in which only the first succeeded, and in which only the second (McNemar)
    #[arg(
        long,
        value_name = "B,C",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub paired_counts: Option<String>,
    /// P-values of one family, adjusted by Holm's rule
    #[arg(
        long,
        value_name = "P,P,...",
        allow_hyphen_values = true,
        help_heading = "Counts and p-values"
    )]
    pub p_values: Option<String>,
    /// A file with one column per group, for the one-way analysis of variance
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
    /// Expected shares of the categories, in any unit [default: equal ones]
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
    /// Random baselines of the tasks: the table becomes CORE; give several files to find the version that fits
    #[arg(long, value_name = "FILE", requires = "file", help_heading = "CORE")]
    pub baselines: Vec<PathBuf>,
    /// Unit of the accuracies [default: detected from their range]
    #[arg(long, value_enum, value_name = "UNIT", requires = "baselines", help_heading = "CORE")]
    pub unit: Option<ScoreUnit>,
    /// A second table: also report the difference over the same tasks, with its interval
    #[arg(long, value_name = "TABLE", requires = "baselines", help_heading = "CORE")]
    pub against: Option<PathBuf>,
    /// The level of every interval; tests are at 1 - level
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "0.95",
        allow_hyphen_values = true,
        help_heading = "Tests"
    )]
    pub level: String,
    /// The power at which gaps and runs are computed
    #[arg(
        long,
        value_name = "POWER",
        default_value = "0.8",
        allow_hyphen_values = true,
        help_heading = "Tests"
    )]
    pub power: String,
    /// The seed of every draw
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Tests")]
    pub seed: u64,
    /// How many resamples to draw if they are not enumerated
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Tests")]
    pub resamples: usize,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Format of the logs; left out, it is that of each
    #[arg(value_name = "FORMAT|PATH", required = true, num_args = 1.., help = help::FORMATS)]
    pub paths: Vec<PathBuf>,
    /// The folder for the bundles, one per run
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "dry_run",
        help_heading = "What is written"
    )]
    pub out: Option<PathBuf>,
    /// Read and report without writing
    #[arg(long, help_heading = "What is written")]
    pub dry_run: bool,
    /// Copy each log into its bundle [default: only its digest]
    #[arg(long, help_heading = "What is written")]
    pub keep_source: bool,
    /// Write what can be read where something cannot: the exit status stays 2
    #[arg(long, help_heading = "What is written")]
    pub keep_going: bool,
    /// Keep every n-th step alone, and the last, of event files and other files of trackers
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..), help_heading = "How logs are read")]
    pub every: u64,
    /// Put all runs into one group of this name
    #[arg(long, value_name = "NAME", help_heading = "How logs are read")]
    pub group: Option<String>,
    /// Test whether the mean final validation loss of each group is below this value
    #[arg(long, value_name = "LOSS", allow_negative_numbers = true, help_heading = "Scores")]
    pub target: Option<String>,
    /// Meaning of columns, our name first: `loss=val_loss,step=iter`; a `loss` whose name says
    /// validation loss is one; only of jsonl and csv
    #[arg(long, value_name = "OURS=THEIRS", help_heading = "How logs are read")]
    pub map: Vec<String>,
    /// Reference convergence points of the benchmark; only mlperf
    #[arg(long, value_name = "FILE", help_heading = "Scores")]
    pub rcp: Option<PathBuf>,
    /// A `scaling.json` to use instead of the one next to the logs; only mlperf
    #[arg(long, value_name = "FILE", help_heading = "Scores")]
    pub scaling: Option<PathBuf>,
    /// Logs to read in parallel [default: all cores]
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
    /// A code such as `value::differs`, a function, a rule, `post` (how posts are written), `sentence`, `table`,
    /// `post-schema` (their JSON Schema, for editors), `slices`, `relations`, `gate` or `scope`
    #[arg(required_unless_present_any = ["search", "list"])]
    pub name: Option<String>,
    /// Instead, list what exists
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["name", "search"])]
    pub list: Option<ListingArg>,
    /// Instead, list what has these words in its name or text, best first
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
    /// The command whose page is printed, as `verify` or `bundle sign` [default: the page of the program]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// File for the private key; the public key is written to the same name with `.pub` added
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct SignArgs {
    /// The private key, in PEM
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The folders of the bundles
    #[arg(required = true, value_name = "BUNDLE")]
    pub bundles: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SealArgs {
    /// The folder to seal, with `data/` in it
    pub folder: PathBuf,
}
