//! `repro list` and `repro explain`.

use std::fmt::Write;
use std::path::Path;

use super::args::{ExplainArgs, ListArgs, ListingArg};
use super::common::CommonArgs;
use super::output::Output;
use super::{Answer, UNKNOWN_CODE};
use repro_exact::formula::{Formula, formulas};
use repro_import as import;
use repro_judge::claims::{self, KINDS};
use repro_judge::evaluate::functions;
use repro_judge::post;
use repro_judge::post_file::PostFile;
use repro_judge::{depends_on, evidence, lock, verify};
use repro_params as params;
use repro_receipt::bundle::{self, Bundle};
use repro_receipt::checkpoint;
use repro_receipt::source::{self, Code, Error, Location};
use repro_report::outcome::ExitStatus;
use repro_report::wrap;
use repro_runs::{contract, replay, study, tasks};
use repro_signature as signature;

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
The assurance says how strong a verdict is. Origin: transcribed (typed from a publication) < emitted (in an
intact bundle of a trainer or importer) < signed. Method: compared (two statements of one fact) < recomputed
(derived again from raw evidence) < replayed (produced again by re-execution). The weakest input decides.
\"Inconclusive\" means that there is evidence and it does not decide; \"unchecked\" that evidence is missing or
the check was not run.
";

/// How the claims of a post file write the values that they depend on.
const VALUES: &str = "\
A value of a claim is a term:
  { fact = \"ID\" }                                  a transcribed fact
  { bundle = \"B\", file = \"F\", pointer = \"/P\" }     a number in a file of a bundle
  { formula = \"NAME\", inputs = { ... } }           a formula over terms; `repro list formulas` names them
  { model = { bundle = \"B\", file = \"F\" }, parameters = \"total\" }
                                                   a parameter count from a config, or \"active\";
                                                   `convention` selects another way of counting
  { timestamp = { ... } }                          a moment, in seconds
`bundle` may be left out if the post has a `default_bundle`. A term may have a `label`, and a number a
`precision`: \"exact\" if it is not rounded, \"measured\" if it is.

A list of values is
  [TERM, ...]                                      terms one by one
  { bundles = \"run-s{1..6}\", file = \"F\", pointer = \"/P\" }
                                                   the same place in run-s1, run-s2 to run-s6
  { bundle = \"B\", file = \"F\", list = \"/P\" }        the numbers of a list
  { bundle = \"B\", file = \"F\", column = \"C\" }       a column of records, labeled by the column `by`
  { mean_of = [LIST, ...] }                        means position by position
  { mean_of = { bundles = \"run-s{1..6}\", file = \"F\", list = \"/P\" } }

A group of runs, such as `a` and `b` of a gap, is { label, values }; { label, mean, spread, n, reading } or
{ label, printed, n, reading } where only a mean with its spread is published; or a term, which is one run.
";

/// How a post is written in the language of claims.
const POST: &str = "\
A post binds each number and each comparison of a text to evidence. `repro/ID.toml`:

  schema = \"repro.post/2\"
  id = \"ID\"
  title = \"...\"
  text = \"ID.md\"                     the text, beside this file; or [texts.NAME] with `what`, and `file`
                                     or, where it is not redistributed, `sha256`: `--text FILE` gives it
  [names]                            evidence, each said once
  moe64 = \"nmoe-0003:data/configs/moe64.toml\"     BUNDLE:FILE, BUNDLE:FILE#FIELD
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

`is` has one expression for each number of the quote, in order; `\"_ the reason\"` excuses a number. Words from
two to twelve, half, twice and double are numbers; bf16, MoE-64, #420 and 0003 are names. `says` is a relation,
or a list of relations, each a claim of its own; `may_mean` a list of relations of which the sentence may mean any.
`missing` names what would show a sentence that nothing published bears out: it is unchecked, and says so.
`asserts = \"norm\"` or `\"definition\"` marks what is no fact, and `premise` what a refutation would rest on.
Where a text is not at hand, a table has its lines in `printed`, as in Markdown, and a quote may part numbers
that a page runs together by `|`.

A run has the fields of its last evaluation (`loss`, `nats`, `bytes`, ...; `moe.loss @ 500` at another step),
`config` and `receipt`. Names, fields and numbers are joined by + - * / ^, compared by < <= = != >= >, and given
to functions: `repro list functions`. A minus between two names needs spaces: `stop-step` is one name.

Printed digits carry their rounding. Settings and counts are exact. \"About\" means within 5% in every post. An
order between runs is judged with its noise: one run on a side decides nothing, unless the claim is only about
what is printed, `printed(a) < printed(b)`.
";

/// What a slice holds, for those who write one.
const SLICES: &str = "\
A slice is a stretch of training that others can execute again. After `k` steps it is
`data/slices/slice-<k, six digits>.safetensors` with
  tokens                      U32 [steps, batch, length + 1]   what each step reads: inputs and the next token
  logged.loss                 F32 [steps]                      cross-entropy of the batch before the update
  logged.grad_norm            F32 [steps]                      norm of all gradients before clipping
  logged.tensor_grad_norm     F32 [steps, tensors]             of each tensor; 0 if a rule updates it
  logged.tensor_update_norm   F32 [steps, tensors]             how far each step moves each tensor
  logged.tensor_norm          F32 [steps, tensors]             the norm of each tensor after the step
  logged.tensor_sha256        U32 [steps, tensors]             portable arithmetic: the first four bytes of each
                                                               tensor's digest after the step
  logged.routed               U32 [steps, layers, experts]     tokens routed to each expert
and next to it `slice-<k>.tensors.jsonl`, one line per tensor in the same order: {\"name\", \"sha256_after\",
\"update_norm\"}, the norm over the whole slice. Tokens and losses are required; fields that are left out
cannot show a fault. A slice starts from `data/checkpoints/step-<k>.safetensors`: weights with the names of
Llama or Mixtral, and the AdamW moments, `optimizer.m.<name>` and `optimizer.v.<name>`, which may be left out
at k = 0. Runs in portable-f32/1 start from their seed at k = 0. The receipt lists `slices` and `checkpoints`.
`scripts/python/repro_receipts.py` writes all of this; `scripts/reference/torch_trainer.py` is an example.
";

/// Prints a list.
pub fn list(common: &CommonArgs, own: &ListArgs, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let mut status = ExitStatus::Verified;
    let rows = match own.what {
        ListingArg::Kinds => KINDS.iter().map(|kind| row(kind.id, kind.summary)).collect(),
        ListingArg::Formulas => {
            formulas().map(|formula| row(formula.name, &formula.definition())).collect()
        }
        ListingArg::Functions => {
            functions::all().map(|function| row(function.name, function.summary)).collect()
        }
        ListingArg::Codes => codes().into_iter().map(|code| row(code.id, code.meaning)).collect(),
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

/// Explains a code, a kind, a formula, how values are written, what slices hold, or the scope of a pass.
pub fn explain(own: &ExplainArgs, output: &Output) -> Answer {
    let name = own.name.as_str();
    let text = if name == "scope" {
        SCOPE.to_owned()
    } else if name == "values" {
        VALUES.to_owned()
    } else if name == "post" {
        POST.to_owned()
    } else if name == "slices" {
        SLICES.to_owned()
    } else if let Some(kind) = KINDS.iter().find(|kind| kind.id == name) {
        let function = functions::find(name).map(|function| format!("\n{}", function.explain()));
        explain_kind(kind) + &function.unwrap_or_default()
    } else if let Some(function) = functions::find(name) {
        function.explain()
    } else if let Some(formula) = Formula::find(name) {
        formula.explain() + "\n"
    } else if let Some(code) = codes().into_iter().find(|code| code.id == name) {
        let owner = name.split("::").next().unwrap_or_default();
        let more = KINDS
            .iter()
            .find(|kind| kind.id == owner)
            .map(|kind| format!("\n{}", explain_kind(kind)));
        format!(
            "{}: {}.\nHelp: {}.\n{}",
            code.id,
            code.meaning,
            code.help,
            more.unwrap_or_default()
        )
    } else {
        let near: Vec<_> =
            codes().iter().map(|code| code.id).filter(|id| id.contains(name)).take(5).collect();
        let expected = if near.is_empty() {
            "a code, function, kind, formula, `post`, `values`, `slices` or `scope`".to_owned()
        } else {
            format!("perhaps {}", near.join(", "))
        };
        return Err(vec![UNKNOWN_CODE.at(
            Location::file("explain"),
            expected,
            format!("`{name}`"),
        )]);
    };
    output.print(&text);
    Ok(ExitStatus::Verified)
}

fn explain_kind(kind: &claims::ClaimKind) -> String {
    let mut text = format!(
        "{}: {}\n\n{}\n\nFields, in addition to those of every claim:\n",
        kind.id,
        kind.summary,
        wrapped(kind.explain)
    );
    for field in kind.fields {
        let need = if field.required { "required" } else { "optional" };
        let _ = writeln!(text, "  {:<16} {need}  {}", field.name, field.doc);
    }
    text.push_str("\nCodes:\n");
    for code in kind.codes {
        let _ = writeln!(text, "  {}  {}", code.id, code.meaning);
    }
    text
}

/// Paragraphs broken at 100 columns.
fn wrapped(text: &str) -> String {
    let lines: Vec<_> = text.lines().flat_map(|paragraph| wrap(paragraph, 100, 100)).collect();
    lines.join("\n")
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
        evidence::CODES,
        import::CODES,
        lock::CODES,
        claims::CODES,
        claims::ARM_CODES,
        super::CODES,
        checkpoint::CODES,
        replay::CODES,
        depends_on::CODES,
        study::CODES,
        tasks::CODES,
        verify::CODES,
    ];
    let trained = super::trainer::CODE_FAMILIES;
    let own = families
        .iter()
        .chain(trained)
        .chain(claims::SHARED_CODES)
        .chain(repro_judge::LANGUAGE_CODES)
        .copied()
        .flatten()
        .copied();
    let mut codes: Vec<_> = own.chain(KINDS.iter().flat_map(|kind| kind.codes).copied()).collect();
    codes.sort_by_key(|code| code.id);
    codes
}

fn posts(root: &Path) -> Result<Vec<Row>, Vec<Error>> {
    let ids = post::list(root).map_err(|error| vec![error])?;
    Ok(ids
        .into_iter()
        .map(|id| {
            let what = match PostFile::load(root, &id) {
                Ok(PostFile::Kinds(post)) => post.title,
                Ok(PostFile::Language(page)) => page.title,
                Err(error) => error.to_string(),
            };
            (id, what)
        })
        .collect())
}

/// The bundles with their digests, as a post pins them.
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
