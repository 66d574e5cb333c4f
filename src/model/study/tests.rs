use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::contract;
use repro_bundle::bundle::{Contract, DeclaredModel};
use repro_core::source::{Document, Error, Source};

/// A small study; `more` comes before its list of runs.
fn text(more: &str, runs: &str) -> String {
    format!(
        r#"
schema = "repro.study/1"
id = "small"
title = "A small study"
questions = ["Which is better?"]
seeds = [1, 2]
[analysis]
metric = "validation loss"
alpha = 0.05
tests = ["paired t"]
families = []
exclusion = "none"
[data]
name = "invented"
source = "language"
bytes = 1_000
[reuse]
form = "fresh"
[model]
vocab_size = 256
hidden_size = 32
num_hidden_layers = 2
num_attention_heads = 4
num_key_value_heads = 2
tie_word_embeddings = false
norm_eps = 1e-5
rope_theta = 10_000
[mixture]
gate = "softmax"
norm_topk_prob = true
balancing = "loss"
aux_loss_alpha = 0.01
[[arm]]
id = "dense"
what = "dense"
match = {{ mode = "active", target = "moe" }}
[[arm]]
id = "moe"
what = "mixture"
[arm.model]
num_experts = 4
num_experts_per_tok = 2
moe_intermediate_size = 48
[[budget]]
id = "short"
horizon = "active_dn"
coefficient = 20
of = "moe"
[recipe]
batch_size = 4
seq_len = 16
schedule = "wsd"
warmup_steps = 10
decay_fraction = 0.2
decay_floor = 0.1
weight_decay = 0.1
adam_beta1 = 0.9
adam_beta2 = 0.95
adam_eps = 1e-8
grad_clip = 1.0
log_every = 10
[tuning]
rates = [1e-3, 2e-3, 4e-3, 8e-3]
seed = 9
budget = "short"
fraction = 0.1
split = "development"
rule = "best_interior"
shared = {{ rule = "lowest_mean", seeds = [2], budgets = ["short"] }}
[checkpoints]
fractions = [0.5, 0.8, 1.0]
slice_steps = 20
kept = {{ seeds = [1], budgets = ["short"], fractions = [0.8] }}
[evaluation]
block_bytes = 16_384
[tasks]
items = 3
{more}
[runs]
{runs}
"#
    )
}

const RUNS: &str = r#"
planned = [
  "small-dense-tune-1e-3", "small-dense-tune-2e-3", "small-dense-tune-4e-3", "small-dense-tune-8e-3",
  "small-moe-tune-1e-3", "small-moe-tune-2e-3", "small-moe-tune-4e-3", "small-moe-tune-8e-3",
  "small-dense-short-s1", "small-moe-short-s1", "small-dense-short-s2", "small-moe-short-s2",
]
if_rates_differ = ["small-dense-short-s2-shared", "small-moe-short-s2-shared"]
"#;

fn parse(text: &str) -> Result<Study, Error> {
    let source = Source::new("repro/studies/small.toml", text.as_bytes().to_vec()).unwrap();
    Study::parse(Document::parse_toml(source).unwrap())
}

fn study() -> Study {
    parse(&text("", RUNS)).unwrap()
}

/// The error for the small study with `from` replaced.
fn refused(from: &str, to: &str) -> Error {
    let whole = text("", RUNS);
    assert!(whole.contains(from), "{from}");
    parse(&whole.replacen(from, to, 1)).unwrap_err()
}

/// Results in which each arm's loss is lowest at the rate of this position.
fn results<'a>(study: &'a Study, best: &[(&str, usize)]) -> Vec<Tuned<'a>> {
    let tuning: Vec<_> = study.tuning_runs().collect();
    let one = |(at, run): (usize, &&'a PlannedRun)| {
        let (_, best) = best.iter().find(|(arm, _)| *arm == run.arm).unwrap();
        let loss = 2.0 + ((at % 4) as f64 - *best as f64).abs();
        Tuned { arm: run.arm.as_str(), rate: run.rate.unwrap(), loss: Some(loss) }
    };
    tuning.iter().enumerate().map(one).collect()
}

fn named<'a>(runs: &'a [PlannedRun], id: &str) -> &'a PlannedRun {
    runs.iter().find(|run| run.id == id).unwrap()
}

#[test]
fn the_studies_of_the_repository_are_read() {
    for id in ["tiny-moe", "fairness"] {
        let study = Study::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), id);
        assert!(study.is_ok(), "{}", study.unwrap_err());
    }
}

#[test]
fn the_width_that_matches_is_solved_in_steps_of_one() {
    let study = study();
    let [dense, moe] = study.arms.as_slice() else { panic!() };
    // A layer of the mixture touches 2 experts of 3·32·48 and a router of 4·32; a dense one of width I
    // has 3·32·I, so I = 96 + 128/96 = 97.33.
    assert_eq!(dense.number("intermediate_size"), Some(97));
    let gap = moe.objects.active() - dense.objects.active();
    assert_eq!(gap, 2 * (128 - 96));
    let mismatch = gap as f64 / moe.objects.active() as f64;
    assert_eq!(dense.matched.mismatch, Some(mismatch));
    assert_eq!(dense.matched.target.as_deref(), Some("moe"));
    assert_eq!((moe.matched.mode.word(), moe.matched.mismatch), ("none", None));
}

#[test]
fn a_total_match_and_a_model_width_meet_their_objects() {
    for (rule, field) in [
        (r#"{ mode = "total", target = "moe" }"#, "intermediate_size"),
        (r#"{ mode = "model_width", object = "total", target = "moe" }"#, "hidden_size"),
    ] {
        let rule = format!("match = {rule}");
        let stated =
            if field == "hidden_size" { "\nmodel = { intermediate_size = 97 }" } else { "" };
        let whole = text("", RUNS).replacen(
            r#"match = { mode = "active", target = "moe" }"#,
            &format!("{rule}{stated}"),
            1,
        );
        let study = parse(&whole).unwrap_or_else(|error| panic!("{error}"));
        let [dense, moe] = study.arms.as_slice() else { panic!() };
        let (own, target) = (dense.objects.total(), moe.objects.total());
        assert!(own.abs_diff(target) * 200 <= target, "{own} against {target}");
        let width = dense.number(field).unwrap();
        match field {
            "hidden_size" => {
                assert!(width > 32 && width % 8 == 0, "{width}");
                assert_eq!(dense.number("head_dim"), Some(width / 4));
            }
            _ => assert!((190..200).contains(&width), "{width}"),
        }
    }
}

#[test]
fn an_equal_active_width_is_held_and_not_solved() {
    let rule = r#"match = { mode = "active", target = "moe" }"#;
    let with = |width: u64| {
        let own = "match = { mode = \"active_ffn_width\", target = \"moe\" }";
        text("", RUNS).replacen(
            rule,
            &format!("{own}\nmodel = {{ intermediate_size = {width} }}"),
            1,
        )
    };
    assert_eq!(parse(&with(96)).unwrap().arms[0].matched.mismatch, Some(0.0));
    let error = parse(&with(90)).unwrap_err();
    assert_eq!(error.code.id, "study::unmatched-arm");
    assert_eq!(error.expected, "active FFN width within 0.5% of 96");
}

#[test]
fn what_cannot_be_matched_is_refused_with_the_nearest() {
    let error = refused("moe_intermediate_size = 48", "moe_intermediate_size = 0");
    assert_eq!(error.code.id, "params::impossible-shape");
    let error = refused(r#"target = "moe" }"#, r#"target = "dense" }"#);
    assert_eq!(error.code.id, "study::unmatched-arm");
    let error = refused(r#"target = "moe" }"#, r#"target = "mixture" }"#);
    assert_eq!(error.code.id, "study::unknown-name");
    let error = refused(
        "what = \"dense\"",
        "what = \"dense\"\nmodel = { num_experts = 4, num_experts_per_tok = 2, moe_intermediate_size = 8 }",
    );
    assert_eq!(
        (error.code.id, error.expected.as_str()),
        ("study::unmatched-arm", "a dense feed-forward block with a width that changes the count",)
    );
    let error = refused(
        r#"{ mode = "active", target = "moe" }"#,
        r#"{ mode = "active", target = "moe" }
model = { hidden_size = 256 }"#,
    );
    assert_eq!(error.code.id, "study::unmatched-arm");
    assert!(error.found.ends_with("at the nearest size"), "{}", error.found);
}

#[test]
fn the_grid_gives_every_run_its_whole_configuration() {
    let study = study();
    let run = named(study.runs(), "small-moe-short-s1");
    // 20 times the P_active of the mixture over 64 tokens a step, to the nearest step.
    let active = study.arms[1].objects.active();
    assert_eq!(run.steps, (20 * active + 32) / 64);
    let number = |field: &str| run.config[field].as_u64().unwrap();
    let decay = (run.steps + 2) / 5;
    assert_eq!(number("hold_tokens"), (run.steps - decay) * 64);
    assert_eq!(number("decay_tokens"), decay * 64);
    assert_eq!(run.config["checkpoints"].as_array().unwrap().last().unwrap(), run.steps);
    assert_eq!(run.config["kept_checkpoints"].as_array().unwrap().len(), 1);
    assert_eq!(run.config["slices"][1]["from_step"], run.config["kept_checkpoints"][0]);
    assert_eq!(
        named(study.runs(), "small-moe-short-s2").config["slices"].as_array().unwrap().len(),
        1
    );
    assert_eq!((number("seed_init"), number("seed_data")), (1, 1));
    assert_eq!(run.config["evaluation"]["split"], "validation");
    assert_eq!(run.config["data"]["bytes"], 1_000);
    assert_eq!(run.config.get("lr"), None);
    let Contract { tokens, tokens_per_step, matched, horizon, .. } = &run.contract;
    assert_eq!((*tokens, *tokens_per_step), (Some(run.steps * 64), Some(64)));
    assert_eq!((matched.as_deref(), horizon.as_deref()), (Some("none"), Some("active_dn")));
    let DeclaredModel { params_active, tensors, .. } = &run.model;
    assert_eq!(*params_active, Some(active));
    // Per layer 2 norms, 4 projections, a router and 4 experts of 3; embedding, last norm and head.
    assert_eq!(*tensors, Some(2 * (2 + 4 + 1 + 12) + 3));
    let tuning = named(study.runs(), "small-dense-tune-4e-3");
    assert_eq!((tuning.rate, tuning.seed), (Some(0.004), 9));
    assert_eq!(tuning.config["lr"], 0.004);
    assert_eq!(tuning.config["evaluation"]["split"], "development");
    assert_eq!(tuning.config.get("tasks"), None);
    assert_eq!(tuning.steps, (2 * active + 32) / 64);
    assert_eq!(tuning.contract.fraction, Some(0.1));
}

#[test]
fn configs_are_read_by_params_and_by_contracts() {
    let study = study();
    for run in study.runs() {
        let document = run.at(0.004).document().unwrap();
        let objects = crate::params::recompute(&document).unwrap();
        assert_eq!(Some(objects.total()), run.model.params_total);
        let read = contract::RunAtStep::of_document("config.json", &document).unwrap();
        assert_eq!((read.step, read.active), (Some(run.steps), run.model.params_active));
        let schedule = contract::Schedule::of_config(&document).unwrap();
        assert_eq!(schedule.phase(run.steps).word(), "at the end of the schedule");
        assert_eq!(schedule.phase(run.steps / 2).word(), "at the peak rate");
    }
}

#[test]
fn a_fraction_may_be_read_under_the_full_schedule() {
    let with = |schedule: &str| {
        let whole = text("", RUNS).replacen(
            "of = \"moe\"\n",
            &format!("of = \"moe\"\nfraction = 0.5\nschedule = \"{schedule}\"\n"),
            1,
        );
        let study = parse(&whole).unwrap();
        let run = named(study.runs(), "small-moe-short-s1");
        (run.steps, run.config["schedule_steps"].as_u64().unwrap())
    };
    let active = study().arms[1].objects.active();
    assert_eq!(with("own"), ((10 * active + 32) / 64, (10 * active + 32) / 64));
    assert_eq!(with("full"), ((10 * active + 32) / 64, (20 * active + 32) / 64));
}

#[test]
fn the_best_rate_lies_between_others_and_ties_go_to_the_lower() {
    let study = study();
    let rates = study.rates(&results(&study, &[("dense", 1), ("moe", 2)])).unwrap();
    assert_eq!((rates.best("dense"), rates.best("moe")), (Some(0.002), Some(0.004)));
    // The mean loss is 2.5 at both.
    assert_eq!(rates.shared(), 0.002);
    for edge in [0, 3] {
        let error = study.rates(&results(&study, &[("dense", 1), ("moe", edge)])).unwrap_err();
        assert_eq!(error.code.id, "study::rate-at-edge");
    }
    let mut diverged = results(&study, &[("dense", 1), ("moe", 3)]);
    diverged[7].loss = None;
    assert_eq!(study.rates(&diverged).unwrap().best("moe"), Some(0.004));
    diverged[7].loss = Some(f64::NAN);
    assert_eq!(study.rates(&diverged).unwrap().best("moe"), Some(0.004));
    let error = study.rates(&diverged[..7]).unwrap_err();
    assert_eq!(error.code.id, "study::no-tuning-result");
    for result in &mut diverged {
        result.loss = None;
    }
    assert_eq!(study.rates(&diverged).unwrap_err().code.id, "study::rate-at-edge");
}

#[test]
fn an_arm_whose_best_rate_is_shared_runs_once() {
    let study = study();
    let ids = |best: &[(&str, usize)]| {
        let rates = study.rates(&results(&study, best)).unwrap();
        let runs = study.final_runs(&rates);
        assert!(runs.iter().all(|run| run.config["lr"].as_f64() == run.rate));
        runs.into_iter().map(|run| (run.id, run.rate.unwrap())).collect::<Vec<_>>()
    };
    let once = ids(&[("dense", 1), ("moe", 1)]);
    assert_eq!(once.len(), 4);
    let twice = ids(&[("dense", 1), ("moe", 2)]);
    assert_eq!(twice.len(), 5);
    assert_eq!(twice[3], ("small-moe-short-s2".to_owned(), 0.004));
    assert_eq!(twice[4], ("small-moe-short-s2-shared".to_owned(), 0.002));
}

#[test]
fn a_stated_rate_needs_no_tuning() {
    let whole = text("", RUNS);
    let (start, end) = (whole.find("[tuning]").unwrap(), whole.find("[checkpoints]").unwrap());
    let untuned = format!("{}{}", &whole[..start], &whole[end..]);
    let error = parse(&untuned).unwrap_err();
    assert_eq!(error.code.id, "source::missing-field");
    let runs = r#"planned = ["small-dense-short-s1", "small-moe-short-s1", "small-dense-short-s2", "small-moe-short-s2"]"#;
    let untuned = untuned.replacen("log_every = 10", "log_every = 10\nlr = 0.004", 1);
    let list = untuned.find("planned").unwrap();
    let study = parse(&format!("{}{runs}", &untuned[..list])).unwrap();
    let rates = study.rates(&[]).unwrap();
    let finals = study.final_runs(&rates);
    assert_eq!((finals.len(), finals[0].rate), (4, Some(0.004)));
    assert_eq!(refused("log_every = 10", "log_every = 10\nlr = 0.004").code.id, "study::bad-value");
}

#[test]
fn a_list_that_is_not_the_grid_is_refused_with_the_right_one() {
    let error = refused("\"small-moe-short-s2\",", "\"small-moe-short-s3\",");
    assert_eq!(error.code.id, "study::run-list");
    assert_eq!(error.found, "without `small-moe-short-s2` and with `small-moe-short-s3`");
    assert!(error.help.contains("  \"small-moe-short-s2\",\n]\n"), "{}", error.help);
    let twice =
        refused("\"small-moe-short-s2\",", "\"small-moe-short-s2\", \"small-moe-short-s2\",");
    assert_eq!(twice.found, "one of them listed twice");
    // The list that is printed is accepted.
    let whole = text("", "planned = []\nif_rates_differ = []");
    let first = parse(&whole).unwrap_err();
    let printed = first.help.strip_prefix("the grid consists of\n").unwrap();
    let second = parse(&whole.replacen("planned = []", printed, 1)).unwrap_err();
    assert!(second.help.contains("if_rates_differ = ["), "{}", second.help);
}

#[test]
fn what_a_study_may_not_say() {
    for (from, to, code) in [
        ("repro.study/1", "repro.post/2", "study::wrong-schema"),
        ("id = \"small\"", "id = \"other\"", "study::wrong-name"),
        ("id = \"moe\"", "id = \"dense\"", "study::duplicate"),
        ("id = \"moe\"", "id = \"Moe\"", "study::bad-id"),
        ("seeds = [1, 2]", "seeds = []", "study::bad-value"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "study::duplicate"),
        ("seed = 9", "seed = 2", "study::bad-value"),
        ("rates = [1e-3, 2e-3, 4e-3, 8e-3]", "rates = [1e-3, 2e-3, 4e-3]", "study::bad-value"),
        (
            "rates = [1e-3, 2e-3, 4e-3, 8e-3]",
            "rates = [1e-3, 2e-3, 5e-3, 1e-2]",
            "study::bad-value",
        ),
        ("seeds = [2], budgets", "seeds = [3], budgets", "study::bad-value"),
        ("coefficient = 20", "coefficient = 0", "study::bad-value"),
        ("coefficient = 20", "coefficient = 1e-9", "study::bad-length"),
        ("coefficient = 20", "coefficient = 1e30", "study::bad-length"),
        ("coefficient = 20", "coefficient = 20\nfraction = 1.5", "study::bad-value"),
        ("horizon = \"active_dn\"", "horizon = \"compute\"", "study::bad-value"),
        ("of = \"moe\"", "of = \"other\"", "study::unknown-name"),
        ("warmup_steps = 10", "warmup_steps = 100_000", "study::bad-length"),
        ("batch_size = 4", "batch_size = 0", "study::bad-value"),
        ("fractions = [0.8] }", "fractions = [0.7] }", "study::bad-value"),
        ("block_bytes = 16_384", "split = \"validation\"", "study::bad-value"),
        ("form = \"fresh\"", "form = \"fresh\"\nmax_epochs = 2", "study::bad-value"),
        (
            "form = \"fresh\"",
            "form = \"strict\"\nunique_tokens = 9\nmax_epochs = 2",
            "study::bad-length",
        ),
        ("bytes = 1_000", "bytes = 0x10", "study::bad-value"),
        ("rope_theta = 10_000", "", "source::missing-field"),
        ("rope_theta = 10_000", "rope_theta = 10_000\nnum_experts = 4", "source::unknown-field"),
        ("hidden_size = 32", "hidden_size = 34", "params::impossible-shape"),
        ("vocab_size = 256", "vocab_size = 256\nintermediate_size = 8", "study::bad-value"),
    ] {
        let error = refused(from, to);
        assert_eq!(error.code.id, code, "{to}: {error}");
    }
}

#[test]
fn a_configuration_is_held_against_its_plan() {
    let study = study();
    let rates = study.rates(&results(&study, &[("dense", 1), ("moe", 1)])).unwrap();
    let runs = study.final_runs(&rates);
    let run = &runs[0];
    let config =
        |text: &str| Document::parse_json(Source::new("c.json", text.into()).unwrap()).unwrap();
    let own =
        repro_core::digest::canonical(&serde_json::Value::Object(run.config.clone())).unwrap();
    assert_eq!(run.differs_from(config(&own).root()).unwrap(), None);
    let other = own.replacen("\"lr\":0.002", "\"lr\":0.004", 1);
    let found = run.differs_from(config(&other).root()).unwrap();
    assert_eq!(found.as_deref(), Some("`lr` is 0.004, planned 0.002"));
    let found = run.differs_from(config("{}").root()).unwrap();
    assert!(found.unwrap().starts_with("`model_type` is missing"));
}

#[test]
fn another_study_file_is_not_the_pinned_one() {
    let (study, place) = (study(), repro_core::source::Location::file("repro/p.toml"));
    assert_eq!(study.check_pin(&study.digest(), &place), Ok(()));
    let edited = parse(&text("# later", RUNS)).unwrap();
    let error = edited.check_pin(&study.digest(), &place).unwrap_err();
    assert_eq!((error.code.id, &error.place), ("study::pin-mismatch", &place));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the mixture is, no other width comes nearer than the one that is solved.
    #[test]
    fn no_other_width_comes_nearer(width in 1_u64..400, experts in 2_u64..9, used in 1_u64..3) {
        let whole = text("", RUNS)
            .replacen("moe_intermediate_size = 48", &format!("moe_intermediate_size = {width}"), 1)
            .replacen("num_experts = 4", &format!("num_experts = {experts}"), 1)
            .replacen("num_experts_per_tok = 2", &format!("num_experts_per_tok = {used}"), 1);
        let parsed = parse(&whole);
        if let Ok(study) = parsed {
            let [dense, moe] = study.arms.as_slice() else { panic!() };
            let own = dense.number("intermediate_size").unwrap();
            let wanted = moe.objects.active();
            // Each step of the width is 2 layers of 3·32.
            let at = |width: u64| dense.objects.active() - (own - width) * 192;
            prop_assert!(own == 1 || at(own - 1).abs_diff(wanted) >= at(own).abs_diff(wanted));
            let above = dense.objects.active() + 192;
            prop_assert!(above.abs_diff(wanted) >= at(own).abs_diff(wanted));
        } else {
            prop_assert_eq!(parsed.unwrap_err().code.id, "study::bad-length");
        }
    }

    /// A broken study is rejected and never panics.
    #[test]
    fn any_cut_is_refused(at in 0_usize..1800) {
        let whole = text("", RUNS);
        let cut: String = whole.chars().take(at).collect();
        if let Ok(source) = Source::new("repro/studies/small.toml", cut.into_bytes())
            && let Ok(document) = Document::parse_toml(source)
        {
            prop_assert!(Study::parse(document).is_err());
        }
    }
}
