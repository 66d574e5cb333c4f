//! Logs of other trainers. The first byte says which sort of log the rest is.

use std::fs;
use std::path::Path;

use repro_bundle::bundle::Bundle;
use repro_core::source::{Document, Error, Source};
use repro_formats::import::scoring::Reference;
use repro_formats::import::{Figures, Import, ImportOptions, LogFormat, LoggedRun, read, write};

use super::{new_folder, refused};

/// A log is read twice alike, into rows by rising step with numbers that are finite or say that they are not;
/// what is read can be written as a bundle, which loads.
pub fn check(bytes: &[u8]) {
    let Some((sort, log)) = bytes.split_first() else { return };
    let (format, name) = match sort {
        b's' => (LogFormat::Speedrun, "log.txt"),
        b'm' => (LogFormat::Mlperf, "result_0.txt"),
        b'j' => (LogFormat::Jsonl, "log.jsonl"),
        b'c' => (LogFormat::Csv, "log.csv"),
        b'h' => (LogFormat::HfTrainer, "trainer_state.json"),
        b't' => (LogFormat::TensorBoard, "events.out.tfevents.1.a"),
        b'w' => (LogFormat::Wandb, "run-a.wandb"),
        b'q' => (LogFormat::Mlflow, "mlflow.db"),
        b'g' => (LogFormat::Megatron, "golden_values.json"),
        b'l' => (LogFormat::StepLoss, "losses.txt"),
        b'n' => (LogFormat::Marin, "results.json"),
        b'k' => (LogFormat::Nanochat, "report.md"),
        b'r' => return reference(log),
        _ => return,
    };
    let folder = new_folder();
    fs::write(folder.path().join(name), log).expect("the log can be written");
    imported(format, folder.path(), name);
}

/// The reference convergence points of a benchmark.
const REFERENCE: &str = include_str!("../../corpus/import/mlperf/rcps.json");

fn points(bytes: &[u8]) -> Result<Reference, Error> {
    let document = Source::new("rcps.json", bytes.to_vec()).and_then(Document::parse_json)?;
    Reference::parse(&document)
}

fn reference(bytes: &[u8]) {
    if let Err(error) = points(bytes) {
        refused(&error, Some(bytes));
    }
}

fn imported(format: LogFormat, folder: &Path, name: &str) {
    let paths = [folder.join(name)];
    let options = ImportOptions {
        target: Some(3.28),
        reference: points(REFERENCE.as_bytes()).ok(),
        hashed: true,
        threads: 1,
        ..ImportOptions::default()
    };
    let (once, twice) =
        (read(Some(format), &paths, &options), read(Some(format), &paths, &options));
    assert_eq!(format!("{once:?}"), format!("{twice:?}"));
    // What a file is recognized as reads it or refuses it, too.
    read(None, &paths, &options).failures.iter().for_each(|error| refused(error, None));
    once.failures.iter().chain(&once.skipped).for_each(|error| refused(error, None));
    once.runs().for_each(|(_, run)| run_is_sound(run));
    for group in &once.groups {
        if let Figures::Losses(losses) = &group.figures {
            assert!(losses.values.iter().all(|loss| loss.is_finite()));
            assert!(losses.mean.as_ref().map_or(true, |mean| mean.is_finite()), "{losses:?}");
            let finite =
                |summary: &repro_stats::Summary| summary.mean.is_finite() && summary.sd.is_finite();
            assert!(losses.summary.as_ref().map_or(true, finite), "{losses:?}");
        }
    }
    if once.failures.is_empty() {
        written(&once, &folder.join("receipts"));
    }
}

fn run_is_sound(run: &LoggedRun) {
    for rows in [&run.training, &run.evaluations] {
        assert!(rows.windows(2).all(|pair| pair[0].step <= pair[1].step), "steps rise");
        for (column, printed) in rows.iter().flat_map(|row| &row.cells) {
            let says = printed.value().is_some() != printed.nonfinite().is_some();
            assert!(says, "{column:?} is finite or not: `{}`", printed.text());
        }
    }
    run.findings.iter().for_each(|finding| refused(&finding.error, None));
    let _ = (run.final_loss(), run.last_step(), run.finished(), run.curve());
}

fn written(import: &Import, receipts: &Path) {
    match write(import, receipts, true, 1) {
        Ok(digests) => {
            for ((_, run), digest) in import.runs().zip(digests) {
                let folder = receipts.join(&run.name);
                let bundle = Bundle::load_folder(
                    &folder,
                    &format!("receipts/{}", run.name),
                    Some(&digest),
                    1,
                )
                .unwrap_or_else(|error| panic!("written and not read: {error}"));
                assert_eq!(bundle.digest(), digest);
            }
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| refused(error, None));
        }
    }
}
