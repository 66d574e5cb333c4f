//! States of Hugging Face's Trainer.

use super::{ShortFinding, check, check_text, corpus, drawn, edits, snapshot};

#[test]
fn a_state_that_disagrees_with_itself_is_found() {
    edits(
        "hf_trainer_edits",
        "hf-trainer/trainer_state.json",
        &[
            ("\"global_step\": 40", "\"global_step\": 30", "hf-trainer::last-step"),
            ("\"global_step\": 40", "\"global_step\": 45", "hf-trainer::summary-step"),
            ("\"step\": 20", "\"step\": 5", "hf-trainer::decreasing-steps"),
            ("\"max_steps\": 40", "\"max_steps\": 39", "hf-trainer::beyond-plan"),
            ("\"max_steps\": 40", "\"max_steps\": 80", "hf-trainer::steps-per-second"),
            ("\"epoch\": 2.0", "\"epoch\": 3.5", "hf-trainer::entry-epoch"),
            (
                "\"epoch\": 4.0,\n  \"eval_steps",
                "\"epoch\": 3.0,\n  \"eval_steps",
                "hf-trainer::state-epoch",
            ),
            (
                "\"num_train_epochs\": 4",
                "\"num_train_epochs\": 3",
                "hf-trainer::epochs-beyond-plan",
            ),
            ("\"num_train_epochs\": 4", "\"num_train_epochs\": 6", "hf-trainer::missing-epochs"),
            (
                "\"train_runtime\": 61.2345",
                "\"train_runtime\": 60.2345",
                "hf-trainer::training-step-count",
            ),
            ("\"best_metric\": 2.55", "\"best_metric\": 2.5", "hf-trainer::best-metric"),
            ("\"best_metric\": 2.55", "\"best_metric\": 2.7", "hf-trainer::metric-at-best-step"),
            (
                "\"best_global_step\": 40,\n  \"best_metric\": 2.55",
                "\"best_global_step\": 20,\n  \"best_metric\": 2.7",
                "hf-trainer::best-checkpoint-step",
            ),
            ("checkpoint-40", "checkpoint-20", "hf-trainer::best-checkpoint-step"),
            (
                "\"total_flos\": 125000000000000.0,\n  \"train_batch",
                "\"total_flos\": 125000000000001.0,\n  \"train_batch",
                "hf-trainer::total-flops",
            ),
            ("\"train_loss\": 2.75", "\"train_loss\": 2.65", "hf-trainer::train-loss"),
            (
                "\"eval_samples_per_second\": 29.102",
                "\"eval_samples_per_second\": 29.202",
                "hf-trainer::evaluation-sample-count",
            ),
            (
                "\"eval_steps_per_second\": 3.638",
                "\"eval_steps_per_second\": 3.738",
                "hf-trainer::evaluation-step-count",
            ),
            (
                "\"learning_rate\": 2.5e-05",
                "\"learning_rate\": -2.5e-05",
                "hf-trainer::learning-rate",
            ),
        ],
    );
}

/// The best metric is one of the evaluations, and neither end of them.
#[test]
fn a_best_metric_that_is_not_the_best_is_found() {
    let text = std::fs::read_to_string(corpus("hf-trainer/trainer_state.json")).unwrap();
    let third =
        "    {\n      \"epoch\": 3.0,\n      \"eval_loss\": 2.6,\n      \"step\": 30\n    },\n";
    let at = text.find("    {\n      \"epoch\": 4.0,\n      \"grad_norm").unwrap();
    let text = format!("{}{third}{}", &text[..at], &text[at..])
        .replace("\"best_metric\": 2.55", "\"best_metric\": 2.6")
        .replace("\"best_global_step\": 40", "\"best_global_step\": 30")
        .replace("checkpoint-40", "checkpoint-30")
        .replace("\"eval_accuracy\": 0.41,\n", "")
        .replace("\"eval_accuracy\": 0.44,\n", "");
    let found = ShortFinding::all(&check_text("trainer_state.json", &text));
    assert_eq!(
        found.iter().map(|one| one.code).collect::<Vec<_>>(),
        ["hf-trainer::best-metric-not-extreme"]
    );
}

#[test]
fn results_that_disagree_are_found() {
    edits(
        "hf_trainer_all_results_edits",
        "hf-trainer/all_results.json",
        &[
            (
                "\"train_runtime\": 61.2345",
                "\"train_runtime\": 60.2345",
                "hf-trainer::training-step-count",
            ),
            (
                "\"train_samples_per_second\": 10.452",
                "\"train_samples_per_second\": 9.452",
                "hf-trainer::training-sample-count",
            ),
            (
                "\"train_samples\": 160",
                "\"train_samples\": 180",
                "hf-trainer::training-sample-count",
            ),
            ("\"epoch\": 4.0", "\"epoch\": 5.0", "hf-trainer::training-sample-count"),
        ],
    );
    edits(
        "hf_trainer_results_edits",
        "hf-trainer/eval_results.json",
        &[
            ("\"eval_samples\": 120", "\"eval_samples\": 121", "hf-trainer::stated-samples"),
            ("\"perplexity\": 12.8", "\"perplexity\": 12.9", "hf-trainer::perplexity"),
            ("\"eval_loss\": 2.55", "\"eval_loss\": 2.45", "hf-trainer::perplexity"),
        ],
    );
}

/// Trainings that ended early, left out a part of a batch, had more samples than whole batches, or a plan of steps.
#[test]
fn honest_results_of_trainings_have_no_finding() {
    // Epochs, samples, samples that the speed is of, steps, seconds.
    for (epoch, samples, trained, steps, seconds) in [
        (4.0, 160, 640.0, 40.0, 61.2345),
        // It ended after two epochs of ten.
        (2.0, 160, 1600.0, 100.0, 30.0),
        // A plan of 25 steps of 16 samples: 10 steps an epoch, the last of which has 7.
        (2.5, 151, 400.0, 25.0, 18.5),
        // The same, where the last 7 are left out: 9 steps an epoch.
        (2.0, 151, 288.0, 18.0, 18.5),
        // Half an epoch behind the third, with steps rounded up.
        (3.6, 80, 280.0, 18.0, 44.4444),
        (0.5, 160, 80.0, 5.0, 3.0),
        // So long that rounding decides nothing.
        (3.0, 1_000_000, 3_000_000.0, 93_750.0, 98_765.432_1),
    ] {
        let round = |value: f64| (value * 1000.0).round() / 1000.0;
        let text = format!(
            r#"{{"epoch": {epoch:?}, "train_loss": 2.75, "train_runtime": {seconds:?}, "train_samples": {samples},
            "train_samples_per_second": {:?}, "train_steps_per_second": {:?}}}"#,
            round(trained / seconds),
            round(steps / seconds),
        );
        let found = ShortFinding::all(&check_text("all_results.json", &text));
        assert_eq!(found, [], "{epoch} {samples} {trained}");
    }
}

/// A plan of steps over a stream has epochs without end, and one that an epoch goes beyond is no error.
#[test]
fn honest_plans_have_no_finding() {
    let text = std::fs::read_to_string(corpus("hf-trainer/trainer_state.json")).unwrap();
    for (from, to) in [
        ("\"num_train_epochs\": 4", "\"num_train_epochs\": 9223372036854775807"),
        // An epoch had one step more than was planned.
        ("\"num_train_epochs\": 4", "\"num_train_epochs\": 5"),
    ] {
        let found =
            ShortFinding::all(&check_text("trainer_state.json", &text.replacen(from, to, 1)));
        assert_eq!(found, [], "{from} -> {to}");
    }
}

/// A resumed run, early stopping, evaluations that were not saved: none of them is an error.
#[test]
fn honest_states_are_not_refuted() {
    let text = std::fs::read_to_string(corpus("hf-trainer/trainer_state.json")).unwrap();
    for (from, to) in [
        ("\"best_metric\": 2.55", "\"best_metric\": null"),
        ("\"best_global_step\": 40,\n", ""),
        ("\"eval_steps\": 20,", "\"eval_steps\": 500,"),
        ("\"loss\": 2.6", "\"loss\": NaN"),
        ("\"num_train_epochs\": 4", "\"num_train_epochs\": 5"),
    ] {
        let report = check_text("trainer_state.json", &text.replacen(from, to, 1));
        assert_eq!(report.counts().refuted, 0, "{from} -> {to}: {}", drawn(&report));
    }
}

#[test]
fn a_folder_of_the_trainer_as_people_see_it() {
    snapshot("hf_trainer", &drawn(&check(&[corpus("hf-trainer")])));
}

/// Results of several evaluations lie in one file, and a perplexity may be of any of their losses.
#[test]
fn a_perplexity_may_be_of_any_loss() {
    let found = |losses: &[(&str, f64)], perplexity: (&str, f64)| {
        let mut all = serde_json::json!({
            "eval_runtime": 4.0, "eval_samples_per_second": 25.0, "test_runtime": 2.0, "test_samples_per_second": 50.0
        });
        for (name, value) in losses.iter().chain([&perplexity]) {
            all[*name] = serde_json::json!(value);
        }
        let found = ShortFinding::all(&check_text("all_results.json", &all.to_string()));
        let mut codes: Vec<_> = found.iter().map(|one| (one.code, one.rules_out)).collect();
        codes.dedup();
        codes
    };
    let of = |loss: f64| ("perplexity", loss.exp());
    let (refuted, doubt) =
        (("hf-trainer::perplexity", true), ("hf-trainer::likely-perplexity", false));
    for second in ["test_loss", "eval_ce_loss", "eval_nll"] {
        let both = [("eval_loss", 1.5), (second, 1.25)];
        assert_eq!([found(&both, of(1.5)), found(&both, of(1.25))], [[]; 2].map(Vec::from));
        assert_eq!(found(&both, of(1.4)), [doubt]);
    }
    assert_eq!(found(&[("eval_loss", 1.5), ("train_loss", 1.25)], of(1.4)), [refuted]);
    let named = ("eval_perplexity", 1.4_f64.exp());
    assert_eq!(found(&[("eval_loss", 1.5), ("test_loss", 1.4)], named), [refuted]);
}

#[test]
fn a_state_that_is_too_large_names_what_can_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| {
        let path = folder.path().join(name);
        let history = "{\"step\": 1},".repeat(1_400_000);
        std::fs::write(&path, format!("{{\"log_history\": [{history}{{}}]}}")).unwrap();
        let report = check(&[path]);
        let failures = report.failures.iter();
        failures.map(|error| (error.code.id, error.help.clone())).collect::<Vec<_>>()
    };
    let [(code, help)] = &of("trainer_state.json")[..] else { panic!() };
    assert_eq!(*code, "source::too-large");
    assert!(help.contains("all_results.json") && help.contains("earlier checkpoint"), "{help}");
    let [(_, help)] = &of("other.json")[..] else { panic!() };
    assert!(help.contains("copy"), "{help}");
}
