//! Logs of Inspect with invented samples: what is honest and looks odd, and what may not pass without a word.

use serde_json::{Value, json};

use super::{ShortFinding, check_text};

/// A log of one scorer, of samples that each have a grade for every epoch; an empty one is an epoch that failed.
fn log(scorer: &str, grades: &[&[&str]], metrics: [(&str, f64); 2]) -> Value {
    let epochs = grades[0].len();
    let mut samples = Vec::new();
    for (at, of_sample) in grades.iter().enumerate() {
        for (epoch, grade) in of_sample.iter().enumerate() {
            let mut sample =
                json!({"id": format!("q{at}"), "epoch": epoch + 1, "target": "7", "scores": {}});
            match *grade {
                "" => sample["error"] = json!({"message": "a tool was not there"}),
                grade => sample["scores"][scorer] = json!({"value": grade}),
            }
            samples.push(sample);
        }
    }
    let completed = samples.iter().filter(|sample| sample.get("error").is_none()).count();
    let declared = metrics.map(|(name, _)| json!({"name": name, "options": {}}));
    let mut told = json!({});
    for (name, value) in metrics {
        told[name.rsplit('/').next().unwrap()] = json!({"value": value});
    }
    json!({
        "status": "success",
        "eval": {"task": "sums", "dataset": {"samples": grades.len()}, "config": {"epochs": epochs},
            "scorers": [{"name": scorer, "metrics": declared}]},
        "results": {"total_samples": samples.len(), "completed_samples": completed, "scores": [{
            "name": scorer, "scorer": scorer, "reducer": "mean", "scored_samples": grades.len(),
            "unscored_samples": 0, "metrics": told}]},
        "samples": samples
    })
}

/// The codes of all findings, with whether each rules something out.
fn found(log: &Value) -> Vec<(&'static str, bool)> {
    let found = ShortFinding::all(&check_text("log.json", &log.to_string()));
    found.iter().map(|one| (one.code, one.rules_out)).collect()
}

/// Inspect's own metrics with these values.
fn own(accuracy: f64, stderr: f64) -> [(&'static str, f64); 2] {
    [("inspect_ai/accuracy", accuracy), ("inspect_ai/stderr", stderr)]
}

/// The mean of values and its standard error.
fn told_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

#[test]
fn an_epoch_may_fail() {
    let (mean, stderr) = told_of(&[0.5, 1.0, 0.0, 2.0 / 3.0]);
    let grades: &[&[&str]] =
        &[&["C", "", "I"], &["C", "C", "C"], &["I", "I", "I"], &["C", "I", "C"]];
    let mut honest = log("match", grades, own(mean, stderr));
    assert_eq!(found(&honest), []);
    // A header alone does not say which.
    honest["samples"] = json!([]);
    assert_eq!(found(&honest), []);
}

#[test]
fn samples_decide_what_a_scorer_gives() {
    let grades: &[&[&str]] = &[&["C"], &["P"], &["I"], &["C"], &["I"]];
    let (mean, stderr) = told_of(&[1.0, 0.5, 0.0, 1.0, 0.0]);
    for scorer in ["match", "includes", "pattern", "answer"] {
        assert_eq!(found(&log(scorer, grades, own(mean, stderr))), [], "{scorer}");
    }
    // Half right counts as wrong.
    let (strict, error) = told_of(&[1.0, 0.0, 0.0, 1.0, 0.0]);
    let all = found(&log("match", grades, own(strict, error)));
    assert!(!all.is_empty() && all.iter().all(|(_, rules_out)| !rules_out), "{all:?}");
    let right = |grade: &'static str| {
        [&["C"][..], &["I"], &["C"], &["I"], if grade == "C" { &["C"] } else { &["I"] }]
    };
    let (mean, stderr) = told_of(&[1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(found(&log("match", &right("I"), own(mean, stderr))), []);
    assert!(
        found(&log("match", &right("C"), own(mean, stderr)))
            .contains(&("inspect::mean-of-samples", true))
    );
}

#[test]
fn metrics_of_others_are_only_doubted() {
    let grades: &[&[&str]] = &[&["C"], &["I"], &["C"], &["I"]];
    for prefix in ["", "acme/"] {
        let names = ["accuracy", "stderr"].map(|name| format!("{prefix}{name}"));
        let all = found(&log("judge", grades, [(&names[0], 0.4), (&names[1], 0.3)]));
        assert!(all.contains(&("inspect::likely-mean", false)), "{all:?}");
        assert!(all.iter().all(|(_, rules_out)| !rules_out), "{all:?}");
    }
    let mut set = log("match", grades, own(0.4, 0.3));
    set["eval"]["scorers"][0]["metrics"][0]["options"] = json!({"to_float": "strict"});
    assert!(found(&set).iter().all(|(_, rules_out)| !rules_out));
}

#[test]
fn epochs_without_their_reductions_are_reduced() {
    let grades: &[&[&str]] = &[&["C", "I"], &["C", "C"], &["I", "I"], &["C", "I"]];
    let of = |reducer: &str, (mean, stderr): (f64, f64)| {
        let mut log = log("match", grades, own(mean, stderr));
        log["results"]["scores"][0]["reducer"] = json!(reducer);
        found(&log)
    };
    let halves = told_of(&[0.5, 1.0, 0.0, 0.5]);
    let most = told_of(&[1.0, 1.0, 0.0, 1.0]);
    assert_eq!(
        (of("mean", halves), of("median", halves), of("max", most)),
        (vec![], vec![], vec![])
    );
    let (mean, stderr) = halves;
    assert_eq!(of("mean", (0.625, stderr)), [("inspect::likely-mean", false)]);
    assert_eq!(of("mean", (mean, stderr / 2.0)), [("inspect::likely-sample-stderr", false)]);
    assert_eq!(of("max", (mean, most.1)), [("inspect::likely-mean", false)]);
}

/// A scorer of another may be called `choice`.
#[test]
fn letters_are_only_doubted() {
    let mut log = log("choice", &[&["C"], &["I"]], own(0.5, 0.5));
    log["samples"][0]["target"] = json!("B");
    log["samples"][0]["scores"]["choice"]["answer"] = json!("A");
    assert_eq!(found(&log), [("inspect::choice-grade", false)]);
}
