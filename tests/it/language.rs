//! Posts in the language of claims: what each kind of statement comes to, and what cheats come to.

use std::path::Path;

use repro_judge::covered::covered;
use repro_judge::mutated::changed;
use repro_judge::mutation::Digit;
use repro_judge::page::PostPage;
use repro_judge::post_file::PostFile;
use repro_judge::texts::{GivenTexts, TextsAtHand};
use repro_judge::verify::{BundleStore, Demands, judge_page, verify};
use repro_receipt::source::Source;
use repro_report::outcome::{Report, Verdict};

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
arm.dense = "tiny-moe-dense_active-active12-s{1..6}"
arm.moe   = "tiny-moe-moe-active12-s{1..6}"
arm.total = "tiny-moe-dense_total-active12-s{1..6}"
one       = "tiny-moe-moe-active12-s1"
three     = "tiny-moe-moe-active12-s{1..3}"
swapped   = "tiny-moe-dense_active-active12-{s2,s1,s3}"
twice     = "tiny-moe-moe-active12-{s1,s2,s1}"
cloze     = "tiny-moe-moe-active12-s1:data/evaluation/step-001209.tasks.csv#0"
june2024  = "nmoe-0003#june2024.run"

[formulas]
planned = "dense.steps * contract.tokens-per-step"
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
fn project(statements: &str, text: Option<&str>) -> tempfile::TempDir {
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

fn report(statements: &str, text: Option<&str>) -> Report {
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
fn verdicts(report: &Report) -> Vec<String> {
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
    assert_eq!(
        over_seeds("1.7016 ± 0.0134 over five seeds")[2],
        "inconclusive value::two-readings"
    );
    assert_eq!(over_seeds("1.7016 over six seeds"), ["sentence::other-count"]);
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
    assert_eq!(judged(post, "It ran steps: 9537."), ["unchecked sentence::not-there"]);
    let gone = report(post, None);
    assert_eq!(gone.failures[0].code.id, "text::missing");
    assert_eq!(gone.posts.len(), 0);
    // What a page runs together is parted by bars.
    let parted = "[[sentence]]\nquote = \"Dense | 190,532,352 | 190,532,352\"\nis = [\"total(dense)\", \"active(dense)\"]\n";
    assert_eq!(judged(parted, "ModelDense190,532,352190,532,352"), ["verified"; 2]);
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

#[test]
fn settings_are_exact_and_measured_prints_are_rounded() {
    let says = |quote: &str, what: &str| sentence(quote, &format!("is = \"{what}\"")).remove(0);
    assert_eq!(says("weight decay 0.1", "dense.weight_decay"), "verified");
    assert_eq!(says("weight decay 0.14", "dense.weight_decay"), "refuted value::differs");
    assert_eq!(says("steps 9.5k", "dense.steps"), "inconclusive value::other-setting");
    assert_eq!(says("4.9996B tokens", "planned"), "verified");
    assert_eq!(says("4.9997B tokens", "planned"), "refuted value::differs");
    assert_eq!(says("3072 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("3073 wide", "ffn_width(moe64)"), "refuted value::differs");
    // One meaning in all posts: within 5%, and far off it is wrong.
    assert_eq!(says("about 3000 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("about 2700 wide", "ffn_width(moe64)"), "inconclusive value::straddles");
    assert_eq!(says("about 1000 wide", "ffn_width(moe64)"), "refuted value::differs");
    assert_eq!(says("at least 3000 wide", "ffn_width(moe64)"), "verified");
    assert_eq!(says("fewer than 3000", "ffn_width(moe64)"), "refuted value::differs");
}

#[test]
fn what_follows_from_no_other_evidence_is_unchecked() {
    let single = "unchecked value::single-source";
    let nothing = "unchecked value::no-evidence";
    let quote = "1.40";
    let place = "place = \"section 1, table, row d10, bpb\"\n";
    let text = "[texts.post-0004]\nwhat = \"the post\"\nfile = \"p.md\"\n";
    let of = |expression: &str| {
        let post = format!(
            "{text}\n[[sentence]]\ntext = \"post-0004\"\n{place}quote = \"{quote}\"\nis = \"{expression}\"\n"
        );
        judged(&post, quote).remove(0)
    };
    assert_eq!(of("d10.bpb"), single);
    assert_eq!(of("mean([d10.bpb])"), single);
    assert_eq!(of("d10.bpb * (d12.bpb / d12.bpb)"), single);
    assert_eq!(of("1.4"), nothing);
    assert_eq!(of("d12.bpb / d12.bpb + 0.4"), nothing);
    // Another place in words does not make another document of it.
    let respelled = format!(
        "{text}\n[[sentence]]\ntext = \"post-0004\"\nplace = \"table 1, d10, bits\"\nquote = \"{quote}\"\nis = \"d10.bpb\"\n"
    );
    assert_eq!(judged(&respelled, quote), [single]);
}

#[test]
fn an_order_between_runs_is_judged_with_its_noise() {
    let says = |what: &str| sentence("it is so", &format!("says = \"{what}\"")).remove(0);
    let noise = "inconclusive order::within-noise";
    assert_eq!(says("arm.moe.loss < arm.dense.loss"), noise);
    assert_eq!(says("arm.moe.loss @ 242 < arm.dense.loss @ 1209"), "refuted order::wrong-way");
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
    assert_eq!(says("significant(p(arm.dense.loss, arm.moe.loss))"), "refuted significant::not");
    assert_eq!(says("not significant(p(arm.dense.loss, arm.moe.loss))"), "verified");
    assert_eq!(
        says("equivalent(arm.dense.loss, arm.moe.loss, 0.01)"),
        "inconclusive equivalent::open"
    );
    assert_eq!(says("equivalent(arm.dense.loss, arm.moe.loss, 0.1)"), "verified");
}

#[test]
fn without_a_plan_nothing_is_paired() {
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
    assert_eq!(of(""), "refuted 0.04539999576 = p by Welch's t test");
    // The plan of another study says nothing of these runs.
    assert_eq!(of("plan = \"fairness\""), of(""));
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
    let only = "inconclusive possible::only";
    assert_eq!(says("a share of 0.257", "possible(quoted(1), 1 / 4, 1 / 2)"), only);
    assert_eq!(says("a share of 0.457", "possible(quoted(1), 1 / 4, 1 / 2)"), only);
    let outside = "refuted possible::outside";
    assert_eq!(says("a share of 0.557", "possible(quoted(1), 1 / 4, 1 / 2)"), outside);
    assert_eq!(says("right in 13.34%", "grim(quoted(1), 1319)"), only);
    assert_eq!(says("right in 13.3%", "grim(quoted(1), 30)"), only);
    assert_eq!(says("right in 13.5%", "grim(quoted(1), 30)"), "refuted grim::no-such-count");
    let grid = |quote: &str| says(quote, "on_grid(quoted(1), dense.validation_every, dense.steps)");
    assert_eq!(grid("stopped at step 8320"), only);
    assert_eq!(grid("stopped at step 9536"), only);
    assert_eq!(grid("stopped at step 8321"), "refuted on_grid::off");
    assert_eq!(grid("stopped at step 9600"), "refuted on_grid::off");
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
    assert_eq!(is("0.0201", &format!("mean({slopes})")), "refuted value::differs");
}

#[test]
fn groups_know_their_runs() {
    let is = |what: &str| sentence("it is 1.70", &format!("is = \"{what}\"")).remove(0);
    assert_eq!(is("mean(twice.loss)"), "group::repeated-run");
    assert_eq!(is("mean(three.loss - swapped.loss)"), "expression::not-paired");
    assert_eq!(is("mean(three.loss)"), "verified");
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
    assert_eq!(sentence("it grew dramatically", vague), ["inconclusive sentence::no-meaning"]);
    assert_eq!(sentence("it grew", vague), ["verified"]);
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
    let PostFile::Language(page) = PostFile::load(project.path(), "p").unwrap() else {
        panic!("a post in the language")
    };
    let text = Source::new("p.md", text.into()).unwrap();
    let found = covered(&page, &page.texts[0], &text);
    let unbound: Vec<_> = found
        .numbers
        .iter()
        .filter(|number| number.is_unbound())
        .map(|number| &number.text)
        .collect();
    // The number of active parameters is bound by nothing; the page runs it into the other.
    assert_eq!(unbound, ["17", "592191"]);
    assert_eq!((found.counts(), found.misplaced.len()), ((2, 2, 2), 0));
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
                "{} `{marked}`: expected {}, found {}",
                error.code.id, error.expected, error.found
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
    ]
    .iter()
    .map(|what| format!("{what}\n    {}", errors(what)))
    .collect();
    insta::assert_snapshot!(all.join("\n"));
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
        "\"steps-9536\" = [\"verified transcribed compared\", \"9536\", \"dense.steps\"]"
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
    assert!(status == 2 && text.contains("lock::unpinned"), "{text}");

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
    let PostFile::Language(page) = PostFile::load(temporary.path(), id).unwrap() else {
        panic!("{id} is written in claims by kind")
    };
    let mut store = BundleStore::new(1, &[]);
    store.fetch_page(temporary.path(), &page, None).unwrap();
    let texts = GivenTexts::default().of(&page, temporary.path()).unwrap();
    (temporary, page, store, texts)
}

#[test]
fn real_posts_come_to_these_verdicts() {
    for id in ["0004", "tiny-moe"] {
        let (_project, page, store, texts) = real(id);
        let judged = judge_page(&page, &store.library, &texts, 2);
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
    for id in ["0004", "tiny-moe"] {
        let (_project, page, store, texts) = real(id);
        let all = changed(&page, &store.library, &texts, Digit::First).unwrap();
        let held = all.iter().filter(|one| one.verdict == Verdict::Verified);
        let (noticed, missed): (Vec<_>, Vec<_>) = held.partition(|one| one.is_noticed);
        assert!(noticed.len() > 50, "{id}: {}", noticed.len());
        assert!(missed.is_empty(), "{id}: {missed:?}");
    }
}
