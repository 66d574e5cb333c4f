//! `repro explain --list`, and the texts of topics that `repro explain` knows.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value as Json;

use super::Answer;
use super::args::ListingArg;
use super::common::CommonArgs;
use super::output::Output;
use repro_bundle::bundle::{self, Bundle};
use repro_bundle::checkpoint;
use repro_bundle::signature;
use repro_claim::relation::consistency;
use repro_core::source::{self, Code, Error, Location};
use repro_formats::import;
use repro_model::params;
use repro_model::{challenge, checkpoints, contract, replay, starts, study, tasks};
use repro_report::meaning::Reading;
use repro_report::outcome::ExitStatus;
use repro_report::wrap;
use repro_verify::evaluate::functions;
use repro_verify::page::PostPage;
use repro_verify::page_keys;
use repro_verify::post;
use repro_verify::{index, lock, rules, verify};

/// The text of the topic `scope`.
const SCOPE: &str = "\
A pass shows that the numbers in a post follow from its receipts and that the receipts agree with each other.
That is consistency, not honesty. Neither digests nor recomputation show
  - that the receipts are true: whoever writes or transcribes them can invent them;
  - that all runs are reported, or that the reported runs were not cherry-picked;
  - that all arms of a comparison were tuned with equal care;
  - that the training text excludes the validation text;
  - what happened between the steps, files and documents that were checked, or that the checkpoint at the start of a
    replay came from the steps before it.
The assurance states how strong a verdict is; the weakest input decides.
  Origin: transcribed (typed from a publication) < declared (stated in an intact bundle by its author) < signed (with a
    key that you listed) < attested (by a builder whose key you listed, for exactly these files).
  Method: compared (two statements of the same fact) < recomputed (derived from raw evidence) < replayed (training steps
    re-run) < replayed by two engines (two programs that share no code).
\"Inconclusive\" means that the evidence does not decide; \"unchecked\" means that evidence is missing or the check was not
run.
";

/// The text of the topic `post`.
const POST: &str = "\
A post file, `repro/ID.toml`, binds each number and each comparison in a text to evidence:

  schema = \"repro.post/2\"
  id = \"ID\"
  title = \"...\"
  text = \"ID.md\"                     the text, next to this file; or [texts.NAME] with `what` and `file`,
                                     or `sha256` if it is not redistributed: pass it with `--text FILE`
  [names]                            short names for evidence
  moe64 = \"nmoe-0003:data/configs/moe64.toml\"     BUNDLE:FILE, BUNDLE:FILE#FIELD
  map50 = \"yolo-s{1..3}:data/printed/validation.csv#step=99.'metrics/mAP50(B)'\"   the row of a step; quote special characters
  bf16  = \"nmoe-0003#closure.bf16\"                BUNDLE#FACTS
  moe   = \"tiny-moe-moe-active12-s{1..6}\"         a group of runs

  [formulas]
  \"tokens(steps)\" = \"steps * contract.tokens-per-step\"

  [[sentence]]
  place = \"section 3, paragraph 2\"
  quote = \"1.5786 ± 0.0025 over three seeds, 4.5% below dense\"
  is = [\"mean(moe.loss)\", \"sd(moe.loss)\", \"count(moe)\", \"percent_below(mean(moe.loss), mean(dense.loss))\"]

  [[sentence]]
  quote = \"the mixture is better than the dense model\"
  says = \"moe.loss < dense.loss\"

  [[table]]
  head = \"| model | P_total | P_active |\"
  [table.rows]
  \"MoE-64\" = \"moe64\"
  [table.columns]
  \"P_total\" = \"total(it)\"
  \"P_active\" = \"active(it)\"

  [[table]]                          in a JSON text: `place` points to an object or an array; rows and columns
  place = \"/results\"                 are its members, by JSON pointer from there
  [table.rows]
  \"bf16/dense\" = \"bf16.dense\"
  [table.columns]
  \"stop_step\" = \"it.tokens / contract.tokens-per-step\"
  [table.says]                       the relation that a column's cells state; the cell `false` denies it
  \"target_reached\" = \"reached(it.loss, dense.target_loss)\"

  [[table]]                          one JSON object: its fields, each with its printed value
  place = \"/contract\"
  [table.fields]
  \"steps: 9536\" = \"each(dense.steps, moe64.steps)\"

`is` has one expression for each number in the quote, in order; `\"_ the reason\"` excuses a number. Number words
from two on, and half, two thirds, twice, fivefold and a million count as numbers, as do _1,209_, x9.4 and both
sides of 256x2048. bf16, MoE-64, top-2, step-1209, #420, 0003, 2nd and footnotes are names. A suffix or percent
sign after a range (2.5-4.0 million) applies to both ends. A unit in a column head (gap (%), Active %), in a row
name, or in a JSON key (tokens_m) applies to its cells.
`says` is a relation, or a list of relations, each a claim of its own. `may_mean` is a list of relations, any of which
the sentence may mean.
In a relation, `quoted(2)` is the second number in the quote; if relations use all of them, you need no `is`.
`missing` lists the evidence that would decide a sentence if it were published; the sentence is unchecked.
`asserts = \"norm\"` or `\"definition\"` marks a sentence that states no fact; `premise` states what a refutation would
rest on.
`[[excused]]` has a `quote`, or a list of quotes, whose numbers claim nothing, and the `reason`.
A quote or cell without numbers is compared as words. In `each(a, b)` every value must equal the number or the words.
If a text is not available, put a table's lines into `printed`, as in Markdown; in a quote, `|` separates numbers that
a page runs together. If something appears in several places, `place` is a list; a sentence has only one. A text is
read as readers see it: comments, hidden elements and link targets are ignored, and tables may be HTML or TeX. A
number in a row name must be bound or excused by its column, unless it only counts rows (under `#` or `seed`) or
the row's expression contains it: `\"1209\" = \"moe.loss @ 1209\"`.

A run has the fields of its last evaluation (`loss`, `nats`, `bytes`, ...; `moe.loss @ 500` at a different step),
`config` and `receipt`. Combine names, fields and numbers with + - * / ^, compare them with < <= = != >= >, and pass
them to functions: `repro explain --list functions`. A minus between two names needs spaces: `stop-step` is one name.

`repro explain sentence` and `repro explain table` list their keys; `repro explain --list rules` lists the rules of
agreement.

Printed digits imply their rounding. Settings and counts are exact. \"About\" means within 5%, or within half a unit of
the last digit, in every post. A comparison between runs is tested against noise: one run per arm is inconclusive,
unless the claim is only about printed values, `printed(a) < printed(b)`. For runs printed as mean ± error,
`printed_runs(...)`, a comparison is true if every reading of ± supports it. Relations between formulas must be true for
all values, `holds(...)`.

`repro explain post-schema` prints the JSON Schema of post files, for editors that mark misspelled keys.
";

/// The text of the topic `slices`, for people who write slices.
const SLICES: &str = "\
A slice is a range of training steps that others can replay. A slice that starts after `k` steps is stored in
`data/slices/slice-<k, six digits>.safetensors` with
  tokens                      U32 [steps, batch, length + 1]   the tokens of each step: inputs and the next token
  counted                     U32 [steps, batch, length]       1 if the next token counts; default: all count
  documents                   U32 [steps, batch, length]       packed rows: a token attends only to tokens with its
                                                               document number; default: one document per row
  positions                   U32 [steps, batch, length]       token positions, if not 0, 1, 2, ...
  logged.loss                 F32 [steps]                      cross-entropy of the batch before the update
  logged.grad_norm            F32 [steps]                      norm of all gradients before clipping
  logged.clip_norm            F32 [steps]                      the norm used for clipping, as the trainer computed
                                                               it: in float32, with its rounding error
  logged.tensor_grad_norm     F32 [steps, tensors]             of each tensor; 0 if a rule updates it
  logged.tensor_update_norm   F32 [steps, tensors]             norm of each tensor's update
  logged.tensor_norm          F32 [steps, tensors]             norm of each tensor after the step
  logged.tensor_sha256        U32 [steps, tensors]             portable arithmetic: the first four bytes
                                                               of each tensor's digest after the step
  logged.routed               U32 [steps, layers, experts]     tokens routed to each expert
  logged.micro_loss           F32 [steps, micro-batches]       cross-entropy of each micro-batch
  logged.micro_grad_norm      F32 [steps, micro-batches]       norm of each micro-batch's gradient contribution
  gradient.<name>             F32 [steps, ...]                 the gradients of a step before clipping. With these
                                                               and the micro-batch norms, a sample of the
                                                               micro-batches can be replayed
                                                               (`repro replay --micro-batches`)
and in `slice-<k>.tensors.jsonl` next to it, with one line per tensor in the same order: {\"name\",
\"sha256_after\", \"update_norm\"}, the norm over the whole slice. Tokens and losses are required;
a missing field cannot reveal a fault. A slice starts from
`data/checkpoints/step-<k>.safetensors`: weights under their names in the training program (without the
prefixes of model wrappers), and the optimizer moments `optimizer.m.<name>` (mean, or momentum),
`optimizer.v.<name>` (squares) and `optimizer.x.<name>` (AMSGrad), which are optional at k = 0. Runs in
portable-f32/1 start from their seed at k = 0. The receipt lists `slices` and `checkpoints`; for shards,
`...-00001-of-00003.safetensors`, it lists the first.

Runs of other trainers declare their updates in `slice-<k>.stated.json`; without this file, the
config must contain every setting of `repro train`. The replay executes the declared settings. The config's
settings are then only descriptive, but a schedule given in our fields is compared with the declared rates.
  grad_clip                   the maximum norm of all gradients; 0 without clipping
  micro_batches               number of equal micro-batches per step, processed in sequence; default 1
  mean_over                   `micro_batches`: the loss is the mean over micro-batches (default);
                              `targets`: the mean over all targets that count
  loss_scale                  factor on the loss of each step before backpropagation, one number or one per
                              step; default 1
  balance_whole               true: each micro-batch adds its whole balance loss instead of its fraction
  norms                       `float64` if the slice's norms were accumulated in float64, which tightens
                              their tolerance; default `float32`. Does not apply to `clip_norm`
  label_smoothing             the fraction of each target that is spread over the vocabulary; default 0
  z_loss                      weight of the mean of (ln sum e^logit)^2, which no logged loss includes; default 0
  autocast                    `bfloat16`: products and attention run in bfloat16, as in torch.autocast
  compute                     `bfloat16`: everything runs in bfloat16, with weights stored in float32
  tf32                        true: the factors of products are TensorFloat-32
  groups                      a list of optimizer groups. A tensor in no group is frozen
    tensors                   the names of its tensors
    lr                        the learning rate of each step of the slice, or one for all
    weight_decay              per unit of learning rate; decay, betas and momentum: one, or one per step
    optimizer                 `adamw`, `adam` (decay in the gradient): beta1, beta2, eps, amsgrad;
                              `sgd`: momentum, dampening, nesterov; `lion`: beta1, beta2;
                              `muon`, for matrices: momentum, nesterov, eps, ns_steps,
                              ns_coefficients ([a, b, c]), dtype, adjust, variant
  for `muon`
    dtype                     the precision of its iterations: `bfloat16` or `float32`
    variant                   `reference`: K. Jordan's muon.py: scales the step, adds eps to the norm, rounds
                              each operation; `torch`: torch.optim.Muon: scales the rate, clamps the norm to
                              at least eps, rounds sums together with their products; `compiled`: muon.py
                              under torch.compile: also rounds sums together with their products, and does
                              not round the norm
    adjust                    the scale: `original` sqrt(max(1, rows / columns)), `match_rms_adamw`
                              0.2 sqrt(max(rows, columns)), `spectral_unclamped` sqrt(rows / columns),
                              `none`. Weight decay uses the unscaled rate. For a program with a different
                              scale, use one group per shape: `none`, and the scaled rate

The config contains `model_type` and the model's shape, as transformers writes them for llama, mistral,
qwen2, qwen3, gpt2, gemma, gemma2, gemma3_text, olmo2, olmo3, nanochat, mixtral, olmoe and qwen3_moe; as
nanoGPT (`nanogpt`) and nanochat write them; or as `repro train` does (repro-llama, repro-llama-moe). It also
contains `batch_size` (sequences per step, over all micro-batches), `seq_len`, `steps`, and `dtype`: float32,
or bfloat16 if slices declare `compute`. `repro explain --list settings` lists every known setting; a setting
with an unknown effect on a step is rejected by name.

The Python package `repro_receipts` writes slices: `repro_receipts.torch` records all of this from a PyTorch
model and optimizer, in three lines of a training loop or as one callback; `Run.slice` works with any
framework. `scripts/reference` has examples.
";

/// Prints a list.
pub fn list(common: &CommonArgs, what: ListingArg, output: &Output) -> Answer {
    let json = output.wants_json();
    let mut status = ExitStatus::Verified;
    let rows = match what {
        ListingArg::Functions => {
            functions::all().map(|function| row(function.name, function.texts().summary)).collect()
        }
        ListingArg::Rules => rules::all().map(|rule| row(rule.name, rule.summary)).collect(),
        ListingArg::Codes => codes().into_iter().map(|code| row(code.id, code.meaning)).collect(),
        ListingArg::Settings if json => {
            output.print_json(&super::trainer::settings());
            return Ok(status);
        }
        ListingArg::Settings => {
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let all = super::trainer::settings();
            all.iter().map(|setting| (text(&setting["name"]), text(&setting["what"]))).collect()
        }
        ListingArg::Posts => posts(&super::root(common)?)?,
        ListingArg::Bundles => {
            let (rows, refused) = bundles(&super::root(common)?)?;
            if refused {
                status = ExitStatus::Refused;
            }
            rows
        }
    };
    if json {
        let list: Vec<_> = rows
            .iter()
            .map(|(name, what)| serde_json::json!({"name": name, "what": what}))
            .collect();
        output.print_json(&list);
    } else {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, what) in &rows {
            let _ = writeln!(text, "{name:<width$}  {what}");
        }
        output.print(&text);
    }
    Ok(status)
}

/// The topics that can be explained besides functions, rules and codes, with their summaries.
pub const TOPICS: [(&str, &str); 10] = [
    ("post", "how to write a post"),
    ("sentence", "the keys of a sentence in a post"),
    ("table", "the keys of a table in a post"),
    ("post-schema", "the JSON Schema of posts, for editors"),
    ("slices", "the contents of a training slice"),
    ("check", "the kinds of files and the checks that `repro check` knows"),
    ("relations", "the consistency checks within a bundle"),
    ("gate", "the requirements of a gate, and how to write its rule"),
    ("readings", "how a printed number can agree with a value"),
    ("scope", "what a pass shows, and what it cannot show"),
];

/// The text of a topic.
pub fn topic(name: &str) -> Option<String> {
    Some(match name {
        "readings" => readings(),
        "scope" => SCOPE.to_owned(),
        "post" => POST.to_owned(),
        "post-schema" => format!("{:#}\n", page_keys::schema()),
        "slices" => SLICES.to_owned(),
        "check" => repro_formats::check::listed(),
        "gate" => repro_formats::gate::EXPLAINED.to_owned(),
        "relations" => consistency::listed(),
        "sentence" | "table" => keys_of(name),
        _ => return None,
    })
}

/// Every reading with what it accepts.
fn readings() -> String {
    let mut text = String::from(
        "How a printed number agrees with a value. Declare a reading with `is = { value = \"...\", as = \"about\" }`;\n\
otherwise the token next to the number decides, or else the kind of value.\n\n",
    );
    for reading in Reading::ALL {
        let lines = wrap(reading.meaning(), 84, 84).join(&format!("\n{:12}", ""));
        let _ = writeln!(text, "  {:<9} {lines}", reading.word());
    }
    text
}

/// The keys of a sentence or a table of a post file.
fn keys_of(name: &str) -> String {
    let tables = page_keys::tables().iter().filter(|table| table.name == name);
    let mut text = String::new();
    for table in tables {
        let _ = writeln!(
            text,
            "{} in a post file; see `repro explain post` for examples.\n",
            table.head
        );
        for key in &table.keys {
            let need = if key.is_required { "required" } else { "optional" };
            let lines = wrap(&key.meaning, 78, 78).join(&format!("\n{:22}", ""));
            let _ = writeln!(text, "  {:<9} {need}  {lines}", key.name);
        }
    }
    text
}

/// Every code of the program, by id.
pub fn codes() -> Vec<&'static Code> {
    let families = [
        source::CODES,
        bundle::CODES,
        signature::CODES,
        params::CODES,
        contract::CODES,
        post::CODES,
        import::CODES,
        index::CODES,
        lock::CODES,
        super::CODES,
        super::init::CODES,
        super::trace::CODES,
        super::cluster::CODES,
        super::compare::CODES,
        super::mcp::CODES,
        challenge::CODES,
        checkpoint::CODES,
        checkpoints::CODES,
        replay::CODES,
        study::CODES,
        starts::CODES,
        tasks::CODES,
        verify::CODES,
        repro_verify::draft::CODES,
        repro_formats::gate::CODES,
        repro_verify::cluster::CODES,
        repro_bundle::storage::CODES,
        repro_report::compare::CODES,
    ];
    let trained = super::trainer::CODE_FAMILIES;
    let families =
        families.iter().chain(trained).chain(repro_verify::CODES).chain(repro_report::CODES);
    let own = families.copied().flatten().copied();
    let relations = consistency::all().map(|(code, _)| code);
    let mut codes: Vec<_> = own.chain(relations).chain(repro_formats::check::codes()).collect();
    codes.sort_by_key(|code| code.id);
    codes
}

fn posts(root: &Path) -> Result<Vec<Row>, Vec<Error>> {
    let ids = post::list(root).map_err(|error| vec![error])?;
    Ok(ids
        .into_iter()
        .map(|id| {
            let page = PostPage::load(root, &id);
            let what = page.map_or_else(|error| error.to_string(), |page| page.title);
            (id, what)
        })
        .collect())
}

/// The bundles with their digests or the reason for rejection, and whether one was rejected.
fn bundles(root: &Path) -> Result<(Vec<Row>, bool), Vec<Error>> {
    let unreadable = |error: std::io::Error| {
        vec![source::UNREADABLE.at(
            Location::file("receipts"),
            "a folder of bundles",
            error.to_string(),
        )]
    };
    let (mut rows, mut refused) = (Vec::new(), false);
    for entry in std::fs::read_dir(root.join("receipts")).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.path().is_dir() {
            let loaded = Bundle::load(root, &name, None, 1);
            refused |= loaded.is_err();
            let what =
                loaded.map_or_else(|error| error.to_string(), |bundle| bundle.digest().prefixed());
            rows.push((name, what));
        }
    }
    rows.sort();
    Ok((rows, refused))
}

/// A name and its summary.
type Row = (String, String);

fn row(name: &str, what: &str) -> Row {
    (name.to_owned(), what.to_owned())
}
