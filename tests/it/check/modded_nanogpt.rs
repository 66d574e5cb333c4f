//! Logs and records of modded-nanogpt's speedruns.

use super::{ShortFinding, check, check_text, corpus, drawn, edits, snapshot};
use crate::shared;

#[test]
fn a_log_that_disagrees_with_itself_is_found() {
    edits(
        "modded_nanogpt_edits",
        "modded-nanogpt/log.txt",
        &[
            ("step:100/100", "step:101/100", "modded-nanogpt::beyond-plan"),
            ("step:40/100", "step:40/110", "modded-nanogpt::plan-changes"),
            ("train_time:2425ms", "train_time:1425ms", "modded-nanogpt::decreasing-time"),
            ("step_avg:40.42ms", "step_avg:38.42ms", "modded-nanogpt::step-average"),
            ("train_time:4037ms", "train_time:3937ms", "modded-nanogpt::step-average"),
            ("reserved: 38124", "reserved: 28124", "modded-nanogpt::memory"),
        ],
    );
    edits(
        "modded_nanogpt_older_edits",
        "modded-nanogpt/first-steps-left-out.txt",
        &[("step_avg:151.70ms", "step_avg:75.85ms", "modded-nanogpt::step-average")],
    );
}

#[test]
fn records_out_of_order_are_found() {
    edits(
        "modded_nanogpt_record_edits",
        "modded-nanogpt/README.md",
        &[
            ("31.4 minutes", "29.4 minutes", "modded-nanogpt::slower-record"),
            ("12/30/24", "12/30/25", "modded-nanogpt::record-date"),
        ],
    );
}

#[test]
fn a_log_that_stops_is_not_refuted() {
    let text = std::fs::read_to_string(corpus("modded-nanogpt/log.txt")).unwrap();
    let end = text.find("step:100/100").unwrap();
    for text in [&text[..end], &text[..end + 40]] {
        let found = ShortFinding::all(&check_text("log.txt", text));
        let codes: Vec<_> = found.iter().map(|one| one.code).collect();
        assert_eq!(codes, ["modded-nanogpt::unfinished-run"], "{text}");
    }
}

#[test]
fn a_folder_of_logs_as_people_see_it() {
    snapshot("modded_nanogpt", &drawn(&check(&[corpus("modded-nanogpt")])));
}

#[test]
fn published_logs_agree_with_themselves() {
    let test = "check::modded_nanogpt::published_logs_agree_with_themselves";
    let Some(folder) = shared::folder(test) else { return };
    let report = check(&[folder.join("speedrun_logs")]);
    assert_eq!(ShortFinding::all(&report), []);
    assert!(report.documents.len() > 60, "{}", report.documents.len());
}
