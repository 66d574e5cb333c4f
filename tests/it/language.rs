//! Posts in the language of claims: what each kind of statement comes to, and what cheats come to.

use std::path::Path;

use repro_core::source::{Document, Source};
use repro_report::outcome::{Method, Report, Verdict};
use repro_verify::covered::covered;
use repro_verify::mutants::{self, MutationKind};
use repro_verify::mutated::{Detection, DetectionTally, Digit, changed};
use repro_verify::page::PostPage;
use repro_verify::rules;
use repro_verify::texts::{GivenTexts, TextsAtHand};
use repro_verify::verify::{BundleStore, Demands, judge, verify};
use repro_verify::work::{MOST_BYTES, MOST_NUMBERS, MOST_QUOTED};

/// The head of every post here.
const HEAD: &str = r#"
schema = "repro.post/2"
id = "p"
title = "A post"
text = "p.md"
plan = "tiny-moe"

[names]
dense    = "nmoe-0003:data/configs/dense.toml"
moe64    = "nmoe-0003:data/configs/moe64.toml"
contract = "nmoe-0003#contract"
bf16     = "nmoe-0003#closure.bf16"
d10      = "nmoe-0004#post.d10"
d12      = "nmoe-0004#post.d12"
january  = "nmoe-0003#january.dense"
digest   = "tiny-dense-vs-sparse#p"
review   = "moe-equal-resource"
started  = "nmoe-0003#january.db.moe64.started"
run      = "nmoe-0003#receipts-0002.healthy-run"
arm.dense = "tiny-moe-dense_active-active12-s{1..6}"
arm.moe   = "tiny-moe-moe-active12-s{1..6}"
arm.total = "tiny-moe-dense_total-active12-s{1..6}"
one       = "tiny-moe-moe-active12-s1"
three     = "tiny-moe-moe-active12-s{1..3}"
long      = "tiny-moe-moe-total12-s{1..6}"
swapped   = "tiny-moe-dense_active-active12-{s2,s1,s3}"
mixed     = "tiny-moe-moe-{active12-s1,total12-s2,active12-s3}"
some      = "tiny-moe-dense_active-active12-s{1..3}"
back      = "tiny-moe-moe-active12-{s6,s5,s4,s3,s2,s1}"
twice     = "tiny-moe-moe-active12-{s1,s2,s1}"
cloze     = "tiny-moe-moe-active12-s1:data/evaluation/step-001209.tasks.csv#0"
june2024  = "nmoe-0003#june2024.run"
group_one = "tiny-moe-moe-active12-s{1..6}"
group_two = "tiny-moe-dense_active-active12-s{1..6}"

[formulas]
planned = "dense.steps * contract.tokens-per-step"
"runs(x)" = "printed_runs(x.mean, x.spread, digest.seeds)"
others = "[runs(digest.moe) < runs(digest.total), runs(digest.moe) < runs(digest.active)]"
orders = "[runs(digest.moe) < runs(digest.active), runs(digest.total) < runs(digest.moe)]"
"square(x)" = "x ^ 2"
endless = "[endless]"
"ffn_width(m)" = "(m.n_activated_experts + m.n_shared_experts) * m.moe_inter_dim"
"#;

/// The head with the names that the statements use: each bundle that is named is read and checked.
fn head(statements: &str) -> String {
    let used = |line: &&str| match line.split_once(" = \"nmoe").or(line.split_once("= \"tiny-moe-"))
    {
        Some((name, _)) => {
            let name = name.trim().trim_end_matches('=').trim();
            let always = ["dense", "moe64", "contract"];
            always.contains(&name) || statements.contains(name)
        }
        None => true,
    };
    HEAD.lines().filter(used).fold(String::new(), |text, line| text + line + "\n")
}

/// A project with the bundles of this one, and one post about `text`.
pub fn project(statements: &str, text: Option<&str>) -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = temporary.path().join("repro");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(here.join("receipts"), temporary.path().join("receipts")).unwrap();
    std::os::unix::fs::symlink(here.join("repro/studies"), folder.join("studies")).unwrap();
    std::fs::write(folder.join("p.toml"), format!("{}{statements}", head(statements))).unwrap();
    if let Some(text) = text {
        std::fs::write(folder.join("p.md"), text).unwrap();
    }
    temporary
}

pub fn report(statements: &str, text: Option<&str>) -> Report {
    let project = project(statements, text);
    verify(project.path(), &["p".to_owned()], &Demands::default(), 1)
}

/// Verdict and code of each claim, and the codes of failures.
pub fn judged(statements: &str, text: &str) -> Vec<String> {
    verdicts(&report(statements, Some(text)))
}

/// The same in a post that names every run of the study.
pub fn judged_with_all_runs(statements: &str, text: &str) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_study = std::fs::read_to_string(here.join("repro/tiny-moe.toml")).unwrap();
    let (head, _) = of_study.split_once("[formulas]").unwrap();
    let project = project("", Some(text));
    let head = head.replace("id = \"tiny-moe\"", "id = \"p\"").replace("tiny-moe.md", "p.md");
    std::fs::write(project.path().join("repro/p.toml"), head + statements).unwrap();
    verdicts(&verify(project.path(), &["p".to_owned()], &Demands::default(), 1))
}

/// Verdict and code of each claim, and the codes of failures.
pub fn verdicts(report: &Report) -> Vec<String> {
    let claims = report.posts.iter().flat_map(|post| &post.claims).map(|claim| {
        let code = claim.outcome.code.map_or("", |code| code.id);
        format!("{} {code}", claim.outcome.verdict.word()).trim().to_owned()
    });
    claims.chain(report.failures.iter().map(|error| error.code.id.to_owned())).collect()
}

/// A sentence that is the whole text.
fn sentence(quote: &str, what: &str) -> Vec<String> {
    judged(&format!("[[sentence]]\nquote = '{quote}'\n{what}\n"), quote)
}

#[test]
fn numbers_are_bound_in_order_and_each_has_its_verdict() {
    let over_seeds = |quote: &str| {
        sentence(quote, r#"is = ["mean(arm.moe.loss)", "sd(arm.moe.loss)", "count(arm.moe)"]"#)
    };
    assert_eq!(over_seeds("1.7016 ± 0.0134 over six seeds"), ["verified"; 3]);
    let wrong = ["verified", "refuted value::differs", "verified"];
    assert_eq!(over_seeds("1.7016 ± 0.999 over six seeds"), wrong);
    assert_eq!(over_seeds("1.7016 ± 0.0134 over five seeds")[2], "refuted value::differs");
    assert_eq!(over_seeds("1.7016 over six seeds"), ["sentence::binding-count-differs"]);
    let half_width = r#"is = ["mean(arm.moe.loss)", "ci95(arm.moe.loss)"]"#;
    assert_eq!(sentence("1.7016 ± 0.0141", half_width), ["verified"; 2]);
    assert_eq!(sentence("[1.6875, 1.7157]", r#"is = "ci95(arm.moe.loss)""#), ["verified"]);
    assert_eq!(
        sentence("[1.6875, 1.7257]", r#"is = "ci95(arm.moe.loss)""#),
        ["refuted value::differs"]
    );
    let excused = r#"is = ["_ the number of the section", "total(dense)"]"#;
    assert_eq!(sentence("section 3: 190,532,352", excused), ["verified"]);
}

#[test]
fn the_text_is_read() {
    let post = "[[sentence]]\nquote = \"steps: 9536\"\nis = \"dense.steps\"\n";
    assert_eq!(judged(post, "It ran\nsteps:\n9536 of them."), ["verified"]);
    assert_eq!(judged(post, "It ran steps: 9537."), ["unchecked sentence::missing-quote"]);
    let gone = report(post, None);
    assert_eq!(gone.failures[0].code.id, "text::missing");
    assert_eq!(gone.posts.len(), 0);
    // What a page runs together is parted by bars.
    let parted = "[[sentence]]\nquote = \"Dense | 190,532,352 | 190,532,352\"\nis = [\"total(dense)\", \"active(dense)\"]\n";
    assert_eq!(judged(parted, "ModelDense190,532,352190,532,352"), ["verified"; 2]);
}

/// The verdict of one cell below a head, in a table of one row and the columns that are given.
fn cell(row: &str, columns: &[(&str, &str)], is: &str) -> String {
    let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
    let names = std::iter::once("model").chain(columns.iter().map(|(head, _)| *head)).collect();
    let cells = std::iter::once(row).chain(columns.iter().map(|(_, cell)| *cell)).collect();
    let (head, rule, body) = (line(names), "|---".repeat(columns.len() + 1), line(cells));
    let bound = columns[0].0;
    let post = format!(
        "[[table]]\nhead = '{head}'\n[table.rows]\n'{row}' = 'moe64'\n[table.columns]\n'{bound}' = '{is}'\n"
    );
    judged(&post, &format!("{head}\n{rule}|\n{body}\n")).join(", ")
}

#[test]
fn units_of_heads_and_of_names_of_rows_are_those_of_the_cells() {
    let below = |head: &str, text: &str, is: &str| cell("MoE-64", &[(head, text)], is);
    for (head, text, is) in [
        ("Params (M) total", "755.5", "total(it)"),
        ("Active params (% of total)", "25.3", "active(it) / total(it)"),
        ("Active %", "25.3", "active(it) / total(it)"),
        ("MFLOPs/token", "1146", "6 * active(it)"),
        ("Arm (B)", "755,534,592", "total(it)"),
        ("Arm (B)", "0.756", "total(it)"),
    ] {
        assert_eq!(below(head, text, is), "verified", "{head}");
    }
    assert_eq!(below("Params (M) total", "765.5", "total(it)"), "refuted value::differs");
    assert_eq!(below("Active %", "27.3", "active(it) / total(it)"), "refuted value::differs");
    assert_eq!(below("95% CI", "25.3", "active(it)"), "refuted value::differs");
    let beside = |row: &str, text: &str, is: &str| cell(row, &[("value", text)], is);
    assert_eq!(beside("Params (M)", "755.5", "total(it)"), "verified");
    assert_eq!(beside("Params (M)", "765.5", "total(it)"), "refuted value::differs");
    assert_eq!(beside("Arm (B)", "755,534,592", "total(it)"), "verified");
    // Beside several columns the unit may be that of another one.
    let first = |text: &str, is: &str| cell("Active (%)", &[("p", text), ("MoE", "25.3")], is);
    assert_eq!(first("755,534,592", "total(it)"), "verified");
    assert_eq!(first("25.3", "active(it) / total(it)"), "verified");
}

#[test]
fn tables_are_read_from_the_text() {
    let post = r#"
[[table]]
head = "| model | total | active | width |"
[table.rows]
"MoE-64" = "moe64"
[table.columns]
"total" = "total(it)"
"active" = "active(it)"
"width" = "ffn_width(it)"
"#;
    let text =
        |row: &str| format!("| model | total | active | width |\n|---|---|---|---|\n{row}\n");
    let right = text("| MoE-64 | 755,534,592 | 191,073,024 | 3072 |");
    assert_eq!(judged(post, &right), ["verified"; 3]);
    let swapped = text("| MoE-64 | 191,073,024 | 755,534,592 | 3072 |");
    let refuted = "refuted value::differs";
    assert_eq!(judged(post, &swapped), [refuted, refuted, "verified"]);
    assert_eq!(judged(post, &text("| MoE-65 | 1 | 2 | 3 |")), ["post::no-such-row"]);
    assert_eq!(judged(post, "no table"), ["sentence::no-table"]);
}

/// A text in JSON.
const JSON: &str = r#"{
  "contract": {"steps": 9536, "betas": [0.9, 0.95], "optimizer": "AdamW", "eval": true},
  "lanes": {"bf16": {"dense": {"step": 8320, "kind": "target_reached", "reached": true, "loss": 3.2725}},
            "nvfp4": {"dense": {"step": 9536, "reached": false}}},
  "date": "2026-01-09 04:17:48", "copy": {"steps": 9536}
}"#;

#[test]
fn members_of_json_are_bound_like_cells() {
    let post = r#"
[[table]]
place = "/lanes"
[table.rows]
"bf16/dense" = { lane = "bf16.dense" }
"nvfp4/dense" = { lane = "bf16.dense" }
[table.columns]
"step" = "lane.tokens / (dense.batch_size * dense.seq_len)"
"loss" = "lane.loss"
[table.says]
"step" = "on_grid(quoted(1), dense.validation_every, dense.steps)"
"reached" = "reached(lane.loss, dense.target_loss)"
"#;
    let possible = "inconclusive possible::unconfirmed";
    let wanted = [
        "verified",
        possible,
        "verified",
        "verified",
        "refuted value::differs",
        possible,
        // The cell denies what is so.
        "refuted order::wrong-way",
    ];
    assert_eq!(judged(post, JSON), wanted);
    let ids: Vec<_> =
        report(post, Some(JSON)).posts[0].claims.iter().map(|c| c.id.clone()).collect();
    assert_eq!(ids[0], "lanes.bf16-dense.step");
    assert_eq!(ids[1], "lanes.bf16-dense.step.says");
    for (from, to, code) in [
        ("\"bf16/dense\"", "\"bf17/dense\"", "sentence::no-member"),
        ("\"loss\" =", "\"lost\" =", "sentence::no-member"),
        ("/lanes", "lanes", "post::bad-table"),
    ] {
        let report = report(&post.replace(from, to), Some(JSON));
        assert_eq!(report.failures[0].code.id, code, "{from}");
    }
    assert_eq!(judged(post, "no JSON"), ["sentence::no-member"]);
}

#[test]
fn an_object_of_json_is_bound_field_by_field() {
    let fields = |place: &str, fields: &str| {
        judged(&format!("[[table]]\nplace = {place}\n[table.fields]\n{fields}\n"), JSON)
    };
    let contract = |field: &str| fields("\"/contract\"", field).remove(0);
    assert_eq!(contract(r#""steps: 9536" = "each(dense.steps, moe64.steps)""#), "verified");
    assert_eq!(contract(r#""steps" = "dense.steps""#), "verified");
    assert_eq!(
        contract(r#""steps: 9536" = "each(dense.steps, dense.batch_size)""#),
        "refuted value::differs"
    );
    assert_eq!(contract(r#""steps: 9537" = "dense.steps""#), "unchecked sentence::missing-quote");
    assert_eq!(contract(r#""betas/1: 0.95" = "dense.adam_beta2""#), "verified");
    assert_eq!(contract(r#""optimizer: AdamW" = "contract.optimizer""#), "verified");
    assert_eq!(contract(r#""optimizer: AdamW" = "dense.dtype""#), "refuted value::different-words");
    assert_eq!(contract(r#""optimizer: AdamW" = "'AdamW'""#), "unchecked value::no-evidence");
    assert_eq!(contract(r#""eval: true" = "dense.validation_enabled""#), "verified");
    assert_eq!(
        contract(r#""optimizer: AdamW" = "dense.steps""#),
        "sentence::binding-count-differs"
    );
    // One table may stand at several places.
    let both = r#"["/contract", "/copy"]"#;
    assert_eq!(fields(both, r#""steps: 9536" = "dense.steps""#), ["verified", "verified"]);
    // A date is its second.
    let second = |number: &str| fields("\"\"", &format!(r#""date" = "{number}""#)).remove(0);
    assert_eq!(second("unix(started)"), "verified");
    assert_eq!(second("unix(started) + 60"), "refuted value::different-words");
    assert_eq!(second("part(run, 2)"), "verified");
    assert_eq!(second("part(run, 3)"), "refuted value::different-words");
    assert_eq!(second("part(run, 4)"), "expression::wrong-arguments");
    assert_eq!(second("unix(run)"), "expression::wrong-kind");
}

#[test]
fn a_pointer_says_where_a_quote_stands() {
    let of = |place: &str, quote: &str| {
        let post =
            format!("[[sentence]]\nplace = \"{place}\"\nquote = '{quote}'\nis = \"dense.steps\"\n");
        judged(&post, JSON).remove(0)
    };
    assert_eq!(of("/copy", "\"steps\": 9536"), "verified");
    assert_eq!(of("/copy/steps", "9536"), "verified");
    assert_eq!(of("/lanes/bf16", "9536"), "unchecked sentence::missing-quote");
    assert_eq!(of("/nowhere", "9536"), "unchecked sentence::missing-quote");
}

#[test]
fn what_was_typed_from_a_place_of_json_is_no_evidence_for_it() {
    let text = "[texts.receipts-0003]\nwhat = \"the receipts\"\nfile = \"p.md\"\n";
    let of = |place: &str, field: &str, expression: &str| {
        let json = r#"{"comparison_contract": {"closure_matrix_20260312": {"optimizer": "AdamW", "steps_max": 9536},
            "copy": {"optimizer": "AdamW", "steps_max": 9536}}}"#;
        let post = format!(
            "{text}[[table]]\ntext = \"receipts-0003\"\nplace = \"/comparison_contract/{place}\"\n[table.fields]\n\"{field}\" = \"{expression}\"\n"
        );
        judged(&post, json).remove(0)
    };
    let single = "unchecked value::single-source";
    assert_eq!(of("closure_matrix_20260312", "steps_max", "contract.steps"), single);
    assert_eq!(of("closure_matrix_20260312", "optimizer", "contract.optimizer"), single);
    assert_eq!(
        of("closure_matrix_20260312", "steps_max", "each(contract.steps, dense.steps)"),
        single
    );
    assert_eq!(of("copy", "steps_max", "contract.steps"), "verified");
    assert_eq!(of("copy", "optimizer", "contract.optimizer"), "verified");
}

#[test]
fn members_of_json_are_covered_where_they_stand() {
    let post = r#"
[[table]]
place = ["/contract", "/copy"]
[table.fields]
"steps: 9536" = "dense.steps"
[[excused]]
quote = ["0.9", "0.95", "2026-01-09 04:17:48"]
reason = "not here"
[[excused]]
text = ["text"]
quote = "8320"
reason = "not here"
"#;
    let project = project(post, Some(JSON));
    let page = PostPage::load(project.path(), "p").unwrap();
    let source = Source::new("p.md", JSON.into()).unwrap();
    let covered = covered(&page, &page.texts[0], &source).unwrap();
    let of = |wanted: fn(&repro_verify::covered::Number) -> bool| {
        let numbers = covered.numbers.iter().filter(|number| wanted(number));
        numbers.map(|number| format!("{} in line {}", number.text, number.line)).collect::<Vec<_>>()
    };
    assert_eq!(of(|number| !number.bound_by.is_empty()), ["9536 in line 2", "9536 in line 5"]);
    assert_eq!(of(|number| number.is_unbound()), ["3.2725 in line 3", "9536 in line 4"]);
    assert!(covered.misplaced.is_empty());
}

#[test]
fn prints_of_one_precision_are_the_same_or_differ() {
    // Typed from a print: its neighbour is another number, though the intervals of both touch.
    let says = |quote: &str| sentence(quote, "is = \"bf16.dense.loss\"").remove(0);
    assert_eq!(says("loss 3.2725"), "verified");
    assert_eq!(says("loss 3.2726"), "refuted value::differs");
    assert_eq!(says("loss 3.27"), "verified");
}

#[test]
fn settings_are_exact_and_measured_prints_are_rounded() {
    let says = |quote: &str, what: &str| sentence(quote, &format!("is = \"{what}\"")).remove(0);
    assert_eq!(says("weight decay 0.1", "dense.weight_decay"), "verified");
    assert_eq!(says("weight decay 0.14", "dense.weight_decay"), "refuted value::differs");
    assert_eq!(says("beta2 about 1.0", "dense.adam_beta2"), "verified");
    assert_eq!(says("beta2 1.0", "dense.adam_beta2"), "refuted value::differs");
    // A size behind a number says itself that it rounds.
    assert_eq!(says("steps 9.5k", "dense.steps"), "verified");
    assert_eq!(says("steps 9.6k", "dense.steps"), "refuted value::differs");
    assert_eq!(says("4.9996B tokens", "planned"), "verified");
    assert_eq!(says("4.9997B tokens", "planned"), "refuted value::differs");
    assert_eq!(says("3072 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("3073 wide", "ffn_width(moe64)"), "refuted value::differs");
    // One meaning in all posts: within 5%.
    assert_eq!(says("about 3000 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("about 2700 wide", "ffn_width(moe64)"), "refuted value::differs");
    assert_eq!(says("about 1000 wide", "ffn_width(moe64)"), "refuted value::differs");
    assert_eq!(says("at least 3000 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("fewer than 3000", "ffn_width(moe64)"), "refuted value::differs");
}

#[test]
fn what_follows_from_no_other_evidence_is_unchecked() {
    let single = "unchecked value::single-source";
    let nothing = "unchecked value::no-evidence";
    assert_eq!(of_post_0004("1.40", "d10.bpb"), [single]);
    assert_eq!(of_post_0004("1.40", "mean([d10.bpb])"), [single]);
    assert_eq!(of_post_0004("1.40", "d10.bpb * (d12.bpb / d12.bpb)"), [single]);
    assert_eq!(of_post_0004("1.40", "1.4"), [nothing]);
    assert_eq!(of_post_0004("1.40", "d12.bpb / d12.bpb + 0.4"), [nothing]);
}

/// The verdict of a number in a table of the post from which `d10` and `d12` were typed.
fn of_post_0004(quote: &str, expression: &str) -> Vec<String> {
    let text = "[texts.post-0004]\nwhat = \"the post\"\nfile = \"p.md\"\n";
    let post = format!(
        "{text}\n[[sentence]]\ntext = \"post-0004\"\nquote = \"{quote}\"\nis = \"{expression}\"\n"
    );
    judged(&post, "d10: 1.40+0.001\nd12: 1.21+0.065\n")
}

#[test]
fn a_copy_that_differs_from_the_quote_is_refused() {
    let differs = "bundle::transcription-differs";
    // Bound to the copy of another number in the same words.
    assert_eq!(of_post_0004("1.40+0.001", "[d10.bpb, d10.bpb]"), [differs]);
    // The document does not print what was typed from it.
    let text = "[texts.post-0004]\nwhat = \"the post\"\nfile = \"p.md\"\n";
    let post = format!(
        "{text}\n[[sentence]]\ntext = \"post-0004\"\nquote = \"by 0.19\"\nis = \"d10.bpb - d12.bpb\"\n"
    );
    assert_eq!(judged(&post, "1.40+0.001 and 1.21+0.065, better by 0.19"), ["verified"]);
    assert_eq!(judged(&post, "1.40+0.001 and 1.12+0.065, better by 0.19"), ["verified", differs]);
}

#[test]
fn an_order_between_runs_is_judged_with_its_noise() {
    let says = |what: &str| sentence("it is ahead", &format!("says = \"{what}\"")).remove(0);
    let noise = "inconclusive order::within-noise";
    assert_eq!(says("arm.moe.loss < arm.dense.loss"), noise);
    assert_eq!(says("arm.moe.loss @ 242 < arm.moe.loss @ 1209"), "refuted order::wrong-way");
    assert_eq!(says("arm.moe.loss @ 1209 < arm.moe.loss @ 242"), "verified");
    // One run each: it may be contradicted, and is never verified.
    let one = "inconclusive order::one-run";
    assert_eq!(says("bf16.moe64.stop-step < bf16.dense.stop-step"), one);
    assert_eq!(says("bf16.moe64.stop-step > bf16.dense.stop-step"), "refuted order::wrong-way");
    assert_eq!(says("printed(bf16.moe64.stop-step) < printed(bf16.dense.stop-step)"), "verified");
    assert_eq!(says("january.loss != bf16.dense.loss"), one);
    assert_eq!(says("differs([january.loss, bf16.dense.loss])"), one);
    assert_eq!(says("total(moe64) > total(dense)"), "verified");
    assert_eq!(says("total(dense) = active(dense)"), "verified");
    assert_eq!(says("total(moe64) = active(moe64)"), "refuted order::not-equal");
}

#[test]
fn the_test_is_fixed_by_the_design() {
    let p = |quote: &str| sentence(quote, r#"is = "p(arm.dense.loss, arm.moe.loss)""#).remove(0);
    assert_eq!(p("p = 0.057"), "verified");
    // Welch's, which the plan does not name.
    assert_eq!(p("p = 0.045"), "refuted value::differs");
    let says = |what: &str| sentence("it is so", &format!("says = \"{what}\"")).remove(0);
    assert_eq!(
        says("significant(p(arm.dense.loss, arm.moe.loss))"),
        "refuted significant::not-significant"
    );
    assert_eq!(says("not significant(p(arm.dense.loss, arm.moe.loss))"), "verified");
    assert_eq!(
        says("equivalent(arm.dense.loss, arm.moe.loss, 0.01)"),
        "inconclusive equivalent::undecided"
    );
    assert_eq!(says("equivalent(arm.dense.loss, arm.moe.loss, 0.1)"), "verified");
}

#[test]
fn a_reversal_needs_both_orders_against_their_noise() {
    // Words that name the step may compare another one than the plan does.
    let says = |what: &str| {
        sentence("it is so", &format!("place = 'at step 242'\nsays = \"{what}\"")).remove(0)
    };
    // At one step losses have an order; after most of the training they have not.
    let early = "[arm.dense.loss @ 242, arm.moe.loss @ 242]";
    let turned = "[arm.moe.loss @ 242, arm.dense.loss @ 242]";
    let late = "[arm.dense.loss, arm.moe.loss]";
    assert_eq!(says(&format!("reversed({early}, {turned})")), "verified");
    assert_eq!(says(&format!("not reversed({early}, {turned})")), "refuted order::wrong-way");
    assert_eq!(says(&format!("reversed({early}, {early})")), "refuted reversed::same-order");
    assert_eq!(says(&format!("not reversed({early}, {early})")), "verified");
    let open = "inconclusive reversed::undecided";
    assert_eq!(says(&format!("reversed({early}, {late})")), open);
    assert_eq!(says(&format!("not reversed({early}, {late})")), open);
    // One run on a side has no noise that is known.
    assert_eq!(says(&format!("reversed({early}, [one.loss, one.loss])")), "expression::wrong-kind");
    assert_eq!(says("reversed([arm.dense.loss], [arm.moe.loss])"), "expression::wrong-arguments");
}

#[test]
fn the_plan_of_the_receipts_fixes_the_test() {
    let of = |plan: &str| {
        let project = project(
            "[[sentence]]\nquote = 'p = 0.057'\nis = \"p(arm.dense.loss, arm.moe.loss)\"\n",
            Some("p = 0.057"),
        );
        let file = project.path().join("repro/p.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("plan = \"tiny-moe\"", plan)).unwrap();
        let report = verify(project.path(), &["p".to_owned()], &Demands::default(), 1);
        let claim = report.posts.first().map(|post| post.claims[0].outcome.clone());
        claim.map_or_else(
            || report.failures[0].code.id.to_owned(),
            |outcome| format!("{} {}", outcome.verdict.word(), outcome.recomputed),
        )
    };
    assert_eq!(of("plan = \"tiny-moe\""), "verified 0.05737860708 = p by the paired t test");
    // The receipts name their plan; leaving it out of the post changes no test, and another one departs.
    assert_eq!(of(""), of("plan = \"tiny-moe\""));
    let other = of("plan = \"fairness\"");
    assert!(other.starts_with("inconclusive"), "{other}");
    assert_eq!(of("plan = \"none\""), "study::no-such-study");
}

#[test]
fn a_plan_is_complete_only_with_all_of_its_runs() {
    let says = sentence("All runs of the plan", "says = \"complete()\"");
    assert_eq!(says, ["refuted complete::not-run"]);
    let again = "says = \"replayed(one, '967..977')\"";
    assert_eq!(sentence("they come out again", again), ["unchecked replayed::not-asked"]);
    let odd = "says = \"replayed(arm.moe, '967..977')\"";
    assert_eq!(sentence("they come out again", odd), ["expression::wrong-kind"]);
    let odd = "says = \"replayed(one, '967..968')\"";
    assert_eq!(sentence("they come out again", odd), ["expression::wrong-arguments"]);
}

#[test]
fn what_is_only_possible_is_not_verified() {
    let says = |quote: &str, what: &str| {
        let stated = format!("says = \"{what}\"\nis = \"_ said\"");
        sentence(quote, &stated).remove(0)
    };
    let only = "inconclusive possible::unconfirmed";
    assert_eq!(says("a share of 0.257", "possible(quoted(1), 1 / 4, 1 / 2)"), only);
    assert_eq!(says("a share of 0.457", "possible(quoted(1), 1 / 4, 1 / 2)"), only);
    let outside = "refuted possible::impossible";
    assert_eq!(says("a share of 0.557", "possible(quoted(1), 1 / 4, 1 / 2)"), outside);
    assert_eq!(says("right in 13.34%", "grim(quoted(1), 1319)"), only);
    assert_eq!(says("right in 13.3%", "grim(quoted(1), 30)"), only);
    assert_eq!(says("right in 13.5%", "grim(quoted(1), 30)"), "refuted grim::no-such-count");
    let grid = |quote: &str| says(quote, "on_grid(quoted(1), dense.validation_every, dense.steps)");
    assert_eq!(grid("stopped at step 8320"), only);
    assert_eq!(grid("stopped at step 9536"), only);
    assert_eq!(grid("stopped at step 8321"), "refuted on_grid::off-grid");
    assert_eq!(grid("stopped at step 9600"), "refuted on_grid::off-grid");
}

#[test]
fn shares_slopes_and_power_are_recomputed() {
    let is = |quote: &str, what: &str| sentence(quote, &format!("is = \"{what}\"")).remove(0);
    assert_eq!(is("[34.5%, 65.5%]", "wilson95(count(arm.moe) * 3, 36)"), "verified");
    assert_eq!(is("[34.5%, 66.5%]", "wilson95(count(arm.moe) * 3, 36)"), "refuted value::differs");
    let gap = "detectable(arm.dense.loss, arm.moe.loss, family = 2)";
    assert_eq!(is("0.0258", gap), "verified");
    assert_eq!(is("0.0358", gap), "refuted value::differs");
    let slopes = "slopes([arm.dense.loss @ 242 - arm.moe.loss @ 242, arm.dense.loss @ 967 - arm.moe.loss @ 967], \
                  over = [ln(495616), ln(1980416)])";
    assert_eq!(is("-0.0201", &format!("mean({slopes})")), "verified");
    assert_eq!(is("-0.0301", &format!("mean({slopes})")), "refuted value::differs");
    // The sign of a printed number counts.
    assert_eq!(is("0.0201", &format!("mean({slopes})")), "refuted value::differs");
}

#[test]
fn groups_know_their_runs() {
    let is = |what: &str| sentence("it is 1.70", &format!("is = \"{what}\"")).remove(0);
    assert_eq!(is("mean(twice.loss)"), "group::repeated-run");
    assert_eq!(is("mean(three.loss - swapped.loss)"), "expression::not-paired");
    // The plan has three further seeds.
    assert_eq!(is("mean(three.loss)"), "inconclusive test::departs-from-plan");
    assert_eq!(is("three.loss"), "expression::wrong-kind");
}

#[test]
fn what_is_held_fixed_is_judged_by_what_the_words_mean() {
    let says = |quote: &str, what: &str| {
        sentence(quote, &format!("says = \"{what}\"\nis = \"_ said\"")).remove(0)
    };
    let fixed = "within 5%";
    assert_eq!(says(fixed, "held_fixed([dense.inter_dim, ffn_width(moe64)])"), "verified");
    assert_eq!(
        says(fixed, "held_fixed(active(it), over = [dense, moe64])"),
        "refuted held_fixed::differs"
    );
    assert_eq!(says(fixed, "nearly_fixed(active(it), over = [dense, moe64])"), "verified");
    let total = "nearly_fixed(total(it), over = [dense, moe64]";
    assert_eq!(says(fixed, &format!("{total})")), "refuted held_fixed::differs");
    // Names are held against each other too, and each run of a group against the others.
    for (what, expected) in [
        ("held_fixed(it.config.dtype, over = [arm.moe, arm.dense])", "verified"),
        ("held_fixed(it.config.lr, over = arm.moe)", "verified"),
        ("differs(it.config.dtype, over = [arm.moe, arm.dense])", "refuted differs::equal"),
        (
            "held_fixed(it.config.model_type, over = [one, arm.dense])",
            "refuted held_fixed::differs",
        ),
    ] {
        assert_eq!(says(fixed, what), expected, "{what}");
    }
    // What the author adds may only be stricter; what the text says counts.
    assert_eq!(says(fixed, &format!("{total}, within = 900%)")), "refuted held_fixed::differs");
    assert_eq!(says("within 900%", &format!("{total}, within = 900%)")), "verified");
    assert_eq!(
        says(fixed, "nearly_fixed(active(it), over = [dense, moe64], within = 0.1%)"),
        "refuted held_fixed::differs"
    );
}

#[test]
fn only_facts_are_refuted_and_a_premise_is_named() {
    let wrong = "says = \"total(moe64) = total(dense)\"";
    assert_eq!(sentence("it is so", wrong), ["refuted order::not-equal"]);
    for mood in ["norm", "definition"] {
        let stated = format!("{wrong}\nasserts = \"{mood}\"");
        assert_eq!(sentence("it is so", &stated), ["unchecked sentence::not-a-fact"]);
    }
    let premise = format!("{wrong}\npremise = \"both store the same\"");
    assert_eq!(sentence("it is so", &premise), ["inconclusive sentence::premise"]);
    let both = r#"may_mean = ["total(moe64) > total(dense)", "total(moe64) < total(dense)"]"#;
    assert_eq!(sentence("it is so", both), ["inconclusive sentence::readings-differ"]);
    let vague = r#"says = "total(moe64) > total(dense)""#;
    assert_eq!(sentence("it grew dramatically", vague), ["inconclusive sentence::no-threshold"]);
    assert_eq!(sentence("it grew", vague), ["verified"]);
}

/// A sentence without numbers that says a relation.
fn said(relation: &str) -> String {
    sentence("it holds", &format!("says = \"{relation}\"")).join(" ")
}

#[test]
fn printed_means_are_ordered_in_every_reading_of_their_spread() {
    for (relation, verdict) in [
        ("runs(digest.moe) < runs(digest.active)", "verified"),
        ("runs(digest.moe) > runs(digest.active)", "refuted order::wrong-way"),
        ("not runs(digest.moe) < runs(digest.total)", "verified"),
        ("runs(digest.moe) != runs(digest.total)", "verified"),
        ("runs(digest.moe) = runs(digest.total)", "refuted order::wrong-way"),
        ("runs(digest.gap.total) > 0", "verified"),
        ("0 > runs(digest.gap.total)", "refuted order::wrong-way"),
        ("in_family(runs(digest.total) < runs(digest.moe), family = orders)", "verified"),
        ("runs(digest.moe) < 1.655", "verified"),
        // One run has a noise of its own.
        ("runs(digest.moe) < digest.total.mean + 1", "inconclusive order::one-run"),
        (
            "printed_runs(digest.moe.mean, digest.moe.spread, 1) < 1.7",
            "expression::wrong-arguments",
        ),
        // What nobody printed is no spread of runs.
        ("printed_runs(digest.moe.mean, 0.0001, 3) < 1.7", "expression::wrong-arguments"),
        (
            "printed_runs(mean(arm.moe.loss), digest.moe.spread, 6) < 1.8",
            "expression::wrong-arguments",
        ),
        ("in_family(runs(digest.moe) > 1, family = orders)", "expression::wrong-arguments"),
        ("in_family(runs(digest.moe) > 1, family = endless)", "expression::too-deep"),
        ("in_family(runs(digest.moe) > 1, family = [1])", "expression::wrong-arguments"),
        ("runs(digest.moe) + 1 > 2", "expression::wrong-kind"),
    ] {
        assert_eq!(said(relation), verdict, "{relation}");
    }
}

#[test]
fn relations_of_formulas_hold_everywhere_or_have_a_counterexample() {
    for (relation, verdict) in [
        ("holds(square(x + y) = square(x) + 2 * x * y + square(y), for_all = [x, y])", "verified"),
        (
            "holds(square(x + y) = square(x) + square(y), for_all = [x, y])",
            "refuted holds::counterexample",
        ),
        ("holds(square(x + y) > square(x), for_all = [x, y])", "verified"),
        ("holds(1 / (x + y) < 1 / x, for_all = [x, y])", "verified"),
        ("holds(x < x + y < x + 2 * y, for_all = [x, y])", "verified"),
        ("not holds(square(x) > x, for_all = [x])", "verified"),
        // True, and neither shown by its coefficients nor by points.
        (
            "holds(square(x) + square(y) >= 2 * x * y, for_all = [x, y])",
            "inconclusive holds::not-shown",
        ),
        // A variable hides evidence of its name.
        ("holds(total(dense) = total(dense), for_all = [dense])", "expression::wrong-kind"),
        ("holds(exp(x) > x, for_all = [x])", "inconclusive holds::not-shown"),
        ("holds(x = x, for_all = [x, x])", "expression::wrong-arguments"),
        ("holds(square(x) = x, for_all = x)", "expression::wrong-arguments"),
        ("holds(square(x), for_all = [x])", "expression::wrong-kind"),
        ("holds(1 / (square(x) - square(x)) = 1, for_all = [x])", "expression::not-computable"),
    ] {
        assert_eq!(said(relation), verdict, "{relation}");
    }
    let printed = |quote: &str| {
        sentence(
            quote,
            r#"says = "holds((quoted(1) + x) ^ quoted(2) = 9 + 6 * x + square(x), for_all = [x])""#,
        )
    };
    assert_eq!(printed(r"it is (3+x)^2"), ["verified"]);
    assert_eq!(printed(r"it is (4+x)^2"), ["refuted holds::counterexample"]);
    assert_eq!(printed(r"it is (3+x)^2 of 7"), ["sentence::binding-count-differs"]);
    assert_eq!(printed(r"it is (3+x)^2 of three"), ["verified"]);
    assert_eq!(printed(r"it is (3+x)^2, 2026-03-14"), ["sentence::binding-count-differs"]);
}

#[test]
fn shares_of_the_same_items_are_ordered_whatever_their_overlap() {
    for (relation, verdict) in [
        ("more_right(90.0%, 50.0%, 1000)", "unchecked value::no-evidence"),
        ("more_right(50.0%, 90.0%, 1000)", "refuted order::wrong-way"),
        ("more_right(52.0%, 50.0%, 1000)", "inconclusive more_right::overlap"),
        ("more_right(33.33%, 50.0%, 10)", "inconclusive more_right::no-such-count"),
        ("more_right(50.0%, 90.0%, 0)", "expression::wrong-arguments"),
    ] {
        assert_eq!(said(relation), verdict, "{relation}");
    }
}

#[test]
fn a_premise_of_a_number_is_named_too() {
    let with = |premise: &str| sentence("9537 steps", &format!("is = \"dense.steps\"\n{premise}"));
    assert_eq!(with(""), ["refuted value::differs"]);
    assert_eq!(with("premise = \"the plan is meant\""), ["inconclusive sentence::premise"]);
}

#[test]
fn another_print_of_one_precision_has_the_same_digits() {
    let moe = |quote: &str| sentence(quote, r#"is = "digest.moe.mean""#);
    assert_eq!(moe("1.5788 in all"), ["verified"]);
    assert_eq!(moe("1.5789 in all"), ["refuted value::differs"]);
    assert_eq!(moe("1.579 in all"), ["verified"]);
}

#[test]
fn every_number_of_the_text_is_bound_or_told() {
    let statements = r#"
[[excused]]
quote = "section 3"
reason = "the number of a section"
[[sentence]]
quote = "bf16 took 9536 steps in two lanes, 8 a day"
is = ["dense.steps", "_ not published"]
[[table]]
printed = '''
| model | total | active |
| MoE-64 | 755,534,592 | 191,073,024 |
'''
[table.rows]
"MoE-64" = "moe64"
[table.columns]
"total" = "total(it)"
"#;
    let text = "In section 3, bf16 took 9536\nsteps in two lanes, 8 a day, 17 in all.\n\
                modeltotalactiveMoE-64755,534,592191,073,024";
    let project = project(statements, Some(text));
    let page = PostPage::load(project.path(), "p").unwrap();
    let text = Source::new("p.md", text.into()).unwrap();
    let found = covered(&page, &page.texts[0], &text).unwrap();
    let unbound: Vec<_> = found
        .numbers
        .iter()
        .filter(|number| number.is_unbound())
        .map(|number| &number.text)
        .collect();
    // The number of active parameters is bound by nothing; the page runs it into the other.
    assert_eq!(unbound, ["two", "17", "592191"]);
    assert_eq!((found.counts(), found.misplaced.len()), ((2, 2, 3), 0));
}

#[test]
fn errors_stand_where_the_expression_is_wrong() {
    let errors = |what: &str| {
        let post = format!("[[sentence]]\nquote = \"it is 3\"\nis = \"{what}\"\n");
        let report = report(&post, Some("it is 3"));
        let shown = report.failures.iter().map(|error| {
            let place = &error.place;
            let marked: String =
                place.excerpt.chars().skip(place.column - 1).take(place.length).collect();
            format!(
                "{} `{marked}`: expected {}, found {}\n    {}",
                error.code.id, error.expected, error.found, error.help
            )
        });
        shown.collect::<Vec<_>>().join("\n")
    };
    let all: Vec<_> = [
        "dense.steps +",
        "denze.steps",
        "dense.stepz",
        "bf16.dens.loss",
        "totl(dense)",
        "total(dense, moe64)",
        "total(dense, convention = 'mine')",
        "dense.steps / (2 - 2)",
        "dense-steps",
        "arm.mow.loss",
        "arm.moe.loss @ 3",
        "ffn_width(dense, moe64)",
        "bf16",
        "arm.moe.los",
        "arm.moe.learning",
        "maen(arm.moe.loss)",
        "arm.moe.loss",
        "dense.steps == 3",
        "not dense.steps",
        "significant(arm.moe.loss < arm.dense.loss)",
        "contract.optimizer",
        "contract.optimizer + 1",
        "dense.steps ** 2",
        "how_many(arm.moe.loss)",
        "how_many(dense.steps < 3)",
        "how_many(arm.moe.loss < arm.moe.loss + 1)",
        "how_many(arm.moe.loss < swapped.loss)",
        "median([])",
    ]
    .iter()
    .map(|what| format!("{what}\n    {}", errors(what)))
    .collect();
    insta::assert_snapshot!(all.join("\n"));
}

/// The first error of a post with these statements: code, line, expected, found and help.
fn first_error(statements: &str, text: &str) -> String {
    let report = report(statements, Some(text));
    let Some(error) = report.failures.first() else { return "no error".to_owned() };
    let place = &error.place;
    format!(
        "{} {}: {}\n    expected {}, found {}\n    {}",
        error.code.id, place.file, place.excerpt, error.expected, error.found, error.help
    )
}

/// Why the first claim of a post with these statements is not verified.
fn first_reason(statements: &str, text: &str) -> String {
    let report = report(statements, Some(text));
    report.posts[0].claims[0].outcome.reason.clone()
}

#[test]
fn honest_slips_are_told_with_the_way_out() {
    let sentence = |quote: &str, rest: &str| format!("[[sentence]]\nquote = '{quote}'\n{rest}\n");
    let table = |place: &str, row: &str| {
        format!(
            "[[table]]\nplace = '{place}'\n[table.rows]\n'{row}' = 'dense'\n[table.columns]\n'steps' = 'it.steps'\n"
        )
    };
    let markdown = "| arm | steps |\n|---|---|\n| dense | 9536 (3) |\n";
    let cells = "[[table]]\nhead = '| arm | steps |'\n[table.rows]\n'dense' = 'dense'\n[table.columns]\n'steps' = 'it.steps'\n";
    let cases: Vec<(&str, String, &str)> = vec![
        (
            "more bindings",
            sentence("steps 9536", "is = [\n'dense.steps',\n'dense.lr',\n]"),
            "steps 9536",
        ),
        (
            "fewer bindings",
            sentence("9536 of 10 and 20", "is = ['dense.steps']"),
            "9536 of 10 and 20",
        ),
        ("no number", sentence("many steps", "is = ['dense.steps', 'dense.lr']"), "many steps"),
        ("no number, one binding", sentence("many steps", "is = 'dense.steps'"), "many steps"),
        ("only says", sentence("steps 9536", "says = 'dense.steps == 9536'"), "steps 9536"),
        ("a relation", sentence("steps 9536", "is = 'dense.steps == 9536'"), "steps 9536"),
        ("a number as relation", sentence("it is so", "says = 'dense.steps'"), "it is so"),
        ("an order of words", sentence("it is", "says = \"contract.optimizer < 'x'\""), "it is"),
        ("a cell with two numbers", cells.to_owned(), markdown),
        ("a row that is not there", cells.replace("'dense' =", "'dens' ="), markdown),
        ("no such table", cells.replace("| arm |", "| arms |"), markdown),
        ("broken JSON", table("/lanes", "dense"), "{\"lanes\": {\n\"dense\": {,}}}"),
        ("a pointer", table("/lane", "dense"), JSON),
        ("a member", table("/lanes", "bf17"), JSON),
        ("a list", table("/contract/betas", "first"), JSON),
        ("no root", table("/", "contract"), JSON),
        ("one bracket", "[sentence]\nquote = 'a'\nsays = '1 < 2'\n".to_owned(), "a"),
        ("a key", "[[sentence]]\nqoute = 'a'\nsays = '1 < 2'\n".to_owned(), "a"),
        (
            "one bracket behind two",
            "[[excused]]\nquote = 'a'\nreason = 'b'\n[excused]\nquote = 'c'\n".to_owned(),
            "a",
        ),
        ("typographic quotes", "[[sentence]]\nquote = “a”\n".to_owned(), "a"),
        ("a backslash", "[[sentence]]\nquote = \"$\\pm$ 1\"\n".to_owned(), "a"),
    ];
    let mut shown: Vec<_> = cases
        .iter()
        .map(|(what, statements, text)| format!("{what}\n  {}", first_error(statements, text)))
        .collect();
    let text =
        "The mixture ends at 1.7016 ± 0.0134 over six seeds.\n\nThe dense model took 9536 steps.\n";
    for quote in [
        "the mixture ends at 1.7016 ± 0.0134",
        "ends at 1.7061 ± 0.0134 over six",
        "The dense model took 9537 steps",
        "9563",
        "nothing like this",
    ] {
        let statements = sentence(quote, "missing = 'runs'");
        shown.push(format!("{quote}\n  {}", first_reason(&statements, text)));
    }
    let place = |place: &str| format!("place = '{place}'\nis = 'dense.steps'");
    for (at, quote) in [("/lanes/bf16", "9536"), ("/lanez", "9536"), ("/copy", "9537")] {
        shown.push(format!(
            "{quote} at {at}\n  {}",
            first_reason(&sentence(quote, &place(at)), JSON)
        ));
    }
    for field in ["stepz: 9536", "steps: 9537"] {
        let post =
            format!("[[table]]\nplace = '/contract'\n[table.fields]\n'{field}' = 'dense.steps'\n");
        shown.push(format!("{field}\n  {}", first_reason(&post, JSON)));
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn spellings_of_signs_make_no_difference() {
    let of = |quote: &str, text: &str| {
        let post = format!(
            "[[sentence]]\nquote = \"{quote}\"\nis = 'mean(arm.moe.loss) - mean(arm.dense.loss)'\n"
        );
        judged(&post, text).remove(0)
    };
    for (quote, text) in [
        ("the model's gap of -0.015", "the model’s gap of −0.015"),
        ("gap of −0.015", "gap of -0.015"),
        ("gap of -0.015", "**gap** of **−0.015**"),
        ("gap of -0.015", "gap\u{a0}of\u{2009}-0.015"),
        ("so - gap of -0.015", "so — gap of -0.015"),
    ] {
        assert_eq!(of(quote, text), "verified", "{quote}");
    }
    for (quote, text) in [("gap of -0.015", "gap of 0.015"), ("gap of -0.015", "gap of -0.01*5")] {
        assert_eq!(of(quote, text), "unchecked sentence::missing-quote", "{text}");
    }
}

#[test]
fn a_cell_without_a_number_claims_nothing() {
    let post = "[[table]]\nhead = '| arm | steps |'\n[table.rows]\n'dense' = 'dense'\n'moe' = 'moe64'\n[table.columns]\n'steps' = 'it.steps'\n";
    for cell in ["—", "-", "", "n/a", "NA", "none"] {
        let text = format!("| arm | steps |\n|---|---|\n| dense | 9536 |\n| moe | {cell} |\n");
        assert_eq!(judged(post, &text), ["verified"], "{cell}");
    }
    let words = "| arm | steps |\n|---|---|\n| dense | 9536 |\n| moe | many |\n";
    assert_eq!(judged(post, words), ["sentence::binding-count-differs"]);
}

#[test]
fn the_root_of_json_is_a_table() {
    let post = "[[table]]\nplace = ''\n[table.rows]\n'contract' = 'dense'\n'copy' = 'dense'\n[table.columns]\n'steps' = 'it.steps'\n";
    assert_eq!(judged(post, JSON), ["verified", "verified"]);
}

#[test]
fn words_and_truths_are_held_against_each_other() {
    let said = |words: &str, says: &str| sentence(words, &format!("says = \"{says}\"")).remove(0);
    let one = |says: &str| said("it is float32, and not float64", says);
    for (says, verdict) in [
        ("one.config.dtype = 'float32'", "verified"),
        ("one.config.dtype = 'fp32'", "verified"),
        ("one.config.dtype = 'bf16'", "refuted order::not-equal"),
        ("one.config.dtype != 'fp32'", "refuted order::equal"),
        ("one.config.dtype = 'float'", "inconclusive value::ambiguous-name"),
        ("one.config.dtype = 'float64'", "refuted order::not-equal"),
        ("one.config.dtype != 'float64'", "verified"),
        ("one.config.dtype != 'float32'", "refuted order::equal"),
        ("one.config.tie_word_embeddings = false", "verified"),
        ("one.config.tie_word_embeddings = true", "refuted order::not-equal"),
        ("one.config.norm_topk_prob", "verified"),
        ("not one.config.norm_topk_prob", "refuted order::wrong-way"),
        ("one.config.tie_word_embeddings", "refuted order::not-equal"),
        ("arm.moe.config.dtype = 'float32'", "verified"),
        ("arm.moe.config.dtype = 'float64'", "refuted order::not-equal"),
        ("arm.moe.config.norm_topk_prob", "verified"),
        ("one.config.dtype = one.config.dtype", "unchecked value::no-evidence"),
        ("'a' = 'a'", "unchecked value::no-evidence"),
        ("true = true", "unchecked value::no-evidence"),
        ("one.config.dtype = 32", "expression::wrong-kind"),
        ("one.config.dtype", "expression::wrong-kind"),
        ("true", "expression::wrong-kind"),
    ] {
        assert_eq!(one(says), verdict, "{says}");
    }
    let dtype = "one.config.dtype = 'float32'";
    assert_eq!(said("We train in fp32.", dtype), "verified");
    assert_eq!(said("Float32-trained models", dtype), "verified");
}

#[test]
fn a_reason_may_stand_behind_spaces() {
    let excused = r#"is = ["  _ the number of the section", "total(dense)"]"#;
    assert_eq!(sentence("section 3: 190,532,352", excused), ["verified"]);
}

#[test]
fn a_post_without_a_text_says_so() {
    let statements = "[[sentence]]\nquote = 'steps: 9536'\nis = \"dense.steps\"\n";
    let project = project(statements, None);
    let post = project.path().join("repro/p.toml");
    let without = std::fs::read_to_string(&post).unwrap().replace("text = \"p.md\"\n", "");
    std::fs::write(&post, without).unwrap();
    let report = verify(project.path(), &["p".to_owned()], &Demands::default(), 1);
    let codes: Vec<_> = report.posts[0].findings.iter().map(|finding| finding.code.id).collect();
    assert_eq!(codes, ["text::none-named"]);
    assert!(!report.all_bound());
    assert_eq!(report.posts[0].texts.len(), 1);
}

#[test]
fn missing_bundles_of_a_group_are_one_error() {
    let statements = "[[sentence]]\nquote = 'steps'\nsays = \"gone.loss > 1\"\n";
    let project = project("", Some("steps"));
    let post = project.path().join("repro/p.toml");
    let head = std::fs::read_to_string(&post).unwrap();
    let group = "[names]\ngone = \"tiny-moe-moe-activ12-s{1..7}\"\n";
    std::fs::write(&post, head.replace("[names]\n", group) + statements).unwrap();
    let report = verify(project.path(), &["p".to_owned()], &Demands::default(), 1);
    assert_eq!(report.failures.len(), 1);
    let error = &report.failures[0];
    assert!(error.found.contains("-s5` and 2 more"), "{}", error.found);
    assert!(error.help.contains("names: `tiny-moe-moe-active12-s1`,"), "{}", error.help);
    assert_eq!(error.place.excerpt, "gone = \"tiny-moe-moe-activ12-s{1..7}\"");
}

#[test]
fn a_lock_holds_what_was_said_and_by_which_bundles() {
    let statements = "[[sentence]]\nquote = 'steps: 9536'\nis = \"dense.steps\"\n";
    let project = project(statements, Some("steps: 9536"));
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_repro"))
            .args(["verify", "--root"])
            .arg(project.path())
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text + &String::from_utf8(output.stderr).unwrap())
    };
    let post = project.path().join("repro/p.toml");
    let lock = project.path().join("repro/p.lock");
    assert_eq!(run(&["--post", "all", "--locked"]).0, 2);
    assert_eq!(run(&["--post", "all", "--write-lock"]).0, 0);
    assert_eq!(run(&["--post", "all", "--locked"]).0, 0);
    let recorded = std::fs::read_to_string(&lock).unwrap();
    assert!(recorded.contains(
        "\"steps-9536\" = [\"verified transcribed compared\", \"9536\", \"dense.steps\", \"\"]"
    ));

    // Another expression with the same verdict is another claim.
    let other =
        std::fs::read_to_string(&post).unwrap().replace("\"dense.steps\"\n", "\"moe64.steps\"\n");
    std::fs::write(&post, other).unwrap();
    let (status, text) = run(&["--post", "all", "--locked"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("moe64.steps") && text.contains("dense.steps"), "{text}");

    // Another bundle under the recorded name is refused.
    let digest = recorded.split("\"nmoe-0003\" = \"sha256:").nth(1).unwrap().get(..64).unwrap();
    std::fs::write(&lock, recorded.replace(digest, &"0".repeat(64))).unwrap();
    assert_eq!(run(&["--post", "p"]).0, 2);
    // One that nobody recorded is, too.
    std::fs::write(&lock, recorded.replace("\"nmoe-0003\" = ", "\"nmoe-0009\" = ")).unwrap();
    let (status, text) = run(&["--post", "p"]);
    assert!(status == 2 && text.contains("lock::missing-digest"), "{text}");

    // A post that is gone, or a folder in its place, is noticed.
    std::fs::write(&lock, &recorded).unwrap();
    std::fs::remove_file(&post).unwrap();
    assert_eq!(run(&["--post", "all", "--locked"]).0, 2);
    std::fs::create_dir(&post).unwrap();
    assert_eq!(run(&["--post", "all", "--locked"]).0, 2);
}

/// Real posts in the language, judged on the bundles of the repository.
fn real(id: &str) -> (tempfile::TempDir, PostPage, BundleStore<'static>, TextsAtHand) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temporary = project("", None);
    let folder = temporary.path().join("repro");
    std::fs::remove_file(folder.join("p.toml")).unwrap();
    let file = format!("{id}.toml");
    let own = here.join("repro").join(&file);
    let post = own;
    std::fs::copy(post, folder.join(&file)).unwrap();
    let text = here.join("repro").join(format!("{id}.md"));
    if text.is_file() {
        std::fs::copy(text, folder.join(format!("{id}.md"))).unwrap();
    }
    let page = PostPage::load(temporary.path(), id).unwrap();
    let mut store = BundleStore::new(1, &[]);
    store.fetch(temporary.path(), &page, None).unwrap();
    let texts = GivenTexts::default().of(&page, temporary.path()).unwrap();
    (temporary, page, store, texts)
}

#[test]
fn real_posts_come_to_these_verdicts() {
    for id in ["0002", "0003", "0004", "tiny-moe", "tiny-dense-vs-sparse", "moe-equal-resource"] {
        let (_project, page, store, texts) = real(id);
        let judged = judge(&page, &store.library, &texts, 2);
        assert!(judged.failures.is_empty(), "{:?}", judged.failures);
        let lines = judged.post.claims.iter().map(|claim| {
            let code = claim.outcome.code.map_or("", |code| code.id);
            let method = claim.outcome.method.map_or("none", |method| method.word());
            let verdict = claim.outcome.verdict.word();
            format!("{verdict:<12} {method:<10} {:<50} {} {code}", claim.id, claim.said)
                .trim_end()
                .to_owned()
        });
        let lines: Vec<_> = lines.collect();
        insta::assert_snapshot!(format!("language_{id}"), lines.join("\n"));
    }
}

#[test]
fn no_recomputed_claim_holds_with_another_first_digit() {
    for id in ["0003", "0004", "tiny-moe", "tiny-dense-vs-sparse", "moe-equal-resource"] {
        let (_project, page, store, texts) = real(id);
        let all = changed(&page, &store.library, &texts, Digit::First).unwrap();
        let held = all.iter().filter(|one| one.verdict == Verdict::Verified);
        let (refuted, others): (Vec<_>, Vec<_>) =
            held.partition(|one| one.detection == Detection::Refuted);
        assert!(refuted.len() > 40, "{id}: {}", refuted.len());
        let missed: Vec<_> =
            others.iter().filter(|one| one.detection == Detection::Missed).collect();
        assert!(missed.is_empty(), "{id}: {missed:?}");
    }
}

#[test]
fn a_relation_that_holds_whatever_the_evidence_is_says_nothing() {
    let nothing = ["unchecked value::no-evidence"];
    for says in [
        "1 < 2",
        "arm.moe.loss = arm.moe.loss",
        "january.loss / january.loss = 1",
        "printed(d10.bpb) = printed(d10.bpb)",
        "printed(d10.bpb) < printed(d10.bpb) + 1",
        "held_fixed([d10.bpb, d10.bpb])",
        "nearly_fixed(active(it), over = [moe64, moe64])",
    ] {
        let found = sentence("our model is the best", &format!("says = '{says}'"));
        assert!(found == nothing || found[0].starts_with("inconclusive"), "{says}: {found:?}");
    }
    for says in [
        "total(moe64) > active(moe64)",
        "total(moe64) > 1000",
        "held_fixed([dense.inter_dim, ffn_width(moe64)])",
        "printed(d12.bpb) < printed(d10.bpb)",
    ] {
        assert_eq!(sentence("one is lower", &format!("says = '{says}'")), ["verified"], "{says}");
    }
}

#[test]
fn random_changes_of_real_posts_are_noticed() {
    for id in ["0003", "0004", "fairness", "moe-equal-resource", "tiny-dense-vs-sparse", "tiny-moe"]
    {
        let (_project, page, store, texts) = real(id);
        let found = mutants::random(&page, &store.library, &texts, 120, 7).unwrap();
        for kind in [MutationKind::FirstDigit, MutationKind::Rows] {
            let Some(tally) = found.tallies.get(&kind) else { continue };
            assert_eq!(tally.count(Detection::Missed), 0, "{id}: {:?}", found.missed);
        }
        let tried: usize = found.tallies.values().map(DetectionTally::tried).sum();
        assert!(tried > 40, "{id}: {tried}");
        // What is left are numbers that stay within their rounding.
        assert!(found.missed.len() * 25 <= tried, "{id}: {:?}", found.missed);
    }
}

#[test]
fn every_rule_that_a_verdict_names_is_explained() {
    for id in ["0002", "0003", "0004", "tiny-moe", "tiny-dense-vs-sparse", "moe-equal-resource"] {
        let (_project, page, store, texts) = real(id);
        for claim in judge(&page, &store.library, &texts, 2).post.claims {
            let rule = claim.outcome.rule;
            assert!(rule.is_empty() || rules::find(rule).is_some(), "{id}/{}: {rule}", claim.id);
        }
    }
}

#[test]
fn comparisons_that_depart_from_the_plan_are_open() {
    let p = |what: &str| sentence("p = 0.057", &format!("is = \"{what}\"")).remove(0);
    assert_eq!(p("p(arm.dense.loss, arm.moe.loss)"), "verified");
    assert_eq!(p("p(arm.dense.loss, back.loss)"), "verified", "pairs are put in order");
    assert_eq!(p("p(some.loss, three.loss)"), "inconclusive test::departs-from-plan");
    let says = |what: &str| sentence("it is better", &format!("says = \"{what}\"")).remove(0);
    assert_eq!(says("some.loss < three.loss"), "inconclusive test::departs-from-plan");
    // A step before the plan's last is part of the fact; no family of the plan has the test.
    let early = "arm.moe.loss @ 242 < arm.dense.loss @ 242";
    assert_eq!(says(early), "inconclusive order::unlisted-family");
    // Runs of two budgets are no repetitions of one.
    let mixed = "inconclusive test::not-repetitions";
    assert_eq!(says("mixed.loss < arm.total.loss"), mixed);
    // How one arm changes is no comparison of the plan.
    assert_eq!(says("arm.moe.loss < arm.moe.loss @ 242"), "verified");
    // Blocks of one run's text are no further runs, and any number is no p.
    assert_eq!(says("p(one.blocks) < 0.05"), "expression::wrong-arguments");
    assert_eq!(says("significant(one.config.lr)"), "expression::wrong-arguments");
}

#[test]
fn a_family_is_the_one_that_the_plan_names() {
    let quote = "it is better";
    let says = |what: &str| {
        let project = project("", Some(quote));
        let of_study = Path::new(env!("CARGO_MANIFEST_DIR")).join("repro/tiny-moe.toml");
        let of_study = std::fs::read_to_string(of_study).unwrap();
        let (head, _) = of_study.split_once("[formulas]").unwrap();
        let head = head.replace("id = \"tiny-moe\"", "id = \"p\"").replace("tiny-moe.md", "p.md");
        let post = format!("{head}[[sentence]]\nquote = '{quote}'\nsays = \"{what}\"\n");
        std::fs::write(project.path().join("repro/p.toml"), post).unwrap();
        let report = verify(project.path(), &["p".to_owned()], &Demands::default(), 1);
        verdicts(&report).remove(0)
    };
    let (own, other) =
        ("p(dense.total12.loss, moe.total12.loss)", "p(total.total12.loss, moe.total12.loss)");
    let open = "inconclusive test::departs-from-plan";
    // 0.044 alone, 0.088 among its two; a p of something else makes no family.
    let at_step = "p(moe.total12.loss @ 386, moe.total12.loss)";
    for family in
        ["".to_owned(), format!(", family = [{own}]"), format!(", family = [{own}, {at_step}]")]
    {
        assert_eq!(says(&format!("significant({own}{family})")), open, "{family}");
        assert_eq!(says(&format!("not significant({own}{family})")), open, "{family}");
    }
    let family = format!("family = [{own}, {other}]");
    assert_eq!(
        says(&format!("significant({own}, {family})")),
        "refuted significant::not-significant"
    );
    assert_eq!(says(&format!("not significant({own}, {family})")), "verified");
    assert_eq!(
        says("moe.total12.loss < dense.total12.loss"),
        "inconclusive order::unlisted-family"
    );
    // What is not significant alone is so in no family.
    assert_eq!(says(&format!("significant({other})")), "refuted significant::not-significant");
    // Arms of two budgets.
    assert_eq!(says("moe.total12.loss < total.active12.loss"), open);
}

#[test]
fn the_sentence_around_a_quote_is_told() {
    let post = "[[sentence]]\nquote = 'the loss is 1.70981'\nis = 'one.loss'\n";
    let around = |text: &str| report(post, Some(text)).posts[0].claims[0].around.clone();
    assert_eq!(
        around("It ran. Dense: the loss is 1.70981, so far."),
        "Dense: the loss is 1.70981, so far."
    );
    assert_eq!(around("First.\n\nthe loss is 1.70981.\n"), "");
}

#[test]
fn runs_are_not_counted_twice() {
    let of = |quote: &str, what: &str| sentence(quote, &format!("is = \"{what}\"")).remove(0);
    assert_eq!(of("12 runs", "count(arm.moe) + count(arm.dense)"), "verified");
    assert_eq!(of("9 runs", "count(arm.moe) + count(three)"), "expression::not-computable");
    // The losses themselves are no differences, whose mean may be zero.
    let says = |what: &str| sentence("the gap is so", &format!("says = \"{what}\"")).remove(0);
    assert_eq!(says("significant(p(arm.moe.loss))"), "expression::wrong-arguments");
    assert_eq!(says("significant(p(arm.moe.loss @ 242 - arm.moe.loss))"), "verified");
    // Differences have a noise of their own, and an order against a number.
    assert_eq!(says("arm.moe.loss @ 242 - arm.moe.loss > 0.3"), "verified");
    assert_eq!(says("0.5 < arm.moe.loss @ 242 - arm.moe.loss"), "refuted order::wrong-way");
    assert_eq!(says("arm.dense.loss - arm.moe.loss > 0"), "inconclusive order::within-noise");
    assert_eq!(says("arm.moe.loss > 0.3"), "inconclusive order::summary-comparison");
}

#[test]
fn a_relation_depends_on_its_number() {
    let says = |quote: &str, what: &str| sentence(quote, &format!("says = \"{what}\"")).remove(0);
    for what in [
        "quoted(1) != one.loss",
        "not quoted(1) = one.loss",
        "quoted(1) = quoted(1) * one.receipt.data.epochs",
        "how_many(arm.moe.loss = quoted(1)) = 0",
    ] {
        assert_eq!(says("a loss of 1.2300", what), "unchecked value::no-evidence", "{what}");
    }
    assert_eq!(says("a loss of 1.70981", "quoted(1) = one.loss"), "verified");
    assert_eq!(says("reaches the target of 1.75", "reached(one.loss, quoted(1))"), "verified");
    // What a relation takes is bound by it, and the others are bound in their order.
    let both = "is = 'count(arm.moe)'\nsays = 'max(arm.moe.loss) < quoted(2)'";
    let found = sentence("All six seeds end below the limit of 1.75 nats", both);
    assert_eq!(found, ["verified", "verified"]);
}

#[test]
fn digits_of_a_name_are_no_numbers() {
    let is = |quote: &str| sentence(quote, "is = 'one.config.arithmetic'").remove(0);
    assert_eq!(is("`portable-f32/1`"), "verified");
    assert_eq!(is("The runs used `portable-f32/1` arithmetic."), "verified");
    assert_eq!(is("`portable-f32/2`"), "refuted value::different-words");
    assert_eq!(is("the portable-f32/1 of Muon"), "verified");
}

#[test]
fn cells_say_yes_or_no() {
    let cell = |cell: &str| {
        let post = "[[table]]\nhead = '| arm | mixture |'\n[table.rows]\ndense = \"dense\"\n\
                    [table.says]\nmixture = \"total(it) > active(it)\"\n";
        judged(post, &format!("| arm | mixture |\n|---|---|\n| dense | {cell} |\n")).remove(0)
    };
    for no in ["false", "No", "✗", "❌", "**no**", "never"] {
        assert_eq!(cell(no), "verified", "{no}");
    }
    assert_eq!(cell("✓"), "refuted order::wrong-way");
    assert_eq!(cell("not really"), "inconclusive sentence::unclear-cell");
    assert_eq!(cell("dense"), "inconclusive sentence::unclear-cell");
}

#[test]
fn numbers_in_words_are_told_where_nothing_binds_them() {
    let unbound = |quote: &str, what: &str| {
        let statements = format!("[[sentence]]\nquote = \"{quote}\"\n{what}\n");
        let project = project(&statements, Some(quote));
        let page = PostPage::load(project.path(), "p").unwrap();
        let text = Source::new("p.md", quote.into()).unwrap();
        let found = covered(&page, &page.texts[0], &text).unwrap();
        let unbound = found.numbers.into_iter().filter(|number| number.is_unbound());
        unbound.map(|number| number.text).collect::<Vec<_>>()
    };
    let loss = "is = 'mean(arm.moe.loss)'";
    assert_eq!(unbound("It has half the loss: 1.7016", loss), ["half"]);
    assert_eq!(unbound("Ten seeds were run", "says = 'count(arm.moe) = 6'"), ["Ten"]);
    assert!(unbound("Six seeds were run", "says = 'count(arm.moe) = 6'").is_empty());
    let fixed = "says = 'held_fixed(active(it), over = [arm.dense, arm.moe, arm.total])'";
    assert!(unbound("It is the same in all three", fixed).is_empty());
    assert_eq!(unbound("It is the same in all four", fixed), ["four"]);
}

#[test]
fn roots_are_powers() {
    let of = |what: &str| sentence("it is 573.8", &format!("is = \"{what}\"")).remove(0);
    assert_eq!(of("total(one) ^ (1 / 2)"), "verified");
    assert_eq!(of("total(one) ^ 0.51"), "refuted value::differs");
}

#[test]
fn a_name_in_a_sentence_is_borne_out_or_open() {
    let of = |quote: &str, what: &str| sentence(quote, &format!("is = \"{what}\"")).remove(0);
    for (quote, what, expected) in [
        ("trained in float32", "one.config.dtype", "verified"),
        ("trained in fp32", "one.config.dtype", "verified"),
        ("bfloat16", "one.config.dtype", "refuted value::different-words"),
        ("trained in bfloat16", "one.config.dtype", "inconclusive value::different-words"),
        ("a softmax gate", "one.config.gate", "verified"),
        ("The run began on 2026-01-09", "started", "verified"),
        ("The run began on 9 January 2026", "started", "verified"),
        ("The run began on January 12, 2026", "started", "refuted value::different-words"),
    ] {
        assert_eq!(of(quote, what), expected, "{quote}");
    }
}

#[test]
fn what_hides_behind_a_name_is_refused_or_told() {
    let with = |formulas: &str, statement: &str| {
        let project = project(statement, Some("the loss is 1.25"));
        let file = project.path().join("repro/p.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("[formulas]\n", &format!("[formulas]\n{formulas}\n"));
        std::fs::write(&file, text).unwrap();
        verify(project.path(), &["p".to_owned()], &Demands::default(), 1)
    };
    let is = "[[sentence]]\nquote = 'the loss is 1.25'\nis = 'mine(arm.moe)'\n";
    let code = |report: &Report| match report.posts.first() {
        Some(post) => post.claims[0].outcome.code.map_or("verified", |code| code.id),
        None => report.failures[0].code.id,
    };
    let itself = with("\"mine(g)\" = \"mean(g.loss) * quoted(1) / 1.7016\"", is);
    assert_eq!(code(&itself), "value::no-evidence");
    let shadow = with("\"p(a, b)\" = \"a - b\"\n\"mine(g)\" = \"mean(g.loss)\"", is);
    assert_eq!(code(&shadow), "expression::shadows");
    // A factor is seen in the report.
    let factor = with("\"mine(g)\" = \"mean(g.loss) * 0.7346\"", is);
    assert_eq!(code(&factor), "verified");
    assert_eq!(factor.posts[0].claims[0].own_numbers, ["0.7346"]);
    let told = &factor.posts[0].definitions;
    assert!(told.iter().any(|one| one.name == "mine(g)" && one.meaning.contains("0.7346")));
    let named = with("fudge = \"0.7346\"\n\"mine(g)\" = \"mean(g.loss) * fudge\"", is);
    for report in [&factor, &named] {
        let claim = &report.posts[0].claims[0];
        assert_eq!(claim.own_numbers, ["0.7346"]);
        let lints: Vec<_> = claim.meaning.lints.iter().map(|one| one.message.as_str()).collect();
        let lint = "the value is derived from 0.7346, which the text does not contain";
        assert!(lints.contains(&lint), "{lints:?}");
    }
}

#[test]
fn what_changes_nothing_derives_nothing() {
    let method = |is: &str| {
        let quote = "the width is 64";
        let statement = format!("[[sentence]]\nquote = '{quote}'\nis = '{is}'\n");
        let report = report(&statement, Some(quote));
        let claim = &report.posts[0].claims[0];
        assert!(claim.outcome.is_verified(), "{is}: {report:#?}");
        claim.outcome.method
    };
    let own = method("one.config.hidden_size");
    assert_eq!(own, Some(Method::Compared));
    for same in [
        "one.config.hidden_size * 1",
        "1 * one.config.hidden_size",
        "one.config.hidden_size + 0",
        "one.config.hidden_size / 1",
    ] {
        assert_eq!(method(same), own, "{same}");
    }
    assert_eq!(method("one.config.hidden_size * 2 / 2"), Some(Method::Recomputed));
}

#[test]
fn what_single_runs_contradict_is_not_shown_by_its_opposite() {
    let says = |what: &str| sentence("it is so", &format!("says = \"{what}\"")).remove(0);
    for what in [
        "not bf16.moe64.core > bf16.dense.core",
        "bf16.moe64.core = min(bf16.moe64.core, bf16.dense.core)",
        "reached(bf16.moe64.core, bf16.dense.core)",
    ] {
        assert!(says(what).starts_with("inconclusive order::"), "{what}: {}", says(what));
    }
}

/// The code of the one failure of a post, and what it expected and found.
fn refusal(statements: &str, text: Option<&str>) -> Option<(&'static str, String, String)> {
    let report = report(statements, text);
    let error = report.failures.first()?;
    assert!(!error.place.file.is_empty() && !error.help.is_empty(), "{error}");
    Some((error.code.id, error.expected.clone(), error.found.clone()))
}

fn code_of(statements: &str, text: Option<&str>) -> Option<&'static str> {
    refusal(statements, text).map(|(code, ..)| code)
}

#[test]
fn texts_and_quotes_have_a_greatest_length() {
    let statement = |quote: &str| format!("[[sentence]]\nquote = '{quote}'\nis = 'dense.steps'\n");
    let quote = |length: usize| format!("{} 12", "a".repeat(length - 3));
    assert_eq!(code_of(&statement(&quote(MOST_QUOTED)), Some(&quote(MOST_QUOTED))), None);
    let long = quote(MOST_QUOTED + 1);
    assert_eq!(code_of(&statement(&long), Some(&long)), Some("post::long-quote"));

    let text = |length: usize| format!("12 layers{}", " ".repeat(length - 9));
    let of_length = |length: usize| refusal(&statement("12 layers"), Some(&text(length)));
    assert_eq!(of_length(MOST_BYTES), None);
    let (code, expected, found) = of_length(MOST_BYTES + 1).unwrap();
    assert_eq!(code, "post::too-long");
    assert_eq!((expected, found), ("at most 1048576 bytes".into(), "1048577 bytes".into()));

    let numbers = |count: usize| format!("12 layers{}", " 7".repeat(count - 1));
    let of_numbers = |count: usize| code_of(&statement("12 layers"), Some(&numbers(count)));
    assert_eq!(of_numbers(MOST_NUMBERS), None);
    assert_eq!(of_numbers(MOST_NUMBERS + 1), Some("post::too-long"));
}

#[test]
fn names_stand_for_so_many_bundles() {
    // Bundles that are not there are told after they were counted.
    let names = |last: usize| format!("[names]\nx = 'a-{{1..{last}}}'\ny = 'b-{{1..5000}}'\n");
    let post = |last: usize| {
        let head = "schema = 'repro.post/2'\nid = 'p'\ntitle = 'A post'\ntext = 'p.md'\n";
        let source = Source::new("repro/p.toml", format!("{head}{}", names(last)).into()).unwrap();
        PostPage::parse(Document::parse_toml(source).unwrap()).map_err(|error| error.code.id)
    };
    assert!(post(5000).is_ok());
    assert_eq!(post(5001).err(), Some("post::many-bundles"));
}

#[test]
fn formulas_end_whatever_they_use() {
    let chain = |links: usize, signs: usize| {
        let more = " + 1".repeat(signs);
        let each = (1..links).map(|n| format!("'a{n}(x)' = 'a{}(x){more}'\n", n - 1));
        let formulas: String = each.collect();
        let last = links - 1;
        format!(
            "'a0(x)' = 'x'\n{formulas}\n[[sentence]]\nquote = '12 layers'\nis = 'a{last}(dense.steps)'\n"
        )
    };
    let text = Some("12 layers");
    // The call, the signs, and the call and the name within them; then the value that is given.
    assert_eq!(code_of(&chain(3, 60), text), None);
    assert_eq!(code_of(&chain(3, 70), text), Some("expression::too-deep"));
}

#[test]
fn all_work_for_a_post_is_counted() {
    // One claim that asks for too much is told for the whole post: no other is judged.
    let drawn = |resamples: usize| {
        let numbers = vec!["dense.steps"; 100].join(", ");
        let is = format!("bootstrap95([{numbers}], resamples = {resamples})");
        format!(
            "[[sentence]]\nquote = '12 layers'\nis = 'dense.steps'\n[[sentence]]\nquote = 'of 12 to 12'\nis = '{is}'\n"
        )
    };
    let text = Some("12 layers, of 12 to 12");
    assert_ne!(code_of(&drawn(10_000), text), Some("post::too-much-work"));
    let report = report(&drawn(60_000_000), text);
    let failure = &report.failures[0];
    assert_eq!(
        (failure.code.id, failure.expected.as_str()),
        ("post::too-much-work", "at most 10 million steps")
    );
    assert!(report.posts[0].claims.is_empty());
}
