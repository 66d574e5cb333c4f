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

/// What a pass shows, and what it does not.
const SCOPE: &str = "\
What a pass shows: the numbers of a post follow from its receipts, and its receipts agree with each other.
It is consistency, not honesty. Neither digests nor recomputation show
  - that the receipts tell what happened: whoever types or writes them can invent them;
  - that these are all the runs that were made, or that the runs shown were not picked;
  - that the arms of a comparison were tuned with equal care;
  - that the training text excludes the validation text;
  - what happened between the steps, files and documents that were checked, or that a checkpoint from which
    steps are replayed came from the steps before it.
The assurance says how strong a verdict is. Origin: transcribed (typed from a publication) < declared (in an
intact bundle, by whoever made it) < signed (by a key that you named) < attested (by a builder whose key you
named, over exactly these files). Method: compared (two statements of one fact) < recomputed
(derived again from raw evidence) < replayed (produced again by re-execution) < replayed by two engines (by two
programs that share no code). The weakest input decides.
\"Inconclusive\" means that there is evidence and it does not decide; \"unchecked\" that evidence is missing or
the check was not run.
";

/// How a post is written.
const POST: &str = "\
A post binds each number and each comparison of a text to evidence. `repro/ID.toml`:

  schema = \"repro.post/2\"
  id = \"ID\"
  title = \"...\"
  text = \"ID.md\"                     the text, beside this file; or [texts.NAME] with `what`, and `file`
                                     or, where it is not redistributed, `sha256`: `--text FILE` gives it
  [names]                            evidence, each said once
  moe64 = \"nmoe-0003:data/configs/moe64.toml\"     BUNDLE:FILE, BUNDLE:FILE#FIELD
  map50 = \"yolo-s{1..3}:data/printed/validation.csv#step=99.'metrics/mAP50(B)'\"   the row of a step; other signs in quotes
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

  [[table]]                          in a text that is JSON: `place` points to an object or a list, and rows and
  place = \"/results\"                 columns are members, by pointers from there
  [table.rows]
  \"bf16/dense\" = \"bf16.dense\"
  [table.columns]
  \"stop_step\" = \"it.tokens / contract.tokens-per-step\"
  [table.says]                       what the cells of a column state; the cell `false` denies it
  \"target_reached\" = \"reached(it.loss, dense.target_loss)\"

  [[table]]                          one object of JSON: its fields, each with what is printed
  place = \"/contract\"
  [table.fields]
  \"steps: 9536\" = \"each(dense.steps, moe64.steps)\"

`is` has one expression for each number of the quote, in order; `\"_ the reason\"` excuses a number. Numbers in
words, from two on, and half, two thirds, twice, fivefold and a million are numbers; so are _1,209_, x9.4 and both
sides of 256x2048. bf16, MoE-64, top-2, step-1209, #420, 0003, 2nd and footnotes are names. A suffix or a percent
sign behind a range, 2.5-4.0 million, is of both ends; a unit in a column's head, gap (%) or Active %, in the name
of a row, or in a key of JSON, tokens_m, is of its cells.
`says` is a relation, or a list of relations, each a claim of its own; `may_mean` a list of relations of which the
sentence may mean any.
In a relation `quoted(2)` is the second number of the quote; where relations take all of them, no `is` is needed.
`missing` names what would show a sentence that nothing published bears out: it is unchecked, and says so.
`asserts = \"norm\"` or `\"definition\"` marks what is no fact, and `premise` what a refutation would rest on.
`[[excused]]` has a `quote`, or a list of quotes, whose numbers claim nothing, and the `reason`.
A quote or a cell without numbers is compared as words. In `each(a, b)` every one must be the number or the words.
Where a text is not at hand, a table has its lines in `printed`, as in Markdown, and a quote may part numbers
that a page runs together by `|`. What stands at several places has a list of them as `place`: a sentence is about
one. A text is read as readers see it: comments, hidden elements and addresses of links are none of it, and a table
may be one of HTML or TeX. A number in the name of a row is bound or excused by its column, unless it only counts,
under `#` or `seed`, or the row's expression has it too: `\"1209\" = \"moe.loss @ 1209\"`.

A run has the fields of its last evaluation (`loss`, `nats`, `bytes`, ...; `moe.loss @ 500` at another step),
`config` and `receipt`. Names, fields and numbers are joined by + - * / ^, compared by < <= = != >= >, and given
to functions: `repro explain --list functions`. A minus between two names needs spaces: `stop-step` is one name.

`repro explain sentence` and `repro explain table` list their keys, `repro explain --list rules` what counts as agreement.

Printed digits carry their rounding. Settings and counts are exact. \"About\" means within 5%, and five of the last
digit, in every post. An order between runs is judged with its noise: one run on a side decides nothing, unless the
claim is only about what is printed, `printed(a) < printed(b)`. Of runs that are printed as mean ± spread, `printed_runs(...)`, an
order holds if every reading of ± gives it; relations of formulas hold for all values, `holds(...)`, or not.

`repro explain post-schema` prints the JSON Schema of post files, by which an editor marks misspelt keys.
";

/// What a slice holds, for those who write one.
const SLICES: &str = "\
A slice is a stretch of training that others can execute again. After `k` steps it is
`data/slices/slice-<k, six digits>.safetensors` with
  tokens                      U32 [steps, batch, length + 1]   what each step reads: inputs and the next token
  counted                     U32 [steps, batch, length]       1 where the next token counts; all do if left out
  documents                   U32 [steps, batch, length]       packed rows: a token sees those of its own document
                                                               number alone; one document a row if left out
  positions                   U32 [steps, batch, length]       where tokens stand, if not at 0, 1, 2, ...
  logged.loss                 F32 [steps]                      cross-entropy of the batch before the update
  logged.grad_norm            F32 [steps]                      norm of all gradients before clipping
  logged.clip_norm            F32 [steps]                      the norm by which they were scaled down, as that program
                                                               took it: of float32, and a little off
  logged.tensor_grad_norm     F32 [steps, tensors]             of each tensor; 0 if a rule updates it
  logged.tensor_update_norm   F32 [steps, tensors]             how far each step moves each tensor
  logged.tensor_norm          F32 [steps, tensors]             the norm of each tensor after the step
  logged.tensor_sha256        U32 [steps, tensors]             portable arithmetic: the first four bytes
                                                               of each tensor's digest after the step
  logged.routed               U32 [steps, layers, experts]     tokens routed to each expert
  logged.micro_loss           F32 [steps, micro-batches]       cross-entropy of each micro-batch
  logged.micro_grad_norm      F32 [steps, micro-batches]       norm of what each adds to the gradients
  gradient.<name>             F32 [steps, ...]                 the gradients of a step, before clipping: with both
                                                               of these a sample of the micro-batches can be
                                                               executed (`repro replay --micro-batches`)
and next to it `slice-<k>.tensors.jsonl`, one line per tensor in the same order: {\"name\",
\"sha256_after\", \"update_norm\"}, the norm over the whole slice. Tokens and losses are required;
fields that are left out cannot show a fault. A slice starts from
`data/checkpoints/step-<k>.safetensors`: weights by the names that they have in their programs (what wraps
a model is left out of them), and the moments
of the optimizer, `optimizer.m.<name>` (mean, or momentum), `optimizer.v.<name>` (squares) and
`optimizer.x.<name>` (AMSGrad), which may be left out at k = 0. Runs in portable-f32/1 start from their
seed at k = 0. The receipt lists `slices` and `checkpoints`; of shards, `...-00001-of-00003.safetensors`,
it names the first.

Runs of other trainers state in `slice-<k>.stated.json` how their updates were made; without it, the
config has to have every setting of `repro train`. What is stated is what is executed. Settings of the
config then only describe it; a schedule that it names in our fields is held against the stated rates.
  grad_clip                   the largest norm of all gradients; 0 without clipping
  micro_batches               into how many equal parts a batch was cut, one after the other; 1 if left out
  mean_over                   `micro_batches`: the loss is the mean of theirs (also if left out);
                              `targets`: of all targets that count
  loss_scale                  by what the loss of each step was multiplied before it was backpropagated, one number
                              or one a step; 1 if left out
  balance_whole               true: each micro-batch adds its whole balance loss, not its share of it
  norms                       `float64` where the norms of the slice were added up in it, which leaves less room for
                              them; `float32` if left out. How `clip_norm` was taken is not asked
  label_smoothing             the share of each target that is spread over the vocabulary; 0 if left out
  z_loss                      weight of the mean of (ln sum e^logit)^2, which no logged loss has; 0 if left out
  autocast                    `bfloat16`: products and attention have so many bits, as by torch.autocast
  compute                     `bfloat16`: everything has, from weights that are kept in float32
  tf32                        true: the factors of products are TensorFloat-32
  groups                      a list of groups of the optimizer. A tensor that is in none is frozen
    tensors                   the names of its tensors
    lr                        the learning rate of each step of the slice, or one for all
    weight_decay              per unit of learning rate; decay, betas, momentum: one, or one a step
    optimizer                 `adamw`, `adam` (decay in the gradient): beta1, beta2, eps, amsgrad;
                              `sgd`: momentum, dampening, nesterov; `lion`: beta1, beta2;
                              `muon`, for matrices: momentum, nesterov, eps, ns_steps,
                              ns_coefficients ([a, b, c]), dtype, adjust, variant
  of `muon`
    dtype                     what its iterations round to: `bfloat16`, or `float32`
    variant                   `reference`: K. Jordan's muon.py, whose step is scaled, eps added to the
                              norm, each operation rounded; `torch`: torch.optim.Muon, whose rate is
                              scaled, the norm at least eps, sums rounded with their products;
                              `compiled`: muon.py under torch.compile, where sums are also
                              rounded with their products, and the norm not at all
    adjust                    the scale: `original` sqrt(max(1, rows / columns)), `match_rms_adamw`
                              0.2 sqrt(max(rows, columns)), `spectral_unclamped` sqrt(rows / columns),
                              `none`. Weight decay takes the rate without it. Programs with another
                              scale have a group for each shape: `none`, and the scaled rate

The config says `model_type` and the shape of the model, as transformers writes it for llama, mistral,
qwen2, qwen3, gpt2, gemma, gemma2, gemma3_text, olmo2, olmo3, nanochat, mixtral, olmoe and qwen3_moe; as
nanoGPT (`nanogpt`) and nanochat write it; or as `repro train` does (repro-llama, repro-llama-moe);
`batch_size` (sequences of a step, over all micro-batches), `seq_len`, `steps`, and `dtype`, which is
float32, or bfloat16 where slices state `compute`. `repro explain --list settings`
has every setting that is known; one of which it is not known what it does to a step is refused by name.

The Python package `repro_receipts` writes it: `repro_receipts.torch` keeps all of this from a model and
an optimizer of PyTorch, in three lines of a loop or as one callback, `Run.slice` is for anybody;
`scripts/reference` has examples.
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

/// What can be explained besides functions, rules and codes, with what it is.
pub const TOPICS: [(&str, &str); 10] = [
    ("post", "how posts are written"),
    ("sentence", "the keys of a sentence of a post"),
    ("table", "the keys of a table of a post"),
    ("post-schema", "the JSON Schema of posts, for editors"),
    ("slices", "what a slice of training holds"),
    ("check", "what `repro check` knows"),
    ("relations", "what must hold within a bundle"),
    ("gate", "what a gate asks, and how its rule is written"),
    ("readings", "how a printed number can agree with a value"),
    ("scope", "what a pass shows, and what it does not"),
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
        "How a printed number agrees with a value. Declare it by `is = { value = \"...\", as = \"about\" }`; else the\n\
token directly beside the number decides, else the kind of value.\n\n",
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
        let _ =
            writeln!(text, "{} of a post file: `repro explain post` has examples.\n", table.head);
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

/// The bundles with their digests, or why each is refused, and whether one is.
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

/// A name and what there is to say of it.
type Row = (String, String);

fn row(name: &str, what: &str) -> Row {
    (name.to_owned(), what.to_owned())
}
