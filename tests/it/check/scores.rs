//! Scores of several harnesses: those that may be fractions, stand in quotes, or are none.

use std::fs;

use super::{ShortFinding, check_text, corpus};

/// A task of somebody's own may score an item between 0 and 1, whatever it calls the metric.
#[test]
fn partial_credit_of_lighteval_is_not_refuted() {
    let text = fs::read_to_string(corpus("lighteval/results.json")).unwrap();
    let text = text.replace("\"acc\": 0.485", "\"acc\": 0.4901").replace("0.42,", "0.4302,");
    let shares = |text: &str| {
        let found = ShortFinding::all(&check_text("results.json", text));
        found.iter().filter(|one| one.code == "lighteval::fractional-count").count()
    };
    assert_eq!(shares(&text), 1);
    assert_eq!(shares(&text.replace("LoglikelihoodAcc", "AcmeGraded")), 0);
    // A task that everybody knows is scored as everybody knows.
    let known =
        text.replace("LoglikelihoodAcc", "compute").replace("logic:one|2", "mmlu:virology|2");
    assert_eq!(shares(&known), 1);
}

/// A score in quotes is a number, and nothing in the place of one is told, not refuted.
#[test]
fn scores_in_quotes_are_read_and_what_is_none_is_told() {
    for (name, score, code) in [
        ("lighteval/results.json", "\"acc\": 0.42", "lighteval::not-a-number"),
        ("inspect/log.json", "\"value\": 0.7", "inspect::metric-not-a-number"),
        (
            "every-eval-ever/sums/sums.json",
            "\"score\": 0.75",
            "every-eval-ever::score-not-a-number",
        ),
    ] {
        let text = fs::read_to_string(corpus(name)).unwrap();
        assert!(text.contains(score), "{name}");
        let (key, number) = score.split_once(": ").unwrap();
        let findings = |value: &str| {
            let text = text.replacen(score, &format!("{key}: {value}"), 1);
            let found = ShortFinding::all(&check_text("results.json", &text));
            found.into_iter().map(|one| (one.code, one.rules_out)).collect::<Vec<_>>()
        };
        assert_eq!(findings(&format!("\"{number}\"")), [], "{name}");
        for value in ["null", "true", "\"7 of 10\""] {
            assert_eq!(findings(value), [(code, false)], "{name}: {value}");
        }
    }
}
