//! States of Hugging Face's Trainer.

use super::{check, corpus, drawn, edits, snapshot};

#[test]
fn a_state_that_disagrees_with_itself_is_found() {
    edits(
        "hf_trainer_edits",
        "hf-trainer/trainer_state.json",
        &[
            ("\"global_step\": 40", "\"global_step\": 30", "hf-trainer::last-step"),
            ("\"global_step\": 40", "\"global_step\": 45", "hf-trainer::summary-step"),
            ("\"step\": 20", "\"step\": 5", "hf-trainer::order"),
            ("\"max_steps\": 40", "\"max_steps\": 39", "hf-trainer::beyond-plan"),
            ("\"max_steps\": 40", "\"max_steps\": 80", "hf-trainer::steps-per-second"),
            ("\"epoch\": 2.0", "\"epoch\": 3.5", "hf-trainer::epoch"),
            ("\"best_metric\": 2.55", "\"best_metric\": 2.5", "hf-trainer::best-metric"),
            ("\"best_metric\": 2.55", "\"best_metric\": 2.7", "hf-trainer::best-checkpoint"),
            (
                "\"best_global_step\": 40,\n  \"best_metric\": 2.55",
                "\"best_global_step\": 20,\n  \"best_metric\": 2.7",
                "hf-trainer::best-step",
            ),
            ("checkpoint-40", "checkpoint-20", "hf-trainer::best-step"),
            (
                "\"total_flos\": 125000000000000.0,\n  \"train_batch",
                "\"total_flos\": 125000000000001.0,\n  \"train_batch",
                "hf-trainer::total-flops",
            ),
            ("\"train_loss\": 2.75", "\"train_loss\": 2.65", "hf-trainer::train-loss"),
            (
                "\"eval_samples_per_second\": 29.102",
                "\"eval_samples_per_second\": 29.202",
                "hf-trainer::evaluated-samples",
            ),
            (
                "\"eval_steps_per_second\": 3.638",
                "\"eval_steps_per_second\": 3.738",
                "hf-trainer::evaluated-steps",
            ),
            (
                "\"learning_rate\": 2.5e-05",
                "\"learning_rate\": -2.5e-05",
                "hf-trainer::learning-rate",
            ),
        ],
    );
}

#[test]
fn results_that_disagree_are_found() {
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
        let report = super::check_text("trainer_state.json", &text.replacen(from, to, 1));
        assert_eq!(report.counts().refuted, 0, "{from} -> {to}: {}", drawn(&report));
    }
}

#[test]
fn a_folder_of_the_trainer_as_people_see_it() {
    snapshot("hf_trainer", &drawn(&check(&[corpus("hf-trainer")])));
}
