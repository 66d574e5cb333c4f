//! Reports of nanochat runs and its leaderboard.

use std::fs;

use super::{ShortFinding, check, check_text, corpus, drawn, edits, snapshot};
use crate::shared;

const REPORT: &str = "nanochat-report/report.md";

#[test]
fn a_header_that_disagrees_is_found() {
    edits(
        "nanochat_report_header_edits",
        REPORT,
        &[
            ("Tokens (approx): 86,419", "Tokens (approx): 86,420", "nanochat::approximate-tokens"),
            ("$3.58/hour", "$6.00/hour", "nanochat::hourly-rate"),
            ("Generated: 2025-11-20", "Generated: 2024-11-20", "nanochat::report-date"),
            (
                "started: 2025-11-20 08:00:02",
                "started: 2025-11-20 07:00:02",
                "nanochat::start-before-header",
            ),
            ("4h33m", "4h34m", "nanochat::wall-clock"),
            ("4h33m", "5h4m", "nanochat::wall-clock"),
            (
                "timestamp: 2025-11-20 08:02:09",
                "timestamp: 2025-11-20 07:59:09",
                "nanochat::section-before-start",
            ),
            ("Run started: 2025-11-20 08:00:02\n", "", "nanochat::wall-clock-without-start"),
            ("- Characters: 345,678", "- Characters: 345,679", "nanochat::summary-characters"),
            ("- Lines: 8,123", "- Lines: 8,124", "nanochat::summary-lines"),
            ("- Files: 45", "- Files: 46", "nanochat::summary-files"),
            (
                "- Tokens (approx): 86,419\n- Dependencies (uv.lock lines): 2,101\n\nRun",
                "- Tokens (approx): 86,418\n- Dependencies (uv.lock lines): 2,101\n\nRun",
                "nanochat::summary-tokens",
            ),
            ("lines): 2,101", "lines): 2,111", "nanochat::summary-dependencies"),
            ("| 0.2910 ", "| 0.2920 ", "nanochat::summary-cell"),
            ("| 0.1472 ", "| 0.1572 ", "nanochat::summary-cell"),
            ("| 0.0462 ", "| 0.0562 ", "nanochat::summary-cell"),
        ],
    );
}

#[test]
fn a_tokenizer_that_disagrees_is_found() {
    edits(
        "nanochat_report_tokenizer_edits",
        REPORT,
        &[
            ("| 404 | 4.50 |", "| 404 | 4.60 |", "nanochat::compression-ratio"),
            ("| 381 | 4.77 | +5.7% |", "| 381 | 4.78 | +5.7% |", "nanochat::own-compression-ratio"),
            ("+20.3%", "-20.3%", "nanochat::token-difference"),
            ("+5.7%", "+6.0%", "nanochat::token-difference"),
            ("| poem | 640 |", "| poem | 641 |", "nanochat::text-length-mismatch"),
            (
                "| 240 | 2.67 | +20.3% |",
                "| 239 | 2.68 | +20.6% |",
                "nanochat::token-count-mismatch",
            ),
            (
                "| 387 | 4.70 | 381 | 4.77 | +1.6% |",
                "| 386 | 4.71 | 381 | 4.77 | +1.3% |",
                "nanochat::reference-token-count",
            ),
            (
                "token_bytes_mean: 6.9011",
                "token_bytes_mean: 36.9011",
                "nanochat::mean-token-length",
            ),
            ("train_time: 61.5000", "train_time: 161.5000", "nanochat::tokenizer-time"),
        ],
    );
}

#[test]
fn a_base_model_that_disagrees_is_found() {
    edits(
        "nanochat_report_base_edits",
        REPORT,
        &[
            ("parameters: 185,597,952", "parameters: 186,597,952", "nanochat::parameters"),
            (
                "parameters: 185,597,952",
                "parameters: 185,597,953",
                "nanochat::depth-parameter-count",
            ),
            ("token: 9.248440e+08", "token: 9.348440e+08", "nanochat::total-flops"),
            ("token: 9.248440e+08", "token: 9.348440e+08", "nanochat::flops-per-token"),
            ("iterations: 11,328", "iterations: 11,329", "nanochat::iterations-from-ratio"),
            ("iterations: 11,328", "iterations: 11,329", "nanochat::tokens"),
            ("num_iterations: -1", "num_iterations: 500", "nanochat::iterations"),
            (
                "target_flops: -1.0000",
                "target_flops: 700000000000000000.0000",
                "nanochat::iterations-from-flops",
            ),
            ("tokens: 742,391,808", "tokens: 742,391,809", "nanochat::tokens"),
            ("ratio: 4.0000", "ratio: 4.0100", "nanochat::tokens-per-parameter"),
            ("flops: 6.865966e+17", "flops: 6.865976e+17", "nanochat::total-flops"),
            ("device_batch_size: 16", "device_batch_size: 24", "nanochat::batch-divisibility"),
            (
                "Minimum validation bpb: 0.9001",
                "Minimum validation bpb: 0.9011",
                "nanochat::minimum-bpb",
            ),
            ("time: 201.25m", "time: 11.25m", "nanochat::implausible-speed"),
            ("time: 201.25m", "time: 301.25m", "nanochat::training-time"),
            ("(step 11328)", "(step 9999)", "nanochat::evaluated-step"),
            ("CORE metric: 0.1472", "CORE metric: 0.1482", "nanochat::core"),
            ("copa: 0.2800", "copa: 0.2850", "nanochat::core-score"),
        ],
    );
    edits(
        "nanochat_report_later_base_edits",
        "nanochat-report/base-model-training.md",
        &[
            ("Number of parameters: ", "Number of parameters: 1", "nanochat::parameters"),
            ("ratio: 10.5000", "ratio: 11.5000", "nanochat::iterations-from-ratio"),
            (
                "Tokens : Scaling params ratio: 10.",
                "Tokens : Scaling params ratio: 11.",
                "nanochat::tokens-per-parameter",
            ),
            (
                "Calculated number of iterations: ",
                "Calculated number of iterations: 1",
                "nanochat::automatic-batch-size",
            ),
        ],
    );
}

#[test]
fn chat_models_that_disagree_are_found() {
    edits(
        "nanochat_report_chat_edits",
        REPORT,
        &[
            ("ChatCORE metric: 0.2038", "ChatCORE metric: 0.2048", "nanochat::chatcore"),
            ("ChatCORE metric: 0.2038", "ChatCORE metric: 0.3286", "nanochat::chatcore"),
            ("ChatCORE metric: 0.2038", "ChatCORE metric: 0.0730", "nanochat::chatcore"),
            ("HumanEval: 0.0427", "HumanEval: 0.0437", "nanochat::chat-score"),
            ("max_problems: None", "max_problems: 20", "nanochat::chat-score"),
            (
                "GSM8K: 0.0462",
                "GSM8K: 0.0462\n- passed: 60\n- total: 1319",
                "nanochat::passed-problems",
            ),
            (
                "GSM8K: 0.0462",
                "GSM8K: 0.0462\n- passed: 60\n- total: 1300\n- max_examples: all\n- split: test",
                "nanochat::test-set-size",
            ),
            ("ARC-Challenge: 0.2910", "ARC-Challenge: 0.0401", "nanochat::accuracy-below-chance"),
            ("source: sft\n- task", "source: mid\n- task", "nanochat::evaluated-model"),
            ("iterations: 2680", "iterations: 2681", "nanochat::sft-epochs"),
            (
                "- num_epochs: 2\n- num_iterations: -1",
                "- num_epochs: 2\n- num_iterations: 99",
                "nanochat::sft-iterations",
            ),
            (
                "- num_epochs: 2\n- num_iterations: -1",
                "- num_epochs: 1\n- max_iterations: -1",
                "nanochat::sft-uncapped-iterations",
            ),
            (
                "- num_epochs: 2\n- num_iterations: -1",
                "- num_epochs: 2\n- max_iterations: 100",
                "nanochat::sft-cap",
            ),
            ("Number of iterations: 299", "Number of iterations: 399", "nanochat::mid-iterations"),
        ],
    );
}

/// What people do with reports: cut sections, evaluate fewer problems, train other models.
#[test]
fn honest_reports_are_not_refuted() {
    let text = fs::read_to_string(corpus(REPORT)).unwrap();
    let cut = |from: &str, to: &str| {
        let (start, end) = (text.find(from).unwrap(), text.find(to).unwrap());
        format!("{}{}", &text[..start], &text[end..])
    };
    let few = "- ARC-Easy: 0.2500\n- ARC-Challenge: 0.3000\n- MMLU: 0.2000\n- GSM8K: 0.0500\n- HumanEval: 0.0000\n- SpellingBee: 0.9500\n";
    let start = text.find("- ARC-Easy: 0.3371").unwrap();
    let summary = text.find("## Summary").unwrap();
    for (what, text) in [
        ("without the header", text[text.find("## Tokenizer training").unwrap()..].to_owned()),
        ("without the summary", text[..summary].to_owned()),
        ("without the tokenizer", cut("## Tokenizer training", "## Base model training")),
        ("without the last sections", cut("## Chat SFT", "## Summary")),
        ("without midtraining", cut("## Midtraining", "## Chat SFT")),
        (
            "with fewer problems",
            format!("{}{few}", &text[..start]).replace("max_problems: None", "max_problems: 20"),
        ),
        (
            "with fewer problems, not stated",
            format!("{}{few}", &text[..start]).replace("- max_problems: None\n", ""),
        ),
        (
            "with more parameters",
            text.replace("185,597,952", "201,597,952")
                .replace("9.248440e+08", "9.348440e+08")
                .replace("4.0000", "3.6825")
                .replace("6.865966e+17", "6.940205e+17")
                .replace("data_ratio: 4", "data_ratio: 3.683"),
        ),
        ("with other line ends", text.replace('\n', "\r\n")),
        (
            "in a time zone of its own",
            text.replace("started: 2025-11-20 08:00:02", "started: 2025-11-20 08:00:01"),
        ),
    ] {
        let report = check_text("report.md", &text);
        assert_eq!(report.counts().refuted, 0, "{what}: {}", drawn(&report));
    }
}

/// Without its last sections a report is held against those that are left.
#[test]
fn a_report_that_was_cut_has_another_time() {
    let text = fs::read_to_string(corpus(REPORT)).unwrap();
    let (start, end) = (text.find("## Chat SFT").unwrap(), text.find("## Summary").unwrap());
    let cut = format!("{}{}", &text[..start], &text[end..]);
    let found = ShortFinding::all(&check_text("report.md", &cut));
    let clock = found.iter().filter(|one| one.code == "nanochat::partial-wall-clock");
    assert_eq!(clock.map(|one| one.rules_out).collect::<Vec<_>>(), [false], "{found:#?}");
}

/// Editors on Windows write a byte order mark before the text; places are those that they show.
#[test]
fn a_byte_order_mark_hides_nothing() {
    let text = fs::read_to_string(corpus(REPORT)).unwrap();
    let text = text.replacen("Tokens (approx): 86,419", "Tokens (approx): 86,420", 1);
    let places = |text: &str| {
        let found = ShortFinding::all(&check_text("report.md", text));
        found.into_iter().map(|one| (one.code, one.line)).collect::<Vec<_>>()
    };
    assert!(!places(&text).is_empty());
    assert_eq!(places(&format!("\u{feff}{text}")), places(&text));
    // JSON, too; and what is named and no text is no file of an unknown kind.
    let state = fs::read_to_string(corpus("hf-trainer/trainer_state.json")).unwrap();
    let report = check_text("trainer_state.json", &format!("\u{feff}{state}"));
    assert_eq!(ShortFinding::all(&report), []);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.md");
    fs::write(&path, b"\xff\xfe#\0").unwrap();
    for (path, failures) in
        [(path.clone(), &["source::not-utf8"][..]), (folder.path().to_owned(), &[])]
    {
        let report = check(&[path]);
        let codes: Vec<_> = report.failures.iter().map(|error| error.code.id).collect();
        assert_eq!(codes, failures);
    }
}

#[test]
fn a_page_that_disagrees_with_itself_is_found() {
    edits(
        "nanochat_leaderboard_edits",
        "nanochat-leaderboard/LEADERBOARD.md",
        &[
            ("= 262,144", "= 524,288", "nanochat::sum"),
            ("~= 11%", "~= 14%", "nanochat::sum"),
            ("(72.6 minutes)", "(75.6 minutes)", "nanochat::duration-units"),
            ("(4 days)", "(5 days)", "nanochat::duration-units"),
            ("approx. $12K", "approx. $14K", "nanochat::gpt2-cost"),
            ("so 1.78 hours", "so 1.68 hours", "nanochat::hours"),
            ("record was 2.00", "record was 2.10", "nanochat::previous-record"),
            ("us from 1.78", "us from 1.88", "nanochat::starting-record"),
            ("training_time 6400", "training_time 9400", "nanochat::slower-record"),
            ("you wait ~2 hours", "you wait ~1 hours", "nanochat::waiting-time"),
            ("core_metric 0.2580", "core_metric 0.2380", "nanochat::score-threshold"),
            ("Mean is 0.2577", "Mean is 0.2579", "nanochat::mean-of-repeats"),
            ("max-min is 0.0048", "max-min is 0.0058", "nanochat::range-of-repeats"),
            ("4 individual times", "5 individual times", "nanochat::number-of-repeats"),
            ("step 3320", "step 3321", "nanochat::steps"),
            ("step 7470", "step 7471", "nanochat::example-steps"),
            ("flops 1.1765", "flops 1.1766", "nanochat::run-flops"),
            ("--run=\"d20-fp8\"", "--run=\"d22-fp8\"", "nanochat::depth-in-name"),
            (
                "`1234567`. The launch command was\n\n```\ntorchrun --standalone --nproc_per_node=8 -m scripts.base_train -- \\\n    --depth=20 \\\n    --run=\"d20-jan30-ratio9\"",
                "`1234567`. The launch command was\n\n```\ntorchrun --standalone --nproc_per_node=8 -m scripts.base_train -- \\\n    --depth=20 \\\n    --run=\"d20-jan30-ratio8\"",
                "nanochat::ratio-in-name",
            ),
            (
                "d20_jan30_ratio9\" \\\n    --target-param-data-ratio=9\n```\n\nThe result",
                "d22_jan30_ratio9\" \\\n    --target-param-data-ratio=9\n```\n\nThe result",
                "nanochat::depth-in-tag",
            ),
            (
                "d20_jan30_ratio9\" \\\n    --target-param-data-ratio=9\n```\n\nThe result",
                "d20_jan30_ratio8\" \\\n    --target-param-data-ratio=9\n```\n\nThe result",
                "nanochat::ratio-in-tag",
            ),
            ("(99.97%)", "(98.97%)", "nanochat::percent-complete"),
            ("tok/sec: 699,050", "tok/sec: 799,050", "nanochat::tokens-per-second"),
            ("time: 72.60m\nMin", "time: 72.70m\nMin", "nanochat::final-minutes"),
            (
                "Minimum validation bpb: 0.7301",
                "Minimum validation bpb: 0.7311",
                "nanochat::run-minimum-bpb",
            ),
        ],
    );
}

#[test]
fn versions_of_a_page_are_held_against_each_other() {
    let text = fs::read_to_string(corpus("nanochat-leaderboard/LEADERBOARD.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("1.md"), &text).unwrap();
    for (from, to, code) in [
        ("`89abcde`", "`99abcde`", "nanochat::commit-mismatch"),
        ("core_metric 0.2580", "core_metric 0.2590", "nanochat::core-mismatch"),
        ("training_time 6400", "training_time 6401", "nanochat::seconds-mismatch"),
        ("step 3320", "step 3321", "nanochat::step-count-mismatch"),
        ("ratio=8 ", "ratio=8.5 ", "nanochat::ratio-mismatch"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(folder.path().join("2.md"), text.replace(from, to)).unwrap();
        let report = check(&[folder.path().to_owned()]);
        let broken = report.together.iter().filter(|asked| !asked.broken.is_empty());
        assert_eq!(broken.map(|asked| asked.code.id).collect::<Vec<_>>(), [code], "{from}");
    }
}

#[test]
fn reports_and_pages_as_people_see_them() {
    let text = fs::read_to_string(corpus(REPORT)).unwrap();
    let text = text.replace("ChatCORE metric: 0.2038", "ChatCORE metric: 0.3286");
    let text = text.replace("CORE metric: 0.1472", "CORE metric: 0.1572");
    let drawn = drawn(&check_text("report.md", &text));
    let lines = drawn.lines().filter(|line| !line.starts_with("in /"));
    snapshot("nanochat_report", &lines.collect::<Vec<_>>().join("\n"));
}

/// The findings that a referee has defended one by one, and no other.
#[test]
fn reports_of_strangers_have_the_findings_that_are_known() {
    let test = "check::nanochat::reports_of_strangers_have_the_findings_that_are_known";
    let Some(folder) = shared::folder(test) else { return };
    let report = check(&[folder.join("strangers/nanochat")]);
    assert_eq!(report.unknown, Vec::<String>::new());
    let told: Vec<_> = ShortFinding::all(&report).iter().map(ShortFinding::told).collect();
    snapshot("nanochat_strangers", &told.join("\n"));
}

/// The share of an H100's peak follows from FLOPs and time; the last step alone may be somewhat slower.
#[test]
fn a_utilisation_that_the_time_does_not_give_is_doubted() {
    let text = fs::read_to_string(corpus(REPORT)).unwrap();
    let text = text.replace("A100-SXM4-80GB", "H100 80GB HBM3");
    let of = |share: &str| {
        let text = text.replace("MFU %: 21.40%", &format!("MFU %: {share}%"));
        let found = ShortFinding::all(&check_text("report.md", &text));
        let of_it = found.iter().filter(|one| one.code == "nanochat::utilization");
        of_it.map(|one| one.rules_out).collect::<Vec<_>>()
    };
    assert_eq!(["2.87", "2.60", "0.00"].map(of).concat(), [] as [bool; 0]);
    assert_eq!(of("5.74"), [false]);
}
